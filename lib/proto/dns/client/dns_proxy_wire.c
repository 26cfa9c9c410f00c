// SPDX-License-Identifier: BSD-3-Clause
// PROXY protocol, version 2 (haproxy's doc/proxy-protocol.txt, section 2.2): written by the tester,
// read by the responder. Path: hot. Any thread.

#include "proto/dns/client/dns_proxy_wire.h"

#include <string.h>

#include "base/bytes.h"

#define SIGNATURE     "\r\n\r\n\0\r\nQUIT\n"
#define SIGNATURE_LEN 12
#define LOCAL         0x20 // version and command
#define PROXY         0x21
#define FAMILY_IPV4   0x10 // with the transport
#define FAMILY_IPV6   0x20
#define OF_STREAM     1
#define OF_DATAGRAM   2
#define LEN_MAX       (UINT16_MAX - DNS_PROXY_HEAD) // of the data after the head
#define PORT_FIRST    1024
#define PORTS         (65536 - PORT_FIRST)

// Size of both addresses and ports.
static uint32_t addresses_len(uint8_t addr_len)
{
	return 2u * (addr_len + 2);
}

void dns_proxy_write(const struct dns_proxy *p, uint64_t number, bool stream, uint8_t *buf)
{
	uint8_t len = p->clients.first.len;
	uint64_t round = recip_div(&p->count, number);
	uint8_t client[16];

	memcpy(buf, SIGNATURE, SIGNATURE_LEN);
	bytes_put_be16(buf + 14, (uint16_t)(p->len - DNS_PROXY_HEAD));
	memcpy(buf + p->len - p->tlvs_len, p->tlvs, p->tlvs_len);
	if (len == 0) {
		buf[12] = LOCAL;
		buf[13] = 0;
		return;
	}
	buf[12] = PROXY;
	buf[13] = (uint8_t)((len == 4 ? FAMILY_IPV4 : FAMILY_IPV6) |
			    (stream ? OF_STREAM : OF_DATAGRAM));
	addr_nth_bytes(&p->clients, number - round * p->count.divisor, client);
	buf += DNS_PROXY_HEAD;
	memcpy(buf, client, len);
	memcpy(buf + len, p->server.bytes, len);
	bytes_put_be16(buf + 2 * len, (uint16_t)(PORT_FIRST + round % PORTS));
	bytes_put_be16(buf + 2 * len + 2, p->server_port);
}

static bool is_head(const uint8_t *buf)
{
	return memcmp(buf, SIGNATURE, SIGNATURE_LEN) == 0 && (buf[12] == LOCAL || buf[12] == PROXY);
}

enum dns_proxy_kind dns_proxy_read(const uint8_t *buf, uint32_t len, bool stream, uint32_t *head)
{
	uint8_t transport = stream ? OF_STREAM : OF_DATAGRAM;
	uint32_t more;

	if (len < DNS_PROXY_HEAD || !is_head(buf))
		return DNS_PROXY_BAD;
	more = bytes_be16(buf + 14);
	*head = DNS_PROXY_HEAD + more;
	if (*head > len)
		return DNS_PROXY_BAD;
	if (buf[12] == LOCAL)
		return DNS_PROXY_LOCAL;
	if ((buf[13] == (FAMILY_IPV4 | transport) && more >= addresses_len(4)) ||
		(buf[13] == (FAMILY_IPV6 | transport) && more >= addresses_len(16)))
		return DNS_PROXY_CLIENT;
	return DNS_PROXY_BAD;
}

uint32_t dns_proxy_framed(const uint8_t *buf, uint32_t len)
{
	uint32_t more;

	if (len < DNS_PROXY_HEAD)
		return 0;
	more = bytes_be16(buf + 14);
	return is_head(buf) && more <= LEN_MAX ? DNS_PROXY_HEAD + more : DNS_PROXY_HEAD;
}
