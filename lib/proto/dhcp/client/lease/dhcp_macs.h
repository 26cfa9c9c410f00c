// SPDX-License-Identifier: BSD-3-Clause
// Hardware addresses as text, and files of them, one per client. Path: cold | hot (has). Any
// thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/pattern.h"

#define DHCP_MAC_MAX  16
#define DHCP_MAC_TEXT (3 * DHCP_MAC_MAX)

struct dhcp_macs {
	uint8_t *items;  // by client, len bytes each; NULL: no file
	uint8_t *sorted; // sorted copy for has; NULL: not needed
	uint32_t count;
	uint32_t len;
};

// Rules of a file.
struct dhcp_macs_wanted {
	uint64_t clients;
	bool fewer;    // fewer addresses than clients are allowed
	bool six;      // Ethernet's length only
	bool stations; // no group addresses
	bool find;     // dhcp_macs_has is used
};

// 0, -EINVAL (in d) or -ENOMEM; on errors nothing needs freeing.
int dhcp_macs_load(struct dhcp_macs *m, const char *const *setting,
	const struct dhcp_macs_wanted *wanted, struct arena *a, struct diag *d);
// Take the addresses from a column, counted from 0, of a client file. Otherwise as dhcp_macs_load.
int dhcp_macs_take(struct dhcp_macs *m, const struct pattern_table *t, uint32_t column,
	const struct dhcp_macs_wanted *wanted, const void *where, struct diag *d);
// Client i gets MAC number i % count, counted from `first`; count: 1 to the number of clients. 0 or
// -ENOMEM.
int dhcp_macs_share(struct dhcp_macs *m, const uint8_t first[6], uint32_t count,
	const struct dhcp_macs_wanted *wanted);
void dhcp_macs_free(struct dhcp_macs *m);

// Read "02:00:00:00:00:01", 1 to DHCP_MAC_MAX bytes: their number, or 0: no hardware address.
uint32_t dhcp_mac_read(const char *text, uint8_t out[DHCP_MAC_MAX]);
const char *dhcp_mac_text(const uint8_t *mac, uint32_t len, char text[DHCP_MAC_TEXT]);

// Is the address in the file? O(log count).
static inline bool dhcp_macs_has(const struct dhcp_macs *m, const uint8_t *mac)
{
	uint32_t first = 0, end = m->count;

	while (first < end) {
		uint32_t middle = first + (end - first) / 2;
		int order = memcmp(m->sorted + (size_t)middle * m->len, mac, m->len);

		if (order == 0)
			return true;
		if (order < 0)
			first = middle + 1;
		else
			end = middle;
	}
	return false;
}
