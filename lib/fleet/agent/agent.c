// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread | the thread of libnats: tell_time.
#include "fleet/agent/agent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "document/document_reader.h"
#include "process/supervise.h"
#include "fleet/agent/host_facts.h"
#include "fleet/fleet_clock.h"
#include "fleet/fleet_talk.h"
#include "io/driver/state.h"
#include "fleet/agent_files.h"

#define LOG "log.txt"
#define BAD_NAME                                                                                   \
	"a file has a name that is not allowed here (in the folder of the "                        \
	"run or below; not log.txt, events.jsonl, run-*.json)"
#define PATH_ROOM 4096
#define KEPT      20   // runs
#define CACHED    1000 // input files
#define FIND_MS   300  // for another agent of the same name to reply
#define LOST_MS   5000 // without a beat of the coordinator

// The run that a coordinator has claimed this agent for.
struct claim {
	char run[TALK_NAME]; // "": none
	char *coordinator;
	struct supervised child;
	int events;    // the file, to append
	uint64_t size; // of that file
	uint64_t said_ms, heard_ms;
	json_int_t orders; // accepted so far
};

struct agent {
	struct bus *bus;
	struct agent_settings settings;
	char id[33];
	char host[64];
	char *dir;
	int lock; // the open folder: no other agent uses it
	char cpus[16];
	json_t *box; // of host_facts.h, as it was at the start
	struct bus_endpoint endpoints[6];
	char subjects[6][TALK_SUBJECT];
	const char *metadata[12];
	struct bus_service service;
	bool taken; // another agent has our name
	struct claim claim;
};

static const char *path_of(const struct agent *a, char buf[PATH_ROOM], const char *folder,
	const char *name, const char *more)
{
	snprintf(buf, PATH_ROOM, "%s/%s/%s%s%s", a->dir, folder, name, *more ? "/" : "", more);
	return buf;
}

// --- its facts

static json_t *facts_of(const struct agent *a)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:O, s:o}", "name",
		a->settings.name, "id", a->id, "labels", a->settings.labels, "version",
		a->service.version, "host", a->host, "cpus", a->cpus, "run", a->claim.run,
		"coordinator", a->claim.coordinator ? a->claim.coordinator : "", "box", a->box,
		"clock", host_facts_clock());
}

static void answer(struct agent *a, const struct bus_message *m, json_t *reply)
{
	char *text = talk_text(reply);

	if (m->reply)
		bus_publish(a->bus, m->reply, text, strlen(text));
	free(text);
}

static void on_find(void *ctx, const struct bus_message *m)
{
	answer(ctx, m, facts_of(ctx));
}

// Runs on the thread of libnats: the clock is read as soon as a request arrives.
static void tell_time(void *ctx, const struct bus_message *m)
{
	const struct agent *a = ctx;
	char text[FLEET_CLOCK_TEXT];

	if (m->reply)
		bus_publish(a->bus, m->reply, text, fleet_clock_tell(text, m->data));
}

// --- events

// Publishes octets at once; they can be read again for as long as the run is kept.
static void publish(struct agent *a, const char *octets, size_t count)
{
	char subject[TALK_SUBJECT], piece[TALK_PIECE + 32];
	struct claim *c = &a->claim;

	bus_publish(a->bus, talk_run(subject, c->run, a->settings.name), piece,
		talk_put_piece(piece, c->size, octets, count));
	c->size += count;
	c->said_ms = clock_steady_ms();
}

static void tell(struct agent *a, const char *octets, size_t count)
{
	struct claim *c = &a->claim;

	if (write(c->events, octets, count) != (ssize_t)count)
		log_error("agent: run %s: its events cannot be kept: %s", c->run, strerror(errno));
	publish(a, octets, count);
}

static void tell_event(struct agent *a, json_t *event)
{
	char *text = talk_text(event);
	size_t len = strlen(text);

	text[len] = '\n'; // in place of its zero
	tell(a, text, len + 1);
	free(text);
}

// --- a run begins

static bool is_older(const struct stat *a, const struct stat *b)
{
	return a->st_mtim.tv_sec != b->st_mtim.tv_sec ? a->st_mtim.tv_sec < b->st_mtim.tv_sec
	                                              : a->st_mtim.tv_nsec < b->st_mtim.tv_nsec;
}

// Removes runs until only the newest ones are left; never the run in progress.
static void forget_old(const struct agent *a, const char *of, int most)
{
	struct dirent **found = NULL;
	char folder[PATH_ROOM], path[PATH_ROOM];
	int count = scandir(path_of(a, folder, of, "", ""), &found, NULL, NULL);

	for (int excess = count - 2 - most; excess > 0; excess--) {
		const char *oldest = NULL;
		struct stat st, since;

		for (int i = 0; i < count; i++)
			if (found[i]->d_name[0] != '.' &&
				strcmp(found[i]->d_name, a->claim.run) != 0 &&
				stat(path_of(a, path, of, found[i]->d_name, ""), &st) == 0 &&
				(!oldest || is_older(&st, &since))) {
				oldest = found[i]->d_name;
				since = st;
			}
		if (oldest)
			state_remove_folder(path_of(a, path, of, oldest, ""));
	}
	for (int i = 0; i < count; i++)
		free(found[i]);
	free(found);
}

// Is it a name as in a configuration: in its folder or below it?
static bool is_file_name(const char *name)
{
	return *name && *name != '/' && *name != '.' && !strstr(name, "..") &&
	       strlen(name) < NAME_MAX && !strchr(name, ',');
}

// The child and this process write these into the folder of the run.
static bool is_own_name(const char *name)
{
	return strcmp(name, LOG) == 0 || agent_files_is_file(name);
}

// Returns NULL, or the reason why a claim is refused before anything is made for it.
static const char *check_claim(const json_t *claim)
{
	const char *const lists[] = {"set", "part"}, *name = document_text(claim, "config.name");
	const json_t *one;
	size_t i;

	if (!is_file_name(name) || strchr(name, '/') || is_own_name(name))
		return BAD_NAME;
	json_array_foreach(json_object_get(claim, "files"), i,
		one) if (!is_file_name(document_text(one, "name")) ||
			 is_own_name(document_text(one, "name")) ||
			 !agent_files_is_hash(document_text(one, "hash"))) return BAD_NAME;
	for (unsigned k = 0; k < 2; k++)
		json_array_foreach(json_object_get(claim, lists[k]), i,
			one) if (!json_is_string(one)) return "a setting is a text, PATH=VALUE";
	return NULL;
}

// Copies a file from the object store, unless it is cached, into the folder of the run.
static const char *bring(struct agent *a, const char *run, const char *name, const char *hash)
{
	char cached[PATH_ROOM], path[PATH_ROOM];

	path_of(a, cached, "cache", hash, "");
	if (access(cached, R_OK) < 0 && bus_get_file(a->bus, hash, cached) < 0)
		return "an input file did not come through the object store";
	path_of(a, path, "runs", run, name);
	*strrchr(path, '/') = '\0';
	file_make_folders(path);
	path_of(a, path, "runs", run, name);
	return file_copy(cached, path) < 0 ? "an input file cannot be copied" : NULL;
}

static const char *put_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "wxe");
	bool good = f && fputs(text, f) >= 0;

	if (f && fclose(f) != 0)
		good = false;
	return good ? NULL : "the configuration cannot be written here";
}

static const char *fill_folder(struct agent *a, const char *run, const json_t *claim)
{
	char path[PATH_ROOM];
	const char *why = NULL;
	const json_t *file;
	size_t i;

	json_array_foreach(json_object_get(claim, "files"), i, file) if (!why) why =
		bring(a, run, document_text(file, "name"), document_text(file, "hash"));
	return why ? why
	           : put_text(path_of(a, path, "runs", run, document_text(claim, "config.name")),
			     document_text(claim, "config.text"));
}

static int open_here(const struct agent *a, const char *run, const char *name)
{
	char path[PATH_ROOM];

	return open(path_of(a, path, "runs", run, name), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
		0600);
}

static unsigned put_list(const json_t *list, const char **argv, unsigned n)
{
	const json_t *set;
	size_t i;

	json_array_foreach((json_t *)list, i, set)
	{
		argv[n++] = "--set";
		argv[n++] = json_string_value(set);
	}
	return n;
}

// Returns the arguments of the child, which the caller frees: first the coordinator's settings,
// then the settings of this agent, then the settings that make it a part.
static const char **make_arguments(const struct agent *a, const json_t *claim)
{
	static const char *const begin[] = {"ddiperf", "run", "--led", "--confined"};
	const struct agent_settings *s = &a->settings;
	const json_t *theirs = json_object_get(claim, "set"),
		     *part = json_object_get(claim, "part");
	size_t sets = json_array_size(theirs) + s->assignment_count + json_array_size(part);
	const char **argv = calloc(2 * sets + 8, sizeof(*argv));
	unsigned n = 4;

	if (!argv)
		return NULL;
	memcpy(argv, begin, sizeof(begin));
	n = put_list(theirs, argv, n);
	for (unsigned i = 0; i < s->assignment_count; i++) {
		argv[n++] = "--set";
		argv[n++] = s->assignments[i];
	}
	n = put_list(part, argv, n);
	if (s->commands)
		argv[n++] = "--allow-commands";
	argv[n++] = "--"; // no options follow, whatever the name
	argv[n++] = document_text(claim, "config.name");
	return argv;
}

static int start_child(struct agent *a, const char *run, const json_t *claim, struct claim *c)
{
	const char **argv = make_arguments(a, claim);
	char folder[PATH_ROOM];
	int log = open_here(a, run, LOG), rc;
	struct child child = {
		(char *const *)argv, path_of(a, folder, "runs", run, ""), -1, -1, log};

	c->events = open_here(a, run, TALK_EVENTS);
	rc = !argv || log < 0 || c->events < 0 ? -errno : supervise_start(&c->child, &child, true);
	free(argv);
	close(log);
	if (rc < 0)
		close(c->events);
	return rc;
}

static void on_beat(void *ctx, const struct bus_message *m)
{
	struct agent *a = ctx;

	(void)m;
	a->claim.heard_ms = clock_steady_ms();
}

// Makes the run's folder and starts its child. Returns NULL, or the reason; then no folder is left.
static const char *start(struct agent *a, const char *run, const json_t *claim, char why[256])
{
	struct claim c = {.heard_ms = clock_steady_ms()};
	char folder[PATH_ROOM];
	const char *wrong;
	int rc;

	if (mkdir(path_of(a, folder, "runs", run, ""), 0700) < 0) {
		snprintf(why, 256, "no folder for run %s: %s", run,
			errno == EEXIST ? "the agent has had a run of this id" : strerror(errno));
		return why;
	}
	wrong = fill_folder(a, run, claim);
	rc = wrong ? 0 : start_child(a, run, claim, &c);
	if (rc < 0) {
		snprintf(why, 256, "the run cannot be started: %s", strerror(-rc));
		wrong = why;
	}
	if (wrong) {
		state_remove_folder(folder);
		return wrong;
	}
	strcpy(c.run, run);
	c.coordinator = strdup(document_text(claim, "coordinator"));
	c.said_ms = c.heard_ms;
	a->claim = c;
	return NULL;
}

// Returns NULL, or the reason of a refusal.
static const char *take(struct agent *a, const json_t *claim, char why[256])
{
	const char *run = document_text(claim, "run"), *wrong;
	char subject[TALK_SUBJECT];

	if (!talk_is_name(run))
		return "a run needs an id of letters, digits, - and _";
	if (*a->claim.run) {
		snprintf(why, 256, "run %s of %s has it", a->claim.run, a->claim.coordinator);
		return why;
	}
	wrong = check_claim(claim);
	if (!wrong)
		wrong = start(a, run, claim, why);
	if (wrong)
		return wrong;
	forget_old(a, "runs", KEPT);
	forget_old(a, "cache", CACHED);
	bus_subscribe(a->bus, talk_run(subject, run, "beat"), on_beat, a);
	log_note("agent %s: run %s of %s", a->settings.name, run, a->claim.coordinator);
	return NULL;
}

static void on_claim(void *ctx, const struct bus_message *m)
{
	struct agent *a = ctx;
	json_t *claim = talk_read(m->data, m->size);
	char text[256];
	const char *why = claim ? take(a, claim, text) : "a claim is an object";

	answer(a, m, why ? json_pack("{s:s}", "refused", why) : json_pack("{s:b}", "taken", 1));
	json_decref(claim);
}

// --- while a run is in progress

static bool is_ours(const struct agent *a, const json_t *message)
{
	return *a->claim.run && strcmp(document_text(message, "run"), a->claim.run) == 0;
}

static void on_order(void *ctx, const struct bus_message *m)
{
	struct agent *a = ctx;
	json_t *message = talk_read(m->data, m->size);
	char *text = NULL;
	const json_t *number = json_object_get(message, "number");
	bool ours = is_ours(a, message);
	bool good = ours && json_integer_value(number) < a->claim.orders; // a repetition
	size_t len;

	if (ours && !good) {
		text = json_dumps(json_object_get(message, "order"), JSON_COMPACT);
		len = text ? strlen(text) : 0;
		if (len) {
			text[len] = '\n'; // in place of its zero
			good = supervise_order(&a->claim.child, text, len + 1);
			a->claim.orders += good;
		}
		free(text);
	}
	answer(a, m, json_pack("{s:b, s:I}", "taken", good, "number", json_integer_value(number)));
	json_decref(message);
}

// Returns -1 if there is no such file, or if others may not read it.
static int open_kept(const struct agent *a, const char *run, const char *file)
{
	char path[PATH_ROOM];

	if (!talk_is_name(run) || !agent_files_is_file(file))
		return -1;
	return open(path_of(a, path, "runs", run, file),
		O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

// Refused while another run is in progress here, which this would disturb.
static void on_read(void *ctx, const struct bus_message *m)
{
	struct agent *a = ctx;
	json_t *message = talk_read(m->data, m->size);
	const char *run = document_text(message, "run"), *file = document_text(message, "file");
	double from = document_number(message, "from");
	char octets[TALK_PIECE], piece[TALK_PIECE + 32];
	ssize_t count = -1;
	int fd = -1;

	if (from >= 0 && from < 1e15 && (!*a->claim.run || is_ours(a, message)))
		fd = open_kept(a, run, file);
	if (fd >= 0) {
		count = pread(fd, octets, sizeof(octets), (off_t)from);
		close(fd);
	}
	// No file: an empty message, as opposed to a piece without octets.
	if (m->reply)
		bus_publish(a->bus, m->reply, piece,
			count < 0 ? 0
				  : talk_put_piece(piece, (uint64_t)from, octets, (size_t)count));
	json_decref(message);
}

// Returns the result of a run that is over, or its intervals as far as they exist.
static json_t *kept_of(const struct agent *a, const char *run)
{
	static const char *const files[] = {AGENT_FILES_RESULT, AGENT_FILES_PART};
	char hash[AGENT_FILES_HASH];
	json_t *out = NULL;
	uint64_t size;

	for (size_t i = 0; !out && i < sizeof(files) / sizeof(files[0]); i++) {
		int fd = open_kept(a, run, files[i]);

		if (fd < 0)
			continue;
		if (agent_files_hash(fd, &size, hash) == 0)
			out = json_pack("{s:s, s:I, s:s}", "file", files[i], "size",
				(json_int_t)size, "hash", hash);
		close(fd);
	}
	return out;
}

static json_t *refuse_kept(const struct agent *a, const char *run, const json_t *message)
{
	char path[PATH_ROOM], why[256];

	if (!talk_is_name(run))
		return json_pack(
			"{s:s}", "refused", "a run needs an id of letters, digits, - and _");
	if (is_ours(a, message))
		return json_pack(
			"{s:s}", "refused", "the run is not over there: ask again in some seconds");
	if (*a->claim.run) {
		snprintf(why, sizeof(why),
			"run %s of %s has it, which this would disturb: ask again later",
			a->claim.run, a->claim.coordinator);
		return json_pack("{s:s}", "refused", why);
	}
	if (access(path_of(a, path, "runs", run, ""), F_OK) < 0)
		return json_pack("{s:s}", "refused",
			"it does not have the run (any more): an agent keeps its last 20 runs, in "
			"its --dir");
	return NULL;
}

static void on_kept(void *ctx, const struct bus_message *m)
{
	struct agent *a = ctx;
	json_t *message = talk_read(m->data, m->size);
	const char *run = document_text(message, "run");
	json_t *reply = refuse_kept(a, run, message);

	if (!reply)
		reply = kept_of(a, run);
	if (!reply)
		reply = json_pack("{s:s}", "refused", "it kept no result: the run had not begun");
	answer(a, m, reply);
	json_decref(message);
}

static void on_release(void *ctx, const struct bus_message *m)
{
	struct agent *a = ctx;
	json_t *message = talk_read(m->data, m->size);
	bool ours = is_ours(a, message);

	if (ours)
		supervise_end(&a->claim.child, false);
	answer(a, m, json_pack("{s:b}", "taken", ours));
	json_decref(message);
}

static void read_child(struct agent *a)
{
	int from = a->claim.child.events;
	char octets[TALK_PIECE];
	ssize_t count;

	while ((count = read(from, octets, sizeof(octets))) > 0 || (count < 0 && errno == EINTR))
		if (count > 0)
			tell(a, octets, (size_t)count);
}

static void forget(struct agent *a)
{
	char subject[TALK_SUBJECT];
	struct claim *c = &a->claim;

	bus_unsubscribe(a->bus, talk_run(subject, c->run, "beat"));
	close(c->events);
	supervise_close(&c->child);
	free(c->coordinator);
	*c = (struct claim){.events = -1};
}

static void reap(struct agent *a)
{
	struct claim *c = &a->claim;
	int code;

	if (supervise_ended(&c->child, &code)) {
		read_child(a);
		tell_event(a, json_pack("{s:i}", "over", code));
		log_note("agent %s: run %s is over", a->settings.name, c->run);
	}
	if (!c->child.pid && c->child.signal_ms)
		forget(a);
}

static void check_coordinator(struct agent *a)
{
	struct claim *c = &a->claim;

	if (!bus_is_up(a->bus)) // the connection is down, not the coordinator
		c->heard_ms = clock_steady_ms();
	if (c->child.signal_ms || clock_steady_ms() - c->heard_ms < LOST_MS)
		return;
	log_error("agent %s: run %s: no message from its coordinator %s: the run ends",
		a->settings.name, c->run, c->coordinator);
	supervise_end(&c->child, false);
}

void agent_tick(struct agent *a)
{
	if (!*a->claim.run)
		return;
	read_child(a);
	check_coordinator(a);
	if (clock_steady_ms() - a->claim.said_ms >= TALK_BEAT_MS)
		publish(a, "", 0);
	reap(a);
}

// --- open and close

static const struct {
	const char *verb;
	bus_handler *handler;
	bool at_once;
} verbs[] = {
	{"time", tell_time, true},
	{"claim", on_claim, false},
	{"order", on_order, false},
	{"read", on_read, false},
	{"kept", on_kept, false},
	{"release", on_release, false},
};

#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

static void on_twin(void *ctx, const struct bus_message *m)
{
	struct agent *a = ctx;
	json_t *facts = talk_read(m->data, m->size);

	a->taken |= strcmp(document_text(facts, "name"), a->settings.name) == 0 &&
	            strcmp(document_text(facts, "id"), a->id) != 0;
	json_decref(facts);
}

// Two agents of the same name would both take its orders.
static int look_for_twin(struct agent *a)
{
	char inbox[TALK_SUBJECT];
	uint64_t until = clock_steady_ms() + FIND_MS;

	bus_inbox(a->bus, inbox, sizeof(inbox));
	bus_subscribe(a->bus, inbox, on_twin, a);
	bus_ask(a->bus, "ddiperf.find", inbox, "", 0);
	while (!a->taken && clock_steady_ms() < until)
		bus_tick(a->bus, 20);
	bus_unsubscribe(a->bus, inbox);
	if (!a->taken)
		return 0;
	log_error("agent: there is an agent %s already (--name another one)", a->settings.name);
	return -EEXIST;
}

static int subscribe(struct agent *a)
{
	int rc = look_for_twin(a);

	for (unsigned i = 0; rc == 0 && i < VERBS; i++) {
		talk_agent(a->subjects[i], a->settings.name, verbs[i].verb);
		a->endpoints[i] = (struct bus_endpoint){verbs[i].verb, a->subjects[i]};
		rc = verbs[i].at_once
		             ? bus_subscribe_at_once(a->bus, a->subjects[i], verbs[i].handler, a)
		             : bus_subscribe(a->bus, a->subjects[i], verbs[i].handler, a);
	}
	if (rc == 0)
		rc = bus_subscribe(a->bus, "ddiperf.find", on_find, a);
	return rc == 0 ? bus_serve(a->bus, &a->service) : rc;
}

static void describe(struct agent *a)
{
	const char *const metadata[] = {"agent", a->settings.name, "labels", a->settings.labels,
		"host", a->host, "cpus", a->cpus, NULL};
	unsigned char random[16];

	if (getrandom(random, sizeof(random), 0) < 0)
		memset(random, (int)getpid() & 0xff, sizeof(random));
	for (size_t i = 0; i < sizeof(random); i++)
		sprintf(a->id + 2 * i, "%02x", random[i]);
	gethostname(a->host, sizeof(a->host) - 1);
	a->box = host_facts_box();
	snprintf(a->cpus, sizeof(a->cpus), "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	memcpy(a->metadata, metadata, sizeof(metadata));
	a->service = (struct bus_service){.name = "ddiperf",
		.version = DDIPERF_VERSION,
		.description = "agent of a fleet that load-tests DNS and DHCP servers",
		.id = a->id,
		.metadata = a->metadata,
		.endpoints = a->endpoints,
		.count = VERBS};
}

static int open_folder(struct agent *a)
{
	static const char *const folders[] = {"cache", "runs"};
	char path[PATH_ROOM];
	int rc = file_make_folders(a->settings.dir);

	a->dir = rc == 0 ? realpath(a->settings.dir, NULL) : NULL;
	if (rc == 0 && !a->dir)
		rc = -errno;
	for (size_t i = 0; rc == 0 && i < 2; i++)
		rc = file_make_folders(path_of(a, path, folders[i], "", ""));
	a->lock = rc == 0 ? open(a->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (rc == 0 && (a->lock < 0 || flock(a->lock, LOCK_EX | LOCK_NB) < 0))
		rc = -errno;
	if (rc == -EWOULDBLOCK)
		log_error("agent %s: another agent on this machine uses the folder %s, which would "
			  "mix up their runs: give each its own --dir",
			a->settings.name, a->dir);
	else if (rc < 0)
		log_error("agent: --dir %s: %s", a->settings.dir, strerror(-rc));
	return rc;
}

int agent_open(struct bus *b, const struct agent_settings *s, struct agent **out)
{
	struct agent *a = calloc(1, sizeof(*a));
	int rc;

	*out = a;
	if (!a)
		return -ENOMEM;
	*a = (struct agent){.bus = b, .settings = *s, .lock = -1};
	rc = open_folder(a);
	if (rc < 0)
		return rc;
	describe(a);
	return subscribe(a);
}

void agent_end(struct agent *a)
{
	if (a && *a->claim.run)
		supervise_end(&a->claim.child, false);
	while (a && *a->claim.run) {
		poll(NULL, 0, 20);
		agent_tick(a);
	}
}

void agent_free(struct agent *a)
{
	if (!a)
		return;
	json_decref(a->box);
	if (a->lock >= 0)
		close(a->lock);
	free(a->dir);
	free(a);
}
