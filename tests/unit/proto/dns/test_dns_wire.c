// SPDX-License-Identifier: BSD-3-Clause
// Queries byte by byte, and the judgement of every kind of reply with its counter. Path: tests
// only.

#include "proto/dns/dns.h"
#include "dns_fixture.h"

#include "base/log.h"

#define NAME "www.Example.com A"

static void a_plain_query_is_header_and_question(void **state)
{
	struct dns_fixture *f = fixture_start(NAME);

	fixture_ask(f, 0);
	assert_int_equal(f->query_len, 33);
	assert_memory_equal(
		f->query, "\x12\x34\1\0\0\1\0\0\0\0\0\0\3www\7Example\3com\0\0\1\0\1", 33);
	assert_int_equal(f->n.request_bytes, 33);
	fixture_end(f);
}

static void header_bits_are_as_set(void **state)
{
	struct dns_fixture *f = fixture_new(NAME);

	f->settings.rd = false;
	f->settings.cd = true;
	f->settings.ad = true;
	fixture_open(f);
	fixture_ask(f, 0);
	assert_memory_equal(f->query + 2, "\0\x30", 2);
	fixture_end(f);
}

static void every_edns_option_has_its_bytes(void **state)
{
	struct dns_fixture *f = fixture_new(". NS");
	struct dns_option_settings options[] = {
		{.code = 65001, .hex = {(const uint8_t *)"\xde\xad", 2}},
		{.code = 12, .hex = {NULL, 0}},
	};

	f->settings.edns = &f->edns;
	f->edns.size = 4096;
	f->edns.version = 1;
	f->edns.dnssec_ok = true;
	f->edns.nsid = true;
	f->edns.client_subnet = (struct addr_prefix){{4, {192, 0, 2, 77}}, 24};
	f->edns.options = (struct field_list){options, 2};
	fixture_open(f);
	fixture_ask(f, 0);
	assert_memory_equal(f->query + 2, "\1\0\0\1\0\0\0\0\0\1\0\0\2\0\1", 15);
	assert_memory_equal(f->query + 17,
		"\0\0\x29\x10\0\0\1\x80\0\0\x19"
		"\0\x08\0\7\0\1\x18\0\xc0\0\2"
		"\0\3\0\0"
		"\xfd\xe9\0\2\xde\xad"
		"\0\x0c\0\0",
		11 + 25);
	assert_int_equal(f->query_len, 17 + 11 + 25);
	fixture_end(f);
}

// The OPT record of a line: the bytes after the question, of lines without and with `edns`.
static void a_line_can_have_an_opt_of_its_own(void **state)
{
	const struct {
		const char *line;
		const char *own, *added; // without and with `edns`; the latter asks for an NSID
		uint32_t own_len, added_len;
	} cases[] = {
#define OPT(flags, len)        "\0\0\x29\x04\xd0\0\0" flags "\0\0" len
#define NSID                   "\0\3\0\0"
#define CASE(line, own, added) {line, own, added, sizeof(own) - 1, sizeof(added) - 1}
		CASE(". NS", "", OPT("\0", "\4") NSID),
		CASE(". NS E", OPT("\0", "\0"), OPT("\0", "\4") NSID),
		CASE(". NS D", OPT("\x80", "\0"), OPT("\x80", "\4") NSID),
		CASE(". NS 192.0.2.255/27", OPT("\0", "\x0c") "\0\x08\0\x08\0\1\x1b\0\xc0\0\2\xe0",
			OPT("\0", "\x10") "\0\x08\0\x08\0\1\x1b\0\xc0\0\2\xe0" NSID),
		CASE(". NS 2001:db8:ff::/33 d",
			OPT("\x80", "\x0d") "\0\x08\0\x09\0\2\x21\0\x20\1\x0d\xb8\0",
			OPT("\x80", "\x11") "\0\x08\0\x09\0\2\x21\0\x20\1\x0d\xb8\0" NSID),
		CASE(". NS 0.0.0.0/0", OPT("\0", "\x08") "\0\x08\0\4\0\1\0\0",
			OPT("\0", "\x0c") "\0\x08\0\4\0\1\0\0" NSID),
	};

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		struct dns_fixture *f = fixture_new(cases[i / 2].line);
		const char *opt = i & 1 ? cases[i / 2].added : cases[i / 2].own;
		uint32_t len = i & 1 ? cases[i / 2].added_len : cases[i / 2].own_len;

		// The other line must not change this one.
		f->names[f->settings.names.count++] = i & 2 ? "b A" : "b A D 10.0.0.0/8";
		f->edns.nsid = true;
		f->settings.edns = i & 1 ? &f->edns : NULL;
		fixture_open(f);
		for (uint64_t seq = 0; seq < 4; seq += 2) {
			fixture_ask(f, seq);
			assert_int_equal(f->query_len, 17 + len);
			assert_int_equal(f->query[11], len > 0);
			assert_memory_equal(f->query + 17, opt, len);
		}
		assert_true(f->facts.longest >= f->query_len);
		fixture_ask(f, 1);
		assert_int_equal(
			f->query_len, 12 + 7 + (i & 2 ? (i & 1) * 15 : 11 + 9 + (i & 1) * 4));
		fixture_end(f);
	}
}

// The client subnet of a line replaces the drawn one; the cookie stays the last option.
static void a_subnet_of_its_own_goes_with_cookies_and_drawn_subnets(void **state)
{
	struct dns_fixture *f = fixture_new(". NS 192.0.2.0/24");

	f->names[f->settings.names.count++] = ". NS D";
	f->settings.edns = &f->edns;
	f->settings.cookies = DNS_COOKIES_FULL;
	f->edns.nsid = true;
	f->edns.client_subnet = (struct addr_prefix){{4, {10}}, 8};
	fixture_open(f);
	for (int i = 0; i < 2; i++) {
		static const uint8_t server[] = "8octets!";
		uint8_t cookie[20] = "\0\x0a\0\x10";
		uint32_t before = 17 + 11 + 11 + 4, more = i ? 8 : 0;

		fixture_ask(f, 0);
		assert_int_equal(f->query_len, before + 12 + more);
		assert_memory_equal(f->query + 17 + 7, "\0\0\0", 3);
		assert_int_equal(f->query[17 + 10], 27 + more);
		assert_memory_equal(f->query + 28, "\0\x08\0\7\0\1\x18\0\xc0\0\2\0\3\0\0", 15);
		assert_memory_equal(f->query + before, i ? "\0\x0a\0\x10" : "\0\x0a\0\x08", 4);
		memcpy(cookie + 4, f->query + before + 4, 8);
		memcpy(cookie + 12, server, 8);
		fixture_opt(f, 0, cookie, sizeof(cookie));
		assert_int_equal(fixture_verdict(f), PROTO_DONE);
	}
	assert_int_equal(f->n.cookies_learnt, 1);
	fixture_ask(f, 1);
	assert_memory_equal(f->query + 17 + 7, "\x80\0", 2);
	assert_memory_equal(f->query + 28, "\0\x08\0\7\0\1\x18\0\x0a", 9);
	assert_int_equal(f->query_len, 17 + 11 + 11 + 4 + 20);
	fixture_end(f);
}

static void client_subnets_are_drawn_from_the_prefix_and_zero_beyond(void **state)
{
	struct dns_fixture *f = fixture_new(". NS");
	bool seen[16] = {false};

	f->settings.edns = &f->edns;
	f->edns.client_subnet = (struct addr_prefix){{4, {10, 0xff, 0xff, 0xff}}, 16};
	f->edns.client_subnet_bits = 20;
	fixture_open(f);
	for (uint32_t i = 0; i < 500; i++) {
		fixture_ask(f, i);
		assert_memory_equal(f->query + 17 + 11, "\0\x08\0\7\0\1\x14\0\x0a\xff", 10);
		assert_int_equal(f->query[17 + 11 + 10] & 0x0f, 0);
		seen[f->query[17 + 11 + 10] >> 4] = true;
	}
	for (int i = 0; i < 16; i++)
		assert_true(seen[i]);
	fixture_end(f);
}

static void ipv6_client_subnets_have_56_bits(void **state)
{
	struct dns_fixture *f = fixture_new(". NS");

	f->settings.edns = &f->edns;
	f->edns.client_subnet = (struct addr_prefix){{16, {0x20, 1, 0xd, 0xb8, 0xff}}, 32};
	fixture_open(f);
	fixture_ask(f, 0);
	assert_memory_equal(f->query + 17 + 11, "\0\x08\0\x0b\0\2\x38\0\x20\1\x0d\xb8", 12);
	assert_int_equal(f->query_len, 17 + 11 + 4 + 4 + 7);
	fixture_end(f);
}

static void a_query_that_does_not_fit_is_not_written(void **state)
{
	struct dns_fixture *f = fixture_start(NAME);

	memset(f->query, 0xee, sizeof(f->query));
	assert_int_equal(proto_request(&dns_proto, &f->ctx, &f->txn, f->query, 32), 0);
	assert_int_equal(f->query[0], 0xee);
	assert_int_equal(f->n.request_bytes, 0);
	assert_int_equal(proto_request(&dns_proto, &f->ctx, &f->txn, f->query, 33), 33);
	assert_int_equal(f->query[33], 0xee);
	fixture_end(f);
}

// The last number in "h<n>.x".
static uint32_t asked_number(struct dns_fixture *f, uint64_t seq)
{
	fixture_ask(f, seq);
	return f->query[DNS_HEADER_LEN + 2] - '0';
}

static void sequential_order_goes_round_and_workers_interleave(void **state)
{
	struct dns_fixture *f = fixture_new("h{0-9}.x A");

	f->env.workers = 3;
	f->env.worker = 2;
	fixture_open(f);
	for (uint64_t seq = 0; seq < 100; seq++)
		assert_int_equal(asked_number(f, seq), (seq * 3 + 2) % 10);
	fixture_end(f);
}

// In a block, the query of a transaction is derived from the previous one.
static void a_block_has_the_queries_that_each_has_alone(void **state)
{
	// The queries before a run have numbers below zero.
	static const uint64_t seqs[] = {UINT64_MAX, 0, 1, UINT64_MAX - 4, UINT64_MAX, 4, 5, 6, 7, 9,
		10, 3, 4, 1ull << 40, (1ull << 40) + 1, 0, 1};
	static const enum dns_order orders[] = {DNS_SEQUENTIAL, DNS_RANDOM, DNS_ZIPF};
	enum { N = sizeof(seqs) / sizeof(*seqs) };

	for (size_t i = 0; i < 6; i++) {
		struct dns_fixture *f = fixture_new("h{1-3}.example.com A");
		struct proto_txn txns[N], *views[N];
		struct proto_out out[N];
		uint8_t bufs[N][512];

		f->settings.order = orders[i % 3];
		f->settings.case_0x20 = i >= 3;
		f->env.worker = 2;
		f->env.workers = 5;
		fixture_open(f);
		for (size_t k = 0; k < N; k++) {
			txns[k] = (struct proto_txn){.seq = seqs[k], .key = (uint16_t)(7 * k)};
			views[k] = &txns[k];
			out[k] = (struct proto_out){.buf = bufs[k], .len = 1, .sum = 1};
		}
		dns_request(&f->ctx, views, NULL, out, N, sizeof(bufs[0]));
		for (size_t k = 0; k < N; k++) {
			f->txn.key = txns[k].key;
			fixture_ask(f, seqs[k]);
			assert_int_equal(f->txn.user, txns[k].user);
			assert_int_equal(out[k].len, f->query_len);
			assert_int_equal(out[k].sum, f->ctx.sum);
			assert_memory_equal(bufs[k], f->query, f->query_len);
		}
		fixture_end(f);
	}
}

// The image of each query is what request writes, and there are images exactly while queries differ
// in nothing else.
static void an_image_is_the_query_that_is_written(void **state)
{
	static const enum dns_order orders[] = {DNS_SEQUENTIAL, DNS_RANDOM, DNS_ZIPF};

	for (uint32_t i = 0; i < 48; i++) {
		struct dns_fixture *f = fixture_new("h{8-11}.example.com A");
		const struct proto_images *images = dns_proto.images;
		bool varies = i >= 24;
		uint8_t image[512];

		f->names[f->settings.names.count++] =
			i & 8 ? "b.example AAAA D 10.0.0.0/8" : "b.example AAAA";
		f->settings.order = orders[i % 3];
		f->settings.rd = i & 1;
		f->settings.cd = i & 2;
		f->edns.nsid = i & 4;
		f->settings.edns = i & 4 ? &f->edns : NULL;
		f->settings.case_0x20 = varies && i % 3 == 0;
		f->settings.cookies = varies && i % 3 == 1 ? DNS_COOKIES_FULL : DNS_COOKIES_NONE;
		f->edns.padding = varies && i % 3 == 2 ? 128 : 0;
		if (varies && i % 3 == 2)
			f->settings.edns = &f->edns;
		fixture_open(f);
		assert_int_equal(images->count(f->ctx.shared), varies ? 0 : 5);
		for (uint64_t seq = 0; seq < 40 && !varies; seq++) {
			struct proto_txn t = {.seq = seq}, *view = &t;
			uint32_t len;

			fixture_ask(f, seq);
			images->choose(&f->ctx, &view, 1);
			assert_int_equal(t.user, f->txn.user);
			len = images->write(f->ctx.shared, t.user, image, sizeof(image));
			assert_int_equal(len, f->query_len);
			assert_int_equal(bytes_be16(image), 0);
			bytes_put_be16(image, (uint16_t)f->txn.key);
			assert_memory_equal(image, f->query, len);
			assert_int_equal(images->write(f->ctx.shared, t.user, image, len - 1), 0);
		}
		fixture_end(f);
	}
}

static void random_order_is_even(void **state)
{
	struct dns_fixture *f = fixture_new("h{0-9}.x A");
	uint32_t count[10] = {0};

	f->settings.order = DNS_RANDOM;
	fixture_open(f);
	for (uint64_t seq = 0; seq < 20000; seq++)
		count[asked_number(f, seq)]++;
	for (int i = 0; i < 10; i++)
		assert_in_range(count[i], 1800, 2200);
	fixture_end(f);
}

static void zipf_order_follows_the_rank(void **state)
{
	struct dns_fixture *f = fixture_new("h{0-9}.x A");
	uint32_t count[10] = {0};

	f->settings.order = DNS_ZIPF;
	fixture_open(f);
	for (uint64_t seq = 0; seq < 29290; seq++) // 10000 times the tenth harmonic number
		count[asked_number(f, seq)]++;
	for (uint32_t i = 0; i < 10; i++)
		assert_in_range(count[i], 9000 / (i + 1), 11000 / (i + 1));
	fixture_end(f);
}

static void the_same_seed_gives_the_same_bytes_and_another_seed_others(void **state)
{
	struct dns_fixture *f = fixture_new("{random:20}.h{0-9}.example A");
	uint8_t first[50][256];
	uint32_t same = 0;

	f->settings.order = DNS_RANDOM;
	f->settings.case_0x20 = true;
	f->settings.edns = &f->edns;
	f->settings.cookies = DNS_COOKIES_CLIENT;
	f->edns.client_subnet = (struct addr_prefix){{4, {10}}, 8};
	fixture_open(f);
	for (int i = 0; i < 50; i++) {
		fixture_ask(f, i);
		memcpy(first[i], f->query, f->query_len);
	}
	fixture_reopen(f);
	for (int i = 49; i >= 0; i--) {
		fixture_ask(f, i);
		assert_memory_equal(first[i], f->query, f->query_len);
	}
	f->env.seed = 2;
	fixture_reopen(f);
	for (int i = 0; i < 50; i++) {
		fixture_ask(f, i);
		same += memcmp(first[i] + 13, f->query + 13, 20) == 0;
	}
	assert_int_equal(same, 0);
	fixture_end(f);
}

// The characters of a query for "{random:N}...", base32 back to a number.
static uint64_t random_value(const struct dns_fixture *f, uint32_t len)
{
	uint64_t v = 0;

	for (uint32_t i = 0; i < len; i++) {
		uint8_t c = f->query[DNS_HEADER_LEN + 1 + i];

		assert_true((c >= 'a' && c <= 'v') || (c >= '0' && c <= '9'));
		v = v << 5 | (uint64_t)(c >= 'a' ? c - 'a' : c - '0' + 22);
	}
	return v;
}

static void short_random_names_use_up_every_value(void **state)
{
	struct dns_fixture *f = fixture_new("{random:3}.x A");
	uint8_t *seen = calloc(1, 1 << 15);

	f->env.workers = 4;
	for (f->env.worker = 0; f->env.worker < 4; f->env.worker++) {
		if (f->env.worker == 0)
			fixture_open(f);
		else
			fixture_reopen(f);
		for (uint32_t i = 0; i < 1 << 13; i++) {
			fixture_ask(f, i);
			assert_false(seen[random_value(f, 3)]++);
		}
	}
	free(seen);
	fixture_end(f);
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void long_random_names_do_not_repeat(void **state)
{
	const uint32_t count = 300000;
	struct dns_fixture *f = fixture_start("{random:12}.x A");
	uint64_t *values = malloc(count * sizeof(*values));
	uint32_t adjacent = 0;

	for (uint32_t i = 0; i < count; i++) {
		fixture_ask(f, i);
		values[i] = random_value(f, 12);
		adjacent += i > 0 && values[i] - values[i - 1] < 1000;
	}
	assert_int_equal(adjacent, 0);
	qsort(values, count, sizeof(*values), compare_u64);
	for (uint32_t i = 1; i < count; i++)
		assert_int_not_equal(values[i - 1], values[i]);
	free(values);
	fixture_end(f);
}

static void names_do_not_repeat_beyond_32_bits_of_transactions(void **state)
{
	const uint64_t starts[] = {0, (1ull << 31) - 5000, (1ull << 32) - 5000, (1ull << 33) - 5000,
		(1ull << 40) - 5000, (1ull << 59) - 5000};
	const uint32_t count = 10000, all = count * 6;
	struct dns_fixture *f = fixture_start("{random:12}.x A");
	uint64_t *values = malloc(all * sizeof(*values));

	for (uint32_t s = 0; s < 6; s++)
		for (uint32_t i = 0; i < count; i++) {
			fixture_ask(f, starts[s] + i);
			values[s * count + i] = random_value(f, 12);
		}
	qsort(values, all, sizeof(*values), compare_u64);
	for (uint32_t i = 1; i < all; i++)
		assert_true(values[i - 1] != values[i]);
	free(values);
	fixture_end(f);
}

static void names_repeat_after_all_were_used_and_not_before(void **state)
{
	struct dns_fixture *f = fixture_start("{random:7}.x A");
	uint64_t first;

	fixture_ask(f, 12345);
	first = random_value(f, 7);
	for (unsigned bit = 0; bit < 35; bit++) {
		fixture_ask(f, 12345 ^ 1ull << bit);
		assert_true(random_value(f, 7) != first);
	}
	fixture_ask(f, 12345 + (1ull << 35));
	assert_true(random_value(f, 7) == first);
	fixture_end(f);
}

static void the_order_goes_on_beyond_32_bits_of_transactions(void **state)
{
	const uint64_t starts[] = {(1ull << 32) - 50, (1ull << 48) - 50, (1ull << 60) - 50};
	struct dns_fixture *f = fixture_new("h{0-9}.x A");

	f->env.workers = 3;
	f->env.worker = 1;
	fixture_open(f);
	for (uint32_t s = 0; s < 3; s++)
		for (uint64_t seq = starts[s]; seq < starts[s] + 100; seq++)
			assert_int_equal(asked_number(f, seq), (seq * 3 + 1) % 10);
	fixture_end(f);
}

static void a_reply_belongs_to_one_of_the_transactions_2_to_the_32_apart(void **state)
{
	struct dns_fixture *f = fixture_new("{random:12}.x A");

	f->settings.case_0x20 = true;
	fixture_open(f);
	for (uint64_t seq = (1ull << 32) - 100; seq < (1ull << 32) + 100; seq++) {
		fixture_ask(f, seq);
		assert_int_equal(fixture_verdict(f), PROTO_DONE);
		f->txn.seq = seq - (1ull << 32) * (seq >> 32);
		if (f->txn.seq != seq)
			assert_int_equal(fixture_verdict(f), PROTO_STRAY);
	}
	fixture_end(f);
}

static void random_characters_fill_their_place_only(void **state)
{
	struct dns_fixture *f = fixture_start("ab.{random:63}.cd A");

	for (uint64_t seq = 0; seq < 100; seq++) {
		fixture_ask(f, seq);
		assert_memory_equal(f->query + 12, "\2ab\x3f", 4);
		for (int i = 0; i < 63; i++)
			assert_non_null(
				strchr("abcdefghijklmnopqrstuv0123456789", f->query[16 + i]));
		assert_memory_equal(f->query + 79, "\2cd\0\0\1\0\1", 8);
	}
	fixture_end(f);
}

static void only_letters_change_their_case(void **state)
{
	// QTYPE 65 looks like a letter.
	struct dns_fixture *f = fixture_new("az-AZ09\\064\\091\\096\\123\\225.example HTTPS");
	uint8_t upper[64] = {0}, lower[64] = {0};

	f->settings.case_0x20 = true;
	fixture_open(f);
	for (uint64_t seq = 0; seq < 200; seq++) {
		fixture_ask(f, seq);
		assert_memory_equal(f->query + 12 + 1 + 2, "-", 1);
		assert_memory_equal(f->query + 12 + 1 + 5, "09@[`{\xe1\7", 8);
		assert_memory_equal(f->query + f->query_len - 5, "\0\0\x41\0\1", 5);
		for (uint32_t i = 12; i < f->query_len - 4; i++) {
			upper[i] |= f->query[i] >= 'A' && f->query[i] <= 'Z';
			lower[i] |= f->query[i] >= 'a' && f->query[i] <= 'z';
		}
	}
	for (uint32_t i = 12; i < f->query_len - 4; i++)
		assert_int_equal(upper[i], lower[i]);
	assert_true(upper[13] && upper[14] && upper[16] && upper[17] && upper[f->query_len - 6]);
	fixture_end(f);
}

static void the_key_is_the_id_of_a_response(void **state)
{
	const uint8_t message[] = "\xab\xcd\x80\0\0\0\0\0\0\0\0\0";
	uint8_t query[12] = {0};
	uint32_t key = 0;

	assert_true(dns_key(message, 12, &key));
	assert_int_equal(key, 0xabcd);
	assert_false(dns_key(message, 11, &key));
	assert_false(dns_key(message, 0, &key));
	assert_false(dns_key(query, 12, &key));
}

static void a_right_answer_is_done_and_counted(void **state)
{
	struct dns_fixture *f = fixture_start(NAME);

	fixture_ask(f, 0);
	fixture_answer(f);
	f->reply[2] |= 0x04; // AA
	f->reply[3] |= 0x20; // AD
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	assert_int_equal(f->n.rcode[DNS_NOERROR], 1);
	assert_int_equal(f->n.reply_bytes, 49);
	assert_int_equal(f->n.reply_size[0], 1);
	assert_int_equal(f->n.aa, 1);
	assert_int_equal(f->n.ad, 1);
	assert_int_equal(f->n.tc, 0);
	assert_int_equal(f->n.empty, 0);
	assert_int_equal(f->n.trailing, 0);
	assert_int_equal(f->n.edns_refused, 0);
	assert_int_equal(f->n.no_question, 0);
	fixture_end(f);
}

static void a_captured_answer_of_knot_is_done(void **state)
{
	struct dns_fixture *f = fixture_new("www.example.com A");
	uint8_t data[128];
	uint32_t len =
		from_hex("12348500000100010000000103777777076578616d706c6503636f6d0000010001c"
			 "00c0001000100000e100004c000025000002904d000000000000a000300066b6e6f"
			 "742d61",
			data);

	f->settings.edns = &f->edns;
	f->edns.nsid = true;
	fixture_open(f);
	fixture_ask(f, 0);
	assert_int_equal(fixture_verdict_of(f, data, len), PROTO_DONE);
	assert_int_equal(f->n.nsid, 1);
	assert_int_equal(f->n.aa, 1);
	assert_int_equal(f->n.edns_refused, 0);
	fixture_end(f);
}

static void every_rcode_is_done_without_expect_and_counted_by_name(void **state)
{
	struct dns_fixture *f = fixture_new(NAME);

	f->settings.edns = &f->edns;
	fixture_open(f);
	for (uint32_t rcode = 0; rcode < 32; rcode++) {
		fixture_ask(f, rcode);
		f->reply[3] = rcode & 0x0f;
		fixture_opt(f, (uint8_t)(rcode >> 4), NULL, 0);
		assert_int_equal(fixture_verdict(f), PROTO_DONE);
	}
	for (uint32_t i = 0; i < DNS_RCODE_OTHER; i++)
		assert_int_equal(f->n.rcode[i], 1);
	assert_int_equal(f->n.rcode[DNS_RCODE_OTHER], 8);
	assert_int_equal(f->n.empty, 1);
	fixture_end(f);
}

static void foreign_replies_are_stray_and_not_counted(void **state)
{
	const struct {
		uint32_t at;
		uint8_t flip;
	} changes[] = {
		{0, 0x01}, // ID
		{1, 0x80},
		{2, 0x80},  // a query
		{2, 0x10},  // opcode
		{13, 0x01}, // name
		{19, 0x40}, // name: a letter to another one
		{29, 0x02}, // type
		{30, 0x02},
		{31, 0x01}, // class
		{32, 0x02},
	};
	const struct dns_counters none = {0};
	struct dns_fixture *f = fixture_start(NAME);

	fixture_ask(f, 0);
	fixture_answer(f);
	f->n = none;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		f->reply[changes[i].at] ^= changes[i].flip;
		assert_int_equal(fixture_verdict(f), PROTO_STRAY);
		f->reply[changes[i].at] ^= changes[i].flip;
	}
	assert_memory_equal(&f->n, &none, sizeof(none));
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	fixture_end(f);
}

static void a_shorter_or_longer_question_is_stray(void **state)
{
	struct dns_fixture *f = fixture_start(NAME);

	fixture_ask(f, 0);
	assert_int_equal(
		fixture_verdict_of(f, "\x12\x34\x80\0\0\1\0\0\0\0\0\0\0\0\1\0\1", 17), PROTO_STRAY);
	assert_int_equal(
		fixture_verdict_of(
			f, "\x12\x34\x80\0\0\1\0\0\0\0\0\0\3www\7Example\3com\1x\0\0\1\0\1", 35),
		PROTO_STRAY);
	fixture_end(f);
}

static void the_case_of_the_name_does_not_matter_by_default(void **state)
{
	struct dns_fixture *f = fixture_start(NAME);

	fixture_ask(f, 0);
	f->reply[13] = 'W';
	f->reply[17] = 'e';
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	assert_int_equal(f->n.case_mismatch, 0);
	fixture_end(f);
}

static void with_0x20_the_case_must_be_as_sent(void **state)
{
	struct dns_fixture *f = fixture_new(NAME);

	f->settings.case_0x20 = true;
	fixture_open(f);
	for (uint32_t seq = 0; seq < 50; seq++) {
		f->txn.key = 0x1234 + seq;
		fixture_ask(f, seq);
		assert_int_equal(fixture_verdict(f), PROTO_DONE);
		f->reply[13 + seq % 3] ^= 0x20;
		assert_int_equal(fixture_verdict(f), PROTO_STRAY);
		assert_int_equal(f->n.case_mismatch, seq + 1);
	}
	assert_int_equal(f->n.rcode[DNS_NOERROR], 50);
	f->reply[14] ^= 0x01; // another name is not a matter of case
	assert_int_equal(fixture_verdict(f), PROTO_STRAY);
	assert_int_equal(f->n.case_mismatch, 50);
	fixture_end(f);
}

static void a_reply_cut_anywhere_is_malformed_and_not_counted(void **state)
{
	const struct dns_counters none = {0};
	struct dns_fixture *f = fixture_new(NAME);

	f->settings.edns = &f->edns;
	fixture_open(f);
	fixture_ask(f, 0);
	fixture_answer(f);
	fixture_opt(f, 0, "\0\3\0\4abcd", 8);
	f->n = none;
	for (int tc = 0; tc < 2; tc++) {
		f->reply[2] ^= 0x02;
		for (uint32_t len = 0; len < f->reply_len; len++)
			assert_int_equal(fixture_verdict_of(f, f->reply, len), PROTO_MALFORMED);
	}
	assert_memory_equal(&f->n, &none, sizeof(none));
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	fixture_end(f);
}

// Each bit of a plain reply flipped, each length of it, one record more and less: fixture_verdict
// compares the short way with the long one. Without EDNS, with it in all queries, in this one only,
// in the other one only.
static void what_is_not_plain_is_not_taken_for_it(void **state)
{
	static const char *const others[] = {NAME, NAME, NAME " E", NAME};

	for (int kind = 0; kind < 12; kind++) {
		struct dns_fixture *f = fixture_new(others[kind & 3]);
		bool edns = (kind & 3) == 1 || (kind & 3) == 2;

		f->names[f->settings.names.count++] = NAME " D 10.0.0.0/8";
		f->settings.names.count -= (kind & 3) < 2;
		f->settings.edns = (kind & 3) == 1 ? &f->edns : NULL;
		fixture_open(f);
		assert_true(((const struct dns_plan *)f->ctx.shared)->plain);
		fixture_ask(f, 0);
		for (int answers = kind / 4; answers > 0; answers--)
			fixture_answer(f);
		if (edns)
			fixture_opt(f, 0, NULL, 0);
		assert_int_equal(fixture_verdict(f), PROTO_DONE);
		assert_int_equal(f->n.empty, kind < 4);
		for (uint32_t bit = 0; bit < 8 * f->reply_len; bit++) {
			f->reply[bit / 8] ^= 1u << bit % 8;
			fixture_verdict(f);
			f->reply[bit / 8] ^= 1u << bit % 8;
		}
		for (uint32_t len = 0; len <= f->reply_len; len++)
			fixture_verdict_of(f, f->reply, len);
		f->n.trailing = 0;
		fixture_append(f, "\0", 1);
		fixture_verdict(f);
		assert_int_equal(f->n.trailing, 1);
		fixture_end(f);
	}
}

static void truncation_is_counted(void **state)
{
	struct dns_fixture *f = fixture_start(NAME);

	fixture_ask(f, 0);
	f->reply[2] |= 0x02;
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	assert_int_equal(f->n.tc, 1);
	fixture_end(f);
}

static void errors_but_nxdomain_need_no_question(void **state)
{
	struct dns_fixture *f = fixture_start(NAME);
	uint8_t header[] = "\x12\x34\x80\0\0\0\0\0\0\0\0\0";

	fixture_ask(f, 0);
	for (uint8_t rcode = 0; rcode < 16; rcode++) {
		bool right = rcode != DNS_NOERROR && rcode != DNS_NXDOMAIN;

		header[3] = rcode;
		assert_int_equal(
			fixture_verdict_of(f, header, 12), right ? PROTO_DONE : PROTO_STRAY);
	}
	assert_int_equal(f->n.no_question, 14);
	fixture_end(f);
}

static void two_questions_are_malformed(void **state)
{
	struct dns_fixture *f = fixture_start(NAME);

	fixture_ask(f, 0);
	f->reply[5] = 2;
	fixture_append(f, "\1a\0\0\1\0\1", 7);
	assert_int_equal(fixture_verdict(f), PROTO_MALFORMED);
	f->reply[4] = 1;
	f->reply[5] = 0;
	assert_int_equal(fixture_verdict(f), PROTO_MALFORMED);
	fixture_end(f);
}

static void trailing_bytes_are_counted(void **state)
{
	struct dns_fixture *f = fixture_start(NAME);

	fixture_ask(f, 0);
	fixture_answer(f);
	fixture_append(f, "junk", 4);
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	assert_int_equal(f->n.trailing, 1);
	fixture_end(f);
}

static void edns_is_refused_without_opt_or_with_formerr(void **state)
{
	struct dns_fixture *f = fixture_new(NAME);

	f->settings.edns = &f->edns;
	fixture_open(f);
	fixture_ask(f, 0);
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	assert_int_equal(f->n.edns_refused, 1);
	fixture_opt(f, 0, NULL, 0);
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	assert_int_equal(f->n.edns_refused, 1);
	f->reply[3] |= DNS_FORMERR;
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	assert_int_equal(f->n.edns_refused, 2);
	fixture_end(f);
}

// A TXT answer that makes the reply this long.
static void fixture_fill(struct dns_fixture *f, uint32_t len)
{
	uint32_t rdlen = len - f->reply_len - 12;
	uint8_t head[] = {0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 0, (uint8_t)(rdlen >> 8), (uint8_t)rdlen};

	fixture_append(f, head, sizeof(head));
	memset(f->reply + f->reply_len, 0, rdlen);
	f->reply_len = len;
	f->reply[7]++;
}

static void replies_are_counted_by_size_up_to_64_kib(void **state)
{
	const uint32_t sizes[] = {
		128, 129, 256, 257, 512, 513, 1232, 1233, 1452, 1453, 4096, 4097, 65535};
	const uint64_t buckets[DNS_SIZES] = {1, 2, 2, 2, 2, 2, 2};
	struct dns_fixture *f = fixture_new(NAME);
	uint32_t total = 0;

	f->settings.edns = &f->edns;
	fixture_open(f);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		fixture_ask(f, i);
		fixture_fill(f, sizes[i]);
		assert_int_equal(fixture_verdict(f), PROTO_DONE);
		total += sizes[i];
	}
	assert_memory_equal(f->n.reply_size, buckets, sizeof(buckets));
	assert_int_equal(f->n.reply_bytes, total);
	assert_int_equal(f->n.oversize, 6);
	fixture_end(f);
}

static void without_edns_512_bytes_are_the_limit(void **state)
{
	struct dns_fixture *f = fixture_start(NAME);

	fixture_ask(f, 0);
	fixture_fill(f, 512);
	fixture_verdict(f);
	assert_int_equal(f->n.oversize, 0);
	fixture_ask(f, 0);
	fixture_fill(f, 513);
	fixture_verdict(f);
	assert_int_equal(f->n.oversize, 1);
	fixture_end(f);
}

// In a list with both, only replies to queries with EDNS must have an OPT and may be longer.
static void each_query_has_the_rules_of_its_own_opt(void **state)
{
	struct dns_fixture *f = fixture_new(NAME);

	f->names[f->settings.names.count++] = NAME " E";
	fixture_open(f);
	for (uint64_t seq = 0; seq < 2; seq++) {
		fixture_ask(f, seq);
		fixture_answer(f);
		assert_int_equal(fixture_verdict(f), PROTO_DONE);
		assert_int_equal(f->n.edns_refused, seq);
		fixture_ask(f, seq);
		fixture_fill(f, 513);
		fixture_verdict(f);
		assert_int_equal(f->n.oversize, 1);
	}
	fixture_ask(f, 1);
	fixture_fill(f, 1233);
	fixture_verdict(f);
	assert_int_equal(f->n.oversize, 2);
	fixture_end(f);
}

static void the_subnet_of_a_line_must_come_back_if_one_does(void **state)
{
	struct dns_fixture *f = fixture_new(". NS 192.0.2.0/24");
	uint8_t option[] = "\0\x08\0\7\0\1\x18\x14\xc0\0\2";
	const uint32_t len = sizeof(option) - 1;

	f->names[f->settings.names.count++] = ". NS E";
	fixture_open(f);
	fixture_ask(f, 0);
	fixture_opt(f, 0, option, len);
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	for (uint32_t i = 4; i < len; i++) {
		if (i == 7)
			continue; // the scope is the server's
		f->reply[28 + i] ^= 1;
		assert_int_equal(fixture_verdict(f), PROTO_STRAY);
		f->reply[28 + i] ^= 1;
	}
	assert_int_equal(f->n.client_subnet_bad, 6);
	fixture_ask(f, 0);
	option[3] = 6;
	fixture_opt(f, 0, option, len - 1);
	assert_int_equal(fixture_verdict(f), PROTO_STRAY);
	fixture_ask(f, 1); // this one sent none, so it has nothing to compare with
	fixture_opt(f, 0, option, len - 1);
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	fixture_end(f);
}

static void a_query_of_another_class_is_answered_in_it(void **state)
{
	struct dns_fixture *f = fixture_new("version.bind CH TXT");

	f->settings.class = 3; // ANY, for the second one
	f->names[f->settings.names.count++] = "version.bind TXT";
	fixture_open(f);
	fixture_ask(f, 1);
	assert_memory_equal(f->query + f->query_len - 4, "\0\x10\0\xff", 4);
	fixture_ask(f, 0);
	assert_memory_equal(f->query + f->query_len - 4, "\0\x10\0\3", 4);
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	f->reply[f->reply_len - 1] = 1;
	assert_int_equal(fixture_verdict(f), PROTO_STRAY);
	fixture_end(f);
}

static void the_answers_are_held_against_expect(void **state)
{
	struct dns_fixture *f = fixture_new(NAME);
	int32_t rcodes[] = {0, 3};

	f->settings.expect = &f->expect;
	f->expect.rcode = (struct field_list){rcodes, 2};
	f->expect.min_answers = 1;
	fixture_open(f);
	fixture_ask(f, 0);
	assert_int_equal(fixture_verdict(f), PROTO_FAIL);
	assert_int_equal(f->n.too_few_answers, 1);
	fixture_answer(f);
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	f->reply[3] = 3;
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	f->reply[3] = 2;
	assert_int_equal(fixture_verdict(f), PROTO_FAIL);
	assert_int_equal(f->n.unexpected_rcode, 1);
	assert_int_equal(f->n.too_few_answers, 1);
	assert_int_equal(f->n.rcode[2], 1);
	fixture_end(f);
}

static void expect_without_rcode_takes_all_rcodes(void **state)
{
	struct dns_fixture *f = fixture_new(NAME);

	f->settings.expect = &f->expect;
	f->expect.min_answers = 1;
	fixture_open(f);
	fixture_ask(f, 0);
	fixture_answer(f);
	f->reply[3] = 5;
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	fixture_end(f);
}

static struct dns_fixture *cookie_fixture(enum dns_cookies mode)
{
	struct dns_fixture *f = fixture_new(". NS");

	f->settings.cookies = mode;
	fixture_open(f);
	return f;
}

// An OPT with a cookie option: the client part of the query, then len bytes of a server part.
static void fixture_cookie(
	struct dns_fixture *f, uint8_t ext_rcode, const void *server, uint32_t len)
{
	uint8_t option[64] = {0, DNS_COOKIE, 0, (uint8_t)(8 + len)};

	memcpy(option + 4, f->query + 17 + 11 + 4, 8);
	memcpy(option + 12, server, len);
	fixture_opt(f, ext_rcode, option, (uint16_t)(12 + len));
}

static void client_cookies_are_sent_one_per_client(void **state)
{
	struct dns_fixture *f = cookie_fixture(DNS_COOKIES_CLIENT);
	uint8_t first[8];

	fixture_ask(f, 0);
	assert_int_equal(f->query_len, 17 + 11 + 12);
	assert_memory_equal(f->query + 17, "\0\0\x29\x04\xd0\0\0\0\0\0\x0c\0\x0a\0\x08", 15);
	memcpy(first, f->query + 32, 8);
	fixture_cookie(f, 0, "12345678", 8);
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	assert_int_equal(f->n.cookies_learnt, 0);
	fixture_ask(f, 1);
	assert_int_equal(f->query_len, 17 + 11 + 12); // nothing is kept in this mode
	assert_memory_equal(f->query + 32, first, 8);
	f->txn.client = 1;
	fixture_ask(f, 2);
	assert_memory_not_equal(f->query + 32, first, 8);
	fixture_end(f);
}

static void server_cookies_are_learnt_per_client_and_sent_back(void **state)
{
	struct dns_fixture *f = cookie_fixture(DNS_COOKIES_FULL);

	f->txn.client = 2;
	fixture_ask(f, 0);
	assert_int_equal(f->query_len, 40);
	fixture_cookie(f, 0, "0123456789abcdef", 16);
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	assert_int_equal(f->n.cookies_learnt, 1);
	fixture_ask(f, 1);
	assert_int_equal(f->query_len, 56);
	assert_memory_equal(f->query + 26, "\0\x1c\0\x0a\0\x18", 6);
	assert_memory_equal(f->query + 40, "0123456789abcdef", 16);
	fixture_cookie(f, 0, "0123456789abcdef", 16);
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	assert_int_equal(f->n.cookies_learnt, 1);
	f->txn.client = 3;
	fixture_ask(f, 2);
	assert_int_equal(f->query_len, 40);
	fixture_cookie(f, 0, "0123456789abcdef0123456789abcdef", 32);
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	fixture_ask(f, 3);
	assert_int_equal(f->query_len, 72);
	assert_int_equal(proto_request(&dns_proto, &f->ctx, &f->txn, f->query, 71), 0);
	f->txn.client = 4; // more than there are: asked without
	fixture_ask(f, 4);
	assert_int_equal(f->query_len, 40);
	fixture_end(f);
}

static void badcookie_is_asked_again_once_with_the_new_cookie(void **state)
{
	struct dns_fixture *f = cookie_fixture(DNS_COOKIES_FULL);

	fixture_ask(f, 0);
	f->reply[3] = DNS_BADCOOKIE & 15;
	fixture_cookie(f, DNS_BADCOOKIE >> 4, "abcdefgh", 8);
	assert_int_equal(fixture_verdict(f), PROTO_AGAIN);
	assert_int_equal(f->n.rcode[DNS_BADCOOKIE], 1);
	assert_int_equal(f->n.badcookie_retries, 1);
	fixture_ask(f, 0);
	assert_int_equal(f->query_len, 48);
	assert_memory_equal(f->query + 40, "abcdefgh", 8);
	f->reply[3] = DNS_BADCOOKIE & 15;
	fixture_cookie(f, DNS_BADCOOKIE >> 4, "ijklmnop", 8);
	assert_int_equal(fixture_verdict(f), PROTO_FAIL);
	assert_int_equal(f->n.rcode[DNS_BADCOOKIE], 2);
	assert_int_equal(f->n.badcookie_retries, 1);
	assert_int_equal(f->n.cookies_learnt, 2);
	fixture_end(f);
}

static void badcookie_without_a_cookie_fails(void **state)
{
	struct dns_fixture *f = cookie_fixture(DNS_COOKIES_FULL);

	fixture_ask(f, 0);
	f->reply[3] = DNS_BADCOOKIE & 15;
	fixture_opt(f, DNS_BADCOOKIE >> 4, NULL, 0);
	assert_int_equal(fixture_verdict(f), PROTO_FAIL);
	fixture_end(f);
}

static void replies_with_a_foreign_or_impossible_cookie_are_dropped(void **state)
{
	const uint32_t bad_lens[] = {1, 7, 33};
	struct dns_fixture *f = cookie_fixture(DNS_COOKIES_FULL);

	fixture_ask(f, 0);
	fixture_cookie(f, 0, "01234567", 8);
	f->reply[32] ^= 1;
	assert_int_equal(fixture_verdict(f), PROTO_STRAY);
	assert_int_equal(f->n.cookie_bad, 1);
	for (int i = 0; i < 3; i++) {
		fixture_ask(f, 0);
		fixture_cookie(f, 0, "0123456789abcdef0123456789abcdefx", bad_lens[i]);
		assert_int_equal(fixture_verdict(f), PROTO_STRAY);
	}
	fixture_ask(f, 0);
	fixture_opt(f, 0, "\0\x0a\0\4abcd", 8);
	assert_int_equal(fixture_verdict(f), PROTO_STRAY);
	assert_int_equal(f->n.cookie_bad, 5);
	assert_int_equal(f->n.rcode[DNS_NOERROR], 0);
	assert_int_equal(f->n.cookies_learnt, 0);
	fixture_ask(f, 0);
	assert_int_equal(f->query_len, 40);
	fixture_end(f);
}

static void the_client_subnet_must_be_ours_if_it_is_there(void **state)
{
	struct dns_fixture *f = fixture_new(". NS");
	uint8_t option[11];

	f->settings.edns = &f->edns;
	f->edns.client_subnet = (struct addr_prefix){{4, {10}}, 8};
	fixture_open(f);
	fixture_ask(f, 7);
	memcpy(option, f->query + 28, sizeof(option));
	option[7] = 20; // the scope is the server's
	fixture_opt(f, 0, option, sizeof(option));
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	for (int i = 4; i < 11; i++) {
		if (i == 7)
			continue;
		f->reply[28 + i] ^= 1;
		assert_int_equal(fixture_verdict(f), PROTO_STRAY);
		f->reply[28 + i] ^= 1;
	}
	assert_int_equal(f->n.client_subnet_bad, 6);
	fixture_ask(f, 7);
	option[3] = 6;
	fixture_opt(f, 0, option, sizeof(option) - 1);
	assert_int_equal(fixture_verdict(f), PROTO_STRAY);
	fixture_end(f);
}

static void no_answer_is_a_loss(void **state)
{
	struct dns_fixture *f = fixture_start(NAME);

	assert_int_equal(dns_timeout(&f->ctx, &f->txn), PROTO_FAIL);
	fixture_end(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_query_is_header_and_question),
		cmocka_unit_test(header_bits_are_as_set),
		cmocka_unit_test(every_edns_option_has_its_bytes),
		cmocka_unit_test(a_line_can_have_an_opt_of_its_own),
		cmocka_unit_test(a_subnet_of_its_own_goes_with_cookies_and_drawn_subnets),
		cmocka_unit_test(client_subnets_are_drawn_from_the_prefix_and_zero_beyond),
		cmocka_unit_test(ipv6_client_subnets_have_56_bits),
		cmocka_unit_test(a_query_that_does_not_fit_is_not_written),
		cmocka_unit_test(sequential_order_goes_round_and_workers_interleave),
		cmocka_unit_test(a_block_has_the_queries_that_each_has_alone),
		cmocka_unit_test(an_image_is_the_query_that_is_written),
		cmocka_unit_test(random_order_is_even),
		cmocka_unit_test(zipf_order_follows_the_rank),
		cmocka_unit_test(the_same_seed_gives_the_same_bytes_and_another_seed_others),
		cmocka_unit_test(short_random_names_use_up_every_value),
		cmocka_unit_test(long_random_names_do_not_repeat),
		cmocka_unit_test(names_do_not_repeat_beyond_32_bits_of_transactions),
		cmocka_unit_test(names_repeat_after_all_were_used_and_not_before),
		cmocka_unit_test(the_order_goes_on_beyond_32_bits_of_transactions),
		cmocka_unit_test(a_reply_belongs_to_one_of_the_transactions_2_to_the_32_apart),
		cmocka_unit_test(random_characters_fill_their_place_only),
		cmocka_unit_test(only_letters_change_their_case),
		cmocka_unit_test(the_key_is_the_id_of_a_response),
		cmocka_unit_test(a_right_answer_is_done_and_counted),
		cmocka_unit_test(a_captured_answer_of_knot_is_done),
		cmocka_unit_test(every_rcode_is_done_without_expect_and_counted_by_name),
		cmocka_unit_test(foreign_replies_are_stray_and_not_counted),
		cmocka_unit_test(a_shorter_or_longer_question_is_stray),
		cmocka_unit_test(the_case_of_the_name_does_not_matter_by_default),
		cmocka_unit_test(with_0x20_the_case_must_be_as_sent),
		cmocka_unit_test(a_reply_cut_anywhere_is_malformed_and_not_counted),
		cmocka_unit_test(what_is_not_plain_is_not_taken_for_it),
		cmocka_unit_test(truncation_is_counted),
		cmocka_unit_test(errors_but_nxdomain_need_no_question),
		cmocka_unit_test(two_questions_are_malformed),
		cmocka_unit_test(trailing_bytes_are_counted),
		cmocka_unit_test(edns_is_refused_without_opt_or_with_formerr),
		cmocka_unit_test(replies_are_counted_by_size_up_to_64_kib),
		cmocka_unit_test(without_edns_512_bytes_are_the_limit),
		cmocka_unit_test(each_query_has_the_rules_of_its_own_opt),
		cmocka_unit_test(the_subnet_of_a_line_must_come_back_if_one_does),
		cmocka_unit_test(a_query_of_another_class_is_answered_in_it),
		cmocka_unit_test(the_answers_are_held_against_expect),
		cmocka_unit_test(expect_without_rcode_takes_all_rcodes),
		cmocka_unit_test(client_cookies_are_sent_one_per_client),
		cmocka_unit_test(server_cookies_are_learnt_per_client_and_sent_back),
		cmocka_unit_test(badcookie_is_asked_again_once_with_the_new_cookie),
		cmocka_unit_test(badcookie_without_a_cookie_fails),
		cmocka_unit_test(replies_with_a_foreign_or_impossible_cookie_are_dropped),
		cmocka_unit_test(the_client_subnet_must_be_ours_if_it_is_there),
		cmocka_unit_test(no_answer_is_a_loss),
	};

	log_set_level(LOG_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
