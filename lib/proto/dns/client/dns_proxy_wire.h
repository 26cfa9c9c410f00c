// SPDX-License-Identifier: BSD-3-Clause
// The header of HAProxy's PROXY protocol, version 2: it precedes each datagram, or the first
// message of a connection, and states whose messages these are. Version 1 is unsupported.
// Path: hot. Any thread.
#pragma once

#include "base/addr.h"
#include "base/rand.h"

#define DNS_PROXY_HEAD 16  // without addresses
#define DNS_PROXY_TLVS 256 // total bytes

// The addresses claimed in the header.
struct dns_proxy {
	uint16_t len; // of the header; 0: none
	struct addr_range clients;
	struct recip count; // of clients
	struct addr server;
	uint16_t server_port;
	uint16_t tlvs_len;
	uint8_t tlvs[DNS_PROXY_TLVS]; // at the end of the header
};

enum dns_proxy_kind { DNS_PROXY_BAD, DNS_PROXY_CLIENT, DNS_PROXY_LOCAL };

// Write p->len bytes for the number-th client; clients are used in order, with another port in each
// round. stream: for a connection.
void dns_proxy_write(const struct dns_proxy *p, uint64_t number, bool stream, uint8_t *buf);
// Parse the header at the start of len bytes, and return its length in *head. DNS_PROXY_BAD: absent
// or invalid.
enum dns_proxy_kind dns_proxy_read(const uint8_t *buf, uint32_t len, bool stream, uint32_t *head);
// Length of the header at the start of a stream, as in struct proto.framed; also for other data.
uint32_t dns_proxy_framed(const uint8_t *buf, uint32_t len);
