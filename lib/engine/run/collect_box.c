// SPDX-License-Identifier: BSD-3-Clause
// The ports, workers and responder of an interval: differences of two readings. Workers are read
// from their snapshots; devices and the responder at the moment of the call, some ms after the end
// of the interval. Path: cold. Management thread.
#include "engine/run/collect.h"

#include <math.h>
#include <string.h>

void collect_box_start(const struct plan *p, struct collect_box *b, struct arena *a)
{
	*b = (struct collect_box){
		.workers = arena_zalloc(a, (p->worker_count + 1) * sizeof(*b->workers)),
		.ports = arena_zalloc(a, (p->port_count + 1) * sizeof(*b->ports)),
	};
}

// Members of the difference of a worker's readings: now - before.
#define SINCE(member, help)       to->member = now->member - before->member;
#define SINCE_PARTS(member, help) to->member[1] = now->member[1] - before->member[1];

static void worker_since(struct worker_snapshot *to, const struct worker_snapshot *now,
	const struct worker_snapshot *before)
{
	QUEUE_COUNTERS(SINCE)
	WORKER_COUNTERS(SINCE, SINCE, SINCE_PARTS)
	PASS_COUNTERS(SINCE, SINCE, COUNTER_SKIP)
	HANDOFF_COUNTERS(SINCE, SINCE, SINCE)
	counter_difference(&to->wire, &now->wire, &before->wire, sizeof(to->wire));
}

#define SHARE_OF_LENGTH(member, help)                                                              \
	to->member = length_s > 0 ? fmin((double)from->member[1] / hz / length_s, 1) : 0;

static struct result_interval_worker worker_part(const struct plan *p, const struct worker *w,
	const struct worker_snapshot *from, double length_s)
{
	struct result_interval_worker out = {p->ports[w->port].settings->name, w->cpu};
	struct result_interval_worker *to = &out;
	double hz = p->clock.hz;

	WORKER_COUNTERS(COUNTER_ADD, COUNTER_ADD_SECONDS, SHARE_OF_LENGTH)
	PASS_COUNTERS(COUNTER_ADD, COUNTER_ADD_SECONDS, COUNTER_SKIP)
	HANDOFF_COUNTERS(COUNTER_ADD, COUNTER_ADD, COUNTER_SKIP)
	return out;
}

static void port_add_worker(struct result_interval_port *to, struct wire_counters *other,
	const struct worker_snapshot *from)
{
	QUEUE_COUNTERS(COUNTER_ADD)
	HANDOFF_COUNTERS(COUNTER_ADD, COUNTER_SKIP, COUNTER_ADD)
	counter_sum(other, &from->wire, sizeof(*other));
}

static struct result_interval_port port_part(
	const struct plan *p, struct collect_box *b, uint32_t n)
{
	struct result_interval_port out = {.name = p->ports[n].settings->name};
	struct result_interval_port *to = &out;
	struct port_counters read, *now = &read, *before = &b->ports[n];

	port_read_counters(&p->ports[n], &read);
	PORT_COUNTERS(SINCE)
	b->ports[n] = read;
	return out;
}

static struct result_interval_responder responder_part(const struct plan *p, struct collect_box *b)
{
	struct result_interval_responder out, *to = &out;
	struct result_responder read, *now = &read, *before = &b->responder;

	collect_responder(p, &read);
	RESPONDER_COUNTERS(SINCE)
	b->responder = read;
	return out;
}

void collect_box(const struct plan *p, struct collect_box *b, bool over, struct arena *a,
	struct result_interval *out)
{
	struct result_interval_worker *workers =
		arena_zalloc(a, (p->worker_count + 1) * sizeof(*workers));
	struct result_interval_port *ports = arena_zalloc(a, (p->port_count + 1) * sizeof(*ports));
	struct wire_counters *other = arena_zalloc(a, (p->port_count + 1) * sizeof(*other));
	uint32_t count = 0;

	for (uint32_t n = 0; n < p->port_count; n++) {
		ports[n] = port_part(p, b, n);
		ports[n].other = &other[n];
	}
	for (uint32_t n = 0; n < p->worker_count; n++) {
		const struct worker *w = &p->workers[n];
		struct worker_snapshot now, since;

		if ((int32_t)w->port == p->responder_port)
			continue;
		now = *collect_snapshot(w);
		if (over)
			worker_read(w, &now);
		worker_since(&since, &now, &b->workers[n]);
		b->workers[n] = now;
		port_add_worker(&ports[w->port], &other[w->port], &since);
		workers[count++] = worker_part(p, w, &since, out->length_s);
	}
	out->ports = (struct counter_list){ports, p->port_count};
	out->workers = (struct counter_list){workers, count};
	if (p->responder_port < 0)
		return;
	out->responder = arena_zalloc(a, sizeof(*out->responder));
	*out->responder = responder_part(p, b);
}
