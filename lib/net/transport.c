// SPDX-License-Identifier: BSD-3-Clause
// The rows of transports. Path: cold. Any thread.
#include "net/transport.h"

#include <math.h>

#define TCP(member) offsetof(struct tcp_settings, member)

#define CONNECTIONS  100
#define TIME_WAIT_NS 1000000000u
#define WINDOW       65535
#define SYN_TRIES    4
#define OPEN_RATE    10000
#define BEHAVE_MOST  (1u << 20)
#define ROUNDING     1e-6 // of a product of decimal fractions

const char *const transport_names[] = {"udp", "tcp", NULL};

const char *const transport_names_secure[] = {"udp", "tcp", "tls", "https", "quic", NULL};

const char *const transport_tc_names[] = {"count", "tcp", NULL};

static const char *const open_names[] = {"demand", "pool", "rate", NULL};

static const char *const closed_names[] = {"lost", "again", NULL};

#define BEHAVIOUR_NAME(number, name, help) name,
static const char *const behaviour_names[] = {TCP_BEHAVIOURS(BEHAVIOUR_NAME)};

const char *tcp_behaviour_name(uint32_t behaviour)
{
	return behaviour_names[behaviour];
}

// clang-format off
#define BEHAVIOUR_ROW(number, name_, help_) \
	{.name = name_, \
		.help = "clients that " help_, \
		.type = FIELD_SHARE, \
		.offset = offsetof(struct tcp_behave_settings, shares[number]), \
		.def = "0%", \
		.max = 100},
// clang-format on

static const struct field behave_fields[] = {
	TCP_BEHAVIOURS(BEHAVIOUR_ROW){.name = "hold",
		.help = "time after which such a client starts again",
		.type = FIELD_DURATION,
		.offset = offsetof(struct tcp_behave_settings, hold_ns),
		.def = "5s",
		.min = 1e6,
		.max = 1e12},
};

static const struct field_section behave_section = {
	.name = "behave",
	.help = "misbehaving clients: a share of the connections, in addition to them, or new ones "
		"per second",
	FIELD_ROWS(behave_fields),
	.size = sizeof(struct tcp_behave_settings),
};

// The rows of a pool of connections, at this offset of the settings.
// clang-format off
#define POOL_ROWS(at) \
	{.name = "connections", \
		.help = "connections at a time", \
		.type = FIELD_COUNT, \
		.load = true, \
		.offset = (at) + TCP(connections), \
		.def = "100", \
		.min = 1, \
		.max = 1u << 24}, \
	{.name = "queries_per_connection", \
		.help = "messages on a connection before another one replaces it", \
		.type = FIELD_COUNT, \
		.offset = (at) + TCP(queries_per_connection), \
		.def = "any", \
		.word = "any", \
		.min = 1, \
		.max = 1u << 30}, \
	{.name = "pipeline", \
		.help = "messages without an answer on a connection; the next ones wait", \
		.type = FIELD_COUNT, \
		.load = true, \
		.offset = (at) + TCP(pipeline), \
		.def = "any", \
		.word = "any", \
		.min = 1, \
		.max = 32767}, \
	{.name = "idle", \
		.help = "close a connection after this time without a message", \
		.type = FIELD_DURATION, \
		.offset = (at) + TCP(idle_ns), \
		.def = "never", \
		.word = "never", \
		.min = 1e6, \
		.max = 1e12}, \
	{.name = "closed", \
		.help = "messages on a connection that the server closes: lost, or sent again on " \
			"another", \
		.type = FIELD_ENUM, \
		.offset = (at) + TCP(closed), \
		.def = "lost", \
		.names = closed_names}, \
	{.name = "open", \
		.help = "when connections are opened: demand: by the first message; pool: from the " \
			"start on, and again when they end; rate: also to replace each in turn", \
		.type = FIELD_ENUM, \
		.offset = (at) + TCP(open), \
		.def = "demand", \
		.names = open_names}, \
	{.name = "open_rate", \
		.help = "new connections per second of open: pool and open: rate", \
		.type = FIELD_RATE, \
		.load = true, \
		.offset = (at) + TCP(open_rate), \
		.def = "10k", \
		.min = 1e-3, \
		.max = 1e9}
// clang-format on

static const struct field tcp_fields[] = {
	POOL_ROWS(0),
	{.name = "keepalive",
		.help = "ask the server how long it keeps an idle connection (RFC 7828), and close "
			"before",
		.type = FIELD_BOOL,
		.offset = TCP(keepalive),
		.def = "false"},
	{.name = "syn_tries",
		.help = "transmissions of SYN before a connection counts as timed out",
		.type = FIELD_COUNT,
		.offset = TCP(syn_tries),
		.def = "4",
		.min = 1,
		.max = 10},
	{.name = "time_wait",
		.help = "time before the port of a closed connection is used again (RFC 6191)",
		.type = FIELD_DURATION,
		.offset = TCP(time_wait_ns),
		.def = "1s",
		.min = 1e6,
		.max = 240e9},
	{.name = "ack_delay",
		.help = "acknowledge an answer with the next message, or after this time; 0s: at "
			"once",
		.type = FIELD_DURATION,
		.offset = TCP(ack_delay_ns),
		.def = "0s",
		.max = 5e8},
	{.name = "window",
		.help = "receive window of a connection",
		.type = FIELD_SIZE,
		.offset = TCP(window),
		.def = "65535B",
		.min = 1024,
		.max = 1u << 30},
	{.name = "timestamps",
		.help = "offer timestamps (RFC 7323)",
		.type = FIELD_BOOL,
		.offset = TCP(timestamps),
		.def = "true"},
	{.name = "nagle",
		.help = "a short segment waits until all before it is acknowledged (RFC 896), so "
			"that segments have more messages",
		.type = FIELD_BOOL,
		.offset = TCP(nagle),
		.def = "false"},
	{.name = "behave",
		.help = "misbehaving clients, in addition to those of the load",
		.type = FIELD_SECTION,
		.optional = true,
		.offset = TCP(behave),
		.section = &behave_section},
};

const struct field_section transport_tcp_section = {
	.name = "tcp",
	.help = "connections",
	FIELD_ROWS(tcp_fields),
	.size = sizeof(struct tcp_settings),
};

#define QUIC(member) offsetof(struct quic_settings, member)

static const char *const quic_versions[] = {"1", "2", NULL};
static const char *const quic_uses[] = {"cubic", "reno", "bbr", NULL};

static const struct field quic_fields[] = {
	POOL_ROWS(QUIC(pool)),
	{.name = "time_wait",
		.help = "time before the port of a closed connection is used again",
		.type = FIELD_DURATION,
		.offset = QUIC(pool.time_wait_ns),
		.def = "1s",
		.min = 1e6,
		.max = 240e9},
	{.name = "versions",
		.help = "versions of QUIC (RFC 9000, RFC 9369); connections begin with the first "
			"one",
		.type = FIELD_ENUM,
		.list = true,
		.offset = QUIC(versions),
		.names = quic_versions},
	{.name = "idle_timeout",
		.help = "idle timeout that is announced to the server",
		.type = FIELD_DURATION,
		.offset = QUIC(idle_timeout_ns),
		.def = "30s",
		.min = 1e6,
		.max = 1e12},
	{.name = "window",
		.help = "octets that the server may send on a connection, before we ask for more",
		.type = FIELD_SIZE,
		.offset = QUIC(window),
		.def = "1MiB",
		.min = 65537,
		.max = 1u << 30},
	{.name = "datagram",
		.help = "octets of the longest datagram that is sent",
		.type = FIELD_COUNT,
		.offset = QUIC(datagram),
		.def = "1252",
		.min = 1200,
		.max = 1452},
	{.name = "ack_delay",
		.help = "acknowledge packets after this time, if nothing is sent before",
		.type = FIELD_DURATION,
		.offset = QUIC(ack_delay_ns),
		.def = "25ms",
		.min = 1e6,
		.max = 1e9},
	{.name = "congestion",
		.help = "congestion control",
		.type = FIELD_ENUM,
		.offset = QUIC(congestion),
		.def = "cubic",
		.names = quic_uses},
	{.name = "tokens",
		.help = "show the server the token of an earlier connection (NEW_TOKEN), where "
			"tls.resume is not none",
		.type = FIELD_BOOL,
		.offset = QUIC(tokens),
		.def = "false"},
	{.name = "cancel",
		.help = "cancel the stream of a message without an answer in time",
		.type = FIELD_BOOL,
		.offset = QUIC(cancel),
		.def = "true"},
};

const struct field_section transport_quic_section = {
	.name = "quic",
	.help = "connections of QUIC",
	FIELD_ROWS(quic_fields),
	.size = sizeof(struct quic_settings),
};

#define POOL_DEFAULTS                                                                              \
	.connections = CONNECTIONS, .queries_per_connection = UINT64_MAX, .pipeline = UINT64_MAX,  \
	.idle_ns = UINT64_MAX, .time_wait_ns = TIME_WAIT_NS, .open_rate = OPEN_RATE

const struct quic_settings *transport_quic(const struct transport_settings *s)
{
	static const struct quic_settings defaults = {.pool = {POOL_DEFAULTS},
		.idle_timeout_ns = 30000000000u,
		.window = 1048576,
		.datagram = 1252,
		.ack_delay_ns = 25000000,
		.cancel = true};

	if (s->transport != TRANSPORT_QUIC)
		return NULL;
	return s->quic ? s->quic : &defaults;
}

const struct tcp_settings *transport_tcp(const struct transport_settings *s)
{
	static const struct tcp_settings defaults = {
		POOL_DEFAULTS, .window = WINDOW, .syn_tries = SYN_TRIES, .timestamps = true};

	if (s && s->transport == TRANSPORT_QUIC)
		return &transport_quic(s)->pool;
	if (!s || (s->transport == TRANSPORT_UDP && s->tc != TRANSPORT_TC_TCP))
		return NULL;
	return s->tcp ? s->tcp : &defaults;
}

uint64_t tcp_behave_clients(const struct tcp_settings *s, enum tcp_behaviour behaviour)
{
	double share = s->behave ? s->behave->shares[behaviour] : 0;
	double all = share < 0 ? -share * 1e-9 * (double)s->behave->hold_ns
	                       : share * (double)s->connections;

	return (uint64_t)ceil(fmin(all, 2.0 * BEHAVE_MOST) - ROUNDING);
}

uint64_t tcp_behave_all(const struct tcp_settings *s)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < TCP_BEHAVIOUR_COUNT; i++)
		n += tcp_behave_clients(s, (enum tcp_behaviour)i);
	return n;
}

// Returns the transports that a kind is for; NULL: this one is among them.
static const char *behaviour_transport(uint32_t behaviour, int32_t transport)
{
	if (behaviour >= TCP_FIRST_OF_H2)
		return transport == TRANSPORT_HTTPS ? NULL : "https";
	if (behaviour >= TCP_FIRST_OF_TLS)
		return transport_is_secure(transport) ? NULL : "tls and https";
	return transport == TRANSPORT_TCP ? NULL : "tcp";
}

static void check_behave(const struct transport_settings *s, struct diag *d)
{
	const double *shares = s->tcp->behave->shares;

	if (s->transport == TRANSPORT_UDP) {
		diag_error(d, s->tcp, "behave", "is for transport: tcp, tls and https");
		return;
	}
	for (uint32_t i = TCP_FIRST_OF_PLAIN; i < TCP_BEHAVIOUR_COUNT; i++) {
		const char *of = behaviour_transport(i, s->transport);

		if (shares[i] != 0 && of)
			diag_error(d, &shares[i], NULL, "is for transport: %s", of);
	}
}

void transport_check(const struct transport_settings *s, struct diag *d)
{
	if (s->tcp && (!transport_tcp(s) || s->transport == TRANSPORT_QUIC))
		diag_error(d, s, "tcp", "is for transport: tcp, tls and https, and tc: tcp");
	if (s->tls && !transport_is_secure(s->transport))
		diag_error(d, s, "tls", "is for transport: tls, https and quic");
	if (s->quic && s->quic->versions.count > 2)
		diag_error(d, &s->quic->versions, NULL, "there are two");
	if (s->quic && s->transport != TRANSPORT_QUIC)
		diag_error(d, s, "quic", "is for transport: quic");
	if (s->https && s->transport != TRANSPORT_HTTPS)
		diag_error(d, s, "https", "is for transport: https");
	if (s->https)
		https_check(s->https, d);
	if (s->transport != TRANSPORT_UDP && s->tc == TRANSPORT_TC_TCP)
		diag_error(
			d, s, "tc", "is for transport: udp (over connections answers are whole)");
	if (s->tcp && s->tcp->behave)
		check_behave(s, d);
	if (s->tcp && tcp_behave_all(s->tcp) > BEHAVE_MOST)
		diag_error(
			d, s->tcp, "behave", "makes more than %u clients at a time", BEHAVE_MOST);
}
