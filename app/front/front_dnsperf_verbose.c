// SPDX-License-Identifier: BSD-3-Clause
// dnsperf -v. At the end the packets of all transactions
// (front_packets.h) become lines, in the order of the replies, lost ones last. Path: cold. Main
// thread.
#include "front/front_dnsperf_verbose.h"

#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/input.h"
#include "front/front_packets.h"
#include "proto/dns/client/dns_queries.h"
#include "proto/dns/client/dns_settings.h"

#define NS_PER_US   1000
#define QUERIES_MAX (1u << 20) // with a dot: as many as there are packets of, at most
#define OPCODE      0x78       // of byte 2 of a message
#define UPDATE      (5 << 3)

// A query that waits for its reply.
struct asked {
	uint32_t id; // source port and message ID
	uint64_t at_ns;
	char text[];
};

struct verbose {
	const char *same; // text of all; NULL: of their questions
	void *waiting;    // tree of struct asked, by_id
	void *dotted;     // tree of "NAME TYPE" whose name ends with a dot in the file, without it
	uint32_t count;   // of them
	uint64_t lines;   // printed
};

static int by_id(const void *a, const void *b)
{
	const struct asked *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int by_time(const void *a, const void *b)
{
	const struct asked *const *x = a, *const *y = b;

	return ((*x)->at_ns > (*y)->at_ns) - ((*x)->at_ns < (*y)->at_ns);
}

struct lost {
	struct asked **list;
	size_t count;
};

static void take_lost(const void *node, VISIT visit, void *ctx)
{
	struct lost *l = ctx;

	if (visit == postorder || visit == leaf)
		l->list[l->count++] = *(struct asked *const *)node;
}

static void put_line(struct verbose *v, const char *code, const struct asked *a)
{
	printf("> %s %s", code, a->text);
	v->lines++;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

// A line of the file. The original prints it as it stands, and a packet does not have the last dot.
static int take_name(void *to, char *line, size_t len, unsigned number)
{
	size_t end = strcspn(line, " \t"), slashes = 0;
	const char *type = line + end + strspn(line + end, " \t");
	struct verbose *v = to;
	char *text;

	while (slashes + 1 < end && line[end - 2 - slashes] == '\\')
		slashes++;
	if (end < 2 || line[end - 1] != '.' || slashes % 2)
		return 0;
	if (asprintf(&text, "%.*s %.*s", (int)end - 1, line, (int)strcspn(type, " \t\r"), type) < 0)
		abort(); // memory: none
	if (*(char **)tsearch(text, &v->dotted, by_text) != text)
		free(text);
	else
		v->count++;
	return v->count == QUERIES_MAX;
}

static void read_names(struct verbose *v, const char *file)
{
	struct diag *d = diag_new(); // it was read before: an error says nothing new

	lseek(STDIN_FILENO, 0, SEEK_SET); // a file in memory, if it is the one
	input_lines(file, NULL, take_name, v, d);
	diag_free(d);
}

// The dot behind the name of "NAME TYPE", if the file has it.
static void dot_add(const struct verbose *v, char *text)
{
	char *end = strchr(text, ' ');

	if (!tfind(text, &v->dotted, by_text))
		return;
	memmove(end + 1, end, strlen(end) + 1);
	*end = '.';
}

static void take_query(struct verbose *v, const struct frame *f, uint64_t at_ns)
{
	char text[DNS_LINE_MAX + 1];
	struct asked *a, **node;

	if (v->same)
		strcpy(text, v->same);
	else if (dns_question_text(f->payload, f->payload_len, text) < 0)
		return;
	if (!v->same && (f->payload[2] & OPCODE) == UPDATE) // the line is the zone alone
		*strrchr(text, ' ') = '\0';
	else if (v->dotted)
		dot_add(v, text);
	a = malloc(sizeof(*a) + strlen(text) + 1);
	if (!a)
		abort(); // memory: none
	a->id = (uint32_t)f->src_port << 16 | bytes_be16(f->payload);
	a->at_ns = at_ns;
	strcpy(a->text, text);
	node = tsearch(a, &v->waiting, by_id);
	if (!node)
		abort(); // memory: none
	if (*node == a)
		return;
	put_line(v, "T", *node); // the one before was lost
	putchar('\n');
	free(*node);
	*node = a;
}

// The rest, when all replies are known; queries: at least as many.
static void print_lost(struct verbose *v, size_t queries)
{
	struct lost l = {calloc(queries + 1, sizeof(struct asked *)), 0};

	if (!l.list)
		abort(); // memory: none
	twalk_r(v->waiting, take_lost, &l);
	qsort(l.list, l.count, sizeof(struct asked *), by_time);
	for (size_t i = 0; i < l.count; i++) {
		put_line(v, "T", l.list[i]);
		putchar('\n');
	}
	free(l.list);
	tdestroy(v->waiting, free);
}

static void take_reply(struct verbose *v, const struct frame *f, uint64_t at_ns)
{
	struct asked key = {.id = (uint32_t)f->dst_port << 16 | bytes_be16(f->payload)};
	struct asked **node = tfind(&key, &v->waiting, by_id), *a;
	uint64_t us;

	if (!node)
		return;
	a = *node;
	us = at_ns > a->at_ns ? (at_ns - a->at_ns) / NS_PER_US : 0;
	put_line(v, dns_rcode_names[f->payload[3] & 0xf], a);
	printf(" %" PRIu64 ".%06" PRIu64 "\n", us / 1000000, us % 1000000);
	tdelete(a, &v->waiting, by_id);
	free(a);
}

static void take_packet(void *ctx, const struct front_packet *p)
{
	if (p->frame.payload_len < 12)
		return;
	if (p->frame.payload[2] & 0x80)
		take_reply(ctx, &p->frame, p->at_ns);
	else
		take_query(ctx, &p->frame, p->at_ns);
}

void dnsperf_verbose_print(const struct as_run *r, int fd, const char *file, const char *same,
	const struct document_reader *b)
{
	const json_t *item = json_array_get(json_object_get(b->document, "traffic"), 0);
	double missing = document_number(item, "sent");
	struct verbose v = {.same = same};

	if (!same)
		read_names(&v, file);
	print_lost(&v, front_packets_each(fd, take_packet, &v) / FRONT_PACKET_MIN);
	tdestroy(v.dotted, free);
	missing -= (double)v.lines;
	if (missing > 0)
		as_note(r,
			"-v: %.0f lines are missing: packets are kept of " FRONT_PACKETS_MOST
			" queries at most, "
			"and not of all where they come too fast (-Q, -n)",
			missing);
}
