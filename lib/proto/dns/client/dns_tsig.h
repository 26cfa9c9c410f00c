// SPDX-License-Identifier: BSD-3-Clause
// TSIG (RFC 8945): keys, the signature of a message and its check, and both for the client's
// requests and the responder's replies. dns_tsig_file.h reads key files, dns_tsig.c prepares keys
// for the workers, dns_tsig_wire.c signs and verifies. Path: cold (keys, open) | hot (the rest).
// The worker that owns the signer.
#pragma once

#include <nettle/hmac.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "proto/dns/client/dns_internal.h"

#define DNS_TSIG_MAC_MAX    64
#define DNS_TSIG_SECRET_MAX 512
#define DNS_TSIG_ALG_MAX    26 // octets of an algorithm's name on the wire
#define DNS_TSIG_OTHER_MAX  6  // the server's time
// Name, class, TTL, algorithm, time, fudge, error, length of other data: signed after the message.
#define DNS_TSIG_VARS_MAX (DNS_NAME_MAX + 6 + DNS_TSIG_ALG_MAX + 12 + DNS_TSIG_OTHER_MAX)
// The record adds type, length, MAC and ID.
#define DNS_TSIG_MAX (DNS_TSIG_VARS_MAX + 2 + 2 + 2 + DNS_TSIG_MAC_MAX + 2)
// MACs of requests stored per worker, a power of two; FULL: if requests cannot be rebuilt.
#define DNS_TSIG_KEPT      4096
#define DNS_TSIG_KEPT_FULL 65536

enum dns_tsig_error { DNS_BADSIG = 16, DNS_BADKEY = 17, DNS_BADTIME = 18, DNS_BADTRUNC = 22 };

typedef void dns_tsig_set_key(void *ctx, size_t len, const uint8_t *key);

// nettle's functions allocate nothing, take no lock and make no system call.
struct dns_tsig_algorithm {
	const char *name;              // in files and settings
	const struct nettle_mac *hmac; // update, digest, digest_size
	dns_tsig_set_key *set_key;
	uint8_t wire_len;
	uint8_t wire[DNS_TSIG_ALG_MAX];
};

// hmac-md5, hmac-sha1, ...: the setting `algorithm` is an index plus 1.
#define DNS_TSIG_ALGORITHMS 6
#define DNS_TSIG_DEFAULT    3 // hmac-sha256
extern const struct dns_tsig_algorithm dns_tsig_algorithms[DNS_TSIG_ALGORITHMS];

// A key as shared by the workers.
struct dns_tsig_key {
	const struct dns_tsig_algorithm *algorithm;
	uint16_t fudge;
	int32_t skew; // seconds by which its owner's clock is ahead
	uint16_t name_len, vars_len, secret_len;
	uint8_t vars[DNS_TSIG_VARS_MAX]; // starts with the name in lower case; time and error are 0
	uint8_t secret[DNS_TSIG_SECRET_MAX];
};

// Load the key from the settings. 0, or -EINVAL with the reason in d.
int dns_tsig_key_load(struct dns_tsig_key *key, const struct dns_key_settings *s, struct diag *d);
// Load the keys of a list (struct dns_key_settings); NULL after an error. Freeing wipes them.
struct dns_tsig_key *dns_tsig_keys_load(const struct field_list *settings, struct diag *d);
void dns_tsig_keys_free(struct dns_tsig_key *keys, uint32_t count); // NULL allowed

// A key with the inner and outer hash of its secret.
struct dns_tsig_signer {
	const struct dns_tsig_key *key;
	union {
		struct hmac_md5_ctx md5;
		struct hmac_sha1_ctx sha1;
		struct hmac_sha256_ctx sha256;
		struct hmac_sha512_ctx sha512;
	} hmac;
};

void dns_tsig_signer_init(struct dns_tsig_signer *s, const struct dns_tsig_key *key);

// Contents of a TSIG record. Pointers point into the message.
struct dns_tsig {
	uint32_t at;              // offset of the record
	const uint8_t *algorithm; // name as received
	uint32_t algorithm_len;
	uint64_t time;
	uint16_t fudge, id, error;
	uint16_t mac_len, other_len;
	const uint8_t *mac, *other;
};

// A MAC that the next one covers: the request's in its reply, or the previous message's. In signed
// form.
struct dns_tsig_prior {
	uint8_t len_be[2]; // 0: none
	uint8_t mac[DNS_TSIG_MAC_MAX];
};

enum dns_tsig_form {
	DNS_TSIG_WHOLE,  // all variables are signed
	DNS_TSIG_TIMERS, // only time and fudge: in messages after the first one of a transfer
};

// Seconds since 1970, by the clock of the key's owner.
uint64_t dns_tsig_now(const struct proto_ctx *ctx, const struct dns_tsig_key *key);
// Length of the record that dns_tsig_sign appends, without other data.
uint32_t dns_tsig_record_len(const struct dns_tsig_key *key);
// Append a TSIG record with time, error and other of *say to the message of len bytes, whose ID is
// the original one. Covers *prior and replaces it by the new MAC. Returns the new length, or 0: no
// room.
uint32_t dns_tsig_sign(struct dns_tsig_signer *s, const struct dns_tsig *say,
	enum dns_tsig_form form, struct dns_tsig_prior *prior, uint8_t *buf, uint32_t len,
	uint32_t room);
// Read the TSIG record of a walked message. false: it is not well formed.
bool dns_tsig_read(
	const uint8_t *buf, uint32_t len, const struct dns_message *m, struct dns_tsig *out);
// Does it have the name and algorithm of the key?
bool dns_tsig_is_of(
	const uint8_t *buf, uint32_t len, const struct dns_tsig *t, const struct dns_tsig_key *key);
// Is its MAC correct, possibly truncated (RFC 8945 section 5.2.2.1)?
bool dns_tsig_verify(struct dns_tsig_signer *s, enum dns_tsig_form form,
	const struct dns_tsig_prior *prior, const uint8_t *buf, const struct dns_tsig *t);

// The consecutive messages of a transfer (RFC 8945 section 5.3.1): the first, the last and each
// hundredth are signed.
struct dns_tsig_chain {
	struct dns_tsig_signer signer; // its hash continues across messages
	struct dns_tsig_prior prior;
	enum dns_tsig_form form;
	uint8_t unsigned_count; // messages since the last signed one
	bool begun;             // the hash includes the prior MAC
};

enum dns_tsig_link { DNS_TSIG_RIGHT, DNS_TSIG_UNSIGNED, DNS_TSIG_WRONG };

// signer: with an unused hash. request: MAC of the request.
void dns_tsig_chain_begin(struct dns_tsig_chain *c, const struct dns_tsig_signer *signer,
	const struct dns_tsig_prior *request);
// Sign the next message of the responder with *say; NULL: leave it unsigned. Returns the new
// length, or 0: no room.
uint32_t dns_tsig_chain_sign(struct dns_tsig_chain *c, const struct dns_tsig *say, uint8_t *buf,
	uint32_t len, uint32_t room);
// Verify the next walked message. UNSIGNED: valid so far, but not as the last message. RIGHT: *say
// has time and error.
enum dns_tsig_link dns_tsig_chain_next(struct dns_tsig_chain *c, const uint8_t *buf, uint32_t len,
	const struct dns_message *m, struct dns_tsig *say);

// --- the client: signs requests and verifies replies ---

struct dns_tsig_kept {
	uint64_t number; // of the transaction, plus 1; 0: none
	struct dns_tsig_prior mac;
};

// A signed transfer, from its request until it ends.
#define DNS_TSIG_TRANSFERS 4096 // stored per worker, a power of two
struct dns_tsig_transfer {
	uint64_t number; // of the transaction, plus 1; 0: free
	uint64_t time;   // of the request
	struct dns_tsig_chain chain;
};

// State of a worker.
struct dns_tsig_client {
	struct dns_tsig_signer signer;
	struct dns_tsig_transfer *transfers; // NULL: requests have one reply each
	struct dns_tsig_kept *kept;
	uint32_t kept_mask;
	uint32_t scratch_len;
	uint8_t scratch[]; // for a request
};

// NULL: no memory. longest: bytes of a request without its record. kept: MACs, a power of two.
struct dns_tsig_client *dns_tsig_client_new(
	const struct dns_tsig_key *key, uint32_t longest, uint32_t kept, bool transfers);
void dns_tsig_client_free(struct dns_tsig_client *c); // NULL allowed

// Sign the request of t. Stores the time in t->user; rebuilding the message within a second, or for
// a transfer at any time, keeps it. The MAC is stored, and kept if the message is rebuilt before
// dns_tsig_end. Returns the new length, or 0: no room.
uint32_t dns_tsig_request(struct dns_tsig_client *c, const struct proto_ctx *ctx,
	struct proto_txn *t, uint8_t *buf, uint32_t len, uint32_t room);
// The MAC of the last request of t. NULL: not stored.
const struct dns_tsig_prior *dns_tsig_request_mac(
	const struct dns_tsig_client *c, const struct proto_txn *t);
// Restore that MAC. The request without its record is in c->scratch; t has not ended.
void dns_tsig_request_again(struct dns_tsig_client *c, const struct proto_txn *t, uint32_t len);
// The verdict on the signature of a walked reply. request: MAC; NULL: unknown, so no MAC is
// verified. DONE: continue. FAIL: the reply counts, but the transaction has failed.
enum proto_verdict dns_tsig_reply(struct dns_tsig_client *c, const struct proto_ctx *ctx,
	const struct dns_tsig_prior *request, const uint8_t *buf, uint32_t len,
	const struct dns_message *m);
// Likewise for a message of the transfer of t, after t->tries earlier ones. DONE: continue; an
// unsigned message must not be the last.
enum proto_verdict dns_tsig_transfer_reply(struct dns_tsig_client *c, const struct proto_ctx *ctx,
	const struct proto_txn *t, const uint8_t *buf, uint32_t len, const struct dns_message *m);
// The transfer of t has ended, or t will send another request.
void dns_tsig_end(struct dns_tsig_client *c, const struct proto_txn *t);

// --- the responder: verifies requests and signs replies ---

struct dns_tsig_server {
	uint32_t count;
	struct dns_tsig_signer signers[];
};

// How to sign the reply to a request.
struct dns_tsig_session {
	struct dns_tsig_signer *signer; // NULL: an unknown key
	struct dns_tsig say;            // error not 0: the reply is NOTAUTH
	struct dns_tsig_prior prior;
	uint32_t len; // of the record
	uint32_t name_len;
	uint8_t name[DNS_NAME_MAX]; // of the request's key
	uint8_t other[DNS_TSIG_OTHER_MAX];
};

// Verify a walked request that has a TSIG record. false: it is not well formed.
bool dns_tsig_accept(struct dns_tsig_server *server, const struct proto_ctx *ctx,
	const uint8_t *buf, uint32_t len, const struct dns_message *m,
	struct dns_tsig_session *session);
// Sign the reply of len bytes. Returns the new length, or 0: no room.
uint32_t dns_tsig_answer(
	struct dns_tsig_session *session, uint8_t *buf, uint32_t len, uint32_t room);
