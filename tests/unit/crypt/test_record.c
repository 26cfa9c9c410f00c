// SPDX-License-Identifier: BSD-3-Clause
// Records against GnuTLS: two sessions of it shake hands in memory, the keys of one end are taken
// out, and from then on its records are ours. Both versions, each suite, each length.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <gnutls/gnutls.h>

#include "base/bytes.h"
#include "crypt/certificate.h"
#include "crypt/keys.h"
#include "crypt_text.h"

#define WIRE (1 << 18)

// One direction of the wire.
struct wire {
	uint8_t octets[WIRE];
	size_t from, to;
};

struct end {
	gnutls_session_t session;
	struct wire *in, *out;
};

static ssize_t push(gnutls_transport_ptr_t at, const void *data, size_t len)
{
	struct wire *w = ((struct end *)at)->out;

	assert_true(w->to + len <= WIRE);
	memcpy(w->octets + w->to, data, len);
	w->to += len;
	return (ssize_t)len;
}

static ssize_t pull(gnutls_transport_ptr_t at, void *data, size_t room)
{
	struct end *e = at;
	struct wire *w = e->in;
	size_t len = w->to - w->from < room ? w->to - w->from : room;

	if (len == 0) {
		gnutls_transport_set_errno(e->session, EAGAIN);
		return -1;
	}
	memcpy(data, w->octets + w->from, len);
	w->from += len;
	return (ssize_t)len;
}

static const struct suite {
	const char *name;
	enum record_suite suite;
} suites[] = {
	{"AES-128-GCM", RECORD_AES_128_GCM},
	{"AES-256-GCM", RECORD_AES_256_GCM},
	{"CHACHA20-POLY1305", RECORD_CHACHA20_POLY1305},
};

struct pair {
	struct end client, server;
	struct wire up, down;
	gnutls_certificate_credentials_t credentials; // of both: the client does not verify
};

static gnutls_certificate_credentials_t credentials_make(void)
{
	struct certificate made;
	gnutls_certificate_credentials_t c;
	gnutls_datum_t crt, key;
	const char *wrong;

	assert_int_equal(
		certificate_make(&(struct certificate_wanted){.name = "x"}, &made, &wrong), 0);
	crt = (gnutls_datum_t){(uint8_t *)made.certificate, (unsigned)strlen(made.certificate)};
	key = (gnutls_datum_t){(uint8_t *)made.key, (unsigned)strlen(made.key)};
	gnutls_certificate_allocate_credentials(&c);
	assert_int_equal(
		gnutls_certificate_set_x509_key_mem(c, &crt, &key, GNUTLS_X509_FMT_PEM), 0);
	certificate_free(&made);
	return c;
}

static uint8_t client_secret[KEYS_SECRET_MOST];

static int secret_seen(gnutls_session_t session, const char *label, const gnutls_datum_t *secret)
{
	(void)session;
	if (strcmp(label, "CLIENT_TRAFFIC_SECRET_0") == 0)
		memcpy(client_secret, secret->data, secret->size);
	return 0;
}

static void end_begin(struct end *e, unsigned flags, const char *priorities, void *credentials)
{
	assert_int_equal(gnutls_init(&e->session, flags | GNUTLS_NONBLOCK), 0);
	assert_int_equal(gnutls_priority_set_direct(e->session, priorities, NULL), 0);
	assert_int_equal(
		gnutls_credentials_set(e->session, GNUTLS_CRD_CERTIFICATE, credentials), 0);
	gnutls_transport_set_ptr(e->session, e);
	gnutls_transport_set_push_function(e->session, push);
	gnutls_session_set_keylog_function(e->session, secret_seen);
	gnutls_transport_set_pull_function(e->session, pull);
}

static struct pair *pair_open(const struct suite *s, bool tls12)
{
	struct pair *p = calloc(1, sizeof(*p));
	char priorities[128];
	int a = GNUTLS_E_AGAIN, b = GNUTLS_E_AGAIN;

	assert_non_null(p);
	snprintf(priorities, sizeof(priorities), "NORMAL:-VERS-ALL:+VERS-TLS1.%u:-CIPHER-ALL:+%s",
		tls12 ? 2 : 3, s->name);
	p->credentials = credentials_make();
	p->client.in = p->server.out = &p->down;
	p->client.out = p->server.in = &p->up;
	end_begin(&p->client, GNUTLS_CLIENT, priorities, p->credentials);
	end_begin(&p->server, GNUTLS_SERVER | GNUTLS_NO_TICKETS, priorities, p->credentials);
	for (unsigned i = 0; i < 20 && (a || b); i++) {
		a = a ? gnutls_handshake(p->client.session) : 0;
		b = b ? gnutls_handshake(p->server.session) : 0;
	}
	assert_int_equal(a, 0);
	assert_int_equal(b, 0);
	return p;
}

static void pair_close(struct pair *p)
{
	gnutls_deinit(p->client.session);
	gnutls_deinit(p->server.session);
	gnutls_certificate_free_credentials(p->credentials);
	free(p);
}

static struct record_way way_of(
	const struct pair *p, bool read, const struct suite *s, bool tls12, uint32_t id)
{
	gnutls_datum_t mac, iv, key;
	unsigned char seq[8];
	struct record_way w = {.suite = (uint8_t)s->suite, .tls12 = tls12, .id = id};

	assert_int_equal(gnutls_record_get_state(p->client.session, read, &mac, &iv, &key, seq), 0);
	assert_true(iv.size <= sizeof(w.iv) && key.size <= sizeof(w.key));
	memcpy(w.iv, iv.data, iv.size);
	memcpy(w.key, key.data, key.size);
	w.seq = bytes_be64(seq);
	return w;
}

static void fill(uint8_t *at, uint32_t len, uint32_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		at[i] = (uint8_t)(seed * 31 + i * 7 + (i >> 8));
}

static void as_client_of(const struct suite *s, bool tls12)
{
	static const uint32_t lens[] = {1, 2, 15, 16, 17, 54, 120, 1081, 16383, RECORD_CONTENT, 3};
	static uint8_t record[RECORD_MOST + 32], expected[RECORD_CONTENT], got[RECORD_CONTENT];
	struct pair *p = pair_open(s, tls12);
	struct record_cache *cache = cache_of(2);
	struct record_way up = way_of(p, false, s, tls12, 1), down = way_of(p, true, s, tls12, 2);

	for (unsigned i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		struct record_opened out;
		uint32_t len = lens[i], total;

		fill(expected, len, i);
		memcpy(record + record_lead(&up), expected, len);
		total = record_seal(cache, &up, RECORD_DATA, record, len);
		assert_int_equal(record_whole(record, total), total);
		assert_true(total - len <= RECORD_LEAD_MOST + RECORD_TRAIL_MOST);
		push(&p->client, record, total);
		assert_int_equal(gnutls_record_recv(p->server.session, got, sizeof(got)), len);
		assert_memory_equal(got, expected, len);

		assert_int_equal(gnutls_record_send(p->server.session, expected, len), len);
		total = record_whole(p->down.octets + p->down.from, RECORD_HEADER);
		assert_int_equal(total, p->down.to - p->down.from);
		memcpy(record, p->down.octets + p->down.from, total);
		p->down.from = p->down.to;
		assert_int_equal(record_open(cache, &down, record, total, &out), RECORD_OK);
		assert_int_equal(out.type, RECORD_DATA);
		assert_int_equal(out.len, len);
		assert_memory_equal(out.content, expected, len);
		p->up.from = p->up.to = p->down.from = p->down.to = 0;
	}
	assert_int_equal(record_cache_expansions(cache), 2);
	record[record_lead(&up)] = 1;     // warning
	record[record_lead(&up) + 1] = 0; // close_notify
	push(&p->client, record, record_seal(cache, &up, RECORD_ALERT, record, 2));
	assert_int_equal(gnutls_record_recv(p->server.session, got, sizeof(got)), 0);
	free(cache);
	pair_close(p);
}

static void gnutls_reads_and_writes_the_same(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(suites) / sizeof(*suites); i++) {
		as_client_of(&suites[i], false);
		as_client_of(&suites[i], true);
	}
}

// After a KeyUpdate of ours GnuTLS reads with the next key, and not with the one before.
static void gnutls_follows_a_key_update(void **state)
{
	static const uint8_t update[] = {24, 0, 0, 1, 0}; // update_not_requested

	(void)state;
	for (unsigned i = 0; i < sizeof(suites) / sizeof(*suites); i++) {
		struct pair *p = pair_open(&suites[i], false);
		struct record_cache *cache = cache_of(2);
		struct record_way way = way_of(p, false, &suites[i], false, 1);
		uint8_t record[64], got[16];
		ssize_t len;

		memcpy(record + RECORD_HEADER, update, sizeof(update));
		push(&p->client, record,
			record_seal(cache, &way, RECORD_HANDSHAKE, record, sizeof(update)));
		keys_next(suites[i].suite, client_secret);
		keys_way(&way, suites[i].suite, client_secret, 2);
		memcpy(record + RECORD_HEADER, "query", 5);
		push(&p->client, record, record_seal(cache, &way, RECORD_DATA, record, 5));
		do
			len = gnutls_record_recv(p->server.session, got, sizeof(got));
		while (len == GNUTLS_E_AGAIN && p->up.from < p->up.to);
		assert_int_equal(len, 5);
		assert_memory_equal(got, "query", 5);
		free(cache);
		pair_close(p);
	}
}

static struct record_way some_way(bool tls12)
{
	return (struct record_way){.key = {1}, .iv = {2}, .tls12 = tls12, .id = 1};
}

static void wrong_records_are_errors(void **state)
{
	struct record_cache *cache = cache_of(1);
	uint8_t record[64], sealed[64];
	struct record_opened out;

	(void)state;
	for (unsigned tls12 = 0; tls12 < 2; tls12++) {
		struct record_way way = some_way(tls12), w;
		uint32_t len;

		memset(sealed, 5, sizeof(sealed));
		len = record_seal(cache, &way, RECORD_DATA, sealed, 9);
		for (uint32_t bit = 0; bit < len * 8; bit++) {
			w = some_way(tls12);
			memcpy(record, sealed, len);
			record[bit / 8] ^= (uint8_t)(1u << (bit & 7));
			// The length of TLS 1.2 is in front of what is protected.
			if (tls12 && bit / 8 >= 3 && bit / 8 < RECORD_HEADER)
				continue;
			assert_int_not_equal(record_open(cache, &w, record, len, &out), RECORD_OK);
			assert_int_equal(w.seq, 0);
		}
		for (uint32_t cut = 0; cut < len; cut++) {
			w = some_way(tls12);
			memcpy(record, sealed, len);
			assert_int_not_equal(record_open(cache, &w, record, cut, &out), RECORD_OK);
		}
		w = some_way(tls12);
		w.seq = 1; // a record that is missing, or comes again
		memcpy(record, sealed, len);
		assert_int_equal(record_open(cache, &w, record, len, &out), RECORD_BAD_MAC);
	}
	free(cache);
}

static void padding_is_taken_off_and_content_is_required(void **state)
{
	struct record_cache *cache = cache_of(1);
	struct record_way seal = some_way(false), open = seal;
	uint8_t record[64] = {0};
	struct record_opened out;
	uint32_t len;

	(void)state;
	// As if the type were the last zero of the padding: "ab", data, 3 zeros.
	memcpy(record + RECORD_HEADER, "ab\x17\0\0", 5);
	len = record_seal(cache, &seal, 0, record, 5);
	assert_int_equal(record_open(cache, &open, record, len, &out), RECORD_OK);
	assert_int_equal(out.len, 2);
	assert_int_equal(out.type, RECORD_DATA);
	memset(record, 0, sizeof(record));
	len = record_seal(cache, &seal, 0, record, 5);
	assert_int_equal(record_open(cache, &open, record, len, &out), RECORD_UNEXPECTED);
	record[0] = RECORD_ALERT;
	assert_int_equal(record_open(cache, &open, record, len, &out), RECORD_UNEXPECTED);
	free(cache);
}

static void lengths(void **state)
{
	uint8_t header[RECORD_HEADER] = {RECORD_DATA, 3, 3, 0x41, 0x00};

	(void)state;
	assert_int_equal(record_whole(header, RECORD_HEADER - 1), 0);
	assert_int_equal(record_whole(header, RECORD_HEADER), RECORD_MOST);
	header[4] = 1;
	assert_int_equal(record_whole(header, RECORD_HEADER), UINT32_MAX);
}

// Ways that share an entry of the cache expand their key again, and stay right.
static void a_small_cache_is_only_slower(void **state)
{
	struct record_cache *cache = cache_of(2);
	struct record_way seal[4], open[4];
	uint8_t record[64];
	struct record_opened out;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		seal[i] = (struct record_way){
			.key = {(uint8_t)i}, .suite = (uint8_t)(i % RECORD_SUITES), .id = i + 1};
		open[i] = seal[i];
	}
	for (unsigned round = 0; round < 3; round++)
		for (unsigned i = 0; i < 4; i++) {
			memset(record, (int)i, sizeof(record));
			assert_int_equal(
				record_open(cache, &open[i], record,
					record_seal(cache, &seal[i], RECORD_DATA, record, 10),
					&out),
				RECORD_OK);
			assert_int_equal(out.content[9], i);
		}
	assert_int_equal(record_cache_expansions(cache), 12);
	free(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gnutls_reads_and_writes_the_same),
		cmocka_unit_test(gnutls_follows_a_key_update),
		cmocka_unit_test(wrong_records_are_errors),
		cmocka_unit_test(padding_is_taken_off_and_content_is_required),
		cmocka_unit_test(lengths),
		cmocka_unit_test(a_small_cache_is_only_slower),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
