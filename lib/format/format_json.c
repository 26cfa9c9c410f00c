// SPDX-License-Identifier: BSD-3-Clause
// The result document again, and its intervals as JSON lines. Path: cold. Main thread.
#include "format/format_writers.h"

#include <errno.h>

#define FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY)

static int put(const json_t *value, FILE *out)
{
	return json_dumpf(value, out, FLAGS) < 0 ? -EIO : 0;
}

int json_write(const struct format_input *in, FILE *out)
{
	return reader_print(in->readers[0], out);
}

int jsonl_write(const struct format_input *in, FILE *out)
{
	struct document_reader *b = in->readers[0];
	const json_t *interval;
	int rc = 0;

	reader_rewind(b);
	while ((interval = reader_next(b))) {
		rc |= put(interval, out);
		fputc('\n', out);
	}
	return rc;
}
