// SPDX-License-Identifier: BSD-3-Clause
// Requests for next hops over ports of the test: for which addresses, from which address and VLAN,
// which MACs are learned, and which requests are not repeated. Path: cold. Test.
#include "../planned.h"

#include <time.h>

#include "base/bytes.h"
#include "engine/plan/resolve.h"
#include "lib/test_port.h"

#define SERVER_MAC                                                                                 \
	{                                                                                          \
		2, 9, 9, 9, 9, 2                                                                   \
	} // of an IPv4 server its last byte
#define ASKED_MAX 2048

// The other side of the wire: some addresses, on some VLANs, and the requests received.
static struct world {
	struct test_port port[2];
	struct neigh_self self;
	struct addr_range owned[4];
	bool silent, wrong_vlan;
	uint32_t ask_back; // request for an address of the tester's before the answer
	struct {
		uint16_t number;
		enum frame_kind kind;
		uint16_t vlans[2];
		uint8_t vlan_count;
		uint8_t sender[16];
	} asked[ASKED_MAX];
	uint32_t count, answered_back;
	// The clock of the plan. It advances while a queue is read, and while a packet is sent.
	uint64_t now_ns, poll_ns, send_ns;
	uint32_t naps;
} world;

static volatile sig_atomic_t signals;

int nanosleep(const struct timespec *time, struct timespec *left)
{
	world.naps++;
	return 0;
}

static struct addr addr(const char *text)
{
	struct addr a;
	const char *what;

	assert_int_equal(addr_parse(text, &a, &what), 0);
	return a;
}

static void answer(struct test_port *p, struct frame *f, enum frame_kind kind)
{
	struct neigh_self self = world.self;
	uint8_t out[256];
	uint32_t len;

	memcpy(self.vlans, f->vlans, sizeof(self.vlans));
	self.vlan_count = f->vlan_count;
	if (kind == FRAME_ARP) // each of the servers has a MAC of its own
		self.mac[5] = f->eth[14 + 4 * f->vlan_count + 27];
	len = neigh_answer(&self, kind, f, out, sizeof(out));
	if (len && world.wrong_vlan && f->vlan_count)
		out[15] ^= 1;
	if (len)
		test_port_receive(p, out, len);
}

static void on_poll(struct test_port *p)
{
	world.now_ns += world.poll_ns;
}

static void on_sent(struct test_port *p, uint16_t queue, const struct rte_mbuf *m)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	struct frame f;
	enum frame_kind kind = frame_parse(data, m->data_len, &f);
	const uint8_t *arp = data + 14 + 4 * f.vlan_count;

	world.now_ns += world.send_ns;
	if (kind == FRAME_ARP && bytes_be16(arp + 6) == 2) { // a reply to a request of ours
		world.answered_back++;
		return;
	}
	assert_true(world.count < ASKED_MAX);
	world.asked[world.count].number = (uint16_t)(p - world.port);
	world.asked[world.count].kind = kind;
	world.asked[world.count].vlan_count = f.vlan_count;
	memcpy(world.asked[world.count].vlans, f.vlans, sizeof(f.vlans));
	if (kind == FRAME_ARP)
		memcpy(world.asked[world.count].sender, arp + 14, 4);
	else
		memcpy(world.asked[world.count].sender, f.src, 16);
	world.count++;
	if (world.ask_back) {
		const struct addr us = addr("198.18.0.1"), server = addr("198.18.0.2");
		uint8_t out[128];
		uint32_t len = neigh_ask(&world.self, &server, &us, out, sizeof(out));

		world.ask_back--;
		test_port_receive(p, out, len);
	}
	if (!world.silent)
		answer(p, &f, kind);
}

static int fresh(void **state)
{
	memset(&world, 0, sizeof(world));
	world.poll_ns = 50000000;
	signals = 0;
	world.self = (struct neigh_self){.mac = SERVER_MAC, .owned = world.owned, .owned_count = 4};
	world.owned[0] = (struct addr_range){addr("198.18.0.2"), 2};
	world.owned[1] = (struct addr_range){addr("2001:db8::2"), 2};
	world.owned[2] = (struct addr_range){addr("198.18.0.254"), 1};
	world.owned[3] = (struct addr_range){addr("198.19.0.2"), 1};
	return 0;
}

static struct planned *planned(const char *text)
{
	struct planned *p = planned_start(text, false);

	for (uint32_t i = 0; i < p->plan.port_count; i++) {
		test_port_open(&world.port[i], (uint16_t)(10 + i));
		world.port[i].sent = on_sent;
		world.port[i].poll = on_poll;
		for (uint32_t q = 0; q < p->plan.ports[i].queues; q++)
			p->plan.ports[i].tx_pool[q] = &world.port[i].pool;
	}
	assert_int_equal(plan_build(&p->plan, p->l.a), 0);
	p->plan.clock.set = &world.now_ns;
	return p;
}

static void free_planned(struct planned *p)
{
	for (uint32_t i = 0; i < p->plan.port_count; i++)
		assert_int_equal(world.port[i].live, world.port[i].received_count);
	planned_free(p);
}

#define PORT(name, net, more)                                                                      \
	"  - {name: " name ", driver: af_packet, device: " name "0, addresses: [" net "]" more "}" \
	"\n"
#define LAN(more) "ports:\n" PORT("lan", "198.18.0.1/24, \"2001:db8::1/64\"", more)
#define ITEM(name, server)                                                                         \
	"  - {name: " name ", port: lan, server: " server ", load: {rate: 1k}, " LOADED_DNS "}\n"

static const uint8_t server_mac[6] = SERVER_MAC;

static const uint8_t *mac_of(const struct planned *p, uint32_t item, uint32_t path)
{
	return p->plan.items[item].run->frames[path].bytes;
}

static int resolve(struct planned *p)
{
	struct io_error e = {""};

	return resolve_all(&p->plan, &signals, &e);
}

// Once for its MAC, and once to make our address known.
static void the_server_is_asked_and_its_mac_is_in_the_frames(void **state)
{
	struct planned *p = planned(LAN("") "traffic:\n" ITEM("q", "198.18.0.2"));

	assert_int_equal(resolve(p), 0);
	assert_memory_equal(mac_of(p, 0, 0), server_mac, 6);
	assert_int_equal(world.count, 2);
	assert_int_equal(world.asked[0].kind, FRAME_ARP);
	assert_memory_equal(world.asked[0].sender, ((uint8_t[]){198, 18, 0, 1}), 4);
	assert_int_equal(world.naps, 0); // each reply is there at once
	free_planned(p);
}

static void an_ipv6_server_is_found_by_neighbour_discovery(void **state)
{
	struct planned *p = planned(LAN("") "traffic:\n" ITEM("q", "\"2001:db8::2\""));

	assert_int_equal(resolve(p), 0);
	assert_memory_equal(mac_of(p, 0, 0), server_mac, 6);
	assert_int_not_equal(world.asked[0].kind, FRAME_ARP);
	free_planned(p);
}

static void a_server_elsewhere_is_behind_the_gateway(void **state)
{
	struct planned *p =
		planned(LAN(", gateway: 198.18.0.254") "traffic:\n" ITEM("q", "203.0.113.1"));

	assert_int_equal(resolve(p), 0);
	assert_int_equal(mac_of(p, 0, 0)[5], 254);
	free_planned(p);
}

// From the port's address on the server's subnet, even if that is not the first.
static void who_asks_is_on_the_subnet_of_the_next_hop(void **state)
{
	struct planned *p = planned("ports:\n" PORT("lan",
		"\"2001:db8::1/64\", 198.20.0.1/24, 198.18.0.7/24, "
		"198.18.0.9/24",
		"") "traffic:\n" ITEM("q", "198.18.0.2"));

	assert_int_equal(resolve(p), 0);
	assert_memory_equal(world.asked[0].sender, ((uint8_t[]){198, 18, 0, 7}), 4);
	free_planned(p);
}

// A link-local gateway is in no subnet of the port.
static void a_link_local_gateway_is_asked_by_any_address_of_its_family(void **state)
{
	static const struct {
		const char *own, *source, *sender;
	} rows[] = {
		{"198.18.0.1/24, \"2001:db8::1/64\", \"2001:db8:1::1/64\"", "2001:db8::7",
			"2001:db8::1"},
		{"198.18.0.1/24", "2001:db8::7", "2001:db8::7"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct addr sender = addr(rows[i].sender);
		struct io_error e = {""};
		struct planned *p;
		char text[512];

		snprintf(text, sizeof(text),
			"ports:\n"
			"  - {name: lan, driver: af_packet, device: lan0, addresses: [%s], "
			"gateway: \"fe80::1\"}\n"
			"traffic:\n"
			"  - {name: q, server: \"2001:db8:9::2\", source: {addresses: \"%s\"}, "
			"load: {rate: 1k}, " LOADED_DNS "}\n",
			rows[i].own, rows[i].source);
		p = planned(text);
		world.silent = true;
		world.count = 0;
		assert_int_equal(resolve_all(&p->plan, &signals, &e), -ENOENT);
		assert_memory_equal(world.asked[0].sender, sender.bytes, 16);
		assert_non_null(strstr(e.text, rows[i].sender));
		free_planned(p);
	}
}

static void a_server_that_does_not_answer_is_asked_fifteen_times(void **state)
{
	struct planned *p = planned(LAN("") "traffic:\n" ITEM("q", "198.18.0.2"));
	struct io_error e = {""};

	world.silent = true;
	assert_int_equal(resolve_all(&p->plan, &signals, &e), -ENOENT);
	assert_int_equal(world.count, 15);
	assert_int_equal(world.naps, 15 * 4); // after each look at the queue
	assert_non_null(strstr(e.text, "traffic.q: no ARP reply from 198.18.0.2 on port lan "
				       "(asked 15 times in 3.0 s as 198.18.0.1, no VLAN)"));
	free_planned(p);
	p = planned(LAN(", vlans: [7, 8]") "traffic:\n" ITEM("q", "\"2001:db8::2\""));
	assert_int_equal(resolve_all(&p->plan, &signals, &e), -ENOENT);
	assert_non_null(strstr(e.text, "no neighbour discovery reply"));
	assert_non_null(strstr(e.text, "as 2001:db8::1, VLANs 7 and 8"));
	free_planned(p);
}

// The thread had no CPU from the request until after the time to wait.
static void a_reply_is_read_also_after_a_late_wake_up(void **state)
{
	struct planned *p = planned(LAN("") "traffic:\n" ITEM("q", "198.18.0.2"));

	world.send_ns = 1000000000;
	assert_int_equal(resolve(p), 0);
	assert_int_equal(world.count, 2);
	free_planned(p);
}

// The first item without a reply ends the requests.
static void what_is_not_found_is_the_last_to_be_asked_for(void **state)
{
	struct planned *p =
		planned(LAN("") "traffic:\n" ITEM("q", "198.18.0.99") ITEM("r", "198.18.0.2"));

	assert_int_equal(resolve(p), -ENOENT);
	assert_int_equal(world.count, 15);
	free_planned(p);
}

static void a_signal_ends_the_asking(void **state)
{
	struct planned *p = planned(LAN("") "traffic:\n" ITEM("q", "198.18.0.2"));

	signals = 1;
	assert_int_equal(resolve(p), -EINTR);
	free_planned(p);
}

static void a_group_is_not_asked_for(void **state)
{
	const uint8_t all[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	struct planned *p =
		planned(LAN("") "traffic: [{name: r, load: {rate: 1}, dhcp4: {clients: 9}}]\n");

	assert_int_equal(resolve(p), 0);
	assert_int_equal(world.count, 0);
	assert_memory_equal(mac_of(p, 0, 0), all, 6);
	free_planned(p);
}

static uint32_t asked_on(uint16_t number, uint8_t vlan_count)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < world.count; i++)
		n += world.asked[i].number == number && world.asked[i].vlan_count == vlan_count;
	return n;
}

// The MAC is known from the previous item; our address is announced for each.
static void the_same_next_hop_is_asked_for_once(void **state)
{
	struct planned *p = planned(LAN("") "traffic:\n" ITEM("q", "198.18.0.2")
			ITEM("r", "198.18.0.2") ITEM("s", "198.18.0.3"));

	assert_int_equal(resolve(p), 0);
	assert_int_equal(world.count, 2 + 1 + 2);
	assert_memory_equal(mac_of(p, 0, 0), server_mac, 6);
	assert_memory_equal(mac_of(p, 1, 0), server_mac, 6);
	assert_int_equal(mac_of(p, 2, 0)[5], 3);
	free_planned(p);
}

// Two servers behind one gateway are two paths of an item.
static void the_gateway_of_two_servers_is_asked_for_once(void **state)
{
	struct planned *p =
		planned(LAN(", gateway: 198.18.0.254") "traffic: [{name: r, server: 203.0.113.1, "
						       "load: {rate: 1}, dhcp4: {clients: 9,"
						       " relay: {addresses: 198.18.0.1}, servers: "
						       "[203.0.113.2]}}]\n");

	assert_int_equal(p->plan.items[0].path_count, 2);
	assert_int_equal(resolve(p), 0);
	assert_int_equal(mac_of(p, 0, 0)[5], 254);
	assert_int_equal(mac_of(p, 0, 1)[5], 254);
	assert_int_equal(world.count, 1 + 2);
	free_planned(p);
}

static void the_same_address_is_somebody_else_on_another_port(void **state)
{
	struct planned *p = planned(LAN("") PORT("wan", "198.18.0.1/24", "") "traffic:\n" ITEM(
		"q", "198.18.0.2") "  - {name: r, port: wan, server: 198.18.0.2, load: {rate: "
				   "1k}, " LOADED_DNS "}\n");

	assert_int_equal(resolve(p), 0);
	assert_int_equal(asked_on(0, 0), 2);
	assert_int_equal(asked_on(1, 0), 2);
	free_planned(p);
}

// The paths of one item: one for each VLAN of its clients. Clients without a VLAN do not exist;
// their path repeats the first VLAN's, where our address is announced twice.
static void the_same_address_is_somebody_else_on_another_vlan(void **state)
{
	struct planned *p = planned(
		LAN("") "traffic: [{name: r, server: 198.18.0.2, load: {rate: 1},"
			" dhcp4: {clients: 9, relay: {addresses: 198.18.0.64},"
			" vlans: [{clients: 0-3, vlans: [7]}, {clients: 4-8, vlans: [8]}]}}]\n");

	assert_int_equal(resolve(p), 0);
	assert_int_equal(p->plan.items[0].path_count, 3);
	assert_int_equal(asked_on(0, 0), 0);
	assert_int_equal(asked_on(0, 1), 5);
	assert_int_equal(world.asked[0].vlans[0], 7);
	assert_int_equal(world.asked[4].vlans[0], 8);
	for (uint32_t n = 0; n < p->plan.items[0].path_count; n++)
		assert_memory_equal(mac_of(p, 0, n), server_mac, 6);
	free_planned(p);
}

static void an_answer_on_another_vlan_is_none(void **state)
{
	struct planned *p = planned(LAN(", vlans: [100]") "traffic:\n" ITEM("q", "198.18.0.2"));

	assert_int_equal(resolve(p), 0);
	assert_int_equal(asked_on(0, 1), 2);
	assert_int_equal(world.asked[0].vlans[0], 100);
	free_planned(p);
	fresh(state);
	world.wrong_vlan = true;
	p = planned(LAN(", vlans: [100]") "traffic:\n" ITEM("q", "198.18.0.2"));
	assert_int_equal(resolve(p), -ENOENT);
	free_planned(p);
}

static void every_source_address_is_made_known(void **state)
{
	struct planned *p = planned(LAN(
		"") "traffic: [{name: q, server: 198.18.0.2, load: {rate: 1k}, source: {addresses: "
		    "[198.18.0.64-198.18.0.66, 198.18.0.80]}, " LOADED_DNS "}]\n");

	assert_int_equal(resolve(p), 0);
	assert_int_equal(world.count, 1 + 4);
	assert_int_equal(world.asked[0].sender[3], 1);
	assert_int_equal(world.asked[1].sender[3], 64);
	assert_int_equal(world.asked[3].sender[3], 66);
	assert_int_equal(world.asked[4].sender[3], 80);
	free_planned(p);
}

static void no_more_addresses_are_made_known_than_a_kernel_remembers(void **state)
{
	struct planned *p = planned("ports:\n" PORT("lan", "198.18.0.1/15",
		"") "traffic: [{name: q, server: 198.18.0.2, load: {rate: 1k}, source: {addresses: "
		    "[198.18.4.0-198.18.7.250, 198.18.8.0-198.18.12.0]}, " LOADED_DNS "}]\n");

	assert_int_equal(resolve(p), 0);
	assert_int_equal(world.count, 1 + 1024);
	free_planned(p);
}

static void who_asks_for_us_meanwhile_is_answered(void **state)
{
	struct planned *p = planned(LAN("") "traffic:\n" ITEM("q", "198.18.0.2"));

	world.ask_back = 1;
	assert_int_equal(resolve(p), 0);
	assert_int_equal(world.answered_back, 1);
	free_planned(p);
}

#define TEST(name) cmocka_unit_test_setup(name, fresh)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_server_is_asked_and_its_mac_is_in_the_frames),
		TEST(an_ipv6_server_is_found_by_neighbour_discovery),
		TEST(a_server_elsewhere_is_behind_the_gateway),
		TEST(who_asks_is_on_the_subnet_of_the_next_hop),
		TEST(a_server_that_does_not_answer_is_asked_fifteen_times),
		TEST(a_reply_is_read_also_after_a_late_wake_up),
		TEST(what_is_not_found_is_the_last_to_be_asked_for),
		TEST(a_link_local_gateway_is_asked_by_any_address_of_its_family),
		TEST(a_signal_ends_the_asking),
		TEST(a_group_is_not_asked_for),
		TEST(the_same_next_hop_is_asked_for_once),
		TEST(the_gateway_of_two_servers_is_asked_for_once),
		TEST(the_same_address_is_somebody_else_on_another_port),
		TEST(the_same_address_is_somebody_else_on_another_vlan),
		TEST(an_answer_on_another_vlan_is_none),
		TEST(every_source_address_is_made_known),
		TEST(no_more_addresses_are_made_known_than_a_kernel_remembers),
		TEST(who_asks_for_us_meanwhile_is_answered),
	};

	return cmocka_run_group_tests_name("resolve", tests, NULL, NULL);
}
