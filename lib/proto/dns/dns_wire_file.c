// SPDX-License-Identifier: BSD-3-Clause
// Files of whole messages: each with its length in front in two bytes (RFC 1035 section 4.2.2), as
// dnsperf and kxdpgun read them; or captured queries over UDP. Path: cold. Management thread.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/input.h"
#include "base/log.h"
#include "net/frame.h"
#include "net/packet_file.h"
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
	return len < 0 ? len : l->failure;
}

static int stream_load(struct dns_loader *l, struct wire_file *f, int fd)
{
	int ret = -ENOMEM;

	f->file = fdopen(fd, "rb");
	if (!f->file) {
		close(fd);
		return ret;
	}
	ret = messages_load(l, f);
	fclose(f->file);
	return ret;
}

static int stream_refuse(const struct wire_file *f, int fd)
{
	close(fd);
	diag_error(f->diag, f->setting, NULL, "%s: no capture, and expect.captured needs one",
		f->path);
	return -EINVAL;
}

// What a capture has.
struct captured {
	struct dns_loader *loader;
	struct dns_pairs pairs;
	uint64_t packets, cut, tcp; // of them: longer than what was captured; segments for the port
	bool known;                 // the link
};

static int packet_load(void *to, const struct packet *p)
{
	struct captured *c = to;
	struct frame f;
	enum frame_kind kind = p->frame ? frame_parse(p->frame, p->len, &f) : FRAME_OTHER;

	c->packets++;
	c->known |= p->frame != NULL;
	c->cut += kind == FRAME_BAD;
	c->tcp += kind == FRAME_TCP && f.dst_port == DNS_PORT && f.payload_len > 20;
	if (kind != FRAME_UDP || f.payload_len < DNS_HEADER_LEN)
		return 0;
	if (f.payload[2] & DNS_QR)
		return f.src_port == DNS_PORT ? dns_pairs_add(&c->pairs, &f, DNS_PAIRS_ANSWER) : 0;
	if (f.dst_port != DNS_PORT)
		return 0;
	dns_loader_add_message(c->loader, f.payload, f.payload_len, 0, 0);
	if (c->loader->failure)
		return c->loader->failure;
	return dns_pairs_add(&c->pairs, &f, c->loader->to->count - 1);
}

// The answers are found; are there any?
static int pairs_check(const struct wire_file *f, uint32_t found, uint32_t count)
{
	if (found > 0 && found < count)
		log_note("%s: %u of %u queries have an answer in it, the others are not compared",
			f->path, found, count);
	if (found)
		return 0;
	diag_error(f->diag, f->setting, NULL,
		"%s: holds no answer over UDP to any of its queries, and expect.captured needs "
		"them",
		f->path);
	return -EINVAL;
}

static int capture_load(struct dns_loader *l, struct dns_referee *referee,
	const struct wire_file *f, int fd, struct arena *a)
{
	struct captured c = {.loader = l, .pairs.referee = referee};
	const char *why = NULL;
	uint32_t found;
	int ret = packet_file_each(fd, NULL, packet_load, &c, a, &why);
	int paired = dns_pairs_end(&c.pairs, l->to->count, &found);

	ret = ret ? ret : paired;
	if (ret == -EINVAL)
		diag_error(f->diag, f->setting, NULL, "%s: %s", f->path, why);
	if (ret)
		return ret;
	if (c.packets > 0 && !c.known)
		diag_error(f->diag, f->setting, NULL,
			"%s: its link is none of Ethernet, raw IP and Linux cooked", f->path);
	else if (l->to->count == 0)
		diag_error(f->diag, f->setting, NULL,
			"%s: holds no query over UDP to port %u (%llu packets, %llu of them cut "
			"off)",
			f->path, DNS_PORT, (unsigned long long)c.packets,
			(unsigned long long)c.cut);
	else if (c.tcp > 0)
		log_note("%s: %llu segments of TCP are left out, queries over UDP are taken",
			f->path, (unsigned long long)c.tcp);
	if (l->to->count == 0)
		return -EINVAL;
	return referee ? pairs_check(f, found, l->to->count) : 0;
}

int dns_queries_load_wire(struct dns_queries *q, struct dns_referee *referee, const char *path,
	const void *setting, struct arena *a, struct diag *d)
{
	struct dns_loader l = {.to = q, .diag = d};
	struct wire_file f = {.path = path, .setting = setting, .diag = d};
	int fd = input_open(path, setting, d), ret;

	if (fd < 0)
		return fd;
	if (packet_file_is(fd))
		ret = capture_load(&l, referee, &f, fd, a);
	else if (referee)
		ret = stream_refuse(&f, fd);
	else
		ret = stream_load(&l, &f, fd);
	if (l.failure == -EFBIG)
		diag_error(d, setting, NULL, "%s: more than 4 GiB of messages", path);
	return ret;
}
