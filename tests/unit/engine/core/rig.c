// SPDX-License-Identifier: BSD-3-Clause
// The bench of rig.h. Path: cold. Tests.
#include "rig.h"

#include <arpa/inet.h>

#define TAG         0x30000000u
#define TAG_SHIFT   28
#define SERVER_PORT 53

struct rig rig;

static const struct addr_range sources[] = {
	{{4, {198, 18, 0, 1}}, 2},
	{{4, {198, 18, 1, 1}}, 1},
};
static const struct addr_range sources6[] = {
	{{16, {0x20, 0x01, 0x0d, 0xb8, [15] = 1}}, 2},
	{{16, {0x20, 0x01, 0x0d, 0xb8, 0, 1, [15] = 1}}, 1},
};
static const uint16_t ports[RIG_ITEMS][2] = {
	{RIG_PORT, RIG_PORT + 1}, {RIG_PORT + 100, RIG_PORT + 101}};
static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1}, client_mac[6] = {2, 0, 0, 0, 1, 1};
static const char *const steps[RIG_STEPS + 1] = {"first", "second"};
static uint64_t banks[RIG_ITEMS][3];
static struct step_books step_books[RIG_STEPS];
static uint64_t kept_banks[SNAPSHOTS][RIG_ITEMS][2];
static struct step_books kept_steps[SNAPSHOTS][RIG_STEPS];
static const struct counter_section counters = {.name = "rig", .size = sizeof(uint64_t)};
static uint64_t step_due[RIG_SLOTS];
static struct port_entry by_port[65536];
static struct worker_item *tagged[1];

static bool begin_one(struct proto_ctx *ctx, struct proto_txn *t)
{
	struct rig_script *s = ctx->own;

	s->counters = ctx->counters;
	s->now_ms = ctx->now_ms;
	if (s->nobody || (s->clients && s->begun == s->clients)) {
		ctx->lack = s->lack;
		return false;
	}
	s->begun++;
	t->user = 1000 + (uint32_t)t->seq;
	t->step = s->first_step;
	return true;
}

static uint32_t begin(struct proto_ctx *ctx, struct proto_txn *t, uint32_t n)
{
	uint32_t i = 0;

	while (i < n && begin_one(ctx, &t[i]))
		i++;
	return i;
}

static void flow(struct proto_ctx *ctx, const struct proto_txn *t, struct proto_flow *out)
{
	struct rig_script *s = ctx->own;

	*out = (struct proto_flow){.more = s->more,
		.src_port = RIG_PORT,
		.own_mac = true,
		.src = {198, 18, 2, (uint8_t)t->seq}};
	memcpy(out->mac, client_mac, 6);
}

static uint32_t request_one(struct proto_ctx *ctx, struct proto_txn *t, uint8_t *buf, uint32_t room)
{
	struct rig_script *s = ctx->own;

	s->counters = ctx->counters;
	rig.tick += s->takes;
	assert_true(room >= 14);
	bytes_put_be32(buf, t->key);
	buf[4] = t->step;
	buf[5] = t->tries;
	bytes_put_be32(buf + 6, (uint32_t)(t->seq >> 32));
	bytes_put_be32(buf + 10, (uint32_t)t->seq);
	t->silent = s->silent;
	t->wait = s->wait;
	ctx->sum = s->no_sum ? 0 : csum_add(0, buf, 14);
	return 14;
}

static PROTO_REQUEST(write_all, request_one);

static void request(struct proto_ctx *ctx, struct proto_txn *const *t, struct proto_flow *flows,
	struct proto_out *out, uint32_t n, uint32_t room)
{
	const struct rig_script *s = ctx->own;

	write_all(ctx, t, flows, out, n, room);
	for (uint32_t i = 0; i < n; i++)
		flows[i].dst_port = s->to_port;
}

static void routed(struct proto_ctx *ctx, struct proto_txn *const *t, struct proto_flow *flows,
	struct proto_out *out, uint32_t n, uint32_t room)
{
	for (uint32_t i = 0; i < n; i++)
		flow(ctx, t[i], &flows[i]);
	request(ctx, t, flows, out, n, room);
}

static bool key(const uint8_t *buf, uint32_t len, uint32_t *out)
{
	if (len < 6)
		return false;
	*out = bytes_be32(buf);
	return true;
}

static enum proto_verdict reply_one(
	struct proto_ctx *ctx, struct proto_txn *t, const uint8_t *buf, uint32_t len)
{
	struct rig_script *s = ctx->own;
	enum proto_verdict verdict = buf[5];

	s->counters = ctx->counters;
	s->now_ms = ctx->now_ms;
	s->had_ends = ctx->ends != NULL;
	if (s->finds) {
		ctx->noted = true;
		ctx->path_found = 1;
		memcpy(ctx->found, s->finds, 4);
	}
	if (t->over) {
		s->over++;
		s->over_seq = t->seq;
		return verdict;
	}
	if (verdict == PROTO_AGAIN || (verdict == PROTO_KEPT && s->step_when_kept))
		t->step = s->next_step;
	return verdict;
}

static PROTO_REPLY(reply, reply_one);

static enum proto_verdict timeout(struct proto_ctx *ctx, struct proto_txn *t)
{
	struct rig_script *s = ctx->own;

	s->counters = ctx->counters;
	s->now_ms = ctx->now_ms;
	if (t->over) {
		s->abandoned++;
		return PROTO_FAIL;
	}
	s->timeouts++;
	if (s->timeout == PROTO_AGAIN && s->step_on_timeout)
		t->step = s->next_step;
	else if (s->timeout == PROTO_AGAIN)
		t->tries++;
	return s->timeout;
}

static bool owns(struct proto_ctx *ctx, const uint8_t *addr, uint8_t addr_len, uint8_t out[6])
{
	if (addr[0] != 10)
		return false;
	memcpy(out, client_mac, 6);
	return true;
}

static const struct proto_router router = {.owns = owns};

static void sent(struct test_port *p, uint16_t queue, const struct rte_mbuf *m)
{
	struct rig_query *q = &rig.queries[rig.asked++ % RIG_QUERIES];

	assert_true(m->data_len <= sizeof(q->bytes));
	assert_int_equal(m->data_len, m->pkt_len);
	q->len = m->data_len;
	q->queue = queue;
	q->ol_flags = m->ol_flags;
	memcpy(q->bytes, rte_pktmbuf_mtod(m, const uint8_t *), q->len);
	q->kind = frame_parse(q->bytes, q->len, &q->f);
	assert_int_not_equal(q->kind, FRAME_BAD);
	if (q->kind != FRAME_UDP || q->f.payload_len < 14)
		return;
	assert_true(rig.w.wire.checksum_offload || frame_checksum_ok(&q->f));
	q->key = bytes_be32(q->f.payload);
	q->step = q->f.payload[4];
	q->tries = q->f.payload[5];
	q->seq = (uint64_t)bytes_be32(q->f.payload + 6) << 32 | bytes_be32(q->f.payload + 10);
}

static void start_pace(struct pace *p)
{
	static struct pace_segment segment = {0, 0, (fixed)RIG_GAP << 64};
	static const struct schedule even = {.order = PACE_EVEN,
		.segments = &segment,
		.count = 1,
		.sends = FIXED_INFINITY,
		.stop = PACE_NEVER};

	p->left = UINT64_MAX;
	p->measure = RIG_MEASURE;
	pace_start(p, &even, RIG_START, (struct pace_share){0, 1});
}

static void fresh_item(uint32_t i)
{
	static uint64_t waits[RIG_ITEMS][2];
	static struct frame_template frames[RIG_ITEMS][2];
	const struct txn_shape shape = {.count = RIG_SLOTS,
		.ports = 2,
		.clients = 3,
		.key_bits = 16,
		.more_waits = 1,
		.seed = 7,
		.window = RIG_SLOTS,
		.rest = 3 * RIG_TIMEOUT};
	static uint64_t memory[RIG_ITEMS][2048];
	struct frame_path path = {.src_mac = {2, 0, 0, 0, 0, 1},
		.dst_mac = {2, 0, 0, 0, 0, 2},
		.dst = {4, {198, 18, 0, 9}},
		.dst_port = SERVER_PORT};
	struct worker_item *it = &rig.items[i];

	waits[i][0] = RIG_TIMEOUT;
	waits[i][1] = RIG_TIMEOUT / 5;
	for (uint8_t n = 0; n < 2; n++) {
		path.dst.bytes[3] = 9 + n;
		frame_template_build(&frames[i][n], &path);
	}
	path.dst.bytes[3] = 9;
	*it = (struct worker_item){.proto = &rig.proto,
		.server = path.dst,
		.server_port = SERVER_PORT,
		.ports = ports[i],
		.sources = sources,
		.source_ranges = 2,
		.waits = waits[i],
		.frames = frames[i],
		.banks = {&banks[i][0], &banks[i][1]},
		.shadow = &banks[i][2],
		.answered_at = RIG_MEASURE};
	it->ctx.own = &rig.script[i];
	hist_clear(&it->books.response);
	hist_clear(&it->books.service);
	hist_clear(&it->books.lag);
	start_pace(&it->pace);
	memset(memory[i], 0, sizeof(memory[i]));
	assert_true(txn_bytes(&shape) <= sizeof(memory[i]));
	assert_int_equal(txn_init(&it->txns, memory[i], &shape), 0);
	rig.slots[i] = it->txns.slots;
	for (uint16_t n = 0; n < 2; n++)
		by_port[ports[i][n]] = (struct port_entry){(uint16_t)i, n};
}

static void fresh_snapshot(uint32_t s)
{
	rig.w.snapshots[s].items = rig.snapshots[s];
	memset(kept_steps[s], 0, sizeof(kept_steps[s]));
	for (uint32_t i = 0; i < RIG_ITEMS; i++)
		for (int b = 0; b < 2; b++)
			rig.snapshots[s][i].banks[b] = &kept_banks[s][i][b];
	rig.snapshots[s][0].steps = kept_steps[s];
}

int rig_fresh(void **state)
{
	memset(&rig, 0, sizeof(rig));
	memset(by_port, 0xff, sizeof(by_port));
	test_port_open(&rig.port, 0);
	rig.port.sent = sent;
	rig.tick = RIG_START;
	rig.clock = (struct clock){.hz = 1e9, .set = &rig.tick};
	rig.proto = (struct proto){.name = "rig",
		.counters = &counters,
		.key_bits = 16,
		.request = request,
		.key = key,
		.reply = reply,
		.timeout = timeout};
	rig.w = (struct worker){.wire = {.burst = 32, .reports_checksums = true},
		.items = rig.items,
		.item_count = RIG_ITEMS,
		.spares = 32,
		.by_port = by_port,
		.ms_scale = clock_ms_scale(&rig.clock),
		.times = {RIG_START, RIG_MEASURE, RIG_END, RIG_GRACE, RIG_INTERVAL},
		.phase = &rig.phase,
		.stall = 100000,
		.look_every = RIG_LOOK,
		.look_at = UINT64_MAX,
		.clock = &rig.clock,
		.handed = 1,
		.reading = 2};
	rig.w.wire.tx_pool = &rig.port.pool;
	rig.w.wire.clock = &rig.clock;
	rig.w.wire.neighbours = &rig.neighbours;
	rig.w.wire.self = (struct neigh_self){.owned = sources, .owned_count = 2};
	memcpy(rig.w.wire.self.mac, mac, 6);
	for (uint32_t s = 0; s < SNAPSHOTS; s++)
		fresh_snapshot(s);
	hist_clear(&rig.w.passes);
	for (uint32_t i = 0; i < RIG_ITEMS; i++)
		fresh_item(i);
	rig.items[1].pace.left = 0;
	rig.w.stop_at = RIG_END;
	rig.w.next_publish = UINT64_MAX;
	return 0;
}

// The last turn of the loop: in the end phase, it only ends.
int rig_over(void **state)
{
	rig.phase = PHASE_STOP;
	worker_loop(&rig.w);
	while (rig.port.received_count)
		rte_pktmbuf_free_bulk(&rig.port.received[--rig.port.received_count], 1);
	return rig.port.live ? -1 : 0;
}

void rig_closed(uint64_t outstanding)
{
	const struct pace_closed c = {outstanding, RIG_START, PACE_NEVER, 0};

	pace_start_closed(&rig.items[0].pace, &c, (struct pace_share){0, 1});
}

void rig_steps(void)
{
	rig.proto.steps = steps;
	memset(step_books, 0, sizeof(step_books));
	for (uint32_t i = 0; i < RIG_STEPS; i++) {
		hist_clear(&step_books[i].response);
		hist_clear(&step_books[i].service);
	}
	rig.items[0].steps = step_books;
	memset(step_due, 0, sizeof(step_due));
	rig.items[0].step_due = step_due;
}

void rig_ipv6(void)
{
	static struct frame_template frame;
	struct frame_path path = {.src_mac = {2, 0, 0, 0, 0, 1},
		.dst_mac = {2, 0, 0, 0, 0, 2},
		.dst = {16, {0x20, 0x01, 0x0d, 0xb8, [15] = 9}},
		.dst_port = SERVER_PORT};
	struct worker_item *it = &rig.items[0];

	frame_template_build(&frame, &path);
	it->frames = &frame;
	it->server = path.dst;
	it->sources = sources6;
}

void rig_routed(void)
{
	struct worker_item *it = &rig.items[0];

	rig.proto.request = routed;
	it->router = &router;
	it->begin = begin;
	it->tag = TAG;
	it->tag_shift = TAG_SHIFT;
	tagged[0] = it;
	rig.w.tagged = tagged;
	rig.w.tagged_count = 1;
	rig.w.tag_first = TAG >> TAG_SHIFT;
}

void rig_measured(void)
{
	rig.w.times.measure = RIG_START;
	rig.items[0].pace.measure = RIG_START;
	rig.items[0].answered_at = RIG_START;
}

void rig_ask(void)
{
	rig_measured();
	rig_pass(500);
	assert_int_equal(rig.asked, 1);
	rig.items[0].pace.next = 2 * RIG_END;
}

bool rig_pass(uint64_t at)
{
	rig.tick = RIG_START + at;
	for (uint32_t i = 0; i < RIG_ITEMS; i++)
		worker_item_ready(&rig.items[i]);
	return worker_pass(&rig.w, rig.tick);
}

// Parses an address of the family with this length.
static void address_read(const char *text, uint8_t len, uint8_t *out)
{
	assert_int_equal(inet_pton(len == 4 ? AF_INET : AF_INET6, text, out), 1);
}

void rig_answer(struct rig_answer a)
{
	const struct rig_query *q = &rig.queries[0];
	const uint8_t family = rig.asked ? q->f.addr_len : 4;
	uint8_t frame[4352], src[16];
	struct frame_path path = {.src_mac = {2, 0, 0, 0, 0, 2}};
	struct frame_payload payload = {.len = a.payload_len ? a.payload_len : 6};
	uint8_t bytes[6] = {(uint8_t)(a.key >> 24), (uint8_t)(a.key >> 16), (uint8_t)(a.key >> 8),
		(uint8_t)a.key, 0, a.verdict};
	static const uint8_t server[4] = {198, 18, 0, 9};
	struct frame_template t;

	memcpy(path.dst_mac, mac, 6);
	path.dst.len = a.dst && a.src ? (strchr(a.src, ':') ? 16 : 4) : family;
	memcpy(path.dst.bytes, rig.asked ? q->f.src : sources[0].first.bytes, family);
	memcpy(src, rig.asked ? q->f.dst : server, family);
	if (a.dst)
		address_read(a.dst, path.dst.len, path.dst.bytes);
	if (a.src)
		address_read(a.src, path.dst.len, src);
	path.dst_port = a.dst_port ? a.dst_port : q->f.src_port;
	frame_template_build(&t, &path);
	memset(frame, 0, sizeof(frame));
	memcpy(frame + t.len, bytes, sizeof(bytes));
	test_port_receive(&rig.port, frame,
		frame_stamp(&t, frame, src, a.src_port ? a.src_port : q->f.dst_port, payload));
}

void rig_reply(uint32_t query, enum proto_verdict verdict)
{
	const struct rig_query *q = &rig.queries[query];
	const int family = q->f.addr_len == 4 ? AF_INET : AF_INET6;
	char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];

	assert_true(query < rig.asked);
	inet_ntop(family, q->f.dst, src, sizeof(src));
	inet_ntop(family, q->f.src, dst, sizeof(dst));
	rig_answer((struct rig_answer){.src = src,
		.dst = dst,
		.src_port = q->f.dst_port,
		.dst_port = q->f.src_port,
		.key = q->key,
		.verdict = (uint8_t)verdict});
}

struct ledger rig_ledger(uint32_t item)
{
	struct ledger sum = rig.items[item].books.ledger[0];

	counter_sum(&sum, &rig.items[item].books.ledger[1], sizeof(sum));
	return sum;
}
