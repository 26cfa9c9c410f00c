// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "orders.h"

#include <poll.h>
#include <unistd.h>

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

const char *orders_next(struct order_reader *r)
{
	char c;

	while (r->wanted && !r->over && (c = next_octet(r))) {
		if (c != '\n') {
			r->too_long |= r->len + 1 == sizeof(r->line);
			if (!r->too_long)
				r->line[r->len++] = c;
			continue;
		}
		r->line[r->len] = '\0';
		r->len = 0;
		if (!r->too_long && r->line[0])
			return r->line;
		r->too_long = false;
	}
	return NULL;
}
