// SPDX-License-Identifier: BSD-3-Clause
// The figures of all runs in progress as text for Prometheus, each sample with its run's id. Each
// request reads only the lines added since the previous one.
// Path: cold. Threads of libmicrohttpd.
#pragma once

#include <pthread.h>

#include "web/runs.h"

struct api_metered; // a run

struct api_metrics {
	pthread_mutex_t lock; // protects the following
	struct api_metered *runs[RUNS_ACTIVE_MAX];
	unsigned count;
};

// Call only when no thread makes requests any more.
void api_metrics_close(struct api_metrics *m);
