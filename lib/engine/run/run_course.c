// SPDX-License-Identifier: BSD-3-Clause
// The course of a run, from started ports and built tables to the verdict. It finds the server,
// launches the workers, watches phases and intervals, drains, stops and judges. Also the course of
// a responder alone. Path: cold. Management thread.
#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "io/port/port_read.h"
#include "base/log.h"
#include "engine/plan/address_probe.h"
#include "engine/plan/plan.h"
#include "engine/plan/resolve.h"
#include "engine/run/run_state.h"
#include "engine/run/around/solicit.h"
#include "engine/run/collect/collect_intervals.h"
#include "engine/run/judge/run_notes.h"
#include "engine/run/judge/stop.h"
#include "engine/run/judge/verdict.h"
#include "engine/run/run_course.h"
#include "engine/core/responder/responder.h"
#include "engine/core/worker/worker.h"
#include "io/driver/launch.h"

#define PEER_ASKS       4
#define PEER_WAIT_NS    100000000
#define LAUNCH_LEAD_NS  5000000ull // workers are in their loops before the schedule starts
#define LAUNCH_AHEAD_NS 200000000  // before an ordered time: a busy box has gaps as long
#define TICK_NS         20000000ull
#define SILENCE_S       1.0
#define REFUSALS        3
#define DRAIN_TIMEOUTS  4
#define DRAIN_MARGIN_NS 2000000000ull
#define LATE_ANSWERS_NS 2000000ull // after everything is accounted for, for duplicates on their way
#define ROUNDING_S      1e-4       // a tick is calibrated
#define SETTLE_TRIES    50         // times that, for packets between two ports of our own

static void course_sleep(uint64_t ns)
{
	nanosleep(&(struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)}, NULL);
}

static void course_tick(struct run *r)
{
	const struct run_hooks *h = &r->options->hooks;
	const struct clock *c = &r->plan.clock;
	uint64_t next = r->events ? events_wait_ns(r->events, clock_time(c)) : UINT64_MAX;
	uint64_t sleep_ns = TICK_NS;

	if (next < sleep_ns)
		sleep_ns = next;
	course_sleep(sleep_ns);
	if (r->events)
		events_tick(r->events, clock_time(c));
	if (h->tick)
		h->tick(h->ctx);
	orders_tick(&r->orders, &r->plan);
}

static int start_evidence(struct run *r)
{
	int rc = evidence_log_start(&r->plan, r->arena, &r->evidence);

	if (rc < 0)
		log_error("output.capture: %s", strerror(-rc));
	return rc < 0 ? EXIT_ENVIRONMENT : 0;
}

static void stop_evidence(struct run *r)
{
	if (!r->evidence)
		return;
	r->result->capture = arena_zalloc(r->arena, sizeof(*r->result->capture));
	evidence_log_stop(r->evidence, r->result->capture);
	r->evidence = NULL;
}

static int start_probe(struct run *r)
{
	const struct probe_settings *s = r->config->dut.probe;

	if (!s || !fleet_asks_server(r->config))
		return 0;
	r->probe = probe_start(s, r->config->run.interval_ns);
	return r->probe ? 0 : EXIT_ENVIRONMENT;
}

// Without a warm-up it is over before the first message, else it runs while the measured part
// begins.
static int start_tally(struct run *r)
{
	const struct counters_settings *s = r->config->dut.counters;

	if (!s || r->tally || !fleet_asks_server(r->config))
		return 0;
	r->tally = tally_start(s, &r->plan.clock, r->arena);
	while (r->tally && r->config->run.warmup_ns == 0 && !tally_is_ready(r->tally))
		course_tick(r);
	return r->tally ? 0 : EXIT_ENVIRONMENT;
}

static void launch(struct run *r, bool responders)
{
	struct plan *p = &r->plan;

	for (uint32_t i = 0; i < p->worker_count; i++) {
		struct worker *w = &p->workers[i];
		bool dut = (int32_t)w->port == p->responder_port;

		if (dut != responders)
			continue;
		if (dut)
			launch_loop(i, responder_loop, &p->responders[w->number]);
		else
			launch_loop(i, worker_loop, w);
	}
}

static bool all_finished(const struct plan *p)
{
	for (uint32_t i = 0; i < p->worker_count; i++)
		if (p->workers[i].item_count &&
			!atomic_load_explicit(&p->workers[i].finished, memory_order_acquire))
			return false;
	return true;
}

static void set_phase(struct plan *p, enum run_phase phase)
{
	atomic_store_explicit(&p->phase, phase, memory_order_release);
}

// Automatic: long enough for a few messages of the slowest item to time out one after the other.
static uint64_t drain_ns(const struct plan *p)
{
	uint64_t longest = 0;

	if (p->config->run.drain_ns != UINT64_MAX)
		return p->config->run.drain_ns;
	for (uint32_t i = 0; i < p->item_count; i++) {
		uint64_t wait = p->items[i].settings->facts.wait_ns;
		uint64_t tries = p->items[i].layout.tries_ns;

		wait = tries > wait ? tries : wait;
		longest = wait > longest ? wait : longest;
	}
	return DRAIN_TIMEOUTS * longest + DRAIN_MARGIN_NS;
}

static bool responder_waits(const struct plan *p)
{
	for (uint32_t i = 0; i < p->responder_count; i++)
		if (atomic_load_explicit(&p->responders[i].counts.waiting, memory_order_acquire))
			return true;
	return false;
}

// Is something on its way between ports of this process?
static bool on_the_way(struct plan *p)
{
	uint64_t sent = 0, received = 0;

	for (uint32_t i = 0; i < p->port_count && p->responder_port >= 0; i++) {
		struct port_counters c;

		port_read_counters(&p->ports[i], &c);
		sent += c.tx_packets;
		received += c.rx_packets;
	}
	return received < sent;
}

// --- intervals: shown, checked against the stop rules, handed out, and gone ---

static void start_intervals(struct run *r)
{
	collect_start(&r->plan, &r->collected, r->arena);
	timeline_start(&r->timeline, r->plan.config, r->arena);
	r->stop = arena_zalloc(r->arena, sizeof(*r->stop));
	stop_start(r->stop, r->plan.config, r->arena);
	r->events = events_start(&r->plan, r->arena);
	orders_start(&r->orders, r->arena);
}

static struct probe_span measured_part(const struct run *r)
{
	const struct run_times *t = &r->plan.items[0].worker->times;

	return (struct probe_span){t->measure, t->end};
}

// Returns the figures of the server's side until the end of the latest interval.
static const struct result_dut_interval *dut_figures(struct run *r, struct arena *a)
{
	const struct probe_span measured = measured_part(r);

	return r->probe ? probe_take(r->probe, &measured, r->collected.at_before, a) : NULL;
}

static void hand_out(struct run *r, const struct result_interval *i)
{
	const struct run_hooks *h = &r->options->hooks;

	timeline_add(&r->timeline, i);
	if (h->kept)
		h->kept(h->ctx, i);
}

// Nothing is sent in the drain, so it has nothing to stop, and no rates.
static bool is_measured(const struct run *r, const struct result_interval *i)
{
	return i->t_s <= 1e-9 * (double)r->config->run.duration_ns + ROUNDING_S;
}

// The first rule that holds ends the run.
static void look_for_stop(struct run *r, const struct result_interval *i)
{
	struct result_verdict *v = &r->result->verdict;
	double value;
	const char *rule = v->stopped ? NULL : stop_check(r->stop, i, r->arena, &value);

	if (!rule)
		return;
	v->stopped = rule;
	v->stopped_s = i->t_s;
	v->stopped_value = value;
}

// Looks for signs that the server is there at all.
static void look_for_server(struct run *r, const struct result_interval *i)
{
	const struct result_interval_item *items = i->traffic.items;
	const struct result_interval_port *ports = i->ports.items;

	for (uint32_t n = 0; n < i->traffic.count; n++) {
		const struct result_interval_connections *c = items[n].connections;

		r->heard |= items[n].answered || items[n].failed || items[n].late;
		r->asked += items[n].sent - items[n].no_reply;
		if (c) {
			r->heard |= c->established != 0;
			r->refused += c->refused;
		}
	}
	for (uint32_t n = 0; n < i->ports.count; n++)
		if (ports[n].other)
			r->refused += ports[n].other->icmp_errors[ICMP_PORT_UNREACHABLE];
}

// Does nothing listen at the server's port? With events the server may be started later, and in a
// fleet another part may have had a reply.
static bool is_refused(const struct run *r)
{
	return r->refused >= REFUSALS && !r->heard && r->config->events.count == 0 &&
	       !r->config->fleet;
}

// Notes early in a long run that the server does not answer.
static void note_silence(struct run *r, const struct result_interval *i)
{
	if (r->asked)
		r->waited_s += i->length_s;
	if (r->heard || is_refused(r) || r->waited_s + ROUNDING_S < SILENCE_S)
		return;
	r->waited_s = -INFINITY;
	run_note(r->options,
		"nothing has answered the first %llu requests: is the server running, and "
		"listening on that address and port? The run continues (Ctrl-C ends it)",
		(unsigned long long)r->asked);
}

static void tick_interval(struct run *r, struct result_interval *i, bool warmup, struct arena *a)
{
	const struct run_hooks *h = &r->options->hooks;

	run_note_home(r);
	i->dut = dut_figures(r, a);
	if (i->length_s <= 0)
		return;
	look_for_server(r, i);
	note_silence(r, i);
	if (!warmup)
		events_interval(r->events, i, is_measured(r, i), a);
	if (!warmup)
		hand_out(r, i);
	if (!warmup && is_measured(r, i))
		look_for_stop(r, i);
	if (h->interval)
		h->interval(h->ctx, i, warmup);
}

static void tick_intervals(struct run *r)
{
	struct result_interval i;
	bool warmup, any = true;

	while (any) {
		struct arena *a = arena_new();

		any = collect_interval(&r->plan, &r->collected, a, &i, &warmup);
		if (any)
			tick_interval(r, &i, warmup, a);
		arena_free(a);
	}
}

static void end_intervals(struct run *r)
{
	struct arena *a = arena_new();
	struct result_interval last;

	tick_intervals(r);
	collect_last_interval(&r->plan, &r->collected, a, &last);
	last.dut = dut_figures(r, a);
	events_interval(r->events, &last, false, a);
	hand_out(r, &last);
	arena_free(a);
}

// --- from start to end ---

// Waits when everything is accounted for: replies that our own responder still holds back come
// late, and must be counted.
static void course_settle(struct run *r, uint64_t give_up)
{
	struct plan *p = &r->plan;

	while (responder_waits(p) && *r->options->signals < 2 && clock_time(&p->clock) < give_up) {
		course_tick(r);
		watch_tick(&r->watch, p, clock_time(&p->clock));
	}
	for (int i = 0; i < SETTLE_TRIES && on_the_way(p) && *r->options->signals < 2; i++)
		course_sleep(LATE_ANSWERS_NS);
	course_sleep(LATE_ANSWERS_NS);
}

// At both ends of the measured part, whenever that ends.
static void watch_cpu(struct run *r, uint64_t now)
{
	const struct run_times *t = &r->plan.items[0].worker->times;
	bool ended = now >= t->end || r->plan.phase == PHASE_DRAIN;

	if ((r->cpu_read == 0 && now >= t->measure) || (r->cpu_read == 1 && ended))
		r->cpu_read += cpu_read(&r->cpu[r->cpu_read]);
}

static bool is_to_end(const struct run *r)
{
	const struct run_hooks *h = &r->options->hooks;

	return *r->options->signals || r->result->verdict.stopped || is_refused(r) ||
	       (h->enough && h->enough(h->ctx));
}

// Until everything was sent and answered or timed out, the drain time is over, or the user
// interrupts a second time.
static void course_supervise(struct run *r)
{
	struct plan *p = &r->plan;
	const struct run_times *t = &p->items[0].worker->times;
	uint64_t drain = clock_ticks(&p->clock, drain_ns(p));
	uint64_t give_up = t->end + drain;

	while (!all_finished(p) && *r->options->signals < 2) {
		uint64_t now = clock_time(&p->clock);

		course_tick(r);
		watch_tick(&r->watch, p, clock_time(&p->clock));
		watch_cpu(r, now);
		run_note_moves(r);
		tick_intervals(r);
		if (is_to_end(r) && p->phase < PHASE_DRAIN) {
			set_phase(p, PHASE_DRAIN);
			give_up = is_refused(r) ? now : now + drain;
		} else if (p->phase == PHASE_WARMUP && now >= t->measure) {
			set_phase(p, PHASE_MEASURE);
			start_tally(r);
		}
		if (now >= give_up)
			break;
	}
	if (*r->options->signals < 2)
		course_settle(r, give_up);
}

static void tell_counters(struct run *r)
{
	const struct run_hooks *h = &r->options->hooks;
	struct result_responder total;
	struct arena *a;

	if (!h->asked || !h->asked(h->ctx))
		return;
	a = arena_new();
	if (collect_responder_running(&r->plan, a, &total))
		h->told(h->ctx, &total);
	arena_free(a);
}

static void course_respond(struct run *r)
{
	const struct run_hooks *h = &r->options->hooks;
	const uint64_t every = r->config->run.interval_ns;
	const struct clock *c = &r->plan.clock;
	uint64_t start = clock_time(c), next = every;

	while (*r->options->signals == 0) {
		struct result_responder total;
		double ns = clock_ns(c, clock_time(c) - start);

		course_tick(r);
		tell_counters(r);
		if (ns < (double)next || !h->responder)
			continue;
		collect_responder(&r->plan, &total);
		h->responder(h->ctx, ns / 1e9, &total);
		next += every;
	}
}

static void report_cpu(struct run *r)
{
	struct result_cpu *out = arena_zalloc(r->arena, sizeof(*out));

	if (r->cpu_read == 1) // everything was sent before the end
		r->cpu_read += cpu_read(&r->cpu[1]);
	if (r->cpu_read != 2)
		return;
	*out = (struct result_cpu){.method = "proc_stat",
		.cpus = r->cpu[1].cpus,
		.use = cpu_use(&r->cpu[0], &r->cpu[1])};
	out->us_per_transaction =
		cpu_demand_us(out->use.used, r->cpu[1].cpus, result_answered_per_s(r->result));
	r->result->cpu = out;
}

static bool server_is_near(const struct plan *p)
{
	for (uint32_t i = 0; i < p->item_count; i++)
		if (verdict_is_near(p, &p->items[i]))
			return true;
	return false;
}

// Names the processes that had the CPU in a disturbed run, and remedies.
static void say_busiest(struct run *r)
{
	struct result_verdict *v = &r->result->verdict;
	const char *by = v->invalid_by ? v->invalid_by : "", **all;
	struct cpu_users *now;
	char names[200];

	if (!r->users || (strcmp(by, "disturbance") != 0 && !v->cause &&
				 (!v->limited_by || strcmp(v->limited_by, "undecided") != 0)))
		return;
	now = arena_zalloc(r->arena, sizeof(*now));
	cpu_users_read(now);
	cpu_busiest(r->users, now, (int)getpid(), names, sizeof(names));
	if (!names[0])
		return;
	all = arena_zalloc(r->arena, (v->reasons.count + 1) * sizeof(*all));
	if (v->reasons.count)
		memcpy(all, v->reasons.items, v->reasons.count * sizeof(*all));
	all[v->reasons.count] = arena_printf(r->arena,
		"busiest other programs, in shares of a CPU: %s%s. To fix: end them, lower the "
		"rate, give the tester CPUs of its own (`taskset -c`, or ports.*.cpus), or run "
		"`nice -n -5` as root",
		names, server_is_near(&r->plan) ? "; the server runs on this box, too" : "");
	v->reasons = (struct counter_list){all, v->reasons.count + 1};
}

// Before the first message: reads the counters of the responder elsewhere.
static int ask_peer(struct run *r)
{
	const struct control_settings *s = r->config->dut.control;

	return s && fleet_asks_server(r->config) && peer_ask(s, r->arena, &r->peer) < 0
	               ? EXIT_ENVIRONMENT
	               : 0;
}

// Messages without a reply may still be on their way. In a fleet all parts send, and their number
// is unknown here.
static bool is_peer_done(const struct run *r, uint64_t received_before)
{
	const struct result_peer *p = r->result->peer;

	return fleet_weight(r->config) ? p->received == received_before : p->received >= p->sent;
}

static void report_peer(struct run *r)
{
	const struct control_settings *s = r->config->dut.control;
	struct result_responder now = {0};
	uint64_t before = UINT64_MAX;

	if (s && !fleet_asks_server(r->config)) {
		r->result->peer = peer_result(&r->plan, &now, &now, r->arena);
		return;
	}
	for (uint32_t n = 0; s && n < PEER_ASKS && peer_ask(s, r->arena, &now) == 0; n++) {
		r->result->peer = peer_result(&r->plan, &r->peer, &now, r->arena);
		if (is_peer_done(r, before))
			return;
		before = r->result->peer->received;
		course_sleep(PEER_WAIT_NS);
	}
}

// By the wall clock as it was at the start: over a long run it drifts from the ticks.
static uint64_t first_sent_ns(const struct run *r)
{
	uint64_t at = collect_first_sent(&r->plan);

	return at ? r->begun_ns + (uint64_t)clock_ns(&r->plan.clock, at - r->begun_at) : 0;
}

static int course_measure(struct run *r)
{
	struct plan *p = &r->plan;
	struct probe_span measured;
	bool interrupted;
	const char *broken;
	int code;

	r->cpu_read = 0;
	r->heard = false;
	r->refused = 0;
	r->moves_noted = 0;
	memset(r->moves_seen, 0, sizeof(r->moves_seen));
	start_intervals(r);
	watch_start(&r->watch, p);
	course_supervise(r);
	interrupted = *r->options->signals != 0;
	set_phase(p, PHASE_STOP);
	launch_wait_all();
	watch_end(&r->watch, p);
	clock_refine(&p->clock);
	stop_evidence(r);
	end_intervals(r);
	collect_result(p, r->arena, r->result);
	events_end(r->events, r->arena, r->result);
	orders_end(&r->orders, p, r->result);
	r->events = NULL;
	r->result->run.measured_from_ns =
		clock_wall_ns(&p->clock, p->items[0].worker->times.measure);
	r->result->run.first_sent_ns = first_sent_ns(r);
	run_report_steering(r);
	run_warn_starved(r);
	watch_report(&r->watch, p, r->result);
	report_cpu(r);
	report_peer(r);
	measured = measured_part(r);
	probe_stop(r->probe, &measured, r->arena, r->result);
	r->probe = NULL;
	if (r->result->dut && fleet_weight(r->config)) // it is for the transactions of all parts
		r->result->dut->us_per_transaction = NAN;
	tally_stop(r->tally, r->arena, r->result);
	r->tally = NULL;
	r->result->run.host.tsc_hz = p->clock.hz;
	broken = collect_check(p, &r->timeline, r->result, r->arena);
	code = verdict_reach(p, &r->timeline, broken, interrupted, r->arena, r->result);
	say_busiest(r);
	return code;
}

static int nobody_there(struct run *r, const struct io_error *e)
{
	const char **reason = arena_zalloc(r->arena, sizeof(*reason));

	log_error("%s", e->text);
	*reason = arena_strdup(r->arena, e->text);
	collect_result(&r->plan, r->arena, r->result);
	r->result->verdict = (struct result_verdict){.status = "unreachable",
		.exit_code = EXIT_UNREACHABLE,
		.limited_by = "none",
		.reasons = {reason, 1}};
	return EXIT_UNREACHABLE;
}

static int responder_only(struct run *r)
{
	set_phase(&r->plan, PHASE_MEASURE);
	course_respond(r);
	set_phase(&r->plan, PHASE_STOP);
	launch_wait_all();
	collect_result(&r->plan, r->arena, r->result);
	r->result->verdict = (struct result_verdict){.status = "pass", .limited_by = "none"};
	return EXIT_PASS;
}

static int64_t ahead_ns(const struct clock *c, uint64_t wall_ns)
{
	return (int64_t)(wall_ns - clock_wall_ns(c, clock_time(c)));
}

// Finds the tick at which the schedule begins. The order's time becomes a tick as late as possible:
// until then the box may set its clock. Returns 0, or an exit code.
static int find_start(struct run *r, uint64_t *at)
{
	const struct run_hooks *h = &r->options->hooks;
	struct clock c = r->plan.clock;
	uint64_t wall_ns = 0;
	int64_t ahead;

	if (!h->start) {
		*at = clock_time(&c) + clock_ticks(&c, LAUNCH_LEAD_NS);
		return 0;
	}
	if (!h->start(h->ctx, &wall_ns))
		return EXIT_INTERRUPTED;
	while ((ahead = ahead_ns(&c, wall_ns)) > LAUNCH_AHEAD_NS && !*r->options->signals)
		course_tick(r);
	if (*r->options->signals)
		return EXIT_INTERRUPTED;
	if (ahead < -(int64_t)LAUNCH_LEAD_NS) {
		log_error("the start was ordered for a time that was %.3f ms ago, so the schedule "
			  "would begin late (order it further ahead)",
			-1e-6 * (double)ahead);
		return EXIT_INVALID;
	}
	clock_refine(&c);
	*at = clock_wall_tick(&c, wall_ns);
	return 0;
}

static void begin_schedule(struct run *r, uint64_t at)
{
	const struct run_hooks *h = &r->options->hooks;

	plan_schedule(&r->plan, at);
	r->users = arena_zalloc(r->arena, sizeof(*r->users));
	cpu_users_read(r->users);
	launch(r, false);
	r->begun_at = at;
	r->begun_ns = clock_wall_ns(&r->plan.clock, at);
	if (h->started)
		h->started(h->ctx, r->begun_ns);
}

// For a run that does not begin.
static void stop_commands(struct run *r)
{
	const struct probe_span none = {0, 0};

	if (r->probe)
		probe_stop(r->probe, &none, r->arena, r->result);
	r->probe = NULL;
	r->tally = NULL;
}

static int send_and_judge(struct run *r)
{
	struct plan *p = &r->plan;
	struct io_error e = {""};
	int rc = solicit_all(p, r->options->signals, r->arena, &r->result->routers, &e), broken;
	uint64_t at;

	rc = rc ? rc : resolve_all(p, r->options->signals, &e);
	broken = rc == 0 ? start_evidence(r) : 0;
	broken = rc == 0 && broken == 0 ? start_probe(r) : broken;
	if (rc == 0 && broken == 0) {
		run_probe_steering(r);
		broken = ask_peer(r);
		if (broken == 0 && r->config->run.warmup_ns == 0)
			broken = start_tally(r);
		if (broken == 0)
			broken = find_start(r, &at);
	}
	if (rc == 0 && broken == 0) {
		begin_schedule(r, at);
		return course_measure(r);
	}
	set_phase(p, PHASE_STOP);
	launch_wait_all();
	stop_evidence(r);
	stop_commands(r);
	if (broken)
		return broken;
	return rc == -EINTR ? EXIT_INTERRUPTED : nobody_there(r, &e);
}

// Before the first run only.
static int claim_addresses(struct run *r)
{
	struct address_probe probe;
	struct io_error e = {""};
	int rc;

	if (r->number > 1)
		return 0;
	rc = address_probe_run(&r->plan, r->options->signals, &probe, &e);
	if (rc == -EADDRINUSE) {
		log_error("%s", e.text);
		return EXIT_ENVIRONMENT;
	}
	if (rc < 0)
		return EXIT_INTERRUPTED;
	run_note_addresses(r, &probe);
	for (uint32_t i = 0; i < r->plan.port_count; i++)
		port_count_anew(&r->plan.ports[i]); // its probes are no packets of the run
	return 0;
}

static _Atomic(struct run *) live; // with workers, NULL: none

void run_halt(void)
{
	struct run *r = atomic_load(&live);

	if (r)
		set_phase(&r->plan, PHASE_STOP);
}

const char *run_order(const char *order, uint64_t at_ns)
{
	struct run *r = atomic_load(&live);

	if (!r || !r->events)
		return "no packets flow now";
	return orders_take(&r->orders, &r->plan, order, at_ns);
}

int run_course(struct run *r)
{
	int rc = claim_addresses(r);

	if (rc)
		return rc;
	atomic_store(&live, r);
	launch(r, true);
	rc = r->options->respond_only ? responder_only(r) : send_and_judge(r);
	atomic_store(&live, NULL);
	return rc;
}
