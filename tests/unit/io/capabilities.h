// SPDX-License-Identifier: BSD-3-Clause
// The capabilities of the process as a test sets them, in place of capget(2). Path: tests only.
#pragma once

#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

static uint64_t test_caps; // effective ones, a bit each

long syscall(long number, ...)
{
	long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	struct __user_cap_data_struct *data;
	void *a[5];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 5; i++)
		a[i] = va_arg(args, void *);
	va_end(args);
	if (number != SYS_capget) // a library's, before main
		return real(number, a[0], a[1], a[2], a[3], a[4]);
	data = a[1];
	data[0].effective = (uint32_t)test_caps;
	data[1].effective = (uint32_t)(test_caps >> 32);
	return 0;
}
