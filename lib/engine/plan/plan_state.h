// SPDX-License-Identifier: BSD-3-Clause
// The contents of a plan: items, ports, workers and responders, as structs. Path: cold. Management
// thread; const for the workers from the launch on.
#pragma once

#include <stdio.h>

#include "io/port_state.h"
#include "base/clock.h"
#include "engine/config/config.h"
#include "engine/core/responder/responder_state.h"
#include "engine/plan/schedule.h"
#include "engine/core/worker/worker_state.h"
#include "io/host/cpus.h"
#include "net/timestamps.h"

// Where a traffic item runs.
struct plan_item {
	const struct item_settings *settings;
	const struct port *port;
	struct worker *worker;      // the first of its workers; the others follow
	uint32_t worker_count;      // all workers of its port
	uint32_t place;             // in the items of each worker
	uint64_t seed;              // of all random choices in it
	struct worker_item *run;    // the first worker's
	struct proto_layout layout; // of facts; without a router: a path to the server, no ports
	struct field_list source_ports; // struct field_range: the engine's choice
	const uint8_t *homes;           // as in proto_env, if the device's hash or the fleet
	                                // determines them; over the fleet's addresses and workers
	const struct proto_path *paths; // of layout
	struct addr *next_hops;         // of each path: the destination, or the gateway
	uint32_t path_count;
	struct images images;
	void *shared; // the protocol's set-up
	struct proto_facts facts;
	struct hand_setup *hands;         // of facts.tls; NULL: none
	const struct h2_request *request; // of facts.https; NULL: none
	const char *times_of;             // file whose times the protocol reads itself; NULL: none
	struct timestamps replay;
	struct schedule schedule; // of an open loop
};

// Hand-over between the workers of a port; count 0: there is one worker.
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
	int32_t responder_port;            // index into ports, -1: none
	const struct neigh_advert *router; // advertisement of the responder; NULL: no router
	FILE *keylog;                      // output.keylog; NULL: none
	struct plan_crew *crew;            // NULL: none is needed
	// Handshakes of its connections over TLS, and of those with HTTP/2, by enum tls_fault;
	// NULL: none.
	struct hand_setup *responder_hands[TLS_FAULT_COUNT];
	struct hand_setup *responder_hands_http[TLS_FAULT_COUNT];
	struct hand_setup *responder_hands_quic[TLS_FAULT_COUNT];
	void **responder_shared;             // set-up of its protocols, index as in protos[]
	struct proto_facts *responder_facts; // likewise
	void **common;                       // proto_env.common, index as in protos[]
	struct plan_item *items;
	uint32_t item_count;
	struct event_times events;
	bool dry; // nothing is sent
};

// Returns the state of the item on a worker.
static inline struct worker_item *plan_run(const struct plan_item *i, uint32_t worker)
{
	return &i->worker[worker].items[i->place];
}

// Returns this box's part of the source addresses of the file; count 0: the port's own are used.
static inline struct field_list plan_given(const struct plan_item *i)
{
	return i->settings->source.addresses.count ? i->settings->facts.sources
	                                           : (struct field_list){0};
}
