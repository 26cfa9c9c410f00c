// SPDX-License-Identifier: BSD-3-Clause
// Query files and inline names from anyone: whatever is accepted must be a well-formed question.
// The first byte says which of the two it is. Path: tests only.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "proto/dns_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_entry(const uint8_t *entry, uint32_t len)
{
	uint8_t message[DNS_HEADER_LEN + DNS_QUESTION_MAX] = {0};

	if (len < 5 || len > DNS_QUESTION_MAX)
		abort();
	memcpy(message + DNS_HEADER_LEN, entry + DNS_ENTRY_HEAD, len);
	if (dns_question_len(message, DNS_HEADER_LEN + len) != len)
		abort();
	if (entry[1] && entry[0] + entry[1] > len - 5)
		abort();
}

// So many digits make ranges that are right, but take long to expand.
static bool is_slow(const char *line)
{
	uint32_t digits = 0;

	for (; *line; line++)
		digits += *line >= '0' && *line <= '9';
	return digits > 6;
}

static void load_names(struct dns_queries *q, char *text, struct diag *d)
{
	const char *line = text;
	struct field_list names = {&line, 1};

	if (!is_slow(line))
		dns_queries_load_names(q, &names, d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dns_queries q = {0};
	struct diag *d;
	char *text;

	if (size < 1)
		return 0;
	log_set_level(LOG_QUIET);
	text = malloc(size);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	d = diag_new();
	if (data[0] & 1)
		load_names(&q, text, d);
	else if (dns_queries_load_text(&q, "q.txt", text, size - 1, &q, d) == 0 && q.count == 0)
		abort();
	for (uint32_t i = 0; i < q.count; i++)
		check_entry(
			q.blob + q.offsets[i], q.offsets[i + 1] - q.offsets[i] - DNS_ENTRY_HEAD);
	dns_queries_free(&q);
	diag_free(d);
	free(text);
	return 0;
}
