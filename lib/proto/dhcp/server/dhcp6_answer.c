// SPDX-License-Identifier: BSD-3-Clause
// The DHCPv6 part of the server's set-up: rows of settings and counters, and steps that DHCPv4
// lacks. Replies are in dhcp6_answer_wire.c, injected faults in dhcp6_faults_wire.c. Path: cold.
// Management thread.

#include "proto/dhcp/server/dhcp6_answer.h"

#include <string.h>

#include "proto/dhcp/client/lease/dhcp_addresses.h"
#include "proto/dhcp/v6/dhcp6_plan.h"

#define AT(member)     .offset = offsetof(struct dhcp6_answers_settings, member)
#define SHARED(member) AT(common.member)
#define LONGEST        4294967294e9 // the longest finite lifetime
#define DUID_EN        2
#define ENTERPRISE     32473 // for documentation (RFC 5612)
#define LABEL_MAX      63

// Messages that a RECONFIGURE can request.
static const char *const call_names[] = {"renew", "rebind", "information", NULL};
static const uint8_t calls[] = {DHCP6_RENEW, DHCP6_REBIND, DHCP6_INFORMATION};

#define CALL(member) .offset = offsetof(struct dhcp6_calls_settings, member)
static const struct field call_fields[] = {
	{"after", "time after the REPLY that gave the lease", FIELD_DURATION, CALL(after_ns),
		.def = "1s", .min = 1e6, .max = 3600e9},
	{"message", "message that it asks for", FIELD_ENUM, CALL(message), .def = "renew",
		.names = call_names},
	{"bad",
		"every n-th one is bad, in turn: the client's DUID, the server's, the message "
		"asked "
		"for, no authentication, MAC, replayed; 0: none",
		FIELD_COUNT, CALL(bad_every), .def = "0"},
};

static const struct field_section call_section = {
	.name = "reconfigure",
	.help = "a RECONFIGURE for each new lease (RFC 8415 section 18.3.11)",
	FIELD_ROWS(call_fields),
	.size = sizeof(struct dhcp6_calls_settings),
};

static const struct field answers_fields[] = {
	{"pool", "addresses to lease, the first of a subnet included", FIELD_ADDR_RANGE,
		.list = true, .def = "2001:db8:0:1::/64", SHARED(pool)},
	{"prefixes", "prefixes to cut the delegated ones from", FIELD_PREFIX, .list = true,
		.def = "2001:db8:8000::/33", SHARED(prefixes)},
	{"prefix_length", "length of the delegated prefixes", FIELD_COUNT, SHARED(prefix_length),
		.def = "56", .min = 1, .max = 128},
	{"clients", "addresses, and prefixes, at most: 32 bytes each", FIELD_COUNT, SHARED(clients),
		.def = "1M", .min = 1, .max = DHCP_POOL_MAX},
	{"valid_lifetime",
		"valid lifetime; after it other clients get the lease if the pool is used up",
		FIELD_DURATION, SHARED(lease_ns), .def = "1h", .word = "infinite", .min = 1e9,
		.max = LONGEST},
	{"preferred_lifetime", "preferred lifetime; auto: 5/8 of the valid one", FIELD_DURATION,
		SHARED(preferred_ns), .def = "auto", .word = "auto", .max = LONGEST},
	{"t1", "renewal time; auto: half the preferred lifetime", FIELD_DURATION, SHARED(t1_ns),
		.def = "auto", .word = "auto", .max = LONGEST},
	{"t2", "rebinding time; auto: 4/5 of the preferred lifetime", FIELD_DURATION, SHARED(t2_ns),
		.def = "auto", .word = "auto", .max = LONGEST},
	{"server_id", "DUID of the server; default: made of the responder's own address", FIELD_HEX,
		AT(server_id)},
	{"preference", "preference in ADVERTISEs", FIELD_COUNT, AT(preference), .def = "none",
		.word = "none", .max = 255},
	{"dns", "name servers, for clients that ask for them", FIELD_ADDR, .list = true,
		SHARED(dns)},
	{"domain", "domain to search, for clients that ask for it", FIELD_STRING, SHARED(domain),
		.min = 1, .max = 253},
	{"sol_max_rt", "SOL_MAX_RT, for clients that ask for it; 0s: none", FIELD_DURATION,
		AT(sol_max_rt_ns), .def = "0s", .max = 86400e9},
	{"inf_max_rt", "INF_MAX_RT, for clients that ask for it; 0s: none", FIELD_DURATION,
		AT(inf_max_rt_ns), .def = "0s", .max = 86400e9},
	{"refresh_time",
		"information refresh time in replies to INFORMATION-REQUESTs, for clients that ask "
		"for it; 0s: none",
		FIELD_DURATION, AT(refresh_ns), .def = "0s", .max = LONGEST},
	{"rapid", "grant rapid commit to clients that ask for it", FIELD_BOOL, SHARED(rapid),
		.def = "false"},
	{"authoritative",
		"unknown clients that RENEW or REBIND get the lease that they claim if it is free; "
		"false: NoBinding",
		FIELD_BOOL, SHARED(authoritative), .def = "false"},
	{"unicast", "accept messages to the server's own address; false: reply with UseMulticast",
		FIELD_BOOL, AT(unicast), .def = "true"},
	{"unicast_address", "address for unicast (option 12), for clients that ask for it",
		FIELD_ADDR, AT(unicast_address)},
	{"leasequery",
		"answer LEASEQUERYs (RFC 5007), for which each lease takes 64 bytes and DUIDs up "
		"to "
		"31 bytes are kept; false: reply with NotAllowed",
		FIELD_BOOL, AT(leasequery), .def = "false"},
	{"reconfigure",
		"send clients that accept RECONFIGUREs a key, and a RECONFIGURE for each new "
		"lease, which waits in a buffer of the port",
		FIELD_SECTION, .optional = true, AT(reconfigure), .section = &call_section},
	{"full_pool",
		"the pool is meant to run out: allow fewer addresses or prefixes than the clients "
		"of the same file need",
		FIELD_BOOL, SHARED(full_pool), .def = "false"},
	{"address_twice",
		"offer every n-th new client an address that another client has; 0: never",
		FIELD_COUNT, SHARED(address_twice), .def = "0"},
	{"prefix_twice", "offer every n-th new client a prefix that another client has; 0: never",
		FIELD_COUNT, SHARED(prefix_twice), .def = "0"},
};

static const struct field_section dhcp6_answers_section = {
	.name = "dhcp6",
	.help = "addresses from a pool, prefixes, and all exchanges with them",
	FIELD_ROWS(answers_fields),
	.size = sizeof(struct dhcp6_answers_settings),
};

static const char *dhcp6_answer_type_label(uint32_t i)
{
	return dhcp6_type_label(i ? i : DHCP6_TYPES); // type 0 does not exist
}

_Static_assert(DHCP6_TYPES == DHCP_SERVER_TYPES, "message types");
_Static_assert(DHCP6_BADS == DHCP_SERVER_BADS, "reasons");
_Static_assert(DHCP6_STATUSES == DHCP_SERVER_STATUSES, "status codes");

#define OFFSET(member)  offsetof(struct dhcp_answer_counters, member)
#define DHCP_TYPE_LABEL dhcp6_answer_type_label
#define NO_ROW(...)
static const struct counter answer_rows[] = {DHCP_ANSWER_COUNTERS(
	COUNTER_MEMBER_ROW, COUNTER_ARRAY_ROW, NO_ROW, COUNTER_MEMBER_ROW, COUNTER_ARRAY_ROW)};

static const struct counter_section dhcp6_answered_section = {
	.name = "dhcp6",
	.help = "DHCPv6 messages answered",
	COUNTER_ROWS(answer_rows),
	.size = sizeof(struct dhcp_answer_counters),
};

static bool check_domain(const struct dhcp_answers_settings *s, struct diag *d)
{
	uint32_t label = 0;

	for (const char *c = s->domain ? s->domain : "x"; *c; c++) {
		label = *c == '.' ? 0 : label + 1;
		if (label > LABEL_MAX || (label == 0 && (c == s->domain || c[1] == '.'))) {
			diag_error(d, &s->domain, NULL, "not a domain name (labels of 1 to %d)",
				LABEL_MAX);
			return false;
		}
	}
	return true;
}

static bool dhcp6_own_check(const void *settings, const struct proto_env *env, struct diag *d)
{
	const struct dhcp6_answers_settings *s = settings;
	uint32_t len = s->server_id.len;
	bool right = check_domain(&s->common, d);

	right = dhcp_family_check(&s->unicast_address, &s->unicast_address, 16, d) && right;

	if (len == 0 || (len >= DHCP6_DUID_MIN && len <= DHCP6_DUID_MAX))
		return right;
	diag_error(
		d, &s->server_id, NULL, "%u bytes (%u to %u)", len, DHCP6_DUID_MIN, DHCP6_DUID_MAX);
	return false;
}

static void set_server_id(struct dhcp6_answers *a, const struct dhcp6_answers_settings *s,
	const struct proto_env *env)
{
	struct writer w = writer_of(a->server_id, sizeof(a->server_id));

	if (s->server_id.len) {
		write_bytes(&w, s->server_id.data, s->server_id.len);
	} else {
		write_be16(&w, DUID_EN);
		write_be32(&w, ENTERPRISE);
		write_u8(&w, env->server.len);
		write_bytes(&w, env->server.bytes, env->server.len);
	}
	a->server_id_len = (uint8_t)(w.at - a->server_id);
}

// RFC 1035 section 3.1; already validated.
static void set_domain(
	const struct dhcp_server_family *f, struct dhcp6_answers *a, const char *name)
{
	uint8_t labels[256];
	struct writer w = writer_of(labels, sizeof(labels));

	while (*name) {
		uint32_t label = (uint32_t)strcspn(name, ".");

		write_u8(&w, (uint8_t)label);
		write_bytes(&w, name, label);
		name += label;
		name += *name == '.';
	}
	write_u8(&w, 0);
	dhcp_ready_add(f, &a->common, DHCP6_OPT_DOMAIN_LIST, labels, (uint32_t)(w.at - labels));
}

static void set_time(
	const struct dhcp_server_family *f, struct dhcp6_answers *a, uint16_t code, uint64_t ns)
{
	uint8_t seconds[4];

	bytes_put_be32(seconds, dhcp_seconds(ns));
	if (ns)
		dhcp_ready_add(f, &a->common, code, seconds, sizeof(seconds));
}

static void dhcp6_own_set(const struct dhcp_server_family *f, void *answers, const void *settings,
	const struct proto_env *env)
{
	const struct dhcp6_answers_settings *s = settings;
	struct dhcp6_answers *a = answers;

	a->unicast = s->unicast;
	a->leasequery = s->leasequery;
	if (s->leasequery)
		a->common.lease_size = sizeof(struct dhcp6_lease_kept);
	a->has_preference = s->preference != UINT64_MAX;
	a->preference = (uint8_t)s->preference;
	a->prefix_length = (uint8_t)s->common.prefix_length;
	if (s->reconfigure) {
		a->common.after_ns = s->reconfigure->after_ns;
		a->call = calls[s->reconfigure->message];
		a->bad_every = s->reconfigure->bad_every;
	}
	set_server_id(a, s, env);
	if (s->unicast_address.len)
		dhcp_ready_add(f, &a->common, DHCP6_OPT_UNICAST, s->unicast_address.bytes, 16);
	dhcp_ready_add_addresses(f, &a->common, DHCP6_OPT_DNS, &s->common.dns);
	if (s->common.domain)
		set_domain(f, a, s->common.domain);
	set_time(f, a, DHCP6_OPT_SOL_MAX_RT, s->sol_max_rt_ns);
	set_time(f, a, DHCP6_OPT_INF_MAX_RT, s->inf_max_rt_ns);
	set_time(f, a, DHCP6_OPT_REFRESH_TIME, s->refresh_ns);
}

static bool dhcp6_same_clients(const void *one, const void *other)
{
	const struct dhcp6_settings *a = one, *b = other;

	return a->duid == b->duid && a->iaid == b->iaid && a->enterprise == b->enterprise &&
	       dhcp_text_equal(a->duid_hex, b->duid_hex) &&
	       dhcp_text_equal(a->duid_file, b->duid_file);
}

static const struct dhcp_server_family dhcp6_server_family = {
	.clients = &dhcp6_family,
	.addr_len = 16,
	.t2_may_be_zero = true,
	.lease = "valid_lifetime",
	.preferred = "preferred_lifetime",
	.preferred_40ths = 25,
	.t1_40ths = 20,
	.t2_40ths = 32,
	.listed = DHCP6_ANSWER_LISTED,
	.answers_size = sizeof(struct dhcp6_answers),
	.server_size = sizeof(struct dhcp6_server),
	.lease_size = sizeof(struct dhcp_lease),
	.option_write = dhcp6_write_option,
	.own_check = dhcp6_own_check,
	.own_set = dhcp6_own_set,
	.same_clients = dhcp6_same_clients,
};

DHCP_SERVER(dhcp6)
