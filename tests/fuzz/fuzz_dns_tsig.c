// SPDX-License-Identifier: BSD-3-Clause
// Signed messages from anyone: the first byte says if the rest is a reply to a signed request, a
// request to the responder, a file of keys, or messages of a signed transfer. Nobody without the
// secret is believed, and what the responder signs is a well-formed message. Path: tests only.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/dns/dns.h"
#include "lib/one_message.h"
#include "proto/dns/server/dns_answers.h"
#include "base/bytes.h"
#include "proto/dns/client/dns_tsig_file.h"

#define NOW 1700000000000ull

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct ends {
	struct proto_ctx asks, answers, transfers;
	struct dns_counters asked;
	struct dns_answer_counters answered;
	uint8_t request[512];
	uint32_t request_len;
	struct proto_txn t;
};

static struct ends *ends_new(void)
{
	static struct ends e;
	char path[] = "/tmp/fuzz-tsig-XXXXXX";
	int fd = mkstemp(path);
	const char *name = "www.example.com A";
	struct dns_key_settings key = {
		.secret_file = path, .name = "key.example", .fudge_ns = 300000000000};
	const struct dns_settings s = {.names = {&name, 1}, .rd = true, .key = &key};
	const struct dns_answers_settings a = {.ttl_ns = 60000000000,
		.address = {4, {192, 0, 2, 1}},
		.address6 = {16, {0x20, 1, 0xd, 0xb8}},
		.text = "ddiperf",
		.keys = {&key, 1}};
	const char *zone = "example.com";
	const struct dns_settings x = {.transfers = {&zone, 1}, .key = &key};
	const struct proto_env env = {.seed = 1, .workers = 1, .clients = 1, .addr_len = 4};
	struct diag *d = diag_new();

	if (fd < 0 || write(fd, "AAECAwQFBgcICQoLDA0ODw==", 24) != 24)
		abort();
	close(fd);
	e.asks.shared = dns_setup(&s, &env, &(struct proto_facts){0}, d);
	e.answers.shared = dns_answers_setup(&a, &env, &(struct proto_facts){0}, d);
	e.transfers.shared = dns_setup(&x, &env, &(struct proto_facts){0}, d);
	unlink(path);
	if (!e.asks.shared || !e.answers.shared || !e.transfers.shared ||
		dns_open(&e.asks, &env) < 0 || dns_open(&e.transfers, &env) < 0 ||
		dns_answers_open(&e.answers, &env) < 0)
		abort();
	diag_free(d);
	e.asks.counters = e.transfers.counters = &e.asked;
	e.transfers.stream = true;
	e.transfers.began_ms = NOW;
	e.answers.counters = &e.answered;
	e.asks.began_ms = e.answers.began_ms = NOW;
	e.t.key = 0x1234;
	e.request_len = proto_request(&dns_proto, &e.asks, &e.t, e.request, sizeof(e.request));
	return &e;
}

// No answer that counts as right can be made without the secret.
static void reply(struct ends *e, const uint8_t *buf, uint32_t len)
{
	uint64_t before = e->asked.tsig_verified;
	enum proto_verdict v = judge_one(&dns_proto, &e->asks, &e->t, buf, len);

	if (e->asked.tsig_verified != before)
		abort();
	if (v == PROTO_DONE && (buf[3] & 15) != DNS_FORMERR && (buf[3] & 15) != DNS_NOTIMP &&
		(buf[3] & 15) != DNS_REFUSED)
		abort();
}

// Messages, each behind a length of two bytes: no transfer comes to its end.
static void transfer(struct ends *e, const uint8_t *data, size_t size)
{
	static uint64_t seq;
	struct reader r = reader_of(data, size);
	struct proto_txn t = {.key = 0x1234, .seq = seq++};
	uint64_t before = e->asked.tsig_verified;
	enum proto_verdict v = PROTO_KEPT;
	uint8_t question[512];

	if (proto_request(&dns_proto, &e->transfers, &t, question, sizeof(question)) == 0)
		abort();
	while (v != PROTO_DONE && v != PROTO_FAIL && reader_left(&r) > 0) {
		uint32_t len = read_be16(&r);
		const uint8_t *at = read_bytes(&r, len);
		uint8_t *exact;

		if (!at)
			break;
		exact = malloc(len ? len : 1);
		if (!exact)
			abort();
		memcpy(exact, at, len);
		v = judge_one(&dns_proto, &e->transfers, &t, exact, len);
		free(exact);
	}
	if (v == PROTO_DONE || e->asked.tsig_verified != before || e->asked.transfers)
		abort();
	dns_timeout(&e->transfers, &t);
}

static void request(struct ends *e, const uint8_t *buf, uint32_t len)
{
	uint64_t before = e->answered.tsig_verified;
	uint8_t *out = malloc(1500);
	uint32_t n = dns_answer(&e->answers, buf, len, out, 1500), question = 0;
	struct dns_message m;

	if (n > 1500 || e->answered.tsig_verified != before)
		abort();
	if (n && bytes_be16(out + 4) == 1)
		question = dns_question_len(out, n);
	if (n && (!dns_message_walk(out, n, DNS_HEADER_LEN + question, &m) || m.left))
		abort();
	free(out);
}

static void key_file(const char *text, size_t len)
{
	struct dns_tsig_secret secret;
	const char *reason;

	for (int named = 0; named < 2; named++)
		if (dns_tsig_file_parse(text, len, named ? "k" : NULL, &secret, &reason) &&
			(secret.len == 0 || secret.len > sizeof(secret.bytes)))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ends *e;
	uint8_t *exact;

	if (!e)
		e = ends_new();
	if (size < 2 || size > 65535)
		return 0;
	exact = malloc(size - 1);
	if (!exact)
		return 0;
	memcpy(exact, data + 1, size - 1);
	switch (data[0] & 3) {
	case 0:
		reply(e, exact, (uint32_t)size - 1);
		break;
	case 1:
		request(e, exact, (uint32_t)size - 1);
		break;
	case 2:
		key_file((const char *)exact, size - 1);
		break;
	case 3:
		transfer(e, exact, size - 1);
		break;
	}
	free(exact);
	return 0;
}
