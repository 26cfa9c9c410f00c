// SPDX-License-Identifier: BSD-3-Clause
// Expands a campaign file into cells, and checks all runs of every cell. Path: cold. Main thread.
#include "campaign/campaign.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/schema.h"
#include "engine/config/config_load.h"
#include "format/format_select.h"
#include "run/commands.h"

#define BASE "base" // as the setting to vary

static const char *text_at(const struct field_list *l, uint32_t i)
{
	return ((const char *const *)l->items)[i];
}

static bool has_text(const struct field_list *l, const char *text)
{
	for (uint32_t i = 0; i < l->count; i++)
		if (strcmp(text_at(l, i), text) == 0)
			return true;
	return false;
}

static const struct campaign_point *find_point(const struct campaign *c, const char *name)
{
	for (uint32_t i = 0; i < c->settings.points.count; i++)
		if (c->points[i].name && strcmp(c->points[i].name, name) == 0)
			return &c->points[i];
	return NULL;
}

// Index of the varied setting in "NAME=VALUE"; -1: none.
static int find_vary(const struct campaign *c, const char *text)
{
	size_t len = strcspn(text, "=");

	for (uint32_t i = 0; text[len] && i < c->settings.vary.count; i++) {
		const struct campaign_vary *v = &c->vary[i];

		if (v->name && strlen(v->name) == len && strncmp(v->name, text, len) == 0 &&
			has_text(&v->values, text + len + 1))
			return (int)i;
	}
	return -1;
}

static void check_assignments(const struct field_list *l, struct diag *d)
{
	for (uint32_t i = 0; i < l->count; i++)
		if (!strchr(text_at(l, i), '='))
			diag_error(d, (const char *const *)l->items + i, NULL,
				"\"%s\" is not of the form PATH=VALUE", text_at(l, i));
}

static void check_vary(const struct campaign *c, struct diag *d)
{
	for (uint32_t i = 0; i < c->settings.vary.count; i++) {
		const struct campaign_vary *v = &c->vary[i];

		if (v->values.count == 0)
			diag_error(d, &v->values, NULL, "is empty (at least one value)");
		if (c->settings.combine == COMBINE_ZIP &&
			v->values.count != c->vary[0].values.count)
			diag_error(d, &v->values, NULL,
				"has %u values, and %s has %u (with combine: zip as many)",
				v->values.count, c->vary[0].name, c->vary[0].values.count);
	}
}

static void check_points(const struct campaign *c, struct diag *d)
{
	if (c->settings.points.count == 0)
		diag_error(d, &c->settings.points, NULL, "is empty (at least one point)");
	for (uint32_t i = 0; i < c->settings.points.count; i++) {
		const struct campaign_point *p = &c->points[i];

		check_assignments(&p->set, d);
		for (uint32_t k = 0; k < p->only.count; k++)
			if (find_vary(c, text_at(&p->only, k)) < 0)
				diag_error(d, (const char *const *)p->only.items + k, NULL,
					"\"%s\" does not name a value of a varied setting "
					"(NAME=VALUE)",
					text_at(&p->only, k));
	}
}

static void check_operations(const struct campaign *c, struct diag *d)
{
	const struct campaign_operation *ops = c->settings.operations.items;

	for (uint32_t i = 0; i < c->settings.operations.count; i++) {
		check_assignments(&ops[i].set, d);
		for (uint32_t k = 0; k < ops[i].points.count; k++) {
			const char *name = text_at(&ops[i].points, k);

			if (!find_point(c, name))
				diag_error(d, (const char *const *)ops[i].points.items + k, NULL,
					"no point is called \"%s\"", name);
		}
		for (uint32_t k = 0; k < i && ops[i].name; k++) {
			bool shared = !ops[i].points.count || !ops[k].points.count;

			for (uint32_t n = 0; n < ops[k].points.count; n++)
				shared |= has_text(&ops[i].points, text_at(&ops[k].points, n));
			if (shared && ops[k].name && strcmp(ops[i].name, ops[k].name) == 0)
				diag_error(d, &ops[i].name, NULL,
					"is the name of an earlier operation of the same point "
					"too (names must differ)");
		}
	}
}

static void campaign_check(const struct campaign *c, struct diag *d)
{
	const struct campaign_settings *s = &c->settings;

	check_assignments(&s->set, d);
	conf_check_names(&s->vary, sizeof(struct campaign_vary), "varied setting", d);
	conf_check_names(&s->points, sizeof(struct campaign_point), "point", d);
	conf_check_names(&s->columns, sizeof(struct campaign_column), "column", d);
	check_vary(c, d);
	check_points(c, d);
	check_operations(c, d);
	if (2 * s->trim >= s->repeats)
		diag_error(d, &s->trim, NULL,
			"2 x %llu of %llu repeats are all of them (less than half of the repeats)",
			(unsigned long long)s->trim, (unsigned long long)s->repeats);
}

static bool is_allowed(const struct campaign *c, const struct campaign_cell *cell)
{
	bool named[64] = {false}, meant[64] = {false};
	const struct field_list *only = &cell->point->only;

	for (uint32_t i = 0; i < only->count; i++) {
		int at = find_vary(c, text_at(only, i));

		if (at < 0)
			continue;
		named[at & 63] = true;
		meant[at & 63] |= strcmp(strchr(text_at(only, i), '=') + 1, cell->values[at]) == 0;
	}
	for (uint32_t i = 0; i < 64; i++)
		if (named[i] && !meant[i])
			return false;
	return true;
}

// Set value i of a varied setting, and the base file if that varies.
static void set_value(struct campaign_cell *cell, const struct campaign *c, uint32_t vary,
	uint32_t value, struct arena *a, struct diag *d)
{
	const struct campaign_vary *v = &c->vary[vary];
	const char *const *text = (const char *const *)v->values.items + value;

	cell->values[vary] = *text;
	if (v->setting && strcmp(v->setting, BASE) == 0)
		cell->base = diag_path(d, text, a);
}

static int add_cell(struct campaign *c, const struct campaign_point *p, uint64_t number,
	struct arena *a, struct diag *d)
{
	const struct campaign_settings *s = &c->settings;
	struct campaign_cell *cell = &c->cells[c->cell_count];

	*cell = (struct campaign_cell){
		.point = p, .values = arena_zalloc(a, (s->vary.count + 1) * sizeof(char *))};
	if (p->base)
		cell->base = diag_path(d, &p->base, a);
	else if (s->base)
		cell->base = diag_path(d, &s->base, a);
	for (uint32_t i = s->vary.count; i-- > 0;) { // the last one varies fastest
		uint32_t of = c->vary[i].values.count;

		set_value(cell, c, i, (uint32_t)(number % of), a, d);
		if (s->combine == COMBINE_PRODUCT)
			number /= of;
	}
	if (!is_allowed(c, cell))
		return 0;
	if (!cell->base) {
		diag_error(d, p, "", "no file to run (set base here or for the campaign)");
		return -EINVAL;
	}
	c->cell_count++;
	return 0;
}

static void name_operations(struct campaign *c, struct arena *a)
{
	const struct campaign_operation *ops = c->settings.operations.items;

	c->operations = arena_zalloc(a, (c->settings.operations.count + 1) * sizeof(char *));
	for (uint32_t i = 0; i < c->settings.operations.count; i++) {
		bool known = false;

		for (uint32_t k = 0; k < c->operation_count; k++)
			known |= strcmp(c->operations[k], ops[i].name) == 0;
		if (!known)
			c->operations[c->operation_count++] = ops[i].name;
	}
}

// A campaign has at least one operation and, by default, a column for the rate.
static void fill_defaults(struct campaign_settings *s)
{
	static struct campaign_operation run = {.name = "run"};
	static struct campaign_column rate = {"per_s", CAMPAIGN_PER_S, NULL};

	if (s->operations.count == 0)
		s->operations = (struct field_list){&run, 1};
	if (s->columns.count == 0)
		s->columns = (struct field_list){&rate, 1};
}

int campaign_expand(struct campaign *c, struct arena *a, struct diag *d)
{
	struct campaign_settings *s = &c->settings;
	uint64_t combinations = 1;

	c->points = s->points.items;
	c->vary = s->vary.items;
	if (s->vary.count > 64) {
		diag_error(d, &s->vary, NULL, "more than 64 settings");
		return -EINVAL;
	}
	campaign_check(c, d);
	if (diag_count(d))
		return -EINVAL;
	fill_defaults(s);
	c->columns = s->columns.items;
	for (uint32_t i = 0; i < s->vary.count; i++)
		if (s->combine == COMBINE_PRODUCT || i == 0)
			combinations *= c->vary[i].values.count;
	if (combinations * s->points.count > CAMPAIGN_CELLS_MAX) {
		diag_error(d, &s->points, NULL, "%llu points with their values (up to %u)",
			(unsigned long long)combinations * s->points.count, CAMPAIGN_CELLS_MAX);
		return -EINVAL;
	}
	c->cells = arena_zalloc(a, combinations * s->points.count * sizeof(*c->cells));
	for (uint32_t i = 0; i < s->points.count; i++)
		for (uint64_t n = 0; n < combinations; n++)
			if (add_cell(c, &c->points[i], n, a, d) < 0)
				return -EINVAL;
	name_operations(c, a);
	if (c->cell_count == 0)
		diag_error(d, &s->points, NULL, "no point is left by their only:");
	return c->cell_count ? 0 : -EINVAL;
}

const struct campaign_operation *campaign_operation_of(
	const struct campaign *c, const struct campaign_cell *cell, uint32_t i)
{
	const struct campaign_operation *ops = c->settings.operations.items;

	for (uint32_t k = 0; k < c->settings.operations.count; k++)
		if (strcmp(ops[k].name, c->operations[i]) == 0 &&
			(ops[k].points.count == 0 || has_text(&ops[k].points, cell->point->name)))
			return &ops[k];
	return NULL;
}

static void add_texts(char **texts, unsigned *count, const struct field_list *l)
{
	for (uint32_t i = 0; i < l->count; i++)
		texts[(*count)++] = (char *)text_at(l, i);
}

char **campaign_assignments(const struct campaign *c, const struct campaign_cell *cell,
	const struct campaign_operation *op, struct arena *a, unsigned *count)
{
	const struct campaign_settings *s = &c->settings;
	uint32_t room = s->set.count + s->vary.count + cell->point->set.count + op->set.count;
	char **texts = arena_zalloc(a, (room + 1) * sizeof(*texts));

	*count = 0;
	add_texts(texts, count, &s->set);
	for (uint32_t i = 0; i < s->vary.count; i++)
		if (c->vary[i].setting && strcmp(c->vary[i].setting, BASE) != 0)
			texts[(*count)++] =
				arena_printf(a, "%s=%s", c->vary[i].setting, cell->values[i]);
	add_texts(texts, count, &cell->point->set);
	add_texts(texts, count, &op->set);
	return texts;
}

const char *campaign_cell_name(
	const struct campaign *c, const struct campaign_cell *cell, struct arena *a)
{
	const char *name = cell->point->name;

	for (uint32_t i = 0; i < c->settings.vary.count; i++)
		name = arena_printf(a, "%s, %s %s", name, c->vary[i].name, cell->values[i]);
	return name;
}

// --- the runs

// Does every run have the figures of the table?
static bool check_columns(
	const struct campaign *c, const struct config *config, struct arena *a, struct diag *d)
{
	for (uint32_t i = 0; i < c->settings.columns.count; i++) {
		const char *const names[] = {c->columns[i].figure, c->columns[i].per}, *nearest;

		for (size_t k = 0; k < 2; k++) {
			if (!names[k] || strcmp(names[k], CAMPAIGN_SECONDS) == 0 ||
				strcmp(names[k], CAMPAIGN_PER_S) == 0 ||
				select_may_have(config, names[k], a, &nearest))
				continue;
			diag_error(d, k ? &c->columns[i].per : &c->columns[i].figure, NULL,
				"no figure of a result is called \"%s\"%s%s%s", names[k],
				nearest ? " (did you mean " : "", nearest ? nearest : "",
				nearest ? "?)" : "");
			return false;
		}
	}
	return true;
}

static bool dump_run(const struct campaign *c, const struct campaign_cell *cell,
	const struct campaign_operation *op, struct arena *a, FILE *f, struct diag *of_campaign)
{
	struct diag *d = diag_new();
	unsigned count;
	char **texts = campaign_assignments(c, cell, op, a, &count);
	const struct config *config = config_load(cell->base, texts, count, a, d);

	bool ok;

	if (config && c->confined)
		config = command_confine(config, c->commands, d);
	ok = config && check_columns(c, config, a, of_campaign);

	if (config)
		conf_dump(config_section(), config, f);
	else
		diag_print(d, stderr);
	diag_free(d);
	return ok;
}

// Dump every run as a configuration: reports errors before the first run, and adds the dump to the
// hash of everything that values depend on.
static int dump_runs(const struct campaign *c, FILE *f, struct diag *d)
{
	for (uint32_t i = 0; i < c->cell_count; i++)
		for (uint32_t k = 0; k < c->operation_count; k++) {
			const struct campaign_cell *cell = &c->cells[i];
			const struct campaign_operation *op = campaign_operation_of(c, cell, k);
			struct arena *a = arena_new();
			bool ok = !op || dump_run(c, cell, op, a, f, d);

			if (!ok && !diag_count(d))
				diag_error(d, op, "", "operation %s cannot run at point %s",
					op->name, campaign_cell_name(c, cell, a));
			arena_free(a);
			if (!ok)
				return -EINVAL;
		}
	return 0;
}

// More repeats, another trim or another table do not affect the values.
static int hash(struct campaign *c, struct arena *a, struct diag *d)
{
	struct campaign_settings s = c->settings;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int rc;

	if (!f)
		arena_exhausted();
	s.name = "";
	s.repeats = s.trim = s.attempts = s.timeout_ns = 0;
	s.confidence = 0;
	s.average = false;
	s.output = (struct campaign_output){0};
	conf_dump(campaign_section(), &s, f);
	rc = dump_runs(c, f, d);
	if (fclose(f) != 0)
		arena_exhausted();
	if (rc == 0)
		digest_sha256_hex(text, len, c->sha256);
	free(text);
	return rc;
}

static const char *base_name(const char *file, struct arena *a)
{
	const char *slash = strrchr(file, '/');
	char *name = arena_strdup(a, slash ? slash + 1 : file), *dot = strrchr(name, '.');

	if (dot && dot != name)
		*dot = '\0';
	return name;
}

// Files and commands beyond the rights of an untrusted file are errors in d.
static void confine(const struct campaign *c, struct diag *d)
{
	static const struct field base[] = {{"values", "", FIELD_STRING, .list = true,
		.role = FIELD_INPUT, .offset = offsetof(struct campaign_vary, values)}};
	static const struct field_section of_base = {"vary", "", FIELD_ROWS(base), 0};

	conf_confine(campaign_section(), &c->settings, c->commands, c->commands, d);
	for (uint32_t i = 0; i < c->settings.vary.count; i++)
		if (c->vary[i].setting && strcmp(c->vary[i].setting, BASE) == 0)
			conf_confine(&of_base, &c->vary[i], c->commands, c->commands, d);
}

struct campaign *campaign_load(const struct options *o, struct diag *d)
{
	struct arena *a = o->arena;
	struct campaign *c = arena_zalloc(a, sizeof(*c));
	struct conf_tree *t = conf_parse_file(o->operand, a, d);
	struct campaign_settings *s = &c->settings;

	c->confined = o->confined;
	c->commands = o->commands;
	for (unsigned i = 0; t && i < o->assignment_count; i++)
		conf_set(t, o->assignments[i], a, d);
	if (!t || diag_count(d) || conf_apply(t, campaign_section(), s, a, d) < 0)
		return NULL;
	if (campaign_expand(c, a, d) < 0)
		return NULL;
	if (c->confined)
		confine(c, d);
	if (diag_count(d))
		return NULL;
	if (!s->name)
		s->name = base_name(o->operand, a);
	if (!s->output.jsonl)
		s->output.jsonl = arena_printf(a, "%s.jsonl", s->name);
	return hash(c, a, d) < 0 ? NULL : c;
}
