// SPDX-License-Identifier: BSD-3-Clause
// Handles packets that belong to no item. Rare, but on the worker's thread.
// Path: hot. The worker that owns the queue.
#include "engine/core/wire.h"

#include "base/clock.h"
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

static const char *fragments_label(uint32_t i)
{
	static const char *const names[FRAGMENTS_REASONS] = {
		[FRAGMENTS_INCOMPLETE] = "incomplete",
		[FRAGMENTS_EVICTED] = "evicted",
		[FRAGMENTS_OVERLAP] = "overlap",
		[FRAGMENTS_BAD_LENGTH] = "bad_length",
		[FRAGMENTS_BAD_END] = "bad_end",
		[FRAGMENTS_TOO_LONG] = "too_long",
	};

	return names[i];
}

// Also sets the unit, which is common to all rows.
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

static bool wire_has_vlans(const struct wire *w, const struct frame *f)
{
	if (frame_is_on(f, w->self.vlans, w->self.vlan_count))
		return true;
	for (uint32_t i = 0; i < w->more_count; i++)
		if (frame_is_on(f, w->more[i].ids, w->more[i].count))
			return true;
	return false;
}

// Sends a frame of this length. Returns false, and frees the buffer, if len is 0 or without room.
static bool wire_send(const struct wire *w, struct rte_mbuf *m, uint32_t len)
{
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	if (len && burst_tx(w->port, w->queue, &m, 1) == 1)
		return true;
	burst_free(&m, 1);
	return false;
}

static struct neigh_self wire_self_on(const struct wire *w, const uint16_t *vlans, uint8_t count)
{
	struct neigh_self self = w->self;

	memcpy(self.vlans, vlans, sizeof(self.vlans));
	self.vlan_count = count;
	return self;
}

bool wire_ask(struct wire *w, const struct frame_vlans *vlans, const struct addr *from,
	const struct addr *target)
{
	const struct neigh_self self = wire_self_on(w, vlans->ids, vlans->count);
	struct rte_mbuf *m;

	if (!burst_alloc(w->tx_pool, &m, 1))
		return false;
	return wire_send(w, m,
		neigh_ask(&self, from, target, rte_pktmbuf_mtod(m, uint8_t *),
			rte_pktmbuf_tailroom(m)));
}

bool wire_solicit(
	struct wire *w, const struct frame_vlans *vlans, const uint8_t mac[6], const uint8_t *from)
{
	struct neigh_self self = wire_self_on(w, vlans->ids, vlans->count);
	struct rte_mbuf *m;

	if (!burst_alloc(w->tx_pool, &m, 1))
		return false;
	memcpy(self.mac, mac, 6);
	return wire_send(w, m,
		neigh_solicit(
			&self, from, rte_pktmbuf_mtod(m, uint8_t *), rte_pktmbuf_tailroom(m)));
}

static void wire_reply(struct wire *w, enum frame_kind kind, const struct frame *f)
{
	const struct neigh_self self = wire_self_on(w, f->vlans, f->vlan_count);
	struct rte_mbuf *m;
	uint32_t len;

	if (!burst_alloc(w->tx_pool, &m, 1)) {
		w->counters.answer_refused++;
		return;
	}
	len = neigh_answer(&self, kind, f, rte_pktmbuf_mtod(m, uint8_t *), rte_pktmbuf_tailroom(m));
	if (len == 0) {
		burst_free(&m, 1);
		w->counters.other++;
		return;
	}
	if (!wire_send(w, m, len)) {
		w->counters.answer_refused++;
		return;
	}
	w->counters.neighbour_answered += kind != FRAME_ECHO;
	w->counters.echo_answered += kind == FRAME_ECHO;
}

// Does another host claim an address of ours, on a VLAN of ours?
static bool wire_conflicts(
	const struct wire *w, const struct frame *f, const struct neigh_claim *claim)
{
	uint8_t mac[6];

	if ((claim->probe && !w->tentative) || !wire_has_vlans(w, f) ||
		neighbours_mac_is_ours(w->neighbours, claim->mac))
		return false;
	return neigh_mac_of(&w->self, claim->addr.bytes, claim->addr.len, mac) &&
	       memcmp(mac, claim->mac, 6) != 0;
}

// Limits the worker's time for a flood of requests. Unused budget is saved up, as a server asks for
// many addresses at once when its first replies are due.
static bool wire_may_answer(struct wire *w, uint64_t now)
{
	if (w->answer_from + w->answer_saved < now)
		w->answer_from = now - w->answer_saved;
	if (w->answer_from > now) {
		w->counters.answer_over_budget++;
		return false;
	}
	w->answer_from += w->answer_gap;
	return true;
}

// Handles ARP, ND or ping. ARP and ND contain the MAC of their sender.
static void wire_neighbour(struct wire *w, enum frame_kind kind, const struct frame *f)
{
	uint64_t now = clock_time(w->clock);
	struct neigh_claim claim;
	bool told = neigh_claim(kind, f, &claim);
	struct neigh_advert advert;

	if (w->advertised && neigh_advert(kind, f, &advert)) {
		w->advertised(w->advertised_of, w, f, &advert);
		return;
	}
	if (told && neighbours_learn(w->neighbours, f, &claim, now))
		w->counters.neighbour_changed++;
	if (!wire_may_answer(w, now))
		return;
	if (!told || !wire_conflicts(w, f, &claim)) {
		if (!w->tentative) // a reply would attract packets that no worker reads yet
			wire_reply(w, kind, f);
		return;
	}
	w->conflict = claim;
	w->counters.address_conflicts++;
}

void wire_other(struct wire *w, enum frame_kind kind, const struct frame *f)
{
	switch (kind) {
	case FRAME_UDP:
	case FRAME_TCP:
		w->counters.unmatched++;
		return;
	case FRAME_ARP:
	case FRAME_ND:
	case FRAME_ECHO:
		wire_neighbour(w, kind, f);
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

// Does the packet have only the sum of the pseudo-header? A kernel on this machine leaves the
// checksum to a device, which the packet does not pass.
static bool wire_is_unfinished(const struct frame *f, enum frame_kind kind)
{
	uint64_t sum = kind == FRAME_UDP ? csum_pseudo(f->src, f->dst, f->addr_len,
						   FRAME_PROTOCOL_UDP, 8 + f->payload_len)
	                                 : csum_pseudo(f->src, f->dst, f->addr_len,
						   FRAME_PROTOCOL_TCP, f->payload_len);
	uint16_t pseudo = csum_16(sum), check;

	memcpy(&check, f->l4 + (kind == FRAME_UDP ? 6 : 16), 2);
	return check == pseudo;
}

static struct fragments_counts fragments_counts(struct wire *w)
{
	return (struct fragments_counts){
		&w->counters.duplicate_fragments, w->counters.not_reassembled};
}

void wire_fragments_expire(struct wire *w, uint64_t now)
{
	if (w->reassembly)
		fragments_expire(&w->reassembly->table, now, fragments_counts(w));
}

void wire_fragments_end(struct wire *w)
{
	if (w->reassembly)
		fragments_end(&w->reassembly->table, fragments_counts(w));
}

// Takes a fragment. Returns true if f now describes the whole datagram. No device has verified its
// checksum, so that is done here.
static bool wire_reassemble(struct wire *w, struct frame *f, enum frame_kind *kind)
{
	struct reassembly *r = w->reassembly;
	uint32_t len =
		fragments_take(&r->table, f, clock_time(w->clock), r->frame, fragments_counts(w));

	w->counters.fragments++;
	if (len == 0)
		return false;
	w->counters.reassembled++;
	reassembly_set(r, len);
	*kind = frame_parse(r->frame, len, f);
	if (*kind == FRAME_FRAGMENT) { // of a datagram within a fragment
		w->counters.other++;
		return false;
	}
	if (*kind == FRAME_UDP && !frame_checksum_ok(f)) {
		w->counters.bad_checksum++;
		return false;
	}
	return true;
}

static bool wire_is_bad(
	const struct wire *w, const struct rte_mbuf *m, const struct frame *f, enum frame_kind kind)
{
	if (kind == FRAME_UDP          ? wire_is_whole(w, m, f)
		: w->reports_checksums ? wire_reports_whole(m)
				       : frame_tcp_checksum_ok(f))
		return false;
	return w->reports_checksums || !wire_is_unfinished(f, kind);
}

bool wire_parse_any(
	struct wire *w, const struct rte_mbuf *m, struct frame *f, enum frame_kind *kind)
{
	*kind = frame_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, f);
	// Its headers are complete, its lengths do not fit: it is the first of several segments.
	if (*kind == FRAME_BAD && m->nb_segs > 1 && w->reassembly &&
		reassembly_copy(w->reassembly, m))
		*kind = frame_parse(w->reassembly->frame, w->reassembly->packet.pkt_len, f);
	if (*kind != FRAME_BAD && !w->any_vlan && !wire_has_vlans(w, f)) {
		w->counters.wrong_vlan++;
		return false;
	}
	if (*kind == FRAME_FRAGMENT && w->reassembly)
		return wire_reassemble(w, f, kind);
	if ((*kind == FRAME_UDP || *kind == FRAME_TCP) && wire_is_bad(w, m, f, *kind)) {
		w->counters.bad_checksum++;
		return false;
	}
	return true;
}

uint16_t wire_listen(struct wire *w)
{
	struct rte_mbuf *pkts[BURST_MAX];
	uint16_t n = burst_rx(w->port, w->queue, pkts, w->burst);

	for (uint16_t i = 0; i < n; i++) {
		enum frame_kind kind;
		struct frame f;

		if (wire_parse(w, pkts[i], &f, &kind))
			wire_other(w, kind, &f);
	}
	if (n)
		burst_free(pkts, n);
	return n;
}
