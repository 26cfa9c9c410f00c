// SPDX-License-Identifier: BSD-3-Clause
// TLS of a place that serves: its certificate, and the CA of the clients that may come. Path: cold.
// Main thread (load, free) | threads of libmicrohttpd.
#pragma once

#include <microhttpd.h>

struct serve_tls {
	char *cert, *key; // PEM texts
	char *clients;    // certificates of their CA; NULL: clients need none
};

#define SERVE_TLS_VERSIONS "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

// Read the files, clients may be NULL. 0, or -errno, which was logged.
int serve_tls_load(const char *cert, const char *key, const char *clients, struct serve_tls *out);
void serve_tls_free(struct serve_tls *t);

// For each new connection: its handshake fails without a certificate of that CA. An
// MHD_NotifyConnectionCallback; ctx is the struct serve_tls.
void serve_tls_demand(void *ctx, struct MHD_Connection *c, void **socket,
	enum MHD_ConnectionNotificationCode code);
