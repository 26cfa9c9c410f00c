// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "document.h"
#include "stats/json.h"

// Does the document replace a file, or become a new one?
static bool has_name(const char *document)
{
	struct stat st;

	return document && strcmp(document, "-") != 0 &&
	       (stat(document, &st) != 0 || S_ISREG(st.st_mode));
}

int part_open(struct part *p, const char *document)
{
	*p = (struct part){0};
	if (has_name(document) && asprintf(&p->path, "%s" PART_SUFFIX, document) < 0)
		abort();
	p->f = p->path ? fopen(p->path, "w+e") : tmpfile();
	if (p->f) {
		fchmod(fileno(p->f), 0600); // it has the commands of the user
		return 0;
	}
	p->error = -errno;
	log_error("%s: %s", p->path ? p->path : "a file for the intervals of the run",
		strerror(errno));
	free(p->path);
	return p->error;
}

// The run goes on without its intervals on disk: it is told once.
static void put_line(struct part *p, json_t *line)
{
	errno = 0;
	if (!p->error && (json_dumpf(line, p->f, JSON_COMPACT | JSON_REAL_PRECISION(15)) < 0 ||
				 fputc('\n', p->f) < 0 || fflush(p->f) != 0)) {
		p->error = errno ? -errno : -EIO;
		log_error("%s: %s; the result will lack intervals",
			p->path ? p->path : "the file of the run's intervals", strerror(-p->error));
	}
	json_decref(line);
}

void part_begin(struct part *p, const struct result *r, const struct config *c)
{
	static const char *const known[] = {"schema", "run", "config"};
	json_t *document = document_result(r, c), *of = json_object(), *line = json_object();

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		json_object_set(of, known[i], json_object_get(document, known[i]));
	json_decref(document);
	json_object_set_new(line, PART_BEGIN, json_integer((json_int_t)r->number));
	json_object_set_new(line, "result", of);
	put_line(p, line);
}

static json_t *earlier_of(const struct result_interval_item *i)
{
	json_t *list = json_array();

	for (uint32_t n = 0; n < i->earlier_count; n++) {
		const struct result_earlier *e = &i->earlier[n];
		json_t *one = json_object();

		json_object_set_new(one, "back", json_integer(e->back));
		json_object_set_new(one, "answered", json_integer((json_int_t)e->answered));
		json_object_set_new(one, "failed", json_integer((json_int_t)e->failed));
		json_object_set_new(one, "time_ns", json_real(e->time_ns));
		json_array_append_new(list, one);
	}
	return list;
}

void part_add(struct part *p, const struct result_interval *i)
{
	const struct result_interval_item *items = i->traffic.items;
	json_t *line = stats_json(&result_interval_section, i);
	json_t *list = json_object_get(line, "traffic");

	json_object_set_new(line, PART_NUMBER, json_integer((json_int_t)i->number));
	for (uint32_t n = 0; n < i->traffic.count; n++)
		if (items[n].earlier_count)
			json_object_set_new(
				json_array_get(list, n), PART_EARLIER, earlier_of(&items[n]));
	put_line(p, line);
}

void part_close(struct part *p, bool keep)
{
	if (p->path && !keep)
		unlink(p->path);
	if (p->f)
		fclose(p->f);
	free(p->path);
	*p = (struct part){0};
}
