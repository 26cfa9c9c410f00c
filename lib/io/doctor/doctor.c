// SPDX-License-Identifier: BSD-3-Clause
// Facts about this machine from proc, sysfs, netlink and the driver table. Path: cold. Management
// thread.
#include "io/doctor/doctor.h"

#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/capability.h>
#include <rte_version.h>

#include "base/arena.h"
#include "base/file.h"
#include "io/driver/driver.h"
#include "io/driver/memory.h"
#include "io/host/netif.h"
#include "io/pci/pci.h"
#include "io/host/privileges.h"

#define MIB (UINT64_C(1) << 20)

__attribute__((format(printf, 5, 6))) static struct doctor_row *add(struct doctor_report *r,
	const char *group, const char *name, enum doctor_status status, const char *fmt, ...)
{
	struct doctor_row *row;
	va_list args;

	r->rows = reallocarray(r->rows, r->count + 1, sizeof(*r->rows));
	if (!r->rows)
		arena_exhausted();
	row = &r->rows[r->count++];
	memset(row, 0, sizeof(*row));
	snprintf(row->group, sizeof(row->group), "%s", group);
	snprintf(row->name, sizeof(row->name), "%s", name);
	row->status = status;
	va_start(args, fmt);
	vsnprintf(row->text, sizeof(row->text), fmt, args);
	va_end(args);
	return row;
}

__attribute__((format(printf, 2, 3))) static void fix(struct doctor_row *row, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(row->fix, sizeof(row->fix), fmt, args);
	va_end(args);
}

// The value of the first line of /proc/cpuinfo that begins with key.
static void read_cpuinfo(const char *key, char *buf, size_t room)
{
	char line[8192];
	FILE *f = fopen("/proc/cpuinfo", "re");

	buf[0] = '\0';
	while (f && !buf[0] && fgets(line, sizeof(line), f)) {
		const char *value = strchr(line, ':');

		if (strncmp(line, key, strlen(key)) || !value)
			continue;
		value += strspn(value, ": \t");
		snprintf(buf, room, "%.*s", (int)strcspn(value, "\n"), value);
	}
	if (f)
		fclose(f);
}

static void add_cpus(struct doctor_report *r)
{
	char model[128], list[128];
	cpu_set_t set;
	int usable = sched_getaffinity(0, sizeof(set), &set) < 0 ? 0 : CPU_COUNT(&set);
	struct doctor_row *row;

	read_cpuinfo("model name", model, sizeof(model));
	row = add(r, "cpu", "CPUs", usable >= 3 ? DOCTOR_OK : DOCTOR_WARN, "%d usable (%s)", usable,
		model[0] ? model : "unknown model");
	if (usable < 3)
		fix(row, "exact timing needs one CPU for management and one for each worker");
	file_first_line("/sys/devices/system/cpu/isolated", list, sizeof(list));
	row = add(r, "cpu", "isolated CPUs", list[0] ? DOCTOR_OK : DOCTOR_WARN, "%s",
		list[0] ? list : "none: the kernel may interrupt workers");
	if (!list[0] && usable >= 3)
		fix(row, "boot with isolcpus=2-%d nohz_full=2-%d", usable - 1, usable - 1);
}

#if defined(__x86_64__)
static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = strstr(text, word); at; at = strstr(at + len, word))
		if ((at == text || at[-1] == ' ') && (!at[len] || at[len] == ' '))
			return true;
	return false;
}
#endif

static void add_clock(struct doctor_report *r)
{
	char flags[8192], source[64];
	struct doctor_row *row;

#if defined(__x86_64__)
	bool steady;

	read_cpuinfo("flags", flags, sizeof(flags));
	steady = has_word(flags, "constant_tsc") && has_word(flags, "nonstop_tsc");
	add(r, "cpu", "TSC", steady ? DOCTOR_OK : DOCTOR_WARN, "%s",
		steady ? "invariant"
		       : "not known to be invariant: latencies may be wrong when the frequency "
			 "changes");
#else
	(void)flags;
#endif
	file_first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
		sizeof(source));
	row = add(r, "cpu", "clock source", DOCTOR_OK, "%s", source[0] ? source : "unknown");
	if (strcmp(source, "hpet") && strcmp(source, "acpi_pm"))
		return;
	row->status = DOCTOR_WARN;
	fix(row, "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource");
}

static void add_governor(struct doctor_report *r)
{
	char governor[64];
	struct doctor_row *row;

	file_first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", governor,
		sizeof(governor));
	if (!governor[0])
		return;
	row = add(r, "cpu", "frequency governor", DOCTOR_OK, "%s", governor);
	if (!strcmp(governor, "performance"))
		return;
	row->status = DOCTOR_WARN;
	fix(row, "echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor");
}

static void add_hugepages(struct doctor_report *r)
{
	struct hugepages pages[HUGEPAGE_SIZES_MAX];
	unsigned count = hugepages_read(pages);
	struct doctor_row *row;
	char thp[64];

	for (unsigned i = 0; i < count; i++) {
		if (!pages[i].total && pages[i].size != 2 * MIB)
			continue;
		row = add(r, "memory", "hugepages", pages[i].free ? DOCTOR_OK : DOCTOR_WARN,
			"%" PRIu64 " of %" PRIu64 " free, %" PRIu64 " KiB each", pages[i].free,
			pages[i].total, pages[i].size / 1024);
		if (!pages[i].free)
			fix(row, "echo %" PRIu64 " > /proc/sys/vm/nr_hugepages",
				pages[i].total + 512);
	}
	if (!count)
		add(r, "memory", "hugepages", DOCTOR_WARN, "this kernel has none");
	file_first_line("/sys/kernel/mm/transparent_hugepage/enabled", thp, sizeof(thp));
	row = add(r, "memory", "transparent hugepages",
		strstr(thp, "[never]") ? DOCTOR_WARN : DOCTOR_OK, "%s", thp[0] ? thp : "none");
	if (strstr(thp, "[never]"))
		fix(row, "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
}

static void add_privileges(struct doctor_report *r)
{
	uint64_t all = NEED_CAP(CAP_NET_RAW) | NEED_CAP(CAP_NET_ADMIN) | NEED_CAP(CAP_SYS_ADMIN) |
	               NEED_CAP(CAP_IPC_LOCK);
	uint64_t have = capabilities_now() & all;
	char names[128], command[512];
	struct doctor_row *row;

	capabilities_names(have, names, sizeof(names));
	row = add(r, "privileges", "capabilities", have == all ? DOCTOR_OK : DOCTOR_WARN, "%s",
		names[0] ? names : "none: only socket, ring, null, memif and pcap files work");
	if (have != all)
		fix(row, "run as root, or for all drivers %s",
			capabilities_command(all, command, sizeof(command)));
}

// The help of the driver, and the capabilities that it needs.
static const char *describe(const struct driver *d, char *buf, size_t room)
{
	char names[128];

	capabilities_names(driver_least_caps(d), names, sizeof(names));
	snprintf(buf, room, "%s%s%s%s%s%s", d->help, names[0] ? "; needs " : "", names,
		names[0] && d->files ? ", files none" : "", d->caveat ? "; " : "",
		d->caveat ? d->caveat : "");
	return buf;
}

static void add_driver(struct doctor_report *r, const struct driver *d)
{
	uint64_t missing = d->caps & ~capabilities_now();
	char path[256], names[128], text[512], command[512];
	struct doctor_row *row;

	if (d->pmd && driver_plugin(d->pmd, path, sizeof(path)) < 0) {
		row = add(r, "drivers", d->name, DOCTOR_OFF, "not installed: %s", d->help);
		fix(row, "apt-get install %s", d->package);
		return;
	}
	if (missing) {
		capabilities_names(missing, names, sizeof(names));
		row = add(r, "drivers", d->name, DOCTOR_OFF, "%s missing: %s", names, d->help);
		fix(row, "run as root, or %s",
			capabilities_command(driver_least_caps(d), command, sizeof(command)));
		return;
	}
	row = add(r, "drivers", d->name, DOCTOR_OK, "%s", describe(d, text, sizeof(text)));
	if (d->device == DEVICE_TAP && access("/dev/net/tun", R_OK | W_OK) < 0) {
		row->status = DOCTOR_OFF;
		fix(row, "modprobe tun");
	}
	if (d->device == DEVICE_PCI && access("/dev/vfio/vfio", F_OK) < 0) {
		row->status = DOCTOR_WARN;
		fix(row, "ddiperf bind loads it (not needed for mlx4 and mlx5 cards)");
	}
}

static void add_drivers(struct doctor_report *r)
{
	static const char *const parts[] = {"mempool_ring", "bus_vdev"};
	char path[256];
	struct doctor_row *row;

	add(r, "drivers", "DPDK", DOCTOR_OK, "%s", rte_version());
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (driver_plugin(parts[i], path, sizeof(path)) == 0)
			continue;
		row = add(r, "drivers", parts[i], DOCTOR_MISSING, "not installed: %s", path);
		fix(row, "apt-get install librte-meta-mempool librte-meta-bus");
	}
	for (unsigned i = 0; i < driver_count; i++)
		add_driver(r, &drivers[i]);
}

static void add_addresses(const struct netif *n, char *buf, size_t room)
{
	size_t used = strlen(buf);
	char text[ADDR_TEXT_SIZE];

	for (uint32_t i = 0; i < n->addr_count && used < room; i++)
		if (!addr_is_link_local(&n->addrs[i].addr))
			used += (size_t)snprintf(buf + used, room - used, ", %s",
				addr_format_prefix(&n->addrs[i], text, sizeof(text)));
}

static bool has_addresses(const struct netif *n)
{
	char text[256] = "";

	add_addresses(n, text, sizeof(text));
	return text[0];
}

// The file that makes the kernel forward packets received on the interface; "": it does not.
static const char *forwarding_file(const char *name, char *path, size_t room)
{
	static const char *const families[] = {"ipv4", "ipv6"};
	char value[8];

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		snprintf(path, room, "/proc/sys/net/%s/conf/%s/forwarding", families[i], name);
		if (strtoul(file_first_line(path, value, sizeof(value)), NULL, 10))
			return path;
	}
	return "";
}

// Packets of a test take connections only where a rule of this namespace asks for them.
static void add_conntrack(struct doctor_report *r)
{
	char count[24], max[24];
	struct doctor_row *row;
	bool used;

	if (!*file_first_line("/proc/sys/net/netfilter/nf_conntrack_count", count, sizeof(count)))
		return;
	file_first_line("/proc/sys/net/netfilter/nf_conntrack_max", max, sizeof(max));
	used = strtoul(count, NULL, 10);
	row = add(r, "kernel", "connection tracking", used ? DOCTOR_WARN : DOCTOR_OK,
		"%s of %s connections%s", count, max,
		used ? ": packets of a test that the kernel sees too fill its table" : "");
	if (used)
		fix(row, "nft add table netdev ddiperf; nft add chain netdev ddiperf in "
			 "'{type filter hook ingress device INTERFACE priority 0; policy drop;}'");
}

// Can the interface be used for tests? If not, the row has the reason and a remedy.
static void judge_interface(const struct netif *n, struct doctor_row *row)
{
	char path[128];
	const char *forwards = forwarding_file(n->name, path, sizeof(path));

	row->status = DOCTOR_WARN;
	if (n->default_route)
		fix(row, "carries the default route of this box: test on another interface");
	else if (has_addresses(n))
		fix(row, "the kernel answers for its addresses: remove them to test on it");
	else if (*forwards)
		fix(row, "the kernel forwards packets of a test into other networks: echo 0 > %s",
			forwards);
	else if (n->xdp_program)
		fix(row, "ip link set dev %s %s off", n->name, n->xdp_mode);
	else if (!(n->flags & IFF_UP))
		fix(row, "ip link set dev %s up", n->name);
	else if (!n->carrier)
		fix(row, "no carrier: connect its other end");
	else
		row->status = DOCTOR_OK;
}

static void add_interface(struct doctor_report *r, const struct netif *n)
{
	char text[256], mac[ADDR_TEXT_SIZE];

	snprintf(text, sizeof(text), "%s, %s, mtu %u%s%s%s%s", n->flags & IFF_UP ? "up" : "down",
		addr_format_mac(n->mac, mac, sizeof(mac)), n->mtu, n->driver[0] ? ", driver " : "",
		n->driver, n->default_route ? ", default route" : "",
		n->master ? ", in a bridge" : "");
	if (n->rx_queues)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), ", %u rx queues",
			n->rx_queues);
	if (n->xdp_program)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), ", XDP program %u",
			n->xdp_program);
	add_addresses(n, text, sizeof(text));
	judge_interface(n, add(r, "interfaces", n->name, DOCTOR_OK, "%s", text));
}

void doctor_add_interfaces(struct doctor_report *r, const struct netif *list, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (!(list[i].flags & IFF_LOOPBACK))
			add_interface(r, &list[i]);
}

void doctor_add_cards(struct doctor_report *r, const struct pci_box *b)
{
	for (unsigned i = 0; i < b->card_count; i++) {
		const struct pci_card *c = &b->cards[i];
		bool ready = pci_is_bound(c) || pci_is_shared(c);
		char advice[512];
		struct doctor_row *row = add(r, "cards", c->bdf, ready ? DOCTOR_OK : DOCTOR_WARN,
			"%s, driver %s%s%s, %s%s", c->id, c->driver[0] ? c->driver : "none",
			c->interfaces[0] ? ", interface " : "", c->interfaces,
			c->group[0] ? "IOMMU group " : "no IOMMU", c->group);

		fix(row, "%s", pci_advice(b, c, advice, sizeof(advice)));
	}
}

void doctor_read(struct doctor_report *out)
{
	struct pci_box b = {.root = ""};

	memset(out, 0, sizeof(*out));
	add_cpus(out);
	add_clock(out);
	add_governor(out);
	add_hugepages(out);
	add_privileges(out);
	add_drivers(out);
	add_conntrack(out);
	if (pci_read(&b) < 0)
		return;
	doctor_add_cards(out, &b);
	doctor_add_interfaces(out, b.interfaces, b.interface_count);
	pci_free(&b);
}

void doctor_free(struct doctor_report *r)
{
	free(r->rows);
	memset(r, 0, sizeof(*r));
}
