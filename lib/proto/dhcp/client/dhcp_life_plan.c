// SPDX-License-Identifier: BSD-3-Clause
// The plan of clients with a life, the forecast of their exchanges, and the memory of a worker.
// Path: cold. Management thread.

#include "proto/dhcp/client/dhcp_life_plan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/dhcp/client/dhcp_clients.h"
#include "proto/dhcp/client/dhcp_life.h"
#include "proto/proto.h"

#define NS_PER_MS   1e6
#define HALVINGS    40
#define SAMPLED_MAX 16384   // clients of a forecast, a power of two
#define EVENTS_MAX  4000000 // events followed in it
#define HALF        (1ull << 63)

void dhcp_life_check(const struct dhcp_life_settings *s, struct diag *d)
{
	double sum = 0;

	for (uint32_t e = 0; e < DHCP_LIFE_EVENTS; e++)
		sum += s->share[e];
	if (sum > 1 + 1e-9)
		diag_error(d, s, "", "the shares add up to %g%% (up to 100%%)", 100 * sum);
}

static uint32_t to_ms(uint64_t client_ns, double speed)
{
	return (uint32_t)fmin((double)client_ns / NS_PER_MS / speed, UINT32_MAX - 1);
}

void dhcp_life_plan(struct dhcp_life_plan *p, const struct dhcp_life_settings *s,
	const struct dhcp_life_exchanges *exchanges, uint8_t start, uint32_t clients)
{
	double sum = 0;

	*p = (struct dhcp_life_plan){.exchanges = *exchanges,
		.start = start,
		.clients = clients,
		.per_s = (uint64_t)(1000 / s->speed * 65536 + 0.5),
		.away_ms = to_ms(s->away_ns, s->speed),
		.retry_ms = to_ms(s->retry_ns, s->speed),
		.t1_s = (uint32_t)((double)s->t1_ns / 1e9),
		.power_on_ms = (double)s->power_on_ns / NS_PER_MS / s->speed,
		.curve = (enum dhcp_life_curve)s->curve,
		.moves = s->share[DHCP_LIFE_MOVE] > 0};
	for (uint32_t e = 0; e < DHCP_LIFE_EVENTS; e++) {
		sum += s->share[e];
		p->below[e] = sum < 1 ? (uint64_t)(sum * 0x1p64) : UINT64_MAX;
	}
}

// Share of clients on in a bell curve, whose rate is 1 - cos.
static double bell(double x)
{
	return x - sin(2 * M_PI * x) / (2 * M_PI);
}

uint32_t dhcp_life_power_on_ms(const struct dhcp_life_plan *p, double place)
{
	double low = 0, high = 1;

	for (int i = 0; p->curve == DHCP_LIFE_BELL && i < HALVINGS; i++) {
		double middle = (low + high) / 2;

		if (bell(middle) < place)
			low = middle;
		else
			high = middle;
	}
	return (uint32_t)fmin(
		p->power_on_ms * (p->curve == DHCP_LIFE_BELL ? low : place), UINT32_MAX - 1);
}

// --- the forecast
// -------------------------------------------------------------------------------

struct foresight {
	const struct dhcp_life_plan *p;
	double *bins; // exchanges started in each
	double span_ms;
	double t1_ms;
};

static void begins(struct foresight *f, double at_ms)
{
	if (at_ms < f->span_ms)
		f->bins[1 + (uint32_t)(at_ms / f->span_ms * DHCP_LIFE_BINS)]++;
}

// One lease: counts its exchanges and returns the time of the next lease. draw, place: of 2^64.
static double lease(struct foresight *f, double at_ms, uint64_t draw, uint64_t place)
{
	double until = at_ms + f->t1_ms * (double)place * 0x1p-64;
	uint32_t e = 0;

	while (e < DHCP_LIFE_EVENTS && draw >= f->p->below[e])
		e++;
	if (e == DHCP_LIFE_EVENTS) {
		begins(f, at_ms + f->t1_ms);
		return at_ms + f->t1_ms;
	}
	begins(f, until);
	if (e == DHCP_LIFE_REBOOT && !f->p->exchanges.reboot_leases) {
		until = at_ms + f->t1_ms;
		begins(f, until);
	}
	if (e == DHCP_LIFE_RELEASE) {
		until += f->p->away_ms;
		begins(f, until);
	}
	return until;
}

// The nth leases of all clients: draws are spread evenly over the clients, independent of a
// client's earlier ones.
static bool leases(struct foresight *f, double *at_ms, uint32_t clients, uint64_t nth)
{
	uint32_t bits = 1;
	struct perm draws, places;
	bool any = false;

	while (clients > 1u << bits)
		bits++;
	perm_init(&draws, 2 * nth, bits);
	perm_init(&places, 2 * nth + 1, bits);
	for (uint32_t i = 0; i < clients; i++) {
		if (at_ms[i] >= f->span_ms)
			continue;
		at_ms[i] = lease(f, at_ms[i], perm_map(&draws, i) << (64 - bits) | HALF >> bits,
			perm_map(&places, i) << (64 - bits) | HALF >> bits);
		any = true;
	}
	return any;
}

void dhcp_life_foresee(struct dhcp_life_settings *s, const struct dhcp_life_plan *p, double span_s)
{
	struct foresight f = {.p = p,
		.bins = s->begun,
		.span_ms = 1000 * span_s,
		.t1_ms = fmax((double)s->t1_ns / NS_PER_MS / s->speed, 1)};
	double each = 2 + 2 * f.span_ms / f.t1_ms;
	uint32_t sampled = p->clients < SAMPLED_MAX ? p->clients : SAMPLED_MAX;
	double *at_ms;

	while (sampled > 1 && sampled * each > EVENTS_MAX)
		sampled /= 2;
	memset(s->begun, 0, sizeof(s->begun));
	s->span_s = span_s;
	at_ms = calloc(sampled, sizeof(*at_ms));
	if (!at_ms)
		return;
	for (uint32_t i = 0; i < sampled; i++) {
		at_ms[i] = dhcp_life_power_on_ms(p, (i + 0.5) / sampled);
		begins(&f, at_ms[i]);
	}
	for (uint64_t nth = 0; leases(&f, at_ms, sampled, nth);)
		nth++;
	for (uint32_t i = 1; i <= DHCP_LIFE_BINS; i++)
		s->begun[i] = s->begun[i - 1] + s->begun[i] * p->clients / sampled;
	free(at_ms);
}

double dhcp_life_begun(const struct dhcp_life_settings *s, double until_s)
{
	double at = s->span_s > 0 ? until_s / s->span_s * DHCP_LIFE_BINS : 0;
	uint32_t bin = (uint32_t)at;

	if (bin >= DHCP_LIFE_BINS)
		return s->begun[DHCP_LIFE_BINS];
	return s->begun[bin] + (s->begun[bin + 1] - s->begun[bin]) * (at - bin);
}

// --- a worker
// -----------------------------------------------------------------------------------

uint64_t dhcp_life_memory(const struct dhcp_life_plan *p, uint32_t clients, uint32_t relays)
{
	return clients * (sizeof(struct dhcp_living) + (p->moves ? sizeof(uint16_t) : 0) +
				 (p->called ? sizeof(struct dhcp_callable) : 0)) +
	       DHCP_LIFE_SLOTS * sizeof(uint32_t) + (p->moves ? relays * sizeof(uint16_t) : 0);
}

int dhcp_life_open(struct dhcp_life *l, const struct dhcp_life_plan *p, const struct proto_env *env,
	uint32_t clients, uint32_t relays)
{
	bool moves = p->moves && relays;

	*l = (struct dhcp_life){.plan = p,
		.list = DHCP_NOBODY,
		.called_first = DHCP_NOBODY,
		.salt = rand_hash(env->seed + 3),
		.draws = env->worker,
		.dry = env->dry,
		.of = dhcp_table_alloc((clients + 1) * sizeof(struct dhcp_living)),
		.slots = malloc(DHCP_LIFE_SLOTS * sizeof(uint32_t)),
		.relays = moves ? calloc(clients + 1, sizeof(uint16_t)) : NULL,
		.moved = moves ? calloc(relays, sizeof(uint16_t)) : NULL,
		.calls = p->called ? dhcp_table_alloc((clients + 1) * sizeof(*l->calls)) : NULL};
	if (!l->of || !l->slots || (moves && (!l->relays || !l->moved)) ||
		(p->called && !l->calls)) {
		dhcp_life_close(l);
		return -ENOMEM;
	}
	memset(l->slots, 0xff, DHCP_LIFE_SLOTS * sizeof(uint32_t));
	for (uint32_t from = 0; moves && from < relays; from++) {
		uint32_t to = from; // the next relay whose replies reach the same worker

		do
			to = (to + 1) % relays;
		while (to != from && env->homes && env->homes[to] != env->homes[from]);
		l->moved[from] = (uint16_t)to;
	}
	return 0;
}

void dhcp_life_close(struct dhcp_life *l)
{
	free(l->of);
	free(l->slots);
	free(l->relays);
	free(l->moved);
	free(l->calls);
	*l = (struct dhcp_life){0};
}
