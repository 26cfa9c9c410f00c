// SPDX-License-Identifier: BSD-3-Clause
// From settings to the plan of a client item: rules, paths, waits and files. Family-specific parts
// are in dhcp4_setup.c and dhcp6_setup.c. Path: cold. Management thread.

#include "proto/dhcp/client/dhcp_client_setup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "proto/dhcp/client/dhcp_captured.h"
#include "proto/dhcp/client/dhcp_supply.h"
#include "proto/dhcp/client/lease/dhcp_addresses.h"

#define MAC_BITS        48
#define NS_PER_MS       1000000u
#define ROUNDING        1e-9
#define RELAYS_MAX      1048576
#define VLAN_RANGES_MAX 1024

bool dhcp_does(const struct dhcp_family *f, const struct dhcp_settings *s, uint32_t exchange)
{
	if (s->life && (exchange == f->life.renew || exchange == f->life.rebind ||
			       exchange == f->life.reboot || exchange == f->life.release))
		return true;
	return dhcp_mix_share(dhcp_shares(s), f->exchanges, (uint32_t)s->exchange, exchange) > 0;
}

// Do clients obtain leases in this run?
static bool dhcp_gets_leases(const struct dhcp_family *f, const struct dhcp_settings *s)
{
	return dhcp_does(f, s, DHCP_FOUR_WAY) || dhcp_does(f, s, DHCP_RAPID);
}

uint64_t dhcp_leases_wanted(
	const struct dhcp_family *f, const struct dhcp_settings *s, bool prefixes)
{
	return dhcp_gets_leases(f, s) ? dhcp_clients(s) * f->each(s, prefixes) : 0;
}

// Rates of the mix exclude shares and require a load with a rate.
static bool check_rates(const struct dhcp_family *f, const struct dhcp_settings *s, struct diag *d)
{
	double sum = 0;

	if (dhcp_extra(s) == 0)
		return true;
	for (uint32_t e = 0; e < f->exchanges; e++) {
		sum += s->mix->part[e];
		if (s->mix->share[e] <= 0)
			continue;
		diag_error(d, &s->mix->share[e], NULL,
			"a share beside rates (rates like 100/s, or shares like 10%%, for all)");
		return false;
	}
	if (sum > 0)
		return true;
	diag_error(d, s->mix, "",
		"its rates come on top of load.rate, and the load has no constant rate (with "
		"another load give shares, like 10%%)");
	return false;
}

static void check_mix(const struct dhcp_family *f, const struct dhcp_settings *s, struct diag *d)
{
	const char *const *names = f->exchange_names;
	bool leased = dhcp_gets_leases(f, s) || (s->leases && s->leases->load);

	if (!check_rates(f, s, d) || !dhcp_mix_check(dhcp_shares(s), f->exchanges, d))
		return;
	for (uint32_t e = 0; e < f->exchanges; e++) {
		if (!dhcp_does(f, s, e))
			continue;
		if (leased || f->starts[e].from != DHCP_IS_BOUND ||
			(f->needs_none && f->needs_none(s, e))) {
			f->exchange_check(s, e, d);
			continue;
		}
		diag_error(d, s, "exchange",
			"%s needs clients that hold a lease (with a share of %s or rapid: mix: "
			"{%s: 50%%}, or leases: {load: FILE})",
			names[e], names[DHCP_FOUR_WAY], names[DHCP_FOUR_WAY]);
		return;
	}
}

uint64_t dhcp_mac_room(const struct dhcp_settings *s)
{
	unsigned from = s->relay ? 0 : 1; // on a link the first byte is kept
	uint64_t low = 0;

	for (unsigned i = from; i < 6; i++)
		low = low << 8 | s->mac[i];
	return (1ull << (MAC_BITS - 8 * from)) - low;
}

void dhcp_mac_check(const struct dhcp_settings *s, struct diag *d)
{
	bool group = !s->relay && (s->mac[0] & 1);

	if (group)
		diag_error(d, &s->mac, NULL,
			"a group address: clients on a link are single stations (the first byte is "
			"even)");
	else if (dhcp_clients(s) > dhcp_mac_room(s))
		diag_error(d, &s->mac, NULL,
			s->relay ? "too near its end for %llu clients"
				 : "runs into group addresses with %llu clients (the first byte is "
				   "even)",
			(unsigned long long)dhcp_clients(s));
}

static uint64_t size_of(const struct field_range *r)
{
	return r->last ? (uint64_t)r->last - r->first + 1 : 1;
}

static void check_vlan_set(const struct dhcp_vlan_settings *v, uint64_t clients, struct diag *d)
{
	uint64_t last = clients && clients - 1 < v->clients.last ? clients - 1 : v->clients.last;
	uint64_t own = size_of(&v->outer) * size_of(&v->inner);

	if (!v->outer.last && v->inner.last)
		diag_error(d, &v->inner, NULL, "needs outer (like outer: 100-199)");
	if (v->outer.last && v->vlans.count)
		diag_error(d, &v->outer, NULL, "conflicts with vlans");
	if (!v->outer.last && (v->vlans.count < 1 || v->vlans.count > 2))
		diag_error(d, v, "vlans", "%u VLANs (1 or 2)", v->vlans.count);
	if ((v->outer.last && !v->outer.first) || (v->inner.last && !v->inner.first))
		diag_error(d, v, v->outer.first ? "inner" : "outer", "VLAN 0 (1 to 4094)");
	if (v->outer.last && last >= v->clients.first && last - v->clients.first >= own)
		diag_error(d, &v->outer, NULL, "%llu VLANs for %llu clients, each with its own",
			(unsigned long long)own, (unsigned long long)(last - v->clients.first + 1));
}

static void check_vlans(const struct field_list *vlans, uint64_t clients, struct diag *d)
{
	const struct dhcp_vlan_settings *v = vlans->items;

	if (vlans->count > VLAN_RANGES_MAX)
		diag_error(
			d, vlans, "vlans", "%u ranges (up to %u)", vlans->count, VLAN_RANGES_MAX);
	for (uint32_t i = 0; i < vlans->count && i < VLAN_RANGES_MAX; i++) {
		check_vlan_set(&v[i], clients, d);
		for (uint32_t k = 0; k < i; k++)
			if (v[i].clients.first <= v[k].clients.last &&
				v[k].clients.first <= v[i].clients.last)
				diag_error(d, &v[i], "clients", "clients are in two ranges");
	}
}

static void check_relays(const struct dhcp_relay_settings *s, uint32_t len, struct diag *d)
{
	const struct field_list *relays = &s->addresses;
	uint64_t count = dhcp_ranges_count(relays, len, d);

	dhcp_family_check(&s->from, &s->from, len, d);
	if (relays->count == 0)
		diag_error(d, relays, "addresses", "no address");
	if (count > RELAYS_MAX)
		diag_error(d, relays, "addresses", "%llu relays (up to %u)",
			(unsigned long long)count, RELAYS_MAX);
}

void dhcp_plan_mac(struct dhcp_plan *p, const uint8_t *mac, uint32_t len)
{
	p->mac_len = (uint8_t)len;
	p->mac_shift = (uint8_t)(8 * (DHCP_MAC_MAX - len));
	p->first_mac = 0;
	for (uint32_t i = 0; i < len; i++)
		p->first_mac = p->first_mac << 8 | mac[i];
	p->mac = (uint64_t)p->first_mac;
	p->first_mac <<= p->mac_shift & 127;
}

// The part of a plan that determines messages and waits.
static struct dhcp_plan *plan_new(
	const struct dhcp_family *f, const struct dhcp_settings *s, uint64_t timeout_ns)
{
	struct dhcp_plan *p = calloc(1, f->plan_size);
	struct dhcp_backoff kinds[PROTO_MAX_STEPS];

	if (!p)
		return NULL;
	p->family = f;
	p->arena = arena_new();
	p->peers = arena_zalloc(p->arena, sizeof(*p->peers));
	p->clients = (uint32_t)dhcp_clients(s);
	p->automatic = s->clients == UINT64_MAX;
	p->most = (uint32_t)(p->automatic ? dhcp_most(f, s) : s->clients);
	p->uses = s->again ? 0 : dhcp_uses(f, s);
	dhcp_plan_mac(p, s->mac, sizeof(s->mac));
	f->plan_identity(p, s);
	p->stride = p->addresses + p->prefixes;
	recip_init(&p->by_stride, p->stride);
	for (uint32_t i = 0; i < f->steps; i++) {
		bool first = i == DHCP_STEP_FIRST || i == DHCP_STEP_RAPID;

		kinds[i] = (struct dhcp_backoff){
			.first_ns = first ? timeout_ns : s->request_timeout_ns,
			.factor = 1,
			.tries = 1};
		if (s->retransmit)
			kinds[i] = f->backoff(s, i);
	}
	dhcp_waits_build(&p->course.waits, s->retransmit || s->request_timeout_ns ? kinds : NULL,
		f->steps, p->arena, &p->layout.waits);
	p->layout.tries_ns = p->course.waits.tries_ns;
	return p;
}

// Check that messages with these options fit, and that there are not too many waits.
static void check_messages(
	const struct dhcp_family *f, const struct dhcp_settings *s, struct diag *d)
{
	struct dhcp_plan *p = plan_new(f, s, 1);

	if (!p)
		return;
	if (p->course.waits.count > PROTO_MAX_WAITS)
		diag_error(d, s->retransmit, "", "%u different waits (up to %d: smaller mrc)",
			p->course.waits.count, PROTO_MAX_WAITS);
	if (p->mac_len)
		f->templates(p, s, d);
	dhcp_teardown(p);
}

// Total share of the first kinds.
static double wrong_share(const struct dhcp_wrong_settings *s, uint32_t kinds)
{
	double sum = 0;

	for (uint32_t i = 0; i < kinds; i++)
		sum += s->shares[i];
	return sum;
}

// The section of the settings that a life replaces; NULL: none is given.
static const char *beside_life(const struct dhcp_settings *s)
{
	return s->mix ? "mix" : s->again ? "again" : s->order != DHCP_IN_TURN ? "order" : NULL;
}

static void check_life(const struct dhcp_family *f, const struct dhcp_settings *s, struct diag *d)
{
	const char *const *names = f->exchange_names;
	bool leased = s->exchange == DHCP_FOUR_WAY || s->exchange == DHCP_RAPID;
	uint64_t relays;

	dhcp_life_check(s->life, d);
	if (!leased)
		diag_error(d, s->life, "", "begins with a lease (exchange: %s or rapid)",
			names[DHCP_FOUR_WAY]);
	if (beside_life(s))
		diag_error(d, s->life, "", "conflicts with %s: clients send what their leases need",
			beside_life(s));
	if (s->clients == UINT64_MAX)
		diag_error(d, s, "clients",
			"is required: there is no load to derive it from (like clients: 10k)");
	relays = s->relay ? dhcp_room(&s->relay->addresses) : 0;
	if (s->life->share[DHCP_LIFE_MOVE] > 0 && (relays < 2 || relays > DHCP_LIFE_RELAYS_MAX))
		diag_error(d, s->life, "move", "%llu relays to move between (2 to %u)",
			(unsigned long long)relays, DHCP_LIFE_RELAYS_MAX);
}

// Files of MACs, DUIDs and leases are large and are read only once, by setup.
void dhcp_check(const struct dhcp_family *f, const struct dhcp_settings *s, struct diag *d)
{
	const struct field_host *servers = s->servers.items;
	unsigned before = diag_count(d);

	if (s->life)
		check_life(f, s, d);
	check_mix(f, s, d);
	check_vlans(&s->vlans, dhcp_clients(s), d);
	for (uint32_t i = 0; i < s->servers.count; i++)
		dhcp_family_check(&servers[i].addr, &servers[i], f->addr_len, d);
	if (s->servers.count >= DHCP_SERVERS_MAX)
		diag_error(d, &s->servers, "servers", "%u servers (up to %u)", s->servers.count,
			DHCP_SERVERS_MAX - 1);
	if (s->relay)
		check_relays(s->relay, f->addr_len, d);
	if (s->fqdn && s->fqdn->no_update && s->fqdn->server_update)
		diag_error(d, s->fqdn, "no_update", "conflicts with server_update (%s: not both)",
			f->fqdn_rfc);
	if (s->wrong && wrong_share(s->wrong, DHCP_WRONG_COUNT) > 1 + ROUNDING)
		diag_error(d, s->wrong, "", "more than 100%% of the messages");
	if (s->wrong && s->raw.count)
		diag_error(d, s->wrong, "", "conflicts with raw, which replaces a whole message");
	if (s->request_timeout_ns && s->retransmit)
		diag_error(d, &s->request_timeout_ns, "request_timeout",
			"conflicts with retransmit, which has the waits of each message");
	if (s->mac_column && (s->mac_file || s->mac_count))
		diag_error(d, &s->mac_column, "mac_column", "conflicts with mac_file or mac_count");
	if (s->mac_column && !s->client_file)
		diag_error(d, &s->mac_column, "mac_column", "needs a client_file");
	if (s->address_column && !s->client_file)
		diag_error(d, &s->address_column, "address_column", "needs a client_file");
	dhcp_captured_check(s, d);
	if (s->mac_file && s->mac_count)
		diag_error(d, &s->mac_count, "mac_count", "conflicts with mac_file");
	f->check(s, d);
	if (diag_count(d) == before)
		check_messages(f, s, d);
}

// Write all addresses of the list, len bytes each, in wire format.
static void build_relays(struct dhcp_plan *p, const struct dhcp_relay_settings *s, struct diag *d)
{
	const struct addr_range *r = s->addresses.items;
	uint8_t len = p->family->addr_len, *relays;
	uint64_t all = 0;

	for (uint32_t i = 0; i < s->addresses.count; i++)
		all += r[i].count;
	relays = arena_zalloc(p->arena, all * len);
	for (uint32_t i = 0; i < s->addresses.count; i++)
		for (uint64_t k = 0; k < r[i].count; k++)
			addr_nth_bytes(&r[i], k, relays + (size_t)len * p->relay_count++);
	p->relays = relays;
	recip_init(&p->by_relay, p->relay_count);
	p->relay_port = (uint16_t)s->port;
	p->layout.owned = s->addresses;
	if (s->from.len) {
		struct addr_range *one = arena_zalloc(p->arena, sizeof(*one));

		*one = (struct addr_range){s->from, 1};
		diag_mark_as(d, one, sizeof(*one), &s->from);
		p->from = one->first.bytes;
		p->layout.owned = (struct field_list){one, 1};
	}
}

// The ports to which servers reply: relay ports, then client ports.
static void build_ports(struct dhcp_plan *p, const struct dhcp_settings *s)
{
	const struct dhcp_family *f = p->family;
	uint16_t *ports = arena_zalloc(p->arena, 3 * sizeof(*ports));
	uint32_t n = 0;

	if (s->relay && (p->relay_port == f->server_port || !s->relay->source_port))
		ports[n++] = f->server_port;
	if (s->relay && p->relay_port != f->server_port)
		ports[n++] = p->relay_port;
	p->layout.own_macs = !s->relay;
	p->layout.own_addresses = !s->relay || (f->unicasts && f->unicasts(s));
	p->layout.own_answers = p->layout.own_addresses ||
	                        (s->relay && f->answered && dhcp_does(f, s, f->answered));
	if (p->relay_port != f->client_port &&
		(p->layout.own_answers || (f->asks && dhcp_does(f, s, f->asks))))
		ports[n++] = f->client_port;
	p->layout.ports = (struct field_list){ports, n};
}

// Map each set of VLANs to itself if any client uses it, 0: no VLANs, otherwise to a used set: the
// next hop of every path is resolved.
static void sets_used(const struct dhcp_plan *p, uint32_t *sets)
{
	uint32_t some = 0;

	for (uint32_t k = 0; k < p->clients; k++)
		sets[dhcp_vlans_place(&p->vlans, k)] = 1;
	while (!sets[some])
		some++;
	for (uint32_t i = 0; i <= p->vlans.count; i++)
		sets[i] = sets[i] ? i : some;
}

// The destinations of clients without VLANs, repeated for each range of clients.
static void build_paths(
	struct dhcp_plan *p, const struct dhcp_settings *s, const struct proto_env *env)
{
	struct addr to[1 + DHCP_SERVERS_MAX];
	uint32_t count = p->family->paths(p, s, env, to), all = (1 + p->vlans.count) * count;
	struct proto_path *paths = arena_zalloc(p->arena, all * sizeof(*paths));
	uint32_t *sets = arena_zalloc(p->arena, (1 + p->vlans.count) * sizeof(*sets));

	sets_used(p, sets);
	for (uint32_t i = 0; i < all; i++) {
		uint32_t set = sets[i / count];
		const struct dhcp_vlan_settings *v;

		paths[i].dst = to[i % count];
		if (set == 0)
			continue;
		v = &p->vlans.sets[set - 1];
		if (v->outer.last) { // neighbours are resolved on the VLANs of the first client
			paths[i].vlans_vary = true;
			paths[i].vlan_count = v->inner.last ? 2 : 1;
			paths[i].vlans[0] = (uint16_t)v->outer.first;
			paths[i].vlans[1] = (uint16_t)v->inner.first;
			continue;
		}
		paths[i].vlan_count = (uint8_t)v->vlans.count;
		for (uint32_t k = 0; k < v->vlans.count; k++)
			paths[i].vlans[k] = (uint16_t)((const uint64_t *)v->vlans.items)[k];
	}
	p->path_stride = count;
	p->layout.paths = (struct field_list){paths, all};
	p->layout.more = p->course.spread == DHCP_TO_EACH ? (uint8_t)(p->server_count - 1) : 0;
}

// The first message of an exchange may be wrong, unless it gets no reply or ends the lease.
static void build_wrong(struct dhcp_plan *p, const struct dhcp_wrong_settings *s)
{
	const struct dhcp_family *f = p->family;

	if (!s || wrong_share(s, DHCP_WRONG_COUNT) == 0)
		return;
	for (uint32_t i = 0; i < DHCP_WRONG_COUNT; i++)
		p->wrong.below[i] = (uint64_t)(wrong_share(s, i + 1) * 0x1p32 + 0.5);
	for (uint32_t i = 0; i < f->exchanges; i++)
		if (!(f->kinds[f->starts[i].step].has & f->spared))
			p->wrong.steps |= (uint16_t)(1u << f->starts[i].step);
	p->longest += f->wrong_more;
}

static int build_vlans(
	struct dhcp_vlans *v, const struct field_list *vlans, uint64_t clients, struct arena *a)
{
	*v = (struct dhcp_vlans){.sets = vlans->items, .count = vlans->count};
	if (v->count == 0)
		return 0;
	v->by_inner = arena_zalloc(a, v->count * sizeof(*v->by_inner));
	for (uint32_t i = 0; i < v->count; i++) {
		recip_init(&v->by_inner[i], size_of(&v->sets[i].inner));
		v->vary |= v->sets[i].outer.last != 0;
	}
	v->places = dhcp_table_alloc(clients * sizeof(*v->places));
	if (!v->places)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->count; i++) {
		const struct field_range *r = &v->sets[i].clients;

		for (uint64_t k = r->first; k <= r->last && k < clients; k++)
			v->places[k] = (uint16_t)(i + 1);
	}
	return 0;
}

// The file of clients, with a line per client, or a capture of clients.
static int load_table(struct dhcp_plan *p, const struct dhcp_settings *s,
	const struct proto_env *env, struct diag *d)
{
	bool all = s->leases && s->leases->load;
	uint32_t wanted = all ? p->most : p->clients, rows;
	int ret;

	if (!s->client_file && !s->wire)
		return 0;
	ret = s->wire ? dhcp_captured_load(p, s, wanted, env, d)
	              : dhcp_table_load(&p->table, &s->client_file, wanted, p->arena, d);
	rows = p->table.is.rows;
	if (ret < 0 || rows == wanted)
		return ret;
	if (!p->automatic) {
		diag_error(d, s->wire ? &s->wire : &s->client_file, NULL,
			"the file has %u %s for %u clients", rows, s->wire ? "clients" : "lines",
			wanted);
		return -EINVAL;
	}
	p->most = rows;
	p->clients = rows < p->clients ? rows : p->clients;
	return 0;
}

// Replies to DHCPv6 clients on a link are matched by MAC. Loads MACs for the maximum number of
// clients, because the lease file may refer to any of them.
static int load_macs(struct dhcp_plan *p, const struct dhcp_settings *s, struct diag *d)
{
	bool six = p->family->addr_len == 16;
	bool all = s->leases && s->leases->load;
	const struct dhcp_macs_wanted wanted = {.clients = all ? p->most : p->clients,
		.fewer = p->automatic,
		.six = six || !s->relay,
		.stations = !s->relay,
		.find = six && !s->relay};
	int ret = 0;

	if (s->mac_column > p->table.is.columns) {
		diag_error(d, &s->mac_column, NULL, "the file has %u columns", p->table.is.columns);
		return -EINVAL;
	}
	p->shared_macs = s->mac_count && s->mac_count < wanted.clients;
	if (s->mac_file)
		ret = dhcp_macs_load(&p->macs, &s->mac_file, &wanted, p->arena, d);
	else if (s->mac_column)
		ret = dhcp_macs_take(&p->macs, &p->table.is, (uint32_t)s->mac_column - 1, &wanted,
			&s->mac_column, d);
	else if (s->wire && p->table.longest[DHCP_CAPTURED_MAC])
		ret = dhcp_macs_take(
			&p->macs, &p->table.is, DHCP_CAPTURED_MAC, &wanted, &s->wire, d);
	else if (p->shared_macs)
		return dhcp_macs_share(&p->macs, s->mac, (uint32_t)s->mac_count, &wanted);
	if (!p->macs.items)
		return ret;
	p->mac_len = (uint8_t)p->macs.len;
	if (p->automatic)
		p->most = p->macs.count;
	p->clients = p->macs.count < p->clients ? p->macs.count : p->clients;
	return ret;
}

// The address or prefix that the server must give to each client, from a file.
static int load_own(struct dhcp_plan *p, const struct dhcp_settings *s, struct diag *d)
{
	const struct pattern_table *t = &p->table.is;
	char text[ADDR_TEXT_SIZE + 4];
	const char *what;

	if (s->address_column > t->columns) {
		diag_error(d, &s->address_column, NULL, "the file has %u columns", t->columns);
		return -EINVAL;
	}
	if (!s->address_column)
		return 0;
	p->own = arena_zalloc(p->arena, (size_t)p->clients * sizeof(*p->own));
	for (uint32_t i = 0; i < p->clients && i < t->rows; i++) {
		struct addr_prefix a = {.bits = 0};
		bool prefix;
		int ret;

		dhcp_table_text(t, i, (uint32_t)s->address_column - 1, text, sizeof(text));
		prefix = strchr(text, '/') != NULL;
		if (!*text)
			continue;
		ret = prefix ? addr_parse_prefix(text, &a, &what)
		             : addr_parse(text, &a.addr, &what);
		if (ret < 0 || a.addr.len != p->family->addr_len || (prefix && a.addr.len == 4)) {
			diag_error(d, &s->address_column, NULL,
				"client %u has \"%s\" there: not an IPv%c address%s", i, text,
				p->family->addr_len == 4 ? '4' : '6',
				p->family->addr_len == 4 ? "" : " or prefix");
			return -EINVAL;
		}
		memcpy(p->own[i].bytes, a.addr.bytes, sizeof(p->own[i].bytes));
		if (prefix)
			dhcp_key_prefix(&p->own[i], a.addr.bytes, a.bits);
	}
	return 0;
}

// The files may change the number of clients.
static int load_files(struct dhcp_plan *p, const struct dhcp_settings *s,
	const struct proto_env *env, struct diag *d)
{
	const struct dhcp_family *f = p->family;
	int ret = load_table(p, s, env, d);

	ret = ret ? ret : load_macs(p, s, d);
	ret = ret ? ret : dhcp_lease_file_load(p, s->leases, env, d);
	if (ret == 0 && f->load)
		ret = f->load(p, s, d);
	ret = ret ? ret : load_own(p, s, d);
	if (ret || p->clients >= env->workers)
		return ret;
	diag_error(d, &s->clients, NULL, "%u clients for %u CPUs (at least one for each)",
		p->clients, env->workers);
	return -EINVAL;
}

// Warn about group addresses: behind a relay, servers accept any hardware address, but real clients
// never have these. Without a file, it suffices to check the first and the last.
static void warn_groups(const struct dhcp_plan *p)
{
	uint32_t step = p->macs.items || p->clients < 2 ? 1 : p->clients - 1, first = p->clients;
	char text[DHCP_MAC_TEXT];
	uint8_t mac[DHCP_MAC_MAX];
	uint64_t count = 0;

	for (uint64_t i = 0; i < p->clients; i += step) {
		dhcp_mac_of(p, (uint32_t)i, mac);
		if (p->mac_len == 6 && (mac[0] & 1) && count++ == 0)
			first = (uint32_t)i;
	}
	if (!p->stations || !count)
		return;
	dhcp_mac_of(p, first, mac);
	log_warning("%s: hardware addresses of groups, which no real client has (client %u: %s; "
		    "the first byte is even)",
		p->name, first, dhcp_mac_text(mac, p->mac_len, text));
}

void *dhcp_setup(const struct dhcp_family *f, const struct dhcp_settings *s,
	const struct proto_env *env, struct diag *d)
{
	const struct field_host *servers = s->servers.items;
	const uint64_t *codes = s->parameters.items;
	struct dhcp_plan *p;

	p = plan_new(f, s, env->timeout_ns);
	if (!p)
		return NULL;
	p->name = env->name;
	p->server_port = env->server_port;
	p->server_count = 1 + s->servers.count;
	memcpy(p->servers[0], env->server.bytes, 16);
	for (uint32_t i = 0; i < s->servers.count; i++)
		memcpy(p->servers[1 + i], servers[i].addr.bytes, 16);
	p->course.starts = f->starts;
	p->course.spread = (enum dhcp_spread)s->spread;
	p->course.again = s->again;
	p->course.order = (enum dhcp_order)s->order;
	p->course.rest_ms = dhcp_work_rest_ms(s->decline_rest_ns, s->retransmit);
	if (s->life) {
		dhcp_life_plan(&p->life, s->life, &f->life, (uint8_t)s->exchange, p->clients);
		p->course.life = &p->life;
	}
	for (uint32_t e = 0; e < f->exchanges; e++)
		p->names_server |= dhcp_does(f, s, e) && f->starts[e].from == DHCP_IS_BOUND &&
		                   (f->kinds[f->starts[e].step].has & f->has_server);
	dhcp_mix_init(&p->course.mix, dhcp_shares(s), f->exchanges, (uint32_t)s->exchange);
	recip_init(&p->course.by_server, p->server_count);
	for (uint32_t i = 0; i < s->parameters.count && !s->wire; i++)
		if (codes[i] < 256) // higher codes have no bit
			p->parameters[codes[i] >> 6] |= 1ull << (codes[i] & 63);
	if (s->pretend)
		p->pretend = (struct dhcp_pretend){.on = true,
			.grow = s->pretend->grow,
			.from = (uint16_t)s->pretend->from,
			.after_ms = s->pretend->after_ns / NS_PER_MS,
			.for_ms = s->pretend->for_ns ? s->pretend->for_ns / NS_PER_MS : UINT64_MAX};
	if (s->relay)
		build_relays(p, s->relay, d);
	f->plan_rest(p, s, env);
	if (p->life.called) {
		p->turns = arena_zalloc(p->arena, env->workers * sizeof(*p->turns));
		p->workers = env->workers;
	}
	if (load_files(p, s, env, d) == 0 && f->templates(p, s, d) == 0 &&
		build_vlans(&p->vlans, &s->vlans, p->clients, p->arena) == 0) {
		warn_groups(p);
		build_wrong(p, s->wrong);
		build_paths(p, s, env);
		build_ports(p, s);
		return p;
	}
	dhcp_teardown(p);
	return NULL;
}

void dhcp_teardown(void *shared)
{
	struct dhcp_plan *p = shared;

	if (!p)
		return;
	if (p->family->unload)
		p->family->unload(p);
	dhcp_common_leave(p->common);
	dhcp_macs_free(&p->macs);
	dhcp_table_free(&p->table);
	timestamps_free(&p->times);
	free(p->used);
	dhcp_lease_file_free(&p->leases);
	free(p->vlans.places);
	arena_free(p->arena);
	free(p);
}
