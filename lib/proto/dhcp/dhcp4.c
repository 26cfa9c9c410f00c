// SPDX-License-Identifier: BSD-3-Clause
// DHCPv4 clients as the engine sees them: counters, steps and the row for protos[]. Settings are in
// dhcp4_fields.c, their use in dhcp4_setup.c and dhcp4_templates.c; messages sent in
// dhcp4_request_wire.c, checks of replies in dhcp4_wire.c. The responder's rows are in
// dhcp4_answer.c. Path: cold. Any thread.

#include "proto/dhcp/dhcp.h"

#include "proto/dhcp/server/dhcp4_answer.h"
#include "proto/dhcp/v4/dhcp4_plan.h"

static const char *dhcp4_type_label(uint32_t i)
{
	const char *name = dhcp4_type_name(i);

	if (i == 0)
		return "none";
	return name ? name : "other";
}

#define OFFSET(member) offsetof(struct dhcp4_counters, member)
static const struct counter dhcp4_rows[] = {DHCP4_COUNTERS(
	DHCP_COUNTER_ROW, DHCP_COUNTER_ARRAY_ROW, COUNTER_MEMBER_ROW, COUNTER_ARRAY_ROW)};
#undef OFFSET

static const struct counter_section dhcp4_counters_section = {
	.name = "dhcp4",
	.help = "DHCPv4 messages and leases",
	COUNTER_ROWS(dhcp4_rows),
	.size = sizeof(struct dhcp4_counters),
};

static const struct proto_step steps[DHCP4_STEPS] = {
	[DHCP4_STEP_DISCOVER] = {"discover-offer"},
	[DHCP4_STEP_REQUEST] = {"request-ack"},
	[DHCP4_STEP_RAPID] = {"discover-ack"},
	[DHCP4_STEP_RENEW] = {"renew-ack"},
	[DHCP4_STEP_REBIND] = {"rebind-ack"},
	[DHCP4_STEP_REBOOT] = {"reboot-ack"},
	[DHCP4_STEP_INFORM] = {"inform-ack"},
	[DHCP4_STEP_RELEASE] = {"release"},
	[DHCP4_STEP_DECLINE] = {"decline"},
	[DHCP4_STEP_LEASEQUERY] = {"leasequery"},
};

_Static_assert(DHCP4_STEPS <= PROTO_MAX_STEPS, "steps of one protocol");

static const struct proto_router dhcp4_router = {
	.check_server = dhcp4_check_server,
	.layout = dhcp_layout,
	.common_setup = dhcp_common_setup,
	.common_teardown = dhcp_common_teardown,
	.begin = dhcp4_begin,
	.flow = dhcp4_flow,
	.owns = dhcp4_owns,
};

const struct proto dhcp4_proto = {
	.name = "dhcp4",
	.help = "DHCPv4 clients and relays",
	.default_port = DHCP4_SERVER_PORT,
	.key_bits = 32,
	.steps = steps,
	.step_count = DHCP4_STEPS,
	.cost_ns = 175,
	.settings = &dhcp4_settings_section,
	.counters = &dhcp4_counters_section,
	.server = &dhcp4_server,
	.router = &dhcp4_router,
	.check = dhcp4_check,
	.setup = dhcp4_setup,
	.teardown = dhcp_teardown,
	.memory = dhcp_memory,
	.open = dhcp_open,
	.close = dhcp_close,
	.request = dhcp4_request,
	.key = dhcp4_key,
	.reply = dhcp4_reply,
	.timeout = dhcp4_timeout,
};
