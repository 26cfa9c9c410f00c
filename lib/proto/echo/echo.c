// SPDX-License-Identifier: BSD-3-Clause
// Echo as users see it: settings, counters, set-up and the row for protos[]. Messages are in
// echo_wire.c. Path: cold. Management thread.
#include "proto/echo/echo.h"

#include <stdlib.h>
#include <string.h>

#include "net/csum.h"
#include "proto/echo/echo_internal.h"

#define SETTING(member) offsetof(struct echo_settings, member)

static const char *const test_names[] = {"rr", "stream", "connect", NULL};
static const char *const fill_names[] = {"counting", "zeros", "hex", "random", NULL};

static const struct field echo_client_fields[] = {
	TRANSPORT_ROW(SETTING(transport), transport_names),
	TRANSPORT_TCP_ROW(SETTING(transport), "the connections of transport: tcp"),
	{"test",
		"rr: each message has its reply; stream: messages go one way; connect: connections "
		"are opened and closed, without a message",
		FIELD_ENUM, .offset = SETTING(test), .def = "rr", .names = test_names},
	{"size", "bytes of a message, its header of 20 bytes included, if it is that long",
		FIELD_SIZE, .offset = SETTING(size), .def = "64B", .min = 1, .max = ECHO_MOST},
	{"reply", "bytes of a reply; another value than size needs a responder of ddiperf",
		FIELD_SIZE, .offset = SETTING(reply), .def = "size", .word = "size", .min = 1,
		.max = ECHO_MOST},
	{"fill",
		"bytes behind the header: 00 01 02 ..., zeros, the text 0123456789abcdef..., or "
		"random ones",
		FIELD_ENUM, .offset = SETTING(fill), .def = "counting", .names = fill_names},
};

static const struct field_section echo_client_section = {"echo",
	"messages to an echo or discard server, over UDP or TCP", FIELD_ROWS(echo_client_fields),
	sizeof(struct echo_settings)};

static const struct field echo_server_fields[] = {
	{"longest", "longest reply in a datagram; above the mtu it leaves in fragments", FIELD_SIZE,
		.offset = offsetof(struct echo_server_settings, longest), .def = "1400B",
		.min = ECHO_HEAD, .max = ECHO_MOST},
	{"request",
		"bytes of each message over a connection, for messages below 20 bytes, which have "
		"no header",
		FIELD_SIZE, .offset = offsetof(struct echo_server_settings, request), .def = "any",
		.word = "any", .min = 1, .max = ECHO_MOST},
	{"reply", "bytes of the reply to a message without a header; 0: none", FIELD_SIZE,
		.offset = offsetof(struct echo_server_settings, reply), .def = "same",
		.word = "same", .min = 0, .max = ECHO_MOST},
};

static const struct field_section echo_server_section = {"echo",
	"echo server: replies as long as the message asks for, or none",
	FIELD_ROWS(echo_server_fields), sizeof(struct echo_server_settings)};

#define OFFSET(member) offsetof(struct echo_counters, member)
static const struct counter echo_client_rows[] = {ECHO_COUNTERS(COUNTER_MEMBER_ROW)};
#undef OFFSET

#define OFFSET(member) offsetof(struct echo_server_counters, member)
static const struct counter echo_server_rows[] = {ECHO_SERVER_COUNTERS(COUNTER_MEMBER_ROW)};
#undef OFFSET

static const struct counter_section echo_client_counters = {
	"echo", "echo messages", COUNTER_ROWS(echo_client_rows), sizeof(struct echo_counters)};

static const struct counter_section echo_server_counters = {"echo", "echo messages received",
	COUNTER_ROWS(echo_server_rows), sizeof(struct echo_server_counters)};

static void echo_check(const void *settings, const struct proto_env *env, struct diag *d)
{
	const struct echo_settings *s = settings;

	if (s->test != ECHO_RR && s->reply != UINT64_MAX)
		diag_error(d, s, "reply", "is for test: rr (messages of test: %s have none)",
			test_names[s->test]);
	if (s->transport.tcp && s->transport.transport != TRANSPORT_TCP)
		diag_error(d, s, "tcp", "is for transport: tcp");
	if (s->test == ECHO_CONNECT &&
		!(s->transport.transport == TRANSPORT_TCP && s->transport.tcp &&
			s->transport.tcp->queries_per_connection == 1))
		diag_error(d, s, "test",
			"connect needs transport: tcp, tcp: {queries_per_connection: 1}");
}

static uint32_t reply_of(const struct echo_settings *s)
{
	if (s->test != ECHO_RR)
		return 0;
	return (uint32_t)(s->reply == UINT64_MAX ? s->size : s->reply);
}

// Bytes in front of the fill. Both directions carry the key, although it is unused in messages
// without a reply.
static uint32_t head_of(const struct echo_settings *s)
{
	uint64_t least = s->test == ECHO_RR && reply_of(s) < s->size ? reply_of(s) : s->size;

	if (least >= ECHO_HEAD)
		return ECHO_HEAD;
	return least < ECHO_KEY_MOST ? (uint32_t)least : ECHO_KEY_MOST;
}

static uint8_t fill_byte(enum echo_fill fill, uint64_t seed, uint32_t i)
{
	switch (fill) {
	case ECHO_COUNTING:
		return (uint8_t)i;
	case ECHO_ZEROS:
		return 0;
	case ECHO_HEX:
		return (uint8_t) "0123456789abcdef"[i % 16];
	case ECHO_RANDOM:
		return (uint8_t)(rand_hash(seed + i / 8) >> 8 * (i % 8));
	}
	return 0;
}

static void *echo_setup(const void *settings, const struct proto_env *env,
	struct proto_facts *facts, struct diag *d)
{
	const struct echo_settings *s = settings;
	struct echo_plan *p = malloc(sizeof(*p));

	if (!p)
		return NULL;
	p->seed = env->seed;
	p->size = (uint32_t)s->size;
	p->reply = reply_of(s);
	p->head = head_of(s);
	p->random = s->fill == ECHO_RANDOM;
	for (uint32_t i = 0; i < sizeof(p->fill); i++)
		p->fill[i] = fill_byte((enum echo_fill)s->fill, env->seed, i);
	p->fill_sum = p->random ? 0 : csum_add(0, p->fill, p->size - p->head);
	facts->harmless = true;
	facts->silent = true;
	facts->connects = s->test == ECHO_CONNECT;
	facts->longest = p->size;
	facts->fixed = p->head == ECHO_HEAD ? 0 : p->reply;
	return p;
}

// Check an item without a header: the responder knows its lengths only from its own settings.
static void check_bare(
	const struct echo_server_settings *s, const struct echo_settings *item, struct diag *d)
{
	bool tcp = item->transport.transport == TRANSPORT_TCP;
	uint32_t size = (uint32_t)item->size, reply = reply_of(item);

	if (tcp && item->test == ECHO_RR && s->request != size)
		diag_error(d, s, "request",
			"an item has messages of %u bytes, without a header (request: %uB)", size,
			size);
	if (reply != (s->reply == UINT64_MAX ? item->size : s->reply))
		diag_error(d, s, "reply",
			"an item without a header needs replies of %u bytes (reply: %uB)", reply,
			reply);
}

static void echo_server_check(
	const void *settings, const void *const *items, uint32_t count, struct diag *d)
{
	const struct echo_server_settings *s = settings;

	for (uint32_t i = 0; i < count; i++) {
		const struct echo_settings *item = items[i];

		if (item->transport.transport == TRANSPORT_UDP && reply_of(item) > s->longest)
			diag_error(d, s, "longest",
				"is %llu bytes, but an item needs replies of %u (set at least "
				"that)",
				(unsigned long long)s->longest, reply_of(item));
		if (item->test != ECHO_CONNECT && head_of(item) != ECHO_HEAD)
			check_bare(s, item, d);
	}
}

static void *echo_server_setup(const void *settings, const struct proto_env *env,
	struct proto_facts *facts, struct diag *d)
{
	const struct echo_server_settings *s = settings;
	struct echo_server_plan *p = malloc(sizeof(*p));

	if (p)
		*p = (struct echo_server_plan){(uint32_t)s->longest, s->reply};
	facts->longest = (uint32_t)s->longest;
	facts->fixed = s->request == UINT64_MAX ? 0 : (uint32_t)s->request;
	return p;
}

static const struct proto_server echo_server = {
	.settings = &echo_server_section,
	.counters = &echo_server_counters,
	.stream = true,
	.check = echo_server_check,
	.setup = echo_server_setup,
	.teardown = free,
	.answer = echo_answer,
	.faults = echo_faults,
};

static void echo_terms(void *settings, struct proto_terms *out);

// The rows differ in the key and in the reply function.
#define ECHO_PROTO(bits, key_, reply_)                                                             \
	{                                                                                          \
		.name = "echo", .help = "messages to an echo or discard server, over UDP or TCP",  \
		.ports = &(const struct proto_ports){.plain = 7}, .key_bits = (bits),              \
		.cost_ns = 85, .settings = &echo_client_section,                                   \
		.counters = &echo_client_counters, .server = &echo_server, .terms = echo_terms,    \
		.check = echo_check, .setup = echo_setup, .teardown = free,                        \
		.request = echo_request, .framed = echo_framed, .key = (key_), .reply = (reply_),  \
		.timeout = echo_timeout,                                                           \
	}

static const struct proto connect_row = ECHO_PROTO(32, echo_key, echo_connected);
// Rows without a header, indexed by the bytes of the key.
static const struct proto bare_rows[ECHO_KEY_MOST] = {ECHO_PROTO(8, echo_key_1, echo_reply),
	ECHO_PROTO(16, echo_key_2, echo_reply), ECHO_PROTO(24, echo_key_3, echo_reply),
	ECHO_PROTO(32, echo_key_4, echo_reply)};

static void echo_terms(void *settings, struct proto_terms *out)
{
	const struct echo_settings *s = settings;

	out->transport = &s->transport;
	if (s->test == ECHO_CONNECT)
		out->row = &connect_row;
	else if (s->test == ECHO_RR && head_of(s) != ECHO_HEAD)
		out->row = &bare_rows[head_of(s) - 1];
}

const struct proto echo_proto = ECHO_PROTO(32, echo_key, echo_reply);
