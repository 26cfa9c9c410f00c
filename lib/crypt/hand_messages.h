// SPDX-License-Identifier: BSD-3-Clause
// Handshakes without records, as QUIC carries them (RFC 9001 section 4): messages of TLS in, and a
// list of messages, secrets and transport parameters out, for the owner of the connection. So a
// step needs nothing of the connection, and another thread may compute it. The setup has `quic`.
// Path: cold. One thread at a time for each handshake.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "crypt/hand.h"

enum hand_level { HAND_INITIAL, HAND_EARLY, HAND_HANDSHAKE, HAND_APPLICATION };

enum hand_item_kind {
	HAND_MESSAGE,      // octets to be sent at this level
	HAND_READ_SECRET,  // of this level, from now on
	HAND_WRITE_SECRET, // likewise
	HAND_PARAMETERS    // of the peer
};

struct hand_item {
	enum hand_item_kind kind;
	enum hand_level level;
	enum record_suite suite; // of a secret
	const uint8_t *octets;
	uint32_t len;
};

// As hand_begin. parameters: transport parameters of this end, copied. session: as hand_session has
// returned it; NULL: none.
struct hand *hand_messages_begin(const struct hand_setup *s, const uint8_t *parameters,
	size_t parameters_len, const uint8_t *session, size_t session_len);
// Takes octets of the peer of a level, none for the first step of a client, and continues. After
// HAND_DONE it takes tickets. The items of all steps stay until hand_items_taken.
enum hand_state hand_messages_step(
	struct hand *h, enum hand_level level, const uint8_t *octets, size_t len);
// Returns the item at *at of the list, and moves *at, which begins at 0, behind it. Returns false
// at the end.
bool hand_item_next(const struct hand *h, size_t *at, struct hand_item *out);
void hand_items_taken(struct hand *h);
