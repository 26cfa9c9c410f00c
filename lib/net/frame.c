// SPDX-License-Identifier: BSD-3-Clause
// Builds templates of headers and finds payloads behind headers; frame.h is the contract. Judges
// neither destinations nor checksums.
// Path: hot (frame_parse) | cold (template, single headers). Any
// thread.
#include "net/frame.h"

#define TPID_CUSTOMER   0x8100 // 802.1Q
#define TPID_SERVICE    0x88a8 // 802.1ad
#define TPID_OLD_QINQ   0x9100 // before 802.1ad, still sent by switches
#define TTL             64
#define MAX_EXTENSIONS  8
#define EXTENSION_LEN   8 // the least length of any, and the unit of most
#define ICMPV4_ECHO     8
#define ICMPV6_ECHO     128
#define ICMPV6_ND_FIRST 133 // router solicitation
#define ICMPV6_ND_LAST  136 // neighbour advertisement
#define ICMP_HEADER_LEN 8

enum extension {
	EXTENSION_HOP_BY_HOP = 0,
	EXTENSION_ROUTING = 43,
	EXTENSION_FRAGMENT = 44,
	EXTENSION_AUTHENTICATION = 51,
	EXTENSION_DESTINATION = 60,
};

void frame_write_ethernet(
	struct writer *w, const struct frame_path *path, enum frame_ethertype type)
{
	write_bytes(w, path->dst_mac, 6);
	write_bytes(w, path->src_mac, 6);
	for (uint8_t i = 0; i < path->vlan_count; i++) {
		write_be16(w, i + 1 < path->vlan_count ? TPID_SERVICE : TPID_CUSTOMER);
		write_be16(w, path->vlans[i]);
	}
	write_be16(w, (uint16_t)type);
}

static void write_ipv4(struct writer *w, const struct frame_ip *ip)
{
	uint8_t *header = write_space(w, FRAME_IPV4_LEN);
	struct writer h;
	uint16_t check;

	if (!header)
		return;
	h = writer_of(header, FRAME_IPV4_LEN);
	write_be16(&h, 0x4500);
	write_be16(&h, (uint16_t)(FRAME_IPV4_LEN + ip->payload_len));
	write_be16(&h, 0);
	write_be16(&h, 0x4000); // don't fragment: the ID means nothing then (RFC 6864)
	write_u8(&h, ip->hop_limit);
	write_u8(&h, ip->protocol);
	write_be16(&h, 0);
	write_bytes(&h, ip->src, 4);
	write_bytes(&h, ip->dst, 4);
	check = csum_fold(csum_add(0, header, FRAME_IPV4_LEN));
	memcpy(header + 10, &check, 2);
}

static void write_ipv6(struct writer *w, const struct frame_ip *ip)
{
	write_be32(w, 0x60000000);
	write_be16(w, ip->payload_len);
	write_u8(w, ip->protocol);
	write_u8(w, ip->hop_limit);
	write_bytes(w, ip->src, 16);
	write_bytes(w, ip->dst, 16);
}

void frame_write_ip(struct writer *w, const struct frame_ip *ip)
{
	if (ip->addr_len == 4)
		write_ipv4(w, ip);
	else
		write_ipv6(w, ip);
}

void frame_template_build(struct frame_template *t, const struct frame_path *path)
{
	static const uint8_t none[16];
	const struct frame_ip ip = {none, path->dst.bytes, path->dst.len, TTL,
		path->tcp ? FRAME_PROTOCOL_TCP : FRAME_PROTOCOL_UDP, 0};
	struct writer w;

	memset(t, 0, sizeof(*t));
	w = writer_of(t->bytes, sizeof(t->bytes));
	frame_write_ethernet(&w, path, ip.addr_len == 4 ? FRAME_TYPE_IPV4 : FRAME_TYPE_IPV6);
	t->ip = (uint8_t)(w.at - t->bytes);
	t->addr_len = ip.addr_len;
	frame_write_ip(&w, &ip);
	write_be16(&w, 0);
	write_be16(&w, path->dst_port);
	write_space(&w, path->tcp ? FRAME_TCP_LEN - 4 : FRAME_UDP_LEN - 4);
	t->len = (uint8_t)(w.at - t->bytes);

	t->udp_sum = csum_16(csum_pseudo(none, ip.dst, ip.addr_len, ip.protocol, 0));
	if (ip.addr_len == 4) {
		memset(t->bytes + t->ip + 2, 0, 2);
		memset(t->bytes + t->ip + 10, 0, 2);
		t->ip_sum = csum_16(csum_add(0, t->bytes + t->ip, FRAME_IPV4_LEN));
	}
}

void frame_template_aim_tcp(
	struct frame_template *t, const uint8_t mac[6], const uint8_t *dst, uint16_t dst_port)
{
	uint8_t *tcp = t->bytes + t->len - FRAME_TCP_LEN;
	uint64_t sum = csum_add(0, dst, t->addr_len);

	memcpy(t->bytes, mac, 6);
	memcpy(tcp - t->addr_len, dst, t->addr_len);
	bytes_put_be16(tcp + 2, dst_port);
	frame_template_add(t, sum);
}

uint32_t frame_stamp_tcp(const struct frame_template *t, uint8_t *buf, const uint8_t *src,
	uint16_t src_port, uint32_t len)
{
	const uint32_t front = t->len - FRAME_TCP_LEN;
	uint8_t *ip = buf + t->ip, *tcp = buf + front;
	uint64_t src_sum = csum_add(0, src, t->addr_len), sum;
	uint16_t check;

	memcpy(buf, t->bytes, front);
	if (t->addr_len == 4) {
		uint16_t total = csum_be16((uint16_t)(FRAME_IPV4_LEN + len));

		check = t->checksum_offload ? 0 : csum_fold(t->ip_sum + total + src_sum);
		memcpy(ip + 2, &total, 2);
		memcpy(ip + 10, &check, 2);
	} else {
		bytes_put_be16(ip + 4, (uint16_t)len);
	}
	memcpy(tcp - 2 * t->addr_len, src, t->addr_len);
	bytes_put_be16(tcp, src_port);
	memcpy(tcp + 2, t->bytes + front + 2, 2);
	memset(tcp + 16, 0, 2);
	sum = t->udp_sum + src_sum + csum_be16((uint16_t)len);
	check = t->checksum_offload ? csum_16(sum) : csum_fold(csum_add(sum, tcp, len));
	memcpy(tcp + 16, &check, 2);
	return front + len;
}

void frame_mask_make(struct frame_mask *m, uint8_t addr_len, const uint8_t *src, uint16_t src_port,
	const uint8_t *dst)
{
	const uint32_t to_udp = addr_len == 4 ? FRAME_PLAIN_UDP : FRAME_PLAIN_UDP6;
	uint8_t value[64] = {0}, bits[64] = {0};
	const struct {
		uint32_t at, len;
		const uint8_t *bytes; // NULL: any
		const uint8_t *bits;  // NULL: all
	} parts[] = {
		// EtherType, version and header length; not fragmented; protocol.
		{12, 3, (const uint8_t *)(addr_len == 4 ? "\x08\x00\x45" : "\x86\xdd\x60"),
			(const uint8_t *)(addr_len == 4 ? "\xff\xff\xff" : "\xff\xff\xf0")},
		{20, addr_len == 4 ? 2 : 0, (const uint8_t *)"\0\0", (const uint8_t *)"\x3f\xff"},
		{addr_len == 4 ? 23 : 20, 1, &(const uint8_t){FRAME_PROTOCOL_UDP}, NULL},
		{to_udp - 2 * addr_len, addr_len, src, NULL},
		{to_udp - addr_len, addr_len, dst, NULL},
		{to_udp, 2,
			src_port ? (const uint8_t *)&(const uint16_t){csum_be16(src_port)} : NULL,
			NULL},
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		for (uint32_t k = 0; parts[i].bytes && k < parts[i].len; k++) {
			value[parts[i].at + k] = parts[i].bytes[k];
			bits[parts[i].at + k] = parts[i].bits ? parts[i].bits[k] : 0xff;
		}
	}
	for (uint32_t i = 0; i < FRAME_MASK_WORDS; i++) {
		memcpy(&m->value[i], value + FRAME_MASK_AT(i), 8);
		memcpy(&m->bits[i], bits + FRAME_MASK_AT(i), 8);
	}
}

bool frame_tcp_checksum_ok(const struct frame *f)
{
	uint64_t sum = csum_pseudo(f->src, f->dst, f->addr_len, FRAME_PROTOCOL_TCP, f->payload_len);

	if (f->addr_len == 4 && !csum_is_right(csum_add(0, f->ip, (f->ip[0] & 0xfu) * 4u)))
		return false;
	return csum_is_right(csum_add(sum, f->payload, f->payload_len));
}

static inline enum frame_kind rest_as(enum frame_kind kind, const struct reader *r, struct frame *f)
{
	f->payload = r->at;
	f->payload_len = (uint32_t)reader_left(r);
	return kind;
}

static enum frame_kind parse_udp(struct reader *r, struct frame *f)
{
	const uint8_t *udp = read_bytes(r, FRAME_UDP_LEN);
	uint32_t len;

	if (!udp)
		return FRAME_BAD;
	len = bytes_be16(udp + 4);
	if (len < FRAME_UDP_LEN || len - FRAME_UDP_LEN > reader_left(r))
		return FRAME_BAD;
	f->l4 = udp;
	f->src_port = bytes_be16(udp);
	f->dst_port = bytes_be16(udp + 2);
	f->payload = r->at;
	f->payload_len = len - FRAME_UDP_LEN;
	return FRAME_UDP;
}

static enum frame_kind parse_tcp(struct reader *r, struct frame *f)
{
	if (reader_left(r) < FRAME_TCP_LEN)
		return FRAME_BAD;
	f->l4 = r->at;
	f->src_port = bytes_be16(f->l4);
	f->dst_port = bytes_be16(f->l4 + 2);
	return rest_as(FRAME_TCP, r, f);
}

static enum frame_kind icmpv4_kind(uint8_t type)
{
	switch (type) {
	case ICMPV4_ECHO:
		return FRAME_ECHO;
	case 3:  // destination unreachable
	case 4:  // source quench
	case 5:  // redirect
	case 11: // time exceeded
	case 12: // parameter problem
		return FRAME_ICMP_ERROR;
	}
	return FRAME_OTHER;
}

static enum frame_kind icmpv6_kind(uint8_t type)
{
	if (type == ICMPV6_ECHO)
		return FRAME_ECHO;
	if (type >= ICMPV6_ND_FIRST && type <= ICMPV6_ND_LAST)
		return FRAME_ND;
	return type < 128 ? FRAME_ICMP_ERROR : FRAME_OTHER; // RFC 4443 section 2.1
}

static enum frame_kind parse_icmp(struct reader *r, struct frame *f)
{
	if (reader_left(r) < ICMP_HEADER_LEN)
		return FRAME_BAD;
	f->icmp_type = r->at[0];
	f->icmp_code = r->at[1];
	return rest_as(
		f->addr_len == 4 ? icmpv4_kind(f->icmp_type) : icmpv6_kind(f->icmp_type), r, f);
}

static enum frame_kind parse_transport(struct reader *r, struct frame *f, uint8_t protocol)
{
	if (protocol == FRAME_PROTOCOL_UDP)
		return parse_udp(r, f);
	if (protocol == FRAME_PROTOCOL_TCP)
		return parse_tcp(r, f);
	if (protocol == (f->addr_len == 4 ? FRAME_PROTOCOL_ICMP : FRAME_PROTOCOL_ICMPV6))
		return parse_icmp(r, f);
	return FRAME_OTHER;
}

static enum frame_kind parse_ipv4(struct reader *r, struct frame *f)
{
	const uint8_t *ip = read_bytes(r, FRAME_IPV4_LEN);
	uint32_t header_len, total;

	if (!ip || ip[0] >> 4 != 4)
		return FRAME_BAD;
	header_len = (ip[0] & 0xfu) * 4;
	total = bytes_be16(ip + 2);
	if (header_len < FRAME_IPV4_LEN || total < header_len ||
		total - FRAME_IPV4_LEN > reader_left(r))
		return FRAME_BAD;
	r->end = r->at + (total - FRAME_IPV4_LEN);
	r->at += header_len - FRAME_IPV4_LEN;
	f->ip = ip;
	f->addr_len = 4;
	f->hop_limit = ip[8];
	f->src = ip + 12;
	f->dst = ip + 16;
	if (bytes_be16(ip + 6) & 0x3fff) // more fragments, or an offset
		return rest_as(FRAME_FRAGMENT, r, f);
	return parse_transport(r, f, ip[9]);
}

static bool is_extension(uint8_t next)
{
	return next == EXTENSION_HOP_BY_HOP || next == EXTENSION_ROUTING ||
	       next == EXTENSION_FRAGMENT || next == EXTENSION_AUTHENTICATION ||
	       next == EXTENSION_DESTINATION;
}

// The length of an extension header beyond its first 8 bytes.
static uint32_t extension_rest(uint8_t kind, uint8_t len)
{
	if (kind == EXTENSION_FRAGMENT)
		return 0;
	return len * (kind == EXTENSION_AUTHENTICATION ? 4u : EXTENSION_LEN);
}

static enum frame_kind parse_extensions(struct reader *r, struct frame *f, uint8_t next)
{
	for (unsigned n = 0; is_extension(next); n++) {
		const uint8_t *ext = read_bytes(r, EXTENSION_LEN);

		if (!ext || !read_bytes(r, extension_rest(next, ext[1])))
			return FRAME_BAD;
		if (next == EXTENSION_FRAGMENT && (bytes_be16(ext + 2) & 0xfff9))
			return rest_as(FRAME_FRAGMENT, r, f);
		// Segments left: we are a hop on the way of this packet, not its end.
		if (n == MAX_EXTENSIONS || (next == EXTENSION_ROUTING && ext[3] != 0))
			return FRAME_OTHER;
		next = ext[0];
	}
	return parse_transport(r, f, next);
}

static enum frame_kind parse_ipv6(struct reader *r, struct frame *f)
{
	const uint8_t *ip = read_bytes(r, FRAME_IPV6_LEN);
	uint32_t payload_len;

	if (!ip || ip[0] >> 4 != 6)
		return FRAME_BAD;
	payload_len = bytes_be16(ip + 4);
	if (payload_len > reader_left(r))
		return FRAME_BAD;
	r->end = r->at + payload_len;
	f->ip = ip;
	f->addr_len = 16;
	f->hop_limit = ip[7];
	f->src = ip + 8;
	f->dst = ip + 24;
	return parse_extensions(r, f, ip[6]);
}

static bool is_vlan(uint16_t type)
{
	return type == TPID_CUSTOMER || type == TPID_SERVICE || type == TPID_OLD_QINQ;
}

enum frame_kind frame_parse(const uint8_t *data, uint32_t len, struct frame *f)
{
	struct reader r = reader_of(data, len);
	uint16_t type;

	memset(f, 0, sizeof(*f));
	f->eth = read_bytes(&r, 12);
	type = read_be16(&r);
	for (unsigned tags = 0; is_vlan(type); tags++) {
		uint16_t vid = read_be16(&r) & 0xfff;

		if (tags == FRAME_MAX_VLANS)
			return FRAME_OTHER;
		if (vid)
			f->vlans[f->vlan_count++] = vid;
		type = read_be16(&r);
	}
	if (r.failed)
		return FRAME_BAD;
	if (type == FRAME_TYPE_IPV4)
		return parse_ipv4(&r, f);
	if (type == FRAME_TYPE_IPV6)
		return parse_ipv6(&r, f);
	if (type != FRAME_TYPE_ARP)
		return FRAME_OTHER;
	if (reader_left(&r) < FRAME_ARP_LEN)
		return FRAME_BAD;
	r.end = r.at + FRAME_ARP_LEN; // the rest is padding
	return rest_as(FRAME_ARP, &r, f);
}
