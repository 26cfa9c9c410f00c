// SPDX-License-Identifier: BSD-3-Clause
// Names of clients (RFC 4702, RFC 4704) from patterns: as labels of DNS, and whether they can be.
// Path: hot (labels) | cold (check). Any thread.
#pragma once

#include "base/pattern.h"

#define DHCP_LABEL_MAX 63

// Dotted text, one byte behind `at`, to labels with their length in front (RFC 1035 section 3.1).
// One label alone is a partial name: it gets no root.
void dhcp_name_labels(struct writer *w, uint8_t *at);
// Has every label of the last client's name 1 to DHCP_LABEL_MAX characters?
bool dhcp_name_check(const struct pattern *p, uint64_t clients);
