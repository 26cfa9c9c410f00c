// SPDX-License-Identifier: BSD-3-Clause
// Messages from anyone, one after the other, to a zone that takes updates: each answer must be a
// well-formed response, the zone must stay whole, and no memory may get lost. Input: two bytes of
// length, a message, and so on. Or, with the first byte Z, a zone file. Path: tests only.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/dns/server/dns_answer_transfer.h"
#include "proto/dns/server/dns_answers.h"
#include "base/bytes.h"
#include "base/log.h"
#include "proto/dns/client/dns_internal.h"

#define ROOM     8192
#define JOURNAL  1024
#define TRANSFER 128 // bytes of a message: a transfer has several
#define SERIAL   10
#define ZONE                                                                                       \
	"$ORIGIN z.\n$TTL 300\n@ SOA ns h 10 3600 900 604800 60\n@ NS ns\nns A 192.0.2.53\n"       \
	"a A 192.0.2.1\na A 192.0.2.2\na TXT \"x\"\nb.d MX 10 a\nc CNAME a\n*.w TXT \"w\"\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

// Every name hangs together, is not empty without a reason, and the zone has its SOA and NS
// records.
static void check_zone(const struct dns_zones *z)
{
	uint32_t nodes = 0, children = 0, listed = 0;

	for (uint32_t i = 0; i <= z->mask; i++)
		for (const struct dns_zone_node *n = z->buckets[i]; n; n = n->next) {
			nodes++;
			children += n->parent != NULL;
			listed += n->children;
			require(n->records || n->children || !n->parent);
			require(dns_zone_find(z, n->name, n->len) == n);
		}
	require(nodes == z->nodes && children == listed);
	for (uint32_t i = 0; i < z->count; i++) {
		require(dns_zone_first(z->zones[i].apex, DNS_SOA) == z->zones[i].soa);
		require(z->zones[i].soa->len >= 22);
	}
}

static void check_answer(const uint8_t *query, const uint8_t *out, uint32_t n)
{
	uint32_t question = 0;
	struct dns_message m;

	require(memcmp(query, out, 2) == 0 && (out[2] & 0x80));
	if (bytes_be16(out + 4) == 1)
		question = dns_question_len(out, n);
	require(bytes_be16(out + 4) == (question > 0));
	require(dns_message_walk(out, n, DNS_HEADER_LEN + question, &m) && m.left == 0);
}

// The transfer begun by the last message but one goes on: its zone may have changed meanwhile.
static void go_on(struct proto_ctx *ctx, uint32_t *more, const uint8_t *id)
{
	static uint8_t out[65535];

	for (ctx->more = *more; ctx->more;)
		check_answer(id, out, dns_answer_more(ctx, NULL, 0, out, sizeof(out)));
	*more = 0;
}

static void ask(struct proto_ctx *ctx, const uint8_t *data, uint32_t len)
{
	static uint8_t out[65535], id[2];
	static uint32_t more;
	uint8_t *query = malloc(len + 1);
	uint32_t room = ctx->stream ? sizeof(out) : 1232, n;

	if (len == 0) { // the end: nobody wants the rest
		ctx->more = more;
		if (more)
			dns_answer_more(ctx, NULL, 0, NULL, 0);
		more = 0;
		free(query);
		return;
	}
	memcpy(query, data, len);
	ctx->more = 0;
	n = dns_answer(ctx, query, len, out, room);
	require(n <= room && (n == 0 || n >= DNS_HEADER_LEN));
	if (n)
		check_answer(query, out, n);
	if (more) {
		uint32_t then = ctx->more;

		go_on(ctx, &more, id);
		ctx->more = then;
	}
	more = ctx->more;
	if (n)
		memcpy(id, out, sizeof(id));
	free(query);
}

static void load(const uint8_t *data, size_t size)
{
	struct diag *d = diag_new();
	struct dns_zones *z = dns_zones_load_text("z", (const char *)data, size, 1, d);

	if (z)
		check_zone(z);
	dns_zones_free(z);
	diag_free(d);
}

// The zone and its server, which last until a message changes them: to read the zone and to clear
// its memory takes longer than most inputs.
static struct {
	struct dns_answers a;
	struct dns_answer_counters n;
	struct proto_ctx ctx;
	const uint8_t *at; // of the zone's memory
} server;

static void open_server(void)
{
	static const struct proto_env env = {.workers = 1};
	struct diag *d = diag_new();

	server.a = (struct dns_answers){.role = DNS_ANSWERS,
		.keepalive = UINT16_MAX,
		.zone_room = ROOM,
		.journal = JOURNAL,
		.transfer_size = TRANSFER};
	server.ctx.shared = &server.a;
	server.ctx.counters = &server.n;
	server.a.zones = dns_zones_load_text("z", ZONE, strlen(ZONE), 1, d);
	diag_free(d);
	require(server.a.zones != NULL);
	if (server.ctx.own) // its transfers have ended
		require(dns_zones_make_room(server.a.zones, ROOM, JOURNAL) == 0);
	else
		require(dns_answers_open(&server.ctx, &env) == 0);
	server.at = server.a.zones->at;
}

// Each change has a serial of its own; one that is taken back leaves memory that was used.
static bool is_changed(void)
{
	const struct dns_zones *z = server.a.zones;

	return z->at != server.at || dns_zone_serial(&z->zones[0]) != SERIAL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proto_ctx *ctx = &server.ctx;

	log_set_level(LOG_QUIET);
	if (size > 0 && data[0] == 'Z') {
		load(data + 1, size - 1);
		return 0;
	}
	if (!server.a.zones)
		open_server();
	server.n = (struct dns_answer_counters){0};
	while (size > 2) {
		uint32_t len = bytes_be16(data) & 0x7fff;

		ctx->stream = data[0] & 0x80;
		len = len < size - 2 ? len : (uint32_t)(size - 2);
		ask(ctx, data + 2, len);
		data += 2 + len;
		size -= 2 + len;
	}
	ask(ctx, data, 0);
	check_zone(server.a.zones);
	require(server.n.received == server.n.answered + server.n.ignored);
	if (is_changed()) {
		dns_zones_free(server.a.zones);
		server.a.zones = NULL;
	}
	return 0;
}
