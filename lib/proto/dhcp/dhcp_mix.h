// SPDX-License-Identifier: BSD-3-Clause
// Which of several kinds of exchanges is the next: shares of a mix, drawn so that they hold for any
// stretch of transactions. Path: cold (share, init) | hot (draw). Any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

#define DHCP_MIX_MAX 16

struct dhcp_mix {
	uint64_t below[DHCP_MIX_MAX]; // the kind whose bound the draw is below first
	uint32_t count;
	uint32_t otherwise;
};

// The share of a kind: its own of `shares` (count of them; NULL: none is given), and of the chosen
// kind all that is left up to 1.
double dhcp_mix_share(const double *shares, uint32_t count, uint32_t chosen, uint32_t kind);
// Are the shares of a section of settings (NULL: none is given) 100 % at most?
bool dhcp_mix_check(const double *shares, uint32_t count, struct diag *d);
void dhcp_mix_init(struct dhcp_mix *m, const double *shares, uint32_t count, uint32_t chosen);

// Multiples of the golden ratio (2^64 divided by it) fill the circle evenly.
static inline uint32_t dhcp_mix_draw(const struct dhcp_mix *m, uint64_t number, uint64_t offset)
{
	uint64_t draw = number * 0x9e3779b97f4a7c15u + offset;

	for (uint32_t k = 0; k < m->count; k++)
		if (draw < m->below[k])
			return k;
	return m->otherwise;
}
