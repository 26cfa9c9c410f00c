// SPDX-License-Identifier: BSD-3-Clause
// ddiperf complete -- WORD...: completions of the last word of a command line, one per line:
// text, tab, help. A line ":PATTERN" stands for file names. For complete.bash, .fish and .zsh.
// Path: cold. Main thread.
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "campaign/campaign.h"
#include "run/commands.h"
#include "conf/schema.h"
#include "engine/config/config.h"
#include "format/format.h"
#include "front/front_as.h"
#include "io/pci/pci.h"

// The command line, and the word being typed.
struct line {
	const struct command *command;
	char **words; // after the command's name
	unsigned count;
	const char *last;
	struct arena *arena;
};

static const char *typed; // prefix of every offer

static void offer(const char *text, const char *help)
{
	if (strncmp(text, typed, strlen(typed)) == 0)
		printf("%s\t%s\n", text, help);
}

static void offer_option(const char *name, const char *help)
{
	char text[64];

	snprintf(text, sizeof(text), "--%s", name);
	offer(text, help);
}

static void offer_setting(void *ctx, const char *text, const char *help)
{
	offer(text, help);
}

// ctx: the path, which is not in the line.
static void offer_value(void *ctx, const char *text, const char *help)
{
	offer(text + strlen(ctx), help);
}

static const char *argument_after(const struct line *l, unsigned i)
{
	const char *path;

	return options_argument(l->command, l->words[i], &path);
}

// Names of list items come from the file in the command line.
static const struct conf_tree *read_file(const struct line *l)
{
	const struct conf_tree *t = NULL;
	struct diag *d = diag_new();

	for (unsigned i = 0; i + 1 < l->count && !t; i++)
		if (l->words[i][0] != '-' && (i == 0 || !argument_after(l, i - 1)))
			t = conf_parse_file(l->words[i], l->arena, d);
	diag_free(d);
	return t;
}

static void complete_setting(const struct line *l)
{
	conf_complete(l->command->run == cmd_campaign ? campaign_section() : config_section(),
		read_file(l), l->last, offer_setting, NULL);
}

static void complete_format(const struct line *l)
{
	for (unsigned i = 0; i < format_count; i++)
		offer(formats[i].name, formats[i].help);
}

static void complete_file(const struct line *l)
{
	printf(":*\n");
}

static void complete_configuration(const struct line *l)
{
	printf(":*.y*ml\n");
}

static void complete_card(const struct line *l)
{
	struct pci_box b = {.root = ""};

	pci_read(&b);
	for (unsigned i = 0; i < b.card_count; i++)
		offer(b.cards[i].bdf, b.cards[i].interfaces);
	pci_free(&b);
}

// "drivers|protocols|settings"
static void complete_word(const char *words, const struct line *l)
{
	for (size_t len; *words; words += len + (words[len] != '\0')) {
		len = strcspn(words, "|");
		offer(arena_printf(l->arena, "%.*s", (int)len, words), "");
	}
}

// By the names of arguments and operands in --help.
static void complete_argument(const struct line *l, const char *name)
{
	static const struct {
		const char *name;
		void (*complete)(const struct line *l);
	} kinds[] = {
		{"FILE", complete_configuration},
		{"[FILE]", complete_configuration},
		{"PATH=VALUE", complete_setting},
		{"FORMAT", complete_format},
		{"CARD...", complete_card},
		{"[CARD]...", complete_card},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].name, name) == 0)
			kinds[i].complete(l);
	if (word_is_among(name, "RESULT.json... RESULT HISTORY OUT DIR CERT KEY CA PCAP FIGURES"))
		complete_file(l);
	if (strchr(name, '|'))
		complete_word(name, l);
}

// An option for a setting has the values of the setting.
static void complete_value(const struct line *l, const char *path)
{
	char *setting = arena_printf(l->arena, "%s=", path);

	conf_complete(config_section(), NULL, arena_printf(l->arena, "%s%s", setting, l->last),
		offer_value, setting);
}

static void complete_command(const struct line *l)
{
	const char *argument = NULL, *path = NULL;

	if (l->count > 1)
		argument = options_argument(l->command, l->words[l->count - 2], &path);
	if (argument && path && strcmp(argument, "FILE") != 0)
		complete_value(l, path);
	else if (argument && (path || strcmp(argument, "FILE") == 0))
		complete_file(l);
	else if (argument)
		complete_argument(l, argument);
	else if (l->last[0] == '-')
		options_offer(l->command, offer_option);
	else if (l->command->operand)
		complete_argument(l, l->command->operand);
}

static void offer_tool_option(const struct line *l, const struct as_option *r)
{
	if (r->letter)
		offer((char[]){'-', r->letter, '\0'}, r->help ? r->help : "");
	if (r->name)
		offer_option(r->name, r->help ? r->help : "");
}

// ddiperf as TOOL: its options, otherwise file names.
static void complete_tool(const struct line *l, const struct as_tool *const *tools)
{
	const struct as_tool *t = as_find(tools, l->words[0]);

	for (unsigned i = 0; l->count == 1 && tools[i]; i++)
		offer(tools[i]->name, "");
	if (l->count == 1 || !t)
		return;
	if (l->last[0] != '-') {
		complete_file(l);
		return;
	}
	for (const struct as_option *r = t->options; r->letter || r->name; r++)
		if (!r->refused)
			offer_tool_option(l, r);
}

static void complete_first(const struct program *p)
{
	for (unsigned i = 0; i < p->command_count; i++)
		if (!p->commands[i].hidden)
			offer(p->commands[i].name, p->commands[i].help);
	offer("as", "Act as another tool: its options and output");
	offer("--help", "print the commands");
	offer("--version", "print the version");
}

int cmd_complete(const struct options *o)
{
	struct line l = {.arena = o->arena};

	typed = l.last = o->operand_count ? o->operands[o->operand_count - 1] : "";
	if (o->operand_count < 2) {
		complete_first(o->program);
		return EXIT_PASS;
	}
	l.words = o->operands + 1;
	l.count = o->operand_count - 1;
	if (strcmp(o->operands[0], "as") == 0)
		complete_tool(&l, o->program->tools);
	for (unsigned i = 0; i < o->program->command_count; i++)
		if (strcmp(o->program->commands[i].name, o->operands[0]) == 0) {
			l.command = &o->program->commands[i];
			complete_command(&l);
		}
	return EXIT_PASS;
}
