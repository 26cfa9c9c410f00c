// SPDX-License-Identifier: BSD-3-Clause
// Messages of QUIC connections, and events. Path: hot. The thread that owns them.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "quic/quic.h"

// Client: sends a message of `len` octets for `tag`, on a stream of its own, which ends with it. It
// waits as octets while there is no handshake, stream or window, and goes when there is. Returns
// false without memory, or if the connection is not alive.
bool quic_write(struct quics *q, uint32_t c, uint32_t tag, const uint8_t *bytes, uint32_t len);
// Server: sends an answer to the request `tag`; last: the stream ends with it. An answer to a
// stream that is gone is dropped. Returns false without memory.
bool quic_answer(
	struct quics *q, uint32_t c, uint32_t tag, const uint8_t *bytes, uint32_t len, bool last);
// Server: resets the stream of a request.
void quic_refuse(struct quics *q, uint32_t c, uint32_t tag, uint64_t code);
// Client: nobody waits for the answer to the message `tag` any more. With quics.cancel the peer
// gets STOP_SENDING and RESET_STREAM, with REQUEST_CANCELLED; without it a late answer is
// QUIC_LATE.
void quic_cancel(struct quics *q, uint32_t c, uint32_t tag);
// Returns the next event. bytes, len: of a message, valid until the next call of any function.
bool quic_message(struct quics *q, uint32_t c, const uint8_t **bytes, uint32_t *len);
// Client, after QUIC_CLOSED: takes a message of which no octet was sent, or whose early data was
// refused, so that it can be sent elsewhere. Returns false if there is none (any more).
bool quic_unheard(struct quics *q, uint32_t c, uint32_t *tag);
