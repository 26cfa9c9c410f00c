// SPDX-License-Identifier: BSD-3-Clause
// Queries to the responder's zones: exact names, wildcards, CNAMEs within the zone, NODATA and
// NXDOMAIN with the SOA record (RFC 2308), a small zone as a whole in one message (RFC 5936). Not
// here: delegations, DNAME, additional records, DNSSEC. Path: hot. Any thread of the responder.

#include "proto/dns/dns_internal.h"
#include "proto/dns/dns_zone.h"

#define POINTER     0xc000
#define POINTER_MAX 0x3fff
#define CHAIN_MAX   8 // CNAMEs of an answer

static void record_write(
	struct writer *w, uint16_t owner, const struct dns_zone_record *r, uint32_t ttl)
{
	write_be16(w, owner);
	write_be16(w, r->type);
	write_be16(w, DNS_CLASS_IN);
	write_be32(w, ttl);
	write_be16(w, r->len);
	write_bytes(w, r->rdata, r->len);
}

// RFC 2308 section 3: the TTL is the least of its own and MINIMUM, the last field.
static void negative_write(
	struct writer *w, const struct dns_zone *zone, uint16_t owner, struct dns_zone_reply *r)
{
	const struct dns_zone_record *soa = zone->soa;
	uint32_t minimum = bytes_be32(soa->rdata + soa->len - 4);

	record_write(w, owner, soa, minimum < soa->ttl ? minimum : soa->ttl);
	r->authority++;
}

// All records asked for. The CNAME that stands for them, or NULL.
static const struct dns_zone_record *records_write(struct writer *w, uint16_t owner,
	const struct dns_zone_node *node, uint16_t type, struct dns_zone_reply *reply)
{
	uint32_t before = reply->answers;
	const struct dns_zone_record *cname;

	for (const struct dns_zone_record *r = node->records; r; r = r->next) {
		if (r->type != type && type != DNS_ANY)
			continue;
		record_write(w, owner, r, r->ttl);
		reply->answers++;
	}
	cname = reply->answers == before ? dns_zone_first(node, DNS_CNAME) : NULL;
	if (cname) {
		record_write(w, owner, cname, cname->ttl);
		reply->answers++;
	}
	return cname;
}

// RFC 1034 section 4.3.3: the name * below the nearest one that is there.
static const struct dns_zone_node *wildcard_of(
	const struct dns_zones *z, const struct dns_zone_node *above)
{
	uint8_t name[2 + DNS_NAME_MAX] = {1, '*'};

	memcpy(name + 2, above->name, above->len);
	return dns_zone_find(z, name, 2u + above->len);
}

// A zone as a whole, all in this message. name: of the question, at the end of the header.
static void zone_write(const struct dns_zones *z, const struct dns_zone *zone, struct writer *w,
	struct dns_zone_reply *reply)
{
	const uint16_t apex = POINTER | DNS_HEADER_LEN;

	record_write(w, apex, zone->soa, zone->soa->ttl);
	for (uint32_t i = 0; i <= z->mask && !w->failed; i++)
		for (const struct dns_zone_node *n = z->buckets[i]; n; n = n->next)
			for (const struct dns_zone_record *r = n->records; r; r = r->next) {
				if (n->zone != zone || r == zone->soa)
					continue;
				write_bytes(w, n->name, n->len - (uint32_t)zone->apex->len);
				record_write(w, apex, r, r->ttl);
				reply->answers++;
			}
	record_write(w, apex, zone->soa, zone->soa->ttl);
	reply->answers += 2;
}

static void chain_write(const struct dns_zones *z, const uint8_t *message, uint8_t *name,
	uint32_t len, uint16_t type, struct writer *w, struct dns_zone_reply *reply)
{
	uint32_t at, owner = DNS_HEADER_LEN;
	const struct dns_zone_node *node = dns_zone_closest(z, name, len, &at);
	const struct dns_zone *zone = node ? node->zone : NULL;
	uint16_t soa_owner = zone ? (uint16_t)(POINTER | (owner + len - zone->apex->len)) : 0;

	reply->foreign = !node;
	for (uint32_t hops = 0; node && node->zone == zone && hops < CHAIN_MAX; hops++) {
		const struct dns_zone_node *found = at ? wildcard_of(z, node) : node;
		uint32_t before = reply->answers;
		const struct dns_zone_record *cname = NULL;

		if (found)
			cname = records_write(w, (uint16_t)(POINTER | owner), found, type, reply);
		if (!found)
			reply->rcode = DNS_NXDOMAIN;
		if (reply->answers == before)
			negative_write(w, zone, soa_owner, reply);
		owner = cname ? (uint32_t)(w->at - message) - cname->len : POINTER_MAX + 1;
		if (owner > POINTER_MAX || w->failed)
			return;
		dns_zone_lower(name, cname->rdata, cname->len);
		node = dns_zone_closest(z, name, cname->len, &at);
	}
}

void dns_zone_answer(const struct dns_zones *z, const uint8_t *message, uint32_t question_len,
	struct writer *w, struct dns_zone_reply *r)
{
	const uint8_t *question = message + DNS_HEADER_LEN;
	uint32_t len = question_len - 4;
	uint16_t type = bytes_be16(question + len);
	const struct dns_zone_node *node;
	uint8_t name[DNS_NAME_MAX];

	dns_zone_lower(name, question, len);
	if (type != DNS_AXFR && type != DNS_IXFR) {
		chain_write(z, message, name, len, type, w, r);
		return;
	}
	node = dns_zone_find(z, name, len);
	r->foreign = !node || node->parent;
	if (!r->foreign)
		zone_write(z, node->zone, w, r);
}
