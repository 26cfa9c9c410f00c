// SPDX-License-Identifier: BSD-3-Clause
// Path: hot | cold (the names). The thread that owns the connections.
#include "engine/core/quic_channel.h"

#define NS_OF_US 1000u

const char *quic_version_name(uint32_t i)
{
	static const char *const names[] = {"1", "2", "other"};

	return names[i];
}

const char *quic_error_place_name(uint32_t i)
{
	return quic_error_name(i < QUIC_ERRORS ? i : UINT64_MAX);
}

uint32_t quic_error_place(uint64_t code)
{
	return code < QUIC_ERRORS ? (uint32_t)code : QUIC_ERRORS;
}

// The connections' clock has microseconds, which is as precise as a deadline needs; time begins
// above 0.
uint64_t quic_channel_now(const struct conns *cs)
{
	return (cs->host.now + 1) * NS_OF_US;
}

static uint32_t of(const struct conns *cs, uint32_t c)
{
	return cs->quic->at[c];
}

// Seats share one place, or each has its own.
static struct quic_kept *kept_of(const struct quic_conns *qc, uint32_t seat)
{
	return qc->kept ? &qc->kept[qc->kept_count == 1 ? 0 : seat] : NULL;
}

bool quic_channel_open(struct conns *cs, uint32_t c, const struct quic_path *path, uint32_t kept)
{
	struct quic_conns *qc = cs->quic;
	const struct quic_kept *k = kept_of(qc, kept);

	cs->all[c].tcp.state = TCP_SYN_SENT;
	qc->at[c] = quic_open(&qc->q, path, c, k && k->session_len ? k->session : NULL,
		k ? k->session_len : 0, k && k->token_len ? k->token : NULL, k ? k->token_len : 0,
		quic_channel_now(cs));
	if (qc->at[c] == QUIC_NONE)
		cs->all[c].tcp.state = TCP_CLOSED;
	return qc->at[c] != QUIC_NONE;
}

void quic_channel_abort(struct conns *cs, uint32_t c)
{
	quic_channel_forget(cs, c);
	cs->all[c].tcp.state = TCP_CLOSED;
}

void quic_channel_forget(struct conns *cs, uint32_t c)
{
	struct quic_conns *qc = cs->quic;

	if (qc->at[c] != QUIC_NONE)
		quic_forget(&qc->q, qc->at[c]);
	qc->at[c] = QUIC_NONE;
}

uint32_t quic_channel_find(struct conns *cs, const uint8_t *bytes, uint32_t len,
	const struct addr *remote, uint16_t remote_port)
{
	struct quics *q = &cs->quic->q;
	uint32_t i;

	return quic_find(q, bytes, len, remote, remote_port, &i) == QUIC_FOUND ? quic_of(q, i)
	                                                                       : CONN_NONE;
}

bool quic_channel_input(struct conns *cs, uint32_t c, const uint8_t *bytes, uint32_t len)
{
	if (of(cs, c) == QUIC_NONE)
		return false;
	quic_input(&cs->quic->q, of(cs, c), bytes, len, 0, quic_channel_now(cs));
	return true;
}

// Keeps a session, or a token, for a later connection.
static void keep(
	struct quic_conns *qc, uint32_t seat, bool session, const uint8_t *bytes, uint32_t len)
{
	struct quic_kept *k = kept_of(qc, seat);

	if (!k || len > (session ? QUIC_SESSION_MOST : QUIC_TOKEN_MOST) ||
		(!session && !qc->tokens))
		return;
	memcpy(session ? k->session : k->token, bytes, len);
	*(session ? &k->session_len : &k->token_len) = (uint16_t)len;
}

static bool event(struct conns *cs, enum stream_event what)
{
	cs->stream.event = what;
	cs->stream.tag = cs->quic->q.tag;
	return true;
}

// The stream of a message has ended without a good answer.
static bool stream_wrong(struct conns *cs, const char *why)
{
	cs->quic->counts->wrong_stream++;
	cs->stream.wrong = why;
	return event(cs, STREAM_WRONG);
}

static bool stream_reset(struct conns *cs)
{
	cs->quic->counts->reset[quic_error_place(cs->quic->q.code)]++;
	cs->stream.may_repeat = false;
	return event(cs, STREAM_RESET);
}

static bool quic_channel_message(
	struct conns *cs, uint32_t c, const uint8_t **message, uint32_t *len)
{
	struct quic_conns *qc = cs->quic;
	struct quics *q = &qc->q;

	while (qc->at[c] != QUIC_NONE && quic_message(q, qc->at[c], message, len)) {
		switch (q->event) {
		case QUIC_READY:
			return event(cs, STREAM_OPENED);
		case QUIC_MESSAGE:
			return event(cs, STREAM_MESSAGE);
		case QUIC_ENDED:
			return stream_wrong(cs, "its stream ended without a last message");
		case QUIC_RESET:
		case QUIC_STOPPED:
			return stream_reset(cs);
		case QUIC_WRONG:
			return stream_wrong(cs, quic_wrong_name(q->wrong));
		case QUIC_LATE:
			return event(cs, STREAM_LATE);
		case QUIC_TOKEN:
		case QUIC_TICKET:
			qc->tickets += q->event == QUIC_TICKET;
			keep(qc, cs->all[c].seat, q->event == QUIC_TICKET, *message, *len);
			break;
		case QUIC_CLOSED:
			return event(cs, STREAM_CLOSED);
		}
	}
	return false;
}

static bool quic_channel_write(struct conns *cs, uint32_t c, const uint8_t *bytes, uint32_t len)
{
	return of(cs, c) != QUIC_NONE &&
	       quic_write(&cs->quic->q, of(cs, c), cs->stream.tag, bytes, len);
}

static void quic_channel_cancel(struct conns *cs, uint32_t c, uint32_t tag)
{
	if (of(cs, c) != QUIC_NONE)
		quic_cancel(&cs->quic->q, of(cs, c), tag);
}

static bool quic_channel_unheard(struct conns *cs, uint32_t c, uint32_t *tag)
{
	if (of(cs, c) == QUIC_NONE || !quic_unheard(&cs->quic->q, of(cs, c), tag))
		return false;
	cs->quic->counts->unheard++;
	return true;
}

static void quic_channel_shut(struct conns *cs, uint32_t c)
{
	if (of(cs, c) != QUIC_NONE)
		quic_shut(&cs->quic->q, of(cs, c), QUIC_NO_ERROR);
}

// A connection that we closed may stay, to answer packets that are on their way (RFC 9000 section
// 10.2). It need not, and others may need its memory.
static void end_closed(struct conns *cs, uint32_t c)
{
	if (cs->all[c].flags & CONN_SHUT && cs->used > cs->count / 2 &&
		!quic_alive(&cs->quic->q, of(cs, c)))
		quic_channel_abort(cs, c);
}

uint32_t quic_channel_output(struct conns *cs, uint32_t c, uint8_t *out)
{
	uint32_t len = 0;
	uint8_t ecn;

	if (of(cs, c) != QUIC_NONE)
		len = quic_output(&cs->quic->q, of(cs, c), out, &ecn, quic_channel_now(cs));
	if (len == 0 && of(cs, c) != QUIC_NONE)
		end_closed(cs, c);
	return len;
}

bool quic_channel_deadline(const struct conns *cs, uint32_t c, uint32_t *at)
{
	uint64_t ns = of(cs, c) == QUIC_NONE ? UINT64_MAX : quic_deadline(&cs->quic->q, of(cs, c));

	*at = (uint32_t)(ns / NS_OF_US);
	return ns != UINT64_MAX;
}

void quic_channel_expire(struct conns *cs, uint32_t c)
{
	struct quic_conns *qc = cs->quic;

	if (qc->at[c] != QUIC_NONE && !quic_expire(&qc->q, qc->at[c], quic_channel_now(cs))) {
		qc->at[c] = QUIC_NONE;
		cs->all[c].tcp.state = TCP_CLOSED;
	}
}

const struct channel quic_channel = {.message = quic_channel_message,
	.write = quic_channel_write,
	.cancel = quic_channel_cancel,
	.unheard = quic_channel_unheard,
	.shut = quic_channel_shut,
	.forget = quic_channel_forget};
