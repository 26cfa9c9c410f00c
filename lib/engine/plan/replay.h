// SPDX-License-Identifier: BSD-3-Clause
// The times of load.replay from a file: packets, or text with seconds, one a line.
// Path: cold. Management thread.
#pragma once

#include "base/arena.h"
#include "engine/config/load.h"
#include "net/timestamps.h"

// Reads the times into t: ns after the first, ascending. Returns 0, -EINVAL with errors in d, or
// -ENOMEM. Call timestamps_free in any case.
int replay_read(
	struct timestamps *t, const struct replay_settings *r, struct arena *a, struct diag *d);

// Replaces t by times that were read elsewhere, sorted and starting at 0. Returns 0 or -ENOMEM.
int replay_take(struct timestamps *t, const struct timestamps *from);
