// SPDX-License-Identifier: BSD-3-Clause
// Loads a file of leases, line by line and client by client, and saves leases at the end.
// Path: cold. Management thread.

#include "proto/dhcp/client/dhcp_lease_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/addr.h"
#include "base/file.h"
#include "base/log.h"
#include "proto/dhcp/client/dhcp_client.h"

#define HEADING       "client,mac,address,server,expires"
#define COLUMNS       5
#define SERVERS_MAX   1024
#define SERVER_ID_MIN 3 // bytes of a DUID
#define MS_PER_S      1000

static bool number_read(const char *text, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
}

enum { CLIENT, MAC, ADDRESS, SERVER, EXPIRES };

static const char *mac_check(const struct dhcp_lease_loading *l, const char *text, uint32_t client)
{
	uint8_t theirs[DHCP_MAC_MAX] = {0}, ours[DHCP_MAC_MAX] = {0};
	uint32_t len = dhcp_mac_read(text, theirs);

	if (len == 0)
		return "not a MAC address";
	dhcp_mac_of(l->p, client, ours);
	return len == l->p->mac_len && memcmp(theirs, ours, len) == 0
	               ? NULL
	               : "the client has another MAC address now";
}

// Rejects 0.0.0.0, :: and prefixes with host bits set.
static bool is_lease(const struct dhcp_lease_loading *l, const struct addr_prefix *p)
{
	uint32_t set = 0;

	for (uint32_t bit = 0; bit < 8u * p->addr.len; bit++)
		if (p->addr.bytes[bit / 8] >> (7 - bit % 8) & 1)
			set = bit + 1;
	return p->addr.len == l->p->family->addr_len && set > 0 &&
	       (p->bits == 0 || (set <= p->bits && p->bits <= DHCP_PREFIX_MAX));
}

static const char *lease_read(
	const struct dhcp_lease_loading *l, const char *text, struct dhcp_saved *out)
{
	bool is_prefix = strchr(text, '/') != NULL;
	struct addr_prefix p = {.bits = 0};
	const char *what;
	int ret = is_prefix ? addr_parse_prefix(text, &p, &what) : addr_parse(text, &p.addr, &what);

	if (ret < 0 || !is_lease(l, &p) || (is_prefix && p.bits == 0))
		return l->p->family->addr_len == 4 ? "the address is not an IPv4 address"
		                                   : "the address is not an IPv6 address or prefix";
	if (is_prefix ? !l->p->prefixes : !l->p->addresses)
		return is_prefix ? "a prefix, which the clients do not ask for"
		                 : "an address, which the clients do not ask for";
	out->bits = p.bits;
	memcpy(out->bytes, p.addr.bytes, sizeof(out->bytes));
	return NULL;
}

static bool server_id_read(uint8_t addr_len, const char *text, struct dhcp_server_id *id)
{
	static const uint8_t none[4];
	const char *what;
	struct addr a;
	int len;

	if (addr_len == 16) {
		len = dhcp_hex_read(text, id->bytes, sizeof(id->bytes));
		id->len = len > 0 ? (uint8_t)len : 0;
		return len >= SERVER_ID_MIN;
	}
	if (addr_parse(text, &a, &what) < 0 || a.len != 4 || memcmp(a.bytes, none, 4) == 0)
		return false;
	id->len = 4;
	memcpy(id->bytes, a.bytes, 4);
	return true;
}

// Searches backwards: usually the server of the previous line.
static int server_find(struct dhcp_lease_loading *l, const struct dhcp_server_id *id, uint16_t *out)
{
	const struct dhcp_server_id *known = l->servers.items;

	for (uint32_t i = l->servers.count; i-- > 0;)
		if (memcmp(&known[i], id, sizeof(*id)) == 0) {
			*out = (uint16_t)i;
			return 0;
		}
	if (l->servers.count == SERVERS_MAX)
		return -EINVAL;
	*out = (uint16_t)l->servers.count;
	return dhcp_rows_add(&l->servers, id) ? 0 : -ENOMEM;
}

// Empty or 0 means unknown, which is treated as a lease that never ends.
static const char *time_read(const struct dhcp_lease_loading *l, const char *text, uint32_t *left_s)
{
	uint64_t expires = 0;

	*left_s = UINT32_MAX;
	if (strcmp(text, "never") == 0 || *text == '\0')
		return NULL;
	if (!number_read(text, &expires))
		return "expires is not seconds since 1970, or \"never\"";
	if (expires && expires - l->now < UINT32_MAX)
		*left_s = (uint32_t)(expires - l->now);
	if (expires && expires < l->now)
		*left_s = 0;
	return NULL;
}

// An unknown DHCPv4 server is taken to be the item's. A DUID cannot be made up.
static const char *server_read(
	const struct dhcp_lease_loading *l, const char *text, struct dhcp_server_id *id)
{
	const struct dhcp_family *f = l->p->family;

	if (*text == '\0' && f->addr_len == 4) {
		id->len = 4;
		memcpy(id->bytes, l->p->servers[0], 4);
		return NULL;
	}
	if (*text == '\0')
		return l->p->names_server
		               ? "no server, whose DUID RENEW, RELEASE and DECLINE have in them"
		               : NULL;
	if (server_id_read(f->addr_len, text, id))
		return NULL;
	return f->addr_len == 4 ? "the server is not an IPv4 address" : "the server is not a DUID";
}

static const char *count_check(struct dhcp_lease_loading *l, const struct dhcp_saved *one)
{
	uint32_t most = one->bits ? l->p->prefixes : l->p->addresses;

	if (l->seen[one->client][one->bits > 0]++ < most)
		return NULL;
	if (l->p->stride == 1)
		return "a client for the second time";
	return one->bits ? "more prefixes than the client asks for"
	                 : "more addresses than the client asks for";
}

// Without a client column, the line number is the client number.
static const char *columns_read(struct dhcp_lease_loading *l, const char *const columns[COLUMNS],
	struct dhcp_saved *one, struct dhcp_server_id *id)
{
	const char *what = NULL;
	uint64_t client = one->line;

	if (l->place[CLIENT] && !number_read(columns[CLIENT], &client))
		what = "the client is not a number";
	else if (client >= l->p->most)
		what = "a client beyond those of the item";
	one->client = (uint32_t)client;
	if (!what)
		what = lease_read(l, columns[ADDRESS], one);
	if (!what)
		what = server_read(l, columns[SERVER], id);
	if (!what)
		what = time_read(l, columns[EXPIRES], &one->left_s);
	if (!what && *columns[MAC])
		what = mac_check(l, columns[MAC], one->client);
	return what ? what : count_check(l, one);
}

// Parses a heading: each column at most once, and the address column is required.
static bool heading_read(struct dhcp_lease_loading *l, const char *line)
{
	static const char *const names[COLUMNS] = {"client", "mac", "address", "server", "expires"};
	uint8_t place[COLUMNS] = {0}, n = 0;

	while (*line) {
		size_t len = strcspn(line, ",");
		unsigned i = 0;

		while (i < COLUMNS && (strlen(names[i]) != len || memcmp(names[i], line, len) != 0))
			i++;
		if (i == COLUMNS || place[i])
			return false;
		place[i] = ++n;
		line += len + (line[len] == ',');
	}
	if (!place[ADDRESS])
		return false;
	memcpy(l->place, place, sizeof(place));
	l->columns = n;
	return true;
}

int dhcp_lease_line(void *to, char *line, const char **what)
{
	struct dhcp_lease_loading *l = to;
	const char *in_line[COLUMNS] = {NULL}, *columns[COLUMNS];
	struct dhcp_server_id id = {.len = 0};
	struct dhcp_saved one;
	int ret;

	if (!l->headed) {
		l->headed = true;
		if (heading_read(l, line))
			return 0;
		heading_read(l, HEADING);
	}
	one = (struct dhcp_saved){.line = l->line++};
	for (int i = 0; i < l->columns; i++)
		in_line[i] = strsep(&line, ",");
	for (int i = 0; i < COLUMNS; i++)
		columns[i] = l->place[i] ? in_line[l->place[i] - 1] : "";
	*what = in_line[l->columns - 1] && !line
	                ? columns_read(l, columns, &one, &id)
	                : "not as many columns as the first line names (without one: " HEADING ")";
	if (*what)
		return -EINVAL;
	ret = server_find(l, &id, &one.server);
	if (ret == -EINVAL)
		*what = "of one server too many";
	if (ret == 0 && !dhcp_rows_add(&l->leases, &one))
		ret = -ENOMEM;
	return ret;
}

static int order(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_client(const void *a, const void *b)
{
	const struct dhcp_saved *x = a, *y = b;
	int by = order(x->client, y->client);

	if (by == 0)
		by = order(x->bits > 0, y->bits > 0);
	return by ? by : order(x->line, y->line);
}

static int by_lease(const void *a, const void *b)
{
	const struct dhcp_saved *x = a, *y = b;
	int by = memcmp(x->bytes, y->bytes, sizeof(x->bytes));

	return by ? by : order(x->bits, y->bits);
}

// By expiry time, the order of the ring of bound clients.
static int by_time(const void *a, const void *b)
{
	const struct dhcp_saved *x = a, *y = b;
	int by = order(x->left_s, y->left_s);

	return by ? by : by_client(a, b);
}

static const char *lease_text(
	const struct dhcp_plan *p, const uint8_t bytes[16], uint8_t bits, char text[ADDR_TEXT_SIZE])
{
	struct addr_prefix lease = {.addr = {.len = p->family->addr_len}, .bits = bits};

	memcpy(lease.addr.bytes, bytes, 16);
	return bits ? addr_format_prefix(&lease, text, ADDR_TEXT_SIZE)
	            : addr_format(&lease.addr, text, ADDR_TEXT_SIZE);
}

static int check_unique(const struct dhcp_lease_file *f, const char *path,
	const struct dhcp_plan *p, struct diag *d)
{
	char text[ADDR_TEXT_SIZE];

	for (uint32_t i = 1; i < f->count; i++) {
		if (by_lease(&f->items[i - 1], &f->items[i]) != 0)
			continue;
		diag_error_at(d, path, 0, 0, NULL, "%s is leased to two clients",
			lease_text(p, f->items[i].bytes, f->items[i].bits, text));
		return -EINVAL;
	}
	return 0;
}

// Expects items sorted by client: all leases of a client end with its first.
static uint32_t client_end(struct dhcp_lease_file *f, uint32_t first)
{
	uint32_t end = first, left_s = UINT32_MAX;

	for (; end < f->count && f->items[end].client == f->items[first].client; end++)
		if (f->items[end].left_s < left_s)
			left_s = f->items[end].left_s;
	for (uint32_t i = first; i < end; i++)
		f->items[i].left_s = left_s;
	return end;
}

// Drop clients whose leases have expired; the others must have all their leases.
static int clients_judge(
	struct dhcp_lease_file *f, const char *path, const struct dhcp_plan *p, struct diag *d)
{
	uint32_t all = p->stride, kept = 0, ended = 0;

	for (uint32_t i = 0, end; i < f->count; i = end) {
		end = client_end(f, i);
		if (f->items[i].left_s == 0) {
			ended += end - i;
			continue;
		}
		if (end - i < all) {
			diag_error_at(d, path, 0, 0, NULL,
				"client %u has %u of its %u addresses and prefixes",
				f->items[i].client, end - i, all);
			return -EINVAL;
		}
		memmove(&f->items[kept], &f->items[i], (end - i) * sizeof(*f->items));
		kept += end - i;
	}
	f->count = kept;
	if (ended)
		log_note("%s: %u leases have run out and are left out", path, ended);
	return 0;
}

static void sort(struct dhcp_lease_file *f, int (*compare)(const void *, const void *))
{
	if (f->count)
		qsort(f->items, f->count, sizeof(*f->items), compare);
}

static int load(struct dhcp_lease_file *f, const char *const *path, const struct dhcp_plan *p,
	struct diag *d)
{
	struct dhcp_lease_loading l = {.p = p,
		.leases = {.size = sizeof(struct dhcp_saved)},
		.servers = {.size = sizeof(struct dhcp_server_id)},
		.now = (uint64_t)time(NULL)};
	int ret;

	l.seen = calloc(p->most, sizeof(*l.seen));
	if (!l.seen)
		return -ENOMEM;
	ret = dhcp_lines_read(*path, path, dhcp_lease_line, &l, d);
	free(l.seen);
	f->items = l.leases.items;
	f->count = l.leases.count;
	f->servers = l.servers.items;
	f->server_count = l.servers.count;
	if (ret < 0)
		return ret;
	sort(f, by_client);
	f->clients = f->count ? f->items[f->count - 1].client + 1 : 0;
	ret = clients_judge(f, *path, p, d);
	sort(f, by_lease);
	if (ret == 0)
		ret = check_unique(f, *path, p, d);
	sort(f, by_time);
	return ret;
}

int dhcp_lease_file_load(struct dhcp_plan *p, const struct dhcp_leases_settings *settings,
	const struct proto_env *env, struct diag *d)
{
	struct stat st;
	int ret;

	if (!settings)
		return 0;
	p->leases.workers = arena_zalloc(p->arena, env->workers * sizeof(*p->leases.workers));
	p->leases.worker_count = env->workers;
	p->leases.save = settings->save;
	ret = settings->load ? load(&p->leases, &settings->load, p, d) : 0;
	// Clients without a lease are added.
	p->clients =
		p->most - p->clients > p->leases.clients ? p->clients + p->leases.clients : p->most;
	if (!settings->save || ret < 0)
		return ret;
	ret = file_draft_check(settings->save); // report an unwritable file before the run
	if (ret == 0 && stat(settings->save, &st) == 0 && S_ISFIFO(st.st_mode))
		ret = -ENXIO; // without a reader, the end of the run would block
	if (ret == 0)
		return 0;
	diag_error(d, &settings->save, NULL, "%s: %s", settings->save, strerror(-ret));
	return -EINVAL;
}

void dhcp_lease_file_free(struct dhcp_lease_file *f)
{
	free(f->items);
	free(f->servers);
}

struct saving {
	FILE *f;
	const struct dhcp_plan *p;
	uint64_t epoch; // Unix time of the start of the run
	uint32_t now_s;
};

static void lease_write(const struct saving *s, const struct dhcp_lease_held *held)
{
	char mac_text[DHCP_MAC_TEXT], text[ADDR_TEXT_SIZE];
	uint8_t mac[DHCP_MAC_MAX];

	dhcp_mac_of(s->p, held->number, mac);
	fprintf(s->f, "%u,%s,%s,", held->number, dhcp_mac_text(mac, s->p->mac_len, mac_text),
		lease_text(s->p, held->bytes, held->bits, text));
	if (s->p->family->addr_len == 4)
		fputs(lease_text(s->p, held->server.bytes, 0, text), s->f);
	for (uint32_t i = 0; s->p->family->addr_len == 16 && i < held->server.len; i++)
		fprintf(s->f, "%02x", held->server.bytes[i]);
	if (held->expires_s == UINT32_MAX)
		fprintf(s->f, ",never\n");
	else
		fprintf(s->f, ",%" PRIu64 "\n", s->epoch + held->expires_s);
}

static void worker_write(const struct saving *s, const struct dhcp_worker *w)
{
	struct dhcp_lease_held held;

	for (uint32_t client = 0; w && client < w->work.clients.count; client++) {
		const struct dhcp_client *k = dhcp_client_at(&w->work.clients, client);

		if (!k->holds || dhcp_client_expired(k, s->now_s))
			continue;
		for (uint32_t n = 0; n < s->p->stride; n++) {
			held = (struct dhcp_lease_held){
				.number = dhcp_work_number(&w->work, client),
				.expires_s = k->expires_s};
			s->p->family->lease_save(w, client, n, &held);
			lease_write(s, &held);
		}
	}
}

static int save(const struct dhcp_plan *p, uint64_t now_ms)
{
	const struct dhcp_lease_file *f = &p->leases;
	struct saving s = {.p = p, .now_s = (uint32_t)(now_ms / MS_PER_S)};
	struct file_draft draft;
	int rc = file_draft_open(f->save, &draft);

	if (rc == 0) {
		s.epoch = (uint64_t)time(NULL) - s.now_s;
		s.f = draft.f;
		fprintf(s.f, HEADING "\n");
		for (uint32_t i = 0; i < f->worker_count; i++)
			worker_write(&s, f->workers[i]);
		rc = file_draft_commit(&draft);
	}
	if (rc < 0)
		log_error("%s: %s", f->save, strerror(-rc));
	return rc;
}

int dhcp_lease_file_close(const struct dhcp_worker *w, uint64_t now_ms)
{
	const struct dhcp_lease_file *f = &w->plan->leases;
	bool is_open = false, heard = false;
	int rc;

	for (uint32_t i = 0; i < f->worker_count; i++) {
		is_open |= f->workers[i] == w;
		heard |= f->workers[i] && f->workers[i]->heard;
	}
	if (!is_open)
		return 0;
	rc = heard ? save(w->plan, now_ms) : 0;
	for (uint32_t i = 0; i < f->worker_count; i++)
		f->workers[i] = NULL;
	return rc;
}
