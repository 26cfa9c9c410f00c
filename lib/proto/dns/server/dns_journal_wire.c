// SPDX-License-Identifier: BSD-3-Clause
// The journal of the responder's zones: the changes of each update, for IXFR (RFC 1995). Its memory
// is bounded: the oldest entries are dropped, half of the memory at a time. An update that does not
// fit empties the journal. Path: hot. The one thread that changes the zones.

#include <string.h>

#include "proto/dns/server/dns_journal.h"
#include "proto/dns/client/dns_internal.h"
#include "proto/dns/server/dns_zone.h"

#define ENTRY  sizeof(struct dns_journal_entry)
#define CHANGE sizeof(struct dns_change)

struct dns_journal_entry dns_journal_entry(const struct dns_journal *j, uint32_t at)
{
	struct dns_journal_entry e;

	memcpy(&e, j->bytes + at, sizeof(e));
	return e;
}

uint32_t dns_journal_change(const struct dns_journal *j, uint32_t at, struct dns_change *out,
	const uint8_t **name, const uint8_t **rdata)
{
	memcpy(out, j->bytes + at, sizeof(*out));
	*name = j->bytes + at + CHANGE;
	*rdata = *name + out->name_len;
	return at + (uint32_t)CHANGE + out->name_len + out->len;
}

// Drop the oldest entries, except the open one, until half of the memory is free or none is left.
static void journal_cut(struct dns_journal *j, uint32_t more)
{
	uint32_t gone = 0;

	while (gone < j->open && (j->len - gone + more > j->room || j->len - gone > j->room / 2))
		gone += dns_journal_entry(j, gone).len;
	memmove(j->bytes, j->bytes + gone, j->len - gone);
	j->len -= gone;
	j->open -= gone;
	j->cuts++;
}

// Reserve size bytes. NULL: the entry does not fit.
static uint8_t *journal_take(struct dns_journal *j, uint32_t size)
{
	uint8_t *at;

	if (size > j->room - j->len)
		journal_cut(j, size);
	j->full |= size > j->room - j->len;
	if (j->full)
		return NULL;
	at = j->bytes + j->len;
	j->len += size;
	return at;
}

// Was the record added by the same update? Then cancel that addition.
static bool journal_cancel(
	struct dns_journal *j, const struct dns_zone_node *node, const struct dns_zone_record *r)
{
	uint32_t at = j->open + (uint32_t)ENTRY;

	while (at < j->len) {
		struct dns_change c;
		const uint8_t *name, *rdata;
		uint32_t next = dns_journal_change(j, at, &c, &name, &rdata);

		if (c.kind == DNS_ADDED && c.type == r->type && c.len == r->len &&
			c.name_len == node->len && memcmp(name, node->name, node->len) == 0 &&
			memcmp(rdata, r->rdata, r->len) == 0) {
			c.kind = DNS_CANCELLED;
			memcpy(j->bytes + at, &c, sizeof(c));
			return true;
		}
		at = next;
	}
	return false;
}

static void change_write(struct dns_journal *j, enum dns_change_kind kind,
	const struct dns_zone_node *node, const struct dns_zone_record *r)
{
	const struct dns_change c = {r->ttl, r->type, r->len, (uint8_t)kind, node->len};
	uint8_t *to = journal_take(j, (uint32_t)CHANGE + node->len + r->len);

	if (!to)
		return;
	memcpy(to, &c, sizeof(c));
	memcpy(to + CHANGE, node->name, node->len);
	memcpy(to + CHANGE + node->len, r->rdata, r->len);
}

void dns_journal_note(struct dns_journal *j, enum dns_change_kind kind,
	const struct dns_zone_node *node, const struct dns_zone_record *r)
{
	if (!j || j->full || r->type == DNS_SOA ||
		(kind == DNS_DELETED && journal_cancel(j, node, r)))
		return;
	change_write(j, kind, node, r);
}

void dns_journal_begin(struct dns_journal *j, const struct dns_zone *zone)
{
	struct dns_journal_entry e = {.zone = zone};
	uint8_t *to;

	if (!j)
		return;
	e.from = dns_zone_serial(zone);
	j->full = false;
	j->open = j->len;
	to = journal_take(j, ENTRY);
	if (to)
		memcpy(to, &e, sizeof(e));
	change_write(j, DNS_SOA_BEFORE, zone->apex, zone->soa);
}

void dns_journal_end(struct dns_journal *j, const struct dns_zone *zone, bool changed)
{
	struct dns_journal_entry e;

	if (!j)
		return;
	if (changed && !j->full)
		change_write(j, DNS_SOA_AFTER, zone->apex, zone->soa);
	if (!changed || j->full) {
		j->len = j->full && changed ? 0 : j->open;
		j->cuts += j->full;
		return;
	}
	e = dns_journal_entry(j, j->open);
	e.len = j->len - j->open;
	e.to = dns_zone_serial(zone);
	memcpy(j->bytes + j->open, &e, sizeof(e));
}

uint32_t dns_journal_find(const struct dns_journal *j, const struct dns_zone *zone, uint32_t serial)
{
	for (uint32_t at = 0; at < j->len;) {
		struct dns_journal_entry e = dns_journal_entry(j, at);

		if (e.zone == zone && e.from == serial)
			return at;
		at += e.len;
	}
	return UINT32_MAX;
}
