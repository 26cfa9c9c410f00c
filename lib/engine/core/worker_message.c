// SPDX-License-Identifier: BSD-3-Clause
// The frame of a message that was sent before, made again from its slot: for captures, dry runs and
// the probe. Path: hot. The worker's own thread.
#include "engine/core/worker_internal.h"

static uint32_t message_again(struct worker_item *it, uint32_t port, struct proto_txn *view,
	uint32_t copy, uint8_t *buf, uint32_t room)
{
	struct frame_template whole;
	struct message message;
	uint32_t len;

	it->ctx.counters = it->shadow;
	message_write(it, port, view, buf, room, &message);
	if (copy > message.flow.more)
		return 0;
	whole = message.t[copy];
	whole.checksum_offload = false;
	len = frame_stamp(&whole, buf, message.flow.src, message.flow.src_port, message.payload);
	if (message.flow.own_mac)
		memcpy(buf + 6, message.flow.mac, 6);
	return len;
}

uint32_t worker_again(
	struct worker_item *it, uint32_t slot, uint32_t copy, uint8_t *buf, uint32_t room)
{
	struct proto_txn view = it->txns.slots[slot].view;
	struct txn_place place;

	txn_place(&it->txns, slot, &place);
	return message_again(it, place.port, &view, copy, buf, room);
}

uint32_t worker_first(
	struct worker_item *it, const struct txn_place *place, uint8_t *buf, uint32_t room)
{
	struct proto_txn view = txn_of(it, place);

	return message_again(it, place->port, &view, 0, buf, room);
}
