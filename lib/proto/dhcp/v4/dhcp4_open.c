// SPDX-License-Identifier: BSD-3-Clause
// The workers of DHCPv4 clients, from before the run to what they say after it, and what all items
// have in common. Path: cold. Management thread.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "proto/dhcp/v4/dhcp4_self.h"
#include "proto/dhcp/dhcp_log.h"
#include "proto/dhcp/dhcp_setup.h"

void *dhcp4_common_setup(void *const *shared, uint32_t count, uint32_t threads)
{
	struct dhcp4_common *c = calloc(1, sizeof(*c));
	uint64_t owners = 0;

	if (!c)
		return NULL;
	c->plans = calloc(count, sizeof(*c->plans));
	for (; c->plans && c->count < count; c->count++) {
		struct dhcp4_plan *p = shared[c->count];

		c->plans[c->count] = p;
		p->owner = (uint32_t)owners;
		owners += p->clients;
	}
	if (c->plans && dhcp_holders_init(&c->holders, owners, threads > 1) == 0)
		return c;
	free(c->plans);
	free(c);
	return NULL;
}

void dhcp4_common_teardown(void *common)
{
	struct dhcp4_common *c = common;

	dhcp_log_unwatched("dhcp4", c->holders.unwatched);
	dhcp_holders_free(&c->holders);
	free(c->plans);
	free(c);
}

uint64_t dhcp4_memory(const void *shared, const struct proto_env *env)
{
	const struct dhcp4_plan *p = shared;

	return dhcp_clients_memory(dhcp_share(p->clients, env->worker, env->workers),
		       sizeof(struct dhcp4_client)) +
	       dhcp_holders_memory(p->clients) / env->workers;
}

int dhcp4_open(struct proto_ctx *ctx, const struct proto_env *env)
{
	const struct dhcp4_plan *p = ctx->shared;
	struct dhcp4_worker *w = calloc(1, sizeof(*w));

	ctx->own = NULL;
	if (!w || dhcp_work_open(&w->work, &p->course, env, p->clients, sizeof(struct dhcp4_client),
			  p->relay_count) < 0) {
		free(w);
		return -ENOMEM;
	}
	w->common = env->common;
	w->work.owner = p->owner;
	dhcp4_leases_open(w, p);
	ctx->own = w;
	return 0;
}

static void refusal_log(const struct dhcp_note *note)
{
	char text[DHCP_NOTE_LEN + 1];

	if (note->len == 0)
		log_note("dhcp4: %llu NAKs said nothing", (unsigned long long)note->count);
	else
		log_note("dhcp4: %llu NAKs said \"%s\"", (unsigned long long)note->count,
			dhcp_wire_text(note->text, note->len, text));
}

static const char *owner_text(const struct dhcp4_plan *p, const struct dhcp4_worker *w,
	uint32_t owner, char text[DHCP_OWNER_TEXT])
{
	const struct dhcp4_plan *of = dhcp4_plan_of(w->common, owner);
	uint8_t chaddr[DHCP4_CHADDR_LEN];

	dhcp4_chaddr(of, owner - of->owner, chaddr);
	return dhcp_owner_text(
		owner - of->owner, chaddr, of->chaddr_len, of == p ? NULL : of->name, text);
}

static void clash_log(
	const struct dhcp4_plan *p, const struct dhcp4_worker *w, const struct dhcp_clash *c)
{
	char text[ADDR_TEXT_SIZE], holder[DHCP_OWNER_TEXT], taker[DHCP_OWNER_TEXT];
	struct addr address = {.len = 4};

	memcpy(address.bytes, c->bytes, 4);
	log_warning("dhcp4: %s was given to %s while %s held it",
		addr_format(&address, text, sizeof(text)), owner_text(p, w, c->taker, taker),
		owner_text(p, w, c->holder, holder));
}

int dhcp4_close(struct proto_ctx *ctx)
{
	const struct dhcp4_plan *p = ctx->shared;
	const struct dhcp_lease_clients of = dhcp4_lease_clients(p);
	struct dhcp4_worker *w = ctx->own;
	int rc;

	if (!w)
		return 0;
	for (uint32_t i = 0; i < DHCP_NOTES && w->work.refusals[i].count; i++)
		refusal_log(&w->work.refusals[i]);
	for (uint32_t i = 0; i < w->work.clash_count; i++)
		clash_log(p, w, &w->work.clashes[i]);
	if (!w->work.dry && w->work.paced) // a closed loop waits for a client: that is no failure
		dhcp_log_unbegun("dhcp4", w->work.unbegun, "dora");
	rc = dhcp_lease_file_close(&p->leases, &of, w, ctx->now_ms);
	dhcp_work_close(&w->work);
	free(w);
	ctx->own = NULL;
	return rc;
}
