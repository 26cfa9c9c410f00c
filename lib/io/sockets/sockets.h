// SPDX-License-Identifier: BSD-3-Clause
// The UDP sockets of a port with driver: socket, and the resources of its TCP connections. They
// have addresses of the host and free ports; each belongs to one worker. The kernel finds next hops
// and answers ARP, ND and ping. Not here: bursts (io/sockets/sockets_burst.h,
// io/sockets/sockets_tcp.h). Path: cold. Management thread, while no worker runs.
#pragma once

#include "io/port_state.h"

// The sockets that an item needs: one for each of its addresses and ports, and one for each
// connection.
struct socket_group {
	struct field_list addresses; // struct addr_range
	struct field_list ports;     // struct field_range
	uint32_t free_ports;         // this many of any free ports, instead of `ports`
	uint64_t connections;        // over TCP, at a time; 0: none
	bool stream;                 // no UDP: the ports are for connections alone
	bool fixed;                  // a connection has its port, or none
	struct addr server;          // for messages; len 0: none
	bool listens;                // of a responder: it accepts connections, too, if there are
	                             // any
};

// The worker and the peer of the sockets on a port.
struct socket_home {
	uint16_t queue; // UINT16_MAX: address n of its group belongs to queue n mod queues
	const struct addr *server; // the peer for nearly all traffic, NULL: none
	uint16_t server_port;
};

struct sockets;

// The address from which the kernel sends to another one, by its routing table: 0 or -errno.
// device: interface to be bound to, or NULL. Nothing is sent.
int sockets_route(const struct addr *to, const char *device, struct addr *from);

// Is it an address of this host, in this namespace?
bool sockets_is_own(const struct addr *a);

// Bind all sockets of p->groups. 0, or -errno with e: -EADDRINUSE, -EADDRNOTAVAIL, -EACCES,
// -EMFILE, -ENETUNREACH. sockets_close is due in any case.
int sockets_open(
	const struct port_settings *p, uint16_t queues, struct sockets **out, struct io_error *e);

// Replaces the bursts of the started device of the port by the bursts of the sockets.
void sockets_attach(struct sockets *s, const struct port *port);

// The ports that were chosen for a group with free_ports (struct field_range); valid until
// sockets_close.
struct field_list sockets_ports(const struct sockets *s, uint32_t group);

// Before a run: connect each socket, and give it to its queue. home: of a port number.
void sockets_deal(struct sockets *s, struct socket_home (*home)(void *of, uint16_t port), void *of);

// Descriptors that are readable when something waits for the queue: their number, up to room. Until
// the sockets are dealt again.
uint32_t sockets_wait(const struct sockets *s, uint16_t queue, int *fds, uint32_t room);

// Adds to out. The kernel's drops count as missed.
void sockets_read(const struct sockets *s, struct port_counters *out);

// Why the kernel refused the last packet, or NULL.
const char *sockets_send_error(const struct sockets *s);

void sockets_close(struct sockets *s); // NULL: nothing
