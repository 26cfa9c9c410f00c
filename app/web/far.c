// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "web/far.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "web/api.h"
#include "base/log.h"
#include "document/document_reader.h"
#include "engine/run/around/peer.h"
#include "io/sockets/sockets_shared.h"

#define ANSWER_MAX (4 << 20)
#define PATIENCE_S 10
#define READY_MS   20000 // until the responder listens
#define END_MS     20000 // until it has ended
#define LEASE_S    30    // lifetime after the last request for it
#define KEEP_MS    5000
#define POLL_MS    50
#define FILE_NAME  "far-end"
#define READY      "port " FAR_PORT ": " // in its log

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int connect_to(const struct addr *host, uint16_t port)
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	union socket_addr to;
	socklen_t len = socket_addr_make(&to, host->bytes, host->len, port, 0);
	int fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, &to.any, len) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

// The code of the answer, with its body at *body in text (ANSWER_MAX); 0: invalid, which was
// logged.
static int read_answer(const struct far *f, char *text, const char **body)
{
	char *end = strstr(text, "\r\n\r\n");

	if (strncmp(text, "HTTP/1.", 7) != 0 || !end) {
		log_error("%s: not an answer of HTTP", f->at.host);
		return 0;
	}
	*body = end + 4;
	return atoi(text + 9);
}

// path: below API. Returns the code, 0 after an error, which was logged. The caller frees the
// answer.
static int ask(const struct far *f, const char *method, const char *path, const char *body,
	char **answer, const char **text)
{
	char host[ADDR_TEXT_SIZE];
	bool v6 = f->at.addr.len == 16;
	const char *request = arena_printf(f->arena,
		"%s " API "%s HTTP/1.0\r\nHost: %s%s%s:%u\r\n" HTTP_HEADER
		": 1\r\nContent-Length: %zu\r\n%s%s%s\r\n%s",
		method, path, v6 ? "[" : "", addr_format(&f->at.addr, host, sizeof(host)),
		v6 ? "]" : "", f->at.port, strlen(body), f->token ? "Authorization: Bearer " : "",
		f->token ? f->token : "", f->token ? "\r\n" : "", body);
	int fd = connect_to(&f->at.addr, f->at.port), rc = fd < 0 ? fd : 0;

	*answer = malloc(ANSWER_MAX);
	if (!*answer)
		abort();
	if (fd >= 0) {
		rc = peer_exchange(fd, request, *answer, ANSWER_MAX);
		close(fd);
	}
	if (rc == 0)
		return read_answer(f, *answer, text);
	log_error("%s port %u: %s (ddiperf serve --listen 0.0.0.0:%u --token FILE is the far end)",
		host, f->at.port, strerror(-rc), f->at.port);
	return 0;
}

// The answer as JSON, a new reference. NULL: not the wanted code, which was logged.
static json_t *ask_json(
	const struct far *f, const char *method, const char *path, const char *body, int wanted)
{
	const char *text = "";
	char *answer;
	int code = ask(f, method, path, body, &answer, &text);
	json_t *json = code ? json_loads(text, 0, NULL) : NULL;

	if (code && (code != wanted || !json)) {
		const char *why = document_text(json, "error");

		log_error("%s port %u: %s (%d)", f->at.host, f->at.port,
			code == 401 ? "another token is wanted"
			: *why      ? why
				    : "not an answer of ddiperf serve",
			code);
		json_decref(json);
		json = NULL;
	}
	free(answer);
	return json;
}

// IDs of remote runs consist of letters, digits and punctuation.
static bool take_id(struct far *f, const json_t *started)
{
	const char *id = document_text(started, "id");

	if (!*id || strlen(id) >= sizeof(f->id) ||
		id[strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-")])
		return false;
	strcpy(f->id, id);
	return true;
}

static const char *run_path(const struct far *f, const char *more)
{
	return arena_printf(f->arena, "/runs/%s%s", f->id, more);
}

// NULL: the request failed.
static json_t *state_of(struct far *f)
{
	f->looked_ms = now_ms();
	return ask_json(f, "GET", run_path(f, ""), "", 200);
}

// *said: the last line in the run's log, or "".
static bool is_over(struct far *f, const char **said)
{
	json_t *state = state_of(f);
	bool over = !state || strcmp(document_text(state, "status"), "running") != 0;

	*said = arena_strdup(f->arena, document_text(state, "said"));
	json_decref(state);
	return over;
}

// Its ports are open once they are named in the log.
static bool is_ready(const struct far *f)
{
	const char *text = "";
	char *answer;
	bool ready = ask(f, "GET", run_path(f, "/log"), "", &answer, &text) == 200 &&
	             strstr(text, READY);

	free(answer);
	return ready;
}

static int wait_until_ready(struct far *f)
{
	uint64_t until = now_ms() + READY_MS;
	const char *said;

	while (now_ms() < until) {
		if (is_ready(f))
			return 0;
		if (is_over(f, &said)) {
			log_error("%s: the responder has ended: %s", f->at.host, said);
			return -EIO;
		}
		poll(NULL, 0, POLL_MS);
	}
	log_error("%s: the responder does not begin", f->at.host);
	return -ETIMEDOUT;
}

void far_measure(struct far *f)
{
	struct cpu_times *to = f->measured ? &f->last : &f->first;
	const char *text = "";
	char *answer;

	if (ask(f, "GET", "/cpu", "", &answer, &text) == 200 && cpu_parse(text, to)) {
		f->again = f->measured;
		f->measured = true;
	}
	free(answer);
}

void far_keep(struct far *f)
{
	if (f->id[0] && now_ms() - f->looked_ms > KEEP_MS)
		json_decref(state_of(f));
}

static const char *file_path(const struct far *f)
{
	return arena_printf(f->arena, "/files/%s", f->file);
}

// End it unless it has ended.
static void stop(struct far *f)
{
	uint64_t until = now_ms() + END_MS;
	const char *said;

	if (!is_over(f, &said))
		json_decref(ask_json(f, "POST", run_path(f, "/stop"), "", 200));
	while (now_ms() < until && !is_over(f, &said))
		poll(NULL, 0, POLL_MS);
}

// Delete it and its file there.
static void forget(struct far *f)
{
	json_decref(ask_json(f, "DELETE", run_path(f, ""), "", 200));
	json_decref(ask_json(f, "DELETE", file_path(f), "", 200));
	f->id[0] = '\0';
}

int far_open(struct far *f, const char *yaml, uint16_t port)
{
	char body[128];
	json_t *answer;

	f->id[0] = '\0';
	snprintf(f->file, sizeof(f->file), FILE_NAME "-%u.yaml", port);
	answer = ask_json(f, "PUT", file_path(f), yaml, 200);
	if (!answer)
		return -EIO;
	json_decref(answer);
	snprintf(body, sizeof(body), "{\"file\": \"%s\", \"respond\": %d}", f->file, LEASE_S);
	answer = ask_json(f, "POST", "/runs", body, 201);
	if (!answer || !take_id(f, answer)) {
		json_decref(answer);
		return -EIO;
	}
	json_decref(answer);
	if (wait_until_ready(f) == 0)
		return 0;
	stop(f);
	forget(f);
	return -EIO;
}

json_t *far_close(struct far *f)
{
	json_t *result;

	if (!f->id[0])
		return NULL;
	stop(f);
	result = ask_json(f, "GET", run_path(f, "/result"), "", 200);
	forget(f);
	return result;
}

#define SHARE(member, help) json_object_set_new(dut, #member, json_real(use.member));

json_t *far_cpu(const struct far *f)
{
	struct result_cpu_use use;
	json_t *dut;

	if (!f->again)
		return NULL;
	use = cpu_use(&f->first, &f->last);
	if (!isfinite(use.used))
		return NULL;
	dut = json_pack("{s:s, s:i, s:I}", "format", "proc_stat", "cpus", (int)f->first.cpus,
		"busiest", (json_int_t)use.busiest);
	CPU_SHARES(SHARE)
	return dut;
}
