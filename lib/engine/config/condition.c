// SPDX-License-Identifier: BSD-3-Clause
// The parser. Figures are found by walking the result's rows, so that every counter, present or
// future, can be in a condition. Path: cold. Management thread.
#include "engine/config/condition.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "conf/units.h"
#include "stats/lookup.h"

static const char *const op_texts[] = {"<=", "<", ">=", ">", "=="};
static const char *const folds[] = {"", "max", "min", "mean"};
static const char *const latencies[] = {"mean", "p50", "p90", "p99", "p999", "p9999", "max"};

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

// A piece of the text.
struct part {
	size_t from, to;
};

struct parser {
	const struct config *config;
	enum condition_use use;
	struct arena *arena;
	const char *text;
	struct condition *out;
	struct condition_error *error;
	const char *unit; // of the figure
	bool gauge;
};

__attribute__((format(printf, 3, 4))) static bool condition_fail(
	struct parser *p, size_t at, const char *fmt, ...)
{
	char what[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	*p->error = (struct condition_error){at, arena_strdup(p->arena, what)};
	return false;
}

static struct part part_trim(const struct parser *p, struct part r)
{
	while (r.from < r.to && isspace((unsigned char)p->text[r.from]))
		r.from++;
	while (r.to > r.from && isspace((unsigned char)p->text[r.to - 1]))
		r.to--;
	return r;
}

static const char *part_copy(const struct parser *p, struct part r)
{
	return arena_printf(p->arena, "%.*s", (int)(r.to - r.from), p->text + r.from);
}

static bool part_begins(const struct parser *p, struct part r, const char *word)
{
	size_t len = strlen(word);

	return r.to - r.from >= len && strncmp(p->text + r.from, word, len) == 0;
}

// 99.9 is p999, as in the fixed names; 5 is p05, so that no two are alike.
static const char *percentile_name(double percent, struct arena *a)
{
	char number[UNITS_TEXT_SIZE], *dot;

	units_format_plain(percent, number, sizeof(number));
	dot = strchr(number, '.');
	if (dot)
		memmove(dot, dot + 1, strlen(dot));
	return arena_printf(a, "p%s%s", percent < 10 ? "0" : "", number);
}

struct counter_list condition_percentiles(const struct config *c, struct arena *a)
{
	const struct field_list *chosen = &c->output.percentiles;
	struct result_percentile *out = arena_zalloc(a, (chosen->count + 1) * sizeof(*out));

	for (uint32_t i = 0; i < chosen->count; i++)
		out[i].name = percentile_name(((const double *)chosen->items)[i], a);
	return (struct counter_list){out, chosen->count};
}

// --- the figure
// -----------------------------------------------------------------------------------

static bool is_latency(const char *word)
{
	for (size_t i = 0; i < COUNT_OF(latencies); i++)
		if (strcmp(word, latencies[i]) == 0)
			return true;
	return false;
}

static bool is_chosen(const struct parser *p, const char *word)
{
	const struct counter_list names = condition_percentiles(p->config, p->arena);
	const struct result_percentile *chosen = names.items;

	for (uint32_t i = 0; i < names.count; i++)
		if (strcmp(word, chosen[i].name) == 0)
			return true;
	return false;
}

// The percentage that a word stands for, by its name: "p95", "p975", "p05"; 0: it is no percentile.
static double percentage_of(const char *word, struct arena *a)
{
	size_t digits = strspn(word + 1, "0123456789");
	double percent;

	if (word[0] != 'p' || digits < 2 || word[1 + digits])
		return 0;
	percent = strcmp(word, "p100") == 0
	                  ? 100
	                  : strtod(arena_printf(a, "%.2s.%s", word + 1, word + 3), NULL);
	return strcmp(word, percentile_name(percent, a)) == 0 ? percent : 0;
}

static void add_percentile(struct field_list *to, double percent, struct arena *a)
{
	double *all = arena_zalloc(a, (to->count + 1) * sizeof(*all));

	for (uint32_t i = 0; i < to->count; i++)
		all[i] = ((const double *)to->items)[i];
	all[to->count] = percent;
	*to = (struct field_list){all, to->count + 1};
}

// Adds percentiles that goals limit and latencies do not always have.
static void name_of_goals(const struct parser *p, struct config *c, struct arena *a)
{
	const struct search_goal *goals = c->search ? c->search->goals.items : NULL;

	for (uint32_t i = 0; goals && i < c->search->goals.count; i++)
		for (unsigned k = 0; k < GOAL_PERCENTILES; k++) {
			const struct goal_percentile *of = &goal_percentiles[k];

			if (goals[i].latency_ns[k] && !is_latency(of->name) &&
				!is_chosen(p, of->name))
				add_percentile(&c->output.percentiles, of->percent, a);
		}
}

void condition_name_percentiles(struct config *c, struct arena *a)
{
	static const char parts[] = "abcdefghijklmnopqrstuvwxyz_0123456789";
	const struct parser p = {.config = c, .arena = a};
	const char *const *texts = c->criteria.items;

	for (uint32_t i = 0; i < c->criteria.count; i++)
		for (const char *at = texts[i]; *at;) {
			size_t len = strspn(at, parts);
			const char *word = arena_printf(a, "%.*s", (int)len, at);
			double percent = len ? percentage_of(word, a) : 0;

			if (percent > 0 && !is_latency(word) && !is_chosen(&p, word))
				add_percentile(&c->output.percentiles, percent, a);
			at += len + (at[len] != '\0');
		}
	name_of_goals(&p, c, a);
}

// "steps.request-ack.p99" -> "steps.request-ack.latency.response.p99_ns"; NULL if the last word is
// not a short name.
static const char *long_name(const struct parser *p, const char *figure)
{
	const char *dot = strrchr(figure, '.');
	const char *word = dot ? dot + 1 : figure;
	int before = (int)(word - figure);

	if (is_latency(word))
		return arena_printf(p->arena, "%.*slatency.response.%s_ns", before, figure, word);
	if (is_chosen(p, word))
		return arena_printf(p->arena, "%.*slatency.response.percentiles.%s.value_ns",
			before, figure, word);
	return NULL;
}

// An empty item of a result and of an interval.
struct example {
	struct result_item item;
	struct result_interval_item interval;
};

static struct example example_of(const struct parser *p, const struct item_settings *i)
{
	const struct proto *proto = i->facts.proto;
	uint32_t count = proto->steps ? proto_steps(proto) : 0;
	struct result_step *steps = arena_zalloc(p->arena, (count + 1) * sizeof(*steps));
	struct counter_list list = {steps, count};
	const struct result_latencies latency = {
		.response.percentiles = condition_percentiles(p->config, p->arena)};
	struct counter_choice counters = {
		proto->counters, arena_zalloc(p->arena, proto->counters->size)};

	for (uint32_t n = 0; n < count; n++)
		steps[n] = (struct result_step){.name = proto->steps[n], .latency = latency};
	return (struct example){
		.item = {.name = i->name, .latency = latency, .steps = list, .counters = counters},
		.interval = {.name = i->name,
			.latency = latency,
			.steps = list,
			.counters = counters},
	};
}

static const struct counter_section *section_of(const struct parser *p)
{
	return p->out->interval ? &result_interval_item_section : &result_item_section;
}

static const void *data_of(const struct parser *p, const struct example *e)
{
	return p->out->interval ? (const void *)&e->interval : (const void *)&e->item;
}

static bool is_meant(const struct parser *p, const struct item_settings *i)
{
	return i->name && i->facts.proto && (!p->out->item || strcmp(i->name, p->out->item) == 0);
}

static bool figure_exists(struct parser *p, const char *figure)
{
	const struct item_settings *items = p->config->traffic.items;
	struct stats_value v;
	bool found = false;

	for (uint32_t i = 0; i < p->config->traffic.count && !found; i++) {
		struct example example;

		if (!is_meant(p, &items[i]))
			continue;
		example = example_of(p, &items[i]);
		found = stats_lookup(section_of(p), data_of(p, &example), figure, &v) == 0;
	}
	if (!found)
		return false;
	p->out->figure = figure;
	p->unit = v.unit;
	p->gauge = v.gauge;
	return true;
}

struct near {
	struct nearest best;
	struct arena *arena;
};

// Tries the name of a figure, and for a latency its short name as well.
static void try_name(void *ctx, const char *path)
{
	static const char long_part[] = "latency.response.";
	struct near *s = ctx;
	const char *part = strstr(path, long_part), *rest = part ? part + strlen(long_part) : path;
	int before = part ? (int)(part - path) : 0;
	size_t len = strlen(rest);
	const char *word;

	nearest_try(&s->best, path);
	if (len <= 3 || strcmp(rest + len - 3, "_ns") != 0)
		return;
	word = arena_printf(s->arena, "%.*s", (int)len - 3, rest);
	if (is_latency(word))
		nearest_try(&s->best, arena_printf(s->arena, "%.*s%s", before, path, word));
}

static const char *nearest_figure(struct parser *p, const char *figure)
{
	const struct item_settings *items = p->config->traffic.items;
	struct near s = {nearest_to(figure), p->arena};
	const struct stats_paths to = {try_name, &s, p->arena};

	if (p->use == CONDITION_STOP)
		nearest_try(&s.best, "unanswered");
	for (uint32_t i = 0; i < p->config->traffic.count; i++) {
		struct example example;

		if (!is_meant(p, &items[i]))
			continue;
		example = example_of(p, &items[i]);
		stats_paths(section_of(p), data_of(p, &example), "", &to);
	}
	return s.best.name;
}

static bool parse_figure(struct parser *p, struct part r)
{
	const char *figure = part_copy(p, r), *other = long_name(p, figure), *nearest;

	if (r.from == r.to)
		return condition_fail(p, r.from, "no figure (like loss, p99, failed)");
	if (p->use == CONDITION_STOP && strcmp(figure, "unanswered") == 0)
		return condition_fail(p, r.to, "has no value to compare (unanswered for 2s)");
	if (p->out->interval && strncmp(figure, "by_due.", 7) == 0)
		return condition_fail(
			p, r.from, "by_due of an interval is known only after the run");
	if (figure_exists(p, figure) || (other && figure_exists(p, other)))
		return true;
	nearest = nearest_figure(p, figure);
	if (nearest)
		return condition_fail(p, r.from, "no figure called \"%s\" (did you mean \"%s\"?)",
			figure, nearest);
	if (p->use == CONDITION_STOP)
		return condition_fail(p, r.from,
			"no figure of an interval called \"%s\" (lost, loss, failed, in_flight, "
			"answered_per_s, p99, ...: ddiperf list counters)",
			figure);
	return condition_fail(p, r.from,
		"no such figure: \"%s\" (loss, p50, p99, max, lost, answered_per_s, ...: ddiperf "
		"list counters)",
		figure);
}

// Strips "traffic.NAME." from the part. Names may contain dots: the longest match wins.
static bool parse_item(struct parser *p, struct part *r)
{
	const struct item_settings *items = p->config->traffic.items;
	size_t name = r->from + strlen("traffic."), best = 0;
	const char *whole = NULL;
	struct nearest nearest;

	if (!part_begins(p, *r, "traffic."))
		return true;
	for (uint32_t i = 0; i < p->config->traffic.count; i++) {
		size_t len = items[i].name ? strlen(items[i].name) : 0;

		if (len <= best || name + len > r->to ||
			strncmp(p->text + name, items[i].name, len) != 0)
			continue;
		whole = name + len == r->to ? items[i].name : whole;
		if (p->text[name + len] != '.')
			continue;
		best = len;
		p->out->item = items[i].name;
	}
	if (best) {
		r->from = name + best + 1;
		return true;
	}
	if (whole)
		return condition_fail(p, r->to, "no figure (like traffic.%s.loss)", whole);
	nearest = nearest_to(
		part_copy(p, (struct part){name, name + strcspn(p->text + name, ". \t<>=)")}));
	for (uint32_t i = 0; i < p->config->traffic.count; i++)
		if (items[i].name)
			nearest_try(&nearest, items[i].name);
	if (nearest.name)
		return condition_fail(p, name,
			"no such traffic item: \"%s\" (did you mean \"%s\"?)", nearest.wanted,
			nearest.name);
	return condition_fail(p, name, "no such traffic item: \"%s\"", nearest.wanted);
}

// Strips "max(...)" from the part and leaves the text inside.
static bool parse_fold(struct parser *p, struct part *r)
{
	for (int i = FOLD_MAX; i <= FOLD_MEAN; i++) {
		size_t open = r->from + strlen(folds[i]);

		if (!part_begins(p, *r, folds[i]) || open >= r->to || p->text[open] != '(')
			continue;
		if (p->use == CONDITION_STOP)
			return condition_fail(p, r->from,
				"%s() looks back on a run, a stop rule at each interval", folds[i]);
		if (p->text[r->to - 1] != ')')
			return condition_fail(p, r->to, "\")\" is missing");
		p->out->fold = (enum condition_fold)i;
		*r = part_trim(p, (struct part){open + 1, r->to - 1});
	}
	return true;
}

static bool parse_left(struct parser *p, struct part r)
{
	size_t begin = r.from;

	if (!parse_fold(p, &r) || !parse_item(p, &r))
		return false;
	p->out->interval = p->use == CONDITION_STOP || part_begins(p, r, "interval.");
	if (part_begins(p, r, "interval."))
		r.from += strlen("interval.");
	else if (p->out->fold != FOLD_NONE)
		return condition_fail(p, r.from, "%s() is of intervals (like %s(interval.loss))",
			folds[p->out->fold], folds[p->out->fold]);
	if (p->use == CONDITION_VERDICT && p->out->interval && p->out->fold == FOLD_NONE)
		return condition_fail(
			p, begin, "which interval? (max(...), min(...) or mean(...))");
	return parse_figure(p, r);
}

// --- value and time
// -------------------------------------------------------------------------------

static bool parse_limit(struct parser *p, struct part r)
{
	const char *text = part_copy(p, r), *what = NULL;
	double *out = &p->out->limit;
	uint64_t n = 0;
	int rc;

	if (!p->unit && strchr(text, '%')) {
		p->out->share = true;
		p->unit = "1";
	}
	if (p->unit && strcmp(p->unit, "1") == 0)
		rc = units_parse_percent(text, out, &what);
	else if (p->unit && strcmp(p->unit, "per_s") == 0)
		rc = units_parse_rate(text, out, &what);
	else if (p->unit && (strcmp(p->unit, "ns") == 0 || strcmp(p->unit, "s") == 0))
		rc = units_parse_duration(text, &n, &what);
	else
		rc = units_parse_count(text, &n, &what);
	if (rc < 0 && r.from == r.to)
		return condition_fail(p, r.from, "no value (%s)", what);
	if (rc < 0)
		return condition_fail(p, r.from, "\"%s\" is not %s", text, what);
	if (n)
		*out = p->unit && strcmp(p->unit, "s") == 0 ? 1e-9 * (double)n : (double)n;
	return true;
}

static bool parse_time(struct parser *p, struct part r)
{
	const struct run_settings *run = &p->config->run;
	const char *text = part_copy(p, r), *what;

	if (units_parse_duration(text, &p->out->for_ns, &what) < 0)
		return condition_fail(p, r.from, "\"%s\" is not %s", text, what);
	if (p->out->for_ns < run->interval_ns)
		return condition_fail(p, r.from, "shorter than an interval (run.interval: %g s)",
			1e-9 * (double)run->interval_ns);
	if (p->out->for_ns > run->duration_ns)
		return condition_fail(p, r.from, "longer than the run (run.duration: %g s)",
			1e-9 * (double)run->duration_ns);
	return true;
}

// Returns the position of " for " in the part, or the end of the part.
static size_t find_for(const struct parser *p, struct part r)
{
	for (size_t at = r.from; at + 5 <= r.to; at++)
		if (isspace((unsigned char)p->text[at]) &&
			strncmp(p->text + at + 1, "for", 3) == 0 &&
			isspace((unsigned char)p->text[at + 4]))
			return at;
	return r.to;
}

// Moves the time from the end of the part to the condition.
static bool split_time(struct parser *p, struct part *r)
{
	size_t at = find_for(p, *r);

	if (at == r->to)
		return true;
	if (p->use == CONDITION_VERDICT)
		return condition_fail(p, at + 1, "only a stop rule holds for a time (stop: [...])");
	if (!parse_time(p, part_trim(p, (struct part){at + 5, r->to})))
		return false;
	*r = part_trim(p, (struct part){r->from, at});
	return true;
}

static bool parse_unanswered(struct parser *p, struct part r)
{
	if (!split_time(p, &r) || !parse_item(p, &r))
		return false;
	p->out->unanswered = true;
	if (strcmp(part_copy(p, r), "unanswered") == 0)
		return p->out->for_ns ||
		       condition_fail(p, r.to, "for how long? (unanswered for 2s)");
	return condition_fail(p, r.to, "no operator (<=, <, >=, > or ==)");
}

bool condition_parse(const struct config *c, const char *text, enum condition_use use,
	struct arena *a, struct condition *out, struct condition_error *e)
{
	struct parser p = {c, use, a, text, out, e, NULL, false};
	struct part all = part_trim(&p, (struct part){0, strlen(text)}), right;
	size_t op = strcspn(text, "<>=");

	*out = (struct condition){.text = text};
	if (text[op] == '\0' && use == CONDITION_STOP)
		return parse_unanswered(&p, all);
	for (out->op = OP_LE; out->op <= OP_EQ; out->op++)
		if (strncmp(text + op, op_texts[out->op], strlen(op_texts[out->op])) == 0)
			break;
	if (out->op > OP_EQ)
		return condition_fail(
			&p, text[op] ? op : all.to, "no operator (<=, <, >=, > or ==)");
	right = part_trim(&p, (struct part){op + strlen(op_texts[out->op]), all.to});
	if (!parse_left(&p, part_trim(&p, (struct part){all.from, op})) || !split_time(&p, &right))
		return false;
	if (!parse_limit(&p, right))
		return false;
	out->unit = p.unit;
	out->total = !p.unit && !p.gauge;
	return true;
}

// "steps.NAME.": does the protocol have that step?
static bool is_step(const struct proto *p, const char *figure)
{
	if (!p->steps || strncmp(figure, "steps.", 6) != 0)
		return false;
	for (uint32_t i = 0; p->steps[i]; i++) {
		size_t len = strlen(p->steps[i]);

		if (strncmp(figure + 6, p->steps[i], len) == 0 && figure[6 + len] == '.')
			return true;
	}
	return false;
}

bool condition_value(const struct condition *k, const struct proto *proto,
	const struct counter_section *section, const void *data, uint64_t of, double *out)
{
	struct stats_value v;

	if (stats_lookup(section, data, k->figure, &v) == 0)
		*out = v.value;
	else if (is_step(proto, k->figure))
		*out = strstr(k->figure, "_ns") ? NAN : 0;
	else
		return false;
	if (k->share)
		*out = of ? *out / (double)of : 0;
	return true;
}

bool condition_holds(const struct condition *k, double value)
{
	switch (k->op) {
	case OP_LE:
		return value <= k->limit;
	case OP_LT:
		return value < k->limit;
	case OP_GE:
		return value >= k->limit;
	case OP_GT:
		return value > k->limit;
	case OP_EQ:
		return value == k->limit;
	}
	return false;
}
