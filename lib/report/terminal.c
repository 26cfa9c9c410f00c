// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread; terminal_restore: any thread.
#include "report/terminal.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define AGAIN_NS 500000000ull // for the clock
#define LEAST_NS 100000000ull // between two drawings
#define CLEAR    "\r\033[J"

static struct {
	const struct view *view;
	FILE *out;
	const char *hint;
	bool utf8, stale; // there was a line
	uint64_t drawn_ns;
	struct winsize size;
	struct termios before;
	atomic_bool raw, drawn;
} terminal;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void terminal_open(const struct view *v, FILE *out, const char *hint)
{
	terminal.view = v;
	terminal.out = out;
	terminal.hint = hint;
	terminal.utf8 = view_is_utf8();
}

// A job in the background is stopped if it sets the terminal or reads from it.
static bool is_in_front(int fd)
{
	pid_t front = tcgetpgrp(fd);

	return front < 0 || front == getpgrp();
}

// Disables line buffering and echo; again after a shell has stopped and continued the run.
static void take_keys(void)
{
	struct termios t;

	if (!isatty(STDIN_FILENO) || !is_in_front(STDIN_FILENO) ||
		tcgetattr(STDIN_FILENO, &t) < 0 || !(t.c_lflag & ICANON))
		return;
	if (!atomic_load(&terminal.raw))
		terminal.before = t;
	t.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	t.c_cc[VMIN] = 0;
	t.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSANOW, &t) == 0)
		atomic_store(&terminal.raw, true);
}

static void look_for_key(void)
{
	char keys[16];
	ssize_t got;

	if (!atomic_load(&terminal.raw) || !is_in_front(STDIN_FILENO))
		return;
	got = read(STDIN_FILENO, keys, sizeof(keys));
	if (got > 0 && memchr(keys, 'q', (size_t)got))
		kill(getpid(), SIGINT);
}

static bool is_ready(void)
{
	struct pollfd p = {.fd = fileno(terminal.out), .events = POLLOUT};

	return poll(&p, 1, 0) == 1 && is_in_front(p.fd);
}

// Each line replaces the one before, and the rest below is cleared. In one write: a crash in the
// middle of several would find the cursor among the lines, and leave the lines above it.
static void put_lines(const char *text)
{
	unsigned count = 0;
	char *lines = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&lines, &len);
	ssize_t written;

	if (!f)
		return;
	fputs("\r\033[K", f);
	for (const char *end; (end = strchr(text, '\n')); text = end + 1, count++)
		fprintf(f, "\n%.*s\033[K", (int)(end - text), text);
	fprintf(f, "\033[J\r\033[%uA", count);
	if (fclose(f) == 0 && fflush(terminal.out) == 0) {
		written = write(fileno(terminal.out), lines, len);
		(void)written;
	}
	free(lines);
}

static void draw(void)
{
	struct view_size size = {.utf8 = terminal.utf8, .hint = terminal.hint};
	char *text = NULL;
	size_t len = 0;
	FILE *f = is_ready() ? open_memstream(&text, &len) : NULL;

	if (!f)
		return;
	size.columns = terminal.size.ws_col > 1 ? terminal.size.ws_col - 1u : 79;
	size.rows = terminal.size.ws_row > 2 ? terminal.size.ws_row - 2u : 1;
	view_draw(terminal.view, &size, f);
	if (fclose(f) == 0 && len) {
		take_keys();
		atomic_store(&terminal.drawn, true);
		put_lines(text);
	}
	free(text);
	terminal.stale = false;
	terminal.drawn_ns = now_ns();
}

static void on_tick(void *ctx)
{
	struct winsize size = {.ws_row = 24, .ws_col = 80};
	uint64_t since = now_ns() - terminal.drawn_ns;
	bool resized;

	look_for_key();
	ioctl(fileno(terminal.out), TIOCGWINSZ, &size);
	resized = size.ws_row != terminal.size.ws_row || size.ws_col != terminal.size.ws_col;
	if (!resized && since < (terminal.stale ? LEAST_NS : AGAIN_NS))
		return;
	// Each terminal wraps long lines in its own way, so the place of the view is unknown.
	if (resized && atomic_load(&terminal.drawn) && is_ready())
		fputs("\033[H\033[2J", terminal.out);
	terminal.size = size;
	draw();
}

static void on_line(void *ctx, const json_t *line)
{
	terminal.stale = true;
	on_tick(ctx);
}

static void on_close(void *ctx)
{
	terminal_restore();
}

struct run_events_follower terminal_follower(void)
{
	return (struct run_events_follower){on_line, on_tick, on_close, NULL};
}

void terminal_restore(void)
{
	ssize_t written;

	if (atomic_exchange(&terminal.drawn, false)) {
		written = write(fileno(terminal.out), CLEAR, strlen(CLEAR));
		(void)written;
	}
	if (atomic_exchange(&terminal.raw, false))
		tcsetattr(STDIN_FILENO, TCSANOW, &terminal.before);
}
