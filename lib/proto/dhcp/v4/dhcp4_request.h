// SPDX-License-Identifier: BSD-3-Clause
// Parts of the messages of a client that templates and checks of replies need, too. Path: hot. The
// worker that owns ctx.
#pragma once

#include "proto/dhcp/v4/dhcp4_plan.h"

// Write the data of options 61 and 82, as sent.
void dhcp4_client_id_write(const struct dhcp4_self *s, struct writer *w);
void dhcp4_relay_info_write(const struct dhcp4_self *s, struct writer *w);
