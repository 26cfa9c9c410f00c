// SPDX-License-Identifier: BSD-3-Clause
// The rules, strongest first. Path: cold. Management thread.
#include "engine/run/judge/limit.h"

#include <math.h>

#define LINK_FULL   0.95
#define WORKER_FULL 0.9
#define GROWTH      0.01 // of sent: replies come slower than queries go
#define HICCUP_S    0.02 // growth in flight that may be chance
#define UNSENT      0.001
#define BOX_FULL    0.98
#define CHANCE      3 // standard deviations of the difference of two numbers in flight

// The number in flight grows, without a timeout yet: the replies fall behind.
static bool falls_behind(const struct limit_facts *f)
{
	double grown = (double)f->grown, both = 2 * (double)f->open - grown;

	return f->lost || (grown > GROWTH * (double)f->sent_since &&
				  grown > HICCUP_S * f->sent_per_s && grown > CHANCE * sqrt(both));
}

// It did not send as scheduled, or lost as much as the server seems to have lost.
static bool tester_failed(const struct limit_facts *f)
{
	bool late = f->late_ns > LIMIT_LATE_NS && f->busy > WORKER_FULL;

	return (double)f->unsent > UNSENT * (double)f->due || late ||
	       (f->dropped && 2 * f->dropped >= f->lost);
}

bool limit_is_disturbed(const struct limit_facts *f)
{
	return f->harmed > LIMIT_DISTURBED || f->box >= BOX_FULL || f->late_ns > LIMIT_LATE_NS;
}

enum limit limit_of(const struct limit_facts *f)
{
	enum limit other = limit_is_disturbed(f) ? LIMIT_UNDECIDED : LIMIT_SERVER;

	if (f->link_used >= LINK_FULL)
		return LIMIT_WIRE;
	if (tester_failed(f))
		return LIMIT_TESTER;
	if (falls_behind(f))
		return other;
	if (f->open_rate || f->sent == 0)
		return LIMIT_NONE;
	if (f->no_slot)
		return LIMIT_TESTER;
	if (f->tx_refused)
		return other;
	return f->busy > WORKER_FULL ? LIMIT_TESTER : other;
}

const char *limit_name(enum limit l)
{
	static const char *const names[] = {"none", "server", "undecided", "tester", "wire"};

	return names[l];
}
