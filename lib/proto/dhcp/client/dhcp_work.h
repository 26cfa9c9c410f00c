// SPDX-License-Identifier: BSD-3-Clause
// The work of a worker's clients: the next exchange, its client and server, the wait for a reply,
// expired leases, and notes for the log. Messages, addresses and counters are elsewhere. Path: hot
// | cold (open, close, rest_ms, mix_share, mix_check, mix_init). The worker that owns it.
#pragma once

#include "base/rand.h"
#include "proto/dhcp/client/dhcp_clients.h"
#include "proto/dhcp/client/dhcp_life.h"
#include "proto/dhcp/client/dhcp_settings.h"
#include "proto/dhcp/client/dhcp_turns.h"
#include "proto/dhcp/client/dhcp_waits.h"
#include "proto/proto.h"

#define DHCP_NOTES    8 // refusals and duplicates kept for the log
#define DHCP_NOTE_LEN 80

// Shares of exchange kinds, drawn so that they hold for any stretch of transactions.
struct dhcp_mix {
	uint64_t below[DHCP_MIX_MAX]; // a draw selects the first kind whose bound is above it
	uint32_t count;
	uint32_t otherwise;
};

// The share of a kind in `shares` (count of them; NULL: not given). The chosen kind also gets the
// remainder to 1.
double dhcp_mix_share(const double *shares, uint32_t count, uint32_t chosen, uint32_t kind);
// Do the shares of a settings section (NULL: not given) total at most 100 %?
bool dhcp_mix_check(const double *shares, uint32_t count, struct diag *d);
void dhcp_mix_init(struct dhcp_mix *m, const double *shares, uint32_t count, uint32_t chosen);

// Multiples of the golden ratio (2^64 divided by it) fill the circle evenly.
static inline uint32_t dhcp_mix_draw(const struct dhcp_mix *m, uint64_t number, uint64_t offset)
{
	uint64_t draw = number * 0x9e3779b97f4a7c15u + offset;

	for (uint32_t k = 0; k < m->count; k++)
		if (draw < m->below[k])
			return k;
	return m->otherwise;
}

// The first step of an exchange, and the states of its client before and after it.
struct dhcp_start {
	uint8_t step;     // of the family
	uint8_t from, to; // enum dhcp_client_state
};

// A family lists its exchanges as X(number, name, first step, state before, state after, help of
// its share), and its messages as X(step, name, name of the step in results, ...).
#define DHCP_ROW_NUMBER(number, ...)                       number,
#define DHCP_ROW_NAME(number, name, ...)                   name,
#define DHCP_ROW_START(number, name, step, from, to, help) {step, DHCP_IS_##from, DHCP_IS_##to},
#define DHCP_ROW_STEP(step, name, result, ...)             result,
#define DHCP_ROW_KIND(step, name, result, ...)             {__VA_ARGS__},

enum dhcp_spread { DHCP_FIRST, DHCP_ROUND_ROBIN, DHCP_BY_CLIENT, DHCP_TO_EACH };

enum dhcp_order { DHCP_IN_TURN, DHCP_LEASES_BY_CHANCE, DHCP_BY_CHANCE };

// ctlplane: wo, dataplane: ro
struct dhcp_course {
	struct dhcp_mix mix;             // by exchange
	const struct dhcp_start *starts; // by exchange
	enum dhcp_spread spread;
	struct recip by_server; // number of servers
	struct dhcp_waits waits;
	uint32_t rest_ms; // after a DECLINE
	bool again;       // if no client is free, a bound one starts over
	enum dhcp_order order;
	const struct dhcp_life_plan *life; // NULL: a load schedules exchanges
};

// Refusals with the same status and text.
struct dhcp_note {
	uint64_t count;
	uint16_t status; // 0 in DHCPv4
	uint8_t len;
	uint8_t text[DHCP_NOTE_LEN];
};

struct dhcp_clash {
	uint8_t bytes[16]; // of the address; for a prefix, the last byte is its length
	bool prefix;
	uint32_t holder, taker; // owners
};

// State of one thread.
struct dhcp_work {
	struct dhcp_clients clients;
	struct dhcp_life life; // if used, the rings of clients are unused
	const struct dhcp_course *course;
	uint32_t owner; // of the item's client 0
	uint32_t worker, workers;
	uint64_t draws;          // of exchanges, started or not
	bool paced;              // by a rate, not by replies
	bool dry;                // nothing is sent
	uint64_t refused_seq[2]; // last transaction without a client plus 1, by state
	uint64_t unbegun[2];     // such transactions, by state
	uint64_t mix_offset, random_salt, jitter_salt, wrong_salt, order_salt;
	struct dhcp_turns turns;
	struct dhcp_note refusals[DHCP_NOTES];
	struct dhcp_clash clashes[DHCP_NOTES];
	uint32_t clash_count;                 // of them
	uint64_t refusals_more, clashes_more; // not stored for lack of room
};

// Rest of a client after a DECLINE: the setting, or (UINT64_MAX) ten seconds for clients that
// retransmit and none for others.
uint32_t dhcp_work_rest_ms(uint64_t setting_ns, bool again);

// Create the state of a worker for these clients and relays; record: bytes per client. The caller
// sets owner. 0 or -ENOMEM.
int dhcp_work_open(struct dhcp_work *w, const struct dhcp_course *c, const struct proto_env *env,
	uint32_t clients, size_t record, uint32_t relays);
void dhcp_work_close(struct dhcp_work *w);
// The client holds a lease at the start of the run.
void dhcp_work_bind(struct dhcp_work *w, uint32_t client);

enum dhcp_begun {
	DHCP_BEGUN,
	DHCP_BEGUN_AGAIN,  // by a client that dropped its lease to start over
	DHCP_NO_FREE,      // every client is busy, resting or bound
	DHCP_NO_BOUND,     // no bound client is idle
	DHCP_NO_BOUND_YET, // no client has ever been bound
	DHCP_NOBODY_STILL, // as before, on a retry of the same transaction in a closed loop
};

// Parts of dhcp_work_begin: there is no client in this state; end expired leases, returns how many;
// the exchange of the client whose turn has come, and a random client for an exchange, which has a
// lease if *again.
enum dhcp_begun dhcp_work_nobody(struct dhcp_work *w, const struct proto_txn *t, uint8_t from);
uint64_t dhcp_work_leases_end(
	struct dhcp_work *w, uint32_t now_s, void (*drop)(struct dhcp_work *w, uint32_t client));
enum dhcp_begun dhcp_work_life_begin(struct dhcp_work *w, const struct proto_ctx *ctx,
	struct proto_txn *t, void (*drop)(struct dhcp_work *w, uint32_t client), uint64_t *expired);
uint32_t dhcp_work_draw(struct dhcp_work *w, uint32_t exchange, uint32_t now_s, bool *again);
void dhcp_work_refused(struct dhcp_work *w, uint16_t status, const uint8_t *text, uint32_t len);
void dhcp_work_clash(struct dhcp_work *w, const struct dhcp_clash *clash);

// The run-wide number of a client.
static inline uint32_t dhcp_work_number(const struct dhcp_work *w, uint32_t client)
{
	return dhcp_turns_number(&w->turns, client);
}

// txn.wait of the message that t sends. growing: number of waits that grow, 0: all; is_long: jitter
// only lengthens the wait.
static inline uint8_t dhcp_work_wait(
	const struct dhcp_work *w, const struct proto_txn *t, uint8_t growing, bool is_long)
{
	const struct dhcp_waits *waits = &w->course->waits;
	uint32_t try, skip;
	uint64_t random;

	if (waits->count == 0)
		return 0;
	try = growing && t->tries >= growing ? growing - 1u : t->tries;
	skip = is_long && waits->steps > 1 ? (waits->steps + 1) / 2 : 0;
	random = rand_hash(w->jitter_salt + (t->seq << 8 | t->step << 4 | t->tries));
	return (uint8_t)(1 + waits->kinds[t->step].first[try] + skip +
			 rand_scale(random, waits->steps - skip));
}

// Will the message be retransmitted if no reply comes?
static inline bool dhcp_work_may_again(const struct dhcp_work *w, const struct proto_txn *t)
{
	return !t->over && t->tries + 1u < w->course->waits.kinds[t->step].tries;
}

// No reply came: returns whether to retransmit, and counts the try.
static inline bool dhcp_work_again(const struct dhcp_work *w, struct proto_txn *t)
{
	if (!dhcp_work_may_again(w, t))
		return false;
	t->tries++;
	return true;
}

// The exchange has ended: its client becomes idle, after a DECLINE once its rest is over.
static inline void dhcp_work_leave(struct dhcp_work *w, const struct proto_ctx *ctx,
	const struct proto_txn *t, bool declined, enum dhcp_left how)
{
	if (w->life.of)
		dhcp_life_left(
			&w->life, t->user, dhcp_client_at(&w->clients, t->user), ctx->now_ms, how);
	else if (declined)
		dhcp_clients_rest(&w->clients, t->user, ctx->now_ms);
	else
		dhcp_clients_give(&w->clients, t->user);
}

// End of a lease, counted from the first try of the message rather than its reply: the server
// counts from a time in between, and a client must not overuse a lease (RFC 2131 section 4.4.1).
static inline uint32_t dhcp_work_expiry(
	const struct dhcp_client *k, uint64_t now_ms, uint32_t lifetime_s)
{
	uint32_t began_s = (uint32_t)((now_ms - dhcp_client_age_ms(k, now_ms)) / 1000);

	return lifetime_s < UINT32_MAX - began_s ? began_s + lifetime_s : UINT32_MAX;
}

// The server of a client's exchange; number: of the draw.
static inline uint8_t dhcp_work_server(const struct dhcp_work *w, uint64_t number, uint32_t client)
{
	const struct dhcp_course *c = w->course;

	switch (c->spread) {
	case DHCP_FIRST:
	case DHCP_TO_EACH: // until a server has answered
		return 0;
	case DHCP_ROUND_ROBIN:
		return (uint8_t)recip_mod(&c->by_server, number);
	case DHCP_BY_CLIENT:
		return (uint8_t)recip_mod(
			&c->by_server, rand_hash(dhcp_work_number(w, client)) >> 32);
	}
	return 0;
}

// The client of the next exchange; *again: it has a lease and starts over.
static inline uint32_t dhcp_work_client(
	struct dhcp_work *w, uint32_t exchange, uint32_t now_s, bool *again)
{
	const struct dhcp_course *c = w->course;
	enum dhcp_client_state from = c->starts[exchange].from;
	uint32_t client;

	if (__builtin_expect(c->order != DHCP_IN_TURN, 0) &&
		(c->order == DHCP_BY_CHANCE || from == DHCP_IS_BOUND))
		return dhcp_work_draw(w, exchange, now_s, again);
	client = dhcp_clients_take(&w->clients, from, now_s);
	*again = client == DHCP_NOBODY && c->again && exchange <= DHCP_RAPID;
	return *again ? dhcp_clients_take(&w->clients, DHCP_IS_BOUND, now_s) : client;
}

// First frees a bounded number of clients whose rest is over or whose lease has expired; drop ends
// their leases, and *expired counts them. Then chooses the kind, server and client of the next
// exchange. The client becomes busy; its index is in t->user.
// The draw advances even if no client can start: waiting for a suitable client could last forever.
static inline enum dhcp_begun dhcp_work_begin(struct dhcp_work *w, const struct proto_ctx *ctx,
	struct proto_txn *t, uint32_t now_s, void (*drop)(struct dhcp_work *w, uint32_t client),
	uint64_t *expired)
{
	const struct dhcp_course *c = w->course;
	uint64_t number = w->draws * w->workers + w->worker;
	uint32_t exchange = dhcp_mix_draw(&c->mix, number, w->mix_offset);
	const struct dhcp_start *start = &c->starts[exchange];
	uint32_t client;
	struct dhcp_client *k;
	bool again;

	if (w->life.of)
		return dhcp_work_life_begin(w, ctx, t, drop, expired);
	w->draws++;
	if (w->clients.rings[DHCP_IS_RESTING].count)
		dhcp_clients_wake(&w->clients, ctx->now_ms);
	if (dhcp_clients_any_ended(&w->clients, now_s))
		*expired += dhcp_work_leases_end(w, now_s, drop);
	client = dhcp_work_client(w, exchange, now_s, &again);
	if (client == DHCP_NOBODY)
		return dhcp_work_nobody(w, t, start->from);
	if (again)
		drop(w, client);
	k = dhcp_client_at(&w->clients, client);
	k->exchange = (uint8_t)exchange;
	k->began_ms = (uint32_t)ctx->now_ms;
	t->user = client;
	t->step = start->step;
	if (start->from == DHCP_IS_FREE)
		k->server = dhcp_work_server(w, number, client);
	return again ? DHCP_BEGUN_AGAIN : DHCP_BEGUN;
}
