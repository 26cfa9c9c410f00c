// SPDX-License-Identifier: BSD-3-Clause
// The DHCPv6 server under any messages (fuzz_dhcp_server.h). Path: tests only.

#include "proto/dhcp/server/dhcp6_answer.h"

#define FAMILY(name)          dhcp6_##name
#define ROOM                  1500
#define GIVING_BACK_IS_SILENT false

#include "fuzz_dhcp_server.h"

static struct dhcp6_answers_settings server_settings(void)
{
	static const struct addr_range pool = {{16, {0x20, 1, [15] = 0x10}}, 3};
	static const struct addr_prefix prefixes = {{16, {0x20, 2}}, 54};
	static struct dhcp6_calls_settings calls = {.after_ns = 1000000000, .bad_every = 2};

	return (struct dhcp6_answers_settings){
		.common = {.pool = {(void *)&pool, 1},
			.prefixes = {(void *)&prefixes, 1},
			.prefix_length = 56,
			.clients = 3,
			.lease_ns = 100000000000,
			.preferred_ns = UINT64_MAX,
			.t1_ns = UINT64_MAX,
			.t2_ns = UINT64_MAX,
			.domain = "example.com",
			.rapid = true,
			.authoritative = true,
			.address_twice = 3,
			.prefix_twice = 2},
		.leasequery = true,
		.reconfigure = &calls,
		.preference = 255,
		.sol_max_rt_ns = 3600000000000,
	};
}

static void check_parses(const uint8_t *out, uint32_t len)
{
	static struct dhcp6_envelope e;
	static struct dhcp6_message m;

	if (len > ROOM || !dhcp6_unwrap(out, len, &e) || !dhcp6_parse(e.inner, e.inner_len, &m) ||
		(m.type != DHCP6_ADVERTISE && m.type != DHCP6_REPLY &&
			m.type != DHCP6_LEASEQUERY_REPLY && m.type != DHCP6_LEASEQUERY_DATA &&
			m.type != DHCP6_LEASEQUERY_DONE && m.type != DHCP6_RECONFIGURE))
		abort();
}

static void check_answers(
	const uint8_t *request, uint32_t request_len, const uint8_t *out, uint32_t len)
{
	uint32_t asked, answered;

	if (!dhcp6_xid(request, request_len, DHCP6_RELAY_FORW, &asked) ||
		!dhcp6_xid(out, len, DHCP6_RELAY_REPL, &answered) || asked != answered)
		abort();
}
