// SPDX-License-Identifier: BSD-3-Clause
// Commands that read FILE and touch no port. ddiperf check FILE: every error that a run would
// report before it opens a port. ddiperf plan FILE: the demands of FILE on link, CPUs and memory.
// Path: cold. Main thread.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/input.h"
#include "base/log.h"
#include "run/commands.h"
#include "conf/schema.h"
#include "document/document.h"
#include "engine/config/config_load.h"
#include "engine/series/series.h"
#include "engine/series/series_run.h"
#include "engine/tools/forecast.h"
#include "line/front.h"
#include "io/driver/driver.h"
#include "io/driver/memory.h"
#include "stats/json.h"
#include "stats/text.h"

#define CELL 32 // stats_format
#define MIB  1048576.0

// Reject ports and events with effects on this box beyond the test.
static void confine_box(const struct config *c, struct diag *d)
{
	const struct port_settings *ports = c->ports.items;
	const struct event_settings *events = c->events.items;

	for (uint32_t i = 0; i < c->ports.count; i++) {
		const struct driver *driver = &drivers[ports[i].driver];

		if (driver->device == DEVICE_SOCKET || driver->device == DEVICE_BACKEND ||
			driver->device == DEVICE_DEVARGS)
			diag_error(d, &ports[i], "driver",
				"driver %s is not allowed here: its device can be any file "
				"(--allow-commands allows it)",
				driver->name);
		if (ports[i].force)
			diag_error(d, &ports[i], "force",
				"an interface that others use is not taken by force here "
				"(--allow-commands allows it)");
	}
	for (uint32_t i = 0; i < c->events.count; i++)
		if (events[i].link != EVENT_LINK_NONE)
			diag_error(d, &events[i], "link",
				"an interface is not set %s here (--allow-commands allows it)",
				event_links[events[i].link]);
}

const struct config *command_confine(const struct config *c, bool commands, struct diag *d)
{
	// Commands that run on another box are harmless here.
	conf_confine(config_section(), c, commands, commands || !fleet_asks_server(c), d);
	if (!commands)
		confine_box(c, d);
	return diag_count(d) ? NULL : c;
}

// The assignments of --set, then of --html.
static char **assignments_of(const struct options *o, unsigned *count)
{
	char **all = arena_zalloc(o->arena, (o->assignment_count + 1) * sizeof(*all));

	for (*count = 0; *count < o->assignment_count; ++*count)
		all[*count] = o->assignments[*count];
	if (o->html)
		all[(*count)++] =
			arena_printf(o->arena, "output.html=%s", front_quote(o->html, o->arena));
	return all;
}

const struct config *command_config(const struct options *o, struct diag **d)
{
	const char *text = o->front ? front_yaml(o->front) : NULL;
	unsigned count;
	char **assignments = assignments_of(o, &count);
	const struct config *c;

	*d = diag_new();
	if (text)
		front_own_errors(o->front, *d);
	c = text ? config_load_text_assigned(o->front->name, text, assignments, count, o->arena, *d)
	         : config_load(o->operand, assignments, count, o->arena, *d);
	if (c && o->confined)
		c = command_confine(c, o->commands, *d);
	diag_print(*d, stderr);
	return c;
}

int command_error_code(const struct diag *d)
{
	return diag_all_of_box(d) ? EXIT_ENVIRONMENT : EXIT_CONFIG;
}

// A search is also checked at its highest load, to detect exhausted resources.
bool command_check(const struct config *c, struct arena *a, struct diag *d)
{
	struct inputs *in = inputs_new(); // a search reads its files twice
	const struct config *longest = c;
	bool ok;

	diag_set_inputs(d, in);
	ok = run_check(c, a, d) == 0 && series_check(c, a, d) == 0;
	if (ok && c->search)
		longest = series_trial(c, true, a, d);
	ok = ok && longest && (longest == c || run_check(longest, a, d) == 0);
	diag_set_inputs(d, NULL);
	inputs_free(in);
	return ok;
}

int cmd_check(const struct options *o)
{
	struct diag *d;
	const struct config *c = command_config(o, &d);
	int code = command_error_code(d);

	if (c) {
		code = command_check(c, o->arena, d) ? EXIT_PASS : command_error_code(d);
		diag_print(d, stderr);
	}
	diag_free(d);
	if (code)
		return code;
	if (o->dump)
		conf_dump(config_section(), c, stdout);
	else
		printf("%s: ok\n", o->operand);
	return EXIT_PASS;
}

static void print_item(const struct forecast_item *i)
{
	char rate[CELL], cost[CELL];

	printf("\ntraffic %s: %s on port %s, %s%s exchanges\n", i->name, i->protocol, i->port,
		i->paced ? "" : "at most ", stats_format(i->per_s, "per_s", rate, sizeof(rate)));
	if (i->input)
		printf("  used         %s\n", i->input);
	printf("  messages     %.2f of %.0f octets each, on the wire\n", i->messages,
		i->message_octets);
	printf("  replies      %.2f of %.0f octets each%s\n", i->answers, i->answer_octets,
		i->assumed ? ", some taken to be as long as the request" : "");
	printf("  worker time  %s an exchange\n",
		stats_format(i->exchange_ns, "ns", cost, sizeof(cost)));
	if (i->handshake_ns > 0) {
		printf("  handshakes   %s after the first, each holds %s for %s\n",
			stats_format(i->handshakes_per_s, "per_s", rate, sizeof(rate)),
			i->crew ? "the crew" : "its worker",
			stats_format(i->handshake_ns, "ns", cost, sizeof(cost)));
		printf("  at rest      %llu connections of %llu bytes: %.1f MiB\n",
			(unsigned long long)i->connections, (unsigned long long)i->connection_bytes,
			(double)(i->connections * i->connection_bytes) / MIB);
	}
	printf("  in flight    room for %llu transactions", (unsigned long long)i->slots);
	if (i->source_ports)
		printf(": %llu of %llu source ports, source addresses: %llu",
			(unsigned long long)i->source_ports_needed,
			(unsigned long long)i->source_ports,
			(unsigned long long)i->source_addresses);
	printf("\n  tables       %.1f MiB\n", (double)i->memory / MIB);
}

static void print_direction(const char *name, double per_s, double bps, double share, bool known)
{
	char packets[CELL], used[CELL];

	printf("  %-12s %s packets, %.3f Gbit/s", name,
		stats_format(per_s, "per_s", packets, sizeof(packets)), bps / 1e9);
	if (known)
		printf(", %s of the link", stats_format(share, "1", used, sizeof(used)));
	printf("\n");
}

static void print_port(const struct forecast_port *p)
{
	if (p->out_per_s == 0)
		return;
	printf("\nport %s: %s, ", p->name, p->driver);
	if (p->link_bps)
		printf("link %g Gbit/s\n", (double)p->link_bps / 1e9);
	else
		printf("link speed not known (set ports.%s.link_speed)\n", p->name);
	print_direction("to server", p->out_per_s, p->out_bps, p->out_share, p->link_bps > 0);
	print_direction("from server", p->in_per_s, p->in_bps, p->in_share, p->link_bps > 0);
	printf("  CPUs         %.2f of %llu busy%s\n", p->cpus, (unsigned long long)p->workers,
		p->driver_known ? "" : ", plus the driver, whose time is not known");
	printf("  buffers      %.1f MiB\n", (double)p->memory / MIB);
}

static void print_plan(const struct forecast *f)
{
	const struct forecast_item *items = f->traffic.items;
	const struct forecast_port *ports = f->ports.items;
	const char *const *warnings = f->warnings.items;

	printf("plan of %s\n", f->name);
	for (uint32_t i = 0; i < f->traffic.count; i++)
		print_item(&items[i]);
	for (uint32_t i = 0; i < f->ports.count; i++)
		print_port(&ports[i]);
	printf("\nmemory: %.0f MiB of %.0f MiB\n", (double)f->memory / MIB,
		(double)f->memory_available / MIB);
	printf("Assumes that every request is answered, by the responder of the file or else the "
	       "built-in one.\nWorker times were measured on another machine "
	       "(docs/performance.md).\n\n");
	for (uint32_t i = 0; i < f->warnings.count; i++)
		printf("warning: %s\n", warnings[i]);
	if (f->warnings.count == 0)
		printf("no problems found\n");
}

static int make_plan(const struct options *o, const struct config *c, struct diag *d)
{
	struct forecast f;
	json_t *document;
	int rc;

	if (c->traffic.count == 0) {
		log_error("%s: no traffic to plan for (add an item under traffic:)", c->file);
		return EXIT_CONFIG;
	}
	if (o->json && document_check("--json", o->json) < 0)
		return EXIT_ENVIRONMENT;
	rc = forecast_make(c, o->arena, d, &f);
	diag_print(d, stderr);
	if (rc == -ENOMEM)
		log_error("%s: not enough memory for its input and clients (lower their number)",
			c->file);
	if (rc < 0)
		return rc == -EINVAL ? EXIT_CONFIG : EXIT_ENVIRONMENT;
	if (!o->json || strcmp(o->json, "-") != 0)
		print_plan(&f);
	if (!o->json)
		return EXIT_PASS;
	document = stats_json(&forecast_section, &f);
	rc = document_write_json("--json", document, o->json);
	json_decref(document);
	return rc < 0 ? EXIT_ENVIRONMENT : EXIT_PASS;
}

int cmd_plan(const struct options *o)
{
	struct diag *d;
	const struct config *c = command_config(o, &d);
	int code = c ? make_plan(o, c, d) : command_error_code(d);

	diag_free(d);
	return code;
}

const char *command_state_dir(const char *name, struct arena *a)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (state && *state)
		return arena_printf(a, "%s/%s", state, name);
	return arena_printf(a, "%s/.local/state/%s", home && *home ? home : "/root", name);
}
