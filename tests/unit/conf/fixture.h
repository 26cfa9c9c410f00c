// SPDX-License-Identifier: BSD-3-Clause
// One load of the sample configuration: text in, struct and errors out, all freed by fixture_end.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"

struct fixture {
	struct arena *a;
	struct diag *d;
	struct conf_tree *tree;
	struct sample s;
	int rc;
};

static inline void fixture_parse(struct fixture *f, const char *text)
{
	memset(f, 0, sizeof(*f));
	f->a = arena_new();
	f->d = diag_new();
	f->tree = conf_parse_text("f.yaml", text, strlen(text), f->a, f->d);
}

static inline void fixture_apply(struct fixture *f)
{
	f->rc = conf_apply(f->tree, &sample_section, &f->s, f->a, f->d);
}

static inline void fixture_load(struct fixture *f, const char *text)
{
	fixture_parse(f, text);
	if (f->tree)
		fixture_apply(f);
}

static inline void fixture_end(struct fixture *f)
{
	diag_free(f->d);
	arena_free(f->a);
}

static inline void assert_errors(struct fixture *f, const char *wanted)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	diag_print(f->d, out);
	fclose(out);
	assert_string_equal(text, wanted);
	free(text);
}

// The text gives exactly these errors.
static inline void assert_load_errors(const char *text, const char *wanted)
{
	struct fixture f;

	fixture_load(&f, text);
	assert_errors(&f, wanted);
	assert_true(!f.tree || (f.rc != 0) == (wanted[0] != 0));
	fixture_end(&f);
}

static inline struct sample_item *item_of(struct fixture *f, unsigned i)
{
	assert_true(i < f->s.traffic.count);
	return (struct sample_item *)f->s.traffic.items + i;
}
