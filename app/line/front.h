// SPDX-License-Identifier: BSD-3-Clause
// A front end: a command line that stands for a file. It collects settings by their paths; they
// become YAML text, which is read as any other file, or printed by --dump. Path: cold. Main thread.
#pragma once

#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/addr.h"
#include "base/arena.h"
#include "base/diag.h"

struct document_reader;

// The output of another tool instead of ours: nothing else is printed to standard output. Each
// member may be NULL.
struct front_output {
	void (*line)(
		void *ctx, const json_t *line); // of run_events.h, while the run is in progress
	// The result with its intervals; returns the exit code. code: ours.
	int (*end)(void *ctx, struct document_reader *b, int code);
	void *ctx;
};

struct front {
	const char *name; // "dns": messages begin with it
	json_t *root;     // settings: objects, lists, and texts that are YAML
	json_t *origins;  // path: "-r 5x", the option that it came from
	// Pairs of the advice in an error, in terms of a file, and in terms of this line; NULL
	// ends.
	const char *const (*advice)[2];
	const char *const (*words)[2]; // as of log_set_words; NULL: those of a file
	struct front_output output;
	struct arena *arena;
};

// The value of a setting, from the argument of an option.
enum front_kind {
	FRONT_TEXT,    // as it is
	FRONT_SECONDS, // so, and a bare number is seconds
	FRONT_LIST,    // one more item of a list
	FRONT_PREFIX,  // so, an address, which needs no prefix length
	FRONT_YAML,    // YAML of a whole section
};

void front_init(struct front *f, const char *name, struct arena *a);
void front_free(struct front *f);

// path: as --set has it, items of lists by name, "traffic.queries.load.rate". They come into the
// text in the order of their first mention. option: as typed, for messages about it; NULL: none. A
// second value replaces the first one. The value is quoted if YAML needs it.
void front_set(struct front *f, const char *option, const char *path, const char *value);
// front_set with the value as by printf.
void front_setf(struct front *f, const char *option, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void front_setv(struct front *f, const char *option, const char *path, const char *fmt,
	va_list args) __attribute__((format(printf, 4, 0)));
// The value is YAML: "[a, b]", "{rate: 5}".
void front_set_yaml(struct front *f, const char *option, const char *path, const char *yaml);
// One more item of a list of texts, or of sections.
void front_add_yaml(struct front *f, const char *option, const char *path, const char *yaml);
void front_add(struct front *f, const char *option, const char *path, const char *value);
// A copy of an item under another name. item: "traffic.leases".
void front_copy(struct front *f, const char *item, const char *name);
void front_unset(struct front *f, const char *path);
// NULL: not set, or no text.
const char *front_get(const struct front *f, const char *path);

// Port 0 of a server, which in a file stands for the protocol's: as an argument it is a mistake.
bool front_is_no_port(const char *path, const char *value);

void front_take(struct front *f, enum front_kind kind, const char *option, const char *path,
	const char *value);

// A server as addr_parse_server takes it. A name is looked up, and its first address taken. family:
// AF_INET, AF_INET6 or AF_UNSPEC. 0, or an exit code after an error, which was logged.
int front_look_up(const struct front *f, const char *server, int family, struct addr_server *out);
// A server as a setting: its address with link and port.
const char *front_server(const struct front *f, const struct addr_server *s);

// The settings as the text of a file.
const char *front_yaml(const struct front *f);

// From now on errors about the text are those of options: "dns: -r 5x: not a rate (...)".
void front_own_errors(const struct front *f, struct diag *d);
