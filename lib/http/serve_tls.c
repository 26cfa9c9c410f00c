// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread (load, tick, free) | threads of libmicrohttpd.
#include "http/serve_tls.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"

#define FILE_MAX (1 << 20)
#define LOOK_MS  1000 // between two looks at the files

// The text of a file, which the caller frees; NULL: logged.
static char *read_text(const char *option, const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = f ? calloc(1, FILE_MAX + 1) : NULL;

	if (!text || fread(text, 1, FILE_MAX, f) == 0) {
		log_error("serve: %s %s: %s", option, path,
			f && !ferror(f) ? "the file is empty" : strerror(errno));
		free(text);
		text = NULL;
	}
	if (f)
		fclose(f);
	return text;
}

static gnutls_datum_t datum(char *text)
{
	return (gnutls_datum_t){(unsigned char *)text, (unsigned)strlen(text)};
}

// Credentials of the server, for as long as a connection has them.
struct serve_keys {
	unsigned users;
	gnutls_certificate_credentials_t credentials;
};

static struct serve_keys *keys_use(struct serve_tls *t)
{
	struct serve_keys *k;

	pthread_mutex_lock(&t->lock);
	k = t->now;
	k->users++;
	pthread_mutex_unlock(&t->lock);
	return k;
}

static void keys_leave(struct serve_tls *t, struct serve_keys *k)
{
	bool last;

	pthread_mutex_lock(&t->lock);
	last = --k->users == 0;
	pthread_mutex_unlock(&t->lock);
	if (!last)
		return;
	gnutls_certificate_free_credentials(k->credentials);
	free(k);
}

// 0, or -EINVAL: logged, which libmicrohttpd would not do.
static int fill(const struct serve_tls *t, gnutls_certificate_credentials_t c)
{
	gnutls_datum_t chain = datum(t->cert), key = datum(t->key), ca;
	int rc = gnutls_certificate_set_x509_key_mem(c, &chain, &key, GNUTLS_X509_FMT_PEM);

	if (rc < 0)
		log_error("serve: --tls-cert %s, --tls-key: %s", t->paths[0], gnutls_strerror(rc));
	if (rc < 0 || !t->clients)
		return rc < 0 ? -EINVAL : 0;
	ca = datum(t->clients);
	rc = gnutls_certificate_set_x509_trust_mem(c, &ca, GNUTLS_X509_FMT_PEM);
	if (rc <= 0)
		log_error("serve: --tls-clients %s: %s", t->paths[2],
			rc ? gnutls_strerror(rc) : "there is no certificate in it");
	return rc > 0 ? 0 : -EINVAL;
}

// NULL: logged.
static struct serve_keys *make_keys(const struct serve_tls *t)
{
	struct serve_keys *k = calloc(1, sizeof(*k));

	if (!k || gnutls_certificate_allocate_credentials(&k->credentials) < 0) {
		log_error("serve: no memory for certificates");
		free(k);
		return NULL;
	}
	k->users = 1;
	if (fill(t, k->credentials) == 0)
		return k;
	gnutls_certificate_free_credentials(k->credentials);
	free(k);
	return NULL;
}

// --- files

static void look(const struct serve_tls *t, struct stat seen[SERVE_TLS_FILES])
{
	memset(seen, 0, SERVE_TLS_FILES * sizeof(*seen));
	for (unsigned i = 0; i < SERVE_TLS_FILES; i++)
		if (t->paths[i] && stat(t->paths[i], &seen[i]) < 0)
			memset(&seen[i], 0, sizeof(seen[i]));
}

static bool is_same(const struct stat a[SERVE_TLS_FILES], const struct stat b[SERVE_TLS_FILES])
{
	for (unsigned i = 0; i < SERVE_TLS_FILES; i++)
		if (a[i].st_dev != b[i].st_dev || a[i].st_ino != b[i].st_ino ||
			a[i].st_size != b[i].st_size ||
			a[i].st_mtim.tv_sec != b[i].st_mtim.tv_sec ||
			a[i].st_mtim.tv_nsec != b[i].st_mtim.tv_nsec)
			return false;
	return true;
}

static void forget_texts(struct serve_tls *t)
{
	if (t->key)
		gnutls_memset(t->key, 0, strlen(t->key));
	free(t->cert);
	free(t->key);
	free(t->clients);
	t->cert = t->key = t->clients = NULL;
}

// The texts of t, and keys of them; NULL: logged.
static struct serve_keys *read_files(struct serve_tls *t)
{
	const char *clients = t->paths[2];

	t->cert = read_text("--tls-cert", t->paths[0]);
	if (t->cert)
		t->key = read_text("--tls-key", t->paths[1]);
	if (t->key && clients)
		t->clients = read_text("--tls-clients", clients);
	return t->key && (t->clients || !clients) ? make_keys(t) : NULL;
}

int serve_tls_load(const char *cert, const char *key, const char *clients, struct serve_tls *out)
{
	*out = (struct serve_tls){.paths = {cert, key, clients}, .lock = PTHREAD_MUTEX_INITIALIZER};
	look(out, out->read);
	memcpy(out->seen, out->read, sizeof(out->seen));
	out->now = read_files(out);
	if (out->now)
		return 0;
	serve_tls_free(out);
	return -EINVAL;
}

void serve_tls_tick(struct serve_tls *t)
{
	struct serve_tls again = {.paths = {t->paths[0], t->paths[1], t->paths[2]}};
	struct stat seen[SERVE_TLS_FILES];
	struct serve_keys *before = t->now;
	bool settled;

	if (clock_steady_ms() - t->look_ms < LOOK_MS)
		return;
	t->look_ms = clock_steady_ms();
	look(t, seen);
	settled = is_same(seen, t->seen); // a certificate and its key change one after the other
	memcpy(t->seen, seen, sizeof(seen));
	if (!settled || is_same(seen, t->read))
		return;
	memcpy(t->read, seen, sizeof(seen));
	again.now = read_files(&again);
	forget_texts(&again);
	if (!again.now) {
		log_warning("serve: the certificates that were read before stay in use");
		return;
	}
	pthread_mutex_lock(&t->lock);
	t->now = again.now;
	pthread_mutex_unlock(&t->lock);
	keys_leave(t, before);
	log_note("serve: certificates were read again, for new connections");
}

void serve_tls_free(struct serve_tls *t)
{
	if (t->now)
		keys_leave(t, t->now);
	forget_texts(t);
	*t = (struct serve_tls){0};
}

// It cannot be held to anything, so it is ended.
static void end_connection(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);

	if (info)
		shutdown(info->connect_fd, SHUT_RDWR);
}

void serve_tls_demand(void *ctx, struct MHD_Connection *c, void **socket,
	enum MHD_ConnectionNotificationCode code)
{
	static gnutls_typed_vdata_st client = {
		GNUTLS_DT_KEY_PURPOSE_OID, (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT, 0};
	struct serve_tls *t = ctx;
	const union MHD_ConnectionInfo *info;
	struct serve_keys *k;

	if (code != MHD_CONNECTION_NOTIFY_STARTED) {
		if (*socket)
			keys_leave(t, *socket);
		*socket = NULL;
		return;
	}
	info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	if (!info || !info->tls_session) {
		end_connection(c);
		return;
	}
	*socket = k = keys_use(t);
	if (gnutls_credentials_set(info->tls_session, GNUTLS_CRD_CERTIFICATE, k->credentials) < 0)
		end_connection(c);
	if (!t->paths[2])
		return;
	gnutls_certificate_server_set_request(info->tls_session, GNUTLS_CERT_REQUIRE);
	gnutls_session_set_verify_cert2(info->tls_session, &client, 1, 0);
}
