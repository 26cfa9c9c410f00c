// SPDX-License-Identifier: BSD-3-Clause
// The output of perfdhcp 2.2, from the result of a run. Labels match the original to the letter,
// even odd ones; figures that are wrong in the original are correct here, with a note. Path: cold.
// Main thread.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "document/document_reader.h"
#include "engine/run/run.h"
#include "front/perfdhcp/front_perfdhcp.h"
#include "follow/run_events.h"

#define CODE_LOST 3 // exit code: exchanges were not successful
#define BLOCKS    4

// --- before the run

static void print_numbered(const struct perfdhcp *p, char letter, const char *format)
{
	const char *value;

	for (unsigned i = 0; (value = perfdhcp_nth(p, letter, i)); i++)
		printf(format, i, value);
}

// A row of -x a. Terminated by {0}.
struct decoded {
	char letter;
	const char *name;
	const char *numbered; // format for repeated options; NULL: the name and the last value
	const char *without;  // value if the option is absent; NULL: no line
};

static void print_rows(const struct perfdhcp *p, const struct decoded *row)
{
	for (; row->letter; row++) {
		const char *value = perfdhcp_value(p, row->letter);

		if (row->numbered)
			print_numbered(p, row->letter, row->numbered);
		else if (value && strcmp(value, "0") != 0)
			printf("%s=%s\n", row->name, value);
		else if (!value && perfdhcp_times(p, row->letter))
			puts(row->name);
		else if (row->without)
			printf("%s=%s\n", row->name, row->without);
	}
}

static void print_drops(const struct perfdhcp *p)
{
	const char *value;
	unsigned counts = 0, shares = 0;

	for (unsigned i = 0; i < 2; i++) {
		value = perfdhcp_nth(p, 'd', i);
		printf("drop-time[%u]=%g\n", i,
			p->avalanche ? 1000
			: value      ? strtod(value, NULL)
				     : 1);
	}
	for (unsigned i = 0; (value = perfdhcp_nth(p, 'D', i)); i++)
		if (!strchr(value, '%'))
			printf("max-drop{%u]=%s\n", counts++, value);
	for (unsigned i = 0; (value = perfdhcp_nth(p, 'D', i)); i++)
		if (strchr(value, '%'))
			printf("max-pdrop{%u]=%g\n", shares++, strtod(value, NULL));
}

// Without YAML quotes, and with this text between bytes.
static void put_mac(const char *mac, const char *between)
{
	for (; *mac; mac++)
		if (*mac == ':')
			fputs(between, stdout);
		else if (*mac != '"')
			putchar(*mac);
}

// MAC and DUID of the first client.
static void print_identity(const struct perfdhcp *p)
{
	const char *family = p->v6 ? "traffic.leases.dhcp6" : "traffic.leases.dhcp4";
	const char *mac = front_get(&p->run.front, arena_printf(p->run.arena, "%s.mac", family));
	const char *duid =
		front_get(&p->run.front, arena_printf(p->run.arena, "%s.duid_hex", family));

	fputs("Set MAC to ", stdout);
	put_mac(mac ? mac : "00:0c:01:02:03:04", "::");
	fputs("\nSet DUID to ", stdout);
	if (!duid) { // not in any message
		printf("%s000c01020304\n", p->duid);
		return;
	}
	duid += *duid == '"';
	printf("%.*s", (int)strcspn(duid, "{\""), duid);
	if (strchr(duid, '{') && mac)
		put_mac(mac, "");
	putchar('\n');
}

static void print_decoded(const struct perfdhcp *p)
{
	static const struct decoded first[] = {{'r', "rate[1/s]", NULL, NULL},
		{'f', "renew-rate[1/s]", NULL, NULL}, {'F', "release-rate[1/s]", NULL, NULL},
		{'t', "report[s]", NULL, NULL}, {'R', "clients", NULL, NULL},
		{'b', NULL, "base[%u]=%s\n", NULL}, {'n', NULL, "num-request[%u]=%s\n", NULL},
		{'p', "test-period", NULL, NULL}, {0}};
	static const struct decoded last[] = {{'P', "preload", NULL, NULL},
		{'L', "local-port", NULL, NULL}, {'N', "remote-port", NULL, NULL},
		{'s', "seed", NULL, NULL}, {'B', "broadcast", NULL, NULL},
		{'c', "rapid-commit", NULL, NULL}, {'1', "use-first", NULL, NULL},
		{'M', "mac-list-file", NULL, NULL}, {'T', NULL, "template-file[%u]=%s\n", NULL},
		{'X', NULL, "xid-offset[%u]=%s\n", NULL}, {'E', "elp-offset", NULL, "-1"},
		{'O', NULL, "rnd-offset[%u]=%s\n", NULL}, {'S', "sid-offset", NULL, "-1"},
		{'I', "rip-offset", NULL, "-1"}, {'x', "diagnostic-selectors", NULL, NULL},
		{'w', "wrapped", NULL, NULL}, {0}};
	const char *type = perfdhcp_times(p, 'e') ? perfdhcp_value(p, 'e') : "address-only";
	const char *local = perfdhcp_value(p, 'l');
	const char *threads = perfdhcp_value(p, 'g');

	printf("IPv%u\n", p->v6 ? 6 : 4);
	if (perfdhcp_times(p, 'i'))
		printf("%s only\n", p->v6 ? "SOLICIT-ADVERTISE" : "DISCOVER-OFFER");
	printf("lease-type=%s (%s added to the client's request)\n", type,
		strcmp(type, "address-only") == 0  ? "IA_NA option"
		: strcmp(type, "prefix-only") == 0 ? "IA_PD option"
						   : "Both IA_NA and IA_PD options");
	print_rows(p, first);
	print_drops(p);
	print_rows(p, last);
	if (local)
		printf("%s=%s\n", p->interface ? "interface" : "local-addr", local);
	printf("server=%s\n%s-thread-mode\n", p->server, threads ? threads : "multi");
	print_identity(p);
}

void perfdhcp_print_head(const struct perfdhcp *p)
{
	const char *threads = perfdhcp_value(p, 'g');

	if (perfdhcp_times(p, 'C'))
		return;
	fputs("Running: perfdhcp", stdout);
	for (unsigned i = 0; i < p->count; i++) {
		const struct perfdhcp_given *g = &p->all[i];

		if (g->letter == PERFDHCP_SCENARIO)
			fputs(" --scenario", stdout);
		else
			printf(" -%c", g->letter);
		if (g->value)
			printf(" %s", g->value);
	}
	printf("%s%s\nScenario: %s.\n", p->run.operand_count ? " " : "",
		p->run.operand_count ? p->run.operands[0] : "",
		p->avalanche ? "avalanche" : "basic");
	if (!threads || strcmp(threads, "multi") == 0)
		puts("Multi-thread mode enabled.");
	if (perfdhcp_diagnoses(p, 'a'))
		print_decoded(p);
	fflush(stdout);
}

// --- figures

// The exchanges of the command line; returns their number.
static unsigned exchanges(const struct perfdhcp *p, struct perfdhcp_exchange out[BLOCKS])
{
	static const struct {
		const char *label[2], *step[2]; // DHCPv4, DHCPv6
		char excluded, needed;          // options; '\0': none
	} all[BLOCKS] = {
		{{"DISCOVER-OFFER", "SOLICIT-ADVERTISE"}, {"discover-offer", "solicit-advertise"},
			'\0', '\0'},
		{{"REQUEST-ACK", "REQUEST-REPLY"}, {"request-ack", "request-reply"}, 'i', '\0'},
		{{"REQUEST-ACK (renewal)", "RENEW-REPLY"}, {"renew-ack", "renew-reply"}, 'i', 'f'},
		{{"RELEASE", "RELEASE-REPLY"}, {"release", "release-reply"}, 'i', 'F'},
	};
	unsigned n = 0;

	for (unsigned i = 0; i < BLOCKS; i++) {
		if ((all[i].excluded && perfdhcp_times(p, all[i].excluded)) ||
			(all[i].needed && !perfdhcp_times(p, all[i].needed)))
			continue;
		out[n++] = (struct perfdhcp_exchange){
			.label = all[i].label[p->v6], .step = all[i].step[p->v6]};
	}
	if (perfdhcp_times(p, 'c'))
		out[0].step = "solicit-reply";
	return n;
}

// The item of a result or an interval; NULL: none.
static const json_t *item_of(const json_t *in)
{
	return json_array_get(json_object_get(in, "traffic"), 0);
}

static const json_t *step_of(const json_t *item, const char *name)
{
	return document_named(json_object_get(item, "steps"), "name", name);
}

static void add(struct perfdhcp_exchange *x, const json_t *item)
{
	const json_t *step = step_of(item, x->step);

	x->sent += document_computed(step, "sent");
	x->rejected += document_computed(step, "failed");
	x->received += document_computed(step, "answered + failed");
	x->lost += document_computed(step, "lost");
}

// A line of -t: the sums so far.
static void print_interim(const struct perfdhcp *p)
{
	static const char *const labels[] = {"sent: ", "; received: ", "; drops: ", "; rejected: "};
	const char *separator = perfdhcp_value(p, 'C');

	for (unsigned c = 0; c < sizeof(labels) / sizeof(labels[0]); c++)
		for (unsigned i = 0; i < p->sum_count; i++) {
			const struct perfdhcp_exchange *x = &p->sums[i];
			const double counts[] = {x->sent, x->received, x->lost, x->rejected};

			printf("%s%.0f",
				separator ? c || i ? separator : ""
				: i       ? "/"
					  : labels[c],
				counts[c]);
		}
	putchar('\n');
	fflush(stdout);
}

// The original prints no line at the end of the run.
void perfdhcp_line(void *ctx, const json_t *line)
{
	struct perfdhcp *p = ctx;
	const json_t *item = item_of(line);
	const char *length = perfdhcp_value(p, 'p');

	if (!item || json_object_get(line, LINE_BEGIN))
		return;
	if (!p->sums) {
		p->sums = arena_zalloc(p->run.arena, BLOCKS * sizeof(*p->sums));
		p->sum_count = exchanges(p, p->sums);
	}
	for (unsigned i = 0; i < p->sum_count; i++)
		add(&p->sums[i], item);
	if (perfdhcp_times(p, 't') && !json_is_true(json_object_get(line, LINE_LAST)) &&
		!(length && document_number(line, "t_s") > strtod(length, NULL) - 0.01))
		print_interim(p);
}

#define DELAY(label, figure) label ": {latency.service." figure "_ns * 1e-6:%.3f} ms\n"

// first: the original prints this exchange's share in another form.
static void print_exchange(const struct perfdhcp_exchange *x, const json_t *step, double orphans,
	double shared, bool first)
{
	char ratio[32];

	snprintf(ratio, sizeof(ratio),
		x->sent == 0 ? "-nan"
		: first      ? "%g"
			     : "%.3f",
		100 * x->lost / x->sent);
	printf("***Statistics for: %s***\nsent packets: %.0f\nreceived packets: %.0f\n"
	       "drops: %.0f\ndrops ratio: %s %%\norphans: %.0f\nrejected leases: %.0f\n"
	       "non unique addresses: %.0f\n\n",
		x->label, x->sent, x->received, x->lost, ratio, orphans, x->rejected, shared);
	document_fill(step,
		"<{?latency.service.count}" DELAY("min delay", "min") DELAY("avg delay", "mean")
			DELAY("max delay", "max") DELAY("std deviation",
				"stddev") ">"
					  "<{!latency.service.count}min delay: inf ms\navg delay: "
					  "min delay: n/a\navg delay: "
					  "n/a\nmax delay: n/a\nstd deviation: n/a\n>",
		stdout);
	printf("collected packets: %.0f\n\n", x->lost);
}

// Complete exchanges per second.
static void print_rate(
	const struct perfdhcp *p, const json_t *item, const struct perfdhcp_exchange *x)
{
	bool two = perfdhcp_times(p, 'i') > 0;
	double seconds = document_computed(item, p->avalanche ? "last_answer_s" : "sending_s");
	double done = two ? x[0].received : x[1].received - x[1].rejected;
	const char *rate = p->avalanche ? NULL : perfdhcp_value(p, 'r');

	puts("***Rate statistics***");
	printf("Rate: %g %s/second", seconds > 0 ? done / seconds : 0,
		!two    ? "4-way exchanges"
		: p->v6 ? "Solicit-Advertise"
			: "DISCOVER-OFFER");
	if (rate)
		printf(", expected rate: %s\n", rate);
	putchar('\n');
}

// Do not count replies that were lost in this host as the server's losses.
static void take_own_losses(
	const struct perfdhcp *p, const json_t *document, struct perfdhcp_exchange *x, unsigned n)
{
	double own = 0, taken;
	const json_t *port;
	size_t k;

	json_array_foreach(json_object_get(document, "ports"), k, port) own +=
		document_computed(port, "rx_missed + rx_no_mbuf");
	if (own > 0)
		as_note(&p->run, "this host lost %.0f packets itself; they do not count as drops",
			own);
	for (unsigned i = 0; i < n; i++, own -= taken) {
		taken = fmin(own, x[i].lost);
		x[i].lost -= taken;
	}
}

// Explain where and why the figures differ from the original's.
static void print_notes(const struct perfdhcp *p, const json_t *document,
	const struct perfdhcp_exchange *x, unsigned n)
{
	const json_t *reason;
	size_t i;

	if (!p->v6 && perfdhcp_times(p, 'F') && x[n - 1].sent > 0)
		as_note(&p->run, "RELEASE has no reply, so it is not lost (perfdhcp: %.0f drops)",
			x[n - 1].sent);
	if (strcmp(document_text(document, "verdict.status"), "invalid") != 0)
		return;
	json_array_foreach(document_at(document, "verdict.reasons"), i, reason)
	{
		as_note(&p->run, "the run says little about the server: %s",
			json_string_value(reason));
	}
}

static void print_avalanche(
	const struct perfdhcp *p, const json_t *item, const struct perfdhcp_exchange *x, unsigned n)
{
	double s = document_computed(item, "last_answer_s"), sent = 0, received = 0;
	double resent =
		document_computed(item, p->v6 ? "dhcp6.retransmitted" : "dhcp4.retransmitted");
	unsigned long whole = (unsigned long)s;

	for (unsigned i = 0; i < n; i++) {
		sent += x[i].sent;
		received += x[i].received;
	}
	printf("It took %02lu:%02lu:%02lu.%06.0f to provision %s clients. \n"
	       "Requests sent + resent: %.0f\nRequests resent: %.0f\nResponses received: %.0f\n",
		whole / 3600, whole / 60 % 60, whole % 60, floor(1e6 * (s - (double)whole)),
		perfdhcp_value(p, 'R'), sent + resent, resent, received);
}

// Read a line of the lease file (proto/dhcp/client/dhcp_lease_file.h), split into columns.
static bool read_lease(FILE *f, char *line, size_t room, char *column[5])
{
	if (!fgets(line, (int)room, f))
		return false;
	line[strcspn(line, "\n")] = '\0';
	for (unsigned i = 0; i < 5; i++) {
		column[i] = i ? strchr(column[i - 1], ',') : line;
		if (!column[i])
			return false;
		if (i)
			*column[i]++ = '\0';
	}
	return true;
}

static void print_client(const struct perfdhcp *p, const char *mac)
{
	const char *duid = front_get(&p->run.front, "traffic.leases.dhcp6.duid_hex");
	size_t len = duid ? strcspn(duid, "{") : 0;

	if (!p->v6) {
		fputs("01", stdout);
		for (; *mac; mac++)
			if (*mac != ':')
				putchar(*mac);
	} else if (!duid) { // DUID-LL
		printf("00:03:00:01:%s", mac);
	} else {
		for (size_t i = *duid == '"'; i + 1 < len; i += 2)
			printf("%.2s%s", duid + i, i + 2 < len && duid[i + 2] != '"' ? ":" : "");
		printf("%s%s", duid[len] ? ":" : "", duid[len] ? mac : "");
	}
}

// Print an address, a prefix or both per line: both if they belong to one client.
static void print_leases(const struct perfdhcp *p, FILE *f)
{
	char line[1024], client[32] = "", *column[5];
	bool prefix, open = false, both = false;

	while (read_lease(f, line, sizeof(line), column)) {
		prefix = strchr(column[2], '/') != NULL;
		column[2][strcspn(column[2], "/")] = '\0';
		if (open && prefix && !both && strcmp(client, column[0]) == 0) {
			printf("%s\n", column[2]);
			open = false;
			continue;
		}
		if (open)
			putchar('\n');
		print_client(p, column[1]);
		printf(",%s,%s", prefix ? "" : column[2], prefix ? column[2] : "");
		snprintf(client, sizeof(client), "%s", column[0]);
		both = prefix;
		open = true;
	}
	fputs(open ? "\n\n" : "\n", stdout);
}

// An address as hex digits; a DUID already is.
static const char *server_id(const struct perfdhcp *p, const char *text)
{
	const char *what;
	struct addr a;

	if (p->v6 || addr_parse(text, &a, &what) < 0)
		return text;
	return arena_printf(
		p->run.arena, "%02x%02x%02x%02x", a.bytes[0], a.bytes[1], a.bytes[2], a.bytes[3]);
}

// Print server and leases from the file saved by the run.
static void print_saved(const struct perfdhcp *p, const struct perfdhcp_exchange *x, unsigned n)
{
	FILE *f = p->leases ? fopen(p->leases, "r") : NULL;
	char line[1024], *column[5];
	long start = 0;

	if (f && fgets(line, sizeof(line), f)) // the heading
		start = ftell(f);
	if (f && perfdhcp_diagnoses(p, 's') && read_lease(f, line, sizeof(line), column))
		printf("Server id: %s\n", server_id(p, column[3]));
	if (perfdhcp_diagnoses(p, 'e'))
		puts("Interrupted");
	if (perfdhcp_diagnoses(p, 'T') && !p->avalanche)
		perfdhcp_print_templates(p);
	for (unsigned i = 0; perfdhcp_diagnoses(p, 'l') && i < n; i++) {
		printf("***Leases for %s***\nclient_id,adrress,prefix\n", x[i].label);
		if (f && i < 2) { // offered, then assigned leases
			fseek(f, start, SEEK_SET);
			print_leases(p, f);
		} else {
			putchar('\n');
		}
		putchar('\n');
	}
	if (f) {
		fclose(f);
		unlink(p->leases);
	}
}

static const char *exit_reason(const struct perfdhcp *p, const json_t *document, double sent)
{
	const char *most = perfdhcp_nth(p, 'n', 0), *drops = perfdhcp_value(p, 'D');

	if (strcmp(document_text(document, "verdict.status"), "interrupted") == 0)
		return NULL;
	if (drops && document_computed(document, "verdict.stopped_s") > 0)
		return strchr(drops, '%') ? "Reached maximum percentage of drops."
		                          : "Reached maximum drops number.";
	if (most && sent >= strtod(most, NULL))
		return "Reached max requests limit.";
	return p->avalanche ? NULL : "reached test-period.";
}

static void print_report(
	const struct perfdhcp *p, const json_t *item, const struct perfdhcp_exchange *x, unsigned n)
{
	const json_t *counters = json_object_get(item, p->v6 ? "dhcp6" : "dhcp4");
	double orphans = document_computed(item, "late + duplicate + stray");

	print_rate(p, item, x);
	printf("***Malformed Packets***\nMalformed packets: %.0f\n",
		document_computed(item, "malformed"));
	for (unsigned i = 0; i < n; i++)
		print_exchange(&x[i], step_of(item, x[i].step), i ? 0 : orphans,
			i == (n > 1) ? document_computed(counters, "duplicate_address") : 0,
			i == 0);
	if (perfdhcp_diagnoses(p, 'i'))
		puts("Short waits for packets: 0"); // there is no such loop here
}

int perfdhcp_end(void *ctx, struct document_reader *b, int code)
{
	struct perfdhcp *p = ctx;
	const json_t *item = item_of(b->document);
	struct perfdhcp_exchange x[BLOCKS] = {0};
	unsigned n = exchanges(p, x);
	const char *reason;
	double lost = 0;

	(void)code;
	for (unsigned i = 0; i < n; i++)
		add(&x[i], item);
	take_own_losses(p, b->document, x, n);
	for (unsigned i = 0; i < n; i++)
		lost += x[i].lost + x[i].rejected;
	reason = exit_reason(p, b->document, x[0].sent);
	if (reason && perfdhcp_diagnoses(p, 'e'))
		puts(reason);
	print_report(p, item, x, n);
	if (p->packets >= 0)
		perfdhcp_packets_read(p, b->document, x, n);
	print_saved(p, x, n);
	if (p->avalanche)
		print_avalanche(p, item, x, n);
	print_notes(p, b->document, x, n);
	return lost > 0 && !p->avalanche ? CODE_LOST : 0;
}
