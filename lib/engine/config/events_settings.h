// SPDX-License-Identifier: BSD-3-Clause
// Things that happen during a run (events): their rows and rules, and from a change of a rate to
// the load of its item, or of a share to the responder's fault. Path: cold. Management thread.
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "base/field.h"

#define EVENTS_MAX 16

struct config;
struct port_settings;

enum event_link { EVENT_LINK_NONE, EVENT_LINK_DOWN, EVENT_LINK_UP };

struct event_settings {
	const char *name; // after events_fit never NULL
	uint64_t at_ns;   // from the start of the measured part
	const char *run, *set;
	int32_t link;     // enum event_link
	const char *port; // of link; NULL: the only one
	uint64_t timeout_ns;
	// No settings: a command to run at that time; NULL: nothing. The port whose link it
	// changes; NULL: none. A fault of the table that has this share from then on; 0: none.
	const char *command;
	const struct port_settings *link_port;
	uint32_t fault;
	double share;
};

extern const char *const event_links[]; // by enum event_link, NULL-terminated
extern const struct field_section event_section;
