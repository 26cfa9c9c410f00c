// SPDX-License-Identifier: BSD-3-Clause
// Mutations of configuration files that know the rows: values of a key's type, and keys where keys
// may stand. Any other mutation is libFuzzer's. Path: tests only.
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "engine/config/config.h"

#define ROWS_MAX      1024
#define TEXT_MAX      4096
#define DEPTH_MAX     4
#define PICK(r, pool) pool[rand_scale(rand_next(r), sizeof(pool) / sizeof((pool)[0]))]

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

struct text {
	char bytes[TEXT_MAX];
	size_t len;
};

struct row {
	const struct field *field;
	const struct field_section *section; // that it is of
};

static struct row rows[ROWS_MAX];
static uint32_t row_count;

static void rows_collect(const struct field_section *s)
{
	for (uint32_t i = 0; i < s->count && row_count < ROWS_MAX; i++) {
		const struct field *f = &s->fields[i];

		rows[row_count++] = (struct row){f, s};
		if (f->section)
			rows_collect(f->section);
		for (uint32_t k = 0; f->choices && k < f->choices->count(); k++)
			if (f->choices->section(k))
				rows_collect(f->choices->section(k));
	}
}

static bool chance(struct rand *r, uint32_t one_in)
{
	return rand_scale(rand_next(r), one_in) == 0;
}

static void put(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void put(struct text *t, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(t->bytes + t->len, TEXT_MAX - t->len, fmt, args);
	va_end(args);
	t->len = t->len + (size_t)n < TEXT_MAX ? t->len + (size_t)n : TEXT_MAX - 1;
}

// Any number, right or wrong.
static void put_any(struct text *t, struct rand *r)
{
	static const char *const numbers[] = {"0", "1", "2", "1000", "65535", "65536", "1.5",
		"0.001", "4294967296", "999999999", "18446744073709551615"};
	static const char *const units[] = {"", "k", "M", "G", "ns", "us", "ms", "s", "m", "h", "d",
		"B", "KiB", "GiB", "%", "/s"};

	put(t, "%s%s", PICK(r, numbers), PICK(r, units));
}

// One that the row allows, small ones more often.
static void put_number(struct text *t, struct rand *r, const struct field *f)
{
	double high = f->max > f->min ? f->max : f->min + 1e6;
	double v = f->min + (high - f->min) / (double)(1ull << rand_scale(rand_next(r), 40));

	if (chance(r, 8))
		put_any(t, r);
	else if (f->type == FIELD_PERCENT || (f->type == FIELD_SHARE && chance(r, 2)))
		put(t, "%.4f%%", v * 100);
	else
		put(t, "%.0f%s", v,
			f->type == FIELD_DURATION ? "ns"
			: f->type == FIELD_SIZE   ? "B"
			: f->type == FIELD_SHARE  ? "/s"
						  : "");
}

static uint32_t names_of(const struct field *f)
{
	uint32_t n = 0;

	while (field_name(f, n))
		n++;
	return n;
}

static void put_scalar(struct text *t, struct rand *r, const struct field *f)
{
	static const char *const texts[] = {"lan", "dut", "q", "\"\"", "queries.txt",
		"\"loss <= 0.1%\"", "\"p99 < 2ms\"", "\"traffic.q.lost == 0\"",
		"\"dns.rcode.SERVFAIL == 0\"", "\"loss > 5% for 3s\"", "\"unanswered for 2s\"",
		"\"failed > 100\"", "\"max(traffic.q.interval.loss) <= 1%\"",
		"\"mean(interval.p99) < 2ms for 1s\"", "traffic.q.load.rate",
		"\"traffic[1].load.outstanding\"", "traffic.d.dhcp4.clients",
		"\"traffic.d.steps.request-ack.p99 <= 20ms\"", "\"www.example.com A\"",
		"\"h{000-120}.{random:12}.example AAAA\"", "\"a\\\\046b\\\\{ TXT\""};
	static const char *const addresses[] = {"198.18.0.1", "198.18.0.2", "\"2001:db8::1\"",
		"\"fe80::1\"", "0.0.0.0", "255.255.255.255", "\"::ffff:1.2.3.4\"", "\"::\""};
	static const char *const ranges[] = {
		"198.18.0.2-198.18.3.254", "10.0.0.0/8", "\"2001:db8::/64\"", "0.0.0.0/0"};
	static const char *const prefixes[] = {
		"198.18.0.1/24", "198.18.0.2/32", "\"2001:db8::1/64\"", "0.0.0.0/0"};
	static const char *const numbers[] = {"1024-65535", "1", "5000-5001", "0", "4294967295"};

	switch (f->type) {
	case FIELD_BOOL:
		put(t, "%s", chance(r, 2) ? "true" : "false");
		return;
	case FIELD_COUNT:
	case FIELD_RATE:
	case FIELD_NUMBER:
	case FIELD_DURATION:
	case FIELD_SIZE:
	case FIELD_PERCENT:
	case FIELD_SHARE:
		put_number(t, r, f);
		return;
	case FIELD_STRING:
		put(t, "%s", PICK(r, texts));
		return;
	case FIELD_ENUM:
		put(t, "\"%s\"", field_name(f, rand_scale(rand_next(r), names_of(f))));
		return;
	case FIELD_ADDR:
	case FIELD_HOST:
		put(t, "%s", PICK(r, addresses));
		return;
	case FIELD_ADDR_RANGE:
		put(t, "%s", PICK(r, ranges));
		return;
	case FIELD_PREFIX:
		put(t, "%s", PICK(r, prefixes));
		return;
	case FIELD_RANGE:
		put(t, "%s", PICK(r, numbers));
		return;
	case FIELD_MAC:
		put(t, "\"02:00:00:00:00:%02x\"", (unsigned)(rand_next(r) & 0xff));
		return;
	case FIELD_HEX:
		put(t, "\"%llx\"", (unsigned long long)rand_next(r));
		return;
	case FIELD_SECTION:
	case FIELD_CHOICES:
		put(t, "{}");
		return;
	}
}

static void put_value(struct text *t, struct rand *r, const struct field *f, unsigned depth);
static void put_section(
	struct text *t, struct rand *r, const struct field_section *s, unsigned depth);

static const struct field_section *choose(struct rand *r, const struct field *f)
{
	const struct field_section *s;

	do
		s = f->choices->section(rand_scale(rand_next(r), f->choices->count()));
	while (!s);
	return s;
}

// "key: value".
static void put_setting(struct text *t, struct rand *r, const struct field *f, unsigned depth)
{
	const struct field_section *s = f->choices ? choose(r, f) : NULL;

	put(t, "%s: ", s ? s->name : f->name);
	if (s)
		put_section(t, r, s, depth);
	else
		put_value(t, r, f, depth);
}

// Some of the keys of a section, with those that are required.
static void put_section(
	struct text *t, struct rand *r, const struct field_section *s, unsigned depth)
{
	put(t, "{");
	for (uint32_t i = 0; i < s->count && depth < DEPTH_MAX; i++) {
		const struct field *f = &s->fields[i];

		if (!chance(r, f->required || f->choices ? 1 : 4))
			continue;
		put_setting(t, r, f, depth + 1);
		put(t, ", ");
	}
	put(t, "}");
}

static void put_value(struct text *t, struct rand *r, const struct field *f, unsigned depth)
{
	const struct field_section *s = f->section;
	bool listed = f->list && !chance(r, 8);

	if (f->word && chance(r, 4)) {
		put(t, "%s", f->word);
		return;
	}
	if (listed)
		put(t, "[");
	do {
		if (s)
			put_section(t, r, s, depth);
		else
			put_scalar(t, r, f);
		if (listed)
			put(t, ", ");
	} while (listed && chance(r, 3));
	if (listed)
		put(t, "]");
}

static const struct row *row_named(struct rand *r, const char *key, size_t len)
{
	uint32_t first = (uint32_t)rand_scale(rand_next(r), row_count);

	for (uint32_t i = 0; i < row_count; i++) {
		const struct row *row = &rows[(first + i) % row_count];
		const char *name = row->field->name;

		if (!row->field->choices && strlen(name) == len && memcmp(name, key, len) == 0)
			return row;
	}
	return NULL;
}

// Where the value at `at` ends: a bracket's partner, or what ends a scalar.
static size_t value_end(const char *text, size_t len, size_t at)
{
	unsigned open = 0;

	for (; at < len; at++) {
		if (open == 0 && strchr(",]}\n", text[at]))
			return at;
		open += text[at] == '{' || text[at] == '[';
		open -= text[at] == '}' || text[at] == ']';
	}
	return len;
}

static bool is_key_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static size_t splice(
	uint8_t *data, size_t size, size_t max, size_t at, size_t end, const struct text *t)
{
	if (size - (end - at) + t->len > max)
		return 0;
	memmove(data + at + t->len, data + end, size - end);
	memcpy(data + at, t->bytes, t->len);
	return size - (end - at) + t->len;
}

// Some key of the file: where it begins, where its colon is, and what it may be. false: none found.
struct key {
	size_t begin, colon;
	const struct row *row;
};

static bool key_find(const char *text, size_t size, struct rand *r, struct key *out)
{
	size_t at = rand_scale(rand_next(r), size), begin;

	while (at < size && (text[at] != ':' || at == 0 || !is_key_char(text[at - 1])))
		at++;
	for (begin = at; begin > 0 && is_key_char(text[begin - 1]); begin--)
		;
	*out = (struct key){begin, at, at < size ? row_named(r, text + begin, at - begin) : NULL};
	return out->row != NULL;
}

// Another value for the key.
static size_t mutate_value(
	uint8_t *data, size_t size, size_t max, const struct key *key, struct rand *r)
{
	size_t end = value_end((const char *)data, size, key->colon + 1);
	struct text t = {.len = 0};

	put(&t, " ");
	put_value(&t, r, key->row->field, 0);
	return splice(data, size, max, key->colon + 1, end, &t);
}

// Another key before it, from the same section: on a line of its own where this one begins a line.
static size_t mutate_key(
	uint8_t *data, size_t size, size_t max, const struct key *key, struct rand *r)
{
	const struct field_section *s = key->row->section;
	const struct field *f = &s->fields[rand_scale(rand_next(r), s->count)];
	struct text t = {.len = 0};
	size_t line = key->begin;

	while (line > 0 && strchr(" -", data[line - 1]))
		line--;
	put_setting(&t, r, f, 0);
	if (line == 0 || data[line - 1] == '\n')
		put(&t, "\n%*s", (int)(key->begin - line), "");
	else
		put(&t, ", ");
	return splice(data, size, max, key->begin, key->begin, &t);
}

#define PORTS                                                                                      \
	"ports: [{name: lan, driver: ring, device: dut, addresses: [198.18.0.1/24, "               \
	"\"2001:db8::1/64\"], gateway: 198.18.0.254}, {name: dut, driver: ring, device: lan, "     \
	"addresses: [198.18.0.2/24]}]\n"

// Right, and together with something of everything: what is made of them has a chance to be
// accepted.
static const char *const right[] = {
	"run: {warmup: 0s, duration: 1s, interval: 100ms, seed: 7}\n" PORTS "traffic:\n"
	"  - {name: q, server: 198.18.0.2, source: {addresses: [198.18.0.16/28], ports: "
	"[5000-6000]}, timeout: 100ms, load: {outstanding: 10, total: 1k}, dns: {names: "
	"[\"h{000-020}.{random:12}.x AAAA\", \"a A\"], order: zipf, cookies: full, edns: {size: "
	"4096, client_subnet: 10.0.0.0/8}, expect: {rcode: [NOERROR], min_answers: 1}}}\n"
	"  - {name: r, server: \"2001:db8::2\", load: {rate: 1k}, dns: {names: [a A]}}\n"
	"criteria: [loss <= 1%, \"traffic.q.lost == 0\", p99 < 2ms]\n"
	"validity: {unsent: 1%}\n"
	"output: {capture: {file: bad.pcapng, when: [lost], limit: 5}}\n"
	"responder: {port: dut, dns: {}, faults: {outage: {off_at: 1s, on_at: 2s}, capacity: "
	"{rate: 1k, queue: 9}, stall: {every: 1s, for: 5ms}, delay: {uniform: {max: 3ms}}, loss: "
	"{every: 7}, truncate: {share: 1%}}}\n",
	"run: {duration: 60s, repeat: {min: 2, max: 5, width: 5%, of: [rate, p99]}}\n" PORTS
	"traffic:\n"
	"  - {name: q, server: 198.18.0.2, load: {rate: 1k, arrivals: poisson}, dns: {names: [a "
	"A]}}\n"
	"  - {name: s, server: 198.18.0.2, load: {steps: [{rate: 1k, for: 1s}, {rate: 0, for: "
	"2s}], start_at: 1s}, dns: {names: [a A]}}\n"
	"  - {name: w, server: 198.18.0.2, load: {wave: {mean: 5k, amplitude: 4k, period: 15s}, "
	"max_outstanding: 9}, dns: {names: [a A]}}\n"
	"  - {name: b, server: 198.18.0.2, load: {burst: {size: 20, every: 10ms}, stop_at: 5s}, "
	"dns: {names: [a A]}}\n"
	"  - {name: d, server: 198.18.0.2, load: {storm: {clients: 10, within: 1s}}, dhcp4: "
	"{clients: 10, relay: {addresses: [198.18.0.64/29]}}}\n"
	"stop: [loss > 5% for 3s, unanswered for 2s, \"failed > 100\"]\n"
	"criteria: [max(interval.loss) <= 1%, \"traffic.d.steps.request-ack.p99 <= 20ms\"]\n"
	"search: {variable: traffic.q.load.rate, method: ramp, from: 1k, to: 20k, goals: [{loss: "
	"1%, p99: 5ms}, {failed: 2%, exceed: 10%}], steps: 20, trial: 100ms}\n",
};

static size_t mutate(uint8_t *data, size_t size, size_t max, struct rand *r)
{
	struct key key;

	if (size == 0 || !key_find((const char *)data, size, r, &key))
		return 0;
	return chance(r, 3) ? mutate_key(data, size, max, &key, r)
	                    : mutate_value(data, size, max, &key, r);
}

// From the beginning, a few times.
static size_t mutate_right(uint8_t *data, size_t max, struct rand *r)
{
	const char *text = PICK(r, right);
	size_t size = strlen(text), next;

	if (size > max)
		return 0;
	memcpy(data, text, size);
	do {
		next = mutate(data, size, max, r);
		size = next ? next : size;
	} while (chance(r, 2));
	return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	struct rand r = {seed};
	size_t mutated = 0;

	if (row_count == 0)
		rows_collect(config_section());
	if (chance(&r, 4))
		mutated = mutate_right(data, max_size, &r);
	else if (!chance(&r, 3))
		mutated = mutate(data, size, max_size, &r);
	return mutated ? mutated : LLVMFuzzerMutate(data, size, max_size);
}
