// SPDX-License-Identifier: BSD-3-Clause
// A client and a server of lib/quic with a link between them in memory, which can lose, duplicate
// and reorder datagrams by a seed. Time stands still unless the link or a deadline moves it. The
// server answers each request by itself with its octets, the first one inverted.
// Path: tests only.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "crypt/certificate.h"
#include "quic/conn.h"
#include "quic/message.h"
#include "quic/packet.h"
#include "quic/quic.h"
#include "quic/shake.h"

#define RIG_WIRE   1024 // datagrams on their way to an end
#define RIG_CONNS  64
#define RIG_EVENTS 16384
#define RIG_MS     1000000ull
#define RIG_DELAY  (5 * RIG_MS)

enum { CLIENT, SERVER };

struct rig_datagram {
	uint64_t at;
	uint16_t len, port; // of the client
	uint8_t ecn;
	uint8_t bytes[QUIC_MTU_MOST];
};

struct rig_event {
	enum quic_event event;
	uint32_t c, tag, len;
	uint64_t code;
	bool last, early;
	enum quic_wrong wrong;
	uint8_t first; // octet
};

struct rig {
	struct quics ends[2];
	void *memory[2];
	struct quics_shape shapes[2];
	struct hand_settings tls[2];
	struct hand_setup *setups[2], *no_early;
	struct certificate certificate;
	uint64_t now;
	struct rig_datagram *wire[2];
	uint32_t wire_len[2];
	struct rig_event *events[2];
	uint32_t event_count[2];
	uint8_t session[QUIC_SESSION_MOST], token[QUIC_TOKEN_MOST];
	uint32_t session_len, token_len;
	struct rand random;
	double lose, twice, later; // shares of datagrams
	bool mute[2];              // what it sends does not arrive
	bool silent;               // the server does not answer
	bool holds_jobs;           // no job is done
	uint32_t again;            // further answers to each request, before the last one
	uint64_t sent[2];          // datagrams
	uint16_t next_port;
	void (*tamper)(int to, uint8_t *bytes, uint32_t len); // NULL: nothing changes datagrams
};

static inline void rig_require(bool right)
{
	if (!right)
		abort();
}

static inline void *rig_memory(size_t len)
{
	void *at = aligned_alloc(64, (len + 63) & ~(size_t)63);

	rig_require(at);
	return memset(at, 0, len);
}

static inline struct quics rig_settings(bool server)
{
	return (struct quics){.server = server,
		.worker = server ? 3 : 5,
		.workers = 8,
		.seed = server ? 77 : 99,
		.versions = {QUIC_V1},
		.version_count = 1,
		.idle_ns = 30000 * RIG_MS,
		.handshake_ns = 10000 * RIG_MS,
		.ack_delay_ns = 25 * RIG_MS,
		.window = 1 << 20,
		.stream_window = 1 << 17,
		.streams = server ? 100 : 0,
		.mtu = 1252,
		.tickets = !server,
		.cancel = true};
}

// Settings of both ends, which the test may change before rig_start.
static inline struct rig *rig_new(void)
{
	const struct certificate_wanted wanted = {.name = "dns.example"};
	static struct certificate made;
	struct rig *g = calloc(1, sizeof(*g));
	const char *wrong;

	rig_require(g && (made.key || certificate_make(&wanted, &made, &wrong) == 0));
	g->certificate = made;
	for (int i = 0; i < 2; i++) {
		g->ends[i] = rig_settings(i == SERVER);
		g->shapes[i] = (struct quics_shape){
			.count = 16, .streams = 4096, .blocks = 16384, .server = i == SERVER};
		g->wire[i] = calloc(RIG_WIRE, sizeof(*g->wire[i]));
		g->events[i] = calloc(RIG_EVENTS, sizeof(*g->events[i]));
		rig_require(g->wire[i] && g->events[i]);
	}
	g->tls[CLIENT] = (struct hand_settings){.alpn = "doq",
		.name = "dns.example",
		.verify = TLS_VERIFY_CHAIN,
		.authorities = g->certificate.certificate,
		.early = true,
		.quic = true};
	g->tls[SERVER] = (struct hand_settings){.server = true,
		.alpn = "doq",
		.certificate = g->certificate.certificate,
		.key = g->certificate.key,
		.tickets = true,
		.early = true,
		.quic = true};
	g->now = 1000 * RIG_MS;
	g->random.state = 1;
	g->next_port = 1024;
	return g;
}

static inline void rig_start(struct rig *g)
{
	struct hand_settings no_early = g->tls[SERVER];
	const char *wrong;

	for (int i = 0; i < 2; i++) {
		g->setups[i] = hand_setup_new(&g->tls[i], &wrong);
		rig_require(g->setups[i]);
		g->ends[i].tls = g->setups[i];
		g->ends[i].deferred = g->shapes[i].jobs > 0;
		g->memory[i] = rig_memory(quics_bytes(&g->shapes[i]));
		quics_init(&g->ends[i], g->memory[i], &g->shapes[i]);
	}
	no_early.keys = g->setups[SERVER];
	no_early.early = false;
	g->no_early = hand_setup_new(&no_early, &wrong);
	rig_require(g->no_early);
	g->ends[SERVER].tls_no_early = g->no_early;
}

static inline void rig_free(struct rig *g)
{
	for (int i = 0; i < 2; i++) {
		for (uint32_t c = 0; c < g->shapes[i].count; c++)
			quic_forget(&g->ends[i], c);
		for (struct quic_job *job; (job = quic_job(&g->ends[i]));)
			quic_job_do(job);
		quics_free(&g->ends[i]);
		free(g->memory[i]);
		free(g->wire[i]);
		free(g->events[i]);
	}
	hand_setup_free(g->no_early);
	hand_setup_free(g->setups[0]);
	hand_setup_free(g->setups[1]);
	free(g);
}

static inline struct quic_path rig_path(int end, uint16_t port)
{
	const struct addr a[2] = {{4, {192, 0, 2, 1}}, {4, {192, 0, 2, 2}}};

	if (end == CLIENT)
		return (struct quic_path){a[0], a[1], port, 853};
	return (struct quic_path){a[1], a[0], 853, port};
}

static inline double rig_chance(struct rig *g)
{
	return (double)(rand_next(&g->random) >> 11) / (double)(1ull << 53);
}

static inline void rig_put(
	struct rig *g, int to, uint16_t port, const uint8_t *bytes, uint32_t len, uint8_t ecn)
{
	uint32_t count = rig_chance(g) < g->twice ? 2 : 1;

	g->sent[!to]++;
	if (g->mute[!to] || rig_chance(g) < g->lose)
		return;
	while (count--) {
		struct rig_datagram *d = &g->wire[to][g->wire_len[to]];

		if (g->wire_len[to] == RIG_WIRE)
			return;
		g->wire_len[to]++;
		d->at = g->now + RIG_DELAY + (rig_chance(g) < g->later ? 3 * RIG_DELAY : 0);
		d->len = (uint16_t)len;
		d->port = port;
		d->ecn = ecn;
		memcpy(d->bytes, bytes, len);
		if (g->tamper)
			g->tamper(to, d->bytes, len);
	}
}

// Takes all events of a connection. The server answers.
static inline void rig_events(struct rig *g, int end, uint32_t c)
{
	struct quics *q = &g->ends[end];
	static uint8_t answer[QUIC_MESSAGE_MOST];
	const uint8_t *bytes;
	uint32_t len, tag;

	while (quic_message(q, c, &bytes, &len)) {
		struct rig_event e = {q->event, c, q->tag, len, q->code, q->last, q->early_message,
			q->wrong, len ? bytes[0] : 0};

		rig_require(g->event_count[end] < RIG_EVENTS);
		g->events[end][g->event_count[end]++] = e;
		if (e.event == QUIC_TICKET) {
			memcpy(g->session, bytes, len);
			g->session_len = len;
		} else if (e.event == QUIC_TOKEN) {
			memcpy(g->token, bytes, len);
			g->token_len = len;
		} else if (e.event == QUIC_MESSAGE && end == SERVER && !g->silent) {
			memcpy(answer, bytes, len);
			answer[0] ^= 0xff;
			tag = e.tag;
			for (uint32_t i = 0; i < g->again; i++)
				quic_answer(q, c, tag, answer, len, false);
			quic_answer(q, c, tag, answer, len, true);
		}
	}
}

static inline void rig_flush(struct rig *g, int end)
{
	struct quics *q = &g->ends[end];
	uint8_t out[QUIC_MTU_MOST], ecn;
	uint32_t len;

	for (uint32_t c = 0; c < g->shapes[end].count; c++) {
		rig_events(g, end, c);
		while ((len = quic_output(q, c, out, &ecn, g->now))) {
			const struct quic_path *p = quic_path(q, c);

			rig_require(len <= q->mtu);
			rig_put(g, !end, end == CLIENT ? p->local_port : p->remote_port, out, len,
				ecn);
		}
	}
}

static inline void rig_deliver(struct rig *g, int end, const struct rig_datagram *d)
{
	struct quics *q = &g->ends[end];
	const struct quic_path p = rig_path(end, d->port);
	uint8_t out[QUIC_MTU_MOST];
	uint32_t c, len = 0;

	switch (quic_find(q, d->bytes, d->len, &p.remote, p.remote_port, &c)) {
	case QUIC_FOUND:
		quic_input(q, c, d->bytes, d->len, d->ecn, g->now);
		break;
	case QUIC_NEW:
		len = quic_accept(q, &p, d->bytes, d->len, d->ecn, g->now, out, &c);
		break;
	case QUIC_STRAY:
	case QUIC_FOREIGN:
		if (end == SERVER)
			len = quic_stray(q, d->bytes, d->len, out);
		// A stateless reset has no connection ID: the port names the connection.
		for (c = 0; end == CLIENT && c < g->shapes[end].count; c++)
			if (quic_alive(q, c) && quic_path(q, c)->local_port == d->port)
				quic_input(q, c, d->bytes, d->len, d->ecn, g->now);
		break;
	case QUIC_GARBAGE:
		break;
	}
	if (len)
		rig_put(g, !end, d->port, out, len, 0);
}

static inline void rig_jobs(struct rig *g)
{
	for (int i = 0; i < 2; i++)
		for (struct quic_job *job; !g->holds_jobs && (job = quic_job(&g->ends[i]));) {
			quic_job_do(job);
			quic_job_done(&g->ends[i], job, g->now);
		}
}

// The next instant at which something happens.
static inline uint64_t rig_next(const struct rig *g)
{
	uint64_t next = UINT64_MAX, at;

	for (int i = 0; i < 2; i++) {
		for (uint32_t k = 0; k < g->wire_len[i]; k++)
			if (g->wire[i][k].at < next)
				next = g->wire[i][k].at;
		for (uint32_t c = 0; c < g->shapes[i].count; c++) {
			at = quic_deadline(&g->ends[i], c);
			if (at < next)
				next = at;
		}
	}
	return next;
}

// Delivers what is due at this instant.
static inline void rig_instant(struct rig *g)
{
	for (int i = 0; i < 2; i++) {
		for (uint32_t k = 0; k < g->wire_len[i];) {
			struct rig_datagram d = g->wire[i][k];

			if (d.at > g->now) {
				k++;
				continue;
			}
			memmove(&g->wire[i][k], &g->wire[i][k + 1],
				(--g->wire_len[i] - k) * sizeof(d));
			rig_deliver(g, i, &d);
			rig_jobs(g);
			rig_flush(g, i);
		}
		for (uint32_t c = 0; c < g->shapes[i].count; c++)
			if (quic_deadline(&g->ends[i], c) <= g->now)
				quic_expire(&g->ends[i], c, g->now);
	}
	rig_jobs(g);
}

// Lets time pass, until nothing is left to do or `ns` have passed.
static inline void rig_run(struct rig *g, uint64_t ns)
{
	uint64_t end = g->now + ns, next;

	for (;;) {
		rig_jobs(g);
		rig_flush(g, CLIENT);
		rig_flush(g, SERVER);
		next = rig_next(g);
		if (next > end)
			break;
		g->now = next > g->now ? next : g->now;
		rig_instant(g);
	}
	g->now = end;
}

static inline uint32_t rig_open(struct rig *g, bool session, bool token)
{
	const struct quic_path p = rig_path(CLIENT, g->next_port++);

	return quic_open(&g->ends[CLIENT], &p, 7, session ? g->session : NULL,
		session ? g->session_len : 0, token ? g->token : NULL, token ? g->token_len : 0,
		g->now);
}

static inline bool rig_ask(struct rig *g, uint32_t c, uint32_t tag, uint32_t len)
{
	static uint8_t query[QUIC_MESSAGE_MOST];

	for (uint32_t i = 0; i < len && i < 8; i++)
		query[i] = (uint8_t)(tag >> i);
	return quic_write(&g->ends[CLIENT], c, tag, query, len);
}

static inline void rig_print(const struct rig *g)
{
	for (int i = 0; i < 2; i++) {
		fprintf(stderr, "%s: %lu datagrams sent\n", i ? "server" : "client", g->sent[i]);
		for (uint32_t k = 0; k < g->event_count[i]; k++)
			fprintf(stderr, "  event %d c %u tag %u len %u code %lu\n",
				g->events[i][k].event, g->events[i][k].c, g->events[i][k].tag,
				g->events[i][k].len, g->events[i][k].code);
		for (uint32_t c = 0; c < g->shapes[i].count; c++)
			if (quic_end(&g->ends[i], c)->kind)
				fprintf(stderr, "  %u ended: %s %lu %s\n", c,
					quic_end_name(quic_end(&g->ends[i], c)->kind),
					quic_end(&g->ends[i], c)->code,
					quic_end(&g->ends[i], c)->reason);
	}
}

// The number of events of a kind, and the last one of them.
static inline uint32_t rig_count(
	const struct rig *g, int end, enum quic_event event, struct rig_event *last)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->event_count[end]; i++)
		if (g->events[end][i].event == event) {
			n++;
			if (last)
				*last = g->events[end][i];
		}
	return n;
}
