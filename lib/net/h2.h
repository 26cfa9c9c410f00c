// SPDX-License-Identifier: BSD-3-Clause
// Frames of HTTP/2 (RFC 9113), and the header blocks of requests and answers as templates: two
// messages differ in a path or a length only.
// Path: hot | cold (h2_request_build, h2_answer_build, h2_path_split, h2_header_wrong). Any
// thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/field.h"

#define H2_HEAD        9u     // octets in front of a frame
#define H2_FRAME       16384u // longest frame, without them, unless the peer takes longer ones
#define H2_STREAM_LAST 0x7fffffffu
#define H2_WINDOW      65535 // octets of a window, unless settings differ
#define H2_WINDOW_MOST 0x7fffffff
#define H2_PREFACE     "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define H2_PREFACE_LEN 24u

enum h2_type {
	H2_DATA,
	H2_HEADERS,
	H2_PRIORITY,
	H2_RST_STREAM,
	H2_SETTINGS,
	H2_PUSH_PROMISE,
	H2_PING,
	H2_GOAWAY,
	H2_WINDOW_UPDATE,
	H2_CONTINUATION
};
enum h2_flag {
	H2_END_STREAM = 1,
	H2_ACK = 1,
	H2_END_HEADERS = 4,
	H2_PADDED = 8,
	H2_HAS_PRIORITY = 32
};
enum h2_setting {
	H2_HEADER_TABLE_SIZE = 1,
	H2_ENABLE_PUSH = 2,
	H2_MAX_CONCURRENT_STREAMS = 3,
	H2_INITIAL_WINDOW_SIZE = 4,
	H2_MAX_FRAME_SIZE = 5
};

// Errors (RFC 9113 section 7), and "other" for those without a name.
// clang-format off
#define H2_ERRORS(X) \
	X(H2_NO_ERROR, "no_error") \
	X(H2_PROTOCOL_ERROR, "protocol_error") \
	X(H2_INTERNAL_ERROR, "internal_error") \
	X(H2_FLOW_CONTROL_ERROR, "flow_control_error") \
	X(H2_SETTINGS_TIMEOUT, "settings_timeout") \
	X(H2_STREAM_CLOSED, "stream_closed") \
	X(H2_FRAME_SIZE_ERROR, "frame_size_error") \
	X(H2_REFUSED_STREAM, "refused_stream") \
	X(H2_CANCEL, "cancel") \
	X(H2_COMPRESSION_ERROR, "compression_error") \
	X(H2_CONNECT_ERROR, "connect_error") \
	X(H2_ENHANCE_YOUR_CALM, "enhance_your_calm") \
	X(H2_INADEQUATE_SECURITY, "inadequate_security") \
	X(H2_HTTP_1_1_REQUIRED, "http_1_1_required") \
	X(H2_ERROR_OTHER, "other")
// clang-format on
#define H2_ERROR_NUMBER(number, name) number,
enum h2_error { H2_ERRORS(H2_ERROR_NUMBER) H2_ERROR_COUNT };

const char *h2_error_name(uint32_t place);
// Its place in a table of counters.
static inline uint32_t h2_error_place(uint32_t code)
{
	return code < H2_ERROR_OTHER ? code : H2_ERROR_OTHER;
}

// Status codes that are counted by name; the last place is "other".
#define H2_STATUSES 24
const char *h2_status_name(uint32_t place);
uint32_t h2_status_place(uint32_t status);

// How the next header block of a connection is encoded.
enum h2_encoding {
	H2_FIRST,   // all fields that repeat enter the peer's table
	H2_INDEXED, // by their places there
	H2_PLAIN,   // the peer's table is too small for them
	H2_ENCODINGS
};

#define H2_PART 2048u // octets of a template

struct h2_part {
	uint16_t len;
	uint8_t bytes[H2_PART];
};

// A request: head, the path of GET, tail; or head, the length of POST.
struct h2_request {
	bool get;
	uint16_t table; // octets of its fields in the peer's table
	struct h2_part head[H2_ENCODINGS], tail[H2_ENCODINGS];
	uint16_t before, after; // lengths of the path in front of the message, and behind it
	char path[1024];        // both
};

struct h2_request_wanted {
	bool get;
	const char *authority;            // of the server
	const char *path;                 // with {?NAME} or {&NAME} where the message goes
	const char *media;                // type of messages
	const struct field_list *headers; // const char *: "name: value"; further ones
};

// Return NULL, or why a header is wrong, or why there is no such request: static text.
const char *h2_header_wrong(const char *text);
const char *h2_request_build(const struct h2_request_wanted *from, struct h2_request *out);
// Finds the expression of a path template, NULL: it has none, and the rest behind it. Returns false
// if the template is wrong.
bool h2_path_split(const char *path, const char **expression, const char **rest);

// An answer: head, and its length.
struct h2_answer {
	uint16_t table;
	struct h2_part head[H2_ENCODINGS];
};
void h2_answer_build(const char *media, struct h2_answer *out);

// Writes the head of a frame.
static inline void h2_put_head(
	uint8_t *to, uint32_t len, enum h2_type type, uint8_t flags, uint32_t stream)
{
	to[0] = (uint8_t)(len >> 16);
	bytes_put_be16(to + 1, (uint16_t)len);
	to[3] = (uint8_t)type;
	to[4] = flags;
	bytes_put_be32(to + 5, stream);
}

static inline uint32_t h2_len(const uint8_t *frame)
{
	return (uint32_t)frame[0] << 16 | bytes_be16(frame + 1);
}

// Write the HEADERS frame of a request for a message, or of an answer of len octets; len 0: it has
// no content. resized: size of the table, announced first; below 0: it is not. Return its length;
// 0: it exceeds room.
uint32_t h2_request_write(const struct h2_request *r, enum h2_encoding how, int32_t resized,
	uint32_t stream, const uint8_t *message, uint32_t len, uint8_t *to, uint32_t room);
uint32_t h2_answer_write(const struct h2_answer *a, enum h2_encoding how, int32_t resized,
	uint32_t stream, uint32_t status, uint32_t len, uint8_t *to, uint32_t room);

// Decodes base64url without padding. Returns the number of octets, up to room; 0: it is wrong.
uint32_t h2_base64url_read(const uint8_t *text, uint32_t len, uint8_t *to, uint32_t room);
