// SPDX-License-Identifier: BSD-3-Clause
// A made-up configuration with every type of setting, for the tests of conf/ and its fuzzer.
#pragma once

#include "base/field.h"
#include "conf/schema.h"

enum sample_mode { MODE_FAST, MODE_SLOW, MODE_NULL };

static const char *const sample_modes[] = {"fast", "slow", "null", NULL};

struct sample_load {
	double rate;
	uint64_t total;
	uint64_t outstanding;
};

static const struct field sample_load_rows[] = {
	{"rate", "requests per second", FIELD_RATE, .offset = offsetof(struct sample_load, rate),
		.def = "20k", .word = "max", .min = 1, .max = 1e9},
	{"total", "stop after so many", FIELD_COUNT, .offset = offsetof(struct sample_load, total),
		.def = "none", .word = "none", .min = 1},
	{"outstanding", "closed loop", FIELD_COUNT,
		.offset = offsetof(struct sample_load, outstanding), .min = 1, .max = 1e6},
};

static const struct field_section sample_load_section = {.name = "load",
	.help = "how much",
	FIELD_ROWS(sample_load_rows),
	.size = sizeof(struct sample_load)};

struct sample_relay {
	struct field_list addresses; // struct addr_range
	uint64_t levels;
};

static const struct field sample_relay_rows[] = {
	{"addresses", "of the relays", FIELD_ADDR_RANGE, .list = true, .required = true,
		.offset = offsetof(struct sample_relay, addresses)},
	{"levels", "relays behind relays", FIELD_COUNT,
		.offset = offsetof(struct sample_relay, levels), .def = "1", .min = 1, .max = 32},
};

static const struct field_section sample_relay_section = {.name = "relay",
	.help = "by a relay",
	FIELD_ROWS(sample_relay_rows),
	.size = sizeof(struct sample_relay)};

struct sample_dns {
	const char *queries;
	struct field_list lines; // const char *
	int32_t mode;
	bool recursion;
	struct field_bytes option;
};

static const struct field sample_dns_rows[] = {
	{"queries", "file of queries", FIELD_STRING, .role = FIELD_INPUT,
		.offset = offsetof(struct sample_dns, queries), .min = 1, .max = 255},
	{"lines", "queries in place", FIELD_STRING, .list = true, .role = FIELD_COMMAND,
		.offset = offsetof(struct sample_dns, lines)},
	{"mode", "how", FIELD_ENUM, .offset = offsetof(struct sample_dns, mode), .def = "slow",
		.names = sample_modes},
	{"recursion", "RD bit", FIELD_BOOL, .offset = offsetof(struct sample_dns, recursion),
		.def = "true"},
	{"option", "bytes of an option", FIELD_HEX, .offset = offsetof(struct sample_dns, option),
		.max = 8},
};

static const struct field_section sample_dns_section = {.name = "dns",
	.help = "DNS",
	FIELD_ROWS(sample_dns_rows),
	.size = sizeof(struct sample_dns)};

struct sample_dhcp {
	uint8_t mac[6];
	uint64_t clients;
	struct sample_relay *relay;
};

static const struct field sample_dhcp_rows[] = {
	{"mac", "of the first client", FIELD_MAC, .offset = offsetof(struct sample_dhcp, mac),
		.def = "02:00:00:00:00:00"},
	{"clients", "distinct ones", FIELD_COUNT, .offset = offsetof(struct sample_dhcp, clients),
		.required = true},
	{"relay", NULL, FIELD_SECTION, .optional = true,
		.offset = offsetof(struct sample_dhcp, relay), .section = &sample_relay_section},
};

static const struct field_section sample_dhcp_section = {.name = "dhcp4",
	.help = "DHCP",
	FIELD_ROWS(sample_dhcp_rows),
	.size = sizeof(struct sample_dhcp)};

static uint32_t sample_protocol_count(void)
{
	return 3;
}

// The second one is not offered.
static const struct field_section *sample_protocol(uint32_t i)
{
	static const struct field_section *const all[] = {
		&sample_dns_section, NULL, &sample_dhcp_section};

	return all[i];
}

static const struct field_choices sample_protocols = {sample_protocol_count, sample_protocol};

struct sample_item {
	const char *name;
	struct addr server;
	struct field_list ports;   // struct field_range
	struct field_list sources; // struct addr_range
	uint64_t timeout_ns;
	double loss;
	struct sample_load load;
	void **protocols;
};

static const struct field sample_item_rows[] = {
	{"name", "of the item", FIELD_STRING, .offset = offsetof(struct sample_item, name)},
	{"server", "to be asked", FIELD_ADDR, .required = true,
		.offset = offsetof(struct sample_item, server)},
	{"ports", "source ports", FIELD_RANGE, .list = true,
		.offset = offsetof(struct sample_item, ports), .def = "1024-2047, 4096", .min = 1,
		.max = 65535},
	{"sources", "source addresses", FIELD_ADDR_RANGE, .list = true,
		.offset = offsetof(struct sample_item, sources)},
	{"timeout", "until it is lost", FIELD_DURATION,
		.offset = offsetof(struct sample_item, timeout_ns), .def = "1s", .min = 1000000,
		.max = 60e9},
	{"loss", "allowed", FIELD_PERCENT, .offset = offsetof(struct sample_item, loss),
		.def = "0.1%", .max = 1},
	{"load", NULL, FIELD_SECTION, .offset = offsetof(struct sample_item, load),
		.section = &sample_load_section},
	{NULL, NULL, FIELD_CHOICES, .offset = offsetof(struct sample_item, protocols),
		.choices = &sample_protocols},
};

static const struct field_section sample_item_section = {.name = "traffic",
	.help = "an item",
	FIELD_ROWS(sample_item_rows),
	.size = sizeof(struct sample_item)};

struct sample_run {
	uint64_t seed;
	uint64_t warmup_ns;
	uint64_t drain_ns;
	uint64_t memory;
};

static const struct field sample_run_rows[] = {
	{"seed", "of randomness", FIELD_COUNT, .offset = offsetof(struct sample_run, seed),
		.def = "1"},
	{"warmup", "not judged", FIELD_DURATION, .offset = offsetof(struct sample_run, warmup_ns),
		.def = "0"},
	{"drain", "at the end", FIELD_DURATION, .offset = offsetof(struct sample_run, drain_ns),
		.def = "auto", .word = "auto"},
	{"memory", "to be taken", FIELD_SIZE, .offset = offsetof(struct sample_run, memory),
		.def = "64MiB", .word = "auto", .min = 1 << 20},
};

static const struct field_section sample_run_section = {.name = "run",
	.help = "the run",
	FIELD_ROWS(sample_run_rows),
	.size = sizeof(struct sample_run)};

struct sample {
	struct sample_run run;
	struct addr_prefix own;
	struct addr_range pool;
	struct field_range cpu;
	struct field_list traffic;  // struct sample_item
	struct field_list criteria; // const char *
};

static const struct field sample_rows[] = {
	{"run", NULL, FIELD_SECTION, .offset = offsetof(struct sample, run),
		.section = &sample_run_section},
	{"own", "address", FIELD_PREFIX, .offset = offsetof(struct sample, own)},
	{"pool", "addresses", FIELD_ADDR_RANGE, .offset = offsetof(struct sample, pool)},
	{"cpu", "to run on", FIELD_RANGE, .offset = offsetof(struct sample, cpu)},
	{"traffic", "what is sent", FIELD_SECTION, .list = true,
		.offset = offsetof(struct sample, traffic), .section = &sample_item_section},
	{"criteria", "what is judged", FIELD_STRING, .list = true,
		.offset = offsetof(struct sample, criteria)},
};

static const struct field_section sample_section = {.name = "sample",
	.help = "all of it",
	FIELD_ROWS(sample_rows),
	.size = sizeof(struct sample)};
