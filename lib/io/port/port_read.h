// SPDX-License-Identifier: BSD-3-Clause
// Facts of a port and its counters, read from the device. Path: cold. Management thread.
#pragma once

#include "io/port_state.h"

// The device as named by its driver: "veth", "net_ixgbe 0000:01:00.0". Returns false if the port
// uses no device of this machine (ring, null, files).
bool port_nic(const struct port *port, char *text, size_t room);

// Bits per second of the link, as known before the port is opened; 0 if unknown.
uint64_t port_link_expected(const struct port_settings *p);

void port_read_counters(struct port *p, struct port_counters *out);
// Between two runs: drops the packets in the queues and resets the counters.
void port_renew(struct port *p);
// Resets the counters.
void port_count_anew(struct port *p);
bool port_link_up(const struct port *p);
