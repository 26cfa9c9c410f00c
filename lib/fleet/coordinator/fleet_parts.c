// SPDX-License-Identifier: BSD-3-Clause
// All parts together. Path: cold. Main thread.
#include "base/clock.h"
#include "fleet/coordinator/fleet_internal.h"

struct fleet_part *fleet_troubled(const struct fleet *f)
{
	for (unsigned i = 0; i < f->count; i++)
		if (*f->parts[i].trouble)
			return &f->parts[i];
	return NULL;
}

bool fleet_are_all(const struct fleet *f, bool (*is_so_far)(const struct fleet_part *p))
{
	for (unsigned i = 0; i < f->count; i++)
		if (!is_so_far(&f->parts[i]))
			return false;
	return true;
}

void fleet_find_gone(struct fleet *f)
{
	for (unsigned i = 0; i < f->count; i++)
		if (f->parts[i].over && !f->parts[i].ended)
			fleet_part_trouble(
				&f->parts[i], EXIT_INVALID, "its process has ended before the run");
}

bool fleet_wait(struct fleet *f, bool (*is_so_far)(const struct fleet_part *p), unsigned ms,
	const char *what)
{
	const struct run_hooks *h = &f->run->hooks;
	uint64_t until = clock_steady_ms() + ms;

	while (!fleet_are_all(f, is_so_far) && !fleet_troubled(f) && !*f->run->signals &&
		clock_steady_ms() < until) {
		fleet_tick(f, FLEET_TICK_MS);
		fleet_find_gone(f);
		if (h->tick)
			h->tick(h->ctx);
	}
	for (unsigned i = 0; i < f->count && clock_steady_ms() >= until; i++)
		if (!is_so_far(&f->parts[i]))
			fleet_part_trouble(
				&f->parts[i], EXIT_INVALID, "%s after %u s", what, ms / 1000);
	return fleet_are_all(f, is_so_far);
}

bool fleet_takes_orders(const struct fleet_part *p)
{
	return p->claimed && !p->over && !p->ended && !*p->trouble;
}

void fleet_tell_all(struct fleet *f, const char *member, json_t *value)
{
	for (unsigned i = 0; i < f->count; i++) {
		struct fleet_part *p = &f->parts[i];

		if (fleet_takes_orders(p))
			fleet_part_tell(p, json_pack("{s:O}", member, value));
	}
	json_decref(value);
}

unsigned fleet_lead_ms(const struct fleet *f)
{
	int64_t slowest = 0;

	for (unsigned i = 0; i < f->count; i++)
		if (f->parts[i].clock.slowest_ns > slowest)
			slowest = f->parts[i].clock.slowest_ns;
	return fleet_clock_lead_ms(f->count, slowest);
}
