// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "format/format_netperf.h"

#include <math.h>
#include <string.h>

#include "base/nearest.h"
#include "proto/table.h"
#include "document/document_reader.h"
#include "format/format_walk.h"
#include "proto/proto.h"

#define TEXT_MAX 4096 // of a figure that is a text
#define ITEM     "item."
#define OWN      "own."
#define MESSAGE  "Messages/s"

// netperf gives latencies in microseconds and shares in percent.
#define US  1e-3
#define PCT 100.0

// --- rates of the whole run

static bool is_one_way(const json_t *item)
{
	return document_number(item, "no_reply") > 0 &&
	       !(document_number(item, "answered") + document_number(item, "failed") > 0);
}

static double positive(double x)
{
	return x > 0 && isfinite(x) ? x : 0;
}

static struct {
	char letter;
	double bits;
	const char *unit;
} const scales[] = {{'G', 8.0 * (1 << 30), "GBytes/s"}, {'M', 8.0 * (1 << 20), "MBytes/s"},
	{'K', 8.0 * (1 << 10), "KBytes/s"}, {'g', 1e9, "10^9bits/s"}, {'m', 1e6, "10^6bits/s"},
	{'k', 1e3, "10^3bits/s"}};

static struct netperf_rate in_bits(double bits, char units)
{
	size_t i = 0;

	while (i + 1 < sizeof(scales) / sizeof(scales[0]) && scales[i].letter != units)
		i++;
	return (struct netperf_rate){bits / scales[i].bits, scales[i].unit};
}

struct netperf_rate netperf_throughput(const json_t *document, char units)
{
	const json_t *traffic = json_object_get(document, "traffic");
	double answered = 0, sent = 0, requests = 0, replies = 0;
	bool one_way = json_array_size(traffic) > 0, bulk = false;
	json_t *item;
	size_t i;

	json_array_foreach(traffic, i, item)
	{
		one_way = one_way && is_one_way(item);
		bulk |= !(document_number(item, "clients") > 0); // of clients messages are counted
		answered += positive(document_number(item, "answered_per_s"));
		sent += positive(document_number(item, "sent_per_s"));
		requests += positive(document_number(item, "request_bps"));
		replies += positive(document_number(item, "reply_bps"));
	}
	if (!units)
		units = one_way && bulk && requests > 0 ? 'm' : 'x';
	if (units == 'x')
		return one_way ? (struct netperf_rate){sent, MESSAGE}
		               : (struct netperf_rate){answered, "Trans/s"};
	return in_bits(requests + (one_way ? 0 : replies), units);
}

// --- one figure each

static const char *number_text(const struct netperf *n, double value)
{
	return isfinite(value) ? arena_printf(n->arena, "%.3f", value) : "";
}

static const char *whole_text(const struct netperf *n, double value)
{
	return isfinite(value) ? arena_printf(n->arena, "%.0f", value) : "";
}

static double figure(const struct netperf *n, const char *path)
{
	const json_t *value = json_object_get(n->flat, path);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

static const char *text(const struct netperf *n, const char *path)
{
	const char *value = json_string_value(json_object_get(n->flat, path));

	return value ? value : "";
}

#define OF(n, item, name) arena_printf((n)->arena, "%s%s", item, name)

static const char *own_path(const struct netperf *n, const char *item, const char *name)
{
	return arena_printf(n->arena, "%s%s.%s", item, text(n, OF(n, item, "protocol")), name);
}

static double item_figure(const struct netperf *n, const char *item, const char *name)
{
	return figure(n, OF(n, item, name));
}

static bool goes_one_way(const struct netperf *n, const char *item)
{
	return item_figure(n, item, "no_reply") > 0 &&
	       !(item_figure(n, item, "answered") + item_figure(n, item, "failed") > 0);
}

// Returns the item's settings, if the result has the configuration.
static const json_t *item_settings(const struct netperf *n, const char *item)
{
	return document_named(
		document_at(n->document, "config.traffic"), "name", text(n, OF(n, item, "name")));
}

// An item of UDP may have connections too, for truncated answers.
static bool is_stream(const struct netperf *n, const char *item)
{
	const json_t *own =
		json_object_get(item_settings(n, item), text(n, OF(n, item, "protocol")));
	const char *transport = document_text(own, "transport");

	return *transport ? strcmp(transport, "tcp") == 0
	                  : item_figure(n, item, "connections.opened") > 0;
}

static const char *socket_type(const struct netperf *n, const char *item)
{
	return is_stream(n, item) ? "Stream" : "Datagram";
}

static const char *protocol(const struct netperf *n, const char *item)
{
	return is_stream(n, item) ? "TCP" : "UDP";
}

static const char *direction(const struct netperf *n, const char *item)
{
	return goes_one_way(n, item) ? "Send" : "Send|Recv";
}

static const char *throughput(const struct netperf *n, const char *item)
{
	return number_text(n, netperf_throughput(n->document, n->units).value);
}

static const char *throughput_units(const struct netperf *n, const char *item)
{
	return netperf_throughput(n->document, n->units).unit;
}

static const char *transaction_rate(const struct netperf *n, const char *item)
{
	return number_text(n, netperf_throughput(n->document, 'x').value);
}

static const char *bits(const struct netperf *n, const char *item, const char *name)
{
	return number_text(n, in_bits(item_figure(n, item, name), n->units ? n->units : 'm').value);
}

static const char *send_throughput(const struct netperf *n, const char *item)
{
	return bits(n, item, "request_bps");
}

static const char *recv_throughput(const struct netperf *n, const char *item)
{
	return bits(n, item, "reply_bps");
}

static const char *bytes_per_send(const struct netperf *n, const char *item)
{
	return number_text(
		n, figure(n, own_path(n, item, "request_bytes")) / item_figure(n, item, "sent"));
}

static const char *bytes_per_recv(const struct netperf *n, const char *item)
{
	return number_text(
		n, figure(n, own_path(n, item, "reply_bytes")) /
			   (item_figure(n, item, "answered") + item_figure(n, item, "failed")));
}

static const char *bytes_xferd(const struct netperf *n, const char *item)
{
	return whole_text(n, figure(n, own_path(n, item, "request_bytes")) +
				     figure(n, own_path(n, item, "reply_bytes")));
}

static const char *retransmitted(const struct netperf *n, const char *item)
{
	return whole_text(n, item_figure(n, item, "connections.retransmitted") +
				     item_figure(n, item, "connections.fast_retransmitted"));
}

static const char *burst_size(const struct netperf *n, const char *item)
{
	double outstanding = document_number(item_settings(n, item), "load.outstanding");

	return whole_text(n, outstanding > 0 ? outstanding - 1 : NAN);
}

static const char *dest_family(const struct netperf *n, const char *item)
{
	const char *server = text(n, OF(n, item, "server"));

	return !*server ? "" : strchr(server, ':') ? "AF_INET6" : "AF_INET";
}

static const char *dest_port(const struct netperf *n, const char *item)
{
	const struct proto *proto = proto_find(text(n, OF(n, item, "protocol")));
	const json_t *settings = item_settings(n, item);
	double given = document_number(settings, "server_port");

	if (!settings || !proto)
		return "";
	return whole_text(n, given > 0 ? given : proto->ports->plain);
}

static const char *interface_name(const struct netperf *n, const char *item)
{
	return text(n, arena_printf(n->arena, "ports.%s.device", text(n, OF(n, item, "port"))));
}

static const char *method(const char *name)
{
	return strcmp(name, "proc_stat") == 0 ? "S" : name;
}

static const char *local_method(const struct netperf *n, const char *item)
{
	return method(text(n, "cpu.method"));
}

static const char *remote_method(const struct netperf *n, const char *item)
{
	return method(text(n, "dut.format"));
}

static const char *sd_units(const struct netperf *n, const char *item)
{
	const char *unit = netperf_throughput(n->document, 0).unit;

	return strcmp(unit, "Trans/s") == 0 || strcmp(unit, MESSAGE) == 0 ? "usec/Tran" : "usec/KB";
}

// CPU time of the box for each transaction, or each 1024 octets of a test one way.
static const char *demand(const struct netperf *n, const char *box)
{
	double us_per_s = 1e6 * figure(n, OF(n, box, ".used")) * figure(n, OF(n, box, ".cpus"));
	const char *unit = sd_units(n, "");
	struct netperf_rate rate =
		netperf_throughput(n->document, strcmp(unit, "usec/KB") == 0 ? 'K' : 'x');

	return number_text(n, us_per_s / rate.value);
}

static const char *local_sd(const struct netperf *n, const char *item)
{
	return demand(n, "cpu");
}

static const char *remote_sd(const struct netperf *n, const char *item)
{
	return demand(n, "dut");
}

// Returns `single` without an interval, as netperf prints it if none was requested.
static const char *confidence(
	const struct netperf *n, const char *path, double scale, const char *single)
{
	double value = figure(n, path);

	return isfinite(value) ? number_text(n, scale * value) : single;
}

static const char *confidence_level(const struct netperf *n, const char *item)
{
	return confidence(n, "confidence.confidence", PCT, "0");
}

static const char *confidence_interval(const struct netperf *n, const char *item)
{
	return confidence(n, "confidence.width", PCT, "-1.000");
}

static const char *confidence_iteration(const struct netperf *n, const char *item)
{
	return whole_text(n, fmax(figure(n, "confidence.runs"), 1));
}

// Returns the width of the repeats' interval of the answered rate.
static const char *throughput_confid(const struct netperf *n, const char *item)
{
	const char *name = text(n, OF(n, item, "name"));
	json_t *one;
	size_t i;

	json_array_foreach(document_at(n->document, "confidence.figures"), i,
		one) if (strcmp(document_text(one, "item"), name) == 0 &&
			 strcmp(document_text(one, "figure"), "answered_per_s") ==
				 0) return number_text(n,
		PCT * (document_number(one, "high") - document_number(one, "low")) /
			document_number(one, "mean"));
	return "";
}

static const char *nothing(const struct netperf *n, const char *item)
{
	return "";
}

static const struct name {
	const char *name;
	const char *path; // ITEM: of the item; OWN: of its protocol's counters; NULL: made by text
	double scale;     // 0: as it is
	const char *unit;
	const char *(*text)(const struct netperf *n, const char *item);
} names[] = {
	{"SOCKET_TYPE", NULL, 0, "Stream or Datagram", socket_type},
	{"PROTOCOL", NULL, 0, "TCP or UDP", protocol},
	{"DIRECTION", NULL, 0, "Send or Send|Recv", direction},
	{"ELAPSED_TIME", "run.measured_s", 1, "seconds", NULL},
	{"THROUGHPUT", NULL, 0, "as THROUGHPUT_UNITS says", throughput},
	{"THROUGHPUT_UNITS", NULL, 0, "text", throughput_units},
	{"TRANSACTION_RATE", NULL, 0, "Trans/s; one way Messages/s", transaction_rate},
	{"LOCAL_SEND_THROUGHPUT", NULL, 0, "as THROUGHPUT_UNITS says, or 10^6bits/s",
		send_throughput},
	{"LOCAL_RECV_THROUGHPUT", NULL, 0, "as THROUGHPUT_UNITS says, or 10^6bits/s",
		recv_throughput},
	{"RT_LATENCY", "item.latency.response.mean_ns", US, "usec/tran", NULL},
	{"MIN_LATENCY", "item.latency.response.min_ns", US, "microseconds", NULL},
	{"MAX_LATENCY", "item.latency.response.max_ns", US, "microseconds", NULL},
	{"MEAN_LATENCY", "item.latency.response.mean_ns", US, "microseconds", NULL},
	{"STDDEV_LATENCY", "item.latency.response.stddev_ns", US, "microseconds", NULL},
	{"P50_LATENCY", "item.latency.response.p50_ns", US, "microseconds", NULL},
	{"P90_LATENCY", "item.latency.response.p90_ns", US, "microseconds", NULL},
	{"P99_LATENCY", "item.latency.response.p99_ns", US, "microseconds", NULL},
	{"REQUEST_SIZE", NULL, 0, "bytes, the mean", bytes_per_send},
	{"RESPONSE_SIZE", NULL, 0, "bytes, the mean", bytes_per_recv},
	{"LOCAL_SEND_SIZE", NULL, 0, "bytes, the mean", bytes_per_send},
	{"LOCAL_RECV_SIZE", NULL, 0, "bytes, the mean", bytes_per_recv},
	{"LOCAL_BYTES_PER_SEND", NULL, 0, "bytes", bytes_per_send},
	{"LOCAL_BYTES_PER_RECV", NULL, 0, "bytes", bytes_per_recv},
	{"LOCAL_BYTES_SENT", "own.request_bytes", 0, "bytes of messages", NULL},
	{"LOCAL_BYTES_RECVD", "own.reply_bytes", 0, "bytes of messages", NULL},
	{"LOCAL_BYTES_XFERD", NULL, 0, "bytes of messages", bytes_xferd},
	{"LOCAL_SEND_CALLS", "item.sent", 0, "transactions", NULL},
	{"LOCAL_RECV_CALLS", "item.answered", 0, "transactions", NULL},
	{"REMOTE_RECV_CALLS", "peer.received", 0, "messages, warm-up included", NULL},
	{"REMOTE_SEND_CALLS", "peer.answered", 0, "messages, warm-up included", NULL},
	{"LOCAL_TRANSPORT_RETRANS", NULL, 0, "segments", retransmitted},
	{"BURST_SIZE", NULL, 0, "transactions", burst_size},
	{"DEST_ADDR", "item.server", 0, "address", NULL},
	{"DEST_FAMILY", NULL, 0, "AF_INET or AF_INET6", dest_family},
	{"DEST_PORT", NULL, 0, "port", dest_port},
	{"LOCAL_CPU_UTIL", "cpu.used", PCT, "percent", NULL},
	{"LOCAL_CPU_PERCENT_USER", "cpu.user", PCT, "percent", NULL},
	{"LOCAL_CPU_PERCENT_SYSTEM", "cpu.system", PCT, "percent", NULL},
	{"LOCAL_CPU_PERCENT_IRQ", "cpu.irq", PCT, "percent", NULL},
	{"LOCAL_CPU_PERCENT_SWINTR", "cpu.softirq", PCT, "percent", NULL},
	{"LOCAL_CPU_PEAK_UTIL", "cpu.busiest_used", PCT, "percent", NULL},
	{"LOCAL_CPU_PEAK_ID", "cpu.busiest", 0, "number of the CPU", NULL},
	{"LOCAL_CPU_BIND", "workers[0].cpu", 0, "number of the CPU of the first worker", NULL},
	{"LOCAL_CPU_COUNT", "cpu.cpus", 0, "CPUs", NULL},
	{"LOCAL_CPU_METHOD", NULL, 0, "S: /proc/stat", local_method},
	{"LOCAL_CPU_MODEL", "run.host.cpu", 0, "text", NULL},
	{"LOCAL_SD", NULL, 0, "as SD_UNITS says", local_sd},
	{"LOCAL_RELEASE", "run.host.kernel", 0, "text", NULL},
	{"LOCAL_DRIVER_NAME", "run.host.driver", 0, "text", NULL},
	{"LOCAL_INTERFACE_NAME", NULL, 0, "text", interface_name},
	{"REMOTE_CPU_UTIL", "dut.used", PCT, "percent", NULL},
	{"REMOTE_CPU_PERCENT_USER", "dut.user", PCT, "percent", NULL},
	{"REMOTE_CPU_PERCENT_SYSTEM", "dut.system", PCT, "percent", NULL},
	{"REMOTE_CPU_PERCENT_IRQ", "dut.irq", PCT, "percent", NULL},
	{"REMOTE_CPU_PERCENT_SWINTR", "dut.softirq", PCT, "percent", NULL},
	{"REMOTE_CPU_PEAK_UTIL", "dut.busiest_used", PCT, "percent", NULL},
	{"REMOTE_CPU_PEAK_ID", "dut.busiest", 0, "number of the CPU", NULL},
	{"REMOTE_CPU_COUNT", "dut.cpus", 0, "CPUs", NULL},
	{"REMOTE_CPU_METHOD", NULL, 0, "S: /proc/stat", remote_method},
	{"REMOTE_SD", NULL, 0, "as SD_UNITS says", remote_sd},
	{"SD_UNITS", NULL, 0, "text", sd_units},
	{"CONFIDENCE_LEVEL", NULL, 0, "percent; 0: a single run", confidence_level},
	{"CONFIDENCE_INTERVAL", NULL, 0, "percent of the mean; -1: a single run",
		confidence_interval},
	{"CONFIDENCE_ITERATION", NULL, 0, "runs", confidence_iteration},
	{"THROUGHPUT_CONFID", NULL, 0, "percent of the mean", throughput_confid},
	{"RESULT_BRAND", "run.note", 0, "text", NULL},
	{"COMMAND_LINE", "run.command", 0, "text", NULL},
	{"UUID", "run.id", 0, "text", NULL},
	{"OUTPUT_NONE", NULL, 0, "empty", nothing},
};

#define NAMES (sizeof(names) / sizeof(names[0]))

// Options of netperf's sockets, buffers and hosts, which have no counterpart in a result.
static const char lacking[] =
	"LSS_SIZE_REQ LSS_SIZE LSS_SIZE_END LSR_SIZE_REQ LSR_SIZE LSR_SIZE_END RSS_SIZE_REQ "
	"RSS_SIZE RSS_SIZE_END RSR_SIZE_REQ RSR_SIZE RSR_SIZE_END REMOTE_SEND_SIZE "
	"REMOTE_RECV_SIZE LOCAL_CPU_PERCENT_IOWAIT REMOTE_CPU_PERCENT_IOWAIT LOCAL_CPU_CONFID "
	"REMOTE_CPU_CONFID REMOTE_TRANSPORT_RETRANS TRANSPORT_MSS REMOTE_SEND_THROUGHPUT "
	"REMOTE_RECV_THROUGHPUT LOCAL_CPU_FREQUENCY REMOTE_CPU_BIND REMOTE_CPU_MODEL "
	"REMOTE_CPU_FREQUENCY SOURCE_PORT SOURCE_ADDR SOURCE_FAMILY LOCAL_SEND_OFFSET "
	"LOCAL_RECV_OFFSET LOCAL_SEND_ALIGN LOCAL_RECV_ALIGN LOCAL_SEND_WIDTH LOCAL_RECV_WIDTH "
	"LOCAL_SEND_DIRTY_COUNT LOCAL_RECV_DIRTY_COUNT LOCAL_RECV_CLEAN_COUNT LOCAL_NODELAY "
	"LOCAL_CORK REMOTE_BYTES_PER_RECV REMOTE_BYTES_PER_SEND REMOTE_BYTES_SENT "
	"REMOTE_BYTES_RECVD REMOTE_BYTES_XFERD REMOTE_SEND_OFFSET REMOTE_RECV_OFFSET "
	"REMOTE_SEND_ALIGN REMOTE_RECV_ALIGN REMOTE_SEND_WIDTH REMOTE_RECV_WIDTH "
	"REMOTE_SEND_DIRTY_COUNT REMOTE_RECV_DIRTY_COUNT REMOTE_RECV_CLEAN_COUNT REMOTE_NODELAY "
	"REMOTE_CORK LOCAL_SYSNAME LOCAL_SYSTEM_MODEL LOCAL_VERSION LOCAL_MACHINE REMOTE_SYSNAME "
	"REMOTE_SYSTEM_MODEL REMOTE_RELEASE REMOTE_VERSION REMOTE_MACHINE LOCAL_INTERFACE_VENDOR "
	"LOCAL_INTERFACE_DEVICE LOCAL_INTERFACE_SUBVENDOR LOCAL_INTERFACE_SUBDEVICE "
	"LOCAL_DRIVER_VERSION LOCAL_DRIVER_FIRMWARE LOCAL_DRIVER_BUS LOCAL_INTERFACE_SLOT "
	"REMOTE_INTERFACE_NAME REMOTE_INTERFACE_VENDOR REMOTE_INTERFACE_DEVICE "
	"REMOTE_INTERFACE_SUBVENDOR REMOTE_INTERFACE_SUBDEVICE REMOTE_DRIVER_NAME "
	"REMOTE_DRIVER_VERSION REMOTE_DRIVER_FIRMWARE REMOTE_DRIVER_BUS REMOTE_INTERFACE_SLOT "
	"LOCAL_INTERVAL_USECS LOCAL_INTERVAL_BURST REMOTE_INTERVAL_USECS REMOTE_INTERVAL_BURST "
	"LOCAL_SECURITY_TYPE_ID LOCAL_SECURITY_TYPE LOCAL_SECURITY_ENABLED_NUM "
	"LOCAL_SECURITY_ENABLED LOCAL_SECURITY_SPECIFIC REMOTE_SECURITY_TYPE_ID "
	"REMOTE_SECURITY_TYPE REMOTE_SECURITY_ENABLED_NUM REMOTE_SECURITY_ENABLED "
	"REMOTE_SECURITY_SPECIFIC LOCAL_SOCKET_PRIO REMOTE_SOCKET_PRIO LOCAL_SOCKET_TOS "
	"REMOTE_SOCKET_TOS LOCAL_CONG_CONTROL REMOTE_CONG_CONTROL LOCAL_FILL_FILE "
	"REMOTE_FILL_FILE";

static const struct name *find(const char *name)
{
	for (size_t i = 0; i < NAMES; i++)
		if (strcmp(names[i].name, name) == 0)
			return &names[i];
	return NULL;
}

// Texts about the whole run do not differ between items.
bool netperf_has(const char *name, bool of_item)
{
	const struct name *one = find(name);

	return one &&
	       (!of_item || (one->path && (strncmp(one->path, ITEM, strlen(ITEM)) == 0 ||
						  strncmp(one->path, OWN, strlen(OWN)) == 0)));
}

bool netperf_lacks(const char *name)
{
	return word_is_among(name, lacking);
}

const char *netperf_text(const struct netperf *n, const char *name, const char *item)
{
	const struct name *one = find(name);
	const char *path = one ? one->path : NULL;
	char buf[TEXT_MAX];
	const json_t *value;

	if (!one)
		return "";
	if (one->text)
		return one->text(n, item);
	if (strncmp(path, ITEM, strlen(ITEM)) == 0)
		path = OF(n, item, path + strlen(ITEM));
	else if (strncmp(path, OWN, strlen(OWN)) == 0)
		path = own_path(n, item, path + strlen(OWN));
	value = json_object_get(n->flat, path);
	if (one->scale != 0)
		return json_is_number(value) ? number_text(n, one->scale * json_number_value(value))
		                             : "";
	return arena_strdup(n->arena, walk_text(value, buf, sizeof(buf)));
}

const char *netperf_name(unsigned i)
{
	return i < NAMES ? names[i].name : NULL;
}

void netperf_list(FILE *out)
{
	for (size_t i = 0; i < NAMES; i++)
		fprintf(out, names[i].path ? "%-26s  %s: %s\n" : "%-26s  %s\n", names[i].name,
			names[i].unit, names[i].path);
}
