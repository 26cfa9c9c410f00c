// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "process/orders.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/interrupt.h"

// The next available octet. 0: none now, or end of input.
static char next_octet(struct order_reader *r)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	char c = 0;

	if (poll(&p, 1, 0) <= 0)
		return 0;
	if (read(STDIN_FILENO, &c, 1) > 0)
		return c ? c : ' ';
	r->over = true;
	if (interrupt_count == 0)
		interrupt_count = 1;
	return 0;
}

static void put_octet(struct order_reader *r, char c)
{
	r->too_long |= r->len + 1 >= r->size;
	if (r->too_long)
		return;
	if (r->len + 1 >= r->room) {
		r->room = r->room ? 2 * r->room : ORDER_SIZE;
		r->line = realloc(r->line, r->room);
		if (!r->line)
			arena_exhausted();
	}
	r->line[r->len++] = c;
	r->line[r->len] = '\0';
}

// The next complete line; NULL: none.
static const char *next_line(struct order_reader *r)
{
	char c;

	while (r->wanted && !r->over && (c = next_octet(r))) {
		bool whole = c == '\n' && r->len && !r->too_long;

		if (c != '\n') {
			put_octet(r, c);
			continue;
		}
		r->len = 0;
		r->too_long = false;
		if (whole)
			return r->line;
	}
	return NULL;
}

static const char *take(const struct order_reader *r, const json_t *line)
{
	for (const struct order_verb *v = r->verbs; v->name; v++) {
		const json_t *value = json_object_get(line, v->name);

		if (value)
			return v->take(r->ctx, value, line);
	}
	return "no such order (docs/fleet.md lists them)";
}

void orders_read(struct order_reader *r)
{
	const char *text, *why;

	while ((text = next_line(r))) {
		json_t *line = *text == '{' ? json_loads(text, 0, NULL)
		                            : json_pack("{s:s}", "order", text);

		why = take(r, line);
		json_decref(line);
		if (why)
			r->refused(r->ctx, text, why);
	}
}

const char *order_setting(
	const json_t *value, const json_t *line, const char **setting, uint64_t *at_ns)
{
	const json_t *at = json_object_get(line, "at_ns");

	*setting = json_string_value(value);
	*at_ns = (uint64_t)json_integer_value(at);
	if (!*setting)
		return "order: a setting like traffic.queries.load.rate=5k is missing";
	return at && json_integer_value(at) <= 0 ? "at_ns: not a Unix time in nanoseconds" : NULL;
}

const char *order_stop(void *ctx, const json_t *value, const json_t *line)
{
	int wanted = (int)json_integer_value(value);

	if (wanted != 1 && wanted != 2)
		return "stop: 1 (wait for replies) or 2 (at once) is missing";
	if (interrupt_count < wanted)
		interrupt_count = wanted;
	return NULL;
}

void orders_wait(unsigned ms)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};

	poll(&p, 1, (int)ms);
}

void orders_close(struct order_reader *r)
{
	free(r->line);
	r->line = NULL;
}
