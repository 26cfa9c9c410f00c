// SPDX-License-Identifier: BSD-3-Clause
// Chooses the kind of series that a file asks for. Path: cold. Management thread.
#include "engine/series/series.h"

#include "engine/series/series_internal.h"

int series_execute(const struct run_options *o, struct arena *a, struct result *out)
{
	struct series s = {.options = o, .config = o->config, .arena = a};

	if (o->respond_only || (!o->config->search && !o->config->run.repeat))
		return series_plain(&s, out);
	return o->config->search ? series_search(&s, out) : series_repeat(&s, out);
}
