// SPDX-License-Identifier: BSD-3-Clause
// The responder as a whole, from frames to frames, with faults chosen by the first bytes: whatever
// comes in, what goes out can be read back, the counters add up and no buffer is lost. Port and
// clock are the test's own. Path: tests only.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/dns/server/dns_answers.h"
#include "proto/table.h"
#include "engine/config/faults_settings.h"
#include "engine/core/pages.h"
#include "engine/core/responder/responder.h"
#include "io/port_state.h"
#include "lib/test_port.h"
#include "proto/dns/client/dns_internal.h"

#define HEAD 9
#define HZ   1e9

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct test_port port;
static uint64_t ticks;
static const struct clock ticking = {.hz = HZ, .set = &ticks};

// Smaller than pages, and so faster; once in a program that replays all targets.
__attribute__((weak)) void *pages_alloc(size_t size)
{
	return calloc(1, size);
}

__attribute__((weak)) void pages_free(void *p, size_t size)
{
	free(p);
}

static struct {
	uint64_t udp;      // packets sent
	bool may_be_wrong; // checksum
	bool may_be_cut;   // or bent: no well-formed message
} sent;

static const struct addr_range owned[] = {
	{{4, {198, 18, 0, 2}}, 4},
	{{16, {0x20, 0x01, 0x0d, 0xb8, [15] = 2}}, 4},
};

static void require(bool holds)
{
	if (!holds)
		abort();
}

static bool is_message(const uint8_t *buf, uint32_t len)
{
	uint32_t question = 0;
	struct dns_message m;

	if (len < DNS_HEADER_LEN || !(buf[2] & 0x80))
		return false;
	if (bytes_be16(buf + 4) == 1)
		question = dns_question_len(buf, len);
	return dns_message_walk(buf, len, DNS_HEADER_LEN + question, &m) && m.left == 0;
}

static void look(struct test_port *p, uint16_t queue, const struct rte_mbuf *m)
{
	struct frame f;
	enum frame_kind kind = frame_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, &f);

	require(kind != FRAME_BAD && m->pkt_len == m->data_len);
	if (kind != FRAME_UDP)
		return;
	sent.udp++;
	require(sent.may_be_wrong || frame_checksum_ok(&f));
	require(sent.may_be_cut || is_message(f.payload, f.payload_len));
}

static void protocol_start(struct responder_protocol *p)
{
	static const struct dns_answers_settings s = {
		.ttl_ns = 60000000000,
		.address = {4, {192, 0, 2, 1}},
		.address6 = {16, {0x20, 1, 0xd, 0xb8}},
		.text = "ddiperf",
	};
	const struct proto_env env = {.workers = 1};
	struct diag *d = diag_new();

	p->proto = protos[0];
	p->server = p->proto->server;
	p->port = protos[0]->ports->plain;
	p->ctx.shared = p->server->setup(&s, &env, &(struct proto_facts){0}, d);
	p->ctx.counters = calloc(1, p->server->counters->size);
	require(p->ctx.shared && p->ctx.counters);
	faults_of_protocol(p->server, p->faults);
	diag_free(d);
}

// Faults by their bits, how often they come and what time does to the answers.
static void faults_choose(struct faults *f, const uint8_t *head)
{
	uint32_t on = head[1] | (uint32_t)head[2] << 8;
	struct fault_settings often = {.every = 1 + head[3] % 8};
	struct uniform_settings uniform = {0, 3000000};
	struct two_point_settings two = {1000, 7000000, 0.5};
	struct delay_settings delay = {.constant_ns = 1000000};
	struct capacity_settings capacity = {.rate = head[4] & 1 ? 20000 : 1e6, .queue = head[5]};
	struct stall_settings stall = {5000000, 2000000};
	struct outage_settings outage = {1000000, 9000000};
	struct faults_settings s = {0};

	for (uint32_t i = 0; i < 16 && *faults_label(FAULT_LOSS + i); i++)
		if (on >> i & 1)
			s.fault[FAULT_LOSS + i] = &often;
	delay.uniform = head[6] & 1 ? &uniform : NULL;
	delay.two_point = head[6] & 2 ? &two : NULL;
	delay.exponential_ns = head[6] & 4 ? 1000000 : 0;
	s.delay = head[6] & 8 ? &delay : NULL;
	s.capacity = head[6] & 16 ? &capacity : NULL;
	s.stall = head[6] & 32 ? &stall : NULL;
	s.outage = head[6] & 64 ? &outage : NULL;
	sent.may_be_wrong = s.fault[FAULT_CORRUPT_CHECKSUM] != NULL;
	sent.may_be_cut = s.fault[FAULT_CORRUPT] || s.fault[FAULT_CORRUPT_CHECKSUM] ||
	                  s.fault[FAULT_TRUNCATE];
	require(faults_init(f, &s, &ticking, head[3], 1 + head[7] % 64) == 0);
}

static void start(struct responder *r, struct responder_protocol *p, const uint8_t *head)
{
	static const struct port_queue queue = {0, 0};
	static struct neighbours nobody;

	*r = (struct responder){
		.wire = {.burst = 32,
			.reports_checksums = true,
			.tx_pool = &port.pool,
			.neighbours = &nobody,
			.clock = &ticking},
		.queues = &queue,
		.queue_step = 1,
		.queue_end = 1,
		.clock = &ticking,
		.protocols = p,
		.protocol_count = 1,
		.patience = 1000000,
	};
	r->wire.self =
		(struct neigh_self){.mac = {2, 0, 0, 0, 0, 2}, .owned = owned, .owned_count = 2};
	if (head[0] & 1)
		r->wire.self = (struct neigh_self){{2, 0, 0, 0, 0, 2}, {100}, 1, owned, 2};
	if (head[0] & 2)
		faults_choose(&r->faults, head);
	test_port_open(&port, 0);
	port.sent = look;
	port.buffers = head[0] & 4 ? head[8] : UINT32_MAX;
	port.takes = head[0] & 8 ? head[8] % 4 : UINT32_MAX;
}

static uint64_t of_faults(const struct responder *r, const char *name)
{
	uint32_t i = 0;

	while (strcmp(faults_label(i), name) != 0)
		i++;
	return r->faults.counts[i];
}

static void check_counts(const struct responder *r)
{
	require(r->counts.received == r->counts.answered + r->counts.ignored + r->counts.no_buffer +
					      of_faults(r, "outage") + of_faults(r, "capacity") +
					      of_faults(r, "loss"));
	require(r->counts.answered + of_faults(r, "duplicate") + of_faults(r, "unsolicited") ==
		sent.udp + r->tx_refused + r->faults.delay.held + (r->swapped != NULL));
	require(r->out_count == 0);
}

// Each frame with a head of its own: when it comes, in 2^n ticks, and its length.
static void play(struct responder *r, const uint8_t *data, size_t size)
{
	while (size >= 3) {
		size_t len = (size_t)data[1] << 8 | data[2];

		ticks += 1ull << data[0] % 27;
		data += 3;
		size -= 3;
		len = len < size ? len : size;
		test_port_receive(&port, data, (uint32_t)len);
		data += len;
		size -= len;
		responder_pass(r);
		check_counts(r);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct responder_protocol protocol;
	static struct responder r;

	if (!protocol.proto)
		protocol_start(&protocol);
	if (size < HEAD || size > UINT16_MAX)
		return 0;
	ticks = 1000000000;
	memset(&sent, 0, sizeof(sent));
	start(&r, &protocol, data);
	play(&r, data + HEAD, size - HEAD);
	responder_halt(&r);
	faults_free(&r.faults);
	require(port.live == 0);
	return 0;
}
