// SPDX-License-Identifier: BSD-3-Clause
// The rows of a campaign's file. Path: cold. Main thread.
#include <stddef.h>

#include "campaign/campaign.h"

#define AT(type, member) .offset = offsetof(struct type, member)
#define TEXT             .min = 1, .max = 4095

static const char *const combines[] = {[COMBINE_PRODUCT] = "product", [COMBINE_ZIP] = "zip", NULL};

static const struct field vary_fields[] = {
	{"name", "name in tables; commands have the value as DDIPERF_VARY_NAME", FIELD_STRING,
		.required = true, AT(campaign_vary, name), .min = 1, .max = 64},
	{"setting",
		"path of the setting, as for --set, or base: the file; left out: only commands get "
		"the value",
		FIELD_STRING, AT(campaign_vary, setting), TEXT},
	{"values", "its values, one after the other", FIELD_STRING, .list = true, .required = true,
		AT(campaign_vary, values), TEXT},
};

static const struct field_section vary_section = {
	"vary", "a setting that varies", FIELD_ROWS(vary_fields), sizeof(struct campaign_vary)};

static const struct field point_fields[] = {
	{"name", "name in tables; commands have it as DDIPERF_POINT", FIELD_STRING,
		.required = true, AT(campaign_point, name), .min = 1, .max = 64},
	{"start", "shell command that starts the server, before the operations of each repeat",
		FIELD_STRING, .role = FIELD_COMMAND, AT(campaign_point, start), TEXT},
	{"stop", "shell command that stops it, after them, however they ended", FIELD_STRING,
		.role = FIELD_COMMAND, AT(campaign_point, stop), TEXT},
	{"base", "file of the runs, instead of the campaign's", FIELD_STRING, .role = FIELD_INPUT,
		AT(campaign_point, base), TEXT},
	{"set", "settings of its runs: PATH=VALUE", FIELD_STRING, .list = true,
		AT(campaign_point, set), TEXT},
	{"only", "values of varied settings that it is run with: NAME=VALUE", FIELD_STRING,
		.list = true, AT(campaign_point, only), TEXT},
};

static const struct field_section point_section = {"points", "a configuration of the server",
	FIELD_ROWS(point_fields), sizeof(struct campaign_point)};

static const struct field operation_fields[] = {
	{"name", "name in tables; two for different points may share one", FIELD_STRING,
		.required = true, AT(campaign_operation, name), .min = 1, .max = 64},
	{"set", "settings of its run: PATH=VALUE", FIELD_STRING, .list = true,
		AT(campaign_operation, set), TEXT},
	{"before", "shell command to run before it", FIELD_STRING, .role = FIELD_COMMAND,
		AT(campaign_operation, before), TEXT},
	{"until",
		"shell command, repeated from the start of the run until it succeeds: the "
		"operation ends then",
		FIELD_STRING, .role = FIELD_COMMAND, AT(campaign_operation, until), TEXT},
	{"points", "names of the points that have it; left out: all", FIELD_STRING, .list = true,
		AT(campaign_operation, points), TEXT},
};

static const struct field_section operation_section = {"operations", "a run of each repeat",
	FIELD_ROWS(operation_fields), sizeof(struct campaign_operation)};

static const struct field column_fields[] = {
	{"name", "title of the column", FIELD_STRING, .required = true, AT(campaign_column, name),
		.min = 1, .max = 64},
	{"figure",
		"seconds and per_s of the operation, or a figure of the result as report --select "
		"has it",
		FIELD_STRING, .required = true, AT(campaign_column, figure), TEXT},
	{"per", "another figure, to divide it by", FIELD_STRING, AT(campaign_column, per), TEXT},
};

static const struct field_section column_section = {"columns", "a figure of the table",
	FIELD_ROWS(column_fields), sizeof(struct campaign_column)};

static const struct field output_fields[] = {
	{"jsonl", "file with a line for each finished run; default: NAME.jsonl", FIELD_STRING,
		.role = FIELD_OUTPUT, AT(campaign_output, jsonl), TEXT},
	{"json", "table and progress to write as JSON, anew before each run", FIELD_STRING,
		.role = FIELD_OUTPUT, AT(campaign_output, json), TEXT},
	{"markdown", "table to write as Markdown", FIELD_STRING, .role = FIELD_OUTPUT,
		AT(campaign_output, markdown), TEXT},
	{"csv", "table to write as CSV: a row for each value", FIELD_STRING, .role = FIELD_OUTPUT,
		AT(campaign_output, csv), TEXT},
	{"html", "page with a chart and the table to write, as one self-contained file",
		FIELD_STRING, .role = FIELD_OUTPUT, AT(campaign_output, html), TEXT},
};

static const struct field_section output_section = {"output",
	"files to write, from the working directory", FIELD_ROWS(output_fields),
	sizeof(struct campaign_output)};

static const struct field fields[] = {
	{"name", "name of the campaign; default: base name of the file", FIELD_STRING,
		AT(campaign_settings, name), .min = 1, .max = 64},
	{"base", "file of a run, which the settings below change", FIELD_STRING,
		.role = FIELD_INPUT, AT(campaign_settings, base), TEXT},
	{"through", "words before the command of each run, like ip netns exec tester", FIELD_STRING,
		.role = FIELD_COMMAND, AT(campaign_settings, through), TEXT},
	{"set", "settings of all runs: PATH=VALUE", FIELD_STRING, .list = true,
		AT(campaign_settings, set), TEXT},
	{"vary", "settings that vary", FIELD_SECTION, .list = true, AT(campaign_settings, vary),
		.section = &vary_section},
	{"combine", "values of several: each with each, or the first with the first", FIELD_ENUM,
		AT(campaign_settings, combine), .names = combines, .def = "product"},
	{"points", "configurations of the server", FIELD_SECTION, .list = true, .required = true,
		AT(campaign_settings, points), .section = &point_section},
	{"operations", "runs of each repeat, one after the other; left out: one", FIELD_SECTION,
		.list = true, AT(campaign_settings, operations), .section = &operation_section},
	{"columns", "figures of the table; left out: per_s", FIELD_SECTION, .list = true,
		AT(campaign_settings, columns), .section = &column_section},
	{"average", "a column with the mean of the operations", FIELD_BOOL,
		AT(campaign_settings, average), .def = "false"},
	{"repeats", "repeats of each point and value", FIELD_COUNT, AT(campaign_settings, repeats),
		.def = "3", .min = 1, .max = 1000},
	{"trim", "lowest values left out of the mean, and as many of the highest", FIELD_COUNT,
		AT(campaign_settings, trim), .def = "0", .max = 499},
	{"attempts", "attempts at a repeat until none of its runs is invalid", FIELD_COUNT,
		AT(campaign_settings, attempts), .def = "3", .min = 1, .max = 100},
	{"confidence", "confidence level of the interval of a mean", FIELD_PERCENT,
		AT(campaign_settings, confidence), .def = "95%", .min = 0.5, .max = 0.9999},
	{"timeout", "time after which a command is killed", FIELD_DURATION,
		AT(campaign_settings, timeout_ns), .def = "2m", .min = 1e7, .max = 1e14},
	{"output", "files to write, from the working directory", FIELD_SECTION,
		AT(campaign_settings, output), .section = &output_section},
};

static const struct field_section section = {
	"campaign", "a campaign", FIELD_ROWS(fields), sizeof(struct campaign_settings)};

const struct field_section *campaign_section(void)
{
	return &section;
}
