// SPDX-License-Identifier: BSD-3-Clause
// The binding of cards to vfio-pci and the way back, step by step in sysfs; a step that fails
// undoes those before it. The former state of a card is recorded before it changes, so that unbind
// works after a kill at any moment, too. Path: cold. Management thread.
#include "io/pci/pci_bind.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "io/driver/explain.h"
#include "io/pci/pci_internal.h"
#include "io/driver/state.h"

#define DRIVERS  SYS "/bus/pci/drivers"
#define OVERRIDE CARDS "/%s/driver_override"
#define KEPT     4    // interfaces of a card that are kept
#define WAIT_MS  2000 // for udev to give an interface its name
#define STEP_MS  50

extern char **environ;

// The former state of a card. The driver of a card that ddiperf did not bind is unknown.
struct record {
	bool known;
	char driver[PCI_ID_SIZE]; // "": it had none
	unsigned count;
	struct {
		char name[IFNAMSIZ];
		uint32_t mtu;
		int up;
	} interfaces[KEPT];
};

// A name without a slash, in a file name.
static void record_path(const char *dir, const struct pci_card *c, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/pci-%s", dir, c->bdf);
}

static uint32_t boot_now(void)
{
	struct state s;

	state_of_self(&s);
	return s.boot;
}

static int record_write(const char *dir, const struct pci_card *c, const struct record *r)
{
	char path[PATH_MAX];
	int err = 0;
	FILE *f;

	record_path(dir, c, path);
	unlink(path); // of a binding that was undone by other means
	f = fopen(path, "wxe");
	if (!f)
		return -errno;
	fprintf(f, "ddiperf-pci 1 %" PRIx32 " %s\n", boot_now(), r->driver);
	for (unsigned i = 0; i < r->count; i++)
		fprintf(f, "%s %" PRIu32 " %d\n", r->interfaces[i].name, r->interfaces[i].mtu,
			r->interfaces[i].up);
	if (ferror(f))
		err = -EIO;
	if (fclose(f) != 0 && !err)
		err = -errno;
	if (err)
		unlink(path);
	return err;
}

// Without a file of this boot nothing is known.
static void record_read(const char *dir, const struct pci_card *c, struct record *r)
{
	char path[PATH_MAX], line[128];
	int end = 0;
	uint32_t boot;
	FILE *f;

	*r = (struct record){0};
	record_path(dir, c, path);
	f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(line, sizeof(line), f) &&
		sscanf(line, "ddiperf-pci 1 %" SCNx32 "%n", &boot, &end) == 1 &&
		boot == boot_now() && line[end] == ' ' && !strchr(line, '/')) {
		line[strcspn(line, "\n")] = '\0';
		snprintf(r->driver, sizeof(r->driver), "%s", line + end + 1);
		r->known = true;
	}
	while (r->known && r->count < KEPT && fgets(line, sizeof(line), f) &&
		sscanf(line, "%15s %" SCNu32 " %d", r->interfaces[r->count].name,
			&r->interfaces[r->count].mtu, &r->interfaces[r->count].up) == 3)
		r->count++;
	fclose(f);
}

static void record_of(const struct pci_box *b, const struct pci_card *c, struct record *r)
{
	*r = (struct record){.known = true};
	strcpy(r->driver, c->driver);
	for (const struct netif *n = NULL; r->count < KEPT && (n = pci_interface(b, c, n));) {
		memcpy(r->interfaces[r->count].name, n->name, IFNAMSIZ);
		r->interfaces[r->count].mtu = n->mtu;
		r->interfaces[r->count++].up = !!(n->flags & IFF_UP);
	}
}

__attribute__((format(printf, 3, 4))) static int put(
	const struct pci_box *b, const char *text, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list args;
	int fd, err = 0;

	va_start(args, fmt);
	pci_path(b, path, fmt, args);
	va_end(args);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

// With driver NULL the kernel chooses. Compares the driver of the card afterwards, as some kernels
// hide errors of probes.
static int move_to(const struct pci_box *b, const struct pci_card *c, const char *driver)
{
	char now[PCI_ID_SIZE];
	int err = 0;

	pci_link(b, now, CARDS "/%s/driver", c->bdf);
	if (driver && !strcmp(now, driver))
		return 0;
	if (now[0])
		err = put(b, c->bdf, CARDS "/%s/driver/unbind", c->bdf);
	if (!err && !driver)
		err = put(b, c->bdf, SYS "/bus/pci/drivers_probe");
	else if (!err && driver[0])
		err = put(b, c->bdf, DRIVERS "/%s/bind", driver);
	pci_link(b, now, CARDS "/%s/driver", c->bdf);
	if (err)
		return err;
	return (driver ? !strcmp(now, driver) : now[0]) ? 0 : -ENODEV;
}

// The override is set only during the binding.
static int move_to_vfio(const struct pci_box *b, const struct pci_card *c)
{
	char before[PCI_ID_SIZE];
	int err;

	pci_text(b, before, OVERRIDE, c->bdf);
	err = put(b, VFIO, OVERRIDE, c->bdf);
	if (err)
		return err;
	err = move_to(b, c, VFIO);
	put(b, !before[0] || !strcmp(before, "(null)") || !strcmp(before, VFIO) ? "\n" : before,
		OVERRIDE, c->bdf);
	return err;
}

// The interfaces of a card while they come back: the recorded ones, and one other.
struct waiting {
	const struct record *record;
	bool back[KEPT];
	unsigned found, others;
	char other[IFNAMSIZ];
};

static void look_at_interface(const struct dirent *entry, void *ctx)
{
	struct waiting *w = ctx;

	for (unsigned i = 0; i < w->record->count; i++)
		if (!strcmp(entry->d_name, w->record->interfaces[i].name)) {
			w->back[i] = true;
			w->found++;
			return;
		}
	snprintf(w->other, sizeof(w->other), "%.15s", entry->d_name);
	w->others++;
}

// Without udev the kernel assigns the first free name, and the former name may now be another
// card's.
static void restore_interfaces(
	const struct pci_box *b, const struct pci_card *c, const struct record *r)
{
	struct waiting w = {.record = r};

	for (unsigned ms = 0; r->count && ms < WAIT_MS; ms += STEP_MS) {
		w = (struct waiting){.record = r};
		pci_each_interface(b, c->bdf, look_at_interface, &w);
		if (w.found == r->count)
			break;
		nanosleep(&(struct timespec){0, STEP_MS * 1000000L}, NULL);
	}
	if (r->count == 1 && !w.found && w.others == 1) {
		w.back[0] = netif_rename(w.other, r->interfaces[0].name) == 0;
		if (!w.back[0])
			netif_restore(w.other, r->interfaces[0].mtu, r->interfaces[0].up);
	}
	for (unsigned i = 0; i < r->count; i++)
		if (w.back[i])
			netif_restore(
				r->interfaces[i].name, r->interfaces[i].mtu, r->interfaces[i].up);
}

static int give_back(const struct pci_box *b, const struct pci_card *c, const struct record *r)
{
	char text[PCI_ID_SIZE];
	int err;

	if (!strcmp(pci_text(b, text, OVERRIDE, c->bdf), VFIO))
		put(b, "\n", OVERRIDE, c->bdf);
	err = move_to(b, c, r->known ? r->driver : NULL);
	if (!err)
		restore_interfaces(b, c, r);
	return err;
}

static int give_to_user(
	const struct pci_box *b, const struct pci_card *c, const char *user, struct io_error *e)
{
	const struct passwd *pw = getpwnam(user);
	char path[PATH_MAX];

	pci_node(b, c, path);
	if (!pw)
		return io_fail(e, -EINVAL, "there is no user %s", user);
	if (chown(path, pw->pw_uid, (gid_t)-1) < 0)
		return io_fail(
			e, -errno, "%s cannot be given to %s: %s", path, user, strerror(errno));
	return 0;
}

// Undone by r if it fails; c is the card before the change.
static int bind_one(const struct pci_box *b, const struct pci_card *c, const struct record *r,
	const char *user, struct io_error *e)
{
	int err = move_to_vfio(b, c), undone;

	if (err)
		io_fail(e, err, "%s cannot be bound to vfio-pci: %s", c->bdf, strerror(-err));
	else if (user)
		err = give_to_user(b, c, user, e);
	if (!err)
		return 0;
	undone = give_back(b, c, r);
	if (undone)
		log_error(
			"%s could not be given back to %s either (%s): `ddiperf bind --release %s`",
			c->bdf, r->driver[0] ? r->driver : "no driver", strerror(-undone), c->bdf);
	return err;
}

static int load_vfio(const struct pci_box *b, struct io_error *e)
{
	char *argv[] = {"modprobe", VFIO, NULL};
	int err, status = 0;
	pid_t pid;

	if (pci_has(b, F_OK, DRIVERS "/" VFIO))
		return 0;
	log_note("vfio-pci is not loaded: modprobe vfio-pci");
	err = posix_spawn(&pid, "/sbin/modprobe", NULL, NULL, argv, environ);
	if (!err)
		waitpid(pid, &status, 0);
	if (pci_has(b, F_OK, DRIVERS "/" VFIO))
		return 0;
	return io_fail(e, -ENODEV,
		"the kernel's module vfio-pci could not be loaded%s%s: install the modules of "
		"this kernel",
		err ? ": /sbin/modprobe: " : "", err ? strerror(err) : "");
}

static int check_access(const struct pci_box *b, struct io_error *e)
{
	if (pci_has(b, W_OK, SYS "/bus/pci/drivers_probe"))
		return 0;
	return io_fail(e, -errno, SYS "/bus/pci cannot be written to (%s): %s", strerror(errno),
		errno == EROFS ? "a container; bind the card outside of it" : "run as root");
}

static int no_such_card(const struct pci_box *b, const char *address, struct io_error *e)
{
	char names[512] = "";
	size_t used = 0;

	for (unsigned i = 0; i < b->card_count && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s%s%s%s",
			used ? ", " : "", b->cards[i].bdf, b->cards[i].interfaces[0] ? " (" : "",
			b->cards[i].interfaces, b->cards[i].interfaces[0] ? ")" : "");
	return io_fail(e, -ENODEV, "there is no network card %s (there are: %s%s)", address,
		used ? names : "none", used >= sizeof(names) ? "..." : "");
}

// The rules that need no module yet.
static int check_all(const struct pci_box *b, char *const *addresses, unsigned count, bool force,
	struct io_error *e)
{
	struct io_error why;
	int err = 0;

	for (unsigned i = 0; !err && i < count; i++) {
		const struct pci_card *c = pci_find(b, addresses[i]);

		if (!c)
			return no_such_card(b, addresses[i], e);
		if (pci_is_shared(c))
			return io_fail(e, -EINVAL,
				"%s needs no binding: DPDK uses it beside its kernel driver %s",
				c->bdf, c->driver);
		if (pci_is_bound(c))
			continue;
		err = pci_check_use(b, c, force, &why);
		if (!err)
			err = pci_check_group(b, c, addresses, count, &why);
		if (err)
			io_fail(e, err, "%s: %s", c->bdf, why.text);
	}
	return err;
}

// The index of the first card without an IOMMU, or with another obstacle.
static int check_iommus(const struct pci_box *b, char *const *addresses, unsigned count,
	const char *user, struct io_error *e)
{
	struct io_error why;
	int err = 0;

	for (unsigned i = 0; !err && i < count; i++) {
		const struct pci_card *c = pci_find(b, addresses[i]);

		if (pci_is_bound(c) || c->group[0])
			continue;
		err = pci_check_iommu(b, c, &why);
		if (err)
			return io_fail(e, err, "%s: %s", c->bdf, why.text);
		if (user)
			return io_fail(e, -EPERM,
				"%s: without an IOMMU only root may use the card: leave --user out",
				c->bdf);
		log_warning("%s: no IOMMU: the card can write to all memory of this box", c->bdf);
	}
	return err;
}

// Reports the addresses that --force takes away.
static void tell_lost(const struct pci_box *b, const struct pci_card *c)
{
	char text[ADDR_TEXT_SIZE];

	for (const struct netif *n = NULL; (n = pci_interface(b, c, n));)
		for (uint32_t i = 0; i < n->addr_count; i++)
			if (!addr_is_link_local(&n->addrs[i].addr))
				log_warning("the address %s of %s is gone, also after unbind",
					addr_format_prefix(&n->addrs[i], text, sizeof(text)),
					n->name);
}

static void forget(const char *dir, const struct pci_card *c)
{
	char path[PATH_MAX];

	record_path(dir, c, path);
	unlink(path);
}

// After an interrupted bind the earlier record is the right one.
static int bind_recorded(const struct pci_box *b, const struct pci_card *c, const char *user,
	const char *dir, struct io_error *e)
{
	struct record r;
	int err = 0;

	record_read(dir, c, &r);
	if (c->driver[0] || !r.known) {
		record_of(b, c, &r);
		err = record_write(dir, c, &r);
	}
	if (err)
		return io_fail(
			e, err, "its former driver cannot be noted in %s: %s", dir, strerror(-err));
	err = bind_one(b, c, &r, user, e);
	if (err)
		forget(dir, c);
	else
		tell_lost(b, c);
	return err;
}

int pci_bind(const struct pci_box *b, char *const *addresses, unsigned count, bool force,
	const char *user, const char *dir, struct io_error *e)
{
	struct io_error again;
	unsigned done = 0;
	int err = check_all(b, addresses, count, force, e);

	if (!err)
		err = check_access(b, e);
	if (!err)
		err = load_vfio(b, e);
	if (!err)
		err = check_iommus(b, addresses, count, user, e);
	if (err)
		return err;
	for (; !err && done < count; done++) {
		const struct pci_card *c = pci_find(b, addresses[done]);

		if (!pci_is_bound(c))
			err = bind_recorded(b, c, user, dir, e);
		else if (user)
			err = give_to_user(b, c, user, e);
	}
	if (!err)
		return 0;
	for (done--; done-- > 0;) {
		const struct pci_card *c = pci_find(b, addresses[done]);

		if (!pci_is_bound(c) && pci_unbind(b, c->bdf, dir, &again) < 0)
			log_error("%s", again.text);
	}
	return err;
}

int pci_unbind(const struct pci_box *b, const char *address, const char *dir, struct io_error *e)
{
	const struct pci_card *c = pci_find(b, address);
	char now[PCI_ID_SIZE];
	struct record r;
	int err;

	if (!c)
		return no_such_card(b, address, e);
	record_read(dir, c, &r);
	pci_link(b, now, CARDS "/%s/driver", c->bdf);
	if (strcmp(now, VFIO) && (now[0] || !r.known))
		return io_fail(e, -EINVAL, "%s is not bound to vfio-pci: its driver is %s", c->bdf,
			now[0] ? now : "none");
	err = check_access(b, e);
	if (err)
		return err;
	if (r.driver[0] && !pci_has(b, F_OK, DRIVERS "/%s", r.driver))
		return io_fail(e, -ENODEV,
			"%s had the driver %s, which is no longer loaded: `modprobe %s`", c->bdf,
			r.driver, r.driver);
	if (pci_is_used(b, c)) // VFIO would wait for it to end
		return io_fail(e, -EBUSY, "%s is in use by a process: wait for its end", c->bdf);
	err = give_back(b, c, &r);
	if (!err) {
		forget(dir, c);
		return 0;
	}
	io_fail(e, err, "%s cannot be given back to %s: %s", c->bdf,
		r.driver[0] ? r.driver : "a driver of the kernel", strerror(-err));
	if (!strcmp(now, VFIO) && move_to_vfio(b, c) == 0)
		return err;
	log_error("%s is without a driver now", c->bdf);
	return err;
}
