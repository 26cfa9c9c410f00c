// SPDX-License-Identifier: BSD-3-Clause
// A result as ddiperf report reads it, in every format, and as a fleet reads it into the structs
// that it was made of: any JSON ends with a text or a refusal. Up to a NUL the input is the
// document, behind it are selectors. Path: tests only.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/result/result_read.h"
#include "format/format.h"
#include "format/format_select.h"
#include "stats/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static FILE *nowhere;

static void write_as(const struct format *f, json_t *document, const char *select)
{
	struct document_reader reader, *readers = &reader;

	reader_take(&reader, "result", json_deep_copy(document));
	f->write(&(struct format_input){&readers, 1, f->selects ? select : NULL}, nowhere);
	if (f->selects)
		f->write(&(struct format_input){&readers, 1}, nowhere);
	select_merit(&reader, 0);
	reader_close(&reader);
}

static void read_back(const json_t *document)
{
	struct arena *a = arena_new();
	struct result_interval line = {0};
	struct result r = {0};
	const char *why;
	bool warmup;

	if (result_read(&result_section, document, &r, a, &why) == 0)
		json_decref(stats_json(&result_section, &r));
	if (result_read_line(document, &line, &warmup, a, &why) == 0)
		json_decref(stats_json(&result_interval_section, &line));
	arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = calloc(1, size + 2);
	json_t *document;
	size_t len;

	if (!nowhere) {
		log_set_level(LOG_QUIET);
		nowhere = fopen("/dev/null", "w");
		stderr = nowhere; // a sanitizer has the file descriptor
	}
	if (!text || !nowhere)
		abort();
	memcpy(text, data, size);
	len = strlen(text);
	document = json_loads(text, 0, NULL);
	if (json_is_object(document))
		for (unsigned i = 0; i < format_count; i++)
			write_as(&formats[i], document, text + len + 1);
	if (json_is_object(document))
		read_back(document);
	json_decref(document);
	free(text);
	return 0;
}
