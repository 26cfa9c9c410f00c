// SPDX-License-Identifier: BSD-3-Clause
// ddiperf list WHAT: the tables that the program runs on, as reference. Path: cold. Main thread.
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "commands.h"
#include "conf/schema.h"
#include "engine/run/run.h"
#include "io/driver.h"
#include "stats/text.h"

static void list_drivers(void)
{
	for (unsigned i = 0; i < driver_count; i++)
		printf("%-12s  %s\n", drivers[i].name, drivers[i].help);
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

static void document_below(const char *prefix, const struct counter_section *section)
{
	char path[128];

	snprintf(path, sizeof(path), "%s%s.", prefix, section->name);
	stats_document(section, path, stdout);
}

static void list_counters(void)
{
	stats_document(&result_section, "", stdout);
	for (unsigned i = 0; protos[i]; i++) {
		document_below("traffic.NAME.", protos[i]->counters);
		if (protos[i]->server)
			document_below("responder.protocols.NAME.", protos[i]->server->counters);
	}
}

static const struct {
	const char *name;
	void (*list)(void);
} topics[] = {
	{"drivers", list_drivers},
	{"protocols", list_protocols},
	{"settings", list_settings},
	{"counters", list_counters},
};

#define TOPICS (sizeof(topics) / sizeof(topics[0]))

int cmd_list(const struct options *o)
{
	const char *names[TOPICS + 1] = {0}, *nearest;

	for (size_t i = 0; i < TOPICS; i++) {
		names[i] = topics[i].name;
		if (strcmp(o->operand, topics[i].name) != 0)
			continue;
		topics[i].list();
		return EXIT_PASS;
	}
	nearest = options_nearest(o->operand, names);
	log_error("list: nothing called %s (drivers, protocols, settings or counters%s%s%s)",
		o->operand, nearest ? "; did you mean " : "", nearest ? nearest : "",
		nearest ? "?" : "");
	return EXIT_CONFIG;
}
