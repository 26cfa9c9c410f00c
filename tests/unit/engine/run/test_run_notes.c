// SPDX-License-Identifier: BSD-3-Clause
// The notes of a run: one line for each worker, shared port and item, and one about the port that
// its first packets reached. Path: cold. Test.
#include "../planned.h"

#include "engine/run/judge/run_notes.h"
#include "engine/run/run_state.h"

#define TEXT(cpus)                                                                                 \
	"ports:\n"                                                                                 \
	"  - {name: lan, driver: af_packet, device: nosuch0, cpus: " cpus                          \
	", addresses: [198.18.0.1/24]}\n"                                                          \
	"traffic: [{name: q, server: 198.18.0.2, load: {rate: 1k}, " LOADED_DNS "}]\n"

static char said[4096];
static uint32_t notes;
static struct planned *p;
static struct run r;
static struct run_options options;

static uint32_t warnings;

void __wrap_log_warning(const char *fmt, ...);

void __wrap_log_warning(const char *fmt, ...)
{
	warnings++;
}

static void say(void *ctx, const char *text)
{
	notes++;
	strncat(said, text, sizeof(said) - strlen(said) - 2);
	strcat(said, "\n");
}

static void begin(const char *text)
{
	said[0] = '\0';
	notes = 0;
	p = planned_build(text);
	options = (struct run_options){.config = p->l.config, .hooks.note = say};
	r = (struct run){.number = 1, .options = &options, .config = p->l.config, .arena = p->l.a};
	r.plan = p->plan;
	for (uint32_t i = 0; i < r.plan.worker_count; i++)
		r.plan.workers[i].reading = 0;
}

static void a_note_is_a_line_for_whoever_wants_it(void **state)
{
	struct run_options o = {.hooks.note = NULL};
	char longer[1024];

	run_note(&o, "%d", 5);
	o.hooks.note = say;
	said[0] = '\0';
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	run_note(&o, "%s", longer);
	assert_int_equal(strlen(said), 511 + 1);
}

// Two workers, the port that they share, and an item with the sums of both.
static void the_plan_is_told_worker_by_worker(void **state)
{
	begin(TEXT("1-2"));
	run_introduce(&r);
	assert_int_equal(notes, 4);
	assert_non_null(strstr(
		said, "port lan: af_packet nosuch0, worker on CPU 1, sleeping while it waits\n"));
	assert_non_null(strstr(said, "worker on CPU 2, sleeping while it waits\n"));
	assert_non_null(strstr(said, "traffic q: 1308 transaction slots"));
	assert_non_null(strstr(said, "1 source addresses x 64512 ports"));
	planned_free(p);
	begin(TEXT("3"));
	run_introduce(&r);
	assert_int_equal(notes, 2);
	planned_free(p);
}

static void receive(uint32_t worker, uint64_t received, uint64_t given)
{
	r.plan.workers[worker].snapshots[0].received = received;
	r.plan.workers[worker].snapshots[0].handed_over = given;
}

static void where_the_first_packets_came_to_is_told_once(void **state)
{
	begin(TEXT("1-2"));
	receive(0, 60, 5);
	receive(1, 40, 20);
	run_note_home(&r);
	assert_int_equal(notes, 1);
	assert_non_null(strstr(said, "port lan: 75.0 %"));
	run_note_home(&r);
	assert_int_equal(notes, 1);
	planned_free(p);
}

#define RELAYS                                                                                     \
	"ports:\n  - {name: lan, driver: af_packet, device: nosuch0, cpus: 1-2, addresses: "       \
	"[198.18.0.1/24]}\ntraffic: [{name: r, server: 198.18.0.2, load: {rate: 1}, dhcp4: "       \
	"{clients: 100, relay: {addresses: [%s]}}}]\n"

// Like a card with a known hash.
static void begin_relays(const char *addresses)
{
	char text[512];
	struct steer *s;

	snprintf(text, sizeof(text), RELAYS, addresses);
	said[0] = '\0';
	notes = 0;
	p = planned_start(text, false);
	s = &p->plan.ports->steer;
	*s = (struct steer){.how = STEER_HASHED, .key_len = 40, .reta_size = 128};
	for (uint32_t i = 0; i < s->reta_size; i++)
		s->reta[i] = i % 2;
	steer_key_addresses(s->key, s->key_len, &p->plan.port_settings->relays, 2);
	assert_int_equal(plan_build(&p->plan, p->l.a), 0);
	options = (struct run_options){.config = p->l.config, .hooks.note = say};
	r = (struct run){.number = 1, .options = &options, .config = p->l.config, .arena = p->l.a};
	r.plan = p->plan;
	for (uint32_t i = 0; i < r.plan.worker_count; i++)
		r.plan.workers[i].reading = 0;
}

static void the_deal_of_relays_is_told_and_the_device_not_blamed_for_it(void **state)
{
	begin_relays("198.18.0.64/30");
	run_introduce(&r);
	assert_non_null(strstr(said, "traffic r: its 4 relay addresses are dealt to 2 workers by "
				     "the device's hash: 100.0 % of replies reach"));
	planned_free(p);
	begin_relays("198.18.0.64");
	run_introduce(&r);
	assert_non_null(strstr(said, "hash: 50.0 % of replies reach"));
	warnings = 0;
	receive(0, 60, 5);
	receive(1, 40, 40);
	run_note_home(&r);
	assert_int_equal(warnings, 0);
	r.probed = false;
	receive(1, 40, 40);
	receive(0, 60, 50);
	run_note_home(&r);
	assert_int_equal(warnings, 1);
	planned_free(p);
}

static void without_packets_or_a_second_worker_there_is_nothing_to_tell(void **state)
{
	begin(TEXT("1-2"));
	run_note_home(&r);
	assert_int_equal(notes, 0);
	planned_free(p);
	begin(TEXT("1"));
	receive(0, 60, 0);
	run_note_home(&r);
	assert_int_equal(notes, 0);
	planned_free(p);
}

// A repeated run on the same ports sends no probes, and so has no result of any.
static void a_repeated_run_asks_nothing(void **state)
{
	begin(TEXT("1-2"));
	r.number = 2;
	run_probe_steering(&r);
	assert_int_equal(notes, 0);
	planned_free(p);
}

static void late_answers_are_told_where_questions_were_asked(void **state)
{
	struct result_steer_probe probe = {.sent = 8, .late = 1};
	struct result_port port = {0};
	struct result result = {.ports = {&port, 1}};

	begin(TEXT("1-2"));
	r.result = &result;
	plan_run(&r.plan.items[0], 1)->books.counts[1].probe_late = 3;
	run_report_steering(&r);
	assert_null(port.steering_probe);
	r.steer_probes[0] = &probe;
	run_report_steering(&r);
	assert_ptr_equal(port.steering_probe, &probe);
	assert_int_equal(probe.late, 4);
	planned_free(p);
}

static void move(struct next_hop *h, uint8_t last)
{
	h->mac = hop_mac_word((uint8_t[]){2, 0, 0, 0, 0, last});
	r.plan.neighbours->moved++;
}

static void a_next_hop_that_moved_is_told(void **state)
{
	struct next_hop *h;

	begin(TEXT("1-2"));
	h = r.plan.neighbours->hops;
	assert_int_equal(r.plan.neighbours->count, 1);
	h->shown = 0x0102030405;
	h->mac = 0x0102030405;
	run_note_moves(&r);
	assert_int_equal(notes, 0);
	move(h, 7);
	run_note_moves(&r);
	assert_int_equal(notes, 1);
	assert_non_null(
		strstr(said, "port lan: next hop 198.18.0.2 is now at 02:00:00:00:00:07\n"));
	run_note_moves(&r);
	assert_int_equal(notes, 1);
	for (uint8_t i = 0; i < 9; i++) {
		move(h, i);
		run_note_moves(&r);
	}
	assert_int_equal(notes, 8);
	planned_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_note_is_a_line_for_whoever_wants_it),
		cmocka_unit_test(the_plan_is_told_worker_by_worker),
		cmocka_unit_test(where_the_first_packets_came_to_is_told_once),
		cmocka_unit_test(the_deal_of_relays_is_told_and_the_device_not_blamed_for_it),
		cmocka_unit_test(without_packets_or_a_second_worker_there_is_nothing_to_tell),
		cmocka_unit_test(a_repeated_run_asks_nothing),
		cmocka_unit_test(late_answers_are_told_where_questions_were_asked),
		cmocka_unit_test(a_next_hop_that_moved_is_told),
	};

	return cmocka_run_group_tests_name("run_notes", tests, NULL, NULL);
}
