// SPDX-License-Identifier: BSD-3-Clause
// ddiperf list TABLE: drivers, protocols, settings, counters, formats or selectors, as reference.
// Path: cold. Main thread.
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/nearest.h"
#include "campaign.h"
#include "commands.h"
#include "conf/schema.h"
#include "format.h"
#include "format_select.h"
#include "io/driver.h"
#include "stats/text.h"

static void list_drivers(void)
{
	for (unsigned i = 0; i < driver_count; i++)
		printf("%-12s  %s%s%s%s\n", drivers[i].name, drivers[i].help,
			drivers[i].caveat ? " (" : "", drivers[i].caveat ? drivers[i].caveat : "",
			drivers[i].caveat ? ")" : "");
}

static void list_protocols(void)
{
	for (unsigned i = 0; protos[i]; i++)
		printf("%-12s  %-5u  %s\n", protos[i]->name, protos[i]->default_port,
			protos[i]->help);
}

static void list_settings(void)
{
	conf_document(config_section(), stdout);
}

static void list_campaign(void)
{
	conf_document(campaign_section(), stdout);
}

static void list_section(const char *prefix, const struct counter_section *section)
{
	char path[128];

	snprintf(path, sizeof(path), "%s%s.", prefix, section->name);
	stats_document(section, path, stdout);
}

static void list_counters(void)
{
	stats_document(&result_section, "", stdout);
	for (unsigned i = 0; protos[i]; i++) {
		list_section("traffic.NAME.", protos[i]->counters);
		list_section("intervals[].traffic.NAME.", protos[i]->counters);
		if (protos[i]->server)
			list_section("responder.protocols.NAME.", protos[i]->server->counters);
	}
}

static void list_formats(void)
{
	for (unsigned i = 0; i < format_count; i++)
		printf("%-12s  %s\n", formats[i].name, formats[i].help);
}

static void list_selectors(void)
{
	select_list(NULL, stdout);
}

static const struct {
	const char *name;
	void (*list)(void);
} tables[] = {
	{"drivers", list_drivers},
	{"protocols", list_protocols},
	{"settings", list_settings},
	{"campaign", list_campaign},
	{"counters", list_counters},
	{"formats", list_formats},
	{"selectors", list_selectors},
};

int cmd_list(const struct options *o)
{
	struct nearest nearest = nearest_to(o->operand);

	if (o->schema && strcmp(o->operand, "settings") == 0) {
		conf_json_schema(config_section(), "a run of ddiperf", stdout);
		return EXIT_PASS;
	}
	if (o->schema && strcmp(o->operand, "campaign") == 0) {
		conf_json_schema(campaign_section(), "a campaign of ddiperf", stdout);
		return EXIT_PASS;
	}
	if (o->schema) {
		log_error("list: only settings have a schema (ddiperf list settings --schema, "
			  "or list campaign --schema)");
		return EXIT_CONFIG;
	}
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		nearest_try(&nearest, tables[i].name);
		if (strcmp(o->operand, tables[i].name) != 0)
			continue;
		tables[i].list();
		return EXIT_PASS;
	}
	log_error(
		"list: no such table: %s (%s%s%sdrivers, protocols, settings, campaign, counters, "
		"formats or selectors)",
		o->operand, nearest.name ? "did you mean " : "", nearest.name ? nearest.name : "",
		nearest.name ? "? " : "");
	return EXIT_CONFIG;
}
