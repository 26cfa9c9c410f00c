// SPDX-License-Identifier: BSD-3-Clause
// Seeds of nkeys, the Ed25519 keys of NATS users, as github.com/nats-io/nkeys writes them.
// Path: cold. Main thread.
#pragma once

#define BUS_NKEY_SIZE 57 // of a public key, with its end

// The public key of the user seed ("SU...") that is a line of the text. 0, or -EINVAL.
int bus_nkey_public(const char *text, char key[BUS_NKEY_SIZE]);
