// SPDX-License-Identifier: BSD-3-Clause
// TSIG set-up: keys from settings, and the state of workers. Algorithms and key files are in
// dns_tsig_file.c, messages in dns_tsig_wire.c. Path: cold. Management thread.

#include "proto/dns/client/dns_tsig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/input.h"
#include "proto/dns/client/dns_tsig_file.h"

#define FILE_MAX 65536 // octets of a key file
#define NS_PER_S 1000000000u

// Build the common part of the record and the signed variables. false: invalid name.
static bool build(struct dns_tsig_key *key, const struct dns_tsig_secret *secret)
{
	const struct dns_tsig_algorithm *a = secret->algorithm;
	struct writer w = writer_of(key->vars, sizeof(key->vars));
	struct dns_text_error e;
	int len = dns_name_from_text(secret->name, strlen(secret->name), key->vars, &e);

	if (len < 0)
		return false;
	for (int i = 0; i < len; i++)
		key->vars[i] = dns_lower_case(key->vars[i]);
	key->name_len = (uint16_t)len;
	write_space(&w, (size_t)len);
	write_be16(&w, DNS_CLASS_ANY);
	write_be32(&w, 0); // TTL
	write_bytes(&w, a->wire, a->wire_len);
	memset(write_space(&w, 12), 0, 12); // time, fudge, error, length of other data
	key->vars_len = (uint16_t)(w.at - key->vars);
	key->algorithm = a;
	key->secret_len = secret->len;
	memcpy(key->secret, secret->bytes, secret->len);
	return true;
}

// Read the whole file: returns its length, or -errno with the reason in d.
static ssize_t file_read(const char *path, const void *setting, char *text, struct diag *d)
{
	int fd = input_open(path, setting, d);
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return -EINVAL;
	while ((n = read(fd, text + len, FILE_MAX - len)) > 0)
		len += (size_t)n;
	close(fd);
	if (n < 0 || len == FILE_MAX) {
		diag_error(d, setting, NULL, "%s: %s", path,
			n < 0 ? "cannot be read" : "too long for a file of keys");
		return -EINVAL;
	}
	return (ssize_t)len;
}

static int load(struct dns_tsig_key *key, const struct dns_key_settings *s, const char *path,
	char *text, struct dns_tsig_secret *secret, struct diag *d)
{
	ssize_t len = file_read(path, &s->secret_file, text, d);
	const char *reason;

	if (len < 0)
		return -EINVAL;
	if (!dns_tsig_file_parse(text, (size_t)len, s->name, secret, &reason)) {
		diag_error(d, &s->secret_file, NULL, "%s: %s", path, reason);
		return -EINVAL;
	}
	if (s->algorithm > 0)
		secret->algorithm = &dns_tsig_algorithms[s->algorithm - 1];
	if (!secret->algorithm)
		secret->algorithm = &dns_tsig_algorithms[DNS_TSIG_DEFAULT];
	if (build(key, secret))
		return 0;
	diag_error(d, s->name ? (const void *)&s->name : &s->secret_file, NULL,
		"the name of the key is not a domain name (see RFC 8945 section 4.2)");
	return -EINVAL;
}

int dns_tsig_key_load(struct dns_tsig_key *key, const struct dns_key_settings *s, struct diag *d)
{
	struct dns_tsig_secret secret = {0};
	struct arena *a = arena_new();
	char *text = malloc(FILE_MAX);
	int ret = -ENOMEM;

	memset(key, 0, sizeof(*key));
	key->fudge = (uint16_t)(s->fudge_ns / NS_PER_S);
	key->skew = (int32_t)(s->ahead_ns / NS_PER_S) - (int32_t)(s->behind_ns / NS_PER_S);
	if (text)
		ret = load(key, s, diag_path(d, &s->secret_file, a), text, &secret, d);
	if (text)
		explicit_bzero(text, FILE_MAX);
	explicit_bzero(&secret, sizeof(secret));
	free(text);
	arena_free(a);
	return ret;
}

struct dns_tsig_key *dns_tsig_keys_load(const struct field_list *settings, struct diag *d)
{
	const struct dns_key_settings *s = settings->items;
	struct dns_tsig_key *keys = calloc(settings->count, sizeof(*keys));

	for (uint32_t i = 0; keys && i < settings->count; i++) {
		if (dns_tsig_key_load(&keys[i], &s[i], d) == 0)
			continue;
		dns_tsig_keys_free(keys, settings->count);
		return NULL;
	}
	return keys;
}

void dns_tsig_keys_free(struct dns_tsig_key *keys, uint32_t count)
{
	if (keys)
		explicit_bzero(keys, count * sizeof(*keys));
	free(keys);
}

void dns_tsig_signer_init(struct dns_tsig_signer *s, const struct dns_tsig_key *key)
{
	s->key = key;
	key->algorithm->set_key(&s->hmac, key->secret_len, key->secret);
}

struct dns_tsig_client *dns_tsig_client_new(
	const struct dns_tsig_key *key, uint32_t longest, uint32_t kept, bool transfers)
{
	uint32_t scratch = longest + DNS_TSIG_MAX;
	struct dns_tsig_client *c = calloc(1, sizeof(*c) + scratch);

	if (!c)
		return NULL;
	c->kept = calloc(kept, sizeof(*c->kept));
	c->kept_mask = kept - 1;
	if (transfers)
		c->transfers = calloc(DNS_TSIG_TRANSFERS, sizeof(*c->transfers));
	if (!c->kept || (transfers && !c->transfers)) {
		dns_tsig_client_free(c);
		return NULL;
	}
	c->scratch_len = scratch;
	dns_tsig_signer_init(&c->signer, key);
	return c;
}

void dns_tsig_client_free(struct dns_tsig_client *c)
{
	if (!c)
		return;
	explicit_bzero(&c->signer, sizeof(c->signer));
	if (c->transfers)
		explicit_bzero(c->transfers, DNS_TSIG_TRANSFERS * sizeof(*c->transfers));
	free(c->transfers);
	free(c->kept);
	free(c);
}
