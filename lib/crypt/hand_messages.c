// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. One thread at a time for each handshake.
#include "crypt/hand_messages.h"

#include <stdlib.h>
#include <string.h>

#include <gnutls/gnutls.h>

#include "crypt/hand_internal.h"

#define EXTENSION 57 // quic_transport_parameters (RFC 9001 section 8.2)

// In front of the octets of an item in hand.out.
struct head {
	uint8_t kind, level, suite;
	uint32_t len;
};

static int put(struct hand *h, struct head head, const void *octets)
{
	int rc = hand_append(h, &head, sizeof(head));

	return rc ? rc : hand_append(h, octets, head.len);
}

static const gnutls_record_encryption_level_t levels[] = {
	[HAND_INITIAL] = GNUTLS_ENCRYPTION_LEVEL_INITIAL,
	[HAND_EARLY] = GNUTLS_ENCRYPTION_LEVEL_EARLY,
	[HAND_HANDSHAKE] = GNUTLS_ENCRYPTION_LEVEL_HANDSHAKE,
	[HAND_APPLICATION] = GNUTLS_ENCRYPTION_LEVEL_APPLICATION,
};

static uint8_t level_of(gnutls_record_encryption_level_t level)
{
	uint8_t i = HAND_INITIAL;

	while (levels[i] != level)
		i++;
	return i;
}

static int message_out(gnutls_session_t session, gnutls_record_encryption_level_t level,
	gnutls_handshake_description_t type, const void *octets, size_t len)
{
	struct hand *h = gnutls_session_get_ptr(session);

	if (type == GNUTLS_HANDSHAKE_CHANGE_CIPHER_SPEC)
		return 0;
	return put(h, (struct head){HAND_MESSAGE, level_of(level), 0, (uint32_t)len}, octets);
}

static int secret_out(gnutls_session_t session, gnutls_record_encryption_level_t level,
	const void *read, const void *write, size_t len)
{
	struct hand *h = gnutls_session_get_ptr(session);
	gnutls_cipher_algorithm_t cipher = level == GNUTLS_ENCRYPTION_LEVEL_EARLY
	                                           ? gnutls_early_cipher_get(session)
	                                           : gnutls_cipher_get(session);
	struct head head = {HAND_READ_SECRET, level_of(level), RECORD_AES_128_GCM, (uint32_t)len};
	int rc = 0;

	if (cipher == GNUTLS_CIPHER_AES_256_GCM)
		head.suite = RECORD_AES_256_GCM;
	else if (cipher == GNUTLS_CIPHER_CHACHA20_POLY1305)
		head.suite = RECORD_CHACHA20_POLY1305;
	else if (cipher != GNUTLS_CIPHER_AES_128_GCM)
		return GNUTLS_E_UNKNOWN_CIPHER_SUITE;
	if (read)
		rc = put(h, head, read);
	head.kind = HAND_WRITE_SECRET;
	return write && rc == 0 ? put(h, head, write) : rc;
}

static int alert_out(gnutls_session_t session, gnutls_record_encryption_level_t level,
	gnutls_alert_level_t how, gnutls_alert_description_t alert)
{
	struct hand *h = gnutls_session_get_ptr(session);

	(void)level;
	(void)how;
	h->facts.alert_sent = (int)alert;
	return 0;
}

static int parameters_in(gnutls_session_t session, const uint8_t *octets, size_t len)
{
	struct hand *h = gnutls_session_get_ptr(session);

	return put(h, (struct head){HAND_PARAMETERS, HAND_HANDSHAKE, 0, (uint32_t)len}, octets);
}

static int parameters_out(gnutls_session_t session, gnutls_buffer_t out)
{
	struct hand *h = gnutls_session_get_ptr(session);

	return gnutls_buffer_append_data(out, h->parameters, h->parameters_len);
}

struct hand *hand_messages_begin(const struct hand_setup *s, const uint8_t *parameters,
	size_t parameters_len, const uint8_t *session, size_t session_len)
{
	struct hand *h = hand_begin(s, session, session_len);

	if (!h)
		return NULL;
	h->parameters = malloc(parameters_len);
	if (!h->parameters)
		goto failed;
	memcpy(h->parameters, parameters, parameters_len);
	h->parameters_len = parameters_len;
	gnutls_handshake_set_secret_function(h->session, secret_out);
	gnutls_handshake_set_read_function(h->session, message_out);
	gnutls_alert_set_read_function(h->session, alert_out);
	if (gnutls_session_ext_register(h->session, "QUIC transport parameters", EXTENSION,
		    GNUTLS_EXT_TLS, parameters_in, parameters_out, NULL, NULL, NULL,
		    GNUTLS_EXT_FLAG_TLS | GNUTLS_EXT_FLAG_CLIENT_HELLO | GNUTLS_EXT_FLAG_EE) == 0)
		return h;
failed:
	hand_free(h);
	return NULL;
}

static int handshake_end(struct hand *h)
{
	const struct hand_settings *w = &h->setup->settings;
	int rc = hand_take_facts(h);

	// A client is done when all servers of the contract would be: ALPN is mandatory in QUIC.
	if (rc == 0 && w->alpn && !h->facts.alpn[0])
		rc = GNUTLS_E_NO_APPLICATION_PROTOCOL;
	if (rc == 0 && w->server && w->tickets)
		rc = gnutls_session_ticket_send(h->session, 1, 0);
	return rc;
}

enum hand_state hand_messages_step(
	struct hand *h, enum hand_level level, const uint8_t *octets, size_t len)
{
	int rc = 0;

	if (h->state == HAND_FAILED)
		return h->state;
	if (len)
		rc = gnutls_handshake_write(h->session, levels[level], octets, len);
	if (rc == 0 && h->state == HAND_RUNNING) {
		rc = gnutls_handshake(h->session);
		if (rc == 0)
			rc = handshake_end(h);
		if (rc == 0)
			h->state = HAND_DONE;
	}
	return rc < 0 && gnutls_error_is_fatal(rc) ? hand_failed(h, rc) : h->state;
}

bool hand_item_next(const struct hand *h, size_t *at, struct hand_item *out)
{
	struct head head;

	if (*at >= h->out_len)
		return false;
	memcpy(&head, h->out + *at, sizeof(head));
	*at += sizeof(head);
	*out = (struct hand_item){(enum hand_item_kind)head.kind, (enum hand_level)head.level,
		(enum record_suite)head.suite, h->out + *at, head.len};
	*at += head.len;
	return true;
}

void hand_items_taken(struct hand *h)
{
	h->out_len = 0;
}
