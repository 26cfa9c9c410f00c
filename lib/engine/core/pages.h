// SPDX-License-Identifier: BSD-3-Clause
// Large tables for workers: zeroed, in huge pages where the kernel gives them, touched before the
// run starts so that no page fault happens in it. Path: cold. Management thread.
#pragma once

#include <stddef.h>

void *pages_alloc(size_t size); // NULL: out of memory
// Like pages_alloc, but small pages that take memory when they are first written.
void *pages_reserve(size_t size);
void pages_free(void *p, size_t size); // NULL allowed
