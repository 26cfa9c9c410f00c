// SPDX-License-Identifier: BSD-3-Clause
// The rows of the file that belong to no single layer, and look-ups in the finished configuration.
// Path: cold. Management thread.
#include "engine/config/config.h"

#include <math.h>
#include <string.h>

#include "crypt/tls_settings.h"
#include "proto/table.h"
#include "engine/core/worker/evidence.h"
#include "io/driver/driver.h"
#include "io/driver/settings.h"

#define KEYLESS_BITS     32 // of transactions whose messages have no key
#define AT(type, member) .offset = offsetof(struct type, member)

static const struct field_section *client_section(uint32_t proto)
{
	return protos[proto]->settings;
}

static const struct field_section *server_section(uint32_t proto)
{
	return protos[proto]->server ? protos[proto]->server->settings : NULL;
}

static const struct field_choices client_choices = {proto_count, client_section};
static const struct field_choices server_choices = {proto_count, server_section};

static const struct field run_fields[] = {
	{"name", "name of the run; default: the file's base name", FIELD_STRING,
		AT(run_settings, name)},
	{"note", "text that goes with the result", FIELD_STRING, AT(run_settings, note),
		.max = 4096},
	{"labels", "key=value, to tell results apart", FIELD_STRING, .list = true,
		AT(run_settings, labels), .min = 3, .max = 128},
	{"id", "identity of the run; default: a new UUID", FIELD_STRING, AT(run_settings, id),
		.min = 1, .max = 64},
	{"warmup", "sent, not judged", FIELD_DURATION, AT(run_settings, warmup_ns), .def = "1s",
		.max = 1e16},
	{"duration", "the measured part", FIELD_DURATION, AT(run_settings, duration_ns),
		.def = "10s", .min = 1e6, .max = 1e16},
	{"drain", "wait for transactions in flight; auto: until answered or timed out",
		FIELD_DURATION, AT(run_settings, drain_ns), .def = "auto", .word = "auto",
		.max = 1e16},
	{"interval", "length of intervals: live view and time series", FIELD_DURATION,
		AT(run_settings, interval_ns), .def = "1s", .min = 1e7, .max = 1e13},
	{"seed", "same seed, same bytes on the wire in the same order", FIELD_COUNT,
		AT(run_settings, seed), .def = "1"},
	{"repeat", "repeat the run until its result is precise enough", FIELD_SECTION,
		.optional = true, AT(run_settings, repeat), .section = &repeat_section},
};

static const struct field_section run_section = {
	"run", "the run as a whole", FIELD_ROWS(run_fields), sizeof(struct run_settings)};

static const struct field source_fields[] = {
	{"addresses", "source addresses; default: the port's own", FIELD_ADDR_RANGE, .list = true,
		AT(source_settings, addresses)},
	{"ports",
		"source ports; default: 1024-65535, with driver socket as many free ones as the "
		"load needs",
		FIELD_RANGE, .list = true, AT(source_settings, ports), .min = 1, .max = 65535},
};

static const struct field_section source_section = {"source", "identities of the clients",
	FIELD_ROWS(source_fields), sizeof(struct source_settings)};

static const struct field after_fields[] = {
	{"item", "earlier item on the same port whose clients are followed", FIELD_STRING,
		.required = true, AT(after_settings, item), .min = 1, .max = 64},
	{"step",
		"events to follow: ack or reply, by the item's protocol: a client got its lease; "
		"release: it gave it back. Default: both",
		FIELD_STRING, .list = true, AT(after_settings, steps), .min = 1, .max = 64},
};

static const struct field_section after_section = {"after", "the item that an item follows",
	FIELD_ROWS(after_fields), sizeof(struct after_settings)};

static const char *const spread_names[] = {"round_robin", "hash", "stub", NULL};

static const struct field item_fields[] = {
	{"name", "name of the item in results and criteria", FIELD_STRING, .required = true,
		AT(item_settings, name), .min = 1, .max = 64},
	{"port", "port to send from; default: the only one", FIELD_STRING, AT(item_settings, port)},
	{"server",
		"address or host name of the server (its first address that the port can reach); "
		"not needed by clients that broadcast",
		FIELD_HOST, AT(item_settings, host)},
	{"server_port", "port of the server; 0: the protocol's default", FIELD_COUNT,
		AT(item_settings, server_port), .def = "0", .max = 65535},
	{"servers",
		"additional servers, over UDP; protocols with a servers list of their own use that "
		"list instead",
		FIELD_HOST, .list = true, AT(item_settings, servers)},
	{"spread",
		"choice of the server for a transaction: round_robin; hash: by source address and "
		"port; stub: the first, then the next after each timeout, like a stub resolver",
		FIELD_ENUM, AT(item_settings, spread), .def = "round_robin", .names = spread_names},
	{"attempts", "with spread stub, number of times each server is asked", FIELD_COUNT,
		AT(item_settings, attempts), .def = "2", .min = 1, .max = 8},
	{"rotate", "with spread stub, transactions begin with each server in turn", FIELD_BOOL,
		AT(item_settings, rotate), .def = "false"},
	{"source", "identities of the clients", FIELD_SECTION, AT(item_settings, source),
		.section = &source_section},
	{"timeout", "time after which an unanswered transaction counts as lost", FIELD_DURATION,
		AT(item_settings, timeout_ns), .def = "1s", .min = 1e5, .max = 6e11},
	{"load", "offered rate, or transactions in flight", FIELD_SECTION, AT(item_settings, load),
		.section = &load_section},
	{"after",
		"follow the clients of another item, whose events start the transactions; takes "
		"the place of load",
		FIELD_SECTION, .optional = true, AT(item_settings, after),
		.section = &after_section},
	{"protocol", "exactly one protocol section", FIELD_CHOICES, AT(item_settings, protocol),
		.choices = &client_choices},
};

static const struct field_section item_section = {
	"traffic", "an item of traffic", FIELD_ROWS(item_fields), sizeof(struct item_settings)};

static const struct field router_fields[] = {
	{"managed", "flag M of its advertisements: hosts get addresses from a server", FIELD_BOOL,
		AT(router_settings, managed), .def = "true"},
	{"other", "flag O: hosts get other parameters from it", FIELD_BOOL,
		AT(router_settings, other), .def = "false"},
	{"lifetime", "lifetime as a default router; 0s: not a default router", FIELD_DURATION,
		AT(router_settings, lifetime_ns), .def = "30m", .max = 9e12},
	{"prefixes",
		"prefixes on the link (up to 4); with managed: false hosts make addresses in them",
		FIELD_PREFIX, .list = true, AT(router_settings, prefixes)},
};

static const struct field_section router_section = {
	"router", "a router", FIELD_ROWS(router_fields), sizeof(struct router_settings)};

static const struct field responder_fields[] = {
	{"port", "port to answer on; default: the only one", FIELD_STRING,
		AT(responder_settings, port)},
	{"server_port", "UDP and TCP port to answer on; 0: the protocol's default", FIELD_COUNT,
		AT(responder_settings, server_port), .def = "0", .max = 65535},
	{"faults", "faults of its replies", FIELD_SECTION, .optional = true,
		AT(responder_settings, faults), .section = &faults_section},
	{"tcp", "connections to it", FIELD_SECTION, .optional = true, AT(responder_settings, tcp),
		.section = &transport_server_section},
	{"tls", "connections over TLS, at a port of their own; absent: none", FIELD_SECTION,
		.optional = true, AT(responder_settings, tls), .section = &tls_server_section},
	{"https", "connections by HTTP/2 over TLS, at a port of their own; absent: none",
		FIELD_SECTION, .optional = true, AT(responder_settings, https),
		.section = &https_server_section},
	{"quic", "connections by QUIC, at a port of their own; absent: none", FIELD_SECTION,
		.optional = true, AT(responder_settings, quic), .section = &quic_server_section},
	{"control", "endpoint that serves its counters to testers with the token", FIELD_SECTION,
		.optional = true, AT(responder_settings, control), .section = &control_section},
	{"router", "also act as a router and answer router solicitations (RFC 4861)", FIELD_SECTION,
		.optional = true, AT(responder_settings, router), .section = &router_section},
	{"protocol", "protocols to answer", FIELD_CHOICES, AT(responder_settings, protocol),
		.choices = &server_choices},
};

static const struct field_section responder_section = {"responder", "an embedded server",
	FIELD_ROWS(responder_fields), sizeof(struct responder_settings)};

static const struct field validity_fields[] = {
	{"unsent", "share of due transactions left unsent above which the run is invalid",
		FIELD_PERCENT, AT(validity_settings, unsent), .def = "0.1%", .max = 1},
	{"send_lag_p99",
		"99th percentile of actual minus due send time above which the run is invalid",
		FIELD_DURATION, AT(validity_settings, send_lag_p99_ns), .def = "10ms", .max = 1e16},
	{"dropped",
		"share of received packets dropped by the tester above which the run is invalid",
		FIELD_PERCENT, AT(validity_settings, dropped), .def = "0%", .max = 1},
	{"stolen",
		"share of the measured time that a worker or the responder is descheduled "
		"above which the run is invalid",
		FIELD_PERCENT, AT(validity_settings, stolen), .def = "10%", .max = 1},
	{"link_down", "time with a link down above which the run is invalid", FIELD_DURATION,
		AT(validity_settings, link_down_ns), .def = "0s", .max = 1e16},
	{"clock", "disagreement between clocks above which the run is invalid", FIELD_PERCENT,
		AT(validity_settings, clock), .def = "0.1%", .max = 1},
	{"fleet_skew",
		"difference between the starts of agents, or uncertainty of their clocks, above "
		"which the run is invalid",
		FIELD_DURATION, AT(validity_settings, fleet_skew_ns), .def = "1ms", .max = 1e16},
};

static const struct field_section validity_section = {"validity",
	"limits beyond which a run is invalid: it says nothing about the server",
	FIELD_ROWS(validity_fields), sizeof(struct validity_settings)};

static const struct field capture_fields[] = {
	{"file",
		"pcapng file to write, relative to the working directory; each run of a series has "
		"its own: file-1.pcapng ...",
		FIELD_STRING, .required = true, .role = FIELD_OUTPUT, AT(capture_settings, file),
		.min = 1, .max = 4095},
	{"when",
		"outcomes whose packets are kept; answered: the last request and reply of each "
		"successful transaction; step: the earlier ones, like DISCOVER and OFFER",
		FIELD_ENUM, .list = true, AT(capture_settings, when), .names = evidence_reasons,
		.def = "lost, late, stray, failed, malformed"},
	{"limit", "transactions to keep", FIELD_COUNT, AT(capture_settings, limit), .def = "1000",
		.min = 1, .max = 1e6},
};

static const struct field_section capture_section = {"capture",
	"packets of failing or of all transactions, each with the reason in a comment",
	FIELD_ROWS(capture_fields), sizeof(struct capture_settings)};

#define OUTPUT_FILE_ROW(format, text)                                                              \
	{.name = #format,                                                                          \
		.help = text,                                                                      \
		.type = FIELD_STRING,                                                              \
		.role = FIELD_OUTPUT,                                                              \
		AT(output_settings, format),                                                       \
		.min = 1,                                                                          \
		.max = 4095},
static const struct field output_fields[] = {
	{"capture", "packets of failing or of all transactions, each with the reason in a comment",
		FIELD_SECTION, .optional = true, AT(output_settings, capture),
		.section = &capture_section},
	{"keylog",
		"file for the secrets of TLS and QUIC connections, with which Wireshark opens a "
		"capture (SSLKEYLOGFILE): whoever reads it can decrypt them",
		FIELD_STRING, .role = FIELD_OUTPUT, AT(output_settings, keylog), .min = 1,
		.max = 4095},
	OUTPUT_FILES(OUTPUT_FILE_ROW){"prometheus",
		"where to serve /metrics for Prometheus during the run: ADDRESS:PORT, or PORT on "
		"127.0.0.1 (0: any free port)",
		FIELD_STRING, .role = FIELD_PLACE, AT(output_settings, prometheus), .min = 1,
		.max = 255},
	{"config", "put the effective configuration into the result", FIELD_BOOL,
		AT(output_settings, config), .def = "true"},
	{"percentiles",
		"percentiles of each latency in addition to p50, p90, p99, p99.9 and p99.99",
		FIELD_NUMBER, .list = true, AT(output_settings, percentiles), .min = 1e-6,
		.max = 100},
};

static const struct field_section output_section = {"output",
	"files that a run writes besides its result", FIELD_ROWS(output_fields),
	sizeof(struct output_settings)};

const char *const probe_formats[] = {
	[PROBE_PROC_STAT] = "proc_stat", [PROBE_PAIRS] = "pairs", NULL};

static const struct field probe_fields[] = {
	{"command", "shell command, like ssh dut cat /proc/stat; run once an interval",
		FIELD_STRING, .required = true, .role = FIELD_SERVER_COMMAND,
		AT(probe_settings, command), .min = 1, .max = 4095},
	{"format", "output of the command: /proc/stat, or lines of key=value", FIELD_ENUM,
		AT(probe_settings, format), .names = probe_formats, .def = "proc_stat"},
	{"timeout", "time after which the command is killed", FIELD_DURATION,
		AT(probe_settings, timeout_ns), .def = "5s", .min = 1e7, .max = 6e11},
};

static const struct field_section probe_section = {"probe", "CPU time of the server's machine",
	FIELD_ROWS(probe_fields), sizeof(struct probe_settings)};

static const struct field counters_fields[] = {
	{"command",
		"shell command, like ssh dut nstat -asz; it prints lines of NAME VALUE, or JSON. "
		"Run before and after the measured part",
		FIELD_STRING, .required = true, .role = FIELD_SERVER_COMMAND,
		AT(counters_settings, command), .min = 1, .max = 4095},
	{"timeout", "time after which the command is killed", FIELD_DURATION,
		AT(counters_settings, timeout_ns), .def = "5s", .min = 1e7, .max = 6e11},
};

static const struct field_section counters_section = {"counters",
	"counters of the server's machine", FIELD_ROWS(counters_fields),
	sizeof(struct counters_settings)};

static const struct field dut_fields[] = {
	{"probe", "command that reports the CPU use of the server's machine", FIELD_SECTION,
		.optional = true, AT(dut_settings, probe), .section = &probe_section},
	{"control",
		"remote responder (ddiperf respond --control) whose counters are added to the "
		"result",
		FIELD_SECTION, .optional = true, AT(dut_settings, control),
		.section = &control_section},
	{"counters", "command that prints counters of the server's machine", FIELD_SECTION,
		.optional = true, AT(dut_settings, counters), .section = &counters_section},
};

static const struct field_section dut_section = {
	"dut", "the machine under test", FIELD_ROWS(dut_fields), sizeof(struct dut_settings)};

static const struct field hooks_fields[] = {
	{"start", "shell command to run first; if it fails, the run does not start", FIELD_STRING,
		.role = FIELD_COMMAND, AT(hooks_settings, start), .min = 1, .max = 4095},
	{"stop", "shell command to run last, after the result is written", FIELD_STRING,
		.role = FIELD_COMMAND, AT(hooks_settings, stop), .min = 1, .max = 4095},
	{"timeout", "time after which a command is killed", FIELD_DURATION,
		AT(hooks_settings, timeout_ns), .def = "60s", .min = 1e7, .max = 1e14},
};

static const struct field_section hooks_section = {"hooks", "commands before and after the run",
	FIELD_ROWS(hooks_fields), sizeof(struct hooks_settings)};

static const struct field config_fields[] = {
	{"run", "the run as a whole", FIELD_SECTION, AT(config, run), .section = &run_section},
	{"host", "this machine", FIELD_SECTION, AT(config, host), .section = &host_section},
	{"ports", "network ports of the tester", FIELD_SECTION, .list = true, .required = true,
		AT(config, ports), .section = &port_section},
	{"traffic", "items to send; all run at the same time", FIELD_SECTION, .list = true,
		AT(config, traffic), .section = &item_section},
	{"events", "events during the run, in order of time", FIELD_SECTION, .list = true,
		AT(config, events), .section = &event_section},
	{"stop", "conditions that end the run as failed, e.g. loss > 5% for 3s", FIELD_STRING,
		.list = true, AT(config, stop)},
	{"criteria", "conditions of the verdict, e.g. loss <= 0.1%", FIELD_STRING, .list = true,
		AT(config, criteria)},
	{"validity", "limits beyond which a run is invalid: it says nothing about the server",
		FIELD_SECTION, AT(config, validity), .section = &validity_section},
	{"output", "files that a run writes besides its result", FIELD_SECTION, AT(config, output),
		.section = &output_section},
	{"dut", "the machine under test", FIELD_SECTION, AT(config, dut), .section = &dut_section},
	{"hooks", "commands before and after the run", FIELD_SECTION, AT(config, hooks),
		.section = &hooks_section},
	{"responder", "an embedded server, for self-tests", FIELD_SECTION, .optional = true,
		AT(config, responder), .section = &responder_section},
	{"search", "find the highest value of a setting at which goals are met", FIELD_SECTION,
		.optional = true, AT(config, search), .section = &search_section},
	{"fleet", "boxes that divide the run", FIELD_SECTION, .optional = true, AT(config, fleet),
		.section = &fleet_section},
};

static const struct field_section whole_section = {
	"", "a run", FIELD_ROWS(config_fields), sizeof(struct config)};

const struct field_section *config_section(void)
{
	faults_settings_prepare();
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

const struct port_settings *config_port(const struct config *c, const char *name)
{
	const struct port_settings *p = c->ports.items, *taken = config_responder_port(c),
				   *only = NULL;

	if (name)
		return port_named(c, name);
	for (uint32_t n = 0; n < c->ports.count; n++) {
		if (&p[n] == taken)
			continue;
		if (only)
			return NULL;
		only = &p[n];
	}
	return only;
}

uint16_t config_responder_server_port(const struct config *c, const struct proto *proto)
{
	uint64_t given = c->responder->server_port;

	return given ? (uint16_t)given : proto->ports->plain;
}

uint16_t config_responder_tls_port(const struct config *c, const struct proto *proto)
{
	const struct tls_server_settings *s = c->responder->tls;

	if (!s || !proto->ports->tls || !proto->server->stream)
		return 0;
	return s->port ? (uint16_t)s->port : proto->ports->tls;
}

uint16_t config_responder_https_port(const struct config *c, const struct proto *proto)
{
	const struct https_server_settings *s = c->responder->https;

	if (!s || !proto->ports->https || !proto->server->stream)
		return 0;
	return s->port ? (uint16_t)s->port : proto->ports->https;
}

uint16_t config_responder_quic_port(const struct config *c, const struct proto *proto)
{
	const struct quic_server_settings *s = c->responder->quic;

	if (!s || !proto->ports->quic || !proto->server->stream)
		return 0;
	return s->port ? (uint16_t)s->port : proto->ports->quic;
}

static void resolve_proto(const struct item_settings *i, struct item_facts *f)
{
	f->further = (struct field_list *)(uintptr_t)&i->servers;
	for (unsigned n = 0; protos[n]; n++) {
		void *settings = i->protocol[n];

		if (!settings)
			continue;
		if (!f->proto) {
			const struct proto *row = proto_terms(protos[n], settings).row;

			f->proto = row ? row : protos[n];
			f->server_port =
				i->server_port ? (uint16_t)i->server_port : f->proto->ports->plain;
			f->index = n;
			f->settings = settings;
			f->key_bits = f->proto->key_bits;
		}
		if (proto_terms(protos[n], settings).servers)
			f->further = proto_terms(protos[n], settings).servers;
	}
	if (f->proto && proto_terms(f->proto, f->settings).transport) {
		const struct transport_settings *t = proto_terms(f->proto, f->settings).transport;

		f->tcp = transport_tcp(t);
		f->stream = t->transport != TRANSPORT_UDP;
		f->tls = transport_is_secure(t->transport) ? tls_settings_or(t->tls) : NULL;
		if (t->transport == TRANSPORT_HTTPS)
			f->https = https_settings_or(t->https);
		f->quic = transport_quic(t);
		if (f->https || f->quic)
			f->key_bits = KEYLESS_BITS;
		if (f->tls && !i->server_port)
			f->server_port = f->https  ? f->proto->ports->https
			                 : f->quic ? f->proto->ports->quic
			                           : f->proto->ports->tls;
	}
}

struct proto_terms config_terms(const struct item_settings *i)
{
	const struct item_facts *f = &i->facts;

	return f->proto ? proto_terms(f->proto, f->settings) : (struct proto_terms){0};
}

void config_check_server(const struct item_settings *i, const struct addr *server, struct diag *d)
{
	const struct proto_terms t = config_terms(i);
	const char *missing =
		i->facts.proto->router ? t.no_server : "is missing (the address of the server)";

	if (server->len && t.server_len && server->len != t.server_len)
		diag_error(d, server, NULL, "not an IPv%c address", t.server_len == 4 ? '4' : '6');
	else if (server->len == 0 && missing)
		diag_error(d, server, "server", "%s", missing);
}

static void resolve_port(
	const struct config *c, const struct item_settings *i, struct item_facts *f)
{
	f->port = config_port(c, i->port);
	f->sockets = f->port && f->port->driver >= 0 && driver_of(f->port)->sockets;
	f->share = f->port ? fleet_share(c, f->port) : (struct fleet_share){0, 1, 1};
	f->ports_share = f->share;
	f->ports_load = 1;
	if (i->source.addresses.count || f->sockets) {
		f->ports_share = (struct fleet_share){0, f->share.count, f->share.count};
		f->ports_load = (double)f->share.count / f->share.of;
	}
}

// Are there too few keys for each to rest for three timeouts between two uses?
static bool has_few_keys(const struct item_facts *f)
{
	return f->proto->key_bits < 16;
}

void config_resolve(const struct config *c)
{
	struct item_settings *items = c->traffic.items;

	for (uint32_t n = 0; n < c->traffic.count; n++) {
		struct item_settings *i = &items[n];
		struct item_facts *f = &i->facts;

		*f = (struct item_facts){0};
		resolve_proto(i, f);
		resolve_port(c, i, f);
		f->asks = i->spread == SPREAD_STUB ? (uint32_t)i->attempts * (1 + i->servers.count)
		                                   : 1;
		f->wait_ns = f->asks * i->timeout_ns;
		f->hold_ns = (f->proto && f->proto->steps ? 3 : 1) * f->wait_ns;
		f->reuses_keys = f->proto && (f->stream || has_few_keys(f));
		for (uint32_t of = 0; i->after && of < n && !f->followed; of++)
			if (strcmp(items[of].name, i->after->item) == 0)
				f->followed = &items[of];
	}
}

uint32_t config_happenings(const struct item_settings *i, const struct proto_followed *followed,
	const char *const **wrong)
{
	const char *const *steps = i->after->steps.items;
	uint32_t all = (1u << PROTO_HAPPENINGS) - 1, set = 0;

	for (uint32_t n = 0; n < i->after->steps.count; n++) {
		uint32_t k = 0;

		while (k < PROTO_HAPPENINGS && strcmp(followed->names[k], steps[n]) != 0)
			k++;
		*wrong = &steps[n];
		if (k == PROTO_HAPPENINGS)
			return UINT32_MAX;
		set |= 1u << k;
	}
	return set ? set : all;
}

void config_env_follower(const struct item_settings *i, struct proto_env *env)
{
	const struct item_facts *of = i->facts.followed ? &i->facts.followed->facts : NULL;
	const char *const *wrong;
	struct proto_terms terms;

	if (!of || !of->proto || !of->proto->followed)
		return;
	terms = config_terms(i->facts.followed);
	env->followed = of->proto->followed;
	env->followed_clients = terms.clients;
	env->followed_named = terms.named;
	env->happenings = config_happenings(i, of->proto->followed, &wrong);
}

double config_connection_rate(const struct item_settings *i)
{
	const struct tcp_settings *tcp = i->facts.tcp;
	double rate = load_peak(&i->load), renewed;

	if (tcp && !i->facts.stream) // the share of truncated replies is unknown
		return INFINITY;
	if (!tcp)
		return 0;
	renewed = tcp->open == TRANSPORT_OPEN_RATE ? tcp->open_rate : 0;
	if (tcp->queries_per_connection == UINT64_MAX)
		return renewed;
	return rate > 0 ? renewed + rate / (double)tcp->queries_per_connection : INFINITY;
}

#define CLOSED_OUTCOMES ((1u << 21) - 64) // 512 KiB

static struct load_span span_of(const struct config *c, uint64_t hold_ns)
{
	return (struct load_span){hold_ns, c->run.warmup_ns, c->run.duration_ns};
}

uint64_t config_slots_needed(const struct config *c, const struct item_settings *i)
{
	const struct load_span span = span_of(c, i->facts.hold_ns);

	return load_slots(&i->load, &span);
}

uint64_t config_outcomes_needed(
	const struct config *c, const struct item_settings *i, uint64_t wait_ns)
{
	const struct load_span span = span_of(c, 3 * wait_ns);

	return load_is_open(&i->load) ? load_begun(&i->load, &span) : CLOSED_OUTCOMES;
}

uint64_t config_keys_needed(const struct config *c, const struct item_settings *i)
{
	const struct load_span span = span_of(c, (i->facts.reuses_keys ? 1 : 3) * i->facts.wait_ns);

	if (load_is_open(&i->load))
		return load_begun(&i->load, &span);
	return has_few_keys(&i->facts) ? config_slots_needed(c, i) : 1;
}

bool config_reaches(const struct port_settings *p, const struct addr *addr)
{
	const struct addr_prefix *own = p->addresses.items;
	const struct addr *gw = p->gateway.items;

	if (p->driver >= 0 && driver_of(p)->sockets)
		return true; // the kernel has routes
	for (uint32_t i = 0; i < p->addresses.count; i++)
		if (addr_in_prefix(addr, &own[i]))
			return true;
	for (uint32_t i = 0; i < p->gateway.count; i++)
		if (gw[i].len == addr->len)
			return true;
	return false;
}

bool config_check_way(
	const struct item_settings *i, const struct addr *addr, const void *at, struct diag *d)
{
	bool way = config_reaches(i->facts.port, addr);

	if (!way)
		diag_error(d, at, NULL,
			"not on a subnet of port %s, and the port has no IPv%c gateway",
			i->facts.port->name, addr->len == 4 ? '4' : '6');
	return way;
}

void config_check_range(const struct item_settings *i, const struct addr_range *r, struct diag *d)
{
	const struct field_list *further = i->facts.further;
	const struct field_host *h = further->items;
	bool has = addr_index(r, i->server.bytes, i->server.len) != UINT64_MAX;

	for (uint32_t n = 0; n < further->count; n++)
		has |= addr_index(r, h[n].addr.bytes, h[n].addr.len) != UINT64_MAX;
	if (has && !i->facts.sockets)
		diag_error(d, r, NULL, "holds the address of a server");
}

bool config_wants_port(const struct field_list *ranges, uint32_t port)
{
	const struct field_range *r = ranges->items;

	for (uint32_t n = 0; n < ranges->count; n++)
		if (port >= r[n].first && port <= r[n].last)
			return true;
	return false;
}

void config_deal_ports(const struct config_dealing *d, struct arena *a)
{
	uint32_t *wanters = arena_zalloc(a, 65536 * sizeof(*wanters));

	for (uint32_t port = 1; port <= UINT16_MAX; port++)
		for (uint32_t i = 0; i < d->items; i++)
			wanters[port] += d->has(d->of, i, port) != CONFIG_NOT_WANTED;
	for (uint32_t few = 1; few <= d->items; few++)
		for (uint32_t port = 1; port <= UINT16_MAX; port++) {
			uint32_t best = 0;

			if (wanters[port] != few)
				continue;
			for (uint32_t i = 1; i < d->items; i++)
				if (d->has(d->of, i, port) < d->has(d->of, best, port))
					best = i;
			d->give(d->of, best, port);
		}
}

// Source ports of the items of one port.
struct shares {
	const struct item_settings *items;
	bool *takes_part;
	uint64_t *have;
};

static uint64_t share_has(void *of, uint32_t item, uint32_t port)
{
	const struct shares *s = of;

	return s->takes_part[item] && config_wants_port(&s->items[item].facts.ports, port)
	               ? s->have[item]
	               : CONFIG_NOT_WANTED;
}

static void share_give(void *of, uint32_t item, uint32_t port)
{
	((const struct shares *)of)->have[item]++;
}

// Deals like plan/deal.c on a port with one worker, or where replies cannot be steered.
const uint64_t *config_source_ports(const struct config *c, struct arena *a)
{
	const struct port_settings *ports = c->ports.items;
	uint32_t n = c->traffic.count;
	struct shares s = {c->traffic.items, arena_zalloc(a, n + 1),
		arena_zalloc(a, (n + 1) * sizeof(*s.have))};
	const struct config_dealing d = {n, share_has, share_give, &s};

	for (uint32_t p = 0; p < c->ports.count; p++) {
		bool any = false;

		for (uint32_t i = 0; i < n; i++) {
			const struct item_facts *f = &s.items[i].facts;

			s.takes_part[i] = f->proto && !f->proto->router && f->port == &ports[p];
			any |= s.takes_part[i];
		}
		if (any)
			config_deal_ports(&d, a);
	}
	return s.have;
}
