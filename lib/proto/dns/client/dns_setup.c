// SPDX-License-Identifier: BSD-3-Clause
// From settings to the plan of the DNS functions: cross-field checks, queries, templates of header
// and OPT, cookies per worker. The responder's part is in dns_answers.c. Path: cold. Management
// thread.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "crypt/tls_settings.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "net/csum.h"
#include "proto/dns/client/dns_internal.h"
#include "proto/dns/client/dns_patterns.h"
#include "proto/dns/client/dns_tsig.h"
#include "proto/dns/client/dns_updates.h"
#include "proto/dns/client/dns_wire_file.h"
#include "proto/dns/client/dns_wrong_wire.h"
#include "proto/dns/client/dns_zipf.h"

#define PLAIN_SIZE   512 // of replies without EDNS
#define DEFAULT_SIZE 1232
#define ROUNDING     1e-9 // for a sum of decimal fractions
// NSID, ZONEVERSION, keepalive, client subnet of IPv6 and client cookie: options that this file can
// add to the user's.
#define OWN_OPTIONS (4 + 4 + 4 + 4 + 4 + 16 + 4 + DNS_COOKIE_CLIENT_LEN)

uint32_t dns_client_subnet_bits(const struct dns_edns_settings *s)
{
	uint32_t usual = s->client_subnet.addr.len == 4 ? 24 : 56;

	if (s->client_subnet_bits != UINT64_MAX)
		return (uint32_t)s->client_subnet_bits;
	return usual > s->client_subnet.bits ? usual : s->client_subnet.bits;
}

static struct field_bytes option_data(const struct dns_option_settings *s)
{
	return s->text ? (struct field_bytes){(const uint8_t *)s->text, (uint32_t)strlen(s->text)}
	               : s->hex;
}

static void check_data(const struct dns_option_settings *s, struct diag *d)
{
	if (s->text && s->hex.data)
		diag_error(d, &s->text, "text", "conflicts with hex (remove one of the two)");
}

static void check_edns(const struct dns_edns_settings *s, struct diag *d)
{
	const struct dns_option_settings *options = s->options.items;
	const struct addr_prefix *subnet = &s->client_subnet;
	uint32_t total = OWN_OPTIONS;
	uint32_t bits = dns_client_subnet_bits(s);

	for (uint32_t i = 0; i < s->options.count; i++) {
		struct field_bytes data = option_data(&options[i]);

		check_data(&options[i], d);
		total += 4 + data.len;
		if (data.len > DNS_OPTIONS_MAX || total > DNS_OPTIONS_MAX) {
			diag_error(d, &options[i], options[i].text ? "text" : "hex",
				"too long (up to %u bytes of options, headers included)",
				DNS_OPTIONS_MAX - OWN_OPTIONS);
			break;
		}
	}
	if (s->client_subnet_bits == UINT64_MAX)
		return;
	if (subnet->addr.len == 0)
		diag_error(d, &s->client_subnet_bits, NULL, "needs client_subnet");
	else if (bits < subnet->bits || bits > subnet->addr.len * 8u)
		diag_error(d, &s->client_subnet_bits, NULL,
			"%u bits do not fit client_subnet (%u to %u)", bits, subnet->bits,
			subnet->addr.len * 8u);
}

// RFC 7828 section 3.2.1: the option requires a connection.
static bool dns_keepalive(const struct dns_settings *s)
{
	return s->transport.transport != TRANSPORT_UDP && s->transport.tcp &&
	       s->transport.tcp->keepalive;
}

// kind: name of the whole messages.
static void check_whole(const struct dns_settings *s, const char *kind, struct diag *d)
{
	if (s->opcode != DNS_QUERY)
		diag_error(d, &s->opcode, NULL, "%s have an opcode (remove it)", kind);
	if (s->case_0x20)
		diag_error(d, &s->case_0x20, NULL, "is for queries (remove it)");
}

// Messages from a file are sent unchanged.
static void check_wire(const struct dns_settings *s, struct diag *d)
{
	check_whole(s, "the messages of wire", d);
	if (s->edns || s->cookies != DNS_COOKIES_NONE || dns_keepalive(s))
		diag_error(d, &s->wire, NULL,
			"its messages are sent unchanged (remove edns, cookies, keepalive)");
}

static void check_captured(const struct dns_settings *s, struct diag *d)
{
	const struct field_list *captured = &s->expect->captured;
	const int32_t *parts = captured->items;
	uint32_t all = 0;

	for (uint32_t i = 0; i < captured->count; i++)
		all |= 1u << parts[i];
	if (all && !s->wire)
		diag_error(d, captured, NULL, "needs a capture with answers (wire)");
	if (all >> DNS_COMPARED_TTL & 1 && !(all & DNS_COMPARED_SECTIONS))
		diag_error(d, captured, NULL,
			"ttl alone compares nothing (add answer, authority or additional)");
}

static void check_transfers(const struct dns_settings *s, struct diag *d)
{
	check_whole(s, "transfers", d);
	if (s->transport.transport == TRANSPORT_UDP || s->transport.transport >= TRANSPORT_HTTPS)
		diag_error(d, &s->transfers, NULL, "need transport: tcp or tls");
	if (s->transport.tls && s->transport.tls->early)
		diag_error(d, &s->transport.tls->early, NULL,
			"is not for transfers: early data can be replayed");
	if (s->cookies == DNS_COOKIES_FULL)
		diag_error(d, &s->cookies, NULL,
			"full beside transfers: none is asked for twice (use client or none)");
}

static void check_updates(const struct dns_settings *s, struct diag *d)
{
	check_whole(s, "updates", d);
	if (s->update_run > 1 && s->order != DNS_SEQUENTIAL)
		diag_error(d, &s->update_run, NULL, "needs order: sequential");
}

// Total share of the first kinds.
static double wrong_share(const struct dns_wrong_settings *s, uint32_t kinds)
{
	double sum = 0;

	for (uint32_t i = 0; i < kinds; i++)
		sum += s->shares[i];
	return sum;
}

static void build_wrong(struct dns_plan *p, const struct dns_wrong_settings *s)
{
	for (uint32_t i = 0; i < DNS_WRONG_COUNT; i++)
		p->wrong_below[i] = (uint64_t)(wrong_share(s, i + 1) * 0x1p32 + 0.5);
	p->wrong = p->wrong_below[DNS_WRONG_COUNT - 1] > 0;
}

static void check_proxy(const struct dns_settings *of, struct diag *d)
{
	const struct dns_proxy_settings *s = of->proxy;
	const struct dns_option_settings *tlvs = s->tlvs.items;

	if (!s->local && s->clients.first.len == 0)
		diag_error(d, s, NULL, "needs clients (like 192.0.2.0/24), or local: true");
	if (of->transport.transport == TRANSPORT_QUIC)
		diag_error(d, s, NULL, "is not for transport: quic");
	if (s->place == DNS_PROXY_OUTSIDE && of->transport.transport != TRANSPORT_TLS)
		diag_error(d, &s->place, NULL, "outside is for transport: tls");
	if (s->local && s->clients.first.len)
		diag_error(d, &s->local, NULL, "conflicts with clients (remove one of the two)");
	for (uint32_t i = 0; i < s->tlvs.count; i++)
		check_data(&tlvs[i], d);
}

void dns_check(const void *settings, const struct proto_env *env, struct diag *d)
{
	const struct dns_settings *s = settings;
	int lists = (s->queries != NULL) + (s->names.count > 0) + (s->wire != NULL) +
	            (s->transfers.count > 0) + (s->updates != NULL) + (s->update.count > 0);

	if (lists == 0)
		diag_error(d, s, "",
			"no queries (set queries: FILE, or names: [\"www.example.com A\"])");
	if (lists > 1)
		diag_error(d, s, "",
			"more than one of queries, names, wire, transfers, updates and update "
			"(remove the others)");
	if (s->transfers.count > 0)
		check_transfers(s, d);
	if (s->wire)
		check_wire(s, d);
	if (s->updates || s->update.count > 0)
		check_updates(s, d);
	if (s->expect)
		check_captured(s, d);
	if (s->edns)
		check_edns(s->edns, d);
	if (s->proxy)
		check_proxy(s, d);
	if (s->wrong && wrong_share(s->wrong, DNS_WRONG_COUNT) > 1 + ROUNDING)
		diag_error(d, s, "wrong", "more than 100%% of the messages");
	if (s->wrong && s->wrong->shares[DNS_WRONG_TSIG_MAC] > 0 && !s->key)
		diag_error(d, &s->wrong->shares[DNS_WRONG_TSIG_MAC], NULL, "needs key");
	transport_check(&s->transport, d);
	if (s->transport.tls)
		tls_check(s->transport.tls, d);
	if (s->transport.tls && s->transport.transport == TRANSPORT_QUIC)
		tls_check_quic(s->transport.tls, d);
}

// The network to send: the configured prefix is fixed, the following bits are drawn per query.
static void build_subnet(struct dns_plan *p, const struct addr_prefix *subnet, uint32_t bits)
{
	uint8_t base[16] = {0}, mask[16] = {0};

	for (uint32_t i = 0; i < bits; i++) {
		uint8_t bit = 0x80 >> (i & 7);

		if (i < subnet->bits)
			base[i / 8] |= subnet->addr.bytes[i / 8] & bit;
		else
			mask[i / 8] |= bit;
	}
	memcpy(p->subnet_base, base, sizeof(base));
	memcpy(p->subnet_mask, mask, sizeof(mask));
	p->subnet_len = (uint8_t)((bits + 7) / 8);
}

// RFC 7871 section 6: family, source prefix length, scope 0, and the octets covered by the prefix.
static void write_subnet(struct dns_plan *p, struct writer *w, const struct dns_edns_settings *s)
{
	uint32_t bits = dns_client_subnet_bits(s);

	build_subnet(p, &s->client_subnet, bits);
	write_be16(w, DNS_CLIENT_SUBNET);
	write_be16(w, 4 + p->subnet_len);
	p->opt.subnet_at = (uint16_t)(w->at - p->opt.bytes);
	write_be16(w, s->client_subnet.addr.len == 4 ? 1 : 2);
	write_u8(w, (uint8_t)bits);
	write_u8(w, 0);
	write_bytes(w, p->subnet_base, p->subnet_len);
}

static void write_options(struct dns_plan *p, struct writer *w, const struct dns_edns_settings *s)
{
	const struct dns_option_settings *options = s->options.items;

	if (s->client_subnet.addr.len)
		write_subnet(p, w, s);
	if (s->nsid) {
		write_be16(w, DNS_NSID);
		write_be16(w, 0);
	}
	if (s->zoneversion) {
		write_be16(w, DNS_ZONEVERSION);
		write_be16(w, 0);
	}
	if (p->keepalive) {
		write_be16(w, DNS_KEEPALIVE);
		write_be16(w, 0);
	}
	for (uint32_t i = 0; i < s->options.count; i++) {
		struct field_bytes data = option_data(&options[i]);

		write_be16(w, (uint16_t)options[i].code);
		write_be16(w, (uint16_t)data.len);
		if (data.len)
			write_bytes(w, data.data, data.len);
	}
	if (p->cookies == DNS_COOKIES_NONE)
		return;
	write_be16(w, DNS_COOKIE); // last: the server cookie is appended to it
	write_be16(w, DNS_COOKIE_CLIENT_LEN);
	p->opt.cookie_at = (uint16_t)(w->at - p->opt.bytes);
	write_space(w, DNS_COOKIE_CLIENT_LEN);
}

// RFC 6891 section 6.1.2.
static void build_opt(struct dns_plan *p, const struct dns_edns_settings *s)
{
	struct dns_opt *opt = &p->opt;
	struct writer w = writer_of(opt->bytes, sizeof(opt->bytes));

	write_u8(&w, 0);
	write_be16(&w, DNS_OPT);
	write_be16(&w, (uint16_t)s->size);
	write_u8(&w, 0); // upper bits of the RCODE
	write_u8(&w, (uint8_t)s->version);
	write_be16(&w, s->dnssec_ok ? DNS_DO : 0);
	write_be16(&w, 0); // RDLENGTH, below
	write_options(p, &w, s);
	opt->len = (uint16_t)(w.at - opt->bytes);
	bytes_put_be16(
		opt->bytes + DNS_OPT_HEADER_LEN - 2, (uint16_t)(opt->len - DNS_OPT_HEADER_LEN));
	p->max_own_reply = (uint16_t)s->size;
	if (s->padding)
		recip_init(&p->padding, s->padding);
}

// Maximum length of a message without its OPT record. Over UDP, the server's limit is unknown: 512
// bytes, or with EDNS our own size, as in dnsperf.
static uint32_t updates_limit(
	const struct dns_plan *p, const struct dns_settings *s, bool every_opt)
{
	bool stream = s->transport.transport != TRANSPORT_UDP;
	uint32_t most = stream ? UINT16_MAX : s->edns ? (uint32_t)s->edns->size : PLAIN_SIZE;

	if (!every_opt)
		return most;
	return most - p->opt.len - (p->cookies == DNS_COOKIES_FULL ? DNS_COOKIE_SERVER_MAX : 0u);
}

static int load_wire(struct dns_plan *p, const struct dns_settings *s, const struct proto_env *env,
	struct arena *a, struct diag *d)
{
	const char *path = diag_path(d, &s->wire, a);
	bool own_port = s->wire_port && s->wire_port != UINT64_MAX;
	const struct dns_wire_form form = {.ports = {own_port ? (uint16_t)s->wire_port : DNS_PORT,
						   own_port ? 0 : env->captured_port},
		.stream = s->transport.transport != TRANSPORT_UDP,
		.times = env->times_of && strcmp(path, env->times_of) == 0};

	return dns_queries_load_wire(
		&p->queries, p->referee.parts ? &p->referee : NULL, &form, path, &s->wire, a, d);
}

static int load_queries(struct dns_plan *p, const struct dns_settings *s, bool every_opt,
	const struct proto_env *env, struct diag *d)
{
	static const uint16_t classes[] = {1, 3, 4, 255}; // of the setting
	static const struct dns_skip skip = {0};
	const struct dns_form form = {.class = classes[s->class],
		.transfers = s->transfers.count > 0,
		.two_words = s->extra_words == DNS_WORDS_IGNORED,
		.skip = s->bad_lines == DNS_BAD_LINES_SKIP ? &skip : NULL,
		.every_opt = every_opt,
		.opt = &p->opt};
	uint32_t limit = updates_limit(p, s, every_opt);
	struct arena *a;
	int ret;

	if (s->update.count > 0)
		return dns_updates_load_texts(&p->queries, limit, &s->update, d);
	if (s->names.count > 0 || form.transfers)
		return dns_queries_load_names(
			&p->queries, &form, form.transfers ? &s->transfers : &s->names, d);
	a = arena_new();
	if (s->updates)
		ret = dns_updates_load_file(&p->queries, limit, form.skip,
			diag_path(d, &s->updates, a), &s->updates, d);
	else if (s->wire)
		ret = load_wire(p, s, env, a, d);
	else
		ret = dns_queries_load_file(
			&p->queries, &form, diag_path(d, &s->queries, a), &s->queries, d);
	arena_free(a);
	return ret;
}

static bool build_tlvs(struct dns_proxy *p, const struct dns_proxy_settings *s, struct diag *d)
{
	const struct dns_option_settings *tlvs = s->tlvs.items;
	struct writer w = writer_of(p->tlvs, sizeof(p->tlvs));

	for (uint32_t i = 0; i < s->tlvs.count; i++) {
		struct field_bytes data = option_data(&tlvs[i]);

		write_u8(&w, (uint8_t)tlvs[i].code);
		write_be16(&w, (uint16_t)data.len);
		if (data.len)
			write_bytes(&w, data.data, data.len);
	}
	if (w.failed)
		diag_error(d, &s->tlvs, NULL, "more than %u bytes", DNS_PROXY_TLVS);
	p->tlvs_len = (uint16_t)(w.at - p->tlvs);
	p->len = DNS_PROXY_HEAD + p->tlvs_len;
	return !w.failed;
}

static bool build_proxy(struct dns_plan *p, const struct dns_proxy_settings *s,
	const struct proto_env *env, struct diag *d)
{
	if (!s)
		return true;
	if (!build_tlvs(&p->proxy, s, d))
		return false;
	if (s->local)
		return true;
	p->proxy.server = s->server.len ? s->server : env->server;
	p->proxy.server_port = env->server_port;
	p->proxy.clients = s->clients;
	if (s->clients.first.len != p->proxy.server.len) {
		diag_error(d, &s->server, NULL,
			"not of the family of clients (set it to an address of that family)");
		return false;
	}
	recip_init(&p->proxy.count, s->clients.count);
	p->proxy.len += (uint16_t)(2 * (s->clients.first.len + 2));
	return true;
}

static void build_header(struct dns_plan *p, const struct dns_settings *s)
{
	p->header[2] = (uint8_t)(s->opcode << 3);
	if (s->opcode == DNS_QUERY)
		p->header[2] |= s->rd ? DNS_RD : 0;
	else if (s->opcode == DNS_NOTIFY)
		p->header[2] |= DNS_AA;
	p->header[3] = (s->ad ? DNS_AD : 0) | (s->cd ? DNS_CD : 0);
	p->header[5] = 1;               // QDCOUNT
	p->header[11] = p->opt.len > 0; // ARCOUNT
}

// An odd offset swaps the bytes of a sum.
static void build_sums(struct dns_plan *p)
{
	uint64_t header = csum_add(0, p->header, DNS_HEADER_LEN);
	uint16_t opt = csum_16(csum_add(0, p->opt.bytes, p->opt.len));

	p->plain = !p->tsig && !p->varies && !p->opt.subnet_at && !p->opt.cookie_at &&
	           !p->queries.whole && !p->padding.divisor && !p->wrong;
	p->fixed = p->plain && !p->proxy.len;
	p->plain =
		p->plain && p->expected_rcodes >> DNS_NOERROR & 1 && !(p->header[2] & DNS_OPCODE);
	p->own_sum = (uint32_t)header + csum_be16(p->opt.len == 0); // ARCOUNT 1
	p->sums[0] = (uint32_t)header + opt;
	p->sums[1] = (uint32_t)header + (uint16_t)(opt << 8 | opt >> 8);
}

static void build_expect(struct dns_plan *p, const struct dns_expect_settings *s)
{
	const int32_t *rcodes = s ? s->rcode.items : NULL;
	const int32_t *parts = s ? s->captured.items : NULL;

	p->expected_rcodes = s && s->rcode.count > 0 ? 0
	                     : p->transfers          ? 1u << DNS_NOERROR
	                                             : UINT32_MAX;
	if (!s)
		return;
	p->min_answers = (uint32_t)s->min_answers;
	for (uint32_t i = 0; i < s->rcode.count; i++)
		p->expected_rcodes |= 1u << rcodes[i];
	for (uint32_t i = 0; i < s->captured.count; i++)
		p->referee.parts |= 1u << parts[i];
}

// A run is a multiple of the workers, so that all messages with one random name come from one
// worker, in order.
static int build_order(
	struct dns_plan *p, const struct dns_settings *s, const struct proto_env *env)
{
	uint64_t run = s->update_run ? s->update_run : 1, seed = env->seed;

	if (run > 1)
		run = (run + env->workers - 1) / env->workers * env->workers;
	recip_init(&p->count, p->queries.count);
	recip_init(&p->run, run);
	recip_init(&p->round, run * p->queries.count);
	for (uint32_t i = 1; i <= DNS_RANDOM_UNIQUE; i++)
		if (p->queries.random_lens >> i & 1)
			perm_init(&p->unique[i], rand_hash(seed + i), 5 * i);
	if (p->order != DNS_ZIPF)
		return 0;
	p->alias = dns_zipf_build(p->queries.count, s->zipf_exponent);
	return p->alias ? 0 : -ENOMEM;
}

// Are there opcodes other than QUERY?
static bool any_changes(const struct dns_plan *p)
{
	const struct dns_queries *q = &p->queries;
	bool any = p->header[2] & DNS_OPCODE;

	for (uint32_t i = 0; q->whole && i < q->count && !any; i++)
		any = q->offsets[i + 1] - q->offsets[i] > sizeof(struct dns_whole) &&
		      q->blob[q->offsets[i] + sizeof(struct dns_whole)] & DNS_OPCODE;
	return any;
}

static uint32_t entry_len(const struct dns_plan *p, uint32_t i)
{
	const uint8_t *entry = p->queries.blob + p->queries.offsets[i];
	uint32_t all = p->queries.offsets[i + 1] - p->queries.offsets[i];
	uint16_t question;

	if (p->queries.whole)
		return all - (uint32_t)sizeof(struct dns_whole) + 2 + p->opt.len;
	memcpy(&question, entry + 4, sizeof(question));
	all -= DNS_ENTRY_HEAD;
	return DNS_HEADER_LEN + all + (all == question ? p->opt.len : 0);
}

// Excludes the signature record.
static uint32_t longest_message(const struct dns_plan *p)
{
	uint32_t longest = 0;

	for (uint32_t i = 0; i < p->queries.count; i++) {
		uint32_t len = entry_len(p, i);

		longest = len > longest ? len : longest;
	}
	return longest + (p->cookies == DNS_COOKIES_FULL ? DNS_COOKIE_SERVER_MAX : 0) +
	       (p->padding.divisor ? DNS_OPTION_HEAD + (uint32_t)p->padding.divisor - 1 : 0) +
	       (p->wrong ? DNS_WRONG_MORE : 0) + p->proxy.len;
}

static int load_key(struct dns_plan *p, const struct dns_settings *s, struct diag *d)
{
	const struct field_list one = {s->key, 1};

	if (s->key)
		p->tsig = dns_tsig_keys_load(&one, d);
	return s->key && !p->tsig ? -EINVAL : 0;
}

void *dns_setup(const void *settings, const struct proto_env *env, struct proto_facts *facts,
	struct diag *d)
{
	const struct dns_settings *s = settings;
	// Default for cookies, and for lines that need an OPT record, without `edns`.
	static const struct dns_edns_settings edns_default = {.size = DEFAULT_SIZE};
	bool keepalive = dns_keepalive(s);
	bool every_opt = s->edns || s->cookies != DNS_COOKIES_NONE || keepalive;
	struct dns_plan *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->role = DNS_ASKS;
	p->order = (enum dns_order)s->order;
	p->cookies = (enum dns_cookies)s->cookies;
	p->case_0x20 = s->case_0x20;
	p->tc_to_stream = s->transport.tc == TRANSPORT_TC_TCP;
	p->keepalive = keepalive;
	p->transfers = s->transfers.count > 0;
	build_opt(p, s->edns ? s->edns : &edns_default);
	p->referee.seed = env->seed;
	build_expect(p, s->expect);
	if (!build_proxy(p, s->proxy, env, d) || load_key(p, s, d) < 0 ||
		load_queries(p, s, every_opt, env, d) < 0 || build_order(p, s, env) < 0) {
		dns_teardown(p);
		return NULL;
	}
	if (!every_opt)
		p->opt = (struct dns_opt){0};
	p->max_reply = every_opt ? p->max_own_reply : PLAIN_SIZE;
	build_header(p, s);
	if (s->wrong)
		build_wrong(p, s->wrong);
	p->varies = p->case_0x20 || p->queries.random_lens;
	build_sums(p);
	facts->longest = longest_message(p) + (p->tsig ? dns_tsig_record_len(p->tsig) : 0);
	facts->harmless = !any_changes(p);
	facts->preface_outside = s->proxy && s->proxy->place == DNS_PROXY_OUTSIDE;
	facts->input = p->queries.used;
	facts->times = &p->queries.times;
	return p;
}

void dns_teardown(void *shared)
{
	struct dns_plan *p = shared;

	if (!p)
		return;
	dns_queries_free(&p->queries);
	dns_tsig_keys_free(p->tsig, 1);
	free(p->alias);
	free(p->referee.answers);
	free(p);
}

int dns_open(struct proto_ctx *ctx, const struct proto_env *env)
{
	const struct dns_plan *p = ctx->shared;
	struct dns_worker *w;
	uint32_t clients;

	ctx->own = NULL;
	if (p->role == DNS_ANSWERS)
		return 0;
	clients = p->cookies == DNS_COOKIES_FULL ? env->clients : 0;
	w = calloc(1, sizeof(*w) + clients * sizeof(w->cookies[0]));
	if (!w)
		return -ENOMEM;
	for (uint32_t i = 0; i < DNS_SALTS; i++)
		w->salt[i] = rand_hash(rand_hash(env->seed) + i);
	w->worker = env->worker;
	w->workers = env->workers;
	w->clients = clients;
	if (p->tsig)
		w->tsig = dns_tsig_client_new(p->tsig, longest_message(p),
			p->cookies == DNS_COOKIES_FULL ? DNS_TSIG_KEPT_FULL : DNS_TSIG_KEPT,
			p->transfers);
	if (p->tsig && !w->tsig) {
		free(w);
		return -ENOMEM;
	}
	ctx->own = w;
	return 0;
}

int dns_close(struct proto_ctx *ctx)
{
	struct dns_worker *w = ctx->own;

	if (w)
		dns_tsig_client_free(w->tsig);
	free(w);
	ctx->own = NULL;
	return 0;
}
