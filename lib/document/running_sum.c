// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Any thread, one at a time.
#include "document/running_sum.h"

#include "document/lines.h"

static void begin(struct running_sum *t, const char *name, const json_t *line)
{
	json_t *document = json_deep_copy(json_object_get(line, "result"));

	running_sum_forget(t);
	json_object_del(document, "config");
	reader_take(&t->reader, name, document);
	t->reader.run = (uint64_t)json_integer_value(json_object_get(line, LINE_BEGIN));
	partial_result_begin(&t->rescue, &t->reader);
}

enum running_sum_change running_sum_line(
	struct running_sum *t, const char *name, const json_t *line)
{
	if (json_object_get(line, LINE_BEGIN)) {
		begin(t, name, line);
		return RUNNING_SUM_PHASE;
	}
	if (!t->reader.document || json_object_get(line, LINE_TRIAL) ||
		json_object_get(line, LINE_ORDER) || json_object_get(line, LINE_WARMUP))
		return RUNNING_SUM_SAME;
	if (json_object_get(line, LINE_END)) {
		json_object_update(t->reader.document, json_object_get(line, "result"));
		return RUNNING_SUM_PHASE;
	}
	partial_result_add(&t->rescue, line);
	json_decref(t->newest);
	t->newest = json_incref((json_t *)line);
	return json_object_get(line, LINE_LAST) ? RUNNING_SUM_PHASE : RUNNING_SUM_MORE;
}

void running_sum_sum_up(struct running_sum *t)
{
	partial_result_sum_up(&t->rescue);
}

void running_sum_forget(struct running_sum *t)
{
	partial_result_forget(&t->rescue);
	json_decref(t->newest);
	if (t->reader.document)
		reader_close(&t->reader);
	*t = (struct running_sum){0};
}
