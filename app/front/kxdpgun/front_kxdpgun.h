// SPDX-License-Identifier: BSD-3-Clause
// The JSON lines of ddiperf as kxdpgun. Path: cold. Main thread.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "document/document_reader.h"
#include "front/front_as.h"

struct kxdpgun_json {
	double period_s; // of -S; 0: no lines before the end
	// From the first line on:
	json_int_t runid, started_ns; // by the wall clock
};

// The header. info: its additional_info.
void kxdpgun_json_begin(struct kxdpgun_json *j, const struct as_run *r, const json_t *info);
// type: "stats_periodic" or "stats_sum", of the item between two moments of the run. replies: they
// are counted.
void kxdpgun_json_stats(const struct kxdpgun_json *j, const char *type, const json_t *item,
	double since_s, double until_s, bool replies);
void kxdpgun_json_thread(const struct kxdpgun_json *j, const json_t *item, bool replies);
