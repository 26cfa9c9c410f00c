// SPDX-License-Identifier: BSD-3-Clause
// Bulk lease queries as users see them: settings, counters, set-up and the rows for protos[], for
// both families. Path: cold. Management thread.
#include "proto/dhcp/leasequery/leasequery.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/dhcp/leasequery/leasequery_internal.h"

#define SETTING(member) .offset = offsetof(struct leasequery_settings, member)
#define QUERIES_MAX     1e12
#define REPLY_LONGEST   1024 // usual maximum
#define REQUEST_LONGEST 1024
#define MAC_MAX         DHCP4_CHADDR_LEN

static const char *const query4_names[] = {[LEASEQUERY4_ALL] = "all",
	[LEASEQUERY4_MAC] = "mac",
	[LEASEQUERY4_CLIENT_ID] = "client_id",
	[LEASEQUERY4_RELAY_ID] = "relay_id",
	[LEASEQUERY4_REMOTE_ID] = "remote_id",
	NULL};

// Starts at DHCP6_QUERY_BY_ADDRESS.
static const char *const query6_names[] = {
	"address", "client_id", "relay_id", "link", "remote_id", NULL};

#define TRANSPORT_SETTING                                                                          \
	{                                                                                          \
		.name = "transport",                                                               \
		.help = "how messages travel: tcp alone; over udp clients query (dhcp4, dhcp6)",   \
		.type = FIELD_ENUM, SETTING(transport.transport), .def = "tcp",                    \
		.names = transport_names                                                           \
	}
#define TCP_SETTING                                                                                \
	TRANSPORT_TCP_ROW(offsetof(struct leasequery_settings, transport), "the connections")
#define CLIENTS_SETTING                                                                            \
	{                                                                                          \
		"clients",                                                                         \
			"number of subjects to ask about in turn: {client} is 0 to this minus 1",  \
			FIELD_COUNT, SETTING(clients), .def = "1", .min = 1, .max = QUERIES_MAX    \
	}

static const struct field fields4[] = {
	{"query", "subject of a query: all addresses, or those of one client or relay", FIELD_ENUM,
		SETTING(query), .def = "all", .names = query4_names},
	{"subject",
		"subject of a query, as hex digits with {client:N}, the client's number in N "
		"bytes: the MAC, the client identifier (option 61), the relay ID or remote ID "
		"(option 82)",
		FIELD_STRING, SETTING(subject)},
	CLIENTS_SETTING,
	{"parameters", "option 55: requested options", FIELD_COUNT, .list = true,
		SETTING(parameters), .def = "51, 58, 59, 61, 82, 91", .min = 1, .max = 254},
	TRANSPORT_SETTING,
	TCP_SETTING,
};

static const struct field fields6[] = {
	{"query", "subject of a query: a link, or an address, a client, or a relay on it",
		FIELD_ENUM, SETTING(query), .def = "link", .names = query6_names},
	{"subject",
		"subject of a query, as hex digits with {client:N}, the client's number in N "
		"bytes: the DUID of a client or relay, or the remote ID behind its enterprise "
		"number (option 37)",
		FIELD_STRING, SETTING(subject)},
	{"address", "with query address: the addresses to ask about in turn", FIELD_ADDR_RANGE,
		SETTING(address)},
	{"link", "link address; ::, all links", FIELD_ADDR, SETTING(link), .def = "::"},
	CLIENTS_SETTING,
	{"duid", "DUID of the requestor", FIELD_HEX, SETTING(duid), .def = "000200007ed96c71"},
	{"parameters", "requested options, like 47 for data of the relays", FIELD_COUNT,
		.list = true, SETTING(parameters), .min = 1, .max = 65535},
	TRANSPORT_SETTING,
	TCP_SETTING,
};

static const struct field_section section4 = {"leasequery4",
	"bulk lease queries to a DHCPv4 server, over TCP", FIELD_ROWS(fields4),
	sizeof(struct leasequery_settings)};

static const struct field_section section6 = {"leasequery6",
	"bulk lease queries to a DHCPv6 server, over TCP", FIELD_ROWS(fields6),
	sizeof(struct leasequery_settings)};

#define OFFSET(member) offsetof(struct leasequery_counters, member)
#define NO_ROW(...)
#define LEASEQUERY_TYPE_LABEL   dhcp4_type_label
#define LEASEQUERY_STATUS_LABEL dhcp4_status_label
#define LEASEQUERY_STATUSES     (DHCP4_STATUSES + 1)
static const struct counter rows4[] = {
	LEASEQUERY_COUNTERS(COUNTER_MEMBER_ROW, COUNTER_ARRAY_ROW, COUNTER_MEMBER_ROW, NO_ROW)};
#undef LEASEQUERY_TYPE_LABEL
#undef LEASEQUERY_STATUS_LABEL
#undef LEASEQUERY_STATUSES
#define LEASEQUERY_TYPE_LABEL   dhcp6_type_label
#define LEASEQUERY_STATUS_LABEL dhcp6_status_label
#define LEASEQUERY_STATUSES     (DHCP6_STATUSES + 1)
static const struct counter rows6[] = {
	LEASEQUERY_COUNTERS(COUNTER_MEMBER_ROW, COUNTER_ARRAY_ROW, NO_ROW, COUNTER_MEMBER_ROW)};

static const struct counter_section counters4 = {"leasequery4", "DHCPv4 bulk lease queries",
	COUNTER_ROWS(rows4), sizeof(struct leasequery_counters)};

static const struct counter_section counters6 = {"leasequery6", "DHCPv6 bulk lease queries",
	COUNTER_ROWS(rows6), sizeof(struct leasequery_counters)};

static const char *const steps[LEASEQUERY_STEPS + 1] = {
	[LEASEQUERY_FIRST] = "query-first", [LEASEQUERY_REST] = "first-last"};

static void leasequery_terms(void *settings, struct proto_terms *out)
{
	const struct leasequery_settings *s = settings;

	out->transport = &s->transport;
	out->longest_reply = REPLY_LONGEST;
}

static void check(const struct leasequery_settings *s, bool subject, struct diag *d)
{
	if (s->transport.transport != TRANSPORT_TCP)
		diag_error(d, &s->transport.transport, NULL,
			"bulk lease queries need a connection (transport: tcp); over UDP clients "
			"query (dhcp4 or dhcp6: {exchange: leasequery})");
	if (s->transport.tcp && s->transport.tcp->closed == TRANSPORT_CLOSED_AGAIN)
		diag_error(d, &s->transport.tcp->closed, NULL,
			"a query that is asked again would get its bindings twice (closed: lost)");
	transport_check(&s->transport, d);
	if (subject && !s->subject)
		diag_error(d, s, "subject", "is missing (like 0200{client:4})");
	if (!subject && s->subject)
		diag_error(d, &s->subject, NULL, "is not for this query");
	if (s->parameters.count > LEASEQUERY_PARAMETERS_MAX)
		diag_error(d, &s->parameters, NULL, "%u options (up to %d)", s->parameters.count,
			LEASEQUERY_PARAMETERS_MAX);
}

static void leasequery4_check(const void *settings, const struct proto_env *env, struct diag *d)
{
	const struct leasequery_settings *s = settings;

	check(s, s->query != LEASEQUERY4_ALL, d);
}

static void leasequery6_check(const void *settings, const struct proto_env *env, struct diag *d)
{
	const struct leasequery_settings *s = settings;
	bool by_address = s->query + DHCP6_QUERY_BY_ADDRESS == DHCP6_QUERY_BY_ADDRESS;

	check(s, !by_address && s->query + DHCP6_QUERY_BY_ADDRESS != DHCP6_QUERY_BY_LINK, d);
	if (by_address && s->address.first.len != 16)
		diag_error(d, s, "address", "an IPv6 address or range is missing");
	else if (by_address && s->address.count < s->clients)
		diag_error(d, &s->clients, NULL, "%llu clients, but the range has %llu addresses",
			(unsigned long long)s->clients, (unsigned long long)s->address.count);
	if (s->link.len != 16)
		diag_error(d, &s->link, NULL, "not an IPv6 address");
	if (s->duid.len < DHCP6_DUID_MIN || s->duid.len > DHCP6_DUID_MAX)
		diag_error(d, &s->duid, NULL, "%u bytes (%d to %d)", s->duid.len, DHCP6_DUID_MIN,
			DHCP6_DUID_MAX);
}

static void leasequery_teardown(void *shared)
{
	struct leasequery_plan *p = shared;

	arena_free(p->arena);
	free(p);
}

static bool has_others(const struct pattern *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (p->pieces[i].kind != PATTERN_LITERAL &&
			p->pieces[i].kind != PATTERN_CLIENT_BYTES)
			return true;
	return false;
}

// most: maximum length in bytes.
static bool build_subject(struct leasequery_plan *p, const struct leasequery_settings *s,
	uint32_t most, struct diag *d)
{
	const struct pattern_clients clients = {.count = s->clients, .mac_len = 6, .addr_len = 4};
	char what[200];

	if (!s->subject)
		return true;
	if (pattern_compile(&p->subject, PATTERN_HEX, s->subject, &clients, p->arena, what,
		    sizeof(what)) < 0)
		diag_error(d, &s->subject, NULL, "%s", what);
	else if (has_others(&p->subject))
		diag_error(d, &s->subject, NULL, "only {client:N} can stand in it");
	else if (p->subject.max_len == 0 || p->subject.max_len > most)
		diag_error(d, &s->subject, NULL, "%u bytes (1 to %u)", p->subject.max_len, most);
	else
		return true;
	return false;
}

static void *leasequery_setup(const struct leasequery_settings *s, const struct proto_env *env,
	uint8_t addr_len, uint32_t most, struct proto_facts *facts, struct diag *d)
{
	struct leasequery_plan *p = calloc(1, sizeof(*p));
	const uint64_t *parameters = s->parameters.items;

	if (!p)
		return NULL;
	p->arena = arena_new();
	p->query = (uint8_t)s->query;
	p->address = s->address;
	memcpy(p->link, s->link.bytes, sizeof(p->link));
	p->duid_len = (uint8_t)s->duid.len;
	if (s->duid.len)
		memcpy(p->duid, s->duid.data, s->duid.len);
	p->parameter_count = (uint8_t)s->parameters.count;
	for (uint32_t i = 0; i < s->parameters.count; i++)
		p->parameters[i] = (uint16_t)parameters[i];
	recip_init(&p->clients, s->clients);
	facts->longest = REQUEST_LONGEST;
	facts->harmless = true;
	if (env->addr_len != addr_len)
		diag_error(d, s, "query", "needs an IPv%d server", addr_len == 4 ? 4 : 6);
	if (build_subject(p, s, most, d) && env->addr_len == addr_len)
		return p;
	leasequery_teardown(p);
	return NULL;
}

static void *leasequery4_setup(const void *settings, const struct proto_env *env,
	struct proto_facts *facts, struct diag *d)
{
	const struct leasequery_settings *s = settings;

	// An option 82 with one sub-option must fit into one option.
	return leasequery_setup(s, env, 4,
		s->query == LEASEQUERY4_MAC ? MAC_MAX : LEASEQUERY_SUBJECT_MAX - 2, facts, d);
}

static void *leasequery6_setup(const void *settings, const struct proto_env *env,
	struct proto_facts *facts, struct diag *d)
{
	const struct leasequery_settings *s = settings;

	return leasequery_setup(s, env, 16,
		s->query + DHCP6_QUERY_BY_ADDRESS == DHCP6_QUERY_BY_REMOTE_ID
			? LEASEQUERY_SUBJECT_MAX
			: DHCP6_DUID_MAX,
		facts, d);
}

static int leasequery_open(struct proto_ctx *ctx, const struct proto_env *env)
{
	struct leasequery_worker *w = calloc(1, sizeof(*w));

	ctx->own = w;
	if (!w)
		return -ENOMEM;
	w->worker = env->worker;
	w->workers = env->workers;
	return 0;
}

static int leasequery_close(struct proto_ctx *ctx)
{
	free(ctx->own);
	ctx->own = NULL;
	return 0;
}

static enum proto_verdict leasequery_timeout(struct proto_ctx *ctx, struct proto_txn *t)
{
	struct leasequery_counters *n = ctx->counters;
	bool within = t->step == LEASEQUERY_REST;

	n->closed_before += ctx->closed && !within;
	n->closed_within += ctx->closed && within;
	n->late_within += !ctx->closed && within;
	return PROTO_FAIL;
}

#define LEASEQUERY_PROTO(family, text, port, bits)                                                 \
	const struct proto leasequery##family##_proto = {                                          \
		.name = "leasequery" #family,                                                      \
		.help = text " bulk lease queries over TCP",                                       \
		.ports = &(const struct proto_ports){.plain = port},                               \
		.key_bits = bits,                                                                  \
		.steps = steps,                                                                    \
		.cost_ns = 100,                                                                    \
		.settings = &section##family,                                                      \
		.counters = &counters##family,                                                     \
		.terms = leasequery_terms,                                                         \
		.check = leasequery##family##_check,                                               \
		.setup = leasequery##family##_setup,                                               \
		.teardown = leasequery_teardown,                                                   \
		.open = leasequery_open,                                                           \
		.close = leasequery_close,                                                         \
		.request = leasequery##family##_request,                                           \
		.key = leasequery##family##_key,                                                   \
		.reply = leasequery##family##_reply,                                               \
		.timeout = leasequery_timeout,                                                     \
	};

LEASEQUERY_PROTO(4, "DHCPv4", DHCP4_SERVER_PORT, 32)
LEASEQUERY_PROTO(6, "DHCPv6", DHCP6_SERVER_PORT, 24)
