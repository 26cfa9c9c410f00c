// SPDX-License-Identifier: BSD-3-Clause
// The lines that perfdhcp 2.2 prints before the run. Path: cold. Main thread.
#include <stdlib.h>
#include <string.h>

#include "front/perfdhcp/front_perfdhcp.h"

static void print_numbered(const struct perfdhcp *p, char letter, const char *format)
{
	const char *value;

	for (unsigned i = 0; (value = perfdhcp_nth(p, letter, i)); i++)
		printf(format, i, value);
}

// A row of -x a. {0} behind the last one.
struct decoded {
	char letter;
	const char *name;
	const char *numbered; // format of several; NULL: the name and the last value
	const char *without;  // value without the option; NULL: no line
};

static void print_rows(const struct perfdhcp *p, const struct decoded *row)
{
	for (; row->letter; row++) {
		const char *value = perfdhcp_value(p, row->letter);

		if (row->numbered)
			print_numbered(p, row->letter, row->numbered);
		else if (value && strcmp(value, "0") != 0)
			printf("%s=%s\n", row->name, value);
		else if (!value && perfdhcp_times(p, row->letter))
			puts(row->name);
		else if (row->without)
			printf("%s=%s\n", row->name, row->without);
	}
}

static void print_drops(const struct perfdhcp *p)
{
	const char *value;
	unsigned counts = 0, shares = 0;

	for (unsigned i = 0; i < 2; i++) {
		value = perfdhcp_nth(p, 'd', i);
		printf("drop-time[%u]=%g\n", i,
			p->avalanche ? 1000
			: value      ? strtod(value, NULL)
				     : 1);
	}
	for (unsigned i = 0; (value = perfdhcp_nth(p, 'D', i)); i++)
		if (!strchr(value, '%'))
			printf("max-drop{%u]=%s\n", counts++, value);
	for (unsigned i = 0; (value = perfdhcp_nth(p, 'D', i)); i++)
		if (strchr(value, '%'))
			printf("max-pdrop{%u]=%g\n", shares++, strtod(value, NULL));
}

// Without the quotes of YAML, and with that text between two bytes.
static void put_mac(const char *mac, const char *between)
{
	for (; *mac; mac++)
		if (*mac == ':')
			fputs(between, stdout);
		else if (*mac != '"')
			putchar(*mac);
}

// MAC and DUID of the first client.
static void print_identity(const struct perfdhcp *p)
{
	const char *family = p->v6 ? "traffic.leases.dhcp6" : "traffic.leases.dhcp4";
	const char *mac = front_get(&p->run.front, arena_printf(p->run.arena, "%s.mac", family));
	const char *duid =
		front_get(&p->run.front, arena_printf(p->run.arena, "%s.duid_hex", family));

	fputs("Set MAC to ", stdout);
	put_mac(mac ? mac : "00:0c:01:02:03:04", "::");
	fputs("\nSet DUID to ", stdout);
	if (!duid) { // of no message
		printf("%s000c01020304\n", p->duid);
		return;
	}
	duid += *duid == '"';
	printf("%.*s", (int)strcspn(duid, "{\""), duid);
	if (strchr(duid, '{') && mac)
		put_mac(mac, "");
	putchar('\n');
}

static void print_decoded(const struct perfdhcp *p)
{
	static const struct decoded first[] = {{'r', "rate[1/s]", NULL, NULL},
		{'f', "renew-rate[1/s]", NULL, NULL}, {'F', "release-rate[1/s]", NULL, NULL},
		{'t', "report[s]", NULL, NULL}, {'R', "clients", NULL, NULL},
		{'b', NULL, "base[%u]=%s\n", NULL}, {'n', NULL, "num-request[%u]=%s\n", NULL},
		{'p', "test-period", NULL, NULL}, {0}};
	static const struct decoded last[] = {{'P', "preload", NULL, NULL},
		{'L', "local-port", NULL, NULL}, {'N', "remote-port", NULL, NULL},
		{'s', "seed", NULL, NULL}, {'B', "broadcast", NULL, NULL},
		{'c', "rapid-commit", NULL, NULL}, {'1', "use-first", NULL, NULL},
		{'M', "mac-list-file", NULL, NULL}, {'T', NULL, "template-file[%u]=%s\n", NULL},
		{'X', NULL, "xid-offset[%u]=%s\n", NULL}, {'E', "elp-offset", NULL, "-1"},
		{'O', NULL, "rnd-offset[%u]=%s\n", NULL}, {'S', "sid-offset", NULL, "-1"},
		{'I', "rip-offset", NULL, "-1"}, {'x', "diagnostic-selectors", NULL, NULL},
		{'w', "wrapped", NULL, NULL}, {0}};
	const char *type = perfdhcp_times(p, 'e') ? perfdhcp_value(p, 'e') : "address-only";
	const char *local = perfdhcp_value(p, 'l');
	const char *threads = perfdhcp_value(p, 'g');

	printf("IPv%u\n", p->v6 ? 6 : 4);
	if (perfdhcp_times(p, 'i'))
		printf("%s only\n", p->v6 ? "SOLICIT-ADVERTISE" : "DISCOVER-OFFER");
	printf("lease-type=%s (%s added to the client's request)\n", type,
		strcmp(type, "address-only") == 0  ? "IA_NA option"
		: strcmp(type, "prefix-only") == 0 ? "IA_PD option"
						   : "Both IA_NA and IA_PD options");
	print_rows(p, first);
	print_drops(p);
	print_rows(p, last);
	if (local)
		printf("%s=%s\n", p->interface ? "interface" : "local-addr", local);
	printf("server=%s\n%s-thread-mode\n", p->server, threads ? threads : "multi");
	print_identity(p);
}

void perfdhcp_print_head(const struct perfdhcp *p)
{
	const char *threads = perfdhcp_value(p, 'g');

	if (perfdhcp_times(p, 'C'))
		return;
	fputs("Running: perfdhcp", stdout);
	for (unsigned i = 0; i < p->count; i++) {
		const struct perfdhcp_given *g = &p->all[i];

		if (g->letter == PERFDHCP_SCENARIO)
			fputs(" --scenario", stdout);
		else
			printf(" -%c", g->letter);
		if (g->value)
			printf(" %s", g->value);
	}
	printf("%s%s\nScenario: %s.\n", p->run.operand_count ? " " : "",
		p->run.operand_count ? p->run.operands[0] : "",
		p->avalanche ? "avalanche" : "basic");
	if (!threads || strcmp(threads, "multi") == 0)
		puts("Multi-thread mode enabled.");
	if (perfdhcp_diagnoses(p, 'a'))
		print_decoded(p);
	fflush(stdout);
}
