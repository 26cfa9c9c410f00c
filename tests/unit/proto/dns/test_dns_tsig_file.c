// SPDX-License-Identifier: BSD-3-Clause
// Files of keys in their three forms, with mistakes, and that no error quotes a secret. Path: tests
// only.

#include "dns_fixture.h"

#include <errno.h>
#include <unistd.h>

#include "proto/dns/client/dns_tsig_file.h"

#define SECRET "MTIzNDU2Nzg5MDEyMzQ1Ng==" // 1234567890123456

// As tsig-keygen of BIND 9.18 and keymgr -t of Knot 3.2 write them.
#define BIND "key \"t.example\" {\n\talgorithm hmac-sha512;\n\tsecret \"" SECRET "\";\n};\n"
#define KNOT                                                                                       \
	"# hmac-sha384:t.example:" SECRET "\nkey:\n- id: t.example\n  algorithm: hmac-sha384\n"    \
	"  secret: " SECRET "\n"
#define NAMED                                                                                      \
	"// a key of another server\nkey rndc-key { secret \"AAAA\"; algorithm HMAC-MD5; };\n"     \
	"/* key x { */ controls { inet 127.0.0.1 allow { any; } keys { rndc-key; }; };\n"          \
	"zone \"a\" { type primary; allow-update { key t.example; }; }; # key y {\n" BIND
#define KNOTD                                                                                      \
	"server:\n    listen: 127.0.0.1@53\nacl:\n  - id: acl1\n    key: t.example\n"              \
	"    secret: none\n" KNOT "  - id: other.\n    algorithm: hmac-sha1\n    secret: 'AAAA'\n" \
	"zone:\n  - domain: example.com\n"

static void read_right(const char *text, const char *name, const char *algorithm)
{
	struct dns_tsig_secret secret;
	const char *reason;
	char *exact = malloc(strlen(text));

	memcpy(exact, text, strlen(text));
	if (!dns_tsig_file_parse(exact, strlen(text), name, &secret, &reason))
		fail_msg("%s: %s", text, reason);
	free(exact);
	assert_int_equal(secret.len, 16);
	assert_memory_equal(secret.bytes, "1234567890123456", 16);
	if (algorithm)
		assert_string_equal(secret.algorithm->name, algorithm);
	else
		assert_null(secret.algorithm);
}

static void keys_of_bind_and_knot_are_read(void **state)
{
	read_right(BIND, NULL, "hmac-sha512");
	read_right(KNOT, NULL, "hmac-sha384");
	read_right(BIND, "T.Example.", "hmac-sha512");
	read_right(NAMED, "t.example", "hmac-sha512");
	read_right(KNOTD, "t.example", "hmac-sha384");
	read_right("key k { algorithm hmac-md5.sig-alg.reg.int.; secret " SECRET "; };", NULL,
		"hmac-md5");
	read_right("key:\n  - id: \"k\"\n    secret: \"" SECRET "\" # c\n", "k", NULL);
}

static void a_secret_alone_has_the_name_of_the_settings(void **state)
{
	read_right(SECRET, "k", NULL);
	read_right("  MTIzNDU2Nzg5\r\nMDEyMzQ1Ng== \n", "k", NULL);
}

static void mistakes_are_told_without_the_secret(void **state)
{
	static const struct {
		const char *text, *name, *reason;
	} cases[] = {
		{"", NULL, "no key at all"},
		{"", "k", "not base64"},
		{SECRET, NULL, "set name"},
		{"MTIz!", "k", "not base64"},
		{"MTIzN", "k", "not base64"},
		{"key k { secret \"MTIz!\"; };", NULL, "not base64"},
		{"key k { algorithm hmac-sha3; secret \"" SECRET "\"; };", NULL, "not known"},
		{"key k { algorithm hmac-sha1; };", NULL, "has no secret"},
		{"key k { algorithm hmac-sha1; secret \"" SECRET "\";", NULL, "not closed"},
		{"zone x { };", NULL, "no key in it"},
		{NAMED, NULL, "several keys"},
		{NAMED, "k", "no key of that name"},
		{KNOTD, NULL, "several keys"},
		{"key:\n  - id: k\n    algorithm: hmac-sha1\n", NULL, "has no secret"},
		{"key:\n  - id:\n    secret: " SECRET "\n", NULL, "no name"},
		{"acl:\n  - id: k\n    secret: " SECRET "\n", NULL, "no key in it"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dns_tsig_secret secret;
		const char *reason;

		if (dns_tsig_file_parse(
			    cases[i].text, strlen(cases[i].text), cases[i].name, &secret, &reason))
			fail_msg("taken: %s", cases[i].text);
		if (!strstr(reason, cases[i].reason))
			fail_msg("%s: %s", cases[i].text, reason);
		assert_null(strstr(reason, "MTIz"));
	}
}

static void no_secret_is_too_long_for_its_room(void **state)
{
	char text[1200];
	struct dns_tsig_secret secret;
	const char *reason;
	bool taken = true;

	for (size_t len = 4; len < sizeof(text); len += 4) {
		memset(text, 'A', len);
		if (dns_tsig_file_parse(text, len, "k", &secret, &reason))
			assert_int_equal(secret.len, len / 4 * 3);
		else
			assert_true(len > DNS_TSIG_SECRET_MAX);
		taken = len <= 512;
	}
	assert_false(taken);
}

static void the_settings_decide_what_the_file_leaves_open(void **state)
{
	char path[] = "/tmp/ddiperf-key-XXXXXX";
	int fd = mkstemp(path);
	struct dns_key_settings s = {.secret_file = path, .name = "k", .fudge_ns = 5000000000};
	struct diag *d = diag_new();
	struct dns_tsig_key key;

	assert_int_equal(write(fd, SECRET, strlen(SECRET)), strlen(SECRET));
	close(fd);
	assert_int_equal(dns_tsig_key_load(&key, &s, d), 0);
	assert_string_equal(key.algorithm->name, "hmac-sha256");
	assert_int_equal(key.fudge, 5);
	s.algorithm = 6;
	assert_int_equal(dns_tsig_key_load(&key, &s, d), 0);
	assert_string_equal(key.algorithm->name, "hmac-sha512");
	assert_int_equal(dns_tsig_record_len(&key), 3 + 10 + 13 + 16 + 64);
	s.name = "a..b";
	assert_int_equal(dns_tsig_key_load(&key, &s, d), -EINVAL);
	assert_diag_has(d, "is not a domain name");
	s.name = NULL;
	assert_int_equal(dns_tsig_key_load(&key, &s, d), -EINVAL);
	assert_diag_has(d, "a secret alone");
	unlink(path);
	assert_int_equal(dns_tsig_key_load(&key, &s, d), -EINVAL);
	assert_diag_has(d, "No such file");
	diag_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_of_bind_and_knot_are_read),
		cmocka_unit_test(a_secret_alone_has_the_name_of_the_settings),
		cmocka_unit_test(mistakes_are_told_without_the_secret),
		cmocka_unit_test(no_secret_is_too_long_for_its_room),
		cmocka_unit_test(the_settings_decide_what_the_file_leaves_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
