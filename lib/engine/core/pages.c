// SPDX-License-Identifier: BSD-3-Clause
// Anonymous mappings with transparent huge pages: independent of EAL's memory mode.
// Path: cold. Management thread.
#include "engine/core/pages.h"

#include <string.h>
#include <sys/mman.h>

#define HUGE_SIZE (2u << 20)

static size_t round_up(size_t size)
{
	return (size + HUGE_SIZE - 1) & ~(size_t)(HUGE_SIZE - 1);
}

void *pages_reserve(size_t size)
{
	void *p = mmap(
		NULL, round_up(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void *pages_alloc(size_t size)
{
	size_t len = round_up(size);
	void *p = pages_reserve(size);

	if (!p)
		return NULL;
	madvise(p, len, MADV_HUGEPAGE);
	memset(p, 0, len);
	return p;
}

void pages_free(void *p, size_t size)
{
	if (p)
		munmap(p, round_up(size));
}
