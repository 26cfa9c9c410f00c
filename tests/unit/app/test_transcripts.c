// SPDX-License-Identifier: BSD-3-Clause
// Commands of the program, called in this process, and all that they print. Each file of
// transcripts/ has tests of this form:
//
//	=== what a test shows
//	$ ddiperf dns 127.0.0.1 -r 5x
//	! ddiperf: dns: -r 5x: "5x" is not a rate <*>
//	[2]
//
// A line with "! " in front is from standard error, "[2]" is the exit code if it is not 0. Lines
// with "> " in front are the input of the command above. <*> stands for any text, and alone in a
// line for any lines. Words are those of a shell; a test begins in an empty folder, with config/,
// golden/ and documents/ (recorded results) beside it. Commands before the first test belong to
// each. Beside ddiperf there are the programs of the table below: to make files and documents, to
// look at them, and to play a run from its document.
//
// GOLDEN_UPDATE=1 meson test writes into the file what was printed. That is to be read, and belongs
// to the same commit as the change of the program.
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <glob.h>
#include <jansson.h>
#include <limits.h>
#include <pthread.h>
#include <pty.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>
#include <wordexp.h>

#include "base/interrupt.h"
#include "base/log.h"
#include "document/document_reader.h"
#include "run/commands.h"
#include "engine/result/result_read.h"
#include "format/format_writers.h"
#include "format/interval_format.h"
#include "io/driver/state.h"
#include "follow/run_events.h"
#include "report/report.h"
#include "export/scrape.h"
#include "follow/stream.h"
#include "follow/followed_run.h"
#include "report/view.h"

#define TITLE  "=== "
#define PROMPT "$ "
#define ANY    "<*>" // alone in a line: any lines; in a line: any text
#define TESTS  200

struct block {
	char *title;        // NULL: the commands before the first test, which are repeated for each
	const char *before; // NULL: those
	char *text, *actual, *wrong;
};

static char home[] = "/tmp/ddiperf-transcript.XXXXXX";

static char *read_fd(int fd)
{
	struct stat st;
	char *text;

	assert_int_equal(fstat(fd, &st), 0);
	text = calloc(1, (size_t)st.st_size + 1);
	assert_non_null(text);
	assert_int_equal(pread(fd, text, (size_t)st.st_size, 0), st.st_size);
	return text;
}

static const char *end_of_line(const char *c)
{
	const char *end = strchr(c, '\n');

	return end ? end + 1 : c + strlen(c);
}

static bool begins_with(const char *c, const char *word)
{
	return strncmp(c, word, strlen(word)) == 0;
}

// --- commands ---

static json_t *member(const json_t *o, const char *key)
{
	return json_is_array(o) ? json_array_get(o, strtoul(key, NULL, 10))
	                        : json_object_get(o, key);
}

// path: "traffic[0].latency.p99_ns"; *key is its last word, which is up to the caller.
static json_t *reach(json_t *o, char *path, const char **key)
{
	char *rest;

	*key = strtok_r(path, ".[]", &rest);
	for (char *next; (next = strtok_r(NULL, ".[]", &rest)); *key = next) {
		json_t *to = member(o, *key);

		if (!to && json_is_object(o)) {
			to = json_object();
			json_object_set_new(o, *key, to);
		}
		o = to;
	}
	return o;
}

static void change(json_t *document, char *assignment)
{
	char *value = strchr(assignment, '=');
	const char *key;
	json_t *in, *new;
	size_t at;

	assert_non_null(value);
	*value++ = '\0';
	new = json_loads(value, JSON_DECODE_ANY, NULL);
	if (*value && !new)
		fail_msg("not JSON: %s", value);
	in = reach(document, assignment, &key);
	at = strtoul(key, NULL, 10);
	if (json_is_object(in))
		new ? json_object_set_new(in, key, new) : json_object_del(in, key);
	else if (at == json_array_size(in))
		json_array_append_new(in, new);
	else
		new ? json_array_set_new(in, at, new) : json_array_remove(in, at);
}

// change OLD NEW PATH=JSON...: a document with other members; PATH= takes one away.
static int run_change(int argc, char **argv)
{
	json_t *document;

	assert_true(argc >= 3);
	document = json_load_file(argv[1], 0, NULL);
	assert_non_null(document);
	for (int i = 3; i < argc; i++)
		change(document, argv[i]);
	assert_int_equal(json_dump_file(document, argv[2], JSON_INDENT(1)), 0);
	json_decref(document);
	return 0;
}

// get FILE PATH...: members of a document.
static int run_get(int argc, char **argv)
{
	json_t *document = json_load_file(argv[1], 0, NULL);

	assert_non_null(document);
	for (int i = 2; i < argc; i++) {
		const char *key;
		json_t *in;
		char *text;

		printf("%s=", argv[i]);
		in = reach(document, argv[i], &key);
		text = json_dumps(member(in, key), JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
		printf("%s\n", text ? text : "");
		free(text);
	}
	json_decref(document);
	return 0;
}

static void copy_fd(int from, int to)
{
	char *text = read_fd(from);
	const size_t len = strlen(text);

	assert_int_equal(write(to, text, len), len);
	free(text);
}

// write FILE: its input becomes the file, whose folders are made.
static int run_write(int argc, char **argv)
{
	int to;

	for (char *slash = argv[1]; (slash = strchr(slash + 1, '/')); *slash = '/') {
		*slash = '\0';
		mkdir(argv[1], 0755);
	}
	to = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(argc == 2 && to >= 0);
	copy_fd(STDIN_FILENO, to);
	close(to);
	return 0;
}

static int run_cat(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const int from = open(argv[i], O_RDONLY);

		assert_true(from >= 0);
		copy_fd(from, STDOUT_FILENO);
		close(from);
	}
	return 0;
}

// head FILE: its first line.
static int run_head(int argc, char **argv)
{
	const int from = open(argv[1], O_RDONLY);
	char *text;

	assert_true(from >= 0);
	text = read_fd(from);
	printf("%.*s\n", (int)strcspn(text, "\n"), text);
	free(text);
	close(from);
	return 0;
}

static int is_seen(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static int run_ls(int argc, char **argv)
{
	struct dirent **entries;
	const int n = scandir(argc > 1 ? argv[1] : ".", &entries, is_seen, alphasort);

	for (int i = 0; i < n; i++) {
		printf("%s\n", entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return 0;
}

static int run_ddiperf(int argc, char **argv)
{
	optind = 0; // getopt_long begins anew
	log_set_level(LOG_NORMAL);
	return commands_run(argc, argv);
}

// --- a run, played from its document ---

// The document as the lines that its run sent to followers.
static void play_begin(const json_t *document, struct run_events *live)
{
	json_t *result = json_copy((json_t *)document), *line;

	json_object_del(result, "intervals");
	line = json_pack("{s:i, s:f, s:f, s:O}", LINE_BEGIN, 1, "warmup_s", 0.0, "duration_s",
		document_number(result, "run.measured_s"), "result", result);
	assert_non_null(line);
	run_events_put(live, line);
	json_decref(result);
}

static void play_rest(const json_t *document, struct run_events *live)
{
	json_t *result = json_copy((json_t *)document), *interval;
	size_t n;

	json_object_del(result, "intervals");
	json_array_foreach(json_object_get(document, "intervals"), n, interval)
	{
		json_t *line = json_copy(interval);

		json_object_set_new(line, LINE_NUMBER, json_integer((json_int_t)n));
		run_events_put(live, line);
	}
	run_events_put(live, json_pack("{s:i, s:o}", LINE_END, 1, "result", result));
}

static void play_lines(const json_t *document, struct run_events *live)
{
	play_begin(document, live);
	play_rest(document, live);
}

struct played {
	json_t *document;
	int argc;
	char **argv; // behind the name of the document and the kind
	struct run_events live;
};

static void play_report(struct played *p)
{
	struct arena *a = arena_new();
	struct result *result = arena_zalloc(a, sizeof(*result));
	struct report r;
	const char *why;

	report_init(&r, stdout, p->argc > 0);
	run_events_follow(&p->live, (struct run_events_follower){report_line, .ctx = &r});
	play_lines(p->document, &p->live);
	if (result_read(&result_section, p->document, result, a, &why) < 0)
		fail_msg("%s", why);
	report_result(&r, result);
	arena_free(a);
}

static void play_view(struct played *p)
{
	struct view_size size = {(unsigned)atoi(p->argv[0]), (unsigned)atoi(p->argv[1]),
		strcmp(p->argv[2], "utf8") == 0, "q: leave"};
	struct view v = {0};

	run_events_follow(&p->live, (struct run_events_follower){view_line, .ctx = &v});
	play_lines(p->document, &p->live);
	view_draw(&v, &size, stdout);
	view_free(&v);
}

static void play_format(struct played *p)
{
	struct interval_format f = {.text = p->argv[0], .out = stdout};

	run_events_follow(&p->live, interval_format_follower(&f));
	play_lines(p->document, &p->live);
}

static void followed(void *ctx, const json_t *line)
{
	if (!json_object_get(line, LINE_END))
		followed_line(ctx, "run", line);
}

static void play_prometheus(struct played *p)
{
	struct followed_run t = {0};

	run_events_follow(&p->live, (struct run_events_follower){followed, .ctx = &t});
	play_lines(p->document, &p->live);
	running_sum_put(&t.sum);
	prometheus_write_live(
		&(struct prometheus_run){p->argc ? p->argv[0] : NULL, &t.reader, t.newest}, 1,
		stdout);
	followed_forget(&t);
}

// play DOCUMENT KIND...: the display of its run while it is running, and at its end.
static int run_play(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*play)(struct played *p);
	} kinds[] = {
		{"report", play_report},
		{"view", play_view},
		{"format", play_format},
		{"prometheus", play_prometheus},
	};
	struct played p = {json_load_file(argv[1], 0, NULL), argc - 3, argv + 3};

	assert_non_null(p.document);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(argv[2], kinds[i].name) == 0)
			kinds[i].play(&p);
	run_events_close(&p.live);
	json_decref(p.document);
	return 0;
}

int __real_cmd_run_front(struct front *f, const struct options *o);
int __wrap_cmd_run_front(struct front *f, const struct options *o);

int __wrap_state_directory(char *dir, size_t room);

// Current runs are searched among this program's only.
int __wrap_state_directory(char *dir, size_t room)
{
	snprintf(dir, room, "%s", home);
	return 0;
}

// The packets of a run, which dnsperf -v reads.
static void play_packets(const char *path, const char *capture)
{
	const int from = open(path, O_RDONLY), to = open(capture, O_WRONLY);
	char part[64 << 10];
	ssize_t len;

	assert_true(from >= 0 && to >= 0);
	len = read(from, part, sizeof(part));
	assert_int_equal(write(to, part, (size_t)len), len);
	close(from);
	close(to);
}

// With PLAY=DOCUMENT in front of a command line, its run comes from the document; with
// PACKETS=PCAPNG, its capture is that file.
int __wrap_cmd_run_front(struct front *f, const struct options *o)
{
	const char *path = getenv("PLAY");
	struct run_events live = {0};
	json_t *document;
	struct document_reader b;
	int code;

	if (!path)
		return __real_cmd_run_front(f, o);
	if (getenv("PACKETS"))
		play_packets(getenv("PACKETS"), front_get(f, "output.capture.file"));
	document = json_load_file(path, 0, NULL);
	assert_non_null(document);
	assert_int_equal(reader_open(&b, path), 0);
	run_events_follow(
		&live, (struct run_events_follower){f->output.line, .ctx = f->output.ctx});
	play_lines(document, &live);
	code = f->output.end(
		f->output.ctx, &b, (int)document_number(b.document, "verdict.exit_code"));
	run_events_close(&live);
	reader_close(&b);
	json_decref(document);
	return code;
}

// --- words in front of a command ---

static int run_words(int argc, char **argv);

// save FILE COMMAND...: its standard output becomes the file, too.
static int run_save(int argc, char **argv)
{
	const int to = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0644);
	const int code = run_words(argc - 2, argv + 2);

	assert_true(to >= 0);
	fflush(stdout);
	copy_fd(STDOUT_FILENO, to);
	close(to);
	return code;
}

static char *replaced(const char *text, const char *old, const char *new)
{
	const char *at = strstr(text, old);
	char *out;

	if (!at)
		fail_msg("not in the file: %s", old);
	assert_true(asprintf(&out, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old)) >= 0);
	return out;
}

// Each \n becomes the end of a line.
static char *with_lines(char *word)
{
	char *to = word;

	for (const char *c = word; *c; c++) {
		const bool is_end = c[0] == '\\' && c[1] == 'n';

		*to++ = is_end ? '\n' : *c;
		c += is_end;
	}
	*to = '\0';
	return word;
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

// replace FILE OLD NEW COMMAND...: while it runs, FILE has NEW in the place of its first OLD.
static int run_replace(int argc, char **argv)
{
	const int from = open(argv[1], O_RDONLY);
	char *before, *now;
	int code;

	assert_true(argc > 4 && from >= 0);
	before = read_fd(from);
	close(from);
	now = replaced(before, with_lines(argv[2]), with_lines(argv[3]));
	write_file(argv[1], now);
	code = run_words(argc - 4, argv + 4);
	write_file(argv[1], before);
	free(before);
	free(now);
	return code;
}

// terminal WIDTH COMMAND...: its standard output is a terminal.
static int run_terminal(int argc, char **argv)
{
	const struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)atoi(argv[1])};
	const int out = dup(STDOUT_FILENO);
	struct termios raw = {0}; // without \r at the ends of lines
	int ours, its, code;
	char text[16 << 10];
	size_t len = 0;
	ssize_t got;

	cfmakeraw(&raw);
	assert_int_equal(openpty(&ours, &its, NULL, &raw, &size), 0);
	assert_true(dup2(its, STDOUT_FILENO) >= 0);
	code = run_words(argc - 2, argv + 2);
	fflush(stdout);
	assert_true(dup2(out, STDOUT_FILENO) >= 0);
	// A terminal hands over its text in pieces; "" is the end.
	assert_int_equal(write(its, "", 1), 1);
	do {
		got = read(ours, text + len, sizeof(text) - len);
		assert_true(got > 0);
		len += (size_t)got;
	} while (text[len - 1]);
	assert_int_equal(write(STDOUT_FILENO, text, len - 1), len - 1);
	close(out), close(ours), close(its);
	return code;
}

// each PATTERN COMMAND...: once for each file, which takes the place of the word FILE. The exit
// code is the highest.
static int run_each(int argc, char **argv)
{
	int code = 0, place = 2;
	glob_t files;

	while (place < argc - 1 && strcmp(argv[place], "FILE") != 0)
		place++;
	assert_int_equal(glob(argv[1], 0, NULL, &files), 0);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		char **words = calloc((size_t)argc, sizeof(*words));
		int one;

		memcpy(words, argv, (size_t)argc * sizeof(*words));
		words[place] = files.gl_pathv[i];
		one = run_words(argc - 2, words + 2);
		code = one > code ? one : code;
		free(words);
	}
	globfree(&files);
	return code;
}

// --- requests of a server ---

struct command_line {
	int argc;
	char **argv;
	int code;
	atomic_bool over;
};

static void *run_in_thread(void *ctx)
{
	struct command_line *l = ctx;

	l->code = run_ddiperf(l->argc, l->argv);
	l->over = true;
	return NULL;
}

// A connection to the port that the server of a command has logged; -1: the command has ended.
static int connect_to_server(const struct command_line *l)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	unsigned port = 0;

	while (!port && !l->over) {
		char *text = read_fd(STDERR_FILENO);
		const char *place = strstr(text, "://127.0.0.1:");

		if (place)
			port = (unsigned)atoi(place + strlen("://127.0.0.1:"));
		free(text);
		usleep(1000);
	}
	to.sin_port = htons((uint16_t)port);
	assert_true(fd >= 0);
	if (port && connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0)
		return fd;
	close(fd);
	return -1;
}

// words: METHOD PATH, headers, and @FILE for a body. A header X-... takes the place of X-Ddiperf.
// Prints the code, the type and the body.
static void ask(int fd, char **words)
{
	char *request, *answer = NULL, *body = NULL, *type;
	bool host = false, changes = false;
	size_t len;
	FILE *out = open_memstream(&request, &len);
	char part[4096];
	ssize_t got;

	fprintf(out, "%s %s HTTP/1.1\r\nConnection: close\r\n", words[0], words[1]);
	for (words += 2; *words; words++) {
		if (**words == '@') {
			const int from = open(*words + 1, O_RDONLY);

			assert_true(from >= 0);
			body = read_fd(from);
			close(from);
			continue;
		}
		fprintf(out, "%s\r\n", *words);
		host |= begins_with(*words, "Host:");
		changes |= begins_with(*words, "X-");
	}
	fprintf(out, "%s%s", host ? "" : "Host: localhost\r\n", changes ? "" : "X-Ddiperf: 1\r\n");
	if (body)
		fprintf(out, "Content-Length: %zu\r\n", strlen(body));
	fprintf(out, "\r\n%s", body ? body : "");
	fclose(out);
	assert_int_equal(write(fd, request, len), len);
	out = open_memstream(&answer, &len);
	while ((got = read(fd, part, sizeof(part))) > 0)
		fwrite(part, 1, (size_t)got, out);
	fclose(out);
	for (size_t i = 0; i < len; i++)
		answer[i] = answer[i] ? answer[i] : '\x1a'; // can be seen
	type = strcasestr(answer, "\r\nContent-Type: ");
	printf("%.3s", len > 12 ? answer + strlen("HTTP/1.1 ") : "");
	if (type)
		printf(" %.*s", (int)strcspn(type + 16, "\r"), type + 16);
	type = strstr(answer, "\r\n\r\n");
	printf("\n%s", type ? type + 4 : "");
	if (type && type[4] && answer[len - 1] != '\n')
		putchar('\n');
	free(request), free(answer), free(body);
}

static char *printed(int fd)
{
	fflush(stdout);
	return read_fd(fd);
}

// watch DOCUMENT WORD...: ddiperf watch WORD... beside a run of this process, from the document.
static int run_watch(int argc, char **argv)
{
	char *words[8] = {"ddiperf", "watch"}, place[sizeof(STREAM_UNIX) + 512], *text, dir[256];
	json_t *document = json_load_file(argv[1], 0, NULL);
	struct command_line line = {2, words};
	struct run_events live = {0};
	struct stream *stream;
	pthread_t thread;

	assert_non_null(document);
	assert_int_equal(state_directory(dir, sizeof(dir)), 0);
	strcpy(place, STREAM_UNIX);
	state_socket(dir, (uint64_t)getpid(), place + strlen(STREAM_UNIX), 512);
	assert_int_equal(stream_open("watch", place, true, NULL, &stream), 0);
	run_events_follow(&live, stream_follower(stream));
	play_begin(document, &live);
	for (int i = 2; i < argc; i++)
		words[line.argc++] = argv[i];
	interrupt_count = 0;
	assert_int_equal(pthread_create(&thread, NULL, run_in_thread, &line), 0);
	for (bool seen = false; !seen && !line.over; free(text)) {
		run_events_tick(&live);
		usleep(1000);
		text = printed(STDOUT_FILENO);
		seen = *text;
	}
	play_rest(document, &live);
	run_events_close(&live);
	pthread_join(thread, NULL);
	json_decref(document);
	state_leave_directory(dir);
	return line.code;
}

// scrape DOCUMENT: the replies of output.prometheus of its run to each line of the input.
static int run_scrape(int argc, char **argv)
{
	json_t *document = json_load_file(argv[1], 0, NULL);
	char *lines = read_fd(STDIN_FILENO), *rest;
	const struct command_line line = {0}; // none
	struct run_events live = {0};
	struct scrape s;

	assert_non_null(document);
	assert_int_equal(scrape_open(&s, "127.0.0.1:0"), 0);
	run_events_follow(
		&live, (struct run_events_follower){scrape_line, scrape_tick, scrape_close, &s});
	play_begin(document, &live);
	for (char *one = strtok_r(lines, "\n", &rest); one; one = strtok_r(NULL, "\n", &rest)) {
		const int fd = connect_to_server(&line);
		wordexp_t asked;

		assert_true(fd >= 0);
		assert_int_equal(wordexp(one, &asked, WRDE_NOCMD), 0);
		printf("-- %s\n", one);
		ask(fd, asked.we_wordv);
		wordfree(&asked);
		close(fd);
	}
	run_events_close(&live);
	json_decref(document);
	free(lines);
	return 0;
}

// data PAGE: the data of a page.
static int run_data(int argc, char **argv)
{
	const int from = open(argv[1], O_RDONLY);
	char *text;
	const char *at;

	assert_true(from >= 0);
	text = read_fd(from);
	close(from);
	at = strstr(text, "id=\"data\">");
	assert_non_null(at);
	at += strlen("id=\"data\">");
	printf("%.*s\n", (int)(strstr(at, "</script>") - at), at);
	free(text);
	return 0;
}

// serve OPTION...: ddiperf serve, which is asked by each line of the input.
static int run_serve(int argc, char **argv)
{
	char *words[32] = {"ddiperf", "serve", "--listen", "127.0.0.1:0", "--allow-local-users"},
	     *lines, *rest;
	struct command_line line = {5, words};
	pthread_t thread;

	for (int i = 1; i < argc; i++)
		words[line.argc++] = argv[i];
	lines = read_fd(STDIN_FILENO);
	interrupt_count = 0;
	assert_int_equal(pthread_create(&thread, NULL, run_in_thread, &line), 0);
	for (char *one = strtok_r(lines, "\n", &rest); one; one = strtok_r(NULL, "\n", &rest)) {
		const int fd = connect_to_server(&line);
		wordexp_t asked;

		if (fd < 0)
			break;
		assert_int_equal(wordexp(one, &asked, WRDE_NOCMD), 0);
		printf("-- %s\n", one);
		ask(fd, asked.we_wordv);
		wordfree(&asked);
		close(fd);
	}
	interrupt_count = 1;
	pthread_join(thread, NULL);
	interrupt_count = 0;
	free(lines);
	return line.code;
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} programs[] = {
	{"write", run_write},
	{"change", run_change},
	{"get", run_get},
	{"cat", run_cat},
	{"head", run_head},
	{"ls", run_ls},
	{"each", run_each},
	{"save", run_save},
	{"play", run_play},
	{"serve", run_serve},
	{"watch", run_watch},
	{"scrape", run_scrape},
	{"data", run_data},
	{"terminal", run_terminal},
	{"replace", run_replace},
	{"ddiperf", run_ddiperf},
};

static int run_words(int argc, char **argv)
{
	int given = 0, code = -1;

	for (; given < argc && isupper((unsigned char)argv[given][0]); given++) {
		char path[PATH_MAX], *value = strchr(argv[given], '=');

		assert_non_null(value);
		*value++ = '\0';
		setenv(argv[given], realpath(value, path) ? path : value, 1);
	}
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]) && code < 0; i++) {
		const size_t len = strlen(programs[i].name);

		if (given < argc && strncmp(argv[given], programs[i].name, len) == 0)
			code = programs[i].run(argc - given, argv + given);
	}
	while (given-- > 0)
		unsetenv(argv[given]);
	return code;
}

// --- output of the commands ---

// Control characters can be seen. Each line begins with prefix.
static void show(FILE *out, const char *prefix, const char *text)
{
	for (const char *c = text; *c; c++) {
		if (c == text || c[-1] == '\n')
			fputs(prefix, out);
		if (*c == '\r')
			fputs("\\r", out);
		else if (iscntrl((unsigned char)*c) && *c != '\n' && *c != '\t')
			fprintf(out, "\\x%02x", (unsigned char)*c);
		else
			fputc(*c, out);
	}
	if (*text && text[strlen(text) - 1] != '\n')
		fputs("<no newline>\n", out);
}

// The standard streams during a command, and the program's own.
static int standard[3], kept[3];
static bool redirected;

static void redirect(const char *input)
{
	static const char *const names[] = {"in", "out", "err"};

	fflush(stdout);
	__fpurge(stdin);
	clearerr(stdin);
	for (int i = 0; i < 3; i++) {
		standard[i] = memfd_create(names[i], 0);
		kept[i] = dup(i);
	}
	assert_int_equal(write(standard[0], input, strlen(input)), strlen(input));
	assert_int_equal(lseek(standard[0], 0, SEEK_SET), 0);
	for (int i = 0; i < 3; i++)
		assert_true(dup2(standard[i], i) >= 0);
	redirected = true;
}

// Writes the captured output to out.
static void restore(FILE *out)
{
	fflush(stdout);
	for (int i = 0; i < 3; i++) {
		assert_true(dup2(kept[i], i) >= 0);
		close(kept[i]);
	}
	redirected = false;
	for (int i = 1; i < 3; i++) {
		char *text = read_fd(standard[i]);

		show(out, i == 1 ? "" : "! ", text);
		free(text);
	}
	for (int i = 0; i < 3; i++)
		close(standard[i]);
}

// Shows the output of a test that ended within a command.
static int show_rest(void **state)
{
	if (redirected)
		restore(stderr);
	return 0;
}

// Returns the output of a command line; the caller frees it.
static char *output_of(const char *line, const char *input)
{
	char *shown;
	size_t len;
	FILE *out = open_memstream(&shown, &len);
	wordexp_t words;
	int code;

	if (wordexp(line, &words, WRDE_NOCMD) != 0)
		fail_msg("a word needs quotes: %s", line);
	redirect(input);
	code = run_words((int)words.we_wordc, words.we_wordv);
	restore(out);
	wordfree(&words);
	if (code < 0)
		fail_msg("no such command: %s", line);
	if (code > 0)
		fprintf(out, "[%d]\n", code);
	fclose(out);
	return shown;
}

static bool matches(const char *wanted, const char *got)
{
	bool at_begin = true;

	for (; *wanted; at_begin = *wanted == '\n', wanted++, got++) {
		const bool any = begins_with(wanted, ANY);
		const bool lines = any && at_begin && wanted[strlen(ANY)] == '\n';
		const char *rest = wanted + strlen(ANY) + lines;

		for (const char *c = got; any; c++) {
			if ((!lines || c == got || c[-1] == '\n') && matches(rest, c))
				return true;
			if (!*c || (!lines && *c == '\n'))
				return false;
		}
		if (*wanted != *got)
			return false;
	}
	return !*got;
}

// --- files ---

// The lines from *c on for which belongs() holds.
static char *lines_of(const char **c, bool (*belongs)(const char *line))
{
	const char *begin = *c;

	while (**c && belongs(*c))
		*c = end_of_line(*c);
	return strndup(begin, (size_t)(*c - begin));
}

static bool is_no_command(const char *line)
{
	return !begins_with(line, PROMPT);
}

static bool is_input(const char *line)
{
	return begins_with(line, "> ") || begins_with(line, ">\n");
}

// Lines without the "> " in front of each.
static char *input_of(const char *lines)
{
	char *text = calloc(1, strlen(lines) + 1), *to = text;

	for (const char *c = lines, *end; *c; c = end) {
		end = end_of_line(c);
		c += c[1] == '\n' ? 1 : 2;
		to = mempcpy(to, c, (size_t)(end - c));
	}
	return text;
}

// Plays text; *actual is text with the actual output. Returns NULL if it is equal, else the first
// command with other output.
static char *play(const char *text, char **actual)
{
	char *prose = lines_of(&text, is_no_command), *wrong = NULL;
	size_t len;
	FILE *out = open_memstream(actual, &len);

	fputs(prose, out);
	free(prose);
	while (*text) {
		const char *end = end_of_line(text);
		char *line = strndup(text, (size_t)(end - text)), *lines, *input, *wanted, *got;

		text = end;
		lines = lines_of(&text, is_input);
		input = input_of(lines);
		wanted = lines_of(&text, is_no_command);
		line[strcspn(line, "\n")] = '\0';
		got = output_of(line + strlen(PROMPT), input);
		fprintf(out, "%s\n%s%s", line, lines, matches(wanted, got) ? wanted : got);
		if (!matches(wanted, got) && !wrong)
			assert_true(asprintf(&wrong, "%s\n%s--- instead of\n%s", line, got,
					    wanted) > 0);
		free(line), free(lines), free(input), free(wanted), free(got);
	}
	fclose(out);
	return wrong;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

static void play_block(void **state)
{
	struct block *b = *state;
	char folder[sizeof(home) + 16], *before = NULL;

	snprintf(folder, sizeof(folder), "%s/test", home);
	nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS); // of a test that ended early
	assert_int_equal(mkdir(folder, 0755), 0);
	assert_int_equal(chdir(folder), 0);
	b->wrong = play(b->before, &before);
	free(before);
	if (!b->wrong)
		b->wrong = play(b->text, &b->actual);
	assert_int_equal(chdir(home), 0);
	nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	if (b->wrong && !getenv("GOLDEN_UPDATE")) {
		fputs(b->wrong, stderr); // cmocka would cut it
		fail();
	}
}

// The tests of a text, and their number.
static unsigned split(const char *text, struct block *blocks)
{
	unsigned n = 0;

	for (const char *begin = text, *c = text;; c = end_of_line(c)) {
		if (*c && !begins_with(c, TITLE))
			continue;
		// Without the empty line in front of the next title.
		blocks[n++].text = strndup(
			begin, (size_t)(c - begin) - (*c && c - begin >= 2 && c[-2] == '\n'));
		if (!*c)
			return n;
		if (n == TESTS)
			abort();
		begin = end_of_line(c);
		c += strlen(TITLE);
		blocks[n].title = strndup(c, strcspn(c, "\n"));
		blocks[n].before = blocks[0].text;
	}
}

static void update(const char *path, const struct block *blocks, unsigned count)
{
	FILE *f = fopen(path, "w");

	if (!f)
		abort();
	fputs(blocks[0].text, f);
	for (unsigned i = 1; i < count; i++)
		fprintf(f, "%s" TITLE "%s\n%s", i > 1 || *blocks[0].text ? "\n" : "",
			blocks[i].title, blocks[i].actual ? blocks[i].actual : blocks[i].text);
	fclose(f);
}

// A run of another process: its result is PLAY's.
static int play_child(int argc, char **argv)
{
	json_t *document = getenv("PLAY") ? json_load_file(getenv("PLAY"), 0, NULL) : NULL;
	int code = EXIT_CONFIG;

	for (int i = 1; document && i + 1 < argc; i++)
		if (strcmp(argv[i], "--json") == 0 && json_dump_file(document, argv[i + 1], 0) == 0)
			code = (int)document_number(document, "verdict.exit_code");
	json_decref(document);
	return code;
}

// Servers and campaigns start this program again, with a command in the place of a file.
static bool is_child(int argc, char **argv, int *code)
{
	if (argc < 2 || strchr(argv[1], '/'))
		return false;
	*code = strcmp(argv[1], "run") == 0 ? play_child(argc, argv) : commands_run(argc, argv);
	return true;
}

// argv: the file, and the folder of the project.
int main(int argc, char **argv)
{
	static struct block blocks[TESTS];
	static struct CMUnitTest tests[TESTS];
	const int fd = argc == 3 ? open(argv[1], O_RDONLY) : -1;
	const char *const links[] = {"config", "tests/golden", "tests/unit/app/documents"};
	char path[4096], *text;
	unsigned count;
	int failed = 0;

	if (is_child(argc, argv, &failed))
		return failed;
	if (fd < 0 || !mkdtemp(home) || chdir(home) < 0)
		return 2;
	for (unsigned i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		const char *slash = strrchr(links[i], '/');

		snprintf(path, sizeof(path), "%s/%s", argv[2], links[i]);
		if (symlink(path, slash ? slash + 1 : links[i]) < 0)
			return 2;
	}
	setenv("HOME", home, 1);
	setenv("TZ", "UTC", 1);
	unsetenv("XDG_STATE_HOME");
	text = read_fd(fd);
	close(fd);
	count = split(text, blocks);
	for (unsigned i = 1; i < count; i++)
		tests[i] = (struct CMUnitTest){
			blocks[i].title, play_block, NULL, show_rest, &blocks[i]};
	failed = _cmocka_run_group_tests(argv[1], tests + 1, count - 1, NULL, NULL);
	if (getenv("GOLDEN_UPDATE"))
		update(argv[1], blocks, count);
	if (chdir("/") == 0)
		nftw(home, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	for (unsigned i = 0; i < count; i++)
		free(blocks[i].title), free(blocks[i].text), free(blocks[i].actual),
			free(blocks[i].wrong);
	free(text);
	return failed;
}
