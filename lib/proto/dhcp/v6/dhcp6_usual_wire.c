// SPDX-License-Identifier: BSD-3-Clause
// Learning from messages for the fast path (dhcp6_usual.h). Path: hot. The worker that owns ctx.

#include "proto/dhcp/v6/dhcp6_usual.h"
#include "base/bytes.h"
#include "net/csum.h"
#include "proto/dhcp/client/dhcp_course.h"
#include "proto/dhcp/client/dhcp_patch.h"
#include "proto/dhcp/v6/dhcp6_checks.h"

#define LEARN_EVERY 16 // unrecognised messages: some servers never send two alike

static struct dhcp6_places places_of(const struct dhcp6_plan *p, const uint8_t *buf,
	const struct dhcp6_envelope *e, const struct dhcp6_message *m)
{
	struct dhcp6_places at = {.inner = (uint16_t)(e->inner - buf),
		.mac = (uint16_t)(m->client_id.data + p->duid_mac_at - buf)};

	if (e->levels) {
		at.link = p->own_link ? DHCP6_AT_LINK : 0;
		at.peer = DHCP6_AT_PEER + 8;
	}
	if (m->ia_count && m->ias[0].lease_count)
		at.lease = (uint16_t)(m->ias[0].leases[0].address - buf);
	return at;
}

static void places_fill(uint8_t *bytes, const struct dhcp6_places *at, uint8_t with)
{
	if (at->link)
		memset(bytes + at->link, with, 16);
	if (at->peer)
		memset(bytes + at->peer, with, 8);
	if (at->lease)
		memset(bytes + at->lease, with, 16);
	memset(bytes + at->inner, with, 4);
	memset(bytes + at->mac, with, 6);
}

void dhcp6_image_learn(
	struct dhcp6_worker *w, const struct proto_txn *t, const uint8_t *buf, uint32_t len)
{
	struct dhcp6_image *m = &w->images[t->step];
	struct dhcp6_envelope e;
	struct dhcp6_message own;

	if (m->missed++ % LEARN_EVERY || len < DHCP_COPY_LEAST || len > sizeof(m->bytes) ||
		!dhcp6_unwrap(buf, len, &e) || !dhcp6_parse(e.inner, e.inner_len, &own))
		return;
	m->at = places_of((const struct dhcp6_plan *)w->is.plan, buf, &e, &own);
	m->len = (uint16_t)len;
	m->chosen = dhcp6_client_at(w, t->user)->chosen;
	memcpy(m->bytes, buf, len);
	places_fill(m->bytes, &m->at, 0);
	memset(m->bytes + m->at.inner + DHCP6_AT_ELAPSED, 0, 2);
	m->sum = csum_add(0, m->bytes, len);
}

void dhcp6_usual_learn(struct dhcp6_worker *w, const struct dhcp6_heard *h)
{
	struct dhcp6_usual *u = &w->usual[h->m.type == DHCP6_REPLY];
	const struct dhcp6_plan *p = h->self.p;
	const struct dhcp6_message *m = &h->m;
	uint8_t mask[DHCP_SHAPE_MAX];

	if (!p->usual || u->missed++ % LEARN_EVERY || h->len > sizeof(mask))
		return;
	// Nothing in it may have an effect or a counter of its own.
	if (m->ia_count != 1 || m->ias_ignored || m->ias[0].lease_count != 1 ||
		m->ias[0].leases_ignored || m->sol_max_rt_s || m->inf_max_rt_s || m->auth.data ||
		m->notes.repeats || m->notes.trailing)
		return;
	memset(mask, 0xff, sizeof(mask));
	u->at = places_of(p, h->buf, &h->envelope, &h->m);
	places_fill(mask, &u->at, 0);
	u->len = dhcp_shape_make(&u->shape, h->buf, mask, h->len) ? (uint16_t)h->len : 0;
	for (uint32_t i = 0; i < DHCP6_STEPS; i++)
		if (dhcp6_kinds[i].usual == h->m.type)
			w->usual_of[i] = u->len ? u : NULL;
	u->type = h->m.type;
	u->chosen = h->self.client->chosen;
	u->preference = h->m.preference;
	u->peer = h->is.peer;
	u->unicast = h->self.client->unicast;
	u->lacks = dhcp_lacks_parameters(&p->is, h->m.present);
	memcpy(u->present, h->m.present, sizeof(u->present));
	u->valid_s = h->given.valid_s;
	u->t1_s = h->given.t1_s;
	u->t2_s = h->given.t2_s;
}
