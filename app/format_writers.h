// SPDX-License-Identifier: BSD-3-Clause
// The writers that format.c has in its table; format.h has their contract. Path: cold. Main thread.
#pragma once

#include "format.h"

int json_write(const struct format_input *in, FILE *out);
int jsonl_write(const struct format_input *in, FILE *out);
int keyval_write(const struct format_input *in, FILE *out);
int csv_write(const struct format_input *in, FILE *out);
int hdr_write(const struct format_input *in, FILE *out);
int hgrm_write(const struct format_input *in, FILE *out);
int dns_metrics_write(const struct format_input *in, FILE *out);
int resperf_write(const struct format_input *in, FILE *out);
int openmetrics_write(const struct format_input *in, FILE *out);
int prometheus_write(const struct format_input *in, FILE *out);
// A run that goes on: what is known of it, and the gauges of its newest interval as
// ddiperf_interval_... b->run is its number; interval is NULL before the first one.
int prometheus_write_live(const struct book *b, const json_t *interval, FILE *out);
int junit_write(const struct format_input *in, FILE *out);
