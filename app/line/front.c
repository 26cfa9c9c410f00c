// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "line/front.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/log.h"
#include "base/nearest.h"
#include "engine/run/run.h"

#define KEY_MAX 64

void front_init(struct front *f, const char *name, struct arena *a)
{
	*f = (struct front){
		.name = name, .root = json_object(), .origins = json_object(), .arena = a};
}

void front_free(struct front *f)
{
	log_set_words(NULL);
	json_decref(f->root);
	json_decref(f->origins);
	f->root = f->origins = NULL;
}

// Find the item of that name; with make, creates it.
static json_t *item_of(json_t *list, const char *name, bool make)
{
	json_t *item;
	size_t i;

	json_array_foreach(
		list, i, item) if (strcmp(json_string_value(json_object_get(item, "name")), name) ==
				   0) return item;
	if (!make)
		return NULL;
	item = json_object();
	json_object_set_new(item, "name", json_string(name));
	json_array_append_new(list, item);
	return item;
}

// The object that holds the last key of the path, which is copied to key. NULL: it does not exist
// and make is not set.
static json_t *holder_of(const struct front *f, const char *path, bool make, char key[KEY_MAX])
{
	json_t *at = f->root, *next;
	bool in_list = false;

	for (;;) {
		size_t len = strcspn(path, ".");

		snprintf(key, KEY_MAX, "%.*s", (int)len, path);
		if (!path[len] && !in_list)
			return at;
		if (in_list) {
			next = item_of(at, key, make);
			in_list = false;
		} else {
			in_list = at == f->root && word_is_among(key, "ports traffic");
			next = json_object_get(at, key);
			if (!next && make) {
				next = in_list ? json_array() : json_object();
				json_object_set_new(at, key, next);
			}
		}
		if (!next || !path[len])
			return NULL;
		at = next;
		path += len + 1;
	}
}

const char *front_quote(const char *value, struct arena *a)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_./%+";
	const char *words[] = {"null", "true", "false", "yes", "no", "on", "off"};
	bool safe = *value && *value != '%' && value[strspn(value, plain)] == '\0';
	char *out, *to;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		safe &= strcasecmp(value, words[i]) != 0;
	if (safe)
		return value;
	to = out = arena_zalloc(a, 4 * strlen(value) + 3);
	*to++ = '"';
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			*to++ = '\\';
		if ((uint8_t)*value < ' ' || *value == 0x7f)
			to += sprintf(to, "\\x%02x", (uint8_t)*value);
		else
			*to++ = *value;
	}
	*to = '"';
	return out;
}

void front_set_yaml(struct front *f, const char *option, const char *path, const char *yaml)
{
	char key[KEY_MAX];

	json_object_set_new(holder_of(f, path, true, key), key, json_string_nocheck(yaml));
	if (option)
		json_object_set_new(f->origins, path, json_string_nocheck(option));
	else
		json_object_del(f->origins, path);
}

void front_set(struct front *f, const char *option, const char *path, const char *value)
{
	front_set_yaml(f, option, path, front_quote(value, f->arena));
}

void front_setv(
	struct front *f, const char *option, const char *path, const char *fmt, va_list args)
{
	char *value;

	if (vasprintf(&value, fmt, args) < 0)
		arena_exhausted();
	front_set(f, option, path, arena_strdup(f->arena, value));
	free(value);
}

void front_setf(struct front *f, const char *option, const char *path, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	front_setv(f, option, path, fmt, args);
	va_end(args);
}

void front_add_yaml(struct front *f, const char *option, const char *path, const char *yaml)
{
	char key[KEY_MAX];
	json_t *holder = holder_of(f, path, true, key), *list = json_object_get(holder, key);

	if (!json_is_array(list)) {
		list = json_array();
		json_object_set_new(holder, key, list);
	}
	if (option)
		json_object_set_new(f->origins,
			arena_printf(f->arena, "%s[%zu]", path, json_array_size(list)),
			json_string_nocheck(option));
	json_array_append_new(list, json_string_nocheck(yaml));
}

void front_add(struct front *f, const char *option, const char *path, const char *value)
{
	front_add_yaml(f, option, path, front_quote(value, f->arena));
}

void front_copy(struct front *f, const char *item, const char *name)
{
	size_t list = strcspn(item, ".");
	json_t *items = json_object_getn(f->root, item, list),
	       *copy = json_deep_copy(item_of(items, item + list + 1, false));

	json_object_set_new(copy, "name", json_string(name));
	json_array_append_new(items, copy);
}

void front_unset(struct front *f, const char *path)
{
	char key[KEY_MAX];
	json_t *holder = holder_of(f, path, false, key);

	if (holder)
		json_object_del(holder, key);
	json_object_del(f->origins, path);
}

const char *front_get(const struct front *f, const char *path)
{
	char key[KEY_MAX];
	json_t *holder = holder_of(f, path, false, key);

	return holder ? json_string_value(json_object_get(holder, key)) : NULL;
}

bool front_is_no_port(const char *path, const char *value)
{
	const char *last = strrchr(path, '.');

	return last && strcmp(last + 1, "server_port") == 0 && *value &&
	       value[strspn(value, "0")] == '\0';
}

void front_take(struct front *f, enum front_kind kind, const char *option, const char *path,
	const char *value)
{
	bool bare = *value && value[strspn(value, "0123456789.")] == '\0';

	switch (kind) {
	case FRONT_TEXT:
		front_set(f, option, path, value);
		break;
	case FRONT_SECONDS:
		front_setf(f, option, path, bare ? "%ss" : "%s", value);
		break;
	case FRONT_PREFIX:
		if (!strchr(value, '/'))
			value = arena_printf(
				f->arena, "%s/%d", value, strchr(value, ':') ? 128 : 32);
		front_add(f, option, path, value);
		break;
	case FRONT_LIST:
		front_add(f, option, path, value);
		break;
	case FRONT_YAML:
		front_set_yaml(f, option, path, value);
		break;
	}
}

int front_look_up(const struct front *f, const char *server, int family, struct addr_server *out)
{
	struct addrinfo hint = {.ai_family = family, .ai_socktype = SOCK_DGRAM}, *list;
	const char *what;
	int err;

	if (addr_parse_server(server, out, &what) < 0) {
		log_error("%s: \"%s\" is not %s", f->name, server, what);
		return EXIT_CONFIG;
	}
	if (out->addr.len && (family == AF_UNSPEC || (family == AF_INET) == (out->addr.len == 4)))
		return 0;
	if (out->addr.len) {
		log_error("%s: %s: not an %s address", f->name, server,
			family == AF_INET ? "IPv4" : "IPv6");
		return EXIT_CONFIG;
	}
	err = getaddrinfo(out->host, NULL, &hint, &list);
	if (err) {
		log_error("%s: %s: %s", f->name, server, gai_strerror(err));
		return EXIT_ENVIRONMENT;
	}
	out->addr = (struct addr){.len = list->ai_family == AF_INET ? 4 : 16};
	if (out->addr.len == 4)
		memcpy(out->addr.bytes, &((struct sockaddr_in *)list->ai_addr)->sin_addr, 4);
	else
		memcpy(out->addr.bytes, &((struct sockaddr_in6 *)list->ai_addr)->sin6_addr, 16);
	freeaddrinfo(list);
	return 0;
}

const char *front_server(const struct front *f, const struct addr_server *s)
{
	bool open = s->port && s->addr.len == 16;
	char address[ADDR_TEXT_SIZE];
	const char *text = arena_printf(f->arena, "%s%s%s%s%s", open ? "[" : "",
		addr_format(&s->addr, address, sizeof(address)), s->link[0] ? "%" : "", s->link,
		open ? "]" : "");

	return s->port ? arena_printf(f->arena, "%s:%u", text, s->port) : text;
}

// The sections of a file in the usual order.
static json_t *in_order(json_t *root)
{
	static const char *const sections[] = {"run", "host", "ports", "traffic", "search"};
	json_t *ordered = json_object();

	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		if (json_object_get(root, sections[i]))
			json_object_set(ordered, sections[i], json_object_get(root, sections[i]));
	json_object_update_missing(ordered, root);
	return ordered;
}

// in_item: the first line follows a dash.
static void print_node(const json_t *node, int depth, bool in_item, FILE *out)
{
	const char *key;
	json_t *one;
	size_t i;

	json_array_foreach(node, i, one)
	{
		fprintf(out, "%*s- ", 2 * depth, "");
		if (json_is_string(one))
			fprintf(out, "%s\n", json_string_value(one));
		print_node(one, depth + 1, true, out);
	}
	json_object_foreach((json_t *)node, key, one)
	{
		fprintf(out, "%*s%s:", in_item ? 0 : 2 * depth, "", key);
		fprintf(out, "%s%s\n", json_is_string(one) ? " " : "",
			json_is_string(one) ? json_string_value(one) : "");
		print_node(one, depth + 1, false, out);
		in_item = false;
	}
}

const char *front_yaml(const struct front *f)
{
	const char *copy;
	char *text = NULL;
	size_t len = 0;
	json_t *root = in_order(f->root);
	FILE *out = open_memstream(&text, &len);

	if (!out)
		abort(); // out of memory
	print_node(root, 0, false, out);
	fclose(out);
	json_decref(root);
	copy = arena_strdup(f->arena, text);
	free(text);
	return copy;
}

static void print_error(const void *ctx, const char *path, const char *text, FILE *out)
{
	const struct front *f = ctx;
	const char *option = json_string_value(json_object_get(f->origins, path ? path : ""));
	const char *from = option ? option : path ? path : "", *found = NULL;
	const char *const(*a)[2] = f->advice;

	while (a && (*a)[0] && !(found = strstr(text, (*a)[0])))
		a++;
	fprintf(out, "ddiperf: %s: %s%s%.*s%s\n", f->name, from, *from ? ": " : "",
		found ? (int)(found - text) : (int)strlen(text), text, found ? (*a)[1] : "");
}

void front_own_errors(const struct front *f, struct diag *d)
{
	diag_set_printer(d, f->name, print_error, f);
}
