// SPDX-License-Identifier: BSD-3-Clause
// The verbs of the program, one file each; main.c holds the table of them. Each returns the exit
// code. Path: cold. Main thread.
#pragma once

#include "options.h"

int cmd_run(const struct options *o);
int cmd_check(const struct options *o);
int cmd_plan(const struct options *o);
int cmd_respond(const struct options *o);
int cmd_doctor(const struct options *o);
int cmd_compare(const struct options *o);
int cmd_list(const struct options *o);
