// SPDX-License-Identifier: BSD-3-Clause
// Two results side by side, for people. Path: cold. Main thread.
#pragma once

#include "figures.h"

// To standard output: what both are, then a table for each item of traffic.
void compare_print_table(const struct figures *from, const struct figures *to);
