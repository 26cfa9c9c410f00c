// SPDX-License-Identifier: BSD-3-Clause
// Every counter of workers and responders, one row each with its name and help text. A row makes
// the member of the hot struct and the member of the result; sums, differences and the rows that
// the printers walk (result.c) come from the same tables. Path: hot (written by one worker) | cold
// (read by the management thread).
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "base/counter.h"
#include "crypt/hand.h"
#include "net/h2.h"
#include "quic/quic.h"

// Leaves a row out.
#define COUNTER_SKIP(member, help)

// The ledger of an item: due = sent + unsent, and sent = answered + failed + lost + no_reply +
// in_flight. COUNTED: by item and by interval. DERIVED and GAUGE: computed from the others at the
// end of the run, so workers do not count them.
#define LEDGER_COUNTERS(COUNTED, DERIVED, GAUGE)                                                   \
	COUNTED(due, "scheduled")                                                                  \
	COUNTED(sent, "sent, of those due")                                                        \
	DERIVED(unsent, "due and never sent: the tester's own fault")                              \
	COUNTED(answered, "valid replies in time")                                                 \
	COUNTED(failed, "refused, or rejected by the item's checks")                               \
	COUNTED(lost, "no valid reply within the timeout")                                         \
	COUNTED(no_reply, "sent, and judged by no reply: none comes, or the message is wrong")     \
	GAUGE(in_flight, "still open when the run ended")                                          \
	COUNTED(late, "replies after the timeout")                                                 \
	COUNTED(duplicate, "further replies to an answered transaction")                           \
	COUNTED(stray, "packets that belong to no transaction of the item")                        \
	COUNTED(malformed, "replies that do not parse")

struct ledger {
	LEDGER_COUNTERS(COUNTER_MEMBER, COUNTER_SKIP, COUNTER_SKIP)
};

// Counters of an item outside its ledger. SHOWN: in the result. INNER: only for verdict and notes.
#define ITEM_COUNTERS(SHOWN, INNER)                                                                \
	SHOWN(no_slot, "times a send waited: every slot was in use, or no key was free")           \
	INNER(no_client, "due, and the protocol had no client for it")                             \
	INNER(no_bound, "of these, those for which only a bound one would do")                     \
	INNER(no_bound_yet, "of these, those before the first client was bound")                   \
	INNER(probe_late, "late replies to queries before the run")

struct item_counters {
	ITEM_COUNTERS(COUNTER_MEMBER, COUNTER_MEMBER)
};

// Counters of the connections of an item.
#define CONN_COUNTERS(X)                                                                           \
	X(opened, "connections started: SYN sent")                                                 \
	X(established, "connections accepted by the server")                                       \
	X(refused, "connections refused by the server")                                            \
	X(no_answer, "connections without an answer to their last SYN")                            \
	X(closed, "closed by the server")                                                          \
	X(reset, "reset by the server, or given up, and not closed by it before")                  \
	X(closed_open, "closed or reset with messages that had no answer yet")                     \
	X(closed_after, "messages answered on connections that were closed or reset")              \
	X(lost_closed, "messages lost because their connection ended")                             \
	X(asked_again, "messages sent again on another connection for that reason")                \
	X(pipeline_full, "messages that waited for an answer on their connection")                 \
	X(pipeline_lost,                                                                           \
		"of the lost messages: timed out before their turn on the connection came")        \
	X(no_port, "times a connection waited: every port was in use or in time_wait")             \
	X(no_memory, "messages and connections given up: the tester was out of memory")

struct conn_counters {
	CONN_COUNTERS(COUNTER_MEMBER)
};

// Counters of the TLS of an item's connections.
#define TLS_COUNTERS(X)                                                                            \
	X(begun, "handshakes started")                                                             \
	X(full, "handshakes completed, with a certificate")                                        \
	X(resumed, "handshakes completed with a ticket of an earlier one")                         \
	X(resumption_refused, "full ones that had offered a ticket")                               \
	X(failed,                                                                                  \
		"handshakes that failed: by an alert, a refused certificate, or the end of their " \
		"connection")                                                                      \
	X(timed_out, "of these, handshakes that exceeded tls.handshake_timeout")                   \
	X(waited, "handshakes that waited, as tls.handshakes others were in progress")             \
	X(delayed, "messages that waited for the tester to compute a handshake, longer than "      \
		   "validity.send_lag_p99 or until their timeout")                                 \
	X(tickets, "tickets received")                                                             \
	X(key_updates, "times that the server changed its key")                                    \
	X(early_offered, "handshakes that carried messages, as early data")                        \
	X(early_accepted, "of these, handshakes whose messages the server took")                   \
	X(early_refused, "of these, handshakes whose messages were sent again, after them")        \
	X(hello_retry,                                                                             \
		"handshakes in which the server asked for another group (HelloRetryRequest)")      \
	X(no_alpn, "handshakes in which the server selected no protocol, or another one (ALPN)")   \
	X(no_close_notify, "connections that the server closed without announcing it")             \
	X(bad_record, "records that were not authentic, too long, or of a wrong type")             \
	X(records_sent, "records sent, after the handshake")                                       \
	X(records_received, "records received, after the handshake")                               \
	X(handshake_bytes, "octets of handshakes, in both directions")                             \
	X(certificate_bytes, "octets of the server's certificates")                                \
	X(no_memory, "connections given up: the tester was out of memory")

// Arrays by name: of handshakes that are done, and of the reasons why others are not.
#define TLS_NAMED(A)                                                                               \
	A(version, TLS_VERSIONS, tls_version_name, "handshakes by version")                        \
	A(cipher, RECORD_SUITES, tls_cipher_name, "handshakes by cipher")                          \
	A(group, TLS_GROUPS, tls_group_name, "handshakes by group of the key exchange")            \
	A(refused, HAND_REFUSALS, hand_refusal_name, "certificates that were refused, by reason")  \
	A(alert_received, RECORD_ALERTS, record_alert_name, "alerts of the server, by name")       \
	A(alert_sent, RECORD_ALERTS, record_alert_name, "alerts sent, by name")

struct tls_counters {
	TLS_COUNTERS(COUNTER_MEMBER)
	TLS_NAMED(COUNTER_MEMBERS)
};

// Counters of the HTTP/2 of an item's connections.
#define HTTP_COUNTERS(X)                                                                           \
	X(wrong_type, "answers of status 200 without the type of the messages")                    \
	X(cancelled, "streams cancelled, as their message had no answer within the timeout")       \
	X(goaway_refused, "messages that a server left unheard when it announced the end of the "  \
			  "connection: they are sent again")                                       \
	X(streams_limited, "messages that waited for the server's limit of streams")               \
	X(flow_blocked, "contents that waited for the server's windows")                           \
	X(wrong_id, "answers whose ID is not 0, that of the message")                              \
	X(bad_frame, "frames of the server that violate the protocol")                             \
	X(header_bytes, "octets of compressed headers sent")                                       \
	X(header_bytes_received, "octets of compressed headers received")

#define HTTP_NAMED(A)                                                                              \
	A(status, H2_STATUSES, h2_status_name, "answers by status")                                \
	A(rst_stream, H2_ERROR_COUNT, h2_error_name, "streams that the server reset, by error")    \
	A(goaway, H2_ERROR_COUNT, h2_error_name,                                                   \
		"connections whose end the server announced, by error")                            \
	A(error_sent, H2_ERROR_COUNT, h2_error_name, "errors of the server that the tester named")

struct http_counters {
	HTTP_COUNTERS(COUNTER_MEMBER)
	HTTP_NAMED(COUNTER_MEMBERS)
};

// Outcomes of the QUIC of an item's connections, by the time of each event; and the counters of
// its thread (quic/quic.h), the warm-up included.
#define QUIC_OUTCOMES(X)                                                                           \
	X(retried, "handshakes to which the server answered with Retry")                           \
	X(upgraded, "handshakes that changed the version (RFC 9368)")                              \
	X(preferred_refused, "servers that preferred another address, which is never used")        \
	X(wrong_id, "answers whose ID is not 0, that of the message")                              \
	X(wrong_stream, "streams that violate the protocol of messages")                           \
	X(unheard, "messages of ended connections that the server had not begun: sent again")

#define QUIC_NAMED(A)                                                                              \
	A(version, 3, quic_version_name, "handshakes by version")                                  \
	A(ended, QUIC_ENDS, quic_end_name, "connections that ended otherwise than by us")          \
	A(closed_with, QUIC_ERRORS + 1, quic_error_place_name,                                     \
		"connections that the server closed with an error of the application")             \
	A(reset, QUIC_ERRORS + 1, quic_error_place_name, "streams that the server reset, by error")

struct quic_outcomes {
	QUIC_OUTCOMES(COUNTER_MEMBER)
	QUIC_NAMED(COUNTER_MEMBERS)
};

// Counters of misbehaving clients (worker/worker_behave.h), each an array by behaviour.
#define BEHAVE_COUNTERS(A)                                                                         \
	A(opened, "SYN sent")                                                                      \
	A(established, "accepted by the server")                                                   \
	A(shaken, "handshakes of TLS completed")                                                   \
	A(closed, "closed by the server")                                                          \
	A(reset, "reset or refused by the server")                                                 \
	A(received_bytes, "octets of answers read")

#define BEHAVE_MEMBER(member, help) uint64_t member[TCP_BEHAVIOUR_COUNT];

// Counters of one step of an exchange.
#define STEP_COUNTERS(X)                                                                           \
	X(sent, "sent")                                                                            \
	X(answered, "valid replies in time")                                                       \
	X(failed, "refused, or rejected by the item's checks")                                     \
	X(lost, "no valid reply within the timeout")                                               \
	X(no_reply, "sent, and no server replies to such a message")

// Counters of a loop's passes. TIME: ticks, seconds in the result. LONGEST: ticks, ns in the
// result.
#define PASS_COUNTERS(COUNT, TIME, LONGEST)                                                        \
	COUNT(gaps_over_1ms, "passes of the loop that took longer than 1 ms")                      \
	TIME(stolen, "total time of these passes: the CPU was elsewhere")                          \
	LONGEST(max_gap, "longest pass of the loop")

// Counters of a worker in the measured part. TIME: ticks, seconds in the result. SHARE: ticks in
// the warm-up and in the measured part, a share of the latter in the result.
#define WORKER_COUNTERS(COUNT, TIME, SHARE)                                                        \
	SHARE(busy, "share of the measured time with work to do")                                  \
	TIME(slept, "time it slept while idle (host.idle)")                                        \
	COUNT(received, "packets received by the worker's own queue")

// Counters of a transmit queue of a worker or a responder.
#define QUEUE_COUNTERS(X)                                                                          \
	X(tx_given, "packets of messages that the device took")                                    \
	X(tx_refused, "times that the device took less than a burst")                              \
	X(tx_no_mbuf, "times no buffer was free to send from")

// Counters of a worker of the responder: received = answered + ignored + no_buffer + the faults
// outage, capacity and loss; over connections, loss applies to segments and is not in the sum.
// Messages sent: answered + the fault duplicate + the faults that add messages.
// GAUGE: goes up and down; an interval has its value at the end.
#define RESPONDER_COUNTERS(COUNT, GAUGE)                                                           \
	COUNT(received, "requests received")                                                       \
	COUNT(answered, "replies sent, or to be sent later")                                       \
	COUNT(fragmented, "replies sent in IP fragments")                                          \
	COUNT(ignored, "requests that the protocol, or tcp.accept: silent, does not answer")       \
	COUNT(no_buffer, "requests dropped: no free packet buffer")                                \
	GAUGE(waiting, "delayed packets still unsent at the end")

// Counters of the connections of a worker of the responder.
#define RESPONDER_CONN_COUNTERS(COUNT, GAUGE)                                                      \
	COUNT(accepted, "connections accepted: their handshake is complete")                       \
	COUNT(refused,                                                                             \
		"SYN answered with a reset: by tcp.accept, or no server listens on the port")      \
	COUNT(dropped, "SYN without an answer: by tcp.accept")                                     \
	COUNT(full, "SYN refused or dropped: no room for more connections")                        \
	COUNT(closed_idle, "closed by the responder after tcp.idle")                               \
	COUNT(closed_after, "closed by it after tcp.queries_per_connection")                       \
	COUNT(reset_after, "reset by it after those")                                              \
	COUNT(reset, "reset by the client, or given up without an acknowledgement")                \
	COUNT(unsent, "answers whose connection was closed before they left")                      \
	COUNT(further, "further messages of an answer, after the first")                           \
	COUNT(tls_full, "handshakes of TLS completed, with a certificate")                         \
	COUNT(tls_resumed, "handshakes completed with a ticket")                                   \
	COUNT(tls_early, "of these, handshakes whose early data were accepted")                    \
	COUNT(tls_failed, "handshakes that failed, at either end")                                 \
	GAUGE(open, "connections that are open")

#define COUNTER_ATOMIC_MEMBER(member, help) _Atomic uint64_t member;
#define COUNTER_PARTS_MEMBER(member, help)  uint64_t member[2]; // as item_books.ledger

// Members of the result.
#define COUNTER_SHARE_MEMBER(member, help)   double member;
#define COUNTER_SECONDS_MEMBER(member, help) double member##_s;
#define COUNTER_NS_MEMBER(member, help)      double member##_ns;

// Statements that use the pointers `to` and `from` and, for times, `hz`.
#define COUNTER_ADD(member, help)         to->member += from->member;
#define COUNTER_ADD_SECONDS(member, help) to->member##_s += (double)from->member / hz;
