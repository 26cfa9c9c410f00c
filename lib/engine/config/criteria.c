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

static const struct proto *proto_of(const struct config *c, uint32_t item)
{
	return ((const struct item_settings *)c->traffic.items)[item].facts.proto;
}

void criteria_start(struct criteria *k, const struct config *c, struct arena *a)
{
	const char *const *texts = c->criteria.items;
	uint32_t items = c->traffic.count;
	struct condition_error e;

	*k = (struct criteria){
		.config = c, .list = arena_zalloc(a, (c->criteria.count + 1) * sizeof(*k->list))};
	for (uint32_t i = 0; i < c->criteria.count; i++) {
		struct criterion *to = &k->list[k->count];

		if (!condition_parse(c, texts[i], CONDITION_VERDICT, a, &to->condition, &e))
			continue;
		to->folds = arena_zalloc(a, (items + 1) * sizeof(*to->folds));
		for (uint32_t n = 0; n < items; n++)
			to->folds[n].last = to->folds[n].worst = NAN;
		k->count++;
	}
}

// Folds in the newest interval, which is complete.
static void fold_last(struct criterion_fold *f, const struct condition *c)
{
	if (isnan(f->last))
		return;
	f->worst = c->fold == FOLD_MIN ? fmin(f->worst, f->last) : fmax(f->worst, f->last);
	f->sum += f->last;
	f->count++;
	f->last = NAN;
}

void criteria_interval(struct criteria *k, const struct result_interval *i)
{
	const struct result_interval_item *items = i->traffic.items;

	k->intervals++;
	for (uint32_t n = 0; n < k->count; n++) {
		const struct condition *c = &k->list[n].condition;

		for (uint32_t item = 0; c->interval && item < i->traffic.count; item++) {
			const struct result_interval_item *it = &items[item];
			struct criterion_fold *f = &k->list[n].folds[item];
			double value;

			fold_last(f, c);
			if (!condition_value(c, proto_of(k->config, item),
				    &result_interval_item_section, it,
				    it->answered + it->failed + it->lost, &value))
				f->absent = true;
			else if (it->due > 0)
				f->last = value;
		}
	}
}

// Returns false if the item has no such figure; *out is NAN if no interval counts. The last
// interval may be incomplete: it counts only if it is the only one.
static bool of_intervals(
	const struct criteria *k, const struct criterion *of, uint32_t item, double *out)
{
	struct criterion_fold f = of->folds[item];

	if (k->intervals == 1)
		fold_last(&f, &of->condition);
	*out = of->condition.fold == FOLD_MEAN && f.count ? f.sum / f.count : f.worst;
	return !f.absent;
}

// An item of a result, or of the sum of its intervals so far.
struct judged {
	const char *name;
	const struct counter_section *section;
	const void *data;
	uint64_t sent, no_reply;
};

// Are all of the messages sent of a kind without a reply, so that there are no latencies?
static bool only_tells(const struct judged *i)
{
	return i->sent > 0 && i->sent == i->no_reply;
}

// Returns false if the item has no such figure.
static bool value_of(const struct criteria *k, const struct criterion *of, const struct judged *i,
	uint32_t item, double *out)
{
	const struct condition *c = &of->condition;
	bool found = c->interval ? of_intervals(k, of, item, out)
	                         : condition_value(c, proto_of(k->config, item), i->section,
					   i->data, i->sent, out);

	return found && (c->item || !isnan(*out) || !only_tells(i));
}

// Returns the criterion as in the file, with the item's name if it applies to several items.
static const char *expression_of(
	const struct condition *k, const char *name, uint32_t items, struct arena *a)
{
	if (k->item || items == 1)
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

// absent: a figure that the only item meant does not have is unknown, not left out.
static struct counter_list judge(const struct criteria *k, const struct judged *items,
	uint32_t count, bool absent, struct arena *a)
{
	struct result_criterion *out = arena_zalloc(a, (k->count * count + 2) * sizeof(*out));
	struct counter_list list = {out, 0};

	for (uint32_t i = 0; i < k->count; i++) {
		const struct condition *c = &k->list[i].condition;

		for (uint32_t n = 0; n < count; n++) {
			double value = NAN;

			if (c->item && strcmp(c->item, items[n].name) != 0)
				continue;
			if (value_of(k, &k->list[i], &items[n], n, &value) ||
				(absent && (c->item || count == 1)))
				out[list.count++] = (struct result_criterion){
					expression_of(c, items[n].name, count, a), value,
					condition_holds(c, value), c->unit};
		}
	}
	return list;
}

struct counter_list criteria_judge(
	const struct criteria *k, const struct result *r, struct arena *a)
{
	const struct result_item *items = r->traffic.items;
	struct judged *of = arena_zalloc(a, (r->traffic.count + 1) * sizeof(*of));
	struct counter_list list;

	for (uint32_t n = 0; n < r->traffic.count; n++)
		of[n] = (struct judged){items[n].name, &result_item_section, &items[n],
			items[n].ledger.sent, items[n].ledger.no_reply};
	list = judge(k, of, r->traffic.count, false, a);
	if (r->verdict.stopped)
		((struct result_criterion *)list.items)[list.count++] =
			no_stop(k->config, &r->verdict, a);
	return list;
}

struct counter_list criteria_so_far(
	const struct criteria *k, const struct result_interval *sum, struct arena *a)
{
	const struct result_interval_item *items = sum->traffic.items;
	struct judged *of = arena_zalloc(a, (sum->traffic.count + 1) * sizeof(*of));

	for (uint32_t n = 0; n < sum->traffic.count; n++)
		of[n] = (struct judged){items[n].name, &result_interval_item_section, &items[n],
			items[n].sent, items[n].no_reply};
	return judge(k, of, sum->traffic.count, true, a);
}
