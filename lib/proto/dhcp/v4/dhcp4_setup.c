// SPDX-License-Identifier: BSD-3-Clause
// DHCPv4 clients as a family: rules of their settings, their part of the plan, and their leases in
// a file. Settings as rows are in dhcp4_fields.c, messages in dhcp4_templates.c. Path: cold.
// Management thread.

#include <stdlib.h>
#include <string.h>

#include "proto/dhcp/client/dhcp_client_setup.h"
#include "proto/dhcp/client/dhcp_supply.h"
#include "proto/dhcp/client/lease/dhcp_addresses.h"
#include "proto/dhcp/v4/dhcp4_plan.h"

#define NOT_ETHERNET "a client that broadcasts has an Ethernet address (mac, or mac_file)"
#define NS_PER_S     1000000000u
#define WAIT_MAX     (24 * 3600 * 1000000000ull)

static uint32_t ipv4(const struct addr *a)
{
	return bytes_be32(a->bytes);
}

// Do renewals etc. go through the relay?
static bool relays_all(const struct dhcp_settings *s)
{
	const struct dhcp4_relay_settings *relay = (const void *)s->relay;

	return relay && (relay->all || relay->server_id_override);
}

// Does the item send unicast messages past the relay?
static bool dhcp4_unicasts(const struct dhcp_settings *s)
{
	if (relays_all(s))
		return false;
	for (uint32_t e = 0; e < DHCP4_EXCHANGES; e++)
		if (dhcp_does(&dhcp4_family, s, e) &&
			(dhcp4_kinds[dhcp4_starts[e].step].has & DHCP4_IS_UNICAST))
			return true;
	return false;
}

static bool dhcp4_needs_none(const struct dhcp_settings *s, uint32_t exchange)
{
	return exchange == DHCP4_INFORMS &&
	       ((const struct dhcp4_settings *)s)->inform_address.count;
}

static void dhcp4_exchange_check(const struct dhcp_settings *s, uint32_t exchange, struct diag *d)
{
	if (exchange == DHCP4_LEASEQUERIES && !s->relay)
		diag_error(d, s, s->mix ? "mix" : "exchange", "leasequery needs a relay");
}

// Are there hardware addresses per client in a file?
static bool has_macs(const struct dhcp_settings *s)
{
	return s->mac_file || s->mac_column || s->wire;
}

static void check_chaddr(const struct dhcp4_settings *s, struct diag *d)
{
	uint8_t bytes[DHCP4_CHADDR_LEN] = {0}, *at;
	uint32_t len = dhcp_mac_read(s->chaddr, bytes);
	uint64_t left = dhcp_clients(&s->is) - 1; // added to the first address

	for (at = bytes + len; at > bytes; left >>= 8)
		left += *--at;
	if (len == 0)
		diag_error(d, &s->chaddr, NULL,
			"\"%s\" is not a hardware address (1 to %d bytes, like 00:01:02:03)",
			s->chaddr, DHCP4_CHADDR_LEN);
	else if (left)
		diag_error(d, &s->chaddr, NULL, "too near its end for %llu clients",
			(unsigned long long)dhcp_clients(&s->is));
	if (has_macs(&s->is))
		diag_error(d, &s->chaddr, NULL, "conflicts with mac_file, mac_column or wire");
	if (s->is.mac_count)
		diag_error(d, &s->chaddr, NULL, "conflicts with mac_count");
	if (!s->is.relay)
		diag_error(d, &s->chaddr, NULL, "needs a relay: " NOT_ETHERNET);
}

static void check_identity(const struct dhcp4_settings *s, struct diag *d)
{
	if (s->chaddr)
		check_chaddr(s, d);
	else if (!has_macs(&s->is))
		dhcp_mac_check(&s->is, d);
	if (s->is.wire && s->htype != DHCP4_HTYPE_ETHERNET)
		diag_error(d, &s->htype, NULL, "conflicts with wire: its clients have Ethernet's");
	if (s->is.wire && (s->client_id_text || s->client_id_hex))
		diag_error(d, s, s->client_id_text ? "client_id_text" : "client_id_hex",
			"conflicts with wire: its clients have identifiers of their own");
	if (!s->is.relay && s->htype != DHCP4_HTYPE_ETHERNET)
		diag_error(d, &s->htype, NULL, "needs a relay: " NOT_ETHERNET);
	if (s->htype == DHCP4_HTYPE_INFINIBAND && s->client_id == DHCP4_ID_NONE)
		diag_error(d, s, "client_id",
			"none, but clients of InfiniBand (htype 32) differ only in it");
	if ((s->client_id == DHCP4_ID_TEXT) != (s->client_id_text != NULL))
		diag_error(d, s, s->client_id_text ? "client_id_text" : "client_id",
			s->client_id_text ? "needs client_id: text" : "needs client_id_text");
	if ((s->client_id == DHCP4_ID_HEX) != (s->client_id_hex != NULL))
		diag_error(d, s, s->client_id_hex ? "client_id_hex" : "client_id",
			s->client_id_hex ? "needs client_id: hex" : "needs client_id_hex");
}

static void check_header(const struct dhcp4_header_settings *s, bool relayed, struct diag *d)
{
	const struct addr *fields[] = {&s->ciaddr, &s->yiaddr, &s->siaddr, &s->giaddr};

	for (uint32_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		dhcp_family_check(fields[i], fields[i], 4, d);
	if (s->giaddr.len && !relayed)
		diag_error(d, &s->giaddr, NULL, "needs a relay");
}

static void dhcp4_check_own(const struct dhcp_settings *settings, struct diag *d)
{
	const struct dhcp4_settings *s = (const struct dhcp4_settings *)settings;
	const struct dhcp4_retransmit_settings *retransmit = settings->retransmit;
	const struct addr_range *inform = &s->inform_address;
	unsigned long long clients = dhcp_clients(settings);

	check_identity(s, d);
	if (settings->spread != DHCP_FIRST && !settings->relay)
		diag_error(d, s, "spread", "needs a relay: a broadcast reaches all servers");
	dhcp_family_check(&s->accept, &s->accept, 4, d);
	if (inform->count && dhcp_family_check(&inform->first, inform, 4, d) &&
		inform->count < clients)
		diag_error(d, inform, NULL, "%llu addresses for %llu clients",
			(unsigned long long)inform->count, clients);
	if (s->query == DHCP4_BY_CLIENT_ID && s->client_id == DHCP4_ID_NONE)
		diag_error(d, &s->query, NULL, "needs a client_id");
	dhcp_family_check(&s->requested_address.first, &s->requested_address, 4, d);
	if (retransmit && retransmit->jitter_ns >= retransmit->initial_ns)
		diag_error(d, retransmit, "jitter", "not shorter than initial");
	if (s->expect) {
		const struct field_list *pool = &s->expect->pool;
		uint64_t room = dhcp_ranges_count(pool, 4, d);

		if (pool->count > 0 && room < dhcp_leases_wanted(&dhcp4_family, settings, false))
			diag_error(d, pool, "pool", "%llu addresses for %llu clients",
				(unsigned long long)room, clients);
	}
	if (s->header)
		check_header(s->header, settings->relay != NULL, d);
	if (s->lease_time_ns % NS_PER_S)
		diag_error(d, &s->lease_time_ns, "lease_time", "not whole seconds");
	if (settings->parameters.count > UINT8_MAX)
		diag_error(d, &settings->parameters, "parameters", "%u options (up to %u)",
			settings->parameters.count, UINT8_MAX);
}

static void dhcp4_plan_identity(struct dhcp_plan *plan, const struct dhcp_settings *settings)
{
	const struct dhcp4_settings *s = (const struct dhcp4_settings *)settings;
	uint8_t bytes[DHCP4_CHADDR_LEN];

	if (s->chaddr)
		dhcp_plan_mac(plan, bytes, dhcp_mac_read(s->chaddr, bytes));
	plan->stations = s->htype == DHCP4_HTYPE_ETHERNET || s->htype == DHCP4_HTYPE_IEEE802;
	plan->addresses = 1;
}

static struct dhcp_backoff dhcp4_backoff(const struct dhcp_settings *settings, uint32_t step)
{
	const struct dhcp4_retransmit_settings *s = settings->retransmit;

	(void)step; // all steps are retransmitted alike
	return (struct dhcp_backoff){.first_ns = s->initial_ns,
		.longest_ns = WAIT_MAX,
		.jitter_ns = s->jitter_ns,
		.factor = (uint32_t)s->factor,
		.tries = (uint32_t)s->tries};
}

static void dhcp4_plan_rest(
	struct dhcp_plan *plan, const struct dhcp_settings *settings, const struct proto_env *env)
{
	const struct dhcp4_settings *s = (const struct dhcp4_settings *)settings;
	const struct dhcp4_expect_settings *e = s->expect;
	const struct addr_range *r = e ? e->pool.items : NULL;
	struct dhcp4_plan *p = (struct dhcp4_plan *)plan;
	struct dhcp4_pool_range *pool;

	p->pad = (uint16_t)s->pad;
	p->relay_unicast = relays_all(settings);
	p->known_server = ipv4(&env->server) != 0;
	p->accept = ipv4(&s->accept);
	p->giaddr = s->header ? ipv4(&s->header->giaddr) : 0;
	p->query = (enum dhcp4_query)s->query;
	p->inform_first = ipv4(&s->inform_address.first);
	p->inform_count = p->inform_first ? plan->clients : 0;
	memcpy(p->starts, dhcp4_starts, sizeof(p->starts));
	if (p->inform_first)
		p->starts[DHCP4_INFORMS].from = p->starts[DHCP4_INFORMS].to = DHCP_IS_FREE;
	plan->course.starts = p->starts;
	p->hint_first = ipv4(&s->requested_address.first);
	recip_init(&p->hint_count, p->hint_first ? s->requested_address.count : 1);
	plan->same_lease = !e || e->same_address;
	p->pool_count = e ? e->pool.count : 0;
	p->pool = pool = arena_zalloc(plan->arena, (p->pool_count + 1) * sizeof(*pool));
	for (uint32_t i = 0; i < p->pool_count; i++)
		pool[i] = (struct dhcp4_pool_range){
			ipv4(&r[i].first), ipv4(&r[i].first) + (uint32_t)(r[i].count - 1)};
}

// Paths to the configured servers and to the servers of loaded leases; messages to other servers
// are broadcast until the run has met them.
static void paths_met(struct dhcp4_plan *p, struct addr *to)
{
	const struct dhcp_lease_file *leases = &p->is.leases;

	p->met = arena_zalloc(p->is.arena, DHCP_SERVERS_MAX * sizeof(*p->met));
	for (uint32_t i = 0; i < p->is.server_count; i++)
		p->met[i] = bytes_be32(p->is.servers[i]);
	for (uint32_t i = 0; i < leases->server_count; i++)
		if (bytes_be32(leases->servers[i].bytes))
			dhcp4_meet(p, bytes_be32(leases->servers[i].bytes));
	for (uint32_t i = 0; i < DHCP_SERVERS_MAX; i++) {
		to[i] = (struct addr){.len = 4};
		p->named |= (uint32_t)(p->met[i] != 0) << i;
		bytes_put_be32(to[i].bytes, p->met[i] ? p->met[i] : UINT32_MAX);
	}
}

// Destinations: broadcast if there is no relay, then the servers.
static uint32_t dhcp4_paths(struct dhcp_plan *plan, const struct dhcp_settings *s,
	const struct proto_env *env, struct addr *to)
{
	struct dhcp4_plan *p = (struct dhcp4_plan *)plan;

	if (!s->relay) {
		*to = (struct addr){4, {255, 255, 255, 255}};
		p->path_server = 1;
		if (!dhcp4_unicasts(s))
			return 1;
		paths_met(p, to + 1);
		return 1 + DHCP_SERVERS_MAX;
	}
	*to = env->server;
	for (uint32_t i = 0; i < s->servers.count; i++)
		to[1 + i] = ((const struct field_host *)s->servers.items)[i].addr;
	return plan->server_count;
}

// Text identifiers are assumed to be equal if they may be.
static bool dhcp4_same(
	const struct dhcp_plan *a, uint32_t ours, const struct dhcp_plan *b, uint32_t theirs)
{
	const struct dhcp4_plan *p = (const struct dhcp4_plan *)a;
	const struct dhcp4_plan *q = (const struct dhcp4_plan *)b;
	uint8_t our_chaddr[DHCP4_CHADDR_LEN], their_chaddr[DHCP4_CHADDR_LEN];

	if (p->client_id != q->client_id || p->htype != q->htype || a->mac_len != b->mac_len)
		return false;
	dhcp_mac_of(a, ours, our_chaddr);
	dhcp_mac_of(b, theirs, their_chaddr);
	return memcmp(our_chaddr, their_chaddr, sizeof(our_chaddr)) == 0;
}

static bool dhcp4_lease_load(
	struct dhcp_worker *worker, uint32_t client, const struct dhcp_saved *saved)
{
	const struct dhcp4_plan *p = (const struct dhcp4_plan *)worker->plan;
	struct dhcp4_worker *w = (struct dhcp4_worker *)worker;
	struct dhcp4_client *k = dhcp4_client_at(w, client);
	uint32_t address = bytes_be32(saved->bytes);

	switch (dhcp4_lease_hold(w, k, saved->client, address, saved->left_s, 0)) {
	case DHCP_NOBODY:
		break;
	case DHCP_UNWATCHED:
		dhcp4_lease_drop(w, client);
		return false;
	default:
		return false;
	}
	k->server_id = bytes_be32(p->is.leases.servers[saved->server].bytes);
	if (p->met && k->server_id)
		dhcp4_server_keep(p, k, k->server_id);
	else
		k->head.server = dhcp4_server_of(p, k, k->server_id);
	return true;
}

static void dhcp4_lease_save(
	const struct dhcp_worker *w, uint32_t client, uint32_t nth, struct dhcp_lease_held *out)
{
	const struct dhcp4_client *k = dhcp4_client_at((const struct dhcp4_worker *)w, client);

	(void)nth; // there is only one
	out->server.len = 4;
	bytes_put_be32(out->bytes, k->address);
	bytes_put_be32(out->server.bytes, k->server_id);
}

static uint64_t dhcp4_each(const struct dhcp_settings *s, bool prefixes)
{
	(void)s; // one per client
	return !prefixes;
}

// Hardware addresses of 8 bytes or more allow any number.
static uint64_t dhcp4_identities(const struct dhcp_settings *settings)
{
	const struct dhcp4_settings *s = (const struct dhcp4_settings *)settings;
	uint8_t bytes[DHCP4_CHADDR_LEN] = {0};
	uint32_t len = s->chaddr ? dhcp_mac_read(s->chaddr, bytes) : 0;
	uint64_t first = 0;

	if (has_macs(settings) || len >= sizeof(first))
		return UINT64_MAX;
	if (!s->chaddr)
		return dhcp_mac_room(settings);
	for (uint32_t i = 0; i < len; i++)
		first = first << 8 | bytes[i];
	return (1ull << 8 * len) - first;
}

static uint64_t dhcp4_accepted(const struct dhcp_settings *settings)
{
	const struct dhcp4_settings *s = (const struct dhcp4_settings *)settings;

	uint64_t informing = s->inform_address.count ? s->inform_address.count : UINT64_MAX;
	uint64_t leasing = s->expect ? dhcp_room(&s->expect->pool) : UINT64_MAX;

	return leasing < informing ? leasing : informing;
}

const struct dhcp_family dhcp4_family = {
	.name = "dhcp4",
	.addr_len = 4,
	.client_port = DHCP4_CLIENT_PORT,
	.server_port = DHCP4_SERVER_PORT,
	.steps = DHCP4_STEPS,
	.exchanges = DHCP4_EXCHANGES,
	.kinds = dhcp4_kinds,
	.spared = DHCP_IS_SILENT,
	.wrong_more = DHCP4_WRONG_MORE,
	.starts = dhcp4_starts,
	.exchange_names = dhcp4_exchange_names,
	.life = {DHCP4_RENEW, DHCP4_REBIND, DHCP4_REBOOT, DHCP4_RELEASES, true},
	.plan_size = sizeof(struct dhcp4_plan),
	.worker_size = sizeof(struct dhcp4_worker),
	.client_size = sizeof(struct dhcp4_client),
	.fqdn_rfc = "RFC 4702",
	.more_clients = {"raise dhcp4.clients, or set again: true", "raise dhcp4.clients"},
	.more_bound = "raise the share of dora or rapid in dhcp4.mix, lower that of release, or "
		      "begin with leases (dhcp4.leases.load)",
	.each = dhcp4_each,
	.identities = dhcp4_identities,
	.accepted = dhcp4_accepted,
	.check = dhcp4_check_own,
	.needs_none = dhcp4_needs_none,
	.exchange_check = dhcp4_exchange_check,
	.unicasts = dhcp4_unicasts,
	.answered = DHCP4_INFORMS, // RFC 2131 section 4.4.3: to ciaddr; some answer to the relay
	.plan_identity = dhcp4_plan_identity,
	.plan_rest = dhcp4_plan_rest,
	.backoff = dhcp4_backoff,
	.paths = dhcp4_paths,
	.templates = dhcp4_templates,
	.captured = dhcp4_captured,
	.same = dhcp4_same,
	.lease_load = dhcp4_lease_load,
	.lease_save = dhcp4_lease_save,
};

const char *dhcp4_no_server(const void *settings)
{
	const struct dhcp_settings *s = settings;

	return s->relay ? "is missing (the relays send to it)" : NULL;
}
