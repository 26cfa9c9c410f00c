// SPDX-License-Identifier: BSD-3-Clause
// The options of perfdhcp 2.2, and their valid combinations. Path: cold. Main thread.
#include "front/perfdhcp/front_perfdhcp.h"

#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "engine/run/run.h"

static void begin(struct as_run *r)
{
	struct perfdhcp *p = (struct perfdhcp *)r;
	size_t most = 0; // options with one letter each

	for (int i = 0; i < r->argc; i++)
		most += strlen(r->argv[i]);
	p->all = arena_zalloc(r->arena, most * sizeof(*p->all));
	p->packets = -1;
}

static int keep(struct as_run *r, const char *value)
{
	struct perfdhcp *p = (struct perfdhcp *)r;
	char letter = r->row->letter                    ? r->row->letter
	              : strcmp(r->row->name, "or") == 0 ? PERFDHCP_OR
	                                                : PERFDHCP_SCENARIO;

	p->all[p->count++] = (struct perfdhcp_given){letter, value};
	return 0;
}

static int show_version(struct as_run *r, const char *value)
{
	(void)value;
	printf("VERSION: %s\n", r->tool->version);
	return AS_DONE;
}

#define WHOLE(from, to) .least = (from), .most = (to)

static const struct as_option rows[] = {
	{'1', NULL, NULL, "ask the server of the first offer",
		.ignored = "each client asks the server whose offer it takes"},
	{'4', NULL, NULL, "DHCPv4 (default)"},
	{'6', NULL, NULL, "DHCPv6"},
	{'A', NULL, "1", "DHCPv6 behind a relay", WHOLE(1, 1)},
	{'b', NULL, "mac=MAC|duid=HEX", "identity of the first client"},
	{'B', NULL, NULL, "broadcast",
		.ignored = "a relay asks its server by unicast; all or -l INTERFACE broadcasts"},
	{'c', NULL, NULL, "rapid commit, with -6 -i"},
	{'C', NULL, "SEPARATOR", "lines of -t as bare figures"},
	{'d', NULL, "SECONDS", "time after which a message is lost"},
	{'D', NULL, "COUNT|PERCENT", "end after this many losses"},
	{'e', NULL, "TYPE", "address-only, prefix-only or address-and-prefix"},
	{'E', NULL, "OFFSET", "place of the elapsed time in the second -T", WHOLE(0, INT32_MAX)},
	{'f', NULL, "RATE", "renewals per second, on top of -r", WHOLE(1, INT32_MAX)},
	{'F', NULL, "RATE", "releases per second, on top of -r", WHOLE(1, INT32_MAX)},
	{'g', NULL, "single|multi", "threads", .ignored = "one worker sends and receives"},
	{'h', NULL, NULL, "print these options", .set = as_show_options},
	{'i', NULL, NULL, "the first two messages only"},
	{'I', NULL, "OFFSET", "place of the address in the second -T", WHOLE(1, INT32_MAX)},
	{'J', NULL, "FILE", "addresses of relays"},
	{'l', NULL, "ADDRESS|INTERFACE", "this host's end"},
	{'L', NULL, "PORT", "UDP port of this host", WHOLE(0, UINT16_MAX)},
	{'M', NULL, "FILE", "MAC addresses of the clients"},
	{'n', NULL, "COUNT", "end after this many exchanges", WHOLE(1, INT32_MAX)},
	{'N', NULL, "PORT", "UDP port of the server", WHOLE(0, UINT16_MAX)},
	{'o', NULL, "CODE,HEX", "one more option in each message"},
	{'O', NULL, "OFFSET", "last byte of the client's number in -T", WHOLE(3, INT32_MAX)},
	{'\0', "or", "CODE,HEX", "one more option in each message of the relay (-A)"},
	{'p', NULL, "SECONDS", "length of the run", WHOLE(1, INT32_MAX)},
	{'P', NULL, "COUNT", "send this many requests at once before the schedule",
		WHOLE(0, INT32_MAX)},
	{'r', NULL, "RATE", "exchanges per second", WHOLE(1, INT32_MAX)},
	{'R', NULL, "COUNT", "clients", WHOLE(0, UINT32_MAX)},
	{'s', NULL, "SEED", "seed", WHOLE(0, INT32_MAX)},
	{'S', NULL, "OFFSET", "place of the server identifier in the second -T",
		WHOLE(1, INT32_MAX)},
	{'\0', "scenario", "NAME", "basic or avalanche"},
	{'t', NULL, "SECONDS", "time from one interim line to the next", WHOLE(1, INT32_MAX)},
	{'T', NULL, "FILE", "template of DISCOVER or SOLICIT; the second: of REQUEST"},
	{'u', NULL, NULL, "count addresses that two clients hold"},
	{'v', NULL, NULL, "print the version", .set = show_version},
	{'V', NULL, NULL, "print the version", .set = show_version},
	{'W', NULL, "MICROSECONDS", "wait at the end",
		.ignored = "the run ends when each message was answered or is lost",
		WHOLE(0, INT32_MAX)},
	{'w', NULL, "COMMAND", "run COMMAND start before, COMMAND stop after"},
	{'x', NULL, "LETTERS", "diagnostics: a, e, i, l, s, t, T"},
	{'X', NULL, "OFFSET", "place of the transaction id in -T", WHOLE(1, INT32_MAX)},
	{'y', NULL, "SECONDS", "length of growing elapsed times", WHOLE(1, UINT16_MAX)},
	{'Y', NULL, "SECONDS", "time until elapsed times grow", WHOLE(1, UINT16_MAX)},
	{0},
};

static int check_number(const struct perfdhcp *p, const struct as_option *row, const char *text)
{
	unsigned long long value = strtoull(text, NULL, 10);

	if (*text && strlen(text) < 12 && text[strspn(text, "0123456789")] == '\0' &&
		(double)value >= row->least && (double)value <= row->most)
		return 0;
	return as_refuse(&p->run, "-%c %s: not a whole number from %.0f to %.0f", row->letter, text,
		row->least, row->most);
}

static int check_numbers(const struct perfdhcp *p)
{
	int err = 0;

	PERFDHCP_EACH(g, p)
	for (const struct as_option *row = rows; row->letter || row->name; row++)
		if (g->letter == row->letter && row->most > 0 && !err)
			err = check_number(p, row, g->value);
	return err;
}

// Options that may be repeated; any other option replaces its earlier value.
static int check_times(const struct perfdhcp *p)
{
	static const struct {
		const char *letters;
		unsigned most;
	} limits[] = {{"b", 4}, {"nOTXdD", 2}, {"MJ", 1}};

	for (unsigned i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		for (const char *c = limits[i].letters; *c; c++)
			if (perfdhcp_times(p, *c) > limits[i].most)
				return as_refuse(
					&p->run, "-%c: more than %u of them", *c, limits[i].most);
	return 0;
}

static double number(const struct perfdhcp *p, char letter)
{
	const char *value = perfdhcp_value(p, letter);

	return value ? strtod(value, NULL) : 0;
}

// As in the original: -o requires the family to be known.
static bool is_family_late(const struct perfdhcp *p)
{
	PERFDHCP_EACH(g, p)
	{
		if (g->letter == '4' || g->letter == '6')
			return false;
		if (g->letter == 'o')
			return true;
	}
	return false;
}

static bool has(const struct perfdhcp *p, char letter)
{
	return perfdhcp_times(p, letter) > 0;
}

static int check_together(const struct perfdhcp *p)
{
	const bool two = has(p, 'i'),
		   addresses = !has(p, 'e') || strcmp(perfdhcp_value(p, 'e'), "address-only") == 0;
	const unsigned templates = perfdhcp_times(p, 'T');
	const struct as_check first[] = {
		{has(p, '4') && has(p, '6'), "-4 and -6 exclude each other"},
		{p->v6 && has(p, 'B'), "-B is of DHCPv4"},
		{!p->v6 && has(p, 'c'), "-c needs -6"},
		{!p->v6 && has(p, 'A'), "-A needs -6"},
		{!has(p, 'A') && has(p, PERFDHCP_OR), "--or needs -6 -A 1"},
		{!p->v6 && !addresses, "-e needs -6, unless it is address-only"},
		{is_family_late(p), "-o needs -4 or -6 before it"},
		{templates && !addresses, "-T needs -e address-only"},
		{0},
	};
	const struct as_check last[] = {
		{has(p, 'c') && !two, "-c needs -i"},
		{!has(p, 'r') && has(p, 'f'), "-f needs -r"},
		{!has(p, 'r') && has(p, 'F'), "-F needs -r"},
		{number(p, 'f') + number(p, 'F') > number(p, 'r'),
			"-f and -F together must not exceed -r"},
		{templates < perfdhcp_times(p, 'X'), "each -X needs a -T"},
		{templates < perfdhcp_times(p, 'O'), "each -O needs a -T"},
		{templates < 2 && has(p, 'E'), "-E needs a second -T"},
		{templates < 2 && has(p, 'S'), "-S needs a second -T"},
		{templates < 2 && has(p, 'I'), "-I needs a second -T"},
		{has(p, 'y') != has(p, 'Y'), "-y and -Y need each other"},
		{has(p, 'M') && has(p, 'b'), "-M excludes -b"},
		{p->avalanche && number(p, 'R') == 0, "--scenario avalanche needs -R"},
		{0},
	};
	int err = as_check(&p->run, first);

	for (const char *c = "ndDTXO"; two && !err && *c; c++)
		if (perfdhcp_times(p, *c) > 1)
			err = as_refuse(&p->run, "-i excludes a second -%c", *c);
	for (const char *c = "1ESIfF"; two && !err && *c; c++)
		if (has(p, *c))
			err = as_refuse(&p->run, "-i excludes -%c", *c);
	return err ? err : as_check(&p->run, last);
}

static int check_words(const struct perfdhcp *p)
{
	static const struct {
		char letter;
		const char *words; // separated by blanks
	} all[] = {{'e', "address-only prefix-only address-and-prefix"}, {'g', "single multi"},
		{PERFDHCP_SCENARIO, "basic avalanche"}};

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const char *value = perfdhcp_value(p, all[i].letter);

		if (value && !word_is_among(value, all[i].words))
			return as_refuse(&p->run, "%s: not one of: %s", value, all[i].words);
	}
	if (perfdhcp_diagnoses(p, 'l') && has(p, 'i'))
		as_note(&p->run, "-x l: offers that no client accepts (-i) are not listed");
	return 0;
}

// An absent server, "all" and "servers" mean a group.
static int take_server(struct perfdhcp *p)
{
	const char *word = p->run.operand_count ? p->run.operands[0] : NULL;
	const char *local = perfdhcp_value(p, 'l');

	p->interface = local && if_nametoindex(local) ? local : NULL;
	if (p->run.operand_count > 1)
		return as_refuse(&p->run, "more than one server: %s", p->run.operands[1]);
	if (word && strcmp(word, "all") == 0)
		word = p->v6 ? "ff02::1:2" : "255.255.255.255";
	else if (word && p->v6 && strcmp(word, "servers") == 0)
		word = "ff05::1:3";
	else if (!word && p->interface)
		word = p->v6 ? "ff02::1:2" : "255.255.255.255";
	p->server = word;
	return word ? 0 : as_refuse(&p->run, "without an interface (-l), a server is required");
}

static int finish(struct as_run *r)
{
	struct perfdhcp *p = (struct perfdhcp *)r;
	const char *scenario = perfdhcp_value(p, PERFDHCP_SCENARIO);
	int err;

	p->v6 = has(p, '6');
	p->avalanche = scenario && strcmp(scenario, "avalanche") == 0;
	err = check_times(p);
	err = err ? err : check_numbers(p);
	err = err ? err : check_words(p);
	err = err ? err : check_together(p);
	err = err ? err : take_server(p);
	err = err ? err : perfdhcp_map(p);
	r->front.output = (struct front_output){perfdhcp_line, perfdhcp_end, p};
	if (!err && !r->options->dump)
		perfdhcp_print_head(p);
	return err;
}

const struct as_tool front_perfdhcp = {.name = "perfdhcp",
	.operands = "[SERVER]",
	.version = "2.2.0",
	.options = rows,
	.size = sizeof(struct perfdhcp),
	.begin = begin,
	.set = keep,
	.finish = finish,
	.error_code = 1,
	.usage_code = EXIT_CONFIG};
