// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Management thread.
#include "engine/run/around/peer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "proto/table.h"
#include "base/log.h"

#define ANSWER_MAX 65536
#define PATIENCE_S 5

// --- the text ---

// Of rows of counts: each with its name in the text.
struct walk {
	const char *prefix;
	FILE *out;        // write to it
	const char *text; // or read from it
	uint32_t found;
};

static void number_read(struct walk *w, const char *name, uint64_t *value)
{
	size_t len = strlen(name);

	for (const char *at = w->text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, name, len) == 0 && at[len] == '=') {
			*value = strtoull(at + len + 1, NULL, 10);
			w->found++;
			return;
		}
	}
}

static void number(struct walk *w, const char *row, const char *label, uint64_t *value)
{
	char name[256];

	snprintf(name, sizeof(name), "%s%s%s%s", w->prefix, row, *label ? "." : "", label);
	if (w->out)
		fprintf(w->out, "%s=%llu\n", name, (unsigned long long)*value);
	else
		number_read(w, name, value);
}

static void numbers(struct walk *w, const struct counter_section *s, void *data)
{
	for (uint32_t i = 0; i < s->count; i++) {
		const struct counter *r = &s->rows[i];
		uint64_t *value = (uint64_t *)((char *)data + r->offset);

		for (uint32_t n = 0; r->type == COUNTER_ARRAY && n < r->length; n++)
			number(w, r->name, r->label(n), &value[n]);
		if (r->type == COUNTER_U64)
			number(w, r->name, "", value);
	}
}

#define NUMBER(member, help) number(w, #member, "", &r->member);

static void totals(struct walk *w, struct result_responder *r)
{
	RESPONDER_COUNTERS(NUMBER, NUMBER)
}

void peer_write(FILE *out, const struct result_responder *r)
{
	const struct result_responder_protocol *p = r->protocols.items;
	struct result_responder copy = *r;

	totals(&(struct walk){.prefix = "", .out = out}, &copy);
	for (uint32_t i = 0; i < r->protocols.count; i++) {
		char prefix[64];

		snprintf(prefix, sizeof(prefix), "%s.", p[i].name);
		numbers(&(struct walk){.prefix = prefix, .out = out}, p[i].counters.section,
			(void *)p[i].counters.data);
	}
}

void peer_read(const char *text, struct arena *a, struct result_responder *out)
{
	struct result_responder_protocol *list = arena_zalloc(a, proto_count() * sizeof(*list));

	*out = (struct result_responder){.protocols = {list, 0}};
	totals(&(struct walk){.prefix = "", .text = text}, out);
	for (uint32_t i = 0; protos[i]; i++) {
		const struct counter_section *s =
			protos[i]->server ? protos[i]->server->counters : NULL;
		void *data = s ? arena_zalloc(a, s->size) : NULL;
		struct walk w = {.prefix = arena_printf(a, "%s.", protos[i]->name), .text = text};

		if (s)
			numbers(&w, s, data);
		if (w.found)
			list[out->protocols.count++] =
				(struct result_responder_protocol){protos[i]->name, {s, data}};
	}
}

// --- asking ---

static int send_all(int fd, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		ssize_t n = send(fd, text, left, MSG_NOSIGNAL);

		if (n < 0)
			return -errno;
		text += n;
		left -= (size_t)n;
	}
	return 0;
}

// Up to the end of the connection.
static int receive_all(int fd, char *to, size_t room)
{
	size_t len = 0;
	ssize_t n;

	do {
		n = recv(fd, to + len, room - 1 - len, 0);
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0 && len < room - 1);
	to[len] = '\0';
	return n < 0 ? -errno : 0;
}

int peer_exchange(int fd, const char *request, char *answer, size_t room)
{
	int rc = send_all(fd, request);

	return rc ? rc : receive_all(fd, answer, room);
}

// The body of an answer with status 200, NULL and a reason otherwise.
static const char *body_of(const char *answer, const char **what)
{
	const char *body = strstr(answer, "\r\n\r\n");

	*what = "it is no responder of ddiperf";
	if (strncmp(answer, "HTTP/1.", 7) != 0 || strlen(answer) < 12 || !body)
		return NULL;
	*what = strncmp(answer + 9, "401", 3) == 0 ? "it has another token" : *what;
	return strncmp(answer + 9, "200", 3) == 0 ? body + 4 : NULL;
}

static int ask(const struct control_place *place, const char *token, char *answer)
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	char request[CONTROL_TOKEN_SIZE + 128];
	int fd = socket(place->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	snprintf(request, sizeof(request),
		"GET " CONTROL_PATH
		" HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n",
		token);
	rc = connect(fd, (const struct sockaddr *)&place->addr, place->len) < 0 ? -errno : 0;
	rc = rc ? rc : peer_exchange(fd, request, answer, ANSWER_MAX);
	close(fd);
	return rc;
}

int peer_ask(const struct control_settings *s, struct arena *a, struct result_responder *out)
{
	char token[CONTROL_TOKEN_SIZE], *answer = arena_zalloc(a, ANSWER_MAX);
	struct control_place place;
	const char *what = NULL, *body = NULL;
	int rc = control_place(s->address, &place, &what);

	if (rc == 0 && control_token("dut.control.token", s->token, token) < 0)
		return -EINVAL; // logged
	if (rc == 0)
		rc = ask(&place, token, answer);
	if (rc == 0)
		body = body_of(answer, &what);
	else
		what = what ? what : strerror(-rc);
	if (!body) {
		log_error("dut.control: %s does not tell its counters: %s", s->address, what);
		return -EIO;
	}
	peer_read(body, a, out);
	return 0;
}

// --- both sides ---

static uint64_t replies_of(const struct ledger *l)
{
	return l->answered + l->failed + l->late + l->duplicate + l->stray + l->malformed;
}

static double share(uint64_t of, uint64_t arrived)
{
	return of ? ((double)of - (double)arrived) / (double)of : 0;
}

struct result_peer *peer_result(const struct plan *p, const struct result_responder *before,
	const struct result_responder *now, struct arena *a)
{
	struct result_responder_protocol *list =
		arena_zalloc(a, (now->protocols.count + 1) * sizeof(*list));
	const struct result_responder_protocol *from = before->protocols.items,
					       *to = now->protocols.items;
	struct result_peer *out = arena_zalloc(a, sizeof(*out));
	bool whole = fleet_weight(p->config) == 0; // of a part, merging tells

	for (uint32_t i = 0; i < p->item_count; i++)
		for (uint32_t k = 0; k < p->items[i].worker_count; k++) {
			const struct worker_item *it = plan_run(&p->items[i], k);

			whole = whole && it->proto->step_count == 1;
			for (int b = 0; b < 2; b++) {
				out->sent += it->books.ledger[b].sent;
				out->replies += replies_of(&it->books.ledger[b]);
			}
		}
	out->received = now->received - before->received;
	out->answered = now->answered - before->answered;
	out->loss_there = whole ? share(out->sent, out->received) : NAN;
	out->loss_back = whole ? share(out->answered, out->replies) : NAN;
	for (uint32_t i = 0; i < now->protocols.count; i++) {
		const struct counter_section *s = to[i].counters.section;
		void *data = arena_zalloc(a, s->size);
		bool same = i < before->protocols.count && strcmp(from[i].name, to[i].name) == 0;

		if (same)
			counter_difference(
				data, to[i].counters.data, from[i].counters.data, s->size);
		else
			memcpy(data, to[i].counters.data, s->size);
		list[i] = (struct result_responder_protocol){to[i].name, {s, data}};
	}
	out->protocols = (struct counter_list){list, now->protocols.count};
	return out;
}
