// SPDX-License-Identifier: BSD-3-Clause
// The rows of a forecast: its JSON document and their help. Path: cold. Main thread.
#include "engine/tools/forecast.h"

#define AT(of, member) .offset = offsetof(struct of, member)
#define ROW(of, type_, member, unit_, text)                                                        \
	{                                                                                          \
		.name = #member, .help = text, .unit = unit_, .type = type_, AT(of, member)        \
	}
#define ITEM(type_, member, unit_, text) ROW(forecast_item, type_, member, unit_, text)
#define PORT(type_, member, unit_, text) ROW(forecast_port, type_, member, unit_, text)
#define ALL(type_, member, unit_, text)  ROW(forecast, type_, member, unit_, text)

static const struct counter item_rows[] = {
	ITEM(COUNTER_STRING, name, NULL, "name of the item"),
	ITEM(COUNTER_STRING, protocol, NULL, "protocol spoken"),
	ITEM(COUNTER_STRING, port, NULL, "port used"),
	ITEM(COUNTER_STRING, input, NULL, "used part of its input file; absent: all"),
	ITEM(COUNTER_BOOL, paced, NULL, "at a rate; false: as fast as the workers are"),
	ITEM(COUNTER_F64, per_s, "per_s", "exchanges"),
	ITEM(COUNTER_U64, sampled, NULL, "exchanges that were looked at"),
	ITEM(COUNTER_F64, messages, NULL, "messages of an exchange"),
	ITEM(COUNTER_F64, answers, NULL, "replies of an exchange"),
	ITEM(COUNTER_F64, message_octets, NULL, "octets of a message on the wire"),
	ITEM(COUNTER_F64, answer_octets, NULL, "octets of a reply on the wire"),
	ITEM(COUNTER_U64, assumed, NULL, "replies taken to be as long as the request"),
	ITEM(COUNTER_U64, cut, NULL,
		"exchanges that ended early, as a reply did not pass the checks"),
	ITEM(COUNTER_F64, out_per_s, "per_s", "packets to the server"),
	ITEM(COUNTER_F64, in_per_s, "per_s", "packets from the server"),
	ITEM(COUNTER_F64, out_bps, NULL, "bits per second to the server"),
	ITEM(COUNTER_F64, in_bps, NULL, "bits per second from the server"),
	ITEM(COUNTER_F64, exchange_ns, "ns", "worker time of an exchange"),
	ITEM(COUNTER_F64, cpus, NULL, "busy CPUs"),
	ITEM(COUNTER_F64, handshakes_per_s, "per_s", "handshakes of TLS, besides the first ones"),
	ITEM(COUNTER_F64, handshake_ns, "ns",
		"time of a handshake, of the worker or its crew; 0: not over TLS"),
	ITEM(COUNTER_U64, connections, NULL, "connections over TLS"),
	ITEM(COUNTER_U64, connection_bytes, NULL, "bytes of a connection over TLS at rest"),
	ITEM(COUNTER_U64, slots, NULL, "transactions in flight or resting"),
	ITEM(COUNTER_U64, source_addresses, NULL, "source addresses"),
	ITEM(COUNTER_U64, source_ports, NULL, "source ports that it has for itself"),
	ITEM(COUNTER_U64, source_ports_needed, NULL, "source ports that hold the slots"),
	ITEM(COUNTER_U64, memory, NULL, "bytes of its tables"),
};

static const struct counter_section items_section = {
	"traffic", "an item of traffic", COUNTER_ROWS(item_rows), sizeof(struct forecast_item)};

static const struct counter port_rows[] = {
	PORT(COUNTER_STRING, name, NULL, "name of the port"),
	PORT(COUNTER_STRING, driver, NULL, "driver"),
	PORT(COUNTER_BOOL, driver_known, NULL, "whether the driver's own time is in cpus"),
	PORT(COUNTER_U64, link_bps, NULL, "bits per second of the link; 0: unknown"),
	PORT(COUNTER_F64, out_per_s, "per_s", "packets to the server"),
	PORT(COUNTER_F64, in_per_s, "per_s", "packets from the server"),
	PORT(COUNTER_F64, out_bps, NULL, "bits per second to the server"),
	PORT(COUNTER_F64, in_bps, NULL, "bits per second from the server"),
	PORT(COUNTER_F64, out_share, "1", "share of the link to the server"),
	PORT(COUNTER_F64, in_share, "1", "share of the link from the server"),
	PORT(COUNTER_U64, workers, NULL, "workers of the port"),
	PORT(COUNTER_F64, cpus, NULL, "busy CPUs"),
	PORT(COUNTER_U64, memory, NULL, "bytes of its packet buffers"),
};

static const struct counter_section ports_section = {
	"ports", "a port", COUNTER_ROWS(port_rows), sizeof(struct forecast_port)};

static const struct counter forecast_rows[] = {
	ALL(COUNTER_STRING, schema, NULL, "name and version of this format"),
	ALL(COUNTER_STRING, name, NULL, "name of the run"),
	{"traffic", "items of traffic", NULL, COUNTER_LIST, AT(forecast, traffic),
		.section = &items_section},
	{"ports", "ports", NULL, COUNTER_LIST, AT(forecast, ports), .section = &ports_section},
	ALL(COUNTER_U64, input, NULL, "bytes of the input files"),
	ALL(COUNTER_U64, memory, NULL, "bytes of everything"),
	ALL(COUNTER_U64, memory_available, NULL, "bytes that this box has left; 0: unknown"),
	ALL(COUNTER_STRINGS, warnings, NULL, "misfits and unknown figures"),
};

const struct counter_section forecast_section = {
	"plan", "needs of a file", COUNTER_ROWS(forecast_rows), sizeof(struct forecast)};
