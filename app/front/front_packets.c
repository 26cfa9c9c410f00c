// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "front/front_packets.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CAPTURE        "output.capture."
#define PCAPNG_PACKET  6
#define PCAPNG_COMMENT 1
#define PCAPNG_TAIL    4 // the block's length, repeated

int front_packets_begin(struct as_run *r, const char *option, const char *when, int *fd)
{
	const char *path = arena_printf(r->arena, "%s.pcapng", r->tool->name);

	*fd = -1;
	if (!r->options->dump) {
		*fd = memfd_create("packets", MFD_CLOEXEC);
		if (*fd < 0)
			return as_refuse(r, "%s: no memory for packets", option);
		path = arena_printf(r->arena, "/proc/self/fd/%d", *fd);
	}
	front_set(&r->front, option, CAPTURE "file", path);
	front_set_yaml(&r->front, option, CAPTURE "when", when);
	front_set(&r->front, option, CAPTURE "limit", FRONT_PACKETS_MOST);
	return 0;
}

// Find the comment among the options after the packet's bytes.
static void find_comment(const uint8_t *at, const uint8_t *end, struct front_packet *p)
{
	uint16_t head[2]; // code, length

	for (; end - at >= (ptrdiff_t)sizeof(head); at += (head[1] + 3) / 4 * 4) {
		memcpy(head, at, sizeof(head));
		at += sizeof(head);
		if (head[1] > end - at)
			return;
		if (head[0] != PCAPNG_COMMENT)
			continue;
		p->comment = (const char *)at;
		p->comment_len = head[1];
		return;
	}
}

// Read a block of the file, which this program has just written.
static bool read_packet(const uint8_t *block, uint32_t len, struct front_packet *p)
{
	const uint8_t *data = block + FRONT_PACKET_MIN, *end = block + len - PCAPNG_TAIL;
	uint32_t words[4]; // time, its upper half first; length; length on the wire
	uint64_t high;

	memcpy(words, block + 12, sizeof(words));
	if (words[2] > len - FRONT_PACKET_MIN)
		return false;
	high = words[0];
	*p = (struct front_packet){.at_ns = high << 32 | words[1]};
	if (frame_parse(data, words[2], &p->frame) != FRAME_UDP)
		return false;
	find_comment(data + (words[2] + 3) / 4 * 4, end, p);
	return true;
}

static void read_packets(const uint8_t *file, size_t len,
	void (*each)(void *ctx, const struct front_packet *p), void *ctx)
{
	struct front_packet p;
	uint32_t head[2]; // type, length

	for (size_t at = 0; at + FRONT_PACKET_MIN <= len; at += head[1]) {
		memcpy(head, file + at, sizeof(head));
		if (head[1] < FRONT_PACKET_MIN || head[1] > len - at)
			return;
		if (head[0] == PCAPNG_PACKET && head[1] >= FRONT_PACKET_MIN + PCAPNG_TAIL &&
			read_packet(file + at, head[1], &p))
			each(ctx, &p);
	}
}

size_t front_packets_each(int fd, void (*each)(void *ctx, const struct front_packet *p), void *ctx)
{
	size_t len = 0;
	struct stat s;
	void *file;

	if (fstat(fd, &s) == 0 && s.st_size > 0) {
		len = (size_t)s.st_size;
		file = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
		if (file != MAP_FAILED) {
			read_packets(file, len, each, ctx);
			munmap(file, len);
		}
	}
	close(fd);
	return len;
}
