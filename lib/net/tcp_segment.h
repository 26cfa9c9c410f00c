// SPDX-License-Identifier: BSD-3-Clause
// TCP segments (RFC 9293 section 3.1) between bytes and a struct, with the options maximum segment
// size, window scale and timestamps. Path: hot. Any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TCP_HEADER_LEN 20u
#define TCP_HEADER_MAX 60
#define TCP_NO_SCALE   UINT8_MAX

enum tcp_flag {
	TCP_FIN = 1,
	TCP_SYN = 2,
	TCP_RST = 4,
	TCP_PSH = 8,
	TCP_ACK = 16,
};

// A segment that was received, or is to be sent.
struct tcp_segment {
	uint32_t seq, ack;
	uint16_t window;      // as on the wire
	uint8_t flags;        // enum tcp_flag
	uint8_t scale;        // of SYN; TCP_NO_SCALE: the option is absent
	uint16_t mss;         // of SYN; 0: the option is absent
	bool stamped;         // it has the option of timestamps
	uint32_t value, echo; // of that
	uint32_t len;
	const uint8_t *data; // received: len bytes
	uint32_t from;       // to be sent: sequence number of its first byte, for tcp_copy
};

// Parses a TCP header and the bytes behind it. Returns false if it is truncated, or its options do
// not fit.
bool tcp_parse(const uint8_t *bytes, uint32_t len, struct tcp_segment *out);
// Length of the header that tcp_header writes: up to TCP_HEADER_MAX.
uint32_t tcp_header_len(const struct tcp_segment *s);
// Writes the header, with ports and checksum zero.
void tcp_header(const struct tcp_segment *s, uint8_t *to);
