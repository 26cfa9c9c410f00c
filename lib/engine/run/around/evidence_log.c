// SPDX-License-Identifier: BSD-3-Clause
// The capture file of a run (output.capture). It is opened before the launch, with a ring for each
// worker and a text for each reason, and closed after the workers have ended. Path: cold.
// Management thread.
#include "engine/run/around/evidence_log.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "engine/core/pages.h"

#define RING_MAX   4096 // packets; of about 2 KiB each
#define RING_MIN   64
#define REACH_MORE 1000000000ull // ns beyond the timeouts

struct evidence_log {
	const char *file;
	struct capture *capture;
	struct capture_ring *rings; // one per worker
	uint32_t ring_count;
	_Atomic int64_t left;
};

static void evidence_describe(
	struct evidence *e, const struct plan_item *item, uint32_t wanted, struct arena *a)
{
	const struct item_settings *i = item->settings;
	bool again = item->layout.waits.count > 0;
	double timeout_s = (double)i->timeout_ns / 1e9;
	const char *const why[EVIDENCE_REASONS] = {
		[EVIDENCE_LOST] = again ? "no reply to any of its attempts"
	                                : arena_printf(a, "no reply within %g s", timeout_s),
		[EVIDENCE_LATE] =
			again ? "answered after the wait for it"
			      : arena_printf(a, "answered after the timeout of %g s", timeout_s),
		[EVIDENCE_STRAY] = "belongs to no transaction of that address and port",
		[EVIDENCE_FAILED] = "refused, or rejected by the checks of the item",
		[EVIDENCE_MALFORMED] = "the reply does not parse",
		[EVIDENCE_ANSWERED] = "the reply is as it should be",
		[EVIDENCE_STEP] = "the reply is as it should be, and the next message follows",
	};

	for (uint32_t n = 0; n < EVIDENCE_REASONS; n++)
		if (wanted & 1u << n)
			e->comments[n] =
				arena_printf(a, "%s: %s: %s", i->name, evidence_reasons[n], why[n]);
}

static uint32_t wanted_mask(const struct capture_settings *s)
{
	const int32_t *when = s->when.items;
	uint32_t mask = 0;

	for (uint32_t i = 0; i < s->when.count; i++)
		mask |= 1u << when[i];
	return mask;
}

static uint32_t ring_size(uint64_t limit)
{
	uint32_t n = RING_MIN;

	while (n < 2 * limit && n < RING_MAX)
		n *= 2;
	return n;
}

static void free_rings(struct evidence_log *log)
{
	for (uint32_t i = 0; i < log->ring_count; i++)
		pages_free(log->rings[i].slots, log->rings[i].count * sizeof(*log->rings[i].slots));
	pages_free(log->rings, log->ring_count * sizeof(*log->rings));
}

static int make_rings(struct evidence_log *log, const struct plan *p, uint32_t size)
{
	log->rings = pages_alloc(p->worker_count * sizeof(*log->rings));
	if (!log->rings)
		return -ENOMEM;
	log->ring_count = p->worker_count;
	for (uint32_t i = 0; i < p->worker_count; i++) {
		if (p->workers[i].item_count == 0)
			continue;
		log->rings[i].slots = pages_alloc(size * sizeof(*log->rings[i].slots));
		if (!log->rings[i].slots)
			return -ENOMEM;
		log->rings[i].count = size;
	}
	return 0;
}

static void equip_run(struct plan *p, struct evidence_log *log, uint32_t item, uint32_t worker,
	const struct capture_settings *settings, struct arena *a)
{
	struct plan_item *i = &p->items[item];
	struct evidence *e = arena_zalloc(a, sizeof(*e));

	e->ring = &log->rings[i->worker + worker - p->workers];
	e->left = &log->left;
	e->interface = (uint16_t)(i->port - p->ports);
	e->first_id = (uint64_t)(item + 1) << 48 | (uint64_t)worker << 44;
	e->ms_scale = clock_ms_scale(&p->clock);
	evidence_describe(e, i, wanted_mask(settings), a);
	if (e->comments[EVIDENCE_LATE] && !i->run->router)
		e->sent = arena_zalloc(a, EVIDENCE_SENT * sizeof(*e->sent));
	plan_run(i, worker)->evidence = e;
}

static void equip_items(struct plan *p, struct evidence_log *log,
	const struct capture_settings *settings, struct arena *a)
{
	for (uint32_t i = 0; i < p->item_count; i++)
		for (uint32_t k = 0; k < p->items[i].worker_count; k++)
			equip_run(p, log, i, k, settings, a);
}

// A loss is known one timeout after the send, a late reply maybe long after.
static uint64_t reach_of(const struct plan *p)
{
	uint64_t longest = 0;

	for (uint32_t i = 0; i < p->item_count; i++)
		if (p->items[i].settings->facts.wait_ns > longest)
			longest = p->items[i].settings->facts.wait_ns;
	return 4 * longest + REACH_MORE;
}

int evidence_log_start(struct plan *p, struct arena *a, struct evidence_log **out)
{
	const struct capture_settings *settings = p->config->output.capture;
	struct evidence_log *log = arena_zalloc(a, sizeof(*log));
	const char **names = arena_zalloc(a, p->port_count * sizeof(*names));
	struct capture_source source;
	int rc;

	*out = NULL;
	if (!settings || p->item_count == 0)
		return 0;
	for (uint32_t i = 0; i < p->port_count; i++)
		names[i] = p->ports[i].settings->name;
	log->file = settings->file;
	atomic_store(&log->left, (int64_t)settings->limit);
	rc = make_rings(log, p, ring_size(settings->limit));
	if (rc == 0) {
		source = (struct capture_source){.path = settings->file,
			.interfaces = names,
			.interface_count = p->port_count,
			.rings = log->rings,
			.ring_count = log->ring_count,
			.clock = p->clock,
			.reach_ns = reach_of(p)};
		log->capture = capture_start(&source);
		rc = log->capture ? 0 : -errno;
	}
	if (rc < 0) {
		free_rings(log);
		return rc;
	}
	equip_items(p, log, settings, a);
	*out = log;
	return 0;
}

void evidence_log_stop(struct evidence_log *log, struct result_capture *out)
{
	int rc;

	*out = (struct result_capture){.file = log->file};
	for (uint32_t i = 0; i < log->ring_count; i++)
		out->dropped += log->rings[i].dropped;
	out->limit_reached = atomic_load(&log->left) < 0;
	rc = capture_stop(log->capture, &out->packets);
	out->incomplete = rc < 0;
	if (rc < 0)
		log_error("output.capture: %s: %s", log->file, strerror(-rc));
	free_rings(log);
}
