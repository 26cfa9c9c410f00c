// SPDX-License-Identifier: BSD-3-Clause
// Documents of two parts of a run: any two become one. Up to a NUL the input is the first, behind
// it the second; without one both are the same. Path: tests only.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/result/result.h"
#include "merge/merge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct merge m = {.count = 2, .part = {1, 2}, .hz = {2e9, 3e9}};
	char *text = calloc(1, size + 2);
	json_t *parts[2], *sum;
	size_t len;

	if (!text)
		abort();
	memcpy(text, data, size);
	len = strlen(text);
	parts[0] = json_loads(text, 0, NULL);
	parts[1] = len < size ? json_loads(text + len + 1, 0, NULL) : json_incref(parts[0]);
	sum = merge_objects(&m, &result_section, parts);
	free(json_dumps(sum, 0));
	json_decref(sum);
	json_decref(parts[0]);
	json_decref(parts[1]);
	free(text);
	return 0;
}
