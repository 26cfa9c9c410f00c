// SPDX-License-Identifier: BSD-3-Clause
// A plan from YAML text on ports that were never opened and CPUs that need not exist: without EAL,
// without packets. A test that includes it is linked with --wrap=cpus_read; tests of one program
// share its results (weak). Path: cold. Test.
#pragma once

#include "loaded.h"

#include <math.h>

#include "engine/plan/plan.h"
#include "engine/plan/plan_internal.h"
#include "engine/plan/plan_start.h"
#include "io/host/cpus.h"
#include "io/driver/driver.h"

// CPUs of the process, a bit each.
__attribute__((weak)) uint64_t planned_cpus = 0xff;

// Isolated CPUs of the process, and its share of CPU time.
__attribute__((weak)) uint64_t planned_isolated = 0;
__attribute__((weak)) uint64_t planned_taken = 0; // isolated, but used by others
__attribute__((weak)) double planned_quota = INFINITY;

int __wrap_cpus_read(struct cpus *out);

__attribute__((weak)) int __wrap_cpus_read(struct cpus *out)
{
	memset(out, 0, sizeof(*out));
	for (int cpu = 0; cpu < 64; cpu++) {
		if (planned_cpus >> cpu & 1)
			CPU_SET_S(cpu, CPUS_SET_LEN, &out->allowed.set);
		if (planned_isolated >> cpu & 1)
			CPU_SET_S(cpu, CPUS_SET_LEN, &out->isolated.set);
		if ((planned_isolated & ~planned_taken) >> cpu & 1)
			CPU_SET_S(cpu, CPUS_SET_LEN, &out->free.set);
	}
	out->quota = planned_quota;
	return 0;
}

struct planned {
	struct loaded l;
	struct plan plan;
};

// Plans as far as plan_read_input.
static inline struct planned *planned_read(const char *text, bool respond_only)
{
	struct planned *p = calloc(1, sizeof(*p));
	int rc;

	assert_non_null(p);
	p->l = loaded_from(text);
	rc = plan_read_input(&p->plan, p->l.config, respond_only, p->l.a, p->l.d);
	diag_print(p->l.d, stderr);
	assert_int_equal(rc, 0);
	p->plan.dry = true; // a tick is a nanosecond
	return p;
}

// Plans as far as plan_start, with ports as if started.
static inline struct planned *planned_start(const char *text, bool respond_only)
{
	struct planned *p = planned_read(text, respond_only);
	struct io_error e = {""};

	assert_int_equal(plan_start(&p->plan, respond_only, p->l.a, &e), 0);
	assert_string_equal(e.text, "");
	for (uint32_t i = 0; i < p->plan.port_count; i++) {
		const struct port_settings *s = &p->plan.port_settings[i];
		const uint64_t *vlans = s->vlans.items;
		struct port *port = &p->plan.ports[i];

		*port = (struct port){.settings = s,
			.driver = driver_of(s),
			.mac = {2, 0, 0, 0, 1, (uint8_t)i},
			.vlan_count = (uint8_t)s->vlans.count,
			.queues = (uint16_t)port_queue_count(s),
			.burst = 32};
		for (uint32_t n = 0; n < s->vlans.count; n++)
			port->vlans[n] = (uint16_t)vlans[n];
		for (uint16_t q = 0; q < port->queues; q++)
			port->queue[q] = (struct port_queue){(uint16_t)(10 + i), q};
	}
	return p;
}

// Plans everything.
static inline struct planned *planned_build(const char *text)
{
	struct planned *p = planned_start(text, false);

	assert_int_equal(plan_build(&p->plan, p->l.a), 0);
	return p;
}

static inline void planned_free(struct planned *p)
{
	assert_int_equal(plan_free(&p->plan), 0);
	loaded_free(&p->l);
	free(p);
}
