// SPDX-License-Identifier: BSD-3-Clause
// Edits of deliberately malformed DHCPv4 messages (DHCP4_WRONGS). Transaction ID and giaddr are
// kept, so a reply arrives and is recognised. Path: hot. The worker that owns the message.

#include "proto/dhcp/v4/dhcp4_wrong.h"
#include "proto/dhcp/client/dhcp_wrong.h"

#define FIELD(at_) (m + DHCP4_AT_##at_)
#define OVERLOAD   "\x34\1\3" // option 52: options in file and sname

// Replace the option with this code, if present, by other bytes.
static void option_replace(
	uint8_t *m, struct writer *w, uint8_t code, const void *bytes, uint32_t len)
{
	uint32_t at = dhcp4_find_option(m, (uint32_t)(w->at - m), code);

	if (at)
		dhcp_wrong_replace(w, m + at, 2u + m[at + 1], bytes, len);
}

// Insert a whole option before END.
static void option_add(uint8_t *m, struct writer *w, const void *option, uint32_t len)
{
	uint32_t at = dhcp4_find_option(m, (uint32_t)(w->at - m), DHCP4_OPT_END);

	if (at)
		dhcp_wrong_replace(w, m + at, 0, option, len);
}

static void end_remove(uint8_t *m, struct writer *w)
{
	uint32_t at = dhcp4_find_option(m, (uint32_t)(w->at - m), DHCP4_OPT_END);

	if (at)
		w->at = m + at;
}

uint32_t dhcp4_wrong_spoil(uint32_t kind, uint8_t *m, uint32_t len, uint32_t room, uint64_t random)
{
	struct writer at_end = writer_of(m + len, room - len), *w = &at_end;

	switch (kind) {
		DHCP4_WRONGS(DHCP_WRONG_CASE)
	}
	return w->failed ? 0 : (uint32_t)(w->at - m);
}
