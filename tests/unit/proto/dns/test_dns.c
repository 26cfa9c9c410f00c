// SPDX-License-Identifier: BSD-3-Clause
// The rows of DNS: every member has one, and names something that exists. Path: tests only.

#include "dns_fixture.h"

#include "proto/dns/dns.h"

// Rows of u64 and arrays of it cover the whole struct, each byte once.
static void check_counters(const struct counter_section *s)
{
	size_t covered = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		const struct counter *c = &s->rows[i];

		assert_true(c->type == COUNTER_U64 || c->type == COUNTER_ARRAY);
		assert_int_equal(c->offset, covered);
		covered += sizeof(uint64_t) * (c->type == COUNTER_ARRAY ? c->length : 1);
		for (uint32_t j = 0; j < c->length; j++)
			assert_non_null(c->label(j));
	}
	assert_int_equal(covered, s->size);
}

static void counters_are_u64_and_all_have_a_row(void **state)
{
	check_counters(dns_proto.counters);
	check_counters(dns_proto.server->counters);
}

static void check_settings(const struct field_section *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		const struct field *f = &s->fields[i];

		assert_true(f->offset < s->size);
		assert_non_null(f->help);
		assert_int_equal(f->type == FIELD_ENUM, f->names != NULL);
		assert_int_equal(f->type == FIELD_SECTION, f->section != NULL);
		for (uint32_t j = 0; j < i; j++) {
			assert_string_not_equal(f->name, s->fields[j].name);
			assert_int_not_equal(f->offset, s->fields[j].offset);
		}
		if (f->section)
			check_settings(f->section);
	}
}

static void settings_have_names_and_places_of_their_own(void **state)
{
	check_settings(dns_proto.settings);
	check_settings(dns_proto.server->settings);
}

static void every_verb_is_there(void **state)
{
	const struct proto *p = &dns_proto;

	assert_int_equal(p->ports->plain, 53);
	assert_int_equal(p->key_bits, 16);
	assert_int_equal(proto_steps(p), 1);
	assert_true(p->check && p->setup && p->teardown && p->open && p->close);
	assert_true(p->request && p->key && p->reply && p->timeout && !p->router);
	assert_true(p->server->setup && p->server->teardown && p->server->answer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_are_u64_and_all_have_a_row),
		cmocka_unit_test(settings_have_names_and_places_of_their_own),
		cmocka_unit_test(every_verb_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
