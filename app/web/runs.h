// SPDX-License-Identifier: BSD-3-Clause
// A folder of runs and campaigns, each a child process of this program, and of the files that they
// read:
//
//   files/NAME     configurations and their input
//   runs/ID.json   the state of a run
//   runs/ID/       its working directory: result.json, live.jsonl, log.txt, run.yaml; of a campaign
//                  campaign.json instead of the first
//   history.jsonl  a line for each run that has ended
//
// The main thread starts and ends the children, because it has the rights needed for ports.
// Path: cold. Main thread (open, tick, close) | threads of libmicrohttpd.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define RUNS_PATH       4096
#define RUNS_TABLE      "campaign.json" // output.json of a campaign
#define RUNS_SETS       24              // settings that replace the file's
#define RUNS_MORE       64              // further arguments of a run
#define RUNS_ID_SIZE    64
#define RUNS_ACTIVE_MAX 8 // in progress at a time

struct runs;

// Result of an operation: code 0, or an HTTP status with the reason.
struct runs_error {
	unsigned code;
	char text[512];
};

// 0, or -errno, which was logged. commands: configurations may run commands.
int runs_open(const char *dir, bool commands, struct runs **out);
// Start the wanted run, and note ended ones.
void runs_tick(struct runs *r);
// Make followers end: from here on, runs_are_over is true.
void runs_end(struct runs *r);
// End all runs in order, restore the box, and free r.
void runs_close(struct runs *r);

bool runs_are_over(struct runs *r);

// Start `ddiperf run MORE... files/FILE`, or campaign if FILE is one, and write its id. more: count
// further arguments, at most RUNS_MORE, in pairs like --set and PATH=VALUE. fleet: the agents that
// do the run, as in its state, so it uses no port here; NULL: a local run. lease_s not 0: starts
// `ddiperf respond` instead, which ends if its state is not requested (runs_look) for this time.
void runs_start(struct runs *r, unsigned lease_s, const char *file, const char *const *more,
	unsigned count, json_t *fleet, char id[RUNS_ID_SIZE], struct runs_error *e);
// Continues a campaign that ended before its last run: its journal has the finished ones.
void runs_resume(struct runs *r, const char *id, struct runs_error *e);
// In order; the second time without waiting for replies.
void runs_stop(struct runs *r, const char *id, struct runs_error *e);
// Pass on an order (process/orders.h) unchanged.
void runs_order(struct runs *r, const char *id, const json_t *order, struct runs_error *e);
void runs_delete(struct runs *r, const char *id, struct runs_error *e);

// The state of one run, NULL: no such run; or of all, newest first. The caller owns it.
json_t *runs_state(struct runs *r, const char *id);
json_t *runs_list(struct runs *r);
// Renew a responder's lease.
void runs_look(struct runs *r, const char *id);

// IDs of runs in progress.
struct runs_ids {
	char id[RUNS_ACTIVE_MAX][RUNS_ID_SIZE];
	unsigned count;
};

void runs_active(struct runs *r, struct runs_ids *out);

// Format the path of a file in the folder of runs: "files/x". Returns buf.
const char *runs_path(const struct runs *r, char buf[RUNS_PATH], const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
bool runs_allow_commands(const struct runs *r);
// Open the file for reading: a descriptor, or -1.
int runs_read(const struct runs *r, const char *path);
