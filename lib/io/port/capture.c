// SPDX-License-Identifier: BSD-3-Clause
// The bytes of pcapng, and the thread that empties the rings. Writes packets in order of time and
// so holds them back for a while: a packet that is found late may have been sent early. Path: cold.
// The management thread, and a thread of its own.
#include "io/port/capture.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "io/driver/launch.h"
#include "io/host/privileges.h"

#define NAP_NS        10000000
#define TEXT_MAX      512 // of a name or comment
#define BLOCK_MAX     (CAPTURE_BYTES + CAPTURE_COMMENTS * (TEXT_MAX + 8) + 128)
#define LINK_TYPE     1 // Ethernet
#define APPLICATION   "ddiperf"
#define NS_PER_S      1000000000ull
#define HELD_AT_FIRST 64

enum block_type { BLOCK_INTERFACE = 1, BLOCK_PACKET = 6, BLOCK_SECTION = 0x0a0d0d0a };

enum option_code {
	OPTION_END = 0,
	OPTION_COMMENT = 1,
	OPTION_NAME = 2,        // of an interface
	OPTION_FLAGS = 2,       // of a packet
	OPTION_APPLICATION = 4, // of a section
	OPTION_RESOLUTION = 9,  // of an interface: 10^-n s
};

struct capture_file {
	FILE *out;
	int error;
};

// A block under construction, in the machine's byte order, which the byte order mark declares.
struct block {
	uint8_t bytes[BLOCK_MAX];
	uint32_t len;
};

static void put(struct block *b, const void *data, uint32_t len)
{
	memcpy(b->bytes + b->len, data, len);
	b->len += len;
	while (b->len % 4)
		b->bytes[b->len++] = 0;
}

static void put_u32(struct block *b, uint32_t v)
{
	put(b, &v, sizeof(v));
}

static void put_option(struct block *b, enum option_code code, const void *data, uint32_t len)
{
	uint16_t head[2] = {(uint16_t)code, (uint16_t)len};

	put(b, head, sizeof(head));
	put(b, data, len);
}

static void put_text(struct block *b, enum option_code code, const char *text)
{
	put_option(b, code, text, (uint32_t)strnlen(text, TEXT_MAX));
}

static void block_begin(struct block *b, enum block_type type)
{
	b->len = 0;
	put_u32(b, type);
	put_u32(b, 0);
}

static void block_end(struct block *b, struct capture_file *f)
{
	uint32_t len = b->len + 4;

	memcpy(b->bytes + 4, &len, sizeof(len));
	put_u32(b, len);
	if (!f->error && fwrite(b->bytes, 1, b->len, f->out) != b->len)
		f->error = errno ? errno : EIO;
}

static void write_section(struct capture_file *f, struct block *b)
{
	static const uint16_t version[2] = {1, 0};
	uint64_t unknown = UINT64_MAX;

	block_begin(b, BLOCK_SECTION);
	put_u32(b, 0x1a2b3c4d);
	put(b, version, sizeof(version));
	put(b, &unknown, sizeof(unknown));
	put_text(b, OPTION_APPLICATION, APPLICATION);
	put_u32(b, OPTION_END);
	block_end(b, f);
}

static void write_interface(struct capture_file *f, struct block *b, const char *name)
{
	uint8_t nanoseconds = 9;

	block_begin(b, BLOCK_INTERFACE);
	put_u32(b, LINK_TYPE);
	put_u32(b, CAPTURE_BYTES);
	put_text(b, OPTION_NAME, name);
	put_option(b, OPTION_RESOLUTION, &nanoseconds, 1);
	put_u32(b, OPTION_END);
	block_end(b, f);
}

struct capture_file *capture_file_open(
	const char *path, const char *const *interfaces, uint32_t count)
{
	struct capture_file *f = calloc(1, sizeof(*f));
	struct block b;

	if (!f)
		return NULL;
	f->out = fopen(path, "we");
	if (!f->out) {
		free(f);
		return NULL;
	}
	write_section(f, &b);
	for (uint32_t i = 0; i < count; i++)
		write_interface(f, &b, interfaces[i]);
	return f;
}

void capture_file_write(struct capture_file *f, const struct capture_packet *p)
{
	uint32_t flags = p->outbound ? 2 : 1;
	uint32_t len = p->len < CAPTURE_BYTES ? p->len : CAPTURE_BYTES;
	struct block b;

	block_begin(&b, BLOCK_PACKET);
	put_u32(&b, p->interface);
	put_u32(&b, (uint32_t)(p->time >> 32));
	put_u32(&b, (uint32_t)p->time);
	put_u32(&b, len);
	put_u32(&b, p->wire_len);
	put(&b, p->data, len);
	put_option(&b, OPTION_FLAGS, &flags, sizeof(flags));
	for (uint32_t i = 0; i < CAPTURE_COMMENTS && p->comments[i]; i++)
		put_text(&b, OPTION_COMMENT, p->comments[i]);
	put_u32(&b, OPTION_END);
	block_end(&b, f);
}

static void flush_file(struct capture_file *f)
{
	if (!f->error && fflush(f->out) != 0)
		f->error = errno;
}

int capture_file_close(struct capture_file *f)
{
	int error;

	flush_file(f);
	if (fclose(f->out) != 0 && !f->error)
		f->error = errno;
	error = f->error;
	free(f);
	return -error;
}

// --- the thread ---

struct held {
	struct capture_packet packet; // time in ticks
	uint64_t number;              // of arrival: order of packets of the same time
	uint8_t bytes[];
};

struct capture {
	struct capture_source source;
	struct capture_file *file;
	uint64_t epoch_ns, epoch_tick; // the same moment
	uint64_t reach;                // ticks
	struct held **heap;            // the oldest first
	uint32_t count, room;
	uint64_t taken, written;
	int error;
	_Atomic bool stop;
	pthread_t thread;
};

static bool before(const struct held *a, const struct held *b)
{
	int64_t apart = (int64_t)(a->packet.time - b->packet.time);

	if (apart != 0)
		return apart < 0;
	if (a->packet.id != b->packet.id)
		return a->packet.id < b->packet.id;
	return a->number < b->number;
}

static void heap_up(struct held **heap, uint32_t i)
{
	for (; i > 0 && before(heap[i], heap[(i - 1) / 2]); i = (i - 1) / 2) {
		struct held *h = heap[i];

		heap[i] = heap[(i - 1) / 2];
		heap[(i - 1) / 2] = h;
	}
}

static void heap_down(struct held **heap, uint32_t count, uint32_t i)
{
	for (uint32_t child; (child = 2 * i + 1) < count; i = child) {
		struct held *h = heap[i];

		child += child + 1 < count && before(heap[child + 1], heap[child]);
		if (!before(heap[child], h))
			return;
		heap[i] = heap[child];
		heap[child] = h;
	}
}

static bool heap_room(struct capture *c)
{
	uint32_t room = c->room ? 2 * c->room : HELD_AT_FIRST;
	struct held **more;

	if (c->count < c->room)
		return true;
	more = realloc(c->heap, room * sizeof(struct held *));
	if (!more)
		return false;
	c->heap = more;
	c->room = room;
	return true;
}

static void hold(struct capture *c, const struct capture_slot *s)
{
	struct held *h = malloc(sizeof(*h) + s->packet.len);

	if (!h || !heap_room(c)) {
		free(h);
		c->error = ENOMEM;
		return;
	}
	h->packet = s->packet;
	h->packet.data = h->bytes;
	h->number = c->taken++;
	memcpy(h->bytes, s->bytes, s->packet.len);
	c->heap[c->count] = h;
	heap_up(c->heap, c->count++);
}

static void drain(struct capture *c, struct capture_ring *r)
{
	uint64_t at = atomic_load_explicit(&r->taken, memory_order_relaxed);
	uint64_t end = atomic_load_explicit(&r->written, memory_order_acquire);

	for (; at < end; at++) {
		hold(c, &r->slots[at & (r->count - 1)]);
		atomic_store_explicit(&r->taken, at + 1, memory_order_release);
	}
}

static uint64_t wall_ns(const struct capture *c, uint64_t tick)
{
	double since = (double)(int64_t)(tick - c->epoch_tick) * 1e9 / c->source.clock.hz;

	return c->epoch_ns + (uint64_t)(int64_t)since;
}

static struct held *take_oldest(struct capture *c)
{
	struct held *h = c->heap[0];

	c->heap[0] = c->heap[--c->count];
	heap_down(c->heap, c->count, 0);
	return h;
}

static bool is_same(const struct capture_packet *a, const struct capture_packet *b)
{
	return a->id && a->id == b->id && a->time == b->time && a->interface == b->interface;
}

static void add_comment(struct capture_packet *p, const char *comment)
{
	for (uint32_t i = 0; i < CAPTURE_COMMENTS; i++) {
		if (p->comments[i])
			continue;
		p->comments[i] = comment;
		return;
	}
}

static void write_oldest(struct capture *c)
{
	struct held *h = take_oldest(c);

	while (c->count && is_same(&h->packet, &c->heap[0]->packet)) {
		struct held *again = take_oldest(c);

		add_comment(&h->packet, again->packet.comments[0]);
		free(again);
	}
	h->packet.time = wall_ns(c, h->packet.time);
	capture_file_write(c->file, &h->packet);
	c->written++;
	free(h);
}

// Everything up to a moment.
static void write_until(struct capture *c, uint64_t tick)
{
	bool any = false;

	for (; c->count && (int64_t)(c->heap[0]->packet.time - tick) < 0; any = true)
		write_oldest(c);
	if (any)
		flush_file(c->file);
}

static void *capture_loop(void *arg)
{
	struct capture *c = arg;
	bool last;

	privileges_drop(false);
	do {
		last = atomic_load_explicit(&c->stop, memory_order_acquire);
		for (uint32_t i = 0; i < c->source.ring_count; i++)
			drain(c, &c->source.rings[i]);
		write_until(c, clock_time(&c->source.clock) - c->reach);
		if (!last)
			nanosleep(&(struct timespec){0, NAP_NS}, NULL);
	} while (!last);
	while (c->count)
		write_oldest(c);
	return NULL;
}

struct capture *capture_start(const struct capture_source *s)
{
	struct capture *c = calloc(1, sizeof(*c));
	struct timespec now;
	int error;

	if (!c)
		return NULL;
	c->source = *s;
	c->reach = clock_ticks(&s->clock, s->reach_ns);
	clock_gettime(CLOCK_REALTIME, &now);
	c->epoch_tick = clock_time(&s->clock);
	c->epoch_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
	c->file = capture_file_open(s->path, s->interfaces, s->interface_count);
	error = c->file ? launch_thread(&c->thread, capture_loop, c) : errno;
	if (error == 0)
		return c;
	if (c->file)
		capture_file_close(c->file);
	free(c);
	errno = error;
	return NULL;
}

int capture_stop(struct capture *c, uint64_t *packets)
{
	int rc;

	atomic_store_explicit(&c->stop, true, memory_order_release);
	launch_join(c->thread);
	rc = capture_file_close(c->file);
	if (rc == 0)
		rc = -c->error;
	*packets = c->written;
	free(c->heap);
	free(c);
	return rc;
}
