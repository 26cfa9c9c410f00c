// SPDX-License-Identifier: BSD-3-Clause
// Checks the files and commands that a configuration from an untrusted source names against a list
// of permissions, by the roles of rows. Looks at the names only. Path: cold. Management thread.
#include <string.h>

#include "base/addr.h"
#include "conf/schema.h"

struct confine {
	struct diag *d; // NULL: only the inputs are wanted
	bool commands, server_commands;
	conf_input *input;
	void *ctx;
};

static void confine_section(
	const struct confine *c, const struct field_section *section, const char *obj);

// Relative and downwards. A comma would begin another argument of a driver, "-" is standard input.
static bool is_inside(const char *path)
{
	for (const char *part = path; part; part = strchr(part, '/')) {
		part += *part == '/';
		if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
			return false;
	}
	return path[0] != '/' && strcmp(path, "-") != 0 && strncmp(path, "unix:", 5) != 0 &&
	       !strchr(path, ',');
}

// Wrong places are refused elsewhere, with their reason.
static bool is_of_this_host(const char *place)
{
	static const uint8_t one[16] = {[15] = 1};
	const char *what;
	struct addr a;
	uint16_t port;

	if (addr_parse_listen(place, &a, &port, &what) < 0)
		return true;
	return a.len == 4 ? a.bytes[0] == 127 : memcmp(a.bytes, one, sizeof(one)) == 0;
}

static void confine_text(const struct confine *c, const struct field *f, const char *const *text)
{
	if (!*text || f->role == FIELD_PLAIN)
		return;
	if (!c->d) {
		if (f->role == FIELD_INPUT)
			c->input(c->ctx, *text);
		return;
	}
	if ((f->role == FIELD_COMMAND && !c->commands) ||
		(f->role == FIELD_SERVER_COMMAND && !c->server_commands))
		diag_error(c->d, text, NULL,
			"commands are not allowed here, as they would run with the rights of this "
			"program (leave it out, or start the server or agent with "
			"--allow-commands)");
	else if (f->role == FIELD_PLACE && !c->commands && !is_of_this_host(*text))
		diag_error(c->d, text, NULL,
			"other hosts would reach it, which is not allowed here (PORT or "
			"127.0.0.1:PORT, or --allow-commands allows it)");
	else if ((f->role == FIELD_INPUT || f->role == FIELD_OUTPUT) && !is_inside(*text))
		diag_error(c->d, text, NULL,
			"only files %s are allowed here: a relative path without .. and comma",
			f->role == FIELD_INPUT ? "in the folder of the configuration"
					       : "in the working directory");
}

static void confine_list(
	const struct confine *c, const struct field *f, const struct field_list *list)
{
	const char *items = list->items;

	for (uint32_t i = 0; i < list->count && f->type == FIELD_SECTION; i++)
		confine_section(c, f->section, items + i * f->section->size);
	for (uint32_t i = 0; i < list->count && f->type == FIELD_STRING; i++)
		confine_text(c, f, (const char *const *)(const void *)items + i);
}

static void confine_choices(const struct confine *c, const struct field *f, void *const *slots)
{
	for (uint32_t i = 0; slots && i < f->choices->count(); i++)
		if (slots[i] && f->choices->section(i))
			confine_section(c, f->choices->section(i), slots[i]);
}

static void confine_section(
	const struct confine *c, const struct field_section *section, const char *obj)
{
	for (uint32_t i = 0; i < section->count; i++) {
		const struct field *f = &section->fields[i];
		const void *src = obj + f->offset;

		if (f->list)
			confine_list(c, f, src);
		else if (f->type == FIELD_CHOICES)
			confine_choices(c, f, *(void *const *const *)src);
		else if (f->type == FIELD_STRING)
			confine_text(c, f, src);
		else if (f->type == FIELD_SECTION && !f->optional)
			confine_section(c, f->section, src);
		else if (f->type == FIELD_SECTION && *(void *const *)src)
			confine_section(c, f->section, *(void *const *)src);
	}
}

void conf_confine(const struct field_section *section, const void *obj, bool commands,
	bool server_commands, struct diag *d)
{
	const struct confine c = {.d = d, .commands = commands, .server_commands = server_commands};

	confine_section(&c, section, obj);
}

void conf_inputs(const struct field_section *section, const void *obj, conf_input *input, void *ctx)
{
	const struct confine c = {.input = input, .ctx = ctx};

	confine_section(&c, section, obj);
}
