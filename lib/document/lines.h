// SPDX-License-Identifier: BSD-3-Clause
// Members of the JSON lines of a run (docs/formats.md) that its document does not have. Path: cold.
// Any thread.
#pragma once

// The members that tell the kinds of lines apart; a line without any of them is an interval.
#define LIVE_BEGIN "begin" // number of the run that begins
#define LIVE_TRIAL "trial" // number of a trial of a search
#define LIVE_END   "end"   // number of the run that ended last
#define LIVE_ORDER "order" // text of an order of the user; with "refused": the reason
// Members of intervals that the document does not have.
#define LIVE_NUMBER  "number"  // by which intervals are counted
#define LIVE_EARLIER "earlier" // in items: replies to requests of earlier intervals
#define LIVE_WARMUP  "warmup"  // true: of the warm-up; the document does not have that interval
#define LIVE_LAST    "last"    // true: the rest after the last whole interval of its run
