// SPDX-License-Identifier: BSD-3-Clause
// Sockets opened, dealt to queues, counted and closed. Path: cold. Management thread.
#include "io/sockets/sockets.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/log.h"
#include "io/driver/memory.h"
#include "io/driver/explain.h"
#include "io/host/privileges.h"
#include "io/sockets/sockets_burst.h"
#include "io/sockets/sockets_tcp.h"
#include "io/driver/stamps.h"

#define FDS_BESIDE   256        // descriptors of the rest of the program
#define TRIES        64         // of a free port, that must be free with all addresses
#define PACKET_BYTES 4096       // of a socket's buffer, for a packet of a queue's length
#define ENOUGH_BYTES (4u << 20) // of all receive buffers together
#define PORTS        65536
#define CONNS_MOST   (1u << 20) // of a queue, at a time

#ifndef SO_MEMINFO
#define SO_MEMINFO 55
#endif

// A socket's place in its group.
struct socket_place {
	uint32_t address; // number of it
	uint64_t dropped; // when the socket was opened
};

struct sockets {
	const struct port_settings *settings;
	struct socket_table table;
	struct socket_place *places; // of table.ends
	uint32_t room;
	struct field_list *chosen; // of each group: struct field_range
	uint32_t groups;
	uint16_t queues;
	struct socket_queue *queue[PORT_MAX_QUEUES];
	void *data[PORT_MAX_QUEUES]; // the queues, for DPDK
	bool used[PORTS];            // ports with a socket
	bool fixed[PORTS];           // of socket_group
	struct socket_stamping stamping;
};

static void *must(void *p)
{
	if (!p)
		arena_exhausted();
	return p;
}

static uint32_t scope_of(const struct addr *a, const char *device)
{
	return a->len == 16 && addr_is_link_local(a) && device ? if_nametoindex(device) : 0;
}

static int socket_of(const struct addr *a, bool stream)
{
	int family = a->len == 4 ? AF_INET : AF_INET6, type = stream ? SOCK_STREAM : SOCK_DGRAM;

	return socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static int bind_device(int fd, const char *device)
{
	if (!device)
		return 0;
	return setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device));
}

static uint16_t name_of(int fd, struct addr *addr)
{
	union socket_addr own = {0};
	socklen_t len = sizeof(own);

	getsockname(fd, &own.any, &len);
	*addr = (struct addr){.len = own.any.sa_family == AF_INET ? 4 : 16};
	if (addr->len == 4)
		memcpy(addr->bytes, &own.v4.sin_addr, 4);
	else
		memcpy(addr->bytes, &own.v6.sin6_addr, 16);
	return ntohs(addr->len == 4 ? own.v4.sin_port : own.v6.sin6_port);
}

int sockets_route(const struct addr *to, const char *device, struct addr *from)
{
	union socket_addr peer;
	socklen_t len = socket_addr_make(&peer, to->bytes, to->len, 9, scope_of(to, device));
	int fd = socket_of(to, false), err = 0;

	if (fd < 0)
		return -errno;
	if (bind_device(fd, device) < 0 || connect(fd, &peer.any, len) < 0)
		err = -errno;
	else
		name_of(fd, from);
	close(fd);
	return err;
}

bool sockets_is_own(const struct addr *a)
{
	union socket_addr own;
	socklen_t len = socket_addr_make(&own, a->bytes, a->len, 0, 0);
	int fd = socket_of(a, false);
	bool is = fd >= 0 && bind(fd, &own.any, len) == 0;

	if (fd >= 0)
		close(fd);
	return is;
}

// --- opening ---

static uint64_t addresses_of(const struct socket_group *g)
{
	const struct addr_range *r = g->addresses.items;
	uint64_t n = 0;

	for (uint32_t i = 0; i < g->addresses.count; i++)
		n += r[i].count;
	return n;
}

static uint64_t ports_of(const struct socket_group *g)
{
	const struct field_range *r = g->ports.items;
	uint64_t n = g->free_ports;

	for (uint32_t i = 0; !g->free_ports && i < g->ports.count; i++)
		n += r[i].last - r[i].first + 1;
	return n;
}

// Each connection of an item, and one more for each that is being closed.
static uint64_t connections_of(const struct socket_group *g)
{
	uint64_t most = addresses_of(g) * ports_of(g), want = 2 * g->connections;

	if (g->listens)
		return g->connections + most;
	return want < most ? want : most;
}

// The soft limit is raised as far as it may be, for the sockets beside connected ones as well,
// without which a run is only slower.
static int check_descriptors(const struct port_settings *p, struct io_error *e)
{
	const struct socket_group *g = p->groups.items;
	struct rlimit limit = {0};
	uint64_t need = 0, beside = 0, connections = 0;

	for (uint32_t i = 0; i < p->groups.count; i++) {
		uint64_t own = g[i].stream ? 0 : addresses_of(&g[i]) * ports_of(&g[i]);

		need += own;
		beside += g[i].server.len ? own : 0;
		connections += connections_of(&g[i]);
	}
	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur < need + beside + connections + FDS_BESIDE &&
		limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (limit.rlim_cur >= need + connections + FDS_BESIDE)
		return 0;
	if (connections)
		return port_fail(e, p, -EMFILE,
			"connections, open and closing, are %" PRIu64 " sockets beside %" PRIu64
			" of UDP, and this process may have %" PRIu64
			" open files: fewer tcp.connections, or `ulimit -n %" PRIu64 "`",
			connections, need, (uint64_t)limit.rlim_cur,
			need + connections + FDS_BESIDE);
	return port_fail(e, p, -EMFILE,
		"source addresses x ports are %" PRIu64 " sockets, and this process may have "
		"%" PRIu64 " open files: fewer source.ports or addresses, or `ulimit -n %" PRIu64
		"`",
		need, (uint64_t)limit.rlim_cur, need + FDS_BESIDE);
}

static void set_buffer(int fd, int force, int plain, uint64_t bytes)
{
	int value = bytes < INT32_MAX / 2 ? (int)bytes : INT32_MAX / 2;

	if (setsockopt(fd, SOL_SOCKET, force, &value, sizeof(value)) < 0)
		setsockopt(fd, SOL_SOCKET, plain, &value, sizeof(value));
}

static void set_options(int fd, const struct port_settings *p, uint8_t addr_len)
{
	uint64_t receive = port_buffer_given(p->receive_buffer)
	                           ? p->receive_buffer
	                           : port_rx_descriptors(p) * (uint64_t)PACKET_BYTES;
	uint64_t send = port_buffer_given(p->send_buffer)
	                        ? p->send_buffer
	                        : port_tx_descriptors(p) * (uint64_t)PACKET_BYTES;
	int on = 1;

	set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, receive);
	set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, send);
	if (!p->answers)
		setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
	// With it the kernel reports its own drops (ENOBUFS), and keeps ICMP errors.
	if (addr_len == 4) {
		setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof(on));
	} else {
		setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof(on));
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	}
}

static void set_reuse(int fd, int on)
{
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
}

// How a socket is opened.
enum opening {
	OPEN_DATAGRAMS,
	OPEN_STREAM,
	OPEN_BESIDE, // with the address and port of another socket, which may be shared
	OPEN_LISTEN, // for connections that come
};

// A bound socket, or -errno. port 0: any free one.
static int open_socket(
	const struct port_settings *p, const struct addr *a, uint16_t port, enum opening how)
{
	bool stream = how == OPEN_STREAM || how == OPEN_LISTEN;
	union socket_addr own;
	socklen_t len = socket_addr_make(&own, a->bytes, a->len, port, scope_of(a, p->device));
	int fd = socket_of(a, stream), err;

	if (fd < 0)
		return -errno;
	if (how == OPEN_BESIDE || how == OPEN_LISTEN) // where connections of an earlier run rest
		set_reuse(fd, 1);
	if (bind_device(fd, p->device) == 0 && bind(fd, &own.any, len) == 0) {
		if (!stream)
			set_options(fd, p, a->len);
		return fd;
	}
	err = -errno;
	close(fd);
	return err;
}

static uint64_t dropped_by_kernel(int fd)
{
	uint32_t info[SK_MEMINFO_VARS] = {0};
	socklen_t len = sizeof(info);

	return getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &len) < 0 ? 0 : info[SK_MEMINFO_DROPS];
}

static void add(struct sockets *s, const struct port_settings *p, int fd, const struct addr *a,
	uint32_t number)
{
	struct socket_table *t = &s->table;
	struct frame_path in = {.dst = *a};
	struct addr own;

	if (t->count == s->room) {
		s->room = s->room ? 2 * s->room : 64;
		t->ends = must(reallocarray(t->ends, s->room, sizeof(*t->ends)));
		s->places = must(reallocarray(s->places, s->room, sizeof(*s->places)));
	}
	in.dst_port = name_of(fd, &own);
	s->places[t->count] = (struct socket_place){number, dropped_by_kernel(fd)};
	t->ends[t->count] = (struct socket_end){.fd = fd,
		.addr = *a,
		.port = in.dst_port,
		.others = -1,
		.scope = scope_of(a, p->device)};
	frame_template_build(&t->ends[t->count].in, &in);
	t->count++;
}

static int explain_bind(const struct port_settings *p, const struct addr *a, uint16_t port, int err,
	struct io_error *e)
{
	char text[ADDR_TEXT_SIZE], command[512];

	addr_format(a, text, sizeof(text));
	if (err == -EADDRINUSE)
		return port_fail(e, p, err,
			port < 1024 ? "UDP port %u of %s is in use by another program, like a "
				      "server on this host: another relay.port, or run elsewhere"
				    : "UDP port %u of %s is in use by another program: other "
				      "source.ports, or none for any free ones",
			port, text);
	if (err == -EADDRNOTAVAIL)
		return port_fail(e, p, err,
			"%s is not an address of this host: use other addresses, or none to take "
			"the choice of the routing table",
			text);
	if (err == -EACCES)
		return port_fail(e, p, err,
			"UDP port %u needs CAP_NET_BIND_SERVICE: run as root, or %s, or use a port "
			"above 1023",
			port,
			capabilities_command(
				NEED_CAP(CAP_NET_BIND_SERVICE), command, sizeof(command)));
	return port_fail(
		e, p, err, "a socket on UDP port %u of %s: %s", port, text, strerror(-err));
}

static bool is_open(const struct sockets *s, const struct addr *a, uint16_t port)
{
	for (uint32_t i = 0; s->used[port] && i < s->table.count; i++)
		if (s->table.ends[i].port == port && addr_equal(&s->table.ends[i].addr, a))
			return true;
	return false;
}

// Opens a socket for each address of the group; the first one decides on the port if it is 0.
// *port: the port of the sockets, or the port that failed, with *at.
static int open_port_of(struct sockets *s, const struct port_settings *p,
	const struct socket_group *g, uint16_t *port, struct addr *at)
{
	const struct addr_range *r = g->addresses.items;
	uint32_t first = s->table.count, number = 0;
	bool any = *port == 0;
	int fd = 0;

	for (uint32_t i = 0; fd >= 0 && i < g->addresses.count; i++)
		for (uint64_t k = 0; fd >= 0 && k < r[i].count; k++, number++) {
			*at = addr_nth(&r[i], k);
			if (!any && is_open(s, at, *port)) // of an item that wants it, too
				continue;
			fd = open_socket(p, at, *port, OPEN_DATAGRAMS);
			if (fd < 0)
				break;
			add(s, p, fd, at, number);
			*port = s->table.ends[s->table.count - 1].port;
			if (any && s->used[*port]) // a reply is assigned by its port alone
				fd = -EADDRINUSE;
		}
	while (fd < 0 && s->table.count > first)
		close(s->table.ends[--s->table.count].fd);
	if (fd >= 0)
		s->used[*port] = true;
	return fd < 0 ? fd : 0;
}

static int open_free(struct sockets *s, const struct port_settings *p, const struct socket_group *g,
	struct field_list *chosen, struct io_error *e)
{
	struct field_range *ports = must(calloc(g->free_ports, sizeof(*ports)));

	*chosen = (struct field_list){ports, 0};
	while (chosen->count < g->free_ports) {
		int err = -EADDRINUSE;
		struct addr at;
		uint16_t port;

		for (int i = 0; i < TRIES && err == -EADDRINUSE; i++) {
			port = 0;
			err = open_port_of(s, p, g, &port, &at);
		}
		if (err == -EADDRINUSE)
			return port_fail(e, p, err,
				"%u free UDP ports are needed, and the kernel has no more than %u "
				"(net.ipv4.ip_local_port_range): a lower rate, a shorter timeout, "
				"or more source.addresses",
				g->free_ports, chosen->count);
		if (err)
			return explain_bind(p, &at, port, err, e);
		ports[chosen->count++] = (struct field_range){port, port};
	}
	return 0;
}

static int open_given(struct sockets *s, const struct port_settings *p,
	const struct socket_group *g, struct io_error *e)
{
	const struct field_range *r = g->ports.items;

	for (uint32_t i = 0; i < g->ports.count; i++)
		for (uint32_t n = r[i].first; n <= r[i].last; n++) {
			uint16_t port = (uint16_t)n;
			struct addr at;
			int err = open_port_of(s, p, g, &port, &at);

			if (err)
				return explain_bind(p, &at, port, err, e);
		}
	return 0;
}

// Connections are opened during the run: try now whether their addresses are the host's.
static int try_addresses(
	const struct port_settings *p, const struct socket_group *g, struct io_error *e)
{
	const struct addr_range *r = g->addresses.items;

	for (uint32_t i = 0; i < g->addresses.count; i++)
		for (uint64_t k = 0; k < r[i].count; k++) {
			struct addr at = addr_nth(&r[i], k);
			int fd = open_socket(p, &at, 0, OPEN_STREAM);

			if (fd < 0)
				return explain_bind(p, &at, 0, fd, e);
			close(fd);
		}
	return 0;
}

static void note_fixed(struct sockets *s, const struct socket_group *g)
{
	const struct field_range *r = g->ports.items;

	for (uint32_t i = 0; g->fixed && i < g->ports.count; i++)
		for (uint32_t n = r[i].first; n <= r[i].last; n++)
			s->fixed[n] = true;
}

static int check_route(
	const struct port_settings *p, const struct socket_group *g, struct io_error *e)
{
	char text[ADDR_TEXT_SIZE];
	struct addr from;
	int err = g->server.len ? sockets_route(&g->server, p->device, &from) : 0;

	if (err == 0)
		return 0;
	return port_fail(e, p, err, "no route to the server %s: %s",
		addr_format(&g->server, text, sizeof(text)), strerror(-err));
}

// The table by which a sender is found: at most half full.
static void fill_table(struct socket_table *t)
{
	uint32_t size = 16;

	while (size < 2 * t->count)
		size *= 2;
	t->slots = must(malloc(size * sizeof(*t->slots)));
	memset(t->slots, 0xff, size * sizeof(*t->slots)); // SOCKETS_NONE
	t->mask = size - 1;
	for (uint32_t i = 0; i < t->count; i++)
		socket_table_add(t, i);
}

// Small buffers are the usual cause of drops.
static void note_buffers(const struct sockets *s, const struct port_settings *p)
{
	int bytes = 0;
	socklen_t len = sizeof(bytes);

	if (s->table.count == 0 ||
		getsockopt(s->table.ends[0].fd, SOL_SOCKET, SO_RCVBUF, &bytes, &len) < 0)
		return;
	if ((uint64_t)bytes * s->table.count < ENOUGH_BYTES)
		log_note("port %s: %u sockets have receive buffers of %d KiB each, so bursts of "
			 "replies may be dropped, which is counted as rx_missed (`sysctl -w "
			 "net.core.rmem_max=%u`)",
			p->name, s->table.count, bytes / 1024, ENOUGH_BYTES);
}

static struct socket_queue *queue_new(struct sockets *s)
{
	struct socket_queue *q = must(aligned_alloc(64, (sizeof(*q) + 63) / 64 * 64));

	memset(q, 0, sizeof(*q));
	q->table = &s->table;
	q->epoll = -1;
	q->empty = BURST_MAX;
	q->stamping = s->stamping;
	return q;
}

static int open_groups(struct sockets *s, const struct port_settings *p, struct io_error *e)
{
	const struct socket_group *g = p->groups.items;
	int err = check_descriptors(p, e);

	for (uint32_t i = 0; err == 0 && i < p->groups.count; i++) {
		err = check_route(p, &g[i], e);
		note_fixed(s, &g[i]);
		if (err == 0 && g[i].stream)
			err = try_addresses(p, &g[i], e);
		else if (err == 0 && g[i].free_ports)
			err = open_free(s, p, &g[i], &s->chosen[i], e);
		else if (err == 0)
			err = open_given(s, p, &g[i], e);
	}
	return err;
}

// A socket at each address and port of a responder. They are the first queue's: its worker has all
// connections.
static int listen_at(struct sockets *s, const struct port_settings *p, const struct socket_group *g,
	struct io_error *e)
{
	const struct addr_range *r = g->addresses.items;
	const struct field_range *ports = g->ports.items;

	for (uint32_t i = 0; i < g->addresses.count; i++)
		for (uint32_t n = 0; n < g->ports.count; n++) {
			int fd = open_socket(p, &r[i].first, (uint16_t)ports[n].first, OPEN_LISTEN);
			int err = fd < 0 ? fd : socket_tcp_listen(s->queue[0]->tcp, fd);

			char text[ADDR_TEXT_SIZE];

			if (err < 0)
				return port_fail(e, p, err, "TCP port %u of %s: %s", ports[n].first,
					addr_format(&r[i].first, text, sizeof(text)),
					strerror(-err));
		}
	return 0;
}

// Connections of each queue: as many as there are addresses and ports, as a search may ask for
// more.
static int open_connections(struct sockets *s, const struct port_settings *p, struct io_error *e)
{
	const struct socket_group *g = p->groups.items;
	struct socket_tcp_shape shape = {.device = p->device,
		.fixed = s->fixed,
		.send_buffer = p->send_buffer,
		.receive_buffer = p->receive_buffer,
		.stamping = s->stamping};
	uint64_t places = 0;

	for (uint32_t i = 0; i < p->groups.count; i++)
		places += g[i].listens       ? g[i].connections
		          : g[i].connections ? addresses_of(&g[i]) * ports_of(&g[i])
		                             : 0;
	if (places == 0)
		return 0;
	shape.count = (uint32_t)(places < CONNS_MOST ? places : CONNS_MOST) + BURST_MAX;
	shape.scope = p->device ? if_nametoindex(p->device) : 0;
	for (uint16_t i = 0; i < s->queues; i++) {
		shape.counters = &s->queue[i]->counters;
		s->queue[i]->tcp = socket_tcp_new(&shape);
		if (!s->queue[i]->tcp)
			return port_fail(
				e, p, -errno, "%u connections: %s", shape.count, strerror(errno));
	}
	for (uint32_t i = 0; i < p->groups.count; i++)
		if (g[i].listens && g[i].connections && listen_at(s, p, &g[i], e) < 0)
			return -EADDRINUSE;
	return 0;
}

int sockets_open(
	const struct port_settings *p, uint16_t queues, struct sockets **out, struct io_error *e)
{
	struct sockets *s = must(calloc(1, sizeof(*s)));
	int err;

	*out = s;
	s->settings = p;
	s->queues = queues;
	s->groups = p->groups.count;
	if (!p->answers) // a responder has no use for it
		s->stamping.at = stamps_field(&s->stamping.flag);
	s->chosen = must(calloc(s->groups + 1, sizeof(*s->chosen)));
	for (uint16_t i = 0; i < queues; i++)
		s->data[i] = s->queue[i] = queue_new(s);
	err = open_groups(s, p, e);
	fill_table(&s->table);
	if (err == 0)
		err = open_connections(s, p, e);
	if (err == 0)
		note_buffers(s, p);
	return err;
}

void sockets_attach(struct sockets *s, const struct port *port)
{
	struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[port->devices[0]];

	for (uint16_t i = 0; i < s->queues; i++) {
		s->queue[i]->pool = port->rx_pool[i];
		if (s->queue[i]->tcp)
			socket_tcp_attach(s->queue[i]->tcp, port->rx_pool[i]);
	}
	ops->rxq.data = s->data;
	ops->txq.data = s->data;
	ops->rx_pkt_burst = socket_rx_burst;
	ops->tx_pkt_burst = socket_tx_burst;
}

struct field_list sockets_ports(const struct sockets *s, uint32_t group)
{
	return s->chosen[group];
}

// --- dealing ---

static void queue_clear(struct socket_queue *q)
{
	if (q->epoll >= 0)
		close(q->epoll);
	free(q->members);
	q->epoll = -1;
	q->members = NULL;
	q->member_count = 0;
}

// A connected socket receives from its peer alone. Packets of other hosts to its address and port
// go to a second socket, so that they are counted as with any other driver. No other program can
// share them: the option only matters while a socket is bound. Returns false without such a socket.
static bool open_beside(const struct sockets *s, struct socket_end *end)
{
	if (end->others >= 0)
		return true;
	set_reuse(end->fd, 1);
	end->others = open_socket(s->settings, &end->addr, end->port, OPEN_BESIDE);
	set_reuse(end->fd, 0);
	if (end->others >= 0)
		set_reuse(end->others, 0);
	return end->others >= 0;
}

// A socket that was connected for an earlier run may get another peer. It keeps its address.
// Sending and receiving cost about a seventh less than without a connection.
static void aim(const struct sockets *s, struct socket_end *end, const struct socket_home *home)
{
	socklen_t len;

	end->connected = false;
	if (!home->server || !open_beside(s, end))
		return;
	len = socket_addr_make(
		&end->peer, home->server->bytes, home->server->len, home->server_port, end->scope);
	end->connected = connect(end->fd, &end->peer.any, len) == 0;
}

static void watch(const struct socket_queue *q, int fd, uint32_t index)
{
	struct epoll_event event = {EPOLLIN, {.u32 = index}};

	epoll_ctl(q->epoll, EPOLL_CTL_ADD, fd, &event);
}

static void watch_members(struct socket_queue *q)
{
	q->epoll = q->member_count > 1 ? epoll_create1(EPOLL_CLOEXEC) : -1;
	for (uint32_t i = 0; q->epoll >= 0 && i < q->member_count; i++) {
		const struct socket_end *end = &q->table->ends[q->members[i]];

		watch(q, end->fd, q->members[i]);
		if (end->others >= 0)
			watch(q, end->others, q->members[i] | SOCKET_OTHERS);
	}
}

void sockets_deal(struct sockets *s, struct socket_home (*home)(void *of, uint16_t port), void *of)
{
	for (uint16_t i = 0; i < s->queues; i++) {
		queue_clear(s->queue[i]);
		if (s->queue[i]->tcp)
			socket_tcp_reset(s->queue[i]->tcp);
		s->queue[i]->members = must(calloc(s->table.count + 1, sizeof(uint32_t)));
	}
	for (uint32_t i = 0; i < s->table.count; i++) {
		struct socket_end *end = &s->table.ends[i];
		struct socket_home at = home(of, end->port);
		uint16_t queue = at.queue < s->queues
		                         ? at.queue
		                         : (uint16_t)(s->places[i].address % s->queues);
		struct socket_queue *q = s->queue[queue];

		aim(s, end, &at);
		q->members[q->member_count++] = i;
	}
	for (uint16_t i = 0; i < s->queues; i++) {
		watch_members(s->queue[i]);
		socket_queue_prepare(s->queue[i]);
	}
}

uint32_t sockets_wait(const struct sockets *s, uint16_t queue, int *fds, uint32_t room)
{
	const struct socket_queue *q = s->queue[queue];
	const struct socket_end *only =
		q->member_count == 1 ? &q->table->ends[q->members[0]] : NULL;
	const int all[] = {q->epoll, q->tcp ? socket_tcp_descriptor(q->tcp) : -1,
		only ? only->fd : -1, only ? only->others : -1};
	uint32_t n = 0;

	for (uint32_t i = 0; i < RTE_DIM(all) && n < room; i++)
		if (all[i] >= 0)
			fds[n++] = all[i];
	return n;
}

// --- counting, closing ---

#define READ(counter) atomic_load_explicit(&(counter), memory_order_relaxed)

void sockets_read(const struct sockets *s, struct port_counters *out)
{
	for (uint16_t i = 0; i < s->queues; i++) {
		const struct socket_counters *c = &s->queue[i]->counters;

		out->rx_packets += READ(c->rx_packets);
		out->rx_bytes += READ(c->rx_bytes);
		out->rx_no_mbuf += READ(c->rx_no_mbuf);
		out->tx_packets += READ(c->tx_packets);
		out->tx_bytes += READ(c->tx_bytes);
		out->tx_errors += READ(c->tx_errors);
		out->retransmitted += READ(c->retransmitted);
	}
	for (uint32_t i = 0; i < s->table.count; i++) {
		const struct socket_end *end = &s->table.ends[i];

		out->rx_missed += dropped_by_kernel(end->fd) - s->places[i].dropped;
		if (end->others >= 0)
			out->rx_missed += dropped_by_kernel(end->others);
	}
}

const char *sockets_send_error(const struct sockets *s)
{
	int error = 0;

	for (uint16_t i = 0; i < s->queues && !error; i++)
		error = READ(s->queue[i]->counters.tx_error);
	return error ? strerror(error) : NULL;
}

void sockets_close(struct sockets *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->table.count; i++) {
		close(s->table.ends[i].fd);
		if (s->table.ends[i].others >= 0)
			close(s->table.ends[i].others);
	}
	for (uint16_t i = 0; i < s->queues; i++) {
		queue_clear(s->queue[i]);
		socket_queue_empty(s->queue[i]);
		socket_tcp_free(s->queue[i]->tcp);
		free(s->queue[i]);
	}
	for (uint32_t i = 0; i < s->groups; i++)
		free(s->chosen[i].items);
	free(s->chosen);
	free(s->table.ends);
	free(s->table.slots);
	free(s->places);
	free(s);
}
