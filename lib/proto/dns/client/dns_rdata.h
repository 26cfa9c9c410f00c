// SPDX-License-Identifier: BSD-3-Clause
// Converts records from master file text (RFC 1035 section 5) to wire form, uncompressed. The only
// user of ldns. Path: cold. Management thread.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"

// Parse RDATA of that type. origin: suffix of relative names, in wire form. Returns the length, or
// -EINVAL with *reason set to a static text.
int dns_rdata_from_text(uint16_t type, const char *text, size_t len, const uint8_t *origin,
	uint32_t origin_len, uint8_t rdata[UINT16_MAX], const char **reason);

// Takes a record: owner, type, class, TTL, RDLENGTH and RDATA, in wire format. NULL, or the error.
typedef const char *dns_record_take(void *to, const uint8_t *record, uint32_t len);

// Read each record of the zone file f; name stands for it in errors. 0, or -EINVAL with the reasons
// in d.
int dns_records_read(FILE *f, const char *name, dns_record_take *take, void *to, struct diag *d);
