// SPDX-License-Identifier: BSD-3-Clause
// How long each try of each kind of message is waited for (RFC 8415 section 15): doubled from IRT
// up to MRT, MRC tries or until MRD is over, each at random a little shorter or longer. The waits
// of all kinds that are equal share their place in the layout. Path: cold. Management thread.

#include "proto/dhcp6_plan.h"

#define JITTER_MAX 16 // steps
#define WAITS_MAX  (DHCP6_STEPS * DHCP6_TRIES_MAX)

struct nominal {
	uint64_t ns[WAITS_MAX];
	uint32_t count;
};

static const struct dhcp6_tries_settings *tries_of(
	const struct dhcp6_retransmit_settings *s, enum dhcp6_step step)
{
	switch (step) {
	case DHCP6_STEP_SOLICIT:
	case DHCP6_STEP_RAPID:
	case DHCP6_STEPS:
		break;
	case DHCP6_STEP_REQUEST:
		return &s->request;
	case DHCP6_STEP_RENEW:
		return &s->renew;
	case DHCP6_STEP_REBIND:
		return &s->rebind;
	case DHCP6_STEP_RELEASE:
		return &s->release;
	case DHCP6_STEP_DECLINE:
		return &s->decline;
	case DHCP6_STEP_CONFIRM:
		return &s->confirm;
	case DHCP6_STEP_INFORMATION:
		return &s->information;
	}
	return &s->solicit;
}

static uint32_t place_of(struct nominal *n, uint64_t ns)
{
	for (uint32_t i = 0; i < n->count; i++)
		if (n->ns[i] == ns)
			return i;
	n->ns[n->count] = ns;
	return n->count++;
}

// Places of the waits of one kind, not yet multiplied by the steps of jitter.
static void kind_waits(
	struct dhcp6_waits *w, const struct dhcp6_tries_settings *s, struct nominal *n)
{
	uint64_t wait = s->irt_ns, sum = 0;

	for (w->tries = 0; w->tries < s->mrc; w->tries++) {
		bool last = s->mrd_ns && sum + wait >= s->mrd_ns;

		if (last)
			wait = s->mrd_ns - sum;
		w->first[w->tries] = (uint8_t)place_of(n, wait);
		sum += wait;
		if (last) {
			w->tries++;
			return;
		}
		wait = s->mrt_ns && wait * 2 > s->mrt_ns ? s->mrt_ns : wait * 2;
	}
}

static uint64_t *waits_make(const struct nominal *n, double rand, uint32_t steps, struct arena *a)
{
	uint64_t *waits = arena_zalloc(a, n->count * steps * sizeof(*waits));

	for (uint32_t i = 0; i < n->count * steps; i++) {
		double part = steps > 1 ? 2.0 * (i % steps) / (steps - 1) - 1 : 0;

		waits[i] = (uint64_t)((double)n->ns[i / steps] * (1 + rand * part));
	}
	return waits;
}

uint32_t dhcp6_build_waits(struct dhcp6_plan *p, const struct dhcp6_retransmit_settings *s)
{
	struct nominal n = {.count = 0};
	uint32_t steps;

	for (uint32_t i = 0; i < DHCP6_STEPS; i++) {
		p->waits[i].tries = 1;
		if (s)
			kind_waits(&p->waits[i], tries_of(s, (enum dhcp6_step)i), &n);
	}
	if (n.count == 0 || n.count > PROTO_MAX_WAITS)
		return n.count;
	steps = PROTO_MAX_WAITS / n.count < JITTER_MAX ? PROTO_MAX_WAITS / n.count : JITTER_MAX;
	p->jitter_steps = steps = s->rand > 0 ? steps : 1;
	for (uint32_t i = 0; i < DHCP6_STEPS; i++)
		for (uint32_t k = 0; k < p->waits[i].tries; k++)
			p->waits[i].first[k] = (uint8_t)(p->waits[i].first[k] * steps);
	p->layout.waits =
		(struct field_list){waits_make(&n, s->rand, steps, p->arena), n.count * steps};
	return n.count;
}
