// SPDX-License-Identifier: BSD-3-Clause
// The work that an item's load makes in one run, and numbers that follow from it. Path: cold.
// Management thread.
#pragma once

#include "engine/config/config.h"

#define WORK_UNREAD UINT64_MAX // the file of a replay is not read yet

// Returns the work of an item. replay: the number of times in the file of its replay.
struct proto_work config_work(
	const struct config *c, const struct item_settings *i, uint64_t replay);

// Adds the rates of protocols to loads, and sets automatic settings of protocols. Everything else
// in the configuration stays const.
void config_fit(const struct config *c);
