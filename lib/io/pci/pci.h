// SPDX-License-Identifier: BSD-3-Clause
// Network cards on the PCI bus and their kernel drivers: which of them may be given to DPDK. A card
// that carries the default route of this machine never is. Path: cold. Management thread.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/port_state.h"
#include "io/host/netif.h"

#define PCI_ID_SIZE 64 // room for a PCI address, a driver or an IOMMU group, as text

struct pci_card {
	char bdf[PCI_ID_SIZE];    // "0000:01:00.0"
	char id[16];              // vendor and device, "8086:10d3"
	char driver[PCI_ID_SIZE]; // of the kernel, "" without one
	char group[PCI_ID_SIZE];  // its IOMMU group, "" without one
	char interfaces[64];      // "eth1, eth2", of this network namespace; "" without one
	bool hidden;              // has an interface in another network namespace
	uint32_t functions;       // virtual functions that it has made
};

// The network cards of the machine, filled by pci_read.
struct pci_box {
	const char *root; // before /sys and /dev: "", or the folder of a test
	struct netif *interfaces;
	unsigned interface_count;
	struct pci_card *cards; // by address
	unsigned card_count;
};

// 0, or -errno if the kernel's interfaces cannot be listed. A machine without PCI has no cards.
int pci_read(struct pci_box *b);
void pci_free(struct pci_box *b);
// The card at an address, or NULL; "01:00.0" is in domain 0000.
const struct pci_card *pci_find(const struct pci_box *b, const char *address);
// The next interface of the card, the first for NULL; NULL after the last.
const struct netif *pci_interface(
	const struct pci_box *b, const struct pci_card *c, const struct netif *last);
// VFIO's file of a bound card, through which a process uses it.
void pci_node(const struct pci_box *b, const struct pci_card *c, char path[PATH_MAX]);

bool pci_is_shared(const struct pci_card *c); // DPDK uses it beside its kernel driver
bool pci_is_bound(const struct pci_card *c);  // its driver leaves it to DPDK
// Does a process use a card that is bound? VFIO's file opens for one process at a time.
bool pci_is_used(const struct pci_box *b, const struct pci_card *c);

// May the card be bound, together with the cards at these addresses? Changes nothing. With force
// also a card with addresses of the host, but never the card of the default route. 0, or -errno
// with the remedy in e.
int pci_check(const struct pci_box *b, const struct pci_card *c, char *const *with, unsigned count,
	bool force, struct io_error *e);
// The next step with the card as a sentence, or a command in backquotes; returns buf.
const char *pci_advice(const struct pci_box *b, const struct pci_card *c, char *buf, size_t room);
