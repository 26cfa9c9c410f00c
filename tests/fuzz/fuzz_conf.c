// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a configuration file: parsed, applied to the sample section, and what was accepted
// without an error must be dumped to a file that is accepted again and dumped to the very same
// text.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/conf/sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct load {
	struct arena *a;
	struct diag *d;
	struct sample s;
};

static bool load_text(struct load *l, const char *text, size_t len)
{
	struct conf_tree *t;

	memset(l, 0, sizeof(*l));
	l->a = arena_new();
	l->d = diag_new();
	t = conf_parse_text("fuzz.yaml", text, len, l->a, l->d);
	if ((!t && diag_count(l->d) == 0) ||
		(t && diag_count(l->d) > 0 &&
			conf_apply(t, &sample_section, &l->s, l->a, l->d) == 0))
		abort();
	return t && diag_count(l->d) == 0 && conf_apply(t, &sample_section, &l->s, l->a, l->d) == 0;
}

static void load_free(struct load *l)
{
	diag_free(l->d);
	arena_free(l->a);
}

static char *dump_text(const struct sample *s, size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);

	if (!out)
		abort();
	conf_dump(&sample_section, s, out);
	fclose(out);
	return text;
}

static void print_errors(const struct diag *d)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		abort();
	diag_print(d, out);
	fclose(out);
	free(text);
}

static void check_round_trip(const struct sample *s)
{
	size_t len, again_len;
	char *text = dump_text(s, &len), *again;
	struct load l;

	if (!load_text(&l, text, len)) {
		diag_print(l.d, stderr);
		abort();
	}
	again = dump_text(&l.s, &again_len);
	if (len != again_len || memcmp(text, again, len) != 0)
		abort();
	free(again);
	free(text);
	load_free(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct load l;

	if (load_text(&l, (const char *)data, size))
		check_round_trip(&l.s);
	print_errors(l.d);
	load_free(&l);
	return 0;
}
