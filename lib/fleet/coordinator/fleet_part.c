// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "document/document_reader.h"
#include "fleet/fleet_ask.h"
#include "fleet/coordinator/fleet_internal.h"
#include "fleet/agent_files.h"
#include "follow/run_events.h"

#define AGAIN_MS   1000 // before an order that was not taken is sent again
#define ORDER_MOST 5    // times
#define LINE_MAX   (64u << 20)
#define SILENT_MS  1000 // at least, without a message of an agent that beats
#define SILENT     2    // intervals without one
#define TOO_MUCH   "it sent more than 1 GiB of events, the most that is kept (raise run.interval)"
#define BACK_MS    1000 // for an agent to find a server that is back: it tries twice a second

void fleet_part_trouble(struct fleet_part *p, int code, const char *fmt, ...)
{
	size_t len;
	va_list ap;

	if (*p->trouble) // the first one is the cause of the others
		return;
	len = (size_t)snprintf(p->trouble, sizeof(p->trouble), "agent %s (part %llu): ", p->name,
		(unsigned long long)p->number);
	va_start(ap, fmt);
	vsnprintf(p->trouble + len, sizeof(p->trouble) - len, fmt, ap);
	va_end(ap);
	p->trouble_code = code;
	log_error("%s", p->trouble);
}

// --- events

static void on_begin(struct fleet_part *p, const json_t *line)
{
	json_decref(p->begin);
	p->begin = json_incref(json_object_get(line, "result"));
	p->hz = document_number(p->begin, "run.host.tsc_hz");
}

static void on_interval(struct fleet_part *p, json_t *line)
{
	json_array_append(p->intervals, line);
	p->number_last = (uint64_t)json_integer_value(json_object_get(line, LINE_NUMBER));
	p->interval_ms = clock_steady_ms();
}

static void on_failed(struct fleet_part *p, const json_t *line)
{
	const char *text = document_text(line, "text");

	fleet_part_trouble(p, talk_code(json_object_get(line, "failed")), "%s",
		*text ? text : "the run failed there");
}

static void on_started(struct fleet_part *p, const json_t *line)
{
	p->started = true;
	p->started_ns = json_integer_value(json_object_get(line, "at_ns"));
}

// Handles events of the child that are not lines of a run (run_child.h).
static bool is_of_led(struct fleet_part *p, const json_t *line)
{
	if (json_object_get(line, "up"))
		p->up = true;
	else if (json_object_get(line, "failed"))
		on_failed(p, line);
	else if (json_object_get(line, "ready"))
		p->ready = true;
	else if (json_object_get(line, "started"))
		on_started(p, line);
	else if (json_object_get(line, "result"))
		p->ended |= json_object_get(line, "file") != NULL;
	else if (json_object_get(line, "over"))
		p->over = true;
	else
		return json_object_get(line, "refused") && !json_object_get(line, LINE_ORDER);
	// The line of a begin or an end has a member "result" too.
	return !json_object_get(line, LINE_BEGIN) && !json_object_get(line, LINE_END);
}

// All parts have the same reason, as each has the same file.
static void on_order(const struct fleet_part *p, const json_t *line)
{
	const char *refused = document_text(line, "refused");

	if (*refused && p->number == 1)
		log_warning("order %s: %s", document_text(line, LINE_ORDER), refused);
}

static void hear_line(struct fleet_part *p, const char *text, size_t len)
{
	json_t *line = talk_read(text, len);

	if (!line) {
		fleet_part_trouble(p, EXIT_INVALID, "it sent a message that cannot be parsed");
		return;
	}
	if (!is_of_led(p, line)) {
		if (p->kept)
			fprintf(p->kept, "%.*s\n", (int)len, text);
		if (json_object_get(line, LINE_BEGIN))
			on_begin(p, line);
		else if (json_object_get(line, LINE_ORDER))
			on_order(p, line);
		else if (json_object_get(line, LINE_NUMBER))
			on_interval(p, line);
	}
	json_decref(line);
}

static void hear_octets(struct fleet_part *p, const char *octets, size_t count)
{
	if (p->len + count > LINE_MAX) {
		fleet_part_trouble(p, EXIT_INVALID, "it sent a line that does not end");
		return;
	}
	if (p->len + count > p->room) {
		p->room = 2 * (p->len + count);
		p->line = realloc(p->line, p->room);
		if (!p->line)
			abort(); // as for JSON
	}
	memcpy(p->line + p->len, octets, count);
	p->len += count;
	p->have += count;
	if (p->have > AGENT_FILES_SIZE_MAX)
		fleet_part_trouble(p, EXIT_INVALID, TOO_MUCH);
	for (char *end; (end = memchr(p->line, '\n', p->len));) {
		size_t line = (size_t)(end - p->line);

		hear_line(p, p->line, line);
		p->len -= line + 1;
		memmove(p->line, end + 1, p->len);
	}
}

static void beat(void *ctx)
{
	char subject[TALK_SUBJECT];
	struct fleet *f = ctx;

	if (clock_steady_ms() - f->beat_ms < TALK_BEAT_MS)
		return;
	f->beat_ms = clock_steady_ms();
	bus_publish(f->bus, talk_run(subject, f->id, "beat"), "", 0);
}

// Like fleet_ask_piece, with beats: agents end their runs if the coordinator is silent, however
// long a request takes.
static char *read_piece(
	struct fleet_part *p, const char *file, uint64_t from, const char **octets, size_t *count)
{
	const struct fleet_ask q = {
		p->fleet->bus, p->name, p->fleet->id, file, p->fleet->run->signals, beat, p->fleet};

	return fleet_ask_piece(&q, from, octets, count);
}

// Reads the pieces lost between the last piece and this one.
static void read_missing(struct fleet_part *p, uint64_t until)
{
	const char *octets;
	size_t count;
	char *reply;

	while (p->have < until && !*p->trouble) {
		reply = read_piece(p, TALK_EVENTS, p->have, &octets, &count);
		if (!reply || count == 0)
			fleet_part_trouble(p, EXIT_INVALID, "events that it sent are lost");
		else
			hear_octets(p, octets, count);
		free(reply);
	}
}

void fleet_part_hear(void *ctx, const struct bus_message *m)
{
	struct fleet_part *p = ctx;
	const char *octets;
	uint64_t from;
	size_t count, known;

	if (p->have > AGENT_FILES_SIZE_MAX ||
		!talk_get_piece(m->data, m->size, &from, &octets, &count))
		return;
	p->heard_ms = clock_steady_ms();
	if (from > p->have)
		read_missing(p, from);
	if (from > p->have || from + count <= p->have)
		return;
	known = (size_t)(p->have - from);
	hear_octets(p, octets + known, count - known);
}

// --- its clock

void fleet_part_hear_clock(void *ctx, const struct bus_message *m)
{
	struct fleet_part *p = ctx;
	struct fleet_clock_told told;

	if (fleet_clock_read(m->data, &told))
		fleet_clock_add(&p->clock, &told, m->at_ns);
}

void fleet_part_ask_clock(struct fleet_part *p)
{
	char subject[TALK_SUBJECT], text[32];

	talk_agent(subject, p->name, "time");
	bus_ask(p->fleet->bus, subject, p->inbox, text,
		(size_t)snprintf(text, sizeof(text), "%lld", (long long)fleet_clock_ns()));
}

// --- orders and results

// The agent recognises a repetition by its number.
static void send_order(struct fleet_part *p)
{
	const char *text = p->orders[0];
	char subject[TALK_SUBJECT];

	talk_agent(subject, p->name, "order");
	bus_ask(p->fleet->bus, subject, p->order_inbox, text, strlen(text));
	p->order_ms = clock_steady_ms();
	p->order_tries++;
}

static void drop_order(struct fleet_part *p)
{
	free(p->orders[0]);
	memmove(p->orders, p->orders + 1, --p->order_count * sizeof(p->orders[0]));
	p->order_number++;
	p->order_tries = 0;
}

static void drop_orders(struct fleet_part *p)
{
	while (p->order_count)
		drop_order(p);
}

void fleet_part_tell(struct fleet_part *p, json_t *order)
{
	uint64_t number = p->order_number + p->order_count;

	if (p->order_count == FLEET_ORDERS) {
		json_decref(order);
		fleet_part_trouble(p, EXIT_INVALID, "it takes no order");
		return;
	}
	p->orders[p->order_count++] = talk_text(json_pack("{s:s, s:I, s:o}", "run", p->fleet->id,
		"number", (json_int_t)number, "order", order));
	if (p->order_count == 1)
		send_order(p);
}

void fleet_part_taken(void *ctx, const struct bus_message *m)
{
	struct fleet_part *p = ctx;
	json_t *said = talk_read(m->data, m->size);
	const json_t *number = json_object_get(said, "number");

	if (p->order_count && json_is_integer(number) &&
		(uint64_t)json_integer_value(number) == p->order_number) {
		bool taken = json_is_true(json_object_get(said, "taken"));

		drop_order(p);
		if (!taken && !p->over)
			fleet_part_trouble(p, EXIT_INVALID, "it takes no order");
		if (p->order_count)
			send_order(p);
	}
	json_decref(said);
}

// The connection to it, or its own, may have been down.
static void press_order(struct fleet_part *p)
{
	uint64_t now = clock_steady_ms();

	if (p->order_count == 0)
		return;
	if (!bus_is_up(p->fleet->bus))
		p->order_ms = now;
	if (now < p->order_ms + AGAIN_MS)
		return;
	if (p->order_tries < ORDER_MOST && !*p->trouble) {
		send_order(p);
		return;
	}
	drop_orders(p);
	fleet_part_trouble(p, EXIT_INVALID, "it takes no order");
}

static void drop_lines(struct fleet_part *p)
{
	if (p->kept) {
		fclose(p->kept);
		unlink(p->path);
	}
	p->kept = NULL;
}

void fleet_part_begin(struct fleet_part *p)
{
	int fd;

	fleet_part_forget(p);
	p->ready = p->started = p->ended = false;
	p->sent_ns = 0;
	p->number_last = 0;
	p->interval_ms = clock_steady_ms();
	p->intervals = json_array();
	strcpy(p->path, "/tmp/ddiperf-part-XXXXXX");
	fd = mkstemp(p->path);
	p->kept = fd < 0 ? NULL : fdopen(fd, "w+e");
}

void fleet_part_forget(struct fleet_part *p)
{
	drop_lines(p);
	drop_orders(p);
	json_decref(p->begin);
	json_decref(p->intervals);
	p->begin = p->intervals = NULL;
}

static int fetch(struct fleet_part *p, json_t **document)
{
	char file[32], *text = NULL;
	size_t size = 0, count = 1;
	const char *octets;
	FILE *f = open_memstream(&text, &size);
	uint64_t from = 0;
	char *reply;

	if (!f)
		return -ENOMEM;
	snprintf(file, sizeof(file), "run-%llu.json", (unsigned long long)p->fleet->number);
	while (count) {
		reply = from > AGENT_FILES_SIZE_MAX ? NULL
		                                    : read_piece(p, file, from, &octets, &count);
		if (!reply)
			break;
		fwrite(octets, 1, count, f);
		from += count;
		free(reply);
	}
	fclose(f);
	*document = count ? NULL : talk_read(text, size);
	free(text);
	return *document ? 0 : -EIO;
}

int fleet_part_book(struct fleet_part *p, struct document_reader *out)
{
	json_t *document = NULL;
	int rc;

	if (p->ended && fetch(p, &document) == 0) {
		reader_take(out, p->name, document);
		return 0;
	}
	if (!p->begin || !p->kept || fflush(p->kept) != 0)
		return -ENOENT;
	rc = reader_open(out, p->path);
	if (rc == 0)
		out->file = p->name;
	return rc;
}

// --- all parts while runs are made

// An agent beats five times a second, and has two intervals to do so.
static void note_silence(struct fleet *f)
{
	uint64_t most = SILENT * f->config->run.interval_ns / 1000000;
	uint64_t now = clock_steady_ms();

	most = most < SILENT_MS ? SILENT_MS : most;
	for (unsigned i = 0; i < f->count; i++) {
		struct fleet_part *p = &f->parts[i];

		if (!bus_is_up(f->bus)) // the connection to them is down
			p->heard_ms = now + BACK_MS;
		if (!p->claimed || p->over || *p->trouble || now <= p->heard_ms + most)
			continue;
		fleet_part_trouble(p, EXIT_INVALID, "no message from it for %.1f s",
			1e-3 * (double)(now - p->heard_ms));
	}
}

void fleet_tick(struct fleet *f, unsigned ms)
{
	beat(f);
	bus_tick(f->bus, ms);
	for (unsigned i = 0; i < f->count; i++)
		press_order(&f->parts[i]);
	note_silence(f);
}
