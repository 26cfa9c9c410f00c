// SPDX-License-Identifier: BSD-3-Clause
// Makes a fuzz target a file of a test program (unit.h) that replays what is in a folder. The
// compiler includes this in front of each target (meson.build). Path: cold. Test.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/unit.h"

typedef int replay_target(const uint8_t *data, size_t size);

// Fails when unit_args names nothing.
int replay(replay_target *target);

#ifndef UNIT_RUNNER
static int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int main(void)
{
	return replay(LLVMFuzzerTestOneInput);
}
#endif
