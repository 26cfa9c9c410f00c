// SPDX-License-Identifier: BSD-3-Clause
// Reading packet files with libpcap. Path: cold. Management thread.
#include "io/timestamps.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/interrupt.h"

int timestamps_add(struct timestamps *t, uint64_t ns)
{
	if (t->count == t->room) {
		uint64_t room = t->room ? 2 * t->room : 1 << 12;
		uint64_t *more = reallocarray(t->ns, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		t->ns = more;
		t->room = room;
	}
	t->ns[t->count++] = ns;
	return 0;
}

void timestamps_free(struct timestamps *t)
{
	free(t->ns);
	*t = (struct timestamps){0};
}

bool timestamps_is_packet_file(int fd)
{
	static const uint32_t magics[] = {
		0xa1b2c3d4, 0xd4c3b2a1, 0xa1b23c4d, 0x4d3cb2a1, 0x0a0d0d0a};
	uint32_t magic = 0;
	bool found = false;

	if (pread(fd, &magic, sizeof(magic), 0) == sizeof(magic))
		for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
			found = found || magic == magics[i];
	return found;
}

static int add_all(pcap_t *p, const struct bpf_program *filter, struct timestamps *t)
{
	struct pcap_pkthdr *head;
	const unsigned char *data;
	int rc = 0, more;

	while (rc == 0 && (more = pcap_next_ex(p, &head, &data)) == 1) {
		if (interrupt_count)
			return -EINTR;
		if (filter && !pcap_offline_filter(filter, head, data))
			continue;
		rc = timestamps_add(
			t, (uint64_t)head->ts.tv_sec * 1000000000 + (uint64_t)head->ts.tv_usec);
	}
	if (rc)
		return rc;
	return more == PCAP_ERROR_BREAK ? 0 : -EINVAL;
}

int timestamps_read(
	struct timestamps *t, int fd, const char *filter, struct arena *a, const char **why)
{
	char errors[PCAP_ERRBUF_SIZE] = "";
	struct bpf_program program;
	FILE *f = fdopen(fd, "r");
	pcap_t *p =
		f ? pcap_fopen_offline_with_tstamp_precision(f, PCAP_TSTAMP_PRECISION_NANO, errors)
		  : NULL;
	int rc = 0;

	if (!p) {
		if (f)
			fclose(f);
		else
			close(fd);
		*why = arena_strdup(a, errors);
		return -EINVAL;
	}
	if (filter)
		rc = pcap_compile(p, &program, filter, 1, PCAP_NETMASK_UNKNOWN) < 0 ? -EINVAL : 0;
	if (rc == 0) {
		rc = add_all(p, filter ? &program : NULL, t);
		if (filter)
			pcap_freecode(&program);
	}
	*why = rc == -ENOMEM ? "not enough memory" : arena_strdup(a, pcap_geterr(p));
	pcap_close(p);
	return rc;
}
