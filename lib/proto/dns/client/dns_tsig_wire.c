// SPDX-License-Identifier: BSD-3-Clause
// TSIG on the wire (RFC 8945): records, MACs, the signature of requests and replies, and their
// checks. Keys are in dns_tsig.c. Path: hot. The worker that owns the signer.

#include <string.h>

#include "base/bytes.h"
#include "proto/dns/client/dns_tsig.h"

#define AFTER_NAME      6  // class and TTL, in signed form
#define TYPE_TO_LEN     10 // type, class, TTL, length
#define MAC_LEAST       10 // octets of a truncated MAC (RFC 8945 section 5.2.2.1)
#define TIMERS_LEN      8  // time and fudge
#define UNSIGNED        99 // maximum unsigned messages between two signed ones in a transfer
#define TAIL_LEN        12 // end of the variables: time, fudge, error, length of other data
#define TRANSFER_PLACES 8  // slots that a transfer may use

static inline void hash(struct dns_tsig_signer *s, const void *data, size_t len)
{
	s->key->algorithm->hmac->update(&s->hmac, len, data);
}

// Finish the hash and write the MAC; the hash starts over.
static inline uint32_t hash_end(struct dns_tsig_signer *s, uint8_t *mac)
{
	const struct nettle_mac *hmac = s->key->algorithm->hmac;

	hmac->digest(&s->hmac, hmac->digest_size, mac);
	return hmac->digest_size;
}

static inline void hash_prior(struct dns_tsig_signer *s, const struct dns_tsig_prior *prior)
{
	uint32_t len = bytes_be16(prior->len_be);

	if (len)
		hash(s, prior, sizeof(prior->len_be) + len);
}

static inline void time_write(uint8_t *to, uint64_t time, uint16_t fudge)
{
	bytes_put_be16(to, (uint16_t)(time >> 32));
	bytes_put_be32(to + 2, (uint32_t)time);
	bytes_put_be16(to + 6, fudge);
}

// Write the variables signed after the message; returns their length.
static inline uint32_t vars_write(const struct dns_tsig_key *key, const struct dns_tsig *say,
	enum dns_tsig_form form, uint8_t *to)
{
	uint8_t *tail = to + key->vars_len - TAIL_LEN;

	if (form == DNS_TSIG_TIMERS) {
		time_write(to, say->time, say->fudge);
		return TIMERS_LEN;
	}
	memcpy(to, key->vars, key->vars_len);
	time_write(tail, say->time, say->fudge);
	if (say->error == 0 && say->other_len == 0)
		return key->vars_len;
	bytes_put_be16(tail + 8, say->error);
	bytes_put_be16(tail + 10, say->other_len);
	memcpy(tail + TAIL_LEN, say->other, say->other_len);
	return key->vars_len + say->other_len;
}

// Append and count the record.
static uint32_t record_write(const uint8_t *name, uint32_t name_len, const struct dns_tsig *say,
	uint8_t *buf, uint32_t len)
{
	uint8_t *p = buf + len;
	uint32_t rdlen = say->algorithm_len + 16u + say->mac_len + say->other_len;

	memcpy(p, name, name_len);
	p += name_len;
	bytes_put_be16(p, DNS_TSIG);
	bytes_put_be16(p + 2, DNS_CLASS_ANY);
	bytes_put_be32(p + 4, 0);
	bytes_put_be16(p + 8, (uint16_t)rdlen);
	p += TYPE_TO_LEN;
	memcpy(p, say->algorithm, say->algorithm_len);
	p += say->algorithm_len;
	time_write(p, say->time, say->fudge);
	bytes_put_be16(p + 8, say->mac_len);
	memcpy(p + 10, say->mac, say->mac_len);
	p += 10 + say->mac_len;
	memcpy(p, buf, 2); // the ID
	bytes_put_be16(p + 2, say->error);
	bytes_put_be16(p + 4, say->other_len);
	if (say->other_len)
		memcpy(p + 6, say->other, say->other_len);
	bytes_add_be16(buf + 10, 1);
	return len + name_len + TYPE_TO_LEN + rdlen;
}

uint32_t dns_tsig_record_len(const struct dns_tsig_key *key)
{
	return key->vars_len + 8 + key->algorithm->hmac->digest_size;
}

uint32_t dns_tsig_sign(struct dns_tsig_signer *s, const struct dns_tsig *say,
	enum dns_tsig_form form, struct dns_tsig_prior *prior, uint8_t *buf, uint32_t len,
	uint32_t room)
{
	const struct dns_tsig_key *key = s->key;
	struct dns_tsig says = *say;

	if (room < len || room - len < dns_tsig_record_len(key) + say->other_len)
		return 0;
	hash_prior(s, prior);
	// The variables temporarily occupy the place of the record, which is longer.
	hash(s, buf, len + vars_write(key, say, form, buf + len));
	says.mac_len = (uint16_t)hash_end(s, prior->mac);
	bytes_put_be16(prior->len_be, says.mac_len);
	says.mac = prior->mac;
	says.algorithm = key->algorithm->wire;
	says.algorithm_len = key->algorithm->wire_len;
	return record_write(key->vars, key->name_len, &says, buf, len);
}

// Skip an uncompressed name. Returns its length, or 0.
static uint32_t labels_skip(struct reader *r)
{
	const uint8_t *start = r->at;
	uint8_t label;

	while ((label = read_u8(r)) != 0)
		if (label > 63 || !read_bytes(r, label))
			return 0;
	return r->failed ? 0 : (uint32_t)(r->at - start);
}

bool dns_tsig_read(
	const uint8_t *buf, uint32_t len, const struct dns_message *m, struct dns_tsig *out)
{
	struct reader r = reader_of(buf + m->tsig_type, len - m->tsig_type);
	uint16_t rdlen;

	out->at = m->tsig;
	read_be16(&r); // the type
	if (read_be16(&r) != DNS_CLASS_ANY || read_be32(&r) != 0)
		return false;
	rdlen = read_be16(&r);
	if (reader_left(&r) < rdlen)
		return false;
	r = reader_of(r.at, rdlen);
	out->algorithm = r.at;
	out->algorithm_len = labels_skip(&r);
	out->time = (uint64_t)read_be16(&r) << 32;
	out->time |= read_be32(&r);
	out->fudge = read_be16(&r);
	out->mac_len = read_be16(&r);
	out->mac = read_bytes(&r, out->mac_len);
	out->id = read_be16(&r);
	out->error = read_be16(&r);
	out->other_len = read_be16(&r);
	out->other = read_bytes(&r, out->other_len);
	return out->algorithm_len && !r.failed && reader_left(&r) == 0;
}

bool dns_tsig_is_of(
	const uint8_t *buf, uint32_t len, const struct dns_tsig *t, const struct dns_tsig_key *key)
{
	const struct dns_tsig_algorithm *a = key->algorithm;
	uint8_t name[DNS_NAME_MAX];

	if (t->algorithm_len != a->wire_len || !dns_names_equal(t->algorithm, a->wire, a->wire_len))
		return false;
	if (len - t->at >= key->name_len && memcmp(buf + t->at, key->vars, key->name_len) == 0)
		return true;
	return dns_name_read(buf, len, t->at, name) == key->name_len &&
	       memcmp(name, key->vars, key->name_len) == 0;
}

// Hash the message as it was signed: without the record, and with its original ID.
static void hash_message(struct dns_tsig_signer *s, enum dns_tsig_form form, const uint8_t *buf,
	const struct dns_tsig *t)
{
	uint8_t part[DNS_TSIG_VARS_MAX];

	memcpy(part, buf, DNS_HEADER_LEN);
	bytes_put_be16(part, t->id);
	bytes_put_be16(part + 10, (uint16_t)(bytes_be16(buf + 10) - 1));
	hash(s, part, DNS_HEADER_LEN);
	hash(s, buf + DNS_HEADER_LEN, t->at - DNS_HEADER_LEN);
	hash(s, part, vars_write(s->key, t, form, part));
}

bool dns_tsig_verify(struct dns_tsig_signer *s, enum dns_tsig_form form,
	const struct dns_tsig_prior *prior, const uint8_t *buf, const struct dns_tsig *t)
{
	uint8_t mac[DNS_TSIG_MAC_MAX];
	uint32_t whole = s->key->algorithm->hmac->digest_size;

	if (t->mac_len > whole || t->mac_len < MAC_LEAST || t->mac_len < whole / 2 ||
		t->other_len > DNS_TSIG_OTHER_MAX)
		return false;
	hash_prior(s, prior);
	hash_message(s, form, buf, t);
	hash_end(s, mac);
	return memcmp(mac, t->mac, t->mac_len) == 0;
}

void dns_tsig_chain_begin(struct dns_tsig_chain *c, const struct dns_tsig_signer *signer,
	const struct dns_tsig_prior *request)
{
	c->signer = *signer;
	c->prior = *request;
	c->form = DNS_TSIG_WHOLE;
	c->unsigned_count = 0;
	c->begun = false;
}

uint32_t dns_tsig_chain_sign(struct dns_tsig_chain *c, const struct dns_tsig *say, uint8_t *buf,
	uint32_t len, uint32_t room)
{
	struct dns_tsig_prior mac = {{0}};

	if (!c->begun)
		hash_prior(&c->signer, &c->prior);
	c->begun = true;
	if (!say) {
		hash(&c->signer, buf, len);
		c->unsigned_count++;
		return len;
	}
	len = dns_tsig_sign(&c->signer, say, c->form, &mac, buf, len, room);
	c->prior = mac;
	c->form = DNS_TSIG_TIMERS;
	c->unsigned_count = 0;
	c->begun = false;
	return len;
}

enum dns_tsig_link dns_tsig_chain_next(struct dns_tsig_chain *c, const uint8_t *buf, uint32_t len,
	const struct dns_message *m, struct dns_tsig *say)
{
	static const struct dns_tsig_prior none;

	if (!c->begun)
		hash_prior(&c->signer, &c->prior);
	c->begun = true;
	if (!m->tsig) {
		hash(&c->signer, buf, len);
		return c->form == DNS_TSIG_TIMERS && c->unsigned_count++ < UNSIGNED
		               ? DNS_TSIG_UNSIGNED
		               : DNS_TSIG_WRONG;
	}
	if (!dns_tsig_read(buf, len, m, say) || !dns_tsig_is_of(buf, len, say, c->signer.key) ||
		!dns_tsig_verify(&c->signer, c->form, &none, buf, say))
		return DNS_TSIG_WRONG;
	bytes_put_be16(c->prior.len_be, say->mac_len);
	memcpy(c->prior.mac, say->mac, say->mac_len);
	c->form = DNS_TSIG_TIMERS;
	c->unsigned_count = 0;
	c->begun = false;
	return DNS_TSIG_RIGHT;
}

uint64_t dns_tsig_now(const struct proto_ctx *ctx, const struct dns_tsig_key *key)
{
	return (ctx->began_ms + ctx->now_ms) / 1000 + (uint64_t)(int64_t)key->skew;
}

static bool is_in_time(const struct dns_tsig *t, uint64_t now)
{
	return t->time + t->fudge >= now && t->time <= now + t->fudge;
}

static inline struct dns_tsig_kept *kept_place(
	const struct dns_tsig_client *c, const struct proto_txn *t)
{
	return &c->kept[(uint32_t)t->seq & c->kept_mask];
}

// The slot that holds the transfer, or may hold it. Replaces the oldest if more are in flight than
// there are slots.
static struct dns_tsig_transfer *transfer_place(struct dns_tsig_client *c, uint64_t number)
{
	struct dns_tsig_transfer *best = &c->transfers[number & (DNS_TSIG_TRANSFERS - 1)];

	for (uint64_t i = 0; i < TRANSFER_PLACES; i++) {
		struct dns_tsig_transfer *x =
			&c->transfers[(number + i) & (DNS_TSIG_TRANSFERS - 1)];

		if (x->number == number)
			return x;
		if (x->number < best->number)
			best = x;
	}
	return best;
}

void dns_tsig_end(struct dns_tsig_client *c, const struct proto_txn *t)
{
	uint64_t *number =
		c->transfers ? &transfer_place(c, t->seq + 1)->number : &kept_place(c, t)->number;

	if (*number == t->seq + 1)
		*number = 0;
}

// A rebuilt request is identical, and the state of received messages is kept.
static uint32_t transfer_request(struct dns_tsig_client *c, const struct proto_ctx *ctx,
	const struct proto_txn *t, uint8_t *buf, uint32_t len, uint32_t room)
{
	const struct dns_tsig_key *key = c->signer.key;
	struct dns_tsig_transfer *x = transfer_place(c, t->seq + 1);
	bool again = x->number == t->seq + 1;
	const struct dns_tsig say = {
		.fudge = key->fudge, .time = again ? x->time : dns_tsig_now(ctx, key)};
	struct dns_tsig_prior mac = {{0}};

	len = dns_tsig_sign(&c->signer, &say, DNS_TSIG_WHOLE, &mac, buf, len, room);
	if (again)
		return len;
	x->number = t->seq + 1;
	x->time = say.time;
	dns_tsig_chain_begin(&x->chain, &c->signer, &mac);
	return len;
}

uint32_t dns_tsig_request(struct dns_tsig_client *c, const struct proto_ctx *ctx,
	struct proto_txn *t, uint8_t *buf, uint32_t len, uint32_t room)
{
	const struct dns_tsig_key *key = c->signer.key;
	struct dns_tsig_kept *kept = kept_place(c, t);
	struct dns_tsig_prior again, *mac = kept->number == t->seq + 1 ? &again : &kept->mac;
	uint32_t now = (uint32_t)dns_tsig_now(ctx, key);
	struct dns_tsig say = {.fudge = key->fudge};

	if (c->transfers)
		return transfer_request(c, ctx, t, buf, len, room);
	if (t->user - now + 1 > 2)
		t->user = now;
	say.time = t->user;
	kept->number = t->seq + 1;
	bytes_put_be16(mac->len_be, 0);
	return dns_tsig_sign(&c->signer, &say, DNS_TSIG_WHOLE, mac, buf, len, room);
}

const struct dns_tsig_prior *dns_tsig_request_mac(
	const struct dns_tsig_client *c, const struct proto_txn *t)
{
	const struct dns_tsig_kept *kept = kept_place(c, t);

	return kept->number == t->seq + 1 ? &kept->mac : NULL;
}

void dns_tsig_request_again(struct dns_tsig_client *c, const struct proto_txn *t, uint32_t len)
{
	const struct dns_tsig say = {.fudge = c->signer.key->fudge, .time = t->user};
	struct dns_tsig_kept *kept = kept_place(c, t);

	kept->number = t->seq + 1;
	bytes_put_be16(kept->mac.len_be, 0);
	dns_tsig_sign(
		&c->signer, &say, DNS_TSIG_WHOLE, &kept->mac, c->scratch, len, c->scratch_len);
}

static uint32_t error_bucket(uint16_t error)
{
	static const uint8_t errors[DNS_TSIG_ERRORS - 1] = {
		DNS_BADSIG, DNS_BADKEY, DNS_BADTIME, DNS_BADTRUNC};
	uint32_t i = 0;

	while (i < DNS_TSIG_ERRORS - 1 && errors[i] != error)
		i++;
	return i;
}

// RFC 8945 section 5.3.2: a server that cannot verify or read the request cannot sign.
static enum proto_verdict unsigned_reply(struct dns_counters *n, const uint8_t *buf)
{
	uint8_t rcode = buf[3] & DNS_RCODE;

	if (rcode == DNS_FORMERR || rcode == DNS_NOTIMP || rcode == DNS_REFUSED) {
		n->tsig_unsigned_errors++;
		return PROTO_DONE;
	}
	n->tsig_unsigned++;
	return PROTO_FAIL;
}

// Verdict on a reply with a TSIG record.
static enum proto_verdict signed_reply(
	struct dns_counters *n, const struct dns_tsig *t, uint64_t now, bool verified)
{
	if (t->error) {
		n->tsig_error[error_bucket(t->error)]++;
		return PROTO_FAIL;
	}
	if (!is_in_time(t, now)) {
		n->tsig_time++;
		return PROTO_FAIL;
	}
	n->tsig_verified += verified;
	return PROTO_DONE;
}

enum proto_verdict dns_tsig_reply(struct dns_tsig_client *c, const struct proto_ctx *ctx,
	const struct dns_tsig_prior *request, const uint8_t *buf, uint32_t len,
	const struct dns_message *m)
{
	const struct dns_tsig_key *key = c->signer.key;
	struct dns_counters *n = ctx->counters;
	struct dns_tsig t;

	if (!m->tsig)
		return unsigned_reply(n, buf);
	if (!dns_tsig_read(buf, len, m, &t)) {
		n->tsig_malformed++;
		return PROTO_MALFORMED;
	}
	if (t.mac_len == 0 && (t.error == DNS_BADKEY || t.error == DNS_BADSIG) &&
		(buf[3] & DNS_RCODE) == DNS_NOTAUTH) {
		n->tsig_error[error_bucket(t.error)]++;
		return PROTO_FAIL;
	}
	if (t.mac_len == 0)
		return unsigned_reply(n, buf);
	if (!dns_tsig_is_of(buf, len, &t, key) ||
		(request && !dns_tsig_verify(&c->signer, DNS_TSIG_WHOLE, request, buf, &t))) {
		n->tsig_mac_bad++;
		return PROTO_STRAY;
	}
	return signed_reply(n, &t, dns_tsig_now(ctx, key), request != NULL);
}

enum proto_verdict dns_tsig_transfer_reply(struct dns_tsig_client *c, const struct proto_ctx *ctx,
	const struct proto_txn *t, const uint8_t *buf, uint32_t len, const struct dns_message *m)
{
	struct dns_tsig_transfer *x = transfer_place(c, t->seq + 1);
	struct dns_counters *n = ctx->counters;
	struct dns_tsig say = {.mac_len = 0};

	// The transfer is refused before it begins.
	if (t->tries == 0 && (!m->tsig || !dns_tsig_read(buf, len, m, &say) || say.mac_len == 0))
		return dns_tsig_reply(c, ctx, NULL, buf, len, m);
	if (x->number != t->seq + 1) {
		n->tsig_chain_forgotten++;
		return PROTO_FAIL;
	}
	switch (dns_tsig_chain_next(&x->chain, buf, len, m, &say)) {
	case DNS_TSIG_RIGHT:
		return signed_reply(n, &say, dns_tsig_now(ctx, c->signer.key), true);
	case DNS_TSIG_UNSIGNED:
		return PROTO_DONE;
	case DNS_TSIG_WRONG:
		break;
	}
	if (m->tsig)
		n->tsig_chain_bad++;
	else
		n->tsig_chain_unsigned++;
	return PROTO_FAIL;
}

// A truncated MAC is refused by policy, even if correct (RFC 8945 section 5.2.4).
static uint16_t request_error(struct dns_tsig_signer *s, const struct dns_tsig *t,
	const uint8_t *buf, uint32_t len, uint64_t now)
{
	static const struct dns_tsig_prior none;

	if (!s || !dns_tsig_is_of(buf, len, t, s->key))
		return DNS_BADKEY;
	if (!dns_tsig_verify(s, DNS_TSIG_WHOLE, &none, buf, t))
		return DNS_BADSIG;
	if (!is_in_time(t, now))
		return DNS_BADTIME;
	return t->mac_len < s->key->algorithm->hmac->digest_size ? DNS_BADTRUNC : 0;
}

bool dns_tsig_accept(struct dns_tsig_server *server, const struct proto_ctx *ctx,
	const uint8_t *buf, uint32_t len, const struct dns_message *m,
	struct dns_tsig_session *session)
{
	struct dns_answer_counters *n = ctx->counters;
	uint64_t now = (ctx->began_ms + ctx->now_ms) / 1000;
	struct dns_tsig *say = &session->say;
	struct dns_tsig t;

	session->signer = NULL;
	session->name_len = dns_name_read(buf, len, m->tsig, session->name);
	if (session->name_len == 0 || !dns_tsig_read(buf, len, m, &t) ||
		t.mac_len > DNS_TSIG_MAC_MAX)
		return false;
	for (uint32_t i = 0; i < server->count && !session->signer; i++) {
		const struct dns_tsig_key *key = server->signers[i].key;

		if (key->name_len == session->name_len &&
			memcmp(key->vars, session->name, key->name_len) == 0)
			session->signer = &server->signers[i];
	}
	*say = (struct dns_tsig){.time = t.time,
		.fudge = t.fudge,
		.algorithm = t.algorithm,
		.algorithm_len = t.algorithm_len,
		.error = request_error(session->signer, &t, buf, len, now),
		.other = session->other};
	bytes_put_be16(session->prior.len_be, t.mac_len);
	memcpy(session->prior.mac, t.mac, t.mac_len);
	if (say->error == DNS_BADKEY || say->error == DNS_BADSIG) {
		session->signer = NULL;
		session->len = session->name_len + TYPE_TO_LEN + t.algorithm_len + 16;
	} else {
		session->len = dns_tsig_record_len(session->signer->key);
		if (say->error == DNS_BADTIME) {
			say->other_len = DNS_TSIG_OTHER_MAX;
			bytes_put_be16(session->other, (uint16_t)(now >> 32));
			bytes_put_be32(session->other + 2, (uint32_t)now);
			session->len += DNS_TSIG_OTHER_MAX;
		} else {
			say->time = dns_tsig_now(ctx, session->signer->key);
			say->fudge = session->signer->key->fudge;
		}
	}
	if (say->error)
		n->tsig_refused[error_bucket(say->error)]++;
	else
		n->tsig_verified++;
	return true;
}

uint32_t dns_tsig_answer(
	struct dns_tsig_session *session, uint8_t *buf, uint32_t len, uint32_t room)
{
	if (len == 0 || room < len || room - len < session->len)
		return 0;
	if (session->signer)
		return dns_tsig_sign(session->signer, &session->say, DNS_TSIG_WHOLE,
			&session->prior, buf, len, room);
	session->say.mac = session->other; // empty
	return record_write(session->name, session->name_len, &session->say, buf, len);
}
