// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a TCP connection that wait: sent and not acknowledged, received and not read, or
// received before their turn. Both are lists of blocks in the order of their sequence numbers.
// Path: hot. The thread that owns the host.
#include "net/tcp_stream.h"

#include <string.h>

#include "net/tcp_internal.h"

void tcp_host_init(struct tcp_host *h, struct tcp_block *memory, uint32_t count)
{
	h->blocks = memory;
	h->used = 0;
	h->free = count ? 0 : TCP_NONE;
	for (uint32_t i = 0; i < count; i++)
		memory[i].next = i + 1 < count ? i + 1 : TCP_NONE;
}

static uint32_t block_take(struct tcp_host *h, uint32_t seq)
{
	uint32_t b = h->free;

	if (b == TCP_NONE)
		return b;
	h->free = h->blocks[b].next;
	h->used++;
	h->blocks[b].next = TCP_NONE;
	h->blocks[b].seq = seq;
	h->blocks[b].start = h->blocks[b].len = 0;
	h->blocks[b].fin = false;
	return b;
}

static uint32_t block_give(struct tcp_host *h, uint32_t b)
{
	uint32_t next = h->blocks[b].next;

	h->blocks[b].next = h->free;
	h->free = b;
	h->used--;
	return next;
}

static void list_drop(struct tcp_host *h, uint32_t *list)
{
	while (*list != TCP_NONE)
		*list = block_give(h, *list);
}

void tcp_drop(struct tcp_host *h, struct tcp *t)
{
	list_drop(h, &t->tx_head);
	t->tx_tail = TCP_NONE;
	list_drop(h, &t->rx_head);
	t->queued = 0;
}

static uint32_t block_end(const struct tcp_block *b)
{
	return b->seq + b->len;
}

// Appends bytes to the block, as far as it has room.
static uint32_t block_append(struct tcp_block *b, const uint8_t *bytes, uint32_t len)
{
	uint32_t end = b->start + b->len, n = tcp_least(len, TCP_BLOCK_BYTES - end);

	memcpy(b->bytes + end, bytes, n);
	b->len += (uint16_t)n;
	return n;
}

// Is there memory for len bytes behind block `tail`, which may be TCP_NONE?
static inline bool has_room(const struct tcp_host *h, uint32_t tail, uint32_t len)
{
	uint32_t room = 0;

	if (tail != TCP_NONE)
		room = TCP_BLOCK_BYTES - h->blocks[tail].start - h->blocks[tail].len;
	for (uint32_t b = h->free; room < len; b = h->blocks[b].next) {
		if (b == TCP_NONE)
			return false;
		room += TCP_BLOCK_BYTES;
	}
	return true;
}

// --- to be sent ---

bool tcp_send(struct tcp_host *h, struct tcp *t, const uint8_t *bytes, uint32_t len)
{
	uint32_t left = len, tail = t->tx_tail;
	uint32_t seq = t->una + tcp_syn_waits(t) + t->queued;

	if (!has_room(h, tail, len)) // all or nothing
		return false;
	while (left) {
		uint32_t n = 0;

		if (tail != TCP_NONE)
			n = block_append(&h->blocks[tail], bytes, left);
		bytes += n;
		left -= n;
		seq += n;
		if (left == 0)
			break;
		tail = block_take(h, seq);
		if (t->tx_tail == TCP_NONE)
			t->tx_head = tail;
		else
			h->blocks[t->tx_tail].next = tail;
		t->tx_tail = tail;
	}
	t->queued += len;
	return true;
}

void tcp_copy(
	const struct tcp_host *h, const struct tcp *t, const struct tcp_segment *s, uint8_t *to)
{
	uint32_t seq = s->from, left = s->len;

	for (uint32_t b = t->tx_head; b != TCP_NONE && left; b = h->blocks[b].next) {
		const struct tcp_block *of = &h->blocks[b];
		uint32_t skip = seq - of->seq, n;

		if (!tcp_before(seq, block_end(of)))
			continue;
		n = tcp_least(left, of->len - skip);
		memcpy(to, of->bytes + of->start + skip, n);
		to += n;
		seq += n;
		left -= n;
	}
}

void tcp_stream_drop(struct tcp_host *h, struct tcp *t, uint32_t seq)
{
	while (t->tx_head != TCP_NONE && !tcp_before(seq, block_end(&h->blocks[t->tx_head])))
		t->tx_head = block_give(h, t->tx_head);
	if (t->tx_head == TCP_NONE)
		t->tx_tail = TCP_NONE;
}

// --- received ---

// Stores the bytes at seq in front of `next`, which may be TCP_NONE, in new blocks or at the end of
// the block before. Returns where the next block belongs, or NULL without memory.
static uint32_t *put_before(struct tcp_host *h, uint32_t *at, struct tcp_block *before,
	uint32_t seq, const uint8_t *data, uint32_t len)
{
	uint32_t n = 0;

	if (before && block_end(before) == seq && !before->fin)
		n = block_append(before, data, len);
	for (; n < len; at = &h->blocks[*at].next) {
		uint32_t b = block_take(h, seq + n);

		if (b == TCP_NONE) {
			h->counters->no_block++;
			return NULL;
		}
		n += block_append(&h->blocks[b], data + n, len - n);
		h->blocks[b].next = *at;
		*at = b;
	}
	return at;
}

// The peer's FIN has this number. A FIN with bytes behind it is ignored.
static bool put_fin(struct tcp_host *h, uint32_t *at, uint32_t seq)
{
	uint32_t b;

	while (*at != TCP_NONE && tcp_before(h->blocks[*at].seq, seq)) {
		struct tcp_block *of = &h->blocks[*at];

		if (!tcp_before(block_end(of), seq)) {
			of->fin = of->fin || block_end(of) == seq;
			return true;
		}
		at = &of->next;
	}
	if (*at != TCP_NONE && h->blocks[*at].seq == seq)
		return true; // it is there
	b = block_take(h, seq);
	if (b == TCP_NONE)
		return false;
	h->blocks[b].fin = true;
	h->blocks[b].next = *at;
	*at = b;
	return true;
}

bool tcp_store(struct tcp_host *h, struct tcp *t, uint32_t seq, const uint8_t *data, uint32_t len,
	bool fin)
{
	uint32_t *at = &t->rx_head, end = seq + len;
	struct tcp_block *before = NULL;

	while (len) {
		uint32_t n = len;

		while (*at != TCP_NONE && !tcp_before(seq, block_end(&h->blocks[*at]))) {
			before = &h->blocks[*at];
			at = &before->next;
		}
		if (*at != TCP_NONE && !tcp_before(seq, h->blocks[*at].seq)) {
			n = tcp_least(len, block_end(&h->blocks[*at]) - seq); // these are there
		} else {
			if (*at != TCP_NONE)
				n = tcp_least(len, h->blocks[*at].seq - seq);
			at = put_before(h, at, before, seq, data, n);
			if (!at)
				return false;
		}
		seq += n;
		data += n;
		len -= n;
	}
	return !fin || put_fin(h, &t->rx_head, end);
}

void tcp_forget(struct tcp_host *h, struct tcp *t, uint32_t seq)
{
	uint32_t *at = &t->rx_head;

	while (*at != TCP_NONE && tcp_before(h->blocks[*at].seq, seq))
		at = &h->blocks[*at].next;
	list_drop(h, at);
}

// From `seq` on: where the bytes that are stored without a gap end.
uint32_t tcp_stored_until(const struct tcp_host *h, const struct tcp *t, uint32_t seq, bool *fin)
{
	*fin = false;
	for (uint32_t b = t->rx_head; b != TCP_NONE && !*fin; b = h->blocks[b].next) {
		const struct tcp_block *of = &h->blocks[b];

		if (tcp_before(seq, of->seq))
			break;
		if (tcp_before(seq, block_end(of)))
			seq = block_end(of);
		*fin = of->fin && block_end(of) == seq;
	}
	return seq;
}

uint32_t tcp_unread(const struct tcp_host *h, const struct tcp *t)
{
	uint32_t end = t->rcv - (t->flags & TCP_F_PEER_FIN ? 1 : 0);

	if (t->rx_head == TCP_NONE || !tcp_before(h->blocks[t->rx_head].seq, end))
		return 0;
	return end - h->blocks[t->rx_head].seq;
}

uint32_t tcp_peek(const struct tcp_host *h, const struct tcp *t, uint8_t *to, uint32_t len)
{
	uint32_t n = tcp_least(len, tcp_unread(h, t)), left = n;

	for (uint32_t b = t->rx_head; left; b = h->blocks[b].next) {
		const struct tcp_block *of = &h->blocks[b];
		uint32_t part = tcp_least(left, of->len);

		memcpy(to, of->bytes + of->start, part);
		to += part;
		left -= part;
	}
	return n;
}

uint32_t tcp_window_free(const struct tcp_host *h, const struct tcp *t)
{
	uint32_t unread = h->reads_all ? 0 : tcp_unread(h, t);

	// Limited to the window that a header can express.
	return unread < h->window ? tcp_least(h->window - unread, UINT16_MAX << t->recv_scale) : 0;
}

// Bytes were read: update the peer if the window has opened by much.
static void window_grew(struct tcp_host *h, struct tcp *t)
{
	uint32_t edge = t->rcv + tcp_window_free(h, t), grown = edge - t->edge;

	if (tcp_before(t->edge, edge) && grown >= tcp_least(2u * t->mss, h->window / 2))
		t->flags |= TCP_F_ACK_NOW;
}

void tcp_consume(struct tcp_host *h, struct tcp *t, uint32_t len)
{
	while (len) {
		struct tcp_block *of = &h->blocks[t->rx_head];
		uint32_t n = tcp_least(len, of->len);

		of->seq += n;
		of->start += (uint16_t)n;
		of->len -= (uint16_t)n;
		len -= n;
		if (of->len == 0)
			t->rx_head = block_give(h, t->rx_head);
	}
	if (t->flags & TCP_F_PEER_FIN && tcp_unread(h, t) == 0)
		list_drop(h, &t->rx_head); // a block that has FIN alone
	window_grew(h, t);
}

bool tcp_keep(struct tcp_host *h, struct tcp *t, uint32_t len)
{
	uint32_t end = t->rcv - (t->flags & TCP_F_PEER_FIN ? 1 : 0);

	return tcp_store(h, t, end - len, h->view + h->view_len - len, len, false);
}

// --- chains

// `seq` of the first block is the number of the last one.
bool tcp_chain_add(struct tcp_host *h, uint32_t *chain, const uint8_t *bytes, uint32_t len)
{
	uint32_t tail = *chain == TCP_NONE ? TCP_NONE : h->blocks[*chain].seq;

	if (!has_room(h, tail, len))
		return false;
	while (len) {
		uint32_t n = tail == TCP_NONE ? 0 : block_append(&h->blocks[tail], bytes, len), b;

		bytes += n;
		len -= n;
		if (len == 0)
			break;
		b = block_take(h, 0);
		if (*chain == TCP_NONE)
			*chain = b;
		else
			h->blocks[tail].next = b;
		tail = h->blocks[*chain].seq = b;
	}
	return true;
}

uint32_t tcp_chain_len(const struct tcp_host *h, uint32_t chain)
{
	uint32_t len = 0;

	for (uint32_t b = chain; b != TCP_NONE; b = h->blocks[b].next)
		len += h->blocks[b].len;
	return len;
}

uint32_t tcp_chain_peek(const struct tcp_host *h, uint32_t chain, uint8_t *to, uint32_t len)
{
	uint32_t left = len;

	for (uint32_t b = chain; b != TCP_NONE && left; b = h->blocks[b].next) {
		const struct tcp_block *of = &h->blocks[b];
		uint32_t n = tcp_least(left, of->len);

		memcpy(to, of->bytes + of->start, n);
		to += n;
		left -= n;
	}
	return len - left;
}

void tcp_chain_consume(struct tcp_host *h, uint32_t *chain, uint32_t len)
{
	while (len) {
		struct tcp_block *of = &h->blocks[*chain];
		uint32_t n = tcp_least(len, of->len), tail = of->seq;

		of->start += (uint16_t)n;
		of->len -= (uint16_t)n;
		len -= n;
		if (of->len)
			continue;
		*chain = block_give(h, *chain);
		if (*chain != TCP_NONE)
			h->blocks[*chain].seq = tail;
	}
}

void tcp_chain_drop(struct tcp_host *h, uint32_t *chain)
{
	list_drop(h, chain);
}
