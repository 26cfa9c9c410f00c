// SPDX-License-Identifier: BSD-3-Clause
// DNS names and numbers in presentation form: domain names to wire form, RR types, RCODEs
// and extended errors by IANA name, and questions back to text. Lines and files are in
// dns_queries.c, names in messages in dns_message_wire.c. Path: cold. Any thread.

#include "proto/dns/client/dns_names.h"

#include <errno.h>
#include <stdio.h>
#include <strings.h>

#include "base/bytes.h"
#include "proto/dns/client/dns_internal.h"

#define LABEL_MAX 63

#define PLAIN_RCODES                                                                               \
	"NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED", "YXDOMAIN", "YXRRSET",  \
		"NXRRSET", "NOTAUTH", "NOTZONE"

const char *const dns_rcode_names[] = {
	PLAIN_RCODES,
	"DSOTYPENI",
	"RCODE12",
	"RCODE13",
	"RCODE14",
	"RCODE15",
	"BADVERS",
	"BADKEY",
	"BADTIME",
	"BADMODE",
	"BADNAME",
	"BADALG",
	"BADTRUNC",
	"BADCOOKIE",
	NULL,
};

const char *const dns_plain_rcode_names[] = {
	PLAIN_RCODES,
	NULL,
};

struct type_name {
	const char *name;
	uint8_t len;
	uint16_t type;
};

#define T(name, type)                                                                              \
	{                                                                                          \
		name, sizeof(name) - 1, type                                                       \
	}

// Frequent ones come first: the search is linear.
static const struct type_name types[] = {
	T("A", 1),
	T("AAAA", 28),
	T("HTTPS", 65),
	T("PTR", 12),
	T("TXT", 16),
	T("MX", 15),
	T("SRV", 33),
	T("NS", 2),
	T("SOA", 6),
	T("DS", 43),
	T("CNAME", 5),
	T("DNSKEY", 48),
	T("ANY", 255),
	T("NAPTR", 35),
	T("CAA", 257),
	T("TLSA", 52),
	T("SVCB", 64),
	T("MD", 3),
	T("MF", 4),
	T("MB", 7),
	T("MG", 8),
	T("MR", 9),
	T("NULL", 10),
	T("WKS", 11),
	T("HINFO", 13),
	T("MINFO", 14),
	T("RP", 17),
	T("AFSDB", 18),
	T("X25", 19),
	T("ISDN", 20),
	T("RT", 21),
	T("NSAP", 22),
	T("NSAP-PTR", 23),
	T("SIG", 24),
	T("KEY", 25),
	T("PX", 26),
	T("GPOS", 27),
	T("LOC", 29),
	T("NXT", 30),
	T("EID", 31),
	T("NIMLOC", 32),
	T("ATMA", 34),
	T("KX", 36),
	T("CERT", 37),
	T("A6", 38),
	T("DNAME", 39),
	T("SINK", 40),
	T("OPT", 41),
	T("APL", 42),
	T("SSHFP", 44),
	T("IPSECKEY", 45),
	T("RRSIG", 46),
	T("NSEC", 47),
	T("DHCID", 49),
	T("NSEC3", 50),
	T("NSEC3PARAM", 51),
	T("SMIMEA", 53),
	T("HIP", 55),
	T("NINFO", 56),
	T("RKEY", 57),
	T("TALINK", 58),
	T("CDS", 59),
	T("CDNSKEY", 60),
	T("OPENPGPKEY", 61),
	T("CSYNC", 62),
	T("ZONEMD", 63),
	T("DSYNC", 66),
	T("HHIT", 67),
	T("BRID", 68),
	T("SPF", 99),
	T("UINFO", 100),
	T("UID", 101),
	T("GID", 102),
	T("UNSPEC", 103),
	T("NID", 104),
	T("L32", 105),
	T("L64", 106),
	T("LP", 107),
	T("EUI48", 108),
	T("EUI64", 109),
	T("NXNAME", 128),
	T("TKEY", 249),
	T("TSIG", 250),
	T("IXFR", 251),
	T("AXFR", 252),
	T("MAILB", 253),
	T("MAILA", 254),
	T("URI", 256),
	T("AVC", 258),
	T("DOA", 259),
	T("AMTRELAY", 260),
	T("RESINFO", 261),
	T("WALLET", 262),
	T("CLA", 263),
	T("IPN", 264),
	T("TA", 32768),
	T("DLV", 32769),
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

// The number in TYPEnnn or CLASSnnn, or -1. before: length of the word before it.
static int32_t prefixed_number(const char *word, size_t before, const char *text, size_t len)
{
	int32_t n = 0;

	if (len <= before || len - before > 5 || strncasecmp(word, text, before) != 0)
		return -1;
	for (size_t i = before; i < len; i++) {
		if (!is_digit(text[i]))
			return -1;
		n = n * 10 + (text[i] - '0');
	}
	return n <= UINT16_MAX ? n : -1;
}

int32_t dns_type_from_text(const char *text, size_t len)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].len == len && strncasecmp(types[i].name, text, len) == 0)
			return types[i].type;
	return prefixed_number("TYPE", 4, text, len);
}

int32_t dns_class_from_text(const char *text, size_t len)
{
	static const struct type_name classes[] = {
		T("IN", 1), T("CH", 3), T("HS", 4), T("NONE", 254), T("ANY", 255)};

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (classes[i].len == len && strncasecmp(classes[i].name, text, len) == 0)
			return classes[i].type;
	return prefixed_number("CLASS", 5, text, len);
}

static int name_error(struct dns_text_error *e, const char *reason, size_t at)
{
	e->reason = reason;
	e->at = at;
	return -EINVAL;
}

int dns_escape_value(const char *text, size_t len, size_t *at)
{
	const char *p = text + *at + 1;
	size_t left = len - *at - 1;
	int value;

	if (left == 0)
		return -1;
	if (!is_digit(p[0])) {
		*at += 1;
		return (uint8_t)p[0];
	}
	if (left < 3 || !is_digit(p[1]) || !is_digit(p[2]))
		return -1;
	*at += 3;
	value = (p[0] - '0') * 100 + (p[1] - '0') * 10 + (p[2] - '0');
	return value <= UINT8_MAX ? value : -1;
}

int dns_name_from_text(const char *text, size_t len, uint8_t *wire, struct dns_text_error *e)
{
	uint32_t label = 0; // offset of the current label's length
	uint32_t at = 1;

	if (len == 0)
		return name_error(e, "the name is empty", 0);
	if (len == 1 && text[0] == '.') {
		wire[0] = 0;
		return 1;
	}
	for (size_t i = 0; i < len; i++) {
		size_t start = i;
		int c = (uint8_t)text[i];

		if (c == '.') {
			if (at == label + 1)
				return name_error(e, "an empty label", i);
			wire[label] = (uint8_t)(at - label - 1);
			label = at++;
			continue;
		}
		if (c == '\\')
			c = dns_escape_value(text, len, &i);
		else if (c <= ' ' || c == 0x7f)
			return name_error(e, "a control character (write it as \\DDD)", start);
		if (c < 0)
			return name_error(
				e, "not an escape (\\000 to \\255, or \\ and a character)", start);
		if (at - label > LABEL_MAX)
			return name_error(e, "the label is longer than 63 octets", start);
		if (at >= DNS_NAME_MAX - 1)
			return name_error(e, "the name is longer than 255 octets", start);
		wire[at++] = (uint8_t)c;
	}
	if (at == label + 1) { // the name ended with a dot: this label is the root
		wire[label] = 0;
		return (int)at;
	}
	wire[label] = (uint8_t)(at - label - 1);
	wire[at++] = 0;
	return (int)at;
}

static char *put_octet(char *to, uint8_t c)
{
	if (c == '.' || c == '\\' || c == ';')
		return to + sprintf(to, "\\%c", c);
	return to + sprintf(to, c > ' ' && c < 0x7f ? "%c" : "\\%03u", c);
}

static void put_type(char *to, uint16_t type)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (types[i].type != type)
			continue;
		strcpy(to, types[i].name);
		return;
	}
	sprintf(to, "TYPE%u", type);
}

int dns_question_text(const uint8_t *message, uint32_t len, char *text)
{
	uint32_t at = DNS_HEADER_LEN;

	if (len < DNS_HEADER_LEN || dns_question_len(message, len) == 0)
		return -EINVAL;
	if (message[at] == 0)
		*text++ = '.';
	for (uint8_t label; (label = message[at]); at += 1 + label) {
		text += sprintf(text, "%s", at > DNS_HEADER_LEN ? "." : "");
		for (uint32_t i = 1; i <= label; i++)
			text = put_octet(text, message[at + i]);
	}
	*text++ = ' ';
	put_type(text, bytes_be16(message + at + 1));
	return 0;
}

const char *dns_rcode_label(uint32_t i)
{
	return i < DNS_RCODE_OTHER ? dns_rcode_names[i] : "other";
}

const char *dns_size_label(uint32_t i)
{
	static const char *const labels[DNS_SIZES] = {
		"to_128",
		"to_256",
		"to_512",
		"to_1232",
		"to_1452",
		"to_4096",
		"to_65535",
	};

	return i < DNS_SIZES ? labels[i] : "";
}

const char *dns_tsig_error_label(uint32_t i)
{
	static const char *const labels[DNS_TSIG_ERRORS] = {
		"BADSIG", "BADKEY", "BADTIME", "BADTRUNC", "other"};

	return i < DNS_TSIG_ERRORS ? labels[i] : "";
}

const char *dns_type_bucket_label(uint32_t i)
{
	static const char *const labels[DNS_TYPE_BUCKETS] = {"A", "AAAA", "TXT", "other"};

	return i < DNS_TYPE_BUCKETS ? labels[i] : "";
}

const char *dns_ede_label(uint32_t i)
{
	static const char *const labels[DNS_EDES] = {
		"Other_Error",
		"Unsupported_DNSKEY_Algorithm",
		"Unsupported_DS_Digest_Type",
		"Stale_Answer",
		"Forged_Answer",
		"DNSSEC_Indeterminate",
		"DNSSEC_Bogus",
		"Signature_Expired",
		"Signature_Not_Yet_Valid",
		"DNSKEY_Missing",
		"RRSIGs_Missing",
		"No_Zone_Key_Bit_Set",
		"NSEC_Missing",
		"Cached_Error",
		"Not_Ready",
		"Blocked",
		"Censored",
		"Filtered",
		"Prohibited",
		"Stale_NXDOMAIN_Answer",
		"Not_Authoritative",
		"Not_Supported",
		"No_Reachable_Authority",
		"Network_Error",
		"Invalid_Data",
		"Signature_Expired_before_Valid",
		"Too_Early",
		"Unsupported_NSEC3_Iterations_Value",
		"Unable_to_conform_to_policy",
		"Synthesized",
		"Invalid_Query_Type",
		"other",
	};

	return i < DNS_EDES ? labels[i] : "";
}
