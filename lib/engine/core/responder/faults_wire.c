// SPDX-License-Identifier: BSD-3-Clause
// Decides whether and when a reply is sent, and corrupts its bytes. Independent of packet buffers.
// Path: hot. The responder's thread.
#include "engine/core/responder/faults.h"

static bool in_outage(const struct faults *f, uint64_t since)
{
	return since >= f->off_at && since < f->on_at;
}

// Sets *leave to the tick at which there is capacity for the reply to a request received at `now`.
// Returns false if that is beyond max_wait.
static bool find_room(struct faults *f, uint64_t now, uint64_t *leave)
{
	if (f->free_at > now + f->max_wait) {
		f->free_at += f->free_at < now + f->max_debt ? f->drop_gap : 0;
		return false;
	}
	if (f->free_at > now) {
		*leave = f->free_at;
		faults_count(f, FAULT_QUEUED);
	}
	f->free_at = *leave + f->gap;
	return true;
}

static uint64_t draw_delay(struct faults *f)
{
	uint64_t random = f->kind == DELAY_BY_CONSTANT ? 0 : rand_next(&f->rand);

	switch (f->kind) {
	case DELAY_BY_CONSTANT:
		return f->first;
	case DELAY_BY_SPAN:
		return f->first + rand_scale(random, f->span + 1);
	case DELAY_BY_QUANTILE:
		return f->quantile[random >> (64 - FAULTS_QUANTILE_BITS)];
	case DELAY_BY_CHOICE:
		break;
	}
	if (random >= f->second_below)
		return f->first;
	faults_count(f, FAULT_SECOND_DELAY);
	return f->second;
}

// Returns when a reply that is due at `leave` is sent: in a stall, at its end. The first stall
// begins one period after the origin.
static uint64_t after_stall(struct faults *f, uint64_t leave)
{
	uint64_t since = leave - f->origin;
	uint64_t turn = recip_div(&f->stall_every, since);
	uint64_t begin = turn * f->stall_every.divisor;

	if (turn == 0 || since - begin >= f->stall_for)
		return leave;
	faults_count(f, FAULT_STALLED);
	return f->origin + begin + f->stall_for;
}

bool faults_admit(struct faults *f, uint64_t now, uint64_t *leave)
{
	*leave = now;
	if (f->origin == 0)
		f->origin = now;
	if (in_outage(f, now - f->origin)) {
		faults_count(f, FAULT_OUTAGE);
		return false;
	}
	if (f->gap && !find_room(f, now, leave)) {
		faults_count(f, FAULT_CAPACITY);
		return false;
	}
	*leave += draw_delay(f);
	if (f->stall_for)
		*leave = after_stall(f, *leave);
	return true;
}

static bool gate_opens(struct fault_gate *g, struct rand *r)
{
	if (g->every == 0)
		return rand_next(r) < atomic_load_explicit(&g->below, memory_order_relaxed);
	if (--g->left)
		return false;
	g->left = g->every;
	return true;
}

uint64_t faults_draw(struct faults *f, uint64_t among)
{
	uint64_t turns = 0;

	// All gates count every reply, whichever fault comes first.
	for (uint64_t left = f->on & among; left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(left);

		turns |= (uint64_t)gate_opens(&f->gates[i], &f->rand) << i;
	}
	return turns;
}

void faults_flip(const struct fault_answer *a)
{
	a->data[a->t.len + a->len / 2] ^= 1;
}

static bool apply(const struct proto_fault *row, struct fault_answer *a, uint64_t random)
{
	uint32_t len = row ? row->apply(a->data + a->t.len, a->len, a->room, random) : 0;

	if (len == 0)
		return false;
	a->len = len;
	return true;
}

bool faults_spoil(
	uint32_t fault, const struct proto_fault *row, struct fault_answer *a, uint64_t random)
{
	switch ((enum fault)fault) {
	case FAULT_OUTAGE:
	case FAULT_CAPACITY:
	case FAULT_QUEUED:
	case FAULT_STALLED:
	case FAULT_SECOND_DELAY:
	case FAULT_RECORD_CORRUPT: // of connections alone
	case FAULT_RECORD_SPLIT:
	case FAULT_KEY_UPDATE:
	case FAULT_ALERT:
		return false;
	case FAULT_LOSS:
	case FAULT_DUPLICATE:
	case FAULT_REORDER:
	case FAULT_FRAGMENT_LOSS:
	case FAULT_FRAGMENT_DUPLICATE:
	case FAULT_FRAGMENT_REORDER:
	case FAULT_FRAGMENT_OVERLAP:
		return true;
	case FAULT_CORRUPT:
		faults_flip(a);
		return true;
	case FAULT_CORRUPT_CHECKSUM:
		a->t.checksum_offload = false;
		a->damaged = true;
		return true;
	case FAULT_TRUNCATE:
		a->len /= 2;
		return true;
	case FAULT_WRONG_PORT:
		a->src_port ^= 1;
		return true;
	case FAULT_WRONG_ADDRESS:
		a->src[a->t.addr_len - 1] ^= 0x40;
		return true;
	case FAULT_OF_PROTOCOL:
		break;
	}
	return apply(row, a, random);
}
