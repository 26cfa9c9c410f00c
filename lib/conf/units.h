// SPDX-License-Identifier: BSD-3-Clause
// Numbers with units, from text to value and back: rate 20k, duration 250us, size 64KiB, percent
// 0.1%. Path: cold. Any thread.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define UNITS_TEXT_SIZE 32 // room for any of the texts

// All parsers: 0, or -EINVAL with *what set to the allowed form (static text, completes "is not
// ..."), e.g. "a rate (like 500, 20k or 1.5M)". Decimal digits only: no sign, exponent, leading
// zero or blank. Counts, durations and sizes may have a fraction where it makes a whole number of
// the stored unit.
int units_parse_rate(const char *text, double *per_s, const char **what);
int units_parse_count(const char *text, uint64_t *n, const char **what);
int units_parse_duration(const char *text, uint64_t *ns, const char **what);
int units_parse_size(const char *text, uint64_t *bytes, const char **what);
int units_parse_number(const char *text, double *number, const char **what);
int units_parse_percent(const char *text, double *share, const char **what);

// Shortest text that parses back to the same value, without fractions of a unit below 1. Return
// buf. room >= UNITS_TEXT_SIZE. A double that no text gives (infinite, beyond 20 digits) comes as
// %g writes it.
const char *units_format_rate(double per_s, char *buf, size_t room);
const char *units_format_count(uint64_t n, char *buf, size_t room);
const char *units_format_duration(uint64_t ns, char *buf, size_t room);
const char *units_format_size(uint64_t bytes, char *buf, size_t room);
const char *units_format_percent(double share, char *buf, size_t room);
// Formats a number with the digits of a rate, without a unit.
const char *units_format_plain(double number, char *buf, size_t room);
