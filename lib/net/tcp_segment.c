// SPDX-License-Identifier: BSD-3-Clause
// The header of a TCP segment: to and from bytes. tcp.h is the contract. Path: hot. Any thread.
#include "net/tcp_segment.h"

#include "base/bytes.h"

enum option {
	OPTION_END = 0,
	OPTION_NOTHING = 1,
	OPTION_MSS = 2,
	OPTION_SCALE = 3,
	OPTION_STAMPS = 8,
};

#define MSS_LEN    4u
#define SCALE_LEN  4u // with the padding in front
#define STAMPS_LEN 12u
#define SCALE_MOST 14 // RFC 7323 section 2.3

static void take_option(uint8_t kind, const uint8_t *value, uint32_t len, struct tcp_segment *out)
{
	switch (kind) {
	case OPTION_MSS:
		if (len == 2 && out->flags & TCP_SYN)
			out->mss = bytes_be16(value);
		return;
	case OPTION_SCALE:
		if (len == 1 && out->flags & TCP_SYN)
			out->scale = value[0] > SCALE_MOST ? SCALE_MOST : value[0];
		return;
	case OPTION_STAMPS:
		if (len != 8)
			return;
		out->stamped = true;
		out->value = bytes_be32(value);
		out->echo = bytes_be32(value + 4);
		return;
	}
}

static bool parse_options(const uint8_t *at, uint32_t len, struct tcp_segment *out)
{
	while (len) {
		uint32_t size;

		if (at[0] == OPTION_END)
			return true;
		if (at[0] == OPTION_NOTHING) {
			at++;
			len--;
			continue;
		}
		if (len < 2 || at[1] < 2 || at[1] > len)
			return false;
		size = at[1];
		take_option(at[0], at + 2, size - 2, out);
		at += size;
		len -= size;
	}
	return true;
}

bool tcp_parse(const uint8_t *bytes, uint32_t len, struct tcp_segment *out)
{
	uint32_t header;

	if (len < TCP_HEADER_LEN)
		return false;
	header = (bytes[12] >> 4) * 4u;
	if (header < TCP_HEADER_LEN || header > len)
		return false;
	*out = (struct tcp_segment){.seq = bytes_be32(bytes + 4),
		.ack = bytes_be32(bytes + 8),
		.flags = bytes[13],
		.window = bytes_be16(bytes + 14),
		.scale = TCP_NO_SCALE,
		.data = bytes + header,
		.len = len - header};
	return parse_options(bytes + TCP_HEADER_LEN, header - TCP_HEADER_LEN, out);
}

uint32_t tcp_header_len(const struct tcp_segment *s)
{
	return TCP_HEADER_LEN + (s->mss ? MSS_LEN : 0) +
	       (s->scale != TCP_NO_SCALE ? SCALE_LEN : 0) + (s->stamped ? STAMPS_LEN : 0);
}

void tcp_header(const struct tcp_segment *s, uint8_t *to)
{
	uint8_t *option = to + TCP_HEADER_LEN;

	memset(to, 0, TCP_HEADER_LEN);
	bytes_put_be32(to + 4, s->seq);
	bytes_put_be32(to + 8, s->ack);
	to[12] = (uint8_t)(tcp_header_len(s) / 4 << 4);
	to[13] = s->flags;
	bytes_put_be16(to + 14, s->window);
	if (s->mss) {
		bytes_put_be32(option, OPTION_MSS << 24 | MSS_LEN << 16 | s->mss);
		option += MSS_LEN;
	}
	if (s->scale != TCP_NO_SCALE) {
		bytes_put_be32(
			option, OPTION_NOTHING << 24 | OPTION_SCALE << 16 | 3 << 8 | s->scale);
		option += SCALE_LEN;
	}
	if (s->stamped) {
		bytes_put_be32(option,
			OPTION_NOTHING << 24 | OPTION_NOTHING << 16 | OPTION_STAMPS << 8 | 10);
		bytes_put_be32(option + 4, s->value);
		bytes_put_be32(option + 8, s->echo);
	}
}
