// SPDX-License-Identifier: BSD-3-Clause
// DNS records that follow leases, as a row of protos[]. Path: cold. Any thread.
#pragma once

#include "proto/proto.h"

extern const struct proto ddns_proto;
