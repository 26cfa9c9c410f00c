// SPDX-License-Identifier: BSD-3-Clause
// An agent, as its coordinator sees it: facts, claims and their refusal, orders, events, files that
// it keeps, and how a run ends. Bus, clock and child process are the test's. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <fcntl.h>

#include "captured.h"
#include "fake_bus.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "document/document_reader.h"
#include "fleet/agent/agent.h"
#include "fleet/agent_files.h"
#include "engine/run/run.h"
#include "io/doctor/doctor.h"
#include "process/supervise.h"
#include "run/commands.h"

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct {
	char dir[64];
	struct agent *agent;
	// what it published last
	char subject[TALK_SUBJECT];
	char data[TALK_PIECE + 64];
	size_t size;
	unsigned pieces; // of events
	json_t *reply;
	// its child
	char words[512], folder[256], orders[512];
	int events; // the test's end of its output
	int code;   // of its end, -1: it runs
	unsigned ends;
	bool full;   // takes no order
	int refuses; // -errno of its start
	bool lacks;  // the store lacks the file
	unsigned fetched;
} x;

// --- its child

int __wrap_supervise_start(struct supervised *s, const struct child *c, bool events);
bool __wrap_supervise_order(const struct supervised *s, const char *line, size_t len);
void __wrap_supervise_end(struct supervised *s, bool by_signal);
bool __wrap_supervise_ended(struct supervised *s, int *code);
void __wrap_supervise_close(struct supervised *s);
int __wrap_bus_get_file(struct bus *b, const char *hash, const char *path);
void __wrap_doctor_read(struct doctor_report *out);
int64_t __wrap_fleet_clock_error(void);
uint64_t __wrap_memory_available(void);
uint64_t __wrap_hugepages_free(void);

int __wrap_supervise_start(struct supervised *s, const struct child *c, bool events)
{
	int pipes[2];

	if (x.refuses)
		return x.refuses;
	assert_int_equal(pipe2(pipes, O_NONBLOCK | O_CLOEXEC), 0);
	assert_true(events);
	x.words[0] = '\0';
	for (int i = 0; c->argv[i]; i++)
		snprintf(x.words + strlen(x.words), sizeof(x.words) - strlen(x.words), "%s%s",
			i ? " " : "", c->argv[i]);
	snprintf(x.folder, sizeof(x.folder), "%s", c->folder);
	x.events = pipes[1];
	*s = (struct supervised){.pid = 1, .orders = -1, .events = pipes[0]};
	return 0;
}

bool __wrap_supervise_order(const struct supervised *s, const char *line, size_t len)
{
	assert_int_equal(line[len - 1], '\n');
	if (!x.full)
		strncat(x.orders, line, len);
	return !x.full;
}

void __wrap_supervise_end(struct supervised *s, bool by_signal)
{
	assert_false(by_signal);
	s->signal_ms = bus.ms + 1;
	x.ends++;
	x.code = x.code == -2 ? 0 : x.code; // it does what it is told
}

bool __wrap_supervise_ended(struct supervised *s, int *code)
{
	if (!s->pid || x.code < 0)
		return false;
	s->pid = 0;
	*code = x.code;
	return true;
}

void __wrap_supervise_close(struct supervised *s)
{
	close(s->events);
	close(x.events);
	x.events = -1;
}

// --- the box and the store

int __wrap_bus_get_file(struct bus *b, const char *hash, const char *path)
{
	FILE *f = x.lacks ? NULL : fopen(path, "w");

	x.fetched++;
	if (f) {
		fprintf(f, "content of %.8s\n", hash);
		fclose(f);
	}
	return f ? 0 : -ENOENT;
}

void __wrap_doctor_read(struct doctor_report *out)
{
	static struct doctor_row rows[] = {
		{"cpu", "CPUs", DOCTOR_OK, "4 usable (Model (R) 7)", ""},
		{"memory", "hugepages", DOCTOR_WARN, "", ""},
		{"privileges", "CAP_NET_RAW", DOCTOR_MISSING, "", ""},
		{"drivers", "DPDK", DOCTOR_OK, "DPDK 22.11", ""},
		{"drivers", "ring", DOCTOR_OK, "", ""},
		{"drivers", "socket", DOCTOR_WARN, "", ""},
		{"drivers", "af_xdp", DOCTOR_OFF, "", ""},
		{"drivers", "no such", DOCTOR_OK, "", ""},
		{"cards", "0000:01:00.0", DOCTOR_OK, "", ""},
		{"cards", "0000:02:00.0", DOCTOR_WARN, "", ""},
		{"interfaces", "eth0", DOCTOR_OK, "", ""},
		{"interfaces", "eth1", DOCTOR_MISSING, "", ""},
	};

	out->count = sizeof(rows) / sizeof(rows[0]);
	out->rows = malloc(sizeof(rows));
	memcpy(out->rows, rows, sizeof(rows));
}

int64_t __wrap_fleet_clock_error(void)
{
	return x.lacks ? -1 : 4000;
}

uint64_t __wrap_memory_available(void)
{
	return 5000000;
}

uint64_t __wrap_hugepages_free(void)
{
	return 7000000;
}

// --- the coordinator

static void on_published(const struct bus_message *m)
{
	assert_true(m->size < sizeof(x.data));
	strcpy(x.subject, m->subject);
	memcpy(x.data, m->data, m->size + 1);
	x.size = m->size;
	x.pieces += strncmp(m->subject, "ddiperf.run.", 12) == 0;
	if (m->reply && strcmp(m->subject, "ddiperf.find") == 0)
		bus_say(m->reply, NULL, "{\"name\":\"b\",\"id\":\"1\"}", 21);
}

// Asks the agent, and keeps its reply.
static json_t *ask(const char *verb, json_t *message)
{
	char subject[TALK_SUBJECT];

	x.subject[0] = '\0';
	bus_say_json(talk_agent(subject, "a", verb), "mine", message);
	assert_string_equal(x.subject, "mine");
	json_decref(x.reply);
	x.reply = talk_read(x.data, x.size);
	return x.reply;
}

static bool is_taken(void)
{
	return json_is_true(json_object_get(x.reply, "taken"));
}

static json_t *a_claim(const char *run)
{
	return json_pack("{s:s, s:s, s:{s:s, s:s}, s:[s], s:[], s:[s, s]}", "run", run,
		"coordinator", "me", "config", "name", "test.yaml", "text", "ports: []\n", "set",
		"run.seed=2", "files", "part", "fleet.agents=2", "fleet.part=1");
}

static void claim(const char *run)
{
	ask("claim", a_claim(run));
	assert_true(is_taken());
}

static void assert_refused(const char *verb, json_t *message, const char *why)
{
	const char *refused = document_text(ask(verb, message), "refused");

	if (!strstr(refused, why))
		fail_msg("\"%s\" is not in: %s", why, refused);
}

static const char *path_of(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", x.dir, name);
	return path;
}

static bool exists(const char *name)
{
	return access(path_of(name), F_OK) == 0;
}

static void assert_file(const char *name, const char *text)
{
	char buf[256];
	FILE *f = fopen(path_of(name), "r");

	assert_non_null(f);
	buf[fread(buf, 1, sizeof(buf) - 1, f)] = '\0';
	fclose(f);
	assert_string_equal(buf, text);
}

static void write_file(const char *name, const char *text)
{
	FILE *f = fopen(path_of(name), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

// --- tests

static struct agent_settings settings = {.name = "a", .labels = "rack=1"};

static int begin(void **state)
{
	memset(&x, 0, sizeof(x));
	memset(&bus, 0, sizeof(bus));
	bus.published = on_published;
	bus.ms = 100000;
	x.code = x.events = -1;
	strcpy(x.dir, "/tmp/ddiperf-test-XXXXXX");
	assert_non_null(mkdtemp(x.dir));
	settings = (struct agent_settings){.name = "a", .labels = "rack=1", .dir = x.dir};
	assert_int_equal(agent_open(NULL, &settings, &x.agent), 0);
	return 0;
}

static int end(void **state)
{
	char command[100];

	if (x.events >= 0) {
		x.code = -2;
		agent_end(x.agent);
	}
	agent_free(x.agent);
	json_decref(x.reply);
	snprintf(command, sizeof(command), "rm -rf %s", x.dir);
	return system(command);
}

static void assert_list(const char *path, const char *words)
{
	const json_t *one;
	char text[256] = "";
	size_t i;

	json_array_foreach((json_t *)document_at(x.reply, path), i, one) snprintf(
		text + strlen(text), sizeof(text) - strlen(text), "%s ", json_string_value(one));
	assert_string_equal(text, words);
}

static void it_tells_what_its_box_has(void **state)
{
	bus_say("ddiperf.find", "mine", "", 0);
	assert_string_equal(x.subject, "mine");
	x.reply = talk_read(x.data, x.size);
	assert_string_equal(document_text(x.reply, "name"), "a");
	assert_string_equal(document_text(x.reply, "labels"), "rack=1");
	assert_int_equal(strlen(document_text(x.reply, "id")), 32);
	assert_string_equal(document_text(x.reply, "run"), "");
	assert_string_equal(document_text(x.reply, "coordinator"), "");
	assert_true(document_number(x.reply, "cpus") != 0);
	assert_string_equal(document_text(x.reply, "box.model"), "Model (R) 7");
	assert_string_equal(document_text(x.reply, "box.dpdk"), "DPDK 22.11");
	assert_true(document_number(x.reply, "box.memory_available_mb") == 5);
	assert_true(document_number(x.reply, "box.hugepages_mb") == 7);
	assert_true(document_number(x.reply, "box.cpus") >= 1);
	assert_list("box.drivers", "ring socket ");
	assert_list("box.cards", "0000:01:00.0 ");
	assert_list("box.interfaces", "eth0 ");
	assert_list("box.missing", "CAP_NET_RAW eth1 ");
	assert_true(json_is_true(document_at(x.reply, "clock.kept")));
	assert_true(document_number(x.reply, "clock.error_ns") == 4000);
	x.lacks = true;
	bus_say("ddiperf.find", "mine", "", 0);
	json_decref(x.reply);
	x.reply = talk_read(x.data, x.size);
	assert_true(json_is_false(document_at(x.reply, "clock.kept")));
	assert_true(json_is_null(document_at(x.reply, "clock.error_ns")));
	x.subject[0] = '\0';
	bus_say("ddiperf.find", NULL, "", 0);
	assert_string_equal(x.subject, "");
}

static void it_tells_its_clock(void **state)
{
	bus_say("ddiperf.agent.a.time", "mine", "123", 3);
	assert_string_equal(x.subject, "mine");
	assert_int_equal(strncmp(x.data, "123 ", 4), 0);
	x.subject[0] = '\0';
	bus_say("ddiperf.agent.a.time", NULL, "123", 3);
	assert_string_equal(x.subject, "");
}

static void has_twin(const struct bus_message *m)
{
	if (m->reply)
		bus_say(m->reply, NULL, "{\"name\":\"a\",\"id\":\"1\"}", 21);
}

static int open_another(void *dir)
{
	const struct agent_settings other = {.name = "a", .labels = "", .dir = dir};
	struct agent *agent;
	int rc = agent_open(NULL, &other, &agent);

	agent_free(agent);
	return rc;
}

static void name_and_folder_are_its_own(void **state)
{
	char dir[80];

	assert_int_equal(capture_output(open_another, x.dir), -EWOULDBLOCK);
	assert_captured("another agent on this machine uses the folder /tmp/ddiperf-test-");
	snprintf(dir, sizeof(dir), "%s/other", x.dir);
	bus.published = has_twin;
	assert_int_equal(capture_output(open_another, dir), -EEXIST);
	assert_captured("there is an agent a already");
	write_file("file", "");
	snprintf(dir, sizeof(dir), "%s/file", x.dir);
	assert_int_equal(capture_output(open_another, dir), -ENOTDIR);
	assert_captured("agent: --dir ");
}

static void a_claim_starts_a_run(void **state)
{
	char *sets[] = {"ports.lan.device=eth1"}, folder[100];
	json_t *message = a_claim("r1");

	agent_free(x.agent);
	settings.commands = true;
	settings.assignments = sets;
	settings.assignment_count = 1;
	bus.count = 0;
	assert_int_equal(agent_open(NULL, &settings, &x.agent), 0);
	json_array_append_new(json_object_get(message, "files"),
		json_pack("{s:s, s:s}", "name", "queries", "hash", HASH));
	json_array_append_new(json_object_get(message, "files"),
		json_pack("{s:s, s:s}", "name", "sub/more", "hash", HASH));
	ask("claim", message);
	assert_true(is_taken());
	assert_string_equal(x.words,
		"ddiperf run --led --confined --set run.seed=2 --set ports.lan.device=eth1 "
		"--set fleet.agents=2 --set fleet.part=1 --allow-commands -- test.yaml");
	snprintf(folder, sizeof(folder), "%s/runs/r1", x.dir);
	assert_string_equal(x.folder, folder);
	assert_file("runs/r1/test.yaml", "ports: []\n");
	assert_file("runs/r1/queries", "content of 01234567\n");
	assert_file("runs/r1/sub/more", "content of 01234567\n");
	assert_int_equal(x.fetched, 1); // the other one is cached
	assert_true(bus_has("ddiperf.run.r1.beat"));
	bus_say("ddiperf.find", "mine", "", 0);
	assert_non_null(strstr(x.data, "\"run\":\"r1\",\"coordinator\":\"me\""));
	assert_refused("claim", a_claim("r2"), "run r1 of me has it");
}

static void wrong_claims_are_refused(void **state)
{
	static const char *const names[] = {
		"", "/a", ".a", "a/../b", "a,b", "log.txt", "events.jsonl", "run-1.json", "a/b"};
	json_t *message;

	assert_refused("claim", a_claim(""), "a run needs an id of letters");
	assert_refused("claim", a_claim("a.b"), "a run needs an id of letters");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		message = a_claim("r1");
		json_object_set_new(
			json_object_get(message, "config"), "name", json_string(names[i]));
		assert_refused("claim", message, "a file has a name that is not allowed");
		if (strcmp(names[i], "a/b") == 0)
			continue; // an input file may have it
		message = a_claim("r1");
		json_array_append_new(json_object_get(message, "files"),
			json_pack("{s:s, s:s}", "name", names[i], "hash", HASH));
		assert_refused("claim", message, "a file has a name that is not allowed");
	}
	message = a_claim("r1");
	json_array_append_new(json_object_get(message, "files"),
		json_pack("{s:s, s:s}", "name", "a", "hash", "../x"));
	assert_refused("claim", message, "a file has a name that is not allowed");
	message = a_claim("r1");
	json_array_append_new(json_object_get(message, "set"), json_integer(1));
	assert_refused("claim", message, "a setting is a text");
	message = a_claim("r1");
	json_array_append_new(json_object_get(message, "part"), json_true());
	assert_refused("claim", message, "a setting is a text");
	bus_say("ddiperf.agent.a.claim", "mine", "[]", 2);
	assert_string_equal(x.data, "{\"refused\":\"a claim is an object\"}");
	assert_string_equal(x.words, "");
}

// No folder is left, so the same run can be tried again.
static void a_run_that_cannot_start_leaves_nothing(void **state)
{
	json_t *message = a_claim("r1");

	json_array_append_new(json_object_get(message, "files"),
		json_pack("{s:s, s:s}", "name", "queries", "hash", HASH));
	x.lacks = true;
	assert_refused("claim", message, "an input file did not come through the object store");
	assert_false(exists("runs/r1"));
	x.refuses = -ENOMEM;
	assert_refused("claim", a_claim("r1"), "the run cannot be started: Cannot allocate");
	assert_false(exists("runs/r1"));
	x.refuses = 0;
	claim("r1");
}

static void a_run_of_the_past_is_not_repeated(void **state)
{
	mkdir(path_of("runs/r1"), 0700);
	assert_refused("claim", a_claim("r1"), "the agent has had a run of this id");
	assert_true(exists("runs/r1"));
}

static void set_age(const char *name, long seconds)
{
	const struct timespec times[2] = {{seconds, 0}, {seconds, 0}};

	assert_int_equal(utimensat(AT_FDCWD, path_of(name), times, 0), 0);
}

static void old_runs_are_forgotten(void **state)
{
	char name[32];

	for (int i = 1; i <= 22; i++) {
		snprintf(name, sizeof(name), "runs/old%d", i);
		mkdir(path_of(name), 0700);
		set_age(name, 1000 + 7 * i % 22);
	}
	claim("r1");
	for (int i = 1; i <= 22; i++) {
		snprintf(name, sizeof(name), "runs/old%d", i);
		assert_int_equal(exists(name), 7 * i % 22 > 2);
	}
	assert_true(exists("runs/r1"));
}

static void child_says(const char *text)
{
	assert_int_equal(write(x.events, text, strlen(text)), strlen(text));
}

static void assert_piece(const char *data)
{
	assert_string_equal(x.subject, "ddiperf.run.r1.a");
	assert_string_equal(x.data, data);
	assert_int_equal(x.size, strlen(data));
}

static json_t *an_order(const char *run, int number, const char *text)
{
	return json_pack(
		"{s:s, s:i, s:{s:s}}", "run", run, "number", number, "order", "once", text);
}

static void an_order_is_taken_once(void **state)
{
	ask("order", an_order("r1", 0, "a"));
	assert_false(is_taken());
	claim("r1");
	ask("order", an_order("r2", 0, "a"));
	assert_false(is_taken());
	x.full = true;
	ask("order", an_order("r1", 0, "a"));
	assert_false(is_taken());
	x.full = false;
	ask("order", an_order("r1", 0, "b"));
	assert_true(is_taken());
	ask("order", an_order("r1", 0, "b"));
	assert_true(is_taken());
	ask("order", an_order("r1", 1, "c"));
	assert_true(is_taken());
	assert_true(json_integer_value(json_object_get(x.reply, "number")) == 1);
	assert_string_equal(x.orders, "{\"once\":\"b\"}\n{\"once\":\"c\"}\n");
	ask("order", json_pack("{s:s, s:i}", "run", "r1", "number", 2));
	assert_false(is_taken());
}

static void events_are_sent_and_kept(void **state)
{
	char error[100];

	log_take_error(error, sizeof(error));
	claim("r1");
	x.pieces = 0;
	child_says("{\"up\":true}\n");
	agent_tick(x.agent);
	assert_piece("0\n{\"up\":true}\n");
	child_says("{\"ready\":1}\n");
	agent_tick(x.agent);
	assert_piece("12\n{\"ready\":1}\n");
	assert_file("runs/r1/events.jsonl", "{\"up\":true}\n{\"ready\":1}\n");
	log_take_error(error, sizeof(error));
	assert_string_equal(error, "");
	bus.ms += TALK_BEAT_MS - 1;
	agent_tick(x.agent);
	assert_int_equal(x.pieces, 2);
	bus.ms++;
	agent_tick(x.agent);
	assert_int_equal(x.pieces, 3);
	assert_piece("24\n");
	agent_tick(x.agent);
	assert_int_equal(x.pieces, 3);
}

static json_t *a_read(const char *run, const char *file, int from)
{
	return json_pack("{s:s, s:s, s:i}", "run", run, "file", file, "from", from);
}

static void assert_read(json_t *message, const char *data)
{
	ask("read", message);
	assert_int_equal(x.size, strlen(data));
	assert_memory_equal(x.data, data, strlen(data));
}

static void files_of_runs_are_read(void **state)
{
	claim("r1");
	child_says("0123456789");
	agent_tick(x.agent);
	assert_read(a_read("r1", "events.jsonl", 0), "0\n0123456789");
	assert_read(a_read("r1", "events.jsonl", 7), "7\n789");
	assert_read(a_read("r1", "events.jsonl", 10), "10\n");
	assert_read(a_read("r1", "events.jsonl", -1), "");
	assert_read(a_read("r1", "run-1.json", 0), "");
	assert_read(a_read("r1", "test.yaml", 0), "");
	assert_read(a_read("..", "events.jsonl", 0), "");
	mkdir(path_of("runs/r0"), 0700);
	write_file("runs/r0/run-1.json", "{}");
	assert_int_equal(symlink("test.yaml", path_of("runs/r1/run-2.json")), 0);
	assert_read(a_read("r1", "run-2.json", 0), "");
	assert_read(a_read("r0", "run-1.json", 0), ""); // this would disturb r1
	x.code = 0;
	ask("release", json_pack("{s:s}", "run", "r1"));
	agent_tick(x.agent);
	assert_read(a_read("r0", "run-1.json", 0), "0\n{}");
}

static void a_release_ends_the_run(void **state)
{
	ask("release", json_pack("{s:s}", "run", ""));
	assert_false(is_taken());
	claim("r1");
	ask("release", json_pack("{s:s}", "run", "r2"));
	assert_false(is_taken());
	assert_int_equal(x.ends, 0);
	ask("release", json_pack("{s:s}", "run", "r1"));
	assert_true(is_taken());
	assert_int_equal(x.ends, 1);
	child_says("last");
	x.code = 5;
	agent_tick(x.agent);
	assert_piece("4\n{\"over\":5}\n");
	assert_file("runs/r1/events.jsonl", "last{\"over\":5}\n");
	assert_int_equal(x.events, -1);
	assert_false(bus_has("ddiperf.run.r1.beat"));
	claim("r2");
}

// Its coordinator reads the events first, and releases the agent.
static void a_run_that_ends_keeps_its_agent(void **state)
{
	claim("r1");
	x.code = 3;
	agent_tick(x.agent);
	assert_piece("0\n{\"over\":3}\n");
	assert_refused("claim", a_claim("r2"), "run r1 of me has it");
	ask("release", json_pack("{s:s}", "run", "r1"));
	agent_tick(x.agent);
	claim("r2");
}

static void a_silent_coordinator_ends_the_run(void **state)
{
	claim("r1");
	bus.ms += 4000;
	bus_say("ddiperf.run.r1.beat", NULL, "", 0);
	bus.ms += 4999;
	agent_tick(x.agent);
	assert_int_equal(x.ends, 0);
	bus.down = true;
	bus.ms += 60000;
	agent_tick(x.agent);
	bus.down = false;
	bus.ms += 4999;
	agent_tick(x.agent);
	assert_int_equal(x.ends, 0);
	bus.ms++;
	agent_tick(x.agent);
	agent_tick(x.agent);
	assert_int_equal(x.ends, 1);
}

static void results_are_kept(void **state)
{
	static const char sum[] =
		"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"; // of {}

	assert_refused("kept", json_pack("{s:s}", "run", "."), "a run needs an id");
	assert_refused("kept", json_pack("{s:s}", "run", "r0"), "it does not have the run");
	mkdir(path_of("runs/r0"), 0700);
	assert_refused("kept", json_pack("{s:s}", "run", "r0"), "it kept no result");
	write_file("runs/r0/run-1.json.part", "{}");
	ask("kept", json_pack("{s:s}", "run", "r0"));
	assert_string_equal(document_text(x.reply, "file"), "run-1.json.part");
	assert_string_equal(document_text(x.reply, "hash"), sum);
	assert_true(document_number(x.reply, "size") == 2);
	write_file("runs/r0/run-1.json", "{}\n");
	ask("kept", json_pack("{s:s}", "run", "r0"));
	assert_string_equal(document_text(x.reply, "file"), "run-1.json");
	assert_true(document_number(x.reply, "size") == 3);
	claim("r1");
	assert_refused("kept", json_pack("{s:s}", "run", "r1"), "the run is not over there");
	assert_refused("kept", json_pack("{s:s}", "run", "r0"), "run r1 of me has it");
}

static void its_end_ends_the_run(void **state)
{
	claim("r1");
	x.code = -2;
	agent_end(x.agent);
	assert_int_equal(x.ends, 1);
	assert_piece("0\n{\"over\":0}\n");
	agent_end(x.agent);
	assert_int_equal(x.ends, 1);
	agent_end(NULL);
	agent_free(NULL);
}

// --- the command

static uint64_t capable;

uint64_t __wrap_capabilities_now(void);

uint64_t __wrap_capabilities_now(void)
{
	return capable;
}

static void interrupt_later(void)
{
	interrupt_count = bus.ms > 101000;
}

static void close_later(void)
{
	bus.closed = bus.ms > 101000;
}

static int command(void *options)
{
	interrupt_count = 0;
	bus.ms = 100000;
	bus.closed = false;
	return cmd_agent(options);
}

static void the_command_waits_until_it_is_interrupted(void **state)
{
	char dir[80];
	struct options o = {.name = "z", .dir = dir};

	snprintf(dir, sizeof(dir), "%s/command", x.dir);
	bus.count = 0;
	bus.ticked = interrupt_later;
	assert_int_equal(capture_output(command, &o), EXIT_PASS);
	assert_captured("ddiperf: agent z waits at here\n");
	assert_in_range(bus.ms, 101001, 101010);
	assert_string_equal(bus.settings.url, "nats://127.0.0.1:4222");
	assert_false(bus.settings.demanding);
	capable = 1;
	assert_int_equal(capture_output(command, &o), EXIT_PASS);
	assert_true(bus.settings.demanding);
	o.local_users = true;
	o.nats = "nats://there";
	assert_int_equal(capture_output(command, &o), EXIT_PASS);
	assert_false(bus.settings.demanding);
	assert_string_equal(bus.settings.url, "nats://there");
	bus.ticked = close_later;
	assert_int_equal(capture_output(command, &o), EXIT_ENVIRONMENT);
	assert_in_range(bus.ms, 101001, 101020);
	bus.published = has_twin;
	o.name = "a";
	assert_int_equal(capture_output(command, &o), EXIT_ENVIRONMENT);
	assert_captured("there is an agent a already");
	assert_null(strstr(captured, "waits at"));
	bus.refuses = -EINVAL;
	assert_int_equal(command(&o), EXIT_CONFIG);
	bus.refuses = -EACCES;
	assert_int_equal(command(&o), EXIT_CONFIG);
	bus.refuses = -ECONNREFUSED;
	assert_int_equal(command(&o), EXIT_ENVIRONMENT);
	o.name = "a.b";
	assert_int_equal(capture_output(command, &o), EXIT_CONFIG);
	assert_captured("agent: --name a.b: up to 63 letters, digits, - and _ are allowed");
	interrupt_count = 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(it_tells_what_its_box_has),
		TEST(it_tells_its_clock),
		TEST(name_and_folder_are_its_own),
		TEST(a_claim_starts_a_run),
		TEST(wrong_claims_are_refused),
		TEST(a_run_that_cannot_start_leaves_nothing),
		TEST(a_run_of_the_past_is_not_repeated),
		TEST(old_runs_are_forgotten),
		TEST(an_order_is_taken_once),
		TEST(events_are_sent_and_kept),
		TEST(files_of_runs_are_read),
		TEST(a_release_ends_the_run),
		TEST(a_run_that_ends_keeps_its_agent),
		TEST(a_silent_coordinator_ends_the_run),
		TEST(results_are_kept),
		TEST(its_end_ends_the_run),
		TEST(the_command_waits_until_it_is_interrupted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
