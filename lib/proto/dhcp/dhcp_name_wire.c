// SPDX-License-Identifier: BSD-3-Clause
// Names as labels. Path: hot. Any thread.

#include "proto/dhcp/dhcp_name.h"

#define NAME_MAX_LEN 255

void dhcp_name_labels(struct writer *w, uint8_t *at)
{
	uint8_t *label = at;

	for (uint8_t *c = at + 1; c < w->at; c++) {
		if (*c != '.')
			continue;
		*label = (uint8_t)(c - label - 1);
		label = c;
	}
	*label = (uint8_t)(w->at - label - 1);
	if (*label && label != at)
		write_u8(w, 0);
}

bool dhcp_name_check(const struct pattern *p, uint64_t clients)
{
	uint8_t text[NAME_MAX_LEN], some[16];
	struct pattern_values v = {
		.client = clients - 1, .mac = some, .relay = some, .address = some};
	struct writer w = writer_of(text, sizeof(text));
	const uint8_t *label = text;

	memset(some, 0xff, sizeof(some));
	pattern_write(p, &v, &w);
	for (const uint8_t *c = text; c <= w.at; c++) {
		if (c < w.at && *c != '.')
			continue;
		if (c - label > DHCP_LABEL_MAX || (c == label && c < w.at))
			return false;
		label = c + 1;
	}
	return true;
}
