// SPDX-License-Identifier: BSD-3-Clause
// The messages of a zone transfer: AXFR (RFC 5936) and IXFR (RFC 1995), which ends when its first
// SOA record is repeated. Path: hot. The worker that owns ctx.

#include "proto/dns/client/dns_request_wire.h"

// Progress, stored in proto_txn.tries; the serial of the first SOA record is in .user.
enum phase {
	NOTHING,
	FIRST_SOA,
	ZONE,        // all records of the zone, then the SOA record
	CHANGES,     // differences: old SOA record and deletions, new SOA record and additions
	LAST_CHANGE, // additions of the last difference
	WHOLE,       // complete
	BROKEN,
};

struct transfer {
	enum phase phase;
	uint32_t serial, asked; // of the first SOA record; for an IXFR: the client's
	bool incremental;       // IXFR
};

static void soa_take(struct transfer *x, uint32_t serial)
{
	bool same = serial == x->serial;

	switch (x->phase) {
	case NOTHING:
		x->serial = serial;
		x->phase = FIRST_SOA;
		return;
	case FIRST_SOA:
		x->phase = same ? WHOLE : x->incremental ? CHANGES : BROKEN;
		return;
	case CHANGES:
		x->phase = same ? LAST_CHANGE : CHANGES;
		return;
	case ZONE:
	case LAST_CHANGE:
		x->phase = same ? WHOLE : BROKEN;
		return;
	case WHOLE:
	case BROKEN:
		x->phase = BROKEN;
		return;
	}
}

static void other_take(struct transfer *x)
{
	if (x->phase == NOTHING || x->phase == WHOLE)
		x->phase = BROKEN;
	else if (x->phase == FIRST_SOA)
		x->phase = ZONE;
}

bool dns_soa_serial(
	const uint8_t *buf, uint32_t len, const uint8_t *data, uint32_t *steps, uint32_t *serial)
{
	const uint8_t *at = dns_name_end(data, buf, len, steps);

	at = at ? dns_name_end(at, buf, len, steps) : NULL;
	if (!at || buf + len - at < 20)
		return false;
	*serial = bytes_be32(at);
	return true;
}

// Process the answer section, which dns_message_walk has checked.
static void answers_take(
	struct transfer *x, const uint8_t *buf, uint32_t len, uint32_t at, uint32_t count)
{
	uint32_t steps = UINT32_MAX;
	const uint8_t *p = buf + at;

	for (; count > 0 && x->phase != BROKEN; count--) {
		const uint8_t *fixed = dns_name_end(p, buf, len, &steps);
		uint32_t serial;

		if (!fixed || buf + len - fixed < 10) {
			x->phase = BROKEN;
			return;
		}
		p = fixed + 10 + bytes_be16(fixed + 8);
		if (bytes_be16(fixed) != DNS_SOA)
			other_take(x);
		else if (dns_soa_serial(buf, len, fixed + 10, &steps, &serial))
			soa_take(x, serial);
		else
			x->phase = BROKEN;
	}
	// RFC 1995 section 2: the client already has this version or a newer one.
	if (x->phase == FIRST_SOA && x->incremental && (int32_t)(x->asked - x->serial) >= 0)
		x->phase = WHOLE;
}

enum proto_verdict dns_transfer_judge(struct proto_ctx *ctx, struct proto_txn *t,
	const struct dns_query *q, const uint8_t *buf, uint32_t len, const struct dns_message *m)
{
	const struct dns_plan *p = ctx->shared;
	struct dns_counters *n = ctx->counters;
	uint32_t at = DNS_HEADER_LEN + (bytes_be16(buf + 4) ? q->len : 0);
	struct transfer x = {.phase = (enum phase)t->tries,
		.serial = t->user,
		.incremental = bytes_be16(q->wire + q->len - 4) == DNS_IXFR};

	if (x.incremental) // the question's SOA record ends with the serial and four more numbers
		x.asked = bytes_be32(q->body + q->body_len - 20);
	answers_take(&x, buf, len, at, bytes_be16(buf + 6));
	n->transfer_messages++;
	n->transfer_records += bytes_be16(buf + 6);
	if (x.phase == BROKEN) {
		n->transfers_broken++;
		return PROTO_FAIL;
	}
	if (x.phase == WHOLE && p->tsig && !m->tsig) { // RFC 8945 section 5.3.1
		n->tsig_chain_last++;
		return PROTO_FAIL;
	}
	if (x.phase == WHOLE) {
		n->transfers++;
		n->transfers_unchanged += t->tries == NOTHING && bytes_be16(buf + 6) == 1;
		return PROTO_DONE;
	}
	if (!t->over) {
		t->tries = (uint8_t)x.phase;
		t->user = x.serial;
	}
	return PROTO_KEPT;
}
