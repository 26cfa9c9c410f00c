// SPDX-License-Identifier: BSD-3-Clause
// The table of protocols. Path: cold. Any thread.
#pragma once

#include "proto/proto.h"

// NULL-terminated, in the order shown to the user. A test can define these three itself, with its
// own table; table.c is then not linked.
extern const struct proto *const protos[];
uint32_t proto_count(void);

const struct proto *proto_find(const char *name); // NULL: none
