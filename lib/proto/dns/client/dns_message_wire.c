// SPDX-License-Identifier: BSD-3-Clause
// Parses a DNS message from untrusted bytes: question, every record of each section, and the fields
// of the OPT record. Other RDATA is not parsed. Also pads finished messages (RFC 7830). Path: hot.
// Any thread.

#include <string.h>

#include "base/bytes.h"
#include "proto/dns/client/dns_internal.h"

#define POINTER_HOPS 127 // maximum number of labels in a name
#define STEPS_FIRST  256 // pointers, and labels after them, per message: enough for one name
#define STEPS_MORE   32  // additional ones per record
#define POINTER      0xc0
#define LABEL_MAX    63
#define RECORD_FIXED 10 // TYPE, CLASS, TTL, RDLENGTH

// Follow a name that continues at offset `target`, below `limit`, after `total` octets of labels.
// Each pointer must lead further back, so there is no loop. *steps: remaining steps, so that the
// time per message is linear in its records rather than quadratic.
static bool pointer_follow(const uint8_t *msg, uint32_t len, uint32_t target, uint32_t limit,
	uint32_t total, uint32_t *steps)
{
	for (uint32_t hops = 0; hops < POINTER_HOPS; hops++) {
		struct reader r;
		uint8_t label;

		if (target >= limit || target < DNS_HEADER_LEN || *steps == 0)
			return false;
		--*steps;
		limit = target;
		r = reader_of(msg + target, len - target);
		while ((label = read_u8(&r)) != 0 && label <= LABEL_MAX) {
			total += label + 1u;
			if (!read_bytes(&r, label) || total > DNS_NAME_MAX - 1 || *steps == 0)
				return false;
			--*steps;
		}
		if (label == 0)
			return !r.failed;
		if (label < POINTER)
			return false;
		target = (label & LABEL_MAX) << 8 | read_u8(&r);
		if (r.failed)
			return false;
	}
	return false;
}

// Skip a name, compressed or not.
static inline bool name_skip(struct reader *r, const uint8_t *msg, uint32_t len, uint32_t *steps)
{
	uint32_t start = (uint32_t)(r->at - msg);
	uint32_t total = 0;
	uint8_t label;

	while ((label = read_u8(r)) != 0 && label <= LABEL_MAX) {
		total += label + 1u;
		if (!read_bytes(r, label) || total > DNS_NAME_MAX - 1)
			return false;
	}
	if (label == 0)
		return !r->failed;
	if (label < POINTER)
		return false;
	return pointer_follow(
		       msg, len, (label & LABEL_MAX) << 8 | read_u8(r), start, total, steps) &&
	       !r->failed;
}

uint32_t dns_name_read(const uint8_t *msg, uint32_t len, uint32_t at, uint8_t *out)
{
	uint32_t total = 0, hops = 0;

	while (at < len && hops <= POINTER_HOPS) {
		uint8_t label = msg[at++];

		if (label >= POINTER && at < len) {
			at = (label & LABEL_MAX) << 8 | msg[at];
			hops++;
			continue;
		}
		if (label > LABEL_MAX || label > len - at || total + label >= DNS_NAME_MAX)
			return 0;
		out[total++] = label;
		for (uint32_t i = 0; i < label; i++)
			out[total++] = dns_lower_case(msg[at++]);
		if (label == 0)
			return total;
	}
	return 0;
}

uint32_t dns_question_len(const uint8_t *buf, uint32_t len)
{
	struct reader r = reader_of(buf + DNS_HEADER_LEN, len - DNS_HEADER_LEN);
	uint32_t total = 1;
	uint8_t label;

	while ((label = read_u8(&r)) != 0) {
		total += label + 1u;
		if (label > LABEL_MAX || total > DNS_NAME_MAX || !read_bytes(&r, label))
			return 0;
	}
	return read_bytes(&r, 4) ? total + 4 : 0;
}

static uint32_t error_bit(uint16_t code)
{
	return 1u << (code < DNS_EDES - 1 ? code : DNS_EDES - 1);
}

static bool options_read(struct dns_message *m, const uint8_t *data, uint32_t len)
{
	struct reader r = reader_of(data, len);

	while (reader_left(&r) > 0) {
		uint16_t code = read_be16(&r);
		uint16_t size = read_be16(&r);
		const uint8_t *value = read_bytes(&r, size);

		if (!value)
			return false;
		switch (code) {
		case DNS_COOKIE:
			m->cookie = value;
			m->cookie_len = size;
			break;
		case DNS_NSID:
			m->nsid = value;
			m->nsid_len = size;
			break;
		case DNS_CLIENT_SUBNET:
			m->subnet = value;
			m->subnet_len = size;
			break;
		case DNS_KEEPALIVE:
			m->keepalive = value;
			m->keepalive_len = size;
			break;
		case DNS_PADDING:
			m->padding = value;
			break;
		case DNS_EDE:
			m->errors |= size < 2 ? 0 : error_bit(bytes_be16(value));
			break;
		case DNS_REPORT_CHANNEL:
			m->report_channel_len = size;
			break;
		case DNS_ZONEVERSION:
			m->zoneversion = value;
			m->zoneversion_len = size;
			break;
		}
	}
	return true;
}

// RFC 6891 section 6.1: a single OPT, owned by the root. fixed: type to RDLENGTH, then RDATA.
static bool opt_read(struct dns_message *m, const uint8_t *fixed, bool root)
{
	if (m->has_opt || !root)
		return false;
	m->has_opt = true;
	m->opt = fixed;
	m->udp_size = bytes_be16(fixed + 2);
	m->ext_rcode = fixed[4];
	m->version = fixed[5];
	m->edns_flags = bytes_be16(fixed + 6);
	return options_read(m, fixed + 10, bytes_be16(fixed + 8));
}

const uint8_t *dns_name_end(const uint8_t *p, const uint8_t *msg, uint32_t len, uint32_t *steps)
{
	struct reader r = reader_of(p, (size_t)(msg + len - p));

	return name_skip(&r, msg, len, steps) ? r.at : NULL;
}

// The end of an owner name at p. Nearly all point to the question's name, which is already checked.
static inline const uint8_t *owner_end(
	const uint8_t *p, const uint8_t *msg, uint32_t len, bool asked, uint32_t *steps)
{
	if (asked && len - (p - msg) >= 2 && p[0] == POINTER && p[1] == DNS_HEADER_LEN)
		return p + 2;
	return dns_name_end(p, msg, len, steps);
}

static bool broken(struct dns_message *m, enum dns_broken why)
{
	m->broken = why;
	return false;
}

bool dns_message_walk(const uint8_t *buf, uint32_t len, uint32_t at, struct dns_message *m)
{
	uint32_t records = bytes_be16(buf + 6) + bytes_be16(buf + 8);
	uint32_t all = records + bytes_be16(buf + 10);
	const uint8_t *p = buf + at, *end = buf + len;
	uint32_t steps = STEPS_FIRST;

	*m = (struct dns_message){.answers = bytes_be16(buf + 6)};
	for (uint32_t i = 0; i < all; i++) {
		const uint8_t *start = p,
			      *fixed = owner_end(p, buf, len, at > DNS_HEADER_LEN, &steps);
		bool root = fixed == p + 1;

		steps += STEPS_MORE;
		if (!fixed || end - fixed < RECORD_FIXED)
			return broken(m, fixed || p >= end ? DNS_BROKEN_END : DNS_BROKEN_NAME);
		p = fixed + RECORD_FIXED;
		if (end - p < bytes_be16(fixed + 8))
			return broken(m, DNS_BROKEN_END);
		p += bytes_be16(fixed + 8);
		if (i >= records && bytes_be16(fixed) == DNS_OPT && !opt_read(m, fixed, root))
			return broken(m, DNS_BROKEN_OPT);
		if (bytes_be16(fixed) != DNS_TSIG)
			continue;
		if (i < records || i + 1 < all) // RFC 8945 section 5.1
			return broken(m, DNS_BROKEN_TSIG);
		m->tsig = (uint32_t)(start - buf);
		m->tsig_type = (uint32_t)(fixed - buf);
	}
	m->left = (uint32_t)(end - p);
	return true;
}

uint32_t dns_pad(uint8_t *buf, uint32_t len, uint32_t room, uint8_t *opt, uint32_t more)
{
	uint8_t *rdlength = opt + DNS_OPT_HEADER_LEN - 2;

	if (len + DNS_OPTION_HEAD + more > room)
		return len;
	bytes_put_be16(buf + len, DNS_PADDING);
	bytes_put_be16(buf + len + 2, (uint16_t)more);
	memset(buf + len + DNS_OPTION_HEAD, 0, more);
	bytes_add_be16(rdlength, (uint16_t)(DNS_OPTION_HEAD + more));
	return len + DNS_OPTION_HEAD + more;
}
