// SPDX-License-Identifier: BSD-3-Clause
// Files that a configuration names: leases of both families, MAC addresses, DUIDs, columns of
// clients, clients out of a capture, and the times of a replay, as text or packets. The first byte
// says which. What is
// accepted must be enough for each worker: clients and leases of no two are the same, times go up,
// and each client can ask. Path: tests only.
#include "fuzz_plan.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/dhcp/client/dhcp_client.h"
#include "engine/core/worker/worker_message.h"
#include "engine/core/worker/worker_tx.h"

#define NUMBERED 6 // kinds that the first byte numbers; the others have a letter
#define REPLAYS  4 // number of the first kind of a replay
#define LETTERS  "TVW"
#define KINDS    (NUMBERED + sizeof(LETTERS) - 1)
#define CLIENTS  "4"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PORTS                                                                                      \
	"ports:\n"                                                                                 \
	"  - {name: lan, driver: ring, device: dut, cpus: [0, 1],"                                 \
	" addresses: [198.18.0.1/24, 2001:db8::1/64]}\n"                                           \
	"  - {name: dut, driver: ring, device: lan, cpus: [0, 1],"                                 \
	" addresses: [198.18.0.2/24, 2001:db8::2/64]}\n"                                           \
	"traffic:\n  - {name: a, port: lan, load: {"
#define DHCP4                                                                                      \
	PORTS "rate: 1k}, server: 198.18.0.2, dhcp4: {clients: " CLIENTS                           \
	      ", relay: {addresses: [198.18.0.64/30]}, "
#define DHCP6                                                                                      \
	PORTS "rate: 1k}, server: \"2001:db8::2\", dhcp6: {clients: " CLIENTS                      \
	      ", lease: both, relay: {addresses: [\"2001:db8::100\"]}, "
#define CAPTURED4                                                                                  \
	PORTS "rate: 1k}, server: 198.18.0.2, dhcp4: {relay: {addresses: [198.18.0.64/30]}, "
#define CAPTURED6                                                                                  \
	PORTS "rate: 1k}, server: \"2001:db8::2\", dhcp6: {"                                       \
	      "relay: {addresses: [\"2001:db8::100\"]}, "
#define DNS ", server: 198.18.0.2, dns: {names: [a.x A]}}\n"

// Texts with the path of the file in it.
static const char *const texts[KINDS] = {
	DHCP4 "exchange: renew, leases: {load: %s}}}\n",
	DHCP6 "exchange: renew, leases: {load: %s}}}\n",
	DHCP4 "mac_file: %s}}\n",
	DHCP6 "duid: file, duid_file: %s}}\n",
	PORTS "replay: {file: %s}}" DNS,
	PORTS "replay: {file: %s, filter: udp}}" DNS,
	DHCP4 "client_file: %s, mac_column: 1, client_id: hex, client_id_hex: \"{file:2}\", "
	      "options: [{code: 12, text: \"{file:3}\"}]}}\n",
	CAPTURED4 "wire: %s}}\n",
	CAPTURED6 "wire: %s}}\n",
};

// Each lease is of a client of this run, and of one only.
static void check_leases(const struct dhcp_lease_file *f, uint32_t clients)
{
	for (uint32_t i = 0; i < f->count; i++) {
		require(f->items[i].client < clients && f->items[i].server < f->server_count);
		require(f->items[i].left_s > 0);
		for (uint32_t k = 0; k < i; k++)
			require(f->items[i].bits != f->items[k].bits ||
				memcmp(f->items[i].bytes, f->items[k].bytes, 16) != 0);
	}
}

static void check_macs(const struct dhcp_macs *m, uint32_t clients)
{
	if (!m->items)
		return;
	require(m->count >= clients && m->len > 0 && m->len <= DHCP_MAC_MAX);
	for (uint32_t i = 0; i < clients; i++) {
		require(!m->sorted || dhcp_macs_has(m, m->items + (size_t)i * m->len));
		for (uint32_t k = 0; k < i; k++)
			require(memcmp(m->items + (size_t)i * m->len, m->items + (size_t)k * m->len,
					m->len) != 0);
	}
}

static void check_times(const struct timestamps *t)
{
	require(t->count > 0 && t->ns[0] == 0);
	for (uint64_t i = 1; i < t->count; i++)
		require(t->ns[i - 1] <= t->ns[i]);
}

// A message of each client that may ask now, of both workers.
static void ask(const struct plan_item *item)
{
	for (uint32_t k = 0; k < item->worker_count; k++) {
		struct worker_item *run = plan_run(item, k);
		uint8_t frame[2048];
		uint32_t slot;

		for (int n = 0; n < 8; n++) {
			slot = worker_take(&item->worker[k], run, run->pace.next);
			if (slot != TXN_NONE)
				require(worker_again(run, slot, 0, frame, sizeof(frame)) > 0);
		}
	}
}

static void use(struct fuzz_plan *p)
{
	const struct plan_item *item = p->plan.items;

	if (item->run && item->run->router)
		ask(item);
}

static void check(struct fuzz_plan *p, bool replay)
{
	const struct plan_item *item = p->plan.items;
	const struct dhcp_plan *clients = item->shared;

	if (replay) {
		check_times(&item->replay);
	} else {
		check_leases(&clients->leases, clients->clients);
		check_macs(&clients->macs, clients->clients);
	}
	fuzz_plan_build(p);
	plan_schedule(&p->plan, 0);
	use(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct config *configs[KINDS];
	static struct arena *all;
	static int file = -1;
	static char path[32];
	struct fuzz_plan *p;
	const char *letter;
	uint8_t kind;

	if (size < 1)
		return 0;
	if (file < 0) {
		file = memfd_create("fuzz", 0);
		all = arena_new();
		snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	}
	letter = strchr(LETTERS, data[0] ? data[0] : '?');
	kind = letter ? (uint8_t)(NUMBERED + (letter - LETTERS)) : data[0] % NUMBERED;
	if (!configs[kind]) {
		char text[1024];

		snprintf(text, sizeof(text), texts[kind], path);
		configs[kind] = fuzz_plan_config(text, all);
	}
	require(file >= 0 && ftruncate(file, 0) == 0);
	require(pwrite(file, data + 1, size - 1, 0) == (ssize_t)size - 1);
	p = fuzz_plan_read(configs[kind]);
	if (p->rc == 0)
		check(p, kind >= REPLAYS && kind < NUMBERED);
	fuzz_plan_free(p);
	return 0;
}
