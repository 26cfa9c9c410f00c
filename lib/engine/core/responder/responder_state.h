// SPDX-License-Identifier: BSD-3-Clause
// A worker of the embedded server: it answers every request of its protocols on its queue pairs,
// with the faults of the settings. Workers share nothing.
// Path: hot (responder_loop) | cold (the struct is filled by plan_responder.c).
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "engine/core/conn.h"
#include "engine/core/responder/faults.h"
#include "engine/core/wire_state.h"
#include "engine/core/worker/worker_state.h"
#include "proto/proto.h"

struct responder_protocol {
	const struct proto *proto;
	const struct proto_server *server; // of proto
	uint16_t port;
	uint16_t ports;       // further ones after that port
	uint16_t tls_port;    // of connections over TLS; 0: none
	uint16_t https_port;  // of those with HTTP/2; 0: none
	uint16_t quic_port;   // of QUIC, over UDP; 0: none
	bool is_long;         // a reply may be longer than the MTU
	uint64_t later;       // ticks from a reply to its further messages
	conn_framing preface; // framing of the preface of connections; NULL: they have none
	uint32_t request_len; // of each message over a connection; 0: from its framing
	struct proto_ctx ctx;
	void *told; // copy of ctx.counters, see responder.asked
	const struct proto_fault
		*faults[FAULTS_MAX]; // by place in the table of faults; NULL: not of this protocol
};

// dataplane: wo, one atomic word each, so that the management thread may read them at any time.
struct responder_counts {
	RESPONDER_COUNTERS(COUNTER_ATOMIC_MEMBER, COUNTER_ATOMIC_MEMBER)
	PASS_COUNTERS(COUNTER_ATOMIC_MEMBER, COUNTER_ATOMIC_MEMBER, COUNTER_ATOMIC_MEMBER)
};

struct responder_conn_counts {
	RESPONDER_CONN_COUNTERS(COUNTER_ATOMIC_MEMBER, COUNTER_ATOMIC_MEMBER)
};

// The state of a connection above TCP.
struct responder_conn {
	uint32_t number; // among all accepted: a held-back reply belongs to this one
	uint32_t asked;  // requests so far
	uint32_t held;   // replies that are held back
	uint32_t more;   // replies of several messages that are not complete yet
	uint32_t at;     // microseconds: deadline for the next request, or for the client to close
	uint16_t flags;  // enum responder_conn_flag
	uint16_t fault;  // enum tls_fault: of its handshake, until that has begun
};

// A reply of several messages.
struct responder_more {
	struct responder_protocol *protocol;
	uint32_t conn, number; // responder_conn.number
	uint32_t more;         // proto_ctx.more
};

#define CONN_WAYS 255 // sets of MAC, VLANs and address family of peers

// The headers of packets to peers, without their addresses.
struct responder_ways {
	uint32_t count;
	struct frame_template all[CONN_WAYS + 1]; // the last one is being made
};

// Its connections over QUIC.
struct responder_quic {
	struct conns cs;
	struct responder_ways ways;
	struct responder_protocol *protocol; // of its port
	struct quic_outcomes outcomes;
	uint32_t *numbers; // of each connection, among all accepted
	uint32_t number;
};

// Its connections.
struct responder_conns {
	struct conns cs;
	// ctlplane: wo before the launch, dataplane: ro
	struct responder_conn *all; // [cs.count]
	uint32_t packet;            // largest packet to send
	uint32_t most;              // connections at a time
	uint32_t per_conn;          // messages; UINT32_MAX: any number
	uint32_t idle_us;           // 0: never
	int accept;                 // enum transport_accept
	bool drops;                 // drops a SYN beyond `most` instead of refusing it
	bool resets;                // resets a connection after per_conn instead of closing it
	uint64_t secret;            // for initial sequence numbers
	bool tls_fails;             // handshakes have faults
	uint32_t tls_slow_us;
	uint64_t tls_below[TLS_FAULT_COUNT]; // the sum of the shares up to each fault, times 2^64
	uint32_t more_blocks; // blocks in use beyond which no further message is made
	// dataplane: rw
	struct responder_conn_counts counts;
	struct tls_counters tls;
	_Atomic uint64_t tls_faults[TLS_FAULT_COUNT]; // ctlplane: ro at any time
	struct rand rand;
	uint32_t open, numbers;
	uint32_t more_count, more_turn; // where the next pass begins
	struct responder_more more[PROTO_MAX_MORE];
	struct responder_ways ways;
	uint8_t request[CONN_MESSAGE_MAX];
};

struct responder {
	// ctlplane: wo before the launch, dataplane: ro
	struct wire wire; // of the queue that is served now
	const struct port_queue *queues;
	uint32_t queue_first, queue_step, queue_end; // its queues
	struct responder_protocol *protocols;
	uint32_t protocol_count;
	uint32_t cpu;
	bool yields;
	const struct clock *clock;
	const _Atomic uint32_t *phase;
	uint64_t patience;        // ticks that a reordered reply waits for the next one
	uint64_t tx_patience;     // ticks that replies wait for a port that takes none
	uint64_t stall;           // ticks; a longer pass means that others had the CPU
	bool timed;               // a protocol has state that ages
	bool turns;               // replies are sent in the buffers of their requests
	uint64_t start, ms_scale; // clock_ms
	uint32_t mtu;
	uint8_t *scratch; // [FRAGMENTS_FRAME_MAX], for long replies; NULL: there are none
	// The management thread may read the protocols' copies when both are equal.
	_Atomic uint32_t asked; // ctlplane: wo; a new value requests a copy of the counters
	_Atomic uint32_t told;  // dataplane: wo
	// dataplane: rw
	struct idle idle;
	struct frame_template
		base; // of replies without VLAN and destination; addr_len 0: not made yet
	struct responder_counts counts;
	struct faults faults;
	struct rte_mbuf *out[BURST_MAX];
	uint16_t out_count;
	struct rte_mbuf *swapped; // sent after the next reply; NULL: none
	uint64_t swapped_leave, swapped_at;
	uint32_t fragment_id; // of the next reply in fragments
	QUEUE_COUNTERS(COUNTER_MEMBER)
	struct responder_conns *conns; // NULL: none of its protocols uses TCP
	struct responder_quic *quic;   // NULL: none uses QUIC
};
