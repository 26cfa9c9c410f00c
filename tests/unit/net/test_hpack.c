// SPDX-License-Identifier: BSD-3-Clause
// Header blocks of nghttp2 and of RFC 7541 appendix C are read; nghttp2 and this reader agree on
// random blocks, tables and sizes, octet by octet; what is wrong is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <nghttp2/nghttp2.h>

#include "base/rand.h"
#include "net/hpack.h"

#define MEDIA     "application/dns-message"
#define BLOCK_MAX 65536
#define PATH_MOST 600
#define ROUNDS    400 // random tables

static uint8_t scratch[2 * HPACK_TEXT];
static struct rand state;

static uint32_t below(uint32_t n)
{
	return (uint32_t)(rand_next(&state) % n);
}

static struct hpack *table(uint32_t limit, bool texts)
{
	// Allocated to the octet, for the sanitizer to watch its end.
	struct hpack *h = malloc(hpack_bytes(limit, texts));

	assert_non_null(h);
	hpack_init(h, limit, texts);
	return h;
}

static struct hpack_block block_of(struct hpack *h, const uint8_t *bytes, size_t len)
{
	return (struct hpack_block){.table = h,
		.at = bytes,
		.end = bytes + len,
		.media = MEDIA,
		.media_len = sizeof(MEDIA) - 1,
		.scratch = scratch};
}

static size_t from_hex(const char *text, uint8_t *to)
{
	size_t n = 0;
	unsigned octet;

	for (; *text; text += 2) {
		while (*text == ' ')
			text++;
		assert_int_equal(sscanf(text, "%2x", &octet), 1);
		to[n++] = (uint8_t)octet;
	}
	return n;
}

// Reads a block to its end. Returns what the last call returned.
static int read_all(struct hpack *h, const uint8_t *bytes, size_t len)
{
	struct hpack_block b = block_of(h, bytes, len);
	struct hpack_field f;
	int got;

	while ((got = hpack_next(&b, &f)) == 1) {
	}
	return got;
}

static int read_hex(struct hpack *h, const char *text)
{
	uint8_t bytes[256], *exact;
	size_t len = from_hex(text, bytes);
	int got;

	exact = malloc(len ? len : 1); // the sanitizer watches its end
	assert_non_null(exact);
	memcpy(exact, bytes, len);
	got = read_all(h, exact, len);
	free(exact);
	return got;
}

// --- the oracle

static nghttp2_nv nv(const char *name, size_t name_len, const uint8_t *value, size_t len)
{
	return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, name_len, len,
		(uint8_t)(below(4) ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX)};
}

// What a field means.
static uint32_t meaning(
	const char *name, size_t name_len, const uint8_t *v, size_t len, uint32_t *code)
{
	static const char media[] = MEDIA;
	char text[4] = "";

	*code = 0;
	if (name_len == 7 && memcmp(name, ":status", 7) == 0) {
		if (len == 3)
			memcpy(text, v, 3);
		if (strspn(text, "0123456789") == 3)
			*code = (uint32_t)atoi(text);
		return HPACK_STATUS;
	}
	if (name_len == 12 && memcmp(name, "content-type", 12) == 0) {
		size_t n = sizeof(media) - 1;

		*code = len >= n && memcmp(v, media, n) == 0 &&
		        (len == n || v[n] == ';' || v[n] == ' ');
		return HPACK_CONTENT_TYPE;
	}
	if (name_len == 7 && memcmp(name, ":method", 7) == 0) {
		*code = len == 3 && memcmp(v, "GET", 3) == 0    ? HPACK_GET
		        : len == 4 && memcmp(v, "POST", 4) == 0 ? HPACK_POST
		                                                : HPACK_METHOD_OTHER;
		return HPACK_METHOD;
	}
	if (name_len == 14 && memcmp(name, "content-length", 14) == 0) {
		unsigned long long n = 0;
		size_t digits = 0;

		for (; digits < len && v[digits] >= '0' && v[digits] <= '9' && n < UINT32_MAX;)
			n = 10 * n + (v[digits++] - '0');
		*code = n >= UINT32_MAX ? UINT32_MAX : len && digits == len ? (uint32_t)n + 1 : 0;
		return HPACK_LENGTH;
	}
	return name_len == 5 && memcmp(name, ":path", 5) == 0 ? HPACK_PATH : HPACK_OTHER;
}

static void expect(const struct hpack_field *f, const char *name, size_t name_len,
	const uint8_t *value, size_t len, bool texts)
{
	uint32_t code, which = meaning(name, name_len, value, len, &code);

	assert_int_equal(f->name, which);
	if (which != HPACK_PATH && which != HPACK_OTHER)
		assert_int_equal(f->code, code);
	if (which != HPACK_PATH || !texts)
		return;
	assert_int_equal(f->len, len);
	assert_memory_equal(f->text, value, len);
}

// --- tests

static void every_octet_of_a_compressed_string_is_read(void **unused)
{
	nghttp2_hd_deflater *d;
	uint8_t value[64], block[BLOCK_MAX];
	struct hpack *h = table(4096, true);

	(void)unused;
	assert_int_equal(nghttp2_hd_deflate_new(&d, 4096), 0);
	for (uint32_t octet = 0; octet < 256; octet++)
		for (uint32_t at = 0; at < 20; at++) {
			const nghttp2_nv one = nv(":path", 5, value, 40);
			struct hpack_block b;
			struct hpack_field f;
			ssize_t len;

			memset(value, 'a', 40); // 5 bits each, so that the string is compressed
			value[at] = (uint8_t)octet;
			value[at + 3] = (uint8_t)octet;
			len = nghttp2_hd_deflate_hd(d, block, sizeof(block), &one, 1);
			assert_true(len > 0 && len < 40);
			b = block_of(h, block, (size_t)len);
			assert_int_equal(hpack_next(&b, &f), 1);
			expect(&f, ":path", 5, value, 40, true);
			assert_int_equal(hpack_next(&b, &f), 0);
		}
	nghttp2_hd_deflate_del(d);
	free(h);
}

static void compressed_strings_of_any_length_are_padded(void **unused)
{
	nghttp2_hd_deflater *d;
	uint8_t value[PATH_MOST], block[BLOCK_MAX];
	struct hpack *h = table(4096, true);

	(void)unused;
	state = (struct rand){7};
	assert_int_equal(nghttp2_hd_deflate_new(&d, 4096), 0);
	for (uint32_t len = 0; len < PATH_MOST; len++) {
		const nghttp2_nv one = nv(":path", 5, value, len);
		struct hpack_block b;
		struct hpack_field f;
		ssize_t n;

		for (uint32_t i = 0; i < len; i++)
			value[i] = (uint8_t) " 019aeiostxyzABC/?=&%-_"[below(23)];
		n = nghttp2_hd_deflate_hd(d, block, sizeof(block), &one, 1);
		assert_true(n > 0);
		b = block_of(h, block, (size_t)n);
		assert_int_equal(hpack_next(&b, &f), 1);
		expect(&f, ":path", 5, value, len, true);
		assert_int_equal(hpack_next(&b, &f), 0);
	}
	nghttp2_hd_deflate_del(d);
	free(h);
}

struct example {
	const char *hex;
	uint32_t size; // of the table, behind it
	uint32_t status, method;
	const char *path;
};

static void check_examples(uint32_t limit, const struct example *all, size_t count)
{
	struct hpack *h = table(limit, true);

	for (size_t i = 0; i < count; i++) {
		uint8_t bytes[256];
		struct hpack_block b = block_of(h, bytes, from_hex(all[i].hex, bytes));
		struct hpack_field f;
		uint32_t status = 0, method = 0;
		char path[64] = "";
		int got;

		while ((got = hpack_next(&b, &f)) == 1) {
			status = f.name == HPACK_STATUS ? f.code : status;
			method = f.name == HPACK_METHOD ? f.code : method;
			if (f.name == HPACK_PATH)
				snprintf(path, sizeof(path), "%.*s", (int)f.len,
					(const char *)f.text);
		}
		assert_int_equal(got, 0);
		assert_int_equal(h->size, all[i].size);
		assert_int_equal(status, all[i].status);
		assert_int_equal(method, all[i].method);
		assert_string_equal(path, all[i].path);
	}
	free(h);
}

static void the_examples_of_rfc_7541_are_read(void **unused)
{
	static const struct example single[] = {
		{"400a637573746f6d2d6b65790d637573746f6d2d686561646572", 55, 0, 0, ""},
		{"040c2f73616d706c652f70617468", 55, 0, 0, "/sample/path"},
		{"100870617373776f726406736563726574", 55, 0, 0, ""},
		{"82", 55, 0, HPACK_GET, ""},
	};
	static const struct example plain[] = {
		{"828684410f7777772e6578616d706c652e636f6d", 57, 0, HPACK_GET, "/"},
		{"828684be58086e6f2d6361636865", 110, 0, HPACK_GET, "/"},
		{"828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565", 164, 0, HPACK_GET,
			"/index.html"},
	};
	static const struct example packed[] = {
		{"828684418cf1e3c2e5f23a6ba0ab90f4ff", 57, 0, HPACK_GET, "/"},
		{"828684be5886a8eb10649cbf", 110, 0, HPACK_GET, "/"},
		{"828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf", 164, 0, HPACK_GET,
			"/index.html"},
	};
	static const struct example answers[] = {
		{"4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a"
		 "323120474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d",
			222, 302, 0, ""},
		{"4803333037c1c0bf", 222, 307, 0, ""},
		{"88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a6970"
		 "7738666f6f3d4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d61"
		 "67653d333630303b2076657273696f6e3d31",
			215, 200, 0, ""},
	};
	static const struct example packed_answers[] = {
		{"488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad"
		 "171863c78f0b97c8e9ae82ae43d3",
			222, 302, 0, ""},
		{"4883640effc1c0bf", 222, 307, 0, ""},
		{"88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2"
		 "e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
			215, 200, 0, ""},
	};

	(void)unused;
	check_examples(4096, single, 4);
	check_examples(4096, plain, 3);
	check_examples(4096, packed, 3);
	check_examples(256, answers, 3);
	check_examples(256, packed_answers, 3);
}

static void integers_end_where_they_should(void **unused)
{
	struct hpack *h = table(4096, true);
	uint8_t bytes[8];
	struct writer w;

	(void)unused;
	// Appendix C.1, and back.
	w = writer_of(bytes, sizeof(bytes));
	hpack_put_int(&w, 0x20, 5, 1337);
	assert_int_equal(w.at - bytes, 3);
	assert_memory_equal(bytes, "\x3f\x9a\x0a", 3);
	w = writer_of(bytes, sizeof(bytes));
	hpack_put_int(&w, 0, 5, 10);
	hpack_put_int(&w, 0, 8, 42);
	assert_memory_equal(bytes, "\x0a\x2a", 2);
	for (uint32_t value = 0; value <= 4096; value++) {
		w = writer_of(bytes, sizeof(bytes));
		hpack_put_int(&w, 0x20, 5, value);
		assert_int_equal(read_all(h, bytes, (size_t)(w.at - bytes)), 0);
		assert_int_equal(h->most, value);
	}
	free(h);
}

static void wrong_blocks_are_refused(void **unused)
{
	static const char *const wrong[] = {
		"80",                                           // index 0
		"be", "ffff7f",                                 // an index behind the table
		"ff", "ff80", "3f",                             // an integer that is cut
		"ffffffffffff7f",                               // one that is too large
		"3fffffffffff",                                 // size of the table
		"3fe21f",                                       // beyond the limit
		"8220", "82203f",                               // not in front
		"40", "00", "10", "4001", "400161", "40016102", // cut
		"0f", "0f10", "7e", "0fff7f00",                 // name by an index
		"7f00",                                         // the entry 63 as a name
		"04", "0405", "047f", "04ff", "047fffffff7f",
		"0484ffffffff",     // EOS
		"0481fe", "048180", // padding of zeros
		"0482ffff",         // padding of 16 bits
		"0481ff",           // of 8
		"04820fff",         // '1' and 11 bits
		"008161",           // a name with wrong padding
	};
	struct hpack *h = table(4096, true);

	(void)unused;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (strlen(wrong[i]) % 2 == 0 && read_hex(h, wrong[i]) != -1)
			fail_msg("%s", wrong[i]);
	assert_int_equal(h->size, 0);
	assert_int_equal(read_hex(h, ""), 0);
	assert_int_equal(read_hex(h, "20"), 0);
	assert_int_equal(read_hex(h, "203fe11f"), 0);
	assert_int_equal(read_hex(h, "0480"), 0);   // an empty string, compressed
	assert_int_equal(read_hex(h, "04811f"), 0); // 'a', three bits of padding
	free(h);
}

static void a_string_that_is_too_long_is_refused(void **unused)
{
	static uint8_t bytes[2 * HPACK_TEXT + 64];
	struct hpack *h = table(4096, true);

	(void)unused;
	for (uint32_t packed = 0; packed < 2; packed++)
		for (uint32_t more = 0; more < 2; more++) {
			// The letter a has 5 bits: eight of them are 5 octets.
			uint32_t len = packed ? HPACK_TEXT / 8 * 5 : HPACK_TEXT;
			struct writer w = writer_of(bytes, sizeof(bytes));

			write_u8(&w, 4);
			hpack_put_int(&w, packed ? 0x80 : 0, 7, len + more);
			for (uint32_t i = 0; i < len + more; i++)
				write_u8(
					&w, packed ? (uint8_t) "\x18\xc6\x31\x8c\x63"[i % 5] : 'a');
			if (packed && more)
				w.at[-1] = 0x1f;
			assert_int_equal(read_all(h, bytes, (size_t)(w.at - bytes)), more ? -1 : 0);
		}
	free(h);
}

static const char *const names[] = {":status", "content-type", ":method", ":path", "x", "server",
	"content-length", "a-name-that-is-not-in-the-table", ""};

static uint32_t random_value(uint32_t which, uint8_t *to)
{
	static const char *const usual[] = {"200", "404", "2000", "20x", "599", MEDIA,
		MEDIA "; x=y", MEDIA "s", "text/html", "GET", "POST", "PUT", "get", ""};
	uint32_t len;

	if (which < 3 && below(4)) {
		const char *text = usual[below(sizeof(usual) / sizeof(usual[0]))];

		memcpy(to, text, strlen(text));
		return (uint32_t)strlen(text);
	}
	len = below(5) ? below(60) : below(PATH_MOST);
	for (uint32_t i = 0; i < len; i++)
		to[i] = (uint8_t)(below(3) ? 'a' + below(26) : below(256));
	return len;
}

static void what_nghttp2_writes_is_read(void **unused)
{
	static uint8_t values[16][PATH_MOST], block[BLOCK_MAX];

	(void)unused;
	state = (struct rand){11};
	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint32_t limit = below(4) ? 4096 : below(4097), blocks = below(30);
		bool texts = round % 2;
		struct hpack *h = table(limit, texts);
		nghttp2_hd_deflater *d;

		assert_int_equal(nghttp2_hd_deflate_new(&d, limit), 0);
		while (blocks--) {
			nghttp2_nv list[16];
			uint32_t count = below(16);
			struct hpack_block b;
			struct hpack_field f;
			ssize_t len;

			if (below(4) == 0)
				nghttp2_hd_deflate_change_table_size(d, below(limit + 1));
			for (uint32_t i = 0; i < count; i++) {
				uint32_t which = below(sizeof(names) / sizeof(names[0]));

				list[i] = nv(names[which], strlen(names[which]), values[i], 0);
				list[i].valuelen = random_value(which, values[i]);
			}
			len = nghttp2_hd_deflate_hd(d, block, sizeof(block), list, count);
			assert_true(len >= 0);
			b = block_of(h, block, (size_t)len);
			for (uint32_t i = 0; i < count; i++) {
				assert_int_equal(hpack_next(&b, &f), 1);
				expect(&f, (const char *)list[i].name, list[i].namelen,
					list[i].value, list[i].valuelen, texts);
			}
			assert_int_equal(hpack_next(&b, &f), 0);
			assert_int_equal(h->size, nghttp2_hd_deflate_get_dynamic_table_size(d));
			assert_int_equal(
				h->count, nghttp2_hd_deflate_get_num_table_entries(d) - 61);
		}
		nghttp2_hd_deflate_del(d);
		free(h);
	}
}

// Writes a field in any of the ways there are.
static void random_field(struct writer *w, uint32_t entries)
{
	static const struct {
		uint8_t first, bits;
	} ways[] = {{0x40, 6}, {0x40, 6}, {0x00, 4}, {0x10, 4}};
	uint32_t way = below(4), which = below(sizeof(names) / sizeof(names[0])), len;
	uint8_t value[PATH_MOST];

	if (below(3) == 0) {
		hpack_put_int(w, 0x80, 7, 1 + below(entries));
		return;
	}
	if (below(2)) {
		hpack_put_int(w, ways[way].first, ways[way].bits, 1 + below(entries));
		which = below(4);
	} else {
		hpack_put_int(w, ways[way].first, ways[way].bits, 0);
		hpack_put_text(w, names[which], (uint32_t)strlen(names[which]));
	}
	len = random_value(which, value);
	hpack_put_text(w, (const char *)value, len);
}

// Compares a block with what nghttp2 reads of it. Returns false if both refuse it.
static bool check_same(struct hpack *h, nghttp2_hd_inflater *i, const uint8_t *bytes, size_t len)
{
	struct hpack_block b = block_of(h, bytes, len);
	const uint8_t *at = bytes;
	struct hpack_field f;
	int got = 1;

	for (;;) {
		nghttp2_nv one;
		int flags = 0;
		ssize_t n =
			nghttp2_hd_inflate_hd2(i, &one, &flags, at, (size_t)(bytes + len - at), 1);

		if (n < 0) {
			while (got == 1)
				got = hpack_next(&b, &f);
			assert_int_equal(got, -1);
			return false;
		}
		at += n;
		if (flags & NGHTTP2_HD_INFLATE_FINAL)
			break;
		if (flags & NGHTTP2_HD_INFLATE_EMIT) {
			got = hpack_next(&b, &f);
			assert_int_equal(got, 1);
			expect(&f, (const char *)one.name, one.namelen, one.value, one.valuelen,
				h->texts);
		}
	}
	nghttp2_hd_inflate_end_headers(i);
	assert_int_equal(hpack_next(&b, &f), 0);
	assert_int_equal(h->size, nghttp2_hd_inflate_get_dynamic_table_size(i));
	assert_int_equal(h->count, nghttp2_hd_inflate_get_num_table_entries(i) - 61);
	return true;
}

static void random_blocks_mean_what_nghttp2_reads(void **unused)
{
	static uint8_t block[BLOCK_MAX];
	uint32_t wrong = 0, right = 0;

	(void)unused;
	state = (struct rand){13};
	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint32_t limit = below(3) ? 4096 : below(4097), blocks = 1 + below(60);
		struct hpack *h = table(limit, round % 4 != 0);
		bool goes_on = true;
		nghttp2_hd_inflater *i;

		assert_int_equal(nghttp2_hd_inflate_new(&i), 0);
		assert_int_equal(nghttp2_hd_inflate_change_table_size(i, limit), 0);
		while (blocks-- && goes_on) {
			struct writer w = writer_of(block, sizeof(block));
			uint32_t fields = below(8), len;
			uint8_t *exact;

			// nghttp2 wants the size announced that it was told.
			if (below(4) == 0 || (h->count == 0 && limit < 4096))
				hpack_put_int(&w, 0x20, 5, below(3) ? limit : below(limit + 1));
			for (uint32_t n = 0; n < fields; n++)
				random_field(
					&w, (uint32_t)nghttp2_hd_inflate_get_num_table_entries(i));
			assert_false(w.failed);
			len = (uint32_t)(w.at - block);
			if (len && below(20) == 0)
				block[below(len)] ^= (uint8_t)(1 << below(8));
			if (len && below(20) == 0)
				len = below(len);
			exact = malloc(len + 1);
			assert_non_null(exact);
			memcpy(exact, block, len);
			goes_on = check_same(h, i, exact, len);
			free(exact);
			right += goes_on;
			wrong += !goes_on;
		}
		nghttp2_hd_inflate_del(i);
		free(h);
	}
	assert_true(wrong > ROUNDS / 10 && right > ROUNDS);
}

static void paths_in_the_table_stay_as_they_are(void **unused)
{
	(void)unused;
	state = (struct rand){17};
	for (uint32_t limit = 38; limit <= 4096; limit += below(400)) {
		char paths[128][PATH_MOST];
		struct hpack *h = table(limit, true);
		uint32_t newest = 0, longest = limit - 37 < PATH_MOST ? limit - 37 : PATH_MOST - 1;

		for (uint32_t n = 0; n < 3000; n++) {
			uint32_t len = below(4) ? below(longest + 1) : longest;
			uint8_t bytes[PATH_MOST + 8];
			struct writer w = writer_of(bytes, sizeof(bytes));

			newest = (newest + 1) % 128;
			memset(paths[newest], 'a' + (int)below(26), len);
			paths[newest][len] = '\0';
			write_u8(&w, 0x44);
			hpack_put_text(&w, paths[newest], len);
			assert_int_equal(read_all(h, bytes, (size_t)(w.at - bytes)), 0);
			for (uint32_t i = 0; i < h->count; i++) {
				const uint8_t index = (uint8_t)(0x80 | (62 + i));
				const char *want = paths[(newest - i) % 128];
				struct hpack_block b = block_of(h, &index, 1);
				struct hpack_field f;

				if (62 + i >= 127)
					break;
				assert_int_equal(hpack_next(&b, &f), 1);
				assert_int_equal(f.name, HPACK_PATH);
				assert_int_equal(f.len, strlen(want));
				assert_memory_equal(f.text, want, f.len);
			}
		}
		free(h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_octet_of_a_compressed_string_is_read),
		cmocka_unit_test(compressed_strings_of_any_length_are_padded),
		cmocka_unit_test(the_examples_of_rfc_7541_are_read),
		cmocka_unit_test(integers_end_where_they_should),
		cmocka_unit_test(wrong_blocks_are_refused),
		cmocka_unit_test(a_string_that_is_too_long_is_refused),
		cmocka_unit_test(what_nghttp2_writes_is_read),
		cmocka_unit_test(random_blocks_mean_what_nghttp2_reads),
		cmocka_unit_test(paths_in_the_table_stay_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
