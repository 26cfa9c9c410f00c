// SPDX-License-Identifier: BSD-3-Clause
// Cards of an invented box: which may be bound, the binding, and the way back, also when any step
// of it fails. sysfs is a folder, and this test plays the kernel behind its files.
#include "ports.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <net/if.h>
#include <pwd.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "io/pci/pci_bind.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define CARDS    "/sys/bus/pci/devices"
#define DRIVERS  "/sys/bus/pci/drivers"
#define GROUPS   "/sys/kernel/iommu_groups"
#define FIRST    "0000:01:00.0"
#define SECOND   "0000:01:00.1"
#define THIRD    "0000:02:00.0"

static struct io_error e;
static struct pci_box box;
static char root[64], dir[128];

// The kernel and its user space, as a test wants them.
static struct kernel {
	const char *no_bind; // driver that refuses
	const char *name;    // of interfaces that come back, NULL: as before
	int failing;         // call of write, from 0; -1: none
	int writes;          // calls so far
	bool no_module;      // modprobe finds none
	bool used;           // a process has the card
	int no_access;       // errno of writing
	unsigned waits;      // sleeps
	unsigned spawned;    // modprobe
	bool name_taken;     // by another interface
	bool late;           // interfaces come only after a wait
	char given[256];     // file that a user got
	unsigned long owner;
	char calls[512]; // changes of interfaces
} kernel;

// --- files
// -----------------------------------------------------------------------------------------

// The text lasts for three more calls.
static const char *at(const char *path)
{
	static char *texts[4];
	static unsigned next;
	char **text = &texts[next++ % 4];

	free(*text);
	assert_true(asprintf(text, "%s%s", root, path) > 0);
	return *text;
}

static const char *in(const char *folder, const char *name, const char *rest)
{
	static char *texts[4];
	static unsigned next;
	char **text = &texts[next++ % 4];

	free(*text);
	assert_true(asprintf(text, "%s/%s%s", folder, name, rest) > 0);
	return *text;
}

static void make_folder(const char *path)
{
	char part[512];

	for (const char *slash = path; (slash = strchr(slash + 1, '/'));) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		mkdir(at(part), 0700);
	}
	mkdir(at(path), 0700);
}

static void make_file(const char *path, const char *text)
{
	FILE *f = fopen(at(path), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void remove_folder(const char *path)
{
	nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static const char *target(const char *path)
{
	static char text[512];
	ssize_t len = readlink(at(path), text, sizeof(text) - 1);
	const char *slash;

	text[len > 0 ? len : 0] = '\0';
	slash = strrchr(text, '/');
	return slash ? slash + 1 : text;
}

static const char *driver_of_card(const char *bdf)
{
	return target(in(CARDS, bdf, "/driver"));
}

static const char *content(const char *path)
{
	static char text[256];
	FILE *f = fopen(at(path), "r");

	text[0] = '\0';
	if (f && !fgets(text, sizeof(text), f))
		text[0] = '\0';
	if (f)
		fclose(f);
	return text;
}

static void make_driver(const char *name)
{
	make_folder(in(DRIVERS, name, ""));
	make_file(in(DRIVERS, name, "/bind"), "");
	make_file(in(DRIVERS, name, "/unbind"), "");
}

static void set_driver(const char *bdf, const char *driver)
{
	char to[128];

	unlink(at(in(CARDS, bdf, "/driver")));
	if (!driver)
		return;
	make_driver(driver);
	snprintf(to, sizeof(to), "../../drivers/%s", driver);
	assert_int_equal(symlink(to, at(in(CARDS, bdf, "/driver"))), 0);
}

static void set_group(const char *bdf, const char *group)
{
	char to[128], path[256];

	make_folder(in(GROUPS, group, "/devices"));
	snprintf(path, sizeof(path), GROUPS "/%s/devices/%s", group, bdf);
	snprintf(to, sizeof(to), "../../../../bus/pci/devices/%s", bdf);
	assert_int_equal(symlink(to, at(path)), 0);
	snprintf(to, sizeof(to), "../../../../kernel/iommu_groups/%s", group);
	assert_int_equal(symlink(to, at(in(CARDS, bdf, "/iommu_group"))), 0);
}

static void make_device(const char *bdf, const char *class, const char *driver, const char *group)
{
	make_folder(in(CARDS, bdf, ""));
	make_file(in(CARDS, bdf, "/class"), class);
	make_file(in(CARDS, bdf, "/vendor"), "0x8086\n");
	make_file(in(CARDS, bdf, "/device"), "0x10d3\n");
	make_file(in(CARDS, bdf, "/driver_override"), "(null)\n");
	set_driver(bdf, driver);
	if (group)
		set_group(bdf, group);
}

static struct netif *add_interface(const char *name, const char *bdf)
{
	struct netif *n;

	box.interfaces =
		reallocarray(box.interfaces, box.interface_count + 1, sizeof(*box.interfaces));
	n = &box.interfaces[box.interface_count++];
	*n = (struct netif){.index = 4000000 + box.interface_count, .flags = IFF_UP, .mtu = 9000};
	strcpy(n->name, name);
	strcpy(n->bus, bdf);
	return n;
}

static void make_card(const char *bdf, const char *driver, const char *group, const char *interface)
{
	make_device(bdf, "0x020000\n", driver, group);
	if (!interface)
		return;
	make_folder(in(CARDS, bdf, in("/net", interface, "")));
	add_interface(interface, bdf);
}

// --- the kernel
// --------------------------------------------------------------------------------------

static void interface_comes(const char *bdf)
{
	for (unsigned i = 0; i < box.interface_count; i++)
		if (!strcmp(box.interfaces[i].bus, bdf))
			make_folder(in(CARDS, bdf,
				in("/net", kernel.name ? kernel.name : box.interfaces[i].name,
					"")));
}

static int fail_as(int error)
{
	errno = error;
	return -1;
}

static int kernel_binds(const char *bdf, const char *driver)
{
	const char *group;

	if (kernel.no_bind && !strcmp(driver, kernel.no_bind))
		return fail_as(EINVAL);
	if (driver_of_card(bdf)[0])
		return fail_as(EBUSY);
	if (!strcmp(driver, "vfio-pci")) {
		if (strncmp(content(in(CARDS, bdf, "/driver_override")), "vfio-pci", 8))
			return fail_as(ENODEV);
		if (!target(in(CARDS, bdf, "/iommu_group"))[0]) {
			set_group(bdf, "0");
			make_file("/dev/vfio/noiommu-0", "");
		}
		group = target(in(CARDS, bdf, "/iommu_group"));
		make_file(in("/dev/vfio", group, ""), "");
	} else if (!kernel.late) {
		interface_comes(bdf);
	}
	set_driver(bdf, driver);
	return 0;
}

static int kernel_unbinds(const char *bdf)
{
	if (!driver_of_card(bdf)[0])
		return fail_as(ENODEV);
	set_driver(bdf, NULL);
	remove_folder(at(in(CARDS, bdf, "/net")));
	return 0;
}

static int kernel_takes(const char *path, const char *text, int fd)
{
	const char *file = strrchr(path, '/') + 1;
	char driver[64];

	if (!strcmp(file, "driver_override")) {
		assert_int_equal(ftruncate(fd, 0), 0);
		return dprintf(fd, "%s", *text == '\n' ? "(null)\n" : text) < 0 ? -1 : 0;
	}
	if (!strcmp(file, "unbind"))
		return kernel_unbinds(text);
	if (!strcmp(file, "drivers_probe"))
		return kernel_binds(text, "e1000e");
	assert_string_equal(file, "bind");
	assert_int_equal(sscanf(strstr(path, DRIVERS) + strlen(DRIVERS) + 1, "%63[^/]", driver), 1);
	return kernel_binds(text, driver);
}

ssize_t write(int fd, const void *data, size_t len)
{
	char link[32], path[512], text[64];
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, path, sizeof(path) - 1);
	path[size > 0 ? size : 0] = '\0';
	if (!root[0] || !strstr(path, root))
		return syscall(SYS_write, fd, data, len);
	if (kernel.writes++ == kernel.failing)
		return fail_as(EIO);
	snprintf(text, sizeof(text), "%.*s", (int)len, (const char *)data);
	return kernel_takes(path, text, fd) < 0 ? -1 : (ssize_t)len;
}

int access(const char *path, int mode)
{
	if (kernel.no_access && strstr(path, "/drivers_probe"))
		return fail_as(kernel.no_access);
	return faccessat(AT_FDCWD, path, mode, 0);
}

int open(const char *path, int flags, ...)
{
	if (kernel.used && strstr(path, "/dev/vfio/"))
		return fail_as(EBUSY);
	return openat(AT_FDCWD, path, flags, 0600);
}

// In glibc 2.40 and later, clang calls this instead, with -D_FORTIFY_SOURCE.
int __open64_2(const char *path, int flags);
int __open64_2(const char *path, int flags)
{
	return open(path, flags, 0600);
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attributes, char *const argv[], char *const env[])
{
	assert_string_equal(path, "/sbin/modprobe");
	assert_string_equal(argv[1], "vfio-pci");
	kernel.spawned++;
	if (kernel.no_module)
		return ENOENT;
	make_driver("vfio-pci");
	return 0;
}

pid_t waitpid(pid_t pid, int *status, int options)
{
	*status = 0;
	return pid;
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
	if (++kernel.waits == 3 && kernel.late)
		interface_comes(FIRST);
	return 0;
}

int ioctl(int fd, unsigned long call, ...)
{
	size_t used = strlen(kernel.calls);
	struct ifreq *r;
	va_list args;

	va_start(args, call);
	r = va_arg(args, struct ifreq *);
	va_end(args);
	if (call == SIOCGIFFLAGS)
		r->ifr_flags = IFF_BROADCAST;
	if (call == SIOCSIFMTU)
		snprintf(kernel.calls + used, sizeof(kernel.calls) - used, "%s mtu %d; ",
			r->ifr_name, r->ifr_mtu);
	if (call == SIOCSIFFLAGS)
		snprintf(kernel.calls + used, sizeof(kernel.calls) - used, "%s flags %x; ",
			r->ifr_name, (unsigned)r->ifr_flags);
	if (call == SIOCSIFNAME && kernel.name_taken)
		return fail_as(EEXIST);
	if (call == SIOCSIFNAME)
		snprintf(kernel.calls + used, sizeof(kernel.calls) - used, "%s name %s; ",
			r->ifr_name, r->ifr_newname);
	return 0;
}

struct passwd *getpwnam(const char *name)
{
	static struct passwd tester = {.pw_uid = 1234};

	return strcmp(name, "tester") ? NULL : &tester;
}

int chown(const char *path, uid_t owner, gid_t group)
{
	snprintf(kernel.given, sizeof(kernel.given), "%s", path);
	kernel.owner = owner;
	return 0;
}

// --- cases
// -------------------------------------------------------------------------------------------

static int fresh(void **state)
{
	kernel = (struct kernel){.failing = -1};
	box = (struct pci_box){.root = root};
	strcpy(root, "/tmp/ddiperf-pci-XXXXXX");
	assert_non_null(mkdtemp(root));
	snprintf(dir, sizeof(dir), "%s/state", root);
	mkdir(dir, 0700);
	make_folder(CARDS);
	make_folder(DRIVERS);
	make_folder("/sys/module/vfio/parameters");
	make_folder("/dev/vfio");
	make_file("/sys/bus/pci/drivers_probe", "");
	make_driver("vfio-pci");
	add_interface("lo", "");
	e.text[0] = '\0';
	log_set_level(LOG_QUIET);
	return 0;
}

static int forget(void **state)
{
	pci_free(&box);
	remove_folder(root);
	root[0] = '\0';
	return 0;
}

static void read_again(void)
{
	free(box.cards);
	box.cards = NULL;
	box.card_count = 0;
	assert_int_equal(pci_read(&box), 0);
}

static void assert_said(const char *text)
{
	if (!strstr(e.text, text))
		fail_msg("'%s' is not in '%s'", text, e.text);
}

static int check_first(bool force)
{
	read_again();
	return pci_check(&box, pci_find(&box, FIRST), NULL, 0, force, &e);
}

static int bind_cards(char *const *cards, unsigned count, const char *user)
{
	read_again();
	return pci_bind(&box, cards, count, false, user, dir, &e);
}

static int bind_first(void)
{
	return bind_cards((char *[]){FIRST}, 1, NULL);
}

static int unbind_first(void)
{
	read_again();
	return pci_unbind(&box, FIRST, dir, &e);
}

static bool has_record(const char *bdf)
{
	char path[256];

	snprintf(path, sizeof(path), "/state/pci-%s", bdf);
	return access(at(path), F_OK) == 0;
}

static void assert_as_before(const char *bdf, const char *driver)
{
	assert_string_equal(driver_of_card(bdf), driver);
	assert_string_equal(content(in(CARDS, bdf, "/driver_override")), "(null)\n");
	assert_false(has_record(bdf));
}

static void the_cards_of_the_box_are_found(void **state)
{
	const struct pci_card *c;
	char advice[256];

	make_card(SECOND, NULL, NULL, NULL);
	make_card(FIRST, "ixgbe", "7", "eth1");
	add_interface("eth2", FIRST); // of the same card
	make_folder(CARDS "/" FIRST "/net/eth2");
	make_device("0000:03:00.0", "0x010802\n", "nvme", "8");
	make_device("0000:04:00.0", "", NULL, NULL);
	make_device(THIRD, "0x028000\n", "virtio-pci", "9");
	make_folder(CARDS "/" THIRD "/virtio0/net/eth3");
	add_interface("eth3", THIRD);
	read_again();
	assert_int_equal(box.card_count, 3);
	c = box.cards;
	assert_string_equal(c->bdf, FIRST);
	assert_string_equal(c->id, "8086:10d3");
	assert_string_equal(c->driver, "ixgbe");
	assert_string_equal(c->group, "7");
	assert_string_equal(c->interfaces, "eth1, eth2");
	assert_false(c->hidden);
	assert_string_equal(c[1].driver, "");
	assert_string_equal(c[1].group, "");
	assert_string_equal(c[1].interfaces, "");
	assert_false(c[1].hidden);
	assert_string_equal(c[2].interfaces, "eth3");
	assert_false(c[2].hidden);
	assert_ptr_equal(pci_find(&box, "01:00.0"), c);
	assert_null(pci_find(&box, "0001:01:00.0"));
	assert_null(pci_find(&box, "eth1"));
	assert_string_equal(
		pci_advice(&box, c, advice, sizeof(advice)), "`ddiperf bind " FIRST "`");
}

static void a_box_without_the_bus_has_no_cards(void **state)
{
	remove_folder(at("/sys"));
	read_again();
	assert_int_equal(box.card_count, 0);
	assert_int_equal(bind_first(), -ENODEV);
	assert_said("(there are: none)");
}

static void names_of_any_length_are_survived(void **state)
{
	char name[256], text[300];

	memset(name, 'x', sizeof(name));
	name[255] = '\0';
	make_device(name, "0x020000\n", NULL, NULL);
	make_card(FIRST, NULL, NULL, NULL);
	assert_int_equal(symlink(name, at(CARDS "/" FIRST "/driver")), 0);
	memset(text, '9', sizeof(text));
	text[299] = '\0';
	make_file(CARDS "/" FIRST "/vendor", text);
	make_file(CARDS "/" FIRST "/device", "");
	for (unsigned i = 0; i < 30; i++)
		add_interface("interface-of-15", FIRST);
	read_again();
	assert_int_equal(box.card_count, 1);
	assert_int_equal(strlen(box.cards[0].driver), PCI_ID_SIZE - 1);
	assert_int_equal(strlen(box.cards[0].interfaces), sizeof(box.cards[0].interfaces) - 1);
	assert_int_equal(bind_cards((char *[]){"none"}, 1, NULL), -ENODEV);
	assert_said("there is no network card none (there are: " FIRST " (interface-of-15, ");
}

static void the_card_of_the_host_is_refused(void **state)
{
	struct netif *bridge;

	make_card(FIRST, "ixgbe", "7", "eth1");
	assert_int_equal(check_first(false), 0);
	box.interfaces[1].default_route = true;
	assert_int_equal(check_first(true), -EBUSY);
	assert_said("eth1 carries the default route of this box");
	assert_int_equal(pci_bind(&box, (char *[]){FIRST}, 1, true, NULL, dir, &e), -EBUSY);
	assert_said(FIRST ": eth1 carries the default route");
	assert_int_equal(kernel.writes, 0);

	box.interfaces[1].default_route = false;
	bridge = add_interface("br0.7", "");
	bridge->default_route = true;
	bridge->lower = 42;
	bridge = add_interface("br0", "");
	bridge->index = 42;
	assert_int_equal(check_first(false), 0);
	box.interfaces[1].master = 42;
	assert_int_equal(check_first(true), -EBUSY);
	assert_said("br0.7 carries the default route");
}

static void addresses_and_programs_want_force(void **state)
{
	struct netif *n;
	const char *what;

	make_card(FIRST, "ixgbe", "7", "eth1");
	n = &box.interfaces[1];
	addr_parse_prefix("fe80::1/64", &n->addrs[n->addr_count++], &what);
	assert_int_equal(check_first(false), 0);
	addr_parse_prefix("10.0.0.1/8", &n->addrs[n->addr_count++], &what);
	assert_int_equal(check_first(false), -EADDRINUSE);
	assert_said("eth1 has the address 10.0.0.1/8");
	assert_said("`ip address del 10.0.0.1/8 dev eth1`, or `ddiperf bind --force`");
	assert_int_equal(check_first(true), 0);
	n->addr_count = 0;
	n->xdp_program = 7;
	n->xdp_mode = "xdpdrv";
	assert_int_equal(check_first(false), -EBUSY);
	assert_said("`ip link set dev eth1 xdpdrv off`");
	assert_int_equal(check_first(true), 0);
}

static void an_interface_elsewhere_may_be_the_hosts(void **state)
{
	make_card(FIRST, "ixgbe", "7", "eth1");
	assert_int_equal(check_first(false), 0);
	make_folder(CARDS "/" FIRST "/net/eth9"); // sysfs of another namespace
	assert_int_equal(check_first(true), -EBUSY);
	assert_said("in another network namespace");
	rmdir(at(CARDS "/" FIRST "/net/eth9"));
	strcpy(box.interfaces[1].bus, ""); // the same name in another namespace
	assert_int_equal(check_first(true), -EBUSY);
	rmdir(at(CARDS "/" FIRST "/net/eth1"));
	assert_int_equal(check_first(true), -EBUSY); // the folder alone
	rmdir(at(CARDS "/" FIRST "/net"));
	assert_int_equal(check_first(false), 0);
	make_folder(CARDS "/" FIRST "/virtio3/net");
	assert_int_equal(check_first(true), -EBUSY);
}

// As the claim of a run (state.c).
static int claim(uint32_t index)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	int len = snprintf(name.sun_path + 1, 100, "ddiperf/interface/%u", index);

	assert_int_equal(bind(fd, (struct sockaddr *)&name,
				 (socklen_t)(sizeof(name.sun_family) + 1 + (size_t)len)),
		0);
	return fd;
}

static void a_card_in_use_is_refused(void **state)
{
	int fd;

	make_card(FIRST, "ixgbe", "7", "eth1");
	make_file(CARDS "/" FIRST "/sriov_numvfs", "2\n");
	assert_int_equal(check_first(true), -EBUSY);
	assert_said("2 virtual functions would go: `echo 0 > " CARDS "/" FIRST "/sriov_numvfs`");
	make_file(CARDS "/" FIRST "/sriov_numvfs", "0\n");
	assert_int_equal(check_first(false), 0);
	fd = claim(box.interfaces[1].index);
	assert_int_equal(check_first(true), -EBUSY);
	assert_said("a run of ddiperf uses eth1");
	close(fd);
	assert_int_equal(check_first(false), 0);
}

static void its_iommu_group_must_be_free(void **state)
{
	char advice[512];

	make_card(FIRST, "ixgbe", "7", "eth1");
	make_device("0000:00:01.0", "0x060400\n", "shpchp", "7"); // a bridge
	make_device("0000:00:01.1", "0x088000\n", "pcieport", "7");
	make_device("0000:00:01.2", "0x088000\n", "pci-stub", "7");
	make_device("0000:00:01.3", "0x088000\n", NULL, "7");
	make_card("0000:00:01.4", "vfio-pci", "7", NULL);
	make_card(THIRD, "ixgbe", "8", "eth3");
	assert_int_equal(check_first(false), 0);
	make_card(SECOND, "ixgbe", "7", "eth2");
	assert_int_equal(check_first(true), -EBUSY);
	assert_said("others of its IOMMU group 7 are with kernel drivers: " SECOND
		    " (ixgbe): `ddiperf bind " FIRST " " SECOND "`");
	assert_int_equal(bind_first(), -EBUSY);
	assert_said(FIRST ": others of its IOMMU group");
	assert_int_equal(
		pci_check(&box, pci_find(&box, FIRST), (char *[]){FIRST, "01:00.1"}, 2, false, &e),
		0);
	set_driver(FIRST, "vfio-pci"); // either alone would not start
	read_again();
	assert_non_null(strstr(pci_advice(&box, pci_find(&box, FIRST), advice, sizeof(advice)),
		"`ddiperf bind " FIRST " " SECOND "`"));
	set_driver(FIRST, "ixgbe");
	make_device("0000:00:1f.3", "0x040300\n", "snd_hda_intel", "7");
	assert_int_equal(check_first(true), -EBUSY);
	assert_said("0000:00:1f.3 (snd_hda_intel)");
	assert_said("another slot");
	assert_int_equal(kernel.writes, 0);
}

static void without_an_iommu_the_steps_are_told(void **state)
{
	make_card(FIRST, "ixgbe", NULL, "eth1");
	assert_int_equal(check_first(true), -ENODEV); // a kernel without that mode
	assert_said("add intel_iommu=on or amd_iommu=on to the kernel's command line, and boot");
	assert_null(strstr(e.text, "enable_unsafe"));
	make_file("/sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "N\n");
	assert_int_equal(check_first(true), -ENODEV);
	assert_said("`echo 1 > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode`");
	assert_int_equal(bind_first(), -ENODEV);
	assert_said(FIRST ": this box has no IOMMU");
	assert_as_before(FIRST, "ixgbe");
	remove_folder(at("/sys/module/vfio"));
	assert_int_equal(check_first(true), -ENODEV);
	assert_said("`modprobe vfio enable_unsafe_noiommu_mode=1`");
	assert_int_equal(kernel.writes, 0);
}

static void without_an_iommu_a_card_is_bound_for_root(void **state)
{
	char path[PATH_MAX];

	make_card(FIRST, "ixgbe", NULL, "eth1");
	make_file("/sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "Y\n");
	assert_int_equal(bind_cards((char *[]){FIRST}, 1, "tester"), -EPERM);
	assert_said("leave --user out");
	assert_int_equal(bind_first(), 0);
	assert_string_equal(driver_of_card(FIRST), "vfio-pci");
	read_again();
	pci_node(&box, box.cards, path);
	assert_string_equal(path, at("/dev/vfio/noiommu-0"));
}

static void a_card_is_bound_and_given_back(void **state)
{
	char advice[256], path[PATH_MAX];

	make_card(FIRST, "ixgbe", "7", "eth1");
	assert_int_equal(bind_first(), 0);
	assert_string_equal(driver_of_card(FIRST), "vfio-pci");
	assert_string_equal(content(CARDS "/" FIRST "/driver_override"), "(null)\n");
	assert_true(has_record(FIRST));
	assert_int_equal(kernel.spawned, 0);
	read_again();
	pci_node(&box, box.cards, path);
	assert_string_equal(path, at("/dev/vfio/7"));
	assert_string_equal(pci_advice(&box, box.cards, advice, sizeof(advice)),
		"ready: driver: pci, device: \"" FIRST "\"; `ddiperf bind --release " FIRST
		"` gives it back");
	assert_int_equal(bind_first(), 0); // again: it stays
	assert_int_equal(unbind_first(), 0);
	assert_as_before(FIRST, "ixgbe");
	assert_string_equal(kernel.calls, "eth1 mtu 9000; eth1 flags 3; ");
	assert_int_equal(unbind_first(), -EINVAL);
	assert_said(FIRST " is not bound to vfio-pci: its driver is ixgbe");
}

static void an_interface_that_was_down_stays_down(void **state)
{
	make_card(FIRST, "ixgbe", "7", "eth1");
	box.interfaces[1].flags = 0;
	assert_int_equal(bind_first(), 0);
	kernel.late = true;
	assert_int_equal(unbind_first(), 0);
	assert_string_equal(kernel.calls, "eth1 mtu 9000; ");
	assert_int_equal(kernel.waits, 3);
}

static void an_interface_gets_its_name_back(void **state)
{
	make_card(FIRST, "ixgbe", "7", "eth1");
	assert_int_equal(bind_first(), 0);
	kernel.name = "eth0"; // by the kernel, and nobody renames it
	assert_int_equal(unbind_first(), 0);
	assert_string_equal(kernel.calls, "eth0 name eth1; eth1 mtu 9000; eth1 flags 3; ");
	assert_true(kernel.waits > 10);
}

static void the_interface_of_another_card_is_left_alone(void **state)
{
	make_card(FIRST, "ixgbe", "7", "eth1");
	assert_int_equal(bind_first(), 0);
	kernel.name = "eth0";
	kernel.name_taken = true;
	assert_int_equal(unbind_first(), 0);
	assert_string_equal(kernel.calls, "eth0 mtu 9000; eth0 flags 3; ");
	assert_int_equal(
		rename(at(CARDS "/" FIRST "/net/eth0"), at(CARDS "/" FIRST "/net/eth1")), 0);
	kernel = (struct kernel){.failing = -1};
	assert_int_equal(bind_first(), 0);
	kernel.late = true;
	kernel.waits = 3; // none comes at all
	assert_int_equal(unbind_first(), 0);
	assert_string_equal(kernel.calls, "");
}

static void a_card_without_a_driver_stays_without(void **state)
{
	make_card(FIRST, NULL, "7", NULL);
	make_file(CARDS "/" FIRST "/driver_override", "other\n");
	assert_int_equal(bind_first(), 0);
	assert_string_equal(driver_of_card(FIRST), "vfio-pci");
	assert_string_equal(content(CARDS "/" FIRST "/driver_override"), "other");
	assert_int_equal(unbind_first(), 0);
	assert_string_equal(driver_of_card(FIRST), "");
	assert_int_equal(unbind_first(), -EINVAL);
	assert_said("its driver is none");
}

static void the_binding_of_others_goes_to_the_kernels_choice(void **state)
{
	make_card(FIRST, "vfio-pci", "7", NULL);
	make_file(CARDS "/" FIRST "/driver_override", "vfio-pci\n");
	make_driver("e1000e");
	assert_int_equal(unbind_first(), 0);
	assert_as_before(FIRST, "e1000e");
}

static void a_record_must_be_of_this_start_and_whole(void **state)
{
	static const char *const records[] = {"", "ddiperf-pci 1 0 ixgbe\n", "ddiperf-pci 2 7 x\n",
		"ddiperf-pci 1 \n", "ddiperf-pci 1 zz ixgbe\n", "\xff\n"};

	make_card(FIRST, "vfio-pci", "7", NULL);
	make_driver("e1000e");
	for (size_t i = 0; i < COUNT(records); i++) {
		make_file("/state/pci-" FIRST, records[i]);
		assert_int_equal(unbind_first(), 0);
		assert_as_before(FIRST, "e1000e");
		set_driver(FIRST, "vfio-pci");
	}
}

static void a_bind_that_was_cut_short_is_completed_or_undone(void **state)
{
	make_card(FIRST, "ixgbe", "7", "eth1");
	for (unsigned bound = 0; bound < 2; bound++) {
		assert_int_equal(bind_first(), 0);
		set_driver(FIRST, NULL); // killed between two steps
		make_file(CARDS "/" FIRST "/driver_override", "vfio-pci\n");
		if (bound) {
			assert_int_equal(bind_first(), 0);
			assert_string_equal(driver_of_card(FIRST), "vfio-pci");
		}
		assert_int_equal(unbind_first(), 0);
		assert_as_before(FIRST, "ixgbe");
	}
}

static void what_fails_is_undone(void **state)
{
	make_card(FIRST, "ixgbe", "7", "eth1");
	make_card(THIRD, "e1000e", "8", "eth3");
	kernel.no_bind = "vfio-pci";
	assert_int_equal(bind_first(), -EINVAL);
	assert_said(FIRST " cannot be bound to vfio-pci: Invalid argument");
	assert_as_before(FIRST, "ixgbe");
	assert_string_equal(kernel.calls, "eth1 mtu 9000; eth1 flags 3; ");
	kernel.no_bind = NULL;
	assert_int_equal(bind_cards((char *[]){FIRST}, 1, "nobody-there"), -EINVAL);
	assert_said("there is no user nobody-there");
	assert_as_before(FIRST, "ixgbe");
	for (int i = 0;; i++) { // each write of binding two cards
		int err;

		kernel.failing = i;
		kernel.writes = 0;
		err = bind_cards((char *[]){FIRST, THIRD}, 2, NULL);
		if (kernel.writes <= i)
			break;
		if (!err) { // an override that stays is no harm
			assert_string_equal(driver_of_card(FIRST), "vfio-pci");
			assert_string_equal(driver_of_card(THIRD), "vfio-pci");
			kernel.failing = -1;
			assert_int_equal(unbind_first(), 0);
			assert_int_equal(pci_unbind(&box, THIRD, dir, &e), 0);
		}
		assert_as_before(FIRST, "ixgbe");
		assert_as_before(THIRD, "e1000e");
	}
	assert_string_equal(driver_of_card(FIRST), "vfio-pci");
}

static void an_unbind_that_fails_leaves_the_card_bound(void **state)
{
	make_card(FIRST, "ixgbe", "7", "eth1");
	assert_int_equal(bind_first(), 0);
	kernel.used = true;
	assert_int_equal(unbind_first(), -EBUSY);
	assert_said(FIRST " is in use by a process: wait for its end");
	kernel.used = false;
	kernel.no_bind = "ixgbe";
	assert_int_equal(unbind_first(), -EINVAL);
	assert_said(FIRST " cannot be given back to ixgbe: Invalid argument");
	assert_string_equal(driver_of_card(FIRST), "vfio-pci");
	remove_folder(at(DRIVERS "/ixgbe"));
	assert_int_equal(unbind_first(), -ENODEV);
	assert_said("`modprobe ixgbe`");
	kernel.no_access = EACCES;
	make_driver("ixgbe");
	assert_int_equal(unbind_first(), -EACCES);
	kernel.no_access = 0;
	kernel.no_bind = NULL;
	for (int i = 0;; i++) {
		kernel.failing = i;
		kernel.writes = 0;
		if (unbind_first() == 0)
			break;
		assert_string_equal(driver_of_card(FIRST), "vfio-pci");
		assert_true(has_record(FIRST));
	}
	assert_as_before(FIRST, "ixgbe");
	assert_int_equal(pci_unbind(&box, "nosuch", dir, &e), -ENODEV);
}

static void the_module_is_loaded_when_it_is_needed(void **state)
{
	make_card(FIRST, "ixgbe", "7", "eth1");
	remove_folder(at(DRIVERS "/vfio-pci"));
	kernel.no_module = true;
	assert_int_equal(bind_first(), -ENODEV);
	assert_said("vfio-pci could not be loaded: /sbin/modprobe: No such file or directory");
	assert_as_before(FIRST, "ixgbe");
	kernel.no_module = false;
	assert_int_equal(bind_first(), 0);
	assert_int_equal(kernel.spawned, 2);
}

static void without_the_right_nothing_is_touched(void **state)
{
	static const struct {
		int error;
		const char *text;
	} cases[] = {
		{EACCES, "run as root"},
		{EROFS, "a container"},
	};

	make_card(FIRST, "ixgbe", "7", "eth1");
	remove_folder(at(DRIVERS "/vfio-pci"));
	for (size_t i = 0; i < COUNT(cases); i++) {
		kernel.no_access = cases[i].error;
		assert_int_equal(bind_first(), -cases[i].error);
		assert_said(cases[i].text);
	}
	assert_int_equal(kernel.spawned + (unsigned)kernel.writes, 0);
}

static void a_user_gets_the_file_of_the_group(void **state)
{
	make_card(FIRST, "ixgbe", "7", "eth1");
	for (unsigned i = 0; i < 2; i++) { // then of a card that is bound already
		kernel.given[0] = '\0';
		assert_int_equal(bind_cards((char *[]){FIRST}, 1, "tester"), 0);
		assert_string_equal(kernel.given, at("/dev/vfio/7"));
		assert_int_equal(kernel.owner, 1234);
	}
}

static void some_cards_need_no_binding(void **state)
{
	static const struct {
		const char *driver, *advice;
		int err;
	} cases[] = {
		{"mlx5_core", "needs no binding", -EINVAL},
		{"mlx4_core", "needs no binding", -EINVAL},
		{"mana", "needs no binding", -EINVAL},
		{"igb_uio", "ready: driver: pci, device: \"" FIRST "\"", 0},
		{"uio_pci_generic", "ready: driver: pci, device: \"" FIRST "\"", 0},
	};
	char advice[256];

	make_card(FIRST, "ixgbe", "7", "eth1");
	for (size_t i = 0; i < COUNT(cases); i++) {
		set_driver(FIRST, cases[i].driver);
		assert_int_equal(bind_first(), cases[i].err);
		if (cases[i].err)
			assert_said(FIRST " needs no binding: DPDK uses it beside");
		assert_non_null(strstr(
			pci_advice(&box, box.cards, advice, sizeof(advice)), cases[i].advice));
	}
	assert_int_equal(kernel.writes, 0);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, fresh, forget)
	const struct CMUnitTest tests[] = {
		CASE(the_cards_of_the_box_are_found),
		CASE(a_box_without_the_bus_has_no_cards),
		CASE(names_of_any_length_are_survived),
		CASE(the_card_of_the_host_is_refused),
		CASE(addresses_and_programs_want_force),
		CASE(an_interface_elsewhere_may_be_the_hosts),
		CASE(a_card_in_use_is_refused),
		CASE(its_iommu_group_must_be_free),
		CASE(without_an_iommu_the_steps_are_told),
		CASE(without_an_iommu_a_card_is_bound_for_root),
		CASE(a_card_is_bound_and_given_back),
		CASE(an_interface_that_was_down_stays_down),
		CASE(an_interface_gets_its_name_back),
		CASE(the_interface_of_another_card_is_left_alone),
		CASE(a_card_without_a_driver_stays_without),
		CASE(the_binding_of_others_goes_to_the_kernels_choice),
		CASE(a_record_must_be_of_this_start_and_whole),
		CASE(a_bind_that_was_cut_short_is_completed_or_undone),
		CASE(what_fails_is_undone),
		CASE(an_unbind_that_fails_leaves_the_card_bound),
		CASE(the_module_is_loaded_when_it_is_needed),
		CASE(without_the_right_nothing_is_touched),
		CASE(a_user_gets_the_file_of_the_group),
		CASE(some_cards_need_no_binding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
