// SPDX-License-Identifier: BSD-3-Clause
// Checks before the start whether another host has an address of the tester's, by ARP probes (RFC
// 5227) and neighbour solicitations for duplicate address detection (RFC 4862), in less time than
// these RFCs ask for. Path: cold. Management thread, while no worker runs on these ports.
#pragma once

#include <signal.h>

#include "engine/plan/plan_state.h"

#define ADDRESS_PROBE_MAX 16384 // addresses of a port that are probed

struct address_probe {
	uint64_t asked;    // addresses
	uint64_t left_out; // beyond ADDRESS_PROBE_MAX, or the device accepted no probe
	double seconds;
};

// Probes the ports that ports[].address_probe selects, but not for leases of clients. The workers
// do not count packets that arrive meanwhile. Returns 0; -EADDRINUSE with e, which names the other
// host; or -EINTR when *signals becomes non-zero.
int address_probe_run(struct plan *p, const volatile sig_atomic_t *signals,
	struct address_probe *out, struct io_error *e);
