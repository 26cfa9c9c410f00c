// SPDX-License-Identifier: BSD-3-Clause
// The embedded server's worker: one queue pair, answers every request of the protocols that it is
// told. Path: hot (responder_loop) | cold (the struct is filled by plan.c).
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "engine/wire.h"
#include "engine/worker.h"
#include "proto/proto.h"

struct responder_protocol {
	const struct proto *proto;
	uint16_t port;
	struct proto_ctx ctx;
};

// dataplane: wo, one atomic word each, so that the management thread may read them at any time.
struct responder_counts {
	_Atomic uint64_t received, answered, ignored;
};

struct responder {
	// ctlplane: wo before the launch, dataplane: ro
	struct wire wire;
	struct responder_protocol *protocols;
	uint32_t protocol_count;
	uint32_t cpu;
	bool yields;
	const _Atomic uint32_t *phase;
	// dataplane: rw
	struct responder_counts counts;
	uint64_t tx_refused, tx_no_mbuf;
};

// Runs until the phase is PHASE_STOP. arg: struct responder. Returns 0.
int responder_loop(void *arg);
