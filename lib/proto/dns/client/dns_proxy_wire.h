// SPDX-License-Identifier: BSD-3-Clause
// The header of HAProxy's PROXY protocol, version 2: it stands in front of each datagram, or of the
// first message of a connection, and claims whose messages these are. Not here: version 1.
// Path: hot. Any thread.
#pragma once

#include "base/addr.h"
#include "base/rand.h"

#define DNS_PROXY_HEAD 16  // without addresses
#define DNS_PROXY_TLVS 256 // bytes of them

// What is claimed.
struct dns_proxy {
	uint16_t len; // of the header; 0: none is written
	struct addr_range clients;
	struct recip count; // of clients
	struct addr server;
	uint16_t server_port;
	uint16_t tlvs_len;
	uint8_t tlvs[DNS_PROXY_TLVS]; // at the end of the header
};

enum dns_proxy_kind { DNS_PROXY_BAD, DNS_PROXY_CLIENT, DNS_PROXY_LOCAL };

// Write p->len bytes: of the number-th client, one after the other, each with another port in the
// next round. stream: of a connection.
void dns_proxy_write(const struct dns_proxy *p, uint64_t number, bool stream, uint8_t *buf);
// The header at the start of len bytes, and its length. DNS_PROXY_BAD: there is none, or not a
// right one.
enum dns_proxy_kind dns_proxy_read(const uint8_t *buf, uint32_t len, bool stream, uint32_t *head);
// Length of the header at the start of a stream, as struct proto.framed; of another beginning, too.
uint32_t dns_proxy_framed(const uint8_t *buf, uint32_t len);
