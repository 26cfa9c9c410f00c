// SPDX-License-Identifier: BSD-3-Clause
// Path: hot | cold (quics_conn_octets, quics_library, quics_bytes, quics_init, quics_free,
// quics_usage, quic_error_name, quic_wrong_name, quic_end_name, places, list). The thread that owns
// the connections.
#include "quic/quic.h"

#include <assert.h>
#include <string.h>

#include <nettle/hmac.h>

#include "base/bytes.h"
#include "quic/quic_internal.h"

// Octets that an allocation of the pool for n connections may lose.
#define POOL_LEAST (64u << 10)

// A connection ID, before its bits are mixed.
#define CID_NUMBER     14
#define CID_GENERATION 18
#define CID_ROW        22
#define CID_WORKER     10

static const char *const errors[QUIC_ERRORS] = {[QUIC_NO_ERROR] = "no_error",
	[QUIC_INTERNAL_ERROR] = "internal_error",
	[QUIC_PROTOCOL_ERROR] = "protocol_error",
	[QUIC_REQUEST_CANCELLED] = "request_cancelled",
	[QUIC_EXCESSIVE_LOAD] = "excessive_load",
	[QUIC_UNSPECIFIED_ERROR] = "unspecified_error"};

static const char *const wrongs[] = {
	[QUIC_EMPTY] = "empty", [QUIC_CUT] = "cut", [QUIC_EXTRA] = "extra", [QUIC_ZERO] = "zero"};

static const char *const ends[QUIC_ENDS] = {[QUIC_END_NONE] = "none",
	[QUIC_END_APPLICATION] = "application",
	[QUIC_END_TRANSPORT] = "transport",
	[QUIC_END_ALERT] = "alert",
	[QUIC_END_IDLE] = "idle",
	[QUIC_END_RESET] = "stateless_reset",
	[QUIC_END_VERSION] = "version",
	[QUIC_END_TIMEOUT] = "timeout",
	[QUIC_END_REFUSED] = "refused",
	[QUIC_END_TLS] = "tls",
	[QUIC_END_PROTOCOL] = "protocol",
	[QUIC_END_MEMORY] = "memory",
	[QUIC_END_SHUT] = "shut"};

const char *quic_error_name(uint64_t code)
{
	return code < QUIC_ERRORS ? errors[code] : "other";
}

const char *quic_wrong_name(enum quic_wrong wrong)
{
	return wrongs[wrong];
}

const char *quic_end_name(uint32_t kind)
{
	return ends[kind];
}

uint32_t quics_conn_octets(void)
{
	return COMPAT_CONN_SIZE;
}

const char *quics_library(void)
{
	return "ngtcp2 " NGTCP2_VERSION;
}

uint32_t quic_version_2(void)
{
	return QUIC_V2;
}

bool quic_version_2_is_draft(void)
{
	return QUIC_V2_IS_DRAFT;
}

// --- memory

enum place { ROWS, STREAMS, BLOCKS, JOBS, INITIALS, POOL, PLACES };

static size_t aligned(size_t n)
{
	return (n + 63) & ~(size_t)63;
}

static uint32_t initials_of(const struct quics_shape *shape)
{
	uint32_t n = 1;

	while (shape->server && n < shape->count)
		n *= 2;
	return n;
}

// Where each table begins. Returns the octets of all.
static size_t places(const struct quics_shape *s, size_t at[PLACES])
{
	size_t conn = s->conn_octets ? s->conn_octets : COMPAT_CONN_SIZE;
	const size_t sizes[PLACES] = {
		[ROWS] = s->count * sizeof(struct quic_row),
		[STREAMS] = s->streams * sizeof(struct quic_stream),
		[BLOCKS] = (size_t)s->blocks * sizeof(struct block),
		[JOBS] = (s->jobs + 1) * sizeof(struct quic_job),
		[INITIALS] = initials_of(s) * sizeof(uint32_t),
		[POOL] = POOL_LEAST + s->count * conn,
	};
	size_t n = aligned(sizeof(struct quic_memory));

	for (int i = 0; i < PLACES; i++) {
		at[i] = n;
		n += aligned(sizes[i]);
	}
	return n;
}

size_t quics_bytes(const struct quics_shape *shape)
{
	size_t at[PLACES];

	return places(shape, at);
}

static void *take(size_t n, void *of)
{
	return pool_take(of, n);
}

static void give(void *at, void *of)
{
	pool_give(of, at);
}

static void *take_zeroed(size_t count, size_t n, void *of)
{
	size_t bytes;

	return __builtin_mul_overflow(count, n, &bytes) ? NULL : pool_take_zeroed(of, bytes);
}

static void *resize(void *at, size_t n, void *of)
{
	return pool_resize(of, at, n);
}

void quics_init(struct quics *q, void *memory, const struct quics_shape *shape)
{
	struct quic_memory *m = memory;
	size_t at[PLACES], bytes = places(shape, at);
	uint8_t *base = memory;
	struct rand secret = {.state = q->seed ^ 0x5ec2e7};

	assert(shape->count <= QUIC_CONNS && q->worker < q->workers && q->workers <= QUIC_WORKERS &&
		q->version_count);
	assert(q->mtu >= QUIC_MTU_LEAST && q->mtu <= QUIC_MTU_MOST);
	q->memory = m;
	q->server = shape->server;
	m->rows = (struct quic_row *)(base + at[ROWS]);
	m->streams = (struct quic_stream *)(base + at[STREAMS]);
	m->blocks = (struct block *)(base + at[BLOCKS]);
	m->jobs = (struct quic_job *)(base + at[JOBS]);
	m->initials = (uint32_t *)(base + at[INITIALS]);
	m->initials_mask = initials_of(shape) - 1;
	m->count = shape->count;
	m->stream_count = shape->streams;
	m->job_count = shape->jobs;
	pool_init(&m->pool, base + at[POOL], bytes - at[POOL]);
	m->random.state = q->seed ^ rand_hash(q->worker + 1);
	perm_init(&m->cids, q->seed, 64);
	for (uint32_t i = 0; i < sizeof(m->secret); i += 8)
		bytes_put_be64(m->secret + i, rand_next(&secret));
	memset(m->initials, 0xff, (m->initials_mask + 1) * sizeof(uint32_t));
	m->row_free = shape->count ? 0 : NONE;
	for (uint32_t i = 0; i < shape->count; i++) {
		m->rows[i].q = q;
		m->rows[i].next = i + 1 < shape->count ? i + 1 : NONE;
	}
	m->stream_free = shape->streams ? 0 : NONE;
	for (uint32_t i = 0; i < shape->streams; i++)
		m->streams[i].next = i + 1 < shape->streams ? i + 1 : NONE;
	m->block_free = shape->blocks ? 0 : NONE;
	for (uint32_t i = 0; i < shape->blocks; i++)
		m->blocks[i].next = i + 1 < shape->blocks ? i + 1 : NONE;
	m->job_free = shape->jobs ? 0 : NONE;
	for (uint32_t i = 0; i < shape->jobs; i++)
		m->jobs[i].next = i + 1 < shape->jobs ? i + 1 : NONE;
	m->job_first = m->job_last = NONE;
}

void quics_free(struct quics *q)
{
	struct quic_memory *m = q->memory;

	for (uint32_t i = 0; m && i < m->count; i++)
		if (m->rows[i].state != ROW_FREE) {
			hand_free(m->rows[i].hand);
			m->rows[i].hand = NULL;
		}
	// Sessions of forgotten connections.
	for (uint32_t i = m ? m->job_first : NONE; i != NONE; i = m->jobs[i].next)
		if (m->jobs[i].ends)
			hand_free(m->jobs[i].hand);
}

void quics_usage(const struct quics *q, uint64_t *used, uint64_t *highest, uint64_t *failed)
{
	*used = q->memory->pool.used;
	*highest = q->memory->pool.highest;
	*failed = q->memory->pool.failed;
}

// --- rows

uint32_t row_take(struct quics *q)
{
	struct quic_memory *m = q->memory;
	uint32_t c = m->row_free, generation;
	struct quic_row *r;

	if (c == NONE) {
		q->counts.no_memory++;
		return NONE;
	}
	r = &m->rows[c];
	m->row_free = r->next;
	generation = r->generation + 1;
	*r = (struct quic_row){.q = q, .generation = generation, .state = ROW_LIVE};
	r->next = r->first = r->last = r->wait = NONE;
	r->send_first = r->send_last = r->event_first = r->event_last = r->job = NONE;
	r->share.pool = &m->pool;
	r->mem = (ngtcp2_mem){&r->share, take, give, take_zeroed, resize};
	r->facts.tls.alert_sent = -1;
	chain_init(&r->close);
	chain_init(&r->token);
	chain_init(&r->ticket);
	chain_init(&r->kept);
	return c;
}

// Takes a connection out of the table of initials.
static void initial_forget(struct quic_row *r)
{
	struct quic_memory *m = r->q->memory;
	uint32_t c = row_number(r);
	uint32_t *at = &m->initials[rand_hash(bytes_be64(r->initial)) & m->initials_mask];

	if (!r->initial_len)
		return;
	while (*at != c)
		at = &m->rows[*at].next;
	*at = r->next;
	r->initial_len = 0;
}

void row_give(struct quic_row *r)
{
	struct quics *q = r->q;

	initial_forget(r);
	chain_drop(q, &r->close, r->close.len);
	chain_drop(q, &r->token, r->token.len);
	chain_drop(q, &r->ticket, r->ticket.len);
	chain_drop(q, &r->kept, r->kept.len);
	r->state = ROW_FREE;
	r->conn = NULL;
	r->next = q->memory->row_free;
	q->memory->row_free = row_number(r);
}

// --- blocks

bool chain_add(struct quics *q, struct chain *ch, const uint8_t *octets, uint32_t len)
{
	struct quic_memory *m = q->memory;
	uint32_t used = (ch->skip + ch->len) % BLOCK_DATA, room, n, b;

	room = ch->first == NONE || used == 0 ? 0 : BLOCK_DATA - used;
	while (len) {
		if (room == 0) {
			b = m->block_free;
			if (b == NONE) {
				q->counts.no_memory++;
				return false;
			}
			m->block_free = m->blocks[b].next;
			m->blocks[b].next = NONE;
			if (ch->first == NONE)
				ch->first = b;
			else
				m->blocks[ch->last].next = b;
			ch->last = b;
			room = BLOCK_DATA;
		}
		n = len < room ? len : room;
		memcpy(m->blocks[ch->last].data + BLOCK_DATA - room, octets, n);
		octets += n;
		len -= n;
		room -= n;
		ch->len += n;
	}
	return true;
}

void chain_drop(struct quics *q, struct chain *ch, uint32_t len)
{
	struct quic_memory *m = q->memory;
	uint32_t b;

	assert(len <= ch->len);
	ch->len -= len;
	ch->skip += len;
	while (ch->first != NONE && (ch->skip >= BLOCK_DATA || ch->len == 0)) {
		b = ch->first;
		ch->first = m->blocks[b].next;
		m->blocks[b].next = m->block_free;
		m->block_free = b;
		ch->skip = ch->skip >= BLOCK_DATA ? ch->skip - BLOCK_DATA : 0;
	}
	if (ch->first == NONE)
		chain_init(ch);
}

void chain_copy(const struct quics *q, const struct chain *ch, uint8_t *out, uint32_t len)
{
	uint32_t b = ch->first, skip = ch->skip, n;

	while (len) {
		n = BLOCK_DATA - skip < len ? BLOCK_DATA - skip : len;
		memcpy(out, q->memory->blocks[b].data + skip, n);
		out += n;
		len -= n;
		skip = 0;
		b = q->memory->blocks[b].next;
	}
}

// --- connection IDs

uint64_t cid_make(const struct quics *q, const struct quic_row *r, uint32_t number)
{
	uint64_t x = q->worker;

	x = x << CID_ROW | row_number(r);
	x = x << CID_GENERATION | (r->generation & ((1u << CID_GENERATION) - 1));
	x = x << CID_NUMBER | (number & ((1u << CID_NUMBER) - 1));
	return perm_map(&q->memory->cids, x);
}

struct quic_row *cid_row(const struct quics *q, const uint8_t *cid, uint32_t *worker)
{
	uint64_t x = perm_unmap(&q->memory->cids, bytes_be64(cid)) >> CID_NUMBER;
	uint32_t generation = (uint32_t)x & ((1u << CID_GENERATION) - 1);
	uint32_t c = (uint32_t)(x >> CID_GENERATION) & ((1u << CID_ROW) - 1);
	struct quic_row *r;

	*worker = (uint32_t)(x >> (CID_GENERATION + CID_ROW));
	if (*worker != q->worker || c >= q->memory->count)
		return NULL;
	r = row_at(q, c);
	if (r->state == ROW_FREE || (r->generation & ((1u << CID_GENERATION) - 1)) != generation)
		return NULL;
	return r;
}

void secret_mac(const struct quics *q, const uint8_t *text, size_t len, uint8_t out[16])
{
	struct hmac_sha256_ctx ctx;

	hmac_sha256_set_key(&ctx, sizeof(q->memory->secret), q->memory->secret);
	hmac_sha256_update(&ctx, len, text);
	hmac_sha256_digest(&ctx, 16, out);
}

void reset_token(const struct quics *q, const uint8_t *cid, uint8_t *out)
{
	uint8_t text[1 + QUIC_CID] = {'r'};

	memcpy(text + 1, cid, QUIC_CID);
	secret_mac(q, text, sizeof(text), out);
}
