// SPDX-License-Identifier: BSD-3-Clause
// How libpcap receives for a pcap port. DPDK asks it for snapshots of 16 KiB and, before 26.07, not
// for immediate mode: the kernel then fills eight blocks and hands over each of them full or after
// a tick, so that packets wait, and a pause of eight ticks loses some however few there are. Path:
// cold. Management thread.
#pragma once

#define PCAP_RING_BYTES (16u << 20) // 8 192 packets at an MTU of 1 500

struct port_settings;

// What the driver opens from here on is for this port.
void pcap_ring_for(const struct port_settings *p);
