// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files of the plan only. Path: cold. Management thread.
#pragma once

#include "engine/plan/plan_item.h"
#include "engine/plan/plan_neighbours.h"
#include "engine/plan/plan_state.h"

#define PLAN_STALL_NS 1000000 // of a pass of a worker or responder: many bursts' worth
#define PLAN_GAP_NS   100000  // gaps of answers from here on are looked at for events
#define PLAN_GRACE_NS                                                                              \
	20000000 // after the end, for sends that were due before; for a port that takes none
#define PLAN_LOOK_NS      250000000 // between two looks of a worker whether replies come
#define PLAN_UNKNOWN_RATE 200000    // of requests per second, where no rate says how many

// The next hop of each path of the item.
void plan_next_hops(struct plan_item *i, struct arena *a);

// The next hops of each port, when the items are open, and the place of each path's among them.
void plan_neighbours(struct plan *p, struct arena *a);

// Three steps from the settings of an item to its compiled input; errors go to d. Each returns 0,
// -EINVAL or -ENOMEM. The first reads the times of a replay, unless the protocol reads them along
// with its messages.
int plan_item_read(const struct plan *p, struct plan_item *i, struct arena *a, struct diag *d);
int plan_item_setup(struct plan *p, struct plan_item *i, struct arena *a, struct diag *d);
// Does its port carry the messages, and bring back the replies?
void plan_item_check(const struct plan *p, const struct plan_item *i, struct diag *d);

// The tables of all its workers. 0, -ENOMEM or -ERANGE (slots).
int plan_item_open(struct plan *p, struct plan_item *i, struct arena *a);
// 0, or -errno when its state could not be written.
int plan_item_close(struct plan_item *i);

// Compile the responder's settings; errors go to d. 0, -EINVAL, -ENOMEM, or -ENOSPC when the box
// has not the memory (logged).
int plan_responder_setup(struct plan *p, struct arena *a, struct diag *d);

// With the ports started. 0 or -errno.
int plan_responder_open(struct plan *p);
void plan_responder_close(struct plan *p);

// Bytes of the connections of one of an item's workers. slots: the worker's; rows: ports and
// addresses of all workers.
uint64_t plan_conn_memory(const struct plan_item *i, uint64_t slots, uint64_t rows);

// The way to the server is known.
void plan_conn_address(
	struct worker_item *run, const struct frame_path *path, bool checksum_offload);

// The seats of connections that a worker of the item has; 0: its messages
// travel over UDP, at first.
uint32_t plan_seats(const struct plan_item *i, uint32_t worker);
// The connections of a worker, after its transactions. 0 or -ENOMEM.
int plan_conn_open(struct plan *p, struct plan_item *i, uint32_t worker, uint32_t port_count,
	uint32_t clients);
void plan_conn_close(struct worker_item *run);

// Those of a worker of the responder. 0 or -ENOMEM.
int plan_responder_conns(struct plan *p, struct responder *r, const struct port *port);
void plan_responder_conns_close(struct responder *r);
