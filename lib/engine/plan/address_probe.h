// SPDX-License-Identifier: BSD-3-Clause
// Before the start: does another host have an address of the tester's? Asks by ARP probes (RFC
// 5227) and neighbour solicitations for duplicate address detection (RFC 4862), in less time than
// these RFCs allow. Path: cold. Management thread, while no worker runs on these ports.
#pragma once

#include <signal.h>

#include "engine/plan/plan_state.h"

#define ADDRESS_PROBE_MAX 16384 // addresses of a port that are asked for

struct address_probe {
	uint64_t asked;    // addresses
	uint64_t left_out; // beyond ADDRESS_PROBE_MAX, or the device took no question
	double seconds;
};

// Ports by ports[].address_probe; leases of clients are not asked for. What comes meanwhile is not
// counted by the workers. 0; -EADDRINUSE with e: an
// address has another host, which the text names; -EINTR: *signals became non-zero.
int address_probe_run(struct plan *p, const volatile sig_atomic_t *signals,
	struct address_probe *out, struct io_error *e);
