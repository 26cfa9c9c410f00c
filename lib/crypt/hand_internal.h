// SPDX-License-Identifier: BSD-3-Clause
// The state of handshakes, for the two files that drive GnuTLS: hand.c over records, and
// hand_messages.c without them. Path: cold. One thread for each handshake.
#pragma once

#include <gnutls/gnutls.h>

#include "crypt/hand.h"

struct hand_setup {
	struct hand_settings settings;
	gnutls_certificate_credentials_t credentials;
	gnutls_psk_server_credentials_t psk; // of a server that refuses tickets: empty
	gnutls_priority_t priorities;
	gnutls_datum_t ticket_key;   // its own; none: settings.keys has it
	gnutls_anti_replay_t replay; // likewise
	FILE *keylog;                // in the form of SSLKEYLOGFILE; NULL: none
};

struct hand {
	const struct hand_setup *setup;
	gnutls_session_t session;
	const uint8_t *in;
	size_t in_len, in_at;
	uint8_t *out;
	size_t out_len, out_room;
	uint8_t *early; // server: of EARLY_MOST octets; NULL: none came
	size_t early_len;
	uint8_t *parameters; // of QUIC, to be sent; NULL: over records
	size_t parameters_len;
	bool early_allowed; // by the ticket, in QUIC
	enum hand_state state;
	struct hand_facts facts;
};

// Appends to the octets that the owner takes next. Returns 0, or an error of GnuTLS.
int hand_append(struct hand *h, const void *octets, size_t len);
// The handshake has ended well: reads its facts. Returns 0, or an error of GnuTLS.
int hand_take_facts(struct hand *h);
// It has failed for the error rc of GnuTLS.
enum hand_state hand_failed(struct hand *h, int rc);
