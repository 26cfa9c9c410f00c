// SPDX-License-Identifier: BSD-3-Clause
// A configuration from YAML text, for tests that need a whole file. Path: cold. Test.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/config/config_load.h"
#include "lib/diag_text.h"

// A ring pair with the embedded server at one end.
#define LOADED_PORTS                                                                               \
	"ports:\n"                                                                                 \
	"  - {name: lan, driver: ring, device: dut, addresses: [198.18.0.1/24]}\n"                 \
	"  - {name: dut, driver: ring, device: lan, addresses: [198.18.0.2/24]}\n"                 \
	"responder: {port: dut, dns: {}}\n"
#define LOADED_DNS "dns: {names: [\"a.example.com A\"]}"

struct loaded {
	struct arena *a;
	struct diag *d;
	const struct config *config; // NULL: the text has errors
};

static inline struct loaded loaded_try(const char *text)
{
	struct loaded l = {.a = arena_new(), .d = diag_new()};

	l.config = config_load_text("t.yaml", text, strlen(text), l.a, l.d);
	return l;
}

// The test fails after an error.
static inline struct loaded loaded_from(const char *text)
{
	struct loaded l = loaded_try(text);

	if (!l.config)
		diag_print(l.d, stderr);
	assert_non_null(l.config);
	return l;
}

static inline void loaded_free(struct loaded *l)
{
	diag_free(l->d);
	arena_free(l->a);
}
