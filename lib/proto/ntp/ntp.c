// SPDX-License-Identifier: BSD-3-Clause
// NTP as users see it: settings, counters, set-up and the row for protos[]. Messages are in
// ntp_wire.c. docs/protocols.md explains this file as an example. Path: cold. Management thread.
#include "proto/ntp/ntp.h"

#include <stdlib.h>

#include "proto/ntp/ntp_internal.h"

static const struct field ntp_client_fields[] = {
	{"version", "NTP version of the requests", FIELD_COUNT,
		.offset = offsetof(struct ntp_settings, version), .def = "4", .min = 1, .max = 4},
	{"poll", "poll interval that the requests announce, as power of two in seconds",
		FIELD_COUNT, .offset = offsetof(struct ntp_settings, poll), .def = "6", .min = 3,
		.max = 17},
};

static const struct field_section ntp_client_section = {
	"ntp", "NTP client requests", FIELD_ROWS(ntp_client_fields), sizeof(struct ntp_settings)};

static const struct field ntp_server_fields[] = {
	{"stratum", "stratum of the replies; 16: not synchronised", FIELD_COUNT,
		.offset = offsetof(struct ntp_server_settings, stratum), .def = "2", .min = 1,
		.max = NTP_STRATUM_NO},
};

static const struct field_section ntp_server_section = {
	"ntp", "NTP server", FIELD_ROWS(ntp_server_fields), sizeof(struct ntp_server_settings)};

const char *ntp_stratum_label(uint32_t i)
{
	static const char *const labels[NTP_STRATA] = {"0", "1", "2", "3", "4", "5", "6", "7", "8",
		"9", "10", "11", "12", "13", "14", "15", "16+"};

	return labels[i];
}

const char *ntp_leap_label(uint32_t i)
{
	static const char *const labels[NTP_LEAPS] = {"none", "61_seconds", "59_seconds", "alarm"};

	return labels[i];
}

const char *ntp_kiss_label(uint32_t i)
{
	static const char *const labels[NTP_KISSES] = {"RATE", "DENY", "RSTR", "other"};

	return labels[i];
}

#define OFFSET(member) offsetof(struct ntp_counters, member)
static const struct counter ntp_client_rows[] = {
	NTP_COUNTERS(COUNTER_MEMBER_ROW, COUNTER_ARRAY_ROW)};
#undef OFFSET

#define OFFSET(member) offsetof(struct ntp_server_counters, member)
static const struct counter ntp_server_rows[] = {
	NTP_SERVER_COUNTERS(COUNTER_MEMBER_ROW, COUNTER_ARRAY_ROW)};
#undef OFFSET

static const struct counter_section ntp_client_counters = {
	"ntp", "NTP replies", COUNTER_ROWS(ntp_client_rows), sizeof(struct ntp_counters)};

static const struct counter_section ntp_server_counters = {"ntp", "NTP requests answered",
	COUNTER_ROWS(ntp_server_rows), sizeof(struct ntp_server_counters)};

static void *ntp_client_setup(const void *settings, const struct proto_env *env,
	struct proto_facts *facts, struct diag *d)
{
	const struct ntp_settings *s = settings;
	struct ntp_plan *p = malloc(sizeof(*p));

	if (p)
		*p = (struct ntp_plan){env->seed, (uint8_t)s->version, (uint8_t)s->poll};
	facts->harmless = true; // its messages change nothing on the server
	return p;
}

static void *ntp_server_setup(const void *settings, const struct proto_env *env,
	struct proto_facts *facts, struct diag *d)
{
	const struct ntp_server_settings *s = settings;
	struct ntp_server_plan *p = malloc(sizeof(*p));

	if (p)
		*p = (struct ntp_server_plan){(uint8_t)s->stratum};
	facts->timed = true;
	return p;
}

static const struct proto_server ntp_server = {
	.settings = &ntp_server_section,
	.counters = &ntp_server_counters,
	.setup = ntp_server_setup,
	.teardown = free,
	.answer = ntp_answer,
	.faults = ntp_faults,
};

const struct proto ntp_proto = {
	.name = "ntp",
	.help = "NTP client requests over UDP",
	.ports = &(const struct proto_ports){.plain = 123},
	.key_bits = 32,
	.cost_ns = 85, // like DNS: 1 112 instructions of the worker against 1 133
	.settings = &ntp_client_section,
	.counters = &ntp_client_counters,
	.server = &ntp_server,
	.setup = ntp_client_setup,
	.teardown = free,
	.request = ntp_request,
	.key = ntp_key,
	.key_place = {.least = NTP_LEN, .mask = 7u << 24, .mark = 4u << 24, .at = 28},
	.reply = ntp_reply,
	.timeout = ntp_timeout,
};
