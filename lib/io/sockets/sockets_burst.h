// SPDX-License-Identifier: BSD-3-Clause
// The driver of socket ports, beneath the bursts of io/burst.h: frames become datagrams of UDP
// sockets, and datagrams become frames. Like a driver of DPDK it stands in DPDK's table of drivers,
// and makes system calls. Not here: which sockets there are (io/sockets/sockets.h), and TCP
// (io/sockets/sockets_tcp.h). Path: driver. The worker that owns the queue; counters: any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "io/burst.h"
#include "io/sockets/sockets_shared.h"
#include "net/frame.h"

#define SOCKETS_NONE  UINT32_MAX
#define SOCKET_OTHERS (1u << 31) // beside an index into ends: not fd, but others

struct socket_tcp;

// A socket that is bound to an address and port of the host.
struct socket_end {
	int fd;
	struct addr addr;
	uint16_t port;
	uint16_t queue; // that receives from it
	bool connected; // to peer
	int others;     // second fd beside a connected one, for datagrams of other hosts; -1: none
	bool failed;    // errors may wait in its error queue
	uint32_t scope; // of a link-local address: number of the interface
	union socket_addr peer;   // connected
	struct frame_template in; // headers of received datagrams
};

// All sockets of a port, found by address and port. Const while workers run, but for `failed`.
struct socket_table {
	struct socket_end *ends;
	uint32_t count;
	uint32_t *slots; // index into ends or SOCKETS_NONE, by hash; linear probing
	uint32_t mask;
};

struct socket_queue {
	// ctlplane: wo before the launch
	struct socket_table *table;
	struct rte_mempool *pool; // of received packets
	uint32_t *members;        // index into ends
	uint32_t member_count;
	int epoll;              // of its members; -1: it has one at most
	struct socket_tcp *tcp; // NULL: the port has no connections
	struct socket_stamping stamping;
	// dataplane: rw
	uint32_t ready[BURST_MAX]; // members that may have datagrams, some with SOCKET_OTHERS
	uint32_t ready_first, ready_count;
	uint32_t asked;                     // times that the only member had datagrams
	uint16_t empty;                     // of the buffers to receive into, that are to be filled
	struct rte_mbuf *into[BURST_MAX];   // where the next datagrams go
	struct mmsghdr in[BURST_MAX];       // from the peer of a connected socket
	struct mmsghdr in_named[BURST_MAX]; // with the sender's address
	struct iovec in_data[BURST_MAX];
	struct socket_stamp in_stamp[BURST_MAX]; // when they arrived
	union socket_addr in_from[BURST_MAX];
	struct mmsghdr out[BURST_MAX];
	struct iovec out_data[BURST_MAX];
	union socket_addr out_to[BURST_MAX];
	struct socket_counters counters;
};

// Enter ends[i], for which there is room.
void socket_table_add(struct socket_table *t, uint32_t i);

// To be called once before a queue is used.
void socket_queue_prepare(struct socket_queue *q);
// Buffers go back to their pool.
void socket_queue_empty(struct socket_queue *q);

// queue: struct socket_queue. As eth_rx_burst_t and eth_tx_burst_t of DPDK. A received frame has
// complete headers and whole checksums; ICMP errors of the kernel are frames, too.
uint16_t socket_rx_burst(void *queue, struct rte_mbuf **pkts, uint16_t n);
// Frames that no socket can send or that the kernel refuses for good are counted and dropped. When
// the kernel has no room, the frames from there on are not taken.
uint16_t socket_tx_burst(void *queue, struct rte_mbuf **pkts, uint16_t n);
