// SPDX-License-Identifier: BSD-3-Clause
// One value as text: the first byte says of which kind. What is accepted is written as a text that
// is accepted again and is the same value; of a criterion it is judged as well. Path: tests only.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "conf/units.h"
#include "engine/config/config_load.h"
#include "engine/config/criteria.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void units_whole(const char *text, int (*parse)(const char *, uint64_t *, const char **),
	const char *(*format)(uint64_t, char *, size_t))
{
	const char *what = NULL;
	char buf[UNITS_TEXT_SIZE];
	uint64_t v, again;

	if (parse(text, &v, &what) == 0)
		require(parse(format(v, buf, sizeof(buf)), &again, &what) == 0 && again == v);
	else
		require(what != NULL);
}

static void units_real(const char *text, int (*parse)(const char *, double *, const char **),
	const char *(*format)(double, char *, size_t))
{
	const char *what = NULL;
	char buf[UNITS_TEXT_SIZE];
	double v, again;

	if (parse(text, &v, &what) == 0)
		require(parse(format(v, buf, sizeof(buf)), &again, &what) == 0 && again == v);
	else
		require(what != NULL);
}

static void address(const char *text)
{
	const char *what = NULL;
	char buf[ADDR_TEXT_SIZE];
	struct addr v, again;

	if (addr_parse(text, &v, &what) != 0) {
		require(what != NULL);
		return;
	}
	require(addr_parse(addr_format(&v, buf, sizeof(buf)), &again, &what) == 0);
	require(addr_equal(&v, &again));
}

static void range(const char *text)
{
	const char *what = NULL;
	char buf[ADDR_TEXT_SIZE];
	struct addr_range v, again;

	if (addr_parse_range(text, &v, &what) != 0) {
		require(what != NULL);
		return;
	}
	require(v.count > 0);
	require(addr_parse_range(addr_format_range(&v, buf, sizeof(buf)), &again, &what) == 0);
	require(addr_equal(&v.first, &again.first) && v.count == again.count);
	for (uint64_t n = v.count - 1;; n /= 3) {
		struct addr at = addr_nth(&v, n);

		require(addr_index(&v, at.bytes, at.len) == n);
		if (n == 0)
			return;
	}
}

static void prefix(const char *text)
{
	const char *what = NULL;
	char buf[ADDR_TEXT_SIZE];
	struct addr_prefix v, again;

	if (addr_parse_prefix(text, &v, &what) != 0) {
		require(what != NULL);
		return;
	}
	require(v.bits <= v.addr.len * 8 && addr_in_prefix(&v.addr, &v));
	require(addr_parse_prefix(addr_format_prefix(&v, buf, sizeof(buf)), &again, &what) == 0);
	require(addr_equal(&v.addr, &again.addr) && v.bits == again.bits);
}

static void mac(const char *text)
{
	const char *what = NULL;
	char buf[ADDR_TEXT_SIZE];
	uint8_t v[6], again[6];

	if (addr_parse_mac(text, v, &what) != 0)
		require(what != NULL);
	else
		require(addr_parse_mac(addr_format_mac(v, buf, sizeof(buf)), again, &what) == 0 &&
			memcmp(v, again, 6) == 0);
}

static struct arena *kept; // of the configuration below

static const struct config *two_items(void)
{
	static const char text[] =
		"ports: [{name: lan, driver: \"null\", addresses: [198.18.0.1/24]}]\n"
		"traffic:\n"
		"  - {name: q, server: 198.18.0.2, load: {rate: 1}, dns: {names: [a A]}}\n"
		"  - {name: q.lost, server: 198.18.0.2, load: {rate: 1}, dns: {names: [a A]}}\n";
	static const struct config *c;

	if (!kept) {
		struct diag *d = diag_new();

		kept = arena_new();
		c = config_load_text("fuzz.yaml", text, sizeof(text) - 1, kept, d);
		diag_print(d, stderr);
		require(c != NULL);
		diag_free(d);
	}
	return c;
}

static void criterion(const char *text)
{
	struct config c = *two_items();
	const struct item_settings *items = c.traffic.items;
	const struct proto *p = items->facts.proto;
	struct arena *a = arena_new();
	struct diag *d = diag_new();
	void *counters = arena_zalloc(a, p->counters->size);
	struct result_item results[2] = {
		{.name = items[0].name, .counters = {p->counters, counters}},
		{.name = items[1].name, .counters = {p->counters, counters}}};
	const struct result result = {.traffic = {results, 2}};
	struct condition stop;
	struct condition_error e = {0};
	struct criteria k;
	uint32_t judged;

	require(condition_parse(&c, text, CONDITION_STOP, a, &stop, &e) ||
		(e.what && e.at <= strlen(text)));
	c.criteria = (struct field_list){&text, 1};
	criteria_check(&c, a, d);
	criteria_start(&k, &c, a);
	judged = criteria_judge(&k, &result, a).count;
	require((judged > 0) == (diag_count(d) == 0));
	diag_free(d);
	arena_free(a);
}

static void parse(uint8_t kind, const char *text)
{
	switch (kind % 10) {
	case 0:
		units_whole(text, units_parse_count, units_format_count);
		return;
	case 1:
		units_whole(text, units_parse_duration, units_format_duration);
		return;
	case 2:
		units_whole(text, units_parse_size, units_format_size);
		return;
	case 3:
		units_real(text, units_parse_rate, units_format_rate);
		return;
	case 4:
		units_real(text, units_parse_percent, units_format_percent);
		return;
	case 5:
		address(text);
		return;
	case 6:
		range(text);
		return;
	case 7:
		prefix(text);
		return;
	case 8:
		mac(text);
		return;
	case 9:
		criterion(text);
		return;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (size < 1)
		return 0;
	text = malloc(size);
	require(text != NULL);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	parse(data[0], text);
	free(text);
	return 0;
}
