// SPDX-License-Identifier: BSD-3-Clause
// Port settings as a file would give them, for the tests of io.
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "io/port_state.h"
#include "io/driver/driver.h"

static inline int driver_index(const char *name)
{
	for (unsigned i = 0; i < driver_count; i++)
		if (!strcmp(drivers[i].name, name))
			return (int)i;
	fail_msg("no driver %s", name);
	return -1;
}

static inline struct port_settings port_of(const char *name, const char *driver, const char *device)
{
	return (struct port_settings){.name = name,
		.driver = driver_index(driver),
		.device = device,
		.mtu = 1500,
		.burst = UINT64_MAX,
		.rx_descriptors = UINT64_MAX,
		.tx_descriptors = UINT64_MAX,
		.mbufs = UINT64_MAX};
}
