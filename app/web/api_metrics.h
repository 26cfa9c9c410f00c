// SPDX-License-Identifier: BSD-3-Clause
// The figures of all runs in progress as text for Prometheus, each sample with the id of its run.
// What is known of a run grows by the lines since the last question; without one, nothing is read.
// Path: cold. Threads of libmicrohttpd.
#pragma once

#include <pthread.h>

#include "web/runs.h"

struct api_metered; // a run

struct api_metrics {
	pthread_mutex_t lock; // of all that follows
	struct api_metered *runs[RUNS_ACTIVE_MAX];
	unsigned count;
};

// No thread asks any more.
void api_metrics_close(struct api_metrics *m);
