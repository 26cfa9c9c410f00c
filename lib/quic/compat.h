// SPDX-License-Identifier: BSD-3-Clause
// All differences between ngtcp2 0.12 (Debian 12) and 1.0 or later (Debian 13): the names of 1.0,
// for the files of lib/quic. 0.12 speaks a draft of version 2, with a number of its own, so that it
// and RFC 9369 do not understand each other.
// Path: hot | cold (early_save). The thread that owns the connection.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <ngtcp2/ngtcp2.h>

// Transport parameters that early data relies on (RFC 9000 section 7.4.1).
#define COMPAT_EARLY_SIZE 256

#if NGTCP2_VERSION_NUM < 0x010000

#define QUIC_V2          NGTCP2_PROTO_VER_V2_DRAFT
#define QUIC_V2_IS_DRAFT true
#define COMPAT_CONN_SIZE (100u << 10) // octets of a connection in use
#define QUIC_V2_RETRY    NGTCP2_RETRY_KEY_V2_DRAFT
#define QUIC_V2_SALT                                                                               \
	"\xa7\x07\xc2\x03\xa5\x9b\x47\x18\x4a\x1d\x62\xca\x57\x04\x06\xea\x7a\xe3\xe5\xd3"

#define ngtcp2_encryption_level             ngtcp2_crypto_level
#define NGTCP2_ENCRYPTION_LEVEL_INITIAL     NGTCP2_CRYPTO_LEVEL_INITIAL
#define NGTCP2_ENCRYPTION_LEVEL_HANDSHAKE   NGTCP2_CRYPTO_LEVEL_HANDSHAKE
#define NGTCP2_ENCRYPTION_LEVEL_1RTT        NGTCP2_CRYPTO_LEVEL_APPLICATION
#define NGTCP2_ENCRYPTION_LEVEL_0RTT        NGTCP2_CRYPTO_LEVEL_EARLY
#define ngtcp2_ccerr                        ngtcp2_connection_close_error
#define ngtcp2_ccerr_default                ngtcp2_connection_close_error_default
#define ngtcp2_ccerr_set_liberr             ngtcp2_connection_close_error_set_transport_error_liberr
#define ngtcp2_ccerr_set_tls_alert          ngtcp2_connection_close_error_set_transport_error_tls_alert
#define ngtcp2_ccerr_set_application_error  ngtcp2_connection_close_error_set_application_error
#define NGTCP2_CCERR_TYPE_TRANSPORT         NGTCP2_CONNECTION_CLOSE_ERROR_CODE_TYPE_TRANSPORT
#define NGTCP2_CCERR_TYPE_APPLICATION       NGTCP2_CONNECTION_CLOSE_ERROR_CODE_TYPE_APPLICATION
#define ngtcp2_conn_install_0rtt_key        ngtcp2_conn_install_early_key
#define ngtcp2_conn_set_0rtt_crypto_ctx     ngtcp2_conn_set_early_crypto_ctx
#define ngtcp2_conn_tls_handshake_completed ngtcp2_conn_handshake_completed
#define ngtcp2_conn_tls_early_data_rejected ngtcp2_conn_early_data_rejected
#define tls_early_data_rejected             early_data_rejected
#define ngtcp2_conn_decode_and_set_remote_transport_params                                         \
	ngtcp2_conn_decode_remote_transport_params

static inline void compat_ccerr(ngtcp2_conn *conn, ngtcp2_ccerr *out)
{
	ngtcp2_conn_get_connection_close_error(conn, out);
}

static inline int compat_shutdown_stream(ngtcp2_conn *conn, int64_t id, uint64_t code)
{
	return ngtcp2_conn_shutdown_stream(conn, id, code);
}

static inline void compat_settings(ngtcp2_settings *s, const uint8_t *token, size_t token_len,
	bool retried, const uint32_t *versions, size_t count)
{
	(void)retried;
	s->token = (ngtcp2_vec){(uint8_t *)token, token_len};
	s->other_versions = (uint32_t *)versions;
	s->other_versionslen = count;
}

// The parameters of a callback that differ, and of them the token.
#define COMPAT_NEW_TOKEN    const ngtcp2_vec *token
#define COMPAT_TOKEN_OCTETS token->base
#define COMPAT_TOKEN_LEN    token->len

static inline void compat_server_params(ngtcp2_transport_params *p)
{
	(void)p;
}

static inline const uint8_t *compat_token(const ngtcp2_pkt_hd *hd, size_t *len)
{
	*len = hd->token.len;
	return hd->token.base;
}

// Our transport parameters. A server's name the version, which ngtcp2 learns from the client's
// parameters; here it is the client's first version, as no other one is accepted.
static inline ngtcp2_ssize compat_parameters(ngtcp2_conn *conn, uint8_t *out, size_t room)
{
	ngtcp2_transport_params p = *ngtcp2_conn_get_local_transport_params(conn);
	ngtcp2_cid ids[8]; // one so early

	ngtcp2_conn_get_scid(conn, ids);
	p.initial_scid = ids[0];
	p.version_info.chosen_version = ngtcp2_conn_get_client_chosen_version(conn);
	return ngtcp2_encode_transport_params(out, room,
		ngtcp2_conn_is_server(conn) ? NGTCP2_TRANSPORT_PARAMS_TYPE_ENCRYPTED_EXTENSIONS
					    : NGTCP2_TRANSPORT_PARAMS_TYPE_CLIENT_HELLO,
		&p);
}

// Returns the number of octets written.
static inline size_t compat_early_save(ngtcp2_conn *conn, uint8_t *out)
{
	const ngtcp2_transport_params *p = ngtcp2_conn_get_remote_transport_params(conn);
	uint64_t v[] = {p->initial_max_stream_data_bidi_local,
		p->initial_max_stream_data_bidi_remote, p->initial_max_stream_data_uni,
		p->initial_max_data, p->initial_max_streams_bidi, p->initial_max_streams_uni,
		p->active_connection_id_limit};

	memcpy(out, v, sizeof(v));
	return sizeof(v);
}

static inline int compat_early_restore(ngtcp2_conn *conn, const uint8_t *from, size_t len)
{
	ngtcp2_transport_params p;
	uint64_t v[7];

	if (len != sizeof(v))
		return NGTCP2_ERR_INVALID_ARGUMENT;
	memcpy(v, from, sizeof(v));
	ngtcp2_transport_params_default(&p);
	p.initial_max_stream_data_bidi_local = v[0];
	p.initial_max_stream_data_bidi_remote = v[1];
	p.initial_max_stream_data_uni = v[2];
	p.initial_max_data = v[3];
	p.initial_max_streams_bidi = v[4];
	p.initial_max_streams_uni = v[5];
	p.active_connection_id_limit = v[6];
	ngtcp2_conn_set_early_remote_transport_params(conn, &p);
	return 0;
}

#else

#define QUIC_V2          NGTCP2_PROTO_VER_V2
#define QUIC_V2_IS_DRAFT false
#define COMPAT_CONN_SIZE (48u << 10)
#define QUIC_V2_RETRY    NGTCP2_RETRY_KEY_V2
#define QUIC_V2_SALT                                                                               \
	"\x0d\xed\xe3\xde\xf7\x00\xa6\xdb\x81\x93\x81\xbe\x6e\x26\x9d\xcb\xf9\xbd\x2e\xd9"

static inline void compat_ccerr(ngtcp2_conn *conn, ngtcp2_ccerr *out)
{
	*out = *ngtcp2_conn_get_ccerr(conn);
}

static inline int compat_shutdown_stream(ngtcp2_conn *conn, int64_t id, uint64_t code)
{
	return ngtcp2_conn_shutdown_stream(conn, 0, id, code);
}

static inline void compat_settings(ngtcp2_settings *s, const uint8_t *token, size_t token_len,
	bool retried, const uint32_t *versions, size_t count)
{
	s->token = token;
	s->tokenlen = token_len;
	if (token_len)
		s->token_type = retried ? NGTCP2_TOKEN_TYPE_RETRY : NGTCP2_TOKEN_TYPE_NEW_TOKEN;
	s->available_versions = versions;
	s->available_versionslen = count;
}

#define COMPAT_NEW_TOKEN    const uint8_t *token, size_t token_len
#define COMPAT_TOKEN_OCTETS token
#define COMPAT_TOKEN_LEN    token_len

static inline void compat_server_params(ngtcp2_transport_params *p)
{
	p->original_dcid_present = 1;
}

static inline const uint8_t *compat_token(const ngtcp2_pkt_hd *hd, size_t *len)
{
	*len = hd->tokenlen;
	return hd->token;
}

static inline ngtcp2_ssize compat_parameters(ngtcp2_conn *conn, uint8_t *out, size_t room)
{
	ngtcp2_transport_params p = *ngtcp2_conn_get_local_transport_params(conn);
	ngtcp2_cid ids[8]; // one so early

	ngtcp2_conn_get_scid(conn, ids);
	p.initial_scid = ids[0];
	p.initial_scid_present = 1;
	p.version_info.chosen_version = ngtcp2_conn_get_client_chosen_version(conn);
	return ngtcp2_transport_params_encode(out, room, &p);
}

static inline size_t compat_early_save(ngtcp2_conn *conn, uint8_t *out)
{
	ngtcp2_ssize len = ngtcp2_conn_encode_0rtt_transport_params(conn, out, COMPAT_EARLY_SIZE);

	return len > 0 ? (size_t)len : 0;
}

static inline int compat_early_restore(ngtcp2_conn *conn, const uint8_t *from, size_t len)
{
	return ngtcp2_conn_decode_and_set_0rtt_transport_params(conn, from, len);
}

#endif
