// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Any thread.
#include "engine/result/result_read.h"

#include <string.h>

#include "engine/result/lines.h"
#include "proto/proto.h"
#include "proto/table.h"
#include "stats/json_read.h"

static const struct counter_section *counters_of(const struct proto *p, bool server)
{
	if (!server)
		return p->counters;
	return p->server ? p->server->counters : NULL;
}

static const struct counter_section *choose(const struct counter_section *in, const char *name)
{
	for (uint32_t i = 0; protos[i]; i++) {
		const struct counter_section *s =
			counters_of(protos[i], in == &result_responder_protocol_section);

		if (s && strcmp(s->name, name) == 0)
			return s;
	}
	return NULL;
}

int result_read(const struct counter_section *s, const json_t *o, void *out, struct arena *a,
	const char **why)
{
	struct stats_reader r = {.choice = choose, .arena = a};
	int rc = stats_read(&r, s, o, out);

	*why = r.why;
	return rc;
}

// --- members that only a line has

static const struct counter earlier_row[] = {
	{LINE_EARLIER, "replies to requests of earlier intervals", NULL, COUNTER_LIST, 0,
		.section = &result_earlier_section},
};
static const struct counter_section earlier_list = {
	"earlier", "of an item", COUNTER_ROWS(earlier_row), sizeof(struct counter_list)};

struct line_members {
	uint64_t number;
	bool warmup, last;
};

#define AT(member) offsetof(struct line_members, member)

static const struct counter line_rows[] = {
	{LINE_NUMBER, "of its snapshots", NULL, COUNTER_U64, AT(number)},
	{LINE_WARMUP, "whether it is of the warm-up", NULL, COUNTER_BOOL, AT(warmup)},
	{LINE_LAST, "whether it is the rest", NULL, COUNTER_BOOL, AT(last)},
};
static const struct counter_section line_section = {
	"line", "a line", COUNTER_ROWS(line_rows), sizeof(struct line_members)};

static int read_earlier(
	const json_t *line, struct result_interval *out, struct arena *a, const char **why)
{
	// These items were made by result_read above.
	struct result_interval_item *items = (struct result_interval_item *)out->traffic.items;
	const json_t *list = json_object_get(line, "traffic");
	int rc = 0;

	for (uint32_t n = 0; n < out->traffic.count && rc == 0; n++) {
		struct counter_list earlier = {NULL, 0};

		rc = result_read(&earlier_list, json_array_get(list, n), &earlier, a, why);
		items[n].earlier = earlier.items;
		items[n].earlier_count = earlier.count;
		if (rc < 0)
			*why = arena_printf(a, "traffic[%u].%s", n, *why);
	}
	return rc;
}

int result_read_line(const json_t *line, struct result_interval *out, bool *warmup, struct arena *a,
	const char **why)
{
	struct line_members more = {0};
	int rc = result_read(&result_interval_section, line, out, a, why);

	if (rc == 0)
		rc = result_read(&line_section, line, &more, a, why);
	if (rc == 0)
		rc = read_earlier(line, out, a, why);
	out->number = more.number;
	out->last = more.last;
	*warmup = more.warmup;
	return rc;
}
