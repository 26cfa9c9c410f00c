// SPDX-License-Identifier: BSD-3-Clause
// Options of the configuration as patterns, one for each option that differs between clients, with
// their limits checked. Messages are the family's. Path: cold (making) | hot (the structs).
// Management thread.
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "base/pattern.h"
#include "proto/dhcp/client/dhcp_settings.h"

// An option or sub-option that differs between clients.
struct dhcp_varying {
	uint16_t code;
	bool has_enterprise, has_len; // has_len: a length of two bytes before the pattern
	bool whole;                   // the pattern writes options, with their heads
	uint32_t enterprise;          // in front of the pattern, when has_enterprise
	uint16_t steps;               // that have it, a bit each; 0: all
	uint64_t salt;                // of {random}
	struct pattern pattern;
};

struct dhcp_varying_list {
	struct dhcp_varying *items;
	uint32_t count;
};

struct dhcp_plan;

// State of one item while its messages are made.
struct dhcp_build {
	struct dhcp_plan *plan;
	const struct dhcp_settings *settings;
	struct arena *arena;
	struct diag *d;
	struct pattern_clients clients;
	uint32_t option_room; // of a value in the file
	uint16_t usual;       // steps with options of the user that name none, a bit each
	bool relayed;
	uint64_t salt;
	bool failed;
	struct dhcp_varying_list fixed; // options of the user that are the same for all
};

// An option that the user must not write in these places (a bit each), and the reason. The last one
// has none.
struct dhcp_taken {
	uint32_t code;
	uint8_t in;
	const char *why;
};

#define DHCP_PIECE 255 // bytes of an option of DHCPv4

// The number of options that an option of len bytes takes.
static inline uint32_t dhcp_pieces(uint32_t len)
{
	return len > DHCP_PIECE ? 1 + (len - 1) / DHCP_PIECE : 1;
}

#define DHCP_NEEDED "is written as the message needs it"

#define DHCP_COMPLAIN(b, ...) ((b)->failed = true, diag_error((b)->d, __VA_ARGS__))

// room: of lists, beside the options of the user; has: enum dhcp_has of messages with options.
void dhcp_build_begin(struct dhcp_build *b, struct dhcp_plan *p, const struct dhcp_settings *s,
	uint32_t option_room, uint32_t room, uint16_t has, struct diag *d);
// The reason against an option in this place; NULL: the user may write it.
const char *dhcp_taken_why(const struct dhcp_taken *taken, uint64_t code, uint8_t in);
// Options that are the same for all clients; wide: as dhcp_option_begin has it.
void dhcp_build_fixed(const struct dhcp_build *b, uint32_t step, bool wide, struct writer *w);
// The message of a step that is given as a whole; NULL: it is not, or it complained.
const struct dhcp_varying *dhcp_build_raw(
	struct dhcp_build *b, uint32_t step, const struct pattern_place *places, uint32_t room);
// The setting `fqdn`, if it is given: option `code`; no_update: its N flag (RFC 4702, RFC 4704).
void dhcp_build_fqdn(struct dhcp_build *b, uint16_t code, uint32_t room, uint8_t no_update);

// The setting at `where` to a pattern that has up to room bytes. false: it complained.
bool dhcp_template_compile(struct dhcp_build *b, struct dhcp_varying *v, enum pattern_kind kind,
	const char *const *where, uint32_t room);
// Likewise for a value that must not change between messages of a client: no {address}. text need
// not be a setting's.
bool dhcp_template_identity(struct dhcp_build *b, struct dhcp_varying *v, enum pattern_kind kind,
	const char *text, const void *where, uint32_t room);
bool dhcp_template_has_address(const struct dhcp_varying *v);
// The value of an option; complaints name `code`.
bool dhcp_template_value(struct dhcp_build *b, struct dhcp_varying *v, const void *code,
	const struct dhcp_value_settings *s);
// The options that replies must have, into the plan; most: the highest code.
void dhcp_build_expected(struct dhcp_build *b, const struct field_list *list, uint64_t most);
// Bytes that are the same for all clients.
void dhcp_template_literal(
	struct dhcp_build *b, struct dhcp_varying *v, const void *data, uint32_t len);
// A list with room for this number of options.
struct dhcp_varying_list dhcp_list_make(struct dhcp_build *b, uint32_t room);
void dhcp_list_add(struct dhcp_varying_list *l, const struct dhcp_varying *v);
static inline bool dhcp_varying_is_in(const struct dhcp_varying *v, uint32_t step)
{
	return !v->steps || v->steps >> step & 1;
}

// Most bytes of those of this step, each with a head in front.
uint32_t dhcp_list_room(const struct dhcp_varying_list *l, uint32_t step, uint32_t head);

// The head of an option, code and length; each has one byte, in DHCPv6 (wide) two. NULL: no room.
uint8_t *dhcp_option_begin(struct writer *w, uint16_t code, bool wide);
// Its length is known. One of DHCPv4 above 255 bytes becomes several (RFC 3396).
void dhcp_option_end(struct writer *w, uint8_t *head, bool wide);
// The values of a client in what differs; the seed is the client's.
void dhcp_varying_write(
	const struct pattern_values *client, const struct dhcp_varying *v, struct writer *w);
void dhcp_varying_options(const struct pattern_values *client, const struct dhcp_varying_list *l,
	uint32_t step, bool wide, struct writer *w);
// The client's name, if there is one (RFC 4702 section 2, RFC 4704 section 4).
void dhcp_fqdn_write(const struct pattern_values *client, const struct dhcp_plan *p, bool wide,
	struct writer *w);

// The name alone, as labels.
void dhcp_fqdn_name(
	const struct pattern_values *client, const struct dhcp_plan *p, struct writer *w);
