// SPDX-License-Identifier: BSD-3-Clause
// DHCPv6 clients as the engine sees them: counters, steps and the row for protos[]. Settings are in
// dhcp6_fields.c, their use in dhcp6_setup.c and dhcp6_templates.c; messages sent in
// dhcp6_request_wire.c, checks of replies in dhcp6_wire.c and dhcp6_checks_wire.c. The responder's
// rows are in dhcp6_answer.c. Path: cold. Any thread.

#include "proto/dhcp/dhcp.h"

#include "proto/dhcp/server/dhcp6_answer.h"
#include "proto/dhcp/v6/dhcp6_plan.h"

static const char *dhcp6_type_label(uint32_t i)
{
	const char *name = dhcp6_type_name(i);

	if (i == 0)
		return "RESERVED";
	return name ? name : "other";
}

static const char *dhcp6_status_label(uint32_t i)
{
	const char *name = dhcp6_status_name(i);

	return name ? name : "other";
}

#define OFFSET(member) offsetof(struct dhcp6_counters, member)
static const struct counter dhcp6_rows[] = {DHCP6_COUNTERS(
	DHCP_COUNTER_ROW, DHCP_COUNTER_ARRAY_ROW, COUNTER_MEMBER_ROW, COUNTER_ARRAY_ROW)};
#undef OFFSET

static const struct counter_section dhcp6_counters_section = {
	.name = "dhcp6",
	.help = "DHCPv6 messages and leases",
	COUNTER_ROWS(dhcp6_rows),
	.size = sizeof(struct dhcp6_counters),
};

static const struct proto_step steps[DHCP6_STEPS] = {
	[DHCP6_STEP_SOLICIT] = {"solicit-advertise"},
	[DHCP6_STEP_REQUEST] = {"request-reply"},
	[DHCP6_STEP_RAPID] = {"solicit-reply"},
	[DHCP6_STEP_RENEW] = {"renew-reply"},
	[DHCP6_STEP_REBIND] = {"rebind-reply"},
	[DHCP6_STEP_RELEASE] = {"release-reply"},
	[DHCP6_STEP_DECLINE] = {"decline-reply"},
	[DHCP6_STEP_CONFIRM] = {"confirm-reply"},
	[DHCP6_STEP_INFORMATION] = {"information-reply"},
};

_Static_assert(DHCP6_STEPS <= PROTO_MAX_STEPS, "steps of one protocol");

static const struct proto_router dhcp6_router = {
	.check_server = dhcp6_check_server,
	.layout = dhcp_layout,
	.common_setup = dhcp_common_setup,
	.common_teardown = dhcp_common_teardown,
	.begin = dhcp6_begin,
	.flow = dhcp6_flow,
	.owns = dhcp6_owns,
};

const struct proto dhcp6_proto = {
	.name = "dhcp6",
	.help = "DHCPv6 clients and relays",
	.default_port = DHCP6_SERVER_PORT,
	.key_bits = DHCP6_KEY_BITS,
	.steps = steps,
	.step_count = DHCP6_STEPS,
	.cost_ns = 285,
	.settings = &dhcp6_settings_section,
	.counters = &dhcp6_counters_section,
	.server = &dhcp6_server,
	.router = &dhcp6_router,
	.check = dhcp6_check,
	.setup = dhcp6_setup,
	.teardown = dhcp_teardown,
	.memory = dhcp_memory,
	.open = dhcp_open,
	.close = dhcp_close,
	.request = dhcp6_request,
	.key = dhcp6_key,
	.reply = dhcp6_reply,
	.timeout = dhcp6_timeout,
};
