// SPDX-License-Identifier: BSD-3-Clause
// Bulk lease queries over TCP: DHCPv4 (RFC 6926) and DHCPv6 (RFC 5460). Path: cold. Any thread.
#pragma once

#include "proto/proto.h"

extern const struct proto leasequery4_proto;
extern const struct proto leasequery6_proto;
