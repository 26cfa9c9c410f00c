// SPDX-License-Identifier: BSD-3-Clause
// Rules as a device gets them: every packet for a port or an address matches one rule, which names
// the queue that the plan has for it; a device that accepts only some has none in the end. The
// device is a stub in the place of rte_flow. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <rte_byteorder.h>

#include "io/port/rules.h"
#include "io/steer.h"

// The device accepts this number of rules, in validation and in creation.
static struct device {
	uint32_t valid, takes;
	uint32_t asked, told, flushed;
	struct rule_flow flows[RULES_MAX];
} device;

struct packet {
	struct addr dst;
	uint16_t port;
	uint8_t vlans;
	bool tcp;
};

// In the place of DPDK's: the test's are found first.
int rte_flow_validate(uint16_t port, const struct rte_flow_attr *attr,
	const struct rte_flow_item pattern[], const struct rte_flow_action actions[],
	struct rte_flow_error *error)
{
	assert_true(attr->ingress && !attr->egress);
	return device.asked++ < device.valid ? 0 : -ENOTSUP;
}

static void keep(struct rule_flow *out, const struct rte_flow_item *pattern,
	const struct rte_flow_action *actions)
{
	const struct rte_flow_action_queue *queue = actions[0].conf;

	assert_int_equal(actions[0].type, RTE_FLOW_ACTION_TYPE_QUEUE);
	assert_int_equal(actions[1].type, RTE_FLOW_ACTION_TYPE_END);
	out->queue = *queue;
	for (uint32_t i = 0; i < RULE_ITEMS; i++) {
		const struct rte_flow_item *item = &pattern[i];

		out->items[i].type = item->type;
		if (item->type == RTE_FLOW_ITEM_TYPE_END)
			return;
		if (item->type == RTE_FLOW_ITEM_TYPE_UDP && item->spec) {
			out->udp = *(const struct rte_flow_item_udp *)item->spec;
			out->udp_mask = *(const struct rte_flow_item_udp *)item->mask;
		}
		if (item->type == RTE_FLOW_ITEM_TYPE_TCP) {
			out->tcp = *(const struct rte_flow_item_tcp *)item->spec;
			out->tcp_mask = *(const struct rte_flow_item_tcp *)item->mask;
		}
		if (item->type == RTE_FLOW_ITEM_TYPE_IPV4 && item->spec) {
			out->v4 = *(const struct rte_flow_item_ipv4 *)item->spec;
			out->v4_mask = *(const struct rte_flow_item_ipv4 *)item->mask;
		}
		if (item->type == RTE_FLOW_ITEM_TYPE_IPV6 && item->spec) {
			out->v6 = *(const struct rte_flow_item_ipv6 *)item->spec;
			out->v6_mask = *(const struct rte_flow_item_ipv6 *)item->mask;
		}
	}
	fail_msg("a pattern without an end");
}

struct rte_flow *rte_flow_create(uint16_t port, const struct rte_flow_attr *attr,
	const struct rte_flow_item pattern[], const struct rte_flow_action actions[],
	struct rte_flow_error *error)
{
	if (device.told == device.takes)
		return NULL;
	keep(&device.flows[device.told], pattern, actions);
	return (struct rte_flow *)&device.flows[device.told++];
}

int rte_flow_flush(uint16_t port, struct rte_flow_error *error)
{
	device.told = 0;
	device.flushed++;
	return 0;
}

static int fresh(void **state)
{
	memset(&device, 0, sizeof(device));
	device.valid = device.takes = RULES_MAX;
	return 0;
}

static bool meets_address(const struct rule_flow *f, const struct packet *p)
{
	const uint8_t *mask = p->dst.len == 4 ? (const uint8_t *)&f->v4_mask.hdr.dst_addr
	                                      : (const uint8_t *)&f->v6_mask.hdr.dst_addr;
	const uint8_t *spec = p->dst.len == 4 ? (const uint8_t *)&f->v4.hdr.dst_addr
	                                      : (const uint8_t *)&f->v6.hdr.dst_addr;

	for (uint32_t i = 0; i < p->dst.len; i++)
		if ((p->dst.bytes[i] ^ spec[i]) & mask[i])
			return false;
	return true;
}

static bool meets(const struct rule_flow *f, const struct packet *p)
{
	const struct rte_flow_item *item = f->items;
	uint16_t mask =
		rte_be_to_cpu_16(p->tcp ? f->tcp_mask.hdr.dst_port : f->udp_mask.hdr.dst_port);
	uint16_t port = rte_be_to_cpu_16(p->tcp ? f->tcp.hdr.dst_port : f->udp.hdr.dst_port);

	if ((item++)->type != RTE_FLOW_ITEM_TYPE_ETH)
		return false;
	for (uint8_t i = 0; i < p->vlans; i++)
		if ((item++)->type != RTE_FLOW_ITEM_TYPE_VLAN)
			return false;
	if ((item++)->type != (p->dst.len == 4 ? RTE_FLOW_ITEM_TYPE_IPV4 : RTE_FLOW_ITEM_TYPE_IPV6))
		return false;
	if (item->type != (p->tcp ? RTE_FLOW_ITEM_TYPE_TCP : RTE_FLOW_ITEM_TYPE_UDP) ||
		item[1].type != RTE_FLOW_ITEM_TYPE_END)
		return false;
	return ((p->port ^ port) & mask) == 0 && meets_address(f, p);
}

// The queue of the only rule that a packet meets; -1: it meets none.
static int queue_of(const struct packet *p)
{
	int queue = -1;

	for (uint32_t i = 0; i < device.told; i++) {
		if (!meets(&device.flows[i], p))
			continue;
		assert_int_equal(queue, -1);
		queue = device.flows[i].queue.index;
	}
	return queue;
}

static struct addr parse(const char *text)
{
	const char *what;
	struct addr a;

	assert_int_equal(addr_parse(text, &a, &what), 0);
	return a;
}

// Checks the rules for UDP, and for TCP if it is wanted.
static void expect_ports(uint32_t queues, uint8_t vlans, bool streams)
{
	const struct addr dst[] = {parse("198.18.0.1"), parse("2001:db8::1")};
	const struct steer_facts facts = {.queues = queues, .takes_rules = true};
	struct rule rules[RULES_MAX];
	struct steer s = {0};

	steer_choose(&s, &facts);
	assert_int_equal(rules_install(0, rules, rules_by_port(queues, vlans, streams, rules)), 0);
	for (uint32_t port = 1024; port < 65536; port += 7) {
		const struct addr *to = &dst[port & 1];
		struct packet p = {*to, (uint16_t)port, vlans, false};
		struct steer_flow f = {to->bytes, to->bytes, to->len, 53, (uint16_t)port, false};

		assert_int_equal(queue_of(&p), steer_queue(&s, &f));
		p.tcp = f.tcp = true;
		assert_int_equal(queue_of(&p), streams ? (int)steer_queue(&s, &f) : -1);
	}
}

static void every_port_goes_to_the_queue_of_the_plan(void **state)
{
	for (uint32_t queues = 2; queues <= 16; queues++)
		for (uint8_t vlans = 0; vlans <= 2; vlans++) {
			fresh(state);
			expect_ports(queues, vlans, vlans & 1);
		}
}

static void an_address_goes_to_its_own_queue_and_others_anywhere(void **state)
{
	const struct rule_home homes[] = {{parse("198.18.0.64"), 0}, {parse("198.18.0.65"), 1},
		{parse("2001:db8::64"), 1}, {parse("198.18.0.64"), 1}};
	struct rule rules[RULES_MAX];
	struct packet p = {parse("198.18.0.66"), 67, 1};

	assert_int_equal(rules_by_address(homes, 4, 1, rules), 3);
	assert_int_equal(rules_install(0, rules, 3), 0);
	assert_int_equal(queue_of(&p), -1);
	for (int i = 0; i < 3; i++) {
		p.dst = homes[i].addr;
		assert_int_equal(queue_of(&p), homes[i].queue);
	}
	p.vlans = 0;
	assert_int_equal(queue_of(&p), -1);
}

static void a_device_that_says_no_to_one_rule_is_told_none(void **state)
{
	struct rule rules[RULES_MAX];
	uint32_t n = rules_by_port(4, 0, false, rules);

	device.valid = n - 1;
	assert_int_equal(rules_install(0, rules, n), -ENOTSUP);
	assert_int_equal(device.told, 0);
	assert_int_equal(device.asked, n);
	assert_int_equal(device.flushed, 0);
}

static void a_device_that_does_not_do_what_it_said_has_none_in_the_end(void **state)
{
	struct rule rules[RULES_MAX];
	uint32_t n = rules_by_port(4, 0, false, rules);

	device.takes = n - 1;
	assert_int_equal(rules_install(0, rules, n), -ENOTSUP);
	assert_int_equal(device.told, 0);
	assert_int_equal(device.flushed, 1);
}

static void no_rules_are_not_taken(void **state)
{
	assert_int_not_equal(rules_install(0, NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(every_port_goes_to_the_queue_of_the_plan, fresh),
		cmocka_unit_test_setup(an_address_goes_to_its_own_queue_and_others_anywhere, fresh),
		cmocka_unit_test_setup(a_device_that_says_no_to_one_rule_is_told_none, fresh),
		cmocka_unit_test_setup(
			a_device_that_does_not_do_what_it_said_has_none_in_the_end, fresh),
		cmocka_unit_test_setup(no_rules_are_not_taken, fresh),
	};

	return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
