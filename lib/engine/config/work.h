// SPDX-License-Identifier: BSD-3-Clause
// The work of each item in one run, by its load: numbers that follow from it. Path: cold.
// Management thread.
#pragma once

#include "engine/config/config.h"

#define WORK_UNREAD UINT64_MAX // the file of a replay

// The work of an item; replay: times in the file of its replay.
struct proto_work config_work(
	const struct config *c, const struct item_settings *i, uint64_t replay);

// Give loads the rates that protocols add, and automatic settings of protocols their numbers. The
// configuration stays const but for those.
void config_fit(const struct config *c);
