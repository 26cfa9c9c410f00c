// SPDX-License-Identifier: BSD-3-Clause
// Time to read and add up an interval of many boxes: bench_fold RESULT.json PARTS ITEMS. The
// interval is the first one of the result, its first item taken ITEMS times. Path: cold.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/result/result_read.h"
#include "engine/result/result_fold.h"

#define ROUNDS 50
#define PARTS  1024

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	return *(const double *)a < *(const double *)b ? -1
	                                               : *(const double *)a > *(const double *)b;
}

static double median(double *values, unsigned count)
{
	qsort(values, count, sizeof(*values), by_value);
	return values[count / 2];
}

// The text of one interval with so many items.
static char *interval_of(const char *file, unsigned items)
{
	json_t *document = json_load_file(file, 0, NULL);
	json_t *interval = json_array_get(json_object_get(document, "intervals"), 0);
	json_t *item = json_array_get(json_object_get(interval, "traffic"), 0), *all = json_array();
	char name[32], *text;

	for (unsigned i = 0; item && i < items; i++) {
		json_t *copy = json_deep_copy(item);

		snprintf(name, sizeof(name), "item%u", i);
		json_object_set_new(copy, "name", json_string(name));
		json_array_append_new(all, copy);
	}
	json_object_set_new(interval, "traffic", all);
	text = item ? json_dumps(interval, JSON_COMPACT) : NULL;
	json_decref(document);
	return text;
}

static void fold_all(json_t *const *at, unsigned parts)
{
	struct arena *a = arena_new();
	const struct result_fold f = {FOLD_OVER_BOXES, a, a, 2e9};
	struct result_interval sum = {0};
	const char *why;

	for (unsigned k = 0; k < parts; k++) {
		struct result_interval one = {0};

		if (result_read(&result_interval_section, at[k], &one, a, &why) == 0)
			result_fold_interval(&f, &sum, &one, 2e9 + k, k == 0);
	}
	result_derive_interval(&f, &sum);
	arena_free(a);
}

int main(int argc, char **argv)
{
	unsigned parts = argc > 2 ? (unsigned)atoi(argv[2]) : 64;
	char *text =
		argc > 1 ? interval_of(argv[1], argc > 3 ? (unsigned)atoi(argv[3]) : 10) : NULL;
	json_t *at[PARTS];
	double parse[ROUNDS], fold[ROUNDS], begin;

	if (!text || parts > PARTS) {
		fprintf(stderr, "usage: bench_fold RESULT.json [PARTS [ITEMS]]\n");
		return 2;
	}
	for (unsigned n = 0; n < ROUNDS; n++) {
		begin = now_ms();
		for (unsigned k = 0; k < parts; k++)
			at[k] = json_loads(text, 0, NULL);
		parse[n] = now_ms() - begin;
		begin = now_ms();
		fold_all(at, parts);
		fold[n] = now_ms() - begin;
		for (unsigned k = 0; k < parts; k++)
			json_decref(at[k]);
	}
	printf("%u parts, %zu bytes each: parse %.2f ms, read and add up %.2f ms\n", parts,
		strlen(text), median(parse, ROUNDS), median(fold, ROUNDS));
	free(text);
	return 0;
}
