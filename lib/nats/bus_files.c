// SPDX-License-Identifier: BSD-3-Clause
// Files in an object store as ADR-20 of NATS describes it: a stream of chunks and of metadata.
// Requests and replies alone, one for each chunk and several on their way at a time: no consumer
// stays behind. Path: cold. Main thread.
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "nats/bus_internal.h"

#define BUCKET      "ddiperf"
#define STREAM      "OBJ_" BUCKET
#define CHUNKS      "$O." BUCKET ".C."
#define METADATA    "$O." BUCKET ".M."
#define CHUNK_SIZE  (128 << 10)
#define AHEAD       8 // chunks on their way at a time: on a long link one would wait for each
#define REPLY_MS    5000
#define HASH_SIZE   32
#define BASE64_SIZE 96 // of a hash, and of its hexadecimal digits
#define DIGEST      "SHA-256="
#define SIZE_MAX_GB 8 // of a file: other clients can store anything under our names
#define FILE_MAX    ((json_int_t)SIZE_MAX_GB * 1000000000)

// Error codes of JetStream's replies.
enum {
	NO_MESSAGE = 10037,
	OFF_FOR_ACCOUNT = 10039,
	EXISTS = 10058,
	NO_STREAM = 10059,
	OFF = 10076
};

struct meta {
	char chunks[80]; // their subject
	json_int_t count, size;
	char digest[BASE64_SIZE];
};

// RFC 4648, section 5, with padding.
static void base64url(const void *bytes, size_t len, char *text)
{
	EVP_EncodeBlock((unsigned char *)text, bytes, (int)len);
	for (; *text; text++)
		*text = *text == '+' ? '-' : *text == '/' ? '_' : *text;
}

static void meta_subject(const char *hash, char *subject)
{
	strcpy(subject, METADATA);
	base64url(hash, strlen(hash), subject + strlen(METADATA));
}

// --- JetStream ---

// A reply as an object, or NULL and *rc: -ENOENT, -EEXIST, -ENOTSUP, -EIO.
static json_t *read_reply(natsMsg *m, int *rc)
{
	json_t *reply = json_loadb(natsMsg_GetData(m), (size_t)natsMsg_GetDataLength(m), 0, NULL);
	json_t *error = json_object_get(reply, "error");
	json_int_t code = json_integer_value(json_object_get(error, "err_code"));

	natsMsg_Destroy(m);
	if (reply && !error)
		return reply;
	if (code == NO_MESSAGE || code == NO_STREAM)
		*rc = -ENOENT;
	else if (code == OFF || code == OFF_FOR_ACCOUNT)
		*rc = -ENOTSUP;
	else
		*rc = code == EXISTS ? -EEXIST : -EIO;
	if (*rc == -EIO)
		log_error("NATS: %s", json_string_value(json_object_get(error, "description"))
					      ?: "a reply of JetStream cannot be read");
	json_decref(reply);
	return NULL;
}

// Requests in flight; their replies are taken in order.
struct flight {
	struct bus *bus;
	struct bus_wait *waits[AHEAD];
	unsigned first, count;
};

static int flight_ask(struct flight *f, const struct bus_question *q)
{
	int rc = bus_put_question(f->bus, q, &f->waits[(f->first + f->count) % AHEAD]);

	f->count += rc == 0;
	return rc;
}

static natsMsg *flight_take(struct flight *f, unsigned ms, int *rc)
{
	struct bus_wait *w = f->waits[f->first];

	f->first = (f->first + 1) % AHEAD;
	f->count--;
	return bus_await(f->bus, w, ms, NULL, rc);
}

// The reply to the oldest.
static json_t *flight_reply(struct flight *f, int *rc)
{
	natsMsg *m = flight_take(f, REPLY_MS, rc);

	if (m)
		return read_reply(m, rc);
	if (*rc == -EHOSTUNREACH)
		*rc = -ENOTSUP;
	return NULL;
}

// The other replies are no longer needed.
static void flight_end(struct flight *f)
{
	int rc;

	while (f->count)
		natsMsg_Destroy(flight_take(f, 0, &rc));
}

// request: taken.
static int ask_ahead(struct flight *f, const char *verb, json_t *request)
{
	char subject[80], *text = json_dumps(request, JSON_COMPACT);
	struct bus_question q = {.subject = subject, .data = text};
	int rc = -ENOMEM;

	snprintf(subject, sizeof(subject), "$JS.API.STREAM.%s." STREAM, verb);
	json_decref(request);
	if (text) {
		q.size = strlen(text);
		rc = flight_ask(f, &q);
	}
	free(text);
	return rc;
}

// request: taken.
static json_t *ask(struct bus *b, const char *verb, json_t *request, int *rc)
{
	struct flight f = {.bus = b};

	*rc = ask_ahead(&f, verb, request);
	return *rc == 0 ? flight_reply(&f, rc) : NULL;
}

static int make_stream(struct bus *b)
{
	int rc = 0;
	json_t *reply = ask(b, "CREATE",
		json_pack("{s:s, s:[s, s], s:s, s:i, s:i, s:i, s:i, s:i, s:s, s:s, s:i, s:b, s:b}",
			"name", STREAM, "subjects", CHUNKS ">", METADATA ">", "retention", "limits",
			"max_consumers", -1, "max_msgs", -1, "max_bytes", -1, "max_age", 0,
			"max_msg_size", -1, "discard", "new", "storage", "file", "num_replicas", 1,
			"allow_rollup_hdrs", 1, "allow_direct", 1),
		&rc);

	json_decref(reply);
	return reply || rc == -EEXIST ? 0 : rc;
}

// The oldest message is on the server's disk then.
static int await_stored(struct flight *f)
{
	int rc = 0;
	json_t *reply = flight_reply(f, &rc);

	json_decref(reply);
	return reply ? 0 : rc;
}

// Store a message behind the others that are on their way.
static int store_ahead(struct flight *f, const struct bus_question *q)
{
	int rc = f->count == AHEAD ? await_stored(f) : 0;

	return rc ? rc : flight_ask(f, q);
}

// All of them are on the server's disk if rc, which was so until now, is 0.
static int store_rest(struct flight *f, int rc)
{
	while (f->count && rc == 0)
		rc = await_stored(f);
	flight_end(f);
	return rc;
}

static json_int_t integer(const json_t *o, const char *name)
{
	return json_integer_value(json_object_get(o, name));
}

static const char *string(const json_t *o, const char *name)
{
	return json_string_value(json_object_get(o, name)) ?: "";
}

// The octets of a message that the stream has, as a caller's buffer; -1: they are wrong.
static int decode(const json_t *message, unsigned char *out, size_t room)
{
	const char *text = string(message, "data");
	size_t len = strlen(text);
	int size;

	if (len == 0)
		return 0;
	if (len % 4 || len / 4 * 3 > room)
		return -1;
	size = EVP_DecodeBlock(out, (const unsigned char *)text, (int)len);
	return size < 0 ? -1 : size - (text[len - 1] == '=') - (text[len - 2] == '=');
}

// 0, or -errno (-ENOENT: no such file, -EBADMSG).
static int read_meta(struct bus *b, const char *hash, struct meta *m)
{
	char subject[sizeof(METADATA) + BASE64_SIZE], text[4096];
	json_t *reply, *o;
	int rc = 0, size;

	meta_subject(hash, subject);
	reply = ask(b, "MSG.GET", json_pack("{s:s}", "last_by_subj", subject), &rc);
	if (!reply)
		return rc;
	size = decode(json_object_get(reply, "message"), (unsigned char *)text, sizeof(text));
	json_decref(reply);
	o = size < 0 ? NULL : json_loadb(text, (size_t)size, 0, NULL);
	m->count = integer(o, "chunks");
	m->size = integer(o, "size");
	snprintf(m->chunks, sizeof(m->chunks), CHUNKS "%s", string(o, "nuid"));
	snprintf(m->digest, sizeof(m->digest), "%s", string(o, "digest"));
	rc = !json_is_object(o)                            ? -EBADMSG
	     : json_is_true(json_object_get(o, "deleted")) ? -ENOENT
	     : m->size < 0 || m->size > FILE_MAX           ? -EFBIG
	                                                   : 0;
	json_decref(o);
	return rc;
}

// --- put ---

// The hash of a file, its size, and with `to` its chunks stored under that subject.
static int walk(int fd, struct bus *b, const char *to, struct meta *m, unsigned char *hash)
{
	EVP_MD_CTX *sum = EVP_MD_CTX_new();
	unsigned char *chunk = malloc(CHUNK_SIZE);
	struct bus_question q = {.subject = to, .data = chunk};
	struct flight flight = {.bus = b};
	ssize_t len = 0;
	int rc = sum && chunk && EVP_DigestInit_ex(sum, EVP_sha256(), NULL) == 1 ? 0 : -ENOMEM;

	m->size = m->count = 0;
	while (rc == 0 && (len = pread(fd, chunk, CHUNK_SIZE, m->size)) > 0) {
		EVP_DigestUpdate(sum, chunk, (size_t)len);
		m->size += len;
		m->count++;
		q.size = (size_t)len;
		if (to)
			rc = store_ahead(&flight, &q);
	}
	if (rc == 0 && len < 0)
		rc = -errno;
	rc = store_rest(&flight, rc);
	if (rc == 0)
		EVP_DigestFinal_ex(sum, hash, NULL);
	EVP_MD_CTX_free(sum);
	free(chunk);
	return rc;
}

static void describe(struct meta *m, const unsigned char *sum, char hash[65])
{
	strcpy(m->digest, DIGEST);
	base64url(sum, HASH_SIZE, m->digest + strlen(DIGEST));
	for (unsigned i = 0; i < HASH_SIZE; i++)
		sprintf(hash + 2 * i, "%02x", sum[i]);
}

// One message of metadata per file: an older one goes.
static int store_meta(struct bus *b, const char *hash, const struct meta *m)
{
	char subject[sizeof(METADATA) + BASE64_SIZE], *text;
	struct bus_question q = {.subject = subject, .header = {"Nats-Rollup", "sub"}};
	struct flight flight = {.bus = b};
	json_t *o = json_pack("{s:s, s:s, s:s, s:I, s:s, s:I, s:s, s:{s:i}}", "name", hash,
		"bucket", BUCKET, "nuid", m->chunks + strlen(CHUNKS), "size", m->size, "mtime",
		"0001-01-01T00:00:00Z", "chunks", m->count, "digest", m->digest, "options",
		"max_chunk_size", CHUNK_SIZE);
	int rc = -ENOMEM;

	meta_subject(hash, subject);
	text = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	if (text) {
		q.data = text;
		q.size = strlen(text);
		rc = store_rest(&flight, store_ahead(&flight, &q));
	}
	free(text);
	return rc;
}

static int put(struct bus *b, int fd, const char *hash, struct meta *m, const unsigned char *sum)
{
	unsigned char again[HASH_SIZE];
	char inbox[80];
	int rc = make_stream(b), ignored = 0;

	if (rc < 0)
		return rc;
	bus_inbox(b, inbox, sizeof(inbox));
	snprintf(m->chunks, sizeof(m->chunks), CHUNKS "%s", strchr(inbox, '.') + 1);
	*strchr(m->chunks + strlen(CHUNKS), '.') = '_';
	rc = walk(fd, b, m->chunks, m, again);
	if (rc == 0 && memcmp(sum, again, HASH_SIZE) != 0)
		rc = -ESTALE;
	if (rc == 0)
		rc = store_meta(b, hash, m);
	if (rc < 0) // no chunks of an incomplete file stay
		json_decref(ask(b, "PURGE", json_pack("{s:s}", "filter", m->chunks), &ignored));
	return rc;
}

int bus_put_file(struct bus *b, const char *path, char hash[65])
{
	unsigned char sum[HASH_SIZE];
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;
	struct meta m, there;

	rc = fd < 0 ? -errno : walk(fd, b, NULL, &m, sum);
	if (rc == 0) {
		describe(&m, sum, hash);
		rc = m.size > FILE_MAX ? -EFBIG : read_meta(b, hash, &there);
		if (rc == -EFBIG && m.size <= FILE_MAX)
			rc = -ENOENT; // a foreign object under our name
		if (rc == 0 && (there.size != m.size || strcmp(there.digest, m.digest) != 0))
			rc = -ENOENT; // likewise
		if (rc == -ENOENT)
			rc = put(b, fd, hash, &m, sum);
	}
	if (fd >= 0)
		close(fd);
	if (rc == -ENOTSUP)
		log_error("%s cannot be given to agents: the NATS server runs without JetStream",
			path);
	else if (rc < 0)
		log_error("%s cannot be given to agents: %s", path, strerror(-rc));
	return rc;
}

// --- get ---

// The chunks of a file, in their order.
struct chunks {
	struct flight flight;
	const struct meta *meta;
	json_int_t taken;
	json_int_t seq, asked; // numbers of messages: of the last chunk, and the last one asked for
	unsigned char *chunk;
	size_t room;
};

// Each request asks for the first chunk from a number on. The chunks of a file mostly have
// consecutive numbers, so after the first several are requested at a time.
static int ask_chunks(struct chunks *c)
{
	const json_int_t left = c->meta->count - c->taken;
	unsigned most = c->taken == 0 ? 1 : left < AHEAD ? (unsigned)left : AHEAD;
	int rc = 0;

	while (rc == 0 && c->flight.count < most)
		rc = ask_ahead(&c->flight, "MSG.GET",
			json_pack(
				"{s:s, s:I}", "next_by_subj", c->meta->chunks, "seq", ++c->asked));
	return rc;
}

// The size of the next one, or -errno. Where another file's messages stand between, two questions
// have the same reply.
static int next_chunk(struct chunks *c)
{
	json_t *reply, *message;
	json_int_t seq;
	int rc, size = 0;

	while (size == 0) {
		rc = ask_chunks(c);
		reply = rc == 0 ? flight_reply(&c->flight, &rc) : NULL;
		if (!reply)
			return rc == -ENOENT ? -EBADMSG : rc;
		message = json_object_get(reply, "message");
		seq = integer(message, "seq");
		if (seq > c->seq) {
			size = decode(message, c->chunk, c->room);
			size = size > 0 ? size : -EBADMSG;
			c->seq = seq;
			c->asked = seq > c->asked ? seq : c->asked;
			c->taken++;
		} else if (seq <= 0) {
			size = -EBADMSG;
		}
		json_decref(reply);
	}
	return size;
}

static int get(struct bus *b, const struct meta *m, const char *hash, FILE *to)
{
	EVP_MD_CTX *sum = EVP_MD_CTX_new();
	struct chunks c = {
		.flight = {.bus = b}, .meta = m, .room = bus_room(b), .chunk = malloc(bus_room(b))};
	unsigned char digest[HASH_SIZE];
	struct meta got = {.count = 0};
	json_int_t size = 0;
	char name[65];
	int rc = sum && c.chunk && EVP_DigestInit_ex(sum, EVP_sha256(), NULL) == 1 ? 0 : -ENOMEM;

	while (rc >= 0 && c.taken < m->count) {
		rc = next_chunk(&c);
		if (rc < 0)
			break;
		size += rc;
		if (size > m->size) {
			rc = -EBADMSG;
			break;
		}
		EVP_DigestUpdate(sum, c.chunk, (size_t)rc);
		if (fwrite(c.chunk, (size_t)rc, 1, to) != 1)
			rc = -errno;
	}
	flight_end(&c.flight);
	if (rc >= 0) {
		EVP_DigestFinal_ex(sum, digest, NULL);
		describe(&got, digest, name);
		rc = size == m->size && strcmp(name, hash) == 0 ? 0 : -EBADMSG;
	}
	EVP_MD_CTX_free(sum);
	free(c.chunk);
	return rc;
}

int bus_get_file(struct bus *b, const char *hash, const char *path)
{
	struct file_draft draft;
	struct meta m;
	int rc = strlen(hash) == 2 * HASH_SIZE ? read_meta(b, hash, &m) : -EINVAL;

	if (rc == 0)
		rc = file_draft_open(path, &draft);
	if (rc == 0) {
		rc = get(b, &m, hash, draft.f);
		if (rc == 0)
			rc = file_draft_commit(&draft);
		else
			file_draft_abandon(&draft);
	}
	if (rc == -EBADMSG)
		log_error("%s: the file in NATS is damaged", hash);
	else if (rc == -ENOTSUP)
		log_error("%s: the NATS server runs without JetStream", hash);
	else if (rc < 0)
		log_error("%s: no such file from NATS: %s", hash, strerror(-rc));
	return rc;
}
