// SPDX-License-Identifier: BSD-3-Clause
// The limit of a run, from its figures at and beside each bound. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/run/judge/limit.h"

#define OPEN .open_rate = true
#define GROWN(since, rate, in_flight, by)                                                          \
	OPEN, .sent = 2 * (since), .sent_since = (since), .sent_per_s = (rate),                    \
	      .open = (in_flight), .grown = (by)

static void each_limit_has_its_signs(void **state)
{
	static const struct {
		struct limit_facts facts;
		const char *name;
	} rows[] = {
		{{OPEN, .sent = 10}, "none"},
		{{OPEN, .sent = 10, .busy = 1}, "none"},
		{{OPEN, .sent = 10, .lost = 1}, "server"},
		// More in flight than 1 % of the sends since, than 20 ms of them, and than chance.
		{{GROWN(1100, 100, 12, 12)}, "server"},
		{{GROWN(1100, 100, 11, 11)}, "none"},
		{{GROWN(500, 1000, 20, 20)}, "none"},
		{{GROWN(500, 1000, 21, 21)}, "server"},
		{{GROWN(100, 100, 9, 9)}, "none"},
		{{GROWN(100, 100, 10, 10)}, "server"},
		{{GROWN(500, 100, 200, 56)}, "server"},
		{{GROWN(500, 100, 200, 55)}, "none"},
		// A closed loop always runs into some limit.
		{{.sent = 10}, "server"},
		{{.sent = 10, .busy = 0.9}, "server"},
		{{.sent = 10, .busy = 0.91}, "tester"},
		{{.sent = 10, .no_slot = 1}, "tester"},
		{{.sent = 10, .no_slot = 1, .tx_refused = 1}, "tester"},
		{{.sent = 10, .no_slot = 1, .lost = 1}, "server"},
		{{.sent = 10, .busy = 0.95, .tx_refused = 1}, "server"},
		{{.sent = 0}, "none"},
		{{.sent = 0, .no_slot = 1, .busy = 1}, "none"},
		// Sends missed, and replies read late or dropped, by the tester itself.
		{{OPEN, .sent = 10, .due = 1000, .unsent = 1}, "none"},
		{{OPEN, .sent = 10, .due = 1000, .unsent = 2}, "tester"},
		{{OPEN, .sent = 10, .lost = 4, .dropped = 2}, "tester"},
		{{OPEN, .sent = 10, .lost = 5, .dropped = 2}, "server"},
		{{OPEN, .sent = 10, .busy = 0.91, .late_ns = 1.1e7}, "tester"},
		// Undecidable, as others had the CPU.
		{{OPEN, .sent = 10, .harmed = 1}, "none"},
		{{OPEN, .sent = 10, .late_ns = 1.1e7}, "none"},
		{{OPEN, .sent = 10, .lost = 1, .harmed = 0.05}, "server"},
		{{OPEN, .sent = 10, .lost = 1, .harmed = 0.051}, "undecided"},
		{{OPEN, .sent = 10, .lost = 1, .late_ns = 1e7}, "server"},
		{{OPEN, .sent = 10, .lost = 1, .late_ns = 1.1e7}, "undecided"},
		{{OPEN, .sent = 10, .lost = 1, .box = 0.97}, "server"},
		{{OPEN, .sent = 10, .lost = 1, .box = 0.98}, "undecided"},
		{{.sent = 10, .harmed = 0.06}, "undecided"},
		{{.sent = 10, .harmed = 0.06, .no_slot = 1}, "tester"},
		{{.sent = 10, .harmed = 0.06, .tx_refused = 1}, "undecided"},
		{{.sent = 10, .harmed = 0.06, .busy = 0.91}, "tester"},
		// A full link precedes all other limits.
		{{.sent = 10, .busy = 0.95, .link_used = 0.95}, "wire"},
		{{OPEN, .sent = 10, .lost = 1, .link_used = 0.96}, "wire"},
		{{OPEN, .sent = 10, .link_used = 0.949}, "none"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(limit_name(limit_of(&rows[i].facts)), rows[i].name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_limit_has_its_signs),
	};

	return cmocka_run_group_tests_name("limit", tests, NULL, NULL);
}
