// SPDX-License-Identifier: BSD-3-Clause
// Rebuilds the frame of a message that was sent before from its slot: for captures, dry runs and
// the probe. Path: hot. The worker's own thread.
#include "engine/core/worker/worker_message.h"

#include "engine/core/worker/worker_conn.h"
#include "engine/core/worker/worker_internal.h"
#include "engine/core/worker/worker_servers.h"

// A payload that the protocol wrote at data + t->len, and its future headers.
struct message {
	const struct frame_template *t;
	struct proto_flow flow;
	struct frame_payload payload;
};

// Returns the path of a message in an item without a router. slot: of the message, or TXN_NONE.
static uint32_t path_of(
	const struct worker_item *it, uint32_t slot, const struct proto_txn *view, uint32_t port)
{
	if (!it->servers)
		return 0;
	if (slot != TXN_NONE && it->txns.slots[slot].begun)
		return it->servers->slots[slot].path;
	return servers_of_new(it, view, port);
}

// Lets the protocol write the next message of a transaction. port: index of its source port. slot:
// as in path_of. A router chooses the path along with the payload, which is then moved behind its
// headers.
static void message_write(struct worker_item *it, uint32_t port, struct proto_txn *view,
	uint32_t slot, uint8_t *data, uint32_t room, struct message *out)
{
	uint32_t path = it->router ? 0 : path_of(it, slot, view, port);
	uint32_t front = it->stream ? conn_front(it->proto->framed) : 0;
	uint32_t head = it->router ? FRAME_HEADER_MAX : it->frames[path].len + front;
	struct proto_out payload = {.buf = data + head};
	struct proto_flow *flow = &out->flow;

	*flow = (struct proto_flow){0};
	it->ctx.stream = it->stream;
	it->proto->request(&it->ctx, &view, flow, &payload, 1, room - head);
	out->payload = (struct frame_payload){payload.len, payload.sum};
	if (!it->router) {
		uint32_t client = view->client;

		if (it->stream) { // as of the first connection at the seat
			port = (uint32_t)recip_div(&it->conns->by_client, view->client);
			client -= port * it->conns->client_count;
		}
		addr_list_nth_bytes(it->sources, client, flow->src);
		flow->src_port = it->ports[port];
		flow->path = path;
	}
	out->t = &it->frames[flow->path];
	memmove(data + out->t->len + front, payload.buf, payload.len);
}

// Puts a message into a segment of its own. Its original sequence numbers are unknown.
static uint32_t segment_again(const struct frame_template *t, const struct message *message,
	uint32_t front, uint32_t number, uint8_t *buf)
{
	const struct tcp_segment s = {.seq = number,
		.ack = 1,
		.window = UINT16_MAX,
		.flags = TCP_PSH | TCP_ACK,
		.scale = TCP_NO_SCALE};
	uint8_t *tcp = buf + t->len - TCP_HEADER_LEN;

	tcp_header(&s, tcp);
	if (front)
		bytes_put_be16(tcp + TCP_HEADER_LEN, (uint16_t)message->payload.len);
	return frame_stamp_tcp(t, buf, message->flow.src, message->flow.src_port,
		TCP_HEADER_LEN + front + message->payload.len);
}

static uint32_t message_again(struct worker_item *it, uint32_t port, struct proto_txn *view,
	uint32_t slot, uint32_t copy, uint8_t *buf, uint32_t room)
{
	struct frame_template whole;
	struct message message;
	uint32_t len;

	it->ctx.counters = it->shadow;
	message_write(it, port, view, slot, buf, room, &message);
	if (copy > message.flow.more || message.payload.len == 0)
		return 0;
	whole = message.t[copy];
	whole.checksum_offload = false;
	if (message.flow.dst_port && it->any_port)
		frame_template_port(&whole, message.flow.dst_port);
	if (it->stream)
		return segment_again(&whole, &message, conn_front(it->proto->framed),
			(uint32_t)view->seq << WORKER_SEQ_SHIFT, buf);
	len = frame_stamp(&whole, buf, message.flow.src, message.flow.src_port, message.payload);
	flow_vlans(it, &message.flow, buf);
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
	return message_again(it, place.port, &view, slot, copy, buf, room);
}

uint32_t worker_first(
	struct worker_item *it, const struct txn_place *place, uint8_t *buf, uint32_t room)
{
	struct proto_txn view = txn_of(it, place);

	return message_again(it, place->port, &view, TXN_NONE, 0, buf, room);
}
