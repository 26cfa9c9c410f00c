// SPDX-License-Identifier: BSD-3-Clause
// The machine that a stepped run sees: 16 CPUs that are never busy, memory without end, one clock.
// Path: tests only.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Clock and devices for another run with these settings.
struct world_settings;
void machine_reset(const struct world_settings *s);

void device_reset(bool by_ports, bool stamped);

const uint64_t *world_clock(void);

// Packets of a pool that nobody has given back: that many so far.
void machine_leaked(uint64_t packets);
uint64_t machine_leaks(void);
