// SPDX-License-Identifier: BSD-3-Clause
// Path: hot | cold (hpack_bytes, hpack_init, the functions that write). The thread that owns it.
#include "net/hpack.h"

#include <string.h>

#define STATIC_LAST   61 // entries of the static table
#define INT_SHIFT_MAX 21 // integers below 2^28
#define CODE_SHORTEST 5
#define CODE_LONGEST  30
#define SYMBOLS       257 // octets, and the end of a string
#define STATUS_LEN    3

// Lengths of the codes of octets (RFC 7541 appendix B). The codes follow from them: they ascend by
// length, and within a length by octet.
static const uint8_t code_lengths[SYMBOLS] = {
	13,
	23,
	28,
	28,
	28,
	28,
	28,
	28,
	28,
	24,
	30,
	28,
	28,
	30,
	28,
	28,
	28,
	28,
	28,
	28,
	28,
	28,
	30,
	28,
	28,
	28,
	28,
	28,
	28,
	28,
	28,
	28,
	6,
	10,
	10,
	12,
	13,
	6,
	8,
	11,
	10,
	10,
	8,
	11,
	8,
	6,
	6,
	6,
	5,
	5,
	5,
	6,
	6,
	6,
	6,
	6,
	6,
	6,
	7,
	8,
	15,
	6,
	12,
	10,
	13,
	6,
	7,
	7,
	7,
	7,
	7,
	7,
	7,
	7,
	7,
	7,
	7,
	7,
	7,
	7,
	7,
	7,
	7,
	7,
	7,
	7,
	7,
	7,
	8,
	7,
	8,
	13,
	19,
	13,
	14,
	6,
	15,
	5,
	6,
	5,
	6,
	5,
	6,
	6,
	6,
	5,
	7,
	7,
	6,
	6,
	6,
	5,
	6,
	7,
	6,
	5,
	5,
	6,
	7,
	7,
	7,
	7,
	7,
	15,
	11,
	14,
	13,
	28,
	20,
	22,
	20,
	20,
	22,
	22,
	22,
	23,
	22,
	23,
	23,
	23,
	23,
	23,
	24,
	23,
	24,
	24,
	22,
	23,
	24,
	23,
	23,
	23,
	23,
	21,
	22,
	23,
	22,
	23,
	23,
	24,
	22,
	21,
	20,
	22,
	22,
	23,
	23,
	21,
	23,
	22,
	22,
	24,
	21,
	22,
	23,
	23,
	21,
	21,
	22,
	21,
	23,
	22,
	23,
	23,
	20,
	22,
	22,
	22,
	23,
	22,
	22,
	23,
	26,
	26,
	20,
	19,
	22,
	23,
	22,
	25,
	26,
	26,
	26,
	27,
	27,
	26,
	24,
	25,
	19,
	21,
	26,
	27,
	27,
	26,
	27,
	24,
	21,
	21,
	26,
	26,
	28,
	27,
	27,
	27,
	20,
	24,
	20,
	21,
	22,
	21,
	21,
	23,
	22,
	22,
	25,
	25,
	24,
	24,
	26,
	23,
	26,
	27,
	26,
	26,
	27,
	27,
	27,
	27,
	27,
	28,
	27,
	27,
	27,
	27,
	27,
	26,
	30,
};

// Codes by length: the first code, aligned to the left of 32 bits, where the next length begins,
// and where its octets are in `symbols`.
static struct {
	uint32_t first[CODE_LONGEST + 2];
	uint16_t index[CODE_LONGEST + 2];
	uint16_t symbols[SYMBOLS];
} codes;

// Path: cold. At the start of the program.
__attribute__((constructor)) static void codes_init(void)
{
	uint32_t code = 0, n = 0;

	for (uint32_t len = CODE_SHORTEST; len <= CODE_LONGEST; len++) {
		codes.first[len] = code << (32 - len);
		codes.index[len] = (uint16_t)n;
		for (uint32_t s = 0; s < SYMBOLS; s++)
			if (code_lengths[s] == len) {
				codes.symbols[n++] = (uint16_t)s;
				code++;
			}
		code *= 2;
	}
	codes.index[CODE_LONGEST + 1] = SYMBOLS;
}

// Reads a compressed string, and writes up to room octets of it. Returns its length; -1: it is
// wrong.
static int32_t huffman_read(const uint8_t *at, uint32_t len, uint8_t *out, uint32_t room)
{
	uint64_t bits = 0;
	uint32_t have = 0, n = 0;

	for (;;) {
		uint32_t top, length = CODE_SHORTEST, symbol;

		for (; have <= 56 && len; len--, have += 8)
			bits |= (uint64_t)*at++ << (56 - have);
		if (have == 0)
			return (int32_t)n;
		top = (uint32_t)(bits >> 32);
		while (length < CODE_LONGEST && top >= codes.first[length + 1])
			length++;
		if (length > have) // padding: fewer than 8 bits, all set
			return have < 8 && bits >> (64 - have) == (1u << have) - 1 ? (int32_t)n
			                                                           : -1;
		symbol = codes.symbols[codes.index[length] +
				       ((top - codes.first[length]) >> (32 - length))];
		if (symbol == SYMBOLS - 1)
			return -1;
		if (n < room)
			out[n] = (uint8_t)symbol;
		n++;
		bits <<= length;
		have -= length;
	}
}

size_t hpack_bytes(uint32_t limit, bool texts)
{
	size_t entries = 1;

	while (entries < limit / HPACK_OVERHEAD)
		entries *= 2;
	return (sizeof(struct hpack) + entries * sizeof(struct hpack_entry) +
		       (texts ? 2ull * limit : 0) + 7) &
	       ~7ull;
}

void hpack_init(struct hpack *h, uint32_t limit, bool texts)
{
	uint32_t entries = 1;

	while (entries < limit / HPACK_OVERHEAD)
		entries *= 2;
	*h = (struct hpack){.most = (uint16_t)limit,
		.limit = (uint16_t)limit,
		.mask = (uint16_t)(entries - 1),
		.texts = texts};
}

static void evict(struct hpack *h, uint32_t most)
{
	while (h->size > most)
		h->size -= h->entries[(h->first + --h->count) & h->mask].size;
}

// The texts of paths that are in the table take up to `limit` octets, in twice the room: a text
// without room at the end begins at the start.
static uint32_t text_keep(struct hpack *h, const uint8_t *text, uint32_t len)
{
	uint8_t *texts = (uint8_t *)(h->entries + h->mask + 1);

	if (h->text_at + len > 2u * h->limit)
		h->text_at = 0;
	memcpy(texts + h->text_at, text, len);
	h->text_at += (uint16_t)len;
	return (uint32_t)(h->text_at - len) << 16 | len;
}

static void insert(struct hpack *h, const struct hpack_field *f, uint32_t name_len)
{
	uint32_t size = name_len + f->len + HPACK_OVERHEAD;

	if (size > h->most) {
		evict(h, 0);
		return;
	}
	evict(h, h->most - size);
	h->first = (h->first - 1) & h->mask;
	h->count++;
	h->size += (uint16_t)size;
	h->entries[h->first] = (struct hpack_entry){.size = (uint16_t)size,
		.name = f->name,
		.name_len = (uint16_t)name_len,
		.code = f->name == HPACK_PATH && h->texts ? text_keep(h, f->text, f->len)
	                                                  : f->code};
}

// --- the static table

static const struct {
	uint8_t name;
	uint16_t code;
} static_fields[] = {
	[2] = {HPACK_METHOD, HPACK_GET},
	[3] = {HPACK_METHOD, HPACK_POST},
	[4] = {HPACK_PATH, 1},
	[5] = {HPACK_PATH, 11},
	[8] = {HPACK_STATUS, 200},
	[9] = {HPACK_STATUS, 204},
	[10] = {HPACK_STATUS, 206},
	[11] = {HPACK_STATUS, 304},
	[12] = {HPACK_STATUS, 400},
	[13] = {HPACK_STATUS, 404},
	[14] = {HPACK_STATUS, 500},
	[28] = {HPACK_LENGTH, 0},
	[31] = {HPACK_CONTENT_TYPE, 0},
	[STATIC_LAST] = {HPACK_OTHER, 0},
};

static const uint8_t name_lengths[STATIC_LAST + 1] = {0, 10, 7, 7, 5, 5, 7, 7, 7, 7, 7, 7, 7, 7, 7,
	14, 15, 15, 13, 6, 27, 3, 5, 13, 13, 19, 16, 16, 14, 16, 13, 12, 6, 4, 4, 6, 7, 4, 4, 8, 17,
	13, 8, 19, 13, 4, 8, 12, 18, 19, 5, 7, 7, 11, 6, 10, 25, 17, 10, 4, 3, 16};

static const struct {
	const char *text;
	uint8_t len, name;
} known_names[] = {{":status", 7, HPACK_STATUS}, {"content-type", 12, HPACK_CONTENT_TYPE},
	{":method", 7, HPACK_METHOD}, {":path", 5, HPACK_PATH},
	{"content-length", 14, HPACK_LENGTH}};

static enum hpack_name name_of(const uint8_t *text, uint32_t len)
{
	for (size_t i = 0; i < sizeof(known_names) / sizeof(known_names[0]); i++)
		if (known_names[i].len == len && memcmp(known_names[i].text, text, len) == 0)
			return (enum hpack_name)known_names[i].name;
	return HPACK_OTHER;
}

static uint32_t status_of(const uint8_t *text, uint32_t len)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < len && len == STATUS_LEN; i++) {
		if (text[i] < '0' || text[i] > '9')
			return 0;
		n = n * 10 + (uint32_t)(text[i] - '0');
	}
	return n;
}

// Parameters may follow a media type.
static bool media_is(const uint8_t *text, uint32_t len, const struct hpack_block *b)
{
	uint32_t n = b->media_len;

	return len >= n && memcmp(text, b->media, n) == 0 &&
	       (len == n || text[n] == ';' || text[n] == ' ');
}

static uint32_t length_of(const uint8_t *text, uint32_t len)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < len && n < UINT32_MAX; i++) {
		if (text[i] < '0' || text[i] > '9')
			return 0;
		n = 10 * n + (text[i] - '0');
	}
	return len == 0 ? 0 : n < UINT32_MAX ? (uint32_t)n + 1 : UINT32_MAX;
}

static uint32_t code_of(
	const struct hpack_block *b, enum hpack_name name, const uint8_t *text, uint32_t len)
{
	switch (name) {
	case HPACK_STATUS:
		return status_of(text, len);
	case HPACK_CONTENT_TYPE:
		return media_is(text, len, b);
	case HPACK_METHOD:
		if (len == 3 && memcmp(text, "GET", 3) == 0)
			return HPACK_GET;
		return len == 4 && memcmp(text, "POST", 4) == 0 ? HPACK_POST : HPACK_METHOD_OTHER;
	case HPACK_LENGTH:
		return length_of(text, len);
	case HPACK_PATH:
	case HPACK_OTHER:
		break;
	}
	return 0;
}

// --- reading

// Reads an integer whose prefix has this many bits. Returns false if it is wrong.
static bool int_read(struct hpack_block *b, uint32_t bits, uint32_t *value)
{
	uint32_t most = (1u << bits) - 1, shift = 0;

	*value = *b->at++ & most;
	if (*value < most)
		return true;
	for (; b->at < b->end && shift <= INT_SHIFT_MAX; shift += 7) {
		*value += (uint32_t)(*b->at & 0x7f) << shift;
		if (!(*b->at++ & 0x80))
			return true;
	}
	return false;
}

// Reads a string; *text points into the block, or to `scratch`. Returns its length; -1: it is
// wrong, or too long.
static int32_t text_read(struct hpack_block *b, uint8_t *scratch, const uint8_t **text)
{
	bool packed;
	uint32_t len;
	int32_t n;

	if (b->at >= b->end)
		return -1;
	packed = *b->at & 0x80;
	if (!int_read(b, 7, &len) || len > (size_t)(b->end - b->at))
		return -1;
	*text = b->at;
	b->at += len;
	n = (int32_t)len;
	if (packed) {
		*text = scratch;
		n = huffman_read(b->at - len, len, scratch, HPACK_TEXT);
	}
	return n <= (int32_t)HPACK_TEXT ? n : -1;
}

// Finds the field of an index. Returns the length of its name; -1: there is none.
static int32_t field_at(const struct hpack *h, uint32_t index, struct hpack_field *out)
{
	static const char roots[] = "/index.html";
	const struct hpack_entry *e;

	*out = (struct hpack_field){0};
	if (index == 0 || index > STATIC_LAST + (uint32_t)h->count)
		return -1;
	if (index <= STATIC_LAST) {
		out->name = (enum hpack_name)static_fields[index].name;
		out->code = static_fields[index].code;
		if (out->name == HPACK_PATH) {
			out->text = (const uint8_t *)roots;
			out->len = out->code;
		}
		return name_lengths[index];
	}
	e = &h->entries[(h->first + index - STATIC_LAST - 1) & h->mask];
	out->name = (enum hpack_name)e->name;
	out->code = e->code;
	if (out->name == HPACK_PATH && h->texts) {
		out->text = (const uint8_t *)(h->entries + h->mask + 1) + (e->code >> 16);
		out->len = e->code & 0xffff;
	}
	return e->name_len;
}

// Reads the name of a literal. Returns its length; -1: it is wrong.
static int32_t name_read(struct hpack_block *b, uint32_t index, struct hpack_field *out)
{
	const uint8_t *text;
	int32_t len;

	if (index) {
		len = field_at(b->table, index, out);
		*out = (struct hpack_field){.name = out->name};
		return len;
	}
	*out = (struct hpack_field){0};
	len = text_read(b, b->scratch, &text);
	if (len > 0)
		out->name = name_of(text, (uint32_t)len);
	return len;
}

static int literal_read(struct hpack_block *b, uint32_t bits, bool keep, struct hpack_field *out)
{
	int32_t name_len, len;
	uint32_t index;

	if (!int_read(b, bits, &index))
		return -1;
	name_len = name_read(b, index, out);
	if (name_len < 0)
		return -1;
	len = text_read(b, b->scratch + HPACK_TEXT, &out->text);
	if (len < 0)
		return -1;
	out->len = (uint32_t)len;
	out->code = code_of(b, out->name, out->text, out->len);
	if (keep)
		insert(b->table, out, (uint32_t)name_len);
	return 1;
}

int hpack_next(struct hpack_block *b, struct hpack_field *out)
{
	uint32_t value;

	while (b->at < b->end) {
		if (*b->at & 0x80) {
			b->began = true;
			return int_read(b, 7, &value) && field_at(b->table, value, out) >= 0 ? 1
			                                                                     : -1;
		}
		if ((*b->at & 0xe0) != 0x20) {
			bool keep = *b->at & 0x40;

			b->began = true;
			return literal_read(b, keep ? 6 : 4, keep, out);
		}
		// A new size of the table, in front of all fields.
		if (b->began || !int_read(b, 5, &value) || value > b->table->limit)
			return -1;
		b->table->most = (uint16_t)value;
		evict(b->table, value);
	}
	return 0;
}

// --- writing

void hpack_put_int(struct writer *w, uint8_t first, uint32_t bits, uint32_t value)
{
	uint32_t most = (1u << bits) - 1;

	if (value < most) {
		write_u8(w, (uint8_t)(first | value));
		return;
	}
	write_u8(w, (uint8_t)(first | most));
	for (value -= most; value >= 0x80; value >>= 7)
		write_u8(w, (uint8_t)(value | 0x80));
	write_u8(w, (uint8_t)value);
}

void hpack_put_text(struct writer *w, const char *text, uint32_t len)
{
	hpack_put_int(w, 0, 7, len);
	write_bytes(w, text, len);
}
