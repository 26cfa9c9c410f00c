// SPDX-License-Identifier: BSD-3-Clause
// rtnetlink dumps by libmnl into struct netif; ethtool for facts that netlink lacks. Each attribute
// is bounds-checked. Path: cold. Management thread.
#include "io/host/netif.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "io/steer.h"

#define REPLY_SIZE   65536 // more than the kernel puts into one part of a dump
#define REQUEST_SIZE 128

struct table {
	struct netif *items;
	unsigned count;
	struct netif_route route;
};

// A request in buf, which attributes may follow.
static struct nlmsghdr *request(
	char buf[REQUEST_SIZE], uint16_t type, uint16_t flags, const void *body, size_t size)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);

	h->nlmsg_type = type;
	h->nlmsg_flags = NLM_F_REQUEST | flags;
	memcpy(mnl_nlmsg_put_extra_header(h, size), body, size);
	return h;
}

// Calls each for every message up to the end of the dump or the acknowledgement. -EINTR if the
// table changed during the dump.
static int ask(const struct nlmsghdr *h, mnl_cb_t each, struct table *t)
{
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	_Alignas(8) char buf[REPLY_SIZE];
	int more = nl && mnl_socket_sendto(nl, h, h->nlmsg_len) >= 0 ? MNL_CB_OK : -1, err;

	while (more > 0) {
		ssize_t len = mnl_socket_recvfrom(nl, buf, sizeof(buf));

		if (len >= 0)
			more = mnl_cb_run(buf, (size_t)len, 0, 0, each, t);
		else if (errno != EINTR)
			more = -1;
	}
	err = more < 0 ? -errno : 0;
	if (nl)
		mnl_socket_close(nl);
	return err;
}

static int dump(uint16_t type, uint8_t family, mnl_cb_t each, struct table *t)
{
	const struct rtgenmsg body = {.rtgen_family = family};
	_Alignas(8) char buf[REQUEST_SIZE];

	return ask(request(buf, type, NLM_F_DUMP, &body, sizeof(body)), each, t);
}

// The body of a message of this type; NULL if it is of another type or too short.
static const void *body_of(const struct nlmsghdr *h, uint16_t type, size_t size)
{
	return h->nlmsg_type == type && mnl_nlmsg_get_payload_len(h) >= size
	               ? mnl_nlmsg_get_payload(h)
	               : NULL;
}

static uint32_t attribute_u32(const struct nlattr *a)
{
	return mnl_attr_validate(a, MNL_TYPE_U32) < 0 ? 0 : mnl_attr_get_u32(a);
}

static void attribute_text(const struct nlattr *a, char *out, size_t room)
{
	snprintf(out, room, "%.*s", (int)mnl_attr_get_payload_len(a), mnl_attr_get_str(a));
}

static void read_xdp(const struct nlattr *nest, struct netif *n)
{
	static const char *const modes[] = {[IFLA_XDP_DRV_PROG_ID] = "xdpdrv",
		[IFLA_XDP_SKB_PROG_ID] = "xdpgeneric",
		[IFLA_XDP_HW_PROG_ID] = "xdpoffload"};
	const struct nlattr *a;

	mnl_attr_for_each_nested (a, nest) {
		uint16_t type = mnl_attr_get_type(a);

		if (type >= sizeof(modes) / sizeof(modes[0]) || !modes[type])
			continue;
		n->xdp_program = attribute_u32(a);
		n->xdp_mode = modes[type];
	}
}

static void read_kind(const struct nlattr *nest, struct netif *n)
{
	const struct nlattr *a;

	mnl_attr_for_each_nested (a, nest)
		if (mnl_attr_get_type(a) == IFLA_INFO_KIND)
			attribute_text(a, n->kind, sizeof(n->kind));
}

static void read_link_attribute(const struct nlattr *a, struct netif *n)
{
	switch (mnl_attr_get_type(a)) {
	case IFLA_IFNAME:
		attribute_text(a, n->name, sizeof(n->name));
		break;
	case IFLA_ADDRESS:
		if (mnl_attr_get_payload_len(a) == sizeof(n->mac))
			memcpy(n->mac, mnl_attr_get_payload(a), sizeof(n->mac));
		break;
	case IFLA_MTU:
		n->mtu = attribute_u32(a);
		break;
	case IFLA_MASTER:
		n->master = attribute_u32(a);
		break;
	case IFLA_LINK:
		n->lower = attribute_u32(a);
		break;
	case IFLA_LINKINFO:
		read_kind(a, n);
		break;
	case IFLA_XDP:
		read_xdp(a, n);
		break;
	}
}

static struct netif *add_item(struct table *t)
{
	struct netif *bigger = reallocarray(t->items, t->count + 1, sizeof(*t->items));

	if (!bigger)
		arena_exhausted();
	t->items = bigger;
	memset(&t->items[t->count], 0, sizeof(*t->items));
	return &t->items[t->count++];
}

static int each_link(const struct nlmsghdr *h, void *table)
{
	const struct ifinfomsg *m = body_of(h, RTM_NEWLINK, sizeof(*m));
	const struct nlattr *a;
	struct netif *n;

	if (!m)
		return MNL_CB_OK;
	n = add_item(table);
	n->index = (uint32_t)m->ifi_index;
	n->flags = m->ifi_flags;
	n->carrier = m->ifi_flags & IFF_RUNNING;
	mnl_attr_for_each (a, h, sizeof(*m))
		read_link_attribute(a, n);
	// IFLA_LINK of a veth is its peer, not an interface below it.
	if (!strstr(n->kind, "vlan")) // vlan, macvlan, ipvlan
		n->lower = 0;
	return MNL_CB_OK;
}

static struct netif *by_index(struct table *t, uint32_t index)
{
	for (unsigned i = 0; i < t->count; i++)
		if (t->items[i].index == index)
			return &t->items[i];
	return NULL;
}

static int each_addr(const struct nlmsghdr *h, void *table)
{
	const struct ifaddrmsg *m = body_of(h, RTM_NEWADDR, sizeof(*m));
	struct netif *n = m ? by_index(table, m->ifa_index) : NULL;
	const struct nlattr *a;
	bool local = false;
	struct addr_prefix p;

	if (!n || (m->ifa_family != AF_INET && m->ifa_family != AF_INET6))
		return MNL_CB_OK;
	p = (struct addr_prefix){
		.addr.len = m->ifa_family == AF_INET ? 4 : 16, .bits = m->ifa_prefixlen};
	mnl_attr_for_each (a, h, sizeof(*m)) {
		uint16_t type = mnl_attr_get_type(a);

		// IFA_ADDRESS of a point-to-point interface is the peer's; IFA_LOCAL is its own.
		if (mnl_attr_get_payload_len(a) != p.addr.len || local ||
			(type != IFA_LOCAL && type != IFA_ADDRESS))
			continue;
		local = type == IFA_LOCAL;
		memcpy(p.addr.bytes, mnl_attr_get_payload(a), p.addr.len);
	}
	if (n->addr_count < NETIF_ADDRS_MAX)
		n->addrs[n->addr_count++] = p;
	return MNL_CB_OK;
}

static void mark_default(struct table *t, uint32_t index)
{
	struct netif *n = by_index(t, index);

	if (n)
		n->default_route = true;
}

static void mark_nexthops(struct table *t, const struct nlattr *a)
{
	const struct rtnexthop *hop = mnl_attr_get_payload(a);
	int len = mnl_attr_get_payload_len(a);

	while (RTNH_OK(hop, len)) {
		mark_default(t, (uint32_t)hop->rtnh_ifindex);
		len -= RTNH_ALIGN(hop->rtnh_len);
		hop = RTNH_NEXT(hop);
	}
}

static int each_route(const struct nlmsghdr *h, void *table)
{
	const struct rtmsg *m = body_of(h, RTM_NEWROUTE, sizeof(*m));
	const struct nlattr *a;

	if (!m || m->rtm_dst_len != 0 || m->rtm_type != RTN_UNICAST)
		return MNL_CB_OK;
	mnl_attr_for_each (a, h, sizeof(*m)) {
		if (mnl_attr_get_type(a) == RTA_OIF)
			mark_default(table, attribute_u32(a));
		if (mnl_attr_get_type(a) == RTA_MULTIPATH)
			mark_nexthops(table, a);
	}
	return MNL_CB_OK;
}

static int ethtool(int fd, const char *name, void *command)
{
	struct ifreq r = {.ifr_data = command};

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	return ioctl(fd, SIOCETHTOOL, &r) < 0 ? -errno : 0;
}

static void read_channels(int fd, struct netif *n)
{
	struct ethtool_channels c = {.cmd = ETHTOOL_GCHANNELS};

	if (ethtool(fd, n->name, &c) == 0)
		n->rx_queues = c.combined_count + c.rx_count;
}

static void read_driver(int fd, struct netif *n)
{
	struct ethtool_drvinfo d = {.cmd = ETHTOOL_GDRVINFO};

	if (ethtool(fd, n->name, &d) < 0)
		return;
	memcpy(n->driver, d.driver, sizeof(n->driver));
	n->driver[sizeof(n->driver) - 1] = '\0';
	memcpy(n->bus, d.bus_info, sizeof(n->bus));
	n->bus[sizeof(n->bus) - 1] = '\0';
}

// Software interfaces invent a speed.
static void read_speed(int fd, struct netif *n)
{
	struct ethtool_cmd c = {.cmd = ETHTOOL_GSET};
	uint32_t mbps;

	if (n->kind[0] || !n->carrier || ethtool(fd, n->name, &c) < 0)
		return;
	mbps = (uint32_t)c.speed_hi << 16 | c.speed;
	if (mbps && mbps != (uint32_t)SPEED_UNKNOWN)
		n->speed_bps = mbps * 1000000ull;
}

static void read_by_ethtool(struct table *t)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	for (unsigned i = 0; i < t->count; i++) {
		read_channels(fd, &t->items[i]);
		read_driver(fd, &t->items[i]);
		read_speed(fd, &t->items[i]);
	}
	close(fd);
}

static int read_table(struct table *t)
{
	int err = dump(RTM_GETLINK, AF_UNSPEC, each_link, t);

	if (!err)
		err = dump(RTM_GETADDR, AF_UNSPEC, each_addr, t);
	if (!err)
		err = dump(RTM_GETROUTE, AF_INET, each_route, t);
	if (!err)
		err = dump(RTM_GETROUTE, AF_INET6, each_route, t);
	return err == -EAFNOSUPPORT || err == -EOPNOTSUPP ? 0 : err; // a kernel without IPv6
}

int netif_list(struct netif **list, unsigned *count)
{
	struct table t = {0};
	int err;

	while ((err = read_table(&t)) == -EINTR)
		t.count = 0;
	if (err) {
		free(t.items);
		return err;
	}
	read_by_ethtool(&t);
	*list = t.items;
	*count = t.count;
	return 0;
}

const struct netif *netif_find(const struct netif *list, unsigned count, const char *name)
{
	for (unsigned i = 0; i < count; i++)
		if (!strcmp(list[i].name, name))
			return &list[i];
	return NULL;
}

// The kernel does not show to which interfaces an Open vSwitch forwards the packets of a port.
static bool is_switch(const struct netif *n)
{
	return !strcmp(n->kind, "openvswitch");
}

static bool is_above(const struct netif *user, const struct netif *n)
{
	return user->index == n->master || user->lower == n->index ||
	       (is_switch(user) && is_switch(n));
}

bool *netif_users(const struct netif *list, unsigned count, const struct netif *n)
{
	bool *users = calloc(count + 1, sizeof(*users));
	unsigned *found = calloc(count + 1, sizeof(*found)), end = 1;

	if (!users || !found)
		arena_exhausted();
	found[0] = (unsigned)(n - list);
	users[found[0]] = true;
	for (unsigned next = 0; next < end; next++)
		for (unsigned i = 0; i < count; i++)
			if (!users[i] && is_above(&list[i], &list[found[next]])) {
				users[i] = true;
				found[end++] = i;
			}
	free(found);
	return users;
}

int netif_read(const char *name, struct netif *out)
{
	const struct netif *n;
	struct netif *list;
	unsigned count;
	int err = netif_list(&list, &count);

	if (err)
		return err;
	n = netif_find(list, count, name);
	if (n)
		*out = *n;
	free(list);
	return n ? 0 : -ENODEV;
}

static int ignore(const struct nlmsghdr *h, void *table)
{
	return MNL_CB_OK;
}

// Fails if the program is attached in another mode.
static void detach_mode(uint32_t index, uint32_t mode)
{
	const struct ifinfomsg body = {.ifi_family = AF_UNSPEC, .ifi_index = (int)index};
	_Alignas(8) char buf[REQUEST_SIZE];
	struct nlmsghdr *h = request(buf, RTM_SETLINK, NLM_F_ACK, &body, sizeof(body));
	struct nlattr *nest = mnl_attr_nest_start(h, IFLA_XDP);

	mnl_attr_put_u32(h, IFLA_XDP_FD, (uint32_t)-1);
	mnl_attr_put_u32(h, IFLA_XDP_FLAGS, mode);
	mnl_attr_nest_end(h, nest);
	ask(h, ignore, NULL);
}

int netif_detach_xdp(const char *name, uint32_t program)
{
	static const uint32_t modes[] = {XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE, XDP_FLAGS_HW_MODE};
	struct netif n;
	int err = netif_read(name, &n);

	for (unsigned i = 0; !err && n.xdp_program == program && i < 3; i++) {
		detach_mode(n.index, modes[i]);
		err = netif_read(name, &n);
	}
	if (err)
		return err == -ENODEV ? 0 : err;
	return n.xdp_program == program ? -EBUSY : 0;
}

static int interface_call(unsigned long call, struct ifreq *r, const char *name)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = fd < 0 ? -errno : 0;

	snprintf(r->ifr_name, sizeof(r->ifr_name), "%s", name);
	if (!err && ioctl(fd, call, r) < 0)
		err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

static int set_flag(const char *name, short flag, bool on)
{
	struct ifreq r = {0};
	int err = interface_call(SIOCGIFFLAGS, &r, name);

	if (err || !!(r.ifr_flags & flag) == on)
		return err;
	r.ifr_flags ^= flag;
	return interface_call(SIOCSIFFLAGS, &r, name);
}

int netif_set_promiscuous(const char *name, bool on)
{
	return set_flag(name, IFF_PROMISC, on);
}

int netif_set_up(const char *name, bool on)
{
	return set_flag(name, IFF_UP, on);
}

int netif_rename(const char *name, const char *to)
{
	struct ifreq r = {0};

	snprintf(r.ifr_newname, sizeof(r.ifr_newname), "%s", to);
	return interface_call(SIOCSIFNAME, &r, name);
}

int netif_restore(const char *name, uint32_t mtu, bool up)
{
	struct ifreq r = {.ifr_mtu = (int)mtu};
	int err = interface_call(SIOCSIFMTU, &r, name);

	return err || !up ? err : netif_set_up(name, true);
}

// The carrier itself: IFF_RUNNING follows up to a second later.
static bool has_carrier(int fd, const char *name, unsigned flags)
{
	struct ethtool_value link = {.cmd = ETHTOOL_GLINK};

	return ethtool(fd, name, &link) < 0 ? flags & IFF_RUNNING : link.data != 0;
}

// The sizes first, then the table with the key behind it.
static struct ethtool_rxfh *ask_rss(int fd, const char *name)
{
	struct ethtool_rxfh sizes = {.cmd = ETHTOOL_GRSSH}, *all;

	if (ethtool(fd, name, &sizes) < 0 || sizes.key_size > STEER_KEY_MAX ||
		sizes.indir_size > STEER_RETA_MAX)
		return NULL;
	all = calloc(1, sizeof(*all) + 4 * sizes.indir_size + sizes.key_size);
	if (!all)
		return NULL;
	*all = sizes;
	all->cmd = ETHTOOL_GRSSH;
	if (ethtool(fd, name, all) == 0 && all->key_size == sizes.key_size &&
		all->indir_size == sizes.indir_size && (all->hfunc & 1)) // Toeplitz
		return all;
	free(all);
	return NULL;
}

// Does the hash cover only addresses? An interface that does not report it has the usual hash.
static bool leaves_ports_out(int fd, const char *name, uint32_t flows)
{
	struct ethtool_rxnfc fields = {.cmd = ETHTOOL_GRXFH, .flow_type = flows};

	return ethtool(fd, name, &fields) == 0 && fields.data &&
	       !(fields.data & (RXH_L4_B_0_1 | RXH_L4_B_2_3));
}

void netif_read_rss(const char *name, struct steer *s)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ethtool_rxfh *rss = fd < 0 ? NULL : ask_rss(fd, name);

	if (rss) {
		s->reta_size = rss->indir_size;
		s->key_len = rss->key_size;
		for (uint32_t i = 0; i < s->reta_size; i++)
			s->reta[i] = (uint16_t)rss->rss_config[i];
		memcpy(s->key, rss->rss_config + s->reta_size, s->key_len);
		s->portless[0] = leaves_ports_out(fd, name, UDP_V4_FLOW);
		s->portless[1] = leaves_ports_out(fd, name, UDP_V6_FLOW);
		s->portless_tcp[0] = leaves_ports_out(fd, name, TCP_V4_FLOW);
		s->portless_tcp[1] = leaves_ports_out(fd, name, TCP_V6_FLOW);
	}
	free(rss);
	if (fd >= 0)
		close(fd);
}

bool netif_running(const char *name)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq r = {0};
	bool running;

	if (fd < 0)
		return true;
	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	if (ioctl(fd, SIOCGIFFLAGS, &r) < 0)
		running = errno != ENODEV;
	else
		running = (r.ifr_flags & IFF_UP) && has_carrier(fd, name, (unsigned)r.ifr_flags);
	close(fd);
	return running;
}

int netif_open_multicast(const char *name)
{
	struct packet_mreq m = {.mr_type = PACKET_MR_ALLMULTI};
	int fd, err = 0;

	m.mr_ifindex = (int)if_nametoindex(name);
	if (!m.mr_ifindex)
		return -errno;
	fd = socket(
		AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0); // protocol 0: it receives nothing itself
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &m, sizeof(m)) < 0) {
		err = -errno;
		close(fd);
	}
	return err ? err : fd;
}

static void attribute_addr(const struct nlattr *a, struct addr *out)
{
	uint16_t len = mnl_attr_get_payload_len(a);

	if (len != 4 && len != 16)
		return;
	out->len = (uint8_t)len;
	memcpy(out->bytes, mnl_attr_get_payload(a), len);
}

static int each_way(const struct nlmsghdr *h, void *table)
{
	const struct rtmsg *m = body_of(h, RTM_NEWROUTE, sizeof(*m));
	struct netif_route *route = &((struct table *)table)->route;
	const struct nlattr *a;

	if (!m)
		return MNL_CB_OK;
	mnl_attr_for_each (a, h, sizeof(*m)) {
		if (mnl_attr_get_type(a) == RTA_OIF)
			if_indextoname(attribute_u32(a), route->name);
		if (mnl_attr_get_type(a) == RTA_PREFSRC)
			attribute_addr(a, &route->source);
		if (mnl_attr_get_type(a) == RTA_GATEWAY)
			attribute_addr(a, &route->next_hop);
	}
	return MNL_CB_OK;
}

int netif_route(const struct addr *to, const char *link, struct netif_route *out)
{
	const struct rtmsg body = {.rtm_family = to->len == 4 ? AF_INET : AF_INET6,
		.rtm_dst_len = (uint8_t)(8 * to->len)};
	_Alignas(8) char buf[REQUEST_SIZE];
	struct nlmsghdr *h = request(buf, RTM_GETROUTE, NLM_F_ACK, &body, sizeof(body));
	uint32_t index = link ? if_nametoindex(link) : 0;
	struct table t = {0};
	int err;

	if (link && !index)
		return -errno;
	mnl_attr_put_u32(h, RTA_OIF, index); // 0: any
	mnl_attr_put(h, RTA_DST, to->len, to->bytes);
	err = ask(h, each_way, &t);
	*out = t.route;
	return err;
}
