// SPDX-License-Identifier: BSD-3-Clause
// Echo and discard (RFC 862, RFC 863) over UDP and TCP: the row of protos[]. Echo is the least work
// for a server, so the figures describe the path. Path: cold (the row) | hot (its verbs).
#pragma once

#include "proto/proto.h"

extern const struct proto echo_proto;
