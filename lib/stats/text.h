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

// A struct and its rows.
struct stats_figures {
	const struct counter_section *section;
	const void *data; // NULL: all its figures are absent
};

// The template with its figures, each by its path in braces (stats/lookup.h; texts have paths,
// too): "{sent} sent, loss {loss}\n". A number is printed with its unit, an absent text as "-".
// {PATH:10} and {PATH:-10} are as wide as that, right and left; {PATH:%.3g} is the number as printf
// has it. Beside the `count` of a distribution, a time is "-" where too few values were counted to
// know it, and "lost" where it is infinite.
// "<, {late} late>" is printed if none of its figures is 0, false or absent. {?PATH} and {!PATH}
// print nothing; where they are, they decide alone: the figure is there, or is not.
void stats_print(struct stats_figures in, const char *template, FILE *out);

// The struct of a section inside; data NULL: it is absent.
struct stats_figures stats_inside(struct stats_figures in, const char *path);
// Element i of a list at a path of sections; data NULL: it has no more.
struct stats_figures stats_element(struct stats_figures in, const char *path, uint32_t i);
// The template once for each element.
void stats_print_list(struct stats_figures in, const char *path, const char *template, FILE *out);

// The walk over a template, for other figures. figure: prints the figure in the braces; false: it
// is 0 or absent.
struct stats_template {
	bool (*figure)(void *ctx, const char *name, FILE *out);
	void *ctx;
};
void stats_fill(const struct stats_template *t, const char *template, FILE *out);

// A time of a distribution: "lost" if it is infinite, "-" if any is not set. room >= 32.
const char *stats_time(double ns, bool any, char *buf, size_t room);

// Texts to print at once: they share 16 buffers, used in turn. Management thread.
const char *stats_shown(double value, const char *unit);
const char *stats_shown_time(double ns, bool any);
const char *stats_shown_rate(double per_s); // "20.0 k", below a header with the unit
// As by printf, up to 63 characters.
const char *stats_shown_text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

// Reference: every counter with path, unit and help, as text lines; prefix precedes each path. NAME
// stands for the name of an item, LABEL for a label, "*" for names known only at run time.
void stats_document(const struct counter_section *section, const char *prefix, FILE *out);
