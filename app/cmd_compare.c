// SPDX-License-Identifier: BSD-3-Clause
// ddiperf compare A.json B.json: what changed, how sure that is, and whether B is worse than
// allowed. Path: cold. Main thread.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/student.h"
#include "commands.h"
#include "conf/units.h"
#include "engine/repeat.h"
#include "engine/run.h"
#include "figures.h"
#include "stats/text.h"

#define NAMES_MAX 1000

// How much worse B may be.
struct margin {
	const char *text; // as typed
	const char *path;
	const char *item; // NULL: every one
	bool higher;      // is worse
	bool relative;
	double allowed;
};

// B minus A.
struct change {
	double a, b; // means where there are repeats
	double half; // of the interval of the difference; NAN: a single run
};

static double square(double x)
{
	return x * x;
}

// Welch's interval: the two need not have the same variance.
static double half_interval(const struct spread *a, const struct spread *b, double confidence)
{
	double va = square(a->stddev) / a->count, vb = square(b->stddev) / b->count;
	double freedom;

	if (va + vb == 0)
		return 0;
	freedom = square(va + vb) / (square(va) / (a->count - 1) + square(vb) / (b->count - 1));
	return student_quantile(confidence, (unsigned)fmax(1, floor(freedom))) * sqrt(va + vb);
}

static struct change change_of(const struct figures *from, const struct figure *a,
	const struct figures *to, const struct figure *b)
{
	struct change c = {a->value, b->value, NAN};
	struct spread x, y;

	if (a->repeats) {
		x = spread_of(a->repeats, from->repeats, from->confidence);
		c.a = x.mean;
	}
	if (b->repeats) {
		y = spread_of(b->repeats, to->repeats, to->confidence);
		c.b = y.mean;
	}
	if (a->repeats && b->repeats && isfinite(c.a) && isfinite(c.b))
		c.half = half_interval(&x, &y, fmin(from->confidence, to->confidence));
	return c;
}

// The noise of repeats explains it.
static bool is_noise(const struct change *c)
{
	return !isnan(c->half) && fabs(c->b - c->a) <= c->half;
}

// --- the table ---

static const char *const headline[] = {"answered_per_s", "loss", "failed",
	"latency.response.mean_ns", "latency.response.p50_ns", "latency.response.p90_ns",
	"latency.response.p99_ns", "latency.response.p999_ns", "latency.response.max_ns",
	"latency.service.p50_ns", "latency.service.p99_ns", NULL};

static const char *const of_steps[] = {
	".lost", ".failed", ".latency.response.p50_ns", ".latency.response.p99_ns", NULL};

static const char *const of_volume[] = {"_bytes", NULL};

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool ends_in_one_of(const char *text, const char *const *ends)
{
	for (; *ends; ends++) {
		size_t len = strlen(*ends);

		if (strlen(text) > len && strcmp(text + strlen(text) - len, *ends) == 0)
			return true;
	}
	return false;
}

// Counters of the protocol are all that lies deeper and is neither a latency nor a step.
static bool is_shown(const char *path)
{
	for (size_t i = 0; headline[i]; i++)
		if (strcmp(path, headline[i]) == 0)
			return true;
	if (begins(path, "steps."))
		return ends_in_one_of(path, of_steps);
	if (ends_in_one_of(path, of_volume))
		return false;
	return strchr(path, '.') && !begins(path, "latency.") && !begins(path, "send_lag.");
}

static const char *value_text(double v, const char *unit, char *buf, size_t room)
{
	if (isinf(v))
		snprintf(buf, room, "lost");
	else
		stats_format(v, *unit ? unit : NULL, buf, room);
	return buf;
}

// "+5.2 %" of A, or points of a share.
static const char *difference_text(double a, double b, const char *unit, char *buf, size_t room)
{
	if (!isfinite(a) || !isfinite(b))
		snprintf(buf, room, "%s", isfinite(a) ? "worse" : isfinite(b) ? "better" : "-");
	else if (strcmp(unit, "1") == 0)
		snprintf(buf, room, "%+.3g pt", 100 * (b - a));
	else if (a == 0)
		snprintf(buf, room, "%s", b == 0 ? "0 %" : "new");
	else
		snprintf(buf, room, "%+.3g %%", 100 * (b - a) / a);
	return buf;
}

static const char *interval_text(const struct change *c, const char *unit, char *buf, size_t room)
{
	double scale = strcmp(unit, "1") == 0 ? 100 : c->a != 0 ? 100 / c->a : NAN;

	if (isnan(c->half) || isnan(scale) || c->a == c->b)
		buf[0] = '\0';
	else
		snprintf(buf, room, "  +- %.3g%s", fabs(scale * c->half),
			is_noise(c) ? ", within noise" : "");
	return buf;
}

static void print_change(const char *path, const struct change *c)
{
	const char *unit = figures_unit(path);
	char a[32], b[32], difference[32], interval[48];

	if (c->a == 0 && c->b == 0 && strchr(path, '.'))
		return;
	printf("  %-34s %12s %12s %12s%s\n", path, value_text(c->a, unit, a, sizeof(a)),
		value_text(c->b, unit, b, sizeof(b)),
		difference_text(c->a, c->b, unit, difference, sizeof(difference)),
		interval_text(c, unit, interval, sizeof(interval)));
}

static bool is_new_item(const struct figures *f, uint32_t i)
{
	return i == 0 || strcmp(f->list[i].item, f->list[i - 1].item) != 0;
}

static bool has_item(const struct figures *f, const char *item)
{
	for (uint32_t i = 0; i < f->count; i++)
		if (strcmp(f->list[i].item, item) == 0)
			return true;
	return false;
}

static void print_head(const struct figures *a, const struct figures *b)
{
	const struct figures *both[] = {a, b};

	for (int i = 0; i < 2; i++)
		printf("%c: %s: %s, %s, %s%s\n", "AB"[i], both[i] -> file, both[i] -> name,
			both[i] -> started, both[i] -> status,
			both[i] -> repeats ? ", repeated" : "");
}

// What is only in one of the two is 0 in the other, where that has the item at all.
static struct change change_at(
	const struct figures *from, const struct figures *to, const char *item, const char *path)
{
	static const struct figure nothing;
	const struct figure *a = figures_find(from, item, path), *b = figures_find(to, item, path);

	return change_of(from, a ? a : &nothing, to, b ? b : &nothing);
}

static void print_item(const struct figures *from, const struct figures *to, const char *item)
{
	printf("\n%-36s %12s %12s %12s\n", item, "A", "B", "B - A");
	for (uint32_t i = 0; i < from->count; i++) {
		const struct figure *one = &from->list[i];
		struct change c;

		if (strcmp(one->item, item) != 0 || !is_shown(one->path))
			continue;
		c = change_at(from, to, item, one->path);
		print_change(one->path, &c);
	}
	for (uint32_t i = 0; i < to->count; i++) {
		const struct figure *one = &to->list[i];
		struct change c;

		if (strcmp(one->item, item) != 0 || !is_shown(one->path) ||
			figures_find(from, item, one->path))
			continue;
		c = change_at(from, to, item, one->path);
		print_change(one->path, &c);
	}
}

static void print_all(const struct figures *from, const struct figures *to)
{
	print_head(from, to);
	for (uint32_t i = 0; i < from->count; i++) {
		if (!is_new_item(from, i))
			continue;
		if (has_item(to, from->list[i].item))
			print_item(from, to, from->list[i].item);
		else
			printf("\n%s: only in A\n", from->list[i].item);
	}
	for (uint32_t i = 0; i < to->count; i++)
		if (is_new_item(to, i) && !has_item(from, to->list[i].item))
			printf("\n%s: only in B\n", to->list[i].item);
}

// --- the gate ---

static int refuse(const struct margin *m, const char *what)
{
	log_error("compare: --fail-on %s: %s", m->text, what);
	return -1;
}

static int unknown_figure(const struct margin *m, const struct figures *f, struct arena *a)
{
	const char *names[NAMES_MAX + 1] = {0}, *nearest;
	uint32_t n = figures_short_names(names, NAMES_MAX);

	for (uint32_t i = 0; i < f->count && n < NAMES_MAX; i++)
		names[n++] = f->list[i].path;
	nearest = options_nearest(m->path, names);
	return refuse(m, nearest ? arena_printf(a, "no such figure (did you mean %s?)", nearest)
				 : "no such figure in these results (like p99, loss, rate, or "
				   "dns.rcode.SERVFAIL)");
}

// "+5%", "-100", "+200us".
static int parse_allowed(struct margin *m, const char *text)
{
	const char *unit = figures_unit(m->path), *what = "";
	size_t len = strlen(text);
	uint64_t ns = 0;
	int rc;

	if (text[0] != '+' && text[0] != '-')
		return refuse(m, "which way is worse? (+5% allows B to be 5 % higher, -5% lower)");
	m->higher = text[0] == '+';
	m->relative = strcmp(unit, "1") != 0 && text[len - 1] == '%';
	if (text[len - 1] == '%') {
		rc = units_parse_percent(text + 1, &m->allowed, &what);
	} else if (strcmp(unit, "ns") == 0) {
		rc = units_parse_duration(text + 1, &ns, &what);
		m->allowed = (double)ns;
	} else if (strcmp(unit, "1") != 0) {
		rc = units_parse_rate(text + 1, &m->allowed, &what);
	} else {
		rc = -1;
		what = "a percentage of what was sent (like 0.1%)";
	}
	if (rc == 0)
		return 0;
	log_error("compare: --fail-on %s: \"%s\" is not %s", m->text, text + 1, what);
	return -1;
}

// "[traffic.NAME.]FIGURE:MARGIN". Names may hold dots: the longest item name that fits wins.
static int parse_margin(
	const char *text, const struct figures *from, struct arena *a, struct margin *m)
{
	char *copy = arena_strdup(a, text), *colon = strrchr(copy, ':');
	const char *figure = copy;
	size_t best = 0;

	*m = (struct margin){.text = text};
	if (!colon)
		return refuse(m, "no margin (like p99:+5% or rate:-2%)");
	*colon = '\0';
	for (uint32_t i = 0; i < from->count && begins(copy, "traffic."); i++) {
		const char *item = from->list[i].item;
		size_t len = strlen(item);

		if (len <= best || !begins(copy + 8, item) || copy[8 + len] != '.')
			continue;
		best = len;
		m->item = item;
		figure = copy + 8 + len + 1;
	}
	m->path = figures_full_name(figure);
	return parse_allowed(m, colon + 1);
}

// Worse than allowed, and not by noise alone.
static bool is_worse(const struct margin *m, const struct change *c)
{
	double worse = m->higher ? c->b - c->a : c->a - c->b;
	double allowed = m->relative ? m->allowed * fabs(c->a) : m->allowed;

	if (isinf(c->a) || isinf(c->b))
		return m->higher && isinf(c->b) && !isinf(c->a);
	return worse > allowed && !is_noise(c);
}

// One item. true: B is worse.
static bool judge_item(const struct margin *m, const struct figures *from, const struct figures *to,
	const char *item, bool quiet)
{
	struct change c = change_at(from, to, item, m->path);
	const char *unit = figures_unit(m->path);
	bool worse = !has_item(to, item) || is_worse(m, &c);
	char a[32], b[32], difference[32];

	if (quiet)
		return worse;
	printf("  %s  %s of %s: %s -> %s (%s, allowed %s)\n", worse ? "FAIL" : "pass", m->path,
		item, value_text(c.a, unit, a, sizeof(a)), value_text(c.b, unit, b, sizeof(b)),
		difference_text(c.a, c.b, unit, difference, sizeof(difference)),
		strrchr(m->text, ':') + 1);
	return worse;
}

// 0, 1: worse, -1: not to be judged.
static int judge(const struct margin *m, const struct figures *from, const struct figures *to,
	const struct options *o)
{
	int worse = 0;
	bool known = false;

	for (uint32_t i = 0; i < from->count; i++) {
		const char *item = from->list[i].item;

		if (!is_new_item(from, i) || (m->item && strcmp(m->item, item) != 0))
			continue;
		if (!figures_find(from, item, m->path) && !figures_find(to, item, m->path))
			continue;
		known = true;
		worse |= judge_item(m, from, to, item, o->quiet);
	}
	return known ? worse : unknown_figure(m, from, o->arena);
}

static int gate(const struct options *o, const struct figures *from, const struct figures *to,
	const struct margin *margins)
{
	int worse = 0;

	if (!o->quiet)
		puts("\nmargins");
	for (unsigned i = 0; i < o->margin_count; i++) {
		int rc = judge(&margins[i], from, to, o);

		if (rc < 0)
			return EXIT_CONFIG;
		worse |= rc;
	}
	printf("%s%s\n", o->quiet ? "" : "\n",
		worse ? "FAIL: B is worse than A by more than is allowed"
		      : "PASS: B is no worse than A by more than is allowed");
	return worse ? EXIT_FAIL : EXIT_PASS;
}

// A run that says nothing about its server cannot be better or worse.
static bool says_something(const struct figures *f)
{
	static const char *const nothing[] = {"invalid", "interrupted", "unreachable"};

	for (size_t i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++)
		if (strcmp(f->status, nothing[i]) == 0) {
			log_warning("compare: %s: its verdict is %s", f->file, f->status);
			return false;
		}
	return true;
}

int cmd_compare(const struct options *o)
{
	struct margin *margins = arena_zalloc(o->arena, (o->margin_count + 1) * sizeof(*margins));
	struct figures from, to;
	bool judged;

	if (figures_load(o->operand, o->arena, &from) < 0 ||
		figures_load(o->second, o->arena, &to) < 0)
		return EXIT_CONFIG;
	for (unsigned i = 0; i < o->margin_count; i++)
		if (parse_margin(o->margins[i], &from, o->arena, &margins[i]) < 0)
			return EXIT_CONFIG;
	judged = says_something(&from);
	judged = says_something(&to) && judged;
	if (!o->quiet)
		print_all(&from, &to);
	if (o->margin_count == 0)
		return EXIT_PASS;
	return judged ? gate(o, &from, &to, margins) : EXIT_INVALID;
}
