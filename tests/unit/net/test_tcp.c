// SPDX-License-Identifier: BSD-3-Clause
// TCP by scripts in the manner of packetdrill. A row has three columns:
//   what happens | what is sent then | state and events
// The second must be complete: all that tcp_output says. Without a third the state stays and there
// are no events. A segment is written `FLAGS SEQ[+LEN] [ack N] [mss N] [ws N] [ts ...] [win N]`,
// flags as in tcpdump and numbers relative to the initial one of their sender. Received: `ts` has
// value and echo, and the window is 65535 if it is not given. Sent: `ts` has the echo, and the
// window is compared if it is given.
// What happens: `< SEGMENT` is received, `open`, `accept SEGMENT`, `reopen SEGMENT` (a SYN for
// TIME-WAIT: begins anew, or is received), `send N`, `full N` (a send that finds no memory), `read
// N`, `shut`, `abort`, `wait MS`, `set NAME N`, `count NAME N` (a counter has this value). Bytes
// are read at once unless `set keep 1` was there, and nothing is sent after `set hold 1`. Every
// script runs twice: the second time all numbers and the clock wrap.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "net/tcp.h"
#include "tcp_check.h"

#define BLOCKS 1024
#define ROWS   40
#define TEXT   1024
#define MS     1000u

struct script {
	const char *name;
	const char *rows[ROWS];
};

struct run {
	struct tcp_host host;
	struct tcp_counters counters;
	struct tcp t;
	uint32_t iss, irs;
	uint32_t mss;
	uint32_t sent, read; // bytes of the two streams
	uint32_t keep;
	uint32_t hold; // nothing is sent yet
	uint32_t edge;
	bool has_edge;
	struct tcp_segment reset; // in answer to TCP_STRANGE
	bool has_reset;
	const char *script, *row;
};

static struct tcp_block blocks[BLOCKS];

static const char flag_letters[] = "FSRPA";
static const char *const states[] = {"CLOSED", "SYN_SENT", "SYN_RECEIVED", "ESTABLISHED",
	"FIN_WAIT_1", "FIN_WAIT_2", "CLOSE_WAIT", "CLOSING", "LAST_ACK", "TIME_WAIT"};
static const char *const event_names[] = {
	"OPENED", "DATA", "ENDED", "REFUSED", "BROKEN", "TIMED_OUT", "DONE", "STRANGE"};

#define FAIL(r, ...)                                                                               \
	do {                                                                                       \
		print_error("%s: %s: ", (r)->script, (r)->row);                                    \
		fail_msg(__VA_ARGS__);                                                             \
	} while (0)

static uint8_t byte_of_ours(uint32_t i)
{
	return (uint8_t)(i * 5 >> 2);
}

static uint8_t byte_of_theirs(uint32_t i)
{
	return (uint8_t)(i * 7 >> 3);
}

// --- the notation ---

static uint32_t number(struct run *r, char **rest)
{
	char *word = strtok_r(NULL, " ", rest);

	if (!word)
		FAIL(r, "a number is missing");
	return (uint32_t)strtol(word, NULL, 10);
}

// From `FLAGS SEQ ...`; the bytes are those of the peer's stream at this place.
static void segment_read(struct run *r, char *text, struct tcp_segment *s, uint8_t *bytes)
{
	char *rest, *word = strtok_r(text, " ", &rest), *plus;
	uint32_t from;

	*s = (struct tcp_segment){.scale = TCP_NO_SCALE, .window = UINT16_MAX, .data = bytes};
	for (const char *c = word; *c && *c != '.'; c++)
		s->flags |= (uint8_t)(1 << (strchr(flag_letters, *c) - flag_letters));
	word = strtok_r(NULL, " ", &rest);
	from = (uint32_t)strtol(word, &plus, 10);
	s->seq = r->irs + from;
	if (*plus == '+')
		s->len = (uint32_t)strtoul(plus + 1, NULL, 10);
	for (uint32_t i = 0; i < s->len; i++)
		bytes[i] = byte_of_theirs(from - !(s->flags & TCP_SYN) + i);
	while ((word = strtok_r(NULL, " ", &rest))) {
		uint32_t value = number(r, &rest);

		if (strcmp(word, "ack") == 0) {
			s->ack = r->iss + value;
		} else if (strcmp(word, "win") == 0) {
			s->window = (uint16_t)value;
		} else if (strcmp(word, "mss") == 0) {
			s->mss = (uint16_t)value;
		} else if (strcmp(word, "ws") == 0) {
			s->scale = (uint8_t)value;
		} else if (strcmp(word, "ts") == 0) {
			s->stamped = true;
			s->value = value;
			s->echo = number(r, &rest);
		} else {
			FAIL(r, "what is %s?", word);
		}
	}
}

static void append(char *text, const char *format, ...)
{
	size_t len = strlen(text);
	va_list list;

	va_start(list, format);
	vsnprintf(text + len, TEXT - len, format, list);
	va_end(list);
}

static void segment_write(
	const struct run *r, const struct tcp_segment *s, bool with_window, char *text)
{
	for (const char *c = "SFRPA"; *c; c++)
		if (s->flags & 1 << (strchr(flag_letters, *c) - flag_letters))
			append(text, "%c", *c);
	append(text, " %d", (int32_t)(s->seq - r->iss));
	if (s->len)
		append(text, "+%u", s->len);
	if (s->flags & TCP_ACK)
		append(text, " ack %d", (int32_t)(s->ack - r->irs));
	if (s->mss)
		append(text, " mss %u", s->mss);
	if (s->scale != TCP_NO_SCALE)
		append(text, " ws %u", s->scale);
	if (s->stamped)
		append(text, " ts %u", s->echo);
	if (with_window)
		append(text, " win %u", s->window);
}

// --- inputs ---

static void receive(struct run *r, uint32_t n)
{
	uint8_t bytes[TEXT * 8];

	assert_true(n <= sizeof(bytes));
	if (tcp_peek(&r->host, &r->t, bytes, n) != n)
		FAIL(r, "there are %u bytes to read", tcp_unread(&r->host, &r->t));
	for (uint32_t i = 0; i < n; i++)
		if (bytes[i] != byte_of_theirs(r->read + i))
			FAIL(r, "byte %u is wrong", r->read + i);
	r->read += n;
	tcp_consume(&r->host, &r->t, n);
}

static void receive_view(struct run *r)
{
	const struct tcp_host *h = &r->host;

	if (r->keep) {
		if (!tcp_keep(&r->host, &r->t, h->view_len))
			FAIL(r, "no memory to keep %u bytes", h->view_len);
		return;
	}
	for (uint32_t i = 0; i < h->view_len; i++)
		if (h->view[i] != byte_of_theirs(r->read + i))
			FAIL(r, "byte %u is wrong", r->read + i);
	r->read += h->view_len;
}

enum how {
	AS_NEXT,
	AS_FIRST,
	AS_FIRST_AGAIN,
};

// After tcp_reopen: the numbers of the script are relative to the new ones.
static uint32_t reopened(struct run *r, const struct tcp_segment *syn, uint32_t before)
{
	if (tcp_before(r->t.una, before + UINT16_MAX))
		FAIL(r, "the new numbers are too near to the old ones");
	r->iss = r->t.una;
	r->irs = syn->seq;
	r->sent = r->read = 0;
	r->has_edge = false;
	return 0;
}

// Through the bytes of a header, as on the wire.
static uint32_t input(struct run *r, char *text, enum how how)
{
	static uint8_t wire[TCP_HEADER_MAX + (1 << 17)];
	uint8_t bytes[1 << 16];
	struct tcp_segment s, parsed;
	uint32_t header, events, before = r->t.max;

	segment_read(r, text, &s, bytes);
	header = tcp_header_len(&s);
	tcp_header(&s, wire);
	memcpy(wire + header, bytes, s.len);
	assert_true(tcp_parse(wire, header + s.len, &parsed));
	if (how == AS_FIRST_AGAIN && tcp_reopen(&r->host, &r->t, (uint16_t)r->mss, &parsed))
		return reopened(r, &parsed, before);
	if (how == AS_FIRST) {
		tcp_accept(&r->host, &r->t, r->iss, (uint16_t)r->mss, &parsed);
		return 0;
	}
	events = tcp_input(&r->host, &r->t, &parsed);
	if (events & TCP_STRANGE)
		r->has_reset = tcp_reset_for(&parsed, &r->reset);
	if (events & TCP_DATA && r->host.view_len)
		receive_view(r);
	else if (events & TCP_DATA && !r->keep)
		receive(r, tcp_unread(&r->host, &r->t));
	return events;
}

static bool append_to_stream(struct run *r, uint32_t n)
{
	uint8_t bytes[TEXT * 64];

	assert_true(n <= sizeof(bytes));
	for (uint32_t i = 0; i < n; i++)
		bytes[i] = byte_of_ours(r->sent + i);
	if (!tcp_send(&r->host, &r->t, bytes, n))
		return false;
	r->sent += n;
	return true;
}

static void set(struct run *r, const char *name, uint32_t value)
{
	struct tcp_host *h = &r->host;

	if (strcmp(name, "window") == 0)
		h->window = value;
	else if (strcmp(name, "stamps") == 0)
		h->stamps = value;
	else if (strcmp(name, "nagle") == 0)
		h->nagle = value;
	else if (strcmp(name, "blocks") == 0)
		tcp_host_init(h, blocks, value);
	else if (strcmp(name, "mss") == 0)
		r->mss = value;
	else if (strcmp(name, "keep") == 0)
		r->keep = value;
	else if (strcmp(name, "hold") == 0)
		r->hold = value;
	else
		FAIL(r, "what is %s?", name);
}

static void count(struct run *r, const char *name, uint64_t value)
{
#define IS(member, help)                                                                           \
	if (strcmp(name, #member) == 0 && r->counters.member != value)                             \
		FAIL(r, "it is %lu", (unsigned long)r->counters.member);
	TCP_COUNTERS(IS)
#undef IS
}

static uint32_t wait_for(struct run *r, uint32_t ms)
{
	uint32_t at;

	r->host.now += ms * MS;
	if (!tcp_deadline(&r->t, &at) || tcp_before((uint32_t)r->host.now, at))
		return 0;
	return tcp_timeout(&r->host, &r->t);
}

static uint32_t happen(struct run *r, char *text)
{
	char *rest, *word = strtok_r(text, " ", &rest);

	if (strcmp(word, "<") == 0)
		return input(r, rest, AS_NEXT);
	if (strcmp(word, "reopen") == 0)
		return input(r, rest, AS_FIRST_AGAIN);
	if (strcmp(word, "accept") == 0) {
		input(r, rest, AS_FIRST);
	} else if (strcmp(word, "open") == 0) {
		tcp_open(&r->host, &r->t, r->iss, (uint16_t)r->mss);
	} else if (strcmp(word, "send") == 0) {
		if (!append_to_stream(r, number(r, &rest)))
			FAIL(r, "no memory");
	} else if (strcmp(word, "full") == 0) {
		if (append_to_stream(r, number(r, &rest)))
			FAIL(r, "there was memory");
	} else if (strcmp(word, "read") == 0) {
		receive(r, number(r, &rest));
	} else if (strcmp(word, "shut") == 0) {
		tcp_shut(&r->t);
	} else if (strcmp(word, "abort") == 0) {
		tcp_abort(&r->host, &r->t);
	} else if (strcmp(word, "set") == 0) {
		word = strtok_r(NULL, " ", &rest);
		set(r, word, number(r, &rest));
	} else if (strcmp(word, "count") == 0) {
		word = strtok_r(NULL, " ", &rest);
		count(r, word, number(r, &rest));
	} else if (strcmp(word, "wait") == 0) {
		return wait_for(r, number(r, &rest));
	} else {
		FAIL(r, "what is %s?", word);
	}
	return 0;
}

// --- expected results ---

static void check_sent_bytes(struct run *r, const struct tcp_segment *s)
{
	uint8_t bytes[1 << 16];

	tcp_copy(&r->host, &r->t, s, bytes);
	for (uint32_t i = 0; i < s->len; i++)
		if (bytes[i] != byte_of_ours(s->seq - r->iss - 1 + i))
			FAIL(r, "byte %u of what is sent is wrong", i);
}

// As it is read back from the bytes of its header.
static void sent_write(struct run *r, const struct tcp_segment *s, bool with_window, char *text)
{
	uint8_t header[TCP_HEADER_MAX];
	struct tcp_segment parsed;

	tcp_header(s, header);
	assert_true(tcp_parse(header, tcp_header_len(s), &parsed));
	parsed.len = s->len;
	if (text[0])
		append(text, "; ");
	segment_write(r, &parsed, with_window, text);
}

static void check_sent(struct run *r, const char *expected)
{
	bool with_window = strstr(expected, "win");
	char text[TEXT] = "";
	struct tcp_segment s;

	if (r->has_reset)
		sent_write(r, &r->reset, with_window, text);
	r->has_reset = false;
	for (int i = 0; !r->hold && tcp_output(&r->host, &r->t, &s); i++) {
		check_sent_bytes(r, &s);
		sent_write(r, &s, with_window, text);
		if (i > 20)
			FAIL(r, "sends and sends: %s", text);
	}
	if (strcmp(text, expected) != 0)
		FAIL(r, "sent: %s", text);
}

static void check_state(struct run *r, uint32_t events, const char *expected)
{
	char text[TEXT] = "";

	append(text, "%s", states[r->t.state]);
	for (int i = 0; i < 8; i++)
		if (events & 1u << i)
			append(text, " %s", event_names[i]);
	if (strcmp(text, expected) != 0)
		FAIL(r, "now it is %s", text);
}

static void check_invariants(struct run *r)
{
	const char *wrong = tcp_check(&r->host, &r->t);

	if (wrong)
		FAIL(r, "%s", wrong);
	if (r->has_edge && tcp_before(r->t.edge, r->edge))
		FAIL(r, "the edge of the window moved back");
	r->has_edge = r->t.state != TCP_CLOSED && r->t.state != TCP_SYN_SENT;
	r->edge = r->t.edge;
}

static char *trimmed(char *text)
{
	char *end;

	if (!text)
		return NULL;
	text += strspn(text, " ");
	for (end = text + strlen(text); end > text && end[-1] == ' '; end--)
		;
	*end = '\0';
	return text;
}

static void run_row(struct run *r, const char *row)
{
	char text[TEXT], *rest = text, *what, *sent, *state;
	const char *before = states[r->t.state];
	uint32_t events;

	r->row = row;
	snprintf(text, sizeof(text), "%s", row);
	what = trimmed(strsep(&rest, "|"));
	sent = trimmed(strsep(&rest, "|"));
	state = trimmed(strsep(&rest, "|"));
	events = happen(r, what);
	check_invariants(r);
	check_sent(r, sent ? sent : "");
	check_state(r, events, state && *state ? state : before);
	check_invariants(r);
}

static void run_script(const struct script *script, uint32_t iss, uint32_t irs, uint64_t now)
{
	struct run r = {.script = script->name, .iss = iss, .irs = irs, .mss = 1460};

	r.t = (struct tcp){.tx_head = TCP_NONE, .tx_tail = TCP_NONE, .rx_head = TCP_NONE};

	r.host = (struct tcp_host){.now = now,
		.window = UINT16_MAX,
		.rto_first = 1000 * MS,
		.rto_least = 200 * MS,
		.rto_most = 60000 * MS,
		.ack_delay = 40 * MS,
		.time_wait = 2000 * MS,
		.syn_tries = 4,
		.tries = 5,
		.counters = &r.counters};
	tcp_host_init(&r.host, blocks, BLOCKS);
	for (int i = 0; i < ROWS && script->rows[i]; i++)
		run_row(&r, script->rows[i]);
	tcp_drop(&r.host, &r.t);
	assert_int_equal(r.host.used, 0);
}

// --- the scripts ---

#define SYN "open | S 0 mss 1460 ws 0 | SYN_SENT"
// A connection whose segments have up to 1000 bytes.
#define OPEN SYN, "< SA 0 ack 1 mss 1000 ws 0 | A 1 ack 1 | ESTABLISHED OPENED"
#define ACCEPT                                                                                     \
	"accept S 0 mss 1000 ws 0 | SA 0 ack 1 mss 1000 ws 0 | SYN_RECEIVED",                      \
		"< A 1 ack 1 | | ESTABLISHED OPENED"
#define SYN_ACK_RESENT "SA 0 ack 1 mss 1000 ws 0"
#define WITH_STAMPS                                                                                \
	"set stamps 1", "open | S 0 mss 1460 ws 0 ts 0 | SYN_SENT",                                \
		"< SA 0 ack 1 mss 1000 ws 0 ts 100 5 | A 1 ack 1 ts 100 | ESTABLISHED OPENED"
#define FIVE_SEGMENTS                                                                              \
	"send 5000 | A 1+1000 ack 1; A 1001+1000 ack 1; A 2001+1000 ack 1;"                        \
	" A 3001+1000 ack 1; PA 4001+1000 ack 1"

#define TEN_SEGMENTS                                                                               \
	"send 10000 | A 1+1000 ack 1; A 1001+1000 ack 1; A 2001+1000 ack 1; "                      \
	"A 3001+1000 ack 1; A 4001+1000 ack 1; A 5001+1000 ack 1; A 6001+1000 ack 1; "             \
	"A 7001+1000 ack 1; A 8001+1000 ack 1; PA 9001+1000 ack 1"
#define CLOSED_BY_US "shut | FA 1 ack 1 | FIN_WAIT_1", "< FA 1 ack 2 | A 2 ack 2 | TIME_WAIT ENDED"

static const struct script scripts[] = {
	// RFC 9293 section 3.5: opening
	{"active open", {OPEN}},
	{"passive open", {ACCEPT}},
	{"passive open, data with the acknowledgement",
		{"accept S 0 mss 1000 ws 0 | SA 0 ack 1 mss 1000 ws 0 | SYN_RECEIVED",
			"< PA 1+10 ack 1 | | ESTABLISHED OPENED DATA", "wait 40 | A 1 ack 11"}},
	{"simultaneous open", {SYN, "< S 0 mss 1000 ws 0 | SA 0 ack 1 mss 1000 ws 0 | SYN_RECEIVED",
				      "< SA 0 ack 1 mss 1000 ws 0 | A 1 ack 1 | ESTABLISHED OPENED",
				      "< A 1 ack 1", "send 10 | PA 1+10 ack 1"}},
	{"simultaneous open: the window of a SYN is not scaled",
		{SYN, "< S 0 mss 1000 ws 4 | SA 0 ack 1 mss 1000 ws 0 | SYN_RECEIVED",
			"< SA 0 ack 1 mss 1000 ws 4 win 500 | A 1 ack 1 | ESTABLISHED OPENED",
			"send 2000 | A 1+500 ack 1"}},
	{"simultaneous open, no scale",
		{SYN, "< S 0 mss 1000 | SA 0 ack 1 mss 1000 | SYN_RECEIVED",
			"< A 1 ack 1 | | ESTABLISHED OPENED", "send 10 | PA 1+10 ack 1"}},
	{"SYN lost", {SYN, "wait 999", "wait 1 | S 0 mss 1460 ws 0", "wait 1999",
			     "wait 1 | S 0 mss 1460 ws 0", "count syn_retransmitted 2",
			     "< SA 0 ack 1 mss 1000 ws 0 | A 1 ack 1 | ESTABLISHED OPENED",
			     "send 2000 | A 1+1000 ack 1"}}, // RFC 5681 section 3.1: one segment
	{"no answer to SYN", {SYN, "wait 1000 | S 0 mss 1460 ws 0", "wait 2000 | S 0 mss 1460 ws 0",
				     "wait 4000 | S 0 mss 1460 ws 0", "wait 7999",
				     "wait 1 | | CLOSED TIMED_OUT"}},
	{"SYN refused", {SYN, "< RA 0 ack 1 | | CLOSED REFUSED"}},
	{"resets that do not answer our SYN",
		{SYN, "< R 0 | | SYN_SENT", "< RA 0 ack 5 | | SYN_SENT STRANGE"}},
	{"SYN-ACK with wrong acknowledgement",
		{SYN, "< SA 0 ack 0 | R 0 | SYN_SENT STRANGE",
			"< SA 0 ack 2 | R 2 | SYN_SENT STRANGE", "< A 0 ack 1 | | SYN_SENT",
			"< SA 0 ack 1 mss 1000 ws 0 | A 1 ack 1 | ESTABLISHED OPENED"}},
	{"SYN lost: three seconds until data is sent again (RFC 6298 section 5.7)",
		{SYN, "wait 1000 | S 0 mss 1460 ws 0",
			"< SA 0 ack 1 mss 1000 ws 0 | A 1 ack 1 | ESTABLISHED OPENED",
			"send 10 | PA 1+10 ack 1", "wait 2999", "wait 1 | PA 1+10 ack 1"}},
	{"SYN-ACK lost: the same",
		{"accept S 0 mss 1000 ws 0 | SA 0 ack 1 mss 1000 ws 0 | SYN_RECEIVED",
			"wait 1000 | SA 0 ack 1 mss 1000 ws 0",
			"< A 1 ack 1 | | ESTABLISHED OPENED", "send 10 | PA 1+10 ack 1",
			"wait 2999", "wait 1 | PA 1+10 ack 1"}},
	{"half open: the peer has an old connection",
		{SYN, "< A 300 ack 500 | R 500 | SYN_SENT STRANGE",
			"wait 1000 | S 0 mss 1460 ws 0"}},
	{"half open: the peer has started anew",
		{OPEN, "send 10 | PA 1+10 ack 1", "< R 1 | | CLOSED BROKEN"}},
	{"SYN-ACK lost",
		{"accept S 0 mss 1000 ws 0 | " SYN_ACK_RESENT " | SYN_RECEIVED",
			"wait 1000 | " SYN_ACK_RESENT, "< S 0 mss 1000 ws 0 | " SYN_ACK_RESENT,
			"< A 1 ack 1 | | ESTABLISHED OPENED"}},
	{"round trip of a SYN-ACK that was sent twice is not taken",
		{"accept S 0 mss 1000 ws 0 | " SYN_ACK_RESENT " | SYN_RECEIVED", "wait 500",
			"< S 0 mss 1000 ws 0 | " SYN_ACK_RESENT, "wait 10",
			"< A 1 ack 1 | | ESTABLISHED OPENED", "send 10 | PA 1+10 ack 1", "wait 999",
			"wait 1 | PA 1+10 ack 1"}},
	{"SYN-ACK is about to be sent again when its acknowledgement comes",
		{"accept S 0 mss 1000 ws 0 | " SYN_ACK_RESENT " | SYN_RECEIVED", "set hold 1",
			"wait 1000", "< A 1 ack 1 | | ESTABLISHED OPENED", "set hold 0",
			"send 10 | PA 1+10 ack 1"}},
	{"SYN-ACK after another answer: the window does not shrink",
		{"set window 200000",
			"accept S 0 mss 1000 ws 0 | SA 0 ack 1 mss 1000 ws 2 win 65535 | "
			"SYN_RECEIVED",
			"< A 100000 ack 1 | A 1 ack 1 win 50000",
			"wait 1000 | SA 0 ack 1 mss 1000 ws 2 win 65535"}},
	{"no answer to SYN-ACK",
		{"accept S 0 mss 1000 ws 0 | " SYN_ACK_RESENT " | SYN_RECEIVED",
			"wait 1000 | " SYN_ACK_RESENT, "wait 2000 | " SYN_ACK_RESENT,
			"wait 4000 | " SYN_ACK_RESENT,
			"wait 8000 | RA 1 ack 1 | CLOSED TIMED_OUT"}},
	{"wrong acknowledgement or reset of a SYN-ACK",
		{"accept S 0 mss 1000 ws 0 | " SYN_ACK_RESENT " | SYN_RECEIVED",
			"< A 1 ack 9 | R 9 | SYN_RECEIVED STRANGE", "< R 5 | A 1 ack 1",
			"< R 1 | | CLOSED BROKEN"}},
	{"data and end before the connection is open",
		{SYN, "send 10", "shut",
			"< SA 0 ack 1 mss 1000 ws 0 | FPA 1+10 ack 1 | FIN_WAIT_1 OPENED"}},
	{"data and end before the peer's connection is open",
		{"accept S 0 mss 1000 ws 0 | SA 0 ack 1 mss 1000 ws 0 | SYN_RECEIVED", "send 10",
			"shut", "< A 1 ack 1 | FPA 1+10 ack 1 | FIN_WAIT_1 OPENED"}},
	{"data and end with SYN come again",
		{"accept SF 0+10 mss 1000 ws 0 | SA 0 ack 1 mss 1000 ws 0 | SYN_RECEIVED",
			"< FPA 1+10 ack 1 | A 1 ack 12 | CLOSE_WAIT OPENED DATA ENDED"}},
	{"data with SYN-ACK",
		{SYN, "< SA 0+10 ack 1 mss 1000 ws 0 | A 1 ack 11 | ESTABLISHED OPENED DATA"}},
	{"end with SYN-ACK",
		{SYN, "< SFA 0 ack 1 mss 1000 ws 0 | A 1 ack 2 | CLOSE_WAIT OPENED ENDED"}},
	{"no connection", {"< A 1 ack 7 | R 7 | CLOSED STRANGE", "< R 1 | | CLOSED STRANGE"}},
	{"abort", {OPEN, "send 10 | PA 1+10 ack 1", "abort | RA 11 ack 1 | CLOSED"}},
	{"abort before there is a peer", {SYN, "abort | | CLOSED"}},

	// options
	{"no MSS", {SYN, "< SA 0 ack 1 ws 0 | A 1 ack 1 | ESTABLISHED OPENED",
			   "send 1000 | A 1+536 ack 1; PA 537+464 ack 1"}},
	{"windows of both are scaled",
		{"set window 1000000", "open | S 0 mss 1460 ws 4 win 65535 | SYN_SENT",
			"< SA 0 ack 1 mss 1000 ws 2 win 500 | A 1 ack 1 win 62500 | ESTABLISHED "
			"OPENED",
			"send 3000 | A 1+500 ack 1", "< A 1 ack 501 win 375 | A 501+1000 ack 1"}},
	{"only ours is scaled",
		{"set window 1000000", "open | S 0 mss 1460 ws 4 win 65535 | SYN_SENT",
			"< SA 0 ack 1 mss 1000 win 500 | A 1 ack 1 win 65535 | ESTABLISHED OPENED",
			"send 3000 | A 1+500 ack 1", "< A 1 ack 501 win 500 | A 501+500 ack 1",
			"< A 65537+10 ack 501 | A 1001 ack 1", "count out_of_order 0"}},
	{"peer's SYN has no scale",
		{"set window 1000000", "accept S 0 mss 1000 | SA 0 ack 1 mss 1000 | SYN_RECEIVED",
			"< A 1 ack 1 | | ESTABLISHED OPENED",
			"< PA 1+10 ack 1 | | ESTABLISHED DATA", "wait 40 | A 1 ack 11"}},
	{"timestamps of both",
		{WITH_STAMPS, "send 1000 | A 1+988 ack 1 ts 100; PA 989+12 ack 1 ts 100",
			"< PA 1+10 ack 1001 ts 120 6 | | ESTABLISHED DATA",
			"wait 40 | A 1001 ack 11 ts 120"}},
	{"timestamps: ours only",
		{"set stamps 1", "open | S 0 mss 1460 ws 0 ts 0 | SYN_SENT",
			"< SA 0 ack 1 mss 1000 ws 0 | A 1 ack 1 | ESTABLISHED OPENED"}},
	{"timestamps: the peer's only",
		{SYN, "< SA 0 ack 1 mss 1000 ws 0 ts 7 0 | A 1 ack 1 | ESTABLISHED OPENED",
			"< PA 1+10 ack 1 ts 5 0 | | ESTABLISHED DATA"}},
	{"timestamps of a peer that opens",
		{"accept S 0 mss 1000 ws 0 ts 5 0 | SA 0 ack 1 mss 1000 ws 0 ts 5 | SYN_RECEIVED",
			"< A 1 ack 1 ts 6 5 | | ESTABLISHED OPENED"}},
	{"timestamps: the first of those that an acknowledgement is for (RFC 7323 section 4.3)",
		{WITH_STAMPS, "< A 1+10 ack 1 ts 110 0 | | ESTABLISHED DATA",
			"< PA 11+10 ack 1 ts 120 0 | A 1 ack 21 ts 110 | ESTABLISHED DATA",
			"< PA 21+10 ack 1 ts 130 0 | | ESTABLISHED DATA",
			"wait 40 | A 1 ack 31 ts 130"}},
	{"old timestamps",
		{WITH_STAMPS, "< PA 1+10 ack 1 ts 99 0 | A 1 ack 1 ts 100",
			"< PA 1+10 ack 1 ts 100 0 | | ESTABLISHED DATA",
			"wait 40 | A 1 ack 11 ts 100",
			"< PA 21+10 ack 1 ts 200 0 | A 1 ack 11 ts 100", // not in turn: no echo of
                                                                         // it
			"< PA 11+10 ack 1 ts 150 0 | A 1 ack 31 ts 150 | ESTABLISHED DATA",
			"< R 31 ts 3 0 | | CLOSED BROKEN"}},

	// data to the peer
	{"data out, partial acknowledgement and what is sent again",
		{OPEN, "send 2500 | A 1+1000 ack 1; A 1001+1000 ack 1; PA 2001+500 ack 1",
			"< A 1 ack 501", "wait 199", "wait 1 | A 501+1000 ack 1",
			"< A 1 ack 1501 | PA 1501+1000 ack 1", "< A 1 ack 2501", "wait 5000",
			"count retransmitted 1"}},
	{"no answer to data",
		{OPEN, "send 10 | PA 1+10 ack 1", "wait 200 | PA 1+10 ack 1",
			"wait 400 | PA 1+10 ack 1", "wait 800 | PA 1+10 ack 1", "wait 1599",
			"wait 1 | PA 1+10 ack 1", "wait 3200 | RA 11 ack 1 | CLOSED TIMED_OUT"}},
	{"Karn: the longer timeout stays until a round trip was measured",
		{OPEN, "send 10 | PA 1+10 ack 1", "wait 200 | PA 1+10 ack 1", "wait 100",
			"< A 1 ack 11", "send 10 | PA 11+10 ack 1", "wait 300", "< A 1 ack 21",
			"send 10 | PA 21+10 ack 1", "wait 336", "wait 2 | PA 21+10 ack 1"}},
	{"acknowledgement of what was not sent",
		{OPEN, "send 10 | PA 1+10 ack 1", "< A 1 ack 12 | A 11 ack 1",
			"count challenged 1"}},
	{"fast retransmit", {OPEN, FIVE_SEGMENTS, "< A 1 ack 1", "< A 1 ack 1",
				    "< A 1 ack 1 | A 1+1000 ack 1", "< A 1 ack 1", "< A 1 ack 5001",
				    "count fast_retransmitted 1", "count retransmitted 0"}},
	{"three lost: one partial acknowledgement for each (NewReno)",
		{OPEN, FIVE_SEGMENTS, "< A 1 ack 1", "< A 1 ack 1", "< A 1 ack 1 | A 1+1000 ack 1",
			"< A 1 ack 1001 | A 1001+1000 ack 1", "< A 1 ack 3001 | A 3001+1000 ack 1",
			"< A 1 ack 5001", "wait 5000"}},
	{"recovery: duplicates and partial acknowledgements move the window (RFC 6582)",
		{OPEN,
			"send 15000 | A 1+1000 ack 1; A 1001+1000 ack 1; A 2001+1000 ack 1; "
			"A 3001+1000 ack 1; A 4001+1000 ack 1; A 5001+1000 ack 1; "
			"A 6001+1000 ack 1; A 7001+1000 ack 1; A 8001+1000 ack 1; "
			"A 9001+1000 ack 1",
			"< A 1 ack 1", "< A 1 ack 1",
			"< A 1 ack 1 | A 1+1000 ack 1", // half is 4 KiB, and three: 7096
			"< A 1 ack 1", "< A 1 ack 1", "< A 1 ack 1",
			"< A 1 ack 1 | A 10001+1000 ack 1",                       // 11096
			"< A 1 ack 3001 | A 3001+1000 ack 1; A 11001+1000 ack 1", // 9096
			"< A 1 ack 11001 | A 12001+1000 ack 1", // one on the way, and another
			"count fast_retransmitted 2", "count retransmitted 0"}},
	{"after recovery: no other one before there is something new (RFC 6582)",
		{OPEN, FIVE_SEGMENTS, "< A 1 ack 1", "< A 1 ack 1", "< A 1 ack 1 | A 1+1000 ack 1",
			"< A 1 ack 5001", "send 5000 | A 5001+1000 ack 1; A 6001+1000 ack 1",
			"< A 1 ack 5001", "< A 1 ack 5001", "< A 1 ack 5001", "< A 1 ack 5001",
			"count fast_retransmitted 1"}},
	{"after a timeout: the same (RFC 6582)",
		{OPEN, FIVE_SEGMENTS, "wait 200 | A 1+1000 ack 1", "< A 1 ack 1", "< A 1 ack 1",
			"< A 1 ack 1", "< A 1 ack 1", "count fast_retransmitted 0",
			"< A 1 ack 5001", "send 5000 | A 5001+1000 ack 1; A 6001+1000 ack 1",
			"< A 1 ack 7001 | A 7001+1000 ack 1; A 8001+1000 ack 1; PA 9001+1000 ack 1",
			"< A 1 ack 7001", "< A 1 ack 7001", "< A 1 ack 7001 | A 7001+1000 ack 1",
			"count fast_retransmitted 1"}},
	{"after a pause: the first window (RFC 5681 section 4.1)",
		{OPEN, TEN_SEGMENTS, "< A 1 ack 10001", "wait 200",
			"send 12000 | A 10001+1000 ack 1; A 11001+1000 ack 1; A 12001+1000 ack 1; "
			"A 13001+1000 ack 1; A 14001+1000 ack 1; A 15001+1000 ack 1; "
			"A 16001+1000 ack 1; A 17001+1000 ack 1; A 18001+1000 ack 1; "
			"A 19001+1000 ack 1; A 20001+1000 ack 1",
			"< A 1 ack 21001 | PA 21001+1000 ack 1", "< A 1 ack 22001", "wait 201",
			"send 12000 | A 22001+1000 ack 1; A 23001+1000 ack 1; A 24001+1000 ack 1; "
			"A 25001+1000 ack 1; A 26001+1000 ack 1; A 27001+1000 ack 1; "
			"A 28001+1000 ack 1; A 29001+1000 ack 1; A 30001+1000 ack 1; "
			"A 31001+1000 ack 1"}},
	{"after a shorter pause than the timeout: the whole window",
		{SYN, "wait 300", "< SA 0 ack 1 mss 1000 ws 0 | A 1 ack 1 | ESTABLISHED OPENED",
			TEN_SEGMENTS, "wait 300", "< A 1 ack 10001", "wait 400",
			"send 12000 | A 10001+1000 ack 1; A 11001+1000 ack 1; A 12001+1000 ack 1; "
			"A 13001+1000 ack 1; A 14001+1000 ack 1; A 15001+1000 ack 1; "
			"A 16001+1000 ack 1; A 17001+1000 ack 1; A 18001+1000 ack 1; "
			"A 19001+1000 ack 1; A 20001+1000 ack 1"}},
	{"not duplicates: other windows, data",
		{OPEN, FIVE_SEGMENTS, "< A 1 ack 1 win 60000", "< A 1 ack 1 win 59000",
			"< A 1 ack 1 win 58000", "< PA 1+10 ack 1 win 58000 | | ESTABLISHED DATA",
			"count fast_retransmitted 0"}},
	{"Nagle's algorithm: what is short waits for the acknowledgement of all before it",
		{"set nagle 1", OPEN, "send 10 | PA 1+10 ack 1", "send 10", "send 10",
			"< A 1 ack 11 | PA 11+20 ack 1", "send 985", "send 100 | A 31+1000 ack 1",
			"< A 1 ack 31", "< A 1 ack 1031 | PA 1031+85 ack 1", "< A 1 ack 1116"}},
	{"Nagle's algorithm: it is sent with what was lost, and before the end",
		{"set nagle 1", OPEN, "send 10 | PA 1+10 ack 1", "send 10",
			"wait 200 | PA 1+20 ack 1", "send 10",
			"shut | FPA 21+10 ack 1 | FIN_WAIT_1"}},
	{"small window of the peer",
		{SYN, "< SA 0 ack 1 mss 1000 ws 0 win 1500 | A 1 ack 1 | ESTABLISHED OPENED",
			"send 3000 | A 1+1000 ack 1", "< A 1 ack 1001 win 500 | A 1001+500 ack 1",
			"< A 1 ack 1501 win 1500 | A 1501+1000 ack 1; PA 2501+500 ack 1",
			"< A 1 ack 3001"}},
	{"closed window of the peer",
		{SYN, "< SA 0 ack 1 mss 1000 ws 0 win 0 | A 1 ack 1 | ESTABLISHED OPENED",
			"send 1500", "count zero_window 1", "wait 199", "wait 1 | A 1+1 ack 1",
			"< A 1 ack 1 win 0", "wait 399", "wait 1 | A 1+1 ack 1",
			"< A 1 ack 1 win 0", "wait 800 | A 1+1 ack 1", "< A 1 ack 1 win 0",
			"wait 1600 | A 1+1 ack 1", "< A 1 ack 1 win 0", "wait 3200 | A 1+1 ack 1",
			"< A 1 ack 1 win 0", "wait 6400 | A 1+1 ack 1",
			"count fast_retransmitted 0",
			"< A 1 ack 1 win 5000 | A 1+1000 ack 1; PA 1001+500 ack 1",
			"< A 1 ack 1501"}},
	{"closed window that takes the byte of a probe",
		{SYN, "< SA 0 ack 1 mss 1000 ws 0 win 0 | A 1 ack 1 | ESTABLISHED OPENED",
			"send 100", "wait 200 | A 1+1 ack 1", "< A 1 ack 2 win 0",
			"wait 200 | A 2+1 ack 1", "< A 1 ack 3 win 200 | PA 3+98 ack 1"}},
	{"closed window and no answers",
		{SYN, "< SA 0 ack 1 mss 1000 ws 0 win 0 | A 1 ack 1 | ESTABLISHED OPENED",
			"send 100", "wait 200 | A 1+1 ack 1", "wait 400 | A 1+1 ack 1",
			"wait 800 | A 1+1 ack 1", "wait 1600 | A 1+1 ack 1",
			"wait 3200 | A 1+1 ack 1", "wait 6400 | RA 1 ack 1 | CLOSED TIMED_OUT"}},
	{"closed window: acknowledgements are not beyond it",
		{SYN, "< SA 0 ack 1 mss 1000 ws 0 win 0 | A 1 ack 1 | ESTABLISHED OPENED",
			"send 100", "wait 200 | A 1+1 ack 1",
			"< PA 1+10 ack 1 win 0 | | ESTABLISHED DATA", "wait 40 | A 1 ack 11"}},
	{"closed window: the end is sent, and again",
		{SYN, "< SA 0 ack 1 mss 1000 ws 0 win 0 | A 1 ack 1 | ESTABLISHED OPENED",
			"shut | FA 1 ack 1 | FIN_WAIT_1", "wait 200 | FA 1 ack 1",
			"wait 400 | FA 1 ack 1", "< A 1 ack 2 win 0 | | FIN_WAIT_2"}},

	// data from the peer
	{"delayed acknowledgement", {OPEN, "< PA 1+10 ack 1 | | ESTABLISHED DATA", "wait 39",
					    "wait 1 | A 1 ack 11", "wait 1000"}},
	{"each second segment is acknowledged",
		{OPEN, "< A 1+1000 ack 1 | | ESTABLISHED DATA",
			"< A 1001+1000 ack 1 | A 1 ack 2001 | ESTABLISHED DATA",
			"< A 2001+1000 ack 1 | | ESTABLISHED DATA", "wait 40 | A 1 ack 3001"}},
	{"acknowledgement with data", {OPEN, "< PA 1+10 ack 1 | | ESTABLISHED DATA",
					      "send 10 | PA 1+10 ack 11", "wait 40"}},
	{"what came already",
		{OPEN, "< PA 1+10 ack 1 | | ESTABLISHED DATA", "< PA 1+10 ack 1 | A 1 ack 11",
			"< PA 6+10 ack 1 | | ESTABLISHED DATA", "wait 40 | A 1 ack 16",
			"< PA 1+15 ack 1 | A 1 ack 16", "< A 15 ack 1 | A 1 ack 16", // keep-alive
			"count repeated 2"}},
	{"out of order: a gap, then what fills it",
		{OPEN, "< A 101+100 ack 1 | A 1 ack 1",
			"< A 1+100 ack 1 | A 1 ack 201 | ESTABLISHED DATA",
			"count out_of_order 1"}},
	{"out of order: overlaps of all kinds",
		{OPEN, "< A 301+200 ack 1 | A 1 ack 1",  // [301,501)
			"< A 301+200 ack 1 | A 1 ack 1", // repeated
			"< A 351+50 ack 1 | A 1 ack 1",  // within
			"< A 251+100 ack 1 | A 1 ack 1", // over its begin
			"< A 451+100 ack 1 | A 1 ack 1", // over its end
			"< A 551+50 ack 1 | A 1 ack 1",  // behind it
			"< A 701+100 ack 1 | A 1 ack 1", // a second gap
			"< A 201+700 ack 1 | A 1 ack 1", // over all, and the gap
			"< A 101+50 ack 1 | A 1 ack 1",
			"< A 1+120 ack 1 | A 1 ack 151 | ESTABLISHED DATA",
			"< A 141+500 ack 1 | A 1 ack 901 | ESTABLISHED DATA"}},
	{"out of order: blocks in between",
		{OPEN, "< A 2001+1000 ack 1 | A 1 ack 1", "< A 501+500 ack 1 | A 1 ack 1",
			"< A 4001+1000 ack 1 | A 1 ack 1", "< A 401+5000 ack 1 | A 1 ack 1",
			"< A 1+401 ack 1 | A 1 ack 5401 | ESTABLISHED DATA"}},
	{"data beyond the window",
		{"set window 1000", OPEN, "< FPA 1+1500 ack 1 | A 1 ack 1001 | ESTABLISHED DATA",
			"< A 2001+10 ack 1 | A 1 ack 1001", "< A 1501+1000 ack 1 | A 1 ack 1001",
			"< A 1001+500 ack 1 | A 1 ack 2001 | ESTABLISHED DATA"}},
	{"our window closes, is probed and opens",
		{"set window 1000", "set keep 1", OPEN, "< PA 1+1000 ack 1 | | ESTABLISHED DATA",
			"wait 40 | A 1 ack 1001 win 0", "< A 1001+1 ack 1 | A 1 ack 1001 win 0",
			"read 400", "read 100 | A 1 ack 1001 win 500",
			"read 500 | A 1 ack 1001 win 1000"}},
	{"our window is closed: acknowledgements are taken",
		{"set window 1000", "set keep 1", OPEN, "< PA 1+1000 ack 1 | | ESTABLISHED DATA",
			"send 20 | PA 1+20 ack 1001 win 0",
			"< PA 1001+10 ack 21 | A 21 ack 1001 win 0", "wait 5000"}},
	{"acknowledgement at the end of our window",
		{"set window 1000", OPEN, "send 10 | PA 1+10 ack 1", "< A 1001 ack 11",
			"wait 5000"}},
	{"a window that opened by little is not announced (silly window)",
		{"set window 4000", "set keep 1", OPEN, "< A 1+1000 ack 1 | | ESTABLISHED DATA",
			"read 100", "wait 40 | A 1 ack 1001 win 3000", "read 900",
			"< A 1001+10 ack 1 | | ESTABLISHED DATA",
			"wait 40 | A 1 ack 1011 win 3990"}},
	{"no memory", {"set blocks 2", OPEN, "full 481", "send 480 | PA 1+480 ack 1",
			      "< A 1001+10 ack 1 | A 481 ack 1", "count no_block 1",
			      "< A 1+100 ack 1 | | ESTABLISHED DATA", "< A 101 ack 481",
			      "send 480 | PA 481+480 ack 101"}},
	{"no memory: what is in turn goes before what is not",
		{"set blocks 1", OPEN, "< A 1001+100 ack 1 | A 1 ack 1",
			"< A 501+100 ack 1 | A 1 ack 1", "count no_block 1",
			"< A 1+100 ack 1 | A 1 ack 101 | ESTABLISHED DATA",
			"< A 1001+100 ack 1 | A 1 ack 101"}},

	// RFC 9293 section 3.6: closing
	{"close", {OPEN, "shut | FA 1 ack 1 | FIN_WAIT_1", "< A 1 ack 2 | | FIN_WAIT_2",
			  "< FA 1 ack 2 | A 2 ack 2 | TIME_WAIT ENDED", "wait 1999",
			  "< FA 1 ack 2 | A 2 ack 2", "wait 1999", "wait 1 | | CLOSED DONE"}},
	{"close by the peer", {OPEN, "< FA 1 ack 1 | A 1 ack 2 | CLOSE_WAIT ENDED",
				      "shut | FA 1 ack 2 | LAST_ACK", "< FA 1 ack 1 | A 2 ack 2",
				      "< A 2 ack 2 | | CLOSED DONE"}},
	{"close by both at once",
		{OPEN, "shut | FA 1 ack 1 | FIN_WAIT_1", "< FA 1 ack 1 | A 2 ack 2 | CLOSING ENDED",
			"< FA 1 ack 2 | A 2 ack 2", "wait 200 | FA 1 ack 2",
			"< A 2 ack 2 | | TIME_WAIT", "wait 2000 | | CLOSED DONE"}},
	{"close, all in one segment",
		{OPEN, "send 10 | PA 1+10 ack 1", "shut | FA 11 ack 1 | FIN_WAIT_1",
			"< FPA 1+10 ack 12 | A 12 ack 12 | TIME_WAIT DATA ENDED"}},
	{"half close", {OPEN, "shut | FA 1 ack 1 | FIN_WAIT_1", "< A 1 ack 2 | | FIN_WAIT_2",
			       "< A 1+1000 ack 2 | | FIN_WAIT_2 DATA",
			       "< A 1001+1000 ack 2 | A 2 ack 2001 | FIN_WAIT_2 DATA",
			       "< FPA 2001+10 ack 2 | A 2 ack 2012 | TIME_WAIT DATA ENDED"}},
	{"half close by the peer",
		{OPEN, "< FPA 1+10 ack 1 | A 1 ack 12 | CLOSE_WAIT DATA ENDED",
			"send 10 | PA 1+10 ack 12", "shut | FA 11 ack 12 | LAST_ACK",
			"< A 12 ack 11", "wait 200 | FA 11 ack 12",
			"< A 12 ack 12 | | CLOSED DONE"}},
	{"end before its turn", {OPEN, "< FA 101 ack 1 | A 1 ack 1",
					"< A 1+100 ack 1 | A 1 ack 102 | CLOSE_WAIT DATA ENDED"}},
	{"end before its turn, with data",
		{OPEN, "< FPA 101+10 ack 1 | A 1 ack 1", "< A 51+60 ack 1 | A 1 ack 1",
			"< A 1+100 ack 1 | A 1 ack 112 | CLOSE_WAIT DATA ENDED"}},
	{"end before its turn, behind our own",
		{OPEN, "shut | FA 1 ack 1 | FIN_WAIT_1",
			"< FPA 101+10 ack 2 | A 2 ack 1 | FIN_WAIT_2",
			"< A 1+100 ack 2 | A 2 ack 112 | TIME_WAIT DATA ENDED"}},
	{"nothing is read behind the end",
		{OPEN, "< FA 101 ack 1 | A 1 ack 1", "< A 101+100 ack 1 | A 1 ack 1",
			"< A 1+100 ack 1 | A 1 ack 102 | CLOSE_WAIT DATA ENDED"}},
	{"an end that others say is none",
		{OPEN, "< A 101+100 ack 1 | A 1 ack 1", "< FA 151 ack 1 | A 1 ack 1",
			"< A 1+100 ack 1 | A 1 ack 201 | ESTABLISHED DATA"}},
	{"end lost", {OPEN, "shut | FA 1 ack 1 | FIN_WAIT_1", "wait 200 | FA 1 ack 1",
			     "wait 400 | FA 1 ack 1", "< A 1 ack 2 | | FIN_WAIT_2"}},
	{"end lost with the last data",
		{OPEN, "send 1500 | A 1+1000 ack 1; PA 1001+500 ack 1",
			"shut | FA 1501 ack 1 | FIN_WAIT_1", "< A 1 ack 1001",
			"wait 200 | FPA 1001+500 ack 1", "< A 1 ack 1502 | | FIN_WAIT_2"}},
	{"end behind a full window",
		{"set window 1000", "set keep 1", OPEN,
			"< FPA 1+1000 ack 1 | A 1 ack 1002 win 0 | CLOSE_WAIT DATA ENDED",
			"read 1000 | A 1 ack 1002 win 1000"}},
	{"acknowledgement behind the end that fills the window",
		{SYN, "< SA 0 ack 1 mss 1000 ws 0 win 100 | A 1 ack 1 | ESTABLISHED OPENED",
			"send 100 | PA 1+100 ack 1", "shut | FA 101 ack 1 | FIN_WAIT_1",
			"< FPA 1+10 ack 1 win 100 | A 102 ack 12 | CLOSING DATA ENDED"}},
	{"acknowledgement behind the end that fills our window",
		{"set window 1000", OPEN, "send 10 | PA 1+10 ack 1", "< A 1002 ack 11",
			"wait 5000"}},
	{"end while our window is closed",
		{"set window 1000", "set keep 1", OPEN, "< PA 1+1000 ack 1 | | ESTABLISHED DATA",
			"wait 40 | A 1 ack 1001 win 0",
			"< FA 1001 ack 1 | A 1 ack 1002 win 0 | CLOSE_WAIT ENDED"}},
	{"TIME_WAIT ends, also when the peer opens its window",
		{OPEN, "shut | FA 1 ack 1 | FIN_WAIT_1",
			"< FA 1 ack 2 win 0 | A 2 ack 2 | TIME_WAIT ENDED", "< A 2 ack 2 win 9",
			"wait 2000 | | CLOSED DONE"}},

	{"TIME_WAIT: a SYN alone begins nothing",
		{OPEN, CLOSED_BY_US, "< S 5 mss 1000 | A 2 ack 2", "count challenged 1",
			"wait 1999", "wait 1 | | CLOSED DONE"}},
	{"TIME_WAIT: a later SYN begins anew",
		{ACCEPT, CLOSED_BY_US, "reopen S 2 mss 1000 ws 0 | A 2 ack 2",
			"reopen SA 3 ack 2 mss 1000 ws 0 | A 2 ack 2", "reopen R 3 | A 2 ack 2",
			"reopen S 3 mss 500 ws 0 | SA 0 ack 1 mss 500 ws 0 | SYN_RECEIVED",
			"< A 1 ack 1 | | ESTABLISHED OPENED", "send 10 | PA 1+10 ack 1"}},
	{"TIME_WAIT: timestamps say whether a SYN is later (RFC 6191)",
		{WITH_STAMPS, "shut | FA 1 ack 1 ts 100 | FIN_WAIT_1",
			"< FA 1 ack 2 ts 110 0 | A 2 ack 2 ts 110 | TIME_WAIT ENDED",
			"reopen S 9000 mss 1000 ws 0 ts 109 0 | A 2 ack 2 ts 110",
			"reopen S 1 mss 1000 ws 0 ts 110 0 | A 2 ack 2 ts 110",
			"reopen S -9000 mss 1000 ws 0 ts 111 0 | SA 0 ack 1 mss 1000 ws 0 ts 111 | "
			"SYN_RECEIVED"}},
	{"TIME_WAIT: of SYN with the same timestamp, the number says it",
		{WITH_STAMPS, "shut | FA 1 ack 1 ts 100 | FIN_WAIT_1",
			"< FA 1 ack 2 ts 110 0 | A 2 ack 2 ts 110 | TIME_WAIT ENDED",
			"reopen S 9000 mss 1000 ws 0 ts 110 0 | SA 0 ack 1 mss 1000 ws 0 ts 110 | "
			"SYN_RECEIVED"}},
	{"no SYN begins anew before TIME_WAIT", {ACCEPT, "reopen S 9000 mss 1000 | A 1 ack 1"}},

	// RFC 5961, and segments out of place
	{"reset: only at the very place", {OPEN, "< R 0", "< R 70000", "< R 2 | A 1 ack 1",
						  "count challenged 1", "< R 1 | | CLOSED BROKEN"}},
	{"reset while closing",
		{OPEN, "shut | FA 1 ack 1 | FIN_WAIT_1", "< A 1 ack 2 | | FIN_WAIT_2",
			"< FA 1 ack 2 | A 2 ack 2 | TIME_WAIT ENDED", "< R 2 | | CLOSED DONE"}},
	{"SYN on an open connection",
		{OPEN, "< S 0 mss 1000 | A 1 ack 1", "< S 5 mss 1000 | A 1 ack 1",
			"< S 70000 mss 1000 | A 1 ack 1", "< SA 0 ack 1 mss 1000 | A 1 ack 1",
			"count challenged 1"}},
	{"acknowledgement that is too old (RFC 5961 section 5)",
		{OPEN, "< PA 1+10 ack -65535 | A 1 ack 1", "count challenged 1",
			"< PA 1+10 ack -65534 | | ESTABLISHED DATA"}},
	{"no acknowledgement in it", {OPEN, "< P 1+10"}},
};

static void test_script(void **state)
{
	const struct script *script = *state;

	run_script(script, 0, 0, 1000 * MS);
	run_script(script, UINT32_MAX - 700, UINT32_MAX - 300, (1ull << 32) - 700 * MS);
}

// A segment without acknowledgement gets a reset that acknowledges all of it.
static void test_reset_without_ack(void **state)
{
	struct tcp_segment s = {.seq = 5, .flags = TCP_SYN | TCP_FIN, .len = 10}, out;

	(void)state;
	assert_true(tcp_reset_for(&s, &out));
	assert_int_equal(out.flags, TCP_RST | TCP_ACK);
	assert_int_equal(out.seq, 0);
	assert_int_equal(out.ack, 17);
}

// An acknowledgement that guesses our number, before our SYN has left.
static void test_ack_before_syn(void **state)
{
	const struct tcp_segment syn = {.seq = 9, .flags = TCP_SYN, .scale = TCP_NO_SCALE};
	const struct tcp_segment ack = {.seq = 10, .ack = 101, .flags = TCP_ACK};
	struct tcp_counters counters = {0};
	struct tcp_host h = {.window = 1000, .counters = &counters};
	struct tcp t;

	(void)state;
	tcp_host_init(&h, blocks, BLOCKS);
	tcp_accept(&h, &t, 100, 1460, &syn);
	assert_int_equal(tcp_input(&h, &t, &ack), TCP_STRANGE);
	assert_null(tcp_check(&h, &t));
}

// RFC 5961 section 7: a thousand in about a second, of all connections.
static void test_challenge_limit(void **state)
{
	static const struct tcp_segment odd[] = {
		{.seq = 12, .flags = TCP_RST, .scale = TCP_NO_SCALE},
		{.seq = 5, .ack = 101, .flags = TCP_ACK, .scale = TCP_NO_SCALE},
	};
	const struct tcp_segment syn = {.seq = 9, .flags = TCP_SYN, .scale = TCP_NO_SCALE};
	const struct tcp_segment old = {
		.seq = 9, .ack = 101, .flags = TCP_ACK, .len = 1, .data = (const uint8_t *)"x"};
	const struct tcp_segment ack = {.seq = 10, .ack = 101, .flags = TCP_ACK};
	struct tcp_counters counters = {0};
	struct tcp_host h = {
		.now = 5000 * MS, .window = 1000, .syn_tries = 4, .counters = &counters};
	struct tcp_segment out;
	struct tcp t;
	int answered = 0;

	(void)state;
	tcp_host_init(&h, blocks, BLOCKS);
	tcp_accept(&h, &t, 100, 1460, &syn);
	assert_true(tcp_output(&h, &t, &out));
	assert_int_equal(tcp_input(&h, &t, &ack), TCP_OPENED);
	for (int i = 0; i < 1500; i++) {
		tcp_input(&h, &t, &odd[i & 1]);
		answered += tcp_output(&h, &t, &out);
	}
	assert_int_equal(answered, 1000);
	assert_int_equal(counters.challenged, 500);
	tcp_input(&h, &t, &old); // whose acknowledgement may be lost
	assert_true(tcp_output(&h, &t, &out));
	h.now += 1100 * MS;
	tcp_input(&h, &t, &odd[0]);
	assert_true(tcp_output(&h, &t, &out));
}

// Sizes of options that do not fit the header are no segment, others are skipped.
static void test_options(void **state)
{
	static const struct {
		uint8_t len, bytes[12];
		bool ok;
		uint16_t mss;
		uint8_t scale;
	} rows[] = {
		{4, {2, 4, 5, 180}, true, 1460, TCP_NO_SCALE},
		{4, {1, 3, 3, 7}, true, 0, 7},
		{4, {3, 3, 15, 0}, true, 0, 14}, // RFC 7323 section 2.3
		{8, {77, 4, 9, 9, 2, 4, 1, 0}, true, 256, TCP_NO_SCALE},
		{8, {0, 4, 9, 9, 2, 4, 1, 0}, true, 0, TCP_NO_SCALE},
		{4, {2, 3, 5, 1}, true, 0, TCP_NO_SCALE}, // a wrong size
		{4, {2, 0, 5, 180}, false, 0, 0},
		{4, {2, 1, 5, 180}, false, 0, 0},
		{4, {2, 5, 5, 180}, false, 0, 0},
		{4, {1, 1, 1, 2}, false, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t wire[TCP_HEADER_LEN + 12] = {0};
		struct tcp_segment s;
		uint32_t header = TCP_HEADER_LEN + rows[i].len;

		wire[12] = (uint8_t)(header / 4 << 4);
		wire[13] = TCP_SYN;
		memcpy(wire + TCP_HEADER_LEN, rows[i].bytes, rows[i].len);
		assert_int_equal(tcp_parse(wire, header, &s), rows[i].ok);
		assert_false(tcp_parse(wire, header - 1, &s));
		if (!rows[i].ok)
			continue;
		assert_int_equal(s.mss, rows[i].mss);
		assert_int_equal(s.scale, rows[i].scale);
	}
}

int main(void)
{
	enum { COUNT = sizeof(scripts) / sizeof(scripts[0]) };
	struct CMUnitTest tests[COUNT + 4] = {
		cmocka_unit_test(test_reset_without_ack),
		cmocka_unit_test(test_ack_before_syn),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_challenge_limit),
	};

	for (int i = 0; i < COUNT; i++)
		tests[4 + i] = (struct CMUnitTest){
			scripts[i].name, test_script, NULL, NULL, (void *)&scripts[i]};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
