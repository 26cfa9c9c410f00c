// SPDX-License-Identifier: BSD-3-Clause
// What a port receives beside the items' packets, by kind. Path: hot (written by one worker) | cold
// (read after it has ended).
#pragma once

#include <stdint.h>

#include "base/counter.h"

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
struct wire_counters {
	uint64_t neighbour_answered, echo_answered;
	uint64_t unmatched, fragments, wrong_vlan, bad_checksum, bad_frame, other;
	uint64_t answer_refused;
	uint64_t icmp_errors[ICMP_KINDS];
};

extern const struct counter_section wire_section;
