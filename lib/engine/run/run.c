// SPDX-License-Identifier: BSD-3-Clause
// A run brought up and down: input read, ports up, tables built, renewed for the next one, closed.
// Not here: the course between (run_course.c). Path: cold. Management thread.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_version.h>

#include <uuid/uuid.h>

#include "io/driver/driver.h"
#include "base/arena.h"
#include "base/file.h"
#include "base/input.h"
#include "base/log.h"
#include "conf/schema.h"
#include "crypt/digest.h"
#include "engine/plan/deal.h"
#include "engine/plan/plan.h"
#include "engine/plan/plan_start.h"
#include "engine/run/judge/run_notes.h"
#include "engine/run/run.h"
#include "engine/run/run_course.h"
#include "engine/run/run_state.h"
#include "io/doctor/preflight.h"
#include "io/driver/eal.h"
#include "io/port/port.h"
#include "io/port/port_read.h"

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

// Returns the SHA-256 of the text that `ddiperf check --dump` prints, in hexadecimal.
static const char *config_sha256(const struct config *c, struct arena *a)
{
	char *text = NULL, *out = arena_zalloc(a, DIGEST_HEX);
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		arena_exhausted();
	conf_dump(config_section(), c, f);
	if (fclose(f) != 0)
		arena_exhausted(); // nothing else can fail
	digest_sha256_hex(text, size, out);
	free(text);
	return out;
}

static void run_describe(struct run *r)
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
	out->number = r->number;
	out->run.id = r->id;
	out->run.name = c->run.name;
	out->run.note = c->run.note;
	out->run.labels = (struct counter_list){c->run.labels.items, c->run.labels.count};
	out->run.config_sha256 = config_sha256(r->options->config, r->arena);
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

static int run_fail(const struct io_error *e, int code)
{
	log_error("%s", e->text);
	return code;
}

// Checks before any memory is touched: the kernel grants more than it has, and kills later.
static int check_memory(const struct run *r)
{
	const char *why = plan_lacks_memory(&r->plan, !r->ports_up, r->work);

	if (why)
		log_error("%s", why);
	return why ? EXIT_ENVIRONMENT : 0;
}

static int ports_up(struct run *r)
{
	const struct config *c = r->config;
	struct plan *p = &r->plan;
	struct io_error e = {""};

	if (plan_start(p, r->options->respond_only, r->arena, &e) < 0)
		return run_fail(&e, EXIT_ENVIRONMENT);
	for (uint32_t i = 0; i < p->port_count && !*r->options->signals; i++)
		if (port_preflight(&p->port_settings[i], &c->host, &e) < 0)
			return run_fail(&e, EXIT_ENVIRONMENT);
	if (check_memory(r))
		return EXIT_ENVIRONMENT;
	if (io_start(&c->host, &p->lcores, p->port_settings, p->port_count, &e) < 0)
		return run_fail(&e, EXIT_ENVIRONMENT);
	if (*r->options->signals)
		return EXIT_INTERRUPTED;
	if (port_start_all(p->port_settings, p->port_count, p->ports, &e) < 0)
		return run_fail(&e, EXIT_ENVIRONMENT);
	r->ports_up = true;
	if (io_drop_privileges(p->port_settings, p->port_count, &e) < 0)
		return run_fail(&e, EXIT_ENVIRONMENT);
	return 0;
}

static int read_input(struct run *r)
{
	int rc;

	diag_set_inputs(r->diag, r->inputs);
	rc = plan_read_input(&r->plan, r->config, r->options->respond_only, r->work, r->diag);
	diag_set_inputs(r->diag, NULL);
	if (*r->options->signals)
		return EXIT_INTERRUPTED;
	diag_print(r->diag, stderr);
	if (rc == -ENOMEM)
		log_error("not enough memory for the input files");
	return rc == -EINVAL ? EXIT_CONFIG : rc < 0 ? EXIT_ENVIRONMENT : 0;
}

// Checks before anything else is touched: a run without the evidence asked for is a run in vain.
static int check_capture(const struct run *r)
{
	const struct capture_settings *s = r->config->output.capture;
	int rc = s && !r->options->respond_only ? file_check_writable(s->file) : 0;

	if (rc == 0)
		return 0;
	log_error("output.capture.file: %s: %s", s->file, strerror(-rc));
	return file_error_of_box(rc) ? EXIT_ENVIRONMENT : EXIT_CONFIG;
}

static int run_build(struct run *r)
{
	int rc = plan_build(&r->plan, r->work);

	if (rc == -ERANGE)
		log_error("too many transactions for the source addresses and ports: "
			  "add some, or lower the rate or the timeout");
	else if (rc == -ENOMEM)
		log_error("not enough memory for the transaction tables: "
			  "lower load.slots, the rate or the timeout");
	return rc < 0 ? EXIT_ENVIRONMENT : 0;
}

// Keeps the ports, and discards everything that a run leaves behind.
static int run_renew(struct run *r)
{
	const struct plan before = r->plan;
	int rc, kept;

	deal_empty(&r->plan);
	kept = plan_free(&r->plan);
	arena_free(r->work);
	r->work = arena_new();
	rc = read_input(r);
	plan_adopt(&r->plan, &before, r->work);
	for (uint32_t i = 0; i < r->plan.port_count; i++)
		port_renew(&r->plan.ports[i]);
	return rc == 0 && kept < 0 ? EXIT_ENVIRONMENT : rc;
}

int run_check(const struct config *c, struct arena *a, struct diag *d)
{
	struct plan plan;
	int rc = plan_read_input(&plan, c, false, a, d);

	if (rc == 0 && !c->search) // a trial has another load
		run_warn_shortages(&plan);
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

// An interrupt ends each step, with or without an error.
static int open_all(struct run *r)
{
	int rc = read_input(r);

	if (rc == 0)
		rc = check_capture(r);
	if (rc == 0 && !*r->options->signals)
		rc = ports_up(r);
	return *r->options->signals && rc != EXIT_CONFIG ? EXIT_INTERRUPTED : rc;
}

int run_open(const struct run_options *o, struct arena *a, struct run **out)
{
	// Not a local variable: workers access it, and race checkers need not check locals.
	struct run *r = arena_zalloc(a, sizeof(*r));

	*r = (struct run){.options = o, .config = o->config, .diag = o->diag, .arena = a};
	r->work = arena_new();
	r->inputs = inputs_new();
	r->id = o->id ? o->id : run_make_id(a);
	r->plan.config = o->config;
	*out = r;
	if (!o->respond_only && o->config->traffic.count == 0) {
		log_error("%s: no traffic to run (ddiperf respond %s plays the responder)",
			o->config->file, o->config->file);
		return EXIT_CONFIG;
	}
	if (o->respond_only && !o->config->responder) {
		log_error(
			"%s: no responder section, so there is no server to play", o->config->file);
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
	// The plan that came up with the ports is for their configuration.
	if (r->number || c != r->options->config) {
		rc = run_renew(r);
		if (rc == 0)
			rc = check_memory(r);
	}
	if (rc == 0)
		rc = run_build(r);
	if (rc == 0 && *r->options->signals)
		rc = EXIT_INTERRUPTED;
	if (rc)
		return rc;
	r->number++;
	run_describe(r);
	if (r->number == 1)
		run_introduce(r);
	out->run.tester_delay = r->tester_delay;
	if (r->options->hooks.begin)
		r->options->hooks.begin(r->options->hooks.ctx, out, c);
	return run_course(r);
}

int run_close(struct run *r)
{
	int kept;

	if (r->ports_up)
		port_stop_all(r->plan.ports, r->plan.port_count);
	kept = plan_free(&r->plan);
	arena_free(r->work);
	inputs_free(r->inputs);
	io_stop();
	return kept < 0 ? EXIT_ENVIRONMENT : EXIT_PASS;
}

int run_execute(const struct run_options *o, struct arena *a, struct result *out)
{
	struct run *r;
	int rc = run_open(o, a, &r), kept;

	memset(out, 0, sizeof(*out));
	if (rc == 0)
		rc = run_once(r, o->config, o->diag, out);
	kept = run_close(r);
	return rc ? rc : kept;
}
