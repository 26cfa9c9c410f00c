// SPDX-License-Identifier: BSD-3-Clause
// Checking and judging criteria. Path: cold. Management thread.
#include "engine/config/criteria.h"

#include <math.h>
#include <string.h>

static void check_list(const struct config *c, const struct field_list *list,
	enum condition_use use, struct arena *a, struct diag *d)
{
	const char *const *texts = list->items;
	struct condition_error e;
	struct condition parsed;

	for (uint32_t i = 0; i < list->count; i++)
		if (!condition_parse(c, texts[i], use, a, &parsed, &e))
			diag_error_in(d, &texts[i], e.at, "\"%s\": %s", texts[i], e.what);
}

void criteria_check(const struct config *c, struct arena *a, struct diag *d)
{
	if (c->traffic.count == 0)
		return;
	check_list(c, &c->stop, CONDITION_STOP, a, d);
	check_list(c, &c->criteria, CONDITION_VERDICT, a, d);
}

// Intervals of full length in which something was due; of a run that has none, its only one.
static bool counts(const struct result *r, uint32_t n, const struct result_interval_item *i)
{
	return i->due > 0 && (n + 1 < r->intervals.count || n == 0);
}

static const struct proto *proto_of(const struct config *c, uint32_t item)
{
	return config_item_proto(&((const struct item_settings *)c->traffic.items)[item], NULL);
}

// false: this item has no such figure. NAN: of no interval at all.
static bool of_intervals(const struct config *c, const struct condition *k, const struct result *r,
	uint32_t item, double *out)
{
	const struct result_interval *intervals = r->intervals.items;
	double sum = 0, worst = NAN, value;
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->intervals.count; i++) {
		const struct result_interval_item *it =
			&((const struct result_interval_item *)intervals[i].traffic.items)[item];

		if (!condition_value(k, proto_of(c, item), &result_interval_item_section, it,
			    it->answered + it->failed + it->lost, &value))
			return false;
		if (!counts(r, i, it) || isnan(value))
			continue;
		worst = k->fold == FOLD_MIN ? fmin(worst, value) : fmax(worst, value);
		sum += value;
		n++;
	}
	*out = k->fold == FOLD_MEAN && n ? sum / n : worst;
	return true;
}

// All that it sent is never answered, so it has no latencies.
static bool only_tells(const struct ledger *l)
{
	return l->sent > 0 && l->sent == l->no_reply;
}

// false: this item has no such figure.
static bool value_of(const struct config *c, const struct condition *k, const struct result *r,
	uint32_t item, double *out)
{
	const struct result_item *i = &((const struct result_item *)r->traffic.items)[item];
	bool found = k->interval ? of_intervals(c, k, r, item, out)
	                         : condition_value(k, proto_of(c, item), &result_item_section, i,
					   i->ledger.sent, out);

	return found && (k->item || !isnan(*out) || !only_tells(&i->ledger));
}

// As the file has it; where it is about several items, with the name of this one.
static const char *expression_of(
	const struct condition *k, const struct counter_list *items, uint32_t n, struct arena *a)
{
	const char *name = ((const struct result_item *)items->items)[n].name;

	if (k->item || items->count == 1)
		return k->text;
	return arena_printf(
		a, k->fold == FOLD_NONE ? "traffic.%s.%s" : "traffic.%s: %s", name, k->text);
}

static struct result_criterion no_stop(
	const struct config *c, const struct result_verdict *v, struct arena *a)
{
	struct condition_error e;
	struct condition k;

	return (struct result_criterion){arena_printf(a, "no stop: %s", v->stopped),
		v->stopped_value, false,
		condition_parse(c, v->stopped, CONDITION_STOP, a, &k, &e) ? k.unit : NULL};
}

struct counter_list criteria_judge(const struct config *c, const struct result *r, struct arena *a)
{
	const char *const *texts = c->criteria.items;
	const struct result_item *items = r->traffic.items;
	uint32_t count = r->traffic.count;
	struct result_criterion *out =
		arena_zalloc(a, (c->criteria.count * count + 2) * sizeof(*out));
	struct counter_list list = {out, 0};
	struct condition_error e;
	struct condition k;
	double value;

	for (uint32_t i = 0; i < c->criteria.count; i++) {
		if (!condition_parse(c, texts[i], CONDITION_VERDICT, a, &k, &e))
			continue;
		for (uint32_t n = 0; n < count; n++) {
			if (k.item && strcmp(k.item, items[n].name) != 0)
				continue;
			if (value_of(c, &k, r, n, &value))
				out[list.count++] = (struct result_criterion){
					expression_of(&k, &r->traffic, n, a), value,
					condition_holds(&k, value), k.unit};
		}
	}
	if (r->verdict.stopped)
		out[list.count++] = no_stop(c, &r->verdict, a);
	return list;
}
