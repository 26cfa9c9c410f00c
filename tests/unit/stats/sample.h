// SPDX-License-Identifier: BSD-3-Clause
// One struct with a row of every type, for the tests of everything that walks rows. Path: cold.
#pragma once

#include <math.h>

#include "base/counter.h"

struct sample_part {
	const char *name;
	uint64_t lost;
	double p99_ns;
};

struct sample_own {
	uint64_t rcode[4];
	uint64_t truncated;
};

struct sample {
	const char *name;
	uint64_t sent;
	double loss;
	double rate;
	bool known;
	struct sample_part inside;
	struct sample_part *maybe;
	struct counter_list parts;
	struct counter_list reasons;
	struct counter_choice own;
};

static const struct counter sample_part_rows[] = {
	{"name", "name of the part", NULL, COUNTER_STRING, offsetof(struct sample_part, name)},
	{"lost", "lost there", NULL, COUNTER_U64, offsetof(struct sample_part, lost)},
	{"p99_ns", "99th percentile", "ns", COUNTER_F64, offsetof(struct sample_part, p99_ns)},
};

static const struct counter_section sample_part_section = {
	"part", "a part", COUNTER_ROWS(sample_part_rows), sizeof(struct sample_part)};

static const char *sample_label(uint32_t i)
{
	static const char *const labels[] = {"NOERROR", "FORMERR", "SERV.FAIL", "NXDOMAIN"};

	return labels[i];
}

static const struct counter sample_own_rows[] = {
	{"rcode", "answers by RCODE", "packets", COUNTER_ARRAY, offsetof(struct sample_own, rcode),
		.length = 4, .label = sample_label},
	{"truncated", "answers with TC", NULL, COUNTER_U64, offsetof(struct sample_own, truncated)},
};

static const struct counter_section sample_own_section = {
	"dns", "a protocol", COUNTER_ROWS(sample_own_rows), sizeof(struct sample_own)};

static const struct counter sample_rows[] = {
	{"name", "name", NULL, COUNTER_STRING, offsetof(struct sample, name)},
	{"sent", "sent", NULL, COUNTER_U64, offsetof(struct sample, sent)},
	{"loss", "lost over sent", "1", COUNTER_F64, offsetof(struct sample, loss)},
	{"rate", "rate", "per_s", COUNTER_F64, offsetof(struct sample, rate)},
	{"known", "whether it is known", NULL, COUNTER_BOOL, offsetof(struct sample, known)},
	{"inside", "in place", NULL, COUNTER_SECTION, offsetof(struct sample, inside),
		.section = &sample_part_section},
	{"maybe", "may be absent", NULL, COUNTER_SECTION, offsetof(struct sample, maybe),
		.section = &sample_part_section, .optional = true},
	{"parts", "several", NULL, COUNTER_LIST, offsetof(struct sample, parts),
		.section = &sample_part_section},
	{"reasons", "texts", NULL, COUNTER_STRINGS, offsetof(struct sample, reasons)},
	{"own", "chosen at run time", NULL, COUNTER_CHOICE, offsetof(struct sample, own)},
};

static const struct counter_section sample_section = {
	"sample", "a sample", COUNTER_ROWS(sample_rows), sizeof(struct sample)};

static const struct sample_part sample_parts[] = {{"a", 1, 1000}, {"a.b", 2, INFINITY}};
static const char *const sample_reasons[] = {"first", "second"};
static const struct sample_own sample_own = {.rcode = {7, 0, 12345, 0}};

static inline struct sample sample_full(void)
{
	return (struct sample){
		.name = "s",
		.sent = 1234567,
		.loss = 0.0025,
		.rate = 20000,
		.known = true,
		.inside = {.lost = 5},
		.parts = {sample_parts, 2},
		.reasons = {sample_reasons, 2},
		.own = {&sample_own_section, &sample_own},
	};
}
