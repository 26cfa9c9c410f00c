// SPDX-License-Identifier: BSD-3-Clause
// The formats of a result, one row each. `ddiperf report --format` and the files of `output:` are
// walks over this table. A format is made from readers only, so a run that has just ended and a
// file give the same text. Path: cold. Main thread.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "document/document_reader.h"
#include "engine/config/config.h"

struct format_input {
	struct document_reader *const *readers;
	unsigned count;        // 1, unless the format takes several
	const char *select;    // --select; NULL: not given
	char units;            // --units; 0: not given
	const json_t *history; // entries (history.h); NULL: not given
};

struct format {
	const char *name;
	const char *help; // one line, no full stop
	// Returns 0, or -errno with the reason logged. The caller checks out for errors. Intervals
	// are read one after the other, and from the first again where needed.
	int (*write)(const struct format_input *in, FILE *out);
	bool several;              // takes several results
	bool selects;              // takes --select
	const char *const *charts; // names that --select takes, NULL-terminated; NULL: figures
	bool series;               // made of the intervals of one run, which a search does not have
	// Returns why a run of this file cannot have the format, known before it; NULL: it can.
	const char *(*unfit)(const struct config *c);
	const char *(*file)(const struct output_settings *o); // its file in `output:`; NULL: none
	bool live; // that file is written while the run is in progress (stream.h), not by write
};

extern const struct format formats[];
extern const unsigned format_count;

const struct format *format_find(const char *name); // NULL: none, which was logged
// Returns the format that the suffix of a file names, as in "page.html"; NULL: none.
const struct format *format_of_file(const char *path);

// "keyval, csv, ... or junit", for messages and help.
const char *format_names(void);
