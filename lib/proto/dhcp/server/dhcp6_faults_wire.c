// SPDX-License-Identifier: BSD-3-Clause
// Faults of DHCPv6 replies: each makes the change it is named for in one finished message, and no
// other; enclosing lengths stay correct. The choice of replies is in
// engine/core/responder/faults.h; duplicate leases and exhausted pools are in dhcp_claim.h.
// Path: hot. The responder's thread.

#include <string.h>

#include "base/rand.h"
#include "proto/dhcp/server/dhcp6_answer.h"

#define AROUND_MAX   (DHCP6_LEVELS_MAX + 2) // relay messages, an IA and a lease
#define IA_HEAD      (DHCP6_OPTION_LEN + 12)
#define STATUS_LEN   6  // of the whole option, without text
#define PREFERRED_AT 16 // of an address, after the option's head
#define NOWHERE      0

// An ADVERTISE or a REPLY inside its relay messages.
struct place {
	uint8_t *buf;
	uint32_t len, room;
	uint32_t levels;
	uint32_t relay_at[DHCP6_LEVELS_MAX];
	uint32_t length_at[AROUND_MAX]; // lengths of the options enclosing the change
	uint32_t around;
	uint32_t begin, end; // of the message
};

static uint32_t option_end(const struct place *p, uint32_t at)
{
	return at + DHCP6_OPTION_LEN + bytes_be16(p->buf + at + 2);
}

static bool place_relay(struct place *p)
{
	uint32_t options = p->begin + DHCP6_RELAY_LEN, at;

	if (p->levels == DHCP6_LEVELS_MAX || options > p->end)
		return false;
	at = dhcp6_find_option(p->buf, options, p->end, DHCP6_OPT_RELAY_MESSAGE);
	if (at == NOWHERE)
		return false;
	p->relay_at[p->levels++] = p->begin;
	p->length_at[p->around++] = at + 2;
	p->end = option_end(p, at);
	p->begin = at + DHCP6_OPTION_LEN;
	return true;
}

// false: not a reply of this server.
static bool place_of(uint8_t *buf, uint32_t len, uint32_t room, struct place *p)
{
	*p = (struct place){.buf = buf, .len = len, .room = room, .end = len};
	while (p->end > p->begin && buf[p->begin] == DHCP6_RELAY_REPL)
		if (!place_relay(p))
			return false;
	if (p->end - p->begin < DHCP6_HEADER_LEN)
		return false;
	return buf[p->begin] == DHCP6_ADVERTISE || buf[p->begin] == DHCP6_REPLY;
}

static bool is_reply(const struct place *p)
{
	return p->buf[p->begin] == DHCP6_REPLY;
}

static uint32_t option_at(const struct place *p, uint16_t code)
{
	return dhcp6_find_option(p->buf, p->begin + DHCP6_HEADER_LEN, p->end, code);
}

// Replace `old` bytes by room for `fresh` ones. Returns the new total length; 0: no room.
static uint32_t resize(struct place *p, uint32_t at, uint32_t old, uint32_t fresh)
{
	if (p->len - old + fresh > p->room)
		return 0;
	memmove(p->buf + at + fresh, p->buf + at + old, p->len - at - old);
	for (uint32_t i = 0; i < p->around; i++) {
		uint8_t *length = p->buf + p->length_at[i];

		bytes_put_be16(length, bytes_be16(length) - old + fresh);
	}
	p->len = p->len - old + fresh;
	p->end = p->end - old + fresh;
	return p->len;
}

static uint32_t option_remove(struct place *p, uint32_t at)
{
	return at == NOWHERE ? 0 : resize(p, at, option_end(p, at) - at, 0);
}

static void status_put(uint8_t *at, enum dhcp6_status status)
{
	bytes_put_be16(at, DHCP6_OPT_STATUS);
	bytes_put_be16(at + 2, 2);
	bytes_put_be16(at + 4, (uint32_t)status);
}

// The lease in an IA; NOWHERE: none, or a withdrawn one.
static uint32_t lease_in(const struct place *p, uint32_t ia)
{
	uint16_t code = dhcp6_lease_code(bytes_be16(p->buf + ia));
	uint32_t times = code == DHCP6_OPT_IA_PREFIX ? 0 : PREFERRED_AT, at;

	at = dhcp6_find_option(p->buf, ia + IA_HEAD, option_end(p, ia), code);
	if (at && bytes_be32(p->buf + at + DHCP6_OPTION_LEN + times + 4) == 0)
		return NOWHERE;
	return at;
}

// An IA of this type with a lease.
static uint32_t giving_ia(const struct place *p, uint16_t type)
{
	uint32_t at = option_at(p, type);

	while (at != NOWHERE && lease_in(p, at) == NOWHERE)
		at = dhcp6_find_option(p->buf, option_end(p, at), p->end, type);
	return at;
}

static uint32_t any_giving_ia(const struct place *p)
{
	uint32_t at = giving_ia(p, DHCP6_OPT_IA_NA);

	return at != NOWHERE ? at : giving_ia(p, DHCP6_OPT_IA_PD);
}

// Replace the contents of the IA by a status.
static uint32_t ia_refuse(struct place *p, uint32_t ia, enum dhcp6_status status)
{
	uint32_t len;

	if (ia == NOWHERE)
		return 0;
	p->length_at[p->around++] = ia + 2;
	len = resize(p, ia + IA_HEAD, option_end(p, ia) - ia - IA_HEAD, STATUS_LEN);
	memset(p->buf + ia + DHCP6_OPTION_LEN + 4, 0, 8); // T1 and T2
	status_put(p->buf + ia + IA_HEAD, status);
	return len;
}

// Replace the IAs of the message by a status.
static uint32_t message_refuse(struct place *p, enum dhcp6_status status)
{
	uint32_t len;

	if (any_giving_ia(p) == NOWHERE)
		return 0;
	while (option_remove(p, option_at(p, DHCP6_OPT_IA_NA)) ||
		option_remove(p, option_at(p, DHCP6_OPT_IA_PD)) ||
		option_remove(p, option_at(p, DHCP6_OPT_STATUS)))
		;
	len = resize(p, p->end, 0, STATUS_LEN);
	status_put(p->buf + p->end - STATUS_LEN, status);
	return len;
}

static uint32_t lease_refuse(struct place *p)
{
	uint32_t ia = any_giving_ia(p), lease, end, len;

	if (ia == NOWHERE)
		return 0;
	lease = lease_in(p, ia);
	end = option_end(p, lease);
	p->length_at[p->around++] = ia + 2;
	p->length_at[p->around++] = lease + 2;
	len = resize(p, end, 0, STATUS_LEN);
	if (len)
		status_put(p->buf + end, DHCP6_UNSPEC_FAIL);
	return len;
}

// Not with rapid commit, where no address was offered.
static uint32_t address_change(struct place *p)
{
	uint32_t ia = giving_ia(p, DHCP6_OPT_IA_NA);

	if (!is_reply(p) || option_at(p, DHCP6_OPT_RAPID_COMMIT) || ia == NOWHERE)
		return 0;
	p->buf[lease_in(p, ia) + DHCP6_OPTION_LEN + 15] ^= 1;
	return p->len;
}

// Merge the prefix with its neighbour.
static uint32_t prefix_widen(struct place *p)
{
	uint32_t ia = giving_ia(p, DHCP6_OPT_IA_PD);
	uint8_t *bits;

	if (ia == NOWHERE)
		return 0;
	bits = p->buf + lease_in(p, ia) + DHCP6_OPTION_LEN + 8;
	if (*bits < 2)
		return 0;
	--*bits;
	bits[1 + *bits / 8] &= (uint8_t) ~(0x80u >> *bits % 8);
	return p->len;
}

static uint32_t lifetimes_spoil(struct place *p)
{
	uint32_t ia = any_giving_ia(p);
	uint8_t *preferred;

	if (ia == NOWHERE)
		return 0;
	preferred = p->buf + lease_in(p, ia) + DHCP6_OPTION_LEN;
	if (bytes_be16(p->buf + ia) == DHCP6_OPT_IA_NA)
		preferred += PREFERRED_AT;
	if (bytes_be32(preferred + 4) == DHCP6_INFINITY)
		return 0;
	bytes_put_be32(preferred, bytes_be32(preferred + 4) + 1);
	return p->len;
}

static uint32_t times_spoil(struct place *p)
{
	uint32_t ia = any_giving_ia(p), t2;
	uint8_t *t1;

	if (ia == NOWHERE)
		return 0;
	t1 = p->buf + ia + DHCP6_OPTION_LEN + 4;
	t2 = bytes_be32(t1 + 4);
	if (t2 == 0 || t2 == DHCP6_INFINITY)
		return 0;
	bytes_put_be32(t1, t2 + 1);
	return p->len;
}

static uint32_t xid_change(struct place *p, uint64_t random)
{
	uint32_t change = (uint32_t)(1 + rand_scale(random, DHCP6_XID_MAX)); // never 0

	for (uint32_t i = 0; i < 3; i++)
		p->buf[p->begin + 1 + i] ^= (uint8_t)(change >> 8 * i);
	return p->len;
}

static uint32_t duid_change(struct place *p, uint64_t random)
{
	uint32_t at = option_at(p, DHCP6_OPT_CLIENT_ID);

	if (at)
		p->buf[option_end(p, at) - 1] ^= (uint8_t)(1 + rand_scale(random, UINT8_MAX));
	return at ? p->len : 0;
}

// The interface-id of a relay message chosen at random, and that message's level.
static uint32_t interface_id(const struct place *p, uint64_t random, uint32_t *level)
{
	uint32_t at = NOWHERE;

	*level = (uint32_t)rand_scale(random, p->levels ? p->levels : 1);
	for (uint32_t i = 0; i < p->levels && at == NOWHERE; i++) {
		*level = *level ? *level - 1 : p->levels - 1;
		at = dhcp6_find_option(p->buf, p->relay_at[*level] + DHCP6_RELAY_LEN,
			p->length_at[*level] - 2, DHCP6_OPT_INTERFACE_ID);
	}
	return at;
}

static uint32_t interface_id_remove(struct place *p, uint64_t random)
{
	uint32_t level, at = interface_id(p, random, &level);

	p->around = level;
	return option_remove(p, at);
}

static uint32_t interface_id_change(struct place *p, uint64_t random)
{
	uint32_t level, at = interface_id(p, random, &level);

	if (at == NOWHERE || bytes_be16(p->buf + at + 2) == 0)
		return 0;
	p->buf[at + DHCP6_OPTION_LEN] ^= 1;
	return p->len;
}

static uint32_t relay_change(struct place *p, uint64_t random)
{
	static const uint8_t fields[] = {
		DHCP6_AT_HOP_COUNT, DHCP6_AT_LINK + 15, DHCP6_AT_PEER + 15};
	uint64_t level;

	if (p->levels == 0)
		return 0;
	level = rand_scale(random, p->levels);
	p->buf[p->relay_at[level] + fields[rand_scale(rand_hash(random), sizeof(fields))]] ^= 1;
	return p->len;
}

// X(name, extra, help, new length): the last one corrupts the reply at p, and is 0 where that is
// impossible. An unsolicited reply also gets another client, if it has one.
// clang-format off
#define DHCP6_FAULTS(X) \
	X(no_advertise, false, "ADVERTISEs that are not sent", is_reply(p) ? 0 : PROTO_NO_ANSWER) \
	X(no_addrs_avail, false, "IA_NA with NoAddrsAvail instead of an address", \
		ia_refuse(p, giving_ia(p, DHCP6_OPT_IA_NA), DHCP6_NO_ADDRS_AVAIL)) \
	X(no_prefix_avail, false, "IA_PD with NoPrefixAvail instead of a prefix", \
		ia_refuse(p, giving_ia(p, DHCP6_OPT_IA_PD), DHCP6_NO_PREFIX_AVAIL)) \
	X(no_binding, false, "a REPLY with NoBinding instead of the lease of one IA", \
		is_reply(p) ? ia_refuse(p, any_giving_ia(p), DHCP6_NO_BINDING) : 0) \
	X(not_on_link, false, "a REPLY with NotOnLink instead of an address", \
		is_reply(p) ? ia_refuse(p, giving_ia(p, DHCP6_OPT_IA_NA), DHCP6_NOT_ON_LINK) : 0) \
	X(unspec_fail, false, "UnspecFail instead of all IAs", message_refuse(p, DHCP6_UNSPEC_FAIL)) \
	X(use_multicast, false, "a REPLY with UseMulticast instead of all IAs", \
		is_reply(p) ? message_refuse(p, DHCP6_USE_MULTICAST) : 0) \
	X(lease_status, false, "UnspecFail within an address or prefix", lease_refuse(p)) \
	X(missing_ia, false, "one IA of the reply left out", option_remove(p, any_giving_ia(p))) \
	X(other_address, false, "a REPLY with another address than advertised or renewed", \
		address_change(p)) \
	X(prefix_overlap, false, "prefixes that are one bit shorter and so contain another's", \
		prefix_widen(p)) \
	X(wrong_lifetimes, false, "preferred lifetime greater than the valid one", lifetimes_spoil(p)) \
	X(wrong_times, false, "T1 greater than T2", times_spoil(p)) \
	X(wrong_xid, false, "replies with another transaction id", xid_change(p, random)) \
	X(wrong_duid, false, "replies with the DUID of another client", duid_change(p, random)) \
	X(no_client_id, false, "replies without the client's DUID", \
		option_remove(p, option_at(p, DHCP6_OPT_CLIENT_ID))) \
	X(no_server_id, false, "replies without the server identifier", \
		option_remove(p, option_at(p, DHCP6_OPT_SERVER_ID))) \
	X(no_rapid_commit, false, "a REPLY to a SOLICIT without the rapid commit option", \
		option_remove(p, option_at(p, DHCP6_OPT_RAPID_COMMIT))) \
	X(interface_id_missing, false, "the interface-id of a relay not returned", \
		interface_id_remove(p, random)) \
	X(interface_id_changed, false, "the interface-id of a relay not returned as it was", \
		interface_id_change(p, random)) \
	X(wrong_relay, false, "RELAY-REPLs with another hop count, link or peer address", \
		relay_change(p, random)) \
	X(unsolicited, true, "one more reply, to no request, beside the right one", \
		(duid_change(p, random), xid_change(p, random)))
// clang-format on

#define FAULT_APPLY(name, extra_, help_, spoilt)                                                   \
	static uint32_t name(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)           \
	{                                                                                          \
		struct place reply, *p = &reply;                                                   \
                                                                                                   \
		return place_of(buf, len, room, p) ? (spoilt) : 0;                                 \
	}

DHCP6_FAULTS(FAULT_APPLY)

const struct proto_fault dhcp6_faults[] = {DHCP6_FAULTS(DHCP_FAULT_ROW){0}};
