// SPDX-License-Identifier: BSD-3-Clause
// capget(2) and capset(2), which are about the calling thread alone. Path: cold. Management thread
// | each thread, once.
#include "io/host/privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SETS _LINUX_CAPABILITY_U32S_3

// For files that root reads and writes in the folders of other users, and for commands that changed
// their user.
#define OF_THE_USER                                                                                \
	(NEED_CAP(CAP_DAC_OVERRIDE) | NEED_CAP(CAP_DAC_READ_SEARCH) | NEED_CAP(CAP_CHOWN) |        \
		NEED_CAP(CAP_FOWNER) | NEED_CAP(CAP_FSETID) | NEED_CAP(CAP_KILL))

static int read_sets(struct __user_cap_data_struct data[SETS])
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capget, &head, data) < 0 ? -errno : 0;
}

uint64_t capabilities_now(void)
{
	struct __user_cap_data_struct data[SETS] = {0};

	if (read_sets(data) < 0)
		return 0;
	return data[0].effective | (uint64_t)data[1].effective << 32;
}

const char *capabilities_names(uint64_t caps, char *buf, size_t room)
{
	static const struct {
		unsigned number;
		const char *name;
	} names[] = {{CAP_NET_RAW, "CAP_NET_RAW"}, {CAP_NET_ADMIN, "CAP_NET_ADMIN"},
		{CAP_SYS_ADMIN, "CAP_SYS_ADMIN"}, {CAP_IPC_LOCK, "CAP_IPC_LOCK"},
		{CAP_NET_BIND_SERVICE, "CAP_NET_BIND_SERVICE"}};
	size_t used = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]) && used < room; i++)
		if (caps & NEED_CAP(names[i].number))
			used += (size_t)snprintf(
				buf + used, room - used, "%s%s", used ? ", " : "", names[i].name);
	return buf;
}

static void lower_case(char *text)
{
	char *to = text;

	for (; *text; text++)
		if (*text != ' ')
			*to++ = *text >= 'A' && *text <= 'Z' ? (char)(*text + 32) : *text;
	*to = '\0';
}

// First, because chgrp(1) removes capabilities.
const char *capabilities_command(uint64_t caps, char *buf, size_t room)
{
	char names[128], program[256];
	ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);

	program[len > 0 ? len : 0] = '\0';
	capabilities_names(caps, names, sizeof(names));
	lower_case(names);
	snprintf(buf, room,
		"`sudo setcap %s+ep %s` (after `chgrp GROUP` and `chmod 0750` on it: every user "
		"who "
		"may run it gets these rights)",
		names, program);
	return buf;
}

// Removes all other capabilities from each set. 0, also if the kernel refuses and the sets have no
// others.
static int keep(uint64_t caps)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[SETS] = {0};
	uint32_t more = 0;
	int err = read_sets(data);

	for (unsigned i = 0; !err && i < SETS; i++) {
		uint32_t mask = (uint32_t)(caps >> 32 * i);

		more |= (data[i].effective | data[i].permitted) & ~mask;
		data[i].effective &= mask;
		data[i].permitted &= mask;
		data[i].inheritable &= mask;
	}
	if (!err && syscall(SYS_capset, &head, data) < 0 && more)
		err = -errno;
	return err;
}

int privileges_drop(bool starts_programs)
{
	if (!starts_programs)
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return keep(0);
}

int privileges_keep(uint64_t caps)
{
	return keep(caps | OF_THE_USER);
}
