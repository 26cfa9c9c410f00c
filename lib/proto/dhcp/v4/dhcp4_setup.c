// SPDX-License-Identifier: BSD-3-Clause
// From settings to what the verbs of DHCPv4 clients use: identities, relays, servers, paths and
// waits. Not here: what is refused (dhcp4_check.c), messages (dhcp4_templates.c), workers
// (dhcp4_open.c). Path: cold. Management thread.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/dhcp/v4/dhcp4_self.h"
#include "proto/dhcp/dhcp_setup.h"

#define WAIT_MAX (24 * 3600 * 1000000000ull)

static uint32_t ipv4(const struct addr *a)
{
	return dhcp4_get32(a->bytes);
}

void dhcp4_build_chaddr(struct dhcp4_plan *p, const struct dhcp4_settings *s)
{
	uint8_t bytes[DHCP4_CHADDR_LEN] = {0};

	p->chaddr_len = sizeof(s->mac);
	memcpy(bytes, s->mac, sizeof(s->mac));
	if (s->chaddr)
		p->chaddr_len = (uint8_t)dhcp_mac_read(s->chaddr, bytes);
	for (uint32_t i = 0; i < sizeof(bytes); i++)
		p->chaddr = p->chaddr << 8 | bytes[i];
	p->chaddr_shift = (uint8_t)(8 * (DHCP4_CHADDR_LEN - p->chaddr_len));
}

static void build_identity(struct dhcp4_plan *p, const struct dhcp4_settings *s)
{
	p->clients = (uint32_t)s->clients;
	dhcp4_build_chaddr(p, s);
	dhcp_parameters_mark(p->parameters, &s->parameters);
	p->pad = (uint16_t)s->pad;
}

static void build_relays(struct dhcp4_plan *p, const struct dhcp4_relay_settings *s)
{
	uint32_t *relays = dhcp_relays_make(&s->addresses, 4, p->arena, &p->relay_count);

	for (uint32_t i = 0; i < p->relay_count; i++)
		relays[i] = dhcp4_get32((const uint8_t *)&relays[i]);
	p->relays = relays;
	p->relay_port = (uint16_t)s->port;
	p->relay_unicast = s->server_id_override != NULL;
	p->layout.owned = s->addresses;
}

static void build_servers(
	struct dhcp4_plan *p, const struct dhcp4_settings *s, const struct proto_env *env)
{
	const struct addr *servers = s->servers.items;

	p->server_count = 1 + s->servers.count;
	p->servers[0] = ipv4(&env->server);
	p->server_port = env->server_port;
	for (uint32_t i = 0; i < s->servers.count; i++)
		p->servers[1 + i] = ipv4(&servers[i]);
	p->course.spread = (enum dhcp_spread)s->spread;
	recip_init(&p->course.by_server, p->server_count);
	if (s->accept.len)
		p->accept = ipv4(&s->accept);
	recip_init(&p->hint_count, 1);
	if (s->requested_address.first.len == 0)
		return;
	p->hint_first = ipv4(&s->requested_address.first);
	recip_init(&p->hint_count, s->requested_address.count);
}

static void build_expect(struct dhcp4_plan *p, const struct dhcp4_settings *s)
{
	const struct dhcp4_expect_settings *e = s->expect;
	const struct addr_range *r = e ? e->pool.items : NULL;
	struct dhcp4_pool_range *pool;

	p->same_address = !e || e->same_address;
	if (!e)
		return;
	pool = arena_zalloc(p->arena, (e->pool.count + 1) * sizeof(*pool));
	for (uint32_t i = 0; i < e->pool.count; i++)
		pool[i] = (struct dhcp4_pool_range){
			ipv4(&r[i].first), ipv4(&r[i].first) + (uint32_t)(r[i].count - 1)};
	p->pool = pool;
	p->pool_count = e->pool.count;
}

static void build_waits(struct dhcp4_plan *p, const struct dhcp4_retransmit_settings *s)
{
	struct dhcp_backoff kinds[DHCP4_STEPS];

	for (int i = 0; s && i < DHCP4_STEPS; i++)
		kinds[i] = (struct dhcp_backoff){.first_ns = s->initial_ns,
			.longest_ns = WAIT_MAX,
			.jitter_ns = s->jitter_ns,
			.factor = (uint32_t)s->factor,
			.tries = (uint32_t)s->tries};
	dhcp_waits_build(
		&p->course.waits, s ? kinds : NULL, DHCP4_STEPS, p->arena, &p->layout.waits);
}

// The broadcast where there is no relay, then the servers.
static void build_paths(
	struct dhcp4_plan *p, const struct dhcp4_settings *s, const struct proto_env *env)
{
	struct addr to[1 + DHCP_SERVERS_MAX] = {{4, {255, 255, 255, 255}}};
	bool broadcast = !s->relay, unicast = s->relay || dhcp4_unicasts(s);

	to[broadcast] = env->server;
	if (s->servers.count)
		memcpy(&to[broadcast + 1], s->servers.items, s->servers.count * sizeof(*to));
	p->path_server = broadcast;
	p->path_stride = broadcast + (unicast ? p->server_count : 0);
	dhcp_paths_make(&p->layout, &p->vlans, to, p->path_stride, p->arena);
}

static void build_ports(struct dhcp4_plan *p, const struct dhcp4_settings *s)
{
	uint16_t *ports = arena_zalloc(p->arena, 3 * sizeof(*ports));
	uint32_t n = 0;

	if (s->relay && (p->relay_port == DHCP4_SERVER_PORT || !s->relay->source_port))
		ports[n++] = DHCP4_SERVER_PORT;
	if (s->relay && p->relay_port != DHCP4_SERVER_PORT)
		ports[n++] = p->relay_port;
	if (p->relay_port != DHCP4_CLIENT_PORT && (!s->relay || dhcp4_unicasts(s)))
		ports[n++] = DHCP4_CLIENT_PORT;
	p->layout.ports = (struct field_list){ports, n};
	p->layout.own_macs = !s->relay;
	p->layout.more = p->course.spread == DHCP_TO_EACH ? (uint8_t)(p->server_count - 1) : 0;
}

static int load_macs(struct dhcp4_plan *p, const struct dhcp4_settings *s, struct diag *d)
{
	const struct dhcp_macs_wanted wanted = {.clients = s->clients,
		.six = !s->relay,
		.stations = s->htype == DHCP4_HTYPE_ETHERNET || s->htype == DHCP4_HTYPE_IEEE802};
	int ret = s->mac_file ? dhcp_macs_load(&p->macs, &s->mac_file, &wanted, p->arena, d) : 0;

	if (p->macs.items)
		p->chaddr_len = (uint8_t)p->macs.len;
	return ret;
}

static int load_leases(struct dhcp4_plan *p, const struct dhcp4_settings *s,
	const struct proto_env *env, struct diag *d)
{
	const struct dhcp_lease_clients of = dhcp4_lease_clients(p);

	if (!s->leases)
		return 0;
	dhcp_lease_file_workers(&p->leases, env->workers, p->arena);
	return dhcp_lease_file_load(&p->leases, s->leases, &of, d);
}

void *dhcp4_setup(const void *settings, const struct proto_env *env, struct diag *d)
{
	const struct dhcp4_settings *s = settings;
	struct dhcp4_plan *p;

	p = dhcp_clients_check(&s->clients, env, d) ? calloc(1, sizeof(*p)) : NULL;
	if (!p)
		return NULL;
	p->arena = arena_new();
	p->name = env->name;
	p->course.starts = dhcp4_starts;
	dhcp_mix_init(&p->course.mix, dhcp4_shares(s), DHCP4_EXCHANGES, (uint32_t)s->exchange);
	build_identity(p, s);
	if (s->relay)
		build_relays(p, s->relay);
	build_servers(p, s, env);
	build_expect(p, s);
	build_waits(p, s->retransmit);
	p->course.rest_ms = dhcp_work_rest_ms(s->decline_rest_ns, s->retransmit);
	if (dhcp_vlans_make(&p->vlans, &s->vlans, s->clients) == 0) {
		build_paths(p, s, env);
		build_ports(p, s);
		if (load_macs(p, s, d) == 0 && dhcp4_build(p, s, d) == 0 &&
			load_leases(p, s, env, d) == 0)
			return p;
	}
	dhcp4_teardown(p);
	return NULL;
}

void dhcp4_teardown(void *shared)
{
	struct dhcp4_plan *p = shared;

	if (!p)
		return;
	dhcp_macs_free(&p->macs);
	dhcp_lease_file_free(&p->leases);
	free(p->vlans.places);
	arena_free(p->arena);
	free(p);
}

void dhcp4_layout(const void *shared, struct proto_layout *out)
{
	const struct dhcp4_plan *p = shared;

	*out = p->layout;
}
