// SPDX-License-Identifier: BSD-3-Clause
// The built-in DHCP server of both families (`responder` in configurations): settings, counters,
// the result of set-up, and the state of a worker. A family adds its own settings, options and
// times. Messages are in dhcp4_answer.h and dhcp6_answer.h, leases in dhcp_pool.h. Path: cold
// (set-up) | hot (structs). Management thread; the responder's thread.
#pragma once

#include "base/addr.h"
#include "base/bytes.h"
#include "base/counter.h"
#include "base/diag.h"
#include "base/field.h"
#include "proto/dhcp/client/dhcp_client.h"
#include "proto/dhcp/server/dhcp_pool.h"
#include "proto/proto.h"

#define DHCP_READY_MAX       6
#define DHCP_READY_ROOM      516 // the longest option: 32 IPv6 addresses
#define DHCP_SERVER_TYPES    18  // message types of either family
#define DHCP_SERVER_STATUSES 12
#define DHCP_SERVER_BADS     8 // kinds of invalid RECONFIGUREs

enum dhcp_kind { DHCP_ADDRESSES, DHCP_PREFIXES, DHCP_KINDS }; // of leases

// First member of a family's own settings. UINT64_MAX: auto; for lease times: forever.
struct dhcp_answers_settings {
	struct field_list pool;     // struct addr_range
	struct field_list prefixes; // struct addr_prefix; DHCPv6 only, like prefix_length
	uint64_t prefix_length;
	uint64_t clients;  // maximum leases of either kind; UINT64_MAX: as many as addresses
	uint64_t lease_ns; // lease time, or valid lifetime
	uint64_t preferred_ns, t1_ns, t2_ns; // DHCPv4 has no preferred lifetime
	struct field_list dns;               // struct addr
	const char *domain;                  // NULL: none
	bool rapid, authoritative;
	bool full_pool;                       // fewer leases than clients are intended
	uint64_t address_twice, prefix_twice; // 0: never
};

// Rows of both families: X(member, help), A(member, length, label, help); of a single family: X4,
// or X6 and A6. Each message is counted in received, and again in answered or in a row for messages
// without a reply (in DHCPv4 including released and declined). DHCP_TYPE_LABEL is the family's.
// clang-format off
#define DHCP_ANSWER_COUNTERS(X, A, X4, X6, A6)                                                    \
	X(received, "messages received")                                                          \
	A(type, DHCP_SERVER_TYPES, DHCP_TYPE_LABEL, "messages received by type, without relay messages") \
	X6(relayed, "messages received through relays")                                           \
	A(sent, DHCP_SERVER_TYPES, DHCP_TYPE_LABEL, "replies by type")                            \
	A6(status, DHCP_SERVER_STATUSES, dhcp6_status_name, "status codes in replies")            \
	X(answered, "messages answered")                                                          \
	X(released, "leases released")                                                            \
	X(declined, "addresses declined; they rest for the lease time")                           \
	X4(pool_full, "DISCOVERs not answered: no address is left")                               \
	X(other_server, "messages not answered: for another server")                              \
	X4(unknown_client, "messages not answered: the client has no such lease")                 \
	X(ignored, "messages not answered: not sent by a client, a CONFIRM without addresses, or the reply has no room") \
	X(malformed, "messages not answered: not well formed, a required option is missing or a forbidden one present") \
	X(rapid, "messages answered with a lease at once (rapid commit)")                         \
	X(expired, "leases given to another client because their time had passed")                \
	X6(ias_ignored, "IAs beyond the eighth of a message; they get no reply")                  \
	X(bulk_queries, "lease queries over connections, answered to their end")                  \
	X(bulk_bindings, BULK_BINDINGS_HELP)                                                      \
	X(bulk_dropped, "lease queries over connections that ended before their answer")          \
	X(address_twice, "addresses offered on purpose that another client has")                  \
	X6(prefix_twice, "prefixes offered on purpose that another client has") \
	X6(reconfigures, "RECONFIGUREs made")                                                     \
	A6(reconfigure_bad, DHCP_SERVER_BADS, dhcp6_bad_label, "of them, bad on purpose, by reason")
// clang-format on
#define BULK_BINDINGS_HELP "bindings sent over connections: leases of DHCPv4, clients of DHCPv6"

struct dhcp_answer_counters {
	DHCP_ANSWER_COUNTERS(
		COUNTER_MEMBER, COUNTER_MEMBERS, COUNTER_MEMBER, COUNTER_MEMBER, COUNTER_MEMBERS)
};

// An option ready to be copied, including code and length.
struct dhcp_ready {
	uint16_t code;
	uint16_t len;
	uint8_t bytes[DHCP_READY_ROOM];
};

// Created by dhcp_server_setup, then const; first member of the family's own.
struct dhcp_answers {
	const struct dhcp_server_family *family;
	struct dhcp_range ranges[DHCP_KINDS][DHCP_RANGES_MAX];
	uint32_t range_count[DHCP_KINDS];
	uint32_t leases[DHCP_KINDS]; // records
	uint32_t step[DHCP_KINDS];   // as in struct dhcp_pool
	uint64_t twice[DHCP_KINDS];  // as in struct dhcp_pool
	uint64_t seed;               // of the hashes
	uint32_t lease_s, preferred_s, t1_s, t2_s;
	bool rapid, authoritative;
	struct dhcp_ready ready[DHCP_READY_MAX]; // for clients that request them
	uint32_t ready_count;
	size_t lease_size; // of a record; the family's, unless its settings need more
	uint64_t after_ns; // delay of the RECONFIGURE after a REPLY; 0: none is sent
};

#define DHCP_BULK_HEAD 44 // bytes of a DHCPv4 header, up to the hardware address

// A lease query over a connection with an answer of several messages (RFC 5460, 6926).
struct dhcp_bulk {
	uint32_t next;   // in the free list
	uint32_t xid;    // DHCPv6
	uint32_t kind;   // of the leases to examine; DHCP_KINDS: only the last message is missing
	uint32_t record; // the next one
	uint8_t head[DHCP_BULK_HEAD];
};

// ctx->own, created by dhcp_server_open; first member of the family's own.
struct dhcp_server {
	struct dhcp_pool pools[DHCP_KINDS];
	uint32_t bulk_free; // PROTO_MAX_MORE: none
	struct dhcp_bulk bulks[PROTO_MAX_MORE];
};

// Properties of a family for set-up.
struct dhcp_server_family {
	uint8_t addr_len;            // 4 or 16
	bool by_hardware;            // leases are also found by hardware address
	bool needs_pool;             // a server without addresses is an error
	bool t2_may_be_zero;         // to leave T1 and T2 to the client (RFC 8415 section 21.4)
	uint32_t lease_least_s;      // the shortest lease with automatic times
	const char *lease;           // name of the setting
	const char *preferred;       // name of the setting; NULL: the lease time is used
	uint32_t preferred_40ths;    // of the lease time, if automatic
	uint32_t t1_40ths, t2_40ths; // of the preferred lifetime, if automatic
	uint32_t listed;             // maximum addresses in one option
	size_t answers_size, server_size, lease_size;
	void (*option_write)(struct writer *w, uint16_t code, const void *data, uint32_t len);
	// Check the family's own settings; false: errors were added to d.
	bool (*own_check)(const void *settings, const struct proto_env *env, struct diag *d);
	// Set the family's own part of answers, whose ranges and times are set.
	void (*own_set)(const struct dhcp_server_family *f, void *answers, const void *settings,
		const struct proto_env *env);
	const struct dhcp_family *clients;
	// Are the clients of two items with the same MACs the same?
	bool (*same_clients)(const void *a, const void *b);
};

// Add a prepared option.
void dhcp_ready_add(const struct dhcp_server_family *f, struct dhcp_answers *a, uint16_t code,
	const void *data, uint32_t len);
// Likewise for an option with a list of struct addr; an empty list adds nothing.
void dhcp_ready_add_addresses(const struct dhcp_server_family *f, struct dhcp_answers *a,
	uint16_t code, const struct field_list *list);
// Whole seconds of a duration; UINT32_MAX: forever.
uint32_t dhcp_seconds(uint64_t ns);
// Are two texts of settings equal (NULL: not given)?
bool dhcp_text_equal(const char *a, const char *b);

// The row of a fault listed as X(name, extra, help, new length).
#define DHCP_FAULT_ROW(name_, extra_, help_, spoilt_) {#name_, help_, extra_, name_},

// The functions of struct proto_server for both families.
void dhcp_server_check(const struct dhcp_server_family *f, const void *answers,
	const void *const *settings, uint32_t count, struct diag *d);
uint32_t dhcp_server_stocks(const struct dhcp_server_family *f, const void *answers,
	const void *item, struct proto_stock *out);
void *dhcp_server_setup(const struct dhcp_server_family *f, const void *settings,
	const struct proto_env *env, struct proto_facts *facts, struct diag *d);
void dhcp_server_teardown(void *shared);
int dhcp_server_open(struct proto_ctx *ctx, const struct proto_env *env);
void dhcp_server_close(struct proto_ctx *ctx);

// The server of a family: its set-up functions, and the row of struct proto_server.
#define DHCP_SERVER(family)                                                                        \
	static void family##_server_check(                                                         \
		const void *settings, const void *const *items, uint32_t count, struct diag *d)    \
	{                                                                                          \
		dhcp_server_check(&family##_server_family, settings, items, count, d);             \
	}                                                                                          \
                                                                                                   \
	static uint32_t family##_server_stocks(                                                    \
		const void *settings, const void *item, struct proto_stock *out)                   \
	{                                                                                          \
		return dhcp_server_stocks(&family##_server_family, settings, item, out);           \
	}                                                                                          \
                                                                                                   \
	static void *family##_server_setup(const void *settings, const struct proto_env *env,      \
		struct proto_facts *facts, struct diag *d)                                         \
	{                                                                                          \
		return dhcp_server_setup(&family##_server_family, settings, env, facts, d);        \
	}                                                                                          \
                                                                                                   \
	const struct proto_server family##_server = {                                              \
		.settings = &family##_answers_section,                                             \
		.counters = &family##_answered_section,                                            \
		.groups = family##_groups,                                                         \
		.stream = true, /* for lease queries */                                            \
		.check = family##_server_check,                                                    \
		.stocks = family##_server_stocks,                                                  \
		.setup = family##_server_setup,                                                    \
		.teardown = dhcp_server_teardown,                                                  \
		.open = dhcp_server_open,                                                          \
		.close = dhcp_server_close,                                                        \
		.answer = family##_answer,                                                         \
		.more = family##_more,                                                             \
		.faults = family##_faults,                                                         \
	};
