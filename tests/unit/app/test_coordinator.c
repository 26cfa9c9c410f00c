// SPDX-License-Identifier: BSD-3-Clause
// A coordinator and agents that the test plays: their choice and claims, a whole run and its
// result, and each fault of an agent. Bus and clocks are the test's, so nothing waits.
// Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "captured.h"
#include "fake_bus.h"
#include "base/log.h"
#include "document/document_reader.h"
#include "engine/config/config_load.h"
#include "fleet/agent_files.h"
#include "fleet/coordinator/fleet.h"
#include "fleet/fleet_clock.h"

#define MS   INT64_C(1000000)
#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

#define PARTS 2

// An agent, and what it does wrong.
struct part {
	const char *name;
	json_t *facts, *document;
	char subject[TALK_SUBJECT];
	char events[256 << 10];
	size_t size, told;     // octets of its events, and how many were sent
	int64_t ahead_ns;      // its clock
	unsigned claims, asks; // received
	unsigned orders;       // accepted
	char got[512];         // its orders, without times
	int64_t start_ns;
	uint64_t said_ms;
	bool released;
	const char *refuses;        // its claim
	bool mute, deaf, timeless;  // says nothing; takes no order; does not tell its clock
	bool silent_at_ready;       // says nothing from then on
	bool silent_in_run;         // nor from its begin on
	bool loses;                 // all of its run's messages but the last one
	bool stays;                 // does not end when it is released
	unsigned intervals;         // that it sends
	const char *at_once, *then; // events in place of its ready, and when it has started
	int64_t late_ns;            // of its begin
	int64_t moves_ns;           // of its clock during the run
	bool keeps_none;            // has no result
	bool runs;                  // sends the lines of its run next
	size_t repeats;             // sends its events from there on again
	unsigned times;             // it was asked for its clock
	json_t *numbers;            // of its intervals; NULL: 1, 2, 3
	bool warms_up;              // in its first interval
	bool lonely;                // ends by itself after its intervals
};

static struct {
	struct part parts[PARTS];
	unsigned count;
	char dir[64], file[80];
	const char *duration, *warmup, *drain; // NULL: 200 ms, 0, 1 s
	struct arena *arena;
	struct diag *diag;
	const struct config *config;
	struct fleet_wanted wanted;
	struct fleet *fleet;
	struct run_options run;
	volatile sig_atomic_t signals;
	struct result result;
	// what the hooks saw
	unsigned begins, intervals, warmups, kept, ticks;
	uint64_t sums[8], sent; // of each interval, and of all
	char note[512];
	bool enough;
	unsigned enough_after; // intervals
	uint64_t begun_ms;
	json_t *claim, *found; // the last claim; facts of further agents
	int put_file;          // -errno
	char put[100];         // the last file that was put
	const char *order;     // given in the first interval
	unsigned order_in_ms;  // from the begin
	int64_t order_ns;      // when it holds for part 2
	unsigned beats;
	int down_ms; // for how long the connection is lost in the run
} x;

int64_t __wrap_fleet_clock_ns(void);
int64_t __wrap_fleet_clock_error(void);
int __wrap_bus_put_file(struct bus *b, const char *path, char hash[65]);

int64_t __wrap_fleet_clock_ns(void)
{
	return 1000000 * (1700000000000 + (int64_t)bus.ms);
}

int64_t __wrap_fleet_clock_error(void)
{
	return -1;
}

int __wrap_bus_put_file(struct bus *b, const char *path, char hash[65])
{
	strcpy(hash, HASH);
	snprintf(x.put, sizeof(x.put), "%s", path);
	return x.put_file;
}

// --- agents

static struct part *part_named(const char *subject)
{
	for (unsigned i = 0; i < PARTS; i++)
		if (x.parts[i].name && strncmp(subject, "ddiperf.agent.", 14) == 0 &&
			subject[14] == *x.parts[i].name && subject[15] == '.')
			return &x.parts[i];
	return NULL;
}

// Sends what it has not sent, or an empty piece.
static void send_events(struct part *p)
{
	char piece[TALK_PIECE + 32];
	size_t count = p->size - p->told;

	assert_true(count <= TALK_PIECE);
	p->said_ms = bus.ms;
	if (p->mute)
		return;
	bus_say_later(
		p->subject, piece, talk_put_piece(piece, p->told, p->events + p->told, count), 0);
	p->told = p->size;
}

// An event that will be sent with the next one.
static void add_text(struct part *p, const char *text)
{
	p->size += (size_t)snprintf(p->events + p->size, sizeof(p->events) - p->size, "%s", text);
}

static void add(struct part *p, json_t *event)
{
	char *text = talk_text(event);

	add_text(p, text);
	add_text(p, "\n");
	free(text);
}

static void add_result(struct part *p)
{
	json_t *run = json_object_get(p->document, "run");

	json_object_set_new(run, "measured_from_ns", json_integer(p->start_ns + p->late_ns));
	json_object_set_new(run, "first_sent_ns", json_integer(p->start_ns + 3 * p->late_ns));
	add(p, json_pack("{s:i, s:O}", "end", 1, "result", p->document));
	add(p, json_pack("{s:i, s:s}", "result", 1, "file", "run-1.json"));
}

static void add_run(struct part *p)
{
	json_t *begin = json_deep_copy(p->document), *one;
	json_t *intervals = json_object_get(p->document, "intervals");
	size_t i;

	p->runs = false;
	json_object_del(begin, "intervals");
	add(p, json_pack("{s:i, s:o}", "begin", 1, "result", begin));
	json_array_foreach(intervals, i, one)
	{
		json_t *line = json_deep_copy(one);

		json_object_set_new(line, "number", json_integer((json_int_t)i + 1));
		if (p->numbers)
			json_object_set(line, "number", json_array_get(p->numbers, i));
		if (p->warms_up && i == 0)
			json_object_set_new(line, "warmup", json_true());
		if (i == 2)
			json_object_set_new(line, "last", json_true());
		if (i < p->intervals)
			add(p, line);
		else
			json_decref(line);
	}
	if (p->lonely)
		add_result(p);
}

static void obey(struct part *p, const json_t *order)
{
	const json_t *once = json_object_get(order, "once"), *stop = json_object_get(order, "stop");
	size_t room = sizeof(p->got) - strlen(p->got);

	snprintf(p->got + strlen(p->got), room, "%s ",
		json_object_iter_key(json_object_iter((json_t *)order)));
	if (once) {
		add_text(p, p->at_once ? p->at_once : "{\"ready\":1}\n");
		p->mute |= p->silent_at_ready;
	} else if (json_object_get(order, "start")) {
		p->start_ns = json_integer_value(json_object_get(order, "start"));
		add(p, json_pack("{s:i, s:I}", "started", 1, "at_ns", (json_int_t)p->start_ns));
		p->runs = true;
		p->ahead_ns += p->moves_ns;
	} else if (stop) {
		snprintf(p->got + strlen(p->got) - 1, room, "%lld ",
			(long long)json_integer_value(stop));
		if (!p->stays)
			add_result(p);
	} else {
		x.order_ns = json_integer_value(json_object_get(order, "at_ns"));
	}
	send_events(p);
}

static void on_order(struct part *p, const struct bus_message *m)
{
	json_t *message = talk_read(m->data, m->size);
	unsigned number = (unsigned)json_integer_value(json_object_get(message, "number"));
	char text[80];

	p->asks++;
	assert_string_equal(document_text(message, "run"), "r1");
	if (!p->mute && !p->deaf) {
		bus_say_later(m->reply, text,
			(size_t)sprintf(text, "{\"taken\":true,\"number\":%u}", number), 0);
		if (number == p->orders++)
			obey(p, json_object_get(message, "order"));
	}
	json_decref(message);
}

// 40 us there and 60 us back.
static void on_time(struct part *p, const struct bus_message *m)
{
	int64_t asked = strtoll(m->data, NULL, 10);
	char text[80];

	p->times++;
	if (!p->timeless && !p->mute)
		bus_say_later(m->reply, text,
			(size_t)sprintf(text, "%lld %lld -1", (long long)asked,
				(long long)(asked + 50000 + p->ahead_ns)),
			asked + 100000);
}

static void on_published(const struct bus_message *m)
{
	struct part *p = part_named(m->subject);
	json_t *facts;
	size_t i;

	x.beats += strcmp(m->subject, "ddiperf.run.r1.beat") == 0;
	if (strcmp(m->subject, "ddiperf.find") == 0) {
		json_array_foreach(x.found, i, facts)
		{
			char *text = json_dumps(facts, 0);

			bus_say_later(m->reply, text, strlen(text), 0);
			free(text);
		}
		return;
	}
	if (!p)
		return;
	if (strstr(m->subject, ".order")) {
		on_order(p, m);
	} else if (strstr(m->subject, ".time")) {
		on_time(p, m);
	} else if (strstr(m->subject, ".release")) {
		p->released = true;
		if (!p->stays)
			add_text(p, "{\"over\":0}\n");
		send_events(p);
	}
}

static json_t *a_piece(const char *text, size_t size, size_t from)
{
	char piece[TALK_PIECE + 33];
	size_t count = size - from < 5000 ? size - from : 5000;

	return json_stringn(piece, talk_put_piece(piece, from, text + from, count));
}

static json_t *on_asked(const char *subject, json_t *message)
{
	struct part *p = part_named(subject);
	size_t from = (size_t)json_integer_value(json_object_get(message, "from"));
	char *text;
	json_t *piece;

	assert_string_equal(document_text(message, "run"), "r1");
	if (strstr(subject, ".claim")) {
		json_decref(x.claim);
		x.claim = json_incref(message);
		p->claims++;
		if (p->refuses)
			return *p->refuses ? json_pack("{s:s}", "refused", p->refuses) : NULL;
		add_text(p, "{\"up\":true}\n");
		send_events(p);
		return json_pack("{s:b}", "taken", 1);
	}
	if (p->mute || p->keeps_none)
		return NULL;
	if (strcmp(document_text(message, "file"), TALK_EVENTS) == 0)
		return a_piece(p->events, p->size, from);
	assert_string_equal(document_text(message, "file"), "run-1.json");
	json_object_set_new(p->document, "mark", json_integer(1));
	text = json_dumps(p->document, 0);
	piece = a_piece(text, strlen(text), from);
	free(text);
	return piece;
}

// They beat, and go on with their run.
static void on_tick(void)
{
	bus.down = x.down_ms > 0 && x.begins;
	x.down_ms -= bus.down ? 20 : 0;
	for (unsigned i = 0; i < x.count; i++) {
		struct part *p = &x.parts[i];
		bool goes_on = p->runs || (x.begins && (p->then || p->repeats));

		if (p->runs) {
			add_run(p);
			if (p->loses)
				p->told = p->size;
		} else if (goes_on) {
			add_text(p, p->then ? p->then : "");
			p->then = NULL;
			p->told = p->repeats ? p->repeats : p->told;
			p->repeats = 0;
		}
		if (!bus.down && p->claims && (goes_on || bus.ms - p->said_ms >= TALK_BEAT_MS))
			send_events(p);
		p->mute |= p->silent_in_run && p->start_ns && !p->runs;
	}
}

// --- hooks

static void on_begin(void *ctx, const struct result *r, const struct config *c)
{
	x.begins++;
	x.begun_ms = bus.ms;
	assert_int_equal(r->number, 1);
	assert_string_equal(r->run.command, "ddiperf run");
	assert_ptr_equal(c, x.config);
}

static void on_interval(void *ctx, const struct result_interval *i, bool warmup)
{
	x.intervals += !warmup;
	x.warmups += warmup;
	if (x.order && x.intervals == 1)
		assert_null(fleet_order(
			x.fleet, x.order, (uint64_t)(x.parts[0].start_ns + x.order_in_ms * MS)));
}

static void on_kept(void *ctx, const struct result_interval *i)
{
	const struct result_interval_item *items = i->traffic.items;

	x.sums[x.kept++] = 0;
	for (uint32_t k = 0; k < i->traffic.count; k++)
		x.sums[x.kept - 1] += items[k].sent;
	x.sent += x.sums[x.kept - 1];
}

static void on_run_tick(void *ctx)
{
	x.ticks++;
}

static bool is_enough(void *ctx)
{
	return x.enough || (x.enough_after && x.intervals == x.enough_after);
}

static void on_note(void *ctx, const char *text)
{
	snprintf(x.note + strlen(x.note), sizeof(x.note) - strlen(x.note), "%s\n", text);
}

// --- the run

static json_t *facts_of(const char *name, const char *labels, const char *version, const char *run)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "name", name, "labels", labels,
		"version", version, "run", run, "coordinator", "you", "host", "box");
}

static void write_config(const char *more)
{
	FILE *f = fopen(x.file, "w");

	assert_non_null(f);
	fprintf(f,
		"run: {duration: %s, interval: 100ms, warmup: %s, drain: %s}\n"
		"ports:\n"
		"  - {name: tester, driver: ring, device: dut, addresses: [198.18.0.1/24]}\n"
		"  - {name: dut, driver: ring, device: tester, addresses: [198.18.0.2/24]}\n"
		"responder: {port: dut, dns: {}}\n"
		"traffic:\n"
		"  - {name: queries, server: 198.18.0.2, load: {rate: 200}, timeout: 1s, dns: "
		"{names: [a A]}}\n"
		"%s",
		x.duration ? x.duration : "200ms", x.warmup ? x.warmup : "0s",
		x.drain ? x.drain : "1s", more);
	fclose(f);
	x.config = config_load(x.file, NULL, 0, x.arena, x.diag);
	if (!x.config)
		diag_print(x.diag, stderr);
	assert_non_null(x.config);
}

static int begin(void **state)
{
	char path[256];

	memset(&x, 0, sizeof(x));
	memset(&bus, 0, sizeof(bus));
	bus.published = on_published;
	bus.asked = on_asked;
	bus.ticked = on_tick;
	bus.ms = 100000;
	bus.room = 1 << 20;
	x.count = PARTS;
	x.found = json_array();
	x.arena = arena_new();
	x.diag = diag_new();
	for (unsigned i = 0; i < PARTS; i++) {
		struct part *p = &x.parts[i];

		p->name = i ? "b" : "a";
		p->ahead_ns = i ? 5 * MS : 0;
		p->intervals = 3;
		p->lonely = true;
		talk_run(p->subject, "r1", p->name);
		snprintf(path, sizeof(path), "%s/part%u.json", unit_args[0], i + 1);
		p->document = json_load_file(path, 0, NULL);
		assert_non_null(p->document);
		json_array_insert_new(x.found, 0, facts_of(p->name, "rack=1", DDIPERF_VERSION, ""));
	}
	strcpy(x.dir, "/tmp/ddiperf-test-XXXXXX");
	assert_non_null(mkdtemp(x.dir));
	snprintf(x.file, sizeof(x.file), "%s/test.yaml", x.dir);
	write_config("");
	x.run = (struct run_options){.command = "ddiperf run",
		.id = "r1",
		.signals = &x.signals,
		.hooks = {.begin = on_begin,
			.interval = on_interval,
			.kept = on_kept,
			.tick = on_run_tick,
			.enough = is_enough,
			.note = on_note}};
	return 0;
}

static int end(void **state)
{
	char command[100];

	fleet_close(x.fleet);
	assert_int_equal(bus.open, 0);
	while (bus.first != bus.last)
		free(bus.waiting[bus.first++ % 64].data);
	for (unsigned i = 0; i < PARTS; i++) {
		json_decref(x.parts[i].document);
		json_decref(x.parts[i].numbers);
	}
	json_decref(x.found);
	json_decref(x.claim);
	arena_free(x.arena);
	diag_free(x.diag);
	snprintf(command, sizeof(command), "rm -rf %s", x.dir);
	return system(command);
}

static int open_fleet(void *ctx)
{
	return fleet_open(&x.wanted, x.config, &x.fleet);
}

static int open_run(void *ctx)
{
	struct run_elsewhere e = fleet_elsewhere(x.fleet);

	x.run.config = x.config;
	return e.open(e.ctx, &x.run, x.arena);
}

static int make_run(void *ctx)
{
	char *texts[] = {"run.seed=7"};
	struct run_elsewhere e = fleet_elsewhere(x.fleet);

	return e.once(e.ctx, x.config, texts, 1, &x.result);
}

static int close_run(void *ctx)
{
	struct run_elsewhere e = fleet_elsewhere(x.fleet);

	return e.close(e.ctx);
}

// Returns the exit code of the first step that fails, or of the run; captured has its messages.
static int run(void *ctx)
{
	int rc = open_fleet(NULL);

	if (rc == 0)
		rc = open_run(NULL);
	return rc ? rc : make_run(NULL);
}

static void assert_reason(const char *text)
{
	const char *const *reasons = x.result.verdict.reasons.items;

	for (uint32_t i = 0; i < x.result.verdict.reasons.count; i++)
		if (strstr(reasons[i], text))
			return;
	fail_msg("\"%s\" is no reason, but %u others", text, x.result.verdict.reasons.count);
}

// --- tests

static void a_run_is_the_sum_of_its_parts(void **state)
{
	json_t *document = json_object();
	const json_t *fleet, *member;

	x.parts[1].late_ns = 200000;
	assert_int_equal(capture_output(run, NULL), 0);
	assert_string_equal(captured, "");
	assert_string_equal(x.result.verdict.status, "pass");
	assert_int_equal(x.result.verdict.reasons.count, 0);
	assert_int_equal(x.result.number, 1);
	assert_int_equal(x.begins, 1);
	assert_int_equal(x.intervals, 2);
	assert_int_equal(x.warmups, 0);
	assert_int_equal(x.kept, 3);
	assert_int_equal(x.sent, 14 + 4 + 26 + 7);
	assert_true(x.ticks > 0 && x.beats > 0);
	assert_int_equal(x.parts[1].times, 20 + 20); // before and after the run
	assert_string_equal(x.parts[0].got, "once start ");
	assert_string_equal(x.parts[1].got, "once start ");
	assert_int_equal(x.parts[1].start_ns - x.parts[0].start_ns, 5 * MS);
	assert_non_null(strstr(x.note,
		"agent a: part 1 of 2; its clock is +0.000 ms off, known within 0.050 ms\n"));
	assert_non_null(strstr(x.note, "agent b: part 2 of 2; its clock is +5.000 ms off"));
	assert_int_equal(close_run(NULL), 0);
	assert_true(x.parts[0].released && x.parts[1].released);
	fleet_complete(x.fleet, 1, document);
	assert_int_equal(json_array_size(json_object_get(document, "parts")), 2);
	assert_true(document_number(
			    json_array_get(json_object_get(document, "parts"), 1), "mark") == 1);
	fleet = json_object_get(document, "fleet");
	assert_true(document_number(fleet, "agents") == 2);
	assert_true(document_number(fleet, "skew_within_ns") == 50000);
	assert_true(document_number(fleet, "start_skew_ns") == 600000);
	assert_true(document_number(fleet, "start_skew_within_ns") == 100000);
	assert_int_equal(json_array_size(json_object_get(fleet, "orders")), 0);
	member = json_array_get(json_object_get(fleet, "members"), 1);
	assert_string_equal(document_text(member, "name"), "b");
	assert_string_equal(document_text(member, "host"), "box");
	assert_string_equal(document_text(member, "clock_source"), "nats");
	assert_true(document_number(member, "part") == 2);
	assert_true(document_number(member, "clock_offset_ns") == 5e6);
	assert_true(document_number(member, "began_ns") == 200000);
	json_decref(document);
}

static bool has(const char *list, const char *text)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(x.claim, list), i,
		one) if (strcmp(json_string_value(one), text) == 0) return true;
	return false;
}

#define assert_has(list, text) assert_true(has(list, text))

static void a_claim_has_all_that_a_part_needs(void **state)
{
	char *sets[] = {"run.seed=2"}, path[100];
	const json_t *file;

	x.wanted.assignments = sets;
	x.wanted.assignment_count = 1;
	write_config("  - {name: others, server: 198.18.0.2, load: {rate: 1, max_outstanding: 9},\n"
		     "     dns: {queries: sub/list}}\n");
	assert_int_equal(open_fleet(NULL), 0);
	assert_int_equal(open_run(NULL), 0);
	assert_string_equal(document_text(x.claim, "config.name"), "test.yaml");
	assert_int_equal(strncmp(document_text(x.claim, "config.text"), "run: {duration", 14), 0);
	assert_int_equal(strncmp(document_text(x.claim, "coordinator"), "process ", 8), 0);
	assert_has("set", "run.seed=2");
	assert_has("part", "fleet.agents=2");
	assert_has("part", "fleet.part=2");
	assert_has("part", "run.id=r1");
	assert_has("part", "stop=[]");
	assert_has("part", "output.prometheus=null");
	assert_false(has("part", "output.config=null") || has("part", "output.percentiles=null"));
	assert_has("part", "traffic.others.load.max_outstanding=0");
	file = json_array_get(json_object_get(x.claim, "files"), 0);
	assert_string_equal(document_text(file, "name"), "sub/list");
	assert_string_equal(document_text(file, "hash"), HASH);
	snprintf(path, sizeof(path), "%s/sub/list", x.dir);
	assert_string_equal(x.put, path);
	x.put_file = -EIO;
	assert_int_equal(open_run(NULL), EXIT_ENVIRONMENT);
}

static void assert_error(const char *text)
{
	char last[512];

	log_take_error(last, sizeof(last));
	if (!strstr(last, text))
		fail_msg("\"%s\" is not in: %s", text, last);
}

static void input_files_are_in_the_folder(void **state)
{
	static const char *const names[] = {"/etc/list", "a/../../list"};
	char more[200];

	for (size_t i = 0; i < 2; i++) {
		snprintf(more, sizeof(more),
			"  - {name: o, server: 198.18.0.2, load: {rate: 1}, dns: {queries: %s}}\n",
			names[i]);
		write_config(more);
		assert_int_equal(open_fleet(NULL), 0);
		assert_int_equal(open_run(NULL), EXIT_CONFIG);
		assert_error("a fleet takes only files in the folder of the configuration");
		assert_int_equal(x.parts[0].claims, 0);
		fleet_close(x.fleet);
		x.fleet = NULL;
	}
	assert_int_equal(open_fleet(NULL), 0);
	unlink(x.file);
	assert_int_equal(open_run(NULL), EXIT_CONFIG);
	assert_error("(a fleet needs a file)");
}

static void fitting_agents_are_chosen_by_name(void **state)
{
	x.wanted.labels = "rack=1";
	json_array_append_new(x.found, facts_of("c", "rack=2", DDIPERF_VERSION, ""));
	json_array_append_new(x.found, facts_of("A", "rack=1", "0.0.1", ""));
	json_array_append_new(x.found, facts_of("B", "rack=1", "0.0.1", ""));
	json_array_append_new(x.found, facts_of("C", "rack=1", DDIPERF_VERSION, "r9"));
	json_array_append_new(x.found, facts_of("a.b", "rack=1", DDIPERF_VERSION, ""));
	assert_int_equal(capture_output(open_fleet, NULL), 0);
	assert_captured("agents A and B are left out: version 0.0.1, not " DDIPERF_VERSION "\n");
	assert_captured("agent C is left out: run r9 of you has it\n");
	assert_int_equal(open_run(NULL), 0);
	assert_int_equal(x.parts[0].claims, 1);
	assert_int_equal(x.parts[1].claims, 1);
	assert_has("part", "fleet.part=2"); // b, the last one
	fleet_close(x.fleet);
	x.wanted.agents = "1";
	assert_int_equal(capture_output(open_fleet, NULL), 0);
	assert_int_equal(open_run(NULL), 0);
	assert_int_equal(x.parts[0].claims, 2);
	assert_int_equal(x.parts[1].claims, 1);
	fleet_close(x.fleet);
	x.wanted.agents = "3";
	assert_int_equal(capture_output(open_fleet, NULL), EXIT_ENVIRONMENT);
	assert_captured("2 agents with the labels rack=1 are free, and 3 are needed");
	fleet_close(x.fleet);
	x.wanted.agents = NULL;
	x.wanted.labels = "rack=3";
	assert_int_equal(open_fleet(NULL), EXIT_ENVIRONMENT);
	assert_error("0 agents with the labels rack=3 are free, and 1 are needed");
}

static void wrong_wishes_are_refused(void **state)
{
	static const char *const counts[] = {"", "0", "x", "1x", "1025", "10000", "-1"};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		x.wanted.agents = counts[i];
		assert_int_equal(open_fleet(NULL), EXIT_CONFIG);
		assert_error("not a number (1 to 1024)");
	}
	x.wanted.agents = "1024";
	assert_int_equal(open_fleet(NULL), EXIT_ENVIRONMENT);
	fleet_close(x.fleet);
	x.wanted.agents = "9";
	assert_int_equal(open_fleet(NULL), EXIT_ENVIRONMENT);
	fleet_close(x.fleet);
	x.wanted.agents = NULL;
	write_config("fleet: {agents: 3}\n");
	assert_int_equal(open_fleet(NULL), EXIT_ENVIRONMENT);
	assert_error("2 agents are free, and 3 are needed");
	fleet_close(x.fleet);
	bus.refuses = -EACCES;
	assert_int_equal(open_fleet(NULL), EXIT_CONFIG);
	fleet_close(x.fleet);
	bus.refuses = -ECONNREFUSED;
	assert_int_equal(open_fleet(NULL), EXIT_ENVIRONMENT);
}

static void a_claim_can_fail(void **state)
{
	x.parts[1].refuses = "no room";
	assert_int_equal(run(NULL), EXIT_ENVIRONMENT);
	assert_error("agent b (part 2): no room");
	assert_int_equal(close_run(NULL), 0);
	assert_true(x.parts[0].released);
	assert_false(x.parts[1].released);
	fleet_close(x.fleet);
	x.parts[1].refuses = "";
	assert_int_equal(run(NULL), EXIT_ENVIRONMENT);
	assert_error("agent b (part 2): it does not answer: Connection timed out");
	fleet_close(x.fleet);
	bus.room = 100;
	assert_int_equal(run(NULL), EXIT_CONFIG);
	assert_error("the configuration is too large for a message of NATS");
}

struct misdeed {
	struct part part; // what part 2 does wrong
	int code;
	const char *reason, *told; // what part 1 was told
};

// The run goes no further than its begin.
static void a_run_does_not_begin(void **state)
{
	static const struct misdeed faults[] = {
		{{.at_once = "{\"failed\":4,\"text\":\"no server\"}\n"}, 4, "no server",
			"once stop2 "},
		{{.at_once = "{\"failed\":4}\n"}, 4, "the run failed there", "once stop2 "},
		{{.at_once = "{\"over\":3}\n"}, 5, "its process has ended before the run",
			"once stop2 "},
		{{.at_once = "[]\n"}, 5, "it sent a message that cannot be parsed", "once stop2 "},
		{{.at_once = "{}\n"}, 5, "it is not ready after 120 s", "once stop2 "},
		{{.deaf = true}, 5, "it takes no order", "once stop2 "},
		{{.silent_at_ready = true}, 5, "no message from it for 1.0", "once stop2 "},
		{{.timeless = true}, 5, "it does not report its clock", "once start stop2 "},
	};

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		const struct part *of = &faults[i].part;
		struct part *p = &x.parts[1];

		p->at_once = of->at_once;
		p->deaf = of->deaf;
		p->silent_at_ready = of->silent_at_ready;
		p->timeless = of->timeless;
		assert_int_equal(run(NULL), faults[i].code);
		assert_error(faults[i].reason);
		close_run(NULL);
		assert_string_equal(x.parts[0].got, faults[i].told);
		assert_int_equal(x.begins, 0);
		if (of->deaf)
			assert_int_equal(p->asks, 5);
		end(NULL);
		begin(NULL);
	}
}

// Its data until then are in the result, and the others are told to end.
static void a_fault_of_an_agent_makes_a_run_invalid(void **state)
{
	static const struct misdeed faults[] = {
		{{.then = "nonsense\n"}, 5, "it sent a message that cannot be parsed", "stop0 "},
		{{.then = "{\"failed\":3,\"text\":\"link down\"}\n"}, 5, "link down", "stop0 "},
		{{.then = "{\"over\":139}\n"}, 5, "its process has ended before the run", "stop0 "},
		{{.mute = true}, 5, "no message from it for 1.0", "stop0 "},
		{{.intervals = 2, .stays = true}, 5, "its run does not end", ""},
		{{.moves_ns = 3 * MS, .lonely = true}, 5, "its clock moved by 3.000 ms", ""},
		{{.late_ns = 2 * MS, .lonely = true}, 5,
			"the agents began 2.000 ms apart (validity.fleet_skew: 1.000 ms)", ""},
	};

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		const struct part *of = &faults[i].part;
		struct part *p = &x.parts[1];
		char got[64];

		p->then = of->then;
		p->stays = of->stays;
		p->moves_ns = of->moves_ns;
		p->late_ns = of->late_ns;
		p->lonely = x.parts[0].lonely = of->lonely;
		p->intervals = of->intervals ? of->intervals : 3;
		p->silent_in_run = of->mute;
		x.parts[0].lonely |= of->stays;
		snprintf(got, sizeof(got), "once start %s", faults[i].told);
		assert_int_equal(capture_output(run, NULL), faults[i].code);
		assert_reason(faults[i].reason);
		assert_string_equal(x.result.verdict.status, "invalid");
		assert_string_equal(x.parts[0].got, got);
		assert_true(x.sent >= 14 + 4 + 13 + 6);
		end(NULL);
		begin(NULL);
	}
}

static void clocks_that_nobody_knows_make_a_run_invalid(void **state)
{
	write_config("validity: {fleet_skew: 49us}\n");
	assert_int_equal(capture_output(run, NULL), EXIT_INVALID);
	assert_reason("the clocks of the agents are known within 0.050 ms only "
		      "(validity.fleet_skew: 0.049 ms)");
}

static void a_part_that_is_behind_is_stuck(void **state)
{
	x.duration = "2s";
	write_config("");
	x.parts[0].lonely = x.parts[1].lonely = false;
	x.parts[1].intervals = 1;
	x.parts[0].then = "{\"number\":5}\n";
	assert_int_equal(capture_output(run, NULL), EXIT_INVALID);
	assert_reason("agent b (part 2): it is 4 intervals behind the others");
}

static void a_part_without_a_result_has_its_intervals(void **state)
{
	x.parts[1].lonely = false;
	x.parts[1].then = "{\"failed\":3,\"text\":\"gone\"}\n{\"over\":3}\n";
	assert_int_equal(capture_output(run, NULL), EXIT_INVALID);
	assert_reason("agent b (part 2): gone");
	assert_int_equal(x.sent, 14 + 4 + 26 + 7);
	assert_int_equal(((struct result_item *)x.result.traffic.items)[0].ledger.sent, 14 + 26);
}

static void lost_events_are_read_again(void **state)
{
	x.parts[1].loses = true;
	assert_int_equal(capture_output(run, NULL), 0);
	assert_int_equal(x.sent, 14 + 4 + 26 + 7);
	end(NULL);
	begin(NULL);
	x.parts[1].loses = x.parts[1].keeps_none = true;
	assert_int_equal(capture_output(run, NULL), EXIT_INVALID);
	assert_captured("agent b (part 2): events that it sent are lost");
}

static void a_rule_of_the_file_stops_all(void **state)
{
	write_config("stop: [sent >= 5]\n");
	x.parts[0].lonely = x.parts[1].lonely = false;
	assert_int_equal(capture_output(run, NULL), EXIT_FAIL);
	assert_string_equal(x.parts[0].got, "once start stop0 ");
	assert_string_equal(x.parts[1].got, "once start stop0 ");
	assert_reason("stopped 0.1 s after the start of the measured part: ");
	assert_int_equal(x.result.verdict.stopped_value, 7 + 13);
}

static void a_purpose_that_is_reached_stops_all(void **state)
{
	x.parts[0].lonely = x.parts[1].lonely = false;
	x.enough = true;
	assert_int_equal(capture_output(run, NULL), 0);
	assert_string_equal(x.parts[0].got, "once start stop0 ");
}

static void on_interrupt(void *ctx)
{
	if (++x.ticks > 60)
		x.signals = (int)(uintptr_t)ctx;
}

static void interrupts_go_to_all(void **state)
{
	for (int i = 1; i <= 3; i++) {
		x.run.hooks.tick = on_interrupt;
		x.run.hooks.ctx = (void *)(uintptr_t)i;
		x.parts[0].lonely = x.parts[1].lonely = false;
		x.parts[1].stays = i == 3;
		capture_output(run, NULL);
		assert_string_equal(
			x.parts[0].got, i == 1 ? "once start stop1 " : "once start stop2 ");
		if (i == 3)
			assert_captured("agent b (part 2): its run does not end");
		end(NULL);
		begin(NULL);
	}
	x.signals = 1;
	assert_int_equal(run(NULL), EXIT_INTERRUPTED);
	assert_int_equal(x.begins, 0);
}

// In the middle of an interval, by its clock, so far ahead that it is there in time.
static void a_rate_changes_in_the_same_interval(void **state)
{
	static const struct {
		unsigned wanted_ms, warmup_ms, holds_ms; // of the begin
	} rows[] = {{0, 0, 50}, {1000, 0, 950}, {1049, 0, 1050}, {1050, 0, 1050}, {170, 250, 150},
		{280, 250, 300}, {380, 250, 400}};
	static const char rate[] = "traffic.queries.load.rate=9";

	assert_int_equal(open_fleet(NULL), 0);
	assert_string_equal(fleet_order(x.fleet, rate, 0), "no packets flow now");
	fleet_close(x.fleet);
	x.fleet = NULL;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char warmup[16];

		snprintf(warmup, sizeof(warmup), "%ums", rows[i].warmup_ms);
		x.warmup = warmup;
		write_config("");
		x.order = rate;
		x.order_in_ms = rows[i].wanted_ms;
		x.parts[0].lonely = x.parts[1].lonely = false;
		x.enough = true;
		assert_int_equal(capture_output(run, NULL), 0);
		assert_non_null(strstr(x.parts[1].got, "order "));
		assert_int_equal(x.order_ns - x.parts[1].start_ns, rows[i].holds_ms * MS);
		end(NULL);
		begin(NULL);
	}
}

static json_t *an_order(const char *set, int64_t from_ns)
{
	return json_pack(
		"{s:s, s:f, s:I}", "set", set, "at_s", 0.1, "from_ns", (json_int_t)from_ns);
}

static void orders_are_compared_by_one_clock(void **state)
{
	json_t *document = json_object();
	const json_t *one;

	json_object_set_new(x.parts[0].document, "orders",
		json_pack("[o, o]", an_order("rate=1", 1000), an_order("rate=2", 5000)));
	json_object_set_new(x.parts[1].document, "orders",
		json_pack("[o, o]", an_order("rate=1", 1300 + 5 * MS), an_order("rate=2", 0)));
	x.parts[0].then = x.parts[1].then =
		"{\"order\":\"rate=1\",\"refused\":\"too late\"}\n{\"order\":\"rate=2\"}\n";
	assert_int_equal(capture_output(run, NULL), 0);
	assert_string_equal(captured, "ddiperf: warning: order rate=1: too late\n"); // once
	fleet_complete(x.fleet, 1, document);
	one = json_array_get(document_at(document, "fleet.orders"), 0);
	assert_string_equal(document_text(one, "set"), "rate=1");
	assert_true(document_number(one, "parts") == 2);
	assert_true(document_number(one, "from_ns") == 1000);
	assert_true(document_number(one, "spread_ns") == 300);
	one = json_array_get(document_at(document, "fleet.orders"), 1);
	assert_true(document_number(one, "parts") == 1);
	assert_true(document_number(one, "spread_ns") == 0);
	assert_int_equal(json_array_size(document_at(document, "fleet.orders")), 2);
	json_decref(document);
}

static void two_agents_are_enough_for_two_parts(void **state)
{
	write_config("fleet: {agents: 2}\n");
	assert_int_equal(capture_output(run, NULL), 0);
}

// The second interval of a part, as a line; free() it.
static char *second_line(struct part *p)
{
	json_t *line = json_deep_copy(json_array_get(json_object_get(p->document, "intervals"), 1));
	char *text, *both;

	json_object_set_new(line, "number", json_integer(2));
	text = talk_text(line);
	assert_true(asprintf(&both, "%s\n", text) > 0);
	free(text);
	return both;
}

// Also when those of a part come later, or twice.
static void intervals_of_one_time_are_added(void **state)
{
	char *line = second_line(&x.parts[1]);

	x.parts[1].intervals = 1;
	x.parts[1].lonely = false;
	x.parts[0].lonely = false;
	x.parts[0].repeats = 40;
	x.parts[1].then = line;
	x.enough_after = 2;
	assert_int_equal(capture_output(run, NULL), 0);
	assert_int_equal(x.sums[0], 7 + 4 + 13 + 6);
	assert_int_equal(x.sums[1], 7 + 13 + 1);
	assert_int_equal(x.intervals, 2);
	free(line);
}

// A part whose intervals are shorter has several in the time of one, and the last may come later.
static void short_intervals_are_added_to_a_long_one(void **state)
{
	for (int late = 0; late < 2; late++) {
		char *line = second_line(&x.parts[1]);

		x.parts[0].intervals = 1;
		x.parts[0].numbers = json_pack("[i]", 2);
		x.parts[1].intervals = late ? 1 : 2;
		x.parts[1].then = late ? line : NULL;
		x.parts[0].lonely = x.parts[1].lonely = !late;
		x.enough_after = 1;
		assert_int_equal(capture_output(run, NULL), 0);
		assert_int_equal(x.intervals, 1);
		assert_int_equal(x.sums[0], 7 + 4 + 13 + 6 + 13 + 1);
		free(line);
		end(NULL);
		begin(NULL);
	}
}

static void the_warmup_is_shown_and_not_judged(void **state)
{
	write_config("stop: [sent >= 25]\n");
	x.parts[0].warms_up = x.parts[1].warms_up = true;
	assert_int_equal(capture_output(run, NULL), 0); // the first interval has 30
	assert_int_equal(x.warmups, 1);
	assert_int_equal(x.intervals, 1);
	assert_int_equal(x.kept, 2);
}

// As long as a run may take: with its drain, and half a minute.
static void a_run_without_an_end_is_ended(void **state)
{
	static const struct {
		const char *drain;
		unsigned ms;
	} rows[] = {{"1s", 31200}, {"auto", 30200 + 4 * 1000}};

	for (size_t i = 0; i < 2; i++) {
		x.drain = rows[i].drain;
		write_config("");
		x.parts[1].lonely = false;
		x.parts[1].intervals = 2;
		assert_int_equal(capture_output(run, NULL), EXIT_INVALID);
		assert_reason("agent b (part 2): its run does not end");
		assert_in_range(bus.ms - x.begun_ms, rows[i].ms, rows[i].ms + 500);
		end(NULL);
		begin(NULL);
	}
}

static void a_lost_connection_is_no_fault_of_an_agent(void **state)
{
	x.down_ms = 5000;
	assert_int_equal(capture_output(run, NULL), 0);
	assert_int_equal(x.result.verdict.reasons.count, 0);
}

static void an_agent_whose_run_does_not_end_is_named(void **state)
{
	x.parts[1].stays = true;
	assert_int_equal(capture_output(run, NULL), 0);
	assert_int_equal(close_run(NULL), EXIT_ENVIRONMENT);
	assert_error("agent b: its run does not end");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(a_run_is_the_sum_of_its_parts),
		TEST(a_claim_has_all_that_a_part_needs),
		TEST(input_files_are_in_the_folder),
		TEST(fitting_agents_are_chosen_by_name),
		TEST(wrong_wishes_are_refused),
		TEST(a_claim_can_fail),
		TEST(a_run_does_not_begin),
		TEST(a_fault_of_an_agent_makes_a_run_invalid),
		TEST(clocks_that_nobody_knows_make_a_run_invalid),
		TEST(a_part_that_is_behind_is_stuck),
		TEST(a_part_without_a_result_has_its_intervals),
		TEST(lost_events_are_read_again),
		TEST(a_rule_of_the_file_stops_all),
		TEST(a_purpose_that_is_reached_stops_all),
		TEST(interrupts_go_to_all),
		TEST(a_rate_changes_in_the_same_interval),
		TEST(orders_are_compared_by_one_clock),
		TEST(two_agents_are_enough_for_two_parts),
		TEST(intervals_of_one_time_are_added),
		TEST(short_intervals_are_added_to_a_long_one),
		TEST(the_warmup_is_shown_and_not_judged),
		TEST(a_run_without_an_end_is_ended),
		TEST(a_lost_connection_is_no_fault_of_an_agent),
		TEST(an_agent_whose_run_does_not_end_is_named),
	};

	assert_non_null(unit_args[0]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
