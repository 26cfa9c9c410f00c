// SPDX-License-Identifier: BSD-3-Clause
// Segments to and from the kernel's TCP sockets; sockets_tcp.h is the contract. Path: driver | cold
// (new, reset, free). The worker that owns the queue.
#include "io/sockets/sockets_tcp.h"

#include <errno.h>
#include <linux/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "net/tcp.h"

#define NONE   UINT32_MAX
#define WINDOW 65535 // of the worker: the kernel has the buffer

enum {
	QUEUED = 1,       // in the ring of connections that have something for the worker
	CONNECTING = 2,   // the kernel has no answer yet
	SAY_SYN = 4,      // to be sent to the worker: the SYN of a new connection,
	SAY_ACK = 8,      // an acknowledgement of its bytes,
	SAY_RESET = 16,   // a reset
	READABLE = 32,    // bytes may wait in the kernel
	LAST = 64,        // the end or an error is behind them
	FULL = 128,       // the kernel takes no more bytes
	PEER_FIN = 256,   // the server sends no more, and FIN was passed to the worker
	OWN_FIN = 512,    // the worker sends no more
	BROKEN = 1024,    // a send failed: earlier data is still read, then it is closed
	FORGOTTEN = 2048, // not in the table: free when it leaves the ring
	SAY_OPEN = 4096,  // to be sent to the worker: the SYN of an accepted connection,
	COMING = 8192,    // and has no answer yet
};

#define LISTENER  (1u << 31) // in epoll's data, instead of a connection: a listening socket
#define LISTENERS 64         // limit

struct socket_conn {
	int fd;              // -1: closed
	uint32_t chain;      // the next one at its place, or of the free ones
	uint32_t first, rcv; // sequence numbers of the worker: of its first byte, of the next one
	uint32_t nxt, edge;  // ours: of the next byte, and the end of the worker's window
	uint16_t flags;
	uint16_t peer_port;
	uint8_t scale; // of the worker's window
	uint8_t peer[16];
	struct frame_template head; // to the worker's address and port
};

struct socket_tcp {
	// ctlplane: wo before the launch
	struct socket_tcp_shape shape;
	struct rte_mempool *pool;
	int epoll;
	uint32_t mask; // of the places, and of the ring
	// dataplane: rw
	struct socket_conn *all;
	uint32_t *at;   // first of each place, by the worker's address and port
	uint32_t *ring; // a connection is there once
	uint32_t ring_first, ring_count;
	uint32_t free, used;
	struct rte_mbuf *spare; // NULL: none
	struct {
		int fd;
		struct frame_template head; // of connections there
	} listeners[LISTENERS];
	uint32_t listener_count;
};

// --- cold ---

static void clear(struct socket_tcp *t)
{
	memset(t->at, 0xff, (t->mask + 1ull) * sizeof(*t->at)); // NONE
	for (uint32_t c = 0; c < t->shape.count; c++) {
		t->all[c].fd = -1;
		t->all[c].chain = c + 1 < t->shape.count ? c + 1 : NONE;
	}
	t->free = 0;
	t->used = t->ring_first = t->ring_count = 0;
}

struct socket_tcp *socket_tcp_new(const struct socket_tcp_shape *shape)
{
	struct socket_tcp *t = calloc(1, sizeof(*t));
	uint32_t size = 16;

	if (!t)
		return NULL;
	while (size < shape->count)
		size *= 2;
	t->shape = *shape;
	t->mask = size - 1;
	t->all = calloc(shape->count, sizeof(*t->all));
	t->at = malloc(size * sizeof(*t->at));
	t->ring = malloc(size * sizeof(*t->ring));
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (t->all && t->at && t->ring && t->epoll >= 0) {
		clear(t);
		return t;
	}
	socket_tcp_free(t);
	return NULL;
}

void socket_tcp_attach(struct socket_tcp *t, struct rte_mempool *pool)
{
	t->pool = pool;
}

static uint64_t retransmitted(int fd)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 ? info.tcpi_total_retrans
	                                                               : 0;
}

static void finish(const struct socket_tcp *t, struct socket_conn *of)
{
	if (of->fd < 0)
		return;
	SOCKET_COUNT(t->shape.counters->retransmitted, retransmitted(of->fd));
	close(of->fd);
	of->fd = -1;
}

static void set_buffers(const struct socket_tcp *t, int fd)
{
	int send = (int)t->shape.send_buffer, receive = (int)t->shape.receive_buffer;

	if (t->shape.send_buffer && t->shape.send_buffer != UINT64_MAX)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send, sizeof(send));
	if (t->shape.receive_buffer && t->shape.receive_buffer != UINT64_MAX)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive, sizeof(receive));
}

int socket_tcp_listen(struct socket_tcp *t, int fd)
{
	struct epoll_event event = {EPOLLIN, {.u32 = LISTENER | t->listener_count}};
	struct frame_path path = {.tcp = true};
	union socket_addr own = {0};
	socklen_t len = sizeof(own);
	int err = 0;

	set_buffers(t, fd);
	getsockname(fd, &own.any, &len);
	path.dst.len = own.any.sa_family == AF_INET ? 4 : 16;
	path.dst_port = ntohs(own.any.sa_family == AF_INET ? own.v4.sin_port : own.v6.sin6_port);
	if (path.dst.len == 4)
		memcpy(path.dst.bytes, &own.v4.sin_addr, 4);
	else
		memcpy(path.dst.bytes, &own.v6.sin6_addr, 16);
	if (t->listener_count == LISTENERS)
		err = -EMFILE;
	else if (listen(fd, SOMAXCONN) < 0 || epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		err = -errno;
	if (err < 0) {
		close(fd);
		return err;
	}
	t->listeners[t->listener_count].fd = fd;
	frame_template_build(&t->listeners[t->listener_count].head, &path);
	t->listeners[t->listener_count++].head.checksum_offload = true;
	return 0;
}

// By a reset: no port rests, and the server forgets the connection at once.
static void abandon(const struct socket_tcp *t, struct socket_conn *of)
{
	const struct linger at_once = {.l_onoff = 1};

	if (of->fd >= 0)
		setsockopt(of->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	finish(t, of);
}

void socket_tcp_reset(struct socket_tcp *t)
{
	for (uint32_t c = 0; c < t->shape.count; c++)
		abandon(t, &t->all[c]);
	if (t->spare)
		burst_free(&t->spare, 1);
	t->spare = NULL;
	clear(t);
}

void socket_tcp_free(struct socket_tcp *t)
{
	if (!t)
		return;
	if (t->all && t->at)
		socket_tcp_reset(t);
	if (t->epoll >= 0)
		close(t->epoll);
	for (uint32_t i = 0; i < t->listener_count; i++)
		close(t->listeners[i].fd);
	free(t->all);
	free(t->at);
	free(t->ring);
	free(t);
}

// --- the table ---

static const uint8_t *own_of(const struct socket_conn *of, uint16_t *port)
{
	const uint8_t *tcp = of->head.bytes + of->head.len - FRAME_TCP_LEN;

	*port = bytes_be16(tcp + 2);
	return tcp - of->head.addr_len;
}

// Connections that come have one own port and many of their peers, others the other way round.
static uint32_t *place_of(struct socket_tcp *t, const uint8_t *addr, uint8_t addr_len,
	uint16_t port, uint16_t peer_port)
{
	return &t->at[socket_hash(addr, addr_len, (uint16_t)(port + 31 * peer_port)) & t->mask];
}

static uint32_t find(struct socket_tcp *t, const struct frame *f)
{
	uint32_t c = *place_of(t, f->src, f->addr_len, f->src_port, f->dst_port);

	for (; c != NONE; c = t->all[c].chain) {
		const struct socket_conn *of = &t->all[c];
		uint16_t port;
		const uint8_t *own = own_of(of, &port);

		if (port == f->src_port && of->peer_port == f->dst_port &&
			of->head.addr_len == f->addr_len &&
			addr_bytes_equal(own, f->src, f->addr_len) &&
			addr_bytes_equal(of->peer, f->dst, f->addr_len))
			break;
	}
	return c;
}

static void enqueue(struct socket_tcp *t, uint32_t c)
{
	if (t->all[c].flags & QUEUED)
		return;
	t->all[c].flags |= QUEUED;
	t->ring[(t->ring_first + t->ring_count++) & t->mask] = c;
}

static void give(struct socket_tcp *t, uint32_t c)
{
	t->all[c].chain = t->free;
	t->free = c;
	t->used--;
}

// Nothing more is sent to the worker, or taken from it.
static void forget(struct socket_tcp *t, uint32_t c)
{
	struct socket_conn *of = &t->all[c];
	uint16_t port;
	const uint8_t *own = own_of(of, &port);
	uint32_t *at = place_of(t, own, of->head.addr_len, port, of->peer_port);

	while (*at != c)
		at = &t->all[*at].chain;
	*at = of->chain;
	of->flags = (of->flags & QUEUED) | FORGOTTEN;
	if (!(of->flags & QUEUED))
		give(t, c);
}

// --- from the worker ---

// A socket that connects from an address and port (0: any) to the server. Its descriptor, or
// -errno.
static int connect_from(const struct socket_tcp *t, const struct frame *f, uint16_t port)
{
	union socket_addr own, peer;
	socklen_t len = socket_addr_make(&own, f->src, f->addr_len, port, t->shape.scope);
	int fd = socket(f->addr_len == 4 ? AF_INET : AF_INET6,
		SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1, err;

	if (fd < 0)
		return -errno;
	socket_addr_make(&peer, f->dst, f->addr_len, f->dst_port, t->shape.scope);
	set_buffers(t, fd);
	// A port in TIME-WAIT may be reused at once: timestamps distinguish the connections.
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (t->shape.stamping.at)
		setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
	if (port == 0) // it is chosen by connect, which knows the server
		setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
	if ((!t->shape.device || setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, t->shape.device,
					 (socklen_t)strlen(t->shape.device)) == 0) &&
		bind(fd, &own.any, len) == 0 &&
		(connect(fd, &peer.any, len) == 0 || errno == EINPROGRESS))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static int open_socket(const struct socket_tcp *t, const struct frame *f)
{
	int fd = connect_from(t, f, f->src_port);

	if ((fd == -EADDRINUSE || fd == -EADDRNOTAVAIL) && !t->shape.fixed[f->src_port])
		fd = connect_from(t, f, 0);
	return fd;
}

// An immediate refusal, as over the loopback interface; other errors are this host's.
static bool is_of_server(int err)
{
	return err == -ECONNREFUSED || err == -ECONNRESET;
}

// Opens a connection for the worker's SYN, and drops an earlier one that the worker has forgotten.
// Returns false if none is free.
static bool conn_open(
	struct socket_tcp *t, uint32_t c, const struct frame *f, const struct tcp_segment *s)
{
	struct frame_path path = {
		.dst = {.len = f->addr_len}, .dst_port = f->src_port, .tcp = true};
	struct epoll_event event = {EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, {0}};
	struct socket_conn *of;
	int fd;

	if (c != NONE && t->all[c].first == s->seq + 1)
		return true; // sent again: the kernel does that by itself
	if (c != NONE) {
		abandon(t, &t->all[c]);
		forget(t, c);
	}
	c = event.data.u32 = t->free;
	fd = c == NONE ? -ENOBUFS : open_socket(t, f);
	if (fd >= 0 && epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
		int err = -errno;

		close(fd);
		fd = err;
	}
	if (fd < 0 && !is_of_server(fd)) {
		atomic_store_explicit(&t->shape.counters->tx_error, -fd, memory_order_relaxed);
		return false;
	}
	of = &t->all[c];
	t->free = of->chain;
	t->used++;
	memcpy(path.dst.bytes, f->src, f->addr_len);
	*of = (struct socket_conn){.fd = fd < 0 ? -1 : fd,
		.flags = fd < 0 ? SAY_RESET : CONNECTING,
		.first = s->seq + 1,
		.rcv = s->seq + 1,
		.nxt = s->seq,
		.edge = s->seq + 1 + s->window,
		.scale = s->scale == TCP_NO_SCALE ? 0 : s->scale,
		.peer_port = f->dst_port,
		.chain = *place_of(t, f->src, f->addr_len, f->src_port, f->dst_port)};
	memcpy(of->peer, f->dst, f->addr_len);
	frame_template_build(&of->head, &path);
	of->head.checksum_offload = true;
	*place_of(t, f->src, f->addr_len, f->src_port, f->dst_port) = c;
	if (fd < 0)
		enqueue(t, c);
	return true;
}

// Takes the worker's bytes, as far as they are new. Everything after bytes that were not taken will
// be sent again. Returns true if all were taken.
static bool take_bytes(struct socket_conn *of, const struct tcp_segment *s)
{
	uint32_t skip = of->rcv - s->seq;
	ssize_t sent;

	if (skip > s->len)
		return false;
	if (skip == s->len)
		return true;
	sent = send(of->fd, s->data + skip, s->len - skip, MSG_NOSIGNAL);
	if (sent < 0 && errno != EAGAIN && errno != EINTR && errno != ENOBUFS && errno != ENOMEM) {
		of->flags |= READABLE | LAST | BROKEN;
		return false;
	}
	of->rcv += sent > 0 ? (uint32_t)sent : 0;
	if (sent == (ssize_t)(s->len - skip))
		return true;
	of->flags |= FULL;
	return false;
}

static void conn_input(struct socket_tcp *t, uint32_t c, const struct tcp_segment *s)
{
	struct socket_conn *of = &t->all[c];
	uint32_t edge = s->ack + ((uint32_t)s->window << of->scale);

	if (s->flags & TCP_RST) {
		abandon(t, of);
		forget(t, c);
		return;
	}
	if (of->flags & (CONNECTING | SAY_RESET | SAY_OPEN | COMING))
		return;
	if (tcp_before(of->edge, edge))
		of->edge = edge;
	if (of->flags & READABLE)
		enqueue(t, c);
	if (s->len == 0 && !(s->flags & TCP_FIN))
		return;
	of->flags |= SAY_ACK;
	enqueue(t, c);
	if (of->flags & OWN_FIN || !take_bytes(of, s) || !(s->flags & TCP_FIN))
		return;
	of->rcv++;
	of->flags |= OWN_FIN;
	shutdown(of->fd, SHUT_WR);
}

// The worker's answer to the SYN of an incoming connection.
static void conn_accepted(struct socket_tcp *t, uint32_t c, const struct tcp_segment *s)
{
	struct socket_conn *of = &t->all[c];

	of->flags = (uint16_t)((of->flags & ~COMING) | SAY_ACK);
	of->first = of->rcv = s->seq + 1;
	of->edge = s->ack + s->window;
	of->scale = s->scale == TCP_NO_SCALE ? 0 : s->scale;
	enqueue(t, c);
}

bool socket_tcp_tx(struct socket_tcp *t, const struct rte_mbuf *m)
{
	struct tcp_segment s;
	struct frame f;
	uint32_t c;

	if (frame_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, &f) != FRAME_TCP ||
		!tcp_parse(f.payload, f.payload_len, &s))
		return false;
	c = find(t, &f);
	if (s.flags & TCP_SYN && s.flags & TCP_ACK) {
		if (c != NONE && t->all[c].flags & COMING)
			conn_accepted(t, c, &s);
		return true;
	}
	if (s.flags & TCP_SYN)
		return conn_open(t, c, &f, &s);
	if (c != NONE) // otherwise the worker knows that it has ended
		conn_input(t, c, &s);
	return true;
}

// --- to the worker ---

// The kernel has an answer to the SYN. Errors of the path count as silence, which the worker's
// timer ends.
static void connected(struct socket_tcp *t, uint32_t c, uint32_t events)
{
	struct socket_conn *of = &t->all[c];
	socklen_t len = sizeof(int);
	int err = 0;

	if (events & (EPOLLERR | EPOLLHUP))
		getsockopt(of->fd, SOL_SOCKET, SO_ERROR, &err, &len);
	of->flags &= (uint16_t)~CONNECTING;
	if (err == 0) {
		of->flags |= SAY_SYN;
		return;
	}
	finish(t, of);
	if (is_of_server(-err))
		of->flags |= SAY_RESET;
	else
		forget(t, c);
}

// Accepts new connections, as far as there is room. Others wait in the kernel.
static void look_listener(struct socket_tcp *t, uint32_t n)
{
	while (t->free != NONE) {
		struct epoll_event event = {
			EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, {.u32 = t->free}};
		struct socket_conn *of = &t->all[t->free];
		union socket_addr peer;
		socklen_t len = sizeof(peer);
		uint32_t c = t->free, *at, chain = of->chain;
		const uint8_t *own;
		uint16_t port;
		int on = 1,
		    fd = accept4(t->listeners[n].fd, &peer.any, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		*of = (struct socket_conn){.fd = fd,
			.flags = SAY_OPEN | COMING,
			.nxt = 1,
			.head = t->listeners[n].head,
			.peer_port = ntohs(peer.any.sa_family == AF_INET ? peer.v4.sin_port
									 : peer.v6.sin6_port)};
		if (peer.any.sa_family == AF_INET)
			memcpy(of->peer, &peer.v4.sin_addr, 4);
		else
			memcpy(of->peer, &peer.v6.sin6_addr, 16);
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		if (epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
			close(fd);
			*of = (struct socket_conn){.fd = -1, .chain = chain};
			return;
		}
		t->free = chain;
		t->used++;
		own = own_of(of, &port);
		at = place_of(t, own, of->head.addr_len, port, of->peer_port);
		of->chain = *at;
		*at = c;
		enqueue(t, c);
	}
}

static void look(struct socket_tcp *t)
{
	struct epoll_event events[BURST_MAX];
	int n = epoll_wait(t->epoll, events, BURST_MAX, 0);

	for (int i = 0; i < n; i++) {
		const uint32_t what = events[i].events, c = events[i].data.u32;
		struct socket_conn *of;

		if (c & LISTENER) {
			look_listener(t, c & ~LISTENER);
			continue;
		}
		of = &t->all[c];
		if (of->flags & CONNECTING && what & (EPOLLOUT | EPOLLERR | EPOLLHUP))
			connected(t, c, what);
		if (of->fd < 0 && !(of->flags & SAY_RESET))
			continue;
		if (of->flags & FULL && what & EPOLLOUT)
			of->flags = (uint16_t)((of->flags & ~FULL) | SAY_ACK);
		if (what & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
			of->flags |= READABLE;
		if (what & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
			of->flags |= LAST;
		enqueue(t, c);
	}
}

static uint8_t *segment_at(const struct socket_conn *of, struct rte_mbuf *m)
{
	return (uint8_t *)m->buf_addr + RTE_PKTMBUF_HEADROOM + of->head.len - FRAME_TCP_LEN;
}

// Completes a segment that acknowledges; its len bytes, if any, are already there.
static void say(struct socket_conn *of, struct rte_mbuf *m, uint8_t flags, uint32_t len)
{
	struct tcp_segment s = {.seq = of->nxt,
		.ack = of->rcv,
		.window = of->flags & FULL ? 0 : WINDOW,
		.flags = flags | (of->flags & COMING ? 0 : TCP_ACK),
		.scale = TCP_NO_SCALE};
	uint32_t header;

	if (flags & TCP_SYN) {
		s.mss = UINT16_MAX;
		s.scale = 0;
	}
	header = tcp_header_len(&s);
	tcp_header(&s, segment_at(of, m));
	m->data_off = RTE_PKTMBUF_HEADROOM;
	m->data_len = (uint16_t)frame_stamp_tcp(
		&of->head, rte_pktmbuf_mtod(m, uint8_t *), of->peer, of->peer_port, header + len);
	m->pkt_len = m->data_len;
	m->ol_flags = RTE_MBUF_F_RX_L4_CKSUM_GOOD | RTE_MBUF_F_RX_IP_CKSUM_GOOD;
	of->nxt += len + !!(flags & (TCP_SYN | TCP_FIN));
	of->flags &= (uint16_t)~SAY_ACK;
}

// Reads as many bytes into the buffer as the worker has room for, as a segment. Returns false if
// nothing is to be sent.
static bool pass_bytes(const struct socket_tcp *t, struct socket_conn *of, struct rte_mbuf *m)
{
	struct iovec data;
	struct msghdr in = {.msg_iov = &data, .msg_iovlen = 1};
	struct socket_stamp stamp;
	uint8_t *to = segment_at(of, m) + FRAME_TCP_LEN;
	uint32_t room = (uint32_t)((uint8_t *)m->buf_addr + m->buf_len - to);
	uint32_t window = of->edge - of->nxt;
	ssize_t got;

	room = room < window ? room : window;
	if (room == 0) // its next acknowledgement brings it here again
		return false;
	data = (struct iovec){to, room};
	if (t->shape.stamping.at)
		socket_stamp_ask(&in, &stamp);
	got = recvmsg(of->fd, &in, 0);
	if (got > 0) {
		if ((uint32_t)got < room && !(of->flags & LAST))
			of->flags &= (uint16_t)~READABLE;
		say(of, m, TCP_PSH, (uint32_t)got);
		if (t->shape.stamping.at) // the stamp of its last byte
			socket_stamp_put(&t->shape.stamping, &in, m);
		return true;
	}
	of->flags &= (uint16_t)~READABLE;
	if (got == 0 && !(of->flags & BROKEN)) {
		of->flags |= PEER_FIN;
		say(of, m, TCP_FIN, 0);
		return true;
	}
	if (of->flags & BROKEN || errno != EAGAIN)
		of->flags |= SAY_RESET;
	return false;
}

// Writes the next segment for the worker into the buffer. Returns false if none is due.
static bool conn_output(const struct socket_tcp *t, struct socket_conn *of, struct rte_mbuf *m)
{
	if (of->flags & SAY_OPEN) {
		of->flags &= (uint16_t)~SAY_OPEN;
		say(of, m, TCP_SYN, 0);
		return true;
	}
	if (of->flags & COMING)
		return false;
	if (of->flags & SAY_SYN) {
		of->flags &= (uint16_t)~SAY_SYN;
		say(of, m, TCP_SYN, 0);
		return true;
	}
	if (of->flags & READABLE && !(of->flags & (PEER_FIN | SAY_RESET)) && pass_bytes(t, of, m))
		return true;
	if (of->flags & SAY_RESET) {
		say(of, m, TCP_RST, 0);
		return true;
	}
	if (of->flags & SAY_ACK) {
		say(of, m, 0, 0);
		return true;
	}
	return false;
}

static bool is_over(const struct socket_conn *of)
{
	return of->flags & SAY_RESET || (of->flags & (PEER_FIN | OWN_FIN)) == (PEER_FIN | OWN_FIN);
}

// Passes on all segments of the first connection of the ring, as far as there is room. Returns
// false if it has more.
static bool conn_serve(struct socket_tcp *t, struct rte_mbuf **pkts, uint16_t n, uint16_t *got)
{
	uint32_t c = t->ring[t->ring_first & t->mask];
	struct socket_conn *of = &t->all[c];

	while (!(of->flags & FORGOTTEN)) {
		if (*got == n)
			return false;
		if (!t->spare && !burst_alloc(t->pool, &t->spare, 1)) {
			t->spare = NULL;
			SOCKET_COUNT(t->shape.counters->rx_no_mbuf, 1);
			return false;
		}
		if (!conn_output(t, of, t->spare))
			break;
		pkts[(*got)++] = t->spare;
		t->spare = NULL;
		if (is_over(of)) {
			finish(t, of);
			forget(t, c);
		}
	}
	of->flags &= (uint16_t)~QUEUED;
	if (of->flags & FORGOTTEN)
		give(t, c);
	t->ring_first++;
	t->ring_count--;
	return true;
}

int socket_tcp_descriptor(const struct socket_tcp *t)
{
	return t->epoll;
}

uint16_t socket_tcp_rx(struct socket_tcp *t, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t got = 0;

	if (t->used == 0 && t->listener_count == 0)
		return 0;
	look(t);
	while (t->ring_count && conn_serve(t, pkts, n, &got)) {
	}
	return got;
}
