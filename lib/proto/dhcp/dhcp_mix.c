// SPDX-License-Identifier: BSD-3-Clause
// Shares to bounds. Path: cold. Management thread.

#include "proto/dhcp/dhcp_mix.h"

#define NOTHING 1e-9 // less than any share

double dhcp_mix_share(const double *shares, uint32_t count, uint32_t chosen, uint32_t kind)
{
	double rest = 1;

	for (uint32_t k = 0; shares && k < count; k++)
		rest -= shares[k];
	return (shares ? shares[kind] : 0) + (kind == chosen && rest > NOTHING ? rest : 0);
}

bool dhcp_mix_check(const double *shares, uint32_t count, struct diag *d)
{
	double sum = 0;

	for (uint32_t k = 0; shares && k < count; k++)
		sum += shares[k];
	if (sum <= 1 + NOTHING)
		return true;
	diag_error(d, shares, "", "the shares add up to %g%% (up to 100%%)", sum * 100);
	return false;
}

void dhcp_mix_init(struct dhcp_mix *m, const double *shares, uint32_t count, uint32_t chosen)
{
	double sum = 0;

	m->count = count;
	for (uint32_t k = 0; k < count; k++) {
		double share = dhcp_mix_share(shares, count, chosen, k);

		sum += share;
		m->below[k] = sum < 1 ? (uint64_t)(sum * 0x1p64) : UINT64_MAX;
		if (share > 0)
			m->otherwise = k;
	}
}
