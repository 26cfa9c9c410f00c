// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Any thread.
#include "crypt/tls_settings.h"

#include <string.h>

#include <nettle/base64.h>

#include "crypt/certificate.h"
#include "crypt/record.h"

#define HANDSHAKES   1000
#define TIMEOUT_NS   5000000000u
#define PATH_MAX_LEN 4095
#define PADDING_MOST 65536
#define GROUPS_USUAL 3 // the first ones

const char *const tls_version_names[] = {[TLS_1_3] = "1.3", [TLS_1_2] = "1.2", NULL};

static const char *const version_words[] = {[TLS_1_3] = "TLS1.3", [TLS_1_2] = "TLS1.2"};

const char *const tls_cipher_names[] = {[RECORD_AES_128_GCM] = "aes-128-gcm",
	[RECORD_AES_256_GCM] = "aes-256-gcm",
	[RECORD_CHACHA20_POLY1305] = "chacha20-poly1305",
	NULL};

static const char *const cipher_words[] = {[RECORD_AES_128_GCM] = "AES-128-GCM",
	[RECORD_AES_256_GCM] = "AES-256-GCM",
	[RECORD_CHACHA20_POLY1305] = "CHACHA20-POLY1305"};

// Its name here, and for GnuTLS.
#define GROUPS(X)                                                                                  \
	X("x25519", "X25519")                                                                      \
	X("secp256r1", "SECP256R1")                                                                \
	X("secp384r1", "SECP384R1")                                                                \
	X("secp521r1", "SECP521R1")                                                                \
	X("x448", "X448")                                                                          \
	X("ffdhe2048", "FFDHE2048")                                                                \
	X("ffdhe3072", "FFDHE3072")                                                                \
	X("x25519mlkem768", "X25519-MLKEM768")                                                     \
	X("secp256r1mlkem768", "SECP256R1-MLKEM768")

#define GROUP_NAME(name, word) name,
#define GROUP_WORD(name, word) word,

const char *const tls_group_names[] = {GROUPS(GROUP_NAME) NULL};
static const char *const group_words[] = {GROUPS(GROUP_WORD)};

#define GROUP_COUNT (sizeof(group_words) / sizeof(*group_words))

_Static_assert(GROUP_COUNT + 1 == TLS_GROUPS, "the header counts them");

static const char *const verify_names[] = {"none", "chain", "pin", NULL};
static const char *const resume_names[] = {"none", "last", "each", NULL};
static const char *const records_names[] = {"message", "burst", NULL};
static const char *const kind_names[] = {
	[CERTIFICATE_P256] = "ecdsa", [CERTIFICATE_RSA_2048] = "rsa", NULL};
static const char *const defect_names[] = {[TLS_DEFECT_NONE] = "none",
	[TLS_DEFECT_EXPIRED] = "expired",
	[TLS_DEFECT_NOT_YET] = "not_yet",
	[TLS_DEFECT_WRONG_NAME] = "wrong_name",
	NULL};

#define FAULT_NAME(number, name, help) [number] = name,

static const char *const fault_names[] = {[TLS_FAULT_NONE] = "none", TLS_FAULTS(FAULT_NAME)};

// clang-format off
#define COMMON(of, file_help, key_help) \
	{.name = "versions", \
		.help = "versions of TLS that are offered, or accepted", \
		.type = FIELD_ENUM, \
		.list = true, \
		.offset = offsetof(struct of, common.versions), \
		.def = "1.3, 1.2", \
		.names = tls_version_names}, \
	{.name = "ciphers", \
		.help = "ciphers, the preferred one first", \
		.type = FIELD_ENUM, \
		.list = true, \
		.offset = offsetof(struct of, common.ciphers), \
		.def = "aes-128-gcm, aes-256-gcm, chacha20-poly1305", \
		.names = tls_cipher_names}, \
	{.name = "groups", \
		.help = "groups of the key exchange, the preferred one first", \
		.type = FIELD_ENUM, \
		.list = true, \
		.offset = offsetof(struct of, common.groups), \
		.def = "x25519, secp256r1, secp384r1", \
		.names = tls_group_names}, \
	{.name = "certificate", \
		.help = (file_help), \
		.type = FIELD_STRING, \
		.role = FIELD_INPUT, \
		.offset = offsetof(struct of, common.certificate), \
		.min = 1, \
		.max = PATH_MAX_LEN}, \
	{.name = "key", \
		.help = (key_help), \
		.type = FIELD_STRING, \
		.role = FIELD_INPUT, \
		.offset = offsetof(struct of, common.key), \
		.min = 1, \
		.max = PATH_MAX_LEN}
// clang-format on

#define AT(member) .offset = offsetof(struct tls_settings, member)

static const struct field client_rows[] = {
	{.name = "name",
		.help = "name of the server: sent to it (SNI), and that of its certificate with "
			"verify: chain",
		.type = FIELD_STRING,
		AT(name),
		.min = 1,
		.max = TLS_NAME_MAX},
	{.name = "verify",
		.help = "certificate of the server: not examined, or its chain up to an authority, "
			"or its public key (RFC 8310)",
		.type = FIELD_ENUM,
		AT(verify),
		.def = "none",
		.names = verify_names},
	{.name = "ca",
		.help = "PEM file of the authorities of verify: chain; absent: the system's",
		.type = FIELD_STRING,
		.role = FIELD_INPUT,
		AT(ca),
		.min = 1,
		.max = PATH_MAX_LEN},
	{.name = "pins",
		.help = "public keys of verify: pin, SHA-256 in base64 (RFC 7858 section 4.2)",
		.type = FIELD_STRING,
		.list = true,
		AT(pins),
		.min = 1,
		.max = 64},
	COMMON(tls_settings, "PEM file of the client's certificate; absent: it has none",
		"PEM file of its key"),
	{.name = "alpn",
		.help = "protocol offered by ALPN, or none; absent: the usual one of the transport",
		.type = FIELD_STRING,
		AT(alpn),
		.min = 1,
		.max = 15},
	{.name = "resume",
		.help = "handshakes with a ticket: none; last: of the newest one that any "
			"connection "
			"got; each: of the one that the connection before at this place got",
		.type = FIELD_ENUM,
		AT(resume),
		.def = "none",
		.names = resume_names},
	{.name = "early",
		.help = "send messages with the ticket, before the handshake is done, if it allows "
			"that (early data, RFC 8446 section 2.3)",
		.type = FIELD_BOOL,
		AT(early),
		.def = "false"},
	{.name = "records",
		.help = "a record for each message, or for all that leave at the same time",
		.type = FIELD_ENUM,
		AT(records),
		.def = "message",
		.names = records_names},
	{.name = "handshakes",
		.help = "handshakes in progress at a time, of each worker; further ones wait",
		.type = FIELD_COUNT,
		AT(handshakes),
		.def = "1000",
		.min = 1,
		.max = TLS_HANDSHAKES_MOST},
	{.name = "handshake_timeout",
		.help = "time after which a handshake has failed",
		.type = FIELD_DURATION,
		AT(timeout_ns),
		.def = "5s",
		.min = 1e6,
		.max = 1e12},
	{.name = "close_notify",
		.help = "announce the end of a connection before it is closed (RFC 8446 section "
			"6.1)",
		.type = FIELD_BOOL,
		AT(close_notify),
		.def = "true"},
};

const struct field_section tls_section = {
	.name = "tls",
	.help = "TLS of the connections",
	FIELD_ROWS(client_rows),
	.size = sizeof(struct tls_settings),
};

#undef AT
#define AT(member) .offset = offsetof(struct tls_fault_settings, member)

#define FAULT_ROW(number, text, help_text)                                                         \
	{.name = (text),                                                                           \
		.help = (help_text),                                                               \
		.type = FIELD_PERCENT,                                                             \
		AT(shares[number]),                                                                \
		.def = "0%",                                                                       \
		.max = 1},

static const struct field fault_rows[] = {
	TLS_FAULTS(FAULT_ROW){.name = "slow_by",
		.help = "time from the first octets of the client to the answer of slow",
		.type = FIELD_DURATION,
		AT(slow_ns),
		.def = "100ms",
		.min = 1e6,
		.max = 6e11},
};

static const struct field_section fault_section = {
	.name = "handshake",
	.help = "faults of handshakes, each in a share of them at random; one has one at most",
	FIELD_ROWS(fault_rows),
	.size = sizeof(struct tls_fault_settings),
};

#undef AT
#define AT(member) .offset = offsetof(struct tls_made_settings, member)

static const struct field made_rows[] = {
	{.name = "name",
		.help = "name that it is for",
		.type = FIELD_STRING,
		AT(name),
		.def = "responder.example",
		.min = 1,
		.max = TLS_NAME_MAX},
	{.name = "kind",
		.help = "kind of its key: P-256, or RSA of 2048 bits",
		.type = FIELD_ENUM,
		AT(kind),
		.def = "ecdsa",
		.names = kind_names},
	{.name = "defect",
		.help = "what is wrong with it: no longer or not yet valid, or for another name "
			"(wrong.NAME)",
		.type = FIELD_ENUM,
		AT(defect),
		.def = "none",
		.names = defect_names},
	{.name = "padding",
		.help = "octets without meaning added to it, which make it as large as a long "
			"chain",
		.type = FIELD_SIZE,
		AT(padding),
		.def = "0B",
		.max = PADDING_MOST},
	{.name = "issuer",
		.help = "PEM file of the authority that signs it; absent: it signs itself",
		.type = FIELD_STRING,
		.role = FIELD_INPUT,
		AT(issuer),
		.min = 1,
		.max = PATH_MAX_LEN},
	{.name = "issuer_key",
		.help = "PEM file of the key of that authority",
		.type = FIELD_STRING,
		.role = FIELD_INPUT,
		AT(issuer_key),
		.min = 1,
		.max = PATH_MAX_LEN},
};

static const struct field_section made_section = {
	.name = "made",
	.help = "the certificate that is made at the start, without `certificate`",
	FIELD_ROWS(made_rows),
	.size = sizeof(struct tls_made_settings),
};

#undef AT
#define AT(member) .offset = offsetof(struct tls_server_settings, member)

static const struct field server_rows[] = {
	{.name = "port",
		.help = "TCP port; 0: the protocol's default",
		.type = FIELD_COUNT,
		AT(port),
		.def = "0",
		.max = 65535},
	COMMON(tls_server_settings, "PEM file of its certificate; absent: one is made at the start",
		"PEM file of its key"),
	{.name = "made",
		.help = "the certificate that is made at the start, without `certificate`",
		.type = FIELD_SECTION,
		.optional = true,
		AT(made),
		.section = &made_section},
	{.name = "handshake",
		.help = "faults of handshakes, each in a share of them at random; one has one at "
			"most",
		.type = FIELD_SECTION,
		.optional = true,
		AT(handshake),
		.section = &fault_section},
	{.name = "alpn",
		.help = "protocol by ALPN, or none; absent: the usual one of the transport",
		.type = FIELD_STRING,
		AT(alpn),
		.min = 1,
		.max = 15},
	{.name = "tickets",
		.help = "give tickets, with which clients resume",
		.type = FIELD_BOOL,
		AT(tickets),
		.def = "true"},
	{.name = "early",
		.help = "accept messages that come with a ticket, before the handshake is done "
			"(early data, RFC 8446 section 2.3); replays are not detected",
		.type = FIELD_BOOL,
		AT(early),
		.def = "false"},
	{.name = "close_notify",
		.help = "announce the end of a connection before it is closed",
		.type = FIELD_BOOL,
		AT(close_notify),
		.def = "true"},
	{.name = "handshakes",
		.help = "handshakes in progress at a time, of each of its threads; further ones "
			"wait",
		.type = FIELD_COUNT,
		AT(handshakes),
		.def = "1000",
		.min = 1,
		.max = TLS_HANDSHAKES_MOST},
};

const struct field_section tls_server_section = {
	.name = "tls",
	.help = "connections over TLS, at a port of their own",
	FIELD_ROWS(server_rows),
	.size = sizeof(struct tls_server_settings),
};

const struct tls_settings *tls_settings_or(const struct tls_settings *s)
{
	static const struct tls_settings defaults = {
		.handshakes = HANDSHAKES, .timeout_ns = TIMEOUT_NS, .close_notify = true};

	return s ? s : &defaults;
}

const struct tls_server_settings *tls_server_settings_or(const struct tls_server_settings *s)
{
	static const struct tls_server_settings defaults = {
		.tickets = true, .close_notify = true, .handshakes = HANDSHAKES};

	return s ? s : &defaults;
}

bool tls_pin(const char *text, uint8_t *pin)
{
	struct base64_decode_ctx base64;
	uint8_t octets[BASE64_DECODE_LENGTH(64)];
	size_t got = 0, len = strlen(text);

	base64_decode_init(&base64);
	if (len > 64 || !base64_decode_update(&base64, &got, octets, len, text) ||
		!base64_decode_final(&base64) || got != TLS_PIN_LEN)
		return false;
	memcpy(pin, octets, TLS_PIN_LEN);
	return true;
}

static char *append(char *at, const char *end, const char *prefix, const char *word)
{
	size_t a = strlen(prefix), b = strlen(word);

	if (at + a + b >= end)
		return at;
	memcpy(at, prefix, a);
	memcpy(at + a, word, b + 1);
	return at + a + b;
}

static char *append_all(char *at, const char *end, const char *prefix, const char *const *words,
	uint32_t count, const struct field_list *chosen)
{
	const int32_t *items = chosen->items;

	for (uint32_t i = 0; i < (chosen->count ? chosen->count : count); i++)
		at = append(at, end, prefix, words[chosen->count ? (uint32_t)items[i] : i]);
	return at;
}

void tls_priorities(const struct tls_common *s, bool server, char *text)
{
	const char *end = text + TLS_PRIORITIES_SIZE;
	char *at = append(text, end, "", "NORMAL:-VERS-ALL:-CIPHER-ALL:-GROUP-ALL");

	at = append_all(at, end, ":+VERS-", version_words, TLS_VERSIONS, &s->versions);
	at = append_all(at, end, ":+", cipher_words, RECORD_SUITES, &s->ciphers);
	at = append_all(at, end, ":+GROUP-", group_words, GROUPS_USUAL, &s->groups);
	if (server)
		append(at, end, ":", "%SERVER_PRECEDENCE");
}

bool tls_second_group(const struct tls_common *s, int32_t room[TLS_GROUPS], struct field_list *out)
{
	const int32_t *items = s->groups.items;
	uint32_t n = s->groups.count ? s->groups.count : GROUPS_USUAL;

	for (uint32_t i = 0; i < n && i < TLS_GROUPS; i++)
		room[i] = s->groups.count ? items[i] : (int32_t)i;
	*out = (struct field_list){.items = room, .count = n};
	if (n < 2)
		return false;
	room[0] = room[1];
	room[1] = s->groups.count ? items[0] : 0;
	return true;
}

bool tls_has_cipher(const struct tls_common *s, enum record_suite cipher)
{
	const int32_t *items = s->ciphers.items;

	for (uint32_t i = 0; i < s->ciphers.count; i++)
		if (items[i] == (int32_t)cipher)
			return true;
	return s->ciphers.count == 0;
}

uint32_t tls_group_index(const char *word)
{
	uint32_t i = 0;

	while (i < GROUP_COUNT && strcmp(group_words[i], word) != 0)
		i++;
	return i;
}

const char *tls_group_name(uint32_t i)
{
	return i < GROUP_COUNT ? tls_group_names[i] : "other";
}

const char *tls_version_name(uint32_t i)
{
	return tls_version_names[i];
}

const char *tls_fault_name(uint32_t fault)
{
	return fault_names[fault];
}

const char *tls_cipher_name(uint32_t i)
{
	return tls_cipher_names[i];
}

static void check_pair(const struct tls_common *s, struct diag *d)
{
	if (s->certificate && !s->key)
		diag_error(d, &s->certificate, NULL, "needs the file of its key (key)");
	if (s->key && !s->certificate)
		diag_error(d, &s->key, NULL, "needs the file of its certificate (certificate)");
}

static bool has_tls13(const struct tls_common *s)
{
	const int32_t *items = s->versions.items;

	for (uint32_t i = 0; i < s->versions.count; i++)
		if (items[i] == TLS_1_3)
			return true;
	return s->versions.count == 0;
}

static void check_early(const struct tls_common *s, const bool *early, struct diag *d)
{
	if (*early && !has_tls13(s))
		diag_error(d, early, NULL, "needs version 1.3 (versions)");
}

void tls_check(const struct tls_settings *s, struct diag *d)
{
	const char *const *pins = s->pins.items;
	uint8_t pin[TLS_PIN_LEN];

	check_pair(&s->common, d);
	check_early(&s->common, &s->early, d);
	if (s->early && s->resume == TLS_RESUME_NONE)
		diag_error(d, &s->early, NULL, "needs tickets (resume: each, or last)");
	if (s->ca && s->verify != TLS_VERIFY_CHAIN)
		diag_error(d, &s->ca, NULL, "is for verify: chain");
	if ((s->verify == TLS_VERIFY_PIN) != (s->pins.count > 0))
		diag_error(d, s->pins.count ? (const void *)&s->pins : &s->verify, NULL,
			"verify: pin and pins need each other");
	if (s->pins.count > TLS_PINS)
		diag_error(d, &s->pins, NULL, "more than %u", TLS_PINS);
	for (uint32_t i = 0; i < s->pins.count; i++)
		if (!tls_pin(pins[i], pin))
			diag_error(d, &pins[i], NULL,
				"not the base64 of 32 octets (openssl x509 -pubkey | openssl pkey "
				"-pubin -outform der | openssl dgst -sha256 -binary | base64)");
}

static void check_made(const struct tls_server_settings *s, struct diag *d)
{
	const struct tls_made_settings *m = s->made;

	if (s->common.certificate)
		diag_error(d, m, "", "is for a server without a file of its certificate");
	if (!m->issuer != !m->issuer_key)
		diag_error(d, m, "", "issuer and issuer_key need each other");
}

static void check_handshake(const struct tls_server_settings *s, struct diag *d)
{
	const struct tls_fault_settings *f = s->handshake;
	int32_t room[TLS_GROUPS];
	struct field_list groups;
	double sum = 0;

	for (uint32_t i = 0; i < TLS_FAULT_COUNT; i++)
		sum += f->shares[i];
	if (sum > 1 + 1e-9)
		diag_error(d, f, "", "the shares add up to more than 100%%");
	if (f->shares[TLS_FAULT_HELLO_RETRY] > 0 && !tls_second_group(&s->common, room, &groups))
		diag_error(d, &f->shares[TLS_FAULT_HELLO_RETRY], NULL,
			"needs a second group (groups)");
	for (uint32_t i = TLS_FAULT_NO_TICKET; i <= TLS_FAULT_TICKET_REFUSED; i++)
		if (f->shares[i] > 0 && !s->tickets)
			diag_error(d, &f->shares[i], NULL, "needs tickets: true");
	for (uint32_t i = TLS_FAULT_NO_ALPN; i <= TLS_FAULT_WRONG_ALPN; i++)
		if (f->shares[i] > 0 && s->alpn && strcmp(s->alpn, "none") == 0)
			diag_error(d, &f->shares[i], NULL, "needs another alpn than none");
}

void tls_server_check(const struct tls_server_settings *s, struct diag *d)
{
	check_pair(&s->common, d);
	check_early(&s->common, &s->early, d);
	if (s->early && !s->tickets)
		diag_error(d, &s->early, NULL, "needs tickets: true");
	if (s->made)
		check_made(s, d);
	if (s->handshake)
		check_handshake(s, d);
}

void tls_check_quic(const struct tls_settings *s, struct diag *d)
{
	const int32_t *versions = s->common.versions.items;
	bool has = s->common.versions.count == 0;

	for (uint32_t i = 0; i < s->common.versions.count; i++)
		has |= versions[i] == TLS_1_3;
	if (!has)
		diag_error(d, &s->common.versions, NULL, "QUIC needs 1.3");
	if (s->records == TLS_RECORDS_BURST)
		diag_error(d, &s->records, NULL, "is not for transport: quic, which has none");
}
