// SPDX-License-Identifier: BSD-3-Clause
// Cards from sysfs, their use from netlink, and the rules by which one may be bound. Changes
// nothing: that is pci_bind.c. Path: cold. Management thread.
#include "io/pci/pci.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "io/driver/explain.h"
#include "io/pci/pci_internal.h"
#include "io/driver/state.h"

#define CLASS_NETWORK 0x02
#define CLASS_BRIDGE  0x0604 // between PCI buses
#define NO_IOMMU      SYS "/module/vfio/parameters/enable_unsafe_noiommu_mode"

static bool is_one_of(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(name, *list))
			return true;
	return false;
}

bool pci_is_used(const struct pci_box *b, const struct pci_card *c)
{
	char path[PATH_MAX];
	int fd;

	pci_node(b, c, path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd < 0 && errno == EBUSY;
}

bool pci_is_shared(const struct pci_card *c)
{
	static const char *const shared[] = {"mlx4_core", "mlx5_core", "mana", NULL};

	return is_one_of(c->driver, shared);
}

bool pci_is_bound(const struct pci_card *c)
{
	static const char *const for_dpdk[] = {"vfio-pci", "igb_uio", "uio_pci_generic", NULL};

	return is_one_of(c->driver, for_dpdk);
}

void pci_path(const struct pci_box *b, char path[PATH_MAX], const char *fmt, va_list args)
{
	size_t len = (size_t)snprintf(path, PATH_MAX, "%s", b->root);

	if (len < PATH_MAX)
		vsnprintf(path + len, PATH_MAX - len, fmt, args);
}

const char *pci_text(const struct pci_box *b, char text[PCI_ID_SIZE], const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list args;

	va_start(args, fmt);
	pci_path(b, path, fmt, args);
	va_end(args);
	return file_first_line(path, text, PCI_ID_SIZE);
}

const char *pci_link(const struct pci_box *b, char name[PCI_ID_SIZE], const char *fmt, ...)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *slash;
	va_list args;
	ssize_t len;

	va_start(args, fmt);
	pci_path(b, path, fmt, args);
	va_end(args);
	len = readlink(path, target, sizeof(target) - 1);
	target[len > 0 ? len : 0] = '\0';
	slash = strrchr(target, '/');
	snprintf(name, PCI_ID_SIZE, "%.*s", PCI_ID_SIZE - 1, slash ? slash + 1 : target);
	return name;
}

bool pci_has(const struct pci_box *b, int mode, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list args;

	va_start(args, fmt);
	pci_path(b, path, fmt, args);
	va_end(args);
	return access(path, mode) == 0;
}

// Each entry of a folder. Returns their number.
__attribute__((format(printf, 4, 5))) static unsigned each_entry(const struct pci_box *b,
	void (*each)(const struct dirent *entry, void *ctx), void *ctx, const char *fmt, ...)
{
	char path[PATH_MAX];
	struct dirent *entry;
	unsigned count = 0;
	va_list args;
	DIR *d;

	va_start(args, fmt);
	pci_path(b, path, fmt, args);
	va_end(args);
	d = opendir(path);
	while (d && (entry = readdir(d)))
		if (entry->d_name[0] != '.') {
			each(entry, ctx);
			count++;
		}
	if (d)
		closedir(d);
	return count;
}

// Where the kernel keeps the interfaces of a card: in its folder, or in the folder of a device on
// it (virtio).
struct search {
	const struct pci_box *b;
	const char *bdf;
	void (*each)(const struct dirent *entry, void *ctx);
	void *ctx;
	bool empty; // a folder of interfaces shows none: they are another network namespace's
};

static void search_folder(struct search *s, const char *folder)
{
	if (pci_has(s->b, F_OK, CARDS "/%s%s/net", s->bdf, folder) &&
		!each_entry(s->b, s->each, s->ctx, CARDS "/%s%s/net", s->bdf, folder))
		s->empty = true;
}

static void search_child(const struct dirent *entry, void *ctx)
{
	char folder[sizeof(entry->d_name) + 1];

	snprintf(folder, sizeof(folder), "/%s", entry->d_name);
	if (entry->d_type == DT_DIR && strcmp(entry->d_name, "net"))
		search_folder(ctx, folder);
}

bool pci_each_interface(const struct pci_box *b, const char *bdf,
	void (*each)(const struct dirent *entry, void *ctx), void *ctx)
{
	struct search s = {b, bdf, each, ctx, false};

	search_folder(&s, "");
	each_entry(b, search_child, &s, CARDS "/%s", bdf);
	return !s.empty;
}

const struct netif *pci_interface(
	const struct pci_box *b, const struct pci_card *c, const struct netif *last)
{
	unsigned i = last ? (unsigned)(last - b->interfaces) + 1 : 0;

	for (; i < b->interface_count; i++)
		if (!strcmp(b->interfaces[i].bus, c->bdf))
			return &b->interfaces[i];
	return NULL;
}

struct seen {
	const struct pci_box *b;
	struct pci_card *card;
};

// sysfs may show another network namespace than netlink, with equal names in both.
static void find_hidden(const struct dirent *entry, void *ctx)
{
	struct seen *s = ctx;
	const struct netif *n = netif_find(s->b->interfaces, s->b->interface_count, entry->d_name);

	if (!n || strcmp(n->bus, s->card->bdf))
		s->card->hidden = true;
}

static void read_interfaces(const struct pci_box *b, struct pci_card *c)
{
	size_t used = 0;

	if (!pci_each_interface(b, c->bdf, find_hidden, &(struct seen){b, c}))
		c->hidden = true;
	for (const struct netif *n = NULL; (n = pci_interface(b, c, n));)
		if (used < sizeof(c->interfaces))
			used += (size_t)snprintf(c->interfaces + used, sizeof(c->interfaces) - used,
				"%s%s", used ? ", " : "", n->name);
}

static unsigned class_of(const struct pci_box *b, const char *path)
{
	char text[PCI_ID_SIZE];

	return (unsigned)strtoul(pci_text(b, text, "%s/class", path), NULL, 16);
}

static void read_card(const struct dirent *entry, void *ctx)
{
	char path[sizeof(CARDS) + 256], vendor[PCI_ID_SIZE], device[PCI_ID_SIZE], text[PCI_ID_SIZE];
	struct pci_box *b = ctx;
	struct pci_card *c;

	snprintf(path, sizeof(path), CARDS "/%s", entry->d_name);
	if (strlen(entry->d_name) >= PCI_ID_SIZE || class_of(b, path) >> 16 != CLASS_NETWORK)
		return;
	b->cards = reallocarray(b->cards, b->card_count + 1, sizeof(*b->cards));
	if (!b->cards)
		arena_exhausted();
	c = &b->cards[b->card_count++];
	*c = (struct pci_card){.functions = (uint32_t)strtoul(
				       pci_text(b, text, "%s/sriov_numvfs", path), NULL, 10)};
	strcpy(c->bdf, entry->d_name);
	snprintf(c->id, sizeof(c->id), "%04lx:%04lx",
		strtoul(pci_text(b, vendor, "%s/vendor", path), NULL, 16) & 0xffff,
		strtoul(pci_text(b, device, "%s/device", path), NULL, 16) & 0xffff);
	pci_link(b, c->driver, "%s/driver", path);
	pci_link(b, c->group, "%s/iommu_group", path);
	read_interfaces(b, c);
}

static int by_address(const void *a, const void *b)
{
	return strcmp(((const struct pci_card *)a)->bdf, ((const struct pci_card *)b)->bdf);
}

int pci_read(struct pci_box *b)
{
	int err = 0;

	if (!b->interfaces)
		err = netif_list(&b->interfaces, &b->interface_count);
	if (err)
		return err;
	each_entry(b, read_card, b, CARDS);
	if (b->card_count)
		qsort(b->cards, b->card_count, sizeof(*b->cards), by_address);
	return 0;
}

void pci_free(struct pci_box *b)
{
	free(b->interfaces);
	free(b->cards);
	*b = (struct pci_box){.root = b->root};
}

const struct pci_card *pci_find(const struct pci_box *b, const char *address)
{
	for (unsigned i = 0; i < b->card_count; i++) {
		const char *bdf = b->cards[i].bdf;

		if (!strcasecmp(bdf, address) ||
			(!strncmp(bdf, "0000:", 5) && !strcasecmp(bdf + 5, address)))
			return &b->cards[i];
	}
	return NULL;
}

void pci_node(const struct pci_box *b, const struct pci_card *c, char path[PATH_MAX])
{
	char group[PCI_ID_SIZE];
	bool none;

	pci_link(b, group, CARDS "/%s/iommu_group", c->bdf);
	none = pci_has(b, F_OK, "/dev/vfio/noiommu-%s", group);
	snprintf(path, PATH_MAX, "%s/dev/vfio/%s%s", b->root, none ? "noiommu-" : "", group);
}

static int check_default_route(const struct netif *user, struct io_error *e)
{
	if (!user->default_route)
		return 0;
	return io_fail(e, -EBUSY,
		"%s carries the default route of this box: the card stays with the kernel",
		user->name);
}

static int check_addresses(const struct netif *user, struct io_error *e)
{
	char text[ADDR_TEXT_SIZE];

	for (uint32_t i = 0; i < user->addr_count; i++) {
		if (addr_is_link_local(&user->addrs[i].addr))
			continue;
		addr_format_prefix(&user->addrs[i], text, sizeof(text));
		return io_fail(e, -EADDRINUSE,
			"%s has the address %s, and this box would lose it: "
			"`ip address del %s dev %s`, or `ddiperf bind --force`",
			user->name, text, text, user->name);
	}
	return 0;
}

static int check_program(const struct netif *user, struct io_error *e)
{
	if (!user->xdp_program)
		return 0;
	return io_fail(e, -EBUSY,
		"%s has an XDP program (id %u), and would lose it: `ip link set dev %s %s off`, or "
		"`ddiperf bind --force`",
		user->name, user->xdp_program, user->name, user->xdp_mode);
}

// Checks an interface of the card and the interfaces above it.
static int check_users(
	const struct pci_box *b, const struct netif *n, bool force, struct io_error *e)
{
	bool *users = netif_users(b->interfaces, b->interface_count, n);
	int err = 0;

	for (unsigned i = 0; !err && i < b->interface_count; i++)
		err = users[i] ? check_default_route(&b->interfaces[i], e) : 0;
	for (unsigned i = 0; !err && !force && i < b->interface_count; i++)
		err = users[i] ? check_addresses(&b->interfaces[i], e) : 0;
	free(users);
	if (!err && !force)
		err = check_program(n, e);
	if (!err && state_is_claimed(n->index))
		err = io_fail(e, -EBUSY, "a run of ddiperf uses %s: wait for its end", n->name);
	return err;
}

int pci_check_use(const struct pci_box *b, const struct pci_card *c, bool force, struct io_error *e)
{
	int err = 0;

	for (const struct netif *n = NULL; !err && (n = pci_interface(b, c, n));)
		err = check_users(b, n, force, e);
	if (!err && c->hidden)
		err = io_fail(e, -EBUSY,
			"it has an interface in another network namespace, where it may carry the "
			"default route: `ip -n NAMESPACE link set dev INTERFACE netns 1` brings it "
			"here");
	if (!err && c->functions)
		err = io_fail(e, -EBUSY,
			"its %u virtual functions would go: "
			"`echo 0 > " CARDS "/%s/sriov_numvfs`",
			c->functions, c->bdf);
	return err;
}

// The other devices of an IOMMU group that prevent its use.
struct group {
	const struct pci_box *b;
	const struct pci_card *card;
	char *const *with;
	unsigned count;
	bool cards_only; // they could be bound together
	char names[256], addresses[256];
};

static bool is_bound_too(const struct group *g, const char *bdf)
{
	const struct pci_card *c;

	for (unsigned i = 0; i < g->count; i++)
		if ((c = pci_find(g->b, g->with[i])) && !strcmp(c->bdf, bdf))
			return true;
	return !strcmp(bdf, g->card->bdf);
}

static void append(char *text, size_t room, const char *before, const char *word)
{
	size_t used = strlen(text);

	snprintf(text + used, room - used, "%s%s", used ? before : "", word);
}

// VFIO accepts members without a driver, with a driver of its own, or bridges.
static void look_at_member(const struct dirent *entry, void *ctx)
{
	static const char *const allowed[] = {"", "vfio-pci", "pci-stub", "pcieport", NULL};
	char path[sizeof(CARDS) + 256], driver[PCI_ID_SIZE], text[PCI_ID_SIZE + 260];
	struct group *g = ctx;

	snprintf(path, sizeof(path), CARDS "/%s", entry->d_name);
	pci_link(g->b, driver, SYS "/kernel/iommu_groups/%s/devices/%s/driver", g->card->group,
		entry->d_name);
	if (is_bound_too(g, entry->d_name) || is_one_of(driver, allowed) ||
		class_of(g->b, path) >> 8 == CLASS_BRIDGE)
		return;
	snprintf(text, sizeof(text), "%s (%s)", entry->d_name, driver);
	append(g->names, sizeof(g->names), ", ", text);
	append(g->addresses, sizeof(g->addresses), " ", entry->d_name);
	g->cards_only = g->cards_only && pci_find(g->b, entry->d_name);
}

int pci_check_group(const struct pci_box *b, const struct pci_card *c, char *const *with,
	unsigned count, struct io_error *e)
{
	struct group g = {b, c, with, count, true, "", ""};

	if (c->group[0])
		each_entry(b, look_at_member, &g, SYS "/kernel/iommu_groups/%s/devices", c->group);
	if (!g.names[0])
		return 0;
	if (g.cards_only)
		return io_fail(e, -EBUSY,
			"others of its IOMMU group %s are with kernel drivers: %s: "
			"`ddiperf bind %s %s`",
			c->group, g.names, c->bdf, g.addresses);
	return io_fail(e, -EBUSY,
		"others of its IOMMU group %s are with kernel drivers: %s: put the card into "
		"another slot, or switch ACS on in the firmware",
		c->group, g.names);
}

int pci_check_iommu(const struct pci_box *b, const struct pci_card *c, struct io_error *e)
{
	const char *command = "";
	char mode[PCI_ID_SIZE]; // VFIO without an IOMMU: "Y", "N", or "" if the kernel cannot do it

	if (c->group[0] || *pci_text(b, mode, NO_IOMMU) == 'Y')
		return 0;
	if (mode[0])
		command = "`echo 1 > " NO_IOMMU "`";
	else if (!pci_has(b, F_OK, SYS "/module/vfio"))
		command = "`modprobe vfio enable_unsafe_noiommu_mode=1`, if the kernel has that";
	return io_fail(e, -ENODEV,
		"this box has no IOMMU in use: switch on VT-d or AMD-Vi in the firmware (of a "
		"virtual machine: a vIOMMU), add intel_iommu=on or amd_iommu=on to the kernel's "
		"command line, and boot again; or use driver: af_xdp, which needs none%s%s",
		*command ? ". Where the card may write to all memory of this box, for runs by "
			   "root: "
			 : "",
		command);
}

int pci_check(const struct pci_box *b, const struct pci_card *c, char *const *with, unsigned count,
	bool force, struct io_error *e)
{
	int err = pci_check_use(b, c, force, e);

	if (!err)
		err = pci_check_group(b, c, with, count, e);
	return err ? err : pci_check_iommu(b, c, e);
}

const char *pci_advice(const struct pci_box *b, const struct pci_card *c, char *buf, size_t room)
{
	struct io_error e = {""};

	if (!strcmp(c->driver, VFIO) && pci_check_group(b, c, NULL, 0, &e) < 0)
		snprintf(buf, room, "%s", e.text);
	else if (!strcmp(c->driver, VFIO))
		snprintf(buf, room,
			"ready: driver: pci, device: \"%s\"; `ddiperf bind --release %s` gives it "
			"back",
			c->bdf, c->bdf);
	else if (pci_is_bound(c))
		snprintf(buf, room, "ready: driver: pci, device: \"%s\"", c->bdf);
	else if (pci_is_shared(c))
		snprintf(buf, room, "needs no binding: DPDK uses it beside its kernel driver");
	else if (pci_check(b, c, NULL, 0, false, &e) < 0)
		snprintf(buf, room, "%s", e.text);
	else
		snprintf(buf, room, "`ddiperf bind %s`", c->bdf);
	return buf;
}
