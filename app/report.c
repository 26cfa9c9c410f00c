// SPDX-License-Identifier: BSD-3-Clause
// The end of a run as tables; report_verdict.c has its last part. Path: cold. Main thread.
#include "report.h"

#include <math.h>
#include <string.h>

#include "engine/run/run.h"
#include "report_series.h"
#include "report_verdict.h"
#include "stats/text.h"

#define COLUMN "%10s"

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

static void print_latency(FILE *out, const char *name, const struct latency *l)
{
	const double cells[] = {l->min_ns, l->mean_ns, l->p50_ns, l->p90_ns, l->p99_ns, l->p999_ns,
		l->p9999_ns, l->max_ns};
	char buf[32];

	fprintf(out, "  %-12s", name);
	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
		fprintf(out, COLUMN, report_time(cells[i], l->count > 0, buf, sizeof(buf)));
	}
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

struct part {
	const char *name;
	uint64_t n;
};

// "  due       200 000 = sent 200 000 + unsent 0"
static void print_sum(
	FILE *out, const char *name, uint64_t whole, const struct part *parts, size_t n)
{
	const char *sign = "=";
	char buf[32];

	fprintf(out, "  %-12s%14s", name, report_count(whole, buf, sizeof(buf)));
	for (size_t i = 0; i < n; i++, sign = "+")
		fprintf(out, " %s %s %s", sign, parts[i].name,
			report_count(parts[i].n, buf, sizeof(buf)));
	fputc('\n', out);
}

static void print_ledger(FILE *out, const struct result_item *i)
{
	const struct ledger *l = &i->ledger;
	const struct part due[] = {{"sent", l->sent}, {"unsent", i->unsent}};
	const struct part sent[] = {{"answered", l->answered}, {"failed", l->failed},
		{"lost", l->lost}, {"in flight", i->in_flight}, {"no reply", l->no_reply}};
	char late[32], duplicate[32], stray[32], malformed[32], due_rate[32], answered_rate[32],
		loss[32];

	print_sum(out, "due", l->due, due, 2);
	print_sum(out, "sent", l->sent, sent, l->no_reply ? 5 : 4);
	fprintf(out, "  %-12sdue %s, answered %s, loss %s\n", "rates",
		stats_format(i->due_per_s, "per_s", due_rate, sizeof(due_rate)),
		stats_format(i->answered_per_s, "per_s", answered_rate, sizeof(answered_rate)),
		stats_format(i->loss, "1", loss, sizeof(loss)));
	if (i->last_answer_s > 1.01 * i->sending_s)
		fprintf(out, "  %-12sfor %s, the last answer after %s\n", "sent",
			stats_format(i->sending_s, "s", due_rate, sizeof(due_rate)),
			stats_format(i->last_answer_s, "s", answered_rate, sizeof(answered_rate)));
	if (l->late + l->duplicate + l->stray + l->malformed == 0)
		return;
	fprintf(out, "  %-12slate %s, duplicate %s, stray %s, malformed %s\n", "also came",
		report_count(l->late, late, sizeof(late)),
		report_count(l->duplicate, duplicate, sizeof(duplicate)),
		report_count(l->stray, stray, sizeof(stray)),
		report_count(l->malformed, malformed, sizeof(malformed)));
}

// The messages of which the item's transactions consist.
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
		const double times[] = {l->p50_ns, l->p99_ns, l->max_ns};

		fprintf(out, "  %-16s", s[i].name);
		for (size_t n = 0; n < sizeof(counts) / sizeof(counts[0]); n++)
			fprintf(out, COLUMN, report_count(counts[n], buf, sizeof(buf)));
		for (size_t n = 0; n < sizeof(times) / sizeof(times[0]); n++)
			fprintf(out, COLUMN, report_time(times[n], l->count > 0, buf, sizeof(buf)));
		fputc('\n', out);
	}
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
	fprintf(out, "\n%s: %s on port %s, %s loop\n", i->name, i->protocol, i->port, i->loop);
	if (i->ledger.due == 0) {
		fputs("  nothing was due\n", out);
		return;
	}
	print_latencies(out, i);
	print_ledger(out, i);
	print_steps(out, &i->steps);
	print_choice(out, &i->counters, 2);
}

// What the tester lost, and when the run did not go well, everything that belonged to no item.
static void print_port(FILE *out, const struct result_port *p, bool all)
{
	const struct {
		const char *text;
		uint64_t n;
	} problems[] = {
		{"packets dropped by the device: the worker was too slow", p->rx_missed},
		{"packets dropped for want of a buffer", p->rx_no_mbuf},
		{"times the device took less than was offered", p->tx_refused},
		{"times there was no buffer to send from", p->tx_no_mbuf},
		{"packets lost between workers", p->hand_over_full},
	};
	char received[32], sent[32], buf[32];
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++)
		sum += problems[i].n;
	if (sum == 0 && !all)
		return;
	fprintf(out, "\nport %s (%s%s%s): %s packets received, %s sent\n", p->name, p->driver,
		p->device ? " " : "", p->device ? p->device : "",
		report_count(p->rx_packets, received, sizeof(received)),
		report_count(p->tx_packets, sent, sizeof(sent)));
	for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++)
		if (problems[i].n)
			fprintf(out, "  %s %s\n", report_count(problems[i].n, buf, sizeof(buf)),
				problems[i].text);
	print_choice(out, &(struct counter_choice){&wire_section, p->other}, 2);
}

static void print_responder(FILE *out, const struct result_responder *total)
{
	const struct result_responder_protocol *p = total->protocols.items;
	char received[32], answered[32], ignored[32];

	fprintf(out, "\nresponder on port %s: received %s, answered %s, ignored %s\n", total->port,
		report_count(total->received, received, sizeof(received)),
		report_count(total->answered, answered, sizeof(answered)),
		report_count(total->ignored, ignored, sizeof(ignored)));
	for (uint32_t i = 0; i < FAULTS_MAX; i++)
		if (total->faults[i])
			fprintf(out, "  fault %-20s%14s\n", faults_label(i),
				report_count(total->faults[i], received, sizeof(received)));
	if (total->no_buffer)
		fprintf(out, "  requests dropped for want of a packet buffer %s\n",
			report_count(total->no_buffer, received, sizeof(received)));
	if (total->gaps_over_1ms)
		fprintf(out, "  without its CPU for %s: %s times over 1 ms, longest %s\n",
			report_time(total->stolen_s * 1e9, true, answered, sizeof(answered)),
			report_count(total->gaps_over_1ms, received, sizeof(received)),
			report_time(total->max_gap_ns, true, ignored, sizeof(ignored)));
	for (uint32_t i = 0; i < total->protocols.count; i++)
		print_choice(out, &p[i].counters, 2);
}

static void print_capture(FILE *out, const struct result_capture *c)
{
	fprintf(out, "\n%llu packets of failing transactions in %s", (unsigned long long)c->packets,
		c->file);
	if (c->dropped)
		fprintf(out, "; %llu left out: they came too fast", (unsigned long long)c->dropped);
	if (c->limit_reached)
		fputs("; there were more transactions than the limit", out);
	if (c->incomplete)
		fputs("; not all of it could be written", out);
	fputc('\n', out);
}

// What is in every latency and not the server's, and how long an answer may wait to be looked at.
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
		report_time(d->single.p99_ns, d->single.count, p99, sizeof(p99)));
	fprintf(out, "; a pass of its loop took p50 %s, p99 %s, max %s\n",
		report_time(worst->p50_ns, worst->count, p50, sizeof(p50)),
		report_time(worst->p99_ns, worst->count, p99, sizeof(p99)),
		report_time(worst->max_ns, worst->count, max, sizeof(max)));
}

// Of ports with several workers: how many packets came to the one that they were for.
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
			"\nport %s: of %s packets for its %llu workers, %.1f %% came to the one "
			"that they were for, %.1f %% were handed over\n",
			ports[i].name, report_count(received, buf, sizeof(buf)),
			(unsigned long long)workers,
			100 * (1 - (double)ports[i].handed_over / (double)received),
			100 * (double)ports[i].handed_over / (double)received);
	}
}

static void print_tables(FILE *out, const struct result *result)
{
	const struct result_item *items = result->traffic.items;
	const struct result_port *ports = result->ports.items;
	bool pass = strcmp(result->verdict.status, "pass") == 0;

	print_run(out, &result->run);
	for (uint32_t i = 0; i < result->traffic.count; i++)
		print_item(out, &items[i]);
	print_tester_delay(out, result);
	print_sharing(out, result);
	if (result->responder)
		print_responder(out, result->responder);
	for (uint32_t i = 0; i < result->ports.count; i++)
		print_port(out, &ports[i], !pass);
	if (result->capture)
		print_capture(out, result->capture);
	if (result->cpu || result->dut)
		report_cpu(out, result);
	if (result->search)
		report_search(out, result->search);
	if (result->confidence)
		report_confidence(out, result->confidence);
	report_reasons(out, &result->verdict);
	fputc('\n', out);
}

void report_result(struct report *r, const struct result *result)
{
	if (!r->out)
		return;
	report_clear(r);
	if (!r->quiet)
		print_tables(r->out, result);
	report_verdict(r->out, r->colour, result);
	fflush(r->out);
}

void report_responder_end(struct report *r, const struct result_responder *total)
{
	if (!r->out || !total)
		return;
	print_responder(r->out, total);
	fflush(r->out);
}
