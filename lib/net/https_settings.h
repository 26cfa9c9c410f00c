// SPDX-License-Identifier: BSD-3-Clause
// The settings of HTTPS as rows: of the clients of an item, and of a server. Path: cold. Any
// thread.
#pragma once

#include <stdint.h>

#include "base/diag.h"
#include "base/field.h"

enum https_method { HTTPS_POST, HTTPS_GET };

struct https_settings {
	const char *path;          // with {?name} where the message goes; NULL: the protocol's
	const char *authority;     // NULL: tls.name, or the server's address
	int32_t method;            // enum https_method
	struct field_list headers; // const char *: "name: value"
	uint64_t header_table;     // octets of the table of the server's headers
	uint64_t window;           // octets, of a stream and of a connection
};

// Settings of a server. The shares are of its answers.
struct https_server_settings {
	uint64_t port;    // 0: the protocol's
	const char *path; // as above
	uint64_t streams; // of a connection at a time
	uint64_t header_table;
	uint64_t window;
	uint64_t status; // of the answers of `refused`
	double refused, untyped, reset;
	uint64_t goaway; // requests of a connection; 0: never
};

extern const struct field_section https_section;
extern const struct field_section https_server_section;

// s, or the defaults of its rows if it is NULL.
const struct https_settings *https_settings_or(const struct https_settings *s);
// Errors go to d.
void https_check(const struct https_settings *s, struct diag *d);
void https_server_check(const struct https_server_settings *s, struct diag *d);
