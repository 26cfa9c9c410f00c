// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Any thread.
#include "crypt/certificate.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gnutls/crypto.h>
#include <gnutls/x509.h>

#define HOUR_S 3600
#define YEAR_S (365 * 24 * HOUR_S)

// Freed at the end in any case.
struct making {
	gnutls_x509_crt_t crt, issuer;
	gnutls_x509_privkey_t key, signer;
};

static int key_make(gnutls_x509_privkey_t key, enum certificate_kind kind)
{
	if (kind == CERTIFICATE_RSA_2048)
		return gnutls_x509_privkey_generate(key, GNUTLS_PK_RSA, 2048, 0);
	return gnutls_x509_privkey_generate(
		key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
}

static int signer_read(struct making *m, const struct certificate *c)
{
	gnutls_datum_t crt = {(uint8_t *)c->certificate, (unsigned)strlen(c->certificate)};
	gnutls_datum_t key = {(uint8_t *)c->key, (unsigned)strlen(c->key)};
	int rc = gnutls_x509_crt_import(m->issuer, &crt, GNUTLS_X509_FMT_PEM);

	return rc ? rc : gnutls_x509_privkey_import(m->signer, &key, GNUTLS_X509_FMT_PEM);
}

static int fields_set(gnutls_x509_crt_t crt, const struct certificate_wanted *w)
{
	bool any = w->from_s || w->until_s;
	struct timespec clock;
	uint8_t serial[16];
	time_t now;
	int rc = gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof(serial));

	timespec_get(&clock, TIME_UTC); // the library's clock, also where a test has another one
	now = clock.tv_sec;
	serial[0] = 1; // positive
	rc = rc ? rc : gnutls_x509_crt_set_version(crt, 3);
	rc = rc ? rc : gnutls_x509_crt_set_serial(crt, serial, sizeof(serial));
	rc = rc ? rc
	        : gnutls_x509_crt_set_activation_time(
			  crt, now + (any ? (time_t)w->from_s : -HOUR_S));
	rc = rc ? rc
	        : gnutls_x509_crt_set_expiration_time(
			  crt, now + (any ? (time_t)w->until_s : YEAR_S));
	rc = rc ? rc
	        : gnutls_x509_crt_set_dn_by_oid(
			  crt, GNUTLS_OID_X520_COMMON_NAME, 0, w->name, (unsigned)strlen(w->name));
	rc = rc ? rc
	        : gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, w->name,
			  (unsigned)strlen(w->name), GNUTLS_FSAN_SET);
	return rc ? rc : gnutls_x509_crt_set_basic_constraints(crt, w->authority, -1);
}

// An extension under the number for examples (RFC 5612), which nobody has to understand.
static int padding_set(gnutls_x509_crt_t crt, uint32_t len)
{
	uint8_t *octets = calloc(1, len + 5);
	int rc = GNUTLS_E_MEMORY_ERROR;

	if (!octets)
		return rc;
	octets[0] = 0x04; // OCTET STRING, and its length in three octets
	octets[1] = 0x83;
	octets[2] = (uint8_t)(len >> 16);
	octets[3] = (uint8_t)(len >> 8);
	octets[4] = (uint8_t)len;
	rc = gnutls_x509_crt_set_extension_by_oid(crt, "1.3.6.1.4.1.32473.1", octets, len + 5, 0);
	free(octets);
	return rc;
}

static int pem_of(const struct making *m, struct certificate *out)
{
	gnutls_datum_t crt = {0}, key = {0};
	int rc = gnutls_x509_crt_export2(m->crt, GNUTLS_X509_FMT_PEM, &crt);

	rc = rc < 0 ? rc : gnutls_x509_privkey_export2(m->key, GNUTLS_X509_FMT_PEM, &key);
	if (rc >= 0) {
		out->certificate = strndup((const char *)crt.data, crt.size);
		out->key = strndup((const char *)key.data, key.size);
		rc = out->certificate && out->key ? 0 : GNUTLS_E_MEMORY_ERROR;
	}
	gnutls_free(crt.data);
	gnutls_free(key.data);
	return rc;
}

int certificate_make(
	const struct certificate_wanted *wanted, struct certificate *out, const char **wrong)
{
	struct making m = {0};
	int rc = gnutls_x509_crt_init(&m.crt);

	*out = (struct certificate){0};
	rc = rc ? rc : gnutls_x509_crt_init(&m.issuer);
	rc = rc ? rc : gnutls_x509_privkey_init(&m.key);
	rc = rc ? rc : gnutls_x509_privkey_init(&m.signer);
	rc = rc ? rc : key_make(m.key, wanted->kind);
	rc = rc ? rc : fields_set(m.crt, wanted);
	if (rc == 0 && wanted->padding)
		rc = padding_set(m.crt, wanted->padding);
	rc = rc ? rc : gnutls_x509_crt_set_key(m.crt, m.key);
	if (rc == 0 && wanted->signer)
		rc = signer_read(&m, wanted->signer);
	rc = rc ? rc
	        : gnutls_x509_crt_sign2(m.crt, wanted->signer ? m.issuer : m.crt,
			  wanted->signer ? m.signer : m.key, GNUTLS_DIG_SHA256, 0);
	rc = rc ? rc : pem_of(&m, out);
	gnutls_x509_crt_deinit(m.crt);
	gnutls_x509_crt_deinit(m.issuer);
	gnutls_x509_privkey_deinit(m.key);
	gnutls_x509_privkey_deinit(m.signer);
	if (rc == 0)
		return 0;
	certificate_free(out);
	*wrong = gnutls_strerror(rc);
	return -1;
}

int certificate_pin(const struct certificate *c, uint8_t *pin)
{
	gnutls_datum_t pem = {(uint8_t *)c->certificate, (unsigned)strlen(c->certificate)};
	gnutls_x509_crt_t crt;
	size_t len = 32;
	int rc = gnutls_x509_crt_init(&crt);

	if (rc < 0)
		return -1;
	rc = gnutls_x509_crt_import(crt, &pem, GNUTLS_X509_FMT_PEM);
	rc = rc ? rc : gnutls_x509_crt_get_key_id(crt, GNUTLS_KEYID_USE_SHA256, pin, &len);
	gnutls_x509_crt_deinit(crt);
	return rc ? -1 : 0;
}

void certificate_free(struct certificate *c)
{
	free(c->certificate);
	free(c->key);
	*c = (struct certificate){0};
}
