// SPDX-License-Identifier: BSD-3-Clause
// Lines on stderr, each by one write, so that lines of several threads do not mix. Path: cold. Any
// thread.
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_SIZE 2048
#define LAST_SIZE 1024

static int current_level = LOG_NORMAL;

void log_set_level(enum log_level level)
{
	__atomic_store_n(&current_level, (int)level, __ATOMIC_RELAXED);
}

static bool log_wanted(enum log_level least)
{
	return __atomic_load_n(&current_level, __ATOMIC_RELAXED) >= (int)least;
}

bool log_is_verbose(void)
{
	return log_wanted(LOG_VERBOSE);
}

// Number of octets of a UTF-8 character; 0 if it is malformed, or a control character, which a
// terminal would interpret.
static size_t letter_len(const unsigned char *at)
{
	size_t len = *at < 0x80 ? 1 : *at < 0xc2 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : 4;

	if (*at < ' ' || *at == 0x7f || *at > 0xf4 || (*at == 0xc2 && at[1] < 0xa0))
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

// Names and reasons come from files, servers and other machines.
static void clean(char *text)
{
	for (size_t len; *text; text += len) {
		len = letter_len((const unsigned char *)text);
		if (len == 0)
			*text = '?';
		len += len == 0;
	}
}

static const char *const (*words)[2];

void log_set_words(const char *const (*pairs)[2])
{
	words = pairs;
}

// The pair with the phrase at the start of the text, or NULL.
static const char *const *words_at(const char *text)
{
	const char *const(*w)[2] = words;

	for (; w && (*w)[0]; w++)
		if (strncmp(text, (*w)[0], strlen((*w)[0])) == 0)
			return *w;
	return NULL;
}

const char *log_in_words(const char *text, char *out, size_t room)
{
	const char *const *pair;
	size_t used = 0;

	while (*text && used + 1 < room) {
		pair = words_at(text);
		if (!pair) {
			out[used++] = *text++;
			continue;
		}
		used += (size_t)snprintf(out + used, room - used, "%s", pair[1]);
		used = used < room ? used : room - 1;
		text += strlen(pair[0]);
	}
	out[used] = '\0';
	return out;
}

static void log_line(const char *kind, const char *fmt, va_list args)
{
	static const char cut[] = "...";
	char line[LINE_SIZE + 1], text[LINE_SIZE];
	size_t room = LINE_SIZE - 2, used;
	ssize_t written;

	if (vsnprintf(text, sizeof(text), fmt, args) < 0)
		return;
	used = (size_t)snprintf(line, room, "ddiperf: %s", kind);
	used += strlen(log_in_words(text, line + used, sizeof(line) - 1 - used));
	if (used > room) {
		used = room;
		memcpy(line + used - strlen(cut), cut, strlen(cut));
		line[used] = '\0';
	}
	clean(line);
	line[used++] = '\n';
	written = write(STDERR_FILENO, line, used);
	(void)written; // an error here cannot be reported anywhere
}

static _Thread_local char last_error[LAST_SIZE];

void log_error(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(last_error, sizeof(last_error), fmt, args);
	clean(last_error);
	va_end(args);
	va_start(args, fmt);
	log_line("", fmt, args);
	va_end(args);
}

void log_take_error(char *text, size_t room)
{
	snprintf(text, room, "%s", last_error);
	last_error[0] = '\0';
}

void log_warning(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	log_line("warning: ", fmt, args);
	va_end(args);
}

void log_note(const char *fmt, ...)
{
	va_list args;

	if (!log_wanted(LOG_NORMAL))
		return;
	va_start(args, fmt);
	log_line("", fmt, args);
	va_end(args);
}

void log_debug(const char *fmt, ...)
{
	va_list args;

	if (!log_wanted(LOG_VERBOSE))
		return;
	va_start(args, fmt);
	log_line("", fmt, args);
	va_end(args);
}
