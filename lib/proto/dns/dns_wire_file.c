// SPDX-License-Identifier: BSD-3-Clause
// Files of whole messages: each with its length in front in two bytes (RFC 1035 section 4.2.2), as
// dnsperf and kxdpgun read them. Path: cold. Management thread.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/input.h"
#include "proto/dns/dns_internal.h"

struct wire_file {
	FILE *file;
	const char *path;
	const void *setting;
	struct diag *diag;
	uint64_t number, at; // of the message, from 1; of its first byte
};

static int wire_error(const struct wire_file *f, const char *what)
{
	diag_error(f->diag, f->setting, NULL, "%s: message %llu, at byte %llu: %s", f->path,
		(unsigned long long)f->number, (unsigned long long)f->at, what);
	return -EINVAL;
}

// The next message: its length; 0: the file has ended; -errno.
static int message_read(struct wire_file *f, uint8_t *message)
{
	uint8_t prefix[2];
	size_t got = fread(prefix, 1, sizeof(prefix), f->file);
	uint32_t len;

	if (ferror(f->file))
		return wire_error(f, "cannot be read");
	if (got == 0)
		return 0;
	f->number++;
	if (got < sizeof(prefix))
		return wire_error(f, "the length is cut off (two bytes)");
	len = bytes_be16(prefix);
	if (len < DNS_HEADER_LEN)
		return wire_error(f, "shorter than the header of a message (12 bytes)");
	if (fread(message, 1, len, f->file) != len)
		return wire_error(f, "cut off: the file has fewer bytes than its length says");
	return (int)len;
}

static int messages_load(struct dns_loader *l, struct wire_file *f)
{
	uint8_t *message = malloc(UINT16_MAX);
	int len = -ENOMEM;

	while (message && !l->failure && (len = message_read(f, message)) > 0) {
		dns_loader_add_message(l, message, (uint32_t)len, 0, 0);
		f->at += 2 + (uint64_t)len;
	}
	free(message);
	if (len == 0 && l->to->count == 0)
		return diag_error(f->diag, f->setting, NULL, "%s: holds no message", f->path),
		       -EINVAL;
	if (l->failure == -EFBIG)
		diag_error(f->diag, f->setting, NULL, "%s: more than 4 GiB of messages", f->path);
	return len < 0 ? len : l->failure;
}

int dns_queries_load_wire(
	struct dns_queries *q, const char *path, const void *setting, struct diag *d)
{
	struct dns_loader l = {.to = q, .diag = d};
	struct wire_file f = {.path = path, .setting = setting, .diag = d};
	int fd = input_open(path, setting, d), ret = -ENOMEM;

	if (fd < 0)
		return fd;
	f.file = fdopen(fd, "rb");
	if (f.file)
		ret = messages_load(&l, &f);
	if (f.file)
		fclose(f.file);
	else
		close(fd);
	return ret;
}
