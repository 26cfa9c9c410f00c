// SPDX-License-Identifier: BSD-3-Clause
// The contract between the engine and a protocol: settings and counters as rows, facts as data, and
// functions on bytes for the client, the server (optional) and the router (optional). A protocol
// sees no mbuf, clock, socket or port; the engine contains no protocol's name. How to add one:
// docs/protocols.md. Path: cold (terms, fit, check, setup, teardown, open, close, stocks, peer) |
// hot (the other functions).
//
// NULL is allowed for each member that says so. Structs that a function fills are zeroed before,
// and zero is right for a small protocol.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/addr.h"
#include "base/bytes.h"
#include "base/counter.h"
#include "base/diag.h"
#include "base/field.h"
#include "base/rand.h"
#include "net/timestamps.h"
#include "net/transport.h"

#define PROTO_MAX_STEPS  16
#define PROTO_MAX_WAITS  64
#define PROTO_MAX_COPIES 16   // of one message
#define PROTO_MAX_MORE   1024 // unfinished answers of several messages, per responder worker

// One transaction. The engine owns it and keeps bits of its own where there is room. The protocol
// writes user, step and tries: request at any time, reply only with AGAIN and KEPT. A step that
// KEPT moves on to has no message: the reply answered the step before.
struct proto_txn {
	uint64_t seq;    // number among the transactions of this worker and item, from 0: the same
	                 // seed and seq give the same message
	uint32_t key;    // key_bits wide; the ID to put on the wire
	uint32_t client; // index of the client below env.clients (its source address)
	uint32_t user;   // the protocol's own, 0 at first
	uint8_t step;    // index into steps, 0 at first
	uint8_t tries;   // 0 at first
	uint8_t wait;    // written by request: number of this message's wait in layout.waits, from
	                 // 1; 0: the item's timeout
	bool silent : 1; // written by request: no answer is expected. The transaction ends when the
	                 // message is sent; over a connection, when the peer has acknowledged it
	bool over : 1;   // input of reply and timeout: the transaction has ended, or expects no
	                 // message now. Judge the message and change counters only
};

// Where messages go and where answers arrive, for a protocol with a router. The lists belong to the
// result of setup.
struct proto_layout {
	struct field_list paths; // struct proto_path
	struct field_list ports; // uint16_t: UDP ports that answers arrive at
	// struct addr_range: addresses that the tester answers for. Replies to them reach the
	// workers of proto_env.homes.
	struct field_list owned;
	struct field_list waits; // uint64_t, ns: the waits for an answer
	uint64_t tries_ns;       // sum of all waits of one message; 0: the timeout
	uint8_t more;            // largest flow.more, below PROTO_MAX_COPIES
	bool own_macs;           // clients have Ethernet addresses of their own
	bool own_addresses;      // clients send from IP addresses that are not in `owned`
	bool own_answers;        // or servers may answer to such addresses
	const struct proto_soliciting *soliciting; // NULL: no router solicitations
};

// Routers are solicited before the first message, on the VLANs of each path (RFC 4861 section
// 6.3.7), in the name of one of the clients.
struct proto_soliciting {
	uint8_t mac[6];
	uint8_t src[16]; // its link-local address
	uint32_t tries;
	uint64_t interval_ns;
	bool needed;   // without an advertisement no message is sent
	uint8_t flags; // of struct neigh_advert: an advertisement counts if it has one of them; 0:
	               // any does
};

// A destination: a server, 255.255.255.255 or a multicast group, at the item's server port. The
// path to a server that the run discovers leads to the group until then (proto_ctx.path_found).
struct proto_path {
	struct addr dst;
	uint16_t vlans[2]; // inside those of the port, outermost first
	uint8_t vlan_count;
	bool vlans_vary; // each message has its own VLANs, vlan_count of them
};

// How one message travels. Written by request if the protocol has a router; if replies may come
// from any port (proto_facts.any_port), dst_port alone.
struct proto_flow {
	uint32_t path; // index into layout.paths
	uint8_t more;  // number of paths after it that get the same message
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
	const uint16_t *vlans; // inside those of the port, outermost first
	uint8_t vlan_count;
};

// A received message.
struct proto_message {
	const uint8_t *buf;
	uint32_t len;
	const struct proto_ends *ends; // NULL: unknown. Known with a router or any_port
};

// A message to be written.
struct proto_out {
	uint8_t *buf;
	uint32_t len; // written by request; 0: it does not fit
	uint64_t sum; // written by request: sum of its bytes (csum_add of net/csum.h); 0: unknown
};

// Where an answer of the responder goes, if not back to the sender of the request, and from where.
struct proto_direction {
	uint8_t dst[16];   // all zero: the source address of the request
	uint16_t dst_port; // 0: the source port of the request
	uint16_t src_port; // 0: the destination port of the request
	uint8_t mac[6];    // all zero: the source MAC of the request
};

// Input of check, setup and open.
struct proto_env {
	uint64_t seed;    // of the run, mixed with the item's place: differs between items
	uint32_t worker;  // 0..workers-1
	uint32_t workers; // that share the item
	uint32_t threads; // that may use *common at the same time. In open
	uint32_t clients; // source addresses of this worker
	// For each address of layout.owned, the worker that its replies reach. NULL: worker n mod
	// workers for address n, or unknown. Not in setup.
	const uint8_t *homes;
	uint16_t captured_port; // of the server in the user's captures. In setup
	const char *times_of; // file of a replay, all of whose packets count; NULL: none. In setup
	uint8_t addr_len;     // 4 or 16: family of the item
	struct addr server;   // of the item, or the responder's own; len 0: none was given
	uint16_t server_port;
	uint64_t timeout_ns;
	double rate;      // transactions per second; INFINITY: max; 0: closed loop
	bool dry;         // messages are written to a file, none is sent
	const char *name; // of the item; NULL: of the responder
	// A pointer that all items of the protocol in this plan share, NULL at first. Not of the
	// responder. Workers do not run before all items are open.
	void **common;
	// If the item follows another one (struct proto_follower), that item's; otherwise NULL and
	// 0. The first three are in check, too.
	const struct proto_followed *followed;
	uint64_t followed_clients; // of all workers together
	bool followed_named;       // proto_terms.named
	uint32_t happenings;       // that it follows: a bit for each
};

// The work that the load of an item makes in one run.
struct proto_work {
	double rate;        // transactions per second, proto_terms.extra included; 0: not constant
	uint64_t begun;     // upper bound of transactions that begin; UINT64_MAX: unknown
	uint64_t in_flight; // upper bound of those at one time
	double seconds;     // duration, warm-up included
	uint64_t memory;    // bytes that numbers derived from it may take; 0: any
	uint32_t workers;   // that share the item
};

#define PROTO_MAX_STOCKS 2 // of an item, or of the responder for an item

// Something that transactions use up.
struct proto_stock {
	const char *name;   // "clients"
	const char *remedy; // how to get more of it, or make it last
	const char *bound;  // how more of it become bound; NULL: it is never bound
	uint64_t count;     // of it
	uint64_t given;     // in the file, at least count: the run cannot use the others
	uint64_t left;      // when the run begins
	double each;        // that one transaction uses, on average; 0: none
	double back_s;      // time after which it is back by itself; 0: never, or unknown
	bool chosen;        // by fit, for the load
};

// What the settings of an item alone determine.
struct proto_terms {
	// Another row for items with these settings, of the same name, settings and counters: their
	// messages have no room for this row's key. NULL: this row.
	const struct proto *row;
	const struct transport_settings *transport; // NULL: over UDP
	uint32_t longest_reply; // bytes of the longest reply, if connections are to buffer a part
	                        // of one each; 0: it is short
	// With a router: further servers (struct field_host) in the settings, the family of the
	// server's address (4, 16; 0: either), and why it may not be missing (NULL: it may).
	struct field_list *servers;
	uint8_t server_len;
	const char *no_server;
	double extra; // transactions per second added to a load of constant rate; other loads:
	              // check refuses it
	// The protocol and no load says when transactions begin: how many had begun at a time, in
	// seconds from the start of the run, warm-up included; after fit. NULL: a load does.
	double (*begun)(const void *settings, double until_s);
	uint64_t at_once;  // with begun: upper bound of transactions in flight
	uint64_t clients;  // that another item can follow
	bool named;        // each of them has a domain name
	uint32_t each;     // of a follower: transactions at once for each client
	uint64_t every_ns; // of a follower: they are repeated after this time
};

// What setup knows about the messages of an item, or about the answers of the responder.
struct proto_facts {
	uint32_t longest; // bytes of the longest message; 0: each fits into any packet
	uint32_t fixed;   // over connections: the length of all messages of the other side; 0: they
	                  // differ
	uint64_t memory;  // bytes that open takes, for all workers together; 0: few
	// Of an item:
	bool harmless; // its first message changes nothing on the server: a probe before the run
	               // may send it
	bool silent;   // over connections: messages may be silent
	bool connects; // no message is sent: a connection is the transaction, and its acceptance
	               // the reply, of length 0
	bool any_port; // a server may reply from any of its ports, and be asked there
	const char *input; // what was used of its input file, "97 of 100 lines of f: ..."; NULL:
	                   // all, or there is none
	const struct timestamps *times; // when the messages of env.times_of were captured, none if
	                                // setup has read no such file; NULL: never
	struct proto_stock stocks[PROTO_MAX_STOCKS]; // clients first; name NULL: no more of them
	struct proto_layout layout;                  // with a router
	// Of the responder:
	bool timed;        // answer reads ctx->now_ms, if open leaves a state or there is no open
	uint16_t ports;    // it answers at this number of ports after its own, too
	uint64_t after_ns; // further messages to a datagram leave after this time; 0: at once
	// Connections begin with something before their first message: its length as by
	// proto.framed; answer gets it with ctx->begins. NULL: no.
	uint32_t (*preface)(const uint8_t *buf, uint32_t len);
};

// Why begin has no client.
enum proto_lack {
	PROTO_NO_FREE,      // none is free
	PROTO_NO_BOUND,     // a bound one is needed, and none of these is idle
	PROTO_NO_BOUND_YET, // none was ever bound
};

// Per worker and item (or per responder worker and protocol): made by open, used by one thread.
struct proto_ctx {
	const void *shared; // result of setup
	void *counters;     // of this worker: the bank of this transaction (warm-up or measured)
	void *own;          // the protocol's own, from open
	const struct proto_ends *ends; // of the message that answer reads
	uint64_t now_ms;               // time of this packet since the start of the run
	uint64_t began_ms;             // Unix time of that start
	bool stream; // the message travels over a connection: no datagram limits its size
	bool closed; // input of timeout: the connection ended, the wait is not over
	bool begins; // input of answer: this is the preface of a connection
	// Written by the function of a PROTO_REQUEST or PROTO_REPLY:
	uint64_t sum; // as proto_out.sum
	// Written by reply with `noted`, all 0 before: more about the last reply that it judged.
	bool noted;
	bool elsewhere; // its message did not come from the server that was asked, or not from its
	                // port, and is accepted all the same
	// From now on its sender is the destination of a path: the number of the path, from 1, and
	// the address. Messages go to the MAC that this one came from.
	uint32_t path_found;
	uint8_t found[16];
	// Of a follower whose reply shows what was waited for: the number of a mark, from 1, and
	// the `at` of the event since which its time counts, 0: not counted.
	uint32_t mark;
	uint64_t mark_from;
	uint32_t idle_ms; // written by reply with `stream`: the server closes a connection that is
	                  // without a message for this time
	enum proto_lack lack;       // PROTO_NO_FREE before begin; written when it returns false
	uint32_t clients;           // written by open: that a follower on this worker may see
	struct proto_ctx *followed; // of the same worker; NULL: the item follows none
	// Written by answer, 0 before:
	uint32_t more;     // further messages follow: a number from 1 to PROTO_MAX_MORE for them
	uint32_t directed; // not 0: `to` says where the datagram goes
	struct proto_direction to;
};

enum proto_verdict {
	PROTO_DONE,   // valid and in time
	PROTO_AGAIN,  // continue with the next message of the same transaction: request is called
	              // again
	PROTO_STREAM, // continue with the same message over a connection, with ctx.stream; only if
	              // the settings say so
	PROTO_FAIL, // an answer to this transaction, but a refusal or rejected by the item's checks
	PROTO_APART, // reply, timeout: not part of what is measured. The transaction ends without
	             // being answered, failed or lost; the protocol counts it
	// With these the transaction stays in flight.
	PROTO_STRAY,     // no answer to this transaction, in spite of its key
	PROTO_MALFORMED, // the key of this transaction, but not well formed
	PROTO_KEPT,      // a right answer, and another one may follow; timeout continues with it
	PROTO_DUPLICATE, // a further answer to a message that was answered
};

#define PROTO_NO_ANSWER UINT32_MAX // result of apply: no answer is sent
#define PROTO_RESET     UINT32_MAX // result of answer to a preface: the connection is reset

// A fault that the responder makes on demand (responder.faults). The same name in several protocols
// is one setting for all of them.
struct proto_fault {
	const char *name, *help;
	bool extra; // apply changes a copy, which is sent beside the answer
	// Corrupt the finished answer of len bytes; random: 64 random bits. Returns its new length
	// up to room, or PROTO_NO_ANSWER; 0: not possible with this answer, which is unchanged.
	uint32_t (*apply)(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random);
};

// The server side of a protocol: the embedded responder answers with it. ctx is per responder
// worker; its counters are those of this struct.
struct proto_server {
	const struct field_section *settings;   // section below responder
	const struct counter_section *counters; // uint64_t only
	// Clients also send to these groups (broadcast, multicast), with VLAN tags of their own.
	// The last one has len 0; NULL: none.
	const struct addr *groups;
	bool stream; // over TCP, too

	// Do the settings serve these items (settings of each that asks the responder)? Errors go
	// to d. NULL: always.
	void (*check)(
		const void *settings, const void *const *items, uint32_t count, struct diag *d);
	// What transactions of an item with those settings use up here: how many, up to
	// PROTO_MAX_STOCKS. NULL: nothing.
	uint32_t (*stocks)(const void *settings, const void *item, struct proto_stock *out);
	// As in struct proto; open and close: both or neither.
	void *(*setup)(const void *settings, const struct proto_env *env, struct proto_facts *facts,
		struct diag *d);
	void (*teardown)(void *shared);
	int (*open)(struct proto_ctx *ctx, const struct proto_env *env);
	void (*close)(struct proto_ctx *ctx);
	// Write the answer to a request and return its length; 0: no answer. out does not overlap
	// buf.
	uint32_t (*answer)(struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out,
		uint32_t room);
	// Write the next message that ctx->more stands for and return its length; 0: none.
	// ctx->more is 0 after the last one. Over a connection, when it has room; buf is NULL then,
	// and out NULL if the connection has ended. For a datagram buf is the request, and the
	// message travels like the answer, facts.after_ns later. NULL: answers are single messages.
	uint32_t (*more)(struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out,
		uint32_t room);
	const struct proto_fault *faults; // the last one has no name; NULL: none
};

// A protocol whose messages carry their sender (DHCP) has a router: request writes the path, the
// addresses and the ports of each message, and begin chooses its client. Without one, the engine
// takes them from the item's source section.
struct proto_router {
	// A message without a key that a server sends of its own accord. Returns false if it is no
	// such message, or for no client of the item. Otherwise *worker is the worker of its client
	// (of env.workers, or UINT32_MAX: none of this machine); if that is this one, the message
	// is counted, and `due` says when the client acts on it. NULL: there are none.
	bool (*unasked)(
		struct proto_ctx *ctx, const struct proto_message *message, uint32_t *worker);
	// Does a client of this worker hold this address now? Then write its MAC, unless that is
	// the port's.
	bool (*owns)(struct proto_ctx *ctx, const uint8_t *addr, uint8_t addr_len, uint8_t mac[6]);
};

// What another item can follow in the life of a client: both run on the same worker.
enum proto_happening { PROTO_LEASED, PROTO_RELEASED, PROTO_HAPPENINGS };

struct proto_event {
	enum proto_happening what;
	uint32_t client;  // index, below proto_ctx.clients
	uint32_t number;  // of the client in the whole run
	uint8_t addr_len; // 4 or 16
	uint8_t addr[16]; // that was leased, or released
	uint64_t at;      // written by the engine: tick; 0: it happened in the warm-up
};

#define PROTO_IDENTITY_MAX 264

// The identity of a client: the type and the identifier of RFC 4701 section 3.3.
struct proto_identity {
	uint16_t type, len;
	uint8_t bytes[PROTO_IDENTITY_MAX];
};

// ctx is that of a worker of the item; a client is its index there.
struct proto_followed {
	const char *names[PROTO_HAPPENINGS]; // as the protocol calls them
	// t has ended well: its reply was just judged, or it was sent and is silent. What happened
	// to its client; false: nothing that can be followed.
	bool (*happened)(struct proto_ctx *ctx, const struct proto_txn *t, struct proto_event *out);
	// Append the client's domain name in wire form, with the root.
	void (*name)(const struct proto_ctx *ctx, uint32_t client, struct writer *w);
	void (*identity)(const struct proto_ctx *ctx, uint32_t client, struct proto_identity *out);
};

// An item that follows another one: events say when its transactions begin (proto.due), and no load
// does.
struct proto_follower {
	const char *const *marks; // what is timed; NULL-terminated
	// It happened; ctx->counters is where this client counts from now on.
	void (*happened)(struct proto_ctx *ctx, const struct proto_event *event);
	// The run is over: count the clients that are still waited for.
	void (*over)(struct proto_ctx *ctx);
};

// A server that replied to an item.
struct proto_peer {
	char name[272];   // its identifier in messages
	struct addr from; // of its first reply; len 0: unknown
	uint64_t offers, answers, refusals;
};

#define PROTO_NOT_DUE UINT64_MAX       // result of due: none is, and none will be by itself
#define PROTO_NOT_YET (UINT64_MAX - 1) // none is now, but the clients of a follower wait

// A protocol, and its client side.
struct proto {
	const char *name; // "dns"
	const char *help;
	uint16_t default_port; // UDP, of the server
	// 8..32; below 16, the IDs of answered transactions are used again at once
	uint8_t key_bits;
	const char *const *steps; // names of the steps of an exchange, NULL-terminated, up to
	                          // PROTO_MAX_STEPS; NULL: one step
	double cost_ns;           // worker time of one message and its answer, measured over rings
	                          // (docs/performance.md)
	const struct field_section *settings; // of a traffic item
	// uint64_t only; of a traffic item. Counters request_bytes and reply_bytes, if present,
	// give the rates of bits in the result. The verdict quotes counter.stray.
	const struct counter_section *counters;
	const struct proto_server *server;     // NULL: the responder does not speak the protocol
	const struct proto_router *router;     // NULL: the engine chooses addresses and ports
	const struct proto_followed *followed; // NULL: its items cannot be followed
	const struct proto_follower *follower; // NULL: its items follow none; otherwise each does

	// What the settings determine by themselves; they may be wrong. Changes nothing. NULL:
	// zero.
	void (*terms)(void *settings, struct proto_terms *out);
	// Before check, and again when more is known: settings that follow from the load get their
	// numbers. NULL: there are none.
	void (*fit)(void *settings, const struct proto_work *work);
	// Cross-field rules; errors go to d. settings is what the rows filled. NULL: none.
	void (*check)(const void *settings, const struct proto_env *env, struct diag *d);
	// Read input and precompute: the shared part, or NULL after an error (in d, or no memory).
	// Items are set up in the order of the file.
	void *(*setup)(const void *settings, const struct proto_env *env, struct proto_facts *facts,
		struct diag *d);
	void (*teardown)(void *shared);
	// Per worker state in ctx->own; 0 or -errno. NULL: there is none.
	int (*open)(struct proto_ctx *ctx, const struct proto_env *env);
	// Write the state where the settings say; 0, or -errno when that failed (logged). NULL:
	// nothing to do.
	int (*close)(struct proto_ctx *ctx);

	// A new transaction is due (seq is known, key is not): choose its client. Returns false if
	// none is free; the protocol counts the reason. NULL: each client is free.
	bool (*begin)(struct proto_ctx *ctx, struct proto_txn *t);
	// If the protocol says when transactions begin (proto_terms.begun, or a follower): the time
	// of the next one, in ms since the start of the run, if not after ctx->now_ms; otherwise
	// PROTO_NOT_DUE or PROTO_NOT_YET. begin takes it. In a dry run: its time, whenever that is.
	// NULL, both: a load says.
	uint64_t (*due)(struct proto_ctx *ctx);
	// The number of transactions that were due before then and did not begin.
	uint64_t (*waiting)(struct proto_ctx *ctx, uint64_t until_ms);
	// Write the next messages of n transactions, each into room bytes of its own. A message may
	// be written again for the same transaction (AGAIN, a retransmission). flow: one for each
	// message (struct proto_flow says what to write). PROTO_REQUEST makes it of a function that
	// writes one message.
	void (*request)(struct proto_ctx *ctx, struct proto_txn *const *t, struct proto_flow *flow,
		struct proto_out *out, uint32_t n, uint32_t room);
	// Write what a connection begins with, before its first message; its length, 0: nothing.
	// number: of the connection among those of this worker. NULL: nothing.
	uint32_t (*preface)(struct proto_ctx *ctx, uint64_t number, uint8_t *buf, uint32_t room);
	// Where a message of a stream ends: its length, up to 65535 and possibly more than len, if
	// it begins with these bytes. 0: more bytes are needed, up to 32. NULL: each message is
	// preceded by its length in two bytes, which the engine writes and reads.
	uint32_t (*framed)(const uint8_t *buf, uint32_t len);
	// Extract the transaction key of a reply. false: too short, not a reply of this protocol,
	// or one of those that `unasked` of the router takes.
	bool (*key)(const uint8_t *buf, uint32_t len, uint32_t *key);
	// Validate everything, count, advance: judge replies to as many transactions, from the
	// first on. Returns how many, n or fewer: it stops after one with ctx->noted. A transaction
	// that is over is alone. Counts nothing for STRAY and MALFORMED, except the reason for a
	// reply to the right question (forged cookie, wrong case). PROTO_REPLY makes it of a
	// function that judges one reply.
	uint32_t (*reply)(struct proto_ctx *ctx, struct proto_txn *const *t,
		const struct proto_message *in, enum proto_verdict *verdicts, uint32_t n);
	// Why reply gave FAIL or MALFORMED for this message: static text for a capture and for the
	// verdict; NULL: no more to say. Changes nothing. NULL: there are no such texts.
	const char *(*reason)(
		struct proto_ctx *ctx, const struct proto_txn *t, const uint8_t *buf, uint32_t len);
	// No answer within the timeout: AGAIN (retransmit), FAIL (lost) or APART. Likewise before
	// the end of its connection, where AGAIN counts as FAIL. AGAIN with another step continues
	// with the answer that reply kept, which belongs to the step before. Also called, with over
	// set, for a transaction that ends without having been sent, if there is `begin`: its
	// client is free again.
	enum proto_verdict (*timeout)(struct proto_ctx *ctx, struct proto_txn *t);
	// Would timeout end the transaction? Changes nothing. NULL: it always would.
	bool (*gives_up)(const struct proto_ctx *ctx, const struct proto_txn *t);
	// The i-th server that the counters, of all workers, have replies of; false: there are no
	// more. After the run. NULL: messages carry no identifier of their server.
	bool (*peer)(const void *shared, const void *counters, uint32_t i, struct proto_peer *out);
};

// The function `name` for proto.request, made of one that writes the next message of t and returns
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

// The function `name` for proto.reply, made of one that judges one reply:
//   enum proto_verdict one(
//           struct proto_ctx *ctx, struct proto_txn *t, const uint8_t *buf, uint32_t len)
// It finds the ends of the message in ctx->ends.
#define PROTO_REPLY(name, one)                                                                     \
	uint32_t name(struct proto_ctx *ctx, struct proto_txn *const *t,                           \
		const struct proto_message *in, enum proto_verdict *verdicts, uint32_t n)          \
	{                                                                                          \
		for (uint32_t i = 0; i < n; i++) {                                                 \
			ctx->ends = in[i].ends;                                                    \
			verdicts[i] = (one)(ctx, t[i], in[i].buf, in[i].len);                      \
			if (__builtin_expect(ctx->noted, 0))                                       \
				return i + 1;                                                      \
		}                                                                                  \
		return n;                                                                          \
	}

// What reply wrote with ctx->noted was read.
static inline void proto_notes_clear(struct proto_ctx *ctx)
{
	ctx->noted = ctx->elsewhere = false;
	ctx->path_found = ctx->mark = 0;
}

// One message: its length, with ctx->sum.
static inline uint32_t proto_request(const struct proto *p, struct proto_ctx *ctx,
	struct proto_txn *t, uint8_t *buf, uint32_t room)
{
	struct proto_out out = {.buf = buf};
	struct proto_flow flow = {0};

	p->request(ctx, &t, &flow, &out, 1, room);
	ctx->sum = out.sum;
	return out.len;
}

// The verdict on one reply. What it notes is dropped.
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

// Steps of an exchange, at least 1.
static inline uint32_t proto_steps(const struct proto *p)
{
	uint32_t n = 0;

	while (p->steps && p->steps[n])
		n++;
	return n ? n : 1;
}

// Marks of a follower.
static inline uint32_t proto_marks(const struct proto *p)
{
	uint32_t n = 0;

	while (p->follower->marks[n])
		n++;
	return n;
}
