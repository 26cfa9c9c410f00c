// SPDX-License-Identifier: BSD-3-Clause
// From a file to a checked configuration: the rules of each section and those between sections.
// The rows and the look-ups are in config.h. Path: cold. Management thread.
#include "engine/config/config_load.h"

#include <math.h>
#include <string.h>

#include "crypt/tls_settings.h"
#include "proto/table.h"
#include "conf/schema.h"
#include "engine/config/config_rest.h"
#include "engine/config/criteria.h"
#include "engine/config/events_fit.h"
#include "engine/config/hosts.h"
#include "engine/config/work.h"
#include "io/driver/driver.h"
#include "io/driver/settings.h"
#include "io/sockets/sockets.h"
#include "net/neigh.h"

static void check_labels(const struct field_list *l, struct diag *d)
{
	const char *const *texts = l->items;

	for (uint32_t i = 0; i < l->count; i++) {
		size_t key = strcspn(texts[i], "=");

		if (key == 0 || texts[i][key] == '\0')
			diag_error(d, &texts[i], NULL, "\"%s\" is not a label (like rack=1)",
				texts[i]);
		for (uint32_t k = 0; k < i; k++)
			if (strncmp(texts[i], texts[k], key + 1) == 0)
				diag_error(d, &texts[i], NULL,
					"is a second label of that name (names must differ)");
	}
}

static void check_source(const struct item_settings *i, struct diag *d)
{
	const struct field_list *sources = &i->facts.sources;
	const struct addr_range *r = sources->items;

	if (sources->count == 0)
		diag_error(d, i->facts.port, "addresses",
			"no IPv%c address on this port, but traffic.%s has an IPv%c server",
			i->server.len == 4 ? '4' : '6', i->name, i->server.len == 4 ? '4' : '6');
	for (uint32_t n = 0; n < sources->count; n++) {
		if (r[n].first.len != i->server.len)
			diag_error(d, &r[n], NULL, "not of the server's address family (IPv%c)",
				i->server.len == 4 ? '4' : '6');
		else if (i->source.addresses.count)
			config_check_range(i, &r[n], d);
	}
	if (i->facts.addresses > 1u << 20)
		diag_error(d, &i->source, "addresses",
			"%llu addresses are too many (up to 1048576)",
			(unsigned long long)i->facts.addresses);
}

static uint64_t address_count(const struct field_list *addresses)
{
	const struct addr_range *r = addresses->items;
	uint64_t n = 0;

	for (uint32_t i = 0; i < addresses->count; i++)
		n += r[i].count;
	return n;
}

// Each connection takes a source port and address of its own, which rest after it is closed. own:
// source ports that no other item uses.
static void check_connections(
	const struct config *c, const struct item_settings *i, uint64_t own, struct diag *d)
{
	const struct item_facts *f = &i->facts;
	const struct tcp_settings *tcp = f->tcp;
	uint64_t places = own * f->addresses, needed = config_keys_needed(c, i);
	bool kernel = f->sockets; // where a port at rest may be taken again
	double rate = config_connection_rate(i) * f->ports_load;
	double rests = kernel ? 0 : 1e-9 * (double)tcp->time_wait_ns;
	uint64_t all = tcp->connections + 2 * tcp_behave_all(tcp);
	uint64_t open = (uint64_t)ceil((double)all * f->ports_load);
	double want = (double)open + (isinf(rate) ? 0 : rate * rests);
	uint8_t bits = f->key_bits;

	if (kernel && tcp_behave_all(tcp))
		diag_error(d, tcp, "behave",
			"needs the tester's own TCP (driver: socket has the kernel's; use "
			"driver: af_packet, or another one)");
	if ((double)places < want)
		diag_error(d, &i->source, "ports",
			"%llu source ports on %llu addresses are too few for %llu connections and "
			"%.6g new ones per second, whose ports rest for %.3g s: %.6g per second "
			"are possible (give it more addresses, or a shorter time_wait)",
			(unsigned long long)own, (unsigned long long)f->addresses,
			(unsigned long long)open, isinf(rate) ? 0 : rate, rests,
			fmax(0, ((double)places - (double)open) / rests));
	if (tcp->connections << bits < needed)
		diag_error(d, i, "",
			"%llu connections are too few for rate x timeout = %llu transactions: a "
			"connection has %llu IDs (give it at least %llu, or a shorter timeout)",
			(unsigned long long)tcp->connections, (unsigned long long)needed,
			1ull << bits, (unsigned long long)((needed + (1ull << bits) - 1) >> bits));
}

#define PRIVILEGED 1024 // ports below are (net.ipv4.ip_unprivileged_port_start)

// own: source ports that no other item uses.
static void check_ports_suffice(
	const struct config *c, const struct item_settings *i, uint64_t own, struct diag *d)
{
	const struct item_facts *f = &i->facts;
	uint64_t needed = (uint64_t)((double)config_keys_needed(c, i) * f->ports_load);
	uint64_t per_port = f->addresses << f->key_bits, want, even;
	uint64_t workers = f->ports_share.of;
	char shared[96] = "";

	if (f->tcp && f->sockets &&
		((const struct field_range *)f->ports.items)->first < PRIVILEGED)
		diag_error(d, &i->source, "ports",
			"driver: socket opens connections without privileges (use ports from %d "
			"on)",
			PRIVILEGED);
	if (f->stream) {
		check_connections(c, i, own, d);
		return;
	}
	if (own < f->port_count)
		snprintf(shared, sizeof(shared), "; other items of the port take %llu of its %llu",
			(unsigned long long)(f->port_count - own),
			(unsigned long long)f->port_count);

	want = per_port ? (needed + per_port - 1) / per_port : 0;
	even = (want + workers - 1) / workers * workers;
	if (own < even && own >= want)
		diag_error(d, &i->source, "ports",
			"%llu source ports are too few for %llu CPUs%s (give it at least %llu of "
			"its own)",
			(unsigned long long)own, (unsigned long long)workers, shared,
			(unsigned long long)even);
	else if (own < want)
		diag_error(d, &i->source, "ports",
			"%llu source ports are too few for rate x 3 timeouts = %llu "
			"transactions%s: "
			"they run out after %.3g s (give it at least %llu of its own, more "
			"addresses, or a shorter timeout)",
			(unsigned long long)own, (unsigned long long)needed, shared,
			(double)(own * per_port) / load_peak(&i->load), (unsigned long long)even);
}

// "dns, dhcp4": all protocols, or only the responder's.
static const char *protocol_names(bool responder, struct arena *a)
{
	const char *names = "";

	for (unsigned k = 0; protos[k]; k++)
		if (protos[k]->server || !responder)
			names = arena_printf(
				a, "%s%s%s", names, names[0] ? ", " : "", protos[k]->name);
	return names;
}

static bool check_protocol(const struct item_settings *i, struct arena *a, struct diag *d)
{
	struct proto_env env = {.server = i->server};
	unsigned n = 0;

	config_env_follower(i, &env);
	for (unsigned k = 0; protos[k]; k++) {
		if (!i->protocol[k])
			continue;
		if (n++)
			diag_error(
				d, i->protocol[k], "", "a second protocol section (exactly one)");
		if (protos[k]->check)
			protos[k]->check(i->protocol[k], &env, d);
	}
	if (n == 0)
		diag_error(d, i, "", "no protocol section (exactly one of: %s)",
			protocol_names(false, a));
	return n == 1;
}

static void check_followed(const struct item_settings *i, struct diag *d)
{
	const struct item_settings *of = i->facts.followed;
	const char *const *wrong;
	const struct proto *proto;

	if (!of) {
		diag_error(d, &i->after->item, NULL, "there is no item \"%s\" before this one",
			i->after->item);
		return;
	}
	proto = of->facts.proto;
	if (!proto)
		return; // reported
	if (!proto->followed)
		diag_error(d, &i->after->item, NULL, "\"%s\" is %s: its clients have no leases",
			of->name, proto->name);
	else if (config_happenings(i, proto->followed, &wrong) == UINT32_MAX)
		diag_error(d, wrong, NULL, "\"%s\" is not a step of %s (%s, %s)", *wrong,
			proto->name, proto->followed->names[PROTO_LEASED],
			proto->followed->names[PROTO_RELEASED]);
	if (of->facts.port != i->facts.port)
		diag_error(d, i, "port",
			"must be the port of \"%s\": both items of a client need the same worker",
			of->name);
}

static void check_after(const struct item_settings *i, struct diag *d)
{
	const struct proto *proto = i->facts.proto;

	if (proto->follower && !i->after)
		diag_error(d, i, "after", "is missing (the item to follow)");
	else if (!proto->follower && i->after)
		diag_error(d, i, "after", "%s follows no other item", proto->name);
	else if (i->after)
		check_followed(i, d);
}

// Checks the servers besides the item's first one.
static void check_servers(const struct item_settings *i, struct diag *d)
{
	const struct proto *proto = i->facts.proto;
	const struct port_settings *p = i->facts.port;
	const struct field_list *further = i->facts.further;
	const struct field_host *all = further->items;
	bool own = i->servers.count > 0;

	if (!proto || !p)
		return;
	if ((own || i->spread == SPREAD_STUB) && proto->router)
		diag_error(d, i, own ? "servers" : "spread",
			"not with %s, which has its own (%s: {servers: ..., spread: ...})",
			proto->name, proto->name);
	else if ((own || i->spread == SPREAD_STUB) && i->facts.tcp)
		diag_error(d, i, own ? "servers" : "spread",
			"not over connections, which lead to one server (use an item for each "
			"server)");
	if (i->servers.count >= SERVERS_MAX)
		diag_error(d, &i->servers, "servers", "%u servers (up to %d)", i->servers.count,
			SERVERS_MAX - 1);
	for (uint32_t n = 0; n < further->count; n++) {
		const struct addr *addr = &all[n].addr;
		bool again = addr_equal(addr, &i->server);

		if (addr->len == 0)
			continue; // a name without an address
		for (uint32_t k = 0; k < n; k++)
			again = again || addr_equal(addr, &all[k].addr);
		if (i->server.len && addr->len != i->server.len && proto->router)
			continue; // reported by the protocol
		if (i->server.len && addr->len != i->server.len)
			diag_error(d, addr, NULL, "not of the first server's family (IPv%c)",
				i->server.len == 4 ? '4' : '6');
		else if (again)
			diag_error(d, addr, NULL, "is already among the servers");
		else if (port_has(p, addr) && !i->facts.sockets)
			diag_error(
				d, addr, NULL, "is an address of the tester, on port %s", p->name);
		else if (!addr_is_multicast(addr))
			config_check_way(i, addr, addr, d);
	}
}

static void check_item(
	const struct config *c, uint32_t index, uint64_t own_ports, struct arena *a, struct diag *d)
{
	const struct item_settings *i = (const struct item_settings *)c->traffic.items + index;
	const struct port_settings *p = i->facts.port;
	const struct proto *proto = i->facts.proto;
	bool has_proto = check_protocol(i, a, d);

	if (has_proto)
		check_after(i, d);
	load_check(&i->load, c->run.duration_ns, d);
	check_servers(i, d);
	if (!p && i->port)
		diag_error(d, &i->port, NULL, "there is no port called \"%s\"", i->port);
	else if (!p)
		diag_error(d, i, "port", "missing: the file has %u ports (port: NAME)",
			c->ports.count);
	if (has_proto && (!i->host.name || i->server.len))
		config_check_server(i, &i->server, d);
	if (!p || !has_proto || i->server.len == 0)
		return;
	if (p == config_responder_port(c))
		diag_error(d, i, "port",
			"the responder has \"%s\" for itself (choose another port)", p->name);
	if (port_has(p, &i->server) && !i->facts.sockets)
		diag_error(d, &i->server, NULL,
			"is an address of the tester, on port %s (give the address of "
			"the server)",
			p->name);
	if (!proto->router) {
		check_source(i, d);
		check_ports_suffice(c, i, own_ports, d);
	}
	// A group has no next hop.
	if (!addr_is_multicast(&i->server))
		config_check_way(i, &i->server, &i->server, d);
}

// Does the responder meet the needs of the items in its own file?
static void check_answers(const struct config *c, struct arena *a, struct diag *d)
{
	const struct item_settings *items = c->traffic.items;
	const void **settings = arena_zalloc(a, (c->traffic.count + 1) * sizeof(*settings));

	for (unsigned k = 0; protos[k]; k++) {
		uint32_t n = 0;

		if (!c->responder->protocol[k] || !protos[k]->server->check)
			continue;
		for (uint32_t i = 0; i < c->traffic.count; i++)
			if (items[i].protocol[k] && items[i].facts.asks_responder)
				settings[n++] = items[i].protocol[k];
		protos[k]->server->check(c->responder->protocol[k], settings, n, d);
	}
}

// Do items ask the responder, and all of them over connections only?
static bool is_asked_by_streams(const struct config *c)
{
	const struct item_settings *items = c->traffic.items;
	bool any = false;

	for (uint32_t i = 0; i < c->traffic.count; i++) {
		if (!items[i].facts.asks_responder)
			continue;
		if (!items[i].facts.stream)
			return false;
		any = true;
	}
	return any;
}

static void check_faults_of_streams(const struct faults_settings *s, struct diag *d)
{
	for (uint32_t i = 0; i < FAULT_OF_PROTOCOL; i++)
		if (s->fault[i] &&
			!((FAULTS_OF_SEGMENTS | FAULTS_OF_MESSAGES | FAULTS_OF_RECORDS) >> i & 1))
			diag_error(d, s->fault[i], "",
				"%s never happens over TCP, and all items that ask the responder "
				"do so over TCP: %s",
				faults_label(i),
				i < FAULT_FRAGMENT_LOSS ? "a segment from another port or address "
							  "belongs to no connection"
							: "its segments are not fragmented");
}

static bool answers_streams(const struct responder_settings *r)
{
	for (unsigned k = 0; protos[k]; k++)
		if (r->protocol[k] && protos[k]->server->stream)
			return true;
	return false;
}

static bool answers_tls(const struct config *c)
{
	for (unsigned k = 0; protos[k]; k++)
		if (c->responder->protocol[k] && config_responder_tls_port(c, protos[k]))
			return true;
	return false;
}

static bool answers_https(const struct config *c)
{
	for (unsigned k = 0; protos[k]; k++)
		if (c->responder->protocol[k] && config_responder_https_port(c, protos[k]))
			return true;
	return false;
}

static bool answers_quic(const struct config *c)
{
	for (unsigned k = 0; protos[k]; k++)
		if (c->responder->protocol[k] && config_responder_quic_port(c, protos[k]))
			return true;
	return false;
}

static void check_responder_tls(const struct config *c, struct diag *d)
{
	const struct responder_settings *r = c->responder;

	if (r->https && !answers_https(c))
		diag_error(d, r, "https", "none of its protocols travels by HTTPS");
	if (r->https)
		https_server_check(r->https, d);
	if (r->quic && !answers_quic(c))
		diag_error(d, r, "quic", "none of its protocols travels by QUIC");
	if (r->tls && !r->https && !r->quic && !answers_tls(c))
		diag_error(d, r, "tls", "none of its protocols travels over TLS");
	if (r->tls)
		tls_server_check(r->tls, d);
	for (uint32_t i = 0; r->faults && !r->tls && !r->https && i < FAULT_OF_PROTOCOL; i++)
		if (r->faults->fault[i] && FAULTS_OF_RECORDS >> i & 1)
			diag_error(d, r->faults->fault[i], "",
				"%s is for connections over TLS (add responder.tls)",
				faults_label(i));
}

static void check_router(const struct router_settings *r, struct diag *d)
{
	const struct addr_prefix *p = r->prefixes.items;

	for (uint32_t i = 0; i < r->prefixes.count; i++)
		if (p[i].addr.len != 16)
			diag_error(d, &p[i], NULL, "is not an IPv6 prefix");
	if (r->prefixes.count > NEIGH_PREFIXES_MAX)
		diag_error(d, &r->prefixes, "prefixes", "%u prefixes are too many (up to %u)",
			r->prefixes.count, NEIGH_PREFIXES_MAX);
}

// The kernel owns the links: there are no frames to corrupt, and requests to groups do not arrive.
static void check_on_sockets(const struct config *c, struct diag *d)
{
	const struct port_settings *p = config_responder_port(c);
	const struct responder_settings *r = c->responder;

	if (p->addresses.count == 0)
		diag_error(d, p, "addresses", "is required: this host's addresses to answer on");
	if (port_cpus_given(p) > 1)
		diag_error(d, &p->cpus, NULL, "a responder with driver: socket has one CPU");
	if (r->router)
		diag_error(d, r, "router", "needs frames, and driver: socket has none");
	for (uint32_t i = 0; r->faults && i < FAULTS_MAX; i++)
		if (r->faults->fault[i] && FAULTS_OF_FRAMES >> i & 1)
			diag_error(d, r->faults->fault[i], "",
				"%s needs frames, and driver: socket has none", faults_label(i));
	for (unsigned k = 0; protos[k]; k++)
		if (r->protocol[k] && protos[k]->server->groups)
			diag_error(d, r, protos[k]->name,
				"is asked by broadcast or multicast, which driver: socket does not "
				"receive (use driver: af_packet, or another one)");
}

static void check_responder(const struct config *c, struct arena *a, struct diag *d)
{
	const struct responder_settings *r = c->responder;

	if (r->port && !config_responder_port(c))
		diag_error(d, &r->port, NULL, "there is no port called \"%s\"", r->port);
	else if (!config_responder_port(c))
		diag_error(d, r, "port", "missing: the file has %u ports (port: NAME)",
			c->ports.count);
	else if (config_responder_port(c)->driver >= 0 &&
		 driver_of(config_responder_port(c))->sockets)
		check_on_sockets(c, d);
	if (r->faults)
		faults_check(r->faults, d);
	if (r->faults && is_asked_by_streams(c))
		check_faults_of_streams(r->faults, d);
	if (r->tcp && !answers_streams(r))
		diag_error(d, r, "tcp", "none of its protocols travels over TCP");
	check_responder_tls(c, d);
	if (r->tcp && r->tcp->reset && r->tcp->queries_per_connection == UINT64_MAX)
		diag_error(d, &r->tcp->reset, NULL, "needs queries_per_connection");
	if (r->control)
		control_check(r->control, d);
	if (r->router)
		check_router(r->router, d);
	for (unsigned k = 0, n = 0; protos[k] && r->server_port; k++)
		if (r->protocol[k] && n++)
			diag_error(d, &r->server_port, NULL, "is for a responder of one protocol");
	for (unsigned k = 0; protos[k]; k++)
		if (r->protocol[k])
			return;
	diag_error(d, r, "", "no protocol to answer (add at least one of: %s)",
		protocol_names(true, a));
}

// A tester's worker has one queue of a ring, a responder's worker may have several. So packets sent
// into a queue are received if the other end has as many workers, or is the responder.
static void check_ring_cpus(const struct config *c, unsigned index, struct diag *d)
{
	const struct port_settings *all = c->ports.items, *p = &all[index];
	const struct port_settings *dut = c->responder ? config_responder_port(c) : NULL;
	int peer = port_ring_peer(all, c->ports.count, index);

	if (peer < 0 || dut == &all[peer] || port_cpu_count(p) <= port_cpu_count(&all[peer]))
		return;
	diag_error(d, &p->cpus, NULL,
		"%u CPUs, but port %s at the other end of the ring has %u: some workers would have "
		"no partner (use at most %u)",
		port_cpu_count(p), all[peer].name, port_cpu_count(&all[peer]),
		port_cpu_count(&all[peer]));
}

static void check_ports(const struct config *c, struct diag *d)
{
	const struct port_settings *all = c->ports.items;

	if (c->ports.count > PORT_MAX)
		diag_error(d, c, "ports", "%u ports are too many (up to %u)", c->ports.count,
			PORT_MAX);
	port_check_all(c->ports.items, c->ports.count, d);
	for (uint32_t i = 0; i < c->ports.count; i++)
		if (all[i].driver < 0)
			return; // reported by the row
	for (uint32_t i = 0; i < c->ports.count; i++)
		check_ring_cpus(c, i, d);
}

static bool is_number(const struct field *f)
{
	return !f->list && (f->type == FIELD_RATE || f->type == FIELD_COUNT);
}

static void check_variable(const struct config *c, struct arena *a, struct diag *d)
{
	const struct search_settings *s = c->search;
	const char *what;
	const void *place;
	const struct field *f = conf_find(config_section(), c, s->variable, &place, a, &what);

	if (!f)
		diag_error(d, &s->variable, NULL, "\"%s\": %s", s->variable, what);
	else if (!is_number(f))
		diag_error(d, &s->variable, NULL,
			"\"%s\" is not a number (a rate or a count, like "
			"traffic.queries.load.rate)",
			s->variable);
	else if (!f->load)
		diag_error(d, &s->variable, NULL,
			"\"%s\" does not change the load (use load.rate or load.outstanding of an "
			"item, a figure of another load shape, or a number of clients)",
			s->variable);
	else if (f->type == FIELD_COUNT && (s->from != floor(s->from) || s->to != floor(s->to)))
		diag_error(d, &s->from, NULL, "%s is a count (from and to must be whole numbers)",
			s->variable);
}

static void check_ramp(const struct config *c, struct arena *a, struct diag *d)
{
	const struct search_settings *s = c->search;
	const struct search_goal *goals = s->goals.items;

	if (!search_load_path(s, a))
		diag_error(d, &s->variable, NULL,
			"\"%s\" is not the rate of an item, so it cannot grow in one run (like "
			"traffic.queries.load.rate; or method: bisect or mlr)",
			s->variable);
	for (uint32_t i = 0; i < s->goals.count; i++)
		for (unsigned k = 0; k < GOAL_PERCENTILES; k++)
			if (k != GOAL_P50 && k != GOAL_P99 && goals[i].latency_ns[k])
				diag_error(d, &goals[i].latency_ns[k], NULL,
					"is not known in the intervals of a ramp (p50 or p99; or "
					"method: bisect or mlr)");
	if (c->criteria.count && !c->run.repeat)
		diag_error(d, c->criteria.items, NULL,
			"a ramp has no single rate to judge (add run.repeat to judge runs at the "
			"answer, or use method: bisect or mlr, or no criteria)");
}

static void check_search(const struct config *c, struct arena *a, struct diag *d)
{
	const struct search_settings *s = c->search;

	check_variable(c, a, d);
	if (s->from >= s->to)
		diag_error(d, &s->from, NULL, "is not below to");
	if (s->goals.count == 0)
		diag_error(d, s, "goals", "no goal to meet (like [{loss: 0.1%%, p99: 10ms}])");
	if (s->final_ns < s->trial_ns && s->method != SEARCH_RAMP)
		diag_error(d, s, "final", "shorter than a trial");
	if (s->method == SEARCH_RAMP)
		check_ramp(c, a, d);
}

static void check_repeat(const struct config *c, const struct repeat_settings *r, struct diag *d)
{
	const int32_t *of = r->of.items;

	if (r->min > r->max)
		diag_error(d, &r->min, NULL, "more than max");
	if (r->skip >= r->max)
		diag_error(d, &r->skip, NULL,
			"is not below max (%llu): more runs would be left out than count",
			(unsigned long long)r->max);
	if (r->of.count == 0)
		diag_error(d, r, "of", "no figure to know (like [rate, p99])");
	for (uint32_t i = 0; i < r->of.count; i++)
		if (of[i] == REPEAT_DUT_CPU && !c->dut.probe)
			diag_error(d, &of[i], NULL,
				"needs a probe of the server's CPUs (dut: {probe: {command: "
				"...}})");
}

static void check_series(const struct config *c, struct arena *a, struct diag *d)
{
	const void *which = c->search ? (const void *)c->search : c->run.repeat;

	if (!which)
		return;
	if (c->traffic.count == 0)
		diag_error(d, which, "", "no traffic to run");
	if (c->search)
		check_search(c, a, d);
	if (c->run.repeat)
		check_repeat(c, c->run.repeat, d);
}

static bool asks_over_tls(const struct config *c)
{
	const struct item_settings *items = c->traffic.items;

	for (uint32_t i = 0; i < c->traffic.count; i++)
		if (items[i].facts.tls)
			return true;
	return false;
}

static void check_output(const struct config *c, struct diag *d)
{
	const struct output_settings *o = &c->output;
	struct addr addr;
	const char *what;
	uint16_t port;

	if (o->keylog && !asks_over_tls(c))
		diag_error(d, &o->keylog, NULL, "no item has transport: tls, https or quic");
	if (o->capture && o->capture->when.count == 0)
		diag_error(d, o->capture, "when", "no outcome to keep (like [lost, failed])");
	if (o->prometheus && addr_parse_listen(o->prometheus, &addr, &port, &what) < 0)
		diag_error(d, &o->prometheus, NULL, "\"%s\" is not %s", o->prometheus, what);
}

static void check_part_of(const struct config *c, const struct item_settings *i, struct diag *d)
{
	const struct port_settings *p = i->facts.port;
	uint64_t weight = fleet_weight(c), addresses = address_count(&i->source.addresses);
	const struct fleet_share s = i->facts.share;

	if (!p)
		return;
	if (port_cpu_count(p) % weight)
		diag_error(d, &p->cpus, NULL,
			"%u CPUs for a part of weight %llu (take a multiple of it)",
			port_cpu_count(p), (unsigned long long)weight);
	else if (s.of > FLEET_WORKERS_MAX)
		diag_error(d, &p->cpus, NULL, "the port has %u workers over all agents (up to %u)",
			s.of, FLEET_WORKERS_MAX);
	else if (addresses && addresses < s.of)
		diag_error(d, &i->source, "addresses",
			"%llu addresses cannot be divided among the %u workers of the fleet",
			(unsigned long long)addresses, s.of);
}

// Returns false if the run cannot be divided.
static bool check_fleet(const struct config *c, struct diag *d)
{
	const struct fleet_settings *f = c->fleet;
	const struct item_settings *items = c->traffic.items;
	unsigned before = diag_count(d);

	if (!f)
		return true;
	if (f->weights.count && f->weights.count != f->agents)
		diag_error(d, &f->weights, NULL, "%u weights for %llu agents (one for each)",
			f->weights.count, (unsigned long long)f->agents);
	else if (f->part > f->agents)
		diag_error(
			d, &f->part, NULL, "there are %llu parts", (unsigned long long)f->agents);
	for (uint32_t n = 0; fleet_weight(c) && n < c->traffic.count; n++)
		check_part_of(c, &items[n], d);
	return diag_count(d) == before;
}

static void config_check(const struct config *c, struct arena *a, struct diag *d)
{
	const uint64_t *own_ports;

	check_labels(&c->run.labels, d);
	conf_check_names(&c->ports, sizeof(struct port_settings), "port", d);
	conf_check_names(&c->traffic, sizeof(struct item_settings), "traffic item", d);
	conf_check_names(&c->events, sizeof(struct event_settings), "event", d);
	check_ports(c, d);
	check_output(c, d);
	if (c->dut.control)
		control_check(c->dut.control, d);
	if (c->traffic.count == 0 && !c->responder)
		diag_error(
			d, c, "traffic", "nothing to do: add traffic items, a responder, or both");
	if (c->traffic.count > CONFIG_MAX_ITEMS) {
		diag_error(d, c, "traffic", "%u items are too many (up to %u)", c->traffic.count,
			CONFIG_MAX_ITEMS);
		return;
	}
	if (!check_fleet(c, d))
		return;
	own_ports = config_source_ports(c, a);
	for (uint32_t i = 0; i < c->traffic.count; i++)
		check_item(c, i, own_ports[i], a, d);
	if (c->responder) {
		check_responder(c, a, d);
		check_answers(c, a, d);
	}
	criteria_check(c, a, d);
	check_series(c, a, d);
}

#define SOCKET_RATE   400000 // of a worker without a rate, at most
#define SOCKET_SPARE  1.25   // a key may be used again only with others of its part
#define SOCKETS_LEAST 16  // per worker: servers with several threads choose one by the source port
#define STREAM_LEAST  256 // per worker: connections at a time for truncated replies
#define FREE_FIRST    32768
#define FREE_LAST     60999 // the kernel assigns no higher ones itself (ip_local_port_range)

// Source ports for the keys of an item on sockets: as few as possible, each is a socket.
static uint32_t free_ports(const struct config *c, const struct item_settings *i)
{
	const struct item_facts *f = &i->facts;
	double timeouts = 3e-9 * (double)f->wait_ns, keys, ports;
	double part = f->ports_load, rate = load_peak(&i->load) * part;
	uint64_t workers = f->share.count;

	if (c->search && isfinite(c->search->to))
		rate = fmax(rate, c->search->to * part);
	if (!(rate > 0) || isinf(rate) || i->load.replay)
		rate = SOCKET_RATE * (double)workers;
	keys = (double)config_keys_needed(c, i) * part;
	keys = (f->reuses_keys ? keys : fmax(rate * timeouts, keys)) * SOCKET_SPARE;
	ports = keys / ((double)f->addresses * (double)(1ull << f->key_bits));
	ports = fmax(ports,
		(f->tcp ? STREAM_LEAST : SOCKETS_LEAST) * (double)workers / (double)f->addresses);
	if (f->quic) // one for each connection, be it open or being closed
		ports = fmax(ports, 2 * (double)f->tcp->connections * part / (double)f->addresses);
	ports = fmin(ceil(ports / (double)workers) * (double)workers, 65536 - FREE_FIRST);
	return (uint32_t)ports;
}

// Sets the source addresses of an item. On a port of sockets without addresses the kernel chooses:
// the unspecified address if there is no route.
static void place_sources(const struct item_settings *i, struct item_facts *f, struct arena *a)
{
	const struct port_settings *p = f->port;
	const struct addr_prefix *own = p->addresses.items;
	struct addr_range *r;

	if (i->source.addresses.count) {
		f->sources = fleet_addresses(&i->source.addresses, &f->share, a);
	} else {
		r = f->sources.items = arena_zalloc(a, (p->addresses.count + 1) * sizeof(*r));
		for (uint32_t n = 0; n < p->addresses.count; n++)
			if (own[n].addr.len == i->server.len)
				r[f->sources.count++] = (struct addr_range){own[n].addr, 1};
		if (p->addresses.count == 0 && f->sockets && f->proto && i->server.len &&
			!f->proto->router) {
			*r = (struct addr_range){{.len = i->server.len}, 1};
			sockets_route(&i->server, p->device, &r->first);
			f->sources.count = 1;
		}
	}
	f->addresses = address_count(&f->sources);
}

void config_complete(const struct config *c, struct arena *a)
{
	const struct port_settings *dut = config_responder_port(c);
	struct item_settings *items = c->traffic.items;
	uint32_t first = FREE_FIRST;

	for (uint32_t n = 0; n < c->traffic.count; n++) {
		struct item_settings *i = &items[n];
		struct item_facts *f = &i->facts;
		struct field_range *r = arena_zalloc(a, sizeof(*r));

		*r = (struct field_range){1024, UINT16_MAX};
		f->ports = i->source.ports.count ? i->source.ports : (struct field_list){r, 1};
		f->asks_responder =
			c->responder && (i->server.len == 0 || !dut || dut->addresses.count == 0 ||
						port_has(dut, &i->server));
		if (f->port)
			place_sources(i, f, a);
		if (f->sockets && f->proto && !f->proto->router && i->server.len &&
			!i->source.ports.count) {
			*r = (struct field_range){FREE_FIRST, FREE_LAST};
			if (!f->stream || f->quic) { // its sockets are opened before the run
				f->free_ports = free_ports(c, i);
				*r = (struct field_range){first, first + f->free_ports - 1};
				first = first + 2 * f->free_ports > 65536 ? FREE_FIRST
				                                          : first + f->free_ports;
			}
		}
		for (uint32_t k = 0; k < f->ports.count; k++) {
			r = (struct field_range *)f->ports.items + k;
			f->port_count += r->last - r->first + 1;
		}
	}
}

static const char *base_name(const char *file, struct arena *a)
{
	const char *slash = strrchr(file, '/');
	char *name = arena_strdup(a, slash ? slash + 1 : file);
	char *dot = strrchr(name, '.');

	if (dot && dot != name)
		*dot = '\0';
	return name;
}

// Fills c in from its rows and checks it. before, ask: see hosts_resolve.
static const struct config *read_tree(struct config *c, struct conf_tree *t, const char *file,
	const struct config *before, bool ask, struct arena *a, struct diag *d)
{
	c->file = arena_strdup(a, file);
	c->tree = t;
	if (!c->run.name)
		c->run.name = base_name(file, a);
	config_resolve(c);
	hosts_resolve(c, before, ask, a, d);
	config_fit(c);
	events_fit(c, a, d);
	config_complete(c, a);
	condition_name_percentiles(c, a);
	config_check(c, a, d);
	return diag_count(d) ? NULL : c;
}

static const struct config *load_tree(struct conf_tree *t, const char *file,
	const struct config *before, bool ask, struct arena *a, struct diag *d)
{
	struct config *c = arena_zalloc(a, sizeof(*c));
	struct conf_flaw *flaws;
	struct diag *rest;

	if (conf_apply(t, config_section(), c, a, d) == 0)
		return read_tree(c, t, file, before, ask, a, d);
	c = arena_zalloc(a, sizeof(*c));
	rest = diag_new();
	diag_set_inputs(rest, diag_inputs(d));
	if (conf_mend(t, config_section(), a, &flaws) &&
		conf_apply(t, config_section(), c, a, rest) == 0)
		read_tree(c, t, file, before, ask, a, rest);
	diag_take(d, rest, config_rest_stands, flaws);
	diag_free(rest);
	return NULL;
}

static const struct config *load_assigned(struct conf_tree *t, const char *file,
	const struct config *before, char *const *assignments, unsigned count, struct arena *a,
	struct diag *d)
{
	bool taken = true;

	for (unsigned i = 0; i < count; i++)
		taken = conf_set(t, assignments[i], a, d) == 0 && taken;
	return !taken ? NULL : load_tree(t, file, before, !before, a, d);
}

const struct config *config_load(
	const char *file, char *const *assignments, unsigned count, struct arena *a, struct diag *d)
{
	struct conf_tree *t = conf_parse_file(file, a, d);

	return t ? load_assigned(t, file, NULL, assignments, count, a, d) : NULL;
}

const struct config *config_derive(const struct config *c, char *const *assignments, unsigned count,
	struct arena *a, struct diag *d)
{
	return load_assigned(conf_copy(c->tree, a), c->file, c, assignments, count, a, d);
}

const struct config *config_load_text(
	const char *name, const char *text, size_t len, struct arena *a, struct diag *d)
{
	struct conf_tree *t = conf_parse_text(name, text, len, a, d);

	return t ? load_tree(t, name, NULL, false, a, d) : NULL;
}

const struct config *config_load_text_assigned(const char *name, const char *text,
	char *const *assignments, unsigned count, struct arena *a, struct diag *d)
{
	struct conf_tree *t = conf_parse_text(name, text, strlen(text), a, d);

	return t ? load_assigned(t, name, NULL, assignments, count, a, d) : NULL;
}
