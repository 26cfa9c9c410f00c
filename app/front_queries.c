// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "front_queries.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "commands.h"

#define EDNS    "traffic.queries.dns.edns"
#define QUERIES "traffic.queries.dns.queries"
#define WIRE    "traffic.queries.dns.wire"
#define UPDATES "traffic.queries.dns.updates"

#define IDS_SPARE 1.1 // the plan's own, and some more

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

int queries_set_server(struct as_run *r, const char *value)
{
	((struct queries *)r)->server = value;
	return 0;
}

int queries_set_file(struct as_run *r, const char *value)
{
	((struct queries *)r)->file = value;
	return 0;
}

int queries_set_binary(struct as_run *r, const char *value)
{
	((struct queries *)r)->binary = true;
	return 0;
}

int queries_set_updates(struct as_run *r, const char *value)
{
	((struct queries *)r)->updates = true;
	return 0;
}

// The setting that names the file.
static const char *file_setting(const struct queries *q)
{
	return q->updates ? UPDATES : q->binary ? WIRE : QUERIES;
}

int queries_set_mode(struct as_run *r, const char *value)
{
	((struct queries *)r)->tcp = strcmp(value, "tcp") == 0;
	if (strcmp(value, "tcp") == 0 || strcmp(value, "udp") == 0)
		return 0;
	return as_refuse(
		r, "-%c %s: only udp and tcp (others are not built yet)", r->row->letter, value);
}

int queries_set_long(struct as_run *r, const char *value)
{
	static const char per_conn[] = "num-queries-per-conn=";

	if (strncmp(value, "suppress=", 9) == 0) {
		as_note(r, "-O %s has no effect: there are no such messages", value);
		return 0;
	}
	if (strncmp(value, per_conn, sizeof(per_conn) - 1) == 0)
		return as_number(r, r->row->letter, value + sizeof(per_conn) - 1, 1, 1u << 30,
			       &((struct queries *)r)->per_conn)
		               ? r->tool->error_code
		               : 0;
	return as_refuse(
		r, "-O %s: not built yet, or no long option of %s 2.10", value, r->tool->name);
}

// Queries of a timeout have IDs of their own, and a connection has 65536.
static double least_connections(const struct queries *q)
{
	const char *timeout = front_get(&q->is.front, "traffic.queries.timeout");
	double most_s = timeout ? strtod(timeout, NULL) : 1;

	return ceil(q->most_per_s * most_s * IDS_SPARE / 65536);
}

static void set_transport(struct queries *q)
{
	struct as_run *r = &q->is;
	double least = least_connections(q);

	if (!q->tcp && q->per_conn > 0)
		as_note(r, "-O num-queries-per-conn has no effect: UDP has no connections");
	if (!q->tcp)
		return;
	q->clients = fmax(q->clients, 1);
	if (q->clients < least)
		as_note(r,
			"%.0f connections instead of %.0f, as one has 65536 IDs for a timeout (a "
			"shorter one, -t, needs fewer)",
			least, q->clients);
	q->clients = fmax(q->clients, least);
	front_set(&r->front, NULL, "traffic.queries.dns.transport", "tcp");
	front_set(&r->front, NULL, "traffic.queries.dns.tcp.connections",
		arena_printf(r->arena, "%.0f", q->clients));
	if (q->per_conn > 0)
		front_set(&r->front, NULL, "traffic.queries.dns.tcp.queries_per_connection",
			arena_printf(r->arena, "%.0f", q->per_conn));
}

int queries_set_warnings(struct as_run *r, const char *value)
{
	return dup2(STDOUT_FILENO, STDERR_FILENO) < 0 ? r->tool->error_code : 0;
}

int queries_finish(struct as_run *r, const char *server_option, const char *file_option)
{
	struct queries *q = (struct queries *)r;
	char address[ADDR_TEXT_SIZE];
	struct addr addr;
	int err = front_look_up(&r->front, q->server, q->family, &addr);

	if (err)
		return r->tool->error_code;
	addr_format(&addr, address, sizeof(address));
	front_set(&r->front, arena_printf(r->arena, "%s %s", server_option, q->server),
		"traffic.queries.server", address);
	q->address = addr;
	front_set(&r->front, arena_printf(r->arena, "%s %s", file_option, q->file), file_setting(q),
		q->file);
	set_transport(q);
	return 0;
}

// A copy of standard input, which can be read twice. The descriptor, or -errno.
static int keep_input(void)
{
	char buf[65536];
	int fd = memfd_create("queries", 0);
	ssize_t len;

	if (fd < 0)
		return -errno;
	while ((len = read(STDIN_FILENO, buf, sizeof(buf))) > 0)
		if (write(fd, buf, (size_t)len) != len) {
			len = -1;
			break;
		}
	if (len == 0)
		return fd;
	close(fd);
	return -EIO;
}

static uint64_t count_lines(FILE *f)
{
	char *line = NULL;
	size_t room = 0;
	uint64_t count = 0;

	while (getline(&line, &room, f) > 0)
		count += line[strspn(line, " \t\r\n")] && line[0] != ';';
	free(line);
	return count;
}

static uint64_t count_updates(FILE *f)
{
	char *line = NULL, word[6], rest;
	size_t room = 0;
	uint64_t count = 0;

	while (getline(&line, &room, f) > 0)
		count += sscanf(line, "%5s %c", word, &rest) == 1 && strcasecmp(word, "send") == 0;
	free(line);
	return count;
}

static uint64_t count_messages(FILE *f)
{
	uint8_t len[2];
	uint64_t count = 0;

	while (fread(len, 1, sizeof(len), f) == sizeof(len) &&
		fseek(f, len[0] << 8 | len[1], SEEK_CUR) == 0)
		count++;
	return count;
}

int queries_count(struct as_run *r, uint64_t *count)
{
	struct queries *q = (struct queries *)r;
	const char *name = q->file;
	FILE *f;
	int fd;

	*count = 0;
	if (strcmp(q->file, "-") == 0) {
		if (r->options->dump)
			return as_refuse(r, "--dump needs the number of queries (give a file)");
		fd = keep_input();
		if (fd < 0)
			return as_refuse(r, "standard input: %s", strerror(-fd));
		q->file = arena_printf(r->arena, "/proc/self/fd/%d", fd);
		front_set(&r->front, NULL, file_setting(q), q->file);
		name = "standard input";
	}
	f = fopen(q->file, "re");
	if (!f)
		return as_refuse(r, "unable to open file: %s", name);
	*count = q->updates ? count_updates(f) : q->binary ? count_messages(f) : count_lines(f);
	fclose(f);
	return *count ? 0 : as_refuse(r, "%s: no query in it", name);
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

int queries_set_option(struct as_run *r, const char *value)
{
	const char *colon = strchr(value, ':');
	const char *digits = "0123456789abcdefABCDEF";

	if (!colon || strspn(value, "0123456789") != (size_t)(colon - value) || colon == value ||
		!colon[1] || colon[1 + strspn(colon + 1, digits)] || strlen(colon + 1) % 2)
		return as_refuse(r, "-E %s: not CODE:VALUE, a number and hex digits", value);
	front_set_yaml(&r->front, arena_printf(r->arena, "-E %s", value), EDNS ".options",
		arena_printf(r->arena, "[{code: %.*s, hex: \"%s\"}]", (int)(colon - value), value,
			colon + 1));
	return queries_set_edns(r, value);
}

void queries_print_head(const struct as_run *r, const char *title)
{
	printf("%s\nVersion %s\n\n", title, r->tool->version);
	fflush(stdout);
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
	const json_t *item = json_array_get(book_at(begin, "result.config.traffic"), 0);
	const char *server = book_text(item, "server");
	double port = book_number(item, "server_port");

	return arena_printf(r->arena, strchr(server, ':') ? "[%s]:%.0f" : "%s:%.0f", server,
		port > 0 ? port : 53);
}

double queries_reconnections(const struct as_run *r, const json_t *item)
{
	return fmax(
		book_number(item, "connections.established") - ((const struct queries *)r)->clients,
		0);
}

void queries_print_codes(const json_t *item, double completed)
{
	const char *name, *comma = "";
	json_t *count;

	json_object_foreach((json_t *)book_at(item, "dns.rcode"), name, count)
	{
		double n = json_number_value(count);

		if (n > 0)
			printf("%s%s %.0f (%.2f%%)", comma, name, n, 100 * n / completed);
		comma = n > 0 ? ", " : comma;
	}
	putchar('\n');
}

double queries_seconds(const json_t *latency, const char *member)
{
	double ns = book_number(latency, member);

	return ns > 0 ? 1e-9 * ns : 0;
}

void queries_explain(const struct as_run *r, const struct book *b)
{
	json_t *reason;
	size_t i;

	json_array_foreach((json_t *)book_at(b->document, "verdict.reasons"), i, reason)
		as_note(r, "%s", json_string_value(reason));
}
