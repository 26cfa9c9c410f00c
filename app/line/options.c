// SPDX-License-Identifier: BSD-3-Clause
// The table of options, getopt_long driven by it, and the help text generated from it.
// Path: cold. Main thread.
#include "line/options.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/log.h"
#include "base/nearest.h"

#define AT(member) offsetof(struct options, member)

static const struct option_row {
	enum option_bit bit;
	char letter;
	const char *name;
	const char *argument; // NULL: takes none
	size_t place;         // of the member
	const char *help;
} rows[] = {
	{OPTION_SET, 's', "set", "PATH=VALUE", AT(assignments),
		"override a setting of the file; may be repeated"},
	{OPTION_JSON, 'j', "json", "OUT", AT(json),
		"write the result as JSON to OUT; -: standard output"},
	{OPTION_DRY_RUN, '\0', "html", "OUT", AT(html),
		"write the result as a page with charts to OUT"},
	{OPTION_DRY_RUN, 'n', "dry-run", "PCAP", AT(dry_run),
		"open no port; write the first packets of each item to PCAP"},
	{OPTION_SELF_CHECK, 'c', "self-check", NULL, AT(self_check),
		"open no port; measure the head-room of this box for FILE"},
	{OPTION_DUMP, 'd', "dump", NULL, AT(dump),
		"print the effective settings, defaults included"},
	{OPTION_FILE, '\0', "dump", NULL, AT(dump), "send nothing; print the equivalent file"},
	{OPTION_AGENT, 's', "set", "PATH=VALUE", AT(assignments),
		"override a setting in each run; may be repeated"},
	{OPTION_QUIET, 'q', "quiet", NULL, AT(quiet),
		"print the last line only; of a campaign the table"},
	{OPTION_SERVE | OPTION_AGENT, 'q', "quiet", NULL, AT(quiet),
		"print warnings and errors only"},
	{OPTION_VERBOSE, 'v', "verbose", NULL, AT(verbose),
		"print each internal step to standard error"},
	{OPTION_FAIL_ON, 'f', "fail-on", "MARGIN", AT(margins),
		"fail if a result is worse than the baseline by more than this, like p99:+5% or "
		"rate:-2%; may be repeated"},
	{OPTION_BASELINE, 'B', "baseline", "RESULT", AT(baseline),
		"take differences from this result; default: the first one"},
	{OPTION_FORMAT, 'F', "format", "FORMAT", AT(format),
		"format of the report (ddiperf list formats); default: by the suffix of OUT, "
		"keyval with --select, or text"},
	{OPTION_OUTPUT, 'o', "output", "OUT", AT(output), "write to OUT; default: standard output"},
	{OPTION_SELECT, 'S', "select", "FIGURES", AT(select),
		"figures of keyval or csv: A,B;C, a file of such lines, all, or ? to list them"},
	{OPTION_SELECT, 'f', "units", "UNIT", AT(units),
		"unit of THROUGHPUT and of --brief, as netperf's -f: G, M, K (bytes), g, m, k "
		"(bits) or x (transactions); default: x, m of a test one way"},
	{OPTION_BRIEF, 'b', "brief", NULL, AT(brief),
		"print one figure only: answered per second, 10^6 bits sent per second of a test "
		"one way, or the answer of a search"},
	{OPTION_HISTORY, 'H', "history", "HISTORY", AT(history),
		"fail if the result is worse than the last ten runs of this history"},
	{OPTION_CONFIDENCE, 'C', "confidence", "PERCENT", AT(confidence),
		"with --history: confidence of all figures together; default: 99%"},
	{OPTION_APPEND, 'H', "history", "HISTORY", AT(history),
		"show the trend of the runs of this history on the page"},
	{OPTION_APPEND, 'a', "append", "HISTORY", AT(append),
		"append a line for each result to this history, unless it has that run"},
	{OPTION_INTERVALS, 'i', "interval-format", "TEXT", AT(intervals),
		"print TEXT for each interval, like '{t_s} {traffic.queries.p99_ns}', or json"},
	{OPTION_SCHEMA, 'J', "schema", NULL, AT(schema),
		"print the settings as a JSON Schema, for editors"},
	{OPTION_SCHEMA, '\0', "all", NULL, AT(all),
		"all settings except the responder's, not only the common ones"},
	{OPTION_SCHEMA, '\0', "search", "WORD", AT(search),
		"all settings that have this word in their path or help"},
	{OPTION_FORCE, '\0', "force", NULL, AT(force),
		"also bind a card that has addresses of this box; never the one of the default "
		"route"},
	{OPTION_USER, 'u', "user", "USER", AT(user),
		"let this user run tests on the card, besides root"},
	{OPTION_USER, '\0', "release", NULL, AT(release), "give the cards back to the kernel"},
	{OPTION_CONFINED, '\0', "confined", NULL, AT(confined),
		"refuse commands, and files outside the folder of FILE and the working directory"},
	{OPTION_ORDERS, '\0', "orders", NULL, AT(orders),
		"take orders from standard input, like traffic.queries.load.rate=5k; end of input "
		"ends the run"},
	{OPTION_LED, '\0', "led", NULL, AT(led),
		"for an agent: bring up the ports, then take orders to run from standard input and "
		"print events, JSON objects, a line each (docs/fleet.md)"},
	{OPTION_SERVE, 'l', "listen", "ADDRESS", AT(listen),
		"ADDRESS:PORT, PORT of 127.0.0.1, or unix:PATH; default: 127.0.0.1:8080"},
	{OPTION_SERVE, 'd', "dir", "DIR", AT(dir),
		"folder of runs and files; default: ddiperf in $XDG_STATE_HOME or ~/.local/state"},
	{OPTION_AGENT, 'd', "dir", "DIR", AT(dir),
		"folder of runs and input files; default: ddiperf-agent/NAME in $XDG_STATE_HOME or "
		"~/.local/state"},
	{OPTION_AGENT, 'N', "nats", "URL", AT(nats),
		"NATS server to connect to; default: nats://127.0.0.1:4222"},
	{OPTION_AGENT, 'n', "name", "NAME", AT(name),
		"unique name of this agent; default: the host name"},
	{OPTION_AGENT, 'l', "labels", "LABELS", AT(labels),
		"labels by which it is selected, like rack=1,site=a"},
	{OPTION_FLEET, '\0', "fleet", "URL", AT(fleet),
		"divide the run among the agents at this NATS server"},
	{OPTION_FLEET, '\0', "agents", "NUMBER", AT(agents),
		"number of agents; default: fleet.agents of the file, or all that are free"},
	{OPTION_FLEET, '\0', "select", "LABELS", AT(labels),
		"only agents that have all of these labels, like rack=1,site=a"},
	{OPTION_SERVE, '\0', "fleet", "URL", AT(fleet),
		"show the agents at this NATS server, and run tests on them"},
	{OPTION_AGENTS, '\0', "fleet", "URL", AT(fleet), "ask the agents at this NATS server"},
	{OPTION_NATS, '\0', "creds", "FILE", AT(creds),
		"credentials for NATS, or the seed of an nkey"},
	{OPTION_NATS, '\0', "ca", "FILE", AT(ca),
		"CA certificates to trust for NATS; default: the system's"},
	{OPTION_NATS, '\0', "cert", "FILE", AT(cert), "client certificate for NATS, with --key"},
	{OPTION_NATS, '\0', "key", "FILE", AT(key), "private key of --cert"},
	{OPTION_SERVE, 't', "token", "FILE", AT(token),
		"require the token in the first line of FILE, 16 to 127 characters"},
	{OPTION_SERVE, '\0', "host", "NAME", AT(host),
		"name by which clients may call this server, besides addresses and localhost"},
	{OPTION_SERVE, '\0', "tls-cert", "CERT", AT(tls_cert),
		"serve https with this certificate, a PEM file with its chain"},
	{OPTION_SERVE, '\0', "tls-key", "KEY", AT(tls_key),
		"private key of --tls-cert, a PEM file"},
	{OPTION_SERVE, '\0', "tls-clients", "CA", AT(tls_clients),
		"require a client certificate of one of the CAs in this PEM file"},
	{OPTION_COMMANDS, '\0', "allow-commands", NULL, AT(commands),
		"let configurations run commands and choose device arguments"},
	{OPTION_SERVE, '\0', "allow-local-users", NULL, AT(local_users),
		"let every user of this host start runs with the capabilities of this process"},
	{OPTION_AGENT, '\0', "allow-local-users", NULL, AT(local_users),
		"let every user of this host start runs with the capabilities of this process"},
	{OPTION_HELP, 'h', "help", NULL, 0, "print this help"},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static bool is_taken(const struct command *c, const struct option_row *r)
{
	return r->bit == OPTION_HELP || c->options & r->bit;
}

static void print_option(
	char letter, const char *name, const char *argument, const char *help, FILE *out)
{
	char text[64], dash[] = "-?,";

	dash[1] = letter;
	snprintf(text, sizeof(text), "--%s%s%s", name, argument && *argument != '[' ? " " : "",
		argument ? argument : "");
	fprintf(out, "  %3s %-20s  %s\n", letter ? dash : "", text, help);
}

static bool has_letter(const struct own_option *own, char letter)
{
	for (; own && own->name; own++)
		if (own->letter == letter)
			return true;
	return false;
}

void options_help(const struct command *c, FILE *out)
{
	fprintf(out, "usage: ddiperf %s [OPTION]...%s%s\n%s.\n\n", c->name, c->operand ? " " : "",
		c->operand ? c->operand : "", c->help);
	for (const struct own_option *own = c->own; own && own->name; own++)
		print_option(own->letter, own->name, own->argument, own->help, out);
	if (c->own)
		fputc('\n', out);
	for (size_t i = 0; i < ROWS; i++)
		if (is_taken(c, &rows[i]))
			print_option(has_letter(c->own, rows[i].letter) ? '\0' : rows[i].letter,
				rows[i].name, rows[i].argument, rows[i].help, out);
	if (c->more_help)
		fprintf(out, "\n%s", c->more_help);
}

void options_offer(const struct command *c, void (*offer)(const char *name, const char *help))
{
	for (const struct own_option *own = c->own; own && own->name; own++)
		offer(own->name, own->help);
	for (size_t i = 0; i < ROWS; i++)
		if (is_taken(c, &rows[i]))
			offer(rows[i].name, rows[i].help);
}

static bool is_meant(const char *word, char letter, const char *name)
{
	return word[1] == '-' ? strcmp(word + 2, name) == 0
	                      : letter && word[strlen(word) - 1] == letter;
}

const char *options_argument(const struct command *c, const char *word, const char **path)
{
	*path = NULL;
	if (word[0] != '-')
		return NULL;
	for (const struct own_option *own = c->own; own && own->name; own++)
		if (is_meant(word, own->letter, own->name)) {
			*path = own->path;
			return own->argument && *own->argument == '[' ? NULL : own->argument;
		}
	for (size_t i = 0; i < ROWS; i++)
		if (is_taken(c, &rows[i]) && is_meant(word, rows[i].letter, rows[i].name))
			return rows[i].argument;
	return NULL;
}

void option_table_add(
	struct option_table *t, char letter, const char *name, int argument, int value)
{
	size_t len = strlen(t->letters);

	if (name)
		t->longs[t->count++] = (struct option){name, argument, NULL, value};
	if (!letter || t->values[(uint8_t)letter])
		return;
	t->values[(uint8_t)letter] = value;
	t->letters[len] = letter;
	memcpy(t->letters + len + 1, "::", (size_t)argument); // no_argument is 0, optional 2
}

int option_table_next(const struct option_table *t, int argc, char **argv, struct arena *a,
	struct option_error *e)
{
	struct nearest nearest;
	const char *name;
	int value;

	opterr = 0;
	value = getopt_long(argc, argv, t->letters, t->longs, NULL);
	if (value != ':' && value != '?')
		return value >= 0 && value < 256 ? t->values[value] : value;
	*e = (struct option_error){
		value == ':' ? "this option needs an argument: " : "no such option: ",
		argv[optind - 1], NULL};
	if (value == ':')
		return 0;
	if (optopt > 0 && optopt < 256 && !t->values[optopt]) // a letter, maybe one of a group
		e->word = arena_printf(a, "-%c", optopt);
	name = e->word[1] == '-' ? e->word + 2 : "";
	nearest = nearest_to(arena_printf(a, "%.*s", (int)strcspn(name, "="), name));
	for (const struct option *one = t->longs; *name && one->name; one++)
		nearest_try(&nearest, one->name);
	e->nearest = nearest.name;
	return 0;
}

// Values in the table: OWN plus the index of an own row, or COMMON plus the index of a common row.
#define OWN    0x100
#define COMMON 0x200

static void build_table(const struct command *c, struct option_table *t)
{
	const struct own_option *own = c->own;

	*t = (struct option_table){.letters = ":"};
	for (int i = 0; own && own[i].name; i++)
		option_table_add(t, own[i].letter, own[i].name,
			!own[i].argument            ? no_argument
			: own[i].argument[0] == '[' ? optional_argument
						    : required_argument,
			OWN + i);
	for (int i = 0; i < (int)ROWS; i++)
		if (is_taken(c, &rows[i]))
			option_table_add(t, rows[i].letter, rows[i].name, rows[i].argument != NULL,
				COMMON + i);
}

static void store_option(struct options *o, const struct option_row *r)
{
	char *place = (char *)o + r->place;

	if (r->place == AT(assignments))
		o->assignments[o->assignment_count++] = optarg;
	else if (r->place == AT(margins))
		o->margins[o->margin_count++] = optarg;
	else if (r->argument)
		*(const char **)place = optarg;
	else
		*(bool *)place = true;
}

static enum options_outcome refuse(const struct command *c, const char *reason, const char *text)
{
	log_error("%s: %s%s (see ddiperf %s --help)", c->name, reason, text, c->name);
	return OPTIONS_WRONG;
}

// Refuse options of a fleet without --fleet.
static enum options_outcome check_fleet(const struct command *c, const struct options *o)
{
	const struct {
		const char *name, *value;
	} given[] = {{"agents", o->agents}, {"select", o->labels}, {"creds", o->creds},
		{"ca", o->ca}, {"cert", o->cert}, {"key", o->key}};

	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		if (given[i].value && !o->fleet && !(c->options & OPTION_AGENT)) {
			log_error("%s: --%s has no effect without --fleet URL, the server of NATS",
				c->name, given[i].name);
			return OPTIONS_WRONG;
		}
	return OPTIONS_GO;
}

static enum options_outcome parse_operands(
	const struct command *c, int count, char **texts, struct options *o)
{
	bool many = c->operand && strstr(c->operand, "...");
	int room = c->operand ? 1 : 0;

	if (count > room && !many)
		return refuse(c, "one argument too many: ", texts[count - 1]);
	if (count < room && c->operand[0] != '[')
		return refuse(c, "an argument is missing: ", c->operand);
	o->operand = count ? texts[0] : NULL;
	o->operands = texts;
	o->operand_count = (unsigned)count;
	return OPTIONS_GO;
}

enum options_outcome options_parse(
	const struct command *c, int argc, char **argv, struct options *o)
{
	struct option_table t;
	struct option_error e;
	size_t letters = 1;
	int value;

	build_table(c, &t);
	o->assignments = arena_zalloc(o->arena, (size_t)argc * sizeof(*o->assignments));
	o->margins = arena_zalloc(o->arena, (size_t)argc * sizeof(*o->margins));
	for (int i = 1; i < argc; i++)
		letters += strlen(argv[i]); // the rest are options without arguments
	o->given = arena_zalloc(o->arena, letters * sizeof(*o->given));
	while ((value = option_table_next(&t, argc, argv, o->arena, &e)) > 0) {
		if (value < COMMON) {
			const struct own_option *own = &c->own[value - OWN];

			o->given[o->given_count++] =
				(struct given_option){own, optarg ? optarg : own->value};
		} else if (rows[value - COMMON].bit == OPTION_HELP) {
			options_help(c, stdout);
			return OPTIONS_HELP_SHOWN;
		} else {
			store_option(o, &rows[value - COMMON]);
		}
	}
	if (value == 0 && !e.nearest)
		return refuse(c, e.reason, e.word);
	if (value == 0) {
		log_error("%s: %s%s (did you mean --%s?)", c->name, e.reason, e.word, e.nearest);
		return OPTIONS_WRONG;
	}
	if (check_fleet(c, o) != OPTIONS_GO)
		return OPTIONS_WRONG;
	return parse_operands(c, argc - optind, argv + optind, o);
}

const char *options_quote(const char *word, struct arena *a)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_-+=:,./%@";
	char *out, *to;

	if (*word && word[strspn(word, plain)] == '\0')
		return word;
	to = out = arena_zalloc(a, 4 * strlen(word) + 3);
	*to++ = '\'';
	for (; *word; word++) {
		if (*word == '\'')
			to = stpcpy(to, "'\\'");
		*to++ = *word;
	}
	*to = '\'';
	return out;
}

const char *options_command_line(int argc, char **argv, struct arena *a)
{
	const char *line = "ddiperf";

	for (int i = 1; i < argc; i++)
		line = arena_printf(a, "%s %s", line, options_quote(argv[i], a));
	return line;
}

struct bus_settings options_bus(const struct options *o, const char *name)
{
	return (struct bus_settings){.url = o->fleet,
		.creds = o->creds,
		.ca = o->ca,
		.cert = o->cert,
		.key = o->key,
		.name = name};
}
