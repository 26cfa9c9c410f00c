// SPDX-License-Identifier: BSD-3-Clause
// Charts of a result as one SVG sheet; struct format (format.h) has the contract. Path: cold. Main
// thread.
#pragma once

#include "format/format.h"

extern const char *const svg_charts[]; // NULL-terminated

int svg_write(const struct format_input *in, FILE *out);
