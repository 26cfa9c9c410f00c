// SPDX-License-Identifier: BSD-3-Clause
// The course of a run from launch to verdict, with workers, intervals and the server's reachability
// played by the test: phases, ends, and the intervals that are kept, shown and checked against stop
// rules. Path: cold. Test.
#include "../planned.h"

#include <errno.h>
#include <math.h>
#include <time.h>

#include "engine/run/run_state.h"
#include "engine/run/judge/verdict.h"
#include "engine/run/run_course.h"

#define TEXT(run)                                                                                  \
	"run: {warmup: 2s, duration: 10s, interval: 100ms" run                                     \
	"}\nstop: [\"failed > 100\"]\n" LOADED_PORTS                                               \
	"traffic: [{name: q, server: 198.18.0.2, load: {rate: 1k}, " LOADED_DNS "}]\n"
#define MADE_MAX 256
#define FAR      (1ull << 40) // ticks: minutes

// The inputs of the test, and its observations.
static struct {
	// Inputs: intervals that have ended and were not collected yet.
	struct result_interval list[MADE_MAX];
	bool warmup[MADE_MAX];
	uint32_t count, next;
	void (*pass)(uint32_t n); // after each look of the management thread
	int resolved;             // result of the search for the server
	int claimed;              // and for hosts with our addresses
	uint64_t measure, end;    // ticks from the start
	uint32_t waiting, flying; // naps that the responder, or a packet, takes
	uint32_t hurry;           // naps until the second signal; 0: none
	int evidence;             // start of the capture
	bool no_probe;
	// Observations.
	uint32_t naps, errors, probes;
	char steps[128];
	uint32_t cpu_reads[4], cpu_count; // looks of the management thread before them
	uint64_t begun;
	uint32_t passes, shown, shown_warmup, responders, launched[4], launches;
	uint32_t phase_at_verdict;
	uint64_t scheduled, ordered_ns, started_ns;
	bool judged, interrupted;
	double kept[MADE_MAX]; // ends of the intervals that were handed out
	uint32_t kept_count;
	struct result_verdict verdict; // that will be reached
	unsigned users;                // readings of processes
	const char *busiest;
	bool near; // the server, to this box
} seen;

void __wrap_cpu_users_read(struct cpu_users *out);
void __wrap_cpu_busiest(const struct cpu_users *from, const struct cpu_users *to, int self,
	char *text, size_t room);
bool __wrap_verdict_is_near(const struct plan *plan, const struct plan_item *i);

static struct planned *p;
static struct run r;
static struct result result;
static struct run_options options;
static volatile sig_atomic_t signals;
static uint64_t tick; // of the plan's clock: naps move it
static struct result_interval_item nothing;

int __wrap_nanosleep(const struct timespec *t, struct timespec *left);
int __wrap_evidence_log_start(struct plan *plan, struct arena *a, struct evidence_log **out);
void __wrap_evidence_log_stop(struct evidence_log *log, struct result_capture *out);
struct probe *__wrap_probe_start(const struct probe_settings *s, uint64_t every_ns);
void __wrap_probe_stop(struct probe *probe, const struct probe_span *measured, struct arena *a,
	struct result *res);
const struct result_dut_interval *__wrap_probe_take(
	struct probe *probe, const struct probe_span *measured, uint64_t until, struct arena *a);
bool __real_cpu_read(struct cpu_times *out);
bool __wrap_cpu_read(struct cpu_times *out);
void __wrap_log_error(const char *fmt, ...);
int __wrap_address_probe_run(struct plan *plan, const volatile sig_atomic_t *s,
	struct address_probe *out, struct io_error *e);
int __wrap_resolve_all(struct plan *plan, const volatile sig_atomic_t *s, struct io_error *e);
void __wrap_launch_loop(uint32_t worker, int (*loop)(void *), void *arg);
void __wrap_launch_wait_all(void);
void __wrap_plan_schedule(struct plan *plan, uint64_t start);
void __wrap_clock_refine(struct clock *c);
bool __wrap_collect_interval(const struct plan *plan, struct collect_state *s, struct arena *a,
	struct result_interval *out, bool *warmup);
void __wrap_collect_last_interval(const struct plan *plan, struct collect_state *s, struct arena *a,
	struct result_interval *out);
void __wrap_collect_result(const struct plan *plan, struct arena *a, struct result *out);
const char *__wrap_collect_check(const struct plan *plan, const struct timeline *t,
	const struct result *res, struct arena *a);
int __wrap_verdict_reach(const struct plan *plan, const struct timeline *t, const char *broken,
	bool interrupted, struct arena *a, struct result *res);
bool __wrap_port_link_up(const struct port *port);
void __wrap_port_read_counters(struct port *port, struct port_counters *out);

static void step(const char *name)
{
	size_t len = strlen(seen.steps);

	snprintf(seen.steps + len, sizeof(seen.steps) - len, "%s%s", len ? " " : "", name);
}

int __wrap_evidence_log_start(struct plan *plan, struct arena *a, struct evidence_log **out)
{
	step("capture");
	*out = plan->config->output.capture && seen.evidence == 0 ? (void *)&seen : NULL;
	return seen.evidence;
}

void __wrap_evidence_log_stop(struct evidence_log *log, struct result_capture *out)
{
	assert_ptr_equal(log, &seen);
	step("no-capture");
	out->packets = 7;
}

struct probe *__wrap_probe_start(const struct probe_settings *s, uint64_t every_ns)
{
	step("probe");
	assert_int_equal(every_ns, 100000000);
	return seen.no_probe ? NULL : (struct probe *)&seen;
}

const struct result_dut_interval *__wrap_probe_take(
	struct probe *probe, const struct probe_span *measured, uint64_t until, struct arena *a)
{
	return NULL;
}

void __wrap_probe_stop(
	struct probe *probe, const struct probe_span *measured, struct arena *a, struct result *res)
{
	assert_int_equal(measured->to - measured->from, seen.end - seen.measure);
	if (probe)
		step("no-probe");
}

bool __wrap_cpu_read(struct cpu_times *out)
{
	seen.cpu_reads[seen.cpu_count++ % 4] = seen.passes;
	return __real_cpu_read(out);
}

void __wrap_log_error(const char *fmt, ...)
{
	seen.errors++;
}

int __wrap_address_probe_run(struct plan *plan, const volatile sig_atomic_t *s,
	struct address_probe *out, struct io_error *e)
{
	assert_int_equal(seen.launches, 0); // nobody else reads the ports
	seen.probes++;
	*out = (struct address_probe){0};
	return seen.claimed;
}

int __wrap_resolve_all(struct plan *plan, const volatile sig_atomic_t *s, struct io_error *e)
{
	snprintf(e->text, sizeof(e->text), "nobody is there");
	return seen.resolved;
}

void __wrap_launch_loop(uint32_t worker, int (*loop)(void *), void *arg)
{
	seen.launched[seen.launches++] = worker;
}

void __wrap_launch_wait_all(void)
{
}

int __wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
	seen.naps++;
	tick += (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
	seen.flying -= seen.flying > 0;
	seen.waiting -= seen.waiting > 0;
	r.plan.responders[0].counts.waiting = seen.waiting;
	if (seen.hurry && seen.naps >= seen.hurry)
		signals = 2;
	return 0;
}

void __wrap_plan_schedule(struct plan *plan, uint64_t start)
{
	seen.scheduled = start;
	start = tick; // without the lead
	for (uint32_t i = 0; i < plan->worker_count; i++)
		plan->workers[i].times = (struct run_times){
			.start = start, .measure = start + seen.measure, .end = start + seen.end};
}

void __wrap_clock_refine(struct clock *c)
{
}

bool __wrap_collect_interval(const struct plan *plan, struct collect_state *s, struct arena *a,
	struct result_interval *out, bool *warmup)
{
	if (seen.next == seen.count) {
		if (seen.pass && r.plan.phase != PHASE_STOP)
			seen.pass(++seen.passes);
		return false;
	}
	*out = seen.list[seen.next];
	*warmup = seen.warmup[seen.next++];
	return true;
}

void __wrap_collect_last_interval(const struct plan *plan, struct collect_state *s, struct arena *a,
	struct result_interval *out)
{
	*out = (struct result_interval){.t_s = 99, .traffic = {&nothing, 1}};
}

void __wrap_collect_result(const struct plan *plan, struct arena *a, struct result *out)
{
	out->ports.items = arena_zalloc(a, plan->port_count * sizeof(struct result_port));
}

const char *__wrap_collect_check(const struct plan *plan, const struct timeline *t,
	const struct result *res, struct arena *a)
{
	return NULL;
}

int __wrap_verdict_reach(const struct plan *plan, const struct timeline *t, const char *broken,
	bool interrupted, struct arena *a, struct result *res)
{
	seen.judged = true;
	seen.interrupted = interrupted;
	seen.phase_at_verdict = plan->phase;
	if (seen.busiest)
		res->verdict = seen.verdict;
	return 55;
}

void __wrap_cpu_users_read(struct cpu_users *out)
{
	out->count = ++seen.users;
}

void __wrap_cpu_busiest(
	const struct cpu_users *from, const struct cpu_users *to, int self, char *text, size_t room)
{
	assert_true(from->count == 1 && to->count == 2 && self == getpid());
	snprintf(text, room, "%s", seen.busiest ? seen.busiest : "");
}

bool __wrap_verdict_is_near(const struct plan *plan, const struct plan_item *i)
{
	return seen.near;
}

bool __wrap_port_link_up(const struct port *port)
{
	return true;
}

void __wrap_port_read_counters(struct port *port, struct port_counters *out)
{
	*out = (struct port_counters){.tx_packets = 5, .rx_packets = seen.flying ? 4 : 5};
}

static void show(void *ctx, const struct result_interval *i, bool warmup)
{
	seen.shown++;
	seen.shown_warmup += warmup;
}

static void keep(void *ctx, const struct result_interval *i)
{
	seen.kept[seen.kept_count++] = i->t_s;
}

static void show_responder(void *ctx, double t_s, const struct result_responder *total)
{
	assert_string_equal(total->port, "dut");
	assert_true(t_s >= 0.1 * ++seen.responders); // an interval each
	if (seen.responders == 2)
		signals = 1;
}

static void begin(const char *text, bool respond_only)
{
	p = planned_start(text, respond_only);
	assert_int_equal(plan_build(&p->plan, p->l.a), 0);
	options = (struct run_options){.config = p->l.config,
		.signals = &signals,
		.respond_only = respond_only,
		.hooks = {.interval = show, .kept = keep, .responder = show_responder}};
	r = (struct run){
		.options = &options, .config = p->l.config, .arena = p->l.a, .result = &result};
	r.plan = p->plan;
	r.plan.clock = (struct clock){.hz = 1e9, .set = &tick};
}

static int setup(void **state)
{
	memset(&seen, 0, sizeof(seen));
	memset(&result, 0, sizeof(result));
	signals = 0;
	tick = 1000000000;
	seen.measure = 0;
	seen.end = FAR;
	p = NULL;
	return 0;
}

static int teardown(void **state)
{
	if (p)
		planned_free(p);
	return 0;
}

static void finish_at_3(uint32_t n)
{
	r.plan.workers[0].finished = n >= 3;
}

static struct result_interval_item *make(double t_s, double length_s, bool warmup)
{
	struct result_interval_item *item = arena_zalloc(p->l.a, sizeof(*item));

	item->name = "q";
	seen.warmup[seen.count] = warmup;
	seen.list[seen.count++] = (struct result_interval){t_s, length_s, .traffic = {item, 1}};
	return item;
}

static void a_run_goes_on_until_its_workers_have_finished(void **state)
{
	begin(TEXT(""), false);
	seen.pass = finish_at_3;
	assert_int_equal(run_course(&r), 55);
	assert_int_equal(seen.passes, 3);
	assert_true(seen.judged);
	assert_false(seen.interrupted);
	assert_int_equal(seen.phase_at_verdict, PHASE_STOP);
	// Our own server is ready before the first packet.
	assert_int_equal(seen.launches, 2);
	assert_int_equal(seen.launched[0], 1);
	assert_int_equal(seen.launched[1], 0);
}

static void an_address_of_another_host_is_an_environment_that_does_not_do(void **state)
{
	begin(TEXT(""), false);
	seen.claimed = -EADDRINUSE;
	assert_int_equal(run_course(&r), EXIT_ENVIRONMENT);
	assert_int_equal(seen.errors, 1);
	seen.claimed = -EINTR;
	assert_int_equal(run_course(&r), EXIT_INTERRUPTED);
	assert_int_equal(seen.errors, 1);
	assert_int_equal(seen.launches, 0);
	assert_int_equal(seen.probes, 2);
}

static void addresses_are_asked_for_before_the_first_run_only(void **state)
{
	begin(TEXT(""), false);
	r.number = 2;
	seen.pass = finish_at_3;
	assert_int_equal(run_course(&r), 55);
	assert_int_equal(seen.probes, 0);
}

static uint32_t phases[8];

static void note_phase(uint32_t n)
{
	if (n < 8)
		phases[n] = r.plan.phase;
	finish_at_3(n);
}

static void the_measured_part_follows_the_warmup(void **state)
{
	begin(TEXT(""), false);
	seen.pass = note_phase;
	seen.measure = FAR / 2;
	run_course(&r);
	assert_int_equal(phases[3], PHASE_WARMUP);
	teardown(state);
	setup(state);
	begin(TEXT(""), false);
	seen.pass = note_phase;
	run_course(&r);
	assert_int_equal(phases[3], PHASE_MEASURE);
}

static void signal_at_2(uint32_t n)
{
	if (n < 8)
		phases[n] = r.plan.phase;
	signals = n >= 2;
	r.plan.workers[0].finished = n >= 4;
}

static void the_first_signal_drains_and_the_run_is_judged_as_interrupted(void **state)
{
	begin(TEXT(""), false);
	seen.pass = signal_at_2;
	assert_int_equal(run_course(&r), 55);
	assert_true(phases[2] < PHASE_DRAIN);
	assert_int_equal(phases[3], PHASE_DRAIN);
	assert_int_equal(seen.passes, 4);
	assert_true(seen.interrupted);
}

static void two_signals(uint32_t n)
{
	signals = 2;
}

static void the_second_signal_ends_it_at_once(void **state)
{
	begin(TEXT(""), false);
	seen.pass = two_signals;
	run_course(&r);
	assert_int_equal(seen.passes, 1);
	assert_int_equal(seen.naps, 1); // late replies are not waited for
	assert_true(seen.interrupted);
}

static void never(uint32_t n)
{
	assert_true(n < 50);
}

static void a_worker_that_does_not_finish_is_given_up_after_the_drain(void **state)
{
	begin(TEXT(", drain: 0s"), false);
	seen.pass = never;
	seen.end = 1;
	seen.waiting = 1000;
	assert_int_equal(run_course(&r), 55);
	assert_true(seen.passes >= 1 && seen.passes <= 3);
	assert_int_equal(seen.naps, seen.passes + 1);
	assert_false(seen.interrupted);
}

static void one_signal(uint32_t n)
{
	signals = 1;
	assert_true(tick - seen.begun < 10000000000ull); // two naps, and the drain
}

// The drain time starts once, with the first signal.
static void a_worker_that_does_not_finish_after_a_signal_is_given_up_too(void **state)
{
	begin(TEXT(", drain: 1ms"), false);
	seen.pass = one_signal;
	seen.begun = tick;
	assert_int_equal(run_course(&r), 55);
	assert_true(seen.interrupted);
}

static bool is_enough(void *ctx)
{
	return seen.passes >= 1;
}

static void a_run_whose_purpose_is_known_drains(void **state)
{
	begin(TEXT(""), false);
	options.hooks.enough = is_enough;
	seen.pass = note_phase;
	run_course(&r);
	assert_true(phases[1] < PHASE_DRAIN);
	assert_int_equal(phases[3], PHASE_DRAIN);
	assert_false(seen.interrupted);
}

static void a_rule_that_holds_drains(void **state)
{
	begin(TEXT(""), false);
	make(1, 1, false)->failed = 60;
	make(2, 1, false)->failed = 60;
	make(3, 1, false)->failed = 60;
	seen.pass = note_phase;
	run_course(&r);
	assert_int_equal(phases[3], PHASE_DRAIN);
	// The first time that the rule held.
	assert_string_equal(result.verdict.stopped, "failed > 100");
	assert_true(result.verdict.stopped_s == 2);
	assert_true(result.verdict.stopped_value == 120);
	assert_int_equal(seen.kept_count, 4);
}

// Adds this number of "port unreachable" to the last interval.
static void refuse(struct wire_counters *counters, uint64_t times)
{
	struct result_interval *i = &seen.list[seen.count - 1];
	static struct result_interval_port port;

	counters->icmp_errors[ICMP_PORT_UNREACHABLE] = times;
	port = (struct result_interval_port){.other = counters};
	i->ports = (struct counter_list){&port, 1};
}

// Also in the warm-up, and without waiting for replies.
static void a_port_that_nobody_listens_at_ends_the_run(void **state)
{
	struct wire_counters counters = {.fragments = 0};

	begin(TEXT(""), false);
	make(1, 1, true);
	refuse(&counters, 3);
	seen.pass = note_phase;
	run_course(&r);
	assert_int_equal(seen.passes, 1);
	assert_int_equal(seen.phase_at_verdict, PHASE_STOP);
	assert_false(seen.interrupted);
}

static void a_server_that_was_heard_or_refused_twice_does_not(void **state)
{
	struct wire_counters counters = {.fragments = 0};

	begin(TEXT(""), false);
	make(1, 1, true)->answered = 1;
	refuse(&counters, 1000);
	seen.pass = finish_at_3;
	run_course(&r);
	assert_int_equal(seen.passes, 3);
	teardown(state);
	setup(state);
	begin(TEXT(""), false);
	make(1, 1, true);
	refuse(&counters, 2);
	seen.pass = finish_at_3;
	run_course(&r);
	assert_int_equal(seen.passes, 3);
	teardown(state);
	setup(state);
	begin("events: [{at: 1s, name: start, run: x}]\n" TEXT(""),
		false); // it may be started later
	make(1, 1, true);
	refuse(&counters, 1000);
	seen.pass = finish_at_3;
	run_course(&r);
	assert_int_equal(seen.passes, 3);
}

static void an_interval_of_the_warmup_is_shown_and_not_kept(void **state)
{
	begin(TEXT(""), false);
	seen.pass = finish_at_3;
	make(1, 1, true);
	make(2, 1, true)->failed = 500;
	make(0, 0, false)->failed = 500; // without a length: none
	make(1, 1, false);
	run_course(&r);
	assert_int_equal(seen.shown, 3);
	assert_int_equal(seen.shown_warmup, 2);
	assert_int_equal(seen.kept_count, 2);
	assert_true(seen.kept[0] == 1 && seen.kept[1] == 99);
	assert_null(result.verdict.stopped);
}

// The tick rate is calibrated, so the last interval may end a little late. The drain stops nothing.
static void rules_hold_until_the_end_of_the_measured_part(void **state)
{
	begin(TEXT(""), false);
	seen.pass = finish_at_3;
	make(10.0002, 1, false)->failed = 500;
	run_course(&r);
	assert_null(result.verdict.stopped);
	assert_int_equal(seen.kept_count, 2);
	teardown(state);
	setup(state);
	begin(TEXT(""), false);
	seen.pass = finish_at_3;
	make(10.00005, 1, false)->failed = 500;
	run_course(&r);
	assert_non_null(result.verdict.stopped);
}

static void all_intervals_are_handed_out_however_many_there_are(void **state)
{
	begin(TEXT(""), false);
	seen.pass = finish_at_3;
	for (uint32_t i = 0; i < 200; i++)
		make(i + 1, 1, false);
	run_course(&r);
	assert_int_equal(seen.kept_count, 201);
	for (uint32_t i = 0; i < 200; i++)
		assert_true(seen.kept[i] == i + 1);
}

// Replies held back by our own responder, or in flight between two of our ports, are waited for.
static void late_replies_are_waited_for(void **state)
{
	static const struct {
		uint32_t waiting, flying, naps;
	} rows[] = {{0, 0, 4}, {10, 0, 11}, {0, 10, 11}, {8, 10, 11}, {0, 1000, 3 + 50 + 1}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(TEXT(""), false);
		seen.pass = finish_at_3;
		seen.waiting = rows[i].waiting;
		seen.flying = rows[i].flying;
		run_course(&r);
		assert_int_equal(seen.naps, rows[i].naps);
		assert_non_null(result.cpu);
		teardown(state);
		setup(state);
	}
}

static void the_second_signal_ends_the_wait_for_late_replies(void **state)
{
	begin(TEXT(""), false);
	seen.pass = finish_at_3;
	seen.waiting = 1000;
	seen.hurry = 6;
	run_course(&r);
	assert_int_equal(seen.naps, 6 + 1);
}

// At the begin of the measured part, and at its end or the begin of the drain. If it never began
// there are no figures.
static void the_cpus_are_read_at_both_ends_of_the_measured_part(void **state)
{
	static const struct {
		uint64_t measure, end;
		void (*pass)(uint32_t n);
		uint32_t count, reads[2]; // looks before them
	} rows[] = {
		{0, FAR, finish_at_3, 2, {0, 3}},
		{0, FAR, signal_at_2, 2, {0, 2}},
		{0, 1, finish_at_3, 2, {0, 1}},
		{FAR, FAR, finish_at_3, 0, {0, 0}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(TEXT(""), false);
		seen.pass = rows[i].pass;
		seen.measure = rows[i].measure;
		seen.end = rows[i].end;
		run_course(&r);
		assert_int_equal(seen.cpu_count, rows[i].count);
		for (uint32_t k = 0; k < rows[i].count; k++)
			assert_int_equal(seen.cpu_reads[k], rows[i].reads[k]);
		assert_int_equal(result.cpu != NULL, rows[i].count == 2);
		teardown(state);
		setup(state);
	}
}

// In a run that was disturbed, or whose limit is not known.
static void the_busiest_programs_are_named_where_they_matter(void **state)
{
	static const struct {
		struct result_verdict verdict;
		const char *busiest;
		bool near;
		const char *says; // NULL: nothing
	} rows[] = {
		{{.invalid_by = "disturbance", .limited_by = "none"}, "cc1 (pid 7) 90 %", false,
			"busiest other programs, in shares of a CPU: cc1 (pid 7) 90 %. To fix: "},
		{{.limited_by = "undecided"}, "cc1", true,
			"busiest other programs, in shares of a CPU: cc1; the server runs on this "
			"box, too. To fix: "},
		{{.cause = "it was late", .invalid_by = "tester"}, "cc1", false,
			"busiest other programs, in shares of a CPU: cc1. To fix: "},
		{{.invalid_by = "tester", .limited_by = "tester"}, "cc1", false, NULL},
		{{.limited_by = "server"}, "cc1", false, NULL},
		{{.invalid_by = "disturbance"}, "", false, NULL},
	};
	static const char *const before[] = {"a reason"};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *const *reasons;

		begin(TEXT(""), false);
		seen.pass = finish_at_3;
		seen.verdict = rows[i].verdict;
		seen.verdict.reasons = (struct counter_list){(void *)before, 1};
		seen.busiest = rows[i].busiest;
		seen.near = rows[i].near;
		run_course(&r);
		reasons = result.verdict.reasons.items;
		assert_int_equal(result.verdict.reasons.count, rows[i].says ? 2 : 1);
		assert_string_equal(reasons[0], "a reason");
		if (rows[i].says)
			assert_int_equal(
				strncmp(reasons[1], rows[i].says, strlen(rows[i].says)), 0);
		teardown(state);
		setup(state);
	}
}

#define WITNESSES "output: {capture: {file: /tmp/never.pcapng}}\ndut: {probe: {command: figures}}\n"

// The capture and the probe start when the server is found, and end in any case.
static void capture_and_probe_frame_the_run(void **state)
{
	static const struct {
		const char *text;
		int resolved, evidence;
		bool no_probe;
		int code;
		const char *steps;
		uint32_t launches, errors;
	} rows[] = {
		{TEXT("") WITNESSES, 0, 0, false, 55, "capture probe no-capture no-probe", 2, 0},
		{TEXT(""), 0, 0, false, 55, "capture", 2, 0},
		{TEXT("") WITNESSES, 0, -EACCES, false, EXIT_ENVIRONMENT, "capture", 1, 1},
		{TEXT("") WITNESSES, 0, 0, true, EXIT_ENVIRONMENT, "capture probe no-capture", 1,
			0},
		{TEXT("") WITNESSES, -ENOENT, 0, false, EXIT_UNREACHABLE, "", 1, 1},
		{TEXT("") WITNESSES, -EINTR, 0, false, EXIT_INTERRUPTED, "", 1, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(rows[i].text, false);
		seen.pass = finish_at_3;
		seen.resolved = rows[i].resolved;
		seen.evidence = rows[i].evidence;
		seen.no_probe = rows[i].no_probe;
		assert_int_equal(run_course(&r), rows[i].code);
		assert_string_equal(seen.steps, rows[i].steps);
		assert_int_equal(seen.launches, rows[i].launches);
		assert_int_equal(seen.errors, rows[i].errors);
		assert_int_equal(seen.judged, rows[i].code == 55);
		assert_int_equal(
			result.capture != NULL, strstr(rows[i].steps, "no-capture") != NULL);
		assert_int_equal(r.plan.phase, PHASE_STOP);
		teardown(state);
		setup(state);
	}
}

static void a_server_that_is_not_found_is_unreachable(void **state)
{
	begin(TEXT(""), false);
	seen.resolved = -ENOENT;
	assert_int_equal(run_course(&r), EXIT_UNREACHABLE);
	assert_string_equal(result.verdict.status, "unreachable");
	assert_int_equal(result.verdict.exit_code, EXIT_UNREACHABLE);
	assert_string_equal(
		((const char *const *)result.verdict.reasons.items)[0], "nobody is there");
	assert_int_equal(seen.launches, 1); // the responder alone
	assert_int_equal(r.plan.phase, PHASE_STOP);
	assert_false(seen.judged);
}

static void a_signal_while_it_is_looked_for_is_an_interruption(void **state)
{
	begin(TEXT(""), false);
	seen.resolved = -EINTR;
	assert_int_equal(run_course(&r), EXIT_INTERRUPTED);
	assert_null(result.verdict.status);
	assert_int_equal(r.plan.phase, PHASE_STOP);
}

static void a_responder_alone_answers_until_a_signal(void **state)
{
	begin(TEXT(""), true);
	assert_int_equal(run_course(&r), EXIT_PASS);
	assert_int_equal(seen.responders, 2);
	assert_int_equal(seen.launches, 1);
	assert_string_equal(result.verdict.status, "pass");
	assert_int_equal(r.plan.phase, PHASE_STOP);
}

static bool order_start(void *ctx, uint64_t *wall_ns)
{
	assert_int_equal(seen.launches, 1); // the responder alone
	*wall_ns = seen.ordered_ns;
	return seen.ordered_ns != 0;
}

static void on_started(void *ctx, uint64_t wall_ns)
{
	assert_int_equal(seen.launches, 2);
	seen.started_ns = wall_ns;
}

static int begin_at(int64_t ahead_ns)
{
	seen.pass = finish_at_3;
	options.hooks.start = order_start;
	options.hooks.started = on_started;
	if (ahead_ns)
		seen.ordered_ns = tick + (uint64_t)ahead_ns;
	return run_course(&r);
}

static void the_schedule_begins_when_it_was_ordered_to(void **state)
{
	begin(TEXT(""), false);
	assert_int_equal(begin_at(100000000), 55);
	assert_true(seen.naps > 0);
	assert_int_equal(seen.scheduled, seen.ordered_ns);
	assert_int_equal(seen.started_ns, seen.ordered_ns);
}

static void a_start_that_is_past_is_no_late_start(void **state)
{
	begin(TEXT(", drain: 1ms"), false);
	assert_int_equal(begin_at(-6000000), EXIT_INVALID);
	assert_int_equal(seen.errors, 1);
	assert_int_equal(seen.launches, 1);
	assert_null(result.verdict.status);
	assert_int_equal(r.plan.phase, PHASE_STOP);
	assert_int_equal(seen.started_ns, 0);
}

static void a_run_that_is_not_to_start_ends(void **state)
{
	begin(TEXT(", drain: 1ms"), false);
	assert_int_equal(begin_at(0), EXIT_INTERRUPTED);
	assert_int_equal(seen.launches, 1);
	assert_int_equal(r.plan.phase, PHASE_STOP);
}

static void a_signal_ends_the_wait_for_the_start(void **state)
{
	begin(TEXT(", drain: 1ms"), false);
	seen.hurry = 3;
	assert_int_equal(begin_at(3600000000000), EXIT_INTERRUPTED);
	assert_int_equal(seen.launches, 1);
	assert_int_equal(seen.naps, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_run_goes_on_until_its_workers_have_finished),
		TEST(an_address_of_another_host_is_an_environment_that_does_not_do),
		TEST(addresses_are_asked_for_before_the_first_run_only),
		TEST(the_measured_part_follows_the_warmup),
		TEST(the_first_signal_drains_and_the_run_is_judged_as_interrupted),
		TEST(the_second_signal_ends_it_at_once),
		TEST(a_worker_that_does_not_finish_is_given_up_after_the_drain),
		TEST(a_worker_that_does_not_finish_after_a_signal_is_given_up_too),
		TEST(a_run_whose_purpose_is_known_drains),
		TEST(a_rule_that_holds_drains),
		TEST(a_port_that_nobody_listens_at_ends_the_run),
		TEST(a_server_that_was_heard_or_refused_twice_does_not),
		TEST(an_interval_of_the_warmup_is_shown_and_not_kept),
		TEST(rules_hold_until_the_end_of_the_measured_part),
		TEST(all_intervals_are_handed_out_however_many_there_are),
		TEST(late_replies_are_waited_for),
		TEST(the_second_signal_ends_the_wait_for_late_replies),
		TEST(the_cpus_are_read_at_both_ends_of_the_measured_part),
		TEST(the_busiest_programs_are_named_where_they_matter),
		TEST(capture_and_probe_frame_the_run),
		TEST(a_server_that_is_not_found_is_unreachable),
		TEST(a_signal_while_it_is_looked_for_is_an_interruption),
		TEST(a_responder_alone_answers_until_a_signal),
		TEST(the_schedule_begins_when_it_was_ordered_to),
		TEST(a_start_that_is_past_is_no_late_start),
		TEST(a_run_that_is_not_to_start_ends),
		TEST(a_signal_ends_the_wait_for_the_start),
	};

	return cmocka_run_group_tests_name("run_course", tests, NULL, NULL);
}
