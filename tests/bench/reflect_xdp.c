// SPDX-License-Identifier: BSD-3-Clause
// A DNS server that costs next to nothing: every query is turned round in the driver of the
// interface and goes back as an answer (NOERROR, no records, the question kept). What is no DNS
// query goes on to the kernel, which answers ARP and ND. For tests/bench alone: it is to be faster
// than what is measured against it. Section "pass" lets everything through: the other end of a veth
// pair needs a program too, or nothing that is sent back from the driver gets there.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define DNS_PORT 53
#define FLAGS_QR 0x8000
#define FLAGS_RA 0x0080

struct dns_header {
	__be16 id, flags, questions, answers, authority, additional;
};

#define SWAP(type, a, b)                                                                           \
	do {                                                                                       \
		type swapped = a;                                                                  \
		a = b;                                                                             \
		b = swapped;                                                                       \
	} while (0)

static __always_inline void turn_ethernet(struct ethhdr *eth)
{
	for (int i = 0; i < ETH_ALEN; i++)
		SWAP(unsigned char, eth->h_dest[i], eth->h_source[i]);
}

// RFC 1624, equation 3.
static __always_inline __sum16 sum_replace(__sum16 sum, __be16 old, __be16 new)
{
	__u32 total = (__u16)~sum + (__u16)~old + new;

	total = (total & 0xffff) + (total >> 16);
	total = (total & 0xffff) + (total >> 16);
	return (__u16)~total;
}

// Ports and flags. Addresses and ports that change places leave the checksum as it is.
static __always_inline int turn_udp(struct udphdr *udp, void *end, int is_v4)
{
	struct dns_header *dns = (void *)(udp + 1);
	__be16 flags;

	if ((void *)(dns + 1) > end || udp->dest != bpf_htons(DNS_PORT) ||
		dns->flags & bpf_htons(FLAGS_QR))
		return XDP_PASS;
	flags = dns->flags | bpf_htons(FLAGS_QR | FLAGS_RA);
	// A checksum that the kernel left to a device is not complete; IPv4 can do without one.
	udp->check = is_v4 ? 0 : sum_replace(udp->check, dns->flags, flags);
	dns->flags = flags;
	SWAP(__be16, udp->source, udp->dest);
	return XDP_TX;
}

static __always_inline int turn_ipv4(struct iphdr *ip, void *end)
{
	int verdict;

	if ((void *)(ip + 1) > end || ip->ihl != 5 || ip->protocol != IPPROTO_UDP)
		return XDP_PASS;
	verdict = turn_udp((void *)(ip + 1), end, 1);
	if (verdict == XDP_TX)
		SWAP(__be32, ip->saddr, ip->daddr);
	return verdict;
}

static __always_inline int turn_ipv6(struct ipv6hdr *ip, void *end)
{
	int verdict;

	if ((void *)(ip + 1) > end || ip->nexthdr != IPPROTO_UDP)
		return XDP_PASS;
	verdict = turn_udp((void *)(ip + 1), end, 0);
	if (verdict == XDP_TX)
		SWAP(struct in6_addr, ip->saddr, ip->daddr);
	return verdict;
}

SEC("reflect")
int turn_query(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	int verdict = XDP_PASS;

	if ((void *)(eth + 1) > end)
		return XDP_PASS;
	if (eth->h_proto == bpf_htons(ETH_P_IP))
		verdict = turn_ipv4((void *)(eth + 1), end);
	else if (eth->h_proto == bpf_htons(ETH_P_IPV6))
		verdict = turn_ipv6((void *)(eth + 1), end);
	if (verdict == XDP_TX)
		turn_ethernet(eth);
	return verdict;
}

SEC("pass")
int let_through(struct xdp_md *ctx)
{
	return XDP_PASS;
}

char licence[] SEC("license") = "BSD-3-Clause";
