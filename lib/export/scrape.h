// SPDX-License-Identifier: BSD-3-Clause
// The figures of a run in progress, at /metrics for Prometheus: output.prometheus. Counts cover the
// run so far, gauges its newest interval. Path: cold. Main thread. A thread of libmicrohttpd's
// answers, without a capability. It gets finished texts and sees nothing else of the run.
#pragma once

#include <jansson.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "follow/followed_run.h"

struct scrape {
	int fd; // listens
	struct MHD_Daemon *daemon;
	pthread_mutex_t lock;
	char *text; // the answer; under the lock, as its length
	size_t len;
	struct followed_run followed;
	bool changed;         // since the text was made
	uint64_t rendered_ns; // when that was, CLOCK_MONOTONIC
};

// Listens on `place` (addr_parse_listen) and logs it; replies have figures once a run has begun. 0,
// or -errno, which was logged: nothing is open then.
int scrape_open(struct scrape *s, const char *place);

// The functions of a struct run_events_follower; ctx is the struct scrape.
void scrape_line(void *ctx, const json_t *line);
void scrape_tick(void *ctx);
void scrape_close(void *ctx);
