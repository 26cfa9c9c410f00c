// SPDX-License-Identifier: BSD-3-Clause
// The table of holders: open addressing by cache lines, where a cell is one word that changes
// atomically. The cell of an address is in a line between its home and the home's reach, which only
// grows. To take an empty cell, a thread marks it, looks at all other cells of the address, empties
// marked ones, and only then makes its own hold; this fails if another thread has emptied it
// meanwhile. Of two threads that take cells for an address, at least one sees the other's cell,
// because each marks its own before it looks.
// Path: hot (hold, drop, find, expect) | cold (init, free, memory). Any thread.

#include "proto/dhcp/client/lease/dhcp_holders.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "proto/dhcp/client/lease/dhcp_ring.h"

#define LINES_BITS_MIN 5  // room for cells being taken by several threads
#define LINES_BITS_MAX 29 // of the 30 bits of an address that select its home
#define HOME_BITS      30
#define ADDRESS_BITS   32
#define AWAY_BITS      8
#define LATER_SHIFT    6 // times in the upper half are in units of 64 s

// At most two thirds full.
static uint8_t lines_bits(uint64_t owners)
{
	uint8_t bits = LINES_BITS_MIN;

	while (bits < LINES_BITS_MAX && (uint64_t)DHCP_HOLDERS_LINE << bits < owners + owners / 2)
		bits++;
	return bits;
}

uint64_t dhcp_holders_memory(uint64_t owners)
{
	return (DHCP_HOLDERS_LINE * sizeof(uint64_t) + 1) << lines_bits(owners);
}

int dhcp_holders_init(struct dhcp_holders *h, uint64_t owners, bool several)
{
	uint8_t bits = lines_bits(owners);
	uint64_t lines = 1ull << bits;

	*h = (struct dhcp_holders){.several = several};
	if (owners >= DHCP_UNWATCHED || owners + owners / 2 > lines * DHCP_HOLDERS_LINE)
		return -ENOMEM;
	h->line_mask = (uint32_t)(lines - 1);
	h->furthest = lines - 1 < UINT8_MAX ? (uint32_t)(lines - 1) : UINT8_MAX;
	h->home_shift = HOME_BITS - bits;
	h->away_shift = ADDRESS_BITS - bits;
	h->owner_shift = h->away_shift + AWAY_BITS;
	h->until_shift = (uint8_t)(h->owner_shift + (owners ? 64 - __builtin_clzll(owners) : 0));
	h->tags = (1ull << h->owner_shift) - 1;
	h->forever = UINT64_MAX >> h->until_shift;
	h->cells = dhcp_table_alloc(lines * DHCP_HOLDERS_LINE * sizeof(*h->cells));
	h->reach = dhcp_table_alloc(lines);
	if (h->cells && h->reach)
		return 0;
	dhcp_holders_free(h);
	return -ENOMEM;
}

void dhcp_holders_free(struct dhcp_holders *h)
{
	free(h->cells);
	free(h->reach);
	*h = (struct dhcp_holders){0};
}

#define LINE      DHCP_HOLDERS_LINE
#define HOME_MASK 0x3fffffffu

struct home {
	uint32_t line, first; // first: cell of a line to try first
	uint64_t rest;        // of the address, as stored in a cell
	const void *key;
};

struct gap {
	_Atomic uint64_t *cell; // empty
	uint64_t tag;           // of the address in that cell
};

struct lease {
	uint32_t owner;
	uint64_t until;
};

// Four neighbours share a home, because servers usually assign addresses in order. The product is
// unique for each group of four; rest is the part that the line does not determine.
static inline struct home home_of(const struct dhcp_holders *h, struct dhcp_held what)
{
	uint32_t address = what.number;
	uint32_t spread = (address >> 2) * 0x9e3779b1u & HOME_MASK;
	uint32_t rest = spread & ((1u << h->home_shift) - 1);

	return (struct home){
		spread >> h->home_shift, address & (LINE - 1), rest << 2 | (address & 3), what.key};
}

static inline uint64_t until_of(const struct dhcp_holders *h, uint64_t word)
{
	return word >> h->until_shift;
}

// A time as stored in a cell, whose minimum of 20 bits covers 12 days: in seconds in the lower
// half, coarser in the upper half, which ends after a year.
static inline uint64_t time_of(const struct dhcp_holders *h, uint32_t s)
{
	uint64_t half = h->forever / 2;

	return s < half ? s : half + ((s - half) >> LATER_SHIFT);
}

static inline uint32_t owner_of(const struct dhcp_holders *h, uint64_t word)
{
	uint64_t mask = (1ull << (h->until_shift - h->owner_shift)) - 1;

	return (uint32_t)((word >> h->owner_shift & mask) - 1);
}

static inline uint64_t word_of(const struct dhcp_holders *h, uint64_t tag, const struct lease *l)
{
	return l->until << h->until_shift | (l->owner + 1ull) << h->owner_shift | tag;
}

static inline bool is_running(const struct dhcp_holders *h, uint64_t word, uint32_t now_s)
{
	return until_of(h, word) > time_of(h, now_s) || until_of(h, word) == h->forever;
}

static inline _Atomic uint64_t *line_at(
	const struct dhcp_holders *h, const struct home *at, uint32_t away)
{
	return h->cells + (uint64_t)((at->line + away) & h->line_mask) * LINE;
}

// Change the cell from `seen` to `next`, unless another thread has changed it.
static inline bool change(
	const struct dhcp_holders *h, _Atomic uint64_t *cell, uint64_t seen, uint64_t next)
{
	if (h->several)
		return atomic_compare_exchange_strong(cell, &seen, next);
	atomic_store_explicit(cell, next, memory_order_relaxed);
	return true;
}

// Cells at which seek stops: SEE_ALL includes cells that are only marked.
enum see { SEE_ALL, SEE_HELD };

// Does a cell with the right tag belong to the address, and is it of the wanted kind?
static inline bool is_found(
	const struct dhcp_holders *h, const struct home *at, enum see which, uint64_t seen)
{
	if (seen == 0 || (which == SEE_HELD && !until_of(h, seen)))
		return false;
	return !h->same || h->same(h->of, owner_of(h, seen), at->key);
}

// A cell of the address other than `mine`, with its word; NULL: none.
static inline __attribute__((always_inline)) _Atomic uint64_t *seek(const struct dhcp_holders *h,
	const struct home *at, const _Atomic uint64_t *mine, enum see which, uint64_t *word)
{
	uint32_t reach = atomic_load(&h->reach[at->line]);

	for (uint32_t away = 0; away <= reach; away++) {
		_Atomic uint64_t *line = line_at(h, at, away);
		uint64_t tag = (uint64_t)away << h->away_shift | at->rest;

#pragma GCC unroll 8
		for (uint32_t i = 0; i < LINE; i++) {
			uint64_t seen = atomic_load(&line[i]);

			if (__builtin_expect(((seen ^ tag) & h->tags) != 0, 1) ||
				&line[i] == mine || !is_found(h, at, which, seen))
				continue;
			*word = seen;
			return &line[i];
		}
	}
	return NULL;
}

static void reach_raise(struct dhcp_holders *h, uint32_t line, uint8_t away)
{
	uint8_t reach = atomic_load(&h->reach[line]);

	while (reach < away && !atomic_compare_exchange_weak(&h->reach[line], &reach, away))
		;
}

// Find an empty cell. Raises the reach first, so that all later searches include the cell.
static inline bool gap_find(struct dhcp_holders *h, const struct home *at, struct gap *gap)
{
	for (uint32_t away = 0; away <= h->furthest; away++) {
		_Atomic uint64_t *line = line_at(h, at, away);

		for (uint32_t i = 0; i < LINE; i++) {
			_Atomic uint64_t *cell = &line[(at->first + i) % LINE];

			if (atomic_load(cell))
				continue;
			if (away)
				reach_raise(h, at->line, (uint8_t)away);
			*gap = (struct gap){cell, (uint64_t)away << h->away_shift | at->rest};
			return true;
		}
	}
	return false;
}

// Make the marked cell hold, unless another cell holds or this one was emptied by another thread.
static __attribute__((noinline)) bool confirm(struct dhcp_holders *h, const struct home *at,
	const struct gap *mine, const struct lease *lease)
{
	uint64_t marked = word_of(h, mine->tag, &(struct lease){lease->owner, 0}), seen;
	_Atomic uint64_t *other;

	while ((other = seek(h, at, mine->cell, SEE_ALL, &seen))) {
		if (until_of(h, seen)) {
			change(h, mine->cell, marked, 0);
			return false;
		}
		change(h, other, seen, 0);
	}
	return change(h, mine->cell, marked, word_of(h, mine->tag, lease));
}

enum taken { TAKEN, TAKEN_NOT_NOW, TAKEN_NO_ROOM };

static inline enum taken take(
	struct dhcp_holders *h, const struct home *at, const struct lease *lease)
{
	struct lease first = {lease->owner, h->several ? 0 : lease->until};
	struct gap gap;

	if (!gap_find(h, at, &gap))
		return TAKEN_NO_ROOM;
	return change(h, gap.cell, 0, word_of(h, gap.tag, &first)) &&
	                       (!h->several || confirm(h, at, &gap, lease))
	               ? TAKEN
	               : TAKEN_NOT_NOW;
}

uint32_t dhcp_holders_hold(struct dhcp_holders *h, struct dhcp_held what, uint32_t owner,
	uint32_t until_s, uint32_t now_s)
{
	uint64_t until = time_of(h, until_s ? until_s : 1);
	const struct lease lease = {
		owner, until_s != UINT32_MAX && until < h->forever ? until : h->forever};
	struct home at = home_of(h, what);

	for (;;) {
		uint64_t seen;
		_Atomic uint64_t *cell = seek(h, &at, NULL, SEE_ALL, &seen);

		if (!cell) {
			enum taken how = take(h, &at, &lease);

			if (how != TAKEN_NOT_NOW)
				return how == TAKEN ? DHCP_NOBODY : DHCP_UNWATCHED;
		} else if (!until_of(h, seen)) {
			change(h, cell, seen, 0);
		} else if (owner_of(h, seen) != owner && is_running(h, seen, now_s)) {
			return owner_of(h, seen);
		} else if (change(h, cell, seen, word_of(h, seen & h->tags, &lease))) {
			return DHCP_NOBODY;
		}
	}
}

// No effect if another owner has taken over an expired lease.
void dhcp_holders_drop(struct dhcp_holders *h, struct dhcp_held what, uint32_t owner)
{
	struct home at = home_of(h, what);
	uint64_t seen;
	_Atomic uint64_t *cell = seek(h, &at, NULL, SEE_HELD, &seen);

	if (cell && owner_of(h, seen) == owner)
		change(h, cell, seen, 0);
}

uint32_t dhcp_holders_find(const struct dhcp_holders *h, struct dhcp_held what, uint32_t now_s)
{
	struct home at = home_of(h, what);
	uint64_t seen;

	return seek(h, &at, NULL, SEE_HELD, &seen) && is_running(h, seen, now_s) ? owner_of(h, seen)
	                                                                         : DHCP_NOBODY;
}

void dhcp_holders_expect(const struct dhcp_holders *h, uint32_t number)
{
	struct home at = home_of(h, (struct dhcp_held){number, NULL});

	__builtin_prefetch(line_at(h, &at, 0), 1);
	__builtin_prefetch(&h->reach[at.line]);
}
