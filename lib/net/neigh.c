// SPDX-License-Identifier: BSD-3-Clause
// ARP, neighbour discovery and ping on bytes; see neigh.h for the contract.
// Keeps no state: the caller decides when and how often to ask.
// Path: hot (answer, claim, but rare) | cold (ask). Any thread.
#include "net/neigh.h"

#include "base/bytes.h"
#include "net/csum.h"

#define ARP_REQUEST      1
#define ARP_REPLY        2
#define ROUTER_SOLICIT   133
#define ROUTER_ADVERT    134
#define ND_SOLICIT       135
#define ND_ADVERT        136
#define SOLICIT_LEN      8 // of messages of routers, before the options
#define ADVERT_LEN       16
#define ND_LEN           24 // of neighbour solicitations and advertisements
#define ND_HOP_LIMIT     255
#define ND_FLAG_SOLICIT  0x40
#define ND_FLAG_OVERRIDE 0x20
#define OPTION_SOURCE    1 // source link-layer address
#define OPTION_TARGET    2 // target link-layer address
#define OPTION_PREFIX    3
#define OPTION_MAC_LEN   8
#define PREFIX_LEN       32
#define PREFIX_ON_LINK   0x80
#define PREFIX_AUTO      0x40
#define ICMPV4_REPLY     0
#define ICMPV6_REPLY     129
#define HOP_LIMIT        64

static const uint8_t broadcast_mac[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
static const uint8_t all_nodes[16] = {0xff, 0x02, [15] = 1};
static const uint8_t all_nodes_mac[6] = {0x33, 0x33, [5] = 1};
static const uint8_t all_routers[16] = {0xff, 0x02, [15] = 2};
static const uint8_t all_routers_mac[6] = {0x33, 0x33, [5] = 2};
static const uint8_t arp_ethernet_ipv4[6] = {0, 1, 0x08, 0x00, 6, 4};

// The fields of an ARP message for Ethernet and IPv4.
struct arp {
	uint16_t operation;
	const uint8_t *sender_mac, *sender, *target_mac, *target;
};

bool neigh_owns(const struct neigh_self *self, const uint8_t *addr, uint8_t addr_len)
{
	for (uint32_t i = 0; i < self->owned_count; i++) {
		if (addr_index(&self->owned[i], addr, addr_len) != UINT64_MAX)
			return true;
	}
	return false;
}

bool neigh_mac_of(
	const struct neigh_self *self, const uint8_t *addr, uint8_t addr_len, uint8_t mac[6])
{
	memcpy(mac, self->mac, 6);
	if (neigh_owns(self, addr, addr_len))
		return true;
	return self->others && self->others(self->others_of, addr, addr_len, mac);
}

// The MAC of a local address. Returns false for any other address.
static bool answer_as(
	const struct neigh_self *self, const uint8_t *addr, uint8_t addr_len, struct neigh_self *as)
{
	*as = *self;
	return neigh_mac_of(self, addr, addr_len, as->mac);
}

static bool is_zero(const uint8_t *addr, uint8_t addr_len)
{
	static const uint8_t none[16];

	return addr_bytes_equal(addr, none, addr_len);
}

static bool is_group_mac(const uint8_t *mac)
{
	return mac[0] & 1;
}

static bool is_no_mac(const uint8_t *mac)
{
	static const uint8_t none[6];

	return memcmp(mac, none, 6) == 0;
}

// A single other host: not a multicast, not the broadcast or another reserved address, not none,
// not us.
static bool is_other_host(const struct neigh_self *self, const uint8_t *addr, uint8_t addr_len)
{
	if (addr_len == 4 ? addr[0] >= 224 : addr[0] == 0xff)
		return false;
	return !is_zero(addr, addr_len) && !neigh_owns(self, addr, addr_len);
}

static void write_ethernet(struct writer *w, const struct neigh_self *self, const uint8_t *dst_mac,
	enum frame_ethertype type)
{
	struct frame_path path = {.vlan_count = self->vlan_count};

	memcpy(path.src_mac, self->mac, 6);
	memcpy(path.dst_mac, dst_mac, 6);
	memcpy(path.vlans, self->vlans, sizeof(path.vlans));
	frame_write_ethernet(w, &path, type);
}

static uint32_t written(const struct writer *w, const uint8_t *out)
{
	return w->failed ? 0 : (uint32_t)(w->at - out);
}

static void write_arp(struct writer *w, const struct arp *arp)
{
	write_bytes(w, arp_ethernet_ipv4, sizeof(arp_ethernet_ipv4));
	write_be16(w, arp->operation);
	write_bytes(w, arp->sender_mac, 6);
	write_bytes(w, arp->sender, 4);
	write_bytes(w, arp->target_mac, 6);
	write_bytes(w, arp->target, 4);
}

static bool read_arp(const struct frame *f, struct arp *arp)
{
	struct reader r = reader_of(f->payload, f->payload_len);
	const uint8_t *kind = read_bytes(&r, sizeof(arp_ethernet_ipv4));

	arp->operation = read_be16(&r);
	arp->sender_mac = read_bytes(&r, 6);
	arp->sender = read_bytes(&r, 4);
	arp->target_mac = read_bytes(&r, 6);
	arp->target = read_bytes(&r, 4);
	return !r.failed && memcmp(kind, arp_ethernet_ipv4, sizeof(arp_ethernet_ipv4)) == 0 &&
	       !is_group_mac(arp->sender_mac);
}

static uint32_t answer_arp(const struct neigh_self *self, const struct frame *f, struct writer *w)
{
	uint8_t *out = w->at;
	struct arp asked, reply;
	struct neigh_self as;

	if (!read_arp(f, &asked) || asked.operation != ARP_REQUEST)
		return 0;
	if (!answer_as(self, asked.target, 4, &as))
		return 0;
	// Without a sender address it is a probe (RFC 5227); its sender must learn that the address
	// is taken.
	if (!is_zero(asked.sender, 4) && !is_other_host(self, asked.sender, 4))
		return 0;
	reply = (struct arp){ARP_REPLY, as.mac, asked.target, asked.sender_mac, asked.sender};
	write_ethernet(w, &as, asked.sender_mac, FRAME_TYPE_ARP);
	write_arp(w, &reply);
	return written(w, out);
}

// The sum of an ICMP message: over IPv6 the pseudo-header belongs to it.
static uint64_t icmp_sum(const uint8_t *src, const uint8_t *dst, uint8_t addr_len,
	const uint8_t *message, uint32_t len)
{
	uint64_t sum = 0;

	if (addr_len == 16)
		sum = csum_pseudo(src, dst, addr_len, FRAME_PROTOCOL_ICMPV6, len);
	return csum_add(sum, message, len);
}

static bool icmp_checksum_ok(const struct frame *f)
{
	return csum_fold(icmp_sum(f->src, f->dst, f->addr_len, f->payload, f->payload_len)) == 0;
}

static void close_icmp(const struct frame_ip *ip, uint8_t *message)
{
	uint16_t check =
		csum_fold(icmp_sum(ip->src, ip->dst, ip->addr_len, message, ip->payload_len));

	memcpy(message + 2, &check, 2);
}

// The link-layer address in the option of this type; without one *mac is unchanged. Returns false
// if the options are malformed (RFC 4861 section 7.1: the message must be dropped).
static bool read_nd_options(struct reader *r, uint8_t wanted, const uint8_t **mac)
{
	while (reader_left(r) > 0) {
		uint8_t type = read_u8(r);
		uint32_t len = read_u8(r) * 8u;
		const uint8_t *data = len ? read_bytes(r, len - 2) : NULL;

		if (!data)
			return false;
		if (type == wanted && len == 8)
			*mac = data;
	}
	return !is_group_mac(*mac);
}

// A valid message of this type with len bytes before its options, and the link-layer address that
// its option or the Ethernet source gives; or NULL.
static const uint8_t *read_message(
	const struct frame *f, uint8_t type, uint32_t len, uint8_t option, const uint8_t **mac)
{
	struct reader r = reader_of(f->payload, f->payload_len);
	const uint8_t *message = read_bytes(&r, len);

	if (!message || f->icmp_type != type || f->icmp_code != 0 || f->hop_limit != ND_HOP_LIMIT)
		return NULL;
	if (!icmp_checksum_ok(f))
		return NULL;
	*mac = f->eth + 6;
	return read_nd_options(&r, option, mac) ? message : NULL;
}

// The target of such a message between neighbours.
static const uint8_t *read_nd(
	const struct frame *f, uint8_t type, uint8_t option, const uint8_t **mac)
{
	const uint8_t *message = read_message(f, type, ND_LEN, option, mac);

	return message ? message + 8 : NULL;
}

static void write_mac(struct writer *w, uint8_t option, const uint8_t *mac)
{
	write_u8(w, option);
	write_u8(w, OPTION_MAC_LEN / 8);
	write_bytes(w, mac, 6);
}

// A whole solicitation or advertisement from ip->src, with our MAC in its one option if it has one.
static void write_nd(struct writer *w, const struct neigh_self *self, const struct frame_ip *ip,
	uint8_t type, uint8_t flags, const uint8_t *target)
{
	uint8_t *message;

	frame_write_ip(w, ip);
	message = w->at;
	write_u8(w, type);
	write_u8(w, 0);
	write_be16(w, 0);
	write_be32(w, (uint32_t)flags << 24);
	write_bytes(w, target, 16);
	if (ip->payload_len > ND_LEN)
		write_mac(w, type == ND_SOLICIT ? OPTION_SOURCE : OPTION_TARGET, self->mac);
	if (!w->failed)
		close_icmp(ip, message);
}

static uint32_t answer_solicitation(
	const struct neigh_self *self, const struct frame *f, struct writer *w)
{
	uint8_t *out = w->at;
	const uint8_t *mac, *target = read_nd(f, ND_SOLICIT, OPTION_SOURCE, &mac);
	struct frame_ip ip = {target, f->src, 16, ND_HOP_LIMIT, FRAME_PROTOCOL_ICMPV6, ND_LEN + 8};
	uint8_t flags = ND_FLAG_SOLICIT | ND_FLAG_OVERRIDE;
	struct neigh_self as;

	if (!target || !answer_as(self, target, 16, &as))
		return 0;
	if (is_zero(f->src, 16)) { // duplicate address detection: the reply goes to all nodes
		if (f->dst[0] != 0xff || mac != f->eth + 6)
			return 0;
		ip.dst = all_nodes;
		mac = all_nodes_mac;
		flags = ND_FLAG_OVERRIDE;
	} else if (!is_other_host(self, f->src, 16)) {
		return 0;
	}
	write_ethernet(w, &as, mac, FRAME_TYPE_IPV6);
	write_nd(w, &as, &ip, ND_ADVERT, flags, target);
	return written(w, out);
}

static void write_prefix(struct writer *w, const struct neigh_prefix *p)
{
	write_u8(w, OPTION_PREFIX);
	write_u8(w, PREFIX_LEN / 8);
	write_u8(w, p->prefix.bits);
	write_u8(w, (p->on_link ? PREFIX_ON_LINK : 0) | (p->autonomous ? PREFIX_AUTO : 0));
	write_be32(w, p->valid_s);
	write_be32(w, p->preferred_s);
	write_be32(w, 0);
	write_bytes(w, p->prefix.addr.bytes, 16);
}

static void write_advert(
	struct writer *w, const struct neigh_self *self, const uint8_t *dst, const uint8_t *dst_mac)
{
	const struct neigh_advert *a = self->router;
	uint8_t own[16], *message;
	const struct frame_ip ip = {own, dst, 16, ND_HOP_LIMIT, FRAME_PROTOCOL_ICMPV6,
		(uint16_t)(ADVERT_LEN + OPTION_MAC_LEN + a->prefix_count * PREFIX_LEN)};

	addr_link_local(self->mac, own);
	write_ethernet(w, self, dst_mac, FRAME_TYPE_IPV6);
	frame_write_ip(w, &ip);
	message = w->at;
	write_u8(w, ROUTER_ADVERT);
	write_u8(w, 0);
	write_be16(w, 0);
	write_u8(w, a->hop_limit);
	write_u8(w, a->flags);
	write_be16(w, a->lifetime_s);
	write_be32(w, 0); // reachable time and
	write_be32(w, 0); // retransmission timer: unspecified
	write_mac(w, OPTION_SOURCE, self->mac);
	for (uint8_t i = 0; i < a->prefix_count; i++)
		write_prefix(w, &a->prefixes[i]);
	if (!w->failed)
		close_icmp(&ip, message);
}

// RFC 4861 sections 6.1.1 and 6.2.6.
static uint32_t answer_router_solicitation(
	const struct neigh_self *self, const struct frame *f, struct writer *w)
{
	uint8_t *out = w->at;
	const uint8_t *mac;
	bool anonymous = is_zero(f->src, 16);

	if (!self->router || !read_message(f, ROUTER_SOLICIT, SOLICIT_LEN, OPTION_SOURCE, &mac))
		return 0;
	if (anonymous ? mac != f->eth + 6 : !is_other_host(self, f->src, 16))
		return 0;
	write_advert(w, self, anonymous ? all_nodes : f->src, anonymous ? all_nodes_mac : mac);
	return written(w, out);
}

static uint32_t answer_echo(const struct neigh_self *self, const struct frame *f, struct writer *w)
{
	bool v4 = f->addr_len == 4;
	const struct frame_ip ip = {f->dst, f->src, f->addr_len, HOP_LIMIT,
		v4 ? FRAME_PROTOCOL_ICMP : FRAME_PROTOCOL_ICMPV6, (uint16_t)f->payload_len};
	const uint8_t *mac = f->eth + 6;
	uint8_t *out = w->at, *message;
	struct neigh_self as;

	if (!answer_as(self, f->dst, f->addr_len, &as) || !is_other_host(self, f->src, f->addr_len))
		return 0;
	if (is_group_mac(mac) || !icmp_checksum_ok(f))
		return 0;
	write_ethernet(w, &as, mac, v4 ? FRAME_TYPE_IPV4 : FRAME_TYPE_IPV6);
	frame_write_ip(w, &ip);
	message = w->at;
	write_u8(w, v4 ? ICMPV4_REPLY : ICMPV6_REPLY);
	write_u8(w, 0);
	write_be16(w, 0);
	write_bytes(w, f->payload + 4, f->payload_len - 4); // identifier, sequence number, data
	if (!w->failed)
		close_icmp(&ip, message);
	return written(w, out);
}

uint32_t neigh_answer(const struct neigh_self *self, enum frame_kind kind, const struct frame *f,
	uint8_t *out, uint32_t room)
{
	struct writer w = writer_of(out, room);

	if (!frame_is_on(f, self->vlans, self->vlan_count))
		return 0;
	if (kind == FRAME_ARP)
		return answer_arp(self, f, &w);
	if (kind == FRAME_ND)
		return f->icmp_type == ROUTER_SOLICIT ? answer_router_solicitation(self, f, &w)
		                                      : answer_solicitation(self, f, &w);
	if (kind == FRAME_ECHO)
		return answer_echo(self, f, &w);
	return 0;
}

static void ask_arp(struct writer *w, const struct neigh_self *self, const struct addr *from,
	const struct addr *target)
{
	static const uint8_t unknown_mac[6];
	const struct arp arp = {ARP_REQUEST, self->mac, from->bytes, unknown_mac, target->bytes};

	write_ethernet(w, self, broadcast_mac, FRAME_TYPE_ARP);
	write_arp(w, &arp);
}

struct addr neigh_group(const struct addr *target)
{
	struct addr group = {16, {0xff, 0x02, [11] = 1, [12] = 0xff}};

	memcpy(group.bytes + 13, target->bytes + 13, 3);
	return group;
}

static void ask_nd(struct writer *w, const struct neigh_self *self, const struct addr *from,
	const struct addr *target)
{
	const struct addr group = neigh_group(target);
	uint8_t mac[6] = {0x33, 0x33}; // RFC 2464 section 7
	// A probe carries no link-layer address (RFC 4861 section 4.3).
	const struct frame_ip ip = {from->bytes, group.bytes, 16, ND_HOP_LIMIT,
		FRAME_PROTOCOL_ICMPV6, is_zero(from->bytes, 16) ? ND_LEN : ND_LEN + 8};

	memcpy(mac + 2, group.bytes + 12, 4);
	write_ethernet(w, self, mac, FRAME_TYPE_IPV6);
	write_nd(w, self, &ip, ND_SOLICIT, 0, target->bytes);
}

uint32_t neigh_ask(const struct neigh_self *self, const struct addr *from,
	const struct addr *target, uint8_t *out, uint32_t room)
{
	struct writer w = writer_of(out, room);

	if (target->len == 4)
		ask_arp(&w, self, from, target);
	else
		ask_nd(&w, self, from, target);
	return written(&w, out);
}

uint32_t neigh_solicit(
	const struct neigh_self *self, const uint8_t *from, uint8_t *out, uint32_t room)
{
	const struct frame_ip ip = {from, all_routers, 16, ND_HOP_LIMIT, FRAME_PROTOCOL_ICMPV6,
		SOLICIT_LEN + OPTION_MAC_LEN};
	struct writer w = writer_of(out, room);
	uint8_t *message;

	write_ethernet(&w, self, all_routers_mac, FRAME_TYPE_IPV6);
	frame_write_ip(&w, &ip);
	message = w.at;
	write_u8(&w, ROUTER_SOLICIT);
	write_u8(&w, 0);
	write_be16(&w, 0);
	write_be32(&w, 0);
	write_mac(&w, OPTION_SOURCE, self->mac);
	if (!w.failed)
		close_icmp(&ip, message);
	return written(&w, out);
}

static void read_prefix(const uint8_t *data, struct neigh_advert *out)
{
	struct neigh_prefix *p = &out->prefixes[out->prefix_count++];

	*p = (struct neigh_prefix){.prefix = {{.len = 16}, data[0]},
		.on_link = data[1] & PREFIX_ON_LINK,
		.autonomous = data[1] & PREFIX_AUTO,
		.valid_s = bytes_be32(data + 2),
		.preferred_s = bytes_be32(data + 6)};
	memcpy(p->prefix.addr.bytes, data + 14, 16);
}

bool neigh_advert(enum frame_kind kind, const struct frame *f, struct neigh_advert *out)
{
	const uint8_t *mac, *message;
	struct reader r;

	if (kind != FRAME_ND || f->src[0] != 0xfe || (f->src[1] & 0xc0) != 0x80)
		return false;
	message = read_message(f, ROUTER_ADVERT, ADVERT_LEN, OPTION_SOURCE, &mac);
	if (!message)
		return false;
	*out = (struct neigh_advert){.hop_limit = message[4],
		.flags = message[5],
		.lifetime_s = bytes_be16(message + 6)};
	r = reader_of(message + ADVERT_LEN, f->payload_len - ADVERT_LEN);
	while (reader_left(&r) > 0 && out->prefix_count < NEIGH_PREFIXES_MAX) {
		uint8_t type = read_u8(&r);
		uint32_t len = read_u8(&r) * 8u; // read_message has found it above 0
		const uint8_t *data = read_bytes(&r, len - 2);

		if (data && type == OPTION_PREFIX && len == PREFIX_LEN && data[0] <= 128)
			read_prefix(data, out);
	}
	return true;
}

static void claim_addr(struct neigh_claim *out, const uint8_t *addr, uint8_t addr_len)
{
	out->addr = (struct addr){.len = addr_len};
	memcpy(out->addr.bytes, addr, addr_len);
}

static bool claim_arp(const struct frame *f, struct neigh_claim *out)
{
	struct arp arp;

	if (!read_arp(f, &arp) || (arp.operation != ARP_REQUEST && arp.operation != ARP_REPLY))
		return false;
	out->probe = is_zero(arp.sender, 4);
	if (is_no_mac(arp.sender_mac) || (out->probe && arp.operation == ARP_REPLY))
		return false;
	claim_addr(out, out->probe ? arp.target : arp.sender, 4);
	memcpy(out->mac, arp.sender_mac, 6);
	out->overrides = !out->probe;
	return true;
}

static bool claim_advert(const struct frame *f, struct neigh_claim *out)
{
	const uint8_t *mac, *target = read_nd(f, ND_ADVERT, OPTION_TARGET, &mac);

	if (!target || is_no_mac(mac))
		return false;
	if (f->dst[0] == 0xff && (f->payload[4] & ND_FLAG_SOLICIT)) // RFC 4861 section 7.1.2
		return false;
	claim_addr(out, target, 16);
	memcpy(out->mac, mac, 6);
	out->probe = false;
	out->overrides = f->payload[4] & ND_FLAG_OVERRIDE;
	return true;
}

static bool claim_solicit(const struct frame *f, struct neigh_claim *out)
{
	const uint8_t *mac, *target = read_nd(f, ND_SOLICIT, OPTION_SOURCE, &mac);
	bool told;

	if (!target || is_no_mac(mac))
		return false;
	told = mac != f->eth + 6;
	out->probe = is_zero(f->src, 16);
	if (out->probe == told || (out->probe && f->dst[0] != 0xff))
		return false;
	claim_addr(out, out->probe ? target : f->src, 16);
	memcpy(out->mac, mac, 6);
	out->overrides = told;
	return true;
}

bool neigh_claim(enum frame_kind kind, const struct frame *f, struct neigh_claim *out)
{
	if (kind == FRAME_ARP)
		return claim_arp(f, out);
	if (kind != FRAME_ND)
		return false;
	return f->icmp_type == ND_ADVERT ? claim_advert(f, out) : claim_solicit(f, out);
}
