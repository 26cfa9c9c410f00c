// SPDX-License-Identifier: BSD-3-Clause
// Ready frames of the messages of an item, if they differ in a number, the key, the source address
// and the source port only (struct proto_images). A worker copies one instead of having it written.
// Const after images_make; all workers of an item share them. Path: cold (make, free, stride) |
// hot.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "net/frame.h"
#include "proto/proto.h"

#define IMAGES_MOST (64u << 20) // bytes of an item's images; a longer list has none
#define IMAGE_HEAD  16          // the first bytes of a frame, which the worker's template has

struct images {
	uint8_t *bytes; // one image every `stride` bytes; NULL: there are none
	uint32_t stride, count;
};

// In place of the first bytes of a frame. Source address and port and the key are zero in the frame
// and not in the sums.
struct image_head {
	uint32_t udp_sum; // of the UDP checksum, 16 bits
	uint16_t ip_sum;  // of the IPv4 checksum; 0: IPv6
	uint16_t len;     // of the frame
	uint64_t unused;
};

// Bytes for each image of frames of up to len bytes: 96, 160 and so on, as they are copied by 64
// after the first 32.
static inline uint32_t images_stride(uint32_t len)
{
	return 32 + ((len + 31) & ~63u);
}

// Returns the bytes of the images of an item whose longest frame has len bytes; 0: it has none.
uint64_t images_size(const struct proto *proto, const void *shared, uint32_t len);

// Writes the images of an item with these frames. None are made, without an error, if messages
// differ otherwise or need more than IMAGES_MOST. Returns false if there is no memory.
bool images_make(struct images *images, const struct proto *proto, const void *shared,
	const struct frame_path *path);

void images_free(struct images *images);
