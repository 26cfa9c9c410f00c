// SPDX-License-Identifier: BSD-3-Clause
// Path: hot. The thread that owns the connections.
#include "quic/conn.h"

#include <string.h>

#include "base/bytes.h"
#include "quic/packet.h"
#include "quic/quic_internal.h"

#define LONG             0x80
#define FIXED            0x40
#define TOKEN_RETRY      1
#define TOKEN_NEW        2
#define TOKEN_NS         (3600ull * 1000000000) // a token of NEW_TOKEN is good for an hour,
#define TOKEN_RETRY_NS   (10ull * 1000000000)   // a token of a Retry for ten seconds
#define TOKEN_MAC        16
#define TOKEN_SIZE       (1 + 8 + 1 + NGTCP2_MAX_CIDLEN + TOKEN_MAC)
#define RESET_LEAST      41 // a stray of so many octets is answered by one octet less
#define RESET_TOKEN      16
#define ACTIVE_CIDS      2
#define MS               1000000ull
#define RESERVED_VERSION 0x0a1a2a3au

// --- callbacks of ngtcp2

static void on_random(uint8_t *out, size_t len, const ngtcp2_rand_ctx *ctx)
{
	struct rand *random = ctx->native_handle;
	uint64_t x;

	for (size_t n; len; out += n, len -= n) {
		n = len < sizeof(x) ? len : sizeof(x);
		x = rand_next(random);
		memcpy(out, &x, n);
	}
}

static int on_challenge(ngtcp2_conn *conn, uint8_t *data, void *of)
{
	struct quic_row *r = of;

	(void)conn;
	bytes_put_be64(data, rand_next(&r->q->memory->random));
	return 0;
}

static void cid_next(struct quic_row *r, ngtcp2_cid *cid)
{
	bytes_put_be64(cid->data, cid_make(r->q, r, r->cids++));
	cid->datalen = QUIC_CID;
}

static int on_cid_wanted(ngtcp2_conn *conn, ngtcp2_cid *cid, uint8_t *token, size_t len, void *of)
{
	struct quic_row *r = of;

	(void)conn;
	(void)len; // QUIC_CID
	cid_next(r, cid);
	reset_token(r->q, cid->data, token);
	return 0;
}

static int on_stateless_reset(ngtcp2_conn *conn, const ngtcp2_pkt_stateless_reset *sr, void *of)
{
	struct quic_row *r = of;

	(void)conn;
	(void)sr;
	r->flags |= ROW_RESET;
	return 0;
}

// --- tokens of a server (RFC 9000 section 8.1): kind, time, first connection ID of a Retry, and a
// MAC over these, the address, and for a Retry the port and the connection ID that it gave

static void token_mac(const struct quics *q, const uint8_t *token, const struct quic_path *path,
	const ngtcp2_cid *given, uint8_t *mac)
{
	uint8_t text[TOKEN_SIZE + 16 + 2 + NGTCP2_MAX_CIDLEN];
	struct writer w = writer_of(text, sizeof(text));

	write_bytes(&w, token, TOKEN_SIZE - TOKEN_MAC);
	write_bytes(&w, path->remote.bytes, sizeof(path->remote.bytes));
	if (given) {
		write_be16(&w, path->remote_port);
		write_bytes(&w, given->data, given->datalen);
	}
	secret_mac(q, text, (size_t)(w.at - text), mac);
}

static void token_write(const struct quics *q, uint8_t *token, uint8_t kind,
	const struct quic_path *path, const ngtcp2_cid *first, const ngtcp2_cid *given,
	uint64_t now)
{
	memset(token, 0, TOKEN_SIZE);
	token[0] = kind;
	bytes_put_be64(token + 1, now);
	if (first) {
		token[9] = (uint8_t)first->datalen;
		memcpy(token + 10, first->data, first->datalen);
	}
	token_mac(q, token, path, given, token + TOKEN_SIZE - TOKEN_MAC);
}

// Returns the kind of a token that is ours and good; 0: it is not.
static uint8_t token_read(const struct quics *q, const uint8_t *token, size_t len,
	const struct quic_path *path, const ngtcp2_cid *given, uint64_t now, ngtcp2_cid *first)
{
	uint8_t mac[TOKEN_MAC], kind;
	uint64_t age;

	if (len != TOKEN_SIZE)
		return 0;
	kind = token[0];
	age = now - bytes_be64(token + 1);
	if (age > (kind == TOKEN_RETRY ? TOKEN_RETRY_NS : TOKEN_NS) || token[9] > NGTCP2_MAX_CIDLEN)
		return 0;
	token_mac(q, token, path, kind == TOKEN_RETRY ? given : NULL, mac);
	if (memcmp(mac, token + TOKEN_SIZE - TOKEN_MAC, TOKEN_MAC) != 0)
		return 0;
	ngtcp2_cid_init(first, token + 10, token[9]);
	return kind;
}

static int on_handshake_completed(ngtcp2_conn *conn, void *of)
{
	struct quic_row *r = of;
	struct quics *q = r->q;
	uint8_t token[TOKEN_SIZE];

	if (!q->server)
		return 0;
	r->facts.confirmed_ns = r->now;
	// The client gets a token for its next connection.
	token_write(q, token, TOKEN_NEW, &r->path, NULL, NULL, r->now);
	return ngtcp2_conn_submit_new_token(conn, token, TOKEN_SIZE);
}

static int on_confirmed(ngtcp2_conn *conn, void *of)
{
	struct quic_row *r = of;

	(void)conn;
	r->facts.confirmed_ns = r->now;
	return 0;
}

static int on_new_token(ngtcp2_conn *conn, COMPAT_NEW_TOKEN, void *of)
{
	struct quic_row *r = of;

	(void)conn;
	chain_drop(r->q, &r->token, r->token.len);
	r->flags &= (uint16_t)~ROW_TOKEN_EVENT;
	if (COMPAT_TOKEN_LEN <= QUIC_TOKEN_MOST &&
		chain_add(r->q, &r->token, COMPAT_TOKEN_OCTETS, (uint32_t)COMPAT_TOKEN_LEN))
		r->flags |= ROW_TOKEN_EVENT;
	return 0;
}

// Nothing moves: ngtcp2 stays where it is, as *to is left alone.
static int on_preferred(
	ngtcp2_conn *conn, ngtcp2_path *to, const ngtcp2_preferred_addr *offered, void *of)
{
	struct quic_row *r = of;

	(void)conn;
	(void)to;
	(void)offered;
	r->facts.preferred_refused = true;
	return 0;
}

static const ngtcp2_callbacks callbacks = {
	.client_initial = on_client_initial,
	.recv_client_initial = on_server_initial,
	.recv_crypto_data = on_crypto,
	.handshake_completed = on_handshake_completed,
	.handshake_confirmed = on_confirmed,
	.encrypt = seal_packet,
	.decrypt = seal_open,
	.hp_mask = seal_mask,
	.recv_stream_data = on_stream_data,
	.acked_stream_data_offset = on_acked,
	.stream_open = on_stream_open,
	.stream_close = on_stream_close,
	.stream_reset = on_stream_reset,
	.extend_max_stream_data = on_stream_window,
	.recv_stateless_reset = on_stateless_reset,
	.recv_retry = on_retry,
	.recv_new_token = on_new_token,
	.rand = on_random,
	.get_new_connection_id = on_cid_wanted,
	.get_path_challenge_data = on_challenge,
	.update_key = on_update_key,
	.select_preferred_addr = on_preferred,
	.delete_crypto_aead_ctx = on_key_gone,
	.delete_crypto_cipher_ctx = on_header_key_gone,
	.version_negotiation = on_version,
	.tls_early_data_rejected = on_early_refused,
};

// --- a new connection

static void address_set(
	const struct addr *a, uint16_t port, struct sockaddr_in *v4, struct sockaddr_in6 *v6)
{
	uint8_t port_be[2];

	bytes_put_be16(port_be, port);
	if (a->len == 4) {
		memset(v4, 0, sizeof(*v4));
		v4->sin_family = AF_INET;
		memcpy(&v4->sin_port, port_be, 2);
		memcpy(&v4->sin_addr, a->bytes, 4);
	} else {
		memset(v6, 0, sizeof(*v6));
		v6->sin6_family = AF_INET6;
		memcpy(&v6->sin6_port, port_be, 2);
		memcpy(&v6->sin6_addr, a->bytes, 16);
	}
}

static ngtcp2_path path_set(struct quic_row *r, const struct quic_path *path)
{
	socklen_t len = path->remote.len == 4 ? sizeof(r->local.v4) : sizeof(r->local.v6);

	r->path = *path;
	address_set(&path->local, path->local_port, &r->local.v4, &r->local.v6);
	address_set(&path->remote, path->remote_port, &r->remote.v4, &r->remote.v6);
	return (ngtcp2_path){{&r->local.any, len}, {&r->remote.any, len}, NULL};
}

static ngtcp2_settings settings_of(struct quics *q, uint64_t now)
{
	static const ngtcp2_cc_algo algorithms[] = {[QUIC_CUBIC] = NGTCP2_CC_ALGO_CUBIC,
		[QUIC_RENO] = NGTCP2_CC_ALGO_RENO,
		[QUIC_BBR] = NGTCP2_CC_ALGO_BBR};
	ngtcp2_settings s;

	ngtcp2_settings_default(&s);
	s.cc_algo = algorithms[q->congestion];
	s.initial_ts = now;
	s.max_tx_udp_payload_size = q->mtu;
	s.no_tx_udp_payload_size_shaping = 1;
	s.no_pmtud = 1;
	s.rand_ctx.native_handle = &q->memory->random;
	s.handshake_timeout = q->handshake_ns ? q->handshake_ns : UINT64_MAX;
	if (q->ack_every)
		s.ack_thresh = q->ack_every;
	// Windows do not grow by themselves: the owner's are as large as it wants them.
	s.max_window = q->window;
	s.max_stream_window = q->stream_window;
	return s;
}

static ngtcp2_transport_params params_of(const struct quics *q)
{
	ngtcp2_transport_params p;

	ngtcp2_transport_params_default(&p);
	p.initial_max_data = q->window;
	p.initial_max_stream_data_bidi_local = q->stream_window;
	p.initial_max_stream_data_bidi_remote = q->stream_window;
	p.initial_max_streams_bidi = q->server && !q->faults.no_credit ? q->streams : 0;
	p.max_idle_timeout = q->idle_ns;
	p.max_ack_delay = q->ack_delay_ns / MS * MS;
	p.active_connection_id_limit = ACTIVE_CIDS;
	p.disable_active_migration = 1;
	return p;
}

uint32_t quic_open(struct quics *q, const struct quic_path *path, uint32_t of,
	const uint8_t *session, uint32_t session_len, const uint8_t *token, uint32_t token_len,
	uint64_t now)
{
	struct reader in = {0};
	ngtcp2_transport_params params = params_of(q);
	ngtcp2_settings settings = settings_of(q, now);
	uint32_t c = row_take(q), early_len = 0;
	const uint8_t *early = NULL;
	ngtcp2_cid dcid, scid;
	struct quic_row *r;
	ngtcp2_path np;

	if (c == QUIC_NONE)
		return c;
	r = row_at(q, c);
	r->of = of;
	r->now = now;
	r->setup = q->tls;
	r->facts.began_ns = now;
	np = path_set(r, path);
	bytes_put_be64(dcid.data, rand_next(&q->memory->random));
	bytes_put_be64(dcid.data + 8, rand_next(&q->memory->random));
	dcid.datalen = 16;
	cid_next(r, &scid);
	compat_settings(&settings, token, token_len, false, q->versions, q->version_count);
	settings.preferred_versions = q->versions;
	settings.preferred_versionslen = q->version_count;
	if (ngtcp2_conn_client_new(&r->conn, &dcid, &scid, &np, q->versions[0], &callbacks,
		    &settings, &params, &r->mem, r) != 0) {
		r->conn = NULL;
		pool_clear(&r->share);
		goto failed;
	}
	if (session) {
		in = reader_of(session, session_len);
		early_len = read_be16(&in);
		early = read_bytes(&in, early_len);
	}
	if (early && compat_early_restore(r->conn, early, early_len) != 0)
		early = NULL;
	if (shake_begin(r, early ? in.at : NULL, early ? (uint32_t)reader_left(&in) : 0))
		return c;
failed:
	q->counts.no_memory++;
	row_forget(r);
	return QUIC_NONE;
}

// --- the connection of a datagram

enum quic_found quic_find(struct quics *q, const uint8_t *bytes, uint32_t len,
	const struct addr *remote, uint16_t remote_port, uint32_t *c)
{
	struct quic_memory *m = q->memory;
	struct reader in = reader_of(bytes, len);
	uint8_t type = read_u8(&in), cid_len = QUIC_CID;
	const uint8_t *cid;
	struct quic_row *r = NULL;
	uint32_t worker = q->worker, n;

	*c = QUIC_NONE;
	if (type & LONG) {
		read_be32(&in);
		cid_len = read_u8(&in);
	}
	// The second bit has no meaning: both ends allow any (RFC 9287).
	cid = read_bytes(&in, cid_len);
	if (!cid || cid_len > NGTCP2_MAX_CIDLEN) {
		q->counts.garbage++;
		return QUIC_GARBAGE;
	}
	if (cid_len == QUIC_CID)
		r = cid_row(q, cid, &worker);
	if (!r && q->server && type & LONG && cid_len >= 8)
		for (n = m->initials[rand_hash(bytes_be64(cid)) & m->initials_mask]; n != NONE;
			n = m->rows[n].next)
			if (m->rows[n].initial_len == cid_len &&
				memcmp(m->rows[n].initial, cid, cid_len) == 0)
				r = &m->rows[n];
	if (r && remote &&
		(r->path.remote_port != remote_port ||
			memcmp(&r->path.remote, remote, sizeof(*remote)) != 0)) {
		q->counts.moved++;
		return QUIC_STRAY;
	}
	if (r) {
		*c = row_number(r);
		return QUIC_FOUND;
	}
	if (q->server && type & LONG && len >= QUIC_MTU_LEAST)
		return QUIC_NEW;
	q->counts.strays++;
	if (type & LONG || worker == q->worker || worker >= q->workers)
		return QUIC_STRAY;
	*c = worker;
	return QUIC_FOREIGN;
}

uint32_t quic_stray(struct quics *q, const uint8_t *bytes, uint32_t len, uint8_t *out)
{
	uint32_t n = len - 1;

	// Shorter than the stray, so that two ends without state stop (RFC 9000 section 10.3.3).
	if (len < RESET_LEAST || bytes[0] & LONG)
		return 0;
	n = n < 2 * RESET_LEAST ? n : 2 * RESET_LEAST;
	for (uint32_t i = 0; i < n - RESET_TOKEN; i++)
		out[i] = (uint8_t)rand_next(&q->memory->random);
	out[0] = (uint8_t)((out[0] & 0x3f) | FIXED);
	reset_token(q, bytes + 1, out + n - RESET_TOKEN);
	q->counts.resets_sent++;
	return n;
}

// --- a server's new connections

static uint32_t offer_versions(struct quics *q, const ngtcp2_version_cid *vc,
	const uint32_t *versions, size_t count, uint8_t *out)
{
	ngtcp2_ssize n = ngtcp2_pkt_write_version_negotiation(out, QUIC_MTU_LEAST,
		(uint8_t)rand_next(&q->memory->random), vc->scid, vc->scidlen, vc->dcid,
		vc->dcidlen, versions, count);

	q->counts.versions_sent += n > 0;
	return n > 0 ? (uint32_t)n : 0;
}

static uint32_t retry_write(struct quics *q, const ngtcp2_pkt_hd *hd, const struct quic_path *path,
	uint64_t now, uint8_t *out)
{
	struct pool_share share = {&q->memory->pool, NULL};
	ngtcp2_crypto_ctx ctx = seal_context(RECORD_AES_128_GCM);
	ngtcp2_crypto_aead_ctx key;
	uint8_t token[TOKEN_SIZE];
	ngtcp2_cid given = {.datalen = QUIC_CID};
	ngtcp2_ssize n;

	bytes_put_be64(given.data, rand_next(&q->memory->random));
	token_write(q, token, TOKEN_RETRY, path, &hd->dcid, &given, now);
	if (!seal_key_make(&share, &key, RECORD_AES_128_GCM, seal_retry_key(hd->version)))
		return 0;
	n = ngtcp2_pkt_write_retry(out, QUIC_MTU_LEAST, hd->version, &hd->scid, &given, &hd->dcid,
		token, sizeof(token), seal_packet, &ctx.aead, &key);
	pool_give(&share, key.native_handle);
	q->counts.retries_sent += n > 0;
	return n > 0 ? (uint32_t)n : 0;
}

static void initial_remember(struct quic_row *r, const ngtcp2_cid *dcid)
{
	struct quic_memory *m = r->q->memory;
	uint32_t *at = &m->initials[rand_hash(bytes_be64(dcid->data)) & m->initials_mask];

	memcpy(r->initial, dcid->data, dcid->datalen);
	r->initial_len = (uint8_t)dcid->datalen;
	r->next = *at;
	*at = row_number(r);
}

static struct quic_row *accept_row(struct quics *q, const struct quic_path *path,
	const ngtcp2_pkt_hd *hd, uint8_t token_kind, const ngtcp2_cid *first, uint64_t now)
{
	ngtcp2_transport_params params = params_of(q);
	ngtcp2_settings settings = settings_of(q, now);
	uint32_t c = row_take(q);
	const uint8_t *token;
	struct quic_row *r;
	ngtcp2_path np;
	ngtcp2_cid scid;
	size_t token_len;

	if (c == QUIC_NONE)
		return NULL;
	r = row_at(q, c);
	r->now = now;
	r->setup =
		q->tls_no_early && is_likely(q, q->faults.early_refused) ? q->tls_no_early : q->tls;
	r->facts.began_ns = now;
	r->facts.retried = token_kind == TOKEN_RETRY;
	r->facts.with_token = token_kind == TOKEN_NEW;
	np = path_set(r, path);
	cid_next(r, &scid);
	token = compat_token(hd, &token_len);
	compat_settings(&settings, token, token_kind ? token_len : 0, r->facts.retried, q->versions,
		q->version_count);
	params.original_dcid = r->facts.retried ? *first : hd->dcid;
	compat_server_params(&params);
	params.retry_scid = hd->dcid;
	params.retry_scid_present = r->facts.retried;
	params.stateless_reset_token_present = 1;
	reset_token(q, scid.data, params.stateless_reset_token);
	if (ngtcp2_conn_server_new(&r->conn, &hd->scid, &scid, &np, hd->version, &callbacks,
		    &settings, &params, &r->mem, r) != 0) {
		r->conn = NULL;
		pool_clear(&r->share);
		row_forget(r);
		q->counts.no_memory++;
		return NULL;
	}
	if (hd->dcid.datalen >= 8)
		initial_remember(r, &hd->dcid);
	return r;
}

static bool is_ours(const struct quics *q, uint32_t version)
{
	for (uint32_t i = 0; i < q->version_count; i++)
		if (q->versions[i] == version)
			return true;
	return false;
}

uint32_t quic_accept(struct quics *q, const struct quic_path *path, const uint8_t *bytes,
	uint32_t len, uint8_t ecn, uint64_t now, uint8_t *out, uint32_t *c)
{
	static const uint32_t nobodys[] = {RESERVED_VERSION};
	const uint8_t *token;
	ngtcp2_version_cid vc;
	ngtcp2_pkt_hd hd;
	ngtcp2_cid first;
	struct quic_row *r;
	size_t token_len;
	uint8_t kind = 0;
	int rv = ngtcp2_pkt_decode_version_cid(&vc, bytes, len, QUIC_CID);

	*c = QUIC_NONE;
	if ((rv == 0 || rv == NGTCP2_ERR_VERSION_NEGOTIATION) && vc.version &&
		!is_ours(q, vc.version))
		return offer_versions(q, &vc, q->versions, q->version_count, out);
	if (rv != 0 || vc.version == 0 || ngtcp2_accept(&hd, bytes, len) != 0) {
		q->counts.garbage++;
		return 0;
	}
	if (is_likely(q, q->faults.drop_initial)) {
		q->counts.ignored++;
		return 0;
	}
	if (is_likely(q, q->faults.version_negotiation))
		return offer_versions(q, &vc, nobodys, 1, out);
	token = compat_token(&hd, &token_len);
	if (token_len)
		kind = token_read(q, token, token_len, path, &hd.dcid, now, &first);
	if (!kind && is_likely(q, q->faults.retry))
		return retry_write(q, &hd, path, now, out);
	r = accept_row(q, path, &hd, kind, &first, now);
	if (!r) {
		q->counts.ignored++;
		return 0;
	}
	*c = row_number(r);
	quic_input(q, *c, bytes, len, ecn, now);
	return 0;
}

// --- facts

bool quic_alive(const struct quics *q, uint32_t c)
{
	const struct quic_row *r = row_at(q, c);

	return r->state == ROW_LIVE && !(r->flags & (ROW_SHUT | ROW_FORGET));
}

bool quic_is_ready(const struct quics *q, uint32_t c)
{
	return quic_alive(q, c) && row_at(q, c)->flags & ROW_COMPLETED;
}

bool quic_carries(const struct quics *q, uint32_t c)
{
	return quic_alive(q, c) && row_at(q, c)->flags & (ROW_COMPLETED | ROW_EARLY);
}

uint32_t quic_open_count(const struct quics *q, uint32_t c)
{
	return row_at(q, c)->open_count;
}

uint32_t quic_of(const struct quics *q, uint32_t c)
{
	return row_at(q, c)->of;
}

void quic_set_of(struct quics *q, uint32_t c, uint32_t of)
{
	row_at(q, c)->of = of;
}

const struct quic_path *quic_path(const struct quics *q, uint32_t c)
{
	return &row_at(q, c)->path;
}

const struct quic_facts *quic_facts(const struct quics *q, uint32_t c)
{
	return &row_at(q, c)->facts;
}

const struct quic_end *quic_end(const struct quics *q, uint32_t c)
{
	return &row_at(q, c)->end;
}

// --- the end, and keys

void quic_shut(struct quics *q, uint32_t c, uint64_t code)
{
	struct quic_row *r = row_at(q, c);

	if (r->state != ROW_LIVE)
		return;
	r->flags |= ROW_SHUT;
	r->shut_code = code;
}

void quic_forget(struct quics *q, uint32_t c)
{
	if (row_at(q, c)->state != ROW_FREE)
		row_forget(row_at(q, c));
}

bool quic_update_keys(struct quics *q, uint32_t c, uint64_t now)
{
	struct quic_row *r = row_at(q, c);

	// ngtcp2 does not allow it before.
	if (!quic_is_ready(q, c) || !r->facts.confirmed_ns)
		return false;
	r->now = now;
	return ngtcp2_conn_initiate_key_update(r->conn, now) == 0;
}
