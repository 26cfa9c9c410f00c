// SPDX-License-Identifier: BSD-3-Clause
// The tester's worker as a whole, from frames to books: it asks, and is given its own queries back
// as answers, bent by the input, late, twice or not at all, and frames from anywhere. Each of them
// is counted in exactly one place, the ledger adds up with the table of transactions and no buffer
// is lost. Port and clock are the test's own. Path: tests only.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/core/worker.h"
#include "lib/test_port.h"
#include "proto/dns/dns_internal.h"

#define HEAD    4
#define START   1000000000
#define WARMUP  (5 * GAP)
#define GAP     1000
#define TIMEOUT 100000
#define SLOTS   64
#define KEPT    64 // queries that can still be answered

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct test_port port;
static uint64_t ticks;
static const struct clock ticking = {.hz = 1e9, .set = &ticks};

static const struct addr_range sources[] = {
	{{4, {198, 18, 0, 1}}, 2},
	{{4, {198, 18, 1, 1}}, 1},
};
static const uint16_t ports[] = {2000, 2001, 3000};

static struct {
	struct worker w;
	struct worker_item item;
	uint64_t memory[8192];
	struct item_snapshot snapshots[SNAPSHOTS];
	struct dns_counters banks[3];
	_Atomic uint32_t phase;
	void *shared;
	// of the input
	const uint8_t *data;
	size_t size;
	uint32_t drain_after;
	uint64_t fed;
	struct {
		uint8_t bytes[512];
		uint32_t len;
	} queries[KEPT];
	uint64_t asked;
} run;

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void sent(struct test_port *p, uint16_t queue, const struct rte_mbuf *m)
{
	uint32_t at = run.asked % KEPT;
	enum frame_kind kind;
	struct frame f;

	kind = frame_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, &f);
	require(kind != FRAME_BAD);
	if (kind != FRAME_UDP || m->data_len > sizeof(run.queries[at].bytes))
		return;
	require(frame_checksum_ok(&f));
	memcpy(run.queries[at].bytes, f.eth, m->data_len);
	run.queries[at].len = m->data_len;
	run.asked++;
}

static void swap(uint8_t *a, uint8_t *b, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		uint8_t kept = a[i];

		a[i] = b[i];
		b[i] = kept;
	}
}

static uint8_t next_byte(void)
{
	if (run.size == 0)
		return 0;
	run.size--;
	return *run.data++;
}

// BADCOOKIE, with a server cookie unless the query had one. The cookie is the last option of the
// OPT record, which is the last record.
static uint32_t demand_cookie(uint8_t *dns, uint32_t len)
{
	uint8_t *opt = dns + DNS_HEADER_LEN + dns_question_len(dns, len);
	uint8_t *cookie_len = dns + len - DNS_COOKIE_CLIENT_LEN - 1;

	dns[3] |= DNS_BADCOOKIE & 15;
	opt[5] = DNS_BADCOOKIE >> 4;
	if (*cookie_len != DNS_COOKIE_CLIENT_LEN)
		return len;
	*cookie_len += 8;
	opt[10] += 8;
	memset(dns + len, next_byte(), 8);
	return len + 8;
}

// A query of before, turned round and bent: so many bytes are replaced, so many are added.
static void feed_answer(uint8_t which)
{
	uint8_t frame[1024];
	uint32_t at = (uint32_t)((run.asked - 1 - which % KEPT) % KEPT), len = run.queries[at].len;
	uint8_t bends = next_byte();
	uint32_t udp;

	if (run.asked <= which % KEPT)
		return;
	memcpy(frame, run.queries[at].bytes, len);
	swap(frame, frame + 6, 6);
	swap(frame + 26, frame + 30, 4);
	swap(frame + 34, frame + 36, 2);
	frame[44] |= 0x80; // QR
	if (bends == UINT8_MAX)
		len = 42 + demand_cookie(frame + 42, len - 42);
	for (uint32_t n = bends == UINT8_MAX ? 0 : bends & 7; n > 0; n--) {
		uint8_t place = next_byte();

		frame[(14 + place) % len] = next_byte();
	}
	for (uint32_t n = bends == UINT8_MAX ? 0 : bends >> 3; n > 0; n--)
		frame[len++] = next_byte();
	udp = len - 34;
	if (bends >> 3) { // the lengths are right nevertheless
		frame[16] = (uint8_t)((len - 14) >> 8);
		frame[17] = (uint8_t)(len - 14);
		frame[38] = (uint8_t)(udp >> 8);
		frame[39] = (uint8_t)udp;
	}
	test_port_receive(&port, frame, len);
	run.fed++;
}

static void feed_frame(uint32_t len)
{
	len = len < run.size ? len : (uint32_t)run.size;
	test_port_receive(&port, run.data, len);
	run.data += len;
	run.size -= len;
	run.fed++;
}

// What happens before the next pass of the loop: time goes on, and packets come.
static void poll(struct test_port *p)
{
	uint8_t op = next_byte();

	ticks += 1ull << (op & 15) % 18;
	run.drain_after -= run.drain_after > 0;
	if (run.drain_after == 0)
		run.phase = PHASE_DRAIN;
	if (run.size == 0)
		run.phase = PHASE_STOP;
	for (uint32_t n = op >> 6; n > 0 && run.size > 0; n--)
		if (op & 32)
			feed_frame((uint32_t)next_byte() << 1);
		else
			feed_answer(next_byte());
}

static void setup(void)
{
	static const char *const names[] = {"www.example.com A", "h{0-9}.{random:3}.x AAAA"};
	static const int32_t noerror = DNS_NOERROR;
	static struct dns_expect_settings expect = {.rcode = {(void *)&noerror, 1}};
	static struct dns_edns_settings edns = {
		.size = 1232, .client_subnet = {{4, {10}}, 8}, .client_subnet_bits = UINT64_MAX};
	const struct dns_settings s = {.names = {(void *)names, 2},
		.order = DNS_SEQUENTIAL,
		.case_0x20 = true,
		.cookies = DNS_COOKIES_FULL,
		.edns = &edns,
		.expect = &expect};
	const struct proto_env env = {.seed = 1, .workers = 1, .clients = 3, .addr_len = 4};
	struct diag *d = diag_new();

	log_set_level(LOG_QUIET);
	run.shared = protos[0]->setup(&s, &env, d);
	require(run.shared != NULL);
	diag_free(d);
}

// A closed loop, or one of the orders that need no table, with an end or without.
static void start_pace(struct pace *p, const uint8_t *head)
{
	static struct pace_segment segments[2] = {{0, 0, (fixed)GAP << 64},
		{20 * FIXED_ONE, (fixed)(20 * GAP) << 64, (fixed)(GAP / 2) << 64}};
	static struct schedule s;
	const struct pace_closed closed = {1 + head[3] % 32, START, PACE_NEVER, 0};
	const struct pace_share alone = {0, 1};

	if (head[2] & 2) {
		pace_start_closed(p, &closed, alone);
		return;
	}
	s = (struct schedule){.order = head[3] & 1 ? PACE_BURSTS : PACE_EVEN,
		.segments = segments,
		.count = head[3] & 2 ? 2 : 1,
		.sends = head[3] & 4 ? 100 * FIXED_ONE : FIXED_INFINITY,
		.stop = head[3] & 8 ? 1000 * GAP : PACE_NEVER};
	recip_init(&s.burst, 1 + head[3] % 16);
	pace_start(p, &s, START, alone);
}

static void start_item(struct worker_item *it, const uint8_t *head)
{
	static uint64_t waits[] = {TIMEOUT};
	static struct frame_template frames[1];
	const struct proto_env env = {.seed = 1, .workers = 1, .clients = 3, .addr_len = 4};
	const struct txn_shape shape = {.count = 1 + head[1] % SLOTS,
		.ports = 3,
		.clients = 3,
		.key_bits = 16,
		.seed = 1,
		.window = head[2] & 2 ? 64 : 4096,
		.rest = head[2] & 1 ? 0 : 3 * TIMEOUT};
	const struct frame_path path = {.src_mac = {2, 0, 0, 0, 0, 1},
		.dst_mac = {2, 0, 0, 0, 0, 2},
		.dst = {4, {198, 18, 0, 9}},
		.dst_port = 53};

	*it = (struct worker_item){.proto = protos[0],
		.server = path.dst,
		.server_port = 53,
		.server_plain = frame_plain_from_of(&path.dst, 53),
		.ports = ports,
		.sources = sources,
		.source_ranges = 2,
		.waits = waits,
		.frames = frames,
		.banks = {&run.banks[0], &run.banks[1]},
		.shadow = &run.banks[2],
		.pace = {.left = UINT64_MAX}};
	frame_template_build(frames, &path);
	it->pace.measure = START + WARMUP;
	start_pace(&it->pace, head);
	hist_clear(&it->books.response);
	hist_clear(&it->service);
	hist_clear(&it->lag);
	it->ctx.shared = run.shared;
	require(protos[0]->open(&it->ctx, &env) == 0);
	require(txn_bytes(&shape) <= sizeof(run.memory));
	require(txn_init(&it->txns, run.memory, &shape) == 0);
	if (head[2] & 4) // a lap of the key space later
		it->txns.issued = it->txns.space;
	it->txns.gate += it->txns.issued;
	it->answered_at = START + WARMUP;
}

static void start(const uint8_t *head)
{
	static struct port_entry by_port[65536];
	struct worker *w = &run.w;

	memset(run.memory, 0, sizeof(run.memory));
	memset(run.banks, 0, sizeof(run.banks));
	memset(by_port, 0xff, sizeof(by_port));
	for (uint16_t i = 0; i < 3; i++)
		by_port[ports[i]] = (struct port_entry){0, i};
	*w = (struct worker){
		.wire = {.burst = 8,
			.reports_checksums = true,
			.tx_pool = &port.pool,
			.self = {.mac = {2, 0, 0, 0, 0, 1}, .owned = sources, .owned_count = 2}},
		.items = &run.item,
		.item_count = 1,
		.by_port = by_port,
		.times = {START, START + WARMUP, START + 2000 * GAP, 20 * GAP, 100 * GAP},
		.phase = &run.phase,
		.clock = &ticking,
		.stall = 100 * GAP,
		.handed = 1,
		.reading = 2,
	};
	for (uint32_t s = 0; s < SNAPSHOTS; s++)
		w->snapshots[s].items = &run.snapshots[s];
	hist_clear(&w->passes);
	start_item(&run.item, head);
	run.phase = PHASE_WARMUP;
	run.drain_after = 1 + head[0];
	run.fed = run.asked = 0;
	test_port_open(&port, 0);
	port.buffers = head[2] & 8 ? 16 * head[3] : UINT32_MAX;
	port.takes = head[2] & 16 ? head[3] % 8 : UINT32_MAX;
	port.poll = poll;
	port.sent = sent;
	ticks = START;
}

static void check_table(const struct ledger *sum)
{
	uint64_t flying = 0, begun = 0;

	for (uint32_t i = 0; i < run.item.txns.count; i++) {
		flying += run.item.txns.slots[i].state >= TXN_TAKEN;
		begun += run.item.txns.slots[i].state >= TXN_TAKEN && run.item.txns.slots[i].begun;
	}
	require(flying == run.item.txns.in_flight);
	require(begun == sum->sent - sum->answered - sum->failed - sum->lost);
}

static void check_books(void)
{
	const struct ledger *l = run.item.books.ledger;
	struct wire_counters *other = &run.w.wire.counters;
	struct ledger sum = l[0];
	uint64_t counted = 0;

	for (int b = 0; b < 2; b++)
		require(l[b].due >= l[b].sent &&
			l[b].sent >= l[b].answered + l[b].failed + l[b].lost);
	counter_sum(&sum, &l[1], sizeof(sum));
	check_table(&sum);
	for (size_t i = 0; i < sizeof(*other) / 8; i++)
		counted += ((const uint64_t *)other)[i];
	counted += sum.answered + sum.failed + sum.late + sum.duplicate + sum.stray + sum.malformed;
	counted += run.banks[0].badcookie_retries + run.banks[1].badcookie_retries;
	require(counted == run.fed);
	require(run.item.books.response.count == l[1].answered + l[1].failed);
	require(run.item.service.count == l[1].answered + l[1].failed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!run.shared)
		setup();
	if (size < HEAD || size > UINT16_MAX)
		return 0;
	start(data);
	run.data = data + HEAD;
	run.size = size - HEAD;
	worker_loop(&run.w);
	check_books();
	protos[0]->close(&run.item.ctx);
	require(port.live == 0 && port.received_count == 0);
	return 0;
}
