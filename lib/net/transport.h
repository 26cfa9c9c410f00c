// SPDX-License-Identifier: BSD-3-Clause
// How the messages of an item travel, as settings: rows that a protocol puts among its own. It
// knows no more of a transport than that. Path: cold. Any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/field.h"
#include "net/https_settings.h"

enum transport { TRANSPORT_UDP, TRANSPORT_TCP, TRANSPORT_TLS, TRANSPORT_HTTPS, TRANSPORT_QUIC };
enum transport_tc { TRANSPORT_TC_COUNT, TRANSPORT_TC_TCP };
enum transport_closed { TRANSPORT_CLOSED_LOST, TRANSPORT_CLOSED_AGAIN };
enum transport_open { TRANSPORT_OPEN_DEMAND, TRANSPORT_OPEN_POOL, TRANSPORT_OPEN_RATE };

// Kinds of misbehaving clients, beside the load's: the name of a kind, and its help text.
// clang-format off
#define TCP_BEHAVIOURS(X) \
	X(TCP_SYN_ONLY, "syn_only", "send SYN, and nothing after it") \
	X(TCP_HANDSHAKE_ONLY, "handshake_only", "open a connection, and ask nothing") \
	X(TCP_MUTE, "mute", "open a connection, and answer no segment after that") \
	X(TCP_PART, "part", "send a message without its last byte, and wait") \
	X(TCP_NO_ACK, "no_ack", "ask, and answer no segment after that") \
	X(TCP_SLOW_READER, "slow_reader", "ask as fast as they can, and read 16 bytes in 100 ms") \
	X(TCP_BYTEWISE, "bytewise", "send segments of one byte, a message in 100 ms") \
	X(TCP_RESETTER, "reset", "ask 16 times, and reset the connection in the first answer") \
	X(TCP_NO_FIN, "no_fin", "take an answer, and ignore that the server closes") \
	X(TCP_NO_LAST_ACK, "no_last_ack", "take an answer, close, and do not acknowledge that the server closes too") \
	X(TCP_TLS_HELLO_ONLY, "tls_hello_only", "send ClientHello, and nothing after it") \
	X(TCP_TLS_HELLO_PART, "tls_hello_part", "send ClientHello, an octet in 100 ms") \
	X(TCP_TLS_HANDSHAKE_ONLY, "tls_handshake_only", "complete the handshake of TLS, and ask nothing") \
	X(TCP_TLS_RENEGOTIATE, "tls_renegotiate", "complete the handshake of TLS, and then send ClientHello again, ten times in 100 ms") \
	X(TCP_TLS_JUNK, "tls_junk", "send random octets in place of ClientHello") \
	X(TCP_H2_PREFACE_ONLY, "h2_preface_only", "send the preface of HTTP/2, and nothing after it") \
	X(TCP_H2_STREAMS_OPEN, "h2_streams_open", "begin as many requests as the server allows, and end none") \
	X(TCP_H2_RAPID_RESET, "h2_rapid_reset", "ask, and cancel at once, as fast as they can") \
	X(TCP_H2_SETTINGS_FLOOD, "h2_settings_flood", "send SETTINGS and PING as fast as they can") \
	X(TCP_H2_WINDOW_ZERO, "h2_window_zero", "ask on as many streams as the server allows, and give the answers no window") \
	X(TCP_H2_CONTINUATION_FLOOD, "h2_continuation_flood", "send a header block without end, as fast as they can")
// clang-format on

#define TCP_BEHAVIOUR_NUMBER(number, name, help) number,
enum tcp_behaviour { TCP_BEHAVIOURS(TCP_BEHAVIOUR_NUMBER) TCP_BEHAVIOUR_COUNT };

// The first kinds are for each transport over TCP.
#define TCP_FIRST_OF_PLAIN TCP_PART            // for TCP alone
#define TCP_FIRST_OF_TLS   TCP_TLS_HELLO_ONLY  // for TLS, and HTTPS
#define TCP_FIRST_OF_H2    TCP_H2_PREFACE_ONLY // for HTTPS alone

const char *tcp_behaviour_name(uint32_t behaviour);

struct tcp_behave_settings {
	double shares[TCP_BEHAVIOUR_COUNT]; // of `connections`; below 0: new ones per second
	uint64_t hold_ns;
};

// Settings of the connections of an item.
struct tcp_settings {
	uint64_t connections;            // open at a time, over all workers
	uint64_t queries_per_connection; // UINT64_MAX: any number
	uint64_t pipeline;               // UINT64_MAX: any number
	uint64_t idle_ns;                // UINT64_MAX: a connection stays open
	uint64_t time_wait_ns;
	uint64_t ack_delay_ns;
	uint64_t window; // bytes
	uint64_t syn_tries;
	int32_t closed; // enum transport_closed
	int32_t open;   // enum transport_open
	double open_rate;
	bool timestamps;
	bool nagle;
	bool keepalive;
	struct tcp_behave_settings *behave; // NULL: none are given
};

enum quic_use { QUIC_USE_CUBIC, QUIC_USE_RENO, QUIC_USE_BBR }; // congestion control

// Settings of the QUIC of an item's connections.
struct quic_settings {
	struct tcp_settings pool;   // of it: when connections are opened, used and closed
	struct field_list versions; // int32_t: 0: version 1, 1: version 2. The first one is used
	uint64_t idle_timeout_ns;   // announced
	uint64_t window;            // octets, of a connection
	uint64_t datagram;          // octets
	uint64_t ack_delay_ns;
	int32_t congestion; // enum quic_use
	bool cancel, tokens;
};

struct tls_settings; // crypt/tls_settings.h

struct transport_settings {
	int32_t transport;        // enum transport
	int32_t tc;               // enum transport_tc
	struct tcp_settings *tcp; // NULL: none are given
	struct tls_settings *tls; // NULL: none are given
	struct https_settings *https;
	struct quic_settings *quic;
};

extern const char *const transport_names[];        // udp, tcp
extern const char *const transport_names_secure[]; // and tls, https, quic
extern const char *const transport_tc_names[];
extern const struct field_section transport_tcp_section;
extern const struct field_section transport_quic_section;

// The rows of a struct transport_settings at this offset of the protocol's settings.
// clang-format off
#define TRANSPORT_ROWS(at) \
	TRANSPORT_ROW(at, transport_names_secure), TRANSPORT_TC_ROW(at), \
		TRANSPORT_TCP_ROW( \
			at, "the connections of transport: tcp, tls and https, or of tc: tcp"), \
		TRANSPORT_TLS_ROW(at), TRANSPORT_HTTPS_ROW(at), TRANSPORT_QUIC_ROW(at)
// One by one: a protocol without truncated answers has no `tc`.
#define TRANSPORT_ROW(at, all) \
	{.name = "transport", \
		.help = "how messages travel", \
		.type = FIELD_ENUM, \
		.offset = (at) + offsetof(struct transport_settings, transport), \
		.def = "udp", \
		.names = (all)}
#define TRANSPORT_TC_ROW(at) \
	{.name = "tc", \
		.help = "truncated answers: count them, or ask again over tcp", \
		.type = FIELD_ENUM, \
		.offset = (at) + offsetof(struct transport_settings, tc), \
		.def = "count", \
		.names = transport_tc_names}
#define TRANSPORT_TCP_ROW(at, text) \
	{.name = "tcp", \
		.help = (text), \
		.type = FIELD_SECTION, \
		.optional = true, \
		.offset = (at) + offsetof(struct transport_settings, tcp), \
		.section = &transport_tcp_section}
#define TRANSPORT_TLS_ROW(at) \
	{.name = "tls", \
		.help = "TLS of transport: tls, https and quic", \
		.type = FIELD_SECTION, \
		.optional = true, \
		.offset = (at) + offsetof(struct transport_settings, tls), \
		.section = &tls_section}
#define TRANSPORT_HTTPS_ROW(at) \
	{.name = "https", \
		.help = "HTTP/2 of transport: https", \
		.type = FIELD_SECTION, \
		.optional = true, \
		.offset = (at) + offsetof(struct transport_settings, https), \
		.section = &https_section}
#define TRANSPORT_QUIC_ROW(at) \
	{.name = "quic", \
		.help = "the connections of transport: quic", \
		.type = FIELD_SECTION, \
		.optional = true, \
		.offset = (at) + offsetof(struct transport_settings, quic), \
		.section = &transport_quic_section}
// clang-format on

// The settings of connections, or their defaults. NULL: there are none.
const struct tcp_settings *transport_tcp(const struct transport_settings *s);
// The settings of QUIC, or their defaults. NULL: messages do not travel by it.
const struct quic_settings *transport_quic(const struct transport_settings *s);
// Clients of such a behaviour at a time, over all workers.
uint64_t tcp_behave_clients(const struct tcp_settings *s, enum tcp_behaviour behaviour);
// The sum over all behaviours.
uint64_t tcp_behave_all(const struct tcp_settings *s);
// Over TLS?
static inline bool transport_is_secure(int32_t transport)
{
	return transport >= TRANSPORT_TLS;
}
// Errors go to d.
void transport_check(const struct transport_settings *s, struct diag *d);
