// SPDX-License-Identifier: BSD-3-Clause
// Writes the images of an item, before the run. Path: cold. Management thread.
#include "engine/core/images.h"

#include "engine/core/pages.h"

#define ROOM 2048 // of a frame

_Static_assert(sizeof(struct image_head) <= IMAGE_HEAD, "a head replaces the first bytes");

// Writes a whole frame, from address and port zero and with the key zero. Returns its length; 0:
// the message does not fit.
static uint32_t frame_write(const struct proto_images *of, const void *shared, uint32_t number,
	const struct frame_template *t, uint8_t *frame)
{
	static const uint8_t nowhere[16];
	uint32_t len = of->write(shared, number, frame + t->len, ROOM - t->len);

	return len ? frame_stamp(t, frame, nowhere, 0, (struct frame_payload){len, 0}) : 0;
}

static void image_write(
	const struct frame_template *t, const uint8_t *frame, uint32_t len, uint8_t *image)
{
	struct image_head head = {.len = (uint16_t)len};
	uint16_t check;

	memcpy(image, frame, len);
	memcpy(&check, frame + t->len - 2, sizeof(check));
	head.udp_sum = (uint16_t)~check;
	if (t->addr_len == 4) {
		memcpy(&check, frame + t->ip + 10, sizeof(check));
		head.ip_sum = (uint16_t)~check;
	}
	memcpy(image, &head, sizeof(head));
}

uint64_t images_size(const struct proto *proto, const void *shared, uint32_t len)
{
	uint64_t count = proto->images ? proto->images->count(shared) : 0;
	uint64_t size = count * images_stride(len);

	return size <= IMAGES_MOST ? size : 0;
}

bool images_make(struct images *images, const struct proto *proto, const void *shared,
	const struct frame_path *path)
{
	const struct proto_images *of = proto->images;
	uint32_t count = images_size(proto, shared, 0) ? of->count(shared) : 0, longest = 0, len;
	struct frame_template t;
	uint8_t frame[ROOM];

	*images = (struct images){0};
	frame_template_build(&t, path);
	for (uint32_t i = 0; i < count; i++) {
		len = frame_write(of, shared, i, &t, frame);
		longest = len > longest ? len : longest;
		if (len == 0 || images_size(proto, shared, longest) == 0)
			return true;
	}
	if (count == 0)
		return true;
	images->count = count;
	images->stride = images_stride(longest);
	images->bytes = pages_alloc((size_t)count * images->stride);
	for (uint32_t i = 0; images->bytes && i < count; i++) {
		len = frame_write(of, shared, i, &t, frame);
		image_write(&t, frame, len, images->bytes + (size_t)i * images->stride);
	}
	return images->bytes != NULL;
}

void images_free(struct images *images)
{
	pages_free(images->bytes, (size_t)images->count * images->stride);
	*images = (struct images){0};
}
