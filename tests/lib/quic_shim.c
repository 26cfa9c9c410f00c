// SPDX-License-Identifier: BSD-3-Clause
// A client or a server of lib/quic on a socket of the kernel, to hold it against others:
//   quic_shim client ADDRESS PORT NAME CONNECTIONS QUERIES [early]
//   quic_shim server ADDRESS PORT CERTIFICATE KEY [retry]
// A client asks www.example.com A over each connection in turn, the next ones with the session and
// the token of the first. A server answers with 192.0.2.1. Path: tests only.
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "lib/quic_rig.h"

static int fd;
static struct quics q;
static struct quic_path path;
static uint8_t session[QUIC_SESSION_MOST], token[QUIC_TOKEN_MOST];
static uint32_t session_len, token_len, answered;

static const uint8_t query[] = "\0\0\1\0\0\1\0\0\0\0\0\0\3www\7example\3com\0\0\1\0\1";
static const uint8_t record[] = "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc0\0\2\1";

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void send_to(const struct quic_path *to, const uint8_t *bytes, uint32_t len)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(to->remote_port)};

	memcpy(&a.sin_addr, to->remote.bytes, 4);
	if (sendto(fd, bytes, len, 0, (struct sockaddr *)&a, sizeof(a)) < 0)
		perror("sendto");
}

static void events(uint32_t c)
{
	const struct quic_facts *f = quic_facts(&q, c);
	const uint8_t *bytes;
	uint8_t answer[512];
	uint32_t len;

	while (quic_message(&q, c, &bytes, &len)) {
		switch (q.event) {
		case QUIC_READY:
			printf("%u ready: version %08x suite %d group %u resumed %d early %d/%d "
			       "retried %d token %d alpn %s\n",
				c, f->version, f->tls.suite, f->tls.group, f->tls.resumed, f->early,
				f->early_offered, f->retried, f->with_token, f->tls.alpn);
			break;
		case QUIC_MESSAGE:
			answered++;
			if (!q.server || len + sizeof(record) > sizeof(answer))
				break;
			memcpy(answer, bytes, len);
			answer[2] |= 0x80;
			bytes_put_be16(answer + 6, 1);
			bytes_put_be16(answer + 10, 0);
			len = 12;
			while (answer[len])
				len += answer[len] + 1u;
			len += 5;
			memcpy(answer + len, record, sizeof(record) - 1);
			quic_answer(&q, c, q.tag, answer, len + (uint32_t)sizeof(record) - 1, true);
			break;
		case QUIC_TICKET:
			memcpy(session, bytes, session_len = len);
			break;
		case QUIC_TOKEN:
			memcpy(token, bytes, token_len = len);
			break;
		case QUIC_CLOSED:
			printf("%u closed: %s %lu %s\n", c, quic_end_name(quic_end(&q, c)->kind),
				quic_end(&q, c)->code, quic_end(&q, c)->reason);
			break;
		default:
			printf("%u event %d tag %u code %lu\n", c, q.event, q.tag, q.code);
		}
		fflush(stdout);
	}
}

static void flush(uint32_t count)
{
	uint8_t out[QUIC_MTU_MOST], ecn;
	uint32_t len;

	for (uint32_t c = 0; c < count; c++) {
		if (quic_deadline(&q, c) <= now_ns())
			quic_expire(&q, c, now_ns());
		events(c);
		while ((len = quic_output(&q, c, out, &ecn, now_ns())))
			send_to(quic_path(&q, c), out, len);
	}
}

static void turn(uint32_t count)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct quic_path from = path;
	struct sockaddr_in a;
	socklen_t a_len = sizeof(a);
	uint8_t in[2048], out[QUIC_MTU_MOST];
	uint32_t c, len;
	ssize_t n;

	flush(count);
	if (poll(&p, 1, 5) <= 0)
		return;
	n = recvfrom(fd, in, sizeof(in), 0, (struct sockaddr *)&a, &a_len);
	if (n <= 0)
		return;
	memcpy(from.remote.bytes, &a.sin_addr, 4);
	from.remote_port = ntohs(a.sin_port);
	switch (quic_find(&q, in, (uint32_t)n, &from.remote, from.remote_port, &c)) {
	case QUIC_FOUND:
		quic_input(&q, c, in, (uint32_t)n, 0, now_ns());
		break;
	case QUIC_NEW:
		len = quic_accept(&q, &from, in, (uint32_t)n, 0, now_ns(), out, &c);
		if (len)
			send_to(&from, out, len);
		break;
	case QUIC_STRAY:
		len = q.server ? quic_stray(&q, in, (uint32_t)n, out) : 0;
		if (len)
			send_to(&from, out, len);
		break;
	case QUIC_FOREIGN:
	case QUIC_GARBAGE:
		break;
	}
	flush(count);
}

static char *text_of(const char *file)
{
	static char texts[2][16384];
	static int n;
	FILE *f = fopen(file, "r");

	if (!f)
		exit(2);
	texts[n][fread(texts[n], 1, sizeof(texts[n]) - 1, f)] = '\0';
	fclose(f);
	return texts[n++];
}

int main(int argc, char **argv)
{
	bool server = argc > 5 && argv[1][0] == 's', word = argc > 6 && argv[6][0] == 'r';
	struct hand_settings tls = {
		.server = server, .alpn = "doq", .tickets = server, .quic = true};
	struct quics_shape shape = {.count = 64, .streams = 1024, .blocks = 8192, .server = server};
	struct sockaddr_in a = {.sin_family = AF_INET};
	const char *wrong;
	socklen_t a_len = sizeof(a);

	if (argc < 6)
		return 2;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	inet_pton(AF_INET, argv[2], &a.sin_addr);
	a.sin_port = server ? htons((uint16_t)atoi(argv[3])) : 0;
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		return 2;
	getsockname(fd, (struct sockaddr *)&a, &a_len);
	path.local.len = path.remote.len = 4;
	memcpy(path.local.bytes, &a.sin_addr, 4);
	memcpy(path.remote.bytes, &a.sin_addr, 4);
	path.local_port = ntohs(a.sin_port);
	path.remote_port = (uint16_t)atoi(argv[3]);
	q = rig_settings(server);
	q.seed = now_ns();
	q.streams = server ? 100 : getenv("STREAMS") ? (uint32_t)atoi(getenv("STREAMS")) : 5;
	if (server) {
		tls.certificate = text_of(argv[4]);
		tls.key = text_of(argv[5]);
		q.faults.retry = word ? UINT32_MAX : 0;
		q.versions[1] = quic_version_2();
		q.version_count = 2;
	} else {
		tls.name = argv[4];
	}
	tls.early = server || argc > 7;
	q.tls = hand_setup_new(&tls, &wrong);
	if (!q.tls)
		return 2;
	quics_init(&q, rig_memory(quics_bytes(&shape)), &shape);
	while (server)
		turn(shape.count);
	for (int i = 0; i < atoi(argv[5]); i++) {
		uint32_t c = quic_open(&q, &path, 0, session_len ? session : NULL, session_len,
			token_len ? token : NULL, token_len, now_ns());
		uint64_t end = now_ns() + 3000000000ull;

		answered = 0;
		for (int k = 0; k < atoi(argv[6]); k++)
			quic_write(&q, c, (uint32_t)k, query, sizeof(query) - 1);
		while (now_ns() < end &&
			(answered < (uint32_t)atoi(argv[6]) || end > now_ns() + 2900000000ull))
			turn(shape.count);
		printf("%u answered, %lu streams, %lu blocked; datagrams %lu out, %lu in\n",
			answered, q.counts.streams, q.counts.blocked, q.counts.datagrams_out,
			q.counts.datagrams_in);
		quic_shut(&q, c, QUIC_NO_ERROR);
		flush(shape.count);
	}
	return 0;
}
