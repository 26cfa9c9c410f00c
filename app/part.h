// SPDX-License-Identifier: BSD-3-Clause
// The intervals of a run on their way into its document: JSON lines, appended as each interval
// ends, to OUT.part beside the document OUT. Memory does not grow with the run, and a run that was
// killed has its intervals there. Path: cold. Main thread.
//
// A line {"begin": NUMBER, "result": ...} comes first, before each run of a series. The other lines
// are intervals as in the document, but for two more members: "number", by which intervals are
// counted, and in each item "earlier". That are the replies to requests of earlier intervals, which
// by_due of those intervals does not have: "back" tells how many numbers before.
#pragma once

#include <stdio.h>

#include "engine/config/config.h"
#include "engine/result/result.h"

#define PART_BEGIN   "begin"
#define PART_NUMBER  "number"
#define PART_EARLIER "earlier"
#define PART_SUFFIX  ".part"

struct part {
	FILE *f;    // to append and to read; NULL: closed
	char *path; // NULL: it has no name
	int error;  // -errno of the first write that failed
};

// document: the path of the document to be; NULL, "-", a pipe or a device: the file has no name,
// and is gone with the process. 0, or -errno, which was logged.
int part_open(struct part *p, const char *document);

void part_begin(struct part *p, const struct result *r, const struct config *c);
void part_add(struct part *p, const struct result_interval *i);

// keep: the file stays, if it has a name.
void part_close(struct part *p, bool keep);
