// SPDX-License-Identifier: BSD-3-Clause
// TLS of a place that serves: its certificate, and the CA of the clients that may come. Files that
// change are read again, for connections from then on. Path: cold. Main thread (load, tick, free) |
// threads of libmicrohttpd.
#pragma once

#include <microhttpd.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/stat.h>

#define SERVE_TLS_FILES 3

struct serve_keys;

struct serve_tls {
	char *cert, *key;                   // PEM texts, as they were at the start
	char *clients;                      // certificates of their CA; NULL: clients need none
	const char *paths[SERVE_TLS_FILES]; // of these; the caller's
	struct stat read[SERVE_TLS_FILES];  // files read last, or tried
	struct stat seen[SERVE_TLS_FILES];  // at the last look
	uint64_t look_ms;                   // when
	pthread_mutex_t lock;
	struct serve_keys *now; // of new connections; under the lock
};

// Without the cipher suites that authenticate by a MAC of their own (CBC with SHA-1).
#define SERVE_TLS_VERSIONS "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-MAC-ALL:+AEAD"

// Read the files, clients may be NULL; the names live as long. 0, or -errno, which was logged.
int serve_tls_load(const char *cert, const char *key, const char *clients, struct serve_tls *out);
// Reads files again that have changed and then been stable for a second. Logs files that are wrong,
// and keeps the earlier content. To be called at least once a second.
void serve_tls_tick(struct serve_tls *t);
void serve_tls_free(struct serve_tls *t); // when no connection is left

// For each new connection: its keys, and its handshake fails without a certificate of that CA. An
// MHD_NotifyConnectionCallback; ctx is the struct serve_tls.
void serve_tls_demand(void *ctx, struct MHD_Connection *c, void **socket,
	enum MHD_ConnectionNotificationCode code);
