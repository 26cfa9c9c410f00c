// SPDX-License-Identifier: BSD-3-Clause
// ddiperf check FILE: everything that a run would complain about before it opens a port; nothing is
// sent. Path: cold. Main thread.
#include <stdio.h>

#include "commands.h"
#include "conf/schema.h"
#include "engine/series/series.h"
#include "session.h"

int cmd_check(const struct options *o)
{
	struct diag *d;
	const struct config *c = session_config(o, &d);
	bool ok = false;

	if (c) {
		ok = run_check(c, o->arena, d) == 0 && series_check(c, o->arena, d) == 0;
		diag_print(d, stderr);
	}
	diag_free(d);
	if (!ok)
		return EXIT_CONFIG;
	if (o->dump)
		conf_dump(config_section(), c, stdout);
	else
		printf("%s: ok\n", o->operand);
	return EXIT_PASS;
}
