// SPDX-License-Identifier: BSD-3-Clause
// ddiperf compare A.json B.json: what changed, how sure that is, and whether B is worse than
// allowed: margins and the gate. The table is in compare_table.c, each change in change.c. Path:
// cold. Main thread.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "change.h"
#include "commands.h"
#include "compare_table.h"
#include "conf/units.h"
#include "engine/run/run.h"
#include "figures.h"

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

// Worse than allowed, and not by noise alone.
static bool is_worse(const struct margin *m, const struct change *c)
{
	double worse = m->higher ? c->b - c->a : c->a - c->b;
	double allowed = m->relative ? m->allowed * fabs(c->a) : m->allowed;

	if (!isfinite(c->a) || !isfinite(c->b))
		return m->higher && isfinite(c->a);
	return worse > allowed && !change_is_noise(c);
}

// One item. true: B is worse.
static bool judge_item(const struct margin *m, const struct figures *from, const struct figures *to,
	const char *item, bool quiet)
{
	struct change c = change_at(from, to, item, m->path);
	const char *unit = figures_unit(m->path);
	bool worse = !figures_has_item(to, item) || is_worse(m, &c);
	char a[32], b[32], difference[32];

	if (quiet)
		return worse;
	printf("  %s  %s of %s: %s -> %s (%s, allowed %s)\n", worse ? "FAIL" : "pass", m->path,
		item, change_value_text(c.a, unit, a, sizeof(a)),
		change_value_text(c.b, unit, b, sizeof(b)),
		change_difference_text(c.a, c.b, unit, difference, sizeof(difference)),
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

		if (!figures_is_new_item(from, i) || (m->item && strcmp(m->item, item) != 0))
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
		compare_print_table(&from, &to);
	if (o->margin_count == 0)
		return EXIT_PASS;
	return judged ? gate(o, &from, &to, margins) : EXIT_INVALID;
}
