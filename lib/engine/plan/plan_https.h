// SPDX-License-Identifier: BSD-3-Clause
// From settings of HTTPS to the templates of requests and answers, and to the connections' tables.
// Path: cold. Management thread.
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "engine/config/config.h"
#include "engine/core/http.h"
#include "engine/plan/plan_state.h"

// The requests of an item. Returns NULL after an error in d.
const struct h2_request *plan_https_request(
	const struct item_settings *i, struct arena *a, struct diag *d);

// The tables of an item's connections on a worker: count of them, so many seats, and so many
// transactions at a time.
struct https_shape plan_https_shape(
	const struct item_settings *i, uint32_t count, uint32_t seats, uint32_t slots);
// Gives the connections their tables, which belong to cs. Returns 0 or -ENOMEM.
int plan_https_open(struct conns *cs, const struct plan_item *i, const struct https_shape *shape);
// Likewise for the responder. live: connections that are open at a time.
int plan_https_serve(struct conns *cs, const struct plan *p, uint32_t live, uint64_t seed);
void plan_https_close(struct conns *cs);
