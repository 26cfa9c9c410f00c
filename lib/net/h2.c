// SPDX-License-Identifier: BSD-3-Clause
// Path: hot | cold (h2_request_build, h2_answer_build, h2_path_split, h2_header_wrong). Any
// thread.
#include "net/h2.h"

#include <string.h>

#include "net/hpack.h"

// Places in the static table of RFC 7541.
enum {
	STATIC_AUTHORITY = 1,
	STATIC_GET = 2,
	STATIC_POST = 3,
	STATIC_PATH = 4,
	STATIC_HTTPS = 7,
	STATIC_STATUS = 8,
	STATIC_ACCEPT = 19,
	STATIC_CONTENT_LENGTH = 28,
	STATIC_CONTENT_TYPE = 31,
	DYNAMIC = 62,
};

#define INDEXED       0x80
#define KEPT          0x40 // literal that enters the table
#define KEPT_BITS     6
#define NOT_KEPT_BITS 4
#define RESIZED       0x20
#define RESIZED_BITS  5
#define REPEATED_MOST 24 // fields
#define LENGTH_DIGITS 10

#define ERROR_NAME(number, name) name,
static const char *const error_names[] = {H2_ERRORS(ERROR_NAME)};

const char *h2_error_name(uint32_t place)
{
	return error_names[place];
}

static const uint16_t statuses[H2_STATUSES - 1] = {200, 204, 301, 302, 303, 307, 308, 400, 401, 403,
	404, 405, 406, 408, 413, 414, 415, 429, 500, 501, 502, 503, 504};
static const char *const status_names[H2_STATUSES] = {"200", "204", "301", "302", "303", "307",
	"308", "400", "401", "403", "404", "405", "406", "408", "413", "414", "415", "429", "500",
	"501", "502", "503", "504", "other"};

const char *h2_status_name(uint32_t place)
{
	return status_names[place];
}

uint32_t h2_status_place(uint32_t status)
{
	uint32_t i = 0;

	while (i < H2_STATUSES - 1 && statuses[i] != status)
		i++;
	return i;
}

// --- templates

// A field that each message repeats.
struct repeated {
	uint32_t index;   // of its name in the static table; 0: it is not there
	const char *name; // then
	uint32_t name_len;
	const char *value;
	uint32_t value_len;
	uint32_t size; // in a table
};

struct repeats {
	struct repeated all[REPEATED_MOST];
	uint32_t count;
};

static void add(struct repeats *r, uint32_t index, const char *name, uint32_t name_len,
	const char *value, uint32_t value_len)
{
	r->all[r->count++] = (struct repeated){
		index, name, name_len, value, value_len, name_len + value_len + HPACK_OVERHEAD};
}

static uint16_t size_of(const struct repeats *r)
{
	uint32_t size = 0;

	for (uint32_t i = 0; i < r->count; i++)
		size += r->all[i].size;
	return (uint16_t)(size < UINT16_MAX ? size : UINT16_MAX);
}

// Writes the i-th repeated field.
static void put(struct writer *w, const struct repeats *r, uint32_t i, enum h2_encoding how)
{
	const struct repeated *f = &r->all[i];

	if (how == H2_INDEXED) {
		hpack_put_int(w, INDEXED, 7, DYNAMIC + r->count - 1 - i);
		return;
	}
	hpack_put_int(w, how == H2_FIRST ? KEPT : 0, how == H2_FIRST ? KEPT_BITS : NOT_KEPT_BITS,
		f->index);
	if (f->index == 0)
		hpack_put_text(w, f->name, f->name_len);
	hpack_put_text(w, f->value, f->value_len);
}

static bool part_end(struct h2_part *p, const struct writer *w)
{
	p->len = (uint16_t)(w->at - p->bytes);
	return !w->failed;
}

bool h2_path_split(const char *path, const char **expression, const char **rest)
{
	const char *open = strchr(path, '{'), *close = open ? strchr(open, '}') : NULL;

	*expression = open;
	*rest = close ? close + 1 : path + strlen(path);
	if (path[0] != '/' || (open && !close) || strpbrk(path, " #"))
		return false;
	return !open || ((open[1] == '?' || open[1] == '&') && close > open + 2 &&
				strchr(close, '{') == NULL);
}

// Splits a path into two parts: in front of a message, with the name of its variable, and behind
// it.
static const char *path_build(const char *path, bool get, struct h2_request *out)
{
	const char *expression, *rest;
	struct writer w = writer_of(out->path, sizeof(out->path));

	if (!h2_path_split(path, &expression, &rest))
		return "a path begins with / and has at most one {?name} or {&name}";
	if (get && !expression)
		return "GET needs {?name}, or {&name}, where the message goes";
	write_bytes(&w, path, expression ? (size_t)(expression - path) : strlen(path));
	if (get) {
		write_bytes(&w, expression + 1, (size_t)(rest - expression) - 2);
		write_u8(&w, '=');
	}
	out->before = (uint16_t)((char *)w.at - out->path);
	write_bytes(&w, rest, strlen(rest));
	out->after = (uint16_t)((char *)w.at - out->path - out->before);
	return w.failed ? "the path is too long" : NULL;
}

const char *h2_header_wrong(const char *text)
{
	const char *colon = strchr(text, ':');

	if (!colon || colon == text)
		return "not a header (like \"name: value\")";
	for (const char *p = text; p < colon; p++)
		if ((*p >= 'A' && *p <= 'Z') || *p <= ' ' || *p > '~')
			return "the name of a header is in lower case (RFC 9113 section 8.2.1)";
	for (const char *p = colon; *p; p++)
		if (*p < ' ' || *p > '~')
			return "the value of a header has printable characters only";
	return NULL;
}

// A header that the user gave.
static void header_add(struct repeats *r, const char *text)
{
	const char *colon = strchr(text, ':'), *value = colon + 1 + strspn(colon + 1, " ");

	if (r->count < REPEATED_MOST)
		add(r, 0, text, (uint32_t)(colon - text), value, (uint32_t)strlen(value));
}

static bool request_part(const struct repeats *r, uint32_t split, enum h2_encoding how, bool get,
	struct h2_request *out)
{
	struct writer head = writer_of(out->head[how].bytes, H2_PART),
		      tail = writer_of(out->tail[how].bytes, H2_PART);

	write_u8(&head, INDEXED | (get ? STATIC_GET : STATIC_POST));
	write_u8(&head, INDEXED | STATIC_HTTPS);
	for (uint32_t i = 0; i < r->count; i++)
		put(get && i >= split ? &tail : &head, r, i, how);
	return part_end(&out->head[how], &head) && part_end(&out->tail[how], &tail);
}

const char *h2_request_build(const struct h2_request_wanted *from, struct h2_request *out)
{
	const char *const *headers = from->headers->items;
	uint32_t media = (uint32_t)strlen(from->media), split;
	struct repeats r = {.count = 0};
	const char *wrong;

	out->get = from->get;
	wrong = path_build(from->path, from->get, out);
	if (wrong)
		return wrong;
	add(&r, STATIC_AUTHORITY, NULL, 10, from->authority, (uint32_t)strlen(from->authority));
	if (!from->get)
		add(&r, STATIC_PATH, NULL, 5, out->path, (uint32_t)out->before + out->after);
	split = r.count;
	add(&r, STATIC_ACCEPT, NULL, 6, from->media, media);
	if (!from->get)
		add(&r, STATIC_CONTENT_TYPE, NULL, 12, from->media, media);
	for (uint32_t i = 0; i < from->headers->count; i++)
		header_add(&r, headers[i]);
	out->table = size_of(&r);
	for (int how = 0; how < H2_ENCODINGS && !wrong; how++)
		if (!request_part(&r, split, (enum h2_encoding)how, from->get, out))
			wrong = "the headers are too long";
	return wrong;
}

void h2_answer_build(const char *media, struct h2_answer *out)
{
	struct repeats r = {.count = 0};

	add(&r, STATIC_CONTENT_TYPE, NULL, 12, media, (uint32_t)strlen(media));
	out->table = size_of(&r);
	for (int how = 0; how < H2_ENCODINGS; how++) {
		struct writer w = writer_of(out->head[how].bytes, H2_PART);

		put(&w, &r, 0, (enum h2_encoding)how);
		part_end(&out->head[how], &w);
	}
}

// --- writing

static const char base64url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static uint8_t *base64url_put(uint8_t *to, const uint8_t *at, uint32_t len)
{
	for (; len >= 3; len -= 3, at += 3, to += 4) {
		uint32_t v = (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];

		to[0] = (uint8_t)base64url[v >> 18];
		to[1] = (uint8_t)base64url[v >> 12 & 63];
		to[2] = (uint8_t)base64url[v >> 6 & 63];
		to[3] = (uint8_t)base64url[v & 63];
	}
	if (len) {
		uint32_t v = (uint32_t)at[0] << 16 | (len == 2 ? (uint32_t)at[1] << 8 : 0);

		*to++ = (uint8_t)base64url[v >> 18];
		*to++ = (uint8_t)base64url[v >> 12 & 63];
		if (len == 2)
			*to++ = (uint8_t)base64url[v >> 6 & 63];
	}
	return to;
}

static void put_part(struct writer *w, const struct h2_part *p)
{
	write_bytes(w, p->bytes, p->len);
}

// The length of a message, as a field.
static void put_length(struct writer *w, uint32_t len)
{
	uint8_t digits[LENGTH_DIGITS];
	uint32_t n = 0;

	do
		digits[n++] = (uint8_t)('0' + len % 10);
	while (len /= 10);
	hpack_put_int(w, 0, NOT_KEPT_BITS, STATIC_CONTENT_LENGTH);
	write_u8(w, (uint8_t)n);
	while (n)
		write_u8(w, digits[--n]);
}

// The path of GET, which does not enter the table.
static void put_path(
	struct writer *w, const struct h2_request *r, const uint8_t *message, uint32_t len)
{
	uint32_t text = (len * 4 + 2) / 3;
	uint8_t *to;

	write_u8(w, STATIC_PATH);
	hpack_put_int(w, 0, 7, r->before + text + r->after);
	write_bytes(w, r->path, r->before);
	to = write_space(w, text);
	if (to)
		base64url_put(to, message, len);
	write_bytes(w, r->path + r->before, r->after);
}

static uint32_t frame_end(struct writer *w, uint8_t *to, uint8_t flags, uint32_t stream)
{
	uint32_t len = (uint32_t)(w->at - to) - H2_HEAD;

	if (w->failed || len > H2_FRAME)
		return 0;
	h2_put_head(to, len, H2_HEADERS, H2_END_HEADERS | flags, stream);
	return H2_HEAD + len;
}

uint32_t h2_request_write(const struct h2_request *r, enum h2_encoding how, int32_t resized,
	uint32_t stream, const uint8_t *message, uint32_t len, uint8_t *to, uint32_t room)
{
	struct writer w = writer_of(to, room);

	write_space(&w, H2_HEAD);
	if (resized >= 0)
		hpack_put_int(&w, RESIZED, RESIZED_BITS, (uint32_t)resized);
	put_part(&w, &r->head[how]);
	if (r->get)
		put_path(&w, r, message, len);
	put_part(&w, &r->tail[how]);
	if (!r->get)
		put_length(&w, len);
	return frame_end(&w, to, r->get ? H2_END_STREAM : 0, stream);
}

static void put_status(struct writer *w, uint32_t status)
{
	uint8_t digits[] = {(uint8_t)('0' + status / 100 % 10), (uint8_t)('0' + status / 10 % 10),
		(uint8_t)('0' + status % 10)};

	if (status == 200) {
		write_u8(w, INDEXED | STATIC_STATUS);
		return;
	}
	write_u8(w, STATIC_STATUS);
	write_u8(w, sizeof(digits));
	write_bytes(w, digits, sizeof(digits));
}

uint32_t h2_answer_write(const struct h2_answer *a, enum h2_encoding how, int32_t resized,
	uint32_t stream, uint32_t status, uint32_t len, uint8_t *to, uint32_t room)
{
	struct writer w = writer_of(to, room);

	write_space(&w, H2_HEAD);
	if (resized >= 0)
		hpack_put_int(&w, RESIZED, RESIZED_BITS, (uint32_t)resized);
	put_status(&w, status);
	if (len)
		put_part(&w, &a->head[how]);
	put_length(&w, len);
	return frame_end(&w, to, len ? 0 : H2_END_STREAM, stream);
}

// --- reading

static uint32_t digit_of(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return (uint32_t)(c - 'A');
	if (c >= 'a' && c <= 'z')
		return (uint32_t)(c - 'a') + 26;
	if (c >= '0' && c <= '9')
		return (uint32_t)(c - '0') + 52;
	return c == '-' ? 62 : c == '_' ? 63 : UINT32_MAX;
}

uint32_t h2_base64url_read(const uint8_t *text, uint32_t len, uint8_t *to, uint32_t room)
{
	uint32_t bits = 0, have = 0, n = 0;

	for (uint32_t i = 0; i < len; i++) {
		uint32_t digit = digit_of(text[i]);

		if (digit == UINT32_MAX || n == room)
			return 0;
		bits = bits << 6 | digit;
		have += 6;
		if (have < 8)
			continue;
		have -= 8;
		to[n++] = (uint8_t)(bits >> have);
	}
	return len % 4 == 1 ? 0 : n;
}
