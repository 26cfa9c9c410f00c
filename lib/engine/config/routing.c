// SPDX-License-Identifier: BSD-3-Clause
// The router of a protocol without one. Path: cold. Any thread.
#include "engine/config/routing.h"

static void direct_check_server(const void *settings, const struct addr *server, struct diag *d)
{
	if (server->len == 0)
		diag_error(d, server, "server", "is missing (the address of the server)");
}

static void direct_layout(const void *shared, struct proto_layout *out)
{
	*out = (struct proto_layout){0};
}

static bool direct_begin(struct proto_ctx *ctx, struct proto_txn *t)
{
	return true;
}

static void direct_flow(struct proto_ctx *ctx, const struct proto_txn *t, struct proto_flow *out)
{
	*out = (struct proto_flow){0};
}

static const struct proto_router direct = {
	.check_server = direct_check_server,
	.layout = direct_layout,
	.begin = direct_begin,
	.flow = direct_flow,
};

bool routing_is_own(const struct proto *p)
{
	return p->router;
}

const struct proto_router *routing_of(const struct proto *p)
{
	return p->router ? p->router : &direct;
}
