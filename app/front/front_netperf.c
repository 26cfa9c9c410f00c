// SPDX-License-Identifier: BSD-3-Clause
// ddiperf as netperf 2.7: the tests that an echo or discard server can answer, over kernel sockets.
// Instead of netserver, a `ddiperf serve` starts the far end (far.h); with -N there is no such
// server. Path: cold. Main thread.
#include <ctype.h>
#include <getopt.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/nearest.h"
#include "document/document_reader.h"
#include "run/commands.h"
#include "web/far.h"
#include "format/format.h"
#include "format/format_netperf.h"
#include "format/format_select.h"
#include "format/format_walk.h"
#include "front/front_as.h"
#include "follow/run_events.h"

#define ITEM         "traffic.path."
#define ECHO         ITEM "echo."
#define CONTROL_PORT 12865
#define FAR_FIRST    20000 // ports for the far end's data, chosen by process ID
#define FAR_PORTS    12000
#define PORT_ECHO    "7"
#define PORT_DISCARD "9"
#define SIZE_MOST    65000 // maximum message
#define HEADER       20    // header of a message, which contains the length of the reply
#define UDP_MOST     1452  // maximum UDP payload: a packet of 1500 bytes, including IPv6
#define STREAM_SIZE  16384 // message size over TCP
#define IN_FLIGHT    8     // messages in flight in a one-way test over TCP
#define NOT_KNOWN    (-1)

enum way { WAY_SEND = 1, WAY_RECEIVE = 2, WAY_BOTH = 3 };
enum output { OUTPUT_TABLE, OUTPUT_CSV, OUTPUT_KEYVAL };

struct netperf_run {
	struct as_run is;
	const char *title, *host, *data_host, *source;
	const char *local_port, *remote_port, *ports_from, *ports_to;
	int family;
	bool tcp, connects, omni;
	unsigned way; // enum way; 0: only connections
	double length, interval_s, burst, parallel;
	uint64_t sizes[2];     // -r: request, reply; 0: not given
	uint64_t sends[2];     // -m: here, at the far end; 0: not given
	uint64_t buffers[2];   // -s: send, receive; 0: the kernel's
	uint64_t effective[2]; // as granted by the kernel
	uint64_t runs[2];      // -i: most, least
	double level, width;   // -I
	bool cpu, remote_cpu, no_control;
	const char *headers;   // -P; "0": none
	const char *verbosity; // -v
	char units;
	enum output output;
	const char *select; // NULL: the default ones
	double control_port;
	const char *token;
	uint64_t far_buffers[2]; // -S, as -s
	double far_cpu;          // NOT_KNOWN: not given
	struct far far;
	json_t *far_result; // NULL: none
};

static struct netperf_run *own(struct as_run *r)
{
	return (struct netperf_run *)r;
}

static const struct test {
	const char *name, *title;
	bool tcp, connects;
	unsigned way;
} tests[] = {
	{"TCP_STREAM", "TCP STREAM TEST", true, false, WAY_SEND},
	{"TCP_MAERTS", "TCP MAERTS TEST", true, false, WAY_RECEIVE},
	{"TCP_RR", "TCP REQUEST/RESPONSE TEST", true, false, WAY_BOTH},
	{"TCP_CRR", "TCP Connect/Request/Response TEST", true, true, WAY_BOTH},
	{"TCP_CC", "TCP Connect/Close TEST", true, true, 0},
	{"UDP_STREAM", "UDP STREAM TEST", false, false, WAY_SEND},
	{"UDP_RR", "UDP REQUEST/RESPONSE TEST", false, false, WAY_BOTH},
	{"OMNI", "OMNI TEST", true, false, 0},
};

// --- values ---

// netperf's suffixes: K, M, G are powers of 1024, k, m, g of 1000.
static int size_of(const struct as_run *r, const char *text, int64_t *out)
{
	static const char letters[] = "KMGkmg";
	static const double units[] = {1 << 10, 1 << 20, 1 << 30, 1e3, 1e6, 1e9};
	char *end;
	double n = strtod(text, &end);
	const char *unit = *end ? strchr(letters, *end) : NULL;

	if (end == text || (*end && (!unit || end[1])) || !(fabs(n) < 1e12))
		return as_refuse(
			r, "-%c %s: not a number, with K, M, G, k, m or g", r->row->letter, text);
	*out = (int64_t)(unit ? n * units[unit - letters] : n);
	return 0;
}

// "A,B", "A", ",B", "A,". both: "A" also sets B.
static void split(const struct as_run *r, const char *text, bool both, const char *out[2])
{
	const char *comma = strchr(text, ',');

	out[0] = comma ? arena_printf(r->arena, "%.*s", (int)(comma - text), text) : text;
	out[1] = comma ? comma + 1 : both ? text : "";
}

// Set the two numbers at the row's place, within its bounds. both: "A" also sets B.
static int set_pair(struct as_run *r, const char *text, bool both)
{
	uint64_t *to = as_place(r);
	const char *part[2];
	int64_t n;

	split(r, text, both, part);
	for (int i = 0; i < 2; i++) {
		if (!*part[i])
			continue;
		if (size_of(r, part[i], &n))
			return r->tool->error_code;
		if ((double)n < r->row->least || (double)n > r->row->most)
			return as_refuse(r, "-%c %s: not within %.0f and %.0f", r->row->letter,
				part[i], r->row->least, r->row->most);
		to[i] = (uint64_t)n;
	}
	return 0;
}

static int set_sizes(struct as_run *r, const char *value)
{
	return set_pair(r, value, true);
}

// Set the number before the comma.
static int set_first(struct as_run *r, const char *value)
{
	const char *part[2];

	split(r, value, false, part);
	return as_number(r, r->row->letter, part[0], r->row->least, r->row->most, as_place(r));
}

static const char *bytes(const struct as_run *r, uint64_t n)
{
	return arena_printf(r->arena, "%lluB", (unsigned long long)n);
}

static const char *in_lower_case(const struct as_run *r, const char *value)
{
	char *word = arena_strdup(r->arena, value);

	for (char *c = word; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return word;
}

// The next word, if it can be an option's argument.
static const char *word_behind(const struct as_run *r, bool number)
{
	const char *next = optind < r->argc ? r->argv[optind] : NULL;

	if (!next || next[0] == '-' || (number && !isdigit((unsigned char)next[0])))
		return NULL;
	optind++;
	return next;
}

// --- options before "--" ---

static int set_test(struct as_run *r, const char *value)
{
	struct netperf_run *d = own(r);

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		if (strcasecmp(tests[i].name, value) == 0) {
			d->title = tests[i].title;
			d->tcp = tests[i].tcp;
			d->connects = tests[i].connects;
			d->way = tests[i].way;
			d->omni = strcmp(tests[i].name, "OMNI") == 0;
			return 0;
		}
	return as_refuse(r,
		"-t %s: not a test of UDP or TCP that ddiperf has (TCP_STREAM, TCP_MAERTS, TCP_RR, "
		"TCP_CRR, TCP_CC, UDP_STREAM, UDP_RR, OMNI)",
		value);
}

static int set_family(struct as_run *r, const char *value)
{
	own(r)->family = r->row->letter == '4' ? AF_INET : AF_INET6;
	return 0;
}

// "HOST[/WIDTH][,FAMILY]"
static int set_host(struct as_run *r, const char *value)
{
	const char *part[2];

	split(r, value, false, part);
	if (strchr(part[0], '/'))
		return as_refuse(r, "-%c %s: each test has one address", r->row->letter, part[0]);
	part[1] = in_lower_case(r, part[1]);
	if (word_is_among(part[1], "4 inet"))
		own(r)->family = AF_INET;
	else if (word_is_among(part[1], "6 inet6"))
		own(r)->family = AF_INET6;
	else if (*part[1] && !word_is_among(part[1], "unspec 0"))
		return as_refuse(r, "-%c %s: not a family (4 or 6)", r->row->letter, part[1]);
	if (*part[0])
		*(const char **)as_place(r) = part[0];
	return 0;
}

static int set_cpu(struct as_run *r, const char *value)
{
	if (word_behind(r, true))
		as_note(r, "-%c: the rate of the CPU is not needed", r->row->letter);
	*(bool *)as_place(r) = true;
	return 0;
}

static int set_units(struct as_run *r, const char *value)
{
	if (strlen(value) != 1 || !strchr("GMKgmkx", value[0]))
		return as_refuse(r, "-f %s: one of G, M, K, g, m, k, x", value);
	own(r)->units = value[0];
	return 0;
}

static int set_runs(struct as_run *r, const char *value)
{
	uint64_t *runs = own(r)->runs;
	int err = set_pair(r, value, true);

	runs[0] = runs[0] < runs[1] ? runs[1] : runs[0];
	return err;
}

static int set_confidence(struct as_run *r, const char *value)
{
	struct netperf_run *d = own(r);
	const char *part[2];
	int err;

	split(r, value, false, part);
	err = as_number(r, 'I', part[0], 1, 99.9, &d->level);
	return err || !*part[1] ? err : as_number(r, 'I', part[1], 0.01, 100, &d->width);
}

static int set_length(struct as_run *r, const char *value)
{
	int64_t n = 0;
	int err = size_of(r, value, &n);

	own(r)->length = (double)n;
	return err || n ? err : as_refuse(r, "-l 0: such a run has no end");
}

static int set_cpus(struct as_run *r, const char *value)
{
	const char *part[2];

	split(r, value, false, part);
	if (*part[0])
		front_add(&r->front, "-T", "ports.lan.cpus", part[0]);
	own(r)->far_cpu = NOT_KNOWN;
	return *part[1] ? as_number(r, 'T', part[1], 0, 4095, &own(r)->far_cpu) : 0;
}

// Wipes the token, because the command line is stored in the result.
static int set_token(struct as_run *r, const char *value)
{
	own(r)->token = arena_strdup(r->arena, value);
	if (strpbrk(value, " \r\n\t"))
		return as_refuse(r, "-Z: a token has no spaces");
	memset((char *)(uintptr_t)value, 'x', strlen(value));
	return 0;
}

static int show_version(struct as_run *r, const char *value)
{
	printf("Netperf version %s (ddiperf %s)\n", r->tool->version, DDIPERF_VERSION);
	return AS_DONE;
}

#define MEMBER(member)           .place = offsetof(struct netperf_run, member)
#define NUMBER(member, from, to) MEMBER(member), .least = (from), .most = (to)

#define OF_BUFFERS "the driver decides where messages lie in memory"

static const struct as_option options[] = {
	{'4', NULL, NULL, "IPv4", .set = set_family},
	{'6', NULL, NULL, "IPv6", .set = set_family},
	{'a', NULL, "SEND,RECV", "", .ignored = OF_BUFFERS},
	{'A', NULL, "SEND,RECV", "", .ignored = OF_BUFFERS},
	{'b', NULL, "COUNT", "",
		.refused = "a load of bursts is load.burst: {size: COUNT, every: TIME} of a file"},
	{'B', NULL, "TEXT", "brand of the result, behind the figures", "run.note"},
	{'c', NULL, NULL, "print the use of this host's CPUs", MEMBER(cpu), .set = set_cpu},
	{'C', NULL, NULL, "print the use of the far end's CPUs", MEMBER(remote_cpu),
		.set = set_cpu},
	{'d', NULL, NULL, "", .ignored = "--json OUT has all figures"},
	{'D', NULL, "SECONDS", "interim results", NUMBER(interval_s, 0.01, 1e6), .set = set_first},
	{'f', NULL, "UNITS", "of the throughput: G, M, K, g, m, k, x", .set = set_units},
	{'F', NULL, "FILE", "",
		.refused = "`--set traffic.path.echo.fill=random`, zeros, hex or counting fills "
			   "messages"},
	{'h', NULL, NULL, "this list", .set = as_show_options},
	{'H', NULL, "HOST[,FAMILY]", "the far end; default: localhost", MEMBER(host),
		.set = set_host},
	{'i', NULL, "MOST[,LEAST]", "runs until the confidence of -I", NUMBER(runs, 1, 1000),
		.set = set_runs},
	{'I', NULL, "LEVEL[,WIDTH]", "confidence of the mean, percent", .set = set_confidence},
	{'j', NULL, NULL, "", .ignored = "statistics are always kept"},
	{'k', NULL, "DIRTY,CLEAN", "", .refused = OF_BUFFERS},
	{'K', NULL, "DIRTY,CLEAN", "", .refused = OF_BUFFERS},
	{'l', NULL, "SECONDS", "length; below 0: transactions, or bytes", .set = set_length},
	{'L', NULL, "ADDRESS[,FAMILY]", "source address", MEMBER(source), .set = set_host},
	{'n', NULL, "CPUS", "", .ignored = "the CPUs of the host are known"},
	{'N', NULL, NULL, "no control connection: an echo or discard server is there",
		MEMBER(no_control)},
	{'o', NULL, "SEND,RECV", "", .refused = OF_BUFFERS},
	{'O', NULL, "SEND,RECV", "", .refused = OF_BUFFERS},
	{'p', NULL, "PORT", "of the `ddiperf serve` at the far end; default: 12865",
		NUMBER(control_port, 1, 65535), .set = set_first},
	{'P', NULL, "0|1", "without or with headings", MEMBER(headers)},
	{'r', NULL, NULL, "", .ignored = "only the result is held against -I"},
	{'s', NULL, "SECONDS", "", .refused = "`sleep SECONDS` before the command waits"},
	{'S', NULL, NULL, "", .ignored = "no connection is idle for so long"},
	{'t', NULL, "TEST", "test", .set = set_test},
	{'T', NULL, "CPU[,CPU]", "CPU of the worker, and of the far end's worker", .set = set_cpus},
	{'v', NULL, "LEVEL", "0: the figure alone", MEMBER(verbosity)},
	{'V', NULL, NULL, "the version", .set = show_version},
	{'w', NULL, "TIME", "",
		.refused = "a load of bursts is load.burst: {size: COUNT, every: TIME} of a file"},
	{'W', NULL, "SEND,RECV", "", .ignored = OF_BUFFERS},
	{'y', NULL, "LOCAL,REMOTE", "", .refused = "the priority of sockets is the kernel's"},
	{'Y', NULL, "LOCAL,REMOTE", "", .refused = "packets have no mark (DSCP 0)"},
	{'Z', NULL, "TOKEN", "of the `ddiperf serve` at the far end", .set = set_token},
	{0},
};

// --- options after "--" ---

static int set_direction(struct as_run *r, const char *value)
{
	const char *word = in_lower_case(r, value);
	unsigned way = word_is_among(word, "send stream transmit xmit 2")          ? WAY_SEND
	               : word_is_among(word, "receive recv maerts 4")              ? WAY_RECEIVE
	               : word_is_among(word, "rr send|recv recv|send xmit|recv 6") ? WAY_BOTH
	                                                                           : 0;

	if (!way)
		return as_refuse(r, "-d %s: send, recv or rr", value);
	if (own(r)->omni)
		own(r)->way = way;
	return 0;
}

static int set_protocol(struct as_run *r, const char *value)
{
	const char *word = in_lower_case(r, value);

	own(r)->tcp = word_is_among(word, "tcp stream");
	if (own(r)->tcp || word_is_among(word, "udp dgram datagram"))
		return 0;
	return as_refuse(r, "-%c %s: ddiperf has UDP and TCP", r->row->letter, value);
}

static int set_exchange(struct as_run *r, const char *value)
{
	if (own(r)->omni)
		own(r)->way = WAY_BOTH;
	return set_pair(r, value, true);
}

static int set_message(struct as_run *r, const char *value)
{
	struct netperf_run *d = own(r);
	int err = set_pair(r, value, false);

	if (d->omni)
		d->way |= (d->sends[0] ? WAY_SEND : 0) | (d->sends[1] ? WAY_RECEIVE : 0);
	return err;
}

static int set_ports(struct as_run *r, const char *value)
{
	const char *part[2];

	split(r, value, true, part);
	own(r)->local_port = *part[0] && strcmp(part[0], "0") != 0 ? part[0] : NULL;
	own(r)->remote_port = *part[1] && strcmp(part[1], "0") != 0 ? part[1] : NULL;
	return 0;
}

static int set_client_ports(struct as_run *r, const char *value)
{
	const char *part[2];

	split(r, value, true, part);
	own(r)->ports_from = part[0];
	own(r)->ports_to = part[1];
	return 0;
}

static int set_output(struct as_run *r, const char *value)
{
	struct netperf_run *d = own(r);

	d->output = r->row->letter == 'k' ? OUTPUT_KEYVAL : OUTPUT_CSV;
	d->select = word_behind(r, false);
	if (!d->select || strcmp(d->select, "?") != 0)
		return 0;
	select_list(NULL, stdout);
	return AS_DONE;
}

static const struct as_option test_options[] = {
	{'4', NULL, NULL, "IPv4", .set = set_family},
	{'6', NULL, NULL, "IPv6", .set = set_family},
	{'a', NULL, NULL, "", .refused = "TCP_DEFER_ACCEPT is not set"},
	{'B', NULL, NULL, "", .ignored = "each socket has one address"},
	{'b', NULL, "COUNT", "requests in flight beside the one", NUMBER(burst, 0, 1e6)},
	{'c', NULL, NULL, "a connection for each transaction", MEMBER(connects)},
	{'C', NULL, NULL, "", .refused = "TCP_CORK is not set"},
	{'d', NULL, "WAY", "send, recv or rr, of an omni test", .set = set_direction},
	{'D', NULL, NULL, "TCP_NODELAY, as always here"},
	{'e', NULL, "SECONDS", "time that a reply may take", ITEM "timeout", FRONT_SECONDS},
	{'f', NULL, NULL, "", .refused = "path MTU discovery is as the host has it"},
	{'F', NULL, NULL, "", .refused = "TCP Fast Open is not there"},
	{'g', NULL, NULL, "", .refused = "SO_DEBUG is not set"},
	{'G', NULL, "BYTES", "", .refused = "the kernel chooses the size of segments"},
	{'h', NULL, NULL, "this list", .set = as_show_options},
	{'H', NULL, "HOST[,FAMILY]", "the far end, in place of the other -H", MEMBER(data_host),
		.set = set_host},
	{'i', NULL, "TIME", "", .refused = "netperf has removed it, too"},
	{'I', NULL, NULL, "", .ignored = "the driver chooses the calls"},
	{'j', NULL, "COUNT", "connections at a time", NUMBER(parallel, 1, 1e4)},
	{'k', NULL, NULL, "figures as NAME=VALUE; a list of names may follow", .set = set_output},
	{'K', NULL, "NAME", "", .refused = "congestion control is as the host has it"},
	{'l', NULL, "TTL", "", .refused = "no test is multicast"},
	{'L', NULL, "ADDRESS[,FAMILY]", "source address", MEMBER(source), .set = set_host},
	{'m', NULL, "LOCAL[,REMOTE]", "bytes of a message of a test one way",
		NUMBER(sends, 1, SIZE_MOST), .set = set_message},
	{'M', NULL, "REMOTE[,LOCAL]", "", .refused = "both ends read all available data"},
	{'n', NULL, NULL, "", .ignored = "sockets of UDP are connected"},
	{'N', NULL, NULL, "", .refused = "the sockets of a responder are not connected"},
	{'o', NULL, NULL, "figures as CSV; a list of names may follow", .set = set_output},
	{'O', NULL, NULL, "", .refused = "columns of chosen figures are not there (-o or -k)"},
	{'p', NULL, "FROM[,TO]", "source ports of connections", .set = set_client_ports},
	{'P', NULL, "LOCAL[,REMOTE]", "source port, and port of the far end", .set = set_ports},
	{'q', NULL, "RATE", "", .refused = "`--set traffic.path.load.rate=RATE` paces messages"},
	{'r', NULL, "REQUEST[,RESPONSE]", "bytes each way", NUMBER(sizes, 1, SIZE_MOST),
		.set = set_exchange},
	{'R', NULL, "0|1", "", .ignored = "the host has its routes"},
	{'s', NULL, "SEND[,RECV]", "buffers of the sockets here", NUMBER(buffers, 0, 1 << 30),
		.set = set_sizes},
	{'S', NULL, "SEND[,RECV]", "the same at the far end", NUMBER(far_buffers, 0, 1 << 30),
		.set = set_sizes},
	{'t', NULL, "TYPE", "stream or dgram, of an omni test", .set = set_protocol},
	{'T', NULL, "PROTOCOL", "tcp or udp, of an omni test", .set = set_protocol},
	{'u', NULL, "UUID", "", .refused = "run.id is each run's own"},
	{'U', NULL, NULL, "", .ignored = "a connection that fails is counted"},
	{'V', NULL, NULL, "", .ignored = "the driver chooses the calls"},
	{'w', NULL, "TIME", "", .refused = "netperf does nothing with it, either"},
	{'W', NULL, "SEND", "", .ignored = OF_BUFFERS},
	{0},
};

// --- output ---

static bool one_way(const struct netperf_run *d)
{
	return d->way == WAY_SEND || d->way == WAY_RECEIVE;
}

static char units_of(const struct netperf_run *d)
{
	return d->units && !(d->units == 'x' && one_way(d)) ? d->units : one_way(d) ? 'm' : 'x';
}

static void on_line(void *ctx, const json_t *line)
{
	struct netperf_run *d = ctx;
	double length_s = document_number(line, "length_s");
	struct netperf_rate rate;
	struct timespec now;

	if (json_object_get(line, LINE_BEGIN) && !d->far.measured && d->far.id[0])
		far_measure(&d->far);
	far_keep(&d->far);
	if (!(d->interval_s > 0) || !(length_s > 0) || !json_object_get(line, "traffic"))
		return;
	rate = netperf_throughput(line, units_of(d));
	clock_gettime(CLOCK_REALTIME, &now);
	printf("Interim result: %7.2f %s over %.3f seconds ending at %lld.%.3ld\n", rate.value,
		rate.unit, length_s, (long long)now.tv_sec, now.tv_nsec / 1000000);
	fflush(stdout);
}

// Take the far end's part of the document: its CPUs and its counts.
static void take_far(struct netperf_run *d, json_t *document)
{
	json_t *dut, *far;

	if (!d->far.id[0])
		return;
	far_measure(&d->far);
	dut = far_cpu(&d->far);
	d->far_result = far_close(&d->far);
	far = json_object_get(d->far_result, "responder");
	if (dut)
		json_object_set_new(document, "dut", dut);
	if (far)
		json_object_set_new(document, "peer",
			json_pack("{s:f, s:f}", "received", document_number(far, "received"),
				"answered", document_number(far, "answered")));
}

static double figure_of(const struct netperf_run *d, const json_t *flat,
	const struct document_reader *b, const char *name)
{
	const struct netperf n = {b->document, flat, units_of(d), d->is.arena};
	const char *text = netperf_text(&n, name, ITEM);

	return *text ? strtod(text, NULL) : NOT_KNOWN;
}

// One row per kind of test: one-way datagrams, one-way stream, exchanges.
static const struct {
	const char *heading, *line;
} tables[] = {
	{"Socket  Message  Elapsed      Messages\n"
	 "Size    Size     Time         Okay Errors   Throughput{cpus}\n"
	 "bytes   bytes    secs            #      #   {unit}{cpu_units}\n\n",
		"{buffer:%6.0f}  {message:%6.0f}   {elapsed:%-7.2f}   {sent:%7.0f} {unsent:%6.0f}  "
		"  "
		"{rate:%7.2f}{cpu}   {brand}\n"
		"<{?came}{far_buffer:%6.0f}           {elapsed:%-7.2f}   {come:%7.0f}           "
		"{rate * come / sent:%7.2f}\n>"},
	{"Recv   Send    Send\nSocket Socket  Message  Elapsed\n"
	 "Size   Size    Size     Time     Throughput{cpus}\n"
	 "bytes  bytes   bytes    secs.    {unit}{cpu_units}\n\n",
		"    -1 {buffer:%6.0f} {message:%6.0f}    {elapsed:%-6.2f}   {rate:%7.2f}{cpu}   "
		"{brand}\n"},
	{"Local /Remote\nSocket Size   Request  Resp.   Elapsed  Trans.{cpus}\n"
	 "Send   Recv   Size     Size    Time     Rate   {cpu_units}\n"
	 "bytes  Bytes  bytes    bytes   secs.    {unit}\n\n",
		"{buffer:%-6.0f} {receive_buffer:%-6.0f} {request:%-6.0f}   {reply:%-6.0f}  "
		"{elapsed:%-6.2f}   {rate:%7.2f}{cpu}   {brand}\n-1     -1    \n"},
};

// The figures sent, and the figures that arrived if the far end was asked.
static json_t *figures_of(const struct netperf_run *d, const struct document_reader *b)
{
	struct netperf_rate rate = netperf_throughput(b->document, units_of(d));
	const json_t *item = json_array_get(json_object_get(b->document, "traffic"), 0);
	json_t *flat = walk_flat_document(b, true), *out;
	double come = figure_of(d, flat, b, "REMOTE_RECV_CALLS");
	bool cpu = d->cpu || d->remote_cpu;

	out = json_pack("{s:s,s:s,s:s,s:s,s:s,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:i}",
		"brand", document_text(b->document, "run.note"), "unit",
		units_of(d) == 'x' ? "per sec" : rate.unit, "cpus",
		cpu ? "  CPU    CPU    S.dem   S.dem" : "", "cpu_units",
		cpu ? "  local  remote local   remote" : "", "cpu",
		!cpu ? ""
		     : arena_printf(d->is.arena, "   %-6.2f %-6.2f %-6.3f  %-6.3f",
			       d->cpu ? figure_of(d, flat, b, "LOCAL_CPU_UTIL") : NOT_KNOWN,
			       d->remote_cpu ? figure_of(d, flat, b, "REMOTE_CPU_UTIL") : NOT_KNOWN,
			       d->cpu ? figure_of(d, flat, b, "LOCAL_SD") : NOT_KNOWN,
			       d->remote_cpu ? figure_of(d, flat, b, "REMOTE_SD") : NOT_KNOWN),
		"rate", rate.value, "elapsed",
		fmax(document_number(b->document, "run.measured_s"), 0), "buffer",
		(double)d->effective[0], "receive_buffer", (double)d->effective[1], "far_buffer",
		(double)d->far_buffers[1], "message", (double)d->sends[d->way != WAY_SEND],
		"request", (double)d->sizes[0], "reply", (double)d->sizes[1], "sent",
		fmax(document_number(item, "sent"), 0), "unsent",
		fmax(document_number(item, "unsent"), 0), "come", come, "came", come >= 0);
	json_decref(flat);
	return out;
}

static void print_table(const struct netperf_run *d, const struct document_reader *b)
{
	json_t *figures = figures_of(d, b);
	unsigned kind = !one_way(d) ? 2 : d->tcp || d->way != WAY_SEND;

	if (atoi(d->verbosity) == 0) {
		document_fill(figures, "{rate:%7.2f} {brand}\n", stdout);
	} else {
		if (strcmp(d->headers, "0") != 0)
			document_fill(figures, tables[kind].heading, stdout);
		document_fill(figures, tables[kind].line, stdout);
	}
	json_decref(figures);
}

#define USUAL                                                                                      \
	"PROTOCOL,DIRECTION,ELAPSED_TIME,THROUGHPUT,THROUGHPUT_UNITS,TRANSACTION_RATE,"            \
	"MEAN_LATENCY,P50_LATENCY,P90_LATENCY,P99_LATENCY,LOCAL_CPU_UTIL,LOCAL_SD"

static int on_end(void *ctx, struct document_reader *b, int code)
{
	struct netperf_run *d = ctx;
	double answered = 0;
	json_t *item;
	size_t i;

	take_far(d, b->document);
	if (d->output != OUTPUT_TABLE) {
		const struct format *f = format_find(d->output == OUTPUT_KEYVAL ? "keyval" : "csv");
		const struct format_input in = {
			&b, 1, d->select ? d->select : USUAL, units_of(d), NULL};

		if (f->write(&in, stdout) < 0)
			return d->is.tool->error_code;
	} else {
		print_table(d, b);
	}
	json_array_foreach(json_object_get(b->document, "traffic"), i, item) answered +=
		document_number(item, "answered") + document_number(item, "no_reply");
	json_decref(d->far_result);
	return answered > 0 ? EXIT_PASS : d->is.tool->error_code;
}

// --- the file ---

// Determine the buffers that the kernel grants for -s, or its defaults. For UDP, the kernel's
// default replaces the driver's larger one; the kernel reports twice the requested value.
static void settle_buffers(struct netperf_run *d, int family)
{
	static const int names[2] = {SO_SNDBUF, SO_RCVBUF};
	static const char *const paths[2] = {"ports.lan.send_buffer", "ports.lan.receive_buffer"};
	int fd = socket(family, (d->tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0);

	for (int i = 0; i < 2; i++) {
		int value = (int)d->buffers[i], now = 0;
		socklen_t len = sizeof(now);

		if (fd >= 0 && value)
			setsockopt(fd, SOL_SOCKET, names[i], &value, sizeof(value));
		if (fd >= 0)
			getsockopt(fd, SOL_SOCKET, names[i], &now, &len);
		d->effective[i] = (uint64_t)now;
		if (!value && !d->tcp)
			value = now / 2;
		if (value)
			front_set(&d->is.front, "-s", paths[i], bytes(&d->is, (uint64_t)value));
	}
	if (fd >= 0)
		close(fd);
}

static void set_load(struct netperf_run *d)
{
	struct front *f = &d->is.front;
	double flights = d->parallel * (1 + d->burst), message = 1;

	if (d->way == WAY_SEND || d->way == WAY_RECEIVE)
		flights = d->parallel * fmax(IN_FLIGHT, 1 + d->burst);
	if (d->way == WAY_SEND && !d->tcp)
		front_set(f, NULL, ITEM "load.rate", "max");
	else
		front_setf(f, "-b", ITEM "load.outstanding", "%.0f", flights);
	if (d->tcp) {
		front_set(f, NULL, ECHO "transport", "tcp");
		front_setf(f, "-j", ECHO "tcp.connections", "%.0f", d->parallel);
	}
	if (d->connects)
		front_set(f, NULL, ECHO "tcp.queries_per_connection", "1");
	if (d->length > 0) {
		front_setf(f, "-l", "run.duration", "%.0fs", d->length);
		return;
	}
	front_set(f, "-l", "run.duration", "1h");
	if (one_way(d))
		message = (double)d->sends[d->way == WAY_RECEIVE];
	front_setf(f, "-l", ITEM "load.total", "%.0f", ceil(-d->length / message));
}

static void set_shape(struct netperf_run *d)
{
	struct front *f = &d->is.front;

	d->sends[0] = d->sends[0] ? d->sends[0] : d->tcp ? STREAM_SIZE : UDP_MOST;
	d->sends[1] = d->sends[1] ? d->sends[1] : STREAM_SIZE;
	d->sizes[0] = d->sizes[0] ? d->sizes[0] : 1;
	d->sizes[1] = d->sizes[1] ? d->sizes[1] : 1;
	switch (d->way) {
	case 0:
		front_set(f, NULL, ECHO "test", "connect");
		break;
	case WAY_SEND:
		front_set(f, NULL, ECHO "test", "stream");
		front_set(f, "-m", ECHO "size", bytes(&d->is, d->sends[0]));
		break;
	case WAY_RECEIVE: // each is requested by the shortest message that contains its length
		front_set(f, NULL, ECHO "size", "20B");
		front_set(f, "-m", ECHO "reply", bytes(&d->is, d->sends[1]));
		break;
	default:
		front_set(f, "-r", ECHO "size", bytes(&d->is, d->sizes[0]));
		if (d->sizes[1] != d->sizes[0])
			front_set(f, "-r", ECHO "reply", bytes(&d->is, d->sizes[1]));
	}
}

static void set_repeats(struct netperf_run *d)
{
	struct front *f = &d->is.front;

	if (!d->runs[0] && !(d->level > 0))
		return;
	front_setf(f, "-I", "run.repeat.confidence", "%g%%", d->level > 0 ? d->level : 99);
	front_setf(f, "-I", "run.repeat.width", "%g%%", d->width);
	front_setf(f, "-i", "run.repeat.min", "%llu",
		(unsigned long long)(d->runs[1] ? d->runs[1] : 3));
	front_setf(f, "-i", "run.repeat.max", "%llu",
		(unsigned long long)(d->runs[0] ? d->runs[0] : 10));
}

// A test of omni without a direction sends, except for connection tests.
static int check(struct netperf_run *d)
{
	const struct as_run *r = &d->is;
	bool probe = false;

	if (r->operand_count)
		return as_refuse(r, "unexpected argument: %s", r->operands[0]);
	if (d->omni && !d->way && !d->connects)
		d->way = WAY_SEND;
	for (unsigned i = 0; i < r->options->assignment_count; i++)
		probe |= strncmp(r->options->assignments[i], "dut.", 4) == 0;
	return as_check(r,
		(const struct as_check[]){
			{d->connects && !d->tcp, "-c is for TCP"},
			{d->connects && one_way(d),
				"-c does not work with a one-way test (use -d rr, or no -d)"},
			{d->way == WAY_RECEIVE && !d->tcp,
				"over UDP nothing arrives without a request (use -d rr)"},
			{d->remote_cpu && d->no_control && !probe,
				"-C: with -N there is no control connection to report it (--set "
				"dut.probe='ssh FAR cat /proc/stat' asks the far end)"},
			{d->no_control && (d->far_buffers[0] || d->far_buffers[1]),
				"-S: with -N there is no control connection to set it at the far "
				"end"},
			{!d->tcp && ((d->way == WAY_SEND && !d->no_control &&
					     d->sends[0] > UDP_MOST) ||
					    (d->way == WAY_BOTH &&
						    (d->sizes[0] > UDP_MOST ||
							    d->sizes[1] > UDP_MOST))),
				"more than 1452 bytes in a datagram come in fragments, for which "
				"driver: socket has no room"},
			{d->no_control && d->far_cpu >= 0, "-T: with -N there is no control "
							   "connection to set it at the far end"},
			{0},
		});
}

// The far end's configuration: sizes that are not in the messages, and its buffers.
static const char *far_file(const struct netperf_run *d, const struct addr *host, const char *port)
{
	static const char *const names[2] = {"send_buffer", "receive_buffer"};
	uint64_t request = d->way == WAY_SEND ? d->sends[0] : d->sizes[0];
	uint64_t reply = d->way == WAY_SEND ? 0 : d->sizes[1];
	const char *lan = "", *echo = "";
	struct arena *a = d->is.arena;
	char address[ADDR_TEXT_SIZE];

	for (int i = 0; i < 2; i++)
		if (d->far_buffers[i])
			lan = arena_printf(a, "%s, \"%s\": \"%s\"", lan, names[i],
				bytes(&d->is, d->far_buffers[i]));
	if (d->far_cpu >= 0)
		lan = arena_printf(a, "%s, \"cpus\": [%.0f]", lan, d->far_cpu);
	if (d->way & WAY_SEND && (request < HEADER || (d->way == WAY_BOTH && reply < HEADER)))
		echo = arena_printf(a, "\"request\": \"%s\", \"reply\": \"%s\"",
			bytes(&d->is, request), bytes(&d->is, reply));
	return arena_printf(a,
		"{\"host\": {\"idle\": \"sleep\"}, \"ports\": [{\"name\": \"" FAR_PORT
		"\", \"driver\": \"socket\", \"addresses\": [\"%s/%d\"]%s}], "
		"\"responder\": {\"server_port\": \"%s\", \"echo\": {%s}}}",
		addr_format(host, address, sizeof(address)), 8 * host->len, lan, port, echo);
}

static int open_far(struct netperf_run *d, const struct addr_server *server)
{
	struct as_run *r = &d->is;
	struct front *f = &r->front;
	const char *port = front_get(f, ITEM "server_port");
	int err;

	d->far = (struct far){.token = d->token, .arena = r->arena};
	err = front_look_up(f, d->host ? d->host : "localhost", d->family, &d->far.at);
	if (err)
		return err;
	d->far.at.port = (uint16_t)d->control_port;
	if (far_open(&d->far, far_file(d, &server->addr, port), (uint16_t)atoi(port)) < 0)
		return r->tool->error_code;
	return 0;
}

static int finish(struct as_run *r)
{
	struct netperf_run *d = own(r);
	const char *host = d->data_host ? d->data_host : d->host ? d->host : "localhost";
	struct front *f = &r->front;
	struct addr_server server;
	int err = check(d);

	if (!err)
		err = front_look_up(f, host, d->family, &server);
	if (err)
		return err;
	front_set(f, NULL, "run.warmup", "0s");
	if (d->interval_s > 0)
		front_setf(f, "-D", "run.interval", "%.9gs", d->interval_s);
	front_set(f, NULL, "ports.lan.driver", "socket");
	if (d->source)
		front_take(f, FRONT_PREFIX, "-L", "ports.lan.addresses", d->source);
	settle_buffers(d, server.addr.len == 4 ? AF_INET : AF_INET6);
	front_set(f, "-H", ITEM "server", front_server(f, &server));
	front_set(f, "-P", ITEM "server_port",
		d->remote_port   ? d->remote_port
		: !d->no_control ? arena_printf(r->arena, "%d", FAR_FIRST + getpid() % FAR_PORTS)
		: d->way == WAY_SEND ? PORT_DISCARD
				     : PORT_ECHO);
	if (d->local_port)
		front_add(f, "-P", ITEM "source.ports", d->local_port);
	else if (d->ports_from)
		front_add(f, "-p", ITEM "source.ports",
			arena_printf(r->arena, "%s-%s", d->ports_from, d->ports_to));
	set_shape(d);
	set_load(d);
	set_repeats(d);
	if (!d->no_control && !r->options->dump)
		err = open_far(d, &server);
	if (err)
		return err;
	if (strcmp(d->headers, "0") != 0 && atoi(d->verbosity) > 0 && d->output == OUTPUT_TABLE &&
		!r->options->dump)
		printf("%s to %s (%s) port %s\n", d->title, host, front_server(f, &server),
			front_get(f, ITEM "server_port"));
	f->output = (struct front_output){on_line, on_end, d};
	return 0;
}

static void begin(struct as_run *r)
{
	struct netperf_run *d = own(r);

	d->title = tests[0].title;
	d->tcp = true;
	d->way = WAY_SEND;
	d->length = 10;
	d->control_port = CONTROL_PORT;
	d->far_cpu = NOT_KNOWN;
	d->parallel = 1;
	d->width = 5;
	d->headers = d->verbosity = "1";
}

const struct as_tool front_netperf = {.name = "netperf",
	.version = "2.7.1",
	.options = options,
	.more = test_options,
	.size = sizeof(struct netperf_run),
	.begin = begin,
	.finish = finish,
	.error_code = 1};
