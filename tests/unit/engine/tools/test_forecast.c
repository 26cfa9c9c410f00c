// SPDX-License-Identifier: BSD-3-Clause
// The needs of a file: from sampled exchanges and a rate to packets, bits, CPUs and memory, and the
// parts that would not fit. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/config/config_load.h"
#include "engine/tools/forecast.h"

struct file {
	struct arena *a;
	struct diag *d;
	struct forecast f;
};

// The forecast of one DNS item; the question is of 31 octets.
static void file_open(struct file *file, const char *port, const char *item)
{
	const struct config *c;
	char *text;

	*file = (struct file){.a = arena_new(), .d = diag_new()};
	text = arena_printf(file->a,
		"ports: [{name: lan, driver: af_packet, device: nosuch0, addresses: "
		"[198.18.0.1/24, \"2001:db8::1/64\"]%s}]\n"
		"traffic: [{name: queries, dns: {names: [\"a.example.com A\"]}, %s}]\n",
		port, item);
	c = config_load_text("t.yaml", text, strlen(text), file->a, file->d);
	if (!c)
		diag_print(file->d, stderr);
	assert_non_null(c);
	assert_int_equal(forecast_make(c, file->a, file->d, &file->f), 0);
}

static void file_close(struct file *file)
{
	diag_free(file->d);
	arena_free(file->a);
}

static const struct forecast_item *item_of(const struct file *file)
{
	return file->f.traffic.items;
}

static const struct forecast_port *port_of(const struct file *file)
{
	return file->f.ports.items;
}

static void expect_warning(const struct file *file, const char *part)
{
	const char *const *all = file->f.warnings.items;

	for (uint32_t i = 0; i < file->f.warnings.count; i++)
		if (strstr(all[i], part))
			return;
	fail_msg("no warning about \"%s\" among %u", part, file->f.warnings.count);
}

static void a_frame_takes_its_framing_and_at_least_84_octets_of_the_wire(void **state)
{
	assert_int_equal(wire_octets(0), 84);
	assert_int_equal(wire_octets(59), 84);
	assert_int_equal(wire_octets(60), 84);
	assert_int_equal(wire_octets(61), 85);
	assert_int_equal(wire_octets(1514), 1538);
}

static void a_load_is_exchanges_times_what_one_of_them_is(void **state)
{
	const struct sample s = {.exchanges = 10,
		.messages = 20,
		.answers = 15,
		.message_octets = 2000,
		.answer_octets = 3000};
	struct forecast_item i = {.paced = true, .per_s = 1000};

	forecast_load(&i, &s, 250);
	assert_float_equal(i.messages, 2, 1e-9);
	assert_float_equal(i.answers, 1.5, 1e-9);
	assert_float_equal(i.out_per_s, 2000, 1e-6);
	assert_float_equal(i.in_per_s, 1500, 1e-6);
	assert_float_equal(i.out_bps, 2000 * 100 * 8, 1e-3);
	assert_float_equal(i.in_bps, 1500 * 200 * 8, 1e-3);
	assert_float_equal(i.exchange_ns, 500, 1e-9);
	assert_float_equal(i.cpus, 0.0005, 1e-9);
}

static void without_a_rate_the_workers_are_the_rate(void **state)
{
	const struct sample s = {.exchanges = 1, .messages = 2, .answers = 2};
	struct forecast_item i = {.paced = false, .per_s = 3};

	forecast_load(&i, &s, 250);
	assert_float_equal(i.per_s, 6e6, 1e-3);
	assert_float_equal(i.cpus, 3, 1e-9);
	// Messages that cost nothing, and no messages at all.
	i = (struct forecast_item){.paced = false, .per_s = 3};
	forecast_load(&i, &s, 0);
	assert_float_equal(i.per_s, 3, 0);
	i = (struct forecast_item){.paced = true, .per_s = 1000};
	forecast_load(&i, &(struct sample){.exchanges = 4}, 250);
	assert_float_equal(i.message_octets + i.answer_octets + i.out_bps + i.cpus, 0, 0);
	assert_float_equal(i.per_s, 1000, 0);
}

static void nothing_is_said_about_exchanges_that_nobody_could_look_at(void **state)
{
	const struct sample s = {.exchanges = 0};
	struct forecast_item i = {.paced = true, .per_s = 1000};

	forecast_load(&i, &s, 250);
	assert_int_equal(i.sampled, 0);
	assert_float_equal(i.out_bps, 0, 0);
	assert_float_equal(i.cpus, 0, 0);
}

static void what_could_not_be_looked_at_is_said(void **state)
{
	struct forecast_item i = {.name = "renewals", .port = "lan", .sampled = 0};
	struct file file = {.a = arena_new(), .d = diag_new(), .f = {.traffic = {&i, 1}}};

	forecast_judge(&file.f, file.a);
	expect_warning(&file, "traffic renewals: ");
	i.sampled = 1;
	forecast_judge(&file.f, file.a);
	assert_int_equal(file.f.warnings.count, 0);
	file_close(&file);
}

static void items_add_up_to_their_port_and_its_link(void **state)
{
	const struct forecast_item i = {
		.out_per_s = 1, .in_per_s = 2, .out_bps = 3e8, .in_bps = 4e8, .cpus = 0.25};
	struct forecast_port p = {.link_bps = 1000000000};

	forecast_add(&p, &i);
	forecast_add(&p, &i);
	assert_float_equal(p.out_per_s, 2, 0);
	assert_float_equal(p.in_per_s, 4, 0);
	assert_float_equal(p.out_share, 0.6, 1e-9);
	assert_float_equal(p.in_share, 0.8, 1e-9);
	assert_float_equal(p.cpus, 0.5, 1e-9);
}

static void a_query_has_the_length_that_it_has_on_the_wire(void **state)
{
	static const struct {
		const char *port, *server;
		uint32_t headers;
	} rows[] = {
		{"", "198.18.0.2", 42},
		{", vlans: [100]", "198.18.0.2", 46},
		{", vlans: [100, 200]", "198.18.0.2", 50},
		{"", "\"2001:db8::2\"", 62},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct file file;
		char text[128];

		snprintf(text, sizeof(text), "server: %s, load: {rate: 1k}", rows[i].server);
		file_open(&file, rows[i].port, text);
		assert_int_equal(item_of(&file)->sampled, SAMPLE_EXCHANGES);
		assert_int_equal(item_of(&file)->assumed, 0);
		assert_float_equal(item_of(&file)->message_octets, rows[i].headers + 31 + 24, 1e-9);
		assert_true(item_of(&file)->answer_octets > item_of(&file)->message_octets);
		assert_int_equal(file.f.warnings.count, 0);
		file_close(&file);
	}
}

static void slots_source_ports_and_tables_follow_from_rate_and_timeout(void **state)
{
	struct file small, large;

	file_open(&small, "", "server: 198.18.0.2, load: {rate: 1k}, timeout: 1s");
	file_open(&large, "", "server: 198.18.0.2, load: {rate: 1M}, timeout: 1s");
	assert_in_range(item_of(&small)->slots, 1000, 1400);
	assert_in_range(item_of(&large)->slots, 1000000, 1100000);
	assert_int_equal(item_of(&small)->source_ports_needed, 1);
	assert_int_equal(item_of(&large)->source_ports_needed, 49); // keys of three timeouts
	assert_int_equal(item_of(&large)->source_ports, 64512);
	// A slot of 64 bytes and its place in the index; the outcomes, and the lost ones.
	assert_in_range(item_of(&large)->memory - item_of(&small)->memory,
		68 * (item_of(&large)->slots - item_of(&small)->slots),
		72 * item_of(&large)->slots + (2u << 20));
	assert_int_equal(
		large.f.memory, large.f.input + item_of(&large)->memory + port_of(&large)->memory);
	file_close(&small);
	file_close(&large);
}

static void what_is_too_much_is_said_before_the_run(void **state)
{
	struct file file;

	file_open(&file, ", link_speed: 10G",
		"server: 198.18.0.2, load: {rate: 20M}, timeout: 100ms");
	expect_warning(&file, "to the server, the link has 10.00");
	expect_warning(&file, "of replies, the link has 10.00");
	expect_warning(&file, "for 1 worker ");
	file.f.memory_available = file.f.memory - 1;
	forecast_judge(&file.f, file.a);
	expect_warning(&file, "memory: ");
	file_close(&file);
}

static void a_driver_whose_time_is_not_known_is_named(void **state)
{
	struct forecast_port p = {.name = "lan", .driver = "pci", .out_per_s = 1, .workers = 2};
	struct file file = {.a = arena_new(), .d = diag_new(), .f = {.ports = {&p, 1}}};

	forecast_judge(&file.f, file.a);
	expect_warning(&file, "port lan: the CPU time of driver pci is not known, so 2 workers");
	p.driver_known = true;
	forecast_judge(&file.f, file.a);
	assert_int_equal(file.f.warnings.count, 0);
	p = (struct forecast_port){.name = "dut", .driver = "pci", .workers = 1}; // no traffic
	forecast_judge(&file.f, file.a);
	assert_int_equal(file.f.warnings.count, 0);
	file_close(&file);
}

static void as_fast_as_it_goes_is_never_too_much_for_the_workers(void **state)
{
	struct file file;

	file_open(&file, "", "server: 198.18.0.2, load: {outstanding: 100}");
	assert_false(item_of(&file)->paced);
	assert_float_equal(port_of(&file)->cpus, 1, 1e-9);
	assert_int_equal(file.f.warnings.count, 0);
	file_close(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_takes_its_framing_and_at_least_84_octets_of_the_wire),
		cmocka_unit_test(a_load_is_exchanges_times_what_one_of_them_is),
		cmocka_unit_test(without_a_rate_the_workers_are_the_rate),
		cmocka_unit_test(nothing_is_said_about_exchanges_that_nobody_could_look_at),
		cmocka_unit_test(what_could_not_be_looked_at_is_said),
		cmocka_unit_test(items_add_up_to_their_port_and_its_link),
		cmocka_unit_test(a_query_has_the_length_that_it_has_on_the_wire),
		cmocka_unit_test(slots_source_ports_and_tables_follow_from_rate_and_timeout),
		cmocka_unit_test(what_is_too_much_is_said_before_the_run),
		cmocka_unit_test(a_driver_whose_time_is_not_known_is_named),
		cmocka_unit_test(as_fast_as_it_goes_is_never_too_much_for_the_workers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
