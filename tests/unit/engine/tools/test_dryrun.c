// SPDX-License-Identifier: BSD-3-Clause
// The first packets of a run in a file: how many of each item, from which port, in the order of
// their due times. Path: cold. Test.
#include "../loaded.h"

#include <unistd.h>

#include "engine/run/run.h"
#include "engine/tools/dryrun.h"

#define PACKETS_MAX 512
#define ENHANCED    6 // block type of pcapng

static struct packet {
	uint32_t interface;
	uint64_t time;
	uint8_t last; // byte of the destination address
} packets[PACKETS_MAX];
static uint32_t count;
static uint64_t written;

static uint32_t u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static void read_packets(const char *path)
{
	static uint8_t all[1 << 20];
	FILE *f = fopen(path, "rb");
	size_t len;

	assert_non_null(f);
	len = fread(all, 1, sizeof(all), f);
	fclose(f);
	count = 0;
	for (size_t at = 0; at + 12 <= len; at += u32(all + at + 4)) {
		const uint8_t *b = all + at;

		assert_true(u32(b + 4) >= 12);
		if (u32(b) != ENHANCED)
			continue;
		assert_true(count < PACKETS_MAX);
		packets[count++] = (struct packet){.interface = u32(b + 8),
			.time = (uint64_t)u32(b + 12) << 32 | u32(b + 16),
			.last = b[28 + 33]};
	}
}

static int dryrun(const char *text)
{
	char path[] = "/tmp/ddiperf-dryrun-XXXXXX";
	struct loaded l = loaded_from(text);
	struct dryrun out;
	int fd = mkstemp(path), code;

	assert_true(fd >= 0);
	close(fd);
	code = dryrun_write(l.config, path, l.a, l.d, &out);
	written = out.packets;
	read_packets(path);
	unlink(path);
	loaded_free(&l);
	return code;
}

static uint32_t packets_to(uint8_t last)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++)
		n += packets[i].last == last;
	return n;
}

#define PORTS(cpus)                                                                                \
	"run: {warmup: 0s, duration: 10s}\nports:\n"                                               \
	"  - {name: lan, driver: af_packet, device: nosuch0, cpus: " cpus                          \
	", addresses: [198.18.0.1/24]}\n"                                                          \
	"  - {name: wan, driver: af_packet, device: nosuch1, addresses: [198.19.0.1/24]}\n"
#define ITEM(port, server, load)                                                                   \
	"  - {name: \"" server "\", port: " port ", server: " server ", load: {" load              \
	"}, " LOADED_DNS "}\n"

static void expect_order(void)
{
	for (uint32_t i = 1; i < count; i++)
		assert_true(packets[i].time >= packets[i - 1].time);
}

static void items_share_the_packets_in_the_order_in_which_they_are_due(void **state)
{
	assert_int_equal(dryrun(PORTS("1") "traffic:\n" ITEM("lan", "198.18.0.2", "rate: 1k")
					 ITEM("wan", "198.19.0.3", "rate: 2k")),
		EXIT_PASS);
	assert_int_equal(written, DRYRUN_PACKETS);
	assert_int_equal(count, DRYRUN_PACKETS);
	assert_int_equal(packets_to(2), DRYRUN_PACKETS / 2);
	assert_int_equal(packets_to(3), DRYRUN_PACKETS / 2);
	expect_order();
	// The faster one is first: at 0.25 ms, then both at 0.5 and 0.75 ms.
	assert_int_equal(packets[0].last, 3);
	assert_int_equal(packets[1].last, 2);
	assert_int_equal(packets[2].last, 3);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(packets[i].interface, packets[i].last == 3);
}

// Of two due at once, the item earlier in the file is first.
static void the_order_of_the_file_decides_between_equals(void **state)
{
	dryrun(PORTS("1") "traffic:\n" ITEM("lan", "198.18.0.2", "rate: 1k")
			ITEM("lan", "198.18.0.3", "rate: 1k"));
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(packets[i].last, 2 + i % 2);
}

static void several_workers_send_what_one_would_have(void **state)
{
	dryrun(PORTS("1-3") "traffic:\n" ITEM("lan", "198.18.0.2", "rate: 1k"));
	assert_int_equal(count, DRYRUN_PACKETS);
	expect_order();
	for (uint32_t i = 1; i < count; i++)
		assert_int_equal(
			packets[i].time - packets[i - 1].time, packets[1].time - packets[0].time);
}

static void many_items_have_one_packet_each(void **state)
{
	char text[16384] = PORTS("1") "traffic:\n";

	for (int i = 0; i < 60; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			"  - {name: i%d, port: lan, server: 198.18.0.%d, load: {rate: 1k},"
			" " LOADED_DNS "}\n",
			i, 10 + i);
	dryrun(text);
	assert_int_equal(count, 60);
	for (int i = 0; i < 60; i++)
		assert_int_equal(packets_to((uint8_t)(10 + i)), 1);
}

static void a_load_that_ends_has_no_more_packets(void **state)
{
	dryrun(PORTS("1") "traffic:\n" ITEM("lan", "198.18.0.2", "rate: 1k, total: 7"));
	assert_int_equal(count, 7);
	// Without replies a closed loop stops with all of them in flight.
	dryrun(PORTS("1") "traffic:\n" ITEM("lan", "198.18.0.2", "outstanding: 5, slots: 100"));
	assert_int_equal(count, 5);
	// Sends due at the end of the run are not sent.
	dryrun(PORTS("1") "traffic:\n" ITEM("lan", "198.18.0.2", "rate: 1.25"));
	assert_int_equal(count, 12);
}

static void what_cannot_be_written_is_said(void **state)
{
	struct loaded l =
		loaded_from(PORTS("1") "traffic:\n" ITEM("lan", "198.18.0.2", "rate: 1k"));
	struct dryrun out;

	assert_int_equal(dryrun_write(l.config, "/nosuch/x", l.a, l.d, &out), EXIT_CONFIG);
	assert_int_equal(dryrun_write(l.config, "/dev/full", l.a, l.d, &out), EXIT_ENVIRONMENT);
	loaded_free(&l);
	l = loaded_from(LOADED_PORTS);
	assert_int_equal(dryrun_write(l.config, "/nosuch/x", l.a, l.d, &out), EXIT_CONFIG);
	loaded_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_share_the_packets_in_the_order_in_which_they_are_due),
		cmocka_unit_test(the_order_of_the_file_decides_between_equals),
		cmocka_unit_test(several_workers_send_what_one_would_have),
		cmocka_unit_test(many_items_have_one_packet_each),
		cmocka_unit_test(a_load_that_ends_has_no_more_packets),
		cmocka_unit_test(what_cannot_be_written_is_said),
	};

	return cmocka_run_group_tests_name("dryrun", tests, NULL, NULL);
}
