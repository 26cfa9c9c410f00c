// SPDX-License-Identifier: BSD-3-Clause
// ddiperf compare RESULT.json...: a table of the figures that changed since the first result, the
// baseline, each with its noise where there are repeats, and the gate of --fail-on. The documents
// are read in figures.c. Path: cold. Main thread.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/student.h"
#include "run/commands.h"
#include "compare_history.h"
#include "conf/units.h"
#include "engine/series/spread.h"
#include "compare/figures.h"
#include "compare/trend.h"
#include "stats/text.h"

#define TLS          "connections.tls."
#define RESULTS_MAX  26 // one letter each
#define NAME_WIDTH   34
#define COLUMN_WIDTH 13
#define WIDTH        80 // of the output, if unknown

// The results, the baseline first.
struct results {
	struct figures *list;
	unsigned count;
};

// "+5.2 %" of A, or points of a share ("+0.3 pt").
static const char *difference_text(double a, double b, const char *unit)
{
	if (!isfinite(a) || !isfinite(b))
		return isfinite(a) ? "worse" : isinf(a) && isfinite(b) ? "better" : "-";
	if (strcmp(unit, "1") == 0)
		return stats_shown_text("%+.3g pt", 100 * (b - a));
	if (a == 0)
		return b == 0 ? "0 %" : "new";
	return stats_shown_text("%+.3g %%", 100 * (b - a) / a);
}

static const char *interval_text(const struct figures_change *c, const char *unit)
{
	double scale = strcmp(unit, "1") == 0 ? 100 : c->a != 0 ? 100 / c->a : NAN;

	if (isnan(c->half) || isnan(scale) || c->a == c->b)
		return "";
	return stats_shown_text("  +- %.3g%s", fabs(scale * c->half),
		figures_change_is_noise(c) ? ", within noise" : "");
}

static struct figures_change change_of(
	const struct results *r, unsigned i, const struct figure *one)
{
	return figures_change(&r->list[0], &r->list[i], one->item, one->path);
}

static bool has_item(const struct results *r, unsigned i, const struct figure *one)
{
	return figures_has_item(&r->list[i], one->item);
}

// Skips uninteresting figures, and counters that are 0 in all results.
static bool has_row(const struct results *r, const struct figure *one)
{
	bool any = false;

	if (!figures_is_shown(one->path))
		return false;
	for (unsigned i = 0; i < r->count; i++) {
		double v = change_of(r, i, one).b;

		any |= !isnan(v) && (v != 0 || !strchr(one->path, '.'));
	}
	return any;
}

static void print_change(const struct results *r, const struct figure *one)
{
	const struct figures_change c = change_of(r, 1, one);
	const char *unit = figures_unit(one->path);

	printf("  %-34s %12s %12s %12s%s\n", one->path, figures_text(c.a, unit),
		figures_text(c.b, unit), difference_text(c.a, c.b, unit), interval_text(&c, unit));
}

// One column per result, with the differences from the baseline below the values.
static void print_columns(const struct results *r, const struct figure *one)
{
	const char *unit = figures_unit(one->path);

	printf("  %-*s", NAME_WIDTH, one->path);
	for (unsigned i = 0; i < r->count; i++) {
		printf(" %*s", COLUMN_WIDTH - 1,
			has_item(r, i, one) ? figures_text(change_of(r, i, one).b, unit) : "-");
	}
	printf("\n%*s", 2 + NAME_WIDTH + COLUMN_WIDTH, "");
	for (unsigned i = 1; i < r->count; i++) {
		struct figures_change c = change_of(r, i, one);
		bool has = has_item(r, 0, one) && has_item(r, i, one);

		printf(" %*s", COLUMN_WIDTH - 1,
			!has ? "-"
			     : stats_shown_text("%s%s", difference_text(c.a, c.b, unit),
				       figures_change_is_noise(&c) && c.a != c.b ? " ~" : ""));
	}
	putchar('\n');
}

// One row per result.
static void print_rows(const struct results *r, const struct figure *one)
{
	const char *unit = figures_unit(one->path);

	printf("  %s\n", one->path);
	for (unsigned i = 0; i < r->count; i++) {
		struct figures_change c = change_of(r, i, one);

		printf("    %c %12s", 'A' + (int)i,
			has_item(r, i, one) ? figures_text(c.b, unit) : "-");
		if (i > 0 && has_item(r, 0, one) && has_item(r, i, one))
			printf(" %12s%s", difference_text(c.a, c.b, unit), interval_text(&c, unit));
		putchar('\n');
	}
}

// The width of the terminal, otherwise COLUMNS of the shell.
static unsigned output_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;

	if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col;
	return columns && atoi(columns) > 0 ? (unsigned)atoi(columns) : WIDTH;
}

typedef void print_figure(const struct results *r, const struct figure *one);

static bool is_in_earlier(const struct results *r, unsigned before, const struct figure *one)
{
	for (unsigned i = 0; i < before; i++)
		if (figures_find(&r->list[i], one->item, one->path))
			return true;
	return false;
}

// The figures of the baseline in its order, then figures found only in other results.
static void print_item(const struct results *r, const char *item, print_figure *print)
{
	printf("\n%-*s", print == print_rows ? 0 : 2 + NAME_WIDTH, item);
	for (unsigned i = 0; i < r->count && print != print_rows; i++)
		printf(" %*c", COLUMN_WIDTH - 1, 'A' + (int)i);
	puts(r->count == 2 ? "        B - A" : "");
	for (unsigned i = 0; i < r->count; i++)
		for (uint32_t k = 0; k < r->list[i].count; k++) {
			const struct figure *one = &r->list[i].list[k];

			if (strcmp(one->item, item) == 0 && !is_in_earlier(r, i, one) &&
				has_row(r, one))
				print(r, one);
		}
}

// With two results: "only in A". Otherwise the whole item, and the results that lack it.
static void print_item_of_some(const struct results *r, const char *item, print_figure *print)
{
	unsigned missing = 0;

	for (unsigned i = 0; i < r->count; i++)
		missing += !figures_has_item(&r->list[i], item);
	if (missing == 0 || r->count > 2)
		print_item(r, item, print);
	else
		printf("\n%s: only in %c\n", item, figures_has_item(&r->list[0], item) ? 'A' : 'B');
	if (missing == 0 || r->count == 2)
		return;
	printf("  not in");
	for (unsigned i = 0; i < r->count; i++)
		if (!figures_has_item(&r->list[i], item))
			printf(" %c", 'A' + (int)i);
	putchar('\n');
}

static void print_table(const struct results *r)
{
	bool fits = 2 + NAME_WIDTH + r->count * COLUMN_WIDTH <= output_width();
	print_figure *print = r->count == 2 ? print_change : fits ? print_columns : print_rows;
	bool repeated = false;

	for (unsigned i = 0; i < r->count; i++) {
		const struct figures *f = &r->list[i];

		printf("%c: %s: %s, %s, %s%s\n", 'A' + (int)i, f->file, f->name, f->started,
			f->status, f->repeats ? ", repeated" : "");
		repeated |= i > 0 && f->repeats > 0;
	}
	if (r->count > 2)
		printf("Differences are from A%s.\n",
			fits && repeated ? "; ~: within the noise of the repeats" : "");
	for (unsigned i = 0; i < r->count; i++)
		for (uint32_t k = 0; k < r->list[i].count; k++) {
			const char *item = r->list[i].list[k].item;
			bool seen = !figures_is_new_item(&r->list[i], k);

			for (unsigned n = 0; n < i; n++)
				seen |= figures_has_item(&r->list[n], item);
			if (!seen)
				print_item_of_some(r, item, print);
		}
}

// How much worse another result, B, may be.
struct margin {
	const char *text; // as typed
	const char *path;
	const char *item; // NULL: every item
	bool higher;      // a higher B is worse; otherwise a lower one
	bool relative;    // allowed is relative to A
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

// "[traffic.NAME.]FIGURE:MARGIN". Names may contain dots: the longest matching item name wins.
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

// Is B worse than allowed? NOISY: possibly, because the repeats differ by more than the margin.
enum outcome { WITHIN, NOISY, WORSE };

static enum outcome outcome_of(const struct margin *m, const struct figures_change *c)
{
	double worse = m->higher ? c->b - c->a : c->a - c->b;
	double allowed = m->relative ? m->allowed * fabs(c->a) : m->allowed;

	if (!isfinite(c->a) || !isfinite(c->b))
		return m->higher && isfinite(c->a) ? WORSE : WITHIN;
	if (worse > allowed && !figures_change_is_noise(c))
		return WORSE;
	return allowed > 0 && c->half > allowed && worse + c->half > allowed ? NOISY : WITHIN;
}

// who: B's name in the output line; NULL: no line.
static enum outcome judge_item(const struct margin *m, const struct figures *from,
	const struct figures *to, const char *item, const char *who)
{
	static const char *const words[] = {"pass", "too noisy", "FAIL"};
	struct figures_change c = figures_change(from, to, item, m->path);
	const char *unit = figures_unit(m->path);
	enum outcome outcome = figures_has_item(to, item) ? outcome_of(m, &c) : WORSE;
	const char *interval = outcome == NOISY ? interval_text(&c, unit) : "";

	if (!who)
		return outcome;
	printf("  %s  %s%s of %s: %s -> %s (%s%s, allowed %s)\n", words[outcome], who, m->path,
		item, figures_text(c.a, unit), figures_text(c.b, unit),
		difference_text(c.a, c.b, unit),
		interval + (interval[0] == ' '), // the table puts two blanks in front of it
		strrchr(m->text, ':') + 1);
	return outcome;
}

// The worst outcome over all items; -1: no item has this figure.
static int judge_margin(const struct margin *m, const struct figures *from,
	const struct figures *to, const char *who)
{
	enum outcome worst = WITHIN;
	bool known = false;

	for (uint32_t i = 0; i < from->count; i++) {
		const char *item = from->list[i].item;

		if (!figures_is_new_item(from, i) || (m->item && strcmp(m->item, item) != 0))
			continue;
		if (!figures_find(from, item, m->path) && !figures_find(to, item, m->path))
			continue;
		enum outcome one = judge_item(m, from, to, item, who);

		known = true;
		worst = one > worst ? one : worst;
	}
	return known ? (int)worst : -1;
}

// Set the worst outcome of each result. 0, or -1: no result has this figure, which was logged.
static int judge_results(
	const struct options *o, const struct results *r, const struct margin *m, int *worst)
{
	bool known = false;

	for (unsigned i = 1; i < r->count; i++) {
		const char who[] = {(char)('A' + i), ':', ' ', '\0'};
		int rc = judge_margin(m, &r->list[0], &r->list[i],
			o->quiet       ? NULL
			: r->count > 2 ? who
				       : "");

		known |= rc >= 0;
		worst[i] = rc > worst[i] ? rc : worst[i];
	}
	return known ? 0 : refuse_figure(m, &r->list[0], o->arena);
}

// "FAIL: B, D are": lists the results with this outcome. Returns their number.
static unsigned print_outcomes(
	const struct results *r, const int *worst, enum outcome which, const char *word)
{
	unsigned count = 0;

	for (unsigned i = 1; i < r->count; i++)
		if (worst[i] == (int)which) {
			printf("%s%s%c", count ? "" : word, count ? ", " : ": ", 'A' + (int)i);
			count++;
		}
	if (count)
		fputs(count > 1 ? " are" : " is", stdout);
	return count;
}

static int gate(const struct options *o, const struct results *r, const struct margin *margins)
{
	int worst[RESULTS_MAX] = {WITHIN};
	unsigned noisy;

	if (!o->quiet)
		puts("\nmargins");
	for (unsigned i = 0; i < o->margin_count; i++)
		if (judge_results(o, r, &margins[i], worst) < 0)
			return EXIT_CONFIG;
	fputs(o->quiet ? "" : "\n", stdout);
	if (print_outcomes(r, worst, WORSE, "FAIL")) {
		puts(" worse than A by more than the margin");
		return EXIT_FAIL;
	}
	noisy = print_outcomes(r, worst, NOISY, "TOO NOISY TO JUDGE");
	if (noisy) {
		puts(" not known to be within the margins: the repeats differ by more than that; "
		     "longer runs or more repeats help");
		return EXIT_NOISY;
	}
	printf("PASS: %s within the margins of A\n", r->count > 2 ? "all results are" : "B is");
	return EXIT_PASS;
}

// A run without a statement about its server is neither better nor worse.
static bool is_comparable(const struct figures *f)
{
	if (trend_may_judge(f->status))
		return true;
	log_warning("compare: %s: its verdict is %s, so it cannot be compared", f->file, f->status);
	return false;
}

#define SETTINGS_SHOWN 4

// Warn of settings that differ: a change may come from the test rather than the server.
static void warn_settings(const struct results *r, unsigned i, struct arena *a)
{
	struct figures_setting was, is;
	const char *list = "";
	unsigned count = 0;

	for (uint32_t at = 0; figures_differ(&r->list[0], &r->list[i], &at, &was, &is); count++)
		if (count < SETTINGS_SHOWN)
			list = arena_printf(a, "%s%s%s (%s, %s)", list, count ? ", " : "", was.path,
				was.value ? was.value : "none", is.value ? is.value : "none");
	if (count > SETTINGS_SHOWN)
		list = arena_printf(a, "%s and %u more", list, count - SETTINGS_SHOWN);
	if (count)
		log_warning("compare: A and %c are different tests: %s", 'A' + (int)i, list);
}

// Does the cost of a handshake, at both ends, depend on this counter's name?
static bool is_of_handshake(const char *path)
{
	static const char *const of_tls[] = {"version.", "cipher.", "group."};
	bool is = false;

	for (size_t i = 0; i < sizeof(of_tls) / sizeof(of_tls[0]); i++)
		is |= strncmp(path, TLS, strlen(TLS)) == 0 &&
		      strncmp(path + strlen(TLS), of_tls[i], strlen(of_tls[i])) == 0;
	return is;
}

// Append the names of TLS in f that are not in the other result.
static const char *append_only(const char *list, const struct figures *f,
	const struct figures *other, char letter, struct arena *a)
{
	for (uint32_t i = 0; i < f->count; i++) {
		const struct figure *one = &f->list[i];

		if (is_of_handshake(one->path) && !figures_find(other, one->item, one->path))
			list = arena_printf(a, "%s%s%s of %s only in %c", list, *list ? ", " : "",
				one->path + strlen(TLS), one->item, letter);
	}
	return list;
}

// Warn of handshakes that differ: the server and the tester chose them, no setting may show it.
static void warn_tls(const struct results *r, unsigned i, struct arena *a)
{
	const struct figures *first = &r->list[0], *other = &r->list[i];
	const char *list = append_only("", first, other, 'A', a);

	list = append_only(list, other, first, (char)('A' + i), a);
	if (*list)
		log_warning("compare: the handshakes of A and %c cost differently: %s",
			'A' + (int)i, list);
}

// Warn that without repeats, a change may be chance.
static void warn_single(const struct results *r)
{
	bool single = false;

	for (unsigned i = 0; i < r->count; i++)
		single = single || r->list[i].repeats == 0;
	if (single)
		log_warning(
			"compare: a result without repeats does not show its noise, so a change "
			"may be chance (run.repeat: at least 3)");
}

// Load the baseline, then the other operands. 0 or -EINVAL, which was logged.
static int load_results(const struct options *o, struct results *r)
{
	const char *files[RESULTS_MAX + 1] = {o->baseline};
	unsigned count = o->baseline ? 1 : 0;

	for (unsigned i = 0; i < o->operand_count && count <= RESULTS_MAX; i++)
		if (!o->baseline || strcmp(o->operands[i], o->baseline) != 0)
			files[count++] = o->operands[i];
	if (count < 2 || count > RESULTS_MAX) {
		log_error("compare: %s (see ddiperf compare --help)",
			count < 2 ? "an argument is missing: a second result"
				  : "more than 26 results");
		return -EINVAL;
	}
	r->list = arena_zalloc(o->arena, count * sizeof(*r->list));
	for (; r->count < count; r->count++)
		if (figures_load(files[r->count], o->arena, &r->list[r->count]) < 0)
			return -EINVAL;
	return 0;
}

int cmd_compare(const struct options *o)
{
	struct margin *margins = arena_zalloc(o->arena, (o->margin_count + 1) * sizeof(*margins));
	struct results r = {0};
	bool judged = true;

	if (o->history)
		return compare_history(o);
	if (o->confidence) {
		log_error("compare: --confidence is of --history (repeats have a confidence of "
			  "their own)");
		return EXIT_CONFIG;
	}
	if (load_results(o, &r) < 0)
		return EXIT_CONFIG;
	for (unsigned i = 0; i < o->margin_count; i++)
		if (parse_margin(o->margins[i], &r.list[0], o->arena, &margins[i]) < 0)
			return EXIT_CONFIG;
	for (unsigned i = 0; i < r.count; i++)
		judged = is_comparable(&r.list[i]) && judged;
	if (!o->quiet)
		print_table(&r);
	for (unsigned i = 1; i < r.count && !o->quiet; i++) {
		warn_settings(&r, i, o->arena);
		warn_tls(&r, i, o->arena);
	}
	if (o->margin_count == 0)
		return EXIT_PASS;
	if (!o->quiet)
		warn_single(&r);
	return judged ? gate(o, &r, margins) : EXIT_INVALID;
}
