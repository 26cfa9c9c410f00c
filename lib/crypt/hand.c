// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. One thread for each handshake.
#include "crypt/hand.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "base/bytes.h"
#include "crypt/hand_internal.h"

#define PRIORITIES                                                                                 \
	"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:"                                              \
	"-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305"
#define SHARED_KEYS  ":+ECDHE-PSK"
#define QUIC_ALONE   ":-VERS-ALL:+VERS-TLS1.3:%DISABLE_TLS13_COMPAT_MODE"
#define OUTPUT_FIRST 4096
#define EARLY_DATA   42     // number of the extension
#define EARLY_MOST   16384u // octets of early data that a server accepts

// --- the common part

static int certificates_read(struct hand_setup *s)
{
	const struct hand_settings *w = &s->settings;
	gnutls_datum_t crt = {(uint8_t *)w->certificate, 0}, key = {(uint8_t *)w->key, 0};
	gnutls_datum_t ca = {(uint8_t *)w->authorities, 0};
	int rc = 0;

	if (w->certificate) {
		crt.size = (unsigned)strlen(w->certificate);
		key.size = (unsigned)strlen(w->key);
		rc = gnutls_certificate_set_x509_key_mem(
			s->credentials, &crt, &key, GNUTLS_X509_FMT_PEM);
	}
	if (rc < 0 || w->verify != TLS_VERIFY_CHAIN)
		return rc;
	if (!w->authorities)
		return gnutls_certificate_set_x509_system_trust(s->credentials);
	ca.size = (unsigned)strlen(w->authorities);
	rc = gnutls_certificate_set_x509_trust_mem(s->credentials, &ca, GNUTLS_X509_FMT_PEM);
	return rc == 0 ? GNUTLS_E_NO_CERTIFICATE_FOUND : rc;
}

// GnuTLS gives tickets to clients that may resume, and reads that only if it takes tickets or keys
// that both ends know. So a server that refuses tickets has no such key, but could.
static int priorities_read(struct hand_setup *s)
{
	char text[TLS_PRIORITIES_SIZE + sizeof(SHARED_KEYS) + sizeof(QUIC_ALONE)];

	snprintf(text, sizeof(text), "%s%s%s",
		s->settings.priorities ? s->settings.priorities : PRIORITIES,
		s->settings.refuses ? SHARED_KEYS : "", s->settings.quic ? QUIC_ALONE : "");
	return gnutls_priority_init(&s->priorities, text, NULL);
}

// Any ClientHello is new.
static int replay_add(
	void *of, time_t expires, const gnutls_datum_t *key, const gnutls_datum_t *data)
{
	(void)of;
	(void)expires;
	(void)key;
	(void)data;
	return 0;
}

// GnuTLS accepts early data only with a register of replays. This one has no memory: nobody attacks
// the responder of a test. Within its window, here 49 days, GnuTLS just reads it, so handshakes of
// several threads can share it.
static int replay_begin(struct hand_setup *s)
{
	int rc = gnutls_anti_replay_init(&s->replay);

	if (rc < 0)
		return rc;
	gnutls_anti_replay_set_window(s->replay, UINT32_MAX);
	gnutls_anti_replay_set_add_function(s->replay, replay_add);
	return 0;
}

struct hand_setup *hand_setup_new(const struct hand_settings *settings, const char **wrong)
{
	struct hand_setup *s = calloc(1, sizeof(*s));
	int rc;

	if (!s) {
		*wrong = "no memory";
		return NULL;
	}
	s->settings = *settings;
	rc = gnutls_certificate_allocate_credentials(&s->credentials);
	rc = rc ? rc : priorities_read(s);
	if (rc == 0 && settings->refuses)
		rc = gnutls_psk_allocate_server_credentials(&s->psk);
	rc = rc ? rc : certificates_read(s);
	if (rc >= 0 && settings->server && settings->tickets && !settings->keys)
		rc = gnutls_session_ticket_key_generate(&s->ticket_key);
	if (rc >= 0 && settings->server && settings->early && !settings->keys)
		rc = replay_begin(s);
	if (rc >= 0)
		return s;
	*wrong = gnutls_strerror(rc);
	hand_setup_free(s);
	return NULL;
}

bool hand_has_group(uint32_t group)
{
	int32_t items[] = {(int32_t)group};
	const struct tls_common s = {.groups = {.items = items, .count = 1}};
	char text[TLS_PRIORITIES_SIZE];
	gnutls_priority_t made;

	tls_priorities(&s, false, text);
	if (gnutls_priority_init(&made, text, NULL) < 0)
		return false;
	gnutls_priority_deinit(made);
	return true;
}

const char *hand_library(void)
{
	return gnutls_check_version(NULL);
}

void hand_setup_keylog(struct hand_setup *s, FILE *keylog)
{
	s->keylog = keylog;
}

void hand_setup_free(struct hand_setup *s)
{
	if (!s)
		return;
	gnutls_free(s->ticket_key.data);
	if (s->replay)
		gnutls_anti_replay_deinit(s->replay);
	if (s->priorities)
		gnutls_priority_deinit(s->priorities);
	if (s->psk)
		gnutls_psk_free_server_credentials(s->psk);
	if (s->credentials)
		gnutls_certificate_free_credentials(s->credentials);
	free(s);
}

// --- octets

static ssize_t pull(gnutls_transport_ptr_t at, void *data, size_t room)
{
	struct hand *h = at;
	size_t len = h->in_len - h->in_at < room ? h->in_len - h->in_at : room;

	if (len == 0) {
		gnutls_transport_set_errno(h->session, EAGAIN);
		return -1;
	}
	memcpy(data, h->in + h->in_at, len);
	h->in_at += len;
	return (ssize_t)len;
}

int hand_append(struct hand *h, const void *octets, size_t len)
{
	size_t room = h->out_room ? h->out_room : OUTPUT_FIRST;
	uint8_t *grown;

	while (room < h->out_len + len)
		room *= 2;
	if (room > h->out_room) {
		grown = realloc(h->out, room);
		if (!grown)
			return GNUTLS_E_MEMORY_ERROR;
		h->out = grown;
		h->out_room = room;
	}
	if (len)
		memcpy(h->out + h->out_len, octets, len);
	h->out_len += len;
	return 0;
}

static ssize_t push(gnutls_transport_ptr_t at, const void *data, size_t len)
{
	struct hand *h = at;

	if (hand_append(h, data, len) == 0)
		return (ssize_t)len;
	gnutls_transport_set_errno(h->session, ENOMEM);
	return -1;
}

// --- names

static const char *const refusal_names[HAND_REFUSALS] = {[HAND_ACCEPTED] = "accepted",
	[HAND_NO_CERTIFICATE] = "none",
	[HAND_WRONG_PIN] = "wrong_pin",
	[HAND_EXPIRED] = "expired",
	[HAND_NOT_YET] = "not_yet_valid",
	[HAND_WRONG_NAME] = "wrong_name",
	[HAND_UNTRUSTED] = "untrusted"};

const char *hand_refusal_name(uint32_t refusal)
{
	return refusal_names[refusal];
}

// --- facts

static void put_hex(char **at, const gnutls_datum_t *octets)
{
	for (unsigned i = 0; i < octets->size; i++)
		*at += sprintf(*at, "%02x", octets->data[i]);
}

// In one call: handshakes of other threads write to the same file.
static void log_secret(struct hand *h, const char *label, const gnutls_datum_t *secret)
{
	char line[2 * (KEYS_SECRET_MOST + 32) + 64], *at = line;
	gnutls_datum_t client, server;

	if (secret->size > KEYS_SECRET_MOST)
		return;
	gnutls_session_get_random(h->session, &client, &server);
	at += snprintf(at, 40, "%s ", label);
	put_hex(&at, &client);
	*at++ = ' ';
	put_hex(&at, secret);
	*at++ = '\n';
	fwrite(line, 1, (size_t)(at - line), h->setup->keylog);
}

static int secret_seen(gnutls_session_t session, const char *label, const gnutls_datum_t *secret)
{
	struct hand *h = gnutls_session_get_ptr(session);
	bool client = strcmp(label, "CLIENT_TRAFFIC_SECRET_0") == 0;

	if ((client || strcmp(label, "SERVER_TRAFFIC_SECRET_0") == 0) &&
		secret->size <= KEYS_SECRET_MOST)
		memcpy(client == h->setup->settings.server ? h->facts.read_secret
							   : h->facts.write_secret,
			secret->data, secret->size);
	if (h->setup->keylog)
		log_secret(h, label, secret);
	return 0;
}

static bool pin_is_right(const struct hand *h, const gnutls_datum_t *certificate)
{
	gnutls_x509_crt_t crt;
	uint8_t id[32];
	size_t len = sizeof(id);
	bool right = false;

	if (gnutls_x509_crt_init(&crt) < 0)
		return false;
	if (gnutls_x509_crt_import(crt, certificate, GNUTLS_X509_FMT_DER) == 0 &&
		gnutls_x509_crt_get_key_id(crt, GNUTLS_KEYID_USE_SHA256, id, &len) == 0)
		for (uint32_t i = 0; i < h->setup->settings.pin_count && !right; i++)
			right = len == TLS_PIN_LEN &&
			        memcmp(id, h->setup->settings.pins[i], len) == 0;
	gnutls_x509_crt_deinit(crt);
	return right;
}

static const struct {
	unsigned status;
	enum hand_refusal refusal;
} refusals[] = {
	{GNUTLS_CERT_EXPIRED, HAND_EXPIRED},
	{GNUTLS_CERT_NOT_ACTIVATED, HAND_NOT_YET},
	{GNUTLS_CERT_UNEXPECTED_OWNER, HAND_WRONG_NAME},
};

static enum hand_refusal chain_refusal(const struct hand *h)
{
	unsigned status = 0;

	if (gnutls_certificate_verify_peers3(h->session, h->setup->settings.name, &status) < 0)
		return HAND_UNTRUSTED;
	for (unsigned i = 0; i < sizeof(refusals) / sizeof(*refusals); i++)
		if (status & refusals[i].status)
			return refusals[i].refusal;
	return status ? HAND_UNTRUSTED : HAND_ACCEPTED;
}

// The certificate of the peer has come. Returns 0 to accept it.
static int certificate_check(gnutls_session_t session)
{
	struct hand *h = gnutls_session_get_ptr(session);
	const gnutls_datum_t *list = gnutls_certificate_get_peers(session, &h->facts.certificates);

	h->facts.octets_of_them = 0;
	for (uint32_t i = 0; list && i < h->facts.certificates; i++)
		h->facts.octets_of_them += list[i].size;
	if (h->setup->settings.verify == TLS_VERIFY_NONE)
		return 0;
	if (!list || !h->facts.certificates)
		h->facts.refused = HAND_NO_CERTIFICATE;
	else if (h->setup->settings.verify == TLS_VERIFY_CHAIN)
		h->facts.refused = chain_refusal(h);
	else if (!pin_is_right(h, list))
		h->facts.refused = HAND_WRONG_PIN;
	return h->facts.refused == HAND_ACCEPTED ? 0 : GNUTLS_E_CERTIFICATE_ERROR;
}

static const struct {
	gnutls_cipher_algorithm_t cipher;
	enum record_suite suite;
} ciphers[] = {
	{GNUTLS_CIPHER_AES_128_GCM, RECORD_AES_128_GCM},
	{GNUTLS_CIPHER_AES_256_GCM, RECORD_AES_256_GCM},
	{GNUTLS_CIPHER_CHACHA20_POLY1305, RECORD_CHACHA20_POLY1305},
};

static int way_take(struct hand *h, bool read, struct record_way *w)
{
	gnutls_datum_t mac, iv, key;
	unsigned char seq[8];
	int rc = gnutls_record_get_state(h->session, read, &mac, &iv, &key, seq);

	*w = (struct record_way){.suite = (uint8_t)h->facts.suite, .tls12 = h->facts.tls12};
	if (rc < 0)
		return rc;
	if (iv.size > sizeof(w->iv) || key.size > sizeof(w->key))
		return GNUTLS_E_INTERNAL_ERROR;
	memcpy(w->iv, iv.data, iv.size);
	memcpy(w->key, key.data, key.size);
	w->seq = bytes_be64(seq);
	return 0;
}

int hand_take_facts(struct hand *h)
{
	struct hand_facts *f = &h->facts;
	gnutls_cipher_algorithm_t cipher = gnutls_cipher_get(h->session);
	const char *group = gnutls_group_get_name(gnutls_group_get(h->session));
	gnutls_datum_t alpn;
	bool known = false;
	int rc;

	f->tls12 = gnutls_protocol_get_version(h->session) == GNUTLS_TLS1_2;
	f->resumed = gnutls_session_is_resumed(h->session);
	f->early = gnutls_session_get_flags(h->session) & GNUTLS_SFLAGS_EARLY_DATA;
	f->group = tls_group_index(group ? group : "");
	for (unsigned i = 0; i < sizeof(ciphers) / sizeof(*ciphers); i++)
		if (ciphers[i].cipher == cipher) {
			f->suite = ciphers[i].suite;
			known = true;
		}
	if (gnutls_alpn_get_selected_protocol(h->session, &alpn) == 0 &&
		alpn.size < sizeof(f->alpn))
		memcpy(f->alpn, alpn.data, alpn.size);
	if (!known)
		return GNUTLS_E_UNKNOWN_CIPHER_SUITE;
	if (h->parameters)
		return 0;
	rc = way_take(h, true, &f->read);
	return rc ? rc : way_take(h, false, &f->write);
}

// --- one handshake

static const struct hand_setup *keys_of(const struct hand *h)
{
	return h->setup->settings.keys ? h->setup->settings.keys : h->setup;
}

static int give_tickets(struct hand *h)
{
	return gnutls_session_ticket_enable_server(h->session, &keys_of(h)->ticket_key);
}

// Has the ticket the extension early_data (RFC 8446 section 4.6.1)? GnuTLS does not distinguish its
// absence from the largest number, which all tickets of QUIC have.
static bool ticket_allows_early(const gnutls_datum_t *message)
{
	struct reader in = reader_of(message->data, message->size);
	uint16_t type, len;

	read_bytes(&in, 8); // lifetime, age
	read_bytes(&in, read_u8(&in));
	read_bytes(&in, read_be16(&in));
	read_be16(&in); // length of all extensions
	while (!in.failed && reader_left(&in)) {
		type = read_be16(&in);
		len = read_be16(&in);
		if (type == EARLY_DATA)
			return read_be32(&in) > 0 && !in.failed;
		read_bytes(&in, len);
	}
	return false;
}

// A message was sent or received. A server that takes no tickets gives them from ServerHello on.
static int message_seen(gnutls_session_t session, unsigned type, unsigned when, unsigned incoming,
	const gnutls_datum_t *message)
{
	struct hand *h = gnutls_session_get_ptr(session);

	// Later a part of it is gone.
	if (when == GNUTLS_HOOK_PRE) {
		if (type == GNUTLS_HANDSHAKE_NEW_SESSION_TICKET && incoming)
			h->early_allowed = ticket_allows_early(message);
		return 0;
	}
	if (type == GNUTLS_HANDSHAKE_HELLO_RETRY_REQUEST)
		h->facts.hello_retry = true;
	else if (type == GNUTLS_HANDSHAKE_SERVER_HELLO && h->setup->settings.refuses)
		return give_tickets(h);
	return 0;
}

static int session_begin(struct hand *h, const uint8_t *session, size_t session_len)
{
	const struct hand_settings *w = &h->setup->settings;
	bool early = w->server || (w->quic && session_len && session[--session_len]);
	unsigned flags = (w->server ? GNUTLS_SERVER : GNUTLS_CLIENT) | GNUTLS_NONBLOCK |
	                 GNUTLS_KEY_SHARE_TOP | // one key share: the preferred group's
	                 (w->server && (!w->tickets || w->refuses) ? GNUTLS_NO_TICKETS : 0) |
	                 (early && w->early ? GNUTLS_ENABLE_EARLY_DATA : 0) |
	                 (w->quic ? GNUTLS_NO_AUTO_SEND_TICKET | GNUTLS_NO_END_OF_EARLY_DATA : 0);
	gnutls_datum_t alpn = {(uint8_t *)w->alpn, w->alpn ? (unsigned)strlen(w->alpn) : 0};
	int rc = gnutls_init(&h->session, flags);

	if (rc < 0)
		return rc;
	gnutls_session_set_ptr(h->session, h);
	gnutls_transport_set_ptr(h->session, h);
	gnutls_transport_set_pull_function(h->session, pull);
	gnutls_transport_set_push_function(h->session, push);
	gnutls_session_set_keylog_function(h->session, secret_seen);
	gnutls_session_set_verify_function(h->session, certificate_check);
	gnutls_handshake_set_hook_function(
		h->session, GNUTLS_HANDSHAKE_ANY, GNUTLS_HOOK_BOTH, message_seen);
	gnutls_handshake_set_timeout(h->session, GNUTLS_INDEFINITE_TIMEOUT);
	rc = gnutls_priority_set(h->session, h->setup->priorities);
	rc = rc ? rc
	        : gnutls_credentials_set(h->session, GNUTLS_CRD_CERTIFICATE, h->setup->credentials);
	if (rc == 0 && h->setup->psk)
		rc = gnutls_credentials_set(h->session, GNUTLS_CRD_PSK, h->setup->psk);
	if (rc == 0 && w->alpn)
		rc = gnutls_alpn_set_protocols(
			h->session, &alpn, 1, w->server ? GNUTLS_ALPN_MANDATORY : 0);
	if (rc == 0 && w->name && !w->server)
		rc = gnutls_server_name_set(h->session, GNUTLS_NAME_DNS, w->name, strlen(w->name));
	if (rc == 0 && w->server && w->tickets && !w->refuses)
		rc = give_tickets(h);
	if (rc == 0 && w->server && w->early) {
		gnutls_anti_replay_enable(h->session, keys_of(h)->replay);
		rc = gnutls_record_set_max_early_data_size(
			h->session, w->quic ? UINT32_MAX : EARLY_MOST);
	}
	if (rc == 0 && session)
		rc = gnutls_session_set_data(h->session, session, session_len);
	return rc;
}

struct hand *hand_begin(const struct hand_setup *s, const uint8_t *session, size_t session_len)
{
	struct hand *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->setup = s;
	h->facts.alert_received = h->facts.alert_sent = -1;
	if (session_begin(h, session, session_len) == 0)
		return h;
	hand_free(h);
	return NULL;
}

void hand_free(struct hand *h)
{
	if (!h)
		return;
	if (h->session)
		gnutls_deinit(h->session);
	free(h->out);
	free(h->early);
	free(h->parameters);
	free(h);
}

bool hand_early(struct hand *h, const uint8_t *octets, size_t len)
{
	return gnutls_record_send_early_data(h->session, octets, len) == 0;
}

static int early_take(struct hand *h)
{
	ssize_t n = 1;

	if (!h->facts.early || !h->setup->settings.server)
		return 0;
	h->early = malloc(EARLY_MOST);
	if (!h->early)
		return GNUTLS_E_MEMORY_ERROR;
	while (n > 0 && h->early_len < EARLY_MOST) {
		n = gnutls_record_recv_early_data(
			h->session, h->early + h->early_len, EARLY_MOST - h->early_len);
		h->early_len += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

enum hand_state hand_failed(struct hand *h, int rc)
{
	int level;

	h->facts.wrong = gnutls_strerror(rc);
	if (rc == GNUTLS_E_FATAL_ALERT_RECEIVED || rc == GNUTLS_E_WARNING_ALERT_RECEIVED)
		h->facts.alert_received = (int)gnutls_alert_get(h->session);
	else if (gnutls_alert_send_appropriate(h->session, rc) == 0)
		h->facts.alert_sent = gnutls_error_to_alert(rc, &level);
	return h->state = HAND_FAILED;
}

enum hand_state hand_step(struct hand *h, const uint8_t *in, size_t len, size_t *taken)
{
	int rc;

	*taken = 0;
	h->out_len = 0;
	if (h->state != HAND_RUNNING)
		return h->state;
	h->in = in;
	h->in_len = len;
	h->in_at = 0;
	rc = gnutls_handshake(h->session);
	if (rc == 0)
		rc = hand_take_facts(h);
	if (rc == 0)
		rc = early_take(h);
	*taken = h->in_at;
	h->in_len = h->in_at = 0;
	if (rc == GNUTLS_E_AGAIN || rc == GNUTLS_E_INTERRUPTED)
		return HAND_RUNNING;
	if (rc < 0)
		return hand_failed(h, rc);
	return h->state = HAND_DONE;
}

const uint8_t *hand_output(const struct hand *h, size_t *len)
{
	*len = h->out_len;
	return h->out;
}

const struct hand_facts *hand_facts(const struct hand *h)
{
	return &h->facts;
}

const uint8_t *hand_early_taken(const struct hand *h, size_t *len)
{
	*len = h->early_len;
	return h->early;
}

// None after HelloRetryRequest: GnuTLS 3.7 offers early data in the second ClientHello, too, and
// runs out of keys. Without a number in the ticket it keeps the largest one, which only QUIC uses
// (RFC 9001 section 4.6.1).
size_t hand_early_most(const struct hand *h)
{
	size_t most = gnutls_record_get_max_early_data_size(h->session);

	if (!h->setup->settings.early || h->facts.tls12 || h->facts.hello_retry)
		return 0;
	return most == UINT32_MAX && !h->setup->settings.quic ? 0 : most;
}

uint8_t *hand_session(struct hand *h, size_t *len)
{
	gnutls_datum_t data = {0};
	uint8_t *copy = NULL;

	if (h->state != HAND_DONE)
		return NULL;
	if (!h->facts.tls12 &&
		!(gnutls_session_get_flags(h->session) & GNUTLS_SFLAGS_SESSION_TICKET))
		return NULL;
	if (gnutls_session_get_data2(h->session, &data) == 0 && data.size) {
		*len = data.size + h->setup->settings.quic;
		copy = malloc(*len);
		if (copy)
			memcpy(copy, data.data, data.size);
		if (copy && h->setup->settings.quic)
			copy[data.size] = h->early_allowed;
	}
	gnutls_free(data.data);
	return copy;
}

bool hand_has_ticket(const struct hand *h)
{
	return gnutls_session_get_flags(h->session) & GNUTLS_SFLAGS_SESSION_TICKET;
}

bool hand_ticket(struct hand *h, const uint8_t *records, size_t len)
{
	uint8_t unused[RECORD_CONTENT];
	size_t before;

	if (h->state != HAND_DONE)
		return false;
	h->in = records;
	h->in_len = len;
	h->in_at = 0;
	do {
		before = h->in_at;
		gnutls_record_recv(h->session, unused, sizeof(unused));
	} while (!hand_has_ticket(h) && h->in_at > before);
	h->in_len = h->in_at = 0;
	return hand_has_ticket(h);
}
