// SPDX-License-Identifier: BSD-3-Clause
// Segments of a worker's TCP become bytes of the kernel's and back, none lost or doubled, whatever
// the server does. Over sockets of the loopback interface, the worker's side by net/tcp.h.
// Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/rand.h"
#include "io/driver/driver.h"
#include "io/sockets/sockets.h"
#include "io/sockets/sockets_burst.h"
#include "lib/test_port.h"
#include "net/tcp.h"

#define NUMBER     4     // of the ethdev
#define PORT_FIRST 20000 // below the kernel's ephemeral ports
#define BLOCKS     64
#define PATIENCE   100000 // rounds

// A port with connections, and a server that listens.
struct fixture {
	struct test_port device;
	struct port_settings settings;
	struct addr_range own;
	struct field_range ports;
	struct socket_group group;
	struct sockets *sockets;
	struct addr server;
	uint16_t server_port;
	int listener, peer; // peer: the server's end of the last connection
	// The worker.
	struct tcp_host host;
	struct tcp_block blocks[BLOCKS];
	struct tcp_counters counters;
	struct tcp tcp;
	struct frame_template frame;
	uint16_t port;
	uint32_t events; // all that happened
	uint8_t *got;    // bytes that the worker has read
	uint32_t got_len;
	uint32_t overrun; // bytes beyond the worker's window
};

static struct socket_home nobody(void *of, uint16_t port)
{
	return (struct socket_home){.queue = UINT16_MAX};
}

static uint16_t bind_to(int fd, const struct addr *a)
{
	union socket_addr at;
	socklen_t len = socket_addr_make(&at, a->bytes, a->len, 0, 0);

	assert_int_equal(bind(fd, &at.any, len), 0);
	assert_int_equal(getsockname(fd, &at.any, &len), 0);
	return ntohs(a->len == 4 ? at.v4.sin_port : at.v6.sin6_port);
}

static int stream(const struct fixture *f)
{
	int fd = socket(f->server.len == 4 ? AF_INET : AF_INET6, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	return fd;
}

static struct fixture *fixture_of(
	const char *address, struct socket_group group, uint64_t send, uint64_t receive)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct port port = {.devices = {NUMBER}};
	int32_t driver = 0;
	const char *what;
	struct io_error e = {""};

	assert_non_null(f);
	while (strcmp(drivers[driver].name, "socket") != 0)
		driver++;
	test_port_open(&f->device, NUMBER);
	assert_int_equal(addr_parse(address, &f->server, &what), 0);
	f->own = (struct addr_range){f->server, 1};
	f->ports = (struct field_range){PORT_FIRST, PORT_FIRST + 99};
	f->group = group;
	f->group.addresses = (struct field_list){&f->own, 1};
	f->group.ports = (struct field_list){&f->ports, 1};
	f->settings = (struct port_settings){.name = "lan",
		.driver = driver,
		.mtu = 1500,
		.groups = {&f->group, 1},
		.send_buffer = send,
		.receive_buffer = receive};
	assert_int_equal(sockets_open(&f->settings, 1, &f->sockets, &e), 0);
	port.driver = &drivers[driver];
	port.rx_pool[0] = &f->device.pool;
	sockets_attach(f->sockets, &port);
	sockets_deal(f->sockets, nobody, f);
	f->listener = stream(f);
	f->server_port = bind_to(f->listener, &f->server);
	assert_int_equal(listen(f->listener, 10), 0);
	f->peer = -1;
	tcp_host_init(&f->host, f->blocks, BLOCKS);
	f->host.window = 65535;
	f->host.rto_first = f->host.rto_least = 1000000;
	f->host.rto_most = 60000000;
	f->host.syn_tries = f->host.tries = 4;
	f->host.stamps = true;
	f->host.reads_all = true;
	f->host.counters = &f->counters;
	f->port = PORT_FIRST;
	return f;
}

static struct fixture *fixture_new(const char *address, bool fixed)
{
	const struct socket_group group = {.connections = 10, .stream = true, .fixed = fixed};

	return fixture_of(address, group, 0, 0);
}

static void fixture_free(struct fixture *f)
{
	tcp_drop(&f->host, &f->tcp);
	if (f->peer >= 0)
		close(f->peer);
	close(f->listener);
	sockets_close(f->sockets);
	assert_int_equal(f->device.live, 0);
	free(f->got);
	free(f);
}

static struct port_counters counted(const struct fixture *f)
{
	struct port_counters c = {0};

	sockets_read(f->sockets, &c);
	return c;
}

// All that the worker has to send.
static void send_all(struct fixture *f)
{
	struct tcp_segment s;
	struct rte_mbuf *m;

	while (tcp_output(&f->host, &f->tcp, &s)) {
		uint32_t header = tcp_header_len(&s);
		uint8_t *data;

		f->device.buffers += f->device.buffers != UINT32_MAX;
		assert_true(burst_alloc(&f->device.pool, &m, 1));
		data = rte_pktmbuf_mtod(m, uint8_t *);
		tcp_header(&s, data + f->frame.len - FRAME_TCP_LEN);
		if (s.len)
			tcp_copy(&f->host, &f->tcp, &s,
				data + f->frame.len - FRAME_TCP_LEN + header);
		m->data_len = (uint16_t)frame_stamp_tcp(
			&f->frame, data, f->server.bytes, f->port, header + s.len);
		m->pkt_len = m->data_len;
		assert_int_equal(burst_tx(NUMBER, 0, &m, 1), 1);
	}
}

static void keep(struct fixture *f, const uint8_t *data, uint32_t len)
{
	f->got = realloc(f->got, f->got_len + len + 1);
	assert_non_null(f->got);
	memcpy(f->got + f->got_len, data, len);
	f->got_len += len;
}

static void receive(struct fixture *f, const struct rte_mbuf *m)
{
	struct tcp_segment s;
	struct frame frame;
	uint32_t events;

	assert_int_equal(
		frame_parse(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, &frame), FRAME_TCP);
	assert_true(tcp_parse(frame.payload, frame.payload_len, &s));
	assert_int_equal(frame.dst_port, f->port);
	assert_int_equal(frame.src_port, f->server_port);
	assert_memory_equal(frame.src, f->server.bytes, f->server.len);
	if (s.len && tcp_before(f->tcp.edge, s.seq + s.len))
		f->overrun += s.seq + s.len - f->tcp.edge;
	events = tcp_input(&f->host, &f->tcp, &s);
	if (events & TCP_DATA)
		keep(f, f->host.view, f->host.view_len);
	f->events |= events;
}

// One pass of a worker.
static uint16_t pass(struct fixture *f)
{
	struct rte_mbuf *m[8];
	uint16_t n = burst_rx(NUMBER, 0, m, 8);

	f->host.now += 10;
	for (uint16_t i = 0; i < n; i++)
		receive(f, m[i]);
	burst_free(m, n);
	send_all(f);
	return n;
}

// Makes passes until one of these events.
static void until(struct fixture *f, uint32_t events)
{
	for (uint32_t i = 0; !(f->events & events) && i < PATIENCE; i++)
		pass(f);
	assert_true(f->events & events);
}

static void begin(struct fixture *f)
{
	const struct frame_path path = {.dst = f->server, .dst_port = f->server_port, .tcp = true};

	f->events = 0;
	frame_template_build(&f->frame, &path);
	tcp_open(&f->host, &f->tcp, 7000 + f->port, 1460);
	send_all(f);
}

static void open_one(struct fixture *f)
{
	begin(f);
	until(f, TCP_OPENED);
	if (f->peer >= 0)
		close(f->peer);
	f->peer = accept(f->listener, NULL, NULL);
	assert_true(f->peer >= 0);
}

static void ask(struct fixture *f, const void *bytes, uint32_t len)
{
	assert_true(tcp_send(&f->host, &f->tcp, bytes, len));
	send_all(f);
}

static void read_until(struct fixture *f, uint32_t len)
{
	for (uint32_t i = 0; f->got_len < len && i < PATIENCE; i++)
		pass(f);
	assert_int_equal(f->got_len, len);
}

static void quiet(const struct fixture *f)
{
	assert_int_equal(f->counters.retransmitted, 0);
	assert_int_equal(f->counters.repeated, 0);
	assert_int_equal(f->counters.out_of_order, 0);
	assert_int_equal(f->overrun, 0);
	assert_int_equal(counted(f).tx_errors, 0);
}

static void talk(const char *address)
{
	struct fixture *f = fixture_new(address, true);
	char got[16];

	open_one(f);
	for (uint32_t n = 1; n <= 50; n++) {
		ask(f, "question", 8);
		assert_int_equal(recv(f->peer, got, sizeof(got), 0), 8);
		assert_memory_equal(got, "question", 8);
		assert_int_equal(send(f->peer, "answer", 6, 0), 6);
		read_until(f, 6 * n);
		assert_memory_equal(f->got + f->got_len - 6, "answer", 6);
	}
	tcp_shut(&f->tcp);
	send_all(f);
	assert_int_equal(recv(f->peer, got, sizeof(got), 0), 0);
	assert_int_equal(f->events & TCP_ENDED, 0);
	close(f->peer);
	f->peer = -1;
	until(f, TCP_ENDED);
	assert_int_equal(f->tcp.state, TCP_TIME_WAIT);
	quiet(f);
	fixture_free(f);
}

static void messages_go_there_and_back_until_both_have_closed(void **state)
{
	talk("127.0.0.1");
	talk("::1");
}

static void a_port_without_a_listener_refuses(void **state)
{
	struct fixture *f = fixture_new("127.0.0.1", true);

	close(f->listener);
	f->listener = stream(f);
	begin(f);
	until(f, TCP_REFUSED);
	quiet(f);
	fixture_free(f);
}

static void a_server_that_closes_ends_the_connection(void **state)
{
	struct fixture *f = fixture_new("127.0.0.1", true);
	char got[4];

	open_one(f);
	assert_int_equal(send(f->peer, "bye", 3, 0), 3);
	shutdown(f->peer, SHUT_WR);
	until(f, TCP_ENDED);
	assert_int_equal(f->got_len, 3);
	ask(f, "why", 3); // it can still listen
	assert_int_equal(recv(f->peer, got, sizeof(got), 0), 3);
	tcp_shut(&f->tcp);
	send_all(f);
	until(f, TCP_DONE);
	assert_int_equal(recv(f->peer, got, sizeof(got), 0), 0);
	quiet(f);
	fixture_free(f);
}

static void reset_by_server(struct fixture *f)
{
	const struct linger now = {.l_onoff = 1};

	setsockopt(f->peer, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(f->peer);
	f->peer = -1;
}

static void a_server_that_resets_breaks_the_connection(void **state)
{
	struct fixture *f = fixture_new("127.0.0.1", true);

	open_one(f);
	reset_by_server(f);
	until(f, TCP_BROKEN);
	open_one(f);
	reset_by_server(f); // and the kernel reports it when the worker sends
	ask(f, "?", 1);
	until(f, TCP_BROKEN);
	quiet(f);
	fixture_free(f);
}

static void a_reset_of_the_worker_reaches_the_server(void **state)
{
	struct fixture *f = fixture_new("127.0.0.1", true);
	char got;

	open_one(f);
	tcp_abort(&f->host, &f->tcp);
	send_all(f);
	assert_int_equal(recv(f->peer, &got, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	fixture_free(f);
}

// More than all buffers hold. Pieces of a block, so that the worker's memory suffices.
static void what_the_kernel_does_not_take_waits_at_the_worker(void **state)
{
	enum { ALL = 8 << 20, PIECE = 8000 };
	struct fixture *f = fixture_new("127.0.0.1", true);
	uint8_t *sent = malloc(ALL), *came = malloc(ALL);
	uint32_t given = 0, got = 0;
	struct rand r = {5};
	bool full = false;

	for (uint32_t i = 0; i < ALL; i++)
		sent[i] = (uint8_t)rand_next(&r);
	open_one(f);
	for (uint32_t i = 0; got < ALL && i < PATIENCE; i++) {
		if (given < ALL) {
			uint32_t len = ALL - given < PIECE ? ALL - given : PIECE;

			given += tcp_send(&f->host, &f->tcp, sent + given, len) ? len : 0;
		}
		send_all(f);
		pass(f);
		full |= f->tcp.peer_window == 0;
		if (full) { // the server reads only from here on
			ssize_t n = recv(f->peer, came + got, ALL - got, MSG_DONTWAIT);

			got += n > 0 ? (uint32_t)n : 0;
		}
	}
	assert_true(full);
	assert_int_equal(got, ALL);
	assert_memory_equal(came, sent, ALL);
	assert_int_equal(f->counters.retransmitted, 0);
	free(sent);
	free(came);
	fixture_free(f);
}

static void no_more_is_read_than_the_worker_has_room_for(void **state)
{
	enum { ALL = 300000 };
	struct fixture *f = fixture_new("127.0.0.1", true);
	uint8_t *sent = malloc(ALL);
	uint32_t given = 0;
	struct rand r = {6};

	for (uint32_t i = 0; i < ALL; i++)
		sent[i] = (uint8_t)rand_next(&r);
	f->host.window = 5000;
	open_one(f);
	for (uint32_t i = 0; f->got_len < ALL && i < PATIENCE; i++) {
		ssize_t n = send(f->peer, sent + given, ALL - given, MSG_DONTWAIT);

		given += n > 0 ? (uint32_t)n : 0;
		pass(f);
	}
	assert_int_equal(f->got_len, ALL);
	assert_memory_equal(f->got, sent, ALL);
	shutdown(f->peer, SHUT_WR);
	until(f, TCP_ENDED);
	quiet(f);
	free(sent);
	fixture_free(f);
}

static void without_a_buffer_the_kernel_keeps_the_bytes(void **state)
{
	struct fixture *f = fixture_new("127.0.0.1", true);

	open_one(f);
	f->device.buffers = 0;
	assert_int_equal(send(f->peer, "answer", 6, 0), 6);
	read_until(f, 6); // in a buffer that was there already
	assert_int_equal(send(f->peer, "another", 7, 0), 7);
	for (int i = 0; i < 10; i++)
		assert_int_equal(pass(f), 0);
	assert_true(counted(f).rx_no_mbuf >= 10);
	f->device.buffers = UINT32_MAX;
	read_until(f, 13);
	quiet(f);
	fixture_free(f);
}

// The port rests in the kernel, and is used again nevertheless.
static void a_port_is_used_again_at_once(void **state)
{
	struct fixture *f = fixture_new("127.0.0.1", true);

	for (int i = 0; i < 100; i++) {
		open_one(f);
		tcp_shut(&f->tcp);
		send_all(f);
		close(f->peer);
		f->peer = -1;
		until(f, TCP_ENDED);
		tcp_drop(&f->host, &f->tcp);
	}
	quiet(f);
	fixture_free(f);
}

// No more is possible: each port of the item has one.
static void every_port_has_a_connection_at_once(void **state)
{
	struct fixture *f = fixture_new("127.0.0.1", false);

	for (uint16_t i = 0; i < 100; i++) {
		f->port = PORT_FIRST + i;
		begin(f);
		tcp_drop(&f->host, &f->tcp);
	}
	assert_int_equal(counted(f).tx_errors, 0);
	assert_int_equal(counted(f).tx_packets, 100);
	fixture_free(f);
}

// It listens, so nobody can have it, too.
static int taken(struct fixture *f)
{
	int other = stream(f), on = 1;
	union socket_addr at;
	socklen_t len = socket_addr_make(&at, f->server.bytes, f->server.len, f->port, 0);

	setsockopt(other, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	assert_int_equal(bind(other, &at.any, len), 0);
	assert_int_equal(listen(other, 1), 0);
	return other;
}

static void a_port_that_is_taken_is_replaced_unless_it_was_asked_for(void **state)
{
	struct fixture *f = fixture_new("127.0.0.1", false);
	int other = taken(f);

	open_one(f);
	quiet(f);
	fixture_free(f);
	f = fixture_new("127.0.0.1", true);
	begin(f);
	for (int i = 0; i < 100; i++)
		pass(f);
	assert_int_equal(f->events, 0); // the server is not to blame
	assert_int_equal(counted(f).tx_errors, 1);
	assert_string_equal(sockets_send_error(f->sockets), strerror(EADDRINUSE));
	close(other);
	fixture_free(f);
}

// Our end of the connection to the server.
static int own_socket(const struct fixture *f)
{
	for (int fd = 0; fd < 1024; fd++) {
		union socket_addr at;
		socklen_t len = sizeof(at);

		if (getpeername(fd, &at.any, &len) == 0 && at.any.sa_family == AF_INET &&
			ntohs(at.v4.sin_port) == f->server_port)
			return fd;
	}
	fail();
	return -1;
}

static int option_of(int fd, int option)
{
	int value;
	socklen_t len = sizeof(value);

	assert_int_equal(getsockopt(fd, SOL_SOCKET, option, &value, &len), 0);
	return value;
}

// Buffers that are not given are the kernel's choice; it doubles the others.
static void a_connection_has_the_buffers_that_were_given(void **state)
{
	static const uint64_t given[][2] = {
		{0, 0}, {UINT64_MAX, UINT64_MAX}, {50000, 0}, {UINT64_MAX, 60000}, {50000, 60000}};

	for (size_t i = 0; i < sizeof(given) / sizeof(*given); i++) {
		const uint64_t send = given[i][0], receive = given[i][1];
		const struct socket_group group = {.connections = 10, .stream = true};
		struct fixture *f = fixture_of("127.0.0.1", group, send, receive);
		union socket_addr at;
		socklen_t len =
			socket_addr_make(&at, f->server.bytes, f->server.len, f->server_port, 0);
		int plain, own;

		open_one(f);
		own = own_socket(f);
		plain = stream(f);
		assert_int_equal(connect(plain, &at.any, len), 0);
		assert_int_equal(option_of(own, SO_SNDBUF),
			send == 50000 ? 100000 : option_of(plain, SO_SNDBUF));
		assert_int_equal(option_of(own, SO_RCVBUF),
			receive == 60000 ? 120000 : option_of(plain, SO_RCVBUF));
		close(plain);
		fixture_free(f);
	}
}

// A client connects to a port of the worker's, which accepts.
static void open_by_client(struct fixture *f)
{
	struct tcp_segment s;
	struct frame frame;
	struct frame_path path = {.dst = f->server, .tcp = true};
	struct rte_mbuf *m;
	union socket_addr at;
	socklen_t len = socket_addr_make(&at, f->server.bytes, f->server.len, f->port, 0);
	uint16_t n = 0;

	f->events = 0;
	f->got_len = 0;
	f->peer = stream(f);
	f->server_port = bind_to(f->peer, &f->server);
	assert_int_equal(connect(f->peer, &at.any, len), 0);
	for (uint32_t i = 0; n == 0 && i < PATIENCE; i++)
		n = burst_rx(NUMBER, 0, &m, 1);
	assert_int_equal(n, 1);
	assert_int_equal(
		frame_parse(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, &frame), FRAME_TCP);
	assert_true(tcp_parse(frame.payload, frame.payload_len, &s));
	assert_int_equal(s.flags, TCP_SYN);
	assert_int_equal(frame.dst_port, f->port);
	assert_int_equal(frame.src_port, f->server_port);
	assert_memory_equal(frame.src, f->server.bytes, f->server.len);
	path.dst_port = f->server_port;
	frame_template_build(&f->frame, &path);
	tcp_accept(&f->host, &f->tcp, 9000, 1460, &s);
	burst_free(&m, 1);
	assert_int_equal(burst_rx(NUMBER, 0, &m, 1), 0); // until that is answered
	send_all(f);
}

static void accept_from(const char *address)
{
	const struct socket_group group = {.connections = 2, .stream = true, .listens = true};
	struct fixture *f = fixture_of(address, group, 0, 0);
	char got[16];

	for (uint32_t n = 0; n < 100; n++) { // more than there are places
		open_by_client(f);
		assert_int_equal(send(f->peer, "question", 8, 0), 8);
		read_until(f, 8);
		assert_memory_equal(f->got, "question", 8);
		ask(f, "answer", 6);
		assert_int_equal(recv(f->peer, got, sizeof(got), 0), 6);
		assert_memory_equal(got, "answer", 6);
		if (n % 3 == 0) { // the worker ends it, the client, or its reset
			tcp_shut(&f->tcp);
			send_all(f);
			assert_int_equal(recv(f->peer, got, sizeof(got), 0), 0);
			close(f->peer);
			until(f, TCP_ENDED);
		} else if (n % 3 == 1) {
			close(f->peer);
			until(f, TCP_ENDED);
			tcp_shut(&f->tcp);
			send_all(f);
		} else {
			reset_by_server(f);
			until(f, TCP_BROKEN);
		}
		f->peer = -1;
		for (int i = 0; i < 10; i++) // acknowledgements may follow
			pass(f);
		tcp_drop(&f->host, &f->tcp);
	}
	assert_int_equal(counted(f).tx_errors, 0);
	assert_int_equal(f->overrun, 0);
	fixture_free(f);
}

static void connections_come_to_a_port_that_listens(void **state)
{
	accept_from("127.0.0.1");
	accept_from("::1");
}

static void a_port_that_another_listens_at_is_refused(void **state)
{
	const struct socket_group group = {.connections = 2, .stream = true, .listens = true};
	struct fixture *f = fixture_of("127.0.0.1", group, 0, 0);
	struct sockets *second;
	struct io_error e = {""};

	open_by_client(f);
	assert_true(sockets_open(&f->settings, 1, &second, &e) < 0);
	assert_non_null(strstr(e.text, "TCP port 20000 of 127.0.0.1: Address already in use"));
	sockets_close(second);
	fixture_free(f);
}

// The counters add up, whatever the contents of a frame.
static void any_other_segment_is_harmless(void **state)
{
	struct fixture *f = fixture_new("127.0.0.1", false);
	struct rand r = {8};
	uint64_t sent;
	char got[4096];

	open_one(f);
	sent = counted(f).tx_packets;
	for (uint32_t n = 0; n < 20000; n++) {
		struct tcp_segment s = {.seq = f->tcp.nxt + (uint32_t)(rand_next(&r) % 64) - 32,
			.ack = f->tcp.rcv + (uint32_t)(rand_next(&r) % 64) - 32,
			.window = (uint16_t)rand_next(&r),
			.flags = (uint8_t)(rand_next(&r) & ~(uint64_t)TCP_SYN),
			.scale = TCP_NO_SCALE};
		uint32_t len = (uint32_t)(rand_next(&r) % 40);
		struct rte_mbuf *m[2];
		uint8_t *data;
		uint16_t came;

		if (n % 64 == 0)
			s.flags |= TCP_SYN;
		assert_true(burst_alloc(&f->device.pool, m, 1));
		data = rte_pktmbuf_mtod(m[0], uint8_t *);
		tcp_header(&s, data + f->frame.len - FRAME_TCP_LEN);
		memset(data + f->frame.len, 'x', len);
		m[0]->data_len = (uint16_t)frame_stamp_tcp(
			&f->frame, data, f->server.bytes, f->port, tcp_header_len(&s) + len);
		m[0]->pkt_len = m[0]->data_len;
		if (n % 3 == 0)
			data[rand_next(&r) % m[0]->data_len] ^= (uint8_t)(1 << n % 8);
		assert_int_equal(burst_tx(NUMBER, 0, m, 1), 1);
		came = burst_rx(NUMBER, 0, m, 2);
		burst_free(m, came);
		while (recv(f->peer, got, sizeof(got), MSG_DONTWAIT) > 0) {
		}
	}
	assert_int_equal(counted(f).tx_packets + counted(f).tx_errors, sent + 20000);
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_go_there_and_back_until_both_have_closed),
		cmocka_unit_test(a_port_without_a_listener_refuses),
		cmocka_unit_test(a_server_that_closes_ends_the_connection),
		cmocka_unit_test(a_server_that_resets_breaks_the_connection),
		cmocka_unit_test(a_reset_of_the_worker_reaches_the_server),
		cmocka_unit_test(what_the_kernel_does_not_take_waits_at_the_worker),
		cmocka_unit_test(no_more_is_read_than_the_worker_has_room_for),
		cmocka_unit_test(without_a_buffer_the_kernel_keeps_the_bytes),
		cmocka_unit_test(a_port_is_used_again_at_once),
		cmocka_unit_test(every_port_has_a_connection_at_once),
		cmocka_unit_test(a_port_that_is_taken_is_replaced_unless_it_was_asked_for),
		cmocka_unit_test(a_connection_has_the_buffers_that_were_given),
		cmocka_unit_test(connections_come_to_a_port_that_listens),
		cmocka_unit_test(a_port_that_another_listens_at_is_refused),
		cmocka_unit_test(any_other_segment_is_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
