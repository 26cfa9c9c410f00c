// SPDX-License-Identifier: BSD-3-Clause
// One fixed result of two items, with everything in it that a report can show. Path: cold.
#pragma once

#include "engine/result/result.h"

struct result sample_result(void);
