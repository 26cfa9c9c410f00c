// SPDX-License-Identifier: BSD-3-Clause
// The command lines of perfdhcp, and its report from results: figures that the original computes
// wrongly, forms, and exit codes. tests/live/test_perfdhcp.py compares the rest with the original.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "captured.h"
#include "document/document_reader.h"
#include "run/commands.h"
#include "front/perfdhcp/front_perfdhcp.h"
#include "net/frame.h"

#define STARTED 1700000000000000000u // begin of the measurement, ns

#define SERVICE                                                                                    \
	"\"latency\": {\"service\": {\"count\": 90, \"min_ns\": 1000000, \"mean_ns\": 1500000, "   \
	"\"max_ns\": 2000000, \"stddev_ns\": 250000}}"

struct fixture {
	struct perfdhcp p;
	struct perfdhcp_given given[8];
	struct document_reader reader;
	int code;
};

// Options by their letters: "r 100 f 1", with a value each.
static void set_up(struct fixture *x, const char *line)
{
	static char words[64];
	char *rest, *letter, *value;

	*x = (struct fixture){.p.run.arena = arena_new(),
		.p.run.tool = &front_perfdhcp,
		.p.all = x->given,
		.p.packets = -1};
	snprintf(words, sizeof(words), "%s", line);
	for (letter = strtok_r(words, " ", &rest); letter; letter = strtok_r(NULL, " ", &rest)) {
		value = strtok_r(NULL, " ", &rest);
		x->given[x->p.count++] = (struct perfdhcp_given){*letter, value};
	}
	x->p.v6 = perfdhcp_times(&x->p, '6') > 0;
}

static int end(void *ctx)
{
	struct fixture *x = ctx;

	return perfdhcp_end(&x->p, &x->reader, 0);
}

static void report(struct fixture *x, const char *document)
{
	json_t *json = json_loads(document, 0, NULL);

	assert_non_null(json);
	reader_take(&x->reader, "result", json);
	x->code = capture_output(end, x);
	reader_close(&x->reader);
	arena_free(x->p.run.arena);
}

static void losses_of_this_host_and_silence_are_no_drops(void **state)
{
	struct fixture x;

	set_up(&x, "r 100 F 10");
	report(&x, "{\"verdict\": {\"status\": \"invalid\", \"reasons\": [\"late\"]},"
		   " \"ports\": [{\"rx_missed\": 3, \"rx_no_mbuf\": 1}],"
		   " \"traffic\": [{\"sending_s\": 2, \"late\": 1, \"duplicate\": 2, \"stray\": 3,"
		   "  \"malformed\": 7, \"dhcp4\": {\"duplicate_address\": 5}, \"steps\": ["
		   "   {\"name\": \"discover-offer\", \"sent\": 100, \"answered\": 90, \"lost\": "
		   "10, " SERVICE
		   "}, {\"name\": \"request-ack\", \"sent\": 90, \"answered\": 80, \"failed\": 9, "
		   "\"lost\": 1, " SERVICE
		   "}, {\"name\": \"release\", \"sent\": 20, \"no_reply\": 20}]}]}");
	assert_int_equal(x.code, 3);
	assert_captured("this host lost 4 packets itself; they do not count as drops\n");
	assert_captured("***Rate statistics***\nRate: 40 4-way exchanges/second, expected rate: "
			"100\n\n***Malformed Packets***\nMalformed packets: 7\n"
			"***Statistics for: DISCOVER-OFFER***\nsent packets: 100\n"
			"received packets: 90\ndrops: 6\ndrops ratio: 6 %\norphans: 6\n"
			"rejected leases: 0\nnon unique addresses: 0\n\n"
			"min delay: 1.000 ms\navg delay: 1.500 ms\nmax delay: 2.000 ms\n"
			"std deviation: 0.250 ms\ncollected packets: 6\n\n"
			"***Statistics for: REQUEST-ACK***\nsent packets: 90\n"
			"received packets: 89\ndrops: 1\ndrops ratio: 1.111 %\norphans: 0\n"
			"rejected leases: 9\nnon unique addresses: 5\n\n");
	assert_captured("***Statistics for: RELEASE***\nsent packets: 20\nreceived packets: 0\n"
			"drops: 0\ndrops ratio: 0.000 %\n");
	assert_captured("RELEASE has no reply, so it is not lost (perfdhcp: 20 drops)\n");
	assert_captured("the run says little about the server: late\n");
}

static void a_refused_lease_is_no_success(void **state)
{
	struct fixture x;

	set_up(&x, "r 1");
	report(&x, "{\"traffic\": [{\"sending_s\": 1, \"steps\": [{\"name\": \"request-ack\", "
		   "\"sent\": 1, \"failed\": 1}]}]}");
	assert_int_equal(x.code, 3);
	assert_captured("received packets: 1\ndrops: 0\ndrops ratio: 0.000 %\norphans: 0\n"
			"rejected leases: 1\n");
}

static void what_never_came_has_the_form_of_the_original(void **state)
{
	struct fixture x;

	set_up(&x, "6 x");
	report(&x, "{\"traffic\": [{\"sending_s\": 0, \"steps\": []}]}");
	assert_int_equal(x.code, 0);
	assert_captured("Rate: 0 4-way exchanges/second\n***Malformed");
	assert_captured("***Statistics for: SOLICIT-ADVERTISE***\nsent packets: 0\n"
			"received packets: 0\ndrops: 0\ndrops ratio: -nan %\n");
	assert_captured("min delay: inf ms\navg delay: min delay: n/a\navg delay: n/a\n"
			"max delay: n/a\nstd deviation: n/a\ncollected packets: 0\n");
}

// All offers became leases: both blocks have them.
static void leases_are_in_both_blocks(void **state)
{
	static char path[] = "/tmp/ddiperf-test-XXXXXX";
	FILE *file = fdopen(mkstemp(path), "w");
	struct fixture x;

	fputs("client,mac,address,server,expires\n0,00:0c:01:02:03:04,10.0.0.1,10.0.0.9,never\n",
		file);
	fclose(file);
	set_up(&x, "x l");
	x.p.leases = path;
	report(&x, "{\"traffic\": [{\"sending_s\": 1, \"steps\": []}]}");
	assert_captured("***Leases for DISCOVER-OFFER***\nclient_id,adrress,prefix\n"
			"01000c01020304,10.0.0.1,\n\n\n");
	assert_captured("***Leases for REQUEST-ACK***\nclient_id,adrress,prefix\n"
			"01000c01020304,10.0.0.1,\n\n\n");
}

static void prefixes_are_beside_addresses(void **state)
{
	static char path[] = "/tmp/ddiperf-test-XXXXXX";
	FILE *file = fdopen(mkstemp(path), "w");
	struct fixture x;

	fputs("client,mac,address,server,expires\n"
	      "0,00:0c:01:02:03:04,2001:db8::1,000300,never\n"
	      "0,00:0c:01:02:03:04,2001:db8:1::/56,000300,never\n"
	      "1,00:0c:01:02:03:05,2001:db8:2::/56,000300,never\n"
	      "1,00:0c:01:02:03:05,2001:db8::9,000300,never\n"
	      "2,00:0c:01:02:03:06,2001:db8:3::/56,000300,never\n"
	      "2,cut\n",
		file);
	fclose(file);
	set_up(&x, "6 - x ls");
	x.p.leases = path;
	report(&x, "{\"traffic\": [{\"sending_s\": 1, \"steps\": []}]}");
	assert_captured("Server id: 000300\n");
	assert_captured("client_id,adrress,prefix\n"
			"00:03:00:01:00:0c:01:02:03:04,2001:db8::1,2001:db8:1::\n"
			"00:03:00:01:00:0c:01:02:03:05,,2001:db8:2::\n"
			"00:03:00:01:00:0c:01:02:03:05,2001:db8::9,\n"
			"00:03:00:01:00:0c:01:02:03:06,,2001:db8:3::\n\n");
	unlink(path);
}

static int tell_intervals(void *ctx)
{
	struct fixture *x = ctx;
	const char *const lines[] = {"{\"begin\": 1, \"traffic\": []}",
		"{\"t_s\": 1, \"traffic\": [{\"steps\": [{\"name\": \"discover-offer\", \"sent\": "
		"9, \"answered\": 8}]}]}",
		"{\"t_s\": 2, \"traffic\": [{\"steps\": [{\"name\": \"discover-offer\", \"sent\": "
		"5, \"answered\": 4, \"lost\": 1}, {\"name\": \"request-ack\", \"sent\": 7, "
		"\"answered\": 5, \"failed\": 2}]}]}",
		"{\"t_s\": 3, \"traffic\": [{\"steps\": []}]}"};

	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		json_t *line = json_loads(lines[i], 0, NULL);

		assert_non_null(line);
		perfdhcp_line(&x->p, line);
		json_decref(line);
	}
	return 0;
}

// Sums over the run so far, and none at its end.
static void interim_lines_have_sums(void **state)
{
	struct fixture x;

	set_up(&x, "t 1 p 3");
	capture_output(tell_intervals, &x);
	arena_free(x.p.run.arena);
	assert_string_equal(captured, "sent: 9/0; received: 8/0; drops: 0/0; rejected: 0/0\n"
				      "sent: 14/7; received: 12/7; drops: 1/0; rejected: 0/2\n");
	set_up(&x, "t 1 p 3 C ;;");
	capture_output(tell_intervals, &x);
	arena_free(x.p.run.arena);
	assert_string_equal(captured, "9;;0;;8;;0;;0;;0;;0;;0\n14;;7;;12;;7;;1;;0;;0;;2\n");
}

// --- command lines ---

// Command lines that the original accepts and refuses, on an interface that each machine has.
// Unlike the original: -L with an interface, -T without a file (it notices later), and exit code 2
// for 1.
static const struct command_line {
	const char *words;
	int code;
	const char *says; // a part of the file, or of the message
} command_lines[] = {
	{"-4 127.0.0.1 -l 127.0.0.1", 0, "dhcp4:"},
	{"-h", 0, "perfdhcp 2.2.0"},
	{"-v", 0, "2.2.0"},
	{"-h -v", 0, "perfdhcp 2.2.0"},
	{"-6 -l lo -h all", 0, "perfdhcp 2.2.0"},
	{"-l lo -v all", 0, "2.2.0"},
	{"-l lo all", 0, "device: lo"},
	{"-6 -u -l lo all", 0, "dhcp6:"},
	{"-1 -B -l lo all", 0, "-1 has no effect"},
	{"-6 -C, -l lo all", 0, "dhcp6:"},
	{"-6 -A1 -l lo all", 0, "relay:"},
	{"-4 -A1 -l lo all", 2, "-A needs -6"},
	{"-6 -l lo -c -i all", 0, "exchange: rapid"},
	{"-4 -B -l lo all", 0, "dhcp4:"},
	{"-4 -6 -l lo all", 2, "-4 and -6 exclude each other"},
	{"-6 -B -l lo all", 2, "-B is of DHCPv4"},
	{"-c -l lo all", 2, "-c needs -6"},
	{"-6 -l lo -e address-only all", 0, "dhcp6:"},
	{"-4 -l lo -e address-only all", 0, "dhcp4:"},
	{"-6 -l lo -e prefix-only all", 0, "lease: prefix"},
	{"-6 -l lo -e address-and-prefix all", 0, "lease: both"},
	{"-6 -l lo -e bogus all", 2, "not one of"},
	{"-4 -l lo -e prefix-only all", 2, "-e needs -6"},
	{"-6 -l lo -e prefix-only -T a -T b -E 4 all", 2, "-T needs -e address-only"},
	{"-4 -r 10 -l lo all", 0, "rate: 10"},
	{"-4 -r 0 -l lo all", 2, "-r 0"},
	{"-6 -r 10 -f 10 -l lo all", 0, "renew: 10/s"},
	{"-6 -f 5 -r 10 -l lo all", 0, "renew: 5/s"},
	{"-4 -f 5 -r 10 -l lo all", 0, "renew: 5/s"},
	{"-6 -r 10 -f 11 -l lo all", 2, "must not exceed -r"},
	{"-6 -r 10 -f 0 -l lo all", 2, "-f 0"},
	{"-6 -r 10 -f -5 -l lo all", 2, "-f -5"},
	{"-6 -f 10 -l lo all", 2, "-f needs -r"},
	{"-6 -r 10 -f -l lo all", 2, "-f -l"},
	{"-6 -r 10 -f 10 -l lo -i all", 2, "-i excludes -f"},
	{"-6 -r 10 -F 10 -l lo all", 0, "release: 10/s"},
	{"-4 -r 10 -F 10 -l lo all", 0, "release: 10/s"},
	{"-6 -r 10 -F 11 -l lo all", 2, "must not exceed -r"},
	{"-6 -r 10 -F 0 -l lo all", 2, "-F 0"},
	{"-6 -F 10 -l lo all", 2, "-F needs -r"},
	{"-6 -r 10 -F 10 -l lo -i all", 2, "-i excludes -F"},
	{"-6 -r 8 -F 3 -f 5 -l lo all", 0, "release: 3/s"},
	{"-6 -F 6 -f 5 -r 10 -l lo all", 2, "must not exceed -r"},
	{"-t 17 -l lo all", 0, "interval: 17s"},
	{"-t -8 -l lo all", 2, "-t -8"},
	{"-t 0 -l lo all", 2, "-t 0"},
	{"-t s -l lo all", 2, "-t s"},
	{"-R 200 -l lo all", 0, "clients: 200"},
	{"-R 0 -l lo all", 0, "clients: 1"},
	{"-R -5 -l lo all", 2, "-R -5"},
	{"-R gs -l lo all", 2, "-R gs"},
	{"-b DUID=0101010101010101010110111F14 -b MAC=10::20::30::40::50::60 -l 127.0.0.1 "
	 "127.0.0.1",
		0, "10:20:30:40:50:60"},
	{"-b Ether=10::20::30::40::50::60 -l 127.0.0.1 127.0.0.1", 0, "10:20:30:40:50:60"},
	{"-6 -l lo -b duid=010101010101010101t110111F14 all", 2, "not a DUID"},
	{"-b mac=10::2::3x::4::5::6 -l lo all", 2, "not a MAC address"},
	{"-b -l lo all", 2, "more than one server"},
	{"-l lo -b mc=00:01:02:03::04:05 all", 2, "-b mc"},
	{"-l lo -b duid=00010203 all", 2, "not a DUID"},
	{"-l lo -b duid=000102030405060 all", 2, "not a DUID"},
	{"-l lo -b mac=00:01:02:04 all", 2, "not a MAC address"},
	{"-l lo -d 12 all", 0, "timeout: 12s"},
	{"-l lo -d 2 -d 4.7 all", 0, "4.7s"},
	{"-l lo -d -2 -d 4.7 all", 2, "-d -2"},
	{"-l lo -d -9.1 -d 0 all", 2, "-d -9.1"},
	{"-l lo -E 3 -i all", 2, "-i excludes -E"},
	{"-l lo -T a -E -i all", 2, "-E -i"},
	{"-l lo -E -3 -T a all", 2, "-E -3"},
	{"-l lo -i all", 0, "exchange: discover"},
	{"-i -l lo -X 3 all", 2, "each -X needs a -T"},
	{"-i -l lo -O 2 -T a all", 2, "-O 2"},
	{"-i -l lo -S 1 -T a all", 2, "-i excludes -S"},
	{"-i -l lo -I 2 -T a all", 2, "-i excludes -I"},
	{"-6 -I 0 -l lo all", 2, "-I 0"},
	{"-6 -I -4 -l lo all", 2, "-I -4"},
	{"-l 127.0.0.1 -L 2000 127.0.0.1", 0, "port: 2000"},
	{"-l lo -L 2000 all", 2, "clients on a link have one port only"},
	{"-l lo -L -2 all", 2, "-L -2"},
	{"-l lo -L all", 2, "-L all"},
	{"-l lo -L 65540 all", 2, "-L 65540"},
	{"-1 -P 3 -l lo all", 0, "preload"},
	{"-P -1 -l lo all", 2, "-P -1"},
	{"-6 -P 2 -s 23 -l lo all", 0, "seed: 23"},
	{"-6 -P 2 -s 0 -l lo all", 0, "dhcp6:"},
	{"-6 -P 2 -s -5 -l lo all", 2, "-s -5"},
	{"-6 -P 2 -s -l lo all", 2, "-s -l"},
	{"-s 12 -T -l lo all", 2, "more than one server"},
	{"-s 12 -l lo -T a -T a -T a all", 2, "-T: more than 2"},
	{"-T nosuch.hex -l lo all", 2, "nosuch.hex"},
	{"-B -w start -i -l lo all", 0, "start"},
	{"-l lo -i -x asTe all", 0, "when:"},
	{"-D 25 -l lo all", 0, ">= 25"},
	{"-D 25 -l lo -D 15 all", 0, ">= 15"},
	{"-D 15% -D25% -l lo all", 0, ">= 25%"},
	{"-D 1% -D 99% -l lo all", 0, ">= 99%"},
	{"-D 0% -D 1 -l lo -D 3 all", 2, "-D"},
	{"-D 0 -l lo all", 2, "-D 0"},
	{"-D101% -D 13% -l lo all", 2, "-D 101%"},
	{"-n 1000 -l lo all", 0, "total: 1000"},
	{"-n 5 -n 500 -l lo all", 0, "500"},
	{"-n 1 -n 2 -l lo -n3 all", 2, "-n: more than 2"},
	{"-n 1 -n -22 -l lo all", 2, "-n -22"},
	{"-n 0 -l lo all", 2, "-n 0"},
	{"-p 120 -l lo all", 0, "duration: 120s"},
	{"-p 0 -l lo all", 2, "-p 0"},
	{"-p -3 -l lo all", 2, "-p -3"},
	{"-4", 2, "a server is required"},
	{"-6 -l lo servers", 0, "to: servers"},
	{"-M nosuch -M nosuch all", 2, "-M"},
	{"-M nosuch -b mac=1234 all", 2, "-M excludes -b"},
	{"-y 3 -Y 10 127.0.0.1", 0, "after: 10s"},
	{"-y 3 127.0.0.1", 2, "-y and -Y need each other"},
	{"-6 -A1 --or 32,00000E10 -l lo all", 0, "00000E10"},
	{"-A1 --or 32,00000E10 -l lo all", 2, "-A needs -6"},
	{"-6 --or 32,00000E10 -l lo all", 2, "--or needs -6 -A 1"},
	{"-6 -A1 --or 32,00000E10 --or 23,20010DB800010000000000000000CAFE -l lo all", 0, "CAFE"},
	{"-6 -A1 --or 3200000E10 -l lo all", 2, "3200000E10"},
	{"-6 -A1 --or -32,00000E10 -l lo all", 2, "-32"},
	{"-6 -A1 --or 32,Z0000E10 -l lo all", 2, "Z0000E10"},
	{"-6 -A1 --or 1:32,00000E10 -l lo all", 0, "00000E10"},
	{"-6 -A1 --or -1:32,00000E10 -l lo all", 2, "-1:32"},
	{"-6 -A1 --or 0:32,00000E10 -l lo all", 2, "0:32"},
	{"-6 -A1 --or x:32,00000E10 -l lo all", 2, "x:32"},
	{"-6 -A1 --or 2:32,00000E10 -l lo all", 2, "2:32"},
	{"-i -n 5 -l lo all", 0, "exchange: discover"},
	{"-i -n 5 -n 6 -l lo all", 2, "-i excludes a second -n"},
	{"-i -d 5 -l lo all", 0, "exchange: discover"},
	{"-i -d 5 -d 6 -l lo all", 2, "-i excludes a second -d"},
	{"-i -D 5 -l lo all", 0, "exchange: discover"},
	{"-i -D 5 -D 6 -l lo all", 2, "-i excludes a second -D"},
	{"-i -T nosuch -l lo all", 2, "-T nosuch"},
	{"-i -T nosuch -T nosuch -l lo all", 2, "-i excludes a second -T"},
	{"-i -X 3 -X 4 -l lo all", 2, "-i excludes a second -X"},
	{"-i -O 40 -l lo all", 2, "each -O needs a -T"},
	{"-i -O 40 -O 41 -l lo all", 2, "-i excludes a second -O"},
	{"-X 3 -X 4 -T nosuch -l lo all", 2, "each -X needs a -T"},
	{"-X 3 -T nosuch -l lo all", 2, "-T nosuch"},
	{"-O 40 -O 41 -T nosuch -l lo all", 2, "each -O needs a -T"},
	{"-O 40 -T nosuch -l lo all", 2, "-T nosuch"},
	{"-i -1 -l lo all", 2, "-i excludes -1"},
	{"-T nosuch -E 3 -l lo all", 2, "-E needs a second -T"},
	{"-T nosuch -S 3 -l lo all", 2, "-S needs a second -T"},
	{"-T nosuch -I 3 -l lo all", 2, "-I needs a second -T"},
	{"-T nosuch -T nosuch -E 3 -S 3 -I 3 -l lo all", 2, "-T nosuch"},
	{"-6 -c -l lo all", 2, "-c needs -i"},
	{"-Y 3 127.0.0.1", 2, "-y and -Y need each other"},
	{"-o 60,6162 -4 -l lo all", 2, "-o needs -4 or -6 before it"},
	{"-4 -o 60,6162 -l lo all", 0, "dhcp4:"},
	{"--scenario avalanche -l lo all", 2, "--scenario avalanche needs -R"},
	{"--scenario avalanche -R 5 -l lo all", 0, "clients: 5"},
	{"--scenario basic -l lo all", 0, "dhcp4:"},
	{"--scenario basi -l lo all", 2, "basi: not one of: basic avalanche"},
	{"--scenario asic -l lo all", 2, "asic: not one of: basic avalanche"},
	{"-x l -l lo all", 0, "save: leases.csv"},
	{"-x s -l lo all", 0, "save: leases.csv"},
	{"-x t -l lo all", 0, "when: [answered, step, failed, lost]"},
	{"-x T -l lo all", 0, "when: [answered, step, failed, lost]"},
	{"-g single -l lo all", 0, "dhcp4:"},
	{"-g multi -l lo all", 0, "dhcp4:"},
	{"-g multis -l lo all", 2, "not one of: single multi"},
};

static int run_words(void *ctx)
{
	char *argv[32] = {(char *)"ddiperf", (char *)"as", (char *)"perfdhcp"}, *rest, *words = ctx;
	int argc = 3;

	for (char *w = strtok_r(words, " ", &rest); w; w = strtok_r(NULL, " ", &rest))
		argv[argc++] = w;
	argv[argc++] = (char *)"--dump";
	optind = 0; // getopt_long begins anew
	return commands_run(argc, argv);
}

static void each_command_line_is_taken_or_refused_as_by_the_original(void **state)
{
	const uint32_t count = sizeof(command_lines) / sizeof(*command_lines);
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct command_line *c = &command_lines[i];
		char words[128];
		int code;

		assert_true(strlen(c->words) < sizeof(words));
		strcpy(words, c->words);
		code = capture_output(run_words, words);
		if (code == c->code && strstr(captured, c->says))
			continue;
		print_error(
			"%s: exit code %d, \"%s\" not in: %s", c->words, code, c->says, captured);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

// --- -x t and -x T ---

// A UDP datagram as a block of a capture file.
static void put_packet(
	struct fixture *x, uint64_t us, const void *message, uint32_t len, const char *comment)
{
	const uint32_t text_len = (uint32_t)strlen(comment), text_room = (text_len + 3) / 4 * 4;
	const uint64_t at = STARTED + us * 1000;
	const uint16_t option[] = {1, (uint16_t)text_len};
	struct frame_path path = {.dst = {.len = 4}, .dst_port = 67};
	struct frame_template t;
	uint8_t block[1000] = {0};
	uint32_t frame_len, size;

	frame_template_build(&t, &path);
	memcpy(block + 28 + t.len, message, len);
	frame_len = frame_stamp(&t, block + 28, (const uint8_t[16]){10, 0, 0, 1}, 68,
		(struct frame_payload){len, 0});
	size = 28 + (frame_len + 3) / 4 * 4;
	if (text_len) {
		memcpy(block + size, option, sizeof(option));
		memcpy(block + size + sizeof(option), comment, text_len);
		size += 4 + text_room + 4; // and the end of options
	}
	size += 4;
	memcpy(block,
		(const uint32_t[]){
			6, size, 0, (uint32_t)(at >> 32), (uint32_t)at, frame_len, frame_len},
		28);
	assert_int_equal(write(x->p.packets, block, size), size);
}

static void put4(
	struct fixture *x, uint64_t us, uint32_t xid, uint8_t type, bool reply, uint8_t ciaddr)
{
	uint8_t m[240 + 12] = {reply ? 2 : 1};

	bytes_put_be32(m + 4, xid);
	m[15] = ciaddr;
	memcpy(m + 240, (const uint8_t[]){0, 12, 2, 'a', 53, 53, 1, type, 255, 53, 1, 1}, 12);
	put_packet(x, us, m, sizeof(m),
		xid == 9   ? "preload: answered"
		: xid == 1 ? "clients: answered"
			   : "");
}

static void set_up_packets(struct fixture *x, const char *line)
{
	set_up(x, line);
	x->p.packets = memfd_create("packets", 0);
	assert_true(x->p.packets >= 0);
	assert_int_equal(write(x->p.packets, (const uint32_t[7]){0x0a0d0d0a, 28}, 28), 28);
}

#define MEASURED                                                                                   \
	"{\"run\": {\"measured_from_ns\": 1700000000000000000}, \"traffic\": [{\"sending_s\": 1, " \
	"\"steps\": []}]"

static void messages_are_timed_with_the_reply_behind_them(void **state)
{
	struct fixture x;

	set_up_packets(&x, "x t f 1");
	put4(&x, 100, 1, 1, false, 0);
	put4(&x, 150, 9, 1, false, 0); // of the preload
	put4(&x, 160, 9, 2, true, 0);
	put4(&x, 200, 2, 1, false, 0); // no reply
	put4(&x, 300, 1, 2, true, 0);
	put4(&x, 400, 1, 3, false, 0);
	put4(&x, 2000700, 1, 5, true, 0);
	put4(&x, 2000800, 3, 3, false, 7);
	put4(&x, 2000900, 3, 5, true, 7);
	put4(&x, 2001000, 4, 3, false, 0);
	put4(&x, 2001100, 4, 6, true, 0); // a NAK
	put4(&x, 2001200, 5, 5, true, 0); // a stray
	report(&x, MEASURED "}");
	assert_captured("***Timestamps for packets: DISCOVER-OFFER***\n"
			"sent / received: 000000.000100 / 000000.000300\n\n");
	assert_captured("***Timestamps for packets: REQUEST-ACK***\n"
			"sent / received: 000000.000400 / 000002.000700\n\n");
	assert_captured("***Timestamps for packets: REQUEST-ACK (renewal)***\n"
			"sent / received: 000002.000800 / 000002.000900\n\n");
}

// The message alone, or in a relay message, after another option and perhaps cut by `cut` bytes.
static void put6(struct fixture *x, uint64_t us, uint32_t type_and_xid, bool relayed, uint32_t cut)
{
	static const uint8_t around[] = {0, 18, 0, 1, 'i', 0, 9, 0, 8};
	uint8_t m[34 + sizeof(around) + 8] = {12};

	memcpy(m + 34, around, sizeof(around));
	bytes_put_be32(m + 34 + sizeof(around), type_and_xid);
	put_packet(x, us, relayed ? m : m + 34 + sizeof(around),
		(relayed ? (uint32_t)sizeof(m) : 8) - cut, "");
}

static void messages_of_relays_are_timed_too(void **state)
{
	struct fixture x;

	set_up_packets(&x, "6 - x t f 1 F 1");
	put6(&x, 100, 0x01000001, false, 0);
	put6(&x, 200, 0x02000001, false, 0);
	put6(&x, 300, 0x03000001, true, 0);
	put6(&x, 400, 0x07000001, true, 0);
	put6(&x, 500, 0x05000002, true, 0);
	put6(&x, 600, 0x07000002, true, 0);
	put6(&x, 700, 0x08000003, false, 4);
	put6(&x, 800, 0x07000003, false, 4);
	put6(&x, 900, 0x01000004, true, 0);
	put6(&x, 910, 0x02000004, true, 1);  // cut
	put6(&x, 920, 0x02000004, false, 5); // cut
	put6(&x, 930, 0x0b000004, false, 0); // neither message nor reply of perfdhcp
	report(&x, MEASURED "}");
	assert_captured("***Timestamps for packets: SOLICIT-ADVERTISE***\n"
			"sent / received: 000000.000100 / 000000.000200\n\n");
	assert_captured("***Timestamps for packets: REQUEST-REPLY***\n"
			"sent / received: 000000.000300 / 000000.000400\n\n");
	assert_captured("***Timestamps for packets: RENEW-REPLY***\n"
			"sent / received: 000000.000500 / 000000.000600\n\n");
	assert_captured("***Timestamps for packets: RELEASE-REPLY***\n"
			"sent / received: 000000.000700 / 000000.000800\n\n");
}

static void no_times_and_lost_packets_are_told(void **state)
{
	static const char *const captures[] = {"{\"dropped\": 1}", "{\"limit_reached\": true}",
		"{\"dropped\": 0, \"limit_reached\": false}"};

	for (int i = 0; i < 3; i++) {
		struct fixture x;
		char text[200];

		set_up_packets(&x, "x t");
		put4(&x, 100, 1, 1, false, 0);
		snprintf(text, sizeof(text), MEASURED ", \"capture\": %s}", captures[i]);
		report(&x, text);
		assert_captured("***Timestamps for packets: DISCOVER-OFFER***\n"
				"Unavailable! No packets received.\n\n");
		assert_int_equal(strstr(captured, "-x t: lines are missing") != NULL, i < 2);
	}
}

static void the_first_message_of_each_kind_is_a_template(void **state)
{
	struct fixture x;

	set_up_packets(&x, "x T X 3 S 50");
	put4(&x, 100, 0x00abcdef, 1, false, 0);
	put4(&x, 200, 0x00abcdef, 2, true, 0);
	put4(&x, 300, 0x00123456, 1, false, 0);
	put4(&x, 400, 0x00fedcba, 3, false, 7);
	put4(&x, 500, 0x00fedcba, 3, false, 0);
	report(&x, MEASURED "}");
	assert_captured("xid-offset=3\nrandom-offset=35\ncontents: \n"
			"0000   0100000000abcdef0000000000000000\n"
			"0020   00000000000000000000000000000000\n");
	assert_captured("01e0   000c0261353501"
			"01ff350101\n\nxid-offset=4\nrandom-offset=35\n"
			"srvid-offset=50\ntime-offset=8\nip-offset=240\ncontents: \n"
			"0000   0100000000fedcba0000000000000000\n");
	assert_null(strstr(captured, "Timestamps"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_command_line_is_taken_or_refused_as_by_the_original),
		cmocka_unit_test(losses_of_this_host_and_silence_are_no_drops),
		cmocka_unit_test(a_refused_lease_is_no_success),
		cmocka_unit_test(what_never_came_has_the_form_of_the_original),
		cmocka_unit_test(leases_are_in_both_blocks),
		cmocka_unit_test(prefixes_are_beside_addresses),
		cmocka_unit_test(interim_lines_have_sums),
		cmocka_unit_test(messages_are_timed_with_the_reply_behind_them),
		cmocka_unit_test(messages_of_relays_are_timed_too),
		cmocka_unit_test(no_times_and_lost_packets_are_told),
		cmocka_unit_test(the_first_message_of_each_kind_is_a_template),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
