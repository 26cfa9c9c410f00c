// SPDX-License-Identifier: BSD-3-Clause
// What a ring or a pool of DPDK orders between two CPUs, told to ThreadSanitizer, which cannot see
// into the library: who gets an mbuf sees what its last owner wrote. Nothing in any other build.
// Path: hot. Whoever owns the mbufs.
#pragma once

#include <stdint.h>

struct rte_mbuf;

#if defined(__SANITIZE_THREAD__)
#define HANDOVER_IS_TOLD 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HANDOVER_IS_TOLD 1
#endif
#endif

#ifdef HANDOVER_IS_TOLD
#include <sanitizer/tsan_interface.h>
#endif

// Before they go to a driver or a pool.
static inline void handover_give(struct rte_mbuf **pkts, uint16_t n)
{
#ifdef HANDOVER_IS_TOLD
	for (uint16_t i = 0; i < n; i++)
		__tsan_release(pkts[i]);
#endif
}

// After they came from there.
static inline void handover_take(struct rte_mbuf **pkts, uint16_t n)
{
#ifdef HANDOVER_IS_TOLD
	for (uint16_t i = 0; i < n; i++)
		__tsan_acquire(pkts[i]);
#endif
}
