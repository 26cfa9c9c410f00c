// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Management thread.
#include "engine/config/events_fit.h"

#include <string.h>

#include "conf/units.h"
#include "io/driver/driver.h"

#define TRAFFIC  "traffic."
#define RATE     ".load.rate"
#define SLACK_NS 1000000000 // the last rate holds beyond the end

static void fit_link(
	const struct config *c, struct event_settings *e, struct arena *a, struct diag *d)
{
	const struct port_settings *p = config_port(c, e->port);

	if (!p && e->port)
		diag_error(d, &e->port, NULL, "there is no port called \"%s\"", e->port);
	else if (!p)
		diag_error(d, e, "link", "which port? the file has several (port: NAME)");
	else if (p->driver >= 0 && driver_of(p)->device == DEVICE_INTERFACE &&
		 port_on_kernel_interface(p)) {
		e->link_port = p;
		e->command =
			arena_printf(a, "ip link set dev '%s' %s", p->device, event_links[e->link]);
	} else if (p->driver >= 0)
		diag_error(d, e, "link",
			"the link of port %s stays as it is with driver: %s (af_packet and af_xdp "
			"change it)",
			p->name, driver_of(p)->name);
}

struct item_settings *events_item_of_set(const struct config *c, const char *set, double *rate)
{
	size_t len = strcspn(set, "="), rest = strlen(TRAFFIC) + strlen(RATE);
	struct item_settings *items = c->traffic.items;
	const char *name = set + strlen(TRAFFIC), *why;

	if (set[len] != '=' || len <= rest || strncmp(set, TRAFFIC, strlen(TRAFFIC)) != 0 ||
		strncmp(set + len - strlen(RATE), RATE, strlen(RATE)) != 0 ||
		units_parse_rate(set + len + 1, rate, &why) < 0)
		return NULL;
	for (uint32_t i = 0; i < c->traffic.count; i++)
		if (items[i].name && strlen(items[i].name) == len - rest &&
			strncmp(items[i].name, name, len - rest) == 0)
			return &items[i];
	return NULL;
}

// Parses "responder.faults.NAME.share=30%" for a fault that has a share.
static bool fit_fault(const struct config *c, struct event_settings *e, struct arena *a)
{
	const struct faults_settings *f = c->responder ? c->responder->faults : NULL;
	const char *why;

	for (uint32_t i = 0; f && i < FAULTS_MAX; i++) {
		const char *key = arena_printf(a, "responder.faults.%s.share=", faults_label(i));

		if (!f->fault[i] || f->fault[i]->share == 0 ||
			strncmp(e->set, key, strlen(key)) != 0)
			continue;
		e->fault = i;
		return units_parse_percent(e->set + strlen(key), &e->share, &why) == 0 &&
		       e->share >= 0 && e->share <= 1;
	}
	return false;
}

static void fit_set(
	const struct config *c, struct event_settings *e, struct arena *a, struct diag *d)
{
	double rate;
	struct item_settings *i = events_item_of_set(c, e->set, &rate);
	struct load_settings *l = i ? &i->load : NULL;
	struct load_step *steps;
	uint64_t from = 0;

	if (fit_fault(c, e, a))
		return;
	if (!l || l->rate == 0 || !load_is_open(l) || e->at_ns <= l->start_at_ns) {
		diag_error(d, &e->set, NULL,
			"\"%s\" cannot be set in a running run (only traffic.NAME.load.rate=50k of "
			"an item that has a rate, after its start, or responder.faults.NAME.share="
			"30%% of a fault that has a share)",
			e->set);
		return;
	}
	if (!l->changes.items)
		l->changes.items = arena_zalloc(a, (EVENTS_MAX + 1) * sizeof(*steps));
	steps = l->changes.items;
	if (l->changes.count == 0)
		steps[l->changes.count++] = (struct load_step){l->rate + l->more, 0};
	for (uint32_t n = 0; n + 1 < l->changes.count; n++)
		from += steps[n].for_ns;
	steps[l->changes.count - 1].for_ns = e->at_ns - l->start_at_ns - from;
	steps[l->changes.count++] =
		(struct load_step){rate + l->more, c->run.duration_ns + SLACK_NS - e->at_ns};
}

static void fit_event(
	const struct config *c, struct event_settings *e, struct arena *a, struct diag *d)
{
	unsigned kinds = (e->run != NULL) + (e->set != NULL) + (e->link != EVENT_LINK_NONE);

	if (kinds != 1)
		diag_error(d, e, "", "does %s (exactly one of run, set, link)",
			kinds ? "several things" : "nothing");
	if (e->at_ns >= c->run.duration_ns)
		diag_error(d, &e->at_ns, NULL,
			"%g s is not before the end of the run (run.duration: %g s)",
			1e-9 * (double)e->at_ns, 1e-9 * (double)c->run.duration_ns);
	else if (e->set)
		fit_set(c, e, a, d);
	if (e->link != EVENT_LINK_NONE)
		fit_link(c, e, a, d);
	if (e->run)
		e->command = e->run;
	if (!e->name)
		e->name = e->run   ? e->run
		          : e->set ? e->set
		                   : arena_printf(a, "link %s", event_links[e->link]);
}

void events_fit(const struct config *c, struct arena *a, struct diag *d)
{
	struct event_settings *e = c->events.items;

	if (c->events.count > EVENTS_MAX) {
		diag_error(d, c, "events", "%u events are too many (up to %u)", c->events.count,
			EVENTS_MAX);
		return;
	}
	for (uint32_t i = 0; i < c->events.count; i++) {
		if (i && e[i].at_ns < e[i - 1].at_ns)
			diag_error(d, &e[i].at_ns, NULL,
				"is before the event above (give them in order of their times)");
		else
			fit_event(c, &e[i], a, d);
	}
}
