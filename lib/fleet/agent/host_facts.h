// SPDX-License-Identifier: BSD-3-Clause
// The findings of doctor on this box, short enough for a message. It reads files of proc and sysfs
// for some milliseconds, so not while a run is in progress. Path: cold. Main thread.
#pragma once

#include <jansson.h>

// {cpus, model, memory_mb, memory_available_mb, hugepages_mb, kernel, dpdk, drivers, cards,
// interfaces, missing}: cpus that may be used, free hugepages, names of drivers, cards and
// interfaces usable for a test, and of missing things that every run needs. The caller owns it.
json_t *host_facts_box(void);
// {kept, error_ns}: is the clock kept (chrony, PTP), and the error that the kernel states for it,
// null: none. May be called at any time. The caller owns it.
json_t *host_facts_clock(void);
