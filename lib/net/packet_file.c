// SPDX-License-Identifier: BSD-3-Clause
// Reading packet files with libpcap. Path: cold. Management thread.
#include "net/packet_file.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/interrupt.h"

#define ETHERNET_LEN 14

// Link types, and the bytes of the header in front of the IP packet.
static const struct {
	int link;
	uint32_t header;
} links[] = {{DLT_NULL, 4}, {DLT_LOOP, 4}, {DLT_RAW, 0}, {DLT_IPV4, 0}, {DLT_IPV6, 0},
	{DLT_LINUX_SLL, 16}, {DLT_LINUX_SLL2, 20}};

struct packet_file {
	pcap_t *pcap;
	bool ethernet, known;
	const char *link;
	uint32_t header; // of another link that is known
	uint8_t made[ETHERNET_LEN + UINT16_MAX];
};

enum frame_kind packet_parse(const struct packet *p, struct frame *f)
{
	return p->frame ? frame_parse(p->frame, p->len, f) : FRAME_OTHER;
}

// Headers that carry other packets, which are not looked into.
static const struct {
	uint16_t type;    // EtherType; 0: of IP
	uint8_t protocol; // 0: of UDP
	uint16_t port;
	const char *name;
} tunnels[] = {{0x8847, 0, 0, "MPLS"}, {0x8848, 0, 0, "MPLS"}, {0x8864, 0, 0, "PPPoE"},
	{0x8863, 0, 0, "PPPoE"}, {0, 47, 0, "GRE"}, {0, 4, 0, "IP in IP"}, {0, 41, 0, "IPv6 in IP"},
	{0, 50, 0, "ESP"}, {0, 0, 4789, "VXLAN"}, {0, 0, 8472, "VXLAN"}, {0, 0, 6081, "Geneve"},
	{0, 0, 2152, "GTP"}, {0, 0, 1701, "L2TP"}};

static const char *tunnel_of(const struct packet *p, const struct frame *f)
{
	uint32_t at = 12u + 4u * f->vlan_count;
	uint16_t type = p->len >= at + 2 ? bytes_be16(p->frame + at) : 0;
	uint8_t protocol = !f->ip ? 0 : f->addr_len == 4 ? f->ip[9] : f->ip[6];

	for (size_t i = 0; i < sizeof(tunnels) / sizeof(tunnels[0]); i++)
		if ((tunnels[i].type && tunnels[i].type == type) ||
			(tunnels[i].protocol && tunnels[i].protocol == protocol) ||
			(tunnels[i].port && tunnels[i].port == f->dst_port))
			return tunnels[i].name;
	return NULL;
}

const char *packet_kind(const struct packet *p, enum frame_kind kind, const struct frame *f)
{
	const char *tunnel;

	if (!p->frame)
		return p->link;
	if (kind == FRAME_BAD)
		return p->cut ? "cut off by the capture" : "malformed";
	tunnel = tunnel_of(p, f);
	if (tunnel)
		return tunnel;
	switch (kind) {
	case FRAME_UDP:
		return "other UDP";
	case FRAME_TCP:
		return "other TCP";
	case FRAME_FRAGMENT:
		return "fragments";
	case FRAME_ARP:
		return "ARP";
	default:
		return f->ip ? "other IP" : "other Ethernet";
	}
}

bool packet_file_is(int fd)
{
	static const uint32_t magics[] = {
		0xa1b2c3d4, 0xd4c3b2a1, 0xa1b23c4d, 0x4d3cb2a1, 0x0a0d0d0a};
	uint32_t magic = 0;
	bool found = false;

	if (pread(fd, &magic, sizeof(magic), 0) == sizeof(magic))
		for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
			found = found || magic == magics[i];
	return found;
}

static void link_find(struct packet_file *f)
{
	int link = pcap_datalink(f->pcap);

	f->ethernet = f->known = link == DLT_EN10MB;
	f->link = pcap_datalink_val_to_name(link);
	f->link = f->link ? f->link : "a link without a name";
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]) && !f->known; i++) {
		f->known = links[i].link == link;
		f->header = links[i].header;
	}
}

// The packet as Ethernet would have it.
static void frame_make(struct packet_file *f, const uint8_t *data, struct packet *p)
{
	uint32_t len = p->len < f->header ? 0 : p->len - f->header;

	p->frame = f->known ? data : NULL;
	if (f->ethernet || !f->known)
		return;
	len = len < UINT16_MAX ? len : UINT16_MAX;
	memset(f->made, 0, ETHERNET_LEN);
	if (len)
		memcpy(f->made + ETHERNET_LEN, data + f->header, len);
	bytes_put_be16(f->made + ETHERNET_LEN - 2,
		len && f->made[ETHERNET_LEN] >> 4 == 6 ? FRAME_TYPE_IPV6 : FRAME_TYPE_IPV4);
	p->frame = f->made;
	p->len = ETHERNET_LEN + len;
}

static bool ends_early(pcap_t *p)
{
	return strncmp(pcap_geterr(p), "truncated", 9) == 0;
}

static int each(struct packet_file *f, const struct bpf_program *filter, packet_give give, void *to)
{
	struct pcap_pkthdr *head;
	const uint8_t *data;
	int rc = 0, more;

	while (rc == 0 && (more = pcap_next_ex(f->pcap, &head, &data)) == 1) {
		struct packet p = {.len = head->caplen,
			.cut = head->caplen < head->len,
			.link = f->link,
			.ns = (uint64_t)head->ts.tv_sec * 1000000000 + (uint64_t)head->ts.tv_usec};

		if (interrupt_count)
			return -EINTR;
		if (filter && !pcap_offline_filter(filter, head, data))
			continue;
		frame_make(f, data, &p);
		rc = give(to, &p);
	}
	if (rc)
		return rc;
	return more == PCAP_ERROR_BREAK || ends_early(f->pcap) ? 0 : -EINVAL;
}

static int each_filtered(struct packet_file *f, const char *filter, packet_give give, void *to)
{
	struct bpf_program program;
	int rc;

	link_find(f);
	if (!filter)
		return each(f, NULL, give, to);
	if (pcap_compile(f->pcap, &program, filter, 1, PCAP_NETMASK_UNKNOWN) < 0)
		return -EINVAL;
	rc = each(f, &program, give, to);
	pcap_freecode(&program);
	return rc;
}

int packet_file_each(
	int fd, const char *filter, packet_give give, void *to, struct arena *a, const char **why)
{
	char errors[PCAP_ERRBUF_SIZE] = "";
	struct packet_file *f = arena_zalloc(a, sizeof(*f));
	FILE *file = fdopen(fd, "r");
	int rc;

	if (file)
		f->pcap = pcap_fopen_offline_with_tstamp_precision(
			file, PCAP_TSTAMP_PRECISION_NANO, errors);
	if (!f->pcap) {
		if (file)
			fclose(file);
		else
			close(fd);
		*why = arena_strdup(a, errors);
		return -EINVAL;
	}
	rc = each_filtered(f, filter, give, to);
	if (rc || ends_early(f->pcap))
		*why = rc == -ENOMEM ? "not enough memory" : arena_strdup(a, pcap_geterr(f->pcap));
	pcap_close(f->pcap);
	return rc;
}
