// SPDX-License-Identifier: BSD-3-Clause
// DNS as users see it: settings, counters and the row for protos[]. dns_setup.c reads the settings;
// messages are in the files named _wire. Path: cold. Any thread.

#include "proto/dns/dns.h"

#include "crypt/tls_settings.h"
#include "proto/dns/client/dns_internal.h"
#include "proto/dns/server/dns_answer_transfer.h"
#include "proto/dns/server/dns_answers.h"

#define OPTION(member)  offsetof(struct dns_option_settings, member)
#define EDNS(member)    offsetof(struct dns_edns_settings, member)
#define EXPECT(member)  offsetof(struct dns_expect_settings, member)
#define WRONG(kind)     offsetof(struct dns_wrong_settings, shares[kind])
#define PROXY(member)   offsetof(struct dns_proxy_settings, member)
#define SETTING(member) offsetof(struct dns_settings, member)
#define ANSWERS(member) offsetof(struct dns_answers_settings, member)
#define KEY(member)     offsetof(struct dns_key_settings, member)

static const char *const order_names[] = {"sequential", "random", "zipf", NULL};
static const char *const opcode_names[] = {"QUERY", "IQUERY", "STATUS", "OPCODE3", "NOTIFY",
	"UPDATE", "DSO", "OPCODE7", "OPCODE8", "OPCODE9", "OPCODE10", "OPCODE11", "OPCODE12",
	"OPCODE13", "OPCODE14", "OPCODE15", NULL};
static const char *const class_names[] = {"IN", "CH", "HS", "ANY", NULL};
static const char *const words_names[] = {"options", "ignore", NULL};
static const char *const bad_lines_names[] = {"error", "skip", NULL};
static const char *const part_names[] = {
	"rcode", "flags", "answer", "authority", "additional", "ttl", NULL};
static const char *const cookies_names[] = {"none", "client", "full", NULL};

static const struct field option_fields[] = {
	{.name = "code",
		.help = "option code",
		.type = FIELD_COUNT,
		.required = true,
		.offset = OPTION(code),
		.max = 65535},
	{.name = "hex",
		.help = "option data, as it is on the wire",
		.type = FIELD_HEX,
		.offset = OPTION(hex)},
	{.name = "text",
		.help = "the same as a text",
		.type = FIELD_STRING,
		.offset = OPTION(text)},
};

static const struct field_section option_section = {
	.name = "option",
	.help = "an EDNS option",
	FIELD_ROWS(option_fields),
	.size = sizeof(struct dns_option_settings),
};

static const struct field edns_fields[] = {
	{.name = "size",
		.help = "UDP payload size to advertise, in bytes",
		.type = FIELD_COUNT,
		.load = true,
		.offset = EDNS(size),
		.def = "1232",
		.min = 512,
		.max = 65535},
	{.name = "version",
		.help = "EDNS version",
		.type = FIELD_COUNT,
		.offset = EDNS(version),
		.def = "0",
		.max = 255},
	{.name = "do",
		.help = "DO bit: ask for DNSSEC records",
		.type = FIELD_BOOL,
		.offset = EDNS(dnssec_ok),
		.def = "false"},
	{.name = "nsid",
		.help = "ask for the name server identifier (RFC 5001)",
		.type = FIELD_BOOL,
		.offset = EDNS(nsid),
		.def = "false"},
	{.name = "zoneversion",
		.help = "ask for the version of the zone (RFC 9660)",
		.type = FIELD_BOOL,
		.offset = EDNS(zoneversion),
		.def = "false"},
	{.name = "padding",
		.help = "pad each query to a multiple of this many bytes (RFC 7830, 8467); 0: none",
		.type = FIELD_COUNT,
		.offset = EDNS(padding),
		.def = "0",
		.max = 4096},
	{.name = "client_subnet",
		.type = FIELD_PREFIX,
		.offset = EDNS(client_subnet),
		.help = "network of the random client subnet in each query (RFC 7871)"},
	{.name = "client_subnet_bits",
		.type = FIELD_COUNT,
		.offset = EDNS(client_subnet_bits),
		.help = "source prefix length to send; auto: 24 (IPv6: 56), or that of "
			"client_subnet "
			"if longer",
		.def = "auto",
		.word = "auto",
		.max = 128},
	{.name = "options",
		.help = "more options, in this order",
		.type = FIELD_SECTION,
		.list = true,
		.offset = EDNS(options),
		.section = &option_section},
};

static const struct field_section edns_section = {
	.name = "edns",
	.help = "EDNS: an OPT record in every query (RFC 6891)",
	FIELD_ROWS(edns_fields),
	.size = sizeof(struct dns_edns_settings),
};

static const struct field expect_fields[] = {
	{.name = "rcode",
		.help = "RCODEs that are right; without: all",
		.type = FIELD_ENUM,
		.list = true,
		.offset = EXPECT(rcode),
		.names = dns_rcode_names},
	{.name = "min_answers",
		.help = "least number of records in the answer section",
		.type = FIELD_COUNT,
		.offset = EXPECT(min_answers),
		.def = "0",
		.max = 65535},
	{.name = "captured",
		.help = "parts that must match the answer in the capture of wire; flags are AA, TC "
			"and AD, sections are sets of records; ttl: TTLs must match too",
		.type = FIELD_ENUM,
		.list = true,
		.offset = EXPECT(captured),
		.names = part_names},
};

static const struct field_section expect_section = {
	.name = "expect",
	.help = "conditions of a valid reply; others count as failed",
	FIELD_ROWS(expect_fields),
	.size = sizeof(struct dns_expect_settings),
};

// clang-format off
#define WRONG_ROW(number, name_, help_) \
	{.name = name_, \
		.help = help_, \
		.type = FIELD_PERCENT, \
		.offset = WRONG(number), \
		.def = "0%", \
		.max = 1},
// clang-format on

static const struct field wrong_fields[] = {DNS_WRONGS(WRONG_ROW)};

static const struct field_section wrong_section = {
	.name = "wrong",
	.help = "deliberately wrong messages, as shares of all messages; judged separately",
	FIELD_ROWS(wrong_fields),
	.size = sizeof(struct dns_wrong_settings),
};

static const char *dns_captured_label(uint32_t i)
{
	return i < DNS_CAPTURED ? part_names[i] : "";
}

#define WRONG_LABEL(number, name, help) name,
static const char *dns_wrong_label(uint32_t i)
{
	static const char *const labels[] = {DNS_WRONGS(WRONG_LABEL)};

	return i < DNS_WRONG_COUNT ? labels[i] : "";
}

static const struct field tlv_fields[] = {
	{.name = "type",
		.help = "type of the value; 0xe0 to 0xef (224 to 239) are for uses of one's own",
		.type = FIELD_COUNT,
		.required = true,
		.offset = OPTION(code),
		.max = 255},
	{.name = "hex", .help = "the value", .type = FIELD_HEX, .offset = OPTION(hex)},
	{.name = "text",
		.help = "the same as a text",
		.type = FIELD_STRING,
		.offset = OPTION(text)},
};

static const struct field_section tlv_section = {
	.name = "tlv",
	.help = "a value (TLV) of a PROXY header",
	FIELD_ROWS(tlv_fields),
	.size = sizeof(struct dns_option_settings),
};

static const char *const place_names[] = {
	[DNS_PROXY_INSIDE] = "inside", [DNS_PROXY_OUTSIDE] = "outside", NULL};

static const struct field proxy_fields[] = {
	{.name = "clients",
		.help = "claimed source addresses, in turn",
		.type = FIELD_ADDR_RANGE,
		.offset = PROXY(clients)},
	{.name = "server",
		.help = "claimed destination address, of the same family; default: the item's "
			"server",
		.type = FIELD_ADDR,
		.offset = PROXY(server)},
	{.name = "local",
		.help = "LOCAL in place of clients: messages of the proxy itself",
		.type = FIELD_BOOL,
		.offset = PROXY(local),
		.def = "false"},
	{.name = "place",
		.help = "with transport: tls, the first octets within TLS, or in front of it",
		.type = FIELD_ENUM,
		.offset = PROXY(place),
		.def = "inside",
		.names = place_names},
	{.name = "tlvs",
		.help = "values in each header, in this order (up to 256 bytes, 3 more for each)",
		.type = FIELD_SECTION,
		.list = true,
		.offset = PROXY(tlvs),
		.section = &tlv_section},
};

static const struct field_section proxy_section = {
	.name = "proxy",
	.help = "a PROXY header (version 2) before each datagram, or once in each connection",
	FIELD_ROWS(proxy_fields),
	.size = sizeof(struct dns_proxy_settings),
};

static const char *const algorithm_names[] = {"auto", "hmac-md5", "hmac-sha1", "hmac-sha224",
	"hmac-sha256", "hmac-sha384", "hmac-sha512", NULL};

static const struct field key_fields[] = {
	{.name = "secret_file",
		.type = FIELD_STRING,
		.role = FIELD_INPUT,
		.required = true,
		.offset = KEY(secret_file),
		.help = "file of the key: a key statement of BIND (tsig-keygen), a key section of "
			"Knot (keymgr -t), or the secret alone in base64"},
	{.name = "name",
		.type = FIELD_STRING,
		.offset = KEY(name),
		.help = "name of the key; default: that of the only key in the file"},
	{.name = "algorithm",
		.type = FIELD_ENUM,
		.offset = KEY(algorithm),
		.def = "auto",
		.names = algorithm_names,
		.help = "algorithm; auto: from the file, or hmac-sha256"},
	{.name = "fudge",
		.type = FIELD_DURATION,
		.offset = KEY(fudge_ns),
		.def = "300s",
		.min = 0,
		.max = 65535e9,
		.help = "difference of clocks that a signature allows"},
	{.name = "ahead",
		.type = FIELD_DURATION,
		.offset = KEY(ahead_ns),
		.def = "0s",
		.max = 1e18,
		.help = "how far the clock of signatures (in the responder: of its replies) is set "
			"ahead"},
	{.name = "behind",
		.type = FIELD_DURATION,
		.offset = KEY(behind_ns),
		.def = "0s",
		.max = 1e18,
		.help = "how far it is set behind"},
};

static const struct field_section key_section = {
	.name = "key",
	.help = "a key for signatures (TSIG, RFC 8945)",
	FIELD_ROWS(key_fields),
	.size = sizeof(struct dns_key_settings),
};

static const struct field dns_fields[] = {
	TRANSPORT_ROWS(SETTING(transport)),
	{.name = "queries",
		.type = FIELD_STRING,
		.role = FIELD_INPUT,
		.offset = SETTING(queries),
		.help = "file of \"name [class] type\" lines, relative to this file's folder; "
			"-: standard input"},
	{.name = "names",
		.type = FIELD_STRING,
		.list = true,
		.offset = SETTING(names),
		.help = "such lines; {0-999} in a name counts, {random:12} never repeats"},
	{.name = "wire",
		.type = FIELD_STRING,
		.role = FIELD_INPUT,
		.offset = SETTING(wire),
		.help = "file of whole messages, sent unchanged except for the ID: a capture "
			"(queries over UDP to port 53), or each with its length in front in two "
			"bytes, as dnsperf -B and kxdpgun -B read it"},
	{.name = "wire_port",
		.help = "UDP port of the servers in the capture of wire; auto: 53 and the port of "
			"the item's server",
		.type = FIELD_COUNT,
		.offset = SETTING(wire_port),
		.def = "auto",
		.word = "auto",
		.min = 1,
		.max = 65535},
	{.name = "transfers",
		.type = FIELD_STRING,
		.list = true,
		.offset = SETTING(transfers),
		.help = "zones to transfer over tcp, with the patterns of names: \"example.com\" "
			"whole (AXFR), \"example.com 7\" the changes since serial 7 (IXFR)"},
	{.name = "updates",
		.type = FIELD_STRING,
		.role = FIELD_INPUT,
		.offset = SETTING(updates),
		.help = "file of dynamic updates (RFC 2136), as dnsperf -u reads it"},
	{.name = "update",
		.type = FIELD_STRING,
		.list = true,
		.offset = SETTING(update),
		.help = "such messages; {0-999} and {random:12} are one value in all places of a "
			"message"},
	{.name = "update_run",
		.type = FIELD_COUNT,
		.offset = SETTING(update_run),
		.def = "1",
		.min = 1,
		.max = 1e9,
		.help = "number of messages of one text, each with a random name of its own, "
			"before as many of the next text with the same names"},
	{.name = "opcode",
		.type = FIELD_ENUM,
		.offset = SETTING(opcode),
		.def = "QUERY",
		.names = opcode_names,
		.help = "opcode of the queries; with NOTIFY, AA is set (RFC 1996)"},
	{.name = "class",
		.help = "class of the queries whose line names none",
		.type = FIELD_ENUM,
		.offset = SETTING(class),
		.def = "IN",
		.names = class_names},
	{.name = "extra_words",
		.type = FIELD_ENUM,
		.offset = SETTING(extra_words),
		.def = "options",
		.names = words_names,
		.help = "words after the type: E (EDNS), D (EDNS with DO), a client subnet, "
			"options "
			"like +65001=c0ffee; ignore: all but the first two words, as dnsperf does"},
	{.name = "bad_lines",
		.type = FIELD_ENUM,
		.offset = SETTING(bad_lines),
		.def = "error",
		.names = bad_lines_names,
		.help = "lines of queries and updates that cannot be used; skip: they are left out "
			"and counted, and so is an update message with one"},
	{.name = "order",
		.help = "order of the queries",
		.type = FIELD_ENUM,
		.offset = SETTING(order),
		.def = "sequential",
		.names = order_names},
	{.name = "zipf_exponent",
		.type = FIELD_RATE,
		.offset = SETTING(zipf_exponent),
		.help = "with order zipf: query number n is asked in proportion to 1/n^this",
		.def = "1",
		.min = 0.01,
		.max = 10},
	{.name = "rd",
		.help = "RD bit: recursion desired; of queries only",
		.type = FIELD_BOOL,
		.offset = SETTING(rd),
		.def = "true"},
	{.name = "cd",
		.help = "CD bit: checking disabled",
		.type = FIELD_BOOL,
		.offset = SETTING(cd),
		.def = "false"},
	{.name = "ad",
		.help = "AD bit: understands authentic data",
		.type = FIELD_BOOL,
		.offset = SETTING(ad),
		.def = "false"},
	{.name = "case_0x20",
		.type = FIELD_BOOL,
		.offset = SETTING(case_0x20),
		.def = "false",
		.help = "random case in every name, which the reply must repeat"},
	{.name = "cookies",
		.type = FIELD_ENUM,
		.offset = SETTING(cookies),
		.def = "none",
		.names = cookies_names,
		.help = "DNS cookies (RFC 7873); full: with the server's part once it is learnt"},
	{.name = "edns",
		.help = "EDNS: an OPT record in every query",
		.type = FIELD_SECTION,
		.optional = true,
		.offset = SETTING(edns),
		.section = &edns_section},
	{.name = "expect",
		.help = "conditions of a valid reply; others count as failed",
		.type = FIELD_SECTION,
		.optional = true,
		.offset = SETTING(expect),
		.section = &expect_section},
	{.name = "wrong",
		.help = "deliberately wrong messages, as shares of all messages; judged separately",
		.type = FIELD_SECTION,
		.optional = true,
		.offset = SETTING(wrong),
		.section = &wrong_section},
	{.name = "proxy",
		.help = "a PROXY header (version 2) before each datagram, or once in each "
			"connection",
		.type = FIELD_SECTION,
		.optional = true,
		.offset = SETTING(proxy),
		.section = &proxy_section},
	{.name = "key",
		.help = "every message is signed, and every reply's signature verified (TSIG)",
		.type = FIELD_SECTION,
		.optional = true,
		.offset = SETTING(key),
		.section = &key_section},
};

static const struct field_section dns_settings_section = {
	.name = "dns",
	.help = "DNS queries over UDP or TCP",
	FIELD_ROWS(dns_fields),
	.size = sizeof(struct dns_settings),
};

static const struct field answers_fields[] = {
	{.name = "rcode",
		.help = "RCODE of every reply",
		.type = FIELD_ENUM,
		.offset = ANSWERS(rcode),
		.def = "NOERROR",
		.names = dns_plain_rcode_names},
	{.name = "ttl",
		.help = "TTL of the records",
		.type = FIELD_DURATION,
		.offset = ANSWERS(ttl_ns),
		.def = "60s",
		.max = 2147483647e9},
	{.name = "address",
		.help = "address in A records",
		.type = FIELD_ADDR,
		.offset = ANSWERS(address),
		.def = "192.0.2.1"},
	{.name = "address6",
		.help = "address in AAAA records",
		.type = FIELD_ADDR,
		.offset = ANSWERS(address6),
		.def = "2001:db8::1"},
	{.name = "text",
		.help = "text in TXT records, in strings of 255 octets",
		.type = FIELD_STRING,
		.offset = ANSWERS(text),
		.def = "ddiperf",
		.max = DNS_TEXT_MAX},
	{.name = "zone",
		.type = FIELD_STRING,
		.role = FIELD_INPUT,
		.list = true,
		.offset = ANSWERS(zone),
		.help = "zone files, one zone each: answers come from them, and rcode, ttl, "
			"address, address6 and text have no effect"},
	{.name = "zone_room",
		.type = FIELD_SIZE,
		.offset = ANSWERS(zone_room),
		.help = "memory for records that updates add; 0B: updates are refused",
		.def = "0B",
		.max = 1099511627776.0},
	{.name = "journal",
		.type = FIELD_SIZE,
		.offset = ANSWERS(journal),
		.help = "memory for the changes by updates, which IXFR is answered from as far "
			"as they reach back",
		.def = "1MiB",
		.max = 1073741824.0},
	{.name = "transfer_size",
		.type = FIELD_SIZE,
		.offset = ANSWERS(transfer_size),
		.help = "bytes of records per message of a transfer; a longer record gets its own "
			"message",
		.def = "16KiB",
		.min = 1,
		.max = 65535},
	{.name = "transfer_signed_every",
		.type = FIELD_COUNT,
		.offset = ANSWERS(transfer_signed_every),
		.help = "sign every N-th message of a signed transfer, and the first and the last",
		.def = "1",
		.min = 1,
		.max = 1000},
	{.name = "keepalive",
		.help = "idle timeout sent to TCP clients that ask for it (RFC 7828)",
		.type = FIELD_DURATION,
		.offset = ANSWERS(keepalive_ns),
		.def = "never",
		.word = "never",
		.max = 6553e9},
	{.name = "extended_error",
		.help = "extended errors in each answer with EDNS (RFC 8914): info codes",
		.type = FIELD_COUNT,
		.list = true,
		.offset = ANSWERS(errors),
		.max = 65535},
	{.name = "report_channel",
		.help = "agent of error reports that each answer with EDNS names (RFC 9567)",
		.type = FIELD_STRING,
		.offset = ANSWERS(report_channel)},
	{.name = "proxy",
		.help = "each datagram and connection begins with a PROXY header (version 2)",
		.type = FIELD_BOOL,
		.offset = ANSWERS(proxy),
		.def = "false"},
	{.name = "keys",
		.help = "keys that requests may be signed with (TSIG); default: signatures are "
			"ignored",
		.type = FIELD_SECTION,
		.list = true,
		.offset = ANSWERS(keys),
		.section = &key_section},
};

static const struct field_section dns_answers_section = {
	.name = "dns",
	.help = "one record as asked for every name, or zones",
	FIELD_ROWS(answers_fields),
	.size = sizeof(struct dns_answers_settings),
};

#define OFFSET(member) offsetof(struct dns_counters, member)
static const struct counter dns_rows[] = {DNS_COUNTERS(COUNTER_MEMBER_ROW, COUNTER_ARRAY_ROW)};
#undef OFFSET

#define OFFSET(member) offsetof(struct dns_answer_counters, member)
static const struct counter answer_rows[] = {
	DNS_ANSWER_COUNTERS(COUNTER_MEMBER_ROW, COUNTER_ARRAY_ROW)};
#undef OFFSET

static const struct counter_section dns_counters_section = {
	.name = "dns",
	.help = "DNS replies",
	COUNTER_ROWS(dns_rows),
	.size = sizeof(struct dns_counters),
};

static const struct counter_section dns_answered_section = {
	.name = "dns",
	.help = "DNS queries answered",
	COUNTER_ROWS(answer_rows),
	.size = sizeof(struct dns_answer_counters),
};

static const struct proto_server dns_server = {
	.settings = &dns_answers_section,
	.counters = &dns_answered_section,
	.stream = true,
	.setup = dns_answers_setup,
	.teardown = dns_answers_teardown,
	.open = dns_answers_open,
	.close = dns_answers_close,
	.answer = dns_answer,
	.more = dns_answer_more,
	.faults = dns_faults,
};

static void dns_terms(void *settings, struct proto_terms *out)
{
	const struct dns_settings *s = settings;

	out->transport = &s->transport;
	out->longest_reply = s->transfers.count ? UINT16_MAX : 0;
}

const struct proto dns_proto = {
	.name = "dns",
	.help = "DNS queries over UDP or TCP",
	.ports = &(const struct proto_ports){DNS_PORT, DNS_TLS_PORT, "dot", DNS_HTTPS_PORT,
		"/dns-query{?dns}", "application/dns-message", DNS_QUIC_PORT, "doq"},
	.key_bits = 16,
	.cost_ns = 85,
	.settings = &dns_settings_section,
	.counters = &dns_counters_section,
	.server = &dns_server,
	.terms = dns_terms,
	.check = dns_check,
	.setup = dns_setup,
	.teardown = dns_teardown,
	.open = dns_open,
	.close = dns_close,
	.request = dns_request,
	.images = &dns_images,
	.preface = dns_preface,
	.key = dns_key,
	.key_place = DNS_KEY_PLACE,
	.reply = dns_reply,
	.reason = dns_reason,
	.timeout = dns_timeout,
};
