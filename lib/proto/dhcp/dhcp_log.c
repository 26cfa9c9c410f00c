// SPDX-License-Identifier: BSD-3-Clause
// Notes and warnings at the end of a run. Path: cold. Management thread.

#include "proto/dhcp/dhcp_log.h"

#include <stdio.h>

#include "base/log.h"
#include "proto/dhcp/dhcp_macs.h"

const char *dhcp_owner_text(uint32_t number, const uint8_t *mac, uint32_t mac_len, const char *item,
	char text[DHCP_OWNER_TEXT])
{
	char mac_text[DHCP_MAC_TEXT];

	snprintf(text, DHCP_OWNER_TEXT, "client %u (%s)%s%s", number,
		dhcp_mac_text(mac, mac_len, mac_text), item ? " of " : "", item ? item : "");
	return text;
}

const char *dhcp_wire_text(const uint8_t *bytes, uint32_t len, char *text)
{
	for (uint32_t i = 0; i < len; i++)
		text[i] = bytes[i] >= ' ' && bytes[i] < 127 ? (char)bytes[i] : '?';
	text[len] = '\0';
	return text;
}

void dhcp_log_unbegun(const char *proto, const uint64_t unbegun[2], const char *maker)
{
	if (unbegun[0])
		log_warning("%s: %llu exchanges could not begin: no client was free (more clients, "
			    "or a share of release)",
			proto, (unsigned long long)unbegun[0]);
	if (unbegun[1])
		log_warning("%s: %llu exchanges could not begin: no client held a lease (a greater "
			    "share of %s or rapid)",
			proto, (unsigned long long)unbegun[1], maker);
}

void dhcp_log_unwatched(const char *proto, uint64_t unwatched)
{
	if (unwatched)
		log_warning("%s: %llu leases were not watched for duplicates: the table had no "
			    "place for them",
			proto, (unsigned long long)unwatched);
}
