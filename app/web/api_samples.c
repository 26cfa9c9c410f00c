// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Threads of libmicrohttpd.
#include "web/api_samples.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct http_reply api_list_samples(void *ctx, struct http_request *r)
{
	json_t *list = json_array(), *needs;

	for (const struct sample *s = samples; s->name; s++) {
		if (!s->about)
			continue;
		needs = json_array();
		for (int i = 0; i < SAMPLE_INPUTS && s->needs[i]; i++)
			json_array_append_new(needs, json_string(s->needs[i]));
		json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "name", s->name, "about",
						    s->about, "needs", needs));
	}
	return http_json(MHD_HTTP_OK, json_pack("{s:o}", "samples", list));
}

struct http_reply api_get_sample(void *ctx, struct http_request *r)
{
	const struct sample *s = samples;
	uLongf len;
	char *text;

	while (s->name && strcmp(s->name, r->names[0]) != 0)
		s++;
	if (!s->name)
		return http_error(MHD_HTTP_NOT_FOUND, "there is no sample %s", r->names[0]);
	len = s->len;
	text = malloc(len);
	if (text && uncompress((Bytef *)text, &len, s->packed, s->packed_len) == Z_OK)
		return http_text("text/plain; charset=utf-8", text, len);
	free(text);
	return http_error(MHD_HTTP_INTERNAL_SERVER_ERROR, "no memory");
}
