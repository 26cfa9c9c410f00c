// SPDX-License-Identifier: BSD-3-Clause
// The workers of DHCPv6 clients, from before the run to what they say after it, and what all items
// have in common. Path: cold. Management thread.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "proto/dhcp/v6/dhcp6_self.h"
#include "proto/dhcp/dhcp_log.h"
#include "proto/dhcp/dhcp_setup.h"

void *dhcp6_common_setup(void *const *shared, uint32_t count, uint32_t threads)
{
	struct dhcp6_common *c = calloc(1, sizeof(*c));
	uint64_t leases = 0;

	if (!c)
		return NULL;
	c->plans = calloc(count, sizeof(*c->plans));
	for (; c->plans && c->count < count; c->count++) {
		struct dhcp6_plan *p = shared[c->count];

		c->plans[c->count] = p;
		p->owner = (uint32_t)leases;
		leases += (uint64_t)p->clients * p->stride;
	}
	if (c->plans && dhcp6_leases_init(&c->leases, leases, threads > 1) == 0)
		return c;
	free(c->plans);
	free(c);
	return NULL;
}

void dhcp6_common_teardown(void *common)
{
	struct dhcp6_common *c = common;

	dhcp_log_unwatched("dhcp6", c->leases.holders.unwatched);
	dhcp6_leases_free(&c->leases);
	free(c->plans);
	free(c);
}

uint64_t dhcp6_memory(const void *shared, const struct proto_env *env)
{
	const struct dhcp6_plan *p = shared;

	return dhcp_clients_memory(dhcp_share(p->clients, env->worker, env->workers),
		       sizeof(struct dhcp6_client)) +
	       dhcp6_leases_memory((uint64_t)p->clients * p->stride) / env->workers;
}

int dhcp6_open(struct proto_ctx *ctx, const struct proto_env *env)
{
	const struct dhcp6_plan *p = ctx->shared;
	struct dhcp6_worker *w = calloc(1, sizeof(*w));

	ctx->own = NULL;
	if (!w || dhcp_work_open(&w->work, &p->course, env, p->clients, sizeof(struct dhcp6_client),
			  p->relay_count) < 0) {
		free(w);
		return -ENOMEM;
	}
	w->common = env->common;
	w->plan = p;
	w->work.owner = p->owner;
	dhcp6_leases_open(w, p);
	ctx->own = w;
	return 0;
}

static void refusal_log(const struct dhcp_note *note)
{
	const char *status = dhcp6_status_name(note->status);
	char text[DHCP_NOTE_LEN + 1];

	log_note("dhcp6: %llu refusals with status %u (%s) said %s%s%s",
		(unsigned long long)note->count, note->status, status ? status : "unknown",
		note->len ? "\"" : "nothing", dhcp_wire_text(note->text, note->len, text),
		note->len ? "\"" : "");
}

static const char *owner_text(const struct dhcp6_plan *p, const struct dhcp6_worker *w,
	uint32_t lease, char text[DHCP_OWNER_TEXT])
{
	const struct dhcp6_plan *of = dhcp6_plan_of(w->common, lease);
	uint32_t number = (uint32_t)recip_div(&of->by_stride, lease - of->owner);
	uint8_t mac[6];

	dhcp6_mac(of, number, mac);
	return dhcp_owner_text(number, mac, sizeof(mac), of == p ? NULL : of->name, text);
}

static void clash_log(
	const struct dhcp6_plan *p, const struct dhcp6_worker *w, const struct dhcp_clash *c)
{
	struct addr_prefix lease = {{16, {0}}, 128};
	struct dhcp6_key key;
	char text[ADDR_TEXT_SIZE], holder[DHCP_OWNER_TEXT], taker[DHCP_OWNER_TEXT];

	memcpy(key.bytes, c->bytes, 16);
	if (c->prefix)
		lease.bits = dhcp6_key_split(&key, lease.addr.bytes);
	else
		memcpy(lease.addr.bytes, c->bytes, 16);
	log_warning("dhcp6: %s was given to %s while %s held %s",
		c->prefix ? addr_format_prefix(&lease, text, sizeof(text))
			  : addr_format(&lease.addr, text, sizeof(text)),
		owner_text(p, w, c->taker, taker), owner_text(p, w, c->holder, holder),
		c->prefix ? "it or a part of it" : "it");
}

int dhcp6_close(struct proto_ctx *ctx)
{
	const struct dhcp6_plan *p = ctx->shared;
	const struct dhcp_lease_clients of = dhcp6_lease_clients(p);
	struct dhcp6_worker *w = ctx->own;
	int rc;

	if (!w)
		return 0;
	for (uint32_t i = 0; i < DHCP_NOTES && w->work.refusals[i].count; i++)
		refusal_log(&w->work.refusals[i]);
	for (uint32_t i = 0; i < w->work.clash_count; i++)
		clash_log(p, w, &w->work.clashes[i]);
	if (!w->work.dry && w->work.paced) // a closed loop waits for a client: that is no failure
		dhcp_log_unbegun("dhcp6", w->work.unbegun, "sarr");
	rc = dhcp_lease_file_close(&p->leases, &of, w, ctx->now_ms);
	dhcp_work_close(&w->work);
	free(w);
	ctx->own = NULL;
	return rc;
}
