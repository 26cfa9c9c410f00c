// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Any thread, one at a time.
#include "follow/followed_run.h"

#include "engine/result/lines.h"

static void begin(struct followed_run *r, const char *name, const json_t *line)
{
	json_t *document = json_deep_copy(json_object_get(line, "result"));

	followed_forget(r);
	json_object_del(document, "config");
	reader_take(&r->reader, name, document);
	r->reader.run = (uint64_t)json_integer_value(json_object_get(line, LINE_BEGIN));
	running_sum_begin(&r->sum, &r->reader);
}

enum followed_change followed_line(struct followed_run *r, const char *name, const json_t *line)
{
	if (json_object_get(line, LINE_BEGIN)) {
		begin(r, name, line);
		return FOLLOWED_PHASE;
	}
	if (!r->reader.document || json_object_get(line, LINE_TRIAL) ||
		json_object_get(line, LINE_ORDER) || json_object_get(line, LINE_WARMUP))
		return FOLLOWED_SAME;
	if (json_object_get(line, LINE_END)) {
		json_object_update(r->reader.document, json_object_get(line, "result"));
		return FOLLOWED_PHASE;
	}
	running_sum_add(&r->sum, line);
	json_decref(r->newest);
	r->newest = json_incref((json_t *)line);
	return json_object_get(line, LINE_LAST) ? FOLLOWED_PHASE : FOLLOWED_MORE;
}

void followed_forget(struct followed_run *r)
{
	running_sum_forget(&r->sum);
	json_decref(r->newest);
	if (r->reader.document)
		reader_close(&r->reader);
	*r = (struct followed_run){0};
}
