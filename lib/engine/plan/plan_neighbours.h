// SPDX-License-Identifier: BSD-3-Clause
// The link layer of the paths of an item. Path: cold. Management thread.
#pragma once

#include "engine/plan/plan_state.h"

// Returns the VLAN tags of the frames on a path: the port's, then the path's own.
struct frame_vlans plan_vlans(const struct plan_item *i, uint32_t path);

// Returns whether the next hop is a broadcast or group address, and if so its MAC.
bool plan_group_mac(const struct addr *hop, uint8_t mac[6]);
