// SPDX-License-Identifier: BSD-3-Clause
// A plan on ports that were never opened, and its schedule played without a clock. The worker's
// own code builds the packets. Path: cold. Main thread.
#include "engine/tools/dryrun.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "engine/plan/plan.h"
#include "engine/plan/plan_neighbours.h"
#include "engine/plan/plan_start.h"
#include "engine/run/run.h"
#include "engine/core/worker/worker_message.h"
#include "engine/core/worker/worker_tx.h"
#include "io/port/capture.h"
#include "io/driver/driver.h"

#define FRAME_ROOM 66000 // of a message over a connection

_Static_assert(DRYRUN_PACKETS >= CONFIG_MAX_ITEMS, "a packet of each item");

static const uint8_t next_hop_mac[6] = {0x02, 0, 0, 0, 0, 0x01};

static void pretend_port(struct port *port, const struct port_settings *s, uint32_t index)
{
	const uint64_t *vlans = s->vlans.items;

	*port = (struct port){.settings = s,
		.driver = driver_of(s),
		.mac = {0x02, 0, 0, 0, 0x01, (uint8_t)index},
		.vlan_count = (uint8_t)s->vlans.count,
		.queues = (uint16_t)port_cpu_count(s),
		.burst = BURST_MAX};
	for (uint32_t i = 0; i < s->vlans.count; i++)
		port->vlans[i] = (uint16_t)vlans[i];
}

// Like plan_start, on CPUs that need not exist.
static void pretend_ports(struct plan *p, struct arena *a)
{
	const struct config *c = p->config;

	p->port_settings = c->ports.items;
	p->port_count = c->ports.count;
	p->ports = arena_zalloc(a, p->port_count * sizeof(*p->ports));
	plan_workers(p, a);
	p->lcores.worker_count = p->worker_count;
	for (uint32_t i = 0; i < p->port_count; i++)
		pretend_port(&p->ports[i], &p->port_settings[i], i);
}

static void pretend_paths(struct plan_item *i)
{
	for (uint32_t n = 0; n < i->path_count; n++) {
		uint8_t mac[6];

		if (!plan_group_mac(&i->next_hops[n], mac))
			memcpy(mac, next_hop_mac, 6);
		plan_address(i, n, mac);
	}
}

static int pretend(struct plan *p, struct arena *a)
{
	int rc;

	p->dry = true;
	pretend_ports(p, a);
	rc = plan_build(p, a);
	if (rc < 0) {
		log_error("the transaction tables: %s", strerror(-rc));
		return rc;
	}
	for (uint32_t i = 0; i < p->item_count; i++)
		pretend_paths(&p->items[i]);
	plan_schedule(p, 0);
	return 0;
}

// A send of an item by a worker.
struct turn {
	struct plan_item *item; // NULL: none
	uint32_t worker;
	uint64_t due, due_frac;
};

static bool is_before(const struct turn *t, const struct pace *p)
{
	return t->due < p->next || (t->due == p->next && t->due_frac <= p->next_frac);
}

static void consider(struct turn *first, struct plan_item *item, uint32_t worker)
{
	struct worker_item *run = plan_run(item, worker);
	const struct pace *pace = &run->pace;

	worker_ask(run);
	if (pace->next >= item->worker->times.end ||
		!pace_ready(pace, pace->next, run->txns.in_flight))
		return;
	if (!first->item || !is_before(first, pace))
		*first = (struct turn){item, worker, pace->next, pace->next_frac};
}

// Returns the item that is due first and has packets left; of several the first in the file.
static struct turn next_turn(const struct plan *p, const uint32_t *left)
{
	struct turn first = {0};

	for (uint32_t i = 0; i < p->item_count; i++)
		for (uint32_t k = 0; k < p->items[i].worker_count && left[i]; k++)
			consider(&first, &p->items[i], k);
	return first;
}

// Writes the message of a slot and its copies to further destinations; returns their number.
static uint64_t write_frames(struct worker_item *run, uint32_t slot, struct capture_packet *packet,
	struct capture_file *f)
{
	uint8_t frame[FRAME_ROOM];
	uint64_t n = 0;

	packet->data = frame;
	for (;; n++) {
		packet->len = packet->wire_len =
			worker_again(run, slot, (uint32_t)n, frame, sizeof(frame));
		if (packet->len == 0)
			return n;
		capture_file_write(f, packet);
	}
}

// Returns 0 if no slot is free, or, without replies, no client.
static uint64_t write_next(const struct plan *p, const struct turn *t, struct capture_file *f)
{
	const struct plan_item *item = t->item;
	struct worker_item *run = plan_run(item, t->worker);
	uint64_t due = run->pace.next;
	uint32_t slot = worker_take(&item->worker[t->worker], run, due);
	struct capture_packet packet = {.time = due,
		.comments = {item->settings->name},
		.interface = (uint16_t)(item->port - p->ports),
		.outbound = true};

	return slot == TXN_NONE ? 0 : write_frames(run, slot, &packet, f);
}

static uint64_t play(const struct plan *p, struct capture_file *f, struct arena *a)
{
	uint32_t *left = arena_zalloc(a, (p->item_count + 1) * sizeof(*left));
	uint64_t written = 0;
	struct turn t;

	for (uint32_t i = 0; i < p->item_count; i++)
		left[i] = DRYRUN_PACKETS / p->item_count;
	while ((t = next_turn(p, left)).item != NULL) {
		left[t.item - p->items]--;
		written += write_next(p, &t, f);
	}
	return written;
}

static int write_file(const struct plan *p, const char *path, struct arena *a, struct dryrun *out)
{
	const char **names = arena_zalloc(a, p->port_count * sizeof(*names));
	struct capture_file *f;
	int rc;

	for (uint32_t i = 0; i < p->port_count; i++)
		names[i] = p->ports[i].settings->name;
	f = capture_file_open(path, names, p->port_count);
	if (!f) {
		log_error("--dry-run %s: %s", path, strerror(errno));
		return EXIT_CONFIG;
	}
	out->packets = play(p, f, a);
	rc = capture_file_close(f);
	if (rc < 0)
		log_error("--dry-run %s: %s", path, strerror(-rc));
	return rc < 0 ? EXIT_ENVIRONMENT : EXIT_PASS;
}

int dryrun_write(const struct config *c, const char *path, struct arena *a, struct diag *d,
	struct dryrun *out)
{
	struct plan plan;
	int rc, code = EXIT_CONFIG;

	*out = (struct dryrun){0};
	if (c->traffic.count == 0) {
		log_error("%s: no traffic to write", c->file);
		return EXIT_CONFIG;
	}
	rc = plan_read_input(&plan, c, false, a, d);
	diag_print(d, stderr);
	if (rc == 0)
		code = pretend(&plan, a) < 0 ? EXIT_ENVIRONMENT : write_file(&plan, path, a, out);
	plan_free(&plan);
	return code;
}
