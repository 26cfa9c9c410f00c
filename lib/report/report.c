// SPDX-License-Identifier: BSD-3-Clause
// The report at the end of a run: tables for items, ports, responder, searches and repeats, then
// the criteria, and the verdict in one sentence. Judges nothing. Path: cold. Main thread.
#include "report/report.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "engine/run/run.h"
#include "stats/text.h"

#define COLUMN         "%10s"
#define COUNTERS_SHOWN 32 // of dut.counters

static const char *count_text(uint64_t n, char *buf, size_t room)
{
	return stats_format((double)n, NULL, buf, room);
}

static void print_run(FILE *out, const struct result_run *run)
{
	char length[32];

	fprintf(out, "\n%s: %s measured, seed %llu", run->name ? run->name : "run",
		stats_format(run->measured_s, "s", length, sizeof(length)),
		(unsigned long long)run->seed);
	if (run->host.dpdk)
		fprintf(out, ", %s", run->host.dpdk);
	if (run->host.memory)
		fprintf(out, ", %s", run->host.memory);
	fputc('\n', out);
}

// A dash where there are fewer values than it needs; among lost ones it is lost all the same.
static double percentile(const struct latency *l, double value_ns, double share)
{
	return isinf(value_ns) || hist_knows((double)l->count, share) ? value_ns : NAN;
}

static void print_latency(FILE *out, const char *name, const struct latency *l)
{
	const double cells[] = {l->min_ns, l->mean_ns, l->p50_ns, percentile(l, l->p90_ns, 0.9),
		percentile(l, l->p99_ns, 0.99), percentile(l, l->p999_ns, 0.999),
		percentile(l, l->p9999_ns, 0.9999), l->max_ns};
	char buf[32];

	fprintf(out, "  %-12s", name);
	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
		fprintf(out, COLUMN, report_time(cells[i], l->count > 0, buf, sizeof(buf)));
	fputc('\n', out);
}

static void print_latencies(FILE *out, const struct result_item *i)
{
	static const char *const names[] = {
		"min", "mean", "p50", "p90", "p99", "p99.9", "p99.99", "max"};

	fprintf(out, "  %-12s", "latency");
	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
		fprintf(out, COLUMN, names[n]);
	fputc('\n', out);
	print_latency(out, "response", &i->latency.response);
	print_latency(out, "service", &i->latency.service);
	print_latency(out, "send lag", &i->send_lag);
}

struct ledger_part {
	const char *name;
	uint64_t n;
};

// "  due       200 000 = sent 200 000 + unsent 0"
static void print_sum(
	FILE *out, const char *name, uint64_t total, const struct ledger_part *parts, size_t n)
{
	const char *sign = "=";
	char buf[32];

	fprintf(out, "  %-12s%14s", name, count_text(total, buf, sizeof(buf)));
	for (size_t i = 0; i < n; i++, sign = "+")
		fprintf(out, " %s %s %s", sign, parts[i].name,
			count_text(parts[i].n, buf, sizeof(buf)));
	fputc('\n', out);
}

static void print_ledger(FILE *out, const struct result_item *i)
{
	const struct ledger *l = &i->ledger;
	bool one_way = l->no_reply && l->no_reply == l->sent;
	const struct ledger_part due[] = {{"sent", l->sent}, {"unsent", i->unsent}};
	const struct ledger_part sent[] = {{"answered", l->answered}, {"failed", l->failed},
		{"lost", l->lost}, {"in flight", i->in_flight}, {"no reply", l->no_reply}};
	char late[32], duplicate[32], stray[32], malformed[32], due_rate[32], answered_rate[32],
		loss[32];

	print_sum(out, "due", l->due, due, 2);
	print_sum(out, "sent", l->sent, sent, l->no_reply ? 5 : 4);
	fprintf(out, "  %-12sdue %s, %s %s, loss %s\n", "rates",
		stats_format(i->due_per_s, "per_s", due_rate, sizeof(due_rate)),
		one_way ? "sent" : "answered",
		stats_format(one_way ? i->sent_per_s : i->answered_per_s, "per_s", answered_rate,
			sizeof(answered_rate)),
		stats_format(i->loss, "1", loss, sizeof(loss)));
	if (i->request_bps + i->reply_bps > 0)
		fprintf(out, "  %-12ssent %.4g Mbit/s, replies %.4g Mbit/s, without headers\n",
			"messages", i->request_bps / 1e6, i->reply_bps / 1e6);
	if (i->last_answer_s > 1.01 * i->sending_s)
		fprintf(out, "  %-12sfor %s, the last reply after %s\n", "sent",
			stats_format(i->sending_s, "s", due_rate, sizeof(due_rate)),
			stats_format(i->last_answer_s, "s", answered_rate, sizeof(answered_rate)));
	if (l->late + l->duplicate + l->stray + l->malformed == 0)
		return;
	fprintf(out, "  %-12slate %s, duplicate %s, stray %s, malformed %s\n", "also came",
		count_text(l->late, late, sizeof(late)),
		count_text(l->duplicate, duplicate, sizeof(duplicate)),
		count_text(l->stray, stray, sizeof(stray)),
		count_text(l->malformed, malformed, sizeof(malformed)));
}

// One row for each step of the item's exchanges.
static void print_steps(FILE *out, const struct counter_list *steps)
{
	static const char *const titles[] = {
		"sent", "answered", "failed", "lost", "no reply", "p50", "p99", "max"};
	const struct result_step *s = steps->items;
	char buf[32];

	if (steps->count == 0)
		return;
	fprintf(out, "  %-16s", "step");
	for (size_t n = 0; n < sizeof(titles) / sizeof(titles[0]); n++)
		fprintf(out, COLUMN, titles[n]);
	fputc('\n', out);
	for (uint32_t i = 0; i < steps->count; i++) {
		const uint64_t counts[] = {
			s[i].sent, s[i].answered, s[i].failed, s[i].lost, s[i].no_reply};
		const struct latency *l = &s[i].latency.response;
		const double times[] = {l->p50_ns, percentile(l, l->p99_ns, 0.99), l->max_ns};

		fprintf(out, "  %-16s", s[i].name);
		for (size_t n = 0; n < sizeof(counts) / sizeof(counts[0]); n++)
			fprintf(out, COLUMN, count_text(counts[n], buf, sizeof(buf)));
		for (size_t n = 0; n < sizeof(times) / sizeof(times[0]); n++)
			fprintf(out, COLUMN, report_time(times[n], l->count > 0, buf, sizeof(buf)));
		fputc('\n', out);
	}
}

static void print_servers(FILE *out, const struct counter_list *servers)
{
	static const char *const titles[] = {"sent", "answered", "failed", "lost", "share", "gap"};
	const struct result_server *s = servers->items;
	char buf[32];

	if (servers->count == 0)
		return;
	fprintf(out, "  %-16s", "server");
	for (size_t n = 0; n < sizeof(titles) / sizeof(titles[0]); n++)
		fprintf(out, COLUMN, titles[n]);
	fputc('\n', out);
	for (uint32_t i = 0; i < servers->count; i++) {
		const uint64_t counts[] = {s[i].sent, s[i].answered, s[i].failed, s[i].lost};

		fprintf(out, "  %-16s", s[i].name);
		for (size_t n = 0; n < sizeof(counts) / sizeof(counts[0]); n++)
			fprintf(out, COLUMN, count_text(counts[n], buf, sizeof(buf)));
		fprintf(out, COLUMN, stats_format(s[i].share, "1", buf, sizeof(buf)));
		fprintf(out, COLUMN "\n", report_time(s[i].longest_gap_ns, true, buf, sizeof(buf)));
	}
}

// Of an item that only one server answered, its address is that of the item.
static void print_servers_heard(FILE *out, const struct counter_list *heard)
{
	const struct result_heard *p = heard->items;
	char buf[32];

	if (heard->count < 2)
		return;
	fprintf(out, "  %-32s %-16s" COLUMN COLUMN COLUMN "\n", "server heard", "from", "offers",
		"answers", "refusals");
	for (uint32_t i = 0; i < heard->count; i++) {
		const uint64_t counts[] = {p[i].offers, p[i].answers, p[i].refusals};

		fprintf(out, "  %-32s %-16s", p[i].name, p[i].address ? p[i].address : "-");
		for (size_t n = 0; n < sizeof(counts) / sizeof(counts[0]); n++)
			fprintf(out, COLUMN, count_text(counts[n], buf, sizeof(buf)));
		fputc('\n', out);
	}
}

static void print_times(FILE *out, const char *name, const struct latency *l)
{
	const double times[] = {l->min_ns, l->p50_ns, percentile(l, l->p99_ns, 0.99), l->max_ns};
	static const char *const names[] = {"min", "p50", "p99", "max"};
	char buf[32];

	if (l->count == 0)
		return;
	fprintf(out, "    %-14s", name);
	for (size_t n = 0; n < sizeof(times) / sizeof(times[0]); n++)
		fprintf(out, "%s %s%s", names[n], report_time(times[n], true, buf, sizeof(buf)),
			n + 1 < sizeof(times) / sizeof(times[0]) ? ", " : "\n");
}

// What an item that follows another one waited for.
static void print_marks(FILE *out, const struct counter_list *marks)
{
	static const char *const titles[] = {"count", "min", "p50", "p90", "p99", "p99.9", "max"};
	const struct result_mark *m = marks->items;
	char buf[32];

	if (marks->count == 0)
		return;
	fprintf(out, "  %-16s", "after the lease");
	for (size_t n = 0; n < sizeof(titles) / sizeof(titles[0]); n++)
		fprintf(out, COLUMN, titles[n]);
	fputc('\n', out);
	for (uint32_t i = 0; i < marks->count; i++) {
		const struct latency *l = &m[i].latency;
		const double times[] = {l->min_ns, l->p50_ns, percentile(l, l->p90_ns, 0.9),
			percentile(l, l->p99_ns, 0.99), percentile(l, l->p999_ns, 0.999),
			l->max_ns};

		fprintf(out, "  %-16s" COLUMN, m[i].name, count_text(l->count, buf, sizeof(buf)));
		for (size_t n = 0; n < sizeof(times) / sizeof(times[0]); n++)
			fprintf(out, COLUMN, report_time(times[n], true, buf, sizeof(buf)));
		fputc('\n', out);
	}
}

// What the counters of connections say about the server.
static void print_closings(FILE *out, const struct result_connections *c, bool answers)
{
	uint64_t ended = c->closed + c->reset;
	char buf[32], lost[32];

	if (c->closed)
		fprintf(out, "    the server closed %s of them, after %.4g messages on average\n",
			count_text(c->closed, buf, sizeof(buf)),
			(double)c->closed_after / (double)ended);
	if (c->lost_closed)
		fprintf(out, "    %s messages were lost as the server refused or closed theirs\n",
			count_text(c->lost_closed, lost, sizeof(lost)));
	if (c->syn_retransmitted)
		fprintf(out,
			"    SYN was sent again %s times: the server's queue of new connections "
			"was full, or packets were lost\n",
			count_text(c->syn_retransmitted, buf, sizeof(buf)));
	if (c->established && !answers)
		fputs("    the server accepts connections and never answers\n", out);
	if (c->no_port)
		fputs("    new connections waited for ports: more addresses, or a shorter "
		      "time_wait, allow more of them\n",
			out);
}

// Those that went well in a line, and all that did not.
static void print_connections(FILE *out, const struct result_item *i)
{
	const struct result_connections *c = i->connections;
	const struct ledger *l = &i->ledger;
	bool answers = l->answered + l->failed + l->late + l->duplicate + l->stray + l->malformed;
	char buf[32], open[32];

	if (!c)
		return;
	fprintf(out, "  connections %9s opened, %s accepted",
		count_text(c->opened, buf, sizeof(buf)),
		count_text(c->established, open, sizeof(open)));
#define PRINT(member, help)                                                                        \
	if (c->member && strcmp(#member, "opened") != 0 && strcmp(#member, "established") != 0)    \
		fprintf(out, ", %s %s", #member, count_text(c->member, buf, sizeof(buf)));
	CONN_COUNTERS(PRINT)
	TCP_COUNTERS(PRINT)
#undef PRINT
	fputc('\n', out);
	print_times(out, "handshake", &c->handshake);
	print_times(out, "first answer", &c->first_answer);
	print_closings(out, c, answers);
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
	char clients[32];

	fprintf(out, "\n%s: %s on port %s, %s loop", i->name, i->protocol, i->port, i->loop);
	if (i->clients)
		fprintf(out, ", %s clients", count_text(i->clients, clients, sizeof(clients)));
	if (i->server_name)
		fprintf(out, ", server %s (%s)", i->server_name, i->server);
	fputc('\n', out);
	if (i->input)
		fprintf(out, "  used %s\n", i->input);
	if (i->ledger.due == 0) {
		fputs("  nothing was due\n", out);
		return;
	}
	print_latencies(out, i);
	print_ledger(out, i);
	if (i->foreseen)
		fprintf(out, "  foreseen           %.0f due (off by %+.2f %%)\n", i->foreseen->due,
			100 * i->foreseen->off);
	print_steps(out, &i->steps);
	print_marks(out, &i->marks);
	print_servers(out, &i->servers);
	print_servers_heard(out, &i->servers_heard);
	print_connections(out, i);
	print_choice(out, &i->counters, 2);
}

// The packets that the tester lost; after a run that did not pass, the port's other counters too.
static void print_port(FILE *out, const struct result_port *p, bool all)
{
	const struct {
		const char *text;
		uint64_t n;
	} problems[] = {
		{"packets dropped by the device: the worker was too slow", p->rx_missed},
		{"packets dropped: no free buffer", p->rx_no_mbuf},
		{"times the device took only a part of a burst", p->tx_refused},
		{"times no buffer was free to send from", p->tx_no_mbuf},
		{"packets lost between workers: the ring was full", p->hand_over_full},
	};
	char received[32], sent[32], buf[32];
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++)
		sum += problems[i].n;
	if (sum == 0 && !all)
		return;
	fprintf(out, "\nport %s (%s%s%s): %s packets received, %s sent\n", p->name, p->driver,
		p->device ? " " : "", p->device ? p->device : "",
		count_text(p->rx_packets, received, sizeof(received)),
		count_text(p->tx_packets, sent, sizeof(sent)));
	for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++)
		if (problems[i].n)
			fprintf(out, "  %s %s\n", count_text(problems[i].n, buf, sizeof(buf)),
				problems[i].text);
	print_choice(out, &(struct counter_choice){&wire_section, p->other}, 2);
}

// The responder's connections, and all that it did to them.
static void print_accepted(FILE *out, const struct result_responder_conns *c)
{
	char buf[32];

	fprintf(out, "  connections %9s accepted", count_text(c->accepted, buf, sizeof(buf)));
#define PRINT(member, help)                                                                        \
	if (c->member && strcmp(#member, "accepted") != 0)                                         \
		fprintf(out, ", %s %s", #member, count_text(c->member, buf, sizeof(buf)));
	RESPONDER_CONN_COUNTERS(PRINT, PRINT)
#undef PRINT
	fputc('\n', out);
}

static void print_responder(FILE *out, const struct result_responder *total)
{
	const struct result_responder_protocol *p = total->protocols.items;
	char received[32], answered[32], ignored[32];

	fprintf(out, "\nresponder on port %s: received %s, answered %s, ignored %s\n", total->port,
		count_text(total->received, received, sizeof(received)),
		count_text(total->answered, answered, sizeof(answered)),
		count_text(total->ignored, ignored, sizeof(ignored)));
	for (uint32_t i = 0; i < FAULTS_MAX; i++)
		if (total->faults[i])
			fprintf(out, "  fault %-20s%14s\n", faults_label(i),
				count_text(total->faults[i], received, sizeof(received)));
	if (total->no_buffer)
		fprintf(out, "  requests dropped: no free packet buffer %s\n",
			count_text(total->no_buffer, received, sizeof(received)));
	if (total->gaps_over_1ms)
		fprintf(out, "  without its CPU for %s: %s times over 1 ms, longest %s\n",
			report_time(total->stolen_s * 1e9, true, answered, sizeof(answered)),
			count_text(total->gaps_over_1ms, received, sizeof(received)),
			report_time(total->max_gap_ns, true, ignored, sizeof(ignored)));
	if (total->connections)
		print_accepted(out, total->connections);
	for (uint32_t i = 0; i < total->protocols.count; i++)
		print_choice(out, &p[i].counters, 2);
}

static void print_capture(FILE *out, const struct result_capture *c)
{
	fprintf(out, "\n%llu packets of failing transactions in %s", (unsigned long long)c->packets,
		c->file);
	if (c->dropped)
		fprintf(out, "; %llu left out: they arrived faster than the file was written",
			(unsigned long long)c->dropped);
	if (c->limit_reached)
		fputs("; the limit of transactions was reached", out);
	if (c->incomplete)
		fputs("; the file is incomplete: a write failed", out);
	fputc('\n', out);
}

// The part of every latency that is not the server's, and the longest wait for the worker's next
// pass.
static void print_tester_delay(FILE *out, const struct result *result)
{
	const struct result_tester_delay *d = result->run.tester_delay;
	const struct result_worker *all = result->workers.items;
	const struct latency *worst = NULL;
	char p50[32], p99[32], max[32];

	for (uint32_t i = 0; d && i < result->workers.count; i++)
		if (strcmp(all[i].port, d->port) == 0 &&
			(!worst || all[i].passes.p99_ns > worst->p99_ns))
			worst = &all[i].passes;
	if (!worst)
		return;
	fprintf(out, "\nthe tester itself adds p50 %s, p99 %s to every latency",
		report_time(d->single.p50_ns, d->single.count, p50, sizeof(p50)),
		report_time(percentile(&d->single, d->single.p99_ns, 0.99), d->single.count, p99,
			sizeof(p99)));
	fprintf(out, "; a pass of its loop took p50 %s, p99 %s, max %s\n",
		report_time(worst->p50_ns, worst->count, p50, sizeof(p50)),
		report_time(percentile(worst, worst->p99_ns, 0.99), worst->count, p99, sizeof(p99)),
		report_time(worst->max_ns, worst->count, max, sizeof(max)));
}

// What of a late look at replies is in no latency, as the kernel says when they came.
static void print_wake(FILE *out, const struct result *result)
{
	const struct result_worker *all = result->workers.items;
	const struct latency *worst = NULL;
	char p50[32], p99[32], max[32];

	for (uint32_t i = 0; i < result->workers.count; i++)
		if (all[i].wake && all[i].wake->count &&
			(!worst || all[i].wake->max_ns > worst->max_ns))
			worst = all[i].wake;
	if (!worst)
		return;
	fprintf(out,
		"\nreplies waited p50 %s, p99 %s, max %s for the tester; the kernel says when they "
		"arrived, so that is in no latency\n",
		report_time(worst->p50_ns, worst->count, p50, sizeof(p50)),
		report_time(percentile(worst, worst->p99_ns, 0.99), worst->count, p99, sizeof(p99)),
		report_time(worst->max_ns, worst->count, max, sizeof(max)));
}

// For ports with several workers: the share of packets that arrived at the queue of their owner.
static void print_sharing(FILE *out, const struct result *result)
{
	const struct result_port *ports = result->ports.items;
	const struct result_worker *all = result->workers.items;
	char buf[32];

	for (uint32_t i = 0; i < result->ports.count; i++) {
		uint64_t received = 0, workers = 0;

		for (uint32_t k = 0; k < result->workers.count; k++)
			if (strcmp(all[k].port, ports[i].name) == 0) {
				received += all[k].received;
				workers++;
			}
		if (workers < 2 || received == 0)
			continue;
		fprintf(out,
			"\nport %s: of %s packets for its %llu workers, %.1f %% arrived at the "
			"right one, %.1f %% were handed over\n",
			ports[i].name, count_text(received, buf, sizeof(buf)),
			(unsigned long long)workers,
			100 * (1 - (double)ports[i].handed_over / (double)received),
			100 * (double)ports[i].handed_over / (double)received);
	}
}

static const char *search_value(double v, char *buf, size_t room)
{
	if (isnan(v) || isinf(v))
		snprintf(buf, room, "%s", isnan(v) ? "none" : "-");
	else
		stats_format(v, NULL, buf, room);
	return buf;
}

static const char *search_rate(double v, char *buf, size_t room)
{
	if (isnan(v))
		snprintf(buf, room, "-");
	else
		stats_format(v, "per_s", buf, room);
	return buf;
}

static void print_peak(FILE *out, const char *name, const struct result_peak *p)
{
	char load[32], answered[32];

	if (p)
		fprintf(out, "  %-10s %s answered at %s\n", name,
			search_rate(p->answered_per_s, answered, sizeof(answered)),
			search_value(p->rate, load, sizeof(load)));
}

// " (user 5 %, system 2 %)": the shares above 0.
static void print_cpu_parts(FILE *out, const struct result_cpu_use *u)
{
	const struct {
		const char *name;
		double share;
	} rows[] = {{"user", u->user}, {"system", u->system}, {"irq", u->irq},
		{"softirq", u->softirq}, {"stolen by the host", u->steal}};
	const char *before = " (";
	char share[32];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!(rows[i].share > 0))
			continue;
		fprintf(out, "%s%s %s", before, rows[i].name,
			stats_format(rows[i].share, "1", share, sizeof(share)));
		before = ", ";
	}
	if (*before == ',')
		fputc(')', out);
}

static void print_cpu_line(
	FILE *out, const char *box, uint64_t cpus, const struct result_cpu_use *u)
{
	char share[32];

	fprintf(out, "  %-12s %s of %llu CPUs", box,
		stats_format(u->used, "1", share, sizeof(share)), (unsigned long long)cpus);
	print_cpu_parts(out, u);
	if (cpus > 1 && !isnan(u->busiest_used))
		fprintf(out, ", busiest CPU %llu with %s", (unsigned long long)u->busiest,
			stats_format(u->busiest_used, "1", share, sizeof(share)));
	fputc('\n', out);
}

// A worker polls all the time; its work is what it could do more of.
static void print_head_room(FILE *out, const struct counter_list *workers)
{
	const struct result_worker *w = workers->items, *busiest = NULL;
	char work[32], busy[32], cpu[32] = "";

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
		cpu, stats_format(busiest->ns_per_transaction, "ns", work, sizeof(work)),
		stats_format(busiest->busy, "1", busy, sizeof(busy)), fmax(1 / busiest->busy, 1));
}

static void print_cpu(FILE *out, const struct result *r)
{
	const struct result_dut_figure *f = r->dut ? r->dut->figures.items : NULL;
	char demand[32];

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
			stats_format(
				1e3 * r->dut->us_per_transaction, "ns", demand, sizeof(demand)));
	for (uint32_t i = 0; i < r->dut->figures.count; i++)
		fprintf(out, "  probe        %s %g\n", f[i].name, f[i].value);
	if (r->dut->failures)
		fprintf(out, "  probe        failed %llu times of %llu\n",
			(unsigned long long)r->dut->failures,
			(unsigned long long)(r->dut->failures + r->dut->samples));
}

// Those that did not change say nothing here.
static void print_counters(FILE *out, const struct result_dut *dut)
{
	const struct result_dut_counter *c = dut->counters.items;
	uint32_t changed = 0;

	fprintf(out, "\nserver's counters (%s)\n",
		dut->counters_error ? dut->counters_error : "dut.counters: differences");
	for (uint32_t i = 0; i < dut->counters.count; i++) {
		if (c[i].difference == 0)
			continue;
		if (changed++ < COUNTERS_SHOWN)
			fprintf(out, "  %-40s %.15g\n", c[i].name, c[i].difference);
	}
	if (changed > COUNTERS_SHOWN)
		fprintf(out, "  and %u more, in the result\n", changed - COUNTERS_SHOWN);
	fprintf(out, "  %u of %u changed\n", changed, dut->counters.count);
}

static const char *after_ns(double ns, char *text, size_t room)
{
	char time[32];

	if (!isfinite(ns))
		return "never";
	snprintf(text, room, "after %s", stats_format(ns, "ns", time, sizeof(time)));
	return text;
}

static void print_event_item(FILE *out, const struct result_event_item *it)
{
	const struct result_event_server *s = it->servers.items;
	const struct latency *w = &it->waited;
	char gap[32], answer[40], back[40];

	fprintf(out,
		"    %s: longest gap %s, first answer %s, 99 %% of the rate %s, %llu lost, %llu "
		"failed\n",
		it->name, stats_format(it->longest_gap_ns, "ns", gap, sizeof(gap)),
		after_ns(it->first_answer_ns, answer, sizeof(answer)),
		it->regained_s == 0 ? "kept" : after_ns(1e9 * it->regained_s, back, sizeof(back)),
		(unsigned long long)it->lost, (unsigned long long)it->failed);
	if (w->count)
		fprintf(out, "      %llu waited over that gap: p50 %s, p99 %s, max %s\n",
			(unsigned long long)w->count,
			stats_format(w->p50_ns, "ns", gap, sizeof(gap)),
			stats_format(percentile(w, w->p99_ns, 0.99), "ns", answer, sizeof(answer)),
			stats_format(w->max_ns, "ns", back, sizeof(back)));
	for (uint32_t i = 0; i < it->servers.count; i++) {
		fprintf(out, "      %s: %llu answered, %llu lost, ", s[i].name,
			(unsigned long long)s[i].answered, (unsigned long long)s[i].lost);
		if (s[i].longest_gap_ns > 0)
			fprintf(out, "longest gap %s, first answer %s\n",
				stats_format(s[i].longest_gap_ns, "ns", gap, sizeof(gap)),
				after_ns(s[i].first_answer_ns, answer, sizeof(answer)));
		else
			fputs("no gap\n", out);
	}
}

static void print_event(FILE *out, const struct result_event *e)
{
	const struct result_event_item *items = e->traffic.items;

	fprintf(out, "  %.3f s %s: %s\n", e->at_s, e->name, e->outcome);
	for (uint32_t i = 0; i < e->traffic.count; i++)
		print_event_item(out, &items[i]);
}

static void print_events(FILE *out, const struct counter_list *events)
{
	const struct result_event *e = events->items;

	fputs("\nevents\n", out);
	for (uint32_t i = 0; i < events->count; i++)
		print_event(out, &e[i]);
}

static void print_router(FILE *out, const struct result_router *r)
{
	const struct result_prefix *p = r->prefixes.items;
	char took[32];

	fprintf(out, "  %s on port %s, VLANs %s: ", r->item, r->port, r->vlans);
	if (!r->heard) {
		fprintf(out, "no advertisement (asked %llu times)\n", (unsigned long long)r->asked);
		return;
	}
	fprintf(out, "%s after %s%s%s, for %llu s\n", r->router,
		stats_format(r->took_ns, "ns", took, sizeof(took)), r->managed ? ", managed" : "",
		r->other ? ", other" : "", (unsigned long long)r->lifetime_s);
	for (uint32_t i = 0; i < r->prefixes.count; i++)
		fprintf(out, "    %s%s%s, valid %llu s, preferred %llu s\n", p[i].prefix,
			p[i].on_link ? ", on link" : "", p[i].autonomous ? ", autonomous" : "",
			(unsigned long long)p[i].valid_s, (unsigned long long)p[i].preferred_s);
}

static void print_routers(FILE *out, const struct counter_list *routers)
{
	const struct result_router *r = routers->items;

	fputs("\nrouters\n", out);
	for (uint32_t i = 0; i < routers->count; i++)
		print_router(out, &r[i]);
}

// Losses each way, which only both sides together know.
static void print_peer(FILE *out, const struct result_peer *p)
{
	const struct result_responder_protocol *list = p->protocols.items;
	char there[32], back[32];

	fprintf(out,
		"\nresponder elsewhere, warm-up included\n"
		"  there       sent %llu, received %llu, loss %s\n"
		"  back        answered %llu, replies %llu, loss %s\n",
		(unsigned long long)p->sent, (unsigned long long)p->received,
		stats_format(p->loss_there, "1", there, sizeof(there)),
		(unsigned long long)p->answered, (unsigned long long)p->replies,
		stats_format(p->loss_back, "1", back, sizeof(back)));
	for (uint32_t i = 0; i < p->protocols.count; i++) {
		fprintf(out, "  %s\n", list[i].name);
		stats_text(list[i].counters.section, list[i].counters.data, 4, out);
	}
}

static void print_search(FILE *out, const struct result_search *s)
{
	const struct result_goal *goals = s->goals.items;
	char answer[32], upper[32], answered[32];

	fprintf(out, "\nsearch: %s over %s, %u trials\n", s->method, s->variable, s->trials.count);
	fprintf(out, "  %-40s %12s %12s %12s  %s\n", "goal", "answer", "not met at", "answered/s",
		"limited by");
	for (uint32_t i = 0; i < s->goals.count; i++)
		fprintf(out, "  %-40s %12s %12s %12s  %s\n", goals[i].goal,
			search_value(goals[i].answer, answer, sizeof(answer)),
			search_value(goals[i].upper, upper, sizeof(upper)),
			search_rate(goals[i].answered_per_s, answered, sizeof(answered)),
			goals[i].limited_by);
	print_peak(out, "peak", s->peak);
	print_peak(out, "collapse", s->collapse);
	if (!isnan(s->knee))
		fprintf(out, "  %-10s p99 leaves its level above %s\n", "knee",
			search_value(s->knee, answer, sizeof(answer)));
}

static void print_search_answer(FILE *out, const struct result_search *s)
{
	const struct result_goal *goal = s->goals.items;
	char answer[32];

	if (isnan(goal->answer)) {
		fprintf(out, "no %s was found that meets %s", s->variable, goal->goal);
		return;
	}
	fprintf(out, "%s is the highest %s found that meets %s",
		search_value(goal->answer, answer, sizeof(answer)), s->variable, goal->goal);
	if (strcmp(goal->limited_by, "undecided") == 0)
		fprintf(out, "; whether the server does more is undecided, as others had the CPU");
	else if (strcmp(goal->limited_by, "server") != 0)
		fprintf(out, ", but the server's own limit was not reached");
}

static const char *spread_value(double v, const char *unit, char *buf, size_t room)
{
	if (isinf(v))
		snprintf(buf, room, "any");
	else
		stats_format(v, unit, buf, room);
	return buf;
}

static void print_confidence(FILE *out, const struct result_confidence *c)
{
	static const char *const titles[] = {
		"mean", "low", "high", "stddev", "min", "p25", "median", "p75", "max"};
	const struct result_spread *s = c->figures.items;
	char buf[32];

	fprintf(out, "\nrepeats: %llu", (unsigned long long)c->runs);
	if (c->skipped)
		fprintf(out, " (the first %llu left out)", (unsigned long long)c->skipped);
	fprintf(out, ", intervals hold the mean with %g %% confidence\n  %-36s",
		100 * c->confidence, "");
	for (size_t k = 0; k < sizeof(titles) / sizeof(titles[0]); k++)
		fprintf(out, " %11s", titles[k]);
	fputc('\n', out);
	for (uint32_t i = 0; i < c->figures.count; i++) {
		const double cells[] = {s[i].mean, s[i].low, s[i].high, s[i].stddev, s[i].min,
			s[i].p25, s[i].median, s[i].p75, s[i].max};
		const size_t len = strlen(s[i].figure);
		const bool is_time = len > 3 && strcmp(s[i].figure + len - 3, "_ns") == 0;
		const char *unit = is_time ? "ns" : s[i].item ? "per_s" : "1";

		fprintf(out, "  %-12s%-24s", s[i].item ? s[i].item : "", s[i].figure);
		for (size_t k = 0; k < sizeof(cells) / sizeof(cells[0]); k++)
			fprintf(out, "%12s", spread_value(cells[k], unit, buf, sizeof(buf)));
		fputs(s[i].reached || isnan(s[i].mean) ? "\n" : "  wider than asked for\n", out);
	}
}

static bool is_invalid_by(const struct result_verdict *v, const char *cause)
{
	return v->invalid_by && strcmp(v->invalid_by, cause) == 0;
}

// The load was not made: no client was free for a part of it.
static bool is_invalid_by_load(const struct result_verdict *v)
{
	return is_invalid_by(v, "load");
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
		{"undecided", "the server or this box: nobody can say, as others disturbed it"},
	};
	const struct result_verdict *v = &r->verdict;
	const struct result_item *items = r->traffic.items;
	uint64_t failed = 0;
	bool judged = v->limited_by && !is_invalid_by_load(v) &&
	              (strcmp(v->status, "invalid") != 0 || strcmp(v->limited_by, "none") != 0) &&
	              strcmp(v->status, "unreachable") != 0 &&
	              strcmp(v->status, "interrupted") != 0;

	for (uint32_t i = 0; i < r->traffic.count; i++)
		failed += items[i].ledger.failed;
	if (judged && failed && strcmp(v->limited_by, "none") == 0) {
		fprintf(out,
			"\nlimited by nothing: the load was sent as asked for, and %llu failed\n",
			(unsigned long long)failed);
		return;
	}
	for (size_t i = 0; judged && i < sizeof(limits) / sizeof(limits[0]); i++)
		if (strcmp(v->limited_by, limits[i].by) == 0)
			fprintf(out, "\nlimited by %s\n", limits[i].text);
	if (is_invalid_by_load(v))
		fputs("\nlimited by the load: no client was free for a part of it\n", out);
}

const char *report_criterion_value(const struct result_criterion *c, char *buf, size_t room)
{
	if (isnan(c->value))
		return "not seen";
	if (isinf(c->value))
		return report_time(c->value, true, buf, room);
	return stats_format(c->value, c->unit, buf, room);
}

static void print_criteria(FILE *out, const struct counter_list *criteria)
{
	const struct result_criterion *c = criteria->items;
	char value[32];

	if (criteria->count)
		fputs("\ncriteria\n", out);
	for (uint32_t i = 0; i < criteria->count; i++)
		fprintf(out, "  %s  %-40s  %s\n", c[i].pass ? "pass" : "FAIL", c[i].expression,
			report_criterion_value(&c[i], value, sizeof(value)));
}

#define REASON_SIZE 2048

static void print_reasons(FILE *out, const struct counter_list *reasons)
{
	const char *const *texts = reasons->items;
	char text[REASON_SIZE];

	if (reasons->count)
		fputs("\nwhy\n", out);
	for (uint32_t i = 0; i < reasons->count; i++)
		fprintf(out, "  - %s\n", log_in_words(texts[i], text, sizeof(text)));
}

struct verdict_text {
	const char *status, *word, *colour, *text;
};

// Reasons in which these words occur.
static uint32_t reasons_with(const struct counter_list *reasons, const char *words)
{
	const char *const *texts = reasons->items;
	uint32_t n = 0;

	for (uint32_t i = 0; i < reasons->count; i++)
		n += strstr(texts[i], words) != NULL;
	return n;
}

static const struct verdict_text *verdict_text(const struct result *r)
{
	static const struct verdict_text texts[] = {
		{"pass", "PASS", "\033[32m", NULL},
		{"done", "DONE", "", "no criteria, so nothing was judged"},
		{"fail", "FAIL", "\033[31m", NULL},
		{"invalid", "INVALID", "\033[33m",
			"the tester was too slow or its port failed, so the run says nothing about "
			"the server"},
		{"unreachable", "UNREACHABLE", "\033[31m", "no server answered"},
		{"interrupted", "INTERRUPTED", "\033[33m",
			"the run was stopped before its end, so it is not judged"},
	};
	static const struct verdict_text broken = {"", "INTERNAL ERROR", "\033[31m",
		"the tester's own counters contradict each other, so trust no figure"};
	static const struct verdict_text load = {"", "INVALID", "\033[33m",
		"too few clients or connections were free, so this is not the load that was asked "
		"for"};
	static const struct verdict_text disturbed = {"", "INVALID", "\033[33m",
		"other programs had the tester's CPU, so the run says nothing about the server"};
	static const struct verdict_text down = {"", "INVALID", "\033[33m",
		"the tester's link was down, so the run says nothing about the server"};
	static const struct verdict_text event = {"", "INVALID", "\033[33m",
		"an event failed, so the run is not the one that was asked for"};
	static const struct verdict_text partial = {"", "INVALID", "\033[33m",
		"a run of the series could not begin, so the series is incomplete"};
	static const struct verdict_text unknown = {"", "NO VERDICT", "", NULL};

	const struct result_verdict *v = &r->verdict;

	if (v->exit_code == EXIT_INTERNAL)
		return &broken;
	if (v->exit_code == EXIT_CONFIG || v->exit_code == EXIT_ENVIRONMENT)
		return &partial;
	if (is_invalid_by_load(v))
		return &load;
	if (is_invalid_by(v, "disturbance"))
		return &disturbed;
	if (strcmp(v->status, "invalid") == 0 && reasons_with(&v->reasons, ": the link was down "))
		return &down;
	if (strcmp(v->status, "invalid") == 0 && v->reasons.count &&
		reasons_with(&v->reasons, "event \"") == v->reasons.count)
		return &event;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (strcmp(v->status, texts[i].status) == 0)
			return &texts[i];
	return &unknown;
}

// "200 000 requests sent, all answered in time"
static void print_totals(FILE *out, const struct counter_list *traffic)
{
	const struct result_item *items = traffic->items;
	uint64_t sent = 0, answered = 0, failed = 0, lost = 0, no_reply = 0;
	double sent_per_s = 0, sent_bps = 0;
	char a[32], b[32];

	for (uint32_t i = 0; i < traffic->count; i++) {
		sent += items[i].ledger.sent;
		answered += items[i].ledger.answered;
		failed += items[i].ledger.failed;
		lost += items[i].ledger.lost;
		no_reply += items[i].ledger.no_reply;
		sent_per_s += items[i].sent_per_s;
		sent_bps += items[i].request_bps;
	}
	if (sent == 0) {
		fputs("nothing was sent", out);
		return;
	}
	if (no_reply == sent) {
		fprintf(out, "%s messages sent one way, %s", count_text(sent, a, sizeof(a)),
			stats_format(sent_per_s, "per_s", b, sizeof(b)));
		if (sent_bps > 0)
			fprintf(out, ", %.4g Mbit/s", sent_bps / 1e6);
		return;
	}
	fprintf(out, "%s requests sent, ", count_text(sent, a, sizeof(a)));
	if (answered + no_reply == sent) {
		if (no_reply)
			fprintf(out, "%s answered in time, %s need no reply",
				count_text(answered, a, sizeof(a)),
				count_text(no_reply, b, sizeof(b)));
		else
			fputs("all answered in time", out);
		return;
	}
	fprintf(out, "%s answered in time", count_text(answered, a, sizeof(a)));
	if (failed)
		fprintf(out, ", %s failed", count_text(failed, a, sizeof(a)));
	if (lost)
		fprintf(out, ", %s lost (%s)", count_text(lost, a, sizeof(a)),
			stats_format((double)lost / (double)sent, "1", b, sizeof(b)));
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
		first = first ? first : c[i].expression;
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
	const struct verdict_text *t = verdict_text(result);

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
	const struct result_item *items = result->traffic.items;
	const struct result_port *ports = result->ports.items;
	const char *status = result->verdict.status;
	bool good = strcmp(status, "pass") == 0 || strcmp(status, "done") == 0;

	print_run(out, &result->run);
	if (result->routers.count)
		print_routers(out, &result->routers);
	for (uint32_t i = 0; i < result->traffic.count; i++)
		print_item(out, &items[i]);
	print_tester_delay(out, result);
	print_wake(out, result);
	print_sharing(out, result);
	if (result->responder)
		print_responder(out, result->responder);
	for (uint32_t i = 0; i < result->ports.count; i++)
		print_port(out, &ports[i], !good);
	if (result->capture)
		print_capture(out, result->capture);
	if (result->events.count)
		print_events(out, &result->events);
	if (result->cpu || (result->dut && result->dut->command))
		print_cpu(out, result);
	if (result->dut && (result->dut->counters.count || result->dut->counters_error))
		print_counters(out, result->dut);
	if (result->peer)
		print_peer(out, result->peer);
	if (result->search)
		print_search(out, result->search);
	if (result->confidence)
		print_confidence(out, result->confidence);
	print_limit(out, result);
	print_criteria(out, &result->verdict.criteria);
	print_reasons(out, &result->verdict.reasons);
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
	print_responder(r->out, total);
	fflush(r->out);
}
