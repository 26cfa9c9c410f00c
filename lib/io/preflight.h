// SPDX-License-Identifier: BSD-3-Clause
// Before EAL is touched: is what a port needs there, and may it be used? Each function looks at the
// device of one kind of driver; port_preflight (io/port.h) at what all have in common. Path: cold.
// Management thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/port.h"

// Rows of the driver table. All: 0, or -errno with e.
int preflight_interface(const struct port_settings *p, struct io_error *e);
int preflight_pci(const struct port_settings *p, struct io_error *e);
int preflight_pcap(const struct port_settings *p, struct io_error *e); // interface or files
int preflight_tap(const struct port_settings *p, struct io_error *e);
int preflight_socket(const struct port_settings *p, struct io_error *e);  // a socket we may make
int preflight_backend(const struct port_settings *p, struct io_error *e); // one that is there

// Of a memif device: the path behind "server:" or "client:"; does anyone listen there?
const char *socket_path(const char *device);
bool socket_is_served(const char *path);

// Does the host use this interface (or the bridge or bond it belongs to, or a VLAN on it)? n is one
// of list.
struct netif;
int preflight_users(const struct port_settings *p, const struct netif *n, const struct netif *list,
	unsigned count, struct io_error *e);

// Effective capabilities of this thread, a bit each (NEED_CAP).
uint64_t capabilities_now(void);
// "CAP_NET_RAW, CAP_NET_ADMIN"; returns buf.
const char *capabilities_names(uint64_t caps, char *buf, size_t room);
