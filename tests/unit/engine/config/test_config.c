// SPDX-License-Identifier: BSD-3-Clause
// The rules across the sections of a file: each broken rule is one error at its place in the file.
// Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "engine/config/config_load.h"
#include "lib/diag_text.h"

#define PORTS                                                                                      \
	"ports:\n"                                                                                 \
	"  - {name: lan, driver: ring, device: dut, addresses: [198.18.0.1/24]}\n"                 \
	"  - {name: dut, driver: ring, device: lan, addresses: [198.18.0.2/24]}\n"                 \
	"responder: {port: dut, dns: {}}\n"
#define DNS "dns: {names: [\"a.example.com A\"]}"

// Everything that diag_print writes for the text; "" if the file is valid.
static char *errors_of(const char *text)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new();
	const struct config *c = config_load_text("t.yaml", text, strlen(text), a, d);
	char *out = diag_text(d);

	assert_int_equal(c != NULL, diag_count(d) == 0);
	diag_free(d);
	arena_free(a);
	return out;
}

static void expect_error(const char *text, const char *part)
{
	char *errors = errors_of(text);

	if (!strstr(errors, part))
		fail_msg("expected \"%s\" in:\n%s", part, errors);
	free(errors);
}

static void expect_fine(const char *text)
{
	char *errors = errors_of(text);

	assert_string_equal(errors, "");
	free(errors);
}

static void a_right_file_has_no_errors(void **state)
{
	expect_fine(
		PORTS "traffic:\n  - {name: q, server: 198.18.0.2, load: {rate: 1k}, " DNS "}\n");
}

static void an_unknown_key_is_an_error_with_a_suggestion(void **state)
{
	expect_error(PORTS "traffic:\n  - {name: q, sever: 198.18.0.2, load: {rate: 1k}, " DNS
			   "}\n",
		"t.yaml:6:15: traffic.q: unknown key \"sever\" (did you mean \"server\"?)");
}

static void a_rate_without_sense_names_line_and_column(void **state)
{
	expect_error(PORTS "traffic:\n  - {name: q, server: 198.18.0.2, load: {rate: 50q}, " DNS
			   "}\n",
		"t.yaml:6:48: traffic.q.load.rate: \"50q\" is not a rate (like 500, 20k or 1.5M)");
}

// A text in memory, like a fuzzer's, asks no resolver.
static void names_of_servers_are_looked_up_for_files_only(void **state)
{
	expect_error(PORTS "traffic:\n  - {name: q, server: localhost, load: {rate: 1k}, " DNS
			   "}\n",
		"t.yaml:6:23: traffic.q.server: localhost: names are looked up for files only");
}

static void a_missing_server_is_an_error(void **state)
{
	expect_error(PORTS "traffic:\n  - {name: q, load: {rate: 1k}, " DNS "}\n", "server");
}

static void an_item_without_a_protocol_is_an_error(void **state)
{
	expect_error(PORTS "traffic:\n  - {name: q, server: 198.18.0.2, load: {rate: 1k}}\n",
		"no protocol section (exactly one of: dns, dhcp4, dhcp6, ntp, echo, ddns, "
		"leasequery4, leasequery6)");
}

static void too_few_source_ports_for_rate_and_timeout_says_how_many(void **state)
{
	expect_error(PORTS
		"traffic:\n  - {name: q, server: 198.18.0.2, source: {ports: 5000}, timeout: 2s, "
		"load: {rate: 100k}, " DNS "}\n",
		"1 source ports are too few for rate x 3 timeouts = 630256 transactions: they run "
		"out "
		"after 0.655 s (give it "
		"at least 10 of its own,");
}

// Two items of 100 000 per second need 5 source ports each, whatever else is on the port.
static void source_ports_are_shared_by_the_items_that_want_them(void **state)
{
	static const struct {
		const char *a, *b;
		bool dhcp;        // a third item, with ports of its protocol
		const char *part; // NULL: fine
	} rows[] = {
		{"2000-2004", "2005-2009", false, NULL},
		{"2000-2004", "2005-2009", true, NULL},
		{"2000-2009", "2000-2009", true, NULL},
		{"2000-2019", "2005-2009", false, NULL},
		{"2000-2003", "2005-2009", true,
			"traffic.a.source.ports: 4 source ports are too few for rate x 3 timeouts "
			"= 315256 transactions: they run out after 2.62 s (give it at least 5 of "
			"its own, more addresses, or a shorter timeout)"},
		{"2000-2008", "2000-2008", false,
			"traffic.b.source.ports: 4 source ports are too few for rate x 3 timeouts "
			"= 315256 transactions; other items of the port take 5 of its 9: they "
			"run out after 2.62 s (give it at least 5 of its own, more addresses, or a "
			"shorter timeout)"},
		{"2000-2004", "2004-2009", false, NULL}, // b has five others
		{"2000-2004", "2004-2008", false, "other items of the port take 1 of its 5"},
		{"2000-2004", "2000-2009", false, NULL},
		{"2000-2009", "2005-2009", false, NULL},
		{"2000-2004", "2000-2004, 2009", false, "traffic.a.source.ports: 3 source ports"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[2048];

		snprintf(text, sizeof(text),
			"%straffic:\n"
			"  - {name: a, server: 198.18.0.2, source: {ports: [%s]}, load: {rate: "
			"100k}, %s}\n"
			"  - {name: b, server: 198.18.0.2, source: {ports: [%s]}, load: {rate: "
			"100k}, %s}\n%s",
			PORTS, rows[i].a, DNS, rows[i].b, DNS,
			rows[i].dhcp ? "  - {name: c, load: {rate: 10}, dhcp4: {}}\n" : "");
		if (rows[i].part)
			expect_error(text, rows[i].part);
		else
			expect_fine(text);
	}
}

static void open_and_closed_loop_at_once_is_an_error(void **state)
{
	expect_error(PORTS
		"traffic:\n  - {name: q, server: 198.18.0.2, load: {rate: 1k, outstanding: 5}, " DNS
		"}\n",
		"closed loop and open loop at once");
}

static void a_server_off_the_subnet_needs_a_gateway(void **state)
{
	expect_error(PORTS "traffic:\n  - {name: q, server: 203.0.113.1, load: {rate: 1k}, " DNS
			   "}\n",
		"t.yaml:6:23: traffic.q.server: not on a subnet of port lan");
}

static void a_server_of_a_family_that_the_port_lacks_is_an_error(void **state)
{
	expect_error(PORTS "traffic:\n  - {name: q, server: \"2001:db8::2\", load: {rate: 1k}, " DNS
			   "}\n",
		"no IPv6 address on this port");
}

static void an_unknown_port_is_an_error(void **state)
{
	expect_error(PORTS
		"traffic:\n  - {name: q, port: wan, server: 198.18.0.2, load: {rate: 1k}, " DNS
		"}\n",
		"there is no port called \"wan\"");
}

static void two_items_of_one_name_are_an_error(void **state)
{
	expect_error(PORTS "traffic:\n  - {name: q, server: 198.18.0.2, load: {rate: 1k}, " DNS
			   "}\n"
			   "  - {name: q, server: 198.18.0.2, load: {rate: 1k}, " DNS "}\n",
		"is the name of an earlier traffic item too");
}

static void labels_are_pairs_of_different_names(void **state)
{
#define LABELS(list)                                                                               \
	"run: {labels: [" list "]}\n" PORTS "traffic:\n  - {name: q, server: 198.18.0.2, load: "   \
	"{rate: 1k}, " DNS "}\n"
	expect_fine(LABELS("rack=1, site=lab=2, racks=1"));
	expect_error(LABELS("rack"),
		"t.yaml:1:16: run.labels[0]: \"rack\" is not a label (like rack=1)");
	expect_error(LABELS("\"=12\""), "is not a label");
	expect_error(LABELS("rack=1, site=2, rack=2"), "run.labels[2]: is a second label");
}

static void a_criterion_over_an_unknown_figure_is_an_error(void **state)
{
	const char *head =
		PORTS "traffic:\n  - {name: q, server: 198.18.0.2, load: {rate: 1k}, " DNS "}\n";
	const char *const bad[] = {"speed <= 5", "loss ! 5%", "traffic.x.loss <= 1%", "loss <= 5",
		"p99 <= 5%", "dns.rcode.NOSUCH == 0", ""};
	const char *const good[] = {"loss <= 0.1%", "p99 < 2ms", "traffic.q.lost == 0",
		"dns.rcode.SERVFAIL == 0", "answered_per_s >= 900", "latency.service.p50_ns > 1us"};
	char text[1024];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "%scriteria: [\"%s\"]\n", head, bad[i]);
		expect_error(text, "t.yaml:7:");
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		snprintf(text, sizeof(text), "%scriteria: [\"%s\"]\n", head, good[i]);
		expect_fine(text);
	}
}

static void expect_load_error(const char *load, const char *part)
{
	char text[1024];

	snprintf(text, sizeof(text),
		"%straffic:\n  - {name: q, server: 198.18.0.2, load: {%s}, %s}\n", PORTS, load,
		DNS);
	if (part)
		expect_error(text, part);
	else
		expect_fine(text);
}

static void every_shape_is_taken_and_only_one(void **state)
{
	const char *const shapes[] = {"rate: max", "outstanding: 5, ramp_up: 2s",
		"ramp: {to: 10k, over: 5s}", "steps: [{rate: 5, for: 1s}, {rate: 1, for: 1s}]",
		"wave: {mean: 5k, amplitude: 5k, period: 2s}", "burst: {size: 10, every: 10ms}",
		"storm: {clients: 10k, within: 5s}", "replay: {file: x, speed: 0.5}",
		"rate: 5, arrivals: poisson, start_at: 1s, stop_at: 5s, max_outstanding: 5"};
	char both[256];

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		expect_load_error(shapes[i], NULL);
	for (size_t i = 2; i < 8; i++) {
		snprintf(both, sizeof(both), "rate: 5, %s", shapes[i]);
		expect_load_error(both, "two shapes at once (either rate or ");
	}
}

// So that sums of some of them in nanoseconds, and each in ticks of 4 GHz, fit into 64 bits. Lease
// times are whole seconds of 32 bits.
static void assert_durations_are_bounded(const struct field_section *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		const struct field *f = &s->fields[i];

		if (f->type == FIELD_DURATION && !(f->max > 0 && f->max <= UINT32_MAX * 1e9))
			fail_msg("%s.%s has no upper bound", s->name, f->name);
		if (f->type == FIELD_SECTION)
			assert_durations_are_bounded(f->section);
		for (uint32_t k = 0; f->type == FIELD_CHOICES && k < f->choices->count(); k++)
			if (f->choices->section(k))
				assert_durations_are_bounded(f->choices->section(k));
	}
}

static void every_duration_has_an_upper_bound(void **state)
{
	assert_durations_are_bounded(config_section());
}

// "load.rate ramp.from ...": the settings that a search may vary, all of them numbers.
static void add_loads(const struct field_section *s, char *text, size_t size)
{
	for (uint32_t i = 0; i < s->count; i++) {
		const struct field *f = &s->fields[i];
		size_t len = strlen(text);

		assert_true(!f->load || f->type == FIELD_RATE || f->type == FIELD_COUNT);
		if (f->load)
			snprintf(text + len, size - len, "%s.%s ", s->name, f->name);
		if (f->type == FIELD_SECTION)
			add_loads(f->section, text, size);
		for (uint32_t k = 0; f->type == FIELD_CHOICES && k < f->choices->count(); k++)
			if (f->choices->section(k))
				add_loads(f->choices->section(k), text, size);
	}
}

static void a_search_varies_rates_and_numbers_of_clients(void **state)
{
	char text[2048] = "";

	add_loads(config_section(), text, sizeof(text));
	assert_string_equal(text,
		"load.rate ramp.from ramp.to steps.rate wave.mean wave.amplitude burst.size "
		"storm.clients replay.speed load.outstanding tcp.connections tcp.pipeline "
		"tcp.open_rate quic.connections quic.pipeline quic.open_rate edns.size "
		"dhcp4.clients life.speed dhcp4.pad dhcp6.clients "
		"life.speed dhcp6.addresses dhcp6.prefixes relay.levels tcp.connections "
		"tcp.pipeline tcp.open_rate tcp.connections tcp.pipeline tcp.open_rate "
		"tcp.connections tcp.pipeline tcp.open_rate ");
}

static void shapes_that_make_no_sense_say_why(void **state)
{
	static const struct {
		const char *load, *part;
	} rows[] = {
		{"", "traffic.q.load: missing one of rate"},
		{"ramp: {from: 5k, to: 1k, over: 1s}",
			"t.yaml:6:55: traffic.q.load.ramp.from: a ramp must rise"},
		{"ramp: {to: 1k}", "ramp.over: is missing"},
		{"ramp: {to: 1k, over: 60s}", "load.ramp: takes 60 s, and the run ends after 10 s"},
		{"ramp: {to: 1k, over: 60s}, start_at: 5s",
			"takes 60 s, and the run ends after 5 s"},
		{"steps: []", "t.yaml:6:49: traffic.q.load.steps: has no step"},
		{"steps: [{rate: 0, for: 1s}]", "has only pauses"},
		{"steps: [{rate: 5, for: 6s}, {rate: 5, for: 6s}]", "load.steps: takes 12 s"},
		{"wave: {mean: 1k, amplitude: 2k, period: 1s}", "the rate would be below 0"},
		{"storm: {clients: 5, within: 11s}", "load.storm: takes 11 s"},
		{"rate: 5, stop_at: 11s",
			"t.yaml:6:60: traffic.q.load.stop_at: 11 s is after the end"},
		{"rate: 5, start_at: 10s", "not before the end of the run"},
		{"rate: 5, start_at: 5s, stop_at: 5s", "not after start_at (5 s)"},
		{"rate: max, arrivals: poisson", "poisson needs a rate"},
		{"burst: {size: 5, every: 1s}, arrivals: poisson", "poisson needs a rate"},
		{"rate: 5, ramp_up: 1s", "for a closed loop only"},
		{"burst: {size: 10M, every: 1ms}", "64512 source ports are too few"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_load_error(rows[i].load, rows[i].part);
}

#define PORT(name, more) "  - {name: " name ", driver: af_packet, device: " name "0" more "}\n"
#define LAN              "ports:\n" PORT("lan", ", addresses: [198.18.0.1/24]")
#define WAN              PORT("wan", "")
#define GATEWAY(address) "ports:\n" PORT("lan", ", addresses: [198.18.0.1/24], gateway: " address)
#define ITEM(more)       "traffic:\n  - {name: q, load: {rate: 1k}, " more "}\n"
#define QUERIES(server)  ITEM("server: " server ", " DNS)
#define FROM(addresses)  ITEM("server: 198.18.0.2, source: {addresses: [" addresses "]}, " DNS)
#define RING(a, b)                                                                                 \
	"ports:\n"                                                                                 \
	"  - {name: a, driver: ring, device: b, cpus: [" a "], addresses: [198.18.0.1/24]}\n"      \
	"  - {name: b, driver: ring, device: a, cpus: [" b                                         \
	"]}\n" ITEM("port: a, server: 198.18.0.2, " DNS)
#define LEASES(addresses)                                                                          \
	"ports:\n"                                                                                 \
	"  - {name: lan, driver: ring, device: dut, addresses: [198.18.0.1/24]}\n"                 \
	"  - {name: dut, driver: ring, device: lan, addresses: [" addresses "]}\n"                 \
	"responder: {port: dut, dhcp4: {pool: 198.18.1.0/29, server_id: 198.18.0.2}}\n"
#define CLIENTS(n)     "dhcp4: {clients: " n "}"
#define RELAYED(n)     "dhcp4: {clients: " n ", relay: {addresses: 198.18.0.64}}"
#define TOO_FEW        "for clients that want 9"
#define SEARCH(more)   PORTS QUERIES("198.18.0.2") "search: {goals: [{}], " more "}\n"
#define RATE(from, to) "variable: traffic.q.load.rate, from: " from ", to: " to
#define COUNT(from)    "variable: traffic.q.load.outstanding, to: 100, from: " from
#define JUDGED         "criteria: [loss <= 1%]\n"
#define REPEAT(more)   "run: {repeat: {" more "}}\n"

static void the_sections_of_a_file_fit_together(void **state)
{
	static const struct {
		const char *text, *part; // NULL: fine
	} rows[] = {
		{LAN QUERIES("198.18.0.2"), NULL},
		{LAN, "nothing to do: add traffic items, a responder"},
		{LAN PORT("lan", ""), "is the name of an earlier port too"},
		// Ports of items and of the responder.
		{LAN WAN QUERIES("198.18.0.2"),
			"traffic.q.port: missing: the file has 2 ports (port: NAME)"},
		{PORTS ITEM("port: dut, server: 198.18.0.3, " DNS),
			"the responder has \"dut\" for itself (choose another port)"},
		{LAN "responder: {port: dut, dns: {}}\n",
			"responder.port: there is no port called \"dut\""},
		{LAN WAN "responder: {dns: {}}\n", "responder.port: missing: the file has 2 ports"},
		{LAN "responder: {port: lan}\n",
			"responder: no protocol to answer (add at least one of: dns, "},
		// Servers and sources.
		{LAN QUERIES("198.18.0.1"),
			"traffic.q.server: is an address of the tester, on port lan"},
		{GATEWAY("198.18.0.254") QUERIES("203.0.113.1"), NULL},
		{GATEWAY("\"fe80::1\"") QUERIES("203.0.113.1"), "the port has no IPv4 gateway"},
		{GATEWAY("198.18.0.254") QUERIES("\"2001:db8::1\""),
			"no IPv6 address on this port, but traffic.q has an IPv6 server"},
		{LAN FROM("\"2001:db8::1\""), "not of the server's address family (IPv4)"},
		{LAN FROM("10.0.0.0/12"), NULL},
		{LAN FROM("10.0.0.0/12, 11.0.0.0"), "1048577 addresses are too many"},
		{LAN ITEM("server: 198.18.0.2, ntp: {}, " DNS), "a second protocol section"},
		// Workers of the two ends of a ring.
		{RING("1, 2", "3, 4"), NULL},
		{RING("1, 2", "3"), "2 CPUs, but port b at the other end of the ring has 1"},
		{RING("1, 2", "3") "responder: {port: b, dns: {}}\n", NULL},
		// The responder has leases for the clients that ask it.
		{LEASES("198.18.0.2/24") ITEM(CLIENTS("8")), NULL},
		{LEASES("198.18.0.2/24") ITEM(CLIENTS("9")), TOO_FEW},
		{LEASES("198.18.0.2/24") ITEM("server: 198.18.0.2, " RELAYED("9")), TOO_FEW},
		{LEASES("198.18.0.2/24") ITEM("server: 198.18.0.3, " RELAYED("9")), NULL},
		{LEASES("") ITEM("server: 198.18.0.3, " RELAYED("9")), TOO_FEW},
		// A series varies the load between two values.
		{SEARCH(RATE("1k", "2k")), NULL},
		{SEARCH(RATE("2k", "2k")), "search.from: is not below to"},
		{SEARCH("variable: traffic.q.load.rte, from: 1, to: 2"), "search.variable: "},
		{SEARCH("variable: traffic.q.server, from: 1, to: 2"), "is not a number"},
		{SEARCH("variable: run.seed, from: 1, to: 2"), "does not change the load"},
		{SEARCH("variable: \"traffic[0].load.rate\", from: 1, to: 2"), NULL},
		{SEARCH(COUNT("1.5")), "is a count (from and to must be whole numbers)"},
		{PORTS "search: {goals: [{}], " RATE("1", "2") "}\n", "no traffic to run"},
		{PORTS QUERIES("198.18.0.2") "search: {goals: [], " RATE("1", "2") "}\n",
			"no goal to meet"},
		{SEARCH(RATE("1", "2") ", trial: 10s, final: 10s"), NULL},
		{SEARCH(RATE("1", "2") ", trial: 11s, final: 10s"),
			"search.final: shorter than a trial"},
		{SEARCH(RATE("1", "2") ", trial: 11s, method: ramp"), NULL},
		{SEARCH(COUNT("1")), NULL},
		{SEARCH(COUNT("1") ", method: ramp"), "is not the rate of an item"},
		{SEARCH(RATE("1", "2")) JUDGED, NULL},
		{SEARCH(RATE("1", "2") ", method: ramp") JUDGED,
			"a ramp has no single rate to judge"},
		{SEARCH(RATE("1", "2") ", method: ramp") JUDGED REPEAT(""), NULL},
		{LAN QUERIES("198.18.0.2") REPEAT("min: 4, max: 4"), NULL},
		{LAN QUERIES("198.18.0.2") REPEAT("min: 5, max: 4"),
			"run.repeat.min: more than max"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].part)
			expect_error(rows[i].text, rows[i].part);
		else
			expect_fine(rows[i].text);
}

static void the_number_of_items_is_limited(void **state)
{
	char text[16384], *at = text;

	for (uint32_t n = 0; n <= 66; n++) { // after the head
		if (n == 65)
			expect_fine(text);
		if (n == 66)
			expect_error(text, "traffic: 65 items are too many (up to 64)");
		at += sprintf(at,
			n ? "  - {name: q%u, server: 198.18.0.2, load: {rate: 1}, " DNS "}\n"
			  : LAN "traffic:\n",
			n);
	}
}

static uint64_t slots_of(const char *load)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new();
	const struct config *c;
	char text[1024];
	uint64_t n;

	snprintf(text, sizeof(text),
		"run: {warmup: 1s, duration: 1h}\n%straffic:\n  - {name: q, server: 198.18.0.2, "
		"load: {%s}, %s}\n",
		PORTS, load, DNS);
	c = config_load_text("t.yaml", text, strlen(text), a, d);
	diag_print(d, stderr);
	assert_non_null(c);
	n = config_slots_needed(c, c->traffic.items);
	diag_free(d);
	arena_free(a);
	return n;
}

static void slots_follow_from_what_a_shape_sends_at_most(void **state)
{
	uint64_t at_10k = slots_of("rate: 10k"); // and a timeout of 1 s

	assert_true(at_10k > 10000 && at_10k < 11000);
	assert_true(slots_of("ramp: {to: 10k, over: 5s}") == at_10k);
	assert_true(slots_of("wave: {mean: 6k, amplitude: 4k, period: 5s}") == at_10k);
	assert_true(slots_of("steps: [{rate: 1, for: 5s}, {rate: 10k, for: 1s}]") == at_10k);
	assert_true(slots_of("rate: 10k, arrivals: poisson") > at_10k + 600);
	assert_true(slots_of("burst: {size: 1k, every: 100ms}") >= at_10k + 2000);
	assert_true(slots_of("storm: {clients: 5k, within: 1s}") == 5000 + 256);
	assert_true(slots_of("storm: {clients: 100k, within: 10s}") == at_10k);
	assert_true(slots_of("rate: 10k, slots: 77") == 77);
	assert_true(slots_of("outstanding: 1") == 1);
	assert_true(slots_of("outstanding: 100") == 100);
	assert_true(slots_of("outstanding: 100, slots: 12M") == 12000000);
}

// Facts derived from the settings of an item: 100 per second, a timeout of 2 s each.
static void an_item_decides_on_its_places_times_and_keys(void **state)
{
	static const char *const tcp = "dns: {names: [\"a A\"], transport: tcp, tcp: {%s}}";
	static const struct {
		const char *settings, *protocol, *connections;
		bool tcp, stream;
		uint16_t port;
		uint32_t asks, wait_s, hold_s, slots, keys;
		double opened; // connections a second
	} rows[] = {
		{"", DNS, "", false, false, 53, 1, 2, 2, 466, 886, 0},
		{"server_port: 5300,", DNS, "", false, false, 5300, 1, 2, 2, 466, 886, 0},
		{"servers: [198.18.0.3, 198.18.0.4], spread: stub, attempts: 3,", DNS, "", false,
			false, 53, 9, 18, 18, 2146, 5926, 0},
		{"", tcp, "", true, true, 53, 1, 2, 2, 466, 466, 0},
		{"", tcp, "queries_per_connection: 4", true, true, 53, 1, 2, 2, 466, 466, 25},
		{"", tcp, "open: rate, open_rate: 7", true, true, 53, 1, 2, 2, 466, 466, 7},
		{"", tcp, "open: rate, open_rate: 7, queries_per_connection: 4", true, true, 53, 1,
			2, 2, 466, 466, 32},
		{"", "dns: {names: [\"a A\"], tc: tcp}", "", true, false, 53, 1, 2, 2, 466, 886,
			INFINITY},
		{"", "dhcp4: {clients: 1000, relay: {addresses: [198.18.0.7]}}", "", false, false,
			67, 1, 2, 6, 886, 886, 0},
		{"", "ntp: {}", "", false, false, 123, 1, 2, 2, 466, 886, 0},
	};

	for (size_t n = 0; n < sizeof(rows) / sizeof(*rows); n++) {
		char protocol[200], text[1000];
		struct arena *a = arena_new();
		struct diag *d = diag_new();
		const struct config *c;
		const struct item_settings *i;
		const struct item_facts *f;

		snprintf(protocol, sizeof(protocol), rows[n].protocol, rows[n].connections);
		snprintf(text, sizeof(text),
			PORTS "traffic:\n  - {name: q, server: 198.18.0.2, timeout: 2s, source: "
			      "{ports: [1000-1999, 3000-3119]}, load: {rate: 100}, %s %s}\n",
			rows[n].settings, protocol);
		c = config_load_text("t.yaml", text, strlen(text), a, d);
		diag_print(d, stderr);
		assert_non_null(c);
		i = c->traffic.items;
		f = &i->facts;
		assert_int_equal(f->port_count, 1120);
		assert_int_equal(f->tcp != NULL, rows[n].tcp);
		assert_int_equal(f->stream, rows[n].stream);
		assert_int_equal(f->reuses_keys, rows[n].stream);
		assert_int_equal(f->server_port, rows[n].port);
		assert_int_equal(f->asks, rows[n].asks);
		assert_int_equal(f->wait_ns, rows[n].wait_s * 1000000000ull);
		assert_int_equal(f->hold_ns, rows[n].hold_s * 1000000000ull);
		assert_int_equal(config_slots_needed(c, i), rows[n].slots);
		assert_int_equal(config_keys_needed(c, i), rows[n].keys);
		assert_int_equal(config_outcomes_needed(c, i, 1000000000), 571);
		assert_true(config_connection_rate(i) == rows[n].opened);
		diag_free(d);
		arena_free(a);
	}
}

// Addresses of the server's family, its own first; a port gets as many as it needs.
static void sources_are_of_the_family_of_the_server(void **state)
{
	static const char *const servers[] = {"198.18.0.2", "\"2001:db8::2\""};
	static const struct field_range ranges[] = {{5, 5}, {7, 9}};
	static const struct field_list list = {(void *)(uintptr_t)ranges, 2};

	for (int n = 0; n < 2; n++) {
		char text[500];
		struct arena *a = arena_new();
		struct diag *d = diag_new();
		const struct config *c;
		const struct item_facts *f;
		const struct addr_range *r;

		snprintf(text, sizeof(text),
			"ports: [{name: lan, driver: \"null\", addresses: [198.18.0.1/24, "
			"\"2001:db8::1/64\"]}]\n"
			"traffic:\n  - {name: q, server: %s, load: {rate: 1k}, " DNS "}\n",
			servers[n]);
		c = config_load_text("t.yaml", text, strlen(text), a, d);
		diag_print(d, stderr);
		assert_non_null(c);
		f = &((const struct item_settings *)c->traffic.items)->facts;
		r = f->sources.items;
		assert_int_equal(f->sources.count, 1);
		assert_int_equal(f->addresses, 1);
		assert_int_equal(r->count, 1);
		assert_int_equal(r->first.len, n ? 16 : 4);
		assert_false(f->sockets);
		assert_true(f->ports_load == 1);
		diag_free(d);
		arena_free(a);
	}
	for (uint32_t port = 0; port < 12; port++)
		assert_int_equal(
			config_wants_port(&list, port), port == 5 || (port >= 7 && port <= 9));
}

static void all_errors_of_a_file_come_at_once(void **state)
{
	char *errors =
		errors_of(PORTS "traffic:\n"
				"  - {name: a, server: 203.0.113.1, load: {rate: 1k}, " DNS "}\n"
				"  - {name: b, server: 198.18.0.2, load: {}, " DNS "}\n"
				"criteria: [\"nonsense\"]\n");
	int lines = 0;

	for (const char *p = errors; *p; p++)
		lines += *p == '\n';
	assert_int_equal(lines, 3);
	free(errors);
}

#define SAME_NAMES                                                                                 \
	"  - {name: b, server: 203.0.113.1, load: {rate: 1k}, " DNS "}\n"                          \
	"  - {name: b, server: 198.18.0.2, load: {rate: 1k}, " DNS "}\n"

// The rest of a file is judged by what it means if no rule for it looks at what cannot be read.
static void a_part_that_cannot_be_read_hides_no_other_error(void **state)
{
	static const struct {
		const char *text, *errors;
	} all[] = {
		// A key at the top of the file that resembles no other.
		{PORTS "nonsense: 1\ntraffic:\n" SAME_NAMES "criteria: [\"p99 <= 5 bananas\"]\n",
			"nonsense|not on a subnet|name of an earlier|5 bananas"},
		// Ports decide on servers. Criteria want to know the items alone.
		{"ports:\n  - {name: p, driver: ring, device: p, mtuu: 5}\ntraffic:\n" SAME_NAMES
		 "criteria: [\"p99 <= 5 bananas\"]\n",
			"mtuu|5 bananas"},
		{PORTS "traffic:\n  - {name: a, server: 198.18.0.2, timeout: 1, load: {}, " DNS
		       "}\n" SAME_NAMES "criteria: [\"p99 <= 5 bananas\", \"dns.x == 0\"]\n",
			"a.timeout|b.server: not on a subnet|name of an earlier|5 bananas|dns.x"},
		// The unknown key may be the protocol whose counters a criterion names.
		{PORTS "traffic:\n  - {name: a, server: 198.18.0.2, load: {rate: 1k}, "
		       "dsn: {}}\ncriteria: [\"dns.x == 0\"]\n",
			"dsn"},
		{PORTS "traffic:\n  - {name: a, load: {rate: 1k}, dns: {namez: [x]}}\n"
		       "search: {variable: traffic.a.load.rate, from: 5, to: 1, goals: [{loss: "
		       "0%}]}\n",
			"server: is missing|namez|search.from"},
		// An item without a key that is required is left out, and nothing asks for it.
		{PORTS "traffic:\n  - {load: {rate: 1k}, " DNS "}\ncriteria: [\"loss < 1\"]\n"
		       "search: {variable: traffic.a.load.rate, from: 5, to: 1, goals: [{loss: "
		       "0%}]}\n",
			"name: is missing"},
		{PORTS "run: {duration: 1, labels: [a=1, a=2], repeat: {min: 9, max: 3}}\n"
		       "traffic: [1]\noutput: {prometheus: x}\n",
			"run.duration|traffic[0]|output.prometheus"},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char *errors = errors_of(all[i].text), *expected = strdup(all[i].errors), *rest;
		unsigned lines = 0, parts = 0;

		for (const char *p = errors; *p; p++)
			lines += *p == '\n';
		for (char *part = strtok_r(expected, "|", &rest); part;
			part = strtok_r(NULL, "|", &rest)) {
			parts++;
			if (!strstr(errors, part))
				fail_msg("expected \"%s\" in:\n%s", part, errors);
		}
		if (lines != parts)
			fail_msg("more than %u errors:\n%s", parts, errors);
		free(expected);
		free(errors);
	}
}

// A section at the start of another would share its address, which identifies a setting.
static void expect_own_places(const struct field_section *s, unsigned depth)
{
	for (uint32_t i = 0; depth < 8 && i < s->count; i++) {
		const struct field *f = &s->fields[i];

		if (f->type != FIELD_SECTION)
			continue;
		if (!f->list && !f->optional && f->offset == 0)
			fail_msg("%s of %s is where that begins", f->name, s->name);
		expect_own_places(f->section, depth + 1);
	}
}

static void errors_about_the_whole_file_name_its_own_keys(void **state)
{
	expect_own_places(config_section(), 0);
	expect_error("{ports: [{name: a, driver: \"null\"}]}",
		": traffic: nothing to do: add traffic items");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_about_the_whole_file_name_its_own_keys),
		cmocka_unit_test(a_right_file_has_no_errors),
		cmocka_unit_test(an_unknown_key_is_an_error_with_a_suggestion),
		cmocka_unit_test(a_rate_without_sense_names_line_and_column),
		cmocka_unit_test(names_of_servers_are_looked_up_for_files_only),
		cmocka_unit_test(a_missing_server_is_an_error),
		cmocka_unit_test(an_item_without_a_protocol_is_an_error),
		cmocka_unit_test(labels_are_pairs_of_different_names),
		cmocka_unit_test(too_few_source_ports_for_rate_and_timeout_says_how_many),
		cmocka_unit_test(source_ports_are_shared_by_the_items_that_want_them),
		cmocka_unit_test(open_and_closed_loop_at_once_is_an_error),
		cmocka_unit_test(a_server_off_the_subnet_needs_a_gateway),
		cmocka_unit_test(a_server_of_a_family_that_the_port_lacks_is_an_error),
		cmocka_unit_test(an_unknown_port_is_an_error),
		cmocka_unit_test(two_items_of_one_name_are_an_error),
		cmocka_unit_test(a_criterion_over_an_unknown_figure_is_an_error),
		cmocka_unit_test(every_shape_is_taken_and_only_one),
		cmocka_unit_test(every_duration_has_an_upper_bound),
		cmocka_unit_test(a_search_varies_rates_and_numbers_of_clients),
		cmocka_unit_test(shapes_that_make_no_sense_say_why),
		cmocka_unit_test(the_sections_of_a_file_fit_together),
		cmocka_unit_test(the_number_of_items_is_limited),
		cmocka_unit_test(slots_follow_from_what_a_shape_sends_at_most),
		cmocka_unit_test(an_item_decides_on_its_places_times_and_keys),
		cmocka_unit_test(sources_are_of_the_family_of_the_server),
		cmocka_unit_test(all_errors_of_a_file_come_at_once),
		cmocka_unit_test(a_part_that_cannot_be_read_hides_no_other_error),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
