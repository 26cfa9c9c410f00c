// SPDX-License-Identifier: BSD-3-Clause
// The DHCPv4 server under any messages (fuzz_dhcp_server.h). Path: tests only.

#include "proto/dhcp/server/dhcp4_answer.h"

#define FAMILY(name)          dhcp4_##name
#define ROOM                  700
#define GIVING_BACK_IS_SILENT true

#include "fuzz_dhcp_server.h"

static struct dhcp4_answers_settings server_settings(void)
{
	static const struct addr_range pool = {{4, {198, 18, 64, 16}}, 3};

	return (struct dhcp4_answers_settings){
		.common = {.pool = {(void *)&pool, 1},
			.clients = UINT64_MAX,
			.lease_ns = 100000000000,
			.t1_ns = UINT64_MAX,
			.t2_ns = UINT64_MAX,
			.domain = "example.com",
			.rapid = true,
			.address_twice = 3},
		.server_id = {4, {198, 18, 0, 2}},
	};
}

static void check_parses(const uint8_t *out, uint32_t len)
{
	static struct dhcp4_scratch scratch;
	struct dhcp4_message m;

	if (len > ROOM || !dhcp4_parse(out, len, &scratch, &m) || m.op != DHCP4_REPLY_OP ||
		!m.has_end || m.type == 0)
		abort();
}

static void check_answers(
	const uint8_t *request, uint32_t request_len, const uint8_t *out, uint32_t len)
{
	if (memcmp(request + DHCP4_AT_XID, out + DHCP4_AT_XID, 4) != 0)
		abort();
}
