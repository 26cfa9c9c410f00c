// SPDX-License-Identifier: BSD-3-Clause
// ddiperf run FILE: do the test and judge it. Path: cold. Main thread.
#include "commands.h"
#include "session.h"

int cmd_run(const struct options *o)
{
	struct diag *d;
	const struct config *c = session_config(o, &d);
	int code = c ? session_run(o, c, d, false) : EXIT_CONFIG;

	diag_free(d);
	return code;
}
