// SPDX-License-Identifier: BSD-3-Clause
// The commands of the program; each returns the exit code.
// Path: cold. Main thread.
#pragma once

#include "engine/run/run.h" // exit codes
#include "line/options.h"

struct front;

// A command line, argv[0] included: the command that it names, or another tool by the name of a
// link.
int commands_run(int argc, char **argv);

// The operand as a configuration, with every --set applied. NULL after errors, which were printed.
// *d knows the file and line of each setting; the caller frees it, also after errors.
const struct config *command_config(const struct options *o, struct diag **d);

// The exit code of such errors: the file is wrong, or this machine cannot look up its names.
int command_error_code(const struct diag *d);

// Everything that can be known without a port: the input files, and a search at its ends. false:
// there are errors, in d.
bool command_check(const struct config *c, struct arena *a, struct diag *d);

// NULL, with errors in d: c wants more than a file of somebody else's may. commands: it may have
// some.
const struct config *command_confine(const struct config *c, bool commands, struct diag *d);

// The folder NAME for what a command keeps: in $XDG_STATE_HOME or ~/.local/state.
const char *command_state_dir(const char *name, struct arena *a);

int cmd_run(const struct options *o);
// The run that the settings of a command line stand for; with --dump they are printed instead.
int cmd_run_front(struct front *f, const struct options *o);
int cmd_agent(const struct options *o);
int cmd_campaign(const struct options *o);
int cmd_check(const struct options *o);
int cmd_plan(const struct options *o);
int cmd_respond(const struct options *o);
extern const struct own_option respond_options[];
int cmd_serve(const struct options *o);
int cmd_watch(const struct options *o);
int cmd_doctor(const struct options *o);
int cmd_bind(const struct options *o);
int cmd_unbind(const struct options *o);
int cmd_compare(const struct options *o);
int cmd_merge(const struct options *o);
int cmd_report(const struct options *o);
int cmd_list(const struct options *o);
int cmd_complete(const struct options *o);
