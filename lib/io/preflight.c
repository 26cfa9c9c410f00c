// SPDX-License-Identifier: BSD-3-Clause
// The checks before EAL that all ports have in common: plug-in, capabilities, memory. The device
// itself is checked in preflight_device.c. Each refusal names the command or setting that helps.
// Path: cold. Management thread.
#include "io/preflight.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/driver.h"
#include "io/explain.h"
#include "io/memory.h"

#define MIB (UINT64_C(1) << 20)

uint64_t capabilities_now(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &head, data) < 0)
		return 0;
	return data[0].effective | (uint64_t)data[1].effective << 32;
}

const char *capabilities_names(uint64_t caps, char *buf, size_t room)
{
	static const struct {
		unsigned number;
		const char *name;
	} names[] = {{CAP_NET_RAW, "CAP_NET_RAW"}, {CAP_NET_ADMIN, "CAP_NET_ADMIN"},
		{CAP_SYS_ADMIN, "CAP_SYS_ADMIN"}, {CAP_IPC_LOCK, "CAP_IPC_LOCK"}};
	size_t used = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]) && used < room; i++)
		if (caps & NEED_CAP(names[i].number))
			used += (size_t)snprintf(
				buf + used, room - used, "%s%s", used ? ", " : "", names[i].name);
	return buf;
}

static void lower_case(char *text)
{
	char *to = text;

	for (; *text; text++)
		if (*text != ' ')
			*to++ = *text >= 'A' && *text <= 'Z' ? (char)(*text + 32) : *text;
	*to = '\0';
}

static int check_capabilities(const struct port_settings *p, struct io_error *e)
{
	uint64_t need = driver_of(p)->caps, missing;
	char names[128], small[128], program[256];
	ssize_t len;

	if (driver_of(p)->files && !p->device)
		need = 0; // files
	missing = need & ~capabilities_now();
	if (!missing)
		return 0;
	capabilities_names(missing, names, sizeof(names));
	capabilities_names(
		driver_of(p)->xdp ? need | NEED_CAP(CAP_IPC_LOCK) : need, small, sizeof(small));
	lower_case(small);
	len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	program[len > 0 ? len : 0] = '\0';
	return port_fail(e, p, -EPERM, "%s missing: run as root, or `sudo setcap %s+ep %s`", names,
		small, program);
}

// The kernel locks the packet memory of XDP sockets against the limit of processes without
// CAP_IPC_LOCK.
static int check_memory_lock(const struct port_settings *p, struct io_error *e)
{
	uint64_t need = port_memory(p);
	struct rlimit limit;

	if (!driver_of(p)->xdp || capabilities_now() & NEED_CAP(CAP_IPC_LOCK))
		return 0;
	if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0)
		return 0;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_MEMLOCK, &limit);
	if (limit.rlim_max >= need)
		return 0;
	return port_fail(e, p, -EPERM,
		"XDP sockets need %" PRIu64 " KiB of locked memory and the limit is %" PRIu64
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

int port_preflight(const struct port_settings *p, const struct host_settings *h, struct io_error *e)
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
