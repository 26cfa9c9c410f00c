// SPDX-License-Identifier: BSD-3-Clause
// The reference: every setting, with its path, type, range, word, default and help.
#include "fixture.h"

static char *text;

static int setup(void **state)
{
	size_t len;
	FILE *out = open_memstream(&text, &len);

	conf_document(&sample_section, NULL, NULL, out);
	fclose(out);
	return 0;
}

static int teardown(void **state)
{
	free(text);
	return 0;
}

// One line: the path, blanks, the rest.
static void assert_line(const char *path, const char *rest)
{
	char line[300];

	snprintf(line, sizeof(line), "%-40s  %s\n", path, rest);
	if (!strstr(text, line))
		fail_msg("no line \"%s\" in:\n%s", line, text);
}

static void lines_say_all_of_a_row(void **state)
{
	assert_line("run", "section: the run");
	assert_line("run.drain", "duration or auto, default auto: at the end");
	assert_line("run.memory", "size (at least 1MiB) or auto, default 64MiB: to be taken");
	assert_line("traffic[]", "list of sections: what is sent");
	assert_line("traffic[].server", "address, required: to be asked");
	assert_line("traffic[].ports",
		"list of range (1 to 65535), default 1024-2047, 4096: source ports");
	assert_line("traffic[].timeout", "duration (1ms to 1m), default 1s: until it is lost");
	assert_line(
		"traffic[].load.rate", "rate (1 to 1G) or max, default 20k: requests per second");
	assert_line("criteria", "list of text: what is judged");
}

static void choices_and_their_settings_are_there(void **state)
{
	assert_line("traffic[].dns", "section, a choice: DNS");
	assert_line("traffic[].dns.mode", "fast | slow | null, default slow: how");
	assert_line("traffic[].dhcp4.relay", "section, optional: by a relay");
	assert_line("traffic[].dhcp4.relay.addresses",
		"list of address range, required: of the relays");
}

static const struct field_section self, chosen;
static const struct field self_rows[] = {
	{"inner", "again", FIELD_SECTION, .optional = true, .section = &self}};
static const struct field_section self = {.name = "self", FIELD_ROWS(self_rows), .size = 8};

static uint32_t one_choice(void)
{
	return 1;
}

static const struct field_section *the_choice(uint32_t i)
{
	return &chosen;
}

static const struct field_choices choices = {one_choice, the_choice};
static const struct field chosen_rows[] = {{NULL, NULL, FIELD_CHOICES, .choices = &choices}};
static const struct field_section chosen = {.name = "chosen", FIELD_ROWS(chosen_rows), .size = 8};

// Sixteen levels are written.
static void a_section_that_holds_itself_ends(void **state)
{
	static const struct field_section *const endless[] = {&self, &chosen};

	for (size_t i = 0; i < sizeof(endless) / sizeof(endless[0]); i++) {
		char *written = NULL;
		unsigned lines = 0;
		size_t len;
		FILE *out = open_memstream(&written, &len);

		conf_document(endless[i], NULL, NULL, out);
		fclose(out);
		for (const char *at = written; (at = strchr(at, '\n')); at++)
			lines++;
		assert_int_equal(lines, 16);
		free(written);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_say_all_of_a_row),
		cmocka_unit_test(choices_and_their_settings_are_there),
		cmocka_unit_test(a_section_that_holds_itself_ends),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
