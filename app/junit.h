// SPDX-License-Identifier: BSD-3-Clause
// The verdict as JUnit XML (output.junit): a test case for each criterion, and one for the verdict.
// Path: cold. Main thread.
#pragma once

#include "engine/result/result.h"

// The caller frees it.
char *junit_text(const struct result *r);
