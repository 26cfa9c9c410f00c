// SPDX-License-Identifier: BSD-3-Clause
// From settings to what the verbs of DHCPv4 clients use: cross-field checks, shares, relays, paths,
// waits, and the clients of a worker. Not here: messages (dhcp4_templates.c). Path: cold.
// Management thread.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "proto/dhcp4_internal.h"
#include "proto/dhcp4_self.h"

#define RELAYS_MAX   1048576
#define VLANS_MAX    1024 // ranges of clients
#define WAIT_MAX     (24 * 3600 * 1000000000ull)
#define MAC_BITS     48
#define NOT_ETHERNET "a client that broadcasts has an Ethernet address (mac, or mac_file)"
#define NS_PER_S     1000000000u
#define OWNER_TEXT   128

static uint32_t ipv4(const struct addr *a)
{
	return dhcp4_get32(a->bytes);
}

static bool check_ipv4(const struct addr *a, const void *where, struct diag *d)
{
	if (a->len == 0 || a->len == 4)
		return true;
	diag_error(d, where, NULL, "not an IPv4 address");
	return false;
}

static const double *shares_of(const struct dhcp4_settings *s)
{
	return s->mix ? s->mix->share : NULL;
}

static bool does(const struct dhcp4_settings *s, enum dhcp4_exchange exchange)
{
	return dhcp_mix_share(shares_of(s), DHCP4_EXCHANGES, (uint32_t)s->exchange, exchange) > 0;
}

// Does anybody talk to a server from the leased address?
static bool unicasts(const struct dhcp4_settings *s)
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
	double sum = 0;

	for (int e = 0; s->mix && e < DHCP4_EXCHANGES; e++)
		sum += s->mix->share[e];
	if (sum > 1 + 1e-9) {
		diag_error(d, s->mix, "", "the shares add up to %g%% (up to 100%%)", sum * 100);
		return;
	}
	for (int e = 0; e < DHCP4_EXCHANGES; e++) {
		if (dhcp4_starts[e].from != DHCP_IS_BOUND || !does(s, (enum dhcp4_exchange)e) ||
			does(s, DHCP4_DORA) || does(s, DHCP4_RAPID) ||
			(s->leases && s->leases->load))
			continue;
		diag_error(d, s, "exchange",
			"%s needs clients that hold a lease (with a share of dora or rapid: "
			"mix: {dora: 50%%}, or leases: {load: FILE})",
			dhcp4_exchange_names[e]);
		return;
	}
	if (does(s, DHCP4_LEASEQUERIES) && !s->relay)
		diag_error(d, s, s->mix ? "mix" : "exchange", "leasequery needs a relay");
}

static void build_chaddr(struct dhcp4_plan *p, const struct dhcp4_settings *s)
{
	uint8_t bytes[DHCP4_CHADDR_LEN] = {0};

	p->chaddr_len = sizeof(s->mac);
	memcpy(bytes, s->mac, sizeof(s->mac));
	if (s->chaddr)
		p->chaddr_len = (uint8_t)dhcp4_chaddr_read(s->chaddr, bytes);
	for (uint32_t i = 0; i < sizeof(bytes); i++)
		p->chaddr = p->chaddr << 8 | bytes[i];
	p->chaddr_shift = (uint8_t)(8 * (DHCP4_CHADDR_LEN - p->chaddr_len));
}

// The addresses of clients run on from the first one, but not into those of groups.
static void check_mac(const struct dhcp4_settings *s, struct diag *d)
{
	uint64_t first = 0, last;

	for (int i = 0; i < 6; i++)
		first = first << 8 | s->mac[i];
	last = first + s->clients - 1;
	if ((first >> 40 & 1) || (last >> 40 & 1) || last >> MAC_BITS)
		diag_error(d, s->mac, NULL, "%s (the first byte is even)",
			first >> 40 & 1 ? "a group address" : "runs into group addresses");
}

static void check_chaddr(const struct dhcp4_settings *s, struct diag *d)
{
	uint8_t bytes[DHCP4_CHADDR_LEN] = {0}, *at;
	uint32_t len = dhcp4_chaddr_read(s->chaddr, bytes);
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
		check_mac(s, d);
	if (!s->relay && s->htype != DHCP4_HTYPE_ETHERNET)
		diag_error(d, &s->htype, NULL, "needs a relay: " NOT_ETHERNET);
	if (s->htype == DHCP4_HTYPE_INFINIBAND && s->client_id == DHCP4_ID_NONE)
		diag_error(d, s, "client_id",
			"none, but only it tells clients of InfiniBand (htype 32) apart");
	if ((s->client_id == DHCP4_ID_TEXT) != (s->client_id_text != NULL))
		diag_error(d, s, s->client_id_text ? "client_id_text" : "client_id",
			s->client_id_text ? "needs client_id: text" : "needs client_id_text");
}

static uint64_t addresses_count(const struct field_list *list, struct diag *d)
{
	const struct addr_range *r = list->items;
	uint64_t count = 0;

	for (uint32_t i = 0; i < list->count; i++)
		if (check_ipv4(&r[i].first, &r[i], d))
			count += r[i].count;
	return count;
}

static void check_relay(const struct dhcp4_relay_settings *s, struct diag *d)
{
	uint64_t count = addresses_count(&s->addresses, d);

	if (s->addresses.count == 0)
		diag_error(d, s, "addresses", "no address");
	if (count > RELAYS_MAX)
		diag_error(d, &s->addresses, "addresses", "%llu relays (up to %u)",
			(unsigned long long)count, RELAYS_MAX);
}

static void check_vlans(const struct dhcp4_settings *s, struct diag *d)
{
	const struct dhcp4_vlan_settings *v = s->vlans.items;

	if (s->vlans.count > VLANS_MAX)
		diag_error(
			d, &s->vlans, "vlans", "%u ranges (up to %u)", s->vlans.count, VLANS_MAX);
	for (uint32_t i = 0; i < s->vlans.count && i < VLANS_MAX; i++) {
		if (v[i].vlans.count < 1 || v[i].vlans.count > 2)
			diag_error(d, &v[i], "vlans", "%u VLANs (1 or 2)", v[i].vlans.count);
		for (uint32_t k = 0; k < i; k++)
			if (v[i].clients.first <= v[k].clients.last &&
				v[k].clients.first <= v[i].clients.last)
				diag_error(d, &v[i], "clients", "clients are in two ranges");
	}
}

static void check_servers(const struct dhcp4_settings *s, struct diag *d)
{
	const struct addr *servers = s->servers.items;

	for (uint32_t i = 0; i < s->servers.count; i++)
		check_ipv4(&servers[i], &servers[i], d);
	if (s->servers.count >= DHCP4_SERVERS_MAX)
		diag_error(d, &s->servers, "servers", "%u servers (up to %u)", s->servers.count,
			DHCP4_SERVERS_MAX - 1);
	if (s->spread != DHCP_FIRST && !s->relay)
		diag_error(d, s, "spread", "needs a relay: a broadcast reaches all servers");
	check_ipv4(&s->accept, &s->accept, d);
	check_ipv4(&s->requested_address.first, &s->requested_address, d);
}

uint64_t dhcp_holders_wanted(const struct dhcp4_settings *s)
{
	return does(s, DHCP4_DORA) || does(s, DHCP4_RAPID) ? s->clients : 0;
}

static void check_expect(const struct dhcp4_settings *s, struct diag *d)
{
	const struct dhcp4_expect_settings *e = s->expect;
	uint64_t count = addresses_count(&e->pool, d);

	if (e->pool.count > 0 && count < dhcp_holders_wanted(s))
		diag_error(d, &e->pool, "pool", "%llu addresses for %llu clients",
			(unsigned long long)count, (unsigned long long)s->clients);
}

static void check_retransmit(const struct dhcp4_retransmit_settings *s, struct diag *d)
{
	if (s->jitter_ns >= s->initial_ns)
		diag_error(d, s, "jitter", "not shorter than initial");
}

// The file of MACs is large and read once, by setup.
void dhcp4_check(const void *settings, struct diag *d)
{
	const struct dhcp4_settings *s = settings;
	struct dhcp4_plan *p;

	check_mix(s, d);
	check_identity(s, d);
	check_vlans(s, d);
	check_servers(s, d);
	if (s->relay)
		check_relay(s->relay, d);
	if (s->retransmit)
		check_retransmit(s->retransmit, d);
	if (s->expect)
		check_expect(s, d);
	if (s->lease_time_ns % NS_PER_S)
		diag_error(d, &s->lease_time_ns, "lease_time", "not whole seconds");
	if (s->parameters.count > UINT8_MAX)
		diag_error(d, &s->parameters, "parameters", "%u options (up to %u)",
			s->parameters.count, UINT8_MAX);
	if (s->fqdn && s->fqdn->no_update && s->fqdn->server_update)
		diag_error(d, s->fqdn, "no_update",
			"stands beside server_update (RFC 4702: not "
			"both)");
	p = calloc(1, sizeof(*p));
	if (!p)
		return;
	p->arena = arena_new();
	build_chaddr(p, s);
	if (p->chaddr_len)
		dhcp4_build(p, s, d);
	dhcp4_teardown(p);
}

void dhcp4_check_server(const void *settings, const struct addr *server, struct diag *d)
{
	const struct dhcp4_settings *s = settings;

	if (server->len == 16)
		diag_error(d, server, NULL, "not an IPv4 address");
	else if (server->len == 0 && s->relay)
		diag_error(d, server, "server", "is missing (what the relays send to)");
	else if (server->len == 0 && unicasts(s))
		diag_error(
			d, server, "server", "is missing (what renew, release and inform go to)");
}

static void build_relays(struct dhcp4_plan *p, const struct dhcp4_relay_settings *s)
{
	const struct addr_range *r = s->addresses.items;
	uint64_t count = 0;
	uint32_t *relays;

	for (uint32_t i = 0; i < s->addresses.count; i++)
		count += r[i].count;
	relays = arena_zalloc(p->arena, count * sizeof(*relays));
	for (uint32_t i = 0; i < s->addresses.count; i++)
		for (uint64_t k = 0; k < r[i].count; k++)
			relays[p->relay_count++] = ipv4(&r[i].first) + (uint32_t)k;
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

static void set_vlans(struct proto_path *path, const struct dhcp4_vlan_settings *v)
{
	const uint64_t *vlans = v ? v->vlans.items : NULL;

	path->vlan_count = v ? (uint8_t)v->vlans.count : 0;
	for (uint32_t i = 0; i < path->vlan_count; i++)
		path->vlans[i] = (uint16_t)vlans[i];
}

// For every set of VLANs: the broadcast where there is no relay, then the servers.
static void build_paths(
	struct dhcp4_plan *p, const struct dhcp4_settings *s, const struct proto_env *env)
{
	const struct addr *servers = s->servers.items;
	struct proto_path *paths, *at;
	bool broadcast = !s->relay, unicast = s->relay || unicasts(s);
	uint32_t sets = 1 + s->vlans.count;

	p->vlans = s->vlans.items;
	p->vlan_count = s->vlans.count;
	p->path_server = broadcast;
	p->path_stride = broadcast + (unicast ? p->server_count : 0);
	at = paths = arena_zalloc(p->arena, sets * p->path_stride * sizeof(*paths));
	for (uint32_t set = 0; set < sets; set++) {
		for (uint32_t i = 0; i < p->path_stride; i++, at++) {
			set_vlans(at, set ? &p->vlans[set - 1] : NULL);
			if (broadcast && i == 0)
				at->dst = (struct addr){4, {255, 255, 255, 255}};
			else if (i == p->path_server)
				at->dst = env->server;
			else
				at->dst = servers[i - p->path_server - 1];
		}
	}
	p->layout.paths = (struct field_list){paths, sets * p->path_stride};
}

static void build_ports(struct dhcp4_plan *p, const struct dhcp4_settings *s)
{
	uint16_t *ports = arena_zalloc(p->arena, 3 * sizeof(*ports));
	uint32_t n = 0;

	if (s->relay && (p->relay_port == DHCP4_SERVER_PORT || !s->relay->source_port))
		ports[n++] = DHCP4_SERVER_PORT;
	if (s->relay && p->relay_port != DHCP4_SERVER_PORT)
		ports[n++] = p->relay_port;
	if (p->relay_port != DHCP4_CLIENT_PORT && (!s->relay || unicasts(s)))
		ports[n++] = DHCP4_CLIENT_PORT;
	p->layout.ports = (struct field_list){ports, n};
	p->layout.own_macs = !s->relay;
	p->layout.more = p->course.spread == DHCP_TO_EACH ? (uint8_t)(p->server_count - 1) : 0;
}

static void build_identity(struct dhcp4_plan *p, const struct dhcp4_settings *s)
{
	const uint64_t *parameters = s->parameters.items;

	p->clients = (uint32_t)s->clients;
	build_chaddr(p, s);
	for (uint32_t i = 0; i < s->parameters.count; i++)
		p->parameters[parameters[i] >> 6] |= 1ull << (parameters[i] & 63);
	p->pad = (uint16_t)s->pad;
}

void *dhcp4_setup(const void *settings, const struct proto_env *env, struct diag *d)
{
	const struct dhcp4_settings *s = settings;
	struct dhcp4_plan *p;

	if (s->clients < env->workers) {
		diag_error(d, &s->clients, NULL, "%llu clients for %u CPUs (at least one for each)",
			(unsigned long long)s->clients, env->workers);
		return NULL;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->arena = arena_new();
	p->name = env->name;
	p->course.starts = dhcp4_starts;
	dhcp_mix_init(&p->course.mix, shares_of(s), DHCP4_EXCHANGES, (uint32_t)s->exchange);
	build_identity(p, s);
	if (s->relay)
		build_relays(p, s->relay);
	build_servers(p, s, env);
	build_expect(p, s);
	build_waits(p, s->retransmit);
	p->course.rest_ms = dhcp_work_rest_ms(s->decline_rest_ns, s->retransmit);
	build_paths(p, s, env);
	build_ports(p, s);
	if ((s->mac_file && dhcp4_macs_load(p, s, d) < 0) || dhcp4_build(p, s, d) < 0 ||
		(s->leases && dhcp4_leases_load(p, s->leases, d) < 0)) {
		dhcp4_teardown(p);
		return NULL;
	}
	return p;
}

void dhcp4_teardown(void *shared)
{
	struct dhcp4_plan *p = shared;

	if (!p)
		return;
	arena_free(p->arena);
	free(p->macs);
	free(p->leases);
	free(p);
}

void dhcp4_layout(const void *shared, struct proto_layout *out)
{
	const struct dhcp4_plan *p = shared;

	*out = p->layout;
}

static bool is_in(const struct dhcp4_vlan_settings *v, uint32_t number)
{
	return number >= v->clients.first && number <= v->clients.last;
}

// Which set of VLANs a client is in, mostly that of the client before; 0: none.
static uint32_t place_of(const struct dhcp4_plan *p, uint32_t number, uint32_t before)
{
	if (before && is_in(&p->vlans[before - 1], number))
		return before;
	for (uint32_t i = 0; i < p->vlan_count; i++)
		if (is_in(&p->vlans[i], number))
			return i + 1;
	return 0;
}

static void open_places(struct dhcp4_worker *w, const struct dhcp4_plan *p)
{
	uint32_t place = 0;

	for (uint32_t i = 0; i < w->work.clients.count; i++) {
		place = place_of(p, dhcp_work_number(&w->work, i), place);
		dhcp4_client_at(w, i)->place = (uint16_t)place;
	}
}

void *dhcp4_common_setup(void *const *shared, uint32_t count, uint32_t threads)
{
	struct dhcp4_common *c = calloc(1, sizeof(*c));
	uint64_t owners = 0;

	if (!c)
		return NULL;
	c->plans = calloc(count, sizeof(*c->plans));
	for (; c->plans && c->count < count; c->count++) {
		struct dhcp4_plan *p = shared[c->count];

		c->plans[c->count] = p;
		p->owner = (uint32_t)owners;
		owners += p->clients;
	}
	if (c->plans && dhcp_holders_init(&c->holders, owners, threads > 1) == 0)
		return c;
	free(c->plans);
	free(c);
	return NULL;
}

void dhcp4_common_teardown(void *common)
{
	struct dhcp4_common *c = common;
	uint64_t unwatched = c->holders.unwatched;

	if (unwatched)
		log_warning("dhcp4: %llu leases were not watched for duplicate addresses: the "
			    "table had no place for them",
			(unsigned long long)unwatched);
	dhcp_holders_free(&c->holders);
	free(c->plans);
	free(c);
}

uint64_t dhcp4_memory(const void *shared, const struct proto_env *env)
{
	const struct dhcp4_plan *p = shared;

	return dhcp_clients_memory(dhcp_share(p->clients, env->worker, env->workers),
		       sizeof(struct dhcp4_client)) +
	       dhcp_holders_memory(p->clients) / env->workers;
}

int dhcp4_open(struct proto_ctx *ctx, const struct proto_env *env)
{
	const struct dhcp4_plan *p = ctx->shared;
	struct dhcp4_worker *w = calloc(1, sizeof(*w));

	ctx->own = NULL;
	if (!w || dhcp_work_open(&w->work, &p->course, env, p->clients, sizeof(struct dhcp4_client),
			  p->relay_count) < 0) {
		free(w);
		return -ENOMEM;
	}
	w->common = env->common;
	w->work.owner = p->owner;
	open_places(w, p);
	if (p->lease_count)
		dhcp4_leases_open(w, p);
	ctx->own = w;
	return 0;
}

// Text of the wire: printable characters only.
static void refusal_log(const struct dhcp_note *note)
{
	char text[DHCP_NOTE_LEN + 1];

	for (uint32_t i = 0; i < note->len; i++)
		text[i] = note->text[i] >= ' ' && note->text[i] < 127 ? (char)note->text[i] : '?';
	text[note->len] = '\0';
	if (note->len == 0)
		log_note("dhcp4: %llu NAKs said nothing", (unsigned long long)note->count);
	else
		log_note("dhcp4: %llu NAKs said \"%s\"", (unsigned long long)note->count, text);
}

// In a closed loop it is no failure: it waits for one.
static void unbegun_log(const struct dhcp_work *w)
{
	static const char *const why[2] = {
		[DHCP_IS_FREE] = "no client was free (more clients, or a share of release)",
		[DHCP_IS_BOUND] = "no client held a lease (a greater share of dora or rapid)"};

	for (int from = 0; w->paced && from < 2; from++)
		if (w->unbegun[from])
			log_warning("dhcp4: %llu exchanges could not begin: %s",
				(unsigned long long)w->unbegun[from], why[from]);
}

// "client 8 (02:00:00:00:00:08)"; of which item, where that is another one.
static const char *owner_text(const struct dhcp4_plan *p, const struct dhcp4_worker *w,
	uint32_t owner, char text[OWNER_TEXT])
{
	const struct dhcp4_plan *of = dhcp4_plan_of(w->common, owner);
	char chaddr[DHCP4_CHADDR_TEXT];

	snprintf(text, OWNER_TEXT, "client %u (%s)%s%s", owner - of->owner,
		dhcp4_chaddr_text(of, owner - of->owner, chaddr), of == p ? "" : " of ",
		of == p ? "" : of->name);
	return text;
}

static void clash_log(
	const struct dhcp4_plan *p, const struct dhcp4_worker *w, const struct dhcp_clash *c)
{
	char text[ADDR_TEXT_SIZE], holder[OWNER_TEXT], taker[OWNER_TEXT];
	struct addr address = {.len = 4};

	memcpy(address.bytes, c->bytes, 4);
	log_warning("dhcp4: %s was given to %s while %s held it",
		addr_format(&address, text, sizeof(text)), owner_text(p, w, c->taker, taker),
		owner_text(p, w, c->holder, holder));
}

void dhcp4_close(struct proto_ctx *ctx)
{
	const struct dhcp4_plan *p = ctx->shared;
	struct dhcp4_worker *w = ctx->own;

	if (!w)
		return;
	for (uint32_t i = 0; i < DHCP_NOTES && w->work.refusals[i].count; i++)
		refusal_log(&w->work.refusals[i]);
	for (uint32_t i = 0; i < w->work.clash_count; i++)
		clash_log(p, w, &w->work.clashes[i]);
	if (!w->work.dry)
		unbegun_log(&w->work);
	if (p->save && w->heard && !w->work.dry) // a dry run has nothing to save
		dhcp4_leases_save(w, p, ctx->now_ms);
	dhcp_work_close(&w->work);
	free(w);
	ctx->own = NULL;
}
