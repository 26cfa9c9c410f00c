// SPDX-License-Identifier: BSD-3-Clause
// Rules and files of settings of clients of both families: tests over the fixture of a family.
// Path: tests only.
#pragma once

static void shares_of_a_mix_are_up_to_100_percent(void **state)
{
	REFUSED(fixture_new(1), "the shares add up to 110% (up to 100%)",
		f->mix.share[DHCP_FOUR_WAY] = 0.7, f->mix.share[DHCP_RAPID] = 0.4);
}

static void bad_vlans_are_refused(void **state)
{
	FIXTURE *f = fixture_new(4);

	f->vlans[0] = (struct dhcp_vlan_settings){{1, 2}, {f->vlan_ids, 1}};
	f->vlans[1] = (struct dhcp_vlan_settings){{2, 3}, {f->vlan_ids, 3}};
	fixture_check(f);
	assert_diag_has(f->diag, "clients are in two ranges");
	assert_refused(f, "3 VLANs (1 or 2)");
}

static void macs_of_groups_are_refused_on_a_link(void **state)
{
	FIXTURE *right = fixture_new(1);

	REFUSED(fixture_new(1), "a group address: clients on a link are single stations",
		f->settings.is.mac[0] = 3);
	REFUSED(fixture_new(2), "runs into group addresses with 2 clients",
		memset(f->settings.is.mac, 0xff, 6), f->settings.is.mac[0] = 0xfe);
	memset(right->settings.is.mac, 0xff, 6);
	right->settings.is.mac[0] = 0xfe;
	assert_right(right);
}

static FIXTURE *fixture_behind(uint32_t clients)
{
	FIXTURE *f = fixture_new(clients);

	f->settings.is.relay = &f->relay.is;
	return f;
}

// Behind a relay all clients have enough, up to the last one.
static void macs_of_groups_are_taken_behind_a_relay(void **state)
{
	static const uint8_t highest[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xfe};
	const char *path = file_of("11:22:33:44:55:66\n02:00:00:00:00:01\n");
	FIXTURE *right = fixture_behind(2), *listed = fixture_behind(2);

	REFUSED(fixture_behind(3), "too near its end for 3 clients",
		memcpy(f->settings.is.mac, highest, 6));
	memcpy(right->settings.is.mac, highest, 6);
	assert_right(right);
	listed->settings.is.mac_file = path;
	fixture_end(fixture_open(listed));
	unlink(path);
}

static void there_is_a_client_for_each_worker(void **state)
{
	FIXTURE *f = fixture_new(2);

	f->env.workers = 3;
	assert_not_set_up(f, "2 clients for 3 CPUs (at least one for each)");
}

// 100 clients behind 50 relays: the pattern of a round has 50 offsets, not one.
static void memory_has_the_pattern_of_the_relays(void **state)
{
	FIXTURE *f = fixture_open(fixture_new(100));
	struct dhcp_plan p = *(const struct dhcp_plan *)f->ctx.shared;
	uint64_t before = f->facts.memory;

	p.common = NULL;
	p.relay_count = 50;
	f->facts.memory = 0;
	assert_true(dhcp_facts(&p, &f->env, &f->facts));
	assert_int_equal(f->facts.memory - before, 49 * sizeof(uint32_t));
	p.common->users--; // it is no item
	fixture_end(f);
}

static void macs_refused(const char *text, const char *why)
{
	FIXTURE *f = fixture_new(2);
	const char *path = file_of(text);

	f->settings.is.mac_file = path;
	assert_not_set_up(f, why);
	unlink(path);
}

static void bad_files_of_macs_are_refused(void **state)
{
	FIXTURE *f = fixture_new(2);

	macs_refused("02:00:00:00:00:01\nnonsense\n", ":2:1: \"nonsense\": not a MAC address");
	macs_refused("03:00:00:00:00:01\n02:00:00:00:00:01\n",
		":1:1: \"03:00:00:00:00:01\": a group address: clients on a link");
	macs_refused("00:01:02\n00:01:03\n", "\"00:01:02\": not an Ethernet address (6 bytes)");
	macs_refused("02:00:00:00:00:01\n", "the file has 1 MAC addresses for 2 clients");
	macs_refused("02:00:00:00:00:01\n02:00:00:00:00:01\n", "has 02:00:00:00:00:01 twice");
	f->settings.is.mac_file = "/nonexistent/file";
	assert_not_set_up(f, "/nonexistent/file: No such file");
}

static void a_run_without_answers_does_not_touch_the_file(void **state)
{
	FIXTURE *f = fixture_leasing(1);
	const char *path = file_of("old\n");
	char line[16];
	FILE *file;

	f->leases.save = path;
	fixture_start(f);
	fixture_end(f);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	assert_string_equal(line, "old\n");
	fclose(file);
	unlink(path);
}

static void a_check_leaves_no_file_behind(void **state)
{
	FIXTURE *f = fixture_leasing(1);
	const char *path = file_of("");

	unlink(path);
	f->leases.save = path;
	fixture_open(f);
	fixture_end(f);
	assert_int_not_equal(access(path, F_OK), 0);
}

static void leases_refused(const char *text, const char *why)
{
	FIXTURE *f = fixture_leasing(2);
	const char *path = file_of(text);

	f->leases.load = path;
	assert_not_set_up(f, why);
	unlink(path);
}

#define DHCP_SETUP_TESTS                                                                           \
	cmocka_unit_test(shares_of_a_mix_are_up_to_100_percent),                                   \
		cmocka_unit_test(bad_vlans_are_refused),                                           \
		cmocka_unit_test(macs_of_groups_are_refused_on_a_link),                            \
		cmocka_unit_test(macs_of_groups_are_taken_behind_a_relay),                         \
		cmocka_unit_test(there_is_a_client_for_each_worker),                               \
		cmocka_unit_test(memory_has_the_pattern_of_the_relays),                            \
		cmocka_unit_test(bad_files_of_macs_are_refused),                                   \
		cmocka_unit_test(a_run_without_answers_does_not_touch_the_file),                   \
		cmocka_unit_test(a_check_leaves_no_file_behind)
