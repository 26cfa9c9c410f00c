// SPDX-License-Identifier: BSD-3-Clause
// Questions to agents without a run: their list, and the parts of a run that they kept. The test
// plays the agents. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <semaphore.h>

#include "captured.h"
#include "fake_bus.h"
#include "base/log.h"
#include "document/document_reader.h"
#include "engine/run/run.h"
#include "fleet/agent_files.h"
#include "fleet/agent_list.h"
#include "fleet/coordinator/fleet_kept.h"
#include "fleet/fleet_ask.h"
#include "fleet/fleet_list.h"

#define PARTS 2

static struct {
	json_t *found;                              // facts of the agents
	json_t *result;                             // that names them
	char *files[PARTS];                         // kept by a and b
	json_t *kept[PARTS];                        // what they say of it
	json_t *(*piece)(size_t part, size_t from); // NULL: as it should be
	unsigned asked, losses;                     // requests for a piece, and how many are lost
	bool quiet;                                 // the agents do not reply
	struct arena *arena;
	struct document_reader readers[PARTS];
	unsigned count;
} x;

static const struct bus_settings settings;

static void on_published(const struct bus_message *m)
{
	const json_t *one;
	size_t i;

	assert_string_equal(m->subject, "ddiperf.find");
	if (x.quiet)
		return;
	json_array_foreach(x.found, i, one)
	{
		char *text = json_dumps(one, JSON_ENCODE_ANY);

		bus_say_later(m->reply, text, strlen(text), 3000000);
		free(text);
	}
}

static json_t *piece_of(size_t part, size_t from)
{
	char piece[4096];
	size_t count = strlen(x.files[part]) - from;

	count = count < 4000 ? count : 4000;
	return json_stringn(piece, talk_put_piece(piece, from, x.files[part] + from, count));
}

static json_t *on_asked(const char *subject, json_t *message)
{
	size_t part = subject[14] == 'b';

	assert_string_equal(document_text(message, "run"), "r1");
	if (strcmp(subject + 15, ".kept") == 0)
		return json_deep_copy(x.kept[part]);
	assert_string_equal(subject + 15, ".read");
	assert_string_equal(document_text(message, "file"), "run-1.json");
	if (x.asked++ % (x.losses + 1) < x.losses)
		return NULL;
	return (x.piece ? x.piece : piece_of)(part, (size_t)document_number(message, "from"));
}

static json_t *say_kept(const char *text)
{
	FILE *f = tmpfile();
	char hash[AGENT_FILES_HASH];
	uint64_t size;

	fputs(text, f);
	fflush(f);
	assert_int_equal(agent_files_hash(fileno(f), &size, hash), 0);
	fclose(f);
	return json_pack(
		"{s:s, s:I, s:s}", "file", "run-1.json", "size", (json_int_t)size, "hash", hash);
}

static json_t *facts(const char *name, const char *version, const char *run)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:{s:f, s:f}, s:{s:n}}", "name", name,
		"version", version, "id", "1", "run", run, "host", "lab\n1", "cpus", "8", "labels",
		"rack=1", "box", "memory_mb", 33600.0, "hugepages_mb", 512.0, "clock", "error_ns");
}

static int begin(void **state)
{
	char path[256];

	memset(&x, 0, sizeof(x));
	memset(&bus, 0, sizeof(bus));
	bus.published = on_published;
	bus.asked = on_asked;
	bus.ms = 100000;
	x.arena = arena_new();
	x.found = json_pack(
		"[o, o]", facts("b", DDIPERF_VERSION, "r2"), facts("a", DDIPERF_VERSION, ""));
	x.result = json_pack("{s:{s:s, s:s}, s:{s:[{s:s, s:i}, {s:s, s:i}], s:[s]}, s:{s:s, s:f, "
			     "s:s}, s:{s:[s]}}",
		"run", "id", "r1", "version", DDIPERF_VERSION, "fleet", "members", "name", "a",
		"part", 1, "name", "b", "part", 2, "reasons", "agent b was lost", "verdict",
		"stopped", "loss > 1%", "stopped_s", 1.5, "status", "invalid", "config", "stop",
		"loss > 1%");
	for (unsigned i = 0; i < PARTS; i++) {
		json_t *document;

		snprintf(path, sizeof(path), "%s/part%u.json", unit_args[0], i + 1);
		document = json_load_file(path, 0, NULL);
		json_object_set_new(json_object_get(document, "run"), "id", json_string("r1"));
		x.files[i] = talk_text(document);
		x.kept[i] = say_kept(x.files[i]);
	}
	return 0;
}

static int end(void **state)
{
	assert_int_equal(bus.open, 0);
	for (unsigned i = 0; i < PARTS; i++) {
		free(x.files[i]);
		json_decref(x.kept[i]);
	}
	while (x.count)
		reader_close(&x.readers[--x.count]);
	json_decref(x.found);
	json_decref(x.result);
	arena_free(x.arena);
	return 0;
}

static int list(void *json)
{
	return fleet_list(&settings, json, x.arena);
}

static void agents_are_a_table(void **state)
{
	json_t *clock = json_object_get(json_array_get(x.found, 0), "clock");

	json_object_set_new(clock, "error_ns", json_integer(210000));
	json_array_append_new(x.found, facts("no name", "1", ""));
	json_array_append_new(x.found, json_integer(1));
	json_object_set_new(json_array_get(x.found, 1), "labels", json_string(""));
	assert_int_equal(capture_output(list, NULL), EXIT_PASS);
	assert_string_equal(captured,
		"agent  state  version  host   CPUs  memory   hugepages  clock           labels\n"
		"a      free   " DDIPERF_VERSION "    lab?1  8     33.6 GB  512 MB     not kept\n"
		"b      busy   " DDIPERF_VERSION
		"    lab?1  8     33.6 GB  512 MB     within 0.21 ms  rack=1\n");
	assert_int_equal(capture_output(list, "-"), EXIT_PASS);
	assert_captured("\"agents\"");
	assert_captured("\"state\": \"busy\"");
	assert_null(strstr(captured, "\"id\""));
	assert_int_equal(capture_output(list, "/nowhere/file"), EXIT_ENVIRONMENT);
	json_array_clear(x.found);
	assert_int_equal(capture_output(list, NULL), EXIT_PASS);
	assert_captured("no agent is running");
	bus.refuses = -EINVAL;
	assert_int_equal(list(NULL), EXIT_CONFIG);
}

// Its thread waits for the test in each pass.
static sem_t passes, goes;

static void on_tick(void)
{
	sem_post(&passes);
	sem_wait(&goes);
}

static void pass(unsigned times)
{
	while (times--) {
		sem_post(&goes);
		sem_wait(&passes);
	}
}

static void assert_agent(struct agent_list *r, size_t i, const char *state, double silent_s)
{
	bool up;
	json_t *agents = agent_list_list(r, &up);
	const json_t *one = json_array_get(agents, i);

	assert_true(up);
	assert_int_equal(json_array_size(agents), 2);
	assert_string_equal(document_text(one, "name"), i ? "a" : "b");
	assert_string_equal(document_text(one, "state"), state);
	assert_true(document_number(one, "silent_s") == silent_s);
	assert_string_equal(document_text(one, "labels"), "rack=1");
	assert_true(document_number(one, "box.memory_mb") == 33600);
	assert_null(json_object_get(one, "heard_ms"));
	assert_null(json_object_get(one, "id"));
	json_decref(agents);
}

static void agents_come_and_go(void **state)
{
	struct agent_list *r;
	json_t *agents;
	bool up;

	sem_init(&passes, 0, 0);
	sem_init(&goes, 0, 0);
	bus.ticked = on_tick;
	json_array_append_new(x.found, facts("no name", "1", ""));
	json_array_append_new(x.found, facts("c", "1", ""));
	json_object_set_new(
		json_array_get(x.found, 3), "padding", json_sprintf("%16400s", "too much"));
	assert_int_equal(agent_list_open(&settings, &r), 0);
	sem_wait(&passes);
	pass(1);
	assert_agent(r, 0, "busy", 0);
	assert_agent(r, 1, "free", 0);
	x.quiet = true;
	pass(50);
	assert_agent(r, 1, "free", 5);
	pass(1);
	assert_agent(r, 0, "silent", 5);
	pass(5951); // at most ten minutes
	assert_agent(r, 0, "silent", 600);
	bus.down = true;
	pass(20);
	agents = agent_list_list(r, &up);
	assert_int_equal(json_array_size(agents), 0);
	assert_false(up);
	json_decref(agents);
	bus.ticked = NULL;
	sem_post(&goes);
	agent_list_close(r);
	agent_list_close(NULL);
	bus.refuses = -ECONNREFUSED;
	assert_int_equal(agent_list_open(&settings, &r), -ECONNREFUSED);
	assert_null(r);
}

// --- parts that agents kept

static int fetch(void *ctx)
{
	return fleet_kept_fetch(&settings, "result.json", x.result, x.arena, x.readers, &x.count);
}

static void kept_parts_are_fetched(void **state)
{
	x.losses = 2;
	assert_int_equal(fetch(NULL), 0);
	assert_int_equal(x.count, 2);
	assert_string_equal(x.readers[1].file, "b");
	assert_true(document_number(x.readers[1].document, "config.fleet.part") == 2);
	assert_true(x.asked >= 6);
}

static void assert_fails(int code, const char *why)
{
	assert_int_equal(capture_output(fetch, NULL), code);
	assert_captured(why);
	while (x.count)
		reader_close(&x.readers[--x.count]);
}

static void set_text(json_t *at, const char *member, const char *text)
{
	json_object_set_new(at, member, json_string(text));
}

static json_t *no_piece(size_t part, size_t from)
{
	return NULL;
}

// Twenty times, a second each: for the reply, or until its connection may be back.
static void a_piece_is_asked_for_again(void **state)
{
	static const int errors[] = {-ETIMEDOUT, -EHOSTUNREACH};
	volatile int signals = 2;
	const struct fleet_ask q = {
		.agent = "a", .run = "r1", .file = "run-1.json", .signals = &signals};
	const char *octets;
	size_t count;

	x.piece = no_piece;
	for (size_t i = 0; i < 2; i++) {
		uint64_t before = bus.ms;

		signals = 1;
		x.asked = 0;
		bus.silence = errors[i];
		assert_null(fleet_ask_piece(&q, 0, &octets, &count));
		assert_int_equal(x.asked, 20);
		assert_int_equal(bus.ms - before, 20000);
		signals = 2;
		assert_null(fleet_ask_piece(&q, 0, &octets, &count));
		assert_int_equal(x.asked, 20);
	}
}

static void results_of_other_runs_are_refused(void **state)
{
	json_t *run = json_object_get(x.result, "run"), *members;

	set_text(run, "version", "0.0.1");
	assert_fails(EXIT_CONFIG, "result.json: is of another version of ddiperf");
	set_text(json_array_get(json_object_get(json_object_get(x.result, "fleet"), "members"), 1),
		"name", "b.c");
	assert_fails(EXIT_CONFIG, "has an invalid agent name");
	json_object_set_new(x.result, "confidence", json_object());
	assert_fails(EXIT_CONFIG, "is the result of several runs");
	json_object_del(x.result, "confidence");
	json_object_set_new(x.result, "search", json_object());
	assert_fails(EXIT_CONFIG, "is the result of several runs");
	set_text(run, "id", "r.1");
	assert_fails(EXIT_CONFIG, "has no id of a run on a fleet");
	members = json_object_get(json_object_get(x.result, "fleet"), "members");
	for (unsigned i = 2; i < FLEET_PARTS; i++)
		json_array_append(members, json_array_get(members, 0));
	assert_fails(EXIT_CONFIG, "has no id of a run on a fleet");
	json_array_append(members, json_array_get(members, 0));
	assert_fails(EXIT_CONFIG, "names too many agents");
	json_object_del(x.result, "fleet");
	assert_fails(EXIT_CONFIG, "no agent is named in it");
}

static void agents_that_cannot_help_are_named(void **state)
{
	set_text(json_array_get(x.found, 0), "version", "0.0.1");
	assert_fails(EXIT_ENVIRONMENT, "agent b: version 0.0.1, not " DDIPERF_VERSION "\n");
	json_array_clear(x.found);
	assert_fails(EXIT_ENVIRONMENT, "agents a and b: not running");
	bus.refuses = -ECONNREFUSED;
	assert_int_equal(fetch(NULL), EXIT_ENVIRONMENT);
}

static void set_kept(json_t *said)
{
	json_decref(x.kept[1]);
	x.kept[1] = said;
}

static void files_that_are_not_kept_are_refused(void **state)
{
	json_t *good = x.kept[1];
	static const struct {
		const char *member, *value; // JSON
	} wrong[] = {{"file", "\"log.txt\""}, {"hash", "\"12\""}, {"size", "0"}, {"size", "\"1\""},
		{"size", "1073741825"}};

	x.kept[1] = NULL;
	assert_fails(EXIT_ENVIRONMENT, "agent b: it does not answer\n");
	set_kept(json_pack("{s:s}", "refused", "no such run"));
	assert_fails(EXIT_ENVIRONMENT, "agent b: no such run\n");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		set_kept(json_deep_copy(good));
		json_object_set_new(x.kept[1], wrong[i].member,
			json_loads(wrong[i].value, JSON_DECODE_ANY, NULL));
		assert_fails(EXIT_ENVIRONMENT, "agent b: its stored file is not a result\n");
	}
	json_decref(good);
}

static void parts_together_have_a_limit(void **state)
{
	json_t *members = json_object_get(json_object_get(x.result, "fleet"), "members");

	for (unsigned i = 0; i < 2; i++)
		json_object_set_new(x.kept[i], "size", json_integer(AGENT_FILES_SIZE_MAX));
	json_array_append(members, json_array_get(members, 1));
	json_array_append(members, json_array_get(members, 1));
	json_array_append(members, json_array_get(members, 1));
	assert_fails(EXIT_ENVIRONMENT, "agent b: its part and those before it are more than 4 GiB");
}

static json_t *empty_piece(size_t part, size_t from)
{
	return json_string("0\n");
}

static json_t *other_piece(size_t part, size_t from)
{
	return json_string("1\nx");
}

static json_t *long_piece(size_t part, size_t from)
{
	json_t *text = json_sprintf("0\n%s ", x.files[part]);

	return text;
}

static json_t *changed_piece(size_t part, size_t from)
{
	json_t *piece = piece_of(part, from);
	char *text = strdup(json_string_value(piece));

	text[strlen(text) - 1] ^= 1;
	json_string_set(piece, text);
	free(text);
	return piece;
}

static void damaged_parts_are_refused(void **state)
{
	static const struct {
		json_t *(*piece)(size_t part, size_t from);
		const char *why;
	} rows[] = {
		{no_piece, "agent a: it does not send its stored result\n"},
		{other_piece, "agent a: it does not send its stored result\n"},
		{empty_piece, "agent a: its stored result has become shorter\n"},
		{long_piece, "agent a: the received data is longer than its stored result\n"},
		{changed_piece, "agent a: the received data differs from its stored result"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		x.piece = rows[i].piece;
		assert_fails(EXIT_ENVIRONMENT, rows[i].why);
	}
	assert_true(x.asked >= 20 + 4);
}

static void parts_of_other_runs_are_refused(void **state)
{
	json_t *document = json_loads(x.files[1], 0, NULL);

	set_text(json_object_get(document, "run"), "id", "r2");
	free(x.files[1]);
	x.files[1] = talk_text(document);
	set_kept(say_kept(x.files[1]));
	assert_fails(EXIT_ENVIRONMENT, "agent b: its stored result is not its part of run r1\n");
	document = json_loads(x.files[0], 0, NULL); // part 1, with the right id
	free(x.files[1]);
	x.files[1] = talk_text(document);
	set_kept(say_kept(x.files[1]));
	assert_fails(EXIT_ENVIRONMENT, "agent b: its stored result is not its part of run r1\n");
	free(x.files[0]);
	x.files[0] = strdup("nonsense");
	json_decref(x.kept[0]);
	x.kept[0] = say_kept(x.files[0]);
	assert_int_equal(capture_output(fetch, NULL), EXIT_ENVIRONMENT);
	assert_int_equal(x.count, 0);
}

static void the_whole_has_the_coordinators_reasons(void **state)
{
	struct fleet_result r;
	const char *const *reasons;

	assert_int_equal(fetch(NULL), 0);
	assert_true(fleet_result_make(&r, x.readers, x.count, "ddiperf merge", x.arena));
	assert_string_equal(r.sum.verdict.status, "pass");
	fleet_kept_complete(x.result, &r, x.arena);
	assert_string_equal(r.sum.verdict.status, "invalid");
	assert_string_equal(r.sum.verdict.stopped, "loss > 1%");
	assert_true(r.sum.verdict.stopped_s == 1.5);
	reasons = r.sum.verdict.reasons.items;
	assert_string_equal(reasons[1], "agent b was lost");
	assert_ptr_equal(r.fleet, json_object_get(x.result, "fleet"));
	assert_ptr_equal(r.config, json_object_get(x.result, "config"));
	fleet_result_forget(&r);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(agents_are_a_table),
		TEST(agents_come_and_go),
		TEST(kept_parts_are_fetched),
		TEST(a_piece_is_asked_for_again),
		TEST(results_of_other_runs_are_refused),
		TEST(agents_that_cannot_help_are_named),
		TEST(files_that_are_not_kept_are_refused),
		TEST(parts_together_have_a_limit),
		TEST(damaged_parts_are_refused),
		TEST(parts_of_other_runs_are_refused),
		TEST(the_whole_has_the_coordinators_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
