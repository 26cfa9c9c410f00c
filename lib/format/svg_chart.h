// SPDX-License-Identifier: BSD-3-Clause
// A chart as SVG: axes with ticks and units, lines, points, bounds and a legend. Knows no result.
// The same input gives the same text. Path: cold. Main thread.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#define SVG_WIDTH        860 // of a sheet
#define SVG_CHART_HEIGHT 300

enum svg_kind {
	SVG_NUMBER,
	SVG_SHARE,     // of 1, shown in percent
	SVG_NS,        // a time, on a logarithmic axis
	SVG_PERCENTILE // values of svg_percentile
};

struct svg_axis {
	const char *label; // with the unit
	enum svg_kind kind;
	double least, most; // of the values; widened to whole ticks
	bool from_zero;     // of SVG_NUMBER
};

struct svg_chart {
	FILE *out;
	double top;
	struct svg_axis x, y;
	double legend_x; // place of the next entry
};

struct svg_style {
	const char *colour;
	const char *dash; // NULL: a whole line
};

// Prints text with the characters escaped that mean something in XML; others that XML does not
// allow become "?".
void svg_text(FILE *out, const char *text);

// Returns the place of a percentile (share, below 1) on an axis where each nine is as wide.
double svg_percentile(double share);

// title and about describe the chart, too, to those who do not see it. top: of SVG_CHART_HEIGHT.
void svg_chart_begin(struct svg_chart *c, FILE *out, double top, const char *title,
	const char *about, struct svg_axis x, struct svg_axis y);
// A line through count points. NAN: it is broken there; INFINITY: a cross at the upper edge.
void svg_chart_line(struct svg_chart *c, const char *name, struct svg_style s, const double *x,
	const double *y, unsigned count);
enum svg_shape { SVG_RING, SVG_CROSS, SVG_DOT };
void svg_chart_point(
	struct svg_chart *c, const char *colour, enum svg_shape shape, double x, double y);
void svg_chart_legend_point(
	struct svg_chart *c, const char *name, const char *colour, enum svg_shape shape);
// A line across the whole chart with a name. upright: at x = value, else at y = value. Outside of
// the axes: nothing.
void svg_chart_bound(struct svg_chart *c, bool upright, double value, const char *name);
void svg_chart_end(struct svg_chart *c);
