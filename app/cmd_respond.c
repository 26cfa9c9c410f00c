// SPDX-License-Identifier: BSD-3-Clause
// ddiperf respond FILE: be the server until interrupted. Path: cold. Main thread.
#include "commands.h"
#include "session.h"

int cmd_respond(const struct options *o)
{
	struct diag *d;
	const struct config *c = session_config(o, &d);
	int code = c ? session_run(o, c, d, true) : EXIT_CONFIG;

	diag_free(d);
	return code;
}
