// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Any thread.
#include "web/runs_ports.h"

#include <string.h>

#include "conf/schema.h"
#include "engine/config/config.h"
#include "io/driver/driver.h"

static void put_ports(const struct config *c, json_t *out, struct arena *a)
{
	const struct port_settings *ports = c->ports.items;

	for (uint32_t i = 0; i < c->ports.count; i++) {
		const char *device = ports[i].device    ? ports[i].device
		                     : ports[i].rx_file ? ports[i].rx_file
		                                        : "";

		if (!drivers[ports[i].driver].sockets) // sockets share the interface
			json_array_append_new(out, json_string(arena_printf(a, "%s %s",
							   drivers[ports[i].driver].name, device)));
	}
}

json_t *runs_ports_of(const char *file, const char *const *arguments, unsigned count)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new();
	struct conf_tree *tree = conf_parse_file(file, a, d);
	json_t *out = json_array();
	struct config c = {0};

	for (unsigned i = 0; tree && i + 1 < count; i++)
		if (strcmp(arguments[i], "--set") == 0)
			conf_set(tree, arguments[i + 1], a, d);
	if (tree && conf_apply(tree, config_section(), &c, a, d) == 0)
		put_ports(&c, out, a);
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
