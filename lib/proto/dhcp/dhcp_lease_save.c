// SPDX-License-Identifier: BSD-3-Clause
// What clients hold at the end to a file of leases. Path: cold. Management thread.

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/addr.h"
#include "base/log.h"
#include "proto/dhcp/dhcp_lease_line.h"

#define MS_PER_S 1000

struct saving {
	FILE *f;
	const struct dhcp_lease_clients *of;
	uint64_t epoch; // when the run began, since 1970
	uint32_t now_s;
};

static void server_write(const struct saving *s, const struct dhcp_server_id *id)
{
	struct addr a = {.len = 4};
	char text[ADDR_TEXT_SIZE];

	if (s->of->addr_len == 4) {
		memcpy(a.bytes, id->bytes, 4);
		fputs(addr_format(&a, text, sizeof(text)), s->f);
		return;
	}
	for (uint32_t i = 0; i < id->len; i++)
		fprintf(s->f, "%02x", id->bytes[i]);
}

static void lease_write(const struct saving *s, const struct dhcp_lease_held *held)
{
	struct addr_prefix lease = {.addr = {.len = s->of->addr_len}, .bits = held->bits};
	char mac_text[DHCP_MAC_TEXT], text[ADDR_TEXT_SIZE];
	uint8_t mac[DHCP_MAC_MAX];

	s->of->mac(s->of->plan, held->number, mac);
	memcpy(lease.addr.bytes, held->bytes, sizeof(held->bytes));
	fprintf(s->f, "%u,%s,%s,", held->number, dhcp_mac_text(mac, s->of->mac_len, mac_text),
		held->bits ? addr_format_prefix(&lease, text, sizeof(text))
			   : addr_format(&lease.addr, text, sizeof(text)));
	server_write(s, &held->server);
	if (held->expires_s == UINT32_MAX)
		fprintf(s->f, ",never\n");
	else
		fprintf(s->f, ",%" PRIu64 "\n", s->epoch + held->expires_s);
}

static void worker_write(const struct saving *s, const struct dhcp_lease_worker *w)
{
	struct dhcp_lease_held held;

	for (uint32_t client = 0; w->own && client < w->clients; client++)
		for (uint32_t n = 0; w->lease(w->own, client, n, s->now_s, &held); n++)
			lease_write(s, &held);
}

static int save(
	const struct dhcp_lease_file *f, const struct dhcp_lease_clients *of, uint32_t now_ms)
{
	struct saving s = {.of = of, .now_s = now_ms / MS_PER_S};
	int rc = 0;

	s.epoch = (uint64_t)time(NULL) - s.now_s;
	errno = 0; // what writing leaves there is why it failed
	s.f = fopen(f->save, "w");
	if (!s.f) {
		rc = -errno;
	} else {
		fprintf(s.f, DHCP_LEASE_HEADING "\n");
		for (uint32_t i = 0; i < f->worker_count; i++)
			worker_write(&s, &f->workers[i]);
		if (ferror(s.f))
			rc = errno ? -errno : -EIO;
		rc = fclose(s.f) != 0 ? -errno : rc;
	}
	if (rc < 0)
		log_error("%s: %s", f->save, strerror(-rc));
	return rc;
}

void dhcp_lease_file_workers(struct dhcp_lease_file *f, uint32_t workers, struct arena *a)
{
	f->workers = arena_zalloc(a, workers * sizeof(*f->workers));
	f->worker_count = workers;
}

int dhcp_lease_file_close(const struct dhcp_lease_file *f, const struct dhcp_lease_clients *of,
	const void *own, uint32_t now_ms)
{
	bool is_open = false, heard = false;
	int rc;

	for (uint32_t i = 0; i < f->worker_count; i++) {
		is_open |= f->workers[i].own == own;
		heard |= f->workers[i].own && *f->workers[i].heard;
	}
	if (!is_open)
		return 0;
	rc = heard ? save(f, of, now_ms) : 0;
	for (uint32_t i = 0; i < f->worker_count; i++)
		f->workers[i].own = NULL;
	return rc;
}
