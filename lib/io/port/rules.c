// SPDX-License-Identifier: BSD-3-Clause
// Writing rules in the words of rte_flow. Path: cold. Management thread.
#include "io/port/rules.h"

#include <errno.h>
#include <string.h>

#include <rte_byteorder.h>

#include "io/steer.h"

static const struct rte_flow_attr received = {.ingress = 1};

static void write_v4(const struct rule *r, struct rule_flow *out, struct rte_flow_item *item)
{
	item->type = RTE_FLOW_ITEM_TYPE_IPV4;
	if (!r->exact)
		return;
	memcpy(&out->v4.hdr.dst_addr, r->addr.bytes, 4);
	out->v4_mask.hdr.dst_addr = UINT32_MAX;
	item->spec = &out->v4;
	item->mask = &out->v4_mask;
}

static void write_v6(const struct rule *r, struct rule_flow *out, struct rte_flow_item *item)
{
	item->type = RTE_FLOW_ITEM_TYPE_IPV6;
	if (!r->exact)
		return;
	memcpy(&out->v6.hdr.dst_addr, r->addr.bytes, 16);
	memset(&out->v6_mask.hdr.dst_addr, 0xff, 16);
	item->spec = &out->v6;
	item->mask = &out->v6_mask;
}

static void write_udp(const struct rule *r, struct rule_flow *out, struct rte_flow_item *item)
{
	item->type = RTE_FLOW_ITEM_TYPE_UDP;
	if (r->port_mask == 0)
		return;
	out->udp.hdr.dst_port = rte_cpu_to_be_16(r->port);
	out->udp_mask.hdr.dst_port = rte_cpu_to_be_16(r->port_mask);
	item->spec = &out->udp;
	item->mask = &out->udp_mask;
}

static void write_tcp(const struct rule *r, struct rule_flow *out, struct rte_flow_item *item)
{
	item->type = RTE_FLOW_ITEM_TYPE_TCP;
	out->tcp.hdr.dst_port = rte_cpu_to_be_16(r->port);
	out->tcp_mask.hdr.dst_port = rte_cpu_to_be_16(r->port_mask);
	item->spec = &out->tcp;
	item->mask = &out->tcp_mask;
}

static void write_rule(const struct rule *r, struct rule_flow *out)
{
	struct rte_flow_item *item = out->items;

	memset(out, 0, sizeof(*out));
	(item++)->type = RTE_FLOW_ITEM_TYPE_ETH;
	for (uint8_t i = 0; i < r->vlan_count; i++)
		(item++)->type = RTE_FLOW_ITEM_TYPE_VLAN;
	if (r->addr.len == 4)
		write_v4(r, out, item++);
	else
		write_v6(r, out, item++);
	if (r->tcp)
		write_tcp(r, out, item++);
	else
		write_udp(r, out, item++);
	item->type = RTE_FLOW_ITEM_TYPE_END;
	out->queue.index = r->queue;
	out->actions[0].type = RTE_FLOW_ACTION_TYPE_QUEUE;
	out->actions[0].conf = &out->queue;
	out->actions[1].type = RTE_FLOW_ACTION_TYPE_END;
}

uint32_t rules_by_port(uint32_t queues, uint8_t vlan_count, bool streams, struct rule *out)
{
	uint32_t size = steer_rules_size(queues), n = 0;

	for (uint32_t kind = 0; kind < (streams ? 4 : 2); kind++)
		for (uint32_t i = 0; i < size; i++)
			out[n++] = (struct rule){.addr.len = kind & 1 ? 16 : 4,
				.tcp = kind & 2,
				.port = (uint16_t)i,
				.port_mask = (uint16_t)(size - 1),
				.vlan_count = vlan_count,
				.queue = (uint16_t)(i % queues)};
	return n;
}

static bool has_rule(const struct rule *rules, uint32_t count, const struct addr *addr)
{
	for (uint32_t i = 0; i < count; i++)
		if (addr_equal(&rules[i].addr, addr))
			return true;
	return false;
}

uint32_t rules_by_address(
	const struct rule_home *homes, uint32_t count, uint8_t vlan_count, struct rule *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++)
		if (!has_rule(out, n, &homes[i].addr))
			out[n++] = (struct rule){.addr = homes[i].addr,
				.exact = true,
				.vlan_count = vlan_count,
				.queue = homes[i].queue};
	return n;
}

static int validate(uint16_t device, const struct rule *rules, uint32_t count)
{
	struct rte_flow_error said;
	struct rule_flow flow;
	int rc = count ? 0 : -ENOENT;

	for (uint32_t i = 0; i < count && rc == 0; i++) {
		write_rule(&rules[i], &flow);
		rc = rte_flow_validate(device, &received, flow.items, flow.actions, &said);
	}
	return rc;
}

int rules_install(uint16_t device, const struct rule *rules, uint32_t count)
{
	int rc = validate(device, rules, count);
	struct rte_flow_error said;
	struct rule_flow flow;

	for (uint32_t i = 0; i < count && rc == 0; i++) {
		write_rule(&rules[i], &flow);
		if (rte_flow_create(device, &received, flow.items, flow.actions, &said))
			continue;
		rules_remove(device);
		rc = -ENOTSUP;
	}
	return rc;
}

void rules_remove(uint16_t device)
{
	struct rte_flow_error said;

	rte_flow_flush(device, &said);
}
