// SPDX-License-Identifier: BSD-3-Clause
// A plan from YAML text for fuzz targets, as far as a run has it before it sends: on ports that
// were never opened and CPUs that need not be there. Path: tests only.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/config/config_load.h"
#include "engine/plan/plan.h"
#include "engine/plan/plan_neighbours.h"
#include "engine/plan/plan_start.h"
#include "io/driver/driver.h"

struct fuzz_plan {
	struct arena *a; // of the plan; the configuration has one of its own
	struct diag *d;
	struct plan plan;
	int rc;                       // of plan_read_input
	struct rte_mempool *pools[2]; // of each port, for plan_build; NULL: nothing is sent
};

static inline void require(bool holds)
{
	if (!holds)
		abort();
}

// Lives as long as the program, in the caller's arena.
static inline const struct config *fuzz_plan_config(const char *text, struct arena *a)
{
	struct diag *d = diag_new();
	const struct config *c = config_load_text("fuzz.yaml", text, strlen(text), a, d);

	log_set_level(LOG_QUIET);
	diag_print(d, stderr);
	require(c != NULL);
	diag_free(d);
	return c;
}

static inline struct fuzz_plan *fuzz_plan_read(const struct config *c)
{
	struct fuzz_plan *p = calloc(1, sizeof(*p));

	require(p != NULL);
	p->a = arena_new();
	p->d = diag_new();
	p->rc = plan_read_input(&p->plan, c, false, p->a, p->d);
	require(p->rc == 0 || p->rc == -ENOMEM || diag_count(p->d));
	return p;
}

// Each port has the number of its place, and any queue.
static inline void fuzz_plan_port(
	struct port *port, const struct port_settings *s, uint16_t number, struct rte_mempool *pool)
{
	*port = (struct port){.settings = s,
		.driver = driver_of(s),
		.mac = {2, 0, 0, 0, 1, (uint8_t)number},
		.queues = (uint16_t)port_cpu_count(s),
		.burst = 32};
	for (uint16_t q = 0; q < port->queues; q++)
		port->queue[q] = (struct port_queue){number, q};
	for (uint16_t q = 0; q < port->queues; q++)
		port->tx_pool[q] = pool;
}

// A tick is a nanosecond. Next hops have the MAC of the port that the item does not use.
static inline void fuzz_plan_build(struct fuzz_plan *f)
{
	struct plan *p = &f->plan;

	p->dry = true;
	p->port_settings = p->config->ports.items;
	p->port_count = p->config->ports.count;
	p->ports = arena_zalloc(f->a, p->port_count * sizeof(*p->ports));
	if (p->config->responder)
		p->responder_port = (int32_t)(config_responder_port(p->config) - p->port_settings);
	plan_workers(p, f->a);
	p->lcores.worker_count = p->worker_count;
	for (uint32_t i = 0; i < p->port_count; i++)
		fuzz_plan_port(&p->ports[i], &p->port_settings[i], (uint16_t)i, f->pools[i]);
	require(plan_build(p, f->a) == 0);
	for (uint32_t i = 0; i < p->item_count; i++)
		for (uint32_t n = 0; n < p->items[i].path_count; n++) {
			const struct port *other = &p->ports[p->items[i].port == p->ports];
			uint8_t mac[6];

			if (!plan_group_mac(&p->items[i].next_hops[n], mac))
				memcpy(mac, other->mac, 6);
			plan_address(&p->items[i], n, mac);
		}
}

static inline void fuzz_plan_free(struct fuzz_plan *p)
{
	plan_free(&p->plan);
	diag_free(p->d);
	arena_free(p->a);
	free(p);
}
