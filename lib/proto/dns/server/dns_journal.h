// SPDX-License-Identifier: BSD-3-Clause
// The journal of the responder's zones: the changes of each update, in memory allocated before the
// run. Path: hot. The one thread that changes the zones.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct dns_zone;
struct dns_zone_node;
struct dns_zone_record;

// Changes by updates, oldest first. The entry of an update consists of the SOA record before it,
// deleted and added records, and the SOA record after it.
struct dns_journal {
	uint8_t *bytes; // NULL: none
	uint32_t room, len;
	uint32_t open; // start of the entry being written
	bool full;     // the entry does not fit
	uint32_t cuts; // number of times that older entries were dropped
};

enum dns_change_kind { DNS_SOA_BEFORE, DNS_DELETED, DNS_SOA_AFTER, DNS_ADDED, DNS_CANCELLED };

struct dns_journal_entry {
	const struct dns_zone *zone;
	uint32_t len, from, to; // of the whole entry; serials
};

// Followed by name and RDATA.
struct dns_change {
	uint32_t ttl;
	uint16_t type, len; // of RDATA
	uint8_t kind, name_len;
};

// Begin an entry, record a change at that name, and end the entry, discarding it if nothing
// changed.
void dns_journal_begin(struct dns_journal *j, const struct dns_zone *zone);
void dns_journal_note(struct dns_journal *j, enum dns_change_kind kind,
	const struct dns_zone_node *node, const struct dns_zone_record *r);
void dns_journal_end(struct dns_journal *j, const struct dns_zone *zone, bool changed);
// The entry that starts from this serial of the zone. UINT32_MAX: none.
uint32_t dns_journal_find(
	const struct dns_journal *j, const struct dns_zone *zone, uint32_t serial);
struct dns_journal_entry dns_journal_entry(const struct dns_journal *j, uint32_t at);
// Read the change at an offset, with name and RDATA. Returns the offset of the next one.
uint32_t dns_journal_change(const struct dns_journal *j, uint32_t at, struct dns_change *out,
	const uint8_t **name, const uint8_t **rdata);
