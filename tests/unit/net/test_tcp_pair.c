// SPDX-License-Identifier: BSD-3-Clause
// Two of our TCP hosts over a channel that loses, repeats and reorders: every byte arrives once and
// in order in both directions, both sides close, and all blocks are returned. All chances come from
// a seed; the clock jumps from one event to the next.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "net/tcp.h"
#include "tcp_check.h"

#define BLOCKS     4096
#define PACKETS    512
#define PACKET_MAX 1600
#define STEPS_MOST 400000
#define MS         1000u
#define DELAY      (1 * MS)  // of the channel
#define DISORDER   (5 * MS)  // more, for some
#define PAUSE      (10 * MS) // until a blocked application tries again

struct settings {
	uint32_t seeds;
	uint32_t loss; // percent; as many are repeated, and as many late
	uint32_t stream;
	uint32_t window;
	uint32_t blocks; // of a host
	bool slow;       // readers read now and then
};

struct packet {
	uint64_t due;
	uint32_t to, len;
	uint8_t bytes[PACKET_MAX];
};

struct side {
	struct tcp_host host;
	struct tcp_counters counters;
	struct tcp t;
	struct tcp_block blocks[BLOCKS];
	uint32_t sent, read; // bytes of the two streams
	bool begun, done;
	uint64_t next_read;
};

static struct {
	const struct settings *settings;
	uint64_t random;
	uint64_t now;
	struct side sides[2]; // the first opens
	struct packet packets[PACKETS];
	uint32_t count;
} world;

static uint32_t chance(uint32_t below)
{
	world.random = world.random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(world.random >> 33) % below;
}

static bool happens(void)
{
	return chance(100) < world.settings->loss;
}

// Byte i of the stream of side `from`.
static uint8_t byte_of(uint32_t from, uint32_t i)
{
	return (uint8_t)(from ? i * 5 >> 2 : i * 7 >> 3);
}

// --- the channel ---

static void carry(uint32_t to, const struct side *from, const struct tcp_segment *s)
{
	uint32_t copies = happens() ? 0 : happens() ? 2 : 1, header = tcp_header_len(s);

	while (copies-- && world.count < PACKETS) {
		struct packet *p = &world.packets[world.count++];

		p->to = to;
		p->due = world.now + DELAY + (happens() ? chance(DISORDER) : 0);
		p->len = header + s->len;
		assert_true(p->len <= PACKET_MAX);
		tcp_header(s, p->bytes);
		tcp_copy(&from->host, &from->t, s, p->bytes + header);
	}
}

// The first that is due; NULL: none.
static struct packet *next_packet(void)
{
	struct packet *first = NULL;

	for (uint32_t i = 0; i < world.count; i++)
		if (!first || world.packets[i].due < first->due)
			first = &world.packets[i];
	return first;
}

// --- an application ---

static void check_read(uint32_t side, const uint8_t *bytes, uint32_t len)
{
	struct side *me = &world.sides[side];

	for (uint32_t i = 0; i < len; i++)
		assert_int_equal(bytes[i], byte_of(!side, me->read + i));
	me->read += len;
	assert_true(me->read <= world.settings->stream);
}

static void read_stored(uint32_t side)
{
	struct side *me = &world.sides[side];
	uint8_t bytes[3000];
	uint32_t n;

	if (world.settings->slow && world.now < me->next_read)
		return;
	me->next_read = world.now + chance(50 * MS);
	while ((n = tcp_peek(&me->host, &me->t, bytes, 1 + chance(sizeof(bytes) - 1)))) {
		check_read(side, bytes, n);
		tcp_consume(&me->host, &me->t, n);
	}
}

// Some bytes are taken at once, the others are kept if there is memory.
static void read_view(uint32_t side)
{
	struct side *me = &world.sides[side];
	const struct tcp_host *h = &me->host;
	uint32_t n = chance(3) ? h->view_len : chance(h->view_len + 1);

	if ((h->view_len - n) / TCP_BLOCK_BYTES + 2 > world.settings->blocks - h->used)
		n = h->view_len;
	check_read(side, h->view, n);
	if (n < h->view_len)
		assert_true(tcp_keep(&me->host, &me->t, h->view_len - n));
}

static void write_some(uint32_t side)
{
	struct side *me = &world.sides[side];
	uint32_t left = world.settings->stream - me->sent, n = 1 + chance(900);
	uint8_t bytes[900];

	if (!me->begun || !tcp_is_open(&me->t) || me->t.queued > 30000)
		return;
	n = n < left ? n : left;
	for (uint32_t i = 0; i < n; i++)
		bytes[i] = byte_of(side, me->sent + i);
	if (tcp_send(&me->host, &me->t, bytes, n))
		me->sent += n;
	if (me->sent == world.settings->stream)
		tcp_shut(&me->t);
}

// --- the run ---

static void after(uint32_t side, uint32_t events)
{
	struct side *me = &world.sides[side];

	if (events & (TCP_STRANGE | TCP_REFUSED | TCP_BROKEN | TCP_TIMED_OUT))
		fail_msg("side %u: events %u, state %u, tries %u", side, events, me->t.state,
			me->t.tries);
	if (events & TCP_DATA && me->host.view_len)
		read_view(side);
	if (events & TCP_ENDED)
		assert_int_equal(me->read + tcp_unread(&me->host, &me->t), world.settings->stream);
	if (events & TCP_DONE)
		me->done = true;
	assert_null(tcp_check(&me->host, &me->t));
}

static void deliver(struct packet *p)
{
	struct packet now = *p;
	struct side *me = &world.sides[now.to];
	struct tcp_segment s;

	*p = world.packets[--world.count];
	assert_true(tcp_parse(now.bytes, now.len, &s));
	if (me->done) // the host is gone: no reply is due
		return;
	if (!me->begun) {
		assert_true(s.flags & TCP_SYN);
		tcp_accept(&me->host, &me->t, chance(UINT32_MAX), 1460, &s);
		me->begun = true;
		return;
	}
	after(now.to, tcp_input(&me->host, &me->t, &s));
}

static void turn(uint32_t side)
{
	struct side *me = &world.sides[side];
	struct tcp_segment s;
	uint32_t at;

	me->host.now = world.now;
	if (!me->begun || me->done)
		return;
	if (tcp_deadline(&me->t, &at) && !tcp_before((uint32_t)world.now, at))
		after(side, tcp_timeout(&me->host, &me->t));
	if (me->done)
		return;
	read_stored(side);
	write_some(side);
	while (tcp_output(&me->host, &me->t, &s))
		carry(!side, me, &s);
}

// The next packet, deadline, or try of an application.
static uint64_t next_time(void)
{
	const struct packet *p = next_packet();
	uint64_t next = world.now + PAUSE;

	if (p && p->due < next)
		next = p->due;
	for (uint32_t i = 0; i < 2; i++) {
		const struct tcp *t = &world.sides[i].t;
		uint32_t at;
		int32_t wait;

		if (!world.sides[i].begun || !tcp_deadline(t, &at))
			continue;
		wait = (int32_t)(at - (uint32_t)world.now);
		if (world.now + (uint32_t)(wait > 0 ? wait : 0) < next)
			next = world.now + (uint32_t)(wait > 0 ? wait : 0);
	}
	return next;
}

static void begin(const struct settings *settings, uint32_t seed)
{
	world.settings = settings;
	world.random = seed;
	world.now = (1ull << 32) - chance(1000 * MS); // 32 bits of it wrap
	world.count = 0;
	for (uint32_t i = 0; i < 2; i++) {
		struct side *me = &world.sides[i];

		me->counters = (struct tcp_counters){0};
		me->sent = me->read = 0;
		me->begun = me->done = false;
		me->next_read = 0;
		me->host = (struct tcp_host){.now = world.now,
			.window = settings->window,
			.rto_first = 1000 * MS,
			.rto_least = 200 * MS,
			.rto_most = 10000 * MS,
			.ack_delay = 40 * MS,
			.time_wait = 200000 * MS,
			.syn_tries = 30,
			.tries = 40,
			.stamps = seed & 1,
			// A slow reader could lose unread bytes when both have closed.
			.nagle = seed & 2 && !settings->slow,
			.counters = &me->counters};
		tcp_host_init(&me->host, me->blocks, settings->blocks);
	}
	tcp_open(&world.sides[0].host, &world.sides[0].t, chance(UINT32_MAX), 1460);
	world.sides[0].begun = true;
}

static void run(const struct settings *settings, uint32_t seed)
{
	uint32_t steps;

	begin(settings, seed);
	for (steps = 0; steps < STEPS_MOST; steps++) {
		struct packet *p;

		turn(0);
		turn(1);
		if (world.sides[0].done && world.sides[1].done)
			break;
		world.now = next_time();
		world.sides[0].host.now = world.sides[1].host.now = world.now;
		p = next_packet();
		if (p && p->due <= world.now)
			deliver(p);
	}
	for (uint32_t i = 0; i < 2; i++) {
		const struct side *me = &world.sides[i];

		if (me->read != settings->stream || !me->done || me->host.used)
			fail_msg("seed %u, side %u after %u steps: %u bytes of %u, state %u, %u "
				 "blocks",
				seed, i, steps, me->read, settings->stream, me->t.state,
				me->host.used);
	}
}

static void test_pair(void **state)
{
	const struct settings *settings = *state;

	for (uint32_t seed = 1; seed <= settings->seeds; seed++)
		run(settings, seed);
}

#define PLENTY 4096

static const struct {
	const char *name;
	struct settings settings;
} tests[] = {
	{"no loss", {100, 0, 100000, 65535, PLENTY, false}},
	{"1 % loss", {100, 1, 50000, 65535, PLENTY, false}},
	{"5 % loss", {100, 5, 30000, 65535, PLENTY, false}},
	{"15 % loss", {100, 15, 20000, 65535, PLENTY, false}},
	{"30 % loss", {100, 30, 10000, 65535, PLENTY, false}},
	{"scaled window", {50, 5, 50000, 300000, PLENTY, false}},
	{"small window", {50, 5, 10000, 1000, PLENTY, false}},
	{"tiny window", {50, 5, 3000, 100, PLENTY, false}},
	{"slow readers", {50, 5, 10000, 3000, PLENTY, true}},
	{"slow readers, no loss", {50, 0, 10000, 3000, PLENTY, true}},
	{"few blocks", {50, 5, 10000, 65535, 16, false}},
	{"few blocks, slow readers", {50, 15, 5000, 2000, 24, true}},
};

int main(void)
{
	enum { COUNT = sizeof(tests) / sizeof(tests[0]) };
	struct CMUnitTest all[COUNT];

	for (int i = 0; i < COUNT; i++)
		all[i] = (struct CMUnitTest){
			tests[i].name, test_pair, NULL, NULL, (void *)&tests[i].settings};
	return cmocka_run_group_tests(all, NULL, NULL);
}
