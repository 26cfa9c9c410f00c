// SPDX-License-Identifier: BSD-3-Clause
// The times of load.replay from a file: packets, or text with seconds, one a line.
// Path: cold. Management thread.
#pragma once

#include "base/arena.h"
#include "engine/config/load.h"
#include "net/timestamps.h"

// Into t: ns after the first, ascending. 0, -EINVAL with errors in d, or -ENOMEM. timestamps_free
// is due in any case.
int replay_read(
	struct timestamps *t, const struct replay_settings *r, struct arena *a, struct diag *d);

// Into t, in place of what it has: times that were read elsewhere, made ascending from 0 on. 0 or
// -ENOMEM.
int replay_take(struct timestamps *t, const struct timestamps *from);
