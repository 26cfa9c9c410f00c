// SPDX-License-Identifier: BSD-3-Clause
// DNS over TCP between the tester's worker and the responder, over a wire that the input rules:
// segments are delivered, lost, repeated, late, cut, or sent with other flags, numbers, options and
// bytes. Whatever arrives, the tables of connections and their blocks hold together, the ledger
// adds up and no buffer is lost. Ports and clock are the test's own. Path: tests only.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/dns/server/dns_answers.h"
#include "proto/table.h"
#include "base/log.h"
#include "engine/core/responder/responder.h"
#include "engine/core/worker/worker.h"
#include "engine/core/worker/worker_conn.h"
#include "lib/test_port.h"
#include "proto/dns/client/dns_internal.h"
#include "unit/net/tcp_check.h"

#define HEAD      6
#define START     1000000000ull
#define GAP       1000000
#define TIMEOUT   50000000ull
#define SLOTS     16
#define PORTS     2
#define CLIENTS   2
#define ROWS      (PORTS * CLIENTS) // those behind it: of the client that does its worst
#define SEATS     3
#define SERVED    6   // connections of the server
#define KEPT      64u // frames of a direction
#define FRAME_MAX 2048
#define INPUT_MAX 512 // a pass takes two bytes at least, and some 10 us

// Bits of the first byte of an input.
#define HEAD_TRUNCATED 1 // UDP first, whose answers are truncated
#define HEAD_BUFFERS   2
#define HEAD_TAKES     4
#define HEAD_BLOCKS    8
#define HEAD_AGAIN     16
#define HEAD_IDLE      32
#define HEAD_CLOSES    64 // the server, after a few messages
#define HEAD_STAMPS    128

// Of the fourth.
#define HEAD_BEHAVES  32 // a client does its worst
#define HEAD_OPENS    64 // without a message
#define HEAD_REPLACES 128

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum side {
	TESTER,
	SERVER,
	BEHAVES, // beside the tester
};

// Frames that a side sent: the last ones, and how many of them went on.
struct line {
	struct {
		uint8_t bytes[FRAME_MAX];
		uint32_t len;
	} frames[KEPT];
	uint32_t count, delivered;
};

static uint64_t ticks;
static const struct clock ticking = {.hz = 1e9, .set = &ticks};
static const struct addr_range sources[] = {{{4, {198, 18, 0, 1}}, CLIENTS}};
static const struct addr_range servers[] = {{{4, {198, 18, 0, 9}}, 1}};
static const uint16_t ports[PORTS + 1] = {2000, 2001, 2002};
static struct test_port sides[2];

static struct {
	struct worker w;
	struct worker_item item;
	struct worker_conns wc;
	struct worker_behave behave;
	uint32_t behaved; // its connection
	uint8_t kind;
	struct item_snapshot snapshots[SNAPSHOTS][1];
	struct responder r;
	struct responder_protocol server;
	struct responder_conns rc;
	struct responder_conn all[SERVED];
	struct line lines[2]; // by their sender
	struct dns_counters banks[3], unread[2];
	struct conn_seat seats[SEATS + 1];
	uint32_t of_slot[SLOTS], rows[ROWS];
	uint64_t txn_memory[8192];
	_Atomic uint32_t phase;
	void *shared;
	// of the input
	const uint8_t *data;
	size_t size;
} run;

static void require(bool holds)
{
	if (!holds)
		abort();
}

static uint8_t next_byte(void)
{
	if (run.size == 0)
		return 0;
	run.size--;
	return *run.data++;
}

static void sent(struct test_port *p, uint16_t queue, const struct rte_mbuf *m)
{
	struct line *l = &run.lines[p - sides];
	uint32_t at = l->count % KEPT;
	struct frame f;
	enum frame_kind kind = frame_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, &f);

	require(kind != FRAME_BAD && m->pkt_len == m->data_len && m->data_len <= FRAME_MAX);
	require(kind != FRAME_TCP || frame_tcp_checksum_ok(&f));
	memcpy(l->frames[at].bytes, f.eth, m->data_len);
	l->frames[at].len = m->data_len;
	l->count++;
}

static void put_be32(uint8_t *to, uint32_t value)
{
	bytes_put_be16(to, (uint16_t)(value >> 16));
	bytes_put_be16(to + 2, (uint16_t)value);
}

// Other flags, numbers, options and bytes, as the input says. No side judges checksums. Returns the
// length.
static uint32_t bend(uint8_t *frame, uint32_t len)
{
	uint8_t what = next_byte(), *ip, *tcp;
	struct frame f;
	uint32_t head;

	if (frame_parse(frame, len, &f) != FRAME_TCP)
		return len;
	ip = frame + (f.ip - frame);
	tcp = frame + (f.l4 - frame);
	head = (uint32_t)(tcp - frame) + (tcp[12] >> 4) * 4u;
	if (what & 1)
		tcp[13] = next_byte();
	if (what & 2)
		put_be32(tcp + 4,
			bytes_be32(tcp + 4) + ((uint32_t)(int8_t)next_byte() << next_byte() % 25));
	if (what & 4)
		put_be32(tcp + 8,
			bytes_be32(tcp + 8) + ((uint32_t)(int8_t)next_byte() << next_byte() % 25));
	if (what & 8)
		bytes_put_be16(tcp + 14, (uint16_t)(next_byte() << next_byte() % 9));
	if (what & 16 && len > head)
		len = head + next_byte() % (len - head);
	if (what & 32)
		for (uint32_t n = next_byte(); n > 0; n--)
			frame[len++] = next_byte();
	if (what & 64) { // options, and the length of the header
		uint32_t place = next_byte();

		tcp[12 + place % (FRAME_TCP_LEN + 20)] = next_byte();
	}
	if (what & 128) { // another connection
		tcp[1] ^= next_byte() & 3;
		tcp[3] ^= next_byte() & 3;
	}
	bytes_put_be16(ip + 2, (uint16_t)(frame + len - ip));
	return len;
}

static void deliver(enum side from, uint32_t which, bool bent)
{
	struct line *l = &run.lines[from];
	uint32_t at = which % KEPT, len = l->frames[at].len;
	uint8_t frame[FRAME_MAX + 320];
	struct frame f;

	if (which >= l->count || sides[!from].received_count == TEST_PORT_HOLDS)
		return;
	memset(frame, 0, sizeof(frame));
	memcpy(frame, l->frames[at].bytes, len);
	if (frame_parse(frame, len, &f) == FRAME_UDP && from == SERVER)
		frame[f.payload - frame + 2] |= 2; // TC
	if (bent)
		len = bend(frame, len);
	test_port_receive(&sides[!from], frame, len);
}

static void deliver_all(enum side from)
{
	struct line *l = &run.lines[from];

	if (l->count - l->delivered > KEPT)
		l->delivered = l->count - KEPT;
	while (l->delivered != l->count)
		deliver(from, l->delivered++, false);
}

static void deliver_next(enum side from, bool bent)
{
	struct line *l = &run.lines[from];

	if (l->delivered != l->count)
		deliver(from, l->delivered++, bent);
}

static void deliver_old(enum side from, bool bent)
{
	deliver(from, run.lines[from].count - 1 - next_byte() % KEPT, bent);
}

static void play_one(void)
{
	uint8_t op = next_byte(), wait = next_byte();
	enum side side = op >> 4 & 1;

	// Up to 134 ms; up to 2 s, in which each wheel turns by 2 000 buckets, in one of 16.
	ticks += 1ull << (8 + wait % 20 + (wait >= 240 ? 4 : 0));
	switch (op % 8) {
	case 0:
	case 1:
		deliver_all(TESTER);
		deliver_all(SERVER);
		return;
	case 2:
		deliver_all(side);
		return;
	case 3:
		deliver_next(side, false);
		return;
	case 4:
		deliver_next(side, true);
		return;
	case 5:
		deliver_old(side, false);
		return;
	case 6:
		deliver_old(side, true);
		return;
	case 7: // lost
		run.lines[side].delivered += run.lines[side].delivered != run.lines[side].count;
		return;
	}
}

// --- what holds at any time ---

static uint32_t list_len(const struct conns *cs, uint32_t c)
{
	uint32_t n = 0;

	for (; c != CONN_NONE; c = cs->all[c].chain, n++)
		require(c < cs->count && n < cs->count);
	return n;
}

static void check_conn(
	const struct conns *cs, uint32_t c, uint32_t *timed, uint32_t *ready, uint32_t *blocks)
{
	const struct conn *of = &cs->all[c];
	uint32_t tx = tcp_check_list(&cs->host, of->tcp.tx_head);
	uint32_t rx = tcp_check_list(&cs->host, of->tcp.rx_head);

	require(tx != UINT32_MAX && rx != UINT32_MAX);
	require(of->tcp.state != TCP_CLOSED || (of->flags & CONN_READY && tx + rx == 0));
	*blocks += tx + rx;
	*timed += (of->flags & CONN_TIMED) != 0;
	*ready += (of->flags & CONN_READY) != 0;
	if (!(of->flags & CONN_TIMED))
		return;
	require(of->next == CONN_NONE || cs->all[of->next].prev == c);
	require((of->prev >= cs->count ? cs->buckets[of->prev - cs->count]
				       : cs->all[of->prev].next) == c);
}

static void check_conns(const struct conns *cs)
{
	uint32_t used = 0, timed = 0, ready = 0, blocks = 0;

	for (uint32_t place = 0; place <= cs->at_mask; place++) {
		used += list_len(cs, cs->at[place]);
		for (uint32_t c = cs->at[place]; c != CONN_NONE; c = cs->all[c].chain)
			check_conn(cs, c, &timed, &ready, &blocks);
	}
	require(used == cs->used && list_len(cs, cs->free) == cs->count - used);
	require(timed == cs->timed && ready == cs->ready_count && blocks == cs->host.used);
}

static void check_item(void)
{
	const struct worker_item *it = &run.item;
	const struct ledger *l = it->books.ledger;
	uint64_t taken = 0, begun = 0;
	struct ledger sum = l[0];

	for (int b = 0; b < 2; b++)
		require(l[b].due >= l[b].sent &&
			l[b].sent >= l[b].answered + l[b].failed + l[b].lost);
	counter_sum(&sum, &l[1], sizeof(sum));
	for (uint32_t i = 0; i < it->txns.count; i++) {
		taken += it->txns.slots[i].state >= TXN_TAKEN;
		begun += it->txns.slots[i].state >= TXN_TAKEN && it->txns.slots[i].begun;
	}
	require(taken == it->txns.in_flight);
	require(begun == sum.sent - sum.answered - sum.failed - sum.lost);
}

// Until the end of the run resets connections, each knows how many transactions wait on it.
static void check_open(void)
{
	const struct worker_conns *wc = &run.wc;
	uint64_t open = 0, asked = 0;

	for (uint32_t i = 0; i < run.item.txns.count; i++)
		asked += run.item.txns.slots[i].state == TXN_FLYING && wc->of_slot[i] != CONN_NONE;
	for (uint32_t place = 0; place <= wc->cs.at_mask; place++)
		for (uint32_t c = wc->cs.at[place]; c != CONN_NONE; c = wc->cs.all[c].chain)
			open += wc->cs.all[c].open;
	require(open == asked);
	require(wc->row_count + wc->cs.used == ROWS);
}

static void check(void)
{
	const struct responder_counts *n = &run.r.counts;

	check_conns(&run.wc.cs);
	if (run.wc.behave)
		check_conns(&run.behave.cs);
	check_conns(&run.rc.cs);
	check_item();
	check_open();
	require(n->received == n->answered + n->ignored + n->no_buffer);
	require(sides[SERVER].received_count == 0);
}

// Before the next pass of the worker: time goes on, segments come, and the server has its turn.
static void poll(struct test_port *p)
{
	if (p->received_count) // more than a burst
		return;
	if (run.size == 0)
		run.phase = run.phase == PHASE_WARMUP ? PHASE_DRAIN : PHASE_STOP;
	play_one();
	while (sides[SERVER].received_count)
		responder_pass(&run.r);
	responder_pass(&run.r);
	check();
}

// --- both sides ---

static void setup(void)
{
	static const char *const names[] = {"www.example.com A", "h{0-9}.x AAAA"};
	static const int32_t noerror = DNS_NOERROR;
	static struct dns_expect_settings expect = {.rcode = {(void *)&noerror, 1}};
	static const struct proto_env env = {
		.seed = 1, .workers = 1, .clients = SEATS, .addr_len = 4};
	static const struct dns_answers_settings answers = {.ttl_ns = 60000000000,
		.address = {4, {192, 0, 2, 1}},
		.address6 = {16, {0x20, 1, 0xd, 0xb8}},
		.text = "ddiperf"};
	const struct dns_settings s = {.names = {(void *)names, 2},
		.order = DNS_SEQUENTIAL,
		.transport = {.tc = TRANSPORT_TC_TCP},
		.expect = &expect};
	struct responder_protocol *p = &run.server;
	struct diag *d = diag_new();

	log_set_level(LOG_QUIET);
	run.shared = protos[0]->setup(&s, &env, &(struct proto_facts){0}, d);
	p->proto = protos[0];
	p->server = protos[0]->server;
	p->port = 53;
	p->ctx.shared = p->server->setup(&answers, &env, &(struct proto_facts){0}, d);
	p->ctx.counters = calloc(1, p->server->counters->size);
	require(run.shared && p->ctx.shared && p->ctx.counters);
	diag_free(d);
}

// The memory of a side's connections lasts for all inputs.
static void start_conns(struct conns *cs, enum side side, const uint8_t *head)
{
	static void *memory[3];
	static const uint32_t counts[] = {[TESTER] = ROWS, [SERVER] = SERVED, [BEHAVES] = 2};
	const struct conns_shape shape = {.count = counts[side],
		.places = 4,
		.blocks = head[0] & HEAD_BLOCKS ? head[4] % 16 : 64,
		.window = 1u + head[5] * 64u,
		.time_wait_us = head[3] & 4 ? 1000000 : 0,
		.syn_tries = 3,
		.tries = 4,
		.stamps = (head[0] & HEAD_STAMPS) != 0,
		.nagle = side == TESTER && head[5] & 1};
	static const struct conns_shape most = {.count = 8, .places = 4, .blocks = 64};

	if (!memory[side])
		memory[side] = aligned_alloc(64, (conns_bytes(&most) + 63) / 64 * 64);
	memset(memory[side], 0, conns_bytes(&shape));
	// The clock of 32 bits may soon begin again.
	conns_init(cs, memory[side], &shape,
		START - (head[3] & 8 ? (1ull << 32) * 1000 - 2000000000 : 0),
		clock_us_scale(&ticking));
	conns_clock(cs, START);
}

static void start_behaves(const uint8_t *head)
{
	struct worker_behave *b = &run.behave;

	run.kind = head[2] % TCP_BEHAVIOUR_COUNT;
	run.behaved = CONN_NONE;
	*b = (struct worker_behave){.wc = &run.wc,
		.kinds = &run.kind,
		.client_count = 1,
		.row_first = ROWS,
		.row_count = CLIENTS,
		.gap = 4 * GAP,
		.conn_of = &run.behaved};
	start_conns(&b->cs, BEHAVES, head);
	b->cs.owner = &worker_behave_owner;
	b->cs.of = b;
	run.wc.behave = b;
	run.wc.row_end = ROWS;
}

static void start_item(const uint8_t *head, const struct frame_path *path)
{
	static const uint64_t waits[] = {TIMEOUT};
	static struct frame_template frames[1];
	static struct pace_segment segments[1] = {{0, 0, (fixed)GAP << 64}};
	static struct schedule s;
	const struct pace_share alone = {0, 1};
	const struct proto_env env = {.seed = 1, .workers = 1, .clients = SEATS, .addr_len = 4};
	bool stream = !(head[0] & HEAD_TRUNCATED);
	const struct txn_shape shape = {.count = 1 + head[1] % SLOTS,
		.ports = stream ? 1 : PORTS,
		.clients = stream ? SEATS : CLIENTS,
		.key_bits = 16,
		.seed = 1,
		.window = 4096,
		.rest = 0,
		.reuse = stream};
	struct worker_conns *wc = &run.wc;
	struct worker_item *it = &run.item;
	struct frame_path tcp = *path;

	*it = (struct worker_item){.proto = protos[0],
		.server = path->dst,
		.server_port = 53,
		.ports = ports,
		.sources = sources,
		.source_ranges = 1,
		.waits = (void *)waits,
		.frames = frames,
		.banks = {&run.banks[0], &run.banks[1]},
		.shadow = &run.banks[2],
		.conns = wc,
		.stream = stream,
		.answered_at = START,
		.pace = {.left = UINT64_MAX}};
	frame_template_build(frames, path);
	s = (struct schedule){.order = PACE_EVEN,
		.segments = segments,
		.count = 1,
		.sends = FIXED_INFINITY,
		.stop = PACE_NEVER};
	recip_init(&s.burst, 1);
	it->pace.measure = START + 5 * GAP;
	pace_start(&it->pace, &s, START, alone);
	hist_clear(&it->books.response);
	hist_clear(&it->books.service);
	hist_clear(&it->books.lag);
	it->ctx.shared = run.shared;
	require(protos[0]->open(&it->ctx, &env) == 0);
	require(txn_bytes(&shape) <= sizeof(run.txn_memory));
	memset(run.txn_memory, 0, sizeof(run.txn_memory));
	require(txn_init(&it->txns, run.txn_memory, &shape) == 0);
	it->txns.gate += it->txns.issued;

	memset(wc, 0, sizeof(*wc));
	start_conns(&wc->cs, TESTER, head);
	wc->cs.owner = &worker_conn_owner;
	wc->cs.of = wc;
	wc->w = &run.w;
	wc->it = it;
	tcp.tcp = true;
	frame_template_build(&wc->frame, &tcp);
	wc->seat_count = stream ? SEATS : 0;
	wc->client_count = CLIENTS;
	recip_init(&wc->by_client, CLIENTS);
	wc->per_conn = head[2] & 15 ? head[2] & 15 : UINT32_MAX;
	wc->pipeline = 1 + (head[2] >> 4);
	wc->idle_us = head[0] & HEAD_IDLE ? 5000 : 0;
	wc->again = (head[0] & HEAD_AGAIN) != 0;
	wc->mss = head[3] & 16 ? 64 : 1460;
	wc->patience = 100 * GAP;
	wc->secret = 1;
	wc->seats = run.seats;
	wc->of_slot = run.of_slot;
	wc->rows = run.rows;
	wc->row_mask = ROWS - 1;
	wc->row_count = ROWS;
	for (uint32_t n = 0; n < ROWS; n++)
		run.rows[n] = n;
	memset(run.of_slot, 0xff, sizeof(run.of_slot));
	for (uint32_t n = 0; n <= SEATS; n++)
		run.seats[n] = (struct conn_seat){.conn = CONN_NONE};
	hist_clear(&wc->books.handshake);
	hist_clear(&wc->books.first);
	wc->open_gap = stream && head[3] & HEAD_OPENS ? GAP : 0;
	wc->replaces = (head[3] & HEAD_REPLACES) != 0;
	if (head[3] & HEAD_BEHAVES)
		start_behaves(head);
}

static void start_worker(const uint8_t *head)
{
	static struct port_entry by_port[65536];
	static struct neighbours nobody;
	const struct frame_path path = {.src_mac = {2, 0, 0, 0, 0, 1},
		.dst_mac = {2, 0, 0, 0, 0, 2},
		.dst = servers[0].first,
		.dst_port = 53};
	struct worker *w = &run.w;

	if (by_port[0].item != UINT16_MAX)
		memset(by_port, 0xff, sizeof(by_port)); // once: each input has the same ports
	memset(run.banks, 0, sizeof(run.banks));
	*w = (struct worker){
		.wire = {.burst = 8,
			.reports_checksums = true,
			.tx_pool = &sides[TESTER].pool,
			.neighbours = &nobody,
			.clock = &ticking,
			.self = {.mac = {2, 0, 0, 0, 0, 1}, .owned = sources, .owned_count = 1}},
		.items = &run.item,
		.item_count = 1,
		.by_port = by_port,
		.times = {START, START + 5 * GAP, START + (1ull << 40), TIMEOUT, 100 * GAP},
		.phase = &run.phase,
		.clock = &ticking,
		.stall = 1ull << 40,
		.spares = 8,
		.handed = 1,
		.reading = 2,
	};
	for (uint32_t s = 0; s < SNAPSHOTS; s++) {
		w->snapshots[s].items = run.snapshots[s];
		for (int b = 0; b < 2; b++)
			run.snapshots[s][0].banks[b] = &run.unread[b];
	}
	hist_clear(&w->passes);
	start_item(head, &path);
	for (uint16_t n = 0; n <= PORTS; n++)
		by_port[ports[n]] = (struct port_entry){0, n};
	run.phase = PHASE_WARMUP;
}

static void start_server(const uint8_t *head)
{
	static const struct port_queue queue = {1, 0};
	static struct neighbours nobody;

	run.r = (struct responder){
		.wire = {.burst = 8,
			.reports_checksums = true,
			.tx_pool = &sides[SERVER].pool,
			.neighbours = &nobody,
			.clock = &ticking,
			.self = {.mac = {2, 0, 0, 0, 0, 2}, .owned = servers, .owned_count = 1}},
		.queues = &queue,
		.queue_step = 1,
		.queue_end = 1,
		.clock = &ticking,
		.protocols = &run.server,
		.protocol_count = 1,
		.patience = 1000000,
		.start = START,
		.conns = &run.rc,
	};
	run.r.wire.port = 1;
	run.rc.ways.count = 0;
	start_conns(&run.rc.cs, SERVER, head);
	run.rc.cs.owner = &responder_conn_owner;
	run.rc.cs.of = &run.r;
	run.rc.packet = 1500;
	run.rc.secret = 2;
	run.rc.all = run.all;
	run.rc.most = UINT32_MAX;
	run.rc.per_conn = head[0] & HEAD_CLOSES ? 1u + head[5] % 4 : UINT32_MAX;
	run.rc.idle_us = head[0] & HEAD_CLOSES && head[5] & 8 ? 4000 : 0;
	run.rc.resets = head[5] & 16;
	run.rc.open = 0;
	memset(&run.rc.counts, 0, sizeof(run.rc.counts));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!run.shared)
		setup();
	if (size < HEAD)
		return 0;
	size = size < INPUT_MAX ? size : INPUT_MAX;
	ticks = START;
	for (uint16_t i = 0; i < 2; i++) {
		test_port_open(&sides[i], i);
		sides[i].sent = sent;
		sides[i].buffers = data[0] & HEAD_BUFFERS ? 16 * data[4] : UINT32_MAX;
		sides[i].takes = data[0] & HEAD_TAKES ? data[3] % 4 : UINT32_MAX;
		run.lines[i].count = run.lines[i].delivered = 0;
	}
	sides[TESTER].poll = poll;
	start_server(data);
	start_worker(data);
	run.data = data + HEAD;
	run.size = size - HEAD;
	worker_loop(&run.w);
	check_item();
	responder_halt(&run.r);
	protos[0]->close(&run.item.ctx);
	// More than a burst came last: the device has the rest.
	require(sides[TESTER].live == sides[TESTER].received_count && sides[SERVER].live == 0);
	return 0;
}
