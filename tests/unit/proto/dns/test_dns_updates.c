// SPDX-License-Identifier: BSD-3-Clause
// Updates from text to wire: compared with messages that dnspython made, errors with their places,
// patterns and names that are compressed to one place. Path: tests only.

#include "proto/dns/dns.h"
#include "dns_fixture.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "proto/dns/client/dns_updates.h"

struct loaded {
	struct dns_queries q;
	struct diag *d;
	int rc;
};

static struct loaded load(const char *text, uint32_t limit)
{
	struct loaded l = {.d = diag_new()};

	l.rc = dns_updates_load_text(&l.q, limit, "u.txt", text, strlen(text), &l, l.d);
	return l;
}

static void loaded_free(struct loaded *l)
{
	dns_queries_free(&l->q);
	diag_free(l->d);
}

static void assert_message(const struct dns_queries *q, uint32_t i, const char *hex)
{
	uint8_t wire[4096];
	uint32_t len = from_hex(hex, wire);
	const uint8_t *entry = q->blob + q->offsets[i] + sizeof(struct dns_whole);

	assert_int_equal(q->offsets[i + 1] - q->offsets[i] - sizeof(struct dns_whole), len - 2);
	assert_memory_equal(entry, wire + 2, len - 2);
}

static void assert_error(const char *text, const char *error)
{
	struct loaded l = load(text, 512);

	assert_int_equal(l.rc, -EINVAL);
	assert_diag_has(l.d, error);
	loaded_free(&l);
}

// update.UpdateMessage of dnspython 2.7, to_wire.
static void messages_are_those_of_dnspython(void **state)
{
	struct loaded l =
		load("example.com\n"
		     "require a\nrequire b A\nrequire c A 192.0.2.1\nprohibit d\n"
		     "prohibit e TXT\nadd f 300 A 192.0.2.2\ndelete g\ndelete h AAAA\n"
		     "delete i TXT hello world\nsend\n"
		     "; another one\n\n"
		     "EXAMPLE.com.\n  ADD\twww  60 A 10.0.0.1\r\n"
		     "add www 60 MX 10 mail.other.net.\ndelete www.EXAMPLE.com. A\nSend\n",
			512);

	assert_int_equal(l.rc, 0);
	assert_int_equal(l.q.count, 2);
	assert_true(l.q.whole);
	assert_message(&l.q, 0,
		"000028000001000500040000076578616d706c6503636f6d00000600010161c00c00ff00ff000000"
		"0000000162c00c000100ff0000000000000163c00c00010001000000000004c00002010164c00c00"
		"ff00fe0000000000000165c00c001000fe0000000000000166c00c000100010000012c0004c00002"
		"020167c00c00ff00ff0000000000000168c00c001c00ff0000000000000169c00c001000fe000000"
		"00000c0568656c6c6f05776f726c64");
	assert_message(&l.q, 1,
		"000028000001000000030000074558414d504c4503636f6d000006000103777777c00c0001000100"
		"00003c00040a000001c01d000f00010000003c0012000a046d61696c056f74686572036e657400c0"
		"1d000100ff000000000000");
	loaded_free(&l);
}

static void names_end_with_the_zone_unless_they_are_absolute(void **state)
{
	struct loaded l =
		load("z\nadd @ 1 NS x\nadd a.b. 1 A 0.0.0.1\nadd a.b.z 1 A 0.0.0.2\nsend\n", 512);

	assert_int_equal(l.rc, 0);
	assert_message(&l.q, 0,
		"00002800000100000003000001"
		"7a"
		"0000060001"
		"c00c"
		"0002"
		"0001"
		"00000001"
		"0005"
		"0178017a00"
		"0161016200"
		"0001"
		"0001"
		"00000001"
		"0004"
		"00000001"
		"01610162017ac00c"
		"0001"
		"0001"
		"00000001"
		"0004"
		"00000002");
	loaded_free(&l);
}

static void errors_name_their_place_and_remedy(void **state)
{
	assert_error("example.com\nadd a 1 A 1.2.3\nsend\n", "u.txt:2:11: ");
	assert_error("example.com\nadd a 1 A\nsend\n", "u.txt:2:10: no data after the type");
	assert_error("example.com\nadd a x A 1.2.3.4\nsend\n",
		"u.txt:2:7: not a TTL (0 to 2147483647 seconds): \"add a x A 1.2.3.4\"");
	assert_error("example.com\nadd a 2147483648 A 1.2.3.4\nsend\n", "u.txt:2:7: not a TTL");
	assert_error("example.com\nadd a 1 AAA 1.2.3.4\nsend\n", "u.txt:2:9: not a type");
	assert_error("example.com\nadd\nsend\n", "u.txt:2:4: no name after the command");
	assert_error("example.com\nrename a\nsend\n",
		"u.txt:2:1: not a command (require, prohibit, add, delete or send)");
	assert_error(
		"example.com\nprohibit a A 1.2.3.4\nsend\n", "u.txt:2:14: data after the type");
	assert_error("example.com\ndelete a\nrequire b\nsend\n",
		"u.txt:3:1: a prerequisite after an update (all of them stand before it)");
	assert_error("send\n", "u.txt:1:1: send without a message before it");
	assert_error("example.com\ndelete a\n", "u.txt:2:1: the last message has no send");
	assert_error("example.com more\nsend\n", "u.txt:1:12: a word after the name of the zone");
	assert_error("exa..mple\nsend\n", "u.txt:1:5: an empty label");
	assert_error("example.com\ndelete a..b\nsend\n", "u.txt:2:10: an empty label");
}

static void an_update_with_a_bad_line_is_left_out_on_demand(void **state)
{
	static const char text[] = "x\nadd a 60 A 192.0.2.1\nsend\n"
				   "x\nbogus\nadd b 60 B 1\nsend\n"
				   "x\nadd \0 60 A 192.0.2.1\nsend\n"
				   "a..b\nadd c 60 A 192.0.2.1\nsend\nsend\n"
				   "x\nadd d 60 A 192.0.2.1\n";
	static const struct dns_skip skip = {0};
	int fd = memfd_create("u.txt", 0);
	struct loaded l = {.d = diag_new()};
	char path[32];

	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	l.rc = dns_updates_load_file(&l.q, 512, &skip, path, &l, l.d);
	assert_int_equal(l.rc, 0);
	assert_int_equal(l.q.count, 1);
	assert_non_null(strstr(l.q.used, "1 of 6 updates of "));
	assert_non_null(strstr(l.q.used,
		"; left out: 1 not a command, 1 holds a NUL octet: not a text, 1 an empty label, "
		"1 send without a message before it, 1 the last message has no send (first: line "
		"5)"));
	loaded_free(&l);
	close(fd);
}

static void counts_go_beyond_a_byte(void **state)
{
	static char text[40000];
	size_t at = (size_t)sprintf(text, "example.com\n");
	struct loaded l;

	for (int i = 0; i < 300; i++)
		at += (size_t)sprintf(text + at, "prohibit p%d\n", i);
	for (int i = 0; i < 700; i++)
		at += (size_t)sprintf(text + at, "add h%d 60 A 10.0.%d.%d\n", i, i / 256, i % 256);
	sprintf(text + at, "send\n");
	l = load(text, UINT16_MAX);
	assert_int_equal(l.rc, 0);
	assert_int_equal(bytes_be16(l.q.blob + sizeof(struct dns_whole) + 4), 300);
	assert_int_equal(bytes_be16(l.q.blob + sizeof(struct dns_whole) + 6), 700);
	loaded_free(&l);
	assert_error(text, "the message is longer than a datagram may be");
}

static void a_message_may_be_as_long_as_the_limit(void **state)
{
	static const char text[] = "example.com\nadd h 60 A 10.0.0.1\nsend\n";
	struct loaded l = load(text, UINT16_MAX);
	uint32_t len;

	assert_int_equal(l.rc, 0);
	len = l.q.offsets[1] - l.q.offsets[0] - (uint32_t)sizeof(struct dns_whole) + 2;
	loaded_free(&l);
	l = load(text, len);
	assert_int_equal(l.rc, 0);
	loaded_free(&l);
	l = load(text, len - 1);
	assert_int_equal(l.rc, -EINVAL);
	loaded_free(&l);
}

static int load_inline(struct loaded *l, const char *text)
{
	const struct field_list texts = {&text, 1};

	*l = (struct loaded){.d = diag_new()};
	l->rc = dns_updates_load_texts(&l->q, 512, &texts, l->d);
	return l->rc;
}

static void numbers_of_the_same_text_are_one(void **state)
{
	struct loaded l;

	assert_int_equal(load_inline(&l, "z\nprohibit h{0-2}\nadd h{0-2} 1 A 10.0.{0-1}.{0-2}"), 0);
	assert_int_equal(l.q.count, 6);
	assert_message(&l.q, 0,
		"00002800000100010001000001"
		"7a"
		"0000060001"
		"026830c00c"
		"00ff"
		"00fe"
		"00000000"
		"0000"
		"c013"
		"0001"
		"0001"
		"00000001"
		"0004"
		"0a000000");
	assert_message(&l.q, 5,
		"00002800000100010001000001"
		"7a"
		"0000060001"
		"026832c00c"
		"00ff"
		"00fe"
		"00000000"
		"0000"
		"c013"
		"0001"
		"0001"
		"00000001"
		"0004"
		"0a000102");
	loaded_free(&l);
}

static void a_random_name_stands_in_one_place(void **state)
{
	struct loaded l;
	struct dns_whole head;

	assert_int_equal(
		load_inline(&l, "z\nprohibit x{random:8}\nadd other 1 A 0.0.0.1\n"
				"add x{random:8} 1 A 0.0.0.2\nadd y.x{random:8}.z. 1 A 0.0.0.3\n"
				"add xaaaaaaaa 1 A 0.0.0.4\nsend\nz\ndelete x{random:8}"),
		0);
	assert_int_equal(l.q.count, 2);
	assert_int_equal(l.q.random_lens, 1 << 8);
	memcpy(&head, l.q.blob, sizeof(head));
	assert_int_equal(head.random_at, 7 + 2);
	assert_int_equal(head.random_len, 8);
	assert_message(&l.q, 0,
		"00002800000100010004000001"
		"7a"
		"0000060001"
		"09786161616161616161c00c"
		"00ff"
		"00fe"
		"00000000"
		"0000"
		"056f74686572c00c"
		"0001"
		"0001"
		"00000001"
		"0004"
		"00000001"
		"c013"
		"0001"
		"0001"
		"00000001"
		"0004"
		"00000002"
		"0179c013"
		"0001"
		"0001"
		"00000001"
		"0004"
		"00000003"
		"09786161616161616161c00c"
		"0001"
		"0001"
		"00000001"
		"0004"
		"00000004");
	loaded_free(&l);
}

static void texts_that_cannot_be_are_refused(void **state)
{
	static const char *const wrong[][2] = {
		{"z\nadd x{random:8} 1 A 0.0.0.1\nadd y{random:8} 1 A 0.0.0.1",
			"line 3: another name with {random:N}"},
		{"z\nadd x{random:8} 1 A 0.0.0.1\nadd y{random:9} 1 A 0.0.0.1", "has the same N"},
		{"z{random:8}\nsend", "line 1: {random:N} cannot be in the name of the zone"},
		{"z\nadd x 1 CNAME {random:8}", "line 2: {random:N} cannot be in data"},
		{"z\nadd {random:2}.{random:2} 1 A 0.0.0.1",
			"line 2: only one {random:N} can be in a name"},
		{"z\nadd x{0-9 1 A 0.0.0.1", "an open brace without its end"},
		{"z\nadd x{0-99999}{0-9999} 1 A 0.0.0.1", "more than 100 million messages"},
		{"", "no message"},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct loaded l;

		assert_int_equal(load_inline(&l, wrong[i][0]), -EINVAL);
		assert_diag_has(l.d, wrong[i][1]);
		loaded_free(&l);
	}
}

// 3 messages, runs of 4: four of the first, four of the second, four of the third, with equal names
// in each; then four new names.
static void runs_repeat_names_in_their_order(void **state)
{
	static const char *text =
		"z\nadd {random:12} 1 A 0.0.0.1\nsend\nz\nrequire {random:12}\nsend\n"
		"z\ndelete {random:12}\nsend\n";
	struct dns_fixture *f = fixture_new(NULL);
	uint8_t names[24][12];

	f->settings.names = (struct field_list){0};
	f->settings.update = (struct field_list){&text, 1};
	f->settings.update_run = 4;
	fixture_open(f);
	for (uint32_t i = 0; i < 24; i++) {
		const uint8_t *message = f->query;
		const uint8_t class[] = {1, 255, 255};

		f->txn.seq = i;
		f->txn.user = 0;
		f->query_len =
			proto_request(&dns_proto, &f->ctx, &f->txn, f->query, sizeof(f->query));
		assert_int_equal(message[DNS_HEADER_LEN + 7], 12);
		memcpy(names[i], message + DNS_HEADER_LEN + 8, 12);
		assert_int_equal(bytes_be16(message + DNS_HEADER_LEN + 24), class[i / 4 % 3]);
		assert_int_equal(message[7], i / 4 % 3 == 1);
		if (i % 12 >= 4)
			assert_memory_equal(names[i], names[i - 4], 12);
		for (uint32_t k = 0; i % 12 < 4 && k < i; k++)
			assert_memory_not_equal(names[i], names[k], 12);
	}
	fixture_end(f);
}

// Runs of 5 among 3 workers become 6: each worker has two names, and deletes its own additions.
static void each_name_belongs_to_one_worker(void **state)
{
	static const char *text =
		"z\nadd {random:12} 1 A 0.0.0.1\nsend\nz\ndelete {random:12}\nsend\n";
	uint8_t names[3][8][12];

	for (uint32_t worker = 0; worker < 3; worker++) {
		struct dns_fixture *f = fixture_new(NULL);

		f->settings.names = (struct field_list){0};
		f->settings.update = (struct field_list){&text, 1};
		f->settings.update_run = 5;
		f->env.workers = 3;
		f->env.worker = worker;
		fixture_open(f);
		for (uint32_t i = 0; i < 8; i++) {
			f->txn.seq = i;
			f->txn.user = 0;
			proto_request(&dns_proto, &f->ctx, &f->txn, f->query, sizeof(f->query));
			memcpy(names[worker][i], f->query + DNS_HEADER_LEN + 8, 12);
			assert_int_equal(
				bytes_be16(f->query + DNS_HEADER_LEN + 24), i / 2 % 2 ? 255 : 1);
			if (i / 2 % 2)
				assert_memory_equal(names[worker][i], names[worker][i - 2], 12);
			for (uint32_t k = 0; k < worker; k++)
				for (uint32_t n = 0; n < 8; n++)
					assert_memory_not_equal(names[worker][i], names[k][n], 12);
		}
		fixture_end(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_name_belongs_to_one_worker),
		cmocka_unit_test(messages_are_those_of_dnspython),
		cmocka_unit_test(names_end_with_the_zone_unless_they_are_absolute),
		cmocka_unit_test(errors_name_their_place_and_remedy),
		cmocka_unit_test(an_update_with_a_bad_line_is_left_out_on_demand),
		cmocka_unit_test(counts_go_beyond_a_byte),
		cmocka_unit_test(a_message_may_be_as_long_as_the_limit),
		cmocka_unit_test(numbers_of_the_same_text_are_one),
		cmocka_unit_test(a_random_name_stands_in_one_place),
		cmocka_unit_test(texts_that_cannot_be_are_refused),
		cmocka_unit_test(runs_repeat_names_in_their_order),
	};

	log_set_level(LOG_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
