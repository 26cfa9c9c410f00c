// SPDX-License-Identifier: BSD-3-Clause
// The errors of a diag, as tests look at them. Path: tests only.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/diag.h"

// All errors as text; free() it.
static inline char *diag_text(const struct diag *d)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	diag_print(d, f);
	fclose(f);
	return text;
}

static inline void assert_diag_has(const struct diag *d, const char *part)
{
	char *text = diag_text(d);

	if (!strstr(text, part))
		fail_msg("\"%s\" is not in:\n%s", part, text);
	free(text);
}
