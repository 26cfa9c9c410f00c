// SPDX-License-Identifier: BSD-3-Clause
// Decimal numbers with a suffix, exactly. Digits stay text until the suffix is known, so 0.1% is
// the double next to 0.001 and 1.5ms is 1500000 ns. Not here: limits of a setting. Path: cold. Any
// thread.
#include "conf/units.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX   20
#define WORK_SIZE    48 // room for a text that may turn out too long
#define FRACTION_MAX 9

struct unit {
	const char *suffix;
	uint64_t factor;
};

static const struct unit decimal_units[] = {
	{"", 1}, {"k", 1000}, {"M", 1000000}, {"G", 1000000000}, {NULL, 0}};

static const struct unit time_units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000},
	{"s", 1000000000}, {"m", UINT64_C(60000000000)}, {"h", UINT64_C(3600000000000)},
	{"d", UINT64_C(86400000000000)}, {NULL, 0}};

static const struct unit size_units[] = {
	{"B", 1}, {"KiB", 1u << 10}, {"MiB", 1u << 20}, {"GiB", 1u << 30}, {NULL, 0}};

static const char rate_is[] = "a rate (like 500, 20k or 1.5M)";
static const char count_is[] = "a count (like 500, 100k or 1.5M)";
static const char duration_is[] = "a duration with its unit (like 250us, 20ms or 10s)";
static const char size_is[] = "a size with its unit (like 64KiB or 512MiB)";
static const char number_is[] = "a number (like 99.9)";
static const char percent_is[] = "a percentage with its sign (like 0.1%)";

// The digits without the point, the number of them behind it, and the rest of the text.
struct number {
	char digits[DIGITS_MAX + 1];
	unsigned fraction;
	const char *suffix;
};

static bool number_parse(const char *text, struct number *n)
{
	size_t whole = strspn(text, "0123456789"), fraction = 0;

	if (whole == 0 || (whole > 1 && text[0] == '0'))
		return false;
	n->suffix = text + whole;
	if (text[whole] == '.') {
		fraction = strspn(text + whole + 1, "0123456789");
		if (fraction == 0)
			return false;
		n->suffix += 1 + fraction;
	}
	if (whole + fraction > DIGITS_MAX)
		return false;
	memcpy(n->digits, text, whole);
	memcpy(n->digits + whole, text + whole + (fraction > 0), fraction);
	n->digits[whole + fraction] = 0;
	n->fraction = (unsigned)fraction;
	return true;
}

static const struct unit *unit_find(const struct unit *units, const char *suffix)
{
	for (; units->suffix; units++) {
		if (strcmp(units->suffix, suffix) == 0)
			return units;
	}
	return NULL;
}

// digits * factor / 10^fraction when that is a whole number of 64 bits. 20 digits and 47 bits fit
// in 128.
static bool number_whole(const struct number *n, uint64_t factor, uint64_t *out)
{
	unsigned __int128 value = 0, scale = 1;

	for (const char *p = n->digits; *p; p++)
		value = value * 10 + (unsigned)(*p - '0');
	for (unsigned i = 0; i < n->fraction; i++)
		scale *= 10;
	value *= factor;
	if (value % scale != 0 || value / scale > UINT64_MAX)
		return false;
	*out = (uint64_t)(value / scale);
	return true;
}

// digits * 10^(exponent - fraction), rounded once; without a point, so in any locale.
static double number_real(const struct number *n, int exponent)
{
	char text[DIGITS_MAX + 16];

	snprintf(text, sizeof(text), "%se%d", n->digits, exponent - (int)n->fraction);
	return strtod(text, NULL);
}

static bool number_is_zero(const struct number *n)
{
	return n->digits[strspn(n->digits, "0")] == 0;
}

// A whole number of the first of the units; a bare number only when it is 0 or "" is a unit.
static bool whole_parse(const char *text, const struct unit *units, uint64_t *out)
{
	const struct unit *unit;
	struct number n;

	if (!number_parse(text, &n))
		return false;
	if (n.suffix[0] == 0 && number_is_zero(&n)) {
		*out = 0;
		return true;
	}
	unit = unit_find(units, n.suffix);
	return unit && number_whole(&n, unit->factor, out);
}

int units_parse_rate(const char *text, double *per_s, const char **what)
{
	const struct unit *unit;
	struct number n;

	*what = rate_is;
	if (!number_parse(text, &n))
		return -EINVAL;
	unit = unit_find(decimal_units, n.suffix);
	if (!unit)
		return -EINVAL;
	*per_s = number_real(&n, 3 * (int)(unit - decimal_units));
	return 0;
}

int units_parse_count(const char *text, uint64_t *n, const char **what)
{
	*what = count_is;
	return whole_parse(text, decimal_units, n) ? 0 : -EINVAL;
}

int units_parse_duration(const char *text, uint64_t *ns, const char **what)
{
	*what = duration_is;
	return whole_parse(text, time_units, ns) ? 0 : -EINVAL;
}

int units_parse_size(const char *text, uint64_t *bytes, const char **what)
{
	*what = size_is;
	return whole_parse(text, size_units, bytes) ? 0 : -EINVAL;
}

int units_parse_number(const char *text, double *number, const char **what)
{
	struct number n;

	*what = number_is;
	if (!number_parse(text, &n) || n.suffix[0])
		return -EINVAL;
	*number = number_real(&n, 0);
	return 0;
}

int units_parse_percent(const char *text, double *share, const char **what)
{
	struct number n;

	*what = percent_is;
	if (!number_parse(text, &n))
		return -EINVAL;
	if (strcmp(n.suffix, "%") != 0 && (n.suffix[0] || !number_is_zero(&n)))
		return -EINVAL;
	*share = number_real(&n, -2);
	return 0;
}

// value in this unit, or false when that is below 1 or takes too many digits behind the point.
static bool whole_text(uint64_t value, const struct unit *unit, char *buf, size_t room)
{
	uint64_t rest = value % unit->factor;
	char fraction[FRACTION_MAX + 2] = "";
	unsigned len = 0;

	if (value < unit->factor)
		return false;
	while (rest != 0 && len < FRACTION_MAX) {
		fraction[0] = '.';
		fraction[++len] = (char)('0' + rest * 10 / unit->factor);
		rest = rest * 10 % unit->factor;
	}
	snprintf(buf, room, "%llu%s%s", (unsigned long long)(value / unit->factor), fraction,
		unit->suffix);
	return rest == 0;
}

static const char *whole_format(uint64_t value, const struct unit *units, char *buf, size_t room)
{
	char text[WORK_SIZE];

	snprintf(buf, room, "%llu%s", (unsigned long long)value, units->suffix);
	for (units++; units->suffix; units++) {
		if (whole_text(value, units, text, sizeof(text)) && strlen(text) < strlen(buf))
			snprintf(buf, room, "%s", text);
	}
	return buf;
}

const char *units_format_count(uint64_t n, char *buf, size_t room)
{
	return whole_format(n, decimal_units, buf, room);
}

const char *units_format_duration(uint64_t ns, char *buf, size_t room)
{
	if (ns == 0)
		snprintf(buf, room, "0s");
	else
		whole_format(ns, time_units, buf, room);
	return buf;
}

const char *units_format_size(uint64_t bytes, char *buf, size_t room)
{
	return whole_format(bytes, size_units, buf, room);
}

// The fewest digits that read back as the value: d.ddd * 10^exponent.
static int real_digits(double value, char digits[DIGITS_MAX])
{
	char text[40];
	size_t len = 0;

	for (int precision = 0; precision < 17; precision++) {
		snprintf(text, sizeof(text), "%.*e", precision, value);
		if (strtod(text, NULL) == value)
			break;
	}
	for (const char *p = text; *p && *p != 'e'; p++) {
		if (*p >= '0' && *p <= '9')
			digits[len++] = *p;
	}
	digits[len] = 0;
	return atoi(strchr(text, 'e') + 1);
}

// Put the point behind digit number exponent (0: the first).
static void real_text(const char *digits, int exponent, const char *suffix, char *buf, size_t room)
{
	static const char zeros[] = "00000000000000000000";
	int len = (int)strlen(digits);

	if (exponent < 0)
		snprintf(buf, room, "0.%.*s%s%s", -exponent - 1, zeros, digits, suffix);
	else if (exponent >= len - 1)
		snprintf(buf, room, "%s%.*s%s", digits, exponent - len + 1, zeros, suffix);
	else
		snprintf(buf, room, "%.*s.%s%s", exponent + 1, digits, digits + exponent + 1,
			suffix);
}

// How many digits real_text writes; the suffix takes the thousands.
static bool real_fits(const char *digits, int exponent)
{
	int len = (int)strlen(digits);

	return exponent < DIGITS_MAX && len - exponent <= DIGITS_MAX;
}

static const char *real_format(double value, const struct unit *units, char *buf, size_t room)
{
	char digits[DIGITS_MAX], text[WORK_SIZE];
	int exponent;

	if (!(value > 0 && value <= 1e30)) {
		snprintf(buf, room, "%g", value);
		return buf;
	}
	exponent = real_digits(value, digits);
	snprintf(buf, room, "%.17g", value);
	if (real_fits(digits, exponent))
		real_text(digits, exponent, units->suffix, buf, room);
	for (units++; units->suffix; units++) {
		exponent -= 3;
		if (exponent < 0 || !real_fits(digits, exponent))
			continue;
		real_text(digits, exponent, units->suffix, text, sizeof(text));
		if (strlen(text) < strlen(buf) || strchr(buf, 'e'))
			snprintf(buf, room, "%s", text);
	}
	return buf;
}

const char *units_format_rate(double per_s, char *buf, size_t room)
{
	return real_format(per_s, decimal_units, buf, room);
}

const char *units_format_plain(double number, char *buf, size_t room)
{
	static const struct unit none[] = {{"", 1}, {NULL, 0}};

	return real_format(number, none, buf, room);
}

const char *units_format_percent(double share, char *buf, size_t room)
{
	char digits[DIGITS_MAX];
	int exponent;

	snprintf(buf, room, "%g%%", share * 100);
	if (!(share > 0 && share <= 1e30))
		return buf;
	exponent = real_digits(share, digits) + 2;
	if (real_fits(digits, exponent))
		real_text(digits, exponent, "%", buf, room);
	return buf;
}
