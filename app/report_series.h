// SPDX-License-Identifier: BSD-3-Clause
// What a person reads of CPU time, a search or repeats: tables, and the sentence of the verdict.
// Path: cold. Main thread.
#pragma once

#include <stdio.h>

#include "engine/result/result.h"

// CPU time of the tester's box and of the server's.
void report_cpu(FILE *out, const struct result *r);

void report_search(FILE *out, const struct result_search *s);
void report_confidence(FILE *out, const struct result_confidence *c);

// "40.1 k/s is the highest traffic.queries.load.rate that meets loss + failed <= 0.50 %"
void report_answer(FILE *out, const struct result_search *s);
