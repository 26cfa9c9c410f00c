// SPDX-License-Identifier: BSD-3-Clause
// Packets that belong to no item: which are answered, where they are counted, and which must not be
// read. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "engine/core/wire.h"
#include "lib/test_port.h"

static struct wire w;
static struct test_port port;
static struct rte_mbuf *m; // the last packet received
static uint32_t replies;
static uint64_t now_ns;
static const struct clock ticking = {.hz = 1e9, .set = &now_ns};
static struct neighbours neighbours;

static const struct addr_range owned = {{4, {198, 18, 0, 1}}, 1};

static void sent(struct test_port *p, uint16_t queue, const struct rte_mbuf *reply)
{
	replies++;
	assert_int_equal(reply->pkt_len, reply->data_len);
	assert_true(reply->data_len > 0);
}

static int fresh(void **state)
{
	test_port_open(&port, 0);
	port.sent = sent;
	replies = 0;
	m = NULL;
	memset(&w, 0, sizeof(w));
	w.reports_checksums = true;
	w.tx_pool = &port.pool;
	w.clock = &ticking;
	w.neighbours = &neighbours;
	neighbours = (struct neighbours){0};
	w.self = (struct neigh_self){.mac = {2, 0, 0, 0, 0, 1}, .owned = &owned, .owned_count = 1};
	return 0;
}

static int over(void **state)
{
	if (m)
		rte_pktmbuf_free(m);
	m = NULL;
	return port.live ? -1 : 0;
}

static struct rte_mbuf *receive(const uint8_t *data, uint32_t len)
{
	over(NULL);
	test_port_receive(&port, data, len);
	m = port.received[--port.received_count];
	return m;
}

// Writes a UDP packet with VLANs from 100 on. Its frame starts at `out`.
static uint32_t udp(uint8_t *out, uint8_t vlans)
{
	const uint8_t src[16] = {198, 18, 0, 9};
	struct frame_path path = {.dst_mac = {2, 0, 0, 0, 0, 1},
		.vlans = {100, 101},
		.vlan_count = vlans,
		.dst = owned.first,
		.dst_port = 7};
	struct frame_template t;

	frame_template_build(&t, &path);
	memset(out + t.len, 3, 30);
	return frame_stamp(&t, out, src, 9, (struct frame_payload){.len = 30});
}

static bool parsed(const uint8_t *data, uint32_t len, enum frame_kind *kind)
{
	struct frame f;
	bool rc = wire_parse(&w, receive(data, len), &f, kind);

	if (rc && *kind == FRAME_UDP)
		assert_int_equal(f.payload_len, 30);
	return rc;
}

static void checksums_are_the_devices_or_ours_to_judge(void **state)
{
	static const struct {
		bool reports;
		uint64_t flags;
		bool right, taken;
	} rows[] = {
		{true, 0, false, true},
		{true, RTE_MBUF_F_RX_L4_CKSUM_GOOD, true, true},
		{true, RTE_MBUF_F_RX_L4_CKSUM_BAD, true, false},
		{true, RTE_MBUF_F_RX_IP_CKSUM_BAD, true, false},
		{true, RTE_MBUF_F_RX_IP_CKSUM_BAD | RTE_MBUF_F_RX_L4_CKSUM_BAD, true, false},
		{false, RTE_MBUF_F_RX_L4_CKSUM_BAD, true, true},
		{false, RTE_MBUF_F_RX_L4_CKSUM_GOOD, false, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint8_t frame[128];
		uint32_t len = udp(frame, 0);
		enum frame_kind kind;
		struct frame f;

		over(NULL);
		fresh(NULL);
		frame[len - 1] ^= !rows[i].right;
		w.reports_checksums = rows[i].reports;
		receive(frame, len)->ol_flags = rows[i].flags;
		assert_int_equal(wire_parse(&w, m, &f, &kind), rows[i].taken);
		assert_int_equal(w.counters.bad_checksum, !rows[i].taken);
	}
}

// A kernel on the same machine leaves the sum to a device that the packet never reaches.
static void a_sum_of_the_pseudo_header_alone_is_taken(void **state)
{
	uint8_t frame[128];
	uint32_t len = udp(frame, 0);
	enum frame_kind kind;
	uint16_t pseudo =
		(uint16_t)~csum_fold(csum_pseudo(frame + 26, frame + 30, 4, 17, len - 34));

	w.reports_checksums = false;
	memcpy(frame + 40, &pseudo, 2);
	assert_true(parsed(frame, len, &kind));
	w.reports_checksums = true; // a device that judges has judged it
	receive(frame, len)->ol_flags = RTE_MBUF_F_RX_L4_CKSUM_BAD;
	assert_false(wire_parse(&w, m, &(struct frame){0}, &kind));
	frame[40] ^= 1;
	w.reports_checksums = false;
	assert_false(parsed(frame, len, &kind));
	assert_int_equal(w.counters.bad_checksum, 2);
}

static void only_our_vlans_are_looked_at(void **state)
{
	static const struct frame_vlans more = {{100, 101}, 2};
	static const struct {
		uint8_t own, on;
		bool more, any, taken;
	} rows[] = {
		{0, 0, false, false, true},
		{0, 1, false, false, false},
		{1, 0, false, false, false},
		{1, 1, false, false, true},
		{1, 2, false, false, false},
		{1, 2, true, false, true},
		{2, 2, false, false, true},
		{0, 1, true, false, false},
		{0, 1, false, true, true},
		{1, 0, false, true, true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint8_t frame[128];
		uint32_t len = udp(frame, rows[i].on);
		enum frame_kind kind;

		over(NULL);
		fresh(NULL);
		w.self.vlans[0] = 100;
		w.self.vlans[1] = 101;
		w.self.vlan_count = rows[i].own;
		w.more = &more;
		w.more_count = rows[i].more;
		w.any_vlan = rows[i].any;
		assert_int_equal(parsed(frame, len, &kind), rows[i].taken);
		assert_int_equal(w.counters.wrong_vlan, !rows[i].taken);
	}
}

static void a_truncated_packet_is_bad_on_any_vlan(void **state)
{
	uint8_t frame[128];
	enum frame_kind kind;
	struct frame f;

	udp(frame, 0);
	w.self.vlan_count = 1;
	receive(frame, 30);
	assert_true(wire_parse(&w, m, &f, &kind));
	assert_int_equal(kind, FRAME_BAD);
	wire_other(&w, kind, &f);
	assert_int_equal(w.counters.bad_frame, 1);
	assert_int_equal(w.counters.wrong_vlan, 0);
}

static void the_ends_of_a_packet_are_without_our_vlans(void **state)
{
	uint8_t frame[128];
	uint32_t len = udp(frame, 2);
	struct proto_ends ends;
	struct frame f;

	assert_int_equal(frame_parse(frame, len, &f), FRAME_UDP);
	w.self.vlan_count = 1;
	ends = wire_ends(&w, &f);
	assert_int_equal(ends.vlan_count, 1);
	assert_int_equal(ends.vlans[0], 101);
	assert_ptr_equal(ends.src, f.src);
	assert_ptr_equal(ends.dst, f.dst);
	assert_ptr_equal(ends.dst_mac, frame);
	assert_int_equal(ends.addr_len, 4);
	assert_int_equal(ends.src_port, 9);
	assert_int_equal(ends.dst_port, 7);
	len = udp(frame, 0);
	assert_int_equal(frame_parse(frame, len, &f), FRAME_UDP);
	assert_int_equal(wire_ends(&w, &f).vlan_count, 0);
}

static void other_packets_are_counted_by_their_kind(void **state)
{
	struct wire_counters zero = {0};
	struct frame f = {.addr_len = 4};

	wire_other(&w, FRAME_UDP, &f);
	wire_other(&w, FRAME_FRAGMENT, &f);
	wire_other(&w, FRAME_FRAGMENT, &f);
	wire_other(&w, FRAME_OTHER, &f);
	wire_other(&w, FRAME_BAD, &f);
	zero.unmatched = zero.other = zero.bad_frame = 1;
	zero.fragments = 2;
	assert_memory_equal(&w.counters, &zero, sizeof(zero));
}

// Receives two fragments of a packet with VLANs, with the octet at `spoilt` changed. Returns true
// if they complete a datagram, which f describes.
static bool fragments(uint8_t vlans, uint32_t spoilt, struct frame *f, enum frame_kind *kind)
{
	uint8_t frame[128], data[128];
	uint32_t len = udp(frame, vlans);
	struct frame whole;

	frame[len - 1] ^= spoilt;
	assert_int_equal(frame_parse(frame, len, &whole), FRAME_UDP);
	assert_false(
		wire_parse(&w, receive(data, fragment_make(&whole, 5, 16, 22, data)), f, kind));
	return wire_parse(&w, receive(data, fragment_make(&whole, 5, 0, 16, data)), f, kind);
}

static void fragments_are_put_together(void **state)
{
	enum frame_kind kind;
	struct frame f;

	w.reassembly = reassembly_new(&ticking);
	assert_non_null(w.reassembly);
	for (uint8_t vlans = 0; vlans < 3; vlans++) {
		w.self.vlan_count = vlans;
		w.self.vlans[0] = 100;
		w.self.vlans[1] = 101;
		assert_true(fragments(vlans, 0, &f, &kind));
		assert_int_equal(kind, FRAME_UDP);
		assert_int_equal(f.payload_len, 30);
		assert_int_equal(f.vlan_count, vlans);
		assert_ptr_equal(wire_packet(&w, m, &f), &w.reassembly->packet);
		assert_int_equal(w.reassembly->packet.data_len, 42 + 4 * vlans + 30);
		assert_int_equal(w.reassembly->packet.pkt_len, 42 + 4 * vlans + 30);
	}
	assert_int_equal(w.counters.fragments, 6);
	assert_int_equal(w.counters.reassembled, 3);
	assert_int_equal(w.counters.bad_checksum, 0);
	// The device has not verified the whole datagram.
	assert_false(fragments(2, 1, &f, &kind));
	assert_int_equal(w.counters.bad_checksum, 1);
	// Fragments on other VLANs are not even kept.
	w.self.vlan_count = 1;
	assert_false(fragments(2, 0, &f, &kind));
	assert_int_equal(w.counters.wrong_vlan, 2);
	assert_int_equal(w.counters.fragments, 8);
	reassembly_free(w.reassembly);
}

static void segments_are_read_as_one_packet(void **state)
{
	uint8_t frame[128];
	uint32_t len = udp(frame, 0);
	enum frame_kind kind;
	struct frame f;

	w.reassembly = reassembly_new(&ticking);
	assert_non_null(w.reassembly);
	test_port_receive(&port, frame + 50, len - 50);
	receive(frame, 50);
	m->next = port.received[--port.received_count];
	m->nb_segs = 2;
	m->pkt_len = len;
	assert_true(wire_parse(&w, m, &f, &kind));
	assert_int_equal(kind, FRAME_UDP);
	assert_int_equal(f.payload_len, 30);
	assert_memory_equal(f.eth, frame, len);
	assert_ptr_equal(wire_packet(&w, m, &f), &w.reassembly->packet);
	reassembly_free(w.reassembly);
	w.reassembly = NULL;
	assert_true(wire_parse(&w, m, &f, &kind));
	assert_int_equal(kind, FRAME_BAD);
}

// RFC 792, RFC 1812 section 5.2.7.1, RFC 4443.
static void icmp_errors_are_counted_by_their_meaning(void **state)
{
	static const struct {
		uint8_t addr_len, type, code;
		enum icmp_kind kind;
	} rows[] = {
		{4, 3, 0, ICMP_NET_UNREACHABLE},
		{4, 3, 1, ICMP_HOST_UNREACHABLE},
		{4, 3, 2, ICMP_OTHER},
		{4, 3, 3, ICMP_PORT_UNREACHABLE},
		{4, 3, 4, ICMP_TOO_BIG},
		{4, 3, 5, ICMP_OTHER},
		{4, 3, 6, ICMP_NET_UNREACHABLE},
		{4, 3, 7, ICMP_HOST_UNREACHABLE},
		{4, 3, 9, ICMP_PROHIBITED},
		{4, 3, 10, ICMP_PROHIBITED},
		{4, 3, 11, ICMP_NET_UNREACHABLE},
		{4, 3, 12, ICMP_HOST_UNREACHABLE},
		{4, 3, 13, ICMP_PROHIBITED},
		{4, 5, 1, ICMP_REDIRECT},
		{4, 11, 0, ICMP_TIME_EXCEEDED},
		{4, 12, 0, ICMP_OTHER},
		{16, 1, 0, ICMP_NET_UNREACHABLE},
		{16, 1, 1, ICMP_PROHIBITED},
		{16, 1, 3, ICMP_HOST_UNREACHABLE},
		{16, 1, 4, ICMP_PORT_UNREACHABLE},
		{16, 1, 5, ICMP_PROHIBITED},
		{16, 1, 6, ICMP_NET_UNREACHABLE},
		{16, 2, 0, ICMP_TOO_BIG},
		{16, 3, 0, ICMP_TIME_EXCEEDED},
		{16, 4, 0, ICMP_OTHER},
		{16, 5, 0, ICMP_OTHER},
		{16, 255, 0, ICMP_OTHER},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct frame f = {.addr_len = rows[i].addr_len,
			.icmp_type = rows[i].type,
			.icmp_code = rows[i].code};

		fresh(NULL);
		wire_other(&w, FRAME_ICMP_ERROR, &f);
		for (uint32_t k = 0; k < ICMP_KINDS; k++)
			assert_int_equal(w.counters.icmp_errors[k], k == rows[i].kind);
	}
}

// An ARP request for an address, as frame_parse shows it.
static uint32_t arp(uint8_t *out, uint8_t last)
{
	const struct neigh_self asker = {.mac = {2, 0, 0, 0, 0, 9}};
	const struct addr from = {4, {198, 18, 0, 9}}, target = {4, {198, 18, 0, last}};

	return neigh_ask(&asker, &from, &target, out, NEIGH_FRAME_MAX);
}

static void a_request_for_our_address_is_answered(void **state)
{
	static const struct {
		uint8_t address;
		uint32_t buffers, takes;
		struct wire_counters expect;
	} rows[] = {
		{1, 9, 9, {.neighbour_answered = 1}}, {2, 9, 9, {.other = 1}}, // not ours
		{1, 0, 9, {.answer_refused = 1}},                              // no buffer
		{1, 9, 0, {.answer_refused = 1}}, // the device takes nothing
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint8_t frame[NEIGH_FRAME_MAX];
		uint32_t len = arp(frame, rows[i].address);
		enum frame_kind kind;
		struct frame f;

		over(NULL);
		fresh(NULL);
		port.buffers = rows[i].buffers;
		port.takes = rows[i].takes;
		assert_true(wire_parse(&w, receive(frame, len), &f, &kind));
		assert_int_equal(kind, FRAME_ARP);
		wire_other(&w, kind, &f);
		assert_memory_equal(&w.counters, &rows[i].expect, sizeof(w.counters));
		assert_int_equal(replies, rows[i].expect.neighbour_answered);
	}
}

// A host, with this last byte of its MAC, announces on VLANs that it has this address.
static void announce(uint8_t mac, const char *text, uint8_t vlans)
{
	const struct neigh_self host = {
		.mac = {2, 0, 0, 0, 0, mac}, .vlans = {100, 101}, .vlan_count = vlans};
	uint8_t frame[NEIGH_FRAME_MAX];
	enum frame_kind kind;
	const char *what;
	struct addr a;
	struct frame f;

	assert_int_equal(addr_parse(text, &a, &what), 0);
	receive(frame, neigh_ask(&host, &a, &a, frame, sizeof(frame)));
	assert_true(wire_parse(&w, m, &f, &kind));
	wire_other(&w, kind, &f);
}

// A lease of a client with a MAC of its own.
static bool leased(void *of, const uint8_t *addr, uint8_t addr_len, uint8_t mac[6])
{
	if (addr_len != 4 || addr[3] != 77)
		return false;
	mac[5] = 0x70;
	return true;
}

static void another_host_with_our_address_is_a_conflict(void **state)
{
	static const uint8_t macs[2][6] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 5}};

	neighbours.macs = macs;
	neighbours.mac_count = 2;
	w.self.others = leased;
	w.any_vlan = true;
	announce(1, "198.18.0.1", 0); // our own port, and a second port of ours
	announce(5, "198.18.0.1", 0);
	announce(9, "198.18.0.2", 0);     // an address that is not ours
	announce(0x70, "198.18.0.77", 0); // our client
	announce(9, "198.18.0.1", 1);     // on another VLAN
	assert_int_equal(w.counters.address_conflicts, 0);
	assert_int_equal(w.conflict.addr.len, 0);
	announce(9, "198.18.0.1", 0);
	assert_int_equal(w.counters.address_conflicts, 1);
	assert_int_equal(w.conflict.addr.bytes[3], 1);
	assert_int_equal(w.conflict.mac[5], 9);
	announce(8, "198.18.0.77", 0);
	assert_int_equal(w.counters.address_conflicts, 2);
	assert_int_equal(w.conflict.addr.bytes[3], 77);
	assert_int_equal(w.conflict.mac[5], 8);
	assert_int_equal(replies, 1); // to our client
}

static void an_address_of_both_families_can_be_in_conflict(void **state)
{
	static const struct addr_range six = {{16, {0x20, 0x01, 0x0d, 0xb8, [15] = 1}}, 1};

	w.self.owned = &six;
	announce(9, "2001:db8::2", 0);
	assert_int_equal(w.counters.address_conflicts, 0);
	announce(9, "2001:db8::1", 0);
	assert_int_equal(w.counters.address_conflicts, 1);
	assert_memory_equal(w.conflict.addr.bytes, six.first.bytes, 16);
}

// In a run the probe gets a reply, and its sender gives up the address. Before it, both hosts do.
static void a_probe_for_our_address_is_a_conflict_before_the_run_only(void **state)
{
	const struct neigh_self host = {.mac = {2, 0, 0, 0, 0, 9}};
	const struct addr nobody = {4, {0}};
	uint8_t frame[NEIGH_FRAME_MAX];
	enum frame_kind kind;
	struct frame f;

	receive(frame, neigh_ask(&host, &nobody, &owned.first, frame, sizeof(frame)));
	assert_true(wire_parse(&w, m, &f, &kind));
	wire_other(&w, kind, &f);
	assert_int_equal(w.counters.address_conflicts, 0);
	assert_int_equal(w.counters.neighbour_answered, 1);
	w.tentative = true;
	wire_other(&w, kind, &f);
	assert_int_equal(w.counters.address_conflicts, 1);
	assert_true(w.conflict.probe);
}

static void ask_for_us(uint32_t times)
{
	uint8_t frame[NEIGH_FRAME_MAX];
	enum frame_kind kind;
	struct frame f;

	receive(frame, arp(frame, 1));
	assert_true(wire_parse(&w, m, &f, &kind));
	for (uint32_t i = 0; i < times; i++)
		wire_other(&w, kind, &f);
}

// RFC 5227 section 2.1.1: an address is ours only after no other host has claimed it.
static void nobody_is_answered_while_addresses_are_probed_for(void **state)
{
	now_ns = 1000000000;
	w.tentative = true;
	ask_for_us(1);
	assert_int_equal(w.counters.neighbour_answered, 0);
	w.tentative = false;
	ask_for_us(1);
	assert_int_equal(w.counters.neighbour_answered, 1);
}

static void a_flood_of_requests_is_answered_within_the_budget(void **state)
{
	static const struct addr server = {4, {198, 18, 0, 9}};
	struct next_hop hop = {.addr = server, .mac = 7};

	now_ns = 1000000000;
	w.answer_gap = 10;
	w.answer_saved = 100;
	ask_for_us(50);
	assert_int_equal(w.counters.neighbour_answered, 11); // saved up, and one for now
	assert_int_equal(w.counters.answer_over_budget, 39);
	now_ns += 9;
	ask_for_us(5);
	assert_int_equal(w.counters.neighbour_answered, 11);
	now_ns += 21;
	ask_for_us(5);
	assert_int_equal(w.counters.neighbour_answered, 14);
	assert_int_equal(w.counters.answer_over_budget, 46);
	assert_int_equal(replies, 14);
	neighbours.hops = &hop; // the sender's MAC is learned nevertheless
	neighbours.count = 1;
	ask_for_us(1);
	assert_int_equal(w.counters.neighbour_changed, 1);
	assert_int_equal(w.counters.answer_over_budget, 47);
	now_ns += 1000000;
	ask_for_us(50);
	assert_int_equal(w.counters.neighbour_answered, 14 + 11);
}

static void a_ping_is_answered_and_counted_apart(void **state)
{
	uint8_t frame[128] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9, 8, 0};
	struct writer out = writer_of(frame + 14, sizeof(frame) - 14);
	const struct frame_ip ip = {.src = (const uint8_t[]){198, 18, 0, 9},
		.dst = owned.first.bytes,
		.addr_len = 4,
		.hop_limit = 64,
		.protocol = FRAME_PROTOCOL_ICMP,
		.payload_len = 8};
	uint8_t echo[8] = {8, 0, 0, 0, 1, 2, 3, 4};
	uint16_t sum = csum_fold(csum_add(0, echo, 8));
	enum frame_kind kind;
	struct frame f;

	memcpy(echo + 2, &sum, 2);
	frame_write_ip(&out, &ip);
	write_bytes(&out, echo, 8);
	assert_true(wire_parse(&w, receive(frame, 14 + 20 + 8), &f, &kind));
	assert_int_equal(kind, FRAME_ECHO);
	wire_other(&w, kind, &f);
	assert_int_equal(w.counters.echo_answered, 1);
	assert_int_equal(w.counters.neighbour_answered, 0);
	assert_int_equal(replies, 1);
}

static void the_device_is_told_what_to_finish(void **state)
{
	static const struct {
		struct addr dst;
		uint8_t l3;
		uint64_t flags;
	} rows[] = {
		{{4, {198, 18, 0, 1}}, 20,
			RTE_MBUF_F_TX_UDP_CKSUM | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM},
		{{16, {0x20, 1}}, 40, RTE_MBUF_F_TX_UDP_CKSUM | RTE_MBUF_F_TX_IPV6},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct frame_path path = {.dst = rows[i].dst, .vlan_count = 1, .vlans = {5}};
		struct frame_template t;
		struct rte_mbuf out = {.tx_offload = UINT64_MAX};

		frame_template_build(&t, &path);
		wire_offload(&out, &t);
		assert_int_equal(out.l2_len, 18);
		assert_int_equal(out.l3_len, rows[i].l3);
		assert_int_equal(out.l4_len, 0);
		assert_int_equal(out.ol_flags, rows[i].flags);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, over)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(checksums_are_the_devices_or_ours_to_judge),
		TEST(a_sum_of_the_pseudo_header_alone_is_taken),
		TEST(only_our_vlans_are_looked_at),
		TEST(a_truncated_packet_is_bad_on_any_vlan),
		TEST(the_ends_of_a_packet_are_without_our_vlans),
		TEST(other_packets_are_counted_by_their_kind),
		TEST(fragments_are_put_together),
		TEST(segments_are_read_as_one_packet),
		TEST(icmp_errors_are_counted_by_their_meaning),
		TEST(a_request_for_our_address_is_answered),
		TEST(another_host_with_our_address_is_a_conflict),
		TEST(an_address_of_both_families_can_be_in_conflict),
		TEST(a_probe_for_our_address_is_a_conflict_before_the_run_only),
		TEST(nobody_is_answered_while_addresses_are_probed_for),
		TEST(a_flood_of_requests_is_answered_within_the_budget),
		TEST(a_ping_is_answered_and_counted_apart),
		TEST(the_device_is_told_what_to_finish),
	};

	return cmocka_run_group_tests_name("engine wire", tests, NULL, NULL);
}
