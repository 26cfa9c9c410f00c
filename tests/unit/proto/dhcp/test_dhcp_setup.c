// SPDX-License-Identifier: BSD-3-Clause
// The set-up common to both families: shares of workers in clients, files line by line. Path: tests
// only.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <errno.h>

#include "dhcp_file_fixture.h"
#include "proto/dhcp/client/lease/dhcp_lines.h"
#include "proto/dhcp/client/lease/dhcp_addresses.h"
#include "proto/dhcp/client/dhcp_turns.h"

#define CLIENTS_MAX 300

static uint32_t home_of(uint32_t number, uint32_t relays, uint32_t workers, const uint8_t *homes)
{
	uint32_t relay = relays ? number % relays : number;

	return homes ? homes[relay] : relay % workers;
}

// Plays all workers, each client by one. Returns the number of clients played by their relay's
// home.
static uint32_t deal(uint32_t clients, uint32_t relays, uint32_t workers, const uint8_t *homes)
{
	bool seen[CLIENTS_MAX] = {false};
	uint32_t all = 0, home = 0;

	for (uint32_t i = 0; i < workers; i++) {
		const struct proto_env env = {.worker = i, .workers = workers, .homes = homes};
		uint32_t last = 0;
		struct dhcp_turns t;

		assert_int_equal(dhcp_turns_init(&t, &env, clients, relays), 0);
		assert_int_equal(t.count, clients / workers + (i < clients % workers));
		for (uint32_t k = 0; k < t.count; k++) {
			uint32_t number = dhcp_turns_number(&t, k);

			assert_in_range(number, last, clients - 1);
			assert_false(seen[number]);
			assert_int_equal(dhcp_turns_find(&t, number), k);
			home += home_of(number, relays, workers, homes) == i;
			seen[number] = true;
			last = number;
		}
		for (uint32_t number = 0; number < clients; number++)
			if (dhcp_turns_find(&t, number) == UINT32_MAX)
				all++;
		dhcp_turns_free(&t);
	}
	assert_int_equal(all, clients * (workers - 1));
	return home;
}

static void each_client_is_of_one_worker(void **state)
{
	static const uint32_t clients[] = {1, 2, 7, 60, 64, 65, CLIENTS_MAX};

	for (size_t c = 0; c < sizeof(clients) / sizeof(clients[0]); c++)
		for (uint32_t workers = 1; workers <= 9; workers++) {
			assert_int_equal(deal(clients[c], 0, workers, NULL), clients[c]);
			for (uint32_t relays = 1; relays <= 20; relays++) {
				uint8_t homes[20];

				for (uint32_t i = 0; i < relays; i++)
					homes[i] = (uint8_t)(rand_hash(i) % workers);
				deal(clients[c], relays, workers, NULL);
				deal(clients[c], relays, workers, homes);
			}
		}
}

static void a_worker_plays_the_clients_of_its_relays_as_far_as_they_are_its_share(void **state)
{
	const uint8_t homes[] = {1, 0, 0, 1}, uneven[] = {0, 0, 0, 1};

	assert_int_equal(deal(240, 4, 2, homes), 240);
	assert_int_equal(deal(240, 4, 2, NULL), 240);
	assert_int_equal(deal(240, 4, 2, uneven), 180);
	assert_int_equal(deal(240, 4, 4, homes), 120);
	assert_int_equal(deal(240, 3, 2, NULL), 200);
	assert_int_equal(deal(240, 1, 2, NULL), 120);
	assert_int_equal(deal(242, 4, 2, homes), 242); // in the last round too
}

static int hex_line(void *to, char *line, const char **what)
{
	uint8_t bytes[4];
	int len = dhcp_hex_read(line, bytes, sizeof(bytes));

	*what = len == -ENOSPC ? "too long" : "bad";
	if (len < 0)
		return -EINVAL;
	return dhcp_rows_add(to, bytes) ? ((struct dhcp_rows *)to)->count == 3 : -ENOMEM;
}

static int lines_read(const char *text, struct dhcp_rows *rows, struct diag *d)
{
	const char *path = file_of(text);
	int ret = dhcp_lines_read(path, NULL, hex_line, rows, d);

	unlink(path);
	return ret;
}

static void lines_are_read_until_there_are_enough(void **state)
{
	struct dhcp_rows rows = {.size = 4};
	struct diag *d = diag_new();
	const void *twice;
	void *sorted;

	assert_int_equal(
		lines_read("# x\n\n 01:02 03 04 \r\nffFF0000\n01020304\nnonsense", &rows, d), 0);
	assert_int_equal(rows.count, 3);
	assert_memory_equal(rows.items, "\1\2\3\4\xff\xff\0\0\1\2\3\4", 12);
	sorted = dhcp_rows_sort(&rows, &twice);
	assert_memory_equal(sorted, "\1\2\3\4\1\2\3\4\xff\xff\0\0", 12);
	assert_memory_equal(twice, "\1\2\3\4", 4);
	assert_int_equal(diag_count(d), 0);
	free(sorted);
	free(rows.items);
	diag_free(d);
}

static void ten_bad_lines_are_listed_and_the_others_counted(void **state)
{
	struct dhcp_rows rows = {.size = 4};
	struct diag *d = diag_new();
	char *text = calloc(1, 65536);

	for (uint32_t i = 0; i < 12; i++)
		strcat(text, "0\n");
	assert_int_equal(lines_read(text, &rows, d), -EINVAL);
	assert_int_equal(diag_count(d), 11);
	diag_free(d);
	d = diag_new();
	memset(text, '0', 65535); // as long a line as it is
	assert_int_equal(lines_read(text, &rows, d), -EINVAL);
	assert_int_equal(diag_count(d), 1);
	free(text);
	free(rows.items);
	diag_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_client_is_of_one_worker),
		cmocka_unit_test(
			a_worker_plays_the_clients_of_its_relays_as_far_as_they_are_its_share),
		cmocka_unit_test(lines_are_read_until_there_are_enough),
		cmocka_unit_test(ten_bad_lines_are_listed_and_the_others_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
