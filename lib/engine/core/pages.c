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

void *pages_alloc(size_t size)
{
	size_t len = round_up(size);
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
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
