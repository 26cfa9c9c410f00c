// SPDX-License-Identifier: BSD-3-Clause
// Which figures of two results are shown, and how. Path: cold. Main thread.
#include "compare_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "change.h"

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

static const char *interval_text(const struct change *c, const char *unit, char *buf, size_t room)
{
	double scale = strcmp(unit, "1") == 0 ? 100 : c->a != 0 ? 100 / c->a : NAN;

	if (isnan(c->half) || isnan(scale) || c->a == c->b)
		buf[0] = '\0';
	else
		snprintf(buf, room, "  +- %.3g%s", fabs(scale * c->half),
			change_is_noise(c) ? ", within noise" : "");
	return buf;
}

static void print_change(const char *path, const struct change *c)
{
	const char *unit = figures_unit(path);
	char a[32], b[32], difference[32], interval[48];

	if (isnan(c->a) && isnan(c->b))
		return;
	if (c->a == 0 && c->b == 0 && strchr(path, '.'))
		return;
	printf("  %-34s %12s %12s %12s%s\n", path, change_value_text(c->a, unit, a, sizeof(a)),
		change_value_text(c->b, unit, b, sizeof(b)),
		change_difference_text(c->a, c->b, unit, difference, sizeof(difference)),
		interval_text(c, unit, interval, sizeof(interval)));
}

static void print_head(const struct figures *a, const struct figures *b)
{
	const struct figures *both[] = {a, b};

	for (int i = 0; i < 2; i++)
		printf("%c: %s: %s, %s, %s%s\n", "AB"[i], both[i] -> file, both[i] -> name,
			both[i] -> started, both[i] -> status,
			both[i] -> repeats ? ", repeated" : "");
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

void compare_print_table(const struct figures *from, const struct figures *to)
{
	print_head(from, to);
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
