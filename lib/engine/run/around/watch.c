// SPDX-License-Identifier: BSD-3-Clause
// Readings in pairs, and the deviation that follows. Path: cold. Management thread.
#include "engine/run/around/watch.h"
#include "io/port/port_read.h"

#include <math.h>
#include <time.h>

#define ATTEMPTS    8
#define READING_NS  20000.0       // the thread may lose its CPU in the middle of each attempt
#define CLOCK_SPAN  1000000000ull // ns between two checks of the clock
#define FRAME_BYTES 24            // checksum, preamble and gap, which no device counts

static uint64_t clock_read(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct watch_reading read_clocks(const struct clock *c)
{
	struct watch_reading best = {0};
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < ATTEMPTS; i++) {
		uint64_t before = clock_time(c);
		struct watch_reading r = {
			.raw_ns = clock_read(CLOCK_MONOTONIC_RAW),
			.mono_ns = clock_read(CLOCK_MONOTONIC),
		};
		uint64_t took = clock_time(c) - before;

		r.tick = before + took / 2;
		if (took < least)
			best = r;
		least = took < least ? took : least;
	}
	return best;
}

double watch_clock_error(
	double hz, const struct watch_reading *from, const struct watch_reading *to)
{
	double ticks = (double)(int64_t)(to->tick - from->tick) * 1e9 / hz;
	double raw = (double)(int64_t)(to->raw_ns - from->raw_ns);
	double mono = (double)(int64_t)(to->mono_ns - from->mono_ns);
	double worst = fmax(fabs(ticks - raw), fabs(ticks - mono));

	return fmax(worst - READING_NS, 0);
}

static void watch_compare(struct watch *w, double hz, const struct watch_reading *from,
	const struct watch_reading *to)
{
	double error = watch_clock_error(hz, from, to);
	double span = fmax((double)(int64_t)(to->mono_ns - from->mono_ns), 1);

	w->deviation = fmax(w->deviation, error / span);
	w->jump_ns = fmax(w->jump_ns, error);
}

static void look_at_link(struct watch_link *l, const struct port *p, uint64_t now)
{
	bool down = !port_link_up(p);

	if (down && !l->down) {
		l->downs++;
		l->since = now;
	}
	if (!down && l->down)
		l->ticks += now - l->since;
	l->down = down;
}

static void read_usage(struct watch_usage *out, struct plan *p, uint64_t now)
{
	struct port_counters c;

	for (uint32_t i = 0; i < p->port_count; i++) {
		out[i].tick = now;
		port_read_counters(&p->ports[i], &c);
		out[i].bytes = c.tx_bytes;
		out[i].packets = c.tx_packets;
	}
}

void watch_start(struct watch *w, struct plan *p)
{
	*w = (struct watch){.first = read_clocks(&p->clock)};
	w->last = w->first;
	for (uint32_t i = 0; i < p->port_count; i++)
		w->links[i].watched = port_link_up(&p->ports[i]);
}

void watch_tick(struct watch *w, struct plan *p, uint64_t now)
{
	const struct run_times *t = &p->items[0].worker->times;

	for (uint32_t i = 0; i < p->port_count; i++)
		if (w->links[i].watched)
			look_at_link(&w->links[i], &p->ports[i], now);
	if (!w->began && now >= t->measure) {
		read_usage(w->from, p, now);
		w->began = true;
	}
	if (!w->ended && (now >= t->end || p->phase == PHASE_DRAIN)) {
		read_usage(w->to, p, now);
		w->ended = true;
	}
	if (clock_read(CLOCK_MONOTONIC) - w->last.mono_ns >= CLOCK_SPAN) {
		struct watch_reading r = read_clocks(&p->clock);

		watch_compare(w, p->clock.hz, &w->last, &r);
		w->last = r;
	}
}

void watch_end(struct watch *w, struct plan *p)
{
	struct watch_reading r = read_clocks(&p->clock);
	uint64_t now = clock_time(&p->clock);

	watch_compare(w, p->clock.hz, &w->last, &r);
	watch_compare(w, p->clock.hz, &w->first, &r);
	if (!w->ended)
		read_usage(w->to, p, now);
	for (uint32_t i = 0; i < p->port_count; i++)
		if (w->links[i].down)
			w->links[i].ticks += now - w->links[i].since;
}

static double link_used(const struct watch *w, const struct plan *p, uint32_t i)
{
	double bytes = (double)(w->to[i].bytes - w->from[i].bytes);
	double packets = (double)(w->to[i].packets - w->from[i].packets);
	double seconds = clock_ns(&p->clock, w->to[i].tick - w->from[i].tick) / 1e9;
	double all = seconds * (double)p->ports[i].link_bps;

	// Unknown without a count of octets.
	return w->began && all > 0 && bytes > 0 ? 8 * (bytes + FRAME_BYTES * packets) / all : 0;
}

void watch_report(const struct watch *w, const struct plan *p, struct result *r)
{
	struct result_port *ports = (struct result_port *)r->ports.items;

	r->run.host.clock_deviation = w->deviation;
	r->run.host.clock_jump_ns = w->jump_ns;
	for (uint32_t i = 0; i < r->ports.count; i++) {
		ports[i].link_downs = w->links[i].downs;
		ports[i].link_down_s = clock_ns(&p->clock, w->links[i].ticks) / 1e9;
		ports[i].link_bps = p->ports[i].link_bps;
		ports[i].link_used = link_used(w, p, i);
	}
}
