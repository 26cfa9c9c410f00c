// SPDX-License-Identifier: BSD-3-Clause
// Settings of events, which happen during a run: a command, a change of an item's rate or of a
// fault's share, or of a port's link. Path: cold. Management thread.
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
	// Set by events_fit: the command to run at that time (NULL: none), the port whose link it
	// changes (NULL: none), and the fault that has this share from then on (0: none).
	const char *command;
	const struct port_settings *link_port;
	uint32_t fault;
	double share;
};

extern const char *const event_links[]; // by enum event_link, NULL-terminated
extern const struct field_section event_section;
