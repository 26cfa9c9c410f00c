// SPDX-License-Identifier: BSD-3-Clause
// The binding of network cards to vfio-pci, and the way back. The former driver and the interfaces
// of a card are kept in a file of the state directory (io/driver/state.h), which lasts as long as
// the binding: until the machine is restarted. Path: cold. Management thread.
#pragma once

#include "io/pci/pci.h"

// Binds these cards to vfio-pci after checking all of them; loads the module. dir: folder of the
// records. user: gets the right to use the cards; NULL: root only. Either all cards are bound, or
// all are as before, with e. A bound card stays bound.
int pci_bind(const struct pci_box *b, char *const *addresses, unsigned count, bool force,
	const char *user, const char *dir, struct io_error *e);
// Returns the card at this address to its former driver (or to the kernel's choice, if ddiperf did
// not bind it), and restores the MTU and state of its interfaces. 0, or -errno with e: -ENODEV,
// -EINVAL (not bound), -EBUSY (a process uses it).
int pci_unbind(const struct pci_box *b, const char *address, const char *dir, struct io_error *e);
