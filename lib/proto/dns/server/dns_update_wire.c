// SPDX-License-Identifier: BSD-3-Clause
// Dynamic updates of the responder's zones (RFC 2136 section 3): zone, prerequisites, a first pass
// over the updates that changes nothing, then the changes. A message that exceeds the memory also
// changes nothing. Path: hot. The one thread of the responder.

#include "proto/dns/server/dns_update.h"
#include "proto/dns/client/dns_internal.h"

#define HOPS_MAX  127                         // pointers of a name
#define EXPANDED  (6 + 2 * DNS_NAME_MAX + 20) // maximum RDATA with names
#define FIXED_LEN 10                          // TYPE, CLASS, TTL, RDLENGTH
#define POINTER   0xc0
#define LABEL_MAX 63

struct update {
	struct dns_zones *zones;
	struct dns_zone *zone;
	const uint8_t *buf;
	uint32_t len, at; // at: of the next record
	// The record read last.
	uint8_t name[DNS_NAME_MAX];
	uint32_t name_len;
	uint16_t type, class, rdata_len;
	uint32_t ttl;
	const uint8_t *rdata; // uncompressed
	uint8_t expanded[EXPANDED];
};

// Read a name at *at and move *at past it. Returns its length; 0: not well formed.
static uint32_t name_read(const uint8_t *buf, uint32_t len, uint32_t *at, uint8_t out[DNS_NAME_MAX])
{
	uint32_t from = *at, limit = from, made = 0, hops = 0;

	while (from < len) {
		uint8_t label = buf[from];

		if (label >= POINTER) {
			if (from + 1 >= len || hops++ == HOPS_MAX)
				return 0;
			if (hops == 1)
				*at = from + 2;
			from = (label & (uint32_t)LABEL_MAX) << 8 | buf[from + 1];
			if (from >= limit || from < DNS_HEADER_LEN)
				return 0;
			limit = from;
			continue;
		}
		if (label > LABEL_MAX || len - from <= label || made + label + 1 > DNS_NAME_MAX)
			return 0;
		memcpy(out + made, buf + from, label + 1u);
		made += label + 1u;
		from += label + 1u;
		if (label == 0) {
			*at = hops ? *at : from;
			return made;
		}
	}
	return 0;
}

// Expand compressed names in RDATA of these types; other types are left in place.
static bool rdata_read(struct update *u, uint32_t at)
{
	const struct dns_rdata_layout *l = dns_rdata_layout_of(u->type);
	uint32_t end = at + u->rdata_len, made = 0;

	u->rdata = u->buf + at;
	if (!l || u->rdata_len == 0)
		return true;
	if (u->rdata_len < l->before)
		return false;
	memcpy(u->expanded, u->buf + at, l->before);
	made = l->before;
	at += made;
	for (uint32_t i = 0; i < l->names; i++) {
		uint32_t name = name_read(u->buf, end, &at, u->expanded + made);

		if (name == 0)
			return false;
		made += name;
	}
	if (end - at != l->behind)
		return false;
	memcpy(u->expanded + made, u->buf + at, l->behind);
	u->rdata = u->expanded;
	u->rdata_len = (uint16_t)(made + l->behind);
	return true;
}

// false: not well formed.
static bool record_read(struct update *u)
{
	uint8_t name[DNS_NAME_MAX];
	const uint8_t *fixed;

	u->name_len = name_read(u->buf, u->len, &u->at, name);
	if (u->name_len == 0 || u->len - u->at < FIXED_LEN)
		return false;
	dns_zone_lower(u->name, name, u->name_len);
	fixed = u->buf + u->at;
	u->type = bytes_be16(fixed);
	u->class = bytes_be16(fixed + 2);
	u->ttl = bytes_be32(fixed + 4);
	u->rdata_len = bytes_be16(fixed + 8);
	u->at += FIXED_LEN;
	if (u->len - u->at < u->rdata_len)
		return false;
	u->at += u->rdata_len;
	return rdata_read(u, u->at - u->rdata_len);
}

static bool is_in_zone(const struct update *u)
{
	uint32_t at;
	const struct dns_zone_node *node = dns_zone_closest(u->zones, u->name, u->name_len, &at);

	return node && node->zone == u->zone;
}

// Check one prerequisite (RFC 2136 section 3.2).
static enum dns_rcode prerequisite_check(struct update *u)
{
	const struct dns_zone_node *node = dns_zone_find(u->zones, u->name, u->name_len);
	bool named = u->type == DNS_ANY; // for the name, not for a type
	bool is_there =
		node && (named ? node->records != NULL : dns_zone_first(node, u->type) != NULL);
	struct dns_zone_record *same;

	if (u->ttl != 0 || (u->class != DNS_CLASS_IN && u->rdata_len > 0))
		return DNS_FORMERR;
	if (!is_in_zone(u))
		return DNS_NOTZONE;
	switch (u->class) {
	case DNS_CLASS_ANY:
		return is_there ? DNS_NOERROR : named ? DNS_NXDOMAIN : DNS_NXRRSET;
	case DNS_CLASS_NONE:
		return !is_there ? DNS_NOERROR : named ? DNS_YXDOMAIN : DNS_YXRRSET;
	case DNS_CLASS_IN:
		same = node ? dns_zone_same(node, u->type, u->rdata, u->rdata_len) : NULL;
		if (!same)
			return DNS_NXRRSET;
		same->seen = u->zones->updates;
		return DNS_NOERROR;
	}
	return DNS_FORMERR;
}

// Section 3.2.3: the zone's RRset may not have a record that the prerequisites do not list.
static enum dns_rcode set_check(struct update *u)
{
	const struct dns_zone_node *node;
	const struct dns_zone_record *r;

	if (u->class != DNS_CLASS_IN)
		return DNS_NOERROR;
	node = dns_zone_find(u->zones, u->name, u->name_len);
	r = node ? dns_zone_first(node, u->type) : NULL;
	while (r && r->type == u->type && r->seen == u->zones->updates)
		r = r->next;
	return r && r->type == u->type ? DNS_NXRRSET : DNS_NOERROR;
}

static bool is_meta(uint16_t type)
{
	return type == DNS_OPT || (type >= DNS_IXFR && type <= DNS_MAILA) || type == DNS_ANY;
}

// Section 3.4.1: check one update, before any is applied.
static enum dns_rcode update_check(struct update *u)
{
	if (!is_in_zone(u))
		return DNS_NOTZONE;
	switch (u->class) {
	case DNS_CLASS_IN:
		return is_meta(u->type) || (dns_rdata_layout_of(u->type) && u->rdata_len == 0)
		               ? DNS_FORMERR
		               : DNS_NOERROR;
	case DNS_CLASS_ANY:
		return u->ttl != 0 || u->rdata_len > 0 || (is_meta(u->type) && u->type != DNS_ANY)
		               ? DNS_FORMERR
		               : DNS_NOERROR;
	case DNS_CLASS_NONE:
		return u->ttl != 0 || is_meta(u->type) ? DNS_FORMERR : DNS_NOERROR;
	}
	return DNS_FORMERR;
}

// Section 3.4.2: apply one update.
static void update_make(struct update *u, struct dns_zone_changes *c)
{
	const struct dns_zone_record record = {.ttl = u->ttl, .type = u->type, .len = u->rdata_len};
	struct dns_zone_node *node = dns_zone_find(u->zones, u->name, u->name_len);

	if (u->class == DNS_CLASS_IN)
		dns_zone_add(u->zones, u->zone, u->name, u->name_len, &record, u->rdata, c);
	else if (node)
		dns_zone_delete(u->zones, node, u->type,
			u->class == DNS_CLASS_NONE ? u->rdata : NULL, u->rdata_len, c);
}

// Pass each record of the section at u->at to a check, and move u->at to the section's end.
static enum dns_rcode section_check(
	struct update *u, uint32_t count, enum dns_rcode (*check)(struct update *u))
{
	enum dns_rcode rcode = DNS_NOERROR;

	for (uint32_t i = 0; i < count && rcode == DNS_NOERROR; i++)
		rcode = record_read(u) ? check(u) : DNS_FORMERR;
	return rcode;
}

static bool has_room(struct update *u, uint32_t count)
{
	struct dns_zone_need need = {0};

	for (uint32_t i = 0; i < count && record_read(u); i++)
		if (u->class == DNS_CLASS_IN)
			dns_zone_need_add(u->zones, &need, u->name, u->name_len, u->rdata_len);
	return dns_zone_has_room(u->zones, &need);
}

uint8_t dns_update(struct dns_zones *z, const uint8_t *buf, uint32_t len, uint32_t question_len,
	struct dns_zone_changes *c)
{
	struct update u = {.zones = z, .buf = buf, .len = len};
	uint32_t prerequisites = bytes_be16(buf + 6), updates = bytes_be16(buf + 8);
	uint32_t begin = DNS_HEADER_LEN + question_len, then;
	const uint8_t *zone_type = buf + begin - 4;
	struct dns_zone_node *node;
	uint32_t serial;
	enum dns_rcode rcode;

	*c = (struct dns_zone_changes){.to = z->journal.bytes ? &z->journal : NULL};
	if (bytes_be16(zone_type) != DNS_SOA || bytes_be16(zone_type + 2) != DNS_CLASS_IN)
		return DNS_FORMERR;
	dns_zone_lower(u.name, buf + DNS_HEADER_LEN, question_len - 4);
	node = dns_zone_find(z, u.name, question_len - 4);
	if (!node || node->parent)
		return DNS_NOTAUTH;
	if (!z->changeable)
		return DNS_REFUSED;
	u.zone = node->zone;
	z->updates++;
	u.at = begin;
	rcode = section_check(&u, prerequisites, prerequisite_check);
	then = u.at;
	u.at = begin;
	if (rcode == DNS_NOERROR)
		rcode = section_check(&u, prerequisites, set_check);
	u.at = then;
	if (rcode == DNS_NOERROR)
		rcode = section_check(&u, updates, update_check);
	u.at = then;
	if (rcode == DNS_NOERROR && !has_room(&u, updates))
		rcode = DNS_SERVFAIL;
	if (rcode != DNS_NOERROR)
		return (uint8_t)rcode;
	u.at = then;
	serial = dns_zone_serial(u.zone);
	dns_journal_begin(c->to, u.zone);
	for (uint32_t i = 0; i < updates && record_read(&u); i++)
		update_make(&u, c);
	// Section 3.6: unless the message itself set the SOA record.
	if (c->any && dns_zone_serial(u.zone) == serial)
		dns_zone_serial_set(u.zone, serial + 1);
	dns_journal_end(c->to, u.zone, c->any);
	return DNS_NOERROR;
}
