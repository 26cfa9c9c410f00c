// SPDX-License-Identifier: BSD-3-Clause
// The writers in the table of format.c; format.h has their contract. Path: cold. Main thread.
#pragma once

#include "format/format.h"

int csv_write(const struct format_input *in, FILE *out);
int hdr_write(const struct format_input *in, FILE *out);
int hgrm_write(const struct format_input *in, FILE *out);
int dns_metrics_write(const struct format_input *in, FILE *out);
const char *dns_metrics_unfit(const struct config *c);
int resperf_write(const struct format_input *in, FILE *out);
const char *resperf_unfit(const struct config *c);
int openmetrics_write(const struct format_input *in, FILE *out);
int prometheus_write(const struct format_input *in, FILE *out);

#define PROMETHEUS_TYPE "text/plain; version=0.0.4; charset=utf-8"

// A run in progress.
struct prometheus_run {
	const char *id; // label of all samples; NULL: none
	const struct document_reader
		*reader;        // its figures so far; reader->run is its number in the series
	const json_t *interval; // the newest one; NULL: none has ended
};

// Gauges of the newest intervals are ddiperf_interval_...
int prometheus_write_live(const struct prometheus_run *runs, unsigned count, FILE *out);
int junit_write(const struct format_input *in, FILE *out);
