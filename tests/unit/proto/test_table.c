// SPDX-License-Identifier: BSD-3-Clause
// The table of protocols: entries are found by name and fit the engine. Path: tests only.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rand.h"
#include "proto/table.h"
#include "proto/proto.h"

static void protocols_are_found_by_their_name(void **state)
{
	for (uint32_t i = 0; protos[i]; i++)
		assert_ptr_equal(proto_find(protos[i]->name), protos[i]);
	assert_non_null(proto_find("dns"));
	assert_null(proto_find("dn"));
	assert_null(proto_find(""));
}

static void every_row_keeps_the_limits_of_the_contract(void **state)
{
	for (uint32_t i = 0; protos[i]; i++) {
		const struct proto *p = protos[i];

		assert_in_range(p->key_bits, 8, 32);
		assert_in_range(proto_steps(p), 1, PROTO_MAX_STEPS);
		assert_true(!p->steps || p->steps[0]);
		assert_string_equal(p->settings->name, p->name);
		assert_string_equal(p->counters->name, p->name);
		assert_int_equal(p->counters->size % sizeof(uint64_t), 0);
	}
}

// The engine reads the key there instead of calling key.
static void check_key_place(const struct proto *p)
{
	const struct proto_key_place *k = &p->key_place;
	struct rand random = {0};
	uint32_t usual = 0;

	assert_in_range(k->least, k->at + 4, 512);
	for (uint32_t n = 0; n < 20000; n++) {
		uint32_t len = k->least + (uint32_t)rand_scale(rand_next(&random), 512 - k->least);
		uint32_t key = 0, found = 1;
		uint8_t buf[512];

		for (uint32_t b = 0; b < len; b++)
			buf[b] = (uint8_t)rand_next(&random);
		if ((bytes_be32(buf) & k->mask) != k->mark)
			continue;
		usual++;
		assert_true(p->key(buf, len, &key));
		assert_true(proto_key(p, buf, len, &found));
		assert_int_equal(found, key);
	}
	assert_true(usual > 0);
}

static void the_key_of_a_usual_reply_is_in_its_place(void **state)
{
	uint32_t known = 0;

	for (uint32_t i = 0; protos[i]; i++) {
		if (protos[i]->key_place.least == 0)
			continue;
		check_key_place(protos[i]);
		known++;
	}
	assert_in_range(known, 4, 8);
}

static void optional_parts_are_whole(void **state)
{
	for (uint32_t i = 0; protos[i]; i++) {
		const struct proto *p = protos[i];
		const struct proto_server *s = p->server;
		const struct proto_router *r = p->router;

		assert_true(p->setup && p->teardown);
		assert_true(p->request && p->key && p->reply && p->timeout);
		if (s) {
			assert_true(s->setup && s->teardown && s->answer);
			assert_string_equal(s->settings->name, p->name);
			assert_string_equal(s->counters->name, p->name);
			assert_int_equal(s->open != NULL, s->close != NULL);
		}
		if (r)
			assert_true(p->begin && r->owns);
		assert_int_equal(p->due != NULL, p->waiting != NULL);
		if (p->follower)
			assert_true(p->begin && p->due);
	}
}

static void only_an_unsolicited_reply_is_sent_beside_the_right_one(void **state)
{
	for (uint32_t i = 0; protos[i]; i++) {
		const struct proto_server *s = protos[i]->server;

		for (const struct proto_fault *f = s ? s->faults : NULL; f && f->name; f++)
			if (f->extra != (strcmp(f->name, "unsolicited") == 0))
				fail_msg("%s: %s", protos[i]->name, f->name);
	}
}

static void check_labels(const struct counter_section *s)
{
	for (uint32_t row = 0; row < s->count; row++) {
		const struct counter *c = &s->rows[row];

		for (uint32_t i = 0; i < c->length; i++)
			for (uint32_t k = 0; k < i; k++)
				if (strcmp(c->label(i), c->label(k)) == 0)
					fail_msg("%s.%s: %s is the label of %u and %u", s->name,
						c->name, c->label(i), k, i);
	}
}

static void no_two_places_of_a_figure_have_the_same_label(void **state)
{
	for (uint32_t i = 0; protos[i]; i++) {
		check_labels(protos[i]->counters);
		if (protos[i]->server)
			check_labels(protos[i]->server->counters);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(protocols_are_found_by_their_name),
		cmocka_unit_test(every_row_keeps_the_limits_of_the_contract),
		cmocka_unit_test(the_key_of_a_usual_reply_is_in_its_place),
		cmocka_unit_test(optional_parts_are_whole),
		cmocka_unit_test(only_an_unsolicited_reply_is_sent_beside_the_right_one),
		cmocka_unit_test(no_two_places_of_a_figure_have_the_same_label),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
