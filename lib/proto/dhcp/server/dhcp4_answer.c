// SPDX-License-Identifier: BSD-3-Clause
// The DHCPv4 responder as users see it: the rows of its settings and counters. What they become is
// in dhcp4_answer_setup.c, what it answers in dhcp4_answer_wire.c, what it gets wrong in
// dhcp4_faults_wire.c. Path: cold. Any thread.

#include "proto/dhcp/server/dhcp4_answer.h"

#define AT(member) .offset = offsetof(struct dhcp4_answers_settings, member)

static const struct field answers_fields[] = {
	{"pool", "addresses to give: every one of them, those of networks and broadcasts too",
		FIELD_ADDR_RANGE, .list = true, .def = "10.64.0.0/12", AT(pool)},
	{"clients", "leases at most, 64 bytes each: only so many of the pool's addresses are used",
		FIELD_COUNT, AT(clients), .def = "all", .word = "all", .min = 1,
		.max = DHCP_POOL_MAX},
	{"lease_time", "lease time; when it has passed and the pool is used up, others get it",
		FIELD_DURATION, AT(lease_time_ns), .def = "1h", .word = "infinite", .min = 1e9,
		.max = 4294967294e9},
	{"t1", "renewal time; auto: half the lease time", FIELD_DURATION, AT(t1_ns), .def = "auto",
		.word = "auto", .max = 4294967294e9},
	{"t2", "rebinding time; auto: 7/8 of the lease time", FIELD_DURATION, AT(t2_ns),
		.def = "auto", .word = "auto", .max = 4294967294e9},
	{"server_id", "server identifier in every answer; without: the responder's own address",
		FIELD_ADDR, AT(server_id)},
	{"subnet_mask",
		"subnet mask; without: of the smallest network with the pool and routers in it",
		FIELD_ADDR, AT(subnet_mask)},
	{"router", "routers, for clients that ask for them", FIELD_ADDR, .list = true, AT(router)},
	{"dns", "name servers, for clients that ask for them", FIELD_ADDR, .list = true, AT(dns)},
	{"domain", "domain name, for clients that ask for it", FIELD_STRING, AT(domain), .min = 1,
		.max = 255},
	{"rapid", "grant rapid commit (RFC 4039) to clients that ask for it", FIELD_BOOL, AT(rapid),
		.def = "false"},
	{"authoritative",
		"unknown clients get the address that they say they have when it is free, "
		"and a NAK when it is not, instead of no answer",
		FIELD_BOOL, AT(authoritative), .def = "false"},
	{"full_pool",
		"fewer addresses than clients of the same file are meant: the pool is to run full",
		FIELD_BOOL, AT(full_pool), .def = "false"},
	{"address_twice", "each so-many-th new client gets an address that another has; 0: none",
		FIELD_COUNT, AT(address_twice), .def = "0"},
};

const struct field_section dhcp4_answers_section = {
	.name = "dhcp4",
	.help = "leases out of a pool, and all exchanges with them",
	FIELD_ROWS(answers_fields),
	.size = sizeof(struct dhcp4_answers_settings),
};

#define OFFSET(member) offsetof(struct dhcp4_answer_counters, member)
static const struct counter answer_rows[] = {
	DHCP4_ANSWER_COUNTERS(COUNTER_MEMBER_ROW, COUNTER_ARRAY_ROW)};

const struct counter_section dhcp4_answered_section = {
	.name = "dhcp4",
	.help = "DHCPv4 messages answered",
	COUNTER_ROWS(answer_rows),
	.size = sizeof(struct dhcp4_answer_counters),
};

const char *dhcp4_answer_type_label(uint32_t i)
{
	const char *name = dhcp4_type_name(i);

	return name ? name : "other";
}
