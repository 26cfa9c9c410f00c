// SPDX-License-Identifier: BSD-3-Clause
// Connections of QUIC between a client and a server in memory: handshakes, and how they end. Each
// test runs twice: TLS at once, and in jobs as of a crew.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/bytes.h"
#include "lib/quic_rig.h"
#include "quic/quic_internal.h"

static uint32_t jobs; // seats of the current round

static struct rig *rig_of(void)
{
	struct rig *g = rig_new();

	g->shapes[CLIENT].jobs = g->shapes[SERVER].jobs = jobs;
	return g;
}

// Opens a connection, asks once and lets a second pass.
static uint32_t ask_once(struct rig *g, bool session, bool token, uint32_t tag)
{
	uint32_t c = rig_open(g, session, token);

	assert_int_not_equal(c, QUIC_NONE);
	assert_true(rig_ask(g, c, tag, 50));
	rig_run(g, 1000 * RIG_MS);
	return c;
}

static void is_answered(struct rig *g, uint32_t tag, uint32_t count)
{
	struct rig_event e = {0};

	if (rig_count(g, CLIENT, QUIC_MESSAGE, &e) != count)
		rig_print(g);
	assert_int_equal(rig_count(g, CLIENT, QUIC_MESSAGE, &e), count);
	assert_int_equal(e.tag, tag);
	assert_true(e.last);
	assert_int_equal(e.first, (uint8_t)(tag ^ 0xff));
}

static const struct quic_end *end_of(struct rig *g, int end, uint32_t c)
{
	return quic_end(&g->ends[end], c);
}

static void a_query_is_answered(void **state)
{
	struct rig *g = rig_of();
	const struct quic_facts *f;
	struct rig_event e;
	uint32_t c;

	(void)state;
	rig_start(g);
	c = ask_once(g, false, false, 42);
	assert_int_equal(rig_count(g, CLIENT, QUIC_READY, NULL), 1);
	assert_int_equal(rig_count(g, SERVER, QUIC_READY, NULL), 1);
	is_answered(g, 42, 1);
	f = quic_facts(&g->ends[CLIENT], c);
	assert_int_equal(f->version, QUIC_V1);
	assert_string_equal(f->tls.alpn, "doq");
	assert_int_equal(f->tls.certificates, 1);
	assert_int_equal(f->tls.suite, RECORD_AES_128_GCM);
	assert_false(f->tls.resumed || f->early_offered || f->early || f->retried || f->upgraded);
	assert_int_equal(f->first_ns - f->began_ns, 2 * RIG_DELAY);
	assert_int_equal(f->done_ns - f->began_ns, 2 * RIG_DELAY);
	assert_int_equal(f->confirmed_ns - f->began_ns, 4 * RIG_DELAY);
	assert_int_equal(rig_count(g, CLIENT, QUIC_TICKET, &e), 1);
	assert_int_equal(rig_count(g, CLIENT, QUIC_TOKEN, &e), 1);
	assert_int_equal(quic_open_count(&g->ends[CLIENT], c), 0);
	assert_int_equal(quic_of(&g->ends[CLIENT], c), 7);
	// A connection at rest has no session of GnuTLS, nor streams.
	for (int i = 0; i < 2; i++) {
		assert_null(row_at(&g->ends[i], 0)->hand);
		assert_int_equal(row_at(&g->ends[i], 0)->first, NONE);
		assert_int_equal(row_at(&g->ends[i], 0)->job, NONE);
	}
	rig_free(g);
}

static void suites_and_versions_work(void **state)
{
	static const char *const priorities[] = {
		"NORMAL:-CIPHER-ALL:+AES-256-GCM", "NORMAL:-CIPHER-ALL:+CHACHA20-POLY1305"};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct rig *g = rig_of();
		uint32_t c;

		g->tls[CLIENT].priorities = priorities[i % 2];
		if (i >= 2)
			g->ends[CLIENT].versions[0] = g->ends[SERVER].versions[0] =
				quic_version_2();
		rig_start(g);
		c = ask_once(g, false, false, 1);
		is_answered(g, 1, 1);
		assert_int_equal(quic_facts(&g->ends[CLIENT], c)->version,
			i < 2 ? QUIC_V1 : quic_version_2());
		assert_int_equal(quic_facts(&g->ends[CLIENT], c)->tls.suite,
			i % 2 ? RECORD_CHACHA20_POLY1305 : RECORD_AES_256_GCM);
		rig_free(g);
	}
}

static void sessions_are_resumed_with_early_data(void **state)
{
	struct rig *g = rig_of();
	const struct quic_facts *f;
	struct rig_event e;
	uint32_t c;

	(void)state;
	rig_start(g);
	ask_once(g, false, false, 1);
	c = ask_once(g, true, true, 2);
	is_answered(g, 2, 2);
	rig_count(g, SERVER, QUIC_MESSAGE, &e);
	assert_true(e.early);
	f = quic_facts(&g->ends[CLIENT], c);
	assert_true(f->tls.resumed && f->early_offered && f->early);
	assert_int_equal(f->tls.certificates, 0);
	assert_int_equal(g->ends[CLIENT].counts.early_sent, 1);
	assert_int_equal(g->ends[CLIENT].counts.early_again, 0);
	assert_true(quic_facts(&g->ends[SERVER], 1)->with_token);
	rig_free(g);
}

static void a_session_without_early_data_is_resumed(void **state)
{
	struct rig *g = rig_of();
	const struct quic_facts *f;
	uint32_t c;

	(void)state;
	g->tls[SERVER].early = false;
	rig_start(g);
	ask_once(g, false, false, 1);
	c = ask_once(g, true, false, 2);
	is_answered(g, 2, 2);
	f = quic_facts(&g->ends[CLIENT], c);
	assert_true(f->tls.resumed && !f->early_offered && !f->early);
	rig_free(g);
}

// Nothing is lost, and nothing asked twice.
static void refused_early_data_go_again(void **state)
{
	struct rig *g = rig_of();
	const struct quic_facts *f;
	uint32_t c;

	(void)state;
	rig_start(g);
	ask_once(g, false, false, 1);
	g->ends[SERVER].faults.early_refused = UINT32_MAX;
	c = rig_open(g, true, false);
	for (uint32_t i = 0; i < 5; i++)
		assert_true(rig_ask(g, c, 10 + i, 400));
	rig_run(g, 1000 * RIG_MS);
	is_answered(g, 14, 6);
	assert_int_equal(rig_count(g, SERVER, QUIC_MESSAGE, NULL), 6);
	f = quic_facts(&g->ends[CLIENT], c);
	assert_true(f->tls.resumed && f->early_offered && !f->early);
	assert_int_equal(g->ends[CLIENT].counts.early_sent, 5);
	assert_int_equal(g->ends[CLIENT].counts.early_again, 5);
	rig_free(g);
}

static void a_retry_is_followed(void **state)
{
	struct rig *g = rig_of();
	uint32_t c;

	(void)state;
	g->ends[SERVER].faults.retry = UINT32_MAX;
	rig_start(g);
	c = ask_once(g, false, false, 1);
	is_answered(g, 1, 1);
	assert_true(quic_facts(&g->ends[CLIENT], c)->retried);
	assert_true(quic_facts(&g->ends[SERVER], 0)->retried);
	assert_int_equal(g->ends[SERVER].counts.retries_sent, 1);
	// With early data, too, and not with a token.
	c = ask_once(g, true, false, 2);
	is_answered(g, 2, 2);
	assert_true(quic_facts(&g->ends[CLIENT], c)->retried);
	c = ask_once(g, true, true, 3);
	is_answered(g, 3, 3);
	assert_false(quic_facts(&g->ends[CLIENT], c)->retried);
	assert_int_equal(g->ends[SERVER].counts.retries_sent, 2);
	rig_free(g);
}

static void no_common_version_ends_it(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct rig *g = rig_of();
		struct rig_event e;
		uint32_t c, tag;

		if (i == 0)
			g->ends[CLIENT].versions[0] = quic_version_2();
		else
			g->ends[SERVER].faults.version_negotiation = UINT32_MAX;
		rig_start(g);
		c = ask_once(g, false, false, 1);
		assert_int_equal(g->ends[SERVER].counts.versions_sent, 1);
		assert_int_equal(rig_count(g, CLIENT, QUIC_CLOSED, &e), 1);
		assert_int_equal(end_of(g, CLIENT, c)->kind, QUIC_END_VERSION);
		// The message can be sent elsewhere.
		c = rig_open(g, false, false);
		assert_true(rig_ask(g, c, 5, 50));
		rig_run(g, 12 * RIG_MS);
		assert_true(quic_unheard(&g->ends[CLIENT], c, &tag));
		assert_int_equal(tag, 5);
		assert_false(quic_unheard(&g->ends[CLIENT], c, &tag));
		rig_free(g);
	}
}

static void a_lost_state_is_a_stateless_reset(void **state)
{
	struct rig *g = rig_of();
	uint32_t c;

	(void)state;
	rig_start(g);
	c = ask_once(g, false, false, 1);
	quic_forget(&g->ends[SERVER], 0);
	assert_true(rig_ask(g, c, 2, 50));
	rig_run(g, 100 * RIG_MS);
	is_answered(g, 1, 1);
	assert_int_equal(end_of(g, CLIENT, c)->kind, QUIC_END_RESET);
	assert_int_equal(g->ends[SERVER].counts.resets_sent, 1);
	rig_free(g);

	g = rig_of();
	g->ends[SERVER].faults.forget_after = 3;
	rig_start(g);
	c = ask_once(g, false, false, 1);
	for (uint32_t i = 2; i < 5; i++) {
		rig_ask(g, c, i, 50);
		rig_run(g, 1000 * RIG_MS);
	}
	is_answered(g, 2, 2);
	assert_int_equal(end_of(g, CLIENT, c)->kind, QUIC_END_RESET);
	assert_int_equal(rig_count(g, CLIENT, QUIC_CLOSED, NULL), 1);
	rig_free(g);
}

static void the_client_refuses_certificates(void **state)
{
	struct rig *g = rig_of();
	uint32_t c;

	(void)state;
	g->tls[CLIENT].name = "other.example";
	rig_start(g);
	c = rig_open(g, false, false);
	rig_ask(g, c, 1, 50);
	rig_run(g, 30 * RIG_MS);
	assert_int_equal(end_of(g, CLIENT, c)->kind, QUIC_END_REFUSED);
	assert_int_equal(quic_facts(&g->ends[CLIENT], c)->tls.refused, HAND_WRONG_NAME);
	assert_int_equal(quic_facts(&g->ends[CLIENT], c)->tls.alert_sent, 42);
	assert_int_equal(end_of(g, SERVER, 0)->kind, QUIC_END_ALERT);
	assert_int_equal(end_of(g, SERVER, 0)->code, 42);
	rig_free(g);
}

static void other_protocols_are_refused_by_alert(void **state)
{
	struct rig *g = rig_of();
	uint32_t c;

	(void)state;
	g->tls[CLIENT].alpn = "h3";
	rig_start(g);
	c = rig_open(g, false, false);
	rig_run(g, 12 * RIG_MS);
	assert_int_equal(end_of(g, CLIENT, c)->kind, QUIC_END_ALERT);
	assert_int_equal(end_of(g, CLIENT, c)->code, 120);
	assert_int_equal(end_of(g, SERVER, 0)->kind, QUIC_END_TLS);
	rig_free(g);

	// Not even a server that selects nothing is taken.
	g = rig_of();
	g->tls[SERVER].alpn = NULL;
	rig_start(g);
	c = rig_open(g, false, false);
	rig_run(g, 12 * RIG_MS);
	assert_int_equal(end_of(g, CLIENT, c)->kind, QUIC_END_TLS);
	assert_int_equal(end_of(g, CLIENT, c)->code, 120);
	rig_free(g);
}

static void handshakes_time_out(void **state)
{
	struct rig *g = rig_of();
	uint32_t c;

	(void)state;
	g->ends[SERVER].faults.drop_initial = UINT32_MAX;
	rig_start(g);
	c = rig_open(g, false, false);
	assert_true(rig_ask(g, c, 1, 50));
	rig_run(g, 9000 * RIG_MS);
	assert_int_equal(rig_count(g, CLIENT, QUIC_CLOSED, NULL), 0);
	assert_in_range(g->ends[SERVER].counts.ignored, 2, 20);
	g->now += 1001 * RIG_MS;
	assert_true(quic_expire(&g->ends[CLIENT], c, g->now));
	assert_int_equal(end_of(g, CLIENT, c)->kind, QUIC_END_TIMEOUT);
	rig_events(g, CLIENT, c);
	assert_int_equal(rig_count(g, CLIENT, QUIC_CLOSED, NULL), 1);
	assert_false(quic_expire(&g->ends[CLIENT], c, g->now));
	rig_free(g);
}

static void idle_connections_end(void **state)
{
	struct rig *g = rig_of();

	(void)state;
	g->ends[SERVER].idle_ns = 5000 * RIG_MS; // the smaller one counts
	rig_start(g);
	ask_once(g, false, false, 1);
	rig_run(g, 3900 * RIG_MS);
	assert_int_equal(rig_count(g, CLIENT, QUIC_CLOSED, NULL), 0);
	rig_run(g, 300 * RIG_MS);
	assert_int_equal(rig_count(g, CLIENT, QUIC_CLOSED, NULL), 1);
	assert_int_equal(rig_count(g, SERVER, QUIC_CLOSED, NULL), 1);
	rig_free(g);
}

static void the_peer_closes_by_name(void **state)
{
	static const char *const names[] = {"no_error", "internal_error", "protocol_error",
		"request_cancelled", "excessive_load", "unspecified_error", "other"};

	(void)state;
	for (uint32_t code = 0; code <= QUIC_ERRORS; code++) {
		struct rig *g = rig_of();
		uint32_t c;

		g->silent = true;
		rig_start(g);
		c = ask_once(g, false, false, 1);
		assert_int_equal(quic_open_count(&g->ends[CLIENT], c), 1);
		quic_shut(&g->ends[SERVER], 0, code);
		assert_false(quic_alive(&g->ends[SERVER], 0));
		rig_run(g, 6 * RIG_MS);
		assert_int_equal(rig_count(g, CLIENT, QUIC_CLOSED, NULL), 1);
		assert_int_equal(rig_count(g, SERVER, QUIC_CLOSED, NULL), 0);
		assert_int_equal(end_of(g, CLIENT, c)->kind, QUIC_END_APPLICATION);
		assert_int_equal(end_of(g, CLIENT, c)->code, code);
		assert_string_equal(quic_error_name(code), names[code]);
		assert_int_equal(end_of(g, SERVER, 0)->kind, QUIC_END_SHUT);
		assert_false(quic_alive(&g->ends[CLIENT], c));
		assert_false(rig_ask(g, c, 2, 50));
		// After the time of draining both are free.
		rig_run(g, 1000 * RIG_MS);
		assert_int_equal(quic_deadline(&g->ends[CLIENT], c), UINT64_MAX);
		assert_int_equal(quic_deadline(&g->ends[SERVER], 0), UINT64_MAX);
		rig_free(g);
	}
}

// What still comes to a closed connection is answered by its last packet, not each time.
static void a_closing_connection_repeats_itself(void **state)
{
	struct rig *g = rig_of();
	uint32_t c;

	(void)state;
	rig_start(g);
	c = ask_once(g, false, false, 1);
	quic_shut(&g->ends[SERVER], 0, QUIC_NO_ERROR);
	g->mute[SERVER] = true;
	rig_run(g, 1 * RIG_MS);
	g->mute[SERVER] = false;
	assert_true(rig_ask(g, c, 2, 50));
	rig_run(g, 15 * RIG_MS);
	assert_int_equal(end_of(g, CLIENT, c)->kind, QUIC_END_APPLICATION);
	rig_free(g);
}

static void keys_are_updated(void **state)
{
	struct rig *g = rig_of();
	uint32_t c;

	(void)state;
	rig_start(g);
	c = ask_once(g, false, false, 1);
	assert_false(quic_update_keys(&g->ends[CLIENT], 1, g->now));
	for (uint32_t i = 2; i < 11; i++) {
		// The next keys are made with the packets after the last update.
		if (i % 2)
			assert_true(
				quic_update_keys(&g->ends[i / 2 % 2], i / 2 % 2 ? 0 : c, g->now));
		assert_true(rig_ask(g, c, i, 50));
		rig_run(g, 1000 * RIG_MS);
		is_answered(g, i, i);
	}
	assert_int_equal(quic_facts(&g->ends[CLIENT], c)->key_updates, 4);
	assert_int_equal(quic_facts(&g->ends[SERVER], 0)->key_updates, 4);
	rig_free(g);
}

// A chain that does not fit into three Initial packets, and a ClientHello of two.
static void large_handshakes_pass(void **state)
{
	const struct certificate_wanted wanted = {
		.name = "dns.example", .kind = CERTIFICATE_RSA_2048, .padding = 6000};
	struct certificate large;
	struct rig *g = rig_of();
	const char *wrong;
	uint32_t c;

	(void)state;
	assert_int_equal(certificate_make(&wanted, &large, &wrong), 0);
	g->tls[CLIENT].authorities = g->tls[SERVER].certificate = large.certificate;
	g->tls[SERVER].key = large.key;
	rig_start(g);
	c = ask_once(g, false, false, 1);
	is_answered(g, 1, 1);
	assert_in_range(quic_facts(&g->ends[CLIENT], c)->tls.octets_of_them, 6000, 8000);
	certificate_free(&large);
	rig_free(g);
}

static void another_address_is_no_path(void **state)
{
	const struct addr elsewhere = {4, {192, 0, 2, 99}};
	struct rig *g = rig_of();
	uint8_t bytes[1 + QUIC_CID + 20] = {0x40};
	uint32_t c;

	(void)state;
	rig_start(g);
	c = ask_once(g, false, false, 1);
	bytes_put_be64(bytes + 1, cid_make(&g->ends[CLIENT], row_at(&g->ends[CLIENT], c), 0));
	assert_int_equal(
		quic_find(&g->ends[CLIENT], bytes, sizeof(bytes), NULL, 0, &c), QUIC_FOUND);
	assert_int_equal(
		quic_find(&g->ends[CLIENT], bytes, sizeof(bytes), &elsewhere, 853, &c), QUIC_STRAY);
	assert_int_equal(g->ends[CLIENT].counts.moved, 1);
	// Of another worker with the same seed.
	g->ends[CLIENT].worker = 6;
	assert_int_equal(
		quic_find(&g->ends[CLIENT], bytes, sizeof(bytes), NULL, 0, &c), QUIC_FOREIGN);
	assert_int_equal(c, 5);
	g->ends[CLIENT].worker = 5;
	// An old one.
	quic_forget(&g->ends[CLIENT], 0);
	assert_int_equal(
		quic_find(&g->ends[CLIENT], bytes, sizeof(bytes), NULL, 0, &c), QUIC_STRAY);
	assert_int_equal(quic_find(&g->ends[CLIENT], bytes, 5, NULL, 0, &c), QUIC_GARBAGE);
	rig_free(g);
}

// A job may come back when its connection is gone, and datagrams wait for it.
static void jobs_come_back_late(void **state)
{
	struct quic_job *job;
	struct rig *g = rig_new();
	uint32_t c;

	(void)state;
	g->shapes[CLIENT].jobs = g->shapes[SERVER].jobs = 1;
	rig_start(g);
	c = rig_open(g, false, false);
	assert_int_equal(rig_open(g, false, false), QUIC_NONE); // one seat
	job = quic_job(&g->ends[CLIENT]);
	assert_non_null(job);
	assert_null(quic_job(&g->ends[CLIENT]));
	quic_forget(&g->ends[CLIENT], c);
	quic_job_do(job);
	assert_int_equal(quic_job_done(&g->ends[CLIENT], job, g->now), QUIC_NONE);
	job = quic_job(&g->ends[CLIENT]);
	assert_non_null(job); // frees the session
	quic_job_do(job);
	assert_int_equal(quic_job_done(&g->ends[CLIENT], job, g->now), QUIC_NONE);
	assert_null(quic_job(&g->ends[CLIENT]));
	// The server's job takes a while.
	c = rig_open(g, false, false);
	rig_ask(g, c, 1, 50);
	rig_jobs(g);
	g->holds_jobs = true;
	rig_run(g, 40 * RIG_MS);
	assert_int_equal(rig_count(g, CLIENT, QUIC_READY, NULL), 0);
	g->holds_jobs = false;
	rig_run(g, 1000 * RIG_MS);
	is_answered(g, 1, 1);
	rig_free(g);
}

#define BOTH(test)                                                                                 \
	{#test, test, NULL, NULL, NULL},                                                           \
	{                                                                                          \
#test " (jobs)", test, with_jobs, without_jobs, NULL                               \
	}

static int with_jobs(void **state)
{
	(void)state;
	jobs = 8;
	return 0;
}

static int without_jobs(void **state)
{
	(void)state;
	jobs = 0;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(a_query_is_answered),
		BOTH(suites_and_versions_work),
		BOTH(sessions_are_resumed_with_early_data),
		BOTH(a_session_without_early_data_is_resumed),
		BOTH(refused_early_data_go_again),
		BOTH(a_retry_is_followed),
		BOTH(no_common_version_ends_it),
		BOTH(a_lost_state_is_a_stateless_reset),
		BOTH(the_client_refuses_certificates),
		BOTH(other_protocols_are_refused_by_alert),
		BOTH(handshakes_time_out),
		BOTH(idle_connections_end),
		BOTH(the_peer_closes_by_name),
		BOTH(a_closing_connection_repeats_itself),
		BOTH(keys_are_updated),
		BOTH(large_handshakes_pass),
		cmocka_unit_test(another_address_is_no_path),
		cmocka_unit_test(jobs_come_back_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
