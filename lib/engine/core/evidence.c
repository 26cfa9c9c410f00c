// SPDX-License-Identifier: BSD-3-Clause
// Copying packets into the worker's ring, and setting that up. Nothing in here runs unless a
// transaction fails and a capture file is configured.
// Path: hot (evidence_keep) | cold (the rest). Worker's thread | management thread.
#include "engine/core/evidence.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "engine/core/pages.h"
#include "engine/plan/plan.h"

#define RING_MAX   4096 // packets; of about 2 KiB each
#define RING_MIN   64
#define REACH_MORE 1000000000ull // ns beyond the timeouts

const char *const evidence_reasons[] = {"lost", "late", "stray", "failed", "malformed", NULL};

// When the last message of the slot's transaction was sent; false: no longer known, or whoever made
// it may have begun another one.
static bool sent_at(const struct worker_item *it, const struct txn_slot *s, uint64_t *tick)
{
	if (it->router && s->state != TXN_FLYING)
		return false;
	if (s->state != TXN_TAKEN && s->state != TXN_FLYING && s->state != TXN_LOST)
		return false;
	*tick = s->state == TXN_LOST ? txn_lost_sent(s) : s->time;
	return true;
}

static void keep(const struct evidence *e, struct capture_slot *to, uint64_t time,
	const char *comment, uint32_t len)
{
	to->packet = (struct capture_packet){.time = time,
		.comments = {comment},
		.interface = e->interface,
		.len = len < CAPTURE_BYTES ? len : CAPTURE_BYTES,
		.wire_len = len};
}

// As it was `age` ago: a message may tell the time.
static void keep_query(
	struct worker_item *it, uint32_t slot, const char *comment, uint64_t time, uint64_t age)
{
	const struct evidence *e = it->evidence;
	struct capture_slot *to = capture_at(e->ring);
	uint32_t now_ms = it->ctx.now_ms, len;
	struct txn_place place;

	it->ctx.now_ms -= clock_ms(age, e->ms_scale);
	len = worker_again(it, slot, 0, to->bytes, CAPTURE_BYTES);
	it->ctx.now_ms = now_ms;
	txn_place(&it->txns, slot, &place);
	keep(e, to, time, comment, len);
	to->packet.outbound = true;
	to->packet.id = e->first_id + place.seq;
	capture_commit(e->ring);
}

// Padding of the frame is left out: its length is that of the datagram.
static void keep_answer(
	const struct evidence *e, const struct frame *f, const char *comment, uint64_t now)
{
	struct capture_slot *to = capture_at(e->ring);
	uint32_t len = (uint32_t)(f->payload + f->payload_len - f->eth);

	keep(e, to, now, comment, len);
	memcpy(to->bytes, f->eth, to->packet.len);
	capture_commit(e->ring);
}

// The limit is touched last: what finds no room does not count against it.
static bool admit(const struct evidence *e, uint64_t packets)
{
	if (capture_room(e->ring) < packets) {
		e->ring->dropped += packets;
		return false;
	}
	return atomic_fetch_sub_explicit(e->left, 1, memory_order_relaxed) > 0;
}

void evidence_keep(struct worker_item *it, enum evidence_reason why, uint32_t slot,
	const struct frame *answer, uint64_t now)
{
	const struct evidence *e = it->evidence;
	struct txn_slot *s = slot == TXN_NONE ? NULL : &it->txns.slots[slot];
	uint64_t sent = 0;
	bool measured = s ? s->judged : now >= it->pace.measure;
	bool query = s && sent_at(it, s, &sent) && (!s->kept || why == EVIDENCE_LOST);

	if (!e->comments[why] || !measured || !admit(e, (uint64_t)query + (answer != NULL)))
		return;
	if (query) {
		keep_query(it, slot, e->comments[why], sent, now > sent ? now - sent : 0);
		s->kept = 1;
	}
	if (answer)
		keep_answer(e, answer, e->comments[why], now);
}

// --- setting it up ---

struct evidence_log {
	const char *file;
	struct capture *capture;
	struct capture_ring *rings; // one per worker
	uint32_t ring_count;
	_Atomic int64_t left;
};

static void describe(
	struct evidence *e, const struct plan_item *item, uint32_t wanted, struct arena *a)
{
	const struct item_settings *i = item->settings;
	bool again = item->layout.waits.count > 0;
	double timeout_s = (double)i->timeout_ns / 1e9;
	const char *const why[EVIDENCE_REASONS] = {
		[EVIDENCE_LOST] = again ? "no answer to any of its tries"
	                                : arena_printf(a, "no answer within %g s", timeout_s),
		[EVIDENCE_LATE] =
			again ? "answered after the wait for it"
			      : arena_printf(a, "answered after the timeout of %g s", timeout_s),
		[EVIDENCE_STRAY] = "answers nothing that was asked there",
		[EVIDENCE_FAILED] = "refused, or rejected by the checks of the item",
		[EVIDENCE_MALFORMED] = "the answer does not parse",
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
	describe(e, i, wanted_mask(settings), a);
	plan_run(i, worker)->evidence = e;
}

static void equip_items(struct plan *p, struct evidence_log *log,
	const struct capture_settings *settings, struct arena *a)
{
	for (uint32_t i = 0; i < p->item_count; i++)
		for (uint32_t k = 0; k < p->items[i].worker_count; k++)
			equip_run(p, log, i, k, settings, a);
}

// What is lost is known one timeout after it was sent, what is late maybe long after.
static uint64_t reach_of(const struct plan *p)
{
	uint64_t longest = 0;

	for (uint32_t i = 0; i < p->item_count; i++)
		if (p->items[i].settings->timeout_ns > longest)
			longest = p->items[i].settings->timeout_ns;
	return 4 * longest + REACH_MORE;
}

int evidence_start(struct plan *p, struct arena *a, struct evidence_log **out)
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

void evidence_stop(struct evidence_log *log, struct result_capture *out)
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
