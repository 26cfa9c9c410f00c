// SPDX-License-Identifier: BSD-3-Clause
// A QUIC client and server, one of which changes its datagrams: as they leave, or, so that the peer
// can open them, before they are sealed. The first octet chooses who does so, how, and when; the
// others are operations and changes. In the end no memory may be missing. Path: tests only.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "lib/quic_rig.h"
#include "quic/quic_internal.h"

#define LEN_MAX 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *input;
static size_t input_len, input_at;
static const struct quics *liar; // whose plaintext is changed; NULL: nobody's

static uint8_t take(void)
{
	return input_at < input_len ? input[input_at++] : 0;
}

static void change(uint8_t *bytes, uint32_t len)
{
	uint8_t how = take();
	uint32_t at;

	if (len == 0 || how < 0x80)
		return;
	at = how & 0x40 ? (uint32_t)(how & 0x3f) % len : (uint32_t)(take() << 8 | take()) % len;
	bytes[at] = take();
}

// In place of seal_packet (--wrap): does the key belong to the pool of the one who lies?
int __real_seal_packet(uint8_t *dest, const ngtcp2_crypto_aead *aead,
	const ngtcp2_crypto_aead_ctx *ctx, const uint8_t *plaintext, size_t len,
	const uint8_t *nonce, size_t nonce_len, const uint8_t *aad, size_t aad_len);
int __wrap_seal_packet(uint8_t *dest, const ngtcp2_crypto_aead *aead,
	const ngtcp2_crypto_aead_ctx *ctx, const uint8_t *plaintext, size_t len,
	const uint8_t *nonce, size_t nonce_len, const uint8_t *aad, size_t aad_len);

int __wrap_seal_packet(uint8_t *dest, const ngtcp2_crypto_aead *aead,
	const ngtcp2_crypto_aead_ctx *ctx, const uint8_t *plaintext, size_t len,
	const uint8_t *nonce, size_t nonce_len, const uint8_t *aad, size_t aad_len)
{
	const uint8_t *key = ctx->native_handle;

	if (dest != plaintext && len)
		memmove(dest, plaintext, len);
	if (liar && input_at < input_len && key >= (const uint8_t *)liar->memory &&
		key < liar->memory->pool.end)
		change(dest, (uint32_t)len);
	return __real_seal_packet(dest, aead, ctx, dest, len, nonce, nonce_len, aad, aad_len);
}

static void tamper(int to, uint8_t *bytes, uint32_t len)
{
	if (to == (input[0] & 1) && input_at < input_len)
		change(bytes, len);
}

static void inject(struct rig *g)
{
	struct rig_datagram d = {.port = 1024};
	int to = take() & 1;

	d.len = take();
	for (uint32_t i = 0; i < d.len; i++)
		d.bytes[i] = take();
	if (take() & 1 && d.len > QUIC_CID)
		bytes_put_be64(d.bytes + 1, cid_make(&g->ends[to], row_at(&g->ends[to], 0), 0));
	if (d.len)
		rig_deliver(g, to, &d);
}

static void operate(struct rig *g, uint32_t c)
{
	struct quics *client = &g->ends[CLIENT], *server = &g->ends[SERVER];
	uint8_t op = take();

	switch (op & 7) {
	case 0:
	case 1:
		rig_ask(g, c, op, 1 + (uint32_t)take() * (op & 8 ? 50 : 1));
		break;
	case 2:
		quic_cancel(client, c, take());
		break;
	case 3:
		inject(g);
		break;
	case 4:
		quic_shut(op & 8 ? client : server, 0, op >> 4);
		break;
	case 5:
		quic_update_keys(op & 8 ? client : server, 0, g->now);
		break;
	case 6:
		if (op == 6)
			quic_forget(server, 0);
		break;
	default:
		rig_run(g, take() * RIG_MS);
	}
	if (op & 0x40)
		rig_run(g, 6 * RIG_MS);
}

// All pieces, rows and blocks are back.
static void is_clean(struct rig *g, int end)
{
	struct quic_memory *m = g->ends[end].memory;
	uint32_t count = 0;

	for (uint32_t c = 0; c < m->count; c++)
		quic_forget(&g->ends[end], c);
	rig_require(m->pool.used == 0);
	for (uint32_t i = m->block_free; i != NONE; i = m->blocks[i].next)
		count++;
	rig_require(count == g->shapes[end].blocks);
	count = 0;
	for (uint32_t i = m->stream_free; i != NONE; i = m->streams[i].next)
		count++;
	rig_require(count == m->stream_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rig *g;
	uint32_t c;

	if (size < 2 || size > LEN_MAX)
		return 0;
	input = data;
	input_len = size;
	input_at = 1;
	liar = NULL;
	g = rig_new();
	for (int end = 0; end < 2; end++) {
		g->shapes[end].count = 4;
		g->shapes[end].streams = 64;
		g->shapes[end].blocks = 1024;
		g->shapes[end].jobs = data[0] & 8 ? 2 : 0;
	}
	rig_start(g);
	c = rig_open(g, false, false);
	if (!(data[0] & 4))
		rig_run(g, 100 * RIG_MS);
	if (data[0] & 2)
		liar = &g->ends[!(data[0] & 1)];
	else
		g->tamper = tamper;
	while (input_at < input_len)
		operate(g, c);
	rig_run(g, 1000 * RIG_MS);
	liar = NULL;
	is_clean(g, CLIENT);
	is_clean(g, SERVER);
	rig_free(g);
	return 0;
}
