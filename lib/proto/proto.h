// SPDX-License-Identifier: BSD-3-Clause
// The contract between the engine and a protocol: rows for its settings and counters, and verbs on
// bytes, as client, server (optional) and router (optional). A protocol sees no mbuf, clock, socket
// or port; the engine knows no protocol's name. How to add one: docs/protocols.md. Path: cold
// (check, setup, layout, teardown, memory, open, close) | hot (the other verbs).
#pragma once

#include <stdbool.h>
#include <stdint.h>

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
#define PROTO_MAX_MORE   1024 // answers of several messages that a worker is at

// One transaction, as the protocol sees it. The engine owns it, and keeps bits of its own where
// there is room; user, step and tries are the protocol's to write, in reply only with AGAIN and
// KEPT. A step that KEPT continues with has no message: the reply answered the step before.
struct proto_txn {
	uint64_t seq;    // number among the transactions of this worker and item, from 0: the same
	                 // seed and seq give the same message. The engine gives it to reply too.
	uint32_t key;    // key_bits wide; the ID to put on the wire
	uint32_t client; // index of the client below env.clients (its source address)
	uint32_t user;   // kept by the engine between the verbs, 0 at first
	uint8_t step;    // 0 at first; chooses steps[step]
	uint8_t tries;   // 0 at first
	uint8_t wait;    // 0 at first; written by request: number of this message's wait in
	                 // layout.waits, from 1; 0: the item's timeout
	bool silent : 1; // written by request: no answer is expected, the transaction ends as soon
	                 // as the message is sent, over a connection as soon as the peer has
	                 // acknowledged it. It is the last one of its transaction
	bool over : 1;   // input of reply and timeout: the transaction has ended, or expects no
	                 // message now. Judge the message, change counters only
};

// Where messages go and answers come to, for a protocol with a router. The lists belong to the
// result of setup.
struct proto_layout {
	struct field_list paths; // struct proto_path
	struct field_list ports; // uint16_t: UDP ports that answers come to
	// struct addr_range: addresses that the tester answers for, whose replies reach the workers
	// of proto_env.homes.
	struct field_list owned;
	struct field_list waits; // uint64_t, ns: the waits for an answer
	uint64_t tries_ns;       // all waits of one message, one after the other; 0: the timeout
	uint8_t more;            // largest flow.more, below PROTO_MAX_COPIES
	bool own_macs;           // clients have Ethernet addresses of their own
	bool own_addresses;      // clients send from IP addresses that are not in `owned`
	bool own_answers;        // or servers may answer to such addresses
	const struct proto_soliciting *soliciting; // NULL: nobody asks for routers
};

// Routers are asked for before the first message, on the VLANs of each path (RFC 4861 section
// 6.3.7), in the name of one of the clients.
struct proto_soliciting {
	uint8_t mac[6];
	uint8_t src[16]; // its link-local address
	uint32_t tries;
	uint64_t interval_ns;
	bool needed;   // without an advertisement no message is sent
	uint8_t flags; // of struct neigh_advert: it has one of them, or does not count; 0: any does
};

// A destination: a server, 255.255.255.255 or a multicast group, at the item's server port. That of
// a server which the run is to find is the group until then (proto_ctx.path_found).
struct proto_path {
	struct addr dst;
	uint16_t vlans[2]; // inside those of the port, outermost first
	uint8_t vlan_count;
	bool vlans_vary; // each message has VLANs of its own, as many
};

// How one message goes.
struct proto_flow {
	uint32_t path; // index into layout.paths
	uint8_t more;  // number of paths after it that get the same message
	uint16_t src_port;
	uint16_t vlans[2]; // on a path whose VLANs vary; otherwise 0
	bool own_mac;      // mac is the Ethernet source; otherwise the port's is
	uint8_t mac[6];
	uint8_t src[16];
};

// How a received message came; addr_len bytes each.
struct proto_ends {
	const uint8_t *src, *dst;
	const uint8_t *dst_mac; // in front of the source's, as in the frame
	uint8_t addr_len;
	uint16_t src_port, dst_port;
	const uint16_t *vlans; // inside those of the port, outermost first
	uint8_t vlan_count;
};

// A received message.
struct proto_message {
	const uint8_t *buf;
	uint32_t len;
	const struct proto_ends *ends; // for a protocol with a router
};

// A message to be written.
struct proto_out {
	uint8_t *buf;
	uint32_t len; // written by request_n: 0: it does not fit
	uint64_t sum; // written by request_n: as ctx.sum
};

// Where an answer of the responder goes, if not back to the sender of the request.
struct proto_direction {
	uint8_t dst[16]; // all zero: the source address of the request
	uint16_t dst_port;
	uint8_t mac[6];
};

// Input of setup and open.
struct proto_env {
	uint64_t seed;    // of the run, mixed with the item's place: differs between items
	uint32_t worker;  // 0..workers-1
	uint32_t workers; // that share the item
	uint32_t clients; // source addresses of this worker
	// Of each address of layout.owned the worker that its replies reach. NULL: worker n mod
	// workers for address n, or nobody knows. Not in setup.
	const uint8_t *homes;
	uint16_t captured_port; // of the server in the user's captures. In setup
	const char *times_of; // file of a replay, all of whose packets count; NULL: none. In setup
	uint8_t addr_len;     // 4 or 16: family of the item
	struct addr server;   // of the item, or the responder's own; len 0: none was given
	uint16_t server_port;
	uint64_t timeout_ns;
	double rate;      // transactions per second; INFINITY: max; 0: closed loop
	bool dry;         // messages go into a file, none is sent
	const char *name; // of the item; NULL: of the responder
	void *common;     // result of common_setup; NULL before it
	// Of an item that follows another one (struct proto_follower), that one's; otherwise NULL
	// and 0.
	const struct proto_followed *followed;
	uint64_t followed_clients; // of all workers together
	uint32_t happenings;       // that it follows: a bit for each
};

// The work that the load of an item makes in one run.
struct proto_work {
	double rate;        // transactions per second, those of extra included; 0: not constant
	uint64_t begun;     // transactions that begin, at the most; UINT64_MAX: nobody knows
	uint64_t in_flight; // of them at once, at the most
	double seconds;     // that it lasts, warm-up included
	uint64_t memory;    // bytes that numbers which follow from it may take; 0: any
	uint32_t workers;   // that share the item
};

// Of an item whose protocol says when each transaction begins.
struct proto_pace {
	uint64_t at_once; // transactions in flight, at the most
	// Transactions that begin until then, in seconds from the start of the run, warm-up
	// included, as the settings foresee it; after fit.
	double (*begun)(const void *settings, double until_s);
};

#define PROTO_MAX_STOCKS 2 // of an item, or of the responder for an item

// Something that transactions use up.
struct proto_stock {
	const char *name;   // "clients"
	const char *remedy; // how there are more of it, or they last
	const char *bound;  // how more of it are bound; NULL: none ever is
	uint64_t count;     // of it
	uint64_t given;     // in the file, not less: the run cannot use the others
	uint64_t left;      // when the run begins
	double each;        // that one transaction uses, on average; 0: none
	double back_s;      // time after which it is back by itself; 0: never, or unknown
	bool chosen;        // by fit, for the load
};

// Why begin has no client.
enum proto_lack {
	PROTO_NO_FREE,      // none is free
	PROTO_NO_BOUND,     // one that is bound would do, and none of these is idle
	PROTO_NO_BOUND_YET, // none was ever bound
};

// Per worker and item (or per worker and responder): made by open, used by one thread.
struct proto_ctx {
	const void *shared; // result of setup
	void *counters;     // of this worker: the bank of this transaction (warm-up or measured)
	void *own;          // the protocol's own, from open
	const struct proto_ends *ends; // of the message that reply or answer reads; NULL: unknown
	bool elsewhere; // false before reply; written by one whose message did not come from the
	                // server that was asked, or not from its port, and is taken all the same
	// 0 before reply; written by one whose sender is the destination of a path from now on: the
	// number of the path, from 1, and the address. Its messages go to the MAC that this one
	// came from.
	uint32_t path_found;
	uint8_t found[16];
	uint64_t now_ms;   // time of this packet since the start of the run
	uint64_t began_ms; // Unix time of that start
	bool stream;      // the message goes or came over a connection: no datagram limits its size
	bool closed;      // input of timeout: the connection ended, no time is over
	uint32_t more;    // 0 before answer; one with further messages, over a
	                  // connection, leaves a number up to PROTO_MAX_MORE that stands for them
	bool later;       // false before answer; written by one that `later` of the server is to be
	                  // called for
	uint32_t idle_ms; // written by reply with `stream`: the server closes a connection that is
	                  // without a message for so long
	uint64_t sum; // 0 before request; written by one that knows it without reading the whole
	              // message: the sum of its bytes (csum_add of net/csum.h)
	enum proto_lack lack;       // PROTO_NO_FREE before begin; written by one that says false
	struct proto_ctx *followed; // of the same worker; NULL: the item follows none
	// Of a follower: 0 before reply; written by one that shows what was waited for: the number
	// of a mark, from 1, and the `at` of the event since which its time counts, 0: not counted.
	uint32_t mark;
	uint64_t mark_from;
};

enum proto_verdict {
	PROTO_DONE,   // valid and in time
	PROTO_AGAIN,  // continue with the next message of the same transaction: request is called
	              // again
	PROTO_STREAM, // the same over a connection, with ctx.stream; only if the settings say so
	PROTO_FAIL, // an answer to this transaction, but a refusal or rejected by the item's checks
	PROTO_APART, // reply, timeout: it is no part of what is measured, and ends without being
	             // answered, failed or lost; the protocol counts it
	// With these the transaction stays in flight.
	PROTO_STRAY,     // no answer to this transaction, in spite of its key
	PROTO_MALFORMED, // the key of this transaction, but not well formed
	PROTO_KEPT, // a right answer, kept while a better one may come; timeout continues with it
	PROTO_DUPLICATE, // a further answer to a message that was answered
};

struct proto_step {
	const char *name;
};

#define PROTO_NO_ANSWER UINT32_MAX // result of apply: no answer is sent

// A fault that the responder makes on demand (responder.faults). The same name in several protocols
// is one setting for all of them.
struct proto_fault {
	const char *name, *help;
	bool extra; // apply changes a copy, which is sent beside the answer
	// Spoil the ready answer of len bytes; random: 64 random bits. Its new length up to room,
	// or PROTO_NO_ANSWER; 0: not possible with this answer, which is unchanged.
	uint32_t (*apply)(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random);
};

// The server side of a protocol: the embedded responder answers with it. ctx is per worker of the
// responder; its counters are those of this struct.
struct proto_server {
	const struct field_section *settings;   // section below responder
	const struct counter_section *counters; // uint64_t only
	// Clients also ask these groups (broadcast, multicast), with VLAN tags of their own. The
	// last one has len 0; NULL: none.
	const struct addr *groups;
	bool timed; // answer reads ctx->now_ms, if open leaves a state or there is no open

	// Do the settings serve these items (settings of each that asks the responder)? Errors go
	// to d. NULL: always.
	void (*check)(
		const void *settings, const void *const *items, uint32_t count, struct diag *d);
	// What transactions of an item with those settings use up here: how many, up to
	// PROTO_MAX_STOCKS. NULL: nothing.
	uint32_t (*stocks)(const void *settings, const void *item, struct proto_stock *out);
	// Precompute: the part that all workers share, or NULL after an error (in d, or no memory).
	void *(*setup)(const void *settings, const struct proto_env *env, struct diag *d);
	void (*teardown)(void *shared);
	// Bytes that open is going to take for such a worker. NULL: few.
	uint64_t (*memory)(const void *shared, const struct proto_env *env);
	// State of one worker of env->workers, in ctx->own; 0 or -errno. Both or neither.
	int (*open)(struct proto_ctx *ctx, const struct proto_env *env);
	void (*close)(struct proto_ctx *ctx);
	// Length of the longest answer. NULL: one packet holds it.
	uint32_t (*longest)(const void *shared);
	// Write the answer to a request and return its length; 0: no answer. out does not overlap
	// buf.
	uint32_t (*answer)(struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out,
		uint32_t room);
	// Length of requests over connections that all have one, as struct proto.reply_len.
	uint32_t (*request_len)(const void *shared);
	// Write the next message of the answer that ctx->more stands for, and return its length.
	// With the last one it is 0 again. out NULL: nobody wants the rest. NULL: there are none.
	uint32_t (*more)(struct proto_ctx *ctx, uint8_t *out, uint32_t room);
	// A message of the server's own accord for the sender of a datagram that was answered, and
	// which buf still holds: write it and return its length; 0: none. It goes where the answer
	// went, after_ns later. after_ns: 0: no such message with these settings. NULL, both:
	// never.
	uint32_t (*later)(struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out,
		uint32_t room);
	uint64_t (*after_ns)(const void *shared);
	// Do connections begin with something before their first message, with these settings? Its
	// length is told as by struct proto.framed; begun takes it. false: it is not right, and the
	// connection is reset. NULL, all three: no.
	bool (*has_preface)(const void *shared);
	uint32_t (*preface)(const uint8_t *buf, uint32_t len);
	bool (*begun)(struct proto_ctx *ctx, const uint8_t *buf, uint32_t len);
	// Where that answer goes; false: back to the sender of the request. NULL: always back.
	bool (*direct)(const uint8_t *answer, uint32_t len, struct proto_direction *out);
	const struct proto_fault *faults; // the last one has no name; NULL: none
};

// A protocol whose messages carry their sender (DHCP) has a router: it chooses the client, the
// addresses and the ports of each message. Without one, the engine takes them from the item's
// source section. Every verb is required, unless it says otherwise.
struct proto_router {
	// The list of further servers (struct field_host) in the settings. NULL: there is none.
	struct field_list *(*servers)(void *settings);
	// Is this server's address (len 0: none was given) sufficient, and of the right family?
	void (*check_server)(const void *settings, const struct addr *server, struct diag *d);
	void (*layout)(const void *shared, struct proto_layout *out);
	// State that all items of the protocol share, over all workers (threads of them use it at
	// the same time): made once, from the results of all setups in the order of the file. NULL:
	// no memory. open gets it in env.common. Both verbs or neither.
	void *(*common_setup)(void *const *shared, uint32_t count, uint32_t threads);
	void (*common_teardown)(void *common); // when every ctx is closed
	// A new transaction is due (seq is known, key is not): pick its client. false: no client is
	// free; the protocol counts the reason.
	bool (*begin)(struct proto_ctx *ctx, struct proto_txn *t);
	// Where the protocol and no load says when transactions begin (struct proto.paces): the
	// time of the next one, in ms since the start of the run, if not after ctx->now_ms;
	// UINT64_MAX: none is due. begin takes it. In a dry run: whenever it is. NULL: always a
	// load.
	uint64_t (*due)(struct proto_ctx *ctx);
	// Those that were due before then, and did not begin.
	uint64_t (*waiting)(struct proto_ctx *ctx, uint64_t until_ms);
	// How the next message of t goes: called before request, which writes it.
	void (*flow)(struct proto_ctx *ctx, const struct proto_txn *t, struct proto_flow *out);
	// flow and request of n transactions at once, as struct proto has request_n. NULL: one by
	// one.
	void (*request_n)(struct proto_ctx *ctx, struct proto_txn *const *t,
		struct proto_flow *flow, struct proto_out *out, uint32_t n, uint32_t room);
	// A message without a key that a server sends of its own accord. false: it is no such
	// message, or for no client of the item. Otherwise the worker of its client in *worker (of
	// env.workers, or UINT32_MAX: none of this box); if that is this one, the message is
	// counted, and the client does what it asks for when `due` says. NULL: there are none.
	bool (*unasked)(
		struct proto_ctx *ctx, const struct proto_message *message, uint32_t *worker);
	// Does a client of this worker hold this address now? Then write its mac, unless that is
	// the port's.
	bool (*owns)(struct proto_ctx *ctx, const uint8_t *addr, uint8_t addr_len, uint8_t mac[6]);
};

// Clients of an item whose life another item can follow: both run on the same worker.
enum proto_happening { PROTO_LEASED, PROTO_RELEASED, PROTO_HAPPENINGS };

struct proto_event {
	enum proto_happening what;
	uint32_t client;  // index, below proto_followed.count
	uint32_t number;  // of the client in the whole run
	uint8_t addr_len; // 4 or 16
	uint8_t addr[16]; // that was leased, or released
	uint64_t at;      // written by the engine: tick; 0: it happened in the warm-up
};

#define PROTO_IDENTITY_MAX 264

// Who a client says that it is: the type and the identifier of RFC 4701 section 3.3.
struct proto_identity {
	uint16_t type, len;
	uint8_t bytes[PROTO_IDENTITY_MAX];
};

struct proto_followed {
	const char *names[PROTO_HAPPENINGS]; // as the protocol calls them
	uint64_t (*clients)(const void *settings);
	bool (*named)(const void *settings); // has each client a domain name?
	// Below, ctx is that of a worker of the item; a client is its index there.
	uint32_t (*count)(const struct proto_ctx *ctx); // of clients
	// t has ended well, its reply was judged just now, or it was sent and is silent: what
	// happened to its client; false: nothing that can be followed.
	bool (*happened)(struct proto_ctx *ctx, const struct proto_txn *t, struct proto_event *out);
	// Append the client's domain name in wire form, with the root.
	void (*name)(const struct proto_ctx *ctx, uint32_t client, struct writer *w);
	void (*identity)(const struct proto_ctx *ctx, uint32_t client, struct proto_identity *out);
};

// What a follower does for each client to which something happened.
struct proto_following {
	uint32_t each;     // transactions at once
	uint64_t every_ns; // again after this time
};

// An item that follows another one: events say when its transactions begin, and no load does.
struct proto_follower {
	const char *const *marks; // what is timed; NULL-terminated
	void (*following)(const void *settings, struct proto_following *out);
	// Is it right for such an item? Errors go to d.
	void (*check)(const void *settings, bool named, struct diag *d);
	// It happened; ctx->counters is where this client counts from now on.
	void (*happened)(struct proto_ctx *ctx, const struct proto_event *event);
	// As in struct proto_router.
	bool (*begin)(struct proto_ctx *ctx, struct proto_txn *t);
	uint64_t (*due)(struct proto_ctx *ctx);
	uint64_t (*waiting)(struct proto_ctx *ctx, uint64_t until_ms);
	// Is any client still waited for?
	bool (*busy)(const struct proto_ctx *ctx);
	// The run is over: count those.
	void (*over)(struct proto_ctx *ctx);
};

// A server that replied to an item.
struct proto_peer {
	char name[272];   // its identifier in messages
	struct addr from; // of its first reply; len 0: unknown
	uint64_t offers, answers, refusals;
};

// A protocol, and the client side that each has.
struct proto {
	const char *name; // "dns"
	const char *help;
	uint16_t default_port; // UDP, of the server
	// 16..32; below, the IDs of answered transactions are used again at once
	uint8_t key_bits;
	const struct proto_step *steps; // of multi-step exchanges; NULL: one step
	uint8_t step_count;             // 1..PROTO_MAX_STEPS
	bool stream;                    // over TCP, too
	bool one_way;                   // over that its messages may be silent
	bool connects; // no message is sent: a connection is the transaction, and its being
	               // accepted the reply, of no byte
	bool harmless; // its first message changes nothing on the server: a probe before the run
	               // may send it
	bool (*changes)(const void *shared); // it does change something, with these settings;
	                                     // NULL: never
	double cost_ns; // worker time of one message and its answer, measured over rings
	                // (docs/performance.md)
	const struct field_section *settings; // of a traffic item
	// uint64_t only; of a traffic item. request_bytes and reply_bytes, if there are such, give
	// the rates of bits in the result. The verdict quotes counter.stray.
	const struct counter_section *counters;
	const struct proto_server *server;     // NULL: the responder does not speak the protocol
	const struct proto_router *router;     // NULL: the engine chooses addresses and ports
	const struct proto_followed *followed; // NULL: no item can follow one of it
	const struct proto_follower *follower; // NULL: its items follow none; otherwise each does

	// Another row for items with these settings, of the same name, settings and counters: their
	// messages have no room for this key. NULL: always this one.
	const struct proto *(*variant)(const void *settings);
	// How messages travel: of the settings. NULL: over UDP.
	const struct transport_settings *(*transport)(const void *settings);
	// Where a message of a stream ends: its length, up to 65535, if it begins with these bytes.
	// It may be more than len. 0: so few bytes, below 32, do not tell. NULL: each message has
	// its length in front of it, in two bytes, which the engine writes and reads.
	uint32_t (*framed)(const uint8_t *buf, uint32_t len);
	// The same of replies that have one length, whatever they begin with; 0: framed knows.
	// NULL: always.
	uint32_t (*reply_len)(const void *shared);
	// Transactions per second that the settings add to a load of a constant rate; 0: none.
	// NULL: none. Other loads: check refuses it.
	double (*extra)(const void *settings);
	// Does the protocol say when transactions begin, with these settings? false, or NULL: a
	// load does.
	bool (*paces)(const void *settings, struct proto_pace *out);
	// Before check, and again when more is known: settings that follow from the load get their
	// numbers. NULL: there is none.
	void (*fit)(void *settings, const struct proto_work *work);
	// Cross-field rules; errors go to d. settings is what the rows filled. NULL: none.
	void (*check)(const void *settings, struct diag *d);
	// Read input, precompute: the shared part, or NULL after an error (in d, or no memory).
	void *(*setup)(const void *settings, const struct proto_env *env, struct diag *d);
	void (*teardown)(void *shared);
	// What setup used of its input file, if that is not all: "97 of 100 lines of f: ...". NULL:
	// all, or there are no such texts.
	const char *(*input)(const void *shared);
	// When the messages of env.times_of were captured; none: setup has read no such file. NULL:
	// never.
	const struct timestamps *(*times)(const void *shared);
	// No message of request gets longer. NULL: each fits into any packet.
	uint32_t (*longest)(const void *shared);
	// Length of the longest reply with these settings, if connections are to hold a part of one
	// each. NULL or 0: it is short.
	uint32_t (*longest_reply)(const void *settings);
	// What its transactions use up, the clients first: how many, up to PROTO_MAX_STOCKS. NULL:
	// nothing.
	uint32_t (*stocks)(const void *shared, struct proto_stock *out);
	// Bytes that open is going to take for such a worker. NULL: few.
	uint64_t (*memory)(const void *shared, const struct proto_env *env);
	// The i-th server that the counters, of all workers, have replies of; false: there are no
	// more. After the run. NULL: messages have no identifier of their server.
	bool (*peer)(const void *shared, const void *counters, uint32_t i, struct proto_peer *out);
	// Per worker state in ctx->own; 0 or -errno. NULL: there is none.
	int (*open)(struct proto_ctx *ctx, const struct proto_env *env);
	// Write the state where the settings say; 0, or -errno when that failed (logged). NULL:
	// nothing to do.
	int (*close)(struct proto_ctx *ctx);

	// Write the next message of t, return its length; 0: it does not fit in room. May be called
	// again for the same txn (AGAIN, a retransmission).
	uint32_t (*request)(
		struct proto_ctx *ctx, struct proto_txn *t, uint8_t *buf, uint32_t room);
	// The same for n transactions at once, each into room bytes of its own. NULL: one by one.
	void (*request_n)(struct proto_ctx *ctx, struct proto_txn *const *t, struct proto_out *out,
		uint32_t n, uint32_t room);
	// Write what a connection begins with, before its first message; its length, 0: nothing.
	// number: of the connection among those of this worker. NULL: nothing.
	uint32_t (*preface)(struct proto_ctx *ctx, uint64_t number, uint8_t *buf, uint32_t room);
	// Extract the transaction key of a reply. false: too short, not a reply of this protocol,
	// or one of those that `unasked` of the router takes.
	bool (*key)(const uint8_t *buf, uint32_t len, uint32_t *key);
	// Validate everything, count, advance. Counts nothing for STRAY and MALFORMED, except the
	// reason for a reply to the right question (forged cookie, wrong case).
	enum proto_verdict (*reply)(
		struct proto_ctx *ctx, struct proto_txn *t, const uint8_t *buf, uint32_t len);
	// The same for n replies to as many transactions, none of which is over. NULL: one by one.
	void (*reply_n)(struct proto_ctx *ctx, struct proto_txn *const *t,
		const struct proto_message *in, enum proto_verdict *verdicts, uint32_t n);
	// Why reply gave FAIL or MALFORMED for this message: static text for a capture and for the
	// verdict, NULL: it has no more to say. Changes nothing. NULL: there are no such texts.
	const char *(*reason)(
		struct proto_ctx *ctx, const struct proto_txn *t, const uint8_t *buf, uint32_t len);
	// No answer within the timeout: AGAIN (retransmit), FAIL (lost) or APART. The same before
	// the end of its connection, where AGAIN is as good as FAIL. AGAIN with another step:
	// it continues with the answer that reply kept, which belongs to the step before. Also
	// called, with over set, for a transaction that ends without having been sent, if there is
	// a router: its client is free again.
	enum proto_verdict (*timeout)(struct proto_ctx *ctx, struct proto_txn *t);
	// Would timeout end the transaction? Changes nothing. NULL: it always would.
	bool (*gives_up)(const struct proto_ctx *ctx, const struct proto_txn *t);
};

// Marks of a follower.
static inline uint32_t proto_marks(const struct proto *p)
{
	uint32_t n = 0;

	while (p->follower->marks[n])
		n++;
	return n;
}
