// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files of the plan only. Path: cold. Management thread.
#pragma once

#include "engine/plan/plan_item.h"
#include "engine/plan/plan_neighbours.h"
#include "engine/plan/plan_state.h"

#define PLAN_STALL_NS 1000000 // of a pass of a worker or responder: many bursts' worth
#define PLAN_GAP_NS   100000  // shortest gap between replies that is examined for events
#define PLAN_GRACE_NS                                                                              \
	20000000 // after the end, for sends that were due before; for a port that takes none
#define PLAN_LOOK_NS      250000000 // between a worker's checks for replies
#define PLAN_UNKNOWN_RATE 200000    // requests per second, where no rate is given

// Finds the next hop of each path of the item.
void plan_next_hops(struct plan_item *i, struct arena *a);

// Lists the next hops of each port, when the items are open, and the index of each path's.
void plan_neighbours(struct plan *p, struct arena *a);

// Three steps from the settings of an item to its compiled input; errors go to d. Each returns 0,
// -EINVAL or -ENOMEM. The first reads the times of a replay, unless the protocol reads them along
// with its messages.
int plan_item_read(const struct plan *p, struct plan_item *i, struct arena *a, struct diag *d);
int plan_item_setup(struct plan *p, struct plan_item *i, struct arena *a, struct diag *d);
// Checks that the port can carry the messages and return the replies.
void plan_item_check(const struct plan *p, const struct plan_item *i, struct diag *d);

// Opens the tables of all its workers. Returns 0, -ENOMEM or -ERANGE (slots).
int plan_item_open(struct plan *p, struct plan_item *i, struct arena *a);
// Returns 0, or -errno if its state could not be written.
int plan_item_close(struct plan_item *i);

// Compiles the responder's settings; errors go to d. Returns 0, -EINVAL, -ENOMEM, or -ENOSPC if the
// box lacks the memory (logged).
int plan_responder_setup(struct plan *p, struct arena *a, struct diag *d);

// Call with the ports started. Returns 0 or -errno.
int plan_responder_open(struct plan *p);
void plan_responder_close(struct plan *p);

// Returns the bytes that an item's connections take on one worker. slots: the worker's; rows: ports
// and addresses of all workers.
uint64_t plan_conn_memory(const struct plan_item *i, uint64_t slots, uint64_t rows);

// Completes the frames of connections with the path to the server.
void plan_conn_address(
	struct worker_item *run, const struct frame_path *path, bool checksum_offload);

// Returns the connection seats of a worker of the item; 0: its messages travel over UDP, at first.
uint32_t plan_seats(const struct plan_item *i, uint32_t worker);
// Opens the connections of a worker, after its transactions. Returns 0 or -ENOMEM.
int plan_conn_open(struct plan *p, struct plan_item *i, uint32_t worker, uint32_t port_count,
	uint32_t clients);
void plan_conn_close(struct worker_item *run);

// Opens the connections of a worker of the responder. Returns 0 or -ENOMEM.
int plan_responder_conns(struct plan *p, struct responder *r, const struct port *port);
void plan_responder_conns_close(struct responder *r);
