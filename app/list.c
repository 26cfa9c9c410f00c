// SPDX-License-Identifier: BSD-3-Clause
// ddiperf list TABLE: its tables, a schema, or the agents of a fleet. Path: cold. Main thread.
#include "list.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/nearest.h"
#include "proto/table.h"
#include "campaign/campaign.h"
#include "conf/schema.h"
#include "engine/config/config.h"
#include "engine/result/result.h"
#include "format/format.h"
#include "format/format_select.h"
#include "fleet/fleet_list.h"
#include "io/driver/driver.h"
#include "run/commands.h"
#include "stats/text.h"

static bool list_drivers(const struct list_choice *choice)
{
	for (unsigned i = 0; i < driver_count; i++)
		printf("%-12s  %s%s%s%s\n", drivers[i].name, drivers[i].help,
			drivers[i].caveat ? " (" : "", drivers[i].caveat ? drivers[i].caveat : "",
			drivers[i].caveat ? ")" : "");
	return true;
}

static bool list_protocols(const struct list_choice *choice)
{
	for (unsigned i = 0; protos[i]; i++)
		printf("%-12s  %-5u  %s\n", protos[i]->name, protos[i]->ports->plain,
			protos[i]->help);
	return true;
}

// The settings that most files need; an item of a list stands for all.
static const char basic[] =
	"run.warmup run.duration run.interval run.seed run.repeat ports[].name ports[].driver "
	"ports[].device ports[].cpus ports[].addresses ports[].gateway ports[].vlans "
	"traffic[].name traffic[].port traffic[].server traffic[].servers traffic[].timeout "
	"traffic[].load.rate traffic[].load.ramp.from traffic[].load.ramp.to "
	"traffic[].load.ramp.over traffic[].load.steps[].rate traffic[].load.steps[].for "
	"traffic[].load.outstanding traffic[].load.arrivals traffic[].load.total "
	"traffic[].dns.transport traffic[].dns.tcp.connections traffic[].dns.tcp.pipeline "
	"traffic[].dns.queries traffic[].dns.names traffic[].dns.wire traffic[].dns.order "
	"traffic[].dns.edns.size traffic[].dns.edns.do traffic[].dns.expect.rcode "
	"traffic[].dhcp4.exchange traffic[].dhcp4.mix.renew traffic[].dhcp4.mix.release "
	"traffic[].dhcp4.clients traffic[].dhcp4.again traffic[].dhcp4.relay.addresses "
	"traffic[].dhcp4.leases.save traffic[].dhcp4.leases.load traffic[].dhcp6.exchange "
	"traffic[].dhcp6.mix.renew traffic[].dhcp6.mix.release traffic[].dhcp6.clients "
	"traffic[].dhcp6.again traffic[].dhcp6.addresses traffic[].dhcp6.prefixes "
	"traffic[].dhcp6.relay.addresses traffic[].ntp traffic[].echo.test traffic[].echo.size "
	"events[].at events[].run events[].set events[].link stop criteria validity.stolen "
	"output.capture.file output.html output.csv output.jsonl output.prometheus "
	"dut.probe.command dut.control.address search.variable search.from search.to "
	"search.goals[].loss search.goals[].p99 search.width responder fleet.agents";

// Settings of the responder have their own table.
static bool is_of_responder(const char *path)
{
	return strncmp(path, "responder", 9) == 0 && strchr(".", path[9]);
}

struct wanted_settings {
	const struct list_choice *choice;
	bool responder;
	unsigned shown, others;
};

static bool is_wanted(void *ctx, const char *path, const char *help)
{
	struct wanted_settings *w = ctx;
	const char *word = w->choice->search;
	bool wanted = word             ? strcasestr(path, word) || strcasestr(help, word)
	              : w->responder   ? is_of_responder(path)
	              : w->choice->all ? !is_of_responder(path) || strcmp(path, "responder") == 0
	                               : word_is_among(path, basic);

	w->shown += wanted;
	w->others += !wanted;
	return wanted;
}

static bool list_config(const struct list_choice *choice, bool responder)
{
	struct wanted_settings w = {.choice = choice, .responder = responder};

	conf_document(config_section(), is_wanted, &w, stdout);
	if (!choice->search && !choice->all && !responder)
		printf("\n%u further settings: ddiperf list settings --all, or --search WORD; of "
		       "the "
		       "built-in responder: ddiperf list responder\n",
			w.others);
	return w.shown > 0;
}

static bool list_settings(const struct list_choice *choice)
{
	return list_config(choice, false);
}

static bool list_responder(const struct list_choice *choice)
{
	return list_config(choice, true);
}

static bool list_campaign(const struct list_choice *choice)
{
	conf_document(campaign_section(), NULL, NULL, stdout);
	return true;
}

static void list_section(const char *prefix, const struct counter_section *section)
{
	char path[128];

	snprintf(path, sizeof(path), "%s%s.", prefix, section->name);
	stats_document(section, path, stdout);
}

static bool list_counters(const struct list_choice *choice)
{
	stats_document(&result_section, "", stdout);
	for (unsigned i = 0; protos[i]; i++) {
		list_section("traffic.NAME.", protos[i]->counters);
		list_section("intervals[].traffic.NAME.", protos[i]->counters);
		if (protos[i]->server)
			list_section("responder.protocols.NAME.", protos[i]->server->counters);
	}
	return true;
}

static bool list_formats(const struct list_choice *choice)
{
	for (unsigned i = 0; i < format_count; i++)
		printf("%-12s  %s\n", formats[i].name, formats[i].help);
	return true;
}

static bool list_selectors(const struct list_choice *choice)
{
	select_list(NULL, stdout);
	return true;
}

static const struct {
	const char *name;
	bool (*list)(const struct list_choice *choice); // false: nothing to show
} tables[] = {
	{"drivers", list_drivers},
	{"protocols", list_protocols},
	{"settings", list_settings},
	{"responder", list_responder},
	{"campaign", list_campaign},
	{"counters", list_counters},
	{"formats", list_formats},
	{"selectors", list_selectors},
};

#define TABLES (sizeof(tables) / sizeof(tables[0]))

enum list_outcome list_table(const char *name, const struct list_choice *choice)
{
	for (size_t i = 0; i < TABLES; i++)
		if (strcmp(name, tables[i].name) == 0)
			return tables[i].list(choice) ? LIST_DONE : LIST_EMPTY;
	return LIST_NO_TABLE;
}

#define AGENTS   "agents"
#define SETTINGS "settings"

static int print_schema(const char *table)
{
	if (strcmp(table, SETTINGS) == 0) {
		conf_json_schema(config_section(), "a run of ddiperf", stdout);
	} else if (strcmp(table, "campaign") == 0) {
		conf_json_schema(campaign_section(), "a campaign of ddiperf", stdout);
	} else {
		log_error("list: only settings have a schema (ddiperf list settings --schema, "
			  "or list campaign --schema)");
		return EXIT_CONFIG;
	}
	return EXIT_PASS;
}

int cmd_list(const struct options *o)
{
	struct nearest nearest = nearest_to(o->operand);
	bool agents = strcmp(o->operand, AGENTS) == 0;

	if (agents != (o->fleet != NULL) || (o->json && !agents)) {
		log_error(agents ? "list agents: --fleet URL is missing, the server of NATS"
				 : "list: --fleet and --json are for the table " AGENTS);
		return EXIT_CONFIG;
	}
	if (o->schema)
		return print_schema(o->operand);
	if (agents) {
		const struct bus_settings s = options_bus(o, "ddiperf list");

		return fleet_list(&s, o->json, o->arena);
	}
	if ((o->all || o->search) && strcmp(o->operand, SETTINGS) != 0) {
		log_error("list: --all and --search are for the table " SETTINGS);
		return EXIT_CONFIG;
	}
	switch (list_table(o->operand, &(struct list_choice){o->all, o->search})) {
	case LIST_DONE:
		return EXIT_PASS;
	case LIST_EMPTY:
		log_error("list: no setting has %s in its path or help", o->search);
		return EXIT_CONFIG;
	case LIST_NO_TABLE:
		break;
	}
	for (size_t i = 0; i < TABLES; i++)
		nearest_try(&nearest, tables[i].name);
	nearest_try(&nearest, AGENTS);
	log_error("list: no such table: %s (%s%s%sdrivers, protocols, settings, responder, "
		  "campaign, counters, formats, selectors or agents)",
		o->operand, nearest.name ? "did you mean " : "", nearest.name ? nearest.name : "",
		nearest.name ? "? " : "");
	return EXIT_CONFIG;
}
