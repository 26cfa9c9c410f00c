// SPDX-License-Identifier: BSD-3-Clause
// Reads a result document. Nothing in it is trusted. Path: cold. Main thread.
#include "document/document_reader.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "document/document.h"
#include "engine/result/lines.h"
#include "document/running_sum.h"
#include "stats/json.h"
#include "stats/text.h"

#define SCHEMA "ddiperf-result/1"

static int refuse(const struct document_reader *b, const char *why)
{
	log_error("%s: %s", b->file, why);
	return -EINVAL;
}

void reader_take(struct document_reader *b, const char *name, json_t *document)
{
	*b = (struct document_reader){.file = name, .document = document};
	b->intervals = json_incref(json_object_get(document, "intervals"));
	json_object_del(document, "intervals");
}

// Returns the next line as an object; NULL: the end of the file, or the remains of a killed run.
static json_t *read_line(struct document_reader *b)
{
	json_t *line;

	if (getline(&b->line, &b->line_room, b->part) < 0)
		return NULL;
	line = json_loads(b->line, 0, NULL);
	if (json_is_object(line))
		return line;
	json_decref(line);
	return NULL;
}

static int open_document(struct document_reader *b)
{
	json_error_t e;

	rewind(b->part);
	if (fgetc(b->part) == EOF)
		return refuse(b, ferror(b->part) ? strerror(errno) : "the file is empty");
	rewind(b->part);
	b->document = json_loadf(b->part, 0, &e);
	if (!b->document) {
		log_error("%s:%d:%d: not JSON: %s", b->file, e.line, e.column, e.text);
		return -EINVAL;
	}
	if (strcmp(document_text(b->document, "schema"), SCHEMA) != 0) {
		json_decref(b->document);
		return refuse(b, "not a result (\"schema\": \"" SCHEMA "\" is missing)");
	}
	reader_take(b, b->file, b->document);
	return 0;
}

// Returns the last run that has begun in the lines of the part; 0: these are no such lines. *begin:
// its description, and its verdict if it has ended.
static uint64_t last_run(struct document_reader *b, json_t **begin)
{
	uint64_t run = 0;
	json_t *line;

	*begin = NULL;
	rewind(b->part);
	while ((line = read_line(b))) {
		const json_t *number = json_object_get(line, LINE_BEGIN);

		if (number) {
			run = (uint64_t)json_integer_value(number);
			json_decref(*begin);
			*begin = json_incref(json_object_get(line, "result"));
		} else if (json_object_get(line, LINE_END)) {
			json_object_update(*begin, json_object_get(line, "result"));
		}
		json_decref(line);
		if (!run)
			break;
	}
	return run;
}

static int open_part(struct document_reader *b)
{
	const json_t *interval;
	struct running_sum sum;

	b->run = last_run(b, &b->document);
	if (!b->run || strcmp(document_text(b->document, "schema"), SCHEMA) != 0) {
		json_decref(b->document);
		free(b->line);
		return -EINVAL;
	}
	reader_rewind(b);
	running_sum_begin(&sum, b);
	while ((interval = reader_next(b)))
		running_sum_add(&sum, interval);
	running_sum_end(&sum);
	reader_rewind(b);
	return 0;
}

// Opens a file, or a copy of a pipe, which cannot be read twice. Returns NULL with errno set.
static FILE *open_file(const char *file)
{
	FILE *f = fopen(file, "re"), *copy;
	char part[65536];
	size_t len;

	if (!f || fseek(f, 0, SEEK_CUR) == 0)
		return f;
	copy = tmpfile();
	while (copy && (len = fread(part, 1, sizeof(part), f)) > 0)
		if (fwrite(part, 1, len, copy) != len)
			break;
	if (copy && (ferror(f) || ferror(copy) || fflush(copy) != 0)) {
		fclose(copy);
		copy = NULL;
	}
	fclose(f);
	return copy;
}

int reader_open(struct document_reader *b, const char *file)
{
	FILE *f = open_file(file);
	int rc;

	*b = (struct document_reader){.file = file, .part = f, .opened = true};
	if (!f)
		return refuse(b, strerror(errno));
	if (open_part(b) == 0)
		return 0;
	*b = (struct document_reader){.file = file, .part = f};
	rc = open_document(b);
	fclose(f);
	b->part = NULL;
	return rc;
}

void reader_of_run(struct document_reader *b, json_t *document, FILE *part, uint64_t run)
{
	*b = (struct document_reader){
		.file = "the result", .document = document, .part = part, .run = run};
	json_object_del(document, "intervals");
	reader_rewind(b);
}

// --- intervals from lines ---

static double number_or_0(const json_t *in, const char *path)
{
	double value = document_number(in, path);

	return isfinite(value) ? value : 0;
}

// Adds replies to requests that were due in the interval of that item, with their latencies' sum.
static void due_add(json_t *item, double answered, double failed, double time_ns)
{
	json_t *due = json_object_get(item, "by_due");
	double before = number_or_0(due, "answered") + number_or_0(due, "failed");
	double sum = time_ns + before * number_or_0(due, "mean_ns");

	answered += number_or_0(due, "answered");
	failed += number_or_0(due, "failed");
	json_object_set_new(due, "answered", json_integer((json_int_t)document_whole(answered)));
	json_object_set_new(due, "failed", json_integer((json_int_t)document_whole(failed)));
	json_object_set_new(due, "mean_ns", stats_number("mean_ns", sum / (answered + failed)));
}

// Returns the interval in the window that is `back` numbers before the newest, or holds that
// number, or is the oldest.
static json_t *interval_before(struct document_reader *b, double back)
{
	unsigned at = b->first + b->count - 1;
	double number = (double)b->window[at % READER_WINDOW].number;

	while (at > b->first && (double)b->window[(at - 1) % READER_WINDOW].number + back >= number)
		at--;
	return b->window[at % READER_WINDOW].interval;
}

// Moves replies in the window's newest interval to the intervals in which their requests were due.
static void give_back(struct document_reader *b, json_t *interval)
{
	json_t *items = json_object_get(interval, "traffic"), *item, *e;
	size_t n, k;

	json_object_del(interval, LINE_NUMBER);
	json_object_del(interval, LINE_LAST);
	json_object_del(interval, LINE_CRITERIA);
	json_object_del(interval, LINE_INVALID);
	json_array_foreach(items, n, item)
	{
		json_t *earlier = json_incref(json_object_get(item, LINE_EARLIER));

		json_object_del(item, LINE_EARLIER);
		json_array_foreach(earlier, k, e)
		{
			json_t *to = interval_before(b, number_or_0(e, "back"));

			due_add(json_array_get(json_object_get(to, "traffic"), n),
				number_or_0(e, "answered"), number_or_0(e, "failed"),
				number_or_0(e, "time_ns"));
		}
		json_decref(earlier);
	}
}

// Is the line an interval of the measured part?
static bool is_measured(const json_t *line)
{
	static const char *const others[] = {
		LINE_BEGIN, LINE_TRIAL, LINE_ORDER, LINE_END, LINE_WARMUP};
	bool any = false;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		any |= json_object_get(line, others[i]) != NULL;
	return !any;
}

// Reads another interval of the run into the window. Returns false if there is none.
static bool look_ahead(struct document_reader *b)
{
	json_t *line;

	while ((line = read_line(b))) {
		const json_t *begin = json_object_get(line, LINE_BEGIN);
		unsigned at = (b->first + b->count) % READER_WINDOW;

		if (begin)
			b->ours = (uint64_t)json_integer_value(begin) == b->run;
		if (begin || !b->ours || !is_measured(line)) {
			json_decref(line);
			continue;
		}
		b->window[at].interval = line;
		b->window[at].number = document_whole(number_or_0(line, LINE_NUMBER));
		b->count++;
		give_back(b, line);
		return true;
	}
	return false;
}

static const json_t *next_line(struct document_reader *b)
{
	json_decref(b->given);
	b->given = NULL;
	while (b->count < READER_WINDOW && look_ahead(b))
		;
	if (b->count == 0)
		return NULL;
	b->given = b->window[b->first].interval;
	b->first = (b->first + 1) % READER_WINDOW;
	b->count--;
	return b->given;
}

static void forget_lines(struct document_reader *b)
{
	json_decref(b->given);
	for (; b->count; b->count--, b->first = (b->first + 1) % READER_WINDOW)
		json_decref(b->window[b->first].interval);
	b->given = NULL;
	b->ours = false;
}

// --- both kinds ---

const json_t *reader_next(struct document_reader *b)
{
	const json_t *interval;

	if (b->part)
		return next_line(b);
	do
		interval = json_array_get(b->intervals, b->next++);
	while (interval && !json_is_object(interval));
	return interval;
}

void reader_rewind(struct document_reader *b)
{
	b->next = 0;
	forget_lines(b);
	if (b->part)
		rewind(b->part);
}

void reader_close(struct document_reader *b)
{
	forget_lines(b);
	free(b->line);
	if (b->opened && b->part)
		fclose(b->part);
	json_decref(b->document);
	json_decref(b->intervals);
}

// The intervals are the last member, a line each.
int reader_print(struct document_reader *b, FILE *f)
{
	char *text = json_dumps(b->document, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
	const char *before = "\n    ";
	const json_t *interval;
	bool ok;

	if (!text)
		return -ENOMEM;
	ok = fprintf(f, "%.*s,\n  \"intervals\": [", (int)(strrchr(text, '\n') - text), text) > 0;
	free(text);
	reader_rewind(b);
	for (; ok && (interval = reader_next(b)); before = ",\n    ")
		ok = fputs(before, f) >= 0 &&
		     json_dumpf(interval, f, JSON_COMPACT | JSON_REAL_PRECISION(15)) == 0;
	return ok && fputs("\n  ]\n}\n", f) >= 0 ? 0 : -EIO;
}

static int put_book(void *ctx, FILE *out)
{
	return reader_print(ctx, out);
}

int reader_write(struct document_reader *b, const char *option, const char *path, bool is_private)
{
	return document_write_by(option, path, &(struct document_writer){put_book, b, is_private});
}

json_t *document_named(const json_t *list, const char *path, const char *text)
{
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		if (strcmp(document_text(one, path), text) == 0)
			return one;
	}
	return NULL;
}

static double term_of(const json_t *in, const char *text)
{
	if (isdigit((unsigned char)*text))
		return strtod(text, NULL);
	return json_is_true(document_at(in, text)) ? 1 : number_or_0(in, text);
}

double document_computed(const json_t *in, const char *expression)
{
	char words[256], *rest, *sign, *word;
	double value, other;

	snprintf(words, sizeof(words), "%s", expression);
	word = strtok_r(words, " ", &rest);
	value = word ? term_of(in, word) : 0;

	while ((sign = strtok_r(NULL, " ", &rest)) && (word = strtok_r(NULL, " ", &rest))) {
		other = term_of(in, word);
		value = *sign == '+'   ? value + other
		        : *sign == '-' ? value - other
		        : *sign == '*' ? value * other
		        : other != 0   ? value / other
		                       : 0;
	}
	return value;
}

static bool fill_figure(void *ctx, const char *name, FILE *out)
{
	const char *format = strchr(name, ':');
	bool is_shown = isalnum((unsigned char)*name), is;
	char expression[256];
	const json_t *text;
	double value;

	snprintf(expression, sizeof(expression), "%.*s", (int)strcspn(name, ":"), name + !is_shown);
	text = document_at(ctx, expression);
	value = json_is_string(text) ? 0 : document_computed(ctx, expression);
	is = json_is_string(text) ? *json_string_value(text) : value != 0;
	if (is_shown && json_is_string(text))
		fprintf(out, format ? format + 1 : "%s", json_string_value(text));
	else if (is_shown)
		fprintf(out, format ? format + 1 : "%.0f", value);
	return is != (*name == '!');
}

void document_fill(const json_t *in, const char *template, FILE *out)
{
	stats_fill(&(struct stats_template){fill_figure, (void *)in}, template, out);
}
