// SPDX-License-Identifier: BSD-3-Clause
// DNS over UDP, asking and answering: the row of protos[]. Path: cold (the row) | hot (what it
// points to).
#pragma once

#include "proto/proto.h"

extern const struct proto dns_proto;
