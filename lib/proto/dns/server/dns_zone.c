// SPDX-License-Identifier: BSD-3-Clause
// Loads zone files into the responder's zones, and allocates memory for them and for later
// additions. Path: cold. Management thread.

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/dns/server/dns_zone.h"
#include "base/arena.h"
#include "base/input.h"
#include "proto/dns/client/dns_internal.h"
#include "proto/dns/client/dns_rdata.h"

#define CHUNK_FIRST  (1 << 17) // most zones are small; larger than any record needs
#define CHUNK_MORE   (1 << 20)
#define BUCKETS_MIN  1024
#define BYTES_A_NAME 96 // minimum room per name and record
#define SOA_MIN      22 // bytes of RDATA

struct dns_zone_chunk {
	struct dns_zone_chunk *next;
	uint8_t bytes[];
};

struct zone_loader {
	struct dns_zones *zones;
	struct dns_zone *zone; // NULL: the SOA record is yet to come
};

// Allocate memory for the next pieces; the rest of the last chunk stays unused. false: no memory.
static bool chunk_add(struct dns_zones *z, uint64_t size)
{
	struct dns_zone_chunk *chunk = malloc(sizeof(*chunk) + size);

	if (!chunk)
		return false;
	memset(chunk->bytes, 0, size); // prefault before the run
	chunk->next = z->chunks;
	z->chunks = chunk;
	z->at = chunk->bytes;
	z->end = chunk->bytes + size;
	return true;
}

// At least this many, rounded up to a power of two.
static bool buckets_set(struct dns_zones *z, uint64_t least)
{
	struct dns_zone_node **buckets, *node, *next;
	struct dns_zones from = *z;
	uint64_t count = BUCKETS_MIN;

	while (count < least)
		count *= 2;
	buckets = count <= UINT32_MAX ? calloc(count, sizeof(*buckets)) : NULL;
	if (!buckets)
		return false;
	z->buckets = buckets;
	z->mask = (uint32_t)(count - 1);
	for (uint64_t i = 0; from.buckets && i <= from.mask; i++)
		for (node = from.buckets[i]; node; node = next) {
			next = node->next;
			dns_zone_node_link(z, node);
		}
	free(from.buckets);
	return true;
}

static bool room_make(struct zone_loader *l, const struct dns_zone_need *need)
{
	struct dns_zones *z = l->zones;

	if (z->nodes > z->mask && !buckets_set(z, 2ull * z->nodes))
		return false;
	return dns_zone_has_room(z, need) || chunk_add(z, z->chunks ? CHUNK_MORE : CHUNK_FIRST);
}

// A zone begins with its SOA record.
static const char *zone_begin(struct zone_loader *l, const uint8_t *name, uint32_t len)
{
	struct dns_zones *z = l->zones;
	uint32_t at;

	if (dns_zone_closest(z, name, len, &at))
		return "the zone is part of another one";
	l->zone = &z->zones[z->count++];
	l->zone->apex = dns_zone_node_new(z, l->zone, name, len);
	return NULL;
}

// Returns NULL, or the error.
static const char *record_take(struct zone_loader *l, const uint8_t *name, uint32_t len,
	const struct dns_zone_record *r, const uint8_t *rdata)
{
	struct dns_zones *z = l->zones;
	struct dns_zone_need need = {0};
	struct dns_zone_changes c = {0};
	const char *error = NULL;
	const struct dns_zone_node *node;
	uint32_t at;

	dns_zone_need_add(z, &need, name, len, r->len);
	if (!room_make(l, &need))
		return "no memory";
	if (!l->zone)
		error = r->type == DNS_SOA ? zone_begin(l, name, len)
		                           : "the first record of a zone is its SOA record";
	if (error)
		return error;
	node = dns_zone_closest(z, name, len, &at);
	if (!node || node->zone != l->zone)
		return "the name is not in the zone (names without a final dot end with $ORIGIN)";
	if (r->type == DNS_SOA && l->zone->soa)
		return "a second SOA record (one file has one zone)";
	dns_zone_add(z, l->zone, name, len, r, rdata, &c);
	node = dns_zone_find(z, name, len);
	return node && dns_zone_same(node, r->type, rdata, r->len)
	               ? NULL
	               : "the name has a CNAME record, and another one";
}

static const char *record_give(void *to, const uint8_t *record, uint32_t len)
{
	struct reader r = reader_of(record, len);
	uint8_t name[DNS_NAME_MAX], label;
	struct dns_zone_record head = {0};
	const uint8_t *rdata;
	uint16_t class;

	do {
		label = read_u8(&r);
		read_bytes(&r, label);
	} while (label);
	if (r.failed || r.at - record > DNS_NAME_MAX)
		return "the name is longer than 255 octets";
	dns_zone_lower(name, record, (uint32_t)(r.at - record));
	len = (uint32_t)(r.at - record);
	head.type = read_be16(&r);
	class = read_be16(&r);
	head.ttl = read_be32(&r);
	head.len = read_be16(&r);
	rdata = read_bytes(&r, head.len);
	if (!rdata || (head.type == DNS_SOA && head.len < SOA_MIN))
		return "the record is cut off";
	if (class != DNS_CLASS_IN)
		return "a class other than IN";
	return record_take(to, name, len, &head, rdata);
}

static int zone_read(
	struct dns_zones *z, FILE *f, const char *name, const void *setting, struct diag *d)
{
	struct zone_loader l = {.zones = z};
	int rc = dns_records_read(f, name, record_give, &l, d);

	if (rc == 0 && !l.zone) {
		diag_error(d, setting, NULL, "%s: holds no record", name);
		rc = -EINVAL;
	}
	return rc;
}

static int file_read(struct dns_zones *z, const char *const *setting, struct diag *d)
{
	struct arena *a = arena_new();
	const char *path = diag_path(d, setting, a);
	int fd = input_open(path, setting, d), rc = -EINVAL;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (f) {
		rc = zone_read(z, f, path, setting, d);
		fclose(f);
	} else if (fd >= 0) {
		close(fd);
	}
	arena_free(a);
	return rc;
}

static struct dns_zones *zones_new(uint32_t count, uint64_t seed)
{
	struct dns_zones *z = calloc(1, sizeof(*z));

	if (!z)
		return NULL;
	z->seed = rand_hash(seed);
	z->zones = calloc(count, sizeof(*z->zones));
	if (z->zones && buckets_set(z, BUCKETS_MIN))
		return z;
	dns_zones_free(z);
	return NULL;
}

uint64_t dns_zones_room_bytes(const struct dns_zones *z, uint64_t room, uint64_t journal)
{
	uint64_t buckets = BUCKETS_MIN;

	while (buckets < z->nodes + room / BYTES_A_NAME)
		buckets *= 2;
	return room + journal + buckets * sizeof(*z->buckets);
}

int dns_zones_make_room(struct dns_zones *z, uint64_t room, uint64_t journal)
{
	z->changeable = true;
	if (journal)
		z->journal.bytes = malloc(journal);
	if (!buckets_set(z, z->nodes + room / BYTES_A_NAME) || !chunk_add(z, room) ||
		(journal && !z->journal.bytes))
		return -ENOMEM;
	if (journal)
		memset(z->journal.bytes, 0, journal); // prefault before the run
	z->journal.room = (uint32_t)journal;
	return 0;
}

struct dns_zones *dns_zones_load(const struct field_list *files, uint64_t seed, struct diag *d)
{
	struct dns_zones *z = zones_new(files->count, seed);
	const char *const *names = files->items;
	int rc = 0;

	for (uint32_t i = 0; z && i < files->count && rc == 0; i++)
		rc = file_read(z, &names[i], d);
	if (z && rc == 0 && buckets_set(z, z->nodes))
		return z;
	dns_zones_free(z);
	return NULL;
}

struct dns_zones *dns_zones_load_text(
	const char *name, const char *text, size_t len, uint64_t seed, struct diag *d)
{
	struct dns_zones *z = zones_new(1, seed);
	FILE *f = z && len ? fmemopen((void *)text, len, "r") : NULL;
	int rc = f ? zone_read(z, f, name, NULL, d) : -ENOMEM;

	if (f)
		fclose(f);
	if (rc == 0 && buckets_set(z, z->nodes))
		return z;
	dns_zones_free(z);
	return NULL;
}

void dns_zones_free(struct dns_zones *z)
{
	struct dns_zone_chunk *next;

	if (!z)
		return;
	for (struct dns_zone_chunk *c = z->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
	free(z->journal.bytes);
	free(z->buckets);
	free(z->zones);
	free(z);
}
