// SPDX-License-Identifier: BSD-3-Clause
// Rows of settings that both families have: the same name, meaning and limits, each in its own
// struct S. Path: cold. Any thread.
#pragma once

#include "proto/dhcp/dhcp_settings.h"

// The mapping name that fills a struct S.
#define DHCP_SECTION(name_, help_, rows_, S)                                                       \
	{                                                                                          \
		.name = name_, .help = help_, FIELD_ROWS(rows_), .size = sizeof(S)                 \
	}

// A section that may be absent, and a list of sections; the member is called like the setting.
#define DHCP_SECTION_ROW(S, member_, section_, help_)                                              \
	{                                                                                          \
#member_, help_, FIELD_SECTION, .optional = true, .offset = offsetof(S, member_),  \
						.section = section_                                \
	}

#define DHCP_SECTIONS_ROW(S, member_, section_, help_)                                             \
	{                                                                                          \
#member_, help_, FIELD_SECTION, .list = true, .offset = offsetof(S, member_),      \
						.section = section_                                \
	}

#define DHCP_SHARE_ROW(S, name_, exchange_, help_)                                                 \
	{                                                                                          \
		name_, help_, FIELD_PERCENT, .offset = offsetof(S, share[exchange_]), .def = "0%", \
					     .max = 1                                              \
	}

#define DHCP_PATTERN_ROW(S, member_, help_)                                                        \
	{                                                                                          \
#member_, help_, FIELD_STRING, .offset = offsetof(S, member_)                      \
	}

// The value of an option.
#define DHCP_VALUE_ROWS(S, family_)                                                                \
	DHCP_PATTERN_ROW(                                                                          \
		S, text, "value as text, with {client}, {mac}, {relay}, {address} or {random:N}"), \
		DHCP_PATTERN_ROW(                                                                  \
			S, hex, "value as hex digits and the same names, which give bytes"),       \
	{                                                                                          \
		"address", "value as one or more " family_ " addresses", FIELD_ADDR,               \
			.list = true, .offset = offsetof(S, address)                               \
	}

#define DHCP_RELAYS_ROW(S, help_)                                                                  \
	{                                                                                          \
		"addresses", help_, FIELD_ADDR_RANGE, .list = true, .required = true,              \
						      .offset = offsetof(S, addresses)             \
	}

#define DHCP_RELAY_PORT_ROWS(S, port_, sub_)                                                       \
	{"port", "UDP port that the relays send from", FIELD_COUNT, .offset = offsetof(S, port),   \
		.def = port_, .min = 1, .max = 65535},                                             \
	{                                                                                          \
		"source_port",                                                                     \
			"with a port other than " port_ ": " sub_                                  \
			" (RFC 8357), answers come to that port",                                  \
			FIELD_BOOL, .offset = offsetof(S, source_port), .def = "true"              \
	}

#define DHCP_FQDN_ROWS(S, record_)                                                                 \
	{"name", "the client's name; with a dot in it: fully qualified", FIELD_STRING,             \
		.required = true, .offset = offsetof(S, name), .min = 1, .max = 253},              \
		{"server_update", "S flag: the server is to update the " record_ " record",        \
			FIELD_BOOL, .offset = offsetof(S, server_update), .def = "true"},          \
	{                                                                                          \
		"no_update", "N flag: the server is to update nothing", FIELD_BOOL,                \
			.offset = offsetof(S, no_update), .def = "false"                           \
	}

#define DHCP_EXCHANGE_ROW(S, def_, names_)                                                         \
	{                                                                                          \
		"exchange", "what clients do", FIELD_ENUM, .offset = offsetof(S, exchange),        \
							   .def = def_, .names = names_            \
	}

#define DHCP_CLIENTS_ROW(S)                                                                        \
	{                                                                                          \
		"clients", "how many different clients there are", FIELD_COUNT,                    \
			.offset = offsetof(S, clients), .def = "1", .min = 1, .max = 1e9           \
	}

#define DHCP_MAC_ROWS(S, mac_help_, file_help_)                                                    \
	{"mac", "MAC address of client 0; client i has this + i" mac_help_, FIELD_MAC,             \
		.offset = offsetof(S, mac), .def = "02:00:00:00:00:00"},                           \
	{                                                                                          \
		"mac_file",                                                                        \
			"file with the MAC address of a client on each line, relative to this "    \
			"file's folder" file_help_,                                                \
			FIELD_STRING, .offset = offsetof(S, mac_file)                              \
	}

#define DHCP_SERVERS_ROWS(S, spread_help_)                                                         \
	{"servers", "further servers beside the item's", FIELD_ADDR, .list = true,                 \
		.offset = offsetof(S, servers)},                                                   \
	{                                                                                          \
		"spread", spread_help_, FIELD_ENUM, .offset = offsetof(S, spread), .def = "first", \
						    .names = dhcp_spread_names                     \
	}

extern const struct field_section dhcp_vlan_section, dhcp_leases_section;
extern const char *const dhcp_spread_names[]; // of enum dhcp_spread
