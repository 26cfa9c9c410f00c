// SPDX-License-Identifier: BSD-3-Clause
// Files that settings name. Path: cold. Management thread.
#pragma once

#include "base/diag.h"

// A path in a file is relative to the folder of that file. NULL: out of memory; free() it.
char *dhcp_path_of(const char *const *setting, const struct diag *d);
