// SPDX-License-Identifier: BSD-3-Clause
// Ready frames of the messages of an item, if they differ in a number, the key, the source address
// and the source port only (struct proto_images). A worker copies one instead of having it written.
// Const after images_make; all workers of an item share them. Path: cold (make, free, stride) |
// hot.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

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
};

// The source address of a copy.
struct image_source {
	uint8_t addr[16];
	uint32_t sum; // of its bytes, up to 17 bits
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

// Copies an image to data, with room for the stride: from this source address and port, with this
// key, both as on the wire. addr_len: of the template, whose MACs and VLANs the frame gets. Returns
// its length.
static inline __attribute__((always_inline)) uint16_t image_copy(const struct images *images,
	uint32_t number, const struct frame_template *t, const struct image_source *src,
	uint16_t port, uint16_t key, uint8_t addr_len, uint8_t *data)
{
	const uint8_t *image = images->bytes + (size_t)number * images->stride;
	uint8_t *udp = data + t->len - FRAME_UDP_LEN;
	struct image_head head;
	uint16_t check;

	memcpy(&head, image, sizeof(head));
	memcpy(data, t->bytes, IMAGE_HEAD);
	memcpy(data + IMAGE_HEAD, image + IMAGE_HEAD, 32 - IMAGE_HEAD);
	for (uint32_t at = 32; at < images->stride; at += 64)
		memcpy(data + at, image + at, 64);
	if (addr_len == 4) {
		check = csum_fold32(head.ip_sum + src->sum);
		memcpy(udp - 10, &check, 2);
	}
	check = csum_fold32(head.udp_sum + src->sum + port + key);
	check = check ? check : 0xffff;
	memcpy(udp - 2 * addr_len, src->addr, addr_len);
	memcpy(udp, &port, 2);
	memcpy(udp + 6, &check, 2);
	memcpy(udp + FRAME_UDP_LEN, &key, 2);
	return head.len;
}
