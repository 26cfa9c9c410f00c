// SPDX-License-Identifier: BSD-3-Clause
// The settings of a server for the treatment of its connections. Path: cold. Any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/field.h"

enum transport_accept {
	TRANSPORT_ANSWER,
	TRANSPORT_SILENT,
	TRANSPORT_REFUSE,
	TRANSPORT_DROP,
};
enum transport_full { TRANSPORT_FULL_REFUSE, TRANSPORT_FULL_DROP };

struct transport_server_settings {
	int32_t accept;                  // enum transport_accept
	int32_t full;                    // enum transport_full
	uint64_t connections;            // over all workers; UINT64_MAX: as many as there may be
	uint64_t queries_per_connection; // UINT64_MAX: any number
	uint64_t idle_ns;                // UINT64_MAX: never
	uint64_t window;                 // bytes
	bool reset;
};

// The QUIC of a server, at a port of its own. The shares are of new connections;
// `reset` is of requests.
struct quic_server_settings {
	uint64_t port;        // UDP; 0: the protocol's
	uint64_t connections; // at a time, of a worker
	uint64_t streams;     // requests of a connection at a time
	uint64_t window;      // octets, of a connection
	uint64_t idle_timeout_ns;
	double retry, version_negotiation, drop_initial, early_refused, reset;
	uint64_t reset_error;
	uint64_t close_after, close_error,
		forget_after; // requests of a connection; UINT64_MAX: never
	bool no_credit;
};

extern const struct field_section transport_server_section;
extern const struct field_section quic_server_section;

// s, or the defaults of its rows if it is NULL.
const struct transport_server_settings *transport_server(const struct transport_server_settings *s);
