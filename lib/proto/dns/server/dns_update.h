// SPDX-License-Identifier: BSD-3-Clause
// Dynamic updates of the responder's zones (RFC 2136); the journal keeps their changes. Path: hot.
// The one thread of the responder.
#pragma once

#include "proto/dns/server/dns_zone.h"

// Applies an update and returns its RCODE. The message has one question and was found well formed
// by dns_message_walk. *c: the changes made.
uint8_t dns_update(struct dns_zones *z, const uint8_t *buf, uint32_t len, uint32_t question_len,
	struct dns_zone_changes *c);
