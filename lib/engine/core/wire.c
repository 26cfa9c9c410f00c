// SPDX-License-Identifier: BSD-3-Clause
// Packets that are no UDP for the worker. Rare, but on the worker's thread.
// Path: hot. The worker that owns the queue.
#include "engine/core/wire.h"

#include "io/burst.h"

static const char *icmp_label(uint32_t i)
{
	static const char *const names[ICMP_KINDS] = {
		[ICMP_NET_UNREACHABLE] = "net_unreachable",
		[ICMP_HOST_UNREACHABLE] = "host_unreachable",
		[ICMP_PORT_UNREACHABLE] = "port_unreachable",
		[ICMP_PROHIBITED] = "prohibited",
		[ICMP_TOO_BIG] = "too_big",
		[ICMP_TIME_EXCEEDED] = "time_exceeded",
		[ICMP_REDIRECT] = "redirect",
		[ICMP_OTHER] = "other",
	};

	return names[i];
}

// With the unit, which is the same for all.
#define OFFSET(member) offsetof(struct wire_counters, member), .unit = "packets"
static const struct counter wire_rows[] = {WIRE_COUNTERS(COUNTER_MEMBER_ROW, COUNTER_ARRAY_ROW)};
#undef OFFSET

const struct counter_section wire_section = {"other", "packets that belong to no item",
	COUNTER_ROWS(wire_rows), sizeof(struct wire_counters)};

// RFC 792 and RFC 1812 for IPv4, RFC 4443 for IPv6.
static enum icmp_kind icmp_kind(const struct frame *f)
{
	static const uint8_t v4_unreachable[16] = {ICMP_NET_UNREACHABLE, ICMP_HOST_UNREACHABLE,
		ICMP_OTHER, ICMP_PORT_UNREACHABLE, ICMP_TOO_BIG, ICMP_OTHER, ICMP_NET_UNREACHABLE,
		ICMP_HOST_UNREACHABLE, ICMP_OTHER, ICMP_PROHIBITED, ICMP_PROHIBITED,
		ICMP_NET_UNREACHABLE, ICMP_HOST_UNREACHABLE, ICMP_PROHIBITED, ICMP_OTHER,
		ICMP_OTHER};
	static const uint8_t v6_unreachable[8] = {ICMP_NET_UNREACHABLE, ICMP_PROHIBITED, ICMP_OTHER,
		ICMP_HOST_UNREACHABLE, ICMP_PORT_UNREACHABLE, ICMP_PROHIBITED, ICMP_NET_UNREACHABLE,
		ICMP_OTHER};
	static const uint8_t v6_type[5] = {
		ICMP_OTHER, ICMP_OTHER, ICMP_TOO_BIG, ICMP_TIME_EXCEEDED, ICMP_OTHER};

	if (f->addr_len == 4 && f->icmp_type == 3)
		return v4_unreachable[f->icmp_code & 15];
	if (f->addr_len == 4 && f->icmp_type == 5)
		return ICMP_REDIRECT;
	if (f->addr_len == 4)
		return f->icmp_type == 11 ? ICMP_TIME_EXCEEDED : ICMP_OTHER;
	if (f->icmp_type == 1)
		return v6_unreachable[f->icmp_code & 7];
	return f->icmp_type < sizeof(v6_type) ? v6_type[f->icmp_type] : ICMP_OTHER;
}

static void wire_reply(struct wire *w, enum frame_kind kind, const struct frame *f)
{
	struct neigh_self self = w->self;
	struct rte_mbuf *m;
	uint32_t len;

	if (!burst_alloc(w->tx_pool, &m, 1)) {
		w->counters.answer_refused++;
		return;
	}
	memcpy(self.vlans, f->vlans, sizeof(self.vlans));
	self.vlan_count = f->vlan_count;
	len = neigh_answer(&self, kind, f, rte_pktmbuf_mtod(m, uint8_t *), rte_pktmbuf_tailroom(m));
	if (len == 0) {
		burst_free(&m, 1);
		w->counters.other++;
		return;
	}
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	if (burst_tx(w->port, w->queue, &m, 1) == 1) {
		w->counters.neighbour_answered += kind != FRAME_ECHO;
		w->counters.echo_answered += kind == FRAME_ECHO;
		return;
	}
	burst_free(&m, 1);
	w->counters.answer_refused++;
}

void wire_other(struct wire *w, enum frame_kind kind, const struct frame *f)
{
	switch (kind) {
	case FRAME_UDP:
		w->counters.unmatched++;
		return;
	case FRAME_ARP:
	case FRAME_ND:
	case FRAME_ECHO:
		wire_reply(w, kind, f);
		return;
	case FRAME_ICMP_ERROR:
		w->counters.icmp_errors[icmp_kind(f)]++;
		return;
	case FRAME_FRAGMENT:
		w->counters.fragments++;
		return;
	case FRAME_OTHER:
		w->counters.other++;
		return;
	case FRAME_BAD:
		w->counters.bad_frame++;
		return;
	}
}

static bool wire_on_our_vlans(const struct wire *w, const struct frame *f)
{
	if (w->any_vlan || frame_is_on(f, w->self.vlans, w->self.vlan_count))
		return true;
	for (uint32_t i = 0; i < w->more_count; i++)
		if (frame_is_on(f, w->more[i].ids, w->more[i].count))
			return true;
	return false;
}

// A kernel on this machine leaves the checksum to a device that never comes: only the
// pseudo-header's sum is there.
static bool wire_is_unfinished(const struct frame *f)
{
	uint64_t sum =
		csum_pseudo(f->src, f->dst, f->addr_len, FRAME_PROTOCOL_UDP, 8 + f->payload_len);
	uint16_t pseudo = ~csum_fold(sum), check;

	memcpy(&check, f->l4 + 6, 2);
	return check == pseudo;
}

bool wire_parse_any(
	struct wire *w, const struct rte_mbuf *m, struct frame *f, enum frame_kind *kind)
{
	*kind = frame_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, f);
	if (*kind != FRAME_BAD && !wire_on_our_vlans(w, f)) {
		w->counters.wrong_vlan++;
		return false;
	}
	if (*kind == FRAME_UDP && !wire_is_whole(w, m, f) &&
		(w->reports_checksums || !wire_is_unfinished(f))) {
		w->counters.bad_checksum++;
		return false;
	}
	return true;
}
