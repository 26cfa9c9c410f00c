// SPDX-License-Identifier: BSD-3-Clause
// ddiperf as kxdpgun 3.2. Uses kernel sockets unless an option needs another way; unlike kxdpgun,
// matches answers with their queries. Path: cold. Main thread.
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/addr.h"
#include "run/commands.h"
#include "front/front_queries.h"
#include "io/host/netif.h"
#include "follow/run_events.h"

#define ITEM        "traffic.queries."
#define CONNECTIONS 100 // open at a time

#define SCHEMA_VERSION 20240530
#define NS_PER_S       1e9

struct kxdpgun_json {
	double period_s; // from -S; 0: no lines before the end
	// From the first line on:
	json_int_t runid, started_ns; // by the wall clock
};

struct kxdpgun {
	struct queries is;
	double duration_s, rate;
	const char *local;    // -l
	bool bypass;          // an option needs to bypass sockets
	bool drop;            // -r
	const char *tcp_mode; // "", or " mode R"
	bool json;            // -j
	double period_ms;     // -S; 0: none
	struct kxdpgun_json lines;
	struct netif_route route;
};

static struct kxdpgun *own(struct as_run *r)
{
	return (struct kxdpgun *)r;
}

static int set_local(struct as_run *r, const char *value)
{
	own(r)->local = value;
	own(r)->bypass |= strchr(value, '/') != NULL;
	return 0;
}

static int set_vlan(struct as_run *r, const char *value)
{
	front_add(&r->front, "-v", "ports.lan.vlans", value);
	own(r)->bypass = true;
	return 0;
}

// Modes are misbehaving clients, except for R: connections stay open.
static int set_tcp(struct as_run *r, const char *value)
{
	own(r)->is.tcp = true;
	own(r)->tcp_mode = value ? arena_printf(r->arena, " mode %s", value) : "";
	if (!value || strcmp(value, "R") == 0)
		return 0;
	return as_refuse(r,
		strlen(value) == 1 && strchr("12357890", value[0])
			? "-T %s: misbehaving clients need a load beside them (tcp.behave in a "
			  "file)"
			: "-T %s: invalid mode",
		value);
}

static int show_version(struct as_run *r, const char *value)
{
	printf("kxdpgun, version %s (ddiperf %s)\n", r->tool->version, DDIPERF_VERSION);
	return AS_DONE;
}

#define MEMBER(member) .place = offsetof(struct kxdpgun, member)

static const struct as_option options[] = {
	{'t', "duration", "SECONDS", "time of sending", MEMBER(duration_s), .least = 0.001,
		.most = 1e6},
	{'T', "tcp", "[MODE]", "over TCP, a connection for each query; R: connections stay open",
		NULL, .set = set_tcp},
	{'U', "quic", "[MODE]", "",
		.refused = "`ddiperf dns quic://SERVER` sends queries over QUIC"},
	{'Q', "qps", "RATE", "queries per second", MEMBER(rate), .least = 1, .most = 1e9},
	{'b', "batch", "SIZE", "", .ignored = "each query is sent at its own time"},
	{'r', "drop", NULL, "leave out the figures of replies", MEMBER(drop)},
	{'p', "port", "PORT", "port of the server", ITEM "server_port"},
	{'F', "affinity", "SPEC", "", .ignored = "ports.lan.cpus has the CPUs (--set)"},
	{'i', "infile", "FILE", "queries", MEMBER(is.file)},
	{'I', "interface", "NAME", "interface", "ports.lan.device"},
	{'l', "local", "IP[/PREFIX]", "source address, or all of a subnet", NULL, .set = set_local},
	{'L', "local-mac", "MAC", "", .refused = "the tester has the MAC address of its port"},
	{'R', "remote-mac", "MAC", "",
		.refused = "the MAC address of the next hop comes from ARP or neighbour discovery"},
	{'v', "vlan", "ID", "VLAN tag of all packets", NULL, .set = set_vlan},
	// Options of kxdpgun 3.4.
	{'B', "binary", NULL, "the file has whole messages, each behind its length",
		MEMBER(is.binary)},
	{'e', "edns-size", "SIZE", "",
		.refused = "`--set traffic.queries.dns.edns.size=SIZE` sets it for all queries"},
	{'m', "mode", "MODE", "", .ignored = "ports.lan.driver is the way of packets (--set)"},
	{'G', "qlog", "FOLDER", "", .refused = "no qlog is written"},
	{'j', NULL, NULL, "figures as JSON lines (--json OUT is the result of ddiperf)",
		MEMBER(json)},
	{'S', "stats-period", "MS", "figures of each period, with -j", MEMBER(period_ms),
		.least = 10, .most = 1e9},
	{'h', "help", NULL, "this list", NULL, .set = as_show_options},
	{'V', "version", NULL, "the version", NULL, .set = show_version},
	{0},
};

// --- -j: objects of DNS-OARC's dns-metrics with the members of kxdpgun 3.4

static json_int_t whole(double x)
{
	return x > 0 && x < 0x1p62 ? (json_int_t)(x + 0.5) : 0;
}

static json_t *line_of(const char *type, json_int_t runid)
{
	return json_pack("{s:I,s:s}", "runid", runid, "type", type);
}

static void put_line(json_t *line)
{
	json_dumpf(line, stdout, JSON_REAL_PRECISION(15));
	putchar('\n');
	fflush(stdout);
	json_decref(line);
}

static void json_begin(struct kxdpgun_json *j, const struct as_run *r, const json_t *info)
{
	json_t *line, *params = json_array();
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	j->started_ns = (json_int_t)now.tv_sec * (json_int_t)NS_PER_S + now.tv_nsec;
	j->runid = j->started_ns / 1000;
	line = line_of("header", j->runid);
	for (int i = 0; i < r->argc; i++)
		json_array_append_new(params, json_string(r->argv[i]));
	json_object_update_new(line,
		json_pack("{s:i,s:s,s:s,s:o,s:I}", "schema_version", SCHEMA_VERSION, "generator",
			r->tool->name, "generator_version", r->tool->version, "generator_params",
			params, "time_units_per_sec", (json_int_t)NS_PER_S));
	if (j->period_s > 0)
		json_object_set_new(line, "stats_interval", json_real(j->period_s));
	json_object_set(line, "additional_info", (json_t *)info);
	put_line(line);
}

static json_t *rcodes_of(const json_t *item)
{
	json_t *of = json_object(), *count;
	const char *name;

	json_object_foreach((json_t *)document_at(item, "dns.rcode"), name, count)
	{
		if (json_number_value(count) > 0)
			json_object_set_new(
				of, name, json_integer(whole(json_number_value(count))));
	}
	return of;
}

static void json_stats(const struct kxdpgun_json *j, const char *type, const json_t *item,
	double since_s, double until_s, bool replies)
{
	json_int_t sent = whole(document_number(item, "sent"));
	json_int_t got = replies ? whole(document_computed(item, "answered + failed")) : 0;
	json_t *line = line_of(type, j->runid);

	json_object_update_new(line,
		json_pack("{s:I,s:I,s:I,s:I}", "since", j->started_ns + whole(NS_PER_S * since_s),
			"until", j->started_ns + whole(NS_PER_S * until_s), "queries", sent,
			"responses", got));
	if (got)
		json_object_set_new(line, "response_rcodes", rcodes_of(item));
	json_object_set_new(line, "conn_info",
		json_pack("{s:s,s:I,s:I,s:i}", "type", "udp", "packets_sent", sent,
			"packets_recieved", got, "socket_errors", 0));
	put_line(line);
}

static void json_thread(const struct kxdpgun_json *j, const json_t *item, bool replies)
{
	double got = replies ? document_computed(item, "answered + failed") : 0;
	json_t *line = line_of("thread_summary", j->runid);

	json_object_update_new(
		line, json_pack("{s:i,s:I,s:I,s:I,s:i}", "subid", 0, "qry_sent",
			      whole(document_number(item, "sent")), "ans_recv", whole(got), "lost",
			      whole(document_number(item, "unsent")), "errors", 0));
	put_line(line);
}

static void print_json_begin(struct kxdpgun *d)
{
	json_t *info = json_pack("{s:s,s:i,s:i,s:s,s:{s:s}}", "interface", d->route.name,
		"xdp_threads", 1, "ip_version", d->is.address.len == 16 ? 6 : 4,
		"transport_layer_proto", d->is.tcp ? "TCP" : "UDP", "mode_info", "mode",
		front_get(&d->is.is.front, "ports.lan.driver"));

	json_begin(&d->lines, &d->is.is, info);
	json_decref(info);
}

static void print_json(struct kxdpgun *d, const json_t *line)
{
	double t_s = document_number(line, "t_s");

	if (json_object_get(line, LINE_BEGIN))
		print_json_begin(d);
	else if (d->period_ms > 0 && t_s > 0 && !json_object_get(line, LINE_LAST))
		json_stats(&d->lines, "stats_periodic",
			json_array_get(json_object_get(line, "traffic"), 0),
			t_s - document_number(line, "length_s"), t_s, !d->drop);
}

static void on_line(void *ctx, const json_t *line)
{
	struct kxdpgun *d = ctx;

	if (d->json)
		print_json(d, line);
	if (d->json || !json_object_get(line, LINE_BEGIN))
		return;
	printf("using interface %s, XDP threads 1, %s%s, %s mode\n", d->route.name,
		d->is.tcp ? "TCP" : "UDP", d->is.tcp ? d->tcp_mode : "",
		front_get(&d->is.is.front, "ports.lan.driver"));
	fflush(stdout);
}

// Octets of packet headers received with replies. For TCP as sent by a kernel: per connection a SYN
// with one option, an acknowledgement per query and one per close.
static double header_octets(const struct kxdpgun *d, const json_t *item, double replies)
{
	double ip = d->is.address.len == 16 ? 14 + 40 : 14 + 20;

	if (!d->is.tcp)
		return replies * (ip + 8);
	return document_computed(item, "connections.established") * (2 * (ip + 20) + 4) +
	       replies * (2 * (ip + 20) + 2);
}

#define SHARE(label, figure)                                                                       \
	label " {" figure "} ({" figure " / duration} pps) ({100 * " figure " / asked}%)\n"

static void print_figures(const struct kxdpgun *d, const json_t *item)
{
	json_t *f = queries_figures(&d->is.is, item), *count;
	double replies = document_number(f, "completed");
	double octets = document_computed(item, "dns.reply_bytes");
	const char *name;

	json_object_update_new(f,
		json_pack("{s:f,s:b,s:b,s:f,s:f,s:f,s:f,s:s}", "duration", d->duration_s, "shown",
			!d->drop, "tcp", d->is.tcp && !d->drop, "asked",
			document_computed(item, d->is.tcp ? "connections.opened" : "sent"),
			"closed",
			document_computed(item,
				"connections.established - connections.reset - connections.left"),
			"size", replies > 0 ? floor(octets / replies) : 0, "bps",
			8 * (octets + header_octets(d, item, replies)) / d->duration_s, "what",
			d->is.tcp ? "total SYNs:       " : "total queries:    "));
	document_fill(f,
		"thread#00: sent {sent}<{?shown}, received {completed}><, lost {unsent}>\n"
		"{what} {asked} ({asked / duration} pps)\n"
		"<{?tcp}" SHARE("total established:",
			"connections.established") ">"
						   "<{?shown}" SHARE("total replies:    ",
							   "completed") ">"
									"<{?tcp}" SHARE(
										"total closed:    "
										" ",
										"closed") ">"
											  "<{?"
											  "shown}"
											  "average "
											  "DNS "
											  "reply "
											  "size: "
											  "{size} "
											  "B\n"
											  "average "
											  "Ethernet"
											  " reply "
											  "rate: "
											  "{bps} "
											  "bps "
											  "({bps * "
											  "1e-6:%."
											  "2f} "
											  "Mbps)"
											  "\n>",
		stdout);
	json_object_foreach((json_t *)document_at(item, "dns.rcode"), name, count)
	{
		if (json_number_value(count) > 0 && !d->drop)
			printf("responded %s: %*s%.0f\n", name,
				strlen(name) < 9 ? 9 - (int)strlen(name) : 0, "",
				json_number_value(count));
	}
	printf("duration: %.0f s\n", d->duration_s);
	json_decref(f);
}

static int on_end(void *ctx, struct document_reader *b, int code)
{
	struct kxdpgun *d = ctx;
	const json_t *item = json_array_get(json_object_get(b->document, "traffic"), 0);

	if (d->json) {
		json_thread(&d->lines, item, !d->drop);
		json_stats(&d->lines, "stats_sum", item, 0,
			document_number(b->document, "run.measured_s"), !d->drop);
	} else {
		print_figures(d, item);
	}
	queries_explain(&d->is.is, b);
	return EXIT_PASS;
}

// The route selects the interface and, for a driver that bypasses the kernel, the next hop.
static int set_way(struct kxdpgun *d)
{
	struct as_run *r = &d->is.is;
	const char *device = front_get(&r->front, "ports.lan.device");
	char text[ADDR_TEXT_SIZE];
	int err = netif_route(&d->is.address, d->is.link[0] ? d->is.link : device, &d->route);

	if (err < 0)
		return as_refuse(r, "no route to %s: %s", d->is.server, strerror(-err));
	if (device)
		snprintf(d->route.name, sizeof(d->route.name), "%s", device);
	front_set(&r->front, NULL, "ports.lan.driver", d->bypass ? "af_packet" : "socket");
	if (!d->bypass)
		return 0;
	front_set(&r->front, NULL, "ports.lan.device", d->route.name);
	front_set_yaml(&r->front, NULL, "ports.lan.force", "true");
	if (d->route.next_hop.len)
		front_add(&r->front, NULL, "ports.lan.gateway",
			addr_format(&d->route.next_hop, text, sizeof(text)));
	return 0;
}

// Number of common leading bits.
static unsigned common_bits(const struct addr *a, const struct addr *b)
{
	unsigned bits = 0;

	while (bits < 8u * a->len &&
		!((a->bytes[bits / 8] ^ b->bytes[bits / 8]) & 0x80 >> bits % 8))
		bits++;
	return bits;
}

// The port's subnet contains the sources and the next hop, which is the server itself if on-link.
static int set_sources(struct kxdpgun *d)
{
	const struct addr *hop = d->route.next_hop.len ? &d->route.next_hop : &d->is.address;
	struct as_run *r = &d->is.is;
	char text[ADDR_TEXT_SIZE];
	struct addr_prefix local;
	const char *what;
	unsigned bits;

	if (!d->local)
		return 0;
	if (!d->bypass) {
		front_take(&r->front, FRONT_PREFIX, "-l", "ports.lan.addresses", d->local);
		return 0;
	}
	if (addr_parse_prefix(d->local, &local, &what) < 0 || local.addr.len != hop->len)
		return as_refuse(r, "-l %s: not a prefix of the destination's family", d->local);
	bits = common_bits(&local.addr, hop);
	front_add(&r->front, "-l", ITEM "source.addresses", d->local);
	local.bits = bits < local.bits ? (uint8_t)bits : local.bits;
	front_add(&r->front, "-l", "ports.lan.addresses",
		addr_format_prefix(&local, text, sizeof(text)));
	return 0;
}

static int finish(struct as_run *r)
{
	struct kxdpgun *d = own(r);
	int err;

	if (r->operand_count != 1)
		return as_refuse(r,
			r->operand_count ? "more than one destination" : "no destination address");
	if (!d->is.file)
		return as_refuse(r, "no file of queries (-i)");
	d->is.server = r->operands[0];
	front_set(&r->front, NULL, "run.warmup", "0s");
	front_setf(&r->front, "-t", "run.duration", "%.9gs", d->duration_s);
	front_setf(&r->front, "-Q", ITEM "load.rate", "%.9g", d->rate);
	if (d->period_ms > 0 && d->json)
		front_setf(&r->front, "-S", "run.interval", "%.9gms", d->period_ms);
	else if (d->period_ms > 0)
		as_note(r, "-S has no effect without -j");
	d->lines.period_s = 1e-3 * d->period_ms;
	if (d->is.tcp) {
		d->is.clients = CONNECTIONS;
		d->is.per_conn = d->tcp_mode[0] ? 0 : 1;
	}
	d->is.most_per_s = d->rate;
	err = queries_finish(r, "destination", "-i");
	if (!err)
		err = set_way(d);
	if (!err)
		err = set_sources(d);
	r->front.output = (struct front_output){on_line, on_end, d};
	return err;
}

static void begin(struct as_run *r)
{
	own(r)->duration_s = 5;
	own(r)->rate = 1000;
}

const struct as_tool front_kxdpgun = {.name = "kxdpgun",
	.operands = "DESTINATION",
	.version = "3.2.6",
	.options = options,
	.size = sizeof(struct kxdpgun),
	.begin = begin,
	.finish = finish,
	.error_code = 1};
