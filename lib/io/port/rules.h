// SPDX-License-Identifier: BSD-3-Clause
// Rules for a device that sorts received packets: UDP and TCP to a port or address into a queue.
// All of them are validated first; a device that accepts only some gets none. The queues that
// packets reach show whether the rules work. Path: cold. Management thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_flow.h>

#include "base/addr.h"

#define RULES_MAX  256
#define RULE_ITEMS 6 // of one rule at most: Ethernet, two tags, IP, UDP, the end

// An address that is a queue's.
struct rule_home {
	struct addr addr;
	uint16_t queue;
};

struct rule {
	struct addr addr;         // destination; of len without `exact`: any of that family
	bool exact;               // the address counts
	uint16_t port, port_mask; // of the destination; mask 0: any
	bool tcp;                 // in place of UDP
	uint8_t vlan_count;       // tags in front of the packet
	uint16_t queue;
};

// A rule in the words of rte_flow; points into itself.
struct rule_flow {
	struct rte_flow_item items[RULE_ITEMS];
	struct rte_flow_action actions[2];
	struct rte_flow_item_ipv4 v4, v4_mask;
	struct rte_flow_item_ipv6 v6, v6_mask;
	struct rte_flow_item_udp udp, udp_mask;
	struct rte_flow_item_tcp tcp, tcp_mask;
	struct rte_flow_action_queue queue;
};

// Rules that put the ports of both families into `queues` queues, by their lowest bits
// (steer_rules_size): for UDP, and with `streams` for TCP, too; out: RULES_MAX. Returns their
// number.
uint32_t rules_by_port(uint32_t queues, uint8_t vlan_count, bool streams, struct rule *out);

// Rules for addresses; returns their number. Of two homes of one address the first counts. count is
// up to RULES_MAX.
uint32_t rules_by_address(
	const struct rule_home *homes, uint32_t count, uint8_t vlan_count, struct rule *out);

// 0, or -errno if the device does not accept all of them; none is left in it then.
int rules_install(uint16_t device, const struct rule *rules, uint32_t count);
void rules_remove(uint16_t device);
