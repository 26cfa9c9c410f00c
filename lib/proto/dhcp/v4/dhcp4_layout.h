// SPDX-License-Identifier: BSD-3-Clause
// Layouts of earlier messages: servers mostly send the same options in the same order, so most
// messages need no walk. For lib/proto only. Path: hot. One thread.
#pragma once

#include "proto/dhcp/v4/dhcp_shape.h"

#define DHCP4_LAYOUTS 4 // known at the same time

// Offsets of the data of options in the message; 0: there is no such option.
struct dhcp4_places {
	uint16_t type, server_id, lease_time, t1, t2, requested;
	uint16_t client_id, relay_info, message, parameters;
};

// Of a message that is right, ends with END, and has every option once and in its options field.
// A walk would find the same options at the same places.
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
