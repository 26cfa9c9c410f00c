// SPDX-License-Identifier: BSD-3-Clause
// Sums and times from one interval to the next. Path: cold. Management thread.
#include "engine/run/judge/stop.h"

#include <string.h>

#define ROUNDING_S 1e-4 // an interval may be shorter than run.interval by this

static void add_rule(struct stop *s, const char *text, struct arena *a)
{
	struct stop_rule *rule = &s->rules[s->count];
	struct condition_error e;

	if (!condition_parse(s->config, text, CONDITION_STOP, a, &rule->condition, &e))
		return;
	rule->held_s = arena_zalloc(a, (s->config->traffic.count + 1) * sizeof(double));
	rule->sum = arena_zalloc(a, (s->config->traffic.count + 1) * sizeof(double));
	s->count++;
}

// Returns the bound of an item. A part of a fleet has the share of its workers, as for transactions
// in flight: the first workers have one more. At least 1.
static uint64_t most_in_flight(const struct item_settings *i)
{
	const struct fleet_share share = i->facts.share;
	const uint64_t all = i->load.max_outstanding, rest = all % share.of;
	uint64_t own = all / share.of * share.count;

	if (rest > share.first)
		own += rest - share.first < share.count ? rest - share.first : share.count;
	return own ? own : 1;
}

void stop_start(struct stop *s, const struct config *c, struct arena *a)
{
	const struct item_settings *items = c->traffic.items;
	const char *const *texts = c->stop.items;
	uint32_t n = c->stop.count + c->traffic.count + 1;

	*s = (struct stop){.config = c, .rules = arena_zalloc(a, n * sizeof(*s->rules))};
	for (uint32_t i = 0; i < c->stop.count; i++)
		add_rule(s, texts[i], a);
	for (uint32_t i = 0; i < c->traffic.count; i++)
		if (items[i].load.max_outstanding)
			add_rule(s,
				arena_printf(a, "traffic.%s.in_flight > %llu", items[i].name,
					(unsigned long long)most_in_flight(&items[i])),
				a);
}

static bool nothing_came(const struct result_interval_item *i)
{
	return i->answered + i->failed == 0 && i->sent + i->lost + i->in_flight > 0;
}

// Does the condition hold in this interval, or for a counter without a time, by now? sum: of such a
// counter, before.
static bool rule_holds(const struct condition *k, const struct proto *proto,
	const struct result_interval_item *i, double *sum, double *value)
{
	*value = 0;
	if (k->unanswered)
		return nothing_came(i);
	if (!condition_value(k, proto, &result_interval_item_section, i,
		    i->answered + i->failed + i->lost, value))
		return false;
	if (k->total && !k->for_ns)
		*value = *sum += *value;
	return condition_holds(k, *value);
}

static bool rule_fires(struct stop_rule *rule, const struct stop *s,
	const struct result_interval *i, uint32_t item, double *value)
{
	const struct item_settings *settings = s->config->traffic.items;
	const struct result_interval_item *items = i->traffic.items;
	const struct condition *k = &rule->condition;

	if (k->item && strcmp(k->item, items[item].name) != 0)
		return false;
	if (!rule_holds(k, settings[item].facts.proto, &items[item], &rule->sum[item], value)) {
		rule->held_s[item] = 0;
		return false;
	}
	rule->held_s[item] += i->length_s + ROUNDING_S;
	return rule->held_s[item] * 1e9 >= (double)k->for_ns;
}

const char *stop_check(
	struct stop *s, const struct result_interval *i, struct arena *a, double *value)
{
	const struct result_interval_item *items = i->traffic.items;
	const char *first = NULL;
	double found;

	for (uint32_t r = 0; r < s->count; r++)
		for (uint32_t n = 0; n < i->traffic.count; n++) {
			const struct condition *k = &s->rules[r].condition;

			if (!rule_fires(&s->rules[r], s, i, n, &found) || first)
				continue;
			*value = found;
			first = k->item || i->traffic.count == 1
			                ? k->text
			                : arena_printf(a, "traffic.%s.%s", items[n].name, k->text);
		}
	return first;
}
