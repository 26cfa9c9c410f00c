// SPDX-License-Identifier: BSD-3-Clause
// Which errors of meaning are true although a part of the file cannot be read. Path: cold.
// Management thread.
#pragma once

#include <stdbool.h>

#include "conf/schema.h"

// Does the meaning of this setting, or of this section, depend on none of the flaws? Of type
// diag_wanted; ctx is a list of struct conf_flaw.
bool config_rest_stands(const void *ctx, const char *path);
