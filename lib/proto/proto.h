// SPDX-License-Identifier: BSD-3-Clause
// The contract between the engine and a protocol: settings and counters as rows, facts as data, and
// functions on bytes for the client, the server (optional) and the router (optional). A protocol
// has no access to mbufs, clocks, sockets or ports; the engine names no protocol. How to add one:
// docs/protocols.md. Path: cold (terms, fit, check, setup, teardown, open, close, stocks, peer) |
// hot (the other functions).
//
// A member may be NULL only where its comment allows it. Structs that a function fills are zeroed
// beforehand; zeros are valid for a simple protocol.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/addr.h"
#include "base/bytes.h"
#include "base/counter.h"
#include "base/diag.h"
#include "base/field.h"
#include "base/rand.h"
#include "net/frame.h"
#include "net/timestamps.h"
#include "net/transport.h"

#define PROTO_MAX_STEPS  16
#define PROTO_MAX_WAITS  64
#define PROTO_MAX_COPIES 16   // of one message
#define PROTO_MAX_MORE   1024 // unfinished multi-message answers per responder worker

// One transaction. Owned by the engine, which keeps its own bits in the unused space. The protocol
// writes user, step and tries: request at any time, reply only with AGAIN and KEPT. After KEPT, the
// new step has no message: the reply answered the previous step.
struct proto_txn {
	uint64_t seq; // index among the transactions of this worker and item, from 0; with the seed
	              // it determines the message
	uint32_t key; // key_bits wide; the ID to put on the wire
	uint32_t client; // index of the client below env.clients (its source address)
	uint32_t user;   // private to the protocol, initially 0
	uint8_t step;    // index into steps, initially 0
	uint8_t tries;   // initially 0
	uint8_t wait; // written by request: index of this message's wait in layout.waits, from 1;
	              // 0: the item's timeout
	bool silent : 1; // written by request: no answer is expected. The transaction ends when the
	                 // message is sent; over a connection, when the peer has acknowledged it
	bool over : 1;   // input of reply and timeout: the transaction has ended or expects no
	                 // message now. Only judge the message and update counters
};

// Destinations of messages and local addresses for answers, for a protocol with a router. The lists
// belong to the result of setup.
struct proto_layout {
	struct field_list paths; // struct proto_path
	struct field_list ports; // uint16_t: UDP ports on which answers arrive
	// struct addr_range: addresses the tester answers for. Replies to them reach the workers in
	// proto_env.homes.
	struct field_list owned;
	struct field_list waits; // uint64_t, ns: waiting times for an answer
	uint64_t tries_ns;       // sum of all waits of one message; 0: the timeout
	uint8_t more;            // largest flow.more, below PROTO_MAX_COPIES
	bool own_macs;           // clients have their own Ethernet addresses
	bool own_addresses;      // clients send from IP addresses that are not in `owned`
	bool own_answers;        // or servers may answer to these addresses
	const struct proto_soliciting *soliciting; // NULL: no router solicitations
};

// Router solicitation before the first message, on the VLANs of each path, on behalf of a client
// (RFC 4861 section 6.3.7).
struct proto_soliciting {
	uint8_t mac[6];
	uint8_t src[16]; // its link-local address
	uint32_t tries;
	uint64_t interval_ns;
	bool needed;   // send nothing unless an advertisement arrives
	uint8_t flags; // of struct neigh_advert: an advertisement counts if it has any of these; 0:
	               // each one counts
};

// A destination: a server, 255.255.255.255 or a multicast group, at the item's server port. Until
// the run discovers a server, the path to it leads to the group (proto_ctx.path_found).
struct proto_path {
	struct addr dst;
	uint16_t vlans[2]; // inside the port's VLANs, outermost first
	uint8_t vlan_count;
	bool vlans_vary; // each message has its own VLANs, vlan_count of them
};

// How one message travels. Written by request if the protocol has a router; if replies may come
// from any port (proto_facts.any_port), only dst_port.
struct proto_flow {
	uint32_t path; // index into layout.paths
	uint8_t more;  // number of further paths, after this one, that get a copy
	uint16_t src_port;
	uint16_t dst_port; // 0: the item's server port; only with any_port
	uint16_t vlans[2]; // on a path whose VLANs vary; otherwise 0
	bool own_mac;      // mac is the Ethernet source; otherwise the port's MAC is
	uint8_t mac[6];
	uint8_t src[16];
};

// How a received message travelled; addr_len bytes each.
struct proto_ends {
	const uint8_t *src, *dst;
	const uint8_t *dst_mac; // followed by the source MAC, as in the frame
	uint8_t addr_len;
	uint16_t src_port, dst_port;
	const uint16_t *vlans; // inside the port's VLANs, outermost first
	uint8_t vlan_count;
};

// A received message. How it travelled is known with a router or any_port: see proto_ends_of.
struct proto_message {
	const uint8_t *buf;
	uint32_t len;
	// 4 or 16: it lies in a plain frame (net/frame.h), behind two addresses of this length and
	// the UDP header, and ends is NULL. 0: see ends.
	uint8_t plain;
	const struct proto_ends *ends; // NULL: unknown
};

// A message to be written.
struct proto_out {
	uint8_t *buf;
	uint32_t len; // written by request; 0: it does not fit
	uint64_t sum; // written by request: sum of its bytes (csum_add of net/csum.h); 0: unknown
};

// Destination and origin of a responder answer that does not simply go back to the sender.
struct proto_direction {
	uint8_t dst[16];   // all zero: the source address of the request
	uint16_t dst_port; // 0: the source port of the request
	uint16_t src_port; // 0: the destination port of the request
	uint8_t mac[6];    // all zero: the source MAC of the request
};

// Input of check, setup and open.
struct proto_env {
	uint64_t seed;    // of the run, mixed with the item's index: differs between items
	uint32_t worker;  // 0..workers-1
	uint32_t workers; // that share the item
	uint32_t threads; // that may use *common concurrently. In open
	uint32_t clients; // source addresses of this worker
	// For each address in layout.owned, the worker that its replies reach. NULL: unknown, or
	// worker n mod workers for address n. Not in setup.
	const uint8_t *homes;
	uint16_t captured_port; // server port in the user's captures. In setup
	const char *times_of;   // capture to replay in full; NULL: none. In setup
	uint8_t addr_len;       // 4 or 16: address family of the item
	struct addr server;     // of the item, or the responder's own; len 0: not given
	uint16_t server_port;
	uint64_t timeout_ns;
	double rate;      // transactions per second; INFINITY: unlimited; 0: closed loop
	bool dry;         // messages are written to a file and not sent
	const char *name; // of the item; NULL: of the responder
	// Shared by all items of the protocol in this plan, initially NULL. Not for the responder.
	// No worker runs before all items are open.
	void **common;
	// For an item that follows another (struct proto_follower): the followed item; otherwise
	// NULL and 0. The first three are also set in check.
	const struct proto_followed *followed;
	uint64_t followed_clients; // of all workers together
	bool followed_named;       // proto_terms.named
	uint32_t happenings;       // events it follows, one bit each
};

// The work that an item's load creates in one run.
struct proto_work {
	double rate;        // transactions per second including proto_terms.extra; 0: not constant
	uint64_t begun;     // upper bound of transactions started; UINT64_MAX: unknown
	uint64_t in_flight; // upper bound of concurrent transactions
	double seconds;     // duration including warm-up
	uint64_t memory;    // limit, in bytes, for data sized from these numbers; 0: none
	uint32_t workers;   // that share the item
};

#define PROTO_MAX_STOCKS 2 // of an item, or of the responder for an item

// A resource that transactions use up.
struct proto_stock {
	const char *name;   // "clients"
	const char *remedy; // how to get more of it or make it last
	const char *bound;  // how more of it becomes bound; NULL: it is never bound
	uint64_t count;     // available to the run
	uint64_t given;     // in the file, at least count: the run cannot use the rest
	uint64_t left;      // at the start of the run
	double each;        // average use per transaction; 0: none
	double back_s;      // time until a used one becomes available again; 0: never, or unknown
	bool chosen;        // by fit, for the load
};

// Derived from the settings of an item alone.
struct proto_terms {
	// Another row for items with these settings, with the same name, settings and counters,
	// because their messages have no room for this row's key. NULL: this row.
	const struct proto *row;
	const struct transport_settings *transport; // NULL: over UDP
	uint32_t longest_reply; // bytes of the longest reply, for connections that must buffer a
	                        // partial reply; 0: it is short
	// With a router: further servers in the settings (struct field_host), the family of the
	// server's address (4, 16; 0: either), and why an address is required (NULL: it is
	// optional).
	struct field_list *servers;
	uint8_t server_len;
	const char *no_server;
	double extra; // transactions per second added to a load of constant rate; check rejects it
	              // for other loads
	// For a protocol that schedules transactions itself: how many have started by a time, in
	// seconds from the start of the run including warm-up; valid after fit. NULL: a load does.
	double (*begun)(const void *settings, double until_s);
	uint64_t at_once;  // with begun: upper bound of transactions in flight
	uint64_t clients;  // that another item may follow
	bool named;        // each client has a domain name
	uint32_t each;     // for a follower: simultaneous transactions per client
	uint64_t every_ns; // for a follower: repetition interval
};

// Facts that setup knows about the messages of an item or the answers of the responder.
struct proto_facts {
	uint32_t longest; // bytes of the longest message; 0: every message fits into any packet
	uint32_t fixed;   // over connections: length of every message from the other side; 0: it
	                  // varies
	uint64_t memory;  // bytes that open allocates, for all workers together; 0: negligible
	// For an item:
	bool harmless; // its messages change nothing on the server: a probe may send the first one
	               // before the run, and early data of TLS may be replayed
	bool silent;   // over connections: messages may be silent
	bool connects; // no message is sent: the connection is the transaction, and its acceptance
	               // is the reply, of length 0
	bool preface_outside; // the preface of a connection is in front of TLS rather than within
	                      // it
	bool any_port;        // a server may reply from, and be asked at, any of its ports
	const char *input;    // part of its input file that is used, "97 of 100 lines of f: ...";
	                      // NULL: all of it, or there is no file
	const struct timestamps *times; // capture times of the messages of env.times_of, empty if
	                                // setup read no such file; NULL: never
	struct proto_stock stocks[PROTO_MAX_STOCKS]; // clients first; a NULL name ends the list
	struct proto_layout layout;                  // with a router
	// For the responder:
	bool timed;        // answer reads ctx->now_ms if open creates state or there is no open
	uint16_t ports;    // number of additional ports after its own at which it answers
	uint64_t after_ns; // delay of further messages in response to a datagram; 0: none
	// Connections begin with a preface before their first message: returns its length, like
	// proto.framed; answer gets it with ctx->begins. NULL: no preface.
	uint32_t (*preface)(const uint8_t *buf, uint32_t len);
};

// Why begin found no client.
enum proto_lack {
	PROTO_NO_FREE,      // no client is free
	PROTO_NO_BOUND,     // a bound client is needed, and none is idle
	PROTO_NO_BOUND_YET, // no client has ever been bound
};

// Per worker and item (or per responder worker and protocol): created by open, used by one thread.
struct proto_ctx {
	const void *shared; // result of setup
	void *counters;     // of this worker: the bank for this transaction (warm-up or measured)
	void *own;          // private to the protocol, from open
	const struct proto_ends *ends; // of the message that answer reads
	uint64_t now_ms;               // time of this packet since the start of the run
	uint64_t began_ms;             // Unix time of the start of the run
	bool stream; // the message travels over a connection: no datagram limits its size
	bool closed; // input of timeout: the connection ended before the wait did
	bool begins; // input of answer: this is the preface of a connection
	// Written by the function of a PROTO_REQUEST or PROTO_REPLY:
	uint64_t sum; // as proto_out.sum
	// Written by reply with `noted`, all 0 before: details about the last reply that it judged.
	bool noted;
	bool elsewhere; // the message is accepted although it came from another server or port than
	                // the one asked
	// From now on, the sender is the destination of a path: the path's number, from 1, and the
	// address. Messages go to the source MAC of this message.
	uint32_t path_found;
	uint8_t found[16];
	// For a follower whose reply ends a timed wait: the number of a mark, from 1, and the `at`
	// of the event that started the wait, 0: not counted.
	uint32_t mark;
	uint64_t mark_from;
	uint32_t idle_ms;     // written by reply with `stream`: the server closes a connection that
	                      // carries no message for this time
	enum proto_lack lack; // PROTO_NO_FREE before begin; written when it returns less than n
	uint32_t clients;     // written by open: clients on this worker that a follower may see
	struct proto_ctx *followed; // on the same worker; NULL: the item follows none
	// Written by answer, 0 before:
	uint32_t more;     // further messages follow: their handle, from 1 to PROTO_MAX_MORE
	uint32_t directed; // nonzero: `to` is the destination of the datagram
	struct proto_direction to;
};

enum proto_verdict {
	PROTO_DONE,   // valid and in time
	PROTO_AGAIN,  // continue with the next message of this transaction: request is called again
	PROTO_STREAM, // continue with this message over a connection, with ctx.stream; only if the
	              // settings allow it
	PROTO_FAIL, // an answer to this transaction, but a refusal or rejected by the item's checks
	PROTO_APART, // reply, timeout: outside the measurement. The transaction ends without being
	             // answered, failed or lost; the protocol counts it
	// The transaction stays in flight after these.
	PROTO_STRAY,     // not an answer to this transaction, despite its key
	PROTO_MALFORMED, // has the key of this transaction, but is not well formed
	PROTO_KEPT,      // a valid answer, maybe not the last; timeout continues with it
	PROTO_DUPLICATE, // another answer to a message that is already answered
};

#define PROTO_NO_ANSWER UINT32_MAX // result of apply: no answer is sent
#define PROTO_RESET     UINT32_MAX // result of answer to a preface: the connection is reset

// A fault that the responder injects on demand (responder.faults). Protocols that use the same name
// share one setting.
struct proto_fault {
	const char *name, *help;
	bool extra; // apply changes a copy, which is sent in addition to the answer
	// Corrupt the finished answer of len bytes; random: 64 random bits. Returns its new length
	// up to room, or PROTO_NO_ANSWER; 0: not possible with this answer, which is unchanged.
	uint32_t (*apply)(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random);
};

// The server side of a protocol, used by the built-in responder. ctx is per responder worker; its
// counters are defined by this struct.
struct proto_server {
	const struct field_section *settings;   // section below responder
	const struct counter_section *counters; // uint64_t only
	// Clients also send to these groups (broadcast, multicast), with their own VLAN tags.
	// Terminated by len 0; NULL: none.
	const struct addr *groups;
	bool stream; // also over TCP

	// Checks that the settings can serve these items (each entry: the settings of an item that
	// uses the responder). Errors go to d. NULL: they always can.
	void (*check)(
		const void *settings, const void *const *items, uint32_t count, struct diag *d);
	// Lists the server resources that transactions of such an item use up: returns their
	// number, up to PROTO_MAX_STOCKS. NULL: none.
	uint32_t (*stocks)(const void *settings, const void *item, struct proto_stock *out);
	// As in struct proto; open and close: both or neither.
	void *(*setup)(const void *settings, const struct proto_env *env, struct proto_facts *facts,
		struct diag *d);
	void (*teardown)(void *shared);
	int (*open)(struct proto_ctx *ctx, const struct proto_env *env);
	void (*close)(struct proto_ctx *ctx);
	// Writes the answer to a request and returns its length; 0: no answer. out does not overlap
	// buf.
	uint32_t (*answer)(struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out,
		uint32_t room);
	// Writes the next message of the sequence ctx->more and returns its length; 0: none. Sets
	// ctx->more to 0 after the last one. Over a connection: called when there is room, buf is
	// NULL, and out NULL if the connection has ended. For a datagram: buf is the request, and
	// the message travels like the answer, facts.after_ns later. NULL: answers are single
	// messages.
	uint32_t (*more)(struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out,
		uint32_t room);
	const struct proto_fault *faults; // terminated by an entry without a name; NULL: none
};

// A protocol whose messages identify their sender (DHCP) has a router: request writes the path,
// addresses and ports of each message, and begin chooses its client. Without a router, the engine
// takes them from the item's source section.
struct proto_router {
	// Handles a message without a key that a server sends unsolicited. Returns false unless it
	// is for a client of the item; *worker is then the client's worker (of env.workers, or
	// UINT32_MAX: not on this machine). For this worker, the message is counted, and `due`
	// returns the time at which the client reacts. NULL: there are no such messages.
	bool (*unasked)(
		struct proto_ctx *ctx, const struct proto_message *message, uint32_t *worker);
	// Returns whether a client of this worker holds this address now, and writes its MAC unless
	// it uses the port's.
	bool (*owns)(struct proto_ctx *ctx, const uint8_t *addr, uint8_t addr_len, uint8_t mac[6]);
};

// Events in the life of a client that another item can follow: both run on the same worker.
enum proto_happening { PROTO_LEASED, PROTO_RELEASED, PROTO_HAPPENINGS };

struct proto_event {
	enum proto_happening what;
	uint32_t client;  // index, below proto_ctx.clients
	uint32_t number;  // of the client, unique in the whole run
	uint8_t addr_len; // 4 or 16
	uint8_t addr[16]; // that was leased, or released
	uint64_t at;      // written by the engine: tick; 0: during the warm-up
};

#define PROTO_IDENTITY_MAX 264

// The identity of a client: the type and the identifier of RFC 4701 section 3.3.
struct proto_identity {
	uint16_t type, len;
	uint8_t bytes[PROTO_IDENTITY_MAX];
};

// ctx belongs to a worker of the item; client is an index on that worker.
struct proto_followed {
	const char *names[PROTO_HAPPENINGS]; // as named by the protocol
	// t has succeeded: its reply was just judged, or it is silent and was sent. Writes the
	// event for its client; returns false if there is nothing to follow.
	bool (*happened)(struct proto_ctx *ctx, const struct proto_txn *t, struct proto_event *out);
	// Append the client's domain name in wire form, including the root.
	void (*name)(const struct proto_ctx *ctx, uint32_t client, struct writer *w);
	void (*identity)(const struct proto_ctx *ctx, uint32_t client, struct proto_identity *out);
};

// An item that follows another one: events schedule its transactions (proto.due) instead of a load.
struct proto_follower {
	const char *const *marks; // names of the timed waits; NULL-terminated
	// An event has happened; from now on this client counts in ctx->counters.
	void (*happened)(struct proto_ctx *ctx, const struct proto_event *event);
	// The run is over: count the clients that are still waiting.
	void (*over)(struct proto_ctx *ctx);
};

// A server that replied to an item.
struct proto_peer {
	char name[272];   // its identifier in its messages
	struct addr from; // of its first reply; len 0: unknown
	uint64_t offers, answers, refusals;
};

#define PROTO_NOT_DUE UINT64_MAX       // result of due: none is due, nor will be without an event
#define PROTO_NOT_YET (UINT64_MAX - 1) // none is due now, but clients of a follower are waiting

// Where usual replies have their key, so that the engine need not call proto.key. A reply is usual
// if it has `least` bytes or more, and its first 32 bits equal mark where mask is set.
struct proto_key_place {
	uint32_t least; // at least 4 and at + 4; 0: unknown
	uint32_t mask, mark;
	uint8_t at;    // offset of the 32 bits (big-endian) that hold the key
	uint8_t shift; // how far the key is from their lower end
};

// Messages that differ in a number and in the key, their first 16 bits, and in nothing else. The
// engine has `write` write each of them once, and sends copies.
struct proto_images {
	// Returns how many numbers there are with these settings; 0: messages differ otherwise.
	uint32_t (*count)(const void *shared);
	// Writes the message with this number and the key 0. Returns its length; 0: it does not fit
	// in room. Path: cold.
	uint32_t (*write)(const void *shared, uint32_t number, uint8_t *buf, uint32_t room);
	// Writes to `user` the number of the message that request would write for each of n
	// transactions.
	void (*choose)(struct proto_ctx *ctx, struct proto_txn *const *t, uint32_t n);
	size_t bytes_at; // offset in the counters of the one (uint64_t) of the bytes written
};

// Where servers listen.
struct proto_ports {
	uint16_t plain;   // UDP and TCP
	uint16_t tls;     // 0: messages never travel over TLS
	const char *alpn; // with TLS
	// 0: messages never travel by HTTPS. Else the path of requests, with {?name} where a
	// message goes, and the media type of messages; their key is 0 then.
	uint16_t https;
	const char *path, *media;
	uint16_t quic; // 0: messages never travel by QUIC; their key is 0 there, too
	const char *quic_alpn;
};

// A protocol, and its client side.
struct proto {
	const char *name; // "dns"
	const char *help;
	const struct proto_ports *ports;
	// 8..32; below 16, the IDs of answered transactions are reused at once
	uint8_t key_bits;
	const char *const *steps; // names of the steps of an exchange, NULL-terminated, up to
	                          // PROTO_MAX_STEPS; NULL: one step
	double cost_ns;           // worker time of one message and its answer, measured over rings
	                          // (docs/performance.md)
	const struct field_section *settings; // of a traffic item
	// uint64_t only; of a traffic item. The counters request_bytes and reply_bytes, if present,
	// provide the bit rates in the result. The verdict quotes counter.stray.
	const struct counter_section *counters;
	const struct proto_server *server;     // NULL: the responder does not speak the protocol
	const struct proto_router *router;     // NULL: the engine chooses addresses and ports
	const struct proto_followed *followed; // NULL: its items cannot be followed
	const struct proto_follower *follower; // NULL: its items follow none; otherwise each must

	// Derive the terms from the settings, which may still be invalid. Changes nothing. NULL:
	// all zero.
	void (*terms)(void *settings, struct proto_terms *out);
	// Called before check, and again when more is known: computes settings that depend on the
	// load. NULL: there are none.
	void (*fit)(void *settings, const struct proto_work *work);
	// Check rules across fields; errors go to d. settings was filled from the rows. NULL: none.
	void (*check)(const void *settings, const struct proto_env *env, struct diag *d);
	// Read the input and precompute the shared part; NULL after an error (in d, or no memory).
	// Items are set up in the order of the file.
	void *(*setup)(const void *settings, const struct proto_env *env, struct proto_facts *facts,
		struct diag *d);
	void (*teardown)(void *shared);
	// Create per-worker state in ctx->own; 0 or -errno. NULL: there is none.
	int (*open)(struct proto_ctx *ctx, const struct proto_env *env);
	// Write the state to the place given in the settings; 0, or -errno on failure (logged).
	// NULL: nothing to do.
	int (*close)(struct proto_ctx *ctx);

	// n new transactions are due (seq is set, key is not): choose their clients, in order.
	// Returns how many have one: n, or fewer if none is free for the next; the protocol counts
	// the reason. NULL: every client is free. PROTO_BEGIN derives it from a function for one.
	uint32_t (*begin)(struct proto_ctx *ctx, struct proto_txn *t, uint32_t n);
	// For protocols that schedule transactions themselves (proto_terms.begun, or a follower):
	// the time of the next one in ms since the start of the run, if not after ctx->now_ms;
	// otherwise PROTO_NOT_DUE or PROTO_NOT_YET. begin consumes it. In a dry run: its time,
	// however late. NULL for both: a load schedules them.
	uint64_t (*due)(struct proto_ctx *ctx);
	// The number of transactions that were due before that time and have not begun.
	uint64_t (*waiting)(struct proto_ctx *ctx, uint64_t until_ms);
	// Write the next messages of n transactions, each into its own buffer of room bytes. May be
	// called again for the same transaction (AGAIN, a retransmission). flow: one per message,
	// filled as described at struct proto_flow. PROTO_REQUEST derives it from a function that
	// writes one message.
	void (*request)(struct proto_ctx *ctx, struct proto_txn *const *t, struct proto_flow *flow,
		struct proto_out *out, uint32_t n, uint32_t room);
	const struct proto_images *images; // over UDP. NULL: there are none
	// Write the preface of a connection, sent before its first message, and return its length;
	// 0: none. number: index of the connection on this worker. NULL: no preface.
	uint32_t (*preface)(struct proto_ctx *ctx, uint64_t number, uint8_t *buf, uint32_t room);
	// Returns the length of the message at the start of a stream, up to 65535 and possibly more
	// than len; 0: more bytes are needed, up to 32. NULL: each message is preceded by its
	// length in two bytes, which the engine writes and reads.
	uint32_t (*framed)(const uint8_t *buf, uint32_t len);
	// Extract the transaction key of a reply. Returns false if it is too short, not a reply of
	// this protocol, or handled by `unasked` of the router.
	bool (*key)(const uint8_t *buf, uint32_t len, uint32_t *key);
	struct proto_key_place key_place; // key must agree
	// Validate everything, count and advance: judges replies, one per transaction, from the
	// first on. Returns how many were judged, n or fewer: it stops after a reply that sets
	// ctx->noted. A transaction with `over` set comes alone. Counts nothing for STRAY and
	// MALFORMED, except the reason for a reply to the right question (forged cookie, wrong
	// case). PROTO_REPLY derives it from a function that judges one reply.
	uint32_t (*reply)(struct proto_ctx *ctx, struct proto_txn *const *t,
		const struct proto_message *in, enum proto_verdict *verdicts, uint32_t n);
	// Why reply returned FAIL or MALFORMED for this message: static text for a capture and for
	// the verdict; NULL: no details. Changes nothing. NULL: there are no such texts.
	const char *(*reason)(
		struct proto_ctx *ctx, const struct proto_txn *t, const uint8_t *buf, uint32_t len);
	// No answer within the timeout: AGAIN (retransmit), FAIL (lost) or APART. Also called
	// before the transaction's connection ends, where AGAIN counts as FAIL. AGAIN with another
	// step continues with the answer that reply kept, which belongs to the previous step. If
	// there is `begin`, also called, with over set, for a transaction that ends unsent: its
	// client becomes free again.
	enum proto_verdict (*timeout)(struct proto_ctx *ctx, struct proto_txn *t);
	// Would timeout end the transaction? Changes nothing. NULL: it always would.
	bool (*gives_up)(const struct proto_ctx *ctx, const struct proto_txn *t);
	// The i-th server with replies in the counters, which are summed over all workers; false:
	// no more. After the run. NULL: messages do not identify their server.
	bool (*peer)(const void *shared, const void *counters, uint32_t i, struct proto_peer *out);
};

// Defines `name` for proto.begin from a function that chooses the client of one transaction, or
// returns false:
//   bool one(struct proto_ctx *ctx, struct proto_txn *t)
#define PROTO_BEGIN(name, one)                                                                     \
	uint32_t name(struct proto_ctx *ctx, struct proto_txn *t, uint32_t n)                      \
	{                                                                                          \
		for (uint32_t i = 0; i < n; i++)                                                   \
			if (!(one)(ctx, &t[i]))                                                    \
				return i;                                                          \
		return n;                                                                          \
	}

// Defines `name` for proto.request from a function that writes the next message of t and returns
// its length, 0 if it does not fit in room:
//   uint32_t one(struct proto_ctx *ctx, struct proto_txn *t, uint8_t *buf, uint32_t room)
#define PROTO_REQUEST(name, one)                                                                   \
	void name(struct proto_ctx *ctx, struct proto_txn *const *t, struct proto_flow *flow,      \
		struct proto_out *out, uint32_t n, uint32_t room)                                  \
	{                                                                                          \
		for (uint32_t i = 0; i < n; i++) {                                                 \
			ctx->sum = 0;                                                              \
			out[i].len = (one)(ctx, t[i], out[i].buf, room);                           \
			out[i].sum = ctx->sum;                                                     \
		}                                                                                  \
	}

// Defines `name` for proto.reply from a function that judges one reply:
//   enum proto_verdict one(
//           struct proto_ctx *ctx, struct proto_txn *t, const uint8_t *buf, uint32_t len)
// The ends of the message are in ctx->ends.
#define PROTO_REPLY(name, one)                                                                     \
	uint32_t name(struct proto_ctx *ctx, struct proto_txn *const *t,                           \
		const struct proto_message *in, enum proto_verdict *verdicts, uint32_t n)          \
	{                                                                                          \
		struct proto_ends room;                                                            \
                                                                                                   \
		for (uint32_t i = 0; i < n; i++) {                                                 \
			ctx->ends = proto_ends_of(&in[i], &room);                                  \
			verdicts[i] = (one)(ctx, t[i], in[i].buf, in[i].len);                      \
			if (__builtin_expect(ctx->noted, 0))                                       \
				return i + 1;                                                      \
		}                                                                                  \
		return n;                                                                          \
	}

// The key of a reply, as proto.key has it.
static inline __attribute__((always_inline)) bool proto_key(
	const struct proto *p, const uint8_t *buf, uint32_t len, uint32_t *key)
{
	const struct proto_key_place *k = &p->key_place;

	if (__builtin_expect(
		    len > k->least - 1 && ((bytes_be32(buf) ^ k->mark) & k->mask) == 0, 1)) {
		*key = bytes_be32(buf + k->at) >> k->shift;
		return true;
	}
	return p->key(buf, len, key);
}

// Apart, as usual messages of most protocols do not need it.
static __attribute__((noinline, unused)) const struct proto_ends *proto_ends_plain(
	const struct proto_message *m, struct proto_ends *out)
{
	const uint8_t *udp = m->buf - FRAME_UDP_LEN;

	*out = (struct proto_ends){.src = udp - 2 * m->plain,
		.dst = udp - m->plain,
		.dst_mac = udp - (m->plain == 4 ? FRAME_PLAIN_UDP : FRAME_PLAIN_UDP6),
		.addr_len = m->plain,
		.src_port = bytes_be16(udp),
		.dst_port = bytes_be16(udp + 2)};
	return out;
}

// How a message travelled, if necessary written to room; NULL: unknown.
static inline const struct proto_ends *proto_ends_of(
	const struct proto_message *m, struct proto_ends *room)
{
	return __builtin_expect(m->plain, 0) ? proto_ends_plain(m, room) : m->ends;
}

// Discard the notes that reply has left with ctx->noted.
static inline void proto_notes_clear(struct proto_ctx *ctx)
{
	ctx->noted = ctx->elsewhere = false;
	ctx->path_found = ctx->mark = 0;
}

// Write one message: returns its length and sets ctx->sum.
static inline uint32_t proto_request(const struct proto *p, struct proto_ctx *ctx,
	struct proto_txn *t, uint8_t *buf, uint32_t room)
{
	struct proto_out out = {.buf = buf};
	struct proto_flow flow = {0};

	p->request(ctx, &t, &flow, &out, 1, room);
	ctx->sum = out.sum;
	return out.len;
}

// Judge one reply and discard its notes.
static inline enum proto_verdict proto_reply(const struct proto *p, struct proto_ctx *ctx,
	struct proto_txn *t, const struct proto_message *in)
{
	enum proto_verdict verdict;

	p->reply(ctx, &t, in, &verdict, 1);
	proto_notes_clear(ctx);
	return verdict;
}

static inline struct proto_terms proto_terms(const struct proto *p, const void *settings)
{
	struct proto_terms t = {0};

	if (p->terms)
		p->terms((void *)(uintptr_t)settings, &t);
	return t;
}

// Number of steps of an exchange, at least 1.
static inline uint32_t proto_steps(const struct proto *p)
{
	uint32_t n = 0;

	while (p->steps && p->steps[n])
		n++;
	return n ? n : 1;
}

// Number of marks of a follower.
static inline uint32_t proto_marks(const struct proto *p)
{
	uint32_t n = 0;

	while (p->follower->marks[n])
		n++;
	return n;
}
