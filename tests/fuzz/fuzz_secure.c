// SPDX-License-Identifier: BSD-3-Clause
// A connection whose handshake is done, and a peer that seals anything: messages in any pieces,
// messages of handshakes, alerts, records of other types, octets that are no record, and its key
// changed when it says so. What is read is what was sent, no key goes wrong, and no block is lost.
// Path: tests only.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "crypt/keys.h"
#include "engine/core/secure.h"

#define INPUT_MAX 4096
#define SENT_MAX  65536
#define BLOCKS    64
#define ALIGN     64

// Of the first octet: suite, then these.
#define HEAD_TLS12  4
#define HEAD_BURSTS 8

// Of the first octet of a step.
enum {
	STEP_DATA,
	STEP_TICKET,
	STEP_HANDSHAKE,
	STEP_KEY_UPDATE,
	STEP_ALERT,
	STEP_OTHER,
	STEP_RAW,
	STEP_WRITE
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
	struct conns cs;
	struct secures ss;
	struct tls_counters counts;
	struct conn_owner owner;
	struct record_way peer; // its end
	struct secure_rest rest;
	uint8_t secret[KEYS_SECRET_MOST];
	uint64_t updates;
	struct record_cache *cache;
	uint8_t sent[SENT_MAX]; // as data, over all records
	uint32_t sent_len, read;
	const uint8_t *data;
	size_t size;
} run;

static void require(bool holds)
{
	if (!holds)
		abort();
}

static uint8_t next_byte(void)
{
	if (run.size == 0)
		return 0;
	run.size--;
	return *run.data++;
}

static uint32_t next_bytes(uint8_t *to, uint32_t len)
{
	uint32_t n = len < run.size ? len : (uint32_t)run.size;

	memcpy(to, run.data, n);
	run.data += n;
	run.size -= n;
	return n;
}

static void *zeroed(size_t bytes)
{
	size_t whole = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	void *p = aligned_alloc(ALIGN, whole);

	require(p);
	return memset(p, 0, whole);
}

// The connection is open, and both ends have the same key.
static void begin(uint8_t head)
{
	static const struct conns_shape shape = {.count = 1,
		.places = 1,
		.blocks = BLOCKS,
		.window = 65535,
		.syn_tries = 3,
		.tries = 3};
	static const struct secures_shape secured = {.count = 1, .live = 1, .seats = 1};
	static void *memory, *secrets;
	enum record_suite suite = (enum record_suite)(head % 4 % RECORD_SUITES);
	struct secure *s;

	if (!memory) {
		memory = zeroed(conns_bytes(&shape));
		secrets = zeroed(secures_bytes(&secured));
		run.cache = record_cache_init(zeroed(record_cache_bytes(2)), 2);
	}
	memset(memory, 0, conns_bytes(&shape));
	memset(secrets, 0, secures_bytes(&secured));
	run.counts = (struct tls_counters){0};
	conns_init(&run.cs, memory, &shape, 0, 1ull << 32);
	secures_init(&run.ss, secrets, &secured);
	run.cs.owner = &run.owner;
	run.cs.secure = &run.ss;
	run.ss.counts = &run.counts;
	run.ss.bursts = head & HEAD_BURSTS;
	run.sent_len = run.read = 0;
	run.updates = 0;
	require(conn_take(&run.cs, 0) == 0);
	tcp_open(&run.cs.host, &run.cs.all[0].tcp, 1, 1460);
	run.cs.all[0].tcp.state = TCP_ESTABLISHED;
	secure_on(&run.cs, 0);
	s = &run.ss.all[0];
	memset(run.secret, 7, sizeof(run.secret));
	run.ss.rests = &run.rest;
	for (int way = 0; way < 2; way++) {
		memcpy(s->secrets[way], run.secret, SECURE_SECRET);
		memcpy(run.rest.of[way], run.secret + SECURE_SECRET, SECURE_REST);
	}
	keys_way(&run.peer, suite, run.secret, 1);
	run.peer.tls12 = head & HEAD_TLS12;
	s->read = run.peer;
	s->write = run.peer;
	s->write.id = 2;
	s->read.flags = SECURE_ON | SECURE_BEGUN | SECURE_OPEN;
	s->write.flags = 0;
	s->read.chain = s->write.chain = TCP_NONE;
	run.ss.ids = 1000;
}

// All messages that are complete are those that were sent.
static void read_all(void)
{
	const uint8_t *message;
	uint32_t len;

	while (run.cs.all[0].tcp.state != TCP_CLOSED &&
		secure_message(&run.cs, 0, &message, &len)) {
		require(run.read + 2 + len <= run.sent_len);
		require(bytes_be16(run.sent + run.read) == len);
		require(memcmp(run.sent + run.read + 2, message, len) == 0);
		run.read += 2 + len;
	}
	run.cs.host.view_len = 0;
	while (run.updates < run.counts.key_updates) {
		run.updates++;
		keys_next((enum record_suite)run.peer.suite, run.secret);
		keys_way(&run.peer, (enum record_suite)run.peer.suite, run.secret,
			(uint32_t)(10 + run.updates));
	}
}

// Octets arrive, in pieces of `piece`.
static void arrive(const uint8_t *octets, uint32_t len, uint32_t piece)
{
	for (uint32_t at = 0; at < len && run.cs.all[0].tcp.state != TCP_CLOSED; at += piece) {
		run.cs.host.view = octets + at;
		run.cs.host.view_len = len - at < piece ? len - at : piece;
		read_all();
	}
}

static void arrive_sealed(uint8_t type, const uint8_t *content, uint32_t len, uint32_t piece)
{
	static uint8_t record[RECORD_MOST + RECORD_TRAIL_MOST];

	memcpy(record + record_lead(&run.peer), content, len);
	if (type == RECORD_DATA && run.sent_len + len <= SENT_MAX) {
		memcpy(run.sent + run.sent_len, content, len);
		run.sent_len += len;
	}
	len = record_seal(run.cache, &run.peer, type, record, len);
	arrive(record, len, piece);
}

static void step(void)
{
	uint8_t what = next_byte(), size = next_byte(), content[512] = {0};
	uint32_t piece = what >> 4 ? (uint32_t)(what >> 4) * 8 : UINT16_MAX, len = 0;

	switch (what & 7) {
	case STEP_DATA:
		len = next_bytes(content, size);
		arrive_sealed(RECORD_DATA, content, len ? len : 1, piece);
		break;
	case STEP_TICKET: // whole, or a part of it; its octets are zero
		content[0] = 4;
		content[3] = size;
		arrive_sealed(RECORD_HANDSHAKE, content, next_byte() % (size + 4) + 1, piece);
		break;
	case STEP_HANDSHAKE:
		len = next_bytes(content, size);
		arrive_sealed(RECORD_HANDSHAKE, content, len ? len : 1, piece);
		break;
	case STEP_KEY_UPDATE:
		memcpy(content, "\x18\0\0\1", 4);
		content[4] = size & 1;
		arrive_sealed(RECORD_HANDSHAKE, content, 5, piece);
		break;
	case STEP_ALERT:
		len = next_bytes(content, 2);
		arrive_sealed(RECORD_ALERT, content, len ? len : 1, piece);
		break;
	case STEP_OTHER:
		len = next_bytes(content, size % 16);
		arrive_sealed(size, content, len ? len : 1, piece);
		break;
	case STEP_RAW:
		arrive(content, next_bytes(content, size % 64), piece);
		break;
	case STEP_WRITE:
		if (tcp_is_open(&run.cs.all[0].tcp))
			secure_write(&run.cs, 0, content, size);
		secure_flush(&run.cs, 0);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct secure *s;

	if (size < 1 || size > INPUT_MAX)
		return 0;
	run.data = data + 1;
	run.size = size - 1;
	begin(data[0]);
	s = &run.ss.all[0];
	while (run.size && tcp_is_open(&run.cs.all[0].tcp) && run.sent_len < SENT_MAX - 512 &&
		!(s->read.flags & (SECURE_BROKEN | SECURE_CLOSED)))
		step();
	require(run.counts.bad_record <= 1);
	secure_forget(&run.cs, 0);
	tcp_drop(&run.cs.host, &run.cs.all[0].tcp);
	require(run.cs.host.used == 0 && s->read.flags == 0);
	for (uint32_t i = 0; i < SECURE_PARTS; i++)
		require(run.ss.parts[i].conn == CONN_NONE);
	return 0;
}
