// SPDX-License-Identifier: BSD-3-Clause
// A counter is a row {name, unit, type, offset, help} beside the struct that holds it. stats/ walks
// the rows to write text and JSON; no other folder interprets them. Counters of the hot path are
// structs of uint64_t only: counter_sum adds any of them. Path: cold (rows) | hot (the structs
// themselves). One writer.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum counter_type {
	COUNTER_U64,     // uint64_t
	COUNTER_F64,     // double
	COUNTER_BOOL,    // bool
	COUNTER_STRING,  // const char *, NULL: left out
	COUNTER_ARRAY,   // uint64_t[length]: an object of the labels with a value above 0
	COUNTER_SECTION, // the struct of section in place: an object
	COUNTER_LIST,    // struct counter_list of section: an array of objects
	COUNTER_STRINGS, // struct counter_list of const char *: an array of strings
	COUNTER_CHOICE,  // struct counter_choice: an object under the choice's own name; NULL data:
	                 // left out
};

struct counter;

struct counter_section {
	const char *name;
	const char *help;
	const struct counter *rows;
	uint32_t count;
	size_t size;
	const char *fault; // counter of a protocol that makes the run invalid above 0, in the
	                   // warm-up too: the tester's fault; NULL: none
};

struct counter_list {
	const void *items;
	uint32_t count;
};

struct counter_choice {
	const struct counter_section *section;
	const void *data;
};

struct counter {
	const char *name;
	const char *help; // one line, no full stop
	const char *unit; // "ns", "s", "per_s", "packets", "1" (a ratio), NULL: a plain count
	enum counter_type type;
	size_t offset;
	uint32_t length;                  // COUNTER_ARRAY
	const char *(*label)(uint32_t i); // COUNTER_ARRAY: static text, never NULL for i < length
	const struct counter_section *section; // COUNTER_SECTION, COUNTER_LIST
	bool optional;     // COUNTER_SECTION: the place holds a pointer, NULL: left out;
	                   // COUNTER_LIST: left out when empty; COUNTER_U64: when 0
	bool gauge;        // COUNTER_U64: a setting, a number or a level, not a count
	bool level;        // a gauge that adds up over several machines
	bool sum;          // COUNTER_F64: adds up like a count
	bool key;          // COUNTER_STRING, COUNTER_U64: elements of a list that differ in it
	                   // are distinct
	bool all;          // COUNTER_BOOL: holds for several machines if it holds for each
	const char *stray; // COUNTER_U64 of stray replies: the reason; NULL for other counters
};

// Is the figure of a period the sum of the figures of its parts?
static inline bool counter_adds_up(const struct counter *r)
{
	return r->type == COUNTER_U64 ? !r->gauge : r->type == COUNTER_F64 && r->sum;
}

#define COUNTER_ROWS(table) .rows = (table), .count = sizeof(table) / sizeof((table)[0])

// Used in place of a help text: the row counts stray replies; why is the reason.
#define COUNTER_STRAY(why) "dropped: " why, .stray = why

// A table of counters, LIST(X, A) with rows X(member, help) and A(member, length, label, help),
// gives the members of their struct by LIST(COUNTER_MEMBER, COUNTER_MEMBERS) and their rows by
// LIST(COUNTER_MEMBER_ROW, COUNTER_ARRAY_ROW), where OFFSET(member) is the offset in that struct.
#define COUNTER_MEMBER(member, help)                 uint64_t member;
#define COUNTER_MEMBERS(member, length, label, help) uint64_t member[length];
#define COUNTER_MEMBER_ROW(member_, help_)                                                         \
	{.name = #member_, .help = help_, .type = COUNTER_U64, .offset = OFFSET(member_)},
#define COUNTER_ARRAY_ROW(member_, length_, label_, help_)                                         \
	{.name = #member_,                                                                         \
		.help = help_,                                                                     \
		.type = COUNTER_ARRAY,                                                             \
		.offset = OFFSET(member_),                                                         \
		.length = length_,                                                                 \
		.label = label_},

// to[i] = now[i] - before[i] over size bytes of uint64_t; size is a multiple of 8.
static inline void counter_difference(void *to, const void *now, const void *before, size_t size)
{
	uint64_t *t = (uint64_t *)to;
	const uint64_t *n = (const uint64_t *)now, *b = (const uint64_t *)before;

	for (size_t i = 0; i < size / sizeof(*t); i++)
		t[i] = n[i] - b[i];
}

// to[i] += from[i] over size bytes of uint64_t; size is a multiple of 8.
static inline void counter_sum(void *to, const void *from, size_t size)
{
	uint64_t *t = (uint64_t *)to;
	const uint64_t *f = (const uint64_t *)from;

	for (size_t i = 0; i < size / sizeof(*t); i++)
		t[i] += f[i];
}
