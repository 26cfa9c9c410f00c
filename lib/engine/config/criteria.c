// SPDX-License-Identifier: BSD-3-Clause
// Checking and judging criteria. Path: cold. Management thread.
#include "engine/config/criteria.h"

#include <math.h>
#include <string.h>

#include "stats/lookup.h"

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

// NAN: of no interval at all.
static double of_intervals(const struct condition *k, const struct result *r, uint32_t item)
{
	const struct result_interval *intervals = r->intervals.items;
	double sum = 0, worst = NAN;
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->intervals.count; i++) {
		const struct result_interval_item *it =
			&((const struct result_interval_item *)intervals[i].traffic.items)[item];
		struct stats_value v;

		if (!counts(r, i, it) ||
			stats_lookup(&result_interval_item_section, it, k->figure, &v) < 0 ||
			isnan(v.value))
			continue;
		worst = k->fold == FOLD_MIN ? fmin(worst, v.value) : fmax(worst, v.value);
		sum += v.value;
		n++;
	}
	return k->fold == FOLD_MEAN && n ? sum / n : worst;
}

// "steps.NAME.": does the item's protocol have that step?
static bool is_step(const struct config *c, uint32_t item, const char *figure)
{
	const struct item_settings *items = c->traffic.items;
	const struct proto *p = config_item_proto(&items[item], NULL);

	if (!p->steps || strncmp(figure, "steps.", 6) != 0)
		return false;
	for (uint32_t i = 0; i < p->step_count; i++) {
		size_t len = strlen(p->steps[i].name);

		if (strncmp(figure + 6, p->steps[i].name, len) == 0 && figure[6 + len] == '.')
			return true;
	}
	return false;
}

// All that it sent is never answered, so it has no latencies.
static bool only_tells(const struct ledger *l)
{
	return l->sent > 0 && l->sent == l->no_reply;
}

// false: this item has no such figure. A step that did not come has counts of 0, and no times.
static bool value_of(const struct config *c, const struct condition *k, const struct result *r,
	uint32_t item, double *out)
{
	const struct result_item *i = &((const struct result_item *)r->traffic.items)[item];
	struct stats_value v;

	if (k->interval)
		*out = of_intervals(k, r, item);
	else if (stats_lookup(&result_item_section, i, k->figure, &v) == 0)
		*out = v.value;
	else if (is_step(c, item, k->figure))
		*out = strstr(k->figure, "_ns") ? NAN : 0;
	else
		return false;
	return k->item || !isnan(*out) || !only_tells(&i->ledger);
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
