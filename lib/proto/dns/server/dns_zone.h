// SPDX-License-Identifier: BSD-3-Clause
// Zones of the responder: names in a hash table, each with its records in wire form, in memory
// allocated before the run. Loaded by dns_zone.c, managed by dns_zone_wire.c, queried by
// dns_zone_answer_wire.c, changed by dns_update_wire.c, with changes kept by dns_journal_wire.c,
// sent in full or by changes by dns_zone_transfer_wire.c. Several threads may read; with updates,
// one does everything. Path: cold (load, free) | hot (the rest).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/diag.h"
#include "base/field.h"
#include "proto/dns/server/dns_journal.h"

#define DNS_ZONE_CLASSES 13 // sizes of pieces of memory: 32 bytes, 64, ... 128 KiB

struct dns_zone_record {
	struct dns_zone_record *next; // at this name, grouped by type
	uint32_t ttl;
	uint32_t seen; // number of the update that last listed it in a prerequisite
	uint16_t type, len;
	uint8_t rdata[]; // uncompressed
};

struct dns_zone;

// A name that has records, or names below it.
struct dns_zone_node {
	struct dns_zone_node *next;   // in its bucket
	struct dns_zone_node *parent; // NULL: this is the zone's name
	struct dns_zone *zone;
	struct dns_zone_record *records;
	uint32_t children;
	uint8_t len;
	uint8_t name[]; // in lower case
};

struct dns_zone {
	struct dns_zone_node *apex;
	struct dns_zone_record *soa; // at the apex
};

#define DNS_SOA_SERIAL 20 // bytes before the end of RDATA

static inline uint32_t dns_zone_serial(const struct dns_zone *zone)
{
	return bytes_be32(zone->soa->rdata + zone->soa->len - DNS_SOA_SERIAL);
}

struct dns_zone_chunk; // of memory

struct dns_zones {
	struct dns_zone_node **buckets;
	uint32_t mask, nodes;
	uint64_t seed;
	uint8_t *at, *end; // unused memory
	void *spare[DNS_ZONE_CLASSES];
	uint32_t spares[DNS_ZONE_CLASSES];
	struct dns_zone *zones;
	uint32_t count;
	uint32_t updates; // processed updates
	bool changeable;
	struct dns_journal journal;
	struct dns_zone_chunk *chunks;
};

// Changes made by a message.
struct dns_zone_changes {
	uint64_t added, deleted; // records
	bool any;                // of records, or a TTL
	struct dns_journal *to;  // journal for the changes; NULL: none
};

// Maximum pieces of memory needed by additions.
struct dns_zone_need {
	uint32_t pieces[DNS_ZONE_CLASSES];
};

// Loads zone files (const char *), without support for updates. NULL: no memory, or an error in d.
struct dns_zones *dns_zones_load(const struct field_list *files, uint64_t seed, struct diag *d);
// Loads one zone from memory; name stands for the file in errors.
struct dns_zones *dns_zones_load_text(
	const char *name, const char *text, size_t len, uint64_t seed, struct diag *d);
// Allocate memory for additions and for the journal, in bytes; enables updates. 0, or -ENOMEM.
int dns_zones_make_room(struct dns_zones *z, uint64_t room, uint64_t journal);
// Bytes needed for that.
uint64_t dns_zones_room_bytes(const struct dns_zones *z, uint64_t room, uint64_t journal);
void dns_zones_free(struct dns_zones *z); // NULL allowed

// Names are in wire form, uncompressed and in lower case; len includes the root.
void dns_zone_lower(uint8_t *name, const uint8_t *from, uint32_t len);
struct dns_zone_node *dns_zone_find(const struct dns_zones *z, const uint8_t *name, uint32_t len);
// The name, or its closest existing ancestor, whose name starts at *at. NULL: in no zone.
struct dns_zone_node *dns_zone_closest(
	const struct dns_zones *z, const uint8_t *name, uint32_t len, uint32_t *at);
struct dns_zone_record *dns_zone_first(const struct dns_zone_node *node, uint16_t type);
// Names in RDATA compare case-insensitively. NULL: none.
struct dns_zone_record *dns_zone_same(
	const struct dns_zone_node *node, uint16_t type, const uint8_t *rdata, uint32_t len);
// RDATA of a type with names: octets before, number of names, octets after; NULL: another type.
struct dns_rdata_layout {
	uint16_t type;
	uint8_t before, names, behind;
};
const struct dns_rdata_layout *dns_rdata_layout_of(uint16_t type);

// Create an isolated name, and link it for dns_zone_find: for set-up. NULL: no room.
struct dns_zone_node *dns_zone_node_new(
	struct dns_zones *z, struct dns_zone *zone, const uint8_t *name, uint32_t len);
void dns_zone_node_link(struct dns_zones *z, struct dns_zone_node *node);

void dns_zone_need_add(const struct dns_zones *z, struct dns_zone_need *need, const uint8_t *name,
	uint32_t len, uint32_t rdata_len);
bool dns_zone_has_room(const struct dns_zones *z, const struct dns_zone_need *need);
// RFC 2136 section 3.4.2. Requires room; the name must be in the zone.
void dns_zone_add(struct dns_zones *z, struct dns_zone *zone, const uint8_t *name, uint32_t len,
	const struct dns_zone_record *record, const uint8_t *rdata, struct dns_zone_changes *c);
// Delete records of that type (DNS_ANY: all) and with that RDATA (NULL: any). Never deletes the SOA
// record and the last NS record of a zone.
void dns_zone_delete(struct dns_zones *z, struct dns_zone_node *node, uint16_t type,
	const uint8_t *rdata, uint32_t len, struct dns_zone_changes *c);
void dns_zone_serial_set(struct dns_zone *zone, uint32_t serial);
