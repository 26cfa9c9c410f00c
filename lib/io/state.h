// SPDX-License-Identifier: BSD-3-Clause
// Changes of this process to kernel interfaces, written to a file per interface before the change:
// the user, its flags, the XDP program. A run ends by undoing them; after SIGKILL the next start
// finds the file of a dead process and undoes them then. Path: cold. Management thread.
#pragma once

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/port.h"

struct state {
	char interface[IFNAMSIZ];
	uint64_t netns; // inode of the network namespace
	uint32_t index; // of the interface
	uint32_t flags; // IFF_*, before
	uint64_t pid;
	uint64_t started;    // of the process, in clock ticks since boot
	bool attaches_xdp;   // the driver puts an XDP program there
	uint32_t xdp_before; // program that was there before, 0: none
	uint32_t xdp_ours;   // program that the driver put there, 0: not known (yet)
};

// The directory of the files, made when it is not there: /run/ddiperf, for other users than root
// ddiperf in $XDG_RUNTIME_DIR, else /tmp/ddiperf-UID. 0 or -errno; also when it belongs to another
// user (-EPERM).
int state_directory(char *dir, size_t room);
// Remove files of dead processes from it, and the directory if it is empty then.
void state_leave_directory(const char *dir);

void state_remove_folder(const char *path); // with everything in it

// Files. 0 or -errno; state_write: -EEXIST when there is one already. state_read: -ENOENT, or
// -EINVAL when it is not one of ours (cut short, or of another version).
int state_write(const char *dir, const struct state *s);
int state_rewrite(const char *dir, const struct state *s); // in place of the one that is there
int state_read(const char *dir, const char *interface, uint64_t netns, struct state *s);
void state_remove(const char *dir, const struct state *s);

// This process and its namespace into s.
void state_of_self(struct state *s);
// Does the process that wrote it still run?
bool state_is_alive(const struct state *s);

// Undo the changes of a dead process to the interface. 0, also when there was nothing; -EBUSY with
// e when a living process uses it; another -errno with e. *cleaned (NULL allowed): something was
// undone.
int state_recover(const struct port_settings *p, bool *cleaned, struct io_error *e);
// Claim the interface of the port, after state_recover. 0 or -errno with e.
int state_begin(const struct port_settings *p, struct io_error *e);
// The port is started: note the XDP program that its driver attached.
void state_attached(const struct port_settings *p);
// The port is closed: leave the interface as it was found and give it up.
void state_end(const struct port_settings *p);
