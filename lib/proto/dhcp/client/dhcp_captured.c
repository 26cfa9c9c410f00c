// SPDX-License-Identifier: BSD-3-Clause
// Reads a capture into a table of clients. The contents of a message are the family's business.
// Path: cold. Management thread.

#include "proto/dhcp/client/dhcp_captured.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/input.h"
#include "base/left_out.h"
#include "net/packet_file.h"

#define DUID_MAX 130 // RFC 8415 section 11.1

// A client seen before, for tsearch: a MAC or a DUID.
struct known {
	uint32_t len;
	uint8_t bytes[DUID_MAX];
};

struct captured {
	struct dhcp_plan *p;
	const struct dhcp_settings *settings;
	struct dhcp_table_build table;
	struct left_out left_out;
	struct arena *arena; // of known clients
	void *known;
	struct known *next; // to be filled; NULL: not allocated yet
	uint32_t most;
	bool timed;
	const char *link; // NULL: it is known
	struct dhcp_captured_client client;
};

static int known_compare(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	if (x->len != y->len)
		return x->len < y->len ? -1 : 1;
	return memcmp(x->bytes, y->bytes, x->len);
}

// Returns whether the client was seen before, and records it. -ENOMEM: no memory.
static int is_known(struct captured *c, const struct dhcp_captured_client *client)
{
	uint32_t len = client->has_mac ? sizeof(client->mac) : client->id.len;
	struct known **found;

	if (!c->next)
		c->next = arena_zalloc(c->arena, sizeof(*c->next));
	c->next->len = len;
	memcpy(c->next->bytes, client->has_mac ? client->mac : client->id.bytes, len);
	found = (struct known **)tsearch(c->next, &c->known, known_compare);
	if (!found)
		return -ENOMEM;
	if (*found != c->next)
		return true;
	c->next = NULL;
	return false;
}

static int client_add(struct captured *c, const struct dhcp_captured_client *client, uint64_t ns)
{
	char text[DHCP_MAC_TEXT] = "";
	int ret;

	if (client->has_mac)
		dhcp_mac_text(client->mac, sizeof(client->mac), text);
	ret = dhcp_table_field(&c->table, DHCP_CAPTURED_MAC, text, (uint32_t)strlen(text));
	if (ret == 0)
		ret = dhcp_table_field(
			&c->table, DHCP_CAPTURED_ID, client->id.bytes, client->id.len);
	if (ret == 0)
		ret = dhcp_table_field(&c->table, DHCP_CAPTURED_OPTIONS, client->options.bytes,
			client->options.len);
	if (ret == 0 && c->timed)
		ret = timestamps_add(&c->p->times, ns);
	c->p->table.is.rows += ret == 0;
	return ret;
}

static int packet_take(void *to, const struct packet *p)
{
	struct frame f = {.payload_len = 0};
	enum frame_kind kind = packet_parse(p, &f);
	struct captured *c = to;
	const struct dhcp_family *family = c->p->family;
	bool ours = kind == FRAME_UDP &&
	            (f.dst_port == family->server_port || f.dst_port == c->p->server_port ||
			    f.src_port == family->server_port || f.src_port == c->p->server_port);
	const char *why;
	int known;

	c->link = p->frame ? NULL : p->link;
	c->client = (struct dhcp_captured_client){.has_mac = false};
	why = ours ? family->captured(c->settings, f.payload, f.payload_len, &c->client)
	           : packet_kind(p, kind, &f);
	if (!why && c->client.has_mac && !c->settings->relay && c->client.mac[0] & 1)
		why = "hardware addresses of groups (behind a relay they are mere content)";
	if (why) {
		left_out_add(&c->left_out, why);
		return 0;
	}
	known = is_known(c, &c->client);
	if (known < 0)
		return known;
	if (known || c->p->table.is.rows == c->most) {
		left_out_add(&c->left_out, known ? "further messages of these clients"
						 : "messages of clients beyond the number wanted");
		return 0;
	}
	return client_add(c, &c->client, p->ns);
}

static int no_client(const struct captured *c, const char *path, struct diag *d)
{
	const void *setting = &c->settings->wire;

	if (c->link)
		diag_error(d, setting, NULL,
			"%s: its link is %s, and none of Ethernet, raw IP, loopback and Linux "
			"cooked",
			path, c->link);
	else
		diag_error(d, setting, NULL, "%s: holds no message of a client to port %u: %s",
			path, c->p->server_port, c->p->used ? c->p->used : "it has no packet");
	return -EINVAL;
}

static int capture_read(struct captured *c, int fd, const char *path, struct diag *d)
{
	const char *why = NULL;
	int ret = dhcp_table_begin(&c->table, &c->p->table);

	if (ret == 0)
		ret = packet_file_each(fd, NULL, packet_take, c, c->p->arena, &why);
	if (ret == -EINVAL)
		diag_error(d, &c->settings->wire, NULL, "%s: %s", path, why);
	if (ret == 0 && why)
		left_out_add(&c->left_out, "at the end of the file, which is cut off");
	c->p->used = left_out_text(&c->left_out, c->p->table.is.rows, "packets", path, 0);
	c->p->table.is.columns = DHCP_CAPTURED_COLUMNS;
	if (ret == 0 && c->p->table.is.rows == 0)
		ret = no_client(c, path, d);
	return dhcp_table_end(&c->table, ret);
}

static void nothing(void *known)
{
}

int dhcp_captured_load(struct dhcp_plan *p, const struct dhcp_settings *s, uint32_t most,
	const struct proto_env *env, struct diag *d)
{
	const char *path = diag_path(d, &s->wire, p->arena);
	struct captured *c;
	int fd = input_open(path, &s->wire, d), ret;

	if (fd < 0)
		return fd;
	c = arena_zalloc(p->arena, sizeof(*c));
	*c = (struct captured){.p = p,
		.settings = s,
		.arena = arena_new(),
		.most = most,
		.timed = env->times_of && strcmp(path, env->times_of) == 0};
	ret = capture_read(c, fd, input_name(path), d);
	tdestroy(c->known, nothing);
	arena_free(c->arena);
	return ret;
}

void dhcp_captured_check(const struct dhcp_settings *s, struct diag *d)
{
	const struct {
		const char *name;
		bool given;
	} beside[] = {{"client_file", s->client_file}, {"mac_file", s->mac_file},
		{"mac_count", s->mac_count}, {"mac_column", s->mac_column},
		{"address_column", s->address_column}, {"fqdn", s->fqdn}};

	for (size_t i = 0; s->wire && i < sizeof(beside) / sizeof(beside[0]); i++)
		if (beside[i].given)
			diag_error(d, &s->wire, NULL,
				"conflicts with %s: the clients come from the capture",
				beside[i].name);
}

void dhcp_captured_options(struct dhcp_build *b, struct dhcp_varying_list *to)
{
	static const char text[] = "{file:3}";
	struct dhcp_varying v = {.whole = true, .steps = b->usual};

	_Static_assert(DHCP_CAPTURED_OPTIONS == 2, "the column in text");
	if (b->settings->wire && dhcp_template_identity(b, &v, PATTERN_TEXT, text,
					 &b->settings->wire, DHCP_CAPTURED_MAX))
		dhcp_list_add(to, &v);
}
