// SPDX-License-Identifier: BSD-3-Clause
// -x t and -x T: the send and reply time of each answered message, and the first message of each
// kind as hex digits. Path: cold. Main thread.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "document/document_reader.h"
#include "front/front_packets.h"
#include "front/perfdhcp/front_perfdhcp.h"
#include "proto/dhcp/v4/dhcp4_message.h"
#include "proto/dhcp/v6/dhcp6_message.h"

#define PRELOAD     "preload: " // prefix for packets of that item
#define HEX_COLUMNS 32

// A message in a packet. step NULL: not timed by perfdhcp.
struct message {
	uint32_t xid;
	const char *step; // of the exchange begun by the message
	bool reply;
};

// A message in its packet.
struct event {
	uint32_t xid;
	const char *step; // NULL: a reply
	size_t order;     // by time
	uint64_t at_ns;
	uint64_t answered_ns; // 0: unanswered
};

struct packets {
	const struct perfdhcp *p;
	struct event *events;
	size_t count;
	const struct perfdhcp_exchange *x;
	uint8_t *first[2]; // messages of the first two steps; NULL: none was sent
	uint32_t first_len[2];
};

static bool read4(const uint8_t *m, uint32_t len, struct message *out)
{
	const uint32_t at = dhcp4_find_option(m, len, DHCP4_OPT_TYPE);
	const uint8_t type = at && m[at + 1] ? m[at + 2] : 0;

	if (!type || type == DHCP4_NAK)
		return false;
	*out = (struct message){.xid = bytes_be32(m + DHCP4_AT_XID), .reply = m[0] == 2};
	if (type == DHCP4_DISCOVER)
		out->step = "discover-offer";
	else if (type == DHCP4_REQUEST)
		out->step = bytes_be32(m + DHCP4_AT_CIADDR) ? "renew-ack" : "request-ack";
	return true;
}

static bool read6(const uint8_t *m, uint32_t len, const char *first, struct message *out)
{
	struct dhcp6_envelope e;

	if (!dhcp6_unwrap(m, len, &e) || e.inner_len < 4)
		return false;
	m = e.inner;
	*out = (struct message){.xid = bytes_be32(m) & 0xffffff, .reply = m[0] == 2 || m[0] == 7};
	switch (m[0]) {
	case 1:
		out->step = first;
		break;
	case 3:
		out->step = "request-reply";
		break;
	case 5:
		out->step = "renew-reply";
		break;
	case 8:
		out->step = "release-reply";
		break;
	}
	return out->step || out->reply;
}

static void add_event(struct packets *s, const struct message *m, uint64_t at_ns)
{
	s->events = arena_grow(s->p->run.arena, s->events, s->count, sizeof(*s->events));
	s->events[s->count] = (struct event){m->xid, m->reply ? NULL : m->step, s->count, at_ns, 0};
	s->count++;
}

static int by_order(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return (x->order > y->order) - (x->order < y->order);
}

static int by_xid(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return x->xid == y->xid ? by_order(a, b) : x->xid > y->xid ? 1 : -1;
}

// A reply belongs to the preceding message with its transaction ID.
static void match_replies(struct packets *s)
{
	if (!s->count)
		return;
	qsort(s->events, s->count, sizeof(*s->events), by_xid);
	for (size_t i = 1; i < s->count; i++)
		if (!s->events[i].step && s->events[i - 1].step &&
			s->events[i].xid == s->events[i - 1].xid)
			s->events[i - 1].answered_ns = s->events[i].at_ns;
	qsort(s->events, s->count, sizeof(*s->events), by_order);
}

static void keep_first(struct packets *s, const char *step, const struct frame *f)
{
	for (unsigned i = 0; i < 2; i++) {
		if (!s->x[i].step || strcmp(step, s->x[i].step) != 0 || s->first[i])
			continue;
		s->first[i] = arena_zalloc(s->p->run.arena, f->payload_len);
		memcpy(s->first[i], f->payload, f->payload_len);
		s->first_len[i] = f->payload_len;
	}
}

static void take_packet(void *ctx, const struct front_packet *p)
{
	const struct frame *f = &p->frame;
	struct packets *s = ctx;
	struct message m;

	if (p->comment_len > sizeof(PRELOAD) &&
		memcmp(p->comment, PRELOAD, sizeof(PRELOAD) - 1) == 0)
		return;
	if (!(s->p->v6 ? read6(f->payload, f->payload_len, s->x[0].step, &m)
		       : read4(f->payload, f->payload_len, &m)))
		return;
	if (m.reply || m.step)
		add_event(s, &m, p->at_ns);
	if (!m.reply && m.step)
		keep_first(s, m.step, f);
}

static void print_time(uint64_t ns, uint64_t from_ns)
{
	const uint64_t us = ns > from_ns ? (ns - from_ns) / 1000 : 0;

	printf("%06" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);
}

static void print_times(
	const struct packets *s, const struct perfdhcp_exchange *x, uint64_t from_ns)
{
	bool any = false;

	printf("***Timestamps for packets: %s***\n", x->label);
	for (size_t i = 0; i < s->count; i++) {
		const struct event *e = &s->events[i];

		if (!e->answered_ns || strcmp(e->step, x->step) != 0)
			continue;
		fputs("sent / received: ", stdout);
		print_time(e->at_ns, from_ns);
		fputs(" / ", stdout);
		print_time(e->answered_ns, from_ns);
		putchar('\n');
		any = true;
	}
	puts(any ? "" : "Unavailable! No packets received.\n");
}

void perfdhcp_packets_read(
	struct perfdhcp *p, const json_t *document, const struct perfdhcp_exchange *x, unsigned n)
{
	struct packets s = {.p = p, .x = x};
	const json_t *from = document_at(document, "run.measured_from_ns");
	const json_t *capture = json_object_get(document, "capture");

	front_packets_each(p->packets, take_packet, &s);
	match_replies(&s);
	for (unsigned i = 0; perfdhcp_diagnoses(p, 't') && i < n; i++)
		print_times(&s, &x[i], (uint64_t)json_integer_value(from));
	memcpy(p->first, s.first, sizeof(p->first));
	memcpy(p->first_len, s.first_len, sizeof(p->first_len));
	if (perfdhcp_diagnoses(p, 't') &&
		(json_number_value(json_object_get(capture, "dropped")) > 0 ||
			json_is_true(json_object_get(capture, "limit_reached"))))
		as_note(&p->run, "-x t: lines are missing: packets are kept of " FRONT_PACKETS_MOST
				 " messages at most, and not of all where they come too fast");
}

// An offset from the command line, or the original's default.
static const char *offset(const struct perfdhcp *p, char letter, unsigned n, const char *otherwise)
{
	const char *value = perfdhcp_nth(p, letter, n);

	return value ? value : otherwise;
}

static void print_template(const struct perfdhcp *p, unsigned n)
{
	printf("xid-offset=%s\nrandom-offset=%s\n", offset(p, 'X', n, p->v6 ? "1" : "4"),
		offset(p, 'O', n, p->v6 ? "21" : "35"));
	if (n)
		printf("srvid-offset=%s\ntime-offset=%s\nip-offset=%s\n",
			offset(p, 'S', 0, p->v6 ? "22" : "54"),
			offset(p, 'E', 0, p->v6 ? "84" : "8"),
			offset(p, 'I', 0, p->v6 ? "40" : "240"));
	puts("contents: ");
	for (uint32_t at = 0; at < p->first_len[n]; at++) {
		if (2 * at % HEX_COLUMNS == 0)
			printf("%04x   ", 2 * at); // digits before the line
		printf("%02x", p->first[n][at]);
		if (2 * (at + 1) % HEX_COLUMNS == 0 || at + 1 == p->first_len[n])
			putchar('\n');
	}
	putchar('\n');
}

void perfdhcp_print_templates(const struct perfdhcp *p)
{
	print_template(p, 0);
	print_template(p, 1);
}
