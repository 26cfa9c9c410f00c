// SPDX-License-Identifier: BSD-3-Clause
// Figures to text for people by rows (base/counter.h): tables, and numbers with the unit that fits.
// Knows types, never a counter. Path: cold. Management thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/counter.h"

// "  name  value" lines of every non-zero row, arrays as "name.label"; indent spaces in front.
// Sections and lists inside are indented below their name.
void stats_text(
	const struct counter_section *section, const void *data, unsigned indent, FILE *out);

// Is there anything that stats_text would print?
bool stats_any(const struct counter_section *section, const void *data);

// A value as people read it: ns: "12.3 us"; s: "10.0 s"; per_s: "20.0 k/s"; ratio "1": "0.25 %";
// count: "1 234 567" grouped by thousands with spaces. Three digits that count, but nothing that is
// not 0 is printed as 0. Infinity: "inf", not a number: "-". unit as in struct counter. Return buf;
// room >= 32.
const char *stats_format(double value, const char *unit, char *buf, size_t room);

// Reference: every counter with path, unit and help, as text lines; prefix precedes each path. NAME
// stands for the name of an item, LABEL for a label, "*" for names known only at run time.
void stats_document(const struct counter_section *section, const char *prefix, FILE *out);
