// SPDX-License-Identifier: BSD-3-Clause
// Where the options of earlier messages lie: servers mostly say the same things in the same order,
// so most messages need no walk. Not for anyone outside lib/proto. Path: hot. One thread.
#pragma once

#include "proto/dhcp/dhcp_shape.h"

#define DHCP4_LAYOUTS 4 // that are known at the same time

// Offsets in the message of what options hold; 0: there is no such option.
struct dhcp4_places {
	uint16_t type, server_id, lease_time, t1, t2, requested;
	uint16_t client_id, relay_info, message, parameters;
};

// Of a message that is right, ends with END, and has every option once and in its options field.
// What lies where it says, and what surrounds it, a walk would find too.
struct dhcp4_layout {
	uint32_t need;           // bytes of a message that has it, 0: none yet
	struct dhcp_shape shape; // from the magic cookie on up to END, and with it
	struct dhcp4_places at;
	uint64_t present[4]; // as in a message
	uint8_t client_id_len, relay_info_len, message_len, parameters_len;
};

struct dhcp4_layouts {
	uint32_t last;   // that a message had
	uint32_t missed; // messages that had none of them
	struct dhcp4_layout items[DHCP4_LAYOUTS];
};
