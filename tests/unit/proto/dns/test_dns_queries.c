// SPDX-License-Identifier: BSD-3-Clause
// Query files: valid queries, skipped lines, and an error for every invalid line. Path: tests only.

#include "dns_fixture.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

struct loaded {
	struct dns_queries q;
	struct diag *d;
	int ret;
};

static struct loaded load(const char *text)
{
	struct loaded l = {.d = diag_new()};

	l.ret = dns_queries_load_text(&l.q, &fixture_form, "q.txt", text, strlen(text), NULL, l.d);
	return l;
}

static void unload(struct loaded *l)
{
	dns_queries_free(&l->q);
	diag_free(l->d);
}

static void assert_query(const struct dns_queries *q, uint32_t i, const void *wire, size_t len)
{
	assert_true(i < q->count);
	assert_int_equal(q->offsets[i + 1] - q->offsets[i], len + DNS_ENTRY_HEAD);
	assert_memory_equal(q->blob + q->offsets[i] + DNS_ENTRY_HEAD, wire, len);
	assert_int_equal(q->blob[q->offsets[i] + 1], 0);
}

static void lines_become_wire_form(void **state)
{
	struct loaded l = load("www.Example.com A\nb.\taaaa\n. type6\n. TYPE0\n. TYPE65535\n");

	assert_int_equal(l.ret, 0);
	assert_int_equal(l.q.count, 5);
	assert_query(&l.q, 0, "\3www\7Example\3com\0\0\1\0\1", 21);
	assert_query(&l.q, 1, "\1b\0\0\x1c\0\1", 7);
	assert_query(&l.q, 2, "\0\0\6\0\1", 5);
	assert_query(&l.q, 3, "\0\0\0\0\1", 5);
	assert_query(&l.q, 4, "\0\xff\xff\0\1", 5);
	unload(&l);
}

static void comments_and_blank_lines_are_skipped(void **state)
{
	struct loaded l =
		load("; a comment A\n\n \t \n\r\n  ;c\n \tb  \t A  ; and more here\r\nc MX");

	assert_int_equal(l.ret, 0);
	assert_int_equal(l.q.count, 2);
	assert_query(&l.q, 0, "\1b\0\0\1\0\1", 7);
	assert_query(&l.q, 1, "\1c\0\0\x0f\0\1", 7);
	unload(&l);
}

static void an_escaped_blank_belongs_to_the_name(void **state)
{
	struct loaded l = load("a\\ b A\n\\;c\\059 A\n");

	assert_int_equal(l.ret, 0);
	assert_query(&l.q, 0, "\3a b\0\0\1\0\1", 9);
	assert_query(&l.q, 1, "\3;c;\0\0\1\0\1", 9);
	unload(&l);
}

static void braces_are_plain_in_files(void **state)
{
	struct loaded l = load("h{0-9} A\n");

	assert_int_equal(l.ret, 0);
	assert_int_equal(l.q.count, 1);
	assert_query(&l.q, 0, "\6h{0-9}\0\0\1\0\1", 12);
	unload(&l);
}

static void bad_lines_are_told_with_line_and_column(void **state)
{
	struct loaded l = load("ok A\nname\n\nname AAA\n  a..b A\n");

	assert_int_equal(l.ret, -EINVAL);
	assert_int_equal(diag_count(l.d), 3);
	assert_diag_has(l.d, "q.txt:2:5: no type");
	assert_diag_has(l.d, "q.txt:4:6: not a type");
	assert_diag_has(l.d, "q.txt:5:5: an empty label");
	unload(&l);
}

static void octets_that_an_editor_does_not_show_are_written_out(void **state)
{
	struct loaded l = load("# b\nwww.x\xc2\xa0"
			       "A\n");

	assert_int_equal(l.ret, -EINVAL);
	assert_diag_has(l.d, "q.txt:1:3: not a type (an IANA mnemonic like A or HTTPS, ANY, or "
			     "TYPE0 to TYPE65535): \"# b\" (a comment begins with ;)");
	assert_diag_has(l.d, ": \"www.x\\194\\160A\" (\\194\\160 is a no-break space");
	unload(&l);
}

static void note_line(void *ctx, const char *line, size_t len, const struct dns_text_error *e)
{
	char *to = ctx;

	sprintf(to + strlen(to), "%.*s|", (int)len, line);
	assert_non_null(e->reason);
}

static void bad_lines_are_left_out_and_counted_on_demand(void **state)
{
	static const char text[] = "ok A\n; c\nname\nname AAA\n  a..b A\nok MX\nx BBB\n";
	char seen[128] = "";
	const struct dns_skip skip = {note_line, seen};
	struct dns_form form = fixture_form;
	struct loaded l = {.d = diag_new()};

	form.skip = &skip;
	l.ret = dns_queries_load_text(&l.q, &form, "q.txt", text, strlen(text), NULL, l.d);
	assert_int_equal(l.ret, 0);
	assert_int_equal(l.q.count, 2);
	assert_query(&l.q, 1, "\2ok\0\0\x0f\0\1", 8);
	assert_string_equal(seen, "name|name AAA|  a..b A|x BBB|");
	assert_string_equal(l.q.used, "2 of 6 lines of q.txt; left out: 1 no type after the name, "
				      "2 not a type, 1 an empty label (first: line 3)");
	unload(&l);
	l = (struct loaded){.d = diag_new()};
	l.ret = dns_queries_load_text(&l.q, &form, "q.txt", "x\n", 2, NULL, l.d);
	assert_int_equal(l.ret, -EINVAL);
	assert_diag_has(l.d, "q.txt: holds no query: 0 of 1 lines of q.txt; left out: 1 no type");
	unload(&l);
}

static void a_nul_is_an_error_of_its_line(void **state)
{
	struct loaded l = {.d = diag_new()};

	l.ret = dns_queries_load_text(
		&l.q, &fixture_form, "q.txt", "ok A\na\0b A\nx\n", 13, NULL, l.d);
	assert_int_equal(l.ret, -EINVAL);
	assert_diag_has(l.d, "q.txt:2:2: holds a NUL octet: not a text: \"a\\000b A\"");
	assert_diag_has(l.d, "q.txt:3:");
	unload(&l);
}

static void a_word_after_the_type_is_known_or_refused(void **state)
{
	struct loaded l = load("ok A ; the first\nok A;x\nok A \nwww A 10.0.0.1\nwww A EX\nb A\t;\n"
			       "ok A E\nok A ED\nok A d ; D\nok A 10.0.0.0/8 D\n"
			       "www A E D\nwww A 10.0.0.0/8 E ::/0\nwww A 10.0.0.0/33\nok A E;\n");

	assert_int_equal(l.ret, -EINVAL);
	assert_int_equal(diag_count(l.d), 7);
	assert_diag_has(l.d, "q.txt:2:4: not a type");
	assert_diag_has(l.d,
		"q.txt:4:7: a word after the type that is not E (EDNS), D (EDNS with "
		"DO), a client subnet like 192.0.2.0/24 or an option like +65001=c0ffee "
		"(extra_words: ignore skips it): \"www A 10.0.0.1\"");
	assert_diag_has(l.d, "q.txt:5:7: a word after the type");
	assert_diag_has(l.d, "q.txt:11:9: a second word of that kind");
	assert_diag_has(l.d, "q.txt:12:20: a second word of that kind");
	assert_diag_has(l.d, "q.txt:13:7: a word after the type");
	assert_diag_has(l.d, "q.txt:14:6: a word after the type");
	unload(&l);
}

static void the_first_letter_decides_about_edns_and_do(void **state)
{
	static const char *const lines[] = {
		"a A E", "a A e", "a A ED", "a A D", "a A d", "a A DE", "a A"};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct dns_text_error e;
		struct dns_line line;

		assert_true(dns_line_parse(&fixture_form, lines[i], strlen(lines[i]), &line, &e));
		assert_int_equal(line.edns, i < 6);
		assert_int_equal(line.dnssec_ok, i > 2 && i < 6);
		assert_int_equal(line.type, 1);
	}
}

static void a_class_stands_before_the_type(void **state)
{
	struct loaded l = load("version.bind CH TXT\n. in a\n. HS ANY\n. ANY TXT\n. ANY\n. ANY E\n"
			       ". CLASS65535 A\n. NONE SOA D\n");
	static const uint8_t wire[][5] = {"\0\0\1\0\1", "\0\0\xff\0\4", "\0\0\x10\0\xff",
		"\0\0\xff\0\1", "\0\0\xff\0\1", "\0\0\1\xff\xff", "\0\0\6\0\xfe"};

	assert_int_equal(l.ret, 0);
	assert_query(&l.q, 0, "\7version\4bind\0\0\x10\0\3", 18);
	for (uint32_t i = 1; i < l.q.count; i++)
		assert_memory_equal(
			l.q.blob + l.q.offsets[i] + DNS_ENTRY_HEAD, wire[i - 1], sizeof(wire[0]));
	unload(&l);
	l = load("a CH\na IN ; A\na CH XY\na CLASS65536 A\na A CH\n");
	assert_int_equal(diag_count(l.d), 5);
	assert_diag_has(l.d, "q.txt:1:5: no type after the class");
	assert_diag_has(l.d, "q.txt:2:5: no type after the class");
	assert_diag_has(l.d, "q.txt:3:6: not a type");
	assert_diag_has(l.d, "q.txt:4:3: not a type");
	assert_diag_has(l.d, "q.txt:5:5: a word after the type");
	unload(&l);
}

// As dnsperf reads them, which does not know classes either.
static void further_words_can_be_ignored(void **state)
{
	static const struct dns_form two = {
		.class = 1, .two_words = true, .opt = &fixture_plain_opt};
	static const char text[] = "a A E\nb A anything at all\nc ANY A\nd CH TXT\n";
	struct loaded l = {.d = diag_new()};

	l.ret = dns_queries_load_text(&l.q, &two, "q.txt", text, sizeof(text) - 1, NULL, l.d);
	assert_int_equal(diag_count(l.d), 1);
	assert_diag_has(l.d, "q.txt:4:3: not a type");
	assert_query(&l.q, 0, "\1a\0\0\1\0\1", 7);
	assert_query(&l.q, 1, "\1b\0\0\1\0\1", 7);
	assert_query(&l.q, 2, "\1c\0\0\xff\0\1", 7);
	assert_false(l.q.own_opts);
	unload(&l);
}

// Further contents of files for dnsperf: escapes, final dots, case, long lines.
static void files_for_dnsperf_are_read_as_it_reads_them(void **state)
{
	const size_t long_comment = 65536;
	char *text = malloc(long_comment + 200);
	struct loaded l;
	int len = sprintf(text, "A\\046b.\\255 A\nWwW.Example. any\nwww.example TYPE65280 ;");

	memset(text + len, 'x', long_comment);
	strcpy(text + len + long_comment, "\n;\n\nlast A");
	l = load(text);
	assert_int_equal(l.ret, 0);
	assert_int_equal(l.q.count, 4);
	assert_query(&l.q, 0, "\3A.b\1\xff\0\0\1\0\1", 11);
	assert_query(&l.q, 1, "\3WwW\7Example\0\0\xff\0\1", 17);
	assert_query(&l.q, 2, "\3www\7example\0\xff\0\0\1", 17);
	assert_query(&l.q, 3, "\4last\0\0\1\0\1", 10);
	unload(&l);
	free(text);
}

static void ten_bad_lines_are_listed_and_the_rest_counted(void **state)
{
	char text[200] = "good A\n";
	struct loaded l;

	for (int i = 0; i < 11; i++)
		strcat(text, "bad\n");
	l = load(text);
	assert_int_equal(diag_count(l.d), 11);
	assert_diag_has(l.d, "q.txt:11:4: no type");
	assert_diag_has(l.d, "q.txt:12:4: and 1 more bad line\n");
	unload(&l);

	strcat(text, "good A\nbad");
	l = load(text);
	assert_int_equal(diag_count(l.d), 11);
	assert_diag_has(l.d, "and 2 more bad lines\n");
	unload(&l);
}

static void a_file_without_queries_is_an_error(void **state)
{
	const char *const texts[] = {"", "\n", "; nothing\n\n"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct loaded l = load(texts[i]);

		assert_int_equal(l.ret, -EINVAL);
		assert_diag_has(l.d, "holds no query");
		unload(&l);
	}
}

static void a_name_of_300_octets_is_an_error(void **state)
{
	char text[400];
	struct loaded l;

	for (size_t i = 0; i < 300; i++)
		text[i] = i % 50 == 49 ? '.' : 'n';
	strcpy(text + 300, " A\n");
	l = load(text);
	assert_int_equal(l.ret, -EINVAL);
	assert_diag_has(l.d, "q.txt:1:254: the name is longer than 255 octets");
	unload(&l);
}

// Offsets have 32 bits. The memory before the last query is never touched.
static void a_blob_ends_where_offsets_do(void **state)
{
	const size_t room = 1ull << 32, longest = DNS_ENTRY_MAX;
	const struct dns_line line = {.type = 1, .class = 1};
	struct dns_queries q = {.blob = mmap(NULL, room, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)};
	struct dns_loader l = {.to = &q,
		.form = &fixture_form,
		.blob_len = UINT32_MAX - longest + 1,
		.blob_room = room};

	assert_true(q.blob != MAP_FAILED);
	dns_loader_add(&l, &line, (const uint8_t *)"\1b", 3, 0, 0);
	assert_int_equal(l.failure, -EFBIG);
	assert_int_equal(q.count, 0);
	l.failure = 0;
	l.blob_len--;
	dns_loader_add(&l, &line, (const uint8_t *)"\1b", 3, 0, 0);
	assert_int_equal(l.failure, 0);
	assert_int_equal(q.count, 1);
	assert_int_equal(q.offsets[1], UINT32_MAX - longest + DNS_ENTRY_HEAD + 7);
	munmap(q.blob, room);
	q.blob = NULL;
	dns_queries_free(&q);
}

static char *write_file(const char *text, size_t len)
{
	char *path = strdup("/tmp/ddiperf-test-XXXXXX");
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	close(fd);
	return path;
}

static struct loaded load_file(const char *path)
{
	struct loaded l = {.d = diag_new()};

	l.ret = dns_queries_load_file(&l.q, &fixture_form, path, NULL, l.d);
	return l;
}

static void a_file_larger_than_the_read_buffer_is_read_whole(void **state)
{
	const uint32_t lines = 150000;
	char *text = malloc(lines * 24), *path;
	uint8_t wire[DNS_NAME_MAX];
	struct dns_text_error e;
	struct loaded l;
	size_t len = 0;

	for (uint32_t i = 0; i < lines; i++)
		len += (size_t)sprintf(text + len, "host%u.example A\n", i);
	path = write_file(text, len - 1); // the last line has no end
	l = load_file(path);
	assert_int_equal(l.ret, 0);
	assert_int_equal(l.q.count, lines);
	for (uint32_t i = 0; i < lines; i++) {
		char name[24];
		int n = sprintf(name, "host%u.example", i);

		n = dns_name_from_text(name, (size_t)n, wire, &e);
		memcpy(wire + n, "\0\1\0\1", 4);
		assert_query(&l.q, i, wire, (size_t)n + 4);
	}
	unload(&l);
	unlink(path);
	free(path);
	free(text);
}

static void a_line_without_end_is_an_error_and_not_a_hang(void **state)
{
	size_t len = 3 << 20;
	char *text = malloc(len), *path;
	struct loaded l;

	memset(text, 'x', len);
	path = write_file(text, len);
	l = load_file(path);
	assert_int_equal(l.ret, -EINVAL);
	assert_diag_has(l.d, ":1:1: the line is longer than 1 MiB");
	unload(&l);
	unlink(path);
	free(path);
	free(text);
}

static void a_missing_file_or_a_folder_is_an_error(void **state)
{
	struct loaded l = load_file("/nonexistent/q.txt");

	assert_int_equal(l.ret, -EINVAL);
	assert_diag_has(l.d, "/nonexistent/q.txt: No such file or directory");
	unload(&l);
	l = load_file("/tmp");
	assert_int_equal(l.ret, -EINVAL);
	assert_diag_has(l.d, "/tmp: Is a directory");
	unload(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_become_wire_form),
		cmocka_unit_test(comments_and_blank_lines_are_skipped),
		cmocka_unit_test(an_escaped_blank_belongs_to_the_name),
		cmocka_unit_test(braces_are_plain_in_files),
		cmocka_unit_test(bad_lines_are_told_with_line_and_column),
		cmocka_unit_test(octets_that_an_editor_does_not_show_are_written_out),
		cmocka_unit_test(bad_lines_are_left_out_and_counted_on_demand),
		cmocka_unit_test(a_nul_is_an_error_of_its_line),
		cmocka_unit_test(a_word_after_the_type_is_known_or_refused),
		cmocka_unit_test(the_first_letter_decides_about_edns_and_do),
		cmocka_unit_test(a_class_stands_before_the_type),
		cmocka_unit_test(further_words_can_be_ignored),
		cmocka_unit_test(files_for_dnsperf_are_read_as_it_reads_them),
		cmocka_unit_test(ten_bad_lines_are_listed_and_the_rest_counted),
		cmocka_unit_test(a_file_without_queries_is_an_error),
		cmocka_unit_test(a_name_of_300_octets_is_an_error),
		cmocka_unit_test(a_blob_ends_where_offsets_do),
		cmocka_unit_test(a_file_larger_than_the_read_buffer_is_read_whole),
		cmocka_unit_test(a_line_without_end_is_an_error_and_not_a_hang),
		cmocka_unit_test(a_missing_file_or_a_folder_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
