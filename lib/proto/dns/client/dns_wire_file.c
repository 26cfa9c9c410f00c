// SPDX-License-Identifier: BSD-3-Clause
// Files of whole messages: each preceded by its length in two bytes (RFC 1035 section 4.2.2), as
// read by dnsperf and kxdpgun; or queries captured over UDP. Path: cold. Management thread.

#include "proto/dns/client/dns_wire_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/input.h"
#include "base/log.h"
#include "net/frame.h"
#include "net/packet_file.h"
#include "proto/dns/client/dns_internal.h"

struct wire_file {
	FILE *file;
	const char *path;
	const void *setting;
	struct diag *diag;
	const struct dns_wire_form *form;
	uint64_t number, at; // of the message, from 1; of its first byte
};

static int wire_error(const struct wire_file *f, const char *what)
{
	diag_error(f->diag, f->setting, NULL, "%s: message %llu, at byte %llu: %s", f->path,
		(unsigned long long)f->number, (unsigned long long)f->at, what);
	return -EINVAL;
}

// Read the next message. Returns its length; -1: end of file; or -EINVAL.
static int message_read(struct wire_file *f, uint8_t *message)
{
	uint8_t prefix[2];
	size_t got = fread(prefix, 1, sizeof(prefix), f->file);
	uint32_t len;

	if (ferror(f->file))
		return wire_error(f, "cannot be read");
	if (got == 0)
		return -1;
	f->number++;
	if (got < sizeof(prefix))
		return wire_error(f, "the length is cut off (two bytes)");
	len = bytes_be16(prefix);
	if (fread(message, 1, len, f->file) != len)
		return wire_error(f, "cut off: the file has fewer bytes than its length says");
	return (int)len;
}

static void leave_out(struct dns_loader *l, const char *what)
{
	const struct dns_text_error e = {what, 0};

	left_out_add(&l->left_out, what);
	if (l->skip && l->skip->bad)
		l->skip->bad(l->skip->ctx, "", 0, &e);
}

static void message_take(
	struct dns_loader *l, const struct wire_file *f, const uint8_t *message, uint32_t len)
{
	if (!f->form->stream && len > DNS_DATAGRAM_MAX)
		leave_out(l, "longer than a datagram can be (65200 octets)");
	else if (f->form->stream && len == 0)
		leave_out(l, "without an octet");
	else
		dns_loader_add_message(l, message, len, 0, 0);
}

static int messages_load(struct dns_loader *l, struct wire_file *f)
{
	uint8_t *message = malloc(UINT16_MAX);
	int len = -ENOMEM;

	while (message && !l->failure && (len = message_read(f, message)) >= 0) {
		message_take(l, f, message, (uint32_t)len);
		f->at += 2 + (uint64_t)len;
	}
	free(message);
	if (len < -1)
		return len;
	dns_loader_sum_up(l, l->to->count, "messages");
	if (len == -1 && l->to->count == 0)
		return diag_error(f->diag, f->setting, NULL, "%s: holds no message%s%s", f->path,
			       l->to->used ? ": " : "", l->to->used ? l->to->used : ""),
		       -EINVAL;
	return l->failure;
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

#define PORTS_NAMED 4 // number of servers named whose queries are left out

// Contents of a capture.
struct captured {
	struct dns_loader *loader;
	const struct dns_wire_form *form;
	struct dns_pairs pairs;
	uint64_t packets;
	uint64_t answers;            // for the referee
	const char *link;            // NULL: supported
	uint16_t ports[PORTS_NAMED]; // of other servers, with their queries
	uint64_t queries[PORTS_NAMED];
};

static bool is_port(const struct dns_wire_form *form, uint16_t port)
{
	return port && (port == form->ports[0] || port == form->ports[1]);
}

// An ordinary query to another port, which the user may want instead.
static bool is_query_elsewhere(struct captured *c, const struct frame *f)
{
	if (f->payload_len < DNS_HEADER_LEN || f->payload[2] & (DNS_QR | DNS_OPCODE) ||
		bytes_be16(f->payload + 4) != 1 || bytes_be16(f->payload + 6) != 0 ||
		dns_question_len(f->payload, f->payload_len) == 0)
		return false;
	for (uint32_t i = 0; i < PORTS_NAMED; i++) {
		if (c->queries[i] && c->ports[i] != f->dst_port)
			continue;
		c->ports[i] = f->dst_port;
		c->queries[i]++;
		break;
	}
	return true;
}

// Describes a packet that is not a message of ours.
static const char *kind_of(
	struct captured *c, const struct packet *p, enum frame_kind kind, const struct frame *f)
{
	if (kind == FRAME_UDP && is_query_elsewhere(c, f))
		return "queries to other ports";
	if (kind == FRAME_TCP && (is_port(c->form, f->src_port) || is_port(c->form, f->dst_port)))
		return "DNS over TCP";
	return packet_kind(p, kind, f);
}

static int packet_load(void *to, const struct packet *p)
{
	struct captured *c = to;
	struct dns_loader *l = c->loader;
	struct frame f = {.payload_len = 0};
	enum frame_kind kind = packet_parse(p, &f);
	bool udp = kind == FRAME_UDP && f.payload_len >= DNS_HEADER_LEN;
	int rc = 0;

	c->packets++;
	c->link = p->frame ? NULL : p->link;
	if (udp && is_port(c->form, f.src_port) && f.payload[2] & DNS_QR) {
		c->answers += c->pairs.referee != NULL;
		if (!c->pairs.referee)
			left_out_add(&l->left_out, "answers");
		return dns_pairs_add(&c->pairs, &f, DNS_PAIRS_ANSWER);
	}
	if (!udp || !is_port(c->form, f.dst_port) || f.payload[2] & DNS_QR) {
		left_out_add(&l->left_out, kind_of(c, p, kind, &f));
		return 0;
	}
	dns_loader_add_message(l, f.payload, f.payload_len, 0, 0);
	if (!l->failure && c->form->times)
		rc = timestamps_add(&l->to->times, p->ns);
	rc = l->failure ? l->failure : rc;
	return rc ? rc : dns_pairs_add(&c->pairs, &f, l->to->count - 1);
}

// Check that any answers were found.
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

static int capture_empty(const struct wire_file *f, const struct captured *c)
{
	char other[128] = "";
	size_t at = 0;

	if (c->link) {
		diag_error(f->diag, f->setting, NULL,
			"%s: its link is %s, and none of Ethernet, raw IP, loopback and Linux "
			"cooked",
			f->path, c->link);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < PORTS_NAMED && c->queries[i]; i++)
		at += (size_t)snprintf(other + at, sizeof(other) - at, "%s%llu to port %u",
			i ? ", " : "; queries: ", (unsigned long long)c->queries[i], c->ports[i]);
	diag_error(f->diag, f->setting, NULL, "%s: holds no query over UDP to port %u%s%s%s",
		f->path, c->form->ports[0], c->loader->to->used ? ": " : " (it has no packet)",
		c->loader->to->used ? c->loader->to->used : "", other);
	if (at)
		diag_error(f->diag, f->setting, "wire_port",
			"set it to the port of the servers in %s", f->path);
	return -EINVAL;
}

static int capture_load(struct dns_loader *l, struct dns_referee *referee,
	const struct wire_file *f, int fd, struct arena *a)
{
	struct captured c = {.loader = l, .form = f->form, .pairs.referee = referee};
	const char *why = NULL;
	uint32_t found;
	int ret = packet_file_each(fd, NULL, packet_load, &c, a, &why);
	int paired = dns_pairs_end(&c.pairs, l->to->count, &found);

	ret = ret ? ret : paired;
	if (ret == -EINVAL)
		diag_error(f->diag, f->setting, NULL, "%s: %s", f->path, why);
	if (ret)
		return ret;
	if (why)
		left_out_add(&l->left_out, "at the end of the file, which is cut off");
	dns_loader_sum_up(l, l->to->count + c.answers, "packets");
	if (l->to->count == 0)
		return capture_empty(f, &c);
	return referee ? pairs_check(f, found, l->to->count) : 0;
}

int dns_queries_load_wire(struct dns_queries *q, struct dns_referee *referee,
	const struct dns_wire_form *form, const char *path, const void *setting, struct arena *a,
	struct diag *d)
{
	struct dns_loader l = {.to = q, .diag = d, .file = input_name(path), .skip = form->skip};
	struct wire_file f = {
		.path = input_name(path), .setting = setting, .diag = d, .form = form};
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
		diag_error(d, setting, NULL, "%s: more than 4 GiB of messages", f.path);
	return ret;
}
