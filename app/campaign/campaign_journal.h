// SPDX-License-Identifier: BSD-3-Clause
// The finished runs of a campaign: a file of JSON lines, each written whole, from which a campaign
// continues after any end. Path: cold. Main thread.
#pragma once

#include <jansson.h>

#include "campaign/campaign.h"

// A finished run.
struct campaign_run {
	uint32_t cell, repeat, operation; // indices
	uint32_t pass;                    // attempt at the repeat, from 1
	bool counts;                      // its values are the server's
	bool invalid;                     // by the tester
	bool failed;                      // a criterion
	const char *reason;               // of its verdict; "": none
	double *values;                   // of each column; NAN: it has none
};

struct campaign_journal {
	const struct campaign *campaign;
	struct arena *arena;
	int fd;
	struct campaign_run *runs;
	uint32_t count, room;
};

// Open or begin the file, and read what is there; no other campaign writes it until it is closed. A
// line that a kill has cut short is taken away. 0, or -errno after an error, which was logged;
// -EINVAL: it is no such file, or that of a campaign that measures something else.
int journal_open(struct campaign_journal *j, const struct campaign *c, struct arena *a);
// A finished run, as its line; line stays the caller's. 0, or -errno, which was logged: the file is
// then as it was.
int journal_add(struct campaign_journal *j, const json_t *line);
void journal_close(struct campaign_journal *j);

// The run of an operation in the first attempt at a repeat in which all count; NULL: there is none.
const struct campaign_run *journal_find(
	const struct campaign_journal *j, uint32_t cell, uint32_t repeat, uint32_t operation);
// Is every operation of the repeat known?
bool journal_has(const struct campaign_journal *j, uint32_t cell, uint32_t repeat);

// Attempts at a repeat so far, and those that the tester spoilt. *reason: of the last of these.
struct campaign_attempts {
	uint32_t begun, invalid;
	const char *reason;
};

struct campaign_attempts journal_attempts(
	const struct campaign_journal *j, uint32_t cell, uint32_t repeat);
