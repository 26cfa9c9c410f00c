// SPDX-License-Identifier: BSD-3-Clause
// Datagrams of QUIC connections, in and out, and their deadlines. Path: hot. The thread that owns
// them.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "quic/quic.h"

// Takes a datagram. ecn: the lowest two bits of the traffic class. To be followed by quic_message
// until it returns false, and by quic_output. bytes are not changed.
void quic_input(
	struct quics *q, uint32_t c, const uint8_t *bytes, uint32_t len, uint8_t ecn, uint64_t now);
// Writes the next datagram. out: q->mtu octets. Returns its length, or 0: nothing (more) is to be
// sent now. There is no pacing: call it until it returns 0.
uint32_t quic_output(struct quics *q, uint32_t c, uint8_t *out, uint8_t *ecn, uint64_t now);
// When quic_expire is due; UINT64_MAX: never. It changes with each function that has `now`.
uint64_t quic_deadline(const struct quics *q, uint32_t c);
// Handles deadlines that have passed. Returns false if the connection was over and has been freed:
// it may be another one from now on. Else to be followed as quic_input is.
bool quic_expire(struct quics *q, uint32_t c, uint64_t now);

// Takes a job back. Returns its connection, or QUIC_NONE if that was forgotten meanwhile. To be
// followed as quic_input is.
uint32_t quic_job_done(struct quics *q, struct quic_job *job, uint64_t now);
