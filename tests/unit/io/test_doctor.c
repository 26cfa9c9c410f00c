// SPDX-License-Identifier: BSD-3-Clause
// The facts about the box: all there, all complete.
#include "ports.h"

#include "io/doctor.h"

static struct doctor_report report;

static int read_report(void **state)
{
	doctor_read(&report);
	return 0;
}

static int free_report(void **state)
{
	doctor_free(&report);
	return 0;
}

static const struct doctor_row *row_of(const char *group, const char *name)
{
	for (unsigned i = 0; i < report.count; i++)
		if (!strcmp(report.rows[i].group, group) && !strcmp(report.rows[i].name, name))
			return &report.rows[i];
	return NULL;
}

static void every_driver_has_a_row(void **state)
{
	for (unsigned i = 0; i < driver_count; i++)
		assert_non_null(row_of("drivers", drivers[i].name));
}

static void cpus_memory_and_rights_are_told(void **state)
{
	assert_non_null(row_of("cpu", "CPUs"));
	assert_non_null(row_of("cpu", "isolated CPUs"));
	assert_non_null(row_of("cpu", "clock source"));
	assert_non_null(row_of("memory", "hugepages"));
	assert_non_null(row_of("memory", "transparent hugepages"));
	assert_non_null(row_of("privileges", "capabilities"));
}

static void what_is_missing_comes_with_what_helps(void **state)
{
	for (unsigned i = 0; i < report.count; i++) {
		const struct doctor_row *row = &report.rows[i];

		assert_true(row->name[0] && row->text[0]);
		if (row->status == DOCTOR_MISSING)
			assert_true(row->fix[0]);
	}
}

static void the_loopback_is_not_offered(void **state)
{
	assert_null(row_of("interfaces", "lo"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_driver_has_a_row),
		cmocka_unit_test(cpus_memory_and_rights_are_told),
		cmocka_unit_test(what_is_missing_comes_with_what_helps),
		cmocka_unit_test(the_loopback_is_not_offered),
	};

	return cmocka_run_group_tests(tests, read_report, free_report);
}
