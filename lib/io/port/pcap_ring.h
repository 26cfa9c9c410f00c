// SPDX-License-Identifier: BSD-3-Clause
// The receive buffer of libpcap for a pcap port. DPDK asks for snapshots of 16 KiB and, before
// 26.07, not for immediate mode. The kernel then fills eight blocks and delivers a block when it is
// full or after a tick. So packets wait, and a pause of eight ticks loses some at any rate.
// Path: cold. Management thread.
#pragma once

#define PCAP_RING_BYTES (16u << 20) // 8 192 packets at an MTU of 1 500

struct port_settings;

// Captures that the driver opens from here on are for this port.
void pcap_ring_for(const struct port_settings *p);
