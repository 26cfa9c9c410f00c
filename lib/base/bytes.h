// SPDX-License-Identifier: BSD-3-Clause
// Bounds-checked cursors over bytes of the wire with a sticky error: read or write straight on,
// check once. After an error every read gives 0 or NULL and every write does nothing. Path: hot.
// Any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct reader {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

struct writer {
	uint8_t *at;
	uint8_t *end;
	bool failed;
};

// Most names and questions have 16 to 32 bytes: two words that overlap, where a call costs more.
static inline bool bytes_equal(const uint8_t *a, const uint8_t *b, size_t len)
{
	uint64_t x[4], y[4];

	if (len - 16 > 16)
		return memcmp(a, b, len) == 0;
	memcpy(x, a, 16);
	memcpy(y, b, 16);
	memcpy(x + 2, a + len - 16, 16);
	memcpy(y + 2, b + len - 16, 16);
	return ((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]) | (x[3] ^ y[3])) == 0;
}

static inline void bytes_put(uint8_t *to, const uint8_t *from, size_t len)
{
	if (len - 16 <= 16) {
		memcpy(to, from, 16);
		memcpy(to + len - 16, from + len - 16, 16);
	} else {
		memcpy(to, from, len);
	}
}

// Numbers in network order, at any address.
static inline uint16_t bytes_be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

// A number as it lies on the wire, and back.
static inline uint32_t bytes_wire32(uint32_t v)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap32(v) : v;
}

static inline uint32_t bytes_be32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return bytes_wire32(v);
}

static inline uint64_t bytes_be64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap64(v) : v;
}

static inline void bytes_put_be16(uint8_t *p, uint16_t v)
{
	v = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap16(v) : v;
	memcpy(p, &v, sizeof(v));
}

static inline void bytes_add_be16(uint8_t *p, uint16_t n)
{
	bytes_put_be16(p, (uint16_t)(bytes_be16(p) + n));
}

static inline void bytes_put_be32(uint8_t *p, uint32_t v)
{
	v = bytes_wire32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void bytes_put_be64(uint8_t *p, uint64_t v)
{
	v = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap64(v) : v;
	memcpy(p, &v, sizeof(v));
}

static inline struct reader reader_of(const void *data, size_t len)
{
	return (struct reader){(const uint8_t *)data, (const uint8_t *)data + len, false};
}

static inline struct writer writer_of(void *data, size_t room)
{
	return (struct writer){(uint8_t *)data, (uint8_t *)data + room, false};
}

static inline size_t reader_left(const struct reader *r)
{
	return (size_t)(r->end - r->at);
}

static inline size_t writer_room(const struct writer *w)
{
	return (size_t)(w->end - w->at);
}

// The next len bytes, or NULL.
static inline const uint8_t *read_bytes(struct reader *r, size_t len)
{
	const uint8_t *p = r->at;

	if (r->failed || reader_left(r) < len) {
		r->failed = true;
		return NULL;
	}
	r->at += len;
	return p;
}

static inline uint8_t read_u8(struct reader *r)
{
	const uint8_t *p = read_bytes(r, 1);

	return p ? *p : 0;
}

static inline uint16_t read_be16(struct reader *r)
{
	const uint8_t *p = read_bytes(r, 2);

	return p ? bytes_be16(p) : 0;
}

static inline uint32_t read_be32(struct reader *r)
{
	const uint8_t *p = read_bytes(r, 4);

	return p ? bytes_be32(p) : 0;
}

// Place for the next len bytes, or NULL.
static inline uint8_t *write_space(struct writer *w, size_t len)
{
	uint8_t *p = w->at;

	if (w->failed || writer_room(w) < len) {
		w->failed = true;
		return NULL;
	}
	w->at += len;
	return p;
}

static inline void write_bytes(struct writer *w, const void *data, size_t len)
{
	uint8_t *p = write_space(w, len);

	if (p)
		memcpy(p, data, len);
}

static inline void write_u8(struct writer *w, uint8_t v)
{
	uint8_t *p = write_space(w, 1);

	if (p)
		*p = v;
}

static inline void write_be16(struct writer *w, uint16_t v)
{
	uint8_t *p = write_space(w, 2);

	if (p)
		bytes_put_be16(p, v);
}

static inline void write_be32(struct writer *w, uint32_t v)
{
	uint8_t *p = write_space(w, 4);

	if (p)
		bytes_put_be32(p, v);
}
