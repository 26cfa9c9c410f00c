// SPDX-License-Identifier: BSD-3-Clause
// ARP, neighbour discovery and ping: the requests and replies of two Linux hosts, byte for byte,
// and packets that must not be answered or believed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "net/neigh.h"
#include "samples.h"

#define ETH    14
#define ARP    ETH
#define IP4    ETH
#define IP6    ETH
#define ICMP4  (IP4 + 20)
#define ND     (IP6 + 40)
#define ND_LEN 32
#define PLENTY 2048

static const struct addr v4_a = {4, {198, 18, 0, 1}}, v4_b = {4, {198, 18, 0, 2}};
static const struct addr v6_a = {16, {0x20, 0x01, 0x0d, 0xb8, [15] = 1}};
static const struct addr v6_b = {16, {0x20, 0x01, 0x0d, 0xb8, [15] = 2}};
static const uint8_t mac_b[6] = {2, 0, 0, 0, 0, 2};

static const struct addr_range owned_b[] = {
	{{4, {198, 18, 0, 2}}, 3},
	{{16, {0x20, 0x01, 0x0d, 0xb8, [15] = 2}}, 3},
};

// The host that replies in the samples, and the host that asks.
static const struct neigh_self host_b = {{2, 0, 0, 0, 0, 2}, {0}, 0, owned_b, 2};
static const struct neigh_self host_a = {{2, 0, 0, 0, 0, 1}, {0}, 0, NULL, 0};

// Makes the reply of self to the frame; len 0: none.
static struct bytes answer(const struct neigh_self *self, const struct bytes *asked)
{
	struct bytes out = {malloc(PLENTY), 0};
	struct frame f;
	enum frame_kind kind = frame_parse(asked->data, asked->len, &f);

	out.len = neigh_answer(self, kind, &f, out.data, PLENTY);
	assert_true(out.len <= PLENTY);
	return out;
}

static bool is_answered(const struct neigh_self *self, const struct bytes *asked)
{
	struct bytes out = answer(self, asked);

	free(out.data);
	return out.len > 0;
}

// Make the ICMP checksum of a changed frame right again.
static void mend(struct bytes *b)
{
	struct frame f;
	uint8_t *message;
	uint32_t sum = 0;

	frame_parse(b->data, b->len, &f);
	message = b->data + (f.payload - b->data);
	put_be16(message + 2, 0);
	if (f.addr_len == 16)
		sum = plain_sum(58 + f.payload_len, f.src, 32);
	put_be16(message + 2, (uint16_t)~plain_sum(sum, message, f.payload_len));
}

// A sample with some bytes overwritten and its checksum mended.
static struct bytes changed(const char *name, uint32_t at, const void *bytes, uint32_t len)
{
	struct bytes b = sample_load(name);

	assert_true(at + len <= b.len);
	memcpy(b.data + at, bytes, len);
	if (b.data[ETH - 1] != 0x06)
		mend(&b);
	return b;
}

static bool changed_is_answered(const char *name, uint32_t at, const void *bytes, uint32_t len)
{
	struct bytes b = changed(name, at, bytes, len);
	bool answered = is_answered(&host_b, &b);

	free(b.data);
	return answered;
}

static void assert_answer(const char *asked, const char *reply)
{
	struct bytes q = sample_load(asked), want = sample_load(reply), got = answer(&host_b, &q);

	assert_int_equal(got.len, want.len);
	assert_memory_equal(got.data, want.data, want.len);
	free(q.data);
	free(want.data);
	free(got.data);
}

static void owns_its_ranges_and_nothing_beside(void **state)
{
	const uint8_t after4[4] = {198, 18, 0, 5}, last4[4] = {198, 18, 0, 4};

	assert_true(neigh_owns(&host_b, v4_b.bytes, 4));
	assert_true(neigh_owns(&host_b, last4, 4));
	assert_false(neigh_owns(&host_b, after4, 4));
	assert_false(neigh_owns(&host_b, v4_a.bytes, 4));
	assert_true(neigh_owns(&host_b, v6_b.bytes, 16));
	assert_false(neigh_owns(&host_b, v6_a.bytes, 16));
	assert_false(neigh_owns(&host_a, v4_a.bytes, 4));
}

static void answers_arp_with_the_bytes_of_linux(void **state)
{
	assert_answer("arp-request", "arp-reply");
}

static void answers_a_solicitation_with_the_bytes_of_linux(void **state)
{
	assert_answer("ns", "na");
}

static void answers_an_arp_probe(void **state)
{
	struct bytes b = changed("arp-request", ARP + 14, "\0\0\0\0", 4), got = answer(&host_b, &b);

	assert_int_equal(got.len, 42);
	assert_memory_equal(got.data + ARP + 14, v4_b.bytes, 4);
	assert_memory_equal(got.data + ARP + 24, "\0\0\0\0", 4);
	free(b.data);
	free(got.data);
}

static void is_silent_on_arp_that_is_no_question_to_us(void **state)
{
	static const uint8_t foreign[4] = {198, 18, 0, 9}, group[4] = {224, 0, 0, 1};
	static const uint8_t ones[4] = {255, 255, 255, 255};

	assert_true(changed_is_answered("arp-request", ARP + 27, "\x04", 1));
	assert_false(changed_is_answered("arp-request", ARP + 24, foreign, 4));
	assert_false(changed_is_answered("arp-request", ARP + 14, v4_b.bytes, 4)); // gratuitous
	assert_false(
		changed_is_answered("arp-request", ARP + 17, "\x03", 1)); // claims another of ours
	assert_false(changed_is_answered("arp-request", ARP + 14, group, 4));
	assert_false(changed_is_answered("arp-request", ARP + 14, ones, 4));
	assert_false(changed_is_answered(
		"arp-request", ARP + 8, "\xff", 1)); // a group as the asker's MAC
	assert_false(changed_is_answered("arp-request", ARP + 1, "\x06", 1)); // hardware type
	assert_false(changed_is_answered("arp-request", ARP + 2, "\x86", 1)); // protocol type
	assert_false(changed_is_answered("arp-request", ARP + 4, "\x08", 1)); // hardware length
	assert_false(changed_is_answered("arp-request", ARP + 5, "\x10", 1)); // protocol length
	assert_false(changed_is_answered("arp-request", ARP + 7, "\x02", 1)); // a reply
	assert_false(changed_is_answered("arp-request", ARP + 7, "\x03", 1)); // a reverse request
}

static bool all_of_another(void *of, const uint8_t *addr, uint8_t addr_len, uint8_t mac[6])
{
	memcpy(mac, of, 6);
	return addr_len == 4 ? addr[3] == 2 : addr[15] == 2;
}

static void answers_with_the_mac_of_whoever_holds_the_address(void **state)
{
	uint8_t holder[6] = {2, 0xab, 0, 0, 0, 7};
	const struct neigh_self self = {
		.mac = {2, 0, 0, 0, 0, 2}, .others = all_of_another, .others_of = holder};
	struct bytes arp = sample_load("arp-request"), ns = sample_load("ns");
	struct bytes got4 = answer(&self, &arp), got6 = answer(&self, &ns);

	assert_int_equal(got4.len, 42);
	assert_memory_equal(got4.data + 6, holder, 6);
	assert_memory_equal(got4.data + ARP + 8, holder, 6);
	assert_int_equal(got6.len, ND + ND_LEN);
	assert_memory_equal(got6.data + 6, holder, 6);
	assert_memory_equal(got6.data + ND + ND_LEN - 6, holder, 6);
	free(arp.data);
	free(ns.data);
	free(got4.data);
	free(got6.data);
}

static void answers_on_its_own_vlans_only(void **state)
{
	struct neigh_self vlan = host_b, qinq = host_b;
	struct bytes plain = sample_load("arp-request"), tagged = sample_load("arp-request-vlan");
	struct bytes deep = sample_load("ns-qinq"), got;

	vlan.vlans[0] = 100;
	vlan.vlan_count = 1;
	qinq.vlans[0] = 200;
	qinq.vlans[1] = 300;
	qinq.vlan_count = 2;
	assert_false(is_answered(&host_b, &tagged));
	assert_false(is_answered(&host_b, &deep));
	assert_false(is_answered(&vlan, &plain));
	assert_false(is_answered(&vlan, &deep));
	assert_false(is_answered(&qinq, &tagged));

	got = answer(&vlan, &tagged);
	assert_int_equal(got.len, 46);
	assert_memory_equal(got.data + 12, "\x81\x00\x00\x64\x08\x06", 6);
	free(got.data);
	got = answer(&qinq, &deep);
	assert_int_equal(got.len, 94);
	assert_memory_equal(got.data + 12, "\x88\xa8\x00\xc8\x81\x00\x01\x2c\x86\xdd", 10);
	free(got.data);

	qinq.vlans[1] = 301;
	assert_false(is_answered(&qinq, &deep));
	vlan.vlans[0] = 101;
	assert_false(is_answered(&vlan, &tagged));
	free(plain.data);
	free(tagged.data);
	free(deep.data);
}

static void tells_all_nodes_when_an_owned_address_is_probed(void **state)
{
	static const uint8_t ethernet[14] = {0x33, 0x33, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd};
	static const uint8_t all_nodes[16] = {0xff, 0x02, [15] = 1};
	struct bytes b = sample_load("ns-dad"), got = answer(&host_b, &b);

	assert_int_equal(got.len, ND + ND_LEN);
	assert_memory_equal(got.data, ethernet, 14);
	assert_int_equal(got.data[IP6 + 7], 255);
	assert_memory_equal(got.data + IP6 + 8, v6_b.bytes, 16);
	assert_memory_equal(got.data + IP6 + 24, all_nodes, 16);
	assert_int_equal(got.data[ND], 136);
	assert_int_equal(got.data[ND + 4], 0x20); // override, not solicited
	assert_memory_equal(got.data + ND + 8, v6_b.bytes, 16);
	assert_memory_equal(got.data + ND + 24, "\x02\x01\x02\0\0\0\0\x02", 8);
	assert_int_equal(
		plain_message_sum(got.data + IP6 + 8, 32, 58, got.data + ND, ND_LEN), 0xffff);
	free(b.data);
	free(got.data);
}

static void is_silent_on_an_invalid_probe(void **state)
{
	// A probe has no link-layer address, and goes to a group.
	assert_false(changed_is_answered("ns-dad", ND + 24, "\x01\x01\x02\0\0\0\0\x01", 8));
	assert_false(changed_is_answered("ns-dad", IP6 + 24, v6_b.bytes, 16));
}

static void answers_to_the_ethernet_source_without_the_option(void **state)
{
	struct bytes b = changed("ns", ND + 24, "\x0e", 1), got;

	b.data[11] = 0x77;
	got = answer(&host_b, &b);
	assert_int_equal(got.len, ND + ND_LEN);
	assert_memory_equal(got.data, "\x02\0\0\0\0\x77", 6);
	free(b.data);
	free(got.data);
}

static void is_silent_on_solicitations_that_break_rfc4861(void **state)
{
	static const uint8_t group[16] = {0xff, 0x02, [15] = 1};

	assert_true(changed_is_answered("ns", ND + 23, "\x04", 1));
	assert_false(changed_is_answered("ns", ND + 23, "\x05", 1)); // target not ours
	assert_false(changed_is_answered("ns", IP6 + 7, "\xfe", 1)); // crossed a router
	assert_false(changed_is_answered("ns", ND + 1, "\x01", 1));  // code
	assert_false(changed_is_answered("ns", ND + 25, "\x00", 1)); // option of no length
	assert_false(changed_is_answered("ns", ND + 25, "\x02", 1)); // option beyond the end
	assert_false(changed_is_answered("ns", ND + 26, "\xff", 1)); // a group as the asker's MAC
	assert_false(changed_is_answered("ns", IP6 + 8, group, 16)); // a group asks
	assert_false(changed_is_answered("ns", IP6 + 8, v6_b.bytes, 16)); // as if we had asked
	assert_false(changed_is_answered("na", ND + 8, v6_b.bytes, 16));  // an advertisement
	assert_false(changed_is_answered("ns", IP6 + 4, "\x00\x17", 2));  // short by one
	assert_true(changed_is_answered("ns", IP6 + 4, "\x00\x18", 2));   // no option at all
	assert_false(changed_is_answered("ns", IP6 + 4, "\x00\x19", 2));  // half an option
}

static void is_silent_on_a_wrong_checksum(void **state)
{
	static const char *const names[] = {"ns", "ns-dad", "echo4", "echo6"};

	for (size_t i = 0; i < 4; i++) {
		struct bytes b = sample_load(names[i]);

		assert_true(is_answered(&host_b, &b));
		b.data[b.len - 1] ^= 1;
		assert_false(is_answered(&host_b, &b));
		free(b.data);
	}
}

static void answers_ping_with_the_message_of_linux(void **state)
{
	struct bytes q4 = sample_load("echo4"), want4 = sample_load("echo-reply4");
	struct bytes q6 = sample_load("echo6"), want6 = sample_load("echo-reply6");
	struct bytes got4 = answer(&host_b, &q4), got6 = answer(&host_b, &q6);

	assert_int_equal(got4.len, want4.len);
	assert_memory_equal(got4.data, want4.data, IP4 + 4);
	assert_memory_equal(got4.data + IP4 + 12, want4.data + IP4 + 12, want4.len - IP4 - 12);
	assert_memory_equal(got4.data + IP4 + 4, "\0\0\x40\0\x40\x01", 6);
	assert_int_equal(plain_sum(0, got4.data + IP4, 20), 0xffff);
	assert_int_equal(got6.len, want6.len);
	assert_memory_equal(got6.data, want6.data, IP6);
	assert_memory_equal(got6.data + IP6, "\x60\0\0\0", 4);
	assert_memory_equal(got6.data + IP6 + 4, want6.data + IP6 + 4, want6.len - IP6 - 4);
	free(q4.data);
	free(q6.data);
	free(want4.data);
	free(want6.data);
	free(got4.data);
	free(got6.data);
}

static void returns_a_large_ping_in_full(void **state)
{
	struct bytes b = {calloc(1, ICMP4 + 1480), ICMP4 + 1480}, q = sample_load("echo4"), got;

	memcpy(b.data, q.data, ICMP4 + 8);
	memset(b.data + ICMP4 + 8, 0xfe, 1472);
	put_be16(b.data + IP4 + 2, 1500);
	mend(&b);
	got = answer(&host_b, &b);
	assert_int_equal(got.len, b.len);
	assert_memory_equal(got.data + ICMP4 + 4, b.data + ICMP4 + 4, 1476);
	assert_int_equal(plain_sum(0, got.data + ICMP4, 1480), 0xffff);
	free(b.data);
	free(q.data);
	free(got.data);
}

static void is_silent_on_pings_from_or_to_the_wrong_address(void **state)
{
	static const uint8_t zero[16], group6[16] = {0xff, 0x02, [15] = 1};
	static const uint8_t group4[4] = {224, 0, 0, 1}, ones[4] = {255, 255, 255, 255};

	assert_false(changed_is_answered("echo4", IP4 + 12, zero, 4));
	assert_false(changed_is_answered("echo4", IP4 + 12, group4, 4));
	assert_false(changed_is_answered("echo4", IP4 + 12, ones, 4));
	assert_false(changed_is_answered("echo4", IP4 + 12, v4_b.bytes, 4));
	assert_false(changed_is_answered("echo4", IP4 + 16, group4, 4));
	assert_false(changed_is_answered("echo4", IP4 + 16, ones, 4));
	assert_false(changed_is_answered("echo4", IP4 + 19, "\x09", 1));
	assert_false(changed_is_answered("echo4", 6, "\x03", 1)); // a group as Ethernet source
	assert_false(changed_is_answered("echo6", IP6 + 8, zero, 16));
	assert_false(changed_is_answered("echo6", IP6 + 8, group6, 16));
	assert_false(changed_is_answered("echo6", IP6 + 8, v6_b.bytes, 16));
	assert_false(changed_is_answered("echo6", IP6 + 24, group6, 16));
	assert_false(changed_is_answered("echo6", IP6 + 39, "\x09", 1));
}

static void is_silent_on_every_other_frame(void **state)
{
	for (size_t i = 0; i < SAMPLE_COUNT; i++) {
		struct bytes b = sample_load(samples[i].name);
		enum frame_kind kind = samples[i].kind;

		if (kind != FRAME_ARP && kind != FRAME_ND && kind != FRAME_ECHO)
			assert_false(is_answered(&host_b, &b));
		free(b.data);
	}
}

static void writes_nothing_beyond_the_room(void **state)
{
	static const char *const names[] = {"arp-request", "ns", "ns-dad", "echo4", "echo6"};

	for (size_t i = 0; i < 5; i++) {
		struct bytes b = sample_load(names[i]), whole = answer(&host_b, &b);
		struct frame f;
		enum frame_kind kind = frame_parse(b.data, b.len, &f);

		for (uint32_t room = 0; room <= whole.len; room++) {
			uint8_t *out = malloc(room + !room);
			uint32_t len = neigh_answer(&host_b, kind, &f, out, room);

			assert_int_equal(len, room < whole.len ? 0 : whole.len);
			free(out);
		}
		free(b.data);
		free(whole.data);
	}
}

static void asks_with_the_bytes_of_linux(void **state)
{
	struct bytes arp = sample_load("arp-request"), ns = sample_load("ns");
	uint8_t out[NEIGH_FRAME_MAX];

	assert_int_equal(neigh_ask(&host_a, &v4_a, &v4_b, out, sizeof(out)), arp.len);
	assert_memory_equal(out, arp.data, arp.len);
	assert_int_equal(neigh_ask(&host_a, &v6_a, &v6_b, out, sizeof(out)), ns.len);
	assert_memory_equal(out, ns.data, ns.len);
	free(arp.data);
	free(ns.data);
}

static void asks_on_its_vlans_within_the_room(void **state)
{
	struct neigh_self self = host_a;
	struct bytes ns = sample_load("ns-qinq");
	uint8_t out[NEIGH_FRAME_MAX];

	self.vlans[0] = 200;
	self.vlans[1] = 300;
	self.vlan_count = 2;
	assert_int_equal(neigh_ask(&self, &v6_a, &v6_b, out, sizeof(out)), ns.len);
	assert_memory_equal(out, ns.data, ns.len);
	assert_int_equal(neigh_ask(&self, &v6_a, &v6_b, out, ns.len - 1), 0);
	assert_int_equal(neigh_ask(&self, &v4_a, &v4_b, out, 49), 0);
	assert_int_equal(neigh_ask(&self, &v4_a, &v4_b, out, 50), 50);
	free(ns.data);
}

static void probes_without_an_address_of_its_own(void **state)
{
	static const struct addr none4 = {4, {0}}, none6 = {16, {0}};
	struct bytes dad = sample_load("ns-dad");
	uint8_t out[NEIGH_FRAME_MAX];

	assert_int_equal(neigh_ask(&host_a, &none4, &v4_b, out, sizeof(out)), 42);
	assert_memory_equal(out + ARP + 6, "\0\1\2\0\0\0\0\1\0\0\0\0", 12);
	assert_memory_equal(out + ARP + 24, v4_b.bytes, 4);
	assert_int_equal(neigh_ask(&host_a, &none6, &v6_b, out, sizeof(out)), ND + 24);
	assert_memory_equal(out + IP6 + 8, none6.bytes, 16);
	assert_memory_equal(out + IP6 + 24, dad.data + IP6 + 24, 16);
	assert_int_equal(plain_message_sum(out + IP6 + 8, 32, 58, out + ND, 24), 0xffff);
	free(dad.data);
}

static bool claims(const struct bytes *b, struct neigh_claim *claim)
{
	struct frame f;
	enum frame_kind kind = frame_parse(b->data, b->len, &f);

	return neigh_claim(kind, &f, claim);
}

static bool learns(const struct bytes *b, const struct addr *target, uint8_t mac[6])
{
	struct neigh_claim c;

	if (!claims(b, &c) || c.probe || !addr_equal(&c.addr, target))
		return false;
	memcpy(mac, c.mac, 6);
	return true;
}

static void assert_claim(
	const char *name, uint32_t at, const void *bytes, uint32_t len, struct neigh_claim expect)
{
	struct bytes b = changed(name, at, bytes, len);
	struct neigh_claim c;

	assert_true(claims(&b, &c));
	assert_true(addr_equal(&c.addr, &expect.addr));
	assert_memory_equal(c.mac, expect.mac, 6);
	assert_int_equal(c.probe, expect.probe);
	assert_int_equal(c.overrides, expect.overrides);
	free(b.data);
}

static void whoever_asks_or_announces_tells_its_own_mac(void **state)
{
	const struct neigh_claim a4 = {v4_a, {2, 0, 0, 0, 0, 1}, .overrides = true};
	const struct neigh_claim a6 = {v6_a, {2, 0, 0, 0, 0, 1}, .overrides = true};
	const struct neigh_claim b6 = {v6_b, {2, 0, 0, 0, 0, 2}, .overrides = true};
	struct neigh_claim told = b6;

	assert_claim("arp-request", 0, "", 0, a4);
	assert_claim("arp-request", ARP + 24, v4_a.bytes, 4, a4); // gratuitous
	assert_claim("arp-reply", ARP + 14, v4_a.bytes, 4,
		(struct neigh_claim){v4_a, {2, 0, 0, 0, 0, 2}, .overrides = true});
	assert_claim("ns", 0, "", 0, a6);
	assert_claim("na", ND + 4, "\x60", 1, b6);
	assert_claim("na", ND + 4, "\x20", 1, b6);
	told.overrides = false;
	assert_claim("na", ND + 4, "\x40", 1, told);
}

static void a_probe_claims_what_it_asks_for(void **state)
{
	assert_claim("arp-request", ARP + 14, "\0\0\0\0", 4,
		(struct neigh_claim){v4_b, {2, 0, 0, 0, 0, 1}, .probe = true});
	assert_claim(
		"ns-dad", 0, "", 0, (struct neigh_claim){v6_b, {2, 0, 0, 0, 0, 2}, .probe = true});
}

static void assert_no_claim(const char *name, uint32_t at, const void *bytes, uint32_t len)
{
	struct bytes b = changed(name, at, bytes, len);
	struct neigh_claim c;

	assert_false(claims(&b, &c));
	free(b.data);
}

static void a_claim_without_a_sender_is_none(void **state)
{
	assert_no_claim("arp-reply", ARP + 14, "\0\0\0\0", 4);
	assert_no_claim("arp-request", ARP + 8, "\0\0\0\0\0\0", 6);
	assert_no_claim("arp-request", ARP + 7, "\3", 1); // a reverse request
	assert_no_claim("na", ND + 26, "\0\0\0\0\0\0", 6);
	assert_no_claim("ns", ND + 24, "\x0e", 1);                 // no MAC given
	assert_no_claim("ns-dad", IP6 + 24, v6_b.bytes, 16);       // a probe that is not to a group
	assert_no_claim("ns-dad", ND + 24, "\1\1\2\0\0\0\0\1", 8); // a probe with a MAC
	assert_no_claim("echo4", 0, "", 0);
	assert_no_claim("udp6", 0, "", 0);
}

static void learns_the_mac_from_captured_answers(void **state)
{
	struct bytes arp = sample_load("arp-reply"), na = sample_load("na");
	uint8_t mac[6] = {0};

	assert_true(learns(&arp, &v4_b, mac));
	assert_memory_equal(mac, mac_b, 6);
	memset(mac, 0, 6);
	assert_true(learns(&na, &v6_b, mac));
	assert_memory_equal(mac, mac_b, 6);
	free(arp.data);
	free(na.data);
}

static void learns_the_answer_of_its_own_responder(void **state)
{
	struct bytes asked = {malloc(NEIGH_FRAME_MAX), 0}, got;
	uint8_t mac[6];

	asked.len = neigh_ask(&host_a, &v6_a, &v6_b, asked.data, NEIGH_FRAME_MAX);
	got = answer(&host_b, &asked);
	assert_true(learns(&got, &v6_b, mac));
	assert_memory_equal(mac, mac_b, 6);
	free(got.data);
	asked.len = neigh_ask(&host_a, &v4_a, &v4_b, asked.data, NEIGH_FRAME_MAX);
	got = answer(&host_b, &asked);
	assert_true(learns(&got, &v4_b, mac));
	assert_memory_equal(mac, mac_b, 6);
	free(got.data);
	free(asked.data);
}

static void learns_from_the_ethernet_source_without_the_option(void **state)
{
	struct bytes b = changed("na", ND + 24, "\x0e", 1);
	uint8_t mac[6];

	b.data[11] = 0x77;
	assert_true(learns(&b, &v6_b, mac));
	assert_memory_equal(mac, "\x02\0\0\0\0\x77", 6);
	b.data[6] = 0x03;
	assert_false(learns(&b, &v6_b, mac));
	free(b.data);
}

static void learns_from_an_unsolicited_announcement_to_all(void **state)
{
	static const uint8_t all_nodes[16] = {0xff, 0x02, [15] = 1};
	struct bytes b = changed("na", IP6 + 24, all_nodes, 16);
	uint8_t mac[6];

	b.data[ND + 4] = 0x20;
	mend(&b);
	assert_true(learns(&b, &v6_b, mac));
	free(b.data);
}

// Even though the first bytes of the target equal the reply's.
static void does_not_learn_for_the_other_family_or_kind(void **state)
{
	const struct addr v4_as_v6 = {16, {198, 18, 0, 2}};
	struct bytes arp = sample_load("arp-reply"), na = sample_load("na");
	struct addr v6_as_v4 = v6_b;
	struct neigh_claim c;
	struct frame f;
	uint8_t mac[6];

	v6_as_v4.len = 4;
	assert_false(learns(&arp, &v4_as_v6, mac));
	assert_false(learns(&na, &v6_as_v4, mac));
	frame_parse(na.data, na.len, &f);
	assert_false(neigh_claim(FRAME_OTHER, &f, &c));
	frame_parse(arp.data, arp.len, &f);
	assert_false(neigh_claim(FRAME_OTHER, &f, &c));
	free(arp.data);
	free(na.data);
}

static void assert_not_learnt(const char *name, uint32_t at, const void *bytes, uint32_t len)
{
	struct bytes b = changed(name, at, bytes, len);
	uint8_t mac[6] = {1, 2, 3, 4, 5, 6};

	assert_false(learns(&b, b.data[ETH - 1] == 0x06 ? &v4_b : &v6_b, mac));
	assert_memory_equal(mac, "\1\2\3\4\5\6", 6);
	free(b.data);
}

static void does_not_believe_invalid_answers(void **state)
{
	static const uint8_t all_nodes[16] = {0xff, 0x02, [15] = 1};

	assert_not_learnt("arp-reply", ARP + 17, "\x03", 1); // somebody else
	assert_not_learnt("arp-reply", ARP + 8, "\xff", 1);  // a group's MAC
	assert_not_learnt("arp-reply", ARP + 5, "\x10", 1);  // protocol length
	assert_not_learnt("na", IP6 + 7, "\xfe", 1);         // crossed a router
	assert_not_learnt("na", ND, "\x87", 1);              // a solicitation
	assert_not_learnt("na", ND + 1, "\x01", 1);          // code
	assert_not_learnt("na", ND + 23, "\x03", 1);         // another target
	assert_not_learnt("na", ND + 26, "\x33", 1);         // a group's MAC
	assert_not_learnt("na", ND + 25, "\x00", 1);         // option of no length
	assert_not_learnt("na", IP6 + 24, all_nodes, 16);    // solicited, but to a group
	assert_not_learnt("na", IP6 + 4, "\x00\x17", 2);     // short by one
}

static void does_not_believe_a_wrong_checksum(void **state)
{
	struct bytes b = sample_load("na");
	uint8_t mac[6];

	b.data[b.len - 1] ^= 1;
	assert_false(learns(&b, &v6_b, mac));
	free(b.data);
}

static void does_not_mix_the_families(void **state)
{
	struct bytes arp = sample_load("arp-reply"), na = sample_load("na"),
		     udp = sample_load("udp4");
	uint8_t mac[6];

	assert_false(learns(&arp, &v6_b, mac));
	assert_false(learns(&na, &v4_b, mac));
	assert_false(learns(&udp, &v4_b, mac));
	free(arp.data);
	free(na.data);
	free(udp.data);
}

static void survives_every_cut_message(void **state)
{
	for (size_t i = 0; i < SAMPLE_COUNT; i++) {
		struct bytes whole = sample_load(samples[i].name);
		uint8_t mac[6];

		for (uint32_t len = 0; len < whole.len; len++) {
			struct bytes cut = bytes_copy(whole.data, len);

			assert_false(is_answered(&host_b, &cut));
			assert_false(learns(&cut, &v4_b, mac) || learns(&cut, &v6_b, mac));
			free(cut.data);
		}
		free(whole.data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owns_its_ranges_and_nothing_beside),
		cmocka_unit_test(answers_arp_with_the_bytes_of_linux),
		cmocka_unit_test(answers_a_solicitation_with_the_bytes_of_linux),
		cmocka_unit_test(answers_an_arp_probe),
		cmocka_unit_test(is_silent_on_arp_that_is_no_question_to_us),
		cmocka_unit_test(answers_with_the_mac_of_whoever_holds_the_address),
		cmocka_unit_test(answers_on_its_own_vlans_only),
		cmocka_unit_test(tells_all_nodes_when_an_owned_address_is_probed),
		cmocka_unit_test(is_silent_on_an_invalid_probe),
		cmocka_unit_test(answers_to_the_ethernet_source_without_the_option),
		cmocka_unit_test(is_silent_on_solicitations_that_break_rfc4861),
		cmocka_unit_test(is_silent_on_a_wrong_checksum),
		cmocka_unit_test(answers_ping_with_the_message_of_linux),
		cmocka_unit_test(returns_a_large_ping_in_full),
		cmocka_unit_test(is_silent_on_pings_from_or_to_the_wrong_address),
		cmocka_unit_test(is_silent_on_every_other_frame),
		cmocka_unit_test(writes_nothing_beyond_the_room),
		cmocka_unit_test(asks_with_the_bytes_of_linux),
		cmocka_unit_test(asks_on_its_vlans_within_the_room),
		cmocka_unit_test(probes_without_an_address_of_its_own),
		cmocka_unit_test(whoever_asks_or_announces_tells_its_own_mac),
		cmocka_unit_test(a_probe_claims_what_it_asks_for),
		cmocka_unit_test(a_claim_without_a_sender_is_none),
		cmocka_unit_test(learns_the_mac_from_captured_answers),
		cmocka_unit_test(learns_the_answer_of_its_own_responder),
		cmocka_unit_test(learns_from_the_ethernet_source_without_the_option),
		cmocka_unit_test(learns_from_an_unsolicited_announcement_to_all),
		cmocka_unit_test(does_not_learn_for_the_other_family_or_kind),
		cmocka_unit_test(does_not_believe_invalid_answers),
		cmocka_unit_test(does_not_believe_a_wrong_checksum),
		cmocka_unit_test(does_not_mix_the_families),
		cmocka_unit_test(survives_every_cut_message),
	};

	return cmocka_run_group_tests_name("neigh", tests, NULL, NULL);
}
