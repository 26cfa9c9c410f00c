// SPDX-License-Identifier: BSD-3-Clause
// The DHCPv6 responder as users see it: the rows of its settings and counters. What they become is
// in dhcp6_answer_setup.c, what it answers in dhcp6_answer_wire.c, what it gets wrong in
// dhcp6_faults_wire.c. Path: cold. Any thread.

#include "proto/dhcp/server/dhcp6_answer.h"

#define NUMBER_MAX 4294967294e9 // the longest lifetime that ends
#define AT(member) .offset = offsetof(struct dhcp6_answers_settings, member)

static const struct field answers_fields[] = {
	{"pool", "addresses to give: every one of them, the first of a subnet too",
		FIELD_ADDR_RANGE, .list = true, .def = "2001:db8:0:1::/64", AT(pool)},
	{"prefixes", "prefixes that those to give are cut from", FIELD_PREFIX, .list = true,
		.def = "2001:db8:8000::/33", AT(prefixes)},
	{"prefix_length", "length of the prefixes to give", FIELD_COUNT, AT(prefix_length),
		.def = "56", .min = 1, .max = 128},
	{"clients", "addresses, and prefixes, at most: 32 bytes each", FIELD_COUNT, AT(clients),
		.def = "1M", .min = 1, .max = DHCP_POOL_MAX},
	{"valid_lifetime",
		"valid lifetime; when it has passed and the pool is used up, others get it",
		FIELD_DURATION, AT(valid_ns), .def = "1h", .word = "infinite", .min = 1e9,
		.max = NUMBER_MAX},
	{"preferred_lifetime", "preferred lifetime; auto: 5/8 of the valid one", FIELD_DURATION,
		AT(preferred_ns), .def = "auto", .word = "auto", .max = NUMBER_MAX},
	{"t1", "renewal time; auto: half the preferred lifetime", FIELD_DURATION, AT(t1_ns),
		.def = "auto", .word = "auto", .max = NUMBER_MAX},
	{"t2", "rebinding time; auto: 4/5 of the preferred lifetime", FIELD_DURATION, AT(t2_ns),
		.def = "auto", .word = "auto", .max = NUMBER_MAX},
	{"server_id", "DUID of the server; without: made of the responder's own address", FIELD_HEX,
		AT(server_id)},
	{"preference", "preference in ADVERTISEs", FIELD_COUNT, AT(preference), .def = "none",
		.word = "none", .max = 255},
	{"dns", "name servers, for clients that ask for them", FIELD_ADDR, .list = true, AT(dns)},
	{"domain", "domain to search, for clients that ask for it", FIELD_STRING, AT(domain),
		.min = 1, .max = 253},
	{"sol_max_rt", "SOL_MAX_RT, for clients that ask for it; 0s: none", FIELD_DURATION,
		AT(sol_max_rt_ns), .def = "0s", .max = 86400e9},
	{"inf_max_rt", "INF_MAX_RT, likewise", FIELD_DURATION, AT(inf_max_rt_ns), .def = "0s",
		.max = 86400e9},
	{"refresh_time", "information refresh time in answers to INFORMATION-REQUESTs, likewise",
		FIELD_DURATION, AT(refresh_ns), .def = "0s", .max = NUMBER_MAX},
	{"rapid", "grant rapid commit to clients that ask for it", FIELD_BOOL, AT(rapid),
		.def = "false"},
	{"authoritative",
		"unknown clients that RENEW or REBIND get what they say they have when it is free, "
		"instead of NoBinding",
		FIELD_BOOL, AT(authoritative), .def = "false"},
	{"unicast",
		"take messages that clients send to the server's own address; else: UseMulticast",
		FIELD_BOOL, AT(unicast), .def = "true"},
	{"full_pool",
		"fewer addresses or prefixes than clients of the same file are meant: the pool is "
		"to run full",
		FIELD_BOOL, AT(full_pool), .def = "false"},
	{"address_twice", "each so-many-th new client gets an address that another has; 0: none",
		FIELD_COUNT, AT(address_twice), .def = "0"},
	{"prefix_twice", "each so-many-th new client gets a prefix that another has; 0: none",
		FIELD_COUNT, AT(prefix_twice), .def = "0"},
};

const struct field_section dhcp6_answers_section = {
	.name = "dhcp6",
	.help = "addresses out of a pool, prefixes, and all exchanges with them",
	FIELD_ROWS(answers_fields),
	.size = sizeof(struct dhcp6_answers_settings),
};

#define OFFSET(member) offsetof(struct dhcp6_answer_counters, member)
static const struct counter answer_rows[] = {
	DHCP6_ANSWER_COUNTERS(COUNTER_MEMBER_ROW, COUNTER_ARRAY_ROW)};

const struct counter_section dhcp6_answered_section = {
	.name = "dhcp6",
	.help = "DHCPv6 messages answered",
	COUNTER_ROWS(answer_rows),
	.size = sizeof(struct dhcp6_answer_counters),
};

const char *dhcp6_answer_type_label(uint32_t i)
{
	const char *name = dhcp6_type_name(i);

	return name ? name : "other";
}

const char *dhcp6_answer_status_label(uint32_t i)
{
	return dhcp6_status_name(i);
}
