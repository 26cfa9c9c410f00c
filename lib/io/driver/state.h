// SPDX-License-Identifier: BSD-3-Clause
// Claims on kernel interfaces, and changes to them. A claim is a socket with an abstract name, one
// for each interface of a network namespace: it is visible to all users, and disappears with the
// process. Changes are recorded in a file per interface before they are made. A run ends by undoing
// them; after SIGKILL the next run on the interface does. Path: cold. Management thread.
#pragma once

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/port_state.h"

struct netif;

struct state {
	char interface[IFNAMSIZ];
	uint64_t netns; // inode of the network namespace
	uint32_t index; // of the interface
	uint32_t boot;  // of the machine: a reboot has undone earlier changes
	uint32_t flags; // IFF_*, before
	uint64_t pid;
	bool promiscuous;  // the driver sets IFF_PROMISC
	uint32_t xdp_ours; // program that the driver attached, 0: none
	bool link;         // an event of the run takes the interface down or up
};

// The directory of the files, created if missing: /run/ddiperf, for users other than root ddiperf
// in $XDG_RUNTIME_DIR, otherwise /tmp/ddiperf-UID. 0 or -errno; -EPERM if it belongs to another
// user.
int state_directory(char *dir, size_t room);
// Remove files of dead processes from it, and the directory if it is empty then.
void state_leave_directory(const char *dir);

// Path of the socket of a process that is running or has left it there, used to watch its run.
void state_socket(const char *dir, uint64_t pid, char *path, size_t room);
// The processes that have such a socket, up to room. Returns their number.
uint32_t state_sockets(const char *dir, uint64_t *pids, uint32_t room);

void state_remove_folder(const char *path); // with everything in it

// Files. 0 or -errno. state_write replaces an earlier file. state_read: -ENOENT, or -EINVAL if the
// file is cut short or of another version.
int state_write(const char *dir, const struct state *s);
int state_read(const char *dir, uint32_t index, uint64_t netns, struct state *s);
void state_remove(const char *dir, const struct state *s);

// Sets process, namespace and boot of s to the current ones.
void state_of_self(struct state *s);

// Does a run of this network namespace use the interface with this index?
bool state_is_claimed(uint32_t index);
// Would state_begin find the interface free? Changes nothing. 0, or -EBUSY with e if another run
// uses it, or if a foreign XDP program is attached: drivers that attach their own refuse always,
// others unless force: true.
int state_look(const struct port_settings *p, const struct netif *n, struct io_error *e);
// Claim the interface of the port, undo the changes of a killed run, and write its state. The
// claim, a descriptor above 0, or -errno with e.
int state_begin(const struct port_settings *p, struct io_error *e);
// Would state_begin set the interface, which is down, up again after a killed run?
bool state_sets_up(const struct netif *n);
// The driver opened a device: note the XDP program that it attached.
void state_attached(const struct port_settings *p);
// The link is about to be changed: its state is restored at the end. 0, or -errno.
int state_link(const struct port_settings *p);
// The run is over, and another one may follow: the link is as it was before. 0, or -errno.
int state_link_end(const struct port_settings *p);
// The port is closed: leave the interface as it was found and give the claim up.
void state_end(const struct port_settings *p, int claim);
// For the last moments of a process: leave all interfaces as this process found them. Any thread,
// while the management thread does nothing.
void state_end_own(void);
