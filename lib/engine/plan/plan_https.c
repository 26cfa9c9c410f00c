// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Management thread.
#include "engine/plan/plan_https.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core/pages.h"
#include "proto/table.h"

#define LIVE_EXTRA     1024         // connections that are being closed
#define SERVER_STREAMS 65536        // requests at a time, over all connections
#define STREAMS_EXTRA  1024         // of messages that are sent again
#define SHARES         4294967295.0 // a share of 1, as http_faults has it

// "dns.example", "192.0.2.1", "[2001:db8::1]:8443"
static const char *authority_of(const struct item_settings *i, struct arena *a)
{
	const struct item_facts *f = &i->facts;
	const char *name = f->https->authority ? f->https->authority
	                   : f->tls->name      ? f->tls->name
	                                       : i->host.name;
	bool usual = f->server_port == f->proto->ports->https || f->https->authority;
	char address[ADDR_TEXT_SIZE], port[8] = "";
	const char *open = "", *close = "";

	if (!name) {
		name = addr_format(&i->server, address, sizeof(address));
		open = i->server.len == 16 ? "[" : "";
		close = i->server.len == 16 ? "]" : "";
	}
	if (!usual)
		snprintf(port, sizeof(port), ":%u", f->server_port);
	return arena_printf(a, "%s%s%s%s", open, name, close, port);
}

const struct h2_request *plan_https_request(
	const struct item_settings *i, struct arena *a, struct diag *d)
{
	const struct https_settings *s = i->facts.https;
	const struct proto_ports *ports = i->facts.proto->ports;
	const struct h2_request_wanted wanted = {.get = s->method == HTTPS_GET,
		.authority = authority_of(i, a),
		.path = s->path ? s->path : ports->path,
		.media = ports->media,
		.headers = &s->headers};
	struct h2_request *r = arena_zalloc(a, sizeof(*r));
	const char *wrong = h2_request_build(&wanted, r);

	if (!wrong)
		return r;
	diag_error(d, i, NULL, "https: %s", wrong);
	return NULL;
}

struct https_shape plan_https_shape(
	const struct item_settings *i, uint32_t count, uint32_t seats, uint32_t slots)
{
	uint64_t live = 2ull * seats + LIVE_EXTRA;

	return (struct https_shape){.count = count,
		.live = (uint32_t)(live < count ? live : count),
		.streams = slots + STREAMS_EXTRA,
		.header_table = (uint16_t)i->facts.https->header_table};
}

static struct https *open_tables(struct conns *cs, const struct https_shape *shape)
{
	struct https *h = pages_alloc(sizeof(*h));
	void *memory = pages_alloc(https_bytes(shape));

	if (!h || !memory) {
		pages_free(h, sizeof(*h));
		pages_free(memory, https_bytes(shape));
		return NULL;
	}
	https_init(h, memory, shape);
	cs->https = h;
	return h;
}

int plan_https_open(struct conns *cs, const struct plan_item *i, const struct https_shape *shape)
{
	struct https *h = open_tables(cs, shape);

	if (!h)
		return -ENOMEM;
	h->request = i->request;
	h->media = i->settings->facts.proto->ports->media;
	h->media_len = (uint32_t)strlen(h->media);
	h->window = (uint32_t)i->settings->facts.https->window;
	return 0;
}

static uint32_t share_of(double share)
{
	return (uint32_t)(share * SHARES);
}

// Fills in the path and the parameter of requests to a server. Returns false without memory.
static bool serve_path(struct https *h, const char *path)
{
	const char *expression, *rest;
	char *text = strdup(path);

	if (!text)
		return false;
	h2_path_split(text, &expression, &rest);
	h->path = text;
	h->variable = "";
	h->path_len = (uint32_t)strlen(text);
	if (!expression)
		return true;
	h->path_len = (uint32_t)(expression - text);
	text[rest - text - 1] = '='; // in place of the brace
	h->variable = expression + 2;
	h->variable_len = (uint32_t)(rest - h->variable);
	return true;
}

int plan_https_serve(struct conns *cs, const struct plan *p, uint32_t live, uint64_t seed)
{
	const struct https_server_settings *s = p->config->responder->https;
	const struct https_shape shape = {.count = cs->count,
		.live = live + LIVE_EXTRA < cs->count ? live + LIVE_EXTRA : cs->count,
		.streams = SERVER_STREAMS,
		.header_table = (uint16_t)s->header_table,
		.server = true};
	struct https *h = open_tables(cs, &shape);
	struct h2_answer *answer = calloc(1, sizeof(*answer));
	const struct proto_ports *ports = NULL;

	for (unsigned k = 0; protos[k] && !ports; k++)
		if (p->config->responder->protocol[k] && protos[k]->ports->https)
			ports = protos[k]->ports;
	if (!h || !answer || !serve_path(h, s->path ? s->path : ports->path)) {
		free(answer);
		return -ENOMEM;
	}
	h2_answer_build(ports->media, answer);
	h->answer = answer;
	h->media = ports->media;
	h->media_len = (uint32_t)strlen(h->media);
	h->window = (uint32_t)s->window;
	h->streams_most = (uint32_t)s->streams;
	h->random = seed;
	h->faults = (struct http_faults){.refused = share_of(s->refused),
		.untyped = share_of(s->untyped),
		.reset = share_of(s->reset),
		.refusal = (uint32_t)s->status,
		.goaway = s->goaway == UINT64_MAX ? 0 : (uint32_t)s->goaway};
	return 0;
}

void plan_https_close(struct conns *cs)
{
	struct https *h = cs->https;

	if (!h)
		return;
	free((void *)(uintptr_t)h->answer);
	free((void *)(uintptr_t)h->path);
	pages_free(h->of, h->bytes);
	pages_free(h, sizeof(*h));
	cs->https = NULL;
}
