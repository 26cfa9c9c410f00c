// SPDX-License-Identifier: BSD-3-Clause
// Does a protocol choose the addresses and ports of its messages itself (proto_router), or does the
// engine, from the item's source section? Cold code asks this here only. Path: cold. Any thread.
#pragma once

#include "proto/proto.h"

// The protocol has a router of its own.
bool routing_is_own(const struct proto *p);

// Its router; for a protocol without one a router that stands for the engine's choice: the item
// needs a server's address, the layout names no path but the one to it, and each client is free.
const struct proto_router *routing_of(const struct proto *p);
