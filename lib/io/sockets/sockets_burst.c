// SPDX-License-Identifier: BSD-3-Clause
// Bursts over sendmmsg and recvmmsg. A datagram is received into an mbuf behind the room of its
// headers, and sent from the mbuf without them: nothing is copied. Path: driver. The worker that
// owns the queue.
#include "io/sockets/sockets_burst.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <string.h>
#include <sys/epoll.h>

#include "io/sockets/sockets_tcp.h"

#define PAYLOAD_AT (RTE_PKTMBUF_HEADROOM + 64) // of a received datagram, in its mbuf
#define SENT       RTE_MBUF_F_RX_FDIR // a flag of received packets: sent, but one before it is not
#define TRIES      3                  // of a send that fails with the error of an earlier one

#define OTHERS_EVERY 32 // bursts with datagrams: the socket beside is asked, too

_Static_assert(FRAME_PLAIN_UDP6 + FRAME_UDP_LEN <= 64, "headers in front of a payload");

// The socket of an address and port, or SOCKETS_NONE. addr has addr_len bytes.
static uint32_t socket_find(
	const struct socket_table *t, const uint8_t *addr, uint8_t addr_len, uint16_t port)
{
	uint32_t at = socket_hash(addr, addr_len, port);

	for (;; at++) {
		uint32_t i = t->slots[at & t->mask];
		const struct socket_end *s = &t->ends[i];

		if (i == SOCKETS_NONE || (s->port == port && s->addr.len == addr_len &&
						 addr_bytes_equal(s->addr.bytes, addr, addr_len)))
			return i;
	}
}

void socket_table_add(struct socket_table *t, uint32_t i)
{
	const struct socket_end *s = &t->ends[i];
	uint32_t at = socket_hash(s->addr.bytes, s->addr.len, s->port);

	while (t->slots[at & t->mask] != SOCKETS_NONE)
		at++;
	t->slots[at & t->mask] = i;
}

void socket_queue_prepare(struct socket_queue *q)
{
	q->ready_first = q->ready_count = 0;
	for (uint16_t i = 0; i < BURST_MAX; i++) {
		q->in[i] =
			(struct mmsghdr){.msg_hdr = {.msg_iov = &q->in_data[i], .msg_iovlen = 1}};
		q->in_named[i] = q->in[i];
		q->in_named[i].msg_hdr.msg_name = &q->in_from[i];
		q->in_named[i].msg_hdr.msg_namelen = sizeof(q->in_from[i]);
		q->out[i] =
			(struct mmsghdr){.msg_hdr = {.msg_iov = &q->out_data[i], .msg_iovlen = 1}};
	}
}

void socket_queue_empty(struct socket_queue *q)
{
	burst_free(q->into + q->empty, BURST_MAX - q->empty);
	q->empty = BURST_MAX;
}

// Replaces the first buffers, which were given away. Returns false without memory.
static bool fill(struct socket_queue *q)
{
	if (q->empty == 0)
		return true;
	if (!burst_alloc(q->pool, q->into, q->empty)) {
		SOCKET_COUNT(q->counters.rx_no_mbuf, 1);
		return false;
	}
	for (uint16_t i = 0; i < q->empty; i++) {
		q->in_data[i].iov_base = (uint8_t *)q->into[i]->buf_addr + PAYLOAD_AT;
		q->in_data[i].iov_len = q->into[i]->buf_len - PAYLOAD_AT;
		q->in_named[i].msg_hdr.msg_namelen = sizeof(q->in_from[i]);
		if (q->stamping.at) {
			socket_stamp_ask(&q->in[i].msg_hdr, &q->in_stamp[i]);
			socket_stamp_ask(&q->in_named[i].msg_hdr, &q->in_stamp[i]);
		}
	}
	q->empty = 0;
	return true;
}

// Writes the headers in front of a datagram. A truncated datagram becomes a frame shorter than its
// length fields.
static void frame_make(const struct socket_end *s, const union socket_addr *from,
	struct rte_mbuf *m, uint32_t len, bool cut)
{
	uint8_t *data = (uint8_t *)m->buf_addr + PAYLOAD_AT - s->in.len;
	const uint8_t *src = s->addr.len == 4 ? (const uint8_t *)&from->v4.sin_addr
	                                      : (const uint8_t *)&from->v6.sin6_addr;
	uint16_t port = s->addr.len == 4 ? from->v4.sin_port : from->v6.sin6_port;

	frame_stamp(&s->in, data, src, csum_be16(port), (struct frame_payload){len, 0});
	m->data_off = PAYLOAD_AT - s->in.len;
	m->data_len = (uint16_t)(s->in.len + len - cut);
	m->pkt_len = m->data_len;
	m->ol_flags = RTE_MBUF_F_RX_L4_CKSUM_GOOD | RTE_MBUF_F_RX_IP_CKSUM_GOOD;
}

// The ICMP message behind an error, as the frame in which it came. Returns false without one.
static bool error_make(const struct socket_end *s, const struct sock_extended_err *why,
	const union socket_addr *from, struct rte_mbuf *m)
{
	uint8_t *data = rte_pktmbuf_mtod(m, uint8_t *), icmp[8] = {why->ee_type, why->ee_code};
	bool v4 = why->ee_origin == SO_EE_ORIGIN_ICMP;
	struct writer w = writer_of(data, rte_pktmbuf_tailroom(m));

	if (!v4 && why->ee_origin != SO_EE_ORIGIN_ICMP6)
		return false;
	frame_write_ethernet(
		&w, &(struct frame_path){.vlan_count = 0}, v4 ? FRAME_TYPE_IPV4 : FRAME_TYPE_IPV6);
	frame_write_ip(&w, &(struct frame_ip){.src = v4 ? (const uint8_t *)&from->v4.sin_addr
	                                                : (const uint8_t *)&from->v6.sin6_addr,
				   .dst = s->addr.bytes,
				   .addr_len = s->addr.len,
				   .hop_limit = 64,
				   .protocol = v4 ? FRAME_PROTOCOL_ICMP : FRAME_PROTOCOL_ICMPV6,
				   .payload_len = sizeof(icmp)});
	write_bytes(&w, icmp, sizeof(icmp));
	m->data_len = (uint16_t)(w.at - data);
	m->pkt_len = m->data_len;
	return true;
}

// The next error of a socket as a frame: 1, or 0 without an error.
static uint16_t take_error(struct socket_queue *q, struct socket_end *s, struct rte_mbuf **pkts)
{
	_Alignas(struct cmsghdr) uint8_t control[256];
	union socket_addr from;
	uint8_t byte;
	struct iovec data = {&byte, 1};
	struct msghdr m = {.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control)};

	s->failed = false;
	if (recvmsg(s->fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0 || !burst_alloc(q->pool, pkts, 1))
		return 0;
	s->failed = true; // there may be another one
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		const struct sock_extended_err *why = (const void *)CMSG_DATA(c);
		bool v4 = c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR;
		bool v6 = c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR;

		if (!v4 && !v6)
			continue;
		memset(&from, 0, sizeof(from));
		memcpy(&from, SO_EE_OFFENDER(why), v4 ? sizeof(from.v4) : sizeof(from.v6));
		if (error_make(s, why, &from, *pkts))
			return 1;
	}
	burst_free(pkts, 1);
	return 0;
}

// Up to n datagrams of a socket: index into ends, maybe with SOCKET_OTHERS. *drained: it had fewer.
static uint16_t receive(
	struct socket_queue *q, uint32_t index, struct rte_mbuf **pkts, uint16_t n, bool *drained)
{
	struct socket_end *s = &q->table->ends[index & ~SOCKET_OTHERS];
	bool others = index & SOCKET_OTHERS, named = others || !s->connected;
	struct mmsghdr *in = named ? q->in_named : q->in;
	int got;

	*drained = false;
	if (s->failed && !others && take_error(q, s, pkts))
		return 1;
	*drained = true;
	if (!fill(q))
		return 0;
	got = recvmmsg(others ? s->others : s->fd, in, n, MSG_DONTWAIT, NULL);
	if (got < 0) {
		s->failed |= errno != EAGAIN && errno != EINTR;
		return 0;
	}
	for (uint16_t i = 0; i < got; i++) {
		frame_make(s, named ? &q->in_from[i] : &s->peer, q->into[i], in[i].msg_len,
			in[i].msg_hdr.msg_flags & MSG_TRUNC);
		if (q->stamping.at)
			socket_stamp_put(&q->stamping, &in[i].msg_hdr, q->into[i]);
		pkts[i] = q->into[i];
	}
	*drained = got < n;
	q->empty = (uint16_t)got;
	return (uint16_t)got;
}

static void find_ready(struct socket_queue *q)
{
	struct epoll_event events[BURST_MAX];
	int n;

	q->ready_first = q->ready_count = 0;
	if (q->epoll < 0) {
		if (q->member_count)
			q->ready[q->ready_count++] = q->members[0];
		return;
	}
	n = epoll_wait(q->epoll, events, BURST_MAX, 0);
	for (int i = 0; i < n; i++) {
		q->table->ends[events[i].data.u32 & ~SOCKET_OTHERS].failed |=
			(events[i].events & EPOLLERR) != 0;
		q->ready[q->ready_count++] = events[i].data.u32;
	}
}

// Is it time to ask the socket beside the only member? When that one has nothing, and now and then.
static bool others_are_due(struct socket_queue *q, uint16_t got)
{
	if (q->epoll >= 0 || q->member_count == 0 || q->table->ends[q->members[0]].others < 0)
		return false;
	return got == 0 || ++q->asked % OTHERS_EVERY == 0;
}

uint16_t socket_rx_burst(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct socket_queue *q = queue;
	uint64_t bytes = 0;
	uint16_t got = 0;
	bool drained;

	n = n < BURST_MAX ? n : BURST_MAX;
	if (q->tcp) // datagrams have their part, too
		got = socket_tcp_rx(q->tcp, pkts, q->member_count ? (n + 1) / 2 : n);
	if (q->ready_first == q->ready_count)
		find_ready(q);
	while (got < n && q->ready_first < q->ready_count) {
		got += receive(q, q->ready[q->ready_first], pkts + got, n - got, &drained);
		q->ready_first += drained;
	}
	if (got < n && others_are_due(q, got))
		got += receive(q, q->members[0] | SOCKET_OTHERS, pkts + got, n - got, &drained);
	if (got == 0)
		return 0;
	for (uint16_t i = 0; i < got; i++)
		bytes += pkts[i]->pkt_len;
	SOCKET_COUNT(q->counters.rx_packets, got);
	SOCKET_COUNT(q->counters.rx_bytes, bytes);
	return got;
}

// The socket by which a frame leaves, or SOCKETS_NONE. Only plain frames are UDP of an item.
static uint32_t sender_of(const struct socket_table *t, const struct rte_mbuf *m)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	uint8_t addr_len = frame_plain_len(data, m->data_len, 4) ? 4 : 16;
	const uint8_t *udp = data + (addr_len == 4 ? FRAME_PLAIN_UDP : FRAME_PLAIN_UDP6);

	if (addr_len == 16 && !frame_plain_len(data, m->data_len, 16))
		return SOCKETS_NONE;
	return socket_find(t, udp - 2 * addr_len, addr_len, bytes_be16(udp));
}

static void out_make(
	struct socket_queue *q, uint16_t at, const struct socket_end *s, const struct rte_mbuf *m)
{
	uint8_t *udp = rte_pktmbuf_mtod(m, uint8_t *) +
	               (s->addr.len == 4 ? FRAME_PLAIN_UDP : FRAME_PLAIN_UDP6);
	struct msghdr *out = &q->out[at].msg_hdr;

	q->out_data[at].iov_base = udp + FRAME_UDP_LEN;
	q->out_data[at].iov_len = bytes_be16(udp + 4) - FRAME_UDP_LEN;
	out->msg_name = s->connected ? NULL : &q->out_to[at];
	out->msg_namelen = s->connected ? 0
	                                : socket_addr_make(&q->out_to[at], udp - s->addr.len,
						  s->addr.len, bytes_be16(udp + 2), s->scope);
}

// Send the first n messages of q->out. Returns how many are dealt with: sent, or refused for good.
static uint16_t send_out(struct socket_queue *q, struct socket_end *s, uint16_t n)
{
	uint16_t done = 0, failures = 0;

	while (done < n) {
		int sent = sendmmsg(s->fd, q->out + done, n - done, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent > 0) {
			done += (uint16_t)sent;
			SOCKET_COUNT(q->counters.tx_packets, (uint64_t)sent);
			failures = 0;
			continue;
		}
		if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM)
			break;
		if (errno == EINTR)
			continue;
		s->failed = true;
		if (++failures < TRIES) // most likely the error of an earlier message
			continue;
		atomic_store_explicit(&q->counters.tx_error, errno, memory_order_relaxed);
		SOCKET_COUNT(q->counters.tx_errors, 1);
		failures = 0;
		done++;
	}
	return done;
}

// Send the packets from `first` on that leave by the same socket; their bits in done are set as far
// as the kernel took them. Returns false if it has no room.
static bool send_group(struct socket_queue *q, struct rte_mbuf **pkts, const uint32_t *by,
	uint16_t first, uint16_t n, uint64_t *done)
{
	struct socket_end *s = &q->table->ends[by[first]];
	uint16_t at[BURST_MAX], count = 0, sent;

	for (uint16_t i = first; i < n; i++) {
		if (by[i] != by[first] || *done >> i & 1)
			continue;
		out_make(q, count, s, pkts[i]);
		at[count++] = i;
	}
	sent = send_out(q, s, count);
	for (uint16_t i = 0; i < sent; i++) {
		*done |= UINT64_C(1) << at[i];
		SOCKET_COUNT(q->counters.tx_bytes, pkts[at[i]]->pkt_len);
	}
	return sent == count;
}

// Finds the socket of each packet. Packets of TCP, without a socket, or sent by an earlier burst
// are done.
static uint64_t find_senders(
	struct socket_queue *q, struct rte_mbuf **pkts, uint16_t n, uint32_t *by)
{
	uint64_t done = 0;

	for (uint16_t i = 0; i < n; i++) {
		bool sent = pkts[i]->ol_flags & SENT;

		by[i] = sent ? SOCKETS_NONE : sender_of(q->table, pkts[i]);
		if (by[i] != SOCKETS_NONE)
			continue;
		done |= UINT64_C(1) << i;
		if (sent)
			continue;
		if (!q->tcp || !socket_tcp_tx(q->tcp, pkts[i])) {
			SOCKET_COUNT(q->counters.tx_errors, 1);
			continue;
		}
		SOCKET_COUNT(q->counters.tx_packets, 1);
		SOCKET_COUNT(q->counters.tx_bytes, pkts[i]->pkt_len);
	}
	return done;
}

uint16_t socket_tx_burst(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct socket_queue *q = queue;
	uint32_t by[BURST_MAX];
	uint64_t done;
	uint16_t taken;

	n = n < BURST_MAX ? n : BURST_MAX;
	done = find_senders(q, pkts, n, by);
	for (uint16_t i = 0; i < n; i++)
		if (!(done >> i & 1) && !send_group(q, pkts, by, i, n, &done))
			break;
	taken = ~done ? (uint16_t)__builtin_ctzll(~done) : BURST_MAX;
	taken = taken < n ? taken : n;
	for (uint16_t i = taken; i < n; i++)
		if (done >> i & 1)
			pkts[i]->ol_flags |= SENT;
	burst_free(pkts, taken);
	return taken;
}
