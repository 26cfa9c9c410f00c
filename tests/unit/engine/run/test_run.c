// SPDX-License-Identifier: BSD-3-Clause
// A run that is started, renewed and ended, with ports, tables and course played by the test: the
// order of steps, the effect of each failure, and the head of the result. Path: cold. Test.
#include "../planned.h"

#include <errno.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_version.h>

#include "engine/run/run.h"
#include "engine/run/run_state.h"

#define TRAFFIC "traffic: [{name: q, server: 198.18.0.2, load: {rate: 1k}, " LOADED_DNS "}]\n"
#define TEXT    "run: {name: nightly, seed: 7}\n" LOADED_PORTS TRAFFIC
#define COURSE  44 // exit code of the played course

// The state that the test plays, and its observations.
static struct {
	int input, preflight, start_io, start_ports, drop, build, course, free;
	uint32_t ports_that_fit; // to the preflight
	char steps[512], error[1100];
	uint32_t introduced, renewed;
} seen;

static struct loaded l;
static struct run_options options;
static struct result result;

int __real_plan_read_input(
	struct plan *p, const struct config *c, bool respond_only, struct arena *a, struct diag *d);
int __wrap_plan_read_input(
	struct plan *p, const struct config *c, bool respond_only, struct arena *a, struct diag *d);
int __wrap_plan_build(struct plan *p, struct arena *a);
int __real_plan_free(struct plan *p);
int __wrap_plan_free(struct plan *p);
int __wrap_port_preflight(
	const struct port_settings *p, const struct host_settings *h, struct io_error *e);
int __wrap_io_start(const struct host_settings *h, const struct lcore_plan *lcores,
	const struct port_settings *ports, unsigned count, struct io_error *e);
int __wrap_port_start_all(const struct port_settings *ports, unsigned count, struct port *ports_out,
	struct io_error *e);
int __wrap_io_drop_privileges(
	const struct port_settings *ports, unsigned count, struct io_error *e);
void __wrap_port_renew(struct port *p);
void __wrap_port_stop_all(struct port *ports, unsigned count);
void __wrap_io_stop(void);
int __wrap_run_course(struct run *r);
void __wrap_run_introduce(struct run *r);
void __wrap_log_error(const char *fmt, ...);

static void step(const char *name)
{
	size_t len = strlen(seen.steps);

	snprintf(seen.steps + len, sizeof(seen.steps) - len, "%s%s", len ? " " : "", name);
}

static int step_of(int rc, struct io_error *e, const char *what)
{
	step(what);
	if (rc < 0)
		snprintf(e->text, sizeof(e->text), "no %s", what);
	return rc;
}

int __wrap_plan_read_input(
	struct plan *p, const struct config *c, bool respond_only, struct arena *a, struct diag *d)
{
	int rc = __real_plan_read_input(p, c, respond_only, a, d);

	step("input");
	return seen.input ? seen.input : rc;
}

int __wrap_plan_build(struct plan *p, struct arena *a)
{
	p->clock.hz = 3e9;
	step("build");
	return seen.build;
}

int __wrap_plan_free(struct plan *p)
{
	step("free");
	assert_int_equal(__real_plan_free(p), 0);
	return seen.free;
}

int __wrap_port_preflight(
	const struct port_settings *p, const struct host_settings *h, struct io_error *e)
{
	return step_of(seen.ports_that_fit-- ? 0 : -EBUSY, e, p->name);
}

int __wrap_io_start(const struct host_settings *h, const struct lcore_plan *lcores,
	const struct port_settings *ports, unsigned count, struct io_error *e)
{
	return step_of(seen.start_io, e, "io");
}

int __wrap_port_start_all(const struct port_settings *ports, unsigned count, struct port *ports_out,
	struct io_error *e)
{
	for (unsigned i = 0; i < count; i++)
		ports_out[i] = (struct port){
			.settings = &ports[i], .driver = driver_of(&ports[i]), .queues = 1};
	return step_of(seen.start_ports, e, "ports");
}

int __wrap_io_drop_privileges(const struct port_settings *ports, unsigned count, struct io_error *e)
{
	return step_of(seen.drop, e, "drop");
}

void __wrap_port_renew(struct port *p)
{
	seen.renewed++;
}

void __wrap_port_stop_all(struct port *ports, unsigned count)
{
	step("stop");
}

void __wrap_io_stop(void)
{
	step("end");
}

int __wrap_run_course(struct run *r)
{
	step("course");
	return seen.course;
}

void __wrap_run_introduce(struct run *r)
{
	static struct result_tester_delay delay;

	seen.introduced++;
	r->tester_delay = &delay;
}

void __wrap_log_error(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(seen.error, sizeof(seen.error), fmt, args);
	va_end(args);
}

static int setup(void **state)
{
	memset(&seen, 0, sizeof(seen));
	seen.ports_that_fit = UINT32_MAX;
	seen.course = COURSE;
	memset(&result, 0xee, sizeof(result));
	return 0;
}

static void load(const char *text)
{
	static volatile sig_atomic_t signals;

	l = loaded_from(text);
	options = (struct run_options){.signals = &signals,
		.config = l.config,
		.diag = l.d,
		.command = "ddiperf run t.yaml",
		.version = "1.2"};
}

static int execute(const char *text)
{
	load(text);
	return run_execute(&options, l.a, &result);
}

static void a_run_comes_up_in_order_and_goes_down(void **state)
{
	assert_int_equal(execute(TEXT), COURSE);
	assert_string_equal(seen.steps, "input lan dut io ports drop build course stop free end");
	assert_int_equal(seen.introduced, 1);
	assert_string_equal(seen.error, "");
	loaded_free(&l);
}

// The name of the first CPU, as sed reads it.
static void read_cpu_model(char out[256])
{
	FILE *f = popen("sed -n 's/^model name[^:]*: //p' /proc/cpuinfo", "r");

	assert_non_null(f);
	if (!fgets(out, 256, f))
		strcpy(out, "unknown");
	out[strcspn(out, "\n")] = '\0';
	pclose(f);
}

static void the_result_begins_with_run_and_host(void **state)
{
	const struct result_run *run = &result.run;
	char model[256];
	struct tm tm = {0};
	const char *rest;
	time_t before = time(NULL);

	execute(TEXT);
	assert_string_equal(result.schema, "ddiperf-result/1");
	assert_int_equal(strlen(run->id), 36);
	assert_string_equal(run->name, "nightly");
	assert_string_equal(run->version, "1.2");
	assert_string_equal(run->command, "ddiperf run t.yaml");
	assert_int_equal(run->seed, 7);
	rest = strptime(run->started, "%Y-%m-%dT%H:%M:%S", &tm);
	assert_non_null(rest);
	assert_in_range(timegm(&tm), before, time(NULL));
	assert_int_equal(strlen(rest), 5);
	assert_true(rest[0] == '.' && rest[4] == 'Z');
	assert_int_equal(strspn(rest + 1, "0123456789"), 3);
	read_cpu_model(model);
	assert_string_equal(run->host.cpu, model);
	assert_string_equal(run->host.dpdk, rte_version());
	assert_string_equal(run->host.driver, "ring");
	assert_string_equal(run->host.memory, rte_eal_has_hugepages() ? "hugepages" : "pages");
	assert_true(run->host.tsc_hz == 3e9);
	assert_non_null(run->tester_delay);
	assert_null(result.traffic.items); // cleared for the course
	loaded_free(&l);
}

static void drivers_are_named_once_each(void **state)
{
	execute("ports:\n"
		"  - {name: a, driver: ring, device: b, addresses: [198.18.0.1/24]}\n"
		"  - {name: b, driver: ring, device: a, addresses: [198.18.0.2/24]}\n"
		"  - {name: c, driver: 'null', addresses: [198.19.0.2/24]}\n"
		"responder: {port: b, dns: {}}\n"
		"traffic: [{name: q, port: a, server: 198.18.0.2, load: {rate: 1k}, " LOADED_DNS
		"}]\n");
	assert_string_equal(result.run.host.driver, "ring, null");
	loaded_free(&l);
}

// Checks that the last error begins with these words; "": there is none.
static void assert_error(const char *words)
{
	assert_int_equal(!*seen.error, !*words);
	assert_memory_equal(seen.error, words, strlen(words));
}

static void each_failure_has_its_exit_code_and_text(void **state)
{
	static const struct {
		const char *text;
		int input;
		uint32_t ports_that_fit;
		int start_io, start_ports, build, free, code;
		const char *error, *steps;
		int drop;
	} rows[] = {
		{LOADED_PORTS, 0, 9, 0, 0, 0, 0, EXIT_CONFIG, "t.yaml: no traffic to run",
			"free end"},
		{TEXT, -EINVAL, 9, 0, 0, 0, 0, EXIT_CONFIG, "", "input free end"},
		{TEXT, -ENOMEM, 9, 0, 0, 0, 0, EXIT_ENVIRONMENT, "not enough memory for the input",
			"input free end"},
		{TEXT, -EIO, 9, 0, 0, 0, 0, EXIT_ENVIRONMENT, "", "input free end"},
		{TEXT "output: {capture: {file: /nonexistent/x}}\n", 0, 9, 0, 0, 0, 0, EXIT_CONFIG,
			"output.capture.file: /nonexistent/x: No such file", "input free end"},
		{TEXT, 0, 0, 0, 0, 0, 0, EXIT_ENVIRONMENT, "no lan", "input lan free end"},
		{TEXT, 0, 1, 0, 0, 0, 0, EXIT_ENVIRONMENT, "no dut", "input lan dut free end"},
		{TEXT, 0, 9, -EPERM, 0, 0, 0, EXIT_ENVIRONMENT, "no io",
			"input lan dut io free end"},
		{TEXT, 0, 9, 0, -ENODEV, 0, 0, EXIT_ENVIRONMENT, "no ports",
			"input lan dut io ports free end"},
		{TEXT, 0, 9, 0, 0, 0, 0, EXIT_ENVIRONMENT, "no drop",
			"input lan dut io ports drop stop free end", -EPERM},
		{TEXT, 0, 9, 0, 0, -ERANGE, 0, EXIT_ENVIRONMENT, "too many transactions",
			"input lan dut io ports drop build stop free end"},
		{TEXT, 0, 9, 0, 0, -ENOMEM, 0, EXIT_ENVIRONMENT,
			"not enough memory for the transaction tables",
			"input lan dut io ports drop build stop free end"},
		// Leases could not be written; the exit code of the course has priority.
		{TEXT, 0, 9, 0, 0, 0, -EIO, COURSE, "",
			"input lan dut io ports drop build course stop free end"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		setup(state);
		seen.input = rows[i].input;
		seen.ports_that_fit = rows[i].ports_that_fit;
		seen.start_io = rows[i].start_io;
		seen.start_ports = rows[i].start_ports;
		seen.drop = rows[i].drop;
		seen.build = rows[i].build;
		seen.free = rows[i].free;
		assert_int_equal(execute(rows[i].text), rows[i].code);
		assert_error(rows[i].error);
		assert_string_equal(seen.steps, rows[i].steps);
		assert_null(result.verdict.status);
		loaded_free(&l);
	}
}

static void the_end_decides_after_a_course_that_passed(void **state)
{
	static const struct {
		int free, code;
	} rows[] = {{0, EXIT_PASS}, {-EIO, EXIT_ENVIRONMENT}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		setup(state);
		seen.course = EXIT_PASS;
		seen.free = rows[i].free;
		assert_int_equal(execute(TEXT), rows[i].code);
		loaded_free(&l);
	}
}

static void a_responder_alone_needs_its_section_and_no_capture(void **state)
{
	static const struct {
		const char *text;
		int code;
		const char *error;
	} rows[] = {
		{"ports: [{name: lan, driver: 'null', addresses: [198.18.0.1/24]}]\n" TRAFFIC,
			EXIT_CONFIG, "t.yaml: no responder section"},
		{LOADED_PORTS "output: {capture: {file: /nonexistent/x}}\n", 0, ""},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct run *r;

		setup(state);
		load(rows[i].text);
		options.respond_only = true;
		assert_int_equal(run_open(&options, l.a, &r), rows[i].code);
		assert_error(rows[i].error);
		run_close(r);
		loaded_free(&l);
	}
}

// Ports stay open between two runs; everything else is made anew.
static void a_second_run_is_renewed(void **state)
{
	struct run *r;

	load(TEXT);
	options.id = "an id";
	assert_int_equal(run_open(&options, l.a, &r), 0);
	assert_int_equal(run_once(r, l.config, l.d, &result), COURSE);
	assert_int_equal(seen.renewed, 0);
	assert_int_equal(run_once(r, l.config, l.d, &result), COURSE);
	assert_int_equal(seen.renewed, 2);
	assert_int_equal(seen.introduced, 1);
	assert_string_equal(result.run.id, "an id");
	assert_non_null(result.run.tester_delay);
	assert_string_equal(
		seen.steps, "input lan dut io ports drop build course free input build course");
	assert_int_equal(run_close(r), EXIT_PASS);
	loaded_free(&l);
}

static void the_first_run_of_another_configuration_is_renewed(void **state)
{
	struct loaded other = loaded_from("run: {seed: 9}\n" LOADED_PORTS TRAFFIC);
	struct run *r;

	load(TEXT);
	run_open(&options, l.a, &r);
	assert_int_equal(run_once(r, other.config, other.d, &result), COURSE);
	assert_int_equal(result.run.seed, 9);
	assert_int_equal(seen.renewed, 2);
	assert_ptr_equal(r->plan.config, other.config);
	run_close(r);
	loaded_free(&other);
	loaded_free(&l);
}

// Leases of the previous run could not be written, or input no longer exists.
static void a_renewal_that_fails_runs_nothing(void **state)
{
	static const struct {
		int free, input, code;
	} rows[] = {{-EIO, 0, EXIT_ENVIRONMENT}, {-EIO, -EINVAL, EXIT_CONFIG},
		{0, -EINVAL, EXIT_CONFIG}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct run *r;

		setup(state);
		load(TEXT);
		run_open(&options, l.a, &r);
		run_once(r, l.config, l.d, &result);
		seen.steps[0] = '\0';
		seen.free = rows[i].free;
		seen.input = rows[i].input;
		assert_int_equal(run_once(r, l.config, l.d, &result), rows[i].code);
		assert_string_equal(seen.steps, "free input");
		run_close(r);
		loaded_free(&l);
	}
}

static void a_check_reads_the_input_and_touches_no_port(void **state)
{
	load(TEXT);
	assert_int_equal(run_check(l.config, l.a, l.d), 0);
	assert_string_equal(seen.steps, "input free");
	loaded_free(&l);
	load(LOADED_PORTS "traffic: [{name: q, server: 198.18.0.2, load: {rate: 1k}, "
			  "dns: {names: /nonexistent/names}}]\n");
	assert_true(run_check(l.config, l.a, l.d) < 0);
	assert_int_equal(diag_count(l.d), 1);
	loaded_free(&l);
}

static void each_run_has_an_id_of_its_own(void **state)
{
	struct arena *a = arena_new();
	const char *id = run_make_id(a);

	assert_int_equal(strspn(id, "0123456789abcdef-"), 36);
	assert_string_not_equal(id, run_make_id(a));
	arena_free(a);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_run_comes_up_in_order_and_goes_down),
		TEST(the_result_begins_with_run_and_host),
		TEST(drivers_are_named_once_each),
		TEST(each_failure_has_its_exit_code_and_text),
		TEST(the_end_decides_after_a_course_that_passed),
		TEST(a_responder_alone_needs_its_section_and_no_capture),
		TEST(a_second_run_is_renewed),
		TEST(the_first_run_of_another_configuration_is_renewed),
		TEST(a_renewal_that_fails_runs_nothing),
		TEST(a_check_reads_the_input_and_touches_no_port),
		TEST(each_run_has_an_id_of_its_own),
	};

	return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
