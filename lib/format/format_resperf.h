// SPDX-License-Identifier: BSD-3-Clause
// The rows of resperf's plot data. Path: cold. Main thread.
#pragma once

#include <stdbool.h>

#include "document/document_reader.h"

struct resperf_row {
	double middle_s, length_s;
	double due_per_s, sent_per_s;
	double answered, failed, time_ns; // of the queries that were due in it; time: the sum
	double connections, handshakes,
		handshake_ns; // that were accepted; those timed, and the sum
};

// Intervals that the tester could only collect together become several rows, each with its share.
struct resperf_rows {
	struct document_reader *reader;
	double end_s, every_s;
	unsigned left; // of the interval in row
	struct resperf_row row;
};

struct resperf_rows resperf_begin(struct document_reader *b);
// Puts the next row in which sending did not end into rows->row; false: there is none.
bool resperf_next(struct resperf_rows *rows);
