// SPDX-License-Identifier: BSD-3-Clause
// The capabilities of threads: those that they have, and giving them up when all ports are open. A
// fault in a parser of packets then has no power over the box. Path: cold. Management thread | each
// thread, once.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NEED_CAP(n) (1ull << (n)) // n: CAP_* of linux/capability.h

// Effective capabilities of this thread, a bit each (NEED_CAP).
uint64_t capabilities_now(void);
// "CAP_NET_RAW, CAP_NET_ADMIN"; returns buf.
const char *capabilities_names(uint64_t caps, char *buf, size_t room);
// The commands that give them to this program for a group of users; returns buf.
const char *capabilities_command(uint64_t caps, char *buf, size_t room);

// The calling thread gives up all capabilities for good. Unless it starts programs of the user, it
// gets no_new_privs too: a program that root starts has root's rights again otherwise. 0, or -errno
// when it has still some.
int privileges_drop(bool starts_programs);

// The calling thread keeps of its capabilities those in caps, and those by which it reads and
// writes the user's files and ends the user's commands. 0, or -errno.
int privileges_keep(uint64_t caps);
