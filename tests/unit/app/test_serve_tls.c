// SPDX-License-Identifier: BSD-3-Clause
// Certificates of a place that serves: wrong files are named, changed ones are read again, and a
// handshake has the keys that were in use when it began. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "captured.h"
#include "http/serve_tls.h"

static struct {
	char dir[64];
	uint64_t ms;
	struct serve_tls tls;
	union MHD_ConnectionInfo session, fd;
	bool none; // the connection has no session
	gnutls_x509_crt_t ca;
	gnutls_x509_privkey_t ca_key;
	char paths[5][80]; // certificate, key, clients' CA, and a client's two
} x;

uint64_t __wrap_clock_steady_ms(void);
const union MHD_ConnectionInfo *__wrap_MHD_get_connection_info(
	struct MHD_Connection *c, enum MHD_ConnectionInfoType what, ...);

uint64_t __wrap_clock_steady_ms(void)
{
	return x.ms;
}

const union MHD_ConnectionInfo *__wrap_MHD_get_connection_info(
	struct MHD_Connection *c, enum MHD_ConnectionInfoType what, ...)
{
	if (what == MHD_CONNECTION_INFO_CONNECTION_FD)
		return &x.fd;
	assert_int_equal(what, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	return x.none ? NULL : &x.session;
}

static void write_text(const char *path, const void *data, size_t size)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	fclose(f);
}

static gnutls_x509_privkey_t a_key(void)
{
	gnutls_x509_privkey_t key;

	gnutls_x509_privkey_init(&key);
	assert_int_equal(gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
				 GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0),
		0);
	return key;
}

// by: its issuer; NULL: itself, and it is a CA.
static gnutls_x509_crt_t a_certificate(gnutls_x509_privkey_t key, const char *name,
	const char *purpose, gnutls_x509_crt_t by, gnutls_x509_privkey_t by_key)
{
	gnutls_x509_crt_t c;

	gnutls_x509_crt_init(&c);
	gnutls_x509_crt_set_version(c, 3);
	gnutls_x509_crt_set_serial(c, name, strlen(name));
	gnutls_x509_crt_set_activation_time(c, time(NULL) - 3600);
	gnutls_x509_crt_set_expiration_time(c, time(NULL) + 3600);
	gnutls_x509_crt_set_dn_by_oid(
		c, GNUTLS_OID_X520_COMMON_NAME, 0, name, (unsigned)strlen(name));
	gnutls_x509_crt_set_key(c, key);
	gnutls_x509_crt_set_basic_constraints(c, !by, -1);
	if (!by)
		gnutls_x509_crt_set_key_usage(c, GNUTLS_KEY_KEY_CERT_SIGN);
	if (purpose)
		gnutls_x509_crt_set_key_purpose_oid(c, purpose, 0);
	assert_int_equal(
		gnutls_x509_crt_sign2(c, by ? by : c, by ? by_key : key, GNUTLS_DIG_SHA256, 0), 0);
	return c;
}

static void write_certificate(const char *path, gnutls_x509_crt_t c)
{
	gnutls_datum_t text;

	assert_int_equal(gnutls_x509_crt_export2(c, GNUTLS_X509_FMT_PEM, &text), 0);
	write_text(path, text.data, text.size);
	gnutls_free(text.data);
}

static void write_pair(const char *cert, const char *key, const char *name, const char *purpose)
{
	gnutls_x509_privkey_t k = a_key();
	gnutls_x509_crt_t c = a_certificate(k, name, purpose, x.ca, x.ca_key);
	gnutls_datum_t text;

	write_certificate(cert, c);
	assert_int_equal(gnutls_x509_privkey_export2(k, GNUTLS_X509_FMT_PEM, &text), 0);
	write_text(key, text.data, text.size);
	gnutls_free(text.data);
	gnutls_x509_crt_deinit(c);
	gnutls_x509_privkey_deinit(k);
}

static int begin(void **state)
{
	static const char *const names[] = {"cert", "key", "ca", "client", "client-key"};

	memset(&x, 0, sizeof(x));
	x.ms = 1000000;
	strcpy(x.dir, "/tmp/ddiperf-test-XXXXXX");
	assert_non_null(mkdtemp(x.dir));
	for (unsigned i = 0; i < 5; i++)
		snprintf(x.paths[i], sizeof(x.paths[i]), "%s/%s", x.dir, names[i]);
	x.ca_key = a_key();
	x.ca = a_certificate(x.ca_key, "ca", NULL, NULL, NULL);
	write_certificate(x.paths[2], x.ca);
	write_pair(x.paths[0], x.paths[1], "one", GNUTLS_KP_TLS_WWW_SERVER);
	write_pair(x.paths[3], x.paths[4], "client", GNUTLS_KP_TLS_WWW_CLIENT);
	return 0;
}

static int end(void **state)
{
	char command[100];

	serve_tls_free(&x.tls);
	gnutls_x509_crt_deinit(x.ca);
	gnutls_x509_privkey_deinit(x.ca_key);
	snprintf(command, sizeof(command), "rm -rf %s", x.dir);
	return system(command);
}

static int load(void *clients)
{
	return serve_tls_load(x.paths[0], x.paths[1], clients, &x.tls);
}

static void assert_refused(void *clients, const char *why)
{
	assert_int_equal(capture_output(load, clients), -EINVAL);
	assert_captured(why);
	assert_null(x.tls.now);
}

static void wrong_files_are_named(void **state)
{
	write_text(x.paths[2], "nothing", 7);
	assert_refused(x.paths[2], "serve: --tls-clients ");
	assert_captured("there is no certificate in it");
	write_text(x.paths[2], "", 0);
	assert_refused(x.paths[2], "serve: --tls-clients ");
	assert_captured("the file is empty");
	write_pair(x.paths[3], x.paths[1], "two", GNUTLS_KP_TLS_WWW_SERVER);
	assert_refused(NULL, "serve: --tls-cert "); // of another key
	unlink(x.paths[1]);
	assert_refused(NULL, "serve: --tls-key ");
	assert_captured("No such file or directory");
	unlink(x.paths[0]);
	assert_refused(NULL, "serve: --tls-cert ");
	assert_null(strstr(captured, "--tls-key"));
}

static int tick(void *ctx)
{
	serve_tls_tick(&x.tls);
	return 0;
}

// Ticks after so long; captured has what is said.
static void tick_after(unsigned ms)
{
	x.ms += ms;
	capture_output(tick, NULL);
}

static void changed_files_are_read_when_they_have_settled(void **state)
{
	struct serve_keys *first;

	assert_int_equal(load(NULL), 0);
	first = x.tls.now;
	tick_after(1000);
	tick_after(1000);
	assert_ptr_equal(x.tls.now, first);
	write_pair(x.paths[0], x.paths[1], "two, with a longer name", GNUTLS_KP_TLS_WWW_SERVER);
	tick_after(1000);
	assert_ptr_equal(x.tls.now, first);
	tick_after(999);
	assert_ptr_equal(x.tls.now, first);
	assert_string_equal(captured, "");
	tick_after(1);
	assert_captured("serve: certificates were read again, for new connections\n");
	tick_after(1000);
	assert_string_equal(captured, "");
	write_text(x.paths[0], "nonsense", 8);
	first = x.tls.now;
	tick_after(1000);
	tick_after(1000);
	assert_captured("the certificates that were read before stay in use");
	assert_ptr_equal(x.tls.now, first);
	tick_after(1000); // is not tried again
	assert_string_equal(captured, "");
}

// --- a handshake over a pair of sockets, both ends in turn

struct handshake {
	gnutls_session_t server, client;
	gnutls_certificate_credentials_t trust;
	int fds[2];
	void *socket; // of serve_tls_demand
};

static void start(struct handshake *h, bool has_certificate)
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, h->fds), 0);
	gnutls_init(&h->server, GNUTLS_SERVER | GNUTLS_NONBLOCK);
	gnutls_priority_set_direct(h->server, SERVE_TLS_VERSIONS, NULL);
	gnutls_transport_set_int(h->server, h->fds[0]);
	gnutls_init(&h->client, GNUTLS_CLIENT | GNUTLS_NONBLOCK);
	gnutls_set_default_priority(h->client);
	gnutls_transport_set_int(h->client, h->fds[1]);
	gnutls_certificate_allocate_credentials(&h->trust);
	gnutls_certificate_set_x509_trust_file(h->trust, x.paths[2], GNUTLS_X509_FMT_PEM);
	if (has_certificate)
		assert_int_equal(gnutls_certificate_set_x509_key_file(
					 h->trust, x.paths[3], x.paths[4], GNUTLS_X509_FMT_PEM),
			0);
	gnutls_credentials_set(h->client, GNUTLS_CRD_CERTIFICATE, h->trust);
	x.session.tls_session = h->server;
	h->socket = NULL;
	serve_tls_demand(&x.tls, NULL, &h->socket, MHD_CONNECTION_NOTIFY_STARTED);
}

// 0, or the error of the server.
static int shake(struct handshake *h)
{
	int server, client;

	do {
		client = gnutls_handshake(h->client);
		server = gnutls_handshake(h->server);
	} while ((client == GNUTLS_E_AGAIN || server == GNUTLS_E_AGAIN) &&
		 !(server < 0 && gnutls_error_is_fatal(server)));
	return server;
}

static void assert_peer(const struct handshake *h, const char *name)
{
	unsigned count;
	const gnutls_datum_t *chain = gnutls_certificate_get_peers(h->client, &count);
	gnutls_x509_crt_t c;
	char text[64];
	size_t size = sizeof(text);

	assert_non_null(chain);
	gnutls_x509_crt_init(&c);
	gnutls_x509_crt_import(c, chain, GNUTLS_X509_FMT_DER);
	gnutls_x509_crt_get_dn_by_oid(c, GNUTLS_OID_X520_COMMON_NAME, 0, 0, text, &size);
	assert_string_equal(text, name);
	gnutls_x509_crt_deinit(c);
}

static void finish(struct handshake *h)
{
	serve_tls_demand(&x.tls, NULL, &h->socket, MHD_CONNECTION_NOTIFY_CLOSED);
	assert_null(h->socket);
	gnutls_deinit(h->server);
	gnutls_deinit(h->client);
	gnutls_certificate_free_credentials(h->trust);
	close(h->fds[0]);
	close(h->fds[1]);
}

static void a_connection_keeps_the_keys_of_its_begin(void **state)
{
	struct handshake first, second;

	assert_int_equal(load(NULL), 0);
	start(&first, false);
	write_pair(x.paths[0], x.paths[1], "another", GNUTLS_KP_TLS_WWW_SERVER);
	tick_after(1000);
	tick_after(1000);
	start(&second, false);
	assert_int_equal(shake(&first), 0);
	assert_peer(&first, "one");
	assert_int_equal(shake(&second), 0);
	assert_peer(&second, "another");
	finish(&first);
	finish(&second);
}

static void a_client_needs_a_certificate_of_the_ca(void **state)
{
	struct handshake h;

	assert_int_equal(load(x.paths[2]), 0);
	start(&h, true);
	assert_int_equal(shake(&h), 0);
	finish(&h);
	start(&h, false);
	assert_int_not_equal(shake(&h), 0);
	finish(&h);
	write_pair(x.paths[3], x.paths[4], "server", GNUTLS_KP_TLS_WWW_SERVER);
	start(&h, true); // for another purpose
	assert_int_not_equal(shake(&h), 0);
	finish(&h);
}

static void a_connection_without_tls_is_ended(void **state)
{
	void *socket = NULL;
	int fds[2];
	char octet;

	assert_int_equal(load(NULL), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	x.fd.connect_fd = fds[0];
	serve_tls_demand(&x.tls, NULL, &socket, MHD_CONNECTION_NOTIFY_STARTED);
	assert_null(socket);
	assert_int_equal(read(fds[1], &octet, 1), 0);
	serve_tls_demand(&x.tls, NULL, &socket, MHD_CONNECTION_NOTIFY_CLOSED);
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	x.fd.connect_fd = fds[0];
	x.none = true;
	serve_tls_demand(&x.tls, NULL, &socket, MHD_CONNECTION_NOTIFY_STARTED);
	assert_int_equal(read(fds[1], &octet, 1), 0);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(wrong_files_are_named),
		TEST(changed_files_are_read_when_they_have_settled),
		TEST(a_connection_keeps_the_keys_of_its_begin),
		TEST(a_client_needs_a_certificate_of_the_ca),
		TEST(a_connection_without_tls_is_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
