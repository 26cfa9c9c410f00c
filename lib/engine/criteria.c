// SPDX-License-Identifier: BSD-3-Clause
// Parsing and judging criteria; figures are found by walking the result's rows, so that every
// counter, present or future, can be a criterion. Path: cold. Management thread.
#include "engine/criteria.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "conf/units.h"
#include "stats/lookup.h"

enum criterion_op { OP_LE, OP_LT, OP_GE, OP_GT, OP_EQ };

static const char *const op_texts[] = {"<=", "<", ">=", ">", "=="};

struct criterion {
	const char *item; // NULL: every one
	const char *figure;
	enum criterion_op op;
	double limit;
};

static const struct {
	const char *name, *path;
} short_names[] = {
	{"mean", "latency.response.mean_ns"},
	{"p50", "latency.response.p50_ns"},
	{"p90", "latency.response.p90_ns"},
	{"p99", "latency.response.p99_ns"},
	{"p999", "latency.response.p999_ns"},
	{"p9999", "latency.response.p9999_ns"},
	{"max", "latency.response.max_ns"},
};

static const char *full_name(const char *figure)
{
	for (size_t i = 0; i < sizeof(short_names) / sizeof(short_names[0]); i++)
		if (strcmp(figure, short_names[i].name) == 0)
			return short_names[i].path;
	return figure;
}

static bool parse_limit(const char *text, const char *unit, double *out, const char **what)
{
	uint64_t n;
	int rc;

	if (unit && strcmp(unit, "ns") == 0) {
		rc = units_parse_duration(text, &n, what);
		*out = (double)n;
	} else if (unit && strcmp(unit, "1") == 0) {
		rc = units_parse_percent(text, out, what);
	} else if (unit && strcmp(unit, "per_s") == 0) {
		rc = units_parse_rate(text, out, what);
	} else {
		rc = units_parse_count(text, &n, what);
		*out = (double)n;
	}
	return rc == 0;
}

static bool judge(double value, enum criterion_op op, double limit)
{
	switch (op) {
	case OP_LE:
		return value <= limit;
	case OP_LT:
		return value < limit;
	case OP_GE:
		return value >= limit;
	case OP_GT:
		return value > limit;
	case OP_EQ:
		return value == limit;
	}
	return false;
}

// Split "left OP right" in place; NULL: no operator.
static char *split(char *text, enum criterion_op *op)
{
	size_t left = strcspn(text, "<>="), len;
	char *right;

	for (*op = OP_LE; *op <= OP_EQ; (*op)++) {
		len = strlen(op_texts[*op]);
		if (strncmp(text + left, op_texts[*op], len) != 0)
			continue;
		right = text + left + len;
		right += strspn(right, " \t");
		for (len = strlen(right); len && isspace((unsigned char)right[len - 1]); len--)
			right[len - 1] = '\0';
		while (left && isspace((unsigned char)text[left - 1]))
			left--;
		text[left] = '\0';
		return right;
	}
	return NULL;
}

// "traffic.NAME.FIGURE" -> NAME, FIGURE. Names may hold dots: the longest item name that fits wins.
static bool scope(const struct config *c, char *text, struct criterion *out)
{
	const struct item_settings *items = c->traffic.items;
	size_t best = 0;

	out->item = NULL;
	out->figure = text;
	if (strncmp(text, "traffic.", 8) != 0)
		return true;
	for (uint32_t i = 0; i < c->traffic.count; i++) {
		size_t len = items[i].name ? strlen(items[i].name) : 0;

		if (len <= best || strncmp(text + 8, items[i].name, len) != 0 ||
			text[8 + len] != '.')
			continue;
		best = len;
		out->item = items[i].name;
		out->figure = text + 8 + len + 1;
	}
	return best > 0;
}

// *what is set on failure. An empty item of the right protocol stands for the result that is still
// to come.
static bool parse(const struct config *c, const char *expression, struct arena *a,
	struct criterion *out, const char **what)
{
	const struct item_settings *items = c->traffic.items;
	char *text = arena_strdup(a, expression), *limit;
	struct result_item empty = {0};
	struct stats_value v;
	const char *unit = NULL;
	bool found = false;

	text += strspn(text, " \t");
	limit = split(text, &out->op);
	if (!limit) {
		*what = "no operator (<=, <, >=, > or ==)";
		return false;
	}
	if (!scope(c, text, out)) {
		*what = "no such traffic item";
		return false;
	}
	out->figure = full_name(out->figure);
	for (uint32_t i = 0; i < c->traffic.count; i++) {
		const struct proto *p = config_item_proto(&items[i], NULL);

		if (!p || !items[i].name || (out->item && strcmp(out->item, items[i].name) != 0))
			continue;
		empty.counters =
			(struct counter_choice){p->counters, arena_zalloc(a, p->counters->size)};
		if (stats_lookup(&result_item_section, &empty, out->figure, &v) == 0) {
			found = true;
			unit = v.unit;
		}
	}
	if (!found) {
		*what = "no such figure (loss, p50, p99, max, lost, answered_per_s, ...: ddiperf "
			"list counters)";
		return false;
	}
	return parse_limit(limit, unit, &out->limit, what);
}

void criteria_check(const struct config *c, struct arena *a, struct diag *d)
{
	const char *const *expressions = c->criteria.items;
	struct criterion parsed;
	const char *what;

	for (uint32_t i = 0; i < c->criteria.count && c->traffic.count; i++)
		if (!parse(c, expressions[i], a, &parsed, &what))
			diag_error(d, &expressions[i], NULL, "\"%s\": %s", expressions[i], what);
}

struct counter_list criteria_judge(
	const struct config *c, const struct counter_list *items, struct arena *a)
{
	const char *const *expressions = c->criteria.items;
	const struct result_item *results = items->items;
	struct result_criterion *out =
		arena_zalloc(a, (c->criteria.count * items->count + 1) * sizeof(*out));
	struct counter_list list = {out, 0};
	struct criterion parsed;
	struct stats_value v;
	const char *what;

	for (uint32_t i = 0; i < c->criteria.count; i++) {
		if (!parse(c, expressions[i], a, &parsed, &what))
			continue;
		for (uint32_t k = 0; k < items->count; k++) {
			if (parsed.item && strcmp(parsed.item, results[k].name) != 0)
				continue;
			if (stats_lookup(&result_item_section, &results[k], parsed.figure, &v) < 0)
				continue;
			out[list.count++] = (struct result_criterion){
				parsed.item || items->count == 1
					? expressions[i]
					: arena_printf(a, "traffic.%s.%s", results[k].name,
						  expressions[i]),
				v.value, judge(v.value, parsed.op, parsed.limit)};
		}
	}
	return list;
}
