// SPDX-License-Identifier: BSD-3-Clause
// Handshakes of both ends with each other: what each learns, what is refused and by which alert,
// and that the records of record.h continue where GnuTLS stops.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "crypt/certificate.h"
#include "crypt/hand.h"
#include "crypt_text.h"

#define WIRE          (1 << 16)
#define DAY_S         86400
#define TLS12         "NORMAL:-VERS-ALL:+VERS-TLS1.2:-CIPHER-ALL:"
#define TLS13         "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:"
#define EACH(i, list) (unsigned i = 0; i < sizeof(list) / sizeof(*(list)); i++)

static struct certificate authority, good;

static struct certificate made(struct certificate_wanted wanted)
{
	struct certificate c;
	const char *wrong = NULL;

	if (certificate_make(&wanted, &c, &wrong) < 0)
		fail_msg("%s", wrong);
	return c;
}

static int make_certificates(void **state)
{
	(void)state;
	authority = made((struct certificate_wanted){.name = "authority", .authority = true});
	good = made((struct certificate_wanted){.name = "dns.example", .signer = &authority});
	return 0;
}

static int free_certificates(void **state)
{
	(void)state;
	certificate_free(&authority);
	certificate_free(&good);
	return 0;
}

static struct hand_setup *setup_of(struct hand_settings s)
{
	const char *wrong = NULL;
	struct hand_setup *setup = hand_setup_new(&s, &wrong);

	if (!setup)
		fail_msg("%s", wrong);
	return setup;
}

static struct hand_settings server_settings(void)
{
	return (struct hand_settings){.server = true,
		.alpn = "dot",
		.certificate = good.certificate,
		.key = good.key,
		.tickets = true};
}

static struct hand_settings client_settings(void)
{
	return (struct hand_settings){.alpn = "dot",
		.name = "dns.example",
		.verify = TLS_VERIFY_CHAIN,
		.authorities = authority.certificate};
}

// Two ends, and what was sent to each and not yet taken.
struct pair {
	struct hand_setup *setups[2];
	struct hand *ends[2]; // client, server
	enum hand_state states[2];
	uint8_t wire[2][WIRE];
	size_t len[2];
	size_t most; // octets that are handed over at a time
};

static void send_to(struct pair *p, unsigned end, const uint8_t *octets, size_t len)
{
	assert_true(p->len[end] + len <= WIRE);
	if (len)
		memcpy(p->wire[end] + p->len[end], octets, len);
	p->len[end] += len;
}

static void take(struct pair *p, unsigned end, size_t len)
{
	p->len[end] -= len;
	memmove(p->wire[end], p->wire[end] + len, p->len[end]);
}

static void step(struct pair *p, unsigned end)
{
	size_t len = p->len[end] < p->most ? p->len[end] : p->most, taken;
	const uint8_t *out;

	p->states[end] = hand_step(p->ends[end], p->wire[end], len, &taken);
	take(p, end, taken);
	out = hand_output(p->ends[end], &len);
	send_to(p, !end, out, len);
}

static void shake(struct pair *p)
{
	for (unsigned i = 0; i < 20000; i++) {
		unsigned end = i % 2;

		if (p->states[end] == HAND_RUNNING && (i < 2 || p->len[end]))
			step(p, end);
	}
}

static struct pair *pair_of(struct hand_settings client, struct hand_settings server,
	const uint8_t *session, size_t session_len)
{
	struct pair *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->most = WIRE;
	p->setups[0] = setup_of(client);
	p->setups[1] = setup_of(server);
	p->ends[0] = hand_begin(p->setups[0], session, session_len);
	p->ends[1] = hand_begin(p->setups[1], NULL, 0);
	assert_true(p->ends[0] && p->ends[1]);
	return p;
}

static void pair_free(struct pair *p)
{
	for
		EACH(i, p->ends)
		{
			hand_free(p->ends[i]);
			hand_setup_free(p->setups[i]);
		}
	free(p);
}

// Opens the first record that was sent to an end.
static struct record_opened open_first(
	struct pair *p, unsigned end, struct record_cache *c, struct record_way *way)
{
	static uint8_t record[RECORD_MOST];
	struct record_opened out = {0};
	uint32_t len = record_whole(p->wire[end], (uint32_t)p->len[end]);

	assert_true(len && len <= p->len[end]);
	memcpy(record, p->wire[end], len);
	take(p, end, len);
	assert_int_equal(record_open(c, way, record, len, &out), RECORD_OK);
	return out;
}

static void seal_to(struct pair *p, unsigned end, struct record_cache *c, struct record_way *way,
	uint8_t type, const void *data, uint32_t len)
{
	uint8_t record[512];

	memcpy(record + record_lead(way), data, len);
	send_to(p, end, record, record_seal(c, way, type, record, len));
}

// After both handshakes a query and an answer pass; the tickets in front of the answer are skipped.
static void talk(struct pair *p)
{
	struct record_cache *c = cache_of(8);
	struct record_way ways[2][2];
	struct record_opened out;

	for
		EACH(end, p->ends)
		{
			ways[end][0] = hand_facts(p->ends[end])->read;
			ways[end][1] = hand_facts(p->ends[end])->write;
			ways[end][0].id = 2 * end + 1;
			ways[end][1].id = 2 * end + 2;
		}
	seal_to(p, 1, c, &ways[0][1], RECORD_DATA, "query", 5);
	out = open_first(p, 1, c, &ways[1][0]);
	assert_int_equal(out.type, RECORD_DATA);
	assert_memory_equal(out.content, "query", 5);
	seal_to(p, 0, c, &ways[1][1], RECORD_DATA, "answer", 6);
	do
		out = open_first(p, 0, c, &ways[0][0]);
	while (out.type == RECORD_HANDSHAKE);
	assert_int_equal(out.type, RECORD_DATA);
	assert_memory_equal(out.content, "answer", 6);
	free(c);
}

static void both_ends_agree_and_continue(void **state)
{
	static const struct {
		const char *priorities;
		enum record_suite suite;
		uint32_t group; // index into tls_group_names
	} rows[] = {
		{TLS13 "+AES-128-GCM:-GROUP-ALL:+GROUP-X25519", RECORD_AES_128_GCM, 0},
		{TLS13 "+AES-256-GCM:-GROUP-ALL:+GROUP-SECP256R1", RECORD_AES_256_GCM, 1},
		{TLS13 "+CHACHA20-POLY1305:-GROUP-ALL:+GROUP-SECP384R1", RECORD_CHACHA20_POLY1305,
			2},
		{TLS12 "+AES-128-GCM:-GROUP-ALL:+GROUP-X25519", RECORD_AES_128_GCM, 0},
		{TLS12 "+AES-256-GCM:-GROUP-ALL:+GROUP-SECP256R1", RECORD_AES_256_GCM, 1},
		{TLS12 "+CHACHA20-POLY1305:-GROUP-ALL:+GROUP-X25519", RECORD_CHACHA20_POLY1305, 0},
	};
	static const size_t most[] = {WIRE, 1, 100};

	(void)state;
	for
		EACH(i, rows)
		for
			EACH(k, most)
			{
				struct hand_settings client = client_settings();
				struct pair *p;

				client.priorities = rows[i].priorities;
				p = pair_of(client, server_settings(), NULL, 0);
				p->most = most[k];
				shake(p);
			for
				EACH(end, p->ends)
				{
					const struct hand_facts *f = hand_facts(p->ends[end]);

					assert_int_equal(p->states[end], HAND_DONE);
					assert_int_equal(f->suite, rows[i].suite);
					assert_int_equal(f->group, rows[i].group);
					assert_int_equal(f->tls12, i >= 3);
					assert_false(f->resumed);
					assert_string_equal(f->alpn, "dot");
				}
			assert_int_equal(hand_facts(p->ends[0])->certificates, 1);
			assert_in_range(hand_facts(p->ends[0])->octets_of_them, 300, 700);
			talk(p);
			pair_free(p);
			}
}

// Secrets lead to the same keys as those that GnuTLS uses.
static void the_secrets_are_those_of_the_keys(void **state)
{
	struct pair *p = pair_of(client_settings(), server_settings(), NULL, 0);

	(void)state;
	shake(p);
	for
		EACH(end, p->ends)
		{
			const struct hand_facts *f = hand_facts(p->ends[end]);
			struct record_way read, write;

			assert_int_equal(p->states[end], HAND_DONE);
			keys_way(&read, f->suite, f->read_secret, 0);
			keys_way(&write, f->suite, f->write_secret, 0);
			assert_memory_equal(read.key, f->read.key, sizeof(read.key));
			assert_memory_equal(write.key, f->write.key, sizeof(write.key));
			assert_memory_equal(write.iv, f->write.iv, sizeof(write.iv));
		}
	pair_free(p);
}

// Replaces the server, which is then one that knows its tickets.
static void serve_by(struct pair *p, const struct hand_setup *server)
{
	hand_free(p->ends[1]);
	p->ends[1] = hand_begin(server, NULL, 0);
	assert_non_null(p->ends[1]);
}

// Takes the tickets that were sent to the client. Returns the session of the first one.
static uint8_t *ticket_take(struct pair *p, size_t *session_len)
{
	uint8_t *session = NULL;

	while (!session) {
		uint32_t len = record_whole(p->wire[0], (uint32_t)p->len[0]);
		bool done;

		assert_in_range(len, RECORD_HEADER, p->len[0]);
		done = hand_ticket(p->ends[0], p->wire[0], len);
		take(p, 0, len);
		if (done)
			session = hand_session(p->ends[0], session_len);
		assert_int_equal(session != NULL, done);
	}
	return session;
}

static void resume(const char *priorities, bool tls12)
{
	struct hand_settings client = client_settings();
	struct hand_setup *server = setup_of(server_settings());
	struct record_cache *c = cache_of(2);
	struct pair *p;
	uint8_t *session;
	size_t session_len = 0;

	client.priorities = priorities;
	p = pair_of(client, server_settings(), NULL, 0);
	serve_by(p, server);
	shake(p);
	assert_int_equal(p->states[0], HAND_DONE);
	session = hand_session(p->ends[0], &session_len);
	assert_int_equal(session != NULL, tls12);
	if (!session)
		session = ticket_take(p, &session_len);
	assert_int_equal(hand_early_most(p->ends[0]), 0);
	pair_free(p);

	p = pair_of(client, server_settings(), session, session_len);
	serve_by(p, server);
	shake(p);
	for
		EACH(end, p->ends)
		{
			assert_int_equal(p->states[end], HAND_DONE);
			assert_true(hand_facts(p->ends[end])->resumed);
		}
	talk(p);
	pair_free(p);

	// A server that does not know the ticket makes a whole handshake.
	p = pair_of(client, server_settings(), session, session_len);
	shake(p);
	assert_int_equal(p->states[0], HAND_DONE);
	assert_false(hand_facts(p->ends[0])->resumed);
	talk(p);
	pair_free(p);
	free(session);
	free(c);
	hand_setup_free(server);
}

static void sessions_are_resumed(void **state)
{
	(void)state;
	resume(TLS13 "+AES-128-GCM", false);
	resume(TLS12 "+AES-128-GCM", true);
}

// A server of these settings meets early data with a ticket of another one, which accepts them.
static void offer_early(struct hand_settings client, struct hand_settings second, size_t len,
	size_t most, bool taken)
{
	static uint8_t early[20000];
	struct hand_settings first = server_settings();
	struct hand_setup *server;
	const uint8_t *got;
	uint8_t *session;
	size_t session_len, got_len;
	struct pair *p;

	first.early = client.early = true;
	server = setup_of(first);
	p = pair_of(client, server_settings(), NULL, 0);
	serve_by(p, server);
	shake(p);
	session = ticket_take(p, &session_len);
	assert_int_equal(hand_early_most(p->ends[0]), 16384);
	pair_free(p);

	memset(early, 'q', len);
	second.keys = second.keys ? server : NULL;
	p = pair_of(client, second, session, session_len);
	assert_int_equal(hand_early(p->ends[0], early, len), len <= 16384);
	p->most = most;
	shake(p);
	for
		EACH(end, p->ends)
		{
			assert_int_equal(p->states[end], HAND_DONE);
			assert_int_equal(hand_facts(p->ends[end])->early, taken);
			assert_int_equal(hand_facts(p->ends[end])->resumed, second.keys != NULL);
		}
	got = hand_early_taken(p->ends[1], &got_len);
	assert_int_equal(got_len, taken ? len : 0);
	if (taken)
		assert_memory_equal(got, early, len);
	assert_null(hand_early_taken(p->ends[0], &got_len));
	talk(p);
	pair_free(p);
	free(session);
	hand_setup_free(server);
}

// Other keys seal early data: `talk` proves those of the messages after it.
static void early_data_are_taken_or_not(void **state)
{
	static const char *const ciphers[] = {
		TLS13 "+AES-128-GCM", TLS13 "+AES-256-GCM", TLS13 "+CHACHA20-POLY1305"};
	static const struct hand_setup *const same = (const struct hand_setup *)&ciphers;
	struct hand_settings client = client_settings(), server = server_settings();

	(void)state;
	for
		EACH(i, ciphers)
		{
			client.priorities = ciphers[i];
			server.keys = same;
			server.early = true;
			offer_early(client, server, 40, WIRE, true);
			offer_early(client, server, 16384, 100, true);
			offer_early(client, server, 16385, WIRE, false); // none are offered
			server.early = false;
			offer_early(client, server, 40, WIRE, false);
			offer_early(client, server, 16000, 100, false);
			server.keys = NULL; // the ticket is of an unknown key
			offer_early(client, server, 40, WIRE, false);
			server.early = true;
			offer_early(client, server, 40, WIRE, false);
		}
}

// GnuTLS could not carry on if the server asked for another group again.
static void no_early_data_follow_a_retry(void **state)
{
	struct hand_settings client = client_settings(), server = server_settings();
	size_t session_len;
	struct pair *p;

	(void)state;
	client.early = server.early = true;
	client.priorities = TLS13 "+AES-128-GCM:-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1";
	server.priorities = TLS13 "+AES-128-GCM:-GROUP-ALL:+GROUP-SECP256R1";
	p = pair_of(client, server, NULL, 0);
	shake(p);
	free(ticket_take(p, &session_len));
	assert_true(hand_facts(p->ends[0])->hello_retry);
	assert_int_equal(hand_early_most(p->ends[0]), 0);
	pair_free(p);
}

static void certificates_are_refused_by_name(void **state)
{
	static const struct {
		struct certificate_wanted wanted;
		bool unknown; // not signed by the authority
		enum hand_refusal refusal;
	} rows[] = {
		{{.name = "dns.example", .from_s = -2 * DAY_S, .until_s = -DAY_S}, false,
			HAND_EXPIRED},
		{{.name = "dns.example", .from_s = DAY_S, .until_s = 2 * DAY_S}, false,
			HAND_NOT_YET},
		{{.name = "other.example"}, false, HAND_WRONG_NAME},
		{{.name = "dns.example"}, true, HAND_UNTRUSTED},
		{{.name = "dns.example", .kind = CERTIFICATE_RSA_2048}, false, HAND_ACCEPTED},
		{{.name = "dns.example", .padding = 20000}, false, HAND_ACCEPTED},
	};

	(void)state;
	for
		EACH(i, rows)
		{
			struct certificate_wanted wanted = rows[i].wanted;
			struct hand_settings server = server_settings(), client = client_settings();
			struct certificate c;

			wanted.signer = rows[i].unknown ? NULL : &authority;
			c = made(wanted);
			server.certificate = c.certificate;
			server.key = c.key;
			for (unsigned verify = 0; verify < 2; verify++) {
				bool refused = verify && rows[i].refusal != HAND_ACCEPTED;
				const struct hand_facts *facts;
				struct pair *p;

				client.verify = verify ? TLS_VERIFY_CHAIN : TLS_VERIFY_NONE;
				p = pair_of(client, server, NULL, 0);
				shake(p);
				facts = hand_facts(p->ends[0]);
				assert_int_equal(p->states[0], refused ? HAND_FAILED : HAND_DONE);
				assert_int_equal(
					facts->refused, verify ? rows[i].refusal : HAND_ACCEPTED);
				assert_int_equal(facts->alert_sent >= 0, refused);
				// The server hears of it.
				assert_int_equal(
					hand_facts(p->ends[1])->alert_received, facts->alert_sent);
				pair_free(p);
			}
			certificate_free(&c);
		}
}

static void a_pin_is_of_the_key(void **state)
{
	struct hand_settings client = client_settings();
	uint8_t pins[2][TLS_PIN_LEN] = {{0}};
	struct pair *p;

	(void)state;
	client.verify = TLS_VERIFY_PIN;
	client.pins = (const uint8_t(*)[TLS_PIN_LEN])pins;
	client.pin_count = 1;
	p = pair_of(client, server_settings(), NULL, 0);
	shake(p);
	assert_int_equal(p->states[0], HAND_FAILED);
	assert_int_equal(hand_facts(p->ends[0])->refused, HAND_WRONG_PIN);
	pair_free(p);
	certificate_pin(&good, pins[1]);
	client.pin_count = 2;
	p = pair_of(client, server_settings(), NULL, 0);
	shake(p);
	assert_int_equal(p->states[0], HAND_DONE);
	pair_free(p);
}

static void what_both_ends_cannot_do_is_an_alert(void **state)
{
	static const struct {
		const char *client, *server, *alpn;
		int alert;
	} rows[] = {
		{TLS13 "+AES-128-GCM", TLS13 "+AES-256-GCM", "dot", 40}, // handshake_failure
		{TLS13 "+AES-128-GCM", TLS12 "+AES-128-GCM", "dot", 40},
		{TLS13 "+AES-128-GCM", TLS13 "+AES-128-GCM", "other",
			120}, // no_application_protocol
	};

	(void)state;
	for
		EACH(i, rows)
		{
			struct hand_settings client = client_settings(), server = server_settings();
			struct pair *p;

			client.priorities = rows[i].client;
			client.alpn = rows[i].alpn;
			server.priorities = rows[i].server;
			p = pair_of(client, server, NULL, 0);
			shake(p);
			assert_int_equal(p->states[0], HAND_FAILED);
			assert_int_equal(p->states[1], HAND_FAILED);
			assert_int_equal(hand_facts(p->ends[1])->alert_sent, rows[i].alert);
			assert_int_equal(hand_facts(p->ends[0])->alert_received, rows[i].alert);
			assert_non_null(hand_facts(p->ends[0])->wrong);
			pair_free(p);
		}
}

static void garbage_fails(void **state)
{
	static const char *const wrong[] = {"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
		"\x16\x03\x03\x00\x04\x02\x00"
		"\x00\x00"};

	(void)state;
	for
		EACH(i, wrong)
		{
			struct pair *p = pair_of(client_settings(), server_settings(), NULL, 0);

			step(p, 0);
			assert_int_equal(p->states[0], HAND_RUNNING);
			send_to(p, 0, (const uint8_t *)wrong[i], i ? 9 : strlen(wrong[i]));
			step(p, 0);
			assert_int_equal(p->states[0], HAND_FAILED);
			assert_true(hand_facts(p->ends[0])->alert_sent > 0);
			// Nothing more is taken.
			send_to(p, 0, (const uint8_t *)"x", 1);
			p->most = 1;
			step(p, 0);
			assert_int_equal(p->states[0], HAND_FAILED);
			pair_free(p);
		}
}

static void wrong_settings_are_refused(void **state)
{
	const struct hand_settings rows[] = {
		{.priorities = "NORMAL:+NOTHING"},
		{.certificate = "no PEM", .key = "no PEM"},
		{.verify = TLS_VERIFY_CHAIN, .authorities = "no PEM"},
	};

	(void)state;
	for
		EACH(i, rows)
		{
			const char *wrong = NULL;

			assert_null(hand_setup_new(&rows[i], &wrong));
			assert_non_null(wrong);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ends_agree_and_continue),
		cmocka_unit_test(the_secrets_are_those_of_the_keys),
		cmocka_unit_test(sessions_are_resumed),
		cmocka_unit_test(early_data_are_taken_or_not),
		cmocka_unit_test(no_early_data_follow_a_retry),
		cmocka_unit_test(certificates_are_refused_by_name),
		cmocka_unit_test(a_pin_is_of_the_key),
		cmocka_unit_test(what_both_ends_cannot_do_is_an_alert),
		cmocka_unit_test(garbage_fails),
		cmocka_unit_test(wrong_settings_are_refused),
	};

	return cmocka_run_group_tests(tests, make_certificates, free_certificates);
}
