// SPDX-License-Identifier: BSD-3-Clause
// The kernel's TCP beneath the bursts of a socket port: the other end of each connection of a
// worker. A SYN of the worker opens a socket, its segments become bytes of the socket, and received
// bytes become segments. Nothing is lost or reordered between them, so there is no timer. Bytes
// that the kernel does not take are not acknowledged, and nothing is read beyond the worker's
// window, so no bytes are buffered here. Ports are chosen in io/sockets/sockets.h.
// Path: driver | cold (new, reset, free). The worker that owns the queue.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/burst.h"
#include "io/sockets/sockets_shared.h"
#include "net/frame.h"

struct socket_tcp_shape {
	uint32_t count;     // connections at a time
	const char *device; // that sockets are bound to, or NULL
	uint32_t scope;     // of link-local addresses: number of the interface
	const bool *fixed;  // [65536] source ports from the user: if the kernel refuses any other
	                    // port, it chooses one itself
	uint64_t send_buffer, receive_buffer; // as port_settings has them
	struct socket_stamping stamping;
	struct socket_counters *counters;
};

struct socket_tcp;

// A listening socket of the port. It is closed with the others. An incoming SYN goes to the worker,
// which may accept it. 0, or -errno.
int socket_tcp_listen(struct socket_tcp *t, int fd);

// NULL with errno: no memory, or no descriptor.
struct socket_tcp *socket_tcp_new(const struct socket_tcp_shape *shape);
// Buffers of received segments.
void socket_tcp_attach(struct socket_tcp *t, struct rte_mempool *pool);
// Close all connections, by a reset.
void socket_tcp_reset(struct socket_tcp *t);
void socket_tcp_free(struct socket_tcp *t); // NULL: nothing

// Readable when the kernel has news of a connection.
int socket_tcp_descriptor(const struct socket_tcp *t);

// Takes a frame of the worker. Returns false if it is not TCP, or if the kernel refused its
// connection: the caller counts it, and the worker's SYN stays without an answer.
bool socket_tcp_tx(struct socket_tcp *t, const struct rte_mbuf *m);
// Up to n segments for the worker, with complete headers; checksums are not computed.
uint16_t socket_tcp_rx(struct socket_tcp *t, struct rte_mbuf **pkts, uint16_t n);
