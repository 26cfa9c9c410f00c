// SPDX-License-Identifier: BSD-3-Clause
// Selectors in the manner of netperf's omni tests, and its names as rows. Path: cold. Main thread.
#include "format_select.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/nearest.h"
#include "engine/result/result.h"
#include "format_walk.h"

#define FILE_MAX (1 << 20) // octets of a file of selectors
#define TEXT_MAX 4096      // of a figure that is a text

// netperf gives latencies in microseconds and shares in percent.
#define US  1e-3
#define PCT 100.0

static const struct alias {
	const char *name;
	const char *path; // "item.": of the first item
	double scale;     // 0: as it is
	const char *unit;
} aliases[] = {
	{"THROUGHPUT", NULL, 1, "Trans/s"},
	{"THROUGHPUT_UNITS", NULL, 0, "text"},
	{"TRANSACTION_RATE", NULL, 1, "Trans/s"},
	{"ELAPSED_TIME", "run.measured_s", 1, "seconds"},
	{"PROTOCOL", "item.protocol", 0, ""},
	{"MIN_LATENCY", "item.latency.response.min_ns", US, "microseconds"},
	{"MAX_LATENCY", "item.latency.response.max_ns", US, "microseconds"},
	{"MEAN_LATENCY", "item.latency.response.mean_ns", US, "microseconds"},
	{"RT_LATENCY", "item.latency.response.mean_ns", US, "usec/tran"},
	{"STDDEV_LATENCY", "item.latency.response.stddev_ns", US, "microseconds"},
	{"P50_LATENCY", "item.latency.response.p50_ns", US, "microseconds"},
	{"P90_LATENCY", "item.latency.response.p90_ns", US, "microseconds"},
	{"P99_LATENCY", "item.latency.response.p99_ns", US, "microseconds"},
	{"LOCAL_SEND_CALLS", "item.sent", 0, "transactions"},
	{"LOCAL_RECV_CALLS", "item.answered", 0, "transactions"},
	{"LOCAL_CPU_UTIL", "cpu.used", PCT, "percent"},
	{"LOCAL_CPU_COUNT", "cpu.cpus", 0, ""},
	{"LOCAL_CPU_METHOD", "cpu.method", 0, ""},
	{"LOCAL_CPU_MODEL", "run.host.cpu", 0, ""},
	{"LOCAL_SD", "cpu.us_per_transaction", 1, "usec/Tran"},
	{"LOCAL_RELEASE", "run.host.kernel", 0, ""},
	{"LOCAL_DRIVER_NAME", "run.host.driver", 0, ""},
	{"REMOTE_CPU_UTIL", "dut.used", PCT, "percent"},
	{"REMOTE_CPU_COUNT", "dut.cpus", 0, ""},
	{"REMOTE_SD", "dut.us_per_transaction", 1, "usec/Tran"},
	{"CONFIDENCE_LEVEL", "confidence.confidence", PCT, "percent"},
	{"CONFIDENCE_INTERVAL", "confidence.width", PCT, "percent"},
	{"CONFIDENCE_ITERATION", "confidence.runs", 0, ""},
	{"COMMAND_LINE", "run.command", 0, ""},
	{"UUID", "run.id", 0, ""},
};

#define ALIASES (sizeof(aliases) / sizeof(aliases[0]))
#define ITEM    "item."
#define TRAFFIC "traffic."

struct selecting {
	const struct book *book;
	struct arena *arena;
	json_t *flat;
	const char *item; // "traffic.NAME." of the first; "": none
};

// Answered transactions per second, over all items.
static double rate_of(const struct book *b)
{
	double sum = 0;
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(b->document, "traffic"), i, item)
	{
		double rate = book_number(item, "answered_per_s");

		sum += isfinite(rate) ? rate : 0;
	}
	return sum;
}

double select_merit(const struct book *b)
{
	double answer = book_number(b->document, "search.answer");

	if (!json_object_get(b->document, "search"))
		return rate_of(b);
	return isfinite(answer) ? answer : 0;
}

static const char *number_text(struct selecting *s, double value)
{
	return isfinite(value) ? arena_printf(s->arena, "%.3f", value) : "";
}

static const char *alias_text(struct selecting *s, const struct alias *al, const char *item)
{
	char buf[TEXT_MAX];
	const char *path = al->path;
	const json_t *value;

	if (!path && al->scale == 0)
		return "Trans/s";
	if (!path)
		return number_text(s, rate_of(s->book));
	if (strncmp(path, ITEM, strlen(ITEM)) == 0)
		path = arena_printf(s->arena, "%s%s", item, path + strlen(ITEM));
	value = json_object_get(s->flat, path);
	if (al->scale != 0)
		return json_is_number(value) ? number_text(s, al->scale * json_number_value(value))
		                             : "";
	return arena_strdup(s->arena, walk_text(value, buf, sizeof(buf)));
}

static const struct alias *alias_find(const char *name)
{
	for (size_t i = 0; i < ALIASES; i++)
		if (strcmp(aliases[i].name, name) == 0)
			return &aliases[i];
	return NULL;
}

static void choose(struct selecting *s, struct chosen_block *to, const char *name, const char *text)
{
	if ((to->count & (to->count - 1)) == 0) { // full: the room is a power of two
		struct chosen *more =
			arena_zalloc(s->arena, (to->count ? 2 * to->count : 1) * sizeof(*more));

		if (to->count)
			memcpy(more, to->list, to->count * sizeof(*more));
		to->list = more;
	}
	to->list[to->count++] = (struct chosen){name, text};
}

static void choose_value(
	struct selecting *s, struct chosen_block *to, const char *path, const json_t *value)
{
	char buf[TEXT_MAX];

	choose(s, to, arena_strdup(s->arena, path),
		arena_strdup(s->arena, walk_text(value, buf, sizeof(buf))));
}

// Every path that the pattern fits; NULL: all of them.
static bool choose_paths(struct selecting *s, struct chosen_block *to, const char *pattern)
{
	uint32_t before = to->count;
	const char *path;
	json_t *value;

	json_object_foreach(s->flat, path, value) if (!pattern || fnmatch(pattern, path, 0) == 0)
		choose_value(s, to, path, value);
	return to->count > before;
}

static void choose_all(struct selecting *s, struct chosen_block *to)
{
	choose_paths(s, to, NULL);
	for (size_t i = 0; i < ALIASES; i++)
		choose(s, to, aliases[i].name, alias_text(s, &aliases[i], s->item));
}

// "traffic.NAME.P99_LATENCY": netperf's name for one item of several.
static bool choose_of_item(struct selecting *s, struct chosen_block *to, const char *name)
{
	const char *last = strrchr(name, '.');
	const struct alias *al = last ? alias_find(last + 1) : NULL;
	char *item;

	if (!al || !al->path || strncmp(al->path, ITEM, strlen(ITEM)) != 0)
		return false;
	item = arena_strdup(s->arena, name);
	item[last + 1 - name] = '\0';
	if (!json_object_get(s->flat, arena_printf(s->arena, "%ssent", item)))
		return false;
	choose(s, to, name, alias_text(s, al, item));
	return true;
}

// NULL: none is near.
static const char *nearest_figure(json_t *flat, const char *name)
{
	struct nearest nearest = nearest_to(name);
	const char *path;
	json_t *value;

	for (size_t i = 0; i < ALIASES; i++)
		nearest_try(&nearest, aliases[i].name);
	json_object_foreach(flat, path, value) nearest_try(&nearest, path);
	return nearest.name;
}

static int refuse_selector(struct selecting *s, const char *name)
{
	const char *nearest = nearest_figure(s->flat, name);

	log_error("%s: no figure is called %s (%s%s%s--select '?' lists them)", s->book->file, name,
		nearest ? "did you mean " : "", nearest ? nearest : "", nearest ? "? " : "");
	return -EINVAL;
}

bool select_may_have(
	const struct config *c, const char *name, struct arena *a, const char **nearest)
{
	json_t *blank = walk_blank(c, &result_item_section), *flat;
	const char *last = strrchr(name, '.');
	const char *path = name;
	bool may;

	if (last && alias_find(last + 1)) // "traffic.NAME.P99_LATENCY"
		path = arena_printf(a, "%.*s.sent", (int)(last - name), name);
	may = alias_find(name) || strpbrk(name, "*?") || walk_may_know(blank, path);
	if (!may) {
		flat = walk_flat_document(&(struct book){.document = blank}, true);
		*nearest = nearest_figure(flat, name);
		*nearest = *nearest ? arena_strdup(a, *nearest) : NULL;
		json_decref(flat);
	}
	json_decref(blank);
	return may;
}

static int choose_one(struct selecting *s, struct chosen_block *to, const char *name)
{
	const struct alias *al = alias_find(name);
	const json_t *value = json_object_get(s->flat, name);
	bool is_count;

	if (al)
		choose(s, to, name, alias_text(s, al, s->item));
	else if (value)
		choose_value(s, to, name, value);
	else if (strcmp(name, "all") == 0)
		choose_all(s, to);
	else if (walk_knows(s->book->document, name, &is_count))
		choose(s, to, name, is_count ? "0" : "");
	else if (!choose_of_item(s, to, name) && !choose_paths(s, to, name))
		return refuse_selector(s, name);
	return 0;
}

static int choose_block(struct selecting *s, char *text, struct chosen_block *to)
{
	char *rest, *name = strtok_r(text, ", \t\r", &rest);
	int rc = 0;

	for (; name && rc == 0; name = strtok_r(NULL, ", \t\r", &rest))
		rc = choose_one(s, to, name);
	return rc;
}

static int choose_blocks(struct selecting *s, char *text, struct choice *out)
{
	char *rest, *one = strtok_r(text, ";\n", &rest);
	int rc = 0;

	for (; one && rc == 0; one = strtok_r(NULL, ";\n", &rest)) {
		struct chosen_block block = {0};

		one[strcspn(one, "#")] = '\0';
		rc = choose_block(s, one, &block);
		if (block.count)
			out->blocks[out->count++] = block;
	}
	return rc;
}

static char *read_selectors(const char *path, struct arena *a)
{
	char *text = arena_zalloc(a, FILE_MAX + 1);
	FILE *f = fopen(path, "r");
	size_t len;

	if (!f) {
		log_error("--select %s: %s", path, strerror(errno));
		return NULL;
	}
	len = fread(text, 1, FILE_MAX, f);
	fclose(f);
	if (len == FILE_MAX || strlen(text) != len) {
		log_error("--select %s: not a file of selectors (text below 1 MiB)", path);
		return NULL;
	}
	return text;
}

static const char *first_item(const struct book *b, struct arena *a)
{
	const char *name =
		book_text(json_array_get(json_object_get(b->document, "traffic"), 0), "name");

	return *name ? arena_printf(a, TRAFFIC "%s.", name) : "";
}

int select_figures(const struct book *b, const char *text, struct arena *a, struct choice *out)
{
	struct selecting s = {b, a, walk_flat_document(b, true), first_item(b, a)};
	struct stat st;
	char *copy = NULL;
	uint32_t room = 1;
	int rc = -EINVAL;

	*out = (struct choice){0};
	if (text)
		copy = stat(text, &st) == 0 && S_ISREG(st.st_mode) ? read_selectors(text, a)
		                                                   : arena_strdup(a, text);
	for (const char *c = copy; c && *c; c++)
		room += *c == ';' || *c == '\n';
	out->blocks = arena_zalloc(a, room * sizeof(*out->blocks));
	if (copy) {
		rc = choose_blocks(&s, copy, out);
	} else if (!text) {
		out->count = 1;
		choose_paths(&s, out->blocks, NULL);
		rc = 0;
	}
	if (rc == 0 && out->count == 0) {
		log_error("--select %s: no selector (--select '?' lists them)", text);
		rc = -EINVAL;
	}
	json_decref(s.flat);
	return rc;
}

void select_list(const struct book *b, FILE *out)
{
	json_t *flat, *value;
	const char *path;

	for (size_t i = 0; i < ALIASES; i++)
		fprintf(out, "%-22s  %-12s  %s\n", aliases[i].name, aliases[i].unit,
			aliases[i].path    ? aliases[i].path
			: aliases[i].scale ? "answered_per_s, the sum of all items"
					   : "the unit of THROUGHPUT");
	if (!b)
		return;
	flat = walk_flat_document(b, true);
	json_object_foreach(flat, path, value) fprintf(out, "%s\n", path);
	json_decref(flat);
}
