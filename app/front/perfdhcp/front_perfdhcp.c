// SPDX-License-Identifier: BSD-3-Clause
// The options of perfdhcp 2.2, and which of them go together. Path: cold. Main thread.
#include "front/perfdhcp/front_perfdhcp.h"

#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "engine/run/run.h"

static void begin(struct as_run *r)
{
	struct perfdhcp *p = (struct perfdhcp *)r;
	size_t most = 0; // options of a letter each

	for (int i = 0; i < r->argc; i++)
		most += strlen(r->argv[i]);
	p->all = arena_zalloc(r->arena, most * sizeof(*p->all));
	p->packets = -1;
}

static int keep(struct as_run *r, const char *value)
{
	struct perfdhcp *p = (struct perfdhcp *)r;

	p->all[p->count++] =
		(struct perfdhcp_given){r->row->letter ? r->row->letter : PERFDHCP_SCENARIO, value};
	return 0;
}

static int keep_relay_option(struct as_run *r, const char *value)
{
	struct perfdhcp *p = (struct perfdhcp *)r;

	p->all[p->count++] = (struct perfdhcp_given){PERFDHCP_OR, value};
	return 0;
}

static int show_version(struct as_run *r, const char *value)
{
	(void)value;
	printf("VERSION: %s\n", r->tool->version);
	return AS_DONE;
}

static const struct as_option rows[] = {
	{'1', .help = "ask the server of the first offer", .set = keep,
		.ignored = "each client asks the server whose offer it takes"},
	{'4', .help = "DHCPv4 (default)", .set = keep},
	{'6', .help = "DHCPv6", .set = keep},
	{'A', .argument = "1", .help = "DHCPv6 behind a relay", .set = keep},
	{'b', .argument = "mac=MAC|duid=HEX", .help = "identity of the first client", .set = keep},
	{'B', .help = "broadcast", .set = keep,
		.ignored = "a relay asks its server by unicast; all or -l INTERFACE broadcasts"},
	{'c', .help = "rapid commit, with -6 -i", .set = keep},
	{'C', .argument = "SEPARATOR", .help = "lines of -t as bare figures", .set = keep},
	{'d', .argument = "SECONDS", .help = "time after which a message is lost", .set = keep},
	{'D', .argument = "COUNT|PERCENT", .help = "end after so many losses", .set = keep},
	{'e', .argument = "TYPE", .help = "address-only, prefix-only or address-and-prefix",
		.set = keep},
	{'E', .argument = "OFFSET", .help = "place of the elapsed time in the second -T",
		.set = keep},
	{'f', .argument = "RATE", .help = "renewals per second, on top of -r", .set = keep},
	{'F', .argument = "RATE", .help = "releases per second, on top of -r", .set = keep},
	{'g', .argument = "single|multi", .help = "threads", .set = keep,
		.ignored = "one worker sends and receives"},
	{'h', .help = "print these options", .set = as_show_options},
	{'i', .help = "the first two messages only", .set = keep},
	{'I', .argument = "OFFSET", .help = "place of the address in the second -T", .set = keep},
	{'J', .argument = "FILE", .help = "addresses of relays", .set = keep},
	{'l', .argument = "ADDRESS|INTERFACE", .help = "this host's end", .set = keep},
	{'L', .argument = "PORT", .help = "UDP port of this host", .set = keep},
	{'M', .argument = "FILE", .help = "MAC addresses of the clients", .set = keep},
	{'n', .argument = "COUNT", .help = "end after so many exchanges", .set = keep},
	{'N', .argument = "PORT", .help = "UDP port of the server", .set = keep},
	{'o', .argument = "CODE,HEX", .help = "one more option in each message", .set = keep},
	{'O', .argument = "OFFSET", .help = "last byte of the client's number in -T", .set = keep},
	{'\0', "or", "CODE,HEX", .help = "one more option in each message of the relay (-A)",
		.set = keep_relay_option},
	{'p', .argument = "SECONDS", .help = "length of the run", .set = keep},
	{'P', .argument = "COUNT", .help = "first send so many requests at once", .set = keep},
	{'r', .argument = "RATE", .help = "exchanges per second", .set = keep},
	{'R', .argument = "COUNT", .help = "clients", .set = keep},
	{'s', .argument = "SEED", .help = "seed", .set = keep},
	{'S', .argument = "OFFSET", .help = "place of the server identifier in the second -T",
		.set = keep},
	{'\0', "scenario", "NAME", .help = "basic or avalanche", .set = keep},
	{'t', .argument = "SECONDS", .help = "time from one interim line to the next", .set = keep},
	{'T', .argument = "FILE", .help = "template of DISCOVER or SOLICIT; the second: of REQUEST",
		.set = keep},
	{'u', .help = "count addresses that two clients hold", .set = keep},
	{'v', .help = "print the version", .set = show_version},
	{'V', .help = "print the version", .set = show_version},
	{'W', .argument = "MICROSECONDS", .help = "wait at the end", .set = keep,
		.ignored = "the run ends when each message was answered or is lost"},
	{'w', .argument = "COMMAND", .help = "run COMMAND start before, COMMAND stop after",
		.set = keep},
	{'x', .argument = "LETTERS", .help = "diagnostics: a, e, i, l, s, t, T", .set = keep},
	{'X', .argument = "OFFSET", .help = "place of the transaction id in -T", .set = keep},
	{'y', .argument = "SECONDS", .help = "length of growing elapsed times", .set = keep},
	{'Y', .argument = "SECONDS", .help = "time until elapsed times grow", .set = keep},
	{0},
};

// Options whose argument is a whole number.
static const struct {
	char letter;
	uint64_t least, most;
} numbers[] = {{'A', 1, 1}, {'E', 0, INT32_MAX}, {'f', 1, INT32_MAX}, {'F', 1, INT32_MAX},
	{'I', 1, INT32_MAX}, {'L', 0, UINT16_MAX}, {'n', 1, INT32_MAX}, {'N', 0, UINT16_MAX},
	{'O', 3, INT32_MAX}, {'p', 1, INT32_MAX}, {'P', 0, INT32_MAX}, {'r', 1, INT32_MAX},
	{'R', 0, UINT32_MAX}, {'s', 0, INT32_MAX}, {'S', 1, INT32_MAX}, {'t', 1, INT32_MAX},
	{'W', 0, INT32_MAX}, {'X', 1, INT32_MAX}, {'y', 1, UINT16_MAX}, {'Y', 1, UINT16_MAX}};

static int check_number(const struct perfdhcp *p, unsigned n, const char *text)
{
	unsigned long long value = strtoull(text, NULL, 10);

	if (*text && strlen(text) < 12 && text[strspn(text, "0123456789")] == '\0' &&
		value >= numbers[n].least && value <= numbers[n].most)
		return 0;
	return as_refuse(&p->run, "-%c %s: not a whole number from %llu to %llu", numbers[n].letter,
		text, (unsigned long long)numbers[n].least, (unsigned long long)numbers[n].most);
}

static int check_numbers(const struct perfdhcp *p)
{
	int err = 0;

	PERFDHCP_EACH(g, p)
	for (unsigned n = 0; n < sizeof(numbers) / sizeof(numbers[0]); n++)
		if (g->letter == numbers[n].letter && !err)
			err = check_number(p, n, g->value);
	return err;
}

// Options that may be given more than once; the others that are given again replace the value.
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

// As the original has it: -o says which family its code is of.
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
	const struct {
		bool wrong;
		const char *why;
	} checks[] = {
		{has(p, '4') && has(p, '6'), "-4 and -6 exclude each other"},
		{p->v6 && has(p, 'B'), "-B is of DHCPv4"},
		{!p->v6 && has(p, 'c'), "-c needs -6"},
		{!p->v6 && has(p, 'A'), "-A needs -6"},
		{!has(p, 'A') && has(p, PERFDHCP_OR), "--or needs -6 -A 1"},
		{!p->v6 && !addresses, "-e needs -6, unless it is address-only"},
		{is_family_late(p), "-o needs -4 or -6 before it"},
		{templates && !addresses, "-T needs -e address-only"},
		{two && perfdhcp_times(p, 'n') > 1, "-i excludes a second -n"},
		{two && perfdhcp_times(p, 'd') > 1, "-i excludes a second -d"},
		{two && perfdhcp_times(p, 'D') > 1, "-i excludes a second -D"},
		{two && templates > 1, "-i excludes a second -T"},
		{two && perfdhcp_times(p, 'X') > 1, "-i excludes a second -X"},
		{two && perfdhcp_times(p, 'O') > 1, "-i excludes a second -O"},
		{two && has(p, '1'), "-i excludes -1"},
		{two && has(p, 'E'), "-i excludes -E"},
		{two && has(p, 'S'), "-i excludes -S"},
		{two && has(p, 'I'), "-i excludes -I"},
		{two && has(p, 'f'), "-i excludes -f"},
		{two && has(p, 'F'), "-i excludes -F"},
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
	};

	for (unsigned i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		if (checks[i].wrong)
			return as_refuse(&p->run, "%s", checks[i].why);
	return 0;
}

static int check_words(const struct perfdhcp *p)
{
	static const struct {
		char letter;
		const char *words; // separated by blanks
	} all[] = {{'e', "address-only prefix-only address-and-prefix"}, {'g', "single multi"},
		{PERFDHCP_SCENARIO, "basic avalanche"}};

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const char *value = perfdhcp_value(p, all[i].letter), *at;
		size_t len = value ? strlen(value) : 0;

		at = value ? strstr(all[i].words, value) : all[i].words;
		if (!at || (value && (!len || (at[len] && at[len] != ' ') ||
					     (at > all[i].words && at[-1] != ' '))))
			return as_refuse(&p->run, "%s: not one of: %s", value, all[i].words);
	}
	if (perfdhcp_diagnoses(p, 'l') && has(p, 'i'))
		as_note(&p->run, "-x l: offers that nobody takes up (-i) are not listed");
	return 0;
}

// Without one, or as "all" or "servers", it is a group.
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
	.finish = finish,
	.error_code = 1,
	.usage_code = EXIT_CONFIG};
