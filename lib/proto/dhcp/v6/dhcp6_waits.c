// SPDX-License-Identifier: BSD-3-Clause
// Which of the user's retransmission settings each kind of message has (RFC 8415 section 7.6). How
// they become waits is in dhcp_waits.c. Path: cold. Management thread.

#include "proto/dhcp/v6/dhcp6_plan.h"

#define MEMBER(member) offsetof(struct dhcp6_retransmit_settings, member)

static const size_t by_step[DHCP6_STEPS] = {
	[DHCP6_STEP_SOLICIT] = MEMBER(solicit),
	[DHCP6_STEP_REQUEST] = MEMBER(request),
	[DHCP6_STEP_RAPID] = MEMBER(solicit),
	[DHCP6_STEP_RENEW] = MEMBER(renew),
	[DHCP6_STEP_REBIND] = MEMBER(rebind),
	[DHCP6_STEP_RELEASE] = MEMBER(release),
	[DHCP6_STEP_DECLINE] = MEMBER(decline),
	[DHCP6_STEP_CONFIRM] = MEMBER(confirm),
	[DHCP6_STEP_INFORMATION] = MEMBER(information),
};

static struct dhcp_backoff backoff_of(const struct dhcp6_retransmit_settings *s, size_t member)
{
	const struct dhcp6_tries_settings *t =
		(const struct dhcp6_tries_settings *)((const char *)s + member);

	return (struct dhcp_backoff){.first_ns = t->irt_ns,
		.longest_ns = t->mrt_ns,
		.total_ns = t->mrd_ns,
		.jitter = s->rand,
		.factor = 2,
		.tries = (uint32_t)t->mrc};
}

uint32_t dhcp6_build_waits(struct dhcp6_plan *p, const struct dhcp6_retransmit_settings *s)
{
	struct dhcp_backoff kinds[DHCP6_STEPS];

	for (int i = 0; s && i < DHCP6_STEPS; i++)
		kinds[i] = backoff_of(s, by_step[i]);
	dhcp_waits_build(
		&p->course.waits, s ? kinds : NULL, DHCP6_STEPS, p->arena, &p->layout.waits);
	return p->course.waits.count;
}
