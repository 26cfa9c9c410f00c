// SPDX-License-Identifier: BSD-3-Clause
// A tester's worker: one CPU, one queue pair, its share of the items. The plan fills in the
// structs. The management thread reads the worker's data only from a snapshot, or after the worker
// has ended. Path: hot.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hist.h"
#include "engine/core/worker/evidence.h"
#include "engine/core/counters.h"
#include "engine/core/idle.h"
#include "engine/core/images.h"
#include "engine/core/pace.h"
#include "engine/core/servers.h"
#include "engine/core/txn.h"
#include "engine/core/wire_state.h"
#include "io/handoff.h"
#include "io/driver/stamps.h"
#include "proto/proto.h"

enum run_phase { PHASE_WARMUP, PHASE_MEASURE, PHASE_DRAIN, PHASE_STOP };

// The schedule of a run in ticks. Const from the launch on.
struct run_times {
	uint64_t start;    // of the warm-up
	uint64_t measure;  // of the measured part
	uint64_t end;      // of sending
	uint64_t grace;    // ticks after the end in which transactions due before are still sent
	uint64_t interval; // between snapshots, counted from measure
};

// Selects the loop of an item (enum item_feature in worker_internal.h). Narrower ones are shorter.
enum item_kind {
	ITEM_FULL,   // any item
	ITEM_PLAIN,  // one message over UDP and its reply, no feature
	ITEM_ROUTED, // the protocol chooses clients and paths
	ITEM_CONNS,  // plain, but over connections, or truncated answers continue there
	ITEM_KINDS,
};

// How replies to an item are recognised in a block.
enum plain_way {
	PLAIN_ONE,     // by its headers: from one server to one source
	PLAIN_SEVERAL, // of several servers or sources
	PLAIN_ROUTED,  // by its key; the protocol judges addresses and ports
	PLAIN_WAYS,
	PLAIN_NONE = PLAIN_WAYS, // not in blocks: over connections, or from any port
};

// The item that a destination port belongs to, and the port's index among its source ports.
struct port_entry {
	uint16_t item; // PORT_NOBODY: none
	uint16_t index;
};

#define PORT_NOBODY UINT16_MAX

// Values of worker.home besides the numbers of workers: the key names the worker, or packets stay
// where they are.
enum port_home { PORT_HOME_KEY = UINT8_MAX - 1, PORT_HOME_ANY };

#define WORKER_ASKS 4 // probes before the run, per worker and item

// Counters of one step of multi-step exchanges, measured part only.
struct step_books {
	STEP_COUNTERS(COUNTER_MEMBER)
	struct hist response, service;
};

#define EARLIER 128 // earlier intervals counted apart; the last includes all older ones

// Replies in the measured part to requests that were due in an earlier interval: [0] in the
// previous one, [1] in the one before.
struct earlier_books {
	uint64_t answered[EARLIER], failed[EARLIER];
	uint64_t time[EARLIER]; // sum of their response latencies, ticks
};

// [0]: due in the warm-up, [1]: due in the measured part.
struct item_books {
	struct ledger ledger[2];
	struct item_counters counts[2];
	struct earlier_books earlier;
	// Longest time without a valid reply, from the first due send of the measured part on.
	uint64_t longest_gap;
	struct hist response, service, lag; // of the measured part
};

struct server_books {
	SERVER_COUNTERS(COUNTER_MEMBER)
	uint64_t longest_gap; // most ticks from a message to the server's next reply in time
};

// A copy of all counters of an item.
struct item_snapshot {
	struct pace pace;
	uint64_t ended_at; // UINT64_MAX: not yet
	struct item_books books;
	struct step_books *steps; // as worker_item.steps
	struct conn_books *conns; // of worker_item.conns; NULL: it has none
	void *banks[2];           // as worker_item.banks
	struct server_books servers[SERVERS_MAX];
};

// A copy of all counters of a worker at one interval boundary.
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

// Counters of an item when worker_hops last looked at it.
struct item_looked {
	uint64_t sent, came, lost;
};

#define SNAPSHOTS    3
#define SNAPSHOT_NEW 4u // flag of an index: not read yet

#define WORKER_EVENTS 16

// Ticks of the events of a run, ascending, followed by UINT64_MAX.
struct event_times {
	uint64_t at[WORKER_EVENTS + 1];
	uint32_t count;
};

// Ticks between which no valid reply arrived.
struct gap {
	uint64_t from, to;
};

// A transaction of which a further message was sent.
struct resent {
	uint32_t slot;
	uint64_t before; // tick of the previous message
};

// Replies from another address or port than the messages went to.
struct item_elsewhere {
	struct addr from; // of the first one
	uint16_t port;
	uint64_t same[2], rest[2]; // from there, and from elsewhere; as item_books.ledger
};

struct worker_item {
	// ctlplane: wo before the launch, dataplane: ro
	const struct proto *proto;
	enum item_kind kind;               // item_kind_of: set by worker_begin
	enum plain_way way;                // set by worker_begin
	const struct proto_router *router; // of proto; NULL: the engine chooses addresses and ports
	uint8_t more;                      // most copies of one message, besides itself
	struct frame_template *frames;     // one per path of the protocol, or a single one
	const uint32_t *hops;              // by frame: index into the port's next hops, or HOP_NONE
	uint32_t path_count;
	const struct images *images; // of all messages; NULL: the protocol writes each
	uint32_t tag;                // with a router: the upper bits of its keys
	uint32_t tag_shift;          // where they begin
	bool keyless;                // the key of each message is 0: its stream identifies it
	struct addr server;
	uint16_t server_port;
	const uint16_t *ports;
	const struct addr_range *sources;
	uint32_t source_ranges;
	uint64_t *waits;                  // [txns.waits]; the first is the item's timeout
	void *banks[2];                   // the protocol's counters, as item_books.ledger
	void *shadow;                     // protocol counters of messages that do not count
	uint64_t begun_at;                // tick: start of its measured part
	bool opened;                      // ctx has to be closed
	const struct evidence *evidence;  // NULL: nothing is captured
	const struct event_times *events; // NULL: none
	uint64_t gap_least;               // ticks: shorter gaps are not due to an event
	uint64_t asked[WORKER_ASKS];      // transactions of the steering probe: see txn_before
	uint32_t asked_count;
	// ctlplane: wo while it runs, dataplane: ro: number of the last change of the rate; 0:
	// none. Its gap, as in pace_change, applies from the first interval that begins at gap_at
	// or later.
	_Atomic uint32_t gap_number;
	_Atomic uint64_t gap_asked, gap_at;
	// ctlplane: ro, dataplane: wo: start of the last change
	_Atomic uint64_t gap_from;
	// dataplane: rw
	// Scalars used for each packet are adjacent; tables and histograms follow.
	struct frame_mask plain; // headers of replies in a block: set by worker_begin
	struct proto_ctx ctx;
	uint16_t pending_first, pending_count;
	uint64_t starved_at;   // tick: first due transaction without a client; closed loop: since
	                       // when none begins and none is in flight. 0: never
	bool ended;            // nothing more will become due
	uint64_t gap_taken;    // gap_number of the change in effect
	const char *note;      // further comment on the reply being captured
	const char *failed_by; // why a reply fails that the protocol does not judge; NULL
	uint64_t ended_at;
	uint64_t left_over;   // of load.total at that time
	uint64_t judged_from; // number of the first transaction of the measured part
	uint64_t answered_at;
	uint64_t interval;      // as run_times.interval
	uint64_t interval_from; // tick: start of the current interval; 0: the first
	uint64_t earlier_than;  // tick: interval_from, or the end of an event's last gap
	uint64_t first_sent;    // tick, also in the warm-up; 0: nothing was sent
	uint64_t last_answer;   // tick, also after the end of sending
	struct item_looked looked;
	struct step_books *steps;       // [proto_steps(proto)]; NULL: there is only one
	uint64_t *step_due;             // tick, by slot
	struct worker_conns *conns;     // NULL: all messages travel over UDP
	struct worker_servers *servers; // NULL: a single one, which is asked once
	struct hist *waited; // response, by event: transactions due before the end of its gap
	bool stream;         // all messages travel over connections
	bool any_port;       // a server replies from any of its ports, and is asked there
	bool asks;           // the protocol decides when transactions begin (proto.due)
	uint32_t (*begin)(struct proto_ctx *ctx, struct proto_txn *t, uint32_t n); // proto.begin
	const struct worker_item *follows;                                         // NULL: none
	struct hist *marks;             // of a follower, by mark
	struct worker_item **followers; // follower_count; NULL: none
	uint32_t follower_count;
	uint8_t vlan_at; // offset in a frame of the first VLAN after the port's
	struct pace pace;
	struct txn_table txns;
	struct rte_mbuf *pending[BURST_MAX]; // built, not sent yet
	uint32_t pending_slots[BURST_MAX];   // TXN_NONE: a copy of another message
	uint32_t resent_count;
	struct resent resent[BURST_MAX]; // further messages in the last burst that was built
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
	uint32_t port;                     // index into the plan's ports
	uint32_t number;                   // among the workers of that port
	bool yields;                       // shares its CPU with another worker
	uint16_t spares;                   // spare buffers of a burst, up to BURST_MAX
	const struct port_entry *by_port;  // [65536], of the worker that owns the port
	const uint8_t *home;               // [65536]: a worker's number, or enum port_home
	struct handoff *hand;              // NULL: it is the port's only worker
	struct worker_item *const *tagged; // items with a router, by the tag of their keys
	uint32_t tagged_count;
	uint32_t tag_first; // first of this worker's tags
	uint32_t before;    // workers of other boxes, whose tags precede the port's
	uint32_t tag_bits;  // of the tag for its items, below the worker's number
	uint64_t ms_scale;  // clock_ms
	struct run_times times;
	const _Atomic uint32_t *phase;
	uint64_t stall;      // ticks; a longer pass means that others had the CPU
	uint64_t look_every; // ticks between two checks that replies arrive
	const struct clock *clock;
	// dataplane: rw
	struct idle idle;
	struct stamps stamps; // of its queue
	uint64_t back_at;     // tick at which it got its CPU back after a stop
	uint16_t spare_count;
	uint32_t full_bursts;  // received in a row
	uint64_t expire_after; // nothing expires before: others had the CPU
	uint64_t next_expiry;  // nothing expires before: no timeout has passed
	uint64_t stop_at;      // nothing is sent from then on: the end, or the drain if earlier
	uint64_t next_publish;
	uint64_t look_at;
	uint32_t moved; // neighbours.moved when the templates were aimed
	uint32_t held;  // passes by which a snapshot was delayed
	bool all_ended; // every item has ended: the measured part is over
	struct rte_mbuf *spare[2 * BURST_MAX];
	QUEUE_COUNTERS(COUNTER_MEMBER)
	WORKER_COUNTERS(COUNTER_MEMBER, COUNTER_MEMBER, COUNTER_PARTS_MEMBER)
	struct hist passes; // of the loop in the measured part, including the longest
	struct hist wake;   // from the arrival of a packet until it was read, in the measured part,
	                    // if its queue has stamps
	PASS_COUNTERS(COUNTER_MEMBER, COUNTER_MEMBER, COUNTER_SKIP)
	_Atomic bool finished; // nothing to send, nothing in flight
	// The worker fills one snapshot, the management thread reads another, and the third changes
	// hands: each swaps its own for it, so neither waits for the other or sees its work.
	struct worker_snapshot snapshots[SNAPSHOTS];
	uint32_t filling;           // index
	uint32_t reading;           // index; ctlplane: rw
	_Atomic uint32_t handed;    // index, and SNAPSHOT_NEW; both: rw
	_Atomic uint64_t published; // number of the last one
};
