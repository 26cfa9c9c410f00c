// SPDX-License-Identifier: BSD-3-Clause
// The result of a run from those of its parts (docs/fleet.md). Path: cold. Main thread.
#pragma once

#include "base/arena.h"
#include "document/document_reader.h"

// The document of the whole: figures of all parts (merge.h), their verdict, and as "parts" the
// document of each without its intervals and configuration. NULL: they are no parts of one run, as
// was logged. The caller owns it.
json_t *merge_results(
	struct document_reader *readers, unsigned count, const char *command, struct arena *a);
