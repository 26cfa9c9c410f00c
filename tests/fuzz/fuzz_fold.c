// SPDX-License-Identifier: BSD-3-Clause
// Documents of two parts of a run: any two become one. Up to a NUL the input is the first, behind
// it the second; without one both are the same. Path: tests only.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/result/result_read.h"
#include "engine/result/result_fold.h"
#include "stats/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add(
	const struct result_fold *f, struct result *to, const char *text, double hz, bool *first)
{
	json_t *document = json_loads(text, 0, NULL);
	struct arena *a = arena_new();
	struct result one = {0};
	const char *why;

	if (document && result_read(&result_section, document, &one, a, &why) == 0) {
		result_fold(f, to, &one, hz, *first);
		*first = false;
	}
	arena_free(a);
	json_decref(document);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = calloc(1, size + 2);
	struct arena *a = arena_new();
	struct result sum = {0};
	bool first = true;
	size_t len;

	if (!text)
		abort();
	memcpy(text, data, size);
	len = strlen(text);
	for (enum fold_over over = FOLD_OVER_BOXES; over <= FOLD_OVER_TIME; over++) {
		const struct result_fold f = {over, a, a, 2e9};
		json_t *json;

		memset(&sum, 0, sizeof(sum));
		first = true;
		add(&f, &sum, text, 2e9, &first);
		add(&f, &sum, len < size ? text + len + 1 : text, 3e9, &first);
		result_derive(&f, &sum);
		json = stats_json(&result_section, &sum);
		free(json_dumps(json, 0));
		json_decref(json);
	}
	arena_free(a);
	free(text);
	return 0;
}
