// SPDX-License-Identifier: BSD-3-Clause
// Ethernet, 802.1Q and QinQ, IPv4, IPv6, UDP and the place of TCP: headers from a template, and
// back to a view of a received frame. Knows no protocol above them, no mbuf and no port. Path: hot
// (stamp, parse) | cold (the rest). Any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/bytes.h"
#include "net/csum.h"

#define FRAME_MAX_VLANS  2
#define FRAME_VLAN_MAX   4094 // VID
#define FRAME_ARP_LEN    28   // of an ARP message for Ethernet and IPv4
#define FRAME_IPV4_LEN   20
#define FRAME_IPV6_LEN   40
#define FRAME_UDP_LEN    8
#define FRAME_TCP_LEN    20
#define FRAME_HEADER_MAX (14 + 4 * FRAME_MAX_VLANS + 40 + 8) // with UDP
#define FRAME_TCP_MAX    (14 + 4 * FRAME_MAX_VLANS + 40 + 20)

// Nearly all frames are plain: UDP over IP without tags, options, extension headers or fragments.
// Where their headers begin (FRAME_PLAIN_UDP: over IPv4):
#define FRAME_PLAIN_IP   14
#define FRAME_PLAIN_UDP  (FRAME_PLAIN_IP + FRAME_IPV4_LEN)
#define FRAME_PLAIN_UDP6 (FRAME_PLAIN_IP + FRAME_IPV6_LEN)

enum frame_ethertype {
	FRAME_TYPE_IPV4 = 0x0800,
	FRAME_TYPE_ARP = 0x0806,
	FRAME_TYPE_IPV6 = 0x86dd,
};

enum frame_protocol {
	FRAME_PROTOCOL_ICMP = 1,
	FRAME_PROTOCOL_TCP = 6,
	FRAME_PROTOCOL_UDP = 17,
	FRAME_PROTOCOL_ICMPV6 = 58,
};

// 802.1Q tags, outermost first, VIDs 1..4094.
struct frame_vlans {
	uint16_t ids[FRAME_MAX_VLANS];
	uint8_t count;
};

// Where frames go: all constant parts of the headers.
struct frame_path {
	uint8_t src_mac[6];
	uint8_t dst_mac[6];
	uint16_t vlans[FRAME_MAX_VLANS]; // outermost first, 1..4094
	uint8_t vlan_count;
	struct addr dst;   // family of the frames
	uint16_t dst_port; // host order
	bool tcp;          // else UDP
};

struct frame_template {
	uint8_t bytes[FRAME_TCP_MAX + 2]; // all headers, variable fields zero
	uint8_t len;      // of all headers: the payload of UDP, or the options of TCP, start here
	uint8_t ip;       // offset of the IP header
	uint8_t addr_len; // 4 or 16
	bool checksum_offload; // leave checksums to the device; cleared by build, set it after
	uint16_t ip_sum;       // of the constant part of the IPv4 header (csum_16)
	uint16_t udp_sum;      // of the constant part of the pseudo-header, of TCP too
};

// Where the payload starts: Ethernet, tags, IP and UDP. addr_len: 4 or 16.
static inline uint32_t frame_header_len(uint8_t vlan_count, uint8_t addr_len)
{
	return 14 + 4 * vlan_count + (addr_len == 4 ? 20 : 40) + 8;
}

// With two VLANs the outer tag is 802.1ad (0x88a8), with one 802.1Q.
void frame_template_build(struct frame_template *t, const struct frame_path *path);

struct frame_payload {
	uint32_t len; // <= 65535 - 48
	uint64_t sum; // of its bytes as csum_add has it, below 2^48; 0: not known, to be added up
};

// Write the headers before a payload that already lies at buf + t->len; returns the length of the
// frame. src has addr_len bytes. Checksums are complete (UDP over IPv4 included), or with
// checksum_offload as the device wants them: IPv4 zero, UDP the folded sum of the pseudo-header.
static inline __attribute__((always_inline)) uint32_t frame_stamp(const struct frame_template *t,
	uint8_t *buf, const uint8_t *src, uint16_t src_port, struct frame_payload payload)
{
	const uint32_t payload_len = payload.len;
	const uint32_t len = t->len;
	uint8_t *ip = buf + t->ip, *udp = buf + len - FRAME_UDP_LEN;
	uint16_t port = csum_be16(src_port);
	uint16_t udp_len = csum_be16((uint16_t)(FRAME_UDP_LEN + payload_len));
	uint64_t sum = t->udp_sum + udp_len; // of the pseudo-header
	uint16_t dst_port, check;

	memcpy(&dst_port, t->bytes + len - FRAME_UDP_LEN + 2, 2);
	// Two copies of fixed size, overlapping as needed, cover any header from 42 to 70 bytes and
	// not a byte of the payload behind it: no call, no branch.
	_Static_assert(FRAME_HEADER_MAX <= 40 + 32, "the two copies must meet");
	memcpy(buf, t->bytes, 40);
	memcpy(buf + len - 32, t->bytes + len - 32, 32);
	if (t->addr_len == 4) {
		uint16_t total =
			csum_be16((uint16_t)(FRAME_IPV4_LEN + FRAME_UDP_LEN + payload_len));
		uint64_t src_sum = csum_add(0, src, 4);

		check = t->checksum_offload ? 0 : csum_fold(t->ip_sum + total + src_sum);
		memcpy(ip + 2, &total, 2);
		memcpy(ip + 10, &check, 2);
		memcpy(ip + 12, src, 4);
		sum += src_sum;
	} else {
		memcpy(ip + 4, &udp_len, 2);
		memcpy(ip + 8, src, 16);
		sum = csum_add(sum, src, 16);
	}
	if (t->checksum_offload) {
		check = csum_16(sum);
	} else {
		sum += port + dst_port + udp_len;
		sum = payload.sum ? sum + payload.sum : csum_add(sum, buf + len, payload_len);
		check = csum_fold(sum);
		check = check ? check : 0xffff; // zero on the wire means "none" (RFC 768)
	}
	memcpy(udp, &port, 2);
	memcpy(udp + 4, &udp_len, 2);
	memcpy(udp + 6, &check, 2);
	return len + payload_len;
}

// Do frames of this template have the headers of a plain frame over IPv4, with checksums?
static inline bool frame_template_is_plain(const struct frame_template *t)
{
	return t->len == FRAME_PLAIN_UDP + FRAME_UDP_LEN && !t->checksum_offload;
}

// Like frame_stamp for a plain frame, with the sum of the payload known. src: as on the wire.
static inline __attribute__((always_inline)) uint32_t frame_stamp_plain(
	const struct frame_template *t, uint8_t *buf, uint32_t src, uint16_t src_port,
	struct frame_payload payload)
{
	uint8_t *ip = buf + FRAME_PLAIN_IP, *udp = buf + FRAME_PLAIN_UDP;
	const uint32_t src_sum = (src & 0xffff) + (src >> 16);
	uint16_t total = csum_be16((uint16_t)(FRAME_IPV4_LEN + FRAME_UDP_LEN + payload.len));
	uint16_t udp_len = csum_be16((uint16_t)(FRAME_UDP_LEN + payload.len));
	uint16_t port = csum_be16(src_port), ip_check = csum_fold32(t->ip_sum + total + src_sum);
	uint16_t dst_port, check;

	memcpy(&dst_port, t->bytes + FRAME_PLAIN_UDP + 2, 2);
	check = csum_fold(payload.sum + t->udp_sum + dst_port + port + 2u * udp_len + src_sum);
	check = check ? check : 0xffff;
	memcpy(buf, t->bytes, 32);
	memcpy(buf + 26, t->bytes + 26, 16);
	memcpy(ip + 2, &total, 2);
	memcpy(ip + 10, &ip_check, 2);
	memcpy(ip + 12, &src, 4);
	memcpy(udp, &port, 2);
	memcpy(udp + 4, &udp_len, 2);
	memcpy(udp + 6, &check, 2);
	return FRAME_PLAIN_UDP + FRAME_UDP_LEN + payload.len;
}

// Adds an address to the sums of a template.
static inline void frame_template_add(struct frame_template *t, uint64_t sum)
{
	t->ip_sum = csum_16(t->ip_sum + sum);
	t->udp_sum = csum_16(t->udp_sum + sum);
}

// Makes a template for another destination of the same family and VLANs from a template for the
// destination zero.
static inline void frame_template_aim(
	struct frame_template *t, const uint8_t mac[6], const uint8_t *dst, uint16_t dst_port)
{
	uint16_t port = csum_be16(dst_port);
	uint64_t sum = csum_add(0, dst, t->addr_len);

	memcpy(t->bytes, mac, 6);
	memcpy(t->bytes + t->len - FRAME_UDP_LEN - t->addr_len, dst, t->addr_len);
	memcpy(t->bytes + t->len - FRAME_UDP_LEN + 2, &port, sizeof(port));
	frame_template_add(t, sum);
}

// Turns a template to another port of its destination.
static inline void frame_template_port(struct frame_template *t, uint16_t dst_port)
{
	uint16_t port = csum_be16(dst_port);

	memcpy(t->bytes + t->len - FRAME_UDP_LEN + 2, &port, sizeof(port));
}

// Makes a template for another destination from a template for any destination. Adding the
// complement of the old destination's sum removes it from the sums.
static inline void frame_template_turn(
	struct frame_template *t, const uint8_t mac[6], const uint8_t *dst)
{
	uint8_t *at = t->bytes + t->len - FRAME_UDP_LEN - t->addr_len;
	uint64_t sum = csum_fold(csum_add(0, at, t->addr_len)) + csum_add(0, dst, t->addr_len);

	memcpy(t->bytes, mac, 6);
	memcpy(at, dst, t->addr_len);
	frame_template_add(t, sum);
}

// As frame_template_aim, of a template for TCP.
void frame_template_aim_tcp(
	struct frame_template *t, const uint8_t mac[6], const uint8_t *dst, uint16_t dst_port);

// Writes the headers in front of TCP's, and the ports and checksum of TCP. The segment, len bytes
// from its header on, lies at buf + t->len - FRAME_TCP_LEN. Returns the length of the frame. src
// and checksums: as frame_stamp.
uint32_t frame_stamp_tcp(const struct frame_template *t, uint8_t *buf, const uint8_t *src,
	uint16_t src_port, uint32_t len);

// Single headers, for frames other than UDP. Only MACs and VLANs of path are used.
void frame_write_ethernet(
	struct writer *w, const struct frame_path *path, enum frame_ethertype type);

struct frame_ip {
	const uint8_t *src, *dst; // addr_len bytes each
	uint8_t addr_len;         // 4 or 16
	uint8_t hop_limit;        // or TTL
	uint8_t protocol;
	uint16_t payload_len; // of all that follows the header
};

// IPv4: ID 0, don't fragment, checksum complete. IPv6: flow label 0.
void frame_write_ip(struct writer *w, const struct frame_ip *ip);

enum frame_kind {
	FRAME_UDP,
	FRAME_TCP,        // payload: the segment from its header on
	FRAME_ARP,        // payload: the ARP message, FRAME_ARP_LEN bytes of it
	FRAME_ND,         // solicitation or advertisement of a neighbour or a router; payload: the
	                  // ICMPv6 message
	FRAME_ECHO,       // ICMP or ICMPv6 echo request; payload: the ICMP message
	FRAME_ICMP_ERROR, // icmp_type, icmp_code; payload: the ICMP message
	FRAME_FRAGMENT,   // a fragment, first or later (atomic IPv6 fragments are parsed through)
	FRAME_OTHER,      // well formed and none of the above
	FRAME_BAD,        // truncated or lengths that do not fit
};

// A view into a received frame; pointers are valid as long as its bytes. IPv6 extension headers are
// skipped (at most 8). Lengths come from the IP and UDP headers, never from the padded frame.
// Members that the kind does not mention are zero, except that OTHER, FRAGMENT and BAD show how far
// the parser came.
struct frame {
	const uint8_t *eth;              // destination, source
	uint16_t vlans[FRAME_MAX_VLANS]; // VID only, outermost first; VID 0 is a priority, no VLAN
	uint8_t vlan_count;
	uint8_t addr_len;             // 4, 16, 0: no IP
	uint8_t hop_limit;            // or TTL
	uint8_t icmp_type, icmp_code; // of any ICMP message
	const uint8_t *ip;            // IP header, complete; NULL: no IP
	const uint8_t *src, *dst;     // addr_len bytes each
	uint16_t src_port, dst_port;  // host order
	uint32_t payload_len;
	const uint8_t *payload;
	const uint8_t *l4; // UDP or TCP header
};

// Has it these tags, and no others?
static inline bool frame_is_on(const struct frame *f, const uint16_t *vlans, uint8_t count)
{
	if (f->vlan_count != count)
		return false;
	for (uint8_t i = 0; i < count; i++)
		if (f->vlans[i] != vlans[i])
			return false;
	return true;
}

// Never reads past len. Checksums are not judged here (see frame_checksum_ok).
enum frame_kind frame_parse(const uint8_t *data, uint32_t len, struct frame *f);

static inline bool frame_is_plain4(const uint8_t *data)
{
	uint32_t type, protocol;

	// EtherType, version and length of the header; fragment and protocol.
	memcpy(&type, data + 12, 4);
	memcpy(&protocol, data + FRAME_PLAIN_IP + 6, 4);
	return (((type ^ bytes_wire32(FRAME_TYPE_IPV4 << 16 | 0x4500)) & bytes_wire32(0xffffff00)) |
		       ((protocol ^ bytes_wire32(FRAME_PROTOCOL_UDP)) &
			       bytes_wire32(0x3fff00ff))) == 0;
}

static inline bool frame_is_plain6(const uint8_t *data)
{
	uint32_t type;

	// EtherType and version; next header.
	memcpy(&type, data + 12, 4);
	return ((type ^ bytes_wire32((uint32_t)FRAME_TYPE_IPV6 << 16 | 0x6000)) &
		       bytes_wire32(0xfffff000)) == 0 &&
	       data[FRAME_PLAIN_IP + 6] == FRAME_PROTOCOL_UDP;
}

// The length of the UDP header and payload of a frame with plain headers, len bytes long: at least
// FRAME_PLAIN_UDP or FRAME_PLAIN_UDP6 and FRAME_UDP_LEN. 0: its lengths do not agree.
static inline __attribute__((always_inline)) uint32_t frame_plain_udp_len(
	const uint8_t *data, uint32_t len, uint8_t addr_len)
{
	const uint32_t to_udp = addr_len == 4 ? FRAME_PLAIN_UDP : FRAME_PLAIN_UDP6;
	uint32_t end = addr_len == 4 ? FRAME_PLAIN_IP + bytes_be16(data + FRAME_PLAIN_IP + 2)
	                             : FRAME_PLAIN_UDP6 + bytes_be16(data + FRAME_PLAIN_IP + 4);
	uint32_t udp_len = bytes_be16(data + to_udp + 4);

	return end > len || udp_len < FRAME_UDP_LEN || udp_len + to_udp > end ? 0 : udp_len;
}

// Like frame_plain_udp_len, for any frame; 0 also if it is not plain or of another family
// (addr_len: 4 or 16).
static inline __attribute__((always_inline)) uint32_t frame_plain_len(
	const uint8_t *data, uint32_t len, uint8_t addr_len)
{
	if (len < (addr_len == 4 ? FRAME_PLAIN_UDP : FRAME_PLAIN_UDP6) + FRAME_UDP_LEN)
		return 0;
	if (!(addr_len == 4 ? frame_is_plain4(data) : frame_is_plain6(data)))
		return 0;
	return frame_plain_udp_len(data, len, addr_len);
}

// The headers of plain frames from a peer, to be compared at once: words of 64 bits from the
// EtherType to the source port, three over IPv4 and six over IPv6, of which the first
// FRAME_MASK_PLAIN are not about addresses and ports. A frame has these headers if its words have
// these values where the bits are set.
#define FRAME_MASK_WORDS 6
#define FRAME_MASK_PLAIN 2

struct frame_mask {
	uint64_t value[FRAME_MASK_WORDS], bits[FRAME_MASK_WORDS];
};

// Where the i-th word is: the last one over IPv6 overlaps the one before.
#define FRAME_MASK_AT(i) ((i) < 5 ? 12u + 8 * (i) : 48u)

// Makes the mask of plain frames from an address and port to an address. src, dst: addr_len bytes
// (4 or 16), or NULL: any; src_port: host order, 0: any.
void frame_mask_make(struct frame_mask *m, uint8_t addr_len, const uint8_t *src, uint16_t src_port,
	const uint8_t *dst);

static inline uint32_t frame_mask_words(uint8_t addr_len)
{
	return addr_len == 4 ? 3 : FRAME_MASK_WORDS;
}

// Does a frame of at least FRAME_PLAIN_UDP or FRAME_PLAIN_UDP6 and FRAME_UDP_LEN bytes have such
// headers, as far as these words?
static inline __attribute__((always_inline)) bool frame_has(
	const struct frame_mask *m, const uint8_t *data, uint32_t words)
{
	uint64_t other = 0, word;

	for (uint32_t i = 0; i < words; i++) {
		memcpy(&word, data + FRAME_MASK_AT(i), 8);
		other |= (word & m->bits[i]) ^ m->value[i];
	}
	return other == 0;
}

// Like frame_checksum_ok, for a plain frame; udp_len as of frame_plain_len. In both families the
// addresses are directly in front of UDP.
static inline __attribute__((always_inline)) bool frame_plain_checksum_ok(
	const uint8_t *data, uint32_t udp_len, uint8_t addr_len)
{
	const uint8_t *ip = data + FRAME_PLAIN_IP;
	const uint8_t *udp = data + (addr_len == 4 ? FRAME_PLAIN_UDP : FRAME_PLAIN_UDP6);
	const uint64_t start = csum_be16(FRAME_PROTOCOL_UDP) + csum_be16((uint16_t)udp_len);
	uint64_t addresses, sum;
	uint16_t check;

	memcpy(&check, udp + 6, 2);
	if (addr_len == 16)
		return check && csum_is_right(csum_wide_from(start, udp - 32, 32 + udp_len));
	sum = csum_wide_from(start, udp, udp_len);
	if (!csum_is_right(csum_wide(ip, FRAME_IPV4_LEN)))
		return false;
	memcpy(&addresses, ip + 12, 8);
	sum += addresses;
	sum += sum < addresses;
	return check == 0 || csum_is_right(sum);
}

// The result of frame_parse for a plain frame. udp_len: of frame_plain_len.
static inline __attribute__((always_inline)) void frame_plain_view(
	const uint8_t *data, uint32_t udp_len, uint8_t addr_len, struct frame *f)
{
	const uint8_t *ip = data + FRAME_PLAIN_IP;
	const uint8_t *udp = data + (addr_len == 4 ? FRAME_PLAIN_UDP : FRAME_PLAIN_UDP6);

	*f = (struct frame){.eth = data,
		.addr_len = addr_len,
		.hop_limit = ip[addr_len == 4 ? 8 : 7],
		.ip = ip,
		.src = udp - 2 * addr_len,
		.dst = udp - addr_len,
		.src_port = bytes_be16(udp),
		.dst_port = bytes_be16(udp + 2),
		.payload_len = udp_len - FRAME_UDP_LEN,
		.payload = udp + FRAME_UDP_LEN,
		.l4 = udp};
}

// The short way: true: the frame is plain, and f is the result of frame_parse. false: f is
// unchanged.
static inline bool frame_parse_plain(const uint8_t *data, uint32_t len, struct frame *f)
{
	uint32_t udp_len = frame_plain_len(data, len, 4);

	if (__builtin_expect(udp_len != 0, 1)) {
		frame_plain_view(data, udp_len, 4, f);
		return true;
	}
	udp_len = frame_plain_len(data, len, 16);
	if (udp_len)
		frame_plain_view(data, udp_len, 16, f);
	return udp_len != 0;
}

// Like frame_checksum_ok, for a FRAME_TCP.
bool frame_tcp_checksum_ok(const struct frame *f);

// Full software check of the IPv4 header and UDP checksum of a FRAME_UDP; zero UDP checksum over
// IPv4 is right.
static inline __attribute__((always_inline)) bool frame_checksum_ok(const struct frame *f)
{
	uint32_t len = 8 + f->payload_len;
	uint64_t sum = csum_wide(f->l4, len);
	uint16_t check;

	if (f->addr_len == 4) {
		uint32_t header = (f->ip[0] & 0xfu) * 4;

		// Nearly always without options: the compiler then knows the length, and makes
		// additions and no loop.
		if (!csum_is_right(header == 20 ? csum_wide(f->ip, 20) : csum_wide(f->ip, header)))
			return false;
	}
	memcpy(&check, f->l4 + 6, 2);
	if (check == 0)
		return f->addr_len == 4;
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum += csum_pseudo(f->src, f->dst, f->addr_len, FRAME_PROTOCOL_UDP, len);
	return csum_is_right(sum);
}
