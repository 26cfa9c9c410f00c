// SPDX-License-Identifier: BSD-3-Clause
// TLS of a connection: messages of TLS go into a job, and the items that come out of it, messages,
// secrets and parameters, into ngtcp2. The keys of Initial packets and updates need no TLS.
// Path: hot | cold (quic_job_do). The thread that owns the connections, but for quic_job_do.
#include "quic/shake.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "quic/quic_internal.h"

#define INPUT_HEAD        3u
#define MISSING_EXTENSION 109 // alert

static const ngtcp2_encryption_level levels[] = {[HAND_INITIAL] = NGTCP2_ENCRYPTION_LEVEL_INITIAL,
	[HAND_EARLY] = NGTCP2_ENCRYPTION_LEVEL_0RTT,
	[HAND_HANDSHAKE] = NGTCP2_ENCRYPTION_LEVEL_HANDSHAKE,
	[HAND_APPLICATION] = NGTCP2_ENCRYPTION_LEVEL_1RTT};

static uint8_t level_of(ngtcp2_encryption_level level)
{
	uint8_t i = HAND_INITIAL;

	while (levels[i] != level)
		i++;
	return i;
}

// --- keys

static int initial_keys(struct quic_row *r, uint32_t version, const ngtcp2_cid *dcid, bool again)
{
	struct pool_share *p = &r->share;
	bool server = r->q->server;
	ngtcp2_crypto_ctx ctx = seal_context(RECORD_AES_128_GCM);
	ngtcp2_crypto_aead_ctx retry = {NULL};
	uint8_t secrets[2][32];
	struct seal_keys rx, tx = {{NULL}, {NULL}, {0}};
	int rv = NGTCP2_ERR_NOMEM;

	seal_initial(version, dcid->data, dcid->datalen, secrets[0], secrets[1]);
	if (!seal_keys_make(p, &rx, RECORD_AES_128_GCM, version, secrets[!server], true) ||
		!seal_keys_make(p, &tx, RECORD_AES_128_GCM, version, secrets[server], true))
		goto failed;
	if (again) {
		rv = ngtcp2_conn_install_vneg_initial_key(r->conn, version, &rx.packet, rx.iv,
			&rx.header, &tx.packet, tx.iv, &tx.header, SEAL_IV);
		if (rv != 0)
			goto failed;
		return 0;
	}
	if (!server && !ngtcp2_conn_after_retry(r->conn) &&
		!seal_key_make(p, &retry, RECORD_AES_128_GCM, seal_retry_key(version)))
		goto failed;
	ngtcp2_conn_set_initial_crypto_ctx(r->conn, &ctx);
	rv = ngtcp2_conn_install_initial_key(
		r->conn, &rx.packet, rx.iv, &rx.header, &tx.packet, tx.iv, &tx.header, SEAL_IV);
	if (rv != 0)
		goto failed;
	if (retry.native_handle)
		ngtcp2_conn_set_retry_aead(r->conn, &ctx.aead, &retry);
	return 0;
failed:
	pool_give(p, retry.native_handle);
	seal_keys_free(p, &rx);
	seal_keys_free(p, &tx);
	return rv;
}

static int secret_take(struct quic_row *r, const struct hand_item *item)
{
	struct pool_share *p = &r->share;
	bool reads = item->kind == HAND_READ_SECRET;
	ngtcp2_crypto_ctx ctx = seal_context(item->suite);
	struct seal_keys k;
	uint32_t version;
	int rv = 0;

	// A key of early data has one direction.
	if (item->level == HAND_EARLY && reads != r->q->server)
		return 0;
	version = item->level == HAND_EARLY ? ngtcp2_conn_get_client_chosen_version(r->conn)
	                                    : ngtcp2_conn_get_negotiated_version(r->conn);
	if (!seal_keys_make(p, &k, item->suite, version, item->octets, true))
		return NGTCP2_ERR_NOMEM;
	switch (item->level) {
	case HAND_EARLY:
		ngtcp2_conn_set_0rtt_crypto_ctx(r->conn, &ctx);
		rv = ngtcp2_conn_install_0rtt_key(r->conn, &k.packet, k.iv, SEAL_IV, &k.header);
		r->flags |= ROW_EARLY;
		r->facts.early_offered = true;
		break;
	case HAND_HANDSHAKE:
		ngtcp2_conn_set_crypto_ctx(r->conn, &ctx);
		rv = reads ? ngtcp2_conn_install_rx_handshake_key(
				     r->conn, &k.packet, k.iv, SEAL_IV, &k.header)
		           : ngtcp2_conn_install_tx_handshake_key(
				     r->conn, &k.packet, k.iv, SEAL_IV, &k.header);
		break;
	case HAND_APPLICATION:
		rv = reads ? ngtcp2_conn_install_rx_key(r->conn, item->octets, item->len, &k.packet,
				     k.iv, SEAL_IV, &k.header)
		           : ngtcp2_conn_install_tx_key(r->conn, item->octets, item->len, &k.packet,
				     k.iv, SEAL_IV, &k.header);
		break;
	case HAND_INITIAL:
		rv = NGTCP2_ERR_INTERNAL;
	}
	if (rv != 0)
		seal_keys_free(p, &k);
	return rv;
}

int on_update_key(ngtcp2_conn *conn, uint8_t *rx_secret, uint8_t *tx_secret,
	ngtcp2_crypto_aead_ctx *rx, uint8_t *rx_iv, ngtcp2_crypto_aead_ctx *tx, uint8_t *tx_iv,
	const uint8_t *rx_now, const uint8_t *tx_now, size_t len, void *of)
{
	struct quic_row *r = of;
	struct pool_share *p = &r->share;
	enum record_suite suite = seal_suite(ngtcp2_conn_get_crypto_ctx(conn));
	uint32_t version = ngtcp2_conn_get_negotiated_version(conn);
	struct seal_keys a, b;

	memcpy(rx_secret, rx_now, len);
	memcpy(tx_secret, tx_now, len);
	seal_next(suite, version, rx_secret);
	seal_next(suite, version, tx_secret);
	if (!seal_keys_make(p, &a, suite, version, rx_secret, false))
		return NGTCP2_ERR_CALLBACK_FAILURE;
	if (!seal_keys_make(p, &b, suite, version, tx_secret, false)) {
		seal_keys_free(p, &a);
		return NGTCP2_ERR_CALLBACK_FAILURE;
	}
	*rx = a.packet;
	*tx = b.packet;
	memcpy(rx_iv, a.iv, SEAL_IV);
	memcpy(tx_iv, b.iv, SEAL_IV);
	// ngtcp2 asks for the next keys before they are needed: after the handshake, and each
	// update.
	r->facts.key_updates = r->key_calls++;
	return 0;
}

void on_key_gone(ngtcp2_conn *conn, ngtcp2_crypto_aead_ctx *ctx, void *of)
{
	struct quic_row *r = of;

	(void)conn;
	pool_give(&r->share, ctx->native_handle);
}

void on_header_key_gone(ngtcp2_conn *conn, ngtcp2_crypto_cipher_ctx *ctx, void *of)
{
	struct quic_row *r = of;

	(void)conn;
	pool_give(&r->share, ctx->native_handle);
}

// --- jobs

// Any thread.
void quic_job_do(struct quic_job *job)
{
	uint64_t began = job->clock ? clock_time(job->clock) : 0;
	enum hand_level level = HAND_INITIAL;
	uint32_t len;
	uint8_t *session;
	size_t session_len;

	job->waited += began - job->given;
	if (job->ends) {
		hand_free(job->hand);
		job->hand = NULL;
		return;
	}
	job->state = HAND_FAILED;
	if (job->begins)
		job->hand = hand_messages_begin(job->setup, job->parameters, job->parameters_len,
			job->session_len ? job->session : NULL, job->session_len);
	job->session_len = 0;
	if (!job->hand)
		return;
	if (job->in_len == 0)
		job->state = hand_messages_step(job->hand, level, NULL, 0);
	for (uint32_t at = 0; at < job->in_len; at += INPUT_HEAD + len) {
		level = (enum hand_level)job->in[at];
		len = bytes_be16(job->in + at + 1);
		job->state = hand_messages_step(job->hand, level, job->in + at + INPUT_HEAD, len);
	}
	job->in_len = 0;
	if (job->tickets && job->state == HAND_DONE && hand_has_ticket(job->hand)) {
		session = hand_session(job->hand, &session_len);
		if (session && session_len <= sizeof(job->session)) {
			memcpy(job->session, session, session_len);
			job->session_len = (uint32_t)session_len;
		}
		free(session);
	}
	if (job->clock)
		job->ticks += clock_time(job->clock) - began;
}

static struct quic_job *job_at(struct quics *q, uint32_t n)
{
	return &q->memory->jobs[n];
}

static void job_queue(struct quics *q, uint32_t n)
{
	struct quic_memory *m = q->memory;
	struct quic_job *job = job_at(q, n);

	job->given = q->clock ? clock_time(q->clock) : 0;
	job->next = NONE;
	if (m->job_first == NONE)
		m->job_first = n;
	else
		m->jobs[m->job_last].next = n;
	m->job_last = n;
}

struct quic_job *quic_job(struct quics *q)
{
	struct quic_memory *m = q->memory;
	struct quic_job *job;

	if (m->job_first == NONE)
		return NULL;
	job = &m->jobs[m->job_first];
	m->job_first = job->next;
	return job;
}

// The job for the next step of a connection: its seat, or the one for jobs that are done at once.
static struct quic_job *job_of(struct quic_row *r)
{
	struct quics *q = r->q;
	struct quic_memory *m = q->memory;
	struct quic_job *job;

	if (!q->deferred) {
		job = &m->jobs[m->job_count];
		job->in_len = 0;
	} else if (r->job == NONE) {
		r->job = m->job_free;
		if (r->job == NONE)
			return NULL;
		job = &m->jobs[r->job];
		m->job_free = job->next;
		job->in_len = 0;
	} else {
		return &m->jobs[r->job];
	}
	job->c = row_number(r);
	job->generation = r->generation;
	job->begins = job->ends = false;
	job->tickets = !q->server && q->tickets;
	job->clock = q->clock;
	job->hand = r->hand;
	job->session_len = 0;
	job->ticks = job->waited = 0;
	return job;
}

static bool job_begin(struct quic_row *r, struct quic_job *job)
{
	ngtcp2_ssize n = compat_parameters(r->conn, job->parameters, sizeof(job->parameters));

	job->begins = true;
	job->setup = r->setup;
	job->parameters_len = n > 0 ? (uint32_t)n : 0;
	return n > 0;
}

void job_end(struct quics *q, struct quic_job *job)
{
	uint32_t n = (uint32_t)(job - q->memory->jobs);

	if (job->hand) {
		job->ends = true;
		job_queue(q, n);
		return;
	}
	job->next = q->memory->job_free;
	q->memory->job_free = n;
}

bool shake_begin(struct quic_row *r, const uint8_t *session, uint32_t len)
{
	struct quics *q = r->q;
	struct quic_job *job = job_of(r);

	if (!job || !job_begin(r, job))
		return false;
	job->in_len = 0;
	if (len && len <= sizeof(job->session)) {
		memcpy(job->session, session, len);
		job->session_len = len;
	}
	if (q->deferred) {
		r->flags |= ROW_JOB_AWAY;
		job_queue(q, r->job);
		return true;
	}
	job->given = q->clock ? clock_time(q->clock) : 0;
	quic_job_do(job);
	r->hand = job->hand;
	r->facts.ticks += job->ticks;
	return r->hand && job->state != HAND_FAILED;
}

void shake_end(struct quic_row *r)
{
	struct quics *q = r->q;
	struct quic_job *job;

	if (r->job == NONE) {
		hand_free(r->hand);
		r->hand = NULL;
		return;
	}
	// The crew frees the session. If it has the job, quic_job_done sees that its row is
	// another.
	job = job_at(q, r->job);
	job->generation--;
	if (!(r->flags & ROW_JOB_AWAY)) {
		job->hand = r->hand;
		job_end(q, job);
	}
	r->job = NONE;
	r->hand = NULL;
	r->flags &= (uint16_t)~ROW_JOB_AWAY;
}

void shake_due(struct quic_row *r)
{
	if (r->job == NONE || r->flags & ROW_JOB_AWAY || job_at(r->q, r->job)->in_len == 0)
		return;
	r->flags |= ROW_JOB_AWAY;
	job_queue(r->q, r->job);
}

// --- outcomes

static void facts_take(struct quic_row *r)
{
	const struct hand_facts *h = hand_facts(r->hand);
	struct quic_facts *f = &r->facts;

	f->known = true;
	f->tls.resumed = h->resumed;
	f->tls.hello_retry = h->hello_retry;
	f->tls.suite = h->suite;
	f->tls.group = h->group;
	f->tls.certificates = h->certificates;
	f->tls.octets_of_them = h->octets_of_them;
	memcpy(f->tls.alpn, h->alpn, sizeof(f->tls.alpn));
	f->tls.refused = h->refused;
	f->tls.alert_sent = h->alert_sent;
	f->tls.wrong = h->wrong;
	f->early = h->early;
}

static int completed(struct quic_row *r)
{
	int rv = 0;

	facts_take(r);
	r->facts.done_ns = r->now;
	r->facts.version = ngtcp2_conn_get_negotiated_version(r->conn);
	r->flags |= ROW_COMPLETED | ROW_READY_EVENT;
	if (!r->q->server && r->facts.early_offered && !r->facts.early)
		rv = ngtcp2_conn_tls_early_data_rejected(r->conn);
	ngtcp2_conn_tls_handshake_completed(r->conn);
	return rv;
}

// The early transport parameters with their length in front, and the session of TLS.
static void session_keep(struct quic_row *r, const uint8_t *session, uint32_t len)
{
	uint8_t early[2 + COMPAT_EARLY_SIZE];
	size_t n = compat_early_save(r->conn, early + 2);

	bytes_put_be16(early, (uint16_t)n);
	if (r->flags & ROW_TICKET_EVENT || n + 2 + len > QUIC_SESSION_MOST)
		return;
	if (chain_add(r->q, &r->ticket, early, (uint32_t)n + 2) &&
		chain_add(r->q, &r->ticket, session, len))
		r->flags |= ROW_TICKET_EVENT;
	else
		chain_drop(r->q, &r->ticket, r->ticket.len);
}

// ngtcp2 relies on the peer's transport parameters from these secrets on; without them there is no
// QUIC (RFC 9001 section 8.2).
static bool lacks_parameters(const struct quic_row *r, const struct hand_item *item)
{
	return !(r->flags & ROW_PARAMETERS) &&
	       item->level >= (r->q->server ? HAND_HANDSHAKE : HAND_APPLICATION);
}

static int crypto_failed(struct quic_row *r)
{
	if (r->facts.tls.alert_sent >= 0)
		ngtcp2_conn_set_tls_alert(r->conn, (uint8_t)r->facts.tls.alert_sent);
	return NGTCP2_ERR_CRYPTO;
}

// Gives the items of a step to ngtcp2.
static int items_take(struct quic_row *r)
{
	struct hand_item item;
	size_t at = 0;
	int rv = 0;

	while (rv == 0 && hand_item_next(r->hand, &at, &item)) {
		if (item.kind == HAND_MESSAGE) {
			rv = ngtcp2_conn_submit_crypto_data(
				r->conn, levels[item.level], item.octets, item.len);
		} else if (item.kind == HAND_PARAMETERS) {
			r->flags |= ROW_PARAMETERS;
			rv = ngtcp2_conn_decode_and_set_remote_transport_params(
				r->conn, item.octets, item.len);
		} else if (lacks_parameters(r, &item)) {
			facts_take(r);
			r->facts.tls.alert_sent = MISSING_EXTENSION;
			r->facts.tls.wrong = "no transport parameters";
			rv = crypto_failed(r);
		} else {
			rv = secret_take(r, &item);
		}
	}
	hand_items_taken(r->hand);
	return rv;
}

int shake_take(struct quic_row *r, struct quic_job *job)
{
	int rv;

	r->hand = job->hand;
	r->facts.ticks += job->ticks;
	r->facts.waited += job->waited;
	job->begins = false;
	job->ticks = job->waited = 0;
	if (!r->hand) {
		r->flags |= ROW_MEMORY;
		return NGTCP2_ERR_NOMEM;
	}
	if (job->state == HAND_FAILED) {
		facts_take(r);
		return crypto_failed(r);
	}
	rv = items_take(r);
	if (rv == 0 && job->state == HAND_DONE && !(r->flags & ROW_COMPLETED))
		rv = completed(r);
	if (rv == 0 && job->session_len)
		session_keep(r, job->session, job->session_len);
	// Further tickets are not read.
	if (rv == 0 && job->state == HAND_DONE &&
		(r->q->server || !r->q->tickets || job->session_len))
		shake_end(r);
	return rv;
}

// --- callbacks of ngtcp2

int on_client_initial(ngtcp2_conn *conn, void *of)
{
	struct quic_row *r = of;
	int rv = initial_keys(
		r, ngtcp2_conn_get_client_chosen_version(conn), ngtcp2_conn_get_dcid(conn), false);

	return rv == 0 && items_take(r) == 0 ? 0 : NGTCP2_ERR_CALLBACK_FAILURE;
}

int on_server_initial(ngtcp2_conn *conn, const ngtcp2_cid *dcid, void *of)
{
	int rv = initial_keys(of, ngtcp2_conn_get_client_chosen_version(conn), dcid, false);

	return rv == 0 ? 0 : NGTCP2_ERR_CALLBACK_FAILURE;
}

int on_crypto(ngtcp2_conn *conn, ngtcp2_encryption_level level, uint64_t offset,
	const uint8_t *octets, size_t len, void *of)
{
	struct quic_row *r = of;
	struct quic_job *job;

	(void)conn;
	(void)offset;
	if (!r->facts.first_ns)
		r->facts.first_ns = r->now;
	if (r->flags & ROW_COMPLETED && (!r->hand || r->flags & ROW_JOB_AWAY))
		return 0;
	job = job_of(r);
	if (!job)
		return NGTCP2_ERR_CALLBACK_FAILURE;
	if (!r->hand && !job->begins && !job_begin(r, job))
		return NGTCP2_ERR_CALLBACK_FAILURE;
	if (job->in_len + INPUT_HEAD + len > sizeof(job->in))
		return NGTCP2_ERR_CRYPTO_BUFFER_EXCEEDED;
	job->in[job->in_len] = level_of(level);
	bytes_put_be16(job->in + job->in_len + 1, (uint16_t)len);
	memcpy(job->in + job->in_len + INPUT_HEAD, octets, len);
	job->in_len += INPUT_HEAD + (uint32_t)len;
	if (r->q->deferred)
		return 0;
	job->given = r->q->clock ? clock_time(r->q->clock) : 0;
	quic_job_do(job);
	return shake_take(r, job);
}

int on_retry(ngtcp2_conn *conn, const ngtcp2_pkt_hd *hd, void *of)
{
	struct quic_row *r = of;

	r->facts.retried = true;
	r->facts.first_ns = r->now;
	return initial_keys(r, ngtcp2_conn_get_client_chosen_version(conn), &hd->scid, false);
}

int on_version(ngtcp2_conn *conn, uint32_t version, const ngtcp2_cid *dcid, void *of)
{
	struct quic_row *r = of;

	(void)conn;
	r->facts.upgraded = true;
	return initial_keys(r, version, dcid, true);
}
