// SPDX-License-Identifier: BSD-3-Clause
// Clients with a life of their own: each gets a lease, renews it at the server's T1, rebinds at T2,
// loses it when it expires, and occasionally reboots, forgets, releases or moves. The time of each
// client's next action is in a timing wheel of milliseconds. Plans and forecasts are in
// dhcp_life_plan.h. Path: hot. The worker that owns it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/rand.h"
#include "proto/dhcp/client/dhcp_life_plan.h"

#define DHCP_LIFE_SLOTS    (1u << 16) // of the wheel, one per millisecond
#define DHCP_LIFE_NEVER    UINT64_MAX
#define DHCP_LIFE_UNCALLED UINT32_MAX
#define DHCP_LIFE_NO_TURN  UINT32_MAX

// One client. Its next exchange is in its record (struct dhcp_client).
struct dhcp_living {
	uint32_t next;    // in its slot, or DHCP_NOBODY
	uint32_t t1_ms;   // of the run, from the start of the lease or from a confirmation
	uint16_t rounds;  // of the wheel before its turn
	uint8_t t2, ends; // in parts of T1, see dhcp_life.c; t2 0: T2 has passed
};

_Static_assert(sizeof(struct dhcp_living) == 12, "1 M clients");

// A client that its server may call with RECONFIGURE.
struct dhcp_callable {
	union {
		uint32_t prev;    // idle: previous client in its slot; DHCP_NOBODY: it is the first
		uint32_t planned; // busy: the exchange preempted by the call, or DHCP_LIFE_UNCALLED
	};
	uint32_t at_ms; // its turn, unchanged by a call; or DHCP_LIFE_NO_TURN
};

// The lives of one worker's clients. of NULL: clients have no life.
struct dhcp_life {
	const struct dhcp_life_plan *plan;
	struct dhcp_living *of; // by client
	uint32_t *slots;        // first client of each, or DHCP_NOBODY
	uint32_t list;          // remaining clients of the slot at at_ms
	uint64_t at_ms;         // all clients before it have had their turn
	uint64_t draws, salt;
	uint16_t *relays;                   // by client; NULL: no client moves
	uint16_t *moved;                    // by relay: the next relay of the same worker
	struct dhcp_callable *calls;        // by client; NULL: servers do not call
	uint32_t called_first, called_last; // called clients, linked by `next`; DHCP_NOBODY
	bool dry;
};

// Why a client is idle again.
enum dhcp_left {
	DHCP_LEFT_LEASED, // got or renewed a lease
	DHCP_LEFT_DONE,   // the exchange succeeded, without a lease
	DHCP_LEFT_FAILED, // lost or refused; if refused, it holds no lease
};

struct dhcp_client;

// Schedule the client's action in delay_ms, never immediately.
void dhcp_life_wait(struct dhcp_life *l, uint32_t client, uint64_t now_ms, uint64_t delay_ms);
// The time of the next client's action, if not after now_ms; DHCP_LIFE_NEVER: none, or the wheel is
// behind and catches up in the next call. In a dry run: however late.
uint64_t dhcp_life_due(struct dhcp_life *l, uint64_t now_ms);
// After dhcp_life_due: returns and removes that client.
uint32_t dhcp_life_take(struct dhcp_life *l);
// A server calls an idle client: its turn is now, with this exchange. If the exchange fails with
// the lease kept, or gives no lease, the client resumes its original schedule.
void dhcp_life_call(struct dhcp_life *l, uint32_t client, struct dhcp_client *k, uint8_t exchange);
// Clients whose turn was before until_ms, except called ones.
uint64_t dhcp_life_waiting(const struct dhcp_life *l, uint64_t until_ms);
// A lease begins. Times in client seconds as given by the server; T1 and T2 0: not given. Returns
// whether T1 is the expected one.
bool dhcp_life_lease(
	struct dhcp_life *l, uint32_t client, uint32_t t1_s, uint32_t t2_s, uint32_t valid_s);
// The client is idle: choose its next exchange and time.
void dhcp_life_left(struct dhcp_life *l, uint32_t client, struct dhcp_client *k, uint64_t now_ms,
	enum dhcp_left how);
// The client's turn has come: returns its exchange, and moves the client if that is its event.
uint8_t dhcp_life_exchange(struct dhcp_life *l, uint32_t client, const struct dhcp_client *k);

// Is a busy client performing a server's call?
static inline bool dhcp_life_is_called(const struct dhcp_life *l, uint32_t client)
{
	return l->calls && l->calls[client].planned != DHCP_LIFE_UNCALLED;
}

// Did the lease of a client that starts over expire by itself?
static inline bool dhcp_life_expired(const struct dhcp_life *l, uint32_t client)
{
	return l->of[client].t2 == 0;
}
