// SPDX-License-Identifier: BSD-3-Clause
// The records of a zone, or of its changes, message by message (RFC 5936, 1995). The messages
// around them are in dns_answer_transfer_wire.c. Path: hot. Any thread of the responder.

#include "proto/dns/server/dns_zone_transfer.h"
#include "proto/dns/client/dns_internal.h"

#define POINTER      0xc000
#define FIXED_LEN    12 // per record: pointer to the zone's name, type, class, TTL, length
#define CHANGE_KINDS 4

enum phase { FIRST, UNCHANGED, WHOLE, CHANGES, OVER };

// A record from the zone or the journal.
struct item {
	const uint8_t *name, *rdata;
	uint32_t name_len, ttl;
	uint16_t type, len;
};

void dns_zone_transfer_begin(const struct dns_zones *z, const struct dns_zone *zone,
	bool incremental, uint32_t serial, struct dns_zone_cursor *c)
{
	*c = (struct dns_zone_cursor){.zone = zone,
		.serial = dns_zone_serial(zone),
		.cuts = z->journal.cuts,
		.entry = UINT32_MAX};
	if (incremental && (int32_t)(c->serial - serial) <= 0)
		c->phase = UNCHANGED;
	else if (incremental)
		c->entry = dns_journal_find(&z->journal, zone, serial);
	c->change = c->entry + (uint32_t)sizeof(struct dns_journal_entry);
}

bool dns_zone_transfer_is_over(const struct dns_zone_cursor *c)
{
	return c->phase == OVER;
}

bool dns_zone_transfer_is_incremental(const struct dns_zone_cursor *c)
{
	return c->entry != UINT32_MAX;
}

bool dns_zone_transfer_is_overtaken(const struct dns_zones *z, const struct dns_zone_cursor *c)
{
	return dns_zone_serial(c->zone) != c->serial ||
	       (dns_zone_transfer_is_incremental(c) && z->journal.cuts != c->cuts);
}

static void item_of(
	const struct dns_zone_node *node, const struct dns_zone_record *r, struct item *out)
{
	*out = (struct item){node->name, r->rdata, node->len, r->ttl, r->type, r->len};
}

// The next record of the zone, except the SOA record.
static bool record_next(const struct dns_zones *z, struct dns_zone_cursor *c, struct item *out)
{
	for (;;) {
		const struct dns_zone_node *node = c->node ? c->node->next : NULL;

		for (; c->record; c->record = c->record->next)
			if (c->record != c->zone->soa) {
				item_of(c->node, c->record, out);
				c->record = c->record->next;
				return true;
			}
		while (!node && c->bucket <= z->mask)
			node = z->buckets[c->bucket++];
		c->node = node;
		if (!node)
			return false;
		c->record = node->zone == c->zone ? node->records : NULL;
	}
}

// The next record of the zone's entries, kind by kind.
static bool change_next(const struct dns_zones *z, struct dns_zone_cursor *c, struct item *out)
{
	const struct dns_journal *j = &z->journal;

	while (c->entry < j->len) {
		struct dns_journal_entry e = dns_journal_entry(j, c->entry);
		bool ours = e.zone == c->zone;

		while (ours && c->kind < CHANGE_KINDS) {
			while (c->change < c->entry + e.len) {
				struct dns_change change;

				c->change = dns_journal_change(
					j, c->change, &change, &out->name, &out->rdata);
				if (change.kind != c->kind)
					continue;
				out->name_len = change.name_len;
				out->ttl = change.ttl;
				out->type = change.type;
				out->len = change.len;
				return true;
			}
			c->kind++;
			c->change = c->entry + (uint32_t)sizeof(e);
		}
		c->entry += e.len;
		c->change = c->entry + (uint32_t)sizeof(e);
		c->kind = 0;
	}
	return false;
}

// The SOA record comes first and last.
static bool item_next(const struct dns_zones *z, struct dns_zone_cursor *c, struct item *out)
{
	switch ((enum phase)c->phase) {
	case FIRST:
		c->phase = dns_zone_transfer_is_incremental(c) ? CHANGES : WHOLE;
		break;
	case WHOLE:
		if (record_next(z, c, out))
			return true;
		c->phase = OVER;
		break;
	case CHANGES:
		if (change_next(z, c, out))
			return true;
		c->phase = OVER;
		break;
	case UNCHANGED:
		c->phase = OVER;
		break;
	case OVER:
		return false;
	}
	item_of(c->zone->apex, c->zone->soa, out);
	return true;
}

uint16_t dns_zone_transfer_write(
	const struct dns_zones *z, struct dns_zone_cursor *c, struct writer *w, uint32_t size)
{
	const uint32_t apex_len = c->zone->apex->len;
	const uint8_t *begin = w->at;
	uint16_t written = 0;
	struct item item;

	for (;;) {
		struct dns_zone_cursor before = *c;
		uint32_t len;

		if (!item_next(z, c, &item))
			break;
		len = item.name_len - apex_len + FIXED_LEN + item.len;
		if ((written > 0 && (uint32_t)(w->at - begin) + len > size) ||
			len > (uint32_t)(w->end - w->at) || written == UINT16_MAX) {
			*c = before;
			break;
		}
		write_bytes(w, item.name, item.name_len - apex_len);
		write_be16(w, POINTER | DNS_HEADER_LEN);
		write_be16(w, item.type);
		write_be16(w, DNS_CLASS_IN);
		write_be32(w, item.ttl);
		write_be16(w, item.len);
		write_bytes(w, item.rdata, item.len);
		written++;
	}
	return written;
}
