// SPDX-License-Identifier: BSD-3-Clause
// Plays random configurations in stepped time, one after the other, and asserts of each what holds
// for every run. A case that breaks one is made as small as it may be while it breaks the same one,
// and printed as a file that repeats it. Path: tests only.
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/log.h"
#include "document/document_reader.h"
#include "run/commands.h"
#include "document/document.h"
#include "engine/config/config_load.h"
#include "engine/series/series.h"
#include "compare/figures.h"
#include "format/format.h"
#include "grammar.h"
#include "follow/run_events.h"
#include "machine.h"
#include "world.h"

#define WORDS         "# STEPPED='" // in a kept case: the settings of the world
#define ITEMS         8
#define OFTEN         8  // each so many-th run has its document looked at, and is made twice
#define SHRINK_S      60 // for which a case is made smaller at the most
#define SECOND        1e9
#define SHORT_WAIT_NS 3000000 // less than any wait of the grammar for a reply

// What may be broken. Each is a line of TAP.
#define LAWS(X)                                                                                    \
	X(ACCEPTED, "what the checker accepts runs")                                               \
	X(EXIT, "the exit code is that of the verdict, and never that of an internal error")       \
	X(LEDGER, "both equations of every ledger hold")                                           \
	X(INTERVALS, "intervals sum up to the total, and no counter of one is below 0")            \
	X(TIMES, "no time is negative, beyond the run, or out of order within its distribution")   \
	X(LATENCY, "response takes at least as long as service, and service as the links")         \
	X(PERFECT, "nothing is lost, late or odd over perfect links to a perfect server")          \
	X(LINKS, "what is lost over UDP is what the links lost and what was late")                 \
	X(FAULTS, "each fault of the responder is in its cell as often as it was made")            \
	X(CELLS, "the responder received what was sent, and the tester what was replied")          \
	X(STEPS, "steps add up to their item")                                                     \
	X(EMPTY, "no packet buffer and no transaction is left")                                    \
	X(BLAME, "the tester is not blamed for servers and links, nor they for the tester")        \
	X(DOCUMENT, "the document is made, in every format, and equals itself")                    \
	X(REPEAT, "the same seed gives the same document to the byte")

#define LAW_NAME(name, text) LAW_##name,
#define LAW_TEXT(name, text) text,
enum law { LAWS(LAW_NAME) LAW_COUNT };
static const char *const law_texts[] = {LAWS(LAW_TEXT)};

// A case while it is played.
struct played {
	const struct config *config;
	const struct world_settings *world;
	struct result *result;
	int code;
	uint64_t began; // tick
	double took_ns;
	// Set by the first law that is broken.
	enum law broken;
	char why[400];
	// Sums over the intervals, as their hook was called.
	bool series;
	uint32_t interval_count;
	uint64_t sent;
	struct result_interval_item sums[ITEMS];
	struct run_events live;
	FILE *lines; // NULL: no document is made
	uint64_t run;
};

static struct {
	uint64_t runs, refused, transactions, failures;
	double simulated_s;
} totals;

static struct {
	bool verbose, whole;
	uint64_t seed; // of the case that is played, for messages of a crash
	const char *text, *world;
	uint64_t most;  // transactions after which a run is ended; 0: any
	double most_ns; // and time of the world
	volatile sig_atomic_t signals;
} now;

__attribute__((format(printf, 3, 4))) static void broken(
	struct played *p, enum law law, const char *fmt, ...)
{
	va_list args;

	if (p->broken != LAW_COUNT)
		return;
	p->broken = law;
	va_start(args, fmt);
	vsnprintf(p->why, sizeof(p->why), fmt, args);
	va_end(args);
}

// --- what the case is like ---

static bool link_is_perfect(const struct link_settings *l)
{
	return l->loss == 0 && l->duplicate == 0 && l->reorder == 0 && l->corrupt == 0 &&
	       l->bits_per_s == 0 && l->queue == 0 && l->down_to == 0;
}

// A loop that is slow with each packet stalls as one whose CPU is elsewhere.
static bool has_stalls(const struct played *p)
{
	return p->world->away_count > 0 || p->world->cost_ns > 1000;
}

static const struct faults_settings *faults_of(const struct played *p)
{
	return p->config->responder ? p->config->responder->faults : NULL;
}

static bool is_limited_tcp(const struct played *p)
{
	return p->config->responder && p->config->responder->tcp;
}

static const struct item_settings *item_of(const struct played *p, uint32_t i)
{
	return &((const struct item_settings *)p->config->traffic.items)[i];
}

static bool is_named(const struct played *p, uint32_t i, const char *protocol)
{
	return strcmp(item_of(p, i)->facts.proto->name, protocol) == 0;
}

// One datagram asks and one answers.
static bool is_plain(const struct played *p, uint32_t i)
{
	const struct item_settings *it = item_of(p, i);

	return (is_named(p, i, "dns") || is_named(p, i, "ntp") || is_named(p, i, "echo")) &&
	       !it->facts.tcp && it->spread != SPREAD_STUB;
}

static bool all_plain(const struct played *p)
{
	for (uint32_t i = 0; i < p->config->traffic.count; i++)
		if (!is_plain(p, i))
			return false;
	return p->config->run.warmup_ns == 0 && !p->series && !p->result->verdict.stopped;
}

static double there_and_back_ns(const struct played *p)
{
	return 2.0 * (double)p->world->link.delay_ns;
}

static bool asks_again(const struct played *p, uint32_t item)
{
	return is_named(p, item, "dhcp4") || is_named(p, item, "dhcp6") ||
	       item_of(p, item)->servers.count;
}

// The least service latency. A client that asks again cannot know which of its messages a reply
// answers, but no reply comes in the instant of a message.
static double service_least_ns(const struct played *p, uint32_t item)
{
	return asks_again(p, item) ? 1 : there_and_back_ns(p);
}

// No reply can be late by delays alone.
static bool timeouts_are_long(const struct played *p)
{
	const struct link_settings *l = &p->world->link;
	const struct faults_settings *f = faults_of(p);
	uint64_t longest = 4 * (l->delay_ns + l->jitter_ns) + 20000000;

	if (f && (f->stall || f->outage || f->capacity || (f->delay && f->delay->exponential_ns)))
		return false;
	longest += f ? faults_longest_ns(f) : 0;
	if (strstr(now.text, "retransmit") && 2 * (l->delay_ns + l->jitter_ns) >= SHORT_WAIT_NS)
		return false;
	for (uint32_t i = 0; i < p->config->traffic.count; i++)
		if (item_of(p, i)->timeout_ns < longest)
			return false;
	return true;
}

// --- laws ---

static void law_exit(struct played *p)
{
	static const struct {
		const char *status;
		int code;
	} codes[] = {{"pass", EXIT_PASS}, {"done", EXIT_PASS}, {"fail", EXIT_FAIL},
		{"invalid", EXIT_INVALID}, {"unreachable", EXIT_UNREACHABLE}};
	const char *status = p->result->verdict.status;

	if (p->code == EXIT_ENVIRONMENT || p->code == EXIT_CONFIG || !status) {
		broken(p, LAW_ACCEPTED, "exit code %d", p->code);
		return;
	}
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (strcmp(codes[i].status, status) == 0 && codes[i].code == p->code)
			return;
	broken(p, LAW_EXIT, "exit code %d with verdict %s", p->code, status);
}

static void law_ledger(struct played *p, const struct result_item *it)
{
	const struct ledger *l = &it->ledger;

	if (l->due != l->sent + it->unsent)
		broken(p, LAW_LEDGER, "%s: due %" PRIu64 ", sent %" PRIu64 ", unsent %" PRIu64,
			it->name, l->due, l->sent, it->unsent);
	if (l->sent != l->answered + l->failed + l->lost + l->no_reply + it->in_flight)
		broken(p, LAW_LEDGER,
			"%s: sent %" PRIu64 ", answered %" PRIu64 ", failed %" PRIu64
			", lost %" PRIu64 ", no_reply %" PRIu64 ", in flight %" PRIu64,
			it->name, l->sent, l->answered, l->failed, l->lost, l->no_reply,
			it->in_flight);
	// A server that refuses every connection ends the run: nothing waits for its replies.
	bool refused = strcmp(p->result->verdict.status, "unreachable") == 0 && it->connections &&
	               it->connections->refused;

	if (it->in_flight && p->config->run.drain_ns == UINT64_MAX && !p->result->verdict.stopped &&
		!refused)
		broken(p, LAW_EMPTY, "%s: %" PRIu64 " in flight after the run", it->name,
			it->in_flight);
}

#define SAME(member, help)                                                                         \
	if (sum->member != it->ledger.member)                                                      \
		broken(p, LAW_INTERVALS, "%s: " #member " %" PRIu64 ", in intervals %" PRIu64,     \
			it->name, it->ledger.member, sum->member);

static void law_intervals(
	struct played *p, const struct result_item *it, const struct result_interval_item *sum)
{
	if (p->series)
		return;
	LEDGER_COUNTERS(SAME, COUNTER_SKIP, COUNTER_SKIP)
	if (sum->no_slot != it->no_slot)
		broken(p, LAW_INTERVALS, "%s: no_slot %" PRIu64 ", in intervals %" PRIu64, it->name,
			it->no_slot, sum->no_slot);
}

static double elapsed_ns(const struct played *p)
{
	return (double)(world_now() - p->began);
}

// Quantiles count lost ones as later than any answer, so they may be above the greatest.
static void law_times(
	struct played *p, const char *who, const char *what, const struct latency *l, bool ranks)
{
	const double order[] = {
		l->min_ns, l->p50_ns, l->p90_ns, l->p99_ns, l->p999_ns, l->p9999_ns, l->max_ns};
	const size_t count = sizeof(order) / sizeof(order[0]) - (ranks ? 1 : 0);

	if (l->count == 0)
		return;
	if (!(l->min_ns >= 0 && l->max_ns <= elapsed_ns(p)))
		broken(p, LAW_TIMES, "%s: %s from %.0f to %.0f ns in a run of %.0f ns", who, what,
			l->min_ns, l->max_ns, elapsed_ns(p));
	if (!(l->mean_ns >= l->min_ns * 0.999999 - 1 && l->mean_ns <= l->max_ns * 1.000001 + 1))
		broken(p, LAW_TIMES, "%s: mean of %s %.0f ns not within %.0f to %.0f", who, what,
			l->mean_ns, l->min_ns, l->max_ns);
	for (size_t i = 1; i < count; i++)
		if (!(order[i] >= order[i - 1]))
			broken(p, LAW_TIMES, "%s: %s: quantile %zu is %.0f ns, the one before %.0f",
				who, what, i, order[i], order[i - 1]);
}

static void law_latency(
	struct played *p, const char *who, const struct result_latencies *l, double least)
{
	const struct latency *r = &l->response, *s = &l->service;
	const double pairs[][2] = {{r->min_ns, s->min_ns}, {r->p50_ns, s->p50_ns},
		{r->p90_ns, s->p90_ns}, {r->p99_ns, s->p99_ns}, {r->max_ns, s->max_ns},
		{r->mean_ns * 1.000001 + 1, s->mean_ns}};

	law_times(p, who, "response", r, true);
	law_times(p, who, "service", s, false);
	if (s->count == 0)
		return;
	if (s->min_ns < least)
		broken(p, LAW_LATENCY, "%s: service of %.0f ns over links of %.0f", who, s->min_ns,
			least);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (!(pairs[i][0] >= pairs[i][1]))
			broken(p, LAW_LATENCY,
				"%s: figure %zu of response %.0f ns, of service %.0f", who, i,
				pairs[i][0], pairs[i][1]);
}

static void law_steps(struct played *p, const struct result_item *it, double least)
{
	const struct result_step *steps = it->steps.items;
	uint64_t failed = 0, lost = 0, no_reply = 0;
	char who[160];

	for (uint32_t i = 0; i < it->steps.count; i++) {
		const struct result_step *s = &steps[i];

		snprintf(who, sizeof(who), "%s, step %s", it->name, s->name);
		if (s->sent < s->answered + s->failed + s->lost + s->no_reply)
			broken(p, LAW_STEPS, "%s: sent %" PRIu64 ", ended %" PRIu64, who, s->sent,
				s->answered + s->failed + s->lost + s->no_reply);
		failed += s->failed;
		lost += s->lost;
		no_reply += s->no_reply;
		law_latency(p, who, &s->latency, least);
	}
	if (it->steps.count && (failed != it->ledger.failed || lost != it->ledger.lost ||
				       no_reply != it->ledger.no_reply))
		broken(p, LAW_STEPS,
			"%s: failed, lost, no_reply of steps: %" PRIu64 " %" PRIu64 " %" PRIu64
			", of the item: %" PRIu64 " %" PRIu64 " %" PRIu64,
			it->name, failed, lost, no_reply, it->ledger.failed, it->ledger.lost,
			it->ledger.no_reply);
}

static bool is_perfect(const struct played *p)
{
	return link_is_perfect(&p->world->link) && !has_stalls(p) && !faults_of(p) &&
	       !is_limited_tcp(p) && timeouts_are_long(p);
}

// asks_again: a server answers each message, so a reply may come twice.
static void law_perfect(struct played *p, const struct result_item *it, bool asks_again)
{
	const struct ledger *l = &it->ledger;

	if (!is_perfect(p) || it->no_slot)
		return;
	if (l->lost || l->late || l->stray || l->malformed)
		broken(p, LAW_PERFECT,
			"%s: lost %" PRIu64 ", late %" PRIu64 ", stray %" PRIu64
			", malformed %" PRIu64,
			it->name, l->lost, l->late, l->stray, l->malformed);
	if (l->duplicate && !asks_again)
		broken(p, LAW_PERFECT, "%s: duplicate %" PRIu64, it->name, l->duplicate);
	if (it->send_lag.p99_ns > 1e6)
		broken(p, LAW_PERFECT, "%s: sent %.0f ns late", it->name, it->send_lag.p99_ns);
}

struct sums {
	struct ledger ledger;
	uint64_t in_flight;
};

static struct sums sum_up(const struct played *p)
{
	const struct result_item *items = p->result->traffic.items;
	struct sums s = {0};

	for (uint32_t i = 0; i < p->result->traffic.count; i++) {
		counter_sum(&s.ledger, &items[i].ledger, sizeof(s.ledger));
		s.in_flight += items[i].in_flight;
	}
	return s;
}

// Of what the links lost, packets that belong to no transaction are up to all of that kind: those
// of ARP and ND.
static void law_links(struct played *p)
{
	const struct way_counts *w = world_counts();
	const struct link_settings *l = &p->world->link;
	struct sums s = sum_up(p);
	uint64_t gone = w->lost + w->dropped, others, unseen;

	if (!all_plain(p) || l->duplicate > 0 || l->corrupt > 0 || l->bits_per_s > 0 ||
		has_stalls(p) || faults_of(p) || !p->result->responder || s.in_flight ||
		s.ledger.no_reply)
		return;
	others = w->sent - s.ledger.sent - p->result->responder->answered;
	unseen = s.ledger.lost - s.ledger.late;
	if (s.ledger.late > s.ledger.lost || unseen > gone || unseen + others < gone)
		broken(p, LAW_LINKS,
			"lost %" PRIu64 " and late %" PRIu64 ", but the links lost %" PRIu64
			" of which at most %" PRIu64 " were no messages",
			s.ledger.lost, s.ledger.late, gone, others);
}

// What a fault does to the transaction that it befalls. 0: it is not told by the ledger.
static const struct fault_effect {
	const char *label;
	unsigned lost, duplicate, odd; // odd: stray or malformed
} effects[] = {
	{"loss", 1, 0, 0},
	{"duplicate", 0, 1, 0},
	{"reorder", 0, 0, 0},
	{"corrupt_checksum", 1, 0, 0},
	{"truncate", 1, 0, 1},
	{"wrong_id", 1, 0, 1},
	{"wrong_question", 1, 0, 1},
	{"unsolicited", 0, 0, 1},
	{"rcode", 0, 0, 0},
	{"empty", 0, 0, 0},
	{"wrong_origin", 1, 0, 1},
	{"wrong_echo", 1, 0, 1},
	{"kiss", 0, 0, 0},
	{"unsynchronised", 0, 0, 0},
};

static void law_faults(struct played *p)
{
	const struct result_responder *r = p->result->responder;
	uint64_t lost = 0, duplicate = 0, odd = 0;
	struct sums s = sum_up(p);

	if (!r || !all_plain(p) || !link_is_perfect(&p->world->link) || has_stalls(p) ||
		!faults_of(p) || !timeouts_are_long(p) || s.ledger.no_reply || s.in_flight)
		return;
	for (uint32_t i = 0; i < FAULTS_MAX; i++) {
		const struct fault_effect *e = effects;

		if (!r->faults[i] || i == FAULT_SECOND_DELAY)
			continue;
		while (e < effects + sizeof(effects) / sizeof(*effects) &&
			strcmp(e->label, faults_label(i)) != 0)
			e++;
		if (e == effects + sizeof(effects) / sizeof(*effects))
			return; // its effect depends on the bytes
		lost += e->lost * r->faults[i];
		duplicate += e->duplicate * r->faults[i];
		odd += e->odd * r->faults[i];
	}
	if (s.ledger.lost != lost || s.ledger.duplicate != duplicate ||
		s.ledger.stray + s.ledger.malformed != odd || s.ledger.late)
		broken(p, LAW_FAULTS,
			"lost %" PRIu64 " for %" PRIu64 ", duplicate %" PRIu64 " for %" PRIu64
			", stray %" PRIu64 " and malformed %" PRIu64 " for %" PRIu64
			", late %" PRIu64,
			s.ledger.lost, lost, s.ledger.duplicate, duplicate, s.ledger.stray,
			s.ledger.malformed, odd, s.ledger.late);
}

static void law_cells(struct played *p)
{
	const struct result_responder *r = p->result->responder;
	struct sums s = sum_up(p);

	if (!r || !all_plain(p) || !link_is_perfect(&p->world->link) || has_stalls(p) ||
		s.in_flight)
		return;
	if (r->received != s.ledger.sent)
		broken(p, LAW_CELLS, "sent %" PRIu64 ", the responder received %" PRIu64,
			s.ledger.sent, r->received);
}

static bool is_open(const struct played *p)
{
	for (uint32_t i = 0; i < p->config->traffic.count; i++)
		if (!load_is_open(&item_of(p, i)->load))
			return false;
	return true;
}

static void law_blame(struct played *p)
{
	const struct result_verdict *v = &p->result->verdict;
	const char *first = v->reasons.count ? *(const char *const *)v->reasons.items : "";
	bool quiet = link_is_perfect(&p->world->link) && !has_stalls(p), waited = false;

	// A goal may be out of reach, and a loop without replies has no end and no buffer left.
	if (p->config->search || (!is_open(p) && sum_up(p).ledger.no_reply))
		return;
	for (uint32_t i = 0; i < p->result->traffic.count; i++)
		waited |= ((const struct result_item *)p->result->traffic.items)[i].no_slot > 0;
	if (!has_stalls(p) && !waited && v->invalid_by && strcmp(v->invalid_by, "tester") == 0 &&
		p->world->link.queue == 0 && p->world->link.bits_per_s == 0)
		broken(p, LAW_BLAME, "invalid by the tester, without a stall: %s", first);
	if (quiet && !waited && strcmp(v->limited_by, "tester") == 0)
		broken(p, LAW_BLAME, "limited by the tester, without a stall: %s", first);
	if (is_perfect(p) && is_open(p) && strcmp(v->limited_by, "server") == 0)
		broken(p, LAW_BLAME, "limited by a server that has answered all: %s", first);
}

static void law_all(struct played *p)
{
	const struct result_item *items = p->result->traffic.items;

	law_exit(p);
	if (p->broken != LAW_COUNT)
		return;
	for (uint32_t i = 0; i < p->result->traffic.count; i++) {
		const struct result_item *it = &items[i];

		law_ledger(p, it);
		law_intervals(p, it, &p->sums[i]);
		law_times(p, it->name, "send lag", &it->send_lag, false);
		law_latency(p, it->name, &it->latency, service_least_ns(p, i));
		law_steps(p, it, service_least_ns(p, i));
		law_perfect(p, it, asks_again(p, i));
		if (it->connections) {
			law_times(p, it->name, "handshake", &it->connections->handshake, false);
			law_times(
				p, it->name, "first answer", &it->connections->first_answer, false);
			if (it->connections->handshake.count &&
				it->connections->handshake.min_ns < there_and_back_ns(p))
				broken(p, LAW_LATENCY, "%s: handshake of %.0f ns", it->name,
					it->connections->handshake.min_ns);
		}
		totals.transactions += it->ledger.sent;
	}
	law_links(p);
	law_faults(p);
	law_cells(p);
	law_blame(p);
}

// --- a run ---

#define FALLEN(member, help) fallen |= it->member > INT64_MAX;
#define ADD(member, help)    sum->member += it->member;

static void on_kept(void *ctx, const struct result_interval *i)
{
	struct played *p = ctx;
	const struct result_interval_item *items = i->traffic.items;

	p->interval_count++;
	if (now.most && (p->sent > now.most || elapsed_ns(p) > now.most_ns))
		now.signals = 2;
	for (uint32_t n = 0; n < i->traffic.count && n < ITEMS; n++) {
		const struct result_interval_item *it = &items[n];
		struct result_interval_item *sum = &p->sums[n];
		bool fallen = false;

		p->sent += it->sent;
		LEDGER_COUNTERS(FALLEN, COUNTER_SKIP, COUNTER_SKIP)
		ITEM_COUNTERS(FALLEN, COUNTER_SKIP)
		if (fallen || it->in_flight > INT64_MAX)
			broken(p, LAW_INTERVALS, "%s: a counter fell in the interval until %g s",
				it->name, i->t_s);
		LEDGER_COUNTERS(ADD, COUNTER_SKIP, COUNTER_SKIP)
		ITEM_COUNTERS(ADD, COUNTER_SKIP)
		law_times(p, it->name, "response of an interval", &it->latency.response, true);
		law_times(p, it->name, "service of an interval", &it->latency.service, false);
	}
	if (p->lines)
		run_events_interval(&p->live, i, false);
}

static void on_begin(void *ctx, const struct result *r, const struct config *c)
{
	struct played *p = ctx;

	memset(p->sums, 0, sizeof(p->sums));
	if (p->lines)
		run_events_begin(&p->live, r, p->config, c);
}

static void put_line(void *ctx, const json_t *line)
{
	struct played *p = ctx;

	json_dumpf(line, p->lines, JSON_COMPACT | JSON_REAL_PRECISION(15));
	fputc('\n', p->lines);
	fflush(p->lines);
}

static bool is_possible(const struct played *p, const struct format *f)
{
	const struct result_item *items = p->result->traffic.items;
	bool dns = false, answered = true;

	for (uint32_t i = 0; i < p->result->traffic.count; i++) {
		dns |= is_named(p, i, "dns");
		answered = answered && items[i].latency.response.count;
	}
	if (strcmp(f->name, "hgrm") == 0 && p->config->traffic.count > 1)
		return false; // it wants a choice
	if (strstr("hgrm hdr", f->name) && (!answered || p->result->traffic.count == 0))
		return false;
	if (strcmp(f->name, "resperf") == 0 &&
		(p->series || has_stalls(p) ||
			p->result->run.measured_s * 1e9 < 2 * (double)p->config->run.interval_ns))
		return false; // it wants whole intervals
	if (strcmp(f->name, "csv") == 0 && p->interval_count == 0)
		return false;
	return !f->live && !(f->series && p->config->search) &&
	       (dns || strcmp(f->name, "dns_metrics") != 0);
}

static void law_document(struct played *p, char **text)
{
	struct document_reader reader, *readers[] = {&reader};
	struct arena *a = arena_new();
	struct figures f;
	size_t size = 0;
	FILE *out;

	reader_of_run(&reader, document_as_written(document_result(p->result, p->config)), p->lines,
		p->result->number);
	out = open_memstream(text, &size);
	if (reader_print(&reader, out) < 0)
		broken(p, LAW_DOCUMENT, "it cannot be printed");
	fclose(out);
	for (unsigned i = 0; i < format_count; i++) {
		FILE *sink = fopen("/dev/null", "w");

		if (!is_possible(p, &formats[i])) {
			fclose(sink);
			continue;
		}
		reader_rewind(&reader);
		if (formats[i].write(&(struct format_input){readers, 1}, sink) < 0)
			broken(p, LAW_DOCUMENT, "format %s", formats[i].name);
		fclose(sink);
	}
	if (figures_read("itself", reader.document, a, &f) < 0)
		broken(p, LAW_DOCUMENT, "its figures cannot be read");
	else
		for (uint32_t i = 0; i < f.count; i++) {
			struct figures_change c =
				figures_change(&f, &f, f.list[i].item, f.list[i].path);

			if (c.a != c.b && !(isnan(c.a) && isnan(c.b)))
				broken(p, LAW_DOCUMENT, "%s of %s differs from itself",
					f.list[i].path, f.list[i].item);
		}
	reader_close(&reader);
	arena_free(a);
}

// false: the checker refused it. document: the result as text, to be freed; NULL: not wanted
static bool play(
	const char *text, const struct world_settings *world, struct played *p, char **document)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new();
	struct result result;
	struct run_options options = {.diag = d,
		.command = "play",
		.version = "0",
		.id = "play",
		.signals = &now.signals,
		.hooks = {.begin = on_begin, .kept = on_kept, .ctx = p}};

	machine_reset(world);
	now.signals = 0;
	*p = (struct played){.world = world,
		.result = &result,
		.broken = LAW_COUNT,
		.began = world_now(),
		.config = config_load_text_assigned("play.yaml", text, NULL, 0, a, d)};
	if (p->config && !command_check(p->config, a, d))
		p->config = NULL;
	options.config = p->config;
	if (p->config) {
		p->series = p->config->search || p->config->run.repeat;
		if (document) {
			p->lines = tmpfile();
			run_events_follow(
				&p->live, (struct run_events_follower){put_line, .ctx = p});
		}
		p->code = series_execute(&options, a, &result);
		p->took_ns = elapsed_ns(p);
		totals.simulated_s += p->took_ns / SECOND;
		law_all(p);
		if (machine_leaks())
			broken(p, LAW_EMPTY, "%" PRIu64 " packet buffers", machine_leaks());
		if (document && result.verdict.status)
			law_document(p, document);
		if (p->lines)
			fclose(p->lines);
	} else if (now.verbose) {
		diag_print(d, stderr);
	}
	diag_free(d);
	arena_free(a);
	return p->config;
}

// --- a case ---

static char *world_text(const json_t *world)
{
	const char *key;
	json_t *value;
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	json_object_foreach((json_t *)world, key, value)
		fprintf(f, "%s%s=%s", ftell(f) ? " " : "", key, json_string_value(value));
	fclose(f);
	return text;
}

// Plays the text; again: a second time, for the same bytes. false: refused.
static bool play_text(const char *text, const char *world, bool again, struct played *p)
{
	char *first = NULL, *second = NULL;
	struct world_settings s;
	struct played once_more;
	const char *wrong = world_parse(world, &s);
	bool accepted;

	now.text = text;
	now.world = world;
	if (wrong) {
		fprintf(stderr, "%s: %s\n", world, wrong);
		exit(2);
	}
	accepted = play(text, &s, p, again ? &first : NULL);
	if (accepted && again && p->broken == LAW_COUNT) {
		play(text, &s, &once_more, &second);
		if (!first || !second || strcmp(first, second) != 0)
			broken(p, LAW_REPEAT, "documents of %zu and %zu bytes", strlen(first),
				strlen(second));
	}
	free(first);
	free(second);
	return accepted;
}

static bool play_case(const json_t *c, bool again, struct played *p)
{
	char *text = json_dumps(json_object_get(c, "config"), JSON_INDENT(1));
	char *world = world_text(json_object_get(c, "world"));
	bool accepted = play_text(text, world, again, p);

	free(text);
	free(world);
	return accepted;
}

static void print_case(const json_t *c, const struct played *p, FILE *out)
{
	char *world = world_text(json_object_get(c, "world"));

	fprintf(out, "# %s: %s\n%s%s'\n", law_texts[p->broken], p->why, WORDS, world);
	json_dumpf(json_object_get(c, "config"), out, JSON_INDENT(1));
	fputc('\n', out);
	free(world);
}

// --- smaller ---

struct shrink {
	json_t *whole; // the case
	bool again;
	enum law law;
	unsigned runs;
	double until;       // seconds_now()
	struct played last; // of the smallest one
};

static double seconds_now(void)
{
	FILE *f = fopen("/proc/uptime", "r"); // the world has the clocks
	double s = 0;

	if (f && fscanf(f, "%lf", &s) != 1)
		s = 0;
	if (f)
		fclose(f);
	return s;
}

static bool still_fails(struct shrink *s)
{
	struct played p;

	if (seconds_now() >= s->until)
		return false;
	s->runs++;
	if (!play_case(s->whole, s->again, &p) || p.broken != s->law)
		return false;
	s->last = p;
	return true;
}

// "20s" as "10s", "100" as "50"; NULL: not a number, or as small as it may be
static char *halved(const char *text)
{
	char *end, *out;
	unsigned long long n = strtoull(text, &end, 10);

	if (end == text || n < 2 || strlen(end) > 2 || strchr(end, '.') || strchr(end, ':') ||
		asprintf(&out, "%llu%s", n / 2, end) < 0)
		return NULL;
	return out;
}

static bool shrink_value(struct shrink *s, json_t *v)
{
	const char *text = json_string_value(v);
	char *before, *half;
	bool any = false;

	while (text && (half = halved(text))) {
		before = strdup(text);
		json_string_set(v, half);
		free(half);
		if (!still_fails(s)) {
			json_string_set(v, before);
			free(before);
			break;
		}
		free(before);
		any = true;
		text = json_string_value(v);
	}
	return any;
}

static bool shrink_node(struct shrink *s, json_t *node);

static bool shrink_elements(struct shrink *s, json_t *array)
{
	bool any = false;

	for (size_t i = json_array_size(array); i-- > 0;) {
		json_t *child = json_incref(json_array_get(array, i));

		json_array_remove(array, i);
		if (still_fails(s)) {
			any = true;
		} else {
			json_array_insert(array, i, child);
			any |= shrink_node(s, child);
		}
		json_decref(child);
	}
	return any;
}

// A member that is put back is the last one, so their order cannot be gone through meanwhile.
static bool shrink_members(struct shrink *s, json_t *object)
{
	json_t *members = json_copy(object), *child;
	const char *key;
	bool any = false;

	json_object_foreach(members, key, child)
	{
		json_object_del(object, key);
		if (object != s->whole && still_fails(s)) {
			any = true;
		} else {
			json_object_set(object, key, child);
			any |= shrink_node(s, child);
		}
	}
	json_decref(members);
	return any;
}

// One after the other: without it, or with smaller parts.
static bool shrink_node(struct shrink *s, json_t *node)
{
	return json_is_array(node)    ? shrink_elements(s, node)
	       : json_is_object(node) ? shrink_members(s, node)
	                              : shrink_value(s, node);
}

// What makes a run long comes first.
static void shrink(struct shrink *s)
{
	json_t *config = json_object_get(s->whole, "config");

	shrink_node(s, json_object_get(config, "run"));
	shrink_node(s, json_object_get(config, "traffic"));
	while (shrink_node(s, s->whole) && seconds_now() < s->until)
		;
}

// --- the program ---

// The case of a run that aborted is all that is left of it.
static void on_abort(int signal_number)
{
	fprintf(stderr, "seed %" PRIu64 ": signal %d with\n%s%s'\n%s\n", now.seed, signal_number,
		WORDS, now.world, now.text);
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static void report_failure(
	uint64_t seed, json_t *c, bool again, const struct played *p, const char *keep)
{
	struct shrink s = {.whole = json_deep_copy(c),
		.again = again && (p->broken == LAW_DOCUMENT || p->broken == LAW_REPEAT),
		.law = p->broken,
		.until = seconds_now() + SHRINK_S,
		.last = *p};
	char path[4096];
	FILE *f;

	printf("# seed %" PRIu64 ": %s: %s\n", seed, law_texts[p->broken], p->why);
	fflush(stdout);
	if (now.whole) {
		json_decref(s.whole);
		return;
	}
	now.most = 1000 + 2 * p->sent; // without a load or a duration it may be endless
	now.most_ns = 2 * p->took_ns;
	shrink(&s);
	now.most = 0;
	printf("# after %u runs, as a file for play --file:\n", s.runs);
	print_case(s.whole, &s.last, stdout);
	fflush(stdout);
	if (keep) {
		snprintf(path, sizeof(path), "%s/%" PRIu64 ".yaml", keep, seed);
		f = fopen(path, "w");
		if (f)
			print_case(s.whole, &s.last, f);
		if (f)
			fclose(f);
	}
	json_decref(s.whole);
}

static int play_file(const char *path)
{
	char *text = NULL, world[1024] = "";
	const char *words;
	struct played p;
	size_t size = 0;
	FILE *in = fopen(path, "r"), *out = open_memstream(&text, &size);
	int byte;

	if (!in) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return 2;
	}
	while ((byte = fgetc(in)) != EOF)
		fputc(byte, out);
	fclose(in);
	fclose(out);
	words = strstr(text, WORDS);
	if (words)
		snprintf(world, sizeof(world), "%.*s", (int)strcspn(words + strlen(WORDS), "'"),
			words + strlen(WORDS));
	now.verbose = true;
	if (!play_text(text, world, true, &p)) {
		printf("not ok - %s: refused by the checker\n", path);
		return 1;
	}
	if (p.broken == LAW_COUNT)
		printf("ok - %s\n", path);
	else
		printf("not ok - %s: %s: %s\n", path, law_texts[p.broken], p.why);
	free(text);
	return p.broken == LAW_COUNT ? 0 : 1;
}

static const struct option names[] = {
	{"seed", required_argument, NULL, 's'},
	{"step", required_argument, NULL, 't'},
	{"count", required_argument, NULL, 'c'},
	{"seconds", required_argument, NULL, 'l'},
	{"until-failure", no_argument, NULL, 'u'},
	{"keep", required_argument, NULL, 'k'},
	{"file", required_argument, NULL, 'f'},
	{"whole", no_argument, NULL, 'w'},
	{"dump", no_argument, NULL, 'd'},
	{"verbose", no_argument, NULL, 'v'},
	{0},
};

static int usage(void)
{
	fprintf(stderr,
		"usage: play [--seed N] [--step N] [--count N] [--seconds S] [--until-failure] "
		"[--keep DIR]\n       play --seed N --dump | play --file FILE...\n"
		"Plays cases of the seeds N, N + step, ... and prints a line of TAP for each "
		"law.\n");
	return 2;
}

int main(int argc, char **argv)
{
	uint64_t seed = 1, step = 1, count = UINT64_MAX, broke[LAW_COUNT] = {0};
	double limit = INFINITY, began = seconds_now();
	const char *keep = NULL;
	bool stop = false, dump = false;
	int option, rc = 0;

	log_set_level(LOG_QUIET);
	signal(SIGABRT, on_abort);
	signal(SIGSEGV, on_abort);
	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1)
		switch (option) {
		case 's':
			seed = strtoull(optarg, NULL, 10);
			break;
		case 't':
			step = strtoull(optarg, NULL, 10);
			break;
		case 'c':
			count = strtoull(optarg, NULL, 10);
			break;
		case 'l':
			limit = strtod(optarg, NULL);
			break;
		case 'u':
			stop = true;
			break;
		case 'k':
			keep = optarg;
			break;
		case 'f':
			printf("1..%d\n", argc - optind + 1);
			for (rc = play_file(optarg); optind < argc; optind++)
				rc |= play_file(argv[optind]);
			return rc;
		case 'd':
			dump = true;
			break;
		case 'w':
			now.whole = true;
			break;
		case 'v':
			now.verbose = true;
			log_set_level(LOG_NORMAL);
			break;
		default:
			return usage();
		}
	for (uint64_t n = 0; n < count && seconds_now() - began < limit; n++, seed += step) {
		json_t *c = grammar_case(seed);
		bool again = n % OFTEN == 0, accepted;
		double before = seconds_now();
		struct played p = {.broken = LAW_COUNT};

		now.seed = seed;
		if (dump) {
			print_case(c, &(struct played){0}, stdout);
			return 0;
		}
		accepted = play_case(c, again, &p);
		totals.runs += accepted;
		totals.refused += !accepted;
		if (now.verbose)
			fprintf(stderr, "seed %" PRIu64 ": %s, %.2f s\n", seed,
				accepted ? "played" : "refused", seconds_now() - before);
		if (p.broken != LAW_COUNT) {
			broke[p.broken]++;
			report_failure(seed, c, again, &p, keep);
			rc = 1;
		}
		json_decref(c);
		if (rc && stop)
			break;
	}
	printf("# %" PRIu64 " runs, %.1f hours simulated, %" PRIu64 " transactions, %" PRIu64
	       " cases refused, in %.0f s\n",
		totals.runs, totals.simulated_s / 3600, totals.transactions, totals.refused,
		seconds_now() - began);
	for (int i = 0; i < LAW_COUNT; i++)
		printf("%s - %s\n", broke[i] ? "not ok" : "ok", law_texts[i]);
	return rc;
}
