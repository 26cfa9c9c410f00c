// SPDX-License-Identifier: BSD-3-Clause
// The servers of an item with several: how transactions choose among them, and the counters of
// each. Their state in a worker: core/worker/worker_servers.h. Path: cold (the names) | hot (the
// counters).
#pragma once

#define SERVERS_MAX 16 // per item: bits of a mask

enum server_spread {
	SPREAD_ROUND_ROBIN,
	SPREAD_HASH, // of source address and port
	SPREAD_STUB, // as a stub resolver does
};

// Counters of one server in the measured part. X(member, help)
#define SERVER_COUNTERS(X)                                                                         \
	X(sent, "messages sent to it, repeated ones included")                                     \
	X(answered, "transactions that ended well with its reply")                                 \
	X(failed, "transactions that ended with its refusal")                                      \
	X(lost, "messages to it that no server answered within the timeout")
