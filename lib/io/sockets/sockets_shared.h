// SPDX-License-Identifier: BSD-3-Clause
// Shared by the bursts over UDP sockets and the connections over TCP sockets: addresses for the
// kernel, and the counters of a queue. Path: driver. Any thread.
#pragma once

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "net/csum.h"

union socket_addr {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

// The arrival time of a message by recvmsg (SO_TIMESTAMPNS).
struct socket_stamp {
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(struct timespec))];
};

// Where the stamps of a port's sockets are left: see stamps_field. at 0: nowhere.
struct socket_stamping {
	int at;
	uint64_t flag;
};

// A message for a socket with stamps, before each call; its stamp is in *s then.
static inline void socket_stamp_ask(struct msghdr *m, struct socket_stamp *s)
{
	m->msg_control = s->control;
	m->msg_controllen = sizeof(s->control);
}

// Stores the stamp of a received message in its mbuf and sets the mbuf's flag.
static inline void socket_stamp_put(
	const struct socket_stamping *to, struct msghdr *from, struct rte_mbuf *m)
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(from);
	struct timespec t;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS)
		return;
	memcpy(&t, CMSG_DATA(c), sizeof(t));
	*RTE_MBUF_DYNFIELD(m, to->at, uint64_t *) =
		(uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	m->ol_flags |= to->flag;
}

struct socket_counters {
	_Atomic uint64_t rx_packets, rx_bytes, rx_no_mbuf, tx_packets, tx_bytes, tx_errors,
		retransmitted;
	_Atomic int tx_error; // errno of the last one
};

// One writer each.
#define SOCKET_COUNT(counter, n)                                                                   \
	atomic_store_explicit(&(counter),                                                          \
		atomic_load_explicit(&(counter), memory_order_relaxed) + (n),                      \
		memory_order_relaxed)

static inline uint32_t socket_hash(const uint8_t *addr, uint8_t addr_len, uint16_t port)
{
	uint32_t low;

	memcpy(&low, addr + addr_len - 4, 4);
	return ((__builtin_bswap32(low) * 31 + port) * 0x9e3779b1u) >> 8;
}

// As the kernel wants it: its length.
static inline socklen_t socket_addr_make(union socket_addr *out, const uint8_t *addr,
	uint8_t addr_len, uint16_t port, uint32_t scope)
{
	memset(out, 0, sizeof(*out));
	if (addr_len == 4) {
		out->v4.sin_family = AF_INET;
		out->v4.sin_port = csum_be16(port);
		memcpy(&out->v4.sin_addr, addr, 4);
		return sizeof(out->v4);
	}
	out->v6.sin6_family = AF_INET6;
	out->v6.sin6_port = csum_be16(port);
	memcpy(&out->v6.sin6_addr, addr, 16);
	out->v6.sin6_scope_id = scope;
	return sizeof(out->v6);
}
