// SPDX-License-Identifier: BSD-3-Clause
// The output of a result for people and programs, byte for byte, and the rows of all settings and
// counters. To accept an intended difference: GOLDEN_UPDATE=1 meson test -C BUILD golden; the
// rewritten files belong to the same commit.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <glob.h>

#include "run/commands.h"
#include "conf/schema.h"
#include "document/document.h"
#include "engine/config/config_load.h"
#include "list.h"
#include "proto/table.h"
#include "follow/run_events.h"
#include "report/report.h"
#include "sample.h"

#define TEXT_MAX (1 << 18)

static const char *folder;

static char *read_all(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, TEXT_MAX);

	assert_non_null(text);
	if (f) {
		assert_true(fread(text, 1, TEXT_MAX - 1, f) > 0);
		fclose(f);
	}
	return text;
}

static void assert_golden(const char *name, const char *text)
{
	char path[4096], *expected;
	size_t at;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (getenv("GOLDEN_UPDATE")) {
		f = fopen(path, "w");
		assert_non_null(f);
		assert_true(fputs(text, f) >= 0);
		assert_int_equal(fclose(f), 0);
	}
	expected = read_all(path);
	for (at = 0; text[at] && text[at] == expected[at];)
		at++;
	while (at > 0 && text[at - 1] != '\n')
		at--;
	if (strcmp(text, expected) != 0)
		fail_msg("%s: \"%.*s\" stands where the file has \"%.*s\" (if this is intended: "
			 "GOLDEN_UPDATE=1 meson test golden)",
			path, (int)strcspn(text + at, "\n"), text + at,
			(int)strcspn(expected + at, "\n"), expected + at);
	free(expected);
}

static char *printed;
static size_t printed_len;

static struct report report_open(bool quiet)
{
	struct report r;

	report_init(&r, open_memstream(&printed, &printed_len), quiet);
	assert_false(r.colour);
	assert_false(r.live);
	return r;
}

static void assert_printed(struct report *r, const char *name)
{
	fclose(r->out);
	assert_golden(name, printed);
	free(printed);
}

static void print_run(struct report *r, const struct result *result)
{
	const struct result_interval *i = result->intervals.items;

	struct run_events live = {0};

	run_events_follow(&live, (struct run_events_follower){report_line, .ctx = r});
	report_note(r, "port lan: af_packet veth0, worker on CPU 1");
	run_events_interval(&live, &i[0], true);
	for (uint32_t n = 0; n < result->intervals.count; n++)
		run_events_interval(&live, &i[n], false);
	run_events_close(&live);
	report_result(r, result);
}

static void a_person_reads_intervals_tables_and_the_verdict(void **state)
{
	struct result result = sample_result();
	struct report r = report_open(false);

	print_run(&r, &result);
	assert_printed(&r, "report.txt");
}

static void a_terminal_gets_colour_and_a_view(void **state)
{
	struct result result = sample_result();
	struct report r = report_open(false);

	r.live = r.colour = true;
	print_run(&r, &result);
	fclose(r.out);
	assert_non_null(strstr(printed, "\r\033[J"));
	assert_null(strstr(printed, "answered/s"));
	assert_true(r.sent == 100500 && r.answered == 100495 && r.lost == 3);
	assert_non_null(strstr(printed, "\033[31mFAIL\033[0m: "));
	free(printed);
}

static void print_as(
	struct report *r, const char *status, uint64_t exit_code, struct result *result)
{
	result->verdict.status = status;
	result->verdict.exit_code = exit_code;
	report_result(r, result);
}

static void every_verdict_is_one_sentence(void **state)
{
	struct result result = sample_result();
	static const char *const reasons[] = {"port lan: the link was down 2 times, 0.25 s",
		"event \"kill\" failed: exit code 7"};
	struct report r = report_open(true);

	print_run(&r, &result);
	result.verdict.criteria.count = 2;
	print_as(&r, "fail", 1, &result);
	result.verdict.criteria.count = 1;
	print_as(&r, "pass", 0, &result);
	print_as(&r, "invalid", 5, &result);
	result.verdict.invalid_by = "load";
	print_as(&r, "invalid", 5, &result);
	result.verdict.invalid_by = "tester";
	result.verdict.reasons = (struct counter_list){reasons, 2};
	print_as(&r, "invalid", 5, &result);
	result.verdict.reasons = (struct counter_list){reasons + 1, 1};
	print_as(&r, "invalid", 5, &result);
	result.verdict.invalid_by = NULL;
	print_as(&r, "interrupted", 130, &result);
	print_as(&r, "invalid", 6, &result);
	print_as(&r, "invalid", 2, &result);
	result.traffic.items = (const struct result_item *)result.traffic.items + 1;
	result.traffic.count = 1;
	result.verdict.criteria.count = 0;
	print_as(&r, "pass", 0, &result);
	result.traffic.count = 0;
	print_as(&r, "unreachable", 4, &result);
	assert_printed(&r, "verdicts.txt");
}

static void a_responder_reports_rates_and_totals(void **state)
{
	struct result result = sample_result();
	struct result_responder half = *result.responder;
	struct report r = report_open(false);

	half.received /= 2;
	half.answered /= 2;
	report_responder(&r, 1, &half);
	report_responder(&r, 2, result.responder);
	report_responder_end(&r, result.responder);
	assert_printed(&r, "responder.txt");
}

static void a_run_that_never_started_shows_no_figures(void **state)
{
	struct result_item item = {.name = "q", .protocol = "dns", .port = "lan", .loop = "open"};
	struct result result = {
		.verdict = {.status = "unreachable", .exit_code = 4, .limited_by = "none"},
		.traffic = {&item, 1},
	};
	struct report r = report_open(false);

	report_result(&r, &result);
	fclose(r.out);
	assert_non_null(strstr(printed, "nothing was due"));
	assert_null(strstr(printed, "p99"));
	assert_null(strstr(printed, "limited by"));
	free(printed);
}

static void nothing_is_printed_without_an_output(void **state)
{
	struct result result = sample_result();
	struct report r;

	report_init(&r, NULL, false);
	print_run(&r, &result);
	report_responder(&r, 1, result.responder);
	report_responder_end(&r, result.responder);
}

static void a_program_reads_the_document(void **state)
{
	struct result result = sample_result();
	json_t *document = document_result(&result, NULL);
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(document_print(document, f), 0);
	fclose(f);
	assert_golden("result.json", text);
	free(text);
	json_decref(document);
}

struct inner {
	bool on;
	const char *word;
};

struct outer {
	uint64_t n, wait_ns;
	struct field_list many; // struct inner
	struct field_list words;
};

static const struct field inner_fields[] = {
	{"on", "a switch", FIELD_BOOL, .offset = offsetof(struct inner, on)},
	{"word", "a word", FIELD_STRING, .offset = offsetof(struct inner, word)},
};

static const struct field_section inner_section = {
	"many", "several", FIELD_ROWS(inner_fields), sizeof(struct inner)};

static const struct field outer_fields[] = {
	{"n", "a number", FIELD_COUNT, .offset = offsetof(struct outer, n)},
	{"wait", "a time", FIELD_DURATION, .offset = offsetof(struct outer, wait_ns)},
	{"many", "several", FIELD_SECTION, .list = true, .offset = offsetof(struct outer, many),
		.section = &inner_section},
	{"words", "texts", FIELD_STRING, .list = true, .offset = offsetof(struct outer, words)},
};

static const struct field_section outer_section = {
	"", "all", FIELD_ROWS(outer_fields), sizeof(struct outer)};

static void settings_keep_their_types_in_the_document(void **state)
{
	struct inner inner[] = {{true, "1"}, {false, "b"}};
	const char *words[] = {"x", "y \"z\""};
	struct outer outer = {7, 2000000, {inner, 2}, {words, 2}};
	json_t *settings = document_settings(&outer_section, &outer);
	char *text = json_dumps(settings, JSON_COMPACT);

	assert_string_equal(text,
		"{\"n\":7,\"wait\":\"2ms\",\"many\":[{\"on\":true,\"word\":\"1\"},"
		"{\"on\":false,\"word\":\"b\"}],\"words\":[\"x\",\"y \\\"z\\\"\"]}");
	free(text);
	json_decref(settings);
}

static json_t *small(void)
{
	return json_pack("{s:i}", "a", 1);
}

static void assert_file(const char *path, const char *expected)
{
	char *text = read_all(path);

	assert_string_equal(text, expected);
	free(text);
}

static void a_document_replaces_a_file_whole_and_leaves_nothing_beside(void **state)
{
	char at[] = "/tmp/ddiperf-golden.XXXXXX", path[64], link_path[64];
	json_t *document = small();
	struct stat st;

	assert_non_null(mkdtemp(at));
	snprintf(path, sizeof(path), "%s/out.json", at);
	snprintf(link_path, sizeof(link_path), "%s/link", at);
	assert_int_equal(document_check("--json", path), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(document_write_json("--json", document, path), 0);
	assert_file(path, "{\n  \"a\": 1\n}\n");
	assert_int_equal(symlink("out.json", link_path), 0);
	assert_int_equal(document_write_json("--json", document, link_path), 0);
	assert_int_equal(lstat(link_path, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(unlink(link_path), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(at), 0); // empty but for the two
	json_decref(document);
}

static void a_device_is_written_to_and_not_replaced(void **state)
{
	json_t *document = small();
	struct stat st;

	assert_int_equal(document_check("--json", "/dev/null"), 0);
	assert_int_equal(document_write_json("--json", document, "/dev/null"), 0);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	json_decref(document);
}

static void what_cannot_be_written_is_known_before_the_run(void **state)
{
	assert_true(document_check("--json", "/nonexistent/out.json") < 0);
	assert_true(document_check("--json", "/tmp") < 0);
}

static void assert_listed(const char *table, const char *name)
{
	FILE *saved = stdout;

	stdout = open_memstream(&printed, &printed_len);
	assert_int_equal(list_table(table, &(struct list_choice){.all = true}), LIST_DONE);
	fclose(stdout);
	stdout = saved;
	assert_golden(name, printed);
	free(printed);
}

static void every_setting_keeps_its_type_range_default_and_help(void **state)
{
	assert_listed("settings", "settings.txt");
	assert_listed("responder", "settings-responder.txt");
}

static void every_counter_keeps_its_name_unit_and_help(void **state)
{
	assert_listed("counters", "counters.txt");
}

static void print_attributes(const struct counter_section *section, const char *prefix, FILE *out)
{
	for (uint32_t i = 0; i < section->count; i++) {
		const struct counter *r = &section->rows[i];
		const char *name = r->type == COUNTER_CHOICE ? "*" : r->name;
		char path[256];

		if (r->optional || r->gauge || r->level || r->sum || r->key || r->all)
			fprintf(out, "%s%s:%s%s%s%s%s%s\n", prefix, name,
				r->optional ? " optional" : "", r->gauge ? " gauge" : "",
				r->level ? " level" : "", r->sum ? " sum" : "",
				r->key ? " key" : "", r->all ? " all" : "");
		if (r->type != COUNTER_LIST && r->type != COUNTER_SECTION)
			continue;
		snprintf(path, sizeof(path), "%s%s.", prefix, name);
		print_attributes(r->section, path, out);
	}
}

// Counters of a protocol are counts without attributes.
static void every_figure_keeps_how_it_adds_up(void **state)
{
	FILE *out = open_memstream(&printed, &printed_len);

	print_attributes(&result_section, "", out);
	for (unsigned i = 0; protos[i]; i++) {
		print_attributes(protos[i]->counters, protos[i]->name, out);
		if (protos[i]->server)
			print_attributes(protos[i]->server->counters, protos[i]->name, out);
	}
	fclose(out);
	assert_golden("attributes.txt", printed);
	free(printed);
}

static const struct config *loaded(
	const char *path, const char *text, struct arena *a, struct diag *d)
{
	const struct config *c = text ? config_load_text(path, text, strlen(text), a, d)
	                              : config_load(path, NULL, 0, a, d);

	diag_print(d, stderr);
	assert_non_null(c);
	return c;
}

static char *dump_of(const struct config *c)
{
	FILE *out = open_memstream(&printed, &printed_len);

	conf_dump(config_section(), c, out);
	fclose(out);
	return printed;
}

static void a_dump_of_a_configuration_dumps_to_itself(void **state)
{
	static const char *const keys[] = {
		"warmup:", "seed:", "memory_size:", "mtu: 1500", "send_lag_p99:"};
	char pattern[4096];
	glob_t files;

	snprintf(pattern, sizeof(pattern), "%s/../../config/[!c]*.yaml", folder);
	assert_int_equal(glob(pattern, 0, NULL, &files), 0);
	assert_true(files.gl_pathc > 20);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		const char *path = files.gl_pathv[i];
		struct arena *a = arena_new();
		struct diag *d = diag_new();
		char *first = dump_of(loaded(path, NULL, a, d));
		char *again = dump_of(loaded(path, first, a, d));

		assert_string_equal(first, again);
		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			assert_non_null(strstr(first, keys[k]));
		free(first);
		free(again);
		diag_free(d);
		arena_free(a);
	}
	globfree(&files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_person_reads_intervals_tables_and_the_verdict),
		cmocka_unit_test(a_terminal_gets_colour_and_a_view),
		cmocka_unit_test(every_verdict_is_one_sentence),
		cmocka_unit_test(a_responder_reports_rates_and_totals),
		cmocka_unit_test(a_run_that_never_started_shows_no_figures),
		cmocka_unit_test(nothing_is_printed_without_an_output),
		cmocka_unit_test(a_program_reads_the_document),
		cmocka_unit_test(every_setting_keeps_its_type_range_default_and_help),
		cmocka_unit_test(every_counter_keeps_its_name_unit_and_help),
		cmocka_unit_test(every_figure_keeps_how_it_adds_up),
		cmocka_unit_test(a_dump_of_a_configuration_dumps_to_itself),
		cmocka_unit_test(settings_keep_their_types_in_the_document),
		cmocka_unit_test(a_document_replaces_a_file_whole_and_leaves_nothing_beside),
		cmocka_unit_test(a_device_is_written_to_and_not_replaced),
		cmocka_unit_test(what_cannot_be_written_is_known_before_the_run),
	};

	folder = *unit_args ? *unit_args : ".";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
