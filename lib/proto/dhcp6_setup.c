// SPDX-License-Identifier: BSD-3-Clause
// From settings to what the verbs of DHCPv6 clients use: cross-field checks, shares, relays, paths,
// and the clients of a worker. Not here: messages (dhcp6_templates.c), waits (dhcp6_waits.c). Path:
// cold. Management thread.

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "proto/dhcp6_self.h"

#define RELAYS_MAX 1048576
#define MAC_BITS   48
#define OWNER_TEXT 128

static const struct addr all_agents = {16, {0xff, 0x02, [13] = 1, 0, 2}};  // ff02::1:2
static const struct addr all_servers = {16, {0xff, 0x05, [13] = 1, 0, 3}}; // ff05::1:3

static bool check_ipv6(const struct addr *a, const void *where, struct diag *d)
{
	if (a->len == 0 || a->len == 16)
		return true;
	diag_error(d, where, NULL, "not an IPv6 address");
	return false;
}

static const double *shares_of(const struct dhcp6_settings *s)
{
	return s->mix ? s->mix->share : NULL;
}

static bool does(const struct dhcp6_settings *s, enum dhcp6_exchange exchange)
{
	return dhcp_mix_share(shares_of(s), DHCP6_EXCHANGES, (uint32_t)s->exchange, exchange) > 0;
}

// Are messages sent to addresses of servers?
static bool is_unicast(const struct dhcp6_settings *s)
{
	return s->to == DHCP6_TO_SERVER || (s->to == DHCP6_TO_AUTO && s->relay);
}

static void check_bound(const struct dhcp6_settings *s, enum dhcp6_exchange e, struct diag *d)
{
	const void *where = s->mix ? (const void *)s->mix : s;

	if (!does(s, DHCP6_SARR) && !does(s, DHCP6_RAPID))
		diag_error(d, s, "exchange",
			"%s needs clients that hold a lease (with a share of sarr or rapid: "
			"mix: {sarr: 50%%})",
			dhcp6_exchange_names[e]);
	else if ((e == DHCP6_DECLINES || e == DHCP6_CONFIRMS) && s->lease == DHCP6_WANTS_PREFIXES)
		diag_error(d, where, s->mix ? dhcp6_exchange_names[e] : "exchange",
			"%s is about addresses (lease: address or both)", dhcp6_exchange_names[e]);
}

static void check_mix(const struct dhcp6_settings *s, struct diag *d)
{
	double sum = 0;

	for (int e = 0; s->mix && e < DHCP6_EXCHANGES; e++)
		sum += s->mix->share[e];
	if (sum > 1 + 1e-9) {
		diag_error(d, s->mix, "", "the shares add up to %g%% (up to 100%%)", sum * 100);
		return;
	}
	for (int e = 0; e < DHCP6_EXCHANGES; e++)
		if (dhcp6_starts[e].from == DHCP_IS_BOUND && does(s, (enum dhcp6_exchange)e))
			check_bound(s, (enum dhcp6_exchange)e, d);
}

// The addresses of clients run on from the first one, but not into those of groups.
static void check_identity(const struct dhcp6_settings *s, struct diag *d)
{
	uint64_t first = 0, last;

	for (int i = 0; i < 6; i++)
		first = first << 8 | s->mac[i];
	last = first + s->clients - 1;
	if ((first >> 40 & 1) || (last >> 40 & 1) || last >> MAC_BITS)
		diag_error(d, s->mac, NULL, "%s (the first byte is even)",
			first >> 40 & 1 ? "a group address" : "runs into group addresses");
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
	const struct addr_range *r = s->addresses.items;
	uint64_t count = 0;

	for (uint32_t i = 0; i < s->addresses.count; i++)
		if (check_ipv6(&r[i].first, &r[i], d))
			count += r[i].count;
	if (s->addresses.count == 0)
		diag_error(d, s, "addresses", "no address");
	if (count > RELAYS_MAX)
		diag_error(d, &s->addresses, "addresses", "%llu relays (up to %u)",
			(unsigned long long)count, RELAYS_MAX);
	check_ipv6(&s->link, &s->link, d);
	if (s->ldra && s->link.len && s->levels == 1)
		diag_error(d, &s->link, "link",
			"a relay on layer 2 alone names no link (with levels: 2 the outer one "
			"does)");
}

static void check_servers(const struct dhcp6_settings *s, struct diag *d)
{
	const struct addr *servers = s->servers.items;

	for (uint32_t i = 0; i < s->servers.count; i++)
		check_ipv6(&servers[i], &servers[i], d);
	if (s->servers.count >= DHCP6_SERVERS_MAX)
		diag_error(d, &s->servers, "servers", "%u servers (up to %u)", s->servers.count,
			DHCP6_SERVERS_MAX - 1);
	if (is_unicast(s))
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
		if (!check_ipv6(&p[i].addr, &p[i], d))
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

static struct dhcp6_plan *plan_new(const struct dhcp6_settings *s)
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

void dhcp6_check(const void *settings, struct diag *d)
{
	const struct dhcp6_settings *s = settings;
	unsigned before = diag_count(d);
	struct dhcp6_plan *p;
	uint32_t waits;

	check_mix(s, d);
	check_identity(s, d);
	check_leases(s, d);
	check_servers(s, d);
	if (s->relay)
		check_relay(s->relay, d);
	if (s->expect)
		check_expect(s, d);
	if (s->fqdn && s->fqdn->no_update && s->fqdn->server_update)
		diag_error(d, s->fqdn, "no_update",
			"stands beside server_update (RFC 4704: not both)");
	p = diag_count(d) == before ? plan_new(s) : NULL;
	if (!p)
		return;
	waits = dhcp6_build_waits(p, s->retransmit);
	if (waits > PROTO_MAX_WAITS)
		diag_error(d, s->retransmit, "", "%u different waits (up to %d: smaller mrc)",
			waits, PROTO_MAX_WAITS);
	dhcp6_build(p, s, d);
	dhcp6_teardown(p);
}

void dhcp6_check_server(const void *settings, const struct addr *server, struct diag *d)
{
	const struct dhcp6_settings *s = settings;

	if (server->len == 4)
		diag_error(d, server, NULL, "not an IPv6 address");
	else if (server->len == 0 && is_unicast(s))
		diag_error(d, server, "server", "is missing (or to: all, to: servers)");
}

static void build_relays(struct dhcp6_plan *p, const struct dhcp6_relay_settings *s)
{
	const struct addr_range *r = s->addresses.items;
	uint64_t count = 0;
	uint8_t(*relays)[16];

	for (uint32_t i = 0; i < s->addresses.count; i++)
		count += r[i].count;
	relays = arena_zalloc(p->arena, count * sizeof(*relays));
	for (uint32_t i = 0; i < s->addresses.count; i++)
		for (uint64_t k = 0; k < r[i].count; k++)
			addr_nth_bytes(&r[i], k, relays[p->relay_count++]);
	p->relays = (const uint8_t(*)[16])relays;
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

	p->unicast = is_unicast(s);
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
	const struct addr *servers = s->servers.items;
	struct proto_path *paths = arena_zalloc(p->arena, p->server_count * sizeof(*paths));

	for (uint32_t i = 0; i < p->server_count; i++) {
		if (s->to == DHCP6_TO_SERVERS)
			paths[i].dst = all_servers;
		else if (!p->unicast)
			paths[i].dst = all_agents;
		else
			paths[i].dst = i ? servers[i - 1] : env->server;
	}
	p->layout.paths = (struct field_list){paths, p->server_count};
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

static void build_identity(struct dhcp6_plan *p, const struct dhcp6_settings *s)
{
	const uint64_t *parameters = s->parameters.items;

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
	for (uint32_t i = 0; i < s->parameters.count; i++)
		if (parameters[i] < 256)
			p->parameters[parameters[i] >> 6] |= 1ull << (parameters[i] & 63);
}

void *dhcp6_setup(const void *settings, const struct proto_env *env, struct diag *d)
{
	const struct dhcp6_settings *s = settings;
	struct dhcp6_plan *p;

	if (s->clients < env->workers) {
		diag_error(d, &s->clients, NULL, "%llu clients for %u CPUs (at least one for each)",
			(unsigned long long)s->clients, env->workers);
		return NULL;
	}
	p = plan_new(s);
	if (!p)
		return NULL;
	p->name = env->name;
	p->course.starts = dhcp6_starts;
	dhcp_mix_init(&p->course.mix, shares_of(s), DHCP6_EXCHANGES, (uint32_t)s->exchange);
	build_identity(p, s);
	if (s->relay)
		build_relays(p, s->relay);
	build_servers(p, s, env);
	build_expect(p, s->expect);
	dhcp6_build_waits(p, s->retransmit);
	p->course.rest_ms = dhcp_work_rest_ms(s->decline_rest_ns, s->retransmit);
	build_paths(p, s, env);
	build_ports(p, s);
	if (dhcp6_build(p, s, d) == 0 && (!s->duid_file || dhcp6_duids_load(s, &p->duids, d) == 0))
		return p;
	dhcp6_teardown(p);
	return NULL;
}

void dhcp6_teardown(void *shared)
{
	struct dhcp6_plan *p = shared;

	if (!p)
		return;
	arena_free(p->arena);
	free(p->duids);
	free(p);
}

void dhcp6_layout(const void *shared, struct proto_layout *out)
{
	const struct dhcp6_plan *p = shared;

	*out = p->layout;
}

void *dhcp6_common_setup(void *const *shared, uint32_t count, uint32_t threads)
{
	struct dhcp6_common *c = calloc(1, sizeof(*c));
	uint64_t leases = 0;

	if (!c)
		return NULL;
	c->plans = calloc(count, sizeof(*c->plans));
	for (; c->plans && c->count < count; c->count++) {
		struct dhcp6_plan *p = shared[c->count];

		c->plans[c->count] = p;
		p->owner = (uint32_t)leases;
		leases += (uint64_t)p->clients * p->stride;
	}
	if (c->plans && dhcp6_leases_init(&c->leases, leases, threads > 1) == 0)
		return c;
	free(c->plans);
	free(c);
	return NULL;
}

void dhcp6_common_teardown(void *common)
{
	struct dhcp6_common *c = common;
	uint64_t unwatched = c->leases.holders.unwatched;

	if (unwatched)
		log_warning("dhcp6: %llu leases were not watched for duplicates: the table had no "
			    "place for them",
			(unsigned long long)unwatched);
	dhcp6_leases_free(&c->leases);
	free(c->plans);
	free(c);
}

uint64_t dhcp6_memory(const void *shared, const struct proto_env *env)
{
	const struct dhcp6_plan *p = shared;

	return dhcp_clients_memory(dhcp_share(p->clients, env->worker, env->workers),
		       sizeof(struct dhcp6_client)) +
	       dhcp6_leases_memory((uint64_t)p->clients * p->stride) / env->workers;
}

int dhcp6_open(struct proto_ctx *ctx, const struct proto_env *env)
{
	const struct dhcp6_plan *p = ctx->shared;
	struct dhcp6_worker *w = calloc(1, sizeof(*w));

	ctx->own = NULL;
	if (!w || dhcp_work_open(&w->work, &p->course, env, p->clients, sizeof(struct dhcp6_client),
			  p->relay_count) < 0) {
		free(w);
		return -ENOMEM;
	}
	w->common = env->common;
	w->plan = p;
	w->work.owner = p->owner;
	ctx->own = w;
	return 0;
}

// Text of the wire: printable characters only.
static void refusal_log(const struct dhcp_note *note)
{
	const char *status = dhcp6_status_name(note->status);
	char text[DHCP_NOTE_LEN + 1];

	for (uint32_t i = 0; i < note->len; i++)
		text[i] = note->text[i] >= ' ' && note->text[i] < 127 ? (char)note->text[i] : '?';
	text[note->len] = '\0';
	log_note("dhcp6: %llu refusals with status %u (%s) said %s%s%s",
		(unsigned long long)note->count, note->status, status ? status : "unknown",
		note->len ? "\"" : "nothing", text, note->len ? "\"" : "");
}

// In a closed loop it is no failure: it waits for one.
static void unbegun_log(const struct dhcp_work *w)
{
	static const char *const why[2] = {
		[DHCP_IS_FREE] = "no client was free (more clients, or a share of release)",
		[DHCP_IS_BOUND] = "no client held a lease (a greater share of sarr or rapid)"};

	for (int from = 0; w->paced && from < 2; from++)
		if (w->unbegun[from])
			log_warning("dhcp6: %llu exchanges could not begin: %s",
				(unsigned long long)w->unbegun[from], why[from]);
}

// "client 8 (02:00:00:00:00:08)"; of which item, where that is another one.
static const char *owner_text(const struct dhcp6_plan *p, const struct dhcp6_worker *w,
	uint32_t lease, char text[OWNER_TEXT])
{
	const struct dhcp6_plan *of = dhcp6_plan_of(w->common, lease);
	uint32_t number = (uint32_t)recip_div(&of->by_stride, lease - of->owner);
	char mac_text[ADDR_TEXT_SIZE];
	uint8_t mac[6];

	dhcp6_mac(of, number, mac);
	snprintf(text, OWNER_TEXT, "client %u (%s)%s%s", number,
		addr_format_mac(mac, mac_text, sizeof(mac_text)), of == p ? "" : " of ",
		of == p ? "" : of->name);
	return text;
}

static void clash_log(
	const struct dhcp6_plan *p, const struct dhcp6_worker *w, const struct dhcp_clash *c)
{
	struct addr_prefix lease = {{16, {0}}, 128};
	struct dhcp6_key key;
	char text[ADDR_TEXT_SIZE], holder[OWNER_TEXT], taker[OWNER_TEXT];

	memcpy(key.bytes, c->bytes, 16);
	if (c->prefix)
		lease.bits = dhcp6_key_split(&key, lease.addr.bytes);
	else
		memcpy(lease.addr.bytes, c->bytes, 16);
	log_warning("dhcp6: %s was given to %s while %s held %s",
		c->prefix ? addr_format_prefix(&lease, text, sizeof(text))
			  : addr_format(&lease.addr, text, sizeof(text)),
		owner_text(p, w, c->taker, taker), owner_text(p, w, c->holder, holder),
		c->prefix ? "it or a part of it" : "it");
}

void dhcp6_close(struct proto_ctx *ctx)
{
	const struct dhcp6_plan *p = ctx->shared;
	struct dhcp6_worker *w = ctx->own;

	if (!w)
		return;
	for (uint32_t i = 0; i < DHCP_NOTES && w->work.refusals[i].count; i++)
		refusal_log(&w->work.refusals[i]);
	for (uint32_t i = 0; i < w->work.clash_count; i++)
		clash_log(p, w, &w->work.clashes[i]);
	if (!w->work.dry)
		unbegun_log(&w->work);
	dhcp_work_close(&w->work);
	free(w);
	ctx->own = NULL;
}
