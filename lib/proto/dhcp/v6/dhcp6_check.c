// SPDX-License-Identifier: BSD-3-Clause
// Which settings of DHCPv6 clients go together. Path: cold. Management thread.

#include <math.h>

#include "proto/dhcp/v6/dhcp6_plan.h"
#include "proto/dhcp/dhcp_setup.h"

const double *dhcp6_shares(const struct dhcp6_settings *s)
{
	return s->mix ? s->mix->share : NULL;
}

static bool does(const struct dhcp6_settings *s, enum dhcp6_exchange exchange)
{
	return dhcp_mix_share(dhcp6_shares(s), DHCP6_EXCHANGES, (uint32_t)s->exchange, exchange) >
	       0;
}

bool dhcp6_is_unicast(const struct dhcp6_settings *s)
{
	return s->to == DHCP6_TO_SERVER || (s->to == DHCP6_TO_AUTO && s->relay);
}

static void check_bound(const struct dhcp6_settings *s, enum dhcp6_exchange e, struct diag *d)
{
	const void *where = s->mix ? (const void *)s->mix : s;
	bool loaded = s->leases && s->leases->load;

	if (!does(s, DHCP6_SARR) && !does(s, DHCP6_RAPID) && !loaded)
		dhcp_unleased(s, dhcp6_exchange_names[e], dhcp6_exchange_names[DHCP6_SARR], d);
	else if ((e == DHCP6_DECLINES || e == DHCP6_CONFIRMS) && s->lease == DHCP6_WANTS_PREFIXES)
		diag_error(d, where, s->mix ? dhcp6_exchange_names[e] : "exchange",
			"%s is about addresses (lease: address or both)", dhcp6_exchange_names[e]);
}

static void check_mix(const struct dhcp6_settings *s, struct diag *d)
{
	if (!dhcp_mix_check(dhcp6_shares(s), DHCP6_EXCHANGES, d))
		return;
	for (int e = 0; e < DHCP6_EXCHANGES; e++)
		if (dhcp6_starts[e].from == DHCP_IS_BOUND && does(s, (enum dhcp6_exchange)e))
			check_bound(s, (enum dhcp6_exchange)e, d);
}

static void check_identity(const struct dhcp6_settings *s, struct diag *d)
{
	if (!s->mac_file)
		dhcp_mac_check(s->mac, s->clients, d);
	if ((s->duid == DHCP6_DUID_HEX) != (s->duid_hex != NULL))
		diag_error(d, s, s->duid_hex ? "duid_hex" : "duid",
			s->duid_hex ? "needs duid: hex" : "needs duid_hex");
	if ((s->duid == DHCP6_DUID_FILE) != (s->duid_file != NULL))
		diag_error(d, s, s->duid_file ? "duid_file" : "duid",
			s->duid_file ? "needs duid: file" : "needs duid_file");
	if (s->accept.len && (s->accept.len < DHCP6_DUID_MIN || s->accept.len > DHCP6_DUID_MAX))
		diag_error(d, &s->accept, "accept", "%u bytes are not a DUID (%d to %d)",
			(unsigned)s->accept.len, DHCP6_DUID_MIN, DHCP6_DUID_MAX);
}

static void check_leases(const struct dhcp6_settings *s, struct diag *d)
{
	uint64_t addresses = s->lease == DHCP6_WANTS_PREFIXES ? 0 : s->addresses;
	uint64_t prefixes = s->lease == DHCP6_WANTS_ADDRESSES ? 0 : s->prefixes;

	if (addresses + prefixes > DHCP6_IAS_MAX)
		diag_error(d, s, addresses > prefixes ? "addresses" : "prefixes",
			"%llu addresses and prefixes of a client (together up to %d)",
			(unsigned long long)(addresses + prefixes), DHCP6_IAS_MAX);
	if (s->prefix_hint && s->lease == DHCP6_WANTS_ADDRESSES)
		diag_error(d, &s->prefix_hint, "prefix_hint", "needs lease: prefix or both");
	if (s->iaid + DHCP6_IAS_MAX > UINT32_MAX)
		diag_error(d, &s->iaid, "iaid", "too large (up to %u)", UINT32_MAX - DHCP6_IAS_MAX);
}

static void check_relay(const struct dhcp6_relay_settings *s, struct diag *d)
{
	dhcp_relays_check(&s->addresses, 16, d);
	dhcp_family_check(&s->link, &s->link, 16, d);
	if (s->ldra && s->link.len && s->levels == 1)
		diag_error(d, &s->link, "link",
			"a relay on layer 2 alone names no link (with levels: 2 the outer one "
			"does)");
}

static void check_servers(const struct dhcp6_settings *s, struct diag *d)
{
	dhcp_servers_check(&s->servers, 16, d);
	if (dhcp6_is_unicast(s))
		return;
	if (s->servers.count)
		diag_error(d, &s->servers, "servers", "a group reaches all servers (to: server)");
	else if (s->spread != DHCP_FIRST)
		diag_error(d, s, "spread", "a group reaches all servers (to: server)");
}

// How many prefixes of `bits` the list has room for.
static double room_of(const struct field_list *list, uint32_t bits, struct diag *d)
{
	const struct addr_prefix *p = list->items;
	double room = 0;

	for (uint32_t i = 0; i < list->count; i++) {
		if (!dhcp_family_check(&p[i].addr, &p[i], 16, d))
			continue;
		if (p[i].bits > bits)
			diag_error(d, &p[i], NULL, "longer than prefix_length (up to /%u)", bits);
		else
			room += ldexp(1, (int)(bits - p[i].bits));
	}
	return room;
}

uint64_t dhcp6_leases_wanted(const struct dhcp6_settings *s, bool prefixes)
{
	enum dhcp6_lease_kind others = prefixes ? DHCP6_WANTS_ADDRESSES : DHCP6_WANTS_PREFIXES;

	if ((!does(s, DHCP6_SARR) && !does(s, DHCP6_RAPID)) || s->lease == (int32_t)others)
		return 0;
	return s->clients * (prefixes ? s->prefixes : s->addresses);
}

static void check_expect(const struct dhcp6_settings *s, struct diag *d)
{
	const struct dhcp6_expect_settings *e = s->expect;
	uint32_t bits = e->prefix_length ? (uint32_t)e->prefix_length : 128;
	double addresses = room_of(&e->pool, 128, d), prefixes = room_of(&e->prefixes, bits, d);

	if (e->pool.count && addresses < (double)dhcp6_leases_wanted(s, false))
		diag_error(d, &e->pool, "pool", "%.0f addresses for %llu clients", addresses,
			(unsigned long long)s->clients);
	if (e->prefixes.count && prefixes < (double)dhcp6_leases_wanted(s, true))
		diag_error(d, &e->prefixes, "prefixes", "%.0f prefixes for %llu clients", prefixes,
			(unsigned long long)s->clients);
}

// Messages with these options and waits: are they short enough, and few?
static void check_messages(const struct dhcp6_settings *s, struct diag *d)
{
	struct dhcp6_plan *p = dhcp6_plan_new(s);
	uint32_t waits;

	if (!p)
		return;
	waits = dhcp6_build_waits(p, s->retransmit);
	if (waits > PROTO_MAX_WAITS)
		diag_error(d, s->retransmit, "", "%u different waits (up to %d: smaller mrc)",
			waits, PROTO_MAX_WAITS);
	dhcp6_build(p, s, d);
	dhcp6_teardown(p);
}

// Files of MACs, DUIDs and leases are large and read once, by setup.
void dhcp6_check(const void *settings, struct diag *d)
{
	const struct dhcp6_settings *s = settings;
	unsigned before = diag_count(d);

	check_mix(s, d);
	check_identity(s, d);
	check_leases(s, d);
	dhcp_vlans_check(&s->vlans, d);
	check_servers(s, d);
	if (s->relay)
		check_relay(s->relay, d);
	if (s->expect)
		check_expect(s, d);
	if (s->fqdn && s->fqdn->no_update && s->fqdn->server_update)
		diag_error(d, s->fqdn, "no_update",
			"stands beside server_update (RFC 4704: not both)");
	if (diag_count(d) == before)
		check_messages(s, d);
}

void dhcp6_check_server(const void *settings, const struct addr *server, struct diag *d)
{
	const struct dhcp6_settings *s = settings;

	if (dhcp_family_check(server, server, 16, d) && server->len == 0 && dhcp6_is_unicast(s))
		diag_error(d, server, "server", "is missing (or to: all, to: servers)");
}
