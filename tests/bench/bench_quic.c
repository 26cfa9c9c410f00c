// SPDX-License-Identifier: BSD-3-Clause
// What a query over a live QUIC connection costs a client and a server, in time of the CPU: some
// queries at a time, each with a stream, answered at once. And a handshake, at each end.
// Path: tests only.
#include <stdio.h>

#include "lib/quic_rig.h"

#define QUERY  54
#define ANSWER 120
#define ROUNDS 8

static uint64_t spent[2];

static void flush(struct rig *g, int end, int from)
{
	uint8_t out[QUIC_MTU_MOST], ecn;
	const uint8_t *bytes;
	uint32_t len, count = 0;
	uint64_t began;
	static struct rig_datagram wire[256];

	began = clock_now();
	while (count < 256 && (len = quic_output(&g->ends[from], 0, out, &ecn, g->now))) {
		memcpy(wire[count].bytes, out, len);
		wire[count++].len = (uint16_t)len;
	}
	spent[from] += clock_now() - began;
	began = clock_now();
	for (uint32_t i = 0; i < count; i++) {
		quic_input(&g->ends[end], 0, wire[i].bytes, wire[i].len, 2, g->now);
		while (quic_message(&g->ends[end], 0, &bytes, &len)) {
			static const uint8_t answer[ANSWER];

			if (end == SERVER && g->ends[end].event == QUIC_MESSAGE)
				quic_answer(
					&g->ends[end], 0, g->ends[end].tag, answer, ANSWER, true);
			else if (g->ends[end].event == QUIC_MESSAGE)
				g->token_len++;
		}
	}
	spent[end] += clock_now() - began;
}

static void queries(struct clock *clock, uint32_t at_once, uint32_t count)
{
	struct rig *g = rig_new();
	static const uint8_t query[QUERY];
	double best[2] = {1e9, 1e9};
	uint64_t began, before;

	rig_start(g);
	rig_open(g, false, false);
	rig_run(g, 1000 * RIG_MS);
	for (int round = 0; round < ROUNDS; round++) {
		g->token_len = 0;
		spent[0] = spent[1] = 0;
		before = g->sent[0];
		for (uint32_t i = 0; i < count; i += at_once) {
			began = clock_now();
			for (uint32_t k = 0; k < at_once; k++)
				rig_require(quic_write(&g->ends[CLIENT], 0, i + k, query, QUERY));
			spent[CLIENT] += clock_now() - began;
			flush(g, SERVER, CLIENT);
			flush(g, CLIENT, SERVER);
			g->now += 50000;
			for (int end = 0; end < 2; end++)
				if (quic_deadline(&g->ends[end], 0) <= g->now)
					quic_expire(&g->ends[end], 0, g->now);
		}
		rig_require(g->token_len >= count - 2 * at_once);
		for (int end = 0; end < 2; end++) {
			double ns = clock_ns(clock, spent[end]) / g->token_len;

			best[end] = ns < best[end] ? ns : best[end];
		}
	}
	printf("%3u at a time: client %4.0f ns, server %4.0f ns a query; %.2f datagrams out\n",
		at_once, best[0], best[1],
		(double)g->ends[CLIENT].counts.datagrams_out / (ROUNDS * (double)count));
	(void)before;
	rig_free(g);
}

static void handshakes(struct clock *clock, bool resumed)
{
	struct rig *g = rig_new();
	double best[2] = {1e9, 1e9};

	for (int end = 0; end < 2; end++)
		g->ends[end].clock = clock;
	rig_start(g);
	for (int i = 0; i < 200; i++) {
		uint32_t c = rig_open(g, resumed && i, false);

		rig_run(g, 200 * RIG_MS);
		for (int end = 0; end < 2; end++) {
			double us = clock_ns(clock, quic_facts(&g->ends[end], 0)->ticks) / 1000;

			best[end] = us < best[end] ? us : best[end];
		}
		quic_forget(&g->ends[CLIENT], c);
		quic_forget(&g->ends[SERVER], 0);
		g->event_count[0] = g->event_count[1] = 0;
	}
	printf("handshake%s: client %.0f us, server %.0f us in TLS\n", resumed ? ", resumed" : "",
		best[0], best[1]);
	rig_free(g);
}

int main(void)
{
	static const uint32_t at_once[] = {1, 10, 50};
	struct clock clock = {0};

	clock_calibrate(&clock, 50);
	for (unsigned i = 0; i < sizeof(at_once) / sizeof(*at_once); i++)
		queries(&clock, at_once[i], 5000);
	handshakes(&clock, false);
	handshakes(&clock, true);
	return 0;
}
