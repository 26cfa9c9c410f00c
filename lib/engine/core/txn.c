// SPDX-License-Identifier: BSD-3-Clause
// Setting up a transaction table; the work per packet is inline in txn.h.
// Path: cold. Management thread.
#include "engine/core/txn.h"

int txn_init(struct txn_table *t, struct txn_slot *slots, const struct txn_shape *shape)
{
	uint64_t row = (uint64_t)shape->ports * shape->clients;
	uint64_t high = (shape->count + row - 1) / row;

	if (txn_bits_for(high) > shape->key_bits || shape->count == 0 ||
		shape->more_waits >= TXN_WAITS)
		return -ERANGE;
	*t = (struct txn_table){
		.slots = slots,
		.count = shape->count,
		.quarantine = shape->quarantine,
		.ports = shape->ports,
		.clients = shape->clients,
		.key_bits = shape->key_bits,
		.high_bits = txn_bits_for(high),
		.waits = 1 + shape->more_waits,
		.again = {TXN_NONE, TXN_NONE},
	};
	for (uint32_t i = 0; i < t->waits; i++)
		t->flying[i] = (struct txn_list){TXN_NONE, TXN_NONE};
	perm_init(&t->perm, shape->seed, shape->key_bits);
	recip_init(&t->by_port, shape->ports);
	recip_init(&t->by_client, shape->clients);
	return 0;
}
