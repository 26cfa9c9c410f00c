// SPDX-License-Identifier: BSD-3-Clause
// A DNS server over the kernel's TCP that costs next to nothing: each query goes back as an answer
// (NOERROR, no records, the question kept). One thread that sleeps until there is something to
// read; all whole queries of a read leave in one write. For tests/bench alone.
// Usage: reflect_tcp ADDRESS PORT
#include <arpa/inet.h>
#include <endian.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define LENGTH    2u
#define FLAGS_AT  (LENGTH + 2u)
#define FLAGS_QR  0x80
#define LEAST     (LENGTH + 12u)
#define BYTES     (1u << 17)
#define EVENTS    64
#define PEERS_MAX 4096

static struct peer {
	uint8_t bytes[BYTES];
	uint32_t len;
} * peers[PEERS_MAX];

static void peer_close(int fd)
{
	free(peers[fd]);
	peers[fd] = NULL;
	close(fd);
}

static int server_open(const char *address, const char *port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;

	if (inet_pton(AF_INET, address, &at.sin_addr) != 1)
		errx(2, "%s is no IPv4 address", address);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 1024) < 0)
		err(2, "%s port %s", address, port);
	return fd;
}

static void server_accept(int server, int epoll)
{
	int fd = accept4(server, NULL, NULL, SOCK_NONBLOCK), on = 1;
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	if (fd < 0 || fd >= PEERS_MAX)
		errx(2, "no connection was accepted");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	peers[fd] = calloc(1, sizeof(*peers[fd]));
	if (!peers[fd] || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		err(2, "a connection");
}

// Make answers of the whole queries, and return their length.
static uint32_t answer(uint8_t *bytes, uint32_t len)
{
	uint32_t done = 0, whole;

	while (len - done >= LEAST) {
		whole = LENGTH + (uint32_t)(bytes[done] << 8 | bytes[done + 1]);
		if (whole < LEAST || len - done < whole)
			break;
		bytes[done + FLAGS_AT] |= FLAGS_QR;
		done += whole;
	}
	return done;
}

// What the socket does not take is waited for: the peer reads all the time.
static int write_all(int fd, const uint8_t *bytes, uint32_t len)
{
	while (len) {
		ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN)
			return -1;
		if (n > 0) {
			bytes += n;
			len -= (uint32_t)n;
		}
	}
	return 0;
}

static void peer_serve(int fd)
{
	struct peer *p = peers[fd];
	ssize_t n = recv(fd, p->bytes + p->len, BYTES - p->len, 0);
	uint32_t done;

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		peer_close(fd);
		return;
	}
	p->len += (uint32_t)n;
	done = answer(p->bytes, p->len);
	if (write_all(fd, p->bytes, done) < 0) {
		peer_close(fd);
		return;
	}
	p->len -= done;
	memmove(p->bytes, p->bytes + done, p->len);
}

int main(int argc, char **argv)
{
	int server = argc == 3 ? server_open(argv[1], argv[2]) : -1, epoll = epoll_create1(0);
	struct epoll_event events[EVENTS], own = {.events = EPOLLIN, .data.fd = server};

	if (server < 0)
		errx(2, "usage: reflect_tcp ADDRESS PORT");
	epoll_ctl(epoll, EPOLL_CTL_ADD, server, &own);
	for (;;) {
		int n = epoll_wait(epoll, events, EVENTS, -1);

		for (int i = 0; i < n; i++) {
			if (events[i].data.fd == server)
				server_accept(server, epoll);
			else
				peer_serve(events[i].data.fd);
		}
	}
}
