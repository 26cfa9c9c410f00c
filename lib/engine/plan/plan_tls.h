// SPDX-License-Identifier: BSD-3-Clause
// From settings of TLS to the input of handshakes: certificates, keys and pins are read before the
// run. Path: cold. Management thread.
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "engine/config/config.h"
#include "engine/plan/plan_state.h"
#include "engine/core/secure.h"

// The common part of the handshakes of an item's clients. harmless: as in its facts. Returns NULL
// after an error in d.
struct hand_setup *plan_tls_client(
	const struct item_settings *i, bool harmless, struct arena *a, struct diag *d);
// The responder's part; a certificate is made unless the settings have one. kind: of
// the connections. setups: by the fault of a handshake (enum tls_fault), NULL: it has none
// of its own. Returns false after an error in d.
bool plan_tls_server(const struct config *c, const struct proto_ports *proto,
	enum channel_kind kind, struct hand_setup *setups[TLS_FAULT_COUNT], struct arena *a,
	struct diag *d);
// In the place of a fault without a setup: QUIC without early data.
#define PLAN_NO_EARLY TLS_FAULT_SILENT
// The faults of handshakes of a worker of the responder.
void plan_tls_faults(struct plan *p, struct responder_conns *rc, uint32_t worker);

// Opens output.keylog for all handshakes of items. Returns 0, or -errno (logged).
int plan_keylog_open(struct plan *p);
void plan_keylog_close(struct plan *p);

// The connections' part, for a worker and for a thread of the responder.
struct secures_shape plan_tls_shape(const struct tls_settings *s, uint32_t conns, uint32_t seats);
void plan_tls_fill(struct secures *ss, const struct item_settings *i);

// The crew of host.crew. It serves the tables that were added when it starts. Both return 0 or
// -errno.
int plan_crew_add(struct plan *p, struct secures *ss);
int plan_crew_start(struct plan *p);
// To be called before the tables are freed.
void plan_crew_stop(struct plan *p);
void plan_crew_remove(struct secures *ss);
