// SPDX-License-Identifier: BSD-3-Clause
// DHCP clients of both families as the engine sees them: counters, steps and the rows for protos[].
// Settings are in dhcp4_fields.c and dhcp6_fields.c, their use in *_setup.c and *_templates.c,
// messages in *_wire.c. The responder's rows are in dhcp4_answer.c and dhcp6_answer.c. Path: cold.
// Any thread.

#include "proto/dhcp/dhcp.h"

#include "proto/dhcp/client/dhcp_client_setup.h"
#include "proto/dhcp/client/dhcp_fields.h"
#include "proto/dhcp/client/dhcp_supply.h"
#include "proto/dhcp/server/dhcp4_answer.h"
#include "proto/dhcp/server/dhcp6_answer.h"
#include "proto/dhcp/v4/dhcp4_plan.h"
#include "proto/dhcp/v6/dhcp6_plan.h"
#include "proto/dhcp/v6/dhcp6_reconfigure.h"

_Static_assert(DHCP_STATUS_BUCKETS == DHCP6_STATUSES + 1, "status codes");
_Static_assert((int)DHCP_BAD_BUCKETS == DHCP6_BADS, "reasons");

static const char *dhcp4_wrong_label(uint32_t i)
{
	static const char *const labels[] = {DHCP4_WRONGS(DHCP_WRONG_LABEL)};

	return labels[i];
}

static const char *dhcp6_wrong_label(uint32_t i)
{
	static const char *const labels[] = {DHCP6_WRONGS(DHCP_WRONG_LABEL)};

	return labels[i];
}

#define OFFSET(member)                              offsetof(struct dhcp_counters, member)
#define ROW4(member, help4, help6)                  COUNTER_MEMBER_ROW(member, help4)
#define ROW6(member, help4, help6)                  COUNTER_MEMBER_ROW(member, help6)
#define ARRAY4(member, length, label, help4, help6) COUNTER_ARRAY_ROW(member, length, label, help4)
#define ARRAY6(member, length, label, help4, help6) COUNTER_ARRAY_ROW(member, length, label, help6)

#define DHCP_TYPE_LABEL dhcp4_type_label
#define DHCP_WRONG_NAME dhcp4_wrong_label
static const struct counter dhcp4_rows[] = {DHCP_COUNTERS(COUNTER_MEMBER_ROW, ROW4,
	COUNTER_ARRAY_ROW, ARRAY4, COUNTER_MEMBER_ROW, DHCP_NO_ROW, DHCP_NO_ROW, DHCP_NO_ROW)};
#undef DHCP_TYPE_LABEL
#undef DHCP_WRONG_NAME
#define DHCP_TYPE_LABEL dhcp6_type_label
#define DHCP_WRONG_NAME dhcp6_wrong_label
static const struct counter dhcp6_rows[] = {
	DHCP_COUNTERS(COUNTER_MEMBER_ROW, ROW6, COUNTER_ARRAY_ROW, ARRAY6, DHCP_NO_ROW,
		COUNTER_MEMBER_ROW, COUNTER_ARRAY_ROW, COUNTER_MEMBER_ROW)};

static const char *const dhcp4_steps[DHCP4_STEPS + 1] = {DHCP4_MESSAGES_LIST(DHCP_ROW_STEP)};
static const char *const dhcp6_steps[DHCP6_STEPS + 1] = {DHCP6_MESSAGES_LIST(DHCP_ROW_STEP)};
_Static_assert(DHCP4_STEPS <= PROTO_MAX_STEPS, "steps of one protocol");
_Static_assert(DHCP6_STEPS <= PROTO_MAX_STEPS, "steps of one protocol");

static void *facts_add(struct dhcp_plan *p, const struct proto_env *env, struct proto_facts *facts)
{
	if (p && dhcp_facts(p, env, facts))
		return p;
	dhcp_teardown(p);
	return NULL;
}

// Defines the row of the family dhcp4 or dhcp6, FAMILY in capitals. ack: the reply that grants a
// lease; key_bits_, cost_ns_: as in struct proto; unasked_: as in struct proto_router.
#define DHCP_PROTO(family, FAMILY, addr_len, text, ack, key_bits_, cost_ns_, unasked_)             \
	static const struct counter_section family##_counters_section = {                          \
		.name = #family,                                                                   \
		.help = text " messages and leases",                                               \
		COUNTER_ROWS(family##_rows),                                                       \
		.size = sizeof(struct dhcp_counters),                                              \
		.fault = "unwatched",                                                              \
	};                                                                                         \
                                                                                                   \
	static const struct proto_router family##_router = {                                       \
		.unasked = unasked_, .owns = family##_owns};                                       \
                                                                                                   \
	static void family##_fit(void *settings, const struct proto_work *work)                    \
	{                                                                                          \
		dhcp_fit(&family##_family, settings, work);                                        \
	}                                                                                          \
                                                                                                   \
	static void family##_check(                                                                \
		const void *settings, const struct proto_env *env, struct diag *d)                 \
	{                                                                                          \
		dhcp_check(&family##_family, settings, d);                                         \
	}                                                                                          \
                                                                                                   \
	static void *family##_setup(                                                               \
		const void *settings, const struct proto_env *env, struct diag *d)                 \
	{                                                                                          \
		return dhcp_setup(&family##_family, settings, env, d);                             \
	}                                                                                          \
                                                                                                   \
	static const struct proto_followed family##_followed = {                                   \
		.names = {[PROTO_LEASED] = ack, [PROTO_RELEASED] = "release"},                     \
		.happened = family##_happened,                                                     \
		.name = family##_name,                                                             \
		.identity = family##_identity,                                                     \
	};                                                                                         \
                                                                                                   \
	static void family##_terms(void *settings, struct proto_terms *out)                        \
	{                                                                                          \
		dhcp_terms(settings, out);                                                         \
		out->server_len = addr_len;                                                        \
		out->no_server = family##_no_server(settings);                                     \
	}                                                                                          \
                                                                                                   \
	static void *family##_facts(const void *settings, const struct proto_env *env,             \
		struct proto_facts *facts, struct diag *d)                                         \
	{                                                                                          \
		return facts_add(family##_setup(settings, env, d), env, facts);                    \
	}                                                                                          \
                                                                                                   \
	const struct proto family##_proto = {                                                      \
		.name = #family,                                                                   \
		.help = text " clients and relays",                                                \
		.ports = &(const struct proto_ports){.plain = FAMILY##_SERVER_PORT},               \
		.key_bits = key_bits_,                                                             \
		.steps = family##_steps,                                                           \
		.cost_ns = cost_ns_,                                                               \
		.settings = &family##_settings_section,                                            \
		.counters = &family##_counters_section,                                            \
		.server = &family##_server,                                                        \
		.router = &family##_router,                                                        \
		.followed = &family##_followed,                                                    \
		.terms = family##_terms,                                                           \
		.fit = family##_fit,                                                               \
		.check = family##_check,                                                           \
		.setup = family##_facts,                                                           \
		.teardown = dhcp_teardown,                                                         \
		.open = dhcp_open,                                                                 \
		.close = dhcp_close,                                                               \
		.begin = family##_begin,                                                           \
		.due = dhcp_due,                                                                   \
		.waiting = dhcp_waiting,                                                           \
		.request = family##_request,                                                       \
		.key = family##_key,                                                               \
		.key_place = FAMILY##_KEY_PLACE,                                                   \
		.reply = family##_reply,                                                           \
		.reason = family##_reason,                                                         \
		.timeout = family##_timeout,                                                       \
		.gives_up = family##_gives_up,                                                     \
		.peer = dhcp_peer,                                                                 \
	};

#define DHCP4_KEY_PLACE                                                                            \
	{                                                                                          \
		.least = DHCP4_HEADER_LEN, .mask = 0xffu << 24, .mark = DHCP4_REPLY_OP << 24,      \
		.at = DHCP4_AT_XID                                                                 \
	}
#define DHCP6_KEY_PLACE                                                                            \
	{                                                                                          \
		0                                                                                  \
	}

DHCP_PROTO(dhcp4, DHCP4, 4, "DHCPv4", "ack", 32, 175, NULL)
DHCP_PROTO(dhcp6, DHCP6, 16, "DHCPv6", "reply", DHCP6_KEY_BITS, 285, dhcp6_unasked)
