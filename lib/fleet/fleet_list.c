// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "fleet/fleet_list.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "document/document_reader.h"
#include "nats/bus.h"
#include "document/document.h"
#include "engine/run/run.h"
#include "fleet/fleet_ask.h"

#define COLUMNS 9

static const char *const heads[COLUMNS] = {
	"agent", "state", "version", "host", "CPUs", "memory", "hugepages", "clock", "labels"};

// Text from others may contain anything; a terminal gets printable characters.
static const char *cell(struct arena *a, const char *text)
{
	char *out = arena_strdup(a, text);

	for (char *at = out; *at; at++)
		if (iscntrl((unsigned char)*at))
			*at = '?';
	return out;
}

static const char *amount(struct arena *a, const json_t *box, const char *name)
{
	double mb = document_number(box, name);

	if (isnan(mb))
		return "";
	return mb < 1000 ? arena_printf(a, "%.0f MB", mb) : arena_printf(a, "%.1f GB", 1e-3 * mb);
}

static const char *clock_of(struct arena *a, const json_t *agent)
{
	double error = document_number(agent, "clock.error_ns");

	return isnan(error) ? "not kept" : arena_printf(a, "within %.3g ms", 1e-6 * error);
}

static void fill(struct arena *a, const json_t *agent, const char *row[COLUMNS])
{
	const json_t *box = json_object_get(agent, "box");
	const char *const cells[COLUMNS] = {document_text(agent, "name"),
		document_text(agent, "state"), document_text(agent, "version"),
		document_text(agent, "host"), document_text(agent, "cpus"),
		amount(a, box, "memory_mb"), amount(a, box, "hugepages_mb"), clock_of(a, agent),
		document_text(agent, "labels")};

	for (unsigned i = 0; i < COLUMNS; i++)
		row[i] = cell(a, cells[i]);
}

static void print_rows(const char *(*rows)[COLUMNS], size_t count)
{
	size_t width[COLUMNS] = {0};

	for (size_t k = 0; k < count; k++)
		for (unsigned i = 0; i < COLUMNS; i++)
			width[i] = strlen(rows[k][i]) > width[i] ? strlen(rows[k][i]) : width[i];
	for (size_t k = 0; k < count; k++) {
		unsigned last = COLUMNS;

		while (last > 1 && !*rows[k][last - 1])
			last--;
		for (unsigned i = 0; i + 1 < last; i++)
			printf("%-*s  ", (int)width[i], rows[k][i]);
		printf("%s\n", rows[k][last - 1]);
	}
}

static void print_table(struct arena *a, const json_t *agents)
{
	size_t count = json_array_size(agents), i;
	const char *(*rows)[COLUMNS] = arena_zalloc(a, (count + 1) * sizeof(*rows));
	const json_t *agent;

	memcpy(rows[0], heads, sizeof(heads));
	json_array_foreach((json_t *)agents, i, agent) fill(a, agent, rows[i + 1]);
	print_rows(rows, count + 1);
}

// Lists the agents in the form that serve uses.
static json_t *list_of(json_t *found)
{
	json_t *one;
	size_t i;

	json_array_foreach(found, i, one)
	{
		json_object_del(one, "id");
		json_object_set_new(
			one, "state", json_string(*document_text(one, "run") ? "busy" : "free"));
	}
	return json_pack("{s:o}", "agents", found);
}

int fleet_list(const struct bus_settings *s, const char *json, struct arena *a)
{
	struct bus *b;
	json_t *list;
	int rc = fleet_ask_open(s, &b);

	if (rc)
		return rc;
	list = list_of(fleet_ask_all(b));
	bus_close(b);
	if (json)
		rc = document_write_json("--json", list, json);
	else
		print_table(a, json_object_get(list, "agents"));
	if (json_array_size(json_object_get(list, "agents")) == 0)
		log_note("no agent is running (ddiperf agent --nats URL starts one)");
	json_decref(list);
	return rc < 0 ? EXIT_ENVIRONMENT : EXIT_PASS;
}
