// SPDX-License-Identifier: BSD-3-Clause
// The hash of receive side scaling, computed as the device does, and the choice of a method by the
// device's abilities. Path: cold. Management thread.
#include "io/steer.h"

#include <string.h>

#include <rte_thash.h>

#include "base/addr.h"
#include "base/bytes.h"

#define V4_PORT_BYTE 14 // of the key, for a destination port behind 4 + 4 + 2 bytes of input
#define V6_PORT_BYTE 38 // behind 16 + 16 + 2 bytes
// A bit of the key: with it the last bit of the destination address becomes the lowest bit of the
// hash.
#define V4_ADDRESS_BIT 94  // 31 behind it, which is behind 8 * (4 + 4) - 1
#define V6_ADDRESS_BIT 286 // behind 8 * (16 + 16) - 1
#define RETA_USUAL     128
#define SAMPLE         1024 // addresses that are tried
#define RULES_UNEVEN   16   // entries if the number of queues is not a power of two

// Each set bit of the input adds the 32 bits of the key that begin at its place. So one set bit of
// the key, 31 places behind the port's first bit, copies that bit to the hash's lowest one, the
// second bit to the next, and so on.
void steer_key_sparse(uint8_t *key, uint32_t len)
{
	memset(key, 0, len);
	key[V4_PORT_BYTE] = 1;
	key[V6_PORT_BYTE] = 1;
}

static void key_flip(uint8_t *key, uint32_t bit)
{
	key[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
}

// The maximum number of addresses of one family on a single queue, among the first ones only, and
// the number examined.
static uint32_t fullest(const struct steer *s, const struct field_list *addresses, uint8_t addr_len,
	uint32_t *count)
{
	static const uint8_t nobody[16];
	const struct addr_range *r = addresses->items;
	struct steer_flow f = {.src = nobody, .addr_len = addr_len};
	uint32_t each[UINT8_MAX + 1] = {0}, most = 0;

	*count = 0;
	for (uint32_t i = 0; i < addresses->count; i++)
		for (uint64_t k = 0; k < r[i].count && *count < SAMPLE; k++) {
			struct addr to = addr_nth(&r[i], k);
			uint32_t *queue;

			if (to.len != addr_len)
				break;
			f.dst = to.bytes;
			queue = &each[steer_queue(s, &f)];
			most = ++*queue > most ? *queue : most;
			++*count;
		}
	return most;
}

// One bit of the key copies the last bit of the address to the lowest bit of the hash. A set bit n
// places before it copies another bit of the address there, and the following bits to the next
// ones.
void steer_key_addresses(
	uint8_t *key, uint32_t len, const struct field_list *addresses, uint32_t queues)
{
	for (uint8_t addr_len = 4; addr_len <= 16; addr_len += 12) {
		struct steer s = {.key_len = len, .reta_size = RETA_USUAL};
		uint32_t last = addr_len == 4 ? V4_ADDRESS_BIT : V6_ADDRESS_BIT, best = 0;
		uint32_t least = UINT32_MAX, count = 1;

		memcpy(s.key, key, len);
		for (uint32_t i = 0; i < s.reta_size; i++)
			s.reta[i] = (uint16_t)(i % queues);
		for (uint32_t bit = last; bit > last - 8 * addr_len && count; bit--) {
			uint32_t most;

			key_flip(s.key, bit);
			most = fullest(&s, addresses, addr_len, &count);
			key_flip(s.key, bit);
			if (most >= least)
				continue;
			least = most;
			best = bit;
		}
		if (count)
			key_flip(key, best);
	}
}

bool steer_is_even(const struct steer *s, const struct field_list *addresses, uint32_t queues)
{
	bool even = true;
	uint32_t count;

	for (uint8_t addr_len = 4; addr_len <= 16; addr_len += 12) {
		uint32_t most = fullest(s, addresses, addr_len, &count);

		even &= most <= (count + queues - 1) / queues;
	}
	return even;
}

uint32_t steer_place(const struct steer *s, const struct steer_flow *f)
{
	uint32_t tuple[RTE_THASH_V6_L4_LEN], words = f->addr_len / 4, n = 0;

	if (s->how == STEER_RULES)
		return f->dst_port & (s->reta_size - 1);
	for (uint32_t i = 0; i < words; i++)
		tuple[n++] = bytes_be32(f->src + 4 * i);
	for (uint32_t i = 0; i < words; i++)
		tuple[n++] = bytes_be32(f->dst + 4 * i);
	if (!(f->tcp ? s->portless_tcp : s->portless)[f->addr_len == 16])
		tuple[n++] = (uint32_t)f->src_port << 16 | f->dst_port;
	return rte_softrss(tuple, n, s->key) & (s->reta_size - 1);
}

static bool is_complete(const struct steer *s, uint32_t queues)
{
	if (s->key_len < STEER_KEY_LEAST || s->reta_size == 0 ||
		(s->reta_size & (s->reta_size - 1)))
		return false;
	for (uint32_t i = 0; i < s->reta_size; i++)
		if (s->reta[i] >= queues)
			return false;
	return true;
}

// Does the reported hash use several of the queues?
static bool spreads(const struct steer *s, uint32_t queues)
{
	uint8_t all = 0;
	bool several = false;

	for (uint32_t i = 0; i < s->key_len; i++)
		all |= s->key[i];
	for (uint32_t i = 1; i < s->reta_size; i++)
		several |= s->reta[i] != s->reta[0];
	return all && several && is_complete(s, queues);
}

uint32_t steer_rules_size(uint32_t queues)
{
	return (queues & (queues - 1)) == 0 ? queues : RULES_UNEVEN;
}

static void go_by_rules(struct steer *s, uint32_t queues)
{
	s->how = STEER_RULES;
	s->reta_size = steer_rules_size(queues);
	for (uint32_t i = 0; i < s->reta_size; i++)
		s->reta[i] = (uint16_t)(i % queues);
}

void steer_choose(struct steer *s, const struct steer_facts *facts)
{
	if (facts->queues == 1)
		s->how = STEER_ALONE;
	else if (facts->pairs)
		s->how = STEER_PAIR;
	else if (facts->takes_rules && facts->by_address)
		s->how = STEER_ADDRESS;
	else if (facts->takes_rules)
		go_by_rules(s, facts->queues);
	else if (!spreads(s, facts->queues))
		s->how = STEER_BLIND;
	else
		s->how = facts->key && memcmp(facts->key, s->key, s->key_len) == 0 ? STEER_SPARSE
		                                                                   : STEER_HASHED;
}

bool steer_is_belied(const struct steer *s, double home)
{
	return (steer_is_known(s) || s->how == STEER_ADDRESS) && home < STEER_HOME_LEAST;
}

const char *steer_text(enum steer_how how)
{
	switch (how) {
	case STEER_ALONE:
		return "one worker";
	case STEER_PAIR:
		return "the other end replies on the queue of the request";
	case STEER_RULES:
		return "rules of the device steer replies by source port";
	case STEER_ADDRESS:
		return "rules of the device steer replies by source address";
	case STEER_SPARSE:
		return "the device's hash, with a key of ours, steers replies";
	case STEER_HASHED:
		return "source ports and relays are chosen by the device's hash";
	case STEER_BLIND:
		break;
	}
	return "the device cannot steer replies, so workers hand them over";
}

const char *steer_name(enum steer_how how)
{
	static const char *const names[] = {
		[STEER_ALONE] = "alone",
		[STEER_PAIR] = "pair",
		[STEER_RULES] = "rules",
		[STEER_ADDRESS] = "address_rules",
		[STEER_SPARSE] = "hash_by_port",
		[STEER_HASHED] = "hash",
		[STEER_BLIND] = "none",
	};

	return names[how];
}
