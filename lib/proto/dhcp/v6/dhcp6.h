// SPDX-License-Identifier: BSD-3-Clause
// The row of DHCPv6 in the table of protocols. Path: cold. Any thread.
#pragma once

#include "proto/proto.h"

extern const struct proto dhcp6_proto;
