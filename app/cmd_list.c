// SPDX-License-Identifier: BSD-3-Clause
// ddiperf list TABLE: a reference table (list.h), a schema, or the agents of a fleet. Path: cold.
// Main thread.
#include <string.h>

#include "base/log.h"
#include "base/nearest.h"
#include "campaign/campaign.h"
#include "run/commands.h"
#include "conf/schema.h"
#include "fleet/fleet_list.h"
#include "list.h"

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

static void try_name(void *ctx, const char *name)
{
	nearest_try(ctx, name);
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
	list_names(try_name, &nearest);
	nearest_try(&nearest, AGENTS);
	log_error("list: no such table: %s (%s%s%sdrivers, protocols, settings, responder, "
		  "campaign, counters, formats, selectors or agents)",
		o->operand, nearest.name ? "did you mean " : "", nearest.name ? nearest.name : "",
		nearest.name ? "? " : "");
	return EXIT_CONFIG;
}
