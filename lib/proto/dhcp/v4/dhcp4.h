// SPDX-License-Identifier: BSD-3-Clause
// DHCPv4, as clients and relays and as a server: the row of protos[]. Path: cold (the row) | hot
// (what it points to).
#pragma once

#include "proto/proto.h"

extern const struct proto dhcp4_proto;
