// SPDX-License-Identifier: BSD-3-Clause
// ddiperf merge RESULT.json...: merges the results of all parts of a fleet run. With --fleet the
// parts come from the run's agents. Path: cold. Main thread.
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "document/document_reader.h"
#include "run/commands.h"
#include "document/document.h"
#include "fleet/coordinator/fleet_kept.h"
#include "format/format_walk.h"
#include "fleet/fleet_result.h"

static void print_sum(const json_t *sum)
{
	double sent = 0, answered = 0, rate = 0;
	char reason[1024];
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(sum, "traffic"), i, one)
	{
		sent += document_number(one, "sent");
		answered += document_number(one, "answered");
		rate += document_number(one, "answered_per_s");
	}
	json_array_foreach(document_at(sum, "verdict.reasons"), i, one)
		printf("  - %s\n", walk_text(one, reason, sizeof(reason)));
	for (const char *status = document_text(sum, "verdict.status"); *status; status++)
		putchar(toupper((unsigned char)*status));
	printf(": %zu of %.0f parts, %.0f requests sent, %.0f answered in time, %.6g per second\n",
		json_array_size(json_object_get(sum, "parts")),
		document_number(sum, "fleet.agents"), sent, answered, rate);
}

static int print_book(void *ctx, FILE *f)
{
	return reader_print(ctx, f);
}

static int finish(const struct options *o, struct fleet_result *r)
{
	int code = (int)r->sum.verdict.exit_code;
	json_t *sum = fleet_result_document(r);
	struct document_reader whole;

	if (!o->json || strcmp(o->json, "-") != 0)
		print_sum(sum);
	reader_take(&whole, "the sum", sum);
	if (o->json && document_write_by("--json", o->json,
			       &(struct document_writer){print_book, &whole}) < 0)
		code = EXIT_ENVIRONMENT;
	reader_close(&whole);
	fleet_result_forget(r);
	return code;
}

// result: of the run, if its parts come from its agents; NULL: they are files.
static int merge(const struct options *o, struct document_reader *readers, unsigned count,
	const struct document_reader *result)
{
	struct fleet_result r;

	if (!fleet_result_make(&r, readers, count, o->command_line, o->arena))
		return EXIT_CONFIG;
	if (result)
		fleet_kept_complete(result->document, &r, o->arena);
	return finish(o, &r);
}

// Merge again, from the parts stored by the agents.
static int merge_kept(const struct options *o)
{
	struct document_reader result,
		*readers = arena_zalloc(o->arena, FLEET_PARTS * sizeof(*readers));
	const struct bus_settings s = options_bus(o, "ddiperf merge");
	unsigned count;
	int code;

	if (o->operand_count != 1) {
		log_error("merge: --fleet takes one RESULT.json, the result of the run");
		return EXIT_CONFIG;
	}
	if (reader_open(&result, o->operands[0]) < 0)
		return EXIT_CONFIG;
	code = fleet_kept_fetch(&s, o->operands[0], result.document, o->arena, readers, &count);
	if (code == 0)
		code = merge(o, readers, count, &result);
	while (count)
		reader_close(&readers[--count]);
	reader_close(&result);
	return code;
}

int cmd_merge(const struct options *o)
{
	struct document_reader *readers =
		arena_zalloc(o->arena, (o->operand_count + 1) * sizeof(*readers));
	unsigned opened = 0;
	int code = EXIT_CONFIG;

	if (o->json && document_check("--json", o->json) < 0)
		return EXIT_ENVIRONMENT;
	if (o->fleet)
		return merge_kept(o);
	while (opened < o->operand_count && reader_open(&readers[opened], o->operands[opened]) == 0)
		opened++;
	if (o->operand_count == 0)
		log_error("merge: an argument is missing: RESULT.json");
	else if (opened == o->operand_count)
		code = merge(o, readers, opened, NULL);
	while (opened)
		reader_close(&readers[--opened]);
	return code;
}
