// SPDX-License-Identifier: BSD-3-Clause
// The state files: one line of text each, put in place by rename(2) so that a kill leaves a
// complete file or none. Only the holder of the claim writes or removes the file of an interface.
// Path: cold. Management thread.
#include "io/driver/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "io/driver/driver.h"
#include "io/driver/explain.h"
#include "io/host/netif.h"

#define FORMAT                                                                                     \
	"ddiperf-state 3 %15s %" PRIu64 " %" PRIu32 " %" PRIx32 " %" PRIu32 " %" PRIu64 " %d"      \
	" %" PRIu32 " %d"

#define RESTORE "`ip link set dev %s %s xdp off promisc off`" // interface, link_word

static int directory_name(char *dir, size_t room)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	int len;

	if (geteuid() == 0)
		len = snprintf(dir, room, "/run/ddiperf");
	else if (runtime && access(runtime, W_OK) == 0)
		len = snprintf(dir, room, "%s/ddiperf", runtime);
	else
		len = snprintf(dir, room, "/tmp/ddiperf-%u", (unsigned)geteuid());
	return len < 0 || (size_t)len >= room ? -ENAMETOOLONG : 0;
}

static int check_owner(const char *dir)
{
	struct stat st;

	if (lstat(dir, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	return st.st_uid == geteuid() ? 0 : -EPERM;
}

int state_directory(char *dir, size_t room)
{
	int err = directory_name(dir, room);

	// Another run that ends between the two calls removes the empty folder: once more, then.
	for (unsigned tries = 0; !err; tries++) {
		if (mkdir(dir, 0700) < 0 && errno != EEXIST)
			return -errno;
		err = check_owner(dir);
		if (err != -ENOENT || tries == 100)
			break;
		err = 0;
	}
	return err;
}

static uint64_t own_netns(void)
{
	struct stat st;

	return stat("/proc/self/ns/net", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

// The first digits of the kernel's id of this start, 0: unknown.
static uint32_t boot_id(void)
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
	uint32_t id = 0;

	if (f && fscanf(f, "%8" SCNx32, &id) != 1)
		id = 0;
	if (f)
		fclose(f);
	return id;
}

void state_of_self(struct state *s)
{
	s->netns = own_netns();
	s->boot = boot_id();
	s->pid = (uint64_t)getpid();
}

static void file_path(const char *dir, uint32_t index, uint64_t netns, char *path, size_t room)
{
	snprintf(path, room, "%s/%" PRIu32 "@%" PRIu64, dir, index, netns);
}

static int write_line(const char *path, const struct state *s)
{
	FILE *f = fopen(path, "wxe");
	int err = 0;

	if (!f)
		return -errno;
	if (fprintf(f, FORMAT "\n", s->interface, s->netns, s->index, s->boot, s->flags, s->pid,
		    s->promiscuous, s->xdp_ours, s->link) < 0)
		err = -EIO;
	if (fclose(f) != 0 && !err)
		err = -errno;
	return err;
}

int state_write(const char *dir, const struct state *s)
{
	char path[512], draft[512];
	int err;

	file_path(dir, s->index, s->netns, path, sizeof(path));
	snprintf(draft, sizeof(draft), "%s/draft-%" PRIu64, dir, s->pid);
	unlink(draft);
	err = write_line(draft, s);
	if (!err && rename(draft, path) < 0)
		err = -errno;
	unlink(draft);
	return err;
}

static int read_line(const char *path, struct state *s)
{
	FILE *f = fopen(path, "re");
	int promiscuous, link, got;

	if (!f)
		return -errno;
	memset(s, 0, sizeof(*s));
	got = fscanf(f, FORMAT, s->interface, &s->netns, &s->index, &s->boot, &s->flags, &s->pid,
		&promiscuous, &s->xdp_ours, &link);
	fclose(f);
	if (got != 9)
		return -EINVAL;
	s->promiscuous = promiscuous;
	s->link = link;
	return 0;
}

int state_read(const char *dir, uint32_t index, uint64_t netns, struct state *s)
{
	char path[512];

	file_path(dir, index, netns, path, sizeof(path));
	return read_line(path, s);
}

void state_remove(const char *dir, const struct state *s)
{
	char path[512];

	file_path(dir, s->index, s->netns, path, sizeof(path));
	unlink(path);
}

// The name of the claim on an interface: abstract, so it is the network namespace's and needs no
// file.
static socklen_t claim_name(uint32_t index, struct sockaddr_un *name)
{
	int len;

	*name = (struct sockaddr_un){.sun_family = AF_UNIX};
	len = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "ddiperf/interface/%" PRIu32,
		index);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

static int claim_call(
	uint32_t index, int (*call)(int fd, const struct sockaddr *name, socklen_t len))
{
	struct sockaddr_un name;
	socklen_t len = claim_name(index, &name);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0 || call(fd, (const struct sockaddr *)&name, len) == 0)
		return fd < 0 ? -errno : fd;
	err = -errno;
	close(fd);
	return err;
}

// A descriptor, or -EADDRINUSE.
static int claim_take(uint32_t index)
{
	return claim_call(index, bind);
}

// Connecting a datagram socket is invisible to the other end.
bool state_is_claimed(uint32_t index)
{
	int fd = claim_call(index, connect);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

void state_remove_folder(const char *path)
{
	if (nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT)
		nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS); // it was out of memory
}

void state_socket(const char *dir, uint64_t pid, char *path, size_t room)
{
	snprintf(path, room, "%s/run-%" PRIu64, dir, pid);
}

uint32_t state_sockets(const char *dir, uint64_t *pids, uint32_t room)
{
	struct dirent *entry;
	DIR *d = opendir(dir);
	uint32_t count = 0;
	uint64_t pid;

	while (d && (entry = readdir(d))) {
		if (sscanf(entry->d_name, "run-%" SCNu64, &pid) != 1)
			continue;
		if (count < room)
			pids[count] = pid;
		count++;
	}
	if (d)
		closedir(d);
	return count;
}

static bool is_running(uint64_t pid)
{
	return kill((pid_t)pid, 0) == 0 || errno == EPERM;
}

// Removes files of interfaces that no longer exist, and of earlier boots. Holds their claim, so
// that a file that a new run has just written stays.
static void sweep_state(const char *path)
{
	char name[IFNAMSIZ];
	struct state s;
	int claim;

	if (read_line(path, &s) < 0 || s.netns != own_netns())
		return;
	claim = claim_take(s.index);
	if (claim < 0)
		return;
	if (!if_indextoname(s.index, name) || s.boot != boot_id())
		unlink(path);
	close(claim);
}

// Removes the leftovers of ended processes: directories of EAL, drafts, sockets, and states that
// are no longer needed.
static void sweep(const char *dir, const char *name)
{
	char path[512];
	uint64_t pid;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (sscanf(name, "eal-%" SCNu64, &pid) != 1 && sscanf(name, "draft-%" SCNu64, &pid) != 1 &&
		sscanf(name, "run-%" SCNu64, &pid) != 1)
		sweep_state(path);
	else if (!is_running(pid))
		state_remove_folder(path);
}

void state_leave_directory(const char *dir)
{
	struct dirent *entry;
	DIR *d = opendir(dir);

	while (d && (entry = readdir(d)))
		if (entry->d_name[0] != '.')
			sweep(dir, entry->d_name);
	if (d)
		closedir(d);
	rmdir(dir); // fails when another run has something there
}

// libxdp pins the dispatcher of an interface in bpffs, where there is one; without the program it
// is litter.
static void remove_pins(uint32_t index, uint32_t program)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/fs/bpf/xdp/dispatch-%u-%u", index, program);
	state_remove_folder(path);
}

static const char *link_word(uint32_t flags)
{
	return flags & IFF_UP ? "up" : "down";
}

static int undo_link(const struct state *s, const struct netif *n, bool *changed)
{
	if (!s->link || !((s->flags ^ n->flags) & IFF_UP))
		return 0;
	*changed = true;
	return netif_set_up(n->name, s->flags & IFF_UP);
}

// The changes in s that are still in effect.
static int undo(const struct state *s, const struct netif *n, bool *changed)
{
	bool before = s->flags & IFF_PROMISC, now = n->flags & IFF_PROMISC;
	int err;

	if (s->xdp_ours && n->xdp_program == s->xdp_ours) {
		err = netif_detach_xdp(n->name, s->xdp_ours);
		if (err)
			return err;
		*changed = true;
	}
	if (s->xdp_ours)
		remove_pins(n->index, s->xdp_ours);
	err = undo_link(s, n, changed);
	if (err)
		return err;
	// Drivers also clear a flag that was set.
	if (before == now || (now && !s->promiscuous))
		return 0;
	*changed = true;
	return netif_set_promiscuous(n->name, before);
}

// The changes that a dead process made to this interface since boot. -ENOENT if there are none.
static int read_leftovers(const char *dir, uint32_t index, struct state *s)
{
	int err = state_read(dir, index, own_netns(), s);

	return !err && s->boot != boot_id() ? -ENOENT : err;
}

static int in_use(
	const struct port_settings *p, const struct netif *n, const char *dir, struct io_error *e)
{
	struct state s;

	if (state_read(dir, n->index, own_netns(), &s) == 0 && is_running(s.pid))
		return port_fail(e, p, -EBUSY,
			"the interface is in use by process %" PRIu64
			" of ddiperf: wait for its end",
			s.pid);
	return port_fail(e, p, -EBUSY,
		"the interface is in use by another run of ddiperf: wait for its end");
}

// Drivers that attach their own program cannot restore this one reliably: a program lives only
// while it is attached, and this process may be killed.
static int check_foreign_xdp(
	const struct port_settings *p, const struct netif *n, struct io_error *e)
{
	if (n->xdp_program && driver_of(p)->xdp)
		return port_fail(e, p, -EBUSY,
			"an XDP program (id %u) of another program is attached, and this driver "
			"needs its place, with force: true too: `ip link set dev %s %s off` "
			"(`bpftool prog pin id %u /sys/fs/bpf/kept` before it keeps the program, "
			"and `bpftool net attach %s pinned /sys/fs/bpf/kept dev %s` after the run "
			"attaches it again), or driver: af_packet",
			n->xdp_program, p->device, n->xdp_mode, n->xdp_program, n->xdp_mode,
			p->device);
	if (n->xdp_program && !p->force)
		return port_fail(e, p, -EBUSY,
			"an XDP program (id %u) of another program is attached and may take the "
			"packets: `ip link set dev %s %s off`, or force: true (it stays attached)",
			n->xdp_program, p->device, n->xdp_mode);
	return 0;
}

bool state_sets_up(const struct netif *n)
{
	struct state s;
	char dir[256];

	return directory_name(dir, sizeof(dir)) == 0 && check_owner(dir) == 0 &&
	       !state_is_claimed(n->index) && read_leftovers(dir, n->index, &s) == 0 && s.link &&
	       s.flags & IFF_UP;
}

int state_look(const struct port_settings *p, const struct netif *n, struct io_error *e)
{
	struct state s = {0};
	char dir[256];

	// Without a directory there are no leftovers.
	if (directory_name(dir, sizeof(dir)) < 0 || check_owner(dir) < 0)
		dir[0] = '\0';
	if (state_is_claimed(n->index))
		return in_use(p, n, dir, e);
	if (dir[0] && read_leftovers(dir, n->index, &s) == 0 && s.xdp_ours == n->xdp_program)
		return 0; // the run detaches it
	return check_foreign_xdp(p, n, e);
}

static int recover(
	const struct port_settings *p, const char *dir, struct netif *n, struct io_error *e)
{
	bool changed = false;
	struct state s;
	int err = read_leftovers(dir, n->index, &s);

	if (err)
		return 0;
	err = undo(&s, n, &changed);
	if (err)
		return port_fail(e, p, err,
			"leftovers of the killed run of process %" PRIu64
			" cannot be removed (%s): " RESTORE,
			s.pid, strerror(-err), p->device, link_word(s.flags));
	if (changed)
		log_note("port %s: removed leftovers of a killed run from %s", p->name, p->device);
	err = netif_read(p->device, n);
	return err ? port_fail(e, p, err, "the interface cannot be read: %s", strerror(-err)) : 0;
}

static int write_own(
	const struct port_settings *p, const char *dir, const struct netif *n, struct io_error *e)
{
	struct state s = {.index = n->index, .flags = n->flags, .promiscuous = p->promiscuous};
	char made[256];
	int err;

	snprintf(s.interface, sizeof(s.interface), "%s", n->name);
	state_of_self(&s);
	err = state_write(dir, &s);
	// Another run that has ended meanwhile removed the empty folder.
	for (unsigned tries = 0; err == -ENOENT && tries < 100; tries++) {
		err = state_directory(made, sizeof(made));
		if (!err)
			err = state_write(made, &s);
	}
	return err ? port_fail(e, p, err, "its state file cannot be written to %s: %s", dir,
			     strerror(-err))
	           : 0;
}

int state_begin(const struct port_settings *p, struct io_error *e)
{
	struct netif n;
	char dir[256];
	int err = state_directory(dir, sizeof(dir)), claim;

	if (err)
		return port_fail(e, p, err, "%s cannot be used: %s", dir, strerror(-err));
	err = netif_read(p->device, &n);
	if (err)
		return port_fail(e, p, err, "the interface cannot be read: %s", strerror(-err));
	claim = claim_take(n.index);
	if (claim == -EADDRINUSE)
		return in_use(p, &n, dir, e);
	if (claim < 0)
		return port_fail(
			e, p, claim, "the interface cannot be claimed: %s", strerror(-claim));
	err = recover(p, dir, &n, e);
	if (!err)
		err = check_foreign_xdp(p, &n, e);
	if (!err)
		err = write_own(p, dir, &n, e);
	if (err)
		close(claim);
	return err ? err : claim;
}

// The state that this process wrote, and the interface as it is now. -ENODEV, -ENOENT: none.
static int read_own(
	const struct port_settings *p, char *dir, size_t room, struct state *s, struct netif *n)
{
	int err = directory_name(dir, room);

	err = err ? err : netif_read(p->device, n);
	err = err ? err : state_read(dir, n->index, own_netns(), s);
	return err ? err : s->pid == (uint64_t)getpid() ? 0 : -ENOENT;
}

void state_attached(const struct port_settings *p)
{
	struct netif n;
	struct state s;
	char dir[256];

	if (!driver_of(p)->xdp || read_own(p, dir, sizeof(dir), &s, &n) < 0 ||
		n.xdp_program == s.xdp_ours)
		return;
	s.xdp_ours = n.xdp_program;
	state_write(dir, &s);
}

int state_link(const struct port_settings *p)
{
	struct netif n;
	struct state s;
	char dir[256];
	int err = read_own(p, dir, sizeof(dir), &s, &n);

	s.link = true;
	return err ? err : state_write(dir, &s);
}

int state_link_end(const struct port_settings *p)
{
	bool changed;
	struct netif n;
	struct state s;
	char dir[256];
	int err = read_own(p, dir, sizeof(dir), &s, &n);

	return err ? err : undo_link(&s, &n, &changed);
}

static int undo_own(const struct port_settings *p, struct state *s)
{
	bool changed = false;
	struct netif n;
	char dir[256];
	int err = read_own(p, dir, sizeof(dir), s, &n);

	err = err ? err : undo(s, &n, &changed);
	if (!err)
		state_remove(dir, s);
	if (!err && s->link)
		log_note("port %s: %s is %s as before, but the kernel drops routes and IPv6 "
			 "addresses of an interface that goes down: `ip route` and `ip -6 address` "
			 "show the remaining ones",
			p->name, p->device, link_word(s->flags));
	return err;
}

// There is nothing to undo, or another process undoes it.
static bool is_settled(int err)
{
	return !err || err == -ENODEV || err == -ENOENT;
}

void state_end(const struct port_settings *p, int claim)
{
	struct state s = {.flags = IFF_UP};
	char dir[256];
	int err = undo_own(p, &s);

	if (!is_settled(err))
		err = undo_own(p, &s); // the kernel was short of memory for a moment
	if (!is_settled(err))
		log_error("port %s: the settings of %s could not be restored (%s): " RESTORE,
			p->name, p->device, strerror(-err), p->device, link_word(s.flags));
	close(claim);
	if (directory_name(dir, sizeof(dir)) == 0)
		state_leave_directory(dir);
}

static void end_own(const char *dir, const struct state *s)
{
	bool changed = false;
	struct netif n;
	int err = netif_read(s->interface, &n);

	if (err == 0 && n.index == s->index)
		err = undo(s, &n, &changed);
	if (err)
		log_error("the settings of %s could not be restored (%s): " RESTORE, s->interface,
			strerror(-err), s->interface, link_word(s->flags));
	else
		state_remove(dir, s);
}

void state_end_own(void)
{
	char dir[256], path[512];
	struct dirent *entry;
	struct state s;
	DIR *d;

	if (directory_name(dir, sizeof(dir)) < 0)
		return;
	d = opendir(dir);
	while (d && (entry = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		if (read_line(path, &s) == 0 && s.pid == (uint64_t)getpid() &&
			s.netns == own_netns())
			end_own(dir, &s);
	}
	if (d)
		closedir(d);
	snprintf(path, sizeof(path), "%s/eal-%d", dir, (int)getpid());
	state_remove_folder(path);
	state_socket(dir, (uint64_t)getpid(), path, sizeof(path));
	unlink(path);
	state_leave_directory(dir);
}
