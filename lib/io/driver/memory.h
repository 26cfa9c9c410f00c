// SPDX-License-Identifier: BSD-3-Clause
// The packet memory that ports need, and the hugepages of the machine. Path: cold. Management
// thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/port_state.h"

// Effective numbers: the settings, or the defaults of the driver.
uint16_t port_rx_descriptors(const struct port_settings *p);
uint16_t port_tx_descriptors(const struct port_settings *p);
uint32_t port_rx_mbufs(const struct port_settings *p); // per queue
uint32_t port_tx_mbufs(const struct port_settings *p);

// Bytes that the port will take, all pools and rings.
uint64_t port_memory(const struct port_settings *p);

struct hugepages {
	uint64_t size; // bytes of one page
	uint64_t total, free;
};

// Bytes that the process can allocate without swapping: the rest of the machine's memory, or of the
// control group's limit (version 2). 0 if unknown.
uint64_t memory_available(void);

#define HUGEPAGE_SIZES_MAX 4

// The sizes this kernel knows, smallest first; returns their number.
unsigned hugepages_read(struct hugepages out[HUGEPAGE_SIZES_MAX]);
uint64_t hugepages_free(void); // bytes
// The value for /proc/sys/vm/nr_hugepages that makes `bytes` free.
uint64_t hugepages_to_set(uint64_t bytes);

// Pools of a queue pair. 0, or -ENOMEM with e.
int port_make_pools(struct port *port, unsigned q, struct io_error *e);
void port_free_pools(struct port *port); // of all its queue pairs; after all rings
int port_memory_socket(uint16_t id);     // nearest to an ethdev

// A ring per queue, which this port sends into and its peer receives from. 0, or -ENOMEM with e.
int port_make_rings(struct port *port, unsigned index, struct io_error *e);
void port_free_rings(struct port *port); // and the packets in them; without rings nothing
