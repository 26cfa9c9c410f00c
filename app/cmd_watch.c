// SPDX-License-Identifier: BSD-3-Clause
// ddiperf watch [RUN]: finds the socket of a run in progress, and shows its lines (run_events.h).
// The run does not know its watchers. Path: cold. Main thread.
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/log.h"
#include "document/document_reader.h"
#include "run/commands.h"
#include "format/interval_format.h"
#include "io/driver/state.h"
#include "follow/run_events.h"
#include "report/report.h"
#include "process/signals.h"
#include "stats/text.h"
#include "report/terminal.h"

#define RUNS     64
#define BEGIN_MS 1000 // to wait for the first line of a run
#define TICK_MS  50

struct watched {
	uint64_t pid;
	int fd; // -1: the run is gone
	char *text;
	size_t len;
	json_t *begin; // its first line; NULL: the run has not begun
};

static int connect_to(const char *path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) < sizeof(name.sun_path))
		strcpy(name.sun_path, path);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)&name, sizeof(name)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

// Read more text of the run within that time. false: the run is gone.
static bool hear(struct watched *w, int ms)
{
	struct pollfd p = {.fd = w->fd, .events = POLLIN};
	char part[65536], *more;
	ssize_t got;

	if (poll(&p, 1, ms) <= 0)
		return true;
	got = read(w->fd, part, sizeof(part));
	if (got <= 0)
		return got < 0 && errno == EINTR;
	more = realloc(w->text, w->len + (size_t)got);
	if (!more)
		return false;
	w->text = more;
	memcpy(more + w->len, part, (size_t)got);
	w->len += (size_t)got;
	return true;
}

// The next whole line, or NULL.
static json_t *next_line(struct watched *w)
{
	const char *end = w->len ? memchr(w->text, '\n', w->len) : NULL;
	json_t *line = NULL;

	while (end && !line) {
		size_t len = (size_t)(end - w->text) + 1;

		line = json_loadb(w->text, len, 0, NULL);
		w->len -= len;
		memmove(w->text, w->text + len, w->len);
		end = w->len ? memchr(w->text, '\n', w->len) : NULL;
	}
	return line;
}

static void leave(struct watched *w)
{
	if (w->fd >= 0)
		close(w->fd);
	free(w->text);
	json_decref(w->begin);
	*w = (struct watched){.fd = -1};
}

static void ask_what(struct watched *w)
{
	for (int ms = 0; !w->begin && ms < BEGIN_MS && hear(w, TICK_MS); ms += TICK_MS)
		w->begin = next_line(w);
}

// All runs in progress of this user.
static uint32_t find_runs(struct watched *runs)
{
	uint64_t pids[RUNS];
	uint32_t found, count = 0;
	char dir[256], path[512];

	if (state_directory(dir, sizeof(dir)) < 0)
		return 0;
	found = state_sockets(dir, pids, RUNS);
	for (uint32_t i = 0; i < found && i < RUNS; i++) {
		state_socket(dir, pids[i], path, sizeof(path));
		runs[count] = (struct watched){.pid = pids[i], .fd = connect_to(path)};
		count += runs[count].fd >= 0;
	}
	state_leave_directory(dir);
	return count;
}

static bool is_wanted(const struct watched *w, const char *run)
{
	const char *id = document_text(w->begin, "result.run.id");
	char pid[24];

	snprintf(pid, sizeof(pid), "%" PRIu64, w->pid);
	return strcmp(run, pid) == 0 || (*id && strncmp(id, run, strlen(run)) == 0);
}

static void list_runs(const struct watched *runs, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		fprintf(stderr, "  %8" PRIu64 "  %-36s  %s\n", runs[i].pid,
			runs[i].begin ? document_text(runs[i].begin, "result.run.id") : "(begins)",
			document_text(runs[i].begin, "result.run.name"));
}

// Move the wanted run to the front. false: no run matches, or several do, which was reported.
static bool choose(struct watched *runs, uint32_t count, const char *wanted)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < count && (wanted || count > 1); i++) {
		struct watched one = runs[i];

		ask_what(&one);
		runs[i] = one;
		if (wanted && is_wanted(&one, wanted)) {
			runs[i] = runs[found];
			runs[found++] = one;
		}
	}
	if (wanted ? found == 1 : count == 1)
		return true;
	if (!count)
		log_error("watch: no test is running (you can watch only your own)");
	else if (!wanted)
		log_error("watch: %u tests are running; name one (process, id, name):", count);
	else if (found)
		log_error("watch: %s is the id of %u runs:", wanted, found);
	else
		log_error("watch: no such run: %s; these are running (process, id, name):", wanted);
	list_runs(runs, count);
	return false;
}

// --- the view ---

struct watching {
	struct report report;
	struct interval_format format;
	struct run_events live;
	struct view view;
	bool ended;
	char verdict[32]; // set at the end
};

static void print_trial(FILE *out, const json_t *line)
{
	char rate[32], loss[32], answer[32];
	const json_t *known = json_object_get(line, "answer");

	fprintf(out, "trial %.0f: %s, loss %s: %s; answer so far %s\n",
		document_number(line, LINE_TRIAL),
		stats_format(document_number(line, "rate"), NULL, rate, sizeof(rate)),
		stats_format(document_number(line, "loss"), "1", loss, sizeof(loss)),
		document_text(line, "verdict"),
		json_is_null(known)
			? "none"
			: stats_format(json_number_value(known), NULL, answer, sizeof(answer)));
	fflush(out);
}

// Show the lines of the run other than intervals.
static void tell(void *ctx, const json_t *line)
{
	struct watching *w = ctx;

	if (json_object_get(line, LINE_END)) {
		w->ended = true;
		snprintf(w->verdict, sizeof(w->verdict), "%s",
			document_text(line, "result.verdict.status"));
	}
	if (w->report.live || w->format.text)
		return;
	if (json_object_get(line, LINE_BEGIN))
		printf("run %.0f: %s, %s\n", document_number(line, LINE_BEGIN),
			document_text(line, "result.run.name"),
			document_text(line, "result.run.id"));
	else if (json_object_get(line, LINE_TRIAL) && *document_text(line, "verdict"))
		print_trial(stdout, line);
}

// Returns when the run has ended or is gone, or when the user leaves.
static int show(struct watched *run, const char *format)
{
	struct watching w = {.format = {.text = format, .out = stdout}};
	bool there = true;
	json_t *line;

	report_init(&w.report, stdout, false);
	w.report.live &= !format;
	run_events_follow(&w.live, (struct run_events_follower){tell, .ctx = &w});
	run_events_follow(
		&w.live, format ? interval_format_follower(&w.format)
				: (struct run_events_follower){report_line, .ctx = &w.report});
	if (w.report.live) {
		terminal_open(&w.view, stdout, "q: leave");
		run_events_follow(&w.live, (struct run_events_follower){view_line, .ctx = &w.view});
		run_events_follow(&w.live, terminal_follower());
	}
	if (run->begin)
		run_events_put(&w.live, json_incref(run->begin));
	while (!w.ended && there && !interrupt_count && !ferror(stdout)) {
		there = hear(run, TICK_MS);
		while ((line = next_line(run)))
			run_events_put(&w.live, line);
		run_events_tick(&w.live);
	}
	run_events_close(&w.live);
	view_free(&w.view);
	if (w.ended && !format)
		printf("the run has ended: %s\n", w.verdict);
	if (there || w.ended)
		return EXIT_PASS;
	log_error("watch: the run is gone");
	return EXIT_ENVIRONMENT;
}

int cmd_watch(const struct options *o)
{
	struct watched runs[RUNS];
	uint32_t count;
	int code = EXIT_ENVIRONMENT;

	if (o->intervals && interval_format_check(o->intervals) < 0)
		return EXIT_CONFIG;
	count = find_runs(runs);
	signals_count();
	if (choose(runs, count, o->operand))
		code = show(&runs[0], o->intervals);
	else if (count)
		code = EXIT_CONFIG;
	for (uint32_t i = 0; i < count; i++)
		leave(&runs[i]);
	return code;
}
