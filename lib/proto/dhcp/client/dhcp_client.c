// SPDX-License-Identifier: BSD-3-Clause
// The workers of DHCP clients, from before the run until their last messages to the user, and the
// table shared by all items. Path: cold | hot (dhcp_server_search, dhcp_due, dhcp_waiting).
// Management thread; hot functions: any thread.

#include "proto/dhcp/client/dhcp_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "proto/dhcp/client/dhcp_supply.h"

#define OWNER_TEXT 160

uint32_t dhcp_server_search(const struct dhcp_plan *p, const uint8_t *addr, uint8_t len)
{
	uint32_t i = 1;

	while (i < p->server_count && !addr_bytes_equal(p->servers[i], addr, len))
		i++;
	return i;
}

// The identifier is an address in DHCPv4, a DUID as hex digits in DHCPv6.
bool dhcp_peer(const void *shared, const void *counters, uint32_t i, struct proto_peer *out)
{
	const struct dhcp_plan *p = shared;
	const struct dhcp_counters *c = counters;
	struct addr address = {.len = 4};
	const struct dhcp_peer *peer;
	char *to = out->name;
	const uint64_t *n;

	if (i > DHCP_SERVERS_MAX || (i < DHCP_SERVERS_MAX && !p->peers->items[i].key))
		return false;
	n = c->peers[i];
	out->offers = n[DHCP_PEER_OFFERS];
	out->answers = n[DHCP_PEER_ANSWERS];
	out->refusals = n[DHCP_PEER_REFUSALS];
	out->from = (struct addr){.len = 0};
	if (i == DHCP_SERVERS_MAX) {
		strcpy(out->name, "others");
		return out->offers + out->answers + out->refusals > 0;
	}
	peer = &p->peers->items[i];
	out->from = peer->from;
	memcpy(address.bytes, peer->id.bytes, 4);
	if (p->family->addr_len == 4)
		addr_format(&address, out->name, sizeof(out->name));
	for (uint32_t k = 0; k < peer->id.len && p->family->addr_len == 16; k++)
		to += sprintf(to, "%02x", peer->id.bytes[k]);
	return true;
}

// Add an item to env.common, before any item is open. false: no memory.
static bool common_join(struct dhcp_plan *p, void **common)
{
	struct dhcp_common *c = *common ? *common : calloc(1, sizeof(*c));
	const struct dhcp_plan **plans =
		c ? realloc(c->plans, (c->count + 1) * sizeof(*plans)) : NULL;

	*common = c;
	if (!plans)
		return false;
	c->plans = plans;
	plans[c->count++] = p;
	c->users++;
	p->common = c;
	p->owner = (uint32_t)c->lease_count;
	c->lease_count += (uint64_t)p->clients * p->stride;
	return true;
}

// Called with the first worker, when all items are known.
static int common_open(struct dhcp_common *c, uint32_t threads)
{
	if (c->open)
		return 0;
	c->open = dhcp_leases_init(&c->leases, c->lease_count, c->plans[0]->family->addr_len == 16,
			  threads > 1) == 0;
	return c->open ? 0 : -ENOMEM;
}

void dhcp_common_leave(struct dhcp_common *c)
{
	if (!c || --c->users)
		return;
	if (c->open)
		dhcp_leases_free(&c->leases);
	free(c->plans);
	free(c);
}

static uint64_t worker_memory(const struct dhcp_plan *p, const struct proto_env *env)
{
	uint64_t leases = (uint64_t)p->clients * p->stride;
	uint32_t clients = dhcp_share(p->clients, env->worker, env->workers);
	const struct dhcp_life_plan *life = p->course.life;

	return dhcp_clients_memory(clients, p->family->client_size, !life) +
	       (life ? dhcp_life_memory(life, clients, p->relay_count) : 0) +
	       (uint64_t)clients * p->secret_size +
	       dhcp_turns_memory(env, p->clients, p->relay_count) +
	       dhcp_leases_memory(leases, p->family->addr_len == 16) / env->workers;
}

bool dhcp_facts(struct dhcp_plan *p, const struct proto_env *env, struct proto_facts *facts)
{
	struct proto_env one = *env;

	if (!common_join(p, env->common))
		return false;
	facts->longest = p->longest;
	for (one.worker = 0; one.worker < env->workers; one.worker++)
		facts->memory += worker_memory(p, &one);
	facts->input = p->used;
	facts->times = &p->times;
	dhcp_stocks(p, facts->stocks);
	facts->layout = p->layout;
	return true;
}

// Assign the loaded leases to the worker's clients.
static void leases_load(struct dhcp_worker *w)
{
	const struct dhcp_plan *p = w->plan;
	const struct dhcp_saved *saved = p->leases.items;
	uint32_t left_out = 0;

	for (uint32_t i = 0; i < p->leases.count; i += p->stride) {
		uint32_t client = dhcp_turns_find(&w->work.turns, saved[i].client);

		if (client == UINT32_MAX)
			continue;
		if (p->family->lease_load(w, client, &saved[i]))
			dhcp_work_bind(&w->work, client);
		else
			left_out++;
	}
	if (left_out)
		log_warning("%s: leases of %u clients are left out: other clients hold them, or "
			    "the table of holders has no room for them, or they are of more than "
			    "%d servers",
			p->name, left_out, DHCP_SERVERS_MAX);
	if (p->leases.count && !p->course.life)
		dhcp_clients_settle(&w->work.clients);
}

int dhcp_open(struct proto_ctx *ctx, const struct proto_env *env)
{
	const struct dhcp_plan *p = ctx->shared;
	struct dhcp_worker *w = calloc(1, p->family->worker_size);
	struct proto_env deal = *env;

	ctx->own = NULL;
	if (common_open(p->common, env->threads) < 0) {
		free(w);
		return -ENOMEM;
	}
	if (p->from) // replies to all relays reach the same worker
		deal.homes = NULL;
	if (!w || dhcp_work_open(&w->work, &p->course, &deal, p->clients, p->family->client_size,
			  p->relay_count) < 0) {
		free(w);
		return -ENOMEM;
	}
	if (p->secret_size) {
		w->secrets = dhcp_table_alloc(((size_t)w->work.turns.count + 1) * p->secret_size);
		if (!w->secrets) {
			dhcp_work_close(&w->work);
			free(w);
			return -ENOMEM;
		}
	}
	w->plan = p;
	w->common = p->common;
	w->work.owner = p->owner;
	if (p->turns)
		p->turns[env->worker] = &w->work.turns;
	leases_load(w);
	if (p->leases.save && !env->dry) // a dry run has no leases to save
		p->leases.workers[env->worker] = w;
	ctx->own = w;
	ctx->clients = w->work.clients.count;
	return 0;
}

static double dhcp_begun(const void *settings, double until_s)
{
	return dhcp_life_begun(((const struct dhcp_settings *)settings)->life, until_s);
}

void dhcp_terms(struct dhcp_settings *s, struct proto_terms *out)
{
	out->servers = &s->servers;
	out->extra = dhcp_extra(s);
	out->clients = dhcp_clients(s);
	out->named = s->fqdn && strchr(s->fqdn->name, '.');
	if (!s->life)
		return;
	out->begun = dhcp_begun;
	out->at_once = out->clients;
}

// dhcp_due and dhcp_waiting are called only if the settings have a life.
uint64_t dhcp_due(struct proto_ctx *ctx)
{
	struct dhcp_worker *w = ctx->own;

	return dhcp_life_due(&w->work.life, ctx->now_ms);
}

uint64_t dhcp_waiting(struct proto_ctx *ctx, uint64_t until_ms)
{
	const struct dhcp_worker *w = ctx->own;

	return dhcp_life_waiting(&w->work.life, until_ms);
}

// Shows unprintable characters of the text as "?".
static void refusal_log(const struct dhcp_family *f, const struct dhcp_note *note)
{
	const char *status = f->status_name ? f->status_name(note->status) : NULL;
	char text[DHCP_NOTE_LEN + 1] = {0}, kind[64] = "NAKs";

	if (f->status_name)
		snprintf(kind, sizeof(kind), "refusals with status %u (%s)", note->status,
			status ? status : "unknown");
	for (uint32_t i = 0; i < note->len; i++)
		text[i] = note->text[i] >= ' ' && note->text[i] < 127 ? (char)note->text[i] : '?';
	log_note("%s: %llu %s said %s%s%s", f->name, (unsigned long long)note->count, kind,
		note->len ? "\"" : "", note->len ? text : "nothing", note->len ? "\"" : "");
}

// "client 8 (02:00:00:00:00:08)", with the item's name if it is another item.
static const char *owner_text(const struct dhcp_worker *w, uint32_t lease, char text[OWNER_TEXT])
{
	const struct dhcp_plan *of = dhcp_plan_of(w->common, lease);
	uint32_t number = dhcp_number_of(of, lease);
	bool other = of != w->plan && of->name;
	char mac_text[DHCP_MAC_TEXT];
	uint8_t mac[DHCP_MAC_MAX];

	dhcp_mac_of(of, number, mac);
	snprintf(text, OWNER_TEXT, "client %u (%s)%s%s", number,
		dhcp_mac_text(mac, of->mac_len, mac_text), other ? " of " : "",
		other ? of->name : "");
	return text;
}

static void clash_log(const struct dhcp_worker *w, const struct dhcp_clash *c)
{
	struct addr_prefix lease = {{w->plan->family->addr_len, {0}}, 128};
	char text[ADDR_TEXT_SIZE], holder[OWNER_TEXT], taker[OWNER_TEXT];
	struct dhcp_key key;

	memcpy(key.bytes, c->bytes, 16);
	if (c->prefix)
		lease.bits = dhcp_key_split(&key, lease.addr.bytes);
	else
		memcpy(lease.addr.bytes, c->bytes, 16);
	log_warning("%s: %s was given to %s while %s held %s", w->plan->family->name,
		c->prefix ? addr_format_prefix(&lease, text, sizeof(text))
			  : addr_format(&lease.addr, text, sizeof(text)),
		owner_text(w, c->taker, taker), owner_text(w, c->holder, holder),
		c->prefix ? "it or a part of it" : "it");
}

// Shows the value as quoted text if it is printable, otherwise as hex digits.
static void unlike_log(const struct dhcp_worker *w, uint32_t place)
{
	const struct dhcp_unlike *u = &w->unlike[place];
	char text[2 * DHCP_UNLIKE_SHOWN + 3], *to = text;
	bool printable = u->len > 0;

	for (uint32_t i = 0; i < u->len; i++)
		printable &= u->bytes[i] >= ' ' && u->bytes[i] < 127;
	if (printable)
		to += sprintf(to, "\"%.*s\"", u->len, (const char *)u->bytes);
	for (uint32_t i = 0; i < u->len && !printable; i++)
		to += sprintf(to, "%02x", u->bytes[i]);
	*to = '\0';
	log_note(
		"%s: option %u of %llu replies is not the expected one; first: client %u was given "
		"%s%s",
		w->plan->name, w->plan->expected.items[place].code, (unsigned long long)u->count,
		u->client,
		u->missing ? "none"
		: *text    ? text
			   : "an empty one",
		u->len == DHCP_UNLIKE_SHOWN ? " (and more)" : "");
}

// Silent in a closed loop, where waiting for a client is no failure.
static void unbegun_log(const struct dhcp_worker *w)
{
	const struct dhcp_family *f = w->plan->family;
	const uint64_t *unbegun = w->work.unbegun;

	if (w->work.dry || !w->work.paced)
		return;
	if (unbegun[DHCP_IS_FREE])
		log_warning("%s: %llu exchanges could not begin: no client was free (%s, or a "
			    "share of release)",
			f->name, (unsigned long long)unbegun[DHCP_IS_FREE],
			f->more_clients[w->plan->course.again]);
	if (unbegun[DHCP_IS_BOUND])
		log_warning("%s: %llu exchanges could not begin: no client held a lease (a greater "
			    "share of %s or rapid)",
			f->name, (unsigned long long)unbegun[DHCP_IS_BOUND],
			f->exchange_names[DHCP_FOUR_WAY]);
}

int dhcp_close(struct proto_ctx *ctx)
{
	struct dhcp_worker *w = ctx->own;
	int rc;

	if (!w)
		return 0;
	for (uint32_t i = 0; i < DHCP_NOTES && w->work.refusals[i].count; i++)
		refusal_log(w->plan->family, &w->work.refusals[i]);
	for (uint32_t i = 0; i < w->work.clash_count; i++)
		clash_log(w, &w->work.clashes[i]);
	if (w->work.refusals_more)
		log_note("%s: %llu more refusals, with other texts than the first %d",
			w->plan->family->name, (unsigned long long)w->work.refusals_more,
			DHCP_NOTES);
	if (w->work.clashes_more)
		log_warning("%s: %llu more leases were given while other clients held them",
			w->plan->family->name, (unsigned long long)w->work.clashes_more);
	for (uint32_t i = 0; i < w->plan->expected.count; i++)
		if (w->unlike[i].count)
			unlike_log(w, i);
	unbegun_log(w);
	rc = dhcp_lease_file_close(w, ctx->now_ms);
	dhcp_work_close(&w->work);
	free(w->secrets);
	free(w);
	ctx->own = NULL;
	return rc;
}
