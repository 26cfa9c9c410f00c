// SPDX-License-Identifier: BSD-3-Clause
// The reference: every setting, with its path, type, range, word, default and help.
#include "fixture.h"

static char *text;

static int setup(void **state)
{
	size_t len;
	FILE *out = open_memstream(&text, &len);

	conf_document(&sample_section, out);
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

static const struct field_section self;
static const struct field rows[] = {
	{"inner", "again", FIELD_SECTION, .optional = true, .section = &self}};
static const struct field_section self = {.name = "self", FIELD_ROWS(rows), .size = 8};

static void a_section_that_holds_itself_ends(void **state)
{
	char *endless = NULL;
	size_t len;
	FILE *out = open_memstream(&endless, &len);

	conf_document(&self, out);
	fclose(out);
	assert_in_range(len, 100, 10000);
	free(endless);
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
