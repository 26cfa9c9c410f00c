// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Any thread.
#include "web/runs_ports.h"

#include <string.h>

#include "campaign/campaign.h"
#include "conf/schema.h"
#include "engine/config/config.h"
#include "io/driver/driver.h"

static bool has(const json_t *list, const json_t *wanted)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one) if (json_equal(one, wanted)) return true;
	return false;
}

static void put_ports(const struct config *c, json_t *out)
{
	const struct port_settings *ports = c->ports.items;

	for (uint32_t i = 0; i < c->ports.count; i++) {
		const char *device = ports[i].device    ? ports[i].device
		                     : ports[i].rx_file ? ports[i].rx_file
		                                        : "";
		json_t *port = json_sprintf("%s %s", drivers[ports[i].driver].name, device);

		if (!drivers[ports[i].driver].sockets &&
			!has(out, port)) // sockets share the interface
			json_array_append(out, port);
		json_decref(port);
	}
}

static void put_run(const char *file, char *const *sets, unsigned count, json_t *out)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new();
	struct conf_tree *tree = conf_parse_file(file, a, d);
	struct config c = {0};

	for (unsigned i = 0; tree && i < count; i++)
		conf_set(tree, sets[i], a, d);
	if (tree && conf_apply(tree, config_section(), &c, a, d) == 0)
		put_ports(&c, out);
	diag_free(d);
	arena_free(a);
}

static void put_campaign(struct conf_tree *tree, char *const *sets, unsigned count, json_t *out,
	struct arena *a, struct diag *d)
{
	struct campaign c = {0};

	for (unsigned i = 0; i < count; i++)
		conf_set(tree, sets[i], a, d);
	if (conf_apply(tree, campaign_section(), &c.settings, a, d) < 0 ||
		campaign_expand(&c, a, d) < 0)
		return;
	for (uint32_t i = 0; i < c.cell_count * c.operation_count; i++) {
		const struct campaign_cell *cell = &c.cells[i / c.operation_count];
		const struct campaign_operation *op =
			campaign_operation_of(&c, cell, i % c.operation_count);
		char **own;

		if (!op)
			continue;
		own = campaign_assignments(&c, cell, op, a, &count);
		put_run(cell->base, own, count, out);
	}
}

static bool is_campaign(const struct conf_tree *tree)
{
	return tree && conf_has(tree, "points");
}

bool runs_is_campaign(const char *file)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new();
	bool found = is_campaign(conf_parse_file(file, a, d));

	diag_free(d);
	arena_free(a);
	return found;
}

json_t *runs_ports_of(const char *file, const char *const *arguments, unsigned count)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new();
	struct conf_tree *tree = conf_parse_file(file, a, d);
	char **sets = arena_zalloc(a, (count + 1) * sizeof(*sets));
	json_t *out = json_array();
	unsigned n = 0;

	for (unsigned i = 0; i + 1 < count; i++)
		if (strcmp(arguments[i], "--set") == 0)
			sets[n++] = (char *)arguments[i + 1];
	if (is_campaign(tree))
		put_campaign(tree, sets, n, out, a, d);
	else
		put_run(file, sets, n, out);
	diag_free(d);
	arena_free(a);
	return out;
}

const char *runs_ports_shared(const json_t *a, const json_t *b)
{
	const json_t *one, *other;
	size_t i, k;

	json_array_foreach(a, i, one) json_array_foreach(
		b, k, other) if (json_equal(one, other)) return json_string_value(one);
	return NULL;
}
