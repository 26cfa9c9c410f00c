// SPDX-License-Identifier: BSD-3-Clause
// Files in an object store as ADR-20 of NATS describes it: a stream of chunks and of metadata.
// Requests and replies alone, one for each chunk: no consumer stays behind. Path: cold. Main
// thread.
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
#include "bus_nats.h"

#define BUCKET      "ddiperf"
#define STREAM      "OBJ_" BUCKET
#define CHUNKS      "$O." BUCKET ".C."
#define METADATA    "$O." BUCKET ".M."
#define CHUNK_SIZE  (128 << 10)
#define REPLY_MS    5000
#define HASH_SIZE   32
#define BASE64_SIZE 96 // of a hash, and of its hexadecimal digits
#define DIGEST      "SHA-256="

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

static json_t *exchange(struct bus *b, const struct bus_question *q, int *rc)
{
	natsMsg *m = bus_exchange(b, q, NULL, rc);

	if (m)
		return read_reply(m, rc);
	if (*rc == -EHOSTUNREACH)
		*rc = -ENOTSUP;
	return NULL;
}

// request: taken.
static json_t *ask(struct bus *b, const char *verb, json_t *request, int *rc)
{
	char subject[80], *text = json_dumps(request, JSON_COMPACT);
	struct bus_question q = {.subject = subject, .data = text, .ms = REPLY_MS};
	json_t *reply = NULL;

	snprintf(subject, sizeof(subject), "$JS.API.STREAM.%s." STREAM, verb);
	json_decref(request);
	*rc = -ENOMEM;
	if (text) {
		q.size = strlen(text);
		reply = exchange(b, &q, rc);
	}
	free(text);
	return reply;
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

// Store a message; it is on the server's disk on return.
static int store(struct bus *b, const struct bus_question *q)
{
	int rc = 0;
	json_t *reply = exchange(b, q, &rc);

	json_decref(reply);
	return reply ? 0 : rc;
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
	struct bus_question q = {.subject = to, .data = chunk, .ms = REPLY_MS};
	ssize_t len = 0;
	int rc = sum && chunk && EVP_DigestInit_ex(sum, EVP_sha256(), NULL) == 1 ? 0 : -ENOMEM;

	m->size = m->count = 0;
	while (rc == 0 && (len = pread(fd, chunk, CHUNK_SIZE, m->size)) > 0) {
		EVP_DigestUpdate(sum, chunk, (size_t)len);
		m->size += len;
		m->count++;
		q.size = (size_t)len;
		if (to)
			rc = store(b, &q);
	}
	if (rc == 0 && len < 0)
		rc = -errno;
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
	struct bus_question q = {
		.subject = subject, .header = {"Nats-Rollup", "sub"}, .ms = REPLY_MS};
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
		rc = store(b, &q);
	}
	free(text);
	return rc;
}

// The chunks of a file that did not become one.
static void purge(struct bus *b, const char *chunks)
{
	int rc = 0;

	json_decref(ask(b, "PURGE", json_pack("{s:s}", "filter", chunks), &rc));
}

static int put(struct bus *b, int fd, const char *hash, struct meta *m, const unsigned char *sum)
{
	unsigned char again[HASH_SIZE];
	char inbox[80];
	int rc = make_stream(b);

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
	if (rc < 0)
		purge(b, m->chunks);
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
		rc = read_meta(b, hash, &there);
		if (rc == 0 && (there.size != m.size || strcmp(there.digest, m.digest) != 0))
			rc = -ENOENT; // somebody else's, under our name
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

// The next chunk behind the message *seq.
static int get_chunk(
	struct bus *b, const struct meta *m, json_int_t *seq, unsigned char *chunk, size_t room)
{
	int rc = 0, size;
	json_t *message,
		*reply = ask(b, "MSG.GET",
			json_pack("{s:s, s:I}", "next_by_subj", m->chunks, "seq", *seq + 1), &rc);

	if (!reply)
		return rc == -ENOENT ? -EBADMSG : rc;
	message = json_object_get(reply, "message");
	*seq = integer(message, "seq");
	size = decode(message, chunk, room);
	json_decref(reply);
	return size <= 0 ? -EBADMSG : size;
}

static int get(struct bus *b, const struct meta *m, const char *hash, FILE *to)
{
	EVP_MD_CTX *sum = EVP_MD_CTX_new();
	size_t room = bus_room(b);
	unsigned char digest[HASH_SIZE], *chunk = malloc(room);
	struct meta got = {.count = 0};
	json_int_t seq = 0, size = 0;
	char name[65];
	int rc = sum && chunk && EVP_DigestInit_ex(sum, EVP_sha256(), NULL) == 1 ? 0 : -ENOMEM;

	for (json_int_t i = 0; rc >= 0 && i < m->count; i++) {
		rc = get_chunk(b, m, &seq, chunk, room);
		if (rc < 0)
			break;
		size += rc;
		EVP_DigestUpdate(sum, chunk, (size_t)rc);
		if (fwrite(chunk, (size_t)rc, 1, to) != 1)
			rc = -errno;
	}
	if (rc >= 0) {
		EVP_DigestFinal_ex(sum, digest, NULL);
		describe(&got, digest, name);
		rc = size == m->size && strcmp(name, hash) == 0 ? 0 : -EBADMSG;
	}
	EVP_MD_CTX_free(sum);
	free(chunk);
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
		log_error("%s: what NATS has is damaged", hash);
	else if (rc == -ENOTSUP)
		log_error("%s: the NATS server runs without JetStream", hash);
	else if (rc < 0)
		log_error("%s: no such file from NATS: %s", hash, strerror(-rc));
	return rc;
}
