// SPDX-License-Identifier: BSD-3-Clause
// Has this box head-room for a file? Its traffic runs against the embedded responder over a pair of
// rings, at a higher rate and with a quarter of the timeouts (RFC 8219 section 6.1.1: self-test of
// the tester). Path: cold. Main thread.
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "engine/config/config.h"
#include "engine/result/result.h"

#define SELFCHECK_HEADROOM 0.1 // of the rate

// Does the embedded responder speak the protocol of every item? If not, errors go to d.
bool selfcheck_possible(const struct config *c, struct diag *d);

// The configuration of the check: one ring pair with the addresses of the file's ports and servers.
// Rates are 110 %, timeouts a quarter, the run takes at most 10 s. The verdict is by "loss <= 0%"
// and the file's validity. Items that the responder cannot answer get no server. NULL after errors
// (in d). Lives in a, as long as c.
const struct config *selfcheck_derive(const struct config *c, struct arena *a, struct diag *d);

// Describes the result in lines of text: head-room or not and why, and for each item the delay of
// tester and responder together.
void selfcheck_describe(const struct config *c, const struct result *r,
	void (*line)(void *ctx, const char *text), void *ctx);
