// SPDX-License-Identifier: BSD-3-Clause
// The rules of the verdict, worst first: a broken ledger, an interruption, a server that never
// answered, a tester at fault, a criterion that does not hold. Path: cold. Management thread.
#include "engine/verdict.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "engine/criteria.h"
#include "engine/run.h"

#define REASONS_MAX 64

struct reasons {
	struct arena *arena;
	const char **texts;
	uint32_t count;
};

__attribute__((format(printf, 2, 3))) static void because(struct reasons *r, const char *fmt, ...)
{
	char text[512];
	va_list args;

	if (r->count == REASONS_MAX)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	r->texts[r->count++] = arena_strdup(r->arena, text);
}

static void judge_item(const struct plan *p, const struct plan_item *i, const struct result_item *r,
	struct reasons *out)
{
	const struct validity_settings *v = &p->config->validity;
	uint32_t before = out->count;

	if (r->ledger.due && (double)r->unsent > v->unsent * (double)r->ledger.due)
		because(out,
			"%s: the tester did not send %llu of %llu that were due (more than %g %%)",
			r->name, (unsigned long long)r->unsent, (unsigned long long)r->ledger.due,
			100 * v->unsent);
	if (r->send_lag.p99_ns > (double)v->send_lag_p99_ns)
		because(out,
			"%s: the tester sent late: 99th percentile %.3g ms (more than %.3g ms)",
			r->name, r->send_lag.p99_ns / 1e6, (double)v->send_lag_p99_ns / 1e6);
	if (r->ledger.sent == 0)
		because(out, "%s: nothing was sent in the measured part", r->name);
	if (out->count > before && i->worker->no_slot[1])
		because(out,
			"%s: all %u transaction slots were in use or resting (more source ports or "
			"addresses, or a shorter timeout)",
			r->name, i->run->txns.count);
}

static void judge_port(const struct plan *p, const struct result_port *r, struct reasons *out)
{
	uint64_t dropped = r->rx_missed + r->rx_no_mbuf + r->hand_over_full;
	double all = (double)(r->rx_packets + dropped);

	if (dropped && (double)dropped > p->config->validity.dropped * all)
		because(out,
			"port %s: the tester dropped %llu received packets (rx_missed %llu, "
			"rx_no_mbuf %llu)",
			r->name, (unsigned long long)dropped, (unsigned long long)r->rx_missed,
			(unsigned long long)r->rx_no_mbuf);
}

static void judge_tester(const struct plan *p, const struct result *r, struct reasons *out)
{
	const struct result_item *items = r->traffic.items;
	const struct result_port *ports = r->ports.items;

	for (uint32_t i = 0; i < p->item_count; i++)
		judge_item(p, &p->items[i], &items[i], out);
	for (uint32_t i = 0; i < r->ports.count; i++)
		judge_port(p, &ports[i], out);
}

// Nothing came back at all, although something was sent.
static bool unreachable(const struct result *r, const struct plan *p, struct reasons *out)
{
	const struct result_item *items = r->traffic.items;
	uint64_t sent = 0, answers = 0, refused = 0, fragments = 0;

	for (uint32_t i = 0; i < r->traffic.count; i++) {
		const struct ledger *l = &items[i].ledger;

		sent += l->sent;
		answers +=
			l->answered + l->failed + l->late + l->duplicate + l->stray + l->malformed;
	}
	if (sent == 0 || answers)
		return false;
	for (uint32_t i = 0; i < p->port_count; i++) {
		const struct wire_counters *c = &p->workers[i].wire.counters;

		refused += c->icmp_errors[ICMP_PORT_UNREACHABLE];
		fragments += c->fragments;
	}
	because(out, "nothing answered: %llu sent, no reply of any kind", (unsigned long long)sent);
	if (refused)
		because(out,
			"ICMP says port unreachable (%llu times): no server listens on that port",
			(unsigned long long)refused);
	if (fragments)
		because(out, "%llu IP fragments came back; fragmented answers are not reassembled",
			(unsigned long long)fragments);
	return true;
}

static bool judge_criteria(const struct result *r, struct reasons *out)
{
	const struct result_criterion *c = r->verdict.criteria.items;
	bool pass = true;

	for (uint32_t i = 0; i < r->verdict.criteria.count; i++) {
		if (c[i].pass)
			continue;
		because(out, "criterion not met: %s", c[i].expression);
		pass = false;
	}
	return pass;
}

static const char *limited_by(const struct plan *p, const struct result *r, bool valid)
{
	const struct result_item *items = r->traffic.items;
	const struct result_worker *workers = r->workers.items;

	if (!valid)
		return "tester";
	for (uint32_t i = 0; i < r->traffic.count; i++) {
		if (items[i].ledger.lost)
			return "server";
		if (p->items[i].run->pace.kind == PACE_RATE)
			continue;
		for (uint32_t w = 0; w < r->workers.count; w++)
			if (&p->workers[w] == p->items[i].worker)
				return workers[w].busy > 0.9 || p->workers[w].no_slot[1] ? "tester"
				                                                         : "server";
	}
	return "none";
}

int verdict_reach(const struct plan *p, const char *broken, bool interrupted, struct arena *a,
	struct result *r)
{
	struct reasons why = {a, arena_zalloc(a, REASONS_MAX * sizeof(char *)), 0};
	struct result_verdict *v = &r->verdict;
	uint32_t faults;

	v->criteria = criteria_judge(p->config, &r->traffic, a);
	judge_tester(p, r, &why);
	faults = why.count;
	v->limited_by = limited_by(p, r, faults == 0);
	if (broken) {
		because(&why, "internal error: %s", broken);
		v->status = "invalid";
		v->exit_code = EXIT_INTERNAL;
	} else if (interrupted) {
		because(&why, "interrupted after %.1f s of the measured part", r->run.measured_s);
		v->status = "interrupted";
		v->exit_code = EXIT_INTERRUPTED;
	} else if (unreachable(r, p, &why)) {
		v->status = "unreachable";
		v->exit_code = EXIT_UNREACHABLE;
	} else if (faults) {
		v->status = "invalid";
		v->exit_code = EXIT_INVALID;
	} else if (!judge_criteria(r, &why)) {
		v->status = "fail";
		v->exit_code = EXIT_FAIL;
	} else {
		v->status = "pass";
		v->exit_code = EXIT_PASS;
	}
	v->reasons = (struct counter_list){why.texts, why.count};
	return (int)v->exit_code;
}
