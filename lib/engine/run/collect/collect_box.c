// SPDX-License-Identifier: BSD-3-Clause
// The tester's ports, their workers and the responder of an interval: differences of two readings.
// Workers are read from their snapshots; devices and the responder at the moment of the call, some
// ms after the end of the interval. Path: cold. Management thread.
#include "io/port/port_read.h"
#include "engine/run/collect/collect.h"
#include "engine/run/collect/collect_box.h"
#include "engine/core/worker/worker.h"

#include <math.h>
#include <string.h>

void collect_box_start(const struct plan *p, struct collect_box *b, struct arena *a)
{
	*b = (struct collect_box){
		.workers = arena_zalloc(a, (p->worker_count + 1) * sizeof(*b->workers)),
		.since = arena_zalloc(a, (p->worker_count + 1) * sizeof(*b->since)),
		.ports = arena_zalloc(a, (p->port_count + 1) * sizeof(*b->ports)),
	};
}

// Members of the difference of a worker's readings: now - before.
#define SINCE(member, help)       to->member = now->member - before->member;
#define AS_IT_IS(member, help)    to->member = now->member;
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
	struct result_interval_worker out = {
		p->ports[w->port].settings->name, w->number, collect_cpu(w)};
	struct result_interval_worker *to = &out;
	double hz = p->clock.hz;

	WORKER_COUNTERS(COUNTER_ADD, COUNTER_ADD_SECONDS, SHARE_OF_LENGTH)
	PASS_COUNTERS(COUNTER_ADD, COUNTER_ADD_SECONDS, COUNTER_SKIP)
	HANDOFF_COUNTERS(COUNTER_ADD, COUNTER_ADD, COUNTER_SKIP)
	out.unstamped = !w->stamps.known;
	return out;
}

// A port of the tester: its device, and its workers since the last reading.
static struct result_interval_port port_part(const struct plan *p, struct collect_box *b,
	uint32_t n, const struct worker_snapshot *since, struct arena *a)
{
	struct wire_counters *other = arena_zalloc(a, sizeof(*other));
	struct result_interval_port out = {.name = p->ports[n].settings->name, .other = other};
	struct result_interval_port *to = &out;
	struct port_counters read, *now = &read, *before = &b->ports[n];

	port_read_counters(&p->ports[n], &read);
	PORT_COUNTERS(SINCE)
	b->ports[n] = read;
	for (uint32_t i = p->first_worker[n]; i < p->first_worker[n + 1]; i++) {
		const struct worker_snapshot *from = &since[i];

		QUEUE_COUNTERS(COUNTER_ADD)
		HANDOFF_COUNTERS(COUNTER_ADD, COUNTER_SKIP, COUNTER_ADD)
		counter_sum(other, &from->wire, sizeof(*other));
	}
	return out;
}

static void connections_part(struct result_responder_conns *to,
	const struct result_responder_conns *now, const struct result_responder_conns *before)
{
	RESPONDER_CONN_COUNTERS(SINCE, AS_IT_IS)
}

static void responder_part(
	const struct plan *p, struct collect_box *b, struct result_interval_responder *to)
{
	struct result_responder read, *now = &read, *before = &b->responder;

	collect_responder(p, &read);
	RESPONDER_COUNTERS(SINCE, AS_IT_IS)
	connections_part(&to->conns, &now->conns, &before->conns);
	to->connections = p->responders[0].conns ? &to->conns : NULL;
	b->responder = read;
}

// Computes each worker's counters since the last reading.
static void read_workers(const struct plan *p, struct collect_box *b, bool over)
{
	for (uint32_t n = 0; n < p->worker_count; n++) {
		struct worker_snapshot now = *collect_snapshot(&p->workers[n]);

		if (over)
			worker_read(&p->workers[n], &now);
		worker_since(&b->since[n], &now, &b->workers[n]);
		b->workers[n] = now;
	}
}

void collect_box(const struct plan *p, struct collect_box *b, bool over, struct arena *a,
	struct result_interval *out)
{
	struct result_interval_worker *workers =
		arena_zalloc(a, (p->worker_count + 1) * sizeof(*workers));
	struct result_interval_port *ports = arena_zalloc(a, (p->port_count + 1) * sizeof(*ports));

	if (out->length_s <= 0) // no interval: the next one has all
		return;
	read_workers(p, b, over);
	out->ports.items = ports;
	out->workers.items = workers;
	for (uint32_t n = 0; n < p->port_count; n++) {
		if ((int32_t)n == p->responder_port)
			continue;
		ports[out->ports.count++] = port_part(p, b, n, b->since, a);
		for (uint32_t i = p->first_worker[n]; i < p->first_worker[n + 1]; i++)
			workers[out->workers.count++] =
				worker_part(p, &p->workers[i], &b->since[i], out->length_s);
	}
	if (p->responder_port < 0)
		return;
	out->responder = arena_zalloc(a, sizeof(*out->responder));
	responder_part(p, b, out->responder);
}
