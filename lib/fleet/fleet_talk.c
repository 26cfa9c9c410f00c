// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "fleet/fleet_talk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/run/run.h"

#define NAMES_SHOWN 4

bool talk_is_name(const char *text)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
	size_t len = text ? strlen(text) : 0;

	return len > 0 && len < TALK_NAME && strspn(text, allowed) == len;
}

const char *talk_agent(char buf[TALK_SUBJECT], const char *name, const char *verb)
{
	snprintf(buf, TALK_SUBJECT, "ddiperf.agent.%s.%s", name, verb);
	return buf;
}

const char *talk_run(char buf[TALK_SUBJECT], const char *run, const char *name)
{
	snprintf(buf, TALK_SUBJECT, "ddiperf.run.%s.%s", run, name);
	return buf;
}

size_t talk_put_piece(char *to, uint64_t from, const char *octets, size_t count)
{
	size_t head = (size_t)sprintf(to, "%" PRIu64 "\n", from);

	memcpy(to + head, octets, count);
	return head + count;
}

bool talk_get_piece(
	const char *message, size_t size, uint64_t *from, const char **octets, size_t *count)
{
	const char *end = size ? memchr(message, '\n', size) : NULL;
	size_t digits = end ? (size_t)(end - message) : 0;
	uint64_t n = 0;

	if (digits == 0 || digits > 18)
		return false;
	for (const char *at = message; at < end; at++) {
		if (*at < '0' || *at > '9')
			return false;
		n = 10 * n + (uint64_t)(*at - '0');
	}
	*from = n;
	*octets = end + 1;
	*count = size - digits - 1;
	return true;
}

char *talk_text(json_t *message)
{
	char *text = json_dumps(message, JSON_COMPACT | JSON_REAL_PRECISION(17));

	json_decref(message);
	if (!text)
		abort(); // memory for JSON is never NULL (main.c)
	return text;
}

json_t *talk_read(const char *data, size_t size)
{
	json_t *message = data ? json_loadb(data, size, 0, NULL) : NULL;

	if (json_is_object(message))
		return message;
	json_decref(message);
	return NULL;
}

// Does the list contain the word of that length?
static bool is_there(const char *list, const char *word, size_t len)
{
	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strcspn(at, ",") == len && strncmp(at, word, len) == 0)
			return true;
	}
	return false;
}

bool talk_has_labels(const char *labels, const char *wanted)
{
	for (const char *at = wanted; at && *at; at += strspn(at, ",")) {
		size_t len = strcspn(at, ",");

		if (len && !is_there(labels, at, len))
			return false;
		at += len;
	}
	return true;
}

const char *talk_names(const json_t *names, char *buf, size_t room)
{
	size_t count = json_array_size(names),
	       shown = count > NAMES_SHOWN + 1 ? NAMES_SHOWN : count;
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < shown && len < room; i++)
		len += (size_t)snprintf(buf + len, room - len, "%s%s",
			i == 0                             ? ""
			: i + 1 == count && shown == count ? " and "
							   : ", ",
			json_string_value(json_array_get(names, i)));
	if (shown < count && len < room)
		snprintf(buf + len, room - len, " and %zu more", count - shown);
	return buf;
}

void talk_say(json_t *said, const char *what, const char *name)
{
	json_t *names = json_object_get(said, what);

	if (!names) {
		names = json_array();
		json_object_set_new(said, what, names);
	}
	json_array_append_new(names, json_string(name));
}

json_t *talk_texts(char *const *texts, unsigned count)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < count; i++)
		json_array_append_new(list, json_string(texts[i]));
	return list;
}

int talk_code(const json_t *code)
{
	json_int_t value = json_integer_value(code);

	return (value >= EXIT_FAIL && value <= EXIT_INTERNAL) || value == EXIT_INTERRUPTED
	               ? (int)value
	               : EXIT_ENVIRONMENT;
}
