// SPDX-License-Identifier: BSD-3-Clause
// The DHCPv4 part of the server's set-up: rows of settings and counters, and steps that DHCPv6
// lacks. Replies are in dhcp4_answer_wire.c, injected faults in dhcp4_faults_wire.c. Path: cold.
// Management thread.

#include "proto/dhcp/server/dhcp4_answer.h"

#include <string.h>

#include "proto/dhcp/client/lease/dhcp_addresses.h"
#include "proto/dhcp/v4/dhcp4_plan.h"

#define AT(member)     .offset = offsetof(struct dhcp4_answers_settings, member)
#define SHARED(member) AT(common.member)
#define LONGEST        4294967294e9 // the longest finite time

static const struct field answers_fields[] = {
	{"pool", "addresses to lease, network and broadcast addresses included", FIELD_ADDR_RANGE,
		.list = true, .def = "10.64.0.0/12", SHARED(pool)},
	{"clients",
		"leases at most, 64 bytes each: the server uses that many addresses of the pool",
		FIELD_COUNT, SHARED(clients), .def = "all", .word = "all", .min = 1,
		.max = DHCP_POOL_MAX},
	{"lease_time", "lease time; after it other clients get the address if the pool is used up",
		FIELD_DURATION, SHARED(lease_ns), .def = "1h", .word = "infinite", .min = 1e9,
		.max = LONGEST},
	{"t1", "renewal time; auto: half the lease time", FIELD_DURATION, SHARED(t1_ns),
		.def = "auto", .word = "auto", .max = LONGEST},
	{"t2", "rebinding time; auto: 7/8 of the lease time", FIELD_DURATION, SHARED(t2_ns),
		.def = "auto", .word = "auto", .max = LONGEST},
	{"server_id", "server identifier in every reply; default: the responder's own address",
		FIELD_ADDR, AT(server_id)},
	{"subnet_mask",
		"subnet mask; default: of the smallest network that contains pool and routers",
		FIELD_ADDR, AT(subnet_mask)},
	{"router", "routers, for clients that ask for them", FIELD_ADDR, .list = true, AT(router)},
	{"dns", "name servers, for clients that ask for them", FIELD_ADDR, .list = true,
		SHARED(dns)},
	{"domain", "domain name, for clients that ask for it", FIELD_STRING, SHARED(domain),
		.min = 1, .max = 255},
	{"rapid", "grant rapid commit (RFC 4039) to clients that ask for it", FIELD_BOOL,
		SHARED(rapid), .def = "false"},
	{"authoritative",
		"unknown clients get the address that they claim if it is free, and otherwise a "
		"NAK; false: no reply",
		FIELD_BOOL, SHARED(authoritative), .def = "false"},
	{"full_pool",
		"the pool is meant to run out: allow fewer addresses than the clients of the same "
		"file need",
		FIELD_BOOL, SHARED(full_pool), .def = "false"},
	{"address_twice",
		"offer every n-th new client an address that another client has; 0: never",
		FIELD_COUNT, SHARED(address_twice), .def = "0"},
};

static const struct field_section dhcp4_answers_section = {
	.name = "dhcp4",
	.help = "leases from a pool, and all exchanges with them",
	FIELD_ROWS(answers_fields),
	.size = sizeof(struct dhcp4_answers_settings),
};

static const char *dhcp4_answer_type_label(uint32_t i)
{
	return dhcp4_type_label(i ? i : DHCP4_TYPES); // type 0 does not exist
}

_Static_assert(DHCP4_TYPES == DHCP_SERVER_TYPES, "message types");

#define OFFSET(member)  offsetof(struct dhcp_answer_counters, member)
#define DHCP_TYPE_LABEL dhcp4_answer_type_label
#define NO_ROW(...)
static const struct counter answer_rows[] = {DHCP_ANSWER_COUNTERS(
	COUNTER_MEMBER_ROW, COUNTER_ARRAY_ROW, COUNTER_MEMBER_ROW, NO_ROW, NO_ROW)};

static const struct counter_section dhcp4_answered_section = {
	.name = "dhcp4",
	.help = "DHCPv4 messages answered",
	COUNTER_ROWS(answer_rows),
	.size = sizeof(struct dhcp_answer_counters),
};

// The default server identifier, without settings and an address.
static const struct addr fallback_id = {4, {192, 0, 2, 1}};

static const struct addr *server_id(
	const struct dhcp4_answers_settings *s, const struct proto_env *env)
{
	if (s->server_id.len)
		return &s->server_id;
	return env->server.len == 4 ? &env->server : &fallback_id;
}

static bool dhcp4_own_check(const void *settings, const struct proto_env *env, struct diag *d)
{
	const struct dhcp4_answers_settings *s = settings;
	uint32_t mask = bytes_be32(s->subnet_mask.bytes);
	bool right = dhcp_family_check(server_id(s, env), &s->server_id, 4, d);

	right = dhcp_addresses_check(&s->router, "router", 4, DHCP4_ANSWER_LISTED, d) && right;
	right = dhcp_family_check(&s->subnet_mask, &s->subnet_mask, 4, d) && right;
	if (s->subnet_mask.len != 4 || (~mask & (~mask + 1)) == 0)
		return right;
	diag_error(d, &s->subnet_mask, NULL, "not a subnet mask (like 255.255.255.0)");
	return false;
}

static uint32_t subnet_mask(const struct dhcp4_answers_settings *s)
{
	const struct addr_range *r = s->common.pool.items;
	const struct addr *routers = s->router.items;
	uint32_t first = bytes_be32(r[0].first.bytes), differ = 0;

	if (s->subnet_mask.len)
		return bytes_be32(s->subnet_mask.bytes);
	for (uint32_t i = 0; i < s->common.pool.count; i++) {
		uint32_t begin = bytes_be32(r[i].first.bytes);

		differ |= (first ^ begin) | (first ^ (begin + (uint32_t)r[i].count - 1));
	}
	for (uint32_t i = 0; i < s->router.count; i++)
		differ |= first ^ bytes_be32(routers[i].bytes);
	return differ ? ~(UINT32_MAX >> __builtin_clz(differ)) : UINT32_MAX;
}

static void dhcp4_own_set(const struct dhcp_server_family *f, void *answers, const void *settings,
	const struct proto_env *env)
{
	const struct dhcp4_answers_settings *s = settings;
	struct dhcp4_answers *a = answers;
	struct writer w = writer_of(a->mask, sizeof(a->mask));
	const char *domain = s->common.domain;

	a->server_id = bytes_be32(server_id(s, env)->bytes);
	dhcp4_write_option_be32(&w, DHCP4_OPT_SUBNET_MASK, subnet_mask(s));
	w = writer_of(a->terms, sizeof(a->terms));
	dhcp4_write_option_be32(&w, DHCP4_OPT_LEASE_TIME, a->common.lease_s);
	dhcp4_write_option_be32(&w, DHCP4_OPT_T1, a->common.t1_s);
	dhcp4_write_option_be32(&w, DHCP4_OPT_T2, a->common.t2_s);
	a->terms_len = (uint8_t)(w.at - a->terms);
	dhcp_ready_add_addresses(f, &a->common, DHCP4_OPT_ROUTER, &s->router);
	dhcp_ready_add_addresses(f, &a->common, DHCP4_OPT_DNS, &s->common.dns);
	if (domain)
		dhcp_ready_add(
			f, &a->common, DHCP4_OPT_DOMAIN, domain, (uint32_t)strnlen(domain, 255));
}

static void dhcp4_option_write(struct writer *w, uint16_t code, const void *data, uint32_t len)
{
	dhcp4_write_option(w, (uint8_t)code, data, len);
}

static bool dhcp4_same_clients(const void *one, const void *other)
{
	const struct dhcp4_settings *a = one, *b = other;

	return a->client_id == b->client_id && dhcp_text_equal(a->chaddr, b->chaddr);
}

static const struct dhcp_server_family dhcp4_server_family = {
	.clients = &dhcp4_family,
	.addr_len = 4,
	.by_hardware = true,
	.needs_pool = true,
	.lease_least_s = 3,
	.lease = "lease_time",
	.t1_40ths = 20,
	.t2_40ths = 35,
	.listed = DHCP4_ANSWER_LISTED,
	.answers_size = sizeof(struct dhcp4_answers),
	.server_size = sizeof(struct dhcp4_server_state),
	.lease_size = sizeof(struct dhcp4_lease),
	.option_write = dhcp4_option_write,
	.own_check = dhcp4_own_check,
	.own_set = dhcp4_own_set,
	.same_clients = dhcp4_same_clients,
};

static const struct addr dhcp4_groups[] = {{4, {255, 255, 255, 255}}, {0}};

DHCP_SERVER(dhcp4)
