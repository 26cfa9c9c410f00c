// SPDX-License-Identifier: BSD-3-Clause
// Before the start: finds the MAC of every item's next hop by ARP or ND, and makes the items'
// source addresses known to it, so that its first replies wait for no ARP or ND of its own.
// Path: cold. Management thread, while no worker runs on these ports.
#pragma once

#include <signal.h>

#include "engine/plan/plan_state.h"

// Returns 0; -ENOENT with e if there is no reply, with address and VLAN in the text; -EINTR when
// *signals becomes non-zero.
int resolve_all(struct plan *p, const volatile sig_atomic_t *signals, struct io_error *e);
