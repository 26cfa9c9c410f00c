// SPDX-License-Identifier: BSD-3-Clause
// Handshakes of TLS 1.3 and 1.2, client and server, by GnuTLS over octets in memory. When one is
// done, its keys are two ways of record.h, and GnuTLS is needed no more: a connection at rest keeps
// about a hundred octets rather than 11 KiB. Path: cold. One thread for each handshake.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "crypt/keys.h"
#include "crypt/record.h"
#include "crypt/tls_settings.h"

// The common part of many handshakes. Texts are the caller's, and live as long as the setup.
struct hand_settings {
	bool server;
	const char *priorities; // of GnuTLS: versions, groups, ciphers; NULL: its own
	const char *alpn;       // NULL: none. A server refuses clients that offer others only
	const char *name; // client: of the server, for SNI and for TLS_VERIFY_CHAIN; NULL: none
	enum tls_verify verify;             // client
	const char *authorities;            // PEM; NULL: the system's
	const uint8_t (*pins)[TLS_PIN_LEN]; // SHA-256 of the SubjectPublicKeyInfo
	uint32_t pin_count;
	const char *certificate, *key; // PEM, chains included; of a client if it has one
	bool tickets;                  // server: gives tickets
	bool refuses;                  // server: takes no ticket, and yet gives some (TLS 1.3)
	const struct hand_setup *keys; // server: of its tickets; NULL: its own
	bool early;                    // early data (RFC 8446 section 2.3): sent, or accepted
	bool quic;                     // without records, for hand_messages.h: TLS 1.3 only
};

// Why a certificate was refused, in this order of importance.
enum hand_refusal {
	HAND_ACCEPTED,
	HAND_NO_CERTIFICATE,
	HAND_WRONG_PIN,
	HAND_EXPIRED,
	HAND_NOT_YET,
	HAND_WRONG_NAME,
	HAND_UNTRUSTED,
	HAND_REFUSALS
};

const char *hand_refusal_name(uint32_t refusal);

enum hand_state {
	HAND_RUNNING, // more octets are needed
	HAND_DONE,
	HAND_FAILED
};

// The outcome of a handshake. If it has failed, some of it may be unknown.
struct hand_facts {
	bool tls12, resumed;
	bool hello_retry; // the server asked for another group
	bool early;       // early data was accepted
	enum record_suite suite;
	uint32_t group;        // tls_group_index; TLS_GROUPS - 1: none, or unknown
	uint32_t certificates; // in the peer's chain
	uint32_t octets_of_them;
	char alpn[16]; // that both ends agreed on; "": none
	enum hand_refusal refused;
	int alert_received, alert_sent; // RFC 8446 section 6; -1: none
	const char *wrong;              // text of GnuTLS, static; NULL: nothing
	// After HAND_DONE. The caller gives the ways their ids.
	struct record_way read, write;
	uint8_t read_secret[KEYS_SECRET_MOST],
		write_secret[KEYS_SECRET_MOST]; // TLS 1.3, for KeyUpdate
};

// Does the library have the group (index into tls_group_names)? Its version: of the box's GnuTLS.
bool hand_has_group(uint32_t group);
const char *hand_library(void);

struct hand_setup;
struct hand;

// Returns NULL if the settings cannot be used: *wrong is then the reason, in static memory.
struct hand_setup *hand_setup_new(const struct hand_settings *s, const char **wrong);
// Writes the secrets of each handshake from now on to a file, which is the caller's.
void hand_setup_keylog(struct hand_setup *s, FILE *keylog);
// After all of its handshakes.
void hand_setup_free(struct hand_setup *s);

// session: of an earlier handshake, to resume it (client); NULL: none. Returns NULL without memory.
struct hand *hand_begin(const struct hand_setup *s, const uint8_t *session, size_t session_len);
void hand_free(struct hand *h);

// Before the first step of a client: octets of early data, as many as the session allows. Without
// facts.early they have to be sent again. Returns false if there can be none.
bool hand_early(struct hand *h, const uint8_t *octets, size_t len);

// Takes octets of the peer (none at first) and continues. *taken: how many it took. Octets that
// follow a handshake which is done are records, for record_open.
enum hand_state hand_step(struct hand *h, const uint8_t *in, size_t len, size_t *taken);
// Octets to be sent, until the next step. They include the alert of a failure.
const uint8_t *hand_output(const struct hand *h, size_t *len);
const struct hand_facts *hand_facts(const struct hand *h);
// Server, after HAND_DONE: the early data, in front of all records. Valid until hand_free.
const uint8_t *hand_early_taken(const struct hand *h, size_t *len);

// After HAND_DONE: the session to resume with, in memory of malloc that the caller frees. Returns
// NULL if there is none: in TLS 1.3 it comes in a ticket.
uint8_t *hand_session(struct hand *h, size_t *len);
// Has a ticket arrived?
bool hand_has_ticket(const struct hand *h);
// Octets of early data that this session allows.
size_t hand_early_most(const struct hand *h);
// Takes a copy of all records from the peer after HAND_DONE, in their order, one or several at a
// time, until it returns true: there is a ticket. The caller opens the records as well.
bool hand_ticket(struct hand *h, const uint8_t *records, size_t len);
