// SPDX-License-Identifier: BSD-3-Clause
// Packets of a port that belong to no item, by kind. Path: hot (written by one worker) | cold
// (read after it has ended).
#pragma once

#include <stdint.h>

#include "base/counter.h"
#include "net/fragments.h"

enum icmp_kind {
	ICMP_NET_UNREACHABLE,
	ICMP_HOST_UNREACHABLE,
	ICMP_PORT_UNREACHABLE,
	ICMP_PROHIBITED,
	ICMP_TOO_BIG,
	ICMP_TIME_EXCEEDED,
	ICMP_REDIRECT,
	ICMP_OTHER,
	ICMP_KINDS,
};

// Packets that belong to no item of traffic.
#define WIRE_COUNTERS(X, A)                                                                        \
	X(neighbour_answered, "ARP requests and neighbour solicitations answered")                 \
	X(echo_answered, "pings answered")                                                         \
	X(unmatched, "UDP to an address or port that no item uses")                                \
	X(fragments, "IP fragments received")                                                      \
	X(reassembled, "datagrams reassembled from fragments")                                     \
	X(duplicate_fragments, "fragments received twice before the datagram was complete")        \
	X(wrong_vlan, "on other VLANs than the port's")                                            \
	X(bad_checksum, "checksum wrong")                                                          \
	X(bad_frame, "truncated, or with inconsistent lengths")                                    \
	X(other, "other packets")                                                                  \
	X(answer_refused, "ARP, ND or ping replies that the device did not take")                  \
	X(neighbour_asked, "next hops asked for again, as no reply came")                          \
	X(neighbour_changed, "times the MAC address of a next hop changed")                        \
	X(address_conflicts,                                                                       \
		"ARP and ND packets of other hosts that use an address of the tester")             \
	X(answer_over_budget, "ARP, ND and ping requests left unanswered: over 100 in a ms")       \
	A(icmp_errors, ICMP_KINDS, icmp_label, "ICMP errors by kind")                              \
	A(not_reassembled, FRAGMENTS_REASONS, fragments_label,                                     \
		"datagrams not reassembled from their fragments, by reason")

struct wire_counters {
	WIRE_COUNTERS(COUNTER_MEMBER, COUNTER_MEMBERS)
};

extern const struct counter_section wire_section;
