// SPDX-License-Identifier: BSD-3-Clause
// A worker of the embedded server: the queue pairs that are its, answers every request of the
// protocols that it is told, as well or as badly as its faults say. Several of them share nothing.
// Path: hot (responder_loop) | cold (the struct is filled by plan_responder.c).
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "engine/core/conn.h"
#include "engine/core/responder/faults.h"
#include "engine/core/wire.h"
#include "engine/core/worker/worker_state.h"
#include "proto/proto.h"

struct responder_protocol {
	const struct proto *proto;
	const struct proto_server *server; // of proto
	uint16_t port;
	uint16_t ports;       // that it has after that one
	bool is_long;         // an answer may be longer than the MTU
	uint64_t later;       // ticks from an answer to its further messages
	conn_framing preface; // of what connections begin with; NULL: of nothing
	uint32_t request_len; // of each message over a connection; 0: its framing knows
	struct proto_ctx ctx;
	void *told; // as ctx.counters: a copy of them, see responder.asked
	const struct proto_fault
		*faults[FAULTS_MAX]; // by place in the table of faults, NULL: not its own
};

// dataplane: wo, one atomic word each, so that the management thread may read them at any time.
struct responder_counts {
	RESPONDER_COUNTERS(COUNTER_ATOMIC_MEMBER, COUNTER_ATOMIC_MEMBER)
	PASS_COUNTERS(COUNTER_ATOMIC_MEMBER, COUNTER_ATOMIC_MEMBER, COUNTER_ATOMIC_MEMBER)
};

struct responder_conn_counts {
	RESPONDER_CONN_COUNTERS(COUNTER_ATOMIC_MEMBER, COUNTER_ATOMIC_MEMBER)
};

// Of a connection, beside its TCP.
struct responder_conn {
	uint32_t number; // among all that came: an answer that is held back is for this one
	uint32_t asked;  // messages so far
	uint32_t held;   // answers that leave later
	uint32_t more;   // answers of several messages
	uint32_t at;     // microseconds: it is idle then, or the client has closed it by then
	uint32_t flags;  // enum responder_conn_flag
};

// An answer of several messages.
struct responder_more {
	struct responder_protocol *protocol;
	uint32_t conn, number; // responder_conn.number
	uint32_t more;         // proto_ctx.more
};

#define CONN_WAYS 255 // MACs, VLANs and families of peers at once

// Its connections.
struct responder_conns {
	struct conns cs;
	// ctlplane: wo before the launch, dataplane: ro
	struct responder_conn *all; // [cs.count]
	uint32_t packet;            // largest packet that it sends
	uint32_t most;              // connections at a time
	uint32_t per_conn;          // messages; UINT32_MAX: any number
	uint32_t idle_us;           // 0: never
	int accept;                 // enum transport_accept
	bool drops;                 // a SYN beyond `most`, in place of refusing it
	bool resets;                // after per_conn, in place of closing
	uint64_t secret;            // of initial sequence numbers
	uint32_t more_blocks;       // in use, beyond which no further message is made
	// dataplane: rw
	struct responder_conn_counts counts;
	uint32_t open, numbers;
	uint32_t more_count, more_turn; // where the next pass begins
	struct responder_more more[PROTO_MAX_MORE];
	uint32_t way_count;
	struct frame_template ways[CONN_WAYS + 1]; // without destination
	uint8_t request[CONN_MESSAGE_MAX];
};

struct responder {
	// ctlplane: wo before the launch, dataplane: ro
	struct wire wire; // of the queue that it is at
	const struct port_queue *queues;
	uint32_t queue_first, queue_step, queue_end; // which of them are its
	struct responder_protocol *protocols;
	uint32_t protocol_count;
	uint32_t cpu;
	bool yields;
	const struct clock *clock;
	const _Atomic uint32_t *phase;
	uint64_t patience;        // ticks that a reordered answer waits for a next one
	uint64_t tx_patience;     // ticks that answers wait for a port that takes none
	uint64_t stall;           // a pass longer than this: the CPU was elsewhere
	bool timed;               // a protocol has a state that ages
	bool turns;               // answers go back in the buffers that the requests came in
	uint64_t start, ms_scale; // clock_ms
	uint32_t mtu;
	uint8_t *scratch; // [FRAGMENTS_FRAME_MAX], for long answers; NULL: there are none
	// The management thread may read protocols[].told when both are the same.
	_Atomic uint32_t asked; // ctlplane: wo; another value: copy the counters
	_Atomic uint32_t told;  // dataplane: wo
	// dataplane: rw
	struct idle idle;
	struct frame_template
		base; // of replies without VLAN and destination; addr_len 0: not made yet
	struct responder_counts counts;
	struct faults faults;
	struct rte_mbuf *out[BURST_MAX];
	uint16_t out_count;
	struct rte_mbuf *swapped; // leaves after the next answer; NULL: none
	uint64_t swapped_leave, swapped_at;
	uint32_t fragment_id; // of the next answer in fragments
	QUEUE_COUNTERS(COUNTER_MEMBER)
	struct responder_conns *conns; // NULL: none of its protocols speaks over streams
};
