// SPDX-License-Identifier: BSD-3-Clause
// Sizes of pools from descriptors, and the kernel's hugepage figures. Path: cold. Management
// thread.
#include "io/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "io/driver.h"
#include "io/handoff.h"

#define PORT_OVERHEAD (4u << 20)
#define LCORE_CACHE   512 // mbufs: a pool's cache, with its flush threshold
#define POOL_OVERHEAD (256u << 10)

static uint64_t automatic(uint64_t set, uint64_t otherwise)
{
	return set && set != UINT64_MAX ? set : otherwise;
}

uint16_t port_rx_descriptors(const struct port_settings *p)
{
	return (uint16_t)automatic(p->rx_descriptors, driver_of(p)->descriptors);
}

uint16_t port_tx_descriptors(const struct port_settings *p)
{
	return (uint16_t)automatic(p->tx_descriptors, driver_of(p)->descriptors);
}

// Twice the descriptors (a driver may refill before it hands over, or free late) and the caches of
// the lcores.
static uint32_t automatic_mbufs(uint16_t descriptors)
{
	return rte_align32pow2(2u * descriptors + 1024) - 1;
}

// Packets that one worker received can wait in its rings to all others, and in the caches of their
// CPUs.
static uint32_t handed_over_mbufs(const struct port_settings *p)
{
	return (port_queue_count(p) - 1) * (HANDOFF_LANE + LCORE_CACHE);
}

uint32_t port_rx_mbufs(const struct port_settings *p)
{
	return (uint32_t)automatic(
		p->mbufs, automatic_mbufs(port_rx_descriptors(p)) + handed_over_mbufs(p));
}

uint32_t port_tx_mbufs(const struct port_settings *p)
{
	return (uint32_t)automatic(p->mbufs, automatic_mbufs(port_tx_descriptors(p)) + p->held);
}

bool port_has_dense_pools(const struct port_settings *p)
{
	return !driver_of(p)->dma;
}

// Of one pool. Where mbufs may not cross pages, one takes a whole page when the page is an ordinary
// one.
static uint64_t pool_memory(const struct port_settings *p, uint32_t mbufs)
{
	uint32_t element = (uint32_t)sizeof(struct rte_mbuf) + port_data_room(p);
	uint64_t size = rte_mempool_calc_obj_size(element, 0, NULL);
	uint64_t caches = RTE_MAX_LCORE * sizeof(struct rte_mempool_cache);

	if (!port_has_dense_pools(p))
		size = RTE_ALIGN_CEIL(size, 4096);
	// 16 bytes: the place of an mbuf in the ring of its pool, which has a power of two of them.
	return mbufs * (size + 16) + caches + POOL_OVERHEAD;
}

uint64_t port_memory(const struct port_settings *p)
{
	uint64_t queue = pool_memory(p, port_rx_mbufs(p)) + pool_memory(p, port_tx_mbufs(p));

	return PORT_OVERHEAD + port_queue_count(p) * queue;
}

uint64_t memory_available(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	char line[128];
	uint64_t kib = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib * 1024;
}

static uint64_t read_number(const char *folder, const char *file)
{
	char path[256];
	uint64_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%" SCNu64, &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

unsigned hugepages_read(struct hugepages out[HUGEPAGE_SIZES_MAX])
{
	static const uint64_t sizes_kib[HUGEPAGE_SIZES_MAX] = {64, 2048, 32768, 1048576};
	unsigned count = 0;

	for (unsigned i = 0; i < HUGEPAGE_SIZES_MAX; i++) {
		char folder[128];

		snprintf(folder, sizeof(folder), "/sys/kernel/mm/hugepages/hugepages-%" PRIu64 "kB",
			sizes_kib[i]);
		if (access(folder, F_OK) < 0)
			continue;
		out[count].size = sizes_kib[i] * 1024;
		out[count].total = read_number(folder, "nr_hugepages");
		out[count].free = read_number(folder, "free_hugepages");
		count++;
	}
	return count;
}

uint64_t hugepages_free(void)
{
	struct hugepages pages[HUGEPAGE_SIZES_MAX];
	unsigned count = hugepages_read(pages);
	uint64_t bytes = 0;

	for (unsigned i = 0; i < count; i++)
		bytes += pages[i].free * pages[i].size;
	return bytes;
}

// That file counts pages of the default size, which is 2 MiB wherever DPDK is used.
uint64_t hugepages_to_set(uint64_t bytes)
{
	struct hugepages pages[HUGEPAGE_SIZES_MAX];
	unsigned count = hugepages_read(pages);
	uint64_t have = hugepages_free(), page = 2 << 20, total = 0;

	for (unsigned i = 0; i < count; i++)
		if (pages[i].size == page)
			total = pages[i].total;
	return total + (bytes > have ? (bytes - have + page - 1) / page : 0);
}
