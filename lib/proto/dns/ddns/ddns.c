// SPDX-License-Identifier: BSD-3-Clause
// DNS records of clients that get and release leases, as users see them: settings, counters, set-up
// and the row for protos[]. Path: cold. Management thread.
#include "proto/dns/ddns/ddns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/dns/ddns/ddns_internal.h"
#include "proto/dns/client/dns_internal.h"

#define SETTING(member) offsetof(struct ddns_settings, member)
#define MS_NS           1000000

static const char *const record_names[] = {[DDNS_RECORD_ADDRESS] = "address",
	[DDNS_RECORD_PTR] = "ptr",
	[DDNS_RECORD_DHCID] = "dhcid",
	NULL};

static const struct field ddns_fields[] = {
	{"name",
		"domain name of a client, with {client} for its number; default: the fqdn of the "
		"followed item",
		FIELD_STRING, .offset = SETTING(name), .min = 1, .max = 253},
	{"records",
		"records to look for: address (A or AAAA, by the lease), ptr of that address, "
		"dhcid (RFC 4701)",
		FIELD_ENUM, .list = true, .offset = SETTING(record), .def = "address, ptr",
		.names = record_names},
	{"every", "time between queries for an expected record", FIELD_DURATION,
		.offset = SETTING(every_ns), .def = "100ms", .min = MS_NS, .max = 6e11},
	{"within", "time after which a record is given up", FIELD_DURATION,
		.offset = SETTING(within_ns), .def = "30s", .min = MS_NS, .max = 1e14},
	{"rd", "recursion desired: for a resolver", FIELD_BOOL, .offset = SETTING(rd),
		.def = "false"},
};

static const struct field_section ddns_section = {"ddns",
	"DNS records of the clients of another item (after), until they appear or go",
	FIELD_ROWS(ddns_fields), sizeof(struct ddns_settings)};

static const char *const kind_names[DDNS_KINDS] = {"A", "AAAA", "PTR", "DHCID"};

const char *ddns_kind_label(uint32_t i)
{
	return kind_names[i];
}

#define OFFSET(member) offsetof(struct ddns_counters, member)
static const struct counter ddns_rows[] = {DDNS_COUNTERS(COUNTER_MEMBER_ROW, COUNTER_ARRAY_ROW)};

static const struct counter_section ddns_counters = {
	"ddns", "DNS records of leases", COUNTER_ROWS(ddns_rows), sizeof(struct ddns_counters)};

static const char *const marks[] = {"A visible", "AAAA visible", "PTR visible", "DHCID visible",
	"A gone", "AAAA gone", "PTR gone", "DHCID gone", NULL};

static uint32_t records_of(const struct ddns_settings *s)
{
	const int32_t *records = s->record.items;
	uint32_t set = 0;

	for (uint32_t i = 0; i < s->record.count; i++)
		set |= 1u << records[i];
	return set;
}

static void ddns_terms(void *settings, struct proto_terms *out)
{
	const struct ddns_settings *s = settings;

	out->each = (uint32_t)__builtin_popcount(records_of(s));
	out->every_ns = s->every_ns;
}

static void ddns_check(const void *settings, const struct proto_env *env, struct diag *d)
{
	const struct ddns_settings *s = settings;

	if (!env->followed)
		return; // reported
	if (!s->name && !env->followed_named)
		diag_error(d, s, "name",
			"is missing (like host-{client}.example.com): the clients of the followed "
			"item have no fqdn with a domain");
	if (!s->record.count)
		diag_error(d, s, "records", "is empty (like [address, ptr])");
}

static bool has_others(const struct pattern *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (p->pieces[i].kind > PATTERN_CLIENT_HEX)
			return true;
	return false;
}

// Names differ only in the number, so the first and the last client have the shortest and longest.
static bool names_are_right(const struct ddns_plan *p, uint64_t clients)
{
	const uint64_t numbers[] = {0, clients ? clients - 1 : 0};
	struct ddns_worker *w = calloc(1, sizeof(*w) + sizeof(w->clients[0]));
	struct proto_ctx ctx = {.shared = p, .own = w};
	uint8_t name[DNS_NAME_MAX];
	bool right = w;

	for (int i = 0; i < 2 && right; i++) {
		w->clients[0].number = (uint32_t)numbers[i];
		right = ddns_name(&ctx, 0, name) > 0;
	}
	free(w);
	return right;
}

static bool build_name(struct ddns_plan *p, const struct ddns_settings *s,
	const struct proto_env *env, struct diag *d)
{
	const struct pattern_clients clients = {
		.count = env->followed_clients + !env->followed_clients,
		.mac_len = 6,
		.addr_len = 4};
	char what[200];

	if (!s->name)
		return true;
	if (pattern_compile(
		    &p->name, PATTERN_TEXT, s->name, &clients, p->arena, what, sizeof(what)) < 0)
		diag_error(d, &s->name, NULL, "%s", what);
	else if (has_others(&p->name))
		diag_error(d, &s->name, NULL, "only {client} can stand in it");
	else if (!names_are_right(p, env->followed_clients))
		diag_error(d, &s->name, NULL,
			"is not a domain name (labels of 1 to 63 characters, up to 253 in all)");
	else
		return true;
	return false;
}

static void ddns_teardown(void *shared)
{
	struct ddns_plan *p = shared;

	arena_free(p->arena);
	free(p);
}

static void *ddns_setup(const void *settings, const struct proto_env *env,
	struct proto_facts *facts, struct diag *d)
{
	const struct ddns_settings *s = settings;
	struct ddns_plan *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	*p = (struct ddns_plan){.followed = env->followed,
		.arena = arena_new(),
		.records = records_of(s),
		.happenings = env->happenings,
		.every_ms = s->every_ns / MS_NS,
		.within_ms = s->within_ns / MS_NS,
		.rd = s->rd};
	facts->memory = env->followed_clients * sizeof(struct ddns_client);
	if (build_name(p, s, env, d))
		return p;
	ddns_teardown(p);
	return NULL;
}

static int ddns_open(struct proto_ctx *ctx, const struct proto_env *env)
{
	uint32_t count = ctx->followed ? ctx->followed->clients : 1;
	struct ddns_worker *w;

	ctx->own = NULL;
	if (count > 1u << DDNS_CLIENT_BITS)
		return -ENOMEM;
	w = calloc(1, sizeof(*w) + count * sizeof(w->clients[0]));
	if (!w)
		return -ENOMEM;
	w->fresh.first = w->again.first = DDNS_NOBODY;
	w->count = count;
	ctx->own = w;
	return 0;
}

static int ddns_close(struct proto_ctx *ctx)
{
	free(ctx->own);
	ctx->own = NULL;
	return 0;
}

static const struct proto_follower ddns_follower = {
	.marks = marks,
	.happened = ddns_happened,
	.over = ddns_over,
};

const struct proto ddns_proto = {
	.name = "ddns",
	.help = "DNS records that appear and go with leases",
	.ports = &(const struct proto_ports){.plain = DNS_PORT},
	.key_bits = 16,
	.cost_ns = 250, // the name is built for the question and again for the answer
	.settings = &ddns_section,
	.counters = &ddns_counters,
	.follower = &ddns_follower,
	.terms = ddns_terms,
	.check = ddns_check,
	.setup = ddns_setup,
	.teardown = ddns_teardown,
	.open = ddns_open,
	.close = ddns_close,
	.begin = ddns_begin,
	.due = ddns_due,
	.waiting = ddns_waiting,
	.request = ddns_request,
	.key = ddns_key,
	.key_place = DNS_KEY_PLACE,
	.reply = ddns_reply,
	.timeout = ddns_timeout,
};
