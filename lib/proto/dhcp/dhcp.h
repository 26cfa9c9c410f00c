// SPDX-License-Identifier: BSD-3-Clause
// DHCPv4 and DHCPv6, each as clients, relays and a server: the rows of protos[]. Path: cold (the
// rows) | hot (their functions).
#pragma once

#include "proto/proto.h"

extern const struct proto dhcp4_proto;
extern const struct proto dhcp6_proto;
