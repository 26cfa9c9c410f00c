// SPDX-License-Identifier: BSD-3-Clause
// The demand of a file on link, CPUs and memory, without a port: sampled exchanges (sample.h) times
// the rates of the file, at costs that were measured once (docs/performance.md). Path: cold. Main
// thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/counter.h"
#include "base/diag.h"
#include "engine/config/config.h"
#include "engine/tools/sample.h"

// Octets and bits are those on the wire (wire_octets); out is from the tester to the server.
struct forecast_item {
	const char *name, *protocol, *port;
	const char *input;                    // part of its input file that is used; NULL: all
	bool paced;                           // false: as fast as the workers of its port are
	double per_s;                         // exchanges
	uint64_t sampled;                     // exchanges examined; 0: nothing below is known
	double messages, answers;             // of an exchange
	double message_octets, answer_octets; // of one
	uint64_t assumed;                     // sampled replies whose length is a guess
	uint64_t cut;                         // sampled exchanges that did not complete
	double out_per_s, in_per_s;           // packets
	double out_bps, in_bps;
	double exchange_ns;      // worker time
	double cpus;             // busy CPUs
	double handshakes_per_s; // of TLS, besides a pool at the start
	double handshake_ns;     // time of one, of the worker or its crew; 0: not over TLS
	bool crew;               // of the crew
	uint64_t connections, connection_bytes; // over TLS; bytes: of one at rest
	uint64_t slots, source_addresses, source_ports, source_ports_needed;
	uint64_t memory;
};

struct forecast_port {
	const char *name, *driver;
	bool driver_known; // false: its driver's own time is not in cpus
	uint64_t link_bps; // 0: unknown
	double out_per_s, in_per_s, out_bps, in_bps;
	double out_share, in_share; // of the link
	uint64_t workers;
	double cpus;
	uint64_t memory; // of its packet buffers
};

struct forecast {
	const char *schema, *name;
	struct counter_list traffic; // struct forecast_item
	struct counter_list ports;   // struct forecast_port
	uint64_t input;              // bytes of memory for the files that it names
	uint64_t memory, memory_available;
	struct counter_list shortages; // const char *: of clients and leases, for the warnings
	struct counter_list warnings;  // const char *: misfits and unknown figures
};

extern const struct counter_section forecast_section;

// Computes an exchange and its sums from a sample and per_s. message_ns: worker time of a message
// and its reply.
void forecast_load(struct forecast_item *i, const struct sample *s, double message_ns);
// Adds an item to the port.
void forecast_add(struct forecast_port *p, const struct forecast_item *i);
// Fills the warnings: misfits and unknown figures, in words. Lives in a.
void forecast_judge(struct forecast *f, struct arena *a);

// Returns 0, -EINVAL (in d) or -ENOMEM.
int forecast_make(const struct config *c, struct arena *a, struct diag *d, struct forecast *out);
