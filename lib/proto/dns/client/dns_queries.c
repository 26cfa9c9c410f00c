// SPDX-License-Identifier: BSD-3-Clause
// Reads query files in dnsperf's text format, with the words of kxdpgun and flamethrower, into wire
// form: one flat blob and offsets, with all bad lines reported together. Inline names and their
// patterns are in dns_patterns.c. Path: cold. Management thread.

#include "proto/dns/client/dns_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/input.h"
#include "net/csum.h"

#define CODE_MAX      65535 // of an EDNS option
#define LISTED_LINES  10    // bad lines, before "and N more"
#define DNS_WHOLE_MAX (sizeof(struct dns_whole) + UINT16_MAX)

void dns_queries_free(struct dns_queries *q)
{
	free(q->blob);
	free(q->offsets);
	free(q->used);
	timestamps_free(&q->times);
	*q = (struct dns_queries){0};
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static size_t blanks_end(const char *line, size_t len, size_t at)
{
	while (at < len && is_blank(line[at]))
		at++;
	return at;
}

// An escaped blank belongs to the word.
static size_t word_end(const char *line, size_t len, size_t at)
{
	while (at < len && !is_blank(line[at]))
		at += line[at] == '\\' ? 2 : 1;
	return at < len ? at : len;
}

struct word {
	const char *text;
	size_t len; // 0: end of the line
};

// Read the next word at or after *at, and move *at to its end. Words that begin with ; are
// comments.
static struct word word_next(const char *line, size_t len, size_t *at)
{
	size_t begin = blanks_end(line, len, *at);

	if (begin < len && line[begin] == ';')
		begin = len;
	*at = word_end(line, len, begin);
	return (struct word){line + begin, *at - begin};
}

// Parse the address and prefix length of a word. false: invalid.
static bool subnet_read(const struct word *w, struct addr_prefix *out)
{
	char text[64];
	const char *what;

	if (w->len >= sizeof(text))
		return false;
	memcpy(text, w->text, w->len);
	text[w->len] = '\0';
	return addr_parse_prefix(text, out, &what) == 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *hex_read(struct writer *w, const char *text, size_t len)
{
	if (len % 2)
		return "an odd number of hex digits in an option";
	for (size_t i = 0; i < len; i += 2) {
		int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);

		if (high < 0 || low < 0)
			return "not hex digits in an option (+CODE=HEX; a text is +CODE:TEXT)";
		write_u8(w, (uint8_t)(high << 4 | low));
	}
	return NULL;
}

static const char *text_read(struct writer *w, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		int octet = text[i] == '\\' ? dns_escape_value(text, len, &i) : (uint8_t)text[i];

		if (octet < 0)
			return "not an escape in an option (\\000 to \\255, or \\ and a character)";
		write_u8(w, (uint8_t)octet);
	}
	return NULL;
}

const char *dns_option_read(struct writer *w, const char *text, size_t len)
{
	uint32_t code = 0;
	size_t at = 1;
	const char *error = NULL;
	uint8_t *head;

	for (; at < len && is_digit(text[at]) && code <= CODE_MAX; at++)
		code = code * 10 + (uint32_t)(text[at] - '0');
	if (at == 1 || code > CODE_MAX || (at < len && text[at] != '=' && text[at] != ':'))
		return "not an option (+CODE=HEX, +CODE:TEXT or +CODE; a code is 0 to 65535)";
	head = write_space(w, 4);
	if (at < len)
		error = text[at] == '=' ? hex_read(w, text + at + 1, len - at - 1)
		                        : text_read(w, text + at + 1, len - at - 1);
	if (error)
		return error;
	if (w->failed)
		return "more than 512 octets of options (4 of each are its header)";
	bytes_put_be16(head, (uint16_t)code);
	bytes_put_be16(head + 2, (uint16_t)(w->at - head - 4));
	return NULL;
}

// Parse a word after the type. As in kxdpgun, the first of several letters decides. NULL, or the
// error.
static const char *option_read(const struct word *w, struct dns_line *out)
{
	bool flags = true;

	if (w->text[0] == '+') {
		struct writer to = writer_of(out->options, sizeof(out->options));
		const char *error;

		write_space(&to, out->options_len);
		error = dns_option_read(&to, w->text, w->len);
		out->options_len = (uint16_t)(to.at - out->options);
		return error;
	}
	for (size_t i = 0; i < w->len; i++)
		flags = flags && strchr("EeDd", w->text[i]) != NULL;
	if ((flags && out->edns) || (!flags && out->subnet.addr.len))
		return "a second word of that kind (at most one of E and D, and one client subnet)";
	if (flags) {
		out->edns = true;
		out->dnssec_ok = w->text[0] == 'D' || w->text[0] == 'd';
		return NULL;
	}
	return subnet_read(w, &out->subnet) ? NULL
	                                    : "a word after the type that is not E (EDNS), D (EDNS "
	                                      "with DO), a client subnet like 192.0.2.0/24 or "
	                                      "an option like +65001=c0ffee "
	                                      "(extra_words: ignore skips it)";
}

// Parse the words after the name; *at: end of the last one, or position of the error.
static const char *words_read(
	const struct dns_form *form, const char *line, size_t len, size_t *at, struct dns_line *out)
{
	size_t after = *at;
	struct word type = word_next(line, len, &after), next;
	size_t second = after;
	int32_t class, number = dns_type_from_text(type.text, type.len);
	const char *error = NULL;

	if (type.len == 0)
		return "no type after the name (like: www.example.com A)";
	next = word_next(line, len, &second);
	class = form->two_words ? -1 : dns_class_from_text(type.text, type.len);
	if (class >= 0 && (number < 0 || dns_type_from_text(next.text, next.len) >= 0)) {
		out->class = (uint16_t) class;
		number = dns_type_from_text(next.text, next.len);
		*at = after;
		if (next.len == 0)
			return "no type after the class (like: version.bind CH TXT)";
		type = next;
		after = second;
	}
	*at = (size_t)(type.text - line);
	if (number < 0)
		return "not a type (an IANA mnemonic like A or HTTPS, ANY, or TYPE0 to TYPE65535)";
	out->type = (uint16_t)number;
	while (!error && !form->two_words && (next = word_next(line, len, &after)).len > 0) {
		*at = (size_t)(next.text - line);
		error = option_read(&next, out);
	}
	return error;
}

// Parse the word after the zone of a transfer. Returns NULL, or the error.
static const char *serial_read(const char *line, size_t len, size_t *at, struct dns_line *out)
{
	struct word serial = word_next(line, len, at), more = word_next(line, len, at);
	uint64_t n = 0;

	if (serial.len == 0)
		return NULL;
	for (size_t i = 0; i < serial.len && n <= UINT32_MAX; i++) {
		if (serial.text[i] < '0' || serial.text[i] > '9')
			n = UINT32_MAX;
		n = n * 10 + (uint64_t)(serial.text[i] - '0');
	}
	*at = (size_t)(serial.text - line);
	out->incremental = true;
	out->serial = (uint32_t)n;
	if (n > UINT32_MAX || more.len > 0)
		return "after the zone, not one serial (a number up to 4294967295)";
	return NULL;
}

bool dns_line_parse(const struct dns_form *form, const char *line, size_t len, struct dns_line *out,
	struct dns_text_error *e)
{
	struct word name;
	size_t at = 0;

	*out = (struct dns_line){.class = form->class};
	if (len > 0 && line[len - 1] == '\r')
		len--;
	name = word_next(line, len, &at);
	if (name.len == 0)
		return true;
	e->at = at;
	e->reason = form->transfers ? serial_read(line, len, &e->at, out)
	                            : words_read(form, line, len, &e->at, out);
	out->name = name.text;
	out->name_len = name.len;
	out->edns = out->edns || out->subnet.addr.len || out->options_len;
	return !e->reason;
}

// Make room for another entry of len bytes.
static bool loader_room(struct dns_loader *l, uint32_t len)
{
	struct dns_queries *q = l->to;
	void *p;

	if (l->blob_len + len > l->blob_room) {
		l->blob_room = l->blob_room ? l->blob_room * 2 : 1 << 17;
		p = realloc(q->blob, l->blob_room);
		if (!p)
			return false;
		q->blob = p;
	}
	if (q->count + 2 > l->offsets_room) {
		l->offsets_room = l->offsets_room ? l->offsets_room * 2 : 1 << 10;
		p = realloc(q->offsets, (size_t)l->offsets_room * sizeof(*q->offsets));
		if (!p)
			return false;
		q->offsets = p;
		q->offsets[q->count] = (uint32_t)l->blob_len;
	}
	return true;
}

// The position for an entry of at most len bytes; NULL: an error, sticky.
static uint8_t *loader_at(struct dns_loader *l, uint32_t len)
{
	if (l->failure)
		return NULL;
	if (l->blob_len + len > UINT32_MAX)
		l->failure = -EFBIG;
	else if (!loader_room(l, len))
		l->failure = -ENOMEM;
	return l->failure ? NULL : l->to->blob + l->blob_len;
}

static void loader_added(struct dns_loader *l, uint32_t len)
{
	l->blob_len += len;
	l->to->offsets[++l->to->count] = (uint32_t)l->blob_len;
}

void dns_loader_add_message(struct dns_loader *l, const uint8_t *message, uint32_t len,
	uint16_t random_at, uint16_t random_len)
{
	uint32_t body = len > 2 ? len - 2 : 0;
	struct dns_whole head = {random_at, random_len, 0, (uint16_t)(2 + body - len)};
	uint8_t *p = loader_at(l, DNS_WHOLE_MAX);

	if (!p)
		return;
	if (len >= DNS_HEADER_LEN && bytes_be16(message + 4) == 1)
		head.question_len = (uint16_t)dns_question_len(message, len);
	memcpy(p, &head, sizeof(head));
	memcpy(p + sizeof(head), message + 2, body);
	l->to->whole = true;
	l->to->shorts |= len < DNS_HEADER_LEN;
	loader_added(l, (uint32_t)sizeof(head) + body);
}

void dns_loader_add_transfer(struct dns_loader *l, const struct dns_line *line, const uint8_t *name,
	uint32_t len, uint8_t random_at, uint8_t random_len)
{
	uint8_t message[DNS_HEADER_LEN + DNS_QUESTION_MAX + 34] = {
		[5] = 1, [9] = line->incremental};
	struct writer w = writer_of(message, sizeof(message));

	write_space(&w, DNS_HEADER_LEN);
	write_bytes(&w, name, len);
	write_be16(&w, line->incremental ? DNS_IXFR : DNS_AXFR);
	write_be16(&w, line->class);
	if (line->incremental) { // RFC 1995 section 3: the SOA record of the copy; servers read its
		                 // serial
		write_be16(&w, 0xc000 | DNS_HEADER_LEN);
		write_be16(&w, DNS_SOA);
		write_be16(&w, line->class);
		write_be32(&w, 0);
		write_be16(&w, 22);
		write_be16(&w, 0); // MNAME, RNAME
		write_be32(&w, line->serial);
		write_space(&w, 16);
	}
	dns_loader_add_message(l, message, (uint32_t)(w.at - message), random_at, random_len);
}

// RFC 7871 section 6: family, source prefix length, scope 0, and the octets covered by the prefix,
// with all later bits zero.
static void subnet_write(struct writer *w, const struct addr_prefix *subnet)
{
	uint32_t len = (subnet->bits + 7u) / 8;

	write_be16(w, DNS_CLIENT_SUBNET);
	write_be16(w, (uint16_t)(4 + len));
	write_be16(w, subnet->addr.len == 4 ? 1 : 2);
	write_u8(w, subnet->bits);
	write_u8(w, 0);
	for (uint32_t i = 0; i < len; i++) {
		uint32_t kept = subnet->bits - i * 8 < 8 ? subnet->bits - i * 8 : 8;

		write_u8(w, subnet->addr.bytes[i] & (uint8_t)(0xff00 >> kept));
	}
}

// Write the line's own OPT record, if it needs more than the common OPT. Its length, or 0.
static uint32_t own_opt_write(const struct dns_form *f, const struct dns_line *line, uint8_t *out)
{
	const struct dns_opt *opt = f->opt;
	bool dnssec = line->dnssec_ok && !(opt->bytes[7] & DNS_DO >> 8);
	struct writer w = writer_of(out, DNS_OWN_OPT_MAX);
	uint32_t rest = DNS_OPT_HEADER_LEN, end = opt->cookie_at ? opt->cookie_at - 4u : opt->len;
	uint32_t len;

	if (!line->edns ||
		(f->every_opt && !dnssec && line->subnet.addr.len == 0 && line->options_len == 0))
		return 0;
	write_bytes(&w, opt->bytes, DNS_OPT_HEADER_LEN);
	if (line->subnet.addr.len) {
		subnet_write(&w, &line->subnet);
		if (opt->subnet_at)
			rest = opt->subnet_at + bytes_be16(opt->bytes + opt->subnet_at - 2);
	}
	write_bytes(&w, opt->bytes + rest, end - rest);
	write_bytes(&w, line->options, line->options_len);
	write_bytes(&w, opt->bytes + end, opt->len - end);
	len = (uint32_t)(w.at - out);
	out[7] |= dnssec ? DNS_DO >> 8 : 0;
	bytes_put_be16(out + DNS_OPT_HEADER_LEN - 2, (uint16_t)(len - DNS_OPT_HEADER_LEN));
	return len;
}

void dns_loader_add(struct dns_loader *l, const struct dns_line *line, const uint8_t *name,
	uint32_t len, uint8_t random_at, uint8_t random_len)
{
	uint16_t sum, question = (uint16_t)(len + 4);
	uint8_t *p = loader_at(l, DNS_ENTRY_MAX);
	uint32_t own;

	if (!p)
		return;
	p[0] = random_at;
	p[1] = random_len | (line->subnet.addr.len ? DNS_OWN_SUBNET : 0);
	memcpy(p + 4, &question, sizeof(question));
	memcpy(p + DNS_ENTRY_HEAD, name, len);
	bytes_put_be16(p + DNS_ENTRY_HEAD + len, line->type);
	bytes_put_be16(p + DNS_ENTRY_HEAD + len + 2, line->class);
	own = own_opt_write(l->form, line, p + DNS_ENTRY_HEAD + question);
	sum = csum_16(csum_add(0, p + DNS_ENTRY_HEAD, question + own));
	memcpy(p + 2, &sum, sizeof(sum));
	l->to->own_opts |= own > 0;
	loader_added(l, DNS_ENTRY_HEAD + question + own);
}

void dns_loader_leave_out(
	struct dns_loader *l, const char *line, size_t len, const struct dns_text_error *e)
{
	if (l->left_out.all == 0)
		l->first_left_out = l->line;
	left_out_add(&l->left_out, e->reason);
	if (l->skip->bad)
		l->skip->bad(l->skip->ctx, line, len, e);
}

void dns_loader_sum_up(struct dns_loader *l, uint64_t used, const char *kind)
{
	l->to->used = left_out_text(&l->left_out, used, kind, l->file, l->first_left_out);
}

// Escapes unprintable characters as in names: \\DDD.
static const char *visible(const char *line, size_t len, char *out, size_t room)
{
	char *to = out;

	for (size_t i = 0; i < len && (size_t)(to - out) + 5 < room; i++) {
		unsigned char c = (unsigned char)line[i];

		to += sprintf(to, c == '\t' || (c >= ' ' && c < 0x7f) ? "%c" : "\\%03u", c);
	}
	*to = '\0';
	return out;
}

static const char *hint_of(const char *line, size_t len)
{
	size_t at = blanks_end(line, len, 0);

	if (at < len && line[at] == '#')
		return " (a comment begins with ;)";
	return memmem(line, len, "\xc2\xa0", 2)
	               ? " (\\194\\160 is a no-break space, which ends no word)"
	               : "";
}

static void loader_bad_line(
	struct dns_loader *l, const char *line, size_t len, const struct dns_text_error *e)
{
	uint32_t col = (uint32_t)e->at + 1;
	char text[128];

	if (l->skip) {
		dns_loader_leave_out(l, line, len, e);
		return;
	}
	l->bad++;
	if (l->bad <= LISTED_LINES) {
		diag_error_at(l->diag, l->file, l->line, col, NULL, "%s: \"%s\"%s", e->reason,
			visible(line, len < 80 ? len : 80, text, sizeof(text)), hint_of(line, len));
	} else if (l->bad == LISTED_LINES + 1) {
		l->unlisted_line = l->line;
		l->unlisted_col = col;
	}
}

static void loader_line(struct dns_loader *l, const char *line, size_t len)
{
	struct dns_text_error e;
	uint8_t name[DNS_NAME_MAX];
	struct dns_line words;
	int name_len;

	const char *nul = memchr(line, '\0', len);

	l->line++;
	if (nul) {
		e = (struct dns_text_error){.at = (size_t)(nul - line), .reason = INPUT_NUL};
		loader_bad_line(l, line, len, &e);
		return;
	}
	if (!dns_line_parse(l->form, line, len, &words, &e)) {
		loader_bad_line(l, line, len, &e);
		return;
	}
	if (words.name_len == 0)
		return;
	name_len = dns_name_from_text(words.name, words.name_len, name, &e);
	if (name_len < 0) {
		e.at += (size_t)(words.name - line);
		loader_bad_line(l, line, len, &e);
		return;
	}
	if (l->bad == 0)
		dns_loader_add(l, &words, name, (uint32_t)name_len, 0, 0);
}

static int loader_finish(struct dns_loader *l, const void *setting)
{
	if (l->bad > LISTED_LINES) {
		unsigned long long more = l->bad - LISTED_LINES;

		diag_error_at(l->diag, l->file, l->unlisted_line, l->unlisted_col, NULL,
			"and %llu more bad line%s", more, more == 1 ? "" : "s");
	}
	if (l->bad)
		return -EINVAL;
	if (l->failure == -EFBIG)
		diag_error(l->diag, setting, NULL, "%s: more than 4 GiB of queries", l->file);
	if (l->failure)
		return l->failure;
	dns_loader_sum_up(l, l->to->count, "lines");
	if (l->to->count == 0) {
		diag_error(l->diag, setting, NULL, "%s: holds no query%s%s", l->file,
			l->to->used ? ": " : "", l->to->used ? l->to->used : "");
		return -EINVAL;
	}
	return 0;
}

int dns_queries_load_text(struct dns_queries *q, const struct dns_form *form, const char *name,
	const char *text, size_t len, const void *setting, struct diag *d)
{
	struct dns_loader l = {.to = q, .form = form, .diag = d, .file = name, .skip = form->skip};

	while (len) {
		const char *end = memchr(text, '\n', len);
		size_t line = end ? (size_t)(end - text) : len;

		loader_line(&l, text, line);
		text += line + (end != NULL);
		len -= line + (end != NULL);
	}
	return loader_finish(&l, setting);
}

static int loader_give(void *to, char *line, size_t len, unsigned number)
{
	struct dns_loader *l = to;

	(void)number; // the loader counts, too
	loader_line(l, line, len);
	return l->failure != 0;
}

int dns_queries_load_file(struct dns_queries *q, const struct dns_form *form, const char *path,
	const void *setting, struct diag *d)
{
	struct dns_loader l = {
		.to = q, .form = form, .diag = d, .file = input_name(path), .skip = form->skip};
	int ret = input_octet_lines(path, setting, loader_give, &l, d);

	if (ret == 0 || l.bad)
		ret = loader_finish(&l, setting);
	return ret;
}
