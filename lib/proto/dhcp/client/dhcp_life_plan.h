// SPDX-License-Identifier: BSD-3-Clause
// The plan of clients with a life of their own, the forecast of their exchanges, and the memory of
// a worker. Path: cold. Management thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

#define DHCP_LIFE_BINS       256        // of a forecast
#define DHCP_LIFE_RELAYS_MAX UINT16_MAX // for clients that move

struct dhcp_life;
struct proto_env;

// Events that end the time until T1, other than a renewal. Their shares are settings, in this
// order.
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
	uint64_t t1_ns; // expected
	double share[DHCP_LIFE_EVENTS];
	uint64_t away_ns, retry_ns;
	// By dhcp_life_foresee: exchanges started by the end of each part of the run.
	double begun[DHCP_LIFE_BINS + 1];
	double span_s; // 0: not computed
};

// The exchanges of a family that clients use in their lives.
struct dhcp_life_exchanges {
	uint8_t renew, rebind, reboot, release;
	bool reboot_leases; // a reboot restarts the lease; otherwise T1 is unchanged
};

// ctlplane: wo, dataplane: ro
struct dhcp_life_plan {
	struct dhcp_life_exchanges exchanges;
	uint8_t start; // the exchange that obtains a lease
	uint32_t clients;
	uint64_t below[DHCP_LIFE_EVENTS]; // a draw selects the first event whose bound is above it
	uint64_t per_s;                   // milliseconds of the run per client second, x 2^16
	uint32_t away_ms, retry_ms;       // of the run
	uint32_t t1_s;                    // expected
	double power_on_ms;
	enum dhcp_life_curve curve;
	bool moves;
	bool called; // servers call clients
};

// Checks that the shares of events total at most 100 %.
void dhcp_life_check(const struct dhcp_life_settings *s, struct diag *d);
void dhcp_life_plan(struct dhcp_life_plan *p, const struct dhcp_life_settings *s,
	const struct dhcp_life_exchanges *exchanges, uint8_t start, uint32_t clients);
// Forecast, into s->begun, the exchanges started in a run of span_s seconds, assuming that servers
// answer each and give the expected T1. All stay 0 if out of memory.
void dhcp_life_foresee(struct dhcp_life_settings *s, const struct dhcp_life_plan *p, double span_s);
// Number of exchanges started by until_s.
double dhcp_life_begun(const struct dhcp_life_settings *s, double until_s);
// Time of the run at which a client is switched on.
uint32_t dhcp_life_power_on_ms(const struct dhcp_life_plan *p, double place);

// For `clients` of this worker; relays 0: clients on a link. 0 or -ENOMEM.
int dhcp_life_open(struct dhcp_life *l, const struct dhcp_life_plan *p, const struct proto_env *env,
	uint32_t clients, uint32_t relays);
void dhcp_life_close(struct dhcp_life *l);
uint64_t dhcp_life_memory(const struct dhcp_life_plan *p, uint32_t clients, uint32_t relays);
