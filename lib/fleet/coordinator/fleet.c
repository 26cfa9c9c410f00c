// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "fleet/coordinator/fleet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "document/document_reader.h"
#include "conf/schema.h"
#include "fleet/fleet_ask.h"
#include "fleet/coordinator/fleet_internal.h"

#define CLAIM_MS 30000 // with its input files
#define UP_MS    60000
#define OVER_MS  20000

// --- agents

// Returns NULL if the agent can take part, else the reason.
static const char *left_out(const json_t *facts, char why[256])
{
	const char *version = document_text(facts, "version");

	if (strcmp(version, DDIPERF_VERSION) != 0)
		snprintf(why, 256, "version %.40s, not %s", version, DDIPERF_VERSION);
	else if (*document_text(facts, "run"))
		snprintf(why, 256, "run %.63s of %.100s has it", document_text(facts, "run"),
			document_text(facts, "coordinator"));
	else
		return NULL;
	return why;
}

// Chooses the agents that can take part, in order of their names. f->found owns them.
static unsigned choose(const struct fleet *f, const json_t **out, unsigned room)
{
	json_t *said = json_object(), *names;
	char why[256], text[TALK_NAMES];
	const char *reason;
	unsigned count = 0;
	const json_t *one;
	size_t i;

	json_array_foreach(f->found, i, one)
	{
		if (!talk_has_labels(document_text(one, "labels"), f->wanted->labels))
			continue;
		reason = left_out(one, why);
		if (reason)
			talk_say(said, reason, document_text(one, "name"));
		else if (count < room)
			out[count++] = one;
	}
	json_object_foreach(said, reason, names)
	{
		bool one_only = json_array_size(names) == 1;

		log_warning("agent%s %s %s left out: %s", one_only ? "" : "s",
			talk_names(names, text, sizeof(text)), one_only ? "is" : "are", reason);
	}
	json_decref(said);
	return count;
}

// Finds as many agents as are wanted; by default the number in the file, or all.
static int find(struct fleet *f)
{
	const struct fleet_settings *s = f->config->fleet;
	const json_t *chosen[FLEET_PARTS];
	unsigned wanted = f->wanted->agents ? (unsigned)strtoul(f->wanted->agents, NULL, 10)
	                  : s               ? (unsigned)s->agents
	                                    : 0;
	unsigned there;

	f->found = fleet_ask_all(f->bus);
	there = choose(f, chosen, FLEET_PARTS);
	if (there == 0 || there < wanted) {
		log_error("%u agents%s%s are free, and %u are needed (ddiperf agent --nats URL "
			  "starts one)",
			there, f->wanted->labels ? " with the labels " : "",
			f->wanted->labels ? f->wanted->labels : "", wanted ? wanted : 1);
		return EXIT_ENVIRONMENT;
	}
	f->count = wanted ? wanted : there;
	f->parts = calloc(f->count, sizeof(*f->parts));
	for (unsigned i = 0; f->parts && i < f->count; i++) {
		f->parts[i] = (struct fleet_part){
			.fleet = f, .number = i + 1, .facts = json_deep_copy(chosen[i])};
		strcpy(f->parts[i].name, document_text(chosen[i], "name"));
	}
	return f->parts ? 0 : EXIT_ENVIRONMENT;
}

// --- claims

struct inputs_wanted {
	struct fleet *fleet;
	json_t *list;
	int rc; // 0, or an exit code
};

// An input file has the same name in the folder of a run as in the configuration's folder.
static void put_input(void *ctx, const char *name)
{
	struct inputs_wanted *w = ctx;
	const char *file = w->fleet->config->file, *slash = strrchr(file, '/');
	char path[4096], hash[65];

	if (w->rc)
		return;
	if (*name == '/' || *name == '-' || strstr(name, "..")) {
		log_error("%s: a fleet takes only files in the folder of the configuration: a "
			  "relative path without ..",
			name);
		w->rc = EXIT_CONFIG;
		return;
	}
	snprintf(path, sizeof(path), "%.*s%s", slash ? (int)(slash + 1 - file) : 0, file, name);
	if (bus_put_file(w->fleet->bus, path, hash) < 0)
		w->rc = EXIT_ENVIRONMENT;
	else
		json_array_append_new(w->list, json_pack("{s:s, s:s}", "name", name, "hash", hash));
}

static json_t *text_of_file(const char *path)
{
	char part[65536], *text = NULL;
	FILE *in = fopen(path, "re"), *f;
	size_t size = 0, len;
	json_t *out;

	if (!in)
		return NULL;
	f = open_memstream(&text, &size);
	while (f && (len = fread(part, 1, sizeof(part), in)) > 0)
		fwrite(part, 1, len, f);
	fclose(in);
	if (f)
		fclose(f);
	out = json_stringn(text, size);
	free(text);
	return out;
}

// The coordinator writes all files of a run besides its result.
static void take_outputs(json_t *list)
{
	const struct field_section *all = config_section(), *output = NULL;
	char text[128];

	for (uint32_t i = 0; i < all->count; i++)
		if (strcmp(all->fields[i].name, "output") == 0)
			output = all->fields[i].section;
	for (uint32_t i = 0; i < output->count; i++) {
		const struct field *f = &output->fields[i];

		if (f->type != FIELD_STRING || f->list)
			continue;
		snprintf(text, sizeof(text), "output.%s=null", f->name);
		json_array_append_new(list, json_string(text));
	}
}

// Rules that end a run hold for the whole: the coordinator judges the sums.
static void take_stops(const struct fleet *f, json_t *list)
{
	const struct item_settings *items = f->config->traffic.items;

	json_array_append_new(list, json_string("stop=[]"));
	for (uint32_t i = 0; i < f->config->traffic.count; i++)
		if (items[i].load.max_outstanding)
			json_array_append_new(list,
				json_sprintf("traffic.%s.load.max_outstanding=0", items[i].name));
}

static json_t *part_sets(const struct fleet *f, const struct fleet_part *p)
{
	json_t *list = json_array();
	char text[128];

	take_outputs(list);
	take_stops(f, list);
	snprintf(text, sizeof(text), "fleet.agents=%u", f->count);
	json_array_append_new(list, json_string(text));
	snprintf(text, sizeof(text), "fleet.part=%llu", (unsigned long long)p->number);
	json_array_append_new(list, json_string(text));
	snprintf(text, sizeof(text), "run.id=%s", f->id);
	json_array_append_new(list, json_string(text));
	return list;
}

static int claim(struct fleet *f, struct fleet_part *p, const json_t *config, const json_t *files)
{
	char subject[TALK_SUBJECT], host[64] = "", me[128], *text, *reply;
	size_t len = 0;
	json_t *said;
	int rc = 0;

	gethostname(host, sizeof(host) - 1);
	snprintf(me, sizeof(me), "process %d on %s", (int)getpid(), host);
	bus_subscribe(f->bus, talk_run(subject, f->id, p->name), fleet_part_hear, p);
	bus_inbox(f->bus, p->inbox, sizeof(p->inbox));
	bus_subscribe(f->bus, p->inbox, fleet_part_hear_clock, p);
	bus_inbox(f->bus, p->order_inbox, sizeof(p->order_inbox));
	bus_subscribe(f->bus, p->order_inbox, fleet_part_taken, p);
	text = talk_text(json_pack("{s:s, s:s, s:O, s:o, s:O, s:o}", "run", f->id, "coordinator",
		me, "config", config, "set",
		talk_texts(f->wanted->assignments, f->wanted->assignment_count), "files", files,
		"part", part_sets(f, p)));
	talk_agent(subject, p->name, "claim");
	if (strlen(text) > bus_room(f->bus))
		fleet_part_trouble(p, EXIT_CONFIG,
			"the configuration is too large for a message of NATS (max_payload)");
	reply = *p->trouble ? NULL
	                    : bus_request(f->bus, subject, text, strlen(text), CLAIM_MS, &len, NULL,
				      &rc);
	said = reply ? talk_read(reply, len) : NULL;
	p->claimed = json_is_true(json_object_get(said, "taken"));
	p->heard_ms = clock_steady_ms();
	if (!p->claimed && *document_text(said, "refused"))
		fleet_part_trouble(p, EXIT_ENVIRONMENT, "%s", document_text(said, "refused"));
	else if (!p->claimed)
		fleet_part_trouble(p, EXIT_ENVIRONMENT, "it does not answer: %s", strerror(-rc));
	free(text);
	free(reply);
	json_decref(said);
	return p->claimed ? 0 : p->trouble_code;
}

// --- while runs are made

static bool is_up(const struct fleet_part *p)
{
	return p->up;
}

static int open_parts(void *ctx, const struct run_options *o, struct arena *a)
{
	struct fleet *f = ctx;
	const char *file = f->config->file, *slash = strrchr(file, '/');
	struct inputs_wanted inputs = {f, json_array(), 0};
	json_t *text = text_of_file(file), *config;
	struct fleet_part *troubled;
	int rc;

	f->run = o;
	f->arena = a;
	snprintf(f->id, sizeof(f->id), "%s", o->id);
	if (text)
		conf_inputs(config_section(), f->config, put_input, &inputs);
	else
		log_error("%s: %s (a fleet needs a file)", file, strerror(errno));
	rc = text ? inputs.rc : EXIT_CONFIG;
	config = json_pack("{s:s, s:o*}", "name", slash ? slash + 1 : file, "text", text);
	for (unsigned i = 0; rc == 0 && i < f->count; i++) {
		rc = claim(f, &f->parts[i], config, inputs.list);
		fleet_tick(f, 0); // the others wait, too
	}
	json_decref(config);
	json_decref(inputs.list);
	if (rc)
		return rc;
	fleet_wait(f, is_up, UP_MS, "its ports are not up");
	troubled = fleet_troubled(f);
	if (troubled)
		return troubled->trouble_code;
	return *f->run->signals ? EXIT_INTERRUPTED : 0;
}

static void release(struct fleet *f, struct fleet_part *p)
{
	char subject[TALK_SUBJECT], *text;

	if (!p->claimed)
		return;
	text = talk_text(json_pack("{s:s}", "run", f->id));
	bus_publish(f->bus, talk_agent(subject, p->name, "release"), text, strlen(text));
	free(text);
}

// When all parts are over, their boxes are as they were before.
static int close_parts(void *ctx)
{
	struct fleet *f = ctx;
	uint64_t until = clock_steady_ms() + OVER_MS;
	int rc = 0;

	for (unsigned i = 0; i < f->count; i++)
		release(f, &f->parts[i]);
	for (unsigned i = 0; i < f->count; i++) {
		struct fleet_part *p = &f->parts[i];

		while (p->claimed && !p->over && !*p->trouble && clock_steady_ms() < until)
			fleet_tick(f, 10);
		if (p->claimed && !p->over && !*p->trouble) {
			log_error("agent %s: its run does not end", p->name);
			rc = EXIT_ENVIRONMENT;
		}
	}
	return rc;
}

// --- open and close

static bool is_count(const char *text)
{
	return *text >= '1' && *text <= '9' && strlen(text) <= 4 &&
	       text[strspn(text, "0123456789")] == '\0' && strtoul(text, NULL, 10) <= FLEET_PARTS;
}

static int check(const struct fleet_wanted *w, const struct config *c)
{
	if (w->agents && !is_count(w->agents)) {
		log_error("--agents %s: not a number (1 to %d)", w->agents, FLEET_PARTS);
		return EXIT_CONFIG;
	}
	if (c->run.id && !talk_is_name(c->run.id)) {
		log_error("run.id %s: a run of a fleet has letters, digits, - and _ in its id",
			c->run.id);
		return EXIT_CONFIG;
	}
	return 0;
}

int fleet_open(const struct fleet_wanted *w, const struct config *c, struct fleet **out)
{
	struct fleet *f;
	int rc = check(w, c);

	*out = NULL;
	if (rc)
		return rc;
	f = calloc(1, sizeof(*f));
	if (!f)
		return EXIT_ENVIRONMENT;
	*f = (struct fleet){.wanted = w, .config = c, .documents = json_object()};
	*out = f;
	rc = fleet_ask_open(&w->bus, &f->bus);
	return rc ? rc : find(f);
}

struct run_elsewhere fleet_elsewhere(struct fleet *f)
{
	return (struct run_elsewhere){
		.open = open_parts, .once = fleet_once, .close = close_parts, .ctx = f};
}

void fleet_complete(const struct fleet *f, uint64_t number, json_t *document)
{
	char key[24];

	snprintf(key, sizeof(key), "%llu", (unsigned long long)number);
	json_object_update(document, json_object_get(f->documents, key));
}

void fleet_close(struct fleet *f)
{
	if (!f)
		return;
	for (unsigned i = 0; i < f->count; i++) {
		fleet_part_forget(&f->parts[i]);
		json_decref(f->parts[i].facts);
		free(f->parts[i].line);
	}
	free(f->parts);
	free(f->stopped);
	json_decref(f->found);
	json_decref(f->documents);
	bus_close(f->bus);
	free(f);
}
