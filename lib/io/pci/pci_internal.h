// SPDX-License-Identifier: BSD-3-Clause
// Shared by pci.c and pci_bind.c: files of sysfs, and the single checks. Paths are formats relative
// to pci_box.root. Path: cold. Management thread.
#pragma once

#include <dirent.h>
#include <limits.h>
#include <stdarg.h>

#include "io/pci/pci.h"

#define VFIO  "vfio-pci"
#define SYS   "/sys"
#define CARDS SYS "/bus/pci/devices"

__attribute__((format(printf, 3, 0))) void pci_path(
	const struct pci_box *b, char path[PATH_MAX], const char *fmt, va_list args);
// The first line of a file, "" if it cannot be read. Returns text.
__attribute__((format(printf, 3, 4))) const char *pci_text(
	const struct pci_box *b, char text[PCI_ID_SIZE], const char *fmt, ...);
// The last part of a link's target, "" if it cannot be read. Returns name.
__attribute__((format(printf, 3, 4))) const char *pci_link(
	const struct pci_box *b, char name[PCI_ID_SIZE], const char *fmt, ...);
// As access(2).
__attribute__((format(printf, 3, 4))) bool pci_has(
	const struct pci_box *b, int mode, const char *fmt, ...);
// Calls each for every interface of a card in sysfs. Returns false if sysfs hides some.
bool pci_each_interface(const struct pci_box *b, const char *bdf,
	void (*each)(const struct dirent *entry, void *ctx), void *ctx);

// The parts of pci_check.
int pci_check_use(
	const struct pci_box *b, const struct pci_card *c, bool force, struct io_error *e);
int pci_check_group(const struct pci_box *b, const struct pci_card *c, char *const *with,
	unsigned count, struct io_error *e);
int pci_check_iommu(const struct pci_box *b, const struct pci_card *c, struct io_error *e);
