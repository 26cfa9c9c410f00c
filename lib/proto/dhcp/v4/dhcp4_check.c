// SPDX-License-Identifier: BSD-3-Clause
// Which settings of DHCPv4 clients go together. Path: cold. Management thread.

#include <stdlib.h>
#include <string.h>

#include "proto/dhcp/v4/dhcp4_plan.h"
#include "proto/dhcp/dhcp_setup.h"

#define NOT_ETHERNET "a client that broadcasts has an Ethernet address (mac, or mac_file)"
#define NS_PER_S     1000000000u

const double *dhcp4_shares(const struct dhcp4_settings *s)
{
	return s->mix ? s->mix->share : NULL;
}

static bool does(const struct dhcp4_settings *s, enum dhcp4_exchange exchange)
{
	return dhcp_mix_share(dhcp4_shares(s), DHCP4_EXCHANGES, (uint32_t)s->exchange, exchange) >
	       0;
}

bool dhcp4_unicasts(const struct dhcp4_settings *s)
{
	if (s->relay && s->relay->server_id_override)
		return false;
	for (int e = 0; e < DHCP4_EXCHANGES; e++)
		if (does(s, (enum dhcp4_exchange)e) &&
			(dhcp4_kinds[dhcp4_starts[e].step].has & DHCP4_IS_UNICAST))
			return true;
	return false;
}

static void check_mix(const struct dhcp4_settings *s, struct diag *d)
{
	bool leased = does(s, DHCP4_DORA) || does(s, DHCP4_RAPID) || (s->leases && s->leases->load);

	if (!dhcp_mix_check(dhcp4_shares(s), DHCP4_EXCHANGES, d))
		return;
	for (int e = 0; e < DHCP4_EXCHANGES && !leased; e++) {
		if (dhcp4_starts[e].from != DHCP_IS_BOUND || !does(s, (enum dhcp4_exchange)e))
			continue;
		dhcp_unleased(s, dhcp4_exchange_names[e], dhcp4_exchange_names[DHCP4_DORA], d);
		return;
	}
	if (does(s, DHCP4_LEASEQUERIES) && !s->relay)
		diag_error(d, s, s->mix ? "mix" : "exchange", "leasequery needs a relay");
}

static void check_chaddr(const struct dhcp4_settings *s, struct diag *d)
{
	uint8_t bytes[DHCP4_CHADDR_LEN] = {0}, *at;
	uint32_t len = dhcp_mac_read(s->chaddr, bytes);
	uint64_t left = s->clients - 1; // to add to the address

	for (at = bytes + len; at > bytes; left >>= 8)
		left += *--at;
	if (len == 0)
		diag_error(d, &s->chaddr, NULL,
			"\"%s\" is not a hardware address (1 to %d bytes, like 00:01:02:03)",
			s->chaddr, DHCP4_CHADDR_LEN);
	else if (left)
		diag_error(d, &s->chaddr, NULL, "too near its end for %llu clients",
			(unsigned long long)s->clients);
	if (s->mac_file)
		diag_error(d, &s->chaddr, NULL, "stands beside mac_file");
	if (!s->relay)
		diag_error(d, &s->chaddr, NULL, "needs a relay: " NOT_ETHERNET);
}

static void check_identity(const struct dhcp4_settings *s, struct diag *d)
{
	if (s->chaddr)
		check_chaddr(s, d);
	else if (!s->mac_file)
		dhcp_mac_check(s->mac, s->clients, d);
	if (!s->relay && s->htype != DHCP4_HTYPE_ETHERNET)
		diag_error(d, &s->htype, NULL, "needs a relay: " NOT_ETHERNET);
	if (s->htype == DHCP4_HTYPE_INFINIBAND && s->client_id == DHCP4_ID_NONE)
		diag_error(d, s, "client_id",
			"none, but only it tells clients of InfiniBand (htype 32) apart");
	if ((s->client_id == DHCP4_ID_TEXT) != (s->client_id_text != NULL))
		diag_error(d, s, s->client_id_text ? "client_id_text" : "client_id",
			s->client_id_text ? "needs client_id: text" : "needs client_id_text");
}

static void check_servers(const struct dhcp4_settings *s, struct diag *d)
{
	dhcp_servers_check(&s->servers, 4, d);
	if (s->spread != DHCP_FIRST && !s->relay)
		diag_error(d, s, "spread", "needs a relay: a broadcast reaches all servers");
	dhcp_family_check(&s->accept, &s->accept, 4, d);
	dhcp_family_check(&s->requested_address.first, &s->requested_address, 4, d);
}

uint64_t dhcp4_leases_wanted(const struct dhcp4_settings *s)
{
	return does(s, DHCP4_DORA) || does(s, DHCP4_RAPID) ? s->clients : 0;
}

static void check_expect(const struct dhcp4_settings *s, struct diag *d)
{
	const struct field_list *pool = &s->expect->pool;
	uint64_t count = dhcp_ranges_count(pool, 4, d);

	if (pool->count > 0 && count < dhcp4_leases_wanted(s))
		diag_error(d, pool, "pool", "%llu addresses for %llu clients",
			(unsigned long long)count, (unsigned long long)s->clients);
}

static void check_content(const struct dhcp4_settings *s, struct diag *d)
{
	if (s->lease_time_ns % NS_PER_S)
		diag_error(d, &s->lease_time_ns, "lease_time", "not whole seconds");
	if (s->parameters.count > UINT8_MAX)
		diag_error(d, &s->parameters, "parameters", "%u options (up to %u)",
			s->parameters.count, UINT8_MAX);
	if (s->fqdn && s->fqdn->no_update && s->fqdn->server_update)
		diag_error(d, s->fqdn, "no_update",
			"stands beside server_update (RFC 4702: not both)");
}

// Messages with these options: are they short enough?
static void check_messages(const struct dhcp4_settings *s, struct diag *d)
{
	struct dhcp4_plan *p = calloc(1, sizeof(*p));

	if (!p)
		return;
	p->arena = arena_new();
	dhcp4_build_chaddr(p, s);
	if (p->chaddr_len)
		dhcp4_build(p, s, d);
	dhcp4_teardown(p);
}

// Files of MACs and leases are large and read once, by setup.
void dhcp4_check(const void *settings, struct diag *d)
{
	const struct dhcp4_settings *s = settings;

	check_mix(s, d);
	check_identity(s, d);
	dhcp_vlans_check(&s->vlans, d);
	check_servers(s, d);
	if (s->relay)
		dhcp_relays_check(&s->relay->addresses, 4, d);
	if (s->retransmit && s->retransmit->jitter_ns >= s->retransmit->initial_ns)
		diag_error(d, s->retransmit, "jitter", "not shorter than initial");
	if (s->expect)
		check_expect(s, d);
	check_content(s, d);
	check_messages(s, d);
}

void dhcp4_check_server(const void *settings, const struct addr *server, struct diag *d)
{
	const struct dhcp4_settings *s = settings;

	if (!dhcp_family_check(server, server, 4, d) || server->len)
		return;
	if (s->relay)
		diag_error(d, server, "server", "is missing (what the relays send to)");
	else if (dhcp4_unicasts(s))
		diag_error(
			d, server, "server", "is missing (what renew, release and inform go to)");
}
