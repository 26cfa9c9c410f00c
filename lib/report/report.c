// SPDX-License-Identifier: BSD-3-Clause
// The report at the end of a run: tables for items, ports, responder, searches and repeats, then
// the criteria, and the verdict in one sentence. Judges nothing. Path: cold. Main thread.
#include "report/report.h"

#include "engine/core/quic_channel.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/nearest.h"
#include "engine/run/run.h"
#include "stats/text.h"

#define COUNTERS_SHOWN 32 // of dut.counters

static const char *count_text(uint64_t n)
{
	return stats_shown((double)n, NULL);
}

static struct stats_figures times_of(const struct latency *l)
{
	return (struct stats_figures){&latency_section, l};
}

static struct stats_figures result_of(const struct result *r)
{
	return (struct stats_figures){&result_section, r};
}

static void print_run(FILE *out, const struct result *r)
{
	fprintf(out, "\n%s: ", r->run.name ? r->run.name : "run");
	stats_print(result_of(r), "{run.measured_s} measured", out);
	fprintf(out, ", seed %llu", (unsigned long long)r->run.seed);
	stats_print(result_of(r), "<, {run.host.dpdk}><, {run.host.memory}>\n", out);
}

// A result that is read back may lack any text.
static const char *said(const char *text)
{
	return text ? text : "-";
}

static bool is(const char *text, const char *other)
{
	return text && other && strcmp(text, other) == 0;
}

// Tables of an item: latencies, and a row for each step, mark and server.
// 80 columns.
static const char latencies[] =
	"  latency      min    mean      p50      p90      p99    p99.9   p99.99      max\n";
static const char latency[] = "{min_ns:8}{mean_ns:8}{p50_ns:9}{p90_ns:9}{p99_ns:9}{p999_ns:9}"
			      "{p9999_ns:9}{max_ns:9}\n";
static const struct {
	const char *list, *heading, *row;
} lists[] = {
	{"steps",
		"  step                  sent  answered    failed      lost  no reply       p50    "
		"  "
		" p99       max\n",
		"  {name:-16}{sent:10}{answered:10}{failed:10}{lost:10}{no_reply:10}"
		"{latency.response.p50_ns:10}{latency.response.p99_ns:10}"
		"{latency.response.max_ns:10}\n"},
	{"marks", "  after the lease      count     min     p50     p90     p99   p99.9     max\n",
		"  {name:-16}{latency.count:10}{latency.min_ns:8}{latency.p50_ns:8}"
		"{latency.p90_ns:8}{latency.p99_ns:8}{latency.p999_ns:8}{latency.max_ns:8}\n"},
	{"servers",
		"  server                sent  answered    failed      lost     share       gap\n",
		"  {name:-16}{sent:10}{answered:10}{failed:10}{lost:10}{share:10}"
		"{longest_gap_ns:10}\n"},
	{"servers_heard",
		"  server heard                     from                offers   answers  "
		"refusals\n",
		"  {name:-32} {address:-16}{offers:10}{answers:10}{refusals:10}\n"},
};

static void print_latencies(FILE *out, const struct result_item *i)
{
	fprintf(out, "%s  %-8s", latencies, "response");
	stats_print(times_of(&i->latency.response), latency, out);
	fprintf(out, "  %-8s", "service");
	stats_print(times_of(&i->latency.service), latency, out);
	fprintf(out, "  %-8s", "send lag");
	stats_print(times_of(&i->send_lag), latency, out);
}

static void print_ledger(FILE *out, struct stats_figures in, const struct result_item *i)
{
	const struct ledger *l = &i->ledger;
	bool one_way = l->no_reply && l->no_reply == l->sent;

	stats_print(in,
		"  due         {due:14} = sent {sent} + unsent {unsent}\n"
		"  sent        {sent:14} = answered {answered} + failed {failed} + lost {lost} + "
		"in "
		"flight {in_flight}< + no reply {no_reply}>\n"
		"  rates       due {due_per_s}, ",
		out);
	stats_print(in, one_way ? "sent {sent_per_s}" : "answered {answered_per_s}", out);
	stats_print(in, ", loss {loss}\n", out);
	if (i->request_bps + i->reply_bps > 0)
		fprintf(out, "  %-12ssent %.4g Mbit/s, replies %.4g Mbit/s, without headers\n",
			"messages", i->request_bps / 1e6, i->reply_bps / 1e6);
	if (i->last_answer_s > 1.01 * i->sending_s)
		stats_print(in,
			"  sent        for {sending_s}, the last reply after {last_answer_s}\n",
			out);
	if (l->late + l->duplicate + l->stray + l->malformed)
		stats_print(in,
			"  also came   late {late}, duplicate {duplicate}, stray {stray}, "
			"malformed "
			"{malformed}\n",
			out);
}

// Notes on the server that follow from the counters of connections.
static void print_closings(
	FILE *out, struct stats_figures in, const struct result_connections *c, bool answers)
{
	if (c->closed) {
		stats_print(in, "    the server closed {closed} of them, after ", out);
		fprintf(out, "%.4g messages on average\n",
			(double)c->closed_after / (double)(c->closed + c->reset));
	}
	stats_print(in,
		"<    {lost_closed} messages were lost as the server refused or closed "
		"theirs\n>"
		"<    SYN was sent again {syn_retransmitted} times: the server's queue "
		"of new connections was full, or packets were lost\n>",
		out);
	if (c->established && !answers)
		fputs("    the server accepts connections and never answers\n", out);
	stats_print(in,
		"<{?no_port}    new connections waited for ports: more addresses, or a "
		"shorter time_wait, allow more of them\n>",
		out);
}

// Prints a count that is not 0, unless its name is among the shown ones.
static void print_count(FILE *out, const char *name, const char *shown, uint64_t n)
{
	if (n && !strstr(shown, name))
		fprintf(out, ", %s %s", name, count_text(n));
}

#define PRINT(member, help) print_count(out, #member, shown, c->member);

static void print_names(FILE *out, const char *what, const uint64_t *counts, uint32_t length,
	const char *(*name)(uint32_t))
{
	const char *before = what;

	for (uint32_t i = 0; i < length; i++)
		if (counts[i]) {
			fprintf(out, "%s%s %s", before, name(i), count_text(counts[i]));
			before = ", ";
		}
	if (before != what)
		fputc('\n', out);
}

#define PRINT_NAMES(member, length, name, help)                                                    \
	print_names(out, "      " #member " ", c->member, length, name);

// Prints the TLS of connections: its handshakes, and their parameters and failures by name.
static void print_tls(FILE *out, const struct result_tls *t)
{
	static const char times[] = "min {min_ns}, p50 {p50_ns}, p99 {p99_ns}, max {max_ns}\n",
			  shown[] = "begun full resumed records_sent records_received "
				    "handshake_bytes certificate_bytes";
	const struct tls_counters *c = &t->counts;

	fprintf(out, "    TLS           %s full handshakes, ", count_text(c->full));
	fprintf(out, "%s resumed", count_text(c->resumed));
	TLS_COUNTERS(PRINT)
	fputc('\n', out);
	TLS_NAMED(PRINT_NAMES)
	if (t->full_time.count) {
		fputs("      full        ", out);
		stats_print(times_of(&t->full_time), times, out);
	}
	if (t->resumed_time.count) {
		fputs("      resumed     ", out);
		stats_print(times_of(&t->resumed_time), times, out);
	}
	if (t->own.count) {
		fputs("      own         ", out);
		stats_print(times_of(&t->own), times, out);
		fputs("      queued      ", out);
		stats_print(times_of(&t->queued), times, out);
	}
}

// Prints the HTTP/2 of connections: its answers by status, and its errors.
static void print_http(FILE *out, const struct result_http *h)
{
	static const char shown[] = "header_bytes header_bytes_received";
	const struct http_counters *c = &h->counts;

	fprintf(out, "    HTTP/2        %s answers of status 200", count_text(c->status[0]));
	HTTP_COUNTERS(PRINT)
	fputc('\n', out);
	HTTP_NAMED(PRINT_NAMES)
}

// Prints the QUIC of connections: handshakes by version, ends by reason, and datagrams.
static void print_quic(FILE *out, const struct result_quic *q)
{
	static const char shown[] = "";
	const struct quic_outcomes *c = &q->counts;

	const struct {
		const char *name;
		uint64_t n;
	} more[] = {{"held", q->datagrams.held}, {"blocked", q->datagrams.blocked},
		{"early_sent", q->datagrams.early_sent}, {"early_again", q->datagrams.early_again},
		{"strays", q->datagrams.strays}, {"garbage", q->datagrams.garbage}};

	fprintf(out, "    QUIC          %s streams, %s datagrams sent",
		count_text(q->datagrams.streams), count_text(q->datagrams.datagrams_out));
	fprintf(out, ", %s received", count_text(q->datagrams.datagrams_in));
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		if (more[i].n)
			fprintf(out, ", %s %s", more[i].name, count_text(more[i].n));
	QUIC_OUTCOMES(PRINT)
	fputc('\n', out);
	QUIC_NAMED(PRINT_NAMES)
}

// Prints connections in a line: opened, accepted, and all failures.
static void print_connections(FILE *out, struct stats_figures in, const struct result_item *i)
{
	static const char times[] = "min {min_ns}, p50 {p50_ns}, p99 {p99_ns}, max {max_ns}\n",
			  shown[] = "opened "
				    "established";
	const struct result_connections *c = i->connections;
	const struct ledger *l = &i->ledger;
	bool answers = l->answered + l->failed + l->late + l->duplicate + l->stray + l->malformed;

	if (!c)
		return;
	stats_print(in, "  connections {opened:9} opened, {established} accepted", out);
	CONN_COUNTERS(PRINT)
	TCP_COUNTERS(PRINT)
	fputc('\n', out);
	if (c->handshake.count) {
		fputs("    handshake     ", out);
		stats_print(times_of(&c->handshake), times, out);
	}
	if (c->first_answer.count) {
		fputs("    first answer  ", out);
		stats_print(times_of(&c->first_answer), times, out);
	}
	if (c->tls)
		print_tls(out, c->tls);
	if (c->http)
		print_http(out, c->http);
	if (c->quic)
		print_quic(out, c->quic);
	print_closings(out, in, c, answers);
}

static void print_choice(FILE *out, const struct counter_choice *c, unsigned indent)
{
	if (!c->section || !c->data || !stats_any(c->section, c->data))
		return;
	fprintf(out, "%*s%s\n", (int)indent, "", c->section->name);
	stats_text(c->section, c->data, indent + 2, out);
}

static void print_item(FILE *out, const struct result_item *i)
{
	const struct stats_figures in = {&result_item_section, i};
	const struct {
		bool any;
	} shown[] = {{i->steps.count}, {i->marks.count}, {i->servers.count},
		{i->servers_heard.count > 1}}; // a single one has the item's address

	stats_print(in,
		"\n{name}: {protocol} on port {port}, {loop} loop<, {clients} clients>"
		"<, server {server_name} ({server})>\n<  used {input}\n><{!due}  nothing was "
		"due\n>",
		out);
	if (i->ledger.due == 0)
		return;
	print_latencies(out, i);
	print_ledger(out, in, i);
	if (i->foreseen)
		fprintf(out, "  foreseen           %.0f due (off by %+.2f %%)\n", i->foreseen->due,
			100 * i->foreseen->off);
	for (size_t n = 0; n < sizeof(lists) / sizeof(lists[0]); n++)
		if (shown[n].any) {
			fputs(lists[n].heading, out);
			stats_print_list(in, lists[n].list, lists[n].row, out);
		}
	print_connections(out, stats_inside(in, "connections"), i);
	print_choice(out, &i->counters, 2);
}

// Prints the packets that the tester lost, and unless the run passed, the port's other counters.
static void print_port(FILE *out, struct stats_figures in, const struct result_port *p, bool all)
{
	if (!all && !p->rx_missed && !p->rx_no_mbuf && !p->tx_refused && !p->tx_no_mbuf &&
		!p->hand_over_full)
		return;
	stats_print(in,
		"\nport {name} ({driver}< {device}>): {rx_packets} packets received, {tx_packets} "
		"sent\n"
		"<  {rx_missed} packets dropped by the device: the worker was too slow\n>"
		"<  {rx_no_mbuf} packets dropped: no free buffer\n>"
		"<  {tx_refused} times the device took only a part of a burst\n>"
		"<  {tx_no_mbuf} times no buffer was free to send from\n>"
		"<  {hand_over_full} packets lost between workers: the ring was full\n>",
		out);
	print_choice(out, &(struct counter_choice){&wire_section, p->other}, 2);
}

// Prints the responder's connections, and everything that it did to them.
static void print_accepted(FILE *out, const struct result_responder_conns *c)
{
	static const char shown[] = "accepted";

	fprintf(out, "  connections %9s accepted", count_text(c->accepted));
	RESPONDER_CONN_COUNTERS(PRINT, PRINT)
	fputc('\n', out);
}

static void print_responder(FILE *out, const struct result *result)
{
	const struct stats_figures in = stats_inside(result_of(result), "responder");
	const struct result_responder *r = result->responder;
	const struct result_responder_protocol *p = r->protocols.items;

	stats_print(in,
		"\nresponder on port {port}: received {received}, answered {answered}, ignored "
		"{ignored}\n",
		out);
	for (uint32_t i = 0; i < FAULTS_MAX; i++)
		if (r->faults[i])
			fprintf(out, "  fault %-20s%14s\n", faults_label(i),
				count_text(r->faults[i]));
	for (uint32_t i = 0; i < TLS_FAULT_COUNT; i++)
		if (r->handshake_faults[i])
			fprintf(out, "  handshake %-16s%14s\n", tls_fault_name(i),
				count_text(r->handshake_faults[i]));
	stats_print(in, "<  requests dropped: no free packet buffer {no_buffer}\n>", out);
	if (r->gaps_over_1ms) {
		fprintf(out, "  descheduled for %s: ", stats_shown_time(r->stolen_s * 1e9, true));
		stats_print(in, "{gaps_over_1ms} times over 1 ms, longest {max_gap_ns}\n", out);
	}
	if (r->connections)
		print_accepted(out, r->connections);
	for (uint32_t i = 0; i < r->protocols.count; i++)
		print_choice(out, &p[i].counters, 2);
}

#define FOR_TESTER "p50 {p50_ns}, p99 {p99_ns}"

// Prints the tester's part of every latency, and the longest wait for the worker's next pass.
static void print_tester_delay(FILE *out, const struct result *result)
{
	const struct result_tester_delay *d = result->run.tester_delay;
	const struct result_worker *all = result->workers.items;
	const struct latency *worst = NULL;

	for (uint32_t i = 0; d && i < result->workers.count; i++)
		if (is(all[i].port, d->port) && (!worst || all[i].passes.p99_ns > worst->p99_ns))
			worst = &all[i].passes;
	if (!worst)
		return;
	stats_print(times_of(&d->single),
		"\nthe tester itself adds " FOR_TESTER " to every latency", out);
	stats_print(
		times_of(worst), "; a pass of its loop took " FOR_TESTER ", max {max_ns}\n", out);
}

// Prints the wait of replies for the tester, which is in no latency, as the kernel stamps arrivals.
static void print_wake(FILE *out, const struct result *result)
{
	const struct result_worker *all = result->workers.items;
	const struct latency *worst = NULL;

	for (uint32_t i = 0; i < result->workers.count; i++)
		if (all[i].wake && all[i].wake->count &&
			(!worst || all[i].wake->max_ns > worst->max_ns))
			worst = all[i].wake;
	if (worst)
		stats_print(times_of(worst),
			"\nreplies waited " FOR_TESTER
			", max {max_ns} for the tester; no latency includes this, as the kernel "
			"timestamps arrivals\n",
			out);
}

// For ports with several workers: the share of packets that arrived at the queue of their owner.
static void print_sharing(FILE *out, const struct result *result, const struct result_port *port)
{
	const struct result_worker *all = result->workers.items;
	uint64_t received = 0, workers = 0;

	for (uint32_t k = 0; k < result->workers.count; k++)
		if (is(all[k].port, port->name)) {
			received += all[k].received;
			workers++;
		}
	if (workers < 2 || received == 0)
		return;
	fprintf(out,
		"\nport %s: of %s packets for its %llu workers, %.1f %% arrived at the right one, "
		"%.1f %% were handed over\n",
		port->name, count_text(received), (unsigned long long)workers,
		100 * (1 - (double)port->handed_over / (double)received),
		100 * (double)port->handed_over / (double)received);
}

static const char *search_value(double v)
{
	return isnan(v) ? "none" : isinf(v) ? "-" : stats_shown(v, NULL);
}

static void print_peak(FILE *out, const char *name, const struct result_peak *p)
{
	if (p)
		fprintf(out, "  %-10s %s answered at %s\n", name,
			stats_shown(p->answered_per_s, "per_s"), search_value(p->rate));
}

// Prints the parts of CPU use that are above 0, too.
static void print_cpu_line(
	FILE *out, const char *box, uint64_t cpus, const struct result_cpu_use *u)
{
	const struct {
		const char *name;
		double share;
	} rows[] = {{"user", u->user}, {"system", u->system}, {"irq", u->irq},
		{"softirq", u->softirq}, {"stolen by the host", u->steal}};
	const char *before = " (";

	fprintf(out, "  %-12s %s of %llu CPUs", box, stats_shown(u->used, "1"),
		(unsigned long long)cpus);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].share > 0) {
			fprintf(out, "%s%s %s", before, rows[i].name,
				stats_shown(rows[i].share, "1"));
			before = ", ";
		}
	fputs(*before == ',' ? ")" : "", out);
	if (cpus > 1 && !isnan(u->busiest_used))
		fprintf(out, ", busiest CPU %llu with %s", (unsigned long long)u->busiest,
			stats_shown(u->busiest_used, "1"));
	fputc('\n', out);
}

// A worker polls all the time, so only its work counts for the head-room.
static void print_head_room(FILE *out, const struct counter_list *workers)
{
	const struct result_worker *w = workers->items, *busiest = NULL;
	char cpu[32] = "";

	for (uint32_t i = 0; i < workers->count; i++)
		if (w[i].ns_per_transaction > 0 && (!busiest || w[i].busy > busiest->busy))
			busiest = &w[i];
	if (!busiest)
		return;
	if (!isnan(busiest->cpu))
		snprintf(cpu, sizeof(cpu), " on CPU %.0f", busiest->cpu);
	fprintf(out,
		"  worker       busiest%s: %s of work for each transaction, %s of its "
		"time (room for %.3g times the load)\n",
		cpu, stats_shown(busiest->ns_per_transaction, "ns"),
		stats_shown(busiest->busy, "1"), fmax(1 / busiest->busy, 1));
}

static void print_cpu(FILE *out, const struct result *r)
{
	fputs("\ncpu (/proc/stat, measured part)\n", out);
	if (r->cpu)
		print_cpu_line(out, "tester's box", r->cpu->cpus, &r->cpu->use);
	print_head_room(out, &r->workers);
	if (!r->dut || !r->dut->command)
		return;
	if (!isnan(r->dut->use.used))
		print_cpu_line(out, "server's box", r->dut->cpus, &r->dut->use);
	if (r->dut->us_per_transaction > 0)
		fprintf(out, "  server       %s of CPU for each reply\n",
			stats_shown(1e3 * r->dut->us_per_transaction, "ns"));
	stats_print_list(result_of(r), "dut.figures", "  probe        {name} {value:%g}\n", out);
	if (r->dut->failures)
		fprintf(out, "  probe        failed %llu times of %llu\n",
			(unsigned long long)r->dut->failures,
			(unsigned long long)(r->dut->failures + r->dut->samples));
}

// Prints the counters that changed.
static void print_counters(FILE *out, const struct result_dut *dut)
{
	const struct result_dut_counter *c = dut->counters.items;
	uint32_t changed = 0;

	fprintf(out, "\nserver's counters (%s)\n",
		dut->counters_error ? dut->counters_error : "dut.counters: differences");
	for (uint32_t i = 0; i < dut->counters.count; i++) {
		if (c[i].difference == 0 || isnan(c[i].difference))
			continue;
		if (changed++ < COUNTERS_SHOWN)
			fprintf(out, "  %-40s %.15g\n", said(c[i].name), c[i].difference);
	}
	if (changed > COUNTERS_SHOWN)
		fprintf(out, "  and %u more, in the result\n", changed - COUNTERS_SHOWN);
	fprintf(out, "  %u of %u changed\n", changed, dut->counters.count);
}

static const char *after_ns(double ns)
{
	return isfinite(ns) ? stats_shown_text("after %s", stats_shown(ns, "ns")) : "never";
}

static void print_event_item(FILE *out, const struct result_event_item *it)
{
	const struct result_event_server *s = it->servers.items;
	const struct latency *w = &it->waited;

	fprintf(out,
		"    %s: longest gap %s, first answer %s, 99 %% of the rate %s, %llu lost, %llu "
		"failed\n",
		said(it->name), stats_shown(it->longest_gap_ns, "ns"),
		after_ns(it->first_answer_ns),
		it->regained_s == 0 ? "kept" : after_ns(1e9 * it->regained_s),
		(unsigned long long)it->lost, (unsigned long long)it->failed);
	if (w->count)
		stats_print(times_of(w),
			"      {count:%.0f} waited over that gap: " FOR_TESTER ", max {max_ns}\n",
			out);
	for (uint32_t i = 0; i < it->servers.count; i++) {
		fprintf(out, "      %s: %llu answered, %llu lost, ", said(s[i].name),
			(unsigned long long)s[i].answered, (unsigned long long)s[i].lost);
		if (s[i].longest_gap_ns > 0)
			fprintf(out, "longest gap %s, first answer %s\n",
				stats_shown(s[i].longest_gap_ns, "ns"),
				after_ns(s[i].first_answer_ns));
		else
			fputs("no gap\n", out);
	}
}

static void print_events(FILE *out, const struct counter_list *events)
{
	const struct result_event *e = events->items;

	for (uint32_t i = 0; i < events->count; i++) {
		const struct result_event_item *items = e[i].traffic.items;

		fprintf(out, "%s  %.3f s %s: %s\n", i ? "" : "\nevents\n",
			isnan(e[i].at_s) ? 0 : e[i].at_s, said(e[i].name), said(e[i].outcome));
		for (uint32_t k = 0; k < e[i].traffic.count; k++)
			print_event_item(out, &items[k]);
	}
}

static void print_routers(FILE *out, const struct result *r)
{
	struct stats_figures one;

	if (r->routers.count)
		fputs("\nrouters\n", out);
	for (uint32_t i = 0; (one = stats_element(result_of(r), "routers", i)).data; i++) {
		stats_print(one,
			"  {item} on port {port}, VLANs {vlans}: <{!heard}no advertisement (asked "
			"{asked:%.0f} times)><{?heard}{router} after {took_ns}><{?managed}, "
			"managed><{?other}, other><{?heard}, for {lifetime_s:%.0f} s>\n",
			out);
		stats_print_list(one, "prefixes",
			"    {prefix}<{?on_link}, on link><{?autonomous}, autonomous>, valid "
			"{valid_s:%.0f} s, preferred {preferred_s:%.0f} s\n",
			out);
	}
}

// Prints the losses each way, which only both sides together know.
static void print_peer(FILE *out, const struct result *r)
{
	const struct result_responder_protocol *list = r->peer->protocols.items;

	stats_print(stats_inside(result_of(r), "peer"),
		"\nresponder elsewhere, warm-up included\n"
		"  there       sent {sent:%.0f}, received {received:%.0f}, loss {loss_there}\n"
		"  back        answered {answered:%.0f}, replies {replies:%.0f}, loss "
		"{loss_back}\n",
		out);
	for (uint32_t i = 0; i < r->peer->protocols.count; i++) {
		fprintf(out, "  %s\n", said(list[i].name));
		if (list[i].counters.section)
			stats_text(list[i].counters.section, list[i].counters.data, 4, out);
	}
}

// Does a goal limit this percentile? "p95 <= 10.0 ms" is part of its text.
static bool is_limited(const struct result_search *s, const char *percentile)
{
	const struct result_goal *goals = s->goals.items;
	const char *part = stats_shown_text("%s <= ", percentile);

	for (uint32_t i = 0; i < s->goals.count; i++)
		if (strstr(said(goals[i].goal), part))
			return true;
	return false;
}

static double time_at(const struct result_trial *t, size_t offset)
{
	return *(const double *)((const char *)t + offset);
}

// The intervals of a ramp are in its time series.
static void print_trials(FILE *out, const struct result_search *s)
{
	static const struct {
		const char *name;
		size_t offset;
	} all[] = {{"p50", offsetof(struct result_trial, p50_ns)},
		{"p90", offsetof(struct result_trial, p90_ns)},
		{"p95", offsetof(struct result_trial, p95_ns)},
		{"p99", offsetof(struct result_trial, p99_ns)},
		{"p999", offsetof(struct result_trial, p999_ns)}};
	const struct result_trial *t = s->trials.items;
	size_t shown[sizeof(all) / sizeof(all[0])], count = 0;

	if (s->trials.count == 0 || is(s->method, "ramp"))
		return;
	for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
		if (is(all[k].name, "p50") || is(all[k].name, "p99") || is_limited(s, all[k].name))
			shown[count++] = k;
	fprintf(out, "  %-5s %11s %8s %8s %8s", "trial", "load", "time", "loss", "failed");
	for (size_t k = 0; k < count; k++)
		fprintf(out, " %8s", all[shown[k]].name);
	fprintf(out, " %10s  %s\n", "answered/s", "verdict");
	for (uint32_t i = 0; i < s->trials.count; i++) {
		fprintf(out, "  %5u %11s %8s", i + 1, search_value(t[i].rate),
			stats_shown(t[i].duration_s, "s"));
		fprintf(out, " %8s %8s", stats_shown(t[i].loss, "1"),
			stats_shown(t[i].failed, "1"));
		for (size_t k = 0; k < count; k++)
			fprintf(out, " %8s",
				stats_shown_time(
					time_at(&t[i], all[shown[k]].offset), t[i].loss < 1));
		fprintf(out, " %10s  %s\n", stats_shown(t[i].answered_per_s, "per_s"),
			said(t[i].verdict));
	}
}

static void print_search(FILE *out, const struct result_search *s)
{
	const struct result_goal *goals = s->goals.items;
	int wide = 40;

	for (uint32_t i = 0; i < s->goals.count; i++)
		if ((int)strlen(said(goals[i].goal)) > wide)
			wide = (int)strlen(goals[i].goal);
	fprintf(out, "\nsearch: %s over %s, %u trials\n", said(s->method), said(s->variable),
		s->trials.count);
	fprintf(out, "  %-*s %12s %12s %12s  %s\n", wide, "goal", "answer", "not met at",
		"answered/s", "limited by");
	for (uint32_t i = 0; i < s->goals.count; i++)
		fprintf(out, "  %-*s %12s %12s %12s  %s\n", wide, said(goals[i].goal),
			search_value(goals[i].answer), search_value(goals[i].upper),
			stats_shown(goals[i].answered_per_s, "per_s"), said(goals[i].limited_by));
	print_trials(out, s);
	print_peak(out, "peak", s->peak);
	print_peak(out, "collapse", s->collapse);
	if (!isnan(s->knee))
		fprintf(out, "  %-10s p99 leaves its level above %s\n", "knee",
			search_value(s->knee));
}

static void print_search_answer(FILE *out, const struct result_search *s)
{
	const struct result_goal *goal = s->goals.items;

	if (s->goals.count == 0)
		return;
	if (isnan(goal->answer)) {
		fprintf(out, "no %s was found that meets %s", said(s->variable), said(goal->goal));
		return;
	}
	fprintf(out, "%s is the highest %s found that meets %s", search_value(goal->answer),
		said(s->variable), said(goal->goal));
	if (is(goal->limited_by, "undecided"))
		fprintf(out, "; whether the server does more is undecided, as others had the CPU");
	else if (!is(goal->limited_by, "server"))
		fprintf(out, ", but the server's own limit was not reached");
}

static void print_confidence(FILE *out, const struct result_confidence *c)
{
	static const char *const titles[] = {
		"mean", "low", "high", "stddev", "min", "p25", "median", "p75", "max"};
	const struct result_spread *s = c->figures.items;

	fprintf(out, "\nrepeats: %llu", (unsigned long long)c->runs);
	if (c->skipped)
		fprintf(out, " (the first %llu left out)", (unsigned long long)c->skipped);
	fprintf(out, ", intervals hold the mean with %s confidence\n  %-36s",
		isnan(c->confidence) ? "unknown" : stats_shown_text("%g %%", 100 * c->confidence),
		"");
	for (size_t k = 0; k < sizeof(titles) / sizeof(titles[0]); k++)
		fprintf(out, " %11s", titles[k]);
	fputc('\n', out);
	for (uint32_t i = 0; i < c->figures.count; i++) {
		const double cells[] = {s[i].mean, s[i].low, s[i].high, s[i].stddev, s[i].min,
			s[i].p25, s[i].median, s[i].p75, s[i].max};
		const char *figure = s[i].figure ? s[i].figure : "";
		const size_t len = strlen(figure);
		const bool is_time = len > 3 && is(figure + len - 3, "_ns");
		const char *unit = is_time ? "ns" : s[i].item ? "per_s" : "1";

		fprintf(out, "  %-12s%-24s", s[i].item ? s[i].item : "", figure);
		for (size_t k = 0; k < sizeof(cells) / sizeof(cells[0]); k++)
			fprintf(out, "%12s", isinf(cells[k]) ? "any" : stats_shown(cells[k], unit));
		fputs(s[i].reached || isnan(s[i].mean) ? "\n" : "  wider than asked for\n", out);
	}
}

static bool is_invalid_by(const struct result_verdict *v, const char *cause)
{
	return is(v->invalid_by, cause);
}

static void print_limit(FILE *out, const struct result *r)
{
	static const struct {
		const char *by, *text;
	} limits[] = {
		{"none", "nothing: the load was sent as asked for and answered"},
		{"tester", "the tester: this box was too slow, or its port failed"},
		{"wire", "the wire: the link was full"},
		{"server", "the server"},
		{"undecided", "the server or this box: undecided, as others disturbed it"},
	};
	const struct result_verdict *v = &r->verdict;
	const struct result_item *items = r->traffic.items;
	uint64_t failed = 0;
	bool judged = v->limited_by && !is_invalid_by(v, "load") &&
	              (!is(v->status, "invalid") || !is(v->limited_by, "none")) && v->status &&
	              !word_is_among(v->status, "unreachable interrupted");

	for (uint32_t i = 0; i < r->traffic.count; i++)
		failed += items[i].ledger.failed;
	if (judged && failed && is(v->limited_by, "none"))
		fprintf(out,
			"\nlimited by nothing: the load was sent as asked for, and %llu failed\n",
			(unsigned long long)failed);
	else
		for (size_t i = 0; judged && i < sizeof(limits) / sizeof(limits[0]); i++)
			if (is(v->limited_by, limits[i].by))
				fprintf(out, "\nlimited by %s\n", limits[i].text);
	if (is_invalid_by(v, "load"))
		fputs("\nlimited by the load: no client was free for a part of it\n", out);
}

const char *report_criterion_value(const struct result_criterion *c, char *buf, size_t room)
{
	if (isnan(c->value))
		return "not seen";
	if (isinf(c->value))
		return stats_time(c->value, true, buf, room);
	return stats_format(c->value, c->unit, buf, room);
}

#define REASON_SIZE 2048

static void print_why(FILE *out, const struct result_verdict *v)
{
	const struct result_criterion *c = v->criteria.items;
	const char *const *reasons = v->reasons.items;
	char text[REASON_SIZE];

	for (uint32_t i = 0; i < v->criteria.count; i++)
		fprintf(out, "%s  %s  %-40s  %s\n", i ? "" : "\ncriteria\n",
			c[i].pass ? "pass" : "FAIL", said(c[i].expression),
			report_criterion_value(&c[i], text, sizeof(text)));
	for (uint32_t i = 0; i < v->reasons.count; i++)
		fprintf(out, "%s  - %s\n", i ? "" : "\nwhy\n",
			log_in_words(reasons[i], text, sizeof(text)));
}

// Returns the number of reasons that contain these words.
static uint32_t reasons_with(const struct counter_list *reasons, const char *words)
{
	const char *const *texts = reasons->items;
	uint32_t n = 0;

	for (uint32_t i = 0; i < reasons->count; i++)
		n += strstr(texts[i], words) != NULL;
	return n;
}

// Returns the row of its text: the status, or a special case of it.
static const char *verdict_key(const struct result_verdict *v)
{
	bool invalid = is(v->status, "invalid");

	if (v->exit_code == EXIT_INTERNAL)
		return "broken";
	if (v->exit_code == EXIT_CONFIG || v->exit_code == EXIT_ENVIRONMENT)
		return "partial";
	if (is_invalid_by(v, "load") || is_invalid_by(v, "disturbance"))
		return v->invalid_by;
	if (invalid && reasons_with(&v->reasons, ": the link was down "))
		return "down";
	if (invalid && v->reasons.count &&
		reasons_with(&v->reasons, "event \"") == v->reasons.count)
		return "event";
	return v->status;
}

static const struct verdict_text {
	const char *key, *word, *colour, *text;
} verdict_texts[] = {
	{"pass", "PASS", "\033[32m", NULL},
	{"done", "DONE", "", "no criteria, so nothing was judged"},
	{"fail", "FAIL", "\033[31m", NULL},
	{"invalid", "INVALID", "\033[33m",
		"the tester was too slow or its port failed, so the run says nothing about the "
		"server"},
	{"unreachable", "UNREACHABLE", "\033[31m", "no server answered"},
	{"interrupted", "INTERRUPTED", "\033[33m",
		"the run was stopped before its end, so it is not judged"},
	{"broken", "INTERNAL ERROR", "\033[31m",
		"the tester's own counters contradict each other, so no figure can be trusted"},
	{"load", "INVALID", "\033[33m",
		"too few clients or connections were free, so this is not the requested load"},
	{"disturbance", "INVALID", "\033[33m",
		"other programs had the tester's CPU, so the run says nothing about the server"},
	{"down", "INVALID", "\033[33m",
		"the tester's link was down, so the run says nothing about the server"},
	{"event", "INVALID", "\033[33m", "an event failed, so this is not the requested run"},
	{"partial", "INVALID", "\033[33m",
		"a run of the series could not begin, so the series is incomplete"},
	{NULL, "NO VERDICT", "", NULL},
};

// "200 000 requests sent, all answered in time"
static void print_totals(FILE *out, const struct counter_list *traffic)
{
	const struct result_item *items = traffic->items;
	struct result_item all = {0};
	const struct stats_figures in = {&result_item_section, &all};
	struct ledger *l = &all.ledger;

	for (uint32_t i = 0; i < traffic->count; i++) {
		l->sent += items[i].ledger.sent;
		l->answered += items[i].ledger.answered;
		l->failed += items[i].ledger.failed;
		l->lost += items[i].ledger.lost;
		l->no_reply += items[i].ledger.no_reply;
		all.sent_per_s += items[i].sent_per_s;
		all.request_bps += items[i].request_bps / 1e6;
	}
	all.loss = (double)l->lost / (double)l->sent;
	stats_print(in,
		l->sent == 0             ? "nothing was sent"
		: l->no_reply == l->sent ? "{sent} messages sent one way, {sent_per_s}"
					   "<{?request_bps}, {request_bps:%.4g} Mbit/s>"
		: l->answered == l->sent ? "{sent} requests sent, all answered in time"
		: l->answered + l->no_reply == l->sent
			? "{sent} requests sent, {answered} answered in time, {no_reply} need no "
			  "reply"
			: "{sent} requests sent, {answered} answered in time<, {failed} failed>"
			  "<, {lost} lost ({loss})>",
		out);
}

static void print_criteria_summary(FILE *out, const struct counter_list *criteria)
{
	const struct result_criterion *c = criteria->items;
	uint32_t failed = 0;
	const char *first = NULL;

	for (uint32_t i = 0; i < criteria->count; i++) {
		if (c[i].pass)
			continue;
		failed++;
		first = first ? first : said(c[i].expression);
	}
	if (failed == 1)
		fprintf(out, "; criterion not met: %s", first);
	else if (failed)
		fprintf(out, "; %u of %u criteria are not met", failed, criteria->count);
	else if (criteria->count == 1)
		fputs("; the criterion is met", out);
	else if (criteria->count)
		fprintf(out, "; all %u criteria are met", criteria->count);
}

static void print_verdict(FILE *out, bool colour, const struct result *result)
{
	const char *key = verdict_key(&result->verdict);
	const struct verdict_text *t = verdict_texts;

	while (t->key && !is(t->key, key))
		t++;
	fprintf(out, "%s%s%s: ", colour ? t->colour : "", t->word, colour ? "\033[0m" : "");
	if (result->verdict.cause)
		fprintf(out, "%s, so the run says nothing about the server (",
			result->verdict.cause);
	else if (t->text)
		fprintf(out, "%s (", t->text);
	if (result->search)
		print_search_answer(out, result->search);
	else
		print_totals(out, &result->traffic);
	if (t->text)
		fputs(")", out);
	else
		print_criteria_summary(out, &result->verdict.criteria);
	fputc('\n', out);
}

static void print_tables(FILE *out, const struct result *result)
{
	const struct stats_figures all = result_of(result);
	const struct result_item *items = result->traffic.items;
	const struct result_port *ports = result->ports.items;
	bool good = is(result->verdict.status, "pass") || is(result->verdict.status, "done");

	print_run(out, result);
	print_routers(out, result);
	for (uint32_t i = 0; i < result->traffic.count; i++)
		print_item(out, &items[i]);
	print_tester_delay(out, result);
	print_wake(out, result);
	for (uint32_t i = 0; i < result->ports.count; i++)
		print_sharing(out, result, &ports[i]);
	if (result->responder)
		print_responder(out, result);
	for (uint32_t i = 0; i < result->ports.count; i++)
		print_port(out, stats_element(all, "ports", i), &ports[i], !good);
	if (result->capture)
		stats_print(stats_inside(all, "capture"),
			"\n{packets:%.0f} packets of failing transactions in {file}<; "
			"{dropped:%.0f} left out: they arrived faster than the file was written>"
			"<{?limit_reached}; the limit of transactions was reached>"
			"<{?incomplete}; the file is incomplete: a write failed>\n",
			out);
	print_events(out, &result->events);
	if (result->cpu || (result->dut && result->dut->command))
		print_cpu(out, result);
	if (result->dut && (result->dut->counters.count || result->dut->counters_error))
		print_counters(out, result->dut);
	if (result->peer)
		print_peer(out, result);
	if (result->search)
		print_search(out, result->search);
	if (result->confidence)
		print_confidence(out, result->confidence);
	print_limit(out, result);
	print_why(out, &result->verdict);
	fputc('\n', out);
}

void report_result(struct report *r, const struct result *result)
{
	if (!r->out)
		return;
	report_clear(r);
	if (!r->quiet)
		print_tables(r->out, result);
	print_verdict(r->out, r->colour, result);
	fflush(r->out);
}

void report_responder_end(struct report *r, const struct result_responder *total)
{
	if (!r->out || !total)
		return;
	print_responder(r->out, &(struct result){.responder = (struct result_responder *)total});
	fflush(r->out);
}
