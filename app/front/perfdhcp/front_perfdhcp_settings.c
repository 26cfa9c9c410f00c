// SPDX-License-Identifier: BSD-3-Clause
// Maps a command line of perfdhcp to settings. Path: cold. Main thread.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "engine/run/run.h"
#include "front/front_packets.h"
#include "front/perfdhcp/front_perfdhcp.h"
#include "io/host/netif.h"

#define ITEM            "traffic.leases."
#define PRELOAD         "traffic.preload."
#define DIAGNOSTICS     "aeilstT"
#define PORT            "ports.lan."
#define MAC_DEFAULT     "00:0c:01:02:03:04"
#define DUID_EPOCH_S    946684800 // 2000-01-01
#define ENDLESS         "100d"    // without -p: until the user or -n ends it
#define LINE_MAX_LEN    1024
#define MTU_DEFAULT     1500
#define CLIENTS_MAX     10000000ul               // without -p
#define OUTSTANDING_MAX 65536ul                  // without -r: more than a server queues
#define PARAMETERS      "1, 28, 2, 3, 15, 6, 12" // option 55

static const char *at(const struct perfdhcp *p, const char *setting)
{
	return arena_printf(p->run.arena, ITEM "%s.%s", p->v6 ? "dhcp6" : "dhcp4", setting);
}

// The option as typed, for messages; letter '\0': NULL.
static const char *typed(const struct perfdhcp *p, char letter, const char *value)
{
	if (!letter)
		return NULL;
	return arena_printf(p->run.arena, "-%c%s%s", letter, value ? " " : "", value ? value : "");
}

// Set a setting, from an option or from none ('\0'); "@mix.renew" refers to the family's section.
__attribute__((format(printf, 4, 5))) static void put(
	struct perfdhcp *p, char letter, const char *path, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	front_setv(&p->run.front, typed(p, letter, perfdhcp_value(p, letter)),
		*path == '@' ? at(p, path + 1) : path, fmt, args);
	va_end(args);
}

// The value as a number; 0: not given.
static unsigned long number(const struct perfdhcp *p, char letter)
{
	const char *value = perfdhcp_value(p, letter);

	return value ? strtoul(value, NULL, 10) : 0;
}

static unsigned long clients(const struct perfdhcp *p)
{
	return number(p, 'R') ? number(p, 'R') : 1;
}

static void map_run(struct perfdhcp *p)
{
	const char *length = perfdhcp_value(p, 'p'), *every = perfdhcp_value(p, 't');

	put(p, 0, "run.name", "perfdhcp");
	put(p, 0, "run.warmup", "0s");
	if (length && !p->avalanche)
		put(p, 'p', "run.duration", "%ss", length);
	else
		put(p, 0, "run.duration", ENDLESS);
	if (every)
		put(p, 't', "run.interval", "%ss", every);
	else if (perfdhcp_times(p, 'D'))
		put(p, 0, "run.interval", "100ms"); // stop rules are checked once per interval
	if (number(p, 's'))
		put(p, 's', "run.seed", "%s", perfdhcp_value(p, 's'));
}

// The first -d applies to the first message and its reply, the second to all others.
static int map_timeout(struct perfdhcp *p)
{
	const char *first = perfdhcp_nth(p, 'd', 0), *second = perfdhcp_nth(p, 'd', 1);
	double seconds = 1, other = 1;

	if (first && as_number(&p->run, 'd', first, 1e-3, 1e6, &seconds))
		return p->run.tool->usage_code;
	if (second && as_number(&p->run, 'd', second, 1e-3, 1e6, &other))
		return p->run.tool->usage_code;
	front_set(&p->run.front, first ? typed(p, 'd', first) : NULL, ITEM "timeout",
		arena_printf(p->run.arena, "%gs", seconds));
	if (other != seconds && !p->avalanche && !perfdhcp_times(p, 'i'))
		p->request_timeout = arena_printf(p->run.arena, "%gs", other);
	return 0;
}

static void map_load(struct perfdhcp *p)
{
	if (p->avalanche) {
		put(p, 'R', ITEM "load.outstanding", "%s", perfdhcp_value(p, 'R'));
		put(p, 'R', ITEM "load.total", "%s", perfdhcp_value(p, 'R'));
		return;
	}
	if (perfdhcp_times(p, 'r'))
		put(p, 'r', ITEM "load.rate", "%s", perfdhcp_value(p, 'r'));
	else
		put(p, 0, ITEM "load.outstanding", "%lu",
			clients(p) < OUTSTANDING_MAX ? clients(p) : OUTSTANDING_MAX);
	if (perfdhcp_times(p, 'n'))
		put(p, 'n', ITEM "load.total", "%s", perfdhcp_nth(p, 'n', 0));
}

static void map_mix(struct perfdhcp *p)
{
	static const char *const names[2][2][2] = {{{"dora", "discover"}, {"dora", "discover"}},
		{{"sarr", "solicit"}, {"sarr", "rapid"}}};

	put(p, 0, "@exchange", "%s",
		names[p->v6][perfdhcp_times(p, 'c') > 0][perfdhcp_times(p, 'i') > 0]);
	if (number(p, 'f') || number(p, 'F'))
		put(p, 0, "@order", "leases_random");
	if (number(p, 'f'))
		put(p, 'f', "@mix.renew", "%lu/s", number(p, 'f'));
	if (number(p, 'F'))
		put(p, 'F', "@mix.release", "%lu/s", number(p, 'F'));
}

// Call each() for the non-empty lines of a file. 0, or an exit code.
static int read_lines(struct perfdhcp *p, char letter, const char *file,
	int (*each)(struct perfdhcp *p, const char *line, const char *place), unsigned *count)
{
	char line[LINE_MAX_LEN];
	FILE *f = fopen(file, "r");
	unsigned number = 0;
	int err = 0;

	if (!f)
		return as_refuse(&p->run, "-%c %s: %s", letter, file, strerror(errno));
	*count = 0;
	while (!err && fgets(line, sizeof(line), f)) {
		number++;
		line[strcspn(line, " \t\r\n")] = '\0';
		if (!*line)
			continue;
		++*count;
		err = each ? each(p, line, arena_printf(p->run.arena, "%s:%u", file, number)) : 0;
	}
	fclose(f);
	if (!err && *count == 0)
		err = as_refuse(&p->run, "-%c %s: it is empty", letter, file);
	return err;
}

// Normalises "00::0C:1:02:03:04" to two digits per byte; NULL: invalid.
static const char *tidy_mac(struct arena *a, const char *text)
{
	char *out = arena_zalloc(a, 6 * 3), *to = out;
	unsigned bytes = 0;

	while (*text) {
		size_t len = strspn(text, "0123456789abcdefABCDEF");

		if (len > 2 || (len && ++bytes > 6))
			return NULL;
		if (len)
			to += sprintf(to, "%s%.*s%.*s", bytes > 1 ? ":" : "", len == 1, "0",
				(int)len, text);
		text += len;
		if (*text && *text++ != ':')
			return NULL;
	}
	return bytes == 6 ? out : NULL;
}

// -b duid=HEX: with several clients, the last six bytes are the client's MAC address.
static int set_duid(struct perfdhcp *p, const char *typed_as, const char *hex)
{
	size_t len = strlen(hex);
	bool several = clients(p) > 1;

	if (hex[strspn(hex, "0123456789abcdefABCDEF")] || len % 2 || len < 12 || len > 128)
		return as_refuse(
			&p->run, "-b %s: not a DUID of 6 to 64 bytes as hex digits", typed_as);
	if (!p->v6)
		return 0; // not in any message
	front_set(&p->run.front, typed(p, 'b', typed_as), at(p, "duid"), "hex");
	front_setf(&p->run.front, typed(p, 'b', typed_as), at(p, "duid_hex"), "%.*s%s",
		(int)(several ? len - 12 : len), hex, several ? "{mac}" : "");
	return 0;
}

static int map_base(struct perfdhcp *p, const char *base)
{
	const char *value = strchr(base, '='), *mac;
	size_t len = value ? (size_t)(value++ - base) : 0;

	if (len == 4 && strncasecmp(base, "duid", len) == 0)
		return set_duid(p, base, value);
	if ((len != 3 || strncasecmp(base, "mac", len) != 0) &&
		(len != 5 || strncasecmp(base, "ether", len) != 0))
		return as_refuse(&p->run, "-b %s: not mac=MAC, ether=MAC or duid=HEX", base);
	mac = tidy_mac(p->run.arena, value);
	if (!mac)
		return as_refuse(&p->run, "-b %s: not a MAC address of 6 bytes", base);
	front_set(&p->run.front, typed(p, 'b', base), at(p, "mac"), mac);
	return 0;
}

// Memory is allocated at the start: for an endless run, for the clients of an hour.
static unsigned long endless_most(const struct perfdhcp *p)
{
	unsigned long rate = number(p, 'r');

	if (p->avalanche || perfdhcp_times(p, 'p') || perfdhcp_times(p, 'n'))
		return UINT32_MAX;
	return rate && rate < CLIENTS_MAX / 3600 ? rate * 3600 : CLIENTS_MAX;
}

// perfdhcp also begins a client's next exchange in the middle of another. Here this takes several
// clients with one address: as many as can be in flight if no server answers.
static void set_clients(struct perfdhcp *p)
{
	char option = number(p, 'R') ? 'R' : '\0';
	unsigned long count = clients(p), most = endless_most(p);
	const char *first = perfdhcp_nth(p, 'd', 0), *second = perfdhcp_nth(p, 'd', 1);
	double waits = (first ? strtod(first, NULL) : 1) + (perfdhcp_times(p, 'i') ? 0
								   : second ? strtod(second, NULL)
									    : 1);
	double begun;

	if (count > most) {
		as_note(&p->run,
			"of the %lu clients %lu are used, which then start over: without -p the "
			"run has no end",
			count, most);
		count = most;
	}
	begun = p->avalanche ? 1 : fmax(ceil(waits * (double)number(p, 'r') / (double)count), 1);
	put(p, option, "@clients", "%.0f", begun * (double)count);
	if (begun > 1)
		put(p, option, "@mac_count", "%lu", count);
}

static int map_clients(struct perfdhcp *p)
{
	const char *base, *macs = perfdhcp_value(p, 'M');
	unsigned count;
	int err = 0;

	if (macs) {
		err = read_lines(p, 'M', macs, NULL, &count);
		if (err)
			return err;
		put(p, 'M', "@clients", "%u", count);
		put(p, 'M', "@mac_file", "%s", macs);
		put(p, 'M', "@order", "random");
		front_set_yaml(&p->run.front, NULL, at(p, "again"), "true");
		if (p->v6)
			put(p, 0, "@duid", "ll");
		return 0;
	}
	set_clients(p);
	if (!p->avalanche)
		front_set_yaml(&p->run.front, NULL, at(p, "again"), "true");
	put(p, 0, "@mac", MAC_DEFAULT);
	if (p->v6) {
		put(p, 0, "@duid", "hex"); // DUID-LLT of the current time
		put(p, 0, "@duid_hex", "%s{mac}", p->duid);
	}
	for (unsigned i = 0; !err && (base = perfdhcp_nth(p, 'b', i)); i++)
		err = map_base(p, base);
	return err;
}

// Set contents where perfdhcp's messages differ from our defaults.
static void map_message(struct perfdhcp *p)
{
	static const char *const leases[][2] = {{"address-only", "address"},
		{"prefix-only", "prefix"}, {"address-and-prefix", "both"}};
	const char *type = perfdhcp_value(p, 'e');

	for (unsigned i = 0; p->v6 && type && i < sizeof(leases) / sizeof(leases[0]); i++)
		if (strcmp(type, leases[i][0]) == 0)
			put(p, 'e', "@lease", "%s", leases[i][1]);
	if (p->request_timeout)
		put(p, 'd', "@request_timeout", "%s", p->request_timeout);
	if (number(p, 'y'))
		front_set_yaml(&p->run.front, typed(p, 'y', perfdhcp_value(p, 'y')),
			at(p, p->v6 ? "elapsed" : "secs"),
			arena_printf(p->run.arena, "{from: 1, grow: true, after: %lus, for: %lus}",
				number(p, 'Y'), number(p, 'y')));
	if (p->v6)
		return;
	front_set_yaml(&p->run.front, NULL, at(p, "parameters"), "[" PARAMETERS "]");
	put(p, 0, "@pad", "0");
}

// Add codes to option 55, as in the original.
static void add_parameters(struct perfdhcp *p, const char *typed_as, const char *hex)
{
	struct front *f = &p->run.front;
	const char *list = arena_strdup(f->arena, front_get(f, at(p, "parameters")));
	unsigned byte;

	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		list = arena_printf(f->arena, "%.*s, %u]", (int)strlen(list) - 1, list, byte);
	front_set_yaml(f, typed_as, at(p, "parameters"), list);
}

// CODE,HEX: returns the length of the code, and *hex; 0: invalid.
static int code_of(const char *text, const char **hex)
{
	const char *comma = strchr(text, ',');
	size_t len = comma ? (size_t)(comma - text) : 0;

	*hex = comma ? comma + 1 : "";
	return strspn(text, "0123456789") == len && strlen(*hex) % 2 == 0 &&
	                       !(*hex)[strspn(*hex, "0123456789abcdefABCDEF")]
	               ? (int)len
	               : 0;
}

static int map_option(struct perfdhcp *p, const char *value)
{
	const char *hex, *typed_as = typed(p, 'o', value);
	int code = code_of(value, &hex);

	if (!code)
		return as_refuse(&p->run, "%s: not CODE,HEX like 60,646f63736973", typed_as);
	if (!p->v6 && strtoul(value, NULL, 10) == 55)
		add_parameters(p, typed_as, hex);
	else
		front_add_yaml(&p->run.front, typed_as, at(p, "options"),
			arena_printf(p->run.arena, "{code: %.*s, hex: \"%s\"}", code, value, hex));
	return 0;
}

// --or [1:]CODE,HEX: in the relay message. The interface-id has its own setting.
static int map_relay_option(struct perfdhcp *p, const char *value)
{
	const char *typed_as = arena_printf(p->run.arena, "--or %s", value), *hex;
	const char *code = strncmp(value, "1:", 2) == 0 ? value + 2 : value;
	int len = code_of(code, &hex);
	char *text;
	unsigned byte;

	if (!len || !*hex)
		return as_refuse(&p->run, "%s: not CODE,HEX like 18,616263", typed_as);
	if (strtoul(code, NULL, 10) != 18) {
		front_add_yaml(&p->run.front, typed_as, at(p, "options"),
			arena_printf(p->run.arena, "{code: %.*s, in: relay, hex: \"%s\"}", len,
				code, hex));
		return 0;
	}
	text = arena_zalloc(p->run.arena, strlen(hex) / 2 + 1);
	for (size_t i = 0; hex[2 * i]; i++) {
		sscanf(hex + 2 * i, "%2x", &byte);
		if (byte < ' ' || byte > '~' || strchr("{}\"\\", (int)byte))
			return as_refuse(
				&p->run, "%s: an interface identifier that is not text", typed_as);
		text[i] = (char)byte;
	}
	front_set(&p->run.front, typed_as, at(p, "relay.interface_id"), text);
	return 0;
}

static int map_options(struct perfdhcp *p)
{
	const char *value;
	int err = 0;

	for (unsigned i = 0; !err && (value = perfdhcp_nth(p, 'o', i)); i++)
		err = map_option(p, value);
	for (unsigned i = 0; !err && (value = perfdhcp_nth(p, PERFDHCP_OR, i)); i++)
		err = map_relay_option(p, value);
	return err;
}

static int map_stop(struct perfdhcp *p, unsigned stage)
{
	static const char *const steps[2][2] = {
		{"discover-offer", "request-ack"}, {"solicit-advertise", "request-reply"}};
	const char *value = perfdhcp_nth(p, 'D', stage), *end;
	double most;

	if (!value)
		return 0;
	most = strtod(value, (char **)&end);
	if (end == value || most <= 0 || (strcmp(end, "%") != 0 ? *end || most < 1 : most >= 100))
		return as_refuse(
			&p->run, "-D %s: not a count from 1, nor a percentage below 100%%", value);
	front_add(&p->run.front, typed(p, 'D', value), "stop",
		arena_printf(p->run.arena, "traffic.leases.steps.%s.lost >= %s",
			steps[p->v6][stage], value));
	return 0;
}

// The output of -x l and -x s comes from the lease file.
static int map_leases(struct perfdhcp *p)
{
	char file[] = "/tmp/ddiperf-perfdhcp-XXXXXX";
	bool dump = p->run.options->dump;
	int fd;

	if (perfdhcp_times(p, 'i') || (!perfdhcp_diagnoses(p, 'l') && !perfdhcp_diagnoses(p, 's')))
		return 0;
	fd = dump ? -1 : mkstemp(file);
	if (!dump && fd < 0) {
		log_error("perfdhcp: %s: %s", file, strerror(errno));
		return p->run.tool->error_code;
	}
	if (!dump)
		close(fd);
	p->leases = arena_strdup(p->run.arena, dump ? "leases.csv" : file);
	put(p, 'x', "@leases.save", "%s", p->leases);
	return 0;
}

// The output of -x t and -x T comes from the packets.
static int map_packets(struct perfdhcp *p)
{
	if (!perfdhcp_diagnoses(p, 't') && !perfdhcp_diagnoses(p, 'T'))
		return 0;
	return front_packets_begin(&p->run, typed(p, 'x', perfdhcp_value(p, 'x')),
		"[answered, step, failed, lost]", &p->packets);
}

static void map_hooks(struct perfdhcp *p)
{
	const char *command = perfdhcp_value(p, 'w');

	if (!command)
		return;
	put(p, 'w', "hooks.start", "%s start", command);
	put(p, 'w', "hooks.stop", "%s stop", command);
}

static void map_avalanche(struct perfdhcp *p)
{
	if (!p->avalanche)
		return;
	if (p->v6) {
		put(p, 0, "@retransmit.solicit.irt", "1s");
		put(p, 0, "@retransmit.solicit.mrt", "64s");
		put(p, 0, "@retransmit.solicit.mrc", "16");
		return;
	}
	put(p, 0, "@retransmit.initial", "1s");
	put(p, 0, "@retransmit.jitter", "500ms");
	put(p, 0, "@retransmit.tries", "16");
}

// An address of the interface in this family; len 0: none. IPv6 addresses are global if possible.
static struct addr_prefix address_of(const struct perfdhcp *p, const char *interface)
{
	struct addr_prefix found = {0};
	struct netif netif;

	if (netif_read(interface, &netif) < 0)
		return found;
	for (uint32_t i = 0; i < netif.addr_count; i++) {
		const struct addr *a = &netif.addrs[i].addr;

		if (a->len == (p->v6 ? 16 : 4) &&
			(!found.addr.len || addr_is_link_local(&found.addr)))
			found = netif.addrs[i];
	}
	return found;
}

static const char *address_text(const struct perfdhcp *p, const struct addr *a)
{
	char text[ADDR_TEXT_SIZE];

	return arena_strdup(p->run.arena, addr_format(a, text, sizeof(text)));
}

// The interface that has the address; NULL: none.
static const char *interface_of(struct perfdhcp *p, const char *address)
{
	const char *what, *name = NULL;
	struct netif *list;
	struct addr addr;
	unsigned count;

	if (addr_parse(address, &addr, &what) < 0 || netif_list(&list, &count) < 0)
		return NULL;
	for (unsigned n = 0; n < count && !name; n++)
		for (uint32_t i = 0; i < list[n].addr_count; i++)
			if (addr_equal(&list[n].addrs[i].addr, &addr))
				name = arena_strdup(p->run.arena, list[n].name);
	free(list);
	return name;
}

// Bypass the kernel on an interface that the kernel also uses.
static void bypass(struct perfdhcp *p, const char *interface, const struct netif_route *route)
{
	struct front *f = &p->run.front;
	struct addr_prefix own = address_of(p, interface);
	char text[ADDR_TEXT_SIZE];
	struct netif netif;

	if (netif_read(interface, &netif) == 0 && netif.mtu < MTU_DEFAULT)
		put(p, 0, PORT "mtu", "%u", netif.mtu);
	put(p, 0, PORT "driver", "af_packet");
	put(p, 0, PORT "device", "%s", interface);
	front_set_yaml(f, NULL, PORT "force", "true");
	if (own.addr.len)
		front_add(f, NULL, PORT "addresses", addr_format_prefix(&own, text, sizeof(text)));
	if (route->next_hop.len)
		front_add(f, NULL, PORT "gateway", address_text(p, &route->next_hop));
}

static int add_relay(struct perfdhcp *p, const char *text, const char *place)
{
	const char *what;
	struct addr a;

	if (addr_parse(text, &a, &what) < 0 || a.len != (p->v6 ? 16 : 4))
		return as_refuse(&p->run, "-J %s: \"%s\" is not an IPv%u address", place, text,
			p->v6 ? 6 : 4);
	front_add(&p->run.front, arena_printf(p->run.arena, "-J %s", place),
		at(p, "relay.addresses"), text);
	return 0;
}

static void map_relay_port(struct perfdhcp *p)
{
	if (number(p, 'L') && number(p, 'L') != (p->v6 ? 547 : 67)) {
		put(p, 'L', "@relay.port", "%s", perfdhcp_value(p, 'L'));
		front_set_yaml(&p->run.front, NULL, at(p, "relay.source_port"), "false");
	}
}

// How packets are sent, depending on the server, -l and the routing table.
struct way {
	bool group;            // multicast or broadcast
	const char *interface; // NULL: not given
	struct netif_route route;
};

// Send DHCPv6 messages to a group.
static void map_group(struct perfdhcp *p)
{
	put(p, 0, "@to", strcmp(p->server, "ff05::1:3") == 0 ? "servers" : "all");
}

static int refuse_group(struct perfdhcp *p)
{
	return as_refuse(&p->run,
		"%s needs the name of an interface (-l): there is no default route", p->server);
}

// All clients are behind this host as the relay, or behind the relays of -J, on whose behalf it
// sends.
static int map_relay(struct perfdhcp *p, const struct way *w)
{
	const char *local = perfdhcp_value(p, 'l'), *file = perfdhcp_value(p, 'J');
	struct addr own = local ? (struct addr){0} : w->route.source;
	unsigned count;
	int err = 0;

	if (w->group && !w->interface)
		return refuse_group(p);
	if (w->group) {
		bypass(p, w->interface, &w->route);
		map_group(p);
		own = address_of(p, w->interface).addr;
	} else {
		put(p, 0, PORT "driver", "socket");
	}
	if (p->interface)
		own = address_of(p, p->interface).addr;
	if (own.len)
		local = address_text(p, &own);
	else if (p->interface)
		return as_refuse(&p->run, "-l %s: the interface has no address of IPv%u",
			p->interface, p->v6 ? 6 : 4);
	if (file)
		err = read_lines(p, 'J', file, add_relay, &count);
	if (err)
		return err;
	if (file)
		front_set(&p->run.front, perfdhcp_times(p, 'l') ? typed(p, 'l', local) : NULL,
			at(p, "relay.from"), local);
	else
		front_add(&p->run.front, perfdhcp_times(p, 'l') ? typed(p, 'l', local) : NULL,
			at(p, "relay.addresses"), local);
	p->relay = file ? NULL : local;
	if (!p->v6)
		front_set_yaml(&p->run.front, NULL, at(p, "broadcast_flag"), "false");
	map_relay_port(p);
	if (!p->v6 && (number(p, 'f') || number(p, 'F')))
		front_set_yaml(&p->run.front, NULL, at(p, "relay.all"), "true");
	return 0;
}

// Clients on an interface's link.
static int map_link(
	struct perfdhcp *p, const char *interface, const struct netif_route *route, bool group)
{
	if (!interface)
		return refuse_group(p);
	if (perfdhcp_times(p, 'J'))
		return as_refuse(
			&p->run, "-J needs %s", p->v6 ? "-A 1" : "the address of a server");
	if (number(p, 'L') && number(p, 'L') != (p->v6 ? 546 : 67))
		return as_refuse(&p->run, "-L %s: clients on a link have one port only",
			perfdhcp_value(p, 'L'));
	bypass(p, interface, route);
	if (!p->v6)
		return 0;
	if (group)
		map_group(p);
	else
		put(p, 0, "@to", "server");
	return 0;
}

static int find_way(struct perfdhcp *p, struct way *w)
{
	// An address reached only by the default route.
	const struct addr any = p->v6 ? (struct addr){16, {0x20, 1, 0xd, 0xb8, [15] = 1}}
	                              : (struct addr){4, {192, 0, 2, 1}};
	const char *local = perfdhcp_value(p, 'l');
	char text[ADDR_TEXT_SIZE];
	struct addr_server server;
	int err;

	*w = (struct way){.group = strncmp(p->server, "ff0", 3) == 0 ||
	                           strcmp(p->server, "255.255.255.255") == 0,
		.interface = local && !p->interface ? interface_of(p, local) : p->interface};
	if (w->group) {
		if (!w->interface && netif_route(&any, NULL, &w->route) == 0) {
			w->interface = w->route.name;
			as_note(&p->run, "-l %s: the interface of the default route", w->interface);
		}
		w->route.next_hop.len = 0; // no address is resolved
		return 0;
	}
	if (front_look_up(&p->run.front, p->server, p->v6 ? AF_INET6 : AF_INET, &server))
		return p->run.tool->error_code;
	err = netif_route(&server.addr, server.link[0] ? server.link : NULL, &w->route);
	if (err < 0) {
		log_error("perfdhcp: no route to %s: %s (ip route get %s%s%s)", p->server,
			strerror(-err), addr_format(&server.addr, text, sizeof(text)),
			server.link[0] ? " oif " : "", server.link);
		return p->run.tool->error_code;
	}
	w->interface = w->interface ? w->interface : w->route.name;
	put(p, 0, ITEM "server", "%s", front_server(&p->run.front, &server));
	return 0;
}

static int map_way(struct perfdhcp *p, const struct way *w)
{
	if (p->v6 ? !perfdhcp_times(p, 'A') : w->group)
		return map_link(p, w->interface, &w->route, w->group);
	return map_relay(p, w);
}

// -P: first messages sent at once, as a separate item that is not counted.
static void map_preload(struct perfdhcp *p)
{
	struct front *f = &p->run.front;
	unsigned long count = number(p, 'P');

	if (count == 0 || p->avalanche)
		return;
	front_copy(f, "traffic.leases", "preload");
	front_unset(f, PRELOAD "load");
	put(p, 0, PRELOAD "load.outstanding", "%lu", count < clients(p) ? count : clients(p));
	put(p, 'P', PRELOAD "load.total", "%s", perfdhcp_value(p, 'P'));
	front_unset(f, p->v6 ? PRELOAD "dhcp6.mix" : PRELOAD "dhcp4.mix");
	put(p, 0, p->v6 ? PRELOAD "dhcp6.exchange" : PRELOAD "dhcp4.exchange",
		p->v6 ? "solicit" : "discover");
}

int perfdhcp_map(struct perfdhcp *p)
{
	struct way way;
	static const char *const words[][2] = {
		{"raise dhcp4.clients, or set again: true", "raise -R"},
		{"raise dhcp6.clients, or set again: true", "raise -R"}, {"dhcp4.clients", "-R"},
		{"dhcp6.clients", "-R"}, {NULL, NULL}};
	const char *letters = perfdhcp_value(p, 'x');
	int err;

	p->run.front.words = words;
	if (letters && letters[strspn(letters, DIAGNOSTICS)])
		as_note(&p->run, "-x %c has no effect (diagnostics: " DIAGNOSTICS ")",
			letters[strspn(letters, DIAGNOSTICS)]);
	p->duid = arena_printf(
		p->run.arena, "00010001%08lx", (unsigned long)(time(NULL) - DUID_EPOCH_S));
	map_run(p);
	err = find_way(p, &way);
	if (number(p, 'N'))
		put(p, 'N', ITEM "server_port", "%s", perfdhcp_value(p, 'N'));
	err = err ? err : map_timeout(p);
	map_load(p);
	map_mix(p);
	err = err ? err : map_clients(p);
	map_message(p);
	err = err ? err : map_way(p, &way);
	err = err ? err : map_options(p);
	err = err ? err : perfdhcp_map_templates(p);
	err = err ? err : map_stop(p, 0);
	err = err ? err : map_stop(p, 1);
	map_preload(p);
	err = err ? err : map_leases(p);
	err = err ? err : map_packets(p);
	map_avalanche(p);
	map_hooks(p);
	return err;
}
