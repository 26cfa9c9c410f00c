// SPDX-License-Identifier: BSD-3-Clause
// A front end: a command line that stands for a file. It collects settings by path and turns them
// into YAML text, which is read like any other file, or printed by --dump. Path: cold. Main thread.
#pragma once

#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/addr.h"
#include "base/arena.h"
#include "base/diag.h"

struct document_reader;

// Output of another tool instead of ours; nothing else goes to standard output. Each member may be
// NULL.
struct front_output {
	void (*line)(
		void *ctx, const json_t *line); // of run_events.h, while the run is in progress
	// Called with the result and its intervals; returns the exit code. code: ours.
	int (*end)(void *ctx, struct document_reader *b, int code);
	void *ctx;
};

struct front {
	const char *name; // "dns": prefix of messages
	json_t *root;     // settings: objects, lists, and texts in YAML
	json_t *origins;  // path to the option it came from, "-r 5x"
	// Pairs of advice in an error, in terms of a file and in terms of this line;
	// NULL-terminated.
	const char *const (*advice)[2];
	const char *const (*words)[2]; // as for log_set_words; NULL: the words of a file
	struct front_output output;
	struct arena *arena;
};

// How an option's argument becomes the value of a setting.
enum front_kind {
	FRONT_TEXT,    // unchanged
	FRONT_SECONDS, // text where a bare number means seconds
	FRONT_LIST,    // text, appended to a list
	FRONT_PREFIX,  // address with an optional prefix length, appended to a list
	FRONT_YAML,    // YAML of a whole section
};

void front_init(struct front *f, const char *name, struct arena *a);
void front_free(struct front *f);

// A text in YAML, quoted if YAML would change its meaning. In a, or the text itself.
const char *front_quote(const char *value, struct arena *a);

// path: as in --set, with list items by name, "traffic.queries.load.rate". Settings appear in the
// text in the order of first mention. option: as typed, for messages; NULL: none. A second value
// replaces the first. The value is quoted if YAML needs it.
void front_set(struct front *f, const char *option, const char *path, const char *value);
// front_set with a printf format.
void front_setf(struct front *f, const char *option, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void front_setv(struct front *f, const char *option, const char *path, const char *fmt,
	va_list args) __attribute__((format(printf, 4, 0)));
// The value is YAML: "[a, b]", "{rate: 5}".
void front_set_yaml(struct front *f, const char *option, const char *path, const char *yaml);
// Append an item to a list of texts, or of sections.
void front_add_yaml(struct front *f, const char *option, const char *path, const char *yaml);
void front_add(struct front *f, const char *option, const char *path, const char *value);
// Copy an item under another name. item: "traffic.leases".
void front_copy(struct front *f, const char *item, const char *name);
void front_unset(struct front *f, const char *path);
// NULL: unset, or not a text.
const char *front_get(const struct front *f, const char *path);

// Is it server port 0? In a file that means the protocol's port; as an argument it is a mistake.
bool front_is_no_port(const char *path, const char *value);

void front_take(struct front *f, enum front_kind kind, const char *option, const char *path,
	const char *value);

// Parse a server as in addr_parse_server. A name is looked up, and its first address used. family:
// AF_INET, AF_INET6 or AF_UNSPEC. 0, or an exit code after an error, which was logged.
int front_look_up(const struct front *f, const char *server, int family, struct addr_server *out);
// A server as a setting: its address with link and port.
const char *front_server(const struct front *f, const struct addr_server *s);

// The settings as the text of a file.
const char *front_yaml(const struct front *f);

// From now on, errors in the text refer to options: "dns: -r 5x: not a rate (...)".
void front_own_errors(const struct front *f, struct diag *d);
