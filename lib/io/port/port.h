// SPDX-License-Identifier: BSD-3-Clause
// From ports: in the file to started ethdev ports, and back. Every start-up error becomes one clear
// message that says what to do. A failed or killed start leaves nothing behind. Path: cold.
// Management thread, before and after the workers run.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/port_state.h"

// The device as its driver names it: "veth", "net_ixgbe 0000:01:00.0". false: it is none of the box
// (ring, null, files).
bool port_nic(const struct port *port, char *text, size_t room);

// Open and start all ports into ports_out[count], on interfaces without the leftovers of killed
// runs. On failure none stays open and interfaces are as before.
int port_start_all(const struct port_settings *ports, unsigned count, struct port *ports_out,
	struct io_error *e);

// Bits per second of its link, if known before the port is opened; 0: unknown.
uint64_t port_link_expected(const struct port_settings *p);

void port_read_counters(struct port *p, struct port_counters *out);
// Between two runs: drop packets that wait in the queues; the counters start again.
void port_renew(struct port *p);
// The counters start again.
void port_count_anew(struct port *p);
bool port_link_up(const struct port *p);

// Stop and close the ports, detach XDP programs, restore interface flags.
void port_stop_all(struct port *ports, unsigned count);
