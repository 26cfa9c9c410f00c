// SPDX-License-Identifier: BSD-3-Clause
// The files of a run that an agent keeps for others to read: their names, and their hash. All else
// in the folder of a run stays there: its configuration, input files, log. Path: cold. Main
// thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define AGENT_FILES_HASH   65                // SHA-256 in hexadecimal digits, with its zero
#define AGENT_FILES_RESULT "run-1.json"      // of a run that is neither a search nor repeated
#define AGENT_FILES_PART   "run-1.json.part" // its intervals, when it could not write its result

// Limit of a file that is fetched, and of the events of a run: an agent cannot fill the
// coordinator's memory and disk.
#define AGENT_FILES_SIZE_MAX (UINT64_C(1) << 30)

// "events.jsonl", "run-N.json" or "run-N.json.part".
bool agent_files_is_file(const char *name);
bool agent_files_is_hash(const char *text);
// Computes the SHA-256 of a regular file, from its beginning. Returns 0, or -errno.
int agent_files_hash(int fd, uint64_t *size, char hash[AGENT_FILES_HASH]);
