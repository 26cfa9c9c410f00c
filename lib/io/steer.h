// SPDX-License-Identifier: BSD-3-Clause
// Steering: the receive queue that a reply will reach, if it can be known before the request. It
// follows from rules of the device (io/port/rules.h), or from Toeplitz over the key and table that
// it reports. Nothing relies on it: a reply on another queue is handed over and counted. Not here:
// source ports and relays of workers (engine/plan/deal.c), and the test of the device
// (engine/plan/steer_probe.c). Path: cold. Management thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/field.h"

#define STEER_KEY_LEAST 40 // bytes: input of a hash over IPv6 addresses and ports
#define STEER_KEY_MAX   64
#define STEER_RETA_MAX  512 // entries

#define STEER_HOME_LEAST                                                                           \
	0.9 // of replies that can be steered: some are fragments, or of a run before

enum steer_how {
	STEER_ALONE,   // one queue
	STEER_PAIR,    // the other end replies on the queue of the request
	STEER_RULES,   // rules by the port that replies go to
	STEER_ADDRESS, // rules by the address that replies go to
	STEER_SPARSE,  // a hash with our own key: only that port, or address, decides
	STEER_HASHED,  // a hash with the device's key: ports and addresses are chosen by it
	STEER_BLIND,   // unknown
};

// Facts that a device reports, beside its key and table.
struct steer_facts {
	uint32_t queues;
	bool pairs;       // the other end replies on the queue of the request
	bool takes_rules; // it has accepted rules by port, or by address
	bool by_address;
	const uint8_t *key; // that it was given; NULL: none
};

struct steer {
	enum steer_how how;
	uint32_t key_len; // a multiple of 4
	uint8_t key[STEER_KEY_MAX];
	uint32_t reta_size; // a power of two
	uint16_t reta[STEER_RETA_MAX];
	bool portless[2];     // its hash of UDP over IPv4, over IPv6, leaves the ports out
	bool portless_tcp[2]; // for TCP
};

// A reply as it will be received; addresses of addr_len bytes.
struct steer_flow {
	const uint8_t *src, *dst;
	uint8_t addr_len;
	uint16_t src_port, dst_port;
	bool tcp; // in place of UDP
};

// A key for the hash. With it the destination port alone decides for IPv4, and for IPv6 the port
// and the source address. The low byte of the hash is the low byte of the port with its bits
// reversed.
void steer_key_sparse(uint8_t *key, uint32_t len);

// Extends such a key, or a key of zeros: a few bits of the destination address decide, too, chosen
// so that they spread the addresses (struct addr_range) most evenly.
void steer_key_addresses(
	uint8_t *key, uint32_t len, const struct field_list *addresses, uint32_t queues);

// Does each queue get as many of the addresses as any other, or one more?
bool steer_is_even(const struct steer *s, const struct field_list *addresses, uint32_t queues);

// Does the queue of a reply follow from its addresses and ports, by steer_place?
static inline bool steer_is_known(const struct steer *s)
{
	return s->how == STEER_RULES || s->how == STEER_SPARSE || s->how == STEER_HASHED;
}

// The place in the table; steer_is_known.
uint32_t steer_place(const struct steer *s, const struct steer_flow *f);

static inline uint32_t steer_queue(const struct steer *s, const struct steer_flow *f)
{
	return s->reta[steer_place(s, f)];
}

// Size of the table for rules by port, a power of two. Its n-th entry is for ports with n in their
// lowest bits.
uint32_t steer_rules_size(uint32_t queues);

// The best method that the facts, and the reported key and table (in s; sizes 0: none), allow. In
// this order: rules, a hash by port alone, a hash that ports are chosen for, none. A table that is
// incomplete, or that names one queue only, counts as none.
void steer_choose(struct steer *s, const struct steer_facts *facts);

// Do replies reach other queues than the device reports? home: their share that reached the right
// worker, of the share that can.
bool steer_is_belied(const struct steer *s, double home);

// As a sentence: "source ports are chosen by the device's hash".
const char *steer_text(enum steer_how how);

// As a word of the result: "rules".
const char *steer_name(enum steer_how how);
