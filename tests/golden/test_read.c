// SPDX-License-Identifier: BSD-3-Clause
// A result comes back from its document, and an interval from its line, byte for byte: the fixed
// result, and one in which each row of each section has a value. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/table.h"
#include "document/document.h"
#include "engine/result/result_read.h"
#include "follow/run_events.h"
#include "proto/proto.h"
#include "sample.h"
#include "stats/json.h"

static struct arena *a;

static char *text_of(const json_t *o)
{
	return json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(17));
}

static void assert_same(const char *before, const char *after)
{
	size_t at = 0;

	while (before[at] && before[at] == after[at])
		at++;
	if (before[at] != after[at])
		fail_msg("%.60s stands where %.60s was", after + at, before + at);
}

static void assert_comes_back(const struct counter_section *s, const void *data)
{
	json_t *there = stats_json(s, data), *back;
	char *before = text_of(there), *after;
	void *out = arena_zalloc(a, s->size);
	const char *why = "";

	if (result_read(s, there, out, a, &why) < 0)
		fail_msg("%s", why);
	back = stats_json(s, out);
	after = text_of(back);
	assert_same(before, after);
	free(before);
	free(after);
	json_decref(there);
	json_decref(back);
}

// --- each row with a value of its own ---

static uint64_t next;
static uint32_t proto_at;

static void fill(const struct counter_section *s, void *data);

static void *filled(const struct counter_section *s)
{
	void *data = arena_zalloc(a, s->size);

	fill(s, data);
	return data;
}

// The protocols in turn.
static struct counter_choice filled_choice(const struct counter_section *in)
{
	const struct counter_section *s = NULL;

	while (!s) {
		const struct proto *p = protos[proto_at++ % proto_count()];

		s = p->counters;
		if (in == &result_responder_protocol_section)
			s = p->server ? p->server->counters : NULL;
	}
	return (struct counter_choice){s, filled(s)};
}

static void fill_row(const struct counter_section *in, const struct counter *r, void *place)
{
	const char **text = arena_zalloc(a, sizeof(*text));

	*text = arena_printf(a, "text %llu", (unsigned long long)++next);
	switch (r->type) {
	case COUNTER_U64:
		*(uint64_t *)place = next;
		break;
	case COUNTER_F64:
		*(double *)place = (double)next / 3;
		break;
	case COUNTER_BOOL:
		*(bool *)place = true;
		break;
	case COUNTER_STRING:
		*(const char **)place = *text;
		break;
	case COUNTER_ARRAY:
		((uint64_t *)place)[next % r->length] = next;
		break;
	case COUNTER_SECTION:
		if (r->optional)
			*(void **)place = filled(r->section);
		else
			fill(r->section, place);
		break;
	case COUNTER_LIST:
		*(struct counter_list *)place = (struct counter_list){filled(r->section), 1};
		break;
	case COUNTER_STRINGS:
		*(struct counter_list *)place = (struct counter_list){text, 1};
		break;
	case COUNTER_CHOICE:
		*(struct counter_choice *)place = filled_choice(in);
		break;
	}
}

static void fill(const struct counter_section *s, void *data)
{
	for (uint32_t i = 0; i < s->count; i++)
		fill_row(s, &s->rows[i], (char *)data + s->rows[i].offset);
}

// --- tests ---

// The protocol of the fixed result is none: its items get the counters of those that are.
static struct counter_list with_real_protocols(
	struct counter_list list, const struct counter_section *s, size_t counters_at)
{
	char *items = arena_zalloc(a, list.count * s->size);

	if (list.count)
		memcpy(items, list.items, list.count * s->size);
	for (uint32_t i = 0; i < list.count; i++)
		*(struct counter_choice *)(items + i * s->size + counters_at) = filled_choice(s);
	return (struct counter_list){items, list.count};
}

static struct result_interval real_interval(const struct result_interval *i)
{
	struct result_interval out = *i;

	out.traffic = with_real_protocols(i->traffic, &result_interval_item_section,
		offsetof(struct result_interval_item, counters));
	return out;
}

static void the_fixed_result_comes_back(void **state)
{
	struct result r = sample_result();
	const struct result_interval *intervals = r.intervals.items;
	struct result_responder responder = *r.responder;
	struct result_interval *real = arena_zalloc(a, r.intervals.count * sizeof(*real));

	for (uint32_t i = 0; i < r.intervals.count; i++)
		real[i] = real_interval(&intervals[i]);
	r.intervals.items = real;
	r.traffic = with_real_protocols(
		r.traffic, &result_item_section, offsetof(struct result_item, counters));
	responder.protocols =
		with_real_protocols(responder.protocols, &result_responder_protocol_section,
			offsetof(struct result_responder_protocol, counters));
	r.responder = &responder;
	assert_comes_back(&result_section, &r);
}

static void each_row_comes_back(void **state)
{
	for (uint32_t i = 0; i < proto_count(); i++)
		assert_comes_back(&result_section, filled(&result_section));
}

static char *line;

static void keep_line(void *ctx, const json_t *o)
{
	line = text_of(o);
}

static char *line_of(const struct result_interval *i, bool warmup)
{
	struct run_events live = {0};

	run_events_follow(&live, (struct run_events_follower){keep_line});
	run_events_interval(&live, i, warmup);
	run_events_close(&live);
	return line;
}

static void assert_line_comes_back(const struct result_interval *i, bool warmup)
{
	char *before = line_of(i, warmup), *after;
	json_t *o = json_loads(before, 0, NULL);
	struct result_interval out = {0};
	const char *why = "";
	bool warm;

	if (result_read_line(o, &out, &warm, a, &why) < 0)
		fail_msg("%s", why);
	assert_int_equal(warm, warmup);
	assert_int_equal(out.number, i->number);
	assert_int_equal(out.last, i->last);
	after = line_of(&out, warm);
	assert_same(before, after);
	free(before);
	free(after);
	json_decref(o);
}

static void a_line_comes_back_with_what_the_document_does_not_have(void **state)
{
	static const struct result_earlier earlier[] = {{1, 10, 2, 3e6}, {7, 1, 0, 0.1}};
	struct result_interval *i = filled(&result_interval_section);
	struct result_interval_item *item = (struct result_interval_item *)i->traffic.items;
	struct result sample = sample_result();
	struct result_interval fixed;

	assert_line_comes_back(i, true);
	i->number = 77;
	i->last = true;
	item->earlier = earlier;
	item->earlier_count = 2;
	assert_line_comes_back(i, false);
	fixed = real_interval(sample.intervals.items);
	assert_line_comes_back(&fixed, false);
}

static void assert_refused(const char *text, const char *expected)
{
	json_t *o = json_loads(text, 0, NULL);
	struct result_interval out = {0};
	const char *why = "";
	bool warmup;

	assert_true(result_read_line(o, &out, &warmup, a, &why) < 0);
	assert_string_equal(why, expected);
	json_decref(o);
}

static void a_wrong_line_is_refused_with_the_place(void **state)
{
	assert_refused("{\"traffic\":[{},{\"dns\":{\"rcode\":{\"NOERROR\":-1}}}]}",
		"traffic[1].dns.rcode.NOERROR: not a number from 0 on");
	assert_refused("{\"traffic\":[{},{\"earlier\":[{\"back\":true}]}]}",
		"traffic[1].earlier[0].back: not a number from 0 on");
	assert_refused("{\"number\":\"1\"}", "number: not a number from 0 on");
	assert_refused("{\"warmup\":1}", "warmup: not true or false");
}

static int setup(void **state)
{
	a = arena_new();
	return 0;
}

static int teardown(void **state)
{
	arena_free(a);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_fixed_result_comes_back),
		cmocka_unit_test(each_row_comes_back),
		cmocka_unit_test(a_line_comes_back_with_what_the_document_does_not_have),
		cmocka_unit_test(a_wrong_line_is_refused_with_the_place),
	};

	return cmocka_run_group_tests_name("read", tests, setup, teardown);
}
