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

// First frees a bounded number of clients whose rest is over or whose lease has expired; drop ends
// their leases, and *expired counts them. Then chooses the kind, server and client of the next
// exchange. The client becomes busy; its index is in t->user.
enum dhcp_begun dhcp_work_begin(struct dhcp_work *w, const struct proto_ctx *ctx,
	struct proto_txn *t, void (*drop)(struct dhcp_work *w, uint32_t client), uint64_t *expired);
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
