// SPDX-License-Identifier: BSD-3-Clause
// The contract between the engine and a protocol: rows for its settings and counters, and verbs on
// bytes. A protocol sees no mbuf, clock, socket or port; the engine knows no protocol's name. Path:
// cold (check, setup, teardown, open, close) | hot (request, key, reply, timeout, answer).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/counter.h"
#include "base/diag.h"
#include "base/field.h"
#include "base/rand.h"

#define PROTO_MAX_STEPS 4

// One transaction, as the protocol sees it. The engine owns it; user, step and tries are the
// protocol's to write from request and reply on.
struct proto_txn {
	uint64_t seq;    // number of the transaction of this worker and item, from 0: the same seed
	                 // and seq give the same message. Known again when the reply comes.
	uint32_t key;    // key_bits wide; the ID to put on the wire
	uint32_t client; // which of env.clients asks (its source address)
	uint32_t user;   // kept by the engine between the verbs, 0 at first
	uint8_t step;    // 0 at first; chooses steps[step]
	uint8_t tries;   // 0 at first
};

// What setup and open are told.
struct proto_env {
	uint64_t seed;    // of the run, mixed with the item's place: differs between items
	uint32_t worker;  // 0..workers-1
	uint32_t workers; // that share the item
	uint32_t clients; // source addresses of this worker
	uint8_t addr_len; // 4 or 16: family of the item
};

// Per worker and item (or per worker and responder): made by open, used by one thread.
struct proto_ctx {
	const void *shared; // result of setup
	void *counters; // of this worker: the bank that this transaction is booked to (warm-up or
	                // measured)
	void *own;      // the protocol's own, from open
};

enum proto_verdict {
	PROTO_DONE,  // valid and in time
	PROTO_AGAIN, // go on with the next message of the same transaction: request is called again
	PROTO_FAIL, // an answer to this transaction, but a refusal or rejected by the item's checks
	PROTO_STRAY,     // not an answer to this transaction after all: it stays in flight
	PROTO_MALFORMED, // for this transaction by its key, but not well formed: it stays in flight
};

struct proto_step {
	const char *name;
};

// A way in which the responder gets an answer wrong on demand (responder.faults). The same name in
// several protocols is one setting for all of them.
struct proto_fault {
	const char *name, *help;
	bool extra; // the answer itself stays as it is: what apply makes of a copy goes out beside
	            // it
	// Spoil the ready answer of len bytes; random: 64 random bits. Its new length up to room;
	// 0: that is not possible with this answer, which was not changed.
	uint32_t (*apply)(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random);
};

struct proto {
	const char *name; // "dns"
	const char *help;
	uint16_t default_port;          // UDP, of the server
	uint8_t key_bits;               // 16..32
	const struct proto_step *steps; // of multi-step exchanges; NULL: one step
	uint8_t step_count;             // 1..PROTO_MAX_STEPS

	const struct field_section *settings;   // of a traffic item
	const struct field_section *answers;    // of the responder
	const struct counter_section *counters; // uint64_t only; of a traffic item
	const struct counter_section *answered; // uint64_t only; of the responder

	// Cross-field rules; errors go to d. settings is what the rows filled.
	void (*check)(const void *settings, struct diag *d);
	// Read input, precompute: the shared part, or NULL after an error (in d, or out of memory).
	void *(*setup)(const void *settings, const struct proto_env *env, struct diag *d);
	void (*teardown)(void *shared);
	// Per worker state in ctx->own (NULL is fine); 0 or -errno.
	int (*open)(struct proto_ctx *ctx, const struct proto_env *env);
	void (*close)(struct proto_ctx *ctx);

	// Write the next message of t, return its length; 0: it does not fit in room. May be called
	// again for the same txn (AGAIN, a retransmission).
	uint32_t (*request)(
		struct proto_ctx *ctx, struct proto_txn *t, uint8_t *buf, uint32_t room);
	// Extract the transaction key of a reply. false: too short or not a reply of this protocol.
	bool (*key)(const uint8_t *buf, uint32_t len, uint32_t *key);
	// Validate everything, count, advance. Counts nothing for STRAY and MALFORMED, but for why
	// it dropped what had the right question (forged cookie, wrong case).
	enum proto_verdict (*reply)(
		struct proto_ctx *ctx, struct proto_txn *t, const uint8_t *buf, uint32_t len);
	// No answer within the timeout: AGAIN (retransmit) or FAIL (lost).
	enum proto_verdict (*timeout)(struct proto_ctx *ctx, struct proto_txn *t);

	// The responder: setup and open get the answers section (answers_setup), answer writes the
	// reply to a request; 0: no answer. out does not overlap buf.
	void *(*answers_setup)(const void *answers, const struct proto_env *env, struct diag *d);
	uint32_t (*answer)(struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out,
		uint32_t room);
	const struct proto_fault *faults; // NULL-terminated by name; NULL: none
};

// NULL-terminated, in the order that the user sees.
extern const struct proto *const protos[];

const struct proto *proto_find(const char *name); // NULL: none
