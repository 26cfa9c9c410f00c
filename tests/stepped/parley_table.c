// SPDX-License-Identifier: BSD-3-Clause
// The table of protocols with parley in it, in place of proto/table.c. Path: tests only.
#include <string.h>

#include "proto/dns/dns.h"
#include "proto/table.h"

extern const struct proto parley_proto;

const struct proto *const protos[] = {&dns_proto, &parley_proto, NULL};

uint32_t proto_count(void)
{
	return 2;
}

const struct proto *proto_find(const char *name)
{
	return strcmp(name, "dns") == 0      ? &dns_proto
	       : strcmp(name, "parley") == 0 ? &parley_proto
	                                     : NULL;
}
