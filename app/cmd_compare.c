// SPDX-License-Identifier: BSD-3-Clause
// ddiperf compare A.json B.json: a table of the figures that changed, each with its noise where
// there are repeats, and the gate of --fail-on. The documents are read in figures.c. Path: cold.
// Main thread.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/student.h"
#include "commands.h"
#include "conf/units.h"
#include "engine/series/spread.h"
#include "figures.h"
#include "stats/text.h"

static const char *value_text(double v, const char *unit, char *buf, size_t room)
{
	if (isinf(v))
		snprintf(buf, room, "lost");
	else
		stats_format(v, *unit ? unit : NULL, buf, room);
	return buf;
}

// "+5.2 %" of A, or points of a share ("+0.3 pt").
static const char *difference_text(double a, double b, const char *unit, char *buf, size_t room)
{
	if (!isfinite(a) || !isfinite(b))
		snprintf(buf, room, "%s",
			isfinite(a)               ? "worse"
			: isinf(a) && isfinite(b) ? "better"
						  : "-");
	else if (strcmp(unit, "1") == 0)
		snprintf(buf, room, "%+.3g pt", 100 * (b - a));
	else if (a == 0)
		snprintf(buf, room, "%s", b == 0 ? "0 %" : "new");
	else
		snprintf(buf, room, "%+.3g %%", 100 * (b - a) / a);
	return buf;
}

static const char *interval_text(
	const struct figures_change *c, const char *unit, char *buf, size_t room)
{
	double scale = strcmp(unit, "1") == 0 ? 100 : c->a != 0 ? 100 / c->a : NAN;

	if (isnan(c->half) || isnan(scale) || c->a == c->b)
		buf[0] = '\0';
	else
		snprintf(buf, room, "  +- %.3g%s", fabs(scale * c->half),
			figures_change_is_noise(c) ? ", within noise" : "");
	return buf;
}

static void print_change(
	const struct figures *from, const struct figures *to, const struct figure *one)
{
	const struct figures_change c = figures_change(from, to, one->item, one->path);
	const char *unit = figures_unit(one->path);
	char a[32], b[32], difference[32], interval[48];

	if (!figures_is_shown(one->path) || (isnan(c.a) && isnan(c.b)))
		return;
	if (c.a == 0 && c.b == 0 && strchr(one->path, '.'))
		return;
	printf("  %-34s %12s %12s %12s%s\n", one->path, value_text(c.a, unit, a, sizeof(a)),
		value_text(c.b, unit, b, sizeof(b)),
		difference_text(c.a, c.b, unit, difference, sizeof(difference)),
		interval_text(&c, unit, interval, sizeof(interval)));
}

// The figures of A in its order, then those that only B has.
static void print_item(const struct figures *from, const struct figures *to, const char *item)
{
	printf("\n%-36s %12s %12s %12s\n", item, "A", "B", "B - A");
	for (uint32_t i = 0; i < from->count; i++)
		if (strcmp(from->list[i].item, item) == 0)
			print_change(from, to, &from->list[i]);
	for (uint32_t i = 0; i < to->count; i++)
		if (strcmp(to->list[i].item, item) == 0 &&
			!figures_find(from, item, to->list[i].path))
			print_change(from, to, &to->list[i]);
}

static void print_table(const struct figures *from, const struct figures *to)
{
	const struct figures *both[] = {from, to};

	for (int i = 0; i < 2; i++)
		printf("%c: %s: %s, %s, %s%s\n", "AB"[i], both[i] -> file, both[i] -> name,
			both[i] -> started, both[i] -> status,
			both[i] -> repeats ? ", repeated" : "");
	for (uint32_t i = 0; i < from->count; i++) {
		if (!figures_is_new_item(from, i))
			continue;
		if (figures_has_item(to, from->list[i].item))
			print_item(from, to, from->list[i].item);
		else
			printf("\n%s: only in A\n", from->list[i].item);
	}
	for (uint32_t i = 0; i < to->count; i++)
		if (figures_is_new_item(to, i) && !figures_has_item(from, to->list[i].item))
			printf("\n%s: only in B\n", to->list[i].item);
}

// How much worse B may be.
struct margin {
	const char *text; // as typed
	const char *path;
	const char *item; // NULL: every item
	bool higher;      // a higher B is worse; else a lower one
	bool relative;    // allowed is a share of A
	double allowed;
};

static int refuse_margin(const struct margin *m, const char *reason)
{
	log_error("compare: --fail-on %s: %s", m->text, reason);
	return -1;
}

static int refuse_figure(const struct margin *m, const struct figures *f, struct arena *a)
{
	struct nearest nearest = nearest_to(m->path);

	figures_try_names(f, &nearest);
	return refuse_margin(m,
		nearest.name
			? arena_printf(a, "no such figure (did you mean %s?)", nearest.name)
			: "no such figure in these results (use p99, loss, rate, or a counter like "
			  "dns.rcode.SERVFAIL)");
}

// "+5%", "-100", "+200us".
static int parse_allowed(struct margin *m, const char *text)
{
	const char *unit = figures_unit(m->path), *expected = "";
	size_t len = strlen(text);
	uint64_t ns = 0;
	int rc;

	if (text[0] != '+' && text[0] != '-')
		return refuse_margin(
			m, "the sign is missing (+5% allows B to be 5 % higher, -5% lower)");
	m->higher = text[0] == '+';
	m->relative = strcmp(unit, "1") != 0 && text[len - 1] == '%';
	if (text[len - 1] == '%') {
		rc = units_parse_percent(text + 1, &m->allowed, &expected);
	} else if (strcmp(unit, "ns") == 0) {
		rc = units_parse_duration(text + 1, &ns, &expected);
		m->allowed = (double)ns;
	} else if (strcmp(unit, "1") != 0) {
		rc = units_parse_rate(text + 1, &m->allowed, &expected);
	} else {
		rc = -1;
		expected = "a percentage of the requests sent (like 0.1%)";
	}
	if (rc == 0)
		return 0;
	log_error("compare: --fail-on %s: \"%s\" is not %s", m->text, text + 1, expected);
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
		return refuse_margin(m, "the margin is missing (like p99:+5% or rate:-2%)");
	*colon = '\0';
	for (uint32_t i = 0; i < from->count && strncmp(copy, "traffic.", 8) == 0; i++) {
		const char *item = from->list[i].item;
		size_t len = strlen(item);

		if (len <= best || strncmp(copy + 8, item, len) != 0 || copy[8 + len] != '.')
			continue;
		best = len;
		m->item = item;
		figure = copy + 8 + len + 1;
	}
	m->path = figures_full_name(figure);
	return parse_allowed(m, colon + 1);
}

// B is worse than allowed, and noise does not explain it.
static bool is_worse(const struct margin *m, const struct figures_change *c)
{
	double worse = m->higher ? c->b - c->a : c->a - c->b;
	double allowed = m->relative ? m->allowed * fabs(c->a) : m->allowed;

	if (!isfinite(c->a) || !isfinite(c->b))
		return m->higher && isfinite(c->a);
	return worse > allowed && !figures_change_is_noise(c);
}

// true: B is worse.
static bool judge_item(const struct margin *m, const struct figures *from, const struct figures *to,
	const char *item, bool quiet)
{
	struct figures_change c = figures_change(from, to, item, m->path);
	const char *unit = figures_unit(m->path);
	bool worse = !figures_has_item(to, item) || is_worse(m, &c);
	char a[32], b[32], difference[32];

	if (quiet)
		return worse;
	printf("  %s  %s of %s: %s -> %s (%s, allowed %s)\n", worse ? "FAIL" : "pass", m->path,
		item, value_text(c.a, unit, a, sizeof(a)), value_text(c.b, unit, b, sizeof(b)),
		difference_text(c.a, c.b, unit, difference, sizeof(difference)),
		strrchr(m->text, ':') + 1);
	return worse;
}

// 0, 1: B is worse for one item at least, -1: no item has this figure.
static int judge_margin(const struct margin *m, const struct figures *from,
	const struct figures *to, const struct options *o)
{
	int worse = 0;
	bool known = false;

	for (uint32_t i = 0; i < from->count; i++) {
		const char *item = from->list[i].item;

		if (!figures_is_new_item(from, i) || (m->item && strcmp(m->item, item) != 0))
			continue;
		if (!figures_find(from, item, m->path) && !figures_find(to, item, m->path))
			continue;
		known = true;
		worse |= judge_item(m, from, to, item, o->quiet);
	}
	return known ? worse : refuse_figure(m, from, o->arena);
}

static int gate(const struct options *o, const struct figures *from, const struct figures *to,
	const struct margin *margins)
{
	int worse = 0;

	if (!o->quiet)
		puts("\nmargins");
	for (unsigned i = 0; i < o->margin_count; i++) {
		int rc = judge_margin(&margins[i], from, to, o);

		if (rc < 0)
			return EXIT_CONFIG;
		worse |= rc;
	}
	printf("%s%s\n", o->quiet ? "" : "\n",
		worse ? "FAIL: B is worse than A by more than the margin"
		      : "PASS: B is within the margins of A");
	return worse ? EXIT_FAIL : EXIT_PASS;
}

// A run that says nothing about its server cannot be better or worse.
static bool is_comparable(const struct figures *f)
{
	static const char *const verdicts[] = {"invalid", "interrupted", "unreachable"};

	for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++)
		if (strcmp(f->status, verdicts[i]) == 0) {
			log_warning("compare: %s: its verdict is %s, so it cannot be compared",
				f->file, f->status);
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
	judged = is_comparable(&from);
	judged = is_comparable(&to) && judged;
	if (!o->quiet)
		print_table(&from, &to);
	if (o->margin_count == 0)
		return EXIT_PASS;
	return judged ? gate(o, &from, &to, margins) : EXIT_INVALID;
}
