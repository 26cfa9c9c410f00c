// SPDX-License-Identifier: BSD-3-Clause
// Where a responder tells its counters to a tester on another process or host: the settings of both
// sides, the place, and the token that a tester must know. Only this host reaches the place:
// 127.0.0.1 or a Unix socket; ssh -L brings it elsewhere. Path: cold. Management thread.
#pragma once

#include <sys/socket.h>

#include "base/diag.h"
#include "base/field.h"

#define CONTROL_TOKEN_SIZE 128 // with its end
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

// 0, or -errno with the reason in *what.
int control_place(const char *text, struct control_place *out, const char **what);
// The first line of the file, which nobody else may read: 0, or -errno, which was logged. option:
// the one that names it, for the message.
int control_token(const char *option, const char *file, char out[CONTROL_TOKEN_SIZE]);
void control_check(const struct control_settings *s, struct diag *d);
