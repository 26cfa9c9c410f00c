// SPDX-License-Identifier: BSD-3-Clause
// A connection to NATS: subjects, messages, requests. Handlers run in bus_tick, so their code needs
// no lock; only a handler "at once" runs on the thread of the library. A lost connection is retried
// without a limit, and messages published meanwhile wait. Path: cold. Main thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bus;

struct bus_settings {
	const char *url;   // nats://HOST:PORT or tls://HOST:PORT, several with commas
	const char *creds; // file of credentials, or of an nkey seed; NULL: none
	const char *ca;    // file of certificates trusted in addition to the system's; NULL: none
	const char *cert, *key; // files of a client's certificate; NULL: none
	const char *name;       // of the connection, as the server lists it
	bool demanding;         // wants credentials for a server of this host, too
};

// Valid during the handler.
struct bus_message {
	const char *subject;
	const char *reply; // NULL: no reply is expected
	const char *data;  // ends with a zero that size does not count
	size_t size;
	int64_t at_ns; // CLOCK_REALTIME when it came
};

typedef void bus_handler(void *ctx, const struct bus_message *m);

// 0, or -errno, which was logged: -EINVAL wrong settings, -EACCES no credentials for a server that
// is not of this host or that demands them, or wrong ones, -ECONNREFUSED no server, -EPROTO no
// agreement on TLS. s may go afterwards, but not its files: they are read again for each
// connection.
int bus_open(const struct bus_settings *s, struct bus **out);
void bus_close(struct bus *b); // NULL allowed. Sends published messages first.

// 0, or -errno. If the connection is up, the server knows it on return.
int bus_subscribe(struct bus *b, const char *subject, bus_handler *handler, void *ctx);
// The handler runs as soon as the message is there, on another thread: for time stamps.
int bus_subscribe_at_once(struct bus *b, const char *subject, bus_handler *handler, void *ctx);
// On return no handler of it runs or will run. Not to be called from a handler "at once".
void bus_unsubscribe(struct bus *b, const char *subject);

// 0, or -errno (-EMSGSIZE; -ENOBUFS: it could not be sent for too long). A message waits while the
// connection is known to be lost. A message that is on its way when the connection breaks may be
// lost, and a reader that is not connected misses it: a message that must arrive needs a reply.
int bus_publish(struct bus *b, const char *subject, const void *data, size_t size);
// Like bus_publish, with a subject for replies.
int bus_ask(struct bus *b, const char *subject, const char *reply, const void *data, size_t size);
// Writes a unique subject for replies, for bus_subscribe.
void bus_inbox(struct bus *b, char *subject, size_t room);

// Sends a request and waits for the reply. Returns its data, which the caller frees (with a zero
// behind it), or NULL with *rc: -ETIMEDOUT, -EHOSTUNREACH (no subscriber), or another -errno.
// at_ns: time of its arrival; may be NULL.
char *bus_request(struct bus *b, const char *subject, const void *data, size_t size, unsigned ms,
	size_t *len, int64_t *at_ns, int *rc);

// Hands out the messages that have arrived; if there are none, waits up to ms for the first.
// Returns their number.
unsigned bus_tick(struct bus *b, unsigned ms);
bool bus_is_up(struct bus *b);
// Did the server end the connection for good (after refusing the credentials twice, which was
// logged)? Then only a new bus helps.
bool bus_is_closed(struct bus *b);
// Its servers, as messages may name them: their URLs without passwords.
const char *bus_place(const struct bus *b);
size_t bus_room(const struct bus *b); // most octets of a message

// --- object store (ADR-20 of NATS, so that its own tools see it): bucket "ddiperf" ---

// Put a file under its hash (SHA-256, 64 hexadecimal digits), unless it is there already. 0 or
// -errno, which was logged (-ENOTSUP: the server runs without JetStream).
int bus_put_file(struct bus *b, const char *path, char hash[65]);
// Get it into path, which appears complete and checked or not at all. 0 or -errno, logged.
int bus_get_file(struct bus *b, const char *hash, const char *path);

// --- micro service (ADR-32 of NATS): $SRV.PING, INFO, STATS ---

struct bus_endpoint {
	const char *name, *subject;
};

struct bus_service {
	const char *name, *version, *description;
	const char *id;
	const char *const *metadata; // pairs of key and value, NULL-terminated
	const struct bus_endpoint *endpoints;
	unsigned count;
};

// Lists the service from now on. Its members must live as long as b. bus_serve does not subscribe
// to the endpoints' subjects.
int bus_serve(struct bus *b, const struct bus_service *s);
