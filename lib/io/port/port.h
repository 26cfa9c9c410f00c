// SPDX-License-Identifier: BSD-3-Clause
// From ports: in the file to started ethdev ports, and back. Every start-up error becomes one
// message with its remedy. A failed or killed start leaves nothing behind. Path: cold. Management
// thread, before and after the workers run.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/port_state.h"

// Open and start all ports into ports_out[count], on interfaces without the leftovers of killed
// runs. On failure none stays open and interfaces are as before.
int port_start_all(const struct port_settings *ports, unsigned count, struct port *ports_out,
	struct io_error *e);

// Stop and close the ports, detach XDP programs, restore interface flags.
void port_stop_all(struct port *ports, unsigned count);
