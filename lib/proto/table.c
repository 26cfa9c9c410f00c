// SPDX-License-Identifier: BSD-3-Clause
// The table of protocols: add a row for each new one. Path: cold. Any thread.

#include "proto/table.h"

#include <stddef.h>
#include <string.h>

#include "proto/dhcp/dhcp.h"
#include "proto/dhcp/leasequery/leasequery.h"
#include "proto/dns/ddns/ddns.h"
#include "proto/dns/dns.h"
#include "proto/echo/echo.h"
#include "proto/ntp/ntp.h"

const struct proto *const protos[] = {
	&dns_proto,
	&dhcp4_proto,
	&dhcp6_proto,
	&ntp_proto,
	&echo_proto,
	&ddns_proto,
	&leasequery4_proto,
	&leasequery6_proto,
	NULL,
};

uint32_t proto_count(void)
{
	return sizeof(protos) / sizeof(protos[0]) - 1;
}

const struct proto *proto_find(const char *name)
{
	for (const struct proto *const *p = protos; *p; p++)
		if (strcmp((*p)->name, name) == 0)
			return *p;
	return NULL;
}
