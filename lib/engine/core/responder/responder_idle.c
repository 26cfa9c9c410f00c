// SPDX-License-Identifier: BSD-3-Clause
// Finds out when a responder has something to do next.
// Path: cold. The responder's own thread, between two passes.
#include "engine/core/responder/responder_idle.h"

#include "base/clock.h"
#include "engine/core/idle.h"
#include "engine/core/responder/responder_state.h"

uint64_t responder_due(const struct responder *r, uint64_t now)
{
	uint64_t due = r->faults.active ? delay_due(&r->faults.delay) : UINT64_MAX;

	if (atomic_load_explicit(&r->asked, memory_order_relaxed) !=
			atomic_load_explicit(&r->told, memory_order_relaxed) ||
		(r->conns && r->conns->more_count))
		return now;
	if (r->swapped)
		due = idle_earlier(due, r->swapped_at + r->patience + 1);
	return r->conns ? idle_earlier(due, idle_conns_due(&r->conns->cs, r->clock, now)) : due;
}

uint64_t responder_rest(struct responder *r, uint64_t now, bool worked)
{
	uint64_t due, woke;

	if (idle_look(&r->idle, r->clock, now, worked))
		return now;
	due = responder_due(r, now);
	woke = idle_rest(
		&r->idle, r->clock, now, due, r->idle.wait.count ? IDLE_MOMENT_NS : IDLE_BLIND_NS);
	return idle_earlier(due, woke);
}
