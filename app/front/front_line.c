// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "front/front_line.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/log.h"
#include "base/nearest.h"
#include "run/commands.h"
#include "line/front.h"
#include "io/driver/driver.h"
#include "io/host/netif.h"
#include "net/packet_file.h"

// Options shared by all three commands. item: the name of the traffic item.
#define COMMON_OPTIONS(item)                                                                       \
	{'r', "rate", "RATE", "traffic." item ".load.rate", NULL, FRONT_TEXT,                      \
		"open loop: transactions per second, like 20k"},                                   \
		{'c', "outstanding", "COUNT", "traffic." item ".load.outstanding", NULL,           \
			FRONT_TEXT, "closed loop: transactions kept in flight"},                   \
		{'t', "duration", "TIME", "run.duration", NULL, FRONT_SECONDS,                     \
			"the measured part, like 30s; default: 10s"},                              \
		{'n', "total", "COUNT", "traffic." item ".load.total", NULL, FRONT_TEXT,           \
			"stop after this many transactions"},                                      \
		{'w', "warmup", "TIME", "run.warmup", NULL, FRONT_SECONDS,                         \
			"warm-up: sent, not judged; default: 1s"},                                 \
		{'T', "timeout", "TIME", "traffic." item ".timeout", NULL, FRONT_SECONDS,          \
			"time after which an unanswered transaction is lost"},                     \
		{'p', "port", "PORT", "traffic." item ".server_port", NULL, FRONT_TEXT,            \
			"port of the server"},                                                     \
		{'i', "interface", "NAME", "ports.lan.device", NULL, FRONT_TEXT,                   \
			"network interface; default: by the routing table"},                       \
		{'D', "driver", "NAME", "ports.lan.driver", NULL, FRONT_TEXT,                      \
			"driver of the interface (ddiperf list drivers); default: socket"},        \
		{'a', "address", "PREFIX", "ports.lan.addresses", NULL, FRONT_PREFIX,              \
			"address of the tester, like 198.18.0.1/24; default: the host's; may be "  \
			"repeated"},                                                               \
		{'\0', "gateway", "ADDRESS", "ports.lan.gateway", NULL, FRONT_LIST,                \
			"next hop of servers off the subnet; not with socket"},                    \
		{'\0', "force", NULL, "ports.lan.force", "true", FRONT_YAML,                       \
			"use the interface even if the host uses it"},                             \
		{'C', "criterion", "TEXT", "criteria", NULL, FRONT_LIST,                           \
			"fail unless this holds, like 'loss <= 0.1%' or 'p99 <= 5ms'; may be "     \
			"repeated"},                                                               \
		{'\0', "find-max", NULL, "search.variable", "traffic." item ".load.rate",          \
			FRONT_TEXT,                                                                \
			"find the highest rate with less than 0.1 % lost or failed, rising from "  \
			"a low one; -r: at most, -t: in this time; default: 80s"},                 \
		{'G', "goal", "TEXT", "search.goals", NULL, FRONT_TEXT,                            \
			"with --find-max: a limit at that rate, like 'p99 <= 20ms' or "            \
			"'loss <= 1%'; may be repeated"},                                          \
	{                                                                                          \
		'l', "load", "YAML", "traffic." item ".load", NULL, FRONT_YAML,                    \
			"another load shape, like '{ramp: {from: 0, to: 50k, over: 30s}}'"         \
	}

#define TRANSPORT "traffic.queries.dns.transport"
#define TLS       "traffic.queries.dns.tls"
#define HTTPS     "traffic.queries.dns.https"
#define POOL      "traffic.queries.dns.tcp"
#define QUIC      "traffic.queries.dns.quic"

const struct own_option line_dns_options[] = {
	COMMON_OPTIONS("queries"),
	{'d', "data", "FILE", "traffic.queries.dns.queries", NULL, FRONT_TEXT,
		"file of queries, 'name type' a line; -: standard input"},
	{'\0', "wire", "FILE", "traffic.queries.dns.wire", NULL, FRONT_TEXT,
		"capture with queries, or file of whole messages as of dnsperf -B"},
	{'\0', "expect", NULL, "traffic.queries.dns.expect.captured", "[rcode, flags, answer]",
		FRONT_YAML, "with --wire: answers must match the capture"},
	{'e', "edns", NULL, "traffic.queries.dns.edns.size", "1232", FRONT_TEXT,
		"an OPT record in every query"},
	{'\0', "dnssec", NULL, "traffic.queries.dns.edns.do", "true", FRONT_YAML,
		"the DO bit: ask for DNSSEC records"},
	{'\0', "tcp", NULL, TRANSPORT, "tcp", FRONT_TEXT, "queries over TCP"},
	{'\0', "tls", NULL, TRANSPORT, "tls", FRONT_TEXT, "queries over TLS, as for tls://SERVER"},
	{'\0', "https", NULL, TRANSPORT, "https", FRONT_TEXT,
		"queries by HTTPS, as for https://SERVER or https://SERVER/PATH"},
	{'\0', "quic", NULL, TRANSPORT, "quic", FRONT_TEXT,
		"queries over QUIC, as for quic://SERVER"},
	{'\0', "early", NULL, TLS ".early", "true", FRONT_YAML,
		"with --resume: queries as early data (0-RTT)"},
	{'\0', "post", NULL, HTTPS ".method", "post", FRONT_TEXT,
		"by HTTPS: the query as content of a POST, the default"},
	{'\0', "get", NULL, HTTPS ".method", "get", FRONT_TEXT,
		"by HTTPS: the query within the path of a GET"},
	{'\0', "tls-name", "NAME", TLS ".name", NULL, FRONT_TEXT,
		"over TLS: name of the server (SNI), also in its certificate; default: SERVER, if "
		"it is a name"},
	{'\0', "ca", "FILE", TLS ".ca", NULL, FRONT_TEXT,
		"over TLS: verify the certificate by the authorities in this PEM file"},
	{'\0', "pin", "BASE64", TLS ".pins", NULL, FRONT_LIST,
		"over TLS: verify the certificate's public key by its SHA-256; may be repeated"},
	{'\0', "resume", "[=WHICH]", TLS ".resume", "last", FRONT_TEXT,
		"over TLS: resume with a ticket, the last one, or with =each that of each "
		"connection's predecessor"},
	{'\0', "tc", NULL, "traffic.queries.dns.tc", "tcp", FRONT_TEXT,
		"truncated answers are asked again over TCP"},
	{'\0', "connections", "COUNT", "traffic.queries.dns.tcp.connections", NULL, FRONT_TEXT,
		"over TCP, TLS or QUIC: connections at a time; default: 100"},
	{'\0', "per-connection", "COUNT", "traffic.queries.dns.tcp.queries_per_connection", NULL,
		FRONT_TEXT, "over TCP, TLS or QUIC: queries of a connection; default: any number"},
	{'\0', "key", "FILE", "traffic.queries.dns.key.secret_file", NULL, FRONT_TEXT,
		"sign each message (TSIG): file of a key of BIND or Knot"},
	{'\0', "random", NULL, "traffic.queries.dns.order", "random", FRONT_TEXT,
		"queries in random order"},
	{0},
};

const char line_dns_help[] =
	"examples:\n"
	"  ddiperf dns 127.0.0.1 example.com A         100 queries in flight, 10 seconds\n"
	"  ddiperf dns 192.0.2.1 -d queries.txt -r 20k -t 60 -C 'loss <= 0.1%'\n"
	"  ddiperf dns 192.0.2.1 -d queries.txt --find-max -G 'p99 <= 20ms'\n"
	"  ddiperf dns 192.0.2.1 --tcp --per-connection 1 -r 1k\n"
	"  ddiperf dns tls://192.0.2.1 www.example.com A --tls-name dns.example --ca ca.pem\n"
	"  ddiperf dns quic://192.0.2.1 -d queries.txt -r 1k --connections 20 --resume\n"
	"  ddiperf dns https://192.0.2.1/dns-query -d queries.txt -r 1k --connections 20\n"
	"  ddiperf dns 192.0.2.1 '{random:12}.example.com A' -r 5k --dump >test.yaml\n";

#define CLIENT_OPTIONS(protocol)                                                                   \
	COMMON_OPTIONS("leases"),                                                                  \
		{'x', "exchange", "NAME", "traffic.leases." protocol ".exchange", NULL,            \
			FRONT_TEXT,                                                                \
			"messages of a transaction, like renew (ddiperf list settings)"},          \
		{'R', "clients", "COUNT", "traffic.leases." protocol ".clients", NULL, FRONT_TEXT, \
			"distinct clients; default: enough for the whole run"},                    \
		{'A', "again", NULL, "traffic.leases." protocol ".again", "true", FRONT_YAML,      \
			"clients with a lease start over when no other is free"},                  \
		{'\0', "leases", "FILE", "traffic.leases." protocol ".leases.load", NULL,          \
			FRONT_TEXT, "clients begin with the leases in this file"},                 \
		{'\0', "save-leases", "FILE", "traffic.leases." protocol ".leases.save", NULL,     \
			FRONT_TEXT, "write the leases held at the end to this file"},              \
		{'m', "mac", "ADDRESS", "traffic.leases." protocol ".mac", NULL, FRONT_TEXT,       \
			"MAC address of the first client"},                                        \
	{                                                                                          \
		'g', "relay", "ADDRESS", "traffic.leases." protocol ".relay.addresses", NULL,      \
			FRONT_LIST,                                                                \
			"address of a relay of the tester; default: the host's; may be "           \
			"repeated"                                                                 \
	}

const struct own_option line_dhcp_options[] = {CLIENT_OPTIONS("dhcp4"), {0}};

const char line_dhcp_help[] =
	"With SERVER, clients are behind a relay: this host. The server needs a subnet for its\n"
	"address. With --interface alone, clients broadcast from MAC addresses of their own.\n\n"
	"examples:\n"
	"  ddiperf dhcp 192.0.2.1                      100 leases a second, 10 seconds\n"
	"  ddiperf dhcp --interface eth1 -r 500 -t 30 -C 'loss <= 1%'\n"
	"  ddiperf dhcp 192.0.2.1 --find-max -G 'p99 <= 100ms'\n"
	"  ddiperf dhcp 192.0.2.1 -x discover -r 5k --dump >test.yaml\n"
	"  ddiperf dhcp 192.0.2.1 -n 500 --save-leases leases.csv\n"
	"  ddiperf dhcp 192.0.2.1 -n 500 -x renew --leases leases.csv\n";

const struct own_option line_dhcp6_options[] = {
	CLIENT_OPTIONS("dhcp6"),
	{'L', "lease", "NAME", "traffic.leases.dhcp6.lease", NULL, FRONT_TEXT,
		"address, prefix or both; default: address"},
	{'\0', "pd", NULL, "traffic.leases.dhcp6.lease", "prefix", FRONT_TEXT,
		"prefix delegation: as -L prefix"},
	{0},
};

const char line_dhcp6_help[] =
	"With SERVER, clients are behind a relay: this host. With --interface alone, clients are "
	"on\n"
	"the link.\n\n"
	"examples:\n"
	"  ddiperf dhcp6 2001:db8::1                   100 leases a second, 10 seconds\n"
	"  ddiperf dhcp6 --interface eth1 -r 500 -L both\n";

// The option as typed.
static const char *typed(const struct front *f, const struct given_option *g)
{
	const struct own_option *r = g->row;

	return arena_printf(f->arena, "%s%s%s%s", r->letter ? "-" : "--",
		r->letter ? (char[]){r->letter, '\0'} : r->name,
		!r->argument            ? ""
		: r->argument[0] == '[' ? "="
					: " ",
		r->argument ? g->value : "");
}

// The value of the option for that setting; NULL: not given.
static const char *given(const struct options *o, const char *path)
{
	for (unsigned i = 0; i < o->given_count; i++)
		if (strcmp(o->given[i].row->path, path) == 0)
			return o->given[i].value;
	return NULL;
}

static bool is_given(const struct options *o, const char *path)
{
	return given(o, path) != NULL;
}

// With --find-max, some options of a run set the search.
static const char *path_of(const struct options *o, const struct own_option *r)
{
	static const char *const searched[][2] = {
		{"rate", "search.to"}, {"duration", "search.time"}, {"warmup", "search.warmup"}};

	for (size_t i = 0; is_given(o, "search.variable") && i < 3; i++)
		if (strcmp(r->name, searched[i][0]) == 0)
			return searched[i][1];
	return r->path;
}

static int refuse(const struct front *f, const char *text)
{
	log_error("%s: %s (see ddiperf %s --help)", f->name, text, f->name);
	return EXIT_CONFIG;
}

static bool has_load(const struct options *o, const char *load)
{
	return is_given(o, load) || is_given(o, arena_printf(o->arena, "%s.rate", load)) ||
	       is_given(o, arena_printf(o->arena, "%s.outstanding", load));
}

// Set one shape of the load, from an option, or by key and value. load: "traffic.queries.load".
static int set_load(struct front *f, const struct options *o, const char *load, const char *key,
	const char *value)
{
	const char *rate = given(o, arena_printf(f->arena, "%s.rate", load));
	unsigned count = is_given(o, load) + (rate != NULL) +
	                 is_given(o, arena_printf(f->arena, "%s.outstanding", load));

	if (is_given(o, "search.variable"))
		return 0;
	if (count > 1)
		return refuse(f, "more than one of -r, -c and -l");
	if (rate && strcmp(rate, "max") == 0) {
		log_error("%s: -r max: a flood loses most of what it sends, which says little "
			  "about the server (--find-max: the highest rate that it answers; -l "
			  "'{rate: max}': a flood)",
			f->name);
		return EXIT_CONFIG;
	}
	if (is_given(o, load) && is_given(o, arena_printf(f->arena, "%s.total", load)))
		return refuse(f, "-n together with -l (put total into -l)");
	if (!count)
		front_set(f, NULL, arena_printf(f->arena, "%s.%s", load, key), value);
	return 0;
}

// One goal of the search, with all limits of -G: "{loss: 0.1%, p99: 20ms}".
static int set_goal(struct front *f, const struct options *o)
{
	const char *text = "{", *names = "loss failed p50 p90 p95 p99 p999";
	bool loss = false;

	for (unsigned i = 0; i < o->given_count; i++) {
		const char *name, *value, *goal = o->given[i].value;
		size_t len = strcspn(goal, " <=");

		if (o->given[i].row->letter != 'G')
			continue;
		name = arena_printf(f->arena, "%.*s", (int)len, goal);
		value = goal + len + strspn(goal + len, " ");
		if (*value != '<' || !word_is_among(name, names)) {
			log_error("%s: %s: not a limit of a goal (loss <= SHARE, failed <= SHARE "
				  "or p50, p90, p95, p99 or p999 <= TIME)",
				f->name, typed(f, &o->given[i]));
			return EXIT_CONFIG;
		}
		value += strspn(value, "<= ");
		loss = loss || strcmp(name, "loss") == 0;
		json_object_set_new(f->origins, arena_printf(f->arena, "search.goals[0].%s", name),
			json_string_nocheck(typed(f, &o->given[i])));
		text = arena_printf(f->arena, "%s%s%s: %s", text, text[1] ? ", " : "", name, value);
	}
	front_set_yaml(f, NULL, "search.goals",
		arena_printf(f->arena, "[%s%s%s}]", text, text[1] && !loss ? ", " : "",
			loss ? "" : "loss: 0.1%"));
	return 0;
}

// The search of --find-max, from a rate that any server can answer. load: "traffic.queries.load".
static int set_search(
	struct front *f, const struct options *o, const char *load, const char *lowest)
{
	if (!is_given(o, "search.variable") && is_given(o, "search.goals"))
		return refuse(f, "-G without --find-max (a limit of a run is a criterion: -C)");
	if (!is_given(o, "search.variable"))
		return 0;
	if (is_given(o, load) || is_given(o, arena_printf(f->arena, "%s.outstanding", load)) ||
		is_given(o, arena_printf(f->arena, "%s.total", load)))
		return refuse(f, "--find-max with -c, -n or -l (it sets the rate)");
	front_set(f, NULL, arena_printf(f->arena, "%s.rate", load), lowest);
	front_set(f, NULL, "search.variable", arena_printf(f->arena, "%s.rate", load));
	front_set(f, NULL, "search.start", "lowest");
	front_set(f, NULL, "search.from", lowest);
	front_set(f, NULL, "search.to", "10M");
	front_set(f, NULL, "search.width", "5%");
	front_set(f, NULL, "search.warmup", "300ms");
	front_set(f, NULL, "search.settle", "300ms");
	front_set(f, NULL, "search.final", "5s");
	front_set(f, NULL, "search.time", "80s");
	return set_goal(f, o);
}

// Does the driver use a kernel interface, but not kernel sockets? Also false for an unknown driver.
static bool goes_around_kernel(const char *driver)
{
	for (unsigned n = 0; n < driver_count; n++)
		if (strcasecmp(driver, drivers[n].name) == 0)
			return drivers[n].device == DEVICE_INTERFACE;
	return false;
}

// The next -a of this family, from the *at-th option on. false: no more.
static bool own_address(const struct options *o, uint8_t len, unsigned *at, struct addr_prefix *own)
{
	const char *what;

	while (*at < o->given_count) {
		const struct given_option *g = &o->given[(*at)++];

		if (strcmp(g->row->path, "ports.lan.addresses") == 0 &&
			addr_parse_prefix(g->value, own, &what) == 0 && own->addr.len == len)
			return true;
	}
	return false;
}

// Is the server on the link of a given address? Then no router is in between, whatever the kernel's
// route, because the kernel does not know that address.
static bool is_on_link(const struct options *o, const struct addr *server)
{
	struct addr_prefix own;
	unsigned at = 0;

	while (own_address(o, server->len, &at, &own))
		if (addr_in_prefix(server, &own))
			return true;
	return false;
}

// Does this host have the address? link: of this interface; NULL: any. addr NULL: any of the
// family.
static bool host_has(const struct addr *addr, uint8_t len, const char *link)
{
	struct netif *list;
	unsigned count;
	bool has = addr && len == 4 && addr->bytes[0] == 127;

	if (netif_list(&list, &count) < 0)
		return has;
	for (unsigned i = 0; i < count && !has; i++) {
		const struct netif *n = &list[i];

		for (uint32_t k = 0; k < n->addr_count && (!link || strcmp(n->name, link) == 0);
			k++)
			has = has || (addr ? addr_equal(&n->addrs[k].addr, addr)
					   : n->addrs[k].addr.len == len);
	}
	free(list);
	return has;
}

// With an address that this host does not have, the tester is a host of its own.
static const char *line_driver(const struct options *o, uint8_t len)
{
	const char *driver = given(o, "ports.lan.driver");
	struct addr_prefix own;
	unsigned at = 0;

	if (driver)
		return driver;
	if (!o->operand)
		return "af_packet";
	return own_address(o, len, &at, &own) && !host_has(&own.addr, len, NULL) ? "af_packet"
	                                                                         : "socket";
}

// Derive settings from the kernel's route to the server: the relay's address, and for drivers that
// bypass the kernel, interface and next hop.
static int follow_route(struct front *f, const struct options *o, const char *relay,
	const struct addr_server *server)
{
	const char *driver = line_driver(o, server->addr.len), *link = given(o, "ports.lan.device");
	bool bypass = goes_around_kernel(driver), sockets = strcasecmp(driver, "socket") == 0;
	char text[ADDR_TEXT_SIZE], own_text[ADDR_TEXT_SIZE];
	struct netif_route route;
	struct netif interface;
	struct addr_prefix own;
	unsigned at = 0;
	int err;

	front_set(f, NULL, "ports.lan.driver", driver);
	if (addr_is_link_local(&server->addr) && server->addr.len == 16 && !server->link[0] &&
		!link) {
		log_error("%s: %s: a link-local address needs an interface (-i eth0, or %s%%eth0)",
			f->name, o->operands[0], server->host);
		return EXIT_CONFIG;
	}
	if (server->link[0] && !link)
		front_set(f, NULL, "ports.lan.device", server->link);
	if (sockets && link && netif_read(link, &interface) == -ENODEV) {
		log_error("%s: no such interface: %s (ip link shows those of this host)", f->name,
			link);
		return EXIT_ENVIRONMENT;
	}
	if (sockets && link && !host_has(NULL, server->addr.len, link)) {
		log_error("%s: %s has no IPv%d address, which the driver socket needs. Give the "
			  "tester an address of its own (-a ADDRESS/BITS)",
			f->name, link, server->addr.len == 4 ? 4 : 6);
		return EXIT_CONFIG;
	}
	if (relay && !is_given(o, relay) && !sockets &&
		own_address(o, server->addr.len, &at, &own)) {
		front_add(f, NULL, relay, addr_format(&own.addr, own_text, sizeof(own_text)));
		relay = NULL;
	}
	err = netif_route(&server->addr, server->link[0] ? server->link : NULL, &route);
	// On its own interface, the tester needs no kernel route.
	if (err < 0 && !sockets && link && (!relay || is_given(o, relay)))
		return 0;
	if (err < 0) {
		log_error("%s: no route to %s: %s. Give this host a route (ip route), or the "
			  "tester an address of its own on an interface (-i IFACE -a ADDRESS/BITS)",
			f->name, o->operands[0], strerror(-err));
		return EXIT_ENVIRONMENT;
	}
	if (relay && !is_given(o, relay))
		front_add(f, NULL, relay, addr_format(&route.source, text, sizeof(text)));
	if (bypass && !link && !server->link[0])
		front_set(f, NULL, "ports.lan.device", route.name);
	if (bypass && route.next_hop.len && !is_given(o, "ports.lan.gateway") &&
		!is_on_link(o, &server->addr))
		front_add(f, NULL, "ports.lan.gateway",
			addr_format(&route.next_hop, text, sizeof(text)));
	if (sockets && !is_given(o, "ports.lan.driver") && strcmp(route.name, "lo") != 0)
		log_note("%s: through the kernel's sockets on %s; faster, as root and with an "
			 "address that no host has: -D af_xdp -a ADDRESS/BITS",
			f->name, route.name);
	return 0;
}

// Parse words of the command line: NAME TYPE, NAME TYPE ..., or each pair in quotes; the default
// type is A.
static void add_queries(struct front *f, char *const *words, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		const char *query = words[i];

		if (!strchr(query, ' ')) {
			i++;
			query = arena_printf(f->arena, "%s %s", query, i < count ? words[i] : "A");
		}
		front_add(f, query, "traffic.queries.dns.names", query);
	}
}

// Queries of a capture go out at their capture times unless a load is given, because replaying live
// traffic at maximum rate is rarely wanted.
static bool paced_as_captured(const struct front *f, const struct options *o)
{
	static const char *const loads[] = {"", ".rate", ".outstanding", ".total"};
	const char *wire = given(o, "traffic.queries.dns.wire");
	bool is = wire && !is_given(o, "search.variable");
	int fd;

	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
		is = is && !is_given(o, arena_printf(f->arena, "traffic.queries.load%s", loads[i]));
	fd = is && strcmp(wire, "-") != 0 ? open(wire, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	is = fd >= 0 && packet_file_is(fd);
	if (fd >= 0)
		close(fd);
	if (is)
		log_note("dns: queries go out at the times of the capture (-r, -c, -l: other "
			 "loads)");
	return is;
}

// TRANSPORT://SERVER, as in URIs.
static const struct scheme {
	const char *name, *missing; // missing: a protocol that is not supported; NULL: it is
} schemes[] = {{"udp", NULL}, {"tcp", NULL}, {"tls", NULL}, {"https", NULL}, {"quic", NULL},
	{"http3", "DNS over HTTP/3"}};

#define SCHEMES_BUILT "https://, quic://, tls://, tcp:// and udp:// are"

// The scheme in front of the server, whose length goes to len; NULL after an error.
static const struct scheme *scheme_of(const struct front *f, const char *server, size_t *len)
{
	const char *end = strstr(server, "://");

	*len = end ? (size_t)(end - server) : 0;
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		const struct scheme *s = &schemes[i];

		if (strlen(s->name) != *len || strncasecmp(server, s->name, *len) != 0)
			continue;
		if (!s->missing)
			return s;
		log_error("%s: %s: %s is not supported (" SCHEMES_BUILT ")", f->name, server,
			s->missing);
		return NULL;
	}
	log_error("%s: %s: %.*s is not a transport that is supported (" SCHEMES_BUILT ")", f->name,
		server, (int)*len, server);
	return NULL;
}

// The transport of an option; NULL: it is for any. is_part: it is for HTTPS and QUIC, too.
static const char *transport_of(const struct given_option *g, bool *is_part)
{
	*is_part = strncmp(g->row->path, TLS ".", sizeof(TLS)) == 0;
	return strcmp(g->row->path, TRANSPORT) == 0                   ? g->value
	       : strncmp(g->row->path, HTTPS ".", sizeof(HTTPS)) == 0 ? "https"
	       : *is_part                                             ? "tls"
	                                                              : NULL;
}

// Cuts the path of https://SERVER/PATH off, and sets it.
static void set_path(struct front *f, const char **server)
{
	const char *path = strchr(*server, '/');

	if (!path)
		return;
	front_set(f, *server, HTTPS ".path",
		strchr(path, '{')
			? path
			: arena_printf(f->arena, "%s{%cdns}", path, strchr(path, '?') ? '&' : '?'));
	*server = arena_printf(f->arena, "%.*s", (int)(path - *server), *server);
}

// Options of a pool of connections are for QUIC's.
static void move_pool(struct front *f, const struct options *o)
{
	for (unsigned i = 0; i < o->given_count; i++) {
		struct own_option *row = arena_zalloc(f->arena, sizeof(*row));
		struct given_option *g = &o->given[i];

		if (strncmp(g->row->path, POOL ".", sizeof(POOL)) != 0)
			continue;
		*row = *g->row;
		row->path = arena_printf(f->arena, QUIC ".%s", g->row->path + sizeof(POOL));
		g->row = row;
	}
}

// Set the transport, from the server's scheme and from options, which must agree. *server: as
// typed; then without its scheme and path.
static int set_transport(struct front *f, const struct options *o, const char **server)
{
	const struct scheme *scheme = NULL;
	const char *transport = NULL, *from = *server;
	bool is_part, is_weak = false; // is_weak: by an option that is for HTTPS, too
	size_t len;

	if (strstr(*server, "://")) {
		scheme = scheme_of(f, *server, &len);
		if (!scheme)
			return EXIT_CONFIG;
		transport = scheme->name;
		*server += len + strlen("://");
		if (strcmp(transport, "https") == 0)
			set_path(f, server);
	}
	for (unsigned i = 0; i < o->given_count; i++) {
		const char *wanted = transport_of(&o->given[i], &is_part);

		if (!wanted || (is_part && transport && word_is_among(transport, "https quic")))
			continue;
		if (!transport || (is_weak && word_is_among(wanted, "https quic"))) {
			transport = wanted;
			from = typed(f, &o->given[i]);
			is_weak = is_part;
		} else if (strcmp(wanted, transport) != 0) {
			log_error("%s: %s: conflicts with %s (a run has one transport)", f->name,
				typed(f, &o->given[i]), from);
			return EXIT_CONFIG;
		}
	}
	if (is_given(o, TLS ".ca") && is_given(o, TLS ".pins"))
		return refuse(f, "both --ca and --pin (one of them verifies the certificate)");
	if (transport)
		front_set(f, from, TRANSPORT, transport);
	if (transport && strcmp(transport, "quic") == 0)
		move_pool(f, o);
	if (is_given(o, TLS ".ca"))
		front_set(f, "--ca", TLS ".verify", "chain");
	if (is_given(o, TLS ".pins"))
		front_set(f, "--pin", TLS ".verify", "pin");
	return 0;
}

static const char *const dns_advice[][2] = {{" (tls.name)", " (--tls-name NAME)"}, {NULL, NULL}};

static const char *const dns_words[][2] = {{"load.slots", "slots of -l"},
	{"tcp.connections or tcp.pipeline", "--connections"}, {"tcp.connections", "--connections"},
	{"the timeout", "-T"}, {NULL, NULL}};

static int build_dns(struct front *f, const struct options *o)
{
	bool file = is_given(o, "traffic.queries.dns.queries") ||
	            is_given(o, "traffic.queries.dns.wire");
	bool words = o->operand_count > 1, is_gentle = false;
	const char *text = o->operands[0];
	struct addr_server server;
	int err;

	f->advice = dns_advice;
	f->words = dns_words;
	if (!is_given(o, "search.variable")) // which has trials of its own length
		front_set(f, NULL, "run.duration", "10s");
	front_set(f, NULL, "ports.lan.driver", "socket");
	err = set_transport(f, o, &text);
	if (err)
		return err;
	front_set(f, o->operands[0], "traffic.queries.server", text);
	err = front_look_up(f, text, AF_UNSPEC, &server);
	if (err)
		return err;
	if (file && words)
		return refuse(f, "queries both in a file and on the command line");
	if (paced_as_captured(f, o)) {
		front_set(f, NULL, "run.duration", "100h"); // the capture ends it
		front_set(f, NULL, "traffic.queries.load.replay.file",
			given(o, "traffic.queries.dns.wire"));
		err = 0;
	} else {
		is_gentle = !has_load(o, "traffic.queries.load") &&
		            !is_given(o, "search.variable") &&
		            !host_has(&server.addr, server.addr.len, NULL);
		err = set_load(
			f, o, "traffic.queries.load", is_gentle ? "rate" : "outstanding", "100");
	}
	if (!err)
		err = set_search(f, o, "traffic.queries.load", "1k");
	if (!err)
		err = follow_route(f, o, NULL, &server);
	if (!err && is_gentle)
		log_note("dns: 100 queries a second, as %s is not this host (-r, -c, -l: other "
			 "loads)",
			o->operands[0]);
	if (words)
		add_queries(f, o->operands + 1, o->operand_count - 1);
	else if (!file)
		front_add(f, NULL, "traffic.queries.dns.names", ". NS");
	return err;
}

static const char *const dhcp_words[][2] = {{"load.slots", "slots of -l"},
	{"raise dhcp4.clients, or set again: true", "raise -R, or give -A"},
	{"raise dhcp6.clients, or set again: true", "raise -R, or give -A"},
	{"dhcp4.clients", "-R"}, {"dhcp6.clients", "-R"}, {NULL, NULL}};

// Replacements for the rest of an error text.
static const char *const dhcp_advice[][2] = {
	{" (with a share of ",
		" (--leases FILE, written by an earlier run with --save-leases FILE)"},
	{NULL, NULL}};

// An exchange of clients with a lease needs leases, from a file or from half of the exchanges.
static void set_exchange(struct front *f, const struct options *o, const char *section, bool four)
{
	const char *first = four ? "dora" : "sarr",
		   *of_bound = four ? "inform renew rebind reboot release decline leasequery"
	                            : "renew rebind release decline confirm leasequery";
	const char *path = arena_printf(f->arena, "%s.exchange", section);
	const char *exchange = given(o, path);
	const char *option = exchange ? arena_printf(f->arena, "-x %s", exchange) : NULL;

	if (!exchange || !word_is_among(exchange, of_bound) ||
		is_given(o, arena_printf(f->arena, "%s.leases.load", section))) {
		front_set(f, option, path, exchange ? exchange : first);
		return;
	}
	front_set(f, NULL, arena_printf(f->arena, "%s.mix.%s", section, first), "50%");
	front_set(f, option, arena_printf(f->arena, "%s.mix.%s", section, exchange), "50%");
	log_note("%s: half of the exchanges get leases (%s), the other half are %s; %s alone: "
		 "--leases FILE, which an earlier run wrote with --save-leases FILE",
		f->name, first, exchange, exchange);
}

// protocol: "dhcp4" or "dhcp6".
static int build_dhcp(struct front *f, const struct options *o, const char *protocol)
{
	const char *section = arena_printf(o->arena, "traffic.leases.%s", protocol);
	bool four = strcmp(protocol, "dhcp4") == 0;
	const char *relay = arena_printf(o->arena, "%s.relay.addresses", section);
	struct addr_server server;
	int err;

	if (!o->operand && !is_given(o, "ports.lan.device"))
		return refuse(f, "neither SERVER nor --interface");
	if (!is_given(o, "search.variable")) // which has trials of its own length
		front_set(f, NULL, "run.duration", "10s");
	front_set(f, NULL, "ports.lan.driver", line_driver(o, four ? 4 : 16));
	if (o->operand)
		front_set(f, o->operand, "traffic.leases.server", o->operand);
	err = set_load(f, o, "traffic.leases.load", "rate", "100");
	if (!err)
		err = set_search(f, o, "traffic.leases.load", "100");
	if (!err)
		set_exchange(f, o, section, four);
	if (!err && o->operand)
		err = front_look_up(f, o->operand, four ? AF_INET : AF_INET6, &server);
	if (!err && o->operand)
		err = follow_route(f, o, relay, &server);
	for (unsigned i = 0; i < o->given_count; i++)
		if (o->operand && o->given[i].row->letter == 'x' && four &&
			word_is_among(o->given[i].value, "renew release inform")) // by unicast
			front_set_yaml(
				f, NULL, arena_printf(o->arena, "%s.relay.all", section), "true");
	f->advice = dhcp_advice;
	f->words = dhcp_words;
	return err;
}

static int finish(struct front *f, const struct options *o, int err)
{
	for (unsigned i = 0; i < o->given_count && !err; i++) {
		const struct given_option *g = &o->given[i];

		if (front_is_no_port(g->row->path, g->value))
			err = refuse(f, "-p 0: no server has port 0");
		else if (!strchr("Gx", g->row->letter) || !g->row->letter) // set_goal, set_exchange
			front_take(f, g->row->kind, typed(f, g), path_of(o, g->row), g->value);
	}
	log_set_words(f->words);
	if (!err)
		err = cmd_run_front(f, o);
	front_free(f);
	return err;
}

int cmd_dns(const struct options *o)
{
	struct front f;

	front_init(&f, "dns", o->arena);
	return finish(&f, o, build_dns(&f, o));
}

int cmd_dhcp(const struct options *o)
{
	struct front f;

	front_init(&f, "dhcp", o->arena);
	return finish(&f, o, build_dhcp(&f, o, "dhcp4"));
}

int cmd_dhcp6(const struct options *o)
{
	struct front f;

	front_init(&f, "dhcp6", o->arena);
	return finish(&f, o, build_dhcp(&f, o, "dhcp6"));
}
