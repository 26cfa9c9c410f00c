// SPDX-License-Identifier: BSD-3-Clause
// The values of a campaign as tables for people and programs, and as a page with a chart.
// Path: cold. Main thread.
#pragma once

#include <stdio.h>

#include "campaign/campaign_journal.h"
#include "engine/series/spread.h"

#define TABLE_AVERAGE UINT32_MAX // instead of an operation: the mean of all

// Values of one figure in the repeats of a cell.
struct campaign_value {
	bool known;           // at least one repeat has a value
	bool failed;          // a criterion failed in some repeat
	bool has;             // the cell has the operation
	uint32_t of;          // repeats with a value
	struct spread spread; // of these, without trimmed values
};

struct campaign_value table_value(
	const struct campaign_journal *j, uint32_t cell, uint32_t column, uint32_t operation);

// why: as in struct campaign_runner.
struct campaign_table {
	const struct campaign_journal *journal;
	const char *const *why;
	const json_t *running; // as of on_step in struct campaign_runner; NULL: none
	const char *verdict;   // so far, or at the end; NULL: none yet
	int code;              // exit code of the campaign; -1: it has not ended
};

enum table_form { TABLE_TEXT, TABLE_MARKDOWN };

void table_put(const struct campaign_table *t, enum table_form form, FILE *out);
void table_put_csv(const struct campaign_table *t, FILE *out);
// Table and progress (docs/formats.md); the caller owns it.
json_t *table_json(const struct campaign_table *t);
// These as one self-contained page. 0, or -EIO.
int table_put_page(const struct campaign_table *t, FILE *out);
// A line about a repeat that has just ended.
void table_put_repeat(const struct campaign_journal *j, uint32_t cell, uint32_t repeat, FILE *out);

// Progress of the campaign, over all repeats.
struct campaign_state {
	uint32_t done;    // repeats with values
	uint32_t missing; // repeats that were tried and have none
	uint32_t invalid; // of these, because of the tester
	uint32_t failed;  // runs that count and failed a criterion
};

struct campaign_state table_state(const struct campaign_table *t);
