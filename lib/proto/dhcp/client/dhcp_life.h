// SPDX-License-Identifier: BSD-3-Clause
// Clients with a life of their own: each gets a lease, renews it at the T1 that its server gave,
// rebinds at T2, loses it at its end, and now and then reboots, forgets, releases or moves. When
// each of a worker's clients acts next is in a wheel of milliseconds. Path: hot | cold (plan, open,
// close, memory, forecast). The worker that owns it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/rand.h"
#include "proto/proto.h"

#define DHCP_LIFE_SLOTS      (1u << 16) // of the wheel, one a millisecond
#define DHCP_LIFE_BINS       256        // of a forecast
#define DHCP_LIFE_NEVER      UINT64_MAX
#define DHCP_LIFE_RELAYS_MAX UINT16_MAX // of clients that move
#define DHCP_LIFE_UNCALLED   UINT32_MAX
#define DHCP_LIFE_NO_TURN    UINT32_MAX

// Ends of the time until T1, other than a renewal. Their shares are settings, in this order.
enum dhcp_life_event {
	DHCP_LIFE_REBOOT,
	DHCP_LIFE_FORGET,
	DHCP_LIFE_RELEASE,
	DHCP_LIFE_MOVE,
	DHCP_LIFE_EVENTS,
};

enum dhcp_life_curve { DHCP_LIFE_EVEN, DHCP_LIFE_BELL };

struct dhcp_life_settings {
	uint64_t power_on_ns;
	int32_t curve; // enum dhcp_life_curve
	double speed;
	uint64_t t1_ns; // foreseen
	double share[DHCP_LIFE_EVENTS];
	uint64_t away_ns, retry_ns;
	// By dhcp_life_foresee: exchanges that begin until the end of each part of the run.
	double begun[DHCP_LIFE_BINS + 1];
	double span_s; // 0: not yet
};

// What a family's clients do in their lives: exchanges.
struct dhcp_life_exchanges {
	uint8_t renew, rebind, reboot, release;
	bool reboot_leases; // a reboot begins a lease anew; otherwise T1 stays as it was
};

// ctlplane: wo, dataplane: ro
struct dhcp_life_plan {
	struct dhcp_life_exchanges exchanges;
	uint8_t start; // the exchange that gets a lease
	uint32_t clients;
	uint64_t below[DHCP_LIFE_EVENTS]; // the event whose bound a draw is below first
	uint64_t per_s;                   // milliseconds of the run in a second of a client, x 2^16
	uint32_t away_ms, retry_ms;       // of the run
	uint32_t t1_s;                    // foreseen
	double power_on_ms;
	enum dhcp_life_curve curve;
	bool moves;
	bool called; // by servers
};

// One client. Its next exchange is in its record (struct dhcp_client).
struct dhcp_living {
	uint32_t next;    // in its slot, or DHCP_NOBODY
	uint32_t t1_ms;   // of the run, from the start of the lease or from a confirmation
	uint16_t rounds;  // of the wheel until its turn
	uint8_t t2, ends; // in parts of T1, see dhcp_life.c; t2 0: T2 is over
};

_Static_assert(sizeof(struct dhcp_living) == 12, "1 M clients");

// A client whose server may send RECONFIGUREs.
struct dhcp_callable {
	union {
		uint32_t prev;    // of an idle one, in its slot; DHCP_NOBODY: it is the first
		uint32_t planned; // of a busy one: the exchange that the call came before, or
		                  // DHCP_LIFE_UNCALLED
	};
	uint32_t at_ms; // its turn, which a call leaves as it was; or DHCP_LIFE_NO_TURN
};

// The lives of one worker's clients. of NULL: clients have no life.
struct dhcp_life {
	const struct dhcp_life_plan *plan;
	struct dhcp_living *of; // by client
	uint32_t *slots;        // first client of each, or DHCP_NOBODY
	uint32_t list;          // clients of the slot at at_ms that are left
	uint64_t at_ms;         // all before it have had their turn
	uint64_t draws, salt;
	uint16_t *relays;                   // by client; NULL: none moves
	uint16_t *moved;                    // by relay: the next one of the same worker
	struct dhcp_callable *calls;        // by client; NULL: no server calls
	uint32_t called_first, called_last; // clients that were called, by `next`; DHCP_NOBODY
	bool dry;
};

// Why a client is idle again.
enum dhcp_left {
	DHCP_LEFT_LEASED, // it has a lease, new or renewed
	DHCP_LEFT_DONE,   // the exchange has ended well, without a lease
	DHCP_LEFT_FAILED, // lost, or refused: then it holds no lease any more
};

struct dhcp_client;

// The shares of events are at most 100 %, and the run lasts at most 49 days.
void dhcp_life_check(const struct dhcp_life_settings *s, struct diag *d);
void dhcp_life_plan(struct dhcp_life_plan *p, const struct dhcp_life_settings *s,
	const struct dhcp_life_exchanges *exchanges, uint8_t start, uint32_t clients);
// The exchanges that the clients begin in a run of span_s seconds, when their servers answer
// each and give the foreseen T1: into s->begun. Without memory for it all stay 0.
void dhcp_life_foresee(struct dhcp_life_settings *s, const struct dhcp_life_plan *p, double span_s);
// The exchanges that begin until until_s.
double dhcp_life_begun(const struct dhcp_life_settings *s, double until_s);
// The time of the run at which a client is switched on.
uint32_t dhcp_life_power_on_ms(const struct dhcp_life_plan *p, double place);

// For `clients` of this worker; relays 0: clients on a link. 0 or -ENOMEM.
int dhcp_life_open(struct dhcp_life *l, const struct dhcp_life_plan *p, const struct proto_env *env,
	uint32_t clients, uint32_t relays);
void dhcp_life_close(struct dhcp_life *l);
uint64_t dhcp_life_memory(const struct dhcp_life_plan *p, uint32_t clients, uint32_t relays);

// The client acts in delay_ms, and not at once.
void dhcp_life_wait(struct dhcp_life *l, uint32_t client, uint64_t now_ms, uint64_t delay_ms);
// The time at which the next client acts, if not after now_ms; DHCP_LIFE_NEVER: none does, or the
// wheel is behind and continues with the next call. In a dry run: whenever it is.
uint64_t dhcp_life_due(struct dhcp_life *l, uint64_t now_ms);
// After that: the client.
uint32_t dhcp_life_take(struct dhcp_life *l);
// The server calls on an idle client: its next turn is now, and for this exchange. If that fails
// and the lease stays, or if it gives no lease, the client continues as it would have without the
// call.
void dhcp_life_call(struct dhcp_life *l, uint32_t client, struct dhcp_client *k, uint8_t exchange);
// Clients whose turn was before until_ms, without those that were called.
uint64_t dhcp_life_waiting(const struct dhcp_life *l, uint64_t until_ms);
// A lease as the server gave it begins: its times in seconds of the client, T1 and T2 0: not given.
// Is its T1 the foreseen one?
bool dhcp_life_lease(
	struct dhcp_life *l, uint32_t client, uint32_t t1_s, uint32_t t2_s, uint32_t valid_s);
// The client is idle: choose its next exchange and the time of it.
void dhcp_life_left(struct dhcp_life *l, uint32_t client, struct dhcp_client *k, uint64_t now_ms,
	enum dhcp_left how);
// Its time has come: the exchange. Moves the client, if it moves.
uint8_t dhcp_life_exchange(struct dhcp_life *l, uint32_t client, const struct dhcp_client *k);

// Does a busy client do what its server called for?
static inline bool dhcp_life_is_called(const struct dhcp_life *l, uint32_t client)
{
	return l->calls && l->calls[client].planned != DHCP_LIFE_UNCALLED;
}

// Did the lease of a client that starts over end by itself?
static inline bool dhcp_life_expired(const struct dhcp_life *l, uint32_t client)
{
	return l->of[client].t2 == 0;
}
