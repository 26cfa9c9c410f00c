// SPDX-License-Identifier: BSD-3-Clause
// Keys and records against the trace of RFC 8448 section 3: secrets of the application, keys made
// from them, and the records of both directions.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "crypt/keys.h"
#include "crypt_text.h"

struct direction {
	const char *secret, *key, *iv;
	uint64_t seq; // of the record of data
	const char *data, *alert;
} client = {
	"9e40646ce79a7f9dc05af8889bce6552875afa0b06df0087f792ebb7c17504a5",
	"17422dda596ed5d9acd890e3c63f5051",
	"5b78923dee08579033e523d9",
	0,
	"1703030043a23f7054b62c94d0affafe8228ba55cbefacea42f914aa66bcab3f2b9819a8a5b46b39"
	"5bd54a9a20441e2b62974e1f5a6292a2977014bd1e3deae63aeebb21694915e4",
	"1703030013c9872760655666b74d7ff1153efd6db6d0b0e3",
};

static const struct direction server = {
	"a11af9f05531f856ad47116b45a950328204b4f44bfb6b3a4b4f1f3fcb631643",
	"9f02283b6c9c07efc26bb9f2ac92e356",
	"cf782b88dd83549aadf1e984",
	1,
	"17030300432e937e11ef4ac740e538ad36005fc4a46932fc3225d05f82aa1b36e30efaf97d90e6df"
	"fc602dcb501a59a8fcc49c4bf2e5f0a21c0047c2abf332540dd032e167c2955d",
	"1703030013b58fd67166ebf599d24720cfbe7efa7a8864a9",
};

static struct record_way way_of(const struct direction *d)
{
	uint8_t secret[KEYS_SECRET_MOST];
	struct record_way w;

	from_hex(d->secret, secret);
	keys_way(&w, RECORD_AES_128_GCM, secret, 1);
	w.seq = d->seq;
	return w;
}

static void the_keys_of_rfc_8448(void **state)
{
	const struct direction *both[] = {&client, &server};
	uint8_t bytes[32];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct record_way w = way_of(both[i]);

		from_hex(both[i]->key, bytes);
		assert_memory_equal(w.key, bytes, 16);
		from_hex(both[i]->iv, bytes);
		assert_memory_equal(w.iv, bytes, 12);
	}
}

static void the_records_of_rfc_8448(void **state)
{
	const struct direction *both[] = {&client, &server};
	struct record_cache *cache = cache_of(4);
	static const uint8_t close_notify[] = {1, 0};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct record_way seal = way_of(both[i]), open = seal;
		uint8_t expected[100], made[100] = {0};
		struct record_opened out;
		uint32_t len = from_hex(both[i]->data, expected);

		seal.id = open.id = i + 1;
		for (uint8_t n = 0; n < 50; n++)
			made[RECORD_HEADER + n] = n;
		assert_int_equal(record_seal(cache, &seal, RECORD_DATA, made, 50), len);
		assert_memory_equal(made, expected, len);
		assert_int_equal(record_open(cache, &open, made, len, &out), RECORD_OK);
		assert_int_equal(out.type, RECORD_DATA);
		assert_int_equal(out.len, 50);
		assert_int_equal(out.content[49], 49);

		memcpy(made + RECORD_HEADER, close_notify, 2);
		len = from_hex(both[i]->alert, expected);
		assert_int_equal(record_seal(cache, &seal, RECORD_ALERT, made, 2), len);
		assert_memory_equal(made, expected, len);
		assert_int_equal(record_open(cache, &open, made, len, &out), RECORD_OK);
		assert_int_equal(out.type, RECORD_ALERT);
		assert_memory_equal(out.content, close_notify, 2);
	}
	assert_int_equal(record_cache_expansions(cache), 2);
	free(cache);
}

// RFC 9001 appendix A.1: the same labels with other names.
static void the_keys_of_rfc_9001(void **state)
{
	uint8_t secret[32], made[32], expected[32];

	(void)state;
	from_hex("c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea", secret);
	keys_expand_label(RECORD_AES_128_GCM, secret, "quic key", made, 16);
	from_hex("1f369613dd76d5467730efcbe3b1a22d", expected);
	assert_memory_equal(made, expected, 16);
	keys_expand_label(RECORD_AES_128_GCM, secret, "quic iv", made, 12);
	from_hex("fa044b2f42a3fd3b46fb255c", expected);
	assert_memory_equal(made, expected, 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_keys_of_rfc_8448),
		cmocka_unit_test(the_records_of_rfc_8448),
		cmocka_unit_test(the_keys_of_rfc_9001),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
