// SPDX-License-Identifier: BSD-3-Clause
// DHCP clients of both families as the engine sees them: counters, steps and the rows for protos[].
// Settings are in dhcp4_fields.c and dhcp6_fields.c, their use in *_setup.c and *_templates.c,
// messages in *_wire.c. The responder's rows are in dhcp4_answer.c and dhcp6_answer.c. Path: cold.
// Any thread.

#include "proto/dhcp/dhcp.h"

#include "proto/dhcp/server/dhcp4_answer.h"
#include "proto/dhcp/server/dhcp6_answer.h"
#include "proto/dhcp/v4/dhcp4_plan.h"
#include "proto/dhcp/v6/dhcp6_plan.h"

_Static_assert(DHCP_STATUS_BUCKETS == DHCP6_STATUSES + 1, "status codes");
_Static_assert((int)DHCP_BAD_BUCKETS == DHCP6_BADS, "reasons");

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

static const struct proto_step dhcp4_steps[] = {DHCP4_MESSAGES_LIST(DHCP_ROW_STEP)};
static const struct proto_step dhcp6_steps[] = {DHCP6_MESSAGES_LIST(DHCP_ROW_STEP)};
_Static_assert(DHCP4_STEPS <= PROTO_MAX_STEPS, "steps of one protocol");
_Static_assert(DHCP6_STEPS <= PROTO_MAX_STEPS, "steps of one protocol");

// Of the family dhcp4 or dhcp6, FAMILY in capitals; ack: the reply that gives a lease; key_bits_,
// cost_ns_: as in struct proto, unasked_ as in struct proto_router.
#define DHCP_PROTO(family, FAMILY, text, ack, key_bits_, cost_ns_, unasked_)                       \
	static const struct counter_section family##_counters_section = {                          \
		.name = #family,                                                                   \
		.help = text " messages and leases",                                               \
		COUNTER_ROWS(family##_rows),                                                       \
		.size = sizeof(struct dhcp_counters),                                              \
		.fault = "unwatched",                                                              \
	};                                                                                         \
                                                                                                   \
	static const struct proto_router family##_router = {                                       \
		.servers = dhcp_servers,                                                           \
		.check_server = family##_check_server,                                             \
		.layout = dhcp_layout,                                                             \
		.common_setup = dhcp_common_setup,                                                 \
		.common_teardown = dhcp_common_teardown,                                           \
		.begin = family##_begin,                                                           \
		.due = dhcp_due,                                                                   \
		.waiting = dhcp_waiting,                                                           \
		.unasked = unasked_,                                                               \
		.flow = family##_flow,                                                             \
		.request_n = family##_request_n,                                                   \
		.owns = family##_owns,                                                             \
	};                                                                                         \
                                                                                                   \
	static void family##_fit(void *settings, const struct proto_work *work)                    \
	{                                                                                          \
		dhcp_fit(&family##_family, settings, work);                                        \
	}                                                                                          \
                                                                                                   \
	static void family##_check(const void *settings, struct diag *d)                           \
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
		.clients = dhcp_followed_clients,                                                  \
		.named = dhcp_named,                                                               \
		.count = dhcp_count,                                                               \
		.happened = family##_happened,                                                     \
		.name = family##_name,                                                             \
		.identity = family##_identity,                                                     \
	};                                                                                         \
                                                                                                   \
	const struct proto family##_proto = {                                                      \
		.name = #family,                                                                   \
		.help = text " clients and relays",                                                \
		.default_port = FAMILY##_SERVER_PORT,                                              \
		.key_bits = key_bits_,                                                             \
		.steps = family##_steps,                                                           \
		.step_count = FAMILY##_STEPS,                                                      \
		.stream = true, /* the server, for lease queries */                                \
		.cost_ns = cost_ns_,                                                               \
		.settings = &family##_settings_section,                                            \
		.counters = &family##_counters_section,                                            \
		.server = &family##_server,                                                        \
		.router = &family##_router,                                                        \
		.followed = &family##_followed,                                                    \
		.extra = dhcp_extra,                                                               \
		.paces = dhcp_paces,                                                               \
		.fit = family##_fit,                                                               \
		.check = family##_check,                                                           \
		.setup = family##_setup,                                                           \
		.teardown = dhcp_teardown,                                                         \
		.input = dhcp_input,                                                               \
		.times = dhcp_times,                                                               \
		.longest = dhcp_longest,                                                           \
		.stocks = dhcp_stocks,                                                             \
		.memory = dhcp_memory,                                                             \
		.peer = dhcp_peer,                                                                 \
		.open = dhcp_open,                                                                 \
		.close = dhcp_close,                                                               \
		.request = family##_request,                                                       \
		.key = family##_key,                                                               \
		.reply = family##_reply,                                                           \
		.reason = family##_reason,                                                         \
		.timeout = family##_timeout,                                                       \
		.gives_up = family##_gives_up,                                                     \
	};

DHCP_PROTO(dhcp4, DHCP4, "DHCPv4", "ack", 32, 175, NULL)
DHCP_PROTO(dhcp6, DHCP6, "DHCPv6", "reply", DHCP6_KEY_BITS, 285, dhcp6_unasked)
