// SPDX-License-Identifier: BSD-3-Clause
// The link layer of the paths of an item. Path: cold. Management thread.
#pragma once

#include "engine/plan/plan_state.h"

// Tags of the frames on a path: the port's, then the path's own.
struct frame_vlans plan_vlans(const struct plan_item *i, uint32_t path);

// The next hop of a path has a MAC that is not to be asked for: broadcast, or a group.
bool plan_group_mac(const struct addr *hop, uint8_t mac[6]);
