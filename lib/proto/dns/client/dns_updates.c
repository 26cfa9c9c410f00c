// SPDX-License-Identifier: BSD-3-Clause
// Builds messages from the lines of updates: zone, prerequisites, updates, send. A name is
// compressed if it ends like the zone, the previous name, or the one with {random:N}; so the
// characters to draw are in one place. RDATA is in dns_rdata.c, patterns in dns_patterns.c.
// Path: cold. Management thread.

#include "proto/dns/client/dns_updates.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/input.h"
#include "base/log.h"
#include "proto/dns/client/dns_internal.h"
#include "proto/dns/client/dns_patterns.h"
#include "proto/dns/client/dns_rdata.h"

#define RANDOM      '\1' // placeholder for a random character in expanded texts
#define BAD_LISTED  10   // bad lines, before reading stops
#define TEXT_MAX    (1 << 20)
#define POINTER_MAX 0x3fff
#define TTL_MAX     INT32_MAX

enum section { PREREQUISITE, UPDATE };

// A name in the message. random: octets from the first random one to the end; 0: none.
struct placed {
	uint8_t wire[DNS_NAME_MAX];
	uint32_t len, at;
	uint32_t written; // octets stored at `at`; a pointer follows if the name has more
	uint32_t random, random_len;
};

enum { ZONE, LAST, WITH_RANDOM, PLACES };

struct update {
	struct dns_loader *loader;
	const void *setting; // subject of errors
	const char *what;    // prefix of errors in an inline text; NULL: a file
	uint32_t limit, line, bad;
	bool open;          // a message has a zone, but no send yet
	bool spoilt;        // a line of this message was left out, which drops the message
	bool adds, deletes; // in any message
	bool again;         // some message changes with each repetition
	struct placed places[PLACES];
	uint16_t counts[2]; // by section
	uint32_t len;
	char zone[4 * DNS_NAME_MAX]; // first line of the message
	uint8_t message[UINT16_MAX];
	uint8_t rdata[UINT16_MAX];
};

struct word {
	const char *text;
	size_t len;
};

// How a line is encoded. Class and TTL depend on the words after the name: none, the type, or RDATA
// as well (RFC 2136 sections 2.4 and 2.5).
static const struct command {
	const char *name;
	enum section section;
	bool ttl;              // a TTL follows the name
	uint8_t least, most;   // number of name, type, RDATA
	uint16_t class, exact; // without and with RDATA
} commands[] = {
	{"require", PREREQUISITE, false, 1, 3, 255, 1},
	{"prohibit", PREREQUISITE, false, 1, 2, 254, 0},
	{"add", UPDATE, true, 3, 3, 0, 1},
	{"delete", UPDATE, false, 1, 3, 255, 254},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static struct word word_next(struct word *rest)
{
	struct word w;

	while (rest->len && strchr(" \t\r", *rest->text)) {
		rest->text++;
		rest->len--;
	}
	w = (struct word){rest->text, 0};
	while (w.len < rest->len && !strchr(" \t\r", w.text[w.len]))
		w.len += w.text[w.len] == '\\' && w.len + 1 < rest->len ? 2 : 1;
	rest->text += w.len;
	rest->len -= w.len;
	return w;
}

static bool word_is(const struct word *w, const char *name)
{
	return w->len == strlen(name) && strncasecmp(w->text, name, w->len) == 0;
}

static const char *name_make(const struct placed *zone, const char *text, size_t len,
	struct placed *out, struct dns_text_error *e)
{
	bool absolute = !zone || (text[len - 1] == '.' && (len < 2 || text[len - 2] != '\\'));
	int made = dns_name_from_text(text, len, out->wire, e);

	if (made < 0)
		return e->reason;
	out->len = (uint32_t)made;
	if (absolute)
		return NULL;
	if (out->len - 1 + zone->len > DNS_NAME_MAX)
		return "the name with the zone behind it is longer than 255 octets";
	memcpy(out->wire + out->len - 1, zone->wire, zone->len);
	out->len += zone->len - 1;
	return NULL;
}

// Parse a name; zone: suffix of relative names; NULL: the word is the zone itself. Returns NULL, or
// the error with its position in e.
static const char *name_read(const struct placed *zone, const struct word *w, struct placed *out,
	struct dns_text_error *e)
{
	const char *random = memchr(w->text, RANDOM, w->len), *error;
	char text[4 * DNS_NAME_MAX + 4];
	size_t begin = random ? (size_t)(random - w->text) : 0, end = begin;
	uint8_t before[DNS_NAME_MAX];
	int len;

	*e = (struct dns_text_error){0};
	*out = (struct placed){0};
	if (w->len >= sizeof(text))
		return "the name is longer than 255 octets";
	if (zone && word_is(w, "@")) {
		memcpy(out->wire, zone->wire, zone->len);
		out->len = zone->len;
		return NULL;
	}
	memcpy(text, w->text, w->len);
	while (random && end < w->len && text[end] == RANDOM)
		text[end++] = 'a';
	if (memchr(text, RANDOM, w->len))
		return "only one {random:N} can be in a name";
	error = name_make(zone, text, w->len, out, e);
	if (error || !random)
		return error;
	if (!zone)
		return "{random:N} cannot be in the name of the zone";
	// In wire form they precede the second-to-last octet of a name that ends with the first of
	// them.
	len = dns_name_from_text(text, begin + 1, before, e);
	out->random = out->len - ((uint32_t)len - 2);
	out->random_len = (uint32_t)(end - begin);
	return NULL;
}

// Offset at which the name's part after `from` equals the end of a name in the message; 0: none.
static uint32_t place_of(const struct placed *in, const struct placed *name, uint32_t from)
{
	uint32_t len = name->len - from, random = name->random > len ? 0 : name->random;
	uint32_t at = in->at + in->len - len;

	if (in->len < len || in->len - len >= in->written || at > POINTER_MAX ||
		memcmp(in->wire + in->len - len, name->wire + from, len) != 0)
		return 0;
	// Equal octets, but some are random only here or only there.
	return random == (in->random > len ? 0 : in->random) ? at : 0;
}

static const char *put(struct update *u, const void *data, uint32_t len)
{
	if (u->len + len > u->limit)
		return u->limit == UINT16_MAX
		               ? "the message is longer than 65535 bytes"
		               : "the message is longer than a datagram may be: 512 bytes, or "
		                 "edns.size (or: transport: tcp)";
	memcpy(u->message + u->len, data, len);
	u->len += len;
	return NULL;
}

static const char *put16(struct update *u, uint32_t value)
{
	const uint8_t bytes[2] = {(uint8_t)(value >> 8), (uint8_t)value};

	return put(u, bytes, 2);
}

// Write labels up to a part that is already in the message, then a pointer to that part.
static const char *put_name(struct update *u, struct placed *name)
{
	const char *error;
	uint32_t to = 0;

	name->at = u->len;
	while (name->wire[name->written] && !to) {
		for (uint32_t i = 0; i < PLACES && !to; i++)
			to = place_of(&u->places[i], name, name->written);
		name->written += to ? 0 : 1u + name->wire[name->written];
	}
	name->written += !to; // the root
	error = put(u, name->wire, name->written);
	if (!error && to)
		error = put16(u, 0xc000 | to);
	if (name->random > name->len - name->written) {
		if (u->places[WITH_RANDOM].len)
			return "another name with {random:N}, which does not end with the first "
			       "one (a message draws one name)";
		u->places[WITH_RANDOM] = *name;
	}
	if (name->written)
		u->places[LAST] = *name;
	return error;
}

static const char *put_record(struct update *u, struct placed *name, uint32_t type, uint32_t class,
	uint32_t ttl, uint32_t rdata_len)
{
	const char *error = put_name(u, name);
	uint8_t fixed[10];

	bytes_put_be16(fixed, (uint16_t)type);
	bytes_put_be16(fixed + 2, (uint16_t) class);
	bytes_put_be32(fixed + 4, ttl);
	bytes_put_be16(fixed + 8, (uint16_t)rdata_len);
	if (!error)
		error = put(u, fixed, sizeof(fixed));
	return error ? error : put(u, u->rdata, rdata_len);
}

// Handle the first line of a message. Returns NULL, or the error with its position in *at.
static const char *message_begin(struct update *u, struct word rest, const char **at)
{
	struct word w = word_next(&rest);
	struct dns_text_error e;
	struct placed zone;
	const char *error = name_read(NULL, &w, &zone, &e);

	*at = w.text + e.at;
	u->spoilt = false;
	snprintf(u->zone, sizeof(u->zone), "%.*s", (int)w.len, w.text);
	memset(u->places, 0, sizeof(u->places));
	memset(u->counts, 0, sizeof(u->counts));
	memset(u->message, 0, DNS_HEADER_LEN);
	u->len = DNS_HEADER_LEN;
	u->open = true;
	u->places[ZONE] = (struct placed){.len = 1}; // the root, for names in a dropped message
	if (error)
		return error;
	u->places[ZONE] = (struct placed){.len = 0};
	error = put_name(u, &zone);
	u->places[ZONE] = u->places[LAST];
	if (!error)
		error = put16(u, DNS_SOA);
	if (!error)
		error = put16(u, 1);
	*at = rest.text;
	return error || !word_next(&rest).len ? error : "a word after the name of the zone";
}

static void message_end(struct update *u)
{
	const struct placed *random = &u->places[WITH_RANDOM];
	uint32_t unique =
		random->random_len < DNS_RANDOM_UNIQUE ? random->random_len : DNS_RANDOM_UNIQUE;
	bool spoilt = u->spoilt;

	u->open = u->spoilt = false;
	if (u->bad || spoilt)
		return;
	u->message[2] = DNS_UPDATE << 3;
	u->message[5] = 1;
	bytes_put_be16(u->message + 6, u->counts[PREREQUISITE]);
	bytes_put_be16(u->message + 8, u->counts[UPDATE]);
	dns_loader_add_message(u->loader, u->message, u->len,
		random->len ? (uint16_t)(random->at + random->len - random->random - DNS_HEADER_LEN)
			    : 0,
		(uint16_t)random->random_len);
	u->again |= random->len > 0;
	if (random->len)
		u->loader->to->random_lens |= 1u << unique;
}

static const struct command *command_find(const struct word *w)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (word_is(w, commands[i].name))
			return &commands[i];
	return NULL;
}

bool dns_updates_is_command(const char *text, size_t len)
{
	return command_find(&(struct word){text, len}) != NULL;
}

static bool ttl_read(const struct word *w, uint32_t *ttl)
{
	uint64_t n = 0;

	for (size_t i = 0; i < w->len; i++) {
		if (w->text[i] < '0' || w->text[i] > '9' || n > TTL_MAX)
			return false;
		n = n * 10 + (uint64_t)(w->text[i] - '0');
	}
	*ttl = (uint32_t)n;
	return w->len > 0 && n <= TTL_MAX;
}

// Parse type and RDATA of a command. Returns NULL, or the error.
static const char *data_read(struct update *u, const struct command *c, struct word rest,
	uint32_t *type, uint32_t *rdata_len, uint32_t *class, const char **at)
{
	struct word w = word_next(&rest), data = rest;
	int32_t number = dns_type_from_text(w.text, w.len);
	const char *reason;
	int len;

	*at = w.text;
	if (w.len == 0)
		return c->least > 1 ? "no type and data after the TTL" : NULL;
	if (number < 0)
		return "not a type (an IANA mnemonic like A or HTTPS, ANY, or TYPE0 to TYPE65535)";
	*type = (uint32_t)number;
	w = word_next(&rest);
	*at = w.text;
	if (w.len == 0)
		return c->least > 2 ? "no data after the type" : NULL;
	if (c->most < 3)
		return "data after the type (prohibit takes a name and a type)";
	*class = c->exact;
	if (memchr(data.text, RANDOM, data.len))
		return "{random:N} cannot be in data, only in names";
	len = dns_rdata_from_text((uint16_t)number, data.text, data.len, u->places[ZONE].wire,
		u->places[ZONE].len, u->rdata, &reason);
	if (len < 0)
		return reason;
	*rdata_len = (uint32_t)len;
	return NULL;
}

static const char *command_read(
	struct update *u, const struct command *c, struct word rest, const char **at)
{
	struct word w = word_next(&rest);
	uint32_t type = DNS_ANY, ttl = 0, class = c->class, rdata_len = 0;
	struct dns_text_error e;
	struct placed name;
	const char *error;

	*at = w.text;
	if (w.len == 0)
		return "no name after the command";
	error = name_read(&u->places[ZONE], &w, &name, &e);
	*at += e.at;
	if (!error && c->ttl) {
		w = word_next(&rest);
		*at = w.text;
		error = ttl_read(&w, &ttl) ? NULL : "not a TTL (0 to 2147483647 seconds)";
	}
	if (!error)
		error = data_read(u, c, rest, &type, &rdata_len, &class, at);
	return error ? error : put_record(u, &name, type, class, ttl, rdata_len);
}

// Returns NULL, or the error with its position in *at.
static const char *line_read(struct update *u, struct word rest, const char **at)
{
	const struct command *c;
	struct word all = rest, w = word_next(&rest);

	*at = w.text;
	if (w.len == 0 || w.text[0] == ';')
		return NULL;
	if (!u->open)
		return word_is(&w, "send") ? "send without a message before it"
		                           : message_begin(u, all, at);
	if (word_is(&w, "send")) {
		message_end(u);
		return NULL;
	}
	c = command_find(&w);
	if (!c)
		return DNS_NO_COMMAND;
	if (c->section == PREREQUISITE && u->counts[UPDATE])
		return "a prerequisite after an update (all of them stand before it)";
	u->counts[c->section]++;
	u->adds |= c->ttl;
	u->deletes |= c->section == UPDATE && !c->ttl;
	return command_read(u, c, rest, at);
}

// The message counts once, however many of its lines are bad.
static void line_leave_out(
	struct update *u, const char *line, size_t len, const char *error, const char *at)
{
	const struct dns_text_error e = {error, (size_t)(at - line)};
	const struct dns_skip *skip = u->loader->skip;

	if (!u->spoilt)
		dns_loader_leave_out(u->loader, line, len, &e);
	else if (skip->bad)
		skip->bad(skip->ctx, line, len, &e);
	u->spoilt = u->open;
}

static void line_take(struct update *u, const char *line, size_t len)
{
	const char *at = line, *error, *nul = memchr(line, '\0', len);
	int shown = len < 80 ? (int)len : 80;

	u->line = ++u->loader->line;
	error = u->bad >= BAD_LISTED ? NULL
	        : nul                ? INPUT_NUL
	                             : line_read(u, (struct word){line, len}, &at);
	at = nul ? nul : at;
	if (!error)
		return;
	if (u->loader->skip) {
		line_leave_out(u, line, len, error, at);
		return;
	}
	u->bad++;
	if (u->what)
		diag_error(u->loader->diag, u->setting, NULL, "%s %u: %s", u->what, u->line, error);
	else
		diag_error_at(u->loader->diag, u->loader->file, u->line, (uint32_t)(at - line) + 1,
			NULL, "%s: \"%.*s\"", error, shown, line);
}

static void lines_take(struct update *u, const char *text, size_t len)
{
	while (len && !u->loader->failure) {
		const char *end = memchr(text, '\n', len);
		size_t line = end ? (size_t)(end - text) : len;

		line_take(u, text, line);
		text += line + (end != NULL);
		len -= line + (end != NULL);
	}
}

static struct update *update_new(struct dns_loader *l, uint32_t limit, const void *setting)
{
	struct update *u = calloc(1, sizeof(*u));

	if (!u)
		arena_exhausted();
	u->loader = l;
	u->limit = limit;
	u->setting = setting;
	return u;
}

// Frees u. 0, or -errno with the reasons in the diag.
static int update_finish(struct update *u)
{
	struct dns_loader *l = u->loader;
	int rc = u->bad ? -EINVAL : l->failure;

	if (l->failure == -EFBIG)
		diag_error(l->diag, u->setting, NULL, "more than 4 GiB of messages");
	dns_loader_sum_up(l, l->to->count, "updates");
	if (rc == 0 && l->to->count == 0) {
		diag_error(l->diag, u->setting, NULL, "no message%s%s", l->to->used ? ": " : "",
			l->to->used ? l->to->used : "");
		rc = -EINVAL;
	}
	if (rc == 0 && u->setting && !u->again && u->adds != u->deletes)
		log_note("%s: all updates %s: from the second pass on they change nothing (let "
			 "messages that %s follow, or draw names with {random:12})",
			diag_setting(l->diag, u->setting), u->adds ? "add" : "delete",
			u->adds ? "delete" : "add");
	free(u);
	return rc;
}

static int file_finish(struct update *u)
{
	if (u->open && u->loader->skip && !u->spoilt) {
		static const struct dns_text_error e = {DNS_NO_SEND, 0};

		dns_loader_leave_out(u->loader, u->zone, strlen(u->zone), &e);
	} else if (u->open && !u->bad && !u->spoilt) {
		diag_error_at(u->loader->diag, u->loader->file, u->line, 1, NULL, DNS_NO_SEND);
		u->bad++;
	}
	return update_finish(u);
}

int dns_updates_load_text(struct dns_queries *q, uint32_t limit, const char *name, const char *text,
	size_t len, const void *setting, struct diag *d)
{
	struct dns_loader l = {.to = q, .diag = d, .file = name};
	struct update *u = update_new(&l, limit, setting);

	lines_take(u, text, len);
	return file_finish(u);
}

static int line_give(void *to, char *line, size_t len, unsigned number)
{
	struct update *u = to;

	line_take(u, line, len);
	return u->loader->failure;
}

int dns_updates_load_file(struct dns_queries *q, uint32_t limit, const struct dns_skip *skip,
	const char *path, const void *setting, struct diag *d)
{
	struct dns_loader l = {.to = q, .diag = d, .file = input_name(path), .skip = skip};
	struct update *u = update_new(&l, limit, setting);
	int rc = input_octet_lines(path, setting, line_give, u, d);

	if (rc == 0)
		return file_finish(u);
	free(u);
	return rc;
}

static void text_expand(struct update *u, struct dns_pattern *p, char *made)
{
	size_t unused;

	do {
		size_t len = dns_pattern_text(p, RANDOM, made, TEXT_MAX, &unused);

		u->loader->line = 0;
		lines_take(u, made, len);
		if (u->open)
			message_end(u);
	} while (!u->bad && !u->loader->failure && dns_pattern_next(p));
}

static void text_take(struct update *u, struct dns_pattern *p, const char *text, char *made)
{
	const char *error = dns_pattern_parse(p, DNS_PATTERN_MESSAGE, text, strlen(text));

	if (!error && strchr(text, RANDOM))
		error = "a control character";
	if (!error && strlen(text) > TEXT_MAX / 2)
		error = "longer than 512 KiB (updates: FILE takes more)";
	if (!error && dns_pattern_count(p) > DNS_EXPANDED_MAX)
		error = "more than 100 million messages";
	if (!error) {
		text_expand(u, p, made);
		return;
	}
	diag_error(u->loader->diag, u->setting, NULL, "%s", error);
	u->bad++;
}

int dns_updates_load_texts(
	struct dns_queries *q, uint32_t limit, const struct field_list *texts, struct diag *d)
{
	struct dns_loader l = {.to = q, .diag = d};
	struct update *u = update_new(&l, limit, texts);
	struct dns_pattern *p = malloc(sizeof(*p));
	char *made = malloc(TEXT_MAX);
	const char *const *text = texts->items;

	if (!p || !made)
		arena_exhausted();
	u->what = "line";
	for (uint32_t i = 0; i < texts->count; i++) {
		u->setting = &text[i];
		text_take(u, p, text[i], made);
	}
	free(made);
	free(p);
	u->setting = texts;
	return update_finish(u);
}
