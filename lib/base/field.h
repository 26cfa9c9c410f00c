// SPDX-License-Identifier: BSD-3-Clause
// A setting is a row {name, type, offset, default, range, help} beside the struct that it fills.
// conf/ walks the rows to read, dump and document a file; no other folder interprets them.
// Path: cold.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

// The value of a list field. The items are in the arena of the configuration; count may be 0.
struct field_list {
	void *items;
	uint32_t count;
};

// "4" or "4-7": both ends included.
struct field_range {
	uint32_t first;
	uint32_t last;
};

struct field_bytes {
	const uint8_t *data;
	uint32_t len;
};

// name NULL: the file has the address. Else addr.len is 0: a name is not looked up when it is
// parsed.
struct field_host {
	struct addr addr;
	const char *name;
	const char *link; // of "fe80::1%eth0"; NULL: none
	uint16_t port;    // 0: none
};

enum field_type {
	FIELD_BOOL,       // bool                  true | false
	FIELD_COUNT,      // uint64_t              100k
	FIELD_RATE,       // double, per second    500, 20k, 1.5M
	FIELD_DURATION,   // uint64_t, ns          250us; a bare number is an error
	FIELD_SIZE,       // uint64_t, bytes       64KiB; a bare number is an error
	FIELD_NUMBER,     // double                99.9
	FIELD_PERCENT,    // double, 0.001         0.1%; a bare number is an error
	FIELD_SHARE,      // double, a share       10%, or 100/s: minus the rate per second
	FIELD_STRING,     // const char *          NULL when absent and without default
	FIELD_ENUM,       // int32_t, index into names
	FIELD_ADDR,       // struct addr           198.18.0.1 or 2001:db8::1
	FIELD_HOST,       // struct field_host     an address, or the name of a host
	FIELD_ADDR_RANGE, // struct addr_range     single, prefix, or first-last
	FIELD_PREFIX,     // struct addr_prefix    198.18.0.1/24 (host bits kept)
	FIELD_RANGE,      // struct field_range    4, 4-7
	FIELD_MAC,        // uint8_t[6]
	FIELD_HEX,        // struct field_bytes    "00ff12"
	FIELD_SECTION,    // the struct of section, in place; with optional: a pointer, NULL when
	                  // absent
	FIELD_CHOICES, // void **: one pointer per choice, NULL when absent. The keys of the choices
	               // stand inline, beside the other keys of the mapping.
};

// The kind of object that a text names: conf_confine restricts files from untrusted sources by it.
enum field_role {
	FIELD_PLAIN,          // nothing beyond the program
	FIELD_INPUT,          // a file that is read
	FIELD_OUTPUT,         // a file that is written, or a Unix socket
	FIELD_COMMAND,        // a shell command
	FIELD_SERVER_COMMAND, // one about the server: of several boxes that divide a run, one runs
	                      // it
	FIELD_PLACE,          // where to listen, as addr_parse_listen
};

struct field;

// A mapping in the file and the struct that it fills.
struct field_section {
	const char *name;
	const char *help;
	const struct field *fields;
	uint32_t count;
	size_t size; // of the struct
};

// The sections that FIELD_CHOICES offers.
struct field_choices {
	uint32_t (*count)(void);
	const struct field_section *(*section)(uint32_t i); // NULL: choice i is not offered here
};

struct field {
	const char *name;
	const char *help; // one line, no full stop
	enum field_type type;
	bool list;     // fills struct field_list; a scalar is taken as a list of one
	bool lone;     // list of FIELD_SECTION only: a mapping is taken as a list of one, too
	bool required; // absent is an error
	bool optional; // FIELD_SECTION only: pointer, NULL when absent
	enum field_role role;
	bool load; // a higher value is more work for a server: a search may vary it
	size_t offset;
	const char *def;  // default, in the file's own notation (a list: "a, b"); NULL: all zero
	const char *word; // a word allowed instead of a value ("auto", "max"): FIELD_COUNT,
	                  // _DURATION, _SIZE give UINT64_MAX, FIELD_RATE gives INFINITY
	double min, max;  // in the unit stored; both 0: unlimited. For FIELD_STRING: length
	const char *const *names; // FIELD_ENUM: NULL-terminated
	size_t names_step; // bytes from one name to the next; 0: names is an array of pointers
	const struct field_section *section; // FIELD_SECTION
	const struct field_choices *choices; // FIELD_CHOICES
};

// Name i of an enum; NULL behind the last one.
static inline const char *field_name(const struct field *f, uint32_t i)
{
	size_t step = f->names_step ? f->names_step : sizeof(*f->names);

	return *(const char *const *)((const char *)f->names + i * step);
}

#define FIELD_ROWS(rows) .fields = (rows), .count = sizeof(rows) / sizeof((rows)[0])
