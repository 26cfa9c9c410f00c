// SPDX-License-Identifier: BSD-3-Clause
// A folder of runs: the state of each until it ends, which may run together, and the remains of a
// killed server. A run is a child process of the test that follows its orders. Path: cold. Test.
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

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "document/document_reader.h"
#include "process/child.h"
#include "process/orders.h"
#include "process/supervise.h"
#include "web/runs.h"

#define FILE_OF(device) "ports: [{name: a, driver: af_packet, device: " device "}]\ntraffic: []\n"

static struct fixture {
	char dir[64];
	struct runs *runs;
	struct runs_error e;
	char id[RUNS_ID_SIZE], words[1024]; // of the last child
	int refuses;                        // -errno of the next start
	uint64_t ahead_ms;                  // of the steady clock
	unsigned reports;
} x;

int __wrap_child_start(const struct child *c, pid_t *pid);

uint64_t __wrap_clock_steady_ms(void);
uint64_t __real_clock_steady_ms(void);

uint64_t __wrap_clock_steady_ms(void)
{
	return __real_clock_steady_ms() + x.ahead_ms;
}

// An octet a signal, in the folder of the run.
static void note_signal(int signal)
{
	int fd = open("signals", O_CREAT | O_APPEND | O_WRONLY, 0666);

	if (signal && write(fd, "x", 1) != 1)
		_exit(98);
	close(fd);
}

// "exit N" ends the run; an interrupt kills it, unless "ignore" was ordered before.
static void heed_orders(void)
{
	char line[100];

	while (fgets(line, sizeof(line), stdin))
		if (strncmp(line, "{\"order\":\"exit ", 15) == 0) {
			_exit(atoi(line + 15));
		} else if (strncmp(line, "{\"order\":\"ignore", 16) == 0) {
			signal(SIGINT, note_signal);
			note_signal(0);
		}
	for (;;)
		pause();
}

int __wrap_child_start(const struct child *c, pid_t *pid)
{
	bool report = strcmp(c->argv[1], "report") == 0;

	if (x.refuses)
		return x.refuses;
	x.reports += report;
	for (int i = 0; !report && c->argv[i]; i++)
		snprintf(x.words + strlen(x.words), sizeof(x.words) - strlen(x.words), "%s ",
			c->argv[i]);
	*pid = fork();
	if (*pid)
		return 0;
	if (chdir(c->folder) < 0 || report)
		_exit(!report);
	dup2(c->in, STDIN_FILENO);
	for (int fd = 3; fd < 64; fd++)
		close(fd); // the ends of other runs' orders
	heed_orders();
	_exit(99);
}

static void write_file(const char *text, const char *fmt, ...)
{
	char name[200], path[300];
	va_list ap;
	FILE *f;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	snprintf(path, sizeof(path), "%s/%s", x.dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static bool is_there(const char *fmt, const char *id)
{
	char name[200], path[300];

	snprintf(name, sizeof(name), fmt, id);
	snprintf(path, sizeof(path), "%s/%s", x.dir, name);
	return access(path, F_OK) == 0;
}

static int begin(void **state)
{
	x = (struct fixture){.dir = "/tmp/ddiperf-test-XXXXXX"};
	assert_non_null(mkdtemp(x.dir));
	assert_int_equal(runs_open(x.dir, true, &x.runs), 0);
	write_file(FILE_OF("eth0"), "files/a.yaml");
	write_file(FILE_OF("eth1"), "files/b.yaml");
	return 0;
}

static int end(void **state)
{
	char command[100];

	if (x.runs) {
		runs_end(x.runs);
		runs_close(x.runs);
	}
	snprintf(command, sizeof(command), "rm -rf %s", x.dir);
	return system(command);
}

struct start {
	const char *file, *more[8];
	unsigned count, lease_s;
	bool fleet, over;
};

static void *start_run(void *of)
{
	struct start *s = of;
	json_t *fleet = s->fleet ? json_array() : NULL;

	runs_start(x.runs, s->lease_s, s->file, s->more, s->count, fleet, x.id, &x.e);
	json_decref(fleet);
	__atomic_store_n(&s->over, true, __ATOMIC_SEQ_CST);
	return NULL;
}

// The code of its refusal, or 0.
static unsigned start(struct start s)
{
	pthread_t thread;

	x.words[0] = '\0';
	assert_int_equal(pthread_create(&thread, NULL, start_run, &s), 0);
	while (!__atomic_load_n(&s.over, __ATOMIC_SEQ_CST)) {
		runs_tick(x.runs);
		poll(NULL, 0, 1);
	}
	pthread_join(thread, NULL);
	return x.e.code;
}

#define START(...) start((struct start){__VA_ARGS__})

static unsigned tell(const char *id, const char *setting)
{
	json_t *order = json_pack("{s:s}", "order", setting);

	runs_order(x.runs, id, order, &x.e);
	json_decref(order);
	return x.e.code;
}

static unsigned stop(const char *id)
{
	runs_stop(x.runs, id, &x.e);
	return x.e.code;
}

static unsigned delete (const char *id)
{
	runs_delete(x.runs, id, &x.e);
	return x.e.code;
}

static void assert_status(const char *id, const char *status)
{
	json_t *state = runs_state(x.runs, id);

	assert_string_equal(document_text(state, "status"), status);
	json_decref(state);
}

// Its state when it has ended.
static json_t *ended(const char *id)
{
	json_t *state = NULL;

	for (int ms = 0; ms < 20000; ms++) {
		runs_tick(x.runs);
		json_decref(state);
		state = runs_state(x.runs, id);
		if (strcmp(document_text(state, "status"), "running") != 0)
			break;
		poll(NULL, 0, 1);
	}
	assert_string_equal(document_text(state, "status"), "ended");
	assert_int_equal(strlen(document_text(state, "ended")), 20);
	return state;
}

static void assert_ended(const char *id, int code)
{
	json_t *state = ended(id);

	assert_int_equal(json_integer_value(json_object_get(state, "exit_code")), code);
	json_decref(state);
}

static unsigned active(void)
{
	struct runs_ids ids;

	runs_active(x.runs, &ids);
	return ids.count;
}

static void a_run_has_its_figures_when_it_has_ended(void **state)
{
	struct runs_ids ids;
	char order[ORDER_SIZE + 2];
	json_t *s;

	assert_int_equal(START("a.yaml", {"--set", "run.seed=3", "--set", "x=1"}, 4), 0);
	assert_status(x.id, "running");
	assert_true(is_there("runs/%s/run.yaml", x.id));
	assert_true(is_there("runs/%s.json", x.id));
	assert_non_null(strstr(x.words, "ddiperf run --set run.seed=3 --set x=1 --confined --json "
					"result.json --set run.id="));
	assert_non_null(strstr(x.words,
		"--set output.jsonl=live.jsonl --orders --allow-commands ../../files/a.yaml "));
	runs_active(x.runs, &ids);
	assert_int_equal(ids.count, 1);
	assert_string_equal(ids.id[0], x.id);
	assert_int_equal(delete (x.id), 409);
	write_file(
		"{\"run\": {\"name\": \"n\"}, \"verdict\": {\"status\": \"pass\"}, \"traffic\": "
		"[{\"answered_per_s\": 10, \"sent\": 30, \"lost\": 2, \"latency\": {\"response\": "
		"{\"p99_ns\": 7}}}, {\"answered_per_s\": 5, \"sent\": 10, \"lost\": 1, "
		"\"latency\": {\"response\": {\"p99_ns\": 9}}}, {\"answered_per_s\": 0, "
		"\"sent\": 0, \"lost\": 0}]}",
		"runs/%s/result.json", x.id);
	write_file("first\nlast\n \n", "runs/%s/log.txt", x.id);
	memset(order, 'x', sizeof(order));
	order[ORDER_SIZE - strlen("{\"order\":\"\"}")] = '\0';
	assert_int_equal(tell(x.id, order), 400);
	order[strlen(order) - 1] = '\0';
	assert_int_equal(tell(x.id, order), 0);
	assert_int_equal(tell(x.id, "exit\n3"), 0); // as one line, which is no such order
	assert_int_equal(tell("another", "exit 3"), 409);
	assert_int_equal(tell(x.id, "exit 3"), 0);
	s = ended(x.id);
	assert_string_equal(document_text(s, "name"), "n");
	assert_string_equal(document_text(s, "verdict"), "pass");
	assert_string_equal(document_text(s, "said"), "last");
	assert_string_equal(document_text(s, "file"), "a.yaml");
	assert_true(document_number(s, "exit_code") == 3);
	assert_true(document_number(s, "answered_per_s") == 15);
	assert_true(document_number(s, "loss") == 0.075);
	assert_true(document_number(s, "p99_ns") == 9);
	assert_int_equal(json_array_size(json_object_get(s, "set")), 2);
	assert_null(json_object_get(s, "fleet"));
	json_decref(s);
	assert_int_equal(x.reports, 1);
	assert_int_equal(active(), 0);
	assert_int_equal(tell(x.id, "exit 3"), 409);
	assert_int_equal(stop(x.id), 409);
	assert_int_equal(delete (x.id), 0);
	assert_false(is_there("runs/%s", x.id));
	assert_int_equal(delete (x.id), 404);
	assert_null(runs_state(x.runs, x.id));
}

static void a_run_is_stopped_by_an_interrupt(void **state)
{
	json_t *s;

	assert_int_equal(START("a.yaml", .fleet = true), 0);
	assert_int_equal(stop(x.id), 0);
	s = ended(x.id);
	assert_true(document_number(s, "exit_code") == 128 + SIGINT);
	assert_string_equal(document_text(s, "said"), "");
	assert_non_null(json_object_get(s, "fleet"));
	assert_null(json_object_get(s, "p99_ns"));
	json_decref(s);
	assert_int_equal(x.reports, 0);
}

static void wait_signals(const char *id, long count)
{
	char path[200];
	struct stat st = {.st_size = -1};

	snprintf(path, sizeof(path), "%s/runs/%s/signals", x.dir, id);
	for (int ms = 0; ms < 20000 && (stat(path, &st) < 0 || st.st_size != count); ms++) {
		runs_tick(x.runs);
		poll(NULL, 0, 1);
	}
	assert_int_equal(st.st_size, count);
}

static void a_responder_that_ignores_interrupts_is_killed(void **state)
{
	assert_int_equal(START("a.yaml", .lease_s = 100), 0);
	assert_int_equal(tell(x.id, "ignore"), 0);
	wait_signals(x.id, 0);
	x.ahead_ms = 100000;
	for (long count = 1; count <= 3; count++) {
		wait_signals(x.id, count);
		assert_status(x.id, "running");
		x.ahead_ms += SUPERVISE_PATIENCE_MS;
	}
	assert_ended(x.id, 128 + SIGKILL);
}

static void runs_of_other_ports_are_beside_each_other(void **state)
{
	char first[RUNS_ID_SIZE];

	assert_int_equal(START("a.yaml"), 0);
	strcpy(first, x.id);
	assert_int_equal(START("a.yaml"), 409);
	assert_non_null(strstr(x.e.text, "is using the same port: af_packet eth0"));
	assert_int_equal(START("b.yaml", {"--set", "ports.a.device=eth0"}, 2), 409);
	assert_int_equal(START("b.yaml", {"--sets", "ports.a.device=eth0"}, 2), 0);
	assert_int_equal(active(), 2);
	for (unsigned i = 2; i < RUNS_ACTIVE_MAX; i++)
		assert_int_equal(START("a.yaml", .fleet = true), 0);
	assert_int_equal(START("a.yaml", .fleet = true), 409);
	assert_string_equal(x.e.text, "8 runs are in progress already");
	assert_int_equal(tell(first, "exit 0"), 0);
	assert_ended(first, 0);
	assert_int_equal(active(), RUNS_ACTIVE_MAX - 1);
	assert_int_equal(START("a.yaml"), 0);
}

static void runs_of_one_second_are_listed_newest_first(void **state)
{
	char ids[RUNS_ACTIVE_MAX][RUNS_ID_SIZE];
	json_t *list;

	for (unsigned i = 0; i < RUNS_ACTIVE_MAX; i++) {
		assert_int_equal(START("a.yaml", .fleet = true), 0);
		strcpy(ids[RUNS_ACTIVE_MAX - 1 - i], x.id);
	}
	list = runs_list(x.runs);
	for (unsigned i = 0; i < RUNS_ACTIVE_MAX; i++)
		assert_string_equal(document_text(json_array_get(list, i), "id"), ids[i]);
	json_decref(list);
}

static void a_campaign_has_its_progress_and_the_ports_of_all_its_runs(void **state)
{
	json_t *s;

	write_file("base: a.yaml\nvary: [{name: b, setting: base, values: [a.yaml, b.yaml]}]\n"
		   "points: [{name: p}, {name: q, set: [ports.a.device=eth2]}]\n",
		"files/c.yaml");
	write_file(FILE_OF("eth2"), "files/d.yaml");
	assert_int_equal(START("c.yaml", {"--set", "repeats=2"}, 2), 0);
	assert_non_null(strstr(x.words, "ddiperf campaign --set repeats=2 --confined --set "
					"output.json=campaign.json --set output.jsonl=live.jsonl "
					"--orders --allow-commands ../../files/c.yaml "));
	for (const char *file = "abcd"; *file; file++)
		assert_int_equal(START((char[]){*file, '.', 'y', 'a', 'm', 'l', '\0'}), 409);
	assert_int_equal(START("d.yaml", {"--set", "ports.a.device=eth3"}, 2), 0);
	s = runs_list(x.runs);
	strcpy(x.id, document_text(json_array_get(s, 1), "id"));
	json_decref(s);
	assert_int_equal(tell(x.id, "exit 5"), 409);
	write_file("{\"name\": \"n\", \"verdict\": \"fail\", \"running\": {\"cell\": 1}, "
		   "\"done\": 3, \"of\": 8, \"rows\": []}",
		"runs/%s/campaign.json", x.id);
	s = runs_state(x.runs, x.id);
	assert_string_equal(document_text(s, "name"), "n");
	assert_string_equal(document_text(s, "campaign.verdict"), "fail");
	assert_true(document_number(s, "campaign.running.cell") == 1);
	assert_true(document_number(s, "campaign.done") == 3);
	assert_null(json_object_get(s, "verdict"));
	json_decref(s);
	write_file("{\"name\": \"n\", \"verdict\": \"interrupted\", \"running\": null, "
		   "\"done\": 3, \"of\": 8, \"exit_code\": 130, \"rows\": []}",
		"runs/%s/campaign.json", x.id);
	assert_int_equal(stop(x.id), 0);
	s = ended(x.id);
	assert_string_equal(document_text(s, "verdict"), "interrupted");
	assert_true(json_is_null(json_object_get(json_object_get(s, "campaign"), "running")));
	json_decref(s);
	assert_int_equal(x.reports, 0);
}

static void what_cannot_start_leaves_nothing(void **state)
{
	json_t *list;

	x.refuses = -EAGAIN;
	assert_int_equal(START("a.yaml"), 500);
	assert_non_null(strstr(x.e.text, strerror(EAGAIN)));
	assert_false(is_there("runs/%s", x.id));
	x.refuses = 0;
	assert_int_equal(START("missing.yaml"), 500);
	assert_non_null(strstr(x.e.text, strerror(ENOENT)));
	assert_int_equal(active(), 0);
	list = runs_list(x.runs);
	assert_int_equal(json_array_size(list), 0);
	json_decref(list);
	assert_false(runs_are_over(x.runs));
	runs_end(x.runs);
	assert_true(runs_are_over(x.runs));
	assert_int_equal(START("a.yaml"), 503);
}

static void a_responder_ends_when_nobody_looks_at_it(void **state)
{
	assert_int_equal(START("a.yaml", .lease_s = 1), 0);
	assert_non_null(
		strstr(x.words, "ddiperf respond --confined --json result.json --set run.id="));
	assert_null(strstr(x.words, "live.jsonl"));
	assert_null(strstr(x.words, "--allow-commands"));
	write_file("{}", "runs/%s/result.json", x.id);
	for (int i = 0; i < 15; i++) {
		poll(NULL, 0, 100);
		runs_look(x.runs, x.id);
		runs_tick(x.runs);
		assert_status(x.id, "running");
	}
	assert_ended(x.id, 128 + SIGINT);
	assert_int_equal(x.reports, 0);
}

// Runs of a killed server end by themselves.
static void what_a_killed_server_left_is_noted(void **state)
{
	struct runs *second;
	json_t *list, *s;

	assert_int_equal(runs_open(x.dir, false, &second), -EBUSY);
	runs_close(x.runs);
	x.runs = NULL;
	write_file("{\"id\": \"1\", \"status\": \"running\"}", "runs/1.json");
	write_file("{\"id\": \"2\", \"status\": \"running\"}", "runs/2.json");
	write_file("{\"id\": \"3\", \"status\": \"ended\"}", "runs/3.json");
	write_file("[]", "runs/4.json");
	write_file("{\"id\": \"0\", \"status\": \"running\", \"campaign\": {}}", "runs/0.json");
	mkdir(strcat(strcpy(x.words, x.dir), "/runs/0"), 0777);
	write_file("{\"verdict\": \"fail\", \"exit_code\": 1}", "runs/0/campaign.json");
	write_file("{}", "runs/5.txt");
	mkdir(strcat(strcpy(x.words, x.dir), "/runs/1"), 0777);
	mkdir(strcat(strcpy(x.words, x.dir), "/runs/2"), 0777);
	write_file("{\"verdict\": {\"exit_code\": 4}}", "runs/1/result.json");
	assert_int_equal(runs_open(x.dir, false, &x.runs), 0);
	assert_false(runs_allow_commands(x.runs));
	assert_ended("1", 4);
	assert_ended("0", 1);
	assert_status("2", "lost");
	list = runs_list(x.runs);
	assert_int_equal(json_array_size(list), 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(document_text(json_array_get(list, (size_t)i), "id")[0], '3' - i);
	json_decref(list);
	write_file("{\"verdict\": {\"exit_code\": 0}}", "runs/2/result.json");
	for (int ms = 0; ms < 3000; ms += 50) {
		runs_tick(x.runs);
		poll(NULL, 0, 50);
	}
	s = runs_state(x.runs, "2");
	assert_string_equal(document_text(s, "status"), "ended");
	json_decref(s);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(a_run_has_its_figures_when_it_has_ended),
		TEST(a_run_is_stopped_by_an_interrupt),
		TEST(a_responder_that_ignores_interrupts_is_killed),
		TEST(runs_of_other_ports_are_beside_each_other),
		TEST(runs_of_one_second_are_listed_newest_first),
		TEST(a_campaign_has_its_progress_and_the_ports_of_all_its_runs),
		TEST(what_cannot_start_leaves_nothing),
		TEST(a_responder_ends_when_nobody_looks_at_it),
		TEST(what_a_killed_server_left_is_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
