// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Management thread.
#include "engine/config/fleet_settings.h"

#include <stddef.h>

#include "io/driver/driver.h"
#include "engine/config/config.h"

#define AT(member) .offset = offsetof(struct fleet_settings, member)

static const struct field fleet_fields[] = {
	{"agents", "boxes that divide the run", FIELD_COUNT, AT(agents), .def = "1", .min = 1,
		.max = FLEET_WORKERS_MAX},
	{"weights",
		"relative share of each box: its ports have this many CPUs, or a multiple that is "
		"the same for all; default: 1 each",
		FIELD_COUNT, .list = true, AT(weights), .min = 1, .max = FLEET_WORKERS_MAX},
	{"part", "number of this box, from 1; 0: it runs the whole load", FIELD_COUNT, AT(part),
		.def = "0", .max = FLEET_WORKERS_MAX},
};

const struct field_section fleet_section = {"fleet", "boxes that divide the run",
	FIELD_ROWS(fleet_fields), sizeof(struct fleet_settings)};

static uint64_t weight_of(const struct fleet_settings *f, uint64_t part)
{
	const uint64_t *weights = f->weights.items;

	return f->weights.count ? weights[part - 1] : 1;
}

uint64_t fleet_weight(const struct config *c)
{
	const struct fleet_settings *f = c->fleet;
	bool is_part = f && f->part && f->part <= f->agents &&
	               (f->weights.count == 0 || f->weights.count == f->agents);

	return is_part ? weight_of(f, f->part) : 0;
}

bool fleet_asks_server(const struct config *c)
{
	return !c->fleet || c->fleet->part <= 1;
}

struct fleet_share fleet_share(const struct config *c, const struct port_settings *p)
{
	struct fleet_share s = {.count = port_cpu_count(p)};
	uint64_t weight = fleet_weight(c), before = 0, all = 0;

	s.of = s.count;
	if (weight == 0 || s.count % weight)
		return s;
	for (uint64_t part = 1; part <= c->fleet->agents; part++) {
		before += part < c->fleet->part ? weight_of(c->fleet, part) : 0;
		all += weight_of(c->fleet, part);
	}
	s.first = (uint32_t)(s.count / weight * before);
	s.of = (uint32_t)(s.count / weight * all);
	return s;
}

struct field_list fleet_addresses(
	const struct field_list *all, const struct fleet_share *s, struct arena *a)
{
	const struct addr_range *r = all->items;
	struct addr_range *out = arena_zalloc(a, (all->count + 1) * sizeof(*out));
	struct field_list list = {out, 0};
	uint64_t sum = 0, at = 0, begin, end;

	if (!fleet_is_part(s))
		return *all;
	for (uint32_t n = 0; n < all->count; n++)
		sum += r[n].count;
	begin = sum * s->first / s->of;
	end = sum * (s->first + s->count) / s->of;
	for (uint32_t n = 0; n < all->count; at += r[n++].count) {
		uint64_t from = begin > at ? begin - at : 0;
		uint64_t to = end > at ? end - at : 0;

		to = to < r[n].count ? to : r[n].count;
		if (from < to)
			out[list.count++] = (struct addr_range){addr_nth(&r[n], from), to - from};
	}
	return list;
}
