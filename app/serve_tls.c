// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread (load, free) | threads of libmicrohttpd.
#include "serve_tls.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/log.h"

#define FILE_MAX (1 << 20)

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

// What libmicrohttpd would refuse without a reason. 0, or -EINVAL.
static int check(const struct serve_tls *t, const char *cert, const char *clients)
{
	gnutls_certificate_credentials_t c;
	gnutls_datum_t chain = datum(t->cert), key = datum(t->key);
	int rc = gnutls_certificate_allocate_credentials(&c);

	if (rc < 0)
		return -ENOMEM;
	rc = gnutls_certificate_set_x509_key_mem(c, &chain, &key, GNUTLS_X509_FMT_PEM);
	if (rc < 0)
		log_error("serve: --tls-cert %s, --tls-key: %s", cert, gnutls_strerror(rc));
	if (rc >= 0 && t->clients) {
		gnutls_datum_t ca = datum(t->clients);

		rc = gnutls_certificate_set_x509_trust_mem(c, &ca, GNUTLS_X509_FMT_PEM);
		if (rc <= 0)
			log_error("serve: --tls-clients %s: %s", clients,
				rc ? gnutls_strerror(rc) : "there is no certificate in it");
		rc = rc > 0 ? 0 : -EINVAL;
	}
	gnutls_certificate_free_credentials(c);
	return rc < 0 ? -EINVAL : 0;
}

int serve_tls_load(const char *cert, const char *key, const char *clients, struct serve_tls *out)
{
	int rc = -EINVAL;

	*out = (struct serve_tls){.cert = read_text("--tls-cert", cert)};
	if (out->cert)
		out->key = read_text("--tls-key", key);
	if (out->key && clients)
		out->clients = read_text("--tls-clients", clients);
	if (out->key && (out->clients || !clients))
		rc = check(out, cert, clients);
	if (rc < 0)
		serve_tls_free(out);
	return rc;
}

void serve_tls_free(struct serve_tls *t)
{
	if (t->key)
		gnutls_memset(t->key, 0, strlen(t->key));
	free(t->cert);
	free(t->key);
	free(t->clients);
	*t = (struct serve_tls){0};
}

void serve_tls_demand(void *ctx, struct MHD_Connection *c, void **socket,
	enum MHD_ConnectionNotificationCode code)
{
	static gnutls_typed_vdata_st client = {
		GNUTLS_DT_KEY_PURPOSE_OID, (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT, 0};
	const struct serve_tls *t = ctx;
	const union MHD_ConnectionInfo *info;

	if (code != MHD_CONNECTION_NOTIFY_STARTED || !t->clients)
		return;
	info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	if (info && info->tls_session) {
		gnutls_certificate_server_set_request(info->tls_session, GNUTLS_CERT_REQUIRE);
		gnutls_session_set_verify_cert2(info->tls_session, &client, 1, 0);
		return;
	}
	// It cannot be held to it, so it does not go on.
	info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (info)
		shutdown(info->connect_fd, SHUT_RDWR);
}
