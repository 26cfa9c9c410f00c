// SPDX-License-Identifier: BSD-3-Clause
// The rows of the file that belong to no single layer, the rules that tie sections together, and
// look-ups in the finished configuration. Path: cold. Management thread.
#include "engine/config/config.h"

#include <string.h>

#include "conf/schema.h"
#include "engine/config/criteria.h"
#include "engine/core/evidence.h"
#include "engine/series/series.h"
#include "io/driver.h"

#define AT(type, member) .offset = offsetof(struct type, member)

static const struct field_section *item_choices[CONFIG_PROTOS + 1];
static const struct field_section *responder_choices[CONFIG_PROTOS + 1];

static const struct field run_fields[] = {
	{"name", "name of the run; default: the file's base name", FIELD_STRING,
		AT(run_settings, name)},
	{"warmup", "sent, not judged", FIELD_DURATION, AT(run_settings, warmup_ns), .def = "1s"},
	{"duration", "the measured part", FIELD_DURATION, AT(run_settings, duration_ns),
		.def = "10s", .min = 1e6, .max = 1e16},
	{"drain", "how long to wait for what is in flight; auto: until answered or timed out",
		FIELD_DURATION, AT(run_settings, drain_ns), .def = "auto", .word = "auto"},
	{"interval", "live line and time series", FIELD_DURATION, AT(run_settings, interval_ns),
		.def = "1s", .min = 1e7, .max = 1e13},
	{"seed", "same seed, same bytes on the wire in the same order", FIELD_COUNT,
		AT(run_settings, seed), .def = "1"},
	{"repeat", "run again until the result is known well enough", FIELD_SECTION,
		.optional = true, AT(run_settings, repeat), .section = &repeat_section},
};

static const struct field_section run_section = {
	"run", "the run as a whole", FIELD_ROWS(run_fields), sizeof(struct run_settings)};

static const struct field source_fields[] = {
	{"addresses", "source addresses; default: the port's own", FIELD_ADDR_RANGE, .list = true,
		AT(source_settings, addresses)},
	{"ports", "source ports", FIELD_RANGE, .list = true, AT(source_settings, ports),
		.def = "1024-65535", .min = 1, .max = 65535},
};

static const struct field_section source_section = {"source", "identities of the clients",
	FIELD_ROWS(source_fields), sizeof(struct source_settings)};

static const struct field item_fields[] = {
	{"name", "name of the item in results and criteria", FIELD_STRING, .required = true,
		AT(item_settings, name), .min = 1, .max = 64},
	{"port", "port to send from; default: the only one", FIELD_STRING, AT(item_settings, port)},
	{"server", "address of the server; clients that broadcast need none", FIELD_ADDR,
		AT(item_settings, server)},
	{"server_port", "UDP port of the server; 0: the protocol's", FIELD_COUNT,
		AT(item_settings, server_port), .def = "0", .max = 65535},
	{"source", "identities of the clients", FIELD_SECTION, AT(item_settings, source),
		.section = &source_section},
	{"timeout", "without an answer for so long, a transaction is lost", FIELD_DURATION,
		AT(item_settings, timeout_ns), .def = "1s", .min = 1e5, .max = 6e11},
	{"load", "how much, how fast", FIELD_SECTION, AT(item_settings, load),
		.section = &load_section},
	{"protocol", "exactly one protocol section", FIELD_CHOICES, AT(item_settings, protocol),
		.choices = item_choices},
};

static const struct field_section item_section = {
	"traffic", "an item of traffic", FIELD_ROWS(item_fields), sizeof(struct item_settings)};

static const struct field responder_fields[] = {
	{"port", "port to answer on; default: the only one", FIELD_STRING,
		AT(responder_settings, port)},
	{"faults", "what it gets wrong", FIELD_SECTION, .optional = true,
		AT(responder_settings, faults), .section = &faults_section},
	{"protocol", "protocols to answer", FIELD_CHOICES, AT(responder_settings, protocol),
		.choices = responder_choices},
};

static const struct field_section responder_section = {"responder", "an embedded server",
	FIELD_ROWS(responder_fields), sizeof(struct responder_settings)};

static const struct field validity_fields[] = {
	{"unsent", "more of what was due unsent: the run is invalid", FIELD_PERCENT,
		AT(validity_settings, unsent), .def = "0.1%", .max = 1},
	{"send_lag_p99", "99th percentile of actual minus due time above this: the run is invalid",
		FIELD_DURATION, AT(validity_settings, send_lag_p99_ns), .def = "10ms"},
	{"dropped", "more of the received packets dropped by the tester: the run is invalid",
		FIELD_PERCENT, AT(validity_settings, dropped), .def = "0%", .max = 1},
	{"stolen",
		"a worker or the responder without its CPU for more of the measured time: the run "
		"is invalid",
		FIELD_PERCENT, AT(validity_settings, stolen), .def = "10%", .max = 1},
	{"link_down", "a link down for longer: the run is invalid", FIELD_DURATION,
		AT(validity_settings, link_down_ns), .def = "0s"},
	{"clock", "clocks that disagree by more: the run is invalid", FIELD_PERCENT,
		AT(validity_settings, clock), .def = "0.1%", .max = 1},
};

static const struct field_section validity_section = {"validity",
	"bounds beyond which a run says nothing about the server", FIELD_ROWS(validity_fields),
	sizeof(struct validity_settings)};

static const struct field capture_fields[] = {
	{"file",
		"pcapng file to write, from the working directory; of a series of runs each has "
		"its own: file-1.pcapng ...",
		FIELD_STRING, .required = true, AT(capture_settings, file), .min = 1, .max = 4095},
	{"when", "what has to have happened to a transaction", FIELD_ENUM, .list = true,
		AT(capture_settings, when), .names = evidence_reasons,
		.def = "lost, late, stray, failed, malformed"},
	{"limit", "transactions to keep", FIELD_COUNT, AT(capture_settings, limit), .def = "1000",
		.min = 1, .max = 1e6},
};

static const struct field_section capture_section = {"capture",
	"packets of failing transactions, each with a comment that says why",
	FIELD_ROWS(capture_fields), sizeof(struct capture_settings)};

static const struct field output_fields[] = {
	{"capture", "packets of failing transactions, each with a comment that says why",
		FIELD_SECTION, .optional = true, AT(output_settings, capture),
		.section = &capture_section},
	{"junit", "JUnit XML to write, from the working directory: a test case for each criterion",
		FIELD_STRING, AT(output_settings, junit), .min = 1, .max = 4095},
};

static const struct field_section output_section = {"output",
	"what a run writes besides its result", FIELD_ROWS(output_fields),
	sizeof(struct output_settings)};

static const struct field hooks_fields[] = {
	{"start", "shell command before anything else; unless it succeeds, there is no run",
		FIELD_STRING, AT(hooks_settings, start), .min = 1, .max = 4095},
	{"stop", "shell command after everything else, the result written", FIELD_STRING,
		AT(hooks_settings, stop), .min = 1, .max = 4095},
	{"timeout", "a command is killed after so long", FIELD_DURATION,
		AT(hooks_settings, timeout_ns), .def = "60s", .min = 1e7, .max = 1e14},
};

static const struct field_section hooks_section = {"hooks", "commands before and after the run",
	FIELD_ROWS(hooks_fields), sizeof(struct hooks_settings)};

static const struct field config_fields[] = {
	{"run", "the run as a whole", FIELD_SECTION, AT(config, run), .section = &run_section},
	{"host", "this machine", FIELD_SECTION, AT(config, host), .section = &host_section},
	{"ports", "network ports of the tester", FIELD_SECTION, .list = true, .required = true,
		AT(config, ports), .section = &port_section},
	{"traffic", "what to send; every item runs at the same time", FIELD_SECTION, .list = true,
		AT(config, traffic), .section = &item_section},
	{"stop", "conditions that end the run as failed, e.g. loss > 5% for 3s", FIELD_STRING,
		.list = true, AT(config, stop)},
	{"criteria", "conditions of the verdict, e.g. loss <= 0.1%", FIELD_STRING, .list = true,
		AT(config, criteria)},
	{"validity", "bounds beyond which a run says nothing about the server", FIELD_SECTION,
		AT(config, validity), .section = &validity_section},
	{"output", "what a run writes besides its result", FIELD_SECTION, AT(config, output),
		.section = &output_section},
	{"dut", "the machine under test", FIELD_SECTION, AT(config, dut), .section = &dut_section},
	{"hooks", "commands before and after the run", FIELD_SECTION, AT(config, hooks),
		.section = &hooks_section},
	{"responder", "an embedded server, for self-tests", FIELD_SECTION, .optional = true,
		AT(config, responder), .section = &responder_section},
	{"search", "find the highest value of a setting at which goals are met", FIELD_SECTION,
		.optional = true, AT(config, search), .section = &search_section},
};

static const struct field_section whole_section = {
	"", "a run", FIELD_ROWS(config_fields), sizeof(struct config)};

const struct field_section *config_section(void)
{
	faults_prepare();
	for (unsigned i = 0; protos[i] && i < CONFIG_PROTOS; i++) {
		item_choices[i] = protos[i]->settings;
		responder_choices[i] = protos[i]->answers;
	}
	return &whole_section;
}

static const struct port_settings *port_named(const struct config *c, const char *name)
{
	const struct port_settings *p = c->ports.items;

	for (uint32_t i = 0; i < c->ports.count; i++)
		if (p[i].name && strcmp(p[i].name, name) == 0)
			return &p[i];
	return NULL;
}

const struct port_settings *config_responder_port(const struct config *c)
{
	if (!c->responder)
		return NULL;
	if (c->responder->port)
		return port_named(c, c->responder->port);
	return c->ports.count == 1 ? c->ports.items : NULL;
}

const struct port_settings *config_item_port(const struct config *c, const struct item_settings *i)
{
	const struct port_settings *p = c->ports.items, *taken = config_responder_port(c),
				   *only = NULL;

	if (i->port)
		return port_named(c, i->port);
	for (uint32_t n = 0; n < c->ports.count; n++) {
		if (&p[n] == taken)
			continue;
		if (only)
			return NULL;
		only = &p[n];
	}
	return only;
}

const struct proto *config_item_proto(const struct item_settings *i, const void **settings)
{
	for (unsigned n = 0; protos[n]; n++) {
		if (!i->protocol[n])
			continue;
		if (settings)
			*settings = i->protocol[n];
		return protos[n];
	}
	return NULL;
}

uint16_t config_server_port(const struct item_settings *i)
{
	const struct proto *p = config_item_proto(i, NULL);

	return i->server_port ? (uint16_t)i->server_port : p->default_port;
}

struct field_list config_sources(
	const struct config *c, const struct item_settings *i, struct arena *a)
{
	const struct port_settings *p = config_item_port(c, i);
	const struct addr_prefix *own = p->addresses.items;
	struct field_list out = {NULL, 0};
	struct addr_range *r;

	if (i->source.addresses.count)
		return i->source.addresses;
	r = out.items = arena_zalloc(a, (p->addresses.count + 1) * sizeof(*r));
	for (uint32_t n = 0; n < p->addresses.count; n++)
		if (own[n].addr.len == i->server.len)
			r[out.count++] = (struct addr_range){own[n].addr, 1};
	return out;
}

// Every slot may be in flight for one timeout and then rests for two.
uint64_t config_slots_needed(const struct config *c, const struct item_settings *i)
{
	const struct load_span span = {3 * i->timeout_ns, c->run.warmup_ns, c->run.duration_ns};

	return load_slots(&i->load, &span);
}

static void check_names(const struct field_list *l, size_t size, const char *what, struct diag *d)
{
	const char *items = l->items;

	// Every named section starts with its name.
	for (uint32_t i = 1; i < l->count; i++) {
		const char *const *name = (const char *const *)(items + i * size);

		for (uint32_t k = 0; k < i && *name; k++) {
			const char *other = *(const char *const *)(items + k * size);

			if (other && strcmp(*name, other) == 0)
				diag_error(d, name, NULL, "a %s called \"%s\" is there already",
					what, *name);
		}
	}
}

bool config_reaches(const struct port_settings *p, const struct addr *addr)
{
	const struct addr_prefix *own = p->addresses.items;
	const struct addr *gw = p->gateway.items;

	for (uint32_t i = 0; i < p->addresses.count; i++)
		if (addr_in_prefix(addr, &own[i]))
			return true;
	for (uint32_t i = 0; i < p->gateway.count; i++)
		if (gw[i].len == addr->len)
			return true;
	return false;
}

static void check_source(const struct item_settings *i, const struct field_list *sources,
	const struct port_settings *p, struct diag *d)
{
	const struct addr_range *r = sources->items;
	uint64_t total = 0;

	if (sources->count == 0)
		diag_error(d, p, "addresses",
			"no IPv%c address on this port, but traffic.%s has an IPv%c server",
			i->server.len == 4 ? '4' : '6', i->name, i->server.len == 4 ? '4' : '6');
	for (uint32_t n = 0; n < sources->count; n++) {
		total += r[n].count;
		if (r[n].first.len != i->server.len)
			diag_error(d, &r[n], NULL, "not of the server's address family (IPv%c)",
				i->server.len == 4 ? '4' : '6');
	}
	if (total > 1u << 20)
		diag_error(d, &i->source, "addresses",
			"%llu addresses are too many (up to 1048576)", (unsigned long long)total);
}

static uint64_t source_count(const struct field_list *sources)
{
	const struct addr_range *r = sources->items;
	uint64_t n = 0;

	for (uint32_t i = 0; i < sources->count; i++)
		n += r[i].count;
	return n;
}

static uint32_t items_on(const struct config *c, const struct port_settings *p)
{
	const struct item_settings *i = c->traffic.items;
	uint32_t n = 0;

	for (uint32_t k = 0; k < c->traffic.count; k++)
		n += config_item_port(c, &i[k]) == p;
	return n;
}

// Items on one port share its source ports, so each is sure of its part only.
uint64_t config_source_ports(const struct config *c, const struct item_settings *i)
{
	const struct field_range *r = i->source.ports.items;
	uint64_t ports = 0;

	for (uint32_t n = 0; n < i->source.ports.count; n++)
		ports += r[n].last - r[n].first + 1;
	return ports / items_on(c, config_item_port(c, i));
}

static void check_ports_suffice(const struct config *c, const struct item_settings *i,
	const struct field_list *sources, struct diag *d)
{
	const struct proto *proto = config_item_proto(i, NULL);
	uint64_t addresses = source_count(sources), needed = config_slots_needed(c, i);
	uint64_t per_port = addresses << proto->key_bits;
	uint64_t ports = config_source_ports(c, i), want, even;
	uint64_t workers = port_cpu_count(config_item_port(c, i));

	want = per_port ? (needed + per_port - 1) / per_port : 0;
	if (!load_is_open(&i->load))
		want = 1;
	even = (want + workers - 1) / workers * workers;
	if (ports < even && ports >= want)
		diag_error(d, &i->source, "ports",
			"%llu source ports are too few for %llu CPUs (at least %llu)",
			(unsigned long long)ports, (unsigned long long)workers,
			(unsigned long long)even);
	else if (ports < want)
		diag_error(d, &i->source, "ports",
			"%llu source ports are too few for rate x 3 timeouts = %llu transactions "
			"(at least %llu, or more addresses, or a shorter timeout)",
			(unsigned long long)ports, (unsigned long long)needed,
			(unsigned long long)even);
}

// "dns, dhcp4"
static const char *protocol_names(char *out, size_t room)
{
	size_t len = 0;

	out[0] = '\0';
	for (unsigned k = 0; protos[k] && len < room; k++)
		len += (size_t)snprintf(
			out + len, room - len, "%s%s", k ? ", " : "", protos[k]->name);
	return out;
}

static bool check_protocol(const struct item_settings *i, struct diag *d)
{
	char names[64];
	unsigned n = 0;

	for (unsigned k = 0; protos[k]; k++) {
		if (!i->protocol[k])
			continue;
		if (n++)
			diag_error(
				d, i->protocol[k], "", "a second protocol section (exactly one)");
		if (protos[k]->check)
			protos[k]->check(i->protocol[k], d);
	}
	if (n == 0)
		diag_error(d, i, "", "no protocol section (exactly one of: %s)",
			protocol_names(names, sizeof(names)));
	return n == 1;
}

// A protocol that sees to addresses itself says whether it needs a server's.
static void check_server(const struct item_settings *i, struct diag *d)
{
	const void *settings;
	const struct proto *p = config_item_proto(i, &settings);

	if (p->check_server)
		p->check_server(settings, &i->server, d);
	else if (i->server.len == 0)
		diag_error(d, i, "server", "is missing (the address of the server)");
}

static void check_item(
	const struct config *c, const struct item_settings *i, struct arena *a, struct diag *d)
{
	const struct port_settings *p = config_item_port(c, i);
	struct field_list sources;
	bool has_proto = check_protocol(i, d);

	load_check(&i->load, c->run.duration_ns, d);
	if (!p && i->port)
		diag_error(d, &i->port, NULL, "there is no port called \"%s\"", i->port);
	else if (!p)
		diag_error(d, i, "port", "which port? (there are %u)", c->ports.count);
	if (has_proto)
		check_server(i, d);
	if (!p || !has_proto || i->server.len == 0)
		return;
	if (p == config_responder_port(c))
		diag_error(d, i, "port", "the responder answers on \"%s\" (another port)", p->name);
	if (port_has(p, &i->server))
		diag_error(d, &i->server, NULL, "an address of port %s itself", p->name);
	sources = config_sources(c, i, a);
	if (!config_item_proto(i, NULL)->layout) {
		check_source(i, &sources, p, d);
		check_ports_suffice(c, i, &sources, d);
	}
	if (!config_reaches(p, &i->server))
		diag_error(d, &i->server, NULL,
			"not on a subnet of port %s, and the port has no IPv%c gateway", p->name,
			i->server.len == 4 ? '4' : '6');
}

// Is the embedded responder the server of this item? One that is told no server takes any.
static bool asks_responder(const struct config *c, const struct item_settings *i)
{
	const struct port_settings *port = config_responder_port(c);

	return i->server.len == 0 || !port || port->addresses.count == 0 ||
	       port_has(port, &i->server);
}

// Has the responder what the items of its own file ask for?
static void check_answers(const struct config *c, struct arena *a, struct diag *d)
{
	const struct item_settings *items = c->traffic.items;
	const void **settings = arena_zalloc(a, (c->traffic.count + 1) * sizeof(*settings));

	for (unsigned k = 0; protos[k]; k++) {
		uint32_t n = 0;

		for (uint32_t i = 0; i < c->traffic.count; i++)
			if (items[i].protocol[k] && asks_responder(c, &items[i]))
				settings[n++] = items[i].protocol[k];
		if (protos[k]->check_answers && c->responder->protocol[k])
			protos[k]->check_answers(c->responder->protocol[k], settings, n, d);
	}
}

static void check_responder(const struct config *c, struct diag *d)
{
	char names[64];
	const struct responder_settings *r = c->responder;

	if (r->port && !config_responder_port(c))
		diag_error(d, &r->port, NULL, "there is no port called \"%s\"", r->port);
	else if (!config_responder_port(c))
		diag_error(d, r, "port", "which port? (there are %u)", c->ports.count);
	if (r->faults)
		faults_check(r->faults, d);
	for (unsigned k = 0; protos[k]; k++)
		if (r->protocol[k])
			return;
	diag_error(d, r, "", "nothing to answer (at least one of: %s)",
		protocol_names(names, sizeof(names)));
}

// A worker of the tester has one queue of a ring, one of the responder may have several. So what is
// sent into a queue is received if the other end has as many workers, or is the responder.
static void check_ring(const struct config *c, unsigned index, struct diag *d)
{
	const struct port_settings *all = c->ports.items, *p = &all[index];
	const struct port_settings *dut = c->responder ? config_responder_port(c) : NULL;
	int peer = port_ring_peer(all, c->ports.count, index);

	if (peer < 0 || dut == &all[peer] || port_cpu_count(p) <= port_cpu_count(&all[peer]))
		return;
	if (dut == p)
		diag_error(d, &p->cpus, NULL,
			"%u CPUs to answer port %s, which asks with %u (up to as many)",
			port_cpu_count(p), all[peer].name, port_cpu_count(&all[peer]));
	else
		diag_error(d, &p->cpus, NULL, "%u CPUs, and port %s at the other end has %u",
			port_cpu_count(p), all[peer].name, port_cpu_count(&all[peer]));
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
		check_ring(c, i, d);
}

static void config_check(const struct config *c, struct arena *a, struct diag *d)
{
	const struct item_settings *items = c->traffic.items;

	check_names(&c->ports, sizeof(struct port_settings), "port", d);
	check_names(&c->traffic, sizeof(struct item_settings), "traffic item", d);
	check_ports(c, d);
	if (c->traffic.count == 0 && !c->responder)
		diag_error(d, c, "traffic", "nothing to do (traffic items, a responder, or both)");
	if (c->traffic.count > CONFIG_MAX_ITEMS)
		diag_error(d, c, "traffic", "%u items are too many (up to %u)", c->traffic.count,
			CONFIG_MAX_ITEMS);
	for (uint32_t i = 0; i < c->traffic.count; i++)
		check_item(c, &items[i], a, d);
	if (c->responder) {
		check_responder(c, d);
		check_answers(c, a, d);
	}
	criteria_check(c, a, d);
	series_check_settings(c, a, d);
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

static const struct config *load_tree(
	struct conf_tree *t, const char *file, struct arena *a, struct diag *d)
{
	struct config *c = arena_zalloc(a, sizeof(*c));

	if (conf_apply(t, config_section(), c, a, d) < 0)
		return NULL;
	c->file = arena_strdup(a, file);
	c->tree = t;
	if (!c->run.name)
		c->run.name = base_name(file, a);
	config_check(c, a, d);
	return diag_count(d) ? NULL : c;
}

static const struct config *load_assigned(struct conf_tree *t, const char *file,
	char *const *assignments, unsigned count, struct arena *a, struct diag *d)
{
	for (unsigned i = 0; i < count; i++)
		conf_set(t, assignments[i], a, d);
	return diag_count(d) ? NULL : load_tree(t, file, a, d);
}

const struct config *config_load(
	const char *file, char *const *assignments, unsigned count, struct arena *a, struct diag *d)
{
	struct conf_tree *t = conf_parse_file(file, a, d);

	return t ? load_assigned(t, file, assignments, count, a, d) : NULL;
}

const struct config *config_derive(const struct config *c, char *const *assignments, unsigned count,
	struct arena *a, struct diag *d)
{
	return load_assigned(c->tree, c->file, assignments, count, a, d);
}

const struct config *config_load_text(
	const char *name, const char *text, size_t len, struct arena *a, struct diag *d)
{
	struct conf_tree *t = conf_parse_text(name, text, len, a, d);

	return t ? load_tree(t, name, a, d) : NULL;
}
