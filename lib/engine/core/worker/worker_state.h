// SPDX-License-Identifier: BSD-3-Clause
// A tester's worker: one CPU, one queue pair, its share of the items. The plan fills the structs
// in. The management thread reads what the worker writes only from a snapshot, or after the worker
// has ended. Path: hot.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hist.h"
#include "engine/core/worker/evidence.h"
#include "engine/core/counters.h"
#include "engine/core/idle.h"
#include "engine/core/pace.h"
#include "engine/core/servers.h"
#include "engine/core/txn.h"
#include "engine/core/wire.h"
#include "io/burst.h"
#include "io/handoff.h"
#include "io/driver/stamps.h"
#include "proto/proto.h"

enum run_phase { PHASE_WARMUP, PHASE_MEASURE, PHASE_DRAIN, PHASE_STOP };

// The schedule of a run in ticks. Const from the launch on.
struct run_times {
	uint64_t start;    // of the warm-up
	uint64_t measure;  // of the measured part
	uint64_t end;      // of sending
	uint64_t grace;    // ticks after the end in which due transactions are still sent
	uint64_t interval; // between snapshots, counted from measure
};

// Which loop an item has (enum item_feature in worker_internal.h). The narrower ones are shorter.
enum item_kind {
	ITEM_FULL,   // any item
	ITEM_PLAIN,  // one message over UDP and its reply, no feature
	ITEM_ROUTED, // DHCP: the protocol chooses clients and paths
	ITEM_CONNS,  // plain, but over connections, or truncated answers continue there
	ITEM_KINDS,
};

// Which item and which of its source ports a destination port belongs to.
struct port_entry {
	uint16_t item; // PORT_NOBODY: none
	uint16_t index;
};

#define PORT_NOBODY UINT16_MAX

// The worker that owns a destination port of the port; packets to other ports stay where they are.
enum port_home { PORT_HOME_KEY = UINT8_MAX - 1, PORT_HOME_ANY };

#define WORKER_ASKS 4 // questions before the run, of a worker and item

// Of one step of multi-step exchanges, measured part only.
struct step_books {
	STEP_COUNTERS(COUNTER_MEMBER)
	struct hist response, service;
};

#define EARLIER 128 // intervals that replies are told apart by; the last has all that are older

// Replies in the measured part whose requests were due before the interval in which they came:
// [0] in the one before, [1] in the one before that.
struct earlier_books {
	uint64_t answered[EARLIER], failed[EARLIER];
	uint64_t time[EARLIER]; // sum of their response latencies, ticks
};

// Booked to [0] when due in the warm-up, to [1] when due in the measured part.
struct item_books {
	struct ledger ledger[2];
	struct item_counters counts[2];
	struct earlier_books earlier;
	// Longest time without a valid answer, from the first due send of the measured part on.
	uint64_t longest_gap;
	struct hist response, service, lag; // of the measured part
};

struct server_books {
	SERVER_COUNTERS(COUNTER_MEMBER)
	uint64_t longest_gap; // ticks in which it was asked and gave no valid answer
};

// A copy of all that a worker counts of an item.
struct item_snapshot {
	struct pace pace;
	uint64_t ended_at; // UINT64_MAX: not yet
	struct item_books books;
	struct step_books *steps; // as worker_item.steps
	struct conn_books *conns; // of worker_item.conns; NULL: it has none
	void *banks[2];           // as worker_item.banks
	struct server_books servers[SERVERS_MAX];
};

// Of one interval boundary: a copy of all that a worker counts.
struct worker_snapshot {
	struct item_snapshot *items; // item_count
	uint64_t at;
	uint64_t number; // counted from 1
	struct wire_counters wire;
	QUEUE_COUNTERS(COUNTER_MEMBER)
	WORKER_COUNTERS(COUNTER_MEMBER, COUNTER_MEMBER, COUNTER_PARTS_MEMBER)
	PASS_COUNTERS(COUNTER_MEMBER, COUNTER_MEMBER, COUNTER_SKIP)
	HANDOFF_COUNTERS(COUNTER_MEMBER, COUNTER_MEMBER, COUNTER_MEMBER)
};

// Of an item, at a look of worker_hops.
struct item_looked {
	uint64_t sent, came, lost;
};

#define SNAPSHOTS    3
#define SNAPSHOT_NEW 4u // beside an index: not read yet

#define WORKER_EVENTS 16

// Ticks of the events of a run, ascending, and UINT64_MAX behind them.
struct event_times {
	uint64_t at[WORKER_EVENTS + 1];
	uint32_t count;
};

// Ticks between which no valid answer came.
struct gap {
	uint64_t from, to;
};

// A transaction whose further message was sent.
struct resent {
	uint32_t slot;
	uint64_t before; // tick of the message before
};

// Replies that did not come from where the messages went.
struct item_elsewhere {
	struct addr from; // of the first one
	uint16_t port;
	uint64_t same[2], rest[2]; // from there, and from anywhere else; as item_books.ledger
};

struct worker_item {
	// ctlplane: wo before the launch, dataplane: ro
	const struct proto *proto;
	enum item_kind kind;               // item_kind_of: set by worker_begin
	const struct proto_router *router; // of proto; NULL: the engine chooses addresses and ports
	uint8_t more;                      // copies of one message at most, beside itself
	struct frame_template *frames;     // one per path of the protocol's, or the only one
	const uint32_t *hops;              // of each: index into the port's next hops, or HOP_NONE
	uint32_t path_count;
	uint32_t tag;       // with a router: the upper bits of its keys
	uint32_t tag_shift; // where they begin
	struct addr server;
	uint16_t server_port;
	uint64_t server_plain; // both of them: frame_plain_from_of
	const uint16_t *ports;
	const struct addr_range *sources;
	uint32_t source_ranges;
	uint64_t *waits;                  // [txns.waits]; the first is the item's timeout
	void *banks[2];                   // the protocol's counters, as item_books.ledger
	void *shadow;                     // counters of replies that are only looked at
	uint64_t begun_at;                // tick: of its measured part
	bool opened;                      // ctx is to be closed
	const struct evidence *evidence;  // NULL: nothing is captured
	const struct event_times *events; // NULL: none
	uint64_t gap_least;               // ticks: shorter gaps are no event's
	uint64_t asked[WORKER_ASKS];      // transactions of the steering probe: see txn_before
	uint32_t asked_count;
	// ctlplane: wo while it runs, dataplane: ro: number of the last order for another rate; 0:
	// none. Its gap, as pace_change has it, holds from the first interval that begins at gap_at
	// or later.
	_Atomic uint32_t gap_number;
	_Atomic uint64_t gap_asked, gap_at;
	// ctlplane: ro, dataplane: wo: since when the last one holds
	_Atomic uint64_t gap_from;
	// dataplane: rw
	// Scalars of a packet lie together; tables and histograms follow.
	struct proto_ctx ctx;
	uint16_t pending_first, pending_count;
	uint64_t starved_at; // tick: of the first that had no client; of a closed loop since when
	                     // none begins and none is in flight. 0: never
	bool ended;          // nothing more will become due
	uint64_t gap_taken;  // gap_number of the order that holds
	const char *note;    // further comment on the answer that is captured now
	uint64_t ended_at;
	uint64_t left_over;   // of load.total at that time
	uint64_t judged_from; // number of the first transaction of the measured part
	uint64_t answered_at;
	uint64_t interval;      // as run_times.interval
	uint64_t interval_from; // tick: of the interval that the next snapshot ends; 0: the first
	uint64_t earlier_than;  // tick: that one, or the end of the last gap of an event
	uint64_t first_sent;    // tick, in the warm-up too; 0: nothing was sent
	uint64_t last_answer;   // tick, after the end of sending too
	struct item_looked looked;
	struct step_books *steps;       // [proto_steps(proto)]; NULL: there is only one
	uint64_t *step_due;             // tick, of each slot
	struct worker_conns *conns;     // NULL: all messages travel over UDP
	struct worker_servers *servers; // NULL: there is one, and it is asked once
	struct hist *waited; // response, by event: of those that were due before the end of its gap
	bool stream;         // all travel over connections
	bool any_port;       // a server replies from any of its ports, and is asked there
	bool one_by_one;     // stream or any_port: no block has its replies
	bool asks;           // the protocol says when transactions begin (proto.due)
	bool (*begin)(struct proto_ctx *ctx, struct proto_txn *t); // proto.begin
	const struct worker_item *follows;                         // NULL: none
	struct hist *marks;                                        // of a follower, by mark
	struct worker_item **followers;                            // follower_count; NULL: none
	uint32_t follower_count;
	uint8_t vlan_at; // of the first VLAN inside those of the port, in a frame
	struct pace pace;
	struct txn_table txns;
	struct rte_mbuf *pending[BURST_MAX]; // built, not sent yet
	uint32_t pending_slots[BURST_MAX];   // TXN_NONE: a copy of another
	uint32_t resent_count;
	struct resent resent[BURST_MAX]; // further messages of the last burst that was built
	struct gap gaps[WORKER_EVENTS];  // the longest between an event and the next one
	struct item_elsewhere elsewhere;
	const char *malformed; // why the first malformed reply does not parse; NULL: there is none
	struct item_books books;
};

struct worker {
	// ctlplane: wo before the launch, dataplane: ro
	struct wire wire;
	struct worker_item *items;
	uint32_t item_count;
	uint32_t cpu;
	uint32_t port;                     // index into the plan's
	uint32_t number;                   // among the workers of that port
	bool yields;                       // shares its CPU with another worker
	uint16_t spares;                   // each round begins with this number of them
	const struct port_entry *by_port;  // [65536], of the worker that it is for
	const uint8_t *home;               // [65536]: a worker's number, or enum port_home
	struct handoff *hand;              // NULL: it is the port's only worker
	struct worker_item *const *tagged; // items with a router, by the tag of their keys
	uint32_t tagged_count;
	uint32_t tag_first; // of this worker's tags
	uint32_t before;    // workers of other boxes, whose tags come before those of the port
	uint32_t tag_bits;  // that tell its items apart, below the worker's number
	uint64_t ms_scale;  // clock_ms
	struct run_times times;
	const _Atomic uint32_t *phase;
	uint64_t stall;      // a pass of the loop longer than this: the CPU was elsewhere
	uint64_t look_every; // ticks between two looks whether replies come
	const struct clock *clock;
	// dataplane: rw
	struct idle idle;
	struct stamps stamps; // of its queue
	uint64_t back_at;     // at which it had its CPU again after a stop
	uint16_t spare_count;
	uint32_t full_bursts;  // received in a row
	uint64_t expire_after; // nothing expires before: the CPU was elsewhere
	uint64_t next_expiry;  // nothing expires before: nothing has waited for its timeout
	uint64_t stop_at;      // no sends from here on: end, or when the phase said so
	uint64_t next_publish;
	uint64_t look_at;
	uint32_t moved; // as the port's, when the templates were aimed
	uint32_t held;  // loops since then
	bool all_ended; // every item has: the measured part is over
	struct rte_mbuf *spare[BURST_MAX];
	QUEUE_COUNTERS(COUNTER_MEMBER)
	WORKER_COUNTERS(COUNTER_MEMBER, COUNTER_MEMBER, COUNTER_PARTS_MEMBER)
	struct hist passes; // of the loop in the measured part, the longest one too
	struct hist wake;   // from the arrival of a packet until it was seen, of the same, if its
	                    // queue has stamps
	PASS_COUNTERS(COUNTER_MEMBER, COUNTER_MEMBER, COUNTER_SKIP)
	_Atomic bool finished; // nothing to send, nothing in flight
	// One snapshot is the worker's to fill, one the reader's, and the third changes hands: each
	// swaps its own for that one, so neither waits and neither sees the other's work.
	struct worker_snapshot snapshots[SNAPSHOTS];
	uint32_t filling;           // index
	uint32_t reading;           // index; ctlplane: rw
	_Atomic uint32_t handed;    // index, and SNAPSHOT_NEW; both: rw
	_Atomic uint64_t published; // number of the last one
};
