// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Management thread.
#include "engine/run/around/peer.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/log.h"
#include "engine/result/result_read.h"

#define ANSWER_MAX 65536
#define PATIENCE_S 5

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

// Reads until the connection ends.
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

// Returns the counters of a response with status 200; otherwise NULL and the reason.
static json_t *counters_of(const char *answer, const char **what)
{
	const char *body = strstr(answer, "\r\n\r\n");
	bool is_http = strncmp(answer, "HTTP/1.", 7) == 0 && strlen(answer) >= 12 && body;
	json_t *counters;

	if (is_http && strncmp(answer + 9, "401", 3) == 0) {
		*what = "it has another token";
		return NULL;
	}
	counters = is_http && strncmp(answer + 9, "200", 3) == 0 ? json_loads(body + 4, 0, NULL)
	                                                         : NULL;
	if (!counters)
		*what = "it is not a responder of this version of ddiperf";
	return counters;
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
	const char *what = NULL;
	json_t *counters = NULL;
	int rc = control_place(s->address, &place, &what);

	if (rc == 0 && control_token("dut.control.token", s->token, token) < 0)
		return -EINVAL; // logged
	if (rc == 0)
		rc = ask(&place, token, answer);
	if (rc == 0)
		counters = counters_of(answer, &what);
	else
		what = what ? what : strerror(-rc);
	*out = (struct result_responder){0};
	if (counters)
		rc = result_read(&result_responder_section, counters, out, a, &what);
	if (!counters || rc < 0)
		log_error("dut.control: %s does not report its counters: %s", s->address, what);
	json_decref(counters);
	return !counters || rc < 0 ? -EIO : 0;
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
	bool whole = fleet_weight(p->config) == 0; // the losses of a part follow from the merge

	for (uint32_t i = 0; i < p->item_count; i++)
		for (uint32_t k = 0; k < p->items[i].worker_count; k++) {
			const struct worker_item *it = plan_run(&p->items[i], k);

			whole = whole && !it->proto->steps;
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
		bool same = i < before->protocols.count && from[i].counters.section == s;
		void *data;

		if (!s) // a protocol that this program does not have
			continue;
		data = arena_zalloc(a, s->size);
		memcpy(data, to[i].counters.data, s->size);
		if (same)
			counter_difference(
				data, to[i].counters.data, from[i].counters.data, s->size);
		list[out->protocols.count++] =
			(struct result_responder_protocol){to[i].name, {s, data}};
	}
	out->protocols.items = list;
	return out;
}
