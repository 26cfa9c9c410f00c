// SPDX-License-Identifier: BSD-3-Clause
// /proc/stat and /proc/PID/stat, see proc(5). Path: cold. Any thread.
#include "engine/run/around/cpu.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TEXT_MAX     65536
#define BUSIEST      3
#define WORTH_NAMING 0.05 // of a CPU

// The columns of /proc/stat.
enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL };

static double sum_of(const double columns[CPU_COLUMNS])
{
	double sum = 0;

	for (int i = 0; i < CPU_COLUMNS; i++)
		sum += columns[i];
	return sum;
}

static double used_of(const double columns[CPU_COLUMNS])
{
	return sum_of(columns) - columns[IDLE] - columns[IOWAIT] - columns[STEAL];
}

// Parses the numbers after the name at the beginning of a line.
static bool parse_columns(const char *line, double v[CPU_COLUMNS])
{
	int n = sscanf(line, "%*s %lf %lf %lf %lf %lf %lf %lf %lf", &v[0], &v[1], &v[2], &v[3],
		&v[4], &v[5], &v[6], &v[7]);

	for (int i = 0; i < CPU_COLUMNS; i++) {
		v[i] = i < n ? v[i] : 0;
		if (!(v[i] >= 0) || isinf(v[i]))
			return false;
	}
	return n > IDLE;
}

static void parse_each(const char *line, struct cpu_times *out)
{
	unsigned long cpu = strtoul(line + 3, NULL, 10);
	double v[CPU_COLUMNS];

	out->cpus++;
	if (cpu >= CPU_EACH || !parse_columns(line, v))
		return;
	out->each[cpu].used = used_of(v);
	out->each[cpu].total = sum_of(v);
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
			found = parse_columns(line, out->all);
		else if (isdigit((unsigned char)line[3]))
			parse_each(line, out);
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

// Within 0 to 1: counters of the kernel can go back a little.
static double share(double part, double total)
{
	return total > 0 ? fmin(fmax(part / total, 0), 1) : NAN;
}

struct result_cpu_use cpu_use(const struct cpu_times *from, const struct cpu_times *to)
{
	struct result_cpu_use out = {.busiest_used = NAN};
	double v[CPU_COLUMNS], total;

	for (int i = 0; i < CPU_COLUMNS; i++)
		v[i] = to->all[i] - from->all[i];
	total = sum_of(v);
	out.used = share(used_of(v), total);
	out.user = share(v[USER] + v[NICE], total);
	out.system = share(v[SYSTEM], total);
	out.irq = share(v[IRQ], total);
	out.softirq = share(v[SOFTIRQ], total);
	out.steal = share(v[STEAL], total);
	for (unsigned i = 0; i < CPU_EACH; i++) {
		double used = share(to->each[i].used - from->each[i].used,
			to->each[i].total - from->each[i].total);

		if (isnan(used) || used <= out.busiest_used)
			continue;
		out.busiest_used = used;
		out.busiest = i;
	}
	return out;
}

double cpu_demand_us(double used, unsigned cpus, double per_s)
{
	return per_s > 0 ? used * cpus * 1e6 / per_s : NAN;
}

// --- processes ---

bool cpu_user_parse(const char *line, struct cpu_user *out)
{
	const char *open = strchr(line, '('), *close = strrchr(line, ')');
	unsigned long long user, system;
	size_t n = 0;

	*out = (struct cpu_user){.pid = atoi(line)};
	if (!open || !close || close < open ||
		sscanf(close + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user,
			&system) != 2)
		return false;
	for (const char *c = open + 1; c < close && n + 1 < sizeof(out->name); c++)
		out->name[n++] = *c > 0x20 && *c < 0x7f ? *c : '?';
	out->ticks = user + system;
	return true;
}

void cpu_users_read(struct cpu_users *out)
{
	DIR *processes = opendir("/proc");
	const struct dirent *one;
	struct timespec now;

	out->count = 0;
	while (processes && out->count < CPU_USERS && (one = readdir(processes))) {
		char path[300], line[1024];
		FILE *f;

		if (one->d_name[0] < '1' || one->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/stat", one->d_name);
		f = fopen(path, "re");
		if (f && fgets(line, sizeof(line), f))
			out->count += cpu_user_parse(line, &out->all[out->count]);
		if (f)
			fclose(f);
	}
	if (processes)
		closedir(processes);
	clock_gettime(CLOCK_MONOTONIC, &now);
	out->at_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t ticks_before(const struct cpu_users *from, const struct cpu_user *u)
{
	for (unsigned i = 0; i < from->count; i++)
		if (from->all[i].pid == u->pid && from->all[i].ticks <= u->ticks)
			return from->all[i].ticks;
	return 0;
}

void cpu_busiest(
	const struct cpu_users *from, const struct cpu_users *to, int self, char *text, size_t room)
{
	const struct cpu_user *top[BUSIEST] = {NULL};
	double part[BUSIEST] = {0}, whole = 1e-9 * (double)(to->at_ns - from->at_ns);
	size_t used = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < to->count && whole > 0; i++) {
		const struct cpu_user *u = &to->all[i];
		double of = (double)(u->ticks - ticks_before(from, u)) /
		            (double)sysconf(_SC_CLK_TCK) / whole;
		unsigned at = BUSIEST;

		while (at > 0 && of > part[at - 1])
			at--;
		if (u->pid == self || of < WORTH_NAMING || at == BUSIEST)
			continue;
		memmove(top + at + 1, top + at, (BUSIEST - 1 - at) * sizeof(*top));
		memmove(part + at + 1, part + at, (BUSIEST - 1 - at) * sizeof(*part));
		top[at] = u;
		part[at] = of;
	}
	for (unsigned i = 0; i < BUSIEST && top[i] && used < room; i++)
		used += (size_t)snprintf(text + used, room - used, "%s%s (pid %d) %.0f %%",
			i ? ", " : "", top[i]->name, top[i]->pid, 100 * part[i]);
}
