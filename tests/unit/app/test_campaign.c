// SPDX-License-Identifier: BSD-3-Clause
// Campaigns without a run: the runs that a file defines, refused files, the runs that a journal
// lists after any end, and the values of a table. tests/stepped/test_campaign.py has the command.
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "campaign/campaign_journal.h"
#include "campaign/campaign_table.h"
#include "captured.h"
#include "conf/schema.h"

static struct arena *arena;
static struct campaign campaign;
static char file[64];

static int make_arena(void **state)
{
	arena = arena_new();
	snprintf(file, sizeof(file), "/tmp/ddiperf-campaign.%d", getpid());
	return 0;
}

static int free_arena(void **state)
{
	unlink(file);
	arena_free(arena);
	return 0;
}

// 0, or how many errors; captured has them.
static unsigned load(const char *text)
{
	struct diag *d = diag_new();
	struct conf_tree *t = conf_parse_text("c.yaml", text, strlen(text), arena, d);
	FILE *f = fmemopen(captured, sizeof(captured), "w");
	unsigned count;

	campaign = (struct campaign){.sha256 = "abc"};
	if (t && conf_apply(t, campaign_section(), &campaign.settings, arena, d) == 0)
		campaign_expand(&campaign, arena, d);
	campaign.settings.name = "test";
	campaign.settings.output.jsonl = file;
	diag_print(d, f);
	fclose(f);
	count = diag_count(d);
	diag_free(d);
	return count;
}

static void assert_cells(const char *const *wanted)
{
	for (uint32_t i = 0; i < campaign.cell_count; i++) {
		const char *name = campaign_cell_name(&campaign, &campaign.cells[i], arena);

		assert_non_null(wanted[i]);
		assert_string_equal(name, wanted[i]);
	}
	assert_null(wanted[campaign.cell_count]);
}

#define TWO                                                                                        \
	"base: x.yaml\n"                                                                           \
	"vary: [{name: open, setting: a.b, values: [1, 4]}, {name: n, values: [5, 6, 7]}]\n"

static void values_are_combined_each_with_each(void **state)
{
	static const char *const wanted[] = {"p, open 1, n 5", "p, open 1, n 6", "p, open 1, n 7",
		"p, open 4, n 5", "p, open 4, n 6", "p, open 4, n 7", "q, open 4, n 5",
		"q, open 4, n 6", NULL};

	assert_int_equal(load(TWO "points: [{name: p}, {name: q, only: [open=4, n=5, n=6]}]\n"), 0);
	assert_cells(wanted);
}

static void values_are_combined_the_first_with_the_first(void **state)
{
	static const char *const wanted[] = {"p, open 1, n 5", "p, open 4, n 6", NULL};

	assert_int_equal(load("base: x.yaml\ncombine: zip\npoints: [{name: p}]\n"
			      "vary: [{name: open, values: [1, 4]}, {name: n, values: [5, 6]}]\n"),
		0);
	assert_cells(wanted);
	assert_int_equal(load(TWO "combine: zip\npoints: [{name: p}]\n"), 1);
	assert_captured("vary.n.values: has 3 values, and open has 2");
}

// The more special setting comes last, so that it wins.
static void settings_are_those_of_all_value_point_and_operation(void **state)
{
	static const char *const wanted[] = {"x=1", "a.b=4", "x=2", "x=3"};
	const struct campaign_cell *cell;
	unsigned count;
	char **texts;

	assert_int_equal(load(TWO "set: [x=1]\npoints: [{name: p, set: [x=2]}]\n"
				  "operations: [{name: one, set: [x=3]}]\n"),
		0);
	cell = &campaign.cells[3];
	texts = campaign_assignments(
		&campaign, cell, campaign_operation_of(&campaign, cell, 0), arena, &count);
	assert_int_equal(count, 4);
	for (unsigned i = 0; i < count; i++)
		assert_string_equal(texts[i], wanted[i]);
}

static void files_are_those_of_value_point_or_all(void **state)
{
	assert_int_equal(load("base: x.yaml\npoints: [{name: p}, {name: q, base: /y.yaml}]\n"), 0);
	assert_string_equal(campaign.cells[0].base, "x.yaml");
	assert_string_equal(campaign.cells[1].base, "/y.yaml");
	assert_int_equal(load("points: [{name: p}]\n"
			      "vary: [{name: family, setting: base, values: [4.yaml, 6.yaml]}]\n"),
		0);
	assert_string_equal(campaign.cells[1].base, "6.yaml");
	assert_int_equal(load("points: [{name: p}]\n"), 1);
	assert_captured("points.p: no file to run");
}

static void operations_of_one_name_are_of_different_points(void **state)
{
	assert_int_equal(
		load("base: x.yaml\npoints: [{name: p}, {name: q}, {name: r}]\noperations:\n"
		     "- {name: find, points: [p], set: [x=1]}\n"
		     "- {name: find, points: [q], set: [x=2]}\n- {name: free}\n"),
		0);
	assert_int_equal(campaign.operation_count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct campaign_operation *op =
			campaign_operation_of(&campaign, &campaign.cells[i], 0);

		assert_string_equal(*(const char **)op->set.items, i ? "x=2" : "x=1");
	}
	assert_null(campaign_operation_of(&campaign, &campaign.cells[2], 0));
	assert_non_null(campaign_operation_of(&campaign, &campaign.cells[2], 1));
}

static void mistakes_have_a_place_and_a_remedy(void **state)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{"points: []\n", "c.yaml:2:9: points: is empty (at least one point)"},
		{"points: [{name: p}, {name: p}]\n",
			"points.p.name: is the name of an earlier point"},
		{"points: [{name: p, only: [n=8]}]\n",
			"\"n=8\" does not name a value of a varied setting"},
		{"points: [{name: p, set: [x]}]\n", "\"x\" is not of the form PATH=VALUE"},
		{"points: [{name: p}]\ntrim: 1\nrepeats: 2\n",
			"c.yaml:3:7: trim: 2 x 1 of 2 repeats"},
		{"points: [{name: p}]\nrepeat: 2\n",
			"unknown key \"repeat\" (did you mean \"repeats\"?)"},
		{"points: [{name: p}]\noperations: [{name: o}, {name: o, points: [p]}]\n",
			"operations.o.name: is the name of an earlier operation of the same point"},
		{"points: [{name: p}]\noperations: [{name: o, points: [z]}]\n",
			"operations.o.points[0]: no point is called \"z\""},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(load(arena_printf(arena, "base: x.yaml\n%s", rows[i].text)), 1);
		assert_captured(rows[i].error);
	}
}

// --- the journal

#define PLAIN "base: x.yaml\nrepeats: 5\nattempts: 2\npoints: [{name: p}, {name: q}]\n"
#define OPS   "operations: [{name: make}, {name: drop}]\naverage: true\n"

static struct campaign_journal journal;

static int open_journal(void *other)
{
	return journal_open(other ? other : &journal, &campaign, arena);
}

static void add(uint32_t cell, unsigned repeat, unsigned attempt, const char *op,
	const char *status, double value)
{
	json_t *line = json_pack("{s:i, s:i, s:i, s:s, s:s, s:b, s:s, s:{s:f}}", "cell", (int)cell,
		"repeat", (int)repeat, "attempt", (int)attempt, "operation", op, "status", status,
		"counts", strcmp(status, "invalid") != 0, "reason", "slow", "figures", "per_s",
		value);

	assert_int_equal(journal_add(&journal, line), 0);
	json_decref(line);
}

static void append_raw(const char *text)
{
	FILE *f = fopen(file, "a");

	fputs(text, f);
	fclose(f);
}

static void an_attempt_counts_as_a_whole_or_not_at_all(void **state)
{
	assert_int_equal(load(PLAIN OPS), 0);
	assert_int_equal(open_journal(NULL), 0);
	add(0, 1, 1, "make", "pass", 10); // and then a kill
	assert_false(journal_has(&journal, 0, 0));
	add(0, 1, 2, "make", "pass", 20);
	add(0, 1, 2, "drop", "invalid", 30);
	assert_false(journal_has(&journal, 0, 0));
	assert_int_equal(journal_attempts(&journal, 0, 0).invalid, 1);
	add(0, 1, 3, "make", "pass", 40);
	add(0, 1, 3, "drop", "fail", 60);
	journal_close(&journal);
	append_raw("{\"cell\":0,\"rep"); // cut short by a kill

	assert_int_equal(open_journal(NULL), 0);
	assert_int_equal(journal.count, 5);
	assert_true(journal_has(&journal, 0, 0));
	assert_false(journal_has(&journal, 0, 1) || journal_has(&journal, 1, 0));
	assert_int_equal(journal_attempts(&journal, 0, 0).begun, 3);
	assert_true(table_value(&journal, 0, 0, 0).spread.mean == 40);
	assert_true(table_value(&journal, 0, 0, TABLE_AVERAGE).spread.mean == 50);
	assert_true(table_value(&journal, 0, 0, 1).failed);
	add(1, 1, 1, "make", "pass", 10);
	journal_close(&journal);
	assert_int_equal(open_journal(NULL), 0);
	assert_int_equal(journal.count, 6);
	journal_close(&journal);
}

static void a_journal_of_other_settings_is_refused(void **state)
{
	struct campaign_journal second;

	assert_int_equal(load(PLAIN), 0);
	assert_int_equal(open_journal(NULL), 0);
	assert_int_equal(capture_output(open_journal, &second), -EINVAL);
	assert_captured("another campaign writes this file");
	journal_close(&journal);
	strcpy(campaign.sha256, "abd");
	assert_int_equal(capture_output(open_journal, NULL), -EINVAL);
	assert_captured("its runs were made with other settings");
	strcpy(campaign.sha256, "abc");
	append_raw("{\"cell\":7,\"repeat\":1,\"operation\":\"run\"}\n");
	assert_int_equal(capture_output(open_journal, NULL), -EINVAL);
	assert_captured(":2: not a run of this campaign");
	// Nobody counts to that.
	unlink(file);
	assert_int_equal(open_journal(NULL), 0);
	journal_close(&journal);
	append_raw("{\"cell\":0,\"repeat\":1,\"operation\":\"run\",\"attempt\":4294967295}\n");
	assert_int_equal(capture_output(open_journal, NULL), -EINVAL);
	assert_captured(":2: not a run of this campaign");
	unlink(file);
	append_raw("hello\n");
	assert_int_equal(capture_output(open_journal, NULL), -EINVAL);
	assert_captured(":1: damaged line");
}

// mpmath: the quantile of t for 95 % and 2 degrees of freedom is 4.30265273.
static void the_mean_leaves_out_extremes_and_invalid_runs(void **state)
{
	static const double values[] = {100, 9, 11, 1, 10};
	struct campaign_value v;

	assert_int_equal(load(PLAIN "trim: 1\n"), 0);
	assert_int_equal(open_journal(NULL), 0);
	add(0, 1, 1, "run", "invalid", 1e9);
	for (unsigned i = 0; i < 5; i++)
		add(0, i + 1, i ? 1 : 2, "run", "pass", values[i]);
	v = table_value(&journal, 0, 0, 0);
	assert_int_equal(v.of, 5);
	assert_int_equal(v.spread.count, 3);
	assert_true(fabs(v.spread.mean - 10) < 1e-9);
	assert_true(fabs(v.spread.high - 10 - 4.30265273 / sqrt(3)) < 1e-6);
	assert_false(table_value(&journal, 1, 0, 0).known);
	journal_close(&journal);
}

static int put_table(void *ctx)
{
	table_put(&(struct campaign_table){.journal = &journal}, *(enum table_form *)ctx, stdout);
	return 0;
}

static int put_page(void *ctx)
{
	return table_put_page(&(struct campaign_table){.journal = &journal}, stdout);
}

static void a_table_has_times_in_ms_and_no_interval_below_0(void **state)
{
	static struct campaign_column columns[] = {
		{"per_s", "traffic.q.latency.response.p99_ns", NULL},
		{"per_s", "traffic.q.loss", NULL}};
	enum table_form form = TABLE_TEXT;
	struct campaign_value v;

	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(load(PLAIN "columns: [{name: per_s, figure: per_s}]\n"), 0);
		campaign.settings.repeats = 2;
		campaign.columns = &columns[i];
		assert_int_equal(open_journal(NULL), 0);
		add(0, 1, 1, "run", "pass", i ? 0.25 : 1e6);
		add(0, 2, 1, "run", "pass", i ? 0.25 : 5e6);
		v = table_value(&journal, 0, 0, 0);
		assert_true(v.spread.low == (i ? 0.25 : 0));
		capture_output(put_table, &form);
		assert_captured(i ? "per_s, %\n" : "per_s, ms\n");
		assert_captured(i ? "25.0 ± 0\n" : "3 (0 to 28.4)\n");
		capture_output(put_page, NULL);
		assert_captured(i ? "\"mean\":25.0" : "\"mean\":3.0");
		journal_close(&journal);
		unlink(file);
	}
}

static void a_table_says_what_it_does_not_know(void **state)
{
	enum table_form form = TABLE_MARKDOWN;

	assert_int_equal(
		load(PLAIN
			"vary: [{name: n, values: [1]}]\ncolumns: [{name: rate, figure: per_s}]\n"),
		0);
	campaign.settings.repeats = 2;
	campaign.columns = &(struct campaign_column){"per_s", "per_s", NULL};
	assert_int_equal(open_journal(NULL), 0);
	add(0, 1, 1, "run", "pass", 12345.6);
	add(0, 2, 1, "run", "fail", 12345.6);
	add(1, 1, 1, "run", "invalid", 1);
	add(1, 1, 2, "run", "invalid", 1);
	capture_output(put_table, &form);
	assert_captured("| point | n |        per_s |\n|---|---|---:|\n");
	assert_captured("| p     | 1 | 12 346 ± 0 ! |\n");
	assert_captured("| q     | 1 |      INVALID |\n");
	assert_captured("- !: in 1 runs a criterion was not met\n");
	assert_captured("- q, n 1, repeat 1: no values: INVALID 2 times: slow\n");
	journal_close(&journal);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, make_arena, free_arena)
		T(values_are_combined_each_with_each),
		T(values_are_combined_the_first_with_the_first),
		T(settings_are_those_of_all_value_point_and_operation),
		T(files_are_those_of_value_point_or_all),
		T(operations_of_one_name_are_of_different_points),
		T(mistakes_have_a_place_and_a_remedy),
		T(an_attempt_counts_as_a_whole_or_not_at_all),
		T(a_journal_of_other_settings_is_refused),
		T(the_mean_leaves_out_extremes_and_invalid_runs),
		T(a_table_says_what_it_does_not_know),
		T(a_table_has_times_in_ms_and_no_interval_below_0),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
