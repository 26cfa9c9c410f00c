// SPDX-License-Identifier: BSD-3-Clause
// The report of perfdhcp from results: figures that the original has wrong, forms, and exit codes.
// What is equal to the original is in tests/live/test_perfdhcp.py.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "book.h"
#include "captured.h"
#include "front_perfdhcp.h"

#define SERVICE                                                                                    \
	"\"latency\": {\"service\": {\"count\": 90, \"min_ns\": 1000000, \"mean_ns\": 1500000, "   \
	"\"max_ns\": 2000000, \"stddev_ns\": 250000}}"

struct fixture {
	struct perfdhcp p;
	struct perfdhcp_given given[8];
	struct book book;
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

	return perfdhcp_end(&x->p, &x->book, 0);
}

static void report(struct fixture *x, const char *document)
{
	json_t *json = json_loads(document, 0, NULL);

	assert_non_null(json);
	book_take(&x->book, "result", json);
	x->code = capture_output(end, x);
	book_close(&x->book);
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

// What was offered was given: both blocks have it.
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

// Of the whole run so far, and none at its end.
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(losses_of_this_host_and_silence_are_no_drops),
		cmocka_unit_test(a_refused_lease_is_no_success),
		cmocka_unit_test(what_never_came_has_the_form_of_the_original),
		cmocka_unit_test(leases_are_in_both_blocks),
		cmocka_unit_test(interim_lines_have_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
