// SPDX-License-Identifier: BSD-3-Clause
// Selectors in the manner of netperf's omni tests. Path: cold. Main thread.
#include "format/format_select.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/nearest.h"
#include "engine/result/result.h"
#include "format/format_netperf.h"
#include "format/format_walk.h"

#define FILE_MAX (1 << 20) // octets of a file of selectors
#define TEXT_MAX 4096      // of a figure that is a text
#define TRAFFIC  "traffic."

struct selecting {
	const struct document_reader *reader;
	struct arena *arena;
	json_t *flat;
	const char *item; // "traffic.NAME." of the first; "": none
	struct netperf netperf;
};

double select_merit(const struct document_reader *b, char units)
{
	double answer = document_number(b->document, "search.answer");

	if (!json_object_get(b->document, "search"))
		return netperf_throughput(b->document, units).value;
	return isfinite(answer) ? answer : 0;
}

static void choose(struct selecting *s, struct chosen_block *to, const char *name, const char *text)
{
	to->list = arena_grow(s->arena, to->list, to->count, sizeof(*to->list));
	to->list[to->count++] = (struct chosen){name, text};
}

static void choose_value(
	struct selecting *s, struct chosen_block *to, const char *path, const json_t *value)
{
	char buf[TEXT_MAX];

	choose(s, to, arena_strdup(s->arena, path),
		arena_strdup(s->arena, walk_text(value, buf, sizeof(buf))));
}

// Chooses every path that the pattern fits; NULL: all of them.
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
	for (unsigned i = 0; netperf_name(i); i++)
		choose(s, to, netperf_name(i), netperf_text(&s->netperf, netperf_name(i), s->item));
}

// "traffic.NAME.P99_LATENCY": netperf's name for one item of several.
static bool choose_of_item(struct selecting *s, struct chosen_block *to, const char *name)
{
	const char *last = strrchr(name, '.');
	char *item;

	if (!last || !netperf_has(last + 1, true))
		return false;
	item = arena_strdup(s->arena, name);
	item[last + 1 - name] = '\0';
	if (!json_object_get(s->flat, arena_printf(s->arena, "%ssent", item)))
		return false;
	choose(s, to, name, netperf_text(&s->netperf, last + 1, item));
	return true;
}

// Returns the nearest name of a figure; NULL: none is near.
static const char *nearest_figure(json_t *flat, const char *name)
{
	struct nearest nearest = nearest_to(name);
	const char *path;
	json_t *value;

	for (unsigned i = 0; netperf_name(i); i++)
		nearest_try(&nearest, netperf_name(i));
	json_object_foreach(flat, path, value) nearest_try(&nearest, path);
	return nearest.name;
}

static int refuse_selector(struct selecting *s, const char *name)
{
	const char *nearest = nearest_figure(s->flat, name);

	if (netperf_lacks(name)) {
		log_error("%s: %s is a name of netperf for which ddiperf has no figure "
			  "(ddiperf list selectors)",
			s->reader->file, name);
		return -EINVAL;
	}
	log_error("%s: no figure is called %s (%s%s%s--select '?' lists them)", s->reader->file,
		name, nearest ? "did you mean " : "", nearest ? nearest : "", nearest ? "? " : "");
	return -EINVAL;
}

bool select_may_have(
	const struct config *c, const char *name, struct arena *a, const char **nearest)
{
	json_t *blank = walk_blank(c, &result_item_section), *flat;
	const char *last = strrchr(name, '.');
	const char *path = name;
	bool may;

	if (last && netperf_has(last + 1, true)) // "traffic.NAME.P99_LATENCY"
		path = arena_printf(a, "%.*s.sent", (int)(last - name), name);
	may = netperf_has(name, false) || strpbrk(name, "*?") || walk_may_know(blank, path);
	if (!may) {
		flat = walk_flat_document(&(struct document_reader){.document = blank}, true);
		*nearest = nearest_figure(flat, name);
		*nearest = *nearest ? arena_strdup(a, *nearest) : NULL;
		json_decref(flat);
	}
	json_decref(blank);
	return may;
}

static int choose_one(struct selecting *s, struct chosen_block *to, const char *name)
{
	const json_t *value = json_object_get(s->flat, name);
	bool is_count;

	if (netperf_has(name, false))
		choose(s, to, name, netperf_text(&s->netperf, name, s->item));
	else if (value)
		choose_value(s, to, name, value);
	else if (strcmp(name, "all") == 0)
		choose_all(s, to);
	else if (walk_knows(s->reader->document, name, &is_count))
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

static const char *first_item(const struct document_reader *b, struct arena *a)
{
	const char *name =
		document_text(json_array_get(json_object_get(b->document, "traffic"), 0), "name");

	return *name ? arena_printf(a, TRAFFIC "%s.", name) : "";
}

int select_figures(const struct document_reader *b, const char *text, char units, struct arena *a,
	struct choice *out)
{
	json_t *flat = walk_flat_document(b, true);
	struct selecting s = {b, a, flat, first_item(b, a), {b->document, flat, units, a}};
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

void select_list(const struct document_reader *b, FILE *out)
{
	json_t *flat, *value;
	const char *path;

	netperf_list(out);
	if (!b)
		return;
	flat = walk_flat_document(b, true);
	json_object_foreach(flat, path, value) fprintf(out, "%s\n", path);
	json_decref(flat);
}
