// SPDX-License-Identifier: BSD-3-Clause
// Algorithms of TSIG, and key files: a key statement of BIND (tsig-keygen), a key section of Knot
// (keymgr -t), or a base64 secret. Error texts never quote the file. Path: cold. Management thread.

#include "proto/dns/client/dns_tsig_file.h"

#include <nettle/base64.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SPACE " \t\r\n"
#define ENDS  SPACE "{};\"" // of a word

#define HMAC(hash, ...)                                                                            \
	{                                                                                          \
		"hmac-" #hash, &nettle_hmac_##hash,                                                \
			(dns_tsig_set_key *)nettle_hmac_##hash##_set_key, sizeof(__VA_ARGS__),     \
			__VA_ARGS__                                                                \
	}

// RFC 8945 section 6, by names in the setting.
const struct dns_tsig_algorithm dns_tsig_algorithms[DNS_TSIG_ALGORITHMS] = {
	HMAC(md5, "\10hmac-md5\7sig-alg\3reg\3int"),
	HMAC(sha1, "\11hmac-sha1"),
	HMAC(sha224, "\13hmac-sha224"),
	HMAC(sha256, "\13hmac-sha256"),
	HMAC(sha384, "\13hmac-sha384"),
	HMAC(sha512, "\13hmac-sha512"),
};

// Find by a name in any case, with or without final dot; also hmac-md5.sig-alg.reg.int. NULL: none.
static const struct dns_tsig_algorithm *dns_tsig_algorithm_find(const char *name, size_t len)
{
	static const char md5[] = "hmac-md5.sig-alg.reg.int";

	if (len > 0 && name[len - 1] == '.')
		len--;
	for (uint32_t i = 0; i < DNS_TSIG_ALGORITHMS; i++) {
		const struct dns_tsig_algorithm *a = &dns_tsig_algorithms[i];

		if (strlen(a->name) == len && strncasecmp(a->name, name, len) == 0)
			return a;
	}
	return len == sizeof(md5) - 1 && strncasecmp(name, md5, len) == 0 ? dns_tsig_algorithms
	                                                                  : NULL;
}

struct scan {
	const char *at, *end;
	const char *word; // the current one
	size_t len;       // of the word; 0: none
};

struct keys {
	const char *wanted;          // name to find; NULL: any
	struct dns_tsig_secret *out; // the key found
	struct dns_tsig_secret key;  // the key being read
	bool has_secret, open;
	uint32_t found;
	const char *reason; // of the first error
};

static bool is_word(const struct scan *s, const char *word)
{
	return strlen(word) == s->len && strncasecmp(s->word, word, s->len) == 0;
}

static void secret_read(struct keys *k, const char *text, size_t len)
{
	struct base64_decode_ctx base64;
	size_t got = sizeof(k->key.bytes);

	if (len >= BASE64_ENCODE_RAW_LENGTH(sizeof(k->key.bytes))) {
		k->reason = "a secret is too long (384 octets at most)";
		return;
	}
	base64_decode_init(&base64);
	if (!base64_decode_update(&base64, &got, k->key.bytes, len, text) ||
		!base64_decode_final(&base64) || got == 0)
		k->reason = "a secret is not base64";
	k->key.len = (uint16_t)got;
	k->has_secret = true;
}

static void name_read(struct keys *k, const char *text, size_t len)
{
	k->key.name[0] = '\0';
	if (len == 0 || len >= sizeof(k->key.name))
		k->reason = "a key has no name, or one that is too long";
	else
		memcpy(k->key.name, text, len + 1); // each word is terminated
	k->key.name[len < sizeof(k->key.name) ? len : 0] = '\0';
}

static void algorithm_read(struct keys *k, const char *text, size_t len)
{
	k->key.algorithm = dns_tsig_algorithm_find(text, len);
	if (!k->key.algorithm)
		k->reason = "an algorithm is not known (hmac-md5, hmac-sha1, -sha224, -sha256, "
			    "-sha384 or -sha512)";
}

static void key_begin(struct keys *k)
{
	k->key = (struct dns_tsig_secret){0};
	k->has_secret = false;
	k->open = true;
}

static bool same_name(const char *a, const char *b)
{
	size_t len = strlen(a), other = strlen(b);

	len -= len > 1 && a[len - 1] == '.';
	other -= other > 1 && b[other - 1] == '.';
	return len == other && strncasecmp(a, b, len) == 0;
}

static void key_end(struct keys *k)
{
	if (!k->open)
		return;
	k->open = false;
	if (!k->has_secret && !k->reason)
		k->reason = "a key has no secret";
	if (k->wanted && !same_name(k->wanted, k->key.name))
		return;
	k->found++;
	*k->out = k->key;
}

// Skip space and, if enabled, C comments.
static void space_skip(struct scan *s)
{
	for (;;) {
		s->at += strspn(s->at, SPACE);
		if (s->at[0] == '#' || (s->at[0] == '/' && s->at[1] == '/')) {
			s->at += strcspn(s->at, "\n");
		} else if (s->at[0] == '/' && s->at[1] == '*') {
			const char *end = strstr(s->at + 2, "*/");

			s->at = end ? end + 2 : s->end;
		} else {
			return;
		}
	}
}

// Read the next word, quoted text, or one of { } ; . false: end of text.
static bool word_next(struct scan *s)
{
	space_skip(s);
	if (s->at >= s->end)
		return false;
	if (*s->at == '"') {
		s->word = ++s->at;
		s->len = strcspn(s->at, "\"\n");
		s->at += s->len + (s->at[s->len] == '"');
		return true;
	}
	s->word = s->at;
	s->len = strcspn(s->at, ENDS);
	s->len += s->len == 0;
	s->at += s->len;
	return true;
}

// Parse "key NAME { algorithm NAME; secret TEXT; };" among other statements.
static void bind_parse(struct keys *k, struct scan *s)
{
	struct scan name = {0};

	while (!k->reason && word_next(s)) {
		if (k->open && is_word(s, "}")) {
			key_end(k);
		} else if (k->open && is_word(s, "algorithm") && word_next(s)) {
			algorithm_read(k, s->word, s->len);
		} else if (k->open && is_word(s, "secret") && word_next(s)) {
			secret_read(k, s->word, s->len);
		} else if (!k->open && is_word(s, "key")) {
			name = *s;
			if (!word_next(&name) || !word_next(s) || !word_next(s) || !is_word(s, "{"))
				continue;
			key_begin(k);
			name_read(k, name.word, name.len);
		}
	}
	if (k->open && !k->reason)
		k->reason = "a key is not closed";
}

// Split a line of YAML: "key:", "  - id: NAME", "    algorithm: NAME". false: no colon.
static bool pair_read(const char *line, size_t len, struct scan *key, struct scan *value)
{
	const char *colon = memchr(line, ':', len), *end = line + len;

	if (!colon)
		return false;
	while (line < colon && strchr(SPACE "-", *line))
		line++;
	*key = (struct scan){.word = line, .len = (size_t)(colon - line)};
	for (line = colon + 1; line < end && strchr(SPACE "\"'", *line);)
		line++;
	*value = (struct scan){.word = line};
	while (line + value->len < end && !strchr(SPACE "\"'#", line[value->len]))
		value->len++;
	return true;
}

static void knot_parse(struct keys *k, const struct scan *s)
{
	bool is_key = false;

	for (const char *line = s->at; line < s->end && !k->reason;) {
		size_t len = strcspn(line, "\n");
		bool top = !strchr(SPACE "-#", *line);
		struct scan key, value;

		if (line[strspn(line, " \t")] != '#' && pair_read(line, len, &key, &value)) {
			if (top || is_word(&key, "id"))
				key_end(k);
			if (top) {
				is_key = is_word(&key, "key");
			} else if (is_key && is_word(&key, "id")) {
				key_begin(k);
				name_read(k, value.word, value.len);
			} else if (k->open && is_word(&key, "algorithm")) {
				algorithm_read(k, value.word, value.len);
			} else if (k->open && is_word(&key, "secret")) {
				secret_read(k, value.word, value.len);
			}
		}
		line += len + 1;
	}
	key_end(k);
}

static void secret_parse(struct keys *k, const struct scan *s)
{
	if (!k->wanted) {
		k->reason = "a secret alone (set name, too), or no key at all";
		return;
	}
	key_begin(k);
	name_read(k, k->wanted, strlen(k->wanted));
	if (!k->reason)
		secret_read(k, s->at, (size_t)(s->end - s->at));
	key_end(k);
}

bool dns_tsig_file_parse(const char *text, size_t len, const char *name,
	struct dns_tsig_secret *out, const char **reason)
{
	struct keys k = {.wanted = name, .out = out};
	char *copy = malloc(len + 1); // terminated, so that no word runs past the end
	struct scan s = {.at = copy, .end = copy ? copy + len : NULL};

	*reason = "no memory";
	if (!copy)
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (memchr(text, '\0', len))
		k.reason = "no text";
	else if (memchr(text, '{', len))
		bind_parse(&k, &s);
	else if (memchr(text, ':', len))
		knot_parse(&k, &s);
	else
		secret_parse(&k, &s);
	if (!k.reason && k.found != 1)
		k.reason = k.found ? "several keys (set the name of one)"
		           : name  ? "no key of that name"
		                   : "no key in it";
	explicit_bzero(copy, len);
	explicit_bzero(&k.key, sizeof(k.key));
	free(copy);
	*reason = k.reason;
	return !k.reason;
}
