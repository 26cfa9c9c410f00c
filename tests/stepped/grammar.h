// SPDX-License-Identifier: BSD-3-Clause
// Random configurations, drawn from a grammar of rows. A case is an object with two members:
// "world", the settings of world.h by name, and "config", the configuration. Path: tests only.
#pragma once

#include <stdint.h>

#include <jansson.h>

// The same seed gives the same case. The caller owns it.
json_t *grammar_case(uint64_t seed);
