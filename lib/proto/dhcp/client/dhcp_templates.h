// SPDX-License-Identifier: BSD-3-Clause
// Options of the configuration as patterns, one per option that differs between clients, with their
// limits checked. Messages belong to the family. Path: cold (making) | hot (the structs).
// Management thread.
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "base/pattern.h"
#include "proto/dhcp/client/dhcp_settings.h"

// An option or sub-option that differs between clients.
struct dhcp_varying {
	uint16_t code;
	bool has_enterprise, has_len; // has_len: a two-byte length precedes the pattern
	bool whole;                   // the pattern writes complete options, including heads
	uint32_t enterprise;          // precedes the pattern, if has_enterprise
	uint16_t steps;               // steps that carry it, a bit each; 0: all
	uint64_t salt;                // for {random}
	struct pattern pattern;
};

struct dhcp_varying_list {
	struct dhcp_varying *items;
	uint32_t count;
};

struct dhcp_plan;
struct dhcp_worker;

// State of one item while its messages are built.
struct dhcp_build {
	struct dhcp_plan *plan;
	const struct dhcp_settings *settings;
	struct arena *arena;
	struct diag *d;
	struct pattern_clients clients;
	uint32_t option_room; // for a value in the file
	uint16_t usual;       // steps of user options that name none, a bit each
	bool relayed;
	uint64_t salt;
	bool failed;
	struct dhcp_varying_list fixed; // user options with client-independent values
};

// An option that the user must not set in these places (a bit each), and the reason. Terminated by
// an entry without a reason.
struct dhcp_taken {
	uint32_t code;
	uint8_t in;
	const char *why;
};

#define DHCP_PIECE 255 // bytes of an option of DHCPv4

// Number of options needed for len bytes.
static inline uint32_t dhcp_pieces(uint32_t len)
{
	return len > DHCP_PIECE ? 1 + (len - 1) / DHCP_PIECE : 1;
}

#define DHCP_NEEDED "is written as the message needs it"

#define DHCP_COMPLAIN(b, ...) ((b)->failed = true, diag_error((b)->d, __VA_ARGS__))

// room: list entries beside the user's options; has: enum dhcp_has of messages with options.
void dhcp_build_begin(struct dhcp_build *b, struct dhcp_plan *p, const struct dhcp_settings *s,
	uint32_t option_room, uint32_t room, uint16_t has, struct diag *d);
// Why an option is not allowed in this place; NULL: it is.
const char *dhcp_taken_why(const struct dhcp_taken *taken, uint64_t code, uint8_t in);
// Write the options with client-independent values; wide: as in dhcp_option_begin.
void dhcp_build_fixed(const struct dhcp_build *b, uint32_t step, bool wide, struct writer *w);
// The raw message of a step; NULL: none is given, or an error was reported.
const struct dhcp_varying *dhcp_build_raw(
	struct dhcp_build *b, uint32_t step, const struct pattern_place *places, uint32_t room);
// Build option `code` from the setting `fqdn`, if any; no_update: its N flag (RFC 4702, RFC 4704).
void dhcp_build_fqdn(struct dhcp_build *b, uint16_t code, uint32_t room, uint8_t no_update);

// Compile the setting at `where` to a pattern of up to room bytes. false: an error was reported.
bool dhcp_template_compile(struct dhcp_build *b, struct dhcp_varying *v, enum pattern_kind kind,
	const char *const *where, uint32_t room);
// Likewise for a value that must be constant for a client: no {address}. text may come from
// elsewhere.
bool dhcp_template_identity(struct dhcp_build *b, struct dhcp_varying *v, enum pattern_kind kind,
	const char *text, const void *where, uint32_t room);
bool dhcp_template_has_address(const struct dhcp_varying *v);
// Compile the value of an option; errors refer to `code`.
bool dhcp_template_value(struct dhcp_build *b, struct dhcp_varying *v, const void *code,
	const struct dhcp_value_settings *s);
// Compile the options required in replies into the plan; most: the highest code.
void dhcp_build_expected(struct dhcp_build *b, const struct field_list *list, uint64_t most);
// Does the option of a reply (NULL: missing) have the expected value? Records mismatches.
bool dhcp_expected_check(struct dhcp_worker *w, const struct pattern_values *client, uint32_t place,
	const uint8_t *data, uint32_t len);
// A constant value for all clients.
void dhcp_template_literal(
	struct dhcp_build *b, struct dhcp_varying *v, const void *data, uint32_t len);
// Create a list with room for this number of options.
struct dhcp_varying_list dhcp_list_make(struct dhcp_build *b, uint32_t room);
void dhcp_list_add(struct dhcp_varying_list *l, const struct dhcp_varying *v);
static inline bool dhcp_varying_is_in(const struct dhcp_varying *v, uint32_t step)
{
	return !v->steps || v->steps >> step & 1;
}

// Maximum number of bytes of the step's options, each with a head.
uint32_t dhcp_list_room(const struct dhcp_varying_list *l, uint32_t step, uint32_t head);

// Write the head of an option, code and length: one byte each, in DHCPv6 (wide) two. NULL: no room.
uint8_t *dhcp_option_begin(struct writer *w, uint16_t code, bool wide);
// Fill in the length. In DHCPv4, an option above 255 bytes becomes several (RFC 3396).
void dhcp_option_end(struct writer *w, uint8_t *head, bool wide);
// Write a client's values; the seed is the client's.
void dhcp_varying_write(
	const struct pattern_values *client, const struct dhcp_varying *v, struct writer *w);
void dhcp_varying_options(const struct pattern_values *client, const struct dhcp_varying_list *l,
	uint32_t step, bool wide, struct writer *w);
// Write the client's name, if there is one (RFC 4702 section 2, RFC 4704 section 4).
void dhcp_fqdn_write(const struct pattern_values *client, const struct dhcp_plan *p, bool wide,
	struct writer *w);

// Write only the name, as labels.
void dhcp_fqdn_name(
	const struct pattern_values *client, const struct dhcp_plan *p, struct writer *w);
