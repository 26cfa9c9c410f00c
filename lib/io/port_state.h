// SPDX-License-Identifier: BSD-3-Clause
// A port from its entry of ports: to the started ethdev, as the files that work on it see it, and
// the settings of the process for all ports. Path: cold. Management thread; const while workers
// run.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/counter.h"
#include "base/field.h"
#include "io/drops.h"
#include "io/steer.h"

#define PORT_MAX        16
#define PORT_MAX_QUEUES 16
#define PORT_HEADROOM   128  // bytes before the data of every mbuf, RTE_PKTMBUF_HEADROOM
#define BURST_MAX       64   // packets of a burst
#define PORT_XDP_MTU    3434 // of XDP sockets: an mbuf in its pool is within a page

struct rte_mbuf;
struct rte_mempool;
struct rte_ring;
struct sockets;

// One entry of ports:, filled by port_section.
struct port_settings {
	const char *name;
	int32_t driver;      // index into drivers[]
	const char *device;  // kernel interface, PCI address, socket path, peer port's name (ring),
	                     // devargs (vdev)
	const char *rx_file; // pcap: read from, instead of a live interface
	const char *tx_file; // pcap: write to
	struct field_list
		cpus; // struct field_range; one worker and one queue pair each; empty: automatic
	struct field_list addresses; // struct addr_prefix
	struct field_list gateway;   // struct addr, at most one per family
	struct field_list vlans;     // uint64_t (FIELD_COUNT), outermost first
	uint64_t mtu;
	uint32_t longest; // packet, above mtu, that leaves by sockets: set by the plan
	uint64_t burst;   // packets per burst; 0 or UINT64_MAX: the driver's
	uint64_t rx_descriptors, tx_descriptors; // 0 or UINT64_MAX: automatic
	uint64_t mbufs;                          // per pool; 0 or UINT64_MAX: automatic
	double link_speed;                       // bits per second; 0 or INFINITY: the device's
	uint64_t send_buffer, receive_buffer;    // of each socket; 0 or UINT64_MAX: automatic
	bool checksum_offload;                   // let the device finish checksums when it can
	bool force;                              // use an interface that the host uses
	int32_t steering_probe;                  // enum probe_when
	int32_t address_probe;                   // enum probe_when
	uint64_t held;    // no setting: packets that its sender keeps for later, buffers on top of
	                  // mbufs auto
	bool promiscuous; // no setting: its clients have Ethernet addresses of their own
	uint32_t queues;  // no setting: least number of queue pairs
	bool answers;     // no setting: received packets go from many source ports to one
	struct field_list homes; // no setting: struct rule_home, addresses that are a queue's
	struct field_list
		relays;   // not a setting: struct addr_range, addresses that distinguish replies
	bool has_ports;   // no setting: its items have source ports, a queue's each
	bool has_streams; // no setting: connections begin or end there
	struct field_list groups;  // no setting: struct socket_group, of each item
	struct field_list tags;    // not a setting: uint16_t, outermost VLANs of received packets
	struct field_list listens; // no setting: uint8_t[6], MACs of the multicast groups it awaits
	bool listens_more;         // no setting: there are others, too many or not known before
};

static inline bool port_buffer_given(uint64_t bytes)
{
	return bytes != 0 && bytes != UINT64_MAX;
}

#define PORT_GROUPS_MAX 30 // virtual functions take no more

// A probe before the run: where it makes sense, always, never.
enum probe_when { PROBE_AUTO, PROBE_ALWAYS, PROBE_NEVER };

// host: in the file.
struct host_settings {
	uint64_t management_cpu; // UINT64_MAX: automatic
	int32_t memory;          // enum host_memory
	uint64_t memory_size;    // bytes, UINT64_MAX: automatic
	int32_t idle;            // enum host_idle
	struct field_list crew;  // struct field_range: CPUs; empty: there is none
};

enum host_memory { MEMORY_AUTO, MEMORY_HUGEPAGES, MEMORY_PAGES };
// An idle worker's behaviour. AUTO: it polls on an isolated CPU, and sleeps elsewhere.
enum host_idle { IDLE_AUTO, IDLE_POLL, IDLE_SLEEP };

#define LCORE_ANY_CPU UINT32_MAX // any CPU that the process may use: the kernel chooses

// Which CPU runs which lcore. lcore 0 is the management thread; worker i runs on lcore 1 + i.
struct lcore_plan {
	uint32_t management_cpu;
	uint32_t worker_cpus[PORT_MAX * PORT_MAX_QUEUES];
	uint32_t worker_count;
};

// A message for the user: the failure, and the command or setting that helps. One per failed start.
struct io_error {
	char text[1024];
};

// Counters of the device since the run began, one row each: members, differences and the figures of
// ports[] in the result are made from them.
#define PORT_COUNTERS(X)                                                                           \
	X(rx_packets, "packets received by the device")                                            \
	X(tx_packets, "packets sent by the device")                                                \
	X(rx_missed, "dropped by the device: no room")                                             \
	X(rx_no_mbuf, "dropped by the device: no free buffer")                                     \
	X(tx_errors, "packets that the device failed to send")                                     \
	X(retransmitted, "segments that the kernel's TCP sent again; driver socket")               \
	X(rx_bytes, "octets received; 0: the driver does not count them")                          \
	X(tx_bytes, "octets sent; 0: the driver does not count them")

struct port_counters {
	PORT_COUNTERS(COUNTER_MEMBER)
	bool rx_missed_known;
};

// The place of a queue pair. With a driver of one queue per device a port has several devices.
struct port_queue {
	uint16_t device, number; // ethdev, and queue of it
};

// One started port. Const while workers run.
struct port {
	const struct port_settings *settings;
	const struct driver *driver;
	uint16_t devices[PORT_MAX_QUEUES]; // ethdevs
	uint16_t device_count;
	struct port_queue queue[PORT_MAX_QUEUES];
	struct steer steer;
	uint8_t mac[6];
	uint8_t vlan_count;
	uint16_t vlans[2];
	uint16_t queues;
	uint16_t burst;
	uint16_t room;          // bytes of an mbuf, headroom included
	bool checksum_offload;  // in effect
	bool filters_vlans;     // drops VLANs that are not configured
	bool is_function;       // a virtual function: the driver of its card decides with it
	bool reports_checksums; // received checksum verdicts are in the mbuf flags
	uint64_t link_bps;      // 0: unknown
	struct rte_mempool *rx_pool[PORT_MAX_QUEUES];
	struct rte_mempool *tx_pool[PORT_MAX_QUEUES];
	struct port_counters before; // the device's counters when the run began
	// For port_stop_all alone.
	int claim;                              // on its interface (io/driver/state.h), 0: none
	struct port_settings named;             // vdev: the port that its devargs amount to
	char named_device[64];                  // of it, "": none
	struct drops drops;                     // af_packet
	int multicast;                          // descriptor that keeps multicast coming, 0: none
	struct rte_ring *ring[PORT_MAX_QUEUES]; // driver ring: this port sends into it
	struct sockets *sockets;                // driver socket, else NULL
};
