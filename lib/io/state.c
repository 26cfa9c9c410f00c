// SPDX-License-Identifier: BSD-3-Clause
// The state files: one line of text each, made complete by link(2) so that a kill leaves a whole
// one or none. Path: cold. Management thread.
#include "io/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "io/driver.h"
#include "io/explain.h"
#include "io/netif.h"

#define FORMAT                                                                                     \
	"ddiperf-state 1 %15s %" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu64 " %d"      \
	" %" PRIu32 " %" PRIu32

int state_directory(char *dir, size_t room)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	struct stat st;
	int len;

	if (geteuid() == 0)
		len = snprintf(dir, room, "/run/ddiperf");
	else if (runtime && access(runtime, W_OK) == 0)
		len = snprintf(dir, room, "%s/ddiperf", runtime);
	else
		len = snprintf(dir, room, "/tmp/ddiperf-%u", (unsigned)geteuid());
	if (len < 0 || (size_t)len >= room)
		return -ENAMETOOLONG;
	// Another run that ends between the two calls removes the empty folder: once more, then.
	for (unsigned tries = 0;; tries++) {
		if (mkdir(dir, 0700) < 0 && errno != EEXIST)
			return -errno;
		if (lstat(dir, &st) == 0)
			break;
		if (errno != ENOENT || tries == 100)
			return -errno;
	}
	return S_ISDIR(st.st_mode) && st.st_uid == geteuid() ? 0 : -EPERM;
}

// Start time of a process in clock ticks since boot, 0: there is none.
static uint64_t process_started(uint64_t pid)
{
	char path[64], line[1024], *at;
	uint64_t started = 0;
	size_t len;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	len = fread(line, 1, sizeof(line) - 1, f);
	fclose(f);
	line[len] = '\0';
	at = strrchr(line, ')'); // behind the name, which may hold anything
	for (unsigned field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (at)
		started = strtoull(at, NULL, 10);
	return started;
}

static uint64_t own_netns(void)
{
	struct stat st;

	return stat("/proc/self/ns/net", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

void state_of_self(struct state *s)
{
	s->netns = own_netns();
	s->pid = (uint64_t)getpid();
	s->started = process_started(s->pid);
}

bool state_is_alive(const struct state *s)
{
	return process_started(s->pid) == s->started;
}

static void file_path(
	const char *dir, const char *interface, uint64_t netns, char *path, size_t room)
{
	snprintf(path, room, "%s/%s@%" PRIu64, dir, interface, netns);
}

static int write_line(const char *path, const struct state *s)
{
	FILE *f = fopen(path, "wxe");
	int err = 0;

	if (!f)
		return -errno;
	if (fprintf(f, FORMAT "\n", s->interface, s->netns, s->index, s->flags, s->pid, s->started,
		    s->attaches_xdp, s->xdp_before, s->xdp_ours) < 0)
		err = -EIO;
	if (fclose(f) != 0 && !err)
		err = -errno;
	return err;
}

// put: link, which keeps a file that is there, or rename, which replaces it.
static int put_file(
	const char *dir, const struct state *s, int (*put)(const char *draft, const char *path))
{
	char path[512], draft[512];
	int err;

	file_path(dir, s->interface, s->netns, path, sizeof(path));
	snprintf(draft, sizeof(draft), "%s/draft-%" PRIu64, dir, s->pid);
	unlink(draft);
	err = write_line(draft, s);
	if (!err && put(draft, path) < 0)
		err = -errno;
	unlink(draft);
	return err;
}

int state_write(const char *dir, const struct state *s)
{
	return put_file(dir, s, link);
}

int state_rewrite(const char *dir, const struct state *s)
{
	return put_file(dir, s, rename);
}

static int read_line(const char *path, struct state *s)
{
	FILE *f = fopen(path, "re");
	int attaches, got;

	if (!f)
		return -errno;
	memset(s, 0, sizeof(*s));
	got = fscanf(f, FORMAT, s->interface, &s->netns, &s->index, &s->flags, &s->pid, &s->started,
		&attaches, &s->xdp_before, &s->xdp_ours);
	fclose(f);
	if (got != 9)
		return -EINVAL;
	s->attaches_xdp = attaches;
	return 0;
}

int state_read(const char *dir, const char *interface, uint64_t netns, struct state *s)
{
	char path[512];

	file_path(dir, interface, netns, path, sizeof(path));
	return read_line(path, s);
}

void state_remove(const char *dir, const struct state *s)
{
	char path[512];

	file_path(dir, s->interface, s->netns, path, sizeof(path));
	unlink(path);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

void state_remove_folder(const char *path)
{
	nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

// Of processes that are no more: directories of EAL, drafts, and files of interfaces that are no
// more.
static void sweep(const char *dir, const char *name)
{
	struct state s = {0};
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (sscanf(name, "eal-%" SCNu64, &s.pid) == 1 ||
		sscanf(name, "draft-%" SCNu64, &s.pid) == 1) {
		if (!process_started(s.pid))
			state_remove_folder(path);
		return;
	}
	if (read_line(path, &s) < 0 || state_is_alive(&s))
		return;
	if (s.netns == own_netns() && if_nametoindex(s.interface) != s.index)
		unlink(path);
}

void state_leave_directory(const char *dir)
{
	struct dirent *entry;
	DIR *d = opendir(dir);

	if (!d)
		return;
	while ((entry = readdir(d)))
		if (entry->d_name[0] != '.')
			sweep(dir, entry->d_name);
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

static int undo(const struct state *s, bool *changed)
{
	struct netif n;
	int err;

	if (netif_read(s->interface, &n) < 0 || n.index != s->index)
		return 0; // the interface is gone, and its changes with it
	if (s->attaches_xdp && n.xdp_program && n.xdp_program != s->xdp_before) {
		err = netif_detach_xdp(s->interface);
		if (err)
			return err;
		*changed = true;
	}
	if (s->xdp_ours)
		remove_pins(n.index, s->xdp_ours);
	if ((n.flags ^ s->flags) & IFF_PROMISC) {
		err = netif_set_promiscuous(s->interface, s->flags & IFF_PROMISC);
		*changed = true;
		return err;
	}
	return 0;
}

int state_recover(const struct port_settings *p, bool *cleaned, struct io_error *e)
{
	bool changed = false;
	struct state s;
	char dir[256];
	int err = state_directory(dir, sizeof(dir));

	if (cleaned)
		*cleaned = false;
	if (err)
		return port_fail(e, p, err, "%s cannot be used: %s", dir, strerror(-err));
	err = state_read(dir, p->device, own_netns(), &s);
	if (err) {
		state_leave_directory(dir);
		return 0;
	}
	if (state_is_alive(&s))
		return port_fail(e, p, -EBUSY,
			"the interface is in use by process %" PRIu64
			" of ddiperf: wait for its end",
			s.pid);
	err = undo(&s, &changed);
	if (err)
		return port_fail(e, p, err,
			"leftovers of the killed run of process %" PRIu64
			" cannot be removed (%s): "
			"`ip link set dev %s xdp off`",
			s.pid, strerror(-err), p->device);
	if (changed)
		log_note("port %s: removed leftovers of a killed run from %s", p->name, p->device);
	if (cleaned)
		*cleaned = changed;
	state_remove(dir, &s);
	state_leave_directory(dir);
	return 0;
}

int state_begin(const struct port_settings *p, struct io_error *e)
{
	struct state s = {0};
	struct netif n;
	char dir[256];
	int err = state_directory(dir, sizeof(dir));

	if (!err)
		err = netif_read(p->device, &n);
	if (err)
		return port_fail(e, p, err, "the interface cannot be read: %s", strerror(-err));
	snprintf(s.interface, sizeof(s.interface), "%s", n.name);
	s.index = n.index;
	s.flags = n.flags;
	s.attaches_xdp = driver_of(p)->xdp;
	s.xdp_before = n.xdp_program;
	state_of_self(&s);
	err = state_write(dir, &s);
	if (err == -EEXIST)
		return port_fail(e, p, -EBUSY,
			"the interface is in use by another run of ddiperf: wait for its end");
	return err ? port_fail(e, p, err, "its state file cannot be written to %s: %s", dir,
			     strerror(-err))
	           : 0;
}

void state_attached(const struct port_settings *p)
{
	struct netif n;
	struct state s;
	char dir[256];

	if (!driver_of(p)->xdp || state_directory(dir, sizeof(dir)) < 0)
		return;
	if (state_read(dir, p->device, own_netns(), &s) < 0 || netif_read(p->device, &n) < 0)
		return;
	s.xdp_ours = n.xdp_program;
	state_rewrite(dir, &s);
}

void state_end(const struct port_settings *p)
{
	bool changed = false;
	struct state s;
	char dir[256];
	int err;

	if (state_directory(dir, sizeof(dir)) < 0)
		return;
	if (state_read(dir, p->device, own_netns(), &s) == 0 && s.pid == (uint64_t)getpid()) {
		err = undo(&s, &changed);
		if (err)
			log_error("port %s: the settings of %s could not be restored (%s): "
				  "`ip link set dev %s xdp off promisc off`",
				p->name, p->device, strerror(-err), p->device);
		else
			state_remove(dir, &s);
	}
	state_leave_directory(dir);
}
