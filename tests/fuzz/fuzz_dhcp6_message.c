// SPDX-License-Identifier: BSD-3-Clause
// DHCPv6 messages from anyone: what the parser tells must lie in the message, agree with a look-up
// by hand, and give the same when it is written and read again. Path: tests only.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/dhcp/v6/dhcp6_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inside(const uint8_t *buf, uint32_t len, const uint8_t *p, size_t p_len)
{
	uintptr_t first = (uintptr_t)buf, at = (uintptr_t)p;

	if (!p && p_len == 0)
		return;
	if (!p || at < first || at - first > len || p_len > len - (at - first))
		abort();
}

static void check_bytes(const uint8_t *buf, uint32_t len, const struct dhcp6_bytes *b)
{
	check_inside(buf, len, b->data, b->len);
}

static void check_ia(const uint8_t *buf, uint32_t len, const struct dhcp6_ia *ia)
{
	check_bytes(buf, len, &ia->whole);
	check_bytes(buf, len, &ia->message);
	for (uint32_t i = 0; i < ia->lease_count; i++) {
		check_inside(buf, len, ia->leases[i].address, 16);
		if (ia->leases[i].bits > 128)
			abort();
	}
}

static void check_pointers(const uint8_t *buf, uint32_t len, const struct dhcp6_message *m)
{
	check_bytes(buf, len, &m->client_id);
	check_bytes(buf, len, &m->server_id);
	check_bytes(buf, len, &m->oro);
	check_bytes(buf, len, &m->status_message);
	check_inside(buf, len, m->unicast, m->unicast ? 16 : 0);
	for (uint32_t i = 0; i < m->ia_count; i++)
		check_ia(buf, len, &m->ias[i]);
}

static void check_subject(const uint8_t *buf, uint32_t len, const struct dhcp6_bytes *b, bool query)
{
	static struct dhcp6_subject s;

	check_bytes(buf, len, b);
	if (!b->data || !dhcp6_parse_subject(b, query, &s))
		return;
	check_bytes(buf, len, &s.client_id);
	check_inside(buf, len, s.link, query ? 16 : 0);
	for (uint32_t i = 0; i < s.lease_count; i++)
		check_inside(buf, len, s.leases[i].address, 16);
}

static void check_places(const uint8_t *buf, uint32_t len, const struct dhcp6_message *m)
{
	for (uint32_t code = 0; code < 256; code++) {
		uint32_t at = dhcp6_find_option(buf, DHCP6_HEADER_LEN, len, (uint16_t)code);

		if ((at != 0) != dhcp6_has(m, (uint8_t)code))
			abort();
	}
}

// An IA as it was read, written and read again.
static void check_again(const struct dhcp6_ia *ia)
{
	static struct dhcp6_message again;
	uint8_t buf[512], *begin;
	struct writer w = writer_of(buf, sizeof(buf));
	const struct dhcp6_ia *other = &again.ias[0];

	dhcp6_write_header(&w, DHCP6_REPLY, 1);
	begin = dhcp6_ia_begin(&w, ia->type, ia->iaid, ia->t1_s, ia->t2_s);
	for (uint32_t i = 0; i < ia->lease_count; i++)
		dhcp6_write_lease(&w, dhcp6_lease_code(ia->type), &ia->leases[i]);
	dhcp6_option_end(&w, begin);
	if (w.failed || !dhcp6_parse(buf, (uint32_t)(w.at - buf), &again))
		abort();
	if (again.ia_count != 1 || other->type != ia->type || other->iaid != ia->iaid ||
		other->t1_s != ia->t1_s || other->t2_s != ia->t2_s ||
		other->lease_count != ia->lease_count)
		abort();
	for (uint32_t i = 0; i < ia->lease_count; i++) {
		const struct dhcp6_lease *a = &ia->leases[i], *b = &other->leases[i];

		if (memcmp(a->address, b->address, 16) != 0 || a->bits != b->bits ||
			a->preferred_s != b->preferred_s || a->valid_s != b->valid_s ||
			a->status != b->status)
			abort();
	}
}

static void check_relays(const uint8_t *buf, uint32_t len, const struct dhcp6_envelope *e)
{
	for (uint32_t i = 0; i < e->levels; i++) {
		const struct dhcp6_relay *r = &e->relays[i];

		check_inside(buf, len, r->link, 16);
		check_inside(buf, len, r->peer, 16);
		check_bytes(buf, len, &r->message);
		check_bytes(buf, len, &r->interface_id);
		check_bytes(buf, len, &r->remote_id);
		check_bytes(buf, len, &r->subscriber_id);
		check_bytes(buf, len, &r->link_layer);
		check_bytes(buf, len, &r->port);
	}
	check_inside(buf, len, e->inner, e->inner_len);
}

// Usual replies have a way of their own to the transaction ID.
static void check_key(const uint8_t *buf, uint32_t len)
{
	uint32_t key, xid;
	bool found = dhcp6_xid(buf, len, DHCP6_RELAY_REPL, &xid) ||
	             dhcp6_xid(buf, len, DHCP6_RELAY_FORW, &xid);

	if (dhcp6_key(buf, len, &key) != found || (found && key != xid >> 1))
		abort();
}

static void read_message(const uint8_t *buf, uint32_t len)
{
	static struct dhcp6_envelope e;
	static struct dhcp6_message m;
	enum dhcp6_type relay =
		len && buf[0] == DHCP6_RELAY_REPL ? DHCP6_RELAY_REPL : DHCP6_RELAY_FORW;
	bool right = dhcp6_unwrap(buf, len, &e), named;
	uint32_t xid;

	check_key(buf, len);
	if (right)
		check_relays(buf, len, &e);
	// A RECONFIGURE has no transaction ID.
	named = right && e.inner_len >= DHCP6_HEADER_LEN && e.inner[0] != DHCP6_RECONFIGURE;
	if (named && !dhcp6_xid(buf, len, relay, &xid))
		abort();
	if (!right || !dhcp6_parse(e.inner, e.inner_len, &m))
		return;
	if (named && m.xid != xid)
		abort();
	check_pointers(buf, len, &m);
	check_places(e.inner, e.inner_len, &m);
	check_subject(buf, len, &m.query, true);
	check_subject(buf, len, &m.client_data, false);
	for (uint32_t i = 0; i < m.ia_count; i++)
		check_again(&m.ias[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *buf = malloc(size + 1);

	if (!buf || size > UINT16_MAX) {
		free(buf);
		return 0;
	}
	memcpy(buf, data, size);
	read_message(buf, (uint32_t)size);
	free(buf);
	return 0;
}
