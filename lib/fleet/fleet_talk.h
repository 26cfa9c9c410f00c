// SPDX-License-Identifier: BSD-3-Clause
// The words between a coordinator and its agents (docs/fleet.md): subjects, members of messages,
// and pieces of files. Path: cold. Main thread.
//
//   ddiperf.find                ask all agents: each replies with its facts
//   ddiperf.agent.NAME.time     its clock, at once
//   ddiperf.agent.NAME.claim    {run, coordinator, config, set, files, part}: it prepares a run
//   ddiperf.agent.NAME.order    {run, order}: a line for the run (run_child.h)
//   ddiperf.agent.NAME.read     {run, file, from}: a piece of a file of that run (agent_files.h)
//   ddiperf.agent.NAME.kept     {run}: {file, size, hash} of the file it keeps of an ended run
//   ddiperf.agent.NAME.release  {run}: the run is over
//   ddiperf.run.RUN.NAME        from the agent: a piece of the run's events, or an empty one
//   ddiperf.run.RUN.beat        from the coordinator: it is alive
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TALK_SUBJECT 320
#define TALK_NAME    64 // of an agent or a run, with its zero
#define TALK_NAMES   512

#define TALK_EVENTS  "events.jsonl" // the file of a run's events
#define TALK_BEAT_MS 200            // between two pieces, also empty ones, and between two beats

#define TALK_PIECE 131072 // octets of a file in a message at most

// Letters, digits, - and _: allowed in a subject and in a path.
bool talk_is_name(const char *text);

// "ddiperf.agent.NAME.VERB"; returns buf.
const char *talk_agent(char buf[TALK_SUBJECT], const char *name, const char *verb);
const char *talk_run(char buf[TALK_SUBJECT], const char *run, const char *name);

// Writes a piece as a message: its place in the file, a newline, its octets. Returns its size; `to`
// needs 32 more than the octets.
size_t talk_put_piece(char *to, uint64_t from, const char *octets, size_t count);
// Returns false if the message is malformed.
bool talk_get_piece(
	const char *message, size_t size, uint64_t *from, const char **octets, size_t *count);

// Returns the text of a message, which this function takes; the caller frees it.
char *talk_text(json_t *message);
// Writes names of a list: "a", "a, b and c", or "a, b, c, d and 96 more". Returns buf.
const char *talk_names(const json_t *names, char *buf, size_t room);
// Adds a name to the list for a text, so that they share a line. said: an object.
void talk_say(json_t *said, const char *what, const char *name);
// Returns a list of texts.
json_t *talk_texts(char *const *texts, unsigned count);
// Parses a message, which must be an object; NULL: it is not.
json_t *talk_read(const char *data, size_t size);
// Returns the exit code that an agent states for a failed run. Codes other than ddiperf's own, 0
// included, mean that the agent is broken.
int talk_code(const json_t *code);
// Do the labels of an agent, "rack=1,site=a", contain all wanted ones?
bool talk_has_labels(const char *labels, const char *wanted);
