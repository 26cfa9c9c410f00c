// SPDX-License-Identifier: BSD-3-Clause
// Checks before EAL starts: is everything there that a port needs, and may the tester use it? They
// change nothing. Path: cold. Management thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/port_state.h"

struct netif;

// Does the device of the port exist, and is it free? 0, or -errno with e.
int preflight_device(const struct port_settings *p, struct io_error *e);
// Like preflight_device, for a port on an interface of the list.
int preflight_interface(const struct port_settings *p, const struct netif *list, unsigned count,
	struct io_error *e);

// Does the host use this interface, or a bridge, bond or VLAN above it? n is in the list.
int preflight_users(const struct port_settings *p, const struct netif *n, const struct netif *list,
	unsigned count, struct io_error *e);

// Before EAL: does this machine meet the needs of the ports (device, capability, plug-in,
// hugepages), and is each kernel interface free? Changes nothing. 0, or -errno with e: -ENODEV,
// -EPERM, -EBUSY (default route, XDP program, other user), -EADDRINUSE (kernel addresses),
// -ENETDOWN, -EMSGSIZE (MTU), -ENOENT, -ENOMEM, -EINVAL.
int port_preflight(
	const struct port_settings *p, const struct host_settings *h, struct io_error *e);
