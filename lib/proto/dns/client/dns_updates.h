// SPDX-License-Identifier: BSD-3-Clause
// Converts dynamic updates (RFC 2136) from text to whole messages: files in dnsperf's format, and
// inline texts with patterns. Path: cold. Management thread.
#pragma once

#include <stddef.h>

#include "base/diag.h"
#include "base/field.h"
#include "proto/dns/client/dns_queries.h"

// Error texts of lines that callers of a dns_skip distinguish.
#define DNS_NO_SEND    "the last message has no send"
#define DNS_NO_COMMAND "not a command (require, prohibit, add, delete or send)"

bool dns_updates_is_command(const char *text, size_t len);

// Both append to q, and log a note if the messages change nothing from their second pass on. limit:
// the maximum message. skip NULL: a bad line is an error. 0, or -errno with the reasons in d.
int dns_updates_load_file(struct dns_queries *q, uint32_t limit, const struct dns_skip *skip,
	const char *path, const void *setting, struct diag *d);
// Load texts (const char *) of one or more messages each; equal {0-999} and {random:N} have one
// value throughout a text. The last "send" of a text is optional.
int dns_updates_load_texts(
	struct dns_queries *q, uint32_t limit, const struct field_list *texts, struct diag *d);
// Load the file from memory; name stands for it in errors.
int dns_updates_load_text(struct dns_queries *q, uint32_t limit, const char *name, const char *text,
	size_t len, const void *setting, struct diag *d);
