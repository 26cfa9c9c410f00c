// SPDX-License-Identifier: BSD-3-Clause
// The capabilities of threads, and dropping them when all ports are open, so that a fault in a
// packet parser has no power over the machine. Path: cold. Management thread | each thread, once.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NEED_CAP(n) (1ull << (n)) // n: CAP_* of linux/capability.h

// Effective capabilities of this thread, a bit each (NEED_CAP).
uint64_t capabilities_now(void);
// "CAP_NET_RAW, CAP_NET_ADMIN"; returns buf.
const char *capabilities_names(uint64_t caps, char *buf, size_t room);
// The commands that give this program these capabilities, for a group of users; returns buf.
const char *capabilities_command(uint64_t caps, char *buf, size_t room);

// The calling thread drops all capabilities for good. Unless it starts programs of the user, it
// also gets no_new_privs, because a program started by root would otherwise regain root's rights.
// 0, or -errno if it still has any.
int privileges_drop(bool starts_programs);

// The calling thread keeps its capabilities in caps, and the ones for reading and writing the
// user's files and ending the user's commands. 0, or -errno.
int privileges_keep(uint64_t caps);
