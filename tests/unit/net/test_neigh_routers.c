// SPDX-License-Identifier: BSD-3-Clause
// Router discovery: the solicitation, an advertisement of radvd as parsed, our own, and packets
// that must not be answered or believed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "net/neigh.h"
#include "samples.h"

#define IP6    14
#define ND     (IP6 + 40)
#define ADVERT (ND + 16) // its options
#define PLENTY 512

static const struct neigh_advert advert = {NEIGH_MANAGED, 64, 1800, 2,
	{{{{16, {0x20, 0x01, 0x0d, 0xb8}}, 64}, true, false, 86400, 14400},
		{{{16, {0x20, 0x01, 0x0d, 0xb8, 0x40}}, 48}, false, true, UINT32_MAX, 1}}};
static const struct neigh_self router = {{2, 0, 0, 0, 0, 2}, .router = &advert};
static const struct neigh_self host = {{2, 0, 0, 0, 0, 1}, {0}};
static const uint8_t link_local[16] = {0xfe, 0x80, [11] = 0xff, 0xfe, 0, 0, 1};

// The sample with some bytes overwritten, cut or extended to len (0: as it is), its lengths and
// checksum put right.
static struct bytes changed(
	const char *name, uint32_t at, const void *bytes, uint32_t n, uint32_t len)
{
	struct bytes b = sample_load(name), out = {malloc(PLENTY), len ? len : b.len};

	memset(out.data, 0, PLENTY);
	memcpy(out.data, b.data, b.len < out.len ? b.len : out.len);
	memcpy(out.data + at, bytes, n);
	put_be16(out.data + IP6 + 4, out.len - ND);
	put_be16(out.data + ND + 2, 0);
	put_be16(out.data + ND + 2, (uint16_t)~plain_message_sum(out.data + IP6 + 8, 32, 58,
					    out.data + ND, out.len - ND));
	free(b.data);
	b = bytes_copy(out.data, out.len); // a block of its size
	free(out.data);
	return b;
}

static bool reads(const struct bytes *b, struct neigh_advert *out)
{
	struct frame f;
	enum frame_kind kind = frame_parse(b->data, b->len, &f);

	return neigh_advert(kind, &f, out);
}

static bool is_believed(uint32_t at, const void *bytes, uint32_t n, uint32_t len)
{
	struct bytes b = changed("ra", at, bytes, n, len);
	struct neigh_advert a;
	bool believed = reads(&b, &a);

	free(b.data);
	return believed;
}

static uint32_t answer(
	const struct neigh_self *self, const struct bytes *b, uint8_t *out, uint32_t room)
{
	struct frame f;
	enum frame_kind kind = frame_parse(b->data, b->len, &f);

	return neigh_answer(self, kind, &f, out, room);
}

static bool is_answered(uint32_t at, const void *bytes, uint32_t n, uint32_t len)
{
	struct bytes b = changed("rs", at, bytes, n, len);
	uint8_t out[PLENTY];
	bool answered = answer(&router, &b, out, sizeof(out)) > 0;

	free(b.data);
	return answered;
}

static void solicits_as_rfc_4861_says(void **state)
{
	struct bytes rs = sample_load("rs");
	uint8_t out[NEIGH_FRAME_MAX];

	assert_int_equal(neigh_solicit(&host, link_local, out, sizeof(out)), rs.len);
	assert_memory_equal(out, rs.data, rs.len);
	for (uint32_t room = 0; room < rs.len; room++)
		assert_int_equal(neigh_solicit(&host, link_local, out, room), 0);
	free(rs.data);
}

static void reads_what_radvd_advertises(void **state)
{
	struct bytes ra = sample_load("ra");
	const struct neigh_prefix *p;
	struct neigh_advert a;

	assert_true(reads(&ra, &a));
	assert_int_equal(a.flags, NEIGH_MANAGED | NEIGH_OTHER);
	assert_int_equal(a.hop_limit, 64);
	assert_int_equal(a.lifetime_s, 1800);
	assert_int_equal(a.prefix_count, 1);
	p = &a.prefixes[0];
	assert_int_equal(p->prefix.bits, 64);
	assert_true(addr_equal(&p->prefix.addr, &advert.prefixes[0].prefix.addr));
	assert_true(p->on_link && !p->autonomous);
	assert_int_equal(p->valid_s, 86400);
	assert_int_equal(p->preferred_s, 14400);
	free(ra.data);
}

static void believes_no_advertisement_that_is_not_valid(void **state)
{
	static const uint8_t prefix[32] = {3, 4, 129};
	struct bytes b = changed("ra", ADVERT, prefix, 3, 0);
	struct neigh_advert a;

	assert_true(is_believed(ND + 5, "\0", 1, 0));
	assert_false(is_believed(IP6 + 7, "\xfe", 1, 0));     // hop limit
	assert_false(is_believed(IP6 + 8, "\x20\x01", 2, 0)); // source: not link-local
	assert_false(is_believed(ND + 1, "\1", 1, 0));        // code
	assert_false(is_believed(ADVERT + 1, "\0", 1, 0));    // an option without length
	assert_false(is_believed(ADVERT + 1, "\x50", 1, 0));  // one beyond the end
	assert_true(is_believed(0, "", 0, ADVERT));           // no option
	assert_false(is_believed(0, "", 0, ADVERT - 1));
	assert_false(is_believed(ND, "\x85", 1, 0)); // a solicitation
	assert_true(reads(&b, &a));
	assert_int_equal(a.prefix_count, 0); // longer than an address
	b.data[ND + 2] ^= 1;
	assert_false(reads(&b, &a));
	free(b.data);
}

static void keeps_the_first_prefixes_of_many(void **state)
{
	uint8_t many[6 * 32];
	struct neigh_advert a;
	struct bytes b;

	for (uint32_t i = 0; i < sizeof(many); i++)
		many[i] = (uint8_t)(i % 32 == 0   ? 3
				    : i % 32 == 1 ? 4
				    : i % 32 == 2 ? 40 + i / 32
						  : 0);
	b = changed("ra", ADVERT, many, sizeof(many), ADVERT + sizeof(many));
	assert_true(reads(&b, &a));
	assert_int_equal(a.prefix_count, NEIGH_PREFIXES_MAX);
	for (uint8_t i = 0; i < NEIGH_PREFIXES_MAX; i++)
		assert_int_equal(a.prefixes[i].prefix.bits, 40 + i);
	free(b.data);
}

static void a_router_answers_with_what_it_advertises(void **state)
{
	struct bytes rs = sample_load("rs"), reply;
	uint8_t out[PLENTY];
	struct neigh_advert a;
	uint32_t len = answer(&router, &rs, out, sizeof(out));

	assert_int_equal(len, ADVERT + 8 + 2 * 32);
	assert_memory_equal(out, "\2\0\0\0\0\1\2\0\0\0\0\2", 12);
	assert_memory_equal(out + IP6 + 24, link_local, 16);
	assert_memory_equal(out + ADVERT, "\1\1\2\0\0\0\0\2", 8);
	reply = bytes_copy(out, len);
	assert_true(reads(&reply, &a));
	assert_int_equal(a.flags, advert.flags);
	assert_int_equal(a.hop_limit, advert.hop_limit);
	assert_int_equal(a.lifetime_s, advert.lifetime_s);
	assert_int_equal(a.prefix_count, 2);
	assert_memory_equal(a.prefixes, advert.prefixes, sizeof(a.prefixes));
	for (uint32_t room = 0; room < len; room++)
		assert_int_equal(answer(&router, &rs, out, room), 0);
	assert_int_equal(answer(&host, &rs, out, sizeof(out)), 0); // no router
	free(reply.data);
	free(rs.data);
}

static void a_router_answers_a_host_without_an_address_by_multicast(void **state)
{
	static const uint8_t none[16];
	struct bytes rs = changed("rs", IP6 + 8, none, 16, ND + 8); // nor a link-layer address
	uint8_t out[PLENTY];

	assert_true(answer(&router, &rs, out, sizeof(out)) > 0);
	assert_memory_equal(out, "\x33\x33\0\0\0\1", 6);
	assert_memory_equal(out + IP6 + 24, "\xff\2\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16);
	free(rs.data);
}

static void a_router_answers_no_solicitation_that_is_not_valid(void **state)
{
	static const uint8_t none[16];

	assert_true(is_answered(0, "", 0, 0));
	assert_true(is_answered(0, "", 0, ND + 8));
	assert_false(is_answered(0, "", 0, ND + 7));
	assert_false(is_answered(IP6 + 7, "\xfe", 1, 0));
	assert_false(is_answered(ND + 1, "\1", 1, 0));
	assert_false(is_answered(ND + 9, "\0", 1, 0));
	assert_false(is_answered(IP6 + 8, none, 16, 0));    // no address, but an option
	assert_false(is_answered(IP6 + 8, "\xff\2", 2, 0)); // a group
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(solicits_as_rfc_4861_says),
		cmocka_unit_test(reads_what_radvd_advertises),
		cmocka_unit_test(believes_no_advertisement_that_is_not_valid),
		cmocka_unit_test(keeps_the_first_prefixes_of_many),
		cmocka_unit_test(a_router_answers_with_what_it_advertises),
		cmocka_unit_test(a_router_answers_a_host_without_an_address_by_multicast),
		cmocka_unit_test(a_router_answers_no_solicitation_that_is_not_valid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
