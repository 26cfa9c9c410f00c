// SPDX-License-Identifier: BSD-3-Clause
// A flaw spoils its own section, those around it, and those whose rules look at it (a table).
// Path: cold. Management thread.
#include "engine/config/config_rest.h"

#include <stddef.h>
#include <string.h>

#include "proto/table.h"

enum relation { APART, ABOVE, EQUAL, BELOW };

// "*": any name or index. "%": a protocol. "**" at the end: everything below, too.
static const struct rule {
	const char *of, *needs;
} rules[] = {
	{"run.repeat", "traffic.*"},
	{"run.repeat", "dut.probe"},
	{"ports", "ports.**"},
	{"ports", "responder.port"},
	{"ports", "traffic.*.port"},
	{"ports", "traffic.*.server"},
	{"ports", "fleet.**"},
	{"traffic", "ports.**"},
	{"traffic", "responder.port"},
	{"traffic", "fleet.**"},
	{"traffic.*.name", "traffic.*.name"},
	{"traffic.*.load", "run.duration"},
	{"traffic.*.load", "traffic.*.%.**"},
	{"traffic.*.source", "traffic.**"},
	{"traffic.*.after", "traffic.**"},
	{"responder", "ports.**"},
	{"responder", "traffic.**"},
	{"criteria", "traffic.*.name"},
	{"criteria", "traffic.*.%"},
	{"criteria", "traffic.*.%.transport"},
	{"criteria", "responder.%"},
	{"criteria", "dut.**"},
	{"criteria", "run.repeat"},
	{"criteria", "search.method"},
	{"stop", "traffic.*.name"},
	{"stop", "traffic.*.%"},
	{"stop", "traffic.*.%.transport"},
	{"stop", "run.**"},
	{"events", "traffic.**"},
	{"events", "responder.**"},
	{"events", "ports.**"},
	{"events", "run.**"},
	{"search", "traffic.*"},
	{"search.variable", "traffic.**"},
	{"output.keylog", "traffic.*.%.transport"},
	{"fleet", "ports.**"},
};

static bool is_protocol(const char *name, size_t len)
{
	for (unsigned k = 0; protos[k]; k++)
		if (strlen(protos[k]->name) == len && strncmp(protos[k]->name, name, len) == 0)
			return true;
	return false;
}

static bool part_fits(const char *part, size_t len, const char *pattern, size_t size)
{
	if (pattern[0] == '*')
		return true;
	if (pattern[0] == '%')
		return is_protocol(part, len);
	return len == size && strncmp(part, pattern, len) == 0;
}

// ABOVE: the pattern describes a part of the section at the path.
static enum relation relate(const char *path, const char *pattern)
{
	while (*path && *pattern) {
		size_t len = strcspn(path, ".["), size = strcspn(pattern, ".[");

		if (!part_fits(path, len, pattern, size))
			return APART;
		path += len + (path[len] != '\0');
		pattern += size + (pattern[size] != '\0');
	}
	if (*path)
		return BELOW;
	return *pattern ? ABOVE : EQUAL;
}

static bool is_needed(const char *path, const char *flaw)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		enum relation of = relate(path, rules[i].of);
		enum relation needs = relate(flaw, rules[i].needs);

		if ((of == EQUAL || of == BELOW) && needs != APART &&
			(needs != BELOW || strstr(rules[i].needs, "**")))
			return true;
	}
	return false;
}

bool config_rest_stands(const void *ctx, const char *path)
{
	for (const struct conf_flaw *f = ctx; f; f = f->next) {
		// A key at the top that resembles none takes nothing away.
		if (f->path[0] && (relate(path, f->section) != APART || is_needed(path, f->path)))
			return false;
	}
	return true;
}
