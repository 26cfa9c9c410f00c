// SPDX-License-Identifier: BSD-3-Clause
// Packets into a pcapng file (draft-ietf-opsawg-pcapng), each with a comment. Each worker fills a
// ring; a thread of the capture empties the rings into the file. A packet that finds its ring full
// is dropped and counted. Knows no transaction; engine/core/worker/evidence.h chooses the packets.
// Path: hot (capture_room, capture_at, capture_commit) | cold (the rest).
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define CAPTURE_BYTES    2048 // of a packet that are kept
#define CAPTURE_COMMENTS 4    // on a packet

struct capture_packet {
	uint64_t time;      // ns since the epoch; in a ring: tick
	uint64_t id;        // in a ring: order of packets of one time; those with the same time and
	                    // id other than 0 are one packet, its comments are collected
	uint16_t interface; // index into the names
	bool outbound;
	uint32_t len;      // of data
	uint32_t wire_len; // of the packet
	const uint8_t *data;
	const char *comments[CAPTURE_COMMENTS]; // outlive the capture; up to the first NULL
};

// --- the file ---

struct capture_file;

// A new file with an interface description for each name. NULL with errno.
struct capture_file *capture_file_open(
	const char *path, const char *const *interfaces, uint32_t count);
void capture_file_write(struct capture_file *f, const struct capture_packet *p);
// 0, or -errno of the first write that failed.
int capture_file_close(struct capture_file *f);

// --- rings and the thread ---

struct capture_slot {
	struct capture_packet packet; // data is set by the reader
	uint8_t bytes[CAPTURE_BYTES];
};

// One writer (the worker), one reader (the thread).
struct capture_ring {
	struct capture_slot *slots; // of the caller; count is a power of two
	uint32_t count;
	_Atomic uint64_t written;            // dataplane: wo
	uint64_t dropped;                    // dataplane: wo; packets for which there was no room
	_Alignas(64) _Atomic uint64_t taken; // the thread's
};

// How many more packets fit.
static inline uint64_t capture_room(const struct capture_ring *r)
{
	return r->count - (atomic_load_explicit(&r->written, memory_order_relaxed) -
				  atomic_load_explicit(&r->taken, memory_order_acquire));
}

// The slot of the next packet; there is room.
static inline struct capture_slot *capture_at(struct capture_ring *r)
{
	return &r->slots[atomic_load_explicit(&r->written, memory_order_relaxed) & (r->count - 1)];
}

// The packet written there is complete.
static inline void capture_commit(struct capture_ring *r)
{
	uint64_t n = atomic_load_explicit(&r->written, memory_order_relaxed);

	atomic_store_explicit(&r->written, n + 1, memory_order_release);
}

struct capture_source {
	const char *path;
	const char *const *interfaces;
	uint32_t interface_count;
	struct capture_ring *rings; // outlive the capture
	uint32_t ring_count;
	struct clock clock;
	uint64_t reach_ns; // packets come in order of time but for so much
};

struct capture;

// Opens the file and starts the thread, on the caller's CPUs. NULL with errno.
struct capture *capture_start(const struct capture_source *s);
// The workers have ended. Writes the rest, closes. *packets: written. 0 or -errno of the file.
int capture_stop(struct capture *c, uint64_t *packets);
