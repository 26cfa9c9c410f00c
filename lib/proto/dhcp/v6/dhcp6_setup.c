// SPDX-License-Identifier: BSD-3-Clause
// From settings to what the verbs of DHCPv6 clients use: identities, relays, servers and paths. Not
// here: what is refused (dhcp6_check.c), messages (dhcp6_templates.c), waits (dhcp6_waits.c),
// workers (dhcp6_open.c). Path: cold. Management thread.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/dhcp/v6/dhcp6_self.h"
#include "proto/dhcp/dhcp_setup.h"

static const struct addr all_agents = {16, {0xff, 0x02, [13] = 1, 0, 2}};  // ff02::1:2
static const struct addr all_servers = {16, {0xff, 0x05, [13] = 1, 0, 3}}; // ff05::1:3

struct dhcp6_plan *dhcp6_plan_new(const struct dhcp6_settings *s)
{
	struct dhcp6_plan *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->arena = arena_new();
	p->addresses = s->lease == DHCP6_WANTS_PREFIXES ? 0 : (uint32_t)s->addresses;
	p->prefixes = s->lease == DHCP6_WANTS_ADDRESSES ? 0 : (uint32_t)s->prefixes;
	p->stride = p->addresses + p->prefixes;
	recip_init(&p->by_stride, p->stride);
	return p;
}

static void build_identity(struct dhcp6_plan *p, const struct dhcp6_settings *s)
{
	p->clients = (uint32_t)s->clients;
	p->duid_kind = (enum dhcp6_duid)s->duid;
	for (int i = 0; i < 6; i++)
		p->mac = p->mac << 8 | s->mac[i];
	for (uint32_t i = 0; i < p->stride; i++) {
		bool prefix = dhcp6_is_prefix(p, i);

		p->ias[i].code = prefix ? DHCP6_OPT_IA_PD : DHCP6_OPT_IA_NA;
		p->ias[i].iaid = (uint32_t)s->iaid + (prefix ? i - p->addresses : i);
	}
	p->prefix_hint = (uint8_t)s->prefix_hint;
	dhcp_parameters_mark(p->parameters, &s->parameters);
}

static void build_relays(struct dhcp6_plan *p, const struct dhcp6_relay_settings *s)
{
	p->relays = dhcp_relays_make(&s->addresses, 16, p->arena, &p->relay_count);
	p->levels = (uint8_t)s->levels;
	p->ldra = s->ldra;
	p->own_link = s->link.len == 0;
	memcpy(p->link, s->link.bytes, 16);
	p->relay_port = (uint16_t)s->port;
	p->source_port = s->source_port && s->port != DHCP6_SERVER_PORT;
	p->client_mac = s->client_mac;
	p->layout.owned = s->addresses;
}

static void build_servers(
	struct dhcp6_plan *p, const struct dhcp6_settings *s, const struct proto_env *env)
{
	const struct addr *servers = s->servers.items;

	p->unicast = dhcp6_is_unicast(s);
	p->server_count = 1 + s->servers.count;
	memcpy(p->servers[0], env->server.bytes, 16);
	for (uint32_t i = 0; i < s->servers.count; i++)
		memcpy(p->servers[1 + i], servers[i].bytes, 16);
	p->server_port = env->server_port;
	p->course.spread = (enum dhcp_spread)s->spread;
	recip_init(&p->course.by_server, p->server_count);
	p->takes_best = s->advertise == DHCP6_TAKES_BEST;
	p->accept_len = (uint8_t)s->accept.len;
	if (s->accept.len)
		memcpy(p->accept, s->accept.data, s->accept.len);
}

static struct dhcp6_prefix_list prefixes_of(const struct field_list *list, struct arena *a)
{
	const struct addr_prefix *from = list->items;
	struct dhcp6_prefix_list out = {
		arena_zalloc(a, (list->count + 1) * sizeof(*out.items)), list->count};

	for (uint32_t i = 0; i < list->count; i++) {
		memcpy(out.items[i].bytes, from[i].addr.bytes, 16);
		for (uint32_t bit = 0; bit < from[i].bits; bit++)
			out.items[i].mask[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	}
	return out;
}

static void build_expect(struct dhcp6_plan *p, const struct dhcp6_expect_settings *e)
{
	p->same_lease = !e || e->same_lease;
	if (!e)
		return;
	p->pool = prefixes_of(&e->pool, p->arena);
	p->delegated = prefixes_of(&e->prefixes, p->arena);
	p->prefix_length = (uint8_t)e->prefix_length;
}

static void build_paths(
	struct dhcp6_plan *p, const struct dhcp6_settings *s, const struct proto_env *env)
{
	struct addr to[DHCP_SERVERS_MAX] = {env->server};

	if (s->to == DHCP6_TO_SERVERS)
		to[0] = all_servers;
	else if (!p->unicast)
		to[0] = all_agents;
	if (s->servers.count)
		memcpy(&to[1], s->servers.items, s->servers.count * sizeof(*to));
	dhcp_paths_make(&p->layout, &p->vlans, to, p->server_count, p->arena);
	p->layout.more = p->course.spread == DHCP_TO_EACH ? (uint8_t)(p->server_count - 1) : 0;
}

static void build_ports(struct dhcp6_plan *p, const struct dhcp6_settings *s)
{
	uint16_t *ports = arena_zalloc(p->arena, 2 * sizeof(*ports));
	uint32_t n = 0;

	if (!s->relay)
		ports[n++] = DHCP6_CLIENT_PORT;
	else if (!p->source_port)
		ports[n++] = DHCP6_SERVER_PORT;
	if (s->relay && p->relay_port != DHCP6_SERVER_PORT)
		ports[n++] = p->relay_port;
	p->layout.ports = (struct field_list){ports, n};
	p->layout.own_macs = !s->relay;
}

// Messages of the clients on a link are found by their MAC.
static int load_identities(struct dhcp6_plan *p, const struct dhcp6_settings *s, struct diag *d)
{
	const struct dhcp_macs_wanted wanted = {
		.clients = s->clients, .six = true, .stations = true, .find = !s->relay};
	int ret = s->mac_file ? dhcp_macs_load(&p->macs, &s->mac_file, &wanted, p->arena, d) : 0;

	return ret == 0 && s->duid_file ? dhcp6_duids_load(p, s, d) : ret;
}

static int load_leases(struct dhcp6_plan *p, const struct dhcp6_settings *s,
	const struct proto_env *env, struct diag *d)
{
	const struct dhcp_lease_clients of = dhcp6_lease_clients(p);

	if (!s->leases)
		return 0;
	dhcp_lease_file_workers(&p->leases, env->workers, p->arena);
	return dhcp_lease_file_load(&p->leases, s->leases, &of, d);
}

void *dhcp6_setup(const void *settings, const struct proto_env *env, struct diag *d)
{
	const struct dhcp6_settings *s = settings;
	struct dhcp6_plan *p;

	p = dhcp_clients_check(&s->clients, env, d) ? dhcp6_plan_new(s) : NULL;
	if (!p)
		return NULL;
	p->name = env->name;
	p->course.starts = dhcp6_starts;
	dhcp_mix_init(&p->course.mix, dhcp6_shares(s), DHCP6_EXCHANGES, (uint32_t)s->exchange);
	build_identity(p, s);
	if (s->relay)
		build_relays(p, s->relay);
	build_servers(p, s, env);
	build_expect(p, s->expect);
	dhcp6_build_waits(p, s->retransmit);
	p->course.rest_ms = dhcp_work_rest_ms(s->decline_rest_ns, s->retransmit);
	if (dhcp_vlans_make(&p->vlans, &s->vlans, s->clients) == 0) {
		build_paths(p, s, env);
		build_ports(p, s);
		if (dhcp6_build(p, s, d) == 0 && load_identities(p, s, d) == 0 &&
			load_leases(p, s, env, d) == 0)
			return p;
	}
	dhcp6_teardown(p);
	return NULL;
}

void dhcp6_teardown(void *shared)
{
	struct dhcp6_plan *p = shared;

	if (!p)
		return;
	dhcp_macs_free(&p->macs);
	dhcp_lease_file_free(&p->leases);
	free(p->vlans.places);
	free(p->duids);
	arena_free(p->arena);
	free(p);
}

void dhcp6_layout(const void *shared, struct proto_layout *out)
{
	const struct dhcp6_plan *p = shared;

	*out = p->layout;
}
