// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "format/svg_chart.h"

#include <math.h>
#include <string.h>

#define LEFT   76
#define RIGHT  (SVG_WIDTH - 28)
#define ABOVE  52 // title and legend
#define BELOW  48 // tick labels and the name of the axis
#define HEIGHT (SVG_CHART_HEIGHT - ABOVE - BELOW)
#define TICKS  6
#define CROSS  "M%.1f %.1fl6 6m0-6l-6 6"
#define LETTER 6.6 // width of a character of the legend, at most

void svg_text(FILE *out, const char *text)
{
	for (const char *c = text; *c; c++)
		switch (*c) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\xef': // U+FFFE and U+FFFF are no characters of XML
			if (c[1] == '\xbf' && (c[2] == '\xbe' || c[2] == '\xbf')) {
				fputc('?', out);
				c += 2;
				break;
			}
			fputc(*c, out);
			break;
		default:
			fputc((unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c, out);
		}
}

double svg_percentile(double share)
{
	return -log10(1 - share);
}

static bool is_log(const struct svg_axis *a)
{
	return a->kind == SVG_NS;
}

// Returns the step of a linear axis: 1, 2 or 5 times a power of ten.
static double step_of(const struct svg_axis *a)
{
	double raw = (a->most - a->least) / TICKS, power;

	if (!(raw > 0))
		return 1;
	power = pow(10, floor(log10(raw)));
	return raw / power <= 1   ? power
	       : raw / power <= 2 ? 2 * power
	       : raw / power <= 5 ? 5 * power
	                          : 10 * power;
}

// Widens an axis to whole ticks.
static void widen(struct svg_axis *a)
{
	double step;

	if (is_log(a)) {
		a->least = a->least > 0 && isfinite(a->least) ? a->least : 1e3;
		a->most = a->most > a->least && isfinite(a->most) ? a->most : a->least;
		a->least = pow(10, floor(log10(a->least)));
		a->most = pow(10, fmax(ceil(log10(a->most)), log10(a->least) + 1));
		return;
	}
	if (a->kind == SVG_PERCENTILE)
		return;
	if (a->from_zero)
		a->least = fmin(a->least, 0);
	if (!isfinite(a->least))
		a->least = 0;
	if (!(a->most > a->least) || !isfinite(a->most))
		a->most = a->least + (a->kind == SVG_SHARE ? 0.01 : 1);
	step = step_of(a);
	a->least = floor(a->least / step + 1e-9) * step;
	a->most = ceil(a->most / step - 1e-9) * step;
}

// Returns the place of a value on its axis, 0 to 1.
static double place(const struct svg_axis *a, double value)
{
	if (is_log(a))
		return log(value / a->least) / log(a->most / a->least);
	return (value - a->least) / (a->most - a->least);
}

static double x_of(const struct svg_chart *c, double value)
{
	return LEFT + place(&c->x, value) * (RIGHT - LEFT);
}

static double y_of(const struct svg_chart *c, double value)
{
	return c->top + ABOVE + (1 - place(&c->y, value)) * HEIGHT;
}

// --- ticks

static void put_value(FILE *out, const struct svg_axis *a, double value)
{
	static const char *const prefixes[] = {"", " k", " M", " G"};
	static const char *const times[] = {"ns", "us", "ms", "s"};
	unsigned n = 0;

	if (a->kind == SVG_SHARE) {
		fprintf(out, "%.4g", 100 * value);
		return;
	}
	while (n < 3 && fabs(value) >= 1000 * (1 - 1e-9)) {
		value /= 1000;
		n++;
	}
	if (is_log(a))
		fprintf(out, "%.4g %s", value, times[n]);
	else
		fprintf(out, "%.4g%s", fabs(value) < 1e-12 ? 0 : value, prefixes[n]);
}

static void put_tick(const struct svg_chart *c, bool upright, double value, const char *name)
{
	const struct svg_axis *a = upright ? &c->x : &c->y;
	double at = upright ? x_of(c, value) : y_of(c, value);
	double low = c->top + ABOVE + HEIGHT;

	if (upright)
		fprintf(c->out,
			"<path class=\"g\" d=\"M%.1f %.1fV%.1f\"/><text x=\"%.1f\" y=\"%.1f\" "
			"text-anchor=\"middle\">",
			at, c->top + ABOVE, low, at, low + 16);
	else
		fprintf(c->out,
			"<path class=\"g\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" "
			"text-anchor=\"end\">",
			LEFT, at, RIGHT, LEFT - 6, at + 4);
	if (name)
		fputs(name, c->out);
	else
		put_value(c->out, a, value);
	fputs("</text>\n", c->out);
}

static void put_ticks(const struct svg_chart *c, bool upright)
{
	static const char *const percents[] = {
		"0", "90", "99", "99.9", "99.99", "99.999", "99.9999"};
	const struct svg_axis *a = upright ? &c->x : &c->y;
	double step = step_of(a);

	if (a->kind == SVG_PERCENTILE) {
		for (unsigned i = 0; i < sizeof(percents) / sizeof(percents[0]) && i <= a->most;
			i++)
			put_tick(c, upright, i, percents[i]);
		put_tick(c, upright, svg_percentile(0.5), "50");
	} else if (is_log(a)) {
		for (double v = a->least; v < a->most * 1.01; v *= 10)
			put_tick(c, upright, v, NULL);
	} else {
		for (unsigned i = 0; a->least + i * step < a->most + step / 2 && i < 4 * TICKS; i++)
			put_tick(c, upright, a->least + i * step, NULL);
	}
}

// --- parts

void svg_chart_begin(struct svg_chart *c, FILE *out, double top, const char *title,
	const char *about, struct svg_axis x, struct svg_axis y)
{
	double low = top + ABOVE + HEIGHT;

	*c = (struct svg_chart){out, top, x, y, LEFT};
	widen(&c->x);
	widen(&c->y);
	fputs("<g role=\"img\">\n<title>", out);
	svg_text(out, title);
	fputs("</title>\n<desc>", out);
	svg_text(out, about);
	fprintf(out, "</desc>\n<text class=\"h\" x=\"%d\" y=\"%.1f\">", LEFT, top + 16);
	svg_text(out, title);
	fputs("</text>\n", out);
	put_ticks(c, true);
	put_ticks(c, false);
	fprintf(out, "<path class=\"a\" d=\"M%d %.1fV%.1fH%d\"/>\n", LEFT, top + ABOVE, low, RIGHT);
	fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"middle\">", (LEFT + RIGHT) / 2,
		low + 34);
	svg_text(out, x.label);
	fprintf(out,
		"</text>\n<text transform=\"translate(18 %.1f) rotate(-90)\" "
		"text-anchor=\"middle\">",
		top + ABOVE + HEIGHT / 2.0);
	svg_text(out, y.label);
	fputs("</text>\n", out);
}

static void put_legend_name(struct svg_chart *c, const char *name)
{
	fprintf(c->out, "<text x=\"%.1f\" y=\"%.1f\">", c->legend_x + 26, c->top + 38);
	svg_text(c->out, name);
	fputs("</text>\n", c->out);
	c->legend_x += 42 + LETTER * (double)strlen(name);
}

// Begins a line. name: of its figure; NULL: the text beside it has it.
static void put_stroke(const struct svg_chart *c, struct svg_style s, const char *name)
{
	fprintf(c->out, "<path class=\"l\" stroke=\"%s\"", s.colour);
	if (name) {
		fputs(" aria-label=\"", c->out);
		svg_text(c->out, name);
		fputs("\"", c->out);
	}
	if (s.dash)
		fprintf(c->out, " stroke-dasharray=\"%s\"", s.dash);
	fputs(" d=\"", c->out);
}

void svg_chart_line(struct svg_chart *c, const char *name, struct svg_style s, const double *x,
	const double *y, unsigned count)
{
	bool down = false, any = false, lost = false;

	for (unsigned i = 0; i < count; i++) {
		any |= isfinite(y[i]);
		lost |= isinf(y[i]) != 0;
	}
	put_stroke(c, s, NULL);
	fprintf(c->out, "M%.1f %.1fh20\"/>\n", c->legend_x, c->top + 34);
	put_legend_name(c, name);
	if (any)
		put_stroke(c, s, name);
	for (unsigned i = 0; i < count && any; i++) {
		bool shown = isfinite(y[i]) && !(is_log(&c->y) && y[i] <= 0);
		bool alone = shown && !down && (i + 1 == count || !isfinite(y[i + 1]));

		if (shown)
			fprintf(c->out, "%c%.1f %.1f%s", down ? 'L' : 'M', x_of(c, x[i]),
				y_of(c, y[i]), alone ? "h.1" : "");
		down = shown;
	}
	if (any)
		fputs("\"/>\n", c->out);
	if (lost)
		put_stroke(c, (struct svg_style){s.colour, NULL}, "lost");
	for (unsigned i = 0; i < count && lost; i++)
		if (isinf(y[i]))
			fprintf(c->out, CROSS, x_of(c, x[i]) - 3, y_of(c, c->y.most) - 3);
	if (lost)
		fputs("\"/>\n", c->out);
}

static void put_shape(
	const struct svg_chart *c, const char *colour, enum svg_shape shape, double x, double y)
{
	if (shape == SVG_CROSS)
		fprintf(c->out, "<path class=\"l\" stroke=\"%s\" d=\"" CROSS "\"/>\n", colour,
			x - 3, y - 3);
	else
		fprintf(c->out,
			"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%s\" stroke=\"%s\" fill=\"%s\"/>\n", x,
			y, shape == SVG_RING ? "3.5" : "2.5", colour,
			shape == SVG_RING ? "none" : colour);
}

void svg_chart_point(
	struct svg_chart *c, const char *colour, enum svg_shape shape, double x, double y)
{
	if (isfinite(x))
		put_shape(c, colour, shape, x_of(c, x), y_of(c, isfinite(y) ? y : c->y.most));
}

void svg_chart_legend_point(
	struct svg_chart *c, const char *name, const char *colour, enum svg_shape shape)
{
	put_shape(c, colour, shape, c->legend_x + 10, c->top + 34);
	put_legend_name(c, name);
}

void svg_chart_bound(struct svg_chart *c, bool upright, double value, const char *name)
{
	double at = isfinite(value) ? place(upright ? &c->x : &c->y, value) : -1;

	if (!(at >= 0) || at > 1)
		return;
	if (upright)
		fprintf(c->out,
			"<path class=\"b\" d=\"M%.1f %.1fV%.1f\"/><text x=\"%.1f\" y=\"%.1f\" "
			"text-anchor=\"%s\">",
			x_of(c, value), c->top + ABOVE, c->top + ABOVE + HEIGHT,
			x_of(c, value) + (at > 0.5 ? -4 : 4), c->top + ABOVE + 12,
			at > 0.5 ? "end" : "start");
	else
		fprintf(c->out, "<path class=\"b\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\">",
			LEFT, y_of(c, value), RIGHT, LEFT + 4,
			y_of(c, value) + (at > 0.5 ? 12 : -4));
	svg_text(c->out, name);
	fputs("</text>\n", c->out);
}

void svg_chart_end(struct svg_chart *c)
{
	fputs("</g>\n", c->out);
}
