// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread (open, tick, close) | threads of libmicrohttpd.
#include "web/runs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "document/document_reader.h"
#include "io/driver/state.h"
#include "process/orders.h"
#include "process/supervise.h"
#include "web/runs_ports.h"
#include "stats/json.h"

#define SHOWN      500   // in the list
#define START_MS   30000 // for the main thread to start a run
#define HISTORY_MS 60000
#define TICK_MS    20
#define LEFT_S     300 // for runs of a killed server to end

struct active {
	char id[RUNS_ID_SIZE];
	struct supervised child;
	uint64_t until_ms; // when a responder ends unless renewed; 0: a run ends by itself
	unsigned lease_ms;
	json_t *ports; // reserved for this run
	json_t *state;
};

struct wanted {
	const struct child *child; // NULL: none
	bool done;
	int rc;
	struct supervised started;
};

struct runs {
	char *dir;
	int claim; // lock of the folder
	bool commands;
	pthread_mutex_t lock; // protects the following
	pthread_cond_t told;
	struct active active[RUNS_ACTIVE_MAX];
	unsigned count;
	// For the main thread: runs that a killed server left, which end by themselves, and the
	// times for checking them.
	json_t *left;
	time_t left_at, left_until;
	struct wanted wanted;
	bool over;
};

static void fail(struct runs_error *e, unsigned code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void fail(struct runs_error *e, unsigned code, const char *fmt, ...)
{
	va_list ap;

	e->code = code;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
}

const char *runs_path(const struct runs *r, char buf[RUNS_PATH], const char *fmt, ...)
{
	int len = snprintf(buf, RUNS_PATH, "%s/", r->dir);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf + len, (size_t)(RUNS_PATH - len), fmt, ap);
	va_end(ap);
	return buf;
}

bool runs_allow_commands(const struct runs *r)
{
	return r->commands;
}

int runs_read(const struct runs *r, const char *path)
{
	char buf[RUNS_PATH];

	return open(runs_path(r, buf, "%s", path), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

static void stamp(time_t at, const char *format, char *buf, size_t room)
{
	struct tm tm;

	gmtime_r(&at, &tm);
	strftime(buf, room, format, &tm);
}

// --- states

static void save_state(const struct runs *r, const char *id, json_t *state)
{
	char path[RUNS_PATH], draft[RUNS_PATH + 8];

	runs_path(r, path, "runs/%s.json", id);
	snprintf(draft, sizeof(draft), "%s.new", path);
	if (json_dump_file(state, draft, JSON_INDENT(1)) < 0 || rename(draft, path) < 0)
		log_error("serve: %s: %s", path, strerror(errno));
}

static struct active *find_active(struct runs *r, const char *id)
{
	for (unsigned i = 0; i < r->count; i++)
		if (strcmp(r->active[i].id, id) == 0)
			return &r->active[i];
	return NULL;
}

// A file that a run has written; NULL: none, or no object.
static json_t *load_output(const struct runs *r, const char *id, const char *name)
{
	char path[RUNS_PATH];
	json_t *output = json_load_file(runs_path(r, path, "runs/%s/%s", id, name), 0, NULL);

	if (json_is_object(output))
		return output;
	json_decref(output);
	return NULL;
}

static bool is_campaign(const json_t *state)
{
	return json_object_get(state, "campaign") != NULL;
}

static bool is_running(const json_t *state)
{
	return strcmp(document_text(state, "status"), "running") == 0;
}

// Add the progress so far; once the campaign has ended, its verdict is the state's, too.
static void put_progress(const struct runs *r, const char *id, json_t *state)
{
	static const char *const members[] = {"verdict", "running", "done", "of"};
	json_t *table = load_output(r, id, RUNS_TABLE), *progress = json_object();

	for (size_t i = 0; table && i < sizeof(members) / sizeof(members[0]); i++)
		json_object_set(progress, members[i], json_object_get(table, members[i]));
	if (table)
		json_object_set(state, "name", json_object_get(table, "name"));
	// After a resumption the table still has the verdict of before at first.
	if (json_object_get(table, "exit_code") && !is_running(state))
		json_object_set(state, "verdict", json_object_get(table, "verdict"));
	json_object_set_new(state, "campaign", progress);
	json_decref(table);
}

static json_t *load_state(const struct runs *r, const char *id)
{
	char path[RUNS_PATH];
	json_t *state = json_load_file(runs_path(r, path, "runs/%s.json", id), 0, NULL);

	if (!json_is_object(state)) {
		json_decref(state);
		return NULL;
	}
	// Its server was killed.
	if (is_running(state))
		json_object_set_new(state, "status", json_string("lost"));
	return state;
}

json_t *runs_state(struct runs *r, const char *id)
{
	struct active *a;
	json_t *state = NULL;

	pthread_mutex_lock(&r->lock);
	a = find_active(r, id);
	if (a)
		state = json_deep_copy(a->state);
	pthread_mutex_unlock(&r->lock);
	if (!a)
		state = load_state(r, id);
	// The table of a lost one is from before its server was killed.
	if (is_campaign(state) && (a || strcmp(document_text(state, "status"), "lost") == 0))
		put_progress(r, id, state);
	return state;
}

static int newest_first(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*b)->d_name, (*a)->d_name);
}

static int is_state(const struct dirent *d)
{
	const char *dot = strrchr(d->d_name, '.');

	return dot && strcmp(dot, ".json") == 0;
}

json_t *runs_list(struct runs *r)
{
	struct dirent **found = NULL;
	char path[RUNS_PATH];
	json_t *list = json_array(), *state;
	int count = scandir(runs_path(r, path, "runs"), &found, is_state, newest_first);

	for (int i = 0; i < count; i++) {
		found[i]->d_name[strlen(found[i]->d_name) - strlen(".json")] = '\0';
		state = i < SHOWN ? runs_state(r, found[i]->d_name) : NULL;
		if (state)
			json_array_append_new(list, state);
		free(found[i]);
	}
	free(found);
	return list;
}

void runs_active(struct runs *r, struct runs_ids *out)
{
	pthread_mutex_lock(&r->lock);
	out->count = r->count;
	for (unsigned i = 0; i < r->count; i++)
		strcpy(out->id[i], r->active[i].id);
	pthread_mutex_unlock(&r->lock);
}

// --- the end of a run

// The few figures shown in a list.
static void put_figures(const struct runs *r, const char *id, json_t *state)
{
	json_t *result = load_output(r, id, "result.json");
	double answered = 0, sent = 0, lost = 0, p99 = NAN;
	const json_t *item;
	size_t i;

	if (!result)
		return;
	json_array_foreach(json_object_get(result, "traffic"), i, item)
	{
		double one = document_number(item, "latency.response.p99_ns");

		answered += document_number(item, "answered_per_s");
		sent += document_number(item, "sent");
		lost += document_number(item, "lost");
		p99 = fmax(p99, one); // ignores items without one
	}
	json_object_set_new(state, "name", json_string(document_text(result, "run.name")));
	json_object_set_new(state, "verdict", json_string(document_text(result, "verdict.status")));
	json_object_set_new(state, "answered_per_s", json_real(answered));
	json_object_set_new(state, "loss", json_real(sent > 0 ? lost / sent : 0));
	json_object_set_new(state, "p99_ns", stats_number("p99_ns", p99));
	json_decref(result);
}

// The last line of its log: the reason for a run without a result.
static void put_last_line(const struct runs *r, const char *id, json_t *state)
{
	char path[RUNS_PATH], line[1024], last[1024] = "";
	FILE *f = fopen(runs_path(r, path, "runs/%s/log.txt", id), "re");

	while (f && fgets(line, sizeof(line), f))
		if (line[strspn(line, " \n")])
			strcpy(last, line);
	if (f)
		fclose(f);
	last[strcspn(last, "\n")] = '\0';
	json_object_set_new(state, "said", json_string(last));
}

static void append_history(const struct runs *r, const char *id)
{
	char folder[RUNS_PATH];
	char *argv[] = {
		"ddiperf", "report", "result.json", "--append", "../../history.jsonl", NULL};
	struct child c = {argv, runs_path(r, folder, "runs/%s", id), -1, -1, STDERR_FILENO};
	pid_t pid;

	if (child_start(&c, &pid) == 0)
		child_wait(pid, HISTORY_MS);
}

static void forget(struct runs *r, const char *id)
{
	struct active *a = find_active(r, id);

	supervise_close(&a->child);
	json_decref(a->ports);
	json_decref(a->state);
	*a = r->active[--r->count];
	pthread_cond_broadcast(&r->told);
}

static bool has_result(const struct runs *r, const char *id)
{
	char path[RUNS_PATH];

	return access(runs_path(r, path, "runs/%s/result.json", id), R_OK) == 0;
}

static void save_end(struct runs *r, const char *id, json_t *state, int code)
{
	char now[32];

	stamp(time(NULL), "%Y-%m-%dT%H:%M:%SZ", now, sizeof(now));
	json_object_set_new(state, "status", json_string("ended"));
	json_object_set_new(state, "ended", json_string(now));
	json_object_set_new(state, "exit_code", json_integer(code));
	put_last_line(r, id, state);
	if (is_campaign(state)) {
		put_progress(r, id, state);
	} else if (has_result(r, id)) {
		put_figures(r, id, state);
		if (!json_is_true(json_object_get(state, "respond")))
			append_history(r, id);
	}
	save_state(r, id, state);
}

// Takes ownership of state.
static void note_end(struct runs *r, const char *id, json_t *state, int code)
{
	save_end(r, id, state, code);
	json_decref(state);
	pthread_mutex_lock(&r->lock);
	forget(r, id);
	pthread_mutex_unlock(&r->lock);
}

// --- runs of a killed server

// The run lost its orders, so it ends in order and its result has the outcome. false: not yet.
static bool save_left(struct runs *r, const char *id)
{
	json_t *state = load_state(r, id);
	json_t *result = load_output(r, id, is_campaign(state) ? RUNS_TABLE : "result.json");
	double code =
		document_number(result, is_campaign(state) ? "exit_code" : "verdict.exit_code");
	bool ended = isfinite(code), resumed;

	pthread_mutex_lock(&r->lock);
	resumed = find_active(r, id) != NULL;
	pthread_mutex_unlock(&r->lock);
	ended |= resumed;
	if (state && !resumed && ended && strcmp(document_text(state, "status"), "lost") == 0)
		save_end(r, id, state, (int)code);
	json_decref(result);
	json_decref(state);
	return ended;
}

static void look_at_left(struct runs *r)
{
	time_t now = time(NULL);

	if (now == r->left_at || !json_array_size(r->left))
		return;
	r->left_at = now;
	for (size_t i = json_array_size(r->left); i-- > 0;) {
		const char *id = json_string_value(json_array_get(r->left, i));

		if (save_left(r, id))
			json_array_remove(r->left, i);
	}
	if (now > r->left_until)
		json_array_clear(r->left);
}

static void find_left(struct runs *r)
{
	struct dirent **found = NULL;
	char path[RUNS_PATH];
	int count = scandir(runs_path(r, path, "runs"), &found, is_state, newest_first);

	r->left = json_array();
	r->left_until = time(NULL) + LEFT_S;
	for (int i = 0; i < count; i++) {
		json_t *state;

		found[i]->d_name[strlen(found[i]->d_name) - strlen(".json")] = '\0';
		state = load_state(r, found[i]->d_name);
		if (strcmp(document_text(state, "status"), "lost") == 0)
			json_array_append_new(r->left, json_string(found[i]->d_name));
		json_decref(state);
		free(found[i]);
	}
	free(found);
	look_at_left(r);
}

static void start_wanted(struct runs *r)
{
	struct wanted *w = &r->wanted;

	pthread_mutex_lock(&r->lock);
	if (w->child && !w->done) {
		w->rc = supervise_start(&w->started, w->child, false);
		w->done = true;
		pthread_cond_broadcast(&r->told);
	}
	pthread_mutex_unlock(&r->lock);
}

// Reap one run that has ended.
static bool reap(struct runs *r)
{
	json_t *state = NULL;
	char id[RUNS_ID_SIZE];
	int code;

	pthread_mutex_lock(&r->lock);
	for (unsigned i = 0; i < r->count && !state; i++) {
		struct active *a = &r->active[i];

		if (!supervise_ended(&a->child, &code))
			continue;
		strcpy(id, a->id);
		state = json_deep_copy(a->state);
	}
	pthread_mutex_unlock(&r->lock);
	if (state)
		note_end(r, id, state, code);
	return state != NULL;
}

// End responders whose client has gone or died.
static void end_unwanted(struct runs *r)
{
	pthread_mutex_lock(&r->lock);
	for (unsigned i = 0; i < r->count; i++) {
		struct active *a = &r->active[i];

		if (a->until_ms && a->child.pid && !a->child.signal_ms &&
			clock_steady_ms() >= a->until_ms)
			supervise_end(&a->child, true);
	}
	pthread_mutex_unlock(&r->lock);
}

void runs_look(struct runs *r, const char *id)
{
	struct active *a;

	pthread_mutex_lock(&r->lock);
	a = find_active(r, id);
	if (a && a->until_ms)
		a->until_ms = clock_steady_ms() + a->lease_ms;
	pthread_mutex_unlock(&r->lock);
}

void runs_tick(struct runs *r)
{
	start_wanted(r);
	end_unwanted(r);
	while (reap(r))
		;
	look_at_left(r);
}

// --- start

// A run in progress that uses any of these ports; NULL: none.
static const struct active *taken_by(const struct runs *r, const json_t *ports, const char **which)
{
	for (unsigned i = 0; i < r->count; i++) {
		*which = runs_ports_shared(r->active[i].ports, ports);
		if (*which)
			return &r->active[i];
	}
	return NULL;
}

// Reserve a place in the table, with the lock held; NULL: e has the reason.
static struct active *reserve(struct runs *r, json_t *ports, struct runs_error *e)
{
	const char *which;
	const struct active *other = taken_by(r, ports, &which);
	struct active *a = &r->active[r->count];

	if (r->over)
		fail(e, 503, "the server is ending");
	else if (other)
		fail(e, 409, "run %s is using the same port: %s (wait for its end, or stop it)",
			other->id, which);
	else if (r->count == RUNS_ACTIVE_MAX)
		fail(e, 409, "%d runs are in progress already", RUNS_ACTIVE_MAX);
	if (e->code)
		return NULL;
	*a = (struct active){.child = {.orders = -1, .events = -1}, .ports = json_incref(ports)};
	r->count++;
	return a;
}

static void name(struct active *a, const char *file, json_t *set)
{
	struct timespec t;
	char now[32];

	clock_gettime(CLOCK_REALTIME, &t);
	stamp(t.tv_sec, "%Y%m%d-%H%M%S", now, sizeof(now));
	// With the fraction of the second, so that names are in the order of the starts.
	snprintf(a->id, sizeof(a->id), "%s-%06ld", now, t.tv_nsec / 1000);
	stamp(t.tv_sec, "%Y-%m-%dT%H:%M:%SZ", now, sizeof(now));
	a->state = json_pack("{s:s, s:s, s:O, s:s, s:s}", "id", a->id, "file", file, "set", set,
		"started", now, "status", "running");
}

// The output of a run: a descriptor, or -errno.
static int open_log(const struct runs *r, const char *id)
{
	char path[RUNS_PATH];
	int out = open(runs_path(r, path, "runs/%s/log.txt", id),
		O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

	return out < 0 ? -errno : out;
}

// Create its copy of the file, and its output. Returns a descriptor of the latter, or -errno.
static int prepare(const struct runs *r, const char *id, const char *file)
{
	char from[RUNS_PATH], to[RUNS_PATH];
	int rc = file_copy(
		runs_path(r, from, "files/%s", file), runs_path(r, to, "runs/%s/run.yaml", id));

	return rc < 0 ? rc : open_log(r, id);
}

// Let the main thread start it. 0, or -errno; -ECANCELED: no more runs are started.
static int ask_main(struct runs *r, const struct child *c, struct supervised *started)
{
	struct timespec end;
	int rc = -ETIMEDOUT;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += START_MS / 1000;
	while (r->wanted.child && !r->over)
		if (pthread_cond_timedwait(&r->told, &r->lock, &end) == ETIMEDOUT)
			return rc;
	if (r->over)
		return -ECANCELED;
	r->wanted = (struct wanted){.child = c};
	while (!r->wanted.done && !r->over)
		if (pthread_cond_timedwait(&r->told, &r->lock, &end) == ETIMEDOUT)
			break;
	if (r->wanted.done)
		rc = r->wanted.rc;
	else if (r->over)
		rc = -ECANCELED;
	if (rc == 0)
		*started = r->wanted.started;
	r->wanted.child = NULL;
	pthread_cond_broadcast(&r->told);
	return rc;
}

enum kind { KIND_RUN, KIND_RESPOND, KIND_CAMPAIGN };

static int start_child(struct runs *r, enum kind kind, const char *id, const char *file,
	const char *const *more, unsigned count, int out, struct supervised *started)
{
	static const char *const commands[] = {"run", "respond", "campaign"};
	char name[256], run_id[96], folder[RUNS_PATH];
	const char *argv[RUNS_MORE + 16] = {"ddiperf", commands[kind]};
	struct child c = {(char *const *)argv, folder, -1, out, out};
	// The user's --set come first: the last of two wins.
	const char *const own[][9] = {{"--confined", "--json", "result.json", "--set", run_id,
					      "--set", "output.jsonl=live.jsonl", "--orders"},
		{"--confined", "--json", "result.json", "--set", run_id},
		{"--confined", "--set", "output.json=" RUNS_TABLE, "--set",
			"output.jsonl=live.jsonl", "--orders"}};
	unsigned n = 2;

	snprintf(run_id, sizeof(run_id), "run.id=%s", id);
	snprintf(name, sizeof(name), "../../files/%s", file);
	runs_path(r, folder, "runs/%s", id);
	for (unsigned i = 0; i < count; i++)
		argv[n++] = more[i];
	for (unsigned i = 0; own[kind][i]; i++)
		argv[n++] = own[kind][i];
	if (r->commands && kind != KIND_RESPOND)
		argv[n++] = "--allow-commands";
	argv[n++] = name;
	return ask_main(r, &c, started);
}

// With the lock held.
static void adopt(struct runs *r, struct active *a, struct supervised child)
{
	save_state(r, a->id, a->state);
	a->child = child;
	if (r->over) // runs_end did not know it
		supervise_end(&a->child, true);
}

static void fail_to_start(struct runs_error *e, int rc)
{
	fail(e, rc == -ECANCELED ? 503 : 500, "the run could not be started: %s",
		rc == -ECANCELED ? "the server is ending" : strerror(-rc));
}

void runs_start(struct runs *r, unsigned lease_s, const char *file, const char *const *more,
	unsigned count, json_t *fleet, char id[RUNS_ID_SIZE], struct runs_error *e)
{
	char path[RUNS_PATH], folder[RUNS_PATH];
	const char *from = runs_path(r, path, "files/%s", file);
	json_t *ports = fleet ? json_array() : runs_ports_of(from, more, count);
	json_t *set = json_array();
	enum kind kind = lease_s ? KIND_RESPOND : runs_is_campaign(from) ? KIND_CAMPAIGN : KIND_RUN;
	struct active *a;
	struct supervised child = {.orders = -1, .events = -1};
	int out = -1, rc = 0;
	bool made;

	for (unsigned i = 1; i < count; i += 2)
		if (strcmp(more[i - 1], "--set") == 0)
			json_array_append_new(set, json_string(more[i]));
	*e = (struct runs_error){0};
	pthread_mutex_lock(&r->lock);
	a = reserve(r, ports, e);
	if (a)
		name(a, file, set);
	json_decref(ports);
	json_decref(set);
	if (!a) {
		pthread_mutex_unlock(&r->lock);
		return;
	}
	snprintf(id, RUNS_ID_SIZE, "%s", a->id);
	made = mkdir(runs_path(r, folder, "runs/%s", id), 0777) == 0;
	rc = out = made ? prepare(r, id, file) : -errno;
	if (rc >= 0)
		rc = start_child(r, kind, id, file, more, count, out, &child);
	a = find_active(r, id); // the table may have changed meanwhile
	if (rc == 0) {
		if (lease_s) {
			a->lease_ms = 1000 * lease_s;
			a->until_ms = clock_steady_ms() + a->lease_ms;
			json_object_set_new(a->state, "respond", json_true());
		}
		if (fleet)
			json_object_set(a->state, "fleet", fleet);
		if (kind == KIND_CAMPAIGN)
			json_object_set_new(a->state, "campaign", json_object());
		adopt(r, a, child);
	} else {
		fail_to_start(e, rc);
		forget(r, id);
		if (made)
			state_remove_folder(folder);
	}
	pthread_mutex_unlock(&r->lock);
	if (out >= 0)
		close(out);
}

// The state of a campaign that can be resumed, as it is from now on; NULL: e has the reason.
static json_t *resumable(struct runs *r, const char *id, struct runs_error *e)
{
	static const char *const of_end[] = {"ended", "exit_code", "said", "verdict"};
	json_t *state = runs_state(r, id);
	const json_t *progress = json_object_get(state, "campaign");
	double of = document_number(progress, "of");
	char path[RUNS_PATH];

	if (!state)
		fail(e, 404, "there is no run %s", id);
	else if (!progress)
		fail(e, 409, "run %s is no campaign: start it anew", id);
	else if (is_running(state))
		fail(e, 409, "campaign %s is running", id);
	else if (document_number(progress, "done") >= of)
		fail(e, 409, "campaign %s has all of its %.0f repeats", id, of);
	else if (!runs_is_campaign(runs_path(r, path, "files/%s", document_text(state, "file"))))
		fail(e, 409, "%s is gone, or no campaign any more", document_text(state, "file"));
	if (e->code) {
		json_decref(state);
		return NULL;
	}
	for (size_t i = 0; i < sizeof(of_end) / sizeof(of_end[0]); i++)
		json_object_del(state, of_end[i]);
	json_object_set_new(state, "status", json_string("running"));
	return state;
}

void runs_resume(struct runs *r, const char *id, struct runs_error *e)
{
	struct supervised child = {.orders = -1, .events = -1};
	const char *more[RUNS_MORE], *file;
	json_t *state, *ports, *set;
	char path[RUNS_PATH];
	struct active *a;
	unsigned count = 0;
	int out, rc;
	size_t i;

	*e = (struct runs_error){0};
	state = resumable(r, id, e);
	if (!state)
		return;
	file = document_text(state, "file");
	json_array_foreach(json_object_get(state, "set"), i, set)
	{
		if (count + 2 > RUNS_MORE || !json_is_string(set))
			break;
		more[count++] = "--set";
		more[count++] = json_string_value(set);
	}
	ports = runs_ports_of(runs_path(r, path, "files/%s", file), more, count);
	pthread_mutex_lock(&r->lock);
	if (find_active(r, id))
		fail(e, 409, "campaign %s is running", id);
	a = e->code ? NULL : reserve(r, ports, e);
	json_decref(ports);
	if (a) {
		snprintf(a->id, sizeof(a->id), "%s", id);
		a->state = json_incref(state);
		rc = out = open_log(r, id);
		if (rc >= 0)
			rc = start_child(r, KIND_CAMPAIGN, id, file, more, count, out, &child);
		a = find_active(r, id); // the table may have changed meanwhile
		if (rc == 0) {
			adopt(r, a, child);
		} else {
			fail_to_start(e, rc);
			forget(r, id);
		}
		if (out >= 0)
			close(out);
	}
	pthread_mutex_unlock(&r->lock);
	json_decref(state);
}

// --- while it is running

void runs_stop(struct runs *r, const char *id, struct runs_error *e)
{
	struct active *a;

	*e = (struct runs_error){0};
	pthread_mutex_lock(&r->lock);
	a = find_active(r, id);
	if (!a || !a->child.pid)
		fail(e, 409, "run %s is not running", id);
	else
		kill(a->child.pid, SIGINT);
	pthread_mutex_unlock(&r->lock);
}

void runs_order(struct runs *r, const char *id, const json_t *order, struct runs_error *e)
{
	char line[ORDER_SIZE];
	size_t len = json_dumpb(order, line, sizeof(line), JSON_COMPACT);
	struct active *a;

	*e = (struct runs_error){0};
	if (len >= sizeof(line)) {
		fail(e, 400, "an order has up to %d characters", ORDER_SIZE - 1);
		return;
	}
	line[len++] = '\n';
	pthread_mutex_lock(&r->lock);
	a = find_active(r, id);
	if (!a || !a->child.pid)
		fail(e, 409, "run %s is not running", id);
	else if (is_campaign(a->state))
		fail(e, 409, "run %s is a campaign: its rates cannot be changed, only stopped", id);
	else if (!supervise_order(&a->child, line, len))
		fail(e, 409, "run %s takes no order now", id);
	pthread_mutex_unlock(&r->lock);
}

void runs_delete(struct runs *r, const char *id, struct runs_error *e)
{
	char path[RUNS_PATH];
	bool goes_on;

	*e = (struct runs_error){0};
	pthread_mutex_lock(&r->lock);
	goes_on = find_active(r, id) != NULL;
	pthread_mutex_unlock(&r->lock);
	if (goes_on) {
		fail(e, 409, "run %s is running (stop it first)", id);
		return;
	}
	if (unlink(runs_path(r, path, "runs/%s.json", id)) < 0)
		fail(e, 404, "there is no run %s", id);
	else
		state_remove_folder(runs_path(r, path, "runs/%s", id));
}

// --- open and close

// Lock the folder for one server, which knows the runs in progress.
static int claim(const struct runs *r)
{
	char path[RUNS_PATH];
	int fd = open(runs_path(r, path, "lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int rc = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 ? fd : -errno;

	if (rc < 0 && fd >= 0)
		close(fd);
	return rc == -EWOULDBLOCK ? -EBUSY : rc;
}

int runs_open(const char *dir, bool commands, struct runs **out)
{
	static const char *const folders[] = {"files", "runs"};
	struct runs *r = calloc(1, sizeof(*r));
	char path[RUNS_PATH];
	int rc = r ? file_make_folders(dir) : -ENOMEM;

	*out = r;
	if (rc == 0) {
		*r = (struct runs){.dir = realpath(dir, NULL),
			.commands = commands,
			.lock = PTHREAD_MUTEX_INITIALIZER,
			.told = PTHREAD_COND_INITIALIZER};
		rc = r->dir ? 0 : -errno;
	}
	for (size_t i = 0; rc == 0 && i < 2; i++)
		rc = file_make_folders(runs_path(r, path, "%s", folders[i]));
	if (rc == 0)
		rc = r->claim = claim(r);
	if (rc >= 0) {
		find_left(r);
		return 0;
	}
	log_error(
		"serve: --dir %s: %s", dir, rc == -EBUSY ? "another server has it" : strerror(-rc));
	if (r)
		free(r->dir);
	free(r);
	return rc;
}

bool runs_are_over(struct runs *r)
{
	bool over;

	pthread_mutex_lock(&r->lock);
	over = r->over;
	pthread_mutex_unlock(&r->lock);
	return over;
}

void runs_end(struct runs *r)
{
	pthread_mutex_lock(&r->lock);
	r->over = true;
	pthread_cond_broadcast(&r->told);
	for (unsigned i = 0; i < r->count; i++)
		if (r->active[i].child.pid)
			supervise_end(&r->active[i].child, true);
	pthread_mutex_unlock(&r->lock);
}

void runs_close(struct runs *r)
{
	while (r->count) {
		poll(NULL, 0, TICK_MS);
		runs_tick(r);
	}
	close(r->claim);
	json_decref(r->left);
	free(r->dir);
	free(r);
}
