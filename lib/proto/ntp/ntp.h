// SPDX-License-Identifier: BSD-3-Clause
// NTP over UDP, client and server (RFC 5905): the row of protos[]. Path: cold (the row) | hot (its
// verbs).
#pragma once

#include "proto/proto.h"

extern const struct proto ntp_proto;
