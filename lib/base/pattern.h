// SPDX-License-Identifier: BSD-3-Clause
// The typed template language of text, hex and address settings: "host-{client}", "{mac}",
// "{client:04x}", "{relay}", "{random:8}". Compiled at start into pieces; written per message
// without a format string. Knows no protocol. Path: cold (compile) | hot (write). Any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"

// Text: "{client}" decimal without leading zeros, "{client:N}" decimal with N = 1..20 digits,
// "{client:0Nx}" hexadecimal with N = 1..16 (leading zeros; digits that do not fit are cut at the
// front), "{mac}" as "02:00:00:00:00:01", "{relay}" and "{address}" dotted or as in RFC 5952,
// "{random:N}" N = 1..255 characters of a-z0-9, constant for a client during the run, "{{" a brace,
// "{file:N}" column N (from 1) of the client's line in a file, "{outer}" and "{inner}" the client's
// VLANs and "{vlan}" the only or inner one, in decimal. Hex: pairs of hex digits (white space and
// colons between them are skipped) and the same names, which give bytes: "{client:N}" N = 1..8
// bytes big endian (default 4), "{mac}" all of them, a VLAN 2, "{relay}" and "{address}" 4 or 16,
// "{random:N}" N = 1..255 bytes, "{file:N}" the bytes that the column has as pairs of hex digits.
enum pattern_kind { PATTERN_TEXT, PATTERN_HEX };

// Fields of a file, a row for each client. With row and column counted from 0, a field lies at
// bytes[at[i]] up to bytes[at[i + 1]], i = row * columns + column.
struct pattern_table {
	const uint8_t *bytes;
	const uint32_t *at;
	uint32_t rows, columns;
	const uint32_t *longest; // by column: bytes of a field, at most
};

// A name of the caller's in hex; its bytes differ between messages.
struct pattern_place {
	const char *name;
	uint32_t most; // bytes
};

struct pattern_bytes {
	const uint8_t *data;
	uint32_t len;
};

// 0: no such VLAN.
struct pattern_vlans {
	uint16_t outer, inner;
};

// The values for one message; addresses may be NULL if the pattern does not use them.
struct pattern_values {
	uint64_t client; // number of the client
	uint64_t seed;   // of {random}: differs between clients and between patterns' places
	struct pattern_vlans vlans;
	const uint8_t *mac;                 // as many bytes as pattern_clients.mac_len
	const uint8_t *relay;               // addr_len bytes of the pattern
	const uint8_t *address;             // likewise
	const struct pattern_bytes *places; // as in pattern_clients; NULL if there are none
};

enum pattern_piece_kind {
	PATTERN_LITERAL,
	PATTERN_CLIENT_DECIMAL, // width 0: as many digits as it has
	PATTERN_CLIENT_HEX,
	PATTERN_CLIENT_BYTES,
	PATTERN_MAC,
	PATTERN_RELAY,
	PATTERN_ADDRESS,
	PATTERN_RANDOM,
	PATTERN_FILE,  // width: the column, from 0
	PATTERN_PLACE, // width: its number
	PATTERN_OUTER,
	PATTERN_INNER,
	PATTERN_VLAN, // the inner one, or the only one
};

struct pattern_piece {
	uint8_t kind; // enum pattern_piece_kind
	uint16_t width;
	const uint8_t *literal; // PATTERN_LITERAL: width bytes
};

// Limits of the clients that use the pattern.
struct pattern_clients {
	uint64_t count;                     // numbers are below
	uint8_t mac_len;                    // bytes of a hardware address, 1 or more
	uint8_t addr_len;                   // 4 or 16: family of the addresses
	const struct pattern_table *table;  // NULL: no file
	const struct pattern_place *places; // the last one has no name; NULL: none
};

struct pattern {
	enum pattern_kind kind;
	const struct pattern_piece *pieces;
	uint32_t count;
	uint32_t max_len; // most bytes that it writes, for clients below pattern_clients.count
	bool fixed;       // literals only: the same bytes every time
	bool relay;       // has {relay}
	uint8_t addr_len; // of {relay} and {address}
	const struct pattern_table *table; // of {file}; NULL: it has none
};

// 0, or -EINVAL with the error and the allowed form in `what` (room bytes, "{x} is not ... (like
// host-{client})"; 200 hold them all). Up to 65535 characters of text. Memory is the arena's.
int pattern_compile(struct pattern *p, enum pattern_kind kind, const char *text,
	const struct pattern_clients *clients, struct arena *a, char *what, uint32_t room);

// Append the pattern's bytes; the writer fails if there is too little room.
void pattern_write(const struct pattern *p, const struct pattern_values *v, struct writer *w);
