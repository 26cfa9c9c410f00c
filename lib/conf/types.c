// SPDX-License-Identifier: BSD-3-Clause
// The scalar types as rows of a table: name, size, parse, format, ends of a range.
// Not here: ranges and words of a row (value.c), lists, sections. Path: cold. Management thread.
#include "conf/types.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "conf/units.h"

#define SHARE_RATE_MAX 1e9
#define TEXT_SIZE      128 // of any value but strings and hex digits

static int bool_parse(struct value_input *in, void *dst)
{
	in->what = "a boolean (true or false)";
	if (strcasecmp(in->text, "true") != 0 && strcasecmp(in->text, "false") != 0)
		return -EINVAL;
	*(bool *)dst = strcasecmp(in->text, "true") == 0;
	return 0;
}

static const char *bool_format(const struct field *f, const void *src, struct arena *a)
{
	return *(const bool *)src ? "true" : "false";
}

static void u64_ends(const void *v, double ends[2])
{
	ends[0] = ends[1] = (double)*(const uint64_t *)v;
}

static void double_ends(const void *v, double ends[2])
{
	ends[0] = ends[1] = *(const double *)v;
}

static int count_parse(struct value_input *in, void *dst)
{
	return units_parse_count(in->text, dst, &in->what);
}

static const char *count_format(const struct field *f, const void *src, struct arena *a)
{
	return units_format_count(
		*(const uint64_t *)src, arena_zalloc(a, UNITS_TEXT_SIZE), UNITS_TEXT_SIZE);
}

static const char *count_limit(double v, char *buf, size_t room)
{
	snprintf(buf, room, "%.0f", v);
	return buf;
}

static int rate_parse(struct value_input *in, void *dst)
{
	return units_parse_rate(in->text, dst, &in->what);
}

static const char *rate_format(const struct field *f, const void *src, struct arena *a)
{
	return units_format_rate(
		*(const double *)src, arena_zalloc(a, UNITS_TEXT_SIZE), UNITS_TEXT_SIZE);
}

static int duration_parse(struct value_input *in, void *dst)
{
	return units_parse_duration(in->text, dst, &in->what);
}

static const char *duration_format(const struct field *f, const void *src, struct arena *a)
{
	return units_format_duration(
		*(const uint64_t *)src, arena_zalloc(a, UNITS_TEXT_SIZE), UNITS_TEXT_SIZE);
}

static const char *duration_limit(double v, char *buf, size_t room)
{
	return units_format_duration((uint64_t)v, buf, room);
}

static int size_parse(struct value_input *in, void *dst)
{
	return units_parse_size(in->text, dst, &in->what);
}

static const char *size_format(const struct field *f, const void *src, struct arena *a)
{
	return units_format_size(
		*(const uint64_t *)src, arena_zalloc(a, UNITS_TEXT_SIZE), UNITS_TEXT_SIZE);
}

static const char *size_limit(double v, char *buf, size_t room)
{
	return units_format_size((uint64_t)v, buf, room);
}

static int number_value_parse(struct value_input *in, void *dst)
{
	return units_parse_number(in->text, dst, &in->what);
}

static const char *number_value_format(const struct field *f, const void *src, struct arena *a)
{
	return units_format_plain(
		*(const double *)src, arena_zalloc(a, UNITS_TEXT_SIZE), UNITS_TEXT_SIZE);
}

static int percent_parse(struct value_input *in, void *dst)
{
	return units_parse_percent(in->text, dst, &in->what);
}

static const char *percent_format(const struct field *f, const void *src, struct arena *a)
{
	return units_format_percent(
		*(const double *)src, arena_zalloc(a, UNITS_TEXT_SIZE), UNITS_TEXT_SIZE);
}

static int share_parse(struct value_input *in, void *dst)
{
	size_t len = strlen(in->text);
	double rate;

	if (len > 2 && strcmp(in->text + len - 2, "/s") == 0 &&
		units_parse_rate(arena_printf(in->a, "%.*s", (int)len - 2, in->text), &rate,
			&in->what) == 0 &&
		rate <= SHARE_RATE_MAX) {
		*(double *)dst = -rate;
		return 0;
	}
	if (units_parse_percent(in->text, dst, &in->what) == 0)
		return 0;
	in->what = "a percentage with its sign, or a rate (like 10% or 100/s, up to 1G/s)";
	return -EINVAL;
}

static const char *share_format(const struct field *f, const void *src, struct arena *a)
{
	double share = *(const double *)src;
	char *text;

	if (share >= 0)
		return percent_format(f, src, a);
	text = arena_zalloc(a, UNITS_TEXT_SIZE + 2);
	return strcat((char *)(uintptr_t)units_format_rate(-share, text, UNITS_TEXT_SIZE), "/s");
}

static void share_ends(const void *v, double ends[2])
{
	double share = *(const double *)v;

	ends[0] = ends[1] = share < 0 ? 0 : share;
}

static int string_parse(struct value_input *in, void *dst)
{
	*(const char **)dst = arena_strdup(in->a, in->text);
	return 0;
}

static const char *string_format(const struct field *f, const void *src, struct arena *a)
{
	return *(const char *const *)src;
}

static void string_ends(const void *v, double ends[2])
{
	ends[0] = ends[1] = (double)strlen(*(const char *const *)v);
}

static int enum_parse(struct value_input *in, void *dst)
{
	const char *all = "one of";
	const char *name;

	for (uint32_t i = 0; (name = field_name(in->field, i)); i++) {
		if (strcasecmp(name, in->text) == 0) {
			*(int32_t *)dst = (int32_t)i;
			return 0;
		}
		all = arena_printf(in->a, "%s%s %s", all, i ? "," : "", name);
	}
	in->what = all;
	return -EINVAL;
}

static const char *enum_format(const struct field *f, const void *src, struct arena *a)
{
	const int32_t index = *(const int32_t *)src;
	const char *name;

	for (int32_t i = 0; (name = field_name(f, (uint32_t)i)); i++) {
		if (i == index)
			return name;
	}
	return NULL;
}

static int addr_value_parse(struct value_input *in, void *dst)
{
	return addr_parse(in->text, dst, &in->what);
}

static const char *addr_value_format(const struct field *f, const void *src, struct arena *a)
{
	const struct addr *v = src;

	return v->len ? addr_format(v, arena_zalloc(a, TEXT_SIZE), TEXT_SIZE) : NULL;
}

// RFC 1123 section 2.1, with underscores. A last label of digits alone is part of an address.
static bool is_host_name(const char *text)
{
	static const char octets[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
	size_t len = strlen(text), label = 0;
	bool digits = false;

	if (len == 0 || len > 253)
		return false;
	for (; *text; text += label + (text[label] == '.')) {
		label = strspn(text, octets);
		if (label == 0 || label > 63 || (text[label] && text[label] != '.') || *text == '-')
			return false;
		digits = strspn(text, "0123456789") == label;
	}
	return !digits;
}

static int host_parse(struct value_input *in, void *dst)
{
	struct field_host *host = dst;
	struct addr_server s;

	if (addr_parse_server(in->text, &s, &in->what) < 0 ||
		(s.addr.len == 0 && !is_host_name(s.host)))
		return -EINVAL;
	*host = (struct field_host){.addr = s.addr,
		.name = s.addr.len ? NULL : arena_strdup(in->a, s.host),
		.link = s.link[0] ? arena_strdup(in->a, s.link) : NULL,
		.port = s.port};
	return 0;
}

static const char *host_format(const struct field *f, const void *src, struct arena *a)
{
	const struct field_host *host = src;

	return host->name ? host->name : addr_value_format(f, &host->addr, a);
}

static int addr_range_parse(struct value_input *in, void *dst)
{
	return addr_parse_range(in->text, dst, &in->what);
}

static const char *addr_range_format(const struct field *f, const void *src, struct arena *a)
{
	const struct addr_range *v = src;

	return v->first.len ? addr_format_range(v, arena_zalloc(a, TEXT_SIZE), TEXT_SIZE) : NULL;
}

static int prefix_parse(struct value_input *in, void *dst)
{
	return addr_parse_prefix(in->text, dst, &in->what);
}

static const char *prefix_format(const struct field *f, const void *src, struct arena *a)
{
	const struct addr_prefix *v = src;

	return v->addr.len ? addr_format_prefix(v, arena_zalloc(a, TEXT_SIZE), TEXT_SIZE) : NULL;
}

// A number of 32 bits up to the end or a '-'. The rest of the text, or NULL.
static const char *range_end_parse(const char *text, uint32_t *out)
{
	size_t digits = strspn(text, "0123456789");
	unsigned long long v;

	if (digits == 0 || digits > 10 || (digits > 1 && text[0] == '0'))
		return NULL;
	v = strtoull(text, NULL, 10);
	*out = (uint32_t)v;
	return v <= UINT32_MAX ? text + digits : NULL;
}

static int range_parse(struct value_input *in, void *dst)
{
	struct field_range v;
	const char *rest = range_end_parse(in->text, &v.first);

	in->what = "a number or a range (like 4 or 4-7)";
	v.last = v.first;
	if (rest && *rest == '-')
		rest = range_end_parse(rest + 1, &v.last);
	if (!rest || *rest)
		return -EINVAL;
	in->what = "a range in ascending order (like 4-7)";
	if (v.last < v.first)
		return -EINVAL;
	*(struct field_range *)dst = v;
	return 0;
}

static const char *range_format(const struct field *f, const void *src, struct arena *a)
{
	const struct field_range *v = src;

	if (v->first == v->last)
		return arena_printf(a, "%u", v->first);
	return arena_printf(a, "%u-%u", v->first, v->last);
}

static void range_ends(const void *v, double ends[2])
{
	const struct field_range *range = v;

	ends[0] = range->first;
	ends[1] = range->last;
}

static int mac_parse(struct value_input *in, void *dst)
{
	return addr_parse_mac(in->text, dst, &in->what);
}

static const char *mac_format(const struct field *f, const void *src, struct arena *a)
{
	return addr_format_mac(src, arena_zalloc(a, TEXT_SIZE), TEXT_SIZE);
}

static int hex_parse(struct value_input *in, void *dst)
{
	size_t len = strlen(in->text);
	uint8_t *data = arena_zalloc(in->a, len / 2);

	in->what = "an even number of hex digits (like 00ff12)";
	if (len % 2 || len / 2 > UINT32_MAX || strspn(in->text, "0123456789abcdefABCDEF") != len)
		return -EINVAL;
	for (size_t i = 0; i < len / 2; i++) {
		const char pair[3] = {in->text[i * 2], in->text[i * 2 + 1], 0};

		data[i] = (uint8_t)strtoul(pair, NULL, 16);
	}
	*(struct field_bytes *)dst = (struct field_bytes){data, (uint32_t)(len / 2)};
	return 0;
}

static const char *hex_format(const struct field *f, const void *src, struct arena *a)
{
	static const char digits[] = "0123456789abcdef";
	const struct field_bytes *v = src;
	char *text;

	if (!v->data)
		return NULL;
	text = arena_zalloc(a, (size_t)v->len * 2 + 1);
	for (size_t i = 0; i < v->len; i++) {
		text[i * 2] = digits[v->data[i] >> 4];
		text[i * 2 + 1] = digits[v->data[i] & 15];
	}
	return text;
}

static void hex_ends(const void *v, double ends[2])
{
	ends[0] = ends[1] = (double)((const struct field_bytes *)v)->len;
}

#define TEXT     "\"string\""
#define FRACTION "^[0-9]+(\\.[0-9]+)?"

const struct value_type value_types[] = {
	[FIELD_BOOL] = {"boolean", sizeof(bool), false, false, bool_parse, bool_format,
		.json = "\"boolean\""},
	[FIELD_COUNT] = {"count", sizeof(uint64_t), false, false, count_parse, count_format,
		u64_ends, count_limit, .json = "[\"number\", \"string\"]",
		.pattern = FRACTION "[kMG]?$"},
	[FIELD_RATE] = {"rate", sizeof(double), false, false, rate_parse, rate_format, double_ends,
		units_format_rate, .json = "[\"number\", \"string\"]",
		.pattern = FRACTION "[kMG]?$"},
	[FIELD_DURATION] = {"duration", sizeof(uint64_t), false, true, duration_parse,
		duration_format, u64_ends, duration_limit, .json = TEXT,
		.pattern = FRACTION "(ns|us|ms|s|m|h|d)$"},
	[FIELD_SIZE] = {"size", sizeof(uint64_t), false, true, size_parse, size_format, u64_ends,
		size_limit, .json = TEXT, .pattern = FRACTION "(B|KiB|MiB|GiB)$"},
	[FIELD_NUMBER] = {"number", sizeof(double), false, false, number_value_parse,
		number_value_format, double_ends, units_format_plain, .json = "\"number\""},
	[FIELD_PERCENT] = {"percentage", sizeof(double), false, true, percent_parse, percent_format,
		double_ends, units_format_percent, .json = TEXT, .pattern = FRACTION "%$"},
	[FIELD_SHARE] = {"percentage or rate/s", sizeof(double), false, true, share_parse,
		share_format, share_ends, units_format_percent, .json = TEXT,
		.pattern = FRACTION "(%|[kMG]?/s)$"},
	[FIELD_STRING] = {"text", sizeof(const char *), false, true, string_parse, string_format,
		string_ends, count_limit, .json = "[\"string\", \"number\", \"boolean\"]"},
	[FIELD_ENUM] = {"word", sizeof(int32_t), false, true, enum_parse, enum_format},
	[FIELD_ADDR] = {"address", sizeof(struct addr), true, true, addr_value_parse,
		addr_value_format, .json = TEXT},
	[FIELD_HOST] = {"address or host name", sizeof(struct field_host), true, true, host_parse,
		host_format, .json = TEXT},
	[FIELD_ADDR_RANGE] = {"address range", sizeof(struct addr_range), true, true,
		addr_range_parse, addr_range_format, .json = TEXT},
	[FIELD_PREFIX] = {"address with prefix length", sizeof(struct addr_prefix), true, true,
		prefix_parse, prefix_format, .json = TEXT},
	[FIELD_RANGE] = {"range", sizeof(struct field_range), true, true, range_parse, range_format,
		range_ends, count_limit, .json = "[\"number\", \"string\"]",
		.pattern = "^[0-9]+(-[0-9]+)?$"},
	[FIELD_MAC] = {"MAC address", 6, true, true, mac_parse, mac_format, .json = TEXT,
		.pattern = "^[0-9A-Fa-f:.-]+$"},
	[FIELD_HEX] = {"hex digits", sizeof(struct field_bytes), false, true, hex_parse, hex_format,
		hex_ends, count_limit, .json = "[\"number\", \"string\"]",
		.pattern = "^([0-9A-Fa-f]{2})*$"},
};
