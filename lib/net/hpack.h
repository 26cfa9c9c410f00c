// SPDX-License-Identifier: BSD-3-Clause
// Header compression of HTTP/2 (RFC 7541): reads header blocks, and writes integers and literals.
// The table of a reader keeps meanings, not texts: eight octets an entry. Paths
// are kept as text if there is memory for it, as a server needs them.
// Path: hot | cold (hpack_bytes, hpack_init, the functions that write). The thread that owns it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define HPACK_TABLE    4096u  // octets of a table, unless SETTINGS_HEADER_TABLE_SIZE differs
#define HPACK_OVERHEAD 32u    // octets of an entry beside its name and value
#define HPACK_TEXT     16384u // octets of the longest value that is read

// Fields that matter; all others are HPACK_OTHER.
enum hpack_name {
	HPACK_OTHER,
	HPACK_STATUS,       // code: the number
	HPACK_CONTENT_TYPE, // code: 1: the expected one
	HPACK_METHOD,       // code: enum hpack_method
	HPACK_PATH,         // text
	HPACK_LENGTH,       // code: content-length plus 1, at most UINT32_MAX; 0: no number
};
enum hpack_method { HPACK_METHOD_OTHER, HPACK_GET, HPACK_POST };

struct hpack_entry {
	uint16_t size;
	uint16_t name : 3; // enum hpack_name
	uint16_t name_len : 13;
	uint32_t code; // of a path: where its text is, and its length
};

struct hpack {
	uint16_t size;         // octets in the table, as RFC 7541 section 4.1 counts them
	uint16_t most, limit;  // of size: chosen by the writer, and announced by the reader
	uint16_t first, count; // the newest entry
	uint16_t mask;         // of the number of entries
	uint16_t text_at;      // where the next path begins
	bool texts;            // paths are kept behind the entries
	struct hpack_entry entries[];
};

struct hpack_field {
	enum hpack_name name;
	uint32_t code;
	const uint8_t *text; // of HPACK_PATH, valid until the next field is read
	uint32_t len;
};

// A header block that is being read.
struct hpack_block {
	struct hpack *table;
	const uint8_t *at, *end;
	const char *media; // content-type that is expected
	uint32_t media_len;
	uint8_t *scratch; // [2 * HPACK_TEXT]
	bool began;       // a field was read
};

// Octets of a table with this limit, up to HPACK_TABLE; a multiple of 8.
size_t hpack_bytes(uint32_t limit, bool texts);
// memory: hpack_bytes octets, aligned to 4.
void hpack_init(struct hpack *h, uint32_t limit, bool texts);
// Reads the next field. Returns 1, 0 at the end of the block, or -1 if the block is wrong.
int hpack_next(struct hpack_block *b, struct hpack_field *out);

// Appends an integer behind the upper bits of its first octet (RFC 7541 section 5.1). bits: of the
// prefix.
void hpack_put_int(struct writer *w, uint8_t first, uint32_t bits, uint32_t value);
// Appends a string without compression.
void hpack_put_text(struct writer *w, const char *text, uint32_t len);
