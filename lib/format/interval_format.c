// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "format/interval_format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/nearest.h"
#include "format/format_walk.h"

#define OPTION "--interval-format"

int interval_format_check(const char *text)
{
	const char *open = NULL;

	for (const char *c = text; *c; c++) {
		if ((*c == '{' && open) || (*c == '}' && (!open || c == open + 1)))
			break;
		if (*c == '{' || *c == '}')
			open = *c == '{' ? c : NULL;
		if (c[1] == '\0' && !open)
			return 0;
	}
	log_error(OPTION " %s: not like \"{t_s} {traffic.queries.p99_ns}\", and not json", text);
	return -EINVAL;
}

static void refuse(const char *path, json_t *figures)
{
	struct nearest nearest = nearest_to(path);
	const char *key;
	json_t *value;

	json_object_foreach(figures, key, value) nearest_try(&nearest, key);
	log_error(OPTION " {%s}: no figure of an interval%s%s%s", path,
		nearest.name ? " (did you mean " : "", nearest.name ? nearest.name : "",
		nearest.name ? "?)" : "");
}

// Copies the path in the braces at c, and returns the text after them. NULL: there are no more.
static const char *next_path(const char *c, char path[WALK_PATH])
{
	size_t len;

	c += strcspn(c, "{");
	if (!*c)
		return NULL;
	len = strcspn(++c, "}");
	snprintf(path, WALK_PATH, "%.*s", (int)len, c);
	return c + len + 1;
}

int interval_format_check_names(const char *text, const struct config *c)
{
	json_t *interval = walk_blank(c, &result_interval_item_section);
	json_t *figures = walk_flat_interval(interval);
	char path[WALK_PATH];
	bool is_count;
	int rc = 0;

	while (rc == 0 && (text = next_path(text, path)))
		if (!walk_interval_knows(interval, path, &is_count)) {
			refuse(path, figures);
			rc = -EINVAL;
		}
	json_decref(figures);
	json_decref(interval);
	return rc;
}

// A label that was never counted is 0; a time among lost transactions is empty.
static void print_figure(
	struct interval_format *f, const char *path, json_t *figures, const json_t *interval)
{
	const json_t *value = json_object_get(figures, path);
	bool is_count = false;
	char text[WALK_PATH];

	if (value)
		fputs(walk_text(value, text, sizeof(text)), f->out);
	else if (walk_interval_knows(interval, path, &is_count))
		fputs(is_count ? "0" : "", f->out);
	else if (!f->told) { // once; the lines are printed without it
		f->told = true;
		refuse(path, figures);
	}
}

static void print_template(struct interval_format *f, const json_t *interval)
{
	json_t *figures = walk_flat_interval(interval);
	char path[WALK_PATH];

	for (const char *c = f->text; c;) {
		fwrite(c, 1, strcspn(c, "{"), f->out);
		c = next_path(c, path);
		if (c)
			print_figure(f, path, figures, interval);
	}
	json_decref(figures);
}

static void print_line(void *ctx, const json_t *line)
{
	struct interval_format *f = ctx;
	char *text;

	if (!json_object_get(line, "t_s") || json_object_get(line, LINE_WARMUP) ||
		json_object_get(line, LINE_LAST))
		return;
	if (strcmp(f->text, "json") == 0) {
		text = run_events_text(line);
		fputs(text, f->out);
		free(text);
	} else {
		print_template(f, line);
	}
	fputc('\n', f->out);
	fflush(f->out);
}

struct run_events_follower interval_format_follower(struct interval_format *f)
{
	return (struct run_events_follower){print_line, .ctx = f};
}
