// SPDX-License-Identifier: BSD-3-Clause
// Messages over connections of QUIC: limits, losses, faults of streams, and memory.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/bytes.h"
#include "lib/quic_rig.h"
#include "quic/quic_internal.h"

// Counts allocations of the whole process.
static bool counts;
static uint64_t allocations;
#if defined(__SANITIZE_ADDRESS__)
int __sanitizer_install_malloc_and_free_hooks(
	void (*on_malloc)(const volatile void *, size_t), void (*on_free)(const volatile void *));

static void on_malloc(const volatile void *at, size_t len)
{
	(void)at;
	(void)len;
	allocations += counts;
}

static void on_free(const volatile void *at)
{
	allocations += counts && at;
}

static void count_allocations(void)
{
	static bool done;

	if (!done)
		assert_true(__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) > 0);
	done = true;
	allocations = 0;
	counts = true;
}
#else
void *__libc_malloc(size_t len);
void *__libc_calloc(size_t count, size_t len);
void *__libc_realloc(void *at, size_t len);

void *malloc(size_t len)
{
	allocations += counts;
	return __libc_malloc(len);
}

void *calloc(size_t count, size_t len)
{
	allocations += counts;
	return __libc_calloc(count, len);
}

void *realloc(void *at, size_t len)
{
	allocations += counts;
	return __libc_realloc(at, len);
}

static void count_allocations(void)
{
	allocations = 0;
	counts = true;
}
#endif

static uint32_t open_one(struct rig *g)
{
	uint32_t c = rig_open(g, false, false);

	assert_int_not_equal(c, QUIC_NONE);
	rig_run(g, 200 * RIG_MS);
	assert_true(quic_is_ready(&g->ends[CLIENT], c));
	return c;
}

// Each of the tags 0 to count - 1 has one answer.
static void each_is_answered(const struct rig *g, uint32_t count)
{
	uint8_t *seen = calloc(count, 1);

	assert_non_null(seen);
	for (uint32_t i = 0; i < g->event_count[CLIENT]; i++) {
		const struct rig_event *e = &g->events[CLIENT][i];

		if (e->event != QUIC_MESSAGE)
			continue;
		assert_in_range(e->tag, 0, count - 1);
		assert_int_equal(seen[e->tag]++, 0);
		assert_int_equal(e->first, (uint8_t)(e->tag ^ 0xff));
	}
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(seen[i], 1);
	free(seen);
}

// 1 000 messages written at once, over ten streams at a time and small windows.
static void messages_wait_for_credit(void **state)
{
	struct rig *g = rig_new();
	uint32_t c;

	(void)state;
	g->ends[SERVER].streams = 10;
	g->ends[SERVER].window = 4096;
	g->ends[CLIENT].window = 4096;
	rig_start(g);
	c = open_one(g);
	for (uint32_t i = 0; i < 1000; i++)
		assert_true(rig_ask(g, c, i, 12 + i % 300));
	assert_int_equal(quic_open_count(&g->ends[CLIENT], c), 1000);
	rig_run(g, 60000 * RIG_MS);
	each_is_answered(g, 1000);
	assert_int_equal(quic_open_count(&g->ends[CLIENT], c), 0);
	assert_in_range(g->ends[CLIENT].counts.held, 1, 1000);
	assert_int_equal(g->ends[CLIENT].counts.streams, 1000);
	rig_free(g);
}

// Fewer than the server allows.
static void a_client_limits_its_streams(void **state)
{
	struct rig *g = rig_new();
	uint32_t c;

	(void)state;
	g->ends[CLIENT].streams = 3;
	rig_start(g);
	c = open_one(g);
	for (uint32_t i = 0; i < 30; i++)
		assert_true(rig_ask(g, c, i, 50));
	rig_run(g, 6 * RIG_MS);
	assert_int_equal(rig_count(g, SERVER, QUIC_MESSAGE, NULL), 3);
	rig_run(g, 1000 * RIG_MS);
	each_is_answered(g, 30);
	rig_free(g);
}

static void a_window_of_a_stream_stops_it_alone(void **state)
{
	struct rig *g = rig_new();
	struct rig_event e = {0};
	uint32_t c;

	(void)state;
	g->ends[SERVER].stream_window = 2000;
	rig_start(g);
	c = open_one(g);
	assert_true(rig_ask(g, c, 0, 5000));
	assert_true(rig_ask(g, c, 1, 50));
	rig_run(g, 11 * RIG_MS);
	assert_int_equal(rig_count(g, CLIENT, QUIC_MESSAGE, &e), 1);
	assert_int_equal(e.tag, 1);
	assert_in_range(g->ends[CLIENT].counts.blocked, 1, 10);
	rig_free(g);
}

// Up to the longest, both ways.
static void long_messages_pass(void **state)
{
	static const uint32_t lengths[] = {1, 249, 250, 251, 252, 253, 1200, 16384, 65535};
	struct rig *g = rig_new();
	struct rig_event e = {0};
	uint32_t c;

	(void)state;
	rig_start(g);
	c = open_one(g);
	for (uint32_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		assert_true(rig_ask(g, c, i, lengths[i]));
		rig_run(g, 2000 * RIG_MS);
		assert_int_equal(rig_count(g, CLIENT, QUIC_MESSAGE, &e), i + 1);
		assert_int_equal(e.len, lengths[i]);
		assert_true(e.last);
	}
	rig_free(g);
}

static void several_answers_come_on_a_stream(void **state)
{
	struct rig *g = rig_new();
	struct rig_event e = {0};
	uint32_t c, last = 0;

	(void)state;
	g->again = 40;
	rig_start(g);
	c = open_one(g);
	assert_true(rig_ask(g, c, 9, 700));
	rig_run(g, 2000 * RIG_MS);
	assert_int_equal(rig_count(g, CLIENT, QUIC_MESSAGE, &e), 41);
	for (uint32_t i = 0; i < g->event_count[CLIENT]; i++)
		last += g->events[CLIENT][i].event == QUIC_MESSAGE && g->events[CLIENT][i].last;
	assert_int_equal(last + rig_count(g, CLIENT, QUIC_ENDED, NULL), 1);
	rig_free(g);
}

// By twenty seeds: what is lost comes again, and nothing twice.
static void losses_are_mended(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 20; seed++) {
		struct rig *g = rig_new();
		uint32_t c;

		g->random.state = seed;
		g->lose = seed % 4 * 0.08;
		g->twice = seed % 3 * 0.1;
		g->later = seed % 5 * 0.1;
		g->shapes[CLIENT].jobs = g->shapes[SERVER].jobs = seed % 2 * 4;
		rig_start(g);
		c = rig_open(g, false, false);
		for (uint32_t i = 0; i < 200; i++) {
			assert_true(rig_ask(g, c, i, 30 + i));
			if (i % 10 == 0)
				rig_run(g, 3 * RIG_MS);
		}
		rig_run(g, 20000 * RIG_MS);
		each_is_answered(g, 200);
		rig_free(g);
	}
}

static void no_credit_holds_messages(void **state)
{
	struct rig *g = rig_new();
	uint32_t c, tag, count = 0;

	(void)state;
	g->ends[SERVER].faults.no_credit = true;
	rig_start(g);
	c = open_one(g);
	for (uint32_t i = 0; i < 5; i++)
		assert_true(rig_ask(g, c, i, 50));
	rig_run(g, 1000 * RIG_MS);
	assert_int_equal(rig_count(g, SERVER, QUIC_MESSAGE, NULL), 0);
	assert_int_equal(g->ends[CLIENT].counts.held, 5);
	quic_cancel(&g->ends[CLIENT], c, 2);
	quic_shut(&g->ends[SERVER], 0, QUIC_EXCESSIVE_LOAD);
	rig_run(g, 6 * RIG_MS);
	while (quic_unheard(&g->ends[CLIENT], c, &tag)) {
		assert_int_not_equal(tag, 2);
		count++;
	}
	assert_int_equal(count, 4);
	rig_free(g);
}

static void cancelled_messages_stop_the_peer(void **state)
{
	struct rig *g = rig_new();
	struct rig_event e = {0};
	uint32_t c;

	(void)state;
	g->silent = true;
	rig_start(g);
	c = open_one(g);
	assert_true(rig_ask(g, c, 1, 50));
	assert_true(rig_ask(g, c, 2, 50));
	rig_run(g, 50 * RIG_MS);
	quic_cancel(&g->ends[CLIENT], c, 1);
	quic_cancel(&g->ends[CLIENT], c, 77); // unknown
	assert_int_equal(quic_open_count(&g->ends[CLIENT], c), 1);
	rig_run(g, 50 * RIG_MS);
	assert_int_equal(rig_count(g, SERVER, QUIC_STOPPED, &e), 1);
	assert_int_equal(e.code, QUIC_REQUEST_CANCELLED);
	// The answer to a stopped request is dropped.
	assert_true(quic_answer(&g->ends[SERVER], 0, e.tag, (const uint8_t *)"x", 1, true));
	rig_run(g, 500 * RIG_MS);
	assert_int_equal(rig_count(g, CLIENT, QUIC_MESSAGE, NULL), 0);
	assert_int_equal(rig_count(g, CLIENT, QUIC_LATE, NULL), 0);
	rig_free(g);

	// Without `cancel` the peer does not learn it, and its answer is late.
	g = rig_new();
	g->silent = true;
	g->ends[CLIENT].cancel = false;
	rig_start(g);
	c = open_one(g);
	assert_true(rig_ask(g, c, 1, 50));
	rig_run(g, 50 * RIG_MS);
	quic_cancel(&g->ends[CLIENT], c, 1);
	rig_count(g, SERVER, QUIC_MESSAGE, &e);
	assert_true(quic_answer(&g->ends[SERVER], 0, e.tag, (const uint8_t *)"x", 1, true));
	rig_run(g, 500 * RIG_MS);
	assert_int_equal(rig_count(g, CLIENT, QUIC_LATE, &e), 1);
	assert_int_equal(e.tag, 1);
	assert_int_equal(row_at(&g->ends[CLIENT], c)->first, NONE);
	rig_free(g);
}

static void a_server_resets_streams(void **state)
{
	struct rig *g = rig_new();
	struct rig_event e = {0};
	uint32_t c;

	(void)state;
	g->ends[SERVER].faults.reset = UINT32_MAX;
	g->ends[SERVER].faults.reset_code = QUIC_INTERNAL_ERROR;
	rig_start(g);
	c = open_one(g);
	for (uint32_t i = 0; i < 150; i++) { // more than may be open at a time
		assert_true(rig_ask(g, c, i, 50));
		rig_run(g, 30 * RIG_MS);
	}
	assert_int_equal(rig_count(g, CLIENT, QUIC_RESET, &e), 150);
	assert_int_equal(e.code, QUIC_INTERNAL_ERROR);
	assert_int_equal(rig_count(g, SERVER, QUIC_MESSAGE, NULL), 0);
	assert_int_equal(quic_open_count(&g->ends[CLIENT], c), 0);
	rig_free(g);
}

static void a_server_closes_after_requests(void **state)
{
	struct rig *g = rig_new();
	uint32_t c;

	(void)state;
	g->ends[SERVER].faults.close_after = 3;
	g->ends[SERVER].faults.close_code = QUIC_UNSPECIFIED_ERROR;
	rig_start(g);
	c = open_one(g);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(rig_ask(g, c, i, 50));
		rig_run(g, 12 * RIG_MS);
	}
	assert_int_equal(rig_count(g, CLIENT, QUIC_MESSAGE, NULL), 2);
	assert_int_equal(quic_end(&g->ends[CLIENT], c)->code, QUIC_UNSPECIFIED_ERROR);
	rig_free(g);
}

// Streams whose octets are no message: the length in front is wrong.
static void wrong_streams_are_named(void **state)
{
	static const struct {
		uint16_t length;
		enum quic_wrong wrong;
	} rows[] = {{0, QUIC_ZERO}, {51, QUIC_CUT}, {20, QUIC_EXTRA}, {49, QUIC_CUT}};

	(void)state;
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rig *g = rig_new();
		struct rig_event e = {0};
		struct quic_memory *m;
		uint32_t c;

		rig_start(g);
		c = open_one(g);
		assert_true(rig_ask(g, c, 1, 50));
		m = g->ends[CLIENT].memory;
		bytes_put_be16(
			m->blocks[m->streams[row_at(&g->ends[CLIENT], c)->first].out.first].data,
			rows[i].length);
		// Behind 20 octets another message of 26 follows.
		bytes_put_be16(
			m->blocks[m->streams[row_at(&g->ends[CLIENT], c)->first].out.first].data +
				22,
			28);
		rig_run(g, 1000 * RIG_MS);
		assert_int_equal(rig_count(g, SERVER, QUIC_WRONG, &e), 1);
		assert_int_equal(e.wrong, rows[i].wrong);
		rig_free(g);
	}
}

static void exhausted_memory_has_an_outcome(void **state)
{
	struct rig *g = rig_new();
	uint32_t c, opened = 0, i;

	(void)state;
	// Messages.
	g->shapes[CLIENT].streams = 10;
	rig_start(g);
	c = open_one(g);
	for (i = 0; rig_ask(g, c, i, 50); i++)
		assert_in_range(i, 0, 10);
	assert_int_equal(i, 10);
	rig_run(g, 1000 * RIG_MS);
	each_is_answered(g, 10);
	rig_free(g);

	// Octets.
	g = rig_new();
	g->shapes[CLIENT].blocks = 20;
	rig_start(g);
	c = open_one(g);
	assert_false(rig_ask(g, c, 0, 20 * BLOCK_DATA));
	assert_true(rig_ask(g, c, 0, 100));
	rig_run(g, 1000 * RIG_MS);
	each_is_answered(g, 1);
	rig_free(g);

	// Octets of a server: its connection fails.
	g = rig_new();
	g->shapes[SERVER].blocks = 20;
	rig_start(g);
	c = open_one(g);
	assert_true(rig_ask(g, c, 0, 20 * BLOCK_DATA));
	rig_run(g, 40 * RIG_MS);
	assert_int_equal(quic_end(&g->ends[SERVER], 0)->kind, QUIC_END_MEMORY);
	assert_int_equal(quic_end(&g->ends[CLIENT], c)->kind, QUIC_END_TRANSPORT);
	rig_free(g);

	// Of ngtcp2, at any point of a connection's life.
	for (uint32_t octets = 0; octets < 200000; octets += 3000) {
		g = rig_new();
		g->shapes[CLIENT].count = g->shapes[SERVER].count = 1;
		g->shapes[octets / 3000 % 2].conn_octets = 1 + octets;
		rig_start(g);
		c = rig_open(g, false, false);
		if (c != QUIC_NONE) {
			opened++;
			for (i = 0; i < 50; i++)
				rig_ask(g, c, i, 50);
			rig_run(g, 60000 * RIG_MS);
			if (rig_count(g, CLIENT, QUIC_CLOSED, NULL) == 0)
				rig_print(g);
			assert_int_equal(rig_count(g, CLIENT, QUIC_CLOSED, NULL), 1);
		}
		rig_free(g);
	}
	assert_in_range(opened, 10, 67);

	// Connections.
	g = rig_new();
	rig_start(g);
	for (i = 0; i < 16; i++)
		assert_int_not_equal(rig_open(g, false, false), QUIC_NONE);
	assert_int_equal(rig_open(g, false, false), QUIC_NONE);
	rig_free(g);
}

// After the handshakes neither ngtcp2 nor we allocate.
static void nothing_is_allocated_after_handshakes(void **state)
{
	struct rig *g = rig_new();
	uint32_t c[3];

	(void)state;
	rig_start(g);
	for (uint32_t i = 0; i < 3; i++)
		c[i] = open_one(g);
	count_allocations();
	for (uint32_t i = 0; i < 600; i++) {
		if (!rig_ask(g, c[i % 3], i, 20 + i * 7 % 2000))
			abort();
		if (i % 100 == 50)
			quic_update_keys(&g->ends[CLIENT], c[i % 3], g->now);
		if (i % 20 == 0)
			rig_run(g, 50 * RIG_MS);
	}
	g->lose = 0.1;
	rig_run(g, 5000 * RIG_MS);
	quic_shut(&g->ends[CLIENT], c[0], QUIC_NO_ERROR);
	rig_run(g, 5000 * RIG_MS);
	counts = false;
	assert_int_equal(allocations, 0);
	each_is_answered(g, 600);
	rig_free(g);
}

static void the_memory_of_a_connection_is_bounded(void **state)
{
	struct rig *g = rig_new();
	uint64_t used, highest, failed, before;

	(void)state;
	for (int i = 0; i < 2; i++)
		g->shapes[i].count = 32, g->shapes[i].conn_octets = 400000;
	rig_start(g);
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < 32; i++) {
			uint32_t c = rig_open(g, false, false);

			assert_int_not_equal(c, QUIC_NONE);
			for (uint32_t k = 0; k < 30; k++)
				assert_true(rig_ask(g, c, k, 50));
		}
		rig_run(g, 3000 * RIG_MS);
		assert_int_equal(rig_count(g, CLIENT, QUIC_MESSAGE, NULL), 30 * 32 * (round + 1));
		for (int i = 0; i < 2; i++) {
			quics_usage(&g->ends[i], &used, &highest, &failed);
			assert_int_equal(failed, 0);
			if (round == 0)
				fprintf(stderr,
					"# %s: %lu octets of a connection at rest, %lu at most\n",
					i ? "server" : "client", used / 32, highest / 32);
			assert_in_range(highest / 32, 1, quics_conn_octets());
		}
		for (uint32_t i = 0; i < 32; i++)
			quic_shut(&g->ends[CLIENT], i, QUIC_NO_ERROR);
		rig_run(g, 3000 * RIG_MS);
		for (int i = 0; i < 2; i++) {
			quics_usage(&g->ends[i], &used, &before, &failed);
			assert_int_equal(used, 0);
		}
	}
	rig_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_wait_for_credit),
		cmocka_unit_test(a_client_limits_its_streams),
		cmocka_unit_test(a_window_of_a_stream_stops_it_alone),
		cmocka_unit_test(long_messages_pass),
		cmocka_unit_test(several_answers_come_on_a_stream),
		cmocka_unit_test(losses_are_mended),
		cmocka_unit_test(no_credit_holds_messages),
		cmocka_unit_test(cancelled_messages_stop_the_peer),
		cmocka_unit_test(a_server_resets_streams),
		cmocka_unit_test(a_server_closes_after_requests),
		cmocka_unit_test(wrong_streams_are_named),
		cmocka_unit_test(exhausted_memory_has_an_outcome),
		cmocka_unit_test(nothing_is_allocated_after_handshakes),
		cmocka_unit_test(the_memory_of_a_connection_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
