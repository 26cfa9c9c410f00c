// SPDX-License-Identifier: BSD-3-Clause
// Names and records of the responder's zones: lookup, addition, deletion. Memory comes in pieces of
// a few sizes; freed pieces are reused for their size. Rules of messages are in dns_update_wire.c
// and dns_zone_answer_wire.c. Path: hot. The one thread that changes them, or any reader.

#include "proto/dns/server/dns_zone.h"
#include "proto/dns/client/dns_internal.h"

#define PIECE_MIN 32
#define WKS       11

void dns_zone_lower(uint8_t *name, const uint8_t *from, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		name[i] = from[i] >= 'A' && from[i] <= 'Z' ? from[i] | 0x20 : from[i];
}

static uint32_t bucket_of(const struct dns_zones *z, const uint8_t *name, uint32_t len)
{
	uint64_t hash = z->seed ^ len, word;

	for (; len >= 8; name += 8, len -= 8) {
		memcpy(&word, name, 8);
		hash = rand_hash(hash ^ word);
	}
	word = 0;
	memcpy(&word, name, len);
	return (uint32_t)rand_hash(hash ^ word) & z->mask;
}

struct dns_zone_node *dns_zone_find(const struct dns_zones *z, const uint8_t *name, uint32_t len)
{
	struct dns_zone_node *node = z->buckets[bucket_of(z, name, len)];

	while (node && (node->len != len || memcmp(node->name, name, len) != 0))
		node = node->next;
	return node;
}

struct dns_zone_node *dns_zone_closest(
	const struct dns_zones *z, const uint8_t *name, uint32_t len, uint32_t *at)
{
	struct dns_zone_node *node;

	*at = 0;
	while (!(node = dns_zone_find(z, name + *at, len - *at)) && name[*at])
		*at += 1u + name[*at];
	return node;
}

struct dns_zone_record *dns_zone_first(const struct dns_zone_node *node, uint16_t type)
{
	struct dns_zone_record *r = node->records;

	while (r && r->type != type)
		r = r->next;
	return r;
}

// RFC 3597 section 4: types whose names may be compressed. A and AAAA are listed for their length.
static const struct dns_rdata_layout layouts[] = {
	{DNS_A, 4, 0, 0}, {DNS_NS, 0, 1, 0}, {3, 0, 1, 0},       // MD
	{4, 0, 1, 0},                                            // MF
	{DNS_CNAME, 0, 1, 0}, {DNS_SOA, 0, 2, 20}, {7, 0, 1, 0}, // MB
	{8, 0, 1, 0},                                            // MG
	{9, 0, 1, 0},                                            // MR
	{12, 0, 1, 0},                                           // PTR
	{14, 0, 2, 0},                                           // MINFO
	{15, 2, 1, 0},                                           // MX
	{17, 0, 2, 0},                                           // RP
	{18, 2, 1, 0},                                           // AFSDB
	{21, 2, 1, 0},                                           // RT
	{26, 2, 2, 0},                                           // PX
	{DNS_AAAA, 16, 0, 0}, {33, 6, 1, 0},                     // SRV
	{36, 2, 1, 0},                                           // KX
	{39, 0, 1, 0},                                           // DNAME
};

const struct dns_rdata_layout *dns_rdata_layout_of(uint16_t type)
{
	for (uint32_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].type == type)
			return &layouts[i];
	return NULL;
}

// Label lengths are below all letters.
static bool rdata_equal(
	const struct dns_rdata_layout *l, const uint8_t *a, const uint8_t *b, uint32_t len)
{
	uint32_t names_end = l ? len - l->behind : 0;

	for (uint32_t i = 0; i < len; i++) {
		uint8_t x = a[i], y = b[i];
		bool name = l && i >= l->before && i < names_end;

		if (x != y &&
			(!name || (x | 0x20) != (y | 0x20) || (x | 0x20) < 'a' || (x | 0x20) > 'z'))
			return false;
	}
	return true;
}

struct dns_zone_record *dns_zone_same(
	const struct dns_zone_node *node, uint16_t type, const uint8_t *rdata, uint32_t len)
{
	const struct dns_rdata_layout *l = dns_rdata_layout_of(type);
	struct dns_zone_record *r = dns_zone_first(node, type);

	while (r && r->type == type && (r->len != len || !rdata_equal(l, r->rdata, rdata, len)))
		r = r->next;
	return r && r->type == type ? r : NULL;
}

// --- memory ---

static uint32_t class_of(uint64_t size)
{
	return size <= PIECE_MIN ? 0 : 59 - (uint32_t)__builtin_clzll(size - 1);
}

static void *piece_take(struct dns_zones *z, uint64_t size)
{
	uint32_t class = class_of(size);
	uint64_t whole = (uint64_t)PIECE_MIN << class;
	void *piece = z->spare[class];

	if (piece) {
		memcpy(&z->spare[class], piece, sizeof(piece));
		z->spares[class]--;
	} else if ((uint64_t)(z->end - z->at) >= whole) {
		piece = z->at;
		z->at += whole;
	}
	return piece;
}

static void piece_give(struct dns_zones *z, void *piece, uint64_t size)
{
	uint32_t class = class_of(size);

	memcpy(piece, &z->spare[class], sizeof(piece));
	z->spare[class] = piece;
	z->spares[class]++;
}

void dns_zone_need_add(const struct dns_zones *z, struct dns_zone_need *need, const uint8_t *name,
	uint32_t len, uint32_t rdata_len)
{
	uint32_t at;

	dns_zone_closest(z, name, len, &at);
	need->pieces[class_of(sizeof(struct dns_zone_record) + rdata_len)]++;
	for (uint32_t i = 0; i < at; i += 1u + name[i])
		need->pieces[class_of(sizeof(struct dns_zone_node) + len - i)]++;
}

bool dns_zone_has_room(const struct dns_zones *z, const struct dns_zone_need *need)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < DNS_ZONE_CLASSES; i++)
		if (need->pieces[i] > z->spares[i])
			bytes += (uint64_t)(need->pieces[i] - z->spares[i]) * PIECE_MIN << i;
	return bytes <= (uint64_t)(z->end - z->at);
}

// --- names ---

void dns_zone_node_link(struct dns_zones *z, struct dns_zone_node *node)
{
	struct dns_zone_node **bucket = &z->buckets[bucket_of(z, node->name, node->len)];

	node->next = *bucket;
	*bucket = node;
}

struct dns_zone_node *dns_zone_node_new(
	struct dns_zones *z, struct dns_zone *zone, const uint8_t *name, uint32_t len)
{
	struct dns_zone_node *node = piece_take(z, sizeof(*node) + len);

	if (!node)
		return NULL;
	*node = (struct dns_zone_node){.zone = zone, .len = (uint8_t)len};
	memcpy(node->name, name, len);
	dns_zone_node_link(z, node);
	z->nodes++;
	return node;
}

// Create a name and all names between it and the zone. NULL: no room.
static struct dns_zone_node *node_make(
	struct dns_zones *z, struct dns_zone *zone, const uint8_t *name, uint32_t len)
{
	uint32_t at;
	struct dns_zone_node *above = dns_zone_closest(z, name, len, &at);
	struct dns_zone_node *first = NULL, *below = NULL;

	for (uint32_t i = 0; i < at; i += 1u + name[i]) {
		struct dns_zone_node *node = dns_zone_node_new(z, zone, name + i, len - i);

		if (!node)
			return NULL;
		if (below) {
			below->parent = node;
			node->children = 1;
		} else {
			first = node;
		}
		below = node;
	}
	if (!below)
		return above;
	below->parent = above;
	if (above)
		above->children++;
	return first;
}

static void node_unlink(struct dns_zones *z, struct dns_zone_node *node)
{
	struct dns_zone_node **at = &z->buckets[bucket_of(z, node->name, node->len)];

	while (*at != node)
		at = &(*at)->next;
	*at = node->next;
	z->nodes--;
}

// Remove names that have neither records nor names below.
static void node_prune(struct dns_zones *z, struct dns_zone_node *node)
{
	while (node->parent && !node->records && node->children == 0) {
		struct dns_zone_node *parent = node->parent;

		node_unlink(z, node);
		piece_give(z, node, sizeof(*node) + node->len);
		parent->children--;
		node = parent;
	}
}

// --- records ---

void dns_zone_serial_set(struct dns_zone *zone, uint32_t serial)
{
	bytes_put_be32(zone->soa->rdata + zone->soa->len - DNS_SOA_SERIAL, serial);
}

// Insert after the records of its type.
static void record_insert(struct dns_zones *z, struct dns_zone_node *node,
	const struct dns_zone_record *record, const uint8_t *rdata, struct dns_zone_changes *c)
{
	struct dns_zone_record *r = piece_take(z, sizeof(*r) + record->len);
	struct dns_zone_record **at = &node->records;
	bool seen = false;

	if (!r)
		return;
	for (; *at && (!seen || (*at)->type == record->type); at = &(*at)->next)
		seen |= (*at)->type == record->type;
	*r = *record;
	r->next = *at;
	memcpy(r->rdata, rdata, record->len);
	*at = r;
	if (record->type == DNS_SOA)
		node->zone->soa = r;
	c->added++;
	c->any = true;
	dns_journal_note(c->to, DNS_ADDED, node, r);
}

static void record_remove(struct dns_zones *z, const struct dns_zone_node *node,
	struct dns_zone_record **at, struct dns_zone_changes *c)
{
	struct dns_zone_record *r = *at;

	dns_journal_note(c->to, DNS_DELETED, node, r);
	*at = r->next;
	piece_give(z, r, sizeof(*r) + r->len);
	c->deleted++;
	c->any = true;
}

static void singleton_remove(
	struct dns_zones *z, struct dns_zone_node *node, uint16_t type, struct dns_zone_changes *c)
{
	struct dns_zone_record **at = &node->records;

	while (*at && (*at)->type != type)
		at = &(*at)->next;
	if (*at)
		record_remove(z, node, at, c);
}

// RFC 2181 section 5.2: all records of a type have one TTL.
static void ttl_set(
	struct dns_zone_node *node, uint16_t type, uint32_t ttl, struct dns_zone_changes *c)
{
	for (struct dns_zone_record *r = dns_zone_first(node, type); r && r->type == type;
		r = r->next) {
		if (r->ttl == ttl)
			continue;
		dns_journal_note(c->to, DNS_DELETED, node, r);
		r->ttl = ttl;
		dns_journal_note(c->to, DNS_ADDED, node, r);
		c->any = true;
	}
}

// RFC 2136 section 3.4.2.2: updates that are ignored without an error. node: NULL: does not exist.
static bool is_ignored(const struct dns_zone *zone, const struct dns_zone_node *node,
	const struct dns_zone_record *record, const uint8_t *rdata)
{
	bool cname = node && dns_zone_first(node, DNS_CNAME);

	switch (record->type) {
	case DNS_SOA: // RFC 1982: only a later serial
		return node != zone->apex || record->len < 22 ||
		       (zone->soa && (int32_t)(bytes_be32(rdata + record->len - 20) -
					       dns_zone_serial(zone)) <= 0);
	case WKS:
		return true;
	case DNS_CNAME:
		return node && node->records && !cname;
	}
	return cname;
}

void dns_zone_add(struct dns_zones *z, struct dns_zone *zone, const uint8_t *name, uint32_t len,
	const struct dns_zone_record *record, const uint8_t *rdata, struct dns_zone_changes *c)
{
	struct dns_zone_node *node = dns_zone_find(z, name, len);

	if (is_ignored(zone, node, record, rdata))
		return;
	node = node_make(z, zone, name, len);
	if (!node)
		return;
	if (!dns_zone_same(node, record->type, rdata, record->len)) {
		if (record->type == DNS_SOA || record->type == DNS_CNAME)
			singleton_remove(z, node, record->type, c);
		record_insert(z, node, record, rdata, c);
	}
	ttl_set(node, record->type, record->ttl, c);
}

static bool stays(const struct dns_zone_node *node, const struct dns_zone_record *r, uint16_t type,
	const uint8_t *rdata)
{
	const struct dns_zone_record *first;

	if (node->parent)
		return false;
	if (r->type == DNS_SOA || (r->type == DNS_NS && !rdata))
		return true;
	if (r->type != DNS_NS)
		return false;
	first = dns_zone_first(node, DNS_NS);
	return !first->next || first->next->type != DNS_NS;
}

void dns_zone_delete(struct dns_zones *z, struct dns_zone_node *node, uint16_t type,
	const uint8_t *rdata, uint32_t len, struct dns_zone_changes *c)
{
	const struct dns_zone_record *same = rdata ? dns_zone_same(node, type, rdata, len) : NULL;
	struct dns_zone_record **at = &node->records;

	while (*at) {
		struct dns_zone_record *r = *at;
		bool is_meant = rdata ? r == same : type == DNS_ANY || r->type == type;

		if (is_meant && !stays(node, r, type, rdata))
			record_remove(z, node, at, c);
		else
			at = &r->next;
	}
	node_prune(z, node);
}
