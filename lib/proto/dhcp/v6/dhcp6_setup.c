// SPDX-License-Identifier: BSD-3-Clause
// DHCPv6 clients as a family: rules of their settings, their part of the plan, their file of DUIDs
// and their leases in a file. Settings as rows are in dhcp6_fields.c, messages in
// dhcp6_templates.c. Path: cold. Management thread.

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "net/neigh.h"
#include "proto/dhcp/client/dhcp_client_setup.h"
#include "proto/dhcp/client/lease/dhcp_lines.h"
#include "proto/dhcp/client/lease/dhcp_addresses.h"
#include "proto/dhcp/v6/dhcp6_wire.h"

#define RETRANSMIT(member) offsetof(struct dhcp6_retransmit_settings, member)

const struct addr dhcp6_groups[] = {
	[DHCP6_ALL_AGENTS] = {16, {0xff, 0x02, [13] = 1, 0, 2}},  // ff02::1:2
	[DHCP6_ALL_SERVERS] = {16, {0xff, 0x05, [13] = 1, 0, 3}}, // ff05::1:3
	[DHCP6_GROUPS] = {0},
};

// The retransmission setting by step (RFC 8415 section 7.6).
static const size_t tries_of[DHCP6_STEPS] = {
	[DHCP6_STEP_SOLICIT] = RETRANSMIT(solicit),
	[DHCP6_STEP_REQUEST] = RETRANSMIT(request),
	[DHCP6_STEP_RAPID] = RETRANSMIT(solicit),
	[DHCP6_STEP_RENEW] = RETRANSMIT(renew),
	[DHCP6_STEP_REBIND] = RETRANSMIT(rebind),
	[DHCP6_STEP_RELEASE] = RETRANSMIT(release),
	[DHCP6_STEP_DECLINE] = RETRANSMIT(decline),
	[DHCP6_STEP_CONFIRM] = RETRANSMIT(confirm),
	[DHCP6_STEP_INFORMATION] = RETRANSMIT(information),
	[DHCP6_STEP_LEASEQUERY] = RETRANSMIT(leasequery),
};

// Are messages sent to server addresses rather than a group?
static bool to_servers(const struct dhcp6_settings *s)
{
	return s->to == DHCP6_TO_SERVER || (s->to == DHCP6_TO_AUTO && s->is.relay);
}

static void dhcp6_exchange_check(const struct dhcp_settings *s, uint32_t exchange, struct diag *d)
{
	const struct dhcp6_settings *own = (const struct dhcp6_settings *)s;
	bool asks = exchange == DHCP6_LEASEQUERIES;
	bool needs_address = (asks && own->query == DHCP6_BY_ADDRESS) ||
	                     exchange == DHCP6_DECLINES || exchange == DHCP6_CONFIRMS;

	if (needs_address && own->lease == DHCP6_WANTS_PREFIXES)
		diag_error(d, s->mix ? (const void *)s->mix : s,
			s->mix ? dhcp6_exchange_names[exchange] : "exchange",
			"%s is about addresses (lease: address or both)",
			dhcp6_exchange_names[exchange]);
	if (asks && !(s->relay && to_servers(own)))
		diag_error(d, s, s->mix ? "mix" : "exchange",
			"leasequery needs a relay, which asks a server by its address");
}

static void check_identity(const struct dhcp6_settings *s, struct diag *d)
{
	if (!s->is.mac_file && !s->is.mac_column)
		dhcp_mac_check(&s->is, d);
	if ((s->duid == DHCP6_DUID_HEX) != (s->duid_hex != NULL))
		diag_error(d, s, s->duid_hex ? "duid_hex" : "duid",
			s->duid_hex ? "needs duid: hex" : "needs duid_hex");
	if ((s->duid == DHCP6_DUID_FILE) != (s->duid_file != NULL))
		diag_error(d, s, s->duid_file ? "duid_file" : "duid",
			s->duid_file ? "needs duid: file" : "needs duid_file");
	if (s->is.wire && s->duid != DHCP6_DUID_LL)
		diag_error(
			d, s, "duid", "conflicts with wire: its clients have DUIDs of their own");
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
	if (s->temporary && s->lease == DHCP6_WANTS_PREFIXES)
		diag_error(d, &s->temporary, NULL, "needs lease: address or both");
	if (s->iaid + DHCP6_IAS_MAX > UINT32_MAX)
		diag_error(d, &s->iaid, "iaid", "too large (up to %u)", UINT32_MAX - DHCP6_IAS_MAX);
}

static uint32_t prefix_bits(const struct dhcp6_expect_settings *e)
{
	return e->prefix_length ? (uint32_t)e->prefix_length : 128;
}

// Number of prefixes of length `bits` in the list.
static double room_of(const struct field_list *list, uint32_t bits)
{
	const struct addr_prefix *p = list->items;
	double room = 0;

	for (uint32_t i = 0; i < list->count; i++)
		if (p[i].addr.len == 16 && p[i].bits <= bits)
			room += ldexp(1, (int)(bits - p[i].bits));
	return room;
}

static void check_prefixes(const struct field_list *list, uint32_t bits, struct diag *d)
{
	const struct addr_prefix *p = list->items;

	for (uint32_t i = 0; i < list->count; i++)
		if (dhcp_family_check(&p[i].addr, &p[i], 16, d) && p[i].bits > bits)
			diag_error(d, &p[i], NULL, "longer than prefix_length (up to /%u)", bits);
}

static void check_expect(const struct dhcp6_settings *s, struct diag *d)
{
	const struct dhcp6_expect_settings *e = s->expect;
	uint32_t bits = prefix_bits(e);
	double addresses = room_of(&e->pool, 128), prefixes = room_of(&e->prefixes, bits);

	check_prefixes(&e->pool, 128, d);
	check_prefixes(&e->prefixes, bits, d);
	if (e->pool.count && addresses < (double)dhcp_leases_wanted(&dhcp6_family, &s->is, false))
		diag_error(d, &e->pool, "pool", "%.0f addresses for %llu clients", addresses,
			(unsigned long long)dhcp_clients(&s->is));
	if (e->prefixes.count && prefixes < (double)dhcp_leases_wanted(&dhcp6_family, &s->is, true))
		diag_error(d, &e->prefixes, "prefixes", "%.0f prefixes for %llu clients", prefixes,
			(unsigned long long)dhcp_clients(&s->is));
}

static void check_solicitation(const struct dhcp6_settings *s, struct diag *d)
{
	const struct dhcp_vlan_settings *v = s->is.vlans.items;

	if (s->is.relay)
		diag_error(d, s, "router_solicitation",
			"is for clients on the server's link: a relay is their router");
	for (uint32_t i = 0; i < s->is.vlans.count; i++)
		if (v[i].outer.last)
			diag_error(d, s, "router_solicitation",
				"asks once per VLAN, and a VLAN per client would mean thousands of "
				"requests");
}

static void dhcp6_check_own(const struct dhcp_settings *settings, struct diag *d)
{
	const struct dhcp6_settings *s = (const struct dhcp6_settings *)settings;
	const struct dhcp6_relay_settings *r = (const void *)settings->relay;

	check_identity(s, d);
	check_leases(s, d);
	if (s->unicast && to_servers(s))
		diag_error(d, &s->unicast, NULL,
			"is for messages to all servers (to: all, without a relay)");
	if (!to_servers(s) && settings->servers.count)
		diag_error(d, &settings->servers, "servers",
			"a group reaches all servers (to: server)");
	else if (!to_servers(s) && settings->spread != DHCP_FIRST)
		diag_error(d, s, "spread", "a group reaches all servers (to: server)");
	if (r)
		dhcp_family_check(&r->link, &r->link, 16, d);
	if (r && r->ldra && r->link.len && r->levels == 1)
		diag_error(d, &r->link, "link",
			"a relay on layer 2 alone names no link (with levels: 2 the outer one "
			"does)");
	if (s->reconfigure && !settings->life)
		diag_error(d, &s->reconfigure, NULL,
			"needs life: without it, the load decides when clients act");
	if (s->reconfigure && (settings->mac_file || settings->mac_column || settings->mac_count))
		diag_error(d, &s->reconfigure, NULL,
			"needs MAC addresses derived from mac: they identify the client of a "
			"RECONFIGURE");
	if (s->expect)
		check_expect(s, d);
	if (s->router_solicitation)
		check_solicitation(s, d);
}

static void dhcp6_plan_identity(struct dhcp_plan *plan, const struct dhcp_settings *settings)
{
	const struct dhcp6_settings *s = (const struct dhcp6_settings *)settings;

	plan->addresses = s->lease == DHCP6_WANTS_PREFIXES ? 0 : (uint32_t)s->addresses;
	plan->prefixes = s->lease == DHCP6_WANTS_ADDRESSES ? 0 : (uint32_t)s->prefixes;
	plan->stations = true;
	((struct dhcp6_plan *)plan)->duid_kind = (enum dhcp6_duid)s->duid;
}

static struct dhcp_backoff dhcp6_backoff(const struct dhcp_settings *settings, uint32_t step)
{
	const struct dhcp6_retransmit_settings *s = settings->retransmit;
	const struct dhcp6_tries_settings *t = (const void *)((const char *)s + tries_of[step]);

	return (struct dhcp_backoff){.first_ns = t->irt_ns,
		.longest_ns = t->mrt_ns,
		.total_ns = t->mrd_ns,
		.jitter = s->rand,
		.factor = 2,
		.tries = (uint32_t)t->mrc};
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

static void dhcp6_plan_rest(
	struct dhcp_plan *plan, const struct dhcp_settings *settings, const struct proto_env *env)
{
	const struct dhcp6_settings *s = (const struct dhcp6_settings *)settings;
	const struct dhcp6_relay_settings *r = (const void *)settings->relay;
	const struct dhcp6_expect_settings *e = s->expect;
	struct dhcp6_plan *p = (struct dhcp6_plan *)plan;

	for (uint32_t i = 0; i < plan->stride; i++) {
		bool prefix = dhcp_is_prefix(plan, i);

		p->ias[i].code = prefix         ? DHCP6_OPT_IA_PD
		                 : s->temporary ? DHCP6_OPT_IA_TA
		                                : DHCP6_OPT_IA_NA;
		p->ias[i].iaid = (uint32_t)s->iaid + (prefix ? i - plan->addresses : i);
	}
	p->prefix_hint = (uint8_t)s->prefix_hint;
	if (r) {
		p->levels = (uint8_t)r->levels;
		p->hop_count = (uint8_t)r->hop_count;
		p->ldra = r->ldra;
		p->own_link = r->link.len == 0;
		memcpy(p->link, r->link.bytes, 16);
		p->source_port = r->is.source_port && r->is.port != DHCP6_SERVER_PORT;
		p->client_mac = r->client_mac;
	}
	p->query = (enum dhcp6_query)s->query;
	p->unicast = to_servers(s);
	p->asks_unicast = s->unicast;
	p->lenient = s->reconfigure == DHCP6_LENIENT;
	plan->life.called = s->reconfigure != DHCP6_UNCALLED;
	plan->secret_size = plan->life.called ? sizeof(struct dhcp6_secret) : 0;
	p->takes_best = s->advertise == DHCP6_TAKES_BEST;
	p->accept_len = (uint8_t)s->accept.len;
	if (s->accept.len)
		memcpy(p->accept, s->accept.data, s->accept.len);
	plan->same_lease = !e || e->same_lease;
	if (!e)
		return;
	p->pool = prefixes_of(&e->pool, plan->arena);
	p->delegated = prefixes_of(&e->prefixes, plan->arena);
	p->prefix_length = (uint8_t)e->prefix_length;
}

static uint32_t dhcp6_paths(struct dhcp_plan *p, const struct dhcp_settings *s,
	const struct proto_env *env, struct addr *to)
{
	to[0] = env->server;
	if (((const struct dhcp6_settings *)s)->to == DHCP6_TO_SERVERS)
		to[0] = dhcp6_groups[DHCP6_ALL_SERVERS];
	else if (!((struct dhcp6_plan *)p)->unicast)
		to[0] = dhcp6_groups[DHCP6_ALL_AGENTS];
	for (uint32_t i = 0; i < s->servers.count; i++)
		to[1 + i] = ((const struct field_host *)s->servers.items)[i].addr;
	if (!((struct dhcp6_plan *)p)->asks_unicast)
		return p->server_count;
	to[p->server_count] = env->server;
	return p->server_count + 1;
}

struct loading {
	struct dhcp_rows rows;
	uint64_t wanted;
};

static int duid_read(void *to, char *line, const char **what)
{
	struct dhcp6_duid_bytes one = {.len = 0};
	struct loading *l = to;
	int len = dhcp_hex_read(line, one.bytes, sizeof(one.bytes));

	one.len = len > 0 ? (uint8_t)len : 0;
	if (len == -EINVAL)
		*what = "not pairs of hex digits";
	else if (len == -ENOSPC)
		*what = "longer than 130 bytes";
	else if (len < DHCP6_DUID_MIN)
		*what = "shorter than 3 bytes";
	if (*what)
		return -EINVAL;
	if (!dhcp_rows_add(&l->rows, &one))
		return -ENOMEM;
	return l->rows.count == l->wanted;
}

static int check_unique(const struct dhcp_rows *all, const void *where, struct diag *d)
{
	const struct dhcp6_duid_bytes *twice;
	void *sorted = dhcp_rows_sort(all, (const void **)&twice);

	if (!sorted)
		return -ENOMEM;
	if (twice)
		diag_error(d, where, NULL, "the file has a DUID twice (%02x%02x%02x...)",
			twice->bytes[0], twice->bytes[1], twice->bytes[2]);
	free(sorted);
	return twice ? -EINVAL : 0;
}

// Load the file of DUIDs, one per line as hex digits.
static int dhcp6_duids_load(
	struct dhcp_plan *p, const struct dhcp_settings *settings, struct diag *d)
{
	const char *const *file = &((const struct dhcp6_settings *)settings)->duid_file;
	struct loading l = {{.size = sizeof(struct dhcp6_duid_bytes)}, p->clients};
	int ret;

	if (!*file)
		return 0;
	ret = dhcp_lines_read(diag_path(d, file, p->arena), file, duid_read, &l, d);
	if (ret == 0 && p->automatic && l.rows.count && l.rows.count < p->clients &&
		l.rows.count >= p->leases.clients)
		p->clients = l.rows.count;
	if (ret == 0 && l.rows.count < p->clients) {
		diag_error(d, file, NULL, "the file has %u DUIDs for %u clients", l.rows.count,
			p->clients);
		ret = -EINVAL;
	}
	if (ret == 0)
		ret = check_unique(&l.rows, file, d);
	if (ret < 0)
		free(l.rows.items);
	else
		((struct dhcp6_plan *)p)->duids = l.rows.items;
	return ret;
}

// Requires the MAC addresses.
static void dhcp6_plan_soliciting(struct dhcp6_plan *p, const struct dhcp6_settings *s)
{
	const struct dhcp6_solicitation_settings *r = s->router_solicitation;
	bool stateless = s->is.exchange == DHCP6_INFORMS && !s->is.mix;

	p->soliciting = (struct proto_soliciting){.tries = (uint32_t)r->tries,
		.interval_ns = r->interval_ns,
		.needed = r->need != DHCP6_NEEDS_NOTHING};
	if (r->need == DHCP6_NEEDS_FLAG)
		p->soliciting.flags = NEIGH_MANAGED | (stateless ? NEIGH_OTHER : 0);
	dhcp_mac_write(&p->is, 0, p->soliciting.mac);
	addr_link_local(p->soliciting.mac, p->soliciting.src);
	p->is.layout.soliciting = &p->soliciting;
}

static int dhcp6_load(struct dhcp_plan *p, const struct dhcp_settings *settings, struct diag *d)
{
	const struct dhcp6_settings *s = (const struct dhcp6_settings *)settings;
	int ret = dhcp6_duids_load(p, settings, d);

	if (ret == 0 && s->router_solicitation)
		dhcp6_plan_soliciting((struct dhcp6_plan *)p, s);
	return ret;
}

static void dhcp6_duids_free(struct dhcp_plan *p)
{
	free(((struct dhcp6_plan *)p)->duids);
}

static bool dhcp6_same(
	const struct dhcp_plan *a, uint32_t ours, const struct dhcp_plan *b, uint32_t theirs)
{
	const struct dhcp6_plan *p = (const struct dhcp6_plan *)a;
	const struct dhcp6_plan *q = (const struct dhcp6_plan *)b;
	uint8_t mac[6], other_mac[6];

	if (p->duid_kind != q->duid_kind)
		return false;
	if (p->duids)
		return memcmp(&p->duids[ours], &q->duids[theirs], sizeof(p->duids[0])) == 0;
	dhcp_mac_write(a, ours, mac);
	dhcp_mac_write(b, theirs, other_mac);
	return memcmp(mac, other_mac, sizeof(mac)) == 0;
}

static bool dhcp6_lease_load(
	struct dhcp_worker *worker, uint32_t client, const struct dhcp_saved *saved)
{
	const struct dhcp_plan *p = worker->plan;
	const struct dhcp_server_id *id = &p->leases.servers[saved->server];
	const struct dhcp6_bytes duid = {.data = id->bytes, .len = id->len};
	struct dhcp6_worker *w = (struct dhcp6_worker *)worker;
	struct dhcp6_client *k = dhcp6_client_at(w, client);
	uint32_t first = dhcp_lease_of(p, worker, client);
	struct dhcp_key keys[DHCP6_IAS_MAX];
	uint64_t unwatched = 0;

	if (!dhcp6_server_keep(w, &duid, k))
		return false;
	for (uint32_t i = 0; i < p->stride; i++) {
		if (saved[i].bits)
			dhcp_key_prefix(&keys[i], saved[i].bytes, saved[i].bits);
		else
			memcpy(keys[i].bytes, saved[i].bytes, sizeof(keys[i].bytes));
		dhcp_lease_set(&worker->common->leases, first + i, &keys[i]);
	}
	k->head.expires_s = saved->left_s;
	k->head.holds = dhcp6_leases_hold(w, client, keys, saved->left_s, &unwatched);
	if (!unwatched)
		return k->head.holds;
	for (uint32_t i = 0; k->head.holds && i < p->stride; i++)
		dhcp_lease_drop(&worker->common->leases, first + i);
	k->head.holds = false;
	return false;
}

static void dhcp6_lease_save(const struct dhcp_worker *worker, uint32_t client, uint32_t nth,
	struct dhcp_lease_held *out)
{
	const struct dhcp6_worker *w = (const struct dhcp6_worker *)worker;
	const struct dhcp6_duid_bytes *server = &w->servers[dhcp6_client_at(w, client)->chosen];
	const struct dhcp_plan *p = worker->plan;
	struct dhcp_key key;

	dhcp_lease_get(&worker->common->leases, dhcp_lease_of(p, worker, client) + nth, &key);
	if (dhcp_is_prefix(p, nth))
		out->bits = dhcp_key_split(&key, out->bytes);
	else
		memcpy(out->bytes, key.bytes, sizeof(out->bytes));
	out->server.len = server->len;
	memcpy(out->server.bytes, server->bytes, server->len);
}

static uint64_t dhcp6_each(const struct dhcp_settings *settings, bool prefixes)
{
	const struct dhcp6_settings *s = (const struct dhcp6_settings *)settings;

	if (s->lease == (prefixes ? DHCP6_WANTS_ADDRESSES : DHCP6_WANTS_PREFIXES))
		return 0;
	return prefixes ? s->prefixes : s->addresses;
}

// A DUID without a placeholder serves one client.
static uint64_t dhcp6_identities(const struct dhcp_settings *settings)
{
	const struct dhcp6_settings *s = (const struct dhcp6_settings *)settings;

	if (s->duid == DHCP6_DUID_HEX && s->duid_hex && !strchr(s->duid_hex, '{'))
		return 1;
	return settings->mac_file || settings->mac_column ? UINT64_MAX : dhcp_mac_room(settings);
}

// Number of clients for which the leases suffice.
static uint64_t clients_for(double leases, uint64_t each)
{
	double clients = each ? leases / (double)each : INFINITY;

	return clients < 0x1p63 ? (uint64_t)clients : UINT64_MAX;
}

static uint64_t dhcp6_accepted(const struct dhcp_settings *settings)
{
	const struct dhcp6_expect_settings *e = ((const struct dhcp6_settings *)settings)->expect;
	uint64_t addresses = UINT64_MAX, prefixes = UINT64_MAX;

	if (e && e->pool.count)
		addresses = clients_for(room_of(&e->pool, 128), dhcp6_each(settings, false));
	if (e && e->prefixes.count)
		prefixes = clients_for(
			room_of(&e->prefixes, prefix_bits(e)), dhcp6_each(settings, true));
	return addresses < prefixes ? addresses : prefixes;
}

const struct dhcp_family dhcp6_family = {
	.name = "dhcp6",
	.addr_len = 16,
	.client_port = DHCP6_CLIENT_PORT,
	.server_port = DHCP6_SERVER_PORT,
	.steps = DHCP6_STEPS,
	.exchanges = DHCP6_EXCHANGES,
	.kinds = dhcp6_kinds,
	.has_server = DHCP6_HAS_SERVER_ID,
	.spared = DHCP6_ENDS_LEASE | DHCP_ASKS_ABOUT,
	.wrong_more = DHCP6_WRONG_MORE,
	.starts = dhcp6_starts,
	.exchange_names = dhcp6_exchange_names,
	.life = {DHCP6_RENEWS, DHCP6_REBINDS, DHCP6_CONFIRMS, DHCP6_RELEASES, false},
	.plan_size = sizeof(struct dhcp6_plan),
	.worker_size = sizeof(struct dhcp6_worker),
	.client_size = sizeof(struct dhcp6_client),
	.fqdn_rfc = "RFC 4704",
	.status_name = dhcp6_status_name,
	.check = dhcp6_check_own,
	.exchange_check = dhcp6_exchange_check,
	.more_clients = {"raise dhcp6.clients, or set again: true", "raise dhcp6.clients"},
	.more_bound = "raise the share of sarr or rapid in dhcp6.mix, lower that of release, or "
		      "begin with leases (dhcp6.leases.load)",
	.asks = DHCP6_LEASEQUERIES,
	.each = dhcp6_each,
	.identities = dhcp6_identities,
	.accepted = dhcp6_accepted,
	.plan_identity = dhcp6_plan_identity,
	.plan_rest = dhcp6_plan_rest,
	.backoff = dhcp6_backoff,
	.paths = dhcp6_paths,
	.templates = dhcp6_templates,
	.captured = dhcp6_captured,
	.load = dhcp6_load,
	.unload = dhcp6_duids_free,
	.same = dhcp6_same,
	.lease_load = dhcp6_lease_load,
	.lease_save = dhcp6_lease_save,
};

const char *dhcp6_no_server(const void *settings)
{
	const struct dhcp6_settings *s = settings;

	if (to_servers(s))
		return "is missing (or to: all, to: servers)";
	return s->unicast ? "is missing: the address for unicast: true" : NULL;
}
