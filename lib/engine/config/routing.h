// SPDX-License-Identifier: BSD-3-Clause
// Does a protocol choose the addresses and ports of its messages itself (proto_router), or does the
// engine, from the item's source section? Cold code asks this here only. Path: cold. Any thread.
#pragma once

#include "proto/proto.h"

// The protocol has a router of its own.
bool routing_is_own(const struct proto *p);

// Its router. For a protocol without one: a router that stands for the engine's choice. The item
// then needs a server's address, the layout has no paths of its own, and each client is free.
const struct proto_router *routing_of(const struct proto *p);
