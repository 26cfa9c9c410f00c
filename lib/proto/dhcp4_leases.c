// SPDX-License-Identifier: BSD-3-Clause
// Leases in a file, from one run to the next: a CSV line for each, "client,mac,address,server,
// expires" with the time in seconds since 1970 or "never". Path: cold. Management thread.

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "proto/dhcp4_self.h"

#define LINE_SIZE    256
#define LISTED_LINES 10 // bad ones
#define HEADING      "client,mac,address,server,expires"
#define MS_PER_S     1000

struct loading {
	struct dhcp4_plan *p;
	uint32_t room;
	uint64_t now; // since 1970
	uint32_t ended, bad;
	uint32_t unlisted; // number of the first bad line that is not listed
	uint8_t *seen;     // bit per client
};

static bool number_read(const char *text, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
}

static bool address_read(const char *text, uint32_t *out)
{
	struct addr a;
	const char *what;

	if (addr_parse(text, &a, &what) < 0 || a.len != 4)
		return false;
	*out = dhcp4_get32(a.bytes);
	return *out != 0;
}

static const char *mac_check(const struct dhcp4_plan *p, uint32_t client, const char *text)
{
	uint8_t theirs[DHCP4_CHADDR_LEN] = {0}, ours[DHCP4_CHADDR_LEN];
	uint32_t len = dhcp4_chaddr_read(text, theirs);

	if (len == 0)
		return "not a MAC address in the second column";
	dhcp4_chaddr(p, client, ours);
	return len == p->chaddr_len && memcmp(theirs, ours, sizeof(ours)) == 0
	               ? NULL
	               : "the client has another MAC address now";
}

static const char *fields_read(struct loading *l, char *fields[5], struct dhcp4_lease *out)
{
	uint64_t client, expires = UINT64_MAX;

	if (!number_read(fields[0], &client))
		return "not the number of a client in the first column";
	if (client >= l->p->clients)
		return "a client beyond those of the item";
	if (l->seen[client / 8] & 1u << client % 8)
		return "a client for the second time";
	if (!address_read(fields[2], &out->address))
		return "not an IPv4 address in the third column";
	if (!address_read(fields[3], &out->server_id))
		return "not an IPv4 address in the fourth column";
	if (strcmp(fields[4], "never") != 0 && !number_read(fields[4], &expires))
		return "not seconds since 1970, or \"never\", in the fifth column";
	out->client = (uint32_t)client;
	out->left_s = UINT32_MAX;
	if (expires != UINT64_MAX)
		out->left_s = expires > l->now ? (uint32_t)(expires - l->now) : 0;
	return mac_check(l->p, out->client, fields[1]);
}

static const char *line_read(struct loading *l, char *line, struct dhcp4_lease *out)
{
	char *fields[5], *rest = line;

	for (int i = 0; i < 5; i++) {
		fields[i] = strsep(&rest, ",");
		if (!fields[i])
			return "not five columns (" HEADING ")";
	}
	return rest ? "not five columns (" HEADING ")" : fields_read(l, fields, out);
}

static bool lease_add(struct loading *l, const struct dhcp4_lease *lease)
{
	struct dhcp4_plan *p = l->p;

	l->seen[lease->client / 8] |= (uint8_t)(1u << lease->client % 8);
	if (lease->left_s == 0) {
		l->ended++;
		return true;
	}
	if (p->lease_count == l->room) {
		uint32_t room = l->room ? l->room * 2 : 1024;
		void *bigger = realloc(p->leases, room * sizeof(*p->leases));

		if (!bigger)
			return false;
		p->leases = bigger;
		l->room = room;
	}
	p->leases[p->lease_count++] = *lease;
	return true;
}

static int file_read(struct loading *l, FILE *f, const char *path, struct diag *d)
{
	char line[LINE_SIZE], shown[LINE_SIZE];
	struct dhcp4_lease lease;
	const char *what;

	for (unsigned n = 1; fgets(line, sizeof(line), f); n++) {
		line[strcspn(line, "\r\n")] = '\0';
		if (*line == '\0' || strcmp(line, HEADING) == 0)
			continue;
		memcpy(shown, line, sizeof(shown));
		what = line_read(l, line, &lease);
		if (what && ++l->bad == LISTED_LINES + 1)
			l->unlisted = n;
		if (what && l->bad <= LISTED_LINES)
			diag_error_at(d, path, n, 1, NULL, "%s: \"%.80s\"", what, shown);
		else if (!what && !lease_add(l, &lease))
			return -ENOMEM;
	}
	if (l->bad > LISTED_LINES)
		diag_error_at(d, path, l->unlisted, 1, NULL, "and %u more bad line%s",
			l->bad - LISTED_LINES, l->bad == LISTED_LINES + 1 ? "" : "s");
	return l->bad ? -EINVAL : 0;
}

static int by_address(const void *a, const void *b)
{
	const struct dhcp4_lease *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static int check_unique(const struct dhcp4_plan *p, const char *path, struct diag *d)
{
	char text[ADDR_TEXT_SIZE];
	struct addr a = {.len = 4};

	for (uint32_t i = 1; i < p->lease_count; i++) {
		if (p->leases[i - 1].address != p->leases[i].address)
			continue;
		dhcp4_put32(a.bytes, p->leases[i].address);
		diag_error_at(d, path, 0, 0, NULL, "%s is leased to two clients",
			addr_format(&a, text, sizeof(text)));
		return -EINVAL;
	}
	return 0;
}

// In the order that they run out, as the ring of bound clients has it.
static int by_time(const void *a, const void *b)
{
	const struct dhcp4_lease *x = a, *y = b;

	if (x->left_s != y->left_s)
		return x->left_s < y->left_s ? -1 : 1;
	return x->client < y->client ? -1 : x->client > y->client;
}

static int load(struct dhcp4_plan *p, FILE *f, const char *path, struct diag *d)
{
	struct loading l = {.p = p, .now = (uint64_t)time(NULL)};
	int ret;

	l.seen = calloc(p->clients / 8 + 1, 1);
	if (!l.seen)
		return -ENOMEM;
	ret = file_read(&l, f, path, d);
	free(l.seen);
	if (ret < 0)
		return ret;
	if (l.ended)
		log_note("%s: %u leases have run out and are left out", path, l.ended);
	if (p->lease_count == 0)
		return 0;
	qsort(p->leases, p->lease_count, sizeof(*p->leases), by_address);
	ret = check_unique(p, path, d);
	qsort(p->leases, p->lease_count, sizeof(*p->leases), by_time);
	return ret;
}

// What cannot be written is better known before the run. What was there stays as it is.
static int check_writable(const char *const *path, struct diag *d)
{
	bool is_new = access(*path, F_OK) < 0;
	FILE *f = fopen(*path, "a");

	if (!f) {
		diag_error(d, path, NULL, "%s: %s", *path, strerror(errno));
		return -EINVAL;
	}
	fclose(f);
	if (is_new)
		unlink(*path);
	return 0;
}

int dhcp4_leases_load(struct dhcp4_plan *p, const struct dhcp4_leases_settings *s, struct diag *d)
{
	FILE *f;
	int ret = 0;

	if (s->load) {
		f = fopen(s->load, "r");
		if (!f) {
			diag_error(d, &s->load, NULL, "%s: %s", s->load, strerror(errno));
			return -EINVAL;
		}
		ret = load(p, f, s->load, d);
		fclose(f);
	}
	p->save = s->save;
	return s->save && ret == 0 ? check_writable(&s->save, d) : ret;
}

void dhcp4_leases_open(struct dhcp4_worker *w, const struct dhcp4_plan *p)
{
	uint32_t taken = 0;

	for (uint32_t i = 0; i < p->lease_count; i++) {
		const struct dhcp4_lease *lease = &p->leases[i];
		struct dhcp4_client *k;
		uint32_t client = lease->client / w->work.workers;

		if (lease->client % w->work.workers != w->work.worker)
			continue;
		if (dhcp4_lease_hold(w, client, lease->address, lease->left_s, 0) != DHCP_NOBODY) {
			taken++;
			continue;
		}
		k = dhcp4_client_at(w, client);
		k->server_id = lease->server_id;
		for (uint32_t n = 0; n < p->server_count; n++)
			if (p->servers[n] == lease->server_id)
				k->head.server = (uint8_t)n;
		dhcp_clients_bind(&w->work.clients, client);
	}
	if (taken)
		log_warning("%s: %u leases are left out: clients of another item have "
			    "their addresses",
			p->name, taken);
	dhcp_clients_settle(&w->work.clients);
}

static void lease_write(const struct dhcp4_worker *w, const struct dhcp4_plan *p, uint32_t client,
	uint64_t epoch, FILE *f)
{
	const struct dhcp4_client *k = dhcp4_client_at(w, client);
	char mac[DHCP4_CHADDR_TEXT], address[ADDR_TEXT_SIZE], server[ADDR_TEXT_SIZE];
	struct addr a = {.len = 4}, s = {.len = 4};
	uint32_t number = dhcp_work_number(&w->work, client);

	dhcp4_put32(a.bytes, k->address);
	dhcp4_put32(s.bytes, k->server_id);
	fprintf(f, "%u,%s,%s,%s,", number, dhcp4_chaddr_text(p, number, mac),
		addr_format(&a, address, sizeof(address)), addr_format(&s, server, sizeof(server)));
	if (k->head.expires_s == UINT32_MAX)
		fprintf(f, "never\n");
	else
		fprintf(f, "%" PRIu64 "\n", epoch + k->head.expires_s);
}

void dhcp4_leases_save(const struct dhcp4_worker *w, const struct dhcp4_plan *p, uint32_t now_ms)
{
	uint32_t now_s = now_ms / MS_PER_S;
	uint64_t epoch = (uint64_t)time(NULL) - now_s;
	FILE *f = fopen(p->save, w->work.worker == 0 ? "w" : "a");
	bool failed = !f;

	if (f) {
		if (w->work.worker == 0)
			fprintf(f, HEADING "\n");
		for (uint32_t i = 0; i < w->work.clients.count; i++) {
			const struct dhcp_client *k = dhcp_client_at(&w->work.clients, i);

			if (k->holds && !dhcp_client_expired(k, now_s))
				lease_write(w, p, i, epoch, f);
		}
		failed = ferror(f) != 0;
		failed = fclose(f) != 0 || failed;
	}
	if (failed)
		log_error("%s: %s", p->save, strerror(errno));
}
