// SPDX-License-Identifier: BSD-3-Clause
// A folder of runs, each a child process of this program, and of the files that they read:
//
//   files/NAME     configurations and their input
//   runs/ID.json   what is known of a run: its state
//   runs/ID/       its working directory: result.json, live.jsonl, log.txt, run.yaml
//   history.jsonl  a line for each run that has ended
//
// The main thread starts and ends the children, for it has the rights that ports need. Path: cold.
// Main thread (open, tick, close) | threads of libmicrohttpd.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define RUNS_PATH       4096
#define RUNS_SETS       24 // settings in place of those of the file
#define RUNS_MORE       64 // further arguments of a run
#define RUNS_ID_SIZE    64
#define RUNS_ACTIVE_MAX 8 // in progress at a time

struct runs;

// What an operation came to: code 0, or a status of HTTP with the reason.
struct runs_error {
	unsigned code;
	char text[512];
};

// 0, or -errno, which was logged. commands: configurations may run commands.
int runs_open(const char *dir, bool commands, struct runs **out);
// Start the run that is wanted, and note those that have ended.
void runs_tick(struct runs *r);
// Those who follow shall end: from here on runs_are_over.
void runs_end(struct runs *r);
// End all runs in order, the box as it was before, and free r.
void runs_close(struct runs *r);

bool runs_are_over(struct runs *r);

// Start `ddiperf run MORE... files/FILE`, and write its id. more: further arguments, count of them,
// RUNS_MORE at most; they are in pairs, like --set and PATH=VALUE. fleet: what its state says of
// the agents that do it, so it has no port here; NULL: it is done here. lease_s not 0: `ddiperf
// respond` instead, which ends when nobody has asked for its state (runs_look) for so long.
void runs_start(struct runs *r, unsigned lease_s, const char *file, const char *const *more,
	unsigned count, json_t *fleet, char id[RUNS_ID_SIZE], struct runs_error *e);
// In order; the second time without waiting for replies.
void runs_stop(struct runs *r, const char *id, struct runs_error *e);
// An order (process/orders.h), which is passed on as it is.
void runs_order(struct runs *r, const char *id, const json_t *order, struct runs_error *e);
void runs_delete(struct runs *r, const char *id, struct runs_error *e);

// What is known of one, NULL: there is no such; of all, the newest first. The caller owns it.
json_t *runs_state(struct runs *r, const char *id);
json_t *runs_list(struct runs *r);
// A responder is still wanted.
void runs_look(struct runs *r, const char *id);

// Those in progress.
struct runs_ids {
	char id[RUNS_ACTIVE_MAX][RUNS_ID_SIZE];
	unsigned count;
};

void runs_active(struct runs *r, struct runs_ids *out);

// The path of a file in the folder of runs: "files/x". Returns buf.
const char *runs_path(const struct runs *r, char buf[RUNS_PATH], const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
bool runs_allow_commands(const struct runs *r);
// A descriptor to read the file, or -1.
int runs_read(const struct runs *r, const char *path);
