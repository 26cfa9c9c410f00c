// SPDX-License-Identifier: BSD-3-Clause
// Datagrams become whole frames and frames become datagrams, whatever their contents; the rest is
// counted. Over sockets of the loopback interface. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/rand.h"
#include "io/driver/driver.h"
#include "io/sockets/sockets.h"
#include "io/sockets/sockets_burst.h"
#include "lib/test_port.h"

#define NUMBER 3 // of the ethdev

// A port with one socket, and its peer.
struct fixture {
	struct test_port device;
	struct port_settings settings;
	struct addr_range own;
	struct socket_group group;
	struct sockets *sockets;
	struct socket_home home;
	struct addr server;
	union socket_addr client;
	socklen_t client_len;
	uint16_t port;
	int peer;
};

static int32_t socket_driver(void)
{
	int32_t i = 0;

	while (strcmp(drivers[i].name, "socket") != 0)
		i++;
	return i;
}

static struct socket_home home_of(void *of, uint16_t port)
{
	return ((struct fixture *)of)->home;
}

static uint16_t bind_peer(struct fixture *f)
{
	union socket_addr at;
	socklen_t len = socket_addr_make(&at, f->server.bytes, f->server.len, 0, 0);

	f->peer = socket(f->server.len == 4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	assert_true(f->peer >= 0);
	assert_int_equal(bind(f->peer, &at.any, len), 0);
	assert_int_equal(getsockname(f->peer, &at.any, &len), 0);
	return ntohs(f->server.len == 4 ? at.v4.sin_port : at.v6.sin6_port);
}

static struct fixture *fixture_new(const char *address, bool connected)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct port port = {.driver = &drivers[socket_driver()], .devices = {NUMBER}};
	const struct field_range *chosen;
	const char *what;
	struct io_error e = {""};

	assert_non_null(f);
	test_port_open(&f->device, NUMBER);
	assert_int_equal(addr_parse(address, &f->server, &what), 0);
	f->own = (struct addr_range){f->server, 1};
	f->group = (struct socket_group){.addresses = {&f->own, 1}, .free_ports = 1};
	f->settings = (struct port_settings){
		.name = "lan", .driver = socket_driver(), .mtu = 1500, .groups = {&f->group, 1}};
	assert_int_equal(sockets_open(&f->settings, 1, &f->sockets, &e), 0);
	port.rx_pool[0] = &f->device.pool;
	sockets_attach(f->sockets, &port);
	f->home = (struct socket_home){.server_port = bind_peer(f)};
	f->home.server = connected ? &f->server : NULL;
	sockets_deal(f->sockets, home_of, f);
	chosen = sockets_ports(f->sockets, 0).items;
	f->port = (uint16_t)chosen[0].first;
	f->client_len = socket_addr_make(&f->client, f->server.bytes, f->server.len, f->port, 0);
	return f;
}

static void fixture_free(struct fixture *f)
{
	close(f->peer);
	sockets_close(f->sockets);
	assert_int_equal(f->device.live, 0);
	free(f);
}

static struct port_counters counted(const struct fixture *f)
{
	struct port_counters c = {0};

	sockets_read(f->sockets, &c);
	return c;
}

static void tell(const struct fixture *f, const void *data, size_t len)
{
	assert_int_equal(
		sendto(f->peer, data, len, 0, &f->client.any, f->client_len), (ssize_t)len);
}

static void garbage(struct rand *r, uint8_t *data, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		data[i] = (uint8_t)rand_next(r);
}

static void frames_come(const char *address, bool connected)
{
	struct fixture *f = fixture_new(address, connected);
	struct rand r = {7};
	uint8_t data[1900];

	for (uint32_t n = 0; n < 500; n++) {
		uint32_t len = (uint32_t)(rand_next(&r) % sizeof(data));
		struct rte_mbuf *m;
		struct frame frame;

		garbage(&r, data, len);
		tell(f, data, len);
		assert_int_equal(burst_rx(NUMBER, 0, &m, 1), 1);
		assert_int_equal(frame_parse(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, &frame),
			FRAME_UDP);
		assert_true(frame_checksum_ok(&frame));
		assert_int_equal(frame.payload_len, len);
		assert_memory_equal(frame.payload, data, len);
		assert_int_equal(frame.dst_port, f->port);
		assert_int_equal(frame.src_port, f->home.server_port);
		assert_memory_equal(frame.src, f->server.bytes, f->server.len);
		assert_memory_equal(frame.dst, f->server.bytes, f->server.len);
		burst_free(&m, 1);
	}
	assert_int_equal(counted(f).rx_packets, 500);
	fixture_free(f);
}

static void a_datagram_becomes_a_whole_frame(void **state)
{
	frames_come("127.0.0.1", true);
	frames_come("127.0.0.1", false);
	frames_come("::1", true);
	frames_come("::1", false);
}

// Datagrams from another port or address of the server arrive like regular ones.
static void others_are_heard_beside_a_peer(const char *address, const char *from)
{
	struct fixture *f = fixture_new(address, true);
	struct addr other;
	union socket_addr at;
	struct rte_mbuf *m;
	struct frame frame;
	const char *what;
	socklen_t len;
	int fd;

	assert_int_equal(addr_parse(from, &other, &what), 0);
	len = socket_addr_make(&at, other.bytes, other.len, 0, 0);
	fd = socket(other.len == 4 ? AF_INET : AF_INET6, SOCK_DGRAM, 0);
	assert_int_equal(bind(fd, &at.any, len), 0);
	assert_int_equal(getsockname(fd, &at.any, &len), 0);
	sockets_deal(f->sockets, home_of, f); // as in the next run of a series
	for (uint32_t n = 0; n < 3 * BURST_MAX; n++) {
		bool is_other = n % 3 == 0;
		uint32_t got = 0;

		assert_int_equal(sendto(is_other ? fd : f->peer, &n, sizeof(n), 0, &f->client.any,
					 f->client_len),
			sizeof(n));
		for (int i = 0; i < 2 && got == 0; i++)
			got = burst_rx(NUMBER, 0, &m, 1);
		assert_int_equal(got, 1);
		assert_int_equal(frame_parse(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, &frame),
			FRAME_UDP);
		assert_memory_equal(frame.payload, &n, sizeof(n));
		assert_memory_equal(frame.src, is_other ? other.bytes : f->server.bytes, other.len);
		assert_int_equal(frame.src_port,
			is_other ? ntohs(other.len == 4 ? at.v4.sin_port : at.v6.sin6_port)
				 : f->home.server_port);
		burst_free(&m, 1);
	}
	assert_int_equal(counted(f).rx_packets, 3 * BURST_MAX);
	close(fd);
	fixture_free(f);
}

static void others_are_heard(void **state)
{
	others_are_heard_beside_a_peer("127.0.0.1", "127.0.0.1");
	others_are_heard_beside_a_peer("127.0.0.1", "127.0.0.2");
	others_are_heard_beside_a_peer("::1", "::1");
}

// While the peer keeps the socket busy, others have their turn.
static void others_are_heard_in_a_flood(void **state)
{
	struct fixture *f = fixture_new("127.0.0.1", true);
	union socket_addr at;
	socklen_t len = socket_addr_make(&at, f->server.bytes, 4, 0, 0);
	uint32_t bursts = 0, others = 0;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_int_equal(bind(fd, &at.any, len), 0);
	assert_int_equal(sendto(fd, "?", 1, 0, &f->client.any, f->client_len), 1);
	for (; others == 0 && bursts < 100; bursts++) {
		struct rte_mbuf *got[BURST_MAX];
		uint16_t n;

		tell(f, "answer", 6);
		n = burst_rx(NUMBER, 0, got, BURST_MAX);
		assert_true(n >= 1);
		others += n - 1;
		burst_free(got, n);
	}
	assert_int_equal(others, 1);
	close(fd);
	fixture_free(f);
}

// Another program must not take the port of a run, or part of its replies.
static void a_port_is_not_shared(void **state)
{
	struct fixture *f = fixture_new("127.0.0.1", true);
	int fd = socket(AF_INET, SOCK_DGRAM, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	assert_int_equal(bind(fd, &f->client.any, f->client_len), -1);
	close(fd);
	fixture_free(f);
}

// Without a free descriptor there is no socket beside, and none is connected.
static void others_are_heard_without_a_socket_beside(void **state)
{
	struct fixture *f = fixture_new("127.0.0.1", false);
	struct rlimit limit, none;
	struct rte_mbuf *m;
	union socket_addr at;
	socklen_t len = socket_addr_make(&at, f->server.bytes, 4, 0, 0);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_int_equal(bind(fd, &at.any, len), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){0, limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	f->home.server = &f->server;
	sockets_deal(f->sockets, home_of, f);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	tell(f, "answer", 6);
	assert_int_equal(sendto(fd, "?", 1, 0, &f->client.any, f->client_len), 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(burst_rx(NUMBER, 0, &m, 1), 1);
		burst_free(&m, 1);
	}
	close(fd);
	fixture_free(f);
}

static void a_datagram_that_is_too_long_is_no_whole_frame(void **state)
{
	struct fixture *f = fixture_new("127.0.0.1", true);
	static const uint8_t data[60000];
	struct rte_mbuf *m;
	struct frame frame;

	tell(f, data, sizeof(data));
	assert_int_equal(burst_rx(NUMBER, 0, &m, 1), 1);
	assert_int_equal(
		frame_parse(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, &frame), FRAME_BAD);
	burst_free(&m, 1);
	fixture_free(f);
}

// Makes a frame from the port to its peer, shortened by `cut`.
static struct rte_mbuf *frame_new(struct fixture *f, const void *data, uint32_t len, uint32_t cut)
{
	const struct frame_path path = {.dst = f->server, .dst_port = f->home.server_port};
	struct frame_template t;
	struct rte_mbuf *m;
	uint8_t *at;

	assert_true(burst_alloc(&f->device.pool, &m, 1));
	frame_template_build(&t, &path);
	at = rte_pktmbuf_mtod(m, uint8_t *);
	memcpy(at + t.len, data, len);
	m->data_len = (uint16_t)frame_stamp(
		&t, at, f->server.bytes, f->port, (struct frame_payload){len, 0});
	m->data_len = (uint16_t)(m->data_len > cut ? m->data_len - cut : 0);
	m->pkt_len = m->data_len;
	return m;
}

static void datagrams_go(const char *address, bool connected)
{
	struct fixture *f = fixture_new(address, connected);
	uint8_t data[1400], got[1500];
	struct rand r = {9};

	for (uint32_t n = 0; n < 300; n++) {
		uint32_t len = (uint32_t)(rand_next(&r) % sizeof(data));
		struct rte_mbuf *m;

		garbage(&r, data, len);
		m = frame_new(f, data, len, 0);
		assert_int_equal(burst_tx(NUMBER, 0, &m, 1), 1);
		assert_int_equal(recv(f->peer, got, sizeof(got), 0), len);
		assert_memory_equal(got, data, len);
	}
	assert_int_equal(counted(f).tx_packets, 300);
	assert_int_equal(counted(f).tx_errors, 0);
	fixture_free(f);
}

static void a_frame_becomes_a_datagram(void **state)
{
	datagrams_go("127.0.0.1", true);
	datagrams_go("127.0.0.1", false);
	datagrams_go("::1", true);
	datagrams_go("::1", false);
}

// Cut, with a changed octet, or from a port without a socket.
static void other_frames_are_counted_and_dropped(void **state)
{
	struct fixture *f = fixture_new("127.0.0.1", true);
	uint8_t data[64] = {0}, got[100];
	struct rand r = {11};
	uint64_t errors = 0;

	for (uint32_t n = 0; n < 3000; n++) {
		struct rte_mbuf *m = frame_new(f, data, sizeof(data), n % 110);
		uint8_t *at = rte_pktmbuf_mtod(m, uint8_t *);

		if (n >= 110)
			at[rand_next(&r) % FRAME_PLAIN_UDP + 4] ^=
				(uint8_t)(1 + rand_next(&r) % 255);
		assert_int_equal(burst_tx(NUMBER, 0, &m, 1), 1);
		while (recv(f->peer, got, sizeof(got), 0) >= 0)
			;
	}
	errors = counted(f).tx_errors;
	assert_true(errors >= 109); // each that is cut
	assert_int_equal(counted(f).tx_packets + errors, 3000);
	fixture_free(f);
}

static void a_refusal_by_icmp_is_a_frame(void **state)
{
	struct fixture *f = fixture_new("127.0.0.1", true);
	struct rte_mbuf *m = frame_new(f, "?", 1, 0), *got[4];
	struct frame frame;
	uint16_t n = 0;

	close(f->peer);
	f->peer = dup(0);
	assert_int_equal(burst_tx(NUMBER, 0, &m, 1), 1);
	for (int i = 0; i < 4 && n == 0; i++)
		n = burst_rx(NUMBER, 0, got, 4);
	assert_int_equal(n, 1);
	assert_int_equal(frame_parse(rte_pktmbuf_mtod(got[0], uint8_t *), got[0]->data_len, &frame),
		FRAME_ICMP_ERROR);
	assert_int_equal(frame.icmp_type, 3);
	assert_int_equal(frame.icmp_code, 3);
	burst_free(got, 1);
	fixture_free(f);
}

// The socket buffer has at least 64 KiB, less than these need: the kernel reports how many it
// dropped.
static void what_has_no_room_in_the_socket_is_missed(void **state)
{
	struct fixture *f;
	struct rte_mbuf *got[BURST_MAX];
	uint8_t data[1000] = {0};
	uint64_t came = 0;
	uint16_t n;

	if (unit_emulated())
		skip();
	f = fixture_new("127.0.0.1", true);
	for (int i = 0; i < 20000; i++)
		tell(f, data, sizeof(data));
	while ((n = burst_rx(NUMBER, 0, got, BURST_MAX)) > 0) {
		came += n;
		burst_free(got, n);
	}
	assert_true(came < 20000);
	assert_int_equal(counted(f).rx_packets, came);
	assert_int_equal(counted(f).rx_missed, 20000 - came);
	fixture_free(f);
}

// --- errors of the kernel

static struct {
	int sends[8], binds[8]; // errors of the next calls; 0 ends them
	unsigned sent, bound;
} errors;

int __wrap_sendmmsg(int fd, struct mmsghdr *m, unsigned n, int flags);
int __real_sendmmsg(int fd, struct mmsghdr *m, unsigned n, int flags);
int __wrap_bind(int fd, const struct sockaddr *at, socklen_t len);
int __real_bind(int fd, const struct sockaddr *at, socklen_t len);

int __wrap_sendmmsg(int fd, struct mmsghdr *m, unsigned n, int flags)
{
	if (!errors.sends[errors.sent])
		return __real_sendmmsg(fd, m, n, flags);
	errno = errors.sends[errors.sent++];
	return -1;
}

int __wrap_bind(int fd, const struct sockaddr *at, socklen_t len)
{
	if (!errors.binds[errors.bound])
		return __real_bind(fd, at, len);
	errno = errors.binds[errors.bound++];
	return -1;
}

static unsigned received(const struct fixture *f)
{
	unsigned n = 0;
	char octet;

	while (recv(f->peer, &octet, 1, MSG_DONTWAIT) >= 0)
		n++;
	return n;
}

// One that is most likely of an earlier message is tried again; a full socket ends the burst.
static void errors_of_a_send_are_of_one_message(void **state)
{
	static const struct {
		int errors[4];
		uint16_t taken;
		unsigned arrive;
		uint64_t failed;
	} rows[] = {
		{{0}, 3, 3, 0},
		{{EINTR, EINTR, EINTR, EINTR}, 3, 3, 0},
		{{ECONNREFUSED, ECONNREFUSED}, 3, 3, 0},
		{{EMSGSIZE, EMSGSIZE, EMSGSIZE}, 3, 2, 1},
		{{EMSGSIZE, EINTR, EMSGSIZE, EMSGSIZE}, 3, 2, 1},
		{{EAGAIN}, 0, 0, 0},
		{{ENOBUFS}, 0, 0, 0},
		{{ENOMEM}, 0, 0, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture *f = fixture_new("127.0.0.1", true);
		struct rte_mbuf *m[3];

		for (int k = 0; k < 3; k++)
			m[k] = frame_new(f, "text", 4, 0);
		memset(&errors, 0, sizeof(errors));
		memcpy(errors.sends, rows[i].errors, sizeof(rows[i].errors));
		assert_int_equal(burst_tx(NUMBER, 0, m, 3), rows[i].taken);
		assert_int_equal(errors.sends[errors.sent], 0); // all were met
		assert_int_equal(received(f), rows[i].arrive);
		assert_int_equal(counted(f).tx_errors, rows[i].failed);
		assert_int_equal(counted(f).tx_packets, rows[i].arrive);
		burst_free(m + rows[i].taken, 3 - rows[i].taken);
		fixture_free(f);
	}
}

// Opens the sockets of a group at 127.0.0.1, and returns the error.
static int open_at(struct socket_group *groups, uint32_t count, struct io_error *e)
{
	static struct addr_range own = {{.len = 4, .bytes = {127, 0, 0, 1}}, 1};
	struct port_settings p = {
		.name = "lan", .driver = socket_driver(), .mtu = 1500, .groups = {groups, count}};
	struct sockets *s = NULL;
	int err;

	for (uint32_t i = 0; i < count; i++)
		groups[i].addresses = (struct field_list){&own, 1};
	err = sockets_open(&p, 1, &s, e);
	sockets_close(s);
	return err;
}

static void a_socket_that_cannot_be_says_why(void **state)
{
	static const struct {
		uint16_t port;
		int error;
		const char *text;
	} rows[] = {
		{1023, EADDRINUSE,
			"port lan (socket): UDP port 1023 of 127.0.0.1 is in use by another "
			"program, like a "
			"server"},
		{1024, EADDRINUSE,
			"port lan (socket): UDP port 1024 of 127.0.0.1 is in use by another "
			"program: other "
			"source.ports"},
		{67, EACCES,
			"port lan (socket): UDP port 67 needs CAP_NET_BIND_SERVICE: run as root, "
			"or "},
		{5300, EADDRNOTAVAIL,
			"port lan (socket): 127.0.0.1 is not an address of this host"},
		{5300, ENOMEM,
			"port lan (socket): a socket on UDP port 5300 of 127.0.0.1: Cannot "
			"allocate memory"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct field_range port = {rows[i].port, rows[i].port};
		struct socket_group g = {.ports = {&port, 1}};
		struct io_error e = {""};

		errors.bound = 0;
		errors.binds[0] = rows[i].error;
		errors.binds[1] = 0;
		assert_int_equal(open_at(&g, 1, &e), -rows[i].error);
		if (strncmp(e.text, rows[i].text, strlen(rows[i].text)) != 0)
			fail_msg("%s", e.text);
	}
}

static void free_ports_are_tried_for(void **state)
{
	struct socket_group g = {.free_ports = 2};
	struct io_error e = {""};

	errors.bound = 0;
	for (int i = 0; i < 7; i++)
		errors.binds[i] = EADDRINUSE;
	assert_int_equal(open_at(&g, 1, &e), 0);
	assert_int_equal(errors.bound, 7);
	memset(errors.binds, 0, sizeof(errors.binds));
	errors.bound = 0;
	errors.binds[0] = EACCES; // not tried again
	assert_int_equal(open_at(&g, 1, &e), -EACCES);
	assert_int_equal(errors.bound, 1);
}

// A port that two items name is opened once.
static void items_share_their_ports(void **state)
{
	struct field_range port = {1, 1}, two = {1, 2};
	struct socket_group groups[2] = {{.ports = {&port, 1}}, {.ports = {&two, 1}}};
	struct io_error e = {""};
	struct fixture *f = fixture_new("127.0.0.1", true);

	// Two in a row that were free just now.
	for (port.first = 20000; port.first < 30000; port.first++) {
		port.last = two.first = port.first;
		two.last = port.first + 1;
		if (open_at(groups, 2, &e) == 0)
			break;
	}
	assert_true(port.first < 30000);
	port.first = port.last = f->port;
	assert_int_equal(open_at(groups, 1, &e), -EADDRINUSE); // of another
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_datagram_becomes_a_whole_frame),
		cmocka_unit_test(others_are_heard),
		cmocka_unit_test(others_are_heard_in_a_flood),
		cmocka_unit_test(others_are_heard_without_a_socket_beside),
		cmocka_unit_test(a_port_is_not_shared),
		cmocka_unit_test(a_datagram_that_is_too_long_is_no_whole_frame),
		cmocka_unit_test(a_frame_becomes_a_datagram),
		cmocka_unit_test(other_frames_are_counted_and_dropped),
		cmocka_unit_test(a_refusal_by_icmp_is_a_frame),
		cmocka_unit_test(what_has_no_room_in_the_socket_is_missed),
		cmocka_unit_test(errors_of_a_send_are_of_one_message),
		cmocka_unit_test(a_socket_that_cannot_be_says_why),
		cmocka_unit_test(free_ports_are_tried_for),
		cmocka_unit_test(items_share_their_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
