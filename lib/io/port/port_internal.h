// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files of a port (port*.c) only. Path: cold. Management thread.
#pragma once

#include "io/port_state.h"

// Queue pairs on each of its devices.
unsigned port_queues_of_device(const struct port *port);

// Configure a probed device, its queues and their pools. 0, or -errno; with e if the cause is known
// beyond the driver's own output.
int port_configure(struct port *port, unsigned device, struct io_error *e);

// With its devices started: choose how replies are steered, by rules if the devices accept them.
void port_choose_steering(struct port *port);
void port_remove_rules(struct port *port); // if there are any

// Wait for links to come up, warn about dead links and missing offloads, note link speeds.
void port_wait_for_links(struct port *ports, unsigned count);
