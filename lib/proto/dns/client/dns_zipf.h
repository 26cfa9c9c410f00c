// SPDX-License-Identifier: BSD-3-Clause
// Zipf-distributed choice in constant time; dns_request_wire.h draws from the table. Path: cold
// (building) | hot (the struct). Any thread.
#pragma once

#include <stdint.h>

// Walker's alias table: column i yields i for a fraction below keep, otherwise `other`.
struct dns_alias {
	uint32_t keep; // of 2^32
	uint32_t other;
};

// Build the table for weights 1/rank^exponent; NULL: out of memory. free() it.
struct dns_alias *dns_zipf_build(uint32_t count, double exponent);
