// SPDX-License-Identifier: BSD-3-Clause
// A campaign: one configuration with lists of settings, on a list of servers, repeated. Its
// settings, their expansion into runs, and the resulting values. Execution is in campaign_run.h,
// files are in campaign_journal.h, tables in campaign_table.h. Path: cold. Main thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/field.h"
#include "crypt/digest.h"
#include "line/options.h"

enum campaign_combine { COMBINE_PRODUCT, COMBINE_ZIP };

// A setting that takes several values in turn.
struct campaign_vary {
	const char *name;
	const char *setting;      // path, or "base": the file. NULL: only for the commands
	struct field_list values; // const char *
};

// A configuration of the server.
struct campaign_point {
	const char *name;
	const char *start, *stop; // commands; NULL: none
	const char *base;         // replaces the campaign's; NULL: the campaign's
	struct field_list set;    // const char *, "PATH=VALUE"
	struct field_list only;   // const char *, "NAME=VALUE" of varied settings
};

struct campaign_operation {
	const char *name;
	struct field_list set;
	const char *before;       // command; NULL: none
	const char *until;        // command that succeeds once the operation is over; NULL: none
	struct field_list points; // const char *; empty: all
};

struct campaign_column {
	const char *name;
	const char *figure; // a CAMPAIGN_* figure, or as in format_select.h
	const char *per;    // divisor figure; NULL: none
};

// Figures of an operation in addition to its result's.
#define CAMPAIGN_SECONDS "seconds"
#define CAMPAIGN_PER_S   "per_s"

struct campaign_output {
	const char *jsonl; // NULL: NAME.jsonl
	const char *json, *markdown, *csv, *html;
};

struct campaign_settings {
	const char *name; // NULL: base name of the file
	const char *base;
	const char *through; // prefix of each run's command; NULL: none
	struct field_list set;
	struct field_list vary;
	int32_t combine; // enum campaign_combine
	struct field_list points;
	struct field_list operations;
	struct field_list columns;
	uint64_t repeats, trim, attempts;
	double confidence;
	uint64_t timeout_ns; // of each command
	bool average;        // over the operations
	struct campaign_output output;
};

const struct field_section *campaign_section(void);

// A row of the table: a point with a value for each varied setting.
struct campaign_cell {
	const struct campaign_point *point;
	const char **values; // by vary
	const char *base;
};

#define CAMPAIGN_CELLS_MAX 10000

struct campaign {
	struct campaign_settings settings;
	const struct campaign_point *points;
	const struct campaign_vary *vary;
	const struct campaign_column *columns;
	struct campaign_cell *cells;
	uint32_t cell_count;
	// Names of operations in order of appearance; alternatives for different points share a
	// name.
	const char **operations;
	uint32_t operation_count;
	char sha256[DIGEST_HEX]; // of everything that values depend on
	bool confined, commands; // also each of its runs, as of ddiperf run
};

// Read and check the file (the operand), including all files and settings it refers to, and their
// rights if it is confined. NULL after errors, which are in d. The campaign is allocated in
// o->arena.
struct campaign *campaign_load(const struct options *o, struct diag *d);

// Expand the settings into cells, and collect the names of operations; for campaign_load and tests.
// 0, or -EINVAL with errors in d.
int campaign_expand(struct campaign *c, struct arena *a, struct diag *d);

// Operation i for this cell; NULL: the cell has no operation of that name.
const struct campaign_operation *campaign_operation_of(
	const struct campaign *c, const struct campaign_cell *cell, uint32_t i);

// The --set arguments for a run: *count texts.
char **campaign_assignments(const struct campaign *c, const struct campaign_cell *cell,
	const struct campaign_operation *op, struct arena *a, unsigned *count);

// "kea, threads 4"
const char *campaign_cell_name(
	const struct campaign *c, const struct campaign_cell *cell, struct arena *a);
