// SPDX-License-Identifier: BSD-3-Clause
// What a worker says when it ends, the same in both families. Path: cold. Management thread.
#pragma once

#include <stdint.h>

#define DHCP_OWNER_TEXT 160

// "client 8 (02:00:00:00:00:08)"; of which item, unless it is NULL.
const char *dhcp_owner_text(uint32_t number, const uint8_t *mac, uint32_t mac_len, const char *item,
	char text[DHCP_OWNER_TEXT]);
// Text of the wire: its printable characters, the others as "?"; text has room for len + 1.
const char *dhcp_wire_text(const uint8_t *bytes, uint32_t len, char *text);
// Exchanges for which there was no client, that was free or that held a lease; maker: the exchange
// that gets leases.
void dhcp_log_unbegun(const char *proto, const uint64_t unbegun[2], const char *maker);
// Leases that found no place in the table of holders.
void dhcp_log_unwatched(const char *proto, uint64_t unwatched);
