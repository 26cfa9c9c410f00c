// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Management thread.
#include "engine/plan/plan_tls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "crypt/certificate.h"

#define TEXT_MAX 1048576u // of a file of certificates

// Reads a file of the settings. Returns NULL after an error in d.
static const char *text_of(const char *const *setting, struct arena *a, struct diag *d)
{
	const char *path = diag_path(d, setting, a);
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t len = 0, room;

	for (room = 8192; f && room <= TEXT_MAX; room *= 2) {
		text = arena_zalloc(a, room);
		rewind(f);
		len = fread(text, 1, room - 1, f);
		if (len < room - 1)
			break;
	}
	if (!f || ferror(f))
		diag_error(d, setting, NULL, "%s: %s", path, strerror(errno));
	else if (len == 0 || room > TEXT_MAX)
		diag_error(d, setting, NULL, "%s: %s", path,
			len ? "longer than 1 MiB" : "the file is empty");
	if (f)
		fclose(f);
	return text;
}

// "none" is the absence of a protocol.
static const char *alpn_of(const char *given, const struct proto_ports *proto)
{
	if (!given)
		return proto->alpn;
	return strcmp(given, "none") == 0 ? NULL : given;
}

static const char *name_of(const struct item_settings *i)
{
	return i->facts.tls->name ? i->facts.tls->name : i->host.name;
}

static void read_pair(
	const struct tls_common *s, struct hand_settings *h, struct arena *a, struct diag *d)
{
	char *priorities = arena_zalloc(a, TLS_PRIORITIES_SIZE);

	tls_priorities(s, priorities);
	h->priorities = priorities;
	if (s->certificate)
		h->certificate = text_of(&s->certificate, a, d);
	if (s->key)
		h->key = text_of(&s->key, a, d);
}

static struct hand_setup *setup_of(
	const struct hand_settings *h, const void *where, uint32_t errors, struct diag *d)
{
	const char *wrong = NULL;
	struct hand_setup *setup = diag_count(d) > errors ? NULL : hand_setup_new(h, &wrong);

	if (wrong)
		diag_error(d, where, NULL, "the TLS library refuses these settings: %s", wrong);
	return setup;
}

struct hand_setup *plan_tls_client(const struct item_settings *i, struct arena *a, struct diag *d)
{
	const struct tls_settings *s = i->facts.tls;
	const char *const *pins = s->pins.items;
	uint8_t(*octets)[TLS_PIN_LEN] = arena_zalloc(a, (s->pins.count + 1) * sizeof(*octets));
	struct hand_settings h = {.alpn = alpn_of(s->alpn, i->facts.proto->ports),
		.name = name_of(i),
		.verify = (enum tls_verify)s->verify,
		.pins = octets,
		.pin_count = s->pins.count};
	uint32_t errors = diag_count(d);

	for (uint32_t n = 0; n < s->pins.count; n++)
		tls_pin(pins[n], octets[n]);
	if (s->verify == TLS_VERIFY_CHAIN && !h.name)
		diag_error(d, &s->verify, NULL,
			"chain needs the name in the server's certificate (tls.name)");
	if (s->ca)
		h.authorities = text_of(&s->ca, a, d);
	read_pair(&s->common, &h, a, d);
	return setup_of(&h, i, errors, d);
}

struct hand_setup *plan_tls_server(
	const struct config *c, const struct proto_ports *proto, struct arena *a, struct diag *d)
{
	const struct tls_server_settings *s = c->responder->tls;
	const struct certificate_wanted wanted = {.name = "responder.example"};
	struct hand_settings h = {
		.server = true, .alpn = alpn_of(s->alpn, proto), .tickets = s->tickets};
	uint32_t errors = diag_count(d);
	struct hand_setup *setup;
	struct certificate made;
	const char *wrong;

	read_pair(&s->common, &h, a, d);
	if (s->common.certificate)
		return setup_of(&h, s, errors, d);
	if (certificate_make(&wanted, &made, &wrong) < 0) {
		diag_error(d, s, NULL, "no certificate could be made: %s", wrong);
		return NULL;
	}
	h.certificate = made.certificate;
	h.key = made.key;
	setup = setup_of(&h, s, errors, d);
	certificate_free(&made);
	return setup;
}

struct secures_shape plan_tls_shape(const struct tls_settings *s, uint32_t conns, uint32_t seats)
{
	return (struct secures_shape){.count = conns,
		.seats = (uint32_t)(s->handshakes < conns ? s->handshakes : conns),
		.stored = s->resume == TLS_RESUME_EACH   ? seats
	                  : s->resume == TLS_RESUME_LAST ? 1
	                                                 : 0};
}

void plan_tls_fill(struct secures *ss, const struct item_settings *i)
{
	const struct tls_settings *s = i->facts.tls;
	const char *alpn = alpn_of(s->alpn, i->facts.proto->ports);

	ss->bursts = s->records == TLS_RECORDS_BURST;
	ss->close_notify = s->close_notify;
	ss->timeout_us = (uint32_t)(s->timeout_ns / 1000);
	ss->shared = s->resume == TLS_RESUME_LAST;
	if (alpn)
		snprintf(ss->alpn, sizeof(ss->alpn), "%s", alpn);
}
