// SPDX-License-Identifier: BSD-3-Clause
// The parts of `ddiperf as perfdhcp`: its command line, its settings, and the output of perfdhcp
// 2.2. Path: cold. Main thread.
#pragma once

#include <string.h>

#include "front/front_as.h"

#define PERFDHCP_SCENARIO '-' // letter of --scenario
#define PERFDHCP_OR       '+' // of --or

struct perfdhcp_given {
	char letter;
	const char *value; // NULL: the option takes none
};

// The counters of a message and its reply.
struct perfdhcp_exchange {
	const char *label; // the original's
	const char *step;  // our name
	double sent, received, rejected, lost;
};

struct perfdhcp {
	struct as_run run;          // first
	struct perfdhcp_given *all; // in the order of the command line
	unsigned count;
	bool v6, avalanche;
	const char *server;          // in the original's form, ff02::1:2 for "all"
	const char *interface;       // NULL: not given by -l
	const char *request_timeout; // from the second -d; NULL: as for the first message
	const char *relay;           // this host's address as relay; NULL: not a relay
	const char *duid;            // start of the default DUID, as hex digits
	const char *leases;          // file to read after the run; NULL: none
	int packets;                 // file in memory for -x t and -x T; -1: none
	uint8_t *first[2];           // first messages of the first two steps; NULL: none was sent
	uint32_t first_len[2];
	struct perfdhcp_exchange *sums; // sums of the intervals so far
	unsigned sum_count;
};

extern const struct as_tool front_perfdhcp;

// Iterates over the options in the order of the command line.
#define PERFDHCP_EACH(g, p)                                                                        \
	for (const struct perfdhcp_given *g = (p)->all; g < (p)->all + (p)->count; g++)

// Number of times the option was given.
static inline unsigned perfdhcp_times(const struct perfdhcp *p, char letter)
{
	unsigned n = 0;

	PERFDHCP_EACH(g, p) n += g->letter == letter;
	return n;
}

// The value of the n-th occurrence. NULL: none.
static inline const char *perfdhcp_nth(const struct perfdhcp *p, char letter, unsigned n)
{
	PERFDHCP_EACH(g, p) if (g->letter == letter && n-- == 0) return g->value;
	return NULL;
}

static inline const char *perfdhcp_value(const struct perfdhcp *p, char letter)
{
	unsigned times = perfdhcp_times(p, letter);

	return times ? perfdhcp_nth(p, letter, times - 1) : NULL;
}

// Does -x contain the letter?
static inline bool perfdhcp_diagnoses(const struct perfdhcp *p, char letter)
{
	const char *letters = perfdhcp_value(p, 'x');

	return letters && strchr(letters, letter);
}

// front_perfdhcp_settings.c: map options to settings. 0, or an exit code after an error, which was
// logged.
int perfdhcp_map(struct perfdhcp *p);

// front_perfdhcp_template.c: likewise for the messages of -T.
int perfdhcp_map_templates(struct perfdhcp *p);

// front_perfdhcp_packets.c: -x t, and the messages for -x T, from p->packets. x: n exchanges.
void perfdhcp_packets_read(
	struct perfdhcp *p, const json_t *document, const struct perfdhcp_exchange *x, unsigned n);
void perfdhcp_print_templates(const struct perfdhcp *p);

// front_perfdhcp_output.c, for struct front_output. ctx: struct perfdhcp.
void perfdhcp_print_head(const struct perfdhcp *p); // the lines before the run
void perfdhcp_line(void *ctx, const json_t *line);
int perfdhcp_end(void *ctx, struct document_reader *b, int code);
