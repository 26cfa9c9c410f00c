// SPDX-License-Identifier: BSD-3-Clause
// The table of protocols. Path: cold. Any thread.
#pragma once

#include "proto/proto.h"

// NULL-terminated, in the order that the user sees. A test that defines these three itself has a
// table of its own: table.c is then not linked.
extern const struct proto *const protos[];
uint32_t proto_count(void);

const struct proto *proto_find(const char *name); // NULL: none
