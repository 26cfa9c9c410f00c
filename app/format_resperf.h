// SPDX-License-Identifier: BSD-3-Clause
// The rows of resperf's plot data. Path: cold. Main thread.
#pragma once

#include <stdbool.h>

#include "book.h"

struct resperf_row {
	double middle_s, length_s;
	double due_per_s, sent_per_s;
	double answered, failed, time_ns; // of the queries that were due in it; time: the sum
	double connections, handshakes,
		handshake_ns; // that were accepted; those timed, and the sum
};

// The next interval of the book in which sending did not end; false: that was the last one.
bool resperf_next(struct book *b, struct resperf_row *r);
