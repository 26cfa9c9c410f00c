// SPDX-License-Identifier: BSD-3-Clause
// Files of whole messages, of which queries are made: captures, or messages with their lengths.
// Path: cold. Management thread.
#pragma once

#include "base/arena.h"
#include "proto/dns/client/dns_queries.h"

struct dns_referee;

// Selection from a file of whole messages.
struct dns_wire_form {
	uint16_t ports[2];           // server ports in a capture, over UDP; 0: none
	bool stream;                 // messages will go over connections
	bool times;                  // capture times are wanted
	const struct dns_skip *skip; // called for unusable messages; NULL: not called
};

// Load a capture, or length-prefixed messages. Unusable ones are left out. referee: receives the
// answers; NULL: not wanted.
int dns_queries_load_wire(struct dns_queries *q, struct dns_referee *referee,
	const struct dns_wire_form *form, const char *path, const void *setting, struct arena *a,
	struct diag *d);
