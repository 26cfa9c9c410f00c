// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "list.h"

#include <stdio.h>
#include <string.h>

#include "proto/table.h"
#include "campaign/campaign.h"
#include "conf/schema.h"
#include "engine/config/config.h"
#include "engine/result/result.h"
#include "format/format.h"
#include "format/format_select.h"
#include "io/driver/driver.h"
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

#define TABLES (sizeof(tables) / sizeof(tables[0]))

bool list_table(const char *name)
{
	for (size_t i = 0; i < TABLES; i++)
		if (strcmp(name, tables[i].name) == 0) {
			tables[i].list();
			return true;
		}
	return false;
}

void list_names(void (*name)(void *ctx, const char *name), void *ctx)
{
	for (size_t i = 0; i < TABLES; i++)
		name(ctx, tables[i].name);
}
