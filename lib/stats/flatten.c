// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Management thread.
#include "stats/flatten.h"

#include <jansson.h>
#include <stdio.h>

#define NAME_SIZE 256
#define DEPTH_MAX 32

struct walk {
	void (*found)(void *ctx, const char *name, double value);
	void *ctx;
};

static void walk(const struct walk *w, const json_t *at, const char *name, int depth);

static void walk_member(
	const struct walk *w, const json_t *at, const char *name, const char *key, int depth)
{
	char longer[NAME_SIZE];
	int len = snprintf(longer, sizeof(longer), "%s%s%s", name, *name ? "." : "", key);

	if (len < NAME_SIZE && depth < DEPTH_MAX)
		walk(w, at, longer, depth + 1);
}

static void walk(const struct walk *w, const json_t *at, const char *name, int depth)
{
	const char *key;
	json_t *member;
	char index[32];
	size_t i;

	if (json_is_number(at) && *name)
		w->found(w->ctx, name, json_number_value(at));
	json_object_foreach((json_t *)at, key, member) walk_member(w, member, name, key, depth);
	json_array_foreach(at, i, member)
	{
		snprintf(index, sizeof(index), "%zu", i);
		if (i == 0)
			walk(w, member, name, depth);
		else
			walk_member(w, member, name, index, depth);
	}
}

void stats_flatten(
	const char *text, void (*found)(void *ctx, const char *name, double value), void *ctx)
{
	const struct walk w = {found, ctx};
	json_t *all = json_loads(text, 0, NULL);

	walk(&w, all, "", 0);
	json_decref(all);
}
