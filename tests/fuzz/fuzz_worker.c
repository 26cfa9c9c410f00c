// SPDX-License-Identifier: BSD-3-Clause
// The tester's worker as a whole, from frames to books: it asks, and is given its own queries back
// as answers, bent by the input, late, twice or not at all, and frames from anywhere. Each of them
// is counted in exactly one place, the ledger adds up with the table of transactions and no buffer
// is lost. An input may be played twice, the second time with all packets going the long way in:
// the same is counted, and the same is left in all tables. Port and clock are the test's own.
// Path: tests only.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/table.h"
#include "base/log.h"
#include "engine/core/reassembly.h"
#include "engine/core/worker/worker.h"
#include "lib/test_port.h"
#include "proto/dns/client/dns_internal.h"

#define HEAD    4
#define START   1000000000
#define WARMUP  (5 * GAP)
#define GAP     1000
#define TIMEOUT 100000
#define SLOTS   64
#define KEPT    64 // queries that can still be answered
#define ITEMS   2
#define PORTS   3

// Bits of the third byte of an input.
#define HEAD_NO_REST   1
#define HEAD_CLOSED    2
#define HEAD_OLD       4 // a lap of the key space later
#define HEAD_BUFFERS   8
#define HEAD_TAKES     16
#define HEAD_TWO_ITEMS 32 // the second one over IPv6
#define HEAD_SUMS      64 // no device vouches for checksums
#define HEAD_TWICE     128

// Of the fourth byte.
#define HEAD_SEVERAL 1 // the items have several sources
#define HEAD_FIXED                                                                                 \
	2 // queries differ only in names: the short way copies them; no list of those in flight

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct test_port port;
static uint64_t ticks;
static const struct clock ticking = {.hz = 1e9, .set = &ticks};

// Of the first item, then of the second one.
static const struct addr_range sources[] = {
	{{4, {198, 18, 0, 1}}, 2},
	{{4, {198, 18, 1, 1}}, 1},
	{{16, {0x20, 0x01, 0x0d, 0xb8, [15] = 1}}, 3},
};
static const struct addr_range source[ITEMS] = {
	{{4, {198, 18, 0, 1}}, 1}, {{16, {0x20, 0x01, 0x0d, 0xb8, [15] = 1}}, 1}};
static const struct addr servers[ITEMS] = {
	{4, {198, 18, 0, 9}}, {16, {0x20, 0x01, 0x0d, 0xb8, [15] = 9}}};
static const uint16_t ports[ITEMS][PORTS] = {{2000, 2001, 3000}, {4000, 4001, 4002}};
static const struct frame_vlans no_vlans;
static struct reassembly *reassembly;

// All that a run leaves, beside its worker's own counters of time.
struct tables {
	struct {
		uint64_t memory[8192];
		struct item_books books;
		struct item_counters counts[2];
		struct hist service;
		uint64_t answered_at, longest_gap, last_answer;
		struct dns_counters banks[3];
	} items[ITEMS];
	struct wire_counters other;
	uint64_t fed, asked;
	struct {
		uint8_t bytes[512];
		uint32_t len;
	} queries[KEPT];
};

static struct {
	struct worker w;
	struct worker_item items[ITEMS];
	struct item_snapshot snapshots[SNAPSHOTS][ITEMS];
	struct dns_counters unread[2]; // of all snapshots
	_Atomic uint32_t phase;
	void *shared[ITEMS], *fixed[ITEMS];
	struct images images[ITEMS];
	// of the input
	const uint8_t *data;
	size_t size;
	uint32_t drain_after;
	bool starved;    // of buffers, or the device takes few packets
	uint64_t passed; // tick of a pass that has sent what was due
	struct tables t;
} run;

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void sent(struct test_port *p, uint16_t queue, const struct rte_mbuf *m)
{
	uint32_t at = run.t.asked % KEPT;
	enum frame_kind kind;
	struct frame f;

	kind = frame_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, &f);
	require(kind != FRAME_BAD);
	if (kind != FRAME_UDP || m->data_len > sizeof(run.t.queries[at].bytes))
		return;
	require(frame_checksum_ok(&f));
	memcpy(run.t.queries[at].bytes, f.eth, m->data_len);
	run.t.queries[at].len = m->data_len;
	run.t.asked++;
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

// Make the checksums right, whatever the bytes are, if it is UDP.
static void mend_sums(uint8_t *frame, uint32_t len)
{
	uint8_t *ip, *udp;
	uint16_t check = 0;
	struct frame f;
	uint64_t sum;

	if (frame_parse(frame, len, &f) != FRAME_UDP)
		return;
	ip = frame + (f.ip - frame);
	udp = frame + (f.l4 - frame);
	if (f.addr_len == 4) {
		memcpy(ip + 10, &check, 2);
		check = csum_fold(csum_add(0, ip, (ip[0] & 15u) * 4));
		memcpy(ip + 10, &check, 2);
	}
	memset(udp + 6, 0, 2);
	sum = csum_pseudo(f.src, f.dst, f.addr_len, FRAME_PROTOCOL_UDP, 8 + f.payload_len);
	check = csum_fold(csum_add(sum, udp, 8 + f.payload_len));
	check = check ? check : 0xffff;
	memcpy(udp + 6, &check, 2);
}

// A query of before, turned round and bent: so many bytes are replaced, so many are added.
static void feed_answer(uint8_t which)
{
	uint8_t frame[1024], *ip, *udp;
	uint32_t at = (uint32_t)((run.t.asked - 1 - which % KEPT) % KEPT), len;
	uint8_t bends = next_byte();
	struct frame f;

	if (run.t.asked <= which % KEPT)
		return;
	len = run.t.queries[at].len;
	memcpy(frame, run.t.queries[at].bytes, len);
	frame_parse(frame, len, &f);
	ip = frame + (f.ip - frame);
	udp = frame + (f.l4 - frame);
	swap(frame, frame + 6, 6);
	swap(ip + (f.src - f.ip), ip + (f.dst - f.ip), f.addr_len);
	swap(udp, udp + 2, 2);
	udp[FRAME_UDP_LEN + 2] |= 0x80; // QR
	if (bends == UINT8_MAX)
		len = (uint32_t)(f.payload - frame) +
		      demand_cookie(udp + FRAME_UDP_LEN, f.payload_len);
	for (uint32_t n = bends == UINT8_MAX ? 0 : bends & 7; n > 0; n--) {
		uint8_t place = next_byte();

		frame[(14 + place) % len] = next_byte();
	}
	for (uint32_t n = bends == UINT8_MAX ? 0 : bends >> 3; n > 0; n--)
		frame[len++] = next_byte();
	if (bends >> 3) { // the lengths are right nevertheless
		bytes_put_be16(udp + 4, (uint16_t)(frame + len - udp));
		bytes_put_be16(ip + (f.addr_len == 4 ? 2 : 4),
			(uint16_t)(frame + len - (f.addr_len == 4 ? ip : udp)));
	}
	if (!run.w.wire.reports_checksums && !(which & KEPT))
		mend_sums(frame, len);
	test_port_receive(&port, frame, len);
	run.t.fed++;
}

static void feed_frame(uint32_t len)
{
	len = len < run.size ? len : (uint32_t)run.size;
	test_port_receive(&port, run.data, len);
	run.data += len;
	run.size -= len;
	run.t.fed++;
}

// What happens before the next pass of the loop: time goes on, and packets come.
static void poll(struct test_port *p)
{
	uint8_t op;

	// A tester that asks nothing keeps all books right.
	require(run.t.asked > 0 || run.starved || run.passed < START + 16 * GAP ||
		run.phase >= PHASE_DRAIN);
	run.passed = ticks;
	if (p->received_count) // of the last time, from which a burst takes one
		return;
	op = next_byte();
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

static const struct proto_env envs[ITEMS] = {{.seed = 1, .workers = 1, .clients = 3, .addr_len = 4},
	{.seed = 2, .workers = 1, .clients = 3, .addr_len = 16}};

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
	static const char *const fixed_names[] = {
		"www.example.com A", "h{0-9}.a.longer.name.example AAAA"};
	const struct dns_settings plain = {
		.names = {(void *)fixed_names, 2}, .order = DNS_SEQUENTIAL, .expect = &expect};
	struct diag *d = diag_new();

	log_set_level(LOG_QUIET);
	for (uint32_t i = 0; i < ITEMS; i++) {
		run.shared[i] = protos[0]->setup(&s, &envs[i], &(struct proto_facts){0}, d);
		run.fixed[i] = protos[0]->setup(&plain, &envs[i], &(struct proto_facts){0}, d);
		require(run.shared[i] && run.fixed[i]);
	}
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

	if (head[2] & HEAD_CLOSED) {
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

static void start_item(uint32_t number, const uint8_t *head, bool long_way)
{
	static uint64_t waits[] = {TIMEOUT};
	static struct frame_template frames[ITEMS][1];
	const struct txn_shape shape = {.count = 1 + head[1] % SLOTS,
		.ports = PORTS,
		.clients = head[3] & HEAD_SEVERAL ? 3 : 1,
		.in_order = head[3] & HEAD_FIXED,
		.key_bits = 16,
		.seed = 1,
		.window = head[2] & HEAD_CLOSED ? 64 : 4096,
		.rest = head[2] & HEAD_NO_REST ? 0 : 3 * TIMEOUT};
	const struct frame_path path = {.src_mac = {2, 0, 0, 0, 0, 1},
		.dst_mac = {2, 0, 0, 0, 0, 2},
		.dst = servers[number],
		.dst_port = 53};
	struct worker_item *it = &run.items[number];
	struct dns_counters *banks = run.t.items[number].banks;

	*it = (struct worker_item){.proto = protos[0],
		.server = path.dst,
		.server_port = 53,
		.ports = ports[number],
		.sources = head[3] & HEAD_SEVERAL ? sources + 2 * number : &source[number],
		.source_ranges = head[3] & HEAD_SEVERAL ? 2 - number : 1,
		.waits = waits,
		.frames = frames[number],
		.banks = {&banks[0], &banks[1]},
		.shadow = &banks[2],
		.pace = {.left = UINT64_MAX}};
	frame_template_build(frames[number], &path);
	it->pace.measure = START + WARMUP;
	start_pace(&it->pace, head);
	hist_clear(&it->books.response);
	hist_clear(&it->books.service);
	hist_clear(&it->books.lag);
	it->ctx.shared = head[3] & HEAD_FIXED ? run.fixed[number] : run.shared[number];
	if (head[3] & HEAD_FIXED && !run.images[number].bytes)
		require(images_make(&run.images[number], protos[0], it->ctx.shared, &path));
	if (head[3] & HEAD_FIXED && !long_way)
		it->images = &run.images[number];
	require(protos[0]->open(&it->ctx, &envs[number]) == 0);
	require(txn_bytes(&shape) <= sizeof(run.t.items[number].memory));
	require(txn_init(&it->txns, run.t.items[number].memory, &shape) == 0);
	if (head[2] & HEAD_OLD)
		it->txns.issued = it->txns.space;
	it->txns.gate += it->txns.issued;
	it->answered_at = START + WARMUP;
}

// The long way is that of a port with VLANs. Its own one is none that a frame can have, and the
// other one is to have none.
static void go_long_way(struct wire *w)
{
	w->self.vlans[0] = UINT16_MAX;
	w->self.vlan_count = 1;
	w->more = &no_vlans;
	w->more_count = 1;
}

static void start_snapshot(struct worker_snapshot *s, struct item_snapshot *items)
{
	s->items = items;
	for (uint16_t i = 0; i < ITEMS; i++)
		for (int b = 0; b < 2; b++)
			items[i].banks[b] = &run.unread[b];
}

static void start(const uint8_t *head, bool long_way)
{
	static struct port_entry by_port[65536];
	static struct neighbours nobody;
	struct worker *w = &run.w;

	memset(&run.t, 0, sizeof(run.t));
	memset(by_port, 0xff, sizeof(by_port));
	*w = (struct worker){
		// One packet at a time, both ways have the same order.
		.wire = {.burst = head[2] & HEAD_TWICE ? 1 : 8,
			.reports_checksums = !(head[2] & HEAD_SUMS),
			.tx_pool = &port.pool,
			.neighbours = &nobody,
			.reassembly = reassembly,
			.clock = &ticking,
			.self = {.mac = {2, 0, 0, 0, 0, 1}, .owned = sources, .owned_count = 3}},
		.items = run.items,
		.item_count = head[2] & HEAD_TWO_ITEMS ? 2 : 1,
		.by_port = by_port,
		.times = {START, START + WARMUP, START + 2000 * GAP, 20 * GAP, 100 * GAP},
		.phase = &run.phase,
		.clock = &ticking,
		.stall = 100 * GAP,
		.spares = 8,
		.handed = 1,
		.reading = 2,
	};
	if (long_way)
		go_long_way(&w->wire);
	for (uint32_t s = 0; s < SNAPSHOTS; s++)
		start_snapshot(&w->snapshots[s], run.snapshots[s]);
	hist_clear(&w->passes);
	for (uint16_t i = 0; i < w->item_count; i++) {
		start_item(i, head, long_way);
		for (uint16_t n = 0; n < PORTS; n++)
			by_port[ports[i][n]] = (struct port_entry){i, n};
	}
	run.phase = PHASE_WARMUP;
	run.drain_after = 1 + head[0];
	run.starved = head[2] & (HEAD_BUFFERS | HEAD_TAKES);
	run.passed = START;
	test_port_open(&port, 0);
	port.buffers = head[2] & HEAD_BUFFERS ? 16 * head[3] : UINT32_MAX;
	port.takes = head[2] & HEAD_TAKES ? head[3] % 8 : UINT32_MAX;
	port.poll = poll;
	port.sent = sent;
	ticks = START;
}

static void check_table(const struct txn_table *t, const struct ledger *sum)
{
	uint64_t flying = 0, begun = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		flying += t->slots[i].state >= TXN_TAKEN;
		begun += t->slots[i].state >= TXN_TAKEN && t->slots[i].begun;
	}
	require(flying == t->in_flight);
	require(begun == sum->sent - sum->answered - sum->failed - sum->lost);
}

// Returns the number of packets that are counted in the books.
static uint64_t check_item(const struct worker_item *it, const struct dns_counters *banks)
{
	const struct ledger *l = it->books.ledger;
	struct ledger sum = l[0];

	for (int b = 0; b < 2; b++)
		require(l[b].due >= l[b].sent &&
			l[b].sent >= l[b].answered + l[b].failed + l[b].lost);
	counter_sum(&sum, &l[1], sizeof(sum));
	check_table(&it->txns, &sum);
	require(it->books.response.count == l[1].answered + l[1].failed);
	require(it->books.service.count == l[1].answered + l[1].failed);
	return sum.answered + sum.failed + sum.late + sum.duplicate + sum.stray + sum.malformed +
	       banks[0].badcookie_retries + banks[1].badcookie_retries;
}

// What the counters of a wire say twice: a whole is counted beside its fragments, and so is their
// fate.
static uint64_t counted_twice(const struct wire_counters *c)
{
	uint64_t n = 2 * c->reassembled + c->duplicate_fragments;

	for (uint32_t i = 0; i < FRAGMENTS_REASONS; i++)
		n += c->not_reassembled[i];
	return n;
}

static void check_books(void)
{
	uint64_t counted = 0;

	for (size_t i = 0; i < sizeof(run.t.other) / 8; i++)
		counted += ((const uint64_t *)&run.w.wire.counters)[i];
	for (uint32_t i = 0; i < run.w.item_count; i++)
		counted += check_item(&run.items[i], run.t.items[i].banks);
	require(counted == run.t.fed + counted_twice(&run.w.wire.counters));
}

static void play(const uint8_t *data, size_t size, bool long_way)
{
	start(data, long_way);
	run.data = data + HEAD;
	run.size = size - HEAD;
	worker_loop(&run.w);
	check_books();
	run.t.other = run.w.wire.counters;
	for (uint32_t i = 0; i < run.w.item_count; i++) {
		struct worker_item *it = &run.items[i];

		run.t.items[i].books = it->books;
		memcpy(run.t.items[i].books.counts, it->books.counts, sizeof(it->books.counts));
		run.t.items[i].books.service = it->books.service;
		run.t.items[i].answered_at = it->answered_at;
		run.t.items[i].books.longest_gap = it->books.longest_gap;
		run.t.items[i].last_answer = it->last_answer;
		protos[0]->close(&it->ctx);
	}
	require(port.live == 0 && port.received_count == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct tables kept;

	if (!reassembly)
		reassembly = reassembly_new(&ticking);
	require(reassembly);
	if (!run.shared[0])
		setup();
	if (size < HEAD || size > UINT16_MAX)
		return 0;
	play(data, size, false);
	if (!(data[2] & HEAD_TWICE))
		return 0;
	kept = run.t;
	play(data, size, true);
	require(memcmp(&kept, &run.t, sizeof(kept)) == 0);
	return 0;
}
