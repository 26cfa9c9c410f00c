// SPDX-License-Identifier: BSD-3-Clause
// CPU time, tables of searches and repeats, and their verdict as a sentence. Path: cold. Main
// thread.
#include "report_series.h"

#include <math.h>
#include <string.h>

#include "stats/text.h"

static const char *value(double v, char *buf, size_t room)
{
	if (isnan(v) || isinf(v))
		snprintf(buf, room, "%s", isnan(v) ? "none" : "-");
	else
		stats_format(v, NULL, buf, room);
	return buf;
}

static const char *rate(double v, char *buf, size_t room)
{
	if (isnan(v))
		snprintf(buf, room, "-");
	else
		stats_format(v, "per_s", buf, room);
	return buf;
}

static void print_peak(FILE *out, const char *name, const struct result_peak *p)
{
	char load[32], answered[32];

	if (p)
		fprintf(out, "  %-10s %s answered at %s\n", name,
			rate(p->answered_per_s, answered, sizeof(answered)),
			value(p->rate, load, sizeof(load)));
}

static void print_cpu(FILE *out, const char *whose, uint64_t cpus, double used, double us)
{
	char share[32], demand[32];

	if (isnan(used))
		return;
	stats_format(used, "1", share, sizeof(share));
	stats_format(1e3 * us, "ns", demand, sizeof(demand));
	fprintf(out, "  %-12s %s of %llu CPUs, %s of CPU for each answer\n", whose, share,
		(unsigned long long)cpus, isnan(us) ? "-" : demand);
}

void report_cpu(FILE *out, const struct result *r)
{
	const struct result_dut_figure *f = r->dut ? r->dut->figures.items : NULL;

	fputs("\ncpu (/proc/stat, measured part)\n", out);
	if (r->cpu)
		print_cpu(out, "tester's box", r->cpu->cpus, r->cpu->used,
			r->cpu->us_per_transaction);
	if (!r->dut)
		return;
	print_cpu(out, "server's box", r->dut->cpus, r->dut->used, r->dut->us_per_transaction);
	for (uint32_t i = 0; i < r->dut->figures.count; i++)
		fprintf(out, "  probe        %s %g\n", f[i].name, f[i].value);
	if (r->dut->failures)
		fprintf(out, "  probe        failed %llu times of %llu\n",
			(unsigned long long)r->dut->failures,
			(unsigned long long)(r->dut->failures + r->dut->samples));
}

void report_search(FILE *out, const struct result_search *s)
{
	const struct result_goal *goals = s->goals.items;
	char answer[32], upper[32], answered[32];

	fprintf(out, "\nsearch: %s over %s, %u trials\n", s->method, s->variable, s->trials.count);
	fprintf(out, "  %-40s %12s %12s %12s  %s\n", "goal", "answer", "not met at", "answered/s",
		"limited by");
	for (uint32_t i = 0; i < s->goals.count; i++)
		fprintf(out, "  %-40s %12s %12s %12s  %s\n", goals[i].goal,
			value(goals[i].answer, answer, sizeof(answer)),
			value(goals[i].upper, upper, sizeof(upper)),
			rate(goals[i].answered_per_s, answered, sizeof(answered)),
			goals[i].limited_by);
	print_peak(out, "peak", s->peak);
	print_peak(out, "collapse", s->collapse);
	if (!isnan(s->knee))
		fprintf(out, "  %-10s p99 leaves its level above %s\n", "knee",
			value(s->knee, answer, sizeof(answer)));
}

void report_answer(FILE *out, const struct result_search *s)
{
	const struct result_goal *goal = s->goals.items;
	char answer[32];

	if (isnan(goal->answer)) {
		fprintf(out, "no %s was found that meets %s", s->variable, goal->goal);
		return;
	}
	fprintf(out, "%s is the highest %s found that meets %s",
		value(goal->answer, answer, sizeof(answer)), s->variable, goal->goal);
	if (strcmp(goal->limited_by, "server") != 0)
		fprintf(out, ", but the server's own limit was not reached");
}

static const char *unit_of(const char *figure)
{
	size_t len = strlen(figure);

	return len > 3 && strcmp(figure + len - 3, "_ns") == 0 ? "ns" : "per_s";
}

static const char *figure(double v, const char *unit, char *buf, size_t room)
{
	if (isinf(v))
		snprintf(buf, room, "any");
	else
		stats_format(v, unit, buf, room);
	return buf;
}

void report_confidence(FILE *out, const struct result_confidence *c)
{
	static const char *const titles[] = {
		"mean", "low", "high", "stddev", "median", "min", "max"};
	const struct result_spread *s = c->figures.items;
	char buf[32];

	fprintf(out, "\nrepeats: %llu, intervals hold the mean with %g %% confidence\n  %-36s",
		(unsigned long long)c->runs, 100 * c->confidence, "");
	for (size_t k = 0; k < sizeof(titles) / sizeof(titles[0]); k++)
		fprintf(out, "%12s", titles[k]);
	fputc('\n', out);
	for (uint32_t i = 0; i < c->figures.count; i++) {
		const double cells[] = {s[i].mean, s[i].low, s[i].high, s[i].stddev, s[i].median,
			s[i].min, s[i].max};

		fprintf(out, "  %-12s%-24s", s[i].item, s[i].figure);
		for (size_t k = 0; k < sizeof(cells) / sizeof(cells[0]); k++)
			fprintf(out, "%12s",
				figure(cells[k], unit_of(s[i].figure), buf, sizeof(buf)));
		fputs(s[i].reached ? "\n" : "  wider than asked for\n", out);
	}
}
