// SPDX-License-Identifier: BSD-3-Clause
// A line of a file of leases to a record, column by column. Path: cold. Management thread.

#include "proto/dhcp/dhcp_lease_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"

#define COLUMNS       5
#define SERVERS_MAX   1024
#define SERVER_ID_MIN 3 // bytes of a DUID

static bool number_read(const char *text, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
}

static const char *client_read(const struct dhcp_lease_loading *l, const char *text, uint32_t *out)
{
	uint64_t client;

	if (!number_read(text, &client))
		return "not the number of a client in the first column";
	*out = (uint32_t)client;
	return client < l->of->count ? NULL : "a client beyond those of the item";
}

static const char *mac_check(const struct dhcp_lease_loading *l, const char *text, uint32_t client)
{
	uint8_t theirs[DHCP_MAC_MAX] = {0}, ours[DHCP_MAC_MAX] = {0};
	uint32_t len = dhcp_mac_read(text, theirs);

	if (len == 0)
		return "not a MAC address in the second column";
	l->of->mac(l->of->plan, client, ours);
	return len == l->of->mac_len && memcmp(theirs, ours, len) == 0
	               ? NULL
	               : "the client has another MAC address now";
}

// Neither 0.0.0.0 nor ::, nor a prefix with bits behind its length.
static bool is_lease(const struct dhcp_lease_loading *l, const struct addr_prefix *p)
{
	uint32_t set = 0;

	for (uint32_t bit = 0; bit < 8u * p->addr.len; bit++)
		if (p->addr.bytes[bit / 8] >> (7 - bit % 8) & 1)
			set = bit + 1;
	return p->addr.len == l->of->addr_len && set > 0 &&
	       (p->bits == 0 || (set <= p->bits && p->bits <= l->of->prefix_max));
}

static const char *lease_read(
	const struct dhcp_lease_loading *l, const char *text, struct dhcp_saved *out)
{
	bool is_prefix = strchr(text, '/') != NULL;
	struct addr_prefix p = {.bits = 0};
	const char *what;
	int ret = is_prefix ? addr_parse_prefix(text, &p, &what) : addr_parse(text, &p.addr, &what);

	if (ret < 0 || !is_lease(l, &p) || (is_prefix && p.bits == 0))
		return l->of->addr_len == 4 ? "not an IPv4 address in the third column"
		                            : "not an IPv6 address or prefix in the third column";
	if (is_prefix ? !l->of->prefixes : !l->of->addresses)
		return is_prefix ? "a prefix, which the clients do not ask for"
		                 : "an address, which the clients do not ask for";
	out->bits = p.bits;
	memcpy(out->bytes, p.addr.bytes, sizeof(out->bytes));
	return NULL;
}

static bool server_id_read(uint8_t addr_len, const char *text, struct dhcp_server_id *id)
{
	static const uint8_t none[4];
	const char *what;
	struct addr a;
	int len;

	if (addr_len == 16) {
		len = dhcp_hex_read(text, id->bytes, sizeof(id->bytes));
		id->len = len > 0 ? (uint8_t)len : 0;
		return len >= SERVER_ID_MIN;
	}
	if (addr_parse(text, &a, &what) < 0 || a.len != 4 || memcmp(a.bytes, none, 4) == 0)
		return false;
	id->len = 4;
	memcpy(id->bytes, a.bytes, 4);
	return true;
}

// Mostly that of the line before.
static int server_find(struct dhcp_lease_loading *l, const struct dhcp_server_id *id, uint16_t *out)
{
	const struct dhcp_server_id *known = l->servers.items;

	for (uint32_t i = l->servers.count; i-- > 0;)
		if (memcmp(&known[i], id, sizeof(*id)) == 0) {
			*out = (uint16_t)i;
			return 0;
		}
	if (l->servers.count == SERVERS_MAX)
		return -EINVAL;
	*out = (uint16_t)l->servers.count;
	return dhcp_rows_add(&l->servers, id) ? 0 : -ENOMEM;
}

static const char *time_read(const struct dhcp_lease_loading *l, const char *text, uint32_t *left_s)
{
	uint64_t expires;

	*left_s = UINT32_MAX;
	if (strcmp(text, "never") == 0)
		return NULL;
	if (!number_read(text, &expires))
		return "not seconds since 1970, or \"never\", in the fifth column";
	if (expires - l->now < UINT32_MAX)
		*left_s = (uint32_t)(expires - l->now);
	if (expires < l->now)
		*left_s = 0;
	return NULL;
}

static const char *count_check(struct dhcp_lease_loading *l, const struct dhcp_saved *one)
{
	uint32_t most = one->bits ? l->of->prefixes : l->of->addresses;

	if (l->seen[one->client][one->bits > 0]++ < most)
		return NULL;
	if (l->of->addresses + l->of->prefixes == 1)
		return "a client for the second time";
	return one->bits ? "more prefixes than the client asks for"
	                 : "more addresses than the client asks for";
}

static const char *columns_split(char *line, char *columns[COLUMNS])
{
	for (int i = 0; i < COLUMNS; i++) {
		columns[i] = strsep(&line, ",");
		if (!columns[i])
			return "not five columns (" DHCP_LEASE_HEADING ")";
	}
	return line ? "not five columns (" DHCP_LEASE_HEADING ")" : NULL;
}

static const char *columns_read(struct dhcp_lease_loading *l, char *columns[COLUMNS],
	struct dhcp_saved *one, struct dhcp_server_id *id)
{
	const char *what = client_read(l, columns[0], &one->client);

	if (!what)
		what = lease_read(l, columns[2], one);
	if (!what && !server_id_read(l->of->addr_len, columns[3], id))
		what = l->of->addr_len == 4 ? "not an IPv4 address in the fourth column"
		                            : "not a DUID in the fourth column";
	if (!what)
		what = time_read(l, columns[4], &one->left_s);
	if (!what)
		what = mac_check(l, columns[1], one->client);
	return what ? what : count_check(l, one);
}

int dhcp_lease_line(void *to, char *line, const char **what)
{
	struct dhcp_lease_loading *l = to;
	struct dhcp_saved one = {.line = l->line++};
	struct dhcp_server_id id = {.len = 0};
	char *columns[COLUMNS];
	int ret;

	if (strcmp(line, DHCP_LEASE_HEADING) == 0)
		return 0;
	*what = columns_split(line, columns);
	if (!*what)
		*what = columns_read(l, columns, &one, &id);
	if (*what)
		return -EINVAL;
	ret = server_find(l, &id, &one.server);
	if (ret == -EINVAL)
		*what = "of one server too many";
	if (ret == 0 && !dhcp_rows_add(&l->leases, &one))
		ret = -ENOMEM;
	return ret;
}
