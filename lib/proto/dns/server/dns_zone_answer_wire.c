// SPDX-License-Identifier: BSD-3-Clause
// Queries to the responder's zones: exact names, wildcards, CNAMEs within the zone, NODATA and
// NXDOMAIN with the SOA record (RFC 2308), delegations with the addresses in the zone, DNAME (RFC
// 6672). Transfer queries come over UDP: they are truncated, or answered with the SOA record (RFC
// 1995 section 2). No other additional records, no DNSSEC. Path: hot. Any thread of the responder.

#include "proto/dns/server/dns_zone_answer.h"
#include "proto/dns/client/dns_internal.h"

#define POINTER     0xc000
#define POINTER_MAX 0x3fff
#define CHAIN_MAX   8  // CNAMEs of an answer
#define RECORD_HEAD 12 // bytes before RDATA

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

// RFC 2308 section 3: the TTL is the minimum of the record's own and its last field, MINIMUM.
static void negative_write(
	struct writer *w, const struct dns_zone *zone, uint16_t owner, struct dns_zone_reply *r)
{
	const struct dns_zone_record *soa = zone->soa;
	uint32_t minimum = bytes_be32(soa->rdata + soa->len - 4);

	record_write(w, owner, soa, minimum < soa->ttl ? minimum : soa->ttl);
	r->authority++;
}

// Write all matching records. Returns the CNAME written in their place, or NULL.
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

// RFC 1034 section 4.3.3: the name * below the closest encloser.
static const struct dns_zone_node *wildcard_of(
	const struct dns_zones *z, const struct dns_zone_node *above)
{
	uint8_t name[2 + DNS_NAME_MAX] = {1, '*'};

	memcpy(name + 2, above->name, above->len);
	return dns_zone_find(z, name, 2u + above->len);
}

// The topmost name, at or above the closest, where a child zone begins or names below are
// redirected. *redirects: it is a DNAME (RFC 6672 section 3.2). NULL: the zone has the answer.
static const struct dns_zone_node *cut_of(
	const struct dns_zone_node *closest, bool exact, uint16_t type, bool *redirects)
{
	const struct dns_zone_node *cut = NULL;

	for (const struct dns_zone_node *n = closest; n; n = n->parent) {
		bool asked = exact && n == closest;
		// The parent zone has the DS record (RFC 4035 section 3.1.4.1).
		bool ns = n->parent && !(asked && type == DNS_DS) && dns_zone_first(n, DNS_NS);

		if (!ns && (asked || !dns_zone_first(n, DNS_DNAME)))
			continue;
		cut = n;
		*redirects = !ns;
	}
	return cut;
}

// Write the servers of a child zone, and the addresses of servers that this zone has.
static void referral_write(const struct dns_zones *z, const uint8_t *message, uint16_t owner,
	const struct dns_zone_node *cut, struct writer *w, struct dns_zone_reply *reply)
{
	const struct dns_zone_record *first = dns_zone_first(cut, DNS_NS), *ns;
	uint32_t target = (uint32_t)(w->at - message) + RECORD_HEAD;
	uint8_t name[DNS_NAME_MAX];

	reply->referral = reply->answers == 0;
	for (ns = first; ns && ns->type == DNS_NS; ns = ns->next) {
		record_write(w, owner, ns, ns->ttl);
		reply->authority++;
	}
	for (ns = first; ns && ns->type == DNS_NS && target <= POINTER_MAX; ns = ns->next) {
		const struct dns_zone_node *node;

		dns_zone_lower(name, ns->rdata, ns->len);
		node = dns_zone_find(z, name, ns->len);
		for (const struct dns_zone_record *r =
				node && node->zone == cut->zone ? node->records : NULL;
			r; r = r->next) {
			if (r->type != DNS_A && r->type != DNS_AAAA)
				continue;
			record_write(w, (uint16_t)(POINTER | target), r, r->ttl);
			reply->additional++;
		}
		target += RECORD_HEAD + ns->len;
	}
}

// Write the DNAME record and the CNAME record derived from it. Sets *name to the CNAME's target and
// returns its length, or 0: too long.
static uint32_t redirect_write(struct writer *w, uint16_t owner, uint8_t *name, uint32_t len,
	const struct dns_zone_node *cut, struct dns_zone_reply *reply)
{
	const struct dns_zone_record *dname = dns_zone_first(cut, DNS_DNAME);
	uint32_t before = len - cut->len;

	record_write(w, (uint16_t)(owner + before), dname, dname->ttl);
	reply->answers++;
	if (before + dname->len > DNS_NAME_MAX) {
		reply->rcode = DNS_YXDOMAIN;
		return 0;
	}
	write_be16(w, owner);
	write_be16(w, DNS_CNAME);
	write_be16(w, DNS_CLASS_IN);
	write_be32(w, dname->ttl);
	write_be16(w, (uint16_t)(before + dname->len));
	write_bytes(w, name, before);
	write_bytes(w, dname->rdata, dname->len);
	reply->answers++;
	dns_zone_lower(name + before, dname->rdata, dname->len);
	return before + dname->len;
}

// Write the zone's records at the name. If there is a CNAME instead, sets *name to its target and
// returns the target's length, otherwise 0.
static uint32_t name_write(const struct dns_zones *z, struct writer *w, uint32_t owner,
	const struct dns_zone_node *found, uint8_t *name, uint16_t type,
	struct dns_zone_reply *reply)
{
	const struct dns_zone_record *cname = NULL;

	if (found)
		cname = records_write(w, (uint16_t)(POINTER | owner), found, type, reply);
	else
		reply->rcode = DNS_NXDOMAIN;
	if (!cname)
		return 0;
	dns_zone_lower(name, cname->rdata, cname->len);
	return cname->len;
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
		uint32_t before = reply->answers;
		bool redirects = false;
		const struct dns_zone_node *cut = cut_of(node, at == 0, type, &redirects);

		if (cut && !redirects) {
			referral_write(z, message, (uint16_t)(POINTER | (owner + len - cut->len)),
				cut, w, reply);
			return;
		}
		len = cut ? redirect_write(w, (uint16_t)(POINTER | owner), name, len, cut, reply)
		          : name_write(z, w, owner, at ? wildcard_of(z, node) : node, name, type,
				    reply);
		if (reply->answers == before)
			negative_write(w, zone, soa_owner, reply);
		owner = (uint32_t)(w->at - message) - len;
		if (len == 0 || owner + len > POINTER_MAX || w->failed ||
			(cut && type == DNS_CNAME))
			return;
		node = dns_zone_closest(z, name, len, &at);
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
	w->failed = !r->foreign && type == DNS_AXFR;
	if (r->foreign || w->failed)
		return;
	record_write(w, POINTER | DNS_HEADER_LEN, node->zone->soa, node->zone->soa->ttl);
	r->answers++;
}
