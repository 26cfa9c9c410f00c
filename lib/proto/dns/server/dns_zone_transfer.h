// SPDX-License-Identifier: BSD-3-Clause
// The records of a zone, or of its changes, for the messages of a transfer. Path: hot. Any thread
// of the responder.
#pragma once

#include "proto/dns/server/dns_zone.h"

// Position of a transfer.
struct dns_zone_cursor {
	const struct dns_zone *zone;
	uint32_t serial, cuts; // at the start of the transfer
	int phase;
	uint64_t bucket; // full transfer: the next bucket
	const struct dns_zone_node *node;
	const struct dns_zone_record *record; // next record of the node
	uint32_t entry, change;               // incremental: offsets in the journal
	int kind;                             // enum dns_change_kind
};

// incremental: send the changes since that serial, if the journal has them. The zone counts as
// unchanged if the serial is equal or later.
void dns_zone_transfer_begin(const struct dns_zones *z, const struct dns_zone *zone,
	bool incremental, uint32_t serial, struct dns_zone_cursor *c);
bool dns_zone_transfer_is_over(const struct dns_zone_cursor *c);
// Is it an incremental transfer?
bool dns_zone_transfer_is_incremental(const struct dns_zone_cursor *c);
// Has the zone or journal changed since the start, so that the transfer must stop?
bool dns_zone_transfer_is_overtaken(const struct dns_zones *z, const struct dns_zone_cursor *c);
// Write the next records, up to `size` bytes unless the first is longer. Returns their number; 0:
// no room. The zone's name must follow the header.
uint16_t dns_zone_transfer_write(
	const struct dns_zones *z, struct dns_zone_cursor *c, struct writer *w, uint32_t size);
