// SPDX-License-Identifier: BSD-3-Clause
// Addresses to and from text, strictly: no octal, no short forms, no scope ids, nothing before or
// after. Not here: arithmetic on ranges (inline in addr.h). Path: cold. Any thread.
#include "base/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define RANGE_MAX (UINT64_C(1) << 32)

static const char addr_is[] = "an IP address (like 198.18.0.1 or 2001:db8::1)";
static const char prefix_is[] = "an address with a prefix length (like 198.18.0.1/24 or "
				"2001:db8::1/64)";
static const char range_is[] = "an address range (like 198.18.0.1, 198.18.0.0/24 or "
			       "198.18.0.16-198.18.0.31)";
static const char range_order[] = "an address range in ascending order";
static const char range_family[] = "an address range with both ends of one IP version";
static const char range_64[] = "an IPv6 address range within one /64 (prefixes /64 to /128)";
static const char range_big[] = "an address range of at most 2^32 addresses";
static const char mac_is[] = "a MAC address (like 02:00:00:00:00:01)";
static const char listen_is[] = "a place to listen at (like 127.0.0.1:9464, [::1]:9464 or 9464)";

static const char server_is[] =
	"an address or a host name, with or without a port (like 198.18.0.1, "
	"ns1.example.net:53, [2001:db8::1]:53 or fe80::1%eth0)";
static const char several_servers[] =
	"one server (several are a list in a file, servers: [192.0.2.2, 192.0.2.3], beside the "
	"first)";

static const char server_port_is[] = "possible: the port is out of range (1 to 65535)";
static const char listen_port_is[] = "possible: the port is out of range (0 to 65535)";

static int addr_refuse(const char **what, const char *text)
{
	*what = text;
	return -EINVAL;
}

// The len characters at text, which need not end there.
static int addr_parse_part(const char *text, size_t len, struct addr *out)
{
	char buf[INET6_ADDRSTRLEN];

	memset(out, 0, sizeof(*out));
	if (len >= sizeof(buf))
		return -EINVAL;
	memcpy(buf, text, len);
	buf[len] = 0;
	if (inet_pton(AF_INET, buf, out->bytes) == 1) {
		out->len = 4;
		return 0;
	}
	memset(out->bytes, 0, sizeof(out->bytes));
	if (inet_pton(AF_INET6, buf, out->bytes) != 1)
		return -EINVAL;
	out->len = 16;
	return 0;
}

int addr_parse(const char *text, struct addr *out, const char **what)
{
	if (addr_parse_part(text, strlen(text), out) != 0)
		return addr_refuse(what, addr_is);
	return 0;
}

int addr_parse_prefix(const char *text, struct addr_prefix *out, const char **what)
{
	const char *slash = strchr(text, '/');
	unsigned bits = 0;
	size_t digits;

	memset(out, 0, sizeof(*out));
	if (!slash || addr_parse_part(text, (size_t)(slash - text), &out->addr) != 0)
		return addr_refuse(what, prefix_is);
	digits = strspn(slash + 1, "0123456789");
	if (digits == 0 || digits > 3 || slash[1 + digits] || (digits > 1 && slash[1] == '0'))
		return addr_refuse(what, prefix_is);
	for (size_t i = 1; i <= digits; i++)
		bits = bits * 10 + (unsigned)(slash[i] - '0');
	if (bits > out->addr.len * 8u)
		return addr_refuse(what, prefix_is);
	out->bits = (uint8_t)bits;
	return 0;
}

static void addr_clear_host(struct addr *a, unsigned bits)
{
	for (unsigned i = 0; i < a->len; i++) {
		unsigned kept = bits > i * 8 ? bits - i * 8 : 0;

		if (kept < 8)
			a->bytes[i] &= (uint8_t)(0xff00u >> kept);
	}
}

static int range_of_prefix(const char *text, struct addr_range *out, const char **what)
{
	struct addr_prefix p;
	unsigned host;

	if (addr_parse_prefix(text, &p, what) != 0)
		return addr_refuse(what, range_is);
	host = p.addr.len * 8u - p.bits;
	if (host > 64)
		return addr_refuse(what, range_64);
	addr_clear_host(&p.addr, p.bits);
	out->first = p.addr;
	out->count = host < 32 ? UINT64_C(1) << host : RANGE_MAX;
	return 0;
}

static uint64_t addr_low64(const struct addr *a)
{
	uint64_t low = 0;

	for (unsigned i = a->len == 4 ? 0 : 8; i < a->len; i++)
		low = low << 8 | a->bytes[i];
	return low;
}

static int range_of_ends(
	const char *text, const char *dash, struct addr_range *out, const char **what)
{
	struct addr last;
	uint64_t low, high;

	if (addr_parse_part(text, (size_t)(dash - text), &out->first) != 0 ||
		addr_parse_part(dash + 1, strlen(dash + 1), &last) != 0)
		return addr_refuse(what, range_is);
	if (out->first.len != last.len)
		return addr_refuse(what, range_family);
	if (last.len == 16 && memcmp(out->first.bytes, last.bytes, 8) != 0)
		return addr_refuse(what, range_64);
	low = addr_low64(&out->first);
	high = addr_low64(&last);
	if (high < low)
		return addr_refuse(what, range_order);
	if (high - low >= RANGE_MAX)
		return addr_refuse(what, range_big);
	out->count = high - low + 1;
	return 0;
}

int addr_parse_range(const char *text, struct addr_range *out, const char **what)
{
	const char *dash = strchr(text, '-');
	int rc;

	memset(out, 0, sizeof(*out));
	out->count = 1;
	if (dash)
		rc = range_of_ends(text, dash, out, what);
	else if (strchr(text, '/'))
		rc = range_of_prefix(text, out, what);
	else
		rc = addr_parse_part(text, strlen(text), &out->first) ? addr_refuse(what, range_is)
		                                                      : 0;
	if (rc != 0)
		*out = (struct addr_range){.count = 1};
	return rc;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int addr_parse_mac(const char *text, uint8_t out[6], const char **what)
{
	uint8_t mac[6];

	if (strlen(text) != 17)
		return addr_refuse(what, mac_is);
	for (unsigned i = 0; i < 6; i++) {
		int high = hex_digit(text[i * 3]), low = hex_digit(text[i * 3 + 1]);

		if (high < 0 || low < 0 || (i < 5 && text[i * 3 + 2] != ':'))
			return addr_refuse(what, mac_is);
		mac[i] = (uint8_t)(high << 4 | low);
	}
	memcpy(out, mac, 6);
	return 0;
}

int addr_parse_listen(const char *text, struct addr *out, uint16_t *port, const char **what)
{
	const char *colon = strrchr(text, ':'), *digits = colon ? colon + 1 : text;
	size_t count = strlen(digits), len = (size_t)(colon ? colon - text : 0);
	bool v6 = len > 2 && text[0] == '[' && text[len - 1] == ']';
	unsigned long number = strtoul(digits, NULL, 10);

	*out = (struct addr){.len = 4, .bytes = {127, 0, 0, 1}};
	if (count == 0 || strspn(digits, "0123456789") != count || (count > 1 && *digits == '0'))
		return addr_refuse(what, listen_is);
	if (colon && (addr_parse_part(text + v6, len - 2 * v6, out) < 0 || (out->len == 16) != v6))
		return addr_refuse(what, listen_is);
	if (number > UINT16_MAX)
		return addr_refuse(what, listen_port_is);
	*port = (uint16_t)number;
	return 0;
}

// RFC 4291 section 2.5.5.2.
static void unmap(struct addr *a)
{
	static const uint8_t mapped[12] = {[10] = 0xff, 0xff};

	if (a->len != 16 || memcmp(a->bytes, mapped, sizeof(mapped)) != 0)
		return;
	a->len = 4;
	memmove(a->bytes, a->bytes + 12, 4);
	memset(a->bytes + 4, 0, 12);
}

// The characters up to `end`, or -EINVAL.
static int copy_part(const char *text, const char *end, char *out, size_t room)
{
	size_t len = (size_t)(end - text);

	if (len == 0 || len >= room)
		return -EINVAL;
	memcpy(out, text, len);
	out[len] = '\0';
	return 0;
}

int addr_parse_server(const char *text, struct addr_server *out, const char **what)
{
	const char *colon, *end, *port = NULL, *link;
	unsigned long number;

	*out = (struct addr_server){.port = 0};
	*what = strchr(text, ',') ? several_servers : server_is;
	text += *text == '@';
	colon = strchr(text, ':');
	end = strpbrk(text, *text == '[' ? "]" : "#");
	if (*text == '[') {
		if (!end || (end[1] && end[1] != ':' && end[1] != '#'))
			return -EINVAL;
		port = end[1] ? end + 2 : NULL;
		text++;
	} else if (end) {
		port = end + 1;
	} else if (colon && !strchr(colon + 1, ':')) {
		end = colon;
		port = colon + 1;
	} else {
		end = text + strlen(text);
	}
	if (port) {
		number = strtoul(port, NULL, 10);
		if (!*port || port[strspn(port, "0123456789")])
			return -EINVAL;
		if (number == 0 || number > UINT16_MAX)
			return addr_refuse(what, server_port_is);
		out->port = (uint16_t)number;
	}
	link = memchr(text, '%', (size_t)(end - text));
	if ((link && copy_part(link + 1, end, out->link, sizeof(out->link)) < 0) ||
		copy_part(text, link ? link : end, out->host, sizeof(out->host)) < 0)
		return -EINVAL;
	if (addr_parse_part(out->host, strlen(out->host), &out->addr) < 0)
		out->addr.len = 0;
	unmap(&out->addr);
	return out->addr.len == 0 && (link || strpbrk(out->host, ",:[]@ ")) ? -EINVAL : 0;
}

const char *addr_format(const struct addr *a, char *buf, size_t room)
{
	if (a->len == 0)
		snprintf(buf, room, "none");
	else if (!inet_ntop(a->len == 4 ? AF_INET : AF_INET6, a->bytes, buf, (socklen_t)room))
		buf[0] = 0;
	return buf;
}

// The prefix length of a range that is a whole prefix, or -1.
static int range_bits(const struct addr_range *r)
{
	if (r->count < 2 || (r->count & (r->count - 1)) != 0 ||
		(addr_low64(&r->first) & (r->count - 1)) != 0)
		return -1;
	return r->first.len * 8 - __builtin_ctzll(r->count);
}

const char *addr_format_range(const struct addr_range *r, char *buf, size_t room)
{
	char text[ADDR_TEXT_SIZE];
	int bits = range_bits(r);
	struct addr last;
	size_t len;

	addr_format(&r->first, buf, room);
	len = strlen(buf);
	if (r->count < 2 || r->first.len == 0)
		return buf;
	if (bits >= 0) {
		snprintf(buf + len, room - len, "/%d", bits);
		return buf;
	}
	last = addr_nth(r, r->count - 1);
	snprintf(buf + len, room - len, "-%s", addr_format(&last, text, sizeof(text)));
	return buf;
}

const char *addr_format_prefix(const struct addr_prefix *p, char *buf, size_t room)
{
	size_t len = strlen(addr_format(&p->addr, buf, room));

	if (p->addr.len != 0)
		snprintf(buf + len, room - len, "/%u", p->bits);
	return buf;
}

const char *addr_format_mac(const uint8_t mac[6], char *buf, size_t room)
{
	snprintf(buf, room, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4],
		mac[5]);
	return buf;
}

bool addr_in_prefix(const struct addr *a, const struct addr_prefix *p)
{
	struct addr left = *a, right = p->addr;

	if (a->len != p->addr.len || a->len == 0)
		return false;
	addr_clear_host(&left, p->bits);
	addr_clear_host(&right, p->bits);
	return addr_equal(&left, &right);
}

bool addr_is_multicast(const struct addr *a)
{
	return a->len == 4 ? a->bytes[0] >> 4 == 0xe : a->len == 16 && a->bytes[0] == 0xff;
}

bool addr_is_link_local(const struct addr *a)
{
	if (a->len == 4)
		return a->bytes[0] == 169 && a->bytes[1] == 254;
	return a->len == 16 && a->bytes[0] == 0xfe && (a->bytes[1] & 0xc0) == 0x80;
}
