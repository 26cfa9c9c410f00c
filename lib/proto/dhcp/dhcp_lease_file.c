// SPDX-License-Identifier: BSD-3-Clause
// A file of leases to memory, each client checked. Not here: one line (dhcp_lease_line.c), saving
// (dhcp_lease_save.c). Path: cold. Management thread.

#include "proto/dhcp/dhcp_lease_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/addr.h"
#include "base/file.h"
#include "base/log.h"
#include "proto/dhcp/dhcp_lease_line.h"

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

// In the order that they run out, as the ring of bound clients has it.
static int by_time(const void *a, const void *b)
{
	const struct dhcp_saved *x = a, *y = b;
	int by = order(x->left_s, y->left_s);

	return by ? by : by_client(a, b);
}

static const char *lease_text(const struct dhcp_lease_clients *of, const struct dhcp_saved *one,
	char text[ADDR_TEXT_SIZE])
{
	struct addr_prefix p = {.addr = {.len = of->addr_len}, .bits = one->bits};

	memcpy(p.addr.bytes, one->bytes, sizeof(one->bytes));
	return one->bits ? addr_format_prefix(&p, text, ADDR_TEXT_SIZE)
	                 : addr_format(&p.addr, text, ADDR_TEXT_SIZE);
}

static int check_unique(const struct dhcp_lease_file *f, const char *path,
	const struct dhcp_lease_clients *of, struct diag *d)
{
	char text[ADDR_TEXT_SIZE];

	for (uint32_t i = 1; i < f->count; i++) {
		if (by_lease(&f->items[i - 1], &f->items[i]) != 0)
			continue;
		diag_error_at(d, path, 0, 0, NULL, "%s is leased to two clients",
			lease_text(of, &f->items[i], text));
		return -EINVAL;
	}
	return 0;
}

// Of what is sorted by client: all leases of one end with the first of them.
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

// Clients without a lease that runs go, and the others have all theirs.
static int clients_judge(struct dhcp_lease_file *f, const char *path,
	const struct dhcp_lease_clients *of, struct diag *d)
{
	uint32_t all = of->addresses + of->prefixes, kept = 0, ended = 0;

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

static int load(struct dhcp_lease_file *f, const char *const *path,
	const struct dhcp_lease_clients *of, struct diag *d)
{
	struct dhcp_lease_loading l = {.of = of,
		.leases = {.size = sizeof(struct dhcp_saved)},
		.servers = {.size = sizeof(struct dhcp_server_id)},
		.now = (uint64_t)time(NULL)};
	int ret;

	l.seen = calloc(of->count, sizeof(*l.seen));
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
	ret = clients_judge(f, *path, of, d);
	sort(f, by_lease);
	if (ret == 0)
		ret = check_unique(f, *path, of, d);
	sort(f, by_time);
	return ret;
}

// What cannot be written is better known before the run.
static int check_writable(const char *const *path, struct diag *d)
{
	int rc = file_check_writable(*path);

	if (rc < 0)
		diag_error(d, path, NULL, "%s: %s", *path, strerror(-rc));
	return rc < 0 ? -EINVAL : 0;
}

int dhcp_lease_file_load(struct dhcp_lease_file *f, const struct dhcp_leases_settings *s,
	const struct dhcp_lease_clients *of, struct diag *d)
{
	int ret = s->load ? load(f, &s->load, of, d) : 0;

	f->save = s->save;
	return s->save && ret == 0 ? check_writable(&s->save, d) : ret;
}

void dhcp_lease_file_free(struct dhcp_lease_file *f)
{
	free(f->items);
	free(f->servers);
}
