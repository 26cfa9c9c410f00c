// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Any thread, one at a time.
#include "document/tally.h"

#include "document/lines.h"

static void begin(struct tally *t, const char *name, const json_t *line)
{
	json_t *document = json_deep_copy(json_object_get(line, "result"));

	tally_forget(t);
	json_object_del(document, "config");
	book_take(&t->book, name, document);
	t->book.run = (uint64_t)json_integer_value(json_object_get(line, LIVE_BEGIN));
	rescue_begin(&t->rescue, &t->book);
}

enum tally_change tally_line(struct tally *t, const char *name, const json_t *line)
{
	if (json_object_get(line, LIVE_BEGIN)) {
		begin(t, name, line);
		return TALLY_PHASE;
	}
	if (!t->book.document || json_object_get(line, LIVE_TRIAL) ||
		json_object_get(line, LIVE_ORDER) || json_object_get(line, LIVE_WARMUP))
		return TALLY_SAME;
	if (json_object_get(line, LIVE_END)) {
		json_object_update(t->book.document, json_object_get(line, "result"));
		return TALLY_PHASE;
	}
	rescue_add(&t->rescue, line);
	json_decref(t->newest);
	t->newest = json_incref((json_t *)line);
	return json_object_get(line, LIVE_LAST) ? TALLY_PHASE : TALLY_MORE;
}

void tally_sum_up(struct tally *t)
{
	rescue_sum_up(&t->rescue);
}

void tally_forget(struct tally *t)
{
	rescue_forget(&t->rescue);
	json_decref(t->newest);
	if (t->book.document)
		book_close(&t->book);
	*t = (struct tally){0};
}
