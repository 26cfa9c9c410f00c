// SPDX-License-Identifier: BSD-3-Clause
// Rare ways to the next exchange and its client, expired leases, and notes for the log. Path: hot |
// cold (open, close, bind, rest_ms, dhcp_mix_share, dhcp_mix_check, dhcp_mix_init). The worker that
// owns it.

#include "proto/dhcp/client/dhcp_work.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define NS_PER_MS     1000000u
#define REST_USUAL_MS 10000

// At least ten seconds (RFC 2131 section 3.1).
uint32_t dhcp_work_rest_ms(uint64_t setting_ns, bool again)
{
	if (setting_ns == UINT64_MAX)
		return again ? REST_USUAL_MS : 0;
	return (uint32_t)(setting_ns / NS_PER_MS);
}

// Every client is off, and gets a lease when it is switched on.
static int life_open(struct dhcp_work *w, const struct proto_env *env, uint32_t relays)
{
	const struct dhcp_life_plan *p = w->course->life;

	if (dhcp_life_open(&w->life, p, env, w->turns.count, relays) < 0)
		return -ENOMEM;
	for (uint32_t i = w->turns.count; i-- > 0;) { // clients of one slot run last in, first out
		uint32_t number = dhcp_work_number(w, i);

		dhcp_client_at(&w->clients, i)->exchange = p->start;
		if (w->life.relays)
			w->life.relays[i] = (uint16_t)(number % relays);
		dhcp_life_wait(
			&w->life, i, 0, dhcp_life_power_on_ms(p, (number + 0.5) / p->clients));
	}
	return 0;
}

int dhcp_work_open(struct dhcp_work *w, const struct dhcp_course *c, const struct proto_env *env,
	uint32_t clients, size_t record, uint32_t relays)
{
	*w = (struct dhcp_work){
		.course = c,
		.worker = env->worker,
		.workers = env->workers,
		.paced = env->rate > 0 && env->rate < INFINITY,
		.dry = env->dry,
		.mix_offset = rand_hash(env->seed),
		.random_salt = rand_hash(env->seed + 1),
		.jitter_salt = rand_hash(env->seed + 2),
		.wrong_salt = rand_hash(env->seed + 3),
		.order_salt = rand_hash(env->seed + 4),
	};
	if (dhcp_turns_init(&w->turns, env, clients, relays) == 0 &&
		dhcp_clients_init(&w->clients, w->turns.count, record, c->rest_ms, !c->life) == 0 &&
		(!c->life || life_open(w, env, relays) == 0))
		return 0;
	dhcp_work_close(w);
	return -ENOMEM;
}

// With a life, it reboots when it is switched on.
void dhcp_work_bind(struct dhcp_work *w, uint32_t client)
{
	if (!w->life.of) {
		dhcp_clients_bind(&w->clients, client);
		return;
	}
	dhcp_client_at(&w->clients, client)->state = DHCP_IS_BOUND;
	dhcp_client_at(&w->clients, client)->exchange = w->life.plan->exchanges.reboot;
}

void dhcp_work_close(struct dhcp_work *w)
{
	dhcp_life_close(&w->life);
	dhcp_clients_free(&w->clients);
	dhcp_turns_free(&w->turns);
}

#define EXPIRE_MAX 64 // expired leases ended per new exchange

// A closed loop retries the same transaction: count it once.
enum dhcp_begun dhcp_work_nobody(struct dhcp_work *w, const struct proto_txn *t, uint8_t from)
{
	if (!w->paced && w->refused_seq[from] == t->seq + 1)
		return DHCP_NOBODY_STILL;
	w->refused_seq[from] = t->seq + 1;
	w->unbegun[from]++;
	if (from == DHCP_IS_FREE)
		return DHCP_NO_FREE;
	return dhcp_clients_ever_bound(&w->clients) ? DHCP_NO_BOUND : DHCP_NO_BOUND_YET;
}

uint64_t dhcp_work_leases_end(
	struct dhcp_work *w, uint32_t now_s, void (*drop)(struct dhcp_work *w, uint32_t client))
{
	uint32_t n = 0, client;

	for (; n < EXPIRE_MAX; n++) {
		client = dhcp_clients_ended(&w->clients, now_s);
		if (client == DHCP_NOBODY)
			break;
		drop(w, client);
	}
	return n;
}

// The exchange of the client whose turn has come; a client that starts over drops its lease.
enum dhcp_begun dhcp_work_life_begin(struct dhcp_work *w, const struct proto_ctx *ctx,
	struct proto_txn *t, void (*drop)(struct dhcp_work *w, uint32_t client), uint64_t *expired)
{
	const struct dhcp_course *c = w->course;
	enum dhcp_begun begun = DHCP_BEGUN;
	struct dhcp_client *k;

	if (dhcp_life_due(&w->life, ctx->now_ms) == DHCP_LIFE_NEVER)
		return DHCP_NOBODY_STILL;
	t->user = dhcp_life_take(&w->life);
	k = dhcp_client_at(&w->clients, t->user);
	k->exchange = dhcp_life_exchange(&w->life, t->user, k);
	k->state = DHCP_IS_BUSY;
	k->began_ms = (uint32_t)ctx->now_ms;
	t->step = c->starts[k->exchange].step;
	if (c->starts[k->exchange].from != DHCP_IS_FREE || dhcp_life_is_called(&w->life, t->user))
		return DHCP_BEGUN;
	k->server = dhcp_work_server(w, w->draws++ * w->workers + w->worker, t->user);
	if (k->holds) {
		if (dhcp_life_expired(&w->life, t->user))
			++*expired;
		else
			begun = DHCP_BEGUN_AGAIN;
		drop(w, t->user);
	}
	return begun;
}

// A random client that may start the exchange; *again: it has a lease and starts over.
uint32_t dhcp_work_draw(struct dhcp_work *w, uint32_t exchange, uint32_t now_s, bool *again)
{
	const struct dhcp_course *c = w->course;
	enum dhcp_client_state from = c->starts[exchange].from;
	uint64_t random = rand_hash(w->order_salt + w->draws);
	uint32_t idle = w->clients.rings[from].count, bound = 0, client;

	if (c->again && exchange <= DHCP_RAPID)
		bound = w->clients.rings[DHCP_IS_BOUND].count;
	*again = rand_scale(random, (uint64_t)idle + bound) >= idle && bound;
	client = dhcp_clients_draw(
		&w->clients, *again ? DHCP_IS_BOUND : from, now_s, rand_hash(random));
	if (client != DHCP_NOBODY || !*again)
		return client;
	*again = false;
	return dhcp_clients_draw(&w->clients, from, now_s, random);
}

void dhcp_work_refused(struct dhcp_work *w, uint16_t status, const uint8_t *text, uint32_t len)
{
	len = len < DHCP_NOTE_LEN ? len : DHCP_NOTE_LEN;
	for (uint32_t i = 0; i < DHCP_NOTES; i++) {
		struct dhcp_note *note = &w->refusals[i];

		if (note->count == 0) {
			note->status = status;
			note->len = (uint8_t)len;
			if (len)
				memcpy(note->text, text, len);
		}
		if (note->status == status && note->len == len &&
			(len == 0 || memcmp(note->text, text, len) == 0)) {
			note->count++;
			return;
		}
	}
	w->refusals_more++;
}

void dhcp_work_clash(struct dhcp_work *w, const struct dhcp_clash *clash)
{
	if (w->clash_count < DHCP_NOTES)
		w->clashes[w->clash_count++] = *clash;
	else
		w->clashes_more++;
}

#define NOTHING 1e-9 // less than any share

double dhcp_mix_share(const double *shares, uint32_t count, uint32_t chosen, uint32_t kind)
{
	double rest = 1;

	for (uint32_t k = 0; shares && k < count; k++)
		rest -= shares[k];
	return (shares ? shares[kind] : 0) + (kind == chosen && rest > NOTHING ? rest : 0);
}

bool dhcp_mix_check(const double *shares, uint32_t count, struct diag *d)
{
	double sum = 0;

	for (uint32_t k = 0; shares && k < count; k++)
		sum += shares[k];
	if (sum <= 1 + NOTHING)
		return true;
	diag_error(d, shares, "", "the shares add up to %g%% (up to 100%%)", sum * 100);
	return false;
}

void dhcp_mix_init(struct dhcp_mix *m, const double *shares, uint32_t count, uint32_t chosen)
{
	double sum = 0;

	m->count = count;
	for (uint32_t k = 0; k < count; k++) {
		double share = dhcp_mix_share(shares, count, chosen, k);

		sum += share;
		m->below[k] = sum < 1 ? (uint64_t)(sum * 0x1p64) : UINT64_MAX;
		if (share > 0)
			m->otherwise = k;
	}
}
