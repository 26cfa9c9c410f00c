// SPDX-License-Identifier: BSD-3-Clause
// One setting by its path: the row and the memory that --set would write to. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sample.h"

#include "fixture.h"

#define TEXT                                                                                       \
	"run: {seed: 7}\n"                                                                         \
	"traffic:\n"                                                                               \
	"  - {name: a, server: 10.0.0.1, load: {rate: 5k}, dns: {mode: fast}}\n"                   \
	"  - {name: b, server: 10.0.0.2, dhcp4: {clients: 9}}\n"

static const struct field *find(struct fixture *f, const char *path, const void **place)
{
	const char *what = NULL;
	const struct field *row = conf_find(&sample_section, &f->s, path, place, f->a, &what);

	assert_true((row == NULL) == (what != NULL));
	return row;
}

static void a_path_leads_to_row_and_memory(void **state)
{
	struct fixture f;
	const void *place;

	fixture_load(&f, TEXT);
	assert_string_equal(find(&f, "run.seed", &place)->name, "seed");
	assert_ptr_equal(place, &f.s.run.seed);
	assert_int_equal(find(&f, "traffic.b.load.rate", &place)->type, FIELD_RATE);
	assert_ptr_equal(place, &item_of(&f, 1)->load.rate);
	find(&f, "traffic[0].load.rate", &place);
	assert_ptr_equal(place, &item_of(&f, 0)->load.rate);
	find(&f, "traffic.a.dns.mode", &place);
	assert_ptr_equal(place, &((struct sample_dns *)item_of(&f, 0)->protocols[0])->mode);
	assert_true(find(&f, "criteria", &place)->list);
	fixture_end(&f);
}

// The row is found nevertheless.
static void what_is_not_in_the_file_has_no_memory(void **state)
{
	struct fixture f;
	const void *place = &f;

	fixture_load(&f, TEXT);
	assert_string_equal(find(&f, "traffic.b.dhcp4.relay.levels", &place)->name, "levels");
	assert_null(place);
	assert_string_equal(find(&f, "traffic.b.dns.mode", &place)->name, "mode");
	assert_null(place);
	fixture_end(&f);
}

static void assert_refused(struct fixture *f, const char *path, const char *words)
{
	const char *what = NULL;
	const void *place;

	assert_null(conf_find(&sample_section, &f->s, path, &place, f->a, &what));
	if (!strstr(what, words))
		fail_msg("%s: expected \"%s\" in: %s", path, words, what);
	assert_null(place);
}

static void what_is_not_there_is_refused_with_the_nearest(void **state)
{
	struct fixture f;

	fixture_load(&f, TEXT);
	assert_refused(&f, "rum.seed", "there is no \"rum\" (did you mean \"run\"?)");
	assert_refused(&f, "run.sed", "did you mean \"seed\"?");
	assert_refused(&f, "traffic.c.load.rate", "traffic has no item \"c\" (there are: a, b)");
	assert_refused(&f, "traffic[2].load.rate", "traffic has no item \"[2]\"");
	assert_refused(&f, "traffic[x].load.rate", "no item");
	assert_refused(&f, "traffic[0", "no item");
	assert_refused(&f, "traffic.a", "a section, not a value");
	assert_refused(&f, "traffic.a.dns", "a section, not a value");
	assert_refused(&f, "run", "a section, not a value");
	assert_refused(&f, "", "a section, not a value");
	assert_refused(&f, "run..seed", "a section, not a value");
	assert_refused(&f, "run.seed.x", "\"seed\" has nothing inside");
	assert_refused(&f, "run.seed[0]", "\"seed\" has nothing inside");
	fixture_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_leads_to_row_and_memory),
		cmocka_unit_test(what_is_not_in_the_file_has_no_memory),
		cmocka_unit_test(what_is_not_there_is_refused_with_the_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
