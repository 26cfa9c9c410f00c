// SPDX-License-Identifier: BSD-3-Clause
// What a worker's clients start from. Path: cold. Management thread.

#include "proto/dhcp/dhcp_work.h"

#include <math.h>

#define NS_PER_MS     1000000u
#define REST_USUAL_MS 10000

// Each worker has relays of its own where there are enough of them, so that answers come home.
static void open_relays(struct dhcp_work *w, uint32_t relays)
{
	uint32_t share = dhcp_share(relays, w->worker, w->workers);

	w->relay_first = relays && share == 0 ? w->worker % relays : w->worker;
	recip_init(&w->by_relay, share ? share : 1);
}

// RFC 2131 section 3.1: ten seconds at least. Those that do not send again either are not that
// patient.
uint32_t dhcp_work_rest_ms(uint64_t setting_ns, bool again)
{
	if (setting_ns == UINT64_MAX)
		return again ? REST_USUAL_MS : 0;
	return (uint32_t)(setting_ns / NS_PER_MS);
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
	};
	open_relays(w, relays);
	return dhcp_clients_init(
		&w->clients, dhcp_share(clients, env->worker, env->workers), record, c->rest_ms);
}

void dhcp_work_close(struct dhcp_work *w)
{
	dhcp_clients_free(&w->clients);
}
