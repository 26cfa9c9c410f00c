// SPDX-License-Identifier: BSD-3-Clause
// Deliberately malformed messages (DHCP6_WRONGS); dhcp_wrong.h selects them. Path: hot. The
// worker that owns the message.
#pragma once

#include "proto/dhcp/v6/dhcp6_plan.h"

// Corrupt the finished message from m to w, before it is relayed; w fails if there is no room.
void dhcp6_wrong_spoil(uint32_t kind, uint8_t *m, struct writer *w, uint64_t random);
