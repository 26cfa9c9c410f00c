// SPDX-License-Identifier: BSD-3-Clause
// DNS over UDP, client and server: the row of protos[]. Path: cold (the row) | hot (the verbs that
// it points to).
#pragma once

#include "proto/proto.h"

extern const struct proto dns_proto;
