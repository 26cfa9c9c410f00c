// SPDX-License-Identifier: BSD-3-Clause
// Zones of the responder: names in a hash table, each with its records in wire form, in memory that
// is there before the run. Loaded by dns_zone_setup.c, kept by dns_zone_wire.c, asked by
// dns_zone_answer_wire.c, changed by dns_update_wire.c. Several threads may read them; if there are
// updates, one thread does all. Path: cold (load, free) | hot (the rest).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/diag.h"
#include "base/field.h"

#define DNS_ZONE_CLASSES 13 // of memory: pieces of 32 bytes, 64, ... 128 KiB

struct dns_zone_record {
	struct dns_zone_record *next; // at the same name, those of a type one after the other
	uint32_t ttl;
	uint32_t seen; // number of the update that named it in a prerequisite
	uint16_t type, len;
	uint8_t rdata[]; // uncompressed
};

struct dns_zone;

// A name that has records, or names below it.
struct dns_zone_node {
	struct dns_zone_node *next;   // in its bucket
	struct dns_zone_node *parent; // NULL: it is the name of the zone
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

struct dns_zone_chunk; // of memory

struct dns_zones {
	struct dns_zone_node **buckets;
	uint32_t mask, nodes;
	uint64_t seed;
	uint8_t *at, *end; // memory that was never used
	void *spare[DNS_ZONE_CLASSES];
	uint32_t spares[DNS_ZONE_CLASSES];
	struct dns_zone *zones;
	uint32_t count;
	uint32_t updates; // that were looked at
	bool changeable;
	struct dns_zone_chunk *chunks;
};

// What a message changed.
struct dns_zone_changes {
	uint64_t added, deleted; // records
	bool any;                // of them, or a TTL
};

// Pieces of memory that additions need at most.
struct dns_zone_need {
	uint32_t pieces[DNS_ZONE_CLASSES];
};

// dns_zone_setup.c. Zone files (const char *), and room for additions in bytes; 0: no update is
// taken. NULL: no memory, or an error in d.
struct dns_zones *dns_zones_load(
	const struct field_list *files, uint64_t room, uint64_t seed, struct diag *d);
// The same of one zone from memory; name stands for the file in errors.
struct dns_zones *dns_zones_load_text(const char *name, const char *text, size_t len, uint64_t room,
	uint64_t seed, struct diag *d);
void dns_zones_free(struct dns_zones *z); // NULL allowed

// dns_zone_wire.c. Names are in wire form, uncompressed and in lower case, len with the root.
void dns_zone_lower(uint8_t *name, const uint8_t *from, uint32_t len);
struct dns_zone_node *dns_zone_find(const struct dns_zones *z, const uint8_t *name, uint32_t len);
// The name, or the nearest one above it that is there, from *at on. NULL: in no zone.
struct dns_zone_node *dns_zone_closest(
	const struct dns_zones *z, const uint8_t *name, uint32_t len, uint32_t *at);
struct dns_zone_record *dns_zone_first(const struct dns_zone_node *node, uint16_t type);
// Names in RDATA are equal in any case. NULL: none.
struct dns_zone_record *dns_zone_same(
	const struct dns_zone_node *node, uint16_t type, const uint8_t *rdata, uint32_t len);
// RDATA of a type with names in it: octets before them, names, octets behind; false: another type.
struct dns_rdata_layout {
	uint16_t type;
	uint8_t before, names, behind;
};
const struct dns_rdata_layout *dns_rdata_layout_of(uint16_t type);

// A name by itself, and what dns_zone_find finds it by: for set-up. NULL: no room.
struct dns_zone_node *dns_zone_node_new(
	struct dns_zones *z, struct dns_zone *zone, const uint8_t *name, uint32_t len);
void dns_zone_node_link(struct dns_zones *z, struct dns_zone_node *node);

void dns_zone_need_add(const struct dns_zones *z, struct dns_zone_need *need, const uint8_t *name,
	uint32_t len, uint32_t rdata_len);
bool dns_zone_has_room(const struct dns_zones *z, const struct dns_zone_need *need);
// RFC 2136 section 3.4.2. There is room for it; the name is in the zone.
void dns_zone_add(struct dns_zones *z, struct dns_zone *zone, const uint8_t *name, uint32_t len,
	const struct dns_zone_record *record, const uint8_t *rdata, struct dns_zone_changes *c);
// Records of that type (DNS_ANY: of all) and with that RDATA (NULL: any). The SOA record and the
// last NS record of a zone stay.
void dns_zone_delete(struct dns_zones *z, struct dns_zone_node *node, uint16_t type,
	const uint8_t *rdata, uint32_t len, struct dns_zone_changes *c);
uint32_t dns_zone_serial(const struct dns_zone *zone);
void dns_zone_serial_set(struct dns_zone *zone, uint32_t serial);

// dns_zone_answer_wire.c
struct dns_zone_reply {
	uint16_t answers, authority;
	uint8_t rcode;
	bool foreign; // in no zone of ours
};

// The sections behind a question, which stands at the end of the header in the message that w
// writes, at `message`. A full w: it does not fit.
void dns_zone_answer(const struct dns_zones *z, const uint8_t *message, uint32_t question_len,
	struct writer *w, struct dns_zone_reply *r);

// dns_update_wire.c. The RCODE of an update: a message with one question that dns_message_walk has
// found to be well formed. *c: what it changed.
uint8_t dns_update(struct dns_zones *z, const uint8_t *buf, uint32_t len, uint32_t question_len,
	struct dns_zone_changes *c);
