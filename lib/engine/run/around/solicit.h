// SPDX-License-Identifier: BSD-3-Clause
// Before the first message of items that want it (proto_layout.soliciting): are there routers on
// the VLANs of their paths, and do they send hosts to DHCPv6 (RFC 4861 section 6.3.7)? One client
// of an item asks for all of them: an advertisement is for the whole link. Path: cold. Management
// thread, while the workers of these ports do not run.
#pragma once

#include <signal.h>

#include "engine/plan/plan.h"
#include "engine/result/result.h"

// Solicits for all items at once; *out gets the results (struct result_router). Returns 0; -EINTR:
// *signals became non-zero; -ENOENT with e: an item lacks an advertisement or flags that it needs.
int solicit_all(struct plan *p, const volatile sig_atomic_t *signals, struct arena *a,
	struct counter_list *out, struct io_error *e);
