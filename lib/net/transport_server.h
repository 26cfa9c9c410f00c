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

extern const struct field_section transport_server_section;

// s, or the defaults of its rows if it is NULL.
const struct transport_server_settings *transport_server(const struct transport_server_settings *s);
