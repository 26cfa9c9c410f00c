// SPDX-License-Identifier: BSD-3-Clause
// Derives the configuration in memory, and presents the verdict of its run as a verdict on the box.
// Path: cold. Main thread.
#include "engine/tools/selfcheck.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "proto/table.h"
#include "conf/schema.h"
#include "crypt/tls_settings.h"
#include "engine/config/config_load.h"
#include "engine/config/work.h"
#include "io/driver/driver.h"

#define SELF_STREAMS     32767 // requests at a time on a connection
#define SELF_CONNECTIONS 65536
#define SELF_WINDOW      1048576
#define SELF_IDLE_NS     30000000000u
#define WARMUP_MAX_NS    1000000000ull
#define DURATION_MAX_NS  10000000000ull
#define TIMEOUT_MIN_NS   100000ull
#define LINE_MAX         1024

static uint64_t at_most(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int32_t ring_driver(void)
{
	for (unsigned i = 0; i < driver_count; i++)
		if (drivers[i].device == DEVICE_PEER)
			return (int32_t)i;
	return -1;
}

static void add_address(struct field_list *l, const struct addr *addr, uint8_t bits)
{
	struct addr_prefix *all = l->items;

	for (uint32_t i = 0; i < l->count; i++)
		if (addr_equal(&all[i].addr, addr))
			return;
	all[l->count++] = (struct addr_prefix){*addr, bits};
}

static bool has_family(const struct field_list *gateways, uint8_t len)
{
	const struct addr *g = gateways->items;

	for (uint32_t i = 0; i < gateways->count; i++)
		if (g[i].len == len)
			return true;
	return false;
}

// Adds the settings of a port of the file to the tester's end.
static void add_port(struct port_settings *tester, const struct port_settings *p)
{
	const struct addr_prefix *own = p->addresses.items;
	const struct addr *gateway = p->gateway.items;

	for (uint32_t i = 0; i < p->addresses.count; i++)
		add_address(&tester->addresses, &own[i].addr, own[i].bits);
	for (uint32_t i = 0; i < p->gateway.count; i++)
		if (!has_family(&tester->gateway, gateway[i].len))
			((struct addr *)tester->gateway.items)[tester->gateway.count++] =
				gateway[i];
}

static struct port_settings ring_port(const struct port_settings *like, const char *name,
	const char *peer, uint32_t addresses, struct arena *a)
{
	return (struct port_settings){
		.name = name,
		.driver = ring_driver(),
		.device = peer,
		.vlans = like->vlans,
		.mtu = like->mtu,
		.burst = UINT64_MAX, // these are "auto" in a file
		.rx_descriptors = UINT64_MAX,
		.tx_descriptors = UINT64_MAX,
		.mbufs = UINT64_MAX,
		.send_buffer = UINT64_MAX,
		.receive_buffer = UINT64_MAX,
		.link_speed = INFINITY,
		.addresses = {arena_zalloc(a, (addresses + 1) * sizeof(struct addr_prefix)), 0},
		.gateway = {arena_zalloc(a, 2 * sizeof(struct addr)), 0},
	};
}

static uint32_t addresses_at_most(const struct config *c)
{
	const struct port_settings *p = c->ports.items;
	uint32_t n = c->traffic.count + 2;

	for (uint32_t i = 0; i < c->ports.count; i++)
		n += p[i].addresses.count + p[i].gateway.count;
	for (uint32_t i = 0; i < c->traffic.count; i++)
		n += ((const struct item_settings *)c->traffic.items)[i].facts.further->count;
	return n;
}

// The server of clients on the link, which need no server address (RFC 5737, RFC 3849).
static const struct addr somebody[] = {
	{4, {192, 0, 2, 1}}, {16, {0x20, 0x01, 0x0d, 0xb8, [14] = 0xff, [15] = 1}}};

// The tester's end has the settings of the items' ports; the other end is all servers and gateways.
static void derive_ports(const struct config *c, struct config *out, struct arena *a)
{
	const struct item_settings *items = c->traffic.items;
	const struct port_settings *like = items[0].facts.port;
	const char *other = arena_printf(a, "%s-self-check", like->name);
	uint32_t room = addresses_at_most(c);
	struct port_settings *ports = arena_zalloc(a, 2 * sizeof(*ports));
	const struct addr *gateways;

	ports[0] = ring_port(like, like->name, other, room, a);
	ports[0].cpus = like->cpus;
	ports[1] = ring_port(like, other, like->name, room, a);
	for (uint32_t i = 0; i < c->traffic.count; i++) {
		const struct field_list *further = items[i].facts.further;
		const struct addr *server = &items[i].server;

		add_port(&ports[0], items[i].facts.port);
		if (server->len)
			add_address(&ports[1].addresses, server, 8 * server->len);
		for (uint32_t n = 0; !server->len && n < 2; n++)
			add_address(&ports[1].addresses, &somebody[n], 8 * somebody[n].len);
		for (uint32_t n = 0; n < further->count; n++) {
			server = &((const struct field_host *)further->items)[n].addr;
			add_address(&ports[1].addresses, server, 8 * server->len);
		}
	}
	gateways = ports[0].gateway.items;
	for (uint32_t i = 0; i < ports[0].gateway.count; i++)
		add_address(&ports[1].addresses, &gateways[i], 8 * gateways[i].len);
	out->ports = (struct field_list){ports, 2};
}

// The peak rate of the load plus head-room, as a constant rate. A protocol's own pace stays.
static struct load_settings steady(const struct load_settings *l)
{
	if (load_is_own(l))
		return *l;
	return (struct load_settings){
		.rate = l->replay ? INFINITY : load_peak(l) * (1 + SELFCHECK_HEADROOM) - l->more,
		.outstanding = l->outstanding,
		.stop_at_ns = UINT64_MAX,
		.slots = l->slots,
		.catch_up_ns = UINT64_MAX};
}

// The host's addresses may also be the server's, so others replace them (RFC 2544, RFC 5180).
static struct field_list elsewhere(
	const struct field_list *sources, uint32_t times, struct arena *a)
{
	static const struct addr v4 = {4, {198, 18, 0, 1}},
				 v6 = {16, {0x20, 0x01, 0, 0x02, [15] = 1}};
	const struct addr_range *from = sources->items;
	struct addr_range *one = arena_zalloc(a, sizeof(*one));

	*one = (struct addr_range){from->first.len == 4 ? v4 : v6, 0};
	for (uint32_t i = 0; i < sources->count; i++)
		one->count += from[i].count * times;
	return (struct field_list){one, 1};
}

static void derive_items(const struct config *c, struct config *out, struct arena *a)
{
	const struct port_settings *tester = out->ports.items;
	struct item_settings *items = arena_zalloc(a, c->traffic.count * sizeof(*items));

	memcpy(items, c->traffic.items, c->traffic.count * sizeof(*items));
	for (uint32_t i = 0; i < c->traffic.count; i++) {
		struct item_settings *it = &items[i];
		const struct item_facts *f = &it->facts;

		// An item's addresses are divided among a fleet again, a port's never.
		if (f->sockets && !f->proto->router)
			it->source.addresses = elsewhere(
				&f->sources, fleet_is_part(&f->share) ? f->share.of : 1, a);
		else if (!fleet_is_part(&f->share))
			it->source.addresses = f->sources;
		it->source.ports = f->ports;
		it->port = tester->name;
		it->server_port = 0;
		it->timeout_ns =
			it->timeout_ns / 4 > TIMEOUT_MIN_NS ? it->timeout_ns / 4 : TIMEOUT_MIN_NS;
		it->load = steady(&it->load);
	}
	out->traffic.items = items;
}

// Returns the answers of a protocol, from the file or by default.
static void *answers_of(const struct config *c, unsigned protocol, struct arena *a, struct diag *d)
{
	const struct field_section *section = protos[protocol]->server->settings;
	struct conf_tree *empty;
	void *answers;

	if (c->responder && c->responder->protocol[protocol])
		return c->responder->protocol[protocol];
	empty = conf_parse_text("self-check", "{}", 2, a, d);
	answers = arena_zalloc(a, section->size);
	if (!empty || conf_apply(empty, section, answers, a, d) < 0)
		return NULL;
	return answers;
}

// There are no faults: each loss is caused by this box.
static int derive_responder(
	const struct config *c, struct config *out, struct arena *a, struct diag *d)
{
	const struct port_settings *ports = out->ports.items;
	const struct item_settings *items = c->traffic.items;
	struct responder_settings *r = arena_zalloc(a, sizeof(*r));

	r->port = ports[1].name;
	r->router = arena_zalloc(a, sizeof(*r->router));
	*r->router = (struct router_settings){.managed = true};
	r->protocol = arena_zalloc(a, proto_count() * sizeof(*r->protocol));
	for (uint32_t i = 0; i < c->traffic.count; i++)
		for (unsigned k = 0; protos[k]; k++)
			if (items[i].protocol[k] && protos[k]->server && !r->protocol[k] &&
				!(r->protocol[k] = answers_of(c, k, a, d)))
				return -1;
	out->responder = r;
	return 0;
}

// A server for the path of this item.
static void derive_https(const struct item_settings *i, struct config *out, struct arena *a)
{
	const struct https_settings *own = i->facts.https;
	struct https_server_settings *server = arena_zalloc(a, sizeof(*server));

	*server = (struct https_server_settings){.path = own->path,
		.streams = SELF_STREAMS,
		.header_table = own->header_table,
		.window = own->window,
		.goaway = UINT64_MAX};
	out->responder->https = server;
}

static void derive_quic(struct config *out, struct arena *a)
{
	struct quic_server_settings *server = arena_zalloc(a, sizeof(*server));

	*server = (struct quic_server_settings){.connections = SELF_CONNECTIONS,
		.streams = SELF_STREAMS,
		.window = SELF_WINDOW,
		.idle_timeout_ns = SELF_IDLE_NS,
		.close_after = UINT64_MAX,
		.forget_after = UINT64_MAX};
	out->responder->quic = server;
}

// A server for the offers of all items, with a certificate made at the start. Its authority
// and key are unknown to the items, which therefore do not look for them.
static void derive_tls(const struct config *c, struct config *out, struct arena *a)
{
	struct item_settings *items = out->traffic.items;
	struct tls_server_settings *server = arena_zalloc(a, sizeof(*server));
	int32_t *groups = arena_zalloc(a, c->traffic.count * TLS_GROUPS * sizeof(*groups));
	bool usual = false;

	*server = (struct tls_server_settings){.alpn = "none", .tickets = true};
	server->common.groups.items = groups;
	for (uint32_t i = 0; i < c->traffic.count; i++) {
		struct tls_settings *own = arena_zalloc(a, sizeof(*own));
		const struct field_list *its = &own->common.groups;

		if (!items[i].facts.tls)
			continue;
		*own = *items[i].facts.tls;
		own->verify = TLS_VERIFY_NONE;
		own->pins = (struct field_list){0};
		own->ca = NULL;
		items[i].facts.tls = own;
		if (items[i].facts.https)
			derive_https(&items[i], out, a);
		if (items[i].facts.quic)
			derive_quic(out, a);
		server->handshakes =
			at_most(server->handshakes + own->handshakes, TLS_HANDSHAKES_MOST);
		usual |= its->count == 0;
		for (uint32_t n = 0; n < its->count && n < TLS_GROUPS; n++)
			groups[server->common.groups.count++] = ((const int32_t *)its->items)[n];
		out->responder->tls = server;
	}
	if (usual) // x25519 and secp256r1
		for (int32_t n = 0; n < 2; n++)
			groups[server->common.groups.count++] = n;
}

bool selfcheck_possible(const struct config *c, struct diag *d)
{
	const struct item_settings *items = c->traffic.items;
	bool possible = true;

	for (uint32_t i = 0; i < c->traffic.count; i++) {
		const struct proto *proto = items[i].facts.proto;

		if (proto->server)
			continue;
		diag_error(d, &items[i], proto->name,
			"the embedded responder does not speak this protocol, so a self-check has "
			"no server (leave the item out)");
		possible = false;
	}
	return possible;
}

const struct config *selfcheck_derive(const struct config *c, struct arena *a, struct diag *d)
{
	struct config *out = arena_zalloc(a, sizeof(*out));
	const char **criterion = arena_zalloc(a, sizeof(*criterion));

	if (c->traffic.count == 0) {
		diag_error(d, c, "traffic", "nothing to check this box for");
		return NULL;
	}
	*out = *c;
	out->output = (struct output_settings){.config = c->output.config};
	out->run.name = arena_printf(a, "%s-self-check", c->run.name);
	out->run.warmup_ns = at_most(c->run.warmup_ns, WARMUP_MAX_NS);
	out->run.duration_ns = at_most(c->run.duration_ns, DURATION_MAX_NS);
	out->run.drain_ns = UINT64_MAX;
	out->run.repeat = NULL;
	out->search = NULL;
	out->dut = (struct dut_settings){0};
	out->hooks = (struct hooks_settings){.timeout_ns = c->hooks.timeout_ns};
	out->stop = (struct field_list){0};
	*criterion = "loss <= 0%";
	out->criteria = (struct field_list){criterion, 1};
	derive_ports(c, out, a);
	derive_items(c, out, a);
	if (derive_responder(c, out, a, d) < 0)
		return NULL;
	config_resolve(out);
	derive_tls(c, out, a);
	config_fit(out);
	config_complete(out, a);
	return out;
}

static bool has_rate(const struct config *c)
{
	const struct item_settings *items = c->traffic.items;

	for (uint32_t i = 0; i < c->traffic.count; i++)
		if (items[i].load.rate > 0 && !isinf(items[i].load.rate))
			return true;
	return false;
}

static void describe_verdict(const struct config *c, const struct result *r,
	void (*line)(void *ctx, const char *text), void *ctx)
{
	const char *const *reasons = r->verdict.reasons.items;
	bool pass = strcmp(r->verdict.status, "pass") == 0;
	char text[LINE_MAX];

	if (pass && has_rate(c))
		snprintf(text, sizeof(text),
			"self-check: PASS: this box has at least %g %% head-room for %s",
			100 * SELFCHECK_HEADROOM, c->file);
	else if (pass)
		snprintf(text, sizeof(text),
			"self-check: PASS: nothing was lost (%s has no rate to measure head-room "
			"for)",
			c->file);
	else
		snprintf(text, sizeof(text),
			"self-check: %s: this box did not show %g %% head-room for %s",
			strcmp(r->verdict.status, "invalid") == 0 ? "INVALID" : "FAIL",
			100 * SELFCHECK_HEADROOM, c->file);
	line(ctx, text);
	for (uint32_t i = 0; i < r->verdict.reasons.count; i++) {
		snprintf(text, sizeof(text), "self-check: %s", reasons[i]);
		line(ctx, text);
	}
}

void selfcheck_describe(const struct config *c, const struct result *r,
	void (*line)(void *ctx, const char *text), void *ctx)
{
	const struct result_item *items = r->traffic.items;
	char text[LINE_MAX];

	for (uint32_t i = 0; i < r->traffic.count; i++) {
		const struct latency *own = &items[i].latency.service;

		if (own->count == 0)
			continue;
		snprintf(text, sizeof(text),
			"self-check: %s: tester and responder together need %.1f us (median), %.1f "
			"us (99th percentile) with %.0f replies/s",
			items[i].name, own->p50_ns / 1e3, own->p99_ns / 1e3,
			items[i].answered_per_s);
		line(ctx, text);
	}
	describe_verdict(c, r, line, ctx);
}
