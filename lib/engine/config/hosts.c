// SPDX-License-Identifier: BSD-3-Clause
// From the name of a server to the address that an item takes. The rules are in hosts.h.
// Path: cold. Management thread.
#include "engine/config/hosts.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>

#include "base/log.h"
#include "io/driver/driver.h"
#include "io/sockets/sockets.h"

static struct addr addr_of(const struct addrinfo *from)
{
	struct addr out = {.len = from->ai_family == AF_INET ? 4 : 16};

	if (out.len == 4)
		memcpy(out.bytes, &((const struct sockaddr_in *)from->ai_addr)->sin_addr, 4);
	else
		memcpy(out.bytes, &((const struct sockaddr_in6 *)from->ai_addr)->sin6_addr, 16);
	return out;
}

// Returns NULL, or the reason of a failure.
static const char *look_up(struct host *h, struct arena *a)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM};
	struct addrinfo *all;
	struct addr *addrs;
	uint32_t n = 0;
	int rc = getaddrinfo(h->name, NULL, &hints, &all);

	if (rc)
		return rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc);
	for (const struct addrinfo *one = all; one; one = one->ai_next)
		n++;
	addrs = h->addrs.items = arena_zalloc(a, n * sizeof(*addrs));
	for (const struct addrinfo *one = all; one; one = one->ai_next)
		if (one->ai_family == AF_INET || one->ai_family == AF_INET6)
			addrs[h->addrs.count++] = addr_of(one);
	freeaddrinfo(all);
	return NULL;
}

static const struct host *host_named(const struct config *c, const char *name)
{
	const struct host *h = c ? c->hosts.items : NULL;

	for (uint32_t i = 0; h && i < c->hosts.count; i++)
		if (strcmp(h[i].name, name) == 0)
			return &h[i];
	return NULL;
}

// Is the address of a family that the item can send from and that its first server has, and can the
// port reach it?
static bool item_reaches(const struct item_settings *i, const struct addr *addr)
{
	const struct port_settings *p = i->facts.port;
	const struct addr_range *given = i->source.addresses.items;
	const struct addr_prefix *own = p->addresses.items;
	struct diag *wrong = diag_new();
	struct addr from;
	bool has = i->source.addresses.count > 0 && given[0].first.len == addr->len;

	for (uint32_t n = 0; n < p->addresses.count && i->source.addresses.count == 0; n++)
		has = has || own[n].addr.len == addr->len;
	if (i->facts.sockets && !i->source.addresses.count && !p->addresses.count)
		has = sockets_route(addr, p->device, &from) == 0;
	if (i->facts.proto)
		config_check_server(i, addr, wrong);
	has = has && diag_count(wrong) == 0 && config_reaches(p, addr) &&
	      (i->server.len == 0 || i->server.len == addr->len);
	diag_free(wrong);
	return has;
}

// Lists all addresses but `without`: "2001:db8::1, 192.0.2.1".
static const char *addr_list(const struct host *h, const struct addr *without, struct arena *a)
{
	const struct addr *addrs = h->addrs.items;
	const char *text = "";
	char one[ADDR_TEXT_SIZE];

	for (uint32_t n = 0; n < h->addrs.count; n++)
		if (&addrs[n] != without)
			text = arena_printf(a, "%s%s%s", text, text[0] ? ", " : "",
				addr_format(&addrs[n], one, sizeof(one)));
	return text;
}

static void host_give(const struct item_settings *i, struct field_host *to, const struct host *h,
	bool note, struct arena *a, struct diag *d)
{
	const struct port_settings *p = i->facts.port;
	const struct addr *addrs = h->addrs.items, *taken = NULL;
	const char *others;
	char text[ADDR_TEXT_SIZE];

	for (uint32_t n = 0; n < h->addrs.count && !taken; n++)
		if (!p || item_reaches(i, &addrs[n]))
			taken = &addrs[n];
	if (!taken) {
		diag_error(d, to, NULL,
			"%s is %s: port %s reaches none of them (it needs an address and a subnet "
			"or gateway of that family%s)",
			h->name, addr_list(h, NULL, a), p->name,
			to == &i->host ? "" : ", the family of the first server");
		return;
	}
	to->addr = *taken;
	others = addr_list(h, taken, a);
	if (note)
		log_note("traffic %s: server %s is %s%s%s", i->name, h->name,
			addr_format(taken, text, sizeof(text)),
			others[0] ? "; addresses not used: " : "", others);
}

// A link given with an address becomes the device of the item's port.
static void host_link(
	const struct config *c, const struct item_settings *i, struct field_host *h, struct diag *d)
{
	struct port_settings *ports = c->ports.items;
	const struct port_settings *of = i->facts.port;
	struct port_settings *p = of ? ports + (of - ports) : NULL;

	if (h->link && p && p->device && strcmp(p->device, h->link) != 0)
		diag_error(d, h, NULL,
			"is on the link %s, but port %s has the device %s (remove one)", h->link,
			p->name, p->device);
	else if (h->link && p)
		p->device = h->link;
	if (i->facts.sockets && !p->device && h->addr.len == 16 && addr_is_link_local(&h->addr))
		diag_error(d, h, NULL,
			"a link-local address needs an interface (server: fe80::1%%eth0, or "
			"device: eth0 of port %s; -i eth0 on a command line)",
			p->name);
}

// All servers of an item share one port, which may be given with any of their addresses.
static void hosts_port(struct item_settings *i, struct diag *d)
{
	const struct field_list *further = i->facts.further;
	const struct field_host *h = further->items;
	uint16_t port;

	if (i->host.port && i->server_port && i->server_port != i->host.port)
		diag_error(d, &i->host, NULL, "port %u, but server_port is %llu (remove one)",
			i->host.port, (unsigned long long)i->server_port);
	else if (i->host.port)
		i->server_port = i->facts.server_port = i->host.port;
	else
		i->host.port = (uint16_t)i->server_port; // a self-check uses another port
	port = i->facts.proto ? i->facts.server_port : 0;
	for (uint32_t n = 0; port && n < further->count; n++)
		if (h[n].port && h[n].port != port)
			diag_error(d, &h[n], NULL,
				"port %u, but the servers of an item have one port, here %u "
				"(server_port: %u, or an item for each server)",
				h[n].port, port, h[n].port);
}

static void host_resolve(struct config *c, const struct item_settings *i, struct field_host *to,
	const struct config *before, bool ask, struct arena *a, struct diag *d)
{
	const struct host *known;
	const char *why = NULL;

	host_link(c, i, to, d);
	if (!to->name)
		return;
	known = host_named(c, to->name);
	if (!known) {
		struct host *h = (struct host *)c->hosts.items + c->hosts.count++;
		const struct host *same = host_named(before, to->name);

		h->name = to->name;
		if (same)
			h->addrs = same->addrs;
		else
			why = ask ? look_up(h, a) : "names are looked up for files only";
		known = h;
	}
	if (known->addrs.count) {
		host_give(i, to, known, !before, a, d);
		return;
	}
	diag_error(d, to, NULL, "%s: %s (give an address, or a name that `getent ahosts` finds)",
		to->name, why ? why : "has no address");
	if (ask)
		diag_of_box(d);
}

void hosts_resolve(
	struct config *c, const struct config *before, bool ask, struct arena *a, struct diag *d)
{
	struct item_settings *items = c->traffic.items;
	uint32_t most = c->traffic.count;

	for (uint32_t i = 0; i < c->traffic.count; i++)
		most += items[i].facts.further->count;
	c->hosts = (struct field_list){arena_zalloc(a, (most + 1) * sizeof(struct host)), 0};
	for (uint32_t i = 0; i < c->traffic.count; i++) {
		const struct field_list *further = items[i].facts.further;
		struct field_host *h = further->items;

		hosts_port(&items[i], d);
		host_resolve(c, &items[i], &items[i].host, before, ask, a, d);
		for (uint32_t n = 0; n < further->count; n++)
			host_resolve(c, &items[i], &h[n], before, ask, a, d);
	}
}
