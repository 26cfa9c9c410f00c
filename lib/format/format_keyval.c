// SPDX-License-Identifier: BSD-3-Clause
// Lines of NAME=VALUE, for scripts. Path: cold. Main thread.
#include "format/format_writers.h"

#include "base/arena.h"
#include "format/format_select.h"

int keyval_write(const struct format_input *in, FILE *out)
{
	struct arena *a = arena_new();
	struct choice choice;
	int rc = select_figures(in->readers[0], in->select, in->units, a, &choice);

	for (uint32_t i = 0; rc == 0 && i < choice.count; i++)
		for (uint32_t k = 0; k < choice.blocks[i].count; k++)
			fprintf(out, "%s=%s\n", choice.blocks[i].list[k].name,
				choice.blocks[i].list[k].text);
	arena_free(a);
	return rc;
}
