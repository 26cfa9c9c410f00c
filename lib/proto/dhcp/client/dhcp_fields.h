// SPDX-License-Identifier: BSD-3-Clause
// Rows of settings that both families share, with the same names, meanings and limits. They fill
// the structs of dhcp_settings.h, with which the family's structs begin. Path: cold. Any thread.
#pragma once

#include "proto/dhcp/client/dhcp_settings.h"

#define DHCP_SETTING(member) offsetof(struct dhcp_settings, member)
#define DHCP_RELAY(member)   offsetof(struct dhcp_relay_settings, member)
#define DHCP_FQDN(member)    offsetof(struct dhcp_fqdn_settings, member)

// clang-format off

// A mapping that fills a struct S.
#define DHCP_SECTION(name_, help_, rows_, S) \
	{.name = name_, .help = help_, FIELD_ROWS(rows_), .size = sizeof(S)}

// A section that may be absent, and a list of sections; the member has the name of the setting.
#define DHCP_SECTION_ROW(S, member_, section_, help_) \
	{#member_, help_, FIELD_SECTION, .optional = true, .offset = offsetof(S, member_), \
		.section = section_}
#define DHCP_SECTIONS_ROW(member_, section_, help_) \
	{#member_, help_, FIELD_SECTION, .list = true, .lone = true, \
		.offset = DHCP_SETTING(member_), .section = section_}

#define DHCP_SHARE_ROW(exchange_, name_, step_, from_, to_, help_) \
	{name_, "share of exchanges, or rate on top of load.rate, that " help_, FIELD_SHARE, \
		.def = "0%", .max = 1, \
		.offset = offsetof(struct dhcp_mix_settings, share[exchange_])},

#define DHCP_PATTERN_ROW(S, member_, help_) \
	{#member_, help_, FIELD_STRING, .offset = offsetof(S, member_)}

// The value of an option, in member `value` of S, and the messages that carry it.
#define DHCP_VALUE_ROWS(S, family_, steps_, usual_) \
	{"messages", "messages that have it; without: " usual_, FIELD_ENUM, .list = true, \
		.offset = offsetof(S, value.messages), .names = steps_}, \
	DHCP_BYTES_ROWS(S, family_)
#define DHCP_BYTES_ROWS(S, family_) \
	{"text", "value as text, with {client}, {mac}, {relay}, {address}, {vlan}, {random:N} or {file:N}", \
		FIELD_STRING, .offset = offsetof(S, value.text)}, \
	{"hex", "value as hex digits and the same names, which give bytes", FIELD_STRING, \
		.offset = offsetof(S, value.hex)}, \
	{"address", "value as one or more " family_ " addresses", FIELD_ADDR, .list = true, \
		.offset = offsetof(S, value.address)}

// Options required in every OFFER and ACK, or ADVERTISE and REPLY.
#define DHCP_EXPECTED_ROWS(S, family_) \
	{"code", "option code", FIELD_COUNT, .required = true, \
		.offset = offsetof(S, code), .min = 1, .max = 65535}, \
	DHCP_BYTES_ROWS(S, family_)

#define DHCP_RELAYS_ROW(help_) \
	{"addresses", help_, FIELD_ADDR_RANGE, .list = true, .required = true, \
		.offset = DHCP_RELAY(addresses)}, \
	{"from", "address that the messages of all relays leave from, of servers that answer to " \
		"it; without: each relay's own", \
		FIELD_ADDR, .offset = DHCP_RELAY(from)}

#define DHCP_RELAY_PORT_ROWS(port_, sub_) \
	{"port", "UDP port that the relays send from", FIELD_COUNT, .offset = DHCP_RELAY(port), \
		.def = port_, .min = 1, .max = 65535}, \
	{"source_port", \
		"with a port other than " port_ ": " sub_ " (RFC 8357), replies come to that port", \
		FIELD_BOOL, .offset = DHCP_RELAY(source_port), .def = "true"}

#define DHCP_FQDN_ROWS(record_) \
	{"name", "the client's name; with a dot in it: fully qualified", FIELD_STRING, \
		.required = true, .offset = DHCP_FQDN(name), .min = 1, .max = 253}, \
	{"server_update", "S flag: the server is to update the " record_ " record", FIELD_BOOL, \
		.offset = DHCP_FQDN(server_update), .def = "true"}, \
	{"no_update", "N flag: the server is to update nothing", FIELD_BOOL, \
		.offset = DHCP_FQDN(no_update), .def = "false"}

#define DHCP_WRONG_LABEL(number, name, ...) name,
#define DHCP_WRONG_ROW(number, name_, help_, ...) \
	{name_, help_, FIELD_PERCENT, .def = "0%", .max = 1, \
		.offset = offsetof(struct dhcp_wrong_settings, shares[number])},
#define DHCP_WRONG_HELP "deliberately wrong messages, as shares of all messages; judged separately"

// Raw messages: section_ uses DHCP_RAW_FIELDS with the names of messages.
#define DHCP_RAW_FIELDS(steps_, places_) \
	{"message", "message that is sent so", FIELD_ENUM, .required = true, \
		.offset = offsetof(struct dhcp_raw_settings, message), .names = steps_}, \
	{"hex", "the whole of it as hex digits, with {xid}, " places_ ", and the names of patterns", \
		FIELD_STRING, .required = true, .offset = offsetof(struct dhcp_raw_settings, hex)}

// The elapsed time that a client's messages report.
#define DHCP_PRETEND_ROW(name_, field_) \
	{name_, field_ " that clients pretend to have waited, although they are answered", \
		FIELD_SECTION, .optional = true, .offset = DHCP_SETTING(pretend), \
		.section = &dhcp_pretend_section}

// The first and the last settings of a family: S is its struct; its sections are mix_section,
// retransmit_section and expect_section.
#define DHCP_FIRST_ROWS(exchange_, names_) \
	{"exchange", "exchange that clients make", FIELD_ENUM, .offset = DHCP_SETTING(exchange), \
		.def = exchange_, .names = names_}, \
	DHCP_SECTION_ROW(struct dhcp_settings, mix, &mix_section, \
		"several kinds of exchanges in one item"), \
	{"clients", "number of clients; auto: enough for the whole run", \
		FIELD_COUNT, .load = true, .offset = DHCP_SETTING(clients), .def = "auto", \
		.word = "auto", .min = 1, .max = 1e9}, \
	{"again", "when no client is free, the one with the oldest lease forgets it and starts over", \
		FIELD_BOOL, .offset = DHCP_SETTING(again), .def = "false"}, \
	{"order", "client that begins the next exchange: the one that has waited longest, or " \
		"a random one, of those with a lease or of all", FIELD_ENUM, \
		.offset = DHCP_SETTING(order), .def = "in_turn", .names = dhcp_order_names}, \
	DHCP_SECTION_ROW(struct dhcp_settings, life, &dhcp_life_section, \
		"clients that act as their leases require, in place of a load")
#define DHCP_LAST_ROWS(S, expect_) \
	DHCP_SECTION_ROW(struct dhcp_settings, leases, &dhcp_leases_section, \
		"leases in a file, from one run to the next"), \
	DHCP_SECTION_ROW(S, expect, &expect_section, expect_)

#define DHCP_MAC_ROWS(mac_help_, file_help_) \
	{"mac", "MAC address of client 0; client i has this + i" mac_help_, FIELD_MAC, \
		.offset = DHCP_SETTING(mac), .def = "02:00:00:00:00:00"}, \
	{"mac_count", "number of MAC addresses: client i uses address i modulo this, so one " \
		"address can have several exchanges at once; 0: one per client", \
		FIELD_COUNT, .offset = DHCP_SETTING(mac_count), .def = "0", .max = 1e9}, \
	{"mac_file", "file with the MAC address of a client on each line, relative to this " \
		"file's folder" file_help_, FIELD_STRING, .role = FIELD_INPUT, .offset = DHCP_SETTING(mac_file)}, \
	{"client_file", "CSV file with a line for each client, relative to this file's folder; " \
		"{file:N} is column N, from 1, in every text and hex", FIELD_STRING, \
		.role = FIELD_INPUT, .offset = DHCP_SETTING(client_file)}, \
	{"wire", "capture (pcap, pcapng; relative to this file's folder): client i has the " \
		"identity and the options of the i-th client in it", FIELD_STRING, \
		.role = FIELD_INPUT, .offset = DHCP_SETTING(wire)}, \
	{"mac_column", "column of client_file with the MAC address; 0: none", FIELD_COUNT, \
		.offset = DHCP_SETTING(mac_column), .def = "0", .max = 64}, \
	{"address_column", "column of client_file with the address that the client must be " \
		"given (in DHCPv6, or one of its prefixes); empty field: any; 0: none", \
		FIELD_COUNT, .offset = DHCP_SETTING(address_column), .def = "0", .max = 64}

#define DHCP_SERVERS_ROWS(spread_help_) \
	{"servers", "additional servers, besides the item's", FIELD_HOST, .list = true, \
		.offset = DHCP_SETTING(servers)}, \
	{"spread", spread_help_, FIELD_ENUM, .offset = DHCP_SETTING(spread), .def = "first", \
		.names = dhcp_spread_names}

#define DHCP_RETRANSMIT_ROWS(rest_) \
	DHCP_SECTION_ROW(struct dhcp_settings, retransmit, &retransmit_section, \
		"retransmission of unanswered messages"), \
	{"request_timeout", \
		"wait for the reply to a message other than the first of an exchange without a " \
		"lease (like REQUEST, RENEW); 0s: timeout", \
		FIELD_DURATION, .offset = DHCP_SETTING(request_timeout_ns), .def = "0s", \
		.max = 3600e9}, \
	{"decline_rest", \
		"rest of a client after a DECLINE" rest_ "; auto: 10s with retransmit, otherwise 0s", \
		FIELD_DURATION, .offset = DHCP_SETTING(decline_rest_ns), .def = "auto", \
		.word = "auto", .max = 3600e9}

// clang-format on

extern const struct field_section dhcp_vlan_section, dhcp_leases_section, dhcp_life_section,
	dhcp_pretend_section;
extern const char *const dhcp_spread_names[]; // of enum dhcp_spread
extern const char *const dhcp_order_names[];  // of enum dhcp_order

// Labels of tries, servers and option codes in counters.
const char *dhcp_place_label(uint32_t i);
const char *dhcp_code_label(uint32_t i);
