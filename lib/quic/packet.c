// SPDX-License-Identifier: BSD-3-Clause
// Path: hot. The thread that owns the connections.
#include "quic/packet.h"

#include <string.h>

#include "base/bytes.h"
#include "quic/quic_internal.h"

#define VECTORS     8u
#define KEPT_HEAD   3u
#define CLOSE_MOST  QUIC_MTU_LEAST // octets of a packet with CONNECTION_CLOSE
#define CLOSE_EVERY 8u             // datagrams while closing that are answered by it again, 2^n
#define LONG        0x80

enum { KIND_INITIAL, KIND_0RTT, KIND_HANDSHAKE, KIND_RETRY };

#define CRYPTO_BASE 0x100 // transport errors from here to + 255 are alerts (RFC 9001 section 4.8)

static ngtcp2_path path_of(struct quic_row *r)
{
	socklen_t len = r->path.remote.len == 4 ? sizeof(r->local.v4) : sizeof(r->local.v6);

	return (ngtcp2_path){{&r->local.any, len}, {&r->remote.any, len}, NULL};
}

// --- the end

static void reason_take(struct quic_end *end, const uint8_t *text, size_t len)
{
	size_t n = len < sizeof(end->reason) - 1 ? len : sizeof(end->reason) - 1;

	for (size_t i = 0; i < n; i++)
		end->reason[i] = text[i] >= ' ' && text[i] < 0x7f ? (char)text[i] : '?';
	end->reason[n] = '\0';
}

// ngtcp2 0.12 does not free all frames of lost packets: the share has them.
static void conn_free(struct quic_row *r)
{
	ngtcp2_conn_del(r->conn);
	r->conn = NULL;
	pool_clear(&r->share);
}

// Frees all that a connection at work needs. It stays for three PTOs.
static void row_stop(struct quic_row *r, enum row_state state)
{
	r->deadline = r->now + 3 * ngtcp2_conn_get_pto(r->conn);
	conn_free(r);
	shake_end(r);
	chain_drop(r->q, &r->kept, r->kept.len);
	r->kept_count = 0;
	r->state = state;
	streams_lost(r);
}

static void row_end(
	struct quic_row *r, enum row_state state, enum quic_end_kind kind, uint64_t code)
{
	r->end.kind = kind;
	r->end.code = code;
	if (kind != QUIC_END_SHUT)
		r->flags |= ROW_CLOSED_EVENT;
	row_stop(r, state);
}

void row_forget(struct quic_row *r)
{
	if (r->conn) {
		conn_free(r);
		shake_end(r);
	}
	streams_free(r);
	row_give(r);
}

// The peer has closed the connection, or does not know it.
static void row_drain(struct quic_row *r)
{
	ngtcp2_ccerr err;
	enum quic_end_kind kind = QUIC_END_TRANSPORT;

	if (r->flags & ROW_RESET) {
		row_end(r, ROW_DRAINING, QUIC_END_RESET, 0);
		return;
	}
	compat_ccerr(r->conn, &err);
	if (err.reason && err.reasonlen)
		reason_take(&r->end, err.reason, err.reasonlen);
	if (err.type == NGTCP2_CCERR_TYPE_APPLICATION) {
		kind = QUIC_END_APPLICATION;
	} else if (err.error_code >= CRYPTO_BASE && err.error_code <= CRYPTO_BASE + UINT8_MAX) {
		kind = QUIC_END_ALERT;
		err.error_code -= CRYPTO_BASE;
	}
	row_end(r, ROW_DRAINING, kind, err.error_code);
}

// Ends a connection with a packet, which is kept in blocks: the end has freed some.
static void row_close(
	struct quic_row *r, const ngtcp2_ccerr *err, enum quic_end_kind kind, uint64_t code)
{
	struct quics *q = r->q;
	uint8_t *out = q->memory->message;
	ngtcp2_pkt_info pi;
	ngtcp2_ssize n = ngtcp2_conn_write_connection_close(
		r->conn, NULL, &pi, out, CLOSE_MOST, err, r->now);

	row_end(r, n > 0 ? ROW_CLOSING : ROW_DRAINING, kind, code);
	if (n <= 0)
		return;
	if (chain_add(q, &r->close, out, (uint32_t)n))
		r->flags |= ROW_CLOSE_SEND;
	else
		r->state = ROW_DRAINING;
}

void row_fail(struct quic_row *r, int rv)
{
	enum quic_end_kind kind = QUIC_END_PROTOCOL;
	const char *text = ngtcp2_strerror(rv);
	ngtcp2_ccerr err;
	uint64_t code;

	ngtcp2_ccerr_default(&err);
	ngtcp2_ccerr_set_liberr(&err, rv, NULL, 0);
	code = err.error_code;
	if (rv == NGTCP2_ERR_DRAINING) {
		row_drain(r);
		return;
	}
	if (rv == NGTCP2_ERR_NOMEM || r->flags & ROW_MEMORY) {
		kind = QUIC_END_MEMORY;
		r->q->counts.no_memory++;
		ngtcp2_ccerr_set_liberr(&err, NGTCP2_ERR_INTERNAL, NULL, 0);
	} else if (rv == NGTCP2_ERR_IDLE_CLOSE) {
		row_end(r, ROW_DRAINING, QUIC_END_IDLE, 0);
		r->deadline = r->now;
		return;
	} else if (rv == NGTCP2_ERR_HANDSHAKE_TIMEOUT) {
		row_end(r, ROW_DRAINING, QUIC_END_TIMEOUT, 0);
		r->deadline = r->now;
		return;
	} else if (rv == NGTCP2_ERR_RECV_VERSION_NEGOTIATION) {
		row_end(r, ROW_DRAINING, QUIC_END_VERSION, 0);
		return;
	} else if (rv == NGTCP2_ERR_CRYPTO && r->facts.known) {
		kind = r->facts.tls.refused ? QUIC_END_REFUSED : QUIC_END_TLS;
		code = r->facts.tls.alert_sent >= 0 ? (uint64_t)r->facts.tls.alert_sent : 80;
		ngtcp2_ccerr_set_tls_alert(&err, (uint8_t)code, NULL, 0);
		if (r->facts.tls.wrong)
			text = r->facts.tls.wrong;
	}
	reason_take(&r->end, (const uint8_t *)text, strlen(text));
	row_close(r, &err, kind, code);
}

static void shut(struct quic_row *r)
{
	ngtcp2_ccerr err;

	r->flags &= (uint16_t)~ROW_SHUT;
	ngtcp2_ccerr_default(&err);
	ngtcp2_ccerr_set_application_error(&err, r->shut_code, NULL, 0);
	row_close(r, &err, QUIC_END_SHUT, r->shut_code);
}

// --- in

// Octets of the first packet of a datagram (RFC 9000 section 12.2).
static uint32_t first_packet(const uint8_t *bytes, uint32_t len)
{
	struct reader in = reader_of(bytes, len);
	uint8_t type = read_u8(&in);
	uint64_t n[2] = {0, 0};
	uint32_t version = read_be32(&in), kind;

	// The numbers of the types of version 2 are shifted by one.
	kind = (((uint32_t)type >> 4) - (version == QUIC_V2)) & 3;
	if (!(type & LONG) || version == 0 || kind == KIND_RETRY)
		return len;
	for (int i = 0; i < 2; i++)
		read_bytes(&in, read_u8(&in)); // the IDs
	for (int i = kind == KIND_INITIAL ? 0 : 1; i < 2; i++) {
		// A token's length, and the token; the length of the rest.
		uint8_t head = read_u8(&in);

		n[i] = head & 0x3f;
		for (int more = (1 << (head >> 6)) - 1; more > 0; more--)
			n[i] = n[i] << 8 | read_u8(&in);
		if (n[i] > len || (i == 0 && !read_bytes(&in, n[i]) && n[i]))
			return len;
	}
	if (in.failed || !read_bytes(&in, n[1]))
		return len;
	return (uint32_t)(in.at - bytes);
}

static int read_one(struct quic_row *r, const uint8_t *bytes, uint32_t len, uint8_t ecn)
{
	const ngtcp2_path path = path_of(r);
	const ngtcp2_pkt_info pi = {.ecn = ecn};

	return ngtcp2_conn_read_pkt(r->conn, &path, &pi, bytes, len, r->now);
}

static bool keeps(const struct quic_row *r)
{
	return r->flags & ROW_JOB_AWAY && !(r->flags & ROW_COMPLETED);
}

// A datagram that the handshake is not ready for. Without room it is lost.
static void keep(struct quic_row *r, const uint8_t *bytes, uint32_t len, uint8_t ecn)
{
	uint8_t head[KEPT_HEAD];

	if (!len || r->kept_count >= KEPT_MOST)
		return;
	bytes_put_be16(head, (uint16_t)len);
	head[2] = ecn;
	r->kept_count++;
	if (!chain_add(r->q, &r->kept, head, KEPT_HEAD) || !chain_add(r->q, &r->kept, bytes, len))
		r->flags |= ROW_MEMORY;
}

// Reads a datagram packet by packet, so that it can stop when a job is due. A server needs the
// whole one first, for its length; ngtcp2 drops a packet that it reads for the second time.
static int read_in_parts(struct quic_row *r, const uint8_t *bytes, uint32_t len, uint8_t ecn)
{
	bool whole = r->q->server && len >= QUIC_MTU_LEAST;
	uint32_t n;
	int rv = 0;

	for (; len && rv == 0 && !keeps(r); bytes += n, len -= n) {
		n = first_packet(bytes, len);
		rv = read_one(r, bytes, whole ? len : n, ecn);
		if (rv == 0)
			shake_due(r);
		if (whole && !keeps(r))
			return rv;
	}
	if (rv == 0)
		keep(r, bytes, len, ecn);
	return rv;
}

void quic_input(
	struct quics *q, uint32_t c, const uint8_t *bytes, uint32_t len, uint8_t ecn, uint64_t now)
{
	struct quic_row *r = row_at(q, c);
	int rv;

	if (r->state == ROW_FREE || len == 0)
		return;
	r->now = now;
	q->counts.datagrams_in++;
	q->counts.octets_in += len;
	if (r->state != ROW_LIVE) {
		if (r->state == ROW_CLOSING && (++r->hits & (CLOSE_EVERY - 1)) == 1)
			r->flags |= ROW_CLOSE_SEND;
		return;
	}
	if (!q->deferred || r->flags & ROW_COMPLETED) {
		rv = read_one(r, bytes, len, ecn);
		shake_due(r);
	} else if (keeps(r)) {
		keep(r, bytes, len, ecn);
		rv = 0;
	} else {
		rv = read_in_parts(r, bytes, len, ecn);
	}
	if (rv != 0 || r->flags & ROW_MEMORY)
		row_fail(r, rv);
}

// Reads the datagrams that came while a job was away.
static int kept_read(struct quic_row *r)
{
	struct quics *q = r->q;
	uint8_t head[KEPT_HEAD], *bytes = q->memory->message;
	uint32_t count = r->kept_count, len;
	struct chain kept = r->kept;
	int rv = 0;

	chain_init(&r->kept);
	r->kept_count = 0;
	for (; count && rv == 0; count--) {
		chain_copy(q, &kept, head, KEPT_HEAD);
		chain_drop(q, &kept, KEPT_HEAD);
		len = bytes_be16(head);
		chain_copy(q, &kept, bytes, len);
		chain_drop(q, &kept, len);
		if (keeps(r))
			keep(r, bytes, len, head[2]);
		else
			rv = read_in_parts(r, bytes, len, head[2]);
	}
	chain_drop(q, &kept, kept.len);
	return rv;
}

uint32_t quic_job_done(struct quics *q, struct quic_job *job, uint64_t now)
{
	struct quic_row *r = row_at(q, job->c);
	int rv = 0;

	if (r->state != ROW_LIVE || r->generation != job->generation) {
		job_end(q, job);
		return QUIC_NONE;
	}
	r->now = now;
	r->flags &= (uint16_t)~ROW_JOB_AWAY;
	// The first step of a client waits for the first packet.
	if (!q->server && job->begins) {
		job->begins = false;
		r->hand = job->hand;
		r->facts.ticks += job->ticks;
		r->facts.waited += job->waited;
		job->ticks = job->waited = 0;
		rv = r->hand && job->state != HAND_FAILED ? 0 : NGTCP2_ERR_NOMEM;
	} else {
		rv = shake_take(r, job);
	}
	if (rv == 0)
		rv = kept_read(r);
	if (rv == 0)
		shake_due(r);
	if (rv != 0 || r->flags & ROW_MEMORY)
		row_fail(r, rv);
	return row_number(r);
}

// --- out

static uint32_t close_output(struct quic_row *r, uint8_t *out, uint8_t *ecn)
{
	struct quics *q = r->q;

	if (!(r->flags & ROW_CLOSE_SEND))
		return 0;
	r->flags &= (uint16_t)~ROW_CLOSE_SEND;
	*ecn = 0;
	chain_copy(q, &r->close, out, r->close.len);
	q->counts.datagrams_out++;
	q->counts.octets_out += r->close.len;
	return r->close.len;
}

// Fills a datagram with the octets of as many streams as there is room for.
static ngtcp2_ssize fill(struct quic_row *r, uint8_t *out, ngtcp2_pkt_info *pi)
{
	struct quics *q = r->q;
	ngtcp2_vec vec[VECTORS];
	ngtcp2_ssize n, taken;
	bool fin = false, more = r->flags & (ROW_COMPLETED | ROW_EARLY);
	uint32_t s, flags;
	size_t count;

	for (;;) {
		s = more ? stream_next(r, vec, &count, &fin) : NONE;
		if (s == NONE)
			return ngtcp2_conn_writev_stream(r->conn, NULL, pi, out, q->mtu, NULL,
				NGTCP2_WRITE_STREAM_FLAG_NONE, -1, NULL, 0, r->now);
		flags = NGTCP2_WRITE_STREAM_FLAG_MORE;
		flags |= fin ? NGTCP2_WRITE_STREAM_FLAG_FIN : 0;
		taken = -1;
		n = ngtcp2_conn_writev_stream(r->conn, NULL, pi, out, q->mtu, &taken, flags,
			q->memory->streams[s].id, vec, count, r->now);
		if (taken >= 0) {
			size_t sum = 0;

			for (size_t i = 0; i < count; i++)
				sum += vec[i].len;
			stream_sent(r, s, (size_t)taken, fin && (size_t)taken == sum);
		}
		if (n == NGTCP2_ERR_WRITE_MORE)
			continue;
		if (n == NGTCP2_ERR_STREAM_DATA_BLOCKED) {
			// If it was the connection's window, the next datagram tries again.
			if (ngtcp2_conn_get_max_data_left(r->conn))
				stream_blocked(r, s);
			else
				more = false;
		} else if (n == NGTCP2_ERR_STREAM_SHUT_WR || n == NGTCP2_ERR_STREAM_NOT_FOUND) {
			stream_dead(r, s);
		} else {
			return n;
		}
	}
}

// Is the client's last part of TLS to be sent?
static bool finishes(const struct quic_row *r)
{
	return !r->q->server && r->flags & ROW_COMPLETED && !(r->flags & ROW_FINISHED);
}

uint32_t quic_output(struct quics *q, uint32_t c, uint8_t *out, uint8_t *ecn, uint64_t now)
{
	struct quic_row *r = row_at(q, c);
	ngtcp2_pkt_info pi = {0};
	ngtcp2_ssize n;

	*ecn = 0;
	if (r->state == ROW_FREE)
		return 0;
	r->now = now;
	if (r->flags & ROW_FORGET) {
		row_forget(r);
		return 0;
	}
	// The server of a client that leaves at once must not lack the end of its handshake.
	if (r->state == ROW_LIVE && r->flags & ROW_SHUT && !finishes(r))
		shut(r);
	if (r->state != ROW_LIVE)
		return close_output(r, out, ecn);
	if (keeps(r) && !r->hand)
		return 0;
	if (r->flags & (ROW_COMPLETED | ROW_EARLY))
		streams_open(r);
	n = fill(r, out, &pi);
	if (n < 0 || r->flags & ROW_MEMORY) {
		row_fail(r, (int)n);
		return close_output(r, out, ecn);
	}
	if (n == 0 && r->state == ROW_LIVE && r->flags & ROW_SHUT) {
		shut(r);
		return close_output(r, out, ecn);
	}
	if (n == 0)
		return 0;
	if (r->flags & ROW_COMPLETED)
		r->flags |= ROW_FINISHED;
	*ecn = (uint8_t)pi.ecn;
	q->counts.datagrams_out++;
	q->counts.octets_out += (uint64_t)n;
	return (uint32_t)n;
}

// --- time

uint64_t quic_deadline(const struct quics *q, uint32_t c)
{
	const struct quic_row *r = row_at(q, c);

	if (r->state == ROW_FREE)
		return UINT64_MAX;
	return r->state == ROW_LIVE ? ngtcp2_conn_get_expiry(r->conn) : r->deadline;
}

bool quic_expire(struct quics *q, uint32_t c, uint64_t now)
{
	struct quic_row *r = row_at(q, c);
	int rv;

	if (r->state == ROW_FREE)
		return false;
	r->now = now;
	if (r->state == ROW_LIVE) {
		if (ngtcp2_conn_get_expiry(r->conn) > now)
			return true;
		rv = ngtcp2_conn_handle_expiry(r->conn, now);
		if (rv != 0)
			row_fail(r, rv);
		return true;
	}
	if (now < r->deadline || r->flags & ROW_CLOSED_EVENT)
		return true;
	row_forget(r);
	return false;
}
