// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. One thread at a time for each seat.
#include "engine/core/crew.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

#define IDLE_LOOKS 20000 // for jobs, before the thread sleeps
#define IDLE_NS    20000

static struct crew_session *session_of(struct hand *h)
{
	size_t len = 0;
	uint8_t *data = hand_session(h, &len);
	struct crew_session *s = data ? malloc(sizeof(*s) + len) : NULL;

	if (s) {
		*s = (struct crew_session){.refs = 1,
			.len = (uint32_t)len,
			.early_most = (uint32_t)hand_early_most(h)};
		memcpy(s->data, data, len);
	}
	free(data);
	return s;
}

static void step(struct crew_seat *s)
{
	const struct crew_session *from = s->session;
	size_t taken = 0, out_len = 0, early_len = 0;

	s->state = HAND_FAILED;
	s->taken = s->out_len = 0;
	if (!s->hand)
		s->hand = hand_begin(s->setup, from ? from->data : NULL, from ? from->len : 0);
	s->facts = s->hand ? hand_facts(s->hand) : NULL;
	if (!s->hand)
		return;
	if (from && s->early_len)
		hand_early(s->hand, s->in, s->early_len);
	s->state = hand_step(s->hand, s->in, s->in_len, &taken);
	s->out = hand_output(s->hand, &out_len);
	s->taken = (uint32_t)taken;
	s->out_len = (uint32_t)out_len;
	s->early = hand_early_taken(s->hand, &early_len);
	if (s->early)
		s->early_len = (uint32_t)early_len;
	if (s->state == HAND_DONE && hand_facts(s->hand)->tls12)
		s->ticket = session_of(s->hand);
}

static void forget(struct crew_seat *s)
{
	hand_free(s->hand);
	free(s->ticket);
	s->hand = NULL;
	s->ticket = NULL;
}

void crew_do(struct crew_seat *s)
{
	uint64_t from = clock_time(s->clock);
	struct crew_session *next;

	for (; s->garbage; s->garbage = next) {
		next = s->garbage->next;
		free(s->garbage);
	}
	switch ((enum crew_job)s->job) {
	case CREW_STEP:
		step(s);
		break;
	case CREW_TICKET:
		if (!s->ticket && hand_ticket(s->hand, s->in, s->in_len))
			s->ticket = session_of(s->hand);
		break;
	case CREW_END:
		forget(s);
		break;
	}
	s->waited += from - s->given;
	s->ticks += clock_time(s->clock) - from;
}

// Does the next job of a line. Returns false if there is none.
static bool line_do(struct crew_line *l)
{
	uint32_t n = atomic_load_explicit(&l->completed, memory_order_relaxed);

	if (n == atomic_load_explicit(&l->given, memory_order_acquire))
		return false;
	crew_do(&l->seats[l->numbers[n & l->mask]]);
	atomic_store_explicit(&l->completed, n + 1, memory_order_release);
	return true;
}

void crew_loop(struct crew_thread *t)
{
	uint32_t idle = 0;

	while (!atomic_load_explicit(&t->over, memory_order_acquire)) {
		bool worked = false;

		for (uint32_t i = 0; i < t->line_count; i++)
			worked |= line_do(t->lines[i]);
		idle = worked ? 0 : idle + 1;
		if (idle > IDLE_LOOKS)
			nanosleep(&(struct timespec){0, IDLE_NS}, NULL);
	}
}
