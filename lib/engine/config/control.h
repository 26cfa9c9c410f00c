// SPDX-License-Identifier: BSD-3-Clause
// Where a responder serves its counters to a tester in another process or on another host: the
// settings of both sides, the address (127.0.0.1 or a Unix socket; ssh -L forwards it elsewhere),
// and the token that a tester must know. Path: cold. Management thread.
#pragma once

#include <sys/socket.h>

#include "base/diag.h"
#include "base/field.h"

#define CONTROL_TOKEN_SIZE 128 // with the NUL
#define CONTROL_PATH       "/counters"

struct control_settings {
	const char *address; // as addr_parse_listen, or unix:PATH
	const char *token;   // file
};

extern const struct field_section control_section;

struct control_place {
	struct sockaddr_storage addr;
	socklen_t len;
};

// Returns 0, or -errno with the reason in *what.
int control_place(const char *text, struct control_place *out, const char **what);
// Reads the token: the first line of a file that only its owner may read. Returns 0, or -errno,
// which was logged. option: the option that names the file, for the message.
int control_token(const char *option, const char *file, char out[CONTROL_TOKEN_SIZE]);
void control_check(const struct control_settings *s, struct diag *d);
