// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Management thread.
#include "engine/config/control.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/addr.h"
#include "base/log.h"

#define UNIX        "unix:"
#define TOKEN_LEAST 16

#define AT(member) .offset = offsetof(struct control_settings, member)

static const struct field control_fields[] = {
	{"address", "127.0.0.1:PORT, [::1]:PORT or unix:PATH", FIELD_STRING, .required = true,
		.role = FIELD_OUTPUT, AT(address), .min = 1, .max = 255},
	{"token", "file whose first line is the token, 16 to 127 characters", FIELD_STRING,
		.required = true, .role = FIELD_INPUT, AT(token), .min = 1, .max = 4095},
};

const struct field_section control_section = {"control",
	"counters of a responder, for a tester elsewhere", FIELD_ROWS(control_fields),
	sizeof(struct control_settings)};

static int unix_place(const char *path, struct control_place *out, const char **what)
{
	struct sockaddr_un *to = (struct sockaddr_un *)&out->addr;

	if (path[0] == '\0' || strlen(path) >= sizeof(to->sun_path)) {
		*what = "a path of 1 to 107 characters";
		return -EINVAL;
	}
	to->sun_family = AF_UNIX;
	strcpy(to->sun_path, path);
	out->len = sizeof(*to);
	return 0;
}

static bool is_loopback(const struct addr *a)
{
	static const uint8_t one[16] = {[15] = 1};

	return a->len == 4 ? a->bytes[0] == 127 : memcmp(a->bytes, one, 16) == 0;
}

int control_place(const char *text, struct control_place *out, const char **what)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&out->addr;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&out->addr;
	struct addr a;
	uint16_t port;

	memset(out, 0, sizeof(*out));
	if (strncmp(text, UNIX, strlen(UNIX)) == 0)
		return unix_place(text + strlen(UNIX), out, what);
	if (addr_parse_listen(text, &a, &port, what) < 0)
		return -EINVAL;
	if (!is_loopback(&a)) {
		*what = "an address of this host alone: 127.0.0.1 or ::1";
		return -EINVAL;
	}
	if (a.len == 4) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		memcpy(&v4->sin_addr, a.bytes, 4);
		out->len = sizeof(*v4);
	} else {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		memcpy(&v6->sin6_addr, a.bytes, 16);
		out->len = sizeof(*v6);
	}
	return 0;
}

int control_token(const char *option, const char *file, char out[CONTROL_TOKEN_SIZE])
{
	FILE *f = fopen(file, "re");
	const char *what = NULL;
	struct stat st;
	size_t len;

	if (!f) {
		log_error("%s: %s: %s", option, file, strerror(errno));
		return -EINVAL;
	}
	if (fstat(fileno(f), &st) < 0 || st.st_mode & 077)
		what = "others can read it (chmod 600)";
	else if (!fgets(out, CONTROL_TOKEN_SIZE, f))
		what = "it is empty";
	else if (!strchr(out, '\n') && fgetc(f) != EOF)
		what = "its first line is too long";
	fclose(f);
	len = what ? 0 : strcspn(out, "\r\n");
	if (!what && len < TOKEN_LEAST)
		what = "its first line is too short";
	for (size_t i = 0; i < len; i++)
		if (out[i] <= ' ' || out[i] > '~')
			what = "its first line has characters other than letters, digits and "
			       "punctuation";
	if (what) {
		log_error("%s: %s: %s", option, file, what);
		return -EINVAL;
	}
	out[len] = '\0';
	return 0;
}

void control_check(const struct control_settings *s, struct diag *d)
{
	struct control_place place;
	const char *what;

	if (control_place(s->address, &place, &what) < 0)
		diag_error(d, &s->address, NULL, "\"%s\" is not %s", s->address, what);
}
