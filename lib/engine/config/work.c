// SPDX-License-Identifier: BSD-3-Clause
// From the load of an item to the work that it makes. Path: cold. Management thread.
#include "engine/config/work.h"

#include <math.h>

#include "proto/table.h"
#include "io/driver/memory.h"

#define MEMORY_PART 4 // 1/4 of the available memory, for all automatic numbers together

static uint32_t fitted_items(const struct config *c)
{
	const struct item_settings *items = c->traffic.items;
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->traffic.count; i++) {
		const struct proto *proto = items[i].facts.proto;

		n += proto && proto->fit;
	}
	return n;
}

static bool is_constant(const struct load_settings *l)
{
	return l->rate > 0 && isfinite(l->rate);
}

static double added(const struct item_settings *i)
{
	double sum = 0;

	for (unsigned k = 0; protos[k] && is_constant(&i->load); k++)
		if (i->protocol[k])
			sum += proto_terms(protos[k], i->protocol[k]).extra;
	return sum;
}

struct proto_work config_work(
	const struct config *c, const struct item_settings *i, uint64_t replay)
{
	const struct load_span span = {i->facts.hold_ns, c->run.warmup_ns, c->run.duration_ns};
	struct proto_work w = {.rate = is_constant(&i->load) ? load_peak(&i->load) : 0,
		.begun = load_whole(&i->load, &span),
		.in_flight = load_slots(&i->load, &span),
		.seconds = 1e-9 * (double)(c->run.warmup_ns + c->run.duration_ns),
		.memory = memory_available() / MEMORY_PART / (fitted_items(c) + !fitted_items(c)),
		.workers = i->facts.share.of};

	if (i->load.replay)
		w.begun = w.in_flight = replay;
	if (c->fleet && c->fleet->part) // the same number on each box
		w.memory = 0;
	return w;
}

#define PEAK_PARTS 256 // parts of a run, for the peak rate of a protocol's own pace

// Returns the pace that the protocol sets itself with these settings.
static struct load_own own_pace(
	const struct config *c, const struct proto *proto, const void *settings)
{
	double part_s = 1e-9 * (double)(c->run.warmup_ns + c->run.duration_ns) / PEAK_PARTS;
	const struct proto_terms t = proto_terms(proto, settings);
	struct load_own own = {.settings = settings, .begun = t.begun, .at_once = t.at_once};

	for (int i = 0; t.begun && i < PEAK_PARTS; i++)
		own.peak = fmax(own.peak,
			(t.begun(settings, (i + 1) * part_s) - t.begun(settings, i * part_s)) /
				part_s);
	return own;
}

#define ASKS_FORESEEN 2 // by a follower per client: at once, and once more

// The pace of a follower: it may wait for all clients of the followed item at a time.
static struct load_own follower_pace(const struct item_settings *i)
{
	const struct proto *proto = i->facts.proto;
	const struct proto_terms f = config_terms(i);
	struct proto_env env = {0};

	config_env_follower(i, &env);
	if (!proto || !proto->follower || !env.followed)
		return (struct load_own){0};
	return (struct load_own){.after = &i->facts.followed->load,
		.each = (double)f.each * ASKS_FORESEEN,
		.every_ns = f.every_ns,
		.at_once = (env.followed_clients + !env.followed_clients) * f.each};
}

void config_fit(const struct config *c)
{
	struct item_settings *items = c->traffic.items;

	for (uint32_t i = 0; i < c->traffic.count; i++)
		items[i].load.more = added(&items[i]);
	for (uint32_t i = 0; i < c->traffic.count; i++)
		for (unsigned k = 0; protos[k]; k++) {
			struct proto_work w;

			if (!items[i].protocol[k] || !protos[k]->fit)
				continue;
			w = config_work(c, &items[i], WORK_UNREAD);
			protos[k]->fit(items[i].protocol[k], &w);
			items[i].load.own = own_pace(c, protos[k], items[i].protocol[k]);
		}
	for (uint32_t i = 0; i < c->traffic.count; i++)
		if (items[i].after)
			items[i].load.own = follower_pace(&items[i]);
}
