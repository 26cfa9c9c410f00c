// SPDX-License-Identifier: BSD-3-Clause
// For a target whose input is a program of its own, of single bytes: what it compares with
// constants says nothing about a better input, and telling libFuzzer takes a third of the time. The
// linker wraps its callbacks with these. Path: tests only.
#include <stdint.h>

#define NOTHING(name, type)                                                                        \
	void __wrap___sanitizer_cov_trace_##name(type a, type b);                                  \
	__attribute__((no_sanitize("coverage"))) void __wrap___sanitizer_cov_trace_##name(         \
		type a, type b)                                                                    \
	{                                                                                          \
	}

NOTHING(cmp1, uint8_t)
NOTHING(cmp2, uint16_t)
NOTHING(cmp4, uint32_t)
NOTHING(cmp8, uint64_t)
NOTHING(const_cmp1, uint8_t)
NOTHING(const_cmp2, uint16_t)
NOTHING(const_cmp4, uint32_t)
NOTHING(const_cmp8, uint64_t)
