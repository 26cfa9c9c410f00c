// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Management thread.
#include "engine/config/events_settings.h"

#include <stddef.h>

#define AT(member) .offset = offsetof(struct event_settings, member)

const char *const event_links[] = {
	[EVENT_LINK_NONE] = "none", [EVENT_LINK_DOWN] = "down", [EVENT_LINK_UP] = "up", NULL};

static const struct field event_fields[] = {
	{"name", "its name in the result; default: its action", FIELD_STRING, AT(name), .min = 1,
		.max = 255},
	{"at", "time from the start of the measured part", FIELD_DURATION, .required = true,
		AT(at_ns), .max = 1e16},
	{"run", "shell command; the run continues meanwhile", FIELD_STRING,
		.role = FIELD_SERVER_COMMAND, AT(run), .min = 1, .max = 4095},
	{"set", "setting to change: traffic.NAME.load.rate=50k, responder.faults.NAME.share=30%",
		FIELD_STRING, AT(set), .min = 1, .max = 4095},
	{"link", "state to set the interface of a port to", FIELD_ENUM, AT(link),
		.names = event_links, .def = "none"},
	{"port", "port of link; default: the only one", FIELD_STRING, AT(port), .min = 1,
		.max = 63},
	{"timeout", "time after which a command is killed", FIELD_DURATION, AT(timeout_ns),
		.def = "10s", .min = 1e7, .max = 6e11},
};

const struct field_section event_section = {"events", "an event during the run",
	FIELD_ROWS(event_fields), sizeof(struct event_settings)};
