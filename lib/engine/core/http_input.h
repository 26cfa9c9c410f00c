// SPDX-License-Identifier: BSD-3-Clause
// The frames that a peer of HTTP/2 sends. Path: hot. The thread that owns the connections.
#pragma once

#include "engine/core/http.h"

// As conn_message; https.event and the members after it describe the message. An event that is no
// message has the length 0.
bool http_message(struct conns *cs, uint32_t c, const uint8_t **message, uint32_t *len);
