// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread | the thread of libnats (fleet_clock_tell).
#include "fleet/fleet_clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timex.h>
#include <time.h>

#define ERROR_MOST INT64_C(3600000000000) // ns: a kernel states 16 s at most
#define LEAD_MS    500
#define LEAD_MOST  10000
#define LEAD_TRIPS 5 // ways there and back in a lead
#define ORDER_MS   5 // for each agent to take the order

int64_t fleet_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int64_t fleet_clock_error(void)
{
	struct timex t = {0};
	int state = adjtimex(&t);

	return state < 0 || state == TIME_ERROR || t.status & STA_UNSYNC ? -1 : t.maxerror * 1000;
}

size_t fleet_clock_tell(char text[FLEET_CLOCK_TEXT], const char *question)
{
	int64_t asked = strtoll(question, NULL, 10);

	return (size_t)snprintf(text, FLEET_CLOCK_TEXT, "%" PRId64 " %" PRId64 " %" PRId64, asked,
		fleet_clock_ns(), fleet_clock_error());
}

bool fleet_clock_read(const char *text, struct fleet_clock_told *told)
{
	int64_t *const to[] = {&told->asked_ns, &told->ns, &told->error_ns};
	char *end;

	for (int i = 0; i < 3; i++, text = end) {
		*to[i] = strtoll(text, &end, 10);
		if (end == text || (*end != ' ' && *end))
			return false;
	}
	return *end == '\0' && told->asked_ns > 0 && told->ns > 0 && told->error_ns >= -1 &&
	       told->error_ns <= ERROR_MOST;
}

void fleet_clock_start(struct fleet_clock *c)
{
	*c = (struct fleet_clock){.delay_ns = INT64_MAX, .error_ns = -1};
}

void fleet_clock_add(struct fleet_clock *c, const struct fleet_clock_told *told, int64_t came_ns)
{
	int64_t delay = came_ns - told->asked_ns;

	if (delay < 0) // our clock was set meanwhile
		return;
	c->count++;
	c->slowest_ns = delay > c->slowest_ns ? delay : c->slowest_ns;
	if (delay >= c->delay_ns)
		return;
	c->delay_ns = delay;
	c->offset_ns = told->ns - (told->asked_ns + delay / 2);
	c->error_ns = told->error_ns;
}

struct fleet_offset fleet_clock_offset(const struct fleet_clock *c, int64_t own_error_ns)
{
	int64_t kept = c->error_ns < 0 || own_error_ns < 0 ? INT64_MAX : c->error_ns + own_error_ns;
	int64_t within = c->delay_ns / 2;

	if (kept < within && llabs(c->offset_ns) <= within + kept)
		return (struct fleet_offset){0, kept, "kernel"};
	return (struct fleet_offset){c->offset_ns, within, "nats"};
}

void fleet_skew_add(struct fleet_skew *s, int64_t sent_ns, const struct fleet_offset *clock)
{
	int64_t at = sent_ns - clock->ns, least = clock->within_ns;

	if (sent_ns == 0)
		return;
	s->first_ns = s->count == 0 || at < s->first_ns ? at : s->first_ns;
	s->last_ns = s->count == 0 || at > s->last_ns ? at : s->last_ns;
	s->count++;
	for (int i = 0; i < 2; i++)
		if (least > s->within_ns[i]) {
			int64_t most = least;

			least = s->within_ns[i];
			s->within_ns[i] = most;
		}
}

void fleet_skew_put(const struct fleet_skew *s, bool known, json_t *fleet)
{
	bool any = s->count > 1;

	json_object_set_new(
		fleet, "start_skew_ns", any ? json_integer(s->last_ns - s->first_ns) : json_null());
	json_object_set_new(fleet, "start_skew_within_ns",
		any && known ? json_integer(s->within_ns[0] + s->within_ns[1]) : json_null());
}

unsigned fleet_clock_lead_ms(unsigned agents, int64_t slowest_ns)
{
	int64_t ms = LEAD_MS + ORDER_MS * (int64_t)agents + LEAD_TRIPS * slowest_ns / 1000000;

	return ms < LEAD_MOST ? (unsigned)ms : LEAD_MOST;
}
