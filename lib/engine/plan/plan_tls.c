// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Management thread.
#include "engine/plan/plan_tls.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "crypt/certificate.h"
#include "engine/core/pages.h"
#include "io/driver/launch.h"
#include "io/host/privileges.h"

#define TEXT_MAX   1048576u // of a file of certificates
#define WRONG_NAME "wrong." // in front of the right one
#define DAY_S      86400

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
static const char *alpn_of(const char *given, const struct proto_ports *proto, bool http, bool quic)
{
	if (!given)
		return http ? "h2" : quic ? proto->quic_alpn : proto->alpn;
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
	const int32_t *groups = s->groups.items;

	for (uint32_t i = 0; i < s->groups.count; i++)
		if (!hand_has_group((uint32_t)groups[i]))
			diag_error(d, &groups[i], NULL, "this GnuTLS %s does not offer group %s",
				hand_library(), tls_group_name((uint32_t)groups[i]));
	tls_priorities(s, h->server, priorities);
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

struct hand_setup *plan_tls_client(
	const struct item_settings *i, bool harmless, struct arena *a, struct diag *d)
{
	const struct tls_settings *s = i->facts.tls;
	const char *const *pins = s->pins.items;
	uint8_t(*octets)[TLS_PIN_LEN] = arena_zalloc(a, (s->pins.count + 1) * sizeof(*octets));
	struct hand_settings h = {.alpn = alpn_of(s->alpn, i->facts.proto->ports, i->facts.https,
					  i->facts.quic != NULL),
		.quic = i->facts.quic != NULL,
		.name = name_of(i),
		.verify = (enum tls_verify)s->verify,
		.pins = octets,
		.pin_count = s->pins.count,
		.early = s->early};
	uint32_t errors = diag_count(d);

	for (uint32_t n = 0; n < s->pins.count; n++)
		tls_pin(pins[n], octets[n]);
	if (s->verify == TLS_VERIFY_CHAIN && !h.name)
		diag_error(d, &s->verify, NULL,
			"chain needs the name in the server's certificate (tls.name)");
	if (s->early && !harmless)
		diag_error(d, &s->early, NULL,
			"is for messages that change nothing on the server: early data can be "
			"replayed (RFC 8446 section 8)");
	if (s->ca)
		h.authorities = text_of(&s->ca, a, d);
	read_pair(&s->common, &h, a, d);
	return setup_of(&h, i, errors, d);
}

static const int64_t validity[][2] = {[TLS_DEFECT_EXPIRED] = {-30 * DAY_S, -DAY_S},
	[TLS_DEFECT_NOT_YET] = {DAY_S, 30 * DAY_S},
	[TLS_DEFECT_WRONG_NAME] = {0, 0}};

// Makes the certificate of s. Returns false after an error in d.
static bool make_pair(const struct tls_server_settings *s, struct certificate *made,
	struct arena *a, struct diag *d)
{
	const struct tls_made_settings *m = s->made;
	struct certificate_wanted wanted = {.name = "responder.example"};
	uint32_t errors = diag_count(d);
	struct certificate issuer;
	char name[TLS_NAME_MAX + sizeof(WRONG_NAME)];
	const char *wrong;

	if (m) {
		snprintf(name, sizeof(name), "%s%s",
			m->defect == TLS_DEFECT_WRONG_NAME ? WRONG_NAME : "", m->name);
		wanted = (struct certificate_wanted){.name = name,
			.kind = (enum certificate_kind)m->kind,
			.from_s = validity[m->defect][0],
			.until_s = validity[m->defect][1],
			.padding = (uint32_t)m->padding};
	}
	if (m && m->issuer) {
		issuer.certificate = (char *)(uintptr_t)text_of(&m->issuer, a, d);
		issuer.key = (char *)(uintptr_t)text_of(&m->issuer_key, a, d);
		wanted.signer = &issuer;
	}
	if (diag_count(d) > errors)
		return false;
	if (certificate_make(&wanted, made, &wrong) == 0)
		return true;
	diag_error(d, m ? (const void *)m : s, "", "no certificate could be made: %s", wrong);
	return false;
}

// The settings of handshakes with a fault.
static struct hand_settings faulty(const struct hand_settings *usual,
	const struct tls_server_settings *s, enum tls_fault fault, const struct hand_setup *keys,
	struct arena *a)
{
	struct hand_settings h = *usual;
	struct tls_common common = s->common;
	char *priorities;
	int32_t room[TLS_GROUPS];

	h.keys = keys;
	if (fault == TLS_FAULT_NO_ALPN)
		h.alpn = NULL;
	if (fault == TLS_FAULT_WRONG_ALPN)
		h.alpn = "wrong";
	h.tickets &= fault != TLS_FAULT_NO_TICKET;
	h.refuses = fault == TLS_FAULT_TICKET_REFUSED;
	if (fault == TLS_FAULT_HELLO_RETRY && tls_second_group(&s->common, room, &common.groups)) {
		priorities = arena_zalloc(a, TLS_PRIORITIES_SIZE);
		tls_priorities(&common, true, priorities);
		h.priorities = priorities;
	}
	return h;
}

bool plan_tls_server(const struct config *c, const struct proto_ports *proto,
	enum channel_kind kind, struct hand_setup *setups[TLS_FAULT_COUNT], struct arena *a,
	struct diag *d)
{
	const struct tls_server_settings *s = tls_server_settings_or(c->responder->tls);
	struct hand_settings h = {.server = true,
		.alpn = kind == CHANNEL_HTTP   ? "h2"
	                : kind == CHANNEL_QUIC ? proto->quic_alpn
	                                       : alpn_of(s->alpn, proto, false, false),
		.quic = kind == CHANNEL_QUIC,
		.tickets = s->tickets,
		.early = s->early};
	struct certificate made = {0};
	uint32_t errors = diag_count(d);

	read_pair(&s->common, &h, a, d);
	if (!s->common.certificate) {
		if (!make_pair(s, &made, a, d))
			return false;
		h.certificate = made.certificate;
		h.key = made.key;
	}
	setups[TLS_FAULT_NONE] = setup_of(&h, s, errors, d);
	for (uint32_t i = TLS_FAULT_OF_SETTINGS; i < TLS_FAULT_COUNT; i++) {
		struct hand_settings own;

		if (!s->handshake || !(s->handshake->shares[i] > 0) || !setups[TLS_FAULT_NONE])
			continue;
		own = faulty(&h, s, (enum tls_fault)i, setups[TLS_FAULT_NONE], a);
		setups[i] = setup_of(&own, s, errors, d);
	}
	if (kind == CHANNEL_QUIC && c->responder->quic->early_refused > 0 && setups[0]) {
		struct hand_settings own = h;

		own.early = false;
		own.keys = setups[0];
		setups[PLAN_NO_EARLY] = setup_of(&own, s, errors, d);
	}
	certificate_free(&made);
	return diag_count(d) == errors;
}

void plan_tls_faults(struct plan *p, struct responder_conns *rc, uint32_t worker)
{
	const struct tls_fault_settings *s =
		tls_server_settings_or(p->config->responder->tls)->handshake;
	double sum = 0;

	if (!s)
		return;
	for (uint32_t i = 1; i < TLS_FAULT_COUNT; i++) {
		double n = (sum += s->shares[i]) * 18446744073709551616.0;

		rc->tls_below[i] = n >= 18446744073709551615.0 ? UINT64_MAX : (uint64_t)n;
	}
	rc->tls_fails = sum > 0;
	rc->tls_slow_us = (uint32_t)(s->slow_ns / 1000);
	rc->rand.state = rand_hash(rand_hash(p->config->run.seed) ^ worker);
}

int plan_keylog_open(struct plan *p)
{
	const char *path = p->config->output.keylog;
	int fd;

	if (!path)
		return 0;
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	p->keylog = fd < 0 ? NULL : fdopen(fd, "a");
	if (!p->keylog) {
		int error = errno;

		log_error("output.keylog: %s: %s", path, strerror(error));
		return -error;
	}
	for (uint32_t i = 0; i < p->item_count; i++)
		if (p->items[i].hands)
			hand_setup_keylog(p->items[i].hands, p->keylog);
	log_note("output.keylog: the secrets of TLS connections go to %s: whoever reads it can "
		 "decrypt them",
		path);
	return 0;
}

void plan_keylog_close(struct plan *p)
{
	if (p->keylog && fclose(p->keylog) != 0)
		log_error("output.keylog: %s: %s", p->config->output.keylog, strerror(errno));
	p->keylog = NULL;
}

struct secures_shape plan_tls_shape(const struct tls_settings *s, uint32_t conns, uint32_t seats)
{
	return (struct secures_shape){.count = conns,
		.live = seats,
		.seats = (uint32_t)(s->handshakes < conns ? s->handshakes : conns),
		.stored = s->resume == TLS_RESUME_EACH   ? seats
	                  : s->resume == TLS_RESUME_LAST ? 1
	                                                 : 0,
		.sha384 = tls_has_cipher(&s->common, RECORD_AES_256_GCM)};
}

void plan_tls_fill(struct secures *ss, const struct item_settings *i)
{
	const struct tls_settings *s = i->facts.tls;
	const char *alpn = alpn_of(s->alpn, i->facts.proto->ports, i->facts.https, false);

	ss->bursts = s->records == TLS_RECORDS_BURST;
	ss->close_notify = s->close_notify;
	ss->timeout_us = (uint32_t)(s->timeout_ns / 1000);
	ss->shared = s->resume == TLS_RESUME_LAST;
	if (alpn)
		snprintf(ss->alpn, sizeof(ss->alpn), "%s", alpn);
	ss->alpn_needed = i->facts.https;
}

// --- the crew

struct plan_crew {
	uint32_t count, started;
	struct {
		struct crew_thread work;
		uint32_t cpu;
		pthread_t id;
	} threads[];
};

static uint32_t crew_count(const struct field_list *cpus)
{
	const struct field_range *r = cpus->items;
	uint32_t n = 0;

	for (uint32_t i = 0; i < cpus->count; i++)
		n += r[i].last - r[i].first + 1;
	return n;
}

static size_t crew_bytes(uint32_t count)
{
	return sizeof(struct plan_crew) + count * sizeof(((struct plan_crew *)0)->threads[0]);
}

// Returns the crew, made when it is first needed; NULL: without memory.
static struct plan_crew *crew_of(struct plan *p)
{
	const struct field_list *cpus = &p->config->host.crew;
	const struct field_range *r = cpus->items;
	uint32_t count = crew_count(cpus), n = 0;

	if (p->crew)
		return p->crew;
	p->crew = pages_alloc(crew_bytes(count));
	if (!p->crew)
		return NULL;
	p->crew->count = count;
	for (uint32_t i = 0; i < cpus->count; i++)
		for (uint32_t cpu = r[i].first; cpu <= r[i].last; cpu++)
			p->crew->threads[n++].cpu = cpu;
	return p->crew;
}

static size_t numbers_bytes(uint32_t mask)
{
	return (mask + 1ull) * sizeof(uint32_t);
}

int plan_crew_add(struct plan *p, struct secures *ss)
{
	struct plan_crew *crew;
	uint32_t room = 1;

	if (p->config->host.crew.count == 0)
		return 0;
	crew = crew_of(p);
	while (room < ss->seat_count)
		room *= 2;
	ss->lines = crew ? pages_alloc(crew->count * sizeof(*ss->lines)) : NULL;
	ss->line_count = ss->lines ? crew->count : 0;
	for (uint32_t i = 0; i < ss->line_count; i++) {
		struct crew_thread *t = &crew->threads[i].work;
		struct crew_line *l = &ss->lines[i];

		l->numbers = pages_alloc(numbers_bytes(room - 1));
		if (!l->numbers || t->line_count == CREW_LINES)
			return -ENOMEM;
		l->seats = ss->seats;
		l->mask = room - 1;
		t->lines[t->line_count++] = l;
	}
	return ss->lines ? 0 : -ENOMEM;
}

void plan_crew_remove(struct secures *ss)
{
	for (uint32_t i = 0; i < ss->line_count; i++)
		pages_free(ss->lines[i].numbers, numbers_bytes(ss->lines[i].mask));
	pages_free(ss->lines, ss->line_count * sizeof(*ss->lines));
	ss->line_count = 0;
}

static void *crew_main(void *arg)
{
	privileges_drop(true);
	crew_loop(arg);
	return NULL;
}

int plan_crew_start(struct plan *p)
{
	struct plan_crew *crew = p->crew;
	int error = 0;

	for (uint32_t i = 0; crew && i < crew->count && error == 0; i++) {
		cpu_set_t set;

		error = launch_thread(&crew->threads[i].id, crew_main, &crew->threads[i].work);
		if (error)
			break;
		crew->started++;
		CPU_ZERO(&set);
		CPU_SET(crew->threads[i].cpu, &set);
		error = pthread_setaffinity_np(crew->threads[i].id, sizeof(set), &set);
	}
	if (error)
		log_error("host.crew: %s", strerror(error));
	return -error;
}

void plan_crew_stop(struct plan *p)
{
	struct plan_crew *crew = p->crew;

	if (!crew)
		return;
	for (uint32_t i = 0; i < crew->started; i++) {
		atomic_store_explicit(&crew->threads[i].work.over, true, memory_order_release);
		launch_join(crew->threads[i].id);
	}
	pages_free(crew, crew_bytes(crew->count));
	p->crew = NULL;
}
