// SPDX-License-Identifier: BSD-3-Clause
// From back-offs to waits. Path: cold. Management thread.

#include "proto/dhcp/client/dhcp_waits.h"

#define JITTER_MAX 16 // steps
#define WAIT_MAX   (1ull << 62)
#define WAITS_MAX  (PROTO_MAX_STEPS * DHCP_TRIES_MAX)

// The middle of a wait, and its maximum deviation.
struct nominal {
	uint64_t ns, jitter_ns;
};

struct nominals {
	struct nominal of[WAITS_MAX];
	uint32_t count;
};

static uint32_t place_of(struct nominals *n, uint64_t ns, uint64_t jitter_ns)
{
	for (uint32_t i = 0; i < n->count; i++)
		if (n->of[i].ns == ns && n->of[i].jitter_ns == jitter_ns)
			return i;
	n->of[n->count] = (struct nominal){ns, jitter_ns};
	return n->count++;
}

// Indices of the waits of one kind, before multiplication by the jitter steps. Returns the maximum
// duration of all tries.
static uint64_t kind_waits(
	struct dhcp_wait_kind *k, const struct dhcp_backoff *b, struct nominals *n)
{
	uint64_t longest = b->longest_ns ? b->longest_ns : WAIT_MAX;
	uint64_t ns = b->first_ns, sum = 0, late = 0, jitter;
	bool last = false;

	for (k->tries = 0; k->tries < b->tries && !last; k->tries++) {
		last = b->total_ns && sum + ns >= b->total_ns;
		if (last)
			ns = b->total_ns - sum;
		jitter = b->jitter_ns + (uint64_t)(b->jitter * (double)ns);
		k->first[k->tries] = (uint8_t)place_of(n, ns, jitter);
		k->ns[k->tries] = ns;
		sum += ns;
		late += jitter;
		ns = ns > longest / b->factor ? longest : ns * b->factor;
	}
	return sum + late;
}

// From the shortest to the longest, in even steps.
static uint64_t *waits_make(const struct nominals *n, uint32_t steps, struct arena *a)
{
	uint64_t *waits = arena_zalloc(a, n->count * steps * sizeof(*waits));

	for (uint32_t i = 0; i < n->count * steps; i++) {
		const struct nominal *of = &n->of[i / steps];
		double part = steps > 1 ? 2.0 * (i % steps) / (steps - 1) : 1;

		waits[i] = of->ns - of->jitter_ns + (uint64_t)(part * (double)of->jitter_ns);
	}
	return waits;
}

static uint32_t steps_of(const struct nominals *n)
{
	uint32_t steps = PROTO_MAX_WAITS / n->count;
	bool fixed = true;

	for (uint32_t i = 0; i < n->count; i++)
		fixed = fixed && n->of[i].jitter_ns == 0;
	if (fixed)
		return 1;
	return steps < JITTER_MAX ? steps : JITTER_MAX;
}

void dhcp_waits_build(struct dhcp_waits *w, const struct dhcp_backoff *kinds, uint32_t steps,
	struct arena *a, struct field_list *out)
{
	struct nominals n = {.count = 0};

	*w = (struct dhcp_waits){.steps = 1};
	for (uint32_t i = 0; i < steps; i++) {
		uint64_t tries_ns = 0;

		w->kinds[i].tries = 1;
		if (kinds)
			tries_ns = kind_waits(&w->kinds[i], &kinds[i], &n);
		w->tries_ns = tries_ns > w->tries_ns ? tries_ns : w->tries_ns;
	}
	w->count = n.count;
	if (n.count == 0 || n.count > PROTO_MAX_WAITS)
		return;
	w->steps = steps_of(&n);
	for (uint32_t i = 0; i < steps; i++)
		for (uint32_t k = 0; k < w->kinds[i].tries; k++)
			w->kinds[i].first[k] = (uint8_t)(w->kinds[i].first[k] * w->steps);
	*out = (struct field_list){waits_make(&n, w->steps, a), n.count * w->steps};
}
