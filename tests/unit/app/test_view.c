// SPDX-License-Identifier: BSD-3-Clause
// The state of a run on screens of many sizes: it never exceeds them, and shows key facts first.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "follow/run_events.h"
#include "report/terminal.h"
#include "report/view.h"

static struct view view;

static void take(json_t *line)
{
	assert_non_null(line);
	view_line(&view, line);
	json_decref(line);
}

static void begin(unsigned number, double warmup_s)
{
	take(json_pack("{s:i, s:f, s:f, s:{s:{s:s, s:s}}}", "begin", (int)number, "warmup_s",
		warmup_s, "duration_s", 1000.0, "result", "run", "name", "evening", "id", "0123"));
}

static json_t *interval(double t_s, double length_s, unsigned items, unsigned workers, int answered)
{
	json_t *line = json_pack(
		"{s:f, s:f, s:[], s:[]}", "t_s", t_s, "length_s", length_s, "traffic", "workers");

	for (unsigned i = 0; i < items; i++)
		json_array_append_new(json_object_get(line, "traffic"),
			json_pack("{s:s, s:i, s:f, s:f, s:f, s:n, s:i, s:{s:i, s:{s:i, s:i}, s:i}}",
				"name", i ? "other" : "queries", "answered", answered,
				"answered_per_s", answered / length_s, "p50_ns", 58e3, "p99_ns",
				2.1e6, "max_ns", "in_flight", 12, "theirs", "sent_bytes", 9, "code",
				"FINE", 40, "NONE", 0, "plain", 7));
	for (unsigned i = 0; i < workers; i++)
		json_array_append_new(json_object_get(line, "workers"),
			json_pack(
				"{s:s, s:i, s:f}", "port", "lan", "number", (int)i, "busy", 0.25));
	return line;
}

// The screen; the caller frees it. Every line is checked.
static char *drawn(unsigned columns, unsigned rows, bool utf8)
{
	struct view_size size = {columns, rows, utf8, "q: stop"};
	char *text = NULL;
	unsigned lines, count = 0;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	lines = view_draw(&view, &size, f);
	fclose(f);
	assert_true(lines <= rows);
	for (const char *line = text; *line; line = strchr(line, '\n') + 1, count++) {
		unsigned wide = 0;

		for (const char *c = line; *c != '\n'; c++)
			wide += ((unsigned char)*c & 0xc0) != 0x80;
		assert_true(wide <= columns);
	}
	assert_int_equal(count, lines);
	return text;
}

#define assert_shows(text, part) assert_non_null(strstr(text, part))
#define assert_hides(text, part) assert_null(strstr(text, part))

static void nothing_is_seen_before_the_run(void **state)
{
	char *text = drawn(79, 22, true);

	assert_string_equal(text, "");
	free(text);
	begin(3, 1);
	text = drawn(79, 22, true);
	assert_shows(text, "evening, run 3 ");
	assert_hides(text, "0123");
	assert_shows(text, "q: stop\nstarting");
	free(text);
}

static void an_item_has_its_figures_and_its_protocol_counts(void **state)
{
	char *text;

	begin(1, 0);
	take(interval(2, 2, 1, 2, 1000));
	text = drawn(79, 22, true);
	assert_shows(text, "\nmeasuring  [");
	assert_shows(text, " 2 of 1000 s, 998 s left\n");
	assert_shows(text, "queries             0        500      0 %  58.0 us  2.10 ms     lost "
			   "       12\n");
	assert_shows(text, "  per s  code FINE 20.0  plain 3.50\n");
	assert_hides(text, "NONE");
	assert_hides(text, "bytes");
	assert_shows(text, "busy  lan/0 25.0 %  lan/1 25.0 %\n");
	free(text);
}

static void an_item_over_connections_has_a_line_of_theirs(void **state)
{
	json_t *line = interval(2, 2, 2, 1, 1000);
	char *text;

	json_object_set_new(json_array_get(json_object_get(line, "traffic"), 1), "connections",
		json_pack("{s:i, s:i, s:i, s:i, s:{s:i}}", "opened", 40, "closed", 20, "reset", 0,
			"open", 30, "handshake", "count", 40));
	begin(1, 0);
	take(line);
	text = drawn(79, 22, true);
	assert_shows(text, "\nother ");
	assert_shows(text, "\n  connections 30 open, per s  opened 20.0  closed 10.0\n");
	assert_null(strstr(strstr(text, "connections") + 1, "connections"));
	free(text);
}

static void the_last_minute_is_a_column_a_second(void **state)
{
	char *text;

	begin(1, 0);
	for (int t = 1; t <= 70; t++)
		take(interval(t, 1, 1, 1, t <= 10 ? 9000 : t <= 40 ? 500 : 1000));
	text = drawn(79, 22, false);
	assert_shows(text, "  answered ~~~~~~~~~~~~~~~~~~~~~###");
	assert_shows(text, "~############################## up to 1.00 k/s\n");
	assert_hides(text, "9.00 k");
	free(text);
	// A second without an interval is empty; a second shared by two intervals is their mean.
	begin(2, 0);
	take(interval(1, 1, 1, 1, 1000));
	take(interval(2.5, 0.5, 1, 1, 500));
	take(interval(3, 0.5, 1, 1, 500));
	text = drawn(79, 22, true);
	assert_shows(text, " █ █ up to 1.00 k/s\n");
	free(text);
}

// A column is the longest of its second. What is lost has no height, and does not set the scale.
static void latencies_of_the_last_minute_are_columns_too(void **state)
{
	static const double p99[] = {8e6, 1e6, NAN, 4e6};
	char *text;

	begin(1, 0);
	for (int t = 0; t < 4; t++) {
		json_t *line = interval(t + 1, 1, 1, 1, 100);
		json_t *item = json_array_get(json_object_get(line, "traffic"), 0);

		json_object_set_new(
			item, "p99_ns", isnan(p99[t]) ? json_null() : json_real(p99[t]));
		take(line);
	}
	take(interval(5, 1, 1, 1, 0)); // nothing was timed
	text = drawn(79, 22, true);
	assert_shows(text, " █▁x▄▁ up to 8.00 ms\n  per s");
	assert_shows(text, "\n  p50 ");
	free(text);
	text = drawn(79, 8, false); // room for one of them
	assert_shows(text, " #_x~_ up to 8.00 ms\n");
	assert_hides(text, "\n  p50 ");
	free(text);
}

static json_t *judged(json_t *line, const char *expression, json_t *value, json_t *pass)
{
	if (!json_object_get(line, "criteria"))
		json_object_set_new(line, "criteria", json_array());
	json_array_append_new(json_object_get(line, "criteria"),
		json_pack("{s:s, s:o, s:o, s:s}", "expression", expression, "value", value, "pass",
			pass, "unit", "ns"));
	return line;
}

static void criteria_stand_with_their_state(void **state)
{
	json_t *line = interval(1, 1, 2, 1, 1000);
	char *text;

	begin(1, 0);
	judged(line, "p50 <= 1ms", json_real(5e5), json_true());
	judged(line, "p99 <= 2ms", json_real(3e6), json_false());
	judged(line, "p999 <= 9ms", json_null(), json_false());
	judged(line, "marks.p99 <= 9ms", json_null(), json_null());
	json_object_set_new(line, "invalid", json_string("queries: 3 of 4 not sent"));
	take(line);
	text = drawn(79, 22, true);
	assert_shows(text, "\nINVALID so far: queries: 3 of 4 not sent\n"
			   "criteria so far: 2 missed, 1 met, 1 not yet judged\n"
			   "  met     p50 <= 1ms        500 us\n"
			   "  MISSED  p99 <= 2ms        3.00 ms\n"
			   "  MISSED  p999 <= 9ms       lost\n"
			   "  -       marks.p99 <= 9ms  not yet judged\n");
	free(text);
	text = drawn(79, 16, true); // the most important ones
	assert_shows(text, "not yet judged\n  MISSED  p99 <= 2ms        3.00 ms\n\nitem");
	free(text);
	text = drawn(79, 9, true);
	assert_shows(text, "1 not yet judged: p99 <= 2ms is 3.00 ms\nitem");
	assert_shows(text, "\nother ");
	free(text);
}

static void loss_beside_answers_is_explained(void **state)
{
	json_t *line = interval(1, 1, 2, 1, 1000);
	char *text;

	begin(1, 0);
	take(line);
	text = drawn(79, 22, true);
	assert_hides(text, "due earlier");
	free(text);
	line = interval(2, 1, 2, 1, 1000);
	json_object_set_new(
		json_array_get(json_object_get(line, "traffic"), 1), "lost", json_integer(3));
	take(line);
	text = drawn(79, 22, true);
	assert_shows(text,
		"\nlost requests were due earlier: they count when their timeout ends\nbusy ");
	free(text);
}

// All latencies since the start of the measured part, in bins that a screen can hold.
static void a_tall_screen_has_the_latencies_so_far(void **state)
{
	json_t *begins = json_pack("{s:i, s:f, s:{s:{s:s, s:{s:f}}}}", "begin", 1, "duration_s",
		60.0, "result", "run", "name", "evening", "host", "tsc_hz", 1e9);
	char *text;

	take(begins);
	for (int t = 1; t <= 2; t++) {
		json_t *line = interval(t, 1, 1, 1, 1000);
		json_t *item = json_array_get(json_object_get(line, "traffic"), 0);

		// At 1 GHz: 30 of 127 ns, and 10 of 261 us.
		json_object_set_new(item, "latency",
			json_pack("{s:{s:s}}", "response", "histogram", "127:30 1408:10"));
		json_object_set_new(item, "lost", json_integer(5));
		take(line);
	}
	text = drawn(79, 40, false);
	assert_shows(text,
		"\n\nqueries: response latency so far\n"
		"  < 1 us      66.7 %           60  #######################################\n"
		"  < 2 us         0 %            0\n");
	assert_shows(text, "\n  < 500 us    22.2 %           20  #############\n"
			   "  lost        11.1 %           10  #######\n");
	free(text);
	text = drawn(79, 31, false);
	assert_hides(text, "so far");
	free(text);
}

// The least important columns are left out, and no line is cut within a figure.
static void a_narrow_screen_has_fewer_columns(void **state)
{
	char *text;

	begin(1, 0);
	take(interval(2, 2, 1, 2, 1000));
	text = drawn(59, 13, true);
	assert_shows(text, "\nitem            due/s answered/s     loss      p50      p99\n");
	assert_shows(text, "\nqueries             0        500      0 %  58.0 us  2.10 ms\n");
	free(text);
	text = drawn(34, 10, true);
	assert_shows(text, "\nqueries             500  2.10 ms\n");
	free(text);
}

static void warmup_has_a_time_and_a_history_of_its_own(void **state)
{
	json_t *line = interval(4, 1, 1, 1, 5000);
	char *text;

	begin(1, 10);
	json_object_set_new(line, "warmup", json_true());
	take(line);
	text = drawn(79, 22, true);
	assert_shows(text, "warm-up ");
	assert_shows(text, " 4 of 10 s, 6 s left\n");
	assert_hides(text, "58.0 us");
	free(text);
	take(interval(1, 1, 1, 1, 1000));
	text = drawn(79, 22, true);
	assert_shows(text, "measuring ");
	assert_shows(text, " █ up to 1.00 k/s\n");
	free(text);
}

static void a_trial_stands_with_its_bracket(void **state)
{
	char *text;

	begin(1, 0);
	take(json_pack(
		"{s:i, s:f, s:f, s:n}", "trial", 3, "rate", 25000.0, "answer", 20000.0, "upper"));
	text = drawn(79, 22, true);
	assert_shows(text, "\ntrial 3: 25 000; met at 20 000, not met at none yet\n");
	free(text);
}

static void every_screen_is_enough(void **state)
{
	static const unsigned items[] = {0, 1, 3, 200}, workers[] = {0, 1, 64};

	for (size_t i = 0; i < 4; i++)
		for (size_t w = 0; w < 3; w++) {
			begin(1, 0);
			take(interval(1, 1, items[i], workers[w], 1000));
			for (unsigned rows = 1; rows < 60; rows++)
				for (unsigned columns = 1; columns < 220; columns += 31)
					free(drawn(columns, rows, rows % 2));
		}
	{
		char *text = drawn(79, 22, true);

		assert_shows(text, "and 18");
		assert_shows(text, "busy  lan/0 25.0 %");
		free(text);
	}
}

// A crash finds the cursor above the view, and never among its lines.
static void a_drawing_is_one_write(void **state)
{
	int pair[2];
	char text[4096];
	ssize_t len;
	FILE *out;

	begin(1, 0);
	take(interval(1, 1, 2, 1, 100));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	out = fdopen(pair[0], "w");
	assert_non_null(out);
	setvbuf(out, NULL, _IOLBF, BUFSIZ); // like a terminal's
	terminal_open(&view, out, "q: stop");
	terminal_follower().tick(NULL);
	len = recv(pair[1], text, sizeof(text) - 1, MSG_DONTWAIT);
	assert_true(len > 0);
	text[len] = '\0';
	assert_int_equal(text[0], '\r');
	assert_shows(text, "q: stop");
	assert_int_equal(text[len - 1], 'A');
	assert_int_equal(recv(pair[1], text, sizeof(text), MSG_DONTWAIT), -1);
	terminal_restore();
	assert_true(recv(pair[1], text, sizeof(text), MSG_DONTWAIT) > 0);
	terminal_restore(); // of a closed terminal
	assert_int_equal(recv(pair[1], text, sizeof(text), MSG_DONTWAIT), -1);
	fclose(out);
	close(pair[1]);
}

static int forget(void **state)
{
	view_free(&view);
	return 0;
}

#define TEST(f) cmocka_unit_test_teardown(f, forget)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_seen_before_the_run),
		TEST(an_item_has_its_figures_and_its_protocol_counts),
		TEST(an_item_over_connections_has_a_line_of_theirs),
		TEST(the_last_minute_is_a_column_a_second),
		TEST(latencies_of_the_last_minute_are_columns_too),
		TEST(criteria_stand_with_their_state),
		TEST(loss_beside_answers_is_explained),
		TEST(a_tall_screen_has_the_latencies_so_far),
		TEST(a_narrow_screen_has_fewer_columns),
		TEST(warmup_has_a_time_and_a_history_of_its_own),
		TEST(a_trial_stands_with_its_bracket),
		TEST(every_screen_is_enough),
		TEST(a_drawing_is_one_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
