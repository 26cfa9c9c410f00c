// SPDX-License-Identifier: BSD-3-Clause
// The last part of a report. Path: cold. Main thread.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "engine/result/result.h"

// What limited it, the criteria, and the reasons of the verdict.
void report_reasons(FILE *out, const struct result_verdict *v);

// What was found, in the unit of its figure; room >= 32.
const char *report_criterion_value(const struct result_criterion *c, char *buf, size_t room);

// The last line.
void report_verdict(FILE *out, bool colour, const struct result *result);
