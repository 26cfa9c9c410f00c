// SPDX-License-Identifier: BSD-3-Clause
// Files in the object store of a NATS server, which the test keeps in memory: stored files are read
// back, several chunks travel at a time, and errors and damage have their error numbers.
// Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <errno.h>
#include <jansson.h>
#include <openssl/evp.h>

#include "nats/bus_internal.h"

#define CHUNK    (128 << 10)
#define AHEAD    8
#define MESSAGES 200

// The stream of the server, its faults, and the questions that wait for their replies.
static struct {
	struct stored {
		char subject[200];
		unsigned char *data;
		size_t size;
		json_int_t seq;
	} all[MESSAGES];
	unsigned count, asked, stored, fault_at, puts;
	json_int_t seq, fault; // err_code of the reply to question fault_at, from 1 on
	bool exists, foreign;  // foreign: another file's message behind each
	struct bus_wait waits[BUS_WAITS];
	unsigned first, waiting, most;
} js;

static void forget(unsigned i)
{
	free(js.all[i].data);
	memmove(&js.all[i], &js.all[i + 1], (js.count - i - 1) * sizeof(js.all[0]));
	js.count--;
}

static void purge(const char *subject)
{
	for (unsigned i = js.count; i-- > 0;)
		if (strcmp(js.all[i].subject, subject) == 0)
			forget(i);
}

static void store(const char *subject, const void *data, size_t size)
{
	struct stored *s = &js.all[js.count++];

	assert_true(js.count <= MESSAGES);
	snprintf(s->subject, sizeof(s->subject), "%s", subject);
	s->data = malloc(size + 1);
	memcpy(s->data, data, size);
	s->size = size;
	s->seq = ++js.seq;
}

static json_t *refused(json_int_t code)
{
	return json_pack("{s:{s:I, s:s}}", "error", "err_code", code, "description", "no");
}

static json_t *message_of(const struct stored *s)
{
	char *text = malloc(s->size / 3 * 4 + 5);
	json_t *reply;

	text[0] = '\0';
	EVP_EncodeBlock((unsigned char *)text, s->data, (int)s->size);
	reply = json_pack("{s:{s:I, s:s}}", "message", "seq", s->seq, "data", text);
	free(text);
	return reply;
}

static json_t *find(const json_t *request)
{
	const char *last = json_string_value(json_object_get(request, "last_by_subj"));
	const char *next = json_string_value(json_object_get(request, "next_by_subj"));
	json_int_t seq = json_integer_value(json_object_get(request, "seq"));

	for (unsigned i = js.count; last && i-- > 0;)
		if (strcmp(js.all[i].subject, last) == 0)
			return message_of(&js.all[i]);
	for (unsigned i = 0; next && i < js.count; i++)
		if (strcmp(js.all[i].subject, next) == 0 && js.all[i].seq >= seq)
			return message_of(&js.all[i]);
	return refused(js.exists ? 10037 : 10059);
}

static json_t *reply_to(const struct bus_question *q)
{
	static const char api[] = "$JS.API.STREAM.";
	json_t *request, *reply;

	if (++js.asked == js.fault_at)
		return refused(js.fault);
	if (strncmp(q->subject, api, strlen(api)) != 0) {
		assert_true(js.exists);
		if (q->header[0]) {
			assert_string_equal(q->header[0], "Nats-Rollup");
			assert_string_equal(q->header[1], "sub");
			purge(q->subject);
		}
		store(q->subject, q->data, q->size);
		js.stored++;
		if (js.foreign)
			store("$O.ddiperf.C.another", "x", 1);
		return json_pack("{s:s}", "stream", "OBJ_ddiperf");
	}
	request = json_loadb(q->data, q->size, 0, NULL);
	assert_non_null(request);
	assert_non_null(strstr(q->subject, ".OBJ_ddiperf"));
	if (strncmp(q->subject + strlen(api), "CREATE.", 7) == 0) {
		reply = js.exists ? refused(10058) : json_object();
		assert_true(json_is_true(json_object_get(request, "allow_rollup_hdrs")));
		assert_true(json_is_true(json_object_get(request, "allow_direct")));
		js.exists = true;
	} else if (strncmp(q->subject + strlen(api), "PURGE.", 6) == 0) {
		purge(json_string_value(json_object_get(request, "filter")));
		reply = json_object();
	} else {
		assert_int_equal(strncmp(q->subject + strlen(api), "MSG.GET.", 8), 0);
		reply = find(request);
	}
	json_decref(request);
	return reply;
}

int __wrap_bus_put_question(struct bus *b, const struct bus_question *q, struct bus_wait **out);
natsMsg *__wrap_bus_await(struct bus *b, struct bus_wait *w, unsigned ms, int64_t *at_ns, int *rc);
void __wrap_bus_inbox(struct bus *b, char *subject, size_t size);
size_t __wrap_bus_room(const struct bus *b);

int __wrap_bus_put_question(struct bus *b, const struct bus_question *q, struct bus_wait **out)
{
	struct bus_wait *w = &js.waits[(js.first + js.waiting++) % BUS_WAITS];
	json_t *reply = reply_to(q);
	char *text = json_dumps(reply, 0);

	assert_true(js.waiting <= AHEAD);
	js.most = js.waiting > js.most ? js.waiting : js.most;
	assert_int_equal(
		natsMsg_Create(&w->reply, "inbox", NULL, text, (int)strlen(text)), NATS_OK);
	free(text);
	json_decref(reply);
	*out = w;
	return 0;
}

natsMsg *__wrap_bus_await(struct bus *b, struct bus_wait *w, unsigned ms, int64_t *at_ns, int *rc)
{
	assert_ptr_equal(w, &js.waits[js.first]);
	js.first = (js.first + 1) % BUS_WAITS;
	js.waiting--;
	return w->reply;
}

void __wrap_bus_inbox(struct bus *b, char *subject, size_t size)
{
	snprintf(subject, size, "_INBOX.file%u.1", js.puts++);
}

size_t __wrap_bus_room(const struct bus *b)
{
	return 1 << 20;
}

static char path[] = "/tmp/ddiperf-test-XXXXXX", copy[64];

// Bytes that no two seeds share.
static void write_file(int size, int seed)
{
	FILE *f = fopen(path, "w");

	for (int i = 0; i < size; i++)
		putc((int)((unsigned)(i / 7 + seed) * 2654435761u >> 24), f);
	assert_int_equal(fclose(f), 0);
}

static void assert_copied(void)
{
	FILE *a = fopen(path, "r"), *b = fopen(copy, "r");
	int c;

	assert_non_null(b);
	do {
		c = getc(a);
		assert_int_equal(getc(b), c);
	} while (c != EOF);
	fclose(a);
	fclose(b);
	unlink(copy);
}

static void assert_got(const char *hash, int rc)
{
	assert_int_equal(bus_get_file(NULL, hash, copy), rc);
	assert_int_equal(js.waiting, 0);
	if (rc == 0)
		assert_copied();
	else
		assert_int_equal(access(copy, F_OK), -1);
}

static void assert_put(char *hash, int rc)
{
	assert_int_equal(bus_put_file(NULL, path, hash), rc);
	assert_int_equal(js.waiting, 0);
}

static int begin(void **state)
{
	int fd = mkstemp(path);

	close(fd);
	assert_int_equal(nats_Open(-1), NATS_OK);
	snprintf(copy, sizeof(copy), "%s.copy", path);
	return 0;
}

static int end(void **state)
{
	while (js.count)
		forget(0);
	memset(&js, 0, sizeof(js));
	nats_Close();
	unlink(path);
	strcpy(path + strlen(path) - 6, "XXXXXX");
	return 0;
}

static void a_file_comes_back_whatever_its_size(void **state)
{
	static const int sizes[] = {1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 20 * CHUNK + 5};
	char hash[65];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (int foreign = 0; foreign < 2; foreign++) {
			unsigned stored = js.stored;

			js.foreign = foreign;
			write_file(sizes[i], 2 * (int)i + foreign);
			assert_put(hash, 0);
			assert_int_equal(js.stored - stored, (sizes[i] + CHUNK - 1) / CHUNK + 1u);
			assert_got(hash, 0);
		}
	assert_int_equal(js.most, AHEAD);
	write_file(0, 0);
	assert_put(hash, 0);
	assert_got(hash, 0);
}

static void a_file_that_is_there_is_not_stored_again(void **state)
{
	char hash[65], again[65];

	write_file(100, 0);
	assert_put(hash, 0);
	assert_put(again, 0);
	assert_int_equal(js.stored, 2);
	assert_string_equal(hash, again);
	assert_got("ab", -EINVAL);
	assert_int_equal(js.asked, 5); // nobody was asked
	hash[3] ^= 1;
	assert_got(hash, -ENOENT);
}

// The questions of a file of three chunks: is it there, the stream, chunks, metadata.
static void errors_of_the_server_end_it(void **state)
{
	static const struct {
		unsigned at;
		json_int_t code;
		int rc;
	} rows[] = {{1, 10037, 0}, {1, 10059, 0}, {1, 10039, -ENOTSUP}, {1, 10076, -ENOTSUP},
		{1, 10000, -EIO}, {2, 10000, -EIO}, {2, 10076, -ENOTSUP}, {2, 10037, -ENOENT},
		{3, 10000, -EIO}, {4, 10000, -EIO}, {5, 10000, -EIO}, {6, 10000, -EIO},
		{6, 10039, -ENOTSUP}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char hash[65];

		js.asked = 0;
		js.fault_at = rows[i].at;
		js.fault = rows[i].code;
		write_file(3 * CHUNK, (int)i);
		assert_put(hash, rows[i].rc);
		assert_int_equal(js.count, rows[i].rc ? 0 : 4); // no chunks stay behind
		js.fault_at = 0;
		if (rows[i].rc == 0)
			assert_got(hash, 0);
		while (js.count)
			forget(0);
	}
	unlink(path);
	assert_put((char[65]){""}, -ENOENT);
}

// For question `at` of getting a file of three chunks: its metadata, and each chunk.
static void errors_end_the_way_back(void **state)
{
	static const struct {
		unsigned at;
		json_int_t code;
		int rc;
	} rows[] = {{1, 10037, -ENOENT}, {1, 10076, -ENOTSUP}, {1, 10000, -EIO},
		{2, 10037, -EBADMSG}, {2, 10000, -EIO}, {3, 10037, -EBADMSG}, {4, 10000, -EIO}};
	char hash[65];

	write_file(3 * CHUNK, 0);
	assert_put(hash, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		js.asked = 0;
		js.fault_at = rows[i].at;
		js.fault = rows[i].code;
		assert_got(hash, rows[i].rc);
	}
	js.fault_at = 0;
	assert_got(hash, 0);
}

// Replaces the metadata of the last file.
static void spoil(const char *meta)
{
	struct stored *s = &js.all[js.count - 1];

	free(s->data);
	s->data = (unsigned char *)strdup(meta);
	s->size = strlen(meta);
}

#define META(size, more) "{\"chunks\": 1, \"size\": " size ", \"nuid\": \"file0_1\"" more "}"

static void damage_is_noticed(void **state)
{
	static const struct {
		const char *meta;
		int rc;
	} rows[] = {{"[]", -EBADMSG}, {"", -EBADMSG}, {"{", -EBADMSG},
		{META("50", ", \"deleted\": true"), -ENOENT}, {META("-1", ""), -EFBIG},
		{META("8000000001", ""), -EFBIG}, {META("8000000000", ""), -EBADMSG},
		{META("49", ""), -EBADMSG}, {META("51", ""), -EBADMSG}, {META("50", ""), 0}};
	char hash[65];

	write_file(50, 0);
	assert_put(hash, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		spoil(rows[i].meta);
		assert_got(hash, rows[i].rc);
	}
	js.all[0].data[49] ^= 1;
	assert_got(hash, -EBADMSG);
	js.all[0].seq = 0;
	assert_got(hash, -EBADMSG);
	forget(0);
	assert_got(hash, -EBADMSG);
}

// Under our name: it is stored anew.
static void what_is_another_file_is_replaced(void **state)
{
	static const char *const metas[] = {META("51", ""), META("50", ", \"digest\": \"x\""),
		META("8000000001", ""), META("50", ", \"deleted\": true")};
	char hash[65];

	write_file(50, 0);
	assert_put(hash, 0);
	for (size_t i = 0; i < sizeof(metas) / sizeof(*metas); i++) {
		spoil(metas[i]);
		js.stored = 0;
		assert_put(hash, 0);
		assert_int_equal(js.stored, 2);
		assert_got(hash, 0);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(a_file_comes_back_whatever_its_size),
		TEST(a_file_that_is_there_is_not_stored_again),
		TEST(errors_of_the_server_end_it),
		TEST(errors_end_the_way_back),
		TEST(damage_is_noticed),
		TEST(what_is_another_file_is_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
