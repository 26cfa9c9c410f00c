// SPDX-License-Identifier: BSD-3-Clause
// Counters of the server's host (dut.counters): a command that prints them, run before and after
// the measured part, and the differences. Path: cold. Management thread.
#pragma once

#include "base/arena.h"
#include "engine/config/config.h"
#include "engine/result/result.h"

struct tally;

// Begins the first reading. NULL: it cannot begin (logged).
struct tally *tally_start(
	const struct counters_settings *s, const struct clock *c, struct arena *a);
// Is the first reading over?
bool tally_is_ready(const struct tally *t);
// Reads again, and puts the differences into r, which is complete otherwise. t may be NULL.
void tally_stop(struct tally *t, struct arena *a, struct result *r);

// Returns the counters of the text, struct result_dut_counter: lines "name value", "name=value" or
// "name: value", without the rest of a line and lines without a number; or a JSON document, with
// the names of its members joined by dots. They live in a.
struct counter_list tally_parse(const char *text, struct arena *a);
