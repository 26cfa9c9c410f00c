// SPDX-License-Identifier: BSD-3-Clause
// From the settings to the options of libnats, and the rules about servers that are not of this
// host. Path: cold. Main thread.
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "nats/bus_internal.h"
#include "nats/bus_nkey.h"

#define SERVERS        16
#define URL_SIZE       512
#define CREDS_MAX      65536
#define PING_MS        1000 // a connection that is silent for PINGS of them is lost
#define PINGS          3
#define RECONNECT_MS   250
#define CONNECT_MS     2000
#define WRITE_MS       2000
#define PENDING_OCTETS (32 << 20) // while the connection is lost

struct server {
	char url[URL_SIZE]; // with a scheme
	bool tls, user, local;
};

struct wanted {
	struct server servers[SERVERS];
	unsigned count;
	bool tls, user, far, plain; // of any server; plain: far, and without TLS
};

static bool host_is_local(const char *host)
{
	struct in6_addr v6;
	struct in_addr v4;

	if (strcmp(host, "localhost") == 0)
		return true;
	if (inet_pton(AF_INET, host, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == 127;
	return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

// [SCHEME://][USER[:PASSWORD]@]HOST[:PORT]
static int read_server(const char *text, size_t len, struct server *s)
{
	const char *scheme = "", *begin = text, *end = text + len, *slashes, *host, *at;
	char name[URL_SIZE];

	slashes = memmem(text, len, "://", 3);
	if (slashes)
		begin = slashes + 3;
	else
		scheme = "nats://";
	if (slashes && strncmp(text, "nats://", 7) != 0 && strncmp(text, "tls://", 6) != 0)
		return -EINVAL;
	s->tls = slashes == text + 3;
	at = memrchr(begin, '@', (size_t)(end - begin));
	s->user = at && at > begin;
	host = at ? at + 1 : begin;
	if (*host == '[')
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(host + 1, "],"), host + 1);
	else
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(host, ":/,"), host);
	s->local = host_is_local(name);
	if (!name[0] || snprintf(s->url, sizeof(s->url), "%s%.*s", scheme, (int)len, text) >=
				(int)sizeof(s->url))
		return -EINVAL;
	return 0;
}

static int read_servers(const char *url, struct wanted *w)
{
	const char *next;
	struct server *s;

	for (; url; url = next) {
		size_t len = strcspn(url, ",");

		next = url[len] ? url + len + 1 : NULL;
		s = &w->servers[w->count];
		if (w->count == SERVERS || read_server(url, len, s) < 0)
			return -EINVAL;
		w->count++;
		w->tls |= s->tls;
		w->user |= s->user;
		w->far |= !s->local;
		w->plain |= !s->local && !s->tls;
	}
	return 0;
}

// Their URLs as messages show them: without user and password.
static void describe(const struct wanted *w, char *text, size_t room)
{
	size_t len = 0;

	for (unsigned i = 0; i < w->count && len < room; i++) {
		const char *url = w->servers[i].url, *host = strstr(url, "://") + 3;
		const char *at = strrchr(host, '@');

		len += (size_t)snprintf(text + len, room - len, "%s%.*s%s", i ? "," : "",
			(int)(host - url), url, at ? at + 1 : host);
	}
}

const char *bus_reason(const char *text)
{
	const char *end = text && *text == '(' ? strstr(text, "): ") : NULL;

	return end && memchr(text, ':', (size_t)(end - text)) ? end + 3 : text;
}

// A file with a JWT and a seed ("creds"), or with a seed alone.
static natsStatus set_creds(natsOptions *o, const char *path)
{
	char *text = calloc(1, CREDS_MAX);
	FILE *f = fopen(path, "re");
	char key[BUS_NKEY_SIZE];
	natsStatus status;

	if (!text || !f || fread(text, 1, CREDS_MAX - 1, f) == 0) {
		log_error("%s: %s", path, f ? "an empty file" : strerror(errno));
		status = NATS_INVALID_ARG;
	} else if (strstr(text, "BEGIN NATS USER JWT")) {
		status = natsOptions_SetUserCredentialsFromFiles(o, path, NULL);
	} else if (bus_nkey_public(text, key) == 0) {
		status = natsOptions_SetNKeyFromSeed(o, key, path);
	} else {
		log_error("%s: neither NATS credentials nor the seed of an nkey (SU...)", path);
		status = NATS_INVALID_ARG;
	}
	if (text)
		explicit_bzero(text, CREDS_MAX);
	free(text);
	if (f)
		fclose(f);
	return status;
}

static natsStatus set_tls(natsOptions *o, const struct bus_settings *s)
{
	natsStatus status = natsOptions_SetSecure(o, true);

	if (status == NATS_OK && s->ca &&
		(status = natsOptions_LoadCATrustedCertificates(o, s->ca)) != NATS_OK)
		log_error("%s: no certificates in it: %s", s->ca,
			bus_reason(nats_GetLastError(NULL)));
	if (status == NATS_OK && s->cert &&
		(status = natsOptions_LoadCertificatesChain(o, s->cert, s->key)) != NATS_OK)
		log_error("%s, %s: no certificate with its key: %s", s->cert, s->key,
			bus_reason(nats_GetLastError(NULL)));
	return status;
}

static natsStatus set_options(
	natsOptions *o, const struct bus_settings *s, const struct wanted *w, bool may_roam)
{
	const char *urls[SERVERS];
	natsStatus status;

	for (unsigned i = 0; i < w->count; i++)
		urls[i] = w->servers[i].url;
	status = natsOptions_SetServers(o, urls, (int)w->count);
	if (status == NATS_OK)
		status = natsOptions_SetName(o, s->name);
	if (status == NATS_OK && s->creds)
		status = set_creds(o, s->creds);
	if (status == NATS_OK && (w->tls || s->ca || s->cert))
		status = set_tls(o, s);
	natsOptions_SetNoRandomize(o, true);
	natsOptions_SetTimeout(o, CONNECT_MS);
	natsOptions_SetPingInterval(o, PING_MS);
	natsOptions_SetMaxPingsOut(o, PINGS);
	natsOptions_SetMaxReconnect(o, -1);
	natsOptions_SetReconnectWait(o, RECONNECT_MS);
	natsOptions_SetReconnectJitter(o, RECONNECT_MS, RECONNECT_MS);
	natsOptions_SetReconnectBufSize(o, PENDING_OCTETS);
	natsOptions_SetWriteDeadline(o, WRITE_MS);
	// Otherwise a thread sends, up to a millisecond later.
	natsOptions_SetSendAsap(o, true);
	natsOptions_UseGlobalMessageDelivery(o, true);
	natsOptions_SetIgnoreDiscoveredServers(o, !may_roam);
	return status;
}

int bus_options(const struct bus_settings *s, natsOptions **out, char *servers, size_t room)
{
	struct wanted w = {.count = 0};
	bool known, tls;

	if (!s->cert != !s->key) {
		log_error("a certificate of a client and its key belong together");
		return -EINVAL;
	}
	if (read_servers(s->url, &w) < 0) {
		log_error("wrong URL of a NATS server: nats://HOST:PORT or tls://HOST:PORT");
		return -EINVAL;
	}
	describe(&w, servers, room);
	known = s->creds || w.user || s->cert;
	tls = w.tls || s->ca || s->cert;
	if (w.far && !known) {
		log_error("%s is not on this host, and there are no credentials for it: anyone who "
			  "can reach it could control this host. Give a file of credentials, user "
			  "and password in the URL, or a certificate",
			servers);
		return -EACCES;
	}
	if (s->demanding && !known) {
		log_error(
			"%s: each user of this host reaches it, and runs have the capabilities of "
			"this process. Give a file of credentials, user and password in the URL, "
			"or a certificate, or allow it (--allow-local-users)",
			servers);
		return -EACCES;
	}
	if (w.plain && !tls)
		log_warning(
			"%s: encrypted only if the server requires it; tls:// always is", servers);
	if (natsOptions_Create(out) != NATS_OK)
		return -ENOMEM;
	if (set_options(*out, s, &w, known) == NATS_OK)
		return 0;
	natsOptions_Destroy(*out);
	return -EINVAL;
}
