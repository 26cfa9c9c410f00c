// SPDX-License-Identifier: BSD-3-Clause
// EDNS options as words in a query line, and the names of extended errors. Options as settings are
// in dns_setup.c, options in messages in dns_message_wire.c. Path: cold. Management thread.

#include "proto/dns/client/dns_internal.h"

#define CODE_MAX 65535

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *hex_read(struct writer *w, const char *text, size_t len)
{
	if (len % 2)
		return "an odd number of hex digits in an option";
	for (size_t i = 0; i < len; i += 2) {
		int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);

		if (high < 0 || low < 0)
			return "not hex digits in an option (+CODE=HEX; a text is +CODE:TEXT)";
		write_u8(w, (uint8_t)(high << 4 | low));
	}
	return NULL;
}

static const char *text_read(struct writer *w, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		int octet = text[i] == '\\' ? dns_escape_value(text, len, &i) : (uint8_t)text[i];

		if (octet < 0)
			return "not an escape in an option (\\000 to \\255, or \\ and a character)";
		write_u8(w, (uint8_t)octet);
	}
	return NULL;
}

const char *dns_option_read(struct writer *w, const char *text, size_t len)
{
	uint32_t code = 0;
	size_t at = 1;
	const char *error = NULL;
	uint8_t *head;

	for (; at < len && is_digit(text[at]) && code <= CODE_MAX; at++)
		code = code * 10 + (uint32_t)(text[at] - '0');
	if (at == 1 || code > CODE_MAX || (at < len && text[at] != '=' && text[at] != ':'))
		return "not an option (+CODE=HEX, +CODE:TEXT or +CODE; a code is 0 to 65535)";
	head = write_space(w, 4);
	if (at < len)
		error = text[at] == '=' ? hex_read(w, text + at + 1, len - at - 1)
		                        : text_read(w, text + at + 1, len - at - 1);
	if (error)
		return error;
	if (w->failed)
		return "more than 512 octets of options (4 of each are its header)";
	bytes_put_be16(head, (uint16_t)code);
	bytes_put_be16(head + 2, (uint16_t)(w->at - head - 4));
	return NULL;
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
