// SPDX-License-Identifier: BSD-3-Clause
// The course of a run: ports up, server found, workers launched, intervals handed out, drained,
// stopped, judged. Path: cold. Management thread.
#include "engine/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_version.h>

#include <uuid/uuid.h>

#include "base/log.h"
#include "engine/collect.h"
#include "engine/cpu.h"
#include "engine/deal.h"
#include "engine/evidence.h"
#include "engine/plan.h"
#include "engine/probe.h"
#include "engine/resolve.h"
#include "engine/steer_probe.h"
#include "engine/stop.h"
#include "engine/tester_delay.h"
#include "engine/verdict.h"
#include "engine/watch.h"
#include "io/driver.h"
#include "io/launch.h"
#include "stats/text.h"

#define LAUNCH_LEAD_NS  5000000ull // workers are in their loops before the schedule starts
#define TICK_NS         20000000ull
#define DRAIN_TIMEOUTS  4
#define DRAIN_MARGIN_NS 2000000000ull
#define LATE_ANSWERS_NS 2000000ull // after everything is accounted for, for duplicates on their way
#define SETTLE_TRIES    50         // times that, for what is between two ports of our own
#define ENOUGH          100        // packets for a 99th percentile

struct run {
	const struct run_options *options;
	const struct config *config; // of this time; the ports are those of options->config
	struct diag *diag;           // of config
	struct arena *arena;         // of the results
	struct arena *work;          // of the plan
	const char *id;
	bool again; // not the first time
	struct plan plan;
	struct collect_state collected;
	struct watch watch;
	struct probe *probe;     // NULL: none
	struct cpu_times cpu[2]; // at both ends of the measured part
	uint32_t cpu_read;       // how many of them are there
	struct stop stop;
	struct result *result;
	struct result_interval *intervals;
	uint32_t interval_count, interval_room;
	bool ports_up;
	struct result_tester_delay *tester_delay;
	struct result_steer_probe *steer_probes[PORT_MAX]; // NULL: not asked
	bool probed;                   // where the first packets came to was noted
	struct evidence_log *evidence; // NULL: none
};

static void nap(uint64_t ns)
{
	nanosleep(&(struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)}, NULL);
}

__attribute__((format(printf, 2, 3))) static void note(const struct run *r, const char *fmt, ...)
{
	const struct run_hooks *h = &r->options->hooks;
	char text[512];
	va_list args;

	if (!h->note)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	h->note(h->ctx, text);
}

static const char *cpu_model(struct arena *a)
{
	FILE *f = fopen("/proc/cpuinfo", "r");
	const char *model = "unknown";
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':');

		if (strncmp(line, "model name", 10) != 0 || !colon)
			continue;
		colon[strcspn(colon, "\n")] = '\0';
		model = arena_strdup(a, colon + 2);
		break;
	}
	if (f)
		fclose(f);
	return model;
}

// The drivers of the ports, each once: "af_xdp", "ring, null".
static const char *drivers_used(const struct plan *p, struct arena *a)
{
	const char *text = p->ports[0].driver->name;

	for (uint32_t i = 1; i < p->port_count; i++)
		if (!strstr(text, p->ports[i].driver->name))
			text = arena_printf(a, "%s, %s", text, p->ports[i].driver->name);
	return text;
}

static void describe(struct run *r)
{
	const struct config *c = r->config;
	struct result *out = r->result;
	struct utsname uts;
	struct timespec ts;
	struct tm tm;
	char text[64], stamp[96];

	clock_gettime(CLOCK_REALTIME, &ts);
	gmtime_r(&ts.tv_sec, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(stamp, sizeof(stamp), "%s.%03ldZ", text, ts.tv_nsec / 1000000);
	uname(&uts);
	out->schema = "ddiperf-result/1";
	out->run.id = r->id;
	out->run.name = c->run.name;
	out->run.version = r->options->version;
	out->run.command = r->options->command;
	out->run.started = arena_strdup(r->arena, stamp);
	out->run.seed = c->run.seed;
	out->run.host = (struct result_host){
		.cpu = cpu_model(r->arena),
		.kernel = arena_strdup(r->arena, uts.release),
		.dpdk = rte_version(),
		.driver = drivers_used(&r->plan, r->arena),
		.memory = rte_eal_has_hugepages() ? "hugepages" : "pages",
		.tsc_hz = r->plan.clock.hz,
	};
}

static int fail(const struct io_error *e, int code)
{
	log_error("%s", e->text);
	return code;
}

static int ports_up(struct run *r)
{
	const struct config *c = r->config;
	struct plan *p = &r->plan;
	struct io_error e = {""};

	if (plan_start(p, r->options->respond_only, r->arena, &e) < 0)
		return fail(&e, EXIT_ENVIRONMENT);
	for (uint32_t i = 0; i < p->port_count; i++)
		if (port_preflight(&p->port_settings[i], &c->host, &e) < 0)
			return fail(&e, EXIT_ENVIRONMENT);
	if (io_start(&c->host, &p->lcores, p->port_settings, p->port_count, &e) < 0)
		return fail(&e, EXIT_ENVIRONMENT);
	if (port_start_all(p->port_settings, p->port_count, p->ports, &e) < 0)
		return fail(&e, EXIT_ENVIRONMENT);
	r->ports_up = true;
	return 0;
}

static int read_input(struct run *r)
{
	int rc = plan_read_input(&r->plan, r->config, r->options->respond_only, r->work, r->diag);

	diag_print(r->diag, stderr);
	if (rc == -ENOMEM)
		log_error("not enough memory for the input files");
	return rc == -EINVAL ? EXIT_CONFIG : rc < 0 ? EXIT_ENVIRONMENT : 0;
}

// Before anything else is touched: a run without the evidence that was asked for is a run in vain.
static int check_capture(const struct run *r)
{
	const struct capture_settings *s = r->config->output.capture;
	int rc = s && !r->options->respond_only ? capture_file_check(s->file) : 0;

	if (rc == 0)
		return 0;
	log_error("output.capture.file: %s: %s", s->file, strerror(-rc));
	return EXIT_CONFIG;
}

static int start_evidence(struct run *r)
{
	int rc = evidence_start(&r->plan, r->arena, &r->evidence);

	if (rc < 0)
		log_error("output.capture: %s", strerror(-rc));
	return rc < 0 ? EXIT_ENVIRONMENT : 0;
}

static void stop_evidence(struct run *r)
{
	if (!r->evidence)
		return;
	r->result->capture = arena_zalloc(r->arena, sizeof(*r->result->capture));
	evidence_stop(r->evidence, r->result->capture);
	r->evidence = NULL;
}

static int start_probe(struct run *r)
{
	const struct probe_settings *s = r->config->dut.probe;

	if (s)
		r->probe = probe_start(s, r->config->run.interval_ns);
	return s && !r->probe ? EXIT_ENVIRONMENT : 0;
}

static int build(struct run *r)
{
	int rc = plan_build(&r->plan, r->work);

	if (rc == -ERANGE)
		log_error("too many transactions for the source addresses and ports");
	else if (rc < 0)
		log_error("not enough memory for the transaction tables");
	return rc < 0 ? EXIT_ENVIRONMENT : 0;
}

static void note_item(const struct run *r, const struct plan_item *i)
{
	uint64_t slots = 0, ports = 0;

	for (uint32_t k = 0; k < i->worker_count; k++) {
		slots += plan_run(i, k)->txns.count;
		ports += plan_run(i, k)->txns.ports;
	}
	note(r, "traffic %s: %llu transaction slots (%.0f MiB), %u source addresses x %llu ports",
		i->settings->name, (unsigned long long)slots,
		(double)slots * sizeof(struct txn_slot) / 1048576, i->run->txns.clients,
		(unsigned long long)(i->run->routed ? 1 : ports));
}

// Of a port with several workers.
static void note_sharing(const struct run *r, uint32_t port)
{
	const struct port *of = &r->plan.ports[port];
	const struct worker *first = &r->plan.workers[r->plan.first_worker[port]];

	if (!first->hand)
		return;
	note(r, "port %s: %s", of->settings->name, steer_text(of->steer.how));
	if (first->sleeps)
		note(r,
			"port %s: its workers do not sleep, for each may receive what another one "
			"waits for",
			of->settings->name);
}

static void note_plan(const struct run *r)
{
	const struct plan *p = &r->plan;

	for (uint32_t i = 0; i < p->worker_count; i++) {
		const struct port *port = &p->ports[p->workers[i].port];

		note(r, "port %s: %s%s%s, worker on CPU %u%s", port->settings->name,
			port->driver->name, port->settings->device ? " " : "",
			port->settings->device ? port->settings->device : "", p->workers[i].cpu,
			p->workers[i].yields ? " (shared with another worker)" : "");
	}
	for (uint32_t i = 0; i < p->port_count; i++)
		note_sharing(r, i);
	for (uint32_t i = 0; i < p->item_count; i++)
		note_item(r, &p->items[i]);
}

static void measure_tester(struct run *r)
{
	struct result_tester_delay *d = tester_delay_measure(&r->plan, r->arena);
	char text[6][32];

	r->tester_delay = d;
	if (!d)
		return;
	stats_format(d->single.p50_ns, "ns", text[0], sizeof(text[0]));
	stats_format(d->single.p99_ns, "ns", text[1], sizeof(text[1]));
	stats_format(d->burst.p50_ns, "ns", text[2], sizeof(text[2]));
	stats_format(d->burst.p99_ns, "ns", text[3], sizeof(text[3]));
	stats_format(d->apart.p50_ns, "ns", text[4], sizeof(text[4]));
	stats_format(d->apart.p99_ns, "ns", text[5], sizeof(text[5]));
	note(r,
		"port %s: the tester itself adds p50 %s, p99 %s to every latency (%s, %s in full "
		"bursts of %llu)",
		d->port, text[0], text[1], text[2], text[3], (unsigned long long)d->burst_size);
	if (d->apart.count >= ENOUGH)
		note(r, "port %s: with the way between its CPU and the responder's: p50 %s, p99 %s",
			d->port, text[4], text[5]);
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

static void keep_interval(struct run *r, const struct result_interval *i)
{
	if (r->interval_count == r->interval_room) {
		uint32_t room = r->interval_room ? 2 * r->interval_room : 64;
		struct result_interval *more = arena_zalloc(r->arena, room * sizeof(*more));

		if (r->interval_count)
			memcpy(more, r->intervals, r->interval_count * sizeof(*more));
		r->intervals = more;
		r->interval_room = room;
	}
	r->intervals[r->interval_count++] = *i;
}

static void warn_of_steering(const struct port *port)
{
	log_warning("port %s: the device does not put answers into the queues that it says, they "
		    "are handed over",
		port->settings->name);
}

// Once, however often the run is repeated.
static void probe_steering(struct run *r)
{
	struct plan *p = &r->plan;
	char text[256];

	for (uint32_t i = 0; i < p->port_count && !r->again; i++) {
		struct result_steer_probe *probe;

		if (!steer_probe_is_wanted(p, i))
			continue;
		r->steer_probes[i] = probe = steer_probe_run(p, i, r->options->signals, r->arena);
		steer_probe_describe(probe, text, sizeof(text));
		note(r, "port %s: %s", p->ports[i].settings->name, text);
		if (steer_probe_tells(probe) &&
			steer_is_belied(&p->ports[i].steer, steer_probe_home(probe)))
			warn_of_steering(&p->ports[i]);
	}
}

static void report_probes(struct run *r)
{
	struct result_port *ports = (struct result_port *)r->result->ports.items;

	for (uint32_t i = 0; i < r->plan.port_count; i++) {
		ports[i].steering_probe = r->steer_probes[i];
		if (r->steer_probes[i])
			r->steer_probes[i]->late += steer_probe_late(&r->plan, i);
	}
}

// What the plan of steering is worth is told by the first packets that came.
static void note_home(const struct run *r, uint32_t port)
{
	const struct port *of = &r->plan.ports[port];
	double home = collect_home(&r->plan, port);

	if (!r->plan.workers[r->plan.first_worker[port]].hand || home < 0)
		return;
	note(r,
		"port %s: %.1f %% of the first packets came to the worker that they are for, the "
		"others were handed over",
		of->settings->name, 100 * home);
	if (!steer_probe_tells(r->steer_probes[port]) && steer_is_belied(&of->steer, home))
		warn_of_steering(of);
}

// The first rule that holds ends the run.
static void look_for_stop(struct run *r, const struct result_interval *i)
{
	struct result_verdict *v = &r->result->verdict;
	double value;
	const char *rule = v->stopped ? NULL : stop_check(&r->stop, i, r->arena, &value);

	if (!rule)
		return;
	v->stopped = rule;
	v->stopped_s = i->t_s;
	v->stopped_value = value;
}

static void tick(struct run *r)
{
	const struct run_hooks *h = &r->options->hooks;
	struct result_interval i;
	bool warmup;

	while (collect_interval(&r->plan, &r->collected, r->arena, &i, &warmup)) {
		for (uint32_t n = 0; n < r->plan.port_count && !r->probed; n++)
			note_home(r, n);
		r->probed = true;
		if (i.length_s <= 0)
			continue;
		if (!warmup) {
			keep_interval(r, &i);
			look_for_stop(r, &i);
		}
		if (h->interval)
			h->interval(h->ctx, &i, warmup);
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
	for (uint32_t i = 0; i < p->item_count; i++)
		if (p->items[i].settings->timeout_ns > longest)
			longest = p->items[i].settings->timeout_ns;
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

// Everything is accounted for. What the responder of our own still holds back comes late, and is to
// be seen coming.
static void settle(struct run *r, uint64_t give_up)
{
	struct plan *p = &r->plan;

	while (responder_waits(p) && *r->options->signals < 2 && clock_now() < give_up) {
		nap(TICK_NS);
		watch_tick(&r->watch, p);
	}
	for (int i = 0; i < SETTLE_TRIES && on_the_way(p); i++)
		nap(LATE_ANSWERS_NS);
	nap(LATE_ANSWERS_NS);
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

	return *r->options->signals || r->result->verdict.stopped ||
	       (h->enough && h->enough(h->ctx));
}

// Until everything was sent and answered or timed out, the drain time is over, or the user has had
// enough.
static void supervise(struct run *r)
{
	struct plan *p = &r->plan;
	const struct run_times *t = &p->items[0].worker->times;
	uint64_t drain = clock_ticks(&p->clock, drain_ns(p));
	uint64_t give_up = t->end + drain;

	while (!all_finished(p) && *r->options->signals < 2) {
		uint64_t now = clock_now();

		nap(TICK_NS);
		watch_tick(&r->watch, p);
		watch_cpu(r, now);
		tick(r);
		if (is_to_end(r) && p->phase < PHASE_DRAIN) {
			set_phase(p, PHASE_DRAIN);
			give_up = now + drain;
		} else if (p->phase == PHASE_WARMUP && now >= t->measure) {
			set_phase(p, PHASE_MEASURE);
		}
		if (now >= give_up)
			break;
	}
	if (*r->options->signals < 2)
		settle(r, give_up);
}

static void respond(struct run *r)
{
	const struct run_hooks *h = &r->options->hooks;
	const uint64_t every = r->config->run.interval_ns;
	uint64_t start = clock_now(), next = every;

	while (*r->options->signals == 0) {
		struct result_responder total;
		double ns = clock_ns(&r->plan.clock, clock_now() - start);

		nap(TICK_NS);
		if (ns < (double)next || !h->responder)
			continue;
		collect_responder(&r->plan, &total);
		h->responder(h->ctx, ns / 1e9, &total);
		next += every;
	}
}

static double answered_per_s(const struct result *r)
{
	const struct result_item *items = r->traffic.items;
	double sum = 0;

	for (uint32_t i = 0; i < r->traffic.count; i++)
		sum += items[i].answered_per_s;
	return sum;
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
		.used = cpu_used(&r->cpu[0], &r->cpu[1])};
	out->us_per_transaction =
		cpu_demand_us(out->used, r->cpu[1].cpus, answered_per_s(r->result));
	r->result->cpu = out;
}

static int measure(struct run *r)
{
	struct plan *p = &r->plan;
	struct result_interval last;
	bool interrupted;
	const char *broken;

	collect_start(p, &r->collected, r->arena);
	stop_start(&r->stop, p->config, r->arena);
	watch_start(&r->watch, p);
	supervise(r);
	interrupted = *r->options->signals != 0;
	set_phase(p, PHASE_STOP);
	launch_wait_all();
	watch_end(&r->watch, p);
	clock_refine(&p->clock);
	stop_evidence(r);
	tick(r);
	collect_last_interval(p, &r->collected, r->arena, &last);
	keep_interval(r, &last);
	collect_result(p, r->arena, r->result);
	report_probes(r);
	watch_report(&r->watch, p, r->result);
	r->result->intervals = (struct counter_list){r->intervals, r->interval_count};
	report_cpu(r);
	probe_stop(r->probe, &p->clock, p->items[0].worker->times.measure,
		p->items[0].worker->times.end, r->arena, r->result);
	r->probe = NULL;
	r->result->run.host.tsc_hz = p->clock.hz;
	broken = collect_check(p, r->result, r->arena);
	return verdict_reach(p, broken, interrupted, r->arena, r->result);
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
	respond(r);
	set_phase(&r->plan, PHASE_STOP);
	launch_wait_all();
	collect_result(&r->plan, r->arena, r->result);
	r->result->verdict = (struct result_verdict){.status = "pass", .limited_by = "none"};
	return EXIT_PASS;
}

// With the ports up and the tables built: find the server, send, judge.
static int send_and_judge(struct run *r)
{
	struct plan *p = &r->plan;
	struct io_error e = {""};
	int rc = resolve_all(p, r->options->signals, &e), broken;

	broken = rc == 0 ? start_evidence(r) : 0;
	broken = rc == 0 && broken == 0 ? start_probe(r) : broken;
	if (rc == 0 && broken == 0) {
		probe_steering(r);
		plan_schedule(p, clock_now() + clock_ticks(&p->clock, LAUNCH_LEAD_NS));
		launch(r, false);
		return measure(r);
	}
	set_phase(p, PHASE_STOP);
	launch_wait_all();
	if (broken)
		return broken;
	return rc == -EINTR ? EXIT_INTERRUPTED : nobody_there(r, &e);
}

// What is said and measured once, however often the run is repeated.
static void introduce(struct run *r)
{
	note_plan(r);
	if (!r->options->respond_only)
		measure_tester(r);
}

// The ports stay; everything that a run leaves behind goes.
static int renew(struct run *r)
{
	const struct plan before = r->plan;
	int rc;

	deal_empty(&r->plan);
	plan_free(&r->plan);
	arena_free(r->work);
	r->work = arena_new();
	r->intervals = NULL;
	r->interval_count = r->interval_room = 0;
	r->cpu_read = 0;
	rc = read_input(r);
	plan_adopt(&r->plan, &before, r->work);
	for (uint32_t i = 0; i < r->plan.port_count; i++)
		port_renew(&r->plan.ports[i]);
	return rc;
}

int run_check(const struct config *c, struct arena *a, struct diag *d)
{
	struct plan plan;
	int rc = plan_read_input(&plan, c, false, a, d);

	plan_free(&plan);
	return rc;
}

const char *run_make_id(struct arena *a)
{
	char id[UUID_STR_LEN];
	uuid_t uuid;

	uuid_generate(uuid);
	uuid_unparse_lower(uuid, id);
	return arena_strdup(a, id);
}

static int open_all(struct run *r)
{
	int rc = read_input(r);

	if (rc == 0)
		rc = check_capture(r);
	return rc ? rc : ports_up(r);
}

int run_open(const struct run_options *o, struct arena *a, struct run **out)
{
	// The workers look into it: not a local variable, where a checker of races need not look.
	struct run *r = arena_zalloc(a, sizeof(*r));

	*r = (struct run){.options = o, .config = o->config, .diag = o->diag, .arena = a};
	r->work = arena_new();
	r->id = o->id ? o->id : run_make_id(a);
	r->plan.config = o->config;
	*out = r;
	if (!o->respond_only && o->config->traffic.count == 0) {
		log_error("%s: no traffic to run (ddiperf respond %s plays the responder)",
			o->config->file, o->config->file);
		return EXIT_CONFIG;
	}
	if (o->respond_only && !o->config->responder) {
		log_error("%s: no responder section", o->config->file);
		return EXIT_CONFIG;
	}
	return open_all(r);
}

int run_once(struct run *r, const struct config *c, struct diag *d, struct result *out)
{
	int rc = 0;

	memset(out, 0, sizeof(*out));
	r->config = c;
	r->diag = d;
	r->result = out;
	// The plan that came up with the ports is that of their configuration.
	if (r->again || c != r->options->config)
		rc = renew(r);
	if (rc == 0)
		rc = build(r);
	if (rc)
		return rc;
	describe(r);
	if (!r->again)
		introduce(r);
	out->run.tester_delay = r->tester_delay;
	launch(r, true);
	rc = r->options->respond_only ? responder_only(r) : send_and_judge(r);
	r->again = true;
	return rc;
}

void run_close(struct run *r)
{
	if (r->ports_up)
		port_stop_all(r->plan.ports, r->plan.port_count);
	plan_free(&r->plan);
	arena_free(r->work);
	io_stop();
}

int run_execute(const struct run_options *o, struct arena *a, struct result *out)
{
	struct run *r;
	int rc = run_open(o, a, &r);

	memset(out, 0, sizeof(*out));
	if (rc == 0)
		rc = run_once(r, o->config, o->diag, out);
	run_close(r);
	return rc;
}
