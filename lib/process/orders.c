// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "process/orders.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/interrupt.h"

// An octet that is there. 0: none now, or no more.
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

const char *orders_next(struct order_reader *r)
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
