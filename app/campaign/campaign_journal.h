// SPDX-License-Identifier: BSD-3-Clause
// The finished runs of a campaign: a file of JSON lines, each written atomically, from which a
// campaign can resume after any interruption. Path: cold. Main thread.
#pragma once

#include <jansson.h>

#include "campaign/campaign.h"

// A finished run.
struct campaign_run {
	uint32_t cell, repeat, operation; // indices
	uint32_t pass;                    // number of the attempt at the repeat, from 1
	bool counts;                      // its values describe the server
	bool invalid;                     // because of the tester
	bool failed;                      // a criterion
	const char *reason;               // of its verdict; "": none
	double *values;                   // by column; NAN: none
};

struct campaign_journal {
	const struct campaign *campaign;
	struct arena *arena;
	int fd;
	struct campaign_run *runs;
	uint32_t count, room;
};

// Open or create the file and read its contents; it is locked against other campaigns until closed.
// Removes a line truncated by a kill. 0, or -errno after an error, which was logged; -EINVAL: it is
// not a journal, or belongs to a campaign that measures something else.
int journal_open(struct campaign_journal *j, const struct campaign *c, struct arena *a);
// Append a finished run as its line; the caller keeps line. 0, or -errno, which was logged: the
// file is then unchanged.
int journal_add(struct campaign_journal *j, const json_t *line);
void journal_close(struct campaign_journal *j);

// The run of an operation in the first complete attempt at a repeat; NULL: none.
const struct campaign_run *journal_find(
	const struct campaign_journal *j, uint32_t cell, uint32_t repeat, uint32_t operation);
// Are all operations of the repeat known?
bool journal_has(const struct campaign_journal *j, uint32_t cell, uint32_t repeat);

// Attempts at a repeat so far, and attempts spoilt by the tester. *reason: of the last of these.
struct campaign_attempts {
	uint32_t begun, invalid;
	const char *reason;
};

struct campaign_attempts journal_attempts(
	const struct campaign_journal *j, uint32_t cell, uint32_t repeat);
