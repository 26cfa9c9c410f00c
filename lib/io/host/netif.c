// SPDX-License-Identifier: BSD-3-Clause
// rtnetlink dumps into struct netif, ethtool for facts that netlink lacks. Each attribute is
// bounds-checked. Path: cold. Management thread.
#include "io/host/netif.h"

#include <arpa/inet.h>
#include <errno.h>
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

#define BUFFER_SIZE 65536

struct table {
	struct netif *items;
	unsigned count;
	struct netif_route route;
};

static int netlink_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	return fd < 0 ? -errno : fd;
}

static int netlink_error(const struct nlmsghdr *h)
{
	const struct nlmsgerr *e = NLMSG_DATA(h);

	return h->nlmsg_len < NLMSG_LENGTH(sizeof(*e)) ? -EPROTO : e->error;
}

// Give every message of the reply to each(), up to its end. 1: there is more to read.
static int read_messages(const struct nlmsghdr *h, int len,
	void (*each)(const struct nlmsghdr *h, struct table *t), struct table *t)
{
	while (len >= (int)NLMSG_HDRLEN) {
		int size = (int)NLMSG_ALIGN(h->nlmsg_len);

		if (h->nlmsg_len < NLMSG_HDRLEN || (int)h->nlmsg_len > len)
			return -EPROTO;
		if (h->nlmsg_type == NLMSG_DONE)
			return 0;
		if (h->nlmsg_type == NLMSG_ERROR)
			return netlink_error(h);
		each(h, t);
		len -= size;
		h = (const struct nlmsghdr *)((const char *)h + size);
	}
	return 1;
}

// Of a dump all messages of the reply, else one.
static int netlink_ask(const struct nlmsghdr *ask,
	void (*each)(const struct nlmsghdr *h, struct table *t), struct table *t)
{
	void *buf = malloc(BUFFER_SIZE);
	int fd = netlink_open(), err = 1;

	if (!buf || fd < 0) {
		err = buf ? fd : -ENOMEM;
		goto out;
	}
	if (send(fd, ask, ask->nlmsg_len, 0) < 0)
		err = -errno;
	while (err == 1) {
		ssize_t len = recv(fd, buf, BUFFER_SIZE, 0);

		if (len < 0 && errno == EINTR)
			continue;
		err = len < 0 ? -errno : read_messages(buf, (int)len, each, t);
		if (err == 1 && !(ask->nlmsg_flags & NLM_F_DUMP))
			err = 0;
	}
out:
	if (fd >= 0)
		close(fd);
	free(buf);
	return err;
}

static int netlink_dump(uint16_t type, uint8_t family,
	void (*each)(const struct nlmsghdr *h, struct table *t), struct table *t)
{
	struct {
		struct nlmsghdr h;
		struct rtgenmsg g;
	} ask = {.h = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtgenmsg)),
			 .nlmsg_type = type,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.g = {.rtgen_family = family}};

	return netlink_ask(&ask.h, each, t);
}

static uint32_t attribute_u32(const struct rtattr *a)
{
	uint32_t v = 0;

	if (RTA_PAYLOAD(a) >= sizeof(v))
		memcpy(&v, RTA_DATA(a), sizeof(v));
	return v;
}

static void attribute_text(const struct rtattr *a, char *out, size_t room)
{
	size_t len = strnlen(RTA_DATA(a), RTA_PAYLOAD(a));

	len = len < room - 1 ? len : room - 1;
	memcpy(out, RTA_DATA(a), len);
	out[len] = '\0';
}

static void read_xdp(const struct rtattr *nest, struct netif *n)
{
	static const char *const modes[] = {[IFLA_XDP_DRV_PROG_ID] = "xdpdrv",
		[IFLA_XDP_SKB_PROG_ID] = "xdpgeneric",
		[IFLA_XDP_HW_PROG_ID] = "xdpoffload"};
	int len = (int)RTA_PAYLOAD(nest);

	for (const struct rtattr *a = RTA_DATA(nest); RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		if (a->rta_type >= sizeof(modes) / sizeof(modes[0]) || !modes[a->rta_type])
			continue;
		n->xdp_program = attribute_u32(a);
		n->xdp_mode = modes[a->rta_type];
	}
}

static void read_kind(const struct rtattr *nest, struct netif *n)
{
	int len = (int)RTA_PAYLOAD(nest);

	for (const struct rtattr *a = RTA_DATA(nest); RTA_OK(a, len); a = RTA_NEXT(a, len))
		if (a->rta_type == IFLA_INFO_KIND)
			attribute_text(a, n->kind, sizeof(n->kind));
}

static void read_link_attribute(const struct rtattr *a, struct netif *n)
{
	switch (a->rta_type & NLA_TYPE_MASK) {
	case IFLA_IFNAME:
		attribute_text(a, n->name, sizeof(n->name));
		break;
	case IFLA_ADDRESS:
		if (RTA_PAYLOAD(a) == sizeof(n->mac))
			memcpy(n->mac, RTA_DATA(a), sizeof(n->mac));
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

static void each_link(const struct nlmsghdr *h, struct table *t)
{
	const struct ifinfomsg *m = NLMSG_DATA(h);
	int len = (int)h->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*m));
	struct netif *n;

	if (h->nlmsg_type != RTM_NEWLINK || len < 0)
		return;
	n = add_item(t);
	n->index = (uint32_t)m->ifi_index;
	n->flags = m->ifi_flags;
	n->carrier = m->ifi_flags & IFF_RUNNING;
	for (const struct rtattr *a = IFLA_RTA(m); RTA_OK(a, len); a = RTA_NEXT(a, len))
		read_link_attribute(a, n);
	// Of a veth, IFLA_LINK is the peer and not something below.
	if (!strstr(n->kind, "vlan")) // vlan, macvlan, ipvlan
		n->lower = 0;
}

static struct netif *by_index(struct table *t, uint32_t index)
{
	for (unsigned i = 0; i < t->count; i++)
		if (t->items[i].index == index)
			return &t->items[i];
	return NULL;
}

static void each_addr(const struct nlmsghdr *h, struct table *t)
{
	const struct ifaddrmsg *m = NLMSG_DATA(h);
	int len = (int)h->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*m));
	uint8_t size = m->ifa_family == AF_INET ? 4 : 16;
	struct addr_prefix p = {.addr = {.len = size}, .bits = m->ifa_prefixlen};
	bool local = false;
	struct netif *n;

	if (h->nlmsg_type != RTM_NEWADDR || len < 0)
		return;
	n = by_index(t, m->ifa_index);
	if (!n || (m->ifa_family != AF_INET && m->ifa_family != AF_INET6))
		return;
	for (const struct rtattr *a = IFA_RTA(m); RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		// IFA_LOCAL is the own address where IFA_ADDRESS is that of a point-to-point peer.
		if (RTA_PAYLOAD(a) != size || local ||
			(a->rta_type != IFA_LOCAL && a->rta_type != IFA_ADDRESS))
			continue;
		local = a->rta_type == IFA_LOCAL;
		memcpy(p.addr.bytes, RTA_DATA(a), size);
	}
	if (n->addr_count < NETIF_ADDRS_MAX)
		n->addrs[n->addr_count] = p;
	n->addr_count++;
}

static void mark_default(struct table *t, uint32_t index)
{
	struct netif *n = by_index(t, index);

	if (n)
		n->default_route = true;
}

static void mark_nexthops(struct table *t, const struct rtattr *a)
{
	const struct rtnexthop *hop = RTA_DATA(a);
	int len = (int)RTA_PAYLOAD(a);

	while (RTNH_OK(hop, len)) {
		mark_default(t, (uint32_t)hop->rtnh_ifindex);
		len -= RTNH_ALIGN(hop->rtnh_len);
		hop = RTNH_NEXT(hop);
	}
}

static void each_route(const struct nlmsghdr *h, struct table *t)
{
	const struct rtmsg *m = NLMSG_DATA(h);
	int len = (int)h->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*m));

	if (h->nlmsg_type != RTM_NEWROUTE || len < 0)
		return;
	if (m->rtm_dst_len != 0 || m->rtm_type != RTN_UNICAST)
		return;
	for (const struct rtattr *a = RTM_RTA(m); RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		if (a->rta_type == RTA_OIF)
			mark_default(t, attribute_u32(a));
		if (a->rta_type == RTA_MULTIPATH)
			mark_nexthops(t, a);
	}
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

int netif_list(struct netif **list, unsigned *count)
{
	struct table t = {0};
	int err = netlink_dump(RTM_GETLINK, AF_UNSPEC, each_link, &t);

	if (!err)
		err = netlink_dump(RTM_GETADDR, AF_UNSPEC, each_addr, &t);
	if (!err)
		err = netlink_dump(RTM_GETROUTE, AF_INET, each_route, &t);
	if (!err)
		err = netlink_dump(RTM_GETROUTE, AF_INET6, each_route, &t);
	if (err == -EAFNOSUPPORT || err == -EOPNOTSUPP) // a kernel without IPv6
		err = 0;
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

// The ports of an Open vSwitch do not say which of its interfaces their packets go to.
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

// Fails if the program is attached in another mode.
static void detach_mode(uint32_t index, uint32_t mode)
{
	struct {
		struct nlmsghdr h;
		struct ifinfomsg m;
		struct rtattr nest;
		struct rtattr fd_head;
		int32_t fd;
		struct rtattr mode_head;
		uint32_t mode;
	} ask = {
		.h = {.nlmsg_len = sizeof(ask),
			.nlmsg_type = RTM_SETLINK,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
		.m = {.ifi_family = AF_UNSPEC, .ifi_index = (int)index},
		.nest = {.rta_len = RTA_LENGTH(2 * RTA_LENGTH(4)),
			.rta_type = IFLA_XDP | NLA_F_NESTED},
		.fd_head = {.rta_len = RTA_LENGTH(4), .rta_type = IFLA_XDP_FD},
		.fd = -1,
		.mode_head = {.rta_len = RTA_LENGTH(4), .rta_type = IFLA_XDP_FLAGS},
		.mode = mode,
	};
	char answer[1024];
	int fd = netlink_open();

	if (fd < 0)
		return;
	if (send(fd, &ask, sizeof(ask), 0) >= 0)
		recv(fd, answer, sizeof(answer), 0); // when it is done
	close(fd);
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

// A hash of addresses alone. An interface that does not tell has the usual one.
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

static void attribute_addr(const struct rtattr *a, struct addr *out)
{
	size_t len = RTA_PAYLOAD(a);

	if (len != 4 && len != 16)
		return;
	out->len = (uint8_t)len;
	memcpy(out->bytes, RTA_DATA(a), len);
}

static void each_way(const struct nlmsghdr *h, struct table *t)
{
	const struct rtmsg *m = NLMSG_DATA(h);
	int len = (int)h->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*m));

	if (h->nlmsg_type != RTM_NEWROUTE || len < 0)
		return;
	for (const struct rtattr *a = RTM_RTA(m); RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		if (a->rta_type == RTA_OIF)
			if_indextoname(attribute_u32(a), t->route.name);
		if (a->rta_type == RTA_PREFSRC)
			attribute_addr(a, &t->route.source);
		if (a->rta_type == RTA_GATEWAY)
			attribute_addr(a, &t->route.next_hop);
	}
}

int netif_route(const struct addr *to, const char *link, struct netif_route *out)
{
	struct {
		struct nlmsghdr h;
		struct rtmsg m;
		struct rtattr over;
		uint32_t index; // of the link; 0: any
		struct rtattr a;
		uint8_t bytes[16];
	} ask = {.h = {.nlmsg_len = (uint32_t)(NLMSG_LENGTH(sizeof(struct rtmsg)) + RTA_LENGTH(4) +
					       RTA_LENGTH(to->len)),
			 .nlmsg_type = RTM_GETROUTE,
			 .nlmsg_flags = NLM_F_REQUEST},
		.m = {.rtm_family = to->len == 4 ? AF_INET : AF_INET6,
			.rtm_dst_len = (uint8_t)(8 * to->len)},
		.over = {.rta_len = RTA_LENGTH(4), .rta_type = RTA_OIF},
		.index = link ? if_nametoindex(link) : 0,
		.a = {.rta_len = (uint16_t)RTA_LENGTH(to->len), .rta_type = RTA_DST}};
	struct table t = {0};
	int err;

	if (link && !ask.index)
		return -errno;
	memcpy(ask.bytes, to->bytes, to->len);
	err = netlink_ask(&ask.h, each_way, &t);
	*out = t.route;
	return err;
}
