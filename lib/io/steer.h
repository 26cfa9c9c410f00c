// SPDX-License-Identifier: BSD-3-Clause
// Which receive queue of a port an answer will come to, where that can be known before it is asked
// for: Toeplitz over the key and the table that the device itself reports. A device is believed no
// further than that: what comes to another queue is handed over all the same and counted. Not here:
// which source port is whose (engine/deal.c).
// Path: cold. Management thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define STEER_KEY_LEAST 40 // bytes: what a hash over IPv6 addresses and ports takes
#define STEER_KEY_MAX   64
#define STEER_RETA_MAX  512 // entries

enum steer_how {
	STEER_ALONE,  // one queue
	STEER_PAIR,   // the other end answers on the queue that it was asked on
	STEER_HASHED, // by source port
	STEER_BLIND,  // anywhere
};

struct steer {
	enum steer_how how;
	uint32_t key_len; // a multiple of 4
	uint8_t key[STEER_KEY_MAX];
	uint32_t reta_size; // a power of two
	uint16_t reta[STEER_RETA_MAX];
};

// An answer as it will be received; addresses of addr_len bytes.
struct steer_flow {
	const uint8_t *src, *dst;
	uint8_t addr_len;
	uint16_t src_port, dst_port;
};

// A key whose hash is a function of the destination port alone for IPv4, and for IPv6 of it and of
// the source address: its low byte is that of the port, bits reversed.
void steer_key_sparse(uint8_t *key, uint32_t len);

// The place in the table; s is STEER_HASHED.
uint32_t steer_place(const struct steer *s, const struct steer_flow *f);

static inline uint32_t steer_queue(const struct steer *s, const struct steer_flow *f)
{
	return s->reta[steer_place(s, f)];
}

// Is what a device reports complete, and does it use several of the queues? how becomes
// STEER_HASHED, or STEER_BLIND.
void steer_judge(struct steer *s, uint32_t queues);

// As a sentence: "answers come home by source port (RSS of the device)".
const char *steer_text(enum steer_how how);
