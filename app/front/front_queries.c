// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "front/front_queries.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/input.h"
#include "run/commands.h"
#include "proto/dns/client/dns_updates.h"
#include "proto/dns/client/dns_wire_file.h"

#define EDNS    "traffic.queries.dns.edns"
#define QUERIES "traffic.queries.dns.queries"
#define WIRE    "traffic.queries.dns.wire"
#define UPDATES "traffic.queries.dns.updates"
#define KEY     "traffic.queries.dns.key"
#define TLS     "traffic.queries.dns.tls"
#define HTTPS   "traffic.queries.dns.https"

#define BLANKS " \t\r\n"

#define TIMEOUT_LEAST_S 100e-6 // minimum of the setting

#define IDS_SPARE 1.1 // the plan's own, plus a reserve

int queries_set_family(struct as_run *r, const char *value)
{
	static const struct {
		const char *name;
		int family;
	} families[] = {{"inet", AF_INET}, {"inet6", AF_INET6}, {"any", 0}};

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		if (strcmp(value, families[i].name) != 0)
			continue;
		((struct queries *)r)->family = families[i].family;
		return 0;
	}
	return as_refuse(r, "-f %s: no address family (inet, inet6 or any)", value);
}

// The setting for the file name.
static const char *file_setting(const struct queries *q)
{
	return q->updates ? UPDATES : q->binary ? WIRE : QUERIES;
}

int queries_set_mode(struct as_run *r, const char *value)
{
	struct queries *q = (struct queries *)r;

	q->https = strcmp(value, "doh") == 0;
	q->tls = q->https || strcmp(value, "dot") == 0;
	q->tcp = q->tls || strcmp(value, "tcp") == 0;
	if (q->tcp || strcmp(value, "udp") == 0)
		return 0;
	return as_refuse(
		r, "-%c %s: not a transport (udp, tcp, dot or doh)", r->row->letter, value);
}

static int set_uri(struct as_run *r, const char *value)
{
	const char *host = strncasecmp(value, "https://", 8) == 0 ? value + 8 : "";

	if (strcspn(host, "/") == 0)
		return as_refuse(r, "-O doh-uri=%s: not a URI (https://HOST/PATH)", value);
	((struct queries *)r)->uri = arena_strdup(r->arena, host);
	return 0;
}

static int set_method(struct as_run *r, const char *value)
{
	bool post = strcasecmp(value, "POST") == 0;

	((struct queries *)r)->post = post;
	if (!post && strcasecmp(value, "GET") != 0)
		return as_refuse(r, "-O doh-method=%s: not a method (GET or POST)", value);
	return 0;
}

static int set_sni(struct as_run *r, const char *value)
{
	((struct queries *)r)->sni = arena_strdup(r->arena, value);
	return 0;
}

static int set_per_connection(struct as_run *r, const char *value)
{
	return as_number(r, r->row->letter, value, 1, 1u << 30, &((struct queries *)r)->per_conn);
}

// Like in dnsperf, a prefix of the name suffices.
static int check_suppressed(struct as_run *r, const char *value)
{
	static const char *const names[] = {
		"timeouts", "congestion", "sendfailed", "sockready", "unexpected"};
	size_t len;

	for (;; value += len + 1) {
		bool known = false;

		len = strcspn(value, ",");
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			known |= strncmp(value, names[i], len) == 0;
		if (!known || len == 0)
			return as_refuse(
				r, "unknown message type to suppress: %.*s", (int)len, value);
		if (!value[len])
			break;
	}
	as_note(r, "-O suppress has no effect: there are no such messages");
	return 0;
}

// Includes long options of 2.11 to 2.14: options without a check here have a reason for being
// ignored.
static const struct long_option {
	const char *name, *ignored;
	int (*set)(struct as_run *r, const char *value);
} long_options[] = {
	{"suppress", .set = check_suppressed},
	{"num-queries-per-conn", .set = set_per_connection},
	{"doh-uri", .set = set_uri},
	{"doh-method", .set = set_method},
	{"tls-sni", .set = set_sni},
	{"verbose-interval-stats", .ignored = "--json OUT has all figures of intervals"},
	{"latency-histogram", .ignored = "--json OUT has the histogram"},
	{"qps-threshold-wait", .ignored = "each query is sent at its own time"},
};

int queries_set_long(struct as_run *r, const char *value)
{
	size_t len = strcspn(value, "=");

	for (size_t i = 0; i < sizeof(long_options) / sizeof(long_options[0]); i++) {
		const struct long_option *o = &long_options[i];

		if (strlen(o->name) != len || strncmp(value, o->name, len) != 0)
			continue;
		if (o->set)
			return value[len] && value[len + 1]
			               ? o->set(r, value + len + 1)
			               : as_refuse(
						 r, "-O %s: no value (%s=VALUE)", o->name, o->name);
		as_note(r, "-O %s has no effect: %s", o->name, o->ignored);
		return 0;
	}
	return as_refuse(r, "-O %s: no long option of %s 2.14", value, r->tool->name);
}

// Queries waiting for their timeout need distinct IDs, and a connection has 65536.
static double least_connections(const struct queries *q)
{
	const char *timeout = front_get(&q->is.front, "traffic.queries.timeout");
	double most_s = timeout ? strtod(timeout, NULL) : 1;

	return ceil(q->most_per_s * most_s * IDS_SPARE / 65536);
}

// By HTTPS: where the server's part of the URI and the path go.
static void set_https(struct queries *q)
{
	struct front *f = &q->is.front;
	const char *uri = q->uri ? q->uri : "localhost/dns-query", *path = strchr(uri, '/');
	char mark = path && strchr(path, '?') ? '&' : '?';

	front_set(f, NULL, HTTPS ".method", q->post ? "post" : "get");
	front_set(f, "-O doh-uri", HTTPS ".authority",
		arena_printf(q->is.arena, "%.*s", (int)strcspn(uri, "/"), uri));
	front_set(f, "-O doh-uri", HTTPS ".path",
		arena_printf(q->is.arena, "%s{%cdns}", path ? path : "/", mark));
}

static void set_transport(struct queries *q)
{
	struct as_run *r = &q->is;
	double least = q->https ? 1 : least_connections(q); // its messages have no ID

	if (!q->tcp && q->per_conn > 0)
		as_note(r, "-O num-queries-per-conn has no effect: UDP has no connections");
	if (!q->tls && q->sni)
		as_note(r, "-O tls-sni has no effect without dot or doh, which are over TLS");
	if (!q->https && (q->uri || q->post))
		as_note(r, "-O doh-uri and -O doh-method have no effect without doh");
	if (!q->tcp)
		return;
	q->clients = fmax(q->clients, 1);
	if (q->clients < least)
		as_note(r,
			"%.0f connections instead of %.0f, as one has 65536 IDs for a timeout (a "
			"shorter one, -t, needs fewer)",
			least, q->clients);
	q->clients = fmax(q->clients, least);
	front_set(&r->front, NULL, "traffic.queries.dns.transport",
		q->https ? "https"
		: q->tls ? "tls"
			 : "tcp");
	if (q->https)
		set_https(q);
	else if (q->tls) // neither tool offers a protocol
		front_set(&r->front, NULL, TLS ".alpn", "none");
	if (q->tls && q->sni)
		front_set(&r->front, "-O tls-sni", TLS ".name", q->sni);
	front_setf(&r->front, NULL, "traffic.queries.dns.tcp.connections", "%.0f", q->clients);
	if (q->per_conn > 0)
		front_setf(&r->front, NULL, "traffic.queries.dns.tcp.queries_per_connection",
			"%.0f", q->per_conn);
}

// The secret is passed in a file in memory, because settings are stored in the result.
static void set_secret(struct queries *q)
{
	struct as_run *r = &q->is;

	if (!q->secret)
		return;
	if (!r->options->dump) {
		front_setf(&r->front, "-y", KEY ".secret_file", "/proc/self/fd/%d", q->secret);
		return;
	}
	front_set(&r->front, "-y", KEY ".secret_file", "tsig.key");
	as_note(r, "the secret of -y is not printed: write it into tsig.key");
}

int queries_finish(struct as_run *r, const char *server_option, const char *file_option)
{
	struct queries *q = (struct queries *)r;
	struct addr_server server;

	if (front_look_up(&r->front, q->server, q->family, &server))
		return r->tool->error_code;
	front_set(&r->front, arena_printf(r->arena, "%s %s", server_option, q->server),
		"traffic.queries.server", front_server(&r->front, &server));
	q->address = server.addr;
	snprintf(q->link, sizeof(q->link), "%s", server.link);
	front_set(&r->front, arena_printf(r->arena, "%s %s", file_option, q->file), file_setting(q),
		q->file);
	set_transport(q);
	set_secret(q);
	return 0;
}

// Use dnsperf's words for a line that it does not send.
static void warn_of_line(void *ctx, const char *line, size_t len, const struct dns_text_error *e)
{
	size_t name = strcspn(line, BLANKS), type = name + strspn(line + name, BLANKS);
	struct dns_text_error ignored;
	uint8_t wire[DNS_NAME_MAX];

	if (!name || type >= len)
		as_note(ctx, "Warning: invalid query input format: %.*s", (int)len, line);
	else if (dns_name_from_text(line, name, wire, &ignored) < 0)
		as_note(ctx, "Warning: invalid domain name (or out of space): %.*s", (int)name,
			line);
	else
		as_note(ctx, "Warning: invalid qtype: %.*s", (int)strcspn(line + type, BLANKS),
			line + type);
}

// Warns of an update that cannot be sent.
static void warn_of_update(void *ctx, const char *line, size_t len, const struct dns_text_error *e)
{
	size_t word = strcspn(line, BLANKS), name = word + strspn(line + word, BLANKS);
	const char *reason =
		strcspn(line + name, BLANKS) > DNS_NAME_MAX ? "domain name too large" : e->reason;
	int shown = (int)len;

	if (strcmp(e->reason, DNS_NO_SEND) == 0) {
		as_note(ctx, "Warning: incomplete update: %.*s", shown, line);
	} else if (strcmp(e->reason, DNS_NO_COMMAND) == 0) {
		as_note(ctx, "Warning: invalid update command: %.*s", shown, line);
		as_note(ctx, "Warning: error processing update command: %.*s", shown, line);
	} else if (dns_updates_is_command(line, word)) {
		as_note(ctx, "Warning: invalid update command, %s: %.*s", reason, shown, line);
	} else {
		as_note(ctx, "Warning: Unable to parse domain name %.*s", shown, line);
	}
}

static void warn_of_message(void *ctx, const char *line, size_t len, const struct dns_text_error *e)
{
	as_note(ctx, "Warning: failed to send packet: %s", e->reason);
}

// Replace standard input by a copy in memory if the stream can be read only once. 0 or the exit
// code.
static int keep_stream(struct queries *q)
{
	struct as_run *r = &q->is;
	struct diag *d = diag_new();
	int fd = input_open(q->file, NULL, d);
	struct stat s;

	if (fd < 0)
		diag_print(d, stderr);
	diag_free(d);
	if (fd < 0)
		return as_refuse(r, "Error: unable to open file: %s", q->file);
	if (strcmp(q->file, "-") == 0 || stat(q->file, &s) < 0 || !S_ISREG(s.st_mode)) {
		dup2(fd, STDIN_FILENO);
		q->file = "-";
		front_set(&r->front, NULL, file_setting(q), q->file);
	}
	close(fd);
	return 0;
}

// As in the plan, except for options.
static uint32_t updates_limit(const struct queries *q)
{
	const char *size = front_get(&q->is.front, EDNS ".size");

	return q->tcp ? UINT16_MAX : size ? (uint32_t)strtoul(size, NULL, 10) : 512;
}

static int load(struct queries *q, struct dns_queries *to, struct diag *d)
{
	struct dns_skip skip = {q->updates  ? warn_of_update
				: q->binary ? warn_of_message
					    : warn_of_line,
		&q->is};
	const struct dns_wire_form wire = {.ports = {53}, .stream = q->tcp, .skip = &skip};
	static const struct dns_opt none;
	const struct dns_form form = {
		.class = 1, .two_words = true, .every_opt = true, .skip = &skip, .opt = &none};
	struct arena *a = arena_new();
	int err;

	if (q->updates)
		err = dns_updates_load_file(to, updates_limit(q), &skip, q->file, NULL, d);
	else if (q->binary)
		err = dns_queries_load_wire(to, NULL, &wire, q->file, NULL, a, d);
	else
		err = dns_queries_load_file(to, &form, q->file, NULL, d);
	arena_free(a);
	return err;
}

int queries_count(struct as_run *r, uint64_t *count)
{
	struct queries *q = (struct queries *)r;
	struct dns_queries all = {0};
	struct diag *d;
	int err;

	*count = 0;
	if (strcmp(q->file, "-") == 0 && r->options->dump)
		return as_refuse(r, "--dump needs the number of queries (give a file)");
	err = keep_stream(q);
	if (err)
		return err;
	d = diag_new();
	err = load(q, &all, d);
	if (strcmp(q->file, "-") == 0)
		lseek(STDIN_FILENO, 0, SEEK_SET);
	*count = all.count;
	err = err && !all.used; // every reason has been warned of
	dns_queries_free(&all);
	if (err && q->binary)
		diag_print(d, stderr);
	diag_free(d);
	return err ? as_refuse(r, "Error: input file contains no data") : 0;
}

int queries_set_edns(struct as_run *r, const char *value)
{
	as_default(r, EDNS ".size", "4096");
	return 0;
}

int queries_set_do(struct as_run *r, const char *value)
{
	front_set_yaml(&r->front, "-D", EDNS ".do", "true");
	return queries_set_edns(r, value);
}

int queries_set_key(struct as_run *r, const char *value)
{
	struct queries *q = (struct queries *)r;
	char *secret = strrchr(value, ':'), *name;
	size_t len;

	if (!secret)
		return as_refuse(r, "-y: invalid TSIG [alg:]name:secret");
	if (!secret[1])
		return as_refuse(r, "-y: unable to setup TSIG, secret empty");
	len = strlen(++secret);
	if (q->secret)
		close(q->secret);
	q->secret = memfd_create("key", MFD_CLOEXEC);
	if (q->secret < 0 || write(q->secret, secret, len) != (ssize_t)len)
		return as_refuse(r, "-y: %s", strerror(errno));
	memset(secret, 'x', len);
	name = arena_printf(r->arena, "%.*s", (int)(secret - value - 1), value);
	value = strchr(name, ':') ? strsep(&name, ":") : "hmac-md5";
	if (strlen(name) > DNS_NAME_MAX)
		return as_refuse(r, "-y: unable to setup TSIG, name too long");
	if (!*name || strchr(name, ':'))
		return as_refuse(r, "-y: invalid TSIG [alg:]name:secret");
	front_set(&r->front, "-y", KEY ".algorithm", value);
	front_set(&r->front, "-y", KEY ".name", name);
	return 0;
}

// The first two characters that are not two hex digits; NULL: none.
static const char *bad_hex(const char *digits)
{
	for (; *digits; digits += 2)
		if (!isxdigit((uint8_t)digits[0]) || !isxdigit((uint8_t)digits[1]))
			return digits;
	return NULL;
}

int queries_set_option(struct as_run *r, const char *value)
{
	const char *colon = strchr(value, ':'), *bad;
	int code = colon ? (int)(colon - value) : 0;

	if (!colon)
		return as_refuse(r, "-E: invalid EDNS Option, must be code:value");
	if (!colon[1])
		return as_refuse(r, "-E: invalid EDNS Option, value is empty");
	if (strlen(colon + 1) % 2)
		return as_refuse(r, "-E: invalid EDNS Option, value must hex string (even number "
				    "of characters)");
	if (code == 0 || strspn(value, "0123456789") != (size_t)code)
		return as_refuse(r, "-E: invalid EDNS Option code '%.*s'", code, value);
	bad = bad_hex(colon + 1);
	if (bad)
		return as_refuse(r, "-E: invalid EDNS Option hex value '%.2s'", bad);
	front_set_yaml(&r->front, arena_printf(r->arena, "-E %s", value), EDNS ".options",
		arena_printf(r->arena, "[{code: %.*s, hex: \"%s\"}]", code, value, colon + 1));
	return queries_set_edns(r, value);
}

// 0 means the minimum.
int queries_set_timeout(struct as_run *r, const char *value)
{
	char *end;
	double s = strtod(value, &end);

	if (end == value || *end || !(s >= 0))
		return as_refuse(r, "-t %s: not a number of seconds", value);
	front_take(&r->front, FRONT_SECONDS, arena_printf(r->arena, "-t %s", value),
		"traffic.queries.timeout", s < TIMEOUT_LEAST_S ? "100us" : value);
	return 0;
}

// Warnings go to standard output even if they concern options before -W.
void queries_begin(struct as_run *r)
{
	for (int i = 1; i < r->argc; i++)
		if (strcmp(r->argv[i], "-W") == 0)
			dup2(STDOUT_FILENO, STDERR_FILENO);
}

int queries_prepare(struct as_run *r, const char *title, const char *timeout)
{
	struct queries *q = (struct queries *)r;

	if (!r->options->dump)
		printf("%s\nVersion %s\n\n", title, r->tool->version);
	fflush(stdout);
	if (r->operand_count)
		return as_refuse(r, "unexpected argument %s", r->operands[0]);
	q->server = q->server ? q->server : "127.0.0.1";
	q->file = q->file ? q->file : "-";
	front_set(&r->front, NULL, "run.warmup", "0s");
	as_default(r, "ports.lan.driver", "socket");
	as_default(r, "traffic.queries.dns.extra_words", "ignore");
	as_default(r, "traffic.queries.dns.bad_lines", "skip");
	as_default(r, "traffic.queries.timeout", timeout);
	return 0;
}

const char *queries_command_line(const struct as_run *r)
{
	const char *line = r->tool->name;

	for (int i = 1; i < r->argc; i++)
		line = arena_printf(r->arena, "%s %s", line, r->argv[i]);
	return line;
}

const char *queries_server(const struct as_run *r, const json_t *begin)
{
	const json_t *item = json_array_get(document_at(begin, "result.config.traffic"), 0);
	const char *server = document_text(item, "server");
	double port = document_number(item, "server_port");
	const struct queries *q = (const struct queries *)r;
	int usual = q->https ? 443 : q->tls ? 853 : 53;

	return arena_printf(r->arena, strchr(server, ':') ? "[%s]:%.0f" : "%s:%.0f", server,
		port > 0 ? port : usual);
}

json_t *queries_figures(const struct as_run *r, const json_t *item)
{
	double completed = document_computed(item, "answered + failed");
	double connected = document_number(item, "connections.established"), n;
	json_t *out = json_copy((json_t *)item), *count;
	const char *name, *codes = "";

	json_object_foreach((json_t *)document_at(item, "dns.rcode"), name, count)
	{
		n = json_number_value(count);
		if (n > 0)
			codes = arena_printf(r->arena, "%s%s%s %.0f (%.2f%%)", codes,
				*codes ? ", " : "", name, n, 100 * n / completed);
	}
	json_object_update_new(
		out, json_pack("{s:s,s:f,s:f,s:f,s:f}", "codes", codes, "completed", completed,
			     "lost", document_computed(item, "lost + no_reply"), "run_s",
			     fmax(document_computed(item, "sending_s"),
				     completed > 0 ? document_computed(item, "last_answer_s") : 0),
			     "reconnections",
			     fmax(connected - ((const struct queries *)r)->clients, 0)));
	return out;
}

json_t *queries_handshakes(const json_t *item)
{
	static const char *const names[] = {"mean_ns", "min_ns", "max_ns", "stddev_ns"};
	const json_t *tcp = document_at(item, "connections.handshake"),
		     *tls = document_at(item, "connections.tls.full_time");
	json_t *both = json_copy((json_t *)tcp);

	for (size_t i = 0; tls && i < sizeof(names) / sizeof(names[0]); i++) {
		double a = document_number(tcp, names[i]), b = document_number(tls, names[i]);

		json_object_set_new(both, names[i],
			json_real(strcmp(names[i], "stddev_ns") == 0 ? hypot(a, b) : a + b));
	}
	return both;
}

const char *queries_statuses(const struct as_run *r, const json_t *item)
{
	const char *name, *text = "";
	json_t *count;

	json_object_foreach((json_t *)document_at(item, "connections.http.status"), name, count)
		text = arena_printf(r->arena, "%s%s%s: %.0f", text, *text ? ", " : "",
			strcmp(name, "other") == 0 ? "unknown" : name, json_number_value(count));
	return text;
}

void queries_explain(const struct as_run *r, const struct document_reader *b)
{
	json_t *reason;
	size_t i;

	json_array_foreach((json_t *)document_at(b->document, "verdict.reasons"), i, reason)
		as_note(r, "%s", json_string_value(reason));
}
