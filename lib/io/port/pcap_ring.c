// SPDX-License-Identifier: BSD-3-Clause
// Replaces pcap_open_live of libpcap for DPDK's driver, which has no setting for the ring: the
// linker finds the program's function first. Path: cold. Management thread.
#include "io/port/pcap_ring.h"

#include <pcap/pcap.h>
#include <stdio.h>

#include "io/port_state.h"

// The kernel puts its own header before a packet and gives it half a page or whole ones.
#define FRAME_MIN (2048 - 96)

static int snapshot = FRAME_MIN;

void pcap_ring_for(const struct port_settings *p)
{
	unsigned frame = 14 + 2 * 4 + (unsigned)p->mtu; // the longest: Ethernet, two VLAN tags

	snapshot = frame > FRAME_MIN ? (int)frame : FRAME_MIN;
}

static pcap_t *fail(pcap_t *p, const char *device, int status, char *why)
{
	const char *more = pcap_geterr(p);

	snprintf(why, PCAP_ERRBUF_SIZE, "%.32s: %.128s%s%.90s", device, pcap_statustostr(status),
		*more ? ": " : "", more);
	pcap_close(p);
	return NULL;
}

// Only less than the caller wants to see of a packet, never more.
pcap_t *pcap_open_live(const char *device, int snaplen, int promisc, int to_ms, char *errbuf)
{
	pcap_t *p = pcap_create(device, errbuf);
	int status;

	if (!p)
		return NULL;
	pcap_set_snaplen(p, snaplen < snapshot ? snaplen : snapshot);
	pcap_set_promisc(p, promisc);
	pcap_set_timeout(p, to_ms);
	pcap_set_immediate_mode(p, 1);
	pcap_set_buffer_size(p, (int)PCAP_RING_BYTES);
	status = pcap_activate(p);
	return status < 0 ? fail(p, device, status, errbuf) : p;
}
