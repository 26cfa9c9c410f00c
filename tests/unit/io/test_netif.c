// SPDX-License-Identifier: BSD-3-Clause
// Facts about kernel interfaces, on the interface that every namespace has, and on a kernel's that
// this test plays.
#include "ports.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/host/netif.h"
#include "io/steer.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

// Netlink messages, and a nest that is open in the last one.
struct messages {
	_Alignas(8) char bytes[4096];
	size_t used;
	struct nlmsghdr *last;
	struct rtattr *nest;
};

static struct kernel {
	bool fake; // this one instead of the real one
	struct messages links, addresses, routes[2];
	const struct messages *answer; // that is asked for
	unsigned interrupts;           // before it comes
	int send_error, recv_error, no_sockets, membership_error;
	uint32_t attached_mode; // of an XDP program, 0: none
	unsigned detached;
	// by ethtool; error: of all but sizes
	int error, flags_error, set_error;
	bool flags_gone; // a flags_error because there is no such interface
	short flags, flags_set;
	struct ethtool_channels channels;
	char driver[32];
	uint32_t speed, link;
	uint32_t key_size, indir_size, key_size_after, indir_size_after;
	uint8_t hash;
	int no_fields; // of its hash
} kernel;

static int fresh(void **state)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.fake = true;
	kernel.speed = (uint32_t)SPEED_UNKNOWN;
	return 0;
}

static int real_one(void **state)
{
	kernel.fake = false;
	return 0;
}

static void add(struct messages *m, const void *data, size_t size)
{
	memcpy(m->bytes + m->used, data, size);
	m->used += NLMSG_ALIGN(size);
	m->last->nlmsg_len = (uint32_t)(m->bytes + m->used - (char *)m->last);
	if (m->nest)
		m->nest->rta_len = (uint16_t)(m->bytes + m->used - (char *)m->nest);
}

static void begin(struct messages *m, uint16_t type, const void *body, size_t size)
{
	m->last = (struct nlmsghdr *)(m->bytes + m->used);
	m->nest = NULL;
	m->last->nlmsg_type = type;
	m->used += NLMSG_HDRLEN;
	m->last->nlmsg_len = NLMSG_HDRLEN;
	if (size)
		add(m, body, size);
}

static void attribute(struct messages *m, uint16_t type, const void *data, size_t size)
{
	struct rtattr head = {.rta_type = type, .rta_len = (uint16_t)RTA_LENGTH(size)};

	add(m, &head, sizeof(head));
	if (size)
		add(m, data, size);
}

static void number(struct messages *m, uint16_t type, uint32_t value)
{
	attribute(m, type, &value, sizeof(value));
}

static void nest(struct messages *m, uint16_t type)
{
	struct rtattr head = {.rta_type = type | NLA_F_NESTED, .rta_len = sizeof(head)};

	m->nest = NULL;
	add(m, &head, sizeof(head));
	m->nest = (struct rtattr *)(m->bytes + m->used - sizeof(head));
}

static void link_of(int index, unsigned flags, const char *name)
{
	const struct ifinfomsg body = {.ifi_index = index, .ifi_flags = flags};

	begin(&kernel.links, RTM_NEWLINK, &body, sizeof(body));
	attribute(&kernel.links, IFLA_IFNAME, name, strlen(name) + 1);
}

static void address_of(uint8_t family, uint32_t index, uint8_t bits)
{
	const struct ifaddrmsg body = {
		.ifa_family = family, .ifa_index = index, .ifa_prefixlen = bits};

	begin(&kernel.addresses, RTM_NEWADDR, &body, sizeof(body));
}

static void route_of(int family, uint8_t bits, uint8_t type)
{
	const struct rtmsg body = {.rtm_dst_len = bits, .rtm_type = type};

	begin(&kernel.routes[family], RTM_NEWROUTE, &body, sizeof(body));
}

static void *real(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

int socket(int domain, int type, int protocol)
{
	int (*open)(int, int, int) = (int (*)(int, int, int))real("socket");

	errno = EMFILE;
	if (kernel.fake && kernel.no_sockets)
		return -1;
	return kernel.fake ? open(AF_UNIX, SOCK_DGRAM, 0) : open(domain, type, protocol);
}

int setsockopt(int fd, int level, int option, const void *value, socklen_t size)
{
	const struct packet_mreq *m = value;

	assert_int_equal(m->mr_type, PACKET_MR_ALLMULTI);
	errno = EPERM;
	return kernel.membership_error;
}

// A request; the mode of a program that is to be detached is behind its other attributes.
ssize_t sendto(
	int fd, const void *data, size_t size, int flags, const struct sockaddr *to, socklen_t len)
{
	const struct nlmsghdr *h = data;
	uint8_t family = *(const uint8_t *)NLMSG_DATA(h);
	uint32_t mode;

	if (!kernel.fake)
		return ((ssize_t(*)(int, const void *, size_t, int, const struct sockaddr *,
			socklen_t))real("sendto"))(fd, data, size, flags, to, len);
	kernel.answer = NULL;
	errno = EPERM;
	if (kernel.send_error)
		return -1;
	if (h->nlmsg_type == RTM_GETLINK)
		kernel.answer = &kernel.links;
	else if (h->nlmsg_type == RTM_GETADDR)
		kernel.answer = &kernel.addresses;
	else if (h->nlmsg_type == RTM_GETROUTE)
		kernel.answer = &kernel.routes[family == AF_INET6];
	if (h->nlmsg_type != RTM_SETLINK)
		return (ssize_t)size;
	memcpy(&mode, (const char *)data + size - sizeof(mode), sizeof(mode));
	kernel.detached++;
	if (mode == kernel.attached_mode) {
		kernel.links.used = 0;
		link_of(2, IFF_UP, "eth1");
	}
	return (ssize_t)size;
}

// First the messages, then their end, each alone.
ssize_t recvmsg(int fd, struct msghdr *in, int flags)
{
	const struct nlmsghdr done = {.nlmsg_len = NLMSG_HDRLEN, .nlmsg_type = NLMSG_DONE};
	const struct messages *m = kernel.answer;
	char *data = in->msg_iov->iov_base;

	if (!kernel.fake)
		return ((ssize_t(*)(int, struct msghdr *, int))real("recvmsg"))(fd, in, flags);
	errno = kernel.interrupts ? EINTR : kernel.recv_error;
	if (kernel.interrupts) {
		kernel.interrupts--;
		return -1;
	}
	if (kernel.recv_error)
		return -1;
	kernel.answer = NULL;
	memset(data, 0, in->msg_iov->iov_len); // behind the messages nothing makes sense
	if (!m || !m->used) {
		memcpy(data, &done, sizeof(done));
		return sizeof(done);
	}
	memcpy(data, m->bytes, m->used);
	m->last->nlmsg_flags = 0; // an interrupted dump is whole the next time
	return (ssize_t)m->used;
}

static int ethtool_answer(void *command)
{
	struct ethtool_drvinfo *driver = command;
	struct ethtool_cmd *settings = command;
	struct ethtool_value *value = command;
	struct ethtool_rxfh *rss = command;
	struct ethtool_rxnfc *fields = command;

	errno = EOPNOTSUPP;
	switch (*(uint32_t *)command) {
	case ETHTOOL_GCHANNELS:
		*(struct ethtool_channels *)command = kernel.channels;
		return kernel.error;
	case ETHTOOL_GDRVINFO:
		memcpy(driver->driver, kernel.driver, sizeof(driver->driver));
		memset(driver->bus_info, 'b', sizeof(driver->bus_info));
		return kernel.error;
	case ETHTOOL_GSET:
		settings->speed_hi = (uint16_t)(kernel.speed >> 16);
		settings->speed = (uint16_t)kernel.speed;
		return kernel.error;
	case ETHTOOL_GLINK:
		value->data = kernel.link;
		return kernel.error;
	case ETHTOOL_GRXFH:
		fields->data = RXH_IP_SRC | RXH_IP_DST;
		if (fields->flow_type == UDP_V6_FLOW)
			fields->data |= RXH_L4_B_0_1 | RXH_L4_B_2_3;
		return kernel.no_fields;
	}
	assert_int_equal(rss->cmd, ETHTOOL_GRSSH);
	if (!rss->key_size && !rss->indir_size) {
		rss->key_size = kernel.key_size;
		rss->indir_size = kernel.indir_size;
		return kernel.error == -1 ? -1 : 0;
	}
	for (uint32_t i = 0; i < rss->indir_size; i++)
		rss->rss_config[i] = i % 3;
	memset(rss->rss_config + rss->indir_size, 0x6d, rss->key_size);
	rss->key_size = kernel.key_size_after;
	rss->indir_size = kernel.indir_size_after;
	rss->hfunc = kernel.hash;
	return kernel.error;
}

int ioctl(int fd, unsigned long request, ...)
{
	struct ifreq *r;
	va_list args;

	va_start(args, request);
	r = va_arg(args, struct ifreq *);
	va_end(args);
	if (!kernel.fake)
		return ((int (*)(int, unsigned long, ...))real("ioctl"))(fd, request, r);
	if (request == SIOCETHTOOL)
		return ethtool_answer(r->ifr_data);
	errno = kernel.flags_gone ? ENODEV : EPERM;
	if (request == SIOCGIFFLAGS) {
		r->ifr_flags = kernel.flags;
		return kernel.flags_error;
	}
	assert_int_equal(request, SIOCSIFFLAGS);
	kernel.flags_set = r->ifr_flags;
	return kernel.set_error;
}

static struct netif the_only_one(void)
{
	struct netif *list, n;
	unsigned count;

	assert_int_equal(netif_list(&list, &count), 0);
	assert_int_equal(count, 1);
	n = list[0];
	free(list);
	return n;
}

static void a_link_is_read_from_its_attributes(void **state)
{
	static const uint8_t mac[] = {2, 0, 0, 0, 0, 9}, infiniband[20] = {1};
	struct netif n;

	link_of(7, IFF_UP | IFF_RUNNING, "a-name-of-15-ch");
	number(&kernel.links, IFLA_MTU, 9000);
	number(&kernel.links, IFLA_MASTER, 3);
	number(&kernel.links, IFLA_LINK, 4);
	attribute(&kernel.links, IFLA_ADDRESS, mac, sizeof(mac));
	attribute(&kernel.links, IFLA_ADDRESS, infiniband, sizeof(infiniband));
	number(&kernel.links, IFLA_GROUP, 99); // not of interest
	nest(&kernel.links, IFLA_LINKINFO);
	attribute(&kernel.links, IFLA_INFO_DATA, "veth", 5);
	attribute(&kernel.links, IFLA_INFO_KIND, "a-kind-of-macvlan", 18);
	nest(&kernel.links, IFLA_XDP);
	number(&kernel.links, IFLA_XDP_ATTACHED, 5);
	number(&kernel.links, IFLA_XDP_SKB_PROG_ID, 42);
	n = the_only_one();
	assert_string_equal(n.name, "a-name-of-15-ch");
	assert_string_equal(n.kind, "a-kind-of-macvl");
	assert_int_equal(n.index, 7);
	assert_int_equal(n.flags, IFF_UP | IFF_RUNNING);
	assert_true(n.carrier);
	assert_int_equal(n.mtu, 9000);
	assert_int_equal(n.master, 3);
	assert_int_equal(n.lower, 0); // not a VLAN by the kept part of its kind
	assert_int_equal(n.xdp_program, 42);
	assert_string_equal(n.xdp_mode, "xdpgeneric");
	assert_memory_equal(n.mac, mac, sizeof(mac));
	fresh(state);
	link_of(8, 0, "v");
	number(&kernel.links, IFLA_LINK, 4);
	attribute(&kernel.links, IFLA_MTU, "ab", 2); // too short
	nest(&kernel.links, IFLA_LINKINFO);
	attribute(&kernel.links, IFLA_INFO_KIND, "vlan", 4); // without its end
	n = the_only_one();
	assert_string_equal(n.kind, "vlan");
	assert_int_equal(n.lower, 4);
	assert_int_equal(n.mtu, 0);
	assert_false(n.carrier);
}

static void only_whole_messages_of_the_kind_count(void **state)
{
	const struct ifinfomsg link = {.ifi_index = 9};
	struct netif *list;
	unsigned count;

	begin(&kernel.links, RTM_NEWLINK, &link, 8); // too short for its body
	begin(&kernel.links, RTM_DELLINK, &link, sizeof(link));
	begin(&kernel.links, RTM_NEWLINK, &link, sizeof(link)); // without attributes
	begin(&kernel.addresses, RTM_NEWADDR, &link, 4);
	begin(&kernel.routes[0], RTM_NEWROUTE, &link, 8);
	begin(&kernel.links, NLMSG_DONE, NULL, 0);
	begin(&kernel.links, RTM_NEWLINK, &link, sizeof(link)); // behind the end
	assert_int_equal(the_only_one().index, 9);
	kernel.links.last = (struct nlmsghdr *)kernel.links.bytes;
	kernel.links.last->nlmsg_len = NLMSG_HDRLEN - 1;
	assert_int_equal(netif_list(&list, &count), 0);
	assert_int_equal(count, 0);
	kernel.links.last->nlmsg_len = (uint32_t)kernel.links.used + 1;
	assert_int_equal(netif_list(&list, &count), 0);
	assert_int_equal(count, 0);
	kernel.links.used = NLMSG_HDRLEN; // fits to the end, and is too short for its body
	kernel.links.last->nlmsg_len = NLMSG_HDRLEN;
	assert_int_equal(netif_list(&list, &count), 0);
	assert_int_equal(count, 0);
	kernel.links.used = NLMSG_HDRLEN - 4; // not even a head: there is nothing more
	assert_int_equal(netif_list(&list, &count), 0);
	assert_int_equal(count, 0);
}

static void errors_of_the_kernel_are_passed_on(void **state)
{
	struct nlmsgerr why = {.error = -EAFNOSUPPORT};
	struct netif *list;
	unsigned count;

	link_of(2, IFF_UP, "eth1");
	kernel.interrupts = 2;
	assert_string_equal(the_only_one().name, "eth1");
	begin(&kernel.routes[1], NLMSG_ERROR, &why, sizeof(why));
	assert_string_equal(the_only_one().name, "eth1"); // without IPv6
	why.error = -EOPNOTSUPP;
	memcpy(NLMSG_DATA(kernel.routes[1].last), &why, sizeof(why));
	assert_string_equal(the_only_one().name, "eth1");
	why.error = -EIO;
	memcpy(NLMSG_DATA(kernel.routes[1].last), &why, sizeof(why));
	assert_int_equal(netif_list(&list, &count), -EIO);
	kernel.routes[1].last->nlmsg_len = kernel.routes[1].used = NLMSG_LENGTH(8); // no error code
	assert_int_equal(netif_list(&list, &count), -EBADMSG);
	begin(&kernel.addresses, NLMSG_ERROR, &why, sizeof(why));
	kernel.routes[1].used = 0;
	assert_int_equal(netif_list(&list, &count), -EIO);
	kernel.recv_error = ENOBUFS;
	assert_int_equal(netif_list(&list, &count), -ENOBUFS);
	kernel.send_error = 1;
	assert_int_equal(netif_list(&list, &count), -EPERM);
	kernel.no_sockets = 1;
	assert_int_equal(netif_list(&list, &count), -EMFILE);
	assert_int_equal(netif_detach_xdp("eth1", 42), -EMFILE);
	assert_int_equal(netif_set_promiscuous("eth1", true), -EMFILE);
	assert_true(netif_running("eth1")); // so far as we know
}

static void a_dump_that_was_interrupted_is_repeated(void **state)
{
	link_of(2, IFF_UP, "eth1");
	address_of(AF_INET, 2, 24);
	kernel.addresses.last->nlmsg_flags = NLM_F_DUMP_INTR;
	assert_int_equal(the_only_one().addr_count, 1);
	assert_int_equal(kernel.addresses.last->nlmsg_flags, 0);
}

static void addresses_are_the_own_ones(void **state)
{
	static const uint8_t own[] = {10, 0, 0, 1}, peer[] = {10, 0, 0, 2}, v6[16] = {0x20, 1};
	const struct ifaddrmsg gone = {.ifa_family = AF_INET, .ifa_index = 2};
	struct messages *m = &kernel.addresses;
	char text[ADDR_TEXT_SIZE];
	struct netif n;

	link_of(2, IFF_UP, "eth1");
	address_of(AF_INET, 3, 24); // of no interface
	attribute(m, IFA_LOCAL, own, 4);
	address_of(AF_MPLS, 2, 20);
	attribute(m, IFA_LOCAL, v6, 16);
	address_of(AF_INET, 2, 24);
	attribute(m, IFA_LABEL, peer, 4);
	attribute(m, IFA_ADDRESS, peer, 4);
	attribute(m, IFA_LOCAL, v6, 16); // of the wrong length
	attribute(m, IFA_LOCAL, own, 4);
	attribute(m, IFA_ADDRESS, peer, 4);
	address_of(AF_INET6, 2, 64);
	attribute(m, IFA_ADDRESS, v6, 16);
	begin(m, RTM_DELADDR, &gone, sizeof(gone));
	attribute(m, IFA_LOCAL, own, 4);
	n = the_only_one();
	assert_int_equal(n.addr_count, 2);
	addr_format_prefix(&n.addrs[0], text, sizeof(text));
	assert_string_equal(text, "10.0.0.1/24");
	addr_format_prefix(&n.addrs[1], text, sizeof(text));
	assert_string_equal(text, "2001::/64");
	for (unsigned i = 2; i < NETIF_ADDRS_MAX + 1; i++) {
		address_of(AF_INET, 2, (uint8_t)i);
		attribute(m, IFA_LOCAL, own, 4);
	}
	n = the_only_one();
	assert_int_equal(n.addr_count, NETIF_ADDRS_MAX);
	assert_int_equal(n.addrs[NETIF_ADDRS_MAX - 1].bits, NETIF_ADDRS_MAX - 1);
}

static void the_default_route_is_that_of_all_addresses(void **state)
{
	static const struct {
		int family;
		uint8_t bits, type;
		uint32_t interface;
		bool hops, expected;
	} cases[] = {
		{0, 0, RTN_UNICAST, 2, false, true},
		{1, 0, RTN_UNICAST, 2, false, true},
		{0, 8, RTN_UNICAST, 2, false, false},
		{0, 0, RTN_BLACKHOLE, 2, false, false},
		{0, 0, RTN_UNICAST, 3, false, false},
		{0, 0, RTN_UNICAST, 2, true, true},
		{0, 8, RTN_UNICAST, 2, true, false},
		{0, 0, RTN_UNICAST, 3, true, false},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct messages *m = &kernel.routes[cases[i].family];
		const struct rtmsg gone = {.rtm_type = RTN_UNICAST};
		struct rtnexthop hop[] = {{.rtnh_len = sizeof(hop[0]), .rtnh_ifindex = 5},
			{.rtnh_len = sizeof(hop[0]), .rtnh_ifindex = (int)cases[i].interface}};

		fresh(state);
		link_of(2, IFF_UP, "eth1");
		route_of(cases[i].family, cases[i].bits, cases[i].type);
		number(m, RTA_TABLE, 2);
		if (cases[i].hops)
			attribute(m, RTA_MULTIPATH, hop, sizeof(hop));
		else
			number(m, RTA_OIF, cases[i].interface);
		number(m, RTA_PRIORITY, 2); // looks like one more hop
		begin(m, RTM_DELROUTE, &gone, sizeof(gone));
		number(m, RTA_OIF, 2);
		assert_int_equal(the_only_one().default_route, cases[i].expected);
	}
}

static void the_driver_knows_queues_and_speed(void **state)
{
	static const struct {
		const char *kind;
		unsigned flags;
		uint32_t speed;
		int error;
		uint64_t expected;
	} cases[] = {
		{"", IFF_RUNNING, 100000, 0, 100000000000},
		{"", IFF_RUNNING, 1, 0, 1000000},
		{"", IFF_RUNNING, 0, 0, 0},
		{"", IFF_RUNNING, (uint32_t)SPEED_UNKNOWN, 0, 0},
		{"", IFF_UP, 100000, 0, 0},
		{"veth", IFF_RUNNING, 100000, 0, 0},
		{"", IFF_RUNNING, 100000, -1, 0},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct netif n;

		fresh(state);
		link_of(2, cases[i].flags, "eth1");
		nest(&kernel.links, IFLA_LINKINFO);
		attribute(&kernel.links, IFLA_INFO_KIND, cases[i].kind, strlen(cases[i].kind));
		kernel.speed = cases[i].speed;
		kernel.error = cases[i].error;
		kernel.channels = (struct ethtool_channels){.combined_count = 3, .rx_count = 2};
		memset(kernel.driver, 'd', sizeof(kernel.driver));
		n = the_only_one();
		assert_int_equal(n.speed_bps, cases[i].expected);
		assert_int_equal(n.rx_queues, cases[i].error ? 0 : 5);
		assert_int_equal(strlen(n.driver), cases[i].error ? 0 : sizeof(n.driver) - 1);
		assert_int_equal(strlen(n.bus), cases[i].error ? 0 : sizeof(n.bus) - 1);
	}
}

static void a_program_is_detached_in_its_mode(void **state)
{
	static const struct {
		uint32_t mode;
		unsigned tries;
		int err;
	} cases[] = {
		{XDP_FLAGS_DRV_MODE, 1, 0}, {XDP_FLAGS_SKB_MODE, 2, 0}, {XDP_FLAGS_HW_MODE, 3, 0},
		{0, 3, -EBUSY}, // in none of them
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		fresh(state);
		link_of(2, IFF_UP, "eth1");
		nest(&kernel.links, IFLA_XDP);
		number(&kernel.links, IFLA_XDP_SKB_PROG_ID, 42);
		kernel.attached_mode = cases[i].mode;
		assert_int_equal(netif_detach_xdp("eth1", 41), 0); // not that one
		assert_int_equal(kernel.detached, 0);
		assert_int_equal(netif_detach_xdp("eth1", 42), cases[i].err);
		assert_int_equal(kernel.detached, cases[i].tries);
	}
}

static void flags_change_when_they_differ(void **state)
{
	static const struct {
		short flags;
		bool on;
		short set; // 0: not set
		int get_error, set_error, err;
	} cases[] = {
		{IFF_UP, true, IFF_UP | IFF_PROMISC, 0, 0, 0},
		{IFF_UP | IFF_PROMISC, false, IFF_UP, 0, 0, 0},
		{IFF_UP | IFF_PROMISC, true, 0, 0, 0, 0},
		{IFF_UP, false, 0, 0, 0, 0},
		{IFF_UP, true, 0, -1, 0, -EPERM},
		{IFF_UP, true, IFF_UP | IFF_PROMISC, 0, -1, -EPERM},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		kernel.flags = cases[i].flags;
		kernel.flags_set = 0;
		kernel.flags_error = cases[i].get_error;
		kernel.set_error = cases[i].set_error;
		assert_int_equal(netif_set_promiscuous("eth1", cases[i].on), cases[i].err);
		assert_int_equal(kernel.flags_set, cases[i].set);
	}
}

static void an_interface_runs_with_its_carrier(void **state)
{
	static const struct {
		short flags;
		uint32_t link;
		int flags_error, error;
		bool expected;
	} cases[] = {
		{IFF_UP, 1, 0, 0, true},
		{IFF_UP | IFF_RUNNING, 0, 0, 0, false},
		{0, 1, 0, 0, false},
		{IFF_UP, 1, -1, 0, false},
		{0, 0, -1, 0, true},       // unknown to the kernel
		{IFF_UP, 1, 0, -1, false}, // unknown to the driver: by the flag
		{IFF_UP | IFF_RUNNING, 0, 0, -1, true},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		kernel.flags = cases[i].flags;
		kernel.link = cases[i].link;
		kernel.flags_error = cases[i].flags_error;
		kernel.flags_gone = cases[i].flags == IFF_UP;
		kernel.error = cases[i].error;
		assert_int_equal(netif_running("eth1"), cases[i].expected);
	}
}

static void key_and_table_are_those_of_the_card(void **state)
{
	static const struct {
		uint32_t key, table, key_after, table_after;
		uint8_t hash;
		int error; // -1: of both questions, -2: of the second
		bool known;
	} cases[] = {
		{40, 128, 40, 128, 1, 0, true},
		{STEER_KEY_MAX, STEER_RETA_MAX, STEER_KEY_MAX, STEER_RETA_MAX, 1, 0, true},
		{STEER_KEY_MAX + 4, 128, STEER_KEY_MAX + 4, 128, 1, 0, false},
		{40, 2 * STEER_RETA_MAX, 40, 2 * STEER_RETA_MAX, 1, 0, false},
		{40, 128, 52, 128, 1, 0, false}, // changed meanwhile
		{40, 128, 40, 64, 1, 0, false},
		{40, 128, 40, 128, 2, 0, false}, // not Toeplitz
		{40, 128, 40, 128, 1, -1, false},
		{40, 128, 40, 128, 1, -2, false},
	};
	struct steer s;

	for (size_t i = 0; i < COUNT(cases); i++) {
		s = (struct steer){.key_len = 8, .reta_size = 2};
		kernel.key_size = cases[i].key;
		kernel.indir_size = cases[i].table;
		kernel.key_size_after = cases[i].key_after;
		kernel.indir_size_after = cases[i].table_after;
		kernel.hash = cases[i].hash;
		kernel.error = cases[i].error;
		netif_read_rss("eth1", &s);
		assert_int_equal(s.key_len, cases[i].known ? cases[i].key : 8);
		assert_int_equal(s.reta_size, cases[i].known ? cases[i].table : 2);
		for (uint32_t k = 0; cases[i].known && k < s.reta_size; k++)
			assert_int_equal(s.reta[k], k % 3);
		for (uint32_t k = 0; cases[i].known && k < s.key_len; k++)
			assert_int_equal(s.key[k], 0x6d);
		assert_int_equal(s.portless[0], cases[i].known);
		assert_false(s.portless[1]);
	}
	kernel.key_size = kernel.key_size_after = 40;
	kernel.error = 0;
	kernel.no_fields = -1;
	netif_read_rss("eth1", &s);
	assert_int_equal(s.key_len, 40);
	assert_false(s.portless[0]);
}

static void multicast_stays_open_with_its_descriptor(void **state)
{
	int fd = netif_open_multicast("lo");

	assert_in_range(fd, 0, 1 << 20);
	assert_int_equal(close(fd), 0);
	kernel.membership_error = -1;
	assert_int_equal(netif_open_multicast("lo"), -EPERM);
	kernel.no_sockets = 1;
	assert_int_equal(netif_open_multicast("lo"), -EMFILE);
}

static void the_loopback_is_known(void **state)
{
	struct netif n;

	assert_int_equal(netif_read("lo", &n), 0);
	assert_string_equal(n.name, "lo");
	assert_int_equal(n.index, if_nametoindex("lo"));
	assert_true(n.flags & IFF_LOOPBACK);
	assert_false(n.default_route);
	assert_int_equal(n.xdp_program, 0);
	assert_int_equal(n.speed_bps, 0);
	assert_in_range(n.mtu, 1500, 65536);
}

static void its_addresses_have_their_prefix(void **state)
{
	struct netif n;

	assert_int_equal(netif_read("lo", &n), 0);
	for (unsigned i = 0; i < n.addr_count; i++) {
		char text[ADDR_TEXT_SIZE];

		addr_format_prefix(&n.addrs[i], text, sizeof(text));
		if (!strcmp(text, "127.0.0.1/8"))
			return;
	}
	if (n.flags & IFF_UP)
		fail_msg("lo is up and has no 127.0.0.1/8");
	skip();
}

// The text of a file below /sys/class/net; empty if the file cannot be read.
static const char *sysfs(const char *name, const char *file)
{
	static char text[64];
	char path[256];
	FILE *f;

	text[0] = '\0';
	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", name, file);
	f = fopen(path, "r");
	if (f && !fgets(text, sizeof(text), f))
		text[0] = '\0';
	if (f)
		fclose(f);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static void every_interface_is_as_sysfs_shows_it(void **state)
{
	struct netif *list;
	unsigned count, compared = 0;

	assert_int_equal(netif_list(&list, &count), 0);
	for (unsigned i = 0; i < count; i++) {
		const uint8_t *m = list[i].mac;
		char mac[18], name[IFNAMSIZ + 1];

		if (atoi(sysfs(list[i].name, "ifindex")) != (int)list[i].index)
			continue; // sysfs belongs to another namespace
		compared++;
		assert_string_equal(if_indextoname(list[i].index, name), list[i].name);
		assert_int_equal(atoi(sysfs(list[i].name, "mtu")), list[i].mtu);
		snprintf(mac, sizeof(mac), "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3],
			m[4], m[5]);
		if (strlen(sysfs(list[i].name, "address")) == 17)
			assert_string_equal(sysfs(list[i].name, "address"), mac);
		else
			assert_string_equal(mac, "00:00:00:00:00:00");
	}
	free(list);
	if (compared == 0)
		skip();
}

static void an_unknown_interface_is_no_device(void **state)
{
	struct netif n;

	assert_int_equal(netif_read("nonexistent0", &n), -ENODEV);
	assert_int_equal(netif_detach_xdp("nonexistent0", 7), 0);
	assert_int_equal(netif_open_multicast("nonexistent0"), -ENODEV);
}

static void the_route_to_the_loopback_is_found(void **state)
{
	const struct addr to = {.len = 4, .bytes = {127, 0, 0, 1}};
	struct netif_route route;

	assert_int_equal(netif_route(&to, "nonexistent0", &route), -ENODEV);
	if (netif_route(&to, NULL, &route) == -ENETUNREACH)
		skip(); // lo is down
	assert_string_equal(route.name, "lo");
	assert_memory_equal(&route.source, &to, sizeof(to));
	assert_int_equal(route.next_hop.len, 0);
	assert_int_equal(netif_route(&to, "lo", &route), 0);
	assert_string_equal(route.name, "lo");
}

static void the_list_has_every_index_once(void **state)
{
	struct netif *list;
	unsigned count;

	assert_int_equal(netif_list(&list, &count), 0);
	assert_non_null(netif_find(list, count, "lo"));
	assert_null(netif_find(list, count, ""));
	for (unsigned i = 0; i < count; i++)
		for (unsigned j = 0; j < i; j++)
			assert_int_not_equal(list[i].index, list[j].index);
	free(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_loopback_is_known, real_one),
		cmocka_unit_test_setup(its_addresses_have_their_prefix, real_one),
		cmocka_unit_test_setup(every_interface_is_as_sysfs_shows_it, real_one),
		cmocka_unit_test_setup(an_unknown_interface_is_no_device, real_one),
		cmocka_unit_test_setup(the_route_to_the_loopback_is_found, real_one),
		cmocka_unit_test_setup(the_list_has_every_index_once, real_one),
		cmocka_unit_test_setup(a_link_is_read_from_its_attributes, fresh),
		cmocka_unit_test_setup(only_whole_messages_of_the_kind_count, fresh),
		cmocka_unit_test_setup(errors_of_the_kernel_are_passed_on, fresh),
		cmocka_unit_test_setup(a_dump_that_was_interrupted_is_repeated, fresh),
		cmocka_unit_test_setup(addresses_are_the_own_ones, fresh),
		cmocka_unit_test_setup(the_default_route_is_that_of_all_addresses, fresh),
		cmocka_unit_test_setup(the_driver_knows_queues_and_speed, fresh),
		cmocka_unit_test_setup(a_program_is_detached_in_its_mode, fresh),
		cmocka_unit_test_setup(flags_change_when_they_differ, fresh),
		cmocka_unit_test_setup(an_interface_runs_with_its_carrier, fresh),
		cmocka_unit_test_setup(key_and_table_are_those_of_the_card, fresh),
		cmocka_unit_test_setup(multicast_stays_open_with_its_descriptor, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
