// SPDX-License-Identifier: BSD-3-Clause
// Echo as users see it: settings, counters, set-up and the row for protos[]. Messages are in
// echo_wire.c. Path: cold. Management thread.
#include "proto/echo/echo.h"

#include <stdlib.h>
#include <string.h>

#include "net/csum.h"
#include "proto/echo/echo_internal.h"

#define SETTING(member) offsetof(struct echo_settings, member)

static const char *const test_names[] = {"rr", "stream", NULL};
static const char *const fill_names[] = {"counting", "zeros", "hex", "random", NULL};

static const struct field echo_client_fields[] = {
	TRANSPORT_ROW(SETTING(transport)),
	TRANSPORT_TCP_ROW(SETTING(transport), "the connections of transport: tcp"),
	{"test", "rr: each message has its reply; stream: messages go one way", FIELD_ENUM,
		.offset = SETTING(test), .def = "rr", .names = test_names},
	{"size", "bytes of a message, its header of 20 bytes included", FIELD_SIZE, .load = true,
		.offset = SETTING(size), .def = "64B", .min = ECHO_HEAD, .max = ECHO_MOST},
	{"reply", "bytes of a reply; another value than size needs a responder of ddiperf",
		FIELD_SIZE, .load = true, .offset = SETTING(reply), .def = "size", .word = "size",
		.min = ECHO_HEAD, .max = ECHO_MOST},
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
};

static const struct field_section echo_server_section = {"echo",
	"echo server: replies as long as the message wants, or none",
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

static const struct transport_settings *echo_transport(const void *settings)
{
	const struct echo_settings *s = settings;

	return &s->transport;
}

static void echo_check(const void *settings, struct diag *d)
{
	const struct echo_settings *s = settings;

	if (s->test == ECHO_STREAM && s->reply != UINT64_MAX)
		diag_error(d, s, "reply", "is for test: rr (messages of test: stream have none)");
	if (s->transport.tcp && s->transport.transport != TRANSPORT_TCP)
		diag_error(d, s, "tcp", "is for transport: tcp");
}

static uint32_t reply_of(const struct echo_settings *s)
{
	if (s->test == ECHO_STREAM)
		return 0;
	return (uint32_t)(s->reply == UINT64_MAX ? s->size : s->reply);
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

static void *echo_setup(const void *settings, const struct proto_env *env, struct diag *d)
{
	const struct echo_settings *s = settings;
	struct echo_plan *p = malloc(sizeof(*p));

	if (!p)
		return NULL;
	p->seed = env->seed;
	p->size = (uint32_t)s->size;
	p->reply = reply_of(s);
	p->random = s->fill == ECHO_RANDOM;
	for (uint32_t i = 0; i < sizeof(p->fill); i++)
		p->fill[i] = fill_byte((enum echo_fill)s->fill, env->seed, i);
	p->fill_sum = p->random ? 0 : csum_add(0, p->fill, p->size - ECHO_HEAD);
	return p;
}

static uint32_t echo_longest(const void *shared)
{
	const struct echo_plan *p = shared;

	return p->size;
}

static void echo_server_check(
	const void *settings, const void *const *items, uint32_t count, struct diag *d)
{
	const struct echo_server_settings *s = settings;

	for (uint32_t i = 0; i < count; i++) {
		const struct echo_settings *item = items[i];

		if (item->transport.transport == TRANSPORT_UDP && reply_of(item) > s->longest)
			diag_error(d, s, "longest",
				"is %llu bytes, but an item wants replies of %u (give it at least "
				"that)",
				(unsigned long long)s->longest, reply_of(item));
	}
}

static void *echo_server_setup(const void *settings, const struct proto_env *env, struct diag *d)
{
	const struct echo_server_settings *s = settings;
	struct echo_server_plan *p = malloc(sizeof(*p));

	if (p)
		*p = (struct echo_server_plan){(uint32_t)s->longest};
	return p;
}

static uint32_t echo_server_longest(const void *shared)
{
	const struct echo_server_plan *p = shared;

	return p->longest;
}

static const struct proto_server echo_server = {
	.settings = &echo_server_section,
	.counters = &echo_server_counters,
	.check = echo_server_check,
	.setup = echo_server_setup,
	.teardown = free,
	.longest = echo_server_longest,
	.answer = echo_answer,
	.faults = echo_faults,
};

const struct proto echo_proto = {
	.name = "echo",
	.help = "messages to an echo or discard server, over UDP or TCP",
	.default_port = 7,
	.key_bits = 32,
	.step_count = 1,
	.stream = true,
	.one_way = true,
	.harmless = true,
	.cost_ns = 85,
	.settings = &echo_client_section,
	.counters = &echo_client_counters,
	.server = &echo_server,
	.transport = echo_transport,
	.framed = echo_framed,
	.check = echo_check,
	.setup = echo_setup,
	.teardown = free,
	.longest = echo_longest,
	.request = echo_request,
	.key = echo_key,
	.reply = echo_reply,
	.timeout = echo_timeout,
};
