// SPDX-License-Identifier: BSD-3-Clause
// From a YAML file to structs by rows (base/field.h), and back: load, override, apply, dump,
// document. Knows types, never a setting. Every error is collected in the diag with file:line:col
// and path. Path: cold. Management thread.
#pragma once

#include <stdio.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/field.h"

struct node;
struct conf_tree; // a parsed file; each node knows its file, line and column

// Parse the file ("-": standard input). NULL after an error (in d): not readable, not YAML, not a
// mapping, a second document, nested too deep. Anchors, aliases, tags and a key twice are errors in
// d too, but give a tree: conf_apply reports the other errors in it, and fails.
struct conf_tree *conf_parse_file(const char *path, struct arena *a, struct diag *d);
// Like conf_parse_file, from memory; name stands for the file in errors. For tests and fuzzing.
struct conf_tree *conf_parse_text(
	const char *name, const char *text, size_t len, struct arena *a, struct diag *d);

// Does the file have this key at its top?
bool conf_has(const struct conf_tree *t, const char *key);

// Returns a copy that conf_set may change.
struct conf_tree *conf_copy(const struct conf_tree *t, struct arena *a);

// --set PATH=VALUE: traffic.queries.load.rate=50k, ports[0].cpus=[1,2], criteria=["loss <= 1%"].
// VALUE is YAML. List items are addressed by their `name` or by [index]. Missing mappings on the
// way are made; a missing list item is an error. null removes a setting. 0 or -EINVAL (in d, as
// "--set PATH=VALUE: ...").
int conf_set(struct conf_tree *t, const char *assignment, struct arena *a, struct diag *d);

// Fill *out (zeroed by the caller, section->size bytes) by the rows: defaults first, then the file.
// Unknown keys (nearest known one suggested), wrong types, units, ranges, missing required keys are
// errors in d. Marks everything in d. Returns 0, or -EINVAL when it added errors or the tree had
// any; *out is then still safe to look at.
int conf_apply(const struct conf_tree *t, const struct field_section *section, void *out,
	struct arena *a, struct diag *d);

// A part of a file that cannot be read. An unknown key counts as the known key nearest to it.
struct conf_flaw {
	struct conf_flaw *next;
	const char *path;    // "traffic.queries.load.rate"; the section if a key resembles none
	const char *section; // around it: "traffic.queries.load"; at the top of the file, the path
	const struct node *node;
};

// After conf_apply failed: removes from t the parts that cannot be read, and sections without a key
// that is required. Then conf_apply succeeds, for a check of the rest. Returns false if nothing is
// left. *flaws: the parts that were removed.
bool conf_mend(struct conf_tree *t, const struct field_section *section, struct arena *a,
	struct conf_flaw **flaws);

// One setting by its path, as conf_set has it: its row, and where obj has the value (NULL: in an
// optional section that is not there). Returns NULL for an unknown path; *what is then the reason,
// with the nearest key.
const struct field *conf_find(const struct field_section *section, const void *obj,
	const char *path, const void **place, struct arena *a, const char **what);

// The effective configuration as YAML that conf_parse_file reads back to the same structs.
void conf_dump(const struct field_section *section, const void *obj, FILE *out);

// Like conf_dump, for a program: one call per value, in order of the rows, depth-first. A section
// and a list of sections give begin and end. key is NULL for items of a list. Scalars come as text
// in the file's notation, counts and rates without k, M or G. is_text: text, to be quoted in JSON;
// else a number or bool. A setting without a value and without a default may be left out.
struct conf_visitor {
	void (*begin)(void *ctx, const char *key, bool is_list);
	void (*end)(void *ctx);
	void (*value)(void *ctx, const char *key, const char *text, bool is_text);
	void *ctx;
};
void conf_visit(const struct field_section *section, const void *obj, const struct conf_visitor *v);

// Checks a configuration from an untrusted source: adds an error to d for each file that is not in
// or below the folder of the configuration (input) or the working directory (output), and for each
// command that is not allowed. commands and server_commands allow commands in general and commands
// about the server.
void conf_confine(const struct field_section *section, const void *obj, bool commands,
	bool server_commands, struct diag *d);

// Each file that is read, as the configuration names it.
typedef void conf_input(void *ctx, const char *name);
void conf_inputs(
	const struct field_section *section, const void *obj, conf_input *input, void *ctx);

// Reference: every setting that is wanted (NULL: all of them) with path, type, range, default and
// help, as text lines.
typedef bool conf_wanted(void *ctx, const char *path, const char *help);
void conf_document(const struct field_section *section, conf_wanted *wanted, void *ctx, FILE *out);

// For a shell: every text that the beginning of an assignment (as conf_set has it) can become, up
// to its next key, "=" or value, in order of the rows. Items of lists come from t; without t only
// the first is offered.
typedef void conf_offer(void *ctx, const char *text, const char *help);
void conf_complete(const struct field_section *section, const struct conf_tree *t,
	const char *assignment, conf_offer *offer, void *ctx);

// The settings as a JSON Schema, for editors.
void conf_json_schema(const struct field_section *section, const char *title, FILE *out);

// Reports names that occur twice in a list. The name is the first member of each struct (NULL:
// unnamed), size the size of the struct in bytes, and what the word for it in the message.
void conf_check_names(const struct field_list *l, size_t size, const char *what, struct diag *d);
