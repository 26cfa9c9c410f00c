// SPDX-License-Identifier: BSD-3-Clause
// Before the start: find the MAC of every item's next hop by ARP or ND. Make the items' source
// addresses known to it, so that its first replies wait for no ARP or ND of its own. Path: cold.
// Management thread, while no worker runs on these ports.
#pragma once

#include <signal.h>

#include "engine/plan/plan_state.h"

// 0; -ENOENT with e: no reply; the text has address and VLAN; -EINTR: *signals became
// non-zero.
int resolve_all(struct plan *p, const volatile sig_atomic_t *signals, struct io_error *e);
