// SPDX-License-Identifier: BSD-3-Clause
// Members of the JSON lines of a run (docs/formats.md) that its document does not have. Path: cold.
// Any thread.
#pragma once

// Members that distinguish the kinds of lines; a line without any of them is an interval.
#define LINE_BEGIN "begin" // number of the run that begins
#define LINE_TRIAL "trial" // number of a trial of a search
#define LINE_END   "end"   // number of the run that ended last
#define LINE_ORDER "order" // text of an order of the user; with "refused": the reason
// Members of intervals that the document does not have.
#define LINE_NUMBER  "number"  // by which intervals are counted
#define LINE_EARLIER "earlier" // in items: replies to requests of earlier intervals
#define LINE_WARMUP  "warmup"  // true: of the warm-up; the document does not have that interval
#define LINE_LAST    "last"    // true: the rest after the last whole interval of its run
// The verdict so far, in the intervals of a run that judges them (so_far.h).
#define LINE_CRITERIA "criteria" // as in the verdict; pass is null while the value is unknown
#define LINE_INVALID  "invalid"  // why the tester has spoilt the run
