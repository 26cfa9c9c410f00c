// SPDX-License-Identifier: BSD-3-Clause
// A bus in the hands of test_bus.py: commands from standard input, a line each; what comes, and at
// the end of each command "= RC", on standard output.
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nats/bus.h"

#define WORDS 4

static struct bus *bus;
static const struct bus_endpoint endpoints[] = {{"echo", "tool.echo"}};
static const char *const metadata[] = {"rack", "1", NULL};
static struct bus_service service = {.name = "ddiperf",
	.version = "1.2.3",
	.description = "a test",
	.id = "TOOL1",
	.metadata = metadata,
	.endpoints = endpoints,
	.count = 1};

static void on_message(void *ctx, const struct bus_message *m)
{
	printf("came %s %.*s%s\n", m->subject, (int)m->size, m->data,
		m->data[m->size] ? " no zero" : "");
	if (strcmp(m->data, "unsubscribe") == 0)
		bus_unsubscribe(bus, m->subject);
	if (m->reply)
		bus_publish(bus, m->reply, m->data, m->size);
}

// The reply is the time stamp.
static void stamp(void *ctx, const struct bus_message *m)
{
	char text[32];

	if (m->reply)
		bus_publish(
			bus, m->reply, text, (size_t)sprintf(text, "%lld", (long long)m->at_ns));
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int request(char *const *w)
{
	int64_t before = now_ns(), at_ns;
	size_t len;
	int rc;
	char *text =
		bus_request(bus, w[1], w[3], strlen(w[3]), (unsigned)atoi(w[2]), &len, &at_ns, &rc);

	if (!text)
		return rc;
	printf("reply %s %lld %lld %lld\n", text, (long long)before, (long long)at_ns,
		(long long)now_ns());
	rc = len == strlen(text) ? 0 : -EBADMSG;
	free(text);
	return rc;
}

static int obey(char *const *w)
{
	char text[80] = "";
	int rc = 0;

	if (strcmp(w[0], "sub") == 0)
		return bus_subscribe(bus, w[1], on_message, NULL);
	if (strcmp(w[0], "stamp") == 0)
		return bus_subscribe_at_once(bus, w[1], stamp, NULL);
	if (strcmp(w[0], "pub") == 0)
		return bus_publish(bus, w[1], w[2], strlen(w[2]));
	if (strcmp(w[0], "flood") == 0) {
		for (int i = 0; rc == 0 && i < atoi(w[2]); i++)
			rc = bus_publish(bus, w[1], text, (size_t)sprintf(text, "%d", i));
		return rc;
	}
	if (strcmp(w[0], "large") == 0) { // as many of 512 KiB
		char *large = calloc(1, 512 << 10);

		for (int i = 0; rc == 0 && i < atoi(w[2]); i++)
			rc = bus_publish(bus, w[1], large, 512 << 10);
		free(large);
		return rc;
	}
	if (strcmp(w[0], "ask") == 0)
		return bus_ask(bus, w[1], w[2], w[3], strlen(w[3]));
	if (strcmp(w[0], "request") == 0)
		return request(w);
	if (strcmp(w[0], "tick") == 0)
		return (int)bus_tick(bus, (unsigned)atoi(w[1]));
	if (strcmp(w[0], "up") == 0)
		return bus_is_up(bus);
	if (strcmp(w[0], "closed") == 0)
		return bus_is_closed(bus);
	if (strcmp(w[0], "serve") == 0)
		return bus_serve(bus, &service);
	if (strcmp(w[0], "get") == 0)
		return bus_get_file(bus, w[1], w[2]);
	if (strcmp(w[0], "inbox") == 0)
		bus_inbox(bus, text, sizeof(text));
	else if (strcmp(w[0], "unsub") == 0)
		bus_unsubscribe(bus, w[1]);
	else if (strcmp(w[0], "place") == 0)
		snprintf(text, sizeof(text), "%s", bus_place(bus));
	else if (strcmp(w[0], "room") == 0)
		sprintf(text, "%zu", bus_room(bus));
	else if (strcmp(w[0], "put") == 0)
		rc = bus_put_file(bus, w[1], text);
	printf("%s\n", text);
	return rc;
}

static void split(char *line, char **words)
{
	line[strcspn(line, "\n")] = 0;
	for (unsigned i = 0; i < WORDS; i++) {
		words[i] = line;
		line += strcspn(line, " ");
		if (*line && i < WORDS - 1)
			*line++ = 0;
	}
}

// URL CREDS CA CERT KEY; an empty word: none
int main(int argc, char **argv)
{
	struct bus_settings s = {.name = "tool"};
	const char **const to[] = {&s.url, &s.creds, &s.ca, &s.cert, &s.key};
	char line[4096], *words[WORDS];
	int rc;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i < argc && i <= 5; i++)
		*to[i - 1] = *argv[i] ? argv[i] : NULL;
	rc = bus_open(&s, &bus);
	printf("= %d\n", rc);
	if (rc < 0)
		return 1;
	while (fgets(line, sizeof(line), stdin)) {
		split(line, words);
		rc = obey(words);
		printf("= %d\n", rc);
	}
	bus_close(bus);
	return 0;
}
