// SPDX-License-Identifier: BSD-3-Clause
// From a configuration to the plan of the workers: CPU, port, source ports, slots and schedule of
// each. All needs of a worker are computed here, so that its loop decides nothing twice. Path:
// cold. Management thread; const for the workers from the launch on.
#pragma once

#include "io/port_state.h"
#include "base/clock.h"
#include "engine/config/config.h"
#include "engine/core/responder/responder.h"
#include "engine/plan/schedule.h"
#include "engine/core/worker/worker.h"
#include "io/host/cpus.h"
#include "net/timestamps.h"

// Where a traffic item runs.
struct plan_item {
	const struct item_settings *settings;
	const struct port *port;
	struct worker *worker;          // the first of those that share it; the others follow
	uint32_t worker_count;          // all workers of its port
	uint32_t place;                 // in the items of each of them
	uint64_t seed;                  // of all that is random in it
	struct worker_item *run;        // the first worker's
	struct proto_layout layout;     // of facts; without a router: a path to the server, no ports
	struct field_list source_ports; // struct field_range: those that the engine chooses from
	const uint8_t *homes;           // as in proto_env, where the device's hash or the fleet
	                                // tells them; of the fleet's addresses and workers
	const struct proto_path *paths; // of layout
	struct addr *next_hops;         // of each path: the destination, or the gateway
	uint32_t path_count;
	void *shared; // the protocol's set-up
	struct proto_facts facts;
	const char *times_of; // file whose times the protocol reads itself; NULL: none
	struct timestamps replay;
	struct schedule schedule; // of an open loop
};

// Between the workers of a port; count 0: it has one.
struct plan_hands {
	struct handoff *all;
	struct handoff_ring *rings;
	uint32_t count;
};

struct plan {
	const struct config *config;
	struct clock clock;
	_Atomic uint32_t phase;
	struct port_settings *port_settings; // of the ports that are started
	struct port *ports;
	uint32_t port_count;
	struct cpus cpus;
	struct lcore_plan lcores;
	struct worker *workers;        // port by port; the responder's have no items, not started
	uint32_t worker_count;         // worker i has lcores.worker_cpus[i]
	uint32_t *first_worker;        // of each port, and worker_count at the end
	struct plan_hands *hands;      // of each port
	struct neighbours *neighbours; // of each port
	struct responder *responders;  // one for each worker of its port
	uint32_t responder_count;
	int32_t responder_port;              // index into ports, -1: none
	const struct neigh_advert *router;   // what the responder advertises; NULL: it is no router
	void **responder_shared;             // set-up of its protocols, index as in protos[]
	struct proto_facts *responder_facts; // likewise
	void **common;                       // proto_env.common, index as in protos[]
	struct plan_item *items;
	uint32_t item_count;
	struct event_times events;
	bool dry; // nothing is sent
};

// The part of one of the item's workers.
static inline struct worker_item *plan_run(const struct plan_item *i, uint32_t worker)
{
	return &i->worker[worker].items[i->place];
}

// The source addresses of the file that this box answers for; count 0: the port's own are used.
static inline struct field_list plan_given(const struct plan_item *i)
{
	return i->settings->source.addresses.count ? i->settings->facts.sources
	                                           : (struct field_list){0};
}

// First of all: read and compile the input of the items and the responder. Touches no port;
// `check` stops here. Errors go to d: 0, -EINVAL, -ENOMEM, or -ENOSPC (logged). plan_free is due in
// any case.
int plan_read_input(
	struct plan *p, const struct config *c, bool respond_only, struct arena *a, struct diag *d);

// The workers of each port, from the CPUs of its settings.
void plan_workers(struct plan *p, struct arena *a);

// CPUs and ports, to be known before EAL starts. 0, or -errno with e.
int plan_start(struct plan *p, bool respond_only, struct arena *a, struct io_error *e);

// Does the box have the memory that the plan is going to take for its tables and, if ports, for
// packets? NULL: yes, or nobody knows. Otherwise the reason with the sum and its larger parts.
const char *plan_lacks_memory(const struct plan *p, bool ports, struct arena *a);

// Instead of plan_start: the CPUs and started ports of a plan before, whose configuration had the
// same.
void plan_adopt(struct plan *p, const struct plan *before, struct arena *a);

// The longest message of an item, in bytes; 0: each fits into any packet.
static inline uint32_t plan_item_longest(const struct plan_item *i)
{
	return i->facts.longest;
}

// What its input file has that is used, if that is not all; NULL: all.
static inline const char *plan_item_input(const struct plan_item *i)
{
	return i->facts.input;
}

// Bytes that the tables and histograms of an item are going to take. Its input is read.
uint64_t plan_item_memory(const struct plan *p, const struct plan_item *i);

// With the ports started: tables, templates (without the server's MAC). Calibrates the clock unless
// it is a set one. 0, -ENOMEM or -ERANGE (slots).
int plan_build(struct plan *p, struct arena *a);

// Tags of the frames on a path: the port's, then the path's own.
struct frame_vlans plan_vlans(const struct plan_item *i, uint32_t path);

// The next hop of a path has a MAC that is not to be asked for: broadcast, or a group.
bool plan_group_mac(const struct addr *hop, uint8_t mac[6]);

// The next hop's MAC is known: the item's frames on this path are complete.
void plan_address(struct plan_item *i, uint32_t path, const uint8_t mac[6]);

// The schedule from `start` (ticks) on, for all workers.
void plan_schedule(struct plan *p, uint64_t start);

// Protocols and tables; ports stay as they are. Safe on a plan that was only started or partly
// built. 0, or -errno when the leases of its clients could not be written to a file (logged).
int plan_free(struct plan *p);
