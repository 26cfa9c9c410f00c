// SPDX-License-Identifier: BSD-3-Clause
// Tags that a card has stripped are in the packet again, and nothing else changes.
#include "io/port/untag.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include <rte_mbuf.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define ENDS     2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2

struct packet {
	struct rte_mbuf m;
	uint8_t room[RTE_PKTMBUF_HEADROOM + 64];
};

static struct rte_mbuf *packet(
	struct packet *p, const uint8_t *data, uint16_t len, uint64_t flags, uint16_t tci)
{
	memset(p, 0, sizeof(*p));
	p->m.buf_addr = p->room;
	p->m.buf_len = sizeof(p->room);
	p->m.data_off = RTE_PKTMBUF_HEADROOM;
	p->m.data_len = len;
	p->m.pkt_len = len;
	p->m.nb_segs = 1;
	p->m.ol_flags = flags;
	p->m.vlan_tci = tci;
	rte_mbuf_refcnt_set(&p->m, 1);
	memcpy(p->room + RTE_PKTMBUF_HEADROOM, data, len);
	return &p->m;
}

static void expect(const struct rte_mbuf *m, const uint8_t *data, uint16_t len)
{
	assert_int_equal(m->data_len, len);
	assert_int_equal(m->pkt_len, len);
	assert_memory_equal(rte_pktmbuf_mtod(m, const uint8_t *), data, len);
}

// Priority 5 and VLAN 10; the inner tag of two may be left in the packet.
static void a_tag_beside_the_packet_comes_back_into_it(void **state)
{
	static const uint8_t one[] = {ENDS, 8, 0, 0x45},
			     one_tagged[] = {ENDS, 0x81, 0, 0xa0, 10, 8, 0, 0x45};
	static const uint8_t two[] = {ENDS, 0x81, 0, 0, 7, 8, 0, 0x45},
			     two_tagged[] = {ENDS, 0x81, 0, 0xa0, 10, 0x81, 0, 0, 7, 8, 0, 0x45};
	const uint64_t flags = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	const uint64_t good = RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	struct packet room[4];
	struct rte_mbuf *pkts[] = {packet(&room[0], one, sizeof(one), flags | good, 0xa00a),
		packet(&room[1], one, sizeof(one), good, 0xa00a),
		packet(&room[2], two, sizeof(two), flags, 0xa00a),
		// A tag inside, and one reported beside the packet.
		packet(&room[3], one_tagged, sizeof(one_tagged), RTE_MBUF_F_RX_VLAN, 0xa00a)};

	assert_int_equal(untag_undo(0, 0, pkts, COUNT(pkts), 32, NULL), COUNT(pkts));
	expect(pkts[0], one_tagged, sizeof(one_tagged));
	expect(pkts[1], one, sizeof(one));
	expect(pkts[2], two_tagged, sizeof(two_tagged));
	expect(pkts[3], one_tagged, sizeof(one_tagged));
	assert_int_equal(pkts[0]->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK, good);
	// A second time there is nothing to put back.
	untag_undo(0, 0, pkts, COUNT(pkts), 32, NULL);
	expect(pkts[0], one_tagged, sizeof(one_tagged));
}

static void a_packet_without_a_whole_header_stays_as_it_is(void **state)
{
	static const uint8_t part[] = {2, 0, 0, 0, 0, 1, 2};
	struct packet room;
	struct rte_mbuf *m = packet(&room, part, sizeof(part), RTE_MBUF_F_RX_VLAN_STRIPPED, 10);

	assert_int_equal(untag_undo(0, 0, &m, 1, 32, NULL), 1);
	expect(m, part, sizeof(part));
	assert_int_equal(untag_undo(0, 0, NULL, 0, 32, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tag_beside_the_packet_comes_back_into_it),
		cmocka_unit_test(a_packet_without_a_whole_header_stays_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
