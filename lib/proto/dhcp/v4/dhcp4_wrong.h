// SPDX-License-Identifier: BSD-3-Clause
// Deliberately malformed messages (DHCP4_WRONGS); dhcp_wrong.h selects them. Path: hot. The
// worker that owns the message.
#pragma once

#include "proto/dhcp/v4/dhcp4_plan.h"

// Corrupt the finished message of len bytes. New length; 0: no room.
uint32_t dhcp4_wrong_spoil(
	uint32_t kind, uint8_t *buf, uint32_t len, uint32_t room, uint64_t random);
