// SPDX-License-Identifier: BSD-3-Clause
// The checks before EAL that all ports have in common: plug-in, capabilities, memory. The device
// itself is checked in preflight_device.c. Each refusal names the command or setting that helps.
// Path: cold. Management thread.
#include "io/doctor/preflight.h"
#include "io/driver/driver.h"
#include "io/driver/memory.h"
#include "io/port_state.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "io/driver/explain.h"
#include "io/host/privileges.h"

#define MIB (UINT64_C(1) << 20)

static int check_capabilities(const struct port_settings *p, struct io_error *e)
{
	uint64_t missing = port_is_files(p) ? 0 : driver_of(p)->caps & ~capabilities_now();
	char names[128], command[512];

	if (!missing)
		return 0;
	return port_fail(e, p, -EPERM, "%s missing: run as root, or %s",
		capabilities_names(missing, names, sizeof(names)),
		capabilities_command(driver_least_caps(driver_of(p)), command, sizeof(command)));
}

// The kernel locks packet memory against the limit of processes without CAP_IPC_LOCK.
static int check_memory_lock(const struct port_settings *p, struct io_error *e)
{
	const struct driver *d = driver_of(p);
	uint64_t need = d->xdp ? port_memory(p) : d->locks ? d->locks(p) : 0;
	struct rlimit limit;

	if (!need || capabilities_now() & NEED_CAP(CAP_IPC_LOCK))
		return 0;
	if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0)
		return 0;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_MEMLOCK, &limit);
	if (limit.rlim_max >= need)
		return 0;
	return port_fail(e, p, -EPERM,
		"its packet memory needs %" PRIu64 " KiB that are locked, and the limit is %" PRIu64
		": run as root, or `ulimit -l unlimited`, or give the program CAP_IPC_LOCK",
		need / 1024, (uint64_t)limit.rlim_max / 1024);
}

static int check_plugin(const struct port_settings *p, struct io_error *e)
{
	const char *bus = port_is_pci(p) ? "bus_pci" : "bus_vdev";
	char path[256];

	if (driver_of(p)->pmd && driver_plugin(driver_of(p)->pmd, path, sizeof(path)) < 0)
		return port_fail(e, p, -ENOENT,
			"DPDK's driver is not installed (%s): "
			"`apt-get install %s`",
			path, driver_of(p)->package);
	if (driver_plugin("mempool_ring", path, sizeof(path)) < 0 ||
		driver_plugin(bus, path, sizeof(path)) < 0)
		return port_fail(e, p, -ENOENT,
			"a part of DPDK is not installed (%s): "
			"`apt-get install librte-meta-mempool librte-meta-bus`",
			path);
	return 0;
}

static int check_hugepages(
	const struct port_settings *p, const struct host_settings *h, struct io_error *e)
{
	uint64_t need = port_memory(p), have = hugepages_free();
	bool wanted = h->memory == MEMORY_HUGEPAGES || driver_of(p)->hugepages_only;

	if (!wanted || have >= need)
		return 0;
	return port_fail(e, p, -ENOMEM,
		"needs %" PRIu64 " MiB of hugepages and %" PRIu64 " are free: "
		"`echo %" PRIu64 " > /proc/sys/vm/nr_hugepages`%s",
		need / MIB + 1, have / MIB, hugepages_to_set(need + 128 * MIB),
		driver_of(p)->hugepages_only ? "" : ", or host.memory: pages");
}

static int check_port(
	const struct port_settings *p, const struct host_settings *h, struct io_error *e)
{
	int err = check_plugin(p, e);

	if (!err)
		err = check_capabilities(p, e);
	if (!err)
		err = check_memory_lock(p, e);
	if (!err)
		err = preflight_device(p, e);
	return err ? err : check_hugepages(p, h, e);
}

int port_preflight(const struct port_settings *p, const struct host_settings *h, struct io_error *e)
{
	struct port_settings as;
	char name[64];
	int err = 0;

	for (unsigned n = 0; !err && port_of_devargs(p, n, &as, name, sizeof(name)); n++)
		err = check_port(&as, h, e);
	return err ? err : check_port(p, h, e);
}
