// SPDX-License-Identifier: BSD-3-Clause
// Files of updates and inline ones from anyone: whatever is accepted must be a well-formed message
// that a responder's zone can look at. The first byte says which of the two it is. Path: tests
// only.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_text.h"

#include "base/bytes.h"
#include "base/log.h"
#include "proto/dns/client/dns_internal.h"
#include "proto/dns/client/dns_updates.h"

#define ENTRIES_MAX 200 // that are looked at

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_entry(const uint8_t *entry, uint32_t len)
{
	static uint8_t message[2 + UINT16_MAX];
	struct dns_whole head;
	struct dns_message m;

	memcpy(&head, entry, sizeof(head));
	len -= (uint32_t)sizeof(head) - 2;
	memcpy(message + 2, entry + sizeof(head), len - 2);
	if (bytes_be16(message + 2) != 0x2800 || bytes_be16(message + 4) != 1 ||
		head.question_len == 0 || head.question_len != dns_question_len(message, len))
		abort();
	if (!dns_message_walk(message, len, DNS_HEADER_LEN + head.question_len, &m) || m.left)
		abort();
	if (head.random_len && (uint32_t)DNS_HEADER_LEN + head.random_at + head.random_len > len)
		abort();
}

// So many digits make ranges that are right, but take long to expand.
static bool is_slow(const char *text)
{
	uint32_t digits = 0, braces = 0;

	for (; *text; text++) {
		braces += *text == '{';
		digits += *text >= '0' && *text <= '9';
	}
	return braces > 0 && digits > 8;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dns_queries q = {0};
	struct diag *d;
	const char *line;
	char *text;

	if (size < 1)
		return 0;
	log_set_level(LOG_QUIET);
	text = fuzz_text(data, size);
	if (!text)
		return 0;
	line = text;
	d = diag_new();
	if (!(data[0] & 1))
		dns_updates_load_text(&q, 512, "u.txt", text, size - 1, &q, d);
	else if (!is_slow(text))
		dns_updates_load_texts(&q, 512, &(struct field_list){&line, 1}, d);
	for (uint32_t i = 0; i < q.count && i < ENTRIES_MAX; i++)
		check_entry(q.blob + q.offsets[i], q.offsets[i + 1] - q.offsets[i]);
	dns_queries_free(&q);
	diag_free(d);
	free(text);
	return 0;
}
