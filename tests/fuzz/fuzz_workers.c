// SPDX-License-Identifier: BSD-3-Clause
// A whole plan at work: two workers on one port and the responder on the other, items with source
// ports and routed ones of both DHCP families, on relays and on the link. The input says who makes
// the next pass, how much time goes by, and which packets are lost, doubled, bent or kept back. A
// reply comes to any worker and is handed over: at the end the ledgers of all items add up, each
// packet was counted once, what was handed over was taken over, and no buffer is lost. Port and
// clock are the test's own. Path: tests only.
#include "fuzz_plan.h"

#include "engine/core/responder/responder.h"
#include "engine/core/worker/worker.h"
#include "engine/core/pages.h"
#include "lib/test_port.h"

#define HEAD    2
#define WORKERS 2
#define START   1000000000
#define SETTLE  4096 // passes at the end at most: all waits are over by then
#define QUIET   16   // passes without a packet
#define KEPT    128

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char text[] =
	"run: {warmup: 0s, duration: 100ms, interval: 10ms}\n"
	"ports:\n"
	"  - {name: lan, driver: ring, device: dut, cpus: [0, 1],"
	" addresses: [198.18.0.1/24, 2001:db8::1/64]}\n"
	"  - {name: dut, driver: ring, device: lan, cpus: [2],"
	" addresses: [198.18.0.2/24, 2001:db8::2/64]}\n"
	"traffic:\n"
	"  - {name: q, port: lan, server: 198.18.0.2, timeout: 1ms, load: {rate: 20k, slots: 32},"
	" source: {ports: [2000-2003]}, dns: {names: [\"h{0-9}.x A\"]}}\n"
	"  - {name: q6, port: lan, server: \"2001:db8::2\", timeout: 1ms, load: {outstanding: 3},"
	" source: {ports: [3000-3003]}, dns: {names: [\"a.x AAAA\"]}}\n"
	"  - {name: r4, port: lan, server: 198.18.0.2, timeout: 2ms, load: {outstanding: 4},"
	" dhcp4: {clients: 8, mix: {renew: 30%, release: 20%}, retransmit: {initial: 1ms, jitter: "
	"0s,"
	" tries: 2}, relay: {addresses: [198.18.0.64/30]}}}\n"
	"  - {name: l4, port: lan, timeout: 2ms, load: {outstanding: 2},"
	" dhcp4: {clients: 4, exchange: discover, mac: \"02:01:00:00:00:00\"}}\n"
	"  - {name: r6, port: lan, server: \"2001:db8::2\", timeout: 2ms, load: {outstanding: 4},"
	" dhcp6: {clients: 8, lease: both, mix: {renew: 20%, release: 20%},"
	" relay: {addresses: [\"2001:db8::100\"], levels: 2}}}\n"
	"responder: {port: dut, dns: {}, dhcp4: {pool: 10.0.0.0/28, clients: 16, full_pool: true, "
	"server_id: "
	"198.18.0.2},"
	" dhcp6: {clients: 16, pool: \"2001:db8:0:1::/64\", prefixes: \"2001:db8:8000::/33\", "
	"prefix_length: "
	"56}}\n"
	"validity: {unsent: 100%}\n";

// Of the byte that an operation is.
enum { ACT_WORKER, ACT_OTHER_WORKER, ACT_RESPONDER, ACT_FATE };
// What becomes of the packets that are sent from now on.
enum { FATE_ARRIVE, FATE_LOSS, FATE_TWICE, FATE_BEND, FATE_KEEP, FATE_AGAIN, FATES };

static struct test_port ports[2];
static uint64_t ticks;

static struct {
	uint8_t fate, place, value;
	uint64_t fed; // to the tester
	struct {
		uint8_t bytes[1600];
		uint32_t len, to;
	} kept[KEPT];
	uint32_t kept_count;
} net;

// Smaller than pages, and so faster; once in a program that replays all targets.
__attribute__((weak)) void *pages_alloc(size_t size)
{
	return calloc(1, size);
}

__attribute__((weak)) void pages_free(void *p, size_t size)
{
	free(p);
}

static void arrive(uint32_t to, const uint8_t *frame, uint32_t len)
{
	if (ports[to].received_count == TEST_PORT_HOLDS)
		return;
	test_port_receive(&ports[to], frame, len);
	net.fed += to == 0;
}

static void keep(uint32_t to, const uint8_t *frame, uint32_t len)
{
	if (net.kept_count == KEPT || len > sizeof(net.kept[0].bytes))
		return;
	memcpy(net.kept[net.kept_count].bytes, frame, len);
	net.kept[net.kept_count].len = len;
	net.kept[net.kept_count++].to = to;
}

static void deliver_kept(void)
{
	for (uint32_t i = 0; i < net.kept_count; i++)
		arrive(net.kept[i].to, net.kept[i].bytes, net.kept[i].len);
	net.kept_count = 0;
}

// From one port to the other. Test ports are no judges of checksums, so a bent frame may pass.
static void carry(struct test_port *p, uint16_t queue, const struct rte_mbuf *m)
{
	uint32_t to = p == &ports[0], len = m->data_len;
	uint8_t frame[2048];

	require(m->data_len == m->pkt_len && len <= sizeof(frame));
	memcpy(frame, rte_pktmbuf_mtod(m, const uint8_t *), len);
	switch (net.fate) {
	case FATE_LOSS:
		return;
	case FATE_TWICE:
		arrive(to, frame, len);
		break;
	case FATE_BEND:
		frame[net.place % len] ^= net.value;
		break;
	case FATE_KEEP:
		keep(to, frame, len);
		return;
	case FATE_AGAIN:
		keep(to, frame, len);
		break;
	}
	arrive(to, frame, len);
}

static void open_ports(const uint8_t *head)
{
	for (uint16_t i = 0; i < 2; i++) {
		test_port_open(&ports[i], i);
		ports[i].sent = carry;
	}
	ports[1].pooled = true; // a reply goes back in the buffer of its request
	memset(&net, 0, sizeof(net));
	ports[0].takes = head[0] & 1 ? 1u + head[0] / 16 : UINT32_MAX;
	ports[1].takes = head[0] & 2 ? 1u + head[0] / 16 : UINT32_MAX;
}

static struct fuzz_plan *start(const uint8_t *head)
{
	static struct arena *a;
	static const struct config *c;
	struct fuzz_plan *f;

	if (!a) {
		a = arena_new();
		c = fuzz_plan_config(text, a);
	}
	open_ports(head);
	f = fuzz_plan_read(c);
	require(f->rc == 0);
	ticks = START;
	f->pools[0] = &ports[0].pool;
	f->pools[1] = &ports[1].pool;
	fuzz_plan_build(f);
	f->plan.clock = (struct clock){.hz = 1e9, .set = &ticks};
	plan_schedule(&f->plan, START);
	f->plan.phase = PHASE_MEASURE;
	for (uint32_t i = 0; i < WORKERS; i++)
		worker_begin(&f->plan.workers[i]);
	return f;
}

static void pass(struct plan *p, uint32_t who)
{
	if (who < WORKERS)
		worker_pass(&p->workers[who], ticks);
	else
		responder_pass(&p->responders[0]);
}

static void play(struct plan *p, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		uint8_t op = data[i];

		ticks += 1ull << (op >> 2) % 22;
		if ((op & 3) < ACT_FATE) {
			pass(p, op & 3);
			continue;
		}
		if (i + 3 >= size)
			return;
		net.fate = data[i + 1] % FATES;
		net.place = data[i + 2];
		net.value = data[i + 3];
		if (net.fate == FATE_ARRIVE)
			deliver_kept();
		i += 3;
	}
}

// Time goes on until nothing is in flight and all rings are empty.
static void settle(struct plan *p)
{
	net.fate = FATE_ARRIVE;
	for (uint32_t i = 0; i < 2; i++)
		ports[i].takes = UINT32_MAX;
	deliver_kept();
	p->phase = PHASE_DRAIN;
	for (uint32_t i = 0; i < WORKERS; i++)
		if (p->workers[i].stop_at > ticks)
			p->workers[i].stop_at = ticks;
	for (uint32_t n = 0, quiet = 0; n < SETTLE && quiet < QUIET; n++) {
		uint64_t before = net.fed;

		ticks += 100000;
		for (uint32_t who = 0; who <= WORKERS; who++)
			pass(p, who);
		quiet = p->workers[0].finished && p->workers[1].finished && net.fed == before
		                ? quiet + 1
		                : 0;
	}
	require(ports[0].received_count == 0 && ports[1].received_count == 0);
}

// The number of packets that are counted in the books of the item.
static uint64_t check_item(const struct plan_item *item, uint32_t worker)
{
	const struct worker_item *it = plan_run(item, worker);
	struct ledger sum = it->books.ledger[0];
	uint64_t answers = 0;

	counter_sum(&sum, &it->books.ledger[1], sizeof(sum));
	require(it->txns.in_flight == 0);
	require(sum.due >= sum.sent);
	require(sum.sent == sum.answered + sum.failed + sum.lost + sum.no_reply);
	require(it->books.response.count <= sum.answered + sum.failed);
	for (uint32_t i = 0; it->steps && i < proto_steps(item->run->proto); i++)
		answers += it->steps[i].answered + it->steps[i].failed;
	if (!it->steps)
		answers = sum.answered + sum.failed;
	require(answers >= sum.answered + sum.failed);
	return answers + sum.late + sum.duplicate + sum.stray + sum.malformed;
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

static void check(const struct plan *p)
{
	uint64_t counted = 0, twice = 0, given = 0, taken = 0;

	for (uint32_t k = 0; k < WORKERS; k++) {
		const struct worker *w = &p->workers[k];

		for (size_t i = 0; i < sizeof(w->wire.counters) / 8; i++)
			counted += ((const uint64_t *)&w->wire.counters)[i];
		twice += counted_twice(&w->wire.counters);
		for (uint32_t i = 0; i < p->item_count; i++)
			counted += check_item(&p->items[i], k);
		require(w->hand->hand_over_full == 0);
		given += w->hand->handed_over;
		taken += w->hand->taken_over;
	}
	require(given == taken);
	require(counted == net.fed + twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_plan *f;

	if (size < HEAD || size > 4096)
		return 0;
	f = start(data);
	play(&f->plan, data + HEAD, size - HEAD);
	settle(&f->plan);
	check(&f->plan);
	f->plan.phase = PHASE_STOP;
	for (uint32_t i = 0; i < WORKERS; i++)
		worker_loop(&f->plan.workers[i]);
	responder_halt(&f->plan.responders[0]);
	require(ports[0].live == 0 && ports[1].live == 0);
	fuzz_plan_free(f);
	return 0;
}
