// SPDX-License-Identifier: BSD-3-Clause
// A worker on a test bench: the test provides port, clock and protocol. The protocol writes key,
// step, tries and seq into a query; the sixth byte of a reply is its verdict. Ticks are
// nanoseconds.
// Path: cold. Tests.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/core/worker/worker.h"
#include "lib/test_port.h"

#define RIG_START    1000000000ull
#define RIG_MEASURE  (RIG_START + 10000)
#define RIG_END      (RIG_START + 100000)
#define RIG_GRACE    2000
#define RIG_INTERVAL 20000
#define RIG_GAP      1000 // of an item at a rate
#define RIG_TIMEOUT  5000
#define RIG_LOOK     2000 // between two looks; a test sets the first one
#define RIG_SLOTS    64
#define RIG_ITEMS    2
#define RIG_QUERIES  256 // that are remembered
#define RIG_STEPS    2
#define RIG_PORT     40000 // first source port of item 0; item 1: 100 above

// A query on the wire.
struct rig_query {
	uint8_t bytes[128];
	uint32_t len;
	enum frame_kind kind;
	struct frame f; // of bytes
	uint32_t key;
	uint8_t step, tries;
	uint64_t seq;
	uint16_t queue;
	uint64_t ol_flags;
};

// The next actions of the protocol, and its recorded inputs.
struct rig_script {
	enum proto_verdict timeout;
	bool nobody;      // begin: no client is free
	uint32_t clients; // begin: as many are free, all in all; 0: any number
	enum proto_lack lack;
	uint8_t first_step;
	bool silent;       // request: nothing answers
	bool no_sum;       // request: the sum is not known
	uint8_t wait;      // request
	uint16_t to_port;  // request: of the server; 0: the item's
	uint8_t next_step; // reply AGAIN, or timeout AGAIN: the step then
	bool step_on_timeout;
	bool step_when_kept; // KEPT continues with next_step
	uint8_t more;        // flow
	uint64_t takes;      // request: ticks that go by meanwhile
	uint32_t begun, timeouts, abandoned;
	uint32_t over; // replies to judge for ended transactions
	uint64_t over_seq;
	uint64_t now_ms;
	bool had_ends;
	const uint8_t *finds; // reply: the destination of the first path; NULL: none
	const void *counters; // of the last call
};

struct rig {
	struct worker w;
	struct worker_item items[RIG_ITEMS];
	struct txn_slot *slots[RIG_ITEMS]; // [RIG_SLOTS]
	struct rig_script script[RIG_ITEMS];
	struct proto proto; // of both items
	struct test_port port;
	uint64_t tick;
	struct clock clock;
	struct neighbours neighbours; // none, until the test adds some
	_Atomic uint32_t phase;
	struct item_snapshot snapshots[SNAPSHOTS][RIG_ITEMS];
	struct rig_query queries[RIG_QUERIES];
	uint32_t asked; // queries so far
};

extern struct rig rig;

// One item sends a query per RIG_GAP; the second one sends nothing. No snapshot is due before
// worker_begin.
int rig_fresh(void **state);
// Teardown for cmocka: stops the worker, and checks that no mbuf is left.
int rig_over(void **state);

// Makes item 0 a closed loop with this number outstanding; 0: as fast as possible.
void rig_closed(uint64_t outstanding);
// Gives item 0 two steps.
void rig_steps(void);
// Moves item 0 to IPv6, between 2001:db8::1 and ::2, or 2001:db8:1::1, and 2001:db8::9.
void rig_ipv6(void);
// Item 0 chooses its addresses and ports itself; its key has a tag.
void rig_routed(void);

// Puts all of item 0 into the measured part.
void rig_measured(void);
// Sends one measured query at 500 ticks after the start, and no other one for long.
void rig_ask(void);

// Makes a pass of the loop at `at` ticks after RIG_START.
bool rig_pass(uint64_t at);

// Receives a reply to a query, by its index; or one made by hand.
void rig_reply(uint32_t query, enum proto_verdict verdict);
struct rig_answer {
	const char *src, *dst;       // NULL: of the first query, turned round
	uint16_t src_port, dst_port; // 0: as src and dst
	uint32_t key;
	uint8_t verdict;
	uint32_t payload_len; // 0: 6
};
void rig_answer(struct rig_answer a);

struct ledger rig_ledger(uint32_t item); // warm-up and measured part
