// SPDX-License-Identifier: BSD-3-Clause
// A server of one family for tests: set-up, messages and end. A family's fixture includes this
// after its definitions of FAMILY(name), SERVER_REPLY (members that hold the last reply) and
// GIVING_BACK_IS_SILENT (a message that gives a lease back gets no reply). Path: tests only.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define POOL_SIZE 4
#define LIST(items_, count_)                                                                       \
	(struct field_list)                                                                        \
	{                                                                                          \
		(void *)(items_), count_                                                           \
	}

struct server {
	struct proto_ctx ctx;
	struct dhcp_answer_counters n;
	uint8_t out[2048];
	uint32_t room, len; // of the last reply
	SERVER_REPLY
};

// Defined by the family: settings with a pool of POOL_SIZE leases, and the last reply, parsed.
static inline struct FAMILY(answers_settings) server_settings(void);
static inline void reply_read(struct server *v);

static inline struct server *server_open(
	const struct FAMILY(answers_settings) * s, const struct proto_env *env)
{
	struct server *v = calloc(1, sizeof(*v));
	struct diag *d = diag_new();

	v->ctx.shared = FAMILY(server).setup(s, env, &(struct proto_facts){0}, d);
	assert_int_equal(diag_count(d), 0);
	assert_non_null(v->ctx.shared);
	assert_int_equal(FAMILY(server).open(&v->ctx, env), 0);
	v->ctx.counters = &v->n;
	v->room = sizeof(v->out);
	diag_free(d);
	return v;
}

static inline struct server *server_of(const struct FAMILY(answers_settings) * s)
{
	const struct proto_env env = {.workers = 1, .seed = 7};

	return server_open(s, &env);
}

static inline struct server *server_new(void)
{
	struct FAMILY(answers_settings) s = server_settings();

	return server_of(&s);
}

static inline void server_end(struct server *v)
{
	const struct dhcp_answer_counters *n = &v->n;

	assert_int_equal(n->received,
		n->answered + n->pool_full + n->other_server + n->unknown_client + n->ignored +
			n->malformed + (GIVING_BACK_IS_SILENT ? n->released + n->declined : 0));
	dhcp_server_close(&v->ctx);
	dhcp_server_teardown((void *)v->ctx.shared);
	free(v);
}

static inline const struct proto_fault *fault_named(const char *name)
{
	const struct proto_fault *f = FAMILY(faults);

	while (f->name && strcmp(f->name, name) != 0)
		f++;
	assert_non_null(f->name);
	return f;
}

// Checks that set-up for this number of workers ends with one error.
static inline void assert_refused_for(const struct FAMILY(answers_settings) * s, uint32_t workers)
{
	const struct proto_env env = {.workers = workers};
	struct diag *d = diag_new();

	assert_null(FAMILY(server).setup(s, &env, &(struct proto_facts){0}, d));
	assert_int_equal(diag_count(d), 1);
	diag_free(d);
}

static inline void assert_refused(const struct FAMILY(answers_settings) * s)
{
	assert_refused_for(s, 1);
}

// In blocks of exactly the size, so that a sanitizer sees every access beyond them.
static inline uint32_t hear(struct server *v, const void *bytes, uint32_t len)
{
	uint8_t *exact = malloc(len ? len : 1), *out = malloc(v->room ? v->room : 1);

	memcpy(exact, bytes, len);
	v->len = FAMILY(server).answer(&v->ctx, exact, len, out, v->room);
	assert_true(v->len <= v->room);
	memcpy(v->out, out, v->len);
	free(exact);
	free(out);
	if (v->len)
		reply_read(v);
	return v->len;
}
