// SPDX-License-Identifier: BSD-3-Clause
// ddiperf as dnsperf. Differences: a wrong, late or second answer is not counted as completed, and
// the tester's own drops are not counted as lost by the server. Path: cold. Main thread.
#include <inttypes.h>
#include <math.h>
#include <search.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/input.h"
#include "document/document_reader.h"
#include "run/commands.h"
#include "front/front_as.h"
#include "front/front_packets.h"
#include "front/front_queries.h"
#include "follow/run_events.h"
#include "proto/dns/client/dns_names.h"

#define ITEM     "traffic.queries."
#define CATCH_UP "1ms" // for a worker that was descheduled briefly

#define NS_PER_US   1000
#define QUERIES_MAX (1u << 20) // with a dot: at most as many as have packets
#define OPCODE      0x78       // bits in byte 2 of a message
#define UPDATE      (5 << 3)

struct dnsperf {
	struct queries is;
	double runs;        // 0: no limit
	double port;        // first source port; 0: any
	double limit_s;     // 0: none
	double every_s;     // -S; 0: no lines
	double rate;        // per second; 0: no limit
	double outstanding; // 0: not given
	double started;     // start of the measured part, by the wall clock
	bool verbose;       // -v
	int packets;        // of -v; -1: none
};

static struct dnsperf *own(struct as_run *r)
{
	return (struct dnsperf *)r;
}

#define MEMBER(member) .place = offsetof(struct dnsperf, member)
#define NUMBER(member, from, to)                                                                   \
	.place = offsetof(struct dnsperf, member), .least = (from), .most = (to)

static const struct as_option options[] = {
	QUERIES_OPTIONS,
	{'m', NULL, "MODE", "udp, tcp, dot or doh", .set = queries_set_mode},
	{'x', NULL, "PORT", "first source port", NUMBER(port, 0, 65535)},
	{'c', NULL, "CLIENTS", "connections, or source ports", NUMBER(is.clients, 1, 64511)},
	{'T', NULL, "THREADS", "",
		.ignored = "there is one worker for each CPU in ports.lan.cpus (--set)"},
	{'n', NULL, "RUNS", "passes over the file", NUMBER(runs, 1, 4294967295.0)},
	{'l', NULL, "SECONDS", "time limit", NUMBER(limit_s, 0.001, 1e7)},
	{'q', NULL, "COUNT", "queries outstanding at most", NUMBER(outstanding, 1, 1e6)},
	{'Q', NULL, "RATE", "queries per second at most", NUMBER(rate, 1, 1e9)},
	{'S', NULL, "SECONDS", "a line of queries per second", NUMBER(every_s, 0.01, 1e4)},
	{'u', NULL, NULL, "the file has dynamic updates", MEMBER(is.updates)},
	{'B', NULL, NULL, "the file has whole messages, each behind its length", MEMBER(is.binary)},
	{'v', NULL, NULL, "a line for each query, at the end", MEMBER(verbose)},
	{'O', NULL, "NAME=VALUE", "long options", .set = queries_set_long},
	{0},
};

static void print_start(struct dnsperf *d, const json_t *begin)
{
	const char *server = queries_server(&d->is.is, begin);
	struct timespec at;
	time_t now;

	clock_gettime(CLOCK_REALTIME, &at);
	now = at.tv_sec;
	d->started = (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
	printf("[Status] Command line: %s\n[Status] Sending %s (to %s)\n"
	       "[Status] Started at: %s[Status] Stopping after ",
		queries_command_line(&d->is.is), d->is.updates ? "updates" : "queries", server,
		ctime(&now));
	if (d->limit_s > 0)
		printf("%.6f seconds%s", d->limit_s, d->runs > 0 ? " or " : "\n");
	if (d->runs > 0)
		printf("%.0f run%s through file\n", d->runs, d->runs == 1 ? "" : "s");
}

// Skips the last line, due at the time limit, when dnsperf has already ended.
static void print_interval(const struct dnsperf *d, const json_t *interval)
{
	const json_t *item = json_array_get(json_object_get(interval, "traffic"), 0);
	double t_s = document_number(interval, "t_s"),
	       length_s = document_number(interval, "length_s");

	if (json_object_get(interval, LINE_LAST) || (d->limit_s > 0 && t_s > d->limit_s - 1e-3))
		return;
	printf("%.6f: %.6f\n", d->started + t_s,
		(document_number(item, "answered") + document_number(item, "failed")) / length_s);
}

static void on_line(void *ctx, const json_t *line)
{
	struct dnsperf *d = ctx;

	if (json_object_get(line, LINE_BEGIN))
		print_start(d, line);
	else if (json_object_get(line, "t_s") && d->every_s > 0)
		print_interval(d, line);
	fflush(stdout);
}

#define LATENCY(path)                                                                              \
	"  Average Latency (s):  {" path ".mean_ns * 1e-9:%.6f} (min {" path                       \
	".min_ns * 1e-9:%.6f}, max {" path                                                         \
	".max_ns * 1e-9:%.6f})\n<{?more}  Latency StdDev (s):   "                                  \
	"{" path ".stddev_ns * 1e-9:%.6f}\n>\n"

static void print_statistics(const struct dnsperf *d, const json_t *item)
{
	json_t *f = queries_figures(&d->is.is, item);
	double sent = document_number(f, "sent"), completed = document_number(f, "completed");

	json_object_update_new(f,
		json_pack("{s:s,s:b,s:f,s:f,s:f}", "units", d->is.updates ? "Updates" : "Queries",
			"more", completed > 1, "interrupted",
			fmax(sent - completed - document_number(f, "lost"), 0), "request",
			sent > 0 ? floor(document_computed(item, "dns.request_bytes") / sent) : 0,
			"response",
			completed > 0
				? floor(document_computed(item, "dns.reply_bytes") / completed)
				: 0));
	document_fill(f,
		"\nStatistics:\n\n"
		"  {units} sent:         {sent}\n"
		"  {units} completed:    {completed} ({100 * completed / sent:%.2f}%)\n"
		"  {units} lost:         {lost} ({100 * lost / sent:%.2f}%)\n"
		"<  {units} interrupted:  {interrupted} ({100 * interrupted / sent:%.2f}%)\n>"
		"\n  Response codes:       {codes}\n"
		"  Average packet size:  request {request}, response {response}\n"
		"  Run time (s):         {run_s:%.6f}\n"
		"  {units} per second:   {completed / run_s:%.6f}\n\n" LATENCY("latency.service"),
		stdout);
	json_decref(f);
}

static void print_connections(const struct dnsperf *d, const json_t *item)
{
	json_t *f = queries_figures(&d->is.is, item);

	json_object_set_new(f, "setup", queries_handshakes(item));
	json_object_set_new(f, "more", json_boolean(document_number(f, "setup.count") > 1));
	document_fill(f,
		"Connection Statistics:\n\n  Reconnections:        {reconnections}\n\n" LATENCY(
			"setup"),
		stdout);
	if (d->is.https)
		printf("DNS-over-HTTPS statistics:\n\n  HTTP/2 return codes:  %s\n\n",
			queries_statuses(&d->is.is, item));
	json_decref(f);
}

// --- -v: at the end, the packets of all transactions become lines, in the order of replies, lost
// ones last

// A query waiting for its reply.
struct asked {
	uint32_t id; // source port and message ID
	uint64_t at_ns;
	char text[];
};

struct verbose {
	const char *same; // text for all; NULL: use their questions
	void *waiting;    // tree of struct asked, by_id
	void *dotted;     // tree of "NAME TYPE" whose name ends with a dot in the file; without it
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

// Handle a line of the file. The original prints names as in the file; packets lack the final dot.
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
		abort(); // out of memory
	if (*(char **)tsearch(text, &v->dotted, by_text) != text)
		free(text);
	else
		v->count++;
	return v->count == QUERIES_MAX;
}

static void read_names(struct verbose *v, const char *file)
{
	struct diag *d = diag_new(); // the file was read before, so errors are known

	lseek(STDIN_FILENO, 0, SEEK_SET); // for a file in memory
	input_lines(file, NULL, take_name, v, d);
	diag_free(d);
}

// Append the final dot to the name of "NAME TYPE", if the file has it.
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
	if (!v->same && (f->payload[2] & OPCODE) == UPDATE) // the line is only the zone
		*strrchr(text, ' ') = '\0';
	else if (v->dotted)
		dot_add(v, text);
	a = malloc(sizeof(*a) + strlen(text) + 1);
	if (!a)
		abort(); // out of memory
	a->id = (uint32_t)f->src_port << 16 | bytes_be16(f->payload);
	a->at_ns = at_ns;
	strcpy(a->text, text);
	node = tsearch(a, &v->waiting, by_id);
	if (!node)
		abort(); // out of memory
	if (*node == a)
		return;
	put_line(v, "T", *node); // the previous one was lost
	putchar('\n');
	free(*node);
	*node = a;
}

// Print the rest, once all replies are known; queries: minimum number.
static void print_lost(struct verbose *v, size_t queries)
{
	struct lost l = {calloc(queries + 1, sizeof(struct asked *)), 0};

	if (!l.list)
		abort(); // out of memory
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

static void print_verbose(const struct as_run *r, int fd, const char *file, const char *same,
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

// ---

static int on_end(void *ctx, struct document_reader *b, int code)
{
	struct dnsperf *d = ctx;
	const json_t *item = json_array_get(json_object_get(b->document, "traffic"), 0);
	double last = fmax(document_number(item, "sending_s"), 0);

	if (d->packets >= 0)
		print_verbose(
			&d->is.is, d->packets, d->is.file, d->is.binary ? "binary input" : NULL, b);
	printf("[Status] Testing complete (%s)\n",
		code == EXIT_INTERRUPTED                            ? "interruption"
		: d->limit_s > 0 && last >= d->limit_s * (1 - 1e-3) ? "time limit"
								    : "end of file");
	print_statistics(d, item);
	if (d->is.tcp)
		print_connections(d, item);
	queries_explain(&d->is.is, b);
	return EXIT_PASS;
}

static void set_load(struct dnsperf *d)
{
	struct as_run *r = &d->is.is;

	// A query without a free slot waits, and missed queries are not made up for.
	if (d->rate > 0) {
		front_setf(&r->front, "-Q", ITEM "load.rate", "%.9g", d->rate);
		front_set(&r->front, NULL, ITEM "load.catch_up", CATCH_UP);
	}
	front_setf(&r->front, "-q", d->rate > 0 ? ITEM "load.slots" : ITEM "load.outstanding",
		"%.0f", d->outstanding > 0 ? d->outstanding : 100);
}

static int set_ports(struct dnsperf *d)
{
	double last = d->port + fmax(d->is.clients, 1) - 1;

	if (d->port == 0)
		return 0;
	if (last > 65535)
		return as_refuse(
			&d->is.is, "-x %.0f -c %.0f: ports beyond 65535", d->port, d->is.clients);
	front_setf(&d->is.is.front, "-x", ITEM "source.ports", "%.0f-%.0f", d->port, last);
	return 0;
}

// Without -l and -n, the file is sent once.
static int set_end(struct dnsperf *d)
{
	struct as_run *r = &d->is.is;
	uint64_t lines;
	int err;

	if (d->limit_s == 0 && d->runs == 0)
		d->runs = 1;
	front_set(&r->front, "-l", "run.duration",
		d->limit_s > 0 ? arena_printf(r->arena, "%.9gs", d->limit_s) : "100h");
	if (d->runs == 0 && r->options->dump)
		return 0;
	err = queries_count(r, &lines);
	if (!err && lines == 0 && !d->is.binary)
		return as_refuse(r, "Error: input file contains no data that can be sent");
	if (!err && lines == 0) { // like dnsperf, which tries to send all of them
		json_t *nothing = json_pack("{s:i,s:i,s:i}", "sent", 0, "lost", 0, "no_reply", 0);

		print_statistics(d, nothing);
		json_decref(nothing);
		return AS_DONE;
	}
	if (!err && d->runs > 0)
		front_setf(&r->front, "-n", ITEM "load.total", "%.0f", d->runs * (double)lines);
	return err;
}

static const char *const words[][2] = {
	{"load.slots, or add source ports or addresses, or shorten the timeout",
		"-q, or shorten -t"},
	{"load.slots", "-q"}, {"tcp.connections or tcp.pipeline", "-c or -q"},
	{"tcp.connections", "-c"}, {NULL, NULL}};

static int finish(struct as_run *r)
{
	struct dnsperf *d = own(r);
	int err = queries_prepare(r, "DNS Performance Testing Tool", "5s");

	r->front.words = words;
	if (err)
		return err;
	if (d->is.updates && d->is.binary)
		return as_refuse(r, "-u and -B: the file is either of text or of messages");
	if (d->verbose && d->is.tcp)
		as_note(r, "-v has no effect: there are no lines of queries on connections");
	d->verbose &= !d->is.tcp;
	if (d->every_s > 0)
		front_setf(&r->front, "-S", "run.interval", "%.9gs", d->every_s);
	if (d->is.clients > 1 && d->port == 0 && !d->is.tcp)
		as_note(r,
			"-c has no effect without -x: there are as many source ports as the load "
			"needs");
	d->is.most_per_s = d->rate;
	err = queries_finish(r, "-s", "-d");
	set_load(d);
	if (!err)
		err = set_ports(d);
	if (!err)
		err = set_end(d);
	d->packets = -1;
	if (!err && d->verbose)
		err = front_packets_begin(r, "-v", "[answered, failed, lost]", &d->packets);
	r->front.output = (struct front_output){on_line, on_end, d};
	return err;
}

const struct as_tool front_dnsperf = {.name = "dnsperf",
	.version = "2.10.0",
	.options = options,
	.size = sizeof(struct dnsperf),
	.begin = queries_begin,
	.finish = finish,
	.error_code = 1};
