// SPDX-License-Identifier: BSD-3-Clause
// /proc/stat, see proc(5). Path: cold. Any thread.
#include "engine/run/cpu.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX 65536
#define COLUMNS  8 // user nice system idle iowait irq softirq steal; guests are in user and nice
#define IDLE     3
#define IOWAIT   4

static bool parse_sum(const char *line, struct cpu_times *out)
{
	double v[COLUMNS] = {0};
	int n = sscanf(line, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &v[0], &v[1], &v[2], &v[3],
		&v[4], &v[5], &v[6], &v[7]);

	if (n <= IDLE)
		return false;
	for (int i = 0; i < COLUMNS; i++) {
		if (!(v[i] >= 0) || isinf(v[i]))
			return false;
		out->total += v[i];
		out->busy += i == IDLE || i == IOWAIT ? 0 : v[i];
	}
	return true;
}

bool cpu_parse(const char *text, struct cpu_times *out)
{
	bool found = false;

	*out = (struct cpu_times){0};
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, "cpu", 3) != 0)
			continue;
		if (line[3] == ' ')
			found = parse_sum(line, out);
		else
			out->cpus += isdigit((unsigned char)line[3]) != 0;
	}
	return found && out->cpus;
}

bool cpu_read(struct cpu_times *out)
{
	static char text[TEXT_MAX];
	FILE *f = fopen("/proc/stat", "re");
	size_t len;

	if (!f)
		return false;
	len = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[len] = '\0';
	return cpu_parse(text, out);
}

double cpu_used(const struct cpu_times *from, const struct cpu_times *to)
{
	double total = to->total - from->total;

	return total > 0 ? fmin(fmax((to->busy - from->busy) / total, 0), 1) : NAN;
}

double cpu_demand_us(double used, unsigned cpus, double per_s)
{
	return per_s > 0 ? used * cpus * 1e6 / per_s : NAN;
}
