// SPDX-License-Identifier: BSD-3-Clause
// The handshakes of QUIC connections, and their computation by other threads.
// Path: hot | cold (quic_job_do). The thread that owns the connections, but for quic_job_do.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "quic/quic.h"

// With `deferred`, a connection whose handshake can continue waits for a job: quic_job returns it,
// any thread calls quic_job_do, and the owner calls quic_job_done. Meanwhile the connection stays
// with its owner, who may call everything: a job has a copy of its input, and of the connection
// only GnuTLS's session, which the owner does not touch. Datagrams that come meanwhile are kept (up
// to 16), and read by quic_job_done.
//
// A whole quic_input cannot be done elsewhere: ngtcp2 allocates on the way, from the one pool of
// the thread, and most of its memory of a handshake stays as long as the connection. A pool for
// each connection would need the handshake's peak for each of them.
// Returns the next job that is due, or NULL.
struct quic_job *quic_job(struct quics *q);
void quic_job_do(struct quic_job *job);
