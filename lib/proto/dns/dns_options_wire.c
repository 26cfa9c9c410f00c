// SPDX-License-Identifier: BSD-3-Clause
// Padding of a ready message (RFC 7830). Path: hot. The worker that owns the message.

#include <string.h>

#include "base/bytes.h"
#include "proto/dns/dns_internal.h"

uint32_t dns_pad(uint8_t *buf, uint32_t len, uint32_t room, uint8_t *opt, uint32_t more)
{
	uint8_t *rdlength = opt + DNS_OPT_HEADER_LEN - 2;

	if (len + DNS_OPTION_HEAD + more > room)
		return len;
	bytes_put_be16(buf + len, DNS_PADDING);
	bytes_put_be16(buf + len + 2, (uint16_t)more);
	memset(buf + len + DNS_OPTION_HEAD, 0, more);
	bytes_put_be16(rdlength, (uint16_t)(bytes_be16(rdlength) + DNS_OPTION_HEAD + more));
	return len + DNS_OPTION_HEAD + more;
}
