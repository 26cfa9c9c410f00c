// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "fleet/coordinator/fleet_kept.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "nats/bus.h"
#include "engine/run/run.h"
#include "fleet/fleet_ask.h"
#include "fleet/fleet_talk.h"
#include "fleet/agent_files.h"

#define KEPT_MS   10000               // to find the file and its hash
#define SIZES_MAX (UINT64_C(4) << 30) // of all parts

struct fetching {
	struct bus *bus;
	const char *run;           // its id
	json_t *members;           // of the result
	json_t *kept[FLEET_PARTS]; // {file, size, hash} of each
	json_t *refused;           // reason: names
};

static const char *name_of(const json_t *member)
{
	return document_text(member, "name");
}

static void refuse(struct fetching *f, const char *reason, const json_t *member)
{
	talk_say(f->refused, reason, name_of(member));
}

// Returns 0, or the exit code if anything was refused.
static int tell_refused(const struct fetching *f)
{
	char text[TALK_NAMES];
	const char *reason;
	json_t *names;

	json_object_foreach(f->refused, reason, names)
		log_error("agent%s %s: %s", json_array_size(names) > 1 ? "s" : "",
			talk_names(names, text, sizeof(text)), reason);
	return json_object_size(f->refused) ? EXIT_ENVIRONMENT : 0;
}

// --- the result that names them

// Returns NULL, or the reason of a refusal.
static const char *check(const json_t *result)
{
	const json_t *members = document_at(result, "fleet.members"), *one;
	size_t count = json_array_size(members), i;

	if (count == 0)
		return "is not of a run on a fleet (ddiperf run --fleet): no agent is named in it";
	if (count > FLEET_PARTS)
		return "names too many agents";
	if (!talk_is_name(document_text(result, "run.id")))
		return "has no id of a run on a fleet (letters, digits, - and _)";
	if (json_object_get(result, "search") || json_object_get(result, "confidence"))
		return "is the result of several runs, which cannot be merged";
	json_array_foreach((json_t *)members, i,
		one) if (!talk_is_name(name_of(one))) return "has an invalid agent name (letters, "
							     "digits, - and _ are allowed)";
	if (strcmp(document_text(result, "run.version"), DDIPERF_VERSION) != 0)
		return "is of another version of ddiperf (run.version), which can fetch it";
	return NULL;
}

// --- agents and their files

static const json_t *facts_of(const json_t *found, const json_t *member)
{
	const json_t *one;
	size_t i;

	json_array_foreach(
		(json_t *)found, i, one) if (strcmp(name_of(one), name_of(member)) == 0) return one;
	return NULL;
}

static int find_all(struct fetching *f)
{
	json_t *found = fleet_ask_all(f->bus);
	const json_t *member, *facts;
	char reason[128];
	size_t i;

	json_array_foreach(f->members, i, member)
	{
		const char *version = document_text(facts = facts_of(found, member), "version");

		if (!facts) {
			refuse(f,
				"not running (ddiperf agent --nats URL --name NAME starts it "
				"again, with its former --dir)",
				member);
		} else if (strcmp(version, DDIPERF_VERSION) != 0) {
			snprintf(reason, sizeof(reason), "version %.40s, not %s", version,
				DDIPERF_VERSION);
			refuse(f, reason, member);
		}
	}
	json_decref(found);
	return tell_refused(f);
}

static json_t *ask_kept(const struct fetching *f, const json_t *member)
{
	char subject[TALK_SUBJECT], *reply;
	char *text = talk_text(json_pack("{s:s}", "run", f->run));
	json_t *said;
	size_t len = 0;
	int rc;

	talk_agent(subject, name_of(member), "kept");
	reply = bus_request(f->bus, subject, text, strlen(text), KEPT_MS, &len, NULL, &rc);
	said = reply ? talk_read(reply, len) : NULL;
	free(reply);
	free(text);
	return said;
}

// Is it a valid reply?
static bool is_kept(const json_t *said)
{
	json_int_t size = json_integer_value(json_object_get(said, "size"));

	return agent_files_is_file(document_text(said, "file")) &&
	       agent_files_is_hash(document_text(said, "hash")) && size > 0 &&
	       (uint64_t)size <= AGENT_FILES_SIZE_MAX;
}

static int ask_all(struct fetching *f)
{
	const json_t *member;
	uint64_t all = 0;
	size_t i;

	json_array_foreach(f->members, i, member)
	{
		json_t *said = f->kept[i] = ask_kept(f, member);

		if (!said)
			refuse(f, "it does not answer", member);
		else if (*document_text(said, "refused"))
			refuse(f, document_text(said, "refused"), member);
		else if (!is_kept(said))
			refuse(f, "its stored file is not a result", member);
		else
			all += (uint64_t)json_integer_value(json_object_get(said, "size"));
		if (all > SIZES_MAX) {
			refuse(f, "its part and those before it are more than 4 GiB", member);
			break;
		}
	}
	return tell_refused(f);
}

// --- their files

// Returns NULL, or the reason of a failure.
static const char *fetch_file(
	const struct fetching *f, const json_t *member, const json_t *kept, FILE *to)
{
	const struct fleet_ask q = {.bus = f->bus,
		.agent = name_of(member),
		.run = f->run,
		.file = document_text(kept, "file")};
	uint64_t size = (uint64_t)json_integer_value(json_object_get(kept, "size")), from = 0, got;
	char hash[AGENT_FILES_HASH];

	while (from < size) {
		const char *octets;
		size_t count = 0;
		char *reply = fleet_ask_piece(&q, from, &octets, &count);
		bool fits = count <= size - from;
		bool good = reply && fits && count > 0 && fwrite(octets, 1, count, to) == count;

		free(reply);
		if (!reply)
			return "it does not send its stored result";
		if (!fits)
			return "the received data is longer than its stored result";
		if (!good)
			return count ? strerror(errno) : "its stored result has become shorter";
		from += count;
	}
	if (fflush(to) != 0)
		return strerror(errno);
	if (agent_files_hash(fileno(to), &got, hash) < 0 || got != size ||
		strcmp(hash, document_text(kept, "hash")) != 0)
		return "the received data differs from its stored result (size or SHA-256)";
	return NULL;
}

static bool is_of_run(
	const struct fetching *f, const json_t *member, const struct document_reader *b)
{
	return strcmp(document_text(b->document, "run.id"), f->run) == 0 &&
	       json_equal((json_t *)document_at(b->document, "config.fleet.part"),
		       json_object_get(member, "part"));
}

static int fetch_part(const struct fetching *f, const json_t *member, const json_t *kept,
	struct document_reader *out)
{
	char path[] = "/tmp/ddiperf-part-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC), rc = -1;
	FILE *to = fd < 0 ? NULL : fdopen(fd, "w+");
	const char *why = to ? fetch_file(f, member, kept, to) : strerror(errno);

	if (why)
		log_error("agent %s: %s", name_of(member), why);
	else
		rc = reader_open(out, path); // logged
	if (to)
		fclose(to);
	if (fd >= 0)
		unlink(path);
	if (rc < 0)
		return EXIT_ENVIRONMENT;
	out->file = name_of(member);
	if (is_of_run(f, member, out))
		return 0;
	log_error("agent %s: its stored result is not its part of run %s", name_of(member), f->run);
	reader_close(out);
	return EXIT_ENVIRONMENT;
}

int fleet_kept_fetch(const struct bus_settings *s, const char *file, const json_t *result,
	struct arena *a, struct document_reader *readers, unsigned *count)
{
	struct fetching *f = arena_zalloc(a, sizeof(*f));
	const char *wrong = check(result);
	int rc;

	*count = 0;
	if (wrong) {
		log_error("%s: %s", file, wrong);
		return EXIT_CONFIG;
	}
	f->run = document_text(result, "run.id");
	f->members = (json_t *)document_at(result, "fleet.members");
	rc = fleet_ask_open(s, &f->bus);
	if (rc)
		return rc;
	f->refused = json_object();
	rc = find_all(f);
	if (rc == 0)
		rc = ask_all(f);
	for (size_t i = 0; rc == 0 && i < json_array_size(f->members); i++) {
		rc = fetch_part(f, json_array_get(f->members, i), f->kept[i], &readers[*count]);
		*count += rc == 0;
	}
	for (size_t i = 0; i < json_array_size(f->members); i++)
		json_decref(f->kept[i]);
	json_decref(f->refused);
	bus_close(f->bus);
	return rc;
}

void fleet_kept_complete(const json_t *result, struct fleet_result *r, struct arena *a)
{
	struct result_verdict *v = &r->sum.verdict;
	const char *stopped = document_text(result, "verdict.stopped");
	bool interrupted = strcmp(document_text(result, "verdict.status"), "interrupted") == 0;
	json_t *reason;
	size_t i;

	json_array_foreach(
		document_at(result, "fleet.reasons"), i, reason) if (json_is_string(reason))
		fleet_result_invalidate(v, json_string_value(reason), interrupted, a);
	if (*stopped || json_array_size(document_at(result, "config.stop")))
		fleet_result_stop(v, *stopped ? stopped : NULL,
			document_number(result, "verdict.stopped_s"), a);
	json_decref(r->fleet);
	r->fleet = json_incref(json_object_get(result, "fleet"));
	if (!json_object_get(result, "config"))
		return;
	json_decref(r->config);
	r->config = json_incref(json_object_get(result, "config"));
}
