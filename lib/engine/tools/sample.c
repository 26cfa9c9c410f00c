// SPDX-License-Identifier: BSD-3-Clause
// Exchanges by the verbs of a protocol alone: request and reply of the client, answer of the
// server. Path: cold. Main thread.
#include "engine/tools/sample.h"

#include <errno.h>
#include <malloc.h>

#include "base/input.h"
#include "engine/config/work.h"
#include "engine/plan/plan.h"
#include "engine/plan/plan_item.h"
#include "engine/plan/plan_supply.h"
#include "engine/tools/selfcheck.h"
#include "net/frame.h"

#define MESSAGE_ROOM    65535
#define MESSAGES_MAX    (2 * PROTO_MAX_STEPS) // of an exchange
#define FRAME_LEAST     60
#define FRAME_ADDITIONS 24 // checksum, preamble, start of frame, gap

uint64_t wire_octets(uint64_t frame_len)
{
	return (frame_len < FRAME_LEAST ? FRAME_LEAST : frame_len) + FRAME_ADDITIONS;
}

// One item on both sides.
struct pair {
	const struct proto *proto;
	const struct plan_item *item;
	struct proto_ctx ctx;
	struct responder_protocol *server; // NULL: none
	uint8_t port_vlans;
	struct sample *sum;
};

static uint32_t headers(const struct pair *p, const struct proto_flow *flow)
{
	const struct proto_path *paths = p->item->layout.paths.items;

	return frame_header_len(
		p->port_vlans + paths[flow->path].vlan_count, paths[flow->path].dst.len);
}

static uint32_t sample_answer(struct pair *p, const uint8_t *buf, uint32_t len, uint8_t *out)
{
	uint32_t n = 0;

	if (p->server) {
		p->server->ctx.more = 0;
		n = p->server->server->answer(&p->server->ctx, buf, len, out, MESSAGE_ROOM);
	}
	p->sum->answers++;
	p->sum->assumed += n == 0;
	return n;
}

// A message and its reply. Returns true if the exchange continues with another message.
static bool sample_step(struct pair *p, struct proto_txn *t)
{
	uint8_t buf[MESSAGE_ROOM], out[MESSAGE_ROOM];
	struct proto_out request = {.buf = buf};
	struct proto_message reply = {.buf = out};
	struct proto_flow flow = {0};
	enum proto_verdict verdict = PROTO_FAIL;
	uint32_t len, got, head;

	p->proto->request(&p->ctx, &t, &flow, &request, 1, sizeof(buf));
	len = request.len;
	if (len == 0)
		return false;
	head = headers(p, &flow);
	p->sum->messages += 1 + flow.more;
	p->sum->message_octets += (1 + flow.more) * wire_octets(head + len);
	if (t->silent)
		return false;
	got = sample_answer(p, buf, len, out);
	p->sum->answer_octets += wire_octets(head + (got ? got : len));
	reply.len = got;
	if (got)
		verdict = proto_reply(p->proto, &p->ctx, t, &reply);
	while (verdict == PROTO_KEPT && p->server && p->server->ctx.more) {
		reply.len = p->server->server->more(&p->server->ctx, buf, len, out, MESSAGE_ROOM);
		if (reply.len == 0)
			break;
		p->sum->answer_octets += wire_octets(head + reply.len);
		verdict = proto_reply(p->proto, &p->ctx, t, &reply);
	}
	if (verdict == PROTO_KEPT)
		verdict = p->proto->timeout(&p->ctx, t);
	p->sum->cut +=
		p->server && p->proto->steps && verdict != PROTO_AGAIN && verdict != PROTO_DONE;
	return verdict == PROTO_AGAIN;
}

static void exchange(struct pair *p, uint64_t seq)
{
	struct proto_txn t = {
		.seq = seq, .key = (uint32_t)((seq + 1) & ((1ull << p->proto->key_bits) - 1))};

	if (p->proto->begin && p->proto->begin(&p->ctx, &t, 1) == 0)
		return;
	p->sum->exchanges++;
	for (int i = 0; i < MESSAGES_MAX; i++)
		if (!sample_step(p, &t))
			return;
}

static struct responder_protocol *sample_server(struct plan *p, const struct proto *proto)
{
	for (uint32_t i = 0; p->responder_count && i < p->responders[0].protocol_count; i++)
		if (p->responders[0].protocols[i].proto == proto)
			return &p->responders[0].protocols[i];
	return NULL;
}

static struct proto_env env_of(const struct item_settings *s)
{
	return (struct proto_env){.seed = 1,
		.workers = 1,
		.clients = 1,
		.addr_len = s->server.len,
		.server = s->server,
		.server_port = s->facts.server_port,
		.timeout_ns = s->timeout_ns,
		.rate = s->load.rate + s->load.more,
		.dry = true};
}

static int sample_exchanges(struct pair *p, const struct proto_env *env)
{
	if (p->proto->open && p->proto->open(&p->ctx, env) < 0)
		return -ENOMEM;
	for (uint64_t n = 0; n < SAMPLE_EXCHANGES; n++)
		exchange(p, n);
	if (p->proto->close)
		p->proto->close(&p->ctx);
	return 0;
}

static int sample_item(
	struct plan *plan, const struct config *c, uint32_t i, struct arena *a, struct sample *out)
{
	const struct item_settings *given = (const struct item_settings *)c->traffic.items + i;
	struct plan_item *item = &plan->items[i];
	const struct proto *proto = item->settings->facts.proto;
	struct proto_env env = env_of(item->settings);
	struct pair p = {.proto = proto,
		.item = item,
		.ctx = {.shared = item->shared, .counters = arena_zalloc(a, proto->counters->size)},
		.server = sample_server(plan, proto),
		.port_vlans = (uint8_t)given->facts.port->vlans.count,
		.sum = out};

	env.threads = 1;
	return sample_exchanges(&p, &env);
}

static uint64_t heap_used(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static double replayed_per_s(const struct plan_item *i)
{
	const struct timestamps *t = &i->replay;
	uint64_t ns = t->count > 1 ? t->ns[t->count - 1] : 0;

	return ns ? (double)(t->count - 1) * 1e9 / (double)ns * i->settings->load.replay->speed : 0;
}

// Bytes of memory for the input files, and for the state of each item.
static int measure_input(const struct config *c, struct arena *a, struct diag *d,
	struct sample *out, uint64_t *bytes, struct counter_list *shortages)
{
	uint64_t before = heap_used(), after;
	const char *input;
	struct plan plan;
	int rc = plan_read_input(&plan, c, false, a, d);

	after = heap_used();
	*bytes = after > before ? after - before : 0;
	for (uint32_t i = 0; i < plan.item_count; i++) {
		if (plan.items[i].shared)
			out[i].memory = plan_item_memory(&plan, &plan.items[i]);
		out[i].replayed_per_s = replayed_per_s(&plan.items[i]);
		input = plan_item_input(&plan.items[i]);
		out[i].input = input ? arena_strdup(a, input) : NULL;
	}
	*shortages = rc == 0 && !c->search ? plan_shortages(&plan, a) : (struct counter_list){0};
	plan_free(&plan);
	return rc;
}

static int sample_all(const struct config *c, struct arena *a, struct diag *d, struct sample *out,
	uint64_t *input, struct counter_list *shortages)
{
	const struct config *both;
	struct plan plan;
	int rc = measure_input(c, a, d, out, input, shortages);

	if (rc < 0)
		return rc;
	both = selfcheck_derive(c, a, d);
	if (!both)
		return -EINVAL;
	rc = plan_read_input(&plan, both, false, a, d);
	for (uint32_t i = 0; i < c->traffic.count && rc == 0; i++)
		rc = sample_item(&plan, c, i, a, &out[i]);
	plan_free(&plan);
	return rc;
}

int sample_items(const struct config *c, struct arena *a, struct diag *d, struct sample *out,
	uint64_t *input, struct counter_list *shortages)
{
	struct inputs *in = inputs_new(); // its files are read twice
	int rc;

	diag_set_inputs(d, in);
	rc = sample_all(c, a, d, out, input, shortages);
	config_fit(c); // the self-check has other loads
	diag_set_inputs(d, NULL);
	inputs_free(in);
	return rc;
}
