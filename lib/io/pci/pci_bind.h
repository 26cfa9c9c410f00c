// SPDX-License-Identifier: BSD-3-Clause
// The binding of network cards to vfio-pci, and the way back. The former driver and the interfaces
// of a card are kept in a file of the state directory (io/driver/state.h), which lasts as long as
// the binding: until the machine is restarted. Path: cold. Management thread.
#pragma once

#include "io/pci/pci.h"

// Bind these cards to vfio-pci, after pci_check of all; loads the module. dir: of the records.
// user: gets the right to use them, NULL: root alone. Either all are bound, or none and they are
// as before, with e. A card that is bound already stays so.
int pci_bind(const struct pci_box *b, char *const *addresses, unsigned count, bool force,
	const char *user, const char *dir, struct io_error *e);
// Give the card at this address back to the driver that it had (to the one that the kernel chooses,
// if ddiperf did not bind it), and set its interfaces as they were, up and with their MTU. 0, or
// -errno with e: -ENODEV, -EINVAL (it is not bound), -EBUSY (a process uses it).
int pci_unbind(const struct pci_box *b, const char *address, const char *dir, struct io_error *e);
