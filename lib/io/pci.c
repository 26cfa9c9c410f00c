// SPDX-License-Identifier: BSD-3-Clause
// May DPDK have this PCI card? Its kernel driver, its VFIO group, and what the host does with it.
// Not here: binding. Path: cold. Management thread.
#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/driver.h"
#include "io/explain.h"
#include "io/netif.h"
#include "io/preflight.h"

// Name of the kernel driver of a PCI device, "" for none.
static void pci_kernel_driver(const char *bdf, char *name, size_t room)
{
	char link[128], target[PATH_MAX];
	ssize_t len;

	snprintf(link, sizeof(link), "/sys/bus/pci/devices/%s/driver", bdf);
	len = readlink(link, target, sizeof(target) - 1);
	target[len > 0 ? len : 0] = '\0';
	snprintf(name, room, "%s", basename(target));
	if (len <= 0)
		name[0] = '\0';
}

static bool is_one_of(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(name, *list))
			return true;
	return false;
}

// Cards that DPDK shares with their kernel driver must not carry what the host uses either.
static int check_shared_card(const struct port_settings *p, const char *bdf, struct io_error *e)
{
	struct port_settings shown = *p;
	char path[128];
	struct dirent *entry;
	struct netif *list;
	unsigned count;
	int err = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/net", bdf);
	d = opendir(path);
	if (!d || p->force || netif_list(&list, &count) < 0) {
		if (d)
			closedir(d);
		return 0;
	}
	while (!err && (entry = readdir(d))) {
		const struct netif *n = netif_find(list, count, entry->d_name);

		shown.device = entry->d_name;
		err = n ? preflight_users(&shown, n, list, count, e) : 0;
	}
	closedir(d);
	free(list);
	return err;
}

static int check_vfio(const struct port_settings *p, const char *bdf, struct io_error *e)
{
	char link[128], target[PATH_MAX], path[PATH_MAX];
	ssize_t len;

	snprintf(link, sizeof(link), "/sys/bus/pci/devices/%s/iommu_group", bdf);
	len = readlink(link, target, sizeof(target) - 1);
	if (len <= 0)
		return 0; // without an IOMMU the group has another name; DPDK will say
	target[len] = '\0';
	snprintf(path, sizeof(path), "/dev/vfio/%.32s", basename(target));
	if (access(path, R_OK | W_OK) == 0)
		return 0;
	return port_fail(e, p, -EPERM, "%s: %s: run as root, or `sudo chown %u %s`", path,
		strerror(errno), (unsigned)getuid(), path);
}

int preflight_pci(const struct port_settings *p, struct io_error *e)
{
	static const char *const for_dpdk[] = {"vfio-pci", "igb_uio", "uio_pci_generic", NULL};
	static const char *const shared[] = {"mlx4_core", "mlx5_core", "mana", NULL};
	char bdf[32], path[128], kernel[64];
	const char *why;

	if (driver_of(p)->devargs(p, 0, bdf, sizeof(bdf), &why) < 0)
		return port_fail(e, p, -EINVAL, "%s", why);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", bdf);
	if (access(path, F_OK) < 0)
		return port_fail(e, p, -ENODEV,
			"there is no such PCI device: "
			"`dpdk-devbind.py --status-dev net` lists them");
	pci_kernel_driver(bdf, kernel, sizeof(kernel));
	if (is_one_of(kernel, shared))
		return check_shared_card(p, bdf, e);
	if (!is_one_of(kernel, for_dpdk))
		return port_fail(e, p, -EBUSY,
			"it is with the kernel driver %s: `modprobe vfio-pci`, then "
			"`dpdk-devbind.py -b vfio-pci %s`",
			kernel[0] ? kernel : "\"none\"", bdf);
	return strcmp(kernel, "vfio-pci") ? 0 : check_vfio(p, bdf, e);
}
