// SPDX-License-Identifier: BSD-3-Clause
// The sections ports: and host: of the file, and their rules. Path: cold. Management thread.
#pragma once

#include <stdbool.h>

#include "io/port_state.h"

struct diag;

extern const struct field_section port_section;
extern const struct field_section host_section;

// Checks the settings of each port and the rules between ports; errors go to d.
void port_check_all(const struct port_settings *ports, unsigned count, struct diag *d);

// Does the address belong to the port?
bool port_has(const struct port_settings *p, const struct addr *a);
// The other end of a ring port: the port that it names, or that names it. -1: none.
int port_ring_peer(const struct port_settings *ports, unsigned count, unsigned index);
