// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a whole configuration file; after a NUL, as --set assignments, each up to the next
// NUL. What is accepted must be dumped to a file that is accepted again and dumped to the very same
// text, and everything that a run computes from it before it asks for a port is computed. Reads no
// query file and touches no device. Path: tests only.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/table.h"
#include "base/log.h"
#include "conf/schema.h"
#include "engine/config/config_load.h"
#include "engine/config/criteria.h"
#include "engine/series/series.h"
#include "engine/run/judge/stop.h"
#include "engine/series/series_run.h"
#include "proto/dns/client/dns_settings.h"

#define CLIENTS_MAX 1000 // that a protocol is opened for
#define DIGITS_MAX  6    // in the patterns of a name: more take long to expand

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static char *dump_text(const struct config *c, size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);

	require(out != NULL);
	conf_dump(config_section(), c, out);
	fclose(out);
	return text;
}

// An error has a text, whatever the file holds.
static void print_errors(const struct diag *d)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	require(out != NULL);
	diag_print(d, out);
	fclose(out);
	require((len > 0) == (diag_count(d) > 0));
	free(text);
}

static void check_round_trip(const struct config *c)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new();
	size_t len, again_len;
	char *text = dump_text(c, &len), *again;
	const struct config *same = config_load_text("fuzz.yaml", text, len, a, d);

	if (!same)
		diag_print(d, stderr);
	require(same != NULL);
	again = dump_text(same, &again_len);
	require(len == again_len && memcmp(text, again, len) == 0);
	free(again);
	free(text);
	diag_free(d);
	arena_free(a);
}

// Would set-up read a file, or work for long, as those that keep clients may?
static bool is_heavy(const struct proto *p, const void *settings)
{
	const struct dns_settings *s = settings;
	const char *const *names = s->names.items;
	uint32_t digits = 0;

	if (strcmp(p->name, "dns") != 0)
		return true;
	for (uint32_t i = 0; i < s->names.count; i++)
		for (const char *at = names[i]; *at; at++)
			digits += *at >= '0' && *at <= '9';
	return s->queries || digits > DIGITS_MAX;
}

static void use_protocol(const struct item_settings *i, struct diag *d)
{
	void *common = NULL;
	struct proto_env env = {.seed = 1,
		.workers = 1,
		.clients = (uint32_t)i->facts.addresses,
		.addr_len = i->server.len,
		.common = &common};
	struct proto_ctx ctx = {0};
	const void *settings = i->facts.settings;
	const struct proto *p = i->facts.proto;

	if (is_heavy(p, settings))
		return;
	ctx.shared = p->setup(settings, &env, &(struct proto_facts){0}, d);
	require(ctx.shared || diag_count(d));
	if (!ctx.shared)
		return;
	if (env.clients <= CLIENTS_MAX && p->open(&ctx, &env) == 0)
		p->close(&ctx);
	p->teardown((void *)ctx.shared);
}

static void use_item(const struct config *c, const struct item_settings *i, struct diag *d)
{
	const struct item_facts *f = &i->facts;

	require(f->port && f->port != config_responder_port(c));
	require(f->sources.count > 0 || f->proto->router);
	require(f->server_port > 0);
	require(config_slots_needed(c, i) > 0);
	use_protocol(i, d);
}

static void use_criteria(const struct config *c, struct arena *a)
{
	const struct item_settings *items = c->traffic.items;
	struct result_item *results = arena_zalloc(a, (c->traffic.count + 1) * sizeof(*results));
	const struct result result = {.traffic = {results, c->traffic.count}};
	struct counter_list judged;
	struct criteria k;

	for (uint32_t i = 0; i < c->traffic.count; i++) {
		const struct proto *p = items[i].facts.proto;

		results[i].name = items[i].name;
		results[i].counters =
			(struct counter_choice){p->counters, arena_zalloc(a, p->counters->size)};
	}
	criteria_start(&k, c, a);
	judged = criteria_judge(&k, &result, a);
	require(judged.count <= c->criteria.count * c->traffic.count);
	require(c->traffic.count == 0 || judged.count >= c->criteria.count);
}

static void use_faults(const struct faults_settings *s)
{
	static const struct clock clock = {.hz = 2.5e9};
	struct faults f = {0};
	uint64_t leave = 0, now = 1;

	require(faults_held(s, 1e9) < UINT64_MAX && faults_longest_ns(s) < UINT64_MAX);
	if (faults_init(&f, s, &clock, 1, 16) == 0)
		for (int i = 0; i < 40; i++, now += now / 2 + 1) {
			if (faults_admit(&f, now, &leave))
				require(leave >= now);
			faults_draw(&f, UINT64_MAX);
		}
	faults_free(&f);
}

static void use_responder(const struct responder_settings *r, struct diag *d)
{
	const struct proto_env env = {.seed = 1, .workers = 1, .clients = 1};

	for (unsigned k = 0; protos[k]; k++)
		if (r->protocol[k]) {
			void *shared = protos[k]->server->setup(
				r->protocol[k], &env, &(struct proto_facts){0}, d);

			require(shared || diag_count(d));
			if (shared)
				protos[k]->server->teardown(shared);
		}
	if (r->faults)
		use_faults(r->faults);
}

// Every run of a search, as far as the file goes; whatever is wrong with one is said.
static void use_search(const struct config *c, struct arena *a)
{
	struct diag *d = diag_new();

	require((series_check(c, a, d) == 0) == (diag_count(d) == 0));
	print_errors(d);
	diag_free(d);
}

static void use_stop(const struct config *c, struct arena *a)
{
	const struct item_settings *items = c->traffic.items;
	struct stop stop;
	uint32_t n = c->stop.count;

	for (uint32_t i = 0; i < c->traffic.count; i++)
		n += items[i].load.max_outstanding > 0;
	stop_start(&stop, c, a);
	require(c->traffic.count == 0 || stop.count == n);
}

static void use(const struct config *c, struct arena *a, struct diag *d)
{
	const struct item_settings *items = c->traffic.items;

	for (uint32_t i = 0; i < c->traffic.count; i++)
		use_item(c, &items[i], d);
	use_criteria(c, a);
	use_stop(c, a);
	if (c->responder)
		use_responder(c->responder, d);
	check_round_trip(c);
	if (c->search)
		use_search(c, a);
}

static void load(const char *text, size_t len)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new();
	const struct config *c = config_load_text("fuzz.yaml", text, len, a, d);

	require((c != NULL) == (diag_count(d) == 0));
	if (c)
		use(c, a, d);
	print_errors(d);
	diag_free(d);
	arena_free(a);
}

// All assignments made; NULL: not all can be.
static char *assign(
	const char *text, size_t len, const char *sets, const char *end, size_t *out_len)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new();
	struct conf_tree *t = conf_parse_text("fuzz.yaml", text, len, a, d);
	struct config c = {0};
	char *out = NULL;

	for (; t && sets < end; sets += strlen(sets) + 1)
		conf_set(t, sets, a, d);
	if (t && conf_apply(t, config_section(), &c, a, d) == 0 && diag_count(d) == 0)
		out = dump_text(&c, out_len);
	print_errors(d);
	diag_free(d);
	arena_free(a);
	return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *assigned;
	size_t len, assigned_len = 0;

	require(text != NULL);
	log_set_level(LOG_QUIET);
	memcpy(text, data, size);
	text[size] = '\0';
	len = strlen(text);
	load(text, len);
	assigned =
		len < size ? assign(text, len, text + len + 1, text + size, &assigned_len) : NULL;
	if (assigned)
		load(assigned, assigned_len);
	free(assigned);
	free(text);
	return 0;
}
