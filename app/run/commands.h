// SPDX-License-Identifier: BSD-3-Clause
// The commands of the program; each returns the exit code.
// Path: cold. Main thread.
#pragma once

#include "engine/run/run.h" // exit codes
#include "line/options.h"

struct front;

// Run a command line, argv[0] included: the named command, or another tool by the name of a link.
int commands_run(int argc, char **argv);

// The operand as a configuration, with every --set applied. NULL after errors, which were printed.
// *d knows the file and line of each setting; the caller frees it, also after errors.
const struct config *command_config(const struct options *o, struct diag **d);

// The exit code of such errors: the file is invalid, or names cannot be resolved on this machine.
int command_error_code(const struct diag *d);

// Check everything possible without a port: the input files, and a search at its ends. false:
// errors in d.
bool command_check(const struct config *c, struct arena *a, struct diag *d);

// NULL, with errors in d: c exceeds the rights of an untrusted file. commands: are commands
// allowed?
const struct config *command_confine(const struct config *c, bool commands, struct diag *d);

// The folder NAME for a command's state: in $XDG_STATE_HOME or ~/.local/state.
const char *command_state_dir(const char *name, struct arena *a);

int cmd_run(const struct options *o);
// Execute the run described by a command line; with --dump, prints the settings instead.
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
