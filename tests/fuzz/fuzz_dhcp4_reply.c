// SPDX-License-Identifier: BSD-3-Clause
// DHCPv4 clients and any server (fuzz_dhcp_reply.h). Path: tests only.

#include "proto/dhcp/dhcp.h"
#include "proto/dhcp/v4/dhcp4_plan.h"

#include "fuzz_dhcp_reply.h"

#define POOL      0x0a000000u
#define SERVER_ID 0x0a0000feu

enum content {
	HAS_SERVER_ID = 1,
	HAS_TIMES = 2,
	HAS_ECHO = 4,
	HAS_RAPID = 8,
	HAS_RAW = 16,
	HAS_ALL_TIMES = 32
};

static const void *settings(bool relay, bool usual, bool living)
{
	static uint64_t parameters[] = {1, 3};
	static struct addr_range relays = {{4, {10, 1, 0, 1}}, 2};
	static struct dhcp4_relay_settings relay_settings = {
		.is.addresses = {&relays, 1}, .is.port = 67, .hops = 1};
	static struct dhcp4_retransmit_settings retransmit = {4000000000, 2, 1000000000, 2};
	static struct dhcp_mix_settings mix = {.share[DHCP4_RENEW] = 0.5}; // paths to servers
	static struct dhcp_wrong_settings wrong = {                        // of the usual length
		.shares = {[DHCP4_WRONG_TYPE] = 0.05,
			[DHCP4_WRONG_HLEN] = 0.05,
			[DHCP4_WRONG_RANDOM] = 0.05}};
	static struct dhcp4_settings s = {.is.clients = CLIENTS,
		.is.mix = &mix,
		.is.mac = {2},
		.is.parameters = {parameters, 2},
		.is.retransmit = &retransmit,
		.is.decline_rest_ns = UINT64_MAX,
		.htype = DHCP4_HTYPE_ETHERNET,
		.pad = 300};

	s.is.wrong = usual ? NULL : &wrong;
	s.client_id = usual ? DHCP4_ID_MAC : DHCP4_ID_DUID;
	relay_settings.circuit_id = usual ? NULL : "p{client}";
	s.is.relay = relay ? &relay_settings.is : NULL;
	return &s;
}

static void echo(const struct flight *f, struct writer *w, uint8_t code)
{
	uint32_t at = dhcp4_find_option(f->sent, f->sent_len, code);

	if (at)
		write_bytes(w, f->sent + at, f->sent[at + 1] + 2u);
}

static void compose(const struct flight *f, struct reader *r, struct writer *w)
{
	uint8_t type = read_u8(r), has = read_u8(r), address = read_u8(r);
	uint8_t *h = write_space(w, DHCP4_OPTIONS_AT);

	check(h);
	memcpy(h, f->sent, DHCP4_OPTIONS_AT);
	h[DHCP4_AT_OP] = DHCP4_REPLY_OP;
	bytes_put_be32(h + DHCP4_AT_YIADDR, address ? POOL + address % 8 : 0);
	dhcp4_write_option_u8(w, DHCP4_OPT_TYPE, type % 16);
	if (has & HAS_SERVER_ID)
		dhcp4_write_option_be32(w, DHCP4_OPT_SERVER_ID, SERVER_ID);
	if (has & HAS_TIMES)
		dhcp4_write_option_be32(w, DHCP4_OPT_LEASE_TIME, address * 100u);
	if (has & HAS_ALL_TIMES) {
		dhcp4_write_option_be32(w, DHCP4_OPT_T1, address * 50u);
		dhcp4_write_option_be32(w, DHCP4_OPT_T2, address * 80u);
	}
	if (has & HAS_ECHO)
		echo(f, w, DHCP4_OPT_CLIENT_ID);
	if (has & HAS_RAPID)
		dhcp4_write_option(w, DHCP4_OPT_RAPID_COMMIT, "", 0);
	if (has & HAS_ECHO)
		echo(f, w, DHCP4_OPT_RELAY_INFO);
	if (has & HAS_RAW) {
		uint8_t len = read_u8(r);
		const uint8_t *raw = read_bytes(r, len);

		if (raw)
			write_bytes(w, raw, len);
	}
	write_u8(w, DHCP4_OPT_END);
}

static void check_leases(const struct dhcp_worker *w, uint32_t client, uint32_t now_s)
{
	const struct dhcp4_client *k = dhcp4_client_at((const struct dhcp4_worker *)w, client);

	check(k->address != 0);
	check(dhcp_holders_find(&w->common->leases.holders, dhcp4_held(k->address), now_s) ==
		client);
}

static void forget(struct dhcp_worker *w)
{
	memset(&((struct dhcp4_worker *)w)->scratch.layouts, 0, sizeof(struct dhcp4_layouts));
}

static void slow(struct dhcp_plan *plan)
{
	struct dhcp4_plan *p = (struct dhcp4_plan *)plan;

	for (uint32_t i = 0; i < DHCP4_STEPS; i++)
		p->templates[i].usual = p->templates[i].relayed_usual = false;
}

static const struct fuzzed fuzzed = {
	.proto = &dhcp4_proto,
	.server = {4, {10, 0, 0, 254}},
	.exchanges = DHCP4_EXCHANGES,
	.shortest = 300,
	.key_mask = UINT32_MAX,
	.tick_ms = 100000,
	.summed = true,
	.counters_size = sizeof(struct dhcp_counters),
	.settings = settings,
	.compose = compose,
	.check_leases = check_leases,
	.forget = forget,
	.slow = slow,
};
