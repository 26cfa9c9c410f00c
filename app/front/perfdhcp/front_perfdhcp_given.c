// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include <string.h>

#include "front/perfdhcp/front_perfdhcp.h"

unsigned perfdhcp_times(const struct perfdhcp *p, char letter)
{
	unsigned n = 0;

	PERFDHCP_EACH(g, p) n += g->letter == letter;
	return n;
}

const char *perfdhcp_nth(const struct perfdhcp *p, char letter, unsigned n)
{
	PERFDHCP_EACH(g, p) if (g->letter == letter && n-- == 0) return g->value;
	return NULL;
}

const char *perfdhcp_value(const struct perfdhcp *p, char letter)
{
	unsigned times = perfdhcp_times(p, letter);

	return times ? perfdhcp_nth(p, letter, times - 1) : NULL;
}

bool perfdhcp_diagnoses(const struct perfdhcp *p, char letter)
{
	const char *letters = perfdhcp_value(p, 'x');

	return letters && strchr(letters, letter);
}
