// SPDX-License-Identifier: BSD-3-Clause
// ddiperf run FILE: do the test and judge it. Path: cold. Main thread.
#include "base/log.h"
#include "commands.h"
#include "session.h"

// One of the ways to run a file without its ports, or the run itself.
static int run(const struct options *o, const struct config *c, struct diag *d)
{
	if (o->dry_run)
		return session_dry_run(o, c, d);
	return o->self_check ? session_self_check(o, c, d) : session_run(o, c, d, false);
}

int cmd_run(const struct options *o)
{
	struct diag *d;
	const struct config *c;
	int code;

	if (o->dry_run && (o->self_check || o->json)) {
		log_error("run: --dry-run sends nothing and has no result (leave out %s)",
			o->json ? "--json" : "--self-check");
		return EXIT_CONFIG;
	}
	c = session_config(o, &d);
	code = c ? run(o, c, d) : EXIT_CONFIG;
	diag_free(d);
	return code;
}
